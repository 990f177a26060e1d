//! The backend of a sweep's runs: vector instructions and floating-point precision.

use serde::{Deserialize, Serialize};

use crate::instructions::{Instructions, WideWork, vectorized};

/// Floating-point precision of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// 24 bits, the default for sweeps.
    #[default]
    Single,
    /// 53 bits, as a check of single precision.
    Double,
}

impl Precision {
    pub const ALL: [Precision; 2] = [Precision::Single, Precision::Double];

    /// Returns the name on the command line and in result files.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Single => "f32",
            Precision::Double => "f64",
        }
    }
}

/// The precision and the vector instructions of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    precision: Precision,
    instructions: Instructions,
}

impl Backend {
    /// Creates a backend that computes in this precision, in the widest registers of this processor.
    pub fn new(precision: Precision) -> Backend {
        Backend { precision, instructions: Instructions::widest() }
    }

    /// Creates a backend that computes in this precision, with these instructions.
    pub fn with_instructions(precision: Precision, instructions: Instructions) -> Backend {
        Backend { precision, instructions }
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    pub(super) fn run<W: WideWork>(self, work: W) -> W::Output {
        in_precision(self.instructions, self.precision, work)
    }
}

vectorized! {
    in S: instructions;
    /// Runs the work in vectors of a precision.
    fn in_precision<W: WideWork>(instructions: Instructions; precision: Precision, work: W) -> W::Output {
        match precision {
            Precision::Single => S::in_singles(work),
            Precision::Double => S::in_doubles(work),
        }
    }
}
