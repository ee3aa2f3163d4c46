//! Kernels of `libcu_atomic`, `libcu_std` and `cub_radix_sort`: CUDA's C++ core libraries.

use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x1bc);
    let mut cases = atomics();
    cases.extend(standard(&mut inputs));
    cases.extend(radix_sort(&mut inputs));
    cases
}

fn atomics() -> Vec<Case> {
    let mut cases = Vec::new();
    for b in [-5i32, 0, 2, 3, 100] {
        cases.push(
            Case::new("libcu_atomic", "at")
                .variant(format!("{b}"))
                .shape(1, 1)
                .update(&[41i32], &[42], Bound::Equal)
                .update(&[b], &[b.max(3) + 1], Bound::Equal)
                .update(&[-0.5f64], &[0.5], Bound::Equal),
        );
    }
    // A load and a store are not one step: with many threads the second counts at least 1 and at most all of them.
    cases.push(
        Case::new("libcu_atomic", "at")
            .variant("many")
            .shape(1, 256)
            .update(&[-256i32], &[0], Bound::Equal)
            .judged(&[0i32], "between 4 and 3 + threads", |b: &[i32]| {
                if (4..=3 + 256).contains(&b[0]) {
                    Ok(())
                } else {
                    Err(format!("it is {}", b[0]))
                }
            })
            .update(&[1e6f64], &[1e6 + 256.0], Bound::Equal),
    );
    cases.push(
        Case::new("libcu_atomic", "ba")
            .shape(1, 64)
            .output(&[1i32; 64], Bound::Equal),
    );
    cases
}

type Complex = (f64, f64);

/// `a * a / (1 + 2i) + exp(a)`
fn formula((re, im): Complex) -> Complex {
    let square = (re * re - im * im, 2.0 * re * im);
    let quotient = (
        (square.0 + 2.0 * square.1) / 5.0,
        (square.1 - 2.0 * square.0) / 5.0,
    );
    let size = re.exp();
    (quotient.0 + size * im.cos(), quotient.1 + size * im.sin())
}

fn standard(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    for (o1, o2) in [
        (0u32, 5i32),
        (1, 0),
        (0x00ff_0000, -3),
        (u32::MAX, i32::MAX),
    ] {
        let a: Complex = (inputs.unit() * 4.0 - 2.0, inputs.unit() * 4.0 - 2.0);
        let a = (f64::from(a.0 as f32), f64::from(a.1 as f32));
        let want = formula(a);
        let first = 1 + 3 + o1.leading_zeros() as i32;
        let last = if o2 > 0 { o2 } else { 7 };
        cases.push(
            Case::new("libcu_std", "st")
                .variant(format!("{o1:#x} {o2}"))
                .shape(1, 1)
                .update(
                    &[a.0 as f32, a.1 as f32],
                    &[want.0 as f32, want.1 as f32],
                    // Sums and products of numbers of at most 8, each within a few of its 2^-24.
                    Bound::Absolute(8e-6),
                )
                .output(&[f64::MAX], Bound::Equal)
                .update(
                    &[-9, o1 as i32, o2, -9],
                    &[first, 1, o2, last],
                    Bound::Equal,
                ),
        );
    }
    let z = inputs.many(2 * 96, |r| (r.unit() * 4.0 - 2.0) as f32);
    let want: Vec<f32> = z
        .chunks_exact(2)
        .flat_map(|a| {
            let (re, im) = formula((f64::from(a[0]), f64::from(a[1])));
            [re as f32, im as f32]
        })
        .collect();
    cases.push(
        Case::new("libcu_std", "st")
            .variant("many")
            .shape(1, 96)
            .update(&z, &want, Bound::Absolute(8e-6))
            .output(&[f64::MAX], Bound::Equal)
            // Every thread writes o[0], from an array of 1 to 4; o[1] is 1 before and after.
            .judged(
                &[0i32, 1, 9, 0],
                "one thread's, and what all agree on",
                |o: &[i32]| {
                    if (1 + 34..=4 + 34).contains(&o[0]) && o[1..] == [1, 9, 9] {
                        Ok(())
                    } else {
                        Err(format!("{o:?}"))
                    }
                },
            ),
    );
    cases
}

/// A stable sort by key.
fn radix_sort(inputs: &mut Inputs) -> Vec<Case> {
    type Draw = fn(&mut Inputs, usize) -> u32;
    let draws: [(&str, Draw); 5] = [
        ("any", |r, _| r.bits()),
        ("few", |r, _| r.bits() % 7),
        ("high bits", |r, _| r.bits() & 0xf000_0000),
        ("falling", |_, index| u32::MAX - index as u32),
        ("equal", |_, _| 5),
    ];
    draws
        .into_iter()
        .map(|(variant, draw)| {
            let keys: Vec<u32> = (0..512).map(|index| draw(inputs, index)).collect();
            let values: Vec<f32> = (0..512).map(|index| index as f32 * 0.5 - 100.0).collect();
            let mut pairs: Vec<(u32, f32)> =
                keys.iter().copied().zip(values.iter().copied()).collect();
            pairs.sort_by_key(|pair| pair.0);
            let (sorted, moved): (Vec<u32>, Vec<f32>) = pairs.into_iter().unzip();
            Case::new("cub_radix_sort", "rs")
                .variant(variant)
                .shape(1, 128)
                .update(&keys, &sorted, Bound::Equal)
                .update(&values, &moved, Bound::Equal)
        })
        .collect()
}
