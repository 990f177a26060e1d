//! Expression graphs: how each number of a rule or a loss is computed from others.
//!
//! A graph is recorded from code that is generic over [`Algebra`] ([`Traced`] numbers on a [`Tape`]), or read from a
//! text ([`language`](crate::language)). It is compiled to instructions ([`compile`]) and printed ([`print`]).

mod algebra;
pub(crate) mod compile;
pub mod print;
mod record;

pub use crate::lanes::{Arithmetic, Relation};
pub(crate) use algebra::orthogonal_column;
pub use algebra::{
    Algebra, ArrowRole, AverageWeight, AxesFunction, Condition, Fold, Function, NEWTON_SCHULZ, NEWTON_SCHULZ_EPSILON,
    NEWTON_SCHULZ_STEPS, PartRole, RatioCorrection, Scalar, StepArrow, StepPart,
};
pub use record::{Recorded, Tape, Traced};

use std::collections::HashMap;

/// A given number of a step or of a point of a landscape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    Theta,
    Gradient,
    LearningRate,
    WeightDecay,
    State(usize),
    Parameter(usize),
    /// The product of a parameter over the steps, βᵗ.
    Power(usize),
    Step,
    /// An estimate of the diagonal of the loss's Hessian.
    Curvature,
    /// A number that follows from others by this formula.
    Computed(&'static str),
    X,
    Y,
    /// φ, the angle of a landscape's rotation, in radians.
    Angle,
    /// The cosine of φ.
    Cosine,
    /// The sine of φ.
    Sine,
}

/// The origin of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    Constant(f64),
    Input(Input),
    Of(Op<NodeId>),
}

/// The index of a node in the graph. A node is computed from nodes with smaller indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// The kind of inputs on which a number depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependence {
    /// The number depends on parameters, t and φ only, and is computed once a step, or once a landscape.
    Uniform,
    /// The number also depends on the rates, which may differ between parameters.
    Rates,
    /// The number depends on a parameter's elements together, and is the same for all of them.
    Whole,
    /// The number depends on the element, or on the point of a landscape.
    Element,
}

/// An expression graph without duplicate nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    dependences: Vec<Dependence>,
    /// Whether each number is proved finite.
    finite: Vec<bool>,
    ids: HashMap<Key, NodeId>,
    most_nodes: usize,
}

/// The key of a node in a map. Constants are compared by their bits; 0 and −0 are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Constant(u64),
    Input(Input),
    Of(Op<NodeId>),
}

impl Key {
    fn of(node: Node) -> Key {
        match node {
            Node::Constant(value) => Key::Constant((value + 0.0).to_bits()),
            Node::Input(input) => Key::Input(input),
            Node::Of(op) => Key::Of(op),
        }
    }
}

impl Graph {
    /// The largest number of nodes of an expression that is written out as a formula. Where each number is used twice,
    /// the formula doubles with each level.
    pub(crate) const LARGEST_EXPRESSION: usize = 20_000;

    pub(crate) fn new(most_nodes: usize) -> Graph {
        Graph { nodes: Vec::new(), dependences: Vec::new(), finite: Vec::new(), ids: HashMap::new(), most_nodes }
    }

    pub(crate) fn find(&self, node: Node) -> Option<NodeId> {
        self.ids.get(&Key::of(node)).copied()
    }

    /// Interns a node; returns `None` if the graph is full.
    pub(crate) fn add(&mut self, node: Node) -> Option<NodeId> {
        let key = Key::of(node);
        if let Some(known) = self.ids.get(&key) {
            return Some(*known);
        }
        if self.nodes.len() == self.most_nodes {
            return None;
        }
        let id = self.push(node);
        self.ids.insert(key, id);
        Some(id)
    }

    /// Appends a node, also if the graph has an equal one, so that the nodes are in the order of a computation.
    pub(crate) fn push(&mut self, node: Node) -> NodeId {
        self.dependences.push(self.dependence_of(node));
        self.finite.push(self.is_finite_node(node));
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    pub(crate) fn constant(&mut self, value: f64) -> Option<NodeId> {
        self.add(Node::Constant(value))
    }

    /// Interns the coordinates `u = x cos φ + y sin φ` and `v = −x sin φ + y cos φ`.
    pub(crate) fn axes(&mut self) -> Option<[NodeId; 2]> {
        let [x, y] = [self.add(Node::Input(Input::X))?, self.add(Node::Input(Input::Y))?];
        let [cos, sin] = [self.add(Node::Input(Input::Cosine))?, self.add(Node::Input(Input::Sine))?];
        let mut of = |op| self.add(Node::Of(op));
        let [x_cos, y_sin] = [of(Op::Mul(x, cos))?, of(Op::Mul(y, sin))?];
        let [y_cos, x_sin] = [of(Op::Mul(y, cos))?, of(Op::Mul(x, sin))?];
        Some([of(Op::Add(x_cos, y_sin))?, of(Op::Sub(y_cos, x_sin))?])
    }

    pub(crate) fn most_nodes(&self) -> usize {
        self.most_nodes
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Lists all nodes; each follows those from which it is computed.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0]
    }

    pub fn dependence(&self, id: NodeId) -> Dependence {
        self.dependences[id.0]
    }

    /// Whether a number is proved finite wherever its inputs are, as far as sums and products do not overflow. A point
    /// and parameters are finite; gradients, states and the parameters of a network may not be.
    pub(crate) fn is_finite(&self, id: NodeId) -> bool {
        self.finite[id.0]
    }

    fn is_finite_node(&self, node: Node) -> bool {
        let op = match node {
            Node::Constant(value) => return value.is_finite(),
            Node::Input(input) => {
                return !matches!(
                    input,
                    Input::Theta | Input::Gradient | Input::Curvature | Input::State(_) | Input::Computed(_)
                );
            }
            Node::Of(op) => op,
        };
        let operands = op.operands();
        let constant = |id: NodeId| if let Node::Constant(value) = self.node(id) { Some(value) } else { None };
        // An operation on constants alone remains only where its result is not finite.
        let is_constant = operands.iter().all(|id| constant(*id).is_some());
        let has_finite_operands = operands.iter().all(|id| self.is_finite(*id));
        match op {
            Op::Compare(..) => true,
            Op::Div(_, by) => has_finite_operands && !is_constant && constant(by).is_some_and(|by| by != 0.0),
            Op::Sqrt(_) | Op::Pow(..) | Op::Function(Function::Exp | Function::Ln, _) => false,
            _ => has_finite_operands && !is_constant,
        }
    }

    fn dependence_of(&self, node: Node) -> Dependence {
        match node {
            Node::Constant(_) => Dependence::Uniform,
            Node::Input(input) => match input {
                Input::Parameter(_) | Input::Power(_) | Input::Step | Input::Computed(_) => Dependence::Uniform,
                Input::Angle | Input::Cosine | Input::Sine => Dependence::Uniform,
                Input::LearningRate | Input::WeightDecay => Dependence::Rates,
                Input::Theta | Input::Gradient | Input::Curvature | Input::State(_) => Dependence::Element,
                Input::X | Input::Y => Dependence::Element,
            },
            Node::Of(op) if op.is_reduction() => Dependence::Whole,
            Node::Of(op) => {
                let all = op.operands().into_iter().map(|operand| self.dependence(operand));
                all.max().unwrap_or(Dependence::Uniform)
            }
        }
    }

    /// The size of the largest expression of a node, written out without names.
    pub(crate) fn largest_expression(&self) -> usize {
        let mut sizes: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            sizes.push(match node {
                Node::Constant(_) | Node::Input(_) => 1,
                Node::Of(op) => {
                    op.operands().into_iter().fold(1, |size, operand| size.saturating_add(sizes[operand.0]))
                }
            });
        }
        sizes.into_iter().max().unwrap_or(0)
    }
}

/// An operation on operands of type `T`, such as nodes of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op<T> {
    Neg(T),
    Sqrt(T),
    Abs(T),
    Sign(T),
    Function(Function, T),
    /// [`Arithmetic::norm`]
    Norm(T),
    /// [`Arithmetic::mean`]
    Mean(T),
    /// [`Arithmetic::sum`]
    Sum(T),
    /// [`Algebra::block_mean`]
    BlockMean(T),
    /// [`Algebra::orthogonal`]
    Orthogonal(T),
    /// [`Arithmetic::exchanged`]
    Exchanged(T),
    /// The gradient at other parameters.
    GradientAt(T),
    /// [`Scalar::over_steps`]
    OverSteps(Fold, T),
    Add(T, T),
    Sub(T, T),
    Mul(T, T),
    Div(T, T),
    Pow(T, T),
    /// [`Arithmetic::larger`]
    Larger(T, T),
    /// [`Algebra::maximum`]
    Max(T, T),
    /// [`Algebra::minimum`]
    Min(T, T),
    Compare(Relation, T, T),
    /// The remainder of a division.
    Remainder(T, T),
    /// [`Algebra::by_shape`]: of matrices, and of others.
    ByShape(T, T),
    /// [`Algebra::of_axes`]; functions of fewer numbers repeat the first.
    OfAxes(AxesFunction, T, T, T),
    /// The second operand where the first is not 0, else the third.
    Select(T, T, T),
    /// `a b + c`, rounded once.
    MulAdd(T, T, T),
    /// `a + b c`, rounded once.
    AddMul(T, T, T),
    /// `c − a b`, rounded once.
    NegMulAdd(T, T, T),
    /// [`Algebra::toward`] from the first operand towards the second.
    Toward(T, T, AverageWeight<T>),
    /// [`Algebra::bias_corrected_ratio`] of two averages.
    Ratio(T, T, RatioCorrection<T>),
}

impl<T> Op<T> {
    /// Maps the operands of the operation.
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> Op<U> {
        match self {
            Op::Neg(a) => Op::Neg(of(a)),
            Op::Sqrt(a) => Op::Sqrt(of(a)),
            Op::Abs(a) => Op::Abs(of(a)),
            Op::Sign(a) => Op::Sign(of(a)),
            Op::Function(function, a) => Op::Function(function, of(a)),
            Op::Norm(a) => Op::Norm(of(a)),
            Op::Mean(a) => Op::Mean(of(a)),
            Op::Sum(a) => Op::Sum(of(a)),
            Op::BlockMean(a) => Op::BlockMean(of(a)),
            Op::Orthogonal(a) => Op::Orthogonal(of(a)),
            Op::Exchanged(a) => Op::Exchanged(of(a)),
            Op::GradientAt(a) => Op::GradientAt(of(a)),
            Op::OverSteps(fold, a) => Op::OverSteps(fold, of(a)),
            Op::Add(a, b) => Op::Add(of(a), of(b)),
            Op::Sub(a, b) => Op::Sub(of(a), of(b)),
            Op::Mul(a, b) => Op::Mul(of(a), of(b)),
            Op::Div(a, b) => Op::Div(of(a), of(b)),
            Op::Pow(a, b) => Op::Pow(of(a), of(b)),
            Op::Larger(a, b) => Op::Larger(of(a), of(b)),
            Op::Max(a, b) => Op::Max(of(a), of(b)),
            Op::Min(a, b) => Op::Min(of(a), of(b)),
            Op::Compare(relation, a, b) => Op::Compare(relation, of(a), of(b)),
            Op::Remainder(a, b) => Op::Remainder(of(a), of(b)),
            Op::OfAxes(function, a, b, c) => Op::OfAxes(function, of(a), of(b), of(c)),
            Op::ByShape(a, b) => Op::ByShape(of(a), of(b)),
            Op::Select(a, b, c) => Op::Select(of(a), of(b), of(c)),
            Op::MulAdd(a, b, c) => Op::MulAdd(of(a), of(b), of(c)),
            Op::AddMul(a, b, c) => Op::AddMul(of(a), of(b), of(c)),
            Op::NegMulAdd(a, b, c) => Op::NegMulAdd(of(a), of(b), of(c)),
            Op::Toward(a, b, weight) => Op::Toward(of(a), of(b), weight.map(of)),
            Op::Ratio(a, b, correction) => Op::Ratio(of(a), of(b), correction.map(of)),
        }
    }

    pub fn operands(self) -> Vec<T> {
        let mut operands = Vec::with_capacity(3);
        self.map(|operand| operands.push(operand));
        operands
    }

    /// Lists the operands that a formula of the operation shows.
    pub fn shown(self) -> Vec<T> {
        match self {
            Op::Toward(average, target, AverageWeight { weight, .. }) => vec![average, target, weight],
            Op::Ratio(m, s, RatioCorrection { m_weight, s_weight, epsilon, .. }) => {
                vec![m, s, m_weight, s_weight, epsilon]
            }
            Op::OfAxes(function, a, b, c) => [a, b, c].into_iter().take(function.operands()).collect(),
            op => op.operands(),
        }
    }

    /// Whether the result is the same for all elements of a parameter.
    pub(crate) fn is_reduction(&self) -> bool {
        matches!(self, Op::Norm(_) | Op::Mean(_) | Op::Sum(_))
    }
}

impl<T: Copy> Op<T> {
    /// Splits the operation from its first three operands; operands that it lacks are filled with the first.
    pub(crate) fn split(self) -> (Opcode, [T; 3]) {
        let operands = self.operands();
        let operand = |index: usize| operands.get(index).copied().unwrap_or(operands[0]);
        (self.map(|_| ()), [operand(0), operand(1), operand(2)])
    }
}

/// An operation without its operands.
pub type Opcode = Op<()>;

impl Opcode {
    /// Computes the result; operands that the operation lacks are ignored.
    #[inline(always)]
    pub(crate) fn result<A: Algebra>(self, a: &A, b: &A, c: &A) -> A {
        match self {
            Op::Neg(()) => -*a,
            Op::Sqrt(()) => a.sqrt(),
            Op::Abs(()) => a.abs(),
            Op::Sign(()) => a.sign(),
            Op::Function(function, ()) => a.function(function),
            Op::Norm(()) => a.norm(),
            Op::Mean(()) => a.mean(),
            Op::Sum(()) => a.sum(),
            Op::Add((), ()) => *a + *b,
            Op::Sub((), ()) => *a - *b,
            Op::Mul((), ()) => *a * *b,
            Op::Div((), ()) => *a / *b,
            Op::Pow((), ()) => a.power(*b),
            Op::Larger((), ()) => a.larger(*b),
            Op::Max((), ()) => a.maximum(*b),
            Op::Min((), ()) => a.minimum(*b),
            Op::Compare(relation, (), ()) => a.compared(relation, *b),
            Op::Select((), (), ()) => a.choose(*b, *c),
            Op::MulAdd((), (), ()) => a.mul_add(*b, *c),
            Op::AddMul((), (), ()) => a.add_product(*b, *c),
            Op::NegMulAdd((), (), ()) => c.add_product(-*a, *b),
            Op::BlockMean(()) | Op::Orthogonal(()) | Op::Exchanged(()) | Op::GradientAt(()) | Op::ByShape(..) => {
                unreachable!("programs have no operations on blocks, matrices and batches")
            }
            Op::OverSteps(..) | Op::Remainder(..) | Op::OfAxes(..) => unreachable!("they are recorded to be printed"),
            Op::Toward(..) | Op::Ratio(..) => unreachable!("programs have no running averages"),
        }
    }
}
