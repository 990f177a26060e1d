use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

use super::root::over_root;
use super::{Bits, Real, Singles, Vector, array};

/// `N` numbers side by side in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T: Copy, const N: usize> Lanes<T, N> {
    #[inline(always)]
    pub fn from_fn(value: impl FnMut(usize) -> T) -> Self {
        Lanes(array(value))
    }

    #[inline(always)]
    fn map(self, mut f: impl FnMut(T) -> T) -> Self {
        Lanes::from_fn(|lane| f(self.0[lane]))
    }

    #[inline(always)]
    fn zip(self, other: Self, mut f: impl FnMut(T, T) -> T) -> Self {
        Lanes::from_fn(|lane| f(self.0[lane], other.0[lane]))
    }
}

macro_rules! lane_by_lane {
    ($($number:ty: $($trait:ident $method:ident $function:path),*;)*) => {$($(
        impl<const N: usize> $trait for Lanes<$number, N> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, $function)
            }
        }
    )*)*};
}

lane_by_lane! {
    f64: Add add f64::add, Sub sub f64::sub, Mul mul f64::mul, Div div f64::div;
    f32: Add add f32::add, Sub sub f32::sub, Mul mul f32::mul, Div div f32::div;
    u64: Add add u64::wrapping_add, Sub sub u64::wrapping_sub,
        BitAnd bitand u64::bitand, BitOr bitor u64::bitor, BitXor bitxor u64::bitxor;
    u32: Add add u32::wrapping_add, Sub sub u32::wrapping_sub,
        BitAnd bitand u32::bitand, BitOr bitor u32::bitor, BitXor bitxor u32::bitxor;
}

macro_rules! vector {
    ($number:ty, $word:ty, $($over_root:item)?) => {
        impl<const N: usize> Neg for Lanes<$number, N> {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                self.map(<$number>::neg)
            }
        }

        impl<const N: usize> Real for Lanes<$number, N> {
            #[inline(always)]
            fn splat(value: f64) -> Self {
                Lanes([value as $number; N])
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.map(<$number>::sqrt)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.map(<$number>::abs)
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                Lanes::from_fn(|lane| self.0[lane].mul_add(factor.0[lane], term.0[lane]))
            }

            #[inline(always)]
            fn sign(self) -> Self {
                self.map(Real::sign)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }

            #[inline(always)]
            fn less(self, other: Self) -> Self {
                self.zip(other, Real::less)
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> Self {
                self.zip(other, Real::at_most)
            }

            #[inline(always)]
            fn equals(self, other: Self) -> Self {
                self.zip(other, Real::equals)
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                Lanes::from_fn(|lane| self.0[lane].choose(then.0[lane], otherwise.0[lane]))
            }

            #[inline(always)]
            fn of_each(self, function: fn(f64) -> f64) -> Self {
                self.map(|value| value.of_each(function))
            }

            #[inline(always)]
            fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
                self.zip(other, |a, b| a.of_each_pair(b, function))
            }

            $($over_root)?
        }

        impl<const N: usize> Vector<N> for Lanes<$number, N> {
            type Number = $number;
            type Bits = Lanes<$word, N>;

            #[inline(always)]
            fn from_lanes(lanes: Self) -> Self {
                lanes
            }

            #[inline(always)]
            fn to_lanes(self) -> Self {
                self
            }

            #[inline(always)]
            fn from_bits(bits: Lanes<$word, N>) -> Self {
                Lanes::from_fn(|lane| <$number>::from_bits(bits.0[lane]))
            }

            #[inline(always)]
            fn to_bits(self) -> Lanes<$word, N> {
                Lanes::from_fn(|lane| self.0[lane].to_bits())
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
        }

        impl<const N: usize> Bits<N> for Lanes<$word, N> {
            type Word = $word;

            #[inline(always)]
            fn splat(word: $word) -> Self {
                Lanes([word; N])
            }

            #[inline(always)]
            fn from_lanes(lanes: Self) -> Self {
                lanes
            }

            #[inline(always)]
            fn to_lanes(self) -> Self {
                self
            }

            #[inline(always)]
            fn shift_left<const BY: u32>(self) -> Self {
                self.map(|word| word << BY)
            }

            #[inline(always)]
            fn shift_right<const BY: u32>(self) -> Self {
                self.map(|word| word >> BY)
            }

            #[inline(always)]
            fn rotate_left<const BY: u32>(self) -> Self {
                self.map(|word| word.rotate_left(BY))
            }
        }
    };
}

vector!(f64, u64,);
vector!(
    f32,
    u32,
    #[inline(always)]
    fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
        over_root(self, square, factor, term)
    }
);

impl<const N: usize> Singles<N> for Lanes<f32, N> {
    #[inline(always)]
    fn from_integers(integers: Lanes<u32, N>) -> Self {
        Lanes::from_fn(|lane| integers.0[lane] as i32 as f32)
    }

    #[inline(always)]
    fn shift_right_signed<const BY: u32>(integers: Lanes<u32, N>) -> Lanes<u32, N> {
        integers.map(|word| (word as i32 >> BY) as u32)
    }
}
