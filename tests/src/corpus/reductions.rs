//! Reductions in every style: trees in shared memory, shuffles, cooperative groups, the last block.

use super::data::Random;
use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = shared();
    cases.extend(unrolled());
    cases.extend(shuffled());
    cases.extend(structures());
    cases.extend([last_block(1), last_block(7), groups()]);
    cases
}

/// Whole numbers, so that sums in single precision are exact whatever their order.
fn whole(seed: u64, n: usize, most: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| random.below(2 * most) as f32 - most as f32)
        .collect()
}

/// `red_shared`: each block reduces a contiguous part, of which the last is not full.
fn reduce<T: Lane, U: Lane>(kernel: &str, x: &[T], f: impl Fn(&[T]) -> U) -> Case {
    let rounds = 3;
    let want: Vec<U> = x.chunks(512 * rounds).map(f).collect();
    Case::new("red_shared", kernel)
        .shape(want.len() as u32, 512)
        .output(&want, Bound::Equal)
        .input(x)
        .scalar(rounds as u32)
        .scalar(x.len() as u32)
}

fn shared() -> Vec<Case> {
    let n = 512 * 3 * 2 + 700;
    let mut random = Random::new(211);
    let floats = whole(212, n, 100);
    let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x) * 0.25).collect();
    let bytes: Vec<u8> = (0..n).map(|_| random.bits() as u8).collect();
    let shorts: Vec<i16> = (0..n).map(|_| random.bits() as i16).collect();
    let words: Vec<u16> = (0..n).map(|_| random.bits() as u16).collect();
    let small: Vec<i8> = (0..n).map(|_| random.bits() as i8).collect();
    let factors: Vec<i32> = (0..n).map(|_| random.bits() as i32 | 1).collect();
    let mut mostly: Vec<f32> = vec![0.0; n];
    mostly[2000] = -1.0;
    let mut nonzero: Vec<i64> = vec![1 << 40; n];
    nonzero[100] = 0;
    vec![
        reduce("sum_f32", &floats, |x| x.iter().sum::<f32>()),
        reduce("sum_f64", &doubles, |x| x.iter().sum::<f64>()),
        reduce("sum_u8_u64", &bytes, |x| {
            x.iter().map(|&x| u64::from(x)).sum::<u64>()
        }),
        reduce("min_i16", &shorts, |x| *x.iter().min().expect("not empty")),
        reduce("max_u16", &words, |x| *x.iter().max().expect("not empty")),
        reduce("max_i8", &small, |x| *x.iter().max().expect("not empty")),
        reduce("prod_i32", &factors, |x| {
            x.iter().fold(1i32, |a, &b| a.wrapping_mul(b))
        }),
        reduce("max_f64", &doubles, |x| {
            x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        }),
        reduce("any_f32", &mostly, |x| {
            i32::from(x.iter().any(|&x| x != 0.0))
        }),
        reduce("all_i64", &nonzero, |x| {
            i32::from(x.iter().all(|&x| x != 0))
        }),
        reduce("nrm2_f32", &floats, |x| {
            x.iter().map(|x| x * x).sum::<f32>()
        }),
    ]
}

/// `red_unrolled_volatile`: pairs of blocks' parts, strided over the grid.
fn unrolled() -> Vec<Case> {
    fn case<T: Lane>(
        kernel: &str,
        threads: usize,
        x: &[T],
        sum: impl Fn(&mut dyn Iterator<Item = T>) -> T,
    ) -> Case {
        let blocks = 3;
        let stride = 2 * threads;
        let want: Vec<T> = (0..blocks)
            .map(|block| {
                let mut parts = x
                    .chunks(stride)
                    .skip(block)
                    .step_by(blocks)
                    .flatten()
                    .copied();
                sum(&mut parts)
            })
            .collect();
        Case::new("red_unrolled_volatile", kernel)
            .shape(blocks as u32, threads as u32)
            .shared_bytes(((threads + 32) * size_of::<T>()) as u32)
            .input(x)
            .output(&want, Bound::Equal)
            .scalar(x.len() as u32)
    }
    let n = 5003;
    let floats = whole(221, n, 50);
    let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x) * 0.5).collect();
    let mut random = Random::new(222);
    let integers: Vec<i32> = (0..n).map(|_| random.bits() as i32).collect();
    let bytes: Vec<u8> = (0..n).map(|_| random.bits() as u8).collect();
    vec![
        case("_Z8reduce_kIfLj512EEvPKT_PS0_j", 512, &floats, |x| x.sum()),
        case("_Z8reduce_kIfLj128EEvPKT_PS0_j", 128, &floats, |x| x.sum()),
        case("_Z8reduce_kIdLj256EEvPKT_PS0_j", 256, &doubles, |x| x.sum()),
        case("_Z8reduce_kIiLj64EEvPKT_PS0_j", 64, &integers, |x| {
            x.fold(0, i32::wrapping_add)
        }),
        case("_Z8reduce_kIhLj256EEvPKT_PS0_j", 256, &bytes, |x| {
            x.fold(0, u8::wrapping_add)
        }),
    ]
}

/// `red_warp_shfl`: the sum of everything, by a block that has all its warps or only some.
fn shuffled() -> Vec<Case> {
    let n = 3001;
    let floats = whole(231, n, 50);
    let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x) * 0.5).collect();
    let mut random = Random::new(232);
    let integers: Vec<i32> = (0..n).map(|_| random.bits() as i32).collect();
    let words: Vec<u64> = (0..n).map(|_| random.bits()).collect();
    fn case<T: Lane>(suffix: &str, threads: u32, x: &[T], start: T, end: T) -> Case {
        Case::new("red_warp_shfl", format!("bsum_{suffix}"))
            .variant(format!("{threads} threads"))
            .shape(3, threads)
            .input(x)
            .update(&[start], &[end], Bound::Equal)
            .scalar(x.len() as i32)
    }
    [1024, 96]
        .into_iter()
        .flat_map(|threads| {
            [
                case(
                    "f32",
                    threads,
                    &floats,
                    2.0,
                    floats.iter().fold(2.0, |a, b| a + b),
                ),
                case(
                    "f64",
                    threads,
                    &doubles,
                    2.0,
                    doubles.iter().fold(2.0, |a, b| a + b),
                ),
                case(
                    "i32",
                    threads,
                    &integers,
                    2,
                    integers.iter().fold(2, |a, &b| a.wrapping_add(b)),
                ),
                case(
                    "u64",
                    threads,
                    &words,
                    2,
                    words.iter().fold(2, |a, &b| a.wrapping_add(b)),
                ),
            ]
        })
        .collect()
}

/// `red_dot_minmax`: several blocks that stride over the whole.
fn structures() -> Vec<Case> {
    let source = "red_dot_minmax";
    let (n, blocks) = (1500usize, 2usize);
    let (x, y) = (whole(241, n, 20), whole(242, n, 20));
    let (xd, yd): (Vec<f64>, Vec<f64>) = x
        .iter()
        .zip(&y)
        .map(|(&a, &b)| (f64::from(a) * 0.5, f64::from(b)))
        .unzip();
    // The elements of a block.
    let of = |block: usize| (0..n).filter(move |i| i / 256 % blocks == block);
    let dots: Vec<f64> = (0..blocks)
        .map(|b| of(b).map(|i| xd[i] * yd[i]).sum())
        .collect();
    let (cx, cy) = (whole(243, 2 * n, 20), whole(244, 2 * n, 20));
    let complex: Vec<f32> = (0..blocks)
        .flat_map(|b| {
            let (mut re, mut im) = (0.0f32, 0.0f32);
            for i in of(b) {
                let (a, b) = ((cx[2 * i], cx[2 * i + 1]), (cy[2 * i], cy[2 * i + 1]));
                re += a.0 * b.0 + a.1 * b.1;
                im += a.0 * b.1 - a.1 * b.0;
            }
            [re, im]
        })
        .collect();
    let extremes: Vec<f32> = (0..blocks)
        .flat_map(|b| {
            [
                of(b).map(|i| x[i]).fold(f32::INFINITY, f32::min),
                of(b).map(|i| x[i]).fold(f32::NEG_INFINITY, f32::max),
            ]
        })
        .collect();
    // The first of equal values. The result is a double, an int, and padding that nobody writes.
    let firsts: Vec<(f64, i32)> = (0..blocks)
        .map(|b| {
            let best = of(b).map(|i| xd[i]).fold(f64::NEG_INFINITY, f64::max);
            let index = of(b).find(|&i| xd[i] == best).expect("it is one of them");
            (best, index as i32)
        })
        .collect();
    let shape = |kernel: &str| Case::new(source, kernel).shape(blocks as u32, 256);
    vec![
        shape("dot_f64")
            .input(&xd)
            .input(&yd)
            .output(&dots, Bound::Equal)
            .scalar(n as u32),
        shape("cdot")
            .input(&cx)
            .input(&cy)
            .output(&complex, Bound::Equal)
            .scalar(n as u32),
        shape("mm")
            .input(&x)
            .output(&extremes, Bound::Equal)
            .scalar(n as u32),
        shape("am")
            .input(&xd)
            .judged(
                &vec![0u64; 2 * blocks],
                "has the first of the largest values",
                move |words: &[u64]| {
                    for (index, want) in firsts.iter().enumerate() {
                        let got = (
                            f64::from_bits(words[2 * index]),
                            words[2 * index + 1] as u32 as i32,
                        );
                        if got != *want {
                            return Err(format!("block {index} has {got:?}, want {want:?}"));
                        }
                    }
                    Ok(())
                },
            )
            .scalar(n as u32),
    ]
}

/// The block that comes last adds up what all others left.
fn last_block(blocks: u32) -> Case {
    let n = 4000;
    let x = whole(251, n, 50);
    let stride = 256 * blocks as usize;
    let parts: Vec<f32> = (0..blocks as usize)
        .map(|block| {
            (0..n)
                .filter(|i| i % stride / 256 == block)
                .map(|i| x[i])
                .sum()
        })
        .collect();
    let sum: f32 = x.iter().sum();
    Case::new("red_last_block", "onepass")
        .variant(format!("{blocks} blocks"))
        .shape(blocks, 256)
        .input(&x)
        .output(&parts, Bound::Equal)
        .output(&[sum], Bound::Equal)
        .scalar(n as i32)
        .global_update("done", &[0u32], &[0], Bound::Equal)
}

/// `red_cg_ext`: reductions, scans and a partition by label, in tiles of a warp.
fn groups() -> Case {
    let mut random = Random::new(261);
    let x: Vec<i32> = (0..64).map(|_| random.below(1000) as i32 - 500).collect();
    let (mut o, mut f) = (Vec::new(), Vec::new());
    for warp in x.chunks(32) {
        let sum: i32 = warp.iter().sum();
        let top = *warp.iter().max().expect("not empty");
        for (lane, value) in warp.iter().enumerate() {
            let before = top * lane as i32;
            let alike = warp.iter().filter(|other| *other & 3 == value & 3).count() as i32;
            o.push(sum + top + before + alike);
            f.push(sum as f32 * (lane + 1) as f32);
        }
    }
    Case::new("red_cg_ext", "cg_reduce")
        .shape(1, 64)
        .input(&x)
        .output(&o, Bound::Equal)
        .output(&f, Bound::Equal)
}
