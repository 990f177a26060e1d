//! A program as instructions, with slots in memory for its numbers.
//!
//! Numbers that depend on hyperparameters and t alone are computed once a step in double precision, the others by
//! instructions over registers, with a product and the sum that it belongs to in one. `exp`, `ln`, `tanh` and powers
//! go through double precision one by one: slow, and the same bits everywhere.

use std::mem::swap;

use super::Program;
use crate::expression::compile::{
    CodeGenerator, Excess, FIRST_STATE, Instruction, Limits, Memory, Slot, UniformNumber, fused, uses,
};
use crate::expression::{Dependence, Input, Node, NodeId, Op, Opcode};
use crate::instructions::vectorized;
use crate::lanes::{Real, each};
use crate::language::Parsed;
use crate::optimizer::{Algebra, MOST_HYPERPARAMETERS, MOST_STATES, Moved, Rates, Scalar, StepArrow, StepPart};

/// The largest number of values of an element that are live at the same time.
pub(super) const REGISTERS: usize = 32;
/// Numbers of a step that the instructions for elements use.
pub(super) const COEFFICIENTS: usize = 32;
/// Numbers that are computed once a step.
pub(super) const STEP_NUMBERS: usize = 128;

const LIMITS: Limits = Limits { registers: REGISTERS, coefficients: COEFFICIENTS, uniform_numbers: STEP_NUMBERS };

/// The instructions of a step.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// The numbers that are computed once a step, in their order.
    pub numbers: Vec<UniformNumber>,
    /// The indices of the numbers that the instructions use.
    pub coefficients: Vec<u16>,
    pub changes: Changes,
    pub instructions: Vec<Instruction>,
    /// States before the step that become other states, and the registers that hold them meanwhile.
    pub saved_states: Vec<(u8, u8)>,
    pub new_states: Vec<Slot>,
    pub theta: Slot,
    pub direction: Slot,
    /// The state that is called `m`, as momenta are.
    pub momentum: Option<usize>,
    /// Whether the step depends on ω.
    pub has_weight_decay: bool,
}

impl Code {
    /// The instructions of a parsed program whose direction is `direction`.
    pub(super) fn new(parsed: &Parsed, direction: NodeId) -> Result<Code, Excess> {
        let results: Vec<NodeId> = parsed.new_states.iter().copied().chain([parsed.target, direction]).collect();
        let graph = &parsed.graph;
        let names = Names::new(parsed);
        let nodes = fused(graph, &results, |id| names.of(id).is_some());
        let is_used = uses(&nodes, &results).into_iter().map(|uses| uses > 0).collect::<Vec<_>>();
        let mut generator = CodeGenerator::new(&nodes, &results, LIMITS);
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| is_used[*index]) {
            let id = NodeId(index);
            if graph.dependence(id) == Dependence::Uniform {
                generator.number(id, *node, names.of(id))?;
            } else {
                generator.element(id, *node, names.of(id))?;
            }
        }
        let [new_states @ .., theta, direction] = &results[..] else { unreachable!("two results are always there") };
        let (theta, direction) = (generator.slot(*theta)?, generator.slot(*direction)?);
        let (mut slots, mut saved_states) = (Vec::with_capacity(new_states.len()), Vec::new());
        for (index, id) in new_states.iter().enumerate() {
            slots.push(new_state(&mut generator, &mut saved_states, index, *id)?);
        }
        let CodeGenerator { numbers, coefficients, instructions, .. } = generator;
        Ok(Code {
            changes: Changes::new(&numbers, &coefficients),
            numbers,
            coefficients,
            instructions,
            saved_states,
            new_states: slots,
            theta,
            direction,
            momentum: parsed.states.iter().position(|name| name == "m"),
            has_weight_decay: nodes
                .iter()
                .zip(&is_used)
                .any(|(node, is_used)| *is_used && *node == Node::Input(Input::WeightDecay)),
        })
    }
}

/// The coefficients that change from step to step, and the numbers from which these are computed.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    pub numbers: Vec<u16>,
    pub coefficients: Vec<u8>,
}

impl Changes {
    fn new(numbers: &[UniformNumber], coefficients: &[u16]) -> Changes {
        let mut changes: Vec<bool> = Vec::with_capacity(numbers.len());
        for number in numbers {
            changes.push(match number {
                UniformNumber::Constant(_) => false,
                UniformNumber::Input(input) => matches!(input, Input::Power(_) | Input::Step),
                UniformNumber::Of { operands, .. } => operands.iter().any(|operand| changes[usize::from(*operand)]),
            });
        }
        let mut is_needed = vec![false; numbers.len()];
        let mut changed = Vec::new();
        for (index, number) in coefficients.iter().enumerate() {
            if changes[usize::from(*number)] {
                is_needed[usize::from(*number)] = true;
                changed.push(index as u8);
            }
        }
        for index in (0..numbers.len()).rev() {
            if let (UniformNumber::Of { operands, .. }, true) = (numbers[index], is_needed[index]) {
                operands.into_iter().for_each(|operand| is_needed[usize::from(operand)] = true);
            }
        }
        let needed = (0..numbers.len()).filter(|index| is_needed[*index]).map(|index| index as u16);
        Changes { numbers: needed.collect(), coefficients: changed }
    }
}

struct Names<'a>(&'a [(NodeId, String)]);

impl<'a> Names<'a> {
    fn new(parsed: &'a Parsed) -> Names<'a> {
        Names(&parsed.named)
    }

    fn of(&self, id: NodeId) -> Option<u8> {
        self.0.iter().position(|(node, _)| *node == id).map(|index| index as u8)
    }
}

/// Returns the slot of a state's new value. The old value of another state is saved in a register, as that state
/// may change first.
fn new_state(
    generator: &mut CodeGenerator,
    saved_states: &mut Vec<(u8, u8)>,
    index: usize,
    id: NodeId,
) -> Result<Slot, Excess> {
    match generator.slot(id)? {
        Slot::Given(given) if Slot::Given(given) != Slot::of_input(Input::State(index)) => {
            let register = generator.register()?;
            saved_states.push((given, register));
            Ok(Slot::Register(register))
        }
        slot => Ok(slot),
    }
}

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
    #[inline(always)]
    pub(crate) fn new(program: &'static Program, parts: &'static [StepPart]) -> ProgramCoefficients<A> {
        ProgramCoefficients { code: &program.code, parts, values: Memory::new() }
    }

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
        for &(state, register) in &code.saved_states {
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

/// The number of parameters in a block: so many that dispatching an operation takes little time compared with it, and
/// so few that all their numbers stay in the cache.
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
    /// The result of an operation before it is swapped into a register; at the end, θ if it is in no register.
    result: Box<Block<T>>,
}

impl<T: Real> Blocks<T> {
    #[inline(always)]
    fn new(coefficients: &ProgramCoefficients<T>, rates: Rates<f64>) -> Blocks<T> {
        let code = coefficients.code;
        let of_each = |value: T| [value; LENGTH];
        let written = code.instructions.iter().map(|instruction| instruction.to);
        let registers =
            written.chain(code.saved_states.iter().map(|(_, register)| *register)).map(|last| usize::from(last) + 1);
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
        for (input, state) in given[FIRST_STATE..].iter_mut().zip(&*states) {
            *input = block(&state[range.clone()]);
        }
        for instruction in &self.instructions {
            let [a, b, c] = each(instruction.operands, |slot| match slot {
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
        for &(state, register) in &code.saved_states {
            *self.registers[usize::from(register)] = *given[usize::from(state)];
        }
        if let Slot::Given(index) = code.theta {
            *self.result = *given[usize::from(index)];
        }
        theta[range.clone()].copy_from_slice(self.after(code.theta));
        for (slot, state) in code.new_states.iter().zip(states) {
            // A state that is given is the same as before.
            if !matches!(slot, Slot::Given(_)) {
                state[range.clone()].copy_from_slice(self.after(*slot));
            }
        }
    }

    /// A number at the end of a step.
    #[inline(always)]
    fn after(&self, slot: Slot) -> &Block<T> {
        match slot {
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
fn is_same_for_all(slot: Slot) -> bool {
    matches!(slot, Slot::Coefficient(_))
        || [Input::LearningRate, Input::WeightDecay].map(Slot::of_input).contains(&slot)
}

/// Swaps factors or summands so that a number that is the same for all elements is first: it is read once for a block.
fn same_first(mut instruction: Instruction) -> Instruction {
    let [a, b, _] = instruction.operands;
    let is_commutative =
        matches!(instruction.operation, Op::Add(..) | Op::Mul(..) | Op::MulAdd(..) | Op::NegMulAdd(..));
    if is_commutative && is_same_for_all(b) && !is_same_for_all(a) {
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
            _ => unreachable!("a block is no whole parameter, and programs have no other operations"),
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
