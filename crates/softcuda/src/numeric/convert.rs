//! `cvt` between integers, `f32` and `f64`.
//!
//! Names are `cvt_<rounding>_<destination>_<source>`, as PTX spells them. Integer results narrower than 32 bits come extended to 32 by
//! their signedness, which is what `cvt` leaves in a wider destination register. `.ftz` and `.sat` compose (see [`super::flush`]);
//! conversion to integers saturates by itself.

use super::round_f32::{round_down, round_to_zero, round_up};
use super::soft::{F32, F64, Format, Rounding};
use super::{canonical_f32, canonical_f64};

/// Magnitude from which every `f64` is an integer.
const INTEGRAL: f64 = (1u64 << 52) as f64;

/// To the nearest integer, ties to even: `.rni`. Written out, so that it does not become a library call on hosts without the instruction.
#[inline(always)]
pub(super) fn nearest_integer(x: f64) -> f64 {
    let magnitude = x.abs();
    // Adding 2^52 leaves no fraction bits: the addition itself rounds.
    let rounded = if magnitude < INTEGRAL {
        (magnitude + INTEGRAL) - INTEGRAL
    } else {
        magnitude
    };
    rounded.copysign(x)
}

/// The greatest integer not above: `.rmi`.
#[inline(always)]
pub(super) fn floor(x: f64) -> f64 {
    let nearest = nearest_integer(x);
    if nearest > x { nearest - 1.0 } else { nearest }
}

/// The least integer not below: `.rpi`.
#[inline(always)]
pub(super) fn ceiling(x: f64) -> f64 {
    -floor(-x)
}

/// The integer next to zero: `.rzi`.
#[inline(always)]
pub(super) fn truncated(x: f64) -> f64 {
    floor(x.abs()).copysign(x)
}

macro_rules! to_integer {
    ($($name:ident: $round:ident, $source:ident => $integer:ident in $wide:ident, $nan:expr;)*) => {$(
        /// Float to integer, saturating. NaN gives 0, or 1 in the top bit alone if the source is `f64` or the destination has 64 bits.
        #[inline]
        pub(crate) extern "C" fn $name(a: $source) -> $wide {
            let nan: $integer = $nan;
            // Rust's cast saturates; the cast after it extends by the signedness of the narrow type.
            let value = if a.is_nan() { nan } else { $round(f64::from(a)) as $integer };
            value as $wide
        }
    )*};
}

to_integer! {
    cvt_rni_s8_f32: nearest_integer, f32 => i8 in u32, 0;
    cvt_rzi_s8_f32: truncated, f32 => i8 in u32, 0;
    cvt_rmi_s8_f32: floor, f32 => i8 in u32, 0;
    cvt_rpi_s8_f32: ceiling, f32 => i8 in u32, 0;
    cvt_rni_u8_f32: nearest_integer, f32 => u8 in u32, 0;
    cvt_rzi_u8_f32: truncated, f32 => u8 in u32, 0;
    cvt_rmi_u8_f32: floor, f32 => u8 in u32, 0;
    cvt_rpi_u8_f32: ceiling, f32 => u8 in u32, 0;
    cvt_rni_s16_f32: nearest_integer, f32 => i16 in u32, 0;
    cvt_rzi_s16_f32: truncated, f32 => i16 in u32, 0;
    cvt_rmi_s16_f32: floor, f32 => i16 in u32, 0;
    cvt_rpi_s16_f32: ceiling, f32 => i16 in u32, 0;
    cvt_rni_u16_f32: nearest_integer, f32 => u16 in u32, 0;
    cvt_rzi_u16_f32: truncated, f32 => u16 in u32, 0;
    cvt_rmi_u16_f32: floor, f32 => u16 in u32, 0;
    cvt_rpi_u16_f32: ceiling, f32 => u16 in u32, 0;
    cvt_rni_s32_f32: nearest_integer, f32 => i32 in u32, 0;
    cvt_rzi_s32_f32: truncated, f32 => i32 in u32, 0;
    cvt_rmi_s32_f32: floor, f32 => i32 in u32, 0;
    cvt_rpi_s32_f32: ceiling, f32 => i32 in u32, 0;
    cvt_rni_u32_f32: nearest_integer, f32 => u32 in u32, 0;
    cvt_rzi_u32_f32: truncated, f32 => u32 in u32, 0;
    cvt_rmi_u32_f32: floor, f32 => u32 in u32, 0;
    cvt_rpi_u32_f32: ceiling, f32 => u32 in u32, 0;
    cvt_rni_s64_f32: nearest_integer, f32 => i64 in u64, 1 << 63;
    cvt_rzi_s64_f32: truncated, f32 => i64 in u64, 1 << 63;
    cvt_rmi_s64_f32: floor, f32 => i64 in u64, 1 << 63;
    cvt_rpi_s64_f32: ceiling, f32 => i64 in u64, 1 << 63;
    cvt_rni_u64_f32: nearest_integer, f32 => u64 in u64, 1 << 63;
    cvt_rzi_u64_f32: truncated, f32 => u64 in u64, 1 << 63;
    cvt_rmi_u64_f32: floor, f32 => u64 in u64, 1 << 63;
    cvt_rpi_u64_f32: ceiling, f32 => u64 in u64, 1 << 63;
    cvt_rni_s8_f64: nearest_integer, f64 => i8 in u32, 1 << 7;
    cvt_rzi_s8_f64: truncated, f64 => i8 in u32, 1 << 7;
    cvt_rmi_s8_f64: floor, f64 => i8 in u32, 1 << 7;
    cvt_rpi_s8_f64: ceiling, f64 => i8 in u32, 1 << 7;
    cvt_rni_u8_f64: nearest_integer, f64 => u8 in u32, 1 << 7;
    cvt_rzi_u8_f64: truncated, f64 => u8 in u32, 1 << 7;
    cvt_rmi_u8_f64: floor, f64 => u8 in u32, 1 << 7;
    cvt_rpi_u8_f64: ceiling, f64 => u8 in u32, 1 << 7;
    cvt_rni_s16_f64: nearest_integer, f64 => i16 in u32, 1 << 15;
    cvt_rzi_s16_f64: truncated, f64 => i16 in u32, 1 << 15;
    cvt_rmi_s16_f64: floor, f64 => i16 in u32, 1 << 15;
    cvt_rpi_s16_f64: ceiling, f64 => i16 in u32, 1 << 15;
    cvt_rni_u16_f64: nearest_integer, f64 => u16 in u32, 1 << 15;
    cvt_rzi_u16_f64: truncated, f64 => u16 in u32, 1 << 15;
    cvt_rmi_u16_f64: floor, f64 => u16 in u32, 1 << 15;
    cvt_rpi_u16_f64: ceiling, f64 => u16 in u32, 1 << 15;
    cvt_rni_s32_f64: nearest_integer, f64 => i32 in u32, 1 << 31;
    cvt_rzi_s32_f64: truncated, f64 => i32 in u32, 1 << 31;
    cvt_rmi_s32_f64: floor, f64 => i32 in u32, 1 << 31;
    cvt_rpi_s32_f64: ceiling, f64 => i32 in u32, 1 << 31;
    cvt_rni_u32_f64: nearest_integer, f64 => u32 in u32, 1 << 31;
    cvt_rzi_u32_f64: truncated, f64 => u32 in u32, 1 << 31;
    cvt_rmi_u32_f64: floor, f64 => u32 in u32, 1 << 31;
    cvt_rpi_u32_f64: ceiling, f64 => u32 in u32, 1 << 31;
    cvt_rni_s64_f64: nearest_integer, f64 => i64 in u64, 1 << 63;
    cvt_rzi_s64_f64: truncated, f64 => i64 in u64, 1 << 63;
    cvt_rmi_s64_f64: floor, f64 => i64 in u64, 1 << 63;
    cvt_rpi_s64_f64: ceiling, f64 => i64 in u64, 1 << 63;
    cvt_rni_u64_f64: nearest_integer, f64 => u64 in u64, 1 << 63;
    cvt_rzi_u64_f64: truncated, f64 => u64 in u64, 1 << 63;
    cvt_rmi_u64_f64: floor, f64 => u64 in u64, 1 << 63;
    cvt_rpi_u64_f64: ceiling, f64 => u64 in u64, 1 << 63;
}

macro_rules! to_integral {
    ($($name:ident: $round:ident, $float:ident, $canonical:ident;)*) => {$(
        /// Rounds to an integral value of the same format; a zero result keeps the operand's sign.
        #[inline]
        pub(crate) extern "C" fn $name(a: $float) -> $float {
            // Integral values of either format are exact in both.
            $canonical($round(f64::from(a)) as $float)
        }
    )*};
}

to_integral! {
    cvt_rni_f32_f32: nearest_integer, f32, canonical_f32;
    cvt_rzi_f32_f32: truncated, f32, canonical_f32;
    cvt_rmi_f32_f32: floor, f32, canonical_f32;
    cvt_rpi_f32_f32: ceiling, f32, canonical_f32;
    cvt_rni_f64_f64: nearest_integer, f64, canonical_f64;
    cvt_rzi_f64_f64: truncated, f64, canonical_f64;
    cvt_rmi_f64_f64: floor, f64, canonical_f64;
    cvt_rpi_f64_f64: ceiling, f64, canonical_f64;
}

/// `cvt.rn.f32.f64`.
#[inline]
pub(crate) extern "C" fn cvt_rn_f32_f64(a: f64) -> f32 {
    canonical_f32(a as f32)
}

/// `cvt.rz.f32.f64`.
#[inline]
pub(crate) extern "C" fn cvt_rz_f32_f64(a: f64) -> f32 {
    round_to_zero(a, 0.0)
}

/// `cvt.rm.f32.f64`.
#[inline]
pub(crate) extern "C" fn cvt_rm_f32_f64(a: f64) -> f32 {
    round_down(a, 0.0)
}

/// `cvt.rp.f32.f64`.
#[inline]
pub(crate) extern "C" fn cvt_rp_f32_f64(a: f64) -> f32 {
    round_up(a, 0.0)
}

/// Rounds an unsigned integer to a format.
#[inline]
pub(super) fn from_unsigned(format: Format, a: u64, mode: Rounding) -> u64 {
    format.round(false, 0, u128::from(a), mode)
}

/// Rounds a signed integer, given as bits, to a format.
#[inline]
pub(super) fn from_signed(format: Format, a: u64, mode: Rounding) -> u64 {
    let a = a.cast_signed();
    format.round(a < 0, 0, u128::from(a.unsigned_abs()), mode)
}

macro_rules! from_integer {
    ($($name:ident: $convert:ident, $mode:ident => $float:ident, $format:ident, $bits:ident;)*) => {$(
        /// 64-bit integer to float; narrower integers are extended by the caller. Zero gives +0.
        pub(crate) extern "C" fn $name(a: u64) -> $float {
            $float::from_bits($convert($format, a, Rounding::$mode) as $bits)
        }
    )*};
}

from_integer! {
    cvt_rn_f32_s64: from_signed, Nearest => f32, F32, u32;
    cvt_rz_f32_s64: from_signed, Zero => f32, F32, u32;
    cvt_rm_f32_s64: from_signed, Down => f32, F32, u32;
    cvt_rp_f32_s64: from_signed, Up => f32, F32, u32;
    cvt_rn_f32_u64: from_unsigned, Nearest => f32, F32, u32;
    cvt_rz_f32_u64: from_unsigned, Zero => f32, F32, u32;
    cvt_rm_f32_u64: from_unsigned, Down => f32, F32, u32;
    cvt_rp_f32_u64: from_unsigned, Up => f32, F32, u32;
    cvt_rn_f64_s64: from_signed, Nearest => f64, F64, u64;
    cvt_rz_f64_s64: from_signed, Zero => f64, F64, u64;
    cvt_rm_f64_s64: from_signed, Down => f64, F64, u64;
    cvt_rp_f64_s64: from_signed, Up => f64, F64, u64;
    cvt_rn_f64_u64: from_unsigned, Nearest => f64, F64, u64;
    cvt_rz_f64_u64: from_unsigned, Zero => f64, F64, u64;
    cvt_rm_f64_u64: from_unsigned, Down => f64, F64, u64;
    cvt_rp_f64_u64: from_unsigned, Up => f64, F64, u64;
}

macro_rules! from_word {
    ($($name:ident: $round:ident, $integer:ident;)*) => {$(
        /// 32-bit integer to `f32`, through `f64`, which holds it exactly.
        #[inline]
        pub(crate) extern "C" fn $name(a: u32) -> f32 {
            $round(f64::from(a as $integer), 0.0)
        }
    )*};
}

from_word! {
    cvt_rz_f32_s32: round_to_zero, i32;
    cvt_rm_f32_s32: round_down, i32;
    cvt_rp_f32_s32: round_up, i32;
    cvt_rz_f32_u32: round_to_zero, u32;
    cvt_rm_f32_u32: round_down, u32;
    cvt_rp_f32_u32: round_up, u32;
}

/// `cvt.pack.sat.<type>.s32.b32`: clamps `a` and `b` (signed) to the type, and packs: `b` lowest, `a` above it, the low bits of `c`
/// above that. `kind` is the width in bits (2, 4, 8, 16), plus 256 if the type is signed.
#[inline]
pub(crate) extern "C" fn cvt_pack_sat_b32(a: u32, b: u32, c: u32, kind: u32) -> u32 {
    let width = kind & 0xff;
    let (low, high) = if kind & 0x100 != 0 {
        (-(1i32 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    };
    let field = |x: u32| (x as i32).clamp(low, high) as u32 & ((1 << width) - 1);
    let rest = if width == 16 { 0 } else { c << (2 * width) };
    rest | field(a) << width | field(b)
}
