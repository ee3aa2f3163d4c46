//! Scans: Blelloch's, of warps, segmented, and with a decoupled look-back.

use super::data::Random;
use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = blelloch();
    cases.extend([look_back(256 * 20 + 77), look_back(100)]);
    cases.extend([block_scan(), segmented(), hillis()]);
    cases
}

fn integers(seed: u64, n: usize) -> Vec<i32> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.below(2000) as i32 - 1000).collect()
}

/// Sums of what is before each element, and of all.
fn exclusive<T: Lane>(part: &[T], zero: T, add: impl Fn(T, T) -> T) -> (Vec<T>, T) {
    let mut sum = zero;
    let before = part
        .iter()
        .map(|&x| {
            let before = sum;
            sum = add(sum, x);
            before
        })
        .collect();
    (before, sum)
}

fn blelloch() -> Vec<Case> {
    let source = "scan_blelloch";
    let n = 256usize;
    let x = integers(301, 3 * n);
    let (mut want, mut sums) = (Vec::new(), Vec::new());
    for part in x.chunks(n) {
        let (before, sum) = exclusive(part, 0, |a, b| a + b);
        want.extend(before);
        sums.push(sum);
    }
    // Halves of whole numbers: exact in any order.
    let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x) * 0.5).collect();
    let (mut want_f64, mut sums_f64) = (Vec::new(), Vec::new());
    for part in doubles.chunks(n) {
        let (before, sum) = exclusive(part, 0.0, |a, b| a + b);
        want_f64.extend(before);
        sums_f64.push(sum);
    }
    let offsets = [1000, -2000, 3000];
    let added: Vec<i32> = x
        .iter()
        .enumerate()
        .map(|(i, x)| x + offsets[i / n])
        .collect();
    vec![
        Case::new(source, "scan_i32")
            .shape(3, 128)
            .shared_bytes(4 * n as u32)
            .update(&x, &want, Bound::Equal)
            .output(&sums, Bound::Equal)
            .scalar(n as i32),
        Case::new(source, "scan_f64")
            .shape(3, 128)
            .shared_bytes(8 * n as u32)
            .update(&doubles, &want_f64, Bound::Equal)
            .output(&sums_f64, Bound::Equal)
            .scalar(n as i32),
        Case::new(source, "uniform_add")
            .shape(3, n as u32)
            .update(&x, &added, Bound::Equal)
            .input(&offsets)
            .scalar(n as i32),
    ]
}

fn inclusive(x: &[i32]) -> Vec<i32> {
    let mut sum = 0i32;
    x.iter()
        .map(|&x| {
            sum = sum.wrapping_add(x);
            sum
        })
        .collect()
}

/// Tiles take their numbers in turn and wait for those before them.
fn look_back(n: usize) -> Case {
    let x = integers(302, n);
    let tiles = n.div_ceil(256);
    let want = inclusive(&x);
    // The status words end as "the sum up to here is known", with the sum; a tile's last element may lie past the end.
    let states: Vec<u64> = (0..tiles)
        .map(|tile| {
            let last = want[(256 * (tile + 1)).min(n) - 1];
            2 << 32 | u64::from(last as u32)
        })
        .collect();
    Case::new("scan_decoupled", "lookback")
        .variant(format!("{n} elements"))
        .shape(tiles as u32, 256)
        .input(&x)
        .output(&want, Bound::Equal)
        .update(&vec![0u64; tiles], &states, Bound::Equal)
        .scalar(n as i32)
        .global_update("ticket", &[0u32], &[tiles as u32], Bound::Equal)
}

/// Each block on its own. All warps of a block are full, as the combination reads a word for each of 32.
fn block_scan() -> Case {
    let n = 1500;
    let x = integers(303, n);
    let want: Vec<i32> = x.chunks(1024).flat_map(inclusive).collect();
    Case::new("scan_warp", "bscan")
        .shape(2, 1024)
        .input(&x)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
}

fn segmented() -> Case {
    let n = 600usize;
    let x: Vec<f32> = integers(304, n).iter().map(|&x| x as f32).collect();
    let mut random = Random::new(305);
    let heads: Vec<u8> = (0..n).map(|_| u8::from(random.below(20) == 0)).collect();
    let mut sum = 0.0f32;
    let want: Vec<f32> = (0..n)
        .map(|i| {
            // A block begins anew.
            sum = if heads[i] == 1 || i % 256 == 0 {
                x[i]
            } else {
                sum + x[i]
            };
            sum
        })
        .collect();
    Case::new("scan_warp", "segscan")
        .shape(3, 256)
        .input(&x)
        .input(&heads)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
}

fn hillis() -> Case {
    let x: Vec<f64> = integers(306, 128)
        .iter()
        .map(|&x| f64::from(x) * 0.25)
        .collect();
    let mut sum = 0.0;
    let want: Vec<f64> = x
        .iter()
        .map(|x| {
            sum += x;
            sum
        })
        .collect();
    Case::new("scan_warp", "hillis")
        .shape(1, 128)
        .input(&x)
        .output(&want, Bound::Equal)
}
