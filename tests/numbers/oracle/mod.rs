//! The toy model and the update rules once more, written from their papers and the specification alone.
//!
//! Nothing here uses the library. It works on plain numbers, and is slow on purpose: the average of FOCUS is an
//! explicit weighted sum over all past positions, bias corrections come from logarithms, and the rotation is a matrix.
//! Feeding it the noise that the library drew must give the library's trajectory.
//!
//! It can also misread the paper, in the ways in which people do. A comparison that is worth its name notices each of
//! these [`Misreading`]s.
//!
//! A rule's oracle is a function of its name in `rules.rs`, or in `matrices.rs` if it needs matrices, and a line in
//! [`ORACLES`].

mod matrices;
mod rules;

use std::collections::BTreeMap;

/// The oracles, by the keys of their rules.
pub const ORACLES: &[(&str, Step)] = &[
    ("Adam", rules::adam),
    ("Signum", rules::signum),
    ("Focus", rules::focus),
    ("Sgd", rules::sgd),
    ("Lion", rules::lion),
    ("Mars", rules::mars),
    ("Sophia", rules::sophia),
    ("Muon", matrices::muon),
    ("RmsProp", rules::rmsprop),
    ("NAdam", rules::nadam),
    ("AdEmaMix", rules::ademamix),
    ("AdamMini", rules::adam_mini),
    ("AdaBelief", rules::adabelief),
    ("Shampoo", matrices::shampoo),
    ("Soap", matrices::soap),
    ("ScheduleFree", rules::schedule_free),
];

/// Steps a parameter, and returns the step without weight decay, in units of −η.
pub type Step = fn(&mut Parameter, &Hyper, &StepInput<'_>, Reading) -> Vec<f64>;

/// A way to get the model wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misreading {
    /// The noise multiplies the gradient in valley coordinates, and is then rotated.
    NoiseBeforeRotatingBack,
    /// x and y share x's draw.
    OneDrawForBoth,
    /// FOCUS remembers the position after the step instead of the one before.
    AverageAfterStep,
    /// FOCUS decays the average where it should decay the parameters, and the other way round.
    OtherDecayTarget,
    /// The running averages are used as they are, biased towards 0.
    NoBiasCorrection,
    /// The valley is turned clockwise.
    OtherRotation,
    /// σ is taken as the variance of the noise.
    VarianceForDeviation,
    /// Schedule-Free takes gradients at the parameters that losses are measured at.
    GradientAtAverage,
}

impl Misreading {
    pub const ALL: [Misreading; 8] = [
        Misreading::NoiseBeforeRotatingBack,
        Misreading::OneDrawForBoth,
        Misreading::AverageAfterStep,
        Misreading::OtherDecayTarget,
        Misreading::NoBiasCorrection,
        Misreading::OtherRotation,
        Misreading::VarianceForDeviation,
        Misreading::GradientAtAverage,
    ];
}

/// A reading of the model: right, or with one misreading.
pub type Reading = Option<Misreading>;

/// A rule with its hyperparameters.
#[derive(Clone, Debug)]
pub struct Law {
    pub step: Step,
    pub hyper: Hyper,
}

#[derive(Clone, Debug)]
pub struct Hyper {
    pub eta: f64,
    pub values: BTreeMap<&'static str, f64>,
    pub choices: BTreeMap<&'static str, &'static str>,
}

impl Hyper {
    pub fn get(&self, key: &str) -> f64 {
        self.values[key]
    }

    pub fn omega(&self) -> f64 {
        self.get("weight_decay")
    }
}

/// The inputs of an optimizer's step for a parameter.
pub struct StepInput<'a> {
    pub gradient: &'a [f64],
    /// The gradient at another place, with the same noise.
    pub gradient_at: &'a dyn Fn(&[f64]) -> Vec<f64>,
    /// An estimate of the diagonal of the Hessian.
    pub curvature: &'a dyn Fn() -> Vec<f64>,
}

/// A parameter, a matrix or a vector, with its optimizer's states.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The elements, row after row.
    pub theta: Vec<f64>,
    /// The rows of a matrix; none of a vector.
    pub rows: Option<usize>,
    /// The blocks of a rule that takes means over them, in order: numbers of blocks and of their elements. If empty,
    /// the parameter is one block.
    pub blocks: Vec<(usize, usize)>,
    pub steps: u64,
    /// The states of each element by name; 0 at first.
    memory: BTreeMap<&'static str, Vec<f64>>,
    /// The logarithms of the products of decay rates over the steps so far, by their keys.
    log_products: BTreeMap<&'static str, f64>,
    /// Every position of the average, with its weight.
    past: Vec<(f64, Vec<f64>)>,
    /// Schedule-Free's z, once it has moved.
    base: Option<Vec<f64>>,
    /// The largest learning rate so far.
    largest_rate: f64,
}

impl Parameter {
    pub fn starting_at(theta: &[f64]) -> Parameter {
        Parameter {
            theta: theta.to_vec(),
            rows: None,
            blocks: Vec::new(),
            steps: 0,
            memory: BTreeMap::new(),
            log_products: BTreeMap::new(),
            past: Vec::new(),
            base: None,
            largest_rate: 0.0,
        }
    }

    pub fn matrix(theta: &[f64], rows: usize) -> Parameter {
        Parameter { rows: Some(rows), ..Parameter::starting_at(theta) }
    }

    pub fn step(&mut self, law: &Law, seen: &StepInput<'_>, reading: Reading) -> Vec<f64> {
        self.steps += 1;
        (law.step)(self, &law.hyper, seen, reading)
    }

    /// Returns the state of a name, to read and to change.
    pub fn memory(&mut self, name: &'static str) -> &mut Vec<f64> {
        let count = self.theta.len();
        self.memory.entry(name).or_insert_with(|| vec![0.0; count])
    }

    /// Returns the values of the library's state of this name.
    pub fn remembered(&self, name: &str) -> Vec<f64> {
        match name {
            // There is no average at first.
            "average" if self.past.is_empty() => vec![0.0; self.theta.len()],
            "average" => self.average(None),
            "lead" => self.gradient_point(0.0).iter().zip(&self.theta).map(|(base, theta)| base - theta).collect(),
            _ => self.memory.get(name).cloned().unwrap_or_else(|| vec![0.0; self.theta.len()]),
        }
    }

    /// Sets a state after steps over which a decay rate's product is `power(key)`.
    pub fn remember(&mut self, name: &'static str, values: Vec<f64>, power: impl Fn(&str) -> f64) {
        match name {
            // All earlier positions count as one.
            "average" => self.past = vec![(1.0 - power("beta2"), values)],
            "lead" => {
                self.base = Some(self.theta.iter().zip(values).map(|(theta, lead)| theta + lead).collect());
                self.past = vec![(power("weight_sum"), self.theta.clone())];
                self.largest_rate = power("largest_rate");
            }
            _ => drop(self.memory.insert(name, values)),
        }
    }

    /// Sets the product of a decay rate over the steps so far.
    pub fn set_product(&mut self, key: &'static str, power: f64) {
        self.log_products.insert(key, power.ln());
    }

    /// Returns the place of a step's gradient: θ, or Schedule-Free's y between z and θ, which is x.
    pub fn gradient_point(&self, beta1: f64) -> Vec<f64> {
        let Some(base) = &self.base else { return self.theta.clone() };
        base.iter().zip(&self.theta).map(|(base, theta)| (1.0 - beta1) * base + beta1 * theta).collect()
    }

    /// Updates a state by `a ← β a + (1 − β) input`, and returns it.
    fn keep(&mut self, name: &'static str, beta: f64, input: &[f64]) -> Vec<f64> {
        let memory = self.memory(name);
        for (kept, input) in memory.iter_mut().zip(input) {
            *kept = beta * *kept + (1.0 - beta) * input;
        }
        memory.clone()
    }

    /// Returns 1 − Πβ over the steps up to this one, without cancellation; called once a step for each decay rate.
    fn gathered(&mut self, key: &'static str, beta: f64) -> f64 {
        let log = self.log_products.entry(key).or_insert(0.0);
        *log += beta.ln();
        -log.exp_m1()
    }

    /// Returns 1 − Πβ over the steps so far.
    pub fn gathered_so_far(&self, key: &str) -> f64 {
        -self.log_products[key].exp_m1()
    }

    /// Steps by `θ ← θ − η (d + ω x)` with the direction d, where x decays.
    fn move_by(&mut self, hyper: &Hyper, direction: &[f64], decayed: &[f64]) {
        for ((theta, direction), decayed) in self.theta.iter_mut().zip(direction).zip(decayed) {
            *theta -= hyper.eta * direction + hyper.eta * hyper.omega() * decayed;
        }
    }

    /// Steps by `θ ← θ − η (d + ω θ)`.
    fn move_and_decay(&mut self, hyper: &Hyper, direction: &[f64]) {
        let decayed = self.theta.clone();
        self.move_by(hyper, direction, &decayed);
    }

    /// Returns the gradient, with weight decay where that is coupled.
    fn with_coupled_decay(&self, hyper: &Hyper, gradient: &[f64]) -> Vec<f64> {
        let omega = if hyper.choices["decay"] == "Coupled" { hyper.omega() } else { 0.0 };
        gradient.iter().zip(&self.theta).map(|(gradient, theta)| gradient + omega * theta).collect()
    }

    /// Steps as [`Parameter::move_and_decay`], without decay where that is coupled.
    fn move_and_decay_unless_coupled(&mut self, hyper: &Hyper, direction: &[f64]) {
        match hyper.choices["decay"] {
            "Coupled" => self.move_by(hyper, direction, &vec![0.0; direction.len()]),
            _ => self.move_and_decay(hyper, direction),
        }
    }

    /// Updates `θ̄ ← β₂ θ̄ + (1 − β₂) θ`, where θ̄ is stored as an explicit sum.
    fn add_to_past(&mut self, beta2: f64) {
        for (weight, _) in &mut self.past {
            *weight *= beta2;
        }
        self.past.push((1.0 - beta2, self.theta.clone()));
    }

    /// Returns the paper's `θ̂ = θ̄ / (1 − β₂ᵗ)`; the divisor is the sum of the weights in θ̄.
    pub fn average(&self, reading: Reading) -> Vec<f64> {
        let weights: f64 = self.past.iter().map(|(weight, _)| weight).sum();
        let of = |element: usize| {
            let sum: f64 = self.past.iter().map(|(weight, theta)| weight * theta[element]).sum();
            match reading {
                Some(Misreading::NoBiasCorrection) => sum,
                _ if self.past.is_empty() => self.theta[element],
                _ => sum / weights,
            }
        };
        (0..self.theta.len()).map(of).collect()
    }

    /// Returns sign(θ − θ̂). Multiplied by 1 − β₂ᵗ, θ − θ̂ is the weighted sum of θ − θᵢ, which needs no cancellation:
    /// it is exactly 0 for a parameter that has not moved, as at t = 1.
    pub fn pull(&self, reading: Reading) -> Vec<f64> {
        if reading == Some(Misreading::NoBiasCorrection) {
            return self
                .theta
                .iter()
                .zip(self.average(reading))
                .map(|(theta, average)| sign(theta - average))
                .collect();
        }
        let of = |(element, theta): (usize, &f64)| {
            sign(self.past.iter().map(|(weight, past)| weight * (theta - past[element])).sum())
        };
        self.theta.iter().enumerate().map(of).collect()
    }

    /// Returns the share of the newest position in the average.
    pub fn newest_share(&self) -> f64 {
        let all: f64 = self.past.iter().map(|(weight, _)| weight).sum();
        self.past.last().map_or(f64::NAN, |(weight, _)| weight / all)
    }
}

/// Returns −1, 0, 1, or NaN for NaN.
pub fn sign(x: f64) -> f64 {
    match x.partial_cmp(&0.0) {
        Some(std::cmp::Ordering::Less) => -1.0,
        Some(std::cmp::Ordering::Equal) => 0.0,
        Some(std::cmp::Ordering::Greater) => 1.0,
        None => f64::NAN,
    }
}

/// Returns the direction of a step; for a cautious one, arXiv:2411.16085, without the elements that go against the
/// gradient.
fn masked(hyper: &Hyper, gradient: &[f64], direction: Vec<f64>) -> Vec<f64> {
    if hyper.choices.get("mask") != Some(&"Cautious") {
        return direction;
    }
    let agrees = |(direction, gradient): (&f64, &f64)| direction * gradient > 0.0;
    let agreeing = direction.iter().zip(gradient).filter(|(direction, gradient)| agrees((direction, gradient))).count();
    let share = (agreeing as f64 / direction.len() as f64).max(1e-3);
    direction.iter().zip(gradient).map(|pair| if agrees(pair) { pair.0 / share } else { 0.0 }).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value.powi(2)).sum::<f64>().sqrt()
}

/// A particle: a parameter of x and y, which a rule for matrices treats as one of 2 × 1.
#[derive(Clone, Debug)]
pub struct Particle(pub Parameter);

impl Particle {
    pub fn starting_at(position: [f64; 2]) -> Self {
        Particle(Parameter::matrix(&position, 2))
    }

    pub fn position(&self) -> [f64; 2] {
        [self.0.theta[0], self.0.theta[1]]
    }

    /// Takes a step on `valley`, with draws for the gradient and for the curvature; returns the step without weight
    /// decay, in units of −η.
    pub fn step(
        &mut self,
        valley: Valley,
        law: &Law,
        sigma: f64,
        [draws, curvature_draws]: [[f64; 2]; 2],
        reading: Reading,
    ) -> [f64; 2] {
        let position = match (reading, law.hyper.values.get("beta1")) {
            (Some(Misreading::GradientAtAverage), _) | (_, None) => self.position(),
            (_, Some(beta1)) => self.0.gradient_point(*beta1).try_into().expect("a particle has two coordinates"),
        };
        let gradient = valley.noisy_gradient(position, sigma, draws, reading);
        let seen = StepInput {
            gradient: &gradient,
            gradient_at: &|place| valley.noisy_gradient([place[0], place[1]], sigma, draws, reading).to_vec(),
            curvature: &|| valley.noisy_curvature(position, sigma, curvature_draws).to_vec(),
        };
        let steps = self.0.step(law, &seen, reading);
        [steps[0], steps[1]]
    }
}

/// The loss `(a/2) u² v² − c u`; the valley's axis lies `phi` radians counter-clockwise from x.
#[derive(Clone, Copy, Debug)]
pub struct Valley {
    pub a: f64,
    pub c: f64,
    pub phi: f64,
    /// Whether noise is added to gradients and curvatures, and does not multiply them.
    pub adds_noise: bool,
}

impl Valley {
    /// Returns the matrix that takes (x, y) to (u, v).
    fn into_valley(self, reading: Reading) -> [[f64; 2]; 2] {
        let phi = if reading == Some(Misreading::OtherRotation) { -self.phi } else { self.phi };
        [[phi.cos(), phi.sin()], [-phi.sin(), phi.cos()]]
    }

    pub fn uv(self, position: [f64; 2]) -> [f64; 2] {
        times(self.into_valley(None), position)
    }

    pub fn loss(self, position: [f64; 2]) -> f64 {
        let [u, v] = self.uv(position);
        self.a / 2.0 * u.powi(2) * v.powi(2) - self.c * u
    }

    /// Returns the diagonal of the Hessian, second derivatives along x and y by the chain rule, with its noise, a
    /// factor `1 + σ draw`.
    pub fn noisy_curvature(self, position: [f64; 2], sigma: f64, draws: [f64; 2]) -> [f64; 2] {
        let rotation = self.into_valley(None);
        let [u, v] = times(rotation, position);
        let hessian = [[self.a * v * v, 2.0 * self.a * u * v], [2.0 * self.a * u * v, self.a * u * u]];
        [0, 1].map(|axis| {
            // The derivatives of u and v by x, or by y.
            let along = [rotation[0][axis], rotation[1][axis]];
            let [by_u, by_v] = times(hessian, along);
            let exact = along[0] * by_u + along[1] * by_v;
            if self.adds_noise { exact + sigma * draws[axis] } else { exact * (1.0 + sigma * draws[axis]) }
        })
    }

    pub fn gradient(self, position: [f64; 2]) -> [f64; 2] {
        self.noisy_gradient(position, 0.0, [0.0; 2], None)
    }

    /// Returns the noisy gradient, where `draws` come from Normal(0, 1).
    pub fn noisy_gradient(self, position: [f64; 2], sigma: f64, draws: [f64; 2], reading: Reading) -> [f64; 2] {
        let spread = if reading == Some(Misreading::VarianceForDeviation) { sigma.sqrt() } else { sigma };
        let [draw_x, draw_y] = draws;
        let draw_y = if reading == Some(Misreading::OneDrawForBoth) { draw_x } else { draw_y };
        let factors = [1.0 + spread * draw_x, 1.0 + spread * draw_y];

        let rotation = self.into_valley(reading);
        let [u, v] = times(rotation, position);
        let in_valley = [self.a * u * v * v - self.c, self.a * u * u * v];
        if reading == Some(Misreading::NoiseBeforeRotatingBack) {
            times(turned_back(rotation), [factors[0] * in_valley[0], factors[1] * in_valley[1]])
        } else {
            let [x, y] = times(turned_back(rotation), in_valley);
            if self.adds_noise {
                return [x + spread * draw_x, y + spread * draw_y];
            }
            [factors[0] * x, factors[1] * y]
        }
    }
}

fn times(matrix: [[f64; 2]; 2], vector: [f64; 2]) -> [f64; 2] {
    matrix.map(|row| row[0] * vector[0] + row[1] * vector[1])
}

fn turned_back([[a, b], [c, d]]: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    [[a, c], [b, d]]
}
