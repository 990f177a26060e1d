//! Division by a root, without the processor's divider.

use super::{Bits, Vector};

/// Computes `x / (factor × √square + term)` in single precision, to 1e-6, for a divisor from 1e-37 to 1e37 and a square
/// that is a normal number, or whose root is negligible beside `term`. If the square is not finite, neither is the
/// result.
///
/// A processor's divider computes one root or quotient at a time, and in Adam's step everything else would wait for it,
/// while additions and multiplications overlap. The initial estimates are integers minus the bits of a number: unlike
/// those of a processor's own instructions, they are the same everywhere.
#[inline(always)]
pub(super) fn over_root<const N: usize, V>(x: V, square: V, factor: V, term: V) -> V
where
    V: Vector<N, Number = f32, Bits: Bits<N, Word = u32>>,
{
    let divisor = root(square).mul_add(factor, term);
    // 1/d to 5 % from the bits of d, to 2e-4 with the factor (1 + e + e²) for its error e, and the quotient corrected
    // by its remainder.
    let estimate = V::from_bits(V::Bits::splat(0x7ef3_11c7) - divisor.to_bits());
    let off = (-divisor).mul_add(estimate, V::splat(1.0));
    let inverse = off.mul_add(off, off).mul_add(estimate, estimate);
    let quotient = x * inverse;
    (-divisor).mul_add(quotient, x).mul_add(inverse, quotient)
}

/// Computes √x to 5e-7: an estimate from the bits of x, a Newton step with the constants of J. Kadlec (2010), and a
/// second step.
#[inline(always)]
fn root<const N: usize, V>(x: V) -> V
where
    V: Vector<N, Number = f32, Bits: Bits<N, Word = u32>>,
{
    // SCALE × inverse is 1/√x to 7e-4.
    const SCALE: f64 = 0.703952253;
    let estimate = V::from_bits(V::Bits::splat(0x5f1f_fff9) - x.to_bits().shift_right::<1>());
    let inverse = estimate * (-x * estimate).mul_add(estimate, V::splat(2.38924456));
    let root = x * inverse;
    // A little more than 1.5, as without it the root would always be too small.
    root * (-root * inverse).mul_add(V::splat(0.5 * SCALE * SCALE * SCALE), V::splat(1.50000033 * SCALE))
}
