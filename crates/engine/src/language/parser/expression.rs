//! This module parses the right sides of lines: expressions, from the operators that bind loosest to numbers, names and
//! functions.

use std::ops::Range;

use super::super::graph::{Input, Node, NodeId};
use super::super::op::Op;
use super::super::token::{Token, TokenKind};
use super::{Parse, Parser};
use crate::language::{Parameter, ProgramError};
use crate::optimizer::{Function, Relation};
use crate::quantity::Beta;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parse<NodeId> {
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

    /// Returns the error that the next word is an unknown name.
    fn unknown(&self, name: &str) -> ProgramError {
        let after = &self.words[self.at + 1..];
        let word = |token: &Token| &self.text[token.range.clone()];
        if after.first().is_some_and(|token| word(token) == "(") {
            return self.expected(&format!("one of the functions {}", self.dialect.functions().join(", ")));
        }
        let mut known: Vec<&str> = self.values.keys().map(String::as_str).collect();
        known.sort_unstable();
        let mut error = self.expected(&format!("a number, a function or one of {}", known.join(", ")));
        if after.windows(2).any(|pair| word(&pair[0]) == name && word(&pair[1]) == "=") {
            error.found += ", which has a value only after this";
        } else if self.words[..self.at].windows(2).any(|pair| word(&pair[0]) == name && word(&pair[1]) == "=") {
            error.found += ", which has no value yet";
            if self.dialect.has_states {
                error.found += &format!("; `state {name}` in a line before keeps one from step to step");
            }
        }
        error
    }

    fn call(&mut self, count: usize) -> Parse<NodeId> {
        let (name, range) = (self.word().to_owned(), self.words[self.at].range.clone());
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
            if parser.parsed.graph.is_of_element(of) {
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
