//! The execution of a program.

use super::Program;
use super::code::{COEFFICIENTS, Code, Instruction, Place, REGISTERS, STEP_NUMBERS, StepNumber};
use super::graph::Input;
use crate::optimizer::{Algebra, MOST_HYPERPARAMETERS, MOST_STATES, Moved, Rates, Scalar, StepArrow, StepPart};

/// The numbers of a step that are the same for all elements, and its instructions.
#[derive(Clone, Copy, Debug)]
pub struct ProgramCoefficients<A> {
    code: &'static Code,
    /// The names of numbers, for whoever records the step.
    parts: &'static [StepPart],
    values: [A; COEFFICIENTS],
}

impl Program {
    /// Computes the numbers of the step t from the hyperparameters and their products over the steps.
    #[inline(always)]
    pub fn coefficients<N: Scalar, A: Algebra>(
        &'static self,
        parts: &'static [StepPart],
        parameters: &[N; MOST_HYPERPARAMETERS],
        powers: &[N; MOST_HYPERPARAMETERS],
        t: N,
        of: impl Fn(N) -> A,
    ) -> ProgramCoefficients<A> {
        let code = &self.code;
        let mut numbers = [N::splat(0.0); STEP_NUMBERS];
        for (index, number) in code.numbers.iter().enumerate() {
            numbers[index % STEP_NUMBERS] = match *number {
                StepNumber::Constant(value) => N::splat(value),
                StepNumber::Input(Input::Parameter(of)) => parameters[of],
                StepNumber::Input(Input::Power(of)) => powers[of],
                StepNumber::Input(Input::Step) => t,
                StepNumber::Input(_) => unreachable!("the other inputs are of the element"),
                StepNumber::Of { operation, operands, name } => {
                    let [a, b, c] = operands.map(|of| &numbers[usize::from(of) % STEP_NUMBERS]);
                    named(operation.result(a, b, c), parts, name)
                }
            };
        }
        let mut values = [A::splat(0.0); COEFFICIENTS];
        for (index, number) in code.coefficients.iter().enumerate() {
            values[index % COEFFICIENTS] = of(numbers[usize::from(*number) % STEP_NUMBERS]);
        }
        ProgramCoefficients { code, parts, values }
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

impl<A: Algebra> ProgramCoefficients<A> {
    /// Takes a step from θ, its gradient and the states, of which there are as many as the program has and zeros.
    #[inline(always)]
    pub fn step(
        &self,
        rates: Rates<A>,
        theta: A,
        gradient: A,
        states: [A; MOST_STATES],
    ) -> ([A; MOST_STATES], Moved<A>) {
        let mut registers = [A::splat(0.0); REGISTERS];
        for &(input, to) in &self.code.inputs {
            registers[usize::from(to) % REGISTERS] = match input {
                Input::Theta => theta,
                Input::Gradient => gradient,
                Input::LearningRate => rates.learning_rate,
                Input::WeightDecay => rates.weight_decay,
                Input::State(index) => states[index % MOST_STATES],
                Input::Parameter(_) | Input::Power(_) | Input::Step => unreachable!("they are numbers of the step"),
            };
        }
        for instruction in &self.code.instructions {
            let Instruction { operation, operands: [a, b, c], to, name } = *instruction;
            // References, so that only what an operation needs is loaded.
            let [a, b, c] = [self.at(a, &registers), self.at(b, &registers), self.at(c, &registers)];
            let value = operation.result(a, b, c);
            registers[usize::from(to) % REGISTERS] = named(value, self.parts, name);
        }
        let mut after = states;
        for (index, place) in self.code.new_states.iter().enumerate() {
            after[index % MOST_STATES] = *self.at(*place, &registers);
        }
        if let Some(momentum) = self.code.momentum {
            A::draw(&StepArrow::MOMENTUM, || after[momentum % MOST_STATES]);
        }
        let theta = *self.at(self.code.theta, &registers);
        (after, Moved { theta, direction: *self.at(self.code.direction, &registers) })
    }

    #[inline(always)]
    fn at<'a>(&'a self, place: Place, registers: &'a [A; REGISTERS]) -> &'a A {
        match place {
            Place::Register(index) => &registers[usize::from(index) % REGISTERS],
            Place::Coefficient(index) => &self.values[usize::from(index) % COEFFICIENTS],
        }
    }
}
