//! A rule as a class of PyTorch: its constructor, and what surrounds the statements of its step.

use super::lowered::Lowered;
use super::python::{self, number};
use super::statements::{Accumulated, Body, Names};
use super::{Case, ascii_name, formulas, has_axes, records, symbol};
use crate::expression::{
    AxesFunction, Input, NEWTON_SCHULZ, NEWTON_SCHULZ_EPSILON, NEWTON_SCHULZ_STEPS, Node, Op, PartRole,
};
use crate::optimizer::{LONGEST_AXIS, RatedRule, RuleKind, RuleSpec, WEIGHT_DECAY};
use crate::quantity::Beta;
use crate::setting::{LEARNING_RATE, SettingInfo};

/// The longest line of lists of names.
const WIDTH: usize = 99;
const HEAD: &str = "\
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The Valleyscope authors

";

/// Writes a rule as a Python file with a class.
pub(super) fn class(rated: &RatedRule) -> String {
    let rule = &rated.rule;
    let toward = rule.gradient_toward().map(|(state, _)| state);
    let records = records(rule).into_iter();
    let records = records.map(|record| (record.case, Lowered::new(&record.trace, toward, &record.live_states)));
    let records: Vec<(Case, Lowered)> = records.collect();
    let facts = Facts::new(rule, &records);
    let names = names(rule, &records);
    let bodies = records.into_iter().map(|(case, lowered)| {
        let test = match case {
            Case::All => String::new(),
            Case::Matrices(_) => "is_matrix".to_owned(),
            Case::Steps(..) => "step == 1".to_owned(),
        };
        (test, Body::new(lowered, &names, [facts.is_of_lists, has_axes(rule)]))
    });
    let bodies: Vec<(String, Body<'_>)> = bodies.collect();
    let class = Class { rated, names: &names, facts: &facts, bodies: &bodies };
    let mut text = HEAD.to_owned();
    let code = class.head() + &class.constructor() + &class.step() + &class.update() + &class.modes();
    let helpers: Vec<String> = class.helpers();
    if code.contains("math.") {
        text += "import math\n\n";
    }
    text += "import torch\nfrom torch.optim import Optimizer\n\n\n";
    helpers.iter().for_each(|helper| text += &format!("{helper}\n\n"));
    text + &code
}

/// The inputs, states and forms that a printed class needs for the numbers that its step uses.
struct Facts {
    /// Whether all operations have a form for lists of tensors.
    is_of_lists: bool,
    has_step: bool,
    has_curvature: bool,
    has_blocks: bool,
    /// The state at which a second gradient is taken.
    second_gradient: Option<usize>,
    toward: Option<usize>,
    /// Whether matrices have a step of their own.
    has_shapes: bool,
    states: Vec<usize>,
    /// The states that only parameters other than matrices have.
    states_of_others: Vec<usize>,
    hyperparameters: Vec<usize>,
    functions: Vec<AxesFunction>,
    is_orthogonal: bool,
}

impl Facts {
    fn new(rule: &RuleSpec, records: &[(Case, Lowered)]) -> Facts {
        let nodes =
            records.iter().flat_map(|(_, of)| of.graph.ids().filter(|id| of.is_live(*id)).map(|id| of.graph.node(id)));
        let nodes: Vec<Node> = nodes.collect();
        let has = |input: Input| nodes.contains(&Node::Input(input));
        let ops = || nodes.iter().filter_map(|node| if let Node::Of(op) = node { Some(*op) } else { None });
        let (_, first) = &records[0];
        let second_gradient = records.iter().find_map(|(_, of)| {
            of.graph.ids().filter(|id| of.is_live(*id)).find_map(|id| match of.graph.node(id) {
                Node::Of(Op::GradientAt(at)) => match of.graph.node(at) {
                    Node::Input(Input::State(state)) => Some(state),
                    _ => unreachable!("a rule asks for the gradient at one of its states"),
                },
                _ => None,
            })
        });
        let hyperparameters = rule.info().hyperparameters.iter().enumerate().filter(|(index, of)| match of.key {
            WEIGHT_DECAY => has(Input::WeightDecay),
            _ => has(Input::Parameter(*index)) || has(Input::Power(*index)),
        });
        let has_shapes = records[0].0 == Case::Matrices(true);
        let states_of_others = (0..first.states.len())
            .filter(|index| has_shapes && has(Input::State(*index)) && !first.is_state_live(*index));
        Facts {
            is_of_lists: records.len() == 1 && first.has_lists(),
            has_step: has(Input::Step) || nodes.iter().any(|node| matches!(node, Node::Input(Input::Power(_)))),
            has_curvature: has(Input::Curvature),
            has_blocks: ops().any(|op| matches!(op, Op::BlockMean(_))),
            second_gradient,
            toward: rule.gradient_toward().map(|(state, _)| state),
            has_shapes,
            states: (0..first.states.len()).filter(|index| has(Input::State(*index))).collect(),
            states_of_others: states_of_others.collect(),
            hyperparameters: hyperparameters.map(|(index, _)| index).collect(),
            functions: ops().filter_map(|op| if let Op::OfAxes(of, ..) = op { Some(of) } else { None }).collect(),
            is_orthogonal: ops().any(|op| matches!(op, Op::Orthogonal(_))),
        }
    }
}

/// The names of the rule's hyperparameters and states.
fn names(rule: &RuleSpec, records: &[(Case, Lowered)]) -> Names {
    let mut hyperparameters: Vec<String> = Vec::new();
    for of in rule.info().hyperparameters {
        let name = python::free(of.key, |name| hyperparameters.iter().any(|known| known == name));
        hyperparameters.push(name);
    }
    let is_statistic: Vec<bool> = (0..rule.info().states.len())
        .map(|state| records.iter().any(|(_, of)| of.is_statistic(of.states[state], &mut Vec::new())))
        .collect();
    let mut states: Vec<String> = Vec::new();
    for (part, is_statistic) in rule.info().states.iter().zip(&is_statistic) {
        let like = match part.role {
            _ if *is_statistic => symbol(part.symbol, true),
            PartRole::State { key, .. } if !has_axes(rule) => key.to_owned(),
            _ => ascii_name(part.symbol).trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(),
        };
        let is_taken = |name: &str| hyperparameters.iter().chain(&states).any(|known| known == name);
        states.push(python::free(&like, is_taken));
    }
    let is_average = (0..states.len())
        .map(|state| records.iter().any(|(_, of)| matches!(of.graph.node(of.states[state]), Node::Of(Op::Add(..)))));
    Names { is_average: is_average.collect(), hyperparameters, states, is_statistic }
}

struct Class<'a> {
    rated: &'a RatedRule,
    names: &'a Names,
    facts: &'a Facts,
    bodies: &'a [(String, Body<'a>)],
}

impl Class<'_> {
    fn accumulated(&self) -> &[Accumulated] {
        &self.bodies.last().expect("there is a body").1.accumulated
    }

    /// The hyperparameters besides the learning rate that are arguments: name, entry and default.
    fn hyperparameters(&self) -> impl Iterator<Item = (&str, &'static SettingInfo, f64)> {
        let all: Vec<(&'static SettingInfo, f64)> = self.rated.rule.hyperparameters().collect();
        self.facts
            .hyperparameters
            .iter()
            .map(move |index| (&*self.names.hyperparameters[*index], all[*index].0, all[*index].1))
    }

    /// The options of a parameter group that are no hyperparameters: name, default and explanation.
    fn options(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let mut options = Vec::new();
        if self.facts.has_shapes {
            options.push((
                "matrices",
                "True",
                "False takes the step of vectors for all tensors, as embeddings need it",
            ));
        }
        if self.facts.has_blocks {
            let help =
                "number of equal blocks of consecutive elements of each tensor, such as heads; by default each row";
            options.push(("blocks", "None", help));
        }
        options
    }

    fn head(&self) -> String {
        let (rule, info) = (&self.rated.rule, self.rated.rule.info());
        let class = match rule.kind() {
            RuleKind::Typed(_) => camel_case(rule.name()),
            kind => camel_case(&rule.name().replace(info.name, kind.key())),
        };
        let mut text =
            format!("class {class}(Optimizer):\n    r\"\"\"{} ({}).\n\n", python_text(rule.name()), info.source);
        for line in formulas::lines(rule) {
            text += &if line.is_empty() { "\n".to_owned() } else { format!("        {line}\n") };
        }
        if self.facts.toward.is_some() {
            text += "\n    The parameters are y, where gradients are taken. Call `eval`, which makes them θ, before the\n    \
                     model is evaluated or saved, and `train` before the next step.\n";
        }
        text += "\n    Args:\n        params: parameters or parameter groups\n";
        text += &format!("        lr: {}\n", LEARNING_RATE.label);
        for (name, of, _) in self.hyperparameters() {
            text += &format!("        {name}: {}\n", of.label);
        }
        for (name, _, help) in self.options() {
            text += &format!("        {name}: {help}\n");
        }
        text + "    \"\"\"\n\n"
    }

    fn constructor(&self) -> String {
        let mut arguments = vec!["self".to_owned(), "params".to_owned()];
        let mut defaults = vec!["lr=lr".to_owned()];
        let mut checks = vec![("VALUE >= 0.0".to_owned(), "at least 0".to_owned(), vec!["lr"])];
        arguments.push(format!("lr={:?}", self.rated.learning_rate.get()));
        for (name, of, value) in self.hyperparameters() {
            let value = if of.is_whole() { number(value).text } else { format!("{value:?}") };
            arguments.push(format!("{name}={value}"));
            defaults.push(format!("{name}={name}"));
            let Some((test, expected)) = range_test(of, self.rated.rule.kind()) else { continue };
            match checks.iter_mut().find(|(known, ..)| *known == test) {
                Some((.., names)) => names.push(name),
                None => checks.push((test, expected, vec![name])),
            }
        }
        for (name, value, _) in self.options() {
            arguments.push(format!("{name}={value}"));
            defaults.push(format!("{name}={name}"));
        }
        if self.facts.toward.is_some() {
            defaults.push("training=True".to_owned());
        }
        let signature = wrapped("    def __init__(", &arguments, "):");
        let end = wrapped("        super().__init__(params, dict(", &defaults, "))");
        let checks = checks.iter().map(|(test, expected, names)| check(test, expected, names));
        format!("{signature}{}{end}\n", checks.collect::<String>())
    }

    /// The method that is called in each step.
    fn step(&self) -> String {
        let Facts { is_of_lists, has_step, has_curvature, second_gradient, states, .. } = self.facts;
        let (keys, mut first) = (self.keys(), self.first_state());
        let (step, update) = (
            if second_gradient.is_some() {
                "step_with_two_gradients"
            } else if *has_curvature {
                "step_with_curvature"
            } else {
                "step"
            },
            match (is_of_lists, keys.is_empty()) {
                (false, _) => "update_each",
                (true, true) => "update_all",
                (true, false) => "update_batches",
            },
        );
        if keys.is_empty() {
            let loop_ = format!("for p in params:\n    state = self.state[p]\n{}", indented(&first, 4));
            first = if states.is_empty() { String::new() } else { loop_ };
        } else if *has_step {
            first += "state[\"step\"] += 1\n";
        }
        let inputs: Vec<&str> = if *is_of_lists { self.inputs() } else { self.inputs().split_off(keys.len()) };
        let inputs = if inputs.is_empty() { String::new() } else { format!(", {}", inputs.join(", ")) };
        let entries: Vec<String> = keys.iter().map(|key| format!("state[\"{key}\"]")).collect();
        let [key, keys] = [entries.join(", "), keys.join(", ")];
        let [key, keys] = if entries.len() > 1 { [format!("({key})"), format!("({keys})")] } else { [key, keys] };
        let update = body_of(&definition(METHODS, update)).replace(", INPUTS", &inputs);
        let update = filled(&update.replace("KEYS", &keys).replace("KEY", &key), "FIRST", &first);
        let check = "if not group[\"training\"]:\n    raise RuntimeError(\"call train() before step()\")\n";
        let update = if self.facts.toward.is_some() { format!("{check}{update}") } else { update };
        let method = definition(METHODS, step).replace(&format!("def {step}("), "def step(");
        indented(&filled(&method, "GROUP", &update), 4) + "\n"
    }

    /// The arguments of the update besides the group and the parameters.
    fn inputs(&self) -> Vec<&str> {
        let curvature = self.facts.has_curvature.then_some("curvature");
        self.keys().into_iter().chain(curvature).chain(self.facts.second_gradient.map(|_| "previous")).collect()
    }

    /// The numbers that a state keeps for a whole parameter.
    fn keys(&self) -> Vec<&str> {
        let step = self.facts.has_step.then_some("step");
        step.into_iter().chain(self.accumulated().iter().map(|it| it.name.as_str())).collect()
    }

    /// The statements that create the state of a parameter.
    fn first_state(&self) -> String {
        let mut text = "if not state:\n".to_owned();
        if self.facts.has_step {
            text += "    state[\"step\"] = 0\n";
        }
        for Accumulated { name, start } in self.accumulated() {
            text += &format!("    state[\"{name}\"] = {start}\n");
        }
        for index in &self.facts.states {
            let (name, is_statistic) = (&self.names.states[*index], self.names.is_statistic[*index]);
            let zeros = "{i: torch.zeros_like(a) for i, a in outer(p.grad).items()}";
            let value = match is_statistic {
                true if self.names.is_average[*index] => zeros,
                true => "{}",
                false => "torch.zeros_like(p)",
            };
            let is_of_others = self.facts.states_of_others.contains(index);
            let (test, by) = if is_of_others { ("    if not is_matrix:\n", 8) } else { ("", 4) };
            text += &format!("{test}{}state[\"{name}\"] = {value}\n", " ".repeat(by));
        }
        text
    }

    /// The method that updates parameters.
    fn update(&self) -> String {
        let Facts { is_of_lists, has_step, second_gradient, states, .. } = self.facts;
        let mut arguments = vec!["self", "group"];
        if *is_of_lists {
            arguments.push("params");
            arguments.extend(self.inputs());
        } else {
            arguments.extend(["p", "state"]);
            arguments.extend(self.inputs().split_off(self.keys().len()));
        }
        let mut lines: Vec<String> = Vec::new();
        if !is_of_lists {
            lines.push("grad = p.grad".to_owned());
            if second_gradient.is_some() {
                lines.push("previous_grad = previous[p] if p in previous else torch.zeros_like(p)".to_owned());
            }
            if self.facts.has_shapes {
                lines.push("is_matrix = group[\"matrices\"] and grad.ndim > 1 and grad.numel() > 0".to_owned());
            }
            if self.facts.states.len() + self.keys().len() > 0 {
                lines.extend(self.first_state().lines().map(str::to_owned));
            }
            if *has_step {
                lines.push("state[\"step\"] += 1".to_owned());
            }
            let state = |name: &str| [name.to_owned(), format!("state[\"{name}\"]")];
            let common = states.iter().filter(|index| !self.facts.states_of_others.contains(index));
            let names = common.map(|index| self.names.states[*index].as_str());
            lines.extend(assignments(&self.keys().into_iter().chain(names).map(state).collect::<Vec<_>>()));
        } else {
            lines.push("grads = [p.grad for p in params]".to_owned());
            if second_gradient.is_some() {
                lines.push(
                    "previous_grads = [previous[p] if p in previous else torch.zeros_like(p) for p in params]"
                        .to_owned(),
                );
            }
            let read = states.iter().map(|index| &self.names.states[*index]);
            lines.extend(read.map(|name| format!("{name} = [self.state[p][\"{name}\"] for p in params]")));
        }
        let group = |name: &str| [name.to_owned(), format!("group[\"{name}\"]")];
        let mut read = vec![group("lr")];
        read.extend(self.hyperparameters().map(|(name, ..)| group(name)));
        lines.extend(assignments(&read));
        for (index, (test, body)) in self.bodies.iter().enumerate() {
            let accumulated = body.accumulated.iter().map(|Accumulated { name, .. }| format!("{name}={name}"));
            let accumulated = accumulated.collect::<Vec<_>>().join(", ");
            let write_back = match (accumulated.as_str(), is_of_lists) {
                ("", _) => None,
                (all, true) => Some(format!("for p in params:\n    self.state[p].update({all})")),
                (all, false) => Some(format!("state.update({all})")),
            };
            let statements: Vec<String> = body.lines.iter().cloned().chain(write_back).collect();
            match (test.as_str(), index) {
                ("", _) => lines.extend(statements),
                (test, 0) => {
                    lines.push(format!("if {test}:"));
                    lines.extend(statements.iter().map(|line| indented(line, 4)));
                }
                _ => {
                    lines.push("else:".to_owned());
                    let names = self.facts.states_of_others.iter().map(|index| &self.names.states[*index]);
                    lines.extend(names.map(|name| format!("    {name} = state[\"{name}\"]")));
                    lines.extend(statements.iter().map(|line| indented(line, 4)));
                }
            }
        }
        let mut text = format!("    def _update({}):\n", arguments.join(", "));
        lines.iter().for_each(|line| text += &indented(&format!("{}\n", line.trim_end_matches('\n')), 8));
        text
    }

    /// The methods of rules that take gradients elsewhere than at θ, or at two points.
    fn modes(&self) -> String {
        let (state, methods) = match (self.facts.second_gradient, self.facts.toward) {
            (Some(second_gradient), _) => (second_gradient, &["_gradients_before"][..]),
            (_, Some(toward)) => (toward, &["train", "eval"][..]),
            _ => return String::new(),
        };
        let name = &self.names.states[state];
        let method = |of: &&str| format!("\n{}", indented(&definition(METHODS, of).replace("STATE", name), 4));
        methods.iter().map(method).collect()
    }

    /// The functions that the step calls.
    fn helpers(&self) -> Vec<String> {
        let facts = self.facts;
        let has = |function| facts.functions.contains(&function);
        let names = [
            (facts.is_orthogonal, "orthogonalize"),
            (facts.has_blocks, "block_mean"),
            (has(AxesFunction::Outer), "outer"),
            (has(AxesFunction::Turned), "turn"),
            (has(AxesFunction::Product), "precondition"),
            (has(AxesFunction::InverseRoot), "inverse_root"),
            (has(AxesFunction::Eigenvectors), "eigenvectors"),
            (has(AxesFunction::Refreshed), "refresh"),
        ];
        let skips_vectors = self.rated.rule.choice("precondition_1d").is_some_and(|vectors| vectors.key == "Off");
        let [linear, cubic, quintic] = NEWTON_SCHULZ.map(|it| format!("{it:?}"));
        let constants = [
            ("LINEAR", linear),
            ("CUBIC", cubic),
            ("QUINTIC", quintic),
            ("EPSILON", format!("{NEWTON_SCHULZ_EPSILON:?}")),
            ("STEPS", NEWTON_SCHULZ_STEPS.to_string()),
            ("LONGEST", LONGEST_AXIS.to_string()),
            ("LEAST_AXES", if skips_vectors { "2" } else { "1" }.to_owned()),
        ];
        let text = |name: &str| {
            constants.iter().fold(definition(FUNCTIONS, name), |text, (word, value)| text.replace(word, value))
        };
        names.into_iter().filter(|(is_called, _)| *is_called).map(|(_, name)| text(name)).collect()
    }
}

/// The functions that printed steps call, and the methods besides `step`. Words in capitals stand for what the rule
/// decides.
const FUNCTIONS: &str = include_str!("functions.py");
const METHODS: &str = include_str!("methods.py");

/// Replaces a line that is this word by lines with its indentation.
fn filled(text: &str, word: &str, lines: &str) -> String {
    let fill = |line: &str| match line.trim() == word {
        true => indented(lines, line.find(word).unwrap_or(0)),
        false => format!("{line}\n"),
    };
    text.lines().map(fill).collect()
}

/// Returns the statements of a function without its head.
fn body_of(definition: &str) -> String {
    definition.lines().skip(1).map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
}

/// Returns the definition of a function in a file.
fn definition(file: &str, name: &str) -> String {
    let start = format!("def {name}(");
    let found = file.split("\n\n\n").find(|block| block.lines().any(|line| line.starts_with(&start)));
    let block = found.unwrap_or_else(|| unreachable!("{name} is in the file"));
    format!("{}\n", block.trim_end())
}

/// The test that a value is in a hyperparameter's range, and the range as text. Of built-in rules, upper bounds are left
/// out but for decay rates.
fn range_test(of: &SettingInfo, kind: RuleKind) -> Option<(String, String)> {
    let range = of.range()?;
    let [low, high] = [range.min, range.max].map(|bound| format!("{bound:?}"));
    let [from, to] = [range.min, range.max].map(|bound| number(bound).text);
    match kind {
        _ if of.is_decay_rate() || range.max == Beta::RANGE.max => {
            Some((format!("{low} <= VALUE < 1.0"), format!("in [{from}, 1)")))
        }
        RuleKind::Typed(_) if of.key != WEIGHT_DECAY => {
            Some((format!("{low} <= VALUE <= {high}"), format!("in [{from}, {to}]")))
        }
        _ => (range.min >= 0.0).then(|| (format!("VALUE >= {low}"), format!("at least {from}"))),
    }
}

/// Writes the check that values are in a range.
fn check(test: &str, expected: &str, names: &[&str]) -> String {
    if let [name] = names {
        let test = test.replace("VALUE", name);
        return format!(
            "        if not {test}:\n            raise ValueError(f\"{name} must be {expected}, found {{{name}}}\")\n"
        );
    }
    let values: Vec<String> = names.iter().map(|name| format!("{name}={name}")).collect();
    let head = wrapped("        for name, value in dict(", &values, ").items():");
    let test = test.replace("VALUE", "value");
    format!(
        "{head}            if not {test}:\n                raise ValueError(f\"{{name}} must be {expected}, found {{value}}\")\n"
    )
}

/// Writes a text within a docstring.
fn python_text(text: &str) -> String {
    text.replace('\\', "/").replace('"', "'")
}

/// The name of a class.
fn camel_case(name: &str) -> String {
    let mut class = String::new();
    for word in name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        class += &word[..1].to_ascii_uppercase();
        class += &word[1..];
    }
    if class.starts_with(|first: char| first.is_ascii_alphabetic()) { class } else { format!("Rule{class}") }
}

fn indented(text: &str, by: usize) -> String {
    text.split_inclusive('\n').map(|line| format!("{}{line}", " ".repeat(by))).collect()
}

/// Writes items in brackets, in as many lines as they need.
fn wrapped(start: &str, items: &[String], end: &str) -> String {
    let mut lines = vec![start.to_owned()];
    for (index, item) in items.iter().enumerate() {
        let part = if index + 1 < items.len() { format!("{item}, ") } else { format!("{item}{end}") };
        let last = lines.last_mut().expect("there is a line");
        if last.len() + part.trim_end().len() > WIDTH {
            lines.push(format!("{}{part}", " ".repeat(start.len())));
        } else {
            *last += &part;
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Writes assignments to names, several in a line.
fn assignments(all: &[[String; 2]]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let is_wide = all.chunks(3).any(|some| some.iter().flatten().map(|it| it.len() + 2).sum::<usize>() > WIDTH - 8);
    for some in all.chunks(if is_wide { 2 } else { 3 }) {
        let [names, values] = [0, 1].map(|part| some.iter().map(|it| it[part].as_str()).collect::<Vec<_>>().join(", "));
        lines.push(format!("{names} = {values}"));
    }
    lines
}
