//! One training of the MNIST classifier.

use tch::{Device, Kind, Tensor};

use super::checkpoint::Named;
use super::error::TrainError;
use super::images::Images;
use super::mlp::{Evaluation, Mlp};
use super::optimizer::FlatOptimizer;
use super::order::Order;
use crate::dataset::mnist::Mnist;
use crate::optimizer::Clock;
use crate::random::Key;
use crate::workload::{FloatType, MnistSpec};

/// Streams of a training.
pub(super) mod purpose {
    pub const WEIGHTS: u64 = 0;
    pub const ORDER: u64 = 1;
}

/// The key of one of a seed's trainings. In a scan each learning rate and replicate is a training of its own,
/// the same for all optimizers and batch sizes; a single run is the first.
pub(super) fn key(seed: u64, purpose: u64, learning_rate: u64, replicate: u64) -> Key {
    Key::new(seed).at(purpose).at(learning_rate).at(replicate)
}

pub(super) fn kind(precision: FloatType) -> Kind {
    match precision {
        FloatType::Float32 => Kind::Float,
        FloatType::Float64 => Kind::Double,
    }
}

/// A batch of one image cannot be normalised.
pub(super) fn check_batch(images: usize, batch_size: usize) -> Result<(), TrainError> {
    if images % batch_size == 1 {
        return Err(TrainError::Refused(format!(
            "`batch_size` {batch_size} leaves a last batch of one of the {images} images, and batch normalisation needs \
             two; choose another batch_size"
        )));
    }
    if batch_size > images {
        return Err(TrainError::Refused(format!("`batch_size` {batch_size} is more than the {images} images")));
    }
    Ok(())
}

/// A training, as far as it has come.
#[derive(Debug)]
pub struct MnistRun {
    pub mlp: Mlp,
    optimizer: FlatOptimizer,
    order: Order,
    train: Images,
    test: Images,
    step: u64,
}

impl MnistRun {
    /// A training before its first step.
    pub fn new(spec: &MnistSpec, data: &Mnist, device: Device) -> Result<MnistRun, TrainError> {
        let (kind, batch_size) = (kind(spec.precision), spec.batch_size.get());
        let images = data.train.labels.len();
        check_batch(images, batch_size)?;
        let mut mlp = Mlp::new(1, kind, device)?;
        mlp.initialize(0, key(spec.seed, purpose::WEIGHTS, 0, 0))?;
        let rule = spec.optimizer.configured(spec.learning_rate);
        let optimizer = FlatOptimizer::new(rule, &[spec.learning_rate.get()], mlp.layout(), kind, device)?;
        let order = Order::new(key(spec.seed, purpose::ORDER, 0, 0), images as u32, batch_size as u32);
        let train = Images::new(&data.train.images, &data.train.labels, kind, device)?;
        let test = Images::new(&data.test.images, &data.test.labels, kind, device)?;
        Ok(MnistRun { mlp, optimizer, order, train, test, step: 0 })
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The optimizer's clock.
    pub fn clock(&self) -> Clock {
        self.optimizer.clock()
    }

    /// One step; returns the loss of its batch, `[1]`, which is on the device.
    pub fn advance(&mut self) -> Result<Tensor, TrainError> {
        let batch = self.train.batch(self.order.batch(self.step), 1, self.mlp.kind())?;
        let loss = self.mlp.differentiate(batch)?;
        self.mlp.update(&mut self.optimizer)?;
        self.step += 1;
        Ok(loss)
    }

    /// The Euclidean norm of the last step's gradient.
    pub fn gradient_norm(&self) -> Result<f64, TrainError> {
        Ok(self.mlp.gradients().f_norm()?.f_double_value(&[])?)
    }

    /// How good the model is on the test images.
    pub fn evaluate(&self) -> Result<Evaluation, TrainError> {
        self.mlp.evaluate(0, &self.test)
    }

    /// All that a checkpoint holds.
    pub fn tensors(&self) -> Named<'_> {
        let mut tensors =
            vec![("parameters".to_owned(), self.mlp.parameters()), ("statistics".to_owned(), self.mlp.statistics())];
        let memory = self.optimizer.memory();
        tensors.extend(memory.into_iter().map(|(name, tensor)| (format!("optimizer.{name}"), tensor)));
        tensors
    }

    /// Goes on from a checkpoint's tensors, after `step` steps.
    ///
    /// # Errors
    ///
    /// Where a tensor is missing or of another shape: the checkpoint is of another training.
    pub fn restore(&mut self, step: u64, clock: Clock, saved: &[(String, Tensor)]) -> Result<(), TrainError> {
        for (name, tensor) in self.tensors() {
            let Some((_, found)) = saved.iter().find(|(other, found)| *other == name && found.size() == tensor.size())
            else {
                let shape = tensor.size();
                return Err(TrainError::Refused(format!(
                    "expected `{name}` of {shape:?} among a checkpoint's tensors"
                )));
            };
            tensor.shallow_clone().f_copy_(found)?;
        }
        self.optimizer.set_clock(clock);
        self.step = step;
        Ok(())
    }
}
