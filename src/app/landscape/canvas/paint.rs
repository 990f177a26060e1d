//! The sampled surface, and the scenes for the GPU.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui_wgpu::{CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use valleyscope_engine::landscape::Landscape;
use valleyscope_experiments::view::{Camera, HeightField, Orbit, SpaceView, SymLog, Viewport};

use crate::draw::SpaceProjection;
use crate::gpu::{EnsembleKey, Positions, Renderer, Scene};
use crate::player::{EnsembleView, SessionView};

/// The sampled surface of the last frame, which is kept while nothing that it depends on changes.
#[derive(Debug, Default)]
pub(crate) struct SurfaceCache {
    sampled: Option<(Landscape, Camera, SymLog, Arc<HeightField>)>,
}

impl SurfaceCache {
    /// Returns the surface as it is seen on a canvas of this size.
    pub(crate) fn projection(
        &mut self,
        landscape: &Landscape,
        scale: &SymLog,
        Viewport { camera, size_px }: Viewport,
        (orbit, cover): (Orbit, f64),
    ) -> SpaceProjection {
        let is_same = |(of, at, by, _): &&(Landscape, Camera, SymLog, Arc<HeightField>)| {
            (of, at, by) == (landscape, &camera, scale)
        };
        let heights = match self.sampled.as_ref().filter(is_same) {
            Some((.., heights)) => Arc::clone(heights),
            None => {
                let heights = Arc::new(HeightField::of(landscape, camera, scale));
                self.sampled = Some((landscape.clone(), camera, *scale, Arc::clone(&heights)));
                heights
            }
        };
        SpaceProjection { view: SpaceView { camera, orbit, size_px, cover }, heights }
    }
}

/// The data that wait for their upload to the GPU. They are kept until the landscape is next painted, however long the
/// window is hidden.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    ensembles: BTreeMap<EnsembleKey, Upload>,
    /// The largest number of useful columns of each ensemble that has trails.
    capacity: usize,
}

/// The number of a pane's own session in the names of ensembles. Those of branches are their ids, from 1 on.
pub(crate) const OWN_SESSION: u64 = 0;

#[derive(Debug, Default)]
struct Upload {
    /// The snapshot's track, on which the columns follow each other.
    track: u64,
    particles: usize,
    /// The columns of each snapshot, and the step of its last one.
    chunks: VecDeque<(u64, Arc<Vec<[f32; 2]>>)>,
    /// The number of positions in all chunks.
    waiting: usize,
    mean_path: Arc<Vec<[f32; 2]>>,
}

impl Uploads {
    /// Adds the new data of numbered sessions on a track, and removes ensembles that they do not have.
    pub(crate) fn absorb<'a>(&mut self, track: u64, sessions: impl IntoIterator<Item = (u64, &'a SessionView)>) {
        let mut before = std::mem::take(&mut self.ensembles);
        for (session, shown) in sessions {
            for view in &shown.ensembles {
                let key = EnsembleKey { session, optimizer: view.optimizer };
                let known = before.remove(&key).filter(|it| (it.track, it.particles) == (track, view.particles));
                let new = || Upload { track, particles: view.particles, ..Upload::default() };
                let mut upload = known.unwrap_or_else(new);
                upload.absorb(shown.step, view, columns(key, self.capacity));
                self.ensembles.insert(key, upload);
            }
        }
    }

    pub(crate) fn set_capacity(&mut self, columns: usize) {
        self.capacity = columns;
    }

    fn hand_over(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, renderer: &mut Renderer) {
        let keys: Vec<EnsembleKey> = self.ensembles.keys().copied().collect();
        renderer.retain(&keys);
        for (&ensemble, upload) in &mut self.ensembles {
            if upload.chunks.is_empty() {
                continue;
            }
            let (run, particles, capacity) = (upload.track, upload.particles, columns(ensemble, self.capacity));
            for (step, columns) in upload.chunks.drain(..) {
                let positions = Positions { run, ensemble, particles, capacity, step, columns: &columns };
                renderer.push_positions(device, queue, positions);
            }
            upload.waiting = 0;
            renderer.set_mean_path(ensemble, &upload.mean_path);
        }
    }
}

/// Returns the number of useful columns of an ensemble; `capacity` is that of one with trails, which branches lack.
fn columns(ensemble: EnsembleKey, capacity: usize) -> usize {
    if ensemble.session == OWN_SESSION { capacity } else { capacity.min(1) }
}

impl Upload {
    /// Adds the data of an ensemble at this step, and drops the oldest ones beyond `columns`.
    fn absorb(&mut self, step: u64, view: &EnsembleView, columns: usize) {
        self.mean_path = Arc::clone(&view.mean_path);
        self.waiting += view.columns.len();
        self.chunks.push_back((step, Arc::clone(&view.columns)));
        let most = columns.max(1) * view.particles;
        while let Some((_, oldest)) = self.chunks.front()
            && self.waiting - oldest.len() >= most
        {
            self.waiting -= oldest.len();
            self.chunks.pop_front();
        }
    }
}

/// The waiting positions, shared between the panel and the paint callbacks.
pub(crate) type SharedUploads = Arc<Mutex<Uploads>>;

/// Locks the positions, also after a panic of another thread, which leaves them whole.
pub(crate) fn lock(uploads: &SharedUploads) -> std::sync::MutexGuard<'_, Uploads> {
    uploads.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a pane, and whether its inset is meant.
pub(crate) type PaneKey = (usize, bool);

/// The renderers of the window's device, one for each pane and inset: the first is made at the start, others when they
/// are first drawn.
struct Renderers {
    format: wgpu::TextureFormat,
    panes: HashMap<PaneKey, Renderer>,
}

impl Renderers {
    fn of_pane(&mut self, device: &wgpu::Device, pane: PaneKey) -> &mut Renderer {
        self.panes.entry(pane).or_insert_with(|| Renderer::new(device, self.format, 1))
    }
}

/// Creates the renderers for the window's device, once.
pub(crate) fn install(render_state: &RenderState) {
    let mut renderers = Renderers { format: render_state.target_format, panes: HashMap::new() };
    renderers.of_pane(&render_state.device, (0, false));
    render_state.renderer.write().callback_resources.insert(renderers);
}

/// Removes the renderers of the panes from this one on, with their buffers.
pub(crate) fn remove_from(render_state: &RenderState, pane: usize) {
    if let Some(renderers) = render_state.renderer.write().callback_resources.get_mut::<Renderers>() {
        renderers.panes.retain(|(other, _), _| *other < pane);
    }
}

/// The paint callback of one frame's landscape.
pub(crate) struct LandscapeCallback {
    pub pane: PaneKey,
    pub scene: Scene,
    pub uploads: SharedUploads,
}

impl CallbackTrait for LandscapeCallback {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(renderers) = resources.get_mut::<Renderers>() {
            let renderer = renderers.of_pane(device, self.pane);
            lock(&self.uploads).hand_over(device, queue, renderer);
            return renderer.prepare(device, queue, &self.scene).into_iter().collect();
        }
        Vec::new()
    }

    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &CallbackResources,
    ) {
        if let Some(renderer) = resources.get::<Renderers>().and_then(|renderers| renderers.panes.get(&self.pane)) {
            renderer.paint(pass);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{Player, Snapshot};
    use valleyscope_engine::landscape::LandscapeSpec;
    use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
    use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, defaults};

    fn snapshot() -> Snapshot {
        let rule = RuleSpec::on_plane(RuleKind::Signum).rated(defaults::learning_rate());
        let spec = SimulationSpec {
            landscape: LandscapeSpec::default(),
            noise: valleyscope_engine::noise::NoiseKind::Multiplicative.into(),
            seed: 1,
            steps: None,
            particles: valleyscope_engine::quantity::ParticleCount::new(10).expect("within the range"),
            start: Default::default(),
            temperature: None,
            optimizers: vec![OptimizerSpec { id: 4, name: None, color: None, enabled: true, rule }],
        };
        let player = Player::spawn(spec, || {});
        player.wait_snapshot(std::time::Duration::from_secs(60)).expect("a first snapshot")
    }

    fn absorb(uploads: &mut Uploads, snapshot: &Snapshot) {
        uploads.absorb(snapshot.track, [(OWN_SESSION, &snapshot.sessions[0])]);
    }

    #[test]
    fn a_hidden_window_keeps_the_newest_columns_and_no_more() {
        let mut uploads = Uploads::default();
        uploads.set_capacity(20);
        let mut snapshot = snapshot();
        for step in 0..1000 {
            snapshot.sessions[0].step = step;
            snapshot.sessions[0].ensembles[0].columns = Arc::new(vec![[step as f32, 0.0]; 10]);
            absorb(&mut uploads, &snapshot);
        }
        let key = EnsembleKey { session: OWN_SESSION, optimizer: 4 };
        let upload = &uploads.ensembles[&key];
        assert_eq!(upload.waiting, 20 * 10);
        let steps: Vec<u64> = upload.chunks.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, (980..1000).collect::<Vec<_>>());

        snapshot.track += 1;
        snapshot.sessions[0].step = 0;
        absorb(&mut uploads, &snapshot);
        assert_eq!(uploads.ensembles[&key].waiting, 10, "a new run or a seek discards the columns of the old one");

        snapshot.sessions[0].ensembles.clear();
        absorb(&mut uploads, &snapshot);
        assert!(uploads.ensembles.is_empty(), "an ensemble that is gone is forgotten");
    }
}
