//! Element types of buffers, and how two values of them are compared.

use half::{bf16, f16};

use super::Bound;

/// An element of a case's buffer.
pub trait Lane: bytemuck::Pod + PartialEq + std::fmt::Debug {
    /// Whether the two are the same value: bit for bit, any NaN like any other.
    fn same(self, other: Self) -> bool;
    /// The value as a double, rounded if need be.
    fn wide(self) -> f64;
    /// The distance from `x` to the next value away from zero; 1 for integers.
    fn ulp(x: f64) -> f64;
}

macro_rules! integers {
    ($($name:ident)+) => {
        $(impl Lane for $name {
            fn same(self, other: Self) -> bool {
                self == other
            }
            fn wide(self) -> f64 {
                self as f64
            }
            fn ulp(_: f64) -> f64 {
                1.0
            }
        })+
    };
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128);

/// The unit in the last place of a format with `digits` bits of significand whose least normal exponent is `least`.
fn ulp(x: f64, digits: i32, least: i32) -> f64 {
    let exponent = if x == 0.0 || !x.is_finite() {
        least
    } else {
        // The exponent of a double is exact in its bits; subnormal doubles lie below every `least` but their own.
        let field = ((x.to_bits() >> 52) & 0x7ff) as i32;
        if field == 0 { -1022 } else { field - 1023 }
    };
    libm::scalbn(1.0, exponent.max(least) - (digits - 1))
}

macro_rules! floats {
    ($($name:ident $digits:literal $least:literal $wide:expr;)+) => {
        $(impl Lane for $name {
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
            fn wide(self) -> f64 {
                $wide(self)
            }
            fn ulp(x: f64) -> f64 {
                ulp(x, $digits, $least)
            }
        })+
    };
}

floats! {
    f32 24 -126 f64::from;
    f64 53 -1022 std::convert::identity;
    f16 11 -14 f64::from;
    bf16 8 -126 f64::from;
}

/// Compares bytes as elements of one type: see [`compare`].
pub(crate) type Compare = fn(&[u8], &[u8], Bound) -> Result<f64, String>;

/// The largest difference of `got` from `want` in the unit of `bound`, or where they differ by more.
///
/// Infinities and NaNs are compared for equality whatever the bound, but for a bound in which a finite result may
/// overflow: there an infinity counts as the next value after the largest.
pub(crate) fn compare<T: Lane>(want: &[u8], got: &[u8], bound: Bound) -> Result<f64, String> {
    if want.len() != got.len() {
        return Err(format!("{} bytes, want {}", got.len(), want.len()));
    }
    let width = size_of::<T>();
    let elements = |bytes: &[u8]| -> Vec<T> {
        bytes
            .chunks_exact(width)
            .map(bytemuck::pod_read_unaligned::<T>)
            .collect()
    };
    let (mut want, mut got) = (elements(want), elements(got));
    if matches!(bound, Bound::AnyOrder) {
        let order = |a: &T, b: &T| bytemuck::bytes_of(a).cmp(bytemuck::bytes_of(b));
        want.sort_by(order);
        got.sort_by(order);
    }
    let mut largest = 0.0f64;
    for (index, (&w, &g)) in want.iter().zip(&got).enumerate() {
        if w.same(g) {
            continue;
        }
        let (a, b) = (w.wide(), g.wide());
        let difference = (a - b).abs();
        let measured = match bound {
            Bound::Equal | Bound::AnyOrder => f64::INFINITY,
            Bound::Ulp(_) => difference / T::ulp(a),
            Bound::Absolute(_) => difference,
            Bound::Relative(_) => difference / a.abs().max(f64::MIN_POSITIVE),
        };
        let most = match bound {
            Bound::Equal | Bound::AnyOrder => 0.0,
            Bound::Ulp(most) | Bound::Absolute(most) | Bound::Relative(most) => most,
        };
        // A NaN is too far.
        if measured.is_nan() || measured > most {
            return Err(format!(
                "element {index} is {g:?}, want {w:?} ({bound}, off by {measured:e})"
            ));
        }
        largest = largest.max(measured);
    }
    Ok(largest)
}
