//! Vectors in the registers of AVX-512 and of AVX2.
//!
//! A value of these types must only be made where the instructions have been detected, in functions that enable them,
//! which [`crate::instructions`] ensures: every operation is inlined there and becomes one or a few instructions for
//! each register. Operations on types of several registers are independent, so that the processor need not wait for the
//! result of one before it begins the next.

mod avx2;
mod avx512;

pub use avx2::{F32x8x4, F64x4x2};
pub use avx512::{F32x16x4, F64x8, F64x8x4};

/// Operators that act register by register.
macro_rules! operators {
    ($type:ident $registers:tt: $($trait:ident $method:ident $intrinsic:ident),*) => {$(
        operators!(one $type $registers $trait $method $intrinsic);
    )*};
    (one $type:ident [$($register:tt)*] $trait:ident $method:ident $intrinsic:ident) => {
        impl $trait for $type {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the type is only used where its instructions are enabled.
                $type(unsafe { [$($intrinsic(self.0[$register], other.0[$register])),*] })
            }
        }
    };
}

/// A type of floating-point numbers and the type of their bits: the parts common to both instruction sets.
macro_rules! vector {
    (
        $(#[$doc:meta])* $floats:ident($float_register:ident), $words:ident($word_register:ident),
        registers: [$($register:tt)*] of $per_register:literal, lanes: $lanes:literal, $number:ident, $word:ident,
        float: $set:ident $sqrt:ident $fma:ident $load:ident $store:ident $min:ident $max:ident
            $add:ident $sub:ident $mul:ident $div:ident,
        cast: $to_integer:ident $from_integer:ident,
        word: $set_word:ident($signed:ident) $load_words:ident $store_words:ident $add_words:ident $sub_words:ident
            $and:ident $or:ident $xor:ident,
        $($item:item)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $floats([$float_register; $lanes / $per_register]);
        /// The bits of such numbers.
        #[derive(Clone, Copy)]
        pub struct $words([$word_register; $lanes / $per_register]);

        operators!($floats [$($register)*]: Add add $add, Sub sub $sub, Mul mul $mul, Div div $div);
        operators!($words [$($register)*]: Add add $add_words, Sub sub $sub_words, BitAnd bitand $and,
            BitOr bitor $or, BitXor bitxor $xor);

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
                $floats([unsafe { $set(value as $number) }; $lanes / $per_register])
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $floats(unsafe { [$($sqrt(self.0[$register])),*] })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                Self::from_bits(self.to_bits() & $words::splat(!(1 << ($word::BITS - 1))))
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $floats(unsafe { [$($fma(self.0[$register], factor.0[$register], term.0[$register])),*] })
            }

            #[inline(always)]
            fn sign(self) -> Self {
                $floats(unsafe { [$(Self::sign_of_register(self.0[$register])),*] })
            }

            // The instruction gives its second operand where either is NaN.
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                $floats(unsafe { [$($max(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn less(self, other: Self) -> Self {
                $floats(unsafe { [$(Self::compare_register::<_CMP_LT_OQ>(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> Self {
                $floats(unsafe { [$(Self::compare_register::<_CMP_LE_OQ>(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn equals(self, other: Self) -> Self {
                $floats(unsafe { [$(Self::compare_register::<_CMP_EQ_OQ>(self.0[$register], other.0[$register])),*] })
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                $floats(unsafe {
                    [$(Self::choose_register(self.0[$register], then.0[$register], otherwise.0[$register])),*]
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
                $floats(unsafe { [$($load(lanes.0.as_ptr().add($register * $per_register))),*] })
            }

            #[inline(always)]
            fn to_lanes(self) -> Lanes<$number, $lanes> {
                let mut lanes = Lanes([0.0; $lanes]);
                $(unsafe { $store(lanes.0.as_mut_ptr().add($register * $per_register), self.0[$register]) };)*
                lanes
            }

            #[inline(always)]
            fn from_bits(bits: $words) -> Self {
                $floats(unsafe { [$($from_integer(bits.0[$register])),*] })
            }

            #[inline(always)]
            fn to_bits(self) -> $words {
                $words(unsafe { [$($to_integer(self.0[$register])),*] })
            }

            // The instruction gives its second operand where either is NaN.
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                $floats(unsafe { [$($min(self.0[$register], other.0[$register])),*] })
            }
        }

        impl Bits<$lanes> for $words {
            type Word = $word;

            #[inline(always)]
            fn splat(word: $word) -> Self {
                $words([unsafe { $set_word(word as $signed) }; $lanes / $per_register])
            }

            #[inline(always)]
            fn from_lanes(lanes: Lanes<$word, $lanes>) -> Self {
                $words(unsafe { [$($load_words(lanes.0.as_ptr().add($register * $per_register).cast())),*] })
            }

            #[inline(always)]
            fn to_lanes(self) -> Lanes<$word, $lanes> {
                let mut lanes = Lanes([0; $lanes]);
                $(
                    let target = unsafe { lanes.0.as_mut_ptr().add($register * $per_register) };
                    unsafe { $store_words(target.cast(), self.0[$register]) };
                )*
                lanes
            }

            #[inline(always)]
            fn shift_left<const BY: u32>(self) -> Self {
                $words(unsafe { [$(Self::shift_register_left::<BY>(self.0[$register])),*] })
            }

            #[inline(always)]
            fn shift_right<const BY: u32>(self) -> Self {
                $words(unsafe { [$(Self::shift_register_right::<BY>(self.0[$register])),*] })
            }

            #[inline(always)]
            fn rotate_left<const BY: u32>(self) -> Self {
                $words(unsafe { [$(Self::rotate_register_left::<BY>(self.0[$register])),*] })
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

use {joined, operators, vector};
