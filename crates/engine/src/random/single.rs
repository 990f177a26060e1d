//! Streams and normal draws in single precision.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use super::{Key, Normals};
#[cfg(target_arch = "x86_64")]
use crate::lanes::x86;
use crate::lanes::{Bits, Lanes, Real, Singles, Vector, array};

/// The generator xoshiro128+ in every lane. Its lowest bits are its weakest, and become the least significant ones of
/// the results.
#[derive(Clone, Copy)]
pub struct Generator<const N: usize, B: Bits<N>>([B; 4]);

impl<const N: usize, B: Bits<N, Word = u32>> Generator<N, B> {
    fn new(keys: &[Key; N]) -> Self {
        let words = keys.map(Key::words::<2>);
        Generator(array(|word| {
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

macro_rules! normals {
    ($($(#[$attribute:meta])* $vector:ty: $lanes:literal),*) => {$(
        $(#[$attribute])*
        impl Normals<$lanes> for $vector {
            type Generator = Generator<$lanes, <$vector as Vector<$lanes>>::Bits>;

            #[inline(always)]
            fn generator(keys: &[Key; $lanes]) -> Self::Generator {
                Generator::new(keys)
            }

            #[inline(always)]
            fn normal_pair(generator: &mut Self::Generator) -> [Self; 2] {
                box_muller(generator.next_bits(), generator.next_bits())
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

normals!(
    Lanes<f32, 1>: 1,
    Lanes<f32, 16>: 16,
    #[cfg(target_arch = "x86_64")]
    x86::F32x8x4: 32,
    #[cfg(target_arch = "x86_64")]
    x86::F32x16x4: 64
);

/// Converts two random words into two independent normal numbers.
#[inline(always)]
fn box_muller<const N: usize, V: Singles<N>>(radius_bits: V::Bits, angle_bits: V::Bits) -> [V; 2] {
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
