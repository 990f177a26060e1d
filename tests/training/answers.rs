//! What models answer an optimizer: gradients at other parameters, and the curvature.

use tch::{Device, Kind, Tensor};
use valleyscope::random::Key;
use valleyscope::train::{Questions, TrainError, drawn_labels, uniforms};
use valleyscope::workload::mnist::train::{Batch, Images, Mlp};

use crate::small::digits;

const BATCH: usize = 20;

fn mlp(models: usize) -> Mlp {
    let mut mlp = Mlp::new(models, Kind::Double, Device::Cpu).unwrap();
    for model in 0..models {
        mlp.initialize(model, Key::new(5).at(model as u64)).unwrap();
    }
    mlp
}

/// A batch for each model.
fn batch(models: usize) -> Result<Batch, TrainError> {
    let digits = digits(300, 9);
    let images = Images::new(&digits.images, &digits.labels, Kind::Double, Device::Cpu)?;
    let chosen: Vec<u32> = (0..models * BATCH).map(|at| (at * 37 % 300) as u32).collect();
    images.batch(&chosen, models, Kind::Double)
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.flatten(0, -1)).unwrap()
}

#[test]
fn the_gradient_at_other_parameters_is_that_of_the_same_batch() {
    let [mut model, mut moved] = [(); 2].map(|()| mlp(2));
    let place = model.parameters() * 0.9;
    moved.parameters().shallow_clone().copy_(&place);
    let _ = moved.differentiate(batch(2).unwrap()).unwrap();
    let _ = model.differentiate(batch(2).unwrap()).unwrap();
    let before = [model.parameters(), model.gradients(), model.statistics()].map(numbers);
    let questions = Questions { gradient_at: Some(place), curvature: false };
    let answers = model.answers(questions, &[Key::new(1), Key::new(2)], || batch(2)).unwrap();
    assert_eq!(numbers(answers.gradient_elsewhere.as_ref().unwrap()), numbers(moved.gradients()));
    assert!(answers.curvature.is_none());
    assert_eq!([model.parameters(), model.gradients(), model.statistics()].map(numbers), before, "all is as it was");
}

/// Of the bias of an output k the gradient is the mean of p − y over the batch, so the mean of B g² over drawn labels is
/// the mean of p (1 − p).
#[test]
fn the_curvature_of_output_biases_is_the_variance_of_their_labels() {
    const DRAWS: u64 = 600;
    let mut model = mlp(1);
    let images = batch(1).unwrap().images;
    let last = model.layout().segments().len() - 1;
    let mut sum = vec![0.0; 10];
    for draw in 0..DRAWS {
        let questions = Questions { gradient_at: None, curvature: true };
        let answers = model.answers(questions, &[Key::new(draw)], || batch(1)).unwrap();
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

/// The logits of a training batch through libtorch's own layers.
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
fn a_label_is_drawn_where_the_shares_before_it_end() {
    let logits = Tensor::from_slice(&[0.2_f64.ln(), 0.3_f64.ln(), 0.5_f64.ln()]).repeat([6, 1]);
    let uniforms = Tensor::from_slice(&[0.0, 0.19, 0.21, 0.49, 0.51, 0.999_999]);
    let drawn: Vec<i64> = drawn_labels(&logits, &uniforms).unwrap().try_into().unwrap();
    assert_eq!(drawn, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn uniform_numbers_are_those_of_their_keys() {
    let keys = [Key::new(1), Key::new(2)];
    let both = uniforms(&keys, 1000, Device::Cpu).unwrap();
    assert_eq!(numbers(&both.get(1)), numbers(&uniforms(&keys[1..], 1000, Device::Cpu).unwrap()));
    let all = numbers(&both);
    assert!(all.iter().all(|value| (0.0..1.0).contains(value)));
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((mean - 0.5).abs() < 4.0 / (12.0 * all.len() as f64).sqrt(), "{mean}");
}
