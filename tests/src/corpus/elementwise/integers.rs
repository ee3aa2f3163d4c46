//! `ew_int8` to `ew_int64`. C++ computes in `int` at least and keeps the low bits, so all is done in 128 bits here.

use crate::corpus::data::{Sample, pairs, singles};
use crate::corpus::{Bound, Case, Lane};

use super::{SHAPE, binary, unary};

/// An integer type of the corpus.
trait Integer: Lane + Sample + PartialOrd {
    /// Bits of the type in which C++ computes.
    const WIDTH: u32;
    fn from_wide(value: i128) -> Self;
    fn exact(self) -> i128;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($name:ident)+) => {
        $(impl Integer for $name {
            const WIDTH: u32 = if $name::BITS < 32 { 32 } else { $name::BITS };
            fn from_wide(value: i128) -> Self {
                value as Self
            }
            fn exact(self) -> i128 {
                i128::from(self)
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
        })+
    };
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of::<u8>("ew_int8", "u8");
    cases.extend(of::<i8>("ew_int8", "i8"));
    cases.extend(of::<u16>("ew_int16", "u16"));
    cases.extend(of::<i16>("ew_int16", "i16"));
    cases.extend(of::<u32>("ew_int32", "u32"));
    cases.extend(of::<i32>("ew_int32", "i32"));
    cases.extend(of::<u64>("ew_int64", "u64"));
    cases.extend(of::<i64>("ew_int64", "i64"));
    cases
}

fn of<T: Integer>(source: &'static str, suffix: &str) -> Vec<Case> {
    let (x, y) = pairs::<T>(1, 200);
    let name = |kernel: &str| format!("{kernel}_{suffix}");
    let mut cases = Vec::new();

    let wide = |kernel: &str, f: &dyn Fn(i128, i128) -> i128| {
        binary(source, name(kernel), (&x, &y), Bound::Equal, |a, b| {
            T::from_wide(f(a.exact(), b.exact()))
        })
    };
    cases.push(wide("add", &|a, b| a + b));
    cases.push(wide("sub", &|a, b| a - b));
    cases.push(wide("mul", &|a, b| a.wrapping_mul(b)));
    cases.push(wide("band", &|a, b| a & b));
    cases.push(wide("bor", &|a, b| a | b));
    cases.push(wide("bxor", &|a, b| a ^ b));
    cases.push(wide("vmin", &i128::min));
    cases.push(wide("vmax", &i128::max));
    cases.push(wide("mad", &|a, b| a.wrapping_mul(b).wrapping_add(7)));

    // A quotient that C++ does not define is left out: by zero, and of the least number by -1.
    let quotients: Vec<(T, T)> = x
        .iter()
        .zip(&y)
        .map(|(&a, &b)| (a, b))
        .filter(|(a, b)| {
            let overflows = b.exact() == -1 && a.exact() == -(1 << (T::WIDTH - 1));
            b.exact() != 0 && !overflows
        })
        .collect();
    let (qx, qy): (Vec<T>, Vec<T>) = quotients.into_iter().unzip();
    let quotient = |kernel: &str, f: &dyn Fn(i128, i128) -> i128| {
        binary(source, name(kernel), (&qx, &qy), Bound::Equal, |a, b| {
            T::from_wide(f(a.exact(), b.exact()))
        })
    };
    cases.push(quotient("div", &|a, b| a / b));
    cases.push(quotient("mod", &|a, b| a % b));

    // So are shifts by the width or more.
    let counts: Vec<T> = y
        .iter()
        .map(|b| T::from_wide(b.exact().rem_euclid(i128::from(T::WIDTH))))
        .collect();
    let shift = |kernel: &str, f: &dyn Fn(i128, u32) -> i128| {
        binary(source, name(kernel), (&x, &counts), Bound::Equal, |a, b| {
            T::from_wide(f(a.exact(), b.exact() as u32))
        })
    };
    cases.push(shift("shl", &|a, b| a << b));
    cases.push(shift("shr", &|a, b| a >> b));

    let singles = singles::<T>(2, 200);
    let one = |kernel: &str, f: &dyn Fn(i128) -> i128| {
        unary(source, name(kernel), &singles, Bound::Equal, |a| {
            T::from_wide(f(a.exact()))
        })
    };
    cases.push(one("neg", &|a| -a));
    cases.push(one("inv", &|a| !a));
    cases.push(one("lnot", &|a| i128::from(a == 0)));
    cases.push(one("absv", &i128::abs));
    cases.push(one("div10", &|a| a / 10));
    cases.push(one("mod7", &|a| a % 7));

    let compare = |kernel: &str, f: &dyn Fn(i128, i128) -> bool| {
        binary(source, name(kernel), (&x, &y), Bound::Equal, |a, b| {
            u8::from(f(a.exact(), b.exact()))
        })
    };
    cases.push(compare("eq", &|a, b| a == b));
    cases.push(compare("ne", &|a, b| a != b));
    cases.push(compare("lt", &|a, b| a < b));
    cases.push(compare("le", &|a, b| a <= b));
    cases.push(compare("land", &|a, b| a != 0 && b != 0));
    cases.push(compare("lor", &|a, b| a != 0 || b != 0));

    cases.push(unary(
        source,
        format!("to_f32_{suffix}"),
        &singles,
        Bound::Equal,
        T::to_f32,
    ));
    cases.push(unary(
        source,
        format!("to_f64_{suffix}"),
        &singles,
        Bound::Equal,
        T::to_f64,
    ));
    // Numbers with fractions inside the type's range: C++ leaves the others undefined.
    let fractions: Vec<f64> = singles
        .iter()
        .flat_map(|a| [a.to_f64(), a.to_f64() * 0.37, a.to_f64() * 0.999])
        .filter(|&a| T::from_wide(a as i128).exact() == a as i128)
        .collect();
    let narrow: Vec<f32> = fractions
        .iter()
        .map(|&a| a as f32)
        .filter(|&a| T::from_wide(a as i128).exact() == a as i128)
        .collect();
    cases.push(unary(
        source,
        format!("from_f32_{suffix}"),
        &narrow,
        Bound::Equal,
        |a| T::from_wide(a as i128),
    ));
    cases.push(unary(
        source,
        format!("from_f64_{suffix}"),
        &fractions,
        Bound::Equal,
        |a| T::from_wide(a as i128),
    ));

    let n = x.len() as u64;
    let (a, b) = (T::from_wide(3), T::from_wide(-5));
    let z: Vec<T> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| {
            let (ax, by) = (a.exact() * x.exact(), b.exact().wrapping_mul(y.exact()));
            T::from_wide(ax.wrapping_add(by))
        })
        .collect();
    cases.push(
        Case::new(source, name("axpby"))
            .shape(SHAPE.0, SHAPE.1)
            .scalar(a)
            .input(&x)
            .scalar(b)
            .input(&y)
            .output(&z, Bound::Equal)
            .scalar(n),
    );
    cases.push(
        Case::new(source, name("fill"))
            .shape(SHAPE.0, SHAPE.1)
            .scalar(T::from_wide(-77))
            .output(&[T::from_wide(-77); 500], Bound::Equal)
            .scalar(500u64),
    );
    let ramp: Vec<T> = (0..500).map(|i| T::from_wide(9 - 4 * i)).collect();
    cases.push(
        Case::new(source, name("arange"))
            .shape(SHAPE.0, SHAPE.1)
            .output(&ramp, Bound::Equal)
            .scalar(T::from_wide(9))
            .scalar(T::from_wide(-4))
            .scalar(500u64),
    );
    cases
}
