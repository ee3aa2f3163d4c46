//! Votes, shuffles, matches and reductions of a warp.

use half::f16;

use super::data::Random;
use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = shuffles();
    cases.extend([predicate(), redux(), vote(), all_alike()]);
    cases
}

/// What `sh_` makes of the values of a warp.
fn shuffle<T: Lane>(x: &[T], k: i32) -> Vec<T> {
    let lanes = 0..32usize;
    let mut want: Vec<T> = Vec::new();
    // By index, taken modulo the width.
    want.extend(lanes.clone().map(|_| x[k as usize % 32]));
    want.extend(lanes.clone().map(|t| x[if t >= 3 { t - 3 } else { t }]));
    // Down by k within halves: a lane whose source is beyond its half keeps its value.
    want.extend(lanes.clone().map(|t| {
        let end = t / 16 * 16 + 15;
        x[if t + k as usize <= end {
            t + k as usize
        } else {
            t
        }]
    }));
    want.extend(lanes.clone().map(|t| x[t ^ 1]));
    // By index within groups of four.
    want.extend(lanes.map(|t| x[t / 4 * 4 + (t ^ 5) % 4]));
    want
}

fn shuffles() -> Vec<Case> {
    fn case<T: Lane>(suffix: &str, x: &[T]) -> Case {
        case_of(suffix, x, &shuffle(x, 5))
    }
    fn case_of<T: Lane>(suffix: &str, x: &[T], want: &[T]) -> Case {
        Case::new("warp_shfl", format!("sh_{suffix}"))
            .shape(1, 32)
            .input(x)
            .output(want, Bound::Equal)
            .scalar(5)
    }
    let mut random = Random::new(311);
    let bits: Vec<u64> = (0..32).map(|_| random.bits()).collect();
    let floats: Vec<f64> = (0..32).map(|_| random.between(-100.0, 100.0)).collect();
    let narrow: Vec<f32> = floats.iter().map(|&x| x as f32).collect();
    let halves: Vec<f16> = floats.iter().map(|&x| f16::from_f64(x)).collect();
    let signed: Vec<i64> = bits.iter().map(|&x| x as i64).collect();
    let words: Vec<u32> = bits.iter().map(|&x| x as u32).collect();
    let ints: Vec<i32> = bits.iter().map(|&x| x as i32).collect();
    // A pair of halves is moved as one word.
    let pairs: Vec<u32> = bits.iter().map(|&x| x as u32 & 0x3bff_3bff).collect();
    vec![
        case("i32", &ints),
        case("u32", &words),
        case("f32", &narrow),
        case("f64", &floats),
        case("i64", &signed),
        case("u64", &bits),
        case("f16", &halves),
        case("h2", &pairs),
    ]
}

/// The predicate tells whether the source is inside the warp; outside, the own value comes back.
fn predicate() -> Case {
    let want: Vec<i32> = (0..32)
        .map(|t| if t + 4 < 32 { t + 4 + 1 } else { t })
        .collect();
    Case::new("warp_shfl", "pred")
        .shape(1, 32)
        .output(&want, Bound::Equal)
}

fn redux() -> Case {
    let mut random = Random::new(312);
    let x: Vec<i32> = (0..64).map(|_| random.bits() as i32).collect();
    let u: Vec<u32> = (0..64).map(|_| random.bits() as u32 | 0x10).collect();
    let want: Vec<i32> = x
        .chunks(32)
        .zip(u.chunks(32))
        .flat_map(|(x, u)| {
            let sum = x.iter().fold(0i32, |a, &b| a.wrapping_add(b));
            let (low, high) = (
                x.iter().min().expect("not empty"),
                x.iter().max().expect("not empty"),
            );
            let total = u.iter().fold(0u32, |a, &b| a.wrapping_add(b));
            let (least, most) = (
                u.iter().min().expect("not empty"),
                u.iter().max().expect("not empty"),
            );
            let bits = u.iter().fold((u32::MAX, 0, 0), |(and, or, xor), &b| {
                (and & b, or | b, xor ^ b)
            });
            let all = [sum, *low, *high]
                .map(|x| x as u32)
                .into_iter()
                .chain([total, *least, *most, bits.0, bits.1, bits.2])
                .fold(0u32, u32::wrapping_add);
            vec![all as i32; 32]
        })
        .collect();
    Case::new("warp_redux", "rdx")
        .shape(1, 64)
        .input(&x)
        .input(&u)
        .output(&want, Bound::Equal)
}

/// What `vote` makes of the values of two warps; words that it leaves out stay.
fn votes(x: &[i32; 64]) -> (Vec<u32>, Vec<u32>) {
    let before = vec![0xa5a5_a5a5u32; 564];
    let mut o = before.clone();
    for (warp, values) in x.chunks(32).enumerate() {
        let mask = |f: &dyn Fn(i32) -> bool| -> u32 {
            values
                .iter()
                .enumerate()
                .map(|(lane, &v)| u32::from(f(v)) << lane)
                .fold(0, |a, b| a | b)
        };
        let above = mask(&|v| v > 3);
        let alike = values.iter().all(|&v| v == values[0]);
        let all_alike = if alike { u32::MAX } else { 0 };
        for (lane, &v) in values.iter().enumerate() {
            let t = 32 * warp + lane;
            let (all, any) = (u32::from(above == u32::MAX), u32::from(above != 0));
            o[t] = (all + 2 * any).wrapping_add(above).wrapping_add(u32::MAX);
            o[t + 64] = mask(&|other| other == v);
            o[t + 128] = all_alike;
            o[t + 192] = u32::from(alike);
            o[t + 256] = mask(&|other| other == v);
            o[t + 320] = all_alike.wrapping_add(u32::from(alike));
        }
    }
    // These overlap the words before: their places are written later.
    for (warp, values) in x.chunks(32).enumerate() {
        let any_below = u32::from(values.iter().any(|&v| v <= 3));
        for lane in 0..32 {
            let t = 32 * warp + lane;
            o[t + 400] = any_below;
            if lane % 2 == 1 {
                o[t + 500] = values
                    .iter()
                    .enumerate()
                    .filter(|(other, v)| other % 2 == 1 && **v == 2)
                    .fold(0, |a, (other, _)| a | 1 << other);
            }
        }
    }
    (before, o)
}

fn vote() -> Case {
    let mut random = Random::new(313);
    let x: [i32; 64] = std::array::from_fn(|_| random.below(6) as i32);
    let (before, want) = votes(&x);
    Case::new("warp_vote", "vote")
        .shape(1, 64)
        .input(&x)
        .update(&before, &want, Bound::Equal)
}

/// One warp of equal values, one of nearly equal ones.
fn all_alike() -> Case {
    let mut x = [7i32; 64];
    x[40] = 2;
    let (before, want) = votes(&x);
    Case::new("warp_vote", "vote")
        .variant("alike")
        .shape(1, 64)
        .input(&x)
        .update(&before, &want, Bound::Equal)
}
