//! This module prints losses as functions of WGSL.

use std::fmt::Write;

use super::expressions::Expressions;
use super::{LossProgram, MOST_PARAMETERS, UniformInputs};
use crate::expression::{Input, Node, NodeId, Op};
use crate::optimizer::{Function, Relation};

/// The number of uniform numbers: cos φ, sin φ, φ and the parameters.
pub(super) const UNIFORMS: usize = FIRST_PARAMETER + MOST_PARAMETERS;
const FIRST_PARAMETER: usize = 3;

/// The numbers that [`LossProgram::wgsl`] reads.
pub(super) fn uniforms(inputs: UniformInputs<'_>) -> [f32; UNIFORMS] {
    let mut uniforms = [0.0; UNIFORMS];
    let values = [inputs.cos, inputs.sin, inputs.angle].into_iter().chain(inputs.parameters.iter().copied());
    uniforms.iter_mut().zip(values).for_each(|(uniform, value)| *uniform = value as f32);
    uniforms
}

/// Functions of the shader, each with its name, and those that it calls. Compilers may assume that a number is not NaN, but
/// not what its bits are.
const FUNCTIONS: [(&str, &str); 5] = [
    // Of any base with a whole exponent, and of a positive base with any exponent. The power of a negative base with a
    // fractional exponent is NaN, which WGSL cannot write as a constant.
    (
        "landscape_power",
        "\
fn landscape_power(base: f32, exponent: f32) -> f32 {
    let size = pow(abs(base), exponent);
    if base == 0.0 {
        return select(size, 1.0, exponent == 0.0);
    }
    if base > 0.0 {
        return size;
    }
    let whole = select(sqrt(base), size, fract(exponent) == 0.0);
    return select(whole, -whole, fract(0.5 * exponent) != 0.0);
}
",
    ),
    // The product with 0: NaN unless the number is finite.
    (
        "landscape_zero",
        "\
fn landscape_zero(value: f32) -> f32 {
    let bits = bitcast<u32>(value) & 0x7fffffffu;
    return select(0.0, bitcast<f32>(bits | 0x7fc00000u), bits >= 0x7f800000u);
}
",
    ),
    (
        "landscape_max",
        "\
fn landscape_max(a: f32, b: f32) -> f32 {
    return select(select(max(a, b), b, landscape_is_nan(b)), a, landscape_is_nan(a));
}
",
    ),
    (
        "landscape_sign",
        "\
fn landscape_sign(value: f32) -> f32 {
    return select(sign(value), value, landscape_is_nan(value));
}
",
    ),
    (
        "landscape_is_nan",
        "\
fn landscape_is_nan(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}
",
    ),
];

impl LossProgram {
    /// Prints the loss as functions of WGSL:
    ///
    /// ```text
    /// fn landscape_loss(x: f32, y: f32) -> f32
    /// fn landscape_gradient(x: f32, y: f32) -> vec2<f32>
    /// ```
    ///
    /// They call `landscape_uniform(index: u32) -> f32`, which the shader around them defines: it returns the number
    /// at an index of [`BoundLoss::wgsl_uniforms`](super::BoundLoss::wgsl_uniforms): cos φ, sin φ, φ, then the
    /// parameters. For an `array<vec4<f32>, 4>` it is `return array[index / 4u][index % 4u];`.
    pub fn wgsl(&self) -> String {
        let [by_x, by_y] = self.gradient;
        let mut text = String::new();
        text += "fn landscape_loss(x: f32, y: f32) -> f32 {\n";
        let [loss] = Writer::new(&self.expressions, &mut text).results([self.loss]);
        text += &format!("    return {loss};\n}}\n\nfn landscape_gradient(x: f32, y: f32) -> vec2<f32> {{\n");
        let [by_x, by_y] = Writer::new(&self.expressions, &mut text).results([by_x, by_y]);
        text += &format!("    return vec2<f32>({by_x}, {by_y});\n}}\n");
        for (name, function) in FUNCTIONS {
            if text.contains(&format!("{name}(")) {
                text = format!("{function}\n{text}");
            }
        }
        text
    }
}

struct Writer<'a> {
    expressions: &'a Expressions,
    text: &'a mut String,
}

impl<'a> Writer<'a> {
    fn new(expressions: &'a Expressions, text: &'a mut String) -> Writer<'a> {
        Writer { expressions, text }
    }

    /// Writes a line for each number that the results need; returns the words for these.
    fn results<const N: usize>(self, results: [NodeId; N]) -> [String; N] {
        let mut is_used = vec![false; self.expressions.graph().len()];
        results.iter().for_each(|id| is_used[id.0] = true);
        for index in (0..is_used.len()).rev() {
            if let (Node::Of(op), true) = (self.expressions.node(NodeId(index)), is_used[index]) {
                op.operands().into_iter().for_each(|operand| is_used[operand.0] = true);
            }
        }
        for index in (0..is_used.len()).filter(|index| is_used[*index]) {
            if let Node::Of(op) = self.expressions.node(NodeId(index)) {
                let line = self.op(op);
                writeln!(self.text, "    let n{index} = {line};").expect("a string takes all");
            }
        }
        results.map(|id| self.word(id))
    }

    fn word(&self, id: NodeId) -> String {
        let uniform = |index: usize| format!("landscape_uniform({index}u)");
        match self.expressions.node(id) {
            // A `let` is no constant of WGSL, so that dividing by one that is 0 is no error of the shader.
            Node::Constant(value) => literal(value),
            Node::Input(Input::X) => "x".to_owned(),
            Node::Input(Input::Y) => "y".to_owned(),
            Node::Input(Input::Cosine) => uniform(0),
            Node::Input(Input::Sine) => uniform(1),
            Node::Input(Input::Angle) => uniform(2),
            Node::Input(Input::Parameter(index)) => uniform(FIRST_PARAMETER + index),
            Node::Input(_) => unreachable!("the other inputs are of rules"),
            Node::Of(_) => format!("n{}", id.0),
        }
    }

    fn op(&self, op: Op<NodeId>) -> String {
        let operands = op.operands();
        let is_constant = operands.iter().all(|id| self.expressions.value(*id).is_some());
        // An expression of constants alone remains only if its result is not finite, and WGSL refuses that in a constant.
        let word = |id: NodeId| match self.word(id) {
            constant if is_constant => format!("({constant} + 0.0 * x)"),
            word => word,
        };
        let call =
            |name: &str| format!("{name}({})", operands.iter().map(|id| word(*id)).collect::<Vec<_>>().join(", "));
        // A function that keeps NaN, unless there is none.
        let is_finite = operands.iter().all(|id| self.expressions.graph().is_finite(*id));
        let careful = |name: &str| call(&if is_finite { name.to_owned() } else { format!("landscape_{name}") });
        let zero = |id: NodeId| self.expressions.value(id) == Some(0.0);
        let between = |a, sign: &str, b| format!("{} {sign} {}", word(a), word(b));
        match op {
            Op::Neg(a) => format!("-{}", word(a)),
            Op::Sqrt(_) => call("sqrt"),
            Op::Abs(_) => call("abs"),
            Op::Sign(_) => careful("sign"),
            // Implementations may compute tanh from exponentials, which overflow.
            Op::Function(Function::Tanh, a) => format!("tanh(clamp({}, -20.0, 20.0))", word(a)),
            Op::Function(Function::Ln, _) => call("log"),
            Op::Function(function, _) => call(function.name()),
            Op::Add(a, b) => between(a, "+", b),
            Op::Sub(a, b) if a == b => format!("landscape_zero({})", word(a)),
            Op::Sub(a, b) => between(a, "-", b),
            Op::Mul(a, b) if zero(a) => format!("landscape_zero({})", word(b)),
            Op::Mul(a, b) => between(a, "*", b),
            Op::Div(a, b) if zero(a) => format!("landscape_zero(1.0 / {})", word(b)),
            Op::Div(a, b) => between(a, "/", b),
            Op::Pow(..) => call("landscape_power"),
            Op::Max(..) => careful("max"),
            Op::Min(..) if is_finite => call("min"),
            Op::Min(a, b) => format!("-landscape_max(-{}, -{})", word(a), word(b)),
            Op::Compare(Relation::Equal, a, b) if a == b => {
                format!("select(1.0, 0.0, landscape_is_nan({}))", word(a))
            }
            Op::Compare(relation, a, b) => {
                let sign = match relation {
                    Relation::Less => "<",
                    Relation::AtMost => "<=",
                    Relation::Equal => "==",
                };
                format!("select(0.0, 1.0, {})", between(a, sign, b))
            }
            Op::Select(condition, a, b) => {
                format!("select({}, {}, {} != 0.0)", word(b), word(a), word(condition))
            }
            Op::Norm(_) | Op::Mean(_) | Op::Sum(_) | Op::MulAdd(..) | Op::NegMulAdd(..) => {
                unreachable!("they are no operations of losses")
            }
        }
    }
}

/// Formats a number in single precision, clamped to the finite ones.
fn literal(value: f64) -> String {
    let value = (value as f32).clamp(f32::MIN, f32::MAX);
    // `--0.0f` would be another operator.
    if value.is_sign_negative() { format!("({value:?}f)") } else { format!("{value:?}f") }
}
