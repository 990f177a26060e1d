//! Each optimizer against the formulas as they stand in the books, and AdamW against libtorch's own.

use tch::nn::{self, OptimizerConfig};
use tch::{Device, Kind, Tensor};
use valleyscope::optimizer::DecayTarget;
use valleyscope::quantity::{Beta, Gamma, WeightDecay};
use valleyscope::train::{FlatOptimizer, Layout};
use valleyscope::workload::TrainingRule;

use crate::small::{rate, uniform};

const MODELS: usize = 3;
const RATES: [f64; MODELS] = [1e-3, 0.02, 0.3];

fn layout() -> Layout {
    let tensors = [("weight", vec![7, 5], true), ("bias", vec![7], false), ("last", vec![130], true)];
    Layout::new(tensors.map(|(name, shape, decays)| (name.to_owned(), shape, decays)), MODELS)
}

/// Rules with decay that matters, both targets of FOCUS's among them.
fn rules() -> Vec<TrainingRule> {
    let (beta1, weight_decay) = (Beta::new(0.8).unwrap(), WeightDecay::new(0.3).unwrap());
    let beta2 = Beta::new(0.97).unwrap();
    let focus = |gamma, decay| TrainingRule::Focus { beta1, beta2, gamma: Gamma::new(gamma).unwrap(), weight_decay, decay };
    vec![
        TrainingRule::Adam { beta1, beta2, weight_decay },
        TrainingRule::Signum { beta1, weight_decay },
        focus(0.4, DecayTarget::Average),
        focus(-0.3, DecayTarget::Parameters),
        TrainingRule::Sgd { beta1, weight_decay },
    ]
}

/// Where a number of the flat tensor belongs: its model and whether it decays. None in the gaps.
fn owners(layout: &Layout) -> Vec<Option<(usize, bool)>> {
    let mut owners = vec![None; layout.length()];
    for (index, segment) in layout.segments().iter().enumerate() {
        for model in 0..MODELS {
            owners[layout.range(index, model)].fill(Some((model, segment.decays)));
        }
    }
    owners
}

/// Gradients of all sizes, and exact zeros.
fn gradient(step: u64, at: usize) -> f64 {
    let [u, v] = [0, 1].map(|draw| uniform(step * 100_000 + 2 * at as u64 + draw));
    if at % 11 == 3 { 0.0 } else { (2.0 * u - 1.0) * 10_f64.powf(6.0 * v - 4.0) }
}

fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}

/// One parameter, by the formulas of the papers, with bias corrections as divisions.
#[derive(Clone, Default)]
struct Oracle {
    theta: f64,
    m: f64,
    s: f64,
    /// The average before its bias is removed.
    average: f64,
}

impl Oracle {
    fn step(&mut self, rule: &TrainingRule, t: i32, g: f64, eta: f64, decays: bool) {
        let omega = |weight_decay: WeightDecay| if decays { weight_decay.get() } else { 0.0 };
        match *rule {
            TrainingRule::Adam { beta1, beta2, weight_decay } => {
                let (b1, b2) = (beta1.get(), beta2.get());
                self.m = b1 * self.m + (1.0 - b1) * g;
                self.s = b2 * self.s + (1.0 - b2) * g * g;
                let (m, s) = (self.m / (1.0 - b1.powi(t)), self.s / (1.0 - b2.powi(t)));
                self.theta -= eta * (m / (s.sqrt() + 1e-8) + omega(weight_decay) * self.theta);
            }
            TrainingRule::Signum { beta1, weight_decay } => {
                self.m = beta1.get() * self.m + (1.0 - beta1.get()) * g;
                self.theta -= eta * (sign(self.m) + omega(weight_decay) * self.theta);
            }
            TrainingRule::Focus { beta1, beta2, gamma, weight_decay, decay } => {
                let b2 = beta2.get();
                self.m = beta1.get() * self.m + (1.0 - beta1.get()) * g;
                self.average = b2 * self.average + (1.0 - b2) * self.theta;
                let corrected = self.average / (1.0 - b2.powi(t));
                // Where the parameter is its average but for rounding, there is no pull.
                let away = self.theta - corrected;
                let pull = if away.abs() < 1e-12 { 0.0 } else { sign(away) };
                let decayed = match decay {
                    DecayTarget::Parameters => self.theta,
                    DecayTarget::Average => corrected,
                };
                self.theta -= eta * (sign(self.m) + gamma.get() * pull + omega(weight_decay) * decayed);
            }
            TrainingRule::Sgd { beta1, weight_decay } => {
                self.m = beta1.get() * self.m + g;
                self.theta -= eta * (self.m + omega(weight_decay) * self.theta);
            }
        }
    }
}

fn start(layout: &Layout) -> Vec<f64> {
    let owners = owners(layout);
    (0..layout.length()).map(|at| owners[at].map_or(0.0, |_| 2.0 * uniform(at as u64) - 1.0)).collect()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double)).unwrap()
}

#[test]
fn every_rule_follows_its_formulas_step_by_step() {
    let layout = layout();
    let owners = owners(&layout);
    for rule in rules() {
        for tensors in [false, true] {
            let mut optimizer =
                FlatOptimizer::new(rule.configured(rate(1e-3)), &RATES, &layout, Kind::Double, Device::Cpu).unwrap();
            if tensors {
                optimizer = optimizer.with_tensor_operations(&layout).unwrap();
            }
            let mut theta = Tensor::from_slice(&start(&layout));
            let mut oracle: Vec<Oracle> =
                start(&layout).into_iter().map(|theta| Oracle { theta, ..Oracle::default() }).collect();
            for t in 1..=100 {
                let gradients: Vec<f64> =
                    (0..layout.length()).map(|at| owners[at].map_or(0.0, |_| gradient(t, at))).collect();
                optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients)).unwrap();
                let found = numbers(&theta);
                for (at, oracle) in oracle.iter_mut().enumerate() {
                    let Some((model, decays)) = owners[at] else {
                        assert_eq!(found[at], 0.0, "the gaps of the layout stay zero");
                        continue;
                    };
                    oracle.step(&rule, t as i32, gradients[at], RATES[model], decays);
                    let off = (found[at] - oracle.theta).abs() / oracle.theta.abs().max(1.0);
                    assert!(off < 1e-11, "{rule:?}, tensors {tensors}, step {t}, number {at}: {off:e}");
                }
            }
        }
    }
}

#[test]
fn adam_is_libtorchs_adamw() {
    let (beta1, beta2) = (0.9, 0.999);
    let rule = TrainingRule::Adam {
        beta1: Beta::new(beta1).unwrap(),
        beta2: Beta::new(beta2).unwrap(),
        weight_decay: WeightDecay::new(0.1).unwrap(),
    };
    let layout = Layout::new([("weight".to_owned(), vec![200], true)], 1);
    let mut flat = FlatOptimizer::new(rule.configured(rate(0.01)), &[0.01], &layout, Kind::Double, Device::Cpu).unwrap();
    let mut theta = Tensor::from_slice(&(0..layout.length()).map(|at| uniform(at as u64)).collect::<Vec<_>>());
    let mut store = nn::VarStore::new(Device::Cpu);
    let variable = store.root().var_copy("weight", &theta);
    store.double();
    tch::no_grad(|| variable.shallow_clone().copy_(&theta));
    let mut theirs =
        nn::AdamW { beta1, beta2, wd: 0.1, eps: 1e-8, amsgrad: false }.build(&store, 0.01).unwrap();
    for t in 1..=100 {
        let gradients = Tensor::from_slice(&(0..layout.length()).map(|at| gradient(t, at)).collect::<Vec<_>>());
        theirs.backward_step(&(&variable * &gradients).sum(Kind::Double));
        flat.step(&layout, &mut theta, &gradients).unwrap();
        let off = (&theta - &variable).abs().max().double_value(&[]);
        assert!(off < 1e-12, "step {t}: {off:e}");
    }
}

#[test]
fn single_precision_follows_double() {
    let layout = layout();
    for rule in rules() {
        let runs = [Kind::Double, Kind::Float].map(|kind| {
            let mut optimizer =
                FlatOptimizer::new(rule.configured(rate(1e-3)), &RATES, &layout, kind, Device::Cpu).unwrap();
            let mut theta = Tensor::from_slice(&start(&layout)).to_kind(kind);
            for t in 1..=20 {
                let gradients: Vec<f64> = (0..layout.length()).map(|at| gradient(t, at)).collect();
                optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients).to_kind(kind)).unwrap();
            }
            numbers(&theta)
        });
        let off = runs[0].iter().zip(&runs[1]).map(|(a, b)| (a - b).abs() / a.abs().max(1.0)).fold(0.0, f64::max);
        assert!(off < 1e-4, "{rule:?}: {off:e}");
    }
}

#[test]
fn what_is_no_number_stays_none() {
    let layout = Layout::new([("weight".to_owned(), vec![3], true)], 1);
    for rule in rules() {
        for tensors in [false, true] {
            let mut optimizer =
                FlatOptimizer::new(rule.configured(rate(1e-3)), &[0.1], &layout, Kind::Float, Device::Cpu).unwrap();
            if tensors {
                optimizer = optimizer.with_tensor_operations(&layout).unwrap();
            }
            let mut theta = Tensor::zeros([layout.length() as i64], (Kind::Float, Device::Cpu));
            let gradients = theta.copy();
            let _ = gradients.get(1).fill_(f64::NAN);
            optimizer.step(&layout, &mut theta, &gradients).unwrap();
            let theta = numbers(&theta);
            assert!(theta[0].is_finite() && theta[1].is_nan() && theta[2].is_finite(), "{rule:?}: {:?}", &theta[..3]);
        }
    }
}
