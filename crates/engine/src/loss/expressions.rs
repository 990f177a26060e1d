//! This module simplifies expressions as they are made: it folds constants, drops zeros and ones, multiplies whole
//! powers out, and collects factors that are the same at all points.
//!
//! `0*f`, `0/f` and `f - f` become 0 only where f is [proved finite](Graph::is_finite) as far as sums and products do not
//! overflow: where the loss is NaN for other reasons, it stays NaN.

use super::MOST_PARAMETERS;
use crate::language::{Dependence, Graph, Input, Node, NodeId, Op};
use crate::optimizer::Function;

/// A graph of simplified expressions, with the coordinates of a point.
#[derive(Clone, Debug)]
pub(super) struct Expressions {
    graph: Graph,
    /// Whether a node had no room, or too many were made; the nodes that follow have no meaning.
    is_full: bool,
    /// The number of operations that were simplified.
    made: usize,
    /// x and y
    pub xy: [NodeId; 2],
    /// u and v
    pub uv: [NodeId; 2],
    pub parameters: Vec<NodeId>,
}

/// The largest whole exponent whose power is multiplied out.
pub(super) const LARGEST_EXPONENT: f64 = 64.0;

impl Expressions {
    /// The largest number of nodes of a loss and its derivatives.
    pub(super) const MOST_NODES: usize = 4096;
    /// The largest number of operations that are simplified. Most operations of derivatives exist already.
    const MOST_MADE: usize = 100 * Self::MOST_NODES;

    pub(super) fn new() -> Expressions {
        let none = NodeId::default();
        let mut new = Expressions {
            graph: Graph::new(Self::MOST_NODES),
            is_full: false,
            made: 0,
            xy: [none; 2],
            uv: [none; 2],
            parameters: Vec::new(),
        };
        new.xy = [new.input(Input::X), new.input(Input::Y)];
        let [x, y] = new.xy;
        let (cos, sin) = (new.input(Input::Cosine), new.input(Input::Sine));
        let mut product = |a, b| new.of(Op::Mul(a, b));
        let [x_cos, y_sin, y_cos, x_sin] = [product(x, cos), product(y, sin), product(y, cos), product(x, sin)];
        new.uv = [new.of(Op::Add(x_cos, y_sin)), new.of(Op::Sub(y_cos, x_sin))];
        new.parameters = (0..MOST_PARAMETERS).map(|index| new.input(Input::Parameter(index))).collect();
        new
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn node(&self, id: NodeId) -> Node {
        self.graph.node(id)
    }

    pub(super) fn constant(&mut self, value: f64) -> NodeId {
        self.add(Node::Constant(value))
    }

    pub(super) fn input(&mut self, input: Input) -> NodeId {
        self.add(Node::Input(input))
    }

    /// Copies a number of another graph, in which no number is of a whole parameter.
    pub(super) fn copy(&mut self, graph: &Graph, of: NodeId) -> NodeId {
        let mut copied: Vec<NodeId> = Vec::with_capacity(of.0 + 1);
        for index in 0..=of.0 {
            copied.push(match graph.node(NodeId(index)) {
                Node::Of(op) => self.of(op.map(|operand| copied[operand.0])),
                node => self.add(node),
            });
        }
        copied[of.0]
    }

    /// Copies a number without the rest of its graph, operands first, so that equal expressions have equal graphs
    /// however they were made.
    pub(super) fn in_order(&self, of: NodeId) -> (Expressions, NodeId) {
        let mut ordered = Expressions { is_full: self.is_full, ..Expressions::new() };
        let mut copied: Vec<Option<NodeId>> = vec![None; self.graph.len()];
        let mut open = vec![of];
        while let Some(&id) = open.last() {
            let node = self.node(id);
            let operands = if let Node::Of(op) = node { op.operands() } else { Vec::new() };
            let missing = operands.into_iter().find(|operand| copied[operand.0].is_none());
            if let Some(operand) = missing {
                open.push(operand);
                continue;
            }
            copied[id.0] = Some(ordered.add(match node {
                Node::Of(op) => Node::Of(op.map(|operand| copied[operand.0].expect("it was copied before"))),
                node => node,
            }));
            open.pop();
        }
        (ordered, copied[of.0].expect("it was copied last"))
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.graph.add(node).unwrap_or_else(|| {
            self.is_full = true;
            NodeId::default()
        })
    }

    /// Interns an operation on two operands, or returns the node with the same operands in the other order.
    fn add_of_either_order(&mut self, make: fn(NodeId, NodeId) -> Op<NodeId>, a: NodeId, b: NodeId) -> NodeId {
        match self.graph.find(Node::Of(make(b, a))) {
            Some(known) => known,
            None => self.add(Node::Of(make(a, b))),
        }
    }

    pub(super) fn value(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(value) => Some(value),
            Node::Input(_) | Node::Of(_) => None,
        }
    }

    pub(super) fn is_uniform(&self, id: NodeId) -> bool {
        self.graph.dependence(id) == Dependence::Uniform
    }

    /// Returns the number whose negative a node is, unless it is the same at all points.
    fn negated(&self, id: NodeId) -> Option<NodeId> {
        match self.node(id) {
            Node::Of(Op::Neg(of)) if !self.is_uniform(id) => Some(of),
            _ => None,
        }
    }

    /// Simplifies an operation and interns it.
    pub(super) fn of(&mut self, op: Op<NodeId>) -> NodeId {
        self.made += 1;
        self.is_full |= self.made > Self::MOST_MADE;
        if let Some(value) = self.folded(op) {
            return self.constant(value);
        }
        match op {
            Op::Neg(a) => self.negative(a),
            Op::Add(a, b) => self.sum(a, b),
            Op::Sub(a, b) => self.difference(a, b),
            Op::Mul(a, b) => self.product(a, b),
            Op::Div(a, b) => self.quotient(a, b),
            Op::Pow(a, b) => self.power(a, b),
            Op::Abs(a) => match self.node(a) {
                Node::Of(Op::Neg(a) | Op::Abs(a)) => self.of(Op::Abs(a)),
                _ => self.add(Node::Of(op)),
            },
            Op::Function(function @ (Function::Sin | Function::Cos), a) => match (self.negated(a), function) {
                (Some(a), Function::Cos) => self.of(Op::Function(function, a)),
                (Some(a), _) => {
                    let sin = self.of(Op::Function(function, a));
                    self.negative(sin)
                }
                _ => self.add(Node::Of(op)),
            },
            Op::Max(a, b) | Op::Min(a, b) if a == b => a,
            Op::Select(_, a, b) if a == b => a,
            Op::Select(condition, a, b) => match self.value(condition) {
                Some(value) => {
                    if value != 0.0 {
                        a
                    } else {
                        b
                    }
                }
                None => self.add(Node::Of(op)),
            },
            other => self.add(Node::Of(other)),
        }
    }

    /// Returns the value of an operation on constants, if it is finite.
    fn folded(&self, op: Op<NodeId>) -> Option<f64> {
        let operands = op.operands();
        if !operands.iter().all(|operand| self.value(*operand).is_some()) {
            return None;
        }
        let (operation, operands) = op.map(|id| self.value(id).expect("they are constants")).split();
        let [a, b, c] = operands;
        Some(operation.result(&a, &b, &c)).filter(|value| value.is_finite())
    }

    fn negative(&mut self, a: NodeId) -> NodeId {
        match self.node(a) {
            Node::Constant(value) => self.constant(-value),
            Node::Of(Op::Neg(of)) => of,
            Node::Of(Op::Sub(a, b)) => self.difference(b, a),
            Node::Of(Op::Mul(a, b)) if self.is_uniform(a) => {
                let minus = self.negative(a);
                self.product(minus, b)
            }
            _ => self.add(Node::Of(Op::Neg(a))),
        }
    }

    fn sum(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.value(a) == Some(0.0) {
            return b;
        }
        if self.value(b) == Some(0.0) {
            return a;
        }
        if a == b {
            let two = self.constant(2.0);
            return self.product(two, a);
        }
        if let Some(b) = self.opposite(b) {
            return self.difference(a, b);
        }
        if let Node::Of(Op::Add(first, second)) = self.node(a) {
            // The sum (c + b) + b is c + 2 b.
            if second == b {
                let twice = self.sum(b, b);
                return self.sum(first, twice);
            }
        }
        match self.opposite(a) {
            Some(a) => self.difference(b, a),
            None => self.add_of_either_order(Op::Add, a, b),
        }
    }

    fn difference(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if a == b && self.graph.is_finite(a) {
            return self.constant(0.0);
        }
        if self.value(a) == Some(0.0) {
            return self.negative(b);
        }
        if self.value(b) == Some(0.0) {
            return a;
        }
        match self.opposite(b) {
            Some(b) => self.sum(a, b),
            None => self.add(Node::Of(Op::Sub(a, b))),
        }
    }

    /// Returns the negative of a number that has a minus sign in front: of a negation, or of a negative constant or
    /// factor.
    fn opposite(&mut self, id: NodeId) -> Option<NodeId> {
        match self.node(id) {
            Node::Constant(value) if value < 0.0 => Some(self.constant(-value)),
            Node::Of(Op::Neg(of)) => Some(of),
            Node::Of(Op::Mul(factor, of)) if self.is_uniform(factor) => {
                let factor = self.opposite(factor)?;
                Some(self.product(factor, of))
            }
            Node::Constant(_) | Node::Input(_) | Node::Of(_) => None,
        }
    }

    pub(super) fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if let (Some(a), Some(b)) = (self.value(a), self.value(b))
            && (a * b).is_finite()
        {
            return self.constant(a * b);
        }
        // Constants stand before what is the same at all points, and that before all others.
        let rank = |id: NodeId| (!self.is_uniform(id), self.value(id).is_none());
        let (a, b) = if rank(b) < rank(a) { (b, a) } else { (a, b) };
        match self.value(a) {
            Some(0.0) if self.graph.is_finite(b) => return a,
            Some(1.0) => return b,
            Some(-1.0) => return self.negative(b),
            _ => {}
        }
        match (self.node(a), self.node(b)) {
            // The product c (d x) is (c d) x, where c and d are the same at all points.
            (_, Node::Of(Op::Mul(c, d))) if self.is_uniform(a) && self.is_uniform(c) => {
                let uniform = match (self.value(a), self.value(c)) {
                    (Some(a), Some(c)) if (a * c).is_finite() => self.constant(a * c),
                    _ if self.is_uniform(b) => return self.add_of_either_order(Op::Mul, a, b),
                    _ => self.product(a, c),
                };
                self.product(uniform, d)
            }
            // The product (c x) y is c (x y).
            (Node::Of(Op::Mul(c, d)), _) if self.is_uniform(c) && !self.is_uniform(a) => {
                let product = self.product(d, b);
                self.product(c, product)
            }
            (_, Node::Of(Op::Mul(c, d))) if self.is_uniform(c) && !self.is_uniform(b) => {
                let product = self.product(a, d);
                self.product(c, product)
            }
            (Node::Of(Op::Abs(of)), Node::Of(Op::Abs(same))) if of == same => self.product(of, of),
            _ => match (self.negated(a), self.negated(b)) {
                (Some(a), Some(b)) => self.product(a, b),
                (Some(a), None) => self.negative_product(a, b),
                (None, Some(b)) => self.negative_product(a, b),
                (None, None) => self.add_of_either_order(Op::Mul, a, b),
            },
        }
    }

    fn negative_product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let product = self.product(a, b);
        self.negative(product)
    }

    fn quotient(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (self.value(a), self.value(b)) {
            (_, Some(1.0)) => return a,
            // The quotient by a power of 2 is the product with its reciprocal.
            (_, Some(by)) if by.is_normal() && by.recip().is_normal() && by.to_bits() << 12 == 0 => {
                let reciprocal = self.constant(by.recip());
                return self.product(reciprocal, a);
            }
            _ => {}
        }
        match (self.negated(a), self.negated(b)) {
            (Some(a), Some(b)) => self.quotient(a, b),
            (Some(a), None) => self.negative_quotient(a, b),
            (None, Some(b)) => self.negative_quotient(a, b),
            (None, None) => self.add(Node::Of(Op::Div(a, b))),
        }
    }

    fn negative_quotient(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let quotient = self.quotient(a, b);
        self.negative(quotient)
    }

    fn power(&mut self, base: NodeId, exponent: NodeId) -> NodeId {
        match self.value(exponent) {
            Some(exponent) if exponent.fract() == 0.0 && exponent.abs() <= LARGEST_EXPONENT => {
                let power = self.whole_power(base, exponent.abs() as u32);
                if exponent >= 0.0 {
                    return power;
                }
                let one = self.constant(1.0);
                self.quotient(one, power)
            }
            Some(0.5) => self.of(Op::Sqrt(base)),
            Some(-0.5) => {
                let (one, root) = (self.constant(1.0), self.of(Op::Sqrt(base)));
                self.quotient(one, root)
            }
            _ if self.value(base) == Some(1.0) => base,
            _ => self.add(Node::Of(Op::Pow(base, exponent))),
        }
    }

    fn whole_power(&mut self, base: NodeId, exponent: u32) -> NodeId {
        match exponent {
            0 => self.constant(1.0),
            1 => base,
            _ if exponent.is_multiple_of(2) => {
                let root = self.whole_power(base, exponent / 2);
                self.product(root, root)
            }
            _ => {
                let rest = self.whole_power(base, exponent - 1);
                self.product(rest, base)
            }
        }
    }
}
