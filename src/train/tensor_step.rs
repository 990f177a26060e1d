//! A step of an update rule as tensor operations.
//!
//! The rule is run once with [`Traced`] numbers, which record what it computes; each recorded operation then becomes one or
//! some operations on flat tensors. What is not needed any more is overwritten by what is computed next.

use tch::{TchError, Tensor};

use super::answers::{Answers, Questions};
use super::error::TrainError;
use super::layout::ParameterLayout;
use super::optimizer::{TensorLearningRates, TensorRates};
use crate::lanes::Real;
use crate::optimizer::{
    AverageWeight, Batch, BiasCorrection, NEWTON_SCHULZ, NEWTON_SCHULZ_EPSILON, NEWTON_SCHULZ_STEPS, Node, Numbers,
    Operand, Operation, Rates, RatioCorrection, Rule, RuleInput, RuleSpec, Symbol, Tape, Traced, TracedBatch,
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
        let tape = Tape::with_shapes();
        let given = |symbol| tape.symbol(symbol, UNKNOWN);
        let coefficients = bias.coefficients::<R, Traced<'_>>(rule);
        let rates = Rates { learning_rate: given(Symbol::LearningRate), weight_decay: given(Symbol::WeightDecay) };
        let batch = TracedBatch::new(&tape, UnknownBatch);
        let seen = RuleInput { theta: given(Symbol::Theta), gradient: given(Symbol::Gradient), batch };
        let state = Numbers::from_fn(|index| given(Symbol::State(index)));
        let (state, moved) = R::step(&coefficients, rates, seen, state);
        let states = state.as_ref().iter().map(|state| state.operand()).collect();
        let theta = moved.theta.operand();
        TensorStep { nodes: tape.nodes(), theta, states }
    }

    /// What the step needs to know of its batch besides the gradients.
    pub(super) fn questions(&self, states: &[Tensor]) -> Questions {
        let place = self.nodes.iter().find_map(|node| match node.operation {
            Operation::GradientAt(Operand::Node(place)) => Some(self.nodes[place].operation),
            _ => None,
        });
        let gradient_at = place.map(|place| match place {
            Operation::Symbol(Symbol::State(index)) => states[index].shallow_clone(),
            _ => unreachable!("a rule asks for the gradient at one of its states"),
        });
        let is_curvature = |node: &Node| node.operation == Operation::Symbol(Symbol::Curvature);
        Questions { gradient_at, curvature: self.nodes.iter().any(is_curvature) }
    }

    /// Changes the parameters and what is remembered.
    pub(super) fn run(
        &self,
        parameters: &mut Tensor,
        gradients: &Tensor,
        answers: &Answers,
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
                Operation::Symbol(Symbol::Curvature) => NodeValue::Known(answer(answers.curvature.as_ref())),
                Operation::GradientAt(place) => {
                    values.take(place);
                    NodeValue::Known(answer(answers.gradient_elsewhere.as_ref()))
                }
                Operation::Symbol(Symbol::Hyperparameter(_) | Symbol::Power(_) | Symbol::Step) => {
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

fn answer(tensor: Option<&Tensor>) -> TensorValue {
    TensorValue::lent(tensor.expect("what a step asks for is given"))
}

const UNKNOWN: [f64; 2] = [f64::NAN; 2];

/// The batch of a step that is recorded before its numbers are known.
#[derive(Clone, Copy)]
struct UnknownBatch;

impl Batch<[f64; 2]> for UnknownBatch {
    fn gradient_at(self, _theta: [f64; 2]) -> [f64; 2] {
        UNKNOWN
    }

    fn curvature(self) -> [f64; 2] {
        UNKNOWN
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
            Operation::Symbol(_) | Operation::GradientAt(_) => unreachable!("it is given"),
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
            Operation::Orthogonal(a) => self.take(a).orthogonal(self.layout),
            Operation::ByShape(matrix, other) => self.take(matrix).of_matrices(self.take(other), self.layout),
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

    /// [`Algebra::orthogonal`](crate::optimizer::Algebra::orthogonal) of each matrix; 0 for other parameters.
    fn orthogonal(self, layout: &ParameterLayout) -> Result<TensorValue, TchError> {
        let TensorValue::Tensor { tensor: flat, .. } = self else {
            unreachable!("a step orthogonalizes what differs between elements")
        };
        let result = flat.f_zeros_like()?;
        for segment in 0..layout.segments().len() {
            if let (Some(matrices), Some(mut result)) =
                (layout.matrices(&flat, segment), layout.matrices(&result, segment))
            {
                result.f_copy_(&orthogonal(&matrices)?)?;
            }
        }
        Ok(TensorValue::free(result))
    }

    /// This number for matrices, and another for other parameters.
    fn of_matrices(self, other: TensorValue, layout: &ParameterLayout) -> Result<TensorValue, TchError> {
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

/// The matrices `[matrices, rows, columns]` orthogonalized, times `√max(1, rows/columns)`.
fn orthogonal(matrices: &Tensor) -> Result<Tensor, TchError> {
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

/// −1, 0, 1, and NaN for NaN, for which libtorch's sign is 0.
fn sign(tensor: &Tensor) -> Result<Tensor, TchError> {
    tensor.f_where_self(&tensor.f_isnan()?, &tensor.f_sign()?)
}
