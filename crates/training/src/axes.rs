//! Shampoo and SOAP as tensor operations: rules with statistics of the axes of each parameter tensor.
//!
//! They step the layout segment by segment. A segment is a batch of matrices, one for each model of a stack; a vector
//! is a matrix of one column. Results of eigendecompositions are computed in double precision.

use tch::{Device, Kind, TchError, Tensor};
#[cfg(doc)]
use valleyscope_engine::optimizer::Rates;
use valleyscope_engine::optimizer::{
    BiasCorrection, LEAST_MEAN_OF_MASK, RuleKind, RuleSpec, Shampoo, Soap, StepSettings,
};

use super::checkpoint::OPTIMIZER;
use super::error::TrainError;
use super::layout::ParameterLayout;
use super::tensor_value::TensorRates;

/// An axis of the matrices `[models, rows, columns]` of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The rows: its statistic is the product of the gradient with its transpose.
    Left,
    /// The columns: its statistic is the product of the gradient's transpose with the gradient.
    Right,
}

/// Creates the initial states, with names for a checkpoint: the averages of the gradient and of squares, as long as the
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
            let _ = parameters.f_sub_(&rates.scaled(&direction)?)?;
        }
        RuleKind::Soap => {
            if let Some(direction) = step.soap(states)? {
                let direction = step.masked(direction)?;
                // Weight decay follows the step.
                let moved = parameters.f_sub(&rates.scaled(&direction)?)?;
                let direction = direction.f_addcmul(&rates.decay, &moved)?;
                let _ = parameters.f_sub_(&rates.scaled(&direction)?)?;
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

    /// Views a segment of a flat tensor as matrices, `[models, rows, columns]`.
    fn matrices(&self, flat: &Tensor, segment: usize) -> Result<Tensor, TchError> {
        let shape = &self.layout.segments()[segment].shape;
        let view = self.layout.view(flat, segment);
        if shape.len() == 2 { Ok(view) } else { view.f_view([self.layout.models() as i64, -1, 1]) }
    }
}

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
    /// Computes `decay statistic + added g gᵗ`, or gᵗ g for the columns.
    fn with_gradient(self, statistic: &Tensor, decay: f64, added: f64, gradient: &Tensor) -> Result<Tensor, TchError> {
        let transposed = gradient.f_transpose(1, 2)?;
        match self {
            Side::Left => statistic.f_baddbmm(gradient, &transposed, decay, added),
            Side::Right => statistic.f_baddbmm(&transposed, gradient, decay, added),
        }
    }

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

/// Keeps a grafted step finite if the momentum is 0.
const NO_LENGTH: f64 = 1e-16;

impl Step<'_> {
    /// Computes the direction of Shampoo's step, a flat tensor.
    fn shampoo(&self, states: &mut [Tensor]) -> Result<Tensor, TchError> {
        let StepSettings { hyper, t, power, .. } = self.bias.settings::<Shampoo>(self.rule);
        let is_chosen = |of: &str, key: &str| self.rule.choice(of).is_some_and(|choice| choice.key == key);
        let [m, s, statistics @ ..] = states else { unreachable!("averages come before statistics") };
        average(m, hyper.beta1, self.gradients)?;
        average(s, hyper.graft_beta2, &self.gradients.f_square()?)?;
        let (is_refreshed, is_early) = (t % hyper.interval == 0.0, t < hyper.interval);
        let [decay, added, weight] = match is_chosen("statistics", "Sum") {
            true => [1.0, 1.0, 1.0],
            false => [hyper.beta2, 1.0 - hyper.beta2, 1.0 - power.beta2],
        };
        let momentum = m.f_div_scalar(1.0 - power.beta1)?;
        let divisor = s.f_div_scalar(1.0 - power.graft_beta2)?.f_sqrt()?.f_add_scalar_(hyper.graft_eps)?;
        let flat = self.gradients.f_zeros_like()?;
        let mut statistics = statistics.iter_mut();
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let gradient = self.matrices(self.gradients, index)?;
            let momentum = self.matrices(&momentum, index)?;
            // −1/(2 × order) of a tensor, even if only some of its axes have a statistic.
            let exponent = if segment.shape.len() == 2 { -0.25 } else { -0.5 };
            let mut direction = momentum.shallow_clone();
            for (side, length) in sides(self.rule, &segment.shape) {
                let mut next = || statistics.next().expect("a statistic and its root for each axis");
                let (statistic, root) = (next(), next());
                *statistic = side.with_gradient(statistic, decay, added, &gradient)?;
                if is_refreshed {
                    root.f_copy_(&inverse_root(&statistic.f_div_scalar(weight)?, hyper.eps, exponent)?)?;
                } else if is_early {
                    root.f_copy_(&Tensor::f_eye(length, (root.kind(), root.device()))?)?;
                }
                direction = side.multiplied(&direction, root)?;
            }
            if is_chosen("grafting", "Adam") {
                let adam = momentum.f_div(&self.matrices(&divisor, index)?)?;
                direction = if is_early { adam } else { with_norm_of(&direction, &adam)? };
            }
            self.matrices(&flat, index)?.f_copy_(&direction)?;
        }
        Ok(flat)
    }
}

/// Raises positive semidefinite matrices plus ε I to a negative power.
fn inverse_root(matrices: &Tensor, epsilon: f64, exponent: f64) -> Result<Tensor, TchError> {
    let (values, vectors) = eigen(matrices)?;
    // Rounding makes the smallest eigenvalues negative.
    let powers = values.f_clamp_min(0.0)?.f_add_scalar_(epsilon)?.f_pow_tensor_scalar(exponent)?;
    vectors.f_mul(&powers.f_unsqueeze(1)?)?.f_bmm(&vectors.f_transpose(1, 2)?)
}

/// Scales `direction` to the norms of `other`, matrix by matrix.
fn with_norm_of(direction: &Tensor, other: &Tensor) -> Result<Tensor, TchError> {
    let norm = |matrices: &Tensor| matrices.f_norm_scalaropt_dim(2.0, [1_i64, 2], true);
    direction.f_mul(&norm(other)?.f_div(&norm(direction)?.f_add_scalar_(NO_LENGTH)?)?)
}

/// An axis with its statistic and the statistic's eigenvectors, as columns.
struct Axis<'a> {
    side: Side,
    statistic: &'a mut Tensor,
    vectors: &'a mut Tensor,
}

impl Step<'_> {
    /// Computes the direction of SOAP's step, a flat tensor; none in the first step.
    fn soap(&self, states: &mut [Tensor]) -> Result<Option<Tensor>, TchError> {
        let StepSettings { hyper, t, power, .. } = self.bias.settings::<Soap>(self.rule);
        let (steps, is_first) = (t - 1.0, t == 1.0);
        let statistic_beta = if hyper.shampoo_beta < 0.0 { hyper.beta2 } else { hyper.shampoo_beta };
        let [m, s, statistics @ ..] = states else { unreachable!("averages come before statistics") };
        if !is_first {
            average(m, hyper.beta1, self.gradients)?;
        }
        let flat = self.gradients.f_zeros_like()?;
        let mut statistics = statistics.iter_mut();
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let gradient = self.matrices(self.gradients, index)?;
            let mut next = || statistics.next().expect("a statistic and its eigenvectors for each axis");
            let mut axes: Vec<Axis<'_>> = sides(self.rule, &segment.shape)
                .into_iter()
                .map(|(side, _)| Axis { side, statistic: next(), vectors: next() })
                .collect();
            if !is_first {
                let mut squares = self.matrices(s, index)?;
                average(&mut squares, hyper.beta2, &turned(&axes, &gradient)?.f_square()?)?;
                let momentum = turned(&axes, &self.matrices(m, index)?)?;
                let step = momentum.f_div(&squares.f_sqrt()?.f_add_scalar_(hyper.eps)?)?;
                self.matrices(&flat, index)?.f_copy_(&turned_back(&axes, &step)?)?;
            }
            for Axis { side, statistic, vectors } in &mut axes {
                **statistic = side.with_gradient(statistic, statistic_beta, 1.0 - statistic_beta, &gradient)?;
                if is_first {
                    // Eigenvectors are sorted by rising eigenvalues.
                    vectors.f_copy_(&eigen(statistic)?.1.f_flip([2_i64])?)?;
                } else if steps % hyper.interval == 0.0 {
                    refresh(*side, statistic, vectors, &mut self.matrices(s, index)?)?;
                }
            }
        }
        if is_first {
            return Ok(None);
        }
        flat.f_mul_scalar((1.0 - power.beta2).sqrt() / (1.0 - power.beta1)).map(Some)
    }
}

/// Rotates matrices into the eigenvectors of their axes.
fn turned(axes: &[Axis<'_>], matrices: &Tensor) -> Result<Tensor, TchError> {
    axes.iter().try_fold(matrices.shallow_clone(), |matrices, axis| match axis.side {
        Side::Left => axis.side.multiplied(&matrices, &axis.vectors.f_transpose(1, 2)?),
        Side::Right => axis.side.multiplied(&matrices, axis.vectors),
    })
}

/// Rotates matrices back: the inverse of [`turned`].
fn turned_back(axes: &[Axis<'_>], matrices: &Tensor) -> Result<Tensor, TchError> {
    axes.iter().try_fold(matrices.shallow_clone(), |matrices, axis| match axis.side {
        Side::Left => axis.side.multiplied(&matrices, axis.vectors),
        Side::Right => axis.side.multiplied(&matrices, &axis.vectors.f_transpose(1, 2)?),
    })
}

/// Takes a step of orthogonal iteration: sorts the eigenvectors by falling diagonal of the statistic in their basis,
/// and the squares in the same order; then takes the orthogonal factor of the statistic times the eigenvectors.
fn refresh(side: Side, statistic: &Tensor, vectors: &mut Tensor, squares: &mut Tensor) -> Result<(), TchError> {
    let [statistic, old] = [statistic, &*vectors].map(|tensor| tensor.f_to_kind(Kind::Double));
    let (statistic, old) = (statistic?, old?);
    let products = statistic.f_bmm(&old)?;
    let parts = old.f_mul(&products)?.f_sum_dim_intlist(1, false, Kind::Double)?;
    let order = parts.f_argsort_stable(true, 1, true)?;
    // The product of each column is a column of the product.
    let (new, _) =
        Tensor::f_linalg_qr(&products.f_gather(2, &order.f_unsqueeze(1)?.f_expand_as(&products)?, false)?, "reduced")?;
    vectors.f_copy_(&new)?;
    let (along, order) = match side {
        Side::Left => (1, order.f_unsqueeze(2)?),
        Side::Right => (2, order.f_unsqueeze(1)?),
    };
    squares.f_copy_(&squares.f_gather(along, &order.f_expand_as(&*squares)?, false)?)
}
