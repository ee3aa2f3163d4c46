//! `math_exp_f32`, `math_exp_f32_fast` and `math_exp_f64`: exponentials, logarithms, powers and roots.

use super::{Bound, Case, Float, Functions, binary, range, shuffled, unary, with_special};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    of::<f32>("math_exp_f32", &mut cases);
    of::<f64>("math_exp_f64", &mut cases);
    fast(&mut cases);
    cases
}

/// The exponent of a number, as `logb` and `ilogb` tell it, subnormal ones included.
fn exponent(x: f64) -> i32 {
    let (_, e) = libm::frexp(x);
    e - 1
}

fn of<T: Float>(source: &'static str, cases: &mut Vec<Case>) {
    let least = if T::DOUBLE {
        f64::MIN_POSITIVE
    } else {
        f64::from(f32::MIN_POSITIVE)
    };
    let top = if T::DOUBLE { 708.0 } else { 88.0 };
    // Results that are subnormal have fewer bits, which `ulp` knows.
    let any = with_special(range::<T>(-top, top));
    let positive = with_special(range::<T>(least, 1e30));
    let mut list = Functions::<T>::new(source, cases);
    list.unary("exp", (1.0, 1.0), &any, f64::exp);
    list.unary(
        "exp2",
        (2.0, 1.0),
        &with_special(range::<T>(-top, top)),
        f64::exp2,
    );
    list.unary(
        "exp10",
        (2.0, 1.0),
        &with_special(range::<T>(-top / 2.4, top / 2.4)),
        libm::exp10,
    );
    list.unary("expm1", (1.0, 1.0), &any, f64::exp_m1);
    list.unary("log", (1.0, 1.0), &positive, f64::ln);
    list.unary("log2", (1.0, 1.0), &positive, f64::log2);
    list.unary("log10", (2.0, 1.0), &positive, f64::log10);
    list.unary(
        "log1p",
        (1.0, 1.0),
        &with_special(range::<T>(-0.999, 1e10)),
        f64::ln_1p,
    );
    list.unary("sqrt", (0.0, 0.0), &positive, f64::sqrt);
    list.unary("rsqrt", (2.0, 1.0), &positive, |x| {
        if x == 0.0 {
            f64::INFINITY.copysign(x)
        } else {
            1.0 / x.sqrt()
        }
    });
    let roots = with_special(range::<T>(-1e6, 1e6));
    list.unary("cbrt", (1.0, 1.0), &roots, f64::cbrt);
    list.unary("rcbrt", (1.0, 1.0), &roots, |x| 1.0 / x.cbrt());
    list.unary(
        "logb",
        (0.0, 0.0),
        &with_special(range::<T>(-1e30, 1e30)),
        |x| {
            if x == 0.0 {
                f64::NEG_INFINITY
            } else if x.is_infinite() {
                f64::INFINITY
            } else if x.is_nan() {
                x
            } else {
                f64::from(exponent(x))
            }
        },
    );
    let bases = range::<T>(0.01, 20.0);
    let powers = shuffled(&range::<T>(-20.0, 20.0), 5);
    let n = bases.len().min(powers.len());
    list.binary("pow", (4.0, 2.0), (&bases[..n], &powers[..n]), f64::powf);
    let sides = range::<T>(-1e15, 1e15);
    let others = shuffled(&sides, 6);
    list.binary("hypot", (3.0, 2.0), (&sides, &others), f64::hypot);
    list.binary("rhypot", (2.0, 1.0), (&sides, &others), |x, y| {
        1.0 / x.hypot(y)
    });
    // By the CUDA Math API: the least integer for zero and NaN, the largest for infinities.
    let inputs = with_special(range::<T>(-1e30, 1e30));
    cases.push(unary(
        source,
        format!("k_ilogb{}", T::SUFFIX),
        &inputs,
        Bound::Equal,
        |x| {
            let x = x.wide();
            if x == 0.0 || x.is_nan() {
                i32::MIN
            } else if x.is_infinite() {
                i32::MAX
            } else {
                exponent(x)
            }
        },
    ));
    cases.push(
        binary(
            source,
            format!("k_pow{}", T::SUFFIX),
            (&special_bases::<T>(), &special_powers::<T>()),
            Bound::Equal,
            |x, y| T::narrow(x.wide().powf(y.wide())),
        )
        .variant("special"),
    );
}

/// Pairs whose power is exact, by C99 annex F.9.4.4.
const SPECIAL: [(f64, f64); 22] = [
    (0.0, 3.0),
    (-0.0, 3.0),
    (-0.0, 2.0),
    (0.0, -1.0),
    (-0.0, -3.0),
    (-0.0, -2.0),
    (-1.0, f64::INFINITY),
    (1.0, f64::NAN),
    (f64::NAN, 0.0),
    (-2.0, 3.0),
    (-2.0, 0.5),
    (0.5, f64::NEG_INFINITY),
    (2.0, f64::NEG_INFINITY),
    (0.5, f64::INFINITY),
    (2.0, f64::INFINITY),
    (f64::NEG_INFINITY, 3.0),
    (f64::NEG_INFINITY, 2.0),
    (f64::NEG_INFINITY, -3.0),
    (f64::INFINITY, -1.0),
    (f64::INFINITY, 1.0),
    (2.0, 10.0),
    (f64::NAN, 1.0),
];

fn special_bases<T: Float>() -> Vec<T> {
    SPECIAL.iter().map(|pair| T::narrow(pair.0)).collect()
}

fn special_powers<T: Float>() -> Vec<T> {
    SPECIAL.iter().map(|pair| T::narrow(pair.1)).collect()
}

/// `--use_fast_math`: the intrinsics' bounds, on numbers that are not flushed to zero.
fn fast(cases: &mut Vec<Case>) {
    let source = "math_exp_f32_fast";
    let mut one = |name: &str, bound, inputs: &[f32], f: &dyn Fn(f64) -> f64| {
        cases.push(unary(source, format!("k_{name}"), inputs, bound, |x| {
            f(f64::from(x)) as f32
        }));
    };
    let any: Vec<f32> = range::<f32>(-20.0, 20.0)
        .into_iter()
        .filter(|x| x.is_normal())
        .collect();
    let positive: Vec<f32> = range::<f32>(2.0, 1e20);
    let above: Vec<f32> = range::<f32>(1e-6, 1e6);
    // 2 + floor(|1.173 x|) units, and for powers of ten 2 + floor(|2.97 x|).
    one(
        "expf",
        Bound::Ulp(2.5 + (1.173f64 * 20.0).floor()),
        &any,
        &f64::exp,
    );
    one("exp2f", Bound::Ulp(2.5), &any, &f64::exp2);
    one(
        "exp10f",
        Bound::Ulp(2.5 + (2.97f64 * 20.0).floor()),
        &any,
        &libm::exp10,
    );
    one("expm1f", Bound::Ulp(1.5), &any, &f64::exp_m1);
    one("logf", Bound::Ulp(3.5), &positive, &f64::ln);
    one("log2f", Bound::Ulp(2.5), &positive, &f64::log2);
    one("log10f", Bound::Ulp(3.5), &positive, &f64::log10);
    one("log1pf", Bound::Ulp(2.5), &above, &f64::ln_1p);
    one("logbf", Bound::Equal, &above, &|x| f64::from(exponent(x)));
    one("sqrtf", Bound::Ulp(3.5), &above, &f64::sqrt);
    one("rsqrtf", Bound::Ulp(2.5), &above, &|x| 1.0 / x.sqrt());
    one("cbrtf", Bound::Ulp(2.5), &above, &f64::cbrt);
    one("rcbrtf", Bound::Ulp(2.5), &above, &|x| 1.0 / x.cbrt());
    let near_one: Vec<f32> = range::<f32>(0.5, 2.0);
    // 2^-21.41, 2^-22 and 2^-24 around one.
    let around = |cases: &mut Vec<Case>, name: &str, most: f64, f: &dyn Fn(f64) -> f64| {
        cases.push(
            unary(
                source,
                format!("k_{name}"),
                &near_one,
                Bound::Absolute(most),
                |x| f(f64::from(x)) as f32,
            )
            .variant("around one"),
        );
    };
    around(cases, "logf", 2f64.powf(-21.41) + 2f64.powi(-25), &f64::ln);
    around(
        cases,
        "log2f",
        2f64.powf(-22.0) + 2f64.powi(-25),
        &f64::log2,
    );
    around(
        cases,
        "log10f",
        2f64.powf(-24.0) + 2f64.powi(-26),
        &f64::log10,
    );
    cases.push(unary(source, "k_ilogbf", &above, Bound::Equal, |x| {
        exponent(f64::from(x))
    }));
    let mut two = |name: &str, bound, inputs: (&[f32], &[f32]), f: &dyn Fn(f64, f64) -> f64| {
        cases.push(binary(
            source,
            format!("k_{name}"),
            inputs,
            bound,
            |x, y| f(f64::from(x), f64::from(y)) as f32,
        ));
    };
    // `exp2(y * log2(x))`: the error of the logarithm, times the power, in units of the result.
    let bases = range::<f32>(2.0, 8.0);
    let powers = shuffled(&range::<f32>(-8.0, 8.0), 7);
    let n = bases.len().min(powers.len());
    two(
        "powf",
        Bound::Relative(8.0 * 3.0 * 2f64.powi(-22)),
        (&bases[..n], &powers[..n]),
        &f64::powf,
    );
    let others = shuffled(&above, 8);
    two("hypotf", Bound::Ulp(4.5), (&above, &others), &f64::hypot);
    two("rhypotf", Bound::Ulp(4.5), (&above, &others), &|x, y| {
        1.0 / x.hypot(y)
    });
}
