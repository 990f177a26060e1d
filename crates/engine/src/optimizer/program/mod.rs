//! Update rules as text: a small language, and the programs that are made of it.
//!
//! ```text
//! state m, avg
//! param beta1 = 0.9 in 0..1, beta2 = 0.9 in 0..1, gamma = 0.2 in -1..1
//! m   = beta1*m + (1 - beta1)*g
//! avg = avg + (1 - beta2)/(1 - beta2^t)*(theta - avg)
//! theta = theta - eta*(sign(m) + gamma*sign(theta - avg) + omega*theta)
//! ```
//!
//! A line declares states, which are 0 before the first step, or hyperparameters with a default and a range, or assigns
//! to a state, to `theta` or to a new name. Given are `theta`, the gradient `g`, the number of the step `t` from 1, the
//! learning rate `eta` and the weight decay `omega`. There are `+ - * / ^`, comparisons, which are 1 or 0,
//! `where(c, a, b)`, `sign abs sqrt exp ln tanh sin cos min max clamp`, and over the whole parameter `norm mean sum dot`. `#`
//! begins a comment. The power `β^t` of a hyperparameter between 0 and 1 is its product over the steps, also when it is
//! changed on the way.
//!
//! A text becomes a graph of numbers ([`language`](crate::language)), and that a list of instructions ([`code`]), of
//! which those that depend on hyperparameters and t alone are executed once a step. The instructions are executed for the numbers of any
//! [`Algebra`](super::Algebra): vectors of particles or parameters, and numbers that are recorded for formulas and
//! tensors. Sizes are bounded, as programs come with presets from anywhere.

mod built_in;
mod code;
mod direction;
mod run;
mod slices;

pub use built_in::text_of;
pub use run::ProgramCoefficients;
pub use slices::step_slices;

use code::{COEFFICIENTS, Code, REGISTERS, STEP_NUMBERS};
pub(crate) use run::GivenOfStep;

use super::MOST_HYPERPARAMETERS;
use crate::language::{Dialect, Excess, Graph, Input, Instruction, Parameter, ProgramError, parse};

/// The language of rules.
const RULES: Dialect = Dialect {
    given: &[
        ("theta", Input::Theta),
        ("g", Input::Gradient),
        ("t", Input::Step),
        ("eta", Input::LearningRate),
        ("omega", Input::WeightDecay),
    ],
    has_axes: false,
    has_states: true,
    target: "theta",
    target_line: "a line `theta = …` that takes the step",
    // One less than of all rules, for the weight decay.
    most_parameters: MOST_HYPERPARAMETERS - 1,
    parameter: "hyperparameter",
    // The fields of a typed rule in a preset besides its hyperparameters, and the weight decay, which every rule has.
    reserved: &["name", "text", "learning_rate", "lr", "schedule", "schedule_end", "weight_decay"],
};

/// An update rule that was read from text.
#[derive(Clone, Debug)]
pub struct Program {
    text: String,
    states: Vec<String>,
    parameters: Vec<Parameter>,
    names: Vec<String>,
    /// The `names` whose numbers are the same for all elements.
    names_of_step: Vec<String>,
    has_weight_decay: bool,
    needs_whole_parameter: bool,
    code: Code,
}

impl Program {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// The first mistake, and where it stands.
    pub fn new(text: &str) -> Result<Program, ProgramError> {
        let mut parsed = parse(text, &RULES)?;
        let end = text.len()..text.len();
        if parsed.graph.largest_expression() > Graph::LARGEST_EXPRESSION {
            let expected = format!("at most {} numbers in an expression, written out", Graph::LARGEST_EXPRESSION);
            return Err(ProgramError::new(text, end, expected, "more"));
        }
        let Some(direction) = parsed.graph.direction(parsed.target) else {
            let expected = format!("at most {} operations", parsed.graph.most_nodes());
            return Err(ProgramError::new(text, end, expected, "more"));
        };
        let code = Code::new(&parsed, direction).map_err(|excess| {
            let expected = match excess {
                Excess::Registers => format!("a rule that keeps at most {REGISTERS} numbers of an element at a time"),
                Excess::Coefficients => format!("at most {COEFFICIENTS} constants and coefficients"),
                Excess::UniformNumbers => format!("at most {STEP_NUMBERS} operations on hyperparameters"),
            };
            ProgramError::new(text, end, expected, "more")
        })?;
        let is_whole = |instruction: &Instruction| instruction.operation.is_reduction();
        Ok(Program {
            text: text.to_owned(),
            has_weight_decay: code.has_weight_decay,
            needs_whole_parameter: code.instructions.iter().any(is_whole),
            names_of_step: parsed.names_of_step(),
            names: parsed.named.into_iter().map(|(_, name)| name).collect(),
            states: parsed.states,
            parameters: parsed.parameters,
            code,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The names of what it remembers.
    pub(crate) fn states(&self) -> &[String] {
        &self.states
    }

    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The names that lines assign to, in their order, without `theta`.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the number of this name follows from hyperparameters and t.
    pub(crate) fn is_of_step(&self, name: &str) -> bool {
        self.names_of_step.iter().any(|known| known == name)
    }

    /// Whether the step depends on the weight decay `omega`.
    pub(crate) fn has_weight_decay(&self) -> bool {
        self.has_weight_decay
    }

    /// Whether the step uses `norm`, `mean`, `sum` or `dot`.
    pub fn needs_whole_parameter(&self) -> bool {
        self.needs_whole_parameter
    }
}
