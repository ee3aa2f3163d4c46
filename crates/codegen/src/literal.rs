//! Values of Rust as literals of CUDA C++.

use half::{bf16, f16};

use crate::repr::Scalar;

/// A value that can stand in CUDA C++ as a constant expression of exactly the same value.
///
/// ```
/// use cuprum_codegen::CLiteral as _;
///
/// assert_eq!(0.1_f32.c_literal(), "0.1f");
/// assert_eq!((-3_i64).c_literal(), "(-3ll)");
/// assert_eq!(f32::INFINITY.c_literal(), "__builtin_bit_cast(float, 0x7f800000u)");
/// assert_eq!("50 %\n".c_literal(), r#""50 %\n""#);
/// assert_eq!([1_u32, 2].c_literal(), "{1u, 2u}");
/// ```
pub trait CLiteral {
    /// The literal. Negative numbers are in brackets, so that `a -` may stand before them.
    fn c_literal(&self) -> String;
}

/// Brackets around what begins with a sign.
fn bracketed(text: String) -> String {
    if text.starts_with('-') {
        format!("({text})")
    } else {
        text
    }
}

impl CLiteral for bool {
    fn c_literal(&self) -> String {
        self.to_string()
    }
}

macro_rules! integers {
    ($($ty:ty, $suffix:literal;)+) => {
        $(
            impl CLiteral for $ty {
                fn c_literal(&self) -> String {
                    #[allow(unused_comparisons, reason = "of unsigned types too")]
                    if *self == <$ty>::MIN && *self < 0 {
                        // C++ has no negative literals: 2147483648 would be a `long`, and its negation too.
                        format!("({}{} - 1)", *self + 1, $suffix)
                    } else {
                        bracketed(format!("{self}{}", $suffix))
                    }
                }
            }
        )+
    };
}

integers! {
    i8, "";
    u8, "";
    i16, "";
    u16, "";
    i32, "";
    u32, "u";
    i64, "ll";
    u64, "ull";
    isize, "ll";
    usize, "ull";
}

impl CLiteral for f32 {
    fn c_literal(&self) -> String {
        if self.is_finite() {
            // The shortest decimal that reads back as this value.
            bracketed(format!("{self:?}f"))
        } else {
            // NVRTC has no names for these that are constant expressions; the bits are, with their payload.
            format!("__builtin_bit_cast(float, {:#x}u)", self.to_bits())
        }
    }
}

impl CLiteral for f64 {
    fn c_literal(&self) -> String {
        if self.is_finite() {
            bracketed(format!("{self:?}"))
        } else {
            format!("__builtin_bit_cast(double, {:#x}ull)", self.to_bits())
        }
    }
}

impl CLiteral for f16 {
    fn c_literal(&self) -> String {
        format!("__half({})", self.to_f32().c_literal())
    }
}

impl CLiteral for bf16 {
    fn c_literal(&self) -> String {
        format!("__nv_bfloat16({})", self.to_f32().c_literal())
    }
}

impl CLiteral for str {
    fn c_literal(&self) -> String {
        let mut text = String::with_capacity(self.len() + 2);
        text.push('"');
        for c in self.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                // Two of them could begin a trigraph.
                '?' => text.push_str("\\?"),
                // Three digits, so that a digit after it is none of it.
                c if (c as u32) < 0x20 || c == '\x7f' => {
                    text.push_str(&format!("\\{:03o}", c as u32));
                }
                c => text.push(c),
            }
        }
        text.push('"');
        text
    }
}

impl CLiteral for String {
    fn c_literal(&self) -> String {
        self.as_str().c_literal()
    }
}

impl<T: CLiteral> CLiteral for [T] {
    fn c_literal(&self) -> String {
        let list: Vec<String> = self.iter().map(T::c_literal).collect();
        format!("{{{}}}", list.join(", "))
    }
}

impl<T: CLiteral, const N: usize> CLiteral for [T; N] {
    fn c_literal(&self) -> String {
        self.as_slice().c_literal()
    }
}

impl<T: CLiteral> CLiteral for Vec<T> {
    fn c_literal(&self) -> String {
        self.as_slice().c_literal()
    }
}

impl<T: CLiteral + ?Sized> CLiteral for &T {
    fn c_literal(&self) -> String {
        (**self).c_literal()
    }
}

/// The literal of an integer in a scalar type; `None` if it does not fit.
pub(crate) fn integer_as(value: i128, scalar: Scalar) -> Option<String> {
    fn fit<T: TryFrom<i128> + CLiteral>(value: i128) -> Option<String> {
        Some(T::try_from(value).ok()?.c_literal())
    }
    match scalar {
        Scalar::Bool => match value {
            0 => Some("false".to_owned()),
            1 => Some("true".to_owned()),
            _ => None,
        },
        Scalar::I8 => fit::<i8>(value),
        Scalar::U8 => fit::<u8>(value),
        Scalar::I16 => fit::<i16>(value),
        Scalar::U16 => fit::<u16>(value),
        Scalar::I32 => fit::<i32>(value),
        Scalar::U32 => fit::<u32>(value),
        Scalar::I64 => fit::<i64>(value),
        Scalar::U64 => fit::<u64>(value),
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => {
            let double = value as f64;
            // Exactly, or the template's author would get another number than was written.
            (double as i128 == value).then(|| float_as(double, scalar))?
        }
    }
}

/// The literal of a floating-point number in a scalar type, rounded to it; `None` if the type is one of integers and the number is none.
pub(crate) fn float_as(value: f64, scalar: Scalar) -> Option<String> {
    match scalar {
        Scalar::F16 => Some(f16::from_f64(value).c_literal()),
        Scalar::Bf16 => Some(bf16::from_f64(value).c_literal()),
        Scalar::F32 => Some((value as f32).c_literal()),
        Scalar::F64 => Some(value.c_literal()),
        // Beyond 2^127 nothing fits any of the types.
        _ if value.fract() == 0.0 && value.abs() < 1e30 => integer_as(value as i128, scalar),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_types_they_had() {
        assert_eq!(i32::MIN.c_literal(), "(-2147483647 - 1)");
        assert_eq!(i64::MIN.c_literal(), "(-9223372036854775807ll - 1)");
        assert_eq!(u64::MAX.c_literal(), "18446744073709551615ull");
        assert_eq!(i8::MIN.c_literal(), "(-127 - 1)");
        assert_eq!(0_i32.c_literal(), "0");
        assert_eq!((-5_i32).c_literal(), "(-5)");
    }

    #[test]
    fn floats_are_exact() {
        assert_eq!((-0.0_f32).c_literal(), "(-0.0f)");
        assert_eq!(1e30_f32.c_literal(), "1e30f");
        assert_eq!(f32::MIN_POSITIVE.c_literal(), "1.1754944e-38f");
        assert_eq!(
            f64::NEG_INFINITY.c_literal(),
            "__builtin_bit_cast(double, 0xfff0000000000000ull)"
        );
        assert_eq!(
            f32::from_bits(0xffc0_0001).c_literal(),
            "__builtin_bit_cast(float, 0xffc00001u)"
        );
        assert_eq!(f16::from_f32(-1.5).c_literal(), "__half((-1.5f))");
    }

    #[test]
    fn values_are_fitted_to_types_or_refused() {
        assert_eq!(integer_as(255, Scalar::U8).as_deref(), Some("255"));
        assert_eq!(integer_as(256, Scalar::U8), None);
        assert_eq!(integer_as(3, Scalar::F32).as_deref(), Some("3.0f"));
        assert_eq!(
            integer_as((1 << 60) + 1, Scalar::F64),
            None,
            "not exact as a double"
        );
        assert_eq!(float_as(2.0, Scalar::I32).as_deref(), Some("2"));
        assert_eq!(float_as(2.5, Scalar::I32), None);
        assert_eq!(float_as(f64::NAN, Scalar::I32), None);
        assert_eq!(
            float_as(f64::from(0.1_f32), Scalar::F32).as_deref(),
            Some("0.1f")
        );
        assert_eq!(integer_as(2, Scalar::Bool), None);
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(
            "a\"b\\c\n\t\u{1}1??é".c_literal(),
            "\"a\\\"b\\\\c\\n\\t\\0011\\?\\?é\""
        );
    }
}
