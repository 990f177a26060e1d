//! Numbers that record how they are computed, as the graph of a rule's step or of a loss.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::algebra::{
    Algebra, AverageWeight, AxesFunction, Fold, Function, RatioCorrection, Scalar, StepArrow, StepPart,
};
use super::{Graph, Input, Node, NodeId, Op};
use crate::lanes::{Arithmetic, Lanes, Planar, Relation};

/// The record of a computation, in its order.
#[derive(Debug)]
pub struct Tape {
    /// Whether parameters may have any shape; else they are x and y.
    has_shapes: bool,
    /// Whether the record is of all steps, with both branches of conditions; else of one.
    is_of_all_steps: bool,
    record: RefCell<Recorded>,
}

#[derive(Debug)]
pub struct Recorded {
    pub graph: Graph,
    /// The value of each node for the coordinates x and y.
    pub values: Vec<[f64; 2]>,
    /// The named nodes, in the order of naming.
    pub parts: Vec<(NodeId, &'static StepPart)>,
    pub arrows: Vec<(&'static StepArrow, [f64; 2])>,
}

impl Default for Tape {
    fn default() -> Tape {
        let graph = Graph::new(usize::MAX);
        let record = Recorded { graph, values: Vec::new(), parts: Vec::new(), arrows: Vec::new() };
        Tape { has_shapes: false, is_of_all_steps: false, record: RefCell::new(record) }
    }
}

impl Tape {
    /// Creates a tape for parameters of any shape.
    pub fn with_shapes() -> Tape {
        Tape { has_shapes: true, ..Tape::default() }
    }

    /// Creates a tape for all steps of parameters of any shape. Its values have no meaning.
    pub fn of_all_steps() -> Tape {
        Tape { is_of_all_steps: true, ..Tape::with_shapes() }
    }

    pub fn input(&self, input: Input, values: [f64; 2]) -> Traced<'_> {
        self.push(Node::Input(input), values)
    }

    pub(crate) fn gradient_at(&self, theta: Traced<'_>, values: [f64; 2]) -> Traced<'_> {
        self.push(Node::Of(Op::GradientAt(self.id(theta))), values)
    }

    /// The node of a number; a new one for a constant.
    pub fn id(&self, number: Traced<'_>) -> NodeId {
        match number {
            Traced::Node { id, .. } => id,
            Traced::Constant(value) => {
                let mut record = self.record.borrow_mut();
                record.values.push([value; 2]);
                record.graph.push(Node::Constant(value))
            }
        }
    }

    pub fn recorded(self) -> Recorded {
        self.record.into_inner()
    }

    fn push(&self, node: Node, values: [f64; 2]) -> Traced<'_> {
        let mut record = self.record.borrow_mut();
        record.values.push(values);
        Traced::Node { tape: self, id: record.graph.push(node), values }
    }
}

/// A number for both coordinates that records how it is computed. It has the values that a plain float would have.
#[derive(Clone, Copy, Debug)]
pub enum Traced<'t> {
    Constant(f64),
    Node { tape: &'t Tape, id: NodeId, values: [f64; 2] },
}

impl<'t> Traced<'t> {
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

    /// Records an operation of each coordinate alone; an operation on constants becomes a constant.
    fn of(op: Op<Traced<'t>>) -> Traced<'t> {
        let value = |axis: usize| {
            let (operation, [a, b, c]) = op.map(|number| number.values()[axis]).split();
            operation.result(&a, &b, &c)
        };
        Traced::with_values(op, [value(0), value(1)])
    }

    fn with_values(op: Op<Traced<'t>>, values: [f64; 2]) -> Traced<'t> {
        match op.operands().into_iter().find_map(Traced::tape) {
            Some(tape) => tape.push(Node::Of(op.map(|number| tape.id(number))), values),
            None => Traced::Constant(values[0]),
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Traced<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Traced::of(Op::$trait(self, other))
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Traced<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        Traced::of(Op::Neg(self))
    }
}

impl Arithmetic for Traced<'_> {
    fn splat(value: f64) -> Self {
        Traced::Constant(value)
    }

    fn sqrt(self) -> Self {
        Traced::of(Op::Sqrt(self))
    }

    fn abs(self) -> Self {
        Traced::of(Op::Abs(self))
    }

    fn mul_add(self, factor: Self, term: Self) -> Self {
        Traced::of(Op::MulAdd(self, factor, term))
    }

    fn sign(self) -> Self {
        Traced::of(Op::Sign(self))
    }

    fn larger(self, other: Self) -> Self {
        Traced::of(Op::Larger(self, other))
    }

    fn compared(self, relation: Relation, other: Self) -> Self {
        Traced::of(Op::Compare(relation, self, other))
    }

    fn choose(self, then: Self, otherwise: Self) -> Self {
        Traced::of(Op::Select(self, then, otherwise))
    }

    fn norm(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values(Op::Norm(self), [x.mul_add(x, y * y).sqrt(); 2])
    }

    fn mean(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values(Op::Mean(self), [0.5 * (x + y); 2])
    }

    fn sum(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values(Op::Sum(self), [x + y; 2])
    }

    fn exchanged(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values(Op::Exchanged(self), [y, x])
    }
}

impl Algebra for Traced<'_> {
    fn maximum(self, other: Self) -> Self {
        Traced::of(Op::Max(self, other))
    }

    fn minimum(self, other: Self) -> Self {
        Traced::of(Op::Min(self, other))
    }

    fn function(self, function: Function) -> Self {
        Traced::of(Op::Function(function, self))
    }

    fn power(self, exponent: Self) -> Self {
        Traced::of(Op::Pow(self, exponent))
    }

    fn block_mean(self) -> Self {
        let [x, y] = self.values();
        Traced::with_values(Op::BlockMean(self), [0.5 * (x + y); 2])
    }

    fn orthogonal(self) -> Self {
        let both = Lanes::<f64, 1>::both(self.values().map(|value| Lanes([value])));
        let values = Lanes::<f64, 1>::apart(both.orthogonal()).map(|Lanes([value])| value);
        Traced::with_values(Op::Orthogonal(self), values)
    }

    fn by_shape(matrix: Self, other: impl FnOnce() -> Self) -> Self {
        match matrix.tape() {
            Some(tape) if tape.has_shapes => Traced::with_values(Op::ByShape(matrix, other()), matrix.values()),
            _ => matrix,
        }
    }

    fn of_axes(function: AxesFunction, operands: [Self; 3]) -> Option<Self> {
        let [a, b, c] = operands;
        let is_recorded = a.tape().is_some_and(|tape| tape.is_of_all_steps);
        is_recorded.then(|| Traced::with_values(Op::OfAxes(function, a, b, c), a.values()))
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        Traced::of(Op::AddMul(self, a, b))
    }

    fn toward(self, target: Self, weight: AverageWeight<Self>) -> Self {
        let value = |axis: usize| {
            let of = |number: Traced<'_>| number.values()[axis];
            of(self).toward(of(target), weight.map(of))
        };
        Traced::with_values(Op::Toward(self, target, weight), [value(0), value(1)])
    }

    fn bias_corrected_ratio(self, s: Self, correction: &RatioCorrection<Self>) -> Self {
        let value = |axis: usize| {
            let of = |number: Traced<'_>| number.values()[axis];
            of(self).bias_corrected_ratio(of(s), &correction.map(of))
        };
        Traced::with_values(Op::Ratio(self, s, *correction), [value(0), value(1)])
    }

    fn named(self, part: &'static StepPart) -> Self {
        if let Traced::Node { tape, id, .. } = self {
            tape.record.borrow_mut().parts.push((id, part));
        }
        self
    }

    fn draw(arrow: &'static StepArrow, value: impl FnOnce() -> Self) {
        let value = value();
        if let Some(tape) = value.tape() {
            tape.record.borrow_mut().arrows.push((arrow, value.values()));
        }
    }
}

impl Scalar for Traced<'_> {
    fn value(self) -> f64 {
        self.values()[0]
    }

    fn computed(self, formula: &'static str, value: f64, expression: impl FnOnce(Self) -> Self) -> Self {
        match self.tape() {
            Some(tape) if tape.is_of_all_steps => expression(tape.input(Input::LearningRate, [value; 2])),
            Some(tape) => tape.input(Input::Computed(formula), [value; 2]),
            None => Traced::Constant(value),
        }
    }

    fn is_multiple_of(self, of: Self) -> Self {
        let [value, divisor] = [self.value(), of.value()];
        Traced::with_values(Op::Remainder(self, of), [value % divisor; 2]).compared(Relation::Equal, Traced::splat(0.0))
    }

    fn over_steps(self, fold: Fold) -> Self {
        Traced::with_values(Op::OverSteps(fold, self), self.values())
    }

    fn can_hold_and_fail(self) -> [bool; 2] {
        match self.tape() {
            Some(tape) if tape.is_of_all_steps => [true; 2],
            _ => [self.value() != 0.0, self.value() == 0.0],
        }
    }
}
