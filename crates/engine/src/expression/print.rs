//! Prints expression graphs in a [`Style`]: the language of rules and losses, formulas on the screen, WGSL, Python, or
//! LaTeX.
//!
//! The [`Printer`] walks the graph: it writes names, expands products, and writes composed operations, such as a
//! running average, by simpler ones. A style writes constants, inputs and simple operations on written operands, and
//! puts the brackets. A new style is a type with [`Style::constant`], [`Style::input`] and [`Style::operation`]: the
//! last one handles what the style writes in its own way, and leaves the rest to [`Signs::write`].

use super::algebra::{AverageWeight, RatioCorrection};
use super::{Dependence, Graph, Input, Node, NodeId, Op, Relation};

/// The binding strength of expressions, from the loosest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    Comparison,
    Sum,
    /// A product with a sign before it.
    Signed,
    Product,
    Power,
    Atom,
}

/// A written expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    pub text: String,
    /// How tightly the outermost operation binds.
    pub binding: Binding,
}

impl Printed {
    pub fn new(text: impl Into<String>, binding: Binding) -> Printed {
        Printed { text: text.into(), binding }
    }

    pub fn atom(text: impl Into<String>) -> Printed {
        Printed::new(text, Binding::Atom)
    }

    /// The text, in brackets where it binds less tightly.
    pub fn at_least(&self, binding: Binding) -> String {
        if self.binding < binding { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// A way to write expressions.
pub trait Style: Sized {
    /// Whether products of products are written as one, with squares.
    const EXPANDS_PRODUCTS: bool = false;

    fn constant(&self, value: f64) -> Printed;

    fn input(&self, printer: &Printer<'_, Self>, id: NodeId, input: Input) -> Printed;

    /// Writes an operation on written operands.
    fn operation(&self, op: Op<Printed>) -> Printed;

    fn named(&self, _id: NodeId, name: &str) -> Printed {
        Printed::atom(name)
    }

    /// Writes an operation as the numbers around it in the graph need it; `None` leaves it to [`Style::operation`].
    fn in_context(&self, _printer: &Printer<'_, Self>, _id: NodeId, _op: Op<NodeId>) -> Option<Printed> {
        None
    }

    fn difference(&self, printer: &Printer<'_, Self>, a: NodeId, b: NodeId) -> Printed {
        self.operation(Op::Sub(printer.print(a), printer.print(b)))
    }

    fn product(&self, factors: Vec<Printed>) -> Printed {
        let product = factors.into_iter().reduce(|product, factor| self.operation(Op::Mul(product, factor)));
        product.expect("a product has factors")
    }

    fn square(&self, base: Printed) -> Printed {
        self.operation(Op::Pow(base, self.constant(2.0)))
    }

    /// Writes a running average without the bias of its start at 0; `weight` is the sum of the average's weights so
    /// far.
    fn corrected(&self, printer: &Printer<'_, Self>, average: NodeId, weight: NodeId) -> Printed {
        match printer.graph.node(weight) {
            Node::Constant(1.0) => printer.print(average),
            _ => self.operation(Op::Div(printer.print(average), printer.print(weight))),
        }
    }
}

/// The signs of operations in infix notation.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    pub minus: &'static str,
    pub times: &'static str,
    pub over: &'static str,
    pub less: &'static str,
    pub at_most: &'static str,
    pub equal: &'static str,
}

impl Signs {
    /// The signs of programming languages.
    pub const ASCII: Signs = Signs { minus: "-", times: "*", over: "/", less: "<", at_most: "<=", equal: "==" };

    pub fn relation(self, relation: Relation) -> &'static str {
        match relation {
            Relation::Less => self.less,
            Relation::AtMost => self.at_most,
            Relation::Equal => self.equal,
        }
    }

    /// Writes an operation in infix notation, or as a call of the function in the language of rules and losses.
    pub fn write(self, op: Op<Printed>) -> Printed {
        let call = |name: &str, operands: &[Printed]| {
            let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
            Printed::atom(format!("{name}({})", texts.join(", ")))
        };
        use Binding::{Atom, Comparison, Power, Product, Signed, Sum};
        match op {
            Op::Neg(a) => Printed::new(format!("{}{}", self.minus, a.at_least(Product)), Signed),
            Op::Add(a, b) => joined(&a, " + ", &b, Sum, [Sum, Product]),
            Op::Sub(a, b) => joined(&a, &format!(" {} ", self.minus), &b, Sum, [Sum, Product]),
            Op::Mul(a, b) => joined(&a, self.times, &b, Product, [Signed, Power]),
            Op::Div(a, b) => joined(&a, self.over, &b, Product, [Signed, Power]),
            Op::Pow(a, b) => Printed::new(format!("{}^{}", a.at_least(Atom), b.at_least(Atom)), Power),
            Op::Compare(relation, a, b) => {
                let sign = self.relation(relation);
                Printed::new(format!("{} {sign} {}", a.at_least(Sum), b.at_least(Sum)), Comparison)
            }
            Op::Sqrt(a) => call("sqrt", &[a]),
            Op::Abs(a) => call("abs", &[a]),
            Op::Sign(a) => call("sign", &[a]),
            Op::Function(function, a) => call(function.name(), &[a]),
            Op::Max(a, b) | Op::Larger(a, b) => call("max", &[a, b]),
            Op::Min(a, b) => call("min", &[a, b]),
            Op::Select(a, b, c) => call("where", &[a, b, c]),
            Op::Norm(a) => call("norm", &[a]),
            Op::Mean(a) | Op::BlockMean(a) => call("mean", &[a]),
            Op::Sum(a) => call("sum", &[a]),
            Op::Orthogonal(a) => call("orthogonal", &[a]),
            Op::Exchanged(a) => call("swap", &[a]),
            Op::GradientAt(a) => call("gradient", &[a]),
            Op::OverSteps(..) | Op::Remainder(..) | Op::OfAxes(..) => {
                unreachable!("the styles for records of all steps write them")
            }
            Op::ByShape(matrix, _) => matrix,
            Op::MulAdd(..) | Op::AddMul(..) | Op::NegMulAdd(..) | Op::Toward(..) | Op::Ratio(..) => {
                unreachable!("the printer writes composed operations by simpler ones")
            }
        }
    }
}

/// Writes an operation between its operands, which are put in brackets unless they bind at least as tightly as `sides`.
/// A sign before the left side stands before the whole.
pub fn joined(a: &Printed, between: &str, b: &Printed, binding: Binding, sides: [Binding; 2]) -> Printed {
    let left = a.at_least(sides[0]);
    let binding = if a.binding < sides[0] { binding } else { a.binding.min(binding) };
    Printed::new(format!("{left}{between}{}", b.at_least(sides[1])), binding)
}

/// Writes the expressions of a graph.
pub struct Printer<'a, S> {
    pub graph: &'a Graph,
    /// The name of each node that has one.
    pub names: Vec<Option<String>>,
    pub style: S,
}

impl<'a, S: Style> Printer<'a, S> {
    pub fn new(graph: &'a Graph, style: S) -> Printer<'a, S> {
        Printer { graph, names: vec![None; graph.len()], style }
    }

    /// Writes a number: its name, if it has one, else its expression.
    pub fn print(&self, id: NodeId) -> Printed {
        match &self.names[id.0] {
            Some(name) => self.style.named(id, name),
            None => self.expression(id),
        }
    }

    /// Writes how a number is computed.
    pub fn expression(&self, id: NodeId) -> Printed {
        let op = match self.graph.node(id) {
            Node::Constant(value) => return self.style.constant(value),
            Node::Input(input) => return self.style.input(self, id, input),
            Node::Of(op) => op,
        };
        if let Some(printed) = self.style.in_context(self, id, op) {
            return printed;
        }
        let (style, of) = (&self.style, |id| self.print(id));
        match op {
            Op::Sub(a, b) => style.difference(self, a, b),
            Op::Mul(a, b) => self.product(&[a, b]),
            Op::MulAdd(a, b, c) => style.operation(Op::Add(self.product(&[a, b]), of(c))),
            Op::AddMul(a, b, _) if self.graph.node(b) == Node::Constant(0.0) => of(a),
            Op::AddMul(a, b, c) => match self.negated(b) {
                Some(b) => style.operation(Op::Sub(of(a), self.product(&[b, c]))),
                None => style.operation(Op::Add(of(a), self.product(&[b, c]))),
            },
            Op::NegMulAdd(a, b, c) => style.operation(Op::Sub(of(c), self.product(&[a, b]))),
            Op::Toward(average, target, AverageWeight { weight, .. }) => {
                let way = style.difference(self, target, average);
                style.operation(Op::Add(of(average), style.product(vec![of(weight), way])))
            }
            Op::Ratio(m, s, RatioCorrection { m_weight, s_weight, epsilon, .. }) => {
                let root = style.operation(Op::Sqrt(style.corrected(self, s, s_weight)));
                let size = style.operation(Op::Add(root, of(epsilon)));
                style.operation(Op::Div(style.corrected(self, m, m_weight), size))
            }
            op => style.operation(op.map(of)),
        }
    }

    pub fn product(&self, factors: &[NodeId]) -> Printed {
        if !S::EXPANDS_PRODUCTS {
            return self.style.product(factors.iter().map(|factor| self.print(*factor)).collect());
        }
        let (mut all, mut written, mut last) = (Vec::new(), Vec::<Printed>::new(), None);
        factors.iter().for_each(|factor| self.factors(*factor, &mut all));
        for factor in all {
            match written.last_mut() {
                Some(before) if last.is_some_and(|last| self.is_same(last, factor)) => {
                    *before = self.style.square(before.clone());
                    last = None;
                }
                _ => {
                    written.push(self.print(factor));
                    last = Some(factor);
                }
            }
        }
        self.style.product(written)
    }

    /// Whether both are the same node or equal constants.
    fn is_same(&self, a: NodeId, b: NodeId) -> bool {
        let constant = |id| matches!(self.graph.node(id), Node::Constant(_));
        a == b || (constant(a) && self.graph.node(a) == self.graph.node(b))
    }

    /// Collects the factors of a number without a name.
    fn factors(&self, id: NodeId, factors: &mut Vec<NodeId>) {
        match self.graph.node(id) {
            Node::Of(Op::Mul(a, b)) if !self.has_name(id) => {
                [a, b].into_iter().for_each(|it| self.factors(it, factors))
            }
            _ => factors.push(id),
        }
    }

    /// The number whose negative this is, if neither has a name.
    fn negated(&self, id: NodeId) -> Option<NodeId> {
        match self.graph.node(id) {
            Node::Of(Op::Neg(of)) if !self.has_name(id) => Some(of),
            _ => None,
        }
    }

    pub fn has_name(&self, id: NodeId) -> bool {
        self.names[id.0].is_some()
    }
}

/// The language of rules and losses.
pub(crate) struct Language<I> {
    pub input: I,
    pub constant: fn(f64) -> Printed,
    /// Whether the graph is of [simplified](crate::loss) expressions: whole powers are products, and factors that are
    /// the same at all points are collected again when the text is read.
    pub is_simplified: bool,
}

impl<I: Fn(Input) -> Printed> Style for Language<I> {
    fn constant(&self, value: f64) -> Printed {
        (self.constant)(value)
    }

    fn input(&self, _printer: &Printer<'_, Self>, _id: NodeId, input: Input) -> Printed {
        (self.input)(input)
    }

    fn operation(&self, op: Op<Printed>) -> Printed {
        Signs::ASCII.write(op)
    }

    fn in_context(&self, printer: &Printer<'_, Self>, id: NodeId, op: Op<NodeId>) -> Option<Printed> {
        let graph = printer.graph;
        match op {
            _ if !self.is_simplified => None,
            Op::Mul(a, b) => Some(match graph.as_power(id) {
                Some((base, exponent)) => {
                    let base = printer.print(base).at_least(Binding::Atom);
                    Printed::new(format!("{base}^{exponent}"), Binding::Power)
                }
                None => {
                    let is_uniform = |id| graph.dependence(id) == Dependence::Uniform;
                    let is_quotient = matches!(graph.node(b), Node::Of(Op::Div(..)));
                    let is_collected = is_uniform(a) && !is_uniform(b) && !is_quotient;
                    let right = if is_collected { Binding::Product } else { Binding::Power };
                    joined(&printer.print(a), "*", &printer.print(b), Binding::Product, [Binding::Signed, right])
                }
            }),
            Op::Pow(a, b) => {
                let exponent = graph.plain_exponent(b);
                Some(self.operation(Op::Pow(printer.print(a), printer.print(exponent))))
            }
            _ => None,
        }
    }
}

impl Graph {
    /// Base and exponent of a product that is a whole power, as the language multiplies it out.
    fn as_power(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let Node::Of(Op::Mul(a, b)) = self.node(id) else { return None };
        let (base, exponent) = self.as_power(a).unwrap_or((a, 1));
        match () {
            () if a == b => Some((base, 2 * exponent)),
            () if b == base && exponent % 2 == 0 => Some((base, exponent + 1)),
            () => None,
        }
    }

    /// The operands that a simplified number shows: the base of a power, not the powers that it is made of.
    pub(crate) fn shown(&self, id: NodeId) -> Vec<NodeId> {
        match (self.as_power(id), self.node(id)) {
            (Some((base, _)), _) => vec![base],
            (None, Node::Of(op)) => op.operands(),
            (None, _) => Vec::new(),
        }
    }

    /// The exponent `p − 1` of a derivative without the selection that makes it 0 where p is 0.
    fn plain_exponent(&self, exponent: NodeId) -> NodeId {
        let is = |id, value: f64| self.node(id) == Node::Constant(value);
        match self.node(exponent) {
            Node::Of(Op::Select(p, less, zero)) if is(zero, 0.0) => match self.node(less) {
                Node::Of(Op::Sub(of, one)) if of == p && is(one, 1.0) => less,
                _ => exponent,
            },
            _ => exponent,
        }
    }
}
