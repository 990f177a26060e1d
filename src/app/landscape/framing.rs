//! The part of the plane in view: initially the document's, then moved by hand, fitted once, or following the
//! particles.

use std::collections::BTreeSet;
use std::ops::Range;

use egui::Ui;
use valleyscope_experiments::view::{Camera, Orbit};

use super::interaction::start_xy;
use super::motion::{Bounds, Follower, FramedEnsembles, RUN_AWAY_DISTANCE, fitted, limited};
use crate::app::{Document, Live};
use crate::player::EnsembleView;

/// The largest number of an ensemble's particles that are used to find its box.
const MOST_FITTED: usize = 2000;
/// The narrowest view that fitting chooses, in start spreads.
const FIT_SPREADS: f64 = 40.0;

/// The camera and its automatic movements.
#[derive(Debug, Default)]
pub(super) struct Framing {
    camera: Option<Camera>,
    orbit: Option<Orbit>,
    /// The document's first look in the last frame; a different one means another document or landscape.
    first: Option<FirstLook>,
    follower: Follower,
    fit_requested: bool,
    /// The run and step for which the follower last aimed.
    aimed_at: Option<(u64, u64)>,
    /// The box around the start and the shown ensembles that have not run away, if there are any, with its inputs.
    bounds: Option<Bounds>,
    gathered: Option<BoundsInputs>,
    /// The shown optimizers that have run away, and are not followed, with the places of their simulations.
    left_out: Vec<(usize, u32)>,
}

/// The place and the direction from which a document is first looked at.
#[derive(Debug)]
struct FirstLook {
    camera: Camera,
    orbit: Option<Orbit>,
    /// The built-in landscape; `None` for a typed one, which may be a copy of a built-in one as text.
    landscape: Option<&'static str>,
}

impl FirstLook {
    fn of(document: &Document) -> FirstLook {
        let kind = document.spec.landscape.kind();
        let landscape = kind.formula().is_none().then(|| kind.key());
        FirstLook { camera: first_look(document), orbit: document.view.orbit, landscape }
    }

    /// Returns whether another document or another landscape is looked at.
    fn differs(&self, before: &FirstLook) -> bool {
        let are_built_in = self.landscape.is_some() && before.landscape.is_some();
        (self.camera, self.orbit) != (before.camera, before.orbit)
            || (are_built_in && self.landscape != before.landscape)
    }
}

/// The inputs of a box around ensembles.
#[derive(Debug, PartialEq)]
struct BoundsInputs {
    run_and_step: Option<(u64, u64)>,
    places: Range<usize>,
    hidden: BTreeSet<u32>,
    start: [f64; 2],
}

impl Framing {
    /// Returns the camera.
    pub(super) fn camera(&self) -> Camera {
        self.camera.unwrap_or(Camera::HOME)
    }

    /// Returns the direction from which the surface in space is seen.
    pub(super) fn orbit(&self) -> Orbit {
        self.orbit.unwrap_or(Orbit::HOME)
    }

    pub(super) fn look_from(&mut self, orbit: Orbit) {
        self.orbit = Some(orbit.limited());
    }

    /// Returns the shown optimizers of the simulation at this place that have run away, and are not followed.
    pub(super) fn left_out(&self, place: usize) -> Vec<u32> {
        self.left_out.iter().filter(|(of, _)| *of == place).map(|(_, id)| *id).collect()
    }

    /// Makes the next document start with its own initial camera.
    pub(super) fn reset_view(&mut self) {
        (self.camera, self.orbit) = (None, None);
    }

    pub(super) fn restore_view(&mut self, document: &Document, camera: Camera, orbit: Orbit) {
        self.first = Some(FirstLook::of(document));
        self.look_at(limited(camera));
        self.look_from(orbit);
    }

    pub(super) fn look_at(&mut self, camera: Camera) {
        self.camera = Some(camera);
    }

    /// Fits the shown particles and the start into the view in the next frame.
    pub(super) fn request_fit(&mut self) {
        self.fit_requested = true;
    }

    /// Sets the document's initial camera, if it is another document.
    pub(super) fn begin(&mut self, document: &Document) {
        let first = FirstLook::of(document);
        let is_other = self.first.as_ref().is_none_or(|before| first.differs(before));
        if self.camera.is_none() || is_other {
            self.camera = Some(first.camera);
            self.look_from(first.orbit.unwrap_or(Orbit::HOME));
            self.follower.stop();
        }
        self.first = Some(first);
    }

    /// Moves the camera to fit or to follow the particles of the simulations at these places. `aspect` is the width of
    /// the canvas over its height.
    pub(super) fn update(&mut self, ui: &Ui, document: &Document, live: &Live, places: Range<usize>, aspect: f64) {
        self.gather(document, live, places);
        let bounds = self.bounds;
        if std::mem::take(&mut self.fit_requested) {
            self.camera = Some(self.fit(document, live, aspect));
            self.follower.stop();
        }
        if document.view.follow {
            self.follow(ui, document, live, bounds, aspect);
        } else {
            self.follower.stop();
        }
    }

    /// Returns the camera that fits the shown particles and the start. Before the first step, when all particles are in
    /// one place, it shows the landscape's home view and the start.
    fn fit(&self, document: &Document, live: &Live, aspect: f64) -> Camera {
        let start = Bounds::of_point(start_xy(document));
        if live.snapshot.as_ref().is_none_or(|snapshot| snapshot.step == 0) {
            let home = Camera::home(&document.spec.landscape);
            let view = Bounds::of_view(home, aspect);
            let with_start = view.union(start);
            return if with_start == view { home } else { fitted(&with_start, aspect, 0.0) };
        }
        let least = (FIT_SPREADS * document.spec.start.spread.get()).max(1e-6);
        // If all have run away, the view shows the start.
        fitted(&self.bounds.unwrap_or(start), aspect, least)
    }

    /// Determines the ensembles that belong in the view.
    fn gather(&mut self, document: &Document, live: &Live, places: Range<usize>) {
        let start = start_xy(document);
        let run_and_step = live.snapshot.as_ref().map(|snapshot| (snapshot.run, snapshot.step));
        let hidden = live.hidden.clone();
        let gathered = Some(BoundsInputs { run_and_step, places: places.clone(), hidden, start });
        if self.gathered == gathered {
            return;
        }
        self.gathered = gathered;
        let visible = || places.clone().flat_map(|place| live.visible_in(place).map(move |view| (place, view)));
        let boxes: Vec<Option<Bounds>> = visible().map(|(_, view)| bounds_of(view, start)).collect();
        let framed = FramedEnsembles::select(start, &boxes);
        let outside = visible().zip(&framed.inside).filter(|(_, inside)| !**inside);
        self.left_out = outside.map(|((place, view), _)| (place, view.optimizer)).collect();
        self.bounds = if boxes.is_empty() { Some(Bounds::of_point(start)) } else { framed.bounds };
    }

    fn follow(&mut self, ui: &Ui, document: &Document, live: &Live, bounds: Option<Bounds>, aspect: f64) {
        let Some(snapshot) = &live.snapshot else { return };
        let camera = self.camera();
        let shown = Some((snapshot.run, snapshot.step));
        let is_new = self.aimed_at != shown;
        if is_new {
            let run_before = self.aimed_at.map(|(run, _)| run);
            self.aimed_at = shown;
            match bounds {
                // Without a target the camera stays.
                None => self.follower.stop(),
                Some(bounds) if run_before.is_some_and(|run| run != snapshot.run) => {
                    self.follower.aim_at_restart(first_look(document), &bounds, aspect);
                }
                Some(bounds) => self.follower.aim(camera, &bounds, aspect),
            }
            if run_before != Some(snapshot.run) && live.frame_secs.is_some() {
                self.camera = Some(self.follower.advance(camera, f32::INFINITY));
                return;
            }
        }
        if !self.follower.is_moving() {
            return;
        }
        match live.frame_secs {
            Some(secs) if is_new => self.camera = Some(self.follower.advance(camera, secs)),
            Some(_) => {}
            None => {
                let secs = ui.input(|input| input.stable_dt).min(0.1);
                self.camera = Some(self.follower.advance(camera, secs));
                ui.ctx().request_repaint();
            }
        }
    }
}

fn first_look(document: &Document) -> Camera {
    limited(document.view.camera.unwrap_or_else(|| Camera::home(&document.spec.landscape)))
}

/// Returns the box around most of an ensemble's particles, without those that have run away.
fn bounds_of(view: &EnsembleView, start: [f64; 2]) -> Option<Bounds> {
    let newest = view.columns.len().saturating_sub(view.particles);
    let stride = view.particles.div_ceil(MOST_FITTED).max(1);
    let here = |point: &[f32; 2]| (0..2).all(|axis| (f64::from(point[axis]) - start[axis]).abs() < RUN_AWAY_DISTANCE);
    Bounds::robust(view.columns[newest..].iter().step_by(stride).copied().filter(here))
}
