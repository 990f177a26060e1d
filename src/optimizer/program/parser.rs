//! From a program's text to the graph of its numbers.

use std::collections::HashMap;
use std::ops::Range;

use super::calculation::Calculation;
use super::error::ProgramError;
use super::graph::{Dependence, Graph, Input, Node, NodeId};
use super::token::{Token, TokenKind, tokens};
use super::{MOST_PARAMETERS, Parameter};
use crate::optimizer::{Function, MOST_STATES, Relation};
use crate::quantity::Beta;

/// What a text says.
#[derive(Clone, Debug, Default)]
pub(super) struct Parsed {
    pub graph: Graph,
    pub states: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// The numbers that were given a name, in their order, each once.
    pub named: Vec<(NodeId, String)>,
    /// The states after the step.
    pub new_states: Vec<NodeId>,
    /// θ after the step.
    pub theta: NodeId,
}

impl Parsed {
    /// The names of numbers that follow from hyperparameters and t.
    pub(super) fn names_of_step(&self) -> Vec<String> {
        let is_of_step = |id: NodeId| self.graph.dependence(id) == Dependence::Step;
        self.named.iter().filter(|(id, _)| is_of_step(*id)).map(|(_, name)| name.clone()).collect()
    }
}

/// The most bytes of a text.
const LONGEST: usize = 10_000;
/// The most brackets, powers and signs inside of each other.
const DEEPEST: usize = 64;

const ONE_ARGUMENT: [&str; 9] = ["sign", "abs", "sqrt", "exp", "ln", "tanh", "norm", "mean", "sum"];
const TWO_ARGUMENTS: [&str; 3] = ["min", "max", "dot"];
const THREE_ARGUMENTS: [&str; 2] = ["clamp", "where"];
/// What a preset says of a typed rule besides its hyperparameters.
const OF_PRESETS: [&str; 5] = ["name", "text", "learning_rate", "weight_decay", "mask"];
/// The most names that lines assign to.
const MOST_NAMES: usize = 255;
const GIVEN: [&str; 5] = ["theta", "g", "t", "eta", "omega"];

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Parsed, ProgramError> {
    if text.len() > LONGEST {
        let end = (LONGEST..).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
        let expected = format!("at most {LONGEST} characters");
        return Err(ProgramError::new(text, end..end, expected, format!("{} of them", text.len())));
    }
    let words = tokens(text).into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
    let mut parser =
        Parser { text, words, at: 0, depth: 0, open_brackets: 0, parsed: Parsed::default(), values: HashMap::new() };
    for (name, input) in [
        ("theta", Input::Theta),
        ("g", Input::Gradient),
        ("t", Input::Step),
        ("eta", Input::LearningRate),
        ("omega", Input::WeightDecay),
    ] {
        let node = parser.add(Node::Input(input))?;
        parser.values.insert(name.to_owned(), node);
    }
    parser.program()
}

struct Parser<'a> {
    text: &'a str,
    /// Without comments.
    words: Vec<Token>,
    at: usize,
    /// Of what is read inside of something else.
    depth: usize,
    open_brackets: usize,
    parsed: Parsed,
    /// The present value of each name.
    values: HashMap<String, NodeId>,
}

type Parse<T> = Result<T, ProgramError>;

impl Parser<'_> {
    fn program(mut self) -> Parse<Parsed> {
        let mut moves = false;
        while self.at < self.words.len() {
            match (self.words[self.at].kind, self.word()) {
                (TokenKind::LineEnd, _) => self.at += 1,
                (TokenKind::Keyword, "state") => self.list(Self::state)?,
                (TokenKind::Keyword, "param") => self.list(Self::parameter)?,
                (TokenKind::Name, name) => {
                    moves |= name == "theta";
                    self.assignment()?;
                }
                _ => return Err(self.expected("`state`, `param` or the name that a line assigns to")),
            }
        }
        if !moves {
            let expected = "a line `theta = …` that takes the step";
            return Err(ProgramError::new(self.text, self.text.len()..self.text.len(), expected, "none"));
        }
        self.parsed.new_states = self.parsed.states.iter().map(|name| self.values[name]).collect();
        self.parsed.theta = self.values["theta"];
        Ok(self.parsed)
    }

    /// The items behind `state` or `param`, with commas between them.
    fn list(&mut self, item: fn(&mut Self) -> Parse<()>) -> Parse<()> {
        self.at += 1;
        loop {
            item(self)?;
            if !self.takes(",") {
                return self.line_end();
            }
            while self.kind() == Some(TokenKind::LineEnd) {
                self.at += 1;
            }
        }
    }

    fn state(&mut self) -> Parse<()> {
        let (name, range) = self.new_name()?;
        if self.parsed.states.len() == MOST_STATES {
            return Err(self.error(range, format!("at most {MOST_STATES} states"), "one more"));
        }
        let node = self.add(Node::Input(Input::State(self.parsed.states.len())))?;
        self.parsed.states.push(name.clone());
        self.values.insert(name, node);
        Ok(())
    }

    fn parameter(&mut self) -> Parse<()> {
        let (name, range) = self.new_name()?;
        if OF_PRESETS.contains(&name.as_str()) {
            return Err(self.error(range, "a name that presets do not use themselves", format!("`{name}`")));
        }
        if self.parsed.parameters.len() == MOST_PARAMETERS {
            return Err(self.error(range, format!("at most {MOST_PARAMETERS} hyperparameters"), "one more"));
        }
        self.take("=", "`=` and the default")?;
        let default_at = self.at;
        let default = self.signed_number()?;
        if self.kind() != Some(TokenKind::Keyword) || self.word() != "in" {
            return Err(self.expected("`in` and the range, as in `0.9 in 0..1`"));
        }
        self.at += 1;
        let range_at = self.at;
        let low = self.signed_number()?;
        self.take("..", "`..` and the end of the range")?;
        let high = self.signed_number()?;
        if low >= high {
            let range = self.words[range_at].range.start..self.words[self.at - 1].range.end;
            return Err(self.error(range, "a range whose end is larger than its start", format!("{low}..{high}")));
        }
        if !(low..=high).contains(&default) {
            let range = self.words[default_at].range.clone();
            return Err(self.error(range, format!("a default from {low} to {high}"), default.to_string()));
        }
        let node = self.add(Node::Input(Input::Parameter(self.parsed.parameters.len())))?;
        self.values.insert(name.clone(), node);
        self.parsed.parameters.push(Parameter { name, default, range: [low, high], is_decay_rate: false });
        Ok(())
    }

    /// A name that nothing has yet.
    fn new_name(&mut self) -> Parse<(String, Range<usize>)> {
        if self.kind() != Some(TokenKind::Name) {
            return Err(self.expected("a name"));
        }
        let (name, range) = (self.word().to_owned(), self.words[self.at].range.clone());
        if is_function(&name) || self.values.contains_key(&name) {
            return Err(self.error(range, "a name that nothing has yet", format!("`{name}`")));
        }
        self.at += 1;
        Ok((name, range))
    }

    fn assignment(&mut self) -> Parse<()> {
        let (name, range) = (self.word().to_owned(), self.words[self.at].range.clone());
        let is_parameter = self.parsed.parameters.iter().any(|parameter| parameter.name == name);
        if is_function(&name) || is_parameter || (name != "theta" && GIVEN.contains(&name.as_str())) {
            let what = if is_function(&name) { "a function" } else { "given" };
            let expected = "a state, `theta` or a new name to assign to";
            return Err(self.error(range, expected, format!("`{name}`, which is {what}")));
        }
        self.at += 1;
        self.take("=", "`=`")?;
        let value = self.expression()?;
        self.line_end()?;
        let is_computed = matches!(self.parsed.graph.node(value), Node::Of(_));
        if name != "theta" && is_computed && self.parsed.named.iter().all(|(node, _)| *node != value) {
            if self.parsed.named.len() == MOST_NAMES {
                return Err(self.error(range, format!("at most {MOST_NAMES} assignments"), "one more"));
            }
            self.parsed.named.push((value, name.clone()));
        }
        self.values.insert(name, value);
        Ok(())
    }

    fn expression(&mut self) -> Parse<NodeId> {
        let left = self.sum()?;
        let relation = match self.word() {
            "<" => (Relation::Less, false),
            ">" => (Relation::Less, true),
            "<=" => (Relation::AtMost, false),
            ">=" => (Relation::AtMost, true),
            "==" | "!=" => (Relation::Equal, false),
            _ => return Ok(left),
        };
        let is_opposite = self.word() == "!=";
        self.at += 1;
        let right = self.sum()?;
        let (relation, is_swapped) = relation;
        let (a, b) = if is_swapped { (right, left) } else { (left, right) };
        let holds = self.of(Calculation::Compared(relation, a, b))?;
        if !is_opposite {
            return Ok(holds);
        }
        let one = self.add(Node::Constant(1.0))?;
        self.of(Calculation::Difference(one, holds))
    }

    fn sum(&mut self) -> Parse<NodeId> {
        let mut sum = self.product()?;
        loop {
            let make = match self.word() {
                "+" => Calculation::Sum,
                "-" | "−" => Calculation::Difference,
                _ => return Ok(sum),
            };
            self.at += 1;
            let term = self.product()?;
            sum = self.of(make(sum, term))?;
        }
    }

    fn product(&mut self) -> Parse<NodeId> {
        let mut product = self.signed()?;
        loop {
            let make = match self.word() {
                "*" => Calculation::Product,
                "/" => Calculation::Quotient,
                _ => return Ok(product),
            };
            self.at += 1;
            let factor = self.signed()?;
            product = self.of(make(product, factor))?;
        }
    }

    fn signed(&mut self) -> Parse<NodeId> {
        match self.word() {
            "-" | "−" => {
                self.at += 1;
                let of = self.deeper(Self::signed)?;
                match self.parsed.graph.node(of) {
                    Node::Constant(value) => self.add(Node::Constant(-value)),
                    Node::Input(_) | Node::Of(_) => self.of(Calculation::Negative(of)),
                }
            }
            "+" => {
                self.at += 1;
                self.deeper(Self::signed)
            }
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Parse<NodeId> {
        let base = self.primary()?;
        if !self.takes("^") {
            return Ok(base);
        }
        let exponent = self.deeper(Self::signed)?;
        match (self.parsed.graph.node(base), self.parsed.graph.node(exponent)) {
            (Node::Input(Input::Parameter(index)), Node::Input(Input::Step)) => {
                let Parameter { range: [low, high], is_decay_rate, .. } = &mut self.parsed.parameters[index];
                if *low < 0.0 || *high > 1.0 || *low >= Beta::RANGE.max {
                    return self.of(Calculation::Power(base, exponent));
                }
                *is_decay_rate = true;
                self.add(Node::Input(Input::Power(index)))
            }
            (_, Node::Constant(2.0)) => self.of(Calculation::Product(base, base)),
            (_, Node::Constant(0.5)) => self.of(Calculation::Root(base)),
            _ => self.of(Calculation::Power(base, exponent)),
        }
    }

    fn primary(&mut self) -> Parse<NodeId> {
        match (self.kind(), self.word()) {
            (Some(TokenKind::Number), _) => {
                let value = self.number()?;
                self.add(Node::Constant(value))
            }
            (_, "(") => {
                self.at += 1;
                let inside = self.in_brackets()?;
                self.take(")", "`)`")?;
                Ok(inside)
            }
            (Some(TokenKind::Name), name) if is_function(name) => self.call(),
            (Some(TokenKind::Name), name) => {
                let name = name.to_owned();
                let Some(&value) = self.values.get(&name) else {
                    let mut known: Vec<&str> = self.values.keys().map(String::as_str).collect();
                    known.sort_unstable();
                    return Err(self.expected(&format!("a number, a function or one of {}", known.join(", "))));
                };
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.expected("a number, a name, a function or `(`")),
        }
    }

    fn call(&mut self) -> Parse<NodeId> {
        let (name, range) = (self.word().to_owned(), self.words[self.at].range.clone());
        self.at += 1;
        self.take("(", &format!("`(` behind `{name}`"))?;
        let count = match name.as_str() {
            name if ONE_ARGUMENT.contains(&name) => 1,
            name if TWO_ARGUMENTS.contains(&name) => 2,
            _ => 3,
        };
        let mut arguments = Vec::with_capacity(count);
        for index in 0..count {
            if index > 0 {
                self.take(",", &format!("`,`, as `{name}` takes {count} numbers"))?;
            }
            arguments.push(self.in_brackets()?);
        }
        self.take(")", &format!("`)`, as `{name}` takes {count} number{}", if count == 1 { "" } else { "s" }))?;
        self.function(&name, &arguments, range)
    }

    fn function(&mut self, name: &str, arguments: &[NodeId], range: Range<usize>) -> Parse<NodeId> {
        let whole = |parser: &mut Self, of: NodeId, make: fn(NodeId) -> Calculation<NodeId>| {
            if parser.parsed.graph.is_of_element(of) {
                return parser.of(make(of));
            }
            let expected = format!("something in `{name}` that differs between parameters, such as `g`");
            Err(parser.error(range.clone(), expected, "a number that is the same for all of them"))
        };
        let a = arguments[0];
        match (name, arguments) {
            ("sign", _) => self.of(Calculation::Sign(a)),
            ("abs", _) => self.of(Calculation::Size(a)),
            ("sqrt", _) => self.of(Calculation::Root(a)),
            ("norm", _) => whole(self, a, Calculation::Norm),
            ("mean", _) => whole(self, a, Calculation::Mean),
            ("sum", _) => whole(self, a, Calculation::Total),
            ("dot", &[a, b]) => {
                let product = self.of(Calculation::Product(a, b))?;
                whole(self, product, Calculation::Total)
            }
            ("max", &[a, b]) => self.larger(a, b),
            ("min", &[a, b]) => self.smaller(a, b),
            ("clamp", &[a, low, high]) => {
                let raised = self.larger(a, low)?;
                self.smaller(raised, high)
            }
            ("where", &[condition, then, otherwise]) => self.of(Calculation::Choice(condition, then, otherwise)),
            _ => {
                let function = Function::ALL.into_iter().find(|function| function.name() == name);
                self.of(Calculation::Function(function.expect("every function has its line"), a))
            }
        }
    }

    /// The larger of two numbers; NaN where either is.
    fn larger(&mut self, a: NodeId, b: NodeId) -> Parse<NodeId> {
        // `Algebra::larger` gives its second number where either is NaN; a constant is none.
        match (self.parsed.graph.node(a), self.parsed.graph.node(b)) {
            (Node::Constant(_), _) => self.of(Calculation::Larger(a, b)),
            (_, Node::Constant(_)) => self.of(Calculation::Larger(b, a)),
            _ => {
                let larger = self.of(Calculation::Larger(a, b))?;
                let is_number = self.of(Calculation::Compared(Relation::Equal, a, a))?;
                self.of(Calculation::Choice(is_number, larger, a))
            }
        }
    }

    /// The smaller of two numbers; NaN where either is.
    fn smaller(&mut self, a: NodeId, b: NodeId) -> Parse<NodeId> {
        let [a, b] = [self.negative(a)?, self.negative(b)?];
        let larger = self.larger(a, b)?;
        self.negative(larger)
    }

    fn negative(&mut self, of: NodeId) -> Parse<NodeId> {
        match self.parsed.graph.node(of) {
            Node::Constant(value) => self.add(Node::Constant(-value)),
            Node::Input(_) | Node::Of(_) => self.of(Calculation::Negative(of)),
        }
    }

    fn signed_number(&mut self) -> Parse<f64> {
        let is_negative = self.takes("-") || self.takes("−");
        let value = self.number()?;
        Ok(if is_negative { -value } else { value })
    }

    fn number(&mut self) -> Parse<f64> {
        if self.kind() != Some(TokenKind::Number) {
            return Err(self.expected("a number"));
        }
        let value: Option<f64> = self.word().parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.ok_or_else(|| self.expected("a number of at most 1.8e308"))?;
        self.at += 1;
        Ok(value)
    }

    fn in_brackets(&mut self) -> Parse<NodeId> {
        self.open_brackets += 1;
        let inside = self.deeper(Self::expression);
        self.open_brackets -= 1;
        inside
    }

    /// Something inside of something else.
    fn deeper<T>(&mut self, parse: fn(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth == DEEPEST {
            return Err(self.expected(&format!("at most {DEEPEST} brackets, powers and signs inside of each other")));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn of(&mut self, calculation: Calculation<NodeId>) -> Parse<NodeId> {
        self.add(Node::Of(calculation))
    }

    fn add(&mut self, node: Node) -> Parse<NodeId> {
        let added = self.parsed.graph.add(node);
        added.ok_or_else(|| {
            let here = self.words.get(self.at).map_or(self.text.len(), |token| token.range.start);
            self.error(here..here, format!("at most {} operations", Graph::MOST_NODES), "more")
        })
    }

    /// The word that is next, in brackets those of the next line too; empty at the end.
    fn word(&mut self) -> &str {
        self.skip_line_ends();
        self.words.get(self.at).map_or("", |token| &self.text[token.range.clone()])
    }

    fn kind(&mut self) -> Option<TokenKind> {
        self.skip_line_ends();
        self.words.get(self.at).map(|token| token.kind)
    }

    /// A line goes on in the next one where brackets are open.
    fn skip_line_ends(&mut self) {
        while self.open_brackets > 0 && self.words.get(self.at).is_some_and(|token| token.kind == TokenKind::LineEnd) {
            self.at += 1;
        }
    }

    /// Goes behind a sign if it is next.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.word() == sign;
        self.at += usize::from(is_next);
        is_next
    }

    fn take(&mut self, sign: &str, expected: &str) -> Parse<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(expected)) }
    }

    fn line_end(&mut self) -> Parse<()> {
        match self.kind() {
            None => Ok(()),
            Some(TokenKind::LineEnd) => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.expected("an operator or the end of the line")),
        }
    }

    fn expected(&self, expected: &str) -> ProgramError {
        let Some(token) = self.words.get(self.at) else {
            let end = self.text.len();
            return self.error(end..end, expected, "the end of the text");
        };
        let found = match token.kind {
            TokenKind::LineEnd => "the end of the line".to_owned(),
            _ => format!("`{}`", &self.text[token.range.clone()]),
        };
        self.error(token.range.clone(), expected, found)
    }

    fn error(&self, range: Range<usize>, expected: impl Into<String>, found: impl Into<String>) -> ProgramError {
        ProgramError::new(self.text, range, expected, found)
    }
}

fn is_function(name: &str) -> bool {
    ONE_ARGUMENT.contains(&name) || TWO_ARGUMENTS.contains(&name) || THREE_ARGUMENTS.contains(&name)
}
