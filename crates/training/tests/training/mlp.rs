//! The model: gradients, the two forms of its operations, stacks against single models, evaluation.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::Key;
use valleyscope_experiments::workload::mnist::SIZES;
use valleyscope_training::mnist::{Batch, Images, Mlp};

use crate::small_mnist::{digits, mnist, uniform};

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

fn values(tensor: &Tensor) -> Vec<f64> {
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
    let gradients = parameters.iter().flat_map(|parameter| values(&parameter.grad())).collect();
    (loss.double_value(&[]), gradients, running.iter().flat_map(values).collect())
}

fn of_model(layout: &valleyscope_training::ParameterLayout, flat: &Tensor, model: usize) -> Vec<f64> {
    (0..layout.segments().len()).flat_map(|index| values(&layout.view(flat, index).get(model as i64))).collect()
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
            let losses = values(&together.differentiate(all).unwrap());
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
