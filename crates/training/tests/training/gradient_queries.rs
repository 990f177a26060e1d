//! Queries of an optimizer to a model: gradients at other parameters, and the curvature.

use std::ops::Range;
use std::process::Command;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::text::{Corpus, Split};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::{Gpt2Precision, Gpt2Spec};
use valleyscope_training::gpt2::{Gpt2, Gpt2Run};
use valleyscope_training::mnist::{Batch, Images, Mlp};
use valleyscope_training::{GradientQueries, TrainError, Training, drawn_labels, uniforms};

use crate::faults::expect;
use crate::programs::valleyscope_program;
use crate::small_mnist::digits;

const BATCH: usize = 20;

fn mlp(models: usize) -> Mlp {
    let mut mlp = Mlp::new(models, Kind::Double, Device::Cpu).unwrap();
    for model in 0..models {
        mlp.initialize(model, Key::new(5).at(model as u64)).unwrap();
    }
    mlp
}

/// Returns a batch for each model.
fn batch(models: usize) -> Result<Batch, TrainError> {
    batch_of(0..models)
}

/// Returns the batches of some of the models.
fn batch_of(models: Range<usize>) -> Result<Batch, TrainError> {
    let digits = digits(300, 9);
    let images = Images::new(&digits.images, &digits.labels, Kind::Double, Device::Cpu)?;
    let chosen: Vec<u32> = (models.start * BATCH..models.end * BATCH).map(|at| (at * 37 % 300) as u32).collect();
    images.batch(&chosen, models.len(), Kind::Double)
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.flatten(0, -1)).unwrap()
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
