//! `lang_asm.cu`: inline PTX, by the definitions of the PTX ISA.

use super::half_rounding::nearest;
use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xa5);
    let mut cases = vec![
        // Its result goes nowhere.
        Case::new("lang_asm", "asm1")
            .shape(2, 64)
            .input(&[9i32])
            .input(&[0.0f32])
            .input(&[0u64]),
    ];
    cases.extend(selections(&mut inputs));
    cases.extend(barriers(&mut inputs));
    cases.extend(packing(&mut inputs));
    for value in [0, 1, -1, 1 << 31] {
        let want = if value == 0 { 5 } else { 6 };
        cases.push(
            Case::new("lang_asm", "asm5")
                .variant(format!("{value}"))
                .update(&[value, 0], &[value, want], Bound::Equal),
        );
    }
    cases
}

/// `mul.hi`, `mad24` and `slct`. What the float instructions leave has the size of `x[2]`: `copysign` takes the sign of its
/// first operand and the size of its second. So 1 is added where that is infinite.
fn selections(inputs: &mut Inputs) -> Vec<Case> {
    let edges = [0, 1, -1, i32::MIN, i32::MAX, 0x0080_0000];
    let (a, b) = inputs.pairs(&edges, 44, |r| r.bits() as i32);
    let floats = [1.5f32, -3.0, 0.0, f32::NAN, f32::INFINITY, -1e-40];
    a.into_iter()
        .zip(b)
        .enumerate()
        .map(|(index, (a, b))| {
            let high = ((i64::from(a) * i64::from(b)) >> 32) as i32;
            let low_24 = |x: i32| i64::from(x << 8 >> 8);
            let sum = ((low_24(high) * low_24(a)) as i32).wrapping_add(b);
            let r = if sum >= 0 { a } else { b };
            let x = [0, 1, 2].map(|k| floats[(index + k) % floats.len()]);
            let sum = r.wrapping_add(i32::from(x[2].is_infinite()));
            Case::new("lang_asm", "asm2")
                .variant(format!("{a} {b}"))
                .shape(1, 64)
                .update(&[-5, a, b, 0], &[-5, a, b, sum], Bound::Equal)
                .input(&x)
                .input(&[0u64])
        })
        .collect()
}

/// Named barriers and a barrier that counts, of 192 threads: three pairs of warps, two times 96.
fn barriers(inputs: &mut Inputs) -> Vec<Case> {
    [0, 1, -1]
        .into_iter()
        .map(|flag| {
            // Such that every thread adds 0, whatever the others made of o[0]: the sum of byte differences stays below
            // 2^24, and `prmt.f4e` picks its high byte and the low bytes of o[1].
            let rest = [0x7f00_0000, 3, 10];
            let first = inputs.bits() as i32;
            let o = [first, rest[0], rest[1], rest[2], -1, flag];
            let count = if flag == 0 { 0 } else { 192 };
            Case::new("lang_asm", "asm3")
                .variant(format!("{flag}"))
                .shape(1, 192)
                .judged(
                    &o,
                    "counted threads; o[0] wraps below 8",
                    move |o: &[i32]| {
                        if !(0..8).contains(&o[0])
                            || o[1..4] != rest
                            || o[4] != count
                            || o[5] != flag
                        {
                            return Err(format!("{o:?}, want {count} in o[4]"));
                        }
                        Ok(())
                    },
                )
                .input(&[0.0f32])
                .update(
                    &[0x0123_4567_89ab_cdefu64],
                    &[0x0123_4567_89ab_cdef],
                    Bound::Equal,
                )
        })
        .collect()
}

/// Conversions that saturate and pack.
fn packing(inputs: &mut Inputs) -> Vec<Case> {
    let edges = [
        0.0f32,
        2.5,
        3.5,
        254.5,
        255.5,
        -1.0,
        1e9,
        f32::INFINITY,
        0.1,
        65520.0,
        f32::MAX,
        1e-7,
    ];
    let ints = [0, 255, 256, -1, i32::MIN, i32::MAX, 77];
    (0..edges.len() + 8)
        .map(|index| {
            let x = edges
                .get(index)
                .copied()
                .unwrap_or_else(|| (inputs.unit() * 300.0 - 20.0) as f32);
            let v = [
                x,
                (inputs.unit() * 100.0) as f32,
                -0.0,
                f32::from_bits(inputs.bits() >> 2),
            ];
            let [first, second] = [0, 3].map(|k| ints[(index + k) % ints.len()]);
            let byte = x.round_ties_even().clamp(0.0, 255.0) as u32;
            let halves = u32::from(nearest(f64::from(v[0])).to_bits()) << 16
                | u32::from(nearest(f64::from(v[1])).to_bits());
            let double_high = (f64::from(x).to_bits() >> 32) as u32;
            let clamped = |i: i32| i.clamp(0, 255) as u32;
            let packed = double_high << 16 | clamped(first) << 8 | clamped(second);
            let o = [-1, first, second, -1];
            let want = [
                byte as i32,
                first,
                second,
                halves.wrapping_add(packed) as i32,
            ];
            let reversed = [v[3], v[2], v[1], v[0]];
            Case::new("lang_asm", "asm4")
                .variant(format!("{x} {first} {second}"))
                .shape(1, 64)
                .update(
                    &[v, [0.0; 4]].concat(),
                    &[v, reversed].concat(),
                    Bound::Equal,
                )
                .update(&o, &want, Bound::Equal)
        })
        .collect()
}
