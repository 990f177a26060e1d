//! Random streams that depend only on their key, and normal draws from them.
//!
//! A stream's [`Key`] is a hash of a seed and some indices. So the numbers that a run draws are the same on any
//! machine, in any order, beside any other runs. The generators are xoshiro256++ for double and xoshiro128+ for single
//! precision (Blackman and Vigna 2021), one state per lane. Normal draws use the Box–Muller transform with a logarithm
//! and a sine and cosine made of plain arithmetic, so that they have the same bits at any vector width.

use std::convert::Infallible;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, LN_2, PI};

use crate::elementary::{cos, ln, sin};
#[cfg(target_arch = "x86_64")]
use crate::lanes::x86;
use crate::lanes::{Bits, Doubles, Lanes, Real, Singles, Vector, array, each};

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

/// A random stream, for use with `rand` and its distributions.
#[derive(Clone, Debug)]
pub struct Stream(Streams<1>);

impl Stream {
    /// Draws a number uniform on [0, 1), from 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_bits().0[0] >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn new(key: Key) -> Self {
        Stream(Streams::new([key]))
    }

    /// Draws a whole number below `count`, all equally likely.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.0.next_bits().0[0]) * u128::from(count)) >> 64) as u64
    }
}

impl rand::TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.next_bits().0[0] >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_bits().0[0])
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.0.next_bits().0[0].to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// `N` random streams side by side.
pub type Streams<const N: usize> = DoubleGenerator<N, Lanes<u64, N>>;

impl<const N: usize> Streams<N> {
    pub fn new(keys: [Key; N]) -> Self {
        DoubleGenerator(start(&keys.map(Key::words)))
    }

    /// Draws two independent numbers from Normal(0, 1) of every stream. The bits are the same with every kind of
    /// vector.
    #[inline(always)]
    pub fn normal_pair<V: Doubles<N>>(&mut self) -> [V; 2] {
        let mut generator = DoubleGenerator::<N, V::Bits>(each(self.0, Bits::from_lanes));
        let pair = double_box_muller(generator.next_bits(), generator.next_bits());
        self.0 = each(generator.0, Bits::to_lanes);
        pair
    }
}

/// The generator xoshiro256++ in every lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleGenerator<const N: usize, B: Bits<N>>([B; 4]);

macro_rules! double_normals {
    ($($(#[$attribute:meta])* $vector:ty: $lanes:literal),*) => {$(
        $(#[$attribute])*
        impl Normals<$lanes> for $vector {
            type Generator = DoubleGenerator<$lanes, <$vector as Vector<$lanes>>::Bits>;

            #[inline(always)]
            fn generator(keys: &[Key; $lanes]) -> Self::Generator {
                DoubleGenerator(each(start(&keys.map(Key::words)), Bits::from_lanes))
            }

            #[inline(always)]
            fn normal_pair(generator: &mut Self::Generator) -> [Self; 2] {
                double_box_muller(generator.next_bits(), generator.next_bits())
            }
        }
    )*};
}

double_normals!(
    Lanes<f64, 1>: 1,
    Lanes<f64, 8>: 8,
    #[cfg(target_arch = "x86_64")]
    x86::F64x4x2: 8,
    #[cfg(target_arch = "x86_64")]
    x86::F64x8x4: 32
);

/// Returns the generators' words, one of each lane side by side.
fn start<const N: usize>(states: &[[u64; 4]; N]) -> [Lanes<u64, N>; 4] {
    array(|word| Lanes::from_fn(|lane| states[lane][word]))
}

impl<const N: usize, B: Bits<N, Word = u64>> DoubleGenerator<N, B> {
    #[inline(always)]
    fn next_bits(&mut self) -> B {
        let [s0, s1, s2, s3] = self.0;
        let result = (s0 + s3).rotate_left::<23>() + s0;
        let s2 = s2 ^ s0;
        let s3 = s3 ^ s1;
        self.0 = [s0 ^ s3, s1 ^ s2, s2 ^ s1.shift_left::<17>(), s3.rotate_left::<45>()];
        result
    }
}

/// Converts two random words into two independent normal numbers.
#[inline(always)]
fn double_box_muller<const N: usize, V: Doubles<N>>(radius_bits: V::Bits, angle_bits: V::Bits) -> [V; 2] {
    let uniform = V::splat(2.0) - one_to_two(radius_bits);
    let radius = (V::splat(-2.0) * ln(uniform)).sqrt();
    // The angle is a quarter turn, uniform about 0, turned on by 0 to 3 quarters. Bits that the fraction does not use
    // choose the quarters: the lowest swaps sine and cosine, the next turns by a half.
    let angle = (one_to_two::<N, V>(angle_bits) - V::splat(1.5)) * V::splat(FRAC_PI_2);
    let (cos, sin) = (cos(angle).to_bits(), sin(angle).to_bits());
    let quarter = angle_bits & V::Bits::splat(1);
    let swap = (cos ^ sin) & (V::Bits::splat(0) - quarter);
    let sign = V::Bits::splat(1 << 63);
    let half_turn = angle_bits.shift_left::<62>() & sign;
    let radius = V::from_bits(radius.to_bits() ^ half_turn);
    let quarter_sign = quarter.shift_left::<63>();
    [radius * V::from_bits(cos ^ swap ^ quarter_sign), radius * V::from_bits(sin ^ swap)]
}

/// Converts the upper 52 bits into a number uniform on [1, 2).
#[inline(always)]
fn one_to_two<const N: usize, V: Doubles<N>>(bits: V::Bits) -> V {
    V::from_bits(bits.shift_right::<12>() | Bits::splat(1.0_f64.to_bits()))
}

/// The generator xoshiro128+ in every lane. Its lowest bits are its weakest, and become the least significant ones of
/// the results.
#[derive(Clone, Copy)]
pub struct SingleGenerator<const N: usize, B: Bits<N>>([B; 4]);

impl<const N: usize, B: Bits<N, Word = u32>> SingleGenerator<N, B> {
    fn new(keys: &[Key; N]) -> Self {
        let words = keys.map(Key::words::<2>);
        SingleGenerator(array(|word| {
            B::from_lanes(Lanes::from_fn(|lane| (words[lane][word / 2] >> (32 * (word % 2))) as u32))
        }))
    }

    #[inline(always)]
    fn next_bits(&mut self) -> B {
        let [s0, s1, s2, s3] = self.0;
        let result = s0 + s3;
        let s2 = s2 ^ s0;
        let s3 = s3 ^ s1;
        self.0 = [s0 ^ s3, s1 ^ s2, s2 ^ s1.shift_left::<9>(), s3.rotate_left::<11>()];
        result
    }
}

macro_rules! single_normals {
    ($($(#[$attribute:meta])* $vector:ty: $lanes:literal),*) => {$(
        $(#[$attribute])*
        impl Normals<$lanes> for $vector {
            type Generator = SingleGenerator<$lanes, <$vector as Vector<$lanes>>::Bits>;

            #[inline(always)]
            fn generator(keys: &[Key; $lanes]) -> Self::Generator {
                SingleGenerator::new(keys)
            }

            #[inline(always)]
            fn normal_pair(generator: &mut Self::Generator) -> [Self; 2] {
                single_box_muller(generator.next_bits(), generator.next_bits())
            }

            #[inline(always)]
            fn normal_pairs(generator: &mut Self::Generator, pairs: &mut [[Self; 2]]) {
                let mut in_registers = *generator;
                for [radius, angle] in &mut *pairs {
                    *radius = Self::from_bits(in_registers.next_bits());
                    *angle = Self::from_bits(in_registers.next_bits());
                }
                *generator = in_registers;
                // Three short loops: one long chain of dependent operations would stall the processor.
                for [radius, _] in &mut *pairs {
                    *radius = normal_radius(radius.to_bits());
                }
                for pair in pairs {
                    let [radius, angle] = *pair;
                    *pair = turned(radius, angle.to_bits());
                }
            }
        }
    )*};
}

single_normals!(
    Lanes<f32, 1>: 1,
    Lanes<f32, 16>: 16,
    #[cfg(target_arch = "x86_64")]
    x86::F32x8x4: 32,
    #[cfg(target_arch = "x86_64")]
    x86::F32x16x4: 64
);

/// Converts two random words into two independent normal numbers.
#[inline(always)]
fn single_box_muller<const N: usize, V: Singles<N>>(radius_bits: V::Bits, angle_bits: V::Bits) -> [V; 2] {
    turned(normal_radius(radius_bits), angle_bits)
}

/// Computes √(−2 ln U) of a uniform number U between 0 and 1.
#[inline(always)]
fn normal_radius<const N: usize, V: Singles<N>>(radius_bits: V::Bits) -> V {
    // The middles of 2³¹ equal parts of 0 to 1: the tails reach to 6.6 standard deviations.
    const PART: f64 = 1.0 / (1_u64 << 31) as f64;
    let whole = radius_bits & V::Bits::splat(u32::MAX >> 1);
    let uniform = V::from_integers(whole).mul_add(V::splat(PART), V::splat(0.5 * PART));
    minus_two_ln(uniform).sqrt()
}

/// Returns `radius` times the cosine and the sine of a uniform angle.
#[inline(always)]
fn turned<const N: usize, V: Singles<N>>(radius: V, angle_bits: V::Bits) -> [V; 2] {
    let sign = V::Bits::splat(1 << 31);
    // An angle within a quarter turn of 0, or, if the highest bit is set, half a turn from there.
    let fraction = angle_bits & V::Bits::splat((1 << 23) - 1);
    let one_to_two = V::from_bits(fraction | Bits::splat(1.0_f32.to_bits()));
    let angle = one_to_two.mul_add(V::splat(PI), V::splat(-1.5 * PI));
    let radius = V::from_bits(radius.to_bits() ^ (angle_bits & sign));
    let square = angle * angle;
    [radius * polynomial(square, COS), radius * (angle * polynomial(square, SIN))]
}

/// Computes −2 ln x of a number between 2⁻¹²⁶ and 1.
#[inline(always)]
fn minus_two_ln<const N: usize, V: Singles<N>>(x: V) -> V {
    // x = 2ᵏ m with m between √½ and √2: the bits are moved so that the exponent changes at √2.
    let low = V::Bits::splat((FRAC_1_SQRT_2 as f32).to_bits());
    let moved = x.to_bits() - low;
    let mantissa = V::from_bits((moved & Bits::splat((1 << 23) - 1)) + low);
    let exponent = V::from_integers(V::shift_right_signed::<23>(moved));
    let f = mantissa - V::splat(1.0);
    exponent.mul_add(V::splat(-2.0 * LN_2), f * polynomial(f, MINUS_TWO_LN))
}

/// Evaluates `c₀ + c₁ x + c₂ x² + …` by Horner's rule.
#[inline(always)]
fn polynomial<R: Real, const TERMS: usize>(x: R, coefficients: [f64; TERMS]) -> R {
    // A loop instead of a closure, which would not be compiled for the vector instructions around it.
    let mut sum = R::splat(coefficients[TERMS - 1]);
    for term in (0..TERMS - 1).rev() {
        sum = sum.mul_add(x, R::splat(coefficients[term]));
    }
    sum
}

// Minimax polynomials: the first two minimise the relative error.

/// Polynomial of −2 ln(1 + f)/f for f from √½ − 1 to √2 − 1, to 2e-7.
const MINUS_TWO_LN: [f64; 8] =
    [-1.999999891, 1.000007303, -0.6667011789, 0.4993981761, -0.3980033052, 0.3450166604, -0.3244516804, 0.2021377864];

/// Polynomial of sin(√z)/√z for z up to (π/2)², to 6e-9.
const SIN: [f64; 5] = [0.9999999947, -0.1666665668, 0.00833302514, -0.0001980741875, 2.601903066e-06];

/// Polynomial of cos √z for z up to (π/2)², to 5e-8.
const COS: [f64; 5] = [0.9999999535, -0.4999990535, 0.0416635847, -0.001385370433, 2.315393164e-05];
