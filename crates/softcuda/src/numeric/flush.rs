//! The modifiers `.ftz` and `.sat` as functions to compose with others.
//!
//! `op.ftz.f32 d, a, b` is `d = ftz(op(ftz(a), ftz(b)))`; with `.sat` too, saturation comes last.

use super::canonical_f32;

/// Replaces a subnormal by zero of the same sign: `.ftz` of an `f32` operand or result.
#[inline]
pub(crate) extern "C" fn ftz_f32(a: f32) -> f32 {
    let bits = a.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    })
}

/// `.ftz` of an `f16` operand or result (bits in the low half).
#[inline]
pub(crate) extern "C" fn ftz_f16(a: u32) -> u32 {
    if a & 0x7c00 == 0 {
        a & 0x8000
    } else {
        a & 0xffff
    }
}

/// `.ftz` of a `bf16` operand or result (bits in the low half).
#[inline]
pub(crate) extern "C" fn ftz_bf16(a: u32) -> u32 {
    if a & 0x7f80 == 0 {
        a & 0x8000
    } else {
        a & 0xffff
    }
}

/// `.sat` of an `f32` result: clamps to [+0, 1]; NaN gives +0.
#[inline]
pub(crate) extern "C" fn sat_f32(a: f32) -> f32 {
    if a > 0.0 {
        if a < 1.0 { a } else { 1.0 }
    } else {
        0.0
    }
}

/// `.sat` of an `f64` result: clamps to [+0, 1]; NaN gives +0.
#[inline]
pub(crate) extern "C" fn sat_f64(a: f64) -> f64 {
    if a > 0.0 {
        if a < 1.0 { a } else { 1.0 }
    } else {
        0.0
    }
}

/// `.sat` of an `f16` result: clamps to [+0, 1]; NaN gives +0.
#[inline]
pub(crate) extern "C" fn sat_f16(a: u32) -> u32 {
    let a = a & 0xffff;
    if a & 0x8000 != 0 || a > 0x7c00 {
        0
    } else {
        a.min(0x3c00)
    }
}

/// Replaces any NaN by the NaN that `f32` instructions produce.
#[inline]
pub(crate) extern "C" fn canonical_nan_f32(a: f32) -> f32 {
    canonical_f32(a)
}
