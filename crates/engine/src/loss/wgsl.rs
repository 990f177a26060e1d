//! Losses as functions of WGSL.

use super::{LossProgram, MOST_PARAMETERS, UniformInputs};
use crate::expression::compile::uses;
use crate::expression::print::{Printed, Printer, Signs, Style};
use crate::expression::{Function, Input, Node, NodeId, Op, Relation};

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

/// Functions of the shader, each with its name, and those that it calls. Compilers may assume that a number is not NaN,
/// but not what its bits are.
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
        let [loss] = self.wgsl_lines(&mut text, [self.loss]);
        text += &format!("    return {loss};\n}}\n\nfn landscape_gradient(x: f32, y: f32) -> vec2<f32> {{\n");
        let [by_x, by_y] = self.wgsl_lines(&mut text, [by_x, by_y]);
        text += &format!("    return vec2<f32>({by_x}, {by_y});\n}}\n");
        for (name, function) in FUNCTIONS {
            if text.contains(&format!("{name}(")) {
                text = format!("{function}\n{text}");
            }
        }
        text
    }

    /// Writes a line for each number that the results need; returns the results' names or literals.
    fn wgsl_lines<const N: usize>(&self, text: &mut String, results: [NodeId; N]) -> [String; N] {
        let graph = self.expressions.graph();
        let nodes: Vec<Node> = graph.ids().map(|id| graph.node(id)).collect();
        let uses = uses(&nodes, &results);
        let mut printer = Printer::new(graph, Wgsl);
        for id in graph.ids().filter(|id| uses[id.0] > 0) {
            if let Node::Of(_) = graph.node(id) {
                *text += &format!("    let n{} = {};\n", id.0, printer.print(id).text);
                printer.names[id.0] = Some(format!("n{}", id.0));
            }
        }
        results.map(|id| printer.print(id).text)
    }
}

/// The style of WGSL, where each operation has a line, so that operands are names or literals.
struct Wgsl;

impl Style for Wgsl {
    // A `let` is no constant of WGSL, so that dividing by one that is 0 is no error of the shader.
    fn constant(&self, value: f64) -> Printed {
        Printed::atom(literal(value))
    }

    fn input(&self, _printer: &Printer<'_, Self>, _id: NodeId, input: Input) -> Printed {
        let uniform = |index: usize| Printed::atom(format!("landscape_uniform({index}u)"));
        match input {
            Input::X => Printed::atom("x"),
            Input::Y => Printed::atom("y"),
            Input::Cosine => uniform(0),
            Input::Sine => uniform(1),
            Input::Angle => uniform(2),
            Input::Parameter(index) => uniform(FIRST_PARAMETER + index),
            _ => unreachable!("the other inputs are of rules"),
        }
    }

    fn operation(&self, op: Op<Printed>) -> Printed {
        const SIGNS: Signs = Signs { times: " * ", over: " / ", ..Signs::ASCII };
        Printed::atom(match op {
            // Implementations may compute tanh from exponentials, which overflow.
            Op::Function(Function::Tanh, a) => format!("tanh(clamp({}, -20.0, 20.0))", a.text),
            Op::Function(Function::Ln, a) => format!("log({})", a.text),
            Op::Pow(a, b) => format!("landscape_power({}, {})", a.text, b.text),
            Op::Compare(relation, a, b) => {
                format!("select(0.0, 1.0, {} {} {})", a.text, SIGNS.relation(relation), b.text)
            }
            Op::Select(condition, a, b) => format!("select({}, {}, {} != 0.0)", b.text, a.text, condition.text),
            op => SIGNS.write(op).text,
        })
    }

    fn in_context(&self, printer: &Printer<'_, Self>, _id: NodeId, op: Op<NodeId>) -> Option<Printed> {
        let graph = printer.graph;
        let is_constant = op.operands().iter().all(|id| matches!(graph.node(*id), Node::Constant(_)));
        // An expression of constants alone remains only if its result is not finite, and WGSL refuses that in a
        // constant.
        let word = |id: NodeId| match printer.print(id).text {
            constant if is_constant => format!("({constant} + 0.0 * x)"),
            word => word,
        };
        let is_finite = op.operands().iter().all(|id| graph.is_finite(*id));
        let is_zero = |id: NodeId| graph.node(id) == Node::Constant(0.0);
        Some(Printed::atom(match op {
            // These functions propagate NaN; without NaN the plain operations suffice.
            Op::Sign(a) if !is_finite => format!("landscape_sign({})", word(a)),
            Op::Max(a, b) if !is_finite => format!("landscape_max({}, {})", word(a), word(b)),
            Op::Min(a, b) if !is_finite => format!("-landscape_max(-{}, -{})", word(a), word(b)),
            Op::Sub(a, b) if a == b => format!("landscape_zero({})", word(a)),
            Op::Mul(a, b) if is_zero(a) => format!("landscape_zero({})", word(b)),
            Op::Div(a, b) if is_zero(a) => format!("landscape_zero(1.0 / {})", word(b)),
            Op::Compare(Relation::Equal, a, b) if a == b => {
                format!("select(1.0, 0.0, landscape_is_nan({}))", word(a))
            }
            op => return Some(self.operation(op.map(|id| Printed::atom(word(id))))),
        }))
    }
}

/// Formats a number in single precision, clamped to the finite ones.
fn literal(value: f64) -> String {
    let value = (value as f32).clamp(f32::MIN, f32::MAX);
    // `--0.0f` would be another operator.
    if value.is_sign_negative() { format!("({value:?}f)") } else { format!("{value:?}f") }
}
