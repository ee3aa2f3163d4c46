//! `add sub mul fma div rcp sqrt` of `f32` with `.rz .rm .rp`, bit-exact, on hosts that round to nearest only.
//!
//! # Recipe (short enough to be emitted inline)
//! 1. Work in `f64`, rounding to nearest. Products of two `f32` are exact (48 bits). For sums, `s = x + y` and the exact residual
//!    `e = (x - (s - bb)) + (y - bb)` with `bb = s - x` (TwoSum; it cannot overflow or underflow on values of `f32` size).
//! 2. `r = s as f32` to nearest, `back = r as f64`. Rounding is monotonic and `back` is an `f64`, so the exact value is below `back` if
//!    and only if `back > s`, or `back == s` and `e < 0`; likewise above. `r` is at most one step away from the directed result.
//! 3. A step on the bits of `r`: away from zero is +1, towards zero -1. This crosses binades, reaches the largest finite value from
//!    infinity and the least subnormal from zero by itself. `.rm` steps down if the exact value is below `back`, `.rp` up if it is above,
//!    `.rz` towards zero if the magnitude of `back` is too large. When `r` is zero its sign is that of `s`, so that no step is taken
//!    from +0 to below or from -0 to above.
//! 4. An exact zero sum of unlike signs is -0 in `.rm`: compute `s = -((-x) - y)` there, which differs from `x + y` in this only.
//! 5. Quotients: `r = (a / b) as f32` computed in `f64`, then the sign of `r * b - a` (exact in `f64`) replaces the comparison of step 2.
//!    Square roots: the sign of `r * r - a`.
//!
//! Infinities and NaN need no extra care: `e` is then NaN, comparisons with it are false, and `r` is already right. NaN results are
//! canonical (`0x7fffffff`).

use super::{canonical_f32, two_sum};

/// Steps `r` down if its value is above the exact one.
#[inline(always)]
fn step_down(r: f32, above: bool) -> f32 {
    let bits = r.to_bits();
    let step = u32::from(above);
    canonical_f32(f32::from_bits(if bits >> 31 == 1 {
        bits.wrapping_add(step)
    } else {
        bits.wrapping_sub(step)
    }))
}

/// Steps `r` up if its value is below the exact one.
#[inline(always)]
fn step_up(r: f32, below: bool) -> f32 {
    let bits = r.to_bits();
    let step = u32::from(below);
    canonical_f32(f32::from_bits(if bits >> 31 == 1 {
        bits.wrapping_sub(step)
    } else {
        bits.wrapping_add(step)
    }))
}

/// Steps `r` towards zero if its magnitude is above the exact one.
#[inline(always)]
fn step_to_zero(r: f32, above: bool) -> f32 {
    canonical_f32(f32::from_bits(r.to_bits().wrapping_sub(u32::from(above))))
}

/// Rounds `s + e` down; `s` is the sum rounded to nearest.
#[inline(always)]
pub(super) fn round_down(s: f64, e: f64) -> f32 {
    let r = s as f32;
    let back = f64::from(r);
    step_down(r, (back > s) | ((back == s) & (e < 0.0)))
}

/// Rounds `s + e` up; `s` is the sum rounded to nearest.
#[inline(always)]
pub(super) fn round_up(s: f64, e: f64) -> f32 {
    let r = s as f32;
    let back = f64::from(r);
    step_up(r, (back < s) | ((back == s) & (e > 0.0)))
}

/// Rounds `s + e` towards zero; `s` is the sum rounded to nearest.
#[inline(always)]
pub(super) fn round_to_zero(s: f64, e: f64) -> f32 {
    let r = s as f32;
    let back = f64::from(r);
    // `e * s` cannot be used for "opposite signs": it may underflow.
    let residual_inwards = if s < 0.0 { e > 0.0 } else { e < 0.0 };
    step_to_zero(r, (back.abs() > s.abs()) | ((back == s) & residual_inwards))
}

/// Rounds `s + e` to nearest, where `s` is the sum rounded to nearest in `f64`: through `s` rounded to odd, which at 53 bits cannot
/// disturb a second rounding to 24 bits or fewer.
#[inline(always)]
pub(super) fn to_odd(s: f64, e: f64) -> f64 {
    let bits = s.to_bits();
    let inexact = (e > 0.0) | (e < 0.0);
    let outwards = (e > 0.0) == (s > 0.0);
    if inexact & (bits & 1 == 0) {
        f64::from_bits(if outwards { bits + 1 } else { bits - 1 })
    } else {
        s
    }
}

/// `x + y` and its residual, with the zero sign of `.rm`.
#[inline(always)]
fn two_sum_down(x: f64, y: f64) -> (f64, f64) {
    let (s, e) = two_sum(-x, -y);
    (-s, -e)
}

/// `add.rz.f32`.
#[inline]
pub(crate) extern "C" fn add_rz_f32(a: f32, b: f32) -> f32 {
    let (s, e) = two_sum(f64::from(a), f64::from(b));
    round_to_zero(s, e)
}

/// `add.rm.f32`.
#[inline]
pub(crate) extern "C" fn add_rm_f32(a: f32, b: f32) -> f32 {
    let (s, e) = two_sum_down(f64::from(a), f64::from(b));
    round_down(s, e)
}

/// `add.rp.f32`.
#[inline]
pub(crate) extern "C" fn add_rp_f32(a: f32, b: f32) -> f32 {
    let (s, e) = two_sum(f64::from(a), f64::from(b));
    round_up(s, e)
}

/// `sub.rz.f32`.
#[inline]
pub(crate) extern "C" fn sub_rz_f32(a: f32, b: f32) -> f32 {
    add_rz_f32(a, -b)
}

/// `sub.rm.f32`.
#[inline]
pub(crate) extern "C" fn sub_rm_f32(a: f32, b: f32) -> f32 {
    add_rm_f32(a, -b)
}

/// `sub.rp.f32`.
#[inline]
pub(crate) extern "C" fn sub_rp_f32(a: f32, b: f32) -> f32 {
    add_rp_f32(a, -b)
}

/// `mul.rz.f32`.
#[inline]
pub(crate) extern "C" fn mul_rz_f32(a: f32, b: f32) -> f32 {
    round_to_zero(f64::from(a) * f64::from(b), 0.0)
}

/// `mul.rm.f32`.
#[inline]
pub(crate) extern "C" fn mul_rm_f32(a: f32, b: f32) -> f32 {
    round_down(f64::from(a) * f64::from(b), 0.0)
}

/// `mul.rp.f32`.
#[inline]
pub(crate) extern "C" fn mul_rp_f32(a: f32, b: f32) -> f32 {
    round_up(f64::from(a) * f64::from(b), 0.0)
}

/// `fma.rn.f32`, for hosts without the instruction.
#[inline]
pub(crate) extern "C" fn fma_rn_f32(a: f32, b: f32, c: f32) -> f32 {
    let (s, e) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    canonical_f32(to_odd(s, e) as f32)
}

/// `fma.rz.f32`.
#[inline]
pub(crate) extern "C" fn fma_rz_f32(a: f32, b: f32, c: f32) -> f32 {
    let (s, e) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    round_to_zero(s, e)
}

/// `fma.rm.f32`.
#[inline]
pub(crate) extern "C" fn fma_rm_f32(a: f32, b: f32, c: f32) -> f32 {
    let (s, e) = two_sum_down(f64::from(a) * f64::from(b), f64::from(c));
    round_down(s, e)
}

/// `fma.rp.f32`.
#[inline]
pub(crate) extern "C" fn fma_rp_f32(a: f32, b: f32, c: f32) -> f32 {
    let (s, e) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    round_up(s, e)
}

/// `a / b` to nearest through `f64`, and whether it is (below, above) the exact quotient.
#[inline(always)]
fn quotient(a: f32, b: f32) -> (f32, bool, bool) {
    let (a, b) = (f64::from(a), f64::from(b));
    let r = (a / b) as f32;
    let product = f64::from(r) * b;
    if b < 0.0 {
        (r, product > a, product < a)
    } else {
        (r, product < a, product > a)
    }
}

/// `div.rz.f32`.
#[inline]
pub(crate) extern "C" fn div_rz_f32(a: f32, b: f32) -> f32 {
    let (r, below, above) = quotient(a, b);
    step_to_zero(r, if r.is_sign_negative() { below } else { above })
}

/// `div.rm.f32`.
#[inline]
pub(crate) extern "C" fn div_rm_f32(a: f32, b: f32) -> f32 {
    let (r, _, above) = quotient(a, b);
    step_down(r, above)
}

/// `div.rp.f32`.
#[inline]
pub(crate) extern "C" fn div_rp_f32(a: f32, b: f32) -> f32 {
    let (r, below, _) = quotient(a, b);
    step_up(r, below)
}

/// `rcp.rz.f32`.
#[inline]
pub(crate) extern "C" fn rcp_rz_f32(a: f32) -> f32 {
    div_rz_f32(1.0, a)
}

/// `rcp.rm.f32`.
#[inline]
pub(crate) extern "C" fn rcp_rm_f32(a: f32) -> f32 {
    div_rm_f32(1.0, a)
}

/// `rcp.rp.f32`.
#[inline]
pub(crate) extern "C" fn rcp_rp_f32(a: f32) -> f32 {
    div_rp_f32(1.0, a)
}

/// Square root to nearest through `f64`, and whether it is (below, above) the exact root.
#[inline(always)]
fn root(a: f32) -> (f32, bool, bool) {
    let a = f64::from(a);
    let r = a.sqrt() as f32;
    let square = f64::from(r) * f64::from(r);
    (r, square < a, square > a)
}

/// `sqrt.rz.f32`.
#[inline]
pub(crate) extern "C" fn sqrt_rz_f32(a: f32) -> f32 {
    let (r, _, above) = root(a);
    step_to_zero(r, above)
}

/// `sqrt.rm.f32`.
#[inline]
pub(crate) extern "C" fn sqrt_rm_f32(a: f32) -> f32 {
    let (r, _, above) = root(a);
    step_down(r, above)
}

/// `sqrt.rp.f32`.
#[inline]
pub(crate) extern "C" fn sqrt_rp_f32(a: f32) -> f32 {
    let (r, below, _) = root(a);
    step_up(r, below)
}
