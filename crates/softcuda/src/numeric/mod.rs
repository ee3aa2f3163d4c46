//! The arithmetic of PTX that hosts and Cranelift have no instruction for, as plain functions that compiled kernels call by address.
//!
//! # Names
//! `<operation>[_<modifiers>]_<type>`, modifiers in the order in which PTX writes them: `fma_rm_f32`, `ex2_approx_ftz_f32`,
//! `cvt_rzi_s16_f64`, `min_nan_bf16x2`. [`function`] finds one by name, with its address and signature.
//!
//! # Signatures
//! Operands and results are `u32`, `u64`, `f32` or `f64` only, so that no caller need know how an ABI extends narrow integers. Signed
//! integers travel as their bits. `f16` and `bf16` take the low half of a `u32`: upper bits of operands are ignored, those of results zero.
//! Integer results narrower than 32 bits are extended by their signedness.
//!
//! # Modifiers left to the caller
//! Where no function of the full name exists, `.ftz`, `.sat` and `.relu` compose from [`flush`] and [`half`]:
//! `add.rz.ftz.sat.f32` is `sat_f32(ftz_f32(add_rz_f32(ftz_f32(a), ftz_f32(b))))`.
//!
//! # NaN
//! Results that are NaN have all bits set but the sign, as hardware's `f32` and half-precision units give. (Its `f64` unit keeps the payload
//! of an operand, quieted.) PTX promises a NaN only; tests of devices compare any with any.
//!
//! # Compared with hardware
//! All functions but the approximations were compared with the instructions on an H200 (driver 580.159.04), 2048 operands each, and agree,
//! except that hardware
//! - flushes with `.ftz` by the value before rounding: a product just below 2^-126 that rounds up to it becomes zero, not 2^-126;
//! - emulates scalar video instructions (`vadd.u32` with `.sat`, all with a destination byte) with other saturation than the ISA's text;
//! - ignores `.ftz` in `cvt.{rm,rp}.ftz.f16.f32`;
//! - looks at more than the low byte of position and length in the 64-bit bit field instructions, which the ISA leaves open.

#![allow(
    dead_code,
    reason = "its caller, the compiler of kernels, finds most of these by name"
)]

mod approx;
mod convert;
mod float8;
mod flush;
mod half;
mod integer;
mod minmax;
mod pairs;
mod permute;
mod round_f32;
mod round_f64;
mod soft;
#[cfg(test)]
mod tests;
pub(crate) mod video;

pub(crate) use approx::EX2_COEFFICIENTS;

/// The NaN of `f32` instructions.
pub(crate) const NAN_F32: f32 = f32::from_bits(0x7fff_ffff);
/// The NaN of `f64` instructions.
pub(crate) const NAN_F64: f64 = f64::from_bits(0x7fff_ffff_ffff_ffff);

/// `a`, or the canonical NaN for any NaN.
///
/// In integers: compilers take all NaN as equal and may drop a choice between two of them.
#[inline(always)]
fn canonical_f32(a: f32) -> f32 {
    let bits = a.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 {
        0x7fff_ffff
    } else {
        bits
    })
}

/// `a`, or the canonical NaN for any NaN, as [`canonical_f32`].
#[inline(always)]
fn canonical_f64(a: f64) -> f64 {
    let bits = a.to_bits();
    f64::from_bits(if bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000 {
        u64::MAX >> 1
    } else {
        bits
    })
}

/// `a + b` rounded to nearest and its exact residual (Knuth's TwoSum). If the sum is not finite the residual is NaN.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let bb = s - a;
    (s, (a - (s - bb)) + (b - bb))
}

/// Machine class of an operand or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// 32-bit integer register.
    I32,
    /// 64-bit integer register.
    I64,
    /// Single precision register.
    F32,
    /// Double precision register.
    F64,
}

/// A function that compiled kernels may call, in the C calling convention.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// Name without crate path, see the module documentation.
    pub(crate) name: &'static str,
    /// Classes of the operands.
    pub(crate) params: &'static [Class],
    /// Class of the result.
    pub(crate) result: Class,
    address: fn() -> *const u8,
}

impl Function {
    /// Entry point.
    pub(crate) fn address(&self) -> *const u8 {
        (self.address)()
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?} -> {:?}", self.name, self.params, self.result)
    }
}

/// Finds a function by name; `None` if there is none of that name.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static INDEX: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
        FUNCTIONS
            .iter()
            .map(|function| (function.name, function))
            .collect()
    });
    INDEX.get(name).copied()
}

macro_rules! class {
    (u32) => {
        Class::I32
    };
    (u64) => {
        Class::I64
    };
    (f32) => {
        Class::F32
    };
    (f64) => {
        Class::F64
    };
}

macro_rules! functions {
    ($($module:ident: $params:tt -> $result:ident { $($name:ident),* $(,)? })*) => {
        /// Every function.
        pub(crate) static FUNCTIONS: &[Function] = &[$($(functions!(@one $module $params $result $name)),*),*];
    };
    (@one $module:ident ($($param:ident),*) $result:ident $name:ident) => {
        Function {
            name: stringify!($name),
            params: &[$(class!($param)),*],
            result: class!($result),
            address: || $module::$name as extern "C" fn($($param),*) -> $result as *const u8,
        }
    };
}

functions! {
    round_f32: (f32, f32) -> f32 { add_rz_f32, add_rm_f32, add_rp_f32, sub_rz_f32, sub_rm_f32, sub_rp_f32, mul_rz_f32, mul_rm_f32, mul_rp_f32, div_rz_f32, div_rm_f32, div_rp_f32 }
    round_f32: (f32, f32, f32) -> f32 { fma_rn_f32, fma_rz_f32, fma_rm_f32, fma_rp_f32 }
    round_f32: (f32) -> f32 { rcp_rz_f32, rcp_rm_f32, rcp_rp_f32, sqrt_rz_f32, sqrt_rm_f32, sqrt_rp_f32 }
    approx: (f32, f32) -> f32 { div_approx_f32, div_approx_ftz_f32, div_full_f32, div_full_ftz_f32 }
    approx: (f32) -> f32 { ex2_approx_f32, ex2_approx_ftz_f32, lg2_approx_f32, lg2_approx_ftz_f32, sin_approx_f32, sin_approx_ftz_f32, cos_approx_f32, cos_approx_ftz_f32, tanh_approx_f32, rsqrt_approx_f32, rsqrt_approx_ftz_f32, rcp_approx_f32, rcp_approx_ftz_f32, sqrt_approx_f32, sqrt_approx_ftz_f32 }
    approx: (u32) -> u32 { ex2_approx_f16, ex2_approx_ftz_bf16, tanh_approx_f16, tanh_approx_bf16 }
    approx: (f64) -> f64 { rcp_approx_ftz_f64, rsqrt_approx_ftz_f64, rsqrt_approx_f64 }
    minmax: (f32, f32) -> f32 { min_f32, max_f32, min_xorsign_abs_f32, max_xorsign_abs_f32, min_nan_f32, max_nan_f32, min_nan_xorsign_abs_f32, max_nan_xorsign_abs_f32 }
    minmax: (f64, f64) -> f64 { min_f64, max_f64, min_xorsign_abs_f64, max_xorsign_abs_f64, min_nan_f64, max_nan_f64, min_nan_xorsign_abs_f64, max_nan_xorsign_abs_f64 }
    flush: (f32) -> f32 { ftz_f32, sat_f32, canonical_nan_f32 }
    flush: (u32) -> u32 { ftz_f16, ftz_bf16, sat_f16 }
    flush: (f64) -> f64 { sat_f64 }
    convert: (f32) -> f32 { cvt_rni_f32_f32, cvt_rzi_f32_f32, cvt_rmi_f32_f32, cvt_rpi_f32_f32 }
    convert: (f64) -> f64 { cvt_rni_f64_f64, cvt_rzi_f64_f64, cvt_rmi_f64_f64, cvt_rpi_f64_f64 }
    convert: (u32, u32, u32, u32) -> u32 { cvt_pack_sat_b32 }
    convert: (u32) -> f32 { cvt_rz_f32_s32, cvt_rm_f32_s32, cvt_rp_f32_s32, cvt_rz_f32_u32, cvt_rm_f32_u32, cvt_rp_f32_u32 }
    convert: (f32) -> u32 { cvt_rni_s8_f32, cvt_rzi_s8_f32, cvt_rmi_s8_f32, cvt_rpi_s8_f32, cvt_rni_u8_f32, cvt_rzi_u8_f32, cvt_rmi_u8_f32, cvt_rpi_u8_f32, cvt_rni_s16_f32, cvt_rzi_s16_f32, cvt_rmi_s16_f32, cvt_rpi_s16_f32, cvt_rni_u16_f32, cvt_rzi_u16_f32, cvt_rmi_u16_f32, cvt_rpi_u16_f32, cvt_rni_s32_f32, cvt_rzi_s32_f32, cvt_rmi_s32_f32, cvt_rpi_s32_f32, cvt_rni_u32_f32, cvt_rzi_u32_f32, cvt_rmi_u32_f32, cvt_rpi_u32_f32 }
    convert: (f64) -> f32 { cvt_rn_f32_f64, cvt_rz_f32_f64, cvt_rm_f32_f64, cvt_rp_f32_f64 }
    convert: (f32) -> u64 { cvt_rni_s64_f32, cvt_rzi_s64_f32, cvt_rmi_s64_f32, cvt_rpi_s64_f32, cvt_rni_u64_f32, cvt_rzi_u64_f32, cvt_rmi_u64_f32, cvt_rpi_u64_f32 }
    convert: (f64) -> u32 { cvt_rni_s8_f64, cvt_rzi_s8_f64, cvt_rmi_s8_f64, cvt_rpi_s8_f64, cvt_rni_u8_f64, cvt_rzi_u8_f64, cvt_rmi_u8_f64, cvt_rpi_u8_f64, cvt_rni_s16_f64, cvt_rzi_s16_f64, cvt_rmi_s16_f64, cvt_rpi_s16_f64, cvt_rni_u16_f64, cvt_rzi_u16_f64, cvt_rmi_u16_f64, cvt_rpi_u16_f64, cvt_rni_s32_f64, cvt_rzi_s32_f64, cvt_rmi_s32_f64, cvt_rpi_s32_f64, cvt_rni_u32_f64, cvt_rzi_u32_f64, cvt_rmi_u32_f64, cvt_rpi_u32_f64 }
    convert: (f64) -> u64 { cvt_rni_s64_f64, cvt_rzi_s64_f64, cvt_rmi_s64_f64, cvt_rpi_s64_f64, cvt_rni_u64_f64, cvt_rzi_u64_f64, cvt_rmi_u64_f64, cvt_rpi_u64_f64 }
    convert: (u64) -> f32 { cvt_rn_f32_s64, cvt_rz_f32_s64, cvt_rm_f32_s64, cvt_rp_f32_s64, cvt_rn_f32_u64, cvt_rz_f32_u64, cvt_rm_f32_u64, cvt_rp_f32_u64 }
    convert: (u64) -> f64 { cvt_rn_f64_s64, cvt_rz_f64_s64, cvt_rm_f64_s64, cvt_rp_f64_s64, cvt_rn_f64_u64, cvt_rz_f64_u64, cvt_rm_f64_u64, cvt_rp_f64_u64 }
    integer: (u32) -> u32 { bfind_u32, bfind_s32, bfind_shiftamt_u32, bfind_shiftamt_s32 }
    integer: (u32, u32) -> u32 { div_u32, rem_u32, div_s32, rem_s32, mul24_lo_u32, mul24_hi_u32, mul24_lo_s32, mul24_hi_s32, bmsk_wrap_b32, bmsk_clamp_b32, szext_wrap_u32, szext_wrap_s32, szext_clamp_u32, szext_clamp_s32 }
    integer: (u64, u64) -> u64 { div_u64, rem_u64, div_s64, rem_s64, mul_hi_u64, mul_hi_s64 }
    integer: (u32, u32, u32) -> u32 { sad_u32, sad_s32, bfe_u32, bfe_s32, fns_b32, shf_l_wrap_b32, shf_l_clamp_b32, shf_r_wrap_b32, shf_r_clamp_b32 }
    integer: (u64, u64, u64) -> u64 { sad_u64, sad_s64 }
    integer: (u64, u32, u32) -> u64 { bfe_u64, bfe_s64 }
    integer: (u32, u32, u32, u32) -> u32 { bfi_b32, lop3_b32 }
    integer: (u64, u64, u32, u32) -> u64 { bfi_b64 }
    integer: (u64) -> u32 { bfind_u64, bfind_s64, bfind_shiftamt_u64, bfind_shiftamt_s64 }
    half: (u32) -> u32 { relu_f16, relu_bf16, cvt_rni_f16_f16, cvt_rzi_f16_f16, cvt_rmi_f16_f16, cvt_rpi_f16_f16, cvt_rni_bf16_bf16, cvt_rzi_bf16_bf16, cvt_rmi_bf16_bf16, cvt_rpi_bf16_bf16, ftz_f16x2, ftz_bf16x2, sat_f16x2, relu_f16x2, relu_bf16x2, ex2_approx_f16x2, ex2_approx_ftz_bf16x2, tanh_approx_f16x2, tanh_approx_bf16x2 }
    half: (u32, u32) -> u32 { add_f16, sub_f16, mul_f16, add_bf16, sub_bf16, mul_bf16, min_f16, max_f16, min_nan_f16, max_nan_f16, min_bf16, max_bf16, min_nan_bf16, max_nan_bf16, min_xorsign_abs_f16, max_xorsign_abs_f16, min_nan_xorsign_abs_f16, max_nan_xorsign_abs_f16, min_xorsign_abs_bf16, max_xorsign_abs_bf16, min_nan_xorsign_abs_bf16, max_nan_xorsign_abs_bf16, add_f16x2, sub_f16x2, mul_f16x2, add_bf16x2, sub_bf16x2, mul_bf16x2, min_f16x2, max_f16x2, min_nan_f16x2, max_nan_f16x2, min_bf16x2, max_bf16x2, min_nan_bf16x2, max_nan_bf16x2, min_xorsign_abs_f16x2, max_xorsign_abs_f16x2, min_nan_xorsign_abs_f16x2, max_nan_xorsign_abs_f16x2, min_xorsign_abs_bf16x2, max_xorsign_abs_bf16x2, min_nan_xorsign_abs_bf16x2, max_nan_xorsign_abs_bf16x2, mask_eq_f16, mask_eq_f16x2, mask_eq_bf16, mask_eq_bf16x2, mask_ne_f16, mask_ne_f16x2, mask_ne_bf16, mask_ne_bf16x2, mask_lt_f16, mask_lt_f16x2, mask_lt_bf16, mask_lt_bf16x2, mask_le_f16, mask_le_f16x2, mask_le_bf16, mask_le_bf16x2, mask_gt_f16, mask_gt_f16x2, mask_gt_bf16, mask_gt_bf16x2, mask_ge_f16, mask_ge_f16x2, mask_ge_bf16, mask_ge_bf16x2, mask_equ_f16, mask_equ_f16x2, mask_equ_bf16, mask_equ_bf16x2, mask_neu_f16, mask_neu_f16x2, mask_neu_bf16, mask_neu_bf16x2, mask_ltu_f16, mask_ltu_f16x2, mask_ltu_bf16, mask_ltu_bf16x2, mask_leu_f16, mask_leu_f16x2, mask_leu_bf16, mask_leu_bf16x2, mask_gtu_f16, mask_gtu_f16x2, mask_gtu_bf16, mask_gtu_bf16x2, mask_geu_f16, mask_geu_f16x2, mask_geu_bf16, mask_geu_bf16x2, mask_num_f16, mask_num_f16x2, mask_num_bf16, mask_num_bf16x2, mask_nan_f16, mask_nan_f16x2, mask_nan_bf16, mask_nan_bf16x2 }
    half: (u32, u32, u32) -> u32 { fma_rn_f16, fma_rn_bf16, fma_rn_f16x2, fma_rn_bf16x2 }
    half: (u64) -> u32 { cvt_rn_f16_s64, cvt_rz_f16_s64, cvt_rm_f16_s64, cvt_rp_f16_s64, cvt_rn_f16_u64, cvt_rz_f16_u64, cvt_rm_f16_u64, cvt_rp_f16_u64, cvt_rn_bf16_s64, cvt_rz_bf16_s64, cvt_rm_bf16_s64, cvt_rp_bf16_s64, cvt_rn_bf16_u64, cvt_rz_bf16_u64, cvt_rm_bf16_u64, cvt_rp_bf16_u64 }
    half: (u32) -> f32 { cvt_f32_f16, cvt_f32_bf16 }
    half: (f32) -> u32 { cvt_rn_f16_f32, cvt_rz_f16_f32, cvt_rn_bf16_f32, cvt_rz_bf16_f32, cvt_rm_f16_f32, cvt_rp_f16_f32, cvt_rm_bf16_f32, cvt_rp_bf16_f32 }
    half: (f64) -> u32 { cvt_rn_f16_f64, cvt_rz_f16_f64, cvt_rm_f16_f64, cvt_rp_f16_f64, cvt_rn_bf16_f64, cvt_rz_bf16_f64, cvt_rm_bf16_f64, cvt_rp_bf16_f64 }
    half: (f32, f32) -> u32 { cvt_rn_f16x2_f32, cvt_rz_f16x2_f32, cvt_rn_bf16x2_f32, cvt_rz_bf16x2_f32 }
    round_f64: (f64) -> f64 { rcp_rz_f64, rcp_rm_f64, rcp_rp_f64, sqrt_rz_f64, sqrt_rm_f64, sqrt_rp_f64 }
    round_f64: (f64, f64) -> f64 { add_rz_f64, add_rm_f64, add_rp_f64, sub_rz_f64, sub_rm_f64, sub_rp_f64, mul_rz_f64, mul_rm_f64, mul_rp_f64, div_rz_f64, div_rm_f64, div_rp_f64 }
    round_f64: (f64, f64, f64) -> f64 { fma_rn_f64, fma_rz_f64, fma_rm_f64, fma_rp_f64 }
    permute: (u32, u32, u32) -> u32 { prmt_b32, prmt_f4e_b32, prmt_b4e_b32, prmt_rc8_b32, prmt_ecl_b32, prmt_ecr_b32, prmt_rc16_b32 }
    video: (u32, u32, u32) -> u32 { dp4a_u32_u32, dp2a_lo_u32_u32, dp2a_hi_u32_u32, dp4a_u32_s32, dp2a_lo_u32_s32, dp2a_hi_u32_s32, dp4a_s32_u32, dp2a_lo_s32_u32, dp2a_hi_s32_u32, dp4a_s32_s32, dp2a_lo_s32_s32, dp2a_hi_s32_s32 }
    video: (u32, u32, u32, u32) -> u32 { video_b32 }
    video: (u32, u32, u32, u64) -> u32 { video_lanes_b32 }
    pairs: (u32, u32) -> u32 { add_u16x2, min_u16x2, max_u16x2, min_s16x2, max_s16x2, min_relu_s16x2, max_relu_s16x2 }
    float8: (f32, f32) -> u32 { cvt_rn_satfinite_e4m3x2_f32, cvt_rn_satfinite_e5m2x2_f32, cvt_rn_satfinite_relu_e4m3x2_f32, cvt_rn_satfinite_relu_e5m2x2_f32 }
    float8: (u32) -> u32 { cvt_rn_satfinite_e4m3x2_f16x2, cvt_rn_satfinite_e5m2x2_f16x2, cvt_rn_f16x2_e4m3x2, cvt_rn_f16x2_e5m2x2, cvt_rn_relu_f16x2_e4m3x2, cvt_rn_relu_f16x2_e5m2x2 }
}
