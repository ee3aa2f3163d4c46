//! `ew_float` and `ew_float_nofma`. Where the first may contract a product and a sum, both results are right.

use crate::corpus::data::{Sample, pairs, singles};
use crate::corpus::{Bound, Case, Lane};

use super::{SHAPE, binary, unary};

/// `float` or `double`.
trait Float:
    Lane
    + Sample
    + PartialOrd
    + std::ops::Neg<Output = Self>
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    const SUFFIX: &'static str;
    fn of(value: f64) -> Self;
    fn fma(self, by: Self, plus: Self) -> Self;
    fn nan(self) -> bool;
    fn infinite(self) -> bool;
    fn negative(self) -> bool;
}

macro_rules! floats {
    ($($name:ident)+) => {
        $(impl Float for $name {
            const SUFFIX: &'static str = stringify!($name);
            fn of(value: f64) -> Self {
                value as Self
            }
            fn fma(self, by: Self, plus: Self) -> Self {
                self.mul_add(by, plus)
            }
            fn nan(self) -> bool {
                self.is_nan()
            }
            fn infinite(self) -> bool {
                self.is_infinite()
            }
            fn negative(self) -> bool {
                self.is_sign_negative()
            }
        })+
    };
}

floats!(f32 f64);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (source, contracts) in [("ew_float", true), ("ew_float_nofma", false)] {
        of::<f32>(&mut cases, source, contracts);
        of::<f64>(&mut cases, source, contracts);
        mixed(&mut cases, source, contracts);
        cases.push(
            Case::new(source, "nan_consts")
                .shape(1, 1)
                .output(&[f32::NAN, -0.0, f32::INFINITY, 1e-42], Bound::Equal)
                .output(
                    &[f64::NAN, -0.0, std::f64::consts::PI, 5e-324],
                    Bound::Equal,
                ),
        );
    }
    cases
}

/// The lesser number; of two zeros the negative one; of a NaN and a number the number (PTX ISA, `min`).
fn min<T: Float>(a: T, b: T) -> T {
    if a.nan() || (a == b && b.negative()) || b < a {
        b
    } else {
        a
    }
}

fn max<T: Float>(a: T, b: T) -> T {
    if a.nan() || (a == b && a.negative()) || b > a {
        b
    } else {
        a
    }
}

/// Plain, and fused if the compiler may.
fn ways<T>(contracts: bool, plain: Vec<T>, fused: impl IntoIterator<Item = Vec<T>>) -> Vec<Vec<T>> {
    let mut ways = vec![plain];
    if contracts {
        ways.extend(fused);
    }
    ways
}

fn of<T: Float>(cases: &mut Vec<Case>, source: &'static str, contracts: bool) {
    let (x, y) = pairs::<T>(11, 300);
    let n = x.len() as u64;
    let name = |kernel: &str| format!("{kernel}_{}", T::SUFFIX);
    let both = |kernel: &str, f: &dyn Fn(T, T) -> T| {
        binary(source, name(kernel), (&x, &y), Bound::Equal, f)
    };
    cases.push(both("add", &|a, b| a + b));
    cases.push(both("sub", &|a, b| a - b));
    cases.push(both("mul", &|a, b| a * b));
    cases.push(both("div", &|a, b| a / b));
    cases.push(both("vmin", &min));
    cases.push(both("vmax", &max));
    cases.push(both("selmin", &|a, b| if a < b { a } else { b }));

    let one = T::of(1.0);
    let zero = T::of(0.0);
    let singles = singles::<T>(12, 300);
    let single =
        |kernel: &str, f: &dyn Fn(T) -> T| unary(source, name(kernel), &singles, Bound::Equal, f);
    cases.push(single("neg", &|a| -a));
    cases.push(single("absv", &|a| if a < zero { -a } else { a }));
    cases.push(single("sq", &|a| a * a));
    cases.push(single("rcp", &|a| one / a));
    cases.push(single("lnot", &|a| if a == zero { one } else { zero }));

    let compare = |kernel: &str, f: &dyn Fn(T, T) -> bool| {
        binary(source, name(kernel), (&x, &y), Bound::Equal, |a, b| {
            u8::from(f(a, b))
        })
    };
    cases.push(compare("eq", &|a, b| a == b));
    cases.push(compare("ne", &|a, b| a != b));
    cases.push(compare("lt", &|a, b| a < b));
    cases.push(compare("le", &|a, b| a <= b));
    cases.push(compare("gt", &|a, b| a > b));
    cases.push(compare("ge", &|a, b| a >= b));
    cases.push(compare("land", &|a, b| a != zero && b != zero));
    cases.push(compare("nlt", &|a, b| a.nan() || b.nan() || a >= b));
    cases.push(compare("nge", &|a, b| a.nan() || b.nan() || a < b));
    cases.push(compare("unord", &|a, b| a.nan() || b.nan()));
    cases.push(compare("lg", &|a, b| !a.nan() && !b.nan() && a != b));
    cases.push(compare("neither", &|a, b| a.nan() || b.nan() || a == b));
    cases.push(compare("nan", &|a, b| a.nan() || b.infinite()));
    cases.push(compare("fin", &|a, b| {
        !a.nan() && !a.infinite() && b.negative()
    }));

    let zip =
        |f: &dyn Fn(T, T) -> T| -> Vec<T> { x.iter().zip(&y).map(|(&a, &b)| f(a, b)).collect() };
    let map = |f: &dyn Fn(T) -> T| -> Vec<T> { singles.iter().map(|&a| f(a)).collect() };
    cases.push(
        Case::new(source, name("mad"))
            .shape(SHAPE.0, SHAPE.1)
            .input(&x)
            .input(&y)
            .output_one_of(&ways(
                contracts,
                zip(&|a, b| a * b + a),
                [zip(&|a, b| a.fma(b, a))],
            ))
            .scalar(n),
    );
    let (half, shift) = (T::of(0.5), T::of(3.25));
    cases.push(
        Case::new(source, name("half"))
            .shape(SHAPE.0, SHAPE.1)
            .input(&singles)
            .output_one_of(&ways(
                contracts,
                map(&|a| a * half + shift),
                [map(&|a| a.fma(half, shift))],
            ))
            .scalar(singles.len() as u64),
    );
    let c = [1.5, 0.25, 1e-3, 1e10].map(T::of);
    // A constant that is subtracted is one that is added with the other sign.
    cases.push(
        Case::new(source, name("horner"))
            .shape(SHAPE.0, SHAPE.1)
            .input(&singles)
            .output_one_of(&ways(
                contracts,
                map(&|a| ((a * c[0] - c[1]) * a + c[2]) * a - c[3]),
                [map(&|a| a.fma(c[0], -c[1]).fma(a, c[2]).fma(a, -c[3]))],
            ))
            .scalar(singles.len() as u64),
    );
    let (a, b) = (T::of(1.7), T::of(-0.3));
    cases.push(
        Case::new(source, name("axpby"))
            .shape(SHAPE.0, SHAPE.1)
            .scalar(a)
            .input(&x)
            .scalar(b)
            .input(&y)
            .output_one_of(&ways(
                contracts,
                zip(&|x, y| a * x + b * y),
                [zip(&|x, y| a.fma(x, b * y)), zip(&|x, y| b.fma(y, a * x))],
            ))
            .scalar(n),
    );
    cases.push(
        Case::new(source, name("fill"))
            .shape(SHAPE.0, SHAPE.1)
            .scalar(T::of(0.1))
            .output(&[T::of(0.1); 500], Bound::Equal)
            .scalar(500u64),
    );
    let (start, step) = (T::of(0.3), T::of(0.7));
    let ramp =
        |f: &dyn Fn(T) -> T| -> Vec<T> { (0..500).map(|i| f(T::of(f64::from(i)))).collect() };
    cases.push(
        Case::new(source, name("arange"))
            .shape(SHAPE.0, SHAPE.1)
            .output_one_of(&ways(
                contracts,
                ramp(&|i| start + i * step),
                [ramp(&|i| i.fma(step, start))],
            ))
            .scalar(start)
            .scalar(step)
            .scalar(500u64),
    );
    let chosen: Vec<T> = (0..x.len())
        .map(|i| {
            let condition = y[(i * 7) % y.len()];
            if condition > zero { x[i] } else { y[i] }
        })
        .collect();
    let conditions: Vec<T> = (0..x.len()).map(|i| y[(i * 7) % y.len()]).collect();
    cases.push(
        Case::new(source, name("ifpos"))
            .shape(SHAPE.0, SHAPE.1)
            .input(&conditions)
            .input(&x)
            .input(&y)
            .output(&chosen, Bound::Equal)
            .scalar(n),
    );
    let c = [0.5, -1.25, 0.125, 3.0].map(T::of);
    cases.push(
        Case::new(source, name("poly3"))
            .shape(SHAPE.0, SHAPE.1)
            .output_one_of(&ways(
                contracts,
                map(&|v| c[0] + v * (c[1] + v * (c[2] + v * c[3]))),
                [map(&|v| v.fma(v.fma(v.fma(c[3], c[2]), c[1]), c[0]))],
            ))
            .input(&singles)
            .scalar(c[0])
            .scalar(c[1])
            .scalar(c[2])
            .scalar(c[3])
            .scalar(singles.len() as u64),
    );
}

/// `float * double + int`.
fn mixed(cases: &mut Vec<Case>, source: &'static str, contracts: bool) {
    let (x, _) = pairs::<f32>(13, 100);
    let (y, _) = pairs::<f64>(14, 100);
    let (k, _) = pairs::<i32>(15, 100);
    let n = x.len().min(y.len()).min(k.len());
    let (x, y, k) = (&x[..n], &y[..n], &k[..n]);
    let all = |f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> {
        (0..n)
            .map(|i| f(f64::from(x[i]), y[i], f64::from(k[i])))
            .collect()
    };
    cases.push(
        Case::new(source, "mixed")
            .shape(SHAPE.0, SHAPE.1)
            .input(x)
            .input(y)
            .input(k)
            .output_one_of(&ways(
                contracts,
                all(&|x, y, k| x * y + k),
                [all(&|x, y, k| x.mul_add(y, k))],
            ))
            .scalar(n as u64),
    );
}
