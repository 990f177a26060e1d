//! GPT-2 against PyTorch's. `pytorch_gpt2.py` wrote the losses in `data/pytorch_gpt2.json`.

use serde_json::Value;
use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape};
use valleyscope_training::gpt2::Gpt2;
use valleyscope_training::{FlatOptimizer, QueryResults};

use crate::small_mnist::uniform;

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
fn tokens(step: u64, micro: u64) -> [Tensor; 2] {
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
                    gpt2.forget_gradients();
                    let mut found = 0.0;
                    for micro in 0..MICRO_BATCHES {
                        let [inputs, targets] = tokens(step as u64, micro);
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
