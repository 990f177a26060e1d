//! Losses as functions of WGSL.

use std::fmt::Write;

use super::code::UniformInputs;
use super::expressions::Expressions;
use super::{LossProgram, MOST_PARAMETERS};
use crate::language::{Calculation, Input, Node, NodeId};
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

/// Powers of any base with whole exponents, and of positive ones.
const POWER: &str = "\
fn landscape_power(base: f32, exponent: f32) -> f32 {
    let size = pow(abs(base), exponent);
    if base == 0.0 {
        return select(size, 1.0, exponent == 0.0);
    }
    if base > 0.0 {
        return size;
    }
    // NaN, which is no constant of WGSL, for a negative base and a broken exponent.
    let whole = select(sqrt(base), size, fract(exponent) == 0.0);
    return select(whole, -whole, fract(0.5 * exponent) != 0.0);
}
";

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
        if text.contains("landscape_power(") {
            text = format!("{POWER}\n{text}");
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
            if let (Node::Of(calculation), true) = (self.expressions.node(NodeId(index)), is_used[index]) {
                calculation.operands().into_iter().for_each(|operand| is_used[operand.0] = true);
            }
        }
        for index in (0..is_used.len()).filter(|index| is_used[*index]) {
            if let Node::Of(calculation) = self.expressions.node(NodeId(index)) {
                let line = self.calculation(calculation);
                writeln!(self.text, "    let n{index} = {line};").expect("a string takes all");
            }
        }
        results.map(|id| self.word(id))
    }

    fn word(&self, id: NodeId) -> String {
        let uniform = |index: usize| format!("landscape_uniform({index}u)");
        match self.expressions.node(id) {
            // `let`s are no constants, so that a quotient by 0 among them is no error of the shader.
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

    fn calculation(&self, calculation: Calculation<NodeId>) -> String {
        let operands = calculation.operands();
        let is_constant = operands.iter().all(|id| self.expressions.value(*id).is_some());
        // An expression of constants alone has a result that is not finite, which WGSL refuses in one.
        let word = |id: NodeId| match self.word(id) {
            constant if is_constant => format!("({constant} + 0.0 * x)"),
            word => word,
        };
        let call =
            |name: &str| format!("{name}({})", operands.iter().map(|id| word(*id)).collect::<Vec<_>>().join(", "));
        let between = |a, sign: &str, b| format!("{} {sign} {}", word(a), word(b));
        match calculation {
            Calculation::Negative(a) => format!("-{}", word(a)),
            Calculation::Root(_) => call("sqrt"),
            Calculation::Size(_) => call("abs"),
            Calculation::Sign(_) => call("sign"),
            // Implementations may make it of exponentials that overflow.
            Calculation::Function(Function::Tanh, a) => format!("tanh(clamp({}, -20.0, 20.0))", word(a)),
            Calculation::Function(Function::Ln, _) => call("log"),
            Calculation::Function(function, _) => call(function.name()),
            Calculation::Sum(a, b) => between(a, "+", b),
            Calculation::Difference(a, b) => between(a, "-", b),
            Calculation::Product(a, b) => between(a, "*", b),
            Calculation::Quotient(a, b) => between(a, "/", b),
            Calculation::Power(..) => call("landscape_power"),
            Calculation::Maximum(..) => call("max"),
            Calculation::Minimum(..) => call("min"),
            Calculation::Compared(relation, a, b) => {
                let sign = match relation {
                    Relation::Less => "<",
                    Relation::AtMost => "<=",
                    Relation::Equal => "==",
                };
                format!("select(0.0, 1.0, {})", between(a, sign, b))
            }
            Calculation::Choice(condition, a, b) => {
                format!("select({}, {}, {} != 0.0)", word(b), word(a), word(condition))
            }
            Calculation::Norm(_)
            | Calculation::Mean(_)
            | Calculation::Total(_)
            | Calculation::ProductSum(..)
            | Calculation::MinusProduct(..) => unreachable!("they are no operations of losses"),
        }
    }
}

/// A number in single precision, at most the largest finite one.
fn literal(value: f64) -> String {
    let value = (value as f32).clamp(f32::MIN, f32::MAX);
    if value < 0.0 { format!("({value:?}f)") } else { format!("{value:?}f") }
}
