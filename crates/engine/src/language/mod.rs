//! This module reads and compiles the small language in which update rules and losses are typed.
//!
//! A text becomes a graph of numbers ([`parse`]), and that a list of instructions over registers ([`CodeGenerator`]). A
//! [`Dialect`] has the names that are given, and the one that a text assigns to: a rule is read by
//! [`program`](crate::optimizer::program), a loss by [`loss`](crate::loss). Sizes are bounded, as texts come with presets
//! from anywhere.

mod allocation;
mod error;
mod graph;
mod memory;
mod op;
mod parser;
mod token;

pub use error::ProgramError;
pub use token::{Token, TokenKind, tokens};

pub(crate) use allocation::{
    CodeGenerator, Excess, FIRST_STATE, Instruction, Limits, Slot, UniformNumber, fused, uses,
};
pub(crate) use graph::{Dependence, Graph, Input, Node, NodeId};
pub(crate) use memory::Memory;
pub(crate) use op::{Op, Opcode};
pub(crate) use parser::{Dialect, Parsed, parse};

/// A parameter that a text declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub default: f64,
    /// The smallest and the largest value.
    pub range: [f64; 2],
    /// Whether the text uses its product over the steps, βᵗ.
    pub is_decay_rate: bool,
}
