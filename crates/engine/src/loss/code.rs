//! This module compiles a loss and its derivatives to instructions over registers, and runs these.

use std::mem::MaybeUninit;

use super::expressions::{Expressions, LARGEST_EXPONENT};
use crate::lanes::{Real, array};
use crate::language::{
    CodeGenerator, Excess, Input, Instruction, Limits, Memory, Node, NodeId, Op, Slot, UniformNumber, fused, uses,
};

/// The largest number of values of a point that are kept at the same time.
pub(super) const REGISTERS: usize = 64;

pub(super) const LIMITS: Limits = Limits { registers: REGISTERS, coefficients: 256, uniform_numbers: 1024 };

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

/// Returns the nodes, in which a product that only one sum uses is fused with that sum. `results` are those of all codes,
/// so that a number has the same bits in each.
pub(super) fn fused_nodes(expressions: &Expressions, results: &[NodeId]) -> Vec<Node> {
    fused(expressions.graph(), results, |_| false)
}

impl<const RESULTS: usize> LossCode<RESULTS> {
    /// Compiles the results of a graph whose nodes were [fused](fused_nodes).
    ///
    /// # Errors
    ///
    /// Returns the resource of which the results need too much.
    pub(super) fn new(
        expressions: &Expressions,
        nodes: &[Node],
        results: [NodeId; RESULTS],
    ) -> Result<LossCode<RESULTS>, Excess> {
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

/// Returns the number at a slot; one that is the same for all points is written to `uniform` first.
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
