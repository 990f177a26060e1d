//! Built-in rules as text.

use crate::optimizer::{
    AverageWeight, Batch, BiasCorrection, Hyperparameter, Need, Node, Operand, Operation, PartRole, RatioCorrection,
    Relation, RuleSpec, StepInputs, Symbol, Trace, trace,
};

/// The text of a rule, made of its recorded step, so that it says what the rule computes. A choice among the
/// hyperparameters is made as `rule` has it.
///
/// # Errors
///
/// What the rule computes that the language has no words for.
pub fn text_of(rule: &RuleSpec) -> Result<String, &'static str> {
    if let Some(typed) = rule.kind().typed() {
        return Ok(typed.text().to_owned());
    }
    // Some steps do not ask for them.
    if rule.info().needs(Need::GradientElsewhere) {
        return Err("a second gradient in each step");
    }
    if rule.info().needs(Need::Curvature) {
        return Err("the curvature of the loss");
    }
    if rule.gradient_toward().is_some() {
        return Err("a gradient that is taken elsewhere than at θ");
    }
    // The formulas are the same in all steps but the first.
    const STEP: u64 = 3;
    let power = |key: &str| rule.get(key).map(|rate| rate.powi(STEP as i32));
    let bias = BiasCorrection::new(STEP, rule, power).map_err(|_| "a decay rate without a value")?;
    let states = vec![[0.25, 0.5]; rule.info().states.len()];
    let (theta, gradient) = ([1.0, 2.0], [0.5, 0.25]);
    let inputs = StepInputs { rule: *rule, learning_rate: 0.1, bias, theta, gradient, states };
    Writer::new(rule, &trace(&inputs, NoAnswer)).text()
}

/// The batch of a step of which only the formulas are of interest.
#[derive(Clone, Copy)]
struct NoAnswer;

impl Batch<[f64; 2]> for NoAnswer {
    fn gradient_at(self, _theta: [f64; 2]) -> [f64; 2] {
        [0.0; 2]
    }

    fn curvature(self) -> [f64; 2] {
        [0.0; 2]
    }
}

/// The binding strength of expressions, from the loosest.
const COMPARISON: u8 = 0;
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const POWER: u8 = 3;
const ATOM: u8 = 4;

struct Writer<'a> {
    rule: &'a RuleSpec,
    trace: &'a Trace,
    /// The number of uses of each node in the results.
    uses: Vec<usize>,
    /// The names of nodes that were assigned.
    names: Vec<Option<String>>,
    lines: Vec<String>,
}

type Text = Result<(String, u8), &'static str>;

impl<'a> Writer<'a> {
    fn new(rule: &'a RuleSpec, trace: &'a Trace) -> Writer<'a> {
        let mut uses = vec![0; trace.nodes.len()];
        let results = trace.new_states.iter().copied().chain([trace.theta]).collect();
        count(&mut uses, results);
        for index in (0..trace.nodes.len()).rev() {
            if uses[index] > 0 {
                count(&mut uses, shown(trace.nodes[index].operation));
            }
        }
        Writer { rule, trace, uses, names: vec![None; trace.nodes.len()], lines: Vec::new() }
    }

    fn text(mut self) -> Result<String, &'static str> {
        self.declarations();
        let mut later = Vec::new();
        for index in 0..self.trace.nodes.len() {
            let states = self.trace.new_states.iter().enumerate();
            let state = states.clone().find(|(_, state)| **state == Operand::Node(index)).map(|(of, _)| of);
            let is_symbol = matches!(self.trace.nodes[index].operation, Operation::Symbol(_));
            let is_named = self.trace.parts.iter().any(|(node, _)| *node == index);
            if is_symbol || self.uses[index] == 0 || !(is_named || state.is_some() || self.uses[index] > 1) {
                continue;
            }
            if self.is_of_step(Operand::Node(index)) && !is_named {
                continue;
            }
            let (text, _) = self.expression(index)?;
            let key = state.map(|of| self.state_key(of));
            let name = match key {
                Some(key) if !self.is_used_after(state, index) => key.to_owned(),
                Some(key) => {
                    let name = self.new_name(&format!("new_{key}"));
                    later.push(format!("{key} = {name}"));
                    name
                }
                None => self.name_of(index),
            };
            self.lines.push(format!("{name} = {text}"));
            self.names[index] = Some(name);
        }
        for (of, state) in self.trace.new_states.iter().enumerate() {
            let is_assigned = matches!(state, Operand::Node(index)
                if !matches!(self.trace.nodes[*index].operation, Operation::Symbol(_)));
            if !is_assigned && !self.is_same_state(of, *state) {
                later.push(format!("{} = {}", self.state_key(of), self.operand(*state)?.0));
            }
        }
        let (theta, _) = self.operand(self.trace.theta)?;
        self.lines.append(&mut later);
        // Assigned above, as every computed number that others use.
        if self.lines.last().is_none_or(|last| !last.starts_with("theta =")) {
            self.lines.push(format!("theta = {theta}"));
        }
        Ok(self.lines.join("\n") + "\n")
    }

    fn declarations(&mut self) {
        let states: Vec<&str> = self.rule.info().state_keys().collect();
        if !states.is_empty() {
            self.lines.push(format!("state {}", states.join(", ")));
        }
        let is_used = |of: &Hyperparameter| {
            let of_it = |node: &Node| match node.operation {
                Operation::Symbol(Symbol::Hyperparameter(symbol) | Symbol::Power(symbol)) => symbol == of.symbol,
                _ => false,
            };
            self.trace.nodes.iter().enumerate().any(|(index, node)| of_it(node) && self.uses[index] > 0)
        };
        let mut lines = Vec::new();
        for (of, value) in self.rule.hyperparameters() {
            let Some(range) = of.range() else { continue };
            if of.key != Hyperparameter::WEIGHT_DECAY && is_used(of) {
                let [low, high] = if of.is_decay_rate() { [0.0, 1.0] } else { [range.min, range.max] };
                let value = if value > 0.0 && value < 1e-4 { format!("{value:e}") } else { value.to_string() };
                lines.push(format!("param {} = {value} in {low}..{high}", of.key));
            }
        }
        self.lines.append(&mut lines);
    }

    fn is_same_state(&self, of: usize, state: Operand) -> bool {
        matches!(state, Operand::Node(index) if self.trace.nodes[index].operation == Operation::Symbol(Symbol::State(of)))
    }

    /// Whether a state's value before the step is used in a line behind that of a node.
    fn is_used_after(&self, state: Option<usize>, index: usize) -> bool {
        let is_it = |operand: &Operand| state.is_some_and(|of| self.is_same_state(of, *operand));
        (index + 1..self.trace.nodes.len()).any(|user| shown(self.trace.nodes[user].operation).iter().any(is_it))
            || self.trace.new_states.iter().any(|after| is_it(after) && !self.is_same_state(state.unwrap_or(0), *after))
    }

    fn state_key(&self, of: usize) -> &'static str {
        self.rule.info().state_keys().nth(of).expect("the rule has this state")
    }

    fn name_of(&self, index: usize) -> String {
        let part = self.trace.parts.iter().find(|(node, _)| *node == index).map(|(_, part)| *part);
        let symbol = part.filter(|part| !matches!(part.role, PartRole::State { .. })).map_or("", |part| part.symbol);
        let letters: String = symbol.chars().filter(char::is_ascii_alphanumeric).collect();
        let is_name = letters.starts_with(|first: char| first.is_ascii_alphabetic());
        self.new_name(if is_name { &letters } else { "d" })
    }

    /// A name like this one that nothing has yet.
    fn new_name(&self, like: &str) -> String {
        let given = ["theta", "g", "t", "eta", "omega", "pi", "state", "param", "in"];
        let keys: Vec<&str> = self.rule.hyperparameters().map(|(of, _)| of.key).collect();
        let is_taken = |name: &str| {
            given.contains(&name)
                || keys.contains(&name)
                || self.rule.info().state_keys().any(|key| key == name)
                || self.names.iter().flatten().any(|known| known == name)
        };
        let others = (2..).map(|number| format!("{like}{number}"));
        [like.to_owned()]
            .into_iter()
            .chain(others)
            .find(|name| !is_taken(name))
            .expect("one of infinitely many is free")
    }

    /// Whether a number follows from hyperparameters and t.
    fn is_of_step(&self, operand: Operand) -> bool {
        let Operand::Node(index) = operand else { return true };
        match self.trace.nodes[index].operation {
            Operation::Symbol(symbol) => {
                matches!(symbol, Symbol::Hyperparameter(_) | Symbol::Power(_) | Symbol::Step | Symbol::Computed(_))
            }
            operation => operation.operands().into_iter().all(|it| self.is_of_step(it)),
        }
    }

    fn operand(&self, operand: Operand) -> Text {
        match operand {
            Operand::Constant(value) if value < 0.0 => Ok((format!("({value:?})"), ATOM)),
            Operand::Constant(value) => Ok((format!("{value:?}"), ATOM)),
            Operand::Node(index) => match &self.names[index] {
                Some(name) => Ok((name.clone(), ATOM)),
                None => self.expression(index),
            },
        }
    }

    fn at_least(&self, operand: Operand, binding: u8) -> Result<String, &'static str> {
        let (text, bound) = self.operand(operand)?;
        Ok(if bound < binding { format!("({text})") } else { text })
    }

    fn expression(&self, index: usize) -> Text {
        let call = |name: &str, operands: &[Operand]| -> Text {
            let texts: Result<Vec<String>, &'static str> =
                operands.iter().map(|it| self.operand(*it).map(|(text, _)| text)).collect();
            Ok((format!("{name}({})", texts?.join(", ")), ATOM))
        };
        let joined = |a, between: &str, b, binding: u8| -> Text {
            let behind = if matches!(between, " - " | "/") { binding + 1 } else { binding };
            Ok((format!("{}{between}{}", self.at_least(a, binding)?, self.at_least(b, behind)?), binding))
        };
        let product = |a, b| -> Result<String, &'static str> { Ok(joined(a, "*", b, PRODUCT)?.0) };
        match self.trace.nodes[index].operation {
            Operation::Symbol(symbol) => self.symbol(symbol),
            Operation::Neg(a) => Ok((format!("-{}", self.at_least(a, PRODUCT)?), SUM)),
            Operation::Add(a, b) => joined(a, " + ", b, SUM),
            Operation::Sub(a, b) => joined(a, " - ", b, SUM),
            Operation::Mul(a, b) => joined(a, "*", b, PRODUCT),
            Operation::Div(a, b) => joined(a, "/", b, PRODUCT),
            Operation::Pow(a, b) => Ok((format!("{}^{}", self.at_least(a, ATOM)?, self.at_least(b, ATOM)?), POWER)),
            Operation::MulAdd(a, b, c) => Ok((format!("{} + {}", product(a, b)?, self.at_least(c, SUM)?), SUM)),
            Operation::AddMul(a, b, c) => match self.negated(b) {
                Some(b) => Ok((format!("{} - {}", self.at_least(a, SUM)?, product(b, c)?), SUM)),
                None => Ok((format!("{} + {}", self.at_least(a, SUM)?, product(b, c)?), SUM)),
            },
            Operation::Sqrt(a) => call("sqrt", &[a]),
            Operation::Abs(a) => call("abs", &[a]),
            Operation::Sign(a) => call("sign", &[a]),
            Operation::Function(function, a) => call(function.name(), &[a]),
            Operation::Larger(a, b) | Operation::Max(a, b) => call("max", &[a, b]),
            Operation::Min(a, b) => call("min", &[a, b]),
            Operation::Select(a, b, c) => call("where", &[a, b, c]),
            Operation::Norm(a) => call("norm", &[a]),
            Operation::Mean(a) => call("mean", &[a]),
            Operation::Sum(a) => call("sum", &[a]),
            Operation::Compare(relation, a, b) => {
                let sign = match relation {
                    Relation::Less => " < ",
                    Relation::AtMost => " <= ",
                    Relation::Equal => " == ",
                };
                Ok((format!("{}{sign}{}", self.at_least(a, SUM)?, self.at_least(b, SUM)?), COMPARISON))
            }
            Operation::Toward(average, target, AverageWeight { weight, .. }) => {
                let average_text = self.at_least(average, SUM)?;
                let (way, _) = joined(target, " - ", average, SUM)?;
                Ok((format!("{average_text} + {}*({way})", self.at_least(weight, PRODUCT)?), SUM))
            }
            Operation::Ratio(m, s, RatioCorrection { m_weight, s_weight, epsilon, .. }) => {
                let corrected = |average, weight| -> Result<String, &'static str> {
                    let average = self.at_least(average, PRODUCT)?;
                    match weight {
                        Operand::Constant(1.0) => Ok(average),
                        weight => Ok(format!("{average}/{}", self.at_least(weight, ATOM)?)),
                    }
                };
                let size = format!("sqrt({}) + {}", corrected(s, s_weight)?, self.at_least(epsilon, PRODUCT)?);
                Ok((format!("{}/({size})", corrected(m, m_weight)?), PRODUCT))
            }
            Operation::BlockMean(_) => Err("means over the blocks of a network's parameters"),
            Operation::Orthogonal(_) | Operation::Exchanged(_) => Err("an operation on matrices"),
            Operation::ByShape(..) => Err("steps that differ between matrices and vectors"),
            Operation::GradientAt(_) => Err("a second gradient in each step"),
        }
    }

    fn negated(&self, operand: Operand) -> Option<Operand> {
        let Operand::Node(index) = operand else { return None };
        match self.trace.nodes[index].operation {
            Operation::Neg(of) if self.names[index].is_none() => Some(of),
            _ => None,
        }
    }

    fn symbol(&self, symbol: Symbol) -> Text {
        let key = |symbol: &str| {
            let mut all = self.rule.hyperparameters();
            all.find(|(of, _)| of.symbol == symbol).map(|(of, _)| of.key).ok_or("a hyperparameter without a name")
        };
        Ok(match symbol {
            Symbol::Theta => ("theta".to_owned(), ATOM),
            Symbol::Gradient => ("g".to_owned(), ATOM),
            Symbol::LearningRate => ("eta".to_owned(), ATOM),
            Symbol::WeightDecay => ("omega".to_owned(), ATOM),
            Symbol::Step => ("t".to_owned(), ATOM),
            Symbol::State(index) => (self.state_key(index).to_owned(), ATOM),
            Symbol::Hyperparameter(symbol) => (key(symbol)?.to_owned(), ATOM),
            Symbol::Power(symbol) => (format!("{}^t", key(symbol)?), POWER),
            Symbol::Curvature => return Err("the curvature of the loss"),
            Symbol::Computed(_) => return Err("a coefficient that is no expression of the step's number"),
        })
    }
}

/// The operands that a text shows.
fn shown(operation: Operation) -> Vec<Operand> {
    match operation {
        Operation::Toward(average, target, AverageWeight { weight, .. }) => vec![average, target, weight],
        Operation::Ratio(m, s, RatioCorrection { m_weight, s_weight, epsilon, .. }) => {
            vec![m, s, m_weight, s_weight, epsilon]
        }
        operation => operation.operands(),
    }
}

fn count(uses: &mut [usize], operands: Vec<Operand>) {
    for operand in operands {
        if let Operand::Node(index) = operand {
            uses[index] += 1;
        }
    }
}
