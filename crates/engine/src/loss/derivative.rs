//! This module derives expressions by reverse mode: from a number down to those that it is computed from.
//!
//! `abs`, `max`, `min`, `where` and comparisons have the derivative of the branch taken, and 0 at the corner of a tie.
//! Each branch is derived separately, so that an infinite derivative of the branch not taken has no effect.
//!
//! A number that the result does not depend on adds nothing, whatever its own derivative: neither a constant branch nor
//! what is multiplied by a constant 0.
//!
//! `abs(x)^p` and `sign(x)*abs(x)^p` have the derivative 0 at x = 0 also where p < 1: there it has no finite value, and a
//! point exactly at 0 should not diverge.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::expressions::Expressions;
use crate::language::{Node, NodeId, Op};
use crate::optimizer::{Function, Relation};

/// Returns the derivatives of a number with respect to two others, in which those are not derived further.
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

/// Returns a number and those that it is computed from, as far as they differ between points.
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
            Op::Norm(_) | Op::Mean(_) | Op::Sum(_) => {
                unreachable!("a loss is of one point")
            }
            Op::MulAdd(..) | Op::NegMulAdd(..) => {
                unreachable!("products and sums are put together later")
            }
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

    /// Returns `p − 1`, and 0 where p is 0, so that `p xᵖ⁻¹` is 0 there, also at x = 0.
    fn lowered(&mut self, exponent: NodeId) -> NodeId {
        let one = self.expressions.constant(1.0);
        let less = self.of(Op::Sub(exponent, one));
        let zero = self.expressions.constant(0.0);
        self.of(Op::Select(exponent, less, zero))
    }

    /// Returns p of `|x|ᵖ`, also where that is chosen at x ≠ 0 only.
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

    /// Returns `|x|ᵖ⁻¹`; at x = 0 it is 1 for p = 1 and else 0, not infinite where p < 1.
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
