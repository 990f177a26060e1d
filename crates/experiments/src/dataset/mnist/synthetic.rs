//! Synthetic digits, for use where MNIST is not available.
//!
//! An image depends only on the seed and its number: it is the same on any machine and on any number of threads.

use std::f64::consts::TAU;

use rayon::prelude::*;
use valleyscope_engine::elementary::cos_sin;
use valleyscope_engine::lanes::Lanes;
use valleyscope_engine::random::{Key, Stream, Streams};

use super::{Digits, Mnist, MnistSource, PIXELS, SIDE, WHOLE};

/// The default seed of the synthetic digits.
pub const SYNTHETIC_SEED: u64 = 1998;

/// Draws as many images as MNIST has, drawn with a pen along skeletons of the digits that are bent, slanted, scaled and
/// jittered at random. They are not MNIST, and figures made with them allow no conclusion about it.
pub fn synthetic_digits(seed: u64) -> Mnist {
    let [train, test] = [0, 1].map(|part| digits(Key::new(seed).at(part), WHOLE[part as usize]));
    Mnist { train, test, source: MnistSource::Synthetic }
}

/// Whether these are the test images of the default synthetic digits, such as from a file of them.
pub(super) fn are_synthetic_tests(test: &Digits) -> bool {
    let key = Key::new(SYNTHETIC_SEED).at(1);
    let labels = || (0..).zip(&test.labels).all(|(index, &found)| label(key.at(index)) == found);
    test.labels.len() == WHOLE[1] && labels() && digits(key, 1).images == test.images[..PIXELS]
}

fn digits(key: Key, count: usize) -> Digits {
    let labels: Vec<u8> = (0..count as u64).map(|index| label(key.at(index))).collect();
    let mut images = vec![0; count * PIXELS];
    images.par_chunks_exact_mut(PIXELS).zip(&labels).enumerate().for_each(|(index, (image, &label))| {
        draw(label, key.at(index as u64), image);
    });
    Digits { images, labels }
}

fn label(image: Key) -> u8 {
    Stream::new(image.at(0)).below(10) as u8
}

type Point = [f64; 2];

/// Pixels of the box that a digit fills, as in MNIST.
const BOX: f64 = 20.0;
/// Straight pieces between two points of a curve.
const PIECES: usize = 6;

fn draw(digit: u8, key: Key, image: &mut [u8]) {
    let mut draws = Draws { uniform: Stream::new(key.at(1)), normal: Streams::new([key.at(2)]), spare: None };
    let ways = of(digit);
    let way = &ways[draws.below(ways.len())];
    let mut lines = Handwriting::new(&mut draws).write(way, &mut draws);
    let radius = (1.15 + 0.3 * draws.normal()).clamp(0.55, 2.1);
    place(&mut lines, radius, &mut draws);
    Pen { radius, softness: draws.between(0.9, 1.7), ink: draws.between(0.82, 1.1) }.ink(&lines, image, &mut draws);
}

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

    fn write(&self, way: &Skeleton, draws: &mut Draws) -> Vec<[Point; 2]> {
        let points: Vec<Point> = way
            .points
            .iter()
            .map(|point| point.map(|hundredths| f64::from(hundredths) / 100.0 + self.jitter * draws.normal()))
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

/// The point at `part` of the way from node `span` to the next, on the Catmull–Rom spline through all.
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

fn distance_squared(point: Point, [a, b]: [Point; 2]) -> f64 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let from = [point[0] - a[0], point[1] - a[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let part = if length > 0.0 { ((from[0] * along[0] + from[1] * along[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    let [x, y] = [from[0] - part * along[0], from[1] - part * along[1]];
    x * x + y * y
}

/// A way to write a digit: curves through points.
struct Skeleton {
    /// The points in hundredths of the digit's size, from the left and from the top.
    points: &'static [[u8; 2]],
    /// The curves, each a smooth line through the points of these numbers; closed if it ends where it begins. Where a
    /// line has a corner, one curve ends and the next begins.
    curves: &'static [&'static [usize]],
}

fn of(digit: u8) -> &'static [Skeleton] {
    match digit {
        0 => ZERO,
        1 => ONE,
        2 => TWO,
        3 => THREE,
        4 => FOUR,
        5 => FIVE,
        6 => SIX,
        7 => SEVEN,
        8 => EIGHT,
        _ => NINE,
    }
}

const ZERO: &[Skeleton] = &[
    Skeleton {
        points: &[[50, 0], [20, 17], [10, 50], [20, 83], [50, 100], [80, 83], [90, 50], [80, 17]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7, 0]],
    },
    // Begun with a flourish.
    Skeleton {
        points: &[[75, 10], [40, 3], [12, 40], [20, 85], [55, 100], [87, 65], [80, 20], [45, 10]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7]],
    },
];

const ONE: &[Skeleton] = &[
    Skeleton { points: &[[50, 0], [50, 50], [50, 100]], curves: &[&[0, 1, 2]] },
    Skeleton { points: &[[30, 22], [52, 0], [50, 50], [50, 100]], curves: &[&[0, 1], &[1, 2, 3]] },
    Skeleton { points: &[[30, 20], [50, 0], [50, 100], [25, 100], [78, 98]], curves: &[&[0, 1], &[1, 2], &[3, 2, 4]] },
];

const TWO: &[Skeleton] = &[
    Skeleton {
        points: &[[12, 22], [38, 0], [78, 10], [80, 40], [50, 70], [8, 98], [92, 96]],
        curves: &[&[0, 1, 2, 3, 4, 5], &[5, 6]],
    },
    // With a loop at the foot.
    Skeleton {
        points: &[[12, 18], [42, 0], [80, 12], [76, 42], [45, 78], [15, 95], [8, 82], [30, 77], [60, 94], [95, 90]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    },
];

const THREE: &[Skeleton] = &[
    Skeleton {
        points: &[[12, 13], [45, 0], [80, 16], [70, 38], [38, 47], [80, 57], [88, 80], [50, 100], [8, 88]],
        curves: &[&[0, 1, 2, 3, 4], &[4, 5, 6, 7, 8]],
    },
    // With a flat head.
    Skeleton {
        points: &[[12, 4], [84, 2], [42, 40], [82, 55], [86, 82], [48, 100], [8, 90]],
        curves: &[&[0, 1], &[1, 2], &[2, 3, 4, 5, 6]],
    },
    // In one go.
    Skeleton {
        points: &[[15, 10], [50, 0], [78, 20], [50, 42], [45, 50], [75, 60], [80, 85], [45, 100], [10, 95]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7, 8]],
    },
];

const FOUR: &[Skeleton] = &[
    // Open.
    Skeleton {
        points: &[[20, 3], [10, 54], [92, 50], [76, 0], [70, 50], [66, 100]],
        curves: &[&[0, 1], &[1, 2], &[3, 4, 5]],
    },
    // Closed.
    Skeleton { points: &[[66, 0], [6, 64], [95, 62], [66, 100]], curves: &[&[0, 1], &[1, 2], &[0, 3]] },
    // Round.
    Skeleton {
        points: &[[18, 2], [12, 32], [35, 48], [70, 40], [82, 5], [72, 50], [70, 100]],
        curves: &[&[0, 1, 2, 3], &[4, 3], &[3, 5, 6]],
    },
];

const FIVE: &[Skeleton] = &[
    Skeleton {
        points: &[[85, 0], [26, 3], [18, 45], [55, 38], [87, 65], [60, 96], [10, 93]],
        curves: &[&[0, 1], &[1, 2], &[2, 3, 4, 5, 6]],
    },
    // In one go.
    Skeleton {
        points: &[[88, 2], [50, 2], [25, 16], [30, 40], [65, 50], [82, 75], [50, 100], [10, 92]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7]],
    },
];

const SIX: &[Skeleton] = &[
    Skeleton {
        points: &[[72, 0], [35, 24], [13, 62], [30, 96], [70, 95], [84, 70], [56, 52], [18, 70]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7]],
    },
    // Upright, with a small bowl.
    Skeleton {
        points: &[[45, 0], [22, 35], [15, 70], [35, 98], [70, 90], [70, 68], [45, 62], [28, 85]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7]],
    },
];

const SEVEN: &[Skeleton] = &[
    Skeleton { points: &[[8, 5], [90, 2], [58, 50], [40, 100]], curves: &[&[0, 1], &[1, 2, 3]] },
    // With a bar.
    Skeleton {
        points: &[[8, 5], [90, 2], [60, 48], [40, 100], [30, 52], [86, 47]],
        curves: &[&[0, 1], &[1, 2, 3], &[4, 5]],
    },
    // With a hook, round at the top.
    Skeleton {
        points: &[[10, 25], [15, 6], [50, 8], [85, 6], [72, 40], [55, 100]],
        curves: &[&[0, 1], &[1, 2, 3, 4, 5]],
    },
];

const EIGHT: &[Skeleton] = &[
    // In one go.
    Skeleton {
        points: &[[50, 47], [18, 22], [50, 0], [82, 22], [50, 47], [14, 76], [50, 100], [86, 76]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7, 0]],
    },
    // Two rings.
    Skeleton {
        points: &[[50, 46], [22, 23], [50, 0], [78, 23], [16, 74], [50, 100], [84, 74]],
        curves: &[&[0, 1, 2, 3, 0], &[0, 4, 5, 6, 0]],
    },
    // Begun at the top right, where it stays open.
    Skeleton {
        points: &[[80, 8], [45, 2], [20, 22], [55, 50], [80, 78], [45, 100], [20, 78], [50, 50], [85, 20]],
        curves: &[&[0, 1, 2, 3, 4, 5, 6, 7, 8]],
    },
];

const NINE: &[Skeleton] = &[
    // With a straight leg.
    Skeleton {
        points: &[[82, 20], [50, 0], [14, 26], [40, 50], [78, 35], [76, 60], [66, 100]],
        curves: &[&[0, 1, 2, 3, 4, 0], &[0, 5, 6]],
    },
    // With a bent leg.
    Skeleton {
        points: &[[80, 15], [45, 2], [15, 28], [42, 52], [80, 30], [84, 62], [60, 95], [18, 90]],
        curves: &[&[0, 1, 2, 3, 4], &[0, 4, 5, 6, 7]],
    },
    // In one go, with an open ring.
    Skeleton {
        points: &[[80, 10], [40, 2], [15, 25], [40, 46], [85, 15], [70, 55], [60, 100]],
        curves: &[&[0, 1, 2, 3, 4], &[4, 5, 6]],
    },
];
