//! `ew_cast_matrix`: every scalar type to every scalar type.

use crate::corpus::data::singles;
use crate::corpus::{Bound, Case, Lane};

use super::unary;

const SOURCE: &str = "ew_cast_matrix";

/// A type as the source of a conversion: its values, and what they are as numbers.
trait Scalar: Lane {
    const NAME: &'static str;
    /// Values without NaN.
    fn values() -> Vec<Self>;
    /// The exact value, if it is an integer type.
    fn integer(self) -> Option<i128>;
    /// The exact value of a floating type.
    fn float(self) -> f64;
}

macro_rules! integers {
    ($($name:ident)+) => {
        $(impl Scalar for $name {
            const NAME: &'static str = stringify!($name);
            fn values() -> Vec<Self> {
                singles::<$name>(3, 200)
            }
            fn integer(self) -> Option<i128> {
                Some(i128::from(self))
            }
            fn float(self) -> f64 {
                unreachable!("it is an integer")
            }
        })+
    };
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);

macro_rules! floats {
    ($($name:ident)+) => {
        $(impl Scalar for $name {
            const NAME: &'static str = stringify!($name);
            fn values() -> Vec<Self> {
                let mut values = singles::<$name>(4, 200);
                values.extend([127.6, -128.4, 255.9, 32767.5, 65535.2, 2_147_483_500.0, 4e9, 9e18, 1.8e19, -0.9]);
                values.retain(|value| !value.is_nan());
                values
            }
            fn integer(self) -> Option<i128> {
                None
            }
            fn float(self) -> f64 {
                f64::from(self)
            }
        })+
    };
}

floats!(f32 f64);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    row::<u8>(&mut cases, Some("b"));
    row::<u8>(&mut cases, None);
    row::<i8>(&mut cases, None);
    row::<u16>(&mut cases, None);
    row::<i16>(&mut cases, None);
    row::<u32>(&mut cases, None);
    row::<i32>(&mut cases, None);
    row::<u64>(&mut cases, None);
    row::<i64>(&mut cases, None);
    row::<f32>(&mut cases, None);
    row::<f64>(&mut cases, None);
    cases
}

/// The conversions of one type, or of `bool`, which is a byte of 0 or 1.
fn row<T: Scalar>(cases: &mut Vec<Case>, truth: Option<&str>) {
    let values: Vec<T> = match truth {
        Some(_) => T::values()
            .into_iter()
            .filter(|value| matches!(value.integer(), Some(0 | 1)))
            .collect(),
        None => T::values(),
    };
    let from = truth.unwrap_or(T::NAME);
    let to_bool = |value: T| match value.integer() {
        Some(value) => u8::from(value != 0),
        None => u8::from(value.float() != 0.0),
    };
    cases.push(unary(
        SOURCE,
        format!("{from}_to_b"),
        &values,
        Bound::Equal,
        to_bool,
    ));
    macro_rules! integer {
        ($($to:ident)+) => {
            $({
                // What does not fit is undefined from a floating type; from an integer the low bits stay.
                let fitting: Vec<T> = values
                    .iter()
                    .copied()
                    .filter(|value| {
                        value.integer().is_some()
                            || (value.float().trunc() >= $to::MIN as f64
                                && value.float().trunc() < $to::MAX as f64 + 1.0
                                && i128::from(value.float() as $to) == value.float().trunc() as i128)
                    })
                    .collect();
                cases.push(unary(
                    SOURCE,
                    format!("{from}_to_{}", stringify!($to)),
                    &fitting,
                    Bound::Equal,
                    |value| match value.integer() {
                        Some(value) => value as $to,
                        None => value.float() as $to,
                    },
                ));
            })+
        };
    }
    integer!(u8 i8 u16 i16 u32 i32 u64 i64);
    cases.push(unary(
        SOURCE,
        format!("{from}_to_f32"),
        &values,
        Bound::Equal,
        |value| match value.integer() {
            Some(value) => value as f32,
            None => value.float() as f32,
        },
    ));
    cases.push(unary(
        SOURCE,
        format!("{from}_to_f64"),
        &values,
        Bound::Equal,
        |value| match value.integer() {
            Some(value) => value as f64,
            None => value.float(),
        },
    ));
}
