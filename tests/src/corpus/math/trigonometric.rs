//! `math_trig_f32` and `math_trig_f64`.

use super::{Case, Float, Functions, bound, range, shuffled, with_special};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    of::<f32>("math_trig_f32", &mut cases);
    of::<f64>("math_trig_f64", &mut cases);
    cases
}

/// Sine and cosine of pi times `x`: `x` is reduced exactly first.
fn sin_cos_pi(x: f64) -> (f64, f64) {
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    // In [-1, 1], then in [-1/4, 1/4] with the number of quarter turns.
    let r = x - 2.0 * (x / 2.0).round();
    let quarter = (r * 2.0).round();
    let rest = (r - quarter / 2.0) * std::f64::consts::PI;
    let (s, c) = rest.sin_cos();
    let (sine, cosine) = match quarter as i32 {
        0 => (s, c),
        1 => (c, -s),
        -1 => (-c, s),
        _ => (-s, -c),
    };
    // Exact zeros: the sine's has the sign of x, the cosine's is positive.
    let sine = if x == x.trunc() {
        0.0f64.copysign(x)
    } else {
        sine
    };
    let cosine = if cosine == 0.0 { 0.0 } else { cosine };
    (sine, cosine)
}

fn of<T: Float>(source: &'static str, cases: &mut Vec<Case>) {
    // Every magnitude, for the reduction of large arguments.
    let mut angles = with_special(range::<T>(-10.0, 10.0));
    angles.extend(range::<T>(-1e30, 1e30));
    let unit = with_special(range::<T>(-1.0, 1.0));
    let any = with_special(range::<T>(-20.0, 20.0));
    let mut list = Functions::<T>::new(source, cases);
    list.unary("sin", (2.0, 2.0), &angles, f64::sin);
    list.unary("cos", (2.0, 2.0), &angles, f64::cos);
    list.unary("tan", (4.0, 2.0), &angles, f64::tan);
    list.unary("asin", (2.0, 2.0), &unit, f64::asin);
    list.unary("acos", (2.0, 2.0), &unit, f64::acos);
    list.unary("atan", (2.0, 2.0), &any, f64::atan);
    list.unary("sinh", (3.0, 2.0), &any, f64::sinh);
    list.unary("cosh", (2.0, 1.0), &any, f64::cosh);
    list.unary("tanh", (2.0, 1.0), &any, f64::tanh);
    list.unary("asinh", (3.0, 3.0), &any, libm::asinh);
    list.unary(
        "acosh",
        (4.0, 3.0),
        &with_special(range::<T>(1.0, 1e8)),
        libm::acosh,
    );
    list.unary("atanh", (3.0, 2.0), &unit, libm::atanh);
    let others = shuffled(&any, 9);
    list.binary("atan2", (3.0, 2.0), (&any, &others), f64::atan2);
    let turns = with_special(range::<T>(-50.0, 50.0));
    list.unary("sinpi", (1.0, 2.0), &turns, |x| sin_cos_pi(x).0);
    list.unary("cospi", (1.0, 2.0), &turns, |x| sin_cos_pi(x).1);
    let mut pair = |kernel: &str, inputs: &[T], ulp, f: &dyn Fn(f64) -> (f64, f64)| {
        let (sines, cosines): (Vec<T>, Vec<T>) = inputs
            .iter()
            .map(|x| {
                let (s, c) = f(x.wide());
                (T::narrow(s), T::narrow(c))
            })
            .unzip();
        cases.push(
            Case::new(source, kernel)
                .shape(3, 64)
                .input(inputs)
                .output(&sines, bound::<T>(ulp))
                .output(&cosines, bound::<T>(ulp))
                .scalar(inputs.len() as u64),
        );
    };
    pair("k_sincos", &angles, (2.0, 2.0), &f64::sin_cos);
    pair("k_sincospi", &turns, (1.0, 2.0), &sin_cos_pi);
}
