//! `math_round_f32` and `math_round_f64`: rounding, remainders, and taking numbers apart. All exact.

use super::{Bound, Case, Float, Functions, range, shuffled, unary, with_special};
use crate::corpus::data::{Sample, singles};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    of::<f32>("math_round_f32", &mut cases);
    of::<f64>("math_round_f64", &mut cases);
    cases
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

fn of<T: Float + Sample>(source: &'static str, cases: &mut Vec<Case>) {
    const EXACT: (f64, f64) = (0.0, 0.0);
    let mut values = singles::<T>(41, 200);
    values.extend(range::<T>(-1000.0, 1000.0));
    values.extend([0.5, -0.5, 1.5, 2.5, -2.5, 8_388_607.5, 8_388_608.0, 4.5e15].map(T::narrow));
    let mut list = Functions::<T>::new(source, cases);
    list.unary("fabs", EXACT, &values, f64::abs);
    list.unary("ceil", EXACT, &values, f64::ceil);
    list.unary("floor", EXACT, &values, f64::floor);
    list.unary("trunc", EXACT, &values, f64::trunc);
    list.unary("round", EXACT, &values, f64::round);
    list.unary("rint", EXACT, &values, f64::round_ties_even);
    list.unary("nearbyint", EXACT, &values, f64::round_ties_even);
    let others = shuffled(&values, 42);
    let pairs = (&values[..], &others[..]);
    list.binary("fmod", EXACT, pairs, |x, y| x % y);
    list.binary("remainder", EXACT, pairs, libm::remainder);
    list.binary("copysign", EXACT, pairs, f64::copysign);
    // A difference of floats is rounded once: it is in double precision of numbers that far apart, or exact.
    list.binary("fdim", EXACT, pairs, |x, y| {
        if x.is_nan() || y.is_nan() {
            f64::NAN
        } else if x > y {
            difference::<T>(x, y)
        } else {
            0.0
        }
    });
    list.binary("fmin", EXACT, pairs, min);
    list.binary("fmax", EXACT, pairs, max);
    let next: Vec<T> = values
        .iter()
        .zip(&others)
        .map(|(&x, &y)| next_after(x, y))
        .collect();
    cases.push(
        Case::new(source, format!("k_nextafter{}", T::SUFFIX))
            .shape(3, 64)
            .input(&values)
            .input(&others)
            .output(&next, Bound::Equal)
            .scalar(values.len() as u64),
    );

    // Inside the range of a 64-bit integer, which `long` is too.
    let fitting: Vec<T> = values
        .iter()
        .copied()
        .filter(|x| x.wide().abs() < 9e18)
        .collect();
    for (name, f) in [
        ("lrint", f64::round_ties_even as fn(f64) -> f64),
        ("lround", f64::round),
        ("llrint", f64::round_ties_even),
        ("llround", f64::round),
    ] {
        cases.push(unary(
            source,
            format!("k_{name}{}", T::SUFFIX),
            &fitting,
            Bound::Equal,
            |x| f(x.wide()) as i64,
        ));
    }

    let finite: Vec<T> = values
        .iter()
        .copied()
        .filter(|x| x.wide().is_finite())
        .collect();
    let n = finite.len() as u64;
    let (m, e): (Vec<T>, Vec<T>) = finite
        .iter()
        .map(|x| {
            let (m, e) = libm::frexp(x.wide());
            (T::narrow(m), T::narrow(f64::from(e)))
        })
        .unzip();
    cases.push(
        Case::new(source, "k_frexp")
            .shape(3, 64)
            .input(&finite)
            .output(&m, Bound::Equal)
            .output(&e, Bound::Equal)
            .scalar(n),
    );
    // Exact, or rounded once where the result is subnormal.
    let scale = |x: T, e: i32| T::narrow(libm::scalbn(x.wide(), e));
    let exponents: Vec<T> = shuffled(&range::<T>(-60.0, 60.0), 43)
        .into_iter()
        .cycle()
        .take(finite.len())
        .map(|e| T::narrow(e.wide().trunc()))
        .collect();
    let scaled: Vec<T> = finite
        .iter()
        .zip(&exponents)
        .map(|(&x, e)| scale(x, e.wide() as i32))
        .collect();
    cases.push(
        Case::new(source, "k_ldexp")
            .shape(3, 64)
            .input(&finite)
            .input(&exponents)
            .output(&scaled, Bound::Equal)
            .scalar(n),
    );
    for e in [-13, 21] {
        let scaled: Vec<T> = finite.iter().map(|&x| scale(x, e)).collect();
        cases.push(
            Case::new(source, "k_scalbn")
                .variant(format!("by {e}"))
                .shape(3, 64)
                .input(&finite)
                .scalar(e)
                .output(&scaled, Bound::Equal)
                .scalar(n),
        );
    }
    let parts: Vec<T> = with_special(finite.clone());
    let (fractions, whole): (Vec<T>, Vec<T>) = parts
        .iter()
        .map(|x| {
            let x = x.wide();
            let whole = x.trunc();
            let fraction = if x.is_infinite() { 0.0 } else { x - whole };
            (T::narrow(fraction.copysign(x)), T::narrow(whole))
        })
        .unzip();
    cases.push(
        Case::new(source, "k_modf")
            .shape(3, 64)
            .input(&parts)
            .output(&fractions, Bound::Equal)
            .output(&whole, Bound::Equal)
            .scalar(parts.len() as u64),
    );

    let (x, y): (Vec<T>, Vec<T>) = range::<T>(-1e4, 1e4)
        .into_iter()
        .zip(shuffled(&range::<T>(0.5, 100.0), 44))
        .unzip();
    let results: Vec<(f64, i64)> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| {
            let remainder = libm::remainder(x.wide(), y.wide());
            // The quotient is a whole number of at most 15 bits, so this is exact after rounding.
            let quotient = ((x.wide() - remainder) / y.wide()).round();
            (remainder, quotient as i64)
        })
        .collect();
    let remainders: Vec<T> = results.iter().map(|(r, _)| T::narrow(*r)).collect();
    let quotients: Vec<i64> = results.iter().map(|(_, q)| *q).collect();
    cases.push(
        Case::new(source, "k_remquo")
            .shape(3, 64)
            .input(&x)
            .input(&y)
            .output(&remainders, Bound::Equal)
            .judged(
                &vec![0i32; x.len()],
                "has the sign and the last three bits of the quotient",
                move |q| {
                    for (index, (&got, &want)) in q.iter().zip(&quotients).enumerate() {
                        let same_bits = got.unsigned_abs() % 8 == (want.unsigned_abs() % 8) as u32;
                        let same_sign = got == 0 || (got < 0) == (want < 0);
                        if !(same_bits && same_sign) {
                            return Err(format!("quotient {index} is {got}, want {want}"));
                        }
                    }
                    Ok(())
                },
            )
            .scalar(x.len() as u64),
    );

    let z = shuffled(&values, 45);
    let sums: Vec<T> = values
        .iter()
        .zip(&others)
        .zip(&z)
        .map(|((&x, &y), &z)| T::fma(x, y, z))
        .collect();
    cases.push(
        Case::new(source, "k_fma")
            .shape(3, 64)
            .input(&values)
            .input(&others)
            .update(&z, &sums, Bound::Equal)
            .scalar(values.len() as u64),
    );
    cases.push(unary(source, "k_sat", &values, Bound::Equal, |x| {
        T::narrow(min(max(x.wide(), 0.0), 1.0))
    }));
}

/// A difference, rounded to the type once.
fn difference<T: Float>(x: f64, y: f64) -> f64 {
    T::subtract(T::narrow(x), T::narrow(y)).wide()
}

fn next_after<T: Float>(x: T, y: T) -> T {
    let (a, b) = (x.wide(), y.wide());
    if a.is_nan() || b.is_nan() {
        T::narrow(f64::NAN)
    } else if a == b {
        y
    } else if a < b {
        x.next_up()
    } else {
        T::narrow(-T::narrow(-a).next_up().wide())
    }
}
