//! A rule's record in simple operations, and its numbers as sums of terms with coefficients.

use std::collections::HashMap;

use crate::expression::{AverageWeight, AxesFunction, Dependence, Graph, Input, Node, NodeId, Op, RatioCorrection};
use crate::optimizer::{StepPart, Trace};

/// A record of all steps in which products, sums and quotients replace the composed operations.
pub(super) struct Lowered {
    pub graph: Graph,
    pub theta: NodeId,
    /// The new states.
    pub states: Vec<NodeId>,
    pub parts: HashMap<NodeId, &'static StepPart>,
    /// Weights `1 − βᵗ` of bias corrections, with the index of β.
    pub bias_corrections: Vec<(NodeId, usize)>,
    /// The tensor that follows the order of eigenvectors.
    pub reordered: Option<NodeId>,
    /// The states that other cases use.
    live_states: Vec<usize>,
    /// The nodes on which θ depends, in this step or in later ones.
    is_live: Vec<bool>,
}

impl Lowered {
    /// Lowers the record of a rule, of which other cases use the `live_states`. With `toward`, the parameters are stored
    /// where the gradient is taken, at a multiple of this state from θ
    /// ([`Rule::GRADIENT_TOWARD`](crate::optimizer::Rule::GRADIENT_TOWARD)).
    pub(super) fn new(trace: &Trace, toward: Option<usize>, live_states: &[usize]) -> Lowered {
        let graph = Graph::new(usize::MAX);
        let mut lowering = Lowering { graph, of: Vec::new(), bias_corrections: Vec::new(), reordered: None };
        let theta_inputs = |id: NodeId| trace.graph.node(id) == Node::Input(Input::Theta);
        let shift = toward.and_then(|state| {
            trace.graph.ids().find_map(|id| match trace.graph.node(id) {
                Node::Of(Op::AddMul(theta, part, lead))
                    if theta_inputs(theta) && trace.graph.node(lead) == Node::Input(Input::State(state)) =>
                {
                    Some((id, part, state))
                }
                _ => None,
            })
        });
        for id in trace.graph.ids() {
            let lowered = match (trace.graph.node(id), shift) {
                (Node::Input(Input::Theta), Some((_, part, state))) => {
                    let [theta, lead] = [Input::Theta, Input::State(state)].map(|of| lowering.add(Node::Input(of)));
                    let way = lowering.product(lowering.of[part.0], lead);
                    lowering.op(Op::Sub(theta, way))
                }
                (_, Some((y, ..))) if id == y => lowering.add(Node::Input(Input::Theta)),
                (Node::Of(op), _) => lowering.lowered(op),
                (node, _) => lowering.add(node),
            };
            lowering.of.push(lowered);
        }
        let states: Vec<NodeId> = trace.new_states.iter().map(|id| lowering.of[id.0]).collect();
        let mut theta = lowering.of[trace.theta.0];
        if let Some((_, part, state)) = shift {
            let way = lowering.product(lowering.of[part.0], states[state]);
            theta = lowering.op(Op::Add(theta, way));
        }
        let parts = trace.parts.iter().map(|(id, part)| (lowering.of[id.0], *part)).collect();
        let Lowering { graph, bias_corrections, reordered, .. } = lowering;
        let (live_states, is_live) = (live_states.to_vec(), live(&graph, theta, &states, live_states));
        Lowered { graph, theta, states, parts, bias_corrections, reordered, live_states, is_live }
    }

    pub(super) fn is_scalar(&self, id: NodeId) -> bool {
        self.graph.dependence(id) <= Dependence::Rates
    }

    pub(super) fn is_state_live(&self, state: usize) -> bool {
        let is_read = |id| self.is_live(id);
        self.live_states.contains(&state) || self.graph.find(Node::Input(Input::State(state))).is_some_and(is_read)
    }

    /// Whether all operations have a form for lists of tensors.
    pub(super) fn has_lists(&self) -> bool {
        self.graph.ids().filter(|id| self.is_live(*id) && !self.is_scalar(*id)).all(|id| match self.graph.node(id) {
            // A state that stays where a condition on the step fails.
            Node::Of(Op::Select(condition, _, otherwise)) => {
                let is_before = |state: usize| self.graph.node(otherwise) == Node::Input(Input::State(state));
                let new = self.states.iter().enumerate().filter(|(_, new)| **new == id);
                self.is_scalar(condition) && new.map(|(state, _)| state).any(is_before)
            }
            Node::Of(Op::Compare(..) | Op::Sum(_) | Op::Mean(_) | Op::BlockMean(_) | Op::Orthogonal(_)) => false,
            Node::Of(Op::OfAxes(..) | Op::Remainder(..)) => false,
            Node::Of(Op::Pow(_, exponent)) => self.is_scalar(exponent),
            _ => true,
        })
    }

    /// Whether a number is a matrix for each axis of a parameter.
    pub(super) fn is_statistic(&self, id: NodeId, seen: &mut Vec<usize>) -> bool {
        match self.graph.node(id) {
            Node::Of(Op::OfAxes(function, ..)) => matches!(
                function,
                AxesFunction::Outer | AxesFunction::InverseRoot | AxesFunction::Eigenvectors | AxesFunction::Refreshed
            ),
            Node::Of(op) => op.operands().into_iter().any(|operand| self.is_statistic(operand, seen)),
            Node::Input(Input::State(state)) if !seen.contains(&state) => {
                seen.push(state);
                self.is_statistic(self.states[state], seen)
            }
            Node::Constant(_) | Node::Input(_) => false,
        }
    }

    pub(super) fn is_live(&self, id: NodeId) -> bool {
        self.is_live.get(id.0).copied().unwrap_or(false)
    }

    /// The live operations with an operand, one for each time that it occurs.
    pub(super) fn users(&self, of: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.graph.ids().filter(|id| self.is_live(*id)).flat_map(move |id| match self.graph.node(id) {
            Node::Of(op) => op.shown().into_iter().filter(|it| *it == of).map(|_| id).collect(),
            Node::Constant(_) | Node::Input(_) => Vec::new(),
        })
    }
}

/// Marks the nodes from which θ and the states `also` are computed, and the states from which these are.
pub(super) fn live(graph: &Graph, theta: NodeId, states: &[NodeId], also: &[usize]) -> Vec<bool> {
    let mut is_live = vec![false; graph.len()];
    let mut pending: Vec<NodeId> = also.iter().map(|index| states[*index]).chain([theta]).collect();
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut is_live[id.0], true) {
            continue;
        }
        match graph.node(id) {
            Node::Of(op) => pending.extend(op.shown()),
            Node::Input(Input::State(index)) => pending.push(states[index]),
            Node::Constant(_) | Node::Input(_) => {}
        }
    }
    is_live
}

struct Lowering {
    graph: Graph,
    /// The lowered node of each node of the record.
    of: Vec<NodeId>,
    bias_corrections: Vec<(NodeId, usize)>,
    reordered: Option<NodeId>,
}

impl Lowering {
    fn add(&mut self, node: Node) -> NodeId {
        self.graph.add(node).expect("the graph has no limit")
    }

    fn op(&mut self, op: Op<NodeId>) -> NodeId {
        simple(&mut self.graph, op)
    }

    fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.op(Op::Mul(a, b))
    }

    fn average(&mut self, average: NodeId, target: NodeId, weight: NodeId) -> NodeId {
        let one = self.add(Node::Constant(1.0));
        let kept = self.op(Op::Sub(one, weight));
        let [kept, new] = [self.product(kept, average), self.product(weight, target)];
        self.op(Op::Add(kept, new))
    }

    /// Adds two numbers; `a + w (b − a)` is an average.
    fn sum(&mut self, a: NodeId, b: NodeId) -> NodeId {
        for (a, b) in [(a, b), (b, a)] {
            if let Some((weight, target)) = self.way_to(a, b) {
                return self.average(a, target, weight);
            }
        }
        self.op(Op::Add(a, b))
    }

    /// The weight w and the number b of a product `w (b − a)`.
    fn way_to(&self, a: NodeId, product: NodeId) -> Option<(NodeId, NodeId)> {
        let Node::Of(Op::Mul(x, y)) = self.graph.node(product) else { return None };
        [(x, y), (y, x)].into_iter().find_map(|(weight, way)| match self.graph.node(way) {
            Node::Of(Op::Sub(b, from)) if from == a && self.graph.dependence(weight) <= Dependence::Rates => {
                Some((weight, b))
            }
            _ => None,
        })
    }

    fn lowered(&mut self, op: Op<NodeId>) -> NodeId {
        match op.map(|id| self.of[id.0]) {
            Op::MulAdd(a, b, c) => {
                let product = self.product(a, b);
                self.sum(product, c)
            }
            Op::AddMul(a, b, c) => {
                let product = self.product(b, c);
                self.sum(a, product)
            }
            Op::Add(a, b) => self.sum(a, b),
            Op::NegMulAdd(a, b, c) => {
                let product = self.product(a, b);
                self.op(Op::Sub(c, product))
            }
            Op::Toward(average, target, AverageWeight { weight, .. }) => self.average(average, target, weight),
            Op::Ratio(m, s, RatioCorrection { m_weight, s_weight, epsilon, .. }) => {
                for weight in [m_weight, s_weight] {
                    if let Node::Of(Op::Sub(_, power)) = self.graph.node(weight)
                        && let Node::Input(Input::Power(index)) = self.graph.node(power)
                    {
                        self.bias_corrections.push((weight, index));
                    }
                }
                let s = self.op(Op::Div(s, s_weight));
                let root = self.op(Op::Sqrt(s));
                let size = self.op(Op::Add(root, epsilon));
                let m = self.op(Op::Div(m, m_weight));
                self.op(Op::Div(m, size))
            }
            // The function that refreshes eigenvectors also reorders the tensor in place.
            Op::OfAxes(AxesFunction::Reordered, tensor, ..) => {
                self.reordered = Some(tensor);
                tensor
            }
            Op::Select(_, then, otherwise) if then == otherwise => then,
            simpler => self.op(simpler),
        }
    }
}

/// Interns an operation with signs outermost, and without terms that are 0 and factors that are 1.
pub(super) fn simple(graph: &mut Graph, op: Op<NodeId>) -> NodeId {
    let is = |graph: &Graph, id: NodeId, value: f64| graph.node(id) == Node::Constant(value);
    let is_rate = |graph: &Graph, id: NodeId| graph.node(id) == Node::Input(Input::LearningRate);
    let negated = |graph: &Graph, id: NodeId| match graph.node(id) {
        Node::Of(Op::Neg(of)) => Some(of),
        _ => None,
    };
    let reciprocal = |graph: &Graph, id: NodeId| match graph.node(id) {
        Node::Of(Op::Div(one, of)) if is(graph, one, 1.0) => Some(of),
        _ => None,
    };
    let negative = |graph: &mut Graph, op| {
        let id = simple(graph, op);
        simple(graph, Op::Neg(id))
    };
    match op {
        Op::Neg(a) if negated(graph, a).is_some() => negated(graph, a).expect("it is one"),
        Op::Mul(a, b) if is(graph, a, 0.0) || is(graph, b, 1.0) => a,
        Op::Mul(a, b) if is(graph, b, 0.0) || is(graph, a, 1.0) => b,
        Op::Div(a, b) if is(graph, b, 1.0) => a,
        Op::Add(a, b) if is(graph, a, 0.0) => b,
        Op::Add(a, b) | Op::Sub(a, b) if is(graph, b, 0.0) => a,
        Op::Sub(a, b) if is(graph, a, 0.0) => simple(graph, Op::Neg(b)),
        Op::Mul(a, b) if negated(graph, a).is_some() => negative(graph, Op::Mul(negated(graph, a).unwrap_or(a), b)),
        Op::Mul(a, b) if negated(graph, b).is_some() => negative(graph, Op::Mul(a, negated(graph, b).unwrap_or(b))),
        Op::Div(a, b) if negated(graph, a).is_some() => negative(graph, Op::Div(negated(graph, a).unwrap_or(a), b)),
        Op::Add(a, b) if negated(graph, b).is_some() => simple(graph, Op::Sub(a, negated(graph, b).unwrap_or(b))),
        Op::Sub(a, b) if negated(graph, b).is_some() => simple(graph, Op::Add(a, negated(graph, b).unwrap_or(b))),
        Op::Mul(a, b) if is_rate(graph, b) && !is_rate(graph, a) && graph.dependence(a) <= Dependence::Rates => {
            simple(graph, Op::Mul(b, a))
        }
        Op::Mul(a, b) if reciprocal(graph, b).is_some() => {
            let divisor = reciprocal(graph, b).expect("it is one");
            simple(graph, Op::Div(a, divisor))
        }
        Op::Mul(a, b) if reciprocal(graph, a).is_some() => {
            let divisor = reciprocal(graph, a).expect("it is one");
            simple(graph, Op::Div(b, divisor))
        }
        other => graph.add(Node::Of(other)).expect("the graph has no limit"),
    }
}

/// A tensor in a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Factor {
    /// 1: the term is its coefficient.
    One,
    Value(NodeId),
    Product(NodeId, NodeId),
    Quotient(NodeId, NodeId),
}

impl Factor {
    pub(super) fn operands(self) -> Vec<NodeId> {
        match self {
            Factor::One => vec![],
            Factor::Value(a) => vec![a],
            Factor::Product(a, b) | Factor::Quotient(a, b) => vec![a, b],
        }
    }
}

/// A term of a sum: a tensor times a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term {
    pub coefficient: NodeId,
    pub factor: Factor,
}

impl Lowered {
    /// Writes a number as a sum of terms; those that `is_variable` are not opened, but for the number itself.
    pub(super) fn terms(&mut self, id: NodeId, is_variable: &dyn Fn(NodeId) -> bool) -> Vec<Term> {
        let Node::Of(op) = self.graph.node(id) else { return vec![self.term(Factor::Value(id))] };
        let open = |of: &mut Lowered, id: NodeId| match of.graph.node(id) {
            _ if of.is_scalar(id) => vec![Term { coefficient: id, factor: Factor::One }],
            _ if is_variable(id) => vec![of.term(Factor::Value(id))],
            _ => of.terms(id, is_variable),
        };
        let mut terms = match op {
            Op::Neg(a) => {
                let terms = open(self, a);
                self.scaled(terms, Op::Neg)
            }
            Op::Add(a, b) => [open(self, a), open(self, b)].concat(),
            Op::Sub(a, b) => {
                let subtracted = open(self, b);
                [open(self, a), self.scaled(subtracted, Op::Neg)].concat()
            }
            Op::Mul(a, b) if self.is_scalar(a) || self.is_scalar(b) => {
                let (number, tensor) = if self.is_scalar(a) { (a, b) } else { (b, a) };
                let terms = open(self, tensor);
                if terms.len() > 1 && matches!(self.graph.node(number), Node::Of(op) if !matches!(op, Op::Neg(_))) {
                    return vec![Term { coefficient: number, factor: Factor::Value(tensor) }];
                }
                self.scaled(terms, |one| Op::Mul(number, one))
            }
            Op::Div(a, b) if self.is_scalar(b) => {
                let terms = open(self, a);
                if terms.len() > 1 {
                    let one = self.graph.constant(1.0).expect("the graph has no limit");
                    let coefficient = simple(&mut self.graph, Op::Div(one, b));
                    return vec![Term { coefficient, factor: Factor::Value(a) }];
                }
                self.scaled(terms, |one| Op::Div(one, b))
            }
            Op::Mul(a, b) => {
                let [(x, a), (y, b)] = [a, b].map(|it| {
                    let terms = open(self, it);
                    self.single(terms, it)
                });
                let coefficient = simple(&mut self.graph, Op::Mul(x, y));
                vec![Term { coefficient, factor: Factor::Product(a, b) }]
            }
            Op::Div(a, b) if !self.is_scalar(a) => {
                let terms = open(self, a);
                let (coefficient, a) = self.single(terms, a);
                vec![Term { coefficient, factor: Factor::Quotient(a, b) }]
            }
            _ => vec![self.term(Factor::Value(id))],
        };
        self.merge(&mut terms);
        terms
    }

    fn term(&mut self, factor: Factor) -> Term {
        Term { coefficient: self.graph.constant(1.0).expect("the graph has no limit"), factor }
    }

    /// The coefficient and the tensor of a number that is one of these times a number, else 1 and the number itself.
    fn single(&mut self, terms: Vec<Term>, of: NodeId) -> (NodeId, NodeId) {
        match terms[..] {
            [Term { coefficient, factor: Factor::Value(value) }] => (coefficient, value),
            _ => (self.graph.constant(1.0).expect("the graph has no limit"), of),
        }
    }

    fn scaled(&mut self, terms: Vec<Term>, by: impl Fn(NodeId) -> Op<NodeId>) -> Vec<Term> {
        let scaled =
            |Term { coefficient, factor }| Term { coefficient: simple(&mut self.graph, by(coefficient)), factor };
        terms.into_iter().map(scaled).collect()
    }

    /// Adds the coefficients of equal tensors.
    fn merge(&mut self, terms: &mut Vec<Term>) {
        let mut merged: Vec<Term> = Vec::new();
        for term in terms.drain(..) {
            match merged.iter_mut().find(|other| other.factor == term.factor) {
                Some(other) => {
                    other.coefficient = simple(&mut self.graph, Op::Add(other.coefficient, term.coefficient));
                }
                None => merged.push(term),
            }
        }
        *terms = merged;
    }

    /// Whether two coefficients add to 1, as those of a running average do.
    pub(super) fn add_to_one(&self, a: NodeId, b: NodeId) -> bool {
        let is_rest = |rest: NodeId, of: NodeId| match self.graph.node(rest) {
            Node::Of(Op::Sub(one, other)) => other == of && self.graph.node(one) == Node::Constant(1.0),
            _ => false,
        };
        is_rest(a, b) || is_rest(b, a)
    }
}
