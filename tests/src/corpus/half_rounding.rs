//! Rounding to half precision by search among its values: slow, and plain to see right.

use half::f16;

/// Where a value between two halves goes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Toward {
    /// To the nearer one, and in the middle to the even one.
    Nearest,
    Zero,
    Up,
    Down,
}

/// `x` rounded to a half.
pub(super) fn rounded(x: f64, toward: Toward) -> f16 {
    if x.is_nan() {
        return f16::NAN;
    }
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let size = x.abs();
    // The bit patterns of the positive halves are ordered as their values; the pattern of infinity stands for 65536,
    // the next value that there would be.
    let value = |bits: u16| {
        if bits == 0x7c00 {
            65536.0
        } else {
            f64::from(f16::from_bits(bits))
        }
    };
    if size.is_infinite() {
        return f16::from_bits(sign | 0x7c00);
    }
    let (mut low, mut high) = (0u16, 0x7c00u16);
    if size >= value(high) {
        low = 0x7bff;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if value(middle) <= size {
            low = middle;
        } else {
            high = middle;
        }
    }
    let outward = match toward {
        // A double holds the middle of two halves exactly.
        Toward::Nearest => {
            let middle = f64::midpoint(value(low), value(high));
            size > middle || (size == middle && low % 2 == 1)
        }
        Toward::Zero => false,
        Toward::Up => sign == 0 && size > value(low),
        Toward::Down => sign != 0 && size > value(low),
    };
    f16::from_bits(sign | if outward { high } else { low })
}

/// `x` rounded to the nearest half.
pub(super) fn nearest(x: f64) -> f16 {
    rounded(x, Toward::Nearest)
}

/// `a * b + c`, rounded once.
pub(super) fn fused(a: f16, b: f16, c: f16) -> f16 {
    let [x, y, z] = [a, b, c].map(f64::from);
    // The product of two halves is exact in a double; the sum is right in one for what is not finite, and for zeros.
    let double = x * y + z;
    if !double.is_finite() || double == 0.0 {
        return nearest(double);
    }
    // Every half is a whole multiple of 2^-24.
    let whole = |v: f64| (v * 2f64.powi(24)) as i128;
    let exact = whole(x) * whole(y) + (whole(z) << 24);
    // Bits beyond the 53 of a double are folded into its last one: enough to round once more, to 11 bits.
    let size = exact.unsigned_abs();
    let excess = (128 - size.leading_zeros()).saturating_sub(53);
    let kept = size >> excess;
    let sticky = u128::from(kept << excess != size);
    let folded = (kept | sticky) as f64 * 2f64.powi(excess as i32 - 48);
    nearest(if exact < 0 { -folded } else { folded })
}

/// Whether every number within a thousandth of a half's spacing of `x` rounds to the same half: then any good
/// approximation of `x` gives the same result.
pub(super) fn far_from_ties(x: f64) -> bool {
    let spacing = (x.abs().log2().floor().max(-14.0) - 10.0).exp2();
    let off = spacing / 1000.0;
    !x.is_finite() || x == 0.0 || nearest(x - off).to_bits() == nearest(x + off).to_bits()
}
