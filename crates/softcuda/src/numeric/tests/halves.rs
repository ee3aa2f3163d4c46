//! `f16` and `bf16` arithmetic against the exact reference; unary functions on all bit patterns.
#![expect(
    clippy::type_complexity,
    reason = "tables of functions are read once, where they stand"
)]

use super::exact::{BRAIN, HALF, Layout};
use super::samples::Random;
use crate::numeric::flush::*;
use crate::numeric::half::*;
use crate::numeric::soft::Rounding::Nearest;

type Binary = extern "C" fn(u32, u32) -> u32;

#[test]
fn arithmetic_is_rounded_once() {
    let binary: [(
        &str,
        Layout,
        Binary,
        fn(Layout, u64, u64, crate::numeric::soft::Rounding) -> u64,
    ); 6] = [
        ("add_f16", HALF, add_f16, Layout::add),
        ("sub_f16", HALF, sub_f16, Layout::sub),
        ("mul_f16", HALF, mul_f16, Layout::mul),
        ("add_bf16", BRAIN, add_bf16, Layout::add),
        ("sub_bf16", BRAIN, sub_bf16, Layout::sub),
        ("mul_bf16", BRAIN, mul_bf16, Layout::mul),
    ];
    let mut random = Random(21);
    for (name, layout, function, reference) in binary {
        for _ in 0..30_000 {
            let a = random.float(layout);
            let b = random.related(layout, a);
            // Rubbish above the low half must not matter.
            let got = u64::from(function(a as u32 | 0xabcd_0000, b as u32 | 0x1234_0000));
            let want = reference(layout, a, b, Nearest);
            assert_eq!(
                got, want,
                "{name}({a:#x}, {b:#x}) = {got:#x}, not {want:#x}"
            );
        }
    }
}

#[test]
fn fma_is_rounded_once() {
    let mut random = Random(22);
    let cases: [(&str, Layout, extern "C" fn(u32, u32, u32) -> u32); 2] = [
        ("fma_rn_f16", HALF, fma_rn_f16),
        ("fma_rn_bf16", BRAIN, fma_rn_bf16),
    ];
    for (name, layout, function) in cases {
        for _ in 0..60_000 {
            let a = random.float(layout);
            let b = random.related(layout, a);
            let product = layout.mul(a, b, Nearest) ^ layout.sign();
            let c = random.related(layout, product);
            let (got, want) = (
                u64::from(function(a as u32, b as u32, c as u32)),
                layout.fma(a, b, c, Nearest),
            );
            assert_eq!(
                got, want,
                "{name}({a:#x}, {b:#x}, {c:#x}) = {got:#x}, not {want:#x}"
            );
        }
    }
    // 1 + 2^-11 is a tie and goes to even; the least more than that does not.
    assert_eq!(fma_rn_f16(0x1400, 0x3800, 0x3c00), 0x3c00);
    assert_eq!(fma_rn_f16(0x1401, 0x3800, 0x3c00), 0x3c01);
}

#[test]
fn pairs_do_each_half() {
    let mut random = Random(23);
    for _ in 0..2000 {
        let (a, b) = (random.next() as u32, random.next() as u32);
        assert_eq!(
            add_f16x2(a, b),
            add_f16(a >> 16, b >> 16) << 16 | add_f16(a, b)
        );
        assert_eq!(
            mul_bf16x2(a, b),
            mul_bf16(a >> 16, b >> 16) << 16 | mul_bf16(a, b)
        );
        assert_eq!(
            max_nan_f16x2(a, b),
            max_nan_f16(a >> 16, b >> 16) << 16 | max_nan_f16(a, b)
        );
    }
    assert_eq!(add_f16x2(0x3c00_4000, 0x3c00_3c00), 0x4000_4200);
}

#[test]
fn modifiers_on_all_patterns() {
    for bits in 0..0x1_0000u32 {
        let negative = bits & 0x8000 != 0;
        for (layout, ftz, relu) in [
            (
                HALF,
                ftz_f16 as extern "C" fn(u32) -> u32,
                relu_f16 as extern "C" fn(u32) -> u32,
            ),
            (BRAIN, ftz_bf16, relu_bf16),
        ] {
            let magnitude = u64::from(bits) & layout.nan();
            let subnormal = magnitude < 1 << layout.fraction_bits;
            assert_eq!(ftz(bits), if subnormal { bits & 0x8000 } else { bits });
            let nan = magnitude > layout.infinity();
            assert_eq!(
                relu(bits),
                if nan {
                    0x7fff
                } else if negative {
                    0
                } else {
                    bits
                }
            );
        }
        let value = f64::from(cvt_f32_f16(bits));
        let clamped = if value > 0.0 { value.min(1.0) } else { 0.0 };
        assert_eq!(
            f64::from(cvt_f32_f16(sat_f16(bits))),
            clamped,
            "sat of {bits:#x}"
        );
        assert_eq!(sat_f16(bits) & 0x8000, 0);
    }
}

#[test]
fn conversions_agree_with_another_implementation() {
    // `half` is independent of this module. It keeps NaN payloads, so NaN compares as NaN.
    let mut random = Random(24);
    for _ in 0..200_000 {
        let x = f32::from_bits(random.next() as u32);
        let (h, b) = (half::f16::from_f32(x), half::bf16::from_f32(x));
        if x.is_nan() {
            assert_eq!((cvt_rn_f16_f32(x), cvt_rn_bf16_f32(x)), (0x7fff, 0x7fff));
        } else {
            assert_eq!(
                (cvt_rn_f16_f32(x), cvt_rn_bf16_f32(x)),
                (u32::from(h.to_bits()), u32::from(b.to_bits())),
                "{x:e}"
            );
        }
    }
}

#[test]
fn comparisons_and_minmax_of_specials() {
    const NAN: u32 = 0x7e00;
    const ONE: u32 = 0x3c00;
    assert_eq!(mask_eq_f16x2(0x3c00_0000, 0x3c00_8000), 0xffff_ffff);
    assert_eq!(mask_lt_f16x2(0x3c00_bc00, 0x3c00_0000), 0x0000_ffff);
    for (ordered, unordered, want) in [
        (mask_eq_f16 as Binary, mask_equ_f16 as Binary, false),
        (mask_ne_f16, mask_neu_f16, true),
        (mask_lt_f16, mask_ltu_f16, false),
        (mask_le_f16, mask_leu_f16, false),
        (mask_gt_f16, mask_gtu_f16, true),
        (mask_ge_f16, mask_geu_f16, true),
    ] {
        assert_eq!((ordered(NAN, ONE), unordered(NAN, ONE)), (0, 0xffff));
        assert_eq!((ordered(ONE, NAN), unordered(ONE, NAN)), (0, 0xffff));
        // 1 against -1.
        let mask = u32::from(want) * 0xffff;
        assert_eq!(
            (ordered(ONE, ONE | 0x8000), unordered(ONE, ONE | 0x8000)),
            (mask, mask)
        );
    }
    assert_eq!(
        (mask_num_f16(ONE, NAN), mask_nan_f16(ONE, NAN)),
        (0, 0xffff)
    );
    assert_eq!(
        (mask_num_f16(ONE, ONE), mask_nan_f16(ONE, ONE)),
        (0xffff, 0)
    );
    assert_eq!(
        (min_f16(NAN, ONE), min_f16(ONE, NAN), min_f16(NAN, NAN)),
        (ONE, ONE, 0x7fff)
    );
    assert_eq!(
        (min_nan_f16(NAN, ONE), max_nan_f16(ONE, NAN)),
        (0x7fff, 0x7fff)
    );
    assert_eq!((min_f16(0, 0x8000), max_f16(0x8000, 0)), (0x8000, 0));
    assert_eq!(
        (min_bf16(0x7fc0, 0x3f80), max_bf16(0x3f80, 0xbf80)),
        (0x3f80, 0x3f80)
    );
    assert_eq!(min_xorsign_abs_f16(0xc000, 0x3c00), 0xbc00);
    assert_eq!(max_xorsign_abs_f16(0xc000, 0xbc00), 0x4000);
    // The sign of a NaN counts, as on hardware.
    assert_eq!(
        (
            min_xorsign_abs_f16(0x4a8a, 0xfc01),
            min_nan_xorsign_abs_f16(0x4a8a, 0xfc01)
        ),
        (0xca8a, 0x7fff)
    );
}

#[test]
fn packing_puts_the_first_operand_on_top() {
    assert_eq!(cvt_rn_f16x2_f32(1.0, -2.0), 0x3c00_c000);
    assert_eq!(
        cvt_rz_bf16x2_f32(f32::from_bits(0x3f80_ffff), 0.0),
        0x3f80_0000
    );
}

mod float8 {
    use crate::numeric::float8::*;
    use crate::numeric::half::cvt_f32_f16;

    /// Value of an 8-bit float from its definition.
    fn value(bits: u32, fraction_bits: u32, bias: i32) -> f64 {
        let field = (bits & 0x7f) >> fraction_bits;
        let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
        let magnitude = if field == 0 {
            fraction * 2f64.powi(1 - bias)
        } else {
            (1.0 + fraction) * 2f64.powi(field as i32 - bias)
        };
        if bits & 0x80 != 0 {
            -magnitude
        } else {
            magnitude
        }
    }

    #[test]
    fn every_pattern_both_ways() {
        for bits in 0..0x100u32 {
            let (e4m3, e5m2) = (
                cvt_f32_f16(cvt_rn_f16x2_e4m3x2(bits)),
                cvt_f32_f16(cvt_rn_f16x2_e5m2x2(bits)),
            );
            if bits & 0x7f == 0x7f {
                assert!(e4m3.is_nan());
            } else {
                assert_eq!(f64::from(e4m3), value(bits, 3, 7), "e4m3 {bits:#x}");
                assert_eq!(
                    cvt_rn_satfinite_e4m3x2_f32(0.0, e4m3),
                    bits,
                    "e4m3 {bits:#x}"
                );
            }
            match bits & 0x7f {
                0x7d.. => assert!(e5m2.is_nan()),
                0x7c => assert!(e5m2.is_infinite()),
                _ => {
                    assert_eq!(f64::from(e5m2), value(bits, 2, 15), "e5m2 {bits:#x}");
                    assert_eq!(
                        cvt_rn_satfinite_e5m2x2_f32(0.0, e5m2),
                        bits,
                        "e5m2 {bits:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn midpoints_go_to_even_and_excess_saturates() {
        for low in 0..0x7eu32 {
            let middle = ((value(low, 3, 7) + value(low + 1, 3, 7)) / 2.0) as f32;
            assert_eq!(
                cvt_rn_satfinite_e4m3x2_f32(0.0, middle),
                low + (low & 1),
                "above {low:#x}"
            );
            assert_eq!(cvt_rn_satfinite_e4m3x2_f32(0.0, middle.next_down()), low);
            assert_eq!(
                cvt_rn_satfinite_e4m3x2_f32(-middle.next_up(), 0.0),
                ((low + 1) | 0x80) << 8
            );
        }
        for low in 0..0x7bu32 {
            let middle = ((value(low, 2, 15) + value(low + 1, 2, 15)) / 2.0) as f32;
            assert_eq!(
                cvt_rn_satfinite_e5m2x2_f32(0.0, middle),
                low + (low & 1),
                "above {low:#x}"
            );
            assert_eq!(cvt_rn_satfinite_e5m2x2_f32(0.0, middle.next_up()), low + 1);
        }
        assert_eq!(cvt_rn_satfinite_e4m3x2_f32(1e9, f32::NEG_INFINITY), 0x7efe);
        assert_eq!(cvt_rn_satfinite_e5m2x2_f32(1e9, f32::NEG_INFINITY), 0x7bfb);
        assert_eq!(cvt_rn_satfinite_e4m3x2_f32(f32::NAN, 465.0), 0x7f7e);
    }
}
