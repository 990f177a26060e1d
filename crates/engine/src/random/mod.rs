//! Random streams that depend only on their key, and normal draws from them.
//!
//! A stream's [`Key`] is a hash of a seed and some indices. So the numbers that a run draws are the same on any
//! machine, in any order, beside any other runs. The generators are xoshiro256++ for double and xoshiro128+ for single
//! precision (Blackman and Vigna 2021), one state per lane. Normal draws use the Box–Muller transform with a logarithm
//! and a sine and cosine made of plain arithmetic, so that they have the same bits at any vector width.

mod double;
mod single;

pub use double::{Stream, Streams};

use crate::lanes::Vector;

/// Vectors in which normal numbers can be drawn, each lane from a stream of its own.
pub trait Normals<const N: usize>: Vector<N> {
    /// The state of `N` streams, in registers.
    type Generator: Copy;

    /// Creates the streams of these keys, at their beginning.
    fn generator(keys: &[Key; N]) -> Self::Generator;

    /// Draws two independent numbers from Normal(0, 1) of every stream. The bits are the same with every kind of vector
    /// of one precision.
    fn normal_pair(generator: &mut Self::Generator) -> [Self; 2];

    /// Fills `pairs` with draws, the same as from repeated calls of [`Normals::normal_pair`].
    #[inline(always)]
    fn normal_pairs(generator: &mut Self::Generator, pairs: &mut [[Self; 2]]) {
        let mut in_registers = *generator;
        for pair in pairs {
            *pair = Self::normal_pair(&mut in_registers);
        }
        *generator = in_registers;
    }
}

/// The key of a random stream: a hash of a seed and of the stream's indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    pub fn new(seed: u64) -> Self {
        Key(scramble(seed))
    }

    /// Returns the key one level down, at `index`.
    pub fn at(self, index: u64) -> Self {
        Key(scramble(self.0.rotate_left(23) ^ scramble(index.wrapping_add(GOLDEN))))
    }

    /// Returns the hash itself.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Returns the initial state of a generator.
    fn words<const WORDS: usize>(self) -> [u64; WORDS] {
        let mut counter = self.0;
        std::array::from_fn(|_| {
            counter = counter.wrapping_add(GOLDEN);
            scramble(counter)
        })
    }
}

/// The increment of SplitMix64: 2⁶⁴ over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Computes SplitMix64's output function, a bijection in which every input bit affects every output bit.
fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
