//! Parses a program's text into an expression graph.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::ops::Range;

use super::{Parameter, ProgramError, Token, TokenKind, tokens};
use crate::expression::{Dependence, Function, Graph, Input, Node, NodeId, Op, Relation};
use crate::quantity::Beta;

#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub graph: Graph,
    pub states: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// The numbers that were given a name, in their order, each once.
    pub named: Vec<(NodeId, String)>,
    /// The states after the step.
    pub new_states: Vec<NodeId>,
    /// The number that the text is for: θ after the step, or the loss.
    pub target: NodeId,
}

impl Parsed {
    /// The names of numbers that depend on hyperparameters and t alone.
    pub(crate) fn names_of_step(&self) -> Vec<String> {
        let is_of_step = |id: NodeId| self.graph.dependence(id) == Dependence::Uniform;
        self.named.iter().filter(|(id, _)| is_of_step(*id)).map(|(_, name)| name.clone()).collect()
    }
}

/// The most bytes of a text.
const LONGEST: usize = 10_000;
/// The most brackets, powers and signs inside of each other.
const DEEPEST: usize = 64;

/// The most numbers of a text; each is computed in every step of every particle.
const MOST_NODES: usize = 512;
/// The most names that lines assign to.
const MOST_NAMES: usize = 255;

pub(crate) fn parse(text: &str, dialect: &Dialect) -> Result<Parsed, ProgramError> {
    if text.len() > LONGEST {
        let end = (LONGEST..).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
        let expected = format!("at most {LONGEST} characters");
        return Err(ProgramError::new(text, end..end, expected, format!("{} of them", text.len())));
    }
    let tokens = tokens(text).into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
    let mut parser = Parser {
        text,
        dialect,
        tokens,
        at: 0,
        depth: 0,
        open_brackets: 0,
        states: Vec::new(),
        parsed: Parsed {
            graph: Graph::new(MOST_NODES),
            states: Vec::new(),
            parameters: Vec::new(),
            named: Vec::new(),
            new_states: Vec::new(),
            target: NodeId::default(),
        },
        values: HashMap::new(),
    };
    parser.give()?;
    parser.program()
}

struct Parser<'a> {
    text: &'a str,
    dialect: &'a Dialect,
    /// The tokens of the text without comments.
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    open_brackets: usize,
    /// The range of each state's declaration.
    states: Vec<Range<usize>>,
    parsed: Parsed,
    /// The current value of each name.
    values: HashMap<String, NodeId>,
}

type Parse<T> = Result<T, ProgramError>;

impl Parser<'_> {
    /// Gives the names of the dialect their values.
    fn give(&mut self) -> Parse<()> {
        let dialect = self.dialect;
        for (name, input) in dialect.given {
            let node = self.add(Node::Input(*input))?;
            self.values.insert((*name).to_owned(), node);
        }
        let pi = self.add(Node::Constant(PI))?;
        self.values.insert("pi".to_owned(), pi);
        if dialect.has_axes {
            let axes = self.parsed.graph.axes().expect("there is room in a new graph");
            self.values.extend(["u", "v"].map(str::to_owned).into_iter().zip(axes));
        }
        Ok(())
    }

    fn program(mut self) -> Parse<Parsed> {
        let dialect = self.dialect;
        let mut has_target = false;
        while self.at < self.tokens.len() {
            match (self.tokens[self.at].kind, self.word()) {
                (TokenKind::LineEnd, _) => self.at += 1,
                (TokenKind::Keyword, "state") if dialect.has_states() => self.list(Self::state)?,
                (TokenKind::Keyword, "param") => self.list(Self::parameter)?,
                (TokenKind::Name, name) => {
                    has_target |= name == dialect.target;
                    self.assignment()?;
                }
                _ if dialect.has_states() => {
                    return Err(self.expected("`state`, `param` or the name that a line assigns to"));
                }
                _ => return Err(self.expected("`param` or the name that a line assigns to")),
            }
        }
        if !has_target {
            return Err(self.without_target());
        }
        self.parsed.new_states = self.parsed.states.iter().map(|name| self.values[name]).collect();
        for (index, (state, name)) in self.parsed.new_states.iter().zip(&self.parsed.states).enumerate() {
            if self.parsed.graph.node(*state) == Node::Input(Input::State(index)) {
                let expected = format!("a line `{name} = …`, as without one the state stays 0");
                return Err(self.error(self.states[index].clone(), expected, "none"));
            }
        }
        self.parsed.target = self.values[self.dialect.target];
        Ok(self.parsed)
    }

    fn without_target(&self) -> ProgramError {
        let target = self.dialect.target;
        let name = |token: &Token| &self.text[token.range.clone()];
        let is_target = |token: &&Token| name(token) != target && name(token).eq_ignore_ascii_case(target);
        if let Some(token) = self.tokens.iter().find(is_target) {
            let letters = if target.starts_with(|first: char| first.is_lowercase()) { "small" } else { "capital" };
            return self.error(
                token.range.clone(),
                format!("`{target}` in {letters} letters"),
                format!("`{}`", name(token)),
            );
        }
        let end = self.text.len();
        self.error(end..end, self.dialect.target_line, "none")
    }

    /// Parses the items after `state` or `param`, separated by commas.
    fn list(&mut self, item: fn(&mut Self) -> Parse<()>) -> Parse<()> {
        self.at += 1;
        loop {
            item(self)?;
            if !self.takes(",") {
                return self.line_end("`,` or the end of the line");
            }
            while self.kind() == Some(TokenKind::LineEnd) {
                self.at += 1;
            }
        }
    }

    fn state(&mut self) -> Parse<()> {
        let (name, range) = self.new_name()?;
        let most = self.dialect.most_states;
        if self.parsed.states.len() == most {
            return Err(self.error(range, format!("at most {most} states"), "one more"));
        }
        let node = self.add(Node::Input(Input::State(self.parsed.states.len())))?;
        self.states.push(range);
        self.parsed.states.push(name.clone());
        self.values.insert(name, node);
        Ok(())
    }

    fn parameter(&mut self) -> Parse<()> {
        let (name, range) = self.new_name()?;
        if self.dialect.reserved.contains(&name.as_str()) {
            return Err(self.error(range, "a name that presets do not use themselves", format!("`{name}`")));
        }
        if self.parsed.parameters.len() == self.dialect.most_parameters {
            return Err(self.error(
                range,
                format!("at most {} {}s", self.dialect.most_parameters, self.dialect.parameter),
                "one more",
            ));
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
            let range = self.tokens[range_at].range.start..self.tokens[self.at - 1].range.end;
            return Err(self.error(range, "a range whose end is larger than its start", format!("{low}..{high}")));
        }
        if !(high - low).is_finite() {
            let range = self.tokens[range_at].range.start..self.tokens[self.at - 1].range.end;
            return Err(self.error(range, "a range of finite length", format!("{low}..{high}")));
        }
        if !(low..=high).contains(&default) {
            let range = self.tokens[default_at].range.clone();
            return Err(self.error(range, format!("a default from {low} to {high}"), default.to_string()));
        }
        let node = self.add(Node::Input(Input::Parameter(self.parsed.parameters.len())))?;
        self.values.insert(name.clone(), node);
        self.parsed.parameters.push(Parameter { name, default, range: [low, high], is_decay_rate: false });
        Ok(())
    }

    fn new_name(&mut self) -> Parse<(String, Range<usize>)> {
        if self.kind() != Some(TokenKind::Name) {
            return Err(self.expected("a name"));
        }
        let (name, range) = (self.word().to_owned(), self.tokens[self.at].range.clone());
        if self.dialect.is_function(&name) || self.values.contains_key(&name) {
            return Err(self.error(range, "a name that nothing has yet", format!("`{name}`")));
        }
        self.at += 1;
        Ok((name, range))
    }

    fn assignment(&mut self) -> Parse<()> {
        let (name, range) = (self.word().to_owned(), self.tokens[self.at].range.clone());
        let is_parameter = self.parsed.parameters.iter().any(|parameter| parameter.name == name);
        if self.dialect.is_function(&name)
            || is_parameter
            || (name != self.dialect.target && self.dialect.is_given(&name))
        {
            let what = match () {
                () if self.dialect.is_function(&name) => "a function".to_owned(),
                () if is_parameter => format!("a {}", self.dialect.parameter),
                () => "given".to_owned(),
            };
            let states = if self.dialect.has_states() { "a state, " } else { "" };
            let expected = format!("{states}`{}` or a new name to assign to", self.dialect.target);
            return Err(self.error(range, expected, format!("`{name}`, which is {what}")));
        }
        self.at += 1;
        self.take("=", "`=`")?;
        let value = self.expression()?;
        self.line_end("an operator or the end of the line")?;
        let is_computed = matches!(self.parsed.graph.node(value), Node::Of(_));
        if name != self.dialect.target && is_computed && self.parsed.named.iter().all(|(node, _)| *node != value) {
            if self.parsed.named.len() == MOST_NAMES {
                return Err(self.error(range, format!("at most {MOST_NAMES} assignments"), "one more"));
            }
            self.parsed.named.push((value, name.clone()));
        }
        self.values.insert(name, value);
        Ok(())
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

    /// Parses something that is nested one level deeper.
    fn deeper<T>(&mut self, parse: fn(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth == DEEPEST {
            return Err(self.expected(&format!("at most {DEEPEST} brackets, powers and signs inside of each other")));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn of(&mut self, op: Op<NodeId>) -> Parse<NodeId> {
        self.add(Node::Of(op))
    }

    fn add(&mut self, node: Node) -> Parse<NodeId> {
        let added = self.parsed.graph.add(node);
        added.ok_or_else(|| {
            let here = self.tokens.get(self.at).map_or(self.text.len(), |token| token.range.start);
            self.error(here..here, format!("at most {} operations", MOST_NODES), "more")
        })
    }

    /// The next word, inside of brackets also from the next line; empty at the end.
    fn word(&mut self) -> &str {
        self.skip_line_ends();
        self.tokens.get(self.at).map_or("", |token| &self.text[token.range.clone()])
    }

    fn kind(&mut self) -> Option<TokenKind> {
        self.skip_line_ends();
        self.tokens.get(self.at).map(|token| token.kind)
    }

    /// Skips the ends of lines while brackets are open: there a line continues in the next one.
    fn skip_line_ends(&mut self) {
        while self.open_brackets > 0 && self.tokens.get(self.at).is_some_and(|token| token.kind == TokenKind::LineEnd) {
            self.at += 1;
        }
    }

    /// Skips a sign if it is next; returns whether it was.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.word() == sign;
        self.at += usize::from(is_next);
        is_next
    }

    fn take(&mut self, sign: &str, expected: &str) -> Parse<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Skips a sign inside of brackets; if the line ends without it, the error marks the first bracket, at `open`.
    fn take_in(&mut self, open: usize, sign: &str, expected: &str) -> Parse<()> {
        if self.takes(sign) {
            return Ok(());
        }
        let error = self.expected(expected);
        if self.at < self.tokens.len() && self.tokens[self.at - 1].kind != TokenKind::LineEnd {
            return Err(error);
        }
        let bracket = self.tokens[open].range.clone();
        let found = match self.tokens.get(self.at) {
            Some(_) => format!("{} in line {}", error.found, error.line),
            None => error.found,
        };
        Err(self.error(bracket, format!("{expected} behind this `(`"), found))
    }

    fn line_end(&mut self, expected: &str) -> Parse<()> {
        match self.kind() {
            None => Ok(()),
            Some(TokenKind::LineEnd) => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.expected(expected)),
        }
    }

    fn expected(&self, expected: &str) -> ProgramError {
        let Some(token) = self.tokens.get(self.at) else {
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

impl Parser<'_> {
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
        let holds = self.of(Op::Compare(relation, a, b))?;
        if !is_opposite {
            return Ok(holds);
        }
        let one = self.add(Node::Constant(1.0))?;
        self.of(Op::Sub(one, holds))
    }

    fn sum(&mut self) -> Parse<NodeId> {
        let mut sum = self.product()?;
        loop {
            let make = match self.word() {
                "+" => Op::Add,
                "-" | "−" => Op::Sub,
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
                "*" => Op::Mul,
                "/" => Op::Div,
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
                    Node::Input(_) | Node::Of(_) => self.of(Op::Neg(of)),
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
                    return self.of(Op::Pow(base, exponent));
                }
                *is_decay_rate = true;
                self.add(Node::Input(Input::Power(index)))
            }
            (_, Node::Constant(2.0)) => self.of(Op::Mul(base, base)),
            (_, Node::Constant(0.5)) => self.of(Op::Sqrt(base)),
            _ => self.of(Op::Pow(base, exponent)),
        }
    }

    fn primary(&mut self) -> Parse<NodeId> {
        match (self.kind(), self.word()) {
            (Some(TokenKind::Number), _) => {
                let value = self.number()?;
                self.add(Node::Constant(value))
            }
            (_, "(") => {
                let open = self.at;
                self.at += 1;
                let inside = self.in_brackets()?;
                self.take_in(open, ")", "`)`")?;
                Ok(inside)
            }
            (Some(TokenKind::Name), name) => {
                let name = name.to_owned();
                if let Some(count) = self.dialect.arguments(&name) {
                    return self.call(count);
                }
                let Some(&value) = self.values.get(&name) else { return Err(self.unknown(&name)) };
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.expected("a number, a name, a function or `(`")),
        }
    }

    fn unknown(&self, name: &str) -> ProgramError {
        let after = &self.tokens[self.at + 1..];
        let word = |token: &Token| &self.text[token.range.clone()];
        if after.first().is_some_and(|token| word(token) == "(") {
            return self.expected(&format!("one of the functions {}", self.dialect.functions().join(", ")));
        }
        let mut known: Vec<&str> = self.values.keys().map(String::as_str).collect();
        known.sort_unstable();
        let mut error = self.expected(&format!("a number, a function or one of {}", known.join(", ")));
        if after.windows(2).any(|pair| word(&pair[0]) == name && word(&pair[1]) == "=") {
            error.found += ", which has a value only after this";
        } else if self.tokens[..self.at].windows(2).any(|pair| word(&pair[0]) == name && word(&pair[1]) == "=") {
            error.found += ", which has no value yet";
            if self.dialect.has_states() {
                error.found += &format!("; `state {name}` in a line before keeps one from step to step");
            }
        }
        error
    }

    fn call(&mut self, count: usize) -> Parse<NodeId> {
        let (name, range) = (self.word().to_owned(), self.tokens[self.at].range.clone());
        self.at += 1;
        let open = self.at;
        self.take("(", &format!("`(` behind `{name}`"))?;
        let mut arguments = Vec::with_capacity(count);
        for index in 0..count {
            if index > 0 {
                self.take_in(open, ",", &format!("`,`, as `{name}` takes {count} numbers"))?;
            }
            arguments.push(self.in_brackets()?);
        }
        self.take_in(
            open,
            ")",
            &format!("`)`, as `{name}` takes {count} number{}", if count == 1 { "" } else { "s" }),
        )?;
        self.function(&name, &arguments, range)
    }

    fn function(&mut self, name: &str, arguments: &[NodeId], range: Range<usize>) -> Parse<NodeId> {
        let whole = |parser: &mut Self, of: NodeId, make: fn(NodeId) -> Op<NodeId>| {
            if parser.parsed.graph.dependence(of) == Dependence::Element {
                return parser.of(make(of));
            }
            let expected = format!("something in `{name}` that differs between parameters, such as `g`");
            Err(parser.error(range.clone(), expected, "a number that is the same for all of them"))
        };
        let a = arguments[0];
        match (name, arguments) {
            ("sign", _) => self.of(Op::Sign(a)),
            ("abs", _) => self.of(Op::Abs(a)),
            ("sqrt", _) => self.of(Op::Sqrt(a)),
            ("norm", _) => whole(self, a, Op::Norm),
            ("mean", _) => whole(self, a, Op::Mean),
            ("sum", _) => whole(self, a, Op::Sum),
            ("dot", &[a, b]) => {
                let product = self.of(Op::Mul(a, b))?;
                whole(self, product, Op::Sum)
            }
            ("max", &[a, b]) => self.of(Op::Max(a, b)),
            ("min", &[a, b]) => self.of(Op::Min(a, b)),
            ("clamp", &[a, low, high]) => {
                let raised = self.of(Op::Max(a, low))?;
                self.of(Op::Min(raised, high))
            }
            ("where", &[condition, then, otherwise]) => {
                let chosen = self.of(Op::Select(condition, then, otherwise))?;
                if self.parsed.graph.is_finite(condition) {
                    return Ok(chosen);
                }
                // NaN is not 0, but chooses neither.
                let is_number = self.of(Op::Compare(Relation::Equal, condition, condition))?;
                self.of(Op::Select(is_number, chosen, condition))
            }
            _ => {
                let function = Function::ALL.into_iter().find(|function| function.name() == name);
                self.of(Op::Function(function.expect("every function has its line"), a))
            }
        }
    }
}

/// The given names, the functions and the nouns of a kind of program.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The names that have a value to begin with, besides `pi`.
    pub given: &'static [(&'static str, Input)],
    /// Whether the coordinates `u` and `v` of a rotated landscape are given.
    pub has_axes: bool,
    /// The largest number of states; a kind of program with states also has functions of a whole parameter.
    pub most_states: usize,
    /// The name that a text assigns to.
    pub target: &'static str,
    /// The description of the line that does so.
    pub target_line: &'static str,
    pub most_parameters: usize,
    /// The noun for a parameter in messages.
    pub parameter: &'static str,
    /// Names that no parameter has, as presets use them themselves.
    pub reserved: &'static [&'static str],
}

/// The functions by the number of their arguments.
const FUNCTIONS: [&[&str]; 3] =
    [&["sign", "abs", "sqrt", "exp", "ln", "tanh", "sin", "cos"], &["min", "max"], &["clamp", "where"]];
/// The functions of a whole parameter by the number of their arguments.
const OF_WHOLE: [&[&str]; 3] = [&["norm", "mean", "sum"], &["dot"], &[]];

fn functions(arguments: usize, has_whole: bool) -> impl Iterator<Item = &'static str> {
    let of_whole = if has_whole { OF_WHOLE[arguments - 1] } else { &[] };
    FUNCTIONS[arguments - 1].iter().chain(of_whole).copied()
}

impl Dialect {
    fn has_states(&self) -> bool {
        self.most_states > 0
    }

    fn arguments(&self, name: &str) -> Option<usize> {
        (1..=3).find(|count| functions(*count, self.has_states()).any(|function| function == name))
    }

    fn is_function(&self, name: &str) -> bool {
        self.arguments(name).is_some()
    }

    fn functions(&self) -> Vec<&'static str> {
        (1..=3).flat_map(|count| functions(count, self.has_states())).collect()
    }

    fn is_given(&self, name: &str) -> bool {
        name == "pi" || (self.has_axes && ["u", "v"].contains(&name)) || self.given.iter().any(|(of, _)| *of == name)
    }
}
