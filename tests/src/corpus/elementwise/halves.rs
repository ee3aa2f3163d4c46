//! `ew_half`, `ew_bf16` and `ew_bf16_conv`. Sums and products of such numbers are exact in double precision, or so far
//! from a tie of the narrow type that rounding twice is rounding once.

use half::{bf16, f16};

use crate::corpus::data::{Random, Sample, pairs, singles};
use crate::corpus::{Bound, Case, Lane};

use super::{SHAPE, binary, unary};

/// `__half` or `__nv_bfloat16`.
trait Half: Lane + Sample + PartialOrd {
    const SOURCE: &'static str;
    /// Bits of the significand.
    const DIGITS: i32;
    /// Exponent of the least normal number, and the largest finite number.
    const LEAST: i32;
    const LARGEST: f64;
    fn exact(self) -> f64;
    fn of_bits(bits: u16) -> Self;
}

macro_rules! halves {
    ($($name:ident $source:literal $digits:literal $least:literal $largest:literal;)+) => {
        $(impl Half for $name {
            const SOURCE: &'static str = $source;
            const DIGITS: i32 = $digits;
            const LEAST: i32 = $least;
            const LARGEST: f64 = $largest;
            fn exact(self) -> f64 {
                self.to_f64()
            }
            fn of_bits(bits: u16) -> Self {
                Self::from_bits(bits)
            }
        })+
    };
}

halves! {
    f16 "ew_half" 11 -14 65504.0;
    bf16 "ew_bf16" 8 -126 3.389_531_389_251_535_5e38;
}

/// The nearest number, ties to even, of a sum of a double and what is lost in it: `high + low`, `low` far smaller.
fn nearest<T: Half>(high: f64, low: f64) -> T {
    if high.is_nan() {
        return T::of_bits(0x7fff);
    }
    let sign = u16::from(high.is_sign_negative()) << 15;
    let (size, low) = if high.is_sign_negative() {
        (-high, -low)
    } else {
        (high, low)
    };
    let infinity: u16 = ((1 << (16 - T::DIGITS)) - 1) << (T::DIGITS - 1);
    if size.is_infinite() {
        return T::of_bits(sign | infinity);
    }
    // The unit in the last place of the narrow type at this size; both quotients are exact.
    let exponent = if size == 0.0 {
        T::LEAST
    } else {
        (((size.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(T::LEAST)
    };
    let unit = 2f64.powi(exponent - (T::DIGITS - 1));
    let scaled = size / unit;
    let floor = scaled.floor();
    let rest = scaled - floor;
    let up = match rest.partial_cmp(&0.5).expect("it is a number") {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal if low > 0.0 => true,
        std::cmp::Ordering::Equal if low < 0.0 => false,
        std::cmp::Ordering::Equal => floor % 2.0 == 1.0,
    };
    let rounded = (floor + f64::from(u8::from(up))) * unit;
    if rounded > T::LARGEST {
        return T::of_bits(sign | infinity);
    }
    // Exact now, so the bits can be put together.
    let exponent = if rounded == 0.0 {
        T::LEAST
    } else {
        (((rounded.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(T::LEAST)
    };
    let units = (rounded / 2f64.powi(exponent - (T::DIGITS - 1))) as u32;
    let hidden = 1u32 << (T::DIGITS - 1);
    let bits = if units < hidden {
        units
    } else {
        (((exponent - T::LEAST + 1) as u32) << (T::DIGITS - 1)) + (units - hidden)
    };
    T::of_bits(sign | bits as u16)
}

/// The nearest number to a double.
fn round<T: Half>(value: f64) -> T {
    nearest(value, 0.0)
}

/// The nearest number to `a * b + c`: the product is exact in a double, the sum has its rounding error beside it (Knuth,
/// The Art of Computer Programming 2, 4.2.2, theorem B).
fn fma<T: Half>(a: f64, b: f64, c: f64) -> T {
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return round(sum);
    }
    let c_part = sum - product;
    let low = (product - (sum - c_part)) + (c - c_part);
    nearest(sum, low)
}

/// The lesser number; of two zeros the negative one; of a NaN and a number the number.
fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || (a == b && b.is_sign_negative()) || b < a {
        b
    } else {
        a
    }
}

fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || (a == b && a.is_sign_negative()) || b > a {
        b
    } else {
        a
    }
}

/// Into [0, 1], NaN to 0 (PTX ISA, `.sat`).
fn saturate<T: Half>(value: T) -> T {
    let exact = value.exact();
    if exact.is_nan() || exact <= 0.0 {
        round(0.0)
    } else if exact > 1.0 {
        round(1.0)
    } else {
        value
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of::<f16>();
    cases.extend(of::<bf16>());
    cases.extend(conversions());
    cases
}

fn of<T: Half>() -> Vec<Case> {
    let source = T::SOURCE;
    let (x, y) = pairs::<T>(31, 300);
    let both = |kernel: &str, f: &dyn Fn(f64, f64) -> T| {
        binary(source, kernel, (&x, &y), Bound::Equal, |a, b| {
            f(a.exact(), b.exact())
        })
    };
    let nan = f64::NAN;
    let mut cases = vec![
        both("add", &|a, b| fma(a, 1.0, b)),
        both("sub", &|a, b| fma(a, 1.0, -b)),
        both("mul", &|a, b| round(a * b)),
        both("fma_", &|a, b| fma(a, b, a)),
        both("neg", &|a, _| round(-a)),
        both("absv", &|a, _| round(a.abs())),
        both("mn", &|a, b| round(min(a, b))),
        both("mx", &|a, b| round(max(a, b))),
        both("mnn", &|a, b| {
            round(if a.is_nan() || b.is_nan() {
                nan
            } else {
                min(a, b)
            })
        }),
        both("mxn", &|a, b| {
            round(if a.is_nan() || b.is_nan() {
                nan
            } else {
                max(a, b)
            })
        }),
        both("adds", &|a, b| saturate(fma(a, 1.0, b))),
        both("fmas", &|a, b| saturate(fma(a, b, a))),
        both("fmar", &|a, b| {
            let sum: T = fma(a, b, a);
            // Negative results become zero, NaN stays (PTX ISA, `fma.relu`).
            if sum.exact() < 0.0 || (sum.exact() == 0.0) {
                round(0.0)
            } else {
                sum
            }
        }),
        both("addrn", &|a, b| fma(a, 1.0, b)),
    ];
    // Division is by a reciprocal in single precision, refined; its documented error is that of one rounding.
    cases.push(binary(source, "divh", (&x, &y), Bound::Ulp(1.0), |a, b| {
        round::<T>(a.exact() / b.exact())
    }));

    let compare = |kernel: &str, f: &dyn Fn(f64, f64) -> bool| {
        binary(source, kernel, (&x, &y), Bound::Equal, |a, b| {
            u8::from(f(a.exact(), b.exact()))
        })
    };
    cases.push(compare("eq", &|a, b| a == b));
    cases.push(compare("ne", &|a, b| a != b));
    cases.push(compare("lt", &|a, b| a < b));
    cases.push(compare("le", &|a, b| a <= b));
    cases.push(compare("gt", &|a, b| a > b));
    cases.push(compare("equ", &|a, b| a == b || a.is_nan() || b.is_nan()));
    cases.push(compare("ltu", &|a, b| a < b || a.is_nan() || b.is_nan()));
    cases.push(compare("is_nan", &|a, _| a.is_nan()));
    cases.push(compare("is_inf", &|a, _| a.is_infinite()));

    let singles = singles::<T>(32, 300);
    cases.push(unary(source, "to_f32", &singles, Bound::Equal, |a| {
        a.exact() as f32
    }));
    cases.push(unary(source, "to_f64", &singles, Bound::Equal, T::exact));
    macro_rules! integers {
        ($($to:ident)+) => {
            $({
                let fitting: Vec<T> = singles
                    .iter()
                    .copied()
                    .filter(|a| a.exact().trunc() >= $to::MIN as f64 && a.exact().trunc() < $to::MAX as f64 + 1.0)
                    .filter(|a| i128::from(a.exact() as $to) == a.exact().trunc() as i128)
                    .collect();
                cases.push(unary(source, concat!("to_", stringify!($to)), &fitting, Bound::Equal, |a| {
                    a.exact() as $to
                }));
                let integers = crate::corpus::data::singles::<$to>(33, 200);
                cases.push(unary(source, concat!("from_", stringify!($to)), &integers, Bound::Equal, |a| {
                    // A double holds all but 64-bit integers; what it loses of those is beside it.
                    let high = a as f64;
                    nearest::<T>(high, (i128::from(a) - high as i128) as f64)
                }));
            })+
        };
    }
    integers!(i32 u32 i16 u16 i64 u64);
    let floats = crate::corpus::data::singles::<f32>(34, 300);
    cases.push(unary(source, "from_f32", &floats, Bound::Equal, |a| {
        round::<T>(f64::from(a))
    }));
    let doubles = crate::corpus::data::singles::<f64>(35, 300);
    cases.push(unary(source, "from_f64", &doubles, Bound::Equal, |a| {
        round::<T>(a)
    }));

    let (a, b): (T, T) = (round(1.7), round(-0.3));
    let zip = |f: &dyn Fn(f64, f64) -> T| -> Vec<T> {
        x.iter()
            .zip(&y)
            .map(|(x, y)| f(x.exact(), y.exact()))
            .collect()
    };
    let (aw, bw) = (a.exact(), b.exact());
    let product = |a: f64, b: f64| round::<T>(a * b).exact();
    cases.push(
        Case::new(source, "axpby")
            .contracts()
            .shape(SHAPE.0, SHAPE.1)
            .scalar(a)
            .input(&x)
            .scalar(b)
            .input(&y)
            .output_one_of(&[
                zip(&|x, y| fma(product(aw, x), 1.0, product(bw, y))),
                zip(&|x, y| fma(aw, x, product(bw, y))),
                zip(&|x, y| fma(bw, y, product(aw, x))),
            ])
            .scalar(x.len() as u64),
    );
    cases
}

/// `ew_bf16_conv`: storage in bf16, arithmetic in single precision.
fn conversions() -> Vec<Case> {
    let source = "ew_bf16_conv";
    let mut random = Random::new(36);
    let (x, y) = pairs::<bf16>(37, 300);
    let (a, b) = (1.7f32, -0.3f32);
    let zip = |f: &dyn Fn(f32, f32) -> f32| -> Vec<bf16> {
        x.iter()
            .zip(&y)
            .map(|(x, y)| round::<bf16>(f64::from(f(x.to_f32(), y.to_f32()))))
            .collect()
    };
    let n = 200;
    let doubles: Vec<f64> = singles::<f64>(38, n).into_iter().take(n).collect();
    let integers: Vec<i32> = (0..n).map(|_| i32::random(&mut random)).collect();
    let halves: Vec<bf16> = singles::<bf16>(39, n).into_iter().take(n).collect();
    let floats: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
    let mut z: Vec<bf16> = doubles.iter().map(|&d| round(d)).collect();
    z.extend(integers.iter().map(|&k| round::<bf16>(f64::from(k as f32))));
    vec![
        Case::new(source, "axpby")
            .shape(SHAPE.0, SHAPE.1)
            .scalar(a)
            .input(&x)
            .scalar(b)
            .input(&y)
            .output_one_of(&[
                zip(&|x, y| a * x + b * y),
                zip(&|x, y| a.mul_add(x, b * y)),
                zip(&|x, y| b.mul_add(y, a * x)),
            ])
            .scalar(x.len() as u64),
        Case::new(source, "conv")
            .shape(SHAPE.0, SHAPE.1)
            .input(&halves)
            .input(&doubles)
            .input(&integers)
            .output(&floats, Bound::Equal)
            .output(&z, Bound::Equal)
            .scalar(n as u64),
    ]
}
