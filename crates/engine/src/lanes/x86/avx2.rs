//! Doubles and singles in registers of AVX2, with fused multiply-add.

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

use crate::lanes::both::{exchanged_both, mean_of_both, norm_of_both, sum_of_both};
use crate::lanes::root::over_root;
use crate::lanes::{Bits, Lanes, Planar, Real, Singles, Vector};

use super::{joined, operators, vector};

macro_rules! registers {
    (
        $floats:ident($float_register:ident), $words:ident, $word:ident, $set:ident, $zero:ident, $and:ident,
        $or:ident, $compare:ident, $blend:ident, $left:ident, $right:ident
    ) => {
        // SAFETY of all blocks below: the types are only used where their instructions are enabled.

        impl $floats {
            #[inline(always)]
            unsafe fn sign_of_register(register: $float_register) -> $float_register {
                unsafe {
                    let one = $or($and(register, $set(-0.0)), $set(1.0));
                    let signs = $and($compare::<_CMP_NEQ_OQ>(register, $zero()), one);
                    $blend(signs, register, $compare::<_CMP_UNORD_Q>(register, register))
                }
            }

            /// 1 where the relation holds, else 0.
            #[inline(always)]
            unsafe fn compare_register<const RELATION: i32>(a: $float_register, b: $float_register) -> $float_register {
                unsafe { $and($compare::<RELATION>(a, b), $set(1.0)) }
            }

            #[inline(always)]
            unsafe fn choose_register(
                condition: $float_register,
                then: $float_register,
                otherwise: $float_register,
            ) -> $float_register {
                unsafe { $blend(otherwise, then, $compare::<_CMP_NEQ_UQ>(condition, $zero())) }
            }
        }

        impl $words {
            #[inline(always)]
            unsafe fn shift_register_left<const BY: u32>(register: __m256i) -> __m256i {
                unsafe { $left(register, _mm_cvtsi32_si128(BY as i32)) }
            }

            #[inline(always)]
            unsafe fn shift_register_right<const BY: u32>(register: __m256i) -> __m256i {
                unsafe { $right(register, _mm_cvtsi32_si128(BY as i32)) }
            }

            #[inline(always)]
            unsafe fn rotate_register_left<const BY: u32>(register: __m256i) -> __m256i {
                unsafe {
                    let left = $left(register, _mm_cvtsi32_si128(BY as i32));
                    let right = $right(register, _mm_cvtsi32_si128(($word::BITS - BY) as i32));
                    _mm256_or_si256(left, right)
                }
            }
        }
    };
}

macro_rules! doubles {
    ($(#[$doc:meta])* $floats:ident $words:ident [$($register:tt)*] $lanes:literal) => {
        vector!(
            $(#[$doc])*
            $floats(__m256d), $words(__m256i),
            registers: [$($register)*] of 4, lanes: $lanes, f64, u64,
            float: _mm256_set1_pd _mm256_sqrt_pd _mm256_fmadd_pd _mm256_load_pd _mm256_store_pd _mm256_min_pd _mm256_max_pd
                _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd,
            cast: _mm256_castpd_si256 _mm256_castsi256_pd,
            word: _mm256_set1_epi64x(i64) _mm256_load_si256 _mm256_store_si256 _mm256_add_epi64 _mm256_sub_epi64
                _mm256_and_si256 _mm256_or_si256 _mm256_xor_si256,
        );
        registers!(
            $floats(__m256d),
            $words,
            u64,
            _mm256_set1_pd,
            _mm256_setzero_pd,
            _mm256_and_pd,
            _mm256_or_pd,
            _mm256_cmp_pd,
            _mm256_blendv_pd,
            _mm256_sll_epi64,
            _mm256_srl_epi64
        );
    };
}

doubles!(
    /// Eight doubles in two registers.
    F64x4x2 U64x4x2 [0 1] 8
);

macro_rules! singles {
    ($(#[$doc:meta])* $floats:ident $words:ident [$($register:tt)*] $lanes:literal $($item:item)*) => {
        vector!(
            $(#[$doc])*
            $floats(__m256), $words(__m256i),
            registers: [$($register)*] of 8, lanes: $lanes, f32, u32,
            float: _mm256_set1_ps _mm256_sqrt_ps _mm256_fmadd_ps _mm256_load_ps _mm256_store_ps _mm256_min_ps _mm256_max_ps
                _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps,
            cast: _mm256_castps_si256 _mm256_castsi256_ps,
            word: _mm256_set1_epi32(i32) _mm256_load_si256 _mm256_store_si256 _mm256_add_epi32 _mm256_sub_epi32
                _mm256_and_si256 _mm256_or_si256 _mm256_xor_si256,
            #[inline(always)]
            fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
                over_root(self, square, factor, term)
            }

            $($item)*
        );
        registers!(
            $floats(__m256),
            $words,
            u32,
            _mm256_set1_ps,
            _mm256_setzero_ps,
            _mm256_and_ps,
            _mm256_or_ps,
            _mm256_cmp_ps,
            _mm256_blendv_ps,
            _mm256_sll_epi32,
            _mm256_srl_epi32
        );
    };
}

singles!(
    /// Thirty-two singles in four registers.
    F32x8x4 U32x8x4 [0 1 2 3] 32
);
singles!(
    /// Sixty-four singles in eight registers.
    F32x8x8 U32x8x8 [0 1 2 3 4 5 6 7] 64
    #[inline(always)]
    fn norm(self) -> Self {
        norm_of_both::<F32x8x4>(self)
    }
    #[inline(always)]
    fn mean(self) -> Self {
        mean_of_both::<F32x8x4>(self)
    }
    #[inline(always)]
    fn exchanged(self) -> Self {
        exchanged_both::<F32x8x4>(self)
    }
    #[inline(always)]
    fn sum(self) -> Self {
        sum_of_both::<F32x8x4>(self)
    }
);

joined!(F32x8x4 [0 1 2 3] F32x8x8);

impl Singles<32> for F32x8x4 {
    #[inline(always)]
    fn from_integers(integers: U32x8x4) -> Self {
        let [a, b, c, d] = integers.0;
        // SAFETY: the type is only used where its instructions are enabled.
        F32x8x4(unsafe { [_mm256_cvtepi32_ps(a), _mm256_cvtepi32_ps(b), _mm256_cvtepi32_ps(c), _mm256_cvtepi32_ps(d)] })
    }

    #[inline(always)]
    fn shift_right_signed<const BY: u32>(integers: U32x8x4) -> U32x8x4 {
        let [a, b, c, d] = integers.0;
        // SAFETY: as above.
        U32x8x4(unsafe {
            let by = _mm_cvtsi32_si128(BY as i32);
            [_mm256_sra_epi32(a, by), _mm256_sra_epi32(b, by), _mm256_sra_epi32(c, by), _mm256_sra_epi32(d, by)]
        })
    }
}
