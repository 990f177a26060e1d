//! Shampoo and SOAP as tensor operations: rules with statistics of the axes of each parameter tensor.
//!
//! They step the layout segment by segment. A segment is a batch of matrices, one for each model of a stack; a vector
//! is a matrix of one column. Results of eigendecompositions are computed in double precision.

mod shampoo;
mod soap;

use tch::{Device, Kind, TchError, Tensor};

use super::error::TrainError;
use super::layout::ParameterLayout;
use super::named_tensors::OPTIMIZER;
use super::tensor_rates::TensorRates;
#[cfg(doc)]
use valleyscope_engine::optimizer::Rates;
use valleyscope_engine::optimizer::{BiasCorrection, LEAST_MEAN_OF_MASK, RuleKind, RuleSpec};

/// An axis of the matrices `[models, rows, columns]` of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The rows: its statistic is the product of the gradient with its transpose.
    Left,
    /// The columns: its statistic is the product of the gradient's transpose with the gradient.
    Right,
}

/// Returns the initial states, with names for a checkpoint: the averages of the gradient and of squares, as long as the
/// parameters, and for each axis with a statistic the statistic and its root or eigenvectors.
pub(super) fn states(
    rule: &RuleSpec,
    layout: &ParameterLayout,
    kind: Kind,
    device: Device,
) -> Result<(Vec<String>, Vec<Tensor>), TrainError> {
    let flat = || Tensor::f_zeros([layout.length() as i64], (kind, device));
    let mut names = vec![format!("{OPTIMIZER}m"), format!("{OPTIMIZER}s")];
    let mut states = vec![flat()?, flat()?];
    let derived = if rule.kind() == RuleKind::Soap { "eigenvectors" } else { "root" };
    for segment in layout.segments() {
        for (side, length) in sides(rule, &segment.shape) {
            let side = if side == Side::Left { "left" } else { "right" };
            for name in [side.to_owned(), format!("{side}_{derived}")] {
                names.push(format!("{OPTIMIZER}{name}.{}", segment.name));
                states.push(Tensor::f_zeros([layout.models() as i64, length, length], (kind, device))?);
            }
        }
    }
    Ok((names, states))
}

/// Takes a step of a rule with statistics: changes the parameters and the [`states`]. `bias` is the bias correction of
/// this step.
pub(super) fn step(
    rule: &RuleSpec,
    bias: &BiasCorrection,
    layout: &ParameterLayout,
    parameters: &mut Tensor,
    gradients: &Tensor,
    states: &mut [Tensor],
    rates: &TensorRates,
) -> Result<(), TrainError> {
    let step = Step { rule, bias, layout, gradients };
    match rule.kind() {
        RuleKind::Shampoo => {
            let direction = step.masked(step.shampoo(states)?)?.f_addcmul(&rates.decay, parameters)?;
            let _ = parameters.f_sub_(&rates.learning_rate.times(&direction)?)?;
        }
        RuleKind::Soap => {
            if let Some(direction) = step.soap(states)? {
                let direction = step.masked(direction)?;
                // Weight decay follows the step.
                let moved = parameters.f_sub(&rates.learning_rate.times(&direction)?)?;
                let direction = direction.f_addcmul(&rates.decay, &moved)?;
                let _ = parameters.f_sub_(&rates.learning_rate.times(&direction)?)?;
            }
        }
        other => unreachable!("{} has no statistics of axes", other.key()),
    }
    Ok(())
}

/// The data of a step that all segments share.
struct Step<'a> {
    rule: &'a RuleSpec,
    bias: &'a BiasCorrection,
    layout: &'a ParameterLayout,
    gradients: &'a Tensor,
}

impl Step<'_> {
    /// Applies a cautious rule's mask to the direction of the step ([`Rates::is_cautious`]).
    fn masked(&self, direction: Tensor) -> Result<Tensor, TchError> {
        if !self.rule.is_cautious() {
            return Ok(direction);
        }
        for index in 0..self.layout.segments().len() {
            let mut direction = self.matrices(&direction, index)?;
            let mask =
                direction.f_mul(&self.matrices(self.gradients, index)?)?.f_gt(0.0)?.f_to_kind(direction.kind())?;
            let mean = mask.f_mean_dim(&[1_i64, 2][..], true, direction.kind())?;
            direction.f_copy_(&direction.f_mul(&mask)?.f_div(&mean.f_clamp_min(LEAST_MEAN_OF_MASK)?)?)?;
        }
        Ok(direction)
    }

    /// Returns the matrices of a segment in a flat tensor, `[models, rows, columns]`.
    fn matrices(&self, flat: &Tensor, segment: usize) -> Result<Tensor, TchError> {
        let shape = &self.layout.segments()[segment].shape;
        let view = self.layout.view(flat, segment);
        if shape.len() == 2 { Ok(view) } else { view.f_view([self.layout.models() as i64, -1, 1]) }
    }
}

/// Returns the axes of a parameter tensor that have a statistic, with their lengths.
fn sides(rule: &RuleSpec, shape: &[i64]) -> Vec<(Side, i64)> {
    let [left, right] = rule.statistics(shape);
    let left = left.map(|length| (Side::Left, length));
    left.into_iter().chain(right.map(|length| (Side::Right, length))).collect()
}

/// Updates a running average: `average ← β average + (1 − β) input`.
fn average(average: &mut Tensor, beta: f64, input: &Tensor) -> Result<(), TchError> {
    let _ = average.f_mul_scalar_(beta)?.f_add_(&input.f_mul_scalar(1.0 - beta)?)?;
    Ok(())
}

impl Side {
    /// Computes `kept statistic + added g gᵗ`, or gᵗ g for the columns.
    fn with_gradient(self, statistic: &Tensor, kept: f64, added: f64, gradient: &Tensor) -> Result<Tensor, TchError> {
        let transposed = gradient.f_transpose(1, 2)?;
        match self {
            Side::Left => statistic.f_baddbmm(gradient, &transposed, kept, added),
            Side::Right => statistic.f_baddbmm(&transposed, gradient, kept, added),
        }
    }

    /// Multiplies matrices by others on this side.
    fn multiplied(self, matrices: &Tensor, by: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Side::Left => by.f_bmm(matrices),
            Side::Right => matrices.f_bmm(by),
        }
    }
}

/// Computes the eigenvalues of symmetric matrices, in rising order, and their eigenvectors as columns, in double
/// precision. Returns NaN for a matrix with numbers that are not finite, which libtorch refuses.
fn eigen(matrices: &Tensor) -> Result<(Tensor, Tensor), TchError> {
    let is_finite = matrices.f_isfinite()?.f_all_dims(&[1_i64, 2][..], true)?;
    let finite = matrices.f_to_kind(Kind::Double)?.f_where_scalarother(&is_finite, 0.0)?;
    let (values, vectors) = finite.f_linalg_eigh("L")?;
    Ok((
        values.f_where_scalarother(&is_finite.f_squeeze_dim(2)?, f64::NAN)?,
        vectors.f_where_scalarother(&is_finite, f64::NAN)?,
    ))
}
