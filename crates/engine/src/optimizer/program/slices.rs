//! The execution of a program for many parameters: each operation for a block of them, then the next.

use std::mem::swap;

use super::code::Code;
use super::run::ProgramCoefficients;
use crate::instructions::vectorized;
use crate::lanes::{Real, each};
use crate::language::{FIRST_STATE, Input, Instruction, Op, Opcode, Slot};
use crate::optimizer::{MOST_STATES, Rates};

/// Parameters in a block: so many that finding an operation takes little time beside the operation, and so few that all
/// their numbers stay in the cache.
const LENGTH: usize = 256;
type Block<T> = [T; LENGTH];

vectorized! {
    /// A step for each parameter of some slices of equal length, of a program that does not need them as a whole.
    pub fn step_slices<T: Real>(
        coefficients: &ProgramCoefficients<T>, rates: Rates<f64>, theta: &mut [T], gradients: &[T],
        states: &mut [&mut [T]],
    ) {
        let mut memory = Blocks::new(coefficients, rates);
        let (whole, rest) = (theta.len() - theta.len() % LENGTH, theta.len() % LENGTH);
        for start in (0..whole).step_by(LENGTH) {
            memory.step(theta, gradients, states, start);
        }
        if rest == 0 {
            return;
        }
        // The rest stands at the beginning of a block of its own.
        let padded = |from: &[T]| {
            let mut block = [T::splat(0.0); LENGTH];
            block[..rest].copy_from_slice(&from[whole..]);
            block
        };
        let (mut last_theta, last_gradients) = (padded(theta), padded(gradients));
        let mut last_states: Vec<Block<T>> = states.iter().map(|state| padded(state)).collect();
        let mut last: Vec<&mut [T]> = last_states.iter_mut().map(|state| &mut state[..]).collect();
        memory.step(&mut last_theta, &last_gradients, &mut last, 0);
        theta[whole..].copy_from_slice(&last_theta[..rest]);
        for (state, last) in states.iter_mut().zip(&last_states) {
            state[whole..].copy_from_slice(&last[..rest]);
        }
    }
}

/// The numbers of a block.
struct Blocks<T> {
    code: &'static Code,
    instructions: Vec<Instruction>,
    /// η and ω
    rates: [Block<T>; 2],
    coefficients: Vec<Block<T>>,
    registers: Vec<Box<Block<T>>>,
    /// The result of an operation before it takes the place of what is in a register; at the end, θ if it is none of
    /// them.
    result: Box<Block<T>>,
}

impl<T: Real> Blocks<T> {
    #[inline(always)]
    fn new(coefficients: &ProgramCoefficients<T>, rates: Rates<f64>) -> Blocks<T> {
        let code = coefficients.code;
        let of_each = |value: T| [value; LENGTH];
        let written = code.instructions.iter().map(|instruction| instruction.to);
        let registers =
            written.chain(code.kept.iter().map(|(_, register)| *register)).map(|last| usize::from(last) + 1);
        Blocks {
            code,
            instructions: code.instructions.iter().map(|instruction| same_first(*instruction)).collect(),
            rates: [of_each(T::splat(rates.learning_rate)), of_each(T::splat(rates.weight_decay))],
            coefficients: (0..code.coefficients.len())
                .map(|index| of_each(*coefficients.values.at(index as u8)))
                .collect(),
            registers: vec![Box::new(of_each(T::splat(0.0))); registers.max().unwrap_or(0)],
            result: Box::new(of_each(T::splat(0.0))),
        }
    }

    /// The step of the block that begins at `start`.
    #[inline(always)]
    fn step(&mut self, theta: &mut [T], gradients: &[T], states: &mut [&mut [T]], start: usize) {
        let code = self.code;
        let range = start..start + LENGTH;
        let mut given = [&self.rates[0]; FIRST_STATE + MOST_STATES];
        given[0] = block(&theta[range.clone()]);
        given[1] = block(&gradients[range.clone()]);
        given[3] = &self.rates[1];
        for (place, state) in given[FIRST_STATE..].iter_mut().zip(&*states) {
            *place = block(&state[range.clone()]);
        }
        for instruction in &self.instructions {
            let [a, b, c] = each(instruction.operands, |place| match place {
                Slot::Register(index) => &*self.registers[usize::from(index)],
                Slot::Coefficient(index) => &self.coefficients[usize::from(index)],
                Slot::Given(index) => given[usize::from(index)],
            });
            if is_same_for_all(instruction.operands[0]) {
                results_with_same(instruction.operation, a[0], [b, c], &mut self.result);
            } else {
                results(instruction.operation, [a, b, c], &mut self.result);
            }
            swap(&mut self.registers[usize::from(instruction.to)], &mut self.result);
        }
        for &(state, register) in &code.kept {
            *self.registers[usize::from(register)] = *given[usize::from(state)];
        }
        if let Slot::Given(index) = code.theta {
            *self.result = *given[usize::from(index)];
        }
        theta[range.clone()].copy_from_slice(self.after(code.theta));
        for (place, state) in code.new_states.iter().zip(states) {
            // A state that is given is the same as before.
            if !matches!(place, Slot::Given(_)) {
                state[range.clone()].copy_from_slice(self.after(*place));
            }
        }
    }

    /// A number at the end of a step.
    #[inline(always)]
    fn after(&self, place: Slot) -> &Block<T> {
        match place {
            Slot::Register(index) => &self.registers[usize::from(index)],
            Slot::Coefficient(index) => &self.coefficients[usize::from(index)],
            Slot::Given(_) => &self.result,
        }
    }
}

#[inline(always)]
fn block<T>(slice: &[T]) -> &Block<T> {
    slice.try_into().expect("a slice of a block's length")
}

/// Whether a number is the same for all parameters of a block: a coefficient, η or ω.
fn is_same_for_all(place: Slot) -> bool {
    matches!(place, Slot::Coefficient(_))
        || [Input::LearningRate, Input::WeightDecay].map(Slot::of_input).contains(&place)
}

/// Swaps factors or summands so that a number that is the same for all elements is first: it is read once for a block.
fn same_first(mut instruction: Instruction) -> Instruction {
    let [a, b, _] = instruction.operands;
    let may_change_places =
        matches!(instruction.operation, Op::Add(..) | Op::Mul(..) | Op::MulAdd(..) | Op::NegMulAdd(..));
    if may_change_places && is_same_for_all(b) && !is_same_for_all(a) {
        instruction.operands.swap(0, 1);
    }
    instruction
}

macro_rules! for_each_operation {
    ($operation:ident, $results_of:ident) => {
        match $operation {
            Op::Neg(()) => $results_of!(Op::Neg(())),
            Op::Sqrt(()) => $results_of!(Op::Sqrt(())),
            Op::Abs(()) => $results_of!(Op::Abs(())),
            Op::Sign(()) => $results_of!(Op::Sign(())),
            Op::Add((), ()) => $results_of!(Op::Add((), ())),
            Op::Sub((), ()) => $results_of!(Op::Sub((), ())),
            Op::Mul((), ()) => $results_of!(Op::Mul((), ())),
            Op::Div((), ()) => $results_of!(Op::Div((), ())),
            Op::Max((), ()) => $results_of!(Op::Max((), ())),
            Op::Min((), ()) => $results_of!(Op::Min((), ())),
            Op::Select((), (), ()) => $results_of!(Op::Select((), (), ())),
            Op::MulAdd((), (), ()) => $results_of!(Op::MulAdd((), (), ())),
            Op::NegMulAdd((), (), ()) => $results_of!(Op::NegMulAdd((), (), ())),
            // Their functions take longer than finding them.
            Op::Function(..) | Op::Pow(..) | Op::Compare(..) => $results_of!($operation),
            Op::Norm(()) | Op::Mean(()) | Op::Sum(()) => {
                unreachable!("a block is no whole parameter")
            }
        }
    };
}

/// An operation on each number of a block. There is a loop for each operation, so that it is vectorised.
#[inline(always)]
fn results<T: Real>(operation: Opcode, [a, b, c]: [&Block<T>; 3], to: &mut Block<T>) {
    macro_rules! results_of {
        ($operation:expr) => {
            for index in 0..LENGTH {
                to[index] = Opcode::result($operation, &a[index], &b[index], &c[index]);
            }
        };
    }
    for_each_operation!(operation, results_of);
}

/// Computes an operation whose first operand is the same for all elements.
#[inline(always)]
fn results_with_same<T: Real>(operation: Opcode, a: T, [b, c]: [&Block<T>; 2], to: &mut Block<T>) {
    macro_rules! results_of {
        ($operation:expr) => {
            for index in 0..LENGTH {
                to[index] = Opcode::result($operation, &a, &b[index], &c[index]);
            }
        };
    }
    for_each_operation!(operation, results_of);
}
