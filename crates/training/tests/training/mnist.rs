//! The classifier of MNIST: batches, gradients, the two forms of its operations, stacks against single models,
//! evaluation, and PyTorch's losses, which `pytorch.py` wrote into `data/pytorch.json`.

use proptest::prelude::*;
use serde_json::Value;
use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::mnist;
use valleyscope_experiments::workload::mnist::SIZES;
use valleyscope_training::mnist::{Batch, BatchSampler, Images, Mlp};
use valleyscope_training::{FlatOptimizer, QueryResults};

use crate::stage::{digits, mnist, uniform};

proptest! {
    #[test]
    fn an_epoch_has_every_image_once(images in 1_u32..300, batch in 1_u32..64, seed: u64) {
        let mut sampler = BatchSampler::new(Key::new(seed), images, batch);
        let batches = u64::from(images.div_ceil(batch));
        for epoch in 0..3 {
            let parts: Vec<Vec<u32>> = (0..batches).map(|step| sampler.batch(epoch * batches + step).to_vec()).collect();
            prop_assert!(parts[..parts.len() - 1].iter().all(|part| part.len() == batch as usize));
            let mut seen = parts.concat();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..images).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_batch_does_not_depend_on_those_before(seed: u64, step in 0_u64..100) {
        let mut through = BatchSampler::new(Key::new(seed), 50, 7);
        let last = (0..=step).map(|step| through.batch(step).to_vec()).last().unwrap();
        let mut at_once = BatchSampler::new(Key::new(seed), 50, 7);
        prop_assert_eq!(at_once.batch(step), &last[..]);
    }
}

#[test]
fn epochs_and_keys_have_different_orders() {
    let epoch = |seed, epoch| BatchSampler::new(Key::new(seed), 1000, 1000).batch(epoch).to_vec();
    assert_ne!(epoch(0, 0), epoch(0, 1));
    assert_ne!(epoch(0, 0), epoch(1, 0));
    // Over many orders each image comes first equally often: chi square with 9 degrees of freedom.
    let mut first = [0.0_f64; 10];
    (0..2000).for_each(|seed| first[BatchSampler::new(Key::new(seed), 10, 10).batch(0)[0] as usize] += 1.0);
    let chi_square: f64 = first.iter().map(|count| (count - 200.0).powi(2) / 200.0).sum();
    assert!(chi_square < 30.0, "{chi_square}");
}

#[test]
fn a_batch_holds_the_chosen_images_from_0_to_1() {
    let digits = digits(20, 3);
    let images = Images::new(&digits.images, &digits.labels, Kind::Double, Device::Cpu).unwrap();
    let batch = images.batch(&[4, 19, 0, 7], 2, Kind::Double).unwrap();
    assert_eq!(batch.images.size(), [2, 2, 784]);
    assert_eq!(batch.labels.size(), [2, 2]);
    for (at, image) in [(0, 4), (1, 19), (2, 0), (3, 7)] {
        let found = Vec::<f64>::try_from(batch.images.get(at / 2).get(at % 2)).unwrap();
        let expected: Vec<f64> =
            digits.images[image * 784..][..784].iter().map(|&byte| f64::from(byte) / 255.0).collect();
        assert_eq!(found, expected);
        assert_eq!(batch.labels.int64_value(&[at / 2, at % 2]), i64::from(digits.labels[image]));
    }
    let range = images.range(5..8, Kind::Double).unwrap();
    let chosen = images.batch(&[5, 6, 7], 1, Kind::Double).unwrap();
    assert!(range.images.equal(&chosen.images) && range.labels.equal(&chosen.labels));
}

fn stack(models: usize, kind: Kind) -> Mlp {
    let mut mlp = Mlp::new(models, kind, Device::Cpu).unwrap();
    for model in 0..models {
        mlp.initialize(model, Key::new(5).at(model as u64)).unwrap();
        // Batch normalisation with an effect.
        let mut values = mlp.model(model).unwrap();
        for (at, value) in values.iter_mut().enumerate() {
            *value += 0.1 * (uniform(at as u64) - 0.5);
        }
        mlp.set_model(model, &values).unwrap();
    }
    mlp
}

fn batch(models: usize, size: usize, kind: Kind) -> Batch {
    let digits = digits(300, 9);
    let images = Images::new(&digits.images, &digits.labels, kind, Device::Cpu).unwrap();
    let chosen: Vec<u32> = (0..models * size).map(|at| (at * 37 % 300) as u32).collect();
    images.batch(&chosen, models, kind).unwrap()
}

pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).flatten(0, -1)).unwrap()
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

/// Computes the cross entropy in full precision, unlike tch's own shorthand.
fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Tensor {
    logits.log_softmax(-1, None).nll_loss(labels)
}

/// Returns the same model through libtorch's own layers and automatic differentiation: loss, gradients of all
/// parameters in the order of the layout, and running averages.
fn by_autograd(mlp: &Mlp, batch: &Batch) -> (f64, Vec<f64>, Vec<f64>) {
    let parameters: Vec<Tensor> = (0..mlp.layout().segments().len())
        .map(|index| mlp.layout().view(mlp.parameters(), index).get(0).copy().set_requires_grad(true))
        .collect();
    let running: Vec<Tensor> = (0..mlp.statistics_layout().segments().len())
        .map(|index| mlp.statistics_layout().view(mlp.statistics(), index).get(0).copy())
        .collect();
    let mut x = batch.images.get(0);
    for layer in 0..6 {
        let [scale, shift, weight, bias] = [0, 1, 2, 3].map(|which| &parameters[4 * layer + which]);
        let [mean, variance] = [&running[2 * layer], &running[2 * layer + 1]];
        x = x.batch_norm(Some(scale), Some(shift), Some(mean), Some(variance), true, 0.1, 1e-5, false);
        x = x.linear(weight, Some(bias));
        if layer < 5 {
            x = x.relu();
        }
    }
    let loss = cross_entropy(&x, &batch.labels.get(0));
    loss.backward();
    let gradients = parameters.iter().flat_map(|parameter| numbers(&parameter.grad())).collect();
    (loss.double_value(&[]), gradients, running.iter().flat_map(numbers).collect())
}

fn of_model(layout: &valleyscope_training::ParameterLayout, flat: &Tensor, model: usize) -> Vec<f64> {
    (0..layout.segments().len()).flat_map(|index| numbers(&layout.view(flat, index).get(model as i64))).collect()
}

#[test]
fn loss_gradients_and_running_averages_equal_those_of_libtorchs_layers() {
    for size in [2, 16, 60] {
        for tensors in [false, true] {
            let mut mlp = stack(1, Kind::Double);
            if tensors {
                mlp = mlp.with_tensor_operations();
            }
            let (loss, gradients, running) = by_autograd(&mlp, &batch(1, size, Kind::Double));
            let found = mlp.differentiate(batch(1, size, Kind::Double)).unwrap().double_value(&[0]);
            assert!((found - loss).abs() < 1e-12, "{found} {loss}");
            for (found, expected) in [
                (of_model(mlp.layout(), mlp.gradients(), 0), gradients),
                (of_model(mlp.statistics_layout(), mlp.statistics(), 0), running),
            ] {
                let largest = expected.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
                let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
                assert!(found.len() == expected.len() && off < 1e-11, "batch {size}, tensors {tensors}: {off:e}");
            }
        }
    }
}

#[test]
fn a_stack_trains_like_its_models_alone() {
    for (kind, limit) in [(Kind::Double, 1e-12), (Kind::Float, 1e-4)] {
        for tensors in [false, true] {
            let mut together = stack(3, kind);
            if tensors {
                together = together.with_tensor_operations();
            }
            let all = batch(3, 24, kind);
            let [images, labels] = [&all.images, &all.labels].map(|of| of.copy());
            let losses = numbers(&together.differentiate(all).unwrap());
            for (model, &expected) in losses.iter().enumerate() {
                let mut alone = Mlp::new(1, kind, Device::Cpu).unwrap();
                alone.set_model(0, &together.model(model).unwrap()).unwrap();
                let part = |of: &Tensor| of.narrow(0, model as i64, 1).copy();
                let loss = alone.differentiate(Batch { images: part(&images), labels: part(&labels) }).unwrap();
                assert!((loss.double_value(&[0]) - expected).abs() < limit);
                let [alone, together] = [(&alone, 0), (&together, model)]
                    .map(|(mlp, model)| Tensor::from_slice(&of_model(mlp.layout(), mlp.gradients(), model)));
                let off = largest_difference(&alone, &together);
                assert!(off < limit, "{kind:?}, tensors {tensors}: {off:e}");
            }
        }
    }
}

#[test]
fn evaluation_uses_the_running_averages() {
    let mut mlp = stack(2, Kind::Double);
    for _ in 0..5 {
        let _losses = mlp.differentiate(batch(2, 30, Kind::Double)).unwrap();
    }
    let data = mnist();
    let images = Images::new(&data.test.images, &data.test.labels, Kind::Double, Device::Cpu).unwrap();
    for model in 0..2 {
        let found = mlp.evaluate(model, &images).unwrap();
        let all = images.range(0..200, Kind::Double).unwrap();
        let part = |flat: &Tensor, layout: &valleyscope_training::ParameterLayout, index: usize| {
            layout.view(flat, index).get(model as i64)
        };
        let mut x = all.images.get(0);
        for layer in 0..6 {
            let [scale, shift, weight, bias] =
                [0, 1, 2, 3].map(|which| part(mlp.parameters(), mlp.layout(), 4 * layer + which));
            let [mean, variance] =
                [0, 1].map(|which| part(mlp.statistics(), mlp.statistics_layout(), 2 * layer + which));
            x = x.batch_norm(Some(&scale), Some(&shift), Some(&mean), Some(&variance), false, 0.1, 1e-5, false);
            x = x.linear(&weight, Some(&bias));
            if layer < 5 {
                x = x.relu();
            }
        }
        let labels = all.labels.get(0);
        let loss = cross_entropy(&x, &labels).double_value(&[]);
        let right = x.argmax(1, false).eq_tensor(&labels).to_kind(Kind::Double).mean(Kind::Double).double_value(&[]);
        assert!(
            (found.loss - loss).abs() < 1e-12 && (found.accuracy - right).abs() < 1e-12,
            "{found:?} {loss} {right}"
        );
    }
}

#[test]
fn initial_weights_have_pytorchs_distribution_and_depend_on_the_key_only() {
    let mut mlp = Mlp::new(2, Kind::Double, Device::Cpu).unwrap();
    mlp.initialize(0, Key::new(1)).unwrap();
    mlp.initialize(1, Key::new(2)).unwrap();
    assert_ne!(mlp.model(0).unwrap(), mlp.model(1).unwrap());
    let first = mlp.model(0).unwrap();
    mlp.initialize(1, Key::new(1)).unwrap();
    assert_eq!(mlp.model(1).unwrap(), first);
    let mut rest = &first[..];
    for (index, segment) in mlp.layout().segments().iter().enumerate() {
        let (values, after) = rest.split_at(segment.size());
        rest = after;
        let within = 1.0 / (SIZES[index / 4] as f64).sqrt();
        match index % 4 {
            0 => assert!(values.iter().all(|&value| value == 1.0)),
            1 => assert!(values.iter().all(|&value| value == 0.0)),
            _ => {
                assert!(values.iter().all(|value| value.abs() <= within));
                // Uniform: the mean square is a third of the largest. Six standard errors.
                let count = values.len() as f64;
                let square = values.iter().map(|value| (value / within).powi(2)).sum::<f64>() / count;
                assert!(
                    (square - 1.0 / 3.0).abs() < 6.0 * (4.0_f64 / 45.0 / count).sqrt(),
                    "{}: {square}",
                    segment.name
                );
            }
        }
    }
    assert_eq!(mlp.layout().model_size(), 170_666);
}

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

mod with_data {
    use tch::Device;
    use valleyscope_experiments::dataset::mnist::read_folder;
    use valleyscope_experiments::workload::MnistSpec;
    use valleyscope_runs::MetricId;
    use valleyscope_training::Training;
    use valleyscope_training::mnist::MnistRun;

    use crate::data_folder::data_folder;
    use crate::stage::{rate, spec};

    /// The rates are near the best of a scan of Fig. 2c; 400 steps with batches of 128, as in the paper.
    #[test]
    fn every_optimizer_learns_mnist() {
        let Some(folder) = data_folder(module_path!()) else { return };
        let data = read_folder(&folder).unwrap();
        for (rule, learning_rate) in [("Adam", 3e-3), ("Signum", 5e-4), ("FOCUS", 5e-4), ("SGD", 3e-2)] {
            let spec = MnistSpec { learning_rate: rate(learning_rate), ..spec(rule) };
            assert_eq!((spec.batch_size.get(), spec.steps.get()), (128, 400));
            let mut run = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
            run.start().unwrap();
            for _ in 0..400 {
                let _loss = run.advance(&mut || Ok(())).unwrap();
            }
            let accuracy = run.evaluate(&mut || Ok(())).unwrap().get(MetricId::TEST_ACCURACY).unwrap();
            assert!(accuracy > 0.95, "{rule}: {accuracy}");
        }
    }
}
