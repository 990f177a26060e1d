//! The places of a program's numbers: registers for those of an element, coefficients for those that are the same for
//! all elements. A product and the sum that it belongs to are computed in one instruction.

use super::calculation::{Calculation, Operation};
use super::graph::{Dependence, Graph, Input, Node, NodeId};

/// The place of a number.
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
    /// The place of an input of an element.
    pub(crate) fn of_input(input: Input) -> Slot {
        match input {
            Input::Theta | Input::X => Slot::Given(0),
            Input::Gradient | Input::Y => Slot::Given(1),
            Input::LearningRate => Slot::Given(2),
            Input::WeightDecay => Slot::Given(3),
            Input::State(index) => Slot::Given((FIRST_STATE + index) as u8),
            Input::Parameter(_) | Input::Power(_) | Input::Step | Input::Angle | Input::Cosine | Input::Sine => {
                unreachable!("they are the same for all elements")
            }
        }
    }
}

/// An operation, where its operands are and its result goes; its name as an index of the program's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub operation: Operation,
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
    Of { operation: Operation, operands: [u16; 3], name: Option<u8> },
}

/// The resource of which a program needs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Registers,
    Coefficients,
    UniformNumbers,
}

/// Counts the uses of each node in the results.
pub(crate) fn uses(nodes: &[Node], results: &[NodeId]) -> Vec<usize> {
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
pub(crate) fn fused(graph: &Graph, results: &[NodeId], is_named: impl Fn(NodeId) -> bool) -> Vec<Node> {
    let mut nodes: Vec<Node> = (0..graph.len()).map(|index| graph.node(NodeId(index))).collect();
    let uses = uses(&nodes, results);
    let product = |nodes: &[Node], id: NodeId| match nodes[id.0] {
        Node::Of(Calculation::Product(a, b))
            if uses[id.0] == 1 && !is_named(id) && graph.dependence(id) > Dependence::Uniform =>
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

/// How many places there are for numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Numbers of an element that are kept at the same time.
    pub registers: usize,
    /// Uniform numbers that the instructions for elements use.
    pub coefficients: usize,
    /// Numbers that are the same for all elements.
    pub uniform_numbers: usize,
}

/// Gives the numbers their places.
pub(crate) struct Coder {
    most: Places,
    /// The number of remaining uses of each node.
    uses: Vec<usize>,
    /// The place of each node that has one; of a number of the step, only once an element needs it.
    places: Vec<Option<Slot>>,
    /// The index of each node among the uniform numbers.
    uniform: Vec<Option<u16>>,
    is_free: Vec<bool>,
    pub numbers: Vec<UniformNumber>,
    pub coefficients: Vec<u16>,
    pub instructions: Vec<Instruction>,
}

impl Coder {
    pub(crate) fn new(nodes: &[Node], results: &[NodeId], most: Places) -> Coder {
        Coder {
            most,
            uses: uses(nodes, results),
            places: vec![None; nodes.len()],
            uniform: vec![None; nodes.len()],
            is_free: vec![true; most.registers],
            numbers: Vec::new(),
            coefficients: Vec::new(),
            instructions: Vec::new(),
        }
    }

    /// Adds a number that is the same for all elements.
    pub(crate) fn number(&mut self, id: NodeId, node: Node, name: Option<u8>) -> Result<(), Excess> {
        if self.numbers.len() == self.most.uniform_numbers {
            return Err(Excess::UniformNumbers);
        }
        let number = match node {
            Node::Constant(value) => UniformNumber::Constant(value),
            Node::Input(input) => UniformNumber::Input(input),
            Node::Of(calculation) => {
                let of = |operand: NodeId| self.uniform[operand.0].expect("it is computed of numbers before it");
                let (operation, operands) = calculation.map(of).apart();
                UniformNumber::Of { operation, operands, name }
            }
        };
        self.uniform[id.0] = Some(self.numbers.len() as u16);
        self.numbers.push(number);
        Ok(())
    }

    /// Adds a number of an element.
    pub(crate) fn element(&mut self, id: NodeId, node: Node, name: Option<u8>) -> Result<(), Excess> {
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

    /// Returns the place of an operand or a result.
    pub(crate) fn place(&mut self, id: NodeId) -> Result<Slot, Excess> {
        if let Some(place) = self.places[id.0] {
            return Ok(place);
        }
        let number = self.uniform[id.0].expect("a number is computed before it is used");
        if self.coefficients.len() == self.most.coefficients {
            return Err(Excess::Coefficients);
        }
        let place = Slot::Coefficient(self.coefficients.len() as u8);
        self.coefficients.push(number);
        self.places[id.0] = Some(place);
        Ok(place)
    }

    pub(crate) fn register(&mut self) -> Result<u8, Excess> {
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
