//! The statements of a step in Python, from a rule's record.
//!
//! Each number that is used more than once, or has a name, is assigned to a variable; each new state and the parameters
//! are written in place, by the operations that add terms to a tensor. Temporary lists of tensors are overwritten where
//! nothing else reads them.

use std::collections::{HashMap, HashSet};

use super::lowered::{Factor, Lowered, Term, simple};
use super::python::{self, Python};
use super::{ascii_name, symbol};
use crate::expression::print::Printer;
use crate::expression::{AxesFunction, Fold, Input, Node, NodeId, Op, PartRole};

/// The names of a rule in Python.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub hyperparameters: Vec<String>,
    pub states: Vec<String>,
    /// Whether each state is a matrix for each axis.
    pub is_statistic: Vec<bool>,
    /// Whether each state is a sum or an average, which needs a value before the first step.
    pub is_average: Vec<bool>,
}

/// A number that a state keeps for all elements of a parameter: its name, its value before the first step, and the
/// statement that updates it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Accumulated {
    pub name: String,
    pub start: &'static str,
}

/// The statements of a step.
pub(super) struct Body<'a> {
    lowered: Lowered,
    names: &'a Names,
    /// Whether variables are lists of tensors, of all parameters; else the tensors of one.
    is_of_lists: bool,
    has_axes: bool,
    /// New states that are written after the parameters.
    deferred: HashSet<NodeId>,
    is_after_parameters: bool,
    /// Copies of what states become, by the states' indices.
    renamed: HashMap<usize, String>,
    variables: HashMap<NodeId, String>,
    taken: HashSet<String>,
    /// The variables that are written and may be overwritten, each with the operation of which it is the result.
    temporaries: HashSet<NodeId>,
    /// The operations whose results are written.
    finished: HashSet<NodeId>,
    pub lines: Vec<String>,
    pub accumulated: Vec<Accumulated>,
}

/// An operation in place: its name and its arguments after the tensor.
type InPlace = (&'static str, String);

impl<'a> Body<'a> {
    pub(super) fn new(lowered: Lowered, names: &'a Names, [is_of_lists, has_axes]: [bool; 2]) -> Body<'a> {
        let mut taken: HashSet<String> = names.hyperparameters.iter().chain(&names.states).cloned().collect();
        taken.extend(["lr", "curvature", "previous_grads"].map(str::to_owned));
        let mut body = Body {
            lowered,
            names,
            is_of_lists,
            has_axes,
            deferred: HashSet::new(),
            is_after_parameters: false,
            renamed: HashMap::new(),
            variables: HashMap::new(),
            taken,
            temporaries: HashSet::new(),
            finished: HashSet::new(),
            lines: Vec::new(),
            accumulated: Vec::new(),
        };
        let given = |id: &NodeId| matches!(body.lowered.graph.node(*id), Node::Of(Op::GradientAt(_)));
        for id in body.lowered.graph.ids().filter(given).collect::<Vec<_>>() {
            body.variables.insert(id, "previous_grads".to_owned());
        }
        body.floats();
        body.tensors();
        body
    }

    fn given(&self) -> [&'static str; 2] {
        if self.is_of_lists { ["params", "grads"] } else { ["p", "grad"] }
    }

    fn printer(&self) -> Printer<'_, Python<'_>> {
        let graph = &self.lowered.graph;
        let names = graph.ids().map(|id| self.variables.get(&id).cloned()).collect();
        let Names { states, hyperparameters, .. } = self.names;
        Printer { graph, names, style: Python { states, hyperparameters, given: self.given() } }
    }

    fn text(&self, id: NodeId) -> String {
        self.printer().print(id).text
    }

    fn free_name(&mut self, like: &str) -> String {
        let name = python::free(like, |name| self.taken.contains(name));
        self.taken.insert(name.clone());
        name
    }

    /// Writes the coefficients of the step that have a name.
    fn floats(&mut self) {
        for id in self.lowered.graph.ids() {
            if !self.lowered.is_live(id) || !self.lowered.is_scalar(id) {
                continue;
            }
            let part = self.lowered.parts.get(&id).filter(|part| part.role == PartRole::Coefficient);
            let weight = self.lowered.bias_corrections.iter().find(|(of, _)| *of == id);
            let name = match (self.lowered.graph.node(id), part, weight) {
                (Node::Of(Op::OverSteps(fold, of)), ..) => {
                    self.accumulate(id, fold, of);
                    continue;
                }
                (Node::Of(_), Some(part), _) => ascii_name(part.symbol),
                (Node::Of(_), None, Some((_, index))) => {
                    self.names.hyperparameters[*index].replace("beta", "bias_correction")
                }
                _ => continue,
            };
            let name = self.free_name(&name);
            let text = self.printer().expression(id).text;
            self.lines.push(assignment(&name, &text));
            self.variables.insert(id, name);
        }
    }

    fn accumulate(&mut self, id: NodeId, fold: Fold, of: NodeId) {
        let number = self.text(of);
        let like = if self.variables.contains_key(&of) { number.trim_end_matches("_t") } else { "total" };
        let name = self.free_name(&format!("{like}_{}", python::suffix(fold)));
        let (start, line) = match fold {
            Fold::Product => ("1.0", format!("{name} *= {number}")),
            Fold::Sum => ("0.0", format!("{name} += {number}")),
            Fold::Largest => ("0.0", format!("{name} = max({name}, {number})")),
        };
        self.lines.push(line);
        self.accumulated.push(Accumulated { name: name.clone(), start });
        self.variables.insert(id, name);
    }

    fn is_operation(&self, id: NodeId) -> bool {
        matches!(self.lowered.graph.node(id), Node::Of(_))
    }

    fn state_of(&self, id: NodeId) -> Option<usize> {
        let is_new = |index: &usize| self.lowered.states[*index] == id && self.lowered.is_state_live(*index);
        (0..self.lowered.states.len()).find(is_new)
    }

    /// Whether a tensor has a variable: where it is a new state, is used more than once, or has a name that a reader
    /// knows from the formulas.
    fn is_variable(&self, id: NodeId) -> bool {
        let is_given = matches!(self.lowered.graph.node(id), Node::Of(Op::GradientAt(_)));
        if !self.is_operation(id) || is_given || self.lowered.is_scalar(id) || !self.lowered.is_live(id) {
            return false;
        }
        let is_quantity = self.lowered.parts.get(&id).is_some_and(|part| part.role == PartRole::Quantity);
        let is_sum = matches!(self.lowered.graph.node(id), Node::Of(Op::Add(..) | Op::Sub(..)));
        if self.state_of(id).is_some() {
            return !self.deferred.contains(&id);
        }
        (is_quantity && (is_sum || !self.is_of_lists)) || (!self.is_multiple(id) && self.lowered.users(id).count() > 1)
    }

    /// Whether a number is a float times an input.
    fn is_multiple(&self, id: NodeId) -> bool {
        match self.lowered.graph.node(id) {
            Node::Of(Op::Neg(a)) => !self.is_operation(a),
            Node::Of(Op::Mul(a, b) | Op::Div(a, b)) => {
                let (a, b) = if self.lowered.is_scalar(a) { (b, a) } else { (a, b) };
                self.lowered.is_scalar(b) && (!self.is_operation(a) || self.state_of(a).is_some())
            }
            _ => false,
        }
    }

    /// Whether the statement of a number reads an input, without the variables that it reads.
    fn reads(&self, id: NodeId, input: Input) -> bool {
        let Node::Of(op) = self.lowered.graph.node(id) else {
            return self.lowered.graph.node(id) == Node::Input(input);
        };
        let is_inner =
            |id: NodeId| !self.variables.contains_key(&id) && (id == self.lowered.theta || !self.is_variable(id));
        op.operands().into_iter().any(|it| is_inner(it) && self.reads(it, input))
    }

    fn tensors(&mut self) {
        let theta = self.lowered.theta;
        let ids: Vec<NodeId> = self.lowered.graph.ids().collect();
        let variables: Vec<NodeId> = ids.into_iter().filter(|id| *id != theta && self.is_variable(*id)).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for id in &variables {
            let Some(state) = self.state_of(*id) else {
                self.variable(*id);
                continue;
            };
            let old = self.lowered.graph.find(Node::Input(Input::State(state)));
            let is_copied = old.is_some_and(|old| self.lowered.states.contains(&old));
            let is_read_later = |of: &Self| {
                let reads = |later: &&NodeId| **later > *id && of.reads(**later, Input::State(state));
                is_copied || variables.iter().chain([&theta]).any(|later| reads(&later))
            };
            if is_read_later(self) && self.is_sum_of_variables(*id) && !self.reads(*id, Input::Theta) {
                self.deferred.insert(*id);
                after.push((state, *id));
                continue;
            }
            self.read_before(state, *id);
            if !is_read_later(self) {
                self.store(state, *id);
                continue;
            }
            self.variable(*id);
            after.push((state, *id));
        }
        for (state, id) in self.lowered.states.clone().into_iter().enumerate() {
            let is_same = self.lowered.graph.node(id) == Node::Input(Input::State(state));
            let is_given = !self.is_operation(id) || self.lowered.is_scalar(id);
            if !self.lowered.is_state_live(state) || is_same {
                continue;
            }
            if !is_given && self.state_of(id) != Some(state) {
                // Another state, or the parameters, become the same.
                after.push((state, id));
            } else if is_given {
                if self.reads(theta, Input::State(state)) { &mut after } else { &mut before }.push((state, id));
            }
        }
        before.into_iter().for_each(|(state, id)| self.copy(state, id));
        self.untangle(&after);
        self.write_parameters();
        self.is_after_parameters = true;
        // A state that becomes another one takes its value before that is overwritten.
        after.sort_by_key(|(_, id)| self.is_operation(*id));
        after.into_iter().for_each(|(state, id)| match self.variables.get(&id) {
            None if self.is_operation(id) && !self.lowered.is_scalar(id) && id != theta => self.store(state, id),
            _ => self.copy(state, id),
        });
    }

    /// Computes what a state before is needed for later into variables, before it is overwritten.
    fn read_before(&mut self, state: usize, id: NodeId) {
        let is_later = |user: NodeId| user > id;
        let early: Vec<NodeId> = self.lowered.graph.ids().take_while(|it| *it < id).collect();
        for it in early {
            let is_inner = self.is_operation(it) && !self.lowered.is_scalar(it) && !self.is_variable(it);
            if is_inner
                && self.lowered.is_live(it)
                && !self.variables.contains_key(&it)
                && self.lowered.users(it).any(is_later)
                && self.reads(it, Input::State(state))
            {
                self.variable(it);
            }
        }
    }

    /// Whether a number, which is used once, is a sum of multiples of variables and inputs.
    fn is_sum_of_variables(&mut self, id: NodeId) -> bool {
        let is_known = |of: &Self, term: &Term| match term.factor {
            Factor::Value(value) => !of.is_operation(value) || of.variables.contains_key(&value),
            _ => false,
        };
        let terms = self.terms(id);
        self.lowered.users(id).count() <= 1 && terms.iter().all(|term| is_known(self, term))
    }

    /// Computes states that are written after the parameters into variables, where the ones written before them are
    /// needed.
    fn untangle(&mut self, after: &[(usize, NodeId)]) {
        for (state, id) in after.iter().filter(|(_, id)| !self.variables.contains_key(id)).collect::<Vec<_>>() {
            let others = after.iter().filter(|(other, _)| other != state);
            let reads = |(other, _): &(usize, NodeId)| self.reads(*id, Input::State(*other));
            if others.clone().any(reads) || self.reads(*id, Input::Theta) {
                self.deferred.remove(id);
                match self.is_operation(*id) {
                    true => self.variable(*id),
                    false => {
                        let (name, text) = (self.free_name("before"), self.text(*id));
                        self.lines.push(match self.is_of_lists {
                            true => format!("{name} = [tensor.clone() for tensor in {text}]"),
                            false => format!("{name} = {text}.clone()"),
                        });
                        self.renamed.insert(*state, name);
                    }
                }
            }
        }
    }

    fn write_parameters(&mut self) {
        let theta = self.lowered.theta;
        let [params, _] = self.given();
        if self.lowered.graph.node(theta) != Node::Input(Input::Theta) {
            let input = self.lowered.graph.find(Node::Input(Input::Theta));
            self.write(theta, params, input);
        }
        self.variables.insert(theta, params.to_owned());
    }

    /// Makes a state equal to another tensor or number.
    fn copy(&mut self, state: usize, id: NodeId) {
        let (name, text) = (self.names.states[state].clone(), self.text(id));
        let text = self.renamed.remove(&state).unwrap_or(text);
        self.lines.push(match (self.lowered.is_scalar(id), self.is_of_lists) {
            (true, true) => format!("for tensor in {name}:\n    tensor.fill_({text})"),
            (true, false) => format!("{name}.fill_({text})"),
            (false, true) => format!("torch._foreach_copy_({name}, {text})"),
            (false, false) => format!("{name}.copy_({text})"),
        });
    }

    /// Assigns a number to a variable.
    fn variable(&mut self, id: NodeId) {
        let part = self.lowered.parts.get(&id).filter(|part| !matches!(part.role, PartRole::State { .. }));
        let name = part.map(|part| ascii_name(&symbol(part.symbol, self.has_axes))).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| self.usual_name(id).to_owned());
        if self.is_of_lists {
            let made = self.list(id, &name);
            if made != name && !self.temporaries.contains(&id) {
                self.temporaries.insert(id);
            }
            self.variables.insert(id, made);
        } else {
            let text = self.new_tensor(id);
            // A direction after its mask has the name of the one before.
            let before = self.variables.iter().find(|(_, known)| name.strip_suffix("_next") == Some(known.as_str()));
            let name = match before.map(|(_, known)| known.clone()) {
                Some(known) => known,
                None => self.free_name(&name),
            };
            self.lines.push(assignment(&name, &text));
            self.variables.insert(id, name);
        }
        self.temporaries.insert(id);
        self.finished.insert(id);
    }

    /// Writes a number as a tensor that shares no memory with a state or the parameters.
    fn new_tensor(&self, id: NodeId) -> String {
        let text = self.printer().expression(id).text;
        let is_shared = matches!(self.lowered.graph.node(id), Node::Of(Op::Select(..))) && self.may_share(id);
        if is_shared { format!("({text}).clone()") } else { text }
    }

    /// Whether a number may be a state or the parameters themselves.
    fn may_share(&self, id: NodeId) -> bool {
        match self.lowered.graph.node(id) {
            _ if self.state_of(id).is_some() => true,
            Node::Of(Op::Select(condition, then, otherwise)) => {
                self.lowered.is_scalar(condition) && (self.may_share(then) || self.may_share(otherwise))
            }
            node => !matches!(node, Node::Of(_)),
        }
    }

    /// The name of a temporary tensor without a name in formulas.
    fn usual_name(&self, id: NodeId) -> &'static str {
        match self.lowered.graph.node(id) {
            Node::Of(Op::Norm(_)) => "norm",
            Node::Of(Op::Larger(a, _) | Op::Max(a, _) | Op::Min(a, _)) => self.usual_name(a),
            Node::Of(Op::Mean(_)) => "mean",
            Node::Of(Op::Sub(..)) => "delta",
            Node::Of(Op::Add(a, _)) if self.lowered.graph.node(a) == Node::Input(Input::Gradient) => "g",
            Node::Of(Op::Sign(a)) => self.usual_name(a),
            Node::Of(Op::Abs(_)) => "size",
            _ => "update",
        }
    }

    /// Writes a new state in place, under the condition that it has.
    fn store(&mut self, state: usize, id: NodeId) {
        let name = self.names.states[state].clone();
        let old = self.lowered.graph.find(Node::Input(Input::State(state)));
        let condition = match self.lowered.graph.node(id) {
            Node::Of(Op::Select(condition, then, otherwise))
                if self.lowered.is_scalar(condition) && Some(otherwise) == old =>
            {
                let text = Python::condition(&self.printer(), condition);
                Some((text, then))
            }
            _ => None,
        };
        let (id_of_value, start) = (condition.as_ref().map_or(id, |(_, then)| *then), self.lines.len());
        if self.names.is_statistic[state] {
            self.write_statistic(state, id_of_value);
        } else {
            self.write(id_of_value, &name, old);
        }
        if let Some((condition, _)) = condition {
            let inner: String =
                self.lines.drain(start..).map(|line| format!("\n    {}", line.replace('\n', "\n    "))).collect();
            self.lines.push(format!("if {condition}:{inner}"));
        }
        self.variables.insert(id, name);
        self.finished.insert(id);
    }

    /// Writes the matrices of all axes.
    fn write_statistic(&mut self, state: usize, id: NodeId) {
        let name = self.names.states[state].clone();
        let old = self.lowered.graph.find(Node::Input(Input::State(state)));
        match self.lowered.graph.node(id) {
            Node::Of(Op::OfAxes(AxesFunction::Refreshed, _, statistic, _)) => {
                let squares = self.lowered.reordered.map(|id| self.text(id)).unwrap_or_default();
                self.lines.push(format!("refresh({name}, {}, {squares})", self.text(statistic)));
            }
            Node::Of(Op::OfAxes(..)) => {
                let text = self.printer().expression(id).text;
                self.lines.push(assignment(&format!("state[\"{name}\"] = {name}"), &text));
            }
            _ => {
                let mut terms = self.lowered.terms(id, &|_| false);
                let operations = self.operations(&mut terms, old, "matrix");
                let chain = chain(&format!("{name}[i]"), &operations);
                self.lines.push(format!("for i, matrix in outer(grad).items():\n    {chain}"));
            }
        }
    }

    /// Writes a tensor in place, of which `old` is the value before.
    fn write(&mut self, id: NodeId, name: &str, old: Option<NodeId>) {
        if let Node::Of(op @ (Op::Max(a, b) | Op::Larger(a, b) | Op::Min(a, b))) = self.lowered.graph.node(id)
            && self.is_of_lists
            && let Some(bound) = [(a, b), (b, a)].into_iter().find_map(|(it, bound)| (Some(it) == old).then_some(bound))
            && !self.lowered.is_scalar(bound)
        {
            let bound = self.list(bound, "bound");
            let operation = if matches!(op, Op::Min(..)) { "minimum" } else { "maximum" };
            return self.in_place(name, &(operation, bound));
        }
        let mut terms = self.terms(id);
        if !terms.iter().any(|term| Some(term.factor) == old.map(Factor::Value)) {
            let text = if self.is_of_lists { self.list(id, "update") } else { self.printer().expression(id).text };
            self.lines.push(match self.is_of_lists {
                true => format!("torch._foreach_copy_({name}, {text})"),
                false => format!("{name}.copy_({text})"),
            });
            return;
        }
        self.prepare(&mut terms, old);
        self.detach(&mut terms, old);
        let operations = self.operations(&mut terms, old, "");
        if self.is_of_lists {
            operations.iter().for_each(|operation| self.in_place(name, operation));
        } else {
            self.lines.push(chain(name, &operations));
        }
    }

    /// The terms of a number, of which variables are not opened.
    fn terms(&mut self, id: NodeId) -> Vec<Term> {
        let ids = self.lowered.graph.ids();
        let known: HashSet<NodeId> =
            ids.filter(|it| *it != id && (self.variables.contains_key(it) || self.is_variable(*it))).collect();
        self.lowered.terms(id, &|it| known.contains(&it))
    }

    fn in_place(&mut self, name: &str, (operation, arguments): &InPlace) {
        let comma = if arguments.is_empty() { "" } else { ", " };
        self.lines.push(format!("torch._foreach_{operation}_({name}{comma}{arguments})"));
    }

    /// Writes the lists of tensors that terms need, but for that of the value before, which is overwritten after.
    fn prepare(&mut self, terms: &mut [Term], old: Option<NodeId>) {
        if !self.is_of_lists {
            return;
        }
        for Term { factor, .. } in terms {
            let operands = match *factor {
                Factor::One => vec![],
                Factor::Value(a) => vec![a],
                Factor::Product(a, b) | Factor::Quotient(a, b) => vec![a, b],
            };
            for id in operands {
                if Some(id) != old && self.is_operation(id) && !self.variables.contains_key(&id) {
                    let is_divisor = matches!(factor, Factor::Quotient(_, size) if *size == id);
                    let name = match self.usual_name(id) {
                        "update" | "size" if is_divisor => "denom",
                        name => name,
                    };
                    let made = self.list(id, name);
                    self.variables.insert(id, made);
                }
            }
        }
    }

    /// Computes the terms that read the value before into variables, as it is overwritten first.
    fn detach(&mut self, terms: &mut [Term], old: Option<NodeId>) {
        let Some(Node::Input(input)) = old.map(|old| self.lowered.graph.node(old)) else { return };
        for Term { factor, .. } in terms.iter_mut().filter(|term| Some(term.factor) != old.map(Factor::Value)) {
            let value = match *factor {
                Factor::One => continue,
                Factor::Value(value) => value,
                Factor::Product(a, b) => simple(&mut self.lowered.graph, Op::Mul(a, b)),
                Factor::Quotient(a, b) => simple(&mut self.lowered.graph, Op::Div(a, b)),
            };
            if self.variables.contains_key(&value) || !self.reads(value, input) {
                continue;
            }
            let name = match self.is_of_lists {
                true => self.list(value, "update"),
                false => {
                    let (name, text) = (self.free_name("update"), self.new_tensor(value));
                    self.lines.push(assignment(&name, &text));
                    name
                }
            };
            self.variables.insert(value, name);
            *factor = Factor::Value(value);
        }
    }

    /// The operations that make the sum of the terms of the value before, or of `matrix` in place of other tensors.
    fn operations(&mut self, terms: &mut Vec<Term>, old: Option<NodeId>, matrix: &str) -> Vec<InPlace> {
        let one = self.lowered.graph.constant(1.0).expect("the graph has no limit");
        let index = terms.iter().position(|term| Some(term.factor) == old.map(Factor::Value));
        let base = index.map_or(one, |index| terms.remove(index).coefficient);
        let tensor = |of: &Self, id: NodeId| if matrix.is_empty() { of.text(id) } else { matrix.to_owned() };
        if let [Term { coefficient, factor: Factor::Value(value) }] = terms[..]
            && self.lowered.add_to_one(base, coefficient)
        {
            return vec![("lerp", format!("{}, {}", tensor(self, value), self.text(coefficient)))];
        }
        let mut operations: Vec<InPlace> = self.scaling(base).into_iter().collect();
        for Term { coefficient, factor } in terms {
            operations.push(self.addition(*coefficient, *factor, &tensor));
        }
        operations
    }

    /// The operation that multiplies a tensor by a number.
    fn scaling(&self, by: NodeId) -> Option<InPlace> {
        match self.lowered.graph.node(by) {
            Node::Constant(1.0) => None,
            Node::Of(Op::Neg(one)) if self.lowered.graph.node(one) == Node::Constant(1.0) => {
                Some(("neg", String::new()))
            }
            Node::Of(Op::Div(one, divisor)) if self.lowered.graph.node(one) == Node::Constant(1.0) => {
                Some(("div", self.text(divisor)))
            }
            _ => Some(("mul", self.text(by))),
        }
    }

    fn addition(&self, coefficient: NodeId, factor: Factor, tensor: &dyn Fn(&Self, NodeId) -> String) -> InPlace {
        let is_one = self.lowered.graph.node(coefficient) == Node::Constant(1.0);
        let number = self.text(coefficient);
        let is_minus_one = number == "-1";
        let scaled = |operands: String, by: &str| if is_one { operands } else { format!("{operands}, {by}={number}") };
        match factor {
            Factor::One => ("add", number.clone()),
            Factor::Value(value) if is_minus_one => ("sub", tensor(self, value)),
            Factor::Value(value) => ("add", scaled(tensor(self, value), "alpha")),
            Factor::Product(a, b) => ("addcmul", scaled(format!("{}, {}", tensor(self, a), tensor(self, b)), "value")),
            Factor::Quotient(a, b) => ("addcdiv", scaled(format!("{}, {}", tensor(self, a), tensor(self, b)), "value")),
        }
    }

    /// Whether a variable may be overwritten by an operation on it: nothing else reads it.
    fn is_free(&self, id: NodeId, by: NodeId) -> bool {
        let mut users = self.lowered.users(id);
        self.temporaries.contains(&id)
            && self.state_of(id).is_none()
            && (self.is_after_parameters || users.all(|user| user == by || self.finished.contains(&user)))
            && self.lowered.users(id).filter(|user| *user == by).count() == 1
    }

    /// Writes a number as lists of tensors; returns the name of the variable, which is `name` if it is new.
    fn list(&mut self, id: NodeId, name: &str) -> String {
        let Node::Of(op) = self.lowered.graph.node(id) else { return self.text(id) };
        if let Some(known) = self.variables.get(&id) {
            return known.clone();
        }
        let made = match op {
            Op::Add(..) | Op::Sub(..) | Op::Neg(_) | Op::Mul(..) | Op::Div(..) => self.sum(id, name),
            op => self.function(id, op, name),
        };
        self.temporaries.insert(id);
        self.finished.insert(id);
        made
    }

    /// Makes a function of a list of tensors, in place where the list is free.
    fn function(&mut self, id: NodeId, op: Op<NodeId>, name: &str) -> String {
        let (operation, tensor, other) = match op {
            Op::Function(of, a) => (python::function(of), a, None),
            Op::Sqrt(a) => ("sqrt", a, None),
            Op::Sign(a) => ("sign", a, None),
            Op::Abs(a) => ("abs", a, None),
            Op::Norm(a) => ("norm", a, None),
            Op::Pow(a, b) => ("pow", a, Some(b)),
            Op::Max(a, b) | Op::Larger(a, b) if self.lowered.is_scalar(b) => ("clamp_min", a, Some(b)),
            Op::Max(a, b) | Op::Larger(a, b) if self.lowered.is_scalar(a) => ("clamp_min", b, Some(a)),
            Op::Min(a, b) if self.lowered.is_scalar(b) => ("clamp_max", a, Some(b)),
            Op::Min(a, b) if self.lowered.is_scalar(a) => ("clamp_max", b, Some(a)),
            Op::Max(a, b) | Op::Larger(a, b) => ("maximum", a, Some(b)),
            Op::Min(a, b) => ("minimum", a, Some(b)),
            _ => unreachable!("rules with other operations are of single tensors"),
        };
        let other =
            other.map(|other| if self.lowered.is_scalar(other) { self.text(other) } else { self.list(other, "bound") });
        let was_known = self.variables.contains_key(&tensor) || !self.is_operation(tensor);
        let list = self.list(tensor, name);
        let arguments = other.unwrap_or_default();
        if operation != "norm" && (!was_known || self.is_free(tensor, id)) {
            self.in_place(&list, &(operation, arguments));
            return list;
        }
        let comma = if arguments.is_empty() { "" } else { ", " };
        let name = self.free_name(name);
        self.lines.push(format!("{name} = torch._foreach_{operation}({list}{comma}{arguments})"));
        name
    }

    /// Makes the sum of terms as a new list, or in place of one that is free.
    fn sum(&mut self, id: NodeId, name: &str) -> String {
        let mut terms = self.terms(id);
        let is_free = |of: &Self, term: &Term| match term.factor {
            Factor::Value(value) => {
                of.is_operation(value) && (!of.variables.contains_key(&value) || of.is_free(value, id))
            }
            _ => false,
        };
        if let Some(index) = terms.iter().position(|term| is_free(self, term)) {
            let Factor::Value(base) = terms[index].factor else { unreachable!("it is free") };
            let list = self.list(base, name);
            self.variables.insert(base, list.clone());
            self.prepare(&mut terms, Some(base));
            let operations = self.operations(&mut terms, Some(base), "");
            operations.iter().for_each(|operation| self.in_place(&list, operation));
            return list;
        }
        self.prepare(&mut terms, None);
        if let [Term { coefficient, factor: factor @ (Factor::Quotient(a, b) | Factor::Product(a, b)) }] = terms[..]
            && self.is_free(a, id)
        {
            let list = self.text(a);
            let operation = if matches!(factor, Factor::Quotient(..)) { "div" } else { "mul" };
            self.in_place(&list, &(operation, self.text(b)));
            self.scaling(coefficient).iter().for_each(|operation| self.in_place(&list, operation));
            return list;
        }
        if let [Term { factor: Factor::One, .. }, ..] = terms[..] {
            terms.rotate_left(1);
        }
        let name = self.free_name(name);
        let text = |of: &Self, id: NodeId| of.text(id);
        let [first, rest @ ..] = &terms[..] else { unreachable!("a sum has terms") };
        let (made, rest) = match (first.factor, rest) {
            (Factor::Value(a), [Term { coefficient, factor: Factor::Value(b) }])
                if self.lowered.add_to_one(first.coefficient, *coefficient) =>
            {
                (format!("lerp({}, {}, {})", self.text(a), self.text(*b), self.text(*coefficient)), &[][..])
            }
            (Factor::Value(a), [second, rest @ ..]) if self.text(first.coefficient) == "1" => {
                let (operation, arguments) = self.addition(second.coefficient, second.factor, &text);
                (format!("{operation}({}, {arguments})", self.text(a)), rest)
            }
            (Factor::Value(a), rest) => {
                let (operation, number) = self.scaling(first.coefficient).unwrap_or(("mul", "1".to_owned()));
                let comma = if number.is_empty() { "" } else { ", " };
                (format!("{operation}({}{comma}{number})", self.text(a)), rest)
            }
            (Factor::Product(a, b), rest) => (format!("mul({}, {})", self.text(a), self.text(b)), rest),
            (Factor::Quotient(a, b), rest) => (format!("div({}, {})", self.text(a), self.text(b)), rest),
            (Factor::One, _) => unreachable!("a number without a tensor is no list"),
        };
        self.lines.push(format!("{name} = torch._foreach_{made}"));
        let is_scaled = !matches!(first.factor, Factor::Value(_));
        let mut operations: Vec<InPlace> =
            if is_scaled { self.scaling(first.coefficient).into_iter().collect() } else { Vec::new() };
        operations.extend(rest.iter().map(|term| self.addition(term.coefficient, term.factor, &text)));
        operations.iter().for_each(|operation| self.in_place(&name, operation));
        name
    }
}

/// The longest statement in one line.
const WIDTH: usize = 87;

/// Writes an assignment, in several lines if it is long.
fn assignment(name: &str, text: &str) -> String {
    if name.len() + text.len() + 3 <= WIDTH {
        return format!("{name} = {text}");
    }
    if let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        return format!("{name} = {{\n    {inner}\n}}");
    }
    let (mut lines, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if depth == 0 && [" + ", " - ", " if ", " else "].iter().any(|word| text[at..].starts_with(word)) => {
                lines.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    lines.push(&text[from..]);
    format!("{name} = (\n    {}\n)", lines.join("\n    "))
}

/// Writes operations on a tensor one after the other.
fn chain(name: &str, operations: &[InPlace]) -> String {
    let calls = operations.iter().map(|(operation, arguments)| format!(".{operation}_({arguments})"));
    format!("{name}{}", calls.collect::<String>())
}
