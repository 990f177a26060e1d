//! This module computes losses of a point (x, y): values, gradients, the Hessian's diagonal, WGSL and text are made from
//! one expression.
//!
//! ```text
//! param b = 100 in 1..1000
//! L = (1 - x)^2 + b*(y - x^2)^2
//! ```
//!
//! Given are `x` and `y`, the coordinates turned by φ, `u = x cos φ + y sin φ` and `v = −x sin φ + y cos φ`, the angle
//! `phi` in radians and `pi`. A line declares parameters or assigns to `L` or a new name; operators and functions are
//! those of [`language`](crate::language). Derivatives are never typed: they are those of the expression.

mod code;
mod derivative;
mod expressions;
mod recorded;
mod text;
mod wgsl;

use std::cell::RefCell;
use std::sync::Arc;

use code::{LIMITS, LossCode, UniformInputs, fused_nodes};
use derivative::gradient;
use expressions::Expressions;
use recorded::Recorded;

use crate::elementary::cos_sin;
use crate::lanes::Real;
use crate::language::{Dialect, Excess, Graph, Input, NodeId, Parameter, ProgramError, parse};
use crate::optimizer::Algebra;

/// The most parameters of a loss. With the three numbers of the rotation they fill 16 numbers of a shader.
pub const MOST_PARAMETERS: usize = 13;

/// A built-in loss, written once for all kinds of numbers.
pub trait Loss {
    /// The number of parameters.
    const PARAMETERS: usize;

    /// Computes the loss at (u, v).
    fn loss<A: Algebra>(parameters: &[A], at: [A; 2]) -> A;
}

/// The language of losses.
const LOSSES: Dialect = Dialect {
    given: &[("x", Input::X), ("y", Input::Y), ("phi", Input::Angle)],
    has_axes: true,
    has_states: false,
    target: "L",
    target_line: "a line `L = …` with the loss",
    most_parameters: MOST_PARAMETERS,
    parameter: "parameter",
    // A typed landscape has these fields in a preset besides its parameters.
    reserved: &["name", "text", "rotation_degrees"],
};

/// A loss as a program.
#[derive(Clone, Debug)]
pub struct LossProgram {
    text: Option<String>,
    parameters: Vec<Parameter>,
    expressions: Expressions,
    loss: NodeId,
    gradient: [NodeId; 2],
    /// The gradient with respect to (u, v) of a built-in loss, which depends on x and y by these alone.
    gradient_uv: Option<[NodeId; 2]>,
    loss_code: LossCode<1>,
    /// The code of the loss and its gradient.
    gradient_code: LossCode<3>,
    hessian_code: LossCode<2>,
}

impl LossProgram {
    /// Records a built-in loss.
    pub fn record<L: Loss>() -> LossProgram {
        let expressions = RefCell::new(Expressions::new());
        let (uv, parameters) = {
            let expressions = expressions.borrow();
            (expressions.uv, expressions.parameters[..L::PARAMETERS].to_vec())
        };
        let parameters: Vec<Recorded<'_>> = parameters.into_iter().map(|id| Recorded::Node(&expressions, id)).collect();
        let loss = L::loss(&parameters, uv.map(|id| Recorded::Node(&expressions, id))).in_graph(&expressions);
        drop(parameters);
        let program = LossProgram::of(&expressions.into_inner(), loss, None, Vec::new());
        program.unwrap_or_else(|excess| panic!("a built-in loss is too large: {excess}"))
    }

    /// Reads a typed loss.
    ///
    /// # Errors
    ///
    /// Returns the first mistake and its place, or the resource of which the loss or its derivatives need too much.
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
    /// Returns the limit that the loss or its derivatives exceed.
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

    /// Returns the parameters that a text declares; none for a built-in loss, whose table is elsewhere.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the text of a typed loss.
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
            coefficients: Arc::new(Coefficients {
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
struct Coefficients {
    loss: Box<[f64]>,
    gradient: Box<[f64]>,
    hessian: Box<[f64]>,
}

/// A loss with values of its parameters and a rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundLoss {
    program: Program,
    inputs: [f32; wgsl::UNIFORMS],
    coefficients: Arc<Coefficients>,
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
        let is_number = loss.equals(loss);
        (loss, [is_number.choose(by_x, loss), is_number.choose(by_y, loss)])
    }

    /// Computes (∂²L/∂x², ∂²L/∂y²) at (x, y).
    #[inline(always)]
    pub fn hessian_diagonal<V: Real>(&self, at: [V; 2]) -> [V; 2] {
        self.program.0.hessian_code.run(&self.coefficients.hessian, &at)
    }

    /// Returns the numbers that the loss's [`wgsl`](LossProgram::wgsl) reads.
    pub fn wgsl_uniforms(&self) -> [f32; wgsl::UNIFORMS] {
        self.inputs
    }
}

#[cfg(test)]
mod tests;
