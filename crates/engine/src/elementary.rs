//! Elementary functions with the same bits on every system and in every kind of vector.
//!
//! The standard library leaves them to the system, whose last bits differ. Here they are made of
//! `+ − × ÷` alone, to some units in the last place.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E, TAU};

use crate::lanes::{Bits, Doubles, Lanes, Real};

/// Returns the natural logarithm of a positive normal number, to some units in the last place.
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

/// Returns the sine of an angle within ±π/4.
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

/// Returns the cosine of an angle within ±π/4.
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

/// Returns the cosine and the sine of any angle that is not huge.
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

/// Returns `low^(1 − part) high^part`: the number at `part` of the way from `low` to `high` on a logarithmic scale.
/// Both are positive and not so far apart that their quotient overflows.
pub(crate) fn geometric(low: f64, high: f64, part: f64) -> f64 {
    match part {
        0.0 => low,
        1.0 => high,
        _ => low * exp(part * ln_of(high / low)),
    }
}

/// Returns `base^exponent` of a positive base; 0 for results below the normal numbers.
#[inline(always)]
pub fn power(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln_of(base))
}

/// Returns the [`ln`] of a single number.
#[inline(always)]
pub(crate) fn ln_of(x: f64) -> f64 {
    ln(Lanes([x])).0[0]
}

/// Computes the exponential function, for results up to the largest number; 0 for results below the normal numbers.
/// Points of axes depend on its last bit, so a change of it would change the results of sweeps.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    if x < LEAST_EXPONENT {
        return 0.0;
    }
    let (doublings, rest) = reduced(x);
    let mut sum = 1.0;
    for term in (1..=14).rev() {
        sum = 1.0 + sum * rest / f64::from(term);
    }
    sum * doublings
}

/// Computes the exponential function in a fifth of the time of [`exp`], from which it may differ in the last bit: it
/// divides nothing, and sums even and odd terms side by side. It is never 0, and without branches, so that a compiler
/// can take it out of a loop.
#[inline(always)]
pub fn quick_exp(x: f64) -> f64 {
    let (doublings, rest) = reduced(x.max(LEAST_EXPONENT));
    let square = rest * rest;
    let even = polynomial(
        square,
        [
            1.0,
            1.0 / 2.0,
            1.0 / 24.0,
            1.0 / 720.0,
            1.0 / 40_320.0,
            1.0 / 3_628_800.0,
            1.0 / 479_001_600.0,
            1.0 / 87_178_291_200.0,
        ],
    );
    let odd = polynomial(
        square,
        [1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5_040.0, 1.0 / 362_880.0, 1.0 / 39_916_800.0, 1.0 / 6_227_020_800.0],
    );
    (even + rest * odd) * doublings
}

/// The exponent below which `eˣ` is below the normal numbers.
const LEAST_EXPONENT: f64 = -708.0;

/// Splits x into a power of 2 and a rest r of at most ½ ln 2, with `eˣ` = 2ⁿ eʳ.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64) {
    let doublings = (x * LOG2_E).round();
    // ln 2 in two parts, the first so short that its product with a whole number below 2¹¹ is exact.
    const HIGH: f64 = 0.693_147_167_563_438_4;
    const LOW: f64 = 1.299_650_689_388_988_9e-8;
    let rest = x - doublings * HIGH - doublings * LOW;
    (f64::from_bits(((doublings as i64 + 1023) as u64) << 52), rest)
}

/// Computes `eˣ` of any number: infinite for results above the largest number, 0 for results below the normal numbers.
pub(crate) fn exp_of_any(x: f64) -> f64 {
    if x > 709.782_712_893_384 {
        return f64::INFINITY;
    }
    // The largest results are twice what the exponent of a double can express at once.
    if x > 709.0 { exp(x - LN_2) * 2.0 } else { exp(x) }
}

/// Returns the natural logarithm of any number: −∞ of 0, NaN of negative numbers.
pub(crate) fn ln_of_any(x: f64) -> f64 {
    const TWO_54: f64 = (1_u64 << 54) as f64;
    match x {
        _ if x.is_nan() || x < 0.0 => f64::NAN,
        0.0 => f64::NEG_INFINITY,
        f64::INFINITY => f64::INFINITY,
        _ if x < f64::MIN_POSITIVE => ln_of(x * TWO_54) - 54.0 * LN_2,
        _ => ln_of(x),
    }
}

/// Returns the hyperbolic tangent.
pub fn tanh(x: f64) -> f64 {
    let size = x.abs();
    if size < 0.5 {
        // sinh over cosh, as the difference of exponentials would cancel.
        let square = x * x;
        let sinh = polynomial(
            square,
            [1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5_040.0, 1.0 / 362_880.0, 1.0 / 39_916_800.0, 1.0 / 6_227_020_800.0],
        );
        let cosh = polynomial(
            square,
            [1.0, 1.0 / 2.0, 1.0 / 24.0, 1.0 / 720.0, 1.0 / 40_320.0, 1.0 / 3_628_800.0, 1.0 / 479_001_600.0],
        );
        return x * sinh / cosh;
    }
    if size > 20.0 {
        return x.signum();
    }
    let square = exp(2.0 * x);
    (square - 1.0) / (square + 1.0)
}

/// Computes the sine of any number: NaN of infinite ones. The error is below 2 units in the last place up to ±1.6
/// million, and grows in proportion to larger angles up to 10¹⁵. It has no branches, so that a compiler can take it out
/// of a loop.
#[inline(always)]
pub fn sin_of_any(angle: f64) -> f64 {
    let Reduced { quarters, sin, cos } = in_quarter(angle);
    let size = if quarters % 2 == 0 { sin } else { cos };
    if quarters % 4 < 2 { size } else { -size }
}

/// Computes the cosine of any number, as [`sin_of_any`] computes the sine.
#[inline(always)]
pub fn cos_of_any(angle: f64) -> f64 {
    let Reduced { quarters, sin, cos } = in_quarter(angle);
    let size = if quarters % 2 == 0 { cos } else { sin };
    if (quarters + 1) % 4 < 2 { size } else { -size }
}

/// An angle as quarters of a turn and a rest within ±π/4.
struct Reduced {
    /// The number of quarters, modulo a power of 2.
    quarters: u64,
    /// The sine and the cosine of the rest.
    sin: f64,
    cos: f64,
}

#[inline(always)]
fn in_quarter(angle: f64) -> Reduced {
    // π/2 in parts of 33 bits, whose products with a whole number below 2²⁰ are exact.
    const PARTS: [f64; 4] =
        [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32];
    const LARGEST: f64 = 1_647_000.0;
    // Rounds to a whole number, which is in the last bits of the sum.
    const ROUND: f64 = 1.5 * (1_u64 << 52) as f64;
    // Larger angles without whole turns; the product is NaN of what is infinite.
    let within = angle.clamp(-1e15, 1e15);
    let turns = within * (1.0 / TAU) + ROUND - ROUND;
    let angle = if angle.abs() < LARGEST { angle } else { within - turns * TAU + 0.0 * angle };
    let rounded = angle * FRAC_2_PI + ROUND;
    let (quarters, count) = (rounded.to_bits(), rounded - ROUND);
    // Both differences with their rounding errors.
    let first = angle - count * PARTS[0];
    let [rest, error] = exact_difference(first, count * PARTS[1]);
    let [rest, next] = exact_difference(rest, count * PARTS[2]);
    let error = error + next - count * PARTS[3];
    let (rest, error) = (rest + error, error - (rest + error - rest));
    Reduced { quarters, sin: sin_of_rest(rest, error), cos: cos_of_rest(rest, error) }
}

/// The difference of two numbers, and its rounding error.
#[inline(always)]
fn exact_difference(a: f64, b: f64) -> [f64; 2] {
    let difference = a - b;
    let taken = difference - a;
    [difference, (a - (difference - taken)) - (b + taken)]
}

/// The sine of `x + y` within ±π/4, where y is a rounding error of x, by the coefficients of fdlibm's `__kernel_sin`.
#[inline(always)]
fn sin_of_rest(x: f64, y: f64) -> f64 {
    let square = x * x;
    let cube = square * x;
    let series = polynomial(
        square,
        [
            8.333_333_333_322_49e-3,
            -1.984_126_982_985_795e-4,
            2.755_731_370_707_006_8e-6,
            -2.505_076_025_340_686_3e-8,
            1.589_690_995_211_55e-10,
        ],
    );
    x - ((square * (0.5 * y - cube * series) - y) - cube * -1.666_666_666_666_663_2e-1)
}

/// The cosine of `x + y`, by those of `__kernel_cos`.
#[inline(always)]
fn cos_of_rest(x: f64, y: f64) -> f64 {
    let square = x * x;
    let series = polynomial(
        square,
        [
            4.166_666_666_666_66e-2,
            -1.388_888_888_887_411e-3,
            2.480_158_728_947_673e-5,
            -2.755_731_435_139_066_3e-7,
            2.087_572_321_298_175e-9,
            -1.135_964_755_778_819_5e-11,
        ],
    );
    let half = 0.5 * square;
    let rest = 1.0 - half;
    rest + ((1.0 - rest - half) + (square * (square * series) - x * y))
}

/// Computes `baseᵉ` as [`f64::powf`] defines it: for a negative base, only with whole exponents.
pub(crate) fn power_of_any(base: f64, exponent: f64) -> f64 {
    if exponent.fract() == 0.0 && exponent.abs() <= 64.0 {
        return whole_power(base, exponent as i32);
    }
    if base > 0.0 && base != 1.0 {
        return exp_of_any(exponent * ln_of_any(base));
    }
    if base < 0.0 && base.is_finite() && exponent.fract() == 0.0 {
        let size = exp_of_any(exponent * ln_of_any(-base));
        return if exponent % 2.0 == 0.0 { size } else { -size };
    }
    // 0, 1, NaN and infinite numbers, whose powers are exact.
    base.powf(exponent)
}

fn whole_power(base: f64, exponent: i32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent.unsigned_abs());
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    if exponent < 0 { 1.0 / result } else { result }
}

/// Evaluates `c₀ + c₁ x + c₂ x² + …` by Horner's rule.
#[inline(always)]
fn polynomial<R: Real, const TERMS: usize>(x: R, coefficients: [f64; TERMS]) -> R {
    // A loop instead of a closure, which would not be compiled for the vector instructions around it.
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
            assert!((quick_exp(power) / power.exp() - 1.0).abs() <= 1e-15, "exp {power}");
            let wide = 5.0 * angle;
            assert!((tanh(wide) - wide.tanh()).abs() <= 1e-15 * wide.tanh().abs(), "tanh {wide}");
            let (base, exponent) = (20.0 * x, 40.0 * angle);
            let expected = base.powf(exponent);
            assert!((power_of_any(base, exponent) / expected - 1.0).abs() <= 1e-13, "{base} to the {exponent}");
        }
    }

    /// The distance in units in the last place.
    fn units_apart(found: f64, expected: f64) -> f64 {
        (found - expected).abs() / (expected.abs().max(f64::MIN_POSITIVE) * f64::EPSILON / 2.0)
    }

    #[test]
    fn sine_and_cosine_of_any_angle_are_within_two_units_in_the_last_place() {
        let mut angles: Vec<f64> = (0..200_000).map(|i| f64::from(i) * 8.000_17).collect();
        angles.extend((0..200_000).map(|i| f64::from(i) * 1.000_3e-4));
        // Next to multiples of π/2, where the rest is small.
        angles.extend((1..200_000).map(|i| f64::from(i) * 5.0 * FRAC_PI_2));
        angles.extend([5e-324, 1e-300, 1e-9, 1e6, -1e6, 1.6e6]);
        for angle in angles {
            for angle in [angle, -angle] {
                let units =
                    units_apart(sin_of_any(angle), angle.sin()).max(units_apart(cos_of_any(angle), angle.cos()));
                assert!(units <= 2.0, "{units} units at {angle}: {}", sin_of_any(angle));
            }
        }
        for angle in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(sin_of_any(angle).is_nan() && cos_of_any(angle).is_nan(), "{angle}");
        }
        for angle in [1.7e6, 1e9, -3e12] {
            assert!((sin_of_any(angle) - angle.sin()).abs() <= 1e-15 * angle.abs(), "sin {angle}");
        }
        assert!(sin_of_any(f64::MAX).abs() <= 1.0 && cos_of_any(f64::MAX).abs() <= 1.0);
    }

    #[test]
    fn functions_of_any_number_have_the_results_of_the_standard_library_at_the_ends() {
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a / b - 1.0).abs() <= 1e-13;
        let ends = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, -7.0, 1e300, -1e300, 5e-324, f64::MAX, f64::INFINITY];
        let all = ends.into_iter().chain([f64::NEG_INFINITY, f64::NAN, 709.7, 710.0, -700.0, 65.0, 101.0]);
        for x in all.clone() {
            assert!(same(exp_of_any(x), x.exp()), "exp {x}: {}", exp_of_any(x));
            assert!(same(ln_of_any(x), x.ln()), "ln {x}: {}", ln_of_any(x));
            assert!(same(tanh(x), x.tanh()), "tanh {x}: {}", tanh(x));
            for y in all.clone() {
                assert!(same(power_of_any(x, y), x.powf(y)), "{x} to the {y}: {}", power_of_any(x, y));
            }
        }
        assert_eq!(exp_of_any(-800.0), 0.0);
    }
}
