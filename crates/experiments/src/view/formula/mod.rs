//! The step of a rule as formulas, with the numbers of a particle in them.
//!
//! The formulas are those of the recorded step: they show the actual computation.

mod expression;
mod printer;

use self::expression::{CURVATURE, Expression, Mode, PRODUCT, SUM};
pub use self::expression::{result_text, text};
pub use self::printer::Formula;
use valleyscope_engine::noise::{Action, NoiseInfo, NoiseKind};
use valleyscope_engine::optimizer::{Operand, Operation, PartRole, RuleInfo, RuleSpec, Symbol, Trace};
use valleyscope_engine::simulation::StepTrace;

use self::printer::Printer;

/// Returns the formulas of the selected particle's last step, in the order in which they are computed, after those of
/// the noise.
pub fn formulas(step: &StepTrace) -> Vec<Formula> {
    let StepTrace { gradient, noise_kind, noise, curvature, curvature_noise, trace, inputs, .. } = step;
    let NoiseInfo { action, draw, .. } = noise_kind.info();
    let number = |value: f64| Expression::number(value);
    let filled = |noise: f64, exact: f64| match action {
        Action::Multiplies => format!("{} · {}", text(noise), number(exact).at_least(PRODUCT + 1)),
        Action::Adds => format!("{} + {}", text(exact), number(noise).at_least(SUM + 1)),
    };
    let noisy = |rule: &str, meaning, noise: &[f64; 2], exact: &[f64; 2]| Formula {
        rule: rule.to_owned(),
        meaning,
        filled: [0, 1].map(|axis| filled(noise[axis], exact[axis])),
        result: [0, 1].map(|axis| action.apply_to(exact[axis], noise[axis])),
    };
    let mut lines = vec![noisy(&gradient_formula(noise_kind, &inputs.rule), GRADIENT_MEANING, noise, gradient)];
    if trace.nodes.iter().any(|node| node.operation == Operation::Symbol(Symbol::Curvature)) {
        let rule = format!("{CURVATURE} = {},  {}", noised(action, "ξ′", "∂²L/∂θ²"), draw.replacen('ξ', "ξ′", 1));
        lines.push(noisy(&rule, "the curvature as the optimizer sees it", curvature_noise, curvature));
    }
    lines.extend(step_formulas(trace, inputs.rule.info()));
    lines
}

/// The meaning of the noisy gradient.
pub(super) const GRADIENT_MEANING: &str = "the gradient as the optimizer sees it";

/// Returns the formula of the noisy gradient that a rule takes, such as `g = ξ ∇L(θ),  ξ ~ Normal(1, σ)`.
pub(super) fn gradient_formula(noise: &NoiseKind, rule: &RuleSpec) -> String {
    let NoiseInfo { action, draw, .. } = noise.info();
    let place = if rule.gradient_toward().is_some() { "y" } else { "θ" };
    format!("g = {},  {draw}", noised(action, "ξ", &format!("∇L({place})")))
}

/// Returns a symbol with its noise.
fn noised(action: &Action, noise: &str, exact: &str) -> String {
    match action {
        Action::Multiplies => format!("{noise} {exact}"),
        Action::Adds => format!("{exact} + {noise}"),
    }
}

/// Returns the formulas of a recorded step, in the order in which they are computed.
pub(super) fn step_formulas(trace: &Trace, info: &RuleInfo) -> Vec<Formula> {
    let mut lines = Vec::new();
    let mut printer = Printer {
        nodes: &trace.nodes,
        symbols: vec![None; trace.nodes.len()],
        states: info.states.iter().map(|part| part.symbol).collect(),
        definitions: Vec::new(),
    };
    for &(index, part) in &trace.parts {
        if part.role == PartRole::Coefficient {
            printer.symbols[index] = Some(part.symbol);
            let Expression { text, .. } = printer.expression(index, Mode::Symbols);
            printer.definitions.push((index, format!("{} = {text}", part.symbol)));
            continue;
        }
        lines.extend(printer.bias_corrections(index));
        let arrow = if matches!(part.role, PartRole::State { .. }) { "←" } else { "=" };
        lines.push(printer.line(index, &format!("{} {arrow}", part.symbol), part.meaning));
        printer.symbols[index] = Some(part.symbol);
    }
    // A new state without its own name, such as the gradient, gets a line, unless it is unchanged.
    for (place, (part, state)) in info.states.iter().zip(&trace.new_states).enumerate() {
        if let Operand::Node(index) = *state
            && printer.symbols[index] != Some(part.symbol)
            && trace.nodes[index].operation != Operation::Symbol(Symbol::State(place))
        {
            lines.push(printer.line(index, &format!("{} ←", part.symbol), part.meaning));
        }
    }
    if let Operand::Node(index) = trace.theta {
        let meaning =
            if printer.mentions(index, Symbol::WeightDecay) { "the step, with weight decay" } else { "the step" };
        lines.extend(printer.bias_corrections(index));
        lines.push(printer.line(index, "θ ←", meaning));
    }
    lines
}
