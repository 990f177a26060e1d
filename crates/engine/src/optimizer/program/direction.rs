//! The direction of a step, found in the graph of a rule: η and ω are taken out of θ − θ′ where they are factors, and
//! else it is the quotient by η.

use crate::language::{Graph, Input, Node, NodeId, Op};

impl Graph {
    /// `(θ − θ′) / η`, where θ′ is θ after a step without weight decay: the direction of the step. Where η is not found
    /// as a factor, it is 0 for η = 0.
    pub(super) fn direction(&mut self, theta_after: NodeId) -> Option<NodeId> {
        let after = self.without_decay(theta_after)?;
        let theta = self.add(Node::Input(Input::Theta))?;
        let moved = match self.node(after) {
            Node::Of(Op::Sub(from, by)) if from == theta => self.over_rate(by)?,
            Node::Of(Op::Add(from, by)) if from == theta => match self.over_rate(by)? {
                Some(by) => Some(self.add(Node::Of(Op::Neg(by)))?),
                None => None,
            },
            _ => None,
        };
        if moved.is_some() {
            return moved;
        }
        let difference = self.add(Node::Of(Op::Sub(theta, after)))?;
        let rate = self.add(Node::Input(Input::LearningRate))?;
        let quotient = self.add(Node::Of(Op::Div(difference, rate)))?;
        // A schedule may end with no step at all.
        let none = self.constant(0.0)?;
        self.add(Node::Of(Op::Select(rate, quotient, none)))
    }

    /// Returns the number for ω = 0.
    fn without_decay(&mut self, of: NodeId) -> Option<NodeId> {
        // Nodes come after what they are computed of, so that one pass suffices.
        let mut replaced: Vec<NodeId> = Vec::with_capacity(of.0 + 1);
        for index in 0..=of.0 {
            let same = match self.node(NodeId(index)) {
                Node::Input(Input::WeightDecay) => self.constant(0.0)?,
                Node::Constant(_) | Node::Input(_) => NodeId(index),
                Node::Of(op) => {
                    let without = op.map(|operand| replaced[operand.0]);
                    if without == op { NodeId(index) } else { self.simplified(without)? }
                }
            };
            replaced.push(same);
        }
        Some(replaced[of.0])
    }

    /// Interns an operation without terms that are 0 and factors that are 1.
    fn simplified(&mut self, op: Op<NodeId>) -> Option<NodeId> {
        let is = |graph: &Graph, id: NodeId, value: f64| graph.node(id) == Node::Constant(value);
        match op {
            Op::Mul(a, b) if is(self, a, 0.0) || is(self, b, 0.0) => self.constant(0.0),
            Op::Div(a, _) if is(self, a, 0.0) => self.constant(0.0),
            Op::Mul(a, b) if is(self, a, 1.0) => Some(b),
            Op::Mul(a, b) if is(self, b, 1.0) => Some(a),
            Op::Add(a, b) if is(self, a, 0.0) => Some(b),
            Op::Add(a, b) | Op::Sub(a, b) if is(self, b, 0.0) => Some(a),
            Op::Sub(a, b) => match (self.node(a), self.node(b)) {
                (Node::Constant(a), Node::Constant(b)) => self.constant(a - b),
                _ => self.add(Node::Of(op)),
            },
            other => self.add(Node::Of(other)),
        }
    }

    /// Returns a number divided by η, if η is a factor of it.
    fn over_rate(&mut self, of: NodeId) -> Option<Option<NodeId>> {
        let made = |graph: &mut Graph, op| graph.add(Node::Of(op)).map(Some);
        match self.node(of) {
            Node::Input(Input::LearningRate) => self.constant(1.0).map(Some),
            Node::Of(Op::Mul(a, b)) => {
                for (a, b) in [(a, b), (b, a)] {
                    if self.node(a) == Node::Input(Input::LearningRate) {
                        return Some(Some(b));
                    }
                    if let Some(a) = self.over_rate(a)? {
                        return made(self, Op::Mul(a, b));
                    }
                }
                Some(None)
            }
            Node::Of(Op::Div(a, b)) => match self.over_rate(a)? {
                // η / b is 1 / b.
                Some(a) => made(self, Op::Div(a, b)),
                None => Some(None),
            },
            Node::Of(Op::Neg(a)) => match self.over_rate(a)? {
                Some(a) => made(self, Op::Neg(a)),
                None => Some(None),
            },
            Node::Constant(_) | Node::Input(_) | Node::Of(_) => Some(None),
        }
    }
}
