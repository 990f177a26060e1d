//! Compiles expression graphs to instructions over registers.

use std::mem::MaybeUninit;

use super::{Dependence, Graph, Input, Node, NodeId, Op, Opcode};

/// The storage of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slot {
    /// The register of one of an element's numbers.
    Register(u8),
    /// The index of a number that is the same for all elements.
    Coefficient(u8),
    /// The index of an input: θ, the gradient, η, ω and the states before the step; or x and y.
    Given(u8),
}

/// The index of the first state among the inputs.
pub(crate) const FIRST_STATE: usize = 4;

impl Slot {
    pub(crate) fn of_input(input: Input) -> Slot {
        match input {
            Input::Theta | Input::X => Slot::Given(0),
            Input::Gradient | Input::Y => Slot::Given(1),
            Input::LearningRate => Slot::Given(2),
            Input::WeightDecay => Slot::Given(3),
            Input::State(index) => Slot::Given((FIRST_STATE + index) as u8),
            _ => unreachable!("the other inputs are the same for all elements, or of no program"),
        }
    }
}

/// An operation with the slots of its operands, the register of its result, and the index of its name in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub operation: Opcode,
    pub operands: [Slot; 3],
    pub to: u8,
    pub name: Option<u8>,
}

/// The origin of a number that is the same for all elements: a constant, an input, or an operation on such numbers
/// before it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UniformNumber {
    Constant(f64),
    Input(Input),
    Of { operation: Opcode, operands: [u16; 3], name: Option<u8> },
}

/// The resource of which a program needs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Registers,
    Coefficients,
    UniformNumbers,
}

pub(crate) fn uses(nodes: &[Node], results: &[NodeId]) -> Vec<usize> {
    let mut uses = vec![0; nodes.len()];
    results.iter().for_each(|id| uses[id.0] += 1);
    for index in (0..nodes.len()).rev() {
        if let (Node::Of(op), true) = (nodes[index], uses[index] > 0) {
            op.operands().into_iter().for_each(|operand| uses[operand.0] += 1);
        }
    }
    uses
}

/// Fuses each product that only one sum uses with that sum.
pub(crate) fn fused(graph: &Graph, results: &[NodeId], is_named: impl Fn(NodeId) -> bool) -> Vec<Node> {
    let mut nodes: Vec<Node> = (0..graph.len()).map(|index| graph.node(NodeId(index))).collect();
    let uses = uses(&nodes, results);
    let product = |nodes: &[Node], id: NodeId| match nodes[id.0] {
        Node::Of(Op::Mul(a, b)) if uses[id.0] == 1 && !is_named(id) && graph.dependence(id) > Dependence::Uniform => {
            Some((a, b))
        }
        _ => None,
    };
    for index in 0..nodes.len() {
        let together = match nodes[index] {
            Node::Of(Op::Add(a, b)) => match (product(&nodes, a), product(&nodes, b)) {
                (Some((x, y)), _) => Some(Op::MulAdd(x, y, b)),
                (None, Some((x, y))) => Some(Op::MulAdd(x, y, a)),
                (None, None) => None,
            },
            Node::Of(Op::Sub(a, b)) => product(&nodes, b).map(|(x, y)| Op::NegMulAdd(x, y, a)),
            _ => None,
        };
        if let Some(together) = together {
            nodes[index] = Node::Of(together);
        }
    }
    nodes
}

/// The resources that a program may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The largest number of values of an element that are live at the same time.
    pub registers: usize,
    /// The largest number of uniform numbers that the instructions for elements use.
    pub coefficients: usize,
    /// The largest number of values that are the same for all elements.
    pub uniform_numbers: usize,
}

/// Emits instructions and allocates the slots of their operands and results.
pub(crate) struct CodeGenerator {
    most: Limits,
    /// The number of remaining uses of each node.
    uses: Vec<usize>,
    /// The slot of each node that has one. A uniform number receives its slot only when an element needs it.
    slots: Vec<Option<Slot>>,
    /// The index of each node among the uniform numbers.
    uniform: Vec<Option<u16>>,
    is_free: Vec<bool>,
    pub numbers: Vec<UniformNumber>,
    pub coefficients: Vec<u16>,
    pub instructions: Vec<Instruction>,
}

impl CodeGenerator {
    pub(crate) fn new(nodes: &[Node], results: &[NodeId], most: Limits) -> CodeGenerator {
        CodeGenerator {
            most,
            uses: uses(nodes, results),
            slots: vec![None; nodes.len()],
            uniform: vec![None; nodes.len()],
            is_free: vec![true; most.registers],
            numbers: Vec::new(),
            coefficients: Vec::new(),
            instructions: Vec::new(),
        }
    }

    /// Emits a number that is the same for all elements.
    pub(crate) fn number(&mut self, id: NodeId, node: Node, name: Option<u8>) -> Result<(), Excess> {
        if self.numbers.len() == self.most.uniform_numbers {
            return Err(Excess::UniformNumbers);
        }
        let number = match node {
            Node::Constant(value) => UniformNumber::Constant(value),
            Node::Input(input) => UniformNumber::Input(input),
            Node::Of(op) => {
                let of = |operand: NodeId| self.uniform[operand.0].expect("it is computed of numbers before it");
                let (operation, operands) = op.map(of).split();
                UniformNumber::Of { operation, operands, name }
            }
        };
        self.uniform[id.0] = Some(self.numbers.len() as u16);
        self.numbers.push(number);
        Ok(())
    }

    /// Emits a number of an element.
    pub(crate) fn element(&mut self, id: NodeId, node: Node, name: Option<u8>) -> Result<(), Excess> {
        let slot = match node {
            Node::Constant(_) => unreachable!("a constant is a number of the step"),
            Node::Input(input) => Slot::of_input(input),
            Node::Of(op) => {
                let operands = op.operands();
                for operand in &operands {
                    self.slot(*operand)?;
                }
                let slot = |operand: NodeId| self.slots[operand.0].expect("it has its slot");
                let (operation, slots) = op.map(slot).split();
                operands.into_iter().for_each(|operand| self.release(operand));
                let to = self.register()?;
                self.instructions.push(Instruction { operation, operands: slots, to, name });
                Slot::Register(to)
            }
        };
        self.slots[id.0] = Some(slot);
        Ok(())
    }

    pub(crate) fn slot(&mut self, id: NodeId) -> Result<Slot, Excess> {
        if let Some(slot) = self.slots[id.0] {
            return Ok(slot);
        }
        let number = self.uniform[id.0].expect("a number is computed before it is used");
        if self.coefficients.len() == self.most.coefficients {
            return Err(Excess::Coefficients);
        }
        let slot = Slot::Coefficient(self.coefficients.len() as u8);
        self.coefficients.push(number);
        self.slots[id.0] = Some(slot);
        Ok(slot)
    }

    pub(crate) fn register(&mut self) -> Result<u8, Excess> {
        let register = self.is_free.iter().position(|is_free| *is_free).ok_or(Excess::Registers)?;
        self.is_free[register] = false;
        Ok(register as u8)
    }

    /// Counts a use of a number, and frees its register after the last one.
    fn release(&mut self, id: NodeId) {
        self.uses[id.0] -= 1;
        if let (0, Some(Slot::Register(register))) = (self.uses[id.0], self.slots[id.0]) {
            self.is_free[usize::from(register)] = true;
        }
    }
}

/// Slots for numbers. They begin uninitialized: a number may be some hundred bytes, and most programs use few slots.
#[derive(Clone, Copy)]
pub(crate) struct Memory<A: Copy, const SLOTS: usize> {
    slots: [MaybeUninit<A>; SLOTS],
    /// The number of initialized slots, which are the first.
    written: usize,
}

impl<A: Copy, const SLOTS: usize> Memory<A, SLOTS> {
    #[inline(always)]
    pub(crate) fn new() -> Memory<A, SLOTS> {
        Memory { slots: [MaybeUninit::uninit(); SLOTS], written: 0 }
    }

    #[inline(always)]
    pub(crate) fn write(&mut self, index: u8, value: A) {
        let index = usize::from(index);
        assert!(index <= self.written, "slots are used in their order");
        self.slots[index].write(value);
        self.written = self.written.max(index + 1);
    }

    #[inline(always)]
    pub(crate) fn at(&self, index: u8) -> &A {
        let index = usize::from(index);
        assert!(index < self.written, "a number is computed before it is used");
        // SAFETY: `write` leaves no gap, so that all slots below `written` are filled.
        unsafe { self.slots[index].assume_init_ref() }
    }
}
