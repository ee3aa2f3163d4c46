//! `cvt` against the exact reference.

use super::exact::{BRAIN, DOUBLE, Exact, HALF, Layout, Operand, SINGLE};
use super::samples::Random;
use crate::numeric::function;
use crate::numeric::soft::Rounding;

/// Calls a listed function of one operand with raw bits.
fn call(name: &str, operand: u64) -> u64 {
    use crate::numeric::Class::{F32, F64, I32, I64};
    let entry = function(name).unwrap_or_else(|| panic!("no function {name}"));
    let address = entry.address();
    macro_rules! go {
        ($from:ty, $operand:expr, $to:ty) => {{
            // SAFETY: the entry's classes, matched around this, are those of the function at its address.
            let function: extern "C" fn($from) -> $to = unsafe { std::mem::transmute(address) };
            function($operand)
        }};
    }
    let single = f32::from_bits(operand as u32);
    let double = f64::from_bits(operand);
    match (entry.params, entry.result) {
        ([F32], I32) => u64::from(go!(f32, single, u32)),
        ([F32], I64) => go!(f32, single, u64),
        ([F32], F32) => u64::from(go!(f32, single, f32).to_bits()),
        ([F64], I32) => u64::from(go!(f64, double, u32)),
        ([F64], I64) => go!(f64, double, u64),
        ([F64], F32) => u64::from(go!(f64, double, f32).to_bits()),
        ([F64], F64) => go!(f64, double, f64).to_bits(),
        ([I32], I32) => u64::from(go!(u32, operand as u32, u32)),
        ([I32], F32) => u64::from(go!(u32, operand as u32, f32).to_bits()),
        ([I64], I32) => u64::from(go!(u64, operand, u32)),
        ([I64], F32) => u64::from(go!(u64, operand, f32).to_bits()),
        ([I64], F64) => go!(u64, operand, f64).to_bits(),
        other => panic!("{name} has the classes {other:?}"),
    }
}

const MODES: [(&str, Rounding); 4] = [
    ("rn", Rounding::Nearest),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

/// Integer nearest to a value in the mode's sense, clamped to the range: found by bisection over all candidates.
fn integer(value: &Exact, mode: Rounding, least: i128, greatest: i128) -> i128 {
    let order = |candidate: i128, halves: i128| {
        // candidate + halves/2 against the value, signs and all.
        let candidate = Exact {
            exponent: -1,
            ..Exact::from_integer(2 * candidate + halves)
        };
        let below_zero = |x: &Exact| x.negative && !x.magnitude.is_zero();
        match (below_zero(&candidate), below_zero(value)) {
            (false, false) => candidate.compare(value),
            (true, true) => candidate.compare(value).reverse(),
            (true, false) => std::cmp::Ordering::Less,
            (false, true) => std::cmp::Ordering::Greater,
        }
    };
    // Greatest integer not above the value, within two of the range.
    let (mut low, mut high) = (least - 2, greatest + 2);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if order(middle, 0).is_le() {
            low = middle;
        } else {
            high = middle;
        }
    }
    let inexact = order(low, 0).is_ne();
    let up = match mode {
        Rounding::Down => false,
        Rounding::Up => inexact,
        Rounding::Zero => inexact && value.negative,
        Rounding::Nearest => match order(low, 1) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => low & 1 == 1,
            std::cmp::Ordering::Greater => false,
        },
    };
    (low + i128::from(up)).clamp(least, greatest)
}

#[test]
fn float_to_integer() {
    let mut random = Random(11);
    for (layout, source) in [(SINGLE, "f32"), (DOUBLE, "f64")] {
        for (width, signed) in [
            (8, true),
            (8, false),
            (16, true),
            (16, false),
            (32, true),
            (32, false),
            (64, true),
            (64, false),
        ] {
            let (least, greatest) = if signed {
                (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
            } else {
                (0, (1i128 << width) - 1)
            };
            for (rounding, mode) in MODES {
                let name = format!(
                    "cvt_{rounding}i_{}{width}_{source}",
                    if signed { 's' } else { 'u' }
                );
                let narrow = |value: i128| {
                    if width == 64 {
                        value as u64
                    } else {
                        u64::from(value as u32)
                    }
                };
                for case in 0..600 {
                    let bits = if case % 2 == 0 {
                        random.float(layout)
                    } else {
                        // Around the integers that matter: halves, quarters and neighbours of small numbers and of the limits.
                        let base = [least, greatest, 0, random.next() as i128 & 0xff]
                            [random.below(4) as usize];
                        let x = base as f64 + random.below(17) as f64 / 4.0 - 2.0;
                        let bits = if source == "f32" {
                            u64::from((x as f32).to_bits())
                        } else {
                            x.to_bits()
                        };
                        bits.wrapping_add(random.below(3)).wrapping_sub(1)
                            & (layout.sign() | layout.nan())
                    };
                    let want = match layout.operand(bits) {
                        Operand::Nan if source == "f64" || width == 64 => {
                            let top = 1i128 << (width - 1);
                            narrow(if signed { -top } else { top })
                        }
                        Operand::Nan => 0,
                        Operand::Infinite(negative) => {
                            narrow(if negative { least } else { greatest })
                        }
                        Operand::Finite(value) => narrow(integer(&value, mode, least, greatest)),
                    };
                    let got = call(&name, bits);
                    assert_eq!(got, want, "{name}({bits:#x}) = {got:#x}, not {want:#x}");
                }
            }
        }
    }
}

#[test]
fn integer_to_float() {
    let mut random = Random(12);
    for (layout, target) in [
        (SINGLE, "f32"),
        (DOUBLE, "f64"),
        (HALF, "f16"),
        (BRAIN, "bf16"),
    ] {
        for (source, width) in [("s64", 64), ("u64", 64), ("s32", 32), ("u32", 32)] {
            for (rounding, mode) in MODES {
                let name = format!("cvt_{rounding}_{target}_{source}");
                // 32-bit sources are exact in f64, native to nearest in f32, and extended for halves.
                if width == 32 && (target != "f32" || rounding == "rn") {
                    continue;
                }
                for _ in 0..600 {
                    let shift = random.below(64);
                    let mut bits = (random.next() >> shift) & !0 << random.below(64 - shift);
                    bits = if random.below(2) == 0 {
                        bits.wrapping_neg()
                    } else {
                        bits.wrapping_sub(1)
                    };
                    if width == 32 {
                        bits &= 0xffff_ffff;
                    }
                    let value = match source {
                        "s64" => i128::from(bits.cast_signed()),
                        "s32" => i128::from(bits as u32 as i32),
                        _ => i128::from(bits),
                    };
                    let want = if value == 0 {
                        0
                    } else {
                        layout.round_exact(&Exact::from_integer(value), mode)
                    };
                    let got = call(&name, bits);
                    assert_eq!(got, want, "{name}({bits:#x}) = {got:#x}, not {want:#x}");
                }
            }
        }
    }
}

fn convert(from: Layout, to: Layout, bits: u64, mode: Rounding) -> u64 {
    let sign = if bits & from.sign() != 0 {
        to.sign()
    } else {
        0
    };
    match from.operand(bits) {
        Operand::Nan => to.nan(),
        Operand::Infinite(_) => to.infinity() | sign,
        Operand::Finite(value) => to.round_exact(&value, mode),
    }
}

#[test]
fn float_to_narrower_float() {
    let mut random = Random(13);
    for (from, source) in [(DOUBLE, "f64"), (SINGLE, "f32")] {
        for (to, target) in [(SINGLE, "f32"), (HALF, "f16"), (BRAIN, "bf16")] {
            if source == target {
                continue;
            }
            for (rounding, mode) in MODES {
                let name = format!("cvt_{rounding}_{target}_{source}");
                for _ in 0..4000 {
                    // Either anything or a neighbour of a value or midpoint of the target.
                    let bits = if random.below(2) == 0 {
                        random.float(from)
                    } else {
                        let near = convert(to, from, random.float(to), Rounding::Nearest);
                        let half = 1 << (from.fraction_bits - to.fraction_bits - 1);
                        (near + half * random.below(2) + random.below(3)).saturating_sub(1)
                    };
                    let (got, want) = (call(&name, bits), convert(from, to, bits, mode));
                    assert_eq!(got, want, "{name}({bits:#x}) = {got:#x}, not {want:#x}");
                }
            }
        }
    }
}

#[test]
fn halves_widen_exactly_and_round_to_integrals() {
    for (layout, kind) in [(HALF, "f16"), (BRAIN, "bf16")] {
        let widen = format!("cvt_f32_{kind}");
        for bits in 0..0x1_0000 {
            let (got, want) = (
                call(&widen, bits),
                convert(layout, SINGLE, bits, Rounding::Nearest),
            );
            assert_eq!(got, want, "{widen}({bits:#x})");
        }
        for (rounding, mode) in MODES {
            let name = format!("cvt_{rounding}i_{kind}_{kind}");
            for bits in 0..0x1_0000 {
                let want = match layout.operand(bits) {
                    Operand::Nan => layout.nan(),
                    Operand::Infinite(_) => bits,
                    // Larger values are integers; the clamp would spoil them.
                    Operand::Finite(value) if value.exponent >= 0 => bits,
                    Operand::Finite(value) => {
                        let whole = integer(&value, mode, -(1 << 40), 1 << 40);
                        layout.round_exact(&Exact::from_integer(whole), Rounding::Nearest)
                            & layout.nan()
                            | bits & layout.sign()
                    }
                };
                let got = call(&name, bits);
                assert_eq!(got, want, "{name}({bits:#x}) = {got:#x}, not {want:#x}");
            }
        }
    }
}

#[test]
fn floats_round_to_integrals() {
    let mut random = Random(14);
    for (layout, kind) in [(SINGLE, "f32"), (DOUBLE, "f64")] {
        for (rounding, mode) in MODES {
            let name = format!("cvt_{rounding}i_{kind}_{kind}");
            for case in 0..4000 {
                let bits = if case % 2 == 0 {
                    random.float(layout)
                } else {
                    let x = (random.below(64) as f64 - 32.0) / 4.0;
                    if kind == "f32" {
                        u64::from((x as f32).to_bits())
                    } else {
                        x.to_bits()
                    }
                };
                let want = match layout.operand(bits) {
                    Operand::Nan => layout.nan(),
                    Operand::Infinite(_) => bits,
                    Operand::Finite(value) if value.exponent >= 0 => bits,
                    Operand::Finite(value) => {
                        let whole = integer(&value, mode, -(1 << 60), 1 << 60);
                        layout.round_exact(&Exact::from_integer(whole), Rounding::Nearest)
                            & layout.nan()
                            | bits & layout.sign()
                    }
                };
                let got = call(&name, bits);
                assert_eq!(got, want, "{name}({bits:#x}) = {got:#x}, not {want:#x}");
            }
        }
    }
}

#[test]
fn nan_to_integer_as_seen_on_hardware() {
    let nan32 = u64::from(f32::NAN.to_bits());
    let nan64 = f64::NAN.to_bits();
    assert_eq!(call("cvt_rzi_s32_f32", nan32), 0);
    assert_eq!(call("cvt_rzi_u32_f32", nan32), 0);
    assert_eq!(call("cvt_rzi_s64_f32", nan32), 1 << 63);
    assert_eq!(call("cvt_rzi_u64_f32", nan32), 1 << 63);
    assert_eq!(call("cvt_rzi_s32_f64", nan64), 0x8000_0000);
    assert_eq!(call("cvt_rzi_u32_f64", nan64), 0x8000_0000);
    assert_eq!(call("cvt_rzi_s64_f64", nan64), 1 << 63);
    assert_eq!(call("cvt_rzi_u64_f64", nan64), 1 << 63);
    assert_eq!(
        call("cvt_rzi_s32_f32", u64::from(3e38f32.to_bits())),
        0x7fff_ffff
    );
    assert_eq!(call("cvt_rzi_u32_f32", u64::from((-3e38f32).to_bits())), 0);
}

#[test]
fn pack_with_saturation() {
    use crate::numeric::convert::cvt_pack_sat_b32 as pack;
    let minus = |x: i32| x as u32;
    assert_eq!(pack(300, minus(-5), 0x1234_5678, 8), 0x5678_ff00);
    assert_eq!(pack(300, minus(-500), 0x1234_5678, 8 | 0x100), 0x5678_7f80);
    assert_eq!(pack(70000, minus(-70000), 7, 16), 0xffff_0000);
    assert_eq!(pack(70000, minus(-70000), 7, 16 | 0x100), 0x7fff_8000);
    assert_eq!(pack(99, minus(-1), 0x0102_0304, 4), 0x0203_04f0);
    assert_eq!(pack(99, minus(-99), 0x0102_0304, 2 | 0x100), 0x1020_3046);
}
