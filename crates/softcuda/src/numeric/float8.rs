//! The 8-bit formats `e4m3` and `e5m2`: `cvt` from pairs of `f32` or `f16` with `.rn.satfinite`, and back to `f16`, always in pairs.
//!
//! `e5m2` has infinities and NaN like an IEEE format. `e4m3` has no infinity, its only NaNs are `0x7f` and `0xff`, and its largest value
//! is 448, one step below NaN. With `.satfinite` everything too large, infinity included, becomes the largest finite value.

use super::half::{cvt_f32_f16, cvt_rn_f16_f32, relu_f16};
use super::soft::{F32, Format, Rounding, Value};

const E5M2: Format = Format {
    fraction_bits: 2,
    exponent_bits: 5,
};
/// Exponent field 15 is an ordinary one in `e4m3`, so a wider exponent lets the rounding see no overflow before 2^9.
const E4M3: Format = Format {
    fraction_bits: 3,
    exponent_bits: 4,
};

/// One `f32` to `e5m2`, `.rn.satfinite`.
fn to_e5m2(a: f32) -> u32 {
    if a.is_nan() {
        return 0x7f;
    }
    let sign = a.to_bits() >> 24 & 0x80;
    let magnitude = E5M2.convert(F32, u64::from(a.abs().to_bits()), Rounding::Nearest) as u32;
    sign | magnitude.min(0x7b)
}

/// One `f32` to `e4m3`, `.rn.satfinite`.
fn to_e4m3(a: f32) -> u32 {
    let sign = a.to_bits() >> 24 & 0x80;
    match F32.unpack(u64::from(a.to_bits())) {
        Value::Nan => 0x7f,
        Value::Infinite(_) => sign | 0x7e,
        // 448 and more; the nearest values below are safe from the exponent that counts as infinite in an IEEE format of this shape.
        Value::Finite(..) if a.abs() >= 248.0 => {
            sign | (0x78 + ((a.abs().min(448.0) - 256.0).max(0.0) / 32.0).round_ties_even() as u32)
        }
        Value::Finite(_, exponent, significand) => {
            sign | E4M3.round(false, exponent, significand, Rounding::Nearest) as u32
        }
    }
}

/// One `e5m2` to `f16`: the same exponent, so the upper byte.
fn from_e5m2(a: u32) -> u32 {
    let bits = (a & 0xff) << 8;
    if bits & 0x7fff > 0x7c00 { 0x7fff } else { bits }
}

/// One `e4m3` to `f16`.
fn from_e4m3(a: u32) -> u32 {
    if a & 0x7f == 0x7f {
        return 0x7fff;
    }
    // The fields of an f16 with the exponent bias short by 8.
    let scaled = cvt_f32_f16((a & 0x7f) << 7) * 256.0;
    cvt_rn_f16_f32(scaled) | (a & 0x80) << 8
}

/// `cvt.rn.satfinite.e4m3x2.f32`: `a` in the upper byte.
pub(crate) extern "C" fn cvt_rn_satfinite_e4m3x2_f32(a: f32, b: f32) -> u32 {
    to_e4m3(a) << 8 | to_e4m3(b)
}

/// `cvt.rn.satfinite.e5m2x2.f32`: `a` in the upper byte.
pub(crate) extern "C" fn cvt_rn_satfinite_e5m2x2_f32(a: f32, b: f32) -> u32 {
    to_e5m2(a) << 8 | to_e5m2(b)
}

/// `cvt.rn.satfinite.e4m3x2.f16x2`.
pub(crate) extern "C" fn cvt_rn_satfinite_e4m3x2_f16x2(a: u32) -> u32 {
    cvt_rn_satfinite_e4m3x2_f32(cvt_f32_f16(a >> 16), cvt_f32_f16(a))
}

/// `cvt.rn.satfinite.e5m2x2.f16x2`.
pub(crate) extern "C" fn cvt_rn_satfinite_e5m2x2_f16x2(a: u32) -> u32 {
    cvt_rn_satfinite_e5m2x2_f32(cvt_f32_f16(a >> 16), cvt_f32_f16(a))
}

/// `cvt.rn.f16x2.e4m3x2`, exact.
pub(crate) extern "C" fn cvt_rn_f16x2_e4m3x2(a: u32) -> u32 {
    from_e4m3(a >> 8) << 16 | from_e4m3(a)
}

/// `cvt.rn.f16x2.e5m2x2`, exact.
pub(crate) extern "C" fn cvt_rn_f16x2_e5m2x2(a: u32) -> u32 {
    from_e5m2(a >> 8) << 16 | from_e5m2(a)
}

/// Replaces everything below zero, and -0, by +0; keeps NaN.
fn relu(a: f32) -> f32 {
    if a <= 0.0 { 0.0 } else { a }
}

/// `cvt.rn.satfinite.relu.e4m3x2.f32`.
pub(crate) extern "C" fn cvt_rn_satfinite_relu_e4m3x2_f32(a: f32, b: f32) -> u32 {
    cvt_rn_satfinite_e4m3x2_f32(relu(a), relu(b))
}

/// `cvt.rn.satfinite.relu.e5m2x2.f32`.
pub(crate) extern "C" fn cvt_rn_satfinite_relu_e5m2x2_f32(a: f32, b: f32) -> u32 {
    cvt_rn_satfinite_e5m2x2_f32(relu(a), relu(b))
}

/// `cvt.rn.relu.f16x2.e4m3x2`.
pub(crate) extern "C" fn cvt_rn_relu_f16x2_e4m3x2(a: u32) -> u32 {
    let pair = cvt_rn_f16x2_e4m3x2(a);
    relu_f16(pair >> 16) << 16 | relu_f16(pair)
}

/// `cvt.rn.relu.f16x2.e5m2x2`.
pub(crate) extern "C" fn cvt_rn_relu_f16x2_e5m2x2(a: u32) -> u32 {
    let pair = cvt_rn_f16x2_e5m2x2(a);
    relu_f16(pair >> 16) << 16 | relu_f16(pair)
}
