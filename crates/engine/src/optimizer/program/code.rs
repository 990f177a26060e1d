//! A program as instructions, with places in memory for its numbers.
//!
//! Numbers that depend on hyperparameters and t alone are computed once a step in double precision, the others by
//! instructions over registers, with a product and the sum that it belongs to in one. `exp`, `ln`, `tanh` and powers
//! go through double precision one by one: slow, and the same bits everywhere.

use super::calculation::{Calculation, Operation};
use super::graph::{Dependence, Graph, Input, Node, NodeId};
use super::parser::Parsed;

/// Numbers of an element that are kept at the same time.
pub(super) const REGISTERS: usize = 32;
/// Numbers of a step that the instructions for elements use.
pub(super) const COEFFICIENTS: usize = 32;
/// Numbers that are computed once a step.
pub(super) const STEP_NUMBERS: usize = 128;

/// The place of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slot {
    /// The register of one of an element's numbers.
    Register(u8),
    /// The index of a number of the step.
    Coefficient(u8),
    /// The index of an input: θ, the gradient, η, ω and the states before the step.
    Given(u8),
}

/// The index of the first state among the inputs.
pub(super) const FIRST_STATE: usize = 4;

impl Slot {
    /// The place of an input of an element.
    pub(super) fn of_input(input: Input) -> Slot {
        match input {
            Input::Theta => Slot::Given(0),
            Input::Gradient => Slot::Given(1),
            Input::LearningRate => Slot::Given(2),
            Input::WeightDecay => Slot::Given(3),
            Input::State(index) => Slot::Given((FIRST_STATE + index) as u8),
            Input::Parameter(_) | Input::Power(_) | Input::Step => unreachable!("they are numbers of the step"),
        }
    }
}

/// An operation, where its operands are and its result goes; its name as an index of the program's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub operation: Operation,
    pub operands: [Slot; 3],
    pub to: u8,
    pub name: Option<u8>,
}

/// The origin of a number of a step: a constant, an input, or an operation on numbers before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepNumber {
    Constant(f64),
    Input(Input),
    Of { operation: Operation, operands: [u8; 3], name: Option<u8> },
}

/// The instructions of a step.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// The numbers that are computed once a step, in their order.
    pub numbers: Vec<StepNumber>,
    /// The indices of the numbers that the instructions use.
    pub coefficients: Vec<u8>,
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

/// The resource of which a program needs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Registers,
    Coefficients,
    StepNumbers,
}

impl Code {
    /// The instructions of a parsed program whose direction is `direction`.
    pub(super) fn new(parsed: &Parsed, direction: NodeId) -> Result<Code, Excess> {
        let results: Vec<NodeId> = parsed.new_states.iter().copied().chain([parsed.theta, direction]).collect();
        let graph = &parsed.graph;
        let names = Names::new(parsed);
        let nodes = fused(graph, &results, &names);
        let is_used = uses(&nodes, &results).into_iter().map(|uses| uses > 0).collect::<Vec<_>>();
        let mut coder = Coder::new(&nodes, &results);
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| is_used[*index]) {
            let id = NodeId(index);
            if graph.dependence(id) == Dependence::Step {
                coder.number(id, *node, names.of(id))?;
            } else {
                coder.element(id, *node, names.of(id))?;
            }
        }
        let [new_states @ .., theta, direction] = &results[..] else { unreachable!("two results are always there") };
        let (theta, direction) = (coder.place(*theta)?, coder.place(*direction)?);
        let mut places = Vec::with_capacity(new_states.len());
        for (index, id) in new_states.iter().enumerate() {
            places.push(coder.new_state(index, *id)?);
        }
        let Coder { numbers, coefficients, instructions, kept, .. } = coder;
        Ok(Code {
            changes: Changes::new(&numbers, &coefficients),
            numbers,
            coefficients,
            instructions,
            kept,
            new_states: places,
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
    pub numbers: Vec<u8>,
    pub coefficients: Vec<u8>,
}

impl Changes {
    fn new(numbers: &[StepNumber], coefficients: &[u8]) -> Changes {
        let mut changes: Vec<bool> = Vec::with_capacity(numbers.len());
        for number in numbers {
            changes.push(match number {
                StepNumber::Constant(_) => false,
                StepNumber::Input(input) => matches!(input, Input::Power(_) | Input::Step),
                StepNumber::Of { operands, .. } => operands.iter().any(|operand| changes[usize::from(*operand)]),
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
            if let (StepNumber::Of { operands, .. }, true) = (numbers[index], is_needed[index]) {
                operands.into_iter().for_each(|operand| is_needed[usize::from(operand)] = true);
            }
        }
        let needed = (0..numbers.len()).filter(|index| is_needed[*index]).map(|index| index as u8);
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

/// Counts the uses of each node in the results.
fn uses(nodes: &[Node], results: &[NodeId]) -> Vec<usize> {
    let mut uses = vec![0; nodes.len()];
    results.iter().for_each(|id| uses[id.0] += 1);
    for index in (0..nodes.len()).rev() {
        if let (Node::Of(calculation), true) = (nodes[index], uses[index] > 0) {
            calculation.operands().into_iter().for_each(|operand| uses[operand.0] += 1);
        }
    }
    uses
}

/// The nodes with products that are only used in one sum computed together with that.
fn fused(graph: &Graph, results: &[NodeId], names: &Names<'_>) -> Vec<Node> {
    let mut nodes: Vec<Node> = (0..graph.len()).map(|index| graph.node(NodeId(index))).collect();
    let uses = uses(&nodes, results);
    let product = |nodes: &[Node], id: NodeId| match nodes[id.0] {
        Node::Of(Calculation::Product(a, b))
            if uses[id.0] == 1 && names.of(id).is_none() && graph.dependence(id) > Dependence::Step =>
        {
            Some((a, b))
        }
        _ => None,
    };
    for index in 0..nodes.len() {
        let together = match nodes[index] {
            Node::Of(Calculation::Sum(a, b)) => match (product(&nodes, a), product(&nodes, b)) {
                (Some((x, y)), _) => Some(Calculation::ProductSum(x, y, b)),
                (None, Some((x, y))) => Some(Calculation::ProductSum(x, y, a)),
                (None, None) => None,
            },
            Node::Of(Calculation::Difference(a, b)) => {
                product(&nodes, b).map(|(x, y)| Calculation::MinusProduct(x, y, a))
            }
            _ => None,
        };
        if let Some(together) = together {
            nodes[index] = Node::Of(together);
        }
    }
    nodes
}

/// Gives the numbers their places.
struct Coder {
    /// The number of remaining uses of each node.
    uses: Vec<usize>,
    /// The place of each node that has one; of a number of the step, only once an element needs it.
    places: Vec<Option<Slot>>,
    /// The index of each node among the numbers of the step.
    of_step: Vec<Option<u8>>,
    is_free: [bool; REGISTERS],
    numbers: Vec<StepNumber>,
    coefficients: Vec<u8>,
    instructions: Vec<Instruction>,
    kept: Vec<(u8, u8)>,
}

impl Coder {
    fn new(nodes: &[Node], results: &[NodeId]) -> Coder {
        Coder {
            uses: uses(nodes, results),
            places: vec![None; nodes.len()],
            of_step: vec![None; nodes.len()],
            is_free: [true; REGISTERS],
            numbers: Vec::new(),
            coefficients: Vec::new(),
            instructions: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// A number that is computed once a step.
    fn number(&mut self, id: NodeId, node: Node, name: Option<u8>) -> Result<(), Excess> {
        if self.numbers.len() == STEP_NUMBERS {
            return Err(Excess::StepNumbers);
        }
        let number = match node {
            Node::Constant(value) => StepNumber::Constant(value),
            Node::Input(input) => StepNumber::Input(input),
            Node::Of(calculation) => {
                let of = |operand: NodeId| self.of_step[operand.0].expect("it is computed of numbers before it");
                let (operation, operands) = calculation.map(of).apart();
                StepNumber::Of { operation, operands, name }
            }
        };
        self.of_step[id.0] = Some(self.numbers.len() as u8);
        self.numbers.push(number);
        Ok(())
    }

    /// A number of an element.
    fn element(&mut self, id: NodeId, node: Node, name: Option<u8>) -> Result<(), Excess> {
        let place = match node {
            Node::Constant(_) => unreachable!("a constant is a number of the step"),
            Node::Input(input) => Slot::of_input(input),
            Node::Of(calculation) => {
                let operands = calculation.operands();
                for operand in &operands {
                    self.place(*operand)?;
                }
                let place = |operand: NodeId| self.places[operand.0].expect("it has its place");
                let (operation, places) = calculation.map(place).apart();
                operands.into_iter().for_each(|operand| self.release(operand));
                let to = self.register()?;
                self.instructions.push(Instruction { operation, operands: places, to, name });
                Slot::Register(to)
            }
        };
        self.places[id.0] = Some(place);
        Ok(())
    }

    /// Returns the place of a state's new value. The old value of another state is kept in a register, as that state
    /// may change first.
    fn new_state(&mut self, index: usize, id: NodeId) -> Result<Slot, Excess> {
        match self.place(id)? {
            Slot::Given(given) if Slot::Given(given) != Slot::of_input(Input::State(index)) => {
                let register = self.register()?;
                self.kept.push((given, register));
                Ok(Slot::Register(register))
            }
            place => Ok(place),
        }
    }

    /// Returns the place of an operand or a result.
    fn place(&mut self, id: NodeId) -> Result<Slot, Excess> {
        if let Some(place) = self.places[id.0] {
            return Ok(place);
        }
        let number = self.of_step[id.0].expect("a number is computed before it is used");
        if self.coefficients.len() == COEFFICIENTS {
            return Err(Excess::Coefficients);
        }
        let place = Slot::Coefficient(self.coefficients.len() as u8);
        self.coefficients.push(number);
        self.places[id.0] = Some(place);
        Ok(place)
    }

    fn register(&mut self) -> Result<u8, Excess> {
        let register = self.is_free.iter().position(|is_free| *is_free).ok_or(Excess::Registers)?;
        self.is_free[register] = false;
        Ok(register as u8)
    }

    /// Counts a use of a number; after the last its register is free.
    fn release(&mut self, id: NodeId) {
        self.uses[id.0] -= 1;
        if let (0, Some(Slot::Register(register))) = (self.uses[id.0], self.places[id.0]) {
            self.is_free[usize::from(register)] = true;
        }
    }
}
