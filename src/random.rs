//! Random streams that depend on nothing but their key, and normal draws from them.
//!
//! A stream's [`Key`] is hashed from a seed and some indices. Which numbers a run draws is therefore
//! the same on any machine, in any order, beside any neighbours. The generator is xoshiro256++
//! (Blackman and Vigna 2021), one state a lane; the normal draws come from the Box–Muller transform
//! with a logarithm and a sine and cosine made of `+ − × ÷ √` alone, so that they have the same bits
//! at any vector width.

use std::convert::Infallible;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, LN_2};

use crate::lanes::{Bits, Lanes, Real, Vector};

/// The name of a random stream: a seed and the indices that lead to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    pub fn new(seed: u64) -> Self {
        Key(scramble(seed))
    }

    /// The key one level down, at `index`.
    pub fn at(self, index: u64) -> Self {
        Key(scramble(self.0.rotate_left(23) ^ scramble(index.wrapping_add(GOLDEN))))
    }

    /// The generator's state at the start of the stream.
    fn state(self) -> [u64; 4] {
        let mut counter = self.0;
        std::array::from_fn(|_| {
            counter = counter.wrapping_add(GOLDEN);
            scramble(counter)
        })
    }
}

/// 2⁶⁴ over the golden ratio, SplitMix64's increment.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's output function, a bijection in which every input bit stirs every output bit.
fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One random stream, for use with `rand` and its distributions.
#[derive(Clone, Debug)]
pub struct Stream(Streams<1>);

impl Stream {
    pub fn new(key: Key) -> Self {
        Stream(Streams::new([key]))
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
#[derive(Clone, Debug, PartialEq)]
pub struct Streams<const N: usize> {
    state: [Lanes<u64, N>; 4],
}

impl<const N: usize> Streams<N> {
    pub fn new(keys: [Key; N]) -> Self {
        let states = keys.map(Key::state);
        Streams { state: std::array::from_fn(|word| Lanes::from_fn(|lane| states[lane][word])) }
    }

    /// Two independent draws from Normal(0, 1) of every stream. The bits are the same with every kind of
    /// vector.
    #[inline(always)]
    pub fn normal_pair<V: Vector<N>>(&mut self) -> [V; 2] {
        let mut generator = Generator::<N, V::Bits>(self.state.map(Bits::from_lanes));
        let pair = box_muller(generator.next_bits(), generator.next_bits());
        self.state = generator.0.map(Bits::to_lanes);
        pair
    }

    fn next_bits(&mut self) -> Lanes<u64, N> {
        let mut generator = Generator(self.state);
        let bits = generator.next_bits();
        self.state = generator.0;
        bits
    }
}

/// xoshiro256++ in every lane.
struct Generator<const N: usize, B: Bits<N>>([B; 4]);

impl<const N: usize, B: Bits<N>> Generator<N, B> {
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

/// Two independent normal numbers from two random words.
#[inline(always)]
fn box_muller<const N: usize, V: Vector<N>>(radius_bits: V::Bits, angle_bits: V::Bits) -> [V; 2] {
    let uniform = V::splat(2.0) - one_to_two(radius_bits);
    let radius = (V::splat(-2.0) * ln(uniform)).sqrt();
    // The angle is a quarter turn, uniform about 0, turned on by 0 to 3 quarters. The quarters come from
    // bits that the fraction does not use: the lowest swaps sine and cosine, the next turns by a half.
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

/// A number uniform on [1, 2), from the upper 52 bits.
#[inline(always)]
fn one_to_two<const N: usize, V: Vector<N>>(bits: V::Bits) -> V {
    V::from_bits(bits.shift_right::<12>() | Bits::splat(1.0_f64.to_bits()))
}

/// The natural logarithm of a positive normal number, to some units in the last place.
#[inline(always)]
fn ln<const N: usize, V: Vector<N>>(x: V) -> V {
    // x = 2ᵏ m with m between √½ and √2: the bits are moved so that the exponent changes at √2.
    let low = Bits::splat(FRAC_1_SQRT_2.to_bits());
    let moved = x.to_bits() - low + Bits::splat(1.0_f64.to_bits());
    let mantissa = V::from_bits((moved & Bits::splat((1 << 52) - 1)) + low);
    // A whole number below 2⁵² as a double: written into the mantissa of 2⁵², which is then subtracted.
    const TWO_52: f64 = (1_u64 << 52) as f64;
    let biased = V::from_bits(moved.shift_right::<52>() | Bits::splat(TWO_52.to_bits()));
    let exponent = biased - V::splat(TWO_52 + 1023.0);
    // ln m = 2 artanh z with |z| ≤ 0.172.
    let one = V::splat(1.0);
    let z = (mantissa - one) / (mantissa + one);
    let series = polynomial(
        z * z,
        [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0],
    );
    exponent * V::splat(LN_2) + V::splat(2.0) * z * series
}

/// The sine of an angle within ±π/4.
#[inline(always)]
fn sin<R: Real>(t: R) -> R {
    t * polynomial(
        t * t,
        [
            1.0,
            -1.0 / 6.0,
            1.0 / 120.0,
            -1.0 / 5_040.0,
            1.0 / 362_880.0,
            -1.0 / 39_916_800.0,
            1.0 / 6_227_020_800.0,
            -1.0 / 1_307_674_368_000.0,
        ],
    )
}

/// The cosine of an angle within ±π/4.
#[inline(always)]
fn cos<R: Real>(t: R) -> R {
    polynomial(
        t * t,
        [
            1.0,
            -1.0 / 2.0,
            1.0 / 24.0,
            -1.0 / 720.0,
            1.0 / 40_320.0,
            -1.0 / 3_628_800.0,
            1.0 / 479_001_600.0,
            -1.0 / 87_178_291_200.0,
            1.0 / 20_922_789_888_000.0,
        ],
    )
}

/// `c₀ + c₁ x + c₂ x² + …` by Horner's rule.
#[inline(always)]
fn polynomial<R: Real, const TERMS: usize>(x: R, coefficients: [f64; TERMS]) -> R {
    let [lower @ .., highest] = coefficients.as_slice() else { unreachable!("a polynomial has terms") };
    lower.iter().rev().fold(R::splat(*highest), |sum, &coefficient| sum * x + R::splat(coefficient))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_sine_and_cosine_agree_with_the_standard_library() {
        let ln = |x: f64| ln(Lanes([x])).0[0];
        for i in 1..=100_000 {
            let x = f64::from(i) * 1e-5;
            // ln 1 is exactly 0; elsewhere a few units in the last place.
            assert!((ln(x) - x.ln()).abs() <= 5e-16 * x.ln().abs(), "ln {x}");
            let small = x * f64::EPSILON;
            assert!((ln(small) - small.ln()).abs() <= 5e-16 * small.ln().abs(), "ln {small}");
            let angle = (x - 0.5) * FRAC_PI_2;
            assert!((sin(angle) - angle.sin()).abs() <= 3e-16, "sin {angle}");
            assert!((cos(angle) - angle.cos()).abs() <= 3e-16, "cos {angle}");
        }
    }
}
