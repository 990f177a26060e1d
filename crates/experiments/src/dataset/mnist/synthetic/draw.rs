//! Drawing along a skeleton. Rounding is the same on every machine: only `+ − × ÷ √` and the program's own sine are
//! used.

use std::f64::consts::TAU;

use valleyscope_engine::elementary::cos_sin;
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::random::{Key, Stream, Streams};

use super::skeleton::{self, Skeleton};
use crate::dataset::mnist::{PIXELS, SIDE};

type Point = [f64; 2];

/// Pixels of the box that a digit fills, as in MNIST.
const BOX: f64 = 20.0;
/// Straight pieces between two points of a curve.
const PIECES: usize = 6;

/// Draws a digit on an image of zeros.
pub(super) fn draw(digit: u8, key: Key, image: &mut [u8]) {
    let mut draws = Draws { uniform: Stream::new(key.at(1)), normal: Streams::new([key.at(2)]), spare: None };
    let ways = skeleton::of(digit);
    let way = &ways[draws.below(ways.len())];
    let mut lines = Handwriting::new(&mut draws).write(way, &mut draws);
    let radius = (1.15 + 0.3 * draws.normal()).clamp(0.55, 2.1);
    place(&mut lines, radius, &mut draws);
    Pen { radius, softness: draws.between(0.9, 1.7), ink: draws.between(0.82, 1.1) }.ink(&lines, image, &mut draws);
}

/// Random numbers of one image.
struct Draws {
    uniform: Stream,
    normal: Streams<1>,
    spare: Option<f64>,
}

impl Draws {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform.uniform()
    }

    fn below(&mut self, count: usize) -> usize {
        self.uniform.below(count as u64) as usize
    }

    fn normal(&mut self) -> f64 {
        self.spare.take().unwrap_or_else(|| {
            let [first, second] = self.normal.normal_pair::<Lanes<f64, 1>>();
            self.spare = Some(second.0[0]);
            first.0[0]
        })
    }
}

/// A handwriting: slant, proportions and steadiness.
struct Handwriting {
    /// The images of the axes, as columns.
    linear: [Point; 2],
    jitter: f64,
    waves: [Wave; 2],
}

/// A displacement along one axis that changes along both.
struct Wave {
    height: f64,
    slope: Point,
    phase: f64,
}

impl Handwriting {
    fn new(draws: &mut Draws) -> Handwriting {
        let [cos, sin] = cos_sin((0.13 * draws.normal()).clamp(-0.5, 0.5));
        let slant = (0.12 + 0.24 * draws.normal()).clamp(-0.7, 0.9);
        let width = (0.82 + 0.16 * draws.normal()).clamp(0.35, 1.3);
        // Most hands are steady, a few are not.
        let unsteady = draws.between(0.0, 1.0);
        let jitter = 0.02 + 0.055 * unsteady * unsteady;
        let waves = [0, 1].map(|_| Wave {
            height: 0.045 * draws.normal(),
            slope: [draws.between(-5.0, 5.0), draws.between(-5.0, 5.0)],
            phase: draws.between(0.0, TAU),
        });
        // Scaled, slanted to the right going up, and turned.
        let [x, y] = [[width, 0.0], [-slant, 1.0]];
        let turned = |[x, y]: Point| [cos * x - sin * y, sin * x + cos * y];
        Handwriting { linear: [turned(x), turned(y)], jitter, waves }
    }

    /// Returns the skeleton's curves as short straight pieces.
    fn write(&self, way: &Skeleton, draws: &mut Draws) -> Vec<[Point; 2]> {
        let points: Vec<Point> = way
            .points
            .iter()
            .map(|&[x, y]| [x + self.jitter * draws.normal(), y + self.jitter * draws.normal()])
            .collect();
        let mut lines = Vec::new();
        for curve in way.curves {
            let nodes: Vec<Point> = curve.iter().map(|&index| points[index]).collect();
            let mut last = self.moved(nodes[0]);
            for span in 0..nodes.len() - 1 {
                for piece in 1..=PIECES {
                    let next = self.moved(between_nodes(&nodes, curve, span, piece as f64 / PIECES as f64));
                    lines.push([last, next]);
                    last = next;
                }
            }
        }
        lines
    }

    fn moved(&self, [x, y]: Point) -> Point {
        let shift = |wave: &Wave| wave.height * cos_sin(wave.slope[0] * x + wave.slope[1] * y + wave.phase)[1];
        let [x, y] = [x - 0.5 + shift(&self.waves[0]), y - 0.5 + shift(&self.waves[1])];
        let [a, b] = self.linear;
        [a[0] * x + b[0] * y, a[1] * x + b[1] * y]
    }
}

/// Returns the point at `part` of the way from node `span` to the next, on the Catmull–Rom spline through all.
fn between_nodes(nodes: &[Point], curve: &[usize], span: usize, part: f64) -> Point {
    let last = nodes.len() - 1;
    let closed = curve[0] == curve[last];
    let [from, to] = [nodes[span], nodes[span + 1]];
    let before = match span {
        0 if closed => nodes[last - 1],
        0 => from,
        _ => nodes[span - 1],
    };
    let after = match span + 2 {
        beyond if beyond <= last => nodes[beyond],
        _ if closed => nodes[1],
        _ => to,
    };
    std::array::from_fn(|axis| {
        let [p, q, r, s] = [before[axis], from[axis], to[axis], after[axis]];
        let cubic = 3.0 * (q - r) + s - p;
        q + 0.5 * part * (r - p + part * (2.0 * p - 5.0 * q + 4.0 * r - s + part * cubic))
    })
}

/// Scales the lines to the box and moves their centre of mass approximately to the middle of the image, as in MNIST.
fn place(lines: &mut [[Point; 2]], radius: f64, draws: &mut Draws) {
    let ends = || lines.iter().flatten();
    let extent = [0, 1].map(|axis| {
        let low = ends().fold(f64::INFINITY, |low, end| low.min(end[axis]));
        ends().fold(f64::NEG_INFINITY, |high, end| high.max(end[axis])) - low
    });
    let size = (1.0 + 0.05 * draws.normal()).clamp(0.8, 1.1);
    let scale = size * (BOX - 2.0 * radius) / extent[0].max(extent[1]);
    let (mut mass, mut sum) = (0.0, [0.0; 2]);
    for [a, b] in &*lines {
        let [x, y] = [b[0] - a[0], b[1] - a[1]];
        let length = (x * x + y * y).sqrt();
        mass += length;
        for axis in 0..2 {
            sum[axis] += length * 0.5 * (a[axis] + b[axis]);
        }
    }
    let middle = 0.5 * SIDE as f64;
    let target = [0, 1].map(|_| middle + (0.6 * draws.normal()).clamp(-2.0, 2.0));
    for point in lines.iter_mut().flatten() {
        for axis in 0..2 {
            point[axis] = target[axis] + scale * (point[axis] - sum[axis] / mass);
        }
    }
}

struct Pen {
    /// Half the line's width in pixels.
    radius: f64,
    /// Pixels over which the ink fades at the line's edge.
    softness: f64,
    /// The darkness of the ink; above 1 it saturates.
    ink: f64,
}

impl Pen {
    fn ink(&self, lines: &[[Point; 2]], image: &mut [u8], draws: &mut Draws) {
        let reach = self.radius + 0.5 * self.softness;
        let mut nearest = [reach * reach; PIXELS];
        for &line in lines {
            let [columns, rows] = [0, 1].map(|axis| {
                let [low, high] = [line[0][axis].min(line[1][axis]), line[0][axis].max(line[1][axis])];
                (low - reach).max(0.0) as usize..((high + reach).max(0.0) as usize + 1).min(SIDE)
            });
            for row in rows {
                for column in columns.clone() {
                    let nearest = &mut nearest[row * SIDE + column];
                    *nearest = nearest.min(distance_squared([column as f64 + 0.5, row as f64 + 0.5], line));
                }
            }
        }
        for (pixel, nearest) in image.iter_mut().zip(nearest) {
            let cover = ((reach - nearest.sqrt()) / self.softness).min(1.0);
            if cover > 0.0 {
                let ink = self.ink + 0.08 * draws.normal();
                *pixel = (255.0 * (cover * ink).clamp(0.0, 1.0)).round() as u8;
            }
        }
    }
}

/// Returns the square of the distance from a point to a straight piece.
fn distance_squared(point: Point, [a, b]: [Point; 2]) -> f64 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let from = [point[0] - a[0], point[1] - a[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let part = if length > 0.0 { ((from[0] * along[0] + from[1] * along[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    let [x, y] = [from[0] - part * along[0], from[1] - part * along[1]];
    x * x + y * y
}
