//! A program as instructions, with places in memory for its numbers.

use super::calculation::{Calculation, Operation};
use super::graph::{Dependence, Graph, Input, Node, NodeId};
use super::parser::Parsed;

/// Numbers of an element that are kept at the same time.
pub(super) const REGISTERS: usize = 24;
/// Numbers of a step that the instructions for elements use.
pub(super) const COEFFICIENTS: usize = 24;
/// Numbers that are computed once a step.
pub(super) const STEP_NUMBERS: usize = 128;

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// Of an element's numbers.
    Register(u8),
    /// Of the numbers of the step.
    Coefficient(u8),
}

/// An operation, where its operands are and its result goes; its name as an index of the program's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub operation: Operation,
    pub operands: [Place; 3],
    pub to: u8,
    pub name: Option<u8>,
}

/// A number of a step: how it comes about, of numbers before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepNumber {
    Constant(f64),
    Input(Input),
    Of { operation: Operation, operands: [u8; 3], name: Option<u8> },
}

/// The instructions of a step.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// Those that are computed once a step, in their order.
    pub numbers: Vec<StepNumber>,
    /// Which of them the instructions use.
    pub coefficients: Vec<u8>,
    /// What is given of an element, and its register.
    pub inputs: Vec<(Input, u8)>,
    pub instructions: Vec<Instruction>,
    pub new_states: Vec<Place>,
    pub theta: Place,
    pub direction: Place,
    /// The state that is called `m`, as momenta are.
    pub momentum: Option<usize>,
}

/// What a program needs too many of.
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
        let mut places = Vec::with_capacity(results.len());
        for id in results {
            places.push(coder.place(id)?);
        }
        let [new_states @ .., theta, direction] = &places[..] else { unreachable!("two results are always there") };
        let (new_states, theta, direction) = (new_states.to_vec(), *theta, *direction);
        let Coder { numbers, coefficients, inputs, instructions, .. } = coder;
        let momentum = parsed.states.iter().position(|name| name == "m");
        Ok(Code { numbers, coefficients, inputs, instructions, new_states, theta, direction, momentum })
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

/// How often each node is needed for the results.
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
            if uses[id.0] == 1 && names.of(id).is_none() && graph.dependence(id) != Dependence::Step =>
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
    /// How often each node is still needed.
    uses: Vec<usize>,
    /// The place of each node that has one; of a number of the step, only once an element needs it.
    places: Vec<Option<Place>>,
    /// The index of each node among the numbers of the step.
    of_step: Vec<Option<u8>>,
    is_free: [bool; REGISTERS],
    numbers: Vec<StepNumber>,
    coefficients: Vec<u8>,
    inputs: Vec<(Input, u8)>,
    instructions: Vec<Instruction>,
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
            inputs: Vec::new(),
            instructions: Vec::new(),
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
        let to = match node {
            Node::Constant(_) => unreachable!("a constant is a number of the step"),
            Node::Input(input) => {
                let to = self.register()?;
                self.inputs.push((input, to));
                to
            }
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
                to
            }
        };
        self.places[id.0] = Some(Place::Register(to));
        Ok(())
    }

    /// Where a number is that an instruction uses, or a result.
    fn place(&mut self, id: NodeId) -> Result<Place, Excess> {
        if let Some(place) = self.places[id.0] {
            return Ok(place);
        }
        let number = self.of_step[id.0].expect("a number is computed before it is used");
        if self.coefficients.len() == COEFFICIENTS {
            return Err(Excess::Coefficients);
        }
        let place = Place::Coefficient(self.coefficients.len() as u8);
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
        if let (0, Some(Place::Register(register))) = (self.uses[id.0], self.places[id.0]) {
            self.is_free[usize::from(register)] = true;
        }
    }
}
