//! The landscape under the particles: a picture of the loss, with contour lines.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use valleyscope_engine::landscape::{Landscape, LandscapeSpec};
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_experiments::view::ticks::Ticks;
use valleyscope_experiments::view::{AutoScale, Colormap, Lens, SymLog, ViewSettings, Viewport};

use super::recording::{EnsembleRecording, Recording, StepPlan};
use crate::draw::{ASPECT, FigureError, Grid, against, around, encoded, pixel_rgb};

/// The width of the picture in pixels. The page draws it larger; colours change gently between pixels.
const PICTURE: f64 = 440.0;
/// The largest number of pictures of this width. More pictures are smaller, with as many pixels in all.
const PICTURES: f64 = 3.0;
/// The number of cells across the grid for contour lines.
const CELLS: f64 = 240.0;
/// The smallest distance between contour lines, as a fraction of the width.
const CLOSEST: f64 = 0.006;
/// The number of steps across the view in which coordinates of contour lines are stored.
const STEPS: f64 = 4000.0;
/// The distance in such steps within which points of a contour line are left out.
const STRAIGHT: f64 = 1.0;
const BAR_COLORS: usize = 24;
const BAR_LABELS: usize = 7;

/// A landscape with the view that all its runs share.
#[derive(Serialize)]
pub(super) struct LandscapePicture {
    #[serde(skip)]
    spec: LandscapeSpec,
    pub x: [f64; 2],
    pub y: [f64; 2],
    /// The picture, as the address of an image.
    image: String,
    contours: Vec<Contour>,
    /// The direction of the axis of u; none if it is not drawn.
    u: Option<[f64; 2]>,
    bar: Bar,
}

/// The contour lines of a level: the coordinates of each line's points in sequence, in steps from the upper left.
#[derive(Serialize)]
struct Contour {
    is_dark: bool,
    /// The level's position on the colour bar.
    at: f64,
    lines: Vec<Vec<i32>>,
}

#[derive(Serialize)]
struct Bar {
    colors: Vec<String>,
    /// Positions from 0 to 1, and labels.
    ticks: Vec<(f64, String)>,
}

impl LandscapePicture {
    /// Collects the landscapes of some runs, each once. Those that a step compares have the same axes and colours.
    pub(super) fn of(
        preset: &LandscapePreset,
        steps: &[StepPlan],
        runs: &[Recording],
    ) -> Result<Vec<LandscapePicture>, FigureError> {
        let groups = groups(steps);
        let count: usize = groups.iter().map(Vec::len).sum();
        let width = PICTURE * (PICTURES / count as f64).sqrt().min(1.0);
        let mut grounds: Vec<LandscapePicture> = Vec::new();
        for run in runs {
            let spec = run.plan.spec.landscape;
            if grounds.iter().all(|ground| ground.spec != spec) {
                let group = groups.iter().find(|group| group.contains(&spec)).expect("a step shows each run");
                grounds.push(LandscapePicture::in_group(preset, spec, group, runs, width)?);
            }
        }
        Ok(grounds)
    }

    pub(super) fn index(grounds: &[LandscapePicture], run: &Recording) -> usize {
        let is_it = |ground: &LandscapePicture| ground.spec == run.plan.spec.landscape;
        grounds.iter().position(is_it).expect("each run has a ground")
    }

    /// Draws a landscape with the axes and colours of a group. Its picture has this width, in pixels.
    fn in_group(
        preset: &LandscapePreset,
        spec: LandscapeSpec,
        group: &[LandscapeSpec],
        runs: &[Recording],
        width: f64,
    ) -> Result<LandscapePicture, FigureError> {
        let view = preset.view.clone().unwrap_or_default();
        let start = preset.spec().start;
        let shown = runs.iter().filter(|run| group.contains(&run.plan.spec.landscape));
        let paths = shown.flat_map(|run| run.ensembles.iter().map(EnsembleRecording::paths));
        // A view that does not follow the particles has its own camera.
        let camera = view.camera.filter(|camera| !view.follow && camera.lens.is_none());
        let camera = camera.unwrap_or_else(|| around(paths, [start.x.get(), start.y.get()], start.spread.get()));
        let half = [0.5 * camera.width, 0.5 * ASPECT * camera.width];
        let [x, y] = [0, 1].map(|side| [camera.center[side] - half[side], camera.center[side] + half[side]]);
        let landscape = spec.landscape();
        let viewport = Viewport { camera, size_px: [1000.0, (1000.0 * ASPECT) as f32] };
        let landscapes: Vec<Landscape> = group.iter().map(LandscapeSpec::landscape).collect();
        let views: Vec<(&Landscape, Viewport)> = landscapes.iter().map(|landscape| (landscape, viewport)).collect();
        let scale = view.scale.unwrap_or_else(|| AutoScale::default().update(&views));
        Ok(LandscapePicture {
            spec,
            x,
            y,
            image: picture(&landscape, view.colormap, &scale, [x, y], width)?,
            contours: if view.contours { contours(&landscape, &view, &scale, [x, y]) } else { Vec::new() },
            u: view.uv_frame.then(|| landscape.xy_from_uv([1.0, 0.0])),
            bar: Bar {
                colors: (0..BAR_COLORS)
                    .map(|index| css(view.colormap.rgb(index as f64 / (BAR_COLORS - 1) as f64)))
                    .collect(),
                ticks: Ticks::symlog(&scale, BAR_LABELS)
                    .ticks
                    .into_iter()
                    .map(|tick| (scale.position(tick.value), tick.label))
                    .collect(),
            },
        })
    }
}

/// Groups the landscapes: those that a step compares are in the same group.
fn groups(steps: &[StepPlan]) -> Vec<Vec<LandscapeSpec>> {
    let mut groups: Vec<Vec<LandscapeSpec>> = Vec::new();
    for step in steps {
        let mut group: Vec<LandscapeSpec> = Vec::new();
        let shown = step.panes.iter().map(|pane| pane.spec.landscape);
        let known = groups.extract_if(.., |known| shown.clone().any(|spec| known.contains(&spec)));
        for spec in known.flatten().chain(shown.clone()) {
            if !group.contains(&spec) {
                group.push(spec);
            }
        }
        groups.push(group);
    }
    groups
}

pub(super) fn css([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Draws the loss with this width, in pixels, and encodes it as the address of an image.
fn picture(
    landscape: &Landscape,
    colormap: Colormap,
    scale: &SymLog,
    [x, y]: [[f64; 2]; 2],
    width: f64,
) -> Result<String, FigureError> {
    let [columns, rows] = [width, (width * ASPECT).round()].map(|size| size as u32);
    let middle = |[low, high]: [f64; 2], part: f64| low + part * (high - low);
    let color = |column: u32, row: u32| {
        let at = [
            middle(x, (f64::from(column) + 0.5) / f64::from(columns)),
            middle(y, 1.0 - (f64::from(row) + 0.5) / f64::from(rows)),
        ];
        pixel_rgb(landscape.loss(at), scale, colormap, [column as usize, row as usize])
    };
    let pixels = (0..rows).flat_map(|row| (0..columns).flat_map(move |column| color(column, row)));
    let png = encoded(&pixels.collect::<Vec<u8>>(), [columns, rows])?;
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(png)))
}

fn contours(landscape: &Landscape, view: &ViewSettings, scale: &SymLog, [x, y]: [[f64; 2]; 2]) -> Vec<Contour> {
    let cells = [CELLS, CELLS * ASPECT].map(|count| count.round() as usize);
    let grid = Grid::new(|at| landscape.loss(at), [x[0], y[0]], [x[1], y[1]], cells);
    let width = x[1] - x[0];
    let step = |[px, py]: [f64; 2]| [(px - x[0]) / width * STEPS, (y[1] - py) / width * STEPS];
    let of_level = |level: f64| {
        let lines = grid.separate_lines(landscape, (scale, SymLog::CONTOURS), level, (Lens::NONE, CLOSEST * width));
        let stored = |line: &Vec<[f64; 2]>| -> Vec<i32> {
            let steps: Vec<[f64; 2]> = line.iter().map(|at| step(*at)).collect();
            straightened(&steps).into_iter().flatten().map(|part| part.round() as i32).collect()
        };
        Contour {
            is_dark: against(view.colormap.rgb(scale.position(level))) == [0; 3],
            at: scale.position(level),
            lines: lines.iter().map(stored).collect(),
        }
    };
    scale.contour_levels(SymLog::CONTOURS).map(of_level).filter(|contour| !contour.lines.is_empty()).collect()
}

/// Removes the points of a line that lie within [`STRAIGHT`] of the rest (the algorithm of Ramer, Douglas and Peucker).
fn straightened(line: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut is_needed = vec![false; line.len()];
    let mut open = vec![(0, line.len() - 1)];
    while let Some((from, to)) = open.pop() {
        (is_needed[from], is_needed[to]) = (true, true);
        let away = |index: &usize| distance(line[*index], line[from], line[to]);
        let farthest = (from + 1..to).max_by(|one, other| away(one).total_cmp(&away(other)));
        if let Some(farthest) = farthest.filter(|index| away(index) > STRAIGHT) {
            open.extend([(from, farthest), (farthest, to)]);
        }
    }
    line.iter().zip(is_needed).filter_map(|(point, is_needed)| is_needed.then_some(*point)).collect()
}

/// The distance of a point from the line through two others, or from the first if both are the same.
fn distance(point: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    let [along, offset] = [[to[0] - from[0], to[1] - from[1]], [point[0] - from[0], point[1] - from[1]]];
    let length = along[0].hypot(along[1]);
    if length == 0.0 {
        return offset[0].hypot(offset[1]);
    }
    (along[0] * offset[1] - along[1] * offset[0]).abs() / length
}
