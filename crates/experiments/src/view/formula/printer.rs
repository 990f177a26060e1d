//! The lines of a recorded step as text.

use valleyscope_engine::optimizer::{AverageWeight, Node, Operand, Operation, RatioCorrection, Symbol};

use super::expression::{ATOM, CURVATURE, Expression, Mode, PRODUCT, SUM, difference, hat, multiplied, sum, text};

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
pub(super) struct Printer<'a> {
    pub nodes: &'a [Node],
    /// The symbols of the parts named so far.
    pub symbols: Vec<Option<&'static str>>,
    /// The symbols of the rule's states.
    pub states: Vec<&'static str>,
    /// The definitions of coefficients with a symbol.
    pub definitions: Vec<(usize, String)>,
}

impl Printer<'_> {
    pub(super) fn line(&self, index: usize, left: &str, meaning: &'static str) -> Formula {
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
    pub(super) fn bias_corrections(&self, index: usize) -> Vec<Formula> {
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

    pub(super) fn expression(&self, index: usize, mode: Mode) -> Expression {
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

    /// Returns whether an operand is written as one symbol.
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

    /// Returns the operand whose negative this one is.
    fn negated(&self, operand: Operand) -> Option<Operand> {
        let Operand::Node(index) = operand else { return None };
        match self.nodes[index].operation {
            Operation::Neg(of) if self.symbols[index].is_none() => Some(of),
            _ => None,
        }
    }

    /// Returns whether the line of a node has a symbol in it.
    pub(super) fn mentions(&self, index: usize, symbol: Symbol) -> bool {
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

    /// Returns whether a number follows from hyperparameters alone.
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
