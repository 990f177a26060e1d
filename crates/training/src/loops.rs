//! Access to tensors as slices, for loops that are compiled to the processor's vector instructions.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::lanes::Real;

/// The number types of tensors: `f32` and `f64`.
pub(crate) trait Number: Real + tch::kind::Element + Into<f64> + PartialOrd + Send + Sync + 'static {
    fn from_byte(byte: u8) -> Self;

    fn exp(self) -> Self;

    /// Computes the exponential function, to 2e-7 in single precision, in a form that vectorises.
    fn quick_exp(self) -> Self;

    fn ln(self) -> Self;
}

macro_rules! number {
    ($number:ident, $quick_exp:path) => {
        impl Number for $number {
            #[inline(always)]
            fn from_byte(byte: u8) -> Self {
                $number::from(byte)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $number::exp(self)
            }

            #[inline(always)]
            fn quick_exp(self) -> Self {
                $quick_exp(self)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $number::ln(self)
            }
        }
    };
}

number!(f32, exp_of_single);
number!(f64, f64::exp);

/// Computes `exp x = 2ᵏ exp r` with a whole k and |r| ≤ ½ ln 2. Never less than the smallest normal number, and ∞ from
/// 88.4 on.
#[inline(always)]
fn exp_of_single(x: f32) -> f32 {
    // These comparisons keep NaN.
    let x = if x < -87.3 { -87.3 } else { x };
    let x = if x > 88.7 { 88.7 } else { x };
    // Adding this to a number below 2²² leaves the nearest integer in the lowest bits.
    const WHOLE: f32 = 12_582_912.0;
    // ln 2 in two parts, the first so short that its product with k is exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, WHOLE);
    let doublings = shifted - WHOLE;
    let rest = doublings.mul_add(-LOW, doublings.mul_add(-HIGH, x));
    let mut sum = 1.0 / 5040.0_f32;
    for factorial in [720.0_f32, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        sum = sum.mul_add(rest, 1.0 / factorial);
    }
    let exponent = shifted.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_add(127) << 23;
    sum * f32::from_bits(exponent)
}

/// Returns the elements of a contiguous tensor in the processor's memory.
pub(crate) fn numbers<T: Number>(tensor: &Tensor) -> &[T] {
    check::<T>(tensor);
    // SAFETY: the tensor is contiguous, of this type, and on the processor; it lives as long as the slice, and
    // nothing else writes to it meanwhile: libtorch's operations end before they return.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), tensor.numel()) }
}

/// Returns the elements of a contiguous tensor in the processor's memory as a mutable slice.
pub(crate) fn numbers_mut<T: Number>(tensor: &mut Tensor) -> &mut [T] {
    check::<T>(tensor);
    // SAFETY: as above; other views of the tensor's memory are not read meanwhile.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), tensor.numel()) }
}

fn check<T: Number>(tensor: &Tensor) {
    let kind: Kind = T::KIND;
    assert!(tensor.device() == Device::Cpu && tensor.kind() == kind && tensor.is_contiguous());
}

/// Calls `$body` with `$number` as the number type of a tensor's kind.
macro_rules! with_number {
    ($kind:expr, $number:ident => $body:expr) => {
        match $kind {
            tch::Kind::Double => {
                type $number = f64;
                $body
            }
            _ => {
                type $number = f32;
                $body
            }
        }
    };
}

pub(crate) use with_number;
