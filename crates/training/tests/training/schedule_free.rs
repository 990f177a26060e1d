//! Schedule-Free in training: gradients at y, evaluations and checkpoints at x, weights of steps with rates that
//! change.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::random::Key;
use valleyscope_experiments::workload::{FloatType, Gpt2Precision, MnistSpec};
use valleyscope_runs::MetricId;
use valleyscope_training::mnist::{BatchSampler, Images, Mlp, MnistRun};
use valleyscope_training::{FlatOptimizer, OptimizerProgress, ParameterLayout, QueryResults, TrainError, Training};

use crate::faults::{Stage, curve, kill, kill_at, quick, tensors, to_the_end, wait_for, worker};
use crate::gpt2_run::go_on_after_kills;
use crate::gradient_queries::gpt2;
use crate::small_mnist::{mnist, rate, spec, uniform};

fn rule(values: &[(&str, f64)]) -> RuleSpec {
    let rule = RuleSpec::in_training(RuleKind::ScheduleFree);
    values.iter().fold(rule, |rule, (key, value)| rule.with(key, *value).unwrap())
}

/// The rule of the source, with x, y and z.
struct Loop {
    beta1: f64,
    beta2: f64,
    omega: f64,
    warmup: f64,
    /// The powers r and p.
    powers: [f64; 2],
    x: Vec<f64>,
    z: Vec<f64>,
    s: Vec<f64>,
    t: i32,
    weights: f64,
    largest: f64,
}

impl Loop {
    fn new(rule: &RuleSpec, start: &[f64]) -> Loop {
        let get = |key| rule.get(key).unwrap();
        Loop {
            beta1: get("beta1"),
            beta2: get("beta2"),
            omega: get("weight_decay"),
            warmup: get("warmup"),
            powers: [get("r"), get("weight_lr_power")],
            x: start.to_vec(),
            z: start.to_vec(),
            s: vec![0.0; start.len()],
            t: 0,
            weights: 0.0,
            largest: 0.0,
        }
    }

    fn y(&self) -> Vec<f64> {
        self.x.iter().zip(&self.z).map(|(x, z)| self.beta1 * x + (1.0 - self.beta1) * z).collect()
    }

    fn step(&mut self, gradients: &[f64], eta: f64, decays: impl Fn(usize) -> bool) {
        self.t += 1;
        let eta = if self.warmup > 0.0 { eta * (f64::from(self.t) / self.warmup).min(1.0) } else { eta };
        self.largest = self.largest.max(eta);
        let weight = f64::from(self.t).powf(self.powers[0]) * self.largest.powf(self.powers[1]);
        self.weights += weight;
        let c = if self.weights > 0.0 { weight / self.weights } else { 0.0 };
        for (index, (y, gradient)) in self.y().into_iter().zip(gradients).enumerate() {
            self.s[index] = self.beta2 * self.s[index] + (1.0 - self.beta2) * gradient * gradient;
            let size = (self.s[index] / (1.0 - self.beta2.powi(self.t))).sqrt() + 1e-8;
            let omega = if decays(index) { self.omega } else { 0.0 };
            self.z[index] -= eta * (gradient / size + omega * y);
            self.x[index] += c * (self.z[index] - self.x[index]);
        }
    }
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).flatten(0, -1)).unwrap()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], allowed: f64) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= allowed * expected.abs().max(1.0), "{found} where {expected} is right");
    }
}

/// Returns a rate that grows from 0, stays constant, halves, and grows beyond its earlier value.
fn changing_rate(step: u64) -> f64 {
    match step {
        0..10 => 0.002 * step as f64,
        10..30 => 0.02,
        30..60 => 0.01,
        _ => 0.05,
    }
}

/// Compares loops, tensor operations, and a run restored from its saved state at step 40.
#[test]
fn weighs_changing_rates_like_a_plain_loop() {
    let layout = ParameterLayout::new([("weight".to_owned(), vec![5, 4], true)], 1);
    let start: Vec<f64> = (0..layout.length()).map(|at| if at < 20 { uniform(at as u64) - 0.5 } else { 0.0 }).collect();
    for values in [&[][..], &[("warmup", 15.0), ("r", 0.7), ("weight_lr_power", 1.3), ("weight_decay", 0.3)]] {
        let rule = rule(values);
        for tensors in [false, true] {
            let new = || {
                let optimizer = FlatOptimizer::new(rule, &[0.1], &layout, Kind::Double, Device::Cpu).unwrap();
                if tensors { optimizer.with_tensor_operations(&layout).unwrap() } else { optimizer }
            };
            let mut optimizer = new();
            let mut theta = Tensor::from_slice(&start);
            let mut expected = Loop::new(&rule, &start);
            for step in 0..100 {
                if step == 40 {
                    let (states, progress) = (optimizer.states().collect::<Vec<_>>(), optimizer.progress());
                    let mut read = new();
                    for ((name, to), (saved, from)) in read.states().zip(states) {
                        assert_eq!(name, saved);
                        to.shallow_clone().copy_(from);
                    }
                    read.set_progress(&progress).unwrap();
                    optimizer = read;
                }
                let place = optimizer.gradient_point(&theta).unwrap().unwrap();
                assert_close(&numbers(&place)[..20], &expected.y()[..20], 1e-12);
                // The gradient depends on the parameters.
                let gradients: Vec<f64> = expected.y().iter().map(|y| y - uniform(step)).collect();
                optimizer.set_learning_rate(changing_rate(step));
                optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients), &QueryResults::default()).unwrap();
                expected.step(&gradients, changing_rate(step), |_| true);
                assert_close(&numbers(&theta)[..20], &expected.x[..20], 1e-12);
            }
        }
    }
}

#[test]
fn refuses_progress_without_the_weights_of_the_steps() {
    let layout = ParameterLayout::new([("weight".to_owned(), vec![3], true)], 1);
    let mut optimizer = FlatOptimizer::new(rule(&[]), &[0.1], &layout, Kind::Double, Device::Cpu).unwrap();
    let whole = optimizer.progress();
    assert_eq!(whole.powers.keys().collect::<Vec<_>>(), ["beta1", "beta2", "largest_rate", "weight_sum"]);
    for key in whole.powers.keys() {
        let mut powers = whole.powers.clone();
        powers.remove(key);
        let error = optimizer.set_progress(&OptimizerProgress { steps: 5, powers }).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}

/// Each training step reports the loss at y, and each evaluation the loss at x.
#[test]
fn computes_gradients_at_y_and_evaluations_at_x() {
    let rule = rule(&[("beta1", 0.6)]);
    let spec = MnistSpec {
        optimizer: rule,
        precision: FloatType::Float64,
        learning_rate: rate(0.01),
        ..spec("Schedule-Free")
    };
    let data = mnist();
    let mut run = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
    run.start().unwrap();
    let images = Images::new(&data.train.images, &data.train.labels, Kind::Double, Device::Cpu).unwrap();
    let test = Images::new(&data.test.images, &data.test.labels, Kind::Double, Device::Cpu).unwrap();
    // The stream of the order of images.
    let order = Key::new(spec.seed).at(1).at(0).at(0);
    let mut order = BatchSampler::new(order, images.count() as u32, spec.batch_size.get() as u32);
    let mut model = Mlp::new(1, Kind::Double, Device::Cpu).unwrap();
    model.parameters().shallow_clone().copy_(run.optimized().0);
    let mut expected = Loop::new(&rule, &numbers(model.parameters()));
    let layout = run.optimized().1.clone();
    let mut decays = vec![false; layout.length()];
    for (index, segment) in layout.segments().iter().enumerate() {
        decays[layout.range(index, 0)].fill(segment.decays);
    }
    let set = |model: &Mlp, values: &[f64]| model.parameters().shallow_clone().copy_(&Tensor::from_slice(values));
    for step in 0..12 {
        let y = expected.y();
        set(&model, &y);
        let batch = images.batch(order.batch(step), 1, Kind::Double).unwrap();
        let loss = model.differentiate(batch).unwrap().double_value(&[0]);
        expected.step(&numbers(model.gradients()), 0.01, |index| decays[index]);
        let found = run.advance(&mut || Ok(())).unwrap().double_value(&[0]);
        assert!((found - loss).abs() < 1e-9, "step {step}: {found} where {loss} is right");
        assert_close(&numbers(run.optimized().0), &expected.x, 1e-9);
        let evaluation = run.evaluate(&mut || Ok(())).unwrap().get(MetricId::TEST_LOSS).unwrap();
        let [at_x, at_y] = [&expected.x, &expected.y()].map(|place| {
            set(&model, place);
            model.evaluate(0, &test).unwrap().loss
        });
        assert!((evaluation - at_x).abs() < 1e-9, "step {step}: {evaluation} where {at_x} is right");
        assert!(step == 0 || (at_x - at_y).abs() > 1e-6, "step {step}: the losses at x and y differ");
    }
}

#[test]
fn an_interrupted_step_keeps_the_parameters() {
    for precision in [Gpt2Precision::Float32, Gpt2Precision::Float16] {
        let (mut run, ..) = gpt2("ScheduleFree(beta1: 0.5)", precision);
        for _ in 0..3 {
            let _ = run.advance(&mut || Ok(())).unwrap();
        }
        let saved = |run: &mut _| {
            let run: &mut valleyscope_training::gpt2::Gpt2Run = run;
            run.tensors().into_iter().map(|(name, tensor)| (name, numbers(tensor))).collect::<Vec<_>>()
        };
        let before = saved(&mut run);
        let lead = before.iter().find(|(name, _)| name == "optimizer.lead").unwrap();
        assert!(lead.1.iter().any(|lead| *lead != 0.0), "y is elsewhere than x");
        let mut checks = 0;
        let interrupted = run.advance(&mut || {
            checks += 1;
            if checks > 2 { Err(TrainError::Interrupted) } else { Ok(()) }
        });
        assert!(matches!(interrupted, Err(TrainError::Interrupted)));
        assert_eq!(saved(&mut run), before);
    }
}

#[test]
fn a_killed_run_of_schedule_free_resumes_bit_for_bit() {
    go_on_after_kills(&[("optimizer", "ScheduleFree(warmup: 20, r: 1)"), ("learning_rate", "0.005")]);
    let stage = Stage::new();
    let spec = || MnistSpec { optimizer: rule(&[("warmup", 30.0)]), ..quick(60) };
    let [whole, killed] = [(); 2].map(|()| stage.run(spec()));
    assert!(to_the_end(&whole, false).status.success());
    kill_at(&killed, 14);
    let mut child = worker(&killed, true).spawn().unwrap();
    wait_for(&killed, &mut child, 35);
    kill(child);
    assert!(to_the_end(&killed, true).status.success());
    assert_eq!(curve(&killed), curve(&whole));
    assert_eq!(tensors(&killed, 60), tensors(&whole, 60));
}
