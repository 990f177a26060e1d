//! Rules as code: the recorded step of a rule as text of the language, as a class of PyTorch, or in LaTeX.
//!
//! A rule is [recorded](crate::optimizer::trace) once for all steps and all shapes of parameters. Where it takes
//! different steps for matrices and for other parameters, or at first, a [`Case`] is printed for each.

mod formulas;
mod lists;
mod lowered;
mod python;
mod pytorch;
mod statements;
#[cfg(test)]
mod tests;

use self::lowered::live;
use super::trace::trace_all_steps;
use super::{Need, RatedRule, RuleKind, RuleSpec, Trace, program};
use crate::expression::{Dependence, Graph, Input, Node, NodeId, Op};
use crate::language::GREEK;

/// A way to write a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// The [language](crate::optimizer::program) of typed rules.
    Text,
    /// A class of Python, derived from `torch.optim.Optimizer`.
    PyTorch,
    /// Equations in the environment `aligned`.
    Latex,
}

impl Notation {
    pub const ALL: [Notation; 3] = [Notation::Text, Notation::PyTorch, Notation::Latex];

    /// The name for users.
    pub fn title(self) -> &'static str {
        match self {
            Notation::Text => "text",
            Notation::PyTorch => "PyTorch",
            Notation::Latex => "LaTeX",
        }
    }

    /// The name on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Notation::Text => "text",
            Notation::PyTorch => "pytorch",
            Notation::Latex => "latex",
        }
    }
}

/// Writes a rule. Its hyperparameters are arguments, whose defaults are the rule's values; choices are made as it has
/// them.
///
/// # Errors
///
/// Describes an operation of the rule that the notation lacks.
pub fn written(rule: &RatedRule, notation: Notation) -> Result<String, String> {
    if rule.rule.kind() == RuleKind::External {
        return Err(format!("{} cannot be written: its code is not in the program", rule.name()));
    }
    match notation {
        Notation::Text => {
            let refused = |what| format!("{} cannot be written as text: the language lacks {what}", rule.name());
            program::text_of(&rule.rule).map_err(refused)
        }
        Notation::PyTorch => Ok(pytorch::class(rule)),
        Notation::Latex => Ok(formulas::latex(&rule.rule)),
    }
}

/// The parameters or the steps to which a part of a printed step applies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    All,
    /// Matrices, or the other parameters.
    Matrices(bool),
    /// Steps in which a condition, a node of the record, holds or fails.
    Steps(NodeId, bool),
}

/// A rule's record in a case.
struct Record {
    case: Case,
    trace: Trace,
    /// The states that are used in other steps.
    live_states: Vec<usize>,
}

/// A rule's record in each of its cases.
fn records(rule: &RuleSpec) -> Vec<Record> {
    let trace = trace_all_steps(rule);
    let has_shapes = trace.graph.ids().any(|id| matches!(trace.graph.node(id), Node::Of(Op::ByShape(..))));
    let cases = match trace.graph.node(trace.theta) {
        Node::Of(Op::Select(condition, ..)) if trace.graph.dependence(condition) == Dependence::Uniform => {
            vec![Case::Steps(condition, true), Case::Steps(condition, false)]
        }
        _ if has_shapes => vec![Case::Matrices(true), Case::Matrices(false)],
        _ => vec![Case::All],
    };
    let records = cases.into_iter().map(|case| {
        let live_states = if let Case::Steps(..) = case { live_states(&trace) } else { Vec::new() };
        Record { case, trace: in_case(&trace, case), live_states }
    });
    records.collect()
}

fn live_states(trace: &Trace) -> Vec<usize> {
    let is_live = live(&trace.graph, trace.theta, &trace.new_states, &[]);
    let is_read = |index: &usize| {
        trace.graph.ids().any(|id| is_live[id.0] && trace.graph.node(id) == Node::Input(Input::State(*index)))
    };
    (0..trace.new_states.len()).filter(is_read).collect()
}

/// The record in a case, with the same nodes.
fn in_case(trace: &Trace, case: Case) -> Trace {
    let mut chosen: Vec<NodeId> = Vec::new();
    let mut graph = Graph::new(usize::MAX);
    for id in trace.graph.ids() {
        let node = trace.graph.node(id);
        chosen.push(match (node, case) {
            (Node::Of(Op::ByShape(matrix, other)), Case::Matrices(is_matrix)) => {
                chosen[if is_matrix { matrix } else { other }.0]
            }
            (Node::Of(Op::Select(condition, then, otherwise)), Case::Steps(known, holds)) if condition == known => {
                chosen[if holds { then } else { otherwise }.0]
            }
            _ => id,
        });
        graph.push(match node {
            Node::Of(op) => Node::Of(op.map(|operand| chosen[operand.0])),
            node => node,
        });
    }
    let mut of_case = trace.clone();
    of_case.theta = chosen[trace.theta.0];
    of_case.new_states.iter_mut().for_each(|state| *state = chosen[state.0]);
    of_case.parts.iter_mut().for_each(|(id, _)| *id = chosen[id.0]);
    of_case.graph = graph;
    of_case
}

/// The symbol of a part or a state. In a rule with statistics of axes, components along all axes have a tilde in place
/// of the index of the first on the plane, and eigenvectors are matrices.
fn symbol(symbol: &str, has_axes: bool) -> String {
    match symbol {
        "q" if has_axes => "Q".to_owned(),
        _ if has_axes => symbol.replace('₁', "\u{303}"),
        _ => symbol.to_owned(),
    }
}

fn has_axes(rule: &RuleSpec) -> bool {
    rule.info().needs(Need::Axes)
}

/// Writes a symbol in ASCII letters, as names in programs need them: `beta3_t` for β₃(t).
pub(super) fn ascii_name(symbol: &str) -> String {
    let mut name = String::new();
    for letter in symbol.chars() {
        let greek = GREEK.iter().find(|(_, known)| known.starts_with(letter));
        match (greek, letter) {
            (_, 'η') => name += "lr",
            (Some((word, _)), _) => name += word,
            (_, '₀'..='₉') => name += &(letter as u32 - 0x2080).to_string(),
            (_, 'ₜ') => name += "_t",
            (_, '(') => name.push('_'),
            (_, '′') => name += "_next",
            (_, '\u{303}') => name += "_tilde",
            _ if letter.is_ascii_alphanumeric() || letter == '_' => name.push(letter),
            _ => {}
        }
    }
    name
}
