//! Instructions for a loss or its derivatives, and their execution.

use super::expressions::Expressions;
use crate::lanes::{Real, array};
use crate::language::{
    Calculation, Coder, Excess, Input, Instruction, Memory, NodeId, Places, Slot, UniformNumber, fused, uses,
};

/// Numbers of a point that are kept at the same time.
pub(super) const REGISTERS: usize = 64;

pub(super) const PLACES: Places = Places { registers: REGISTERS, coefficients: 256, uniform_numbers: 1024 };

/// The instructions for some results.
#[derive(Clone, Debug)]
pub(super) struct LossCode<const RESULTS: usize> {
    /// The numbers that are the same at all points, in the order in which they are computed.
    numbers: Vec<UniformNumber>,
    /// The indices of the numbers that the instructions use.
    coefficients: Vec<u16>,
    instructions: Vec<Instruction>,
    results: [Slot; RESULTS],
}

/// The inputs of the numbers that are the same at all points.
#[derive(Clone, Copy, Debug)]
pub(super) struct UniformInputs<'a> {
    pub parameters: &'a [f64],
    /// φ, in radians.
    pub angle: f64,
    pub cos: f64,
    pub sin: f64,
}

impl<const RESULTS: usize> LossCode<RESULTS> {
    pub(super) fn new(expressions: &Expressions, results: [NodeId; RESULTS]) -> Result<LossCode<RESULTS>, Excess> {
        let nodes = fused(expressions.graph(), &results, |_| false);
        let uses = uses(&nodes, &results);
        let mut coder = Coder::new(&nodes, &results, PLACES);
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| uses[*index] > 0) {
            let id = NodeId(index);
            if expressions.is_uniform(id) {
                coder.number(id, *node, None)?;
            } else {
                coder.element(id, *node, None)?;
            }
        }
        let mut places = [Slot::Given(0); RESULTS];
        for (place, id) in places.iter_mut().zip(results) {
            *place = coder.place(id)?;
        }
        let Coder { numbers, coefficients, instructions, .. } = coder;
        Ok(LossCode { numbers, coefficients, instructions, results: places })
    }

    /// Computes the coefficients of the instructions.
    pub(super) fn coefficients(&self, inputs: UniformInputs<'_>) -> Box<[f64]> {
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

    /// Computes the results at a point (x, y).
    #[inline(always)]
    pub(super) fn run<V: Real>(&self, coefficients: &[f64], at: &[V; 2]) -> [V; RESULTS] {
        let mut registers = Memory::<V, REGISTERS>::new();
        for instruction in &self.instructions {
            let Instruction { operation, operands: [a, b, c], to, .. } = *instruction;
            let value = match (operation, b) {
                (Calculation::Power((), ()), Slot::Coefficient(exponent)) => {
                    let mut uniform = [V::splat(0.0); 1];
                    let base = operand(a, &registers, coefficients, at, &mut uniform[0]);
                    power(*base, coefficients[usize::from(exponent)])
                }
                _ => {
                    // References, so that only what an operation needs is loaded.
                    let mut uniform = array::<V, 3>(|_| at[0]);
                    let [for_a, for_b, for_c] = &mut uniform;
                    let a = operand(a, &registers, coefficients, at, for_a);
                    let b = operand(b, &registers, coefficients, at, for_b);
                    let c = operand(c, &registers, coefficients, at, for_c);
                    operation.result(a, b, c)
                }
            };
            registers.write(to, value);
        }
        let mut uniform = at[0];
        array(|index| *operand(self.results[index], &registers, coefficients, at, &mut uniform))
    }
}

/// The number at a place; one that is the same for all points is written to `uniform` first.
#[inline(always)]
fn operand<'a, V: Real>(
    place: Slot,
    registers: &'a Memory<V, REGISTERS>,
    coefficients: &[f64],
    at: &'a [V; 2],
    uniform: &'a mut V,
) -> &'a V {
    match place {
        Slot::Register(index) => registers.at(index),
        Slot::Coefficient(index) => {
            *uniform = V::splat(coefficients[usize::from(index)]);
            uniform
        }
        Slot::Given(index) => &at[usize::from(index) % 2],
    }
}

/// Computes a power with an exponent that is the same for all points: a whole one by multiplication.
#[inline(always)]
fn power<V: Real>(base: V, exponent: f64) -> V {
    if exponent.fract() != 0.0 || exponent.abs() > 64.0 {
        return base.of_each_pair(V::splat(exponent), crate::elementary::power_of_any);
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
