//! `f16` and `bf16`: conversions, arithmetic, `min`/`max`, comparisons, and their packed pairs.
//!
//! A half travels in the low 16 bits of a `u32` (upper bits of operands are ignored, of results zero), a pair as the `u32` it is.
//!
//! # Why the results are rounded once
//! - `f16` `add sub mul`: an `f32` holds `f16` products exactly (22 bits, far from its exponent limits) and has 24 >= 2 * 11 + 2 bits,
//!   for which rounding a sum twice equals rounding it once; sums that are subnormal in `f16` are exact.
//! - Everything else (`fma`, all of `bf16`, whose subnormals are close to those of `f32`) goes through a sum rounded to odd: `f64` holds
//!   the product exactly, TwoSum gives the exact sum as `s + e`, which is truncated to `f32` with its last bit set if anything was lost.
//!   Rounding to odd with at least two more bits than the target never changes the second rounding.
#![expect(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "the unordered comparisons of PTX are negations of the ordered ones"
)]

use std::cmp::Ordering;

use super::convert::{ceiling, floor, from_signed, from_unsigned, nearest_integer, truncated};
use super::round_f32::round_to_zero;
use super::soft::{BF16, F16, F32, F64, Rounding};
use super::{canonical_f32, minmax, two_sum};

/// The NaN that instructions produce, in both formats.
const NAN: u32 = 0x7fff;

/// `cvt.f32.f16`, exact.
#[inline]
pub(crate) extern "C" fn cvt_f32_f16(a: u32) -> f32 {
    let magnitude = (a & 0x7fff) << 13;
    // Rescaling by the difference of the exponent biases turns subnormals into normal numbers too.
    let scaled = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let bits = if a & 0x7c00 == 0x7c00 {
        magnitude | 0x7f80_0000
    } else {
        scaled.to_bits()
    };
    canonical_f32(f32::from_bits(bits | (a & 0x8000) << 16))
}

/// `cvt.f32.bf16`, exact.
#[inline]
pub(crate) extern "C" fn cvt_f32_bf16(a: u32) -> f32 {
    canonical_f32(f32::from_bits(a << 16))
}

/// `cvt.rn.f16.f32`.
#[inline]
pub(crate) extern "C" fn cvt_rn_f16_f32(a: f32) -> u32 {
    let bits = a.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x4780_0000 {
        // 2^16 and more, infinity; NaN.
        if magnitude > 0x7f80_0000 {
            NAN
        } else {
            sign | 0x7c00
        }
    } else if magnitude < 0x3880_0000 {
        // Below 2^-14: adding 1/2 leaves bits down to 2^-24, the place of the subnormals.
        sign | ((f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits())
    } else {
        let odd = magnitude >> 13 & 1;
        sign | (magnitude - (112 << 23) + 0xfff + odd) >> 13
    }
}

/// `cvt.rz.f16.f32`.
#[inline]
pub(crate) extern "C" fn cvt_rz_f16_f32(a: f32) -> u32 {
    let bits = a.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x4780_0000 {
        match magnitude {
            0x7f80_0001.. => NAN,
            0x7f80_0000 => sign | 0x7c00,
            _ => sign | 0x7bff,
        }
    } else if magnitude < 0x3880_0000 {
        sign | (f32::from_bits(magnitude) * (1u32 << 24) as f32) as u32
    } else {
        sign | (magnitude - (112 << 23)) >> 13
    }
}

/// `cvt.rn.bf16.f32`.
#[inline]
pub(crate) extern "C" fn cvt_rn_bf16_f32(a: f32) -> u32 {
    let bits = a.to_bits();
    if a.is_nan() {
        NAN
    } else {
        (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    }
}

/// `cvt.rz.bf16.f32`.
#[inline]
pub(crate) extern "C" fn cvt_rz_bf16_f32(a: f32) -> u32 {
    if a.is_nan() { NAN } else { a.to_bits() >> 16 }
}

/// `.relu` of an `f16` result: negative values become +0, NaN the canonical NaN.
#[inline]
pub(crate) extern "C" fn relu_f16(a: u32) -> u32 {
    if a & 0x7fff > 0x7c00 {
        NAN
    } else if a & 0x8000 != 0 {
        0
    } else {
        a & 0xffff
    }
}

/// `.relu` of a `bf16` result: negative values become +0, NaN the canonical NaN.
#[inline]
pub(crate) extern "C" fn relu_bf16(a: u32) -> u32 {
    if a & 0x7fff > 0x7f80 {
        NAN
    } else if a & 0x8000 != 0 {
        0
    } else {
        a & 0xffff
    }
}

macro_rules! narrow {
    ($($name:ident: $from:ident $bits:ident => $format:ident, $mode:ident;)*) => {$(
        /// Float to half, any rounding.
        pub(crate) extern "C" fn $name(a: $from) -> u32 {
            $format.convert($bits, u64::from(a.to_bits()), Rounding::$mode) as u32
        }
    )*};
}

narrow! {
    cvt_rm_f16_f32: f32 F32 => F16, Down;
    cvt_rp_f16_f32: f32 F32 => F16, Up;
    cvt_rm_bf16_f32: f32 F32 => BF16, Down;
    cvt_rp_bf16_f32: f32 F32 => BF16, Up;
    cvt_rn_f16_f64: f64 F64 => F16, Nearest;
    cvt_rz_f16_f64: f64 F64 => F16, Zero;
    cvt_rm_f16_f64: f64 F64 => F16, Down;
    cvt_rp_f16_f64: f64 F64 => F16, Up;
    cvt_rn_bf16_f64: f64 F64 => BF16, Nearest;
    cvt_rz_bf16_f64: f64 F64 => BF16, Zero;
    cvt_rm_bf16_f64: f64 F64 => BF16, Down;
    cvt_rp_bf16_f64: f64 F64 => BF16, Up;
}

macro_rules! integers {
    ($($name:ident: $convert:ident, $format:ident, $mode:ident;)*) => {$(
        /// 64-bit integer to half; narrower integers are extended by the caller.
        pub(crate) extern "C" fn $name(a: u64) -> u32 {
            $convert($format, a, Rounding::$mode) as u32
        }
    )*};
}

integers! {
    cvt_rn_f16_s64: from_signed, F16, Nearest;
    cvt_rz_f16_s64: from_signed, F16, Zero;
    cvt_rm_f16_s64: from_signed, F16, Down;
    cvt_rp_f16_s64: from_signed, F16, Up;
    cvt_rn_f16_u64: from_unsigned, F16, Nearest;
    cvt_rz_f16_u64: from_unsigned, F16, Zero;
    cvt_rm_f16_u64: from_unsigned, F16, Down;
    cvt_rp_f16_u64: from_unsigned, F16, Up;
    cvt_rn_bf16_s64: from_signed, BF16, Nearest;
    cvt_rz_bf16_s64: from_signed, BF16, Zero;
    cvt_rm_bf16_s64: from_signed, BF16, Down;
    cvt_rp_bf16_s64: from_signed, BF16, Up;
    cvt_rn_bf16_u64: from_unsigned, BF16, Nearest;
    cvt_rz_bf16_u64: from_unsigned, BF16, Zero;
    cvt_rm_bf16_u64: from_unsigned, BF16, Down;
    cvt_rp_bf16_u64: from_unsigned, BF16, Up;
}

macro_rules! integral {
    ($($name:ident: $widen:ident, $round:ident, $narrow:ident;)*) => {$(
        /// Rounds a half to an integral value.
        #[inline]
        pub(crate) extern "C" fn $name(a: u32) -> u32 {
            $narrow($round(f64::from($widen(a))) as f32)
        }
    )*};
}

integral! {
    cvt_rni_f16_f16: cvt_f32_f16, nearest_integer, cvt_rn_f16_f32;
    cvt_rzi_f16_f16: cvt_f32_f16, truncated, cvt_rn_f16_f32;
    cvt_rmi_f16_f16: cvt_f32_f16, floor, cvt_rn_f16_f32;
    cvt_rpi_f16_f16: cvt_f32_f16, ceiling, cvt_rn_f16_f32;
    cvt_rni_bf16_bf16: cvt_f32_bf16, nearest_integer, cvt_rn_bf16_f32;
    cvt_rzi_bf16_bf16: cvt_f32_bf16, truncated, cvt_rn_bf16_f32;
    cvt_rmi_bf16_bf16: cvt_f32_bf16, floor, cvt_rn_bf16_f32;
    cvt_rpi_bf16_bf16: cvt_f32_bf16, ceiling, cvt_rn_bf16_f32;
}

/// `s + e` as an `f32` rounded to odd; `s` is the sum rounded to nearest.
#[inline(always)]
fn odd_f32(s: f64, e: f64) -> f32 {
    let r = round_to_zero(s, e);
    let inexact = s.is_finite() & ((f64::from(r) != s) | (e != 0.0));
    f32::from_bits(r.to_bits() | u32::from(inexact))
}

/// `a * b + c` as an `f32` rounded to odd.
#[inline(always)]
fn odd_fma(a: f32, b: f32, c: f32) -> f32 {
    let (s, e) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    odd_f32(s, e)
}

/// `add{.rn}.f16`.
#[inline]
pub(crate) extern "C" fn add_f16(a: u32, b: u32) -> u32 {
    cvt_rn_f16_f32(cvt_f32_f16(a) + cvt_f32_f16(b))
}

/// `sub{.rn}.f16`.
#[inline]
pub(crate) extern "C" fn sub_f16(a: u32, b: u32) -> u32 {
    cvt_rn_f16_f32(cvt_f32_f16(a) - cvt_f32_f16(b))
}

/// `mul{.rn}.f16`.
#[inline]
pub(crate) extern "C" fn mul_f16(a: u32, b: u32) -> u32 {
    cvt_rn_f16_f32(cvt_f32_f16(a) * cvt_f32_f16(b))
}

/// `fma.rn.f16`.
#[inline]
pub(crate) extern "C" fn fma_rn_f16(a: u32, b: u32, c: u32) -> u32 {
    cvt_rn_f16_f32(odd_fma(cvt_f32_f16(a), cvt_f32_f16(b), cvt_f32_f16(c)))
}

/// `add{.rn}.bf16`.
#[inline]
pub(crate) extern "C" fn add_bf16(a: u32, b: u32) -> u32 {
    let (s, e) = two_sum(f64::from(cvt_f32_bf16(a)), f64::from(cvt_f32_bf16(b)));
    cvt_rn_bf16_f32(odd_f32(s, e))
}

/// `sub{.rn}.bf16`.
#[inline]
pub(crate) extern "C" fn sub_bf16(a: u32, b: u32) -> u32 {
    add_bf16(a, b ^ 0x8000)
}

/// `mul{.rn}.bf16`.
#[inline]
pub(crate) extern "C" fn mul_bf16(a: u32, b: u32) -> u32 {
    cvt_rn_bf16_f32(odd_f32(
        f64::from(cvt_f32_bf16(a)) * f64::from(cvt_f32_bf16(b)),
        0.0,
    ))
}

/// `fma.rn.bf16`.
#[inline]
pub(crate) extern "C" fn fma_rn_bf16(a: u32, b: u32, c: u32) -> u32 {
    cvt_rn_bf16_f32(odd_fma(cvt_f32_bf16(a), cvt_f32_bf16(b), cvt_f32_bf16(c)))
}

macro_rules! through_f32 {
    ($($name:ident: $widen:ident, $operation:ident, $narrow:ident;)*) => {$(
        /// `min` or `max` as for `f32`, see [`minmax`].
        #[inline]
        pub(crate) extern "C" fn $name(a: u32, b: u32) -> u32 {
            $narrow(minmax::$operation($widen(a), $widen(b)))
        }
    )*};
}

through_f32! {
    min_f16: cvt_f32_f16, min_f32, cvt_rn_f16_f32;
    max_f16: cvt_f32_f16, max_f32, cvt_rn_f16_f32;
    min_nan_f16: cvt_f32_f16, min_nan_f32, cvt_rn_f16_f32;
    max_nan_f16: cvt_f32_f16, max_nan_f32, cvt_rn_f16_f32;
    min_bf16: cvt_f32_bf16, min_f32, cvt_rn_bf16_f32;
    max_bf16: cvt_f32_bf16, max_f32, cvt_rn_bf16_f32;
    min_nan_bf16: cvt_f32_bf16, min_nan_f32, cvt_rn_bf16_f32;
    max_nan_bf16: cvt_f32_bf16, max_nan_f32, cvt_rn_bf16_f32;
}

macro_rules! magnitudes {
    ($($name:ident: $operation:ident;)*) => {$(
        /// `.xorsign.abs`: compares magnitudes, the result has the exclusive or of the operands' signs.
        #[inline]
        pub(crate) extern "C" fn $name(a: u32, b: u32) -> u32 {
            let magnitude = $operation(a & 0x7fff, b & 0x7fff);
            if magnitude == NAN { NAN } else { magnitude | (a ^ b) & 0x8000 }
        }
    )*};
}

magnitudes! {
    min_xorsign_abs_f16: min_f16;
    max_xorsign_abs_f16: max_f16;
    min_nan_xorsign_abs_f16: min_nan_f16;
    max_nan_xorsign_abs_f16: max_nan_f16;
    min_xorsign_abs_bf16: min_bf16;
    max_xorsign_abs_bf16: max_bf16;
    min_nan_xorsign_abs_bf16: min_nan_bf16;
    max_nan_xorsign_abs_bf16: max_nan_bf16;
}

macro_rules! pairs {
    ($($name:ident = $single:ident($($arg:ident),*);)*) => {$(
        /// The operation of the same name without `x2` on each half.
        #[inline]
        pub(crate) extern "C" fn $name($($arg: u32),*) -> u32 {
            ($single($($arg >> 16),*) << 16) | ($single($($arg & 0xffff),*) & 0xffff)
        }
    )*};
}

use super::approx::{ex2_approx_f16, ex2_approx_ftz_bf16, tanh_approx_bf16, tanh_approx_f16};
use super::flush::{ftz_bf16, ftz_f16, sat_f16};

pairs! {
    add_f16x2 = add_f16(a, b);
    sub_f16x2 = sub_f16(a, b);
    mul_f16x2 = mul_f16(a, b);
    fma_rn_f16x2 = fma_rn_f16(a, b, c);
    add_bf16x2 = add_bf16(a, b);
    sub_bf16x2 = sub_bf16(a, b);
    mul_bf16x2 = mul_bf16(a, b);
    fma_rn_bf16x2 = fma_rn_bf16(a, b, c);
    min_f16x2 = min_f16(a, b);
    max_f16x2 = max_f16(a, b);
    min_nan_f16x2 = min_nan_f16(a, b);
    max_nan_f16x2 = max_nan_f16(a, b);
    min_bf16x2 = min_bf16(a, b);
    max_bf16x2 = max_bf16(a, b);
    min_nan_bf16x2 = min_nan_bf16(a, b);
    max_nan_bf16x2 = max_nan_bf16(a, b);
    min_xorsign_abs_f16x2 = min_xorsign_abs_f16(a, b);
    max_xorsign_abs_f16x2 = max_xorsign_abs_f16(a, b);
    min_nan_xorsign_abs_f16x2 = min_nan_xorsign_abs_f16(a, b);
    max_nan_xorsign_abs_f16x2 = max_nan_xorsign_abs_f16(a, b);
    min_xorsign_abs_bf16x2 = min_xorsign_abs_bf16(a, b);
    max_xorsign_abs_bf16x2 = max_xorsign_abs_bf16(a, b);
    min_nan_xorsign_abs_bf16x2 = min_nan_xorsign_abs_bf16(a, b);
    max_nan_xorsign_abs_bf16x2 = max_nan_xorsign_abs_bf16(a, b);
    ftz_f16x2 = ftz_f16(a);
    ftz_bf16x2 = ftz_bf16(a);
    sat_f16x2 = sat_f16(a);
    relu_f16x2 = relu_f16(a);
    relu_bf16x2 = relu_bf16(a);
    ex2_approx_f16x2 = ex2_approx_f16(a);
    ex2_approx_ftz_bf16x2 = ex2_approx_ftz_bf16(a);
    tanh_approx_f16x2 = tanh_approx_f16(a);
    tanh_approx_bf16x2 = tanh_approx_bf16(a);
}

macro_rules! compare {
    ($($half:ident $pair:ident $brain:ident $brain_pair:ident: |$a:ident, $b:ident| $test:expr;)*) => {$(
        /// Comparison of `f16`: 0xffff if true, else 0.
        #[inline]
        pub(crate) extern "C" fn $half(a: u32, b: u32) -> u32 {
            let ($a, $b) = (cvt_f32_f16(a), cvt_f32_f16(b));
            u32::from($test) * 0xffff
        }

        /// Comparison of `bf16`: 0xffff if true, else 0.
        #[inline]
        pub(crate) extern "C" fn $brain(a: u32, b: u32) -> u32 {
            let ($a, $b) = (cvt_f32_bf16(a), cvt_f32_bf16(b));
            u32::from($test) * 0xffff
        }

        pairs! {
            $pair = $half(a, b);
            $brain_pair = $brain(a, b);
        }
    )*};
}

// The masks serve `setp` (test against zero, half by half), `set.u32` and, masked with 1.0 in each half, `set.f16` and `set.bf16`.
compare! {
    mask_eq_f16 mask_eq_f16x2 mask_eq_bf16 mask_eq_bf16x2: |a, b| a == b;
    mask_ne_f16 mask_ne_f16x2 mask_ne_bf16 mask_ne_bf16x2: |a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne);
    mask_lt_f16 mask_lt_f16x2 mask_lt_bf16 mask_lt_bf16x2: |a, b| a < b;
    mask_le_f16 mask_le_f16x2 mask_le_bf16 mask_le_bf16x2: |a, b| a <= b;
    mask_gt_f16 mask_gt_f16x2 mask_gt_bf16 mask_gt_bf16x2: |a, b| a > b;
    mask_ge_f16 mask_ge_f16x2 mask_ge_bf16 mask_ge_bf16x2: |a, b| a >= b;
    mask_equ_f16 mask_equ_f16x2 mask_equ_bf16 mask_equ_bf16x2: |a, b| a.partial_cmp(&b).is_none_or(Ordering::is_eq);
    mask_neu_f16 mask_neu_f16x2 mask_neu_bf16 mask_neu_bf16x2: |a, b| a != b;
    mask_ltu_f16 mask_ltu_f16x2 mask_ltu_bf16 mask_ltu_bf16x2: |a, b| !(a >= b);
    mask_leu_f16 mask_leu_f16x2 mask_leu_bf16 mask_leu_bf16x2: |a, b| !(a > b);
    mask_gtu_f16 mask_gtu_f16x2 mask_gtu_bf16 mask_gtu_bf16x2: |a, b| !(a <= b);
    mask_geu_f16 mask_geu_f16x2 mask_geu_bf16 mask_geu_bf16x2: |a, b| !(a < b);
    mask_num_f16 mask_num_f16x2 mask_num_bf16 mask_num_bf16x2: |a, b| !a.is_nan() && !b.is_nan();
    mask_nan_f16 mask_nan_f16x2 mask_nan_bf16 mask_nan_bf16x2: |a, b| a.is_nan() || b.is_nan();
}

macro_rules! pack {
    ($($name:ident: $single:ident;)*) => {$(
        /// Two `f32` to a pair: `a` in the upper half, `b` in the lower.
        #[inline]
        pub(crate) extern "C" fn $name(a: f32, b: f32) -> u32 {
            $single(a) << 16 | $single(b)
        }
    )*};
}

pack! {
    cvt_rn_f16x2_f32: cvt_rn_f16_f32;
    cvt_rz_f16x2_f32: cvt_rz_f16_f32;
    cvt_rn_bf16x2_f32: cvt_rn_bf16_f32;
    cvt_rz_bf16x2_f32: cvt_rz_bf16_f32;
}
