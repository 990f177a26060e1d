//! This module writes losses and their gradients as text in the language itself.

use std::f64::consts::PI;

use super::LossProgram;
use super::expressions::Expressions;
use crate::expression::{Input, Node, NodeId, Op};
use crate::optimizer::Relation;

/// The binding strength of expressions, from the loosest.
const COMPARISON: u8 = 0;
const SUM: u8 = 1;
/// A product with a sign before it.
const SIGNED: u8 = 2;
const PRODUCT: u8 = 3;
const POWER: u8 = 4;
const ATOM: u8 = 5;

/// The number of characters from which an expression that is used more than once gets a line of its own.
const LONG: usize = 12;
/// The nesting depth from which an expression gets a line of its own.
const DEEP: usize = 25;

impl LossProgram {
    /// Writes the loss in the language, without declarations of its parameters, whose names are given: lines for what
    /// is used again, then `L = …`. Read with the declarations, it has the same values.
    pub fn loss_text(&self, parameters: &[&str]) -> String {
        self.lines(parameters, &[("L", self.loss)], constant)
    }

    /// Writes the gradient in the language, as [`LossProgram::loss_text`] does: `L_u = …` and `L_v = …` of a built-in
    /// loss, `L_x = …` and `L_y = …` of a typed one. Constants are rounded to 15 digits.
    pub fn gradient_text(&self, parameters: &[&str]) -> String {
        let (names, [first, second]) = match self.gradient_uv {
            Some(gradient) => (["L_u", "L_v"], gradient),
            None => (["L_x", "L_y"], self.gradient),
        };
        let rounded = |value: f64| match constant(value) {
            multiple if multiple.0.ends_with("pi") => multiple,
            _ => constant(format!("{value:.14e}").parse().expect("it was formatted as a number")),
        };
        self.lines(parameters, &[(names[0], first), (names[1], second)], rounded)
    }

    fn lines(&self, parameters: &[&str], results: &[(&str, NodeId)], constant: fn(f64) -> (String, u8)) -> String {
        let mut writer = Writer::new(&self.expressions, parameters, results, constant);
        for index in 0..writer.uses.len() {
            writer.name_if_needed(NodeId(index));
        }
        for (name, result) in results {
            let (text, _) = writer.number(*result);
            writer.lines.push(format!("{name} = {text}"));
        }
        writer.lines.join("\n") + "\n"
    }
}

struct Writer<'a> {
    expressions: &'a Expressions,
    parameters: &'a [&'a str],
    /// Formats a constant, and returns how tightly its text binds.
    constant: fn(f64) -> (String, u8),
    /// The number of uses of each node in the results.
    uses: Vec<usize>,
    /// The name of each node that has one.
    names: Vec<Option<String>>,
    /// The nesting depth of each node's expression.
    depths: Vec<usize>,
    /// The number of names made so far.
    made: usize,
    lines: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(
        expressions: &'a Expressions,
        parameters: &'a [&'a str],
        results: &[(&str, NodeId)],
        constant: fn(f64) -> (String, u8),
    ) -> Writer<'a> {
        let length = expressions.graph().len();
        let mut uses = vec![0; length];
        results.iter().for_each(|(_, id)| uses[id.0] += 1);
        let mut names = vec![None; length];
        for (id, name) in expressions.uv.into_iter().zip(["u", "v"]) {
            names[id.0] = Some(name.to_owned());
        }
        let mut writer = Writer {
            expressions,
            parameters,
            constant,
            uses,
            names,
            depths: vec![0; length],
            made: 0,
            lines: Vec::new(),
        };
        for index in (0..length).rev().filter(|index| writer.names[*index].is_none()).collect::<Vec<_>>() {
            if writer.uses[index] > 0 {
                writer.shown(NodeId(index)).into_iter().for_each(|operand| writer.uses[operand.0] += 1);
            }
        }
        writer
    }

    /// Returns the operands that the text of a node shows: the base of a power, not the powers that it is made of.
    fn shown(&self, id: NodeId) -> Vec<NodeId> {
        match (self.as_power(id), self.expressions.node(id)) {
            (Some((base, _)), _) => vec![base],
            (None, Node::Of(op)) => op.operands(),
            (None, _) => Vec::new(),
        }
    }

    /// Gives a line of its own to a long expression that is used more than once, and to a deep one.
    fn name_if_needed(&mut self, id: NodeId) {
        if self.uses[id.0] == 0 || self.names[id.0].is_some() {
            return;
        }
        let inside = self.shown(id).into_iter().map(|operand| self.depths[operand.0]).max();
        self.depths[id.0] = inside.map_or(0, |depth| depth + 1);
        let is_deep = self.depths[id.0] >= DEEP;
        if !is_deep && self.uses[id.0] < 2 {
            return;
        }
        let (text, _) = self.number(id);
        if is_deep || text.len() >= LONG {
            let name = self.new_name();
            self.lines.push(format!("{name} = {text}"));
            self.names[id.0] = Some(name);
            self.depths[id.0] = 0;
        }
    }

    fn new_name(&mut self) -> String {
        loop {
            self.made += 1;
            let name = format!("a{}", self.made);
            if !self.parameters.contains(&name.as_str()) {
                return name;
            }
        }
    }

    /// Returns base and exponent of a product that is a whole power, as the language multiplies it out.
    fn as_power(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let Node::Of(Op::Mul(a, b)) = self.expressions.node(id) else { return None };
        let (base, exponent) = self.as_power(a).unwrap_or((a, 1));
        match () {
            () if a == b => Some((base, 2 * exponent)),
            () if b == base && exponent % 2 == 0 => Some((base, exponent + 1)),
            () => None,
        }
    }

    /// Returns the exponent `p − 1` of a derivative without the selection that makes it 0 where p is 0.
    fn plain_exponent(&self, exponent: NodeId) -> NodeId {
        match self.expressions.node(exponent) {
            Node::Of(Op::Select(p, less, zero)) if self.expressions.value(zero) == Some(0.0) => {
                match self.expressions.node(less) {
                    Node::Of(Op::Sub(of, one)) if of == p && self.expressions.value(one) == Some(1.0) => less,
                    _ => exponent,
                }
            }
            _ => exponent,
        }
    }

    fn at_least(&self, id: NodeId, binding: u8) -> String {
        let (text, bound) = self.number(id);
        if bound < binding { format!("({text})") } else { text }
    }

    fn number(&self, id: NodeId) -> (String, u8) {
        if let Some(name) = &self.names[id.0] {
            return (name.clone(), ATOM);
        }
        if let Some((base, exponent)) = self.as_power(id) {
            return (format!("{}^{exponent}", self.at_least(base, ATOM)), POWER);
        }
        let name = |name: &str| (name.to_owned(), ATOM);
        match self.expressions.node(id) {
            Node::Constant(value) => (self.constant)(value),
            Node::Input(Input::X) => name("x"),
            Node::Input(Input::Y) => name("y"),
            Node::Input(Input::Angle) => name("phi"),
            Node::Input(Input::Cosine) => name("cos(phi)"),
            Node::Input(Input::Sine) => name("sin(phi)"),
            Node::Input(Input::Parameter(index)) => name(self.parameters[index]),
            Node::Input(_) => unreachable!("the other inputs are of rules"),
            Node::Of(op) => self.op(op),
        }
    }

    fn op(&self, op: Op<NodeId>) -> (String, u8) {
        let call = |name: &str| {
            let operands: Vec<String> = op.operands().into_iter().map(|id| self.number(id).0).collect();
            (format!("{name}({})", operands.join(", ")), ATOM)
        };
        let joined = |a, between: &str, b, binding: u8, [left, right]: [u8; 2]| {
            let behind = self.at_least(b, right);
            match self.number(a) {
                (text, bound) if bound < left => (format!("({text}){between}{behind}"), binding),
                // A sign before the left side stands before the whole.
                (text, bound) => (format!("{text}{between}{behind}"), bound.min(binding)),
            }
        };
        match op {
            Op::Neg(a) => (format!("-{}", self.at_least(a, PRODUCT)), SIGNED),
            Op::Sqrt(_) => call("sqrt"),
            Op::Abs(_) => call("abs"),
            Op::Sign(_) => call("sign"),
            Op::Function(function, _) => call(function.name()),
            Op::Add(a, b) => joined(a, " + ", b, SUM, [SUM, PRODUCT]),
            Op::Sub(a, b) => joined(a, " - ", b, SUM, [SUM, PRODUCT]),
            Op::Mul(a, b) => {
                // Read from the left, a factor that is the same at all points is taken out again.
                let is_quotient = matches!(self.expressions.node(b), Node::Of(Op::Div(..)));
                let behind = if self.expressions.is_uniform(a) && !self.expressions.is_uniform(b) && !is_quotient {
                    PRODUCT
                } else {
                    POWER
                };
                joined(a, "*", b, PRODUCT, [SIGNED, behind])
            }
            Op::Div(a, b) => joined(a, "/", b, PRODUCT, [SIGNED, POWER]),
            Op::Pow(a, b) => {
                let exponent = self.plain_exponent(b);
                (format!("{}^{}", self.at_least(a, ATOM), self.at_least(exponent, ATOM)), POWER)
            }
            Op::Max(..) => call("max"),
            Op::Min(..) => call("min"),
            Op::Select(..) => call("where"),
            Op::Compare(relation, a, b) => {
                let sign = match relation {
                    Relation::Less => " < ",
                    Relation::AtMost => " <= ",
                    Relation::Equal => " == ",
                };
                (format!("{}{sign}{}", self.at_least(a, SUM), self.at_least(b, SUM)), COMPARISON)
            }
            Op::Norm(_) | Op::Mean(_) | Op::Sum(_) | Op::MulAdd(..) | Op::NegMulAdd(..) => {
                unreachable!("they are no operations of losses")
            }
        }
    }
}

/// Formats a constant so that it is read as the same number; a multiple of π is written with `pi`.
fn constant(value: f64) -> (String, u8) {
    if value < 0.0 {
        return (format!("-{}", constant(-value).0), SIGNED);
    }
    let plain = |value: f64| match value {
        _ if value.fract() == 0.0 && value < 1e15 => format!("{value}"),
        _ => format!("{value:?}"),
    };
    if value == PI {
        return ("pi".to_owned(), ATOM);
    }
    for factor in [2.0, 4.0, 0.5] {
        if value == factor * PI {
            return (format!("{}*pi", plain(factor)), PRODUCT);
        }
    }
    (plain(value), ATOM)
}
