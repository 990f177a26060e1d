//! The camera along the valley, which follows the particles.

use egui::Ui;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::view::{Camera, Lens};

use super::camera::{Bounds, Follower, limited, start_xy, staying};
use crate::app::landscape::live::Live;
use crate::player::EnsembleView;

/// The number of steps of the trails that the view shows.
const TRAIL: f64 = 60.0;
/// The room of the view, over the range of the particles, along and across the valley.
const ROOM: [f64; 2] = [1.2, 1.5];
/// The least half of the width and of the height before the first step, when all particles may be in one point.
const FIRST: [f64; 2] = [0.25, 0.02];

/// The camera along the valley and its movement.
#[derive(Debug, Default)]
pub(super) struct LensFraming {
    /// The camera, once it was needed.
    pub camera: Option<Camera>,
    follower: Follower,
    aimed_at: Option<Inputs>,
}

/// The inputs of the camera's target, which aims anew when one of them changes: the run and its step, the number of
/// ensembles, the landscape, and the aspect of the view.
type Inputs = (Option<(u64, u64)>, usize, LandscapeSpec, f64);

impl LensFraming {
    pub(super) fn at(camera: Option<Camera>) -> LensFraming {
        LensFraming { camera, ..LensFraming::default() }
    }

    /// Ends the movement, so that the next one begins from the present scales.
    pub(super) fn release(&mut self) {
        self.follower.stop();
        self.aimed_at = None;
    }

    /// Ends the movement at its target.
    pub(super) fn arrive(&mut self) {
        self.camera = self.follower.target.take().or(self.camera);
    }

    /// Moves the camera to ensembles. `aspect` is the width of the view over its height.
    pub(super) fn follow(&mut self, ui: &Ui, spec: &SimulationSpec, live: &Live, views: &[&EnsembleView], aspect: f64) {
        let run_and_step = live.snapshot.as_ref().map(|snapshot| (snapshot.run, snapshot.step));
        let inputs = (run_and_step, views.len(), spec.landscape, aspect);
        let is_new = self.aimed_at != Some(inputs);
        if is_new {
            let is_other = self.aimed_at.is_some_and(|(_, _, landscape, _)| landscape != spec.landscape);
            let before = self.camera.filter(|_| !is_other);
            self.follower.target = Some(aimed(spec, live, views, aspect, self.follower.target.or(before)));
            self.aimed_at = Some(inputs);
            if before.is_none() {
                self.arrive();
            }
        }
        self.camera = self.camera.map(|camera| self.follower.advance_in(ui, live, camera, is_new));
    }
}

/// Returns the camera in which ensembles and the newest parts of their trails are seen.
fn aimed(spec: &SimulationSpec, live: &Live, views: &[&EnsembleView], aspect: f64, before: Option<Camera>) -> Camera {
    let start = start_xy(spec);
    let cloud = |view: &&EnsembleView| staying(view, start).map(|point| point.map(f64::from)).collect::<Vec<_>>();
    let clouds: Vec<Vec<[f64; 2]>> = views.iter().map(cloud).collect();
    let lens = Lens::along(&spec.landscape, &clouds.concat(), before.map(|camera| camera.lens));
    let step = live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
    let trails = views.iter().filter_map(|view| {
        // The points of the mean's path are about equally many steps apart.
        let newer = view.mean_path.len() as f64 * TRAIL / step.max(1) as f64;
        let at = view.mean_path.iter().rev().nth(newer as usize).or(view.mean_path.first())?;
        Some(vec![at.map(f64::from)])
    });
    let seen = clouds.iter().cloned().chain(trails).filter_map(|points| {
        Bounds::robust(points.iter().map(|at| lens.coordinates(*at).map(|coordinate| coordinate as f32)))
    });
    let Bounds { min, max } = seen.reduce(Bounds::union).unwrap_or_else(|| Bounds::of_point(lens.coordinates(start)));
    let ranges = [0, 1].map(|axis| {
        let (middle, half) = (0.5 * (min[axis] + max[axis]), 0.5 * (max[axis] - min[axis]));
        let half = (ROOM[axis] * half).max(if step == 0 { FIRST[axis] } else { 0.0 });
        [middle - half, middle + half]
    });
    limited(lens.framing(ranges, aspect, before.as_ref()))
}
