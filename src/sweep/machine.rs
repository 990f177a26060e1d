//! Which registers and which precision the runs are done in.

use crate::instructions::{Instructions, VectorSet, VectorWork, WideWork};

/// How many digits the runs are done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 24 bits. Sweeps are done so.
    #[default]
    Single,
    /// 53 bits, to check the other.
    Double,
}

impl Precision {
    pub const ALL: [Precision; 2] = [Precision::Single, Precision::Double];

    /// As on the command line and in result files.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Single => "f32",
            Precision::Double => "f64",
        }
    }
}

/// What the runs are done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    precision: Precision,
    instructions: Instructions,
}

impl Machine {
    /// This precision in the widest registers of this processor.
    pub fn new(precision: Precision) -> Machine {
        Machine { precision, instructions: Instructions::widest() }
    }

    /// This precision with these instructions.
    pub fn with_instructions(precision: Precision, instructions: Instructions) -> Machine {
        Machine { precision, instructions }
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    pub(super) fn run<W: WideWork>(self, work: W) -> W::Output {
        self.instructions.run(InPrecision { precision: self.precision, work })
    }
}

/// Something to do with so many digits.
struct InPrecision<W> {
    precision: Precision,
    work: W,
}

impl<W: WideWork> VectorWork for InPrecision<W> {
    type Output = W::Output;

    #[inline(always)]
    fn run<S: VectorSet>(self) -> W::Output {
        match self.precision {
            Precision::Single => S::in_singles(self.work),
            Precision::Double => S::in_doubles(self.work),
        }
    }
}
