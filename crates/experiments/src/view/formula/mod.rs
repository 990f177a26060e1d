//! The step of a rule as formulas, with the numbers of a particle in them.
//!
//! The formulas are those of the recorded step: they show the actual computation.

mod style;

use valleyscope_engine::expression::print::{Binding, Printed, Printer, Style};
use valleyscope_engine::expression::{Input, Node, NodeId, Op};
use valleyscope_engine::noise::{Action, NoiseInfo, NoiseKind};
use valleyscope_engine::optimizer::{PartRole, RuleInfo, RuleSpec, Trace};
use valleyscope_engine::simulation::StepTrace;

use self::style::{CURVATURE, Formulas, hat, is_corrected, number, ratios};
pub use self::style::{result_text, text};

/// One line of a rule with its results for both coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The rule in symbols: `m ← β₁ m + (1 − β₁) g`.
    pub rule: String,
    /// The description of the result.
    pub meaning: &'static str,
    /// The rule with its numbers, for x and y: `0.9 · 0.0123 + 0.1 · 0.456`.
    pub filled: [String; 2],
    /// The result, for x and y.
    pub result: [f64; 2],
}

/// Writes the formulas of the selected particle's last step, in the order in which they are computed, after those of
/// the noise.
pub fn formulas(step: &StepTrace) -> Vec<Formula> {
    let StepTrace { gradient, noise_kind, noise, curvature, curvature_noise, trace, inputs, .. } = step;
    let NoiseInfo { action, draw, .. } = noise_kind.info();
    let filled = |noise: f64, exact: f64| match action {
        Action::Multiplies => format!("{} · {}", text(noise), number(exact).at_least(Binding::Atom)),
        Action::Adds => format!("{} + {}", text(exact), number(noise).at_least(Binding::Product)),
    };
    let noisy = |rule: &str, meaning, noise: &[f64; 2], exact: &[f64; 2]| Formula {
        rule: rule.to_owned(),
        meaning,
        filled: [0, 1].map(|axis| filled(noise[axis], exact[axis])),
        result: [0, 1].map(|axis| action.apply_to(exact[axis], noise[axis])),
    };
    let mut lines = vec![noisy(&gradient_formula(noise_kind, &inputs.rule), GRADIENT_MEANING, noise, gradient)];
    if trace.graph.ids().any(|id| trace.graph.node(id) == Node::Input(Input::Curvature)) {
        let rule = format!("{CURVATURE} = {},  {}", noised(action, "ξ′", "∂²L/∂θ²"), draw.replacen('ξ', "ξ′", 1));
        lines.push(noisy(&rule, "the curvature as the optimizer sees it", curvature_noise, curvature));
    }
    lines.extend(step_formulas(trace, inputs.rule.info()));
    lines
}

/// The meaning of the noisy gradient.
pub(super) const GRADIENT_MEANING: &str = "the gradient as the optimizer sees it";

/// The formula of the noisy gradient that a rule takes, such as `g = ξ ∇L(θ),  ξ ~ Normal(1, σ)`.
pub(super) fn gradient_formula(noise: &NoiseKind, rule: &RuleSpec) -> String {
    let NoiseInfo { action, draw, .. } = noise.info();
    let at = if rule.gradient_toward().is_some() { "y" } else { "θ" };
    format!("g = {},  {draw}", noised(action, "ξ", &format!("∇L({at})")))
}

fn noised(action: &Action, noise: &str, exact: &str) -> String {
    match action {
        Action::Multiplies => format!("{noise} {exact}"),
        Action::Adds => format!("{exact} + {noise}"),
    }
}

/// Writes the formulas of a recorded step, in the order in which they are computed.
pub(super) fn step_formulas(trace: &Trace, info: &RuleInfo) -> Vec<Formula> {
    let names = trace.graph.ids().map(|_| None).collect();
    let mut writer = Writer { trace, info, names, definitions: Vec::new() };
    let mut lines = Vec::new();
    for &(id, part) in &trace.parts {
        if part.role == PartRole::Coefficient {
            writer.names[id.0] = Some(part.symbol.to_owned());
            let Printed { text, .. } = writer.printer(None).expression(id);
            writer.definitions.push((id, format!("{} = {text}", part.symbol)));
            continue;
        }
        lines.extend(writer.bias_corrections(id));
        let arrow = if matches!(part.role, PartRole::State { .. }) { "←" } else { "=" };
        lines.push(writer.line(id, &format!("{} {arrow}", part.symbol), part.meaning));
        writer.names[id.0] = Some(part.symbol.to_owned());
    }
    // A new state without its own name, such as the gradient, has a line, unless it is unchanged.
    for (index, (part, &state)) in info.states.iter().zip(&trace.new_states).enumerate() {
        let is_named = writer.names[state.0].as_deref() == Some(part.symbol);
        let is_unchanged = trace.graph.node(state) == Node::Input(Input::State(index));
        if !is_named && !is_unchanged && !writer.is_constant(state) {
            lines.push(writer.line(state, &format!("{} ←", part.symbol), part.meaning));
        }
    }
    if !writer.is_constant(trace.theta) {
        let has_decay = writer.mentions(trace.theta, Input::WeightDecay);
        let meaning = if has_decay { "the step, with weight decay" } else { "the step" };
        lines.extend(writer.bias_corrections(trace.theta));
        lines.push(writer.line(trace.theta, "θ ←", meaning));
    }
    lines
}

struct Writer<'a> {
    trace: &'a Trace,
    info: &'a RuleInfo,
    /// The symbols of the parts named so far.
    names: Vec<Option<String>>,
    /// The definitions of coefficients with a symbol.
    definitions: Vec<(NodeId, String)>,
}

impl Writer<'_> {
    /// Creates a printer of symbols, or of the numbers of a coordinate.
    fn printer(&self, numbers: Option<usize>) -> Printer<'_, Formulas<'_>> {
        let style = Formulas { trace: self.trace, info: self.info, numbers };
        Printer { graph: &self.trace.graph, names: self.names.clone(), style }
    }

    fn line(&self, id: NodeId, left: &str, meaning: &'static str) -> Formula {
        let mut rule = format!("{left} {}", self.printer(None).expression(id).text);
        let mut definitions = Vec::new();
        self.find_definitions(id, true, &mut definitions);
        for definition in definitions {
            rule += &format!(",  {definition}");
        }
        let filled = [0, 1].map(|axis| {
            let printer = self.printer(Some(axis));
            match self.trace.graph.node(id) {
                // With nothing else to show, both numbers are shown.
                Node::Of(Op::Sub(a, b)) => printer.style.operation(Op::Sub(printer.print(a), printer.print(b))).text,
                _ => printer.expression(id).text,
            }
        });
        Formula { rule, meaning, filled, result: self.trace.values(id) }
    }

    /// Writes the lines of bias corrections in a node: one for each average of a ratio without a separate line.
    fn bias_corrections(&self, id: NodeId) -> Vec<Formula> {
        let symbols = self.printer(None);
        let line = |(average, weight): (NodeId, NodeId)| {
            let quotient = |numbers| {
                let printer = self.printer(numbers);
                printer.style.operation(Op::Div(printer.print(average), printer.print(weight))).text
            };
            Formula {
                rule: format!("{} = {}", hat(&symbols.print(average).text), quotient(None)),
                meaning: "without the bias of a start at 0",
                filled: [0, 1].map(|axis| quotient(Some(axis))),
                result: [0, 1].map(|axis| self.trace.values(average)[axis] / self.trace.values(weight)[axis]),
            }
        };
        let averages = ratios(&symbols, id).into_iter().flat_map(|(m, s, of)| [(m, of.m_weight), (s, of.s_weight)]);
        averages.filter(|(_, weight)| is_corrected(self.trace, *weight)).map(line).collect()
    }

    fn is_constant(&self, id: NodeId) -> bool {
        matches!(self.trace.graph.node(id), Node::Constant(_))
    }

    /// Whether the line of a node shows an input.
    fn mentions(&self, id: NodeId, input: Input) -> bool {
        match self.trace.graph.node(id) {
            Node::Of(op) => {
                let unnamed = op.operands().into_iter().filter(|operand| self.names[operand.0].is_none());
                unnamed.into_iter().any(|operand| self.mentions(operand, input))
            }
            node => node == Node::Input(input),
        }
    }

    /// Finds the definitions of coefficients in a line, each once.
    fn find_definitions(&self, id: NodeId, is_line: bool, found: &mut Vec<String>) {
        if let Some((_, definition)) = self.definitions.iter().find(|(of, _)| *of == id) {
            if !found.contains(definition) {
                found.push(definition.clone());
            }
        } else if let (Node::Of(op), true) = (self.trace.graph.node(id), is_line || self.names[id.0].is_none()) {
            let shown = if let Op::Ratio(_, _, of) = op { vec![of.epsilon] } else { op.shown() };
            shown.into_iter().for_each(|operand| self.find_definitions(operand, false, found));
        }
    }
}
