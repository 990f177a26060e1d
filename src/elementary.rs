//! Elementary functions with the same bits on every system and in every kind of vector.
//!
//! The standard library leaves them to the system, whose last bits differ. Here they are made of
//! `+ − × ÷` alone, to some units in the last place.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, LN_2, LOG2_E};

use crate::lanes::{Bits, Doubles, Lanes, Real};

/// The natural logarithm of a positive normal number, to some units in the last place.
#[inline(always)]
pub fn ln<const N: usize, V: Doubles<N>>(x: V) -> V {
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
pub fn sin<R: Real>(t: R) -> R {
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
pub fn cos<R: Real>(t: R) -> R {
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

/// The cosine and the sine of any angle that is not huge.
pub fn cos_sin(angle: f64) -> [f64; 2] {
    let quarters = (angle / FRAC_PI_2).round();
    // π/2 in two parts, the first so short that its product with a small whole number is exact.
    const HIGH: f64 = 1.570_796_310_901_641_8;
    const LOW: f64 = 1.589_325_477_352_819_6e-8;
    let rest = angle - quarters * HIGH - quarters * LOW;
    let (cos, sin) = (cos(rest), sin(rest));
    match quarters.rem_euclid(4.0) {
        0.0 => [cos, sin],
        1.0 => [-sin, cos],
        2.0 => [-cos, -sin],
        _ => [sin, -cos],
    }
}

/// `low^(1 − part) high^part`: the number at `part` of the way from `low` to `high` on a logarithmic scale.
/// Both are positive and not so far apart that their quotient overflows.
pub fn geometric(low: f64, high: f64, part: f64) -> f64 {
    match part {
        0.0 => low,
        1.0 => high,
        _ => low * exp(part * ln_of(high / low)),
    }
}

/// `base^exponent` of a positive base; 0 where that is below the normal numbers.
#[inline(always)]
pub fn power(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln_of(base))
}

/// [`ln`] of a single number.
#[inline(always)]
pub fn ln_of(x: f64) -> f64 {
    ln(Lanes([x])).0[0]
}

/// The exponential function, for results that are no larger than the largest number; 0 where they are below the normal numbers.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    let doublings = (x * LOG2_E).round();
    // ln 2 in two parts, the first so short that its product with a whole number below 2¹¹ is exact.
    const HIGH: f64 = 0.693_147_167_563_438_4;
    const LOW: f64 = 1.299_650_689_388_988_9e-8;
    let rest = x - doublings * HIGH - doublings * LOW;
    let mut sum = 1.0;
    for term in (1..=14).rev() {
        sum = 1.0 + sum * rest / f64::from(term);
    }
    sum * f64::from_bits(((doublings as i64 + 1023) as u64) << 52)
}

/// `c₀ + c₁ x + c₂ x² + …` by Horner's rule.
#[inline(always)]
fn polynomial<R: Real, const TERMS: usize>(x: R, coefficients: [f64; TERMS]) -> R {
    // A loop and no closure, which would not be compiled for the vector instructions around it.
    let mut sum = R::splat(coefficients[TERMS - 1]);
    for term in (0..TERMS - 1).rev() {
        sum = sum * x + R::splat(coefficients[term]);
    }
    sum
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
            let turned = 50.0 * angle;
            let [cos, sin] = cos_sin(turned);
            assert!((cos - turned.cos()).abs() <= 1e-15 && (sin - turned.sin()).abs() <= 1e-15, "{turned}");
            let power = 10.0 * angle;
            assert!((exp(power) / power.exp() - 1.0).abs() <= 1e-15, "exp {power}");
        }
    }
}
