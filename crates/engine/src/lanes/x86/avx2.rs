//! The operations on a register of AVX2, with fused multiply-add.

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
