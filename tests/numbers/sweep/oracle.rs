//! The toy model in plain double precision, written from the paper and the specification alone.
//!
//! It imports nothing from the library, and draws its noise from another generator and by another method
//! (the ziggurat of `rand_distr`), so that it agrees with the engine in distribution only.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};

/// `L = (a/2) u² |v|² − c u` with multiplicative noise σ on each coordinate of the gradient.
#[derive(Clone, Copy)]
pub struct Toy {
    pub a: f64,
    pub sigma: f64,
    pub steps: usize,
}

pub const SLOPE: f64 = 0.1;
pub const DEGREES: f64 = 30.0;
pub const START: f64 = 1e-4;
pub const OMEGA: f64 = 0.1;
pub const BETA1: f64 = 0.9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    Adam,
    Focus,
    Signum,
}

/// The laws in the order of the paper's arrays.
pub const LAWS: [Law; 3] = [Law::Adam, Law::Focus, Law::Signum];

#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub final_loss: f64,
    pub smallest_loss: f64,
    pub depth: f64,
}

/// One parameter with its optimizer's states.
#[derive(Clone, Copy)]
struct Parameter {
    theta: f64,
    m: f64,
    /// Adam's average of squares, or the biased average of positions of FOCUS.
    second: f64,
}

/// Powers of β₁ and β₂ after so many steps.
#[derive(Clone, Copy)]
struct Powers {
    beta1: f64,
    beta2: f64,
    first_step: bool,
}

impl Law {
    fn beta2(self) -> f64 {
        match self {
            Law::Adam => 0.999,
            Law::Focus => 0.9,
            Law::Signum => 0.0,
        }
    }

    fn step(self, p: &mut Parameter, g: f64, eta: f64, powers: Powers) {
        let beta2 = self.beta2();
        p.m = BETA1 * p.m + (1.0 - BETA1) * g;
        let direction = match self {
            Law::Adam => {
                p.second = beta2 * p.second + (1.0 - beta2) * g * g;
                (p.m / (1.0 - powers.beta1)) / ((p.second / (1.0 - powers.beta2)).sqrt() + 1e-8)
            }
            Law::Focus => {
                p.second = beta2 * p.second + (1.0 - beta2) * p.theta;
                // The first average is the position itself, despite the rounding of the division.
                let pull = if powers.first_step { 0.0 } else { sign(p.theta - p.second / (1.0 - powers.beta2)) };
                sign(p.m) + 0.2 * pull
            }
            Law::Signum => sign(p.m),
        };
        p.theta -= eta * (direction + OMEGA * p.theta);
    }
}

fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x + 0.0
    }
}

impl Toy {
    /// Returns the outcomes of independent runs on the plane.
    pub fn runs(self, law: Law, eta: f64, count: usize, seed: u64) -> Vec<Outcome> {
        let mut random = SmallRng::seed_from_u64(seed);
        (0..count).map(|_| self.run(law, eta, &mut random)).collect()
    }

    fn run(self, law: Law, eta: f64, random: &mut SmallRng) -> Outcome {
        let (sin, cos) = DEGREES.to_radians().sin_cos();
        let mut parameters = [(); 2].map(|()| at(START * normal(random)));
        let mut powers = Powers { beta1: 1.0, beta2: 1.0, first_step: true };
        let mut outcome = NOTHING_YET;
        for step in 0..self.steps {
            let [x, y] = parameters.map(|p| p.theta);
            let (u, v) = (cos * x + sin * y, cos * y - sin * x);
            let (along, across) = (self.a * u * v * v - SLOPE, self.a * u * u * v);
            let gradient = [cos * along - sin * across, sin * along + cos * across];
            powers = Powers { beta1: powers.beta1 * BETA1, beta2: powers.beta2 * law.beta2(), first_step: step == 0 };
            for (p, g) in parameters.iter_mut().zip(gradient) {
                law.step(p, g * (1.0 + self.sigma * normal(random)), eta, powers);
            }
            let [x, y] = parameters.map(|p| p.theta);
            let (u, v) = (cos * x + sin * y, cos * y - sin * x);
            outcome.note(self.a / 2.0 * u * u * v * v - SLOPE * u, u);
        }
        outcome
    }

    /// Returns the outcomes of runs in `dimension` dimensions, each in a valley with a random direction of its own.
    pub fn runs_in_space(self, law: Law, eta: f64, dimension: usize, count: usize, seed: u64) -> Vec<Outcome> {
        let mut random = SmallRng::seed_from_u64(seed);
        (0..count).map(|_| self.run_in_space(law, eta, dimension, &mut random)).collect()
    }

    fn run_in_space(self, law: Law, eta: f64, dimension: usize, random: &mut SmallRng) -> Outcome {
        let direction: Vec<f64> = (0..dimension).map(|_| normal(random)).collect();
        let length = direction.iter().map(|r| r * r).sum::<f64>().sqrt();
        let direction: Vec<f64> = direction.into_iter().map(|r| r / length).collect();
        let mut parameters: Vec<Parameter> = (0..dimension).map(|_| at(START * normal(random))).collect();
        let mut powers = Powers { beta1: 1.0, beta2: 1.0, first_step: true };
        let mut outcome = NOTHING_YET;
        let place = |parameters: &[Parameter]| {
            let u: f64 = parameters.iter().zip(&direction).map(|(p, r)| p.theta * r).sum();
            let v: f64 = parameters.iter().zip(&direction).map(|(p, r)| (p.theta - u * r).powi(2)).sum();
            (u, v)
        };
        for step in 0..self.steps {
            let (u, v_squared) = place(&parameters);
            powers = Powers { beta1: powers.beta1 * BETA1, beta2: powers.beta2 * law.beta2(), first_step: step == 0 };
            for (p, r) in parameters.iter_mut().zip(&direction) {
                let g = (self.a * u * v_squared - SLOPE) * r + self.a * u * u * (p.theta - u * r);
                law.step(p, g * (1.0 + self.sigma * normal(random)), eta, powers);
            }
            let (u, v_squared) = place(&parameters);
            outcome.note(self.a / 2.0 * u * u * v_squared - SLOPE * u, u);
        }
        outcome
    }
}

const NOTHING_YET: Outcome = Outcome { final_loss: f64::NAN, smallest_loss: f64::INFINITY, depth: 0.0 };

impl Outcome {
    fn note(&mut self, loss: f64, u: f64) {
        self.final_loss = loss;
        self.smallest_loss = self.smallest_loss.min(loss);
        self.depth = self.depth.max(u);
    }

    pub fn metrics(self) -> [f64; 3] {
        [self.final_loss, self.smallest_loss, self.depth]
    }
}

fn at(theta: f64) -> Parameter {
    Parameter { theta, m: 0.0, second: 0.0 }
}

fn normal(random: &mut SmallRng) -> f64 {
    StandardNormal.sample(random)
}

/// Returns the number at `index` of `count` with equal quotients from 10^`low` to 10^`high`.
pub fn log_spaced(low: f64, high: f64, count: usize, index: usize) -> f64 {
    10_f64.powf(low + (high - low) * index as f64 / (count - 1) as f64)
}

/// Returns the pixel of a grid over the paper's Fig. 2a.
pub fn fig2a([rows, columns]: [usize; 2], [row, column]: [usize; 2]) -> Toy {
    Toy { a: log_spaced(-1.0, 3.0, rows, row), sigma: 3.0 * column as f64 / (columns - 1) as f64, steps: 1000 }
}

/// Returns the paper's learning rates.
pub fn rate(index: usize) -> f64 {
    log_spaced(-3.0, 0.0, RATES, index)
}

pub const RATES: usize = 20;
