//! GPT-2: gradients, both forms of attention, half precision, micro-batches, clipping, text, and PyTorch's losses,
//! which `pytorch_gpt2.py` wrote into `data/pytorch_gpt2.json`.

use serde_json::Value;
use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::random::Key;
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape};
use valleyscope_training::gpt2::Gpt2;
use valleyscope_training::{FlatOptimizer, QueryResults, TrainError, drawn_labels, uniforms};

use crate::says::says;
use crate::stage::uniform;

const ATTENTIONS: [Attention; 2] = [Attention::Fused, Attention::Explicit];

/// Returns a shape whose sizes are no multiples of a vector's length. Its vocabulary is too small for logits in parts.
pub fn shape(bias: bool) -> Gpt2Shape {
    Gpt2Shape {
        layers: 2,
        heads: 3,
        width: 12,
        context: 7,
        vocabulary: 11,
        bias,
        scale_attn_by_inverse_layer_idx: bias,
        decay_embeddings: false,
    }
}

/// Returns a model in which every parameter has an effect.
fn model(shape: Gpt2Shape, precision: Gpt2Precision, attention: Attention) -> Gpt2 {
    let gpt2 = Gpt2::new(shape, precision, attention, Device::Cpu).unwrap();
    for (index, segment) in gpt2.layout().segments().iter().enumerate() {
        let middle = f64::from(segment.name.contains("ln_") && segment.name.ends_with("weight"));
        let values: Vec<f64> =
            (0..segment.size()).map(|at| middle + 0.6 * (uniform((index * 1000 + at) as u64) - 0.5)).collect();
        let mut view = gpt2.layout().view(gpt2.parameters(), index);
        view.copy_(&Tensor::from_slice(&values).view(&view.size()[..]));
    }
    gpt2
}

fn tokens(sequences: i64, length: i64, vocabulary: u32, start: u64) -> (Tensor, Tensor) {
    let draw = |start: u64| {
        let count = (sequences * length) as u64;
        let all: Vec<i64> = (0..count).map(|at| (uniform(start + at) * f64::from(vocabulary)) as i64).collect();
        Tensor::from_slice(&all).view([sequences, length])
    };
    (draw(start * 1000), draw(start * 1000 + 500))
}

fn number(tensor: &Tensor) -> f64 {
    tensor.double_value(&[])
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    number(&(a.to_kind(Kind::Double) - b.to_kind(Kind::Double)).abs().max())
}

#[test]
fn gradients_equal_central_differences_of_the_loss() {
    const STEP: f64 = 1e-5;
    for (bias, attention) in [false, true].iter().flat_map(|&bias| ATTENTIONS.map(|attention| (bias, attention))) {
        let mut gpt2 = model(shape(bias), Gpt2Precision::Float64, attention);
        let (inputs, targets) = tokens(2, 6, 11, 1);
        let loss = number(&gpt2.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap());
        assert!((loss - number(&gpt2.loss(&inputs, &targets, &mut || Ok(())).unwrap())).abs() < 1e-14);
        for (index, segment) in gpt2.layout().segments().iter().enumerate() {
            let view = gpt2.layout().view(gpt2.parameters(), index).view(-1);
            let gradient = gpt2.layout().view(gpt2.gradients(), index).view(-1);
            for at in (0..segment.size() as i64).step_by(segment.size().div_ceil(25)) {
                let before = view.double_value(&[at]);
                let loss_at = |value: f64| {
                    let _ = view.get(at).fill_(value);
                    number(&gpt2.loss(&inputs, &targets, &mut || Ok(())).unwrap())
                };
                let expected = (loss_at(before + STEP) - loss_at(before - STEP)) / (2.0 * STEP);
                loss_at(before);
                let found = gradient.double_value(&[at]);
                let about = format!("{attention:?}, {}[{at}]", segment.name);
                assert!((found - expected).abs() < 1e-9, "{about}: {found}, difference {expected}");
            }
        }
    }
}

#[test]
fn both_attentions_agree() {
    for (precision, limit) in [(Gpt2Precision::Float64, 1e-13), (Gpt2Precision::Float32, 1e-5)] {
        for bias in [false, true] {
            let (inputs, targets) = tokens(3, 7, 11, 2);
            let [fused, explicit] = ATTENTIONS.map(|attention| {
                let mut gpt2 = model(shape(bias), precision, attention);
                let loss = number(&gpt2.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap());
                (loss, gpt2.gradients().copy())
            });
            let off = largest_difference(&fused.1, &explicit.1).max((fused.0 - explicit.0).abs());
            assert!(off < limit, "{precision:?}, bias {bias}: {off:e}");
        }
    }
}

#[test]
fn gradients_are_the_same_with_any_number_of_threads_but_for_rounding() {
    // Wide enough that there are several parts, and so that logits of all tokens are not made at once.
    let shape = Gpt2Shape { layers: 1, heads: 2, width: 64, context: 64, vocabulary: 300_000, ..shape(true) };
    let (inputs, targets) = tokens(3, 64, 300_000, 3);
    let threads = tch::get_num_threads();
    let results = [1, 2, 5].map(|threads| {
        tch::set_num_threads(threads);
        let mut gpt2 = Gpt2::new(shape, Gpt2Precision::Float32, Attention::Explicit, Device::Cpu).unwrap();
        gpt2.initialize(Key::new(3)).unwrap();
        let loss = number(&gpt2.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap());
        (loss, gpt2.gradients().copy())
    });
    tch::set_num_threads(threads);
    for (loss, gradients) in &results[1..] {
        assert!((loss - results[0].0).abs() < 1e-5 && largest_difference(gradients, &results[0].1) < 1e-6);
    }
    assert!((results[0].0 - 300_000_f64.ln()).abs() < 0.1, "{}", results[0].0);
}

#[test]
fn half_precision_stays_near_single() {
    for (precision, limit, scale) in [(Gpt2Precision::BFloat16, 3e-2, 1.0), (Gpt2Precision::Float16, 4e-3, 65536.0)] {
        for attention in ATTENTIONS {
            let (inputs, targets) = tokens(3, 7, 11, 4);
            let rule = RuleSpec::in_training(RuleKind::Adam);
            let losses = [(Gpt2Precision::Float32, 1.0), (precision, scale)].map(|(precision, scale)| {
                let mut gpt2 = model(shape(true), precision, attention);
                let mut optimizer = FlatOptimizer::new(rule, &[1e-2], gpt2.layout(), Kind::Float, Device::Cpu).unwrap();
                let mut step = || {
                    gpt2.forget_gradients().unwrap();
                    let loss = gpt2.differentiate(&inputs, &targets, 1.0, scale, &mut || Ok(())).unwrap();
                    let norm = gpt2.clip(Some(1.0), scale).unwrap();
                    gpt2.update(&mut optimizer, &QueryResults::default()).unwrap();
                    assert!(number(&norm) > 0.1 && number(&norm) < 5.0, "{precision:?}: norm {norm:?}");
                    number(&loss)
                };
                (0..12).map(|_| step()).collect::<Vec<f64>>()
            });
            let off = losses[0].iter().zip(&losses[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < limit && off > 1e-7, "{precision:?}, {attention:?}: {off:e}, {losses:?}");
            assert!(losses[1][11] < losses[1][0] - 0.5, "{losses:?}");
        }
    }
}

#[test]
fn micro_batches_add_up_to_a_batch() {
    let (inputs, targets) = tokens(4, 7, 11, 5);
    let fresh = || model(shape(true), Gpt2Precision::Float64, Attention::Explicit);
    let (mut whole, mut parts) = (fresh(), fresh());
    let loss = number(&whole.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap());
    // Gradients from before the step must not count.
    let _loss = parts.differentiate(&targets, &inputs, 1.0, 1.0, &mut || Ok(())).unwrap();
    parts.forget_gradients().unwrap();
    let losses = [0, 2].map(|start| {
        let part = |of: &Tensor| of.narrow(0, start, 2).contiguous();
        number(&parts.differentiate(&part(&inputs), &part(&targets), 0.5, 8.0, &mut || Ok(())).unwrap())
    });
    assert!((loss - losses.iter().sum::<f64>() / 2.0).abs() < 1e-13);
    assert!(largest_difference(&(parts.gradients() / 8.0), whole.gradients()) < 1e-13);
    let norm = number(&whole.gradients().norm());
    assert!((number(&parts.clip(Some(0.01), 8.0).unwrap()) - norm).abs() < 1e-12);
    let expected = whole.gradients() * (0.01 / (norm + 1e-6));
    assert!(largest_difference(parts.gradients(), &expected) < 1e-15);
    // Short ones stay as they are.
    let _norm = whole.clip(Some(1e3), 1.0).unwrap();
    assert!((number(&whole.gradients().norm()) - norm).abs() < 1e-12);
}

#[test]
fn an_interrupted_step_leaves_no_trace() {
    let (inputs, targets) = tokens(4, 7, 11, 5);
    let fresh = || model(shape(true), Gpt2Precision::Float64, Attention::Explicit);
    let (mut whole, mut interrupted) = (fresh(), fresh());
    let loss = whole.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap();
    for after in 0.. {
        let mut checks = 0;
        let mut check = || {
            checks += 1;
            if checks > after { Err(TrainError::Interrupted) } else { Ok(()) }
        };
        interrupted.forget_gradients().unwrap();
        let outcome = interrupted.differentiate(&inputs, &targets, 1.0, 1.0, &mut check);
        match outcome {
            Err(TrainError::Interrupted) => continue,
            outcome => assert_eq!(number(&outcome.unwrap()), number(&loss)),
        }
        // Once before each layer, forward and backward.
        assert_eq!(after, 2 * u64::from(whole.shape().layers));
        break;
    }
    assert_eq!(interrupted.gradients(), whole.gradients());
}

#[test]
fn names_the_first_tensor_that_is_not_finite() {
    let mut gpt2 = model(shape(true), Gpt2Precision::Float32, Attention::Fused);
    let (inputs, targets) = tokens(2, 7, 11, 6);
    let _loss = gpt2.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap();
    assert_eq!(gpt2.first_not_finite(gpt2.gradients()).unwrap(), None);
    assert!(number(&gpt2.clip(None, 1.0).unwrap()).is_finite());
    let index = gpt2.layout().segments().iter().position(|segment| segment.name.ends_with("h.1.mlp.c_fc.bias"));
    let _ = gpt2.layout().view(gpt2.parameters(), index.unwrap()).view(-1).get(3).fill_(f64::NAN);
    assert_eq!(gpt2.first_not_finite(gpt2.parameters()).unwrap(), Some("transformer.h.1.mlp.c_fc.bias"));
    gpt2.forget_gradients().unwrap();
    let loss = gpt2.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap();
    assert!(number(&loss).is_nan() && number(&gpt2.clip(Some(1.0), 1.0).unwrap()).is_nan());
}

#[test]
fn a_start_depends_on_its_key_only_and_has_the_papers_deviations() {
    let shape = Gpt2Shape { layers: 8, heads: 2, width: 64, context: 32, vocabulary: 100, ..shape(true) };
    let start = |precision, seed| {
        let mut gpt2 = Gpt2::new(shape, precision, Attention::Fused, Device::Cpu).unwrap();
        gpt2.initialize(Key::new(seed)).unwrap();
        gpt2
    };
    let gpt2 = start(Gpt2Precision::Float32, 1);
    assert!(largest_difference(gpt2.parameters(), start(Gpt2Precision::Float64, 1).parameters()) < 1e-8);
    assert!(largest_difference(gpt2.parameters(), start(Gpt2Precision::Float32, 2).parameters()) > 0.01);
    assert_eq!(gpt2.layout().model_size() as u64, shape.parameters());
    for (index, segment) in gpt2.layout().segments().iter().enumerate() {
        let values = gpt2.layout().view(gpt2.parameters(), index).to_kind(Kind::Double);
        let (mean, deviation) = (number(&values.mean(Kind::Double)), number(&values.std(false)));
        let expected = match segment.name.as_str() {
            name if segment.shape.len() == 1 => {
                assert!(mean == f64::from(name.ends_with("weight")) && deviation == 0.0, "{name}");
                continue;
            }
            // √(2 × 8) = 4
            name if name.ends_with("c_proj.weight") => 0.02 / 4.0,
            _ => 0.02,
        };
        // Six standard errors.
        let error = 6.0 * expected / (segment.size() as f64).sqrt();
        assert!(mean.abs() < error && (deviation - expected).abs() < error, "{}: {mean} {deviation}", segment.name);
    }
    let decaying = |embeddings| {
        let shape = Gpt2Shape { decay_embeddings: embeddings, ..shape };
        let gpt2 = Gpt2::new(shape, Gpt2Precision::Float32, Attention::Fused, Device::Cpu).unwrap();
        gpt2.layout().segments().iter().filter(|segment| segment.decays).count()
    };
    assert_eq!((decaying(false), decaying(true)), (8 * 4, 8 * 4 + 2));
}

#[test]
fn text_follows_the_training_and_depends_on_the_key_only() {
    let mut gpt2 = model(shape(false), Gpt2Precision::Float32, Attention::Fused);
    let rule = RuleSpec::in_training(RuleKind::Adam);
    let mut optimizer = FlatOptimizer::new(rule, &[1e-2], gpt2.layout(), Kind::Float, Device::Cpu).unwrap();
    let count: Vec<i64> = (0..70).map(|at| at % 11).collect();
    let part = |start: usize| Tensor::from_slice(&count[start..start + 49]).view([7, 7]);
    for step in 0..150 {
        gpt2.forget_gradients().unwrap();
        let _loss = gpt2.differentiate(&part(step % 11), &part(step % 11 + 1), 1.0, 1.0, &mut || Ok(())).unwrap();
        gpt2.update(&mut optimizer, &QueryResults::default()).unwrap();
    }
    let expected: Vec<i64> = (4..24).map(|at| at % 11).collect();
    assert_eq!(gpt2.generate(&[2, 3], 20, 0.0, None, Key::new(1), &mut || Ok(())).unwrap(), expected);
    assert_eq!(gpt2.generate(&[2, 3], 20, 1.0, Some(1), Key::new(1), &mut || Ok(())).unwrap(), expected);
    let wild = |seed| gpt2.generate(&[2, 3], 20, 5.0, None, Key::new(seed), &mut || Ok(())).unwrap();
    assert_eq!(wild(1), wild(1));
    assert_ne!(wild(1), wild(2));
    let few = gpt2.generate(&[2], 300, 50.0, Some(2), Key::new(3), &mut || Ok(())).unwrap();
    assert!(few.windows(2).any(|pair| pair[1] != (pair[0] + 1) % 11), "{few:?}");
    says(gpt2.generate(&[], 3, 1.0, None, Key::new(1), &mut || Ok(())).unwrap_err(), &["expected a prompt"]);
}

#[test]
fn refuses_tokens_and_shapes_out_of_range() {
    let mut gpt2 = model(shape(false), Gpt2Precision::Float32, Attention::Fused);
    for (length, vocabulary, expected) in [(8, 11, "exceeds dimension size (7)"), (7, 40, "index out of range")] {
        let (inputs, targets) = tokens(1, length, vocabulary, 7);
        says(gpt2.differentiate(&inputs, &targets, 1.0, 1.0, &mut || Ok(())).unwrap_err(), &[expected]);
    }
    for (wrong, expected) in [
        (Gpt2Shape { heads: 5, ..shape(false) }, "`width` is 12, which `heads`, 5, does not divide"),
        (Gpt2Shape { layers: 0, ..shape(false) }, "`layers` must be a whole number from 1 to 256, found 0"),
        (Gpt2Shape { layers: 256, heads: 1, width: 1 << 16, ..shape(false) }, "more than the 20000000000"),
    ] {
        says(Gpt2::new(wrong, Gpt2Precision::Float32, Attention::Fused, Device::Cpu).unwrap_err(), &[expected]);
    }
    assert_eq!((Gpt2Shape::SMALL.parameters(), Gpt2Shape::CHARACTERS.parameters()), (124_373_760, 804_096));
}

/// Each drawn token follows the predictions after the tokens up to its place.
#[test]
fn draws_targets_from_the_models_predictions() {
    let gpt2 = model(shape(true), Gpt2Precision::Float64, Attention::Explicit);
    let (tokens, _) = tokens(3, 7, 11, 1);
    let uniforms = uniforms(&[Key::new(3)], 21, Device::Cpu).unwrap();
    let drawn = gpt2.drawn_targets(&tokens, &uniforms, &mut || Ok(())).unwrap();
    assert_eq!(drawn.size(), [3, 7]);
    let uniforms = uniforms.view([3, 7]);
    for place in 0..7 {
        let logits = gpt2.logits(&tokens.narrow(1, 0, place + 1).contiguous(), &mut || Ok(())).unwrap();
        let expected = drawn_labels(&logits, &uniforms.select(1, place)).unwrap();
        assert_eq!(drawn.select(1, place), expected);
    }
}

const BATCH: u64 = 3;
const MICRO_BATCHES: u64 = 2;
const CONTEXT: u64 = 12;
const VOCABULARY: u64 = 31;

/// Sets the parameters to those of the script's model, in which the last normalisation comes last.
fn start(gpt2: &Gpt2) {
    let mut counter = 1_000_000;
    for (index, segment) in gpt2.layout().segments().iter().enumerate() {
        let middle = f64::from(segment.name.contains("ln_") && segment.name.contains("weight"));
        let values: Vec<f64> =
            (0..segment.size() as u64).map(|at| 0.2 * uniform(counter + at) - 0.1 + middle).collect();
        counter += segment.size() as u64;
        let mut view = gpt2.layout().view(gpt2.parameters(), index);
        view.copy_(&Tensor::from_slice(&values).view(&view.size()[..]));
    }
}

/// Returns the script's tokens and the following tokens.
fn scripted_tokens(step: u64, micro: u64) -> [Tensor; 2] {
    let counter = 7_000_000 + (step * MICRO_BATCHES + micro) * BATCH * (CONTEXT + 1);
    let mut rows = Vec::new();
    for row in 0..BATCH {
        let mut token = 0;
        for at in 0..=CONTEXT {
            let u = uniform(counter + row * (CONTEXT + 1) + at);
            token = if u < 0.3 { (u * VOCABULARY as f64) as u64 } else { (3 * token + 1) % VOCABULARY };
            rows.push(token as i64);
        }
    }
    let rows = Tensor::from_slice(&rows).view([BATCH as i64, CONTEXT as i64 + 1]);
    [0, 1].map(|first| rows.narrow(1, first, CONTEXT as i64).contiguous())
}

fn rule(name: &str) -> (RuleSpec, f64) {
    let rule = RuleSpec::in_training(RuleKind::named(name).unwrap()).with("weight_decay", 0.1).unwrap();
    match name {
        "Adam" => (rule.with("beta2", 0.95).unwrap(), 1e-3),
        "FOCUS" => (rule, 2e-4),
        other => panic!("{other}"),
    }
}

#[test]
fn losses_and_norms_follow_pytorch() {
    let golden: Value = serde_json::from_str(include_str!("data/pytorch_gpt2.json")).unwrap();
    let runs: Vec<_> = golden.as_object().unwrap().iter().filter(|(name, _)| *name != "pytorch").collect();
    assert_eq!(runs.len(), 4);
    for (name, golden) in runs {
        let shape = Gpt2Shape {
            layers: 2,
            heads: 2,
            width: 16,
            context: CONTEXT as u32,
            vocabulary: VOCABULARY as u32,
            bias: golden["bias"].as_bool().unwrap(),
            scale_attn_by_inverse_layer_idx: golden["scale_attn_by_inverse_layer_idx"].as_bool().unwrap(),
            decay_embeddings: false,
        };
        for (precision, kind, limit) in
            [(Gpt2Precision::Float64, Kind::Double, 1e-9), (Gpt2Precision::Float32, Kind::Float, 1e-4)]
        {
            for attention in [Attention::Fused, Attention::Explicit] {
                let about = format!("{name}, {precision:?}, {attention:?}");
                let mut gpt2 = Gpt2::new(shape, precision, attention, Device::Cpu).unwrap();
                start(&gpt2);
                let (rule, learning_rate) = rule(golden["optimizer"].as_str().unwrap());
                let mut optimizer =
                    FlatOptimizer::new(rule, &[learning_rate], gpt2.layout(), kind, Device::Cpu).unwrap();
                let golden = &golden[precision.name()];
                let losses = golden["losses"].as_array().unwrap();
                assert!(losses.len() >= 20);
                for (step, (loss, norm)) in losses.iter().zip(golden["norms"].as_array().unwrap()).enumerate() {
                    gpt2.forget_gradients().unwrap();
                    let mut found = 0.0;
                    for micro in 0..MICRO_BATCHES {
                        let [inputs, targets] = scripted_tokens(step as u64, micro);
                        let weight = 1.0 / MICRO_BATCHES as f64;
                        let loss = gpt2.differentiate(&inputs, &targets, weight, 1.0, &mut || Ok(())).unwrap();
                        found += weight * loss.double_value(&[]);
                    }
                    let found_norm = gpt2.clip(Some(0.5), 1.0).unwrap().double_value(&[]);
                    gpt2.update(&mut optimizer, &QueryResults::default()).unwrap();
                    for (found, expected) in [(found, loss), (found_norm, norm)] {
                        let off = (found - expected.as_f64().unwrap()).abs();
                        assert!(off < limit, "{about}, step {step}: {found}, PyTorch {expected}");
                    }
                }
            }
        }
    }
}
