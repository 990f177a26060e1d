//! A program as instructions, with slots in memory for its numbers.
//!
//! Numbers that depend on hyperparameters and t alone are computed once a step in double precision, the others by
//! instructions over registers, with a product and the sum that it belongs to in one. `exp`, `ln`, `tanh` and powers
//! go through double precision one by one: slow, and the same bits everywhere.

use crate::language::{
    CodeGenerator, Dependence, Excess, Input, Instruction, Limits, Node, NodeId, Parsed, Slot, UniformNumber, fused,
    uses,
};

/// Numbers of an element that are kept at the same time.
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
    /// States before the step that are other states after it, and the registers that keep them meanwhile.
    pub kept: Vec<(u8, u8)>,
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
        let (mut slots, mut kept) = (Vec::with_capacity(new_states.len()), Vec::new());
        for (index, id) in new_states.iter().enumerate() {
            slots.push(new_state(&mut generator, &mut kept, index, *id)?);
        }
        let CodeGenerator { numbers, coefficients, instructions, .. } = generator;
        Ok(Code {
            changes: Changes::new(&numbers, &coefficients),
            numbers,
            coefficients,
            instructions,
            kept,
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

/// The names of nodes.
struct Names<'a>(&'a [(NodeId, String)]);

impl<'a> Names<'a> {
    fn new(parsed: &'a Parsed) -> Names<'a> {
        Names(&parsed.named)
    }

    fn of(&self, id: NodeId) -> Option<u8> {
        self.0.iter().position(|(node, _)| *node == id).map(|index| index as u8)
    }
}

/// Returns the slot of a state's new value. The old value of another state is kept in a register, as that state
/// may change first.
fn new_state(
    generator: &mut CodeGenerator,
    kept: &mut Vec<(u8, u8)>,
    index: usize,
    id: NodeId,
) -> Result<Slot, Excess> {
    match generator.slot(id)? {
        Slot::Given(given) if Slot::Given(given) != Slot::of_input(Input::State(index)) => {
            let register = generator.register()?;
            kept.push((given, register));
            Ok(Slot::Register(register))
        }
        slot => Ok(slot),
    }
}
