//! Arithmetic rounded in every direction, computed exactly on the host.
//!
//! An `f32` result comes from its exact value as a pair of `f64`: the nearest one and the sign of what is left. The
//! pair becomes one `f64` "rounded to odd", from which rounding to 24 bits is right in every direction, because 53 is
//! at least 24 + 2 (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008). An `f64` result is
//! the nearest one moved by the sign of what is left.

use std::cmp::Ordering;

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards positive infinity.
    Up,
    /// Towards negative infinity.
    Down,
}

/// All directions, in the order of the kernels: `rn rz ru rd`.
pub(crate) const MODES: [Mode; 4] = [Mode::Nearest, Mode::Zero, Mode::Up, Mode::Down];

/// An exact value: the nearest `f64`, and whether the value is above it, below it, or it.
#[derive(Clone, Copy, Debug)]
struct Exact {
    nearest: f64,
    rest: Ordering,
}

fn sign(x: f64) -> Ordering {
    x.partial_cmp(&0.0).unwrap_or(Ordering::Equal)
}

/// `a + b` and its rounding error, exactly (Knuth's two-sum), as long as nothing overflows.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

impl Exact {
    fn new(nearest: f64, rest: f64) -> Self {
        Self {
            nearest,
            rest: if nearest.is_finite() {
                sign(rest)
            } else {
                Ordering::Equal
            },
        }
    }

    /// To odd: if inexact, the one of the two neighbours whose last bit is 1.
    fn odd(self) -> f64 {
        let Self { nearest, rest } = self;
        if rest == Ordering::Equal || nearest.to_bits() & 1 == 1 {
            return nearest;
        }
        if rest == Ordering::Greater {
            nearest.next_up()
        } else {
            nearest.next_down()
        }
    }

    fn to_f32(self, mode: Mode) -> f32 {
        let exact = self.odd();
        let nearest = exact as f32;
        let difference = f64::from(nearest).partial_cmp(&exact);
        match (mode, difference) {
            (Mode::Up, Some(Ordering::Less)) => nearest.next_up(),
            (Mode::Down, Some(Ordering::Greater)) => nearest.next_down(),
            (Mode::Zero, Some(Ordering::Greater)) if exact > 0.0 => nearest.next_down(),
            (Mode::Zero, Some(Ordering::Less)) if exact < 0.0 => nearest.next_up(),
            _ => nearest,
        }
    }

    fn to_f64(self, mode: Mode) -> f64 {
        let Self { nearest, rest } = self;
        let above = nearest > 0.0 || nearest == 0.0 && rest == Ordering::Greater;
        match (mode, rest) {
            (Mode::Up, Ordering::Greater) => nearest.next_up(),
            (Mode::Down, Ordering::Less) => nearest.next_down(),
            (Mode::Zero, Ordering::Less) if above => nearest.next_down(),
            (Mode::Zero, Ordering::Greater) if !above => nearest.next_up(),
            _ => nearest,
        }
    }
}

/// An exact zero of a sum: -0 only if both terms are, or when rounding down.
fn zero_sum(a: f64, b: f64, mode: Mode) -> f64 {
    if a == 0.0 && b == 0.0 && a.is_sign_negative() == b.is_sign_negative() {
        a
    } else if mode == Mode::Down {
        -0.0
    } else {
        0.0
    }
}

/// `a + b`.
pub(crate) fn add_f32(a: f32, b: f32, mode: Mode) -> f32 {
    sum_f32(f64::from(a), f64::from(b), mode)
}

fn sum_f32(a: f64, b: f64, mode: Mode) -> f32 {
    let (sum, rest) = two_sum(a, b);
    if sum == 0.0 {
        return zero_sum(a, b, mode) as f32;
    }
    Exact::new(sum, rest).to_f32(mode)
}

/// `a * b`.
pub(crate) fn mul_f32(a: f32, b: f32, mode: Mode) -> f32 {
    // 24 + 24 bits, and an exponent that f64 has: the product is exact.
    Exact::new(f64::from(a) * f64::from(b), 0.0).to_f32(mode)
}

/// `a * b + c`, rounded once.
pub(crate) fn fma_f32(a: f32, b: f32, c: f32, mode: Mode) -> f32 {
    sum_f32(f64::from(a) * f64::from(b), f64::from(c), mode)
}

/// `a / b`.
pub(crate) fn div_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    // a - quotient * b, with one rounding, has the right sign; over b it is the sign of what is left.
    let rest = (-quotient).mul_add(b, a) * b.signum();
    Exact::new(quotient, if b.is_finite() { rest } else { 0.0 }).to_f32(mode)
}

/// The square root.
pub(crate) fn sqrt_f32(a: f32, mode: Mode) -> f32 {
    let a = f64::from(a);
    let root = a.sqrt();
    Exact::new(root, (-root).mul_add(root, a)).to_f32(mode)
}

/// A double to single precision.
pub(crate) fn to_f32(a: f64, mode: Mode) -> f32 {
    Exact::new(a, 0.0).to_f32(mode)
}

/// `a + b` in double precision. Overflow gives what the direction says.
pub(crate) fn add_f64(a: f64, b: f64, mode: Mode) -> f64 {
    let (sum, rest) = two_sum(a, b);
    if sum == 0.0 {
        return zero_sum(a, b, mode);
    }
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        return overflow(sum, mode);
    }
    Exact::new(sum, rest).to_f64(mode)
}

fn overflow(infinity: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Zero => f64::MAX.copysign(infinity),
        Mode::Up if infinity < 0.0 => -f64::MAX,
        Mode::Down if infinity > 0.0 => f64::MAX,
        _ => infinity,
    }
}

/// `a * b` in double precision, or `None` where the rest is too small for `f64` to hold exactly.
pub(crate) fn mul_f64(a: f64, b: f64, mode: Mode) -> Option<f64> {
    let product = a * b;
    if product.is_infinite() && a.is_finite() && b.is_finite() {
        return Some(overflow(product, mode));
    }
    if !product.is_finite() || a == 0.0 || b == 0.0 {
        return Some(product);
    }
    // Below this the error of the product may itself underflow.
    if product.abs() < 2f64.powi(-960) {
        return None;
    }
    Some(Exact::new(product, a.mul_add(b, -product)).to_f64(mode))
}

/// `a * b + c` in double precision, for `a` and `b` whose product is exact (at most 26 bits each).
pub(crate) fn fma_f64(a: f64, b: f64, c: f64, mode: Mode) -> f64 {
    add_f64(a * b, c, mode)
}

/// `a / b` in double precision, or `None` where the remainder is too small for `f64`.
pub(crate) fn div_f64(a: f64, b: f64, mode: Mode) -> Option<f64> {
    let quotient = a / b;
    if quotient.is_infinite() && a.is_finite() && b != 0.0 {
        return Some(overflow(quotient, mode));
    }
    if !quotient.is_finite() || a == 0.0 || !b.is_finite() {
        return Some(quotient);
    }
    let small = 2f64.powi(-900);
    if quotient.abs() < small || a.abs() < small || b.abs() > 2f64.powi(1000) {
        return None;
    }
    Some(Exact::new(quotient, (-quotient).mul_add(b, a) * b.signum()).to_f64(mode))
}

/// The square root in double precision, or `None` where the remainder is too small for `f64`.
pub(crate) fn sqrt_f64(a: f64, mode: Mode) -> Option<f64> {
    let root = a.sqrt();
    if !root.is_finite() || a == 0.0 {
        return Some(root);
    }
    if a < 2f64.powi(-900) {
        return None;
    }
    Some(Exact::new(root, (-root).mul_add(root, a)).to_f64(mode))
}

/// To an integral value in the direction given.
pub(crate) fn integral(a: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => a.round_ties_even(),
        Mode::Zero => a.trunc(),
        Mode::Up => a.ceil(),
        Mode::Down => a.floor(),
    }
}

/// An integer to `f32`.
pub(crate) fn i128_to_f32(a: i128, mode: Mode) -> f32 {
    // The nearest double and the exact rest: both casts are exact enough, as 64-bit integers differ from their double
    // by less than 2^11.
    let nearest = a as f64;
    Exact::new(nearest, (a - nearest as i128) as f64).to_f32(mode)
}

/// An integer to `f64`.
pub(crate) fn i128_to_f64(a: i128, mode: Mode) -> f64 {
    let nearest = a as f64;
    Exact::new(nearest, (a - nearest as i128) as f64).to_f64(mode)
}

/// Steps between two floats along the number line, through the subnormals; 0 for two NaNs.
pub(crate) fn ulps_f32(a: f32, b: f32) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let line = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    (line(a) - line(b)).abs() as f64
}

/// As [`ulps_f32`] for `f64`.
pub(crate) fn ulps_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let line = |x: f64| {
        let bits = i128::from(x.to_bits() & (u64::MAX >> 1));
        if x.is_sign_negative() { -bits } else { bits }
    };
    (line(a) - line(b)).abs() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values worked out by hand: one over three is 0x3eaaaaaa.aaa.. in binary32.
    #[test]
    fn directions_of_known_values() {
        let third = MODES.map(|mode| div_f32(1.0, 3.0, mode).to_bits());
        assert_eq!(third, [0x3eaa_aaab, 0x3eaa_aaaa, 0x3eaa_aaab, 0x3eaa_aaaa]);
        let minus_third = MODES.map(|mode| div_f32(1.0, -3.0, mode).to_bits());
        assert_eq!(
            minus_third,
            [0xbeaa_aaab, 0xbeaa_aaaa, 0xbeaa_aaaa, 0xbeaa_aaab]
        );
        // A tie with something tiny on either side, far below what f64 keeps.
        let tie = 1.0 + f64::from(f32::EPSILON) / 2.0;
        assert_eq!(sum_f32(tie, 1e-300, Mode::Nearest), 1.0f32.next_up());
        assert_eq!(sum_f32(tie, -1e-300, Mode::Nearest), 1.0);
        assert_eq!(add_f32(f32::MAX, f32::MAX, Mode::Zero), f32::MAX);
        assert_eq!(add_f32(f32::MAX, f32::MAX, Mode::Nearest), f32::INFINITY);
        assert_eq!(
            MODES.map(|mode| add_f32(1.0, -1.0, mode).is_sign_negative()),
            [false, false, false, true]
        );
        assert_eq!(
            MODES.map(|mode| add_f64(1.0, 2f64.powi(-80), mode)),
            [1.0, 1.0, 1.0f64.next_up(), 1.0]
        );
        assert_eq!(
            MODES.map(|mode| i128_to_f32(16_777_219, mode)),
            [16_777_220.0, 16_777_218.0, 16_777_220.0, 16_777_218.0]
        );
        assert_eq!(ulps_f32(-0.0, f32::from_bits(2)), 2.0);
    }
}
