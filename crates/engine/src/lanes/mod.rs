//! Numbers of the engines: one trait for plain floats and for vectors of them.
//!
//! The update rules, the landscape and the noise are written once over [`Real`]. With `f64` they are easy to follow and
//! to check; with a [`Vector`] one call advances many runs side by side, in double or in single precision. Vectors are
//! [`Lanes`], an array that works everywhere, or the registers of AVX2 and AVX-512.
//!
//! Only `+ − × ÷ √`, bit operations and an explicit [`Real::mul_add`] are used, so a lane has the same bits in all
//! vectors of one precision.

mod both;
mod plain;
mod root;
// Public for the functions that `vectorized!` makes in other crates, after they have detected the instructions.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod x86;

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

pub use both::Both;
pub use plain::Lanes;

/// Creates an array of the values of a function for their indices. Unlike [`std::array::from_fn`] and `array::map`, it
/// is compiled into its caller, and so for its vector instructions.
#[inline(always)]
pub fn array<T: Copy, const N: usize>(mut value: impl FnMut(usize) -> T) -> [T; N] {
    const { assert!(N > 0) };
    let mut values = [value(0); N];
    let mut index = 1;
    while index < N {
        values[index] = value(index);
        index += 1;
    }
    values
}

/// Converts each element of an array, compiled into the caller like [`array`].
#[inline(always)]
pub fn each<T: Copy, U: Copy, const N: usize>(from: [T; N], convert: impl Fn(T) -> U) -> [U; N] {
    array(|index| convert(from[index]))
}

/// A real number, or a vector of them on which every operation acts lane by lane.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Returns the value in every lane.
    fn splat(value: f64) -> Self;

    fn sqrt(self) -> Self;

    fn abs(self) -> Self;

    /// Returns `self × factor + term`, rounded once. Slow without such an instruction of the processor.
    fn mul_add(self, factor: Self, term: Self) -> Self;

    /// Returns `self / (factor × √square + term)`. Vectors of singles compute it to 1e-6, without the processor's
    /// divider, for a divisor from 1e-37 to 1e37 and a square that is a normal number, or whose root is negligible
    /// beside `term`.
    #[inline(always)]
    fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
        self / square.sqrt().mul_add(factor, term)
    }

    /// Returns −1, 0 or 1; `sign(±0) = 0` and `sign(NaN) = NaN`, unlike [`f64::signum`].
    fn sign(self) -> Self;

    /// Returns the larger of two numbers; `other` if either is NaN.
    fn larger(self, other: Self) -> Self;

    /// Returns 1 where this is less than `other`, else 0; 0 if either is NaN.
    fn less(self, other: Self) -> Self;

    /// Returns 1 where this is at most `other`, else 0; 0 if either is NaN.
    fn at_most(self, other: Self) -> Self;

    /// Returns 1 where this equals `other`, else 0; 0 if either is NaN.
    fn equals(self, other: Self) -> Self;

    /// Returns `then` where this is not 0, else `otherwise`.
    fn choose(self, then: Self, otherwise: Self) -> Self;

    /// Applies a function to each lane.
    fn of_each(self, function: fn(f64) -> f64) -> Self;

    /// Applies a function to each lane and that of another vector.
    fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self;

    /// Returns the Euclidean norm over the parameter: over x and y if the number holds both ([`Planar::Both`]), else
    /// the absolute value.
    #[inline(always)]
    fn norm(self) -> Self {
        self.abs()
    }

    /// Returns the mean over the parameter: over x and y if the number holds both, else itself.
    #[inline(always)]
    fn mean(self) -> Self {
        self
    }

    /// Exchanges x and y if the number holds both, else returns itself.
    #[inline(always)]
    fn exchanged(self) -> Self {
        self
    }

    /// Returns the sum over the parameter: over x and y if the number holds both, else itself.
    #[inline(always)]
    fn sum(self) -> Self {
        self
    }
}

macro_rules! plain_number {
    ($number:ty) => {
        impl Real for $number {
            #[inline(always)]
            fn splat(value: f64) -> Self {
                value as $number
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$number>::sqrt(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$number>::abs(self)
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                <$number>::mul_add(self, factor, term)
            }

            #[inline(always)]
            fn sign(self) -> Self {
                if self.is_nan() {
                    self
                } else if self == 0.0 {
                    0.0
                } else {
                    <$number>::copysign(1.0, self)
                }
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self > other { self } else { other }
            }

            #[inline(always)]
            fn less(self, other: Self) -> Self {
                if self < other { 1.0 } else { 0.0 }
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> Self {
                if self <= other { 1.0 } else { 0.0 }
            }

            #[inline(always)]
            fn equals(self, other: Self) -> Self {
                if self == other { 1.0 } else { 0.0 }
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                if self != 0.0 { then } else { otherwise }
            }

            #[inline(always)]
            fn of_each(self, function: fn(f64) -> f64) -> Self {
                function(f64::from(self)) as $number
            }

            #[inline(always)]
            fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
                function(f64::from(self), f64::from(other)) as $number
            }
        }
    };
}

plain_number!(f32);
plain_number!(f64);

/// A vector of `N` numbers, all in double or all in single precision.
pub trait Vector<const N: usize>: Real {
    /// The type of each number, `f64` or `f32`.
    type Number: Copy;
    /// Vectors of the numbers' bits, as integers.
    type Bits: Bits<N>;

    fn from_lanes(lanes: Lanes<Self::Number, N>) -> Self;

    fn to_lanes(self) -> Lanes<Self::Number, N>;

    fn from_bits(bits: Self::Bits) -> Self;

    fn to_bits(self) -> Self::Bits;

    /// Returns the smaller of two numbers; `other` if either is NaN.
    fn smaller(self, other: Self) -> Self;
}

/// Numbers whose x and y coordinates can be joined into one vector: an operation on both coordinates then acts on twice
/// as many numbers side by side.
pub trait Planar: Real {
    type Both: Real;

    fn both(coordinates: [Self; 2]) -> Self::Both;

    fn apart(both: Self::Both) -> [Self; 2];
}

/// A vector of `N` numbers in double precision.
pub trait Doubles<const N: usize>: Vector<N, Number = f64, Bits: Bits<N, Word = u64>> {}

impl<const N: usize, V: Vector<N, Number = f64, Bits: Bits<N, Word = u64>>> Doubles<N> for V {}

/// A vector of `N` numbers in single precision.
pub trait Singles<const N: usize>: Vector<N, Number = f32, Bits: Bits<N, Word = u32>> {
    /// Converts signed integers to the nearest numbers.
    fn from_integers(integers: Self::Bits) -> Self;

    /// Divides signed integers by `2^BY`, rounding down.
    fn shift_right_signed<const BY: u32>(integers: Self::Bits) -> Self::Bits;
}

/// A vector of `N` words of 64 bits, or of 32. Sums and differences wrap around.
pub trait Bits<const N: usize>:
    Copy + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// The type of each word, `u64` or `u32`.
    type Word: Copy;

    fn splat(word: Self::Word) -> Self;

    fn from_lanes(lanes: Lanes<Self::Word, N>) -> Self;

    fn to_lanes(self) -> Lanes<Self::Word, N>;

    fn shift_left<const BY: u32>(self) -> Self;

    fn shift_right<const BY: u32>(self) -> Self;

    fn rotate_left<const BY: u32>(self) -> Self;
}
