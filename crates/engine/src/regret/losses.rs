//! Sequences of convex losses with a known best point in the box.

use rand::{Rng, RngExt};

use super::RADIUS;
use crate::random::{Key, Stream};

/// A kind of losses `L_t` on the box. The smallest value of their sum in the box is known in closed form, or up to a
/// gap that is computed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// Losses `⟨g_t, θ⟩`, with entries of `g_t` uniform between bounds that lie symmetrically about a mean of each
    /// coordinate.
    Linear,
    /// Losses `Σ_i |θ_i − b_{t,i}|`: all entries of gradients have the size 1, as the proof needs it.
    Absolute,
    /// Losses `(⟨a_t, θ⟩ − b_t)² / 2` with directions `a_t` in which all coordinates take part.
    Quadratic,
    /// Losses `⟨g_t, θ⟩`, with all entries of `g_t` 4 at each third step, and −1 at the others. Their mean is 2/3, so
    /// −1 is the best value of each coordinate; but of three signs two point the other way, and as β₁,t vanishes, FOCUS
    /// follows signs. It ends at +1, and its regret grows by 4 a coordinate with every three steps.
    RareSteep,
}

impl Losses {
    pub const ALL: [Losses; 4] = [Losses::Linear, Losses::Absolute, Losses::Quadratic, Losses::RareSteep];

    pub fn name(self) -> &'static str {
        match self {
            Losses::Linear => "linear",
            Losses::Absolute => "absolute",
            Losses::Quadratic => "quadratic",
            Losses::RareSteep => "rare steep",
        }
    }

    /// Creates the sequence of these losses for a seed and a dimension.
    pub fn sequence(self, dimension: usize, seed: u64) -> Box<dyn Sequence> {
        let mut stream = Stream::new(Key::new(seed).at(self as u64).at(dimension as u64));
        let mut centers = |reach: f64| (0..dimension).map(|_| even(&mut stream, reach)).collect::<Vec<f64>>();
        match self {
            Losses::Linear => {
                let means = centers(0.5);
                let draw = move |_: u64, index: usize| means[index] + even(&mut stream, 1.0);
                Box::new(Slopes::new(dimension, draw))
            }
            Losses::RareSteep => {
                Box::new(Slopes::new(dimension, |step, _| if step.is_multiple_of(3) { 4.0 } else { -1.0 }))
            }
            Losses::Absolute => {
                let centers = (0..dimension).map(|_| stream.random_range(0..=CELLS / 2)).collect();
                let (places, counts) = (vec![0; dimension], vec![[0; CELLS + 1]; dimension]);
                Box::new(Distances { stream, centers, places, counts })
            }
            Losses::Quadratic => {
                let best = centers(0.5 * RADIUS);
                Box::new(Squares::new(stream, best))
            }
        }
    }
}

/// Draws a number uniformly between −reach and reach.
fn even(stream: &mut impl Rng, reach: f64) -> f64 {
    reach * (2.0 * stream.random::<f64>() - 1.0)
}

/// A sequence of losses, with their sum so far.
pub trait Sequence {
    /// Advances to the loss of this step, counted from 1.
    fn advance(&mut self, step: u64);

    /// Returns the loss at `theta`, and writes its gradient there into `gradient`.
    fn loss(&self, theta: &[f64], gradient: &mut [f64]) -> f64;

    /// Returns the smallest value of the sum so far in the box, and by how much it may be too large.
    fn least(&mut self) -> (f64, f64);
}

/// Losses `⟨g_t, θ⟩`. Their sum is smallest in the corner opposite to its slope.
struct Slopes<D> {
    draw: D,
    slope: Vec<f64>,
    sum: Vec<f64>,
}

impl<D: FnMut(u64, usize) -> f64> Slopes<D> {
    fn new(dimension: usize, draw: D) -> Self {
        Slopes { draw, slope: vec![0.0; dimension], sum: vec![0.0; dimension] }
    }
}

impl<D: FnMut(u64, usize) -> f64> Sequence for Slopes<D> {
    fn advance(&mut self, step: u64) {
        for (index, (slope, sum)) in self.slope.iter_mut().zip(&mut self.sum).enumerate() {
            *slope = (self.draw)(step, index);
            *sum += *slope;
        }
    }

    fn loss(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&self.slope);
        dot(&self.slope, theta)
    }

    fn least(&mut self) -> (f64, f64) {
        (-RADIUS * self.sum.iter().map(|sum| sum.abs()).sum::<f64>(), 0.0)
    }
}

/// The number of cells of a side of the box: absolute losses bend only at their borders.
const CELLS: usize = 512;

/// Returns the border with this number.
fn border(number: usize) -> f64 {
    RADIUS * (2.0 * number as f64 / CELLS as f64 - 1.0)
}

/// Losses `Σ_i |θ_i − b_{t,i}|`. Their sum is smallest at the medians of the `b`, which are counted.
struct Distances {
    stream: Stream,
    /// The first border of the half of the box in which a coordinate's `b` lie.
    centers: Vec<usize>,
    places: Vec<usize>,
    counts: Vec<[u64; CELLS + 1]>,
}

impl Sequence for Distances {
    fn advance(&mut self, _: u64) {
        for ((place, counts), first) in self.places.iter_mut().zip(&mut self.counts).zip(&self.centers) {
            *place = first + self.stream.random_range(0..=CELLS / 2);
            counts[*place] += 1;
        }
    }

    fn loss(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((theta, gradient), place) in theta.iter().zip(gradient).zip(&self.places) {
            let distance = theta - border(*place);
            *gradient = if distance == 0.0 { 0.0 } else { distance.signum() };
            loss += distance.abs();
        }
        loss
    }

    fn least(&mut self) -> (f64, f64) {
        let of_one = |counts: &[u64; CELLS + 1]| {
            let all: u64 = counts.iter().sum();
            let mut below = 0;
            let median = counts.iter().position(|count| {
                below += count;
                2 * below >= all
            });
            let median = border(median.unwrap_or(0));
            counts.iter().enumerate().map(|(place, count)| *count as f64 * (median - border(place)).abs()).sum::<f64>()
        };
        (self.counts.iter().map(of_one).sum(), 0.0)
    }
}

/// Losses `(⟨a_t, θ⟩ − b_t)² / 2`. Their sum `⟨θ, Hθ⟩/2 − ⟨q, θ⟩ + c` is minimised one coordinate after another.
struct Squares {
    stream: Stream,
    /// The point near which the losses are small.
    best: Vec<f64>,
    direction: Vec<f64>,
    offset: f64,
    /// The matrix H, row after row.
    curvature: Vec<f64>,
    slope: Vec<f64>,
    constant: f64,
    /// The lowest point found so far.
    lowest: Vec<f64>,
}

impl Squares {
    fn new(stream: Stream, best: Vec<f64>) -> Self {
        let d = best.len();
        let (direction, slope, lowest) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
        Squares { stream, best, direction, offset: 0.0, curvature: vec![0.0; d * d], slope, constant: 0.0, lowest }
    }

    /// Returns a coordinate of Hθ − q at the lowest point.
    fn gradient(&self, index: usize) -> f64 {
        let d = self.slope.len();
        dot(&self.curvature[index * d..][..d], &self.lowest) - self.slope[index]
    }
}

impl Sequence for Squares {
    fn advance(&mut self, _: u64) {
        const NOISE: f64 = 0.5;
        for entry in &mut self.direction {
            *entry = even(&mut self.stream, 1.0);
        }
        self.offset = dot(&self.direction, &self.best) + even(&mut self.stream, NOISE);
        let d = self.direction.len();
        for (row, entry) in self.curvature.chunks_exact_mut(d).zip(&self.direction) {
            row.iter_mut().zip(&self.direction).for_each(|(sum, other)| *sum += entry * other);
        }
        self.slope.iter_mut().zip(&self.direction).for_each(|(sum, entry)| *sum += entry * self.offset);
        self.constant += 0.5 * self.offset * self.offset;
    }

    fn loss(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let residual = dot(&self.direction, theta) - self.offset;
        gradient.iter_mut().zip(&self.direction).for_each(|(gradient, entry)| *gradient = residual * entry);
        0.5 * residual * residual
    }

    /// Returns the smallest value of the sum and its gap. A convex function lies above its tangents, and the tangent at
    /// a point is lowest in a corner of the box; the gap is how far it falls on the way there.
    fn least(&mut self) -> (f64, f64) {
        const GAP: f64 = 1e-5;
        const MOST_ROUNDS: usize = 10_000;
        let d = self.slope.len();
        let mut gap = f64::INFINITY;
        for _ in 0..MOST_ROUNDS {
            for index in 0..d {
                let curvature = self.curvature[index * d + index];
                if curvature > 0.0 {
                    let place = self.lowest[index] - self.gradient(index) / curvature;
                    self.lowest[index] = place.clamp(-RADIUS, RADIUS);
                }
            }
            gap = (0..d)
                .map(|index| (self.gradient(index), self.lowest[index]))
                .map(|(g, x)| g * x + RADIUS * g.abs())
                .sum();
            if gap <= GAP {
                break;
            }
        }
        let value =
            (0..d).map(|index| 0.5 * self.lowest[index] * (self.gradient(index) - self.slope[index])).sum::<f64>();
        (value + self.constant, gap)
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}
