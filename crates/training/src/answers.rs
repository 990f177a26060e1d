//! What an optimizer may ask of the batch of a step besides its gradients.
//!
//! A step is recorded first, and the model answers what the recorded step uses: the gradient at other parameters for
//! the same samples, or an estimate of the Hessian's diagonal. Each is computed only in steps that use it.

use std::ops::Range;

use rand::Rng;
use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::{Key, Stream};

use super::error::TrainError;
use super::optimizer::narrow;

/// What a step needs to know of its batch besides the gradients.
#[derive(Debug, Default)]
pub struct Questions {
    /// Parameters at which it needs the batch's gradients, too. They are a state of the optimizer and must not be changed.
    pub gradient_at: Option<Tensor>,
    /// Whether it needs an estimate of the diagonal of the loss's Hessian.
    pub curvature: bool,
}

/// The answers to [`Questions`], flat tensors like the parameters.
#[derive(Debug, Default)]
pub struct Answers {
    pub gradient_elsewhere: Option<Tensor>,
    pub curvature: Option<Tensor>,
}

/// The labels of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    OfData,
    /// Drawn from what the model predicts.
    OfModel,
}

/// A model whose gradients are flat tensors like its parameters.
pub trait Differentiable {
    fn parameters_mut(&mut self) -> &mut Tensor;

    fn gradients_mut(&mut self) -> &mut Tensor;
}

/// Does something with a model whose parameters are those of `place` meanwhile, if there is one.
///
/// # Errors
///
/// Where `work` fails, or memory is short. The model has its parameters back then, too.
pub fn at_place<M: Differentiable, T>(
    model: &mut M,
    place: Option<Tensor>,
    work: impl FnOnce(&mut M) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let Some(place) = place else { return work(model) };
    let parameters = model.parameters_mut().f_detach_copy()?;
    model.parameters_mut().f_copy_(&place)?;
    // It may be as large as the model.
    drop(place);
    let outcome = work(model);
    model.parameters_mut().f_copy_(&parameters)?;
    outcome
}

impl Questions {
    /// Whether it needs to know anything.
    pub fn are_asked(&self) -> bool {
        self.gradient_at.is_some() || self.curvature
    }
}

impl Answers {
    /// Answers the questions of a step. `differentiate` computes the model's gradients for the step's batch again, at the
    /// parameters as they are then. The model has its parameters and gradients back afterwards.
    ///
    /// The curvature is the Gauss-Newton-Bartlett estimate `B g²` with the gradient g of the mean loss over B samples
    /// whose labels are the model's (Sophia, [arXiv:2305.14342](https://arxiv.org/abs/2305.14342), Algorithm 2).
    ///
    /// # Errors
    ///
    /// Where `differentiate` fails, or memory is short.
    pub fn find<M: Differentiable>(
        questions: Questions,
        model: &mut M,
        samples: f64,
        mut differentiate: impl FnMut(&mut M, Labels) -> Result<(), TrainError>,
    ) -> Result<Answers, TrainError> {
        let mut answers = Answers::default();
        if !questions.are_asked() {
            return Ok(answers);
        }
        let Questions { gradient_at, curvature } = questions;
        let gradients = model.gradients_mut().f_detach_copy()?;
        if gradient_at.is_some() {
            at_place(model, gradient_at, |model| differentiate(model, Labels::OfData))?;
            answers.gradient_elsewhere = Some(model.gradients_mut().f_detach_copy()?);
        }
        if curvature {
            differentiate(model, Labels::OfModel)?;
            answers.curvature = Some(model.gradients_mut().f_square()?.f_mul_scalar_(samples)?);
        }
        model.gradients_mut().f_copy_(&gradients)?;
        Ok(answers)
    }

    /// The answers for some elements, which share the tensors with these.
    pub(super) fn narrow(&self, elements: &Range<usize>) -> Result<Answers, TrainError> {
        let part = |answer: &Option<Tensor>| answer.as_ref().map(|answer| narrow(answer, elements)).transpose();
        Ok(Answers { gradient_elsewhere: part(&self.gradient_elsewhere)?, curvature: part(&self.curvature)? })
    }

    /// Whether all numbers are finite. Waits for the device.
    pub fn are_finite(&self) -> Result<bool, TrainError> {
        for answer in self.gradient_elsewhere.iter().chain(&self.curvature) {
            if answer.f_isfinite()?.f_all()?.f_int64_value(&[])? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Labels drawn from what a model predicts: of each row of `logits`, the first whose share and those of the labels before
/// it come to more than the row's number in `uniforms`, from [0, 1).
pub fn drawn_labels(logits: &Tensor, uniforms: &Tensor) -> Result<Tensor, TrainError> {
    let shares = logits.f_softmax(-1, Kind::Double)?.f_cumsum(-1, Kind::Double)?;
    let before = shares.f_le_tensor(&uniforms.f_unsqueeze(-1)?)?;
    let last = logits.size().last().map_or(0, |labels| labels - 1);
    // Shares may come to less than 1 by rounding.
    Ok(before.f_sum_dim_intlist(-1, false, Kind::Int64)?.f_clamp_max(last)?)
}

/// So many numbers from [0, 1) of each key's stream, `[keys, count]`.
pub fn uniforms(keys: &[Key], count: usize, device: Device) -> Result<Tensor, TrainError> {
    let mut values = Vec::with_capacity(keys.len() * count);
    for key in keys {
        let mut stream = Stream::new(*key);
        // 53 bits of each.
        values.extend((0..count).map(|_| (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64));
    }
    Ok(Tensor::f_from_slice(&values)?.f_view([keys.len() as i64, count as i64])?.f_to_device(device)?)
}
