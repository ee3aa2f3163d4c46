//! Approximate instructions against correctly rounded references in `f64`: errors measured over all exponents, and the tables of special
//! operands of the PTX ISA.
#![expect(
    clippy::type_complexity,
    reason = "tables of functions are read once, where they stand"
)]

use super::samples::Random;
use crate::numeric::approx::*;

const INF: f32 = f32::INFINITY;
/// A subnormal.
const SUB: f32 = f32::from_bits(0x0000_1234);

/// Distance in units of the last place of the reference as an `f32`.
fn ulps(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got == rounded {
        return 0.0;
    }
    let unit = 2f64.powi((want.abs().log2().floor() as i32).max(-126) - 23);
    (f64::from(got) - want).abs() / unit
}

/// Every exponent and sign, with fractions at the ends and at random.
fn sweep(per_exponent: u64) -> impl Iterator<Item = f32> {
    let mut random = Random(31);
    (0..0x1ff)
        .flat_map(move |upper: u32| {
            (0..per_exponent)
                .map(|i| {
                    let fraction = match i {
                        0 => 0,
                        1 => 0x7f_ffff,
                        2 => 1,
                        _ => random.next() as u32 & 0x7f_ffff,
                    };
                    f32::from_bits(upper << 23 | fraction)
                })
                .collect::<Vec<_>>()
        })
        .filter(|x| x.is_finite())
}

fn worst(
    function: extern "C" fn(f32) -> f32,
    reference: impl Fn(f64) -> f64,
    domain: impl Fn(f32) -> bool,
) -> f64 {
    let mut worst = (0.0, 0.0);
    for x in sweep(400).filter(|&x| domain(x)) {
        let error = ulps(function(x), reference(f64::from(x)));
        if error > worst.0 {
            worst = (error, x);
        }
    }
    println!("worst error {} ulp at {:e}", worst.0, worst.1);
    worst.0
}

// An error of one ulp is 2^-23 relative at most, below every bound of the ISA (2^-22 for ex2 and lg2, 2^-22.9 for rsqrt, one ulp for rcp,
// 2^-20.5 absolute for sin and cos, 2^-11 for tanh). The bounds here are those measured over all operands.
#[test]
fn errors_are_below_an_ulp() {
    assert!(worst(ex2_approx_f32, libm::exp2, |x| x.abs() < 149.0) <= 0.502);
    assert!(worst(lg2_approx_f32, libm::log2, |x| x > 0.0 && x != 1.0) <= 0.502);
    assert!(worst(sin_approx_f32, libm::sin, |x| x.abs() < 2e8 && x != 0.0) <= 0.502);
    assert!(worst(cos_approx_f32, libm::cos, |x| x.abs() < 2e8) <= 0.502);
    assert!(worst(sin_approx_f32, libm::sin, |x| x.abs() >= 2e8) <= 1.0);
    assert!(worst(cos_approx_f32, libm::cos, |x| x.abs() >= 2e8) <= 1.0);
    assert!(worst(tanh_approx_f32, libm::tanh, |x| x != 0.0) <= 0.51);
    assert!(worst(rsqrt_approx_f32, |x| 1.0 / x.sqrt(), |x| x > 0.0) <= 0.5001);
    assert!(worst(rcp_approx_f32, |x| 1.0 / x, |x| x.abs() > 3e-39) <= 0.5001);
    assert!(worst(sqrt_approx_f32, f64::sqrt, |x| x > 0.0) <= 0.5001);
}

#[test]
fn exact_powers() {
    for n in -149..=127 {
        let power = 2f64.powi(n) as f32;
        assert_eq!(ex2_approx_f32(n as f32), power);
        assert_eq!(lg2_approx_f32(power), n as f32);
    }
    assert_eq!(ex2_approx_f32(-150.0), 0.0);
    assert_eq!(ex2_approx_f32(128.0), INF);
    assert_eq!(ex2_approx_ftz_f32(-126.5), 0.0);
    assert_eq!(ex2_approx_ftz_f32(-126.0), f32::MIN_POSITIVE);
}

fn table(function: extern "C" fn(f32) -> f32, rows: &[(f32, f32)]) {
    for &(operand, want) in rows {
        let got = function(operand);
        let same = if want.is_nan() {
            got.to_bits() == 0x7fff_ffff
        } else {
            got.to_bits() == want.to_bits()
        };
        assert!(same, "f({operand:e}) = {got:e}, not {want:e}");
    }
}

#[test]
fn special_operands() {
    let nan = f32::NAN;
    let root = |x: f32| f64::from(x).sqrt();
    table(
        ex2_approx_f32,
        &[
            (-INF, 0.0),
            (-SUB, 1.0),
            (-0.0, 1.0),
            (0.0, 1.0),
            (SUB, 1.0),
            (INF, INF),
            (nan, nan),
            (f32::MAX, INF),
            (f32::MIN, 0.0),
        ],
    );
    table(
        ex2_approx_ftz_f32,
        &[
            (-INF, 0.0),
            (-SUB, 1.0),
            (-0.0, 1.0),
            (0.0, 1.0),
            (SUB, 1.0),
            (INF, INF),
            (nan, nan),
        ],
    );
    table(
        lg2_approx_f32,
        &[
            (-INF, nan),
            (-1.0, nan),
            (-SUB, nan),
            (-0.0, -INF),
            (0.0, -INF),
            (INF, INF),
            (nan, nan),
            (1.0, 0.0),
        ],
    );
    table(
        lg2_approx_ftz_f32,
        &[
            (-INF, nan),
            (-1.0, nan),
            (-SUB, -INF),
            (-0.0, -INF),
            (0.0, -INF),
            (SUB, -INF),
            (INF, INF),
            (nan, nan),
        ],
    );
    table(
        sin_approx_f32,
        &[
            (-INF, nan),
            (-SUB, -SUB),
            (-0.0, -0.0),
            (0.0, 0.0),
            (SUB, SUB),
            (INF, nan),
            (nan, nan),
        ],
    );
    table(
        sin_approx_ftz_f32,
        &[
            (-INF, nan),
            (-SUB, -0.0),
            (-0.0, -0.0),
            (0.0, 0.0),
            (SUB, 0.0),
            (INF, nan),
            (nan, nan),
        ],
    );
    table(
        cos_approx_f32,
        &[
            (-INF, nan),
            (-SUB, 1.0),
            (-0.0, 1.0),
            (0.0, 1.0),
            (SUB, 1.0),
            (INF, nan),
            (nan, nan),
        ],
    );
    table(
        cos_approx_ftz_f32,
        &[(-INF, nan), (-SUB, 1.0), (0.0, 1.0), (INF, nan), (nan, nan)],
    );
    table(
        tanh_approx_f32,
        &[
            (-INF, -1.0),
            (-SUB, -SUB),
            (-0.0, -0.0),
            (0.0, 0.0),
            (SUB, SUB),
            (INF, 1.0),
            (nan, nan),
        ],
    );
    table(
        rsqrt_approx_f32,
        &[
            (-INF, nan),
            (-1.0, nan),
            (-SUB, nan),
            (-0.0, -INF),
            (0.0, INF),
            (SUB, (1.0 / root(SUB)) as f32),
            (INF, 0.0),
            (nan, nan),
        ],
    );
    table(
        rsqrt_approx_ftz_f32,
        &[
            (-SUB, -INF),
            (SUB, INF),
            (-0.0, -INF),
            (0.0, INF),
            (INF, 0.0),
            (nan, nan),
        ],
    );
    table(
        rcp_approx_f32,
        &[
            (-INF, -0.0),
            (-SUB, -INF),
            (-0.0, -INF),
            (0.0, INF),
            (INF, 0.0),
            (nan, nan),
            (f32::MAX, 1.0 / f32::MAX),
        ],
    );
    table(
        rcp_approx_ftz_f32,
        &[
            (-INF, -0.0),
            (-SUB, -INF),
            (-0.0, -INF),
            (0.0, INF),
            (SUB, INF),
            (INF, 0.0),
            (nan, nan),
            (f32::MIN, -0.0),
        ],
    );
    table(
        sqrt_approx_f32,
        &[
            (-INF, nan),
            (-1.0, nan),
            (-SUB, nan),
            (-0.0, -0.0),
            (0.0, 0.0),
            (SUB, root(SUB) as f32),
            (INF, INF),
            (nan, nan),
        ],
    );
    table(
        sqrt_approx_ftz_f32,
        &[
            (-SUB, -0.0),
            (-0.0, -0.0),
            (SUB, 0.0),
            (INF, INF),
            (nan, nan),
        ],
    );
}

#[test]
fn division() {
    let big = 2f32.powi(127);
    assert_eq!(div_approx_f32(1.0, big), 0.0);
    assert_eq!(div_approx_f32(-1.0, big).to_bits(), 0x8000_0000);
    assert!(div_approx_f32(INF, big).is_nan());
    assert_eq!(div_full_f32(big, big), 1.0);
    assert_eq!(div_approx_f32(big, big / 2.0), 2.0);
    assert_eq!(div_full_ftz_f32(1.0, SUB), INF);
    assert_eq!(div_full_ftz_f32(SUB, 1.0), 0.0);
    let mut random = Random(33);
    for _ in 0..20_000 {
        let (a, b) = (
            f32::from_bits(random.next() as u32),
            f32::from_bits(random.next() as u32),
        );
        let want = f64::from(a) / f64::from(b);
        if a.is_finite()
            && b.is_finite()
            && want.abs() > f64::from(f32::MIN_POSITIVE)
            && want.abs() < f64::from(f32::MAX)
        {
            assert!(ulps(div_full_f32(a, b), want) <= 0.5001, "{a:e} / {b:e}");
        }
    }
}

#[test]
fn narrow_forms() {
    for bits in (0..0x1_0000u32).filter(|bits| bits & 0x7c00 != 0x7c00) {
        let x = half::f16::from_bits(bits as u16).to_f64();
        let near = |got: u32, want: f64, bound: f64| {
            let got = half::f16::from_bits(got as u16).to_f64();
            let unit = 2f64.powi((want.abs().log2().floor().max(-14.0)) as i32 - 10);
            assert!(
                (got - want).abs() <= bound * unit || (got.is_infinite() && want >= 65520.0),
                "{x:e}: {got:e}, {want:e}"
            );
        };
        near(ex2_approx_f16(bits), libm::exp2(x), 0.501);
        near(tanh_approx_f16(bits), libm::tanh(x), 0.501);
        let x = half::bf16::from_bits(bits as u16).to_f64();
        let want = libm::tanh(x);
        let got = half::bf16::from_bits(tanh_approx_bf16(bits) as u16).to_f64();
        assert!((got - want).abs() <= want.abs() * 2f64.powi(-8) + 2f64.powi(-133));
    }
    assert_eq!(ex2_approx_ftz_bf16(0xc300), 0); // 2^-128 is subnormal
    assert_eq!(ex2_approx_ftz_bf16(0x3f80), 0x4000);
}

#[test]
fn double_precision_seeds() {
    let mut random = Random(34);
    for _ in 0..200_000 {
        let x = f64::from_bits(random.next());
        let (reciprocal, root) = (rcp_approx_ftz_f64(x), rsqrt_approx_ftz_f64(x.abs()));
        assert_eq!(
            (reciprocal.to_bits() as u32, root.to_bits() as u32),
            (0, 0),
            "{x:e}"
        );
        if x.is_normal() && x.abs() < 2f64.powi(1022) {
            // The lower word is dropped on the way in (below 2^-20) and rounded on the way out (2^-21).
            assert!((reciprocal * x - 1.0).abs() < 1.6 * 2f64.powi(-20), "{x:e}");
            assert!(
                (root * root * x.abs() - 1.0).abs() < 2.1 * 2f64.powi(-20),
                "{x:e}"
            );
        }
    }
    let inf = f64::INFINITY;
    for (operand, want) in [
        (-inf, -0.0),
        (inf, 0.0),
        (0.0, inf),
        (-0.0, -inf),
        (5e-324, inf),
        (-1e-310, -inf),
        (f64::MAX, 0.0),
        (f64::MIN, -0.0),
    ] {
        assert_eq!(
            rcp_approx_ftz_f64(operand).to_bits(),
            want.to_bits(),
            "{operand:e}"
        );
    }
    for (operand, want) in [
        (inf, 0.0),
        (0.0, inf),
        (-0.0, -inf),
        (5e-324, inf),
        (-5e-324, -inf),
        (4.0, 0.5),
    ] {
        assert_eq!(
            rsqrt_approx_ftz_f64(operand).to_bits(),
            want.to_bits(),
            "{operand:e}"
        );
    }
    for nan in [
        rcp_approx_ftz_f64(f64::NAN),
        rsqrt_approx_ftz_f64(-1.0),
        rsqrt_approx_ftz_f64(-inf),
    ] {
        assert_eq!(nan.to_bits(), 0x7fff_ffff_0000_0000);
    }
    // The payload is out of sight: seen on hardware.
    assert_eq!(
        rcp_approx_ftz_f64(f64::from_bits(0x7ff0_0000_0000_0001)),
        0.0
    );
    assert_eq!(rsqrt_approx_f64(1e-310), 1.0 / 1e-310f64.sqrt());
}

/// The sequence that compilers make of a double division out of the seed ends in the correctly rounded quotient.
#[test]
fn seeds_refine_to_correct_quotients() {
    let mut random = Random(35);
    let fma = libm::fma;
    for _ in 0..20_000 {
        let a = 1.0 + random.below(1 << 52) as f64 * f64::EPSILON;
        let b = 1.0 + random.below(1 << 52) as f64 * f64::EPSILON;
        let seed = rcp_approx_ftz_f64(b);
        let e = fma(-b, seed, 1.0);
        let r = fma(seed, fma(e, e, e), seed);
        let r = fma(r, fma(-b, r, 1.0), r);
        let q = a * r;
        assert_eq!(fma(r, fma(-b, q, a), q), a / b, "{a:e} / {b:e}");
    }
}

/// All 2^32 operands; minutes long, so run by hand in release mode.
#[test]
#[ignore = "exhaustive"]
fn errors_over_all_operands() {
    let functions: [(&str, extern "C" fn(f32) -> f32, fn(f64) -> f64, f64); 6] = [
        ("ex2", ex2_approx_f32, libm::exp2, 0.502),
        ("lg2", lg2_approx_f32, libm::log2, 0.502),
        ("sin", sin_approx_f32, libm::sin, 0.502),
        ("cos", cos_approx_f32, libm::cos, 0.502),
        ("tanh", tanh_approx_f32, libm::tanh, 0.51),
        ("rsqrt", rsqrt_approx_f32, |x| 1.0 / x.sqrt(), 0.502),
    ];
    for (name, function, reference, bound) in functions {
        let mut worst = (0.0, 0.0f32);
        for bits in 0..=u32::MAX {
            let x = f32::from_bits(bits);
            let want = reference(f64::from(x));
            let range = f64::from(f32::from_bits(1))..f64::from(f32::MAX);
            if !range.contains(&want.abs()) || (matches!(name, "sin" | "cos") && x.abs() >= 2e8) {
                continue;
            }
            let error = ulps(function(x), want);
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("{name}: {} ulp at {:e}", worst.0, worst.1);
        assert!(worst.0 <= bound);
    }
}
