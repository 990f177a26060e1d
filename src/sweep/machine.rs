//! Which registers and which precision the runs are done in.

#[cfg(target_arch = "x86_64")]
use crate::lanes::x86;
use crate::lanes::{Lanes, Planar, Real};
use crate::random::Normals;

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

/// The vector instructions in use. The results have the same bits with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Whatever the compiler makes of arrays.
    Plain,
    Avx2,
    Avx512,
}

impl Instructions {
    pub const ALL: [Instructions; 3] = [Instructions::Plain, Instructions::Avx2, Instructions::Avx512];

    /// The widest of this processor.
    pub fn widest() -> Instructions {
        *Self::ALL.iter().rfind(|instructions| instructions.are_here()).expect("plain ones are everywhere")
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Instructions::Plain => "plain instructions",
            Instructions::Avx2 => "AVX2",
            Instructions::Avx512 => "AVX-512",
        }
    }

    pub fn are_here(self) -> bool {
        match self {
            Instructions::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && Instructions::Avx2.are_here()
            }
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx2 | Instructions::Avx512 => false,
        }
    }
}

/// What the runs are done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    precision: Precision,
    instructions: Instructions,
}

/// Something to do in vectors of a kind that is not known yet.
pub(super) trait VectorWork {
    type Output;

    /// Does it in vectors `V` of `N` numbers.
    fn run<const N: usize, V>(self) -> Self::Output
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar;
}

impl Machine {
    /// This precision in the widest registers of this processor.
    pub fn new(precision: Precision) -> Machine {
        Machine { precision, instructions: Instructions::widest() }
    }

    /// This precision with these instructions, or `None` where the processor does not have them.
    pub fn with_instructions(precision: Precision, instructions: Instructions) -> Option<Machine> {
        instructions.are_here().then_some(Machine { precision, instructions })
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    pub(super) fn run<W: VectorWork>(self, work: W) -> W::Output {
        match (self.instructions, self.precision) {
            // SAFETY: a machine has only instructions that were detected.
            #[cfg(target_arch = "x86_64")]
            (Instructions::Avx512, Precision::Single) => unsafe { single_avx512(work) },
            #[cfg(target_arch = "x86_64")]
            (Instructions::Avx512, Precision::Double) => unsafe { double_avx512(work) },
            #[cfg(target_arch = "x86_64")]
            (Instructions::Avx2, Precision::Single) => unsafe { single_avx2(work) },
            #[cfg(target_arch = "x86_64")]
            (Instructions::Avx2, Precision::Double) => unsafe { double_avx2(work) },
            (_, Precision::Single) => work.run::<16, Lanes<f32, 16>>(),
            (_, Precision::Double) => work.run::<8, Lanes<f64, 8>>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn single_avx512<W: VectorWork>(work: W) -> W::Output {
    work.run::<64, x86::F32x16x4>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn double_avx512<W: VectorWork>(work: W) -> W::Output {
    work.run::<32, x86::F64x8x4>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn single_avx2<W: VectorWork>(work: W) -> W::Output {
    work.run::<32, x86::F32x8x4>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn double_avx2<W: VectorWork>(work: W) -> W::Output {
    work.run::<16, x86::F64x4x4>()
}
