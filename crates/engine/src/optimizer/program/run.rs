//! The execution of a program.

use super::Program;
use super::code::{COEFFICIENTS, Code, REGISTERS, STEP_NUMBERS};
use crate::language::{FIRST_STATE, Input, Instruction, Memory, Slot, UniformNumber};
use crate::optimizer::{Algebra, MOST_HYPERPARAMETERS, MOST_STATES, Moved, Rates, Scalar, StepArrow, StepPart};

/// The numbers of a step that are the same for all elements, and its instructions.
#[derive(Clone, Copy)]
pub struct ProgramCoefficients<A: Copy> {
    pub(super) code: &'static Code,
    /// The names of numbers, for whoever records the step.
    parts: &'static [StepPart],
    pub(super) values: Memory<A, COEFFICIENTS>,
}

/// The inputs of the numbers of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenOfStep<'a, N> {
    pub parameters: &'a [N; MOST_HYPERPARAMETERS],
    /// The products of decay rates over the steps.
    pub powers: &'a [N; MOST_HYPERPARAMETERS],
    pub t: N,
}

impl<A: Algebra> ProgramCoefficients<A> {
    /// Creates the coefficients of a program, before they are set.
    #[inline(always)]
    pub(crate) fn new(program: &'static Program, parts: &'static [StepPart]) -> ProgramCoefficients<A> {
        ProgramCoefficients { code: &program.code, parts, values: Memory::new() }
    }

    /// Computes those of a step.
    #[inline(always)]
    pub(crate) fn set<N: Scalar>(&mut self, given: GivenOfStep<'_, N>, of: impl Fn(N) -> A) {
        let code = self.code;
        self.compute(0..code.numbers.len() as u16, 0..code.coefficients.len() as u8, given, of);
    }

    /// Updates the coefficients of another step with the same hyperparameters.
    #[inline(always)]
    pub(crate) fn set_changed<N: Scalar>(&mut self, given: GivenOfStep<'_, N>, of: impl Fn(N) -> A) {
        let changes = &self.code.changes;
        self.compute(changes.numbers.iter().copied(), changes.coefficients.iter().copied(), given, of);
    }

    #[inline(always)]
    fn compute<N: Scalar>(
        &mut self,
        numbers: impl Iterator<Item = u16>,
        coefficients: impl Iterator<Item = u8>,
        given: GivenOfStep<'_, N>,
        of: impl Fn(N) -> A,
    ) {
        let mut computed = [N::splat(0.0); STEP_NUMBERS];
        for index in numbers {
            let at = |index: u16| &computed[usize::from(index) % STEP_NUMBERS];
            let number = match self.code.numbers[usize::from(index)] {
                UniformNumber::Constant(value) => N::splat(value),
                UniformNumber::Input(Input::Parameter(of)) => given.parameters[of],
                UniformNumber::Input(Input::Power(of)) => given.powers[of],
                UniformNumber::Input(Input::Step) => given.t,
                UniformNumber::Input(_) => unreachable!("the other inputs are of the element"),
                UniformNumber::Of { operation, operands: [a, b, c], name } => {
                    named(operation.result(at(a), at(b), at(c)), self.parts, name)
                }
            };
            computed[usize::from(index) % STEP_NUMBERS] = number;
        }
        for index in coefficients {
            let number = self.code.coefficients[usize::from(index)];
            self.values.write(index, of(computed[usize::from(number) % STEP_NUMBERS]));
        }
    }

    /// Takes a step from θ, its gradient and the states, of which the program has the first ones and changes these.
    #[inline(always)]
    pub(crate) fn step(&self, rates: Rates<A>, theta: A, gradient: A, states: &mut [A; MOST_STATES]) -> Moved<A> {
        let code = self.code;
        let mut registers = Memory::<A, REGISTERS>::new();
        let rates = [&rates.learning_rate, &rates.weight_decay];
        let given = given([&theta, &gradient], rates, states);
        for instruction in &code.instructions {
            let Instruction { operation, operands: [a, b, c], to, name } = *instruction;
            // References, so that only what an operation needs is loaded.
            let [a, b, c] =
                [self.at(a, given, &registers), self.at(b, given, &registers), self.at(c, given, &registers)];
            let value = named(operation.result(a, b, c), self.parts, name);
            registers.write(to, value);
        }
        for &(state, register) in &code.kept {
            registers.write(register, *self.at(Slot::Given(state), given, &registers));
        }
        let moved = Moved {
            theta: *self.at(code.theta, given, &registers),
            direction: *self.at(code.direction, given, &registers),
        };
        for (index, slot) in code.new_states.iter().enumerate() {
            states[index % MOST_STATES] = match *slot {
                Slot::Register(register) => *registers.at(register),
                Slot::Coefficient(coefficient) => *self.values.at(coefficient),
                // The state stays as it is.
                Slot::Given(_) => continue,
            };
        }
        if let Some(momentum) = code.momentum {
            A::draw(&StepArrow::MOMENTUM, || states[momentum % MOST_STATES]);
        }
        moved
    }

    #[inline(always)]
    fn at<'a>(&'a self, slot: Slot, given: Given<'a, A>, registers: &'a Memory<A, REGISTERS>) -> &'a A {
        match slot {
            Slot::Register(index) => registers.at(index),
            Slot::Coefficient(index) => self.values.at(index),
            Slot::Given(index) => given[usize::from(index) % GIVEN],
        }
    }
}

/// The number, known by its name for whoever records the step.
#[inline(always)]
fn named<A: Algebra>(value: A, parts: &'static [StepPart], name: Option<u8>) -> A {
    match name.and_then(|name| parts.get(usize::from(name))) {
        Some(part) => value.named(part),
        None => value,
    }
}

const GIVEN: usize = FIRST_STATE + MOST_STATES;
/// The inputs of an element, in the order of [`Slot::Given`].
type Given<'a, A> = [&'a A; GIVEN];

#[inline(always)]
fn given<'a, A>(
    [theta, gradient]: [&'a A; 2],
    [learning_rate, weight_decay]: [&'a A; 2],
    states: &'a [A; MOST_STATES],
) -> Given<'a, A> {
    let [a, b, c, d, e, f] = states;
    [theta, gradient, learning_rate, weight_decay, a, b, c, d, e, f]
}
