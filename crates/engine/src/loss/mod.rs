//! Losses of a point (x, y): values, gradients, the Hessian's diagonal, WGSL and text are made from one expression.
//!
//! ```text
//! param b = 100 in 1..1000
//! L = (1 - x)^2 + b*(y - x^2)^2
//! ```
//!
//! Given are `x` and `y`, the coordinates turned by φ, `u = x cos φ + y sin φ` and `v = −x sin φ + y cos φ`, the angle
//! `phi` in radians and `pi`. A line declares parameters or assigns to `L` or a new name; operators and functions are
//! those of [`language`](crate::language). Derivatives are never typed: they are those of the expression.

mod expressions;
#[cfg(test)]
mod tests;
mod text;
mod wgsl;

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::elementary::cos_sin;
use crate::expression::compile::{
    CodeGenerator, Excess, Instruction, Limits, Memory, Slot, UniformNumber, fused, uses,
};
use crate::expression::{Graph, Input, Node, NodeId, Op, Tape, Traced};
use crate::lanes::{Real, Relation, array};
use crate::language::{Dialect, Parameter, ProgramError, parse};
use expressions::{Expressions, LARGEST_EXPONENT, gradient};

/// The most parameters of a loss. With the three numbers of the rotation they fill 16 numbers of a shader.
pub const MOST_PARAMETERS: usize = 13;

const LOSSES: Dialect = Dialect {
    given: &[("x", Input::X), ("y", Input::Y), ("phi", Input::Angle)],
    has_axes: true,
    most_states: 0,
    target: "L",
    target_line: "a line `L = …` with the loss",
    most_parameters: MOST_PARAMETERS,
    parameter: "parameter",
    // A typed landscape has these fields in a preset besides its parameters.
    reserved: &["name", "text", "rotation_degrees", "lr"],
};

#[derive(Clone, Debug)]
pub struct LossProgram {
    text: Option<String>,
    parameters: Vec<Parameter>,
    expressions: Expressions,
    loss: NodeId,
    gradient: [NodeId; 2],
    /// The gradient with respect to (u, v) of a built-in loss, which depends on x and y only through these.
    gradient_uv: Option<[NodeId; 2]>,
    loss_code: LossCode<1>,
    gradient_code: LossCode<3>,
    hessian_code: LossCode<2>,
}

impl LossProgram {
    /// Records a built-in loss of `N` parameters and a point in u and v.
    pub fn record<const N: usize>(
        loss: impl for<'t> Fn([Traced<'t>; N], [Traced<'t>; 2]) -> Traced<'t>,
    ) -> LossProgram {
        let (tape, unknown) = (Tape::default(), [f64::NAN; 2]);
        let input = |input| tape.input(input, unknown);
        let [x, y, cos, sin] = [Input::X, Input::Y, Input::Cosine, Input::Sine].map(input);
        let parameters = std::array::from_fn(|index| input(Input::Parameter(index)));
        let loss = tape.id(loss(parameters, [x * cos + y * sin, y * cos - x * sin]));
        let mut expressions = Expressions::new();
        let loss = expressions.copy(&tape.recorded().graph, loss);
        let program = LossProgram::of(&expressions, loss, None, Vec::new());
        program.unwrap_or_else(|excess| panic!("a built-in loss is too large: {excess}"))
    }

    /// Reads a typed loss.
    ///
    /// # Errors
    ///
    /// The first mistake and its position, or the resource of which the loss or its derivatives need too much.
    pub fn new(text: &str) -> Result<LossProgram, ProgramError> {
        let parsed = parse(text, &LOSSES)?;
        let end = text.len()..text.len();
        if parsed.graph.largest_expression() > Graph::LARGEST_EXPRESSION {
            let expected = format!("at most {} numbers in an expression, written out", Graph::LARGEST_EXPRESSION);
            return Err(ProgramError::new(text, end, expected, "more"));
        }
        let mut expressions = Expressions::new();
        let loss = expressions.copy(&parsed.graph, parsed.target);
        let program = LossProgram::of(&expressions, loss, Some(text.to_owned()), parsed.parameters);
        program.map_err(|excess| ProgramError::new(text, end, excess, "more"))
    }

    /// Compiles a loss of a graph with its derivatives.
    ///
    /// # Errors
    ///
    /// The limit that the loss or its derivatives exceed.
    fn of(
        expressions: &Expressions,
        loss: NodeId,
        text: Option<String>,
        parameters: Vec<Parameter>,
    ) -> Result<LossProgram, String> {
        let (mut expressions, loss) = expressions.in_order(loss);
        let (xy, uv) = (expressions.xy, expressions.uv);
        let [by_x, by_y] = gradient(&mut expressions, loss, xy);
        let [by_x_twice, _] = gradient(&mut expressions, by_x, xy);
        let [_, by_y_twice] = gradient(&mut expressions, by_y, xy);
        let gradient_uv = text.is_none().then(|| gradient(&mut expressions, loss, uv));
        if expressions.is_full() {
            return Err(format!(
                "a loss that has, with its derivatives, at most {} operations",
                Expressions::MOST_NODES
            ));
        }
        let limit = |excess| match excess {
            Excess::Registers => {
                format!("a loss that, with its derivatives, keeps at most {} numbers at a time", LIMITS.registers)
            }
            Excess::Coefficients => {
                format!("a loss with, in its derivatives, at most {} constants and coefficients", LIMITS.coefficients)
            }
            Excess::UniformNumbers => {
                format!("a loss with, in its derivatives, at most {} operations on parameters", LIMITS.uniform_numbers)
            }
        };
        let nodes = fused_nodes(&expressions, &[loss, by_x, by_y, by_x_twice, by_y_twice]);
        Ok(LossProgram {
            loss_code: LossCode::new(&expressions, &nodes, [loss]).map_err(limit)?,
            gradient_code: LossCode::new(&expressions, &nodes, [loss, by_x, by_y]).map_err(limit)?,
            hessian_code: LossCode::new(&expressions, &nodes, [by_x_twice, by_y_twice]).map_err(limit)?,
            text,
            parameters,
            expressions,
            loss,
            gradient: [by_x, by_y],
            gradient_uv,
        })
    }

    /// The parameters that a text declares; none for a built-in loss, whose table is elsewhere.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Binds the loss to values of its parameters and to a rotation. The numbers that are the same at all points are
    /// computed here, in double precision.
    ///
    /// # Panics
    ///
    /// Panics if a parameter that the loss uses has no value.
    pub fn bind(&'static self, parameters: &[f64], rotation_radians: f64) -> BoundLoss {
        let [cos, sin] = cos_sin(rotation_radians);
        let inputs = UniformInputs { parameters, angle: rotation_radians, cos, sin };
        BoundLoss {
            program: Program(self),
            inputs: wgsl::uniforms(inputs),
            coefficients: Arc::new(BoundCoefficients {
                loss: self.loss_code.coefficients(inputs),
                gradient: self.gradient_code.coefficients(inputs),
                hessian: self.hessian_code.coefficients(inputs),
            }),
        }
    }
}

/// A program, compared by its address.
#[derive(Clone, Copy, Debug)]
struct Program(&'static LossProgram);

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

#[derive(Debug, PartialEq)]
struct BoundCoefficients {
    loss: Box<[f64]>,
    gradient: Box<[f64]>,
    hessian: Box<[f64]>,
}

/// A loss with values of its parameters and a rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundLoss {
    program: Program,
    inputs: [f32; wgsl::UNIFORMS],
    coefficients: Arc<BoundCoefficients>,
}

impl BoundLoss {
    pub fn program(&self) -> &'static LossProgram {
        self.program.0
    }

    /// Computes L at (x, y).
    #[inline(always)]
    pub fn loss<V: Real>(&self, at: [V; 2]) -> V {
        let [loss] = self.program.0.loss_code.run(&self.coefficients.loss, &at);
        loss
    }

    /// Computes L and (∂L/∂x, ∂L/∂y) at (x, y). Where L is not a number, its derivatives are none either, also where
    /// their formulas, such as 1/x of ln x, have a value.
    #[inline(always)]
    pub fn loss_and_gradient<V: Real>(&self, at: [V; 2]) -> (V, [V; 2]) {
        let [loss, by_x, by_y] = self.program.0.gradient_code.run(&self.coefficients.gradient, &at);
        let is_number = loss.compared(Relation::Equal, loss);
        (loss, [is_number.choose(by_x, loss), is_number.choose(by_y, loss)])
    }

    /// Computes (∂²L/∂x², ∂²L/∂y²) at (x, y).
    #[inline(always)]
    pub fn hessian_diagonal<V: Real>(&self, at: [V; 2]) -> [V; 2] {
        self.program.0.hessian_code.run(&self.coefficients.hessian, &at)
    }

    /// The numbers that the loss's [`wgsl`](LossProgram::wgsl) reads.
    pub fn wgsl_uniforms(&self) -> [f32; wgsl::UNIFORMS] {
        self.inputs
    }
}

/// The largest number of values of a point that are live at the same time.
const REGISTERS: usize = 64;

const LIMITS: Limits = Limits { registers: REGISTERS, coefficients: 256, uniform_numbers: 1024 };

/// The instructions for some results.
#[derive(Clone, Debug)]
struct LossCode<const RESULTS: usize> {
    /// The numbers that are the same at all points, in the order in which they are computed.
    numbers: Vec<UniformNumber>,
    /// The indices of the numbers that the instructions use.
    coefficients: Vec<u16>,
    instructions: Vec<Instruction>,
    results: [Slot; RESULTS],
}

/// The inputs of the numbers that are the same at all points.
#[derive(Clone, Copy, Debug)]
struct UniformInputs<'a> {
    pub parameters: &'a [f64],
    /// φ, in radians.
    pub angle: f64,
    pub cos: f64,
    pub sin: f64,
}

/// Fuses each product that only one sum uses with that sum. `results` are those of all codes, so that a number has the
/// same bits in each.
fn fused_nodes(expressions: &Expressions, results: &[NodeId]) -> Vec<Node> {
    fused(expressions.graph(), results, |_| false)
}

impl<const RESULTS: usize> LossCode<RESULTS> {
    /// Compiles the results of a graph whose nodes were [fused](fused_nodes).
    ///
    /// # Errors
    ///
    /// The resource of which the results need too much.
    fn new(expressions: &Expressions, nodes: &[Node], results: [NodeId; RESULTS]) -> Result<LossCode<RESULTS>, Excess> {
        let uses = uses(nodes, &results);
        let mut generator = CodeGenerator::new(nodes, &results, LIMITS);
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| uses[*index] > 0) {
            let id = NodeId(index);
            if expressions.is_uniform(id) {
                generator.number(id, *node, None)?;
            } else {
                generator.element(id, *node, None)?;
            }
        }
        let mut slots = [Slot::Given(0); RESULTS];
        for (slot, id) in slots.iter_mut().zip(results) {
            *slot = generator.slot(id)?;
        }
        let CodeGenerator { numbers, coefficients, instructions, .. } = generator;
        Ok(LossCode { numbers, coefficients, instructions, results: slots })
    }

    fn coefficients(&self, inputs: UniformInputs<'_>) -> Box<[f64]> {
        let mut computed: Vec<f64> = Vec::with_capacity(self.numbers.len());
        for number in &self.numbers {
            computed.push(match *number {
                UniformNumber::Constant(value) => value,
                UniformNumber::Input(Input::Parameter(index)) => inputs.parameters[index],
                UniformNumber::Input(Input::Angle) => inputs.angle,
                UniformNumber::Input(Input::Cosine) => inputs.cos,
                UniformNumber::Input(Input::Sine) => inputs.sin,
                UniformNumber::Input(_) => unreachable!("the other inputs are of a point or of rules"),
                UniformNumber::Of { operation, operands, .. } => {
                    let [a, b, c] = operands.map(|operand| computed[usize::from(operand)]);
                    operation.result(&a, &b, &c)
                }
            });
        }
        self.coefficients.iter().map(|index| computed[usize::from(*index)]).collect()
    }

    #[inline(always)]
    fn run<V: Real>(&self, coefficients: &[f64], at: &[V; 2]) -> [V; RESULTS] {
        let mut registers = Memory::<V, REGISTERS>::new();
        for instruction in &self.instructions {
            let Instruction { operation, operands: [a, b, c], to, .. } = *instruction;
            // Operands are references, so that only those that the operation needs are loaded.
            let mut uniform = [const { MaybeUninit::uninit() }; 3];
            let [for_a, for_b, for_c] = &mut uniform;
            let of_a = operand(a, &registers, coefficients, at, for_a);
            let value = match (operation, b) {
                (Op::Pow((), ()), Slot::Coefficient(exponent)) => power(*of_a, coefficients[usize::from(exponent)]),
                _ => {
                    let of_b = operand(b, &registers, coefficients, at, for_b);
                    let of_c = operand(c, &registers, coefficients, at, for_c);
                    operation.result(of_a, of_b, of_c)
                }
            };
            registers.write(to, value);
        }
        array(|index| *operand(self.results[index], &registers, coefficients, at, &mut MaybeUninit::uninit()))
    }
}

/// The number at a slot; one that is the same for all points is written to `uniform` first.
#[inline(always)]
fn operand<'a, V: Real>(
    slot: Slot,
    registers: &'a Memory<V, REGISTERS>,
    coefficients: &[f64],
    at: &'a [V; 2],
    uniform: &'a mut MaybeUninit<V>,
) -> &'a V {
    match slot {
        Slot::Register(index) => registers.at(index),
        Slot::Coefficient(index) => uniform.write(V::splat(coefficients[usize::from(index)])),
        Slot::Given(index) => &at[usize::from(index) % 2],
    }
}

/// Computes a power with an exponent that is the same for all points: a whole one by multiplication.
#[inline(always)]
fn power<V: Real>(base: V, exponent: f64) -> V {
    if exponent.fract() != 0.0 || exponent.abs() > LARGEST_EXPONENT {
        return base.of_each_pair(V::splat(exponent), super::elementary::power_of_any);
    }
    let (mut result, mut square, mut left) = (V::splat(1.0), base, exponent.abs() as u32);
    while left > 0 {
        if left % 2 == 1 {
            result = result * square;
        }
        square = square * square;
        left /= 2;
    }
    if exponent < 0.0 { V::splat(1.0) / result } else { result }
}
