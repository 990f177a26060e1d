//! A step of an update rule as tensor operations.
//!
//! The rule is run once with [`Traced`] numbers, which record what it computes; each recorded operation then becomes one or
//! some operations on flat tensors. What is not needed any more is overwritten by what is computed next.

use tch::{TchError, Tensor};

use super::error::TrainError;
use super::layout::ParameterLayout;
use super::optimizer::{TensorLearningRates, TensorRates};
use crate::lanes::Real;
use crate::optimizer::{
    AverageWeight, BiasCorrection, Node, Numbers, Operand, Operation, Rates, RatioCorrection, Rule, RuleInput,
    RuleSpec, Symbol, Tape, Traced,
};

/// What is to be computed in a step.
pub(super) struct TensorStep {
    nodes: Vec<Node>,
    theta: Operand,
    /// What is remembered afterwards.
    states: Vec<Operand>,
}

impl TensorStep {
    /// Records a step of the rule `R`, which is that of `rule`.
    pub(super) fn record<R: Rule>(rule: &RuleSpec, bias: &BiasCorrection) -> TensorStep {
        const UNKNOWN: [f64; 2] = [f64::NAN; 2];
        let tape = Tape::default();
        let given = |symbol| tape.symbol(symbol, UNKNOWN);
        let coefficients = bias.coefficients::<R, Traced<'_>>(rule);
        let rates = Rates { learning_rate: given(Symbol::LearningRate), weight_decay: given(Symbol::WeightDecay) };
        let seen = RuleInput { theta: given(Symbol::Theta), gradient: given(Symbol::Gradient) };
        let state = Numbers::from_fn(|index| given(Symbol::State(index)));
        let (state, moved) = R::step(&coefficients, rates, seen, state);
        let states = state.as_ref().iter().map(|state| state.operand()).collect();
        let theta = moved.theta.operand();
        TensorStep { nodes: tape.nodes(), theta, states }
    }

    /// Changes the parameters and what is remembered.
    pub(super) fn run(
        &self,
        parameters: &mut Tensor,
        gradients: &Tensor,
        states: &mut [Tensor],
        rates: &TensorRates,
        layout: &ParameterLayout,
    ) -> Result<(), TrainError> {
        let mut values =
            StepValues { nodes: &self.nodes, layout, values: Vec::with_capacity(self.nodes.len()), uses: self.uses() };
        for (index, node) in self.nodes.iter().enumerate() {
            let value = match node.operation {
                Operation::Symbol(Symbol::Theta) => NodeValue::Known(TensorValue::free(parameters.shallow_clone())),
                Operation::Symbol(Symbol::State(index)) => {
                    NodeValue::Known(TensorValue::free(states[index].shallow_clone()))
                }
                Operation::Symbol(Symbol::Gradient) => NodeValue::Known(TensorValue::lent(gradients)),
                Operation::Symbol(Symbol::LearningRate) => NodeValue::Known(rates.learning_rate.value()),
                Operation::Symbol(Symbol::WeightDecay) => NodeValue::Known(TensorValue::lent(&rates.decay)),
                Operation::Symbol(Symbol::Hyperparameter(_) | Symbol::Power(_)) => {
                    unreachable!("coefficients are computed before")
                }
                _ if self.is_fused(index, &values.uses) => NodeValue::Fused,
                operation => NodeValue::Known(values.compute(operation)?),
            };
            values.values.push(value);
        }
        for (state, operand) in states.iter_mut().zip(&self.states) {
            let tensor = values.take(*operand).into_tensor(gradients)?;
            // Parameters are written in place; a state must not change along with them.
            let is_shared = tensor.data_ptr() == parameters.data_ptr();
            *state = if is_shared { tensor.f_detach_copy()? } else { tensor };
        }
        let theta = values.take(self.theta).into_tensor(gradients)?;
        if theta.data_ptr() != parameters.data_ptr() {
            parameters.f_copy_(&theta)?;
        }
        Ok(())
    }

    /// How often each number is needed.
    fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        let of_nodes = self.nodes.iter().flat_map(|node| node.operation.operands());
        for operand in of_nodes.chain([self.theta]).chain(self.states.iter().copied()) {
            if let Operand::Node(index) = operand {
                uses[index] += 1;
            }
        }
        uses
    }

    /// Whether a number is a product that is needed only as the term of the sum that comes next, which adds it in one
    /// operation.
    fn is_fused(&self, index: usize, uses: &[usize]) -> bool {
        let is_product = matches!(self.nodes[index].operation, Operation::Product(..));
        let next = self.nodes.get(index + 1).map(|next| next.operation);
        let is_term = matches!(next, Some(Operation::ProductSum(Operand::Constant(..), Operand::Node(_), term))
            if term == Operand::Node(index));
        is_product && is_term && uses[index] == 1
    }
}

impl TensorLearningRates {
    fn value(&self) -> TensorValue {
        match self {
            TensorLearningRates::One(rate) => TensorValue::Number(*rate),
            TensorLearningRates::Each(rates) => TensorValue::lent(rates),
        }
    }
}

/// The numbers that are computed so far.
struct StepValues<'a> {
    nodes: &'a [Node],
    layout: &'a ParameterLayout,
    values: Vec<NodeValue>,
    /// How often each is still needed.
    uses: Vec<usize>,
}

/// What is known of a recorded number.
enum NodeValue {
    Known(TensorValue),
    /// It is a product that the next operation adds.
    Fused,
    /// It is not needed any more.
    Used,
}

impl StepValues<'_> {
    /// An operand, which is needed once less from now on.
    fn take(&mut self, operand: Operand) -> TensorValue {
        match operand {
            Operand::Constant(number, _) => TensorValue::Number(number),
            Operand::Node(index) => {
                self.uses[index] -= 1;
                let value = match (self.uses[index], &mut self.values[index]) {
                    (0, value) => std::mem::replace(value, NodeValue::Used),
                    (_, NodeValue::Known(value)) => NodeValue::Known(value.share()),
                    (_, NodeValue::Fused | NodeValue::Used) => NodeValue::Used,
                };
                let NodeValue::Known(value) = value else { unreachable!("a number is kept until its last use") };
                value
            }
        }
    }

    fn compute(&mut self, operation: Operation) -> Result<TensorValue, TchError> {
        match operation {
            Operation::Symbol(_) => unreachable!("symbols are given"),
            Operation::Negative(a) => self.take(a).times(TensorValue::Number(-1.0)),
            Operation::Sum(a, b) => self.take(a).plus(self.take(b)),
            Operation::Difference(a, b) => self.take(a).minus(self.take(b)),
            Operation::Product(a, b) => self.take(a).times(self.take(b)),
            Operation::Quotient(a, b) => self.take(a).over(self.take(b)),
            Operation::ProductSum(a, b, c) => self.product_sum(a, b, c),
            Operation::SumProduct(a, b, c) => self.product_sum(b, c, a),
            Operation::Root(a) => self.take(a).map(f64::sqrt, Tensor::f_sqrt),
            Operation::Size(a) => self.take(a).map(f64::abs, Tensor::f_abs),
            Operation::Sign(a) => self.take(a).map(Real::sign, sign),
            Operation::Larger(a, b) => self.take(a).larger(self.take(b)),
            Operation::Norm(a) => self.take(a).norm(self.layout),
            Operation::Toward(average, target, AverageWeight { weight, minus_kept }) => {
                let [average, target, _, minus_kept] = [average, target, weight, minus_kept].map(|it| self.take(it));
                target.share().minus(average)?.times(minus_kept)?.plus(target)
            }
            Operation::Ratio(m, s, RatioCorrection { factor, term, m_weight, s_weight, epsilon }) => {
                let [m, s, factor, term, ..] =
                    [m, s, factor, term, m_weight, s_weight, epsilon].map(|it| self.take(it));
                let size = s.map(f64::sqrt, Tensor::f_sqrt)?.times(factor)?.plus(term)?;
                m.over(size)
            }
        }
    }

    /// `a b + c`
    fn product_sum(&mut self, a: Operand, b: Operand, c: Operand) -> Result<TensorValue, TchError> {
        if let Operand::Node(index) = c
            && matches!(self.values[index], NodeValue::Fused)
            && let Operation::Product(factor, input) = self.nodes[index].operation
        {
            let [kept, average, factor, input] = [a, b, factor, input].map(|it| self.take(it));
            return kept.times_plus_product(average, factor, input);
        }
        let [a, b, c] = [a, b, c].map(|it| self.take(it));
        c.plus_product(a, b)
    }
}

/// Numbers for all parameters.
enum TensorValue {
    /// The same for all.
    Number(f64),
    Tensor {
        tensor: Tensor,
        /// Whether it may be overwritten, as nobody else needs it.
        is_free: bool,
    },
}

impl TensorValue {
    fn free(tensor: Tensor) -> TensorValue {
        TensorValue::Tensor { tensor, is_free: true }
    }

    fn lent(tensor: &Tensor) -> TensorValue {
        TensorValue::Tensor { tensor: tensor.shallow_clone(), is_free: false }
    }

    /// The same, which may not be overwritten.
    fn share(&self) -> TensorValue {
        match self {
            TensorValue::Number(number) => TensorValue::Number(*number),
            TensorValue::Tensor { tensor, .. } => TensorValue::lent(tensor),
        }
    }

    /// A tensor that nobody else overwrites, like another where this is a number.
    fn into_tensor(self, like: &Tensor) -> Result<Tensor, TchError> {
        match self {
            TensorValue::Number(number) => like.f_full_like(number),
            TensorValue::Tensor { tensor, is_free: true } => Ok(tensor),
            TensorValue::Tensor { tensor, is_free: false } => tensor.f_detach_copy(),
        }
    }

    fn map(
        self,
        of_number: impl Fn(f64) -> f64,
        of_tensor: impl Fn(&Tensor) -> Result<Tensor, TchError>,
    ) -> Result<TensorValue, TchError> {
        match self {
            TensorValue::Number(number) => Ok(TensorValue::Number(of_number(number))),
            TensorValue::Tensor { tensor, .. } => of_tensor(&tensor).map(TensorValue::free),
        }
    }

    fn plus(self, other: TensorValue) -> Result<TensorValue, TchError> {
        match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => Ok(TensorValue::Number(a + b)),
            (TensorValue::Tensor { mut tensor, is_free }, TensorValue::Number(number))
            | (TensorValue::Number(number), TensorValue::Tensor { mut tensor, is_free }) => match is_free {
                true => tensor.f_add_scalar_(number).map(TensorValue::free),
                false => tensor.f_add_scalar(number).map(TensorValue::free),
            },
            (TensorValue::Tensor { tensor: mut a, is_free: true }, TensorValue::Tensor { tensor: b, .. })
            | (TensorValue::Tensor { tensor: b, .. }, TensorValue::Tensor { tensor: mut a, is_free: true }) => {
                a.f_add_(&b).map(TensorValue::free)
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => {
                a.f_add(&b).map(TensorValue::free)
            }
        }
    }

    fn minus(self, other: TensorValue) -> Result<TensorValue, TchError> {
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

    fn times(self, other: TensorValue) -> Result<TensorValue, TchError> {
        match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => Ok(TensorValue::Number(a * b)),
            (TensorValue::Tensor { mut tensor, is_free }, TensorValue::Number(number))
            | (TensorValue::Number(number), TensorValue::Tensor { mut tensor, is_free }) => match is_free {
                true => tensor.f_mul_scalar_(number).map(TensorValue::free),
                false => tensor.f_mul_scalar(number).map(TensorValue::free),
            },
            (TensorValue::Tensor { tensor: mut a, is_free: true }, TensorValue::Tensor { tensor: b, .. })
            | (TensorValue::Tensor { tensor: b, .. }, TensorValue::Tensor { tensor: mut a, is_free: true }) => {
                a.f_mul_(&b).map(TensorValue::free)
            }
            (TensorValue::Tensor { tensor: a, .. }, TensorValue::Tensor { tensor: b, .. }) => {
                a.f_mul(&b).map(TensorValue::free)
            }
        }
    }

    fn over(self, other: TensorValue) -> Result<TensorValue, TchError> {
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

    /// The larger of both; `other` where either is NaN, unlike libtorch's own.
    fn larger(self, other: TensorValue) -> Result<TensorValue, TchError> {
        let larger = match (self, other) {
            (TensorValue::Number(a), TensorValue::Number(b)) => return Ok(TensorValue::Number(Real::larger(a, b))),
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

    /// The norm of each parameter tensor of each model, in all of its elements.
    fn norm(self, layout: &ParameterLayout) -> Result<TensorValue, TchError> {
        let TensorValue::Tensor { tensor: flat, .. } = self else {
            unreachable!("a step takes norms of what differs between elements")
        };
        let norms = flat.f_zeros_like()?;
        for segment in 0..layout.segments().len() {
            let elements = layout.view(&flat, segment);
            let models = elements.f_flatten(1, -1)?;
            let norm = models.f_norm_scalaropt_dim(2.0, [1_i64], true)?;
            layout.view(&norms, segment).f_flatten(1, -1)?.f_copy_(&norm.f_expand_as(&models)?)?;
        }
        Ok(TensorValue::free(norms))
    }

    /// `self + a b`
    fn plus_product(self, a: TensorValue, b: TensorValue) -> Result<TensorValue, TchError> {
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

    /// `self × average + factor × input`, where `self` is a number: in one operation if the weights are those of a running
    /// average.
    fn times_plus_product(
        self,
        average: TensorValue,
        factor: TensorValue,
        input: TensorValue,
    ) -> Result<TensorValue, TchError> {
        match (self, average, factor, input) {
            (
                TensorValue::Number(kept),
                TensorValue::Tensor { tensor: mut average, is_free },
                TensorValue::Number(factor),
                TensorValue::Tensor { tensor: input, .. },
            ) if (kept + factor - 1.0).abs() < 1e-12 => match is_free {
                true => average.f_lerp_(&input, factor).map(TensorValue::free),
                false => average.f_lerp(&input, factor).map(TensorValue::free),
            },
            (kept, average, factor, input) => kept.times(average)?.plus_product(factor, input),
        }
    }
}

/// −1, 0, 1, and NaN for NaN, for which libtorch's sign is 0.
fn sign(tensor: &Tensor) -> Result<Tensor, TchError> {
    tensor.f_where_self(&tensor.f_isnan()?, &tensor.f_sign()?)
}
