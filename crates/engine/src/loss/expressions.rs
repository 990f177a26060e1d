//! Simplified expressions of losses, and their derivatives. An expression is simplified as it is made: constants are
//! folded, zeros and ones dropped, whole powers multiplied out, and factors that are the same at all points collected.
//!
//! `0*f`, `0/f` and `f - f` become 0 only where f is [proved finite](Graph::is_finite) as far as sums and products do
//! not overflow: where the loss is NaN for other reasons, it stays NaN.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::MOST_PARAMETERS;
use crate::expression::{Dependence, Function, Graph, Input, Node, NodeId, Op, Relation};

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

    /// Copies a number of another graph, which must have no functions of a whole parameter.
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

    /// The number whose negative a node is, unless it is the same at all points.
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
            Op::MulAdd(a, b, c) | Op::AddMul(c, a, b) => {
                let product = self.product(a, b);
                self.sum(product, c)
            }
            Op::Larger(a, b) => self.of(Op::Max(a, b)),
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

    /// The value of an operation on constants, if it is finite.
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

    /// The negative of a number that has a minus sign in front: of a negation, or of a negative constant or factor.
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
        // Constants are first, then numbers that are the same at all points, then all others.
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

/// The derivatives of a number with respect to two others, which are not derived further, by reverse mode.
///
/// `abs`, `max`, `min`, `where` and comparisons have the derivative of the branch taken, and 0 at the corner of a tie.
/// Each branch is derived separately, so that an infinite derivative of the branch not taken has no effect.
///
/// A number that the result does not depend on adds nothing, whatever its own derivative: neither a constant branch nor
/// a factor of a constant 0.
///
/// `abs(x)^p` and `sign(x)*abs(x)^p` have the derivative 0 at x = 0 also where p < 1: there it has no finite value, and
/// a point exactly at 0 should not diverge.
pub(super) fn gradient(expressions: &mut Expressions, of: NodeId, by: [NodeId; 2]) -> [NodeId; 2] {
    let mut branches = BTreeSet::new();
    for id in reachable(expressions, of) {
        if let Node::Of(Op::Select(_, a, b) | Op::Max(a, b) | Op::Min(a, b)) = expressions.node(id) {
            branches.extend([a, b]);
        }
    }
    let mut pass = Pass { expressions, by, known: HashMap::new() };
    // A branch inside of another has a smaller index and is derived first.
    for branch in branches {
        let gradient = pass.run(branch);
        pass.known.insert(branch, gradient);
    }
    pass.run(of)
}

/// A number and those that it is computed from, as far as they differ between points.
fn reachable(expressions: &Expressions, of: NodeId) -> BTreeSet<NodeId> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![of]);
    while let Some(id) = open.pop() {
        if !expressions.is_uniform(id)
            && reached.insert(id)
            && let Node::Of(op) = expressions.node(id)
        {
            open.extend(op.operands());
        }
    }
    reached
}

struct Pass<'a> {
    expressions: &'a mut Expressions,
    by: [NodeId; 2],
    /// The gradients of branches.
    known: HashMap<NodeId, [NodeId; 2]>,
}

/// The derivatives of the result by numbers whose own operands have not been reached.
type Adjoints = BTreeMap<NodeId, NodeId>;

impl Pass<'_> {
    fn run(&mut self, of: NodeId) -> [NodeId; 2] {
        let zero = self.expressions.constant(0.0);
        let mut result = [zero; 2];
        let mut adjoints = Adjoints::new();
        let one = self.expressions.constant(1.0);
        self.add(&mut adjoints, of, one);
        while let Some((id, adjoint)) = adjoints.pop_last() {
            if let Some(index) = self.by.iter().position(|by| *by == id) {
                result[index] = adjoint;
            } else if self.is_zero(adjoint) {
                // Terms have cancelled.
            } else if let Node::Of(op) = self.expressions.node(id) {
                self.pass_on(&mut adjoints, id, op, adjoint);
            }
            if self.expressions.is_full() {
                break;
            }
        }
        result
    }

    fn of(&mut self, op: Op<NodeId>) -> NodeId {
        self.expressions.of(op)
    }

    fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.of(Op::Mul(a, b))
    }

    fn is_zero(&self, id: NodeId) -> bool {
        self.expressions.value(id) == Some(0.0)
    }

    fn add(&mut self, adjoints: &mut Adjoints, to: NodeId, term: NodeId) {
        if self.expressions.is_uniform(to) || self.is_zero(term) {
            return;
        }
        let sum = match adjoints.get(&to) {
            Some(sum) => self.of(Op::Add(*sum, term)),
            None => term,
        };
        adjoints.insert(to, sum);
    }

    /// Applies the chain rule: adds `adjoint`, the derivative of the result by a number, to the derivatives by the
    /// operands of that number.
    fn pass_on(&mut self, adjoints: &mut Adjoints, id: NodeId, op: Op<NodeId>, adjoint: NodeId) {
        match op {
            Op::Neg(a) => {
                let term = self.of(Op::Neg(adjoint));
                self.add(adjoints, a, term);
            }
            Op::Add(a, b) => {
                self.add(adjoints, a, adjoint);
                self.add(adjoints, b, adjoint);
            }
            Op::Sub(a, b) => {
                self.add(adjoints, a, adjoint);
                let term = self.of(Op::Neg(adjoint));
                self.add(adjoints, b, term);
            }
            Op::Mul(a, b) => self.pass_on_product(adjoints, [a, b], adjoint),
            Op::Div(a, b) => {
                let by_a = self.of(Op::Div(adjoint, b));
                self.add(adjoints, a, by_a);
                if !self.expressions.is_uniform(b) {
                    let product = self.product(by_a, id);
                    let term = self.of(Op::Neg(product));
                    self.add(adjoints, b, term);
                }
            }
            Op::Pow(a, b) => self.pass_on_power(adjoints, id, [a, b], adjoint),
            Op::Abs(a) => {
                let sign = self.of(Op::Sign(a));
                let term = self.product(adjoint, sign);
                self.add(adjoints, a, term);
            }
            Op::Sqrt(a) if matches!(self.expressions.node(a), Node::Of(Op::Abs(_))) => {
                let half = self.expressions.constant(0.5);
                self.pass_on_power(adjoints, id, [a, half], adjoint);
            }
            Op::Sqrt(a) => {
                let two = self.expressions.constant(2.0);
                let twice = self.product(two, id);
                let term = self.of(Op::Div(adjoint, twice));
                self.add(adjoints, a, term);
            }
            Op::Function(function, a) => {
                let term = self.of_function(function, a, id, adjoint);
                self.add(adjoints, a, term);
            }
            Op::Select(condition, a, b) => {
                self.pass_on_branches(adjoints, [a, b], adjoint, |pass, [a, b]| pass.of(Op::Select(condition, a, b)));
            }
            Op::Max(a, b) => self.pass_on_larger(adjoints, [a, b], [a, b], adjoint),
            Op::Min(a, b) => self.pass_on_larger(adjoints, [b, a], [a, b], adjoint),
            Op::Sign(_) | Op::Compare(..) => {}
            _ => unreachable!("a simplified loss has no other operations"),
        }
    }

    fn pass_on_product(&mut self, adjoints: &mut Adjoints, [a, b]: [NodeId; 2], adjoint: NodeId) {
        // The derivative of sign(x)|x|ᵖ is p|x|ᵖ⁻¹, also at 0.
        if let Node::Of(Op::Sign(of)) = self.expressions.node(a)
            && let Some(exponent) = self.exponent_of_size(b, of)
        {
            let power = self.lowered_power_of_size(of, exponent);
            let slope = self.product(exponent, power);
            let term = self.product(adjoint, slope);
            return self.add(adjoints, of, term);
        }
        if !self.expressions.is_uniform(a) {
            let term = self.product(adjoint, b);
            self.add(adjoints, a, term);
        }
        if !self.is_zero(a) {
            let term = self.product(adjoint, a);
            self.add(adjoints, b, term);
        }
    }

    /// `p − 1`, and 0 where p is 0, so that `p xᵖ⁻¹` is 0 there, also at x = 0.
    fn lowered(&mut self, exponent: NodeId) -> NodeId {
        let one = self.expressions.constant(1.0);
        let less = self.of(Op::Sub(exponent, one));
        let zero = self.expressions.constant(0.0);
        self.of(Op::Select(exponent, less, zero))
    }

    /// The exponent p of `|x|ᵖ`, also where that is chosen at x ≠ 0 only.
    fn exponent_of_size(&mut self, power: NodeId, x: NodeId) -> Option<NodeId> {
        let power = match self.expressions.node(power) {
            Node::Of(Op::Select(condition, power, _)) if condition == x => power,
            _ => power,
        };
        let (size, exponent) = match self.expressions.node(power) {
            Node::Of(Op::Pow(size, exponent)) if self.expressions.is_uniform(exponent) => (size, exponent),
            Node::Of(Op::Sqrt(size)) => (size, self.expressions.constant(0.5)),
            Node::Of(Op::Abs(_)) => (power, self.expressions.constant(1.0)),
            _ => return None,
        };
        (self.expressions.node(size) == Node::Of(Op::Abs(x))).then_some(exponent)
    }

    /// `|x|ᵖ⁻¹`; at x = 0 it is 1 for p = 1 and else 0, not infinite where p < 1.
    fn lowered_power_of_size(&mut self, x: NodeId, exponent: NodeId) -> NodeId {
        let lowered = self.lowered(exponent);
        let size = self.of(Op::Abs(x));
        let power = self.of(Op::Pow(size, lowered));
        if self.expressions.value(lowered).is_some_and(|lowered| lowered >= 0.0) {
            return power;
        }
        let one = self.expressions.constant(1.0);
        let at_zero = self.of(Op::Compare(Relation::Equal, exponent, one));
        self.of(Op::Select(x, power, at_zero))
    }

    fn pass_on_power(&mut self, adjoints: &mut Adjoints, id: NodeId, [a, b]: [NodeId; 2], adjoint: NodeId) {
        if !self.expressions.is_uniform(a) {
            match self.expressions.node(a) {
                Node::Of(Op::Abs(of)) if self.expressions.is_uniform(b) => {
                    let sign = self.of(Op::Sign(of));
                    let power = self.lowered_power_of_size(of, b);
                    let signed = self.product(sign, power);
                    let slope = self.product(b, signed);
                    let term = self.product(adjoint, slope);
                    self.add(adjoints, of, term);
                }
                _ => {
                    let lowered = self.lowered(b);
                    let power = self.of(Op::Pow(a, lowered));
                    let slope = self.product(b, power);
                    let term = self.product(adjoint, slope);
                    self.add(adjoints, a, term);
                }
            }
        }
        if !self.expressions.is_uniform(b) {
            let logarithm = self.of(Op::Function(Function::Ln, a));
            let slope = self.product(id, logarithm);
            // The derivative of 0ᵇ by b is 0.
            let slope = self.of(Op::Select(a, slope, a));
            let term = self.product(adjoint, slope);
            self.add(adjoints, b, term);
        }
    }

    fn of_function(&mut self, function: Function, a: NodeId, id: NodeId, adjoint: NodeId) -> NodeId {
        match function {
            Function::Exp => self.product(adjoint, id),
            Function::Ln => self.of(Op::Div(adjoint, a)),
            Function::Tanh => {
                let square = self.product(id, id);
                let one = self.expressions.constant(1.0);
                let slope = self.of(Op::Sub(one, square));
                self.product(adjoint, slope)
            }
            Function::Sin => {
                let cos = self.of(Op::Function(Function::Cos, a));
                self.product(adjoint, cos)
            }
            Function::Cos => {
                let sin = self.of(Op::Function(Function::Sin, a));
                let product = self.product(adjoint, sin);
                self.of(Op::Neg(product))
            }
        }
    }

    /// Adds the derivative of the branch that a maximum or a minimum takes; 0 where the branches are equal.
    fn pass_on_larger(
        &mut self,
        adjoints: &mut Adjoints,
        [larger, smaller]: [NodeId; 2],
        branches: [NodeId; 2],
        adjoint: NodeId,
    ) {
        let first = self.of(Op::Compare(Relation::Less, smaller, larger));
        let second = self.of(Op::Compare(Relation::Less, larger, smaller));
        self.pass_on_branches(adjoints, branches, adjoint, |pass, [a, b]| {
            let zero = pass.expressions.constant(0.0);
            let otherwise = pass.of(Op::Select(second, b, zero));
            pass.of(Op::Select(first, a, otherwise))
        });
    }

    fn pass_on_branches(
        &mut self,
        adjoints: &mut Adjoints,
        branches: [NodeId; 2],
        adjoint: NodeId,
        choose: impl Fn(&mut Self, [NodeId; 2]) -> NodeId,
    ) {
        let zero = self.expressions.constant(0.0);
        let [a, b] = branches.map(|branch| self.known.get(&branch).copied().unwrap_or([zero; 2]));
        for index in 0..2 {
            let chosen = choose(self, [a[index], b[index]]);
            if !self.is_zero(chosen) {
                let term = self.product(adjoint, chosen);
                self.add(adjoints, self.by[index], term);
            }
        }
    }
}
