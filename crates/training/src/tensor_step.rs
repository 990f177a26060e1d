//! A step of an update rule as tensor operations.
//!
//! The rule runs once with [`Traced`] numbers, which record its operations; each recorded operation then becomes one or
//! more operations on flat tensors. Later results overwrite tensors that are no longer needed.

use tch::{TchError, Tensor};
use valleyscope_engine::expression::{Graph, Input, Node, NodeId, Op, Tape, Traced};
use valleyscope_engine::lanes::Arithmetic;
use valleyscope_engine::optimizer::{
    AverageWeight, Batch, BiasCorrection, Numbers, Rates, RatioCorrection, Rule, RuleInput, RuleSpec, TracedBatch,
};

use super::error::TrainError;
use super::gradient_queries::{GradientQueries, QueryResults};
use super::layout::ParameterLayout;
use super::tensor_value::{TensorRates, TensorValue, orthogonal, sign, whole};

/// A recorded step of an update rule.
pub(super) struct TensorStep {
    graph: Graph,
    theta: NodeId,
    states: Vec<NodeId>,
}

impl TensorStep {
    /// Records a step of the rule `R`, described by `rule`.
    pub(super) fn record<R: Rule>(rule: &RuleSpec, bias: &BiasCorrection) -> TensorStep {
        let tape = Tape::with_shapes();
        let given = |input| tape.input(input, UNKNOWN);
        let coefficients = bias.coefficients::<R, Traced<'_>>(rule);
        let rates = Rates {
            learning_rate: given(Input::LearningRate),
            weight_decay: given(Input::WeightDecay),
            is_cautious: rule.is_cautious(),
        };
        let batch = TracedBatch::new(&tape, UnknownBatch);
        let seen = RuleInput { rates, theta: given(Input::Theta), gradient: given(Input::Gradient), batch };
        let count = rule.info().states.len();
        let state =
            Numbers::from_fn(|index| if index < count { given(Input::State(index)) } else { Traced::splat(0.0) });
        let (state, moved) = R::step(&coefficients, seen, state);
        let states = state.as_ref()[..count].iter().map(|state| tape.id(*state)).collect();
        let theta = tape.id(moved.theta);
        TensorStep { graph: tape.recorded().graph, theta, states }
    }

    pub(super) fn queries(&self, states: &[Tensor]) -> GradientQueries {
        let at = self.graph.ids().find_map(|id| match self.graph.node(id) {
            Node::Of(Op::GradientAt(at)) => Some(self.graph.node(at)),
            _ => None,
        });
        let gradient_at = at.map(|at| match at {
            Node::Input(Input::State(index)) => states[index].shallow_clone(),
            _ => unreachable!("a rule asks for the gradient at one of its states"),
        });
        let is_curvature = |id| self.graph.node(id) == Node::Input(Input::Curvature);
        GradientQueries { gradient_at, curvature: self.graph.ids().any(is_curvature) }
    }

    pub(super) fn run(
        &self,
        parameters: &mut Tensor,
        gradients: &Tensor,
        query_results: &QueryResults,
        states: &mut [Tensor],
        rates: &TensorRates,
        layout: &ParameterLayout,
    ) -> Result<(), TrainError> {
        let mut values = StepValues { graph: &self.graph, layout, values: Vec::new(), uses: self.uses() };
        for id in self.graph.ids() {
            let value = match self.graph.node(id) {
                Node::Constant(number) => NodeValue::Known(TensorValue::Number(number)),
                Node::Input(Input::Theta) => NodeValue::Known(TensorValue::free(parameters.shallow_clone())),
                Node::Input(Input::State(index)) => NodeValue::Known(TensorValue::free(states[index].shallow_clone())),
                Node::Input(Input::Gradient) => NodeValue::Known(TensorValue::lent(gradients)),
                Node::Input(Input::LearningRate) => NodeValue::Known(rates.learning_rate.share()),
                Node::Input(Input::WeightDecay) => NodeValue::Known(TensorValue::lent(&rates.decay)),
                Node::Input(Input::Curvature) => NodeValue::Known(answer(query_results.curvature.as_ref())),
                Node::Of(Op::GradientAt(at)) => {
                    values.take(at);
                    NodeValue::Known(answer(query_results.gradient_elsewhere.as_ref()))
                }
                Node::Input(_) => unreachable!("coefficients are computed before"),
                Node::Of(_) if self.is_fused(id, &values.uses) => NodeValue::Fused,
                Node::Of(op) => NodeValue::Known(values.compute(op)?),
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

    fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.graph.ids().count()];
        let of_nodes = self.graph.ids().flat_map(|id| match self.graph.node(id) {
            Node::Of(op) => op.operands(),
            Node::Constant(_) | Node::Input(_) => Vec::new(),
        });
        for operand in of_nodes.chain([self.theta]).chain(self.states.iter().copied()) {
            uses[operand.0] += 1;
        }
        uses
    }

    /// Whether a number is a product that is used only as a term of the next sum, so that one operation computes both.
    fn is_fused(&self, id: NodeId, uses: &[usize]) -> bool {
        let is_constant = |id| matches!(self.graph.node(id), Node::Constant(_));
        let is_product = matches!(self.graph.node(id), Node::Of(Op::Mul(..)));
        let next = self.graph.ids().skip(id.0 + 1).find(|next| !is_constant(*next));
        let is_term = next.is_some_and(|next| match self.graph.node(next) {
            Node::Of(Op::MulAdd(scale, average, term)) => is_constant(scale) && !is_constant(average) && term == id,
            _ => false,
        });
        is_product && is_term && uses[id.0] == 1
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
    graph: &'a Graph,
    layout: &'a ParameterLayout,
    values: Vec<NodeValue>,
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
    fn take(&mut self, NodeId(index): NodeId) -> TensorValue {
        self.uses[index] -= 1;
        let value = match (self.uses[index], &mut self.values[index]) {
            (0, value) => std::mem::replace(value, NodeValue::Used),
            (_, NodeValue::Known(value)) => NodeValue::Known(value.share()),
            (_, NodeValue::Fused | NodeValue::Used) => NodeValue::Used,
        };
        let NodeValue::Known(value) = value else { unreachable!("a number is stored until its last use") };
        value
    }

    fn compute(&mut self, op: Op<NodeId>) -> Result<TensorValue, TchError> {
        match op {
            Op::GradientAt(_) => unreachable!("it is given"),
            Op::Neg(a) => self.take(a).times(TensorValue::Number(-1.0)),
            Op::Add(a, b) => self.take(a).plus(self.take(b)),
            Op::Sub(a, b) => self.take(a).minus(self.take(b)),
            Op::Mul(a, b) => self.take(a).times(self.take(b)),
            Op::Div(a, b) => self.take(a).over(self.take(b)),
            Op::MulAdd(a, b, c) => self.product_sum(a, b, c),
            Op::AddMul(a, b, c) => self.product_sum(b, c, a),
            Op::NegMulAdd(..) => unreachable!("the compiler of programs makes them"),
            Op::Sqrt(a) => self.take(a).map(f64::sqrt, Tensor::f_sqrt),
            Op::Abs(a) => self.take(a).map(f64::abs, Tensor::f_abs),
            Op::Sign(a) => self.take(a).map(Arithmetic::sign, sign),
            Op::Larger(a, b) => self.take(a).larger(self.take(b)),
            Op::Max(a, b) => self.take(a).maximum(self.take(b)),
            Op::Min(a, b) => self.take(a).minimum(self.take(b)),
            Op::Compare(relation, a, b) => self.take(a).compared(relation, self.take(b)),
            Op::Select(condition, then, otherwise) => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|it| self.take(it));
                condition.choose(then, otherwise)
            }
            Op::Function(function, a) => self.take(a).function(function),
            Op::Pow(a, b) => self.take(a).power(self.take(b)),
            Op::Sum(a) => self.reduce(a, |model| model.f_sum_dim_intlist(&[1_i64][..], true, model.kind())),
            Op::Mean(a) => self.reduce(a, |model| model.f_mean_dim(&[1_i64][..], true, model.kind())),
            Op::Norm(a) => self.reduce(a, |model| model.f_norm_scalaropt_dim(2.0, [1_i64], true)),
            Op::BlockMean(a) => self.take(a).of_parts(self.layout, ParameterLayout::blocks, |blocks| {
                blocks.f_mean_dim(&[-1_i64][..], true, blocks.kind())
            }),
            Op::Orthogonal(a) => self.take(a).of_parts(self.layout, ParameterLayout::matrices, orthogonal),
            Op::Exchanged(_) => unreachable!("a rule that exchanges x and y has a step of its own in training"),
            Op::OverSteps(..) | Op::Remainder(..) | Op::OfAxes(..) => unreachable!("they are recorded to be printed"),
            Op::ByShape(matrix, other) => self.take(matrix).of_matrices(self.take(other), self.layout),
            Op::Toward(average, target, AverageWeight { weight, weight_minus_one }) => {
                let [average, target, _, weight_minus_one] =
                    [average, target, weight, weight_minus_one].map(|it| self.take(it));
                target.share().minus(average)?.times(weight_minus_one)?.plus(target)
            }
            Op::Ratio(m, s, RatioCorrection { factor, term, m_weight, s_weight, epsilon }) => {
                let [m, s, factor, term, ..] =
                    [m, s, factor, term, m_weight, s_weight, epsilon].map(|it| self.take(it));
                let size = s.map(f64::sqrt, Tensor::f_sqrt)?.times(factor)?.plus(term)?;
                m.over(size)
            }
        }
    }

    /// Applies a reduction to each parameter tensor of each model, `[models, elements]`; the result is repeated in all
    /// of its elements.
    fn reduce(
        &mut self,
        operand: NodeId,
        work: impl Fn(&Tensor) -> Result<Tensor, TchError>,
    ) -> Result<TensorValue, TchError> {
        self.take(operand).of_parts(self.layout, whole, work)
    }

    fn product_sum(&mut self, a: NodeId, b: NodeId, c: NodeId) -> Result<TensorValue, TchError> {
        if let (NodeValue::Fused, Node::Of(Op::Mul(factor, input))) = (&self.values[c.0], self.graph.node(c)) {
            let [scale, average, factor, input] = [a, b, factor, input].map(|it| self.take(it));
            return scale.times_plus_product(average, factor, input);
        }
        let [a, b, c] = [a, b, c].map(|it| self.take(it));
        c.plus_product(a, b)
    }
}
