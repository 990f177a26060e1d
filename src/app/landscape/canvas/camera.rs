//! The part of the plane in view: initially the document's, then moved by hand, fitted once, or following the
//! particles.

use std::ops::Range;

use egui::{Rect, Response, Ui};
use valleyscope_engine::landscape::Landscape;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LessonDraft;
use valleyscope_experiments::view::{Camera, Lens, Orbit, SymLog, ViewProjection, Viewport};

use super::interaction::CameraMove;
use super::lens::LensFraming;
use super::{CanvasLayout, LandscapePanel};
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::Requests;
use crate::draw::Projection;
use crate::player::EnsembleView;

/// The largest number of an ensemble's particles that are used to find its box.
const MOST_FITTED: usize = 2000;
/// The width of the view for whose losses colours are chosen, over that of the first view.
const COLORED: f64 = 2.0;
/// The narrowest view that fitting chooses, in start spreads.
const FIT_SPREADS: f64 = 40.0;

/// The camera and its automatic movements.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    camera: Option<Camera>,
    /// The camera along the valley, which an inset has, too.
    pub(super) lens: LensFraming,
    projection: ViewProjection,
    orbit: Option<Orbit>,
    /// The document's initial view in the last frame; a different one means another document or landscape.
    first: Option<InitialView>,
    follower: Follower,
    fit_requested: bool,
    /// The camera for which the automatic colours are chosen. It does not follow the particles, so that colours keep
    /// their meaning.
    colored: Option<Camera>,
    /// The run and step for which the follower last aimed.
    aimed_at: Option<(u64, u64)>,
    /// The shown optimizers that have run away, and are not followed, with the indices of their simulations.
    left_out: Vec<(usize, u32)>,
}

/// The camera and the direction with which a simulation of a document is shown first, and the key of a built-in landscape;
/// `None` for a typed one, which may be a copy of a built-in one as text.
type InitialView = (Camera, Option<Orbit>, Option<&'static str>);

fn initial_view(document: &Document, index: usize) -> InitialView {
    let kind = document.spec(index).landscape.kind();
    (initial_camera(document, index), document.view.orbit, kind.formula().is_none().then(|| kind.key()))
}

impl Framing {
    /// Returns the camera of the projection.
    pub(crate) fn camera(&self) -> Camera {
        self.lens.camera.filter(|_| self.projection == ViewProjection::Valley).unwrap_or_else(|| self.plane_camera())
    }

    fn plane_camera(&self) -> Camera {
        self.camera.unwrap_or(Camera::HOME)
    }

    pub(crate) fn orbit(&self) -> Orbit {
        self.orbit.unwrap_or(Orbit::HOME)
    }

    pub(crate) fn look_from(&mut self, orbit: Orbit) {
        self.orbit = Some(orbit.limited());
    }

    /// Returns the shown optimizers of the simulation of this index that have run away, and are not followed.
    pub(crate) fn left_out(&self, index: usize) -> Vec<u32> {
        self.left_out.iter().filter(|(of, _)| *of == index).map(|(_, id)| *id).collect()
    }

    /// Makes the next document start with its own initial camera.
    pub(crate) fn reset_view(&mut self) {
        (self.camera, self.lens.camera, self.orbit) = (None, None, None);
    }

    pub(crate) fn restore_view(&mut self, document: &Document, index: usize, camera: Camera, orbit: Orbit) {
        self.first = Some(initial_view(document, index));
        self.camera = Some(initial_camera(document, index));
        self.look_at(limited(camera));
        self.look_from(orbit);
        self.colored = self.camera.map(colored);
    }

    pub(crate) fn look_at(&mut self, camera: Camera) {
        *(if camera.lens.is_none() { &mut self.camera } else { &mut self.lens.camera }) = Some(camera);
    }

    /// Fits the shown particles and the start into the view in the next frame.
    pub(crate) fn request_fit(&mut self) {
        self.fit_requested = true;
    }

    /// Sets the initial camera of a simulation, if it is another document's.
    pub(crate) fn begin(&mut self, document: &Document, index: usize) {
        let (camera, orbit, landscape) = initial_view(document, index);
        let is_other = self.first.replace((camera, orbit, landscape)).is_none_or(|before| {
            (camera, orbit) != (before.0, before.1)
                || landscape.zip(before.2).is_some_and(|(now, before)| now != before)
        });
        self.projection = document.view.projection;
        if self.camera.is_none() || is_other {
            self.camera = Some(camera);
            let along_valley = document.view.camera.filter(|camera| !camera.lens.is_none()).map(limited);
            self.lens = LensFraming::at(along_valley);
            self.colored = Some(colored(camera));
            self.look_from(orbit.unwrap_or(Orbit::HOME));
            self.follower.stop();
        }
    }

    /// Moves the camera to fit or to follow the particles of the simulations of these indices, the first of which has
    /// the start. `aspect` is the width of the canvas over its height, and that of the view along the valley, if one is
    /// shown.
    pub(crate) fn update(
        &mut self,
        ui: &Ui,
        document: &Document,
        live: &Live,
        simulations: Range<usize>,
        (aspect, lens_aspect): (f64, Option<f64>),
    ) {
        let index = simulations.start;
        let bounds = self.gather(document.spec(index), live, simulations.clone());
        let is_fitted = std::mem::take(&mut self.fit_requested);
        if let Some(aspect) = lens_aspect {
            let views = simulations.flat_map(|index| live.visible(index).map(move |view| (index, view)));
            let views = views.filter(|(index, view)| !self.left_out.contains(&(*index, view.optimizer)));
            let views: Vec<&EnsembleView> = views.map(|(_, view)| view).collect();
            let is_moved_by_hand = document.view.is_along_valley() && !document.view.follow && !is_fitted;
            let follows = !is_moved_by_hand || self.lens.camera.is_none();
            if is_fitted || !follows {
                self.lens.release();
            }
            if follows {
                self.lens.follow(ui, document.spec(index), live, &views, aspect);
            }
            if is_fitted {
                self.lens.arrive();
            }
        }
        if is_fitted {
            self.camera = Some(fit(document.spec(index), live, bounds, aspect));
            self.colored = self.camera;
            self.follower.stop();
        }
        if document.view.follow {
            self.follow(ui, initial_camera(document, index), live, bounds, aspect);
        } else {
            self.follower.stop();
        }
    }

    /// Determines the ensembles that belong in the view. Returns the box around the start and the shown ensembles that
    /// have not run away, if there are any.
    fn gather(&mut self, spec: &SimulationSpec, live: &Live, simulations: Range<usize>) -> Option<Bounds> {
        let start = start_xy(spec);
        let visible = || simulations.clone().flat_map(|index| live.visible(index).map(move |view| (index, view)));
        let boxes: Vec<Option<Bounds>> = visible().map(|(_, view)| Bounds::robust(staying(view, start))).collect();
        let (bounds, inside) = framed(start, &boxes);
        let outside = visible().zip(inside).filter(|(_, inside)| !inside);
        self.left_out = outside.map(|((index, view), _)| (index, view.optimizer)).collect();
        if boxes.is_empty() { Some(Bounds::of_point(start)) } else { bounds }
    }

    fn follow(&mut self, ui: &Ui, initial: Camera, live: &Live, bounds: Option<Bounds>, aspect: f64) {
        let Some(snapshot) = &live.snapshot else { return };
        let camera = self.plane_camera();
        let shown = (snapshot.run, snapshot.step);
        let is_new = self.aimed_at != Some(shown);
        if is_new {
            let run_before = self.aimed_at.replace(shown).map(|(run, _)| run);
            match bounds {
                // Without a target the camera stays.
                None => self.follower.stop(),
                Some(bounds) if run_before.is_some_and(|run| run != snapshot.run) => {
                    self.follower.aim_at_restart(initial, &bounds, aspect);
                }
                Some(bounds) => self.follower.aim(camera, &bounds, aspect),
            }
            if run_before != Some(snapshot.run) && live.frame_secs.is_some() {
                self.camera = Some(self.follower.advance(camera, f32::INFINITY));
                return;
            }
        }
        self.camera = Some(self.follower.advance_in(ui, live, camera, is_new));
    }
}

/// Returns the camera that fits a box around the shown particles and the start. Before the first step, when all particles
/// are in one point, it shows the landscape's home view and the start.
fn fit(spec: &SimulationSpec, live: &Live, bounds: Option<Bounds>, aspect: f64) -> Camera {
    let start = Bounds::of_point(start_xy(spec));
    if live.snapshot.as_ref().is_none_or(|snapshot| snapshot.step == 0) {
        let home = Camera::home(&spec.landscape);
        let view = Bounds::of_view(home, aspect);
        let with_start = view.union(start);
        return if with_start == view { home } else { fitted(&with_start, aspect, 0.0) };
    }
    let least = (FIT_SPREADS * spec.start.spread.get()).max(1e-6);
    // If all have run away, the view shows the start.
    fitted(&bounds.unwrap_or(start), aspect, least)
}

/// Returns the camera for whose view the colours of a new document are chosen. It is wider than the first view, which
/// particles leave.
fn colored(first: Camera) -> Camera {
    Camera { width: COLORED * first.width, ..first }
}

pub(super) fn initial_camera(document: &Document, index: usize) -> Camera {
    let chosen = document.view.camera.filter(|camera| camera.lens.is_none());
    limited(chosen.unwrap_or_else(|| Camera::home(&document.spec(index).landscape)))
}

pub(crate) fn start_xy(spec: &SimulationSpec) -> [f64; 2] {
    [spec.start.x.get(), spec.start.y.get()]
}

/// Returns particles of an ensemble, at most [`MOST_FITTED`], without those that have run away from the start.
pub(super) fn staying(view: &EnsembleView, start: [f64; 2]) -> impl Iterator<Item = [f32; 2]> {
    let here =
        move |point: &[f32; 2]| (0..2).all(|axis| (f64::from(point[axis]) - start[axis]).abs() < RUN_AWAY_DISTANCE);
    view.newest().iter().step_by(view.particles.div_ceil(MOST_FITTED).max(1)).copied().filter(here)
}

/// The factor by which the middle of the view along the valley follows faster than its scales.
const LENS_HASTE: f64 = 4.0;

/// The allowed widths of the view in units of the plane.
const WIDTHS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// The largest distance of the view from the origin.
const MOST_DISTANCE: f64 = 1e9;
/// The narrowest view that following chooses, so that particles near the start are not magnified to the whole view.
const FOLLOW_WIDTH: f64 = 1.5;
/// The time in which a following camera covers most of its way, in seconds.
const FOLLOW_SECS: f64 = 0.25;

/// A box in the plane, its sides along x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub min: [f64; 2],
    pub max: [f64; 2],
}

impl Bounds {
    pub fn of_point(point: [f64; 2]) -> Self {
        Bounds { min: point, max: point }
    }

    /// Returns the part of the plane that a camera shows with this aspect, width over height.
    pub fn of_view(camera: Camera, aspect: f64) -> Self {
        let half = [0.5 * camera.width, 0.5 * camera.width / aspect];
        let [x, y] = camera.center;
        Bounds { min: [x - half[0], y - half[1]], max: [x + half[0], y + half[1]] }
    }

    pub fn union(self, other: Bounds) -> Self {
        let min = [0, 1].map(|axis| self.min[axis].min(other.min[axis]));
        Bounds { min, max: [0, 1].map(|axis| self.max[axis].max(other.max[axis])) }
    }

    /// Returns the largest distance of the box from a point, along x or y.
    fn reach_from(&self, point: [f64; 2]) -> f64 {
        let along = |axis: usize| (self.max[axis] - point[axis]).max(point[axis] - self.min[axis]);
        along(0).max(along(1))
    }

    /// Returns the box around most of the points: points that are not finite are left out, and each side ends where
    /// outliers begin (1.5 times the distance between the 5th and the 95th percentile beyond them), so that one
    /// particle thrown far off does not hide all others.
    pub fn robust(points: impl Iterator<Item = [f32; 2]>) -> Option<Self> {
        let (mut x, mut y): (Vec<f32>, Vec<f32>) =
            points.filter(|[x, y]| x.is_finite() && y.is_finite()).map(|[x, y]| (x, y)).unzip();
        let ([left, right], [bottom, top]) = (robust_range(&mut x)?, robust_range(&mut y)?);
        Some(Bounds { min: [left, bottom], max: [right, top] })
    }
}

/// The distance from the start beyond which a position counts as run away, like one that is not finite.
const RUN_AWAY_DISTANCE: f64 = 1e4;
/// The distance from the start within which an ensemble is never left out.
const ALWAYS_INCLUDED: f64 = 10.0;
/// The ratio of distances from which an ensemble is left out, compared with all that are nearer.
const EXCLUDED_RATIO: f64 = 30.0;

/// Selects the ensembles that a view includes, by their boxes. Those that run away while others do not are left out, so
/// that one optimizer on its way to infinity does not move the view along. An ensemble without a box has run away.
/// Returns the box around the start and the included ensembles, if there are any, and true for each of these.
pub fn framed(start: [f64; 2], ensembles: &[Option<Bounds>]) -> (Option<Bounds>, Vec<bool>) {
    let known = ensembles.iter().enumerate().filter_map(|(index, bounds)| Some((index, (*bounds)?)));
    let mut by_reach: Vec<(usize, f64, Bounds)> =
        known.map(|(index, bounds)| (index, bounds.reach_from(start), bounds)).collect();
    by_reach.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut around, mut inside, mut farthest) = (None, vec![false; ensembles.len()], 0.0);
    for (index, reach, bounds) in by_reach {
        if around.is_some() && reach > ALWAYS_INCLUDED.max(EXCLUDED_RATIO * farthest) {
            break;
        }
        farthest = reach;
        inside[index] = true;
        around = Some(around.unwrap_or(Bounds::of_point(start)).union(bounds));
    }
    (around, inside)
}

/// The number of points below which none is an outlier.
const ENOUGH_FOR_OUTLIERS: usize = 8;

fn robust_range(values: &mut [f32]) -> Option<[f64; 2]> {
    let min = f64::from(values.iter().copied().reduce(f32::min)?);
    let max = f64::from(values.iter().copied().reduce(f32::max)?);
    if values.len() < ENOUGH_FOR_OUTLIERS {
        return Some([min, max]);
    }
    let rank = values.len() / 20;
    let from_end = values.len() - 1 - rank;
    let low = f64::from(*values.select_nth_unstable_by(rank, f32::total_cmp).1);
    let high = f64::from(*values.select_nth_unstable_by(from_end, f32::total_cmp).1);
    let reach = 1.5 * (high - low);
    Some([min.max(low - reach), max.min(high + reach)])
}

/// Returns the nearest camera within the limits.
pub fn limited(camera: Camera) -> Camera {
    let center = camera.center.map(|c| if c.is_nan() { 0.0 } else { c.clamp(-MOST_DISTANCE, MOST_DISTANCE) });
    // In narrower views, neighbouring pixels would be the same number.
    let finest = 1e-12 * center[0].abs().max(center[1].abs());
    let width = if camera.width.is_nan() { Camera::HOME.width } else { camera.width };
    let stretch = if camera.lens.stretch.is_nan() { 1.0 } else { camera.lens.stretch.clamp(1e-9, 1e9) };
    let lens = Lens { stretch, ..camera.lens };
    Camera { center, width: width.clamp(WIDTHS.start().max(finest), *WIDTHS.end()), lens }
}

/// Returns the camera after the picture was dragged by `delta_px`.
pub fn panned(viewport: &Viewport, delta_px: [f32; 2]) -> Camera {
    let ([first, second], [right, down]) = (viewport.xy_per_px(), delta_px.map(f64::from));
    let center = [0, 1].map(|axis| viewport.camera.center[axis] - right * first[axis] + down * second[axis]);
    limited(Camera { center, ..viewport.camera })
}

/// Returns the camera closer by `factor`, such that the point under `at_px` stays there.
pub fn zoomed(viewport: &Viewport, at_px: [f32; 2], factor: f64) -> Camera {
    zoomed_about(viewport.camera, viewport.xy_from_px(at_px), factor)
}

/// Returns the camera closer by `factor`, such that a point of the plane stays where it is in the view.
pub(crate) fn zoomed_about(camera: Camera, fixed: [f64; 2], factor: f64) -> Camera {
    let width = limited(Camera { width: camera.width / factor, ..camera }).width;
    let ratio = width / camera.width;
    let center = [0, 1].map(|axis| fixed[axis] + (camera.center[axis] - fixed[axis]) * ratio);
    limited(Camera { center, width, ..camera })
}

/// Returns the camera whose second axis is longer by `factor`, such that the point under `at_px` stays there.
pub(crate) fn stretched(viewport: &Viewport, at_px: [f32; 2], factor: f64) -> Camera {
    let (camera, fixed) = (viewport.camera, viewport.xy_from_px(at_px));
    let Camera { lens: Lens { stretch, .. }, .. } =
        limited(Camera { lens: Lens { stretch: camera.lens.stretch * factor, ..camera.lens }, ..camera });
    let [along, across] = camera.lens.coordinates([0, 1].map(|axis| camera.center[axis] - fixed[axis]));
    let from_fixed = camera.lens.xy([along, across * camera.lens.stretch / stretch]);
    let center = [0, 1].map(|axis| fixed[axis] + from_fixed[axis]);
    limited(Camera { center, lens: Lens { stretch, ..camera.lens }, ..camera })
}

/// Returns the camera that shows `bounds` with room around it, at least `least_width` wide. `aspect` is the width of
/// the canvas over its height.
pub fn fitted(bounds: &Bounds, aspect: f64, least_width: f64) -> Camera {
    const ROOM: f64 = 1.25;
    let center = [0, 1].map(|axis| 0.5 * (bounds.min[axis] + bounds.max[axis]));
    let (width, height) = (bounds.max[0] - bounds.min[0], bounds.max[1] - bounds.min[1]);
    limited(Camera::new(center, (ROOM * width.max(height * aspect)).max(least_width)))
}

/// A camera movement that keeps the particles in view and starts only when necessary.
#[derive(Debug, Default)]
pub struct Follower {
    pub(super) target: Option<Camera>,
}

impl Follower {
    /// Cancels the current movement.
    pub fn stop(&mut self) {
        self.target = None;
    }

    pub fn is_moving(&self) -> bool {
        self.target.is_some()
    }

    /// Starts a movement when `bounds` leaves the middle nine tenths of the view or has become small in it.
    pub fn aim(&mut self, camera: Camera, bounds: &Bounds, aspect: f64) {
        let seen_from = self.target.unwrap_or(camera);
        let fit = fitted(bounds, aspect, FOLLOW_WIDTH);
        let lost = seen_from.width > 3.0 * fit.width;
        let middle = Bounds::of_view(Camera { width: 0.9 * seen_from.width, ..seen_from }, aspect);
        if lost || middle.union(*bounds) != middle {
            // Some way ahead of the particles, so that the next movement does not start at once.
            self.target = Some(limited(Camera { width: 1.2 * fit.width, ..fit }));
        }
    }

    /// Starts a movement to the view of a restarted run: `first`, if that shows `bounds`.
    pub fn aim_at_restart(&mut self, first: Camera, bounds: &Bounds, aspect: f64) {
        self.target = Some(first);
        self.aim(first, bounds, aspect);
    }

    /// Returns the camera later on its way: by the clock, or while an animation is recorded by a frame for each new
    /// snapshot.
    pub(super) fn advance_in(&mut self, ui: &Ui, live: &Live, camera: Camera, is_new: bool) -> Camera {
        match live.frame_secs {
            Some(secs) if is_new => self.advance(camera, secs),
            None if self.is_moving() => {
                ui.ctx().request_repaint();
                self.advance(camera, ui.input(|input| input.stable_dt).min(0.1))
            }
            _ => camera,
        }
    }

    /// Returns the camera `secs` later on its way.
    pub fn advance(&mut self, camera: Camera, secs: f32) -> Camera {
        let Some(target) = self.target else { return camera };
        let part_of = |secs_ratio: f64| 1.0 - (-f64::from(secs) / FOLLOW_SECS * secs_ratio).exp();
        let part = part_of(1.0);
        let shift = part_of(if target.lens.is_none() { 1.0 } else { LENS_HASTE });
        let width = camera.width * (target.width / camera.width).powf(part);
        let center = [0, 1].map(|axis| camera.center[axis] + (target.center[axis] - camera.center[axis]) * shift);
        let moved = Camera { center, width, lens: camera.lens.towards(target.lens, part) };
        let [along, across] = target.lens.coordinates([0, 1].map(|axis| target.center[axis] - moved.center[axis]));
        let off = along.abs().max(across.abs() * target.lens.stretch);
        let ratio = |now: f64, then: f64| (now / then - 1.0).abs();
        let scales = ratio(moved.width, target.width).max(ratio(moved.lens.stretch, target.lens.stretch));
        let turn = (0..2).map(|axis| (target.lens.right[axis] - moved.lens.right[axis]).abs()).fold(0.0, f64::max);
        if off < 1e-3 * target.width && scales.max(turn * target.lens.stretch) < 1e-3 {
            self.target = None;
            return target;
        }
        moved
    }
}

impl LandscapePanel {
    /// Returns the index of the pane whose camera is that of the canvas of this index.
    pub(super) fn framed_by(index: usize, live: &Live) -> usize {
        if live.has_own_cameras { index } else { 0 }
    }

    /// Handles the input on the canvases, and moves their cameras.
    pub(crate) fn move_cameras(
        &mut self,
        ui: &Ui,
        canvases: &[(CanvasLayout, Response)],
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        self.keep_panes(document.count());
        if live.has_own_cameras && !self.had_own_cameras {
            let (camera, orbit) = (self.camera(), self.orbit());
            for (index, pane) in self.panes.iter_mut().enumerate() {
                pane.framing.restore_view(document, index, camera, orbit);
            }
        }
        self.had_own_cameras = live.has_own_cameras;
        self.begin_framing(canvases.len(), document);
        let scale = self.scale(document, live);
        for (index, (layout, response)) in canvases.iter().enumerate() {
            let is_used = response.clicked() || response.drag_started() || response.gained_focus();
            if is_used && canvases.len() > 1 {
                live.chosen = index;
            }
            let framed = Self::framed_by(index, live);
            if let Some(inset) = &layout.inset {
                self.use_inset(ui, inset, (index, framed), document, live, requests);
            }
            let projection = self.projection((index, framed), response.rect, scale, document);
            let (spec, live) = (document.spec_mut(index), (&mut *live, index));
            let camera_move = self.interaction.handle(ui, response, &projection, spec, live, requests);
            let framing = &mut self.panes[framed].framing;
            match camera_move {
                CameraMove::Stay => {}
                CameraMove::Fit => framing.request_fit(),
                CameraMove::From(orbit) => framing.look_from(orbit),
                CameraMove::To(camera) => {
                    framing.look_at(camera);
                    document.view.follow = false;
                }
            }
        }
        self.update_framing(ui, canvases, document, live);
    }

    /// Begins the framing of the simulations of `count` canvases that are new.
    pub(super) fn begin_framing(&mut self, count: usize, document: &Document) {
        self.keep_panes(count);
        for (index, pane) in self.panes.iter_mut().enumerate() {
            pane.framing.begin(document, index);
        }
    }

    /// Moves the cameras to what they are to show.
    pub(crate) fn update_framing(
        &mut self,
        ui: &Ui,
        canvases: &[(CanvasLayout, Response)],
        document: &Document,
        live: &Live,
    ) {
        for (index, (layout, response)) in canvases.iter().enumerate() {
            // In space, the part in view is a square.
            let aspect = if document.view.is_in_space() { 1.0 } else { f64::from(response.rect.aspect_ratio()) };
            let simulations = if live.has_own_cameras { index..index + 1 } else { 0..canvases.len() };
            let lens_canvas = match document.view.is_along_valley() {
                true => Some(response.rect),
                false => layout.inset.as_ref().map(|inset| inset.layout.canvas),
            };
            let aspects = (aspect, lens_canvas.map(|canvas| f64::from(canvas.aspect_ratio())));
            if Self::framed_by(index, live) == index {
                self.panes[index].framing.update(ui, document, live, simulations, aspects);
            }
        }
    }

    /// Returns the viewport of a pane's camera on a canvas, in points.
    pub(crate) fn viewport(&self, framed: usize, canvas: Rect) -> Viewport {
        Viewport { camera: self.panes[framed].framing.camera(), size_px: canvas.size().into() }
    }

    /// Takes the landscapes of a lesson, which have one colour scale together; none without a lesson.
    pub(crate) fn color_lesson(&mut self, lesson: &LessonDraft) {
        if self.of_lesson.as_ref().is_none_or(|(known, _)| known != lesson) {
            self.of_lesson = Some((lesson.clone(), lesson.landscapes()));
        }
    }

    /// Returns the colour scale, which all canvases share. An automatic one is chosen for the first view or the fitted
    /// one, or for all landscapes of a lesson, and does not follow the camera.
    pub(crate) fn scale(&mut self, document: &Document, live: &Live) -> SymLog {
        if let Some(scale) = document.view.scale {
            return scale;
        }
        let of_lesson = self.of_lesson.iter().flat_map(|(_, landscapes)| landscapes);
        let mut views: Vec<(Landscape, Camera)> =
            of_lesson.map(|spec| (spec.landscape(), colored(Camera::home(spec)))).collect();
        if views.is_empty() {
            views.extend(document.specs().enumerate().map(|(index, spec)| {
                let framing = &self.panes[Self::framed_by(index, live)].framing;
                (spec.landscape.landscape(), framing.colored.unwrap_or_else(|| framing.camera()))
            }));
        }
        let viewport = |camera: &Camera| Viewport { camera: *camera, size_px: [1.0; 2] };
        let views: Vec<_> = views.iter().map(|(landscape, camera)| (landscape, viewport(camera))).collect();
        self.auto_scale.update(&views)
    }

    /// Returns the mapping of the plane to the canvas of a simulation, whose camera is that of the pane `framed`.
    pub(super) fn projection(
        &mut self,
        (index, framed): (usize, usize),
        canvas: Rect,
        scale: SymLog,
        document: &Document,
    ) -> Projection {
        let (viewport, orbit) = (self.viewport(framed, canvas), self.panes[framed].framing.orbit());
        if !document.view.is_in_space() {
            return Projection::Plane(viewport);
        }
        let landscape = document.spec(index).landscape.landscape();
        let (orbit, cover) = (orbit.reached_from_above(self.turned), self.cover.max(1.0 - self.turned));
        Projection::Space(self.panes[index].surface.projection(&landscape, &scale, viewport, (orbit, cover)))
    }
}
