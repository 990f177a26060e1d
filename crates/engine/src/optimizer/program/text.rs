//! Built-in rules as text.

use crate::expression::print::{Binding, Language, Printed, Printer};
use crate::expression::{Dependence, Input, Node, NodeId, Op, PartRole};
use crate::optimizer::notation::ascii_name;
use crate::optimizer::trace::trace_all_steps;
use crate::optimizer::{Need, RuleKind, RuleSpec, Trace, WEIGHT_DECAY};

/// Writes a rule in the language, from its recorded step. A choice among the hyperparameters is made as `rule` has it.
///
/// # Errors
///
/// Describes an operation of the rule that the language lacks.
pub fn text_of(rule: &RuleSpec) -> Result<String, &'static str> {
    if let Some(typed) = rule.kind().typed() {
        return Ok(typed.text().to_owned());
    }
    if rule.kind() == RuleKind::External {
        return Err("code outside of the program");
    }
    if rule.gradient_toward().is_some() {
        return Err("a gradient that is taken elsewhere than at θ");
    }
    Writer::new(rule, &trace_all_steps(rule)).text()
}

struct Writer<'a, I> {
    rule: &'a RuleSpec,
    trace: &'a Trace,
    /// The number of uses of each node in the results.
    uses: Vec<usize>,
    printer: Printer<'a, Language<I>>,
    lines: Vec<String>,
}

impl<'a> Writer<'a, ()> {
    fn new(rule: &'a RuleSpec, trace: &'a Trace) -> Writer<'a, impl Fn(Input) -> Printed + 'a> {
        let graph = &trace.graph;
        let mut uses = vec![0; graph.len()];
        trace.new_states.iter().chain([&trace.theta]).for_each(|id| uses[id.0] += 1);
        for index in (0..graph.len()).rev() {
            if let (Node::Of(op), true) = (graph.node(NodeId(index)), uses[index] > 0) {
                op.shown().into_iter().for_each(|operand| uses[operand.0] += 1);
            }
        }
        let (keys, states): (Vec<&str>, Vec<&str>) =
            (rule.hyperparameters().map(|(of, _)| of.key).collect(), rule.info().state_keys().collect());
        let input = move |input: Input| match input {
            Input::Theta => Printed::atom("theta"),
            Input::Gradient => Printed::atom("g"),
            Input::LearningRate => Printed::atom("eta"),
            Input::WeightDecay => Printed::atom("omega"),
            Input::Step => Printed::atom("t"),
            Input::State(index) => Printed::atom(states[index]),
            Input::Parameter(index) => Printed::atom(keys[index]),
            Input::Power(index) => Printed::new(format!("{}^t", keys[index]), Binding::Power),
            _ => unreachable!("rules with other inputs were refused"),
        };
        let printer = Printer::new(graph, Language { input, constant, is_simplified: false });
        Writer { rule, trace, uses, printer, lines: Vec::new() }
    }
}

/// Formats a constant so that it is read as the same number.
fn constant(value: f64) -> Printed {
    if value < 0.0 { Printed::atom(format!("({value:?})")) } else { Printed::atom(format!("{value:?}")) }
}

impl<I: Fn(Input) -> Printed> Writer<'_, I> {
    fn text(mut self) -> Result<String, &'static str> {
        self.check()?;
        self.declarations();
        let mut later = Vec::new();
        for id in self.trace.graph.ids() {
            let state = self.trace.new_states.iter().position(|state| *state == id);
            let is_named = self.trace.parts.iter().any(|(node, _)| *node == id);
            let has_line = is_named || state.is_some() || self.uses[id.0] > 1;
            let is_of_step = self.trace.graph.dependence(id) == Dependence::Uniform;
            if !self.is_computed(id) || self.uses[id.0] == 0 || !has_line || (is_of_step && !is_named) {
                continue;
            }
            let Printed { text, .. } = self.printer.expression(id);
            let name = match state.map(|of| (of, self.state_key(of))) {
                Some((of, key)) if !self.is_used_after(of, id) => key.to_owned(),
                Some((_, key)) => {
                    let name = self.new_name(&format!("new_{key}"));
                    later.push(format!("{key} = {name}"));
                    name
                }
                None => self.name_of(id),
            };
            self.lines.push(format!("{name} = {text}"));
            self.printer.names[id.0] = Some(name);
        }
        for (of, state) in self.trace.new_states.iter().enumerate() {
            if !self.is_computed(*state) && !self.is_same_state(of, *state) {
                later.push(format!("{} = {}", self.state_key(of), self.printer.print(*state).text));
            }
        }
        let theta = self.printer.print(self.trace.theta).text;
        self.lines.append(&mut later);
        // Assigned above, as every computed number that others use.
        if self.lines.last().is_none_or(|last| !last.starts_with("theta =")) {
            self.lines.push(format!("theta = {theta}"));
        }
        Ok(self.lines.join("\n") + "\n")
    }

    /// Checks that the language has all operations and inputs that the text shows.
    fn check(&self) -> Result<(), &'static str> {
        if self.rule.info().needs(Need::Axes) {
            return Err("an operation on matrices");
        }
        let shown = self.trace.graph.ids().filter(|id| self.uses[id.0] > 0).map(|id| self.trace.graph.node(id));
        let (operations, inputs): (Vec<Node>, Vec<Node>) = shown.partition(|node| matches!(node, Node::Of(_)));
        for node in operations.into_iter().chain(inputs) {
            match node {
                Node::Of(Op::BlockMean(_)) => return Err("means over the blocks of a network's parameters"),
                Node::Of(Op::Orthogonal(_) | Op::Exchanged(_)) => {
                    return Err("an operation on matrices");
                }
                Node::Of(Op::ByShape(..)) => return Err("steps that differ between matrices and vectors"),
                Node::Of(Op::GradientAt(_)) => return Err("a second gradient in each step"),
                Node::Input(Input::Curvature) => return Err("the curvature of the loss"),
                Node::Of(Op::OverSteps(..)) => return Err("products and sums over all steps"),
                Node::Of(Op::Remainder(..)) => return Err("remainders of divisions"),
                _ => {}
            }
        }
        Ok(())
    }

    fn declarations(&mut self) {
        let states: Vec<&str> = self.rule.info().state_keys().collect();
        if !states.is_empty() {
            self.lines.push(format!("state {}", states.join(", ")));
        }
        let is_used = |of: usize| {
            let inputs = [Input::Parameter(of), Input::Power(of)].map(Node::Input);
            (0..self.uses.len())
                .any(|index| self.uses[index] > 0 && inputs.contains(&self.trace.graph.node(NodeId(index))))
        };
        let mut lines = Vec::new();
        for (index, (of, value)) in self.rule.hyperparameters().enumerate() {
            let Some(range) = of.range() else { continue };
            if of.key != WEIGHT_DECAY && is_used(index) {
                let [low, high] = if of.is_decay_rate() { [0.0, 1.0] } else { [range.min, range.max] };
                let value = if value > 0.0 && value < 1e-4 { format!("{value:e}") } else { value.to_string() };
                lines.push(format!("param {} = {value} in {low}..{high}", of.key));
            }
        }
        self.lines.append(&mut lines);
    }

    fn is_computed(&self, id: NodeId) -> bool {
        matches!(self.trace.graph.node(id), Node::Of(_))
    }

    fn is_same_state(&self, of: usize, state: NodeId) -> bool {
        self.trace.graph.node(state) == Node::Input(Input::State(of))
    }

    /// Whether a state's value before the step is used in a line behind that of a node.
    fn is_used_after(&self, of: usize, id: NodeId) -> bool {
        let is_it = |operand: &NodeId| self.is_same_state(of, *operand);
        let is_user = |index: usize| match self.trace.graph.node(NodeId(index)) {
            Node::Of(op) => op.shown().iter().any(is_it),
            Node::Constant(_) | Node::Input(_) => false,
        };
        (id.0 + 1..self.trace.graph.len()).any(is_user)
    }

    fn state_key(&self, of: usize) -> &'static str {
        self.rule.info().state_keys().nth(of).expect("the rule has this state")
    }

    fn name_of(&self, id: NodeId) -> String {
        let part = self.trace.parts.iter().find(|(node, _)| *node == id).map(|(_, part)| *part);
        let symbol = part.filter(|part| !matches!(part.role, PartRole::State { .. })).map_or("", |part| part.symbol);
        let name = ascii_name(symbol);
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
        self.new_name(if is_name { &name } else { "d" })
    }

    /// Returns an unused name like this one.
    fn new_name(&self, like: &str) -> String {
        let given = ["theta", "g", "t", "eta", "omega", "pi", "state", "param", "in"];
        let keys: Vec<&str> = self.rule.hyperparameters().map(|(of, _)| of.key).collect();
        let is_taken = |name: &str| {
            given.contains(&name)
                || keys.contains(&name)
                || self.rule.info().state_keys().any(|key| key == name)
                || self.printer.names.iter().flatten().any(|known| known == name)
        };
        let others = (2..).map(|number| format!("{like}{number}"));
        [like.to_owned()]
            .into_iter()
            .chain(others)
            .find(|name| !is_taken(name))
            .expect("one of infinitely many is free")
    }
}
