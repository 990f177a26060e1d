//! The regret of FOCUS on sequences of convex losses, compared with the bound of the paper's theorem.
//!
//! The theorem (the paper's section on convergence) is about θ in a convex set, here the box `[−1, 1]^d`, and about
//! FOCUS with `η_t = η/√t`, `β₁,t = β₁ λ_β^t` and `γ_t = γ λ_γ^t`, without weight decay. It bounds the regret:
//!
//! ```text
//! R(T) = Σ_t L_t(θ_t) − min_θ Σ_t L_t(θ)
//! R(T) ≤ G (D² + d D∞² √T) / (2 η (1 − β₁)) + G η d √T (1 + |γ|)² / (1 − β₁)
//!        + (β₁ λ_β / (1 − λ_β) + |γ| λ_γ / (1 − λ_γ)) d G D∞ / (1 − β₁)
//! ```
//!
//! Here no entry of a gradient is larger than G, and points of the set are at most D apart, and D∞ in any coordinate.
//!
//! The paper's update has no projection. Here θ is moved to the nearest point of the box after each step, without which
//! the distances have no bound; the proof allows it, as it brings θ nearer to every point of the box.
//!
//! # Where the proof fails
//!
//! The proof sums `(θ_t − θ*)² (|m_t|/η_t − |m_{t−1}|/η_{t−1})` over t and replaces the square by `D∞²`, which is right
//! only if no bracket is negative: `|m_t|/η_t` would have to grow with t. (Before that it replaces `1 − β₁,t` by `1 −
//! β₁` under differences that may be negative too.) If gradients differ in size, brackets are negative, and the theorem
//! does not hold: see [`Losses::RareSteep`].

use rand::{Rng, RngExt};

use crate::optimizer::focus::Hyper;
use crate::optimizer::{Focus, NoBatch, Rates, Rule, RuleInput, StepSettings};
use crate::random::{Key, Stream};

/// The settings that the theorem assumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem {
    /// The dimension d.
    pub dimension: usize,
    /// The learning rate η.
    pub learning_rate: f64,
    /// The decay rate β₁ and its factor λ_β.
    pub beta1: [f64; 2],
    /// The attraction γ, which may be negative, and its factor λ_γ.
    pub gamma: [f64; 2],
}

/// Half a side of the box.
pub const RADIUS: f64 = 1.0;
/// The side of the box, D∞.
const SIDE: f64 = 2.0 * RADIUS;

impl Theorem {
    /// Creates the paper's settings: β₁ = 0.9, and η = 1, near which the bound is smallest.
    pub fn usual(dimension: usize, gamma: f64) -> Theorem {
        Theorem { dimension, learning_rate: 1.0, beta1: [0.9, 0.9], gamma: [gamma, 0.9] }
    }

    /// Formats γ for users.
    pub fn shown_gamma(&self) -> String {
        let sign = if self.gamma[0] < 0.0 { "−" } else { "" };
        format!("{sign}{}", self.gamma[0].abs())
    }

    /// Returns the bound on the regret after `steps` steps with gradients whose entries are at most `largest`, G.
    pub fn bound(&self, steps: u64, largest: f64) -> f64 {
        let Theorem { dimension, learning_rate: eta, beta1: [beta1, beta_decay], gamma: [gamma, gamma_decay] } = *self;
        let (d, root, gamma) = (dimension as f64, (steps as f64).sqrt(), gamma.abs());
        let diameter_squared = d * SIDE * SIDE;
        let distances = (diameter_squared + d * SIDE * SIDE * root) / (2.0 * eta);
        let steps = eta * d * root * (1.0 + gamma).powi(2);
        let decayed = beta1 * beta_decay / (1.0 - beta_decay) + gamma * gamma_decay / (1.0 - gamma_decay);
        largest * (distances + steps + decayed * d * SIDE) / (1.0 - beta1)
    }
}

/// The regret of FOCUS on a sequence of losses.
#[derive(Clone, Debug, PartialEq)]
pub struct RegretCurve {
    pub losses: Losses,
    pub theorem: Theorem,
    /// The records in the order of their steps, some twenty for each power of ten.
    pub records: Vec<Record>,
}

/// The state after a number of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// The number of steps T.
    pub steps: u64,
    /// The regret R(T), which may be too small by `gap`.
    pub regret: f64,
    pub gap: f64,
    /// The largest size of an entry of the gradients so far: the smallest G that satisfies the theorem's assumption.
    pub largest: f64,
    /// The theorem's bound for this G.
    pub bound: f64,
}

impl RegretCurve {
    /// Returns the first recorded number of steps at which the regret exceeds the bound.
    pub fn above_bound_from(&self) -> Option<u64> {
        self.records.iter().find(|record| record.regret > record.bound).map(|record| record.steps)
    }

    /// Returns the exponent p of `R(T) ~ T^p`, from about a tenth of the steps to the last. None if the regret is not
    /// positive.
    pub fn growth(&self) -> Option<f64> {
        let last = self.records.last()?;
        let first = self.records.iter().find(|record| 10 * record.steps >= last.steps)?;
        let is_positive = first.regret > 0.0 && last.regret > 0.0 && first.steps < last.steps;
        let slope = || (last.regret / first.regret).ln() / (last.steps as f64 / first.steps as f64).ln();
        is_positive.then(slope)
    }
}

/// A run of FOCUS in the box, from its middle.
struct Descent {
    theorem: Theorem,
    /// The decayed β₁,t and γ_t.
    decayed: [f64; 2],
    /// The power β₂ᵗ.
    beta2_power: f64,
    theta: Vec<f64>,
    /// The momentum m and the average of each coordinate.
    states: Vec<[f64; 2]>,
    gradient: Vec<f64>,
    /// The sum of all losses so far.
    sum: f64,
    largest: f64,
}

/// The decay rate of the averaged parameters, which does not affect the theorem's bound.
const BETA2: f64 = 0.9;

impl Descent {
    fn new(theorem: Theorem) -> Descent {
        let d = theorem.dimension;
        let [theta, gradient] = [vec![0.0; d], vec![0.0; d]];
        let states = vec![[0.0; 2]; d];
        let decayed = [theorem.beta1[0], theorem.gamma[0]];
        Descent { theorem, decayed, beta2_power: 1.0, theta, states, gradient, sum: 0.0, largest: 0.0 }
    }

    /// Computes the loss of a step, counted from 1, and then takes the step.
    fn step(&mut self, step: u64, loss: impl FnOnce(&[f64], &mut [f64]) -> f64) {
        self.sum += loss(&self.theta, &mut self.gradient);
        self.largest = self.gradient.iter().fold(self.largest, |largest, entry| largest.max(entry.abs()));
        self.decayed[0] *= self.theorem.beta1[1];
        self.decayed[1] *= self.theorem.gamma[1];
        let [beta1, gamma] = self.decayed;
        self.beta2_power *= BETA2;
        let hyper = Hyper { beta1, beta2: BETA2, gamma, weight_decay: 0.0, decay: 0.0, mask: 0.0 };
        let power = Hyper { beta2: self.beta2_power, ..hyper };
        let settings = StepSettings { hyper, t: step as f64, power, share: 1.0, typed: None };
        let coefficients = Focus::coefficients(&settings, |number: f64| number);
        let rates = Rates {
            learning_rate: self.theorem.learning_rate / (step as f64).sqrt(),
            weight_decay: 0.0,
            is_cautious: false,
        };
        for ((theta, state), gradient) in self.theta.iter_mut().zip(&mut self.states).zip(&self.gradient) {
            let input = RuleInput { rates, theta: *theta, gradient: *gradient, batch: NoBatch };
            let (after, moved) = Focus::step(&coefficients, input, *state);
            *state = after;
            *theta = moved.theta.clamp(-RADIUS, RADIUS);
        }
    }
}

/// Runs FOCUS with the settings of each theorem, all of the same dimension, on the same sequence of losses for `steps`
/// steps. Stops without a result once `keep_on`, which is called before each step, returns false.
pub fn run(
    losses: Losses,
    theorems: &[Theorem],
    steps: u64,
    seed: u64,
    mut keep_on: impl FnMut() -> bool,
) -> Option<Vec<RegretCurve>> {
    let dimension = theorems.first()?.dimension;
    assert!(theorems.iter().all(|theorem| theorem.dimension == dimension), "the losses are of one dimension");
    let mut sequence = losses.sequence(dimension, seed);
    let mut descents: Vec<Descent> = theorems.iter().map(|theorem| Descent::new(*theorem)).collect();
    let mut curves: Vec<RegretCurve> =
        theorems.iter().map(|theorem| RegretCurve { losses, theorem: *theorem, records: Vec::new() }).collect();
    let mut next = 1;
    for step in 1..=steps {
        if !keep_on() {
            return None;
        }
        sequence.advance(step);
        descents.iter_mut().for_each(|descent| descent.step(step, |theta, gradient| sequence.loss(theta, gradient)));
        if step != next && step != steps {
            continue;
        }
        next = step + step.div_ceil(8);
        let (least, gap) = sequence.least();
        for (curve, Descent { theorem, sum, largest, .. }) in curves.iter_mut().zip(&descents) {
            let bound = theorem.bound(step, *largest);
            curve.records.push(Record { steps: step, regret: sum - least, gap, largest: *largest, bound });
        }
    }
    Some(curves)
}

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
                let (borders, counts) = (vec![0; dimension], vec![[0; CELLS + 1]; dimension]);
                Box::new(Distances { stream, centers, borders, counts })
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

fn border(number: usize) -> f64 {
    RADIUS * (2.0 * number as f64 / CELLS as f64 - 1.0)
}

/// Losses `Σ_i |θ_i − b_{t,i}|`. Their sum is smallest at the medians of the `b`, which are counted.
struct Distances {
    stream: Stream,
    /// The first border of the half of the box in which a coordinate's `b` lie.
    centers: Vec<usize>,
    borders: Vec<usize>,
    counts: Vec<[u64; CELLS + 1]>,
}

impl Sequence for Distances {
    fn advance(&mut self, _: u64) {
        for ((border_index, counts), first) in self.borders.iter_mut().zip(&mut self.counts).zip(&self.centers) {
            *border_index = first + self.stream.random_range(0..=CELLS / 2);
            counts[*border_index] += 1;
        }
    }

    fn loss(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((theta, gradient), border_index) in theta.iter().zip(gradient).zip(&self.borders) {
            let distance = theta - border(*border_index);
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
            counts.iter().enumerate().map(|(index, count)| *count as f64 * (median - border(index)).abs()).sum::<f64>()
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
                    let minimum = self.lowest[index] - self.gradient(index) / curvature;
                    self.lowest[index] = minimum.clamp(-RADIUS, RADIUS);
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
