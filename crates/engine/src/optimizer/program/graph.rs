//! The numbers of a program and how each is computed of others.
//!
//! The direction of a step is found in the graph: η and ω are taken out of θ − θ′ where they are factors, and else it
//! is the quotient by η.

use super::calculation::Calculation;

/// A number that is given in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Theta,
    Gradient,
    LearningRate,
    WeightDecay,
    State(usize),
    Parameter(usize),
    /// The product of a parameter over the steps, βᵗ.
    Power(usize),
    /// t
    Step,
}

/// The origin of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Node {
    Constant(f64),
    Input(Input),
    Of(Calculation<NodeId>),
}

/// The place of a node in the graph; it is computed of nodes before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeId(pub usize);

/// The inputs on which a number depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dependence {
    /// Hyperparameters and t only: it is computed once a step.
    Step,
    /// The rates in addition, which may differ between parameters.
    Rates,
    /// A parameter's elements together; it is the same for all of them.
    Whole,
    /// The element.
    Element,
}

/// Nodes, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    dependences: Vec<Dependence>,
}

impl Graph {
    /// More than a rule of any use needs; each new one is compared with all others.
    pub(super) const MOST_NODES: usize = 512;
    /// The most numbers of an expression that is written out: formulas are, and an expression whose numbers are used
    /// again and again would never end.
    pub(super) const LARGEST_EXPRESSION: usize = 20_000;

    /// A node, the one that is there already if it is. None where there is no room for more.
    pub(super) fn add(&mut self, node: Node) -> Option<NodeId> {
        if let Some(index) = self.nodes.iter().position(|known| *known == node) {
            return Some(NodeId(index));
        }
        if self.nodes.len() == Self::MOST_NODES {
            return None;
        }
        self.dependences.push(self.dependence_of(node));
        self.nodes.push(node);
        Some(NodeId(self.nodes.len() - 1))
    }

    pub(super) fn constant(&mut self, value: f64) -> Option<NodeId> {
        self.add(Node::Constant(value))
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0]
    }

    pub(super) fn dependence(&self, id: NodeId) -> Dependence {
        self.dependences[id.0]
    }

    /// Whether a number differs between the elements of a parameter.
    pub(super) fn is_of_element(&self, id: NodeId) -> bool {
        self.dependence(id) == Dependence::Element
    }

    fn dependence_of(&self, node: Node) -> Dependence {
        match node {
            Node::Constant(_) | Node::Input(Input::Parameter(_) | Input::Power(_) | Input::Step) => Dependence::Step,
            Node::Input(Input::LearningRate | Input::WeightDecay) => Dependence::Rates,
            Node::Input(Input::Theta | Input::Gradient | Input::State(_)) => Dependence::Element,
            Node::Of(calculation) if calculation.is_of_whole() => Dependence::Whole,
            Node::Of(calculation) => {
                let all = calculation.operands().into_iter().map(|operand| self.dependence(operand));
                all.max().unwrap_or(Dependence::Step)
            }
        }
    }

    /// The most numbers that the expression of a node has when it is written out without names.
    pub(super) fn largest_expression(&self) -> usize {
        let mut sizes: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            sizes.push(match node {
                Node::Constant(_) | Node::Input(_) => 1,
                Node::Of(calculation) => {
                    calculation.operands().into_iter().fold(1, |size, operand| size.saturating_add(sizes[operand.0]))
                }
            });
        }
        sizes.into_iter().max().unwrap_or(0)
    }

    /// `(θ − θ′) / η`, where θ′ is θ after a step without weight decay: the direction of the step. Where η is not found
    /// as a factor, it is 0 for η = 0.
    pub(super) fn direction(&mut self, theta_after: NodeId) -> Option<NodeId> {
        let after = self.without_decay(theta_after)?;
        let theta = self.add(Node::Input(Input::Theta))?;
        let moved = match self.node(after) {
            Node::Of(Calculation::Difference(from, by)) if from == theta => self.over_rate(by)?,
            Node::Of(Calculation::Sum(from, by)) if from == theta => match self.over_rate(by)? {
                Some(by) => Some(self.add(Node::Of(Calculation::Negative(by)))?),
                None => None,
            },
            _ => None,
        };
        if moved.is_some() {
            return moved;
        }
        let difference = self.add(Node::Of(Calculation::Difference(theta, after)))?;
        let rate = self.add(Node::Input(Input::LearningRate))?;
        let quotient = self.add(Node::Of(Calculation::Quotient(difference, rate)))?;
        // A schedule may end with no step at all.
        let none = self.constant(0.0)?;
        self.add(Node::Of(Calculation::Choice(rate, quotient, none)))
    }

    /// Returns the number for ω = 0.
    fn without_decay(&mut self, of: NodeId) -> Option<NodeId> {
        // Nodes come after what they are computed of, so that one pass suffices.
        let mut replaced: Vec<NodeId> = Vec::with_capacity(of.0 + 1);
        for index in 0..=of.0 {
            let same = match self.nodes[index] {
                Node::Input(Input::WeightDecay) => self.constant(0.0)?,
                Node::Constant(_) | Node::Input(_) => NodeId(index),
                Node::Of(calculation) => {
                    let without = calculation.map(|operand| replaced[operand.0]);
                    if without == calculation { NodeId(index) } else { self.simplified(without)? }
                }
            };
            replaced.push(same);
        }
        Some(replaced[of.0])
    }

    /// A calculation without terms that are 0 and factors that are 1.
    fn simplified(&mut self, calculation: Calculation<NodeId>) -> Option<NodeId> {
        let is = |graph: &Graph, id: NodeId, value: f64| graph.node(id) == Node::Constant(value);
        match calculation {
            Calculation::Product(a, b) if is(self, a, 0.0) || is(self, b, 0.0) => self.constant(0.0),
            Calculation::Quotient(a, _) if is(self, a, 0.0) => self.constant(0.0),
            Calculation::Product(a, b) if is(self, a, 1.0) => Some(b),
            Calculation::Product(a, b) if is(self, b, 1.0) => Some(a),
            Calculation::Sum(a, b) if is(self, a, 0.0) => Some(b),
            Calculation::Sum(a, b) | Calculation::Difference(a, b) if is(self, b, 0.0) => Some(a),
            Calculation::Difference(a, b) => match (self.node(a), self.node(b)) {
                (Node::Constant(a), Node::Constant(b)) => self.constant(a - b),
                _ => self.add(Node::Of(calculation)),
            },
            other => self.add(Node::Of(other)),
        }
    }

    /// A number divided by η, where η is a factor of it.
    fn over_rate(&mut self, of: NodeId) -> Option<Option<NodeId>> {
        let made = |graph: &mut Graph, calculation| graph.add(Node::Of(calculation)).map(Some);
        match self.node(of) {
            Node::Input(Input::LearningRate) => self.constant(1.0).map(Some),
            Node::Of(Calculation::Product(a, b)) => {
                for (a, b) in [(a, b), (b, a)] {
                    if self.node(a) == Node::Input(Input::LearningRate) {
                        return Some(Some(b));
                    }
                    if let Some(a) = self.over_rate(a)? {
                        return made(self, Calculation::Product(a, b));
                    }
                }
                Some(None)
            }
            Node::Of(Calculation::Quotient(a, b)) => match self.over_rate(a)? {
                // η / b is 1 / b.
                Some(a) => made(self, Calculation::Quotient(a, b)),
                None => Some(None),
            },
            Node::Of(Calculation::Negative(a)) => match self.over_rate(a)? {
                Some(a) => made(self, Calculation::Negative(a)),
                None => Some(None),
            },
            Node::Constant(_) | Node::Input(_) | Node::Of(_) => Some(None),
        }
    }
}
