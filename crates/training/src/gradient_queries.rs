//! Queries of a step to its batch besides the gradients.
//!
//! A step is recorded first; then the model computes what the recorded step uses: the gradient at other parameters for
//! the same samples, or an estimate of the Hessian's diagonal. Each is computed only in steps that use it.

use std::ops::Range;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::{Key, Stream};

use super::error::TrainError;
use super::layout::{is_finite, narrow};

/// The queries of a step to its batch besides the gradients.
#[derive(Debug, Default)]
pub struct GradientQueries {
    /// Parameters at which the step also needs the batch's gradients. They are a state of the optimizer and must not
    /// change.
    pub gradient_at: Option<Tensor>,
    /// Whether the step needs an estimate of the diagonal of the loss's Hessian.
    pub curvature: bool,
}

/// The results of the queries of a step, flat tensors like the parameters.
#[derive(Debug, Default)]
pub struct QueryResults {
    pub gradient_elsewhere: Option<Tensor>,
    pub curvature: Option<Tensor>,
}

/// The source of a batch's labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    OfData,
    /// Labels drawn from the model's predictions.
    OfModel,
}

/// A model whose gradients are flat tensors like its parameters.
pub trait Differentiable {
    fn parameters_mut(&mut self) -> &mut Tensor;

    fn gradients_mut(&mut self) -> &mut Tensor;
}

/// Runs `work` on a model whose parameters are set to those of `point` meanwhile, if there are any.
///
/// # Errors
///
/// Fails if `work` fails or memory is short. The model's own parameters are restored in any case.
pub(crate) fn with_parameters<M: Differentiable, T>(
    model: &mut M,
    point: Option<Tensor>,
    work: impl FnOnce(&mut M) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let Some(point) = point else { return work(model) };
    let parameters = model.parameters_mut().f_detach_copy()?;
    model.parameters_mut().f_copy_(&point)?;
    // It may be as large as the model.
    drop(point);
    let outcome = work(model);
    model.parameters_mut().f_copy_(&parameters)?;
    outcome
}

impl GradientQueries {
    pub fn any(&self) -> bool {
        self.gradient_at.is_some() || self.curvature
    }
}

impl QueryResults {
    /// Computes the results of a step's queries. `differentiate` computes the model's gradients for the step's batch
    /// again, at the parameters that the model has then. Afterwards the model has its parameters and gradients back.
    ///
    /// The curvature is the Gauss-Newton-Bartlett estimate `B g²` with the gradient g of the mean loss over B samples
    /// whose labels are the model's (Sophia, [arXiv:2305.14342](https://arxiv.org/abs/2305.14342), Algorithm 2).
    ///
    /// # Errors
    ///
    /// Fails if `differentiate` fails or memory is short.
    pub fn compute<M: Differentiable>(
        queries: GradientQueries,
        model: &mut M,
        samples: f64,
        mut differentiate: impl FnMut(&mut M, Labels) -> Result<(), TrainError>,
    ) -> Result<QueryResults, TrainError> {
        let mut query_results = QueryResults::default();
        if !queries.any() {
            return Ok(query_results);
        }
        let GradientQueries { gradient_at, curvature } = queries;
        let gradients = model.gradients_mut().f_detach_copy()?;
        if gradient_at.is_some() {
            with_parameters(model, gradient_at, |model| differentiate(model, Labels::OfData))?;
            query_results.gradient_elsewhere = Some(model.gradients_mut().f_detach_copy()?);
        }
        if curvature {
            differentiate(model, Labels::OfModel)?;
            query_results.curvature = Some(model.gradients_mut().f_square()?.f_mul_scalar_(samples)?);
        }
        model.gradients_mut().f_copy_(&gradients)?;
        Ok(query_results)
    }

    /// The results for some elements, which share the tensors with these.
    pub(super) fn narrow(&self, elements: &Range<usize>) -> Result<QueryResults, TrainError> {
        let part = |answer: &Option<Tensor>| answer.as_ref().map(|answer| narrow(answer, elements)).transpose();
        Ok(QueryResults { gradient_elsewhere: part(&self.gradient_elsewhere)?, curvature: part(&self.curvature)? })
    }

    /// Whether all numbers are finite. Blocks on the device.
    pub fn are_finite(&self) -> Result<bool, TrainError> {
        for answer in self.gradient_elsewhere.iter().chain(&self.curvature) {
            if !is_finite(answer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Draws labels from a model's predictions: for each row of `logits`, the first label whose cumulative probability
/// exceeds the row's number in `uniforms`, from [0, 1).
pub fn drawn_labels(logits: &Tensor, uniforms: &Tensor) -> Result<Tensor, TrainError> {
    let shares = logits.f_softmax(-1, Kind::Double)?.f_cumsum(-1, Kind::Double)?;
    let before = shares.f_le_tensor(&uniforms.f_unsqueeze(-1)?)?;
    let last = logits.size().last().map_or(0, |labels| labels - 1);
    // Probabilities may add up to less than 1 by rounding.
    Ok(before.f_sum_dim_intlist(-1, false, Kind::Int64)?.f_clamp_max(last)?)
}

/// Draws `count` numbers from [0, 1) of each key's stream, `[keys, count]`.
pub fn uniforms(keys: &[Key], count: usize, device: Device) -> Result<Tensor, TrainError> {
    let mut values = Vec::with_capacity(keys.len() * count);
    for key in keys {
        let mut stream = Stream::new(*key);
        values.extend((0..count).map(|_| stream.uniform()));
    }
    Ok(Tensor::f_from_slice(&values)?.f_view([keys.len() as i64, count as i64])?.f_to_device(device)?)
}
