//! Recorded steps: numbers that record how they are computed, and the named parts and arrows of a step.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::algebra::{self, AverageWeight, Function, RatioCorrection, Relation, Scalar};
use super::{
    Algebra, Batch, BiasCorrection, Hyperparameter, HyperparameterKind, Numbers, Rates, Rule, RuleInput, RuleSpec,
    StepSettings, with_rule,
};
use crate::lanes::{Lanes, Planar, Real};

/// The inputs of a step, for the coordinates x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct StepInputs {
    pub rule: RuleSpec,
    /// η of this step.
    pub learning_rate: f64,
    pub bias: BiasCorrection,
    pub theta: [f64; 2],
    pub gradient: [f64; 2],
    /// The states, in the order of the rule's.
    pub states: Vec<[f64; 2]>,
}

/// A step, recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub nodes: Vec<Node>,
    /// The named ones among the nodes, in the order in which they are computed.
    pub parts: Vec<(usize, &'static StepPart)>,
    /// The vectors to draw, whose negatives are the arrows.
    pub arrows: Vec<(&'static StepArrow, [f64; 2])>,
    /// θ after the step.
    pub theta: Operand,
    pub direction: [f64; 2],
    /// The state after the step, in the order of the rule's states, and its values.
    pub new_states: Vec<Operand>,
    pub states: Vec<[f64; 2]>,
}

/// Takes a step with traced numbers.
pub fn trace(inputs: &StepInputs, batch: impl Batch<[f64; 2]>) -> Trace {
    with_rule!(inputs.rule.kind(), R => trace_rule::<R>(inputs, batch))
}

fn trace_rule<R: Rule>(inputs: &StepInputs, batch: impl Batch<[f64; 2]>) -> Trace {
    let StepInputs { rule, learning_rate, bias, theta, gradient, states } = inputs;
    let tape = Tape::default();
    let table = R::info(rule).hyperparameters;
    let hyper = <R::Hyper<Traced<'_>> as Numbers<_>>::from_fn(|index| match table.get(index) {
        None | Some(Hyperparameter { kind: HyperparameterKind::Choice(_), .. }) => Traced::splat(rule.values()[index]),
        Some(of) => tape.symbol(Symbol::Hyperparameter(of.symbol), [rule.values()[index]; 2]),
    });
    let power = <R::Hyper<Traced<'_>> as Numbers<_>>::from_fn(|index| match table.get(index) {
        None => Traced::splat(1.0),
        Some(of) => tape.symbol(Symbol::Power(of.symbol), [bias.powers[index]; 2]),
    });
    let t = tape.symbol(Symbol::Step, [bias.steps as f64; 2]);
    let settings = StepSettings { hyper, t, power, share: bias.weights.share, typed: rule.kind().typed() };
    let coefficients = R::coefficients(&settings, |coefficient| coefficient);
    let rates = Rates {
        learning_rate: tape.symbol(Symbol::LearningRate, [*learning_rate; 2]),
        weight_decay: match rule.hyperparameter(Hyperparameter::WEIGHT_DECAY) {
            Some(_) => tape.symbol(Symbol::WeightDecay, [rule.weight_decay(); 2]),
            None => Traced::splat(0.0),
        },
        is_cautious: rule.is_cautious(),
    };
    let seen = RuleInput {
        rates,
        theta: tape.symbol(Symbol::Theta, *theta),
        gradient: tape.symbol(Symbol::Gradient, *gradient),
        batch: TracedBatch::new(&tape, batch),
    };
    let state = Numbers::from_fn(|index| match states.get(index) {
        Some(values) => tape.symbol(Symbol::State(index), *values),
        None => Traced::splat(0.0),
    });
    let (state, moved) = R::step(&coefficients, seen, state);
    let states = &state.as_ref()[..states.len()];
    let new_states = states.iter().map(|state| state.operand()).collect();
    let states = states.iter().map(|state| state.values()).collect();
    let (theta, direction) = (moved.theta.operand(), moved.direction.values());
    let Recorded { nodes, parts, arrows } = tape.recorded();
    Trace { nodes, parts, arrows, theta, direction, new_states, states }
}

/// A number in a step that has a name.
#[derive(Debug, PartialEq, Eq)]
pub struct StepPart {
    /// The symbol in formulas.
    pub symbol: &'static str,
    /// The description of the meaning.
    pub meaning: &'static str,
    pub role: PartRole,
}

/// The role of a part in formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRole {
    /// A number that is remembered from step to step: `m ← …`.
    State {
        /// The name in checkpoints.
        key: &'static str,
        /// Whether it is a point in the space of parameters, which is marked on the landscape.
        is_place: bool,
    },
    /// An intermediate result of the step: `d = …`.
    Quantity,
    /// A number that is the same for all parameters; shown after the formula that uses it.
    Coefficient,
}

impl StepPart {
    /// The momentum m of most rules.
    pub(crate) const MOMENTUM: StepPart = StepPart::state("m", "m", "running average of the gradients");
    /// The average s of squares of most rules.
    pub(crate) const SQUARES: StepPart = StepPart::state("s", "s", "running average of the squared gradients");
    pub(crate) const DIRECTION: StepPart = StepPart::quantity("d", "direction of the step");
    /// The direction d of Adam and of rules like it.
    pub(crate) const SIGNAL_OVER_NOISE: StepPart = StepPart::quantity("d", "direction: signal over noise");

    /// A number that the rule remembers for each parameter, with its name in checkpoints.
    pub(crate) const fn state(symbol: &'static str, key: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::State { key, is_place: false } }
    }

    /// A remembered point in the space of parameters.
    pub(crate) const fn place(symbol: &'static str, key: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::State { key, is_place: true } }
    }

    pub(crate) fn is_state_of(&self, name: &str) -> bool {
        matches!(self.role, PartRole::State { key, .. } if key == name)
    }

    pub(crate) const fn quantity(symbol: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::Quantity }
    }

    pub(crate) const fn coefficient(symbol: &'static str) -> StepPart {
        StepPart { symbol, meaning: "", role: PartRole::Coefficient }
    }
}

/// A vector that is drawn at a particle.
#[derive(Debug, PartialEq, Eq)]
pub struct StepArrow {
    /// The label at the arrow.
    pub label: &'static str,
    /// The meaning in the key of the arrows.
    pub meaning: &'static str,
    pub role: ArrowRole,
}

/// The role of an arrow; arrows of one role have one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowRole {
    Momentum,
    /// The direction that the rule makes from the momentum, or a part that it adds.
    Direction,
    /// The decoupled weight decay, which a rule adds to its direction.
    Decay,
}

impl StepArrow {
    /// The momentum m, along which the particle is moved.
    pub(crate) const MOMENTUM: StepArrow = StepArrow { label: "−m", meaning: "momentum", role: ArrowRole::Momentum };

    /// The decoupled weight decay, −ω times what decays.
    pub(crate) const DECAY: StepArrow = StepArrow { label: "decay", meaning: "weight decay", role: ArrowRole::Decay };

    pub(crate) const fn direction(label: &'static str, meaning: &'static str) -> StepArrow {
        StepArrow { label, meaning, role: ArrowRole::Direction }
    }
}

/// An operand: a constant or a number recorded before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    Constant(f64),
    /// The index of a node.
    Node(usize),
}

/// The origin of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// A given number.
    Symbol(Symbol),
    Neg(Operand),
    Add(Operand, Operand),
    Sub(Operand, Operand),
    Mul(Operand, Operand),
    Div(Operand, Operand),
    /// `a b + c`
    MulAdd(Operand, Operand, Operand),
    /// `a + b c`
    AddMul(Operand, Operand, Operand),
    Sqrt(Operand),
    Abs(Operand),
    Sign(Operand),
    /// [`Algebra::larger`]
    Larger(Operand, Operand),
    /// [`Algebra::maximum`]
    Max(Operand, Operand),
    /// [`Algebra::minimum`]
    Min(Operand, Operand),
    /// [`Algebra::compared`]
    Compare(Relation, Operand, Operand),
    /// [`Algebra::choose`] by the first operand.
    Select(Operand, Operand, Operand),
    Function(Function, Operand),
    /// [`Algebra::power`]
    Pow(Operand, Operand),
    /// [`Algebra::sum`]
    Sum(Operand),
    /// [`Algebra::mean`]
    Mean(Operand),
    /// [`Algebra::norm`]
    Norm(Operand),
    /// [`Algebra::block_mean`]
    BlockMean(Operand),
    /// [`Algebra::orthogonal`]
    Orthogonal(Operand),
    /// [`Algebra::exchanged`]
    Exchanged(Operand),
    /// [`Algebra::by_shape`]: of matrices, and of others.
    ByShape(Operand, Operand),
    /// [`Batch::gradient_at`]
    GradientAt(Operand),
    /// [`Algebra::toward`] from the first operand towards the second.
    Toward(Operand, Operand, AverageWeight<Operand>),
    /// [`Algebra::bias_corrected_ratio`] of two averages.
    Ratio(Operand, Operand, RatioCorrection<Operand>),
}

impl Operation {
    pub fn operands(self) -> Vec<Operand> {
        match self {
            Operation::Symbol(_) => Vec::new(),
            Operation::Neg(a)
            | Operation::Sqrt(a)
            | Operation::Abs(a)
            | Operation::Sign(a)
            | Operation::Function(_, a)
            | Operation::Sum(a)
            | Operation::Mean(a)
            | Operation::Norm(a)
            | Operation::BlockMean(a)
            | Operation::Orthogonal(a)
            | Operation::Exchanged(a)
            | Operation::GradientAt(a) => vec![a],
            Operation::Add(a, b)
            | Operation::Sub(a, b)
            | Operation::Mul(a, b)
            | Operation::Div(a, b)
            | Operation::Larger(a, b)
            | Operation::Max(a, b)
            | Operation::Min(a, b)
            | Operation::Compare(_, a, b)
            | Operation::Pow(a, b)
            | Operation::ByShape(a, b) => vec![a, b],
            Operation::MulAdd(a, b, c) | Operation::AddMul(a, b, c) | Operation::Select(a, b, c) => {
                vec![a, b, c]
            }
            Operation::Toward(average, target, AverageWeight { weight, minus_kept }) => {
                vec![average, target, weight, minus_kept]
            }
            Operation::Ratio(m, s, RatioCorrection { factor, term, m_weight, s_weight, epsilon }) => {
                vec![m, s, factor, term, m_weight, s_weight, epsilon]
            }
        }
    }
}

/// A number that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    Theta,
    Gradient,
    /// [`Batch::curvature`]
    Curvature,
    LearningRate,
    WeightDecay,
    /// A state, by its index among the rule's states.
    State(usize),
    /// The symbol of a hyperparameter.
    Hyperparameter(&'static str),
    /// βᵗ of the hyperparameter with this symbol.
    Power(&'static str),
    /// t, the number of the step.
    Step,
    /// A number that follows from others by this formula.
    Computed(&'static str),
}

/// A number that was computed, for the coordinates x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    pub operation: Operation,
    pub values: [f64; 2],
}

/// A record of traced numbers, in the order in which they are computed.
#[derive(Debug, Default)]
pub struct Tape {
    /// Whether parameters may have any shape; else they are x and y.
    has_shapes: bool,
    nodes: RefCell<Vec<Node>>,
    /// Named nodes, in the order of naming.
    parts: RefCell<Vec<(usize, &'static StepPart)>>,
    arrows: RefCell<Vec<(&'static StepArrow, [f64; 2])>>,
}

impl Tape {
    /// A tape for parameters of any shape.
    pub fn with_shapes() -> Tape {
        Tape { has_shapes: true, ..Tape::default() }
    }

    /// A given number.
    pub fn symbol(&self, symbol: Symbol, values: [f64; 2]) -> Traced<'_> {
        self.push(Operation::Symbol(symbol), values)
    }

    /// All that was computed.
    pub fn recorded(self) -> Recorded {
        let Tape { nodes, parts, arrows, .. } = self;
        Recorded { nodes: nodes.into_inner(), parts: parts.into_inner(), arrows: arrows.into_inner() }
    }

    fn push(&self, operation: Operation, values: [f64; 2]) -> Traced<'_> {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { operation, values });
        Traced::Node { tape: self, index: nodes.len() - 1, values }
    }
}

/// The content of a tape.
#[derive(Debug)]
pub struct Recorded {
    pub nodes: Vec<Node>,
    /// The named ones among them, in the order of naming.
    pub parts: Vec<(usize, &'static StepPart)>,
    pub arrows: Vec<(&'static StepArrow, [f64; 2])>,
}

/// A number for both coordinates that records how it is computed. It has the values that a plain float would have.
#[derive(Clone, Copy, Debug)]
pub enum Traced<'t> {
    Constant(f64),
    Node { tape: &'t Tape, index: usize, values: [f64; 2] },
}

impl<'t> Traced<'t> {
    pub fn operand(self) -> Operand {
        match self {
            Traced::Constant(value) => Operand::Constant(value),
            Traced::Node { index, .. } => Operand::Node(index),
        }
    }

    pub(crate) fn values(self) -> [f64; 2] {
        match self {
            Traced::Constant(value) => [value; 2],
            Traced::Node { values, .. } => values,
        }
    }

    fn tape(self) -> Option<&'t Tape> {
        match self {
            Traced::Constant(..) => None,
            Traced::Node { tape, .. } => Some(tape),
        }
    }

    /// Records an operation on some numbers; a constant if all of them are constants.
    fn of<const N: usize>(
        numbers: [Traced<'t>; N],
        operation: impl FnOnce([Operand; N]) -> Operation,
        value: impl Fn([f64; N]) -> f64,
    ) -> Traced<'t> {
        let values = [0, 1].map(|axis| value(numbers.map(|number| number.values()[axis])));
        Traced::with_values(numbers, operation, values)
    }

    fn with_values<const N: usize>(
        numbers: [Traced<'t>; N],
        operation: impl FnOnce([Operand; N]) -> Operation,
        values: [f64; 2],
    ) -> Traced<'t> {
        match numbers.into_iter().find_map(Traced::tape) {
            Some(tape) => tape.push(operation(numbers.map(Traced::operand)), values),
            None => Traced::Constant(values[0]),
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Traced<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Traced::of([self, other], |[a, b]| Operation::$trait(a, b), |[a, b]| a.$method(b))
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Traced<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        Traced::of([self], |[a]| Operation::Neg(a), |[a]| -a)
    }
}

impl algebra::Algebra for Traced<'_> {
    fn splat(value: f64) -> Self {
        Traced::Constant(value)
    }

    fn sqrt(self) -> Self {
        Traced::of([self], |[a]| Operation::Sqrt(a), |[a]| a.sqrt())
    }

    fn abs(self) -> Self {
        Traced::of([self], |[a]| Operation::Abs(a), |[a]| a.abs())
    }

    fn sign(self) -> Self {
        Traced::of([self], |[a]| Operation::Sign(a), |[a]| Real::sign(a))
    }

    fn larger(self, other: Self) -> Self {
        Traced::of([self, other], |[a, b]| Operation::Larger(a, b), |[a, b]| Real::larger(a, b))
    }

    fn maximum(self, other: Self) -> Self {
        Traced::of([self, other], |[a, b]| Operation::Max(a, b), |[a, b]| algebra::Algebra::maximum(a, b))
    }

    fn minimum(self, other: Self) -> Self {
        Traced::of([self, other], |[a, b]| Operation::Min(a, b), |[a, b]| algebra::Algebra::minimum(a, b))
    }

    fn compared(self, relation: Relation, other: Self) -> Self {
        Traced::of([self, other], |[a, b]| Operation::Compare(relation, a, b), |[a, b]| a.compared(relation, b))
    }

    fn choose(self, then: Self, otherwise: Self) -> Self {
        Traced::of([self, then, otherwise], |[a, b, c]| Operation::Select(a, b, c), |[a, b, c]| Real::choose(a, b, c))
    }

    fn function(self, function: Function) -> Self {
        Traced::of([self], |[a]| Operation::Function(function, a), |[a]| a.function(function))
    }

    fn power(self, exponent: Self) -> Self {
        Traced::of([self, exponent], |[a, b]| Operation::Pow(a, b), |[a, b]| a.power(b))
    }

    fn sum(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values([self], |[a]| Operation::Sum(a), [x + y; 2])
    }

    fn mean(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values([self], |[a]| Operation::Mean(a), [0.5 * (x + y); 2])
    }

    fn norm(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values([self], |[a]| Operation::Norm(a), [x.mul_add(x, y * y).sqrt(); 2])
    }

    fn block_mean(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values([self], |[a]| Operation::BlockMean(a), [0.5 * (x + y); 2])
    }

    fn orthogonal(self) -> Self {
        let both = Lanes::<f64, 1>::both(self.values().map(|value| Lanes([value])));
        let values = Lanes::<f64, 1>::apart(both.orthogonal()).map(|Lanes([value])| value);
        Traced::with_values([self], |[a]| Operation::Orthogonal(a), values)
    }

    fn exchanged(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values([self], |[a]| Operation::Exchanged(a), [y, x])
    }

    fn by_shape(matrix: Self, other: impl FnOnce() -> Self) -> Self {
        match matrix.tape() {
            Some(tape) if tape.has_shapes => {
                let of = [matrix, other()].map(Traced::operand);
                tape.push(Operation::ByShape(of[0], of[1]), matrix.values())
            }
            _ => matrix,
        }
    }

    fn mul_add(self, factor: Self, term: Self) -> Self {
        Traced::of([self, factor, term], |[a, b, c]| Operation::MulAdd(a, b, c), |[a, b, c]| a.mul_add(b, c))
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        Traced::of([self, a, b], |[a, b, c]| Operation::AddMul(a, b, c), |[a, b, c]| a.add_product(b, c))
    }

    fn toward(self, target: Self, weight: AverageWeight<Self>) -> Self {
        let AverageWeight { weight, minus_kept } = weight;
        Traced::of(
            [self, target, weight, minus_kept],
            |[average, target, weight, minus_kept]| {
                Operation::Toward(average, target, AverageWeight { weight, minus_kept })
            },
            |[average, target, weight, minus_kept]| average.toward(target, AverageWeight { weight, minus_kept }),
        )
    }

    fn bias_corrected_ratio(self, s: Self, correction: &RatioCorrection<Self>) -> Self {
        let RatioCorrection { factor, term, m_weight, s_weight, epsilon } = *correction;
        fn correction_of<A>([factor, term, m_weight, s_weight, epsilon]: [A; 5]) -> RatioCorrection<A> {
            RatioCorrection { factor, term, m_weight, s_weight, epsilon }
        }
        Traced::of(
            [self, s, factor, term, m_weight, s_weight, epsilon],
            |[m, s, rest @ ..]| Operation::Ratio(m, s, correction_of(rest)),
            |[m, s, rest @ ..]| m.bias_corrected_ratio(s, &correction_of(rest)),
        )
    }

    fn named(self, part: &'static StepPart) -> Self {
        if let Traced::Node { tape, index, .. } = self {
            tape.parts.borrow_mut().push((index, part));
        }
        self
    }

    fn draw(arrow: &'static StepArrow, value: impl FnOnce() -> Self) {
        let value = value();
        if let Some(tape) = value.tape() {
            tape.arrows.borrow_mut().push((arrow, value.values()));
        }
    }
}

impl Scalar for Traced<'_> {
    fn value(self) -> f64 {
        self.values()[0]
    }

    fn computed(self, formula: &'static str, value: f64) -> Self {
        match self.tape() {
            Some(tape) => tape.symbol(Symbol::Computed(formula), [value; 2]),
            None => Traced::Constant(value),
        }
    }
}

/// A batch whose answers are recorded.
#[derive(Clone, Copy, Debug)]
pub struct TracedBatch<'t, B> {
    tape: &'t Tape,
    batch: B,
}

impl<'t, B> TracedBatch<'t, B> {
    pub fn new(tape: &'t Tape, batch: B) -> Self {
        TracedBatch { tape, batch }
    }
}

impl<'t, B: Batch<[f64; 2]>> Batch<Traced<'t>> for TracedBatch<'t, B> {
    fn gradient_at(self, theta: Traced<'t>) -> Traced<'t> {
        self.tape.push(Operation::GradientAt(theta.operand()), self.batch.gradient_at(theta.values()))
    }

    fn curvature(self) -> Traced<'t> {
        self.tape.symbol(Symbol::Curvature, self.batch.curvature())
    }
}
