//! Queries of an optimizer to a model: gradients at other parameters, and the curvature; and Schedule-Free, which takes
//! gradients at y, evaluates and saves x, and weighs steps by rates that change.

use std::ops::Range;
use std::process::Command;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::text::{Corpus, Split};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::{FloatType, Gpt2Precision, Gpt2Spec, MnistSpec};
use valleyscope_runs::MetricId;
use valleyscope_training::gpt2::{Gpt2, Gpt2Run};
use valleyscope_training::mnist::{Batch, BatchSampler, Images, Mlp, MnistRun};
use valleyscope_training::{
    FlatOptimizer, GradientQueries, OptimizerProgress, ParameterLayout, QueryResults, TrainError, Training,
    drawn_labels, uniforms,
};

use crate::mnist::numbers;
use crate::runs::go_on_after_kills;
use crate::stage::{
    Stage, curve, digits, expect, kill, kill_at, mnist, quick, rate, spec, tensors, to_the_end, uniform,
    valleyscope_program, wait_for, worker,
};

const BATCH: usize = 20;

fn mlp(models: usize) -> Mlp {
    let mut mlp = Mlp::new(models, Kind::Double, Device::Cpu).unwrap();
    (0..models).for_each(|model| mlp.initialize(model, Key::new(5).at(model as u64)).unwrap());
    mlp
}

fn batch(models: usize) -> Result<Batch, TrainError> {
    batch_of(0..models)
}

fn batch_of(models: Range<usize>) -> Result<Batch, TrainError> {
    let digits = digits(300, 9);
    let images = Images::new(&digits.images, &digits.labels, Kind::Double, Device::Cpu)?;
    let chosen: Vec<u32> = (models.start * BATCH..models.end * BATCH).map(|at| (at * 37 % 300) as u32).collect();
    images.batch(&chosen, models.len(), Kind::Double)
}

#[test]
fn computes_the_gradient_at_other_parameters_for_the_same_batch() {
    let [mut model, mut moved] = [(); 2].map(|()| mlp(2));
    let place = model.parameters() * 0.9;
    moved.parameters().shallow_clone().copy_(&place);
    let _ = moved.differentiate(batch(2).unwrap()).unwrap();
    let _ = model.differentiate(batch(2).unwrap()).unwrap();
    let before = [model.parameters(), model.gradients(), model.statistics()].map(numbers);
    let queries = GradientQueries { gradient_at: Some(place), curvature: false };
    let answers = model.query_results(queries, &[Key::new(1), Key::new(2)], || batch(2)).unwrap();
    assert_eq!(numbers(answers.gradient_elsewhere.as_ref().unwrap()), numbers(moved.gradients()));
    assert!(answers.curvature.is_none());
    assert_eq!([model.parameters(), model.gradients(), model.statistics()].map(numbers), before, "nothing has changed");
}

/// The gradient of the bias of an output k is the mean of p − y over the batch, so the mean of B g² over drawn labels
/// is the mean of p (1 − p).
#[test]
fn curvature_of_output_biases_is_the_variance_of_their_labels() {
    const DRAWS: u64 = 600;
    let mut model = mlp(1);
    let images = batch(1).unwrap().images;
    let last = model.layout().segments().len() - 1;
    let mut sum = vec![0.0; 10];
    for draw in 0..DRAWS {
        let queries = GradientQueries { gradient_at: None, curvature: true };
        let answers = model.query_results(queries, &[Key::new(draw)], || batch(1)).unwrap();
        let of_bias = numbers(&model.layout().view(answers.curvature.as_ref().unwrap(), last));
        sum.iter_mut().zip(of_bias).for_each(|(sum, of_bias)| *sum += of_bias);
    }
    let shares = by_layers(&model, &images).softmax(-1, Kind::Double);
    let expected = numbers(&(&shares - shares.square()).mean_dim(&[0_i64][..], false, Kind::Double));
    for (sum, expected) in sum.into_iter().zip(expected) {
        let mean = sum / DRAWS as f64;
        // B g² is about χ² with a deviation of √2 times its mean.
        let deviation = 2.0_f64.sqrt() * expected / (DRAWS as f64).sqrt();
        assert!((mean - expected).abs() < 5.0 * deviation, "{mean} where {expected} ± {deviation} is right");
    }
}

/// Returns the logits of a training batch through libtorch's own layers.
fn by_layers(mlp: &Mlp, images: &Tensor) -> Tensor {
    let part = |index| mlp.layout().view(mlp.parameters(), index).get(0);
    let mut x = images.get(0);
    for layer in 0..6 {
        let [scale, shift, weight, bias] = [0, 1, 2, 3].map(|which| part(4 * layer + which));
        let none = None::<&Tensor>;
        x = x.batch_norm(Some(&scale), Some(&shift), none, none, true, 0.1, 1e-5, false).linear(&weight, Some(&bias));
        x = if layer < 5 { x.relu() } else { x };
    }
    x
}

#[test]
fn draws_the_label_at_the_quantile() {
    let logits = Tensor::from_slice(&[0.2_f64.ln(), 0.3_f64.ln(), 0.5_f64.ln()]).repeat([6, 1]);
    let uniforms = Tensor::from_slice(&[0.0, 0.19, 0.21, 0.49, 0.51, 0.999_999]);
    let drawn: Vec<i64> = drawn_labels(&logits, &uniforms).unwrap().try_into().unwrap();
    assert_eq!(drawn, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn draws_uniform_numbers_from_the_streams_of_keys() {
    let keys = [Key::new(1), Key::new(2)];
    let both = uniforms(&keys, 1000, Device::Cpu).unwrap();
    assert_eq!(numbers(&both.get(1)), numbers(&uniforms(&keys[1..], 1000, Device::Cpu).unwrap()));
    let all = numbers(&both);
    assert!(all.iter().all(|value| (0.0..1.0).contains(value)));
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((mean - 0.5).abs() < 4.0 / (12.0 * all.len() as f64).sqrt(), "{mean}");
}

/// Returns a training of GPT-2 in which all sequences are the same, with a learning rate that leaves the parameters
/// where they are, and a copy of its model.
pub fn gpt2(rule: &str, precision: Gpt2Precision) -> (Gpt2Run, Gpt2, Tensor) {
    const CONTEXT: usize = 64;
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    // A part to learn from and one for validation, each as long as a sequence and its targets.
    std::fs::write(&text, "hfgkadbe".repeat(9)[..=CONTEXT].repeat(2)).unwrap();
    let tokens = folder.path().join("tokens");
    let mut command = Command::new(valleyscope_program());
    command.args(["data", "text", "--tokenizer", "char", "--val-fraction", "0.5", "--out"]).arg(&tokens).arg(&text);
    expect(&command.output().unwrap(), 0, &[]);
    let corpus = Corpus::open(&tokens, CONTEXT).unwrap();
    let inputs: Vec<i64> = corpus.sequences(Split::Train, &[0]).unwrap().inputs.into_iter().map(i64::from).collect();
    let built_in = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").unwrap();
    let settings = [
        ("shape", "(layers: 1, heads: 2, width: 12, context: 64, vocabulary: 8, bias: true)"),
        ("optimizer", rule),
        ("schedule", "(warmup: 0, min_lr: 1e-8)"),
        ("learning_rate", "1e-8"),
        ("clip", "0.01"),
        ("batch_size", "2"),
        ("accumulation", "3"),
    ];
    let preset =
        settings.iter().fold(built_in.preset.clone(), |preset, (path, value)| preset.with(path, value).unwrap());
    let Preset::Gpt2(preset) = preset else { unreachable!("it is of GPT-2") };
    let spec = Gpt2Spec { precision, ..preset.runs[0].clone() };
    let mut run = Gpt2Run::new(&spec, corpus, Device::Cpu).unwrap();
    run.start().unwrap();
    // Predictions that are not all the same.
    let _ = run.optimized().0.shallow_clone().f_mul_scalar_(3.0).unwrap();
    let model = Gpt2::new(spec.shape, Gpt2Precision::Float64, spec.attention, Device::Cpu).unwrap();
    model.parameters().shallow_clone().copy_(run.optimized().0);
    (run, model, Tensor::from_slice(&inputs).view([1, CONTEXT as i64]))
}

fn remembered(run: &Gpt2Run, key: &str) -> Tensor {
    let state = run.tensors().into_iter().find(|(name, _)| *name == format!("optimizer.{key}"));
    state.unwrap().1.to_kind(Kind::Double).copy()
}

/// The product of the last normalisation's bias with the embeddings is added to the logits. So its gradient for one
/// token is the mean of the embeddings by the prediction, less that of the label; over drawn labels the mean of B g² is
/// the embeddings' variance by the prediction, in the mean over the tokens. The curvature is neither clipped nor
/// scaled, and the micro-batches draw different labels.
#[test]
fn curvature_of_gpt2_is_the_variance_of_the_labels_embeddings() {
    for (precision, draws) in [(Gpt2Precision::Float64, 600_u32), (Gpt2Precision::Float16, 200)] {
        let (mut run, model, tokens) = gpt2("Sophia(beta2: 0, interval: 1)", precision);
        let named = |name: &str| model.layout().segments().iter().position(|segment| segment.name == name).unwrap();
        let (embeddings, bias) = (named("transformer.wte.weight"), named("transformer.ln_f.bias"));
        let predicted = |length| model.logits(&tokens.narrow(1, 0, length), &mut || Ok(())).unwrap();
        let logits: Vec<Tensor> = (1..=tokens.size()[1]).map(predicted).collect();
        let shares = Tensor::cat(&logits, 0).softmax(-1, Kind::Double);
        let embeddings = model.layout().view(model.parameters(), embeddings).get(0);
        let variance = shares.matmul(&embeddings.square()) - shares.matmul(&embeddings).square();
        let expected = numbers(&variance.mean_dim(&[0_i64][..], false, Kind::Double));
        // The first step has no query for the curvature.
        let _ = run.advance(&mut || Ok(())).unwrap();
        let mut sum = vec![0.0; expected.len()];
        for _ in 0..draws {
            let _ = run.advance(&mut || Ok(())).unwrap();
            let of_bias = numbers(&run.optimized().1.view(&remembered(&run, "h"), bias));
            sum.iter_mut().zip(of_bias).for_each(|(sum, of_bias)| *sum += of_bias);
        }
        for (sum, expected) in sum.into_iter().zip(expected) {
            let mean = sum / f64::from(draws);
            let deviation = 2.0_f64.sqrt() * expected / f64::from(draws).sqrt();
            assert!(
                (mean - expected).abs() < 5.0 * deviation,
                "{precision:?}: {mean} where {expected} ± {deviation} is right"
            );
        }
    }
}

/// If the parameters do not move, the gradient at the previous ones equals that of the step, clipped like it, so MARS
/// adds nothing to it.
#[test]
fn gpt2_gradient_at_unmoved_previous_parameters_equals_that_of_the_step() {
    for (precision, allowed) in [(Gpt2Precision::Float64, 1e-5), (Gpt2Precision::Float16, 1e-3)] {
        let (mut run, ..) = gpt2("Mars(form: Exact, beta1: 0.9, gamma: 1)", precision);
        let states = [1, 2].map(|_| {
            let _ = run.advance(&mut || Ok(())).unwrap();
            remembered(&run, "m")
        });
        let largest = |tensor: &Tensor| tensor.abs().max().double_value(&[]);
        // The first gradient counts for 1 + γ β₁ / (1 − β₁) = 10, which its average m has in it by a tenth.
        let off = largest(&(&states[1] - &states[0])) / largest(&states[0]);
        assert!(off < allowed, "{precision:?}: {off:e}");
        let norm = states[0].norm().double_value(&[]);
        assert!((norm - 0.01).abs() < 1e-5, "{norm}: the gradient is clipped to 0.01");
    }
}

#[test]
fn curvatures_of_a_stack_equal_those_of_single_models() {
    let curvature = || GradientQueries { gradient_at: None, curvature: true };
    let keys = [Key::new(1), Key::new(2)];
    let mut stack = mlp(2);
    let both = stack.query_results(curvature(), &keys, || batch(2)).unwrap().curvature.unwrap();
    for model in 0..2 {
        let mut alone = Mlp::new(1, Kind::Double, Device::Cpu).unwrap();
        alone.initialize(0, Key::new(5).at(model as u64)).unwrap();
        let of_model = alone.query_results(curvature(), &keys[model..=model], || batch_of(model..model + 1)).unwrap();
        for segment in 0..alone.layout().segments().len() {
            let expected = numbers(&alone.layout().view(of_model.curvature.as_ref().unwrap(), segment));
            let found = numbers(&stack.layout().view(&both, segment).get(model as i64));
            let largest = expected.iter().fold(0.0, |largest: f64, value| largest.max(*value));
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-9 * largest, "model {model}: {found} {expected}");
            }
        }
    }
}

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
