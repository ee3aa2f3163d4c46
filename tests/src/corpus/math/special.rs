//! `math_special_f32` and `math_special_f64`.

use super::precise::{bessel_i, erfcinv, erfcx, erfinv, normcdf, normcdfinv};
use super::{Bound, Case, Float, Functions, range, with_special};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    of::<f32>("math_special_f32", &mut cases);
    of::<f64>("math_special_f64", &mut cases);
    cases
}

fn of<T: Float>(source: &'static str, cases: &mut Vec<Case>) {
    let mut list = Functions::<T>::new(source, cases);
    let any = with_special(range::<T>(-5.0, 5.0));
    list.unary("erf", (2.0, 2.0), &any, libm::erf);
    list.unary(
        "erfc",
        (4.0, 5.0),
        &with_special(range::<T>(-5.0, 9.0)),
        libm::erfc,
    );
    let unit = range::<T>(-0.999, 0.999);
    list.unary("erfinv", (2.0, 5.0), &unit, erfinv);
    list.unary("erfcinv", (4.0, 6.0), &range::<T>(0.001, 1.999), erfcinv);
    list.unary("erfcx", (4.0, 4.0), &range::<T>(-5.0, 100.0), erfcx);
    list.unary(
        "normcdf",
        (5.0, 5.0),
        &with_special(range::<T>(-8.0, 8.0)),
        normcdf,
    );
    list.unary(
        "normcdfinv",
        (5.0, 8.0),
        &range::<T>(0.001, 0.999),
        normcdfinv,
    );
    list.unary(
        "tgamma",
        (11.0, 10.0),
        &range::<T>(0.01, 30.0),
        libm::tgamma,
    );
    list.unary(
        "lgamma",
        (6.0, 4.0),
        &with_special(range::<T>(0.01, 1e6)),
        libm::lgamma,
    );
    // 9 units below 8 in single precision; near the zeros of a double's only its size is known.
    for (name, f) in [
        ("j0", libm::j0 as fn(f64) -> f64),
        ("j1", libm::j1),
        ("y0", libm::y0),
        ("y1", libm::y1),
    ] {
        list.absolute(name, "below 8", (6e-6, 2e-14), &range::<T>(0.2, 8.0), f);
        list.absolute(name, "above 8", (2.3e-6, 5e-12), &range::<T>(8.0, 100.0), f);
    }
    // The sum of the reference's series has an error of its own.
    list.unary(
        "cyl_bessel_i0",
        (6.0, 12.0),
        &range::<T>(-20.0, 20.0),
        |x| bessel_i(0, x),
    );
    list.unary(
        "cyl_bessel_i1",
        (6.0, 12.0),
        &range::<T>(-20.0, 20.0),
        |x| bessel_i(1, x),
    );

    let wide = |values: &[T]| -> Vec<f64> { values.iter().map(|x| x.wide()).collect() };
    let x = range::<T>(2.0, 20.0);
    let order = 3;
    let z: Vec<T> = wide(&x)
        .iter()
        .map(|&x| T::narrow(libm::jn(order, x) + libm::yn(order, x)))
        .collect();
    let most = if T::DOUBLE { 1e-11 } else { 6e-6 };
    cases.push(
        Case::new(source, "k_jn")
            .shape(3, 64)
            .input(&x)
            .scalar(order)
            .output(&z, Bound::Absolute(most))
            .scalar(x.len() as u64),
    );
    // Sums of four functions of a few units each, all positive.
    let relative = if T::DOUBLE { 2e-15 } else { 1e-6 };
    let x = range::<T>(-100.0, 100.0);
    let v = wide(&x);
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let n = x.len() - 3;
    let z: Vec<T> = (0..n)
        .map(|i| {
            let (three, four) = (norm(&v[i..i + 3]), norm(&v[i..i + 4]));
            T::narrow(three + 1.0 / three + four + 1.0 / norm(&[v[i], 1.0, 2.0, 3.0]))
        })
        .collect();
    cases.push(
        Case::new(source, "k_norms")
            .shape(3, 64)
            .input(&x)
            .output(&z, Bound::Relative(relative))
            .scalar(n as u64),
    );
    let d = 11;
    let n = x.len() - d;
    let z: Vec<T> = (0..n)
        .map(|i| {
            let length = norm(&v[i..i + d]);
            T::narrow(length + 1.0 / length)
        })
        .collect();
    cases.push(
        Case::new(source, "k_normn")
            .shape(3, 64)
            .input(&x)
            .scalar(d as i32)
            .output(&z, Bound::Relative(2.0 * relative))
            .scalar(n as u64),
    );
}
