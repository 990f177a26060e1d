//! The step of a rule as formulas: with the numbers of a particle in them, and as a summary for the help.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::noise::{Action, NoiseInfo, NoiseKind};
use valleyscope_engine::optimizer::{
    AverageWeight, BiasCorrection, Hyperparameter, HyperparameterChoice, Node, Operand, Operation, PartRole,
    PlaneBatch, RatioCorrection, RuleInfo, RuleKind, RuleSpec, StepInputs, Symbol, Trace, trace,
};
use valleyscope_engine::simulation::StepTrace;

use super::ticks::significant;

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

/// One line of a rule with its results for both coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The rule as on paper: `m ← β₁ m + (1 − β₁) g`.
    pub rule: String,
    /// The meaning of the result, in words.
    pub meaning: &'static str,
    /// The rule with its numbers, for x and y: `0.9 · 0.0123 + 0.1 · 0.456`.
    pub filled: [String; 2],
    /// The result, for x and y.
    pub result: [f64; 2],
}

/// The weight of an average without bias correction.
const WITHOUT_BIAS: Operand = Operand::Constant(1.0);

/// Writes the expressions of a recorded step.
struct Printer<'a> {
    pub nodes: &'a [Node],
    /// The symbols of the parts named so far.
    pub symbols: Vec<Option<&'static str>>,
    /// The symbols of the rule's states.
    pub states: Vec<&'static str>,
    /// The definitions of coefficients with a symbol.
    pub definitions: Vec<(usize, String)>,
}

impl Printer<'_> {
    fn line(&self, index: usize, left: &str, meaning: &'static str) -> Formula {
        let mut rule = format!("{left} {}", self.expression(index, Mode::Symbols).text);
        let mut definitions = Vec::new();
        self.find_definitions(Operand::Node(index), true, &mut definitions);
        for definition in definitions {
            rule += &format!(",  {definition}");
        }
        let filled = [0, 1].map(|axis| match self.nodes[index].operation {
            // With nothing else to show, both numbers are shown.
            Operation::Sub(a, b) => {
                let [a, b] = [a, b].map(|operand| self.operand(operand, Mode::Numbers(axis)));
                difference(&a, &b).text
            }
            _ => self.expression(index, Mode::Numbers(axis)).text,
        });
        Formula { rule, meaning, filled, result: self.nodes[index].values }
    }

    /// Returns the lines of bias corrections in a node: one for each ratio that has no line of its own.
    fn bias_corrections(&self, index: usize) -> Vec<Formula> {
        let Operation::Ratio(m, s, RatioCorrection { m_weight, s_weight, .. }) = self.nodes[index].operation else {
            let operands = self.nodes[index].operation.operands().into_iter();
            let without_line = operands.filter_map(|operand| match operand {
                Operand::Node(index) if self.symbols[index].is_none() => Some(index),
                Operand::Node(_) | Operand::Constant(..) => None,
            });
            return without_line.flat_map(|index| self.bias_corrections(index)).collect();
        };
        let line = |(average, weight): (Operand, Operand)| {
            let quotient = |mode| {
                let [average, weight] = [average, weight].map(|it| self.operand(it, mode));
                format!("{} / {}", average.at_least(PRODUCT), weight.at_least(ATOM))
            };
            Formula {
                rule: format!("{} = {}", hat(&self.operand(average, Mode::Symbols).text), quotient(Mode::Symbols)),
                meaning: "without the bias of a start at 0",
                filled: [0, 1].map(|axis| quotient(Mode::Numbers(axis))),
                result: [0, 1].map(|axis| self.value(average, axis) / self.value(weight, axis)),
            }
        };
        let corrected = [(m, m_weight), (s, s_weight)].into_iter().filter(|(_, weight)| *weight != WITHOUT_BIAS);
        corrected.map(line).collect()
    }

    fn operand(&self, operand: Operand, mode: Mode) -> Expression {
        match operand {
            Operand::Constant(value) => Expression::number(value),
            Operand::Node(index) => match (self.symbols[index], mode) {
                (Some(symbol), Mode::Symbols) => Expression::atom(symbol),
                (Some(_), Mode::Numbers(axis)) => Expression::number(self.nodes[index].values[axis]),
                (None, _) => self.expression(index, mode),
            },
        }
    }

    fn expression(&self, index: usize, mode: Mode) -> Expression {
        if let Mode::Numbers(axis) = mode
            && self.is_scalar(Operand::Node(index))
        {
            return Expression::number(self.nodes[index].values[axis]);
        }
        let of = |operand| self.operand(operand, mode);
        match self.nodes[index].operation {
            Operation::Symbol(symbol) => self.symbol(symbol, self.nodes[index].values, mode),
            Operation::Neg(a) => Expression { text: format!("−{}", of(a).at_least(PRODUCT)), binding: SUM },
            Operation::Add(a, b) => sum(&of(a), &of(b)),
            Operation::Sub(a, b) => self.difference_of(a, b, mode),
            Operation::Mul(a, b) => self.product_of(&[a, b], mode),
            Operation::Div(a, b) => {
                Expression { text: format!("{} / {}", of(a).at_least(PRODUCT), of(b).at_least(ATOM)), binding: PRODUCT }
            }
            Operation::MulAdd(a, b, c) => sum(&self.product_of(&[a, b], mode), &of(c)),
            Operation::AddMul(a, Operand::Constant(0.0), _) => of(a),
            Operation::AddMul(a, b, c) => match self.negated(b) {
                Some(b) => difference(&of(a), &self.product_of(&[b, c], mode)),
                None => sum(&of(a), &self.product_of(&[b, c], mode)),
            },
            Operation::Sqrt(a) => Expression::atom(format!("√{}", of(a).at_least(ATOM))),
            Operation::Abs(a) => Expression::atom(format!("|{}|", of(a).text)),
            Operation::Sign(a) => Expression::atom(format!("sign({})", of(a).text)),
            Operation::Larger(a, b) | Operation::Max(a, b) => {
                Expression::atom(format!("max({}, {})", of(a).text, of(b).text))
            }
            Operation::Min(a, b) => Expression::atom(format!("min({}, {})", of(a).text, of(b).text)),
            Operation::Compare(relation, a, b) => {
                let text = format!("{} {} {}", of(a).text, relation.sign(), of(b).text);
                // Square brackets bind like a symbol.
                Expression::atom(format!("[{text}]"))
            }
            Operation::Select(condition, then, otherwise) => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|it| of(it).text);
                Expression::atom(format!("where({condition}, {then}, {otherwise})"))
            }
            Operation::Function(function, a) => Expression::atom(format!("{}({})", function.name(), of(a).text)),
            Operation::Pow(a, b) => Expression::atom(format!("{}^{}", of(a).at_least(ATOM), of(b).at_least(ATOM))),
            Operation::Sum(a) => self.of_whole("sum", a, mode),
            Operation::Mean(a) | Operation::BlockMean(a) => self.of_whole("mean", a, mode),
            Operation::Norm(a) => Expression::atom(format!("‖{}‖", self.of_both(a, mode))),
            Operation::Orthogonal(a) => {
                let of_both = self.of_both(a, mode);
                let text = match mode {
                    Mode::Symbols => format!("√2 NewtonSchulz({of_both})"),
                    Mode::Numbers(_) => format!("√2 NewtonSchulz{of_both}"),
                };
                Expression { text, binding: PRODUCT }
            }
            Operation::Exchanged(a) => match mode {
                Mode::Symbols => Expression::atom(format!("swap({})", of(a).text)),
                Mode::Numbers(axis) => self.operand(a, Mode::Numbers(1 - axis)),
            },
            Operation::ByShape(matrix, _) => of(matrix),
            Operation::GradientAt(place) => match mode {
                Mode::Symbols => Expression { text: format!("ξ ∇L({})", of(place).text), binding: PRODUCT },
                Mode::Numbers(axis) => Expression::number(self.nodes[index].values[axis]),
            },
            Operation::Toward(average, target, AverageWeight { weight, .. }) => {
                let way = self.difference_of(target, average, mode);
                sum(&of(average), &multiplied(&[of(weight), way], mode))
            }
            Operation::Ratio(m, s, RatioCorrection { m_weight, s_weight, epsilon, .. }) => {
                let corrected = |average, weight| match mode {
                    _ if weight == WITHOUT_BIAS => of(average),
                    Mode::Symbols => Expression::atom(hat(&of(average).text)),
                    Mode::Numbers(axis) => Expression::number(self.value(average, axis) / self.value(weight, axis)),
                };
                let root = Expression::atom(format!("√{}", corrected(s, s_weight).at_least(ATOM)));
                let size = sum(&root, &of(epsilon));
                let text = format!("{} / {}", corrected(m, m_weight).at_least(PRODUCT), size.at_least(ATOM));
                Expression { text, binding: PRODUCT }
            }
        }
    }

    /// Returns the expression of a function of the whole parameter.
    fn of_whole(&self, function: &str, a: Operand, mode: Mode) -> Expression {
        let of_both = self.of_both(a, mode);
        Expression::atom(match mode {
            Mode::Symbols => format!("{function}({of_both})"),
            Mode::Numbers(_) => format!("{function}{of_both}"),
        })
    }

    /// Returns an operand of a function of the whole parameter; in numbers, its values for both coordinates.
    fn of_both(&self, a: Operand, mode: Mode) -> String {
        match mode {
            Mode::Numbers(_) => {
                let [x, y] = [0, 1].map(|axis| text(self.value(a, axis)));
                format!("({x}, {y})")
            }
            Mode::Symbols => self.operand(a, mode).text,
        }
    }

    /// Returns the expression of a difference. Two named numbers are written as one, their difference.
    fn difference_of(&self, a: Operand, b: Operand, mode: Mode) -> Expression {
        match mode {
            Mode::Numbers(axis) if self.has_name(a) && self.has_name(b) => {
                Expression::number(self.value(a, axis) - self.value(b, axis))
            }
            _ => difference(&self.operand(a, mode), &self.operand(b, mode)),
        }
    }

    fn has_name(&self, operand: Operand) -> bool {
        match operand {
            Operand::Constant(..) => true,
            Operand::Node(index) => {
                self.symbols[index].is_some() || matches!(self.nodes[index].operation, Operation::Symbol(_))
            }
        }
    }

    fn symbol(&self, symbol: Symbol, values: [f64; 2], mode: Mode) -> Expression {
        if let Mode::Numbers(axis) = mode {
            return Expression::number(values[axis]);
        }
        match symbol {
            Symbol::Theta => Expression::atom("θ"),
            Symbol::Gradient => Expression::atom("g"),
            Symbol::Curvature => Expression::atom(CURVATURE),
            Symbol::Step => Expression::atom("t"),
            Symbol::LearningRate => Expression::atom("η"),
            Symbol::WeightDecay => Expression::atom("ω"),
            // Once the new state has a line, the old one is distinguished from it.
            Symbol::State(index) if self.symbols.contains(&Some(self.states[index])) => {
                Expression::atom(format!("{}ₜ₋₁", self.states[index]))
            }
            Symbol::State(index) => Expression::atom(self.states[index]),
            Symbol::Hyperparameter(symbol) => Expression::atom(symbol),
            Symbol::Power(symbol) => Expression::atom(format!("{symbol}ᵗ")),
            Symbol::Computed(formula) => Expression { text: formula.to_owned(), binding: PRODUCT },
        }
    }

    /// Returns the expression of a product, in which products among the operands are expanded and equal neighbours
    /// become a square.
    fn product_of(&self, operands: &[Operand], mode: Mode) -> Expression {
        let mut factors = Vec::new();
        for operand in operands {
            self.factors(*operand, &mut factors);
        }
        let mut texts: Vec<Expression> = Vec::new();
        let mut last = None;
        for factor in factors {
            let text = self.operand(factor, mode);
            match texts.last_mut() {
                Some(before) if last == Some(factor) => {
                    // Numbers in brackets, so that the sign of a squared number is visible.
                    let brackets = matches!(mode, Mode::Numbers(_)) || text.binding < ATOM;
                    let base = if brackets { format!("({})", text.text) } else { text.text };
                    *before = Expression::atom(base + "²");
                    last = None;
                }
                _ => {
                    texts.push(text);
                    last = Some(factor);
                }
            }
        }
        multiplied(&texts, mode)
    }

    /// Collects the factors of an operand without a name.
    fn factors(&self, operand: Operand, factors: &mut Vec<Operand>) {
        match operand {
            Operand::Node(index) if self.symbols[index].is_none() => match self.nodes[index].operation {
                Operation::Mul(a, b) => [a, b].into_iter().for_each(|it| self.factors(it, factors)),
                _ => factors.push(operand),
            },
            _ => factors.push(operand),
        }
    }

    fn negated(&self, operand: Operand) -> Option<Operand> {
        let Operand::Node(index) = operand else { return None };
        match self.nodes[index].operation {
            Operation::Neg(of) if self.symbols[index].is_none() => Some(of),
            _ => None,
        }
    }

    /// Returns whether the line of a node has a symbol in it.
    fn mentions(&self, index: usize, symbol: Symbol) -> bool {
        let operation = self.nodes[index].operation;
        let without_name = |operand| match operand {
            Operand::Node(index) => self.symbols[index].is_none().then_some(index),
            Operand::Constant(..) => None,
        };
        operation == Operation::Symbol(symbol)
            || operation.operands().into_iter().filter_map(without_name).any(|index| self.mentions(index, symbol))
    }

    fn value(&self, operand: Operand, axis: usize) -> f64 {
        match operand {
            Operand::Constant(value) => value,
            Operand::Node(index) => self.nodes[index].values[axis],
        }
    }

    fn is_scalar(&self, operand: Operand) -> bool {
        let Operand::Node(index) = operand else { return true };
        match self.nodes[index].operation {
            Operation::Symbol(symbol) => {
                !matches!(symbol, Symbol::Theta | Symbol::Gradient | Symbol::Curvature | Symbol::State(_))
            }
            operation => operation.operands().into_iter().all(|it| self.is_scalar(it)),
        }
    }

    /// Finds the definitions of coefficients in a line, each once.
    fn find_definitions(&self, operand: Operand, is_line: bool, found: &mut Vec<String>) {
        let mut add = |definition: String| {
            if !found.contains(&definition) {
                found.push(definition);
            }
        };
        match operand {
            Operand::Constant(_) => {}
            Operand::Node(index) => {
                if let Some((_, definition)) = self.definitions.iter().find(|(of, _)| *of == index) {
                    add(definition.clone());
                } else if is_line || self.symbols[index].is_none() {
                    let shown = match self.nodes[index].operation {
                        Operation::Toward(average, target, AverageWeight { weight, .. }) => {
                            vec![average, target, weight]
                        }
                        Operation::Ratio(_, _, RatioCorrection { epsilon, .. }) => vec![epsilon],
                        operation => operation.operands(),
                    };
                    shown.into_iter().for_each(|it| self.find_definitions(it, false, found));
                }
            }
        }
    }
}

/// The estimate of the Hessian's diagonal in formulas.
const CURVATURE: &str = "ĥ";
/// Significant digits in the formulas.
const DIGITS: usize = 4;

/// The display of the numbers in a formula.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Symbols,
    /// Numbers of x (0) or of y (1). Unnamed values that are equal for both are computed.
    Numbers(usize),
}

/// The binding strength of the parts of an expression.
const SUM: u8 = 0;
const PRODUCT: u8 = 1;
const ATOM: u8 = 2;

/// An expression with its outermost operation.
struct Expression {
    pub text: String,
    pub binding: u8,
}

impl Expression {
    fn atom(text: impl Into<String>) -> Expression {
        Expression { text: text.into(), binding: ATOM }
    }

    /// Returns a number. A negative one binds like a sum, as its sign begins one; every other binds like a symbol.
    fn number(value: f64) -> Expression {
        let text = text(value);
        let binding = if text.starts_with('−') { SUM } else { ATOM };
        Expression { text, binding }
    }

    /// Returns the text, in brackets where it binds less tightly.
    fn at_least(&self, binding: u8) -> String {
        if self.binding < binding { format!("({})", self.text) } else { self.text.clone() }
    }
}

fn sum(a: &Expression, b: &Expression) -> Expression {
    // A term that begins with a minus is put in brackets after a plus.
    let b = if b.text.starts_with('−') { format!("({})", b.text) } else { b.text.clone() };
    Expression { text: format!("{} + {b}", a.text), binding: SUM }
}

fn difference(a: &Expression, b: &Expression) -> Expression {
    Expression { text: format!("{} − {}", a.text, b.at_least(PRODUCT)), binding: SUM }
}

fn multiplied(factors: &[Expression], mode: Mode) -> Expression {
    let between = if mode == Mode::Symbols { " " } else { " · " };
    let texts: Vec<String> = factors.iter().map(|factor| factor.at_least(ATOM)).collect();
    Expression { text: texts.join(between), binding: PRODUCT }
}

fn hat(symbol: &str) -> String {
    // Precomposed letters are drawn better.
    match symbol {
        "s" => "ŝ".to_owned(),
        "g" => "ĝ".to_owned(),
        "h" => "ĥ".to_owned(),
        other => format!("{other}\u{302}"),
    }
}

/// Returns a number in a formula. Hyperparameters such as 0.9 are not padded with zeros, and 1e-8 is `10⁻⁸`.
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

/// Returns a result, always with the same number of digits, so that columns line up.
pub fn result_text(value: f64) -> String {
    significant(value, DIGITS + 1)
}

/// A rule in words and formulas.
#[derive(Clone, Debug)]
pub struct RuleSummary {
    pub kind: RuleKind,
    /// The formulas of a step with the default choices.
    pub formulas: Vec<Formula>,
    pub variants: Vec<Variant>,
}

/// The changes that another choice of a hyperparameter makes.
#[derive(Clone, Debug)]
pub struct Variant {
    pub of: &'static Hyperparameter,
    pub choice: &'static HyperparameterChoice,
    /// The formulas that differ.
    pub formulas: Vec<Formula>,
}

impl RuleSummary {
    pub fn new(kind: RuleKind) -> RuleSummary {
        let usual = RuleSpec::on_plane(kind);
        let formulas = formulas_of(usual);
        let on_plane = kind.info().hyperparameters.iter().filter(|of| !of.is_for_vectors);
        let variants = on_plane.flat_map(|of| {
            let others = of.choices().iter().enumerate().skip(1);
            others.map(move |(value, choice)| (of, choice, value as f64))
        });
        let variants = variants.map(|(of, choice, value)| {
            let changed = usual.with(of.key, value).expect("the value is one of the choices");
            let differ = |line: &Formula| formulas.iter().all(|usual| usual.rule != line.rule);
            Variant { of, choice, formulas: formulas_of(changed).into_iter().filter(differ).collect() }
        });
        let variants = variants.collect();
        RuleSummary { kind, formulas, variants }
    }

    pub fn info(&self) -> &'static RuleInfo {
        self.kind.info()
    }
}

/// Returns the formula of the gradient that a rule takes and those of its step, with their meanings.
pub fn formulas_from_gradient(noise: &NoiseKind, rule: RuleSpec) -> Vec<(String, &'static str)> {
    let gradient = (gradient_formula(noise, &rule), GRADIENT_MEANING);
    let step = formulas_of(rule).into_iter().map(|formula| (formula.rule, formula.meaning));
    std::iter::once(gradient).chain(step).collect()
}

/// Returns the formulas of a step with the rule's choices. The numbers in them are of no importance.
pub fn formulas_of(rule: RuleSpec) -> Vec<Formula> {
    let landscape = LandscapeSpec::default().landscape();
    let theta = [0.5, 0.25];
    let action = Action::Multiplies;
    let batch = PlaneBatch { landscape: &landscape, at: theta, action, noise: [1.0; 2], curvature_noise: [1.0; 2] };
    let states = vec![[0.125, 0.25]; rule.info().states.len()];
    let step = complete_step(&rule);
    let power = |key: &str| rule.get(key).map(|rate| rate.powi(step as i32));
    let bias = BiasCorrection::new(step, &rule, power).expect("a decay rate is a hyperparameter");
    let inputs = StepInputs { rule, learning_rate: 0.01, bias, theta, gradient: [1.0, -1.0], states };
    step_formulas(&trace(&inputs, batch), rule.info())
}

/// Returns a step in which everything happens that happens only in some: one after an interval of any hyperparameter
/// that counts steps, and not the first.
fn complete_step(rule: &RuleSpec) -> u64 {
    let intervals = rule.hyperparameters().filter(|(of, value)| of.is_whole() && *value > 0.0);
    intervals.map(|(_, value)| value as u64).product::<u64>().max(2) + 1
}

/// Returns the defaults of a hyperparameter, on the plane and in training.
pub fn defaults(of: &Hyperparameter) -> [String; 2] {
    [of.on_plane, of.in_training].map(|value| match of.choices().get(value as usize) {
        Some(choice) => choice.key.to_owned(),
        // Very small numbers are written as they can be typed.
        None if value != 0.0 && value.abs() < 1e-4 => format!("{value:e}"),
        None => value.to_string(),
    })
}

/// Returns the values that a hyperparameter can have: `0 to 1`, or choices.
pub fn values(of: &Hyperparameter) -> String {
    match of.range() {
        Some(range) if of.is_whole() => format!("{} to {}, whole", range.min, range.max),
        Some(range) => format!("{} to {}", range.min, range.max),
        None => of.choices().iter().map(|choice| choice.key).collect::<Vec<_>>().join(", "),
    }
}
