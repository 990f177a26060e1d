//! The style of formulas on the screen, in symbols or with the numbers of a step.

use valleyscope_engine::expression::print::{Binding, Printed, Printer, Signs, Style, joined};
use valleyscope_engine::expression::{Dependence, Input, Node, NodeId, Op, RatioCorrection};
use valleyscope_engine::optimizer::{RuleInfo, Trace};

use crate::view::ticks::significant;

/// The estimate of the Hessian's diagonal in formulas.
pub(super) const CURVATURE: &str = "ĥ";
/// Significant digits in the formulas.
const DIGITS: usize = 4;

#[derive(Clone, Copy)]
pub(super) struct Formulas<'a> {
    pub trace: &'a Trace,
    pub info: &'a RuleInfo,
    /// The coordinate, x (0) or y (1), whose numbers are written; `None` for symbols. Unnamed values that are equal for
    /// both coordinates are computed.
    pub numbers: Option<usize>,
}

impl Formulas<'_> {
    const SIGNS: Signs = Signs { minus: "−", times: " ", over: " / ", less: "<", at_most: "≤", equal: "=" };

    fn value(&self, id: NodeId, axis: usize) -> Printed {
        number(self.trace.values(id)[axis])
    }

    /// Writes an operand of a function of the whole parameter; in numbers, its values for both coordinates.
    fn of_both(&self, printer: &Printer<'_, Self>, a: NodeId) -> String {
        match self.numbers {
            Some(_) => {
                let [x, y] = self.trace.values(a).map(text);
                format!("({x}, {y})")
            }
            None => printer.print(a).text,
        }
    }

    /// Writes a function of the whole parameter.
    fn of_whole(&self, printer: &Printer<'_, Self>, function: &str, a: NodeId) -> String {
        let of_both = self.of_both(printer, a);
        if self.numbers.is_some() { format!("{function}{of_both}") } else { format!("{function}({of_both})") }
    }
}

impl Style for Formulas<'_> {
    const EXPANDS_PRODUCTS: bool = true;

    fn constant(&self, value: f64) -> Printed {
        number(value)
    }

    fn input(&self, printer: &Printer<'_, Self>, id: NodeId, input: Input) -> Printed {
        if let Some(axis) = self.numbers {
            return self.value(id, axis);
        }
        let symbol_of = |index: usize| self.info.hyperparameters[index].symbol;
        match input {
            Input::Theta => Printed::atom("θ"),
            Input::Gradient => Printed::atom("g"),
            Input::Curvature => Printed::atom(CURVATURE),
            Input::Step => Printed::atom("t"),
            Input::LearningRate => Printed::atom("η"),
            Input::WeightDecay => Printed::atom("ω"),
            Input::State(index) => {
                let symbol = self.info.states[index].symbol;
                // Once the new state has a line, the old one is distinguished from it.
                let has_line = printer.names.iter().flatten().any(|name| name == symbol);
                Printed::atom(if has_line { format!("{symbol}ₜ₋₁") } else { symbol.to_owned() })
            }
            Input::Parameter(index) => Printed::atom(symbol_of(index)),
            Input::Power(index) => Printed::atom(format!("{}ᵗ", symbol_of(index))),
            Input::Computed(formula) => Printed::new(formula, Binding::Product),
            Input::X | Input::Y | Input::Angle | Input::Cosine | Input::Sine => unreachable!("they are of losses"),
        }
    }

    fn named(&self, id: NodeId, name: &str) -> Printed {
        self.numbers.map_or_else(|| Printed::atom(name), |axis| self.value(id, axis))
    }

    fn operation(&self, op: Op<Printed>) -> Printed {
        match op {
            // A sign begins a sum.
            Op::Neg(a) => Printed::new(format!("−{}", a.at_least(Binding::Product)), Binding::Sum),
            Op::Add(a, b) => {
                // A term that begins with a minus is put in brackets after a plus.
                let b = if b.text.starts_with('−') { format!("({})", b.text) } else { b.text };
                Printed::new(format!("{} + {b}", a.text), Binding::Sum)
            }
            Op::Div(a, b) => joined(&a, " / ", &b, Binding::Product, [Binding::Product, Binding::Atom]),
            Op::Sqrt(a) => Printed::atom(format!("√{}", a.at_least(Binding::Atom))),
            Op::Abs(a) => Printed::atom(format!("|{}|", a.text)),
            // Square brackets bind like a symbol.
            Op::Compare(relation, a, b) => {
                Printed::atom(format!("[{} {} {}]", a.text, Self::SIGNS.relation(relation), b.text))
            }
            Op::Pow(..) => Printed { binding: Binding::Atom, ..Self::SIGNS.write(op) },
            op => Self::SIGNS.write(op),
        }
    }

    fn in_context(&self, printer: &Printer<'_, Self>, id: NodeId, op: Op<NodeId>) -> Option<Printed> {
        let graph = printer.graph;
        if let Some(axis) = self.numbers {
            match op {
                _ if graph.dependence(id) <= Dependence::Rates => return Some(self.value(id, axis)),
                Op::Exchanged(a) => {
                    let style = Formulas { numbers: Some(1 - axis), ..*self };
                    return Some(Printer { names: printer.names.clone(), style, ..*printer }.print(a));
                }
                Op::GradientAt(_) => return Some(self.value(id, axis)),
                _ => {}
            }
        }
        match op {
            Op::Sum(a) => Some(Printed::atom(self.of_whole(printer, "sum", a))),
            Op::Mean(a) | Op::BlockMean(a) => Some(Printed::atom(self.of_whole(printer, "mean", a))),
            Op::Norm(a) => Some(Printed::atom(format!("‖{}‖", self.of_both(printer, a)))),
            Op::Orthogonal(a) => Some(Printed::new(self.of_whole(printer, "√2 NewtonSchulz", a), Binding::Product)),
            Op::GradientAt(at) => Some(Printed::new(format!("ξ ∇L({})", printer.print(at).text), Binding::Product)),
            _ => None,
        }
    }

    /// Writes a difference; in numbers, two symbols are written as one number, their difference.
    fn difference(&self, printer: &Printer<'_, Self>, a: NodeId, b: NodeId) -> Printed {
        let is_symbol = |id: NodeId| printer.has_name(id) || !matches!(printer.graph.node(id), Node::Of(_));
        match self.numbers {
            Some(axis) if is_symbol(a) && is_symbol(b) => {
                number(self.trace.values(a)[axis] - self.trace.values(b)[axis])
            }
            _ => self.operation(Op::Sub(printer.print(a), printer.print(b))),
        }
    }

    fn product(&self, factors: Vec<Printed>) -> Printed {
        let between = if self.numbers.is_some() { " · " } else { " " };
        let texts: Vec<String> = factors.iter().map(|factor| factor.at_least(Binding::Atom)).collect();
        Printed::new(texts.join(between), Binding::Product)
    }

    fn square(&self, base: Printed) -> Printed {
        // Numbers in brackets, so that the sign of a squared number is visible.
        let has_brackets = self.numbers.is_some() || base.binding < Binding::Atom;
        Printed::atom(if has_brackets { format!("({})²", base.text) } else { base.text + "²" })
    }

    fn corrected(&self, printer: &Printer<'_, Self>, average: NodeId, weight: NodeId) -> Printed {
        match self.numbers {
            _ if !is_corrected(self.trace, weight) => printer.print(average),
            None => Printed::atom(hat(&printer.print(average).text)),
            Some(axis) => number(self.trace.values(average)[axis] / self.trace.values(weight)[axis]),
        }
    }
}

/// Whether an average of this weight has a bias.
pub(super) fn is_corrected(trace: &Trace, weight: NodeId) -> bool {
    trace.graph.node(weight) != Node::Constant(1.0)
}

/// Finds the ratios in a node without a separate line.
pub(super) fn ratios(
    printer: &Printer<'_, Formulas<'_>>,
    id: NodeId,
) -> Vec<(NodeId, NodeId, RatioCorrection<NodeId>)> {
    match printer.graph.node(id) {
        Node::Of(Op::Ratio(m, s, correction)) => vec![(m, s, correction)],
        Node::Of(op) => {
            let without_line = op.operands().into_iter().filter(|operand| !printer.has_name(*operand));
            without_line.flat_map(|operand| ratios(printer, operand)).collect()
        }
        Node::Constant(_) | Node::Input(_) => Vec::new(),
    }
}

/// Writes a number. A negative one binds like a sum, as its sign begins one; every other binds like a symbol.
pub(super) fn number(value: f64) -> Printed {
    let text = text(value);
    let binding = if text.starts_with('−') { Binding::Sum } else { Binding::Atom };
    Printed::new(text, binding)
}

pub(super) fn hat(symbol: &str) -> String {
    // Precomposed letters are drawn better.
    match symbol {
        "s" => "ŝ".to_owned(),
        "g" => "ĝ".to_owned(),
        "h" => "ĥ".to_owned(),
        other => format!("{other}\u{302}"),
    }
}

/// Formats a number in a formula. Hyperparameters such as 0.9 are not padded with zeros, and 1e-8 is `10⁻⁸`.
pub fn text(value: f64) -> String {
    let exact = significant(value, 12);
    if let Some(("1.00000000000", power)) = exact.split_once('×') {
        return power.to_owned();
    }
    let rounded = significant(value, DIGITS);
    let trimmed = |text: &str| match text.contains('×') || !text.contains('.') {
        true => text.to_owned(),
        false => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    if trimmed(&exact).chars().count() <= rounded.chars().count() { trimmed(&exact) } else { rounded }
}

/// Formats a result, always with the same number of digits, so that columns line up.
pub fn result_text(value: f64) -> String {
    significant(value, DIGITS + 1)
}
