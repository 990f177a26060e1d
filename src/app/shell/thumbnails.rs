//! Small pictures of presets: a landscape with the means and the clouds of its optimizers, or a coarse phase diagram.

use std::sync::Arc;

use egui::{Color32, ColorImage, Context, TextureFilter, TextureHandle, TextureOptions, Vec2, vec2};
use valleyscope_engine::quantity::{ParticleCount, PointCount, Replicates};
use valleyscope_engine::sweep::{Backend, Diagram, Precision, Sampling, SweepJob, SweepWork};
use valleyscope_experiments::preset::{LandscapePreset, Preset, SweepPreset};
use valleyscope_experiments::view::ViewProjection;

use super::export::decoded;
use super::jobs::Job;
use crate::draw::{Map, MapImage, Trajectories, small_picture};

/// The size of a small picture, in points, and its resolution: two pixels a point.
pub(crate) const THUMBNAIL: Vec2 = vec2(72.0, 46.0);
const DPI: f64 = 144.0;
/// The largest numbers of particles and steps of a simulation, and of rows, columns and replicates of a diagram.
const PARTICLES: u64 = 24;
const STEPS: u64 = 1_000;
const ROWS: u64 = 8;
const COLUMNS: u64 = 12;
const REPLICATES: u64 = 2;
/// The most steps of optimizers of a coarse diagram, times its dimension; one with more is coarser.
const MOST_STEPS: f64 = 6e7;

/// The pictures so far, each with its preset; `None` until it is made, and where it cannot be made.
#[derive(Default)]
pub(crate) struct Thumbnails {
    known: Vec<(Arc<Preset>, Option<TextureHandle>)>,
    /// The number of presets whose pictures were begun, one after another.
    begun: usize,
    job: Option<Job<Option<ColorImage>>>,
}

impl Thumbnails {
    /// Returns the picture of a preset. It is made in the background once it was asked for.
    pub(crate) fn get(&mut self, preset: &Preset) -> Option<&TextureHandle> {
        let index = self.known.iter().position(|(known, _)| **known == *preset).unwrap_or_else(|| {
            self.known.push((Arc::new(preset.clone()), None));
            self.known.len() - 1
        });
        self.known[index].1.as_ref()
    }

    /// Takes a finished picture, and begins the next one that was asked for.
    pub(crate) fn update(&mut self, ctx: &Context) {
        if let Some(made) = Job::take(&mut self.job) {
            // The pixels of a coarse diagram stay sharp.
            let options = TextureOptions { magnification: TextureFilter::Nearest, ..TextureOptions::LINEAR };
            let texture = |picture| ctx.load_texture("preset", picture, options);
            self.known[self.begun - 1].1 = made.ok().flatten().map(texture);
        }
        if self.job.is_none()
            && let Some((preset, _)) = self.known.get(self.begun)
        {
            let preset = Arc::clone(preset);
            self.begun += 1;
            self.job = Some(Job::start(ctx, move |_| picture(&preset)));
        }
    }
}

/// Draws the small picture of a preset; `None` where this machine cannot compute what it shows.
fn picture(preset: &Preset) -> Option<ColorImage> {
    match preset {
        Preset::Landscape(preset) => landscape_picture(preset.clone()),
        Preset::Sweep(preset) => diagram_picture(preset),
        _ => Some(training_picture()),
    }
}

/// Draws the landscape of a preset from above, with the paths of some of its particles.
fn landscape_picture(mut preset: LandscapePreset) -> Option<ColorImage> {
    let view = preset.view.get_or_insert_default();
    (view.projection, view.contours, view.uv_frame) = (ViewProjection::Plane, false, false);
    let spec = preset.spec_mut();
    spec.particles = spec.particles.min(ParticleCount::clamped(PARTICLES));
    spec.steps = Some(spec.steps.unwrap_or(LandscapePreset::DEFAULT_STEPS).min(STEPS));
    let mut trajectories = Trajectories::new(&preset).ok()?;
    while !trajectories.is_complete() {
        trajectories.advance();
    }
    decoded(&small_picture(&trajectories, THUMBNAIL, DPI).ok()?).ok()
}

/// Draws a falling curve, which stands for any training.
fn training_picture() -> ColorImage {
    let size = (THUMBNAIL * (DPI / 72.0) as f32).round();
    let color = |index: usize| {
        let at = vec2((index % size.x as usize) as f32, (index / size.x as usize) as f32) / size;
        let (curve, slope) = (0.85 - 0.65 * (-4.0 * at.x).exp(), 2.6 * (-4.0 * at.x).exp());
        let away = (at.y - curve).abs() * size.y / (slope * size.y / size.x).hypot(1.0);
        Color32::from_rgb(34, 39, 48).lerp_to_gamma(Color32::from_rgb(203, 209, 220), (2.0 - away).clamp(0.0, 1.0))
    };
    let [width, height] = [size.x, size.y].map(|side| side as usize);
    ColorImage::new([width, height], (0..width * height).map(color).collect())
}

/// Computes a coarse diagram and draws its winners.
fn diagram_picture(preset: &SweepPreset) -> Option<ColorImage> {
    let mut sweep = preset.sweep.clone();
    sweep.check_computable().ok()?;
    sweep.sampling = Sampling::Uniform;
    for coarser in [1, 2, 4] {
        sweep.rows.count = sweep.rows.count.min(PointCount::clamped(ROWS / coarser));
        sweep.columns.count = sweep.columns.count.min(PointCount::clamped(COLUMNS / coarser));
        sweep.replicates = sweep.replicates.min(Replicates::clamped(REPLICATES / coarser));
        if sweep.total_steps() * sweep.dimension.get() as f64 <= MOST_STEPS {
            break;
        }
    }
    let (metric, sweep) = (sweep.metric, Arc::new(sweep));
    let mut diagram = Diagram::new(Arc::clone(&sweep));
    let work = SweepWork::new(SweepJob::new(sweep, Backend::new(Precision::Single)));
    work.run(|finished| {
        diagram.insert(finished.pixel, finished.cell);
        true
    });
    let MapImage { width, height, rgba } = Map::Winner { certainty: false }.image(&diagram, metric);
    Some(ColorImage::from_rgba_unmultiplied([width, height], &rgba))
}

#[cfg(test)]
mod tests {
    use valleyscope_experiments::preset::{Preset, built_ins};

    use super::picture;

    fn named(name: &str) -> &'static Preset {
        &built_ins().iter().find(|built_in| built_in.name == name).expect("a built-in preset").preset
    }

    #[test]
    fn presets_have_small_pictures_which_are_the_same_each_time() {
        for name in ["fig1c", "fig2a", "mnist"] {
            let [one, other] = [0, 1].map(|_| picture(named(name)).expect("a picture"));
            assert!(one == other, "{name}");
            let first = one.pixels[0];
            assert!(one.pixels.iter().any(|pixel| *pixel != first), "{name}: there is something to see");
        }
    }
}
