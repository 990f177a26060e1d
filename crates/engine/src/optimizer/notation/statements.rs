//! The statements of a step in Python, from a rule's record.
//!
//! Each number that is used more than once, or has a name, is assigned to a variable; each new state and the parameters
//! are written in place, by the operations that add terms to a tensor. Temporary lists of tensors are overwritten where
//! nothing else reads them.

use std::collections::{HashMap, HashSet};

use super::lowered::{Factor, Lowered, Term};
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
    pub(super) lowered: Lowered,
    names: &'a Names,
    /// Whether variables are lists of tensors, of all parameters; else the tensors of one.
    pub(super) is_of_lists: bool,
    has_axes: bool,
    pub(super) variables: HashMap<NodeId, String>,
    taken: HashSet<String>,
    /// The operations whose results are written.
    pub(super) finished: HashSet<NodeId>,
    pub lines: Vec<String>,
    pub accumulated: Vec<Accumulated>,
}

/// An operation in place: its name and its arguments after the tensor.
pub(super) type InPlace = (&'static str, String);

impl<'a> Body<'a> {
    pub(super) fn new(lowered: Lowered, names: &'a Names, [is_of_lists, has_axes]: [bool; 2]) -> Body<'a> {
        let mut taken: HashSet<String> = names.hyperparameters.iter().chain(&names.states).cloned().collect();
        taken.extend(["lr", "curvature", "previous", "previous_grad", "previous_grads"].map(str::to_owned));
        let mut body = Body {
            lowered,
            names,
            is_of_lists,
            has_axes,
            variables: HashMap::new(),
            taken,
            finished: HashSet::new(),
            lines: Vec::new(),
            accumulated: Vec::new(),
        };
        let given = |id: &NodeId| matches!(body.lowered.graph.node(*id), Node::Of(Op::GradientAt(_)));
        for id in body.lowered.graph.ids().filter(given).collect::<Vec<_>>() {
            let name = if is_of_lists { "previous_grads" } else { "previous_grad" };
            body.variables.insert(id, name.to_owned());
        }
        body.floats();
        body.tensors();
        body
    }

    pub(super) fn given(&self) -> [&'static str; 2] {
        if self.is_of_lists { ["params", "grads"] } else { ["p", "grad"] }
    }

    fn printer(&self) -> Printer<'_, Python<'_>> {
        let graph = &self.lowered.graph;
        let names = graph.ids().map(|id| self.variables.get(&id).cloned()).collect();
        let Names { states, hyperparameters, .. } = self.names;
        Printer { graph, names, style: Python { states, hyperparameters, given: self.given() } }
    }

    pub(super) fn text(&self, id: NodeId) -> String {
        self.printer().print(id).text
    }

    pub(super) fn free_name(&mut self, like: &str) -> String {
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
        let name = self.free_name(&format!("{like}_{}", fold.name()));
        let (start, line) = match fold {
            Fold::Product => ("1.0", format!("{name} *= {number}")),
            Fold::Sum => ("0.0", format!("{name} += {number}")),
            Fold::Largest => ("0.0", format!("{name} = max({name}, {number})")),
        };
        self.lines.push(line);
        self.accumulated.push(Accumulated { name: name.clone(), start });
        self.variables.insert(id, name);
    }

    pub(super) fn is_operation(&self, id: NodeId) -> bool {
        matches!(self.lowered.graph.node(id), Node::Of(_))
    }

    pub(super) fn state_of(&self, id: NodeId) -> Option<usize> {
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
            return !self.is_late(id);
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
            return self.lowered.graph.node(id) == Node::Input(input) && !self.variables.contains_key(&id);
        };
        let is_inner =
            |id: NodeId| !self.variables.contains_key(&id) && (id == self.lowered.theta || !self.is_variable(id));
        op.operands().into_iter().any(|it| is_inner(it) && self.reads(it, input))
    }

    /// Whether the text of a number has that of an input.
    fn needs(&self, id: NodeId, input: NodeId) -> bool {
        match self.lowered.graph.node(id) {
            Node::Of(op) if !self.variables.contains_key(&id) => {
                op.operands().into_iter().any(|it| self.needs(it, input))
            }
            _ => id == input,
        }
    }

    /// Whether a new state is a float times a variable, and used once at most: it is written after the parameters.
    fn is_late(&self, id: NodeId) -> bool {
        let Node::Of(Op::Mul(a, b)) = self.lowered.graph.node(id) else { return false };
        let of_variable =
            self.lowered.is_scalar(a) && self.is_operation(b) && self.state_of(b).is_none() && self.is_variable(b);
        of_variable && self.lowered.users(id).count() <= 1
    }

    fn tensors(&mut self) {
        let theta = self.lowered.theta;
        let ids: Vec<NodeId> = self.lowered.graph.ids().collect();
        let variables: Vec<NodeId> = ids.into_iter().filter(|id| *id != theta && self.is_variable(*id)).collect();
        for id in &variables {
            let Some(state) = self.state_of(*id) else {
                self.variable(*id);
                continue;
            };
            let old = self.old(state);
            let is_copied = old.is_some_and(|old| self.lowered.states.contains(&old));
            let is_read = |later: &NodeId| later > id && self.reads(*later, Input::State(state));
            if is_copied || variables.iter().chain([&theta]).any(is_read) {
                old.into_iter().for_each(|old| self.keep(old));
            }
            self.store(state, *id);
        }
        let mut after = Vec::new();
        for (state, id) in self.lowered.states.clone().into_iter().enumerate() {
            let is_op = self.is_operation(id);
            let is_written = is_op && self.state_of(id) == Some(state) && self.variables.contains_key(&id);
            if !self.lowered.is_state_live(state) || is_written || Some(id) == self.old(state) {
                continue;
            }
            let is_given = !is_op || self.lowered.is_scalar(id);
            if is_given && !self.reads(theta, Input::State(state)) {
                self.copy(state, id);
                continue;
            }
            if self.lowered.graph.node(id) == Node::Input(Input::Theta) {
                self.keep(id);
            }
            after.push((state, id));
        }
        let [params, _] = self.given();
        if self.lowered.graph.node(theta) != Node::Input(Input::Theta) {
            let input = self.lowered.graph.find(Node::Input(Input::Theta));
            self.write(theta, params, input);
        }
        self.variables.insert(theta, params.to_owned());
        for (state, id) in after {
            match self.variables.contains_key(&id) || self.state_of(id) != Some(state) {
                true => self.copy(state, id),
                false => self.store(state, id),
            }
        }
    }

    fn old(&self, state: usize) -> Option<NodeId> {
        self.lowered.graph.find(Node::Input(Input::State(state)))
    }

    /// Copies the value of a state before the step, as it is needed after the state is written.
    fn keep(&mut self, input: NodeId) {
        if self.variables.contains_key(&input) {
            return;
        }
        let (text, name) = (self.text(input), self.free_name(&format!("{}_before", self.text(input))));
        self.lines.push(match self.is_of_lists {
            true => format!("{name} = [tensor.clone() for tensor in {text}]"),
            false => format!("{name} = {text}.clone()"),
        });
        self.variables.insert(input, name);
    }

    /// Makes a state equal to another tensor or number.
    fn copy(&mut self, state: usize, id: NodeId) {
        if let Some(old) = self.old(state).filter(|old| self.lowered.states.contains(old)) {
            self.keep(old);
        }
        let (name, text) = (self.names.states[state].clone(), self.text(id));
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
    pub(super) fn usual_name(&self, id: NodeId) -> &'static str {
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
        let old = self.old(state);
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
                let operations = self.operations(&mut terms, self.old(state), "matrix");
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
        let others = terms.iter().filter(|term| Some(term.factor) != old.map(Factor::Value));
        let operands = others.flat_map(|term| term.factor.operands()).collect::<Vec<_>>();
        if let Some(old) = old.filter(|old| operands.iter().any(|it| self.needs(*it, *old))) {
            self.keep(old);
        }
        let operations = self.operations(&mut terms, old, "");
        if self.is_of_lists {
            operations.iter().for_each(|operation| self.in_place(name, operation));
        } else {
            self.lines.push(chain(name, &operations));
        }
    }

    /// The terms of a number, of which variables are not opened.
    pub(super) fn terms(&mut self, id: NodeId) -> Vec<Term> {
        let ids = self.lowered.graph.ids();
        let known: HashSet<NodeId> =
            ids.filter(|it| *it != id && (self.variables.contains_key(it) || self.is_variable(*it))).collect();
        self.lowered.terms(id, &|it| known.contains(&it))
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

/// Writes operations on a tensor one after the other, in a line each if they are long.
fn chain(name: &str, operations: &[InPlace]) -> String {
    let calls = operations.iter().map(|(operation, arguments)| format!(".{operation}_({arguments})"));
    let calls: Vec<String> = calls.collect();
    let line = format!("{name}{}", calls.concat());
    if line.len() <= WIDTH {
        line
    } else {
        calls.iter().map(|call| format!("{name}{call}")).collect::<Vec<_>>().join("\n")
    }
}
