//! The operations on a register of AVX-512 (F and DQ).

/// The fix-up instruction's result for each class of number, four bits each from the lowest: quiet and signalling NaN
/// stay NaN, ±0 becomes 0; one, −∞, +∞, negative and positive become ±1.
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
        _mm512_set1_epi64 as set_word, _mm512_set1_pd as set, _mm512_slli_epi64 as shift_left, _mm512_sqrt_pd as sqrt,
        _mm512_srli_epi64 as shift_right, _mm512_store_pd as store, _mm512_store_si512 as store_words,
        _mm512_sub_epi64 as sub_words, _mm512_sub_pd as sub, _mm512_xor_si512 as xor_words,
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
