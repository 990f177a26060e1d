//! A rule as formulas, in plain symbols or in LaTeX.

use super::lowered::live;
use super::{Case, Record, has_axes, records, symbol};
use crate::expression::print::{Binding, Printed, Printer, Signs, Style, joined};
use crate::expression::{AxesFunction, Fold, Input, Node, NodeId, Op, RatioCorrection, Relation};
use crate::language::GREEK;
use crate::optimizer::{PartRole, RuleInfo, RuleSpec, Trace};

/// Writes a rule as lines of plain symbols.
pub(super) fn lines(rule: &RuleSpec) -> Vec<String> {
    all(rule, false).into_iter().map(|[left, sign, right]| format!("{left}{sign}{right}")).collect()
}

/// Writes a rule as LaTeX's `aligned` equations.
pub(super) fn latex(rule: &RuleSpec) -> String {
    let lines = all(rule, true).into_iter().map(|[left, sign, right]| match (sign.trim(), right.trim()) {
        ("", "") => format!("  &\\text{{{left}}}"),
        (sign, right) => format!("  {left} &{sign} {right}"),
    });
    format!("\\begin{{aligned}}\n{}\n\\end{{aligned}}\n", lines.collect::<Vec<_>>().join(" \\\\\n"))
}

/// The lines of a rule: the left side, the sign and the right side. A line without a sign is a heading.
fn all(rule: &RuleSpec, is_latex: bool) -> Vec<[String; 3]> {
    let mut lines = Vec::new();
    let heading = |text: &str| [text.to_owned(), String::new(), String::new()];
    for record in records(rule) {
        match record.case {
            Case::All => {}
            Case::Matrices(true) => lines.push(heading("Matrices:")),
            Case::Matrices(false) => lines.push(heading("Other parameters:")),
            Case::Steps(_, true) => lines.push(heading("First step:")),
            Case::Steps(_, false) => lines.push(heading("All others:")),
        }
        lines.extend(Writer::new(&record, rule, is_latex).lines());
    }
    lines
}

/// Writes a symbol in LaTeX, such as `\hat{\theta}` for θ̂ and `\beta_{1}` for β₁.
fn latex_symbol(symbol: &str) -> String {
    let plain = symbol.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if let Some((base, index)) = symbol.split_once('_').filter(|(base, _)| base.chars().count() == 1) {
        return format!("{}_{{{}}}", latex_symbol(base), latex_symbol(index));
    }
    if plain && symbol.len() > 1 {
        return format!("\\mathrm{{{}}}", symbol.replace('_', "\\_"));
    }
    let mut text = String::new();
    for letter in symbol.chars() {
        let greek = GREEK.iter().find(|(_, known)| known.starts_with(letter));
        match (greek, letter) {
            (_, 'ε') => text += "\\varepsilon",
            (_, 'φ') => text += "\\varphi",
            (Some((word, _)), _) => text += &format!("\\{word}"),
            (_, 'Π') => text += "\\Pi",
            (_, 'ĥ') => text += "\\hat{h}",
            (_, '\u{302}') => text = format!("\\hat{{{text}}}"),
            (_, '\u{303}') => text = format!("\\tilde{{{text}}}"),
            (_, '₀'..='₉') => text += &format!("_{{{}}}", letter as u32 - 0x2080),
            (_, 'ₜ') => text += "_{t}",
            (_, '′') => text.push('\''),
            _ => text.push(letter),
        }
    }
    text
}

#[derive(Clone, Copy)]
struct Formulas<'a> {
    info: &'a RuleInfo,
    has_axes: bool,
    is_latex: bool,
}

impl Formulas<'_> {
    const PLAIN: Signs = Signs { minus: "−", times: " ", over: " / ", less: "<", at_most: "≤", equal: "=" };
    const LATEX: Signs = Signs { minus: "-", times: " ", over: " / ", less: "<", at_most: "\\le", equal: "=" };

    fn symbol(&self, of: &str) -> String {
        if self.is_latex { latex_symbol(of) } else { of.to_owned() }
    }

    /// The symbol of a part or a state.
    fn part(&self, of: &str) -> String {
        self.symbol(&symbol(of, self.has_axes))
    }

    fn hat(&self, symbol: &str) -> String {
        match symbol {
            _ if self.is_latex => format!("\\hat{{{symbol}}}"),
            "s" => "ŝ".to_owned(),
            "g" => "ĝ".to_owned(),
            other => format!("{other}\u{302}"),
        }
    }

    fn signs(&self) -> Signs {
        if self.is_latex { Self::LATEX } else { Self::PLAIN }
    }

    fn unequal(&self) -> &'static str {
        if self.is_latex { "\\ne" } else { "≠" }
    }

    fn brackets(&self, text: &str) -> String {
        if self.is_latex { format!("\\left({text}\\right)") } else { format!("({text})") }
    }

    fn at_least(&self, of: &Printed, binding: Binding) -> String {
        if of.binding < binding { self.brackets(&of.text) } else { of.text.clone() }
    }

    /// Writes a function by its name.
    fn call(&self, name: &str, operands: &[Printed]) -> Printed {
        let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
        let name = match name {
            "max" | "min" | "ln" | "exp" | "sin" | "cos" | "tanh" if self.is_latex => format!("\\{name}"),
            _ if self.is_latex => format!("\\operatorname{{{name}}}"),
            _ => name.to_owned(),
        };
        Printed::atom(format!("{name}{}", self.brackets(&texts.join(", "))))
    }

    /// Writes a choice by a condition on the step.
    fn choice(&self, condition: &str, then: &str, otherwise: &str) -> Printed {
        match self.is_latex {
            true => Printed::atom(format!(
                "\\begin{{cases}} {then} & \\text{{if }} {condition} \\\\ {otherwise} & \\text{{else}} \\end{{cases}}"
            )),
            false => Printed::new(format!("{then} if {condition}, else {otherwise}"), Binding::Comparison),
        }
    }

    fn condition(&self, printer: &Printer<'_, Self>, id: NodeId) -> String {
        let and = if self.is_latex { "\\text{ and }" } else { " and " };
        let is_comparison = |id: NodeId| matches!(printer.graph.node(id), Node::Of(Op::Compare(..)));
        match printer.graph.node(id) {
            Node::Of(Op::Compare(relation, a, b)) => {
                let [left, right] = [a, b].map(|it| printer.print(it).text);
                match (relation, printer.graph.node(a)) {
                    (Relation::Less, Node::Constant(_)) => format!("{right} > {left}"),
                    _ => format!("{left} {} {right}", self.signs().relation(relation)),
                }
            }
            Node::Of(Op::Mul(a, b)) if is_comparison(a) && is_comparison(b) => {
                format!("{}{and}{}", self.condition(printer, a), self.condition(printer, b))
            }
            _ => format!("{} {} 0", printer.print(id).text, self.unequal()),
        }
    }

    fn of_axes(&self, function: AxesFunction, [a, b, _]: [Printed; 3]) -> Printed {
        let transposed = if self.is_latex { "^{\\top}" } else { "ᵗ" };
        let [left, right] = [&a, &b].map(|it| self.at_least(it, Binding::Product));
        let product = |text: String| Printed::new(text, Binding::Product);
        match function {
            AxesFunction::Outer => product(format!("{left} {left}{transposed}")),
            AxesFunction::InverseRoot => {
                let sum = self.brackets(&format!("{} + {} I", a.text, b.text));
                let power = if self.is_latex { "^{-1/2k}" } else { "^(−1/2k)" };
                Printed::new(format!("{sum}{power}"), Binding::Power)
            }
            AxesFunction::Turned => product(format!("{left}{transposed} {right}")),
            AxesFunction::Product | AxesFunction::TurnedBack => product(format!("{left} {right}")),
            AxesFunction::Eigenvectors => self.call("eigenvectors", &[a]),
            AxesFunction::Refreshed => self.call("orth", &[product(format!("{right} {left}"))]),
            AxesFunction::Reordered => a,
        }
    }
}

impl Style for Formulas<'_> {
    const EXPANDS_PRODUCTS: bool = true;

    fn constant(&self, value: f64) -> Printed {
        let text = format!("{value:?}");
        let text = text.strip_suffix(".0").unwrap_or(&text);
        let text = match (text.split_once('e'), self.is_latex) {
            (Some(("1", power)), true) => format!("10^{{{power}}}"),
            (Some((digits, power)), true) => format!("{digits} \\cdot 10^{{{power}}}"),
            _ => text.to_owned(),
        };
        Printed::new(text, if value < 0.0 { Binding::Signed } else { Binding::Atom })
    }

    fn input(&self, printer: &Printer<'_, Self>, _id: NodeId, input: Input) -> Printed {
        let parameter = |index: usize| {
            let of = &self.info.hyperparameters[index];
            self.symbol(if of.symbol.is_empty() { of.key } else { of.symbol })
        };
        Printed::atom(match input {
            Input::State(index) => {
                let symbol = self.part(self.info.states[index].symbol);
                // Once the new state has a line, the old one is distinguished from it.
                let has_line = printer.names.iter().flatten().any(|name| *name == symbol);
                let before = if self.is_latex { "_{t-1}" } else { "ₜ₋₁" };
                if has_line { symbol + before } else { symbol }
            }
            Input::Parameter(index) => parameter(index),
            Input::Power(index) if self.is_latex => format!("{}^{{t}}", parameter(index)),
            Input::Power(index) => format!("{}ᵗ", parameter(index)),
            Input::Theta => self.symbol("θ"),
            Input::Gradient => self.symbol("g"),
            Input::Curvature => self.symbol("ĥ"),
            Input::LearningRate => self.symbol("η"),
            Input::WeightDecay => self.symbol("ω"),
            Input::Step => self.symbol("t"),
            Input::Computed(_) => unreachable!("a record of all steps has expressions"),
            Input::X | Input::Y | Input::Angle | Input::Cosine | Input::Sine => unreachable!("they are of losses"),
        })
    }

    fn operation(&self, op: Op<Printed>) -> Printed {
        let is_latex = self.is_latex;
        match op {
            Op::Neg(a) => {
                Printed::new(format!("{}{}", self.signs().minus, self.at_least(&a, Binding::Product)), Binding::Sum)
            }
            Op::Add(a, b) => {
                let [left, right] = [&a, &b].map(|it| self.at_least(it, Binding::Sum));
                Printed::new(format!("{left} + {right}"), Binding::Sum)
            }
            Op::Sub(a, b) => {
                let (left, right) = (self.at_least(&a, Binding::Sum), self.at_least(&b, Binding::Product));
                Printed::new(format!("{left} {} {right}", self.signs().minus), Binding::Sum)
            }
            Op::Div(a, b) if is_latex => Printed::atom(format!("\\frac{{{}}}{{{}}}", a.text, b.text)),
            Op::Div(a, b) => joined(&a, " / ", &b, Binding::Product, [Binding::Product, Binding::Atom]),
            Op::Sqrt(a) if is_latex => Printed::atom(format!("\\sqrt{{{}}}", a.text)),
            Op::Sqrt(a) => Printed::atom(format!("√{}", self.at_least(&a, Binding::Atom))),
            Op::Abs(a) if is_latex => Printed::atom(format!("\\left|{}\\right|", a.text)),
            Op::Abs(a) => Printed::atom(format!("|{}|", a.text)),
            Op::Norm(a) if is_latex => Printed::atom(format!("\\left\\|{}\\right\\|", a.text)),
            Op::Norm(a) => Printed::atom(format!("‖{}‖", a.text)),
            Op::Pow(a, b) if is_latex => {
                Printed::new(format!("{}^{{{}}}", self.at_least(&a, Binding::Atom), b.text), Binding::Power)
            }
            Op::Pow(a, b) => {
                let [base, exponent] = [&a, &b].map(|it| self.at_least(it, Binding::Atom));
                Printed::new(format!("{base}^{exponent}"), Binding::Power)
            }
            Op::Compare(relation, a, b) => {
                Printed::atom(format!("[{} {} {}]", a.text, self.signs().relation(relation), b.text))
            }
            Op::Remainder(a, b) => {
                let [left, right] = [&a, &b].map(|it| self.at_least(it, Binding::Product));
                let sign = if is_latex { "\\bmod" } else { "mod" };
                Printed::new(format!("{left} {sign} {right}"), Binding::Product)
            }
            Op::OverSteps(fold, a) => {
                let is_symbol = a.binding == Binding::Atom && !a.text.ends_with(['ₜ', '}']);
                if is_symbol && fold == Fold::Product && !is_latex {
                    return Printed::new(format!("{0}₁ … {0}ₜ", a.text), Binding::Product);
                }
                let a = if is_symbol && is_latex { Printed::atom(a.text + "_{i}") } else { a };
                let a = Printed { text: a.text.replace("_{t}", "_{i}"), ..a };
                let sign = match (fold, is_latex) {
                    (Fold::Product, true) => "\\prod_{i \\le t}",
                    (Fold::Sum, true) => "\\sum_{i \\le t}",
                    (Fold::Largest, true) => "\\max_{i \\le t}",
                    (Fold::Product, false) => "Π",
                    (Fold::Sum, false) => "Σ",
                    (Fold::Largest, false) => "max",
                };
                Printed::new(format!("{sign} {}", self.at_least(&a, Binding::Product)), Binding::Product)
            }
            Op::Mean(a) => self.call("mean", &[a]),
            Op::BlockMean(a) => self.call("blockmean", &[a]),
            Op::Sum(a) => self.call("sum", &[a]),
            Op::Sign(a) => self.call("sign", &[a]),
            Op::Function(function, a) => self.call(function.name(), &[a]),
            Op::Max(a, b) | Op::Larger(a, b) => self.call("max", &[a, b]),
            Op::Min(a, b) => self.call("min", &[a, b]),
            Op::Select(a, b, c) => self.choice(&format!("{} {} 0", a.text, self.unequal()), &b.text, &c.text),
            Op::Orthogonal(a) => {
                let scale = if is_latex { "\\sqrt{\\max(1, r/c)}" } else { "√max(1, r/c)" };
                Printed::new(format!("{scale} {}", self.call("NewtonSchulz", &[a]).text), Binding::Product)
            }
            Op::GradientAt(at) if is_latex => {
                Printed::new(format!("\\nabla L{}", self.brackets(&at.text)), Binding::Atom)
            }
            Op::GradientAt(at) => Printed::atom(format!("∇L({})", at.text)),
            Op::OfAxes(function, a, b, c) => self.of_axes(function, [a, b, c]),
            op => self.signs().write(op),
        }
    }

    fn in_context(&self, printer: &Printer<'_, Self>, _id: NodeId, op: Op<NodeId>) -> Option<Printed> {
        match op {
            Op::Select(condition, then, otherwise) => {
                let condition = self.condition(printer, condition);
                Some(self.choice(&condition, &printer.print(then).text, &printer.print(otherwise).text))
            }
            _ => None,
        }
    }

    fn product(&self, factors: Vec<Printed>) -> Printed {
        let mut text = String::new();
        for factor in factors {
            let factor = self.at_least(&factor, Binding::Power);
            // A number after another factor needs a sign.
            let is_number = factor.starts_with(|first: char| first.is_ascii_digit());
            let between = match (text.is_empty(), is_number, self.is_latex) {
                (true, ..) => "",
                (_, true, true) => " \\cdot ",
                (_, true, false) => " · ",
                _ => " ",
            };
            text += &format!("{between}{factor}");
        }
        Printed::new(text, Binding::Product)
    }

    fn square(&self, base: Printed) -> Printed {
        let base = self.at_least(&base, Binding::Atom);
        Printed::atom(if self.is_latex { format!("{base}^{{2}}") } else { format!("{base}²") })
    }

    fn corrected(&self, printer: &Printer<'_, Self>, average: NodeId, weight: NodeId) -> Printed {
        let printed = printer.print(average);
        match printer.graph.node(weight) {
            Node::Constant(1.0) => printed,
            _ => Printed::atom(self.hat(&printed.text)),
        }
    }
}

struct Writer<'a> {
    trace: &'a Trace,
    style: Formulas<'a>,
    is_live: Vec<bool>,
    /// The symbols of the parts named so far.
    names: Vec<Option<String>>,
    lines: Vec<[String; 3]>,
}

impl<'a> Writer<'a> {
    fn new(record: &'a Record, rule: &RuleSpec, is_latex: bool) -> Writer<'a> {
        let Record { trace, live_states, .. } = record;
        let style = Formulas { info: rule.info(), has_axes: has_axes(rule), is_latex };
        let is_live = live(&trace.graph, trace.theta, &trace.new_states, live_states);
        Writer { trace, style, is_live, names: vec![None; trace.graph.ids().count()], lines: Vec::new() }
    }

    fn lines(mut self) -> Vec<[String; 3]> {
        let [arrow, equal] = if self.style.is_latex { ["\\leftarrow", "="] } else { [" ← ", " = "] };
        for (id, part) in self.trace.parts.clone() {
            if !self.is_live[id.0] || self.names[id.0].is_some() || !matches!(self.trace.graph.node(id), Node::Of(_)) {
                continue;
            }
            let symbol = self.style.part(part.symbol);
            let is_state = matches!(part.role, PartRole::State { .. });
            self.line(id, &symbol, if is_state { arrow } else { equal }, self.condition_of(id));
            // The state stays where the condition fails.
            let selections = self.trace.graph.ids().filter(|it| match self.trace.graph.node(*it) {
                Node::Of(Op::Select(_, then, _)) => is_state && then == id,
                _ => false,
            });
            selections.chain([id]).for_each(|id| self.names[id.0] = Some(symbol.clone()));
        }
        for (index, part) in self.style.info.states.iter().enumerate() {
            let state = self.trace.new_states[index];
            let symbol = self.style.part(part.symbol);
            let is_named = self.names.iter().flatten().any(|name| *name == symbol);
            let is_same = self.trace.graph.node(state) == Node::Input(Input::State(index));
            let is_read = self
                .trace
                .graph
                .ids()
                .any(|id| self.is_live[id.0] && self.trace.graph.node(id) == Node::Input(Input::State(index)));
            if !is_named && !is_same && is_read {
                self.line(state, &symbol, arrow, None);
            }
        }
        if self.trace.graph.node(self.trace.theta) != Node::Input(Input::Theta) {
            let theta = self.style.symbol("θ");
            self.line(self.trace.theta, &theta, arrow, None);
        }
        self.lines
    }

    fn printer(&self) -> Printer<'_, Formulas<'_>> {
        Printer { graph: &self.trace.graph, names: self.names.clone(), style: self.style }
    }

    /// The condition under which a state becomes a number, else it stays.
    fn condition_of(&self, id: NodeId) -> Option<NodeId> {
        self.trace.new_states.iter().enumerate().find_map(|(index, state)| match self.trace.graph.node(*state) {
            Node::Of(Op::Select(condition, then, otherwise))
                if then == id && self.trace.graph.node(otherwise) == Node::Input(Input::State(index)) =>
            {
                Some(condition)
            }
            _ => None,
        })
    }

    fn line(&mut self, id: NodeId, left: &str, sign: &str, condition: Option<NodeId>) {
        self.bias_corrections(id);
        let printer = self.printer();
        let mut right = printer.expression(id).text;
        if let Some(condition) = condition {
            let condition = self.style.condition(&printer, condition);
            right += &if self.style.is_latex {
                format!(" \\quad \\text{{if }} {condition}")
            } else {
                format!("  if {condition}")
            };
        }
        let line = [left.to_owned(), sign.to_owned(), right];
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Writes the averages without bias in a number's line, each once.
    fn bias_corrections(&mut self, id: NodeId) {
        let mut pending = vec![id];
        let mut averages: Vec<(NodeId, NodeId)> = Vec::new();
        while let Some(id) = pending.pop() {
            let Node::Of(op) = self.trace.graph.node(id) else { continue };
            if let Op::Ratio(m, s, RatioCorrection { m_weight, s_weight, .. }) = op {
                averages.extend([(m, m_weight), (s, s_weight)]);
            }
            pending.extend(op.operands().into_iter().filter(|operand| self.names[operand.0].is_none()));
        }
        for (average, weight) in averages {
            let printer = self.printer();
            let left = self.style.corrected(&printer, average, weight).text;
            let right = self.style.operation(Op::Div(printer.print(average), printer.print(weight))).text;
            let sign = if self.style.is_latex { "=" } else { " = " };
            let line = [left, sign.to_owned(), right];
            if self.trace.graph.node(weight) != Node::Constant(1.0) && !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }
}
