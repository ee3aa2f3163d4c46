//! The approximate instructions: `ex2 lg2 sin cos tanh rsqrt rcp sqrt div`, at least as accurate as the PTX ISA demands.
//!
//! All are computed in `f64` with short polynomials (coefficients interpolate at Chebyshev nodes; errors are in the comments) and
//! rounded once to `f32`, so nearly all results are the correctly rounded ones. They use additions, multiplications, divisions and
//! square roots only, hence give the same bits on every host.

use super::flush::{ftz_bf16, ftz_f32};
use super::half::{cvt_f32_bf16, cvt_f32_f16, cvt_rn_bf16_f32, cvt_rn_f16_f32};
use super::{NAN_F32, canonical_f32};

/// Adding and subtracting it rounds an `f64` of moderate size to the nearest integer, which then sits in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// `2^x` on [-1/2, 1/2] as a polynomial: coefficients of even and odd powers in pairs.
pub(crate) const EX2_COEFFICIENTS: [(f64, f64); 4] = [
    (0.999_999_999_959_561_8, 0.693_147_180_556_832_4),
    (0.240_226_512_134_980_92, 0.055_504_109_063_258_665),
    (0.009_618_025_613_318_034, 0.001_333_347_847_368_541_6),
    (0.000_154_697_292_141_182_96, 1.530_370_071_136_569_3e-5),
];

/// `2^x` for |x| <= 1000, relative error below 6e-11.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let shifted = x + ROUNDER;
    let f = x - (shifted - ROUNDER);
    let f2 = f * f;
    let f4 = f2 * f2;
    let [p01, p23, p45, p67] = EX2_COEFFICIENTS.map(|(even, odd)| even + odd * f);
    let low = p01 + p23 * f2;
    let high = p45 + p67 * f2;
    (low + high * f4) * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// `ex2.approx.f32`: 2^a. The ISA allows a relative error of 2^-22.
#[inline]
pub(crate) extern "C" fn ex2_approx_f32(a: f32) -> f32 {
    // Past the bounds the conversion to f32 overflows or gives zero by itself.
    canonical_f32(exp2(f64::from(a.clamp(-160.0, 130.0))) as f32)
}

/// `ex2.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn ex2_approx_ftz_f32(a: f32) -> f32 {
    ftz_f32(ex2_approx_f32(a))
}

/// `ex2.approx.f16`.
#[inline]
pub(crate) extern "C" fn ex2_approx_f16(a: u32) -> u32 {
    cvt_rn_f16_f32(ex2_approx_f32(cvt_f32_f16(a)))
}

/// `ex2.approx.ftz.bf16`.
#[inline]
pub(crate) extern "C" fn ex2_approx_ftz_bf16(a: u32) -> u32 {
    ftz_bf16(cvt_rn_bf16_f32(ex2_approx_f32(cvt_f32_bf16(a))))
}

/// `lg2.approx.f32`: log2(a). The ISA allows an error of 2^-22, absolute for a in [0.5, 2], relative elsewhere.
#[inline]
pub(crate) extern "C" fn lg2_approx_f32(a: f32) -> f32 {
    if a > 0.0 && a < f32::INFINITY {
        let bits = f64::from(a).to_bits();
        // a = m * 2^e with m in [sqrt(1/2), sqrt(2)): no cancellation between e and log2(m).
        let e = bits
            .wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits())
            .cast_signed()
            >> 52;
        let m = f64::from_bits(bits.wrapping_sub((e << 52).cast_unsigned()));
        let s = (m - 1.0) / (m + 1.0);
        let t = s * s;
        // log2((1 + s) / (1 - s)) / s as a polynomial in s^2, relative error below 3e-14.
        let t2 = t * t;
        let low = 2.885_390_081_777_85 + 0.961_796_694_113_212_7 * t;
        let middle = 0.577_077_942_359_459_1 + 0.412_209_256_786_155 * t;
        let high = 0.319_905_373_922_761_7 + 0.282_906_616_590_681_1 * t;
        (e as f64 + s * (low + (middle + high * t2) * t2)) as f32
    } else if a == 0.0 {
        f32::NEG_INFINITY
    } else if a == f32::INFINITY {
        a
    } else {
        NAN_F32
    }
}

/// `lg2.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn lg2_approx_ftz_f32(a: f32) -> f32 {
    lg2_approx_f32(ftz_f32(a))
}

/// Magnitude up to which the two-part reduction is exact enough: 2^28 quarter turns times 25 bits fit an `f64`.
const REDUCIBLE: f32 = 2.0e8;

/// `a` less the nearest multiple of pi/2, and that multiple.
#[inline(always)]
fn quarter(a: f32) -> (f64, u64) {
    const HALF_PI_HIGH: f64 = 1.570_796_310_901_641_8;
    const HALF_PI_LOW: f64 = 1.589_325_477_352_819_6e-8;
    let a = f64::from(a);
    let shifted = a * std::f64::consts::FRAC_2_PI + ROUNDER;
    let n = shifted - ROUNDER;
    ((a - n * HALF_PI_HIGH) - n * HALF_PI_LOW, shifted.to_bits())
}

/// Sine on [-pi/4, pi/4], relative error below 5e-12.
#[inline(always)]
fn sine(r: f64) -> f64 {
    let t = r * r;
    let t2 = t * t;
    let low = 0.999_999_999_995_651_5 - 0.166_666_666_314_509_96 * t;
    let high = 0.008_333_328_768_835_47 - 0.000_198_391_980_924_538_64 * t;
    r * (low + (high + 2.717_307_544_401_403_5e-6 * t2) * t2)
}

/// Cosine on [-pi/4, pi/4], relative error below 7e-11.
#[inline(always)]
fn cosine(r: f64) -> f64 {
    let t = r * r;
    let t2 = t * t;
    let low = 0.999_999_999_952_252 - 0.499_999_996_133_192_1 * t;
    let high = 0.041_666_616_543_016_975 - 0.001_388_661_347_837_977 * t;
    low + (high + 2.437_941_269_612_416_3e-5 * t2) * t2
}

/// `sin.approx.f32`. The ISA allows an absolute error of 2^-20.5 within a turn; this holds an ulp everywhere.
#[inline]
pub(crate) extern "C" fn sin_approx_f32(a: f32) -> f32 {
    if a.abs() <= REDUCIBLE {
        let (r, n) = quarter(a);
        let value = if n & 1 == 0 { sine(r) } else { cosine(r) };
        // The reduction loses the sign of zero.
        if a == 0.0 {
            a
        } else {
            (if n & 2 == 0 { value } else { -value }) as f32
        }
    } else if a.is_finite() {
        libm::sinf(a)
    } else {
        NAN_F32
    }
}

/// `sin.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn sin_approx_ftz_f32(a: f32) -> f32 {
    ftz_f32(sin_approx_f32(ftz_f32(a)))
}

/// `cos.approx.f32`. The ISA allows an absolute error of 2^-20.5 within a turn; this holds an ulp everywhere.
#[inline]
pub(crate) extern "C" fn cos_approx_f32(a: f32) -> f32 {
    if a.abs() <= REDUCIBLE {
        let (r, n) = quarter(a);
        let value = if n & 1 == 0 { cosine(r) } else { sine(r) };
        // Negative in the second and third quarter turn.
        (if n.wrapping_add(1) & 2 == 0 {
            value
        } else {
            -value
        }) as f32
    } else if a.is_finite() {
        libm::cosf(a)
    } else {
        NAN_F32
    }
}

/// `cos.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn cos_approx_ftz_f32(a: f32) -> f32 {
    ftz_f32(cos_approx_f32(a))
}

/// `tanh.approx.f32`. The ISA allows a relative error of 2^-11.
#[inline]
pub(crate) extern "C" fn tanh_approx_f32(a: f32) -> f32 {
    let x = f64::from(a.abs());
    let value = if x < 0.5 {
        // tanh(x) / x as a polynomial in x^2, relative error below 4e-10.
        let t = x * x;
        let t2 = t * t;
        let low = 0.999_999_999_680_549_8 - 0.333_333_241_202_205_2 * t;
        let middle = 0.133_329_002_583_207_93 - 0.053_893_224_570_864_574 * t;
        let high = 0.021_273_822_075_600_88 - 0.006_612_012_134_714_37 * t;
        x * (low + (middle + high * t2) * t2)
    } else {
        1.0 - 2.0 / (exp2(x.min(20.0) * (2.0 * std::f64::consts::LOG2_E)) + 1.0)
    };
    if a.is_nan() {
        NAN_F32
    } else {
        (value as f32).copysign(a)
    }
}

/// `tanh.approx.f16`.
#[inline]
pub(crate) extern "C" fn tanh_approx_f16(a: u32) -> u32 {
    cvt_rn_f16_f32(tanh_approx_f32(cvt_f32_f16(a)))
}

/// `tanh.approx.bf16`.
#[inline]
pub(crate) extern "C" fn tanh_approx_bf16(a: u32) -> u32 {
    cvt_rn_bf16_f32(tanh_approx_f32(cvt_f32_bf16(a)))
}

/// `rsqrt.approx.f32`: 1/sqrt(a). The ISA allows a relative error of 2^-22.9.
#[inline]
pub(crate) extern "C" fn rsqrt_approx_f32(a: f32) -> f32 {
    canonical_f32((1.0 / f64::from(a).sqrt()) as f32)
}

/// `rsqrt.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn rsqrt_approx_ftz_f32(a: f32) -> f32 {
    rsqrt_approx_f32(ftz_f32(a))
}

/// `rcp.approx.f32`: correctly rounded, where the ISA allows an ulp.
#[inline]
pub(crate) extern "C" fn rcp_approx_f32(a: f32) -> f32 {
    canonical_f32(1.0 / a)
}

/// `rcp.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn rcp_approx_ftz_f32(a: f32) -> f32 {
    ftz_f32(rcp_approx_f32(ftz_f32(a)))
}

/// `sqrt.approx.f32`: correctly rounded, where the ISA allows a relative error of 2^-23.
#[inline]
pub(crate) extern "C" fn sqrt_approx_f32(a: f32) -> f32 {
    canonical_f32(a.sqrt())
}

/// `sqrt.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn sqrt_approx_ftz_f32(a: f32) -> f32 {
    sqrt_approx_f32(ftz_f32(a))
}

/// `div.approx.f32`: correctly rounded (the ISA allows 2 ulp) for |b| up to 2^126; for larger finite b zero, or NaN if `a` is
/// infinite, as the ISA says.
#[inline]
pub(crate) extern "C" fn div_approx_f32(a: f32, b: f32) -> f32 {
    let limit = f32::from_bits((127 + 126) << 23);
    // Such a b has a reciprocal that counts as zero.
    let b = if b.abs() > limit {
        f32::INFINITY.copysign(b)
    } else {
        b
    };
    canonical_f32(a / b)
}

/// `div.approx.ftz.f32`.
#[inline]
pub(crate) extern "C" fn div_approx_ftz_f32(a: f32, b: f32) -> f32 {
    ftz_f32(div_approx_f32(ftz_f32(a), ftz_f32(b)))
}

/// `div.full.f32`: correctly rounded, where the ISA allows 2 ulp.
#[inline]
pub(crate) extern "C" fn div_full_f32(a: f32, b: f32) -> f32 {
    canonical_f32(a / b)
}

/// `div.full.ftz.f32`.
#[inline]
pub(crate) extern "C" fn div_full_ftz_f32(a: f32, b: f32) -> f32 {
    ftz_f32(div_full_f32(ftz_f32(a), ftz_f32(b)))
}

/// The upper word of a double, the lower cleared: all that the `.approx.ftz.f64` instructions look at. A subnormal becomes zero.
#[inline(always)]
fn upper_operand(a: f64) -> f64 {
    let bits = a.to_bits();
    f64::from_bits(if bits & 0x7ff0_0000_0000_0000 == 0 {
        bits & 1 << 63
    } else {
        bits & 0xffff_ffff_0000_0000
    })
}

/// A double rounded to its upper word; a subnormal becomes zero, NaN is canonical.
#[inline(always)]
fn upper_result(a: f64) -> f64 {
    let bits = a.to_bits();
    f64::from_bits(if bits & 0x7ff0_0000_0000_0000 == 0 {
        bits & 1 << 63
    } else if a.is_nan() {
        0x7fff_ffff_0000_0000
    } else {
        // Infinity has a zero lower word and stays.
        (bits + 0x8000_0000) & 0xffff_ffff_0000_0000
    })
}

/// `rcp.approx.ftz.f64`: the reciprocal of the upper word as a double, rounded to the upper word. Hardware's differs by one there at most.
///
/// A NaN whose payload lies in the lower word alone passes for infinity, as on hardware.
#[inline]
pub(crate) extern "C" fn rcp_approx_ftz_f64(a: f64) -> f64 {
    upper_result(1.0 / upper_operand(a))
}

/// `rsqrt.approx.ftz.f64`: likewise for 1/sqrt.
#[inline]
pub(crate) extern "C" fn rsqrt_approx_ftz_f64(a: f64) -> f64 {
    upper_result(1.0 / upper_operand(a).sqrt())
}

/// `rsqrt.approx.f64`: within an ulp of the exact value, subnormals included.
#[inline]
pub(crate) extern "C" fn rsqrt_approx_f64(a: f64) -> f64 {
    super::canonical_f64(1.0 / a.sqrt())
}
