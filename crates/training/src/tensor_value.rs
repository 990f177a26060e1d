//! Numbers for all parameters, a common number or a flat tensor, with the operations of a step, and the rates of a
//! step.
//!
//! An operation overwrites an operand that has no other use.

use tch::{Device, Kind, TchError, Tensor};
use valleyscope_engine::lanes::Arithmetic;
use valleyscope_engine::optimizer::{
    Algebra, Function, NEWTON_SCHULZ, NEWTON_SCHULZ_EPSILON, NEWTON_SCHULZ_STEPS, Relation, RuleSpec,
};

use super::error::TrainError;
use super::layout::ParameterLayout;

/// Numbers for all parameters.
#[derive(Debug)]
pub(super) enum TensorValue {
    Number(f64),
    Tensor {
        tensor: Tensor,
        /// Whether it may be overwritten, as it has no other use.
        is_free: bool,
    },
}

/// Defines a commutative operation, by its form for numbers and those of tensors with a number and with a tensor, each
/// without and with overwriting the first operand.
macro_rules! in_either_order {
    ($name:ident, $of_numbers:expr, $scalar:ident, $scalar_:ident, $tensor:ident, $tensor_:ident) => {
        pub(super) fn $name(self, other: TensorValue) -> Result<TensorValue, TchError> {
            let of_numbers: fn(f64, f64) -> f64 = $of_numbers;
            let result = match (self, other) {
                (TensorValue::Number(a), TensorValue::Number(b)) => return Ok(TensorValue::Number(of_numbers(a, b))),
                (TensorValue::Tensor { mut tensor, is_free }, TensorValue::Number(number))
                | (TensorValue::Number(number), TensorValue::Tensor { mut tensor, is_free }) => match is_free {
                    true => tensor.$scalar_(number),
                    false => tensor.$scalar(number),
                },
                (TensorValue::Tensor { tensor: mut a, is_free: true }, TensorValue::Tensor { tensor: b, .. })
                | (TensorValue::Tensor { tensor: b, .. }, TensorValue::Tensor { tensor: mut a, is_free: true }) => {
                    a.$tensor_(&b)
                }
                (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => a.$tensor(&b),
            };
            result.map(TensorValue::free)
        }
    };
}

impl TensorValue {
    pub(super) fn free(tensor: Tensor) -> TensorValue {
        TensorValue::Tensor { tensor, is_free: true }
    }

    pub(super) fn lent(tensor: &Tensor) -> TensorValue {
        TensorValue::Tensor { tensor: tensor.shallow_clone(), is_free: false }
    }

    /// Makes a second handle of the number, which may not be overwritten.
    pub(super) fn share(&self) -> TensorValue {
        match self {
            TensorValue::Number(number) => TensorValue::Number(*number),
            TensorValue::Tensor { tensor, .. } => TensorValue::lent(tensor),
        }
    }

    /// Converts the number to a tensor that no other handle overwrites, like `like` in shape.
    pub(super) fn into_tensor(self, like: &Tensor) -> Result<Tensor, TchError> {
        match self {
            TensorValue::Number(number) => like.f_full_like(number),
            TensorValue::Tensor { tensor, is_free: true } => Ok(tensor),
            TensorValue::Tensor { tensor, is_free: false } => tensor.f_detach_copy(),
        }
    }

    pub(super) fn map(
        self,
        of_number: impl Fn(f64) -> f64,
        of_tensor: impl Fn(&Tensor) -> Result<Tensor, TchError>,
    ) -> Result<TensorValue, TchError> {
        match self {
            TensorValue::Number(number) => Ok(TensorValue::Number(of_number(number))),
            TensorValue::Tensor { tensor, .. } => of_tensor(&tensor).map(TensorValue::free),
        }
    }

    in_either_order!(plus, |a, b| a + b, f_add_scalar, f_add_scalar_, f_add, f_add_);
    in_either_order!(times, |a, b| a * b, f_mul_scalar, f_mul_scalar_, f_mul, f_mul_);

    pub(super) fn minus(self, other: TensorValue) -> Result<TensorValue, TchError> {
        match (self, other) {
            (TensorValue::Tensor { tensor: mut a, is_free: true }, TensorValue::Tensor { tensor: b, .. }) => {
                a.f_sub_(&b).map(TensorValue::free)
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => {
                a.f_sub(&b).map(TensorValue::free)
            }
            (a, b) => a.plus(b.times(TensorValue::Number(-1.0))?),
        }
    }

    pub(super) fn over(self, other: TensorValue) -> Result<TensorValue, TchError> {
        match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => Ok(TensorValue::Number(a / b)),
            (TensorValue::Tensor { tensor, .. }, TensorValue::Number(number)) => {
                tensor.f_div_scalar(number).map(TensorValue::free)
            }
            (TensorValue::Number(number), TensorValue::Tensor { tensor, .. }) => {
                TensorValue::free(tensor.f_reciprocal()?).times(TensorValue::Number(number))
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => {
                a.f_div(&b).map(TensorValue::free)
            }
        }
    }

    /// The larger of both; `other` if either is NaN, unlike libtorch's own function.
    pub(super) fn larger(self, other: TensorValue) -> Result<TensorValue, TchError> {
        let larger = match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => {
                return Ok(TensorValue::Number(Arithmetic::larger(a, b)));
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Number(b)) => a.f_where_scalarother(&a.f_gt(b)?, b),
            (TensorValue::Number(a), TensorValue::Tensor { tensor: b, .. }) => {
                b.f_where_scalarother(&b.f_lt(a)?.f_logical_not()?, a)
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => {
                a.f_where_self(&a.f_gt_tensor(&b)?, &b)
            }
        };
        larger.map(TensorValue::free)
    }

    /// Combines both by a symmetric operation, in its forms for numbers, for a tensor with a number, and for tensors.
    fn symmetric(
        self,
        other: TensorValue,
        of_numbers: fn(f64, f64) -> f64,
        with_number: fn(&Tensor, f64) -> Result<Tensor, TchError>,
        of_tensors: fn(&Tensor, &Tensor) -> Result<Tensor, TchError>,
    ) -> Result<TensorValue, TchError> {
        let result = match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => return Ok(TensorValue::Number(of_numbers(a, b))),
            (TensorValue::Tensor { tensor, .. }, TensorValue::Number(number))
            | (TensorValue::Number(number), TensorValue::Tensor { tensor, .. }) => with_number(&tensor, number),
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => of_tensors(&a, &b),
        };
        result.map(TensorValue::free)
    }

    /// The larger of both; NaN if either is, like libtorch's function.
    pub(super) fn maximum(self, other: TensorValue) -> Result<TensorValue, TchError> {
        self.symmetric(other, Algebra::maximum, |tensor, number| tensor.f_clamp_min(number), Tensor::f_maximum)
    }

    /// The smaller of both; NaN if either is, like libtorch's function.
    pub(super) fn minimum(self, other: TensorValue) -> Result<TensorValue, TchError> {
        self.symmetric(other, Algebra::minimum, |tensor, number| tensor.f_clamp_max(number), Tensor::f_minimum)
    }

    pub(super) fn compared(self, relation: Relation, other: TensorValue) -> Result<TensorValue, TchError> {
        let (a, b) = match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => {
                return Ok(TensorValue::Number(a.compared(relation, b)));
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Number(b)) => {
                let b = a.f_full_like(b)?;
                (a, b)
            }
            (a @ TensorValue::Number(_), TensorValue::Tensor { tensor: b, .. }) => (a.into_tensor(&b)?, b),
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => (a, b),
        };
        let holds = match relation {
            Relation::Less => a.f_lt_tensor(&b),
            Relation::AtMost => a.f_le_tensor(&b),
            Relation::Equal => a.f_eq_tensor(&b),
        }?;
        holds.f_to_kind(a.kind()).map(TensorValue::free)
    }

    pub(super) fn choose(self, then: TensorValue, otherwise: TensorValue) -> Result<TensorValue, TchError> {
        let tensor = match self {
            TensorValue::Number(number) => {
                let (chosen, other) = if number != 0.0 { (then, otherwise) } else { (otherwise, then) };
                // Spread over the elements if the other one is, as the next operation may need tensors.
                return match (&chosen, other) {
                    (TensorValue::Number(value), TensorValue::Tensor { tensor, .. }) => {
                        tensor.f_full_like(*value).map(TensorValue::free)
                    }
                    _ => Ok(chosen),
                };
            }
            TensorValue::Tensor { tensor, .. } => tensor,
        };
        let condition = tensor.f_ne(0.0)?;
        let chosen = match (then, otherwise) {
            (TensorValue::Tensor { tensor: then, .. }, TensorValue::Tensor { tensor: otherwise, .. }) => {
                then.f_where_self(&condition, &otherwise)
            }
            (TensorValue::Tensor { tensor: then, .. }, TensorValue::Number(otherwise)) => {
                then.f_where_scalarother(&condition, otherwise)
            }
            (TensorValue::Number(then), TensorValue::Tensor { tensor: otherwise, .. }) => {
                otherwise.f_where_scalarother(&condition.f_logical_not()?, then)
            }
            (TensorValue::Number(then), TensorValue::Number(otherwise)) => {
                tensor.f_full_like(then)?.f_where_scalarother(&condition, otherwise)
            }
        };
        chosen.map(TensorValue::free)
    }

    pub(super) fn function(self, function: Function) -> Result<TensorValue, TchError> {
        let of_tensor = match function {
            Function::Exp => Tensor::f_exp,
            Function::Ln => Tensor::f_log,
            Function::Tanh => Tensor::f_tanh,
            Function::Sin => Tensor::f_sin,
            Function::Cos => Tensor::f_cos,
        };
        self.map(function.of_number(), of_tensor)
    }

    pub(super) fn power(self, exponent: TensorValue) -> Result<TensorValue, TchError> {
        let power = match (self, exponent) {
            (TensorValue::Number(a), TensorValue::Number(b)) => return Ok(TensorValue::Number(a.power(b))),
            (TensorValue::Tensor { tensor, .. }, TensorValue::Number(exponent)) => tensor.f_pow_tensor_scalar(exponent),
            (TensorValue::Number(base), TensorValue::Tensor { tensor, .. }) => Tensor::f_pow_scalar(base, &tensor),
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => a.f_pow(&b),
        };
        power.map(TensorValue::free)
    }

    /// Applies `work` to the views that `parts` returns of each segment of a flat tensor. A result of fewer elements is
    /// repeated in all of its view; elements outside of the views become 0.
    pub(super) fn of_parts<P: IntoIterator<Item = Tensor>>(
        self,
        layout: &ParameterLayout,
        parts: impl Fn(&ParameterLayout, &Tensor, usize) -> P,
        work: impl Fn(&Tensor) -> Result<Tensor, TchError>,
    ) -> Result<TensorValue, TchError> {
        let TensorValue::Tensor { tensor: flat, .. } = self else {
            unreachable!("a step reduces what differs between elements")
        };
        let results = flat.f_zeros_like()?;
        for segment in 0..layout.segments().len() {
            for (part, mut result) in parts(layout, &flat, segment).into_iter().zip(parts(layout, &results, segment)) {
                result.f_copy_(&work(&part)?.f_expand_as(&part)?)?;
            }
        }
        Ok(TensorValue::free(results))
    }

    /// Combines this number for matrices with another for other parameters.
    pub(super) fn of_matrices(self, other: TensorValue, layout: &ParameterLayout) -> Result<TensorValue, TchError> {
        let (TensorValue::Tensor { tensor: of_matrices, .. }, TensorValue::Tensor { tensor: like, .. }) =
            (&self, &other)
        else {
            unreachable!("what differs by shape differs between elements")
        };
        let (of_matrices, like) = (of_matrices.shallow_clone(), like.shallow_clone());
        let result = other.into_tensor(&like)?;
        for segment in 0..layout.segments().len() {
            if let (Some(matrices), Some(mut result)) =
                (layout.matrices(&of_matrices, segment), layout.matrices(&result, segment))
            {
                result.f_copy_(&matrices)?;
            }
        }
        Ok(TensorValue::free(result))
    }

    pub(super) fn plus_product(self, a: TensorValue, b: TensorValue) -> Result<TensorValue, TchError> {
        match (self, a, b) {
            (
                TensorValue::Tensor { tensor: mut sum, is_free },
                TensorValue::Tensor { tensor: a, .. },
                TensorValue::Tensor { tensor: b, .. },
            ) => match is_free {
                true => sum.f_addcmul_(&a, &b).map(TensorValue::free),
                false => sum.f_addcmul(&a, &b).map(TensorValue::free),
            },
            (sum, a, b) => sum.plus(a.times(b)?),
        }
    }

    /// Computes `self × average + factor × input` for a number `self`, in one operation if the weights are those of a
    /// running average.
    pub(super) fn times_plus_product(
        self,
        average: TensorValue,
        factor: TensorValue,
        input: TensorValue,
    ) -> Result<TensorValue, TchError> {
        match (self, average, factor, input) {
            (
                TensorValue::Number(scale),
                TensorValue::Tensor { tensor: mut average, is_free },
                TensorValue::Number(factor),
                TensorValue::Tensor { tensor: input, .. },
            ) if (scale + factor - 1.0).abs() < 1e-12 => match is_free {
                true => average.f_lerp_(&input, factor).map(TensorValue::free),
                false => average.f_lerp(&input, factor).map(TensorValue::free),
            },
            (scale, average, factor, input) => scale.times(average)?.plus_product(factor, input),
        }
    }
}

/// Views a segment of a flat tensor as `[models, elements]`.
pub(super) fn whole(layout: &ParameterLayout, flat: &Tensor, segment: usize) -> [Tensor; 1] {
    [layout.view(flat, segment).flatten(1, -1)]
}

/// Orthogonalizes matrices `[matrices, rows, columns]`, times `√max(1, rows/columns)`, as
/// [`Algebra::orthogonal`](valleyscope_engine::optimizer::Algebra::orthogonal).
pub(super) fn orthogonal(matrices: &Tensor) -> Result<Tensor, TchError> {
    let [linear, cubic, quintic] = NEWTON_SCHULZ;
    let (rows, columns) = (matrices.size()[1], matrices.size()[2]);
    let is_tall = rows > columns;
    let turned = |matrices: &Tensor| if is_tall { matrices.f_transpose(1, 2) } else { Ok(matrices.shallow_clone()) };
    let norms = matrices.f_norm_scalaropt_dim(2.0, [1_i64, 2], true)?.f_add_scalar(NEWTON_SCHULZ_EPSILON)?;
    let mut x = turned(matrices)?.f_div(&norms)?;
    for _ in 0..NEWTON_SCHULZ_STEPS {
        let products = x.f_bmm(&x.f_transpose(1, 2)?)?;
        let factors = products.f_baddbmm(&products, &products, cubic, quintic)?;
        x = x.f_baddbmm(&factors, &x, linear, 1.0)?;
    }
    turned(&x)?.f_mul_scalar((rows as f64 / columns as f64).max(1.0).sqrt())
}

/// Computes −1, 0 or 1, and NaN for NaN, for which libtorch's sign is 0.
pub(super) fn sign(tensor: &Tensor) -> Result<Tensor, TchError> {
    tensor.f_where_self(&tensor.f_isnan()?, &tensor.f_sign()?)
}

/// The rates that differ between parameters, as tensors.
#[derive(Debug)]
pub(super) struct TensorRates {
    /// The learning rate η: a number for a single model, a tensor for a stack.
    pub learning_rate: TensorValue,
    /// The weight decay ω; 0 without decay.
    pub decay: Tensor,
}

impl TensorRates {
    pub(super) fn new(
        rule: &RuleSpec,
        learning_rates: &[f64],
        layout: &ParameterLayout,
        kind: Kind,
        device: Device,
    ) -> Result<TensorRates, TrainError> {
        let zeros = || Tensor::f_zeros([layout.length() as i64], (kind, device));
        let decay = zeros()?;
        for (index, _) in layout.segments().iter().enumerate().filter(|(_, segment)| segment.decays) {
            let _ = layout.view(&decay, index).f_fill_(rule.weight_decay())?;
        }
        if let [rate] = learning_rates {
            return Ok(TensorRates { learning_rate: TensorValue::Number(*rate), decay });
        }
        let learning_rate = zeros()?;
        let rates = Tensor::f_from_slice(learning_rates)?.f_to_kind(kind)?.f_to_device(device)?;
        for (index, segment) in layout.segments().iter().enumerate() {
            let rates = rates.f_view(&[&[-1][..], &vec![1; segment.shape.len()]].concat()[..])?;
            layout.view(&learning_rate, index).f_copy_(&rates)?;
        }
        Ok(TensorRates { learning_rate: TensorValue::lent(&learning_rate), decay })
    }

    /// Computes η times a tensor.
    pub(super) fn scaled(&self, tensor: &Tensor) -> Result<Tensor, TchError> {
        TensorValue::lent(tensor).times(self.learning_rate.share())?.into_tensor(tensor)
    }
}
