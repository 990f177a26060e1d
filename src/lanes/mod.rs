//! Numbers for the engines: one trait for a plain float and for a bundle of them.
//!
//! The update rules, the landscape and the noise are written once over [`Real`]. With `f64` they are
//! easy to follow and to check; with a [`Vector`] one call advances many runs side by side. Vectors come
//! as [`Lanes`], an array that works everywhere, and as the registers of AVX2 and AVX-512.
//!
//! Only `+ − × ÷ √` and operations on bits are used, and nothing is fused, so a lane has the same bits
//! in all of them.

mod plain;
#[cfg(target_arch = "x86_64")]
pub mod x86;

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

pub use plain::Lanes;

/// A real number, or a bundle of them on which every operation acts lane by lane.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The same value in every lane.
    fn splat(value: f64) -> Self;

    fn sqrt(self) -> Self;

    fn abs(self) -> Self;

    /// −1, 0 or 1; `sign(±0) = 0` and `sign(NaN) = NaN`, unlike [`f64::signum`].
    fn sign(self) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }

    #[inline(always)]
    fn sign(self) -> Self {
        if self.is_nan() {
            self
        } else if self == 0.0 {
            0.0
        } else {
            1.0_f64.copysign(self)
        }
    }
}

/// A bundle of `N` doubles.
pub trait Vector<const N: usize>: Real {
    /// The bits of the doubles, as whole numbers.
    type Bits: Bits<N>;

    fn from_lanes(lanes: Lanes<f64, N>) -> Self;

    fn to_lanes(self) -> Lanes<f64, N>;

    fn from_bits(bits: Self::Bits) -> Self;

    fn to_bits(self) -> Self::Bits;

    /// The smaller of two numbers; where `self` is NaN, `other`.
    fn smaller(self, other: Self) -> Self;

    /// The larger of two numbers; where `self` is NaN, `other`.
    fn larger(self, other: Self) -> Self;
}

/// A bundle of `N` 64-bit words. Sums and differences wrap around.
pub trait Bits<const N: usize>:
    Copy + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    fn splat(word: u64) -> Self;

    fn from_lanes(lanes: Lanes<u64, N>) -> Self;

    fn to_lanes(self) -> Lanes<u64, N>;

    fn shift_left<const BY: u32>(self) -> Self;

    fn shift_right<const BY: u32>(self) -> Self;

    fn rotate_left<const BY: u32>(self) -> Self;
}
