//! Eight doubles in the registers of AVX-512 (one) and of AVX2 (two).
//!
//! A value of these types must only be made where the instructions have been detected, in functions that
//! enable them: every operation is inlined there and becomes one instruction.

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

use super::{Bits, Lanes, Real, Vector};

const SIGN: i64 = i64::MIN;

/// Eight doubles, with AVX-512 F and DQ.
#[derive(Clone, Copy)]
pub struct F64x8(__m512d);
/// Eight words, with AVX-512 F and DQ.
#[derive(Clone, Copy)]
pub struct U64x8(__m512i);
/// Eight doubles in two registers, with AVX2.
#[derive(Clone, Copy)]
pub struct F64x4x2([__m256d; 2]);
/// Eight words in two registers, with AVX2.
#[derive(Clone, Copy)]
pub struct U64x4x2([__m256i; 2]);

macro_rules! operators {
    ($type:ident, one: $($trait:ident $method:ident $intrinsic:ident),*) => {$(
        impl $trait for $type {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the type is only used where its instructions are enabled.
                $type(unsafe { $intrinsic(self.0, other.0) })
            }
        }
    )*};
    ($type:ident, two: $($trait:ident $method:ident $intrinsic:ident),*) => {$(
        impl $trait for $type {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                // SAFETY: the type is only used where its instructions are enabled.
                $type(unsafe { [$intrinsic(a, c), $intrinsic(b, d)] })
            }
        }
    )*};
}

operators!(F64x8, one: Add add _mm512_add_pd, Sub sub _mm512_sub_pd, Mul mul _mm512_mul_pd, Div div _mm512_div_pd);
operators!(U64x8, one: Add add _mm512_add_epi64, Sub sub _mm512_sub_epi64, BitAnd bitand _mm512_and_si512,
    BitOr bitor _mm512_or_si512, BitXor bitxor _mm512_xor_si512);
operators!(F64x4x2, two: Add add _mm256_add_pd, Sub sub _mm256_sub_pd, Mul mul _mm256_mul_pd, Div div _mm256_div_pd);
operators!(U64x4x2, two: Add add _mm256_add_epi64, Sub sub _mm256_sub_epi64, BitAnd bitand _mm256_and_si256,
    BitOr bitor _mm256_or_si256, BitXor bitxor _mm256_xor_si256);

impl Neg for F64x8 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::from_bits(self.to_bits() ^ U64x8::splat(SIGN as u64))
    }
}

impl Neg for F64x4x2 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::from_bits(self.to_bits() ^ U64x4x2::splat(SIGN as u64))
    }
}

// SAFETY of all blocks below: the types are only used where their instructions are enabled; loads and
// stores go through references to `Lanes`, which are aligned to 64 bytes.

impl Real for F64x8 {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        F64x8(unsafe { _mm512_set1_pd(value) })
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        F64x8(unsafe { _mm512_sqrt_pd(self.0) })
    }

    #[inline(always)]
    fn abs(self) -> Self {
        F64x8(unsafe { _mm512_abs_pd(self.0) })
    }

    #[inline(always)]
    fn sign(self) -> Self {
        unsafe {
            let zero = _mm512_setzero_pd();
            let one = _mm512_or_pd(_mm512_and_pd(self.0, _mm512_set1_pd(-0.0)), _mm512_set1_pd(1.0));
            let not_zero = _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(self.0, zero);
            let signs = _mm512_maskz_mov_pd(not_zero, one);
            let nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(self.0, self.0);
            F64x8(_mm512_mask_mov_pd(signs, nan, self.0))
        }
    }
}

impl Vector<8> for F64x8 {
    type Bits = U64x8;

    #[inline(always)]
    fn from_lanes(lanes: Lanes<f64, 8>) -> Self {
        F64x8(unsafe { _mm512_load_pd(lanes.0.as_ptr()) })
    }

    #[inline(always)]
    fn to_lanes(self) -> Lanes<f64, 8> {
        let mut lanes = Lanes([0.0; 8]);
        unsafe { _mm512_store_pd(lanes.0.as_mut_ptr(), self.0) };
        lanes
    }

    #[inline(always)]
    fn from_bits(bits: U64x8) -> Self {
        F64x8(unsafe { _mm512_castsi512_pd(bits.0) })
    }

    #[inline(always)]
    fn to_bits(self) -> U64x8 {
        U64x8(unsafe { _mm512_castpd_si512(self.0) })
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        // The instruction gives its second operand where either is NaN.
        F64x8(unsafe { _mm512_min_pd(self.0, other.0) })
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        F64x8(unsafe { _mm512_max_pd(self.0, other.0) })
    }
}

impl Bits<8> for U64x8 {
    #[inline(always)]
    fn splat(word: u64) -> Self {
        U64x8(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    fn from_lanes(lanes: Lanes<u64, 8>) -> Self {
        U64x8(unsafe { _mm512_load_si512(lanes.0.as_ptr().cast()) })
    }

    #[inline(always)]
    fn to_lanes(self) -> Lanes<u64, 8> {
        let mut lanes = Lanes([0; 8]);
        unsafe { _mm512_store_si512(lanes.0.as_mut_ptr().cast(), self.0) };
        lanes
    }

    #[inline(always)]
    fn shift_left<const BY: u32>(self) -> Self {
        U64x8(unsafe { _mm512_slli_epi64::<BY>(self.0) })
    }

    #[inline(always)]
    fn shift_right<const BY: u32>(self) -> Self {
        U64x8(unsafe { _mm512_srli_epi64::<BY>(self.0) })
    }

    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        U64x8(unsafe { _mm512_rolv_epi64(self.0, _mm512_set1_epi64(i64::from(BY))) })
    }
}

impl F64x4x2 {
    #[inline(always)]
    fn map(self, f: impl Fn(__m256d) -> __m256d) -> Self {
        F64x4x2([f(self.0[0]), f(self.0[1])])
    }
}

impl Real for F64x4x2 {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        F64x4x2([unsafe { _mm256_set1_pd(value) }; 2])
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(|half| unsafe { _mm256_sqrt_pd(half) })
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(|half| unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), half) })
    }

    #[inline(always)]
    fn sign(self) -> Self {
        self.map(|half| unsafe {
            let zero = _mm256_setzero_pd();
            let one = _mm256_or_pd(_mm256_and_pd(half, _mm256_set1_pd(-0.0)), _mm256_set1_pd(1.0));
            let signs = _mm256_and_pd(_mm256_cmp_pd::<_CMP_NEQ_OQ>(half, zero), one);
            _mm256_blendv_pd(signs, half, _mm256_cmp_pd::<_CMP_UNORD_Q>(half, half))
        })
    }
}

impl Vector<8> for F64x4x2 {
    type Bits = U64x4x2;

    #[inline(always)]
    fn from_lanes(lanes: Lanes<f64, 8>) -> Self {
        let halves = lanes.0.as_ptr();
        F64x4x2(unsafe { [_mm256_load_pd(halves), _mm256_load_pd(halves.add(4))] })
    }

    #[inline(always)]
    fn to_lanes(self) -> Lanes<f64, 8> {
        let mut lanes = Lanes([0.0; 8]);
        let halves = lanes.0.as_mut_ptr();
        unsafe {
            _mm256_store_pd(halves, self.0[0]);
            _mm256_store_pd(halves.add(4), self.0[1]);
        }
        lanes
    }

    #[inline(always)]
    fn from_bits(bits: U64x4x2) -> Self {
        F64x4x2(unsafe { [_mm256_castsi256_pd(bits.0[0]), _mm256_castsi256_pd(bits.0[1])] })
    }

    #[inline(always)]
    fn to_bits(self) -> U64x4x2 {
        U64x4x2(unsafe { [_mm256_castpd_si256(self.0[0]), _mm256_castpd_si256(self.0[1])] })
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        F64x4x2(unsafe { [_mm256_min_pd(self.0[0], other.0[0]), _mm256_min_pd(self.0[1], other.0[1])] })
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        F64x4x2(unsafe { [_mm256_max_pd(self.0[0], other.0[0]), _mm256_max_pd(self.0[1], other.0[1])] })
    }
}

impl U64x4x2 {
    #[inline(always)]
    fn map(self, f: impl Fn(__m256i) -> __m256i) -> Self {
        U64x4x2([f(self.0[0]), f(self.0[1])])
    }
}

impl Bits<8> for U64x4x2 {
    #[inline(always)]
    fn splat(word: u64) -> Self {
        U64x4x2([unsafe { _mm256_set1_epi64x(word as i64) }; 2])
    }

    #[inline(always)]
    fn from_lanes(lanes: Lanes<u64, 8>) -> Self {
        let halves: *const __m256i = lanes.0.as_ptr().cast();
        U64x4x2(unsafe { [_mm256_load_si256(halves), _mm256_load_si256(halves.add(1))] })
    }

    #[inline(always)]
    fn to_lanes(self) -> Lanes<u64, 8> {
        let mut lanes = Lanes([0; 8]);
        let halves: *mut __m256i = lanes.0.as_mut_ptr().cast();
        unsafe {
            _mm256_store_si256(halves, self.0[0]);
            _mm256_store_si256(halves.add(1), self.0[1]);
        }
        lanes
    }

    #[inline(always)]
    fn shift_left<const BY: u32>(self) -> Self {
        self.map(|half| unsafe { _mm256_sll_epi64(half, _mm_cvtsi32_si128(BY as i32)) })
    }

    #[inline(always)]
    fn shift_right<const BY: u32>(self) -> Self {
        self.map(|half| unsafe { _mm256_srl_epi64(half, _mm_cvtsi32_si128(BY as i32)) })
    }

    #[inline(always)]
    fn rotate_left<const BY: u32>(self) -> Self {
        self.map(|half| unsafe {
            let left = _mm256_sll_epi64(half, _mm_cvtsi32_si128(BY as i32));
            let right = _mm256_srl_epi64(half, _mm_cvtsi32_si128(64 - BY as i32));
            _mm256_or_si256(left, right)
        })
    }
}
