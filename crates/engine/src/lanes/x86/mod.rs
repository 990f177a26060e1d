//! Vectors in the registers of AVX-512 and of AVX2.
//!
//! A value of these types must only be made where the instructions have been detected, in functions that enable them,
//! which [`crate::instructions`] ensures: every operation is inlined there and becomes one or a few instructions for
//! each register. Operations on types of several registers are independent, so that the processor need not wait for the
//! result of one before it begins the next.
//!
//! The modules `avx2` and `avx512` give the operations on one register the same names; the types are defined of these
//! here, once for both sets.

mod avx2;
mod avx512;

use std::arch::x86_64::{_CMP_EQ_OQ, _CMP_LE_OQ, _CMP_LT_OQ};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

use crate::lanes::both::{Both, planar};
use crate::lanes::root::over_root;
use crate::lanes::{Bits, Lanes, Planar, Real, Singles, Vector};

/// Operators that act register by register.
macro_rules! operators {
    ($type:ident $registers:tt: $($trait:ident $method:ident $operation:path),*) => {$(
        operators!(one $type $registers $trait $method $operation);
    )*};
    (one $type:ident [$($register:tt)*] $trait:ident $method:ident $operation:path) => {
        impl $trait for $type {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the type is only used where its instructions are enabled.
                $type(unsafe { [$($operation(self.0[$register], other.0[$register])),*] })
            }
        }
    };
}

/// A type of floating-point numbers in some registers and the type of their bits, with the operations that a module
/// such as `avx2::doubles` names.
macro_rules! vector {
    (
        $(#[$doc:meta])* $floats:ident $words:ident: $set:ident::$kind:ident($number:ident, $word:ident),
        [$($register:tt)*] of $per_register:literal, lanes: $lanes:literal
        $(, $item:item)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $floats([$set::$kind::Floats; $lanes / $per_register]);
        /// The bits of such numbers.
        #[derive(Clone, Copy)]
        pub struct $words([$set::$kind::Words; $lanes / $per_register]);

        operators!($floats [$($register)*]: Add add $set::$kind::add, Sub sub $set::$kind::sub, Mul mul $set::$kind::mul,
            Div div $set::$kind::div);
        operators!($words [$($register)*]: Add add $set::$kind::add_words, Sub sub $set::$kind::sub_words,
            BitAnd bitand $set::$kind::and_words, BitOr bitor $set::$kind::or_words,
            BitXor bitxor $set::$kind::xor_words);

        // SAFETY of all blocks below: the types are only used where their instructions are enabled; loads and
        // stores go through references to `Lanes`, which are aligned to 64 bytes.

        impl Neg for $floats {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                Self::from_bits(self.to_bits() ^ $words::splat(1 << ($word::BITS - 1)))
            }
        }

        impl Real for $floats {
            #[inline(always)]
            fn splat(value: f64) -> Self {
                $floats([unsafe { $set::$kind::set(value as $number) }; $lanes / $per_register])
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $floats(unsafe { [$($set::$kind::sqrt(self.0[$register])),*] })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                Self::from_bits(self.to_bits() & $words::splat(!(1 << ($word::BITS - 1))))
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $floats(unsafe { [$($set::$kind::fma(self.0[$register], factor.0[$register], term.0[$register])),*] })
            }

            #[inline(always)]
            fn sign(self) -> Self {
                $floats(unsafe { [$($set::$kind::sign(self.0[$register])),*] })
            }

            // The instruction gives its second operand where either is NaN.
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                $floats(unsafe { [$($set::$kind::max(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn less(self, other: Self) -> Self {
                $floats(unsafe { [$($set::$kind::compare_as_number::<_CMP_LT_OQ>(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> Self {
                $floats(unsafe { [$($set::$kind::compare_as_number::<_CMP_LE_OQ>(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn equals(self, other: Self) -> Self {
                $floats(unsafe { [$($set::$kind::compare_as_number::<_CMP_EQ_OQ>(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                $floats(unsafe {
                    [$($set::$kind::choose(self.0[$register], then.0[$register], otherwise.0[$register])),*]
                })
            }

            #[inline(always)]
            fn of_each(self, function: fn(f64) -> f64) -> Self {
                Self::from_lanes(self.to_lanes().of_each(function))
            }

            #[inline(always)]
            fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
                Self::from_lanes(self.to_lanes().of_each_pair(other.to_lanes(), function))
            }

            $($item)*
        }

        impl Vector<$lanes> for $floats {
            type Number = $number;
            type Bits = $words;

            #[inline(always)]
            fn from_lanes(lanes: Lanes<$number, $lanes>) -> Self {
                $floats(unsafe { [$($set::$kind::load(lanes.0.as_ptr().add($register * $per_register))),*] })
            }

            #[inline(always)]
            fn to_lanes(self) -> Lanes<$number, $lanes> {
                let mut lanes = Lanes([0.0; $lanes]);
                $(unsafe { $set::$kind::store(lanes.0.as_mut_ptr().add($register * $per_register), self.0[$register]) };)*
                lanes
            }

            #[inline(always)]
            fn from_bits(bits: $words) -> Self {
                $floats(unsafe { [$($set::$kind::from_integer(bits.0[$register])),*] })
            }

            #[inline(always)]
            fn to_bits(self) -> $words {
                $words(unsafe { [$($set::$kind::to_integer(self.0[$register])),*] })
            }

            // The instruction gives its second operand where either is NaN.
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                $floats(unsafe { [$($set::$kind::min(self.0[$register], other.0[$register])),*] })
            }
        }

        impl Bits<$lanes> for $words {
            type Word = $word;

            #[inline(always)]
            fn splat(word: $word) -> Self {
                $words([unsafe { $set::$kind::set_word(word as $set::$kind::Word) }; $lanes / $per_register])
            }

            #[inline(always)]
            fn from_lanes(lanes: Lanes<$word, $lanes>) -> Self {
                $words(unsafe { [$($set::$kind::load_words(lanes.0.as_ptr().add($register * $per_register).cast())),*] })
            }

            #[inline(always)]
            fn to_lanes(self) -> Lanes<$word, $lanes> {
                let mut lanes = Lanes([0; $lanes]);
                $(
                    let target = unsafe { lanes.0.as_mut_ptr().add($register * $per_register) };
                    unsafe { $set::$kind::store_words(target.cast(), self.0[$register]) };
                )*
                lanes
            }

            #[inline(always)]
            fn shift_left<const BY: u32>(self) -> Self {
                $words(unsafe { [$($set::$kind::shift_left::<BY>(self.0[$register])),*] })
            }

            #[inline(always)]
            fn shift_right<const BY: u32>(self) -> Self {
                $words(unsafe { [$($set::$kind::shift_right::<BY>(self.0[$register])),*] })
            }

            #[inline(always)]
            fn rotate_left<const BY: u32>(self) -> Self {
                $words(unsafe { [$($set::$kind::rotate_left::<BY>(self.0[$register])),*] })
            }
        }
    };
}

/// Joins two vectors, for x and y, into one of twice as many registers.
macro_rules! joined {
    ($one:ident [$($register:tt)*] $two:ident) => {
        impl Planar for $one {
            type Both = $two;

            #[inline(always)]
            fn both([x, y]: [Self; 2]) -> $two {
                $two([$(x.0[$register],)* $(y.0[$register]),*])
            }

            #[inline(always)]
            fn apart(both: $two) -> [Self; 2] {
                const HALF: usize = [$($register),*].len();
                [$one([$(both.0[$register]),*]), $one([$(both.0[HALF + $register]),*])]
            }
        }
    };
}

/// Returns the norm of two coordinates that are joined to one vector.
#[inline(always)]
fn norm_of_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([x.mul_add(x, y * y).sqrt(); 2])
}

/// Returns the mean of two coordinates that are joined to one vector.
#[inline(always)]
fn mean_of_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([V::splat(0.5) * (x + y); 2])
}

/// Exchanges the two coordinates that are joined to one vector.
#[inline(always)]
fn exchanged_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([y, x])
}

/// Returns the sum of two coordinates that are joined to one vector.
#[inline(always)]
fn sum_of_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([x + y; 2])
}

/// A vector of doubles.
macro_rules! doubles {
    ($(#[$doc:meta])* $floats:ident $words:ident: $set:ident [$($register:tt)*] of $per_register:literal, $lanes:literal) => {
        vector!(
            $(#[$doc])* $floats $words: $set::doubles(f64, u64),
            [$($register)*] of $per_register, lanes: $lanes
        );
    };
}

/// A vector of singles, and one of twice as many registers for x and y.
macro_rules! singles {
    (
        $set:ident of $per_register:literal:
        $(#[$doc:meta])* $one:ident $words_of_one:ident [$($register:tt)*] $lanes:literal,
        $(#[$doc_of_two:meta])* $two:ident $words_of_two:ident [$($both:tt)*] $lanes_of_two:literal
    ) => {
        vector!(
            $(#[$doc])* $one $words_of_one: $set::singles(f32, u32), [$($register)*] of $per_register, lanes: $lanes,
            #[inline(always)]
            fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
                over_root(self, square, factor, term)
            }
        );
        vector!(
            $(#[$doc_of_two])* $two $words_of_two: $set::singles(f32, u32), [$($both)*] of $per_register,
            lanes: $lanes_of_two,
            #[inline(always)]
            fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
                over_root(self, square, factor, term)
            },
            #[inline(always)]
            fn norm(self) -> Self {
                norm_of_both::<$one>(self)
            },
            #[inline(always)]
            fn mean(self) -> Self {
                mean_of_both::<$one>(self)
            },
            #[inline(always)]
            fn exchanged(self) -> Self {
                exchanged_both::<$one>(self)
            },
            #[inline(always)]
            fn sum(self) -> Self {
                sum_of_both::<$one>(self)
            }
        );
        joined!($one [$($register)*] $two);

        impl Singles<$lanes> for $one {
            #[inline(always)]
            fn from_integers(integers: $words_of_one) -> Self {
                // SAFETY: the type is only used where its instructions are enabled.
                $one(unsafe { [$($set::singles::of_integers(integers.0[$register])),*] })
            }

            #[inline(always)]
            fn shift_right_signed<const BY: u32>(integers: $words_of_one) -> $words_of_one {
                // SAFETY: as above.
                $words_of_one(unsafe { [$($set::singles::shift_right_signed::<BY>(integers.0[$register])),*] })
            }
        }
    };
}

doubles!(
    /// Eight doubles in two registers of AVX2.
    F64x4x2 U64x4x2: avx2 [0 1] of 4, 8
);
doubles!(
    /// Eight doubles in one register of AVX-512.
    F64x8 U64x8: avx512 [0] of 8, 8
);
doubles!(
    /// Thirty-two doubles in four registers of AVX-512.
    F64x8x4 U64x8x4: avx512 [0 1 2 3] of 8, 32
);
planar! {
    impl for F64x4x2;
    impl for F64x8;
    impl for F64x8x4;
}
singles!(
    avx2 of 8:
    /// Thirty-two singles in four registers of AVX2.
    F32x8x4 U32x8x4 [0 1 2 3] 32,
    /// Sixty-four singles in eight registers of AVX2.
    F32x8x8 U32x8x8 [0 1 2 3 4 5 6 7] 64
);
singles!(
    avx512 of 16:
    /// Sixty-four singles in four registers of AVX-512.
    F32x16x4 U32x16x4 [0 1 2 3] 64,
    /// A hundred and twenty-eight singles in eight registers of AVX-512.
    F32x16x8 U32x16x8 [0 1 2 3 4 5 6 7] 128
);
