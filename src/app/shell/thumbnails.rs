//! Small pictures of presets: a landscape with the means and the clouds of its optimizers, or a coarse phase diagram.

use std::sync::Arc;

use egui::{ColorImage, Context, TextureHandle, TextureOptions, Vec2, vec2};
use image::imageops::{FilterType, resize};
use image::{Rgb, RgbImage};
use valleyscope_engine::quantity::{ParticleCount, PointCount, Replicates};
use valleyscope_engine::simulation::Simulation;
use valleyscope_engine::sweep::{Backend, Diagram, Precision, Sampling, SweepJob, SweepWork};
use valleyscope_experiments::preset::{LandscapePreset, Preset, SweepPreset};
use valleyscope_experiments::view::{AutoScale, Viewport, simulation_colors};

use super::jobs::Job;
use crate::draw::{Map, around, pixel_rgb};

/// The size of a small picture, in points and in pixels.
pub(crate) const THUMBNAIL: Vec2 = vec2(72.0, 46.0);
const THUMBNAIL_PX: [u32; 2] = [144, 92];
/// The largest numbers of particles and steps of a simulation, and of rows, columns and replicates of a diagram.
const PARTICLES: u64 = 24;
const STEPS: u64 = 1_000;
const ROWS: u64 = 8;
const COLUMNS: u64 = 12;
const REPLICATES: u64 = 2;
/// The most steps of optimizers of a coarse diagram, times its dimension; one with more is coarser.
const MOST_STEPS: f64 = 6e7;
/// The radii of paths and particles, over the height of the picture.
const PATH: f64 = 0.016;
const PARTICLE: f64 = 0.05;

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
            let texture = |picture| ctx.load_texture("preset", picture, TextureOptions::LINEAR);
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

/// Draws the small picture of a preset; `None` for a diagram that this machine cannot compute.
fn picture(preset: &Preset) -> Option<ColorImage> {
    let drawn = match preset {
        Preset::Landscape(preset) => landscape_picture(preset, THUMBNAIL_PX),
        Preset::Sweep(preset) => diagram_picture(preset)?,
        _ => training_picture(),
    };
    Some(ColorImage::from_rgb(THUMBNAIL_PX.map(|side| side as usize), drawn.as_raw()))
}

/// Draws the loss of the landscape of a preset, the paths of the means of its optimizers, and their last particles.
pub(crate) fn landscape_picture(preset: &LandscapePreset, [width, height]: [u32; 2]) -> RgbImage {
    let mut preset = preset.clone();
    let spec = preset.spec_mut();
    spec.particles = spec.particles.min(ParticleCount::clamped(PARTICLES));
    let (start, steps) = (spec.start, spec.steps.unwrap_or(LandscapePreset::DEFAULT_STEPS).min(STEPS));
    let mut simulation = Simulation::new(spec.clone());
    let mut means = vec![Vec::new(); simulation.ensembles().len()];
    while simulation.step() < steps {
        means.iter_mut().zip(simulation.ensembles()).for_each(|(path, it)| path.push(it.mean_position()));
        simulation.advance();
    }
    let ends: Vec<Vec<[f64; 2]>> = simulation.ensembles().iter().map(|it| it.positions().collect()).collect();
    let view = preset.view.clone().unwrap_or_default();
    let paths = means.iter().map(|mean| (&mean[..], &[][..]));
    let around = || around(paths, [start.x.get(), start.y.get()], start.spread.get());
    let camera = view.camera.filter(|_| !view.follow).unwrap_or_else(around);
    // Twice as large, so that edges are smooth.
    let size = [2.0 * f64::from(width), 2.0 * f64::from(height)];
    let scale_px = size[0] / camera.width;
    let to_px = |[x, y]: [f64; 2]| {
        let [right, up] = [x - camera.center[0], y - camera.center[1]].map(|distance| distance * scale_px);
        [0.5 * size[0] + right, 0.5 * size[1] - up]
    };
    let landscape = preset.spec().landscape.landscape();
    let viewport = Viewport { camera, size_px: size.map(|side| side as f32) };
    let scale = view.scale.unwrap_or_else(|| AutoScale::default().update(&[(&landscape, viewport)]));
    let mut drawn = RgbImage::from_fn(2 * width, 2 * height, |column, row| {
        let [right, down] = [f64::from(column) + 0.5 - 0.5 * size[0], f64::from(row) + 0.5 - 0.5 * size[1]];
        let at = [camera.center[0] + right / scale_px, camera.center[1] - down / scale_px];
        Rgb(pixel_rgb(landscape.loss(at), &scale, view.colormap, [column as usize, row as usize]))
    });
    let optimizers = &preset.spec().optimizers;
    let colors = simulation_colors(optimizers).into_iter().zip(optimizers).filter(|(_, it)| it.enabled);
    let colors: Vec<[u8; 3]> = colors.map(|(color, _)| color).collect();
    for (radius, is_edge) in [(1.6, true), (1.0, false)] {
        for ((mean, end), color) in means.iter().zip(&ends).zip(&colors) {
            let color = if is_edge { [16; 3] } else { *color };
            for ends in mean.windows(2) {
                line(&mut drawn, [ends[0], ends[1]].map(to_px), radius * PATH * size[1] / 2.0, color);
            }
            end.iter().for_each(|at| dot(&mut drawn, to_px(*at), radius * PARTICLE * size[1] / 2.0, color));
        }
    }
    resize(&drawn, width, height, FilterType::Triangle)
}

/// Draws a line of dots that overlap.
fn line(picture: &mut RgbImage, [from, to]: [[f64; 2]; 2], radius: f64, color: [u8; 3]) {
    let length = (to[0] - from[0]).hypot(to[1] - from[1]);
    let dots = (length / radius.max(0.5)).ceil().clamp(1.0, 400.0);
    for index in 0..dots as usize {
        let part = index as f64 / dots;
        dot(picture, [0, 1].map(|side| from[side] + part * (to[side] - from[side])), radius, color);
    }
}

/// Draws a filled circle, as far as it is inside.
fn dot(picture: &mut RgbImage, [x, y]: [f64; 2], radius: f64, color: [u8; 3]) {
    if !(x.is_finite() && y.is_finite()) {
        return;
    }
    let pixels = |at: f64, most: u32| {
        let end = |at: f64| at.clamp(0.0, f64::from(most)) as u32;
        end((at - radius).floor())..end((at + radius).ceil())
    };
    for row in pixels(y, picture.height()) {
        for column in pixels(x, picture.width()) {
            if (f64::from(column) + 0.5 - x).hypot(f64::from(row) + 0.5 - y) <= radius {
                picture.put_pixel(column, row, Rgb(color));
            }
        }
    }
}

/// Draws a falling curve, which stands for any training.
fn training_picture() -> RgbImage {
    let [width, height] = THUMBNAIL_PX;
    let mut drawn = RgbImage::from_pixel(2 * width, 2 * height, Rgb([34, 39, 48]));
    let [across, down] = [width, height].map(|side| 2.0 * f64::from(side));
    let at = |part: f64| [(0.1 + 0.8 * part) * across, (0.88 - 0.7 * (-4.0 * part).exp()) * down];
    line(&mut drawn, [[0.1 * across, 0.88 * down], [0.9 * across, 0.88 * down]], 1.5, [96, 104, 118]);
    line(&mut drawn, [[0.1 * across, 0.12 * down], [0.1 * across, 0.88 * down]], 1.5, [96, 104, 118]);
    (0..40).for_each(|index| {
        line(&mut drawn, [index, index + 1].map(|index| at(f64::from(index) / 40.0)), 3.5, [203, 209, 220]);
    });
    resize(&drawn, width, height, FilterType::Triangle)
}

/// Computes a coarse diagram and draws its winners.
fn diagram_picture(preset: &SweepPreset) -> Option<RgbImage> {
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
    let map = Map::Winner { certainty: false }.image(&diagram, metric);
    let rgb = map.rgba.chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect();
    let coarse = RgbImage::from_raw(map.width as u32, map.height as u32, rgb)?;
    Some(resize(&coarse, THUMBNAIL_PX[0], THUMBNAIL_PX[1], FilterType::Nearest))
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
