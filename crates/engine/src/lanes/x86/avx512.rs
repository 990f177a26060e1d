//! Doubles and singles in registers of AVX-512 (F and DQ).

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

use crate::lanes::both::{exchanged_both, mean_of_both, norm_of_both, sum_of_both};
use crate::lanes::root::over_root;
use crate::lanes::{Bits, Lanes, Planar, Real, Singles, Vector};

use super::{joined, operators, vector};

/// The fix-up instruction's result for each class of number, four bits each from the lowest: quiet and signalling NaN
/// stay NaN, ±0 becomes 0; one, −∞, +∞, negative and positive become ±1.
const SIGNS: i32 = 0xa9a9_a821_u32 as i32;

macro_rules! registers {
    (
        $floats:ident($float_register:ident, $word_register:ident), $words:ident, $fix_up:ident, $set:ident,
        $compare:ident, $keep:ident, $blend:ident, $set_word:ident($signed:ident), $left:ident, $right:ident, $rotate:ident
    ) => {
        // SAFETY of all blocks below: the types are only used where their instructions are enabled.

        impl $floats {
            #[inline(always)]
            unsafe fn sign_of_register(register: $float_register) -> $float_register {
                unsafe { $fix_up::<0>(register, register, $set_word(SIGNS as $signed)) }
            }

            /// 1 where the relation holds, else 0.
            #[inline(always)]
            unsafe fn compare_register<const RELATION: i32>(a: $float_register, b: $float_register) -> $float_register {
                unsafe { $keep($compare::<RELATION>(a, b), $set(1.0)) }
            }

            #[inline(always)]
            unsafe fn choose_register(
                condition: $float_register,
                then: $float_register,
                otherwise: $float_register,
            ) -> $float_register {
                unsafe { $blend($compare::<_CMP_NEQ_UQ>(condition, $set(0.0)), otherwise, then) }
            }
        }

        impl $words {
            #[inline(always)]
            unsafe fn shift_register_left<const BY: u32>(register: $word_register) -> $word_register {
                unsafe { $left::<BY>(register) }
            }

            #[inline(always)]
            unsafe fn shift_register_right<const BY: u32>(register: $word_register) -> $word_register {
                unsafe { $right::<BY>(register) }
            }

            #[inline(always)]
            unsafe fn rotate_register_left<const BY: u32>(register: $word_register) -> $word_register {
                unsafe { $rotate(register, $set_word(BY as $signed)) }
            }
        }
    };
}

macro_rules! doubles {
    ($(#[$doc:meta])* $floats:ident $words:ident [$($register:tt)*] $lanes:literal) => {
        vector!(
            $(#[$doc])*
            $floats(__m512d), $words(__m512i),
            registers: [$($register)*] of 8, lanes: $lanes, f64, u64,
            float: _mm512_set1_pd _mm512_sqrt_pd _mm512_fmadd_pd _mm512_load_pd _mm512_store_pd _mm512_min_pd _mm512_max_pd
                _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd,
            cast: _mm512_castpd_si512 _mm512_castsi512_pd,
            word: _mm512_set1_epi64(i64) _mm512_load_si512 _mm512_store_si512 _mm512_add_epi64 _mm512_sub_epi64
                _mm512_and_si512 _mm512_or_si512 _mm512_xor_si512,
        );
        registers!(
            $floats(__m512d, __m512i),
            $words,
            _mm512_fixupimm_pd,
            _mm512_set1_pd,
            _mm512_cmp_pd_mask,
            _mm512_maskz_mov_pd,
            _mm512_mask_blend_pd,
            _mm512_set1_epi64(i64),
            _mm512_slli_epi64,
            _mm512_srli_epi64,
            _mm512_rolv_epi64
        );
    };
}

doubles!(
    /// Eight doubles in one register.
    F64x8 U64x8 [0] 8
);
doubles!(
    /// Thirty-two doubles in four registers.
    F64x8x4 U64x8x4 [0 1 2 3] 32
);

macro_rules! singles {
    ($(#[$doc:meta])* $floats:ident $words:ident [$($register:tt)*] $lanes:literal $($item:item)*) => {
        vector!(
            $(#[$doc])*
            $floats(__m512), $words(__m512i),
            registers: [$($register)*] of 16, lanes: $lanes, f32, u32,
            float: _mm512_set1_ps _mm512_sqrt_ps _mm512_fmadd_ps _mm512_load_ps _mm512_store_ps _mm512_min_ps _mm512_max_ps
                _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps,
            cast: _mm512_castps_si512 _mm512_castsi512_ps,
            word: _mm512_set1_epi32(i32) _mm512_load_si512 _mm512_store_si512 _mm512_add_epi32 _mm512_sub_epi32
                _mm512_and_si512 _mm512_or_si512 _mm512_xor_si512,
            #[inline(always)]
            fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
                over_root(self, square, factor, term)
            }

            $($item)*
        );
        registers!(
            $floats(__m512, __m512i),
            $words,
            _mm512_fixupimm_ps,
            _mm512_set1_ps,
            _mm512_cmp_ps_mask,
            _mm512_maskz_mov_ps,
            _mm512_mask_blend_ps,
            _mm512_set1_epi32(i32),
            _mm512_slli_epi32,
            _mm512_srli_epi32,
            _mm512_rolv_epi32
        );
    };
}

singles!(
    /// Sixty-four singles in four registers.
    F32x16x4 U32x16x4 [0 1 2 3] 64
);
singles!(
    /// A hundred and twenty-eight singles in eight registers.
    F32x16x8 U32x16x8 [0 1 2 3 4 5 6 7] 128
    #[inline(always)]
    fn norm(self) -> Self {
        norm_of_both::<F32x16x4>(self)
    }
    #[inline(always)]
    fn mean(self) -> Self {
        mean_of_both::<F32x16x4>(self)
    }
    #[inline(always)]
    fn exchanged(self) -> Self {
        exchanged_both::<F32x16x4>(self)
    }
    #[inline(always)]
    fn sum(self) -> Self {
        sum_of_both::<F32x16x4>(self)
    }
);

joined!(F32x16x4 [0 1 2 3] F32x16x8);

impl Singles<64> for F32x16x4 {
    #[inline(always)]
    fn from_integers(integers: U32x16x4) -> Self {
        let [a, b, c, d] = integers.0;
        // SAFETY: the type is only used where its instructions are enabled.
        F32x16x4(unsafe {
            [_mm512_cvtepi32_ps(a), _mm512_cvtepi32_ps(b), _mm512_cvtepi32_ps(c), _mm512_cvtepi32_ps(d)]
        })
    }

    #[inline(always)]
    fn shift_right_signed<const BY: u32>(integers: U32x16x4) -> U32x16x4 {
        let [a, b, c, d] = integers.0;
        // SAFETY: as above.
        U32x16x4(unsafe {
            [
                _mm512_srai_epi32::<BY>(a),
                _mm512_srai_epi32::<BY>(b),
                _mm512_srai_epi32::<BY>(c),
                _mm512_srai_epi32::<BY>(d),
            ]
        })
    }
}
