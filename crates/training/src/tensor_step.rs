//! A step of an update rule as tensor operations.
//!
//! The rule runs once with [`Traced`] numbers, which record its operations; each recorded operation then becomes one or
//! more operations on flat tensors. Later results overwrite tensors that are no longer needed.

use tch::{TchError, Tensor};
use valleyscope_engine::lanes::Real;
use valleyscope_engine::optimizer::{
    Algebra, AverageWeight, Batch, BiasCorrection, Node, Numbers, Operand, Operation, Rates, RatioCorrection, Rule,
    RuleInput, RuleSpec, Symbol, Tape, Traced, TracedBatch,
};

use super::error::TrainError;
use super::gradient_queries::{GradientQueries, QueryResults};
use super::layout::ParameterLayout;
use super::tensor_value::{TensorRates, TensorValue, sign};

/// A recorded step of an update rule.
pub(super) struct TensorStep {
    nodes: Vec<Node>,
    theta: Operand,
    /// The states after the step.
    states: Vec<Operand>,
}

impl TensorStep {
    /// Records a step of the rule `R`, described by `rule`.
    pub(super) fn record<R: Rule>(rule: &RuleSpec, bias: &BiasCorrection) -> TensorStep {
        let tape = Tape::with_shapes();
        let given = |symbol| tape.symbol(symbol, UNKNOWN);
        let coefficients = bias.coefficients::<R, Traced<'_>>(rule);
        let rates = Rates {
            learning_rate: given(Symbol::LearningRate),
            weight_decay: given(Symbol::WeightDecay),
            is_cautious: rule.is_cautious(),
        };
        let batch = TracedBatch::new(&tape, UnknownBatch);
        let seen = RuleInput { rates, theta: given(Symbol::Theta), gradient: given(Symbol::Gradient), batch };
        let count = rule.info().states.len();
        let state =
            Numbers::from_fn(|index| if index < count { given(Symbol::State(index)) } else { Traced::splat(0.0) });
        let (state, moved) = R::step(&coefficients, seen, state);
        let states = state.as_ref()[..count].iter().map(|state| state.operand()).collect();
        let theta = moved.theta.operand();
        TensorStep { nodes: tape.recorded().nodes, theta, states }
    }

    /// Returns the queries of the step to its batch besides the gradients.
    pub(super) fn queries(&self, states: &[Tensor]) -> GradientQueries {
        let place = self.nodes.iter().find_map(|node| match node.operation {
            Operation::GradientAt(Operand::Node(place)) => Some(self.nodes[place].operation),
            _ => None,
        });
        let gradient_at = place.map(|place| match place {
            Operation::Symbol(Symbol::State(index)) => states[index].shallow_clone(),
            _ => unreachable!("a rule asks for the gradient at one of its states"),
        });
        let is_curvature = |node: &Node| node.operation == Operation::Symbol(Symbol::Curvature);
        GradientQueries { gradient_at, curvature: self.nodes.iter().any(is_curvature) }
    }

    /// Updates the parameters and the states.
    pub(super) fn run(
        &self,
        parameters: &mut Tensor,
        gradients: &Tensor,
        query_results: &QueryResults,
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
                Operation::Symbol(Symbol::Curvature) => NodeValue::Known(answer(query_results.curvature.as_ref())),
                Operation::GradientAt(place) => {
                    values.take(place);
                    NodeValue::Known(answer(query_results.gradient_elsewhere.as_ref()))
                }
                Operation::Symbol(
                    Symbol::Hyperparameter(_) | Symbol::Power(_) | Symbol::Step | Symbol::Computed(_),
                ) => {
                    unreachable!("coefficients are computed before")
                }
                _ if self.is_fused(index, &values.uses) => NodeValue::Fused,
                operation => NodeValue::Known(values.compute(operation)?),
            };
            values.values.push(value);
        }
        for (state, operand) in states.iter_mut().zip(&self.states) {
            let tensor = values.take(*operand).into_tensor(gradients)?;
            // Parameters are written in place; a state must not share their memory.
            let is_shared = tensor.data_ptr() == parameters.data_ptr();
            *state = if is_shared { tensor.f_detach_copy()? } else { tensor };
        }
        let theta = values.take(self.theta).into_tensor(gradients)?;
        if theta.data_ptr() != parameters.data_ptr() {
            parameters.f_copy_(&theta)?;
        }
        Ok(())
    }

    /// Counts how often each number is used.
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

    /// Returns whether a number is a product that is used only as a term of the next sum, so that one operation
    /// computes both.
    fn is_fused(&self, index: usize, uses: &[usize]) -> bool {
        let is_product = matches!(self.nodes[index].operation, Operation::Mul(..));
        let next = self.nodes.get(index + 1).map(|next| next.operation);
        let is_term = matches!(next, Some(Operation::MulAdd(Operand::Constant(..), Operand::Node(_), term))
            if term == Operand::Node(index));
        is_product && is_term && uses[index] == 1
    }
}

fn answer(tensor: Option<&Tensor>) -> TensorValue {
    TensorValue::lent(tensor.expect("what a step asks for is given"))
}

const UNKNOWN: [f64; 2] = [f64::NAN; 2];

/// A placeholder for the batch of a step, which is recorded before its numbers exist.
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

/// The numbers computed so far.
struct StepValues<'a> {
    nodes: &'a [Node],
    layout: &'a ParameterLayout,
    values: Vec<NodeValue>,
    /// The number of remaining uses of each.
    uses: Vec<usize>,
}

/// The state of a recorded number.
enum NodeValue {
    Known(TensorValue),
    /// A product that the next operation adds.
    Fused,
    /// A number after its last use.
    Used,
}

impl StepValues<'_> {
    /// Takes an operand, and counts one use less of it.
    fn take(&mut self, operand: Operand) -> TensorValue {
        match operand {
            Operand::Constant(number) => TensorValue::Number(number),
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
            Operation::Neg(a) => self.take(a).times(TensorValue::Number(-1.0)),
            Operation::Add(a, b) => self.take(a).plus(self.take(b)),
            Operation::Sub(a, b) => self.take(a).minus(self.take(b)),
            Operation::Mul(a, b) => self.take(a).times(self.take(b)),
            Operation::Div(a, b) => self.take(a).over(self.take(b)),
            Operation::MulAdd(a, b, c) => self.product_sum(a, b, c),
            Operation::AddMul(a, b, c) => self.product_sum(b, c, a),
            Operation::Sqrt(a) => self.take(a).map(f64::sqrt, Tensor::f_sqrt),
            Operation::Abs(a) => self.take(a).map(f64::abs, Tensor::f_abs),
            Operation::Sign(a) => self.take(a).map(Real::sign, sign),
            Operation::Larger(a, b) => self.take(a).larger(self.take(b)),
            Operation::Max(a, b) => self.take(a).maximum(self.take(b)),
            Operation::Min(a, b) => self.take(a).minimum(self.take(b)),
            Operation::Compare(relation, a, b) => self.take(a).compared(relation, self.take(b)),
            Operation::Select(condition, then, otherwise) => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|it| self.take(it));
                condition.choose(then, otherwise)
            }
            Operation::Function(function, a) => self.take(a).function(function),
            Operation::Pow(a, b) => self.take(a).power(self.take(b)),
            Operation::Sum(a) => self.take(a).total(self.layout),
            Operation::Mean(a) => self.take(a).mean(self.layout),
            Operation::Norm(a) => self.take(a).norm(self.layout),
            Operation::BlockMean(a) => self.take(a).block_mean(self.layout),
            Operation::Orthogonal(a) => self.take(a).orthogonal(self.layout),
            Operation::Exchanged(_) => unreachable!("a rule that exchanges x and y has a step of its own in training"),
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

    /// Computes `a b + c`.
    fn product_sum(&mut self, a: Operand, b: Operand, c: Operand) -> Result<TensorValue, TchError> {
        if let Operand::Node(index) = c
            && matches!(self.values[index], NodeValue::Fused)
            && let Operation::Mul(factor, input) = self.nodes[index].operation
        {
            let [kept, average, factor, input] = [a, b, factor, input].map(|it| self.take(it));
            return kept.times_plus_product(average, factor, input);
        }
        let [a, b, c] = [a, b, c].map(|it| self.take(it));
        c.plus_product(a, b)
    }
}
