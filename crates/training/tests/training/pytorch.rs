//! The training against PyTorch's. `pytorch.py` wrote the losses in `data/pytorch.json`.

use serde_json::Value;
use tch::{Device, Kind};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_experiments::dataset::mnist;
use valleyscope_experiments::workload::mnist::SIZES;
use valleyscope_training::mnist::{Images, Mlp};
use valleyscope_training::{FlatOptimizer, QueryResults};

use crate::small_mnist::uniform;

/// Returns the script's initial parameters.
fn start(mlp: &Mlp, start: u64) -> Vec<f64> {
    let mut counter = start * 1_000_000;
    let mut values = Vec::new();
    for (index, segment) in mlp.layout().segments().iter().enumerate() {
        match index % 4 {
            0 => values.resize(values.len() + segment.size(), 1.0),
            1 => values.resize(values.len() + segment.size(), 0.0),
            _ => {
                let within = (SIZES[index / 4] as f64).sqrt();
                values.extend((0..segment.size() as u64).map(|at| (2.0 * uniform(counter + at) - 1.0) / within));
                counter += segment.size() as u64;
            }
        }
    }
    values
}

#[test]
fn losses_follow_pytorch() {
    // PyTorch used one thread; several divide the sums over a batch in another way.
    tch::set_num_threads(1);
    let golden: Value = serde_json::from_str(include_str!("data/pytorch.json")).unwrap();
    let batch = golden["batch"].as_u64().unwrap() as usize;
    let data = mnist::synthetic_digits(mnist::SYNTHETIC_SEED);
    let rules: Vec<RuleKind> = golden.as_object().unwrap().keys().filter_map(|name| RuleKind::named(name)).collect();
    assert_eq!(rules.len(), 4);
    for rule in rules {
        let golden = &golden[rule.info().name];
        let (number, learning_rate) = (golden["start"].as_u64().unwrap(), golden["learning_rate"].as_f64().unwrap());
        for (precision, kind, limit) in [("float64", Kind::Double, 1e-9), ("float32", Kind::Float, 1e-4)] {
            let expected = golden[precision].as_array().unwrap();
            let images = Images::new(&data.train.images, &data.train.labels, kind, Device::Cpu).unwrap();
            let mut mlp = Mlp::new(1, kind, Device::Cpu).unwrap();
            mlp.set_model(0, &start(&mlp, number)).unwrap();
            let rule = RuleSpec::in_training(rule);
            let mut optimizer = FlatOptimizer::new(rule, &[learning_rate], mlp.layout(), kind, Device::Cpu).unwrap();
            for (step, expected) in expected.iter().enumerate() {
                let batch = images.range(step * batch..(step + 1) * batch, kind).unwrap();
                let loss = mlp.differentiate(batch).unwrap().double_value(&[0]);
                mlp.update(&mut optimizer, &QueryResults::default()).unwrap();
                let off = (loss - expected.as_f64().unwrap()).abs();
                assert!(off < limit, "{rule:?}, {precision}, step {step}: {loss}, PyTorch {expected}");
            }
        }
    }
}
