//! Special functions that the host's library lacks, as accurate as a double can be.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// The inverse of the error function, by Newton's method on whichever of `erf` and `erfc` loses nothing.
pub(super) fn erfinv(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1.0 {
        return f64::NAN;
    }
    if x.abs() == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    if x.abs() > 0.5 {
        // 1 - |x| is exact here.
        return erfcinv(1.0 - x.abs()).copysign(x);
    }
    let mut y = x / FRAC_2_SQRT_PI;
    for _ in 0..60 {
        let step = (libm::erf(y) - x) / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step;
        if step.abs() <= f64::EPSILON / 8.0 * y.abs() {
            break;
        }
    }
    y
}

/// The inverse of the complementary error function.
pub(super) fn erfcinv(x: f64) -> f64 {
    if x.is_nan() || !(0.0..=2.0).contains(&x) {
        return f64::NAN;
    }
    if x == 0.0 || x == 2.0 {
        return if x == 0.0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        };
    }
    if x > 1.5 {
        return -erfcinv(2.0 - x);
    }
    if x > 0.5 {
        // 1 - x is exact here.
        return erfinv(1.0 - x);
    }
    // Newton on the logarithm, in which the function is nearly a parabola.
    let goal = x.ln();
    let mut y = (-goal).sqrt();
    for _ in 0..100 {
        let value = libm::erfc(y);
        let slope = -FRAC_2_SQRT_PI * (-y * y).exp() / value;
        // The last steps compare the values themselves: their quotient is near one.
        let step = (value / x).ln() / slope;
        y -= step;
        if step.abs() <= f64::EPSILON / 8.0 * y.abs() {
            break;
        }
    }
    y
}

/// `exp(x^2) erfc(x)`.
pub(super) fn erfcx(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return 2.0 * exp_of_square(x) - erfcx(-x);
    }
    if x < 10.0 {
        return exp_of_square(x) * libm::erfc(x);
    }
    // The asymptotic series (Abramowitz and Stegun 7.1.23), whose terms shrink fast from here on.
    let square = x * x;
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..12 {
        term *= -(2.0 * f64::from(k) - 1.0) / (2.0 * square);
        sum += term;
    }
    sum / (x * PI.sqrt())
}

/// `exp(x^2)` with what squaring loses.
fn exp_of_square(x: f64) -> f64 {
    let high = x * x;
    let low = x.mul_add(x, -high);
    let e = high.exp();
    if e.is_finite() { e + e * low } else { e }
}

/// The standard normal distribution.
pub(super) fn normcdf(x: f64) -> f64 {
    if !x.is_finite() {
        return if x.is_nan() {
            x
        } else {
            f64::from(u8::from(x > 0.0))
        };
    }
    // 1/sqrt(2) as the sum of two doubles.
    let (high, low) = (std::f64::consts::FRAC_1_SQRT_2, -4.833_646_656_726_457e-17);
    let y = -x * high;
    let rest = (-x).mul_add(high, -y) - x * low;
    0.5 * (libm::erfc(y) - rest * FRAC_2_SQRT_PI * (-y * y).exp())
}

/// Its inverse.
pub(super) fn normcdfinv(p: f64) -> f64 {
    // The median is zero, not minus zero.
    0.0 - std::f64::consts::SQRT_2 * erfcinv(2.0 * p)
}

/// The modified Bessel function of the first kind, of order 0 or 1: the power series, all of whose terms are positive
/// (Abramowitz and Stegun 9.6.10).
pub(super) fn bessel_i(order: u32, x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let mut term = if order == 0 { 1.0 } else { x / 2.0 };
    let mut sum = term;
    for k in 1..400u32 {
        term *= quarter / (f64::from(k) * f64::from(k + order));
        sum += term;
        if term.abs() < sum.abs() * f64::EPSILON / 16.0 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the NIST Digital Library of Mathematical Functions and of Abramowitz and Stegun's tables.
    #[test]
    fn published_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 4e-15 * b.abs(), "{a} {b}");
        close(erfinv(0.5), 0.476_936_276_204_469_9);
        close(erfcinv(1e-10), 4.572_824_967_389_486);
        close(erfcx(1.0), 0.427_583_576_155_807);
        close(erfcx(10.0), 0.056_140_992_743_822_59);
        close(normcdf(-3.0), 0.001_349_898_031_630_094_6);
        close(normcdfinv(0.975), 1.959_963_984_540_054);
        close(bessel_i(0, 1.0), 1.266_065_877_752_008_4);
        close(bessel_i(1, 1.0), 0.565_159_103_992_485);
        for x in [0.001, 0.1, 0.49, 0.51, 0.9, 0.999_999] {
            close(libm::erf(erfinv(x)), x);
        }
    }
}
