//! Vectors in the registers of AVX-512 and of AVX2.
//!
//! A value of these types must only be made where the instructions have been detected, in functions that enable them,
//! which [`crate::instructions`] ensures: every operation is inlined there and becomes one or a few instructions for
//! each register. Operations on types of several registers are independent, so that the processor need not wait for the
//! result of one before it begins the next.
//!
//! The modules `avx2` and `avx512` give the operations on one register the same names; macros define the types from
//! these, once for both sets.

use std::arch::x86_64::{_CMP_EQ_OQ, _CMP_LE_OQ, _CMP_LT_OQ};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

use super::{Arithmetic, Bits, Both, Lanes, Planar, Real, Relation, Singles, Vector, over_root, planar};

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
        $(, $of_real:item)? $(; $of_both:item)*
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

        impl Arithmetic for $floats {
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
            fn compared(self, relation: Relation, other: Self) -> Self {
                macro_rules! compared {
                    ($relation:ident) => {
                        [$($set::$kind::compare_as_number::<$relation>(self.0[$register], other.0[$register])),*]
                    };
                }
                $floats(unsafe {
                    match relation {
                        Relation::Less => compared!(_CMP_LT_OQ),
                        Relation::AtMost => compared!(_CMP_LE_OQ),
                        Relation::Equal => compared!(_CMP_EQ_OQ),
                    }
                })
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                $floats(unsafe {
                    [$($set::$kind::choose(self.0[$register], then.0[$register], otherwise.0[$register])),*]
                })
            }

            $($of_both)*
        }

        impl Real for $floats {
            #[inline(always)]
            fn of_each(self, function: fn(f64) -> f64) -> Self {
                Self::from_lanes(self.to_lanes().of_each(function))
            }

            #[inline(always)]
            fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
                Self::from_lanes(self.to_lanes().of_each_pair(other.to_lanes(), function))
            }

            $($of_real)?
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

#[inline(always)]
fn norm_of_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([x.mul_add(x, y * y).sqrt(); 2])
}

#[inline(always)]
fn mean_of_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([V::splat(0.5) * (x + y); 2])
}

#[inline(always)]
fn exchanged_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([y, x])
}

#[inline(always)]
fn sum_of_both<V: Planar>(both: V::Both) -> V::Both {
    let [x, y] = V::apart(both);
    V::both([x + y; 2])
}

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
            };
            #[inline(always)]
            fn norm(self) -> Self {
                norm_of_both::<$one>(self)
            };
            #[inline(always)]
            fn mean(self) -> Self {
                mean_of_both::<$one>(self)
            };
            #[inline(always)]
            fn exchanged(self) -> Self {
                exchanged_both::<$one>(self)
            };
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

/// The operations on a register of AVX2, with fused multiply-add.
mod avx2 {
    /// The operations that are made of several instructions, in a module that names these.
    macro_rules! operations {
        () => {
            // SAFETY of all blocks below: the functions are only called where their instructions are enabled.

            /// −1, 0 or 1; NaN stays.
            #[inline(always)]
            pub(crate) unsafe fn sign(register: Floats) -> Floats {
                unsafe {
                    let one = or(and(register, set(-0.0)), set(1.0));
                    let signs = and(compare::<_CMP_NEQ_OQ>(register, zero()), one);
                    blend(signs, register, compare::<_CMP_UNORD_Q>(register, register))
                }
            }

            /// 1 where the relation holds, else 0.
            #[inline(always)]
            pub(crate) unsafe fn compare_as_number<const RELATION: i32>(a: Floats, b: Floats) -> Floats {
                unsafe { and(compare::<RELATION>(a, b), set(1.0)) }
            }

            /// `then` where the condition is not 0, else `otherwise`.
            #[inline(always)]
            pub(crate) unsafe fn choose(condition: Floats, then: Floats, otherwise: Floats) -> Floats {
                unsafe { blend(otherwise, then, compare::<_CMP_NEQ_UQ>(condition, zero())) }
            }

            #[inline(always)]
            pub(crate) unsafe fn shift_left<const BY: u32>(register: Words) -> Words {
                unsafe { left(register, _mm_cvtsi32_si128(BY as i32)) }
            }

            #[inline(always)]
            pub(crate) unsafe fn shift_right<const BY: u32>(register: Words) -> Words {
                unsafe { right(register, _mm_cvtsi32_si128(BY as i32)) }
            }

            #[inline(always)]
            pub(crate) unsafe fn rotate_left<const BY: u32>(register: Words) -> Words {
                unsafe {
                    let left = left(register, _mm_cvtsi32_si128(BY as i32));
                    let right = right(register, _mm_cvtsi32_si128((Word::BITS - BY) as i32));
                    or_words(left, right)
                }
            }
        };
    }

    /// Four doubles.
    pub(super) mod doubles {
        pub(crate) use std::arch::x86_64::{
            __m256d as Floats, __m256i as Words, _mm256_add_epi64 as add_words, _mm256_add_pd as add,
            _mm256_and_si256 as and_words, _mm256_castpd_si256 as to_integer, _mm256_castsi256_pd as from_integer,
            _mm256_div_pd as div, _mm256_fmadd_pd as fma, _mm256_load_pd as load, _mm256_load_si256 as load_words,
            _mm256_max_pd as max, _mm256_min_pd as min, _mm256_mul_pd as mul, _mm256_or_si256 as or_words,
            _mm256_set1_epi64x as set_word, _mm256_set1_pd as set, _mm256_sqrt_pd as sqrt, _mm256_store_pd as store,
            _mm256_store_si256 as store_words, _mm256_sub_epi64 as sub_words, _mm256_sub_pd as sub,
            _mm256_xor_si256 as xor_words,
        };
        use std::arch::x86_64::{
            _CMP_NEQ_OQ, _CMP_NEQ_UQ, _CMP_UNORD_Q, _mm_cvtsi32_si128, _mm256_and_pd as and, _mm256_blendv_pd as blend,
            _mm256_cmp_pd as compare, _mm256_or_pd as or, _mm256_setzero_pd as zero, _mm256_sll_epi64 as left,
            _mm256_srl_epi64 as right,
        };

        pub(crate) type Word = i64;

        operations!();
    }

    /// Eight singles.
    pub(super) mod singles {
        pub(crate) use std::arch::x86_64::{
            __m256 as Floats, __m256i as Words, _mm256_add_epi32 as add_words, _mm256_add_ps as add,
            _mm256_and_si256 as and_words, _mm256_castps_si256 as to_integer, _mm256_castsi256_ps as from_integer,
            _mm256_cvtepi32_ps as of_integers, _mm256_div_ps as div, _mm256_fmadd_ps as fma, _mm256_load_ps as load,
            _mm256_load_si256 as load_words, _mm256_max_ps as max, _mm256_min_ps as min, _mm256_mul_ps as mul,
            _mm256_or_si256 as or_words, _mm256_set1_epi32 as set_word, _mm256_set1_ps as set, _mm256_sqrt_ps as sqrt,
            _mm256_store_ps as store, _mm256_store_si256 as store_words, _mm256_sub_epi32 as sub_words,
            _mm256_sub_ps as sub, _mm256_xor_si256 as xor_words,
        };
        use std::arch::x86_64::{
            _CMP_NEQ_OQ, _CMP_NEQ_UQ, _CMP_UNORD_Q, _mm_cvtsi32_si128, _mm256_and_ps as and, _mm256_blendv_ps as blend,
            _mm256_cmp_ps as compare, _mm256_or_ps as or, _mm256_setzero_ps as zero, _mm256_sll_epi32 as left,
            _mm256_sra_epi32, _mm256_srl_epi32 as right,
        };

        pub(crate) type Word = i32;

        operations!();

        /// Signed integers divided by `2^BY`, rounded down.
        #[inline(always)]
        pub(crate) unsafe fn shift_right_signed<const BY: u32>(register: Words) -> Words {
            unsafe { _mm256_sra_epi32(register, _mm_cvtsi32_si128(BY as i32)) }
        }
    }
}

/// The operations on a register of AVX-512 (F and DQ).
mod avx512 {
    /// The fix-up instruction's result for each class of number, four bits each from the lowest: quiet and signalling
    /// NaN stay NaN, ±0 becomes 0; one, −∞, +∞, negative and positive become ±1.
    const SIGNS: i32 = 0xa9a9_a821_u32 as i32;

    /// The operations that are made of several instructions, in a module that names these.
    macro_rules! operations {
        () => {
            // SAFETY of all blocks below: the functions are only called where their instructions are enabled.

            /// −1, 0 or 1; NaN stays.
            #[inline(always)]
            pub(crate) unsafe fn sign(register: Floats) -> Floats {
                unsafe { fix_up::<0>(register, register, set_word(super::SIGNS as Word)) }
            }

            /// 1 where the relation holds, else 0.
            #[inline(always)]
            pub(crate) unsafe fn compare_as_number<const RELATION: i32>(a: Floats, b: Floats) -> Floats {
                unsafe { keep(compare::<RELATION>(a, b), set(1.0)) }
            }

            /// `then` where the condition is not 0, else `otherwise`.
            #[inline(always)]
            pub(crate) unsafe fn choose(condition: Floats, then: Floats, otherwise: Floats) -> Floats {
                unsafe { blend(compare::<_CMP_NEQ_UQ>(condition, set(0.0)), otherwise, then) }
            }

            #[inline(always)]
            pub(crate) unsafe fn rotate_left<const BY: u32>(register: Words) -> Words {
                unsafe { rotate(register, set_word(BY as Word)) }
            }
        };
    }

    /// Eight doubles.
    pub(super) mod doubles {
        pub(crate) use std::arch::x86_64::{
            __m512d as Floats, __m512i as Words, _mm512_add_epi64 as add_words, _mm512_add_pd as add,
            _mm512_and_si512 as and_words, _mm512_castpd_si512 as to_integer, _mm512_castsi512_pd as from_integer,
            _mm512_div_pd as div, _mm512_fmadd_pd as fma, _mm512_load_pd as load, _mm512_load_si512 as load_words,
            _mm512_max_pd as max, _mm512_min_pd as min, _mm512_mul_pd as mul, _mm512_or_si512 as or_words,
            _mm512_set1_epi64 as set_word, _mm512_set1_pd as set, _mm512_slli_epi64 as shift_left,
            _mm512_sqrt_pd as sqrt, _mm512_srli_epi64 as shift_right, _mm512_store_pd as store,
            _mm512_store_si512 as store_words, _mm512_sub_epi64 as sub_words, _mm512_sub_pd as sub,
            _mm512_xor_si512 as xor_words,
        };
        use std::arch::x86_64::{
            _CMP_NEQ_UQ, _mm512_cmp_pd_mask as compare, _mm512_fixupimm_pd as fix_up, _mm512_mask_blend_pd as blend,
            _mm512_maskz_mov_pd as keep, _mm512_rolv_epi64 as rotate,
        };

        pub(crate) type Word = i64;

        operations!();
    }

    /// Sixteen singles.
    pub(super) mod singles {
        pub(crate) use std::arch::x86_64::{
            __m512 as Floats, __m512i as Words, _mm512_add_epi32 as add_words, _mm512_add_ps as add,
            _mm512_and_si512 as and_words, _mm512_castps_si512 as to_integer, _mm512_castsi512_ps as from_integer,
            _mm512_cvtepi32_ps as of_integers, _mm512_div_ps as div, _mm512_fmadd_ps as fma, _mm512_load_ps as load,
            _mm512_load_si512 as load_words, _mm512_max_ps as max, _mm512_min_ps as min, _mm512_mul_ps as mul,
            _mm512_or_si512 as or_words, _mm512_set1_epi32 as set_word, _mm512_set1_ps as set,
            _mm512_slli_epi32 as shift_left, _mm512_sqrt_ps as sqrt, _mm512_srai_epi32 as shift_right_signed,
            _mm512_srli_epi32 as shift_right, _mm512_store_ps as store, _mm512_store_si512 as store_words,
            _mm512_sub_epi32 as sub_words, _mm512_sub_ps as sub, _mm512_xor_si512 as xor_words,
        };
        use std::arch::x86_64::{
            _CMP_NEQ_UQ, _mm512_cmp_ps_mask as compare, _mm512_fixupimm_ps as fix_up, _mm512_mask_blend_ps as blend,
            _mm512_maskz_mov_ps as keep, _mm512_rolv_epi32 as rotate,
        };

        pub(crate) type Word = i32;

        operations!();
    }
}
