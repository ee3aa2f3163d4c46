//! `int_intrin.cu`: the integer intrinsics, in wider arithmetic.

use super::inputs::Inputs;
use super::{Bound, Case, Lane};

/// Elements, for 320 threads, so that the kernels' loops take more than one turn.
const COUNT: usize = 1000;

const EDGES_32: [i32; 12] = [
    0,
    1,
    -1,
    2,
    i32::MIN,
    i32::MAX,
    i32::MIN + 1,
    0x0080_0000,
    0x007f_ffff,
    -0x0080_0000,
    0x00ff_ffff,
    0x7f80_8081,
];

const EDGES_64: [i64; 10] = [
    0,
    1,
    -1,
    i64::MIN,
    i64::MAX,
    0xffff_ffff,
    0x1_0000_0000,
    -0x1_0000_0000,
    0x7fff_ffff_0000_0001,
    -0x1234_5678_9abc_def0,
];

fn binary<T: Lane>(function: &str, (x, y): &(Vec<T>, Vec<T>), f: impl Fn(T, T) -> T) -> Case {
    let want: Vec<T> = x.iter().zip(y).map(|(&a, &b)| f(a, b)).collect();
    Case::new("int_intrin", format!("k_{function}"))
        .shape(5, 64)
        .input(x)
        .input(y)
        .output(&want, Bound::Equal)
        .scalar(want.len() as u32)
}

/// The low 24 bits as a signed number.
fn low_24(x: i32) -> i64 {
    let low = i64::from(x) & 0xff_ffff;
    if low >= 0x80_0000 {
        low - 0x100_0000
    } else {
        low
    }
}

/// Byte or half-word `index` of a word, as a signed and as an unsigned number.
fn part(word: u32, bits: u32, index: u32) -> (i64, i64) {
    let unsigned = i64::from(word >> (bits * index)) & ((1 << bits) - 1);
    let signed = if unsigned >> (bits - 1) == 1 {
        unsigned - (1 << bits)
    } else {
        unsigned
    };
    (signed, unsigned)
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x1a7);
    let signed = inputs.pairs(&EDGES_32, COUNT, |r| r.bits() as i32);
    let unsigned = inputs.pairs(&EDGES_32.map(|x| x as u32), COUNT, Inputs::bits);
    let signed_64 = inputs.pairs(&EDGES_64, COUNT, |r| r.word() as i64);
    let unsigned_64 = inputs.pairs(&EDGES_64.map(|x| x as u64), COUNT, Inputs::word);
    let wide = |x: i32| i64::from(x);
    let wide_u = |x: u32| u64::from(x);
    let mut cases = vec![
        binary("__mulhi", &signed, |x, y| {
            ((wide(x) * wide(y)) >> 32) as i32
        }),
        binary("__umulhi", &unsigned, |x, y| {
            ((wide_u(x) * wide_u(y)) >> 32) as u32
        }),
        binary("__mul64hi", &signed_64, |x, y| {
            ((i128::from(x) * i128::from(y)) >> 64) as i64
        }),
        binary("__umul64hi", &unsigned_64, |x, y| {
            ((u128::from(x) * u128::from(y)) >> 64) as u64
        }),
        binary("__mul24", &signed, |x, y| (low_24(x) * low_24(y)) as i32),
        binary("__umul24", &unsigned, |x, y| {
            (wide_u(x & 0xff_ffff) * wide_u(y & 0xff_ffff)) as u32
        }),
        binary("__hadd", &signed, |x, y| {
            (wide(x) + wide(y)).div_euclid(2) as i32
        }),
        binary("__rhadd", &signed, |x, y| {
            (wide(x) + wide(y) + 1).div_euclid(2) as i32
        }),
        binary("__uhadd", &unsigned, |x, y| {
            ((wide_u(x) + wide_u(y)) / 2) as u32
        }),
        binary("__urhadd", &unsigned, |x, y| {
            (wide_u(x) + wide_u(y)).div_ceil(2) as u32
        }),
    ];
    cases.extend([
        sums_of_differences(&mut inputs, &signed),
        dot_products(&mut inputs, &signed),
        wide_products(&mut inputs, &signed),
        short_products(&mut inputs),
        absolute(&mut inputs),
        products_128(&mut inputs),
        quotients_128(&mut inputs),
    ]);
    cases.extend(carries());
    cases
}

fn sums_of_differences(inputs: &mut Inputs, (x, y): &(Vec<i32>, Vec<i32>)) -> Case {
    let u = inputs.many(COUNT + 1, Inputs::bits);
    let want: Vec<u32> = (0..COUNT)
        .map(|i| {
            let signed = i64::from(x[i]).abs_diff(i64::from(y[i])) + u64::from(u[i]);
            (signed + u64::from(u[i].abs_diff(u[i + 1])) + 5) as u32
        })
        .collect();
    Case::new("int_intrin", "sad")
        .shape(5, 64)
        .input(x)
        .input(y)
        .input(&u)
        .output(&want, Bound::Equal)
        .scalar(COUNT as u32)
}

fn dot_products(inputs: &mut Inputs, (x, y): &(Vec<i32>, Vec<i32>)) -> Case {
    let u = inputs.many(COUNT + 1, Inputs::bits);
    let shorts = inputs.many(2 * COUNT, |r| r.bits() as i16);
    let z = inputs.many(COUNT, |r| r.bits() as i32);
    let want: Vec<i32> = (0..COUNT)
        .map(|i| {
            let (a, b) = (x[i] as u32, y[i] as u32);
            let bytes: i64 = (0..4).map(|k| part(a, 8, k).0 * part(b, 8, k).0).sum();
            let squares: i64 = (0..4).map(|k| part(u[i], 8, k).1.pow(2)).sum();
            // Both halves of the first with the low, or the high, two bytes of the second.
            let half = |a: u32, b: u32, first: u32| -> (i64, i64) {
                (0..2).fold((0, 0), |sum, k| {
                    let (s, t) = (part(a, 16, k), part(b, 8, first + k));
                    (sum.0 + s.0 * t.0, sum.1 + s.1 * t.1)
                })
            };
            let sum = bytes + 3 + squares + 1 + half(a, b, 0).0 + i64::from(z[i]);
            (sum + half(a, b, 2).0 + half(u[i], u[i + 1], 0).1 + 2) as i32
        })
        .collect();
    Case::new("int_intrin", "dp")
        .shape(5, 64)
        .input(x)
        .input(y)
        .input(&u)
        .input(&shorts)
        .update(&z, &want, Bound::Equal)
        .scalar(COUNT as u32)
}

fn wide_products(inputs: &mut Inputs, (x, _): &(Vec<i32>, Vec<i32>)) -> Case {
    let mut x = x.clone();
    x.push(-7);
    let u = inputs.many(COUNT + 1, Inputs::bits);
    // Small enough that no sum overflows.
    let z = inputs.many(COUNT, |r| r.between(-(1 << 61), 1 << 61));
    let w = inputs.many(COUNT, Inputs::word);
    let (signed, unsigned): (Vec<i64>, Vec<u64>) = (0..COUNT)
        .map(|i| {
            let product = i128::from(x[i]) * i128::from(x[i + 1]);
            let sum = product + i128::from(z[i]) + i128::from(x[i]) * 12345;
            let unsigned = u128::from(u[i]) * u128::from(u[i + 1]) + u128::from(w[i]);
            (
                i64::try_from(sum).expect("the sum fits"),
                (unsigned % (1 << 64)) as u64,
            )
        })
        .unzip();
    Case::new("int_intrin", "wide")
        .shape(5, 64)
        .input(&x)
        .input(&u)
        .update(&z, &signed, Bound::Equal)
        .update(&w, &unsigned, Bound::Equal)
        .scalar(COUNT as u32)
}

fn short_products(inputs: &mut Inputs) -> Case {
    let mut x = inputs.many(COUNT + 1, |r| r.bits() as i16);
    x[..6].copy_from_slice(&[i16::MIN, i16::MIN, -1, i16::MAX, i16::MIN, 0]);
    let mut u = inputs.many(COUNT + 1, |r| r.bits() as u16);
    u[..4].copy_from_slice(&[0, u16::MAX, u16::MAX, 1]);
    let signed: Vec<i32> = x
        .windows(2)
        .map(|w| i32::from(w[0]) * i32::from(w[1]))
        .collect();
    let unsigned: Vec<u32> = u
        .windows(2)
        .map(|w| u32::from(w[0]) * u32::from(w[1]))
        .collect();
    Case::new("int_intrin", "w16")
        .shape(5, 64)
        .input(&x)
        .input(&u)
        .output(&signed, Bound::Equal)
        .output(&unsigned, Bound::Equal)
        .scalar(COUNT as u32)
}

fn absolute(inputs: &mut Inputs) -> Case {
    // C++ leaves the absolute value of the least integer open.
    let mut x = inputs.many(COUNT, |r| (r.bits() as i32).max(i32::MIN + 8));
    x[..8].copy_from_slice(&[0, -1, 1, -5, -6, 7, 8, i32::MIN + 8]);
    let mut l = inputs.many(COUNT, |r| (r.word() as i64).max(i64::MIN + 16));
    l[..5].copy_from_slice(&[0, -1, 9, 10, i64::MIN + 16]);
    let z: Vec<i32> = x
        .iter()
        .map(|&v| (v.unsigned_abs() as i32).wrapping_add(v.clamp(-5, 7)))
        .collect();
    let w: Vec<i64> = l
        .iter()
        .map(|&v| (i128::from(v).abs() + i128::from(v.min(9))) as i64)
        .collect();
    Case::new("int_intrin", "absx")
        .shape(5, 64)
        .input(&x)
        .input(&l)
        .output(&z, Bound::Equal)
        .output(&w, Bound::Equal)
        .scalar(COUNT as u32)
}

fn products_128(inputs: &mut Inputs) -> Case {
    let mut a = inputs.many(COUNT + 2, Inputs::word);
    a[..8].copy_from_slice(&[u64::MAX, u64::MAX, u64::MAX, 0, 0, u64::MAX, 1, 1 << 63]);
    let want: Vec<u64> = a
        .windows(3)
        .map(|w| {
            let [x, y, z] = [w[0], w[1], w[2]].map(u128::from);
            let p = x * y + z;
            let mut sum = ((p >> 64) as u64) ^ (p as u64);
            sum = sum.wrapping_add((p >> 37) as u64);
            sum.wrapping_add(u64::from(p.wrapping_sub(x << 70) > x))
        })
        .collect();
    Case::new("int_intrin", "i128")
        .shape(5, 64)
        .input(&a)
        .output(&want, Bound::Equal)
        .scalar(COUNT as u32)
}

fn quotients_128(inputs: &mut Inputs) -> Case {
    // Of every size, and never zero, which C++ forbids as a divisor.
    let mut a = inputs.many(COUNT + 3, |r| {
        let size = r.between(0, 63);
        (r.word() >> size).max(1)
    });
    a[..8].copy_from_slice(&[u64::MAX, u64::MAX, 1, u64::MAX, 1 << 32, 3, 1 << 63, 10]);
    let want: Vec<u64> = a
        .windows(4)
        .map(|w| {
            let [x, y, z, v] = [w[0], w[1], w[2], w[3]].map(u128::from);
            let p = x * y;
            ((p / z) as u64).wrapping_add((p % v) as u64)
        })
        .collect();
    Case::new("int_intrin", "i128div")
        .shape(5, 64)
        .input(&a)
        .output(&want, Bound::Equal)
        .scalar(COUNT as u32)
}

/// Chains of `add.cc`, `sub.cc` and `mad.cc` are sums of the two 64-bit numbers that the words make.
fn carries() -> Vec<Case> {
    let mut inputs = Inputs::new(0xca);
    let edges: [u64; 8] = [
        0,
        1,
        u64::MAX,
        0xffff_ffff,
        0x1_0000_0000,
        0xffff_ffff_0000_0000,
        0x8000_0000_0000_0000,
        0x7fff_ffff_ffff_ffff,
    ];
    let (a, b) = inputs.pairs(&edges, 70, Inputs::word);
    a.into_iter()
        .zip(b)
        .map(|(a, b)| {
            let low = |x: u128| x as u32;
            let words = |x: u64| [x as u32, (x >> 32) as u32];
            let sum = u128::from(a) + u128::from(b);
            let difference = (u128::from(a)).wrapping_sub(u128::from(b));
            let [a0, a1] = words(a).map(u128::from);
            let [b0, b1] = words(b).map(u128::from);
            let first = u128::from(low(a0 * b0)) + a1;
            let second = ((a1 * b1) >> 32) + a0 + (first >> 32);
            let third = u128::from(low(a0 * a1)) + (second >> 32);
            let folded = |x: u128| low(x).wrapping_add(low(x >> 32)).wrapping_add(low(x >> 64));
            let products = low(first)
                .wrapping_add(low(second))
                .wrapping_add(low(third));
            let want = [
                low(sum),
                low(sum >> 32),
                low(sum >> 64),
                folded(difference),
                products,
            ];
            Case::new("int_intrin", "carry")
                .variant(format!("{a:#x} {b:#x}"))
                .shape(2, 64)
                .output(&want, Bound::Equal)
                .input(&words(a))
                .input(&words(b))
        })
        .collect()
}
