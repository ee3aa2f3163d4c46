//! `app_sort_search`.

use crate::corpus::data::Random;
use crate::corpus::{Bound, Case};

const SOURCE: &str = "app_sort_search";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![bitonic_shared()];
    cases.extend(bitonic_step());
    cases.extend([search(), compact(), levenshtein(), hash()]);
    cases
}

/// Keys that all differ, so that the values' order is determined.
fn bitonic_shared() -> Case {
    let mut random = Random::new(151);
    let mut keys: Vec<i32> = (0..1024i64)
        .map(|i| (i * 4_000_037 - 2_000_000_000) as i32)
        .collect();
    for i in (1..keys.len()).rev() {
        keys.swap(i, random.below(i as u64 + 1) as usize);
    }
    let values: Vec<f32> = keys.iter().map(|&key| key as f32 * 0.5).collect();
    let mut pairs: Vec<(i32, f32)> = keys.iter().copied().zip(values.iter().copied()).collect();
    // The kernel's last merge runs the other way for odd threads' bit 256, which no thread has: ascending.
    for block in pairs.chunks_mut(512) {
        block.sort_by_key(|pair| pair.0);
    }
    let (sorted, carried): (Vec<i32>, Vec<f32>) = pairs.into_iter().unzip();
    Case::new(SOURCE, "bitonic_s")
        .shape(2, 256)
        .update(&keys, &sorted, Bound::Equal)
        .update(&values, &carried, Bound::Equal)
}

/// One step orders each pair whose indices differ in bit `j`: upwards where bit `k` is clear.
fn bitonic_step() -> Vec<Case> {
    let mut random = Random::new(152);
    let x: Vec<f64> = (0..256).map(|_| random.between(-1.0, 1.0)).collect();
    [(1, 2), (4, 16), (128, 256)]
        .into_iter()
        .map(|(j, k)| {
            let want: Vec<f64> = (0..x.len())
                .map(|i| {
                    let (low, high) = (x[i & !j], x[i | j]);
                    let upwards = (i & !j) & k == 0;
                    let first = i & j == 0;
                    if upwards == first {
                        low.min(high)
                    } else {
                        low.max(high)
                    }
                })
                .collect();
            Case::new(SOURCE, "bitonic_g")
                .variant(format!("{j} of {k}"))
                .shape(4, 64)
                .update(&x, &want, Bound::Equal)
                .scalar(j as i32)
                .scalar(k as i32)
        })
        .collect()
}

fn search() -> Case {
    let mut random = Random::new(153);
    let mut sorted: Vec<i64> = (0..100)
        .map(|_| random.bits() as i64 >> random.below(60))
        .collect();
    sorted.extend([i64::MIN, i64::MAX, 0, 0, 0]);
    sorted.sort_unstable();
    let mut queries: Vec<i64> = (0..200)
        .map(|_| random.bits() as i64 >> random.below(60))
        .collect();
    queries.extend_from_slice(&sorted);
    let want: Vec<i32> = queries
        .iter()
        .map(|q| sorted.partition_point(|x| x < q) as i32)
        .collect();
    Case::new(SOURCE, "bsearch")
        .shape(2, 64)
        .input(&sorted)
        .scalar(sorted.len() as i32)
        .input(&queries)
        .output(&want, Bound::Equal)
        .scalar(queries.len() as i32)
}

/// Warps come in any order, so the positive numbers are there in any order.
fn compact() -> Case {
    let mut random = Random::new(154);
    let n = 1000usize;
    let x: Vec<f32> = (0..n).map(|_| random.between(-1.0, 1.0) as f32).collect();
    let positive: Vec<f32> = x.iter().copied().filter(|&x| x > 0.0).collect();
    let count = positive.len() as i32;
    let mut want = positive;
    want.resize(n, -9.0);
    Case::new(SOURCE, "compact")
        .shape(8, 128)
        .input(&x)
        .update(&vec![-9.0f32; n], &want, Bound::AnyOrder)
        .update(&[0i32], &[count], Bound::Equal)
        .scalar(n as i32)
}

/// The edit distance by its definition: the least number of edits, found from prefixes.
fn distance(a: &[u8], b: &[u8]) -> i32 {
    let mut table = vec![vec![0i32; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                (i + j) as i32
            } else {
                let replace = table[i - 1][j - 1] + i32::from(a[i - 1] != b[j - 1]);
                replace.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
            };
        }
    }
    table[a.len()][b.len()]
}

fn levenshtein() -> Case {
    let (a, b) = (
        b"the quick brown fox jumps over the lazy dog",
        b"a quack in brawn box dumps other hazy frogs",
    );
    assert_eq!(distance(b"kitten", b"sitting"), 3);
    Case::new(SOURCE, "lev")
        .shape(1, 32)
        .input(a)
        .input(b)
        .scalar(a.len() as i32)
        .scalar(b.len() as i32)
        .output(&[distance(a, b); 32], Bound::Equal)
}

/// A table with open addressing: every key is in it once, reachable from its place without a gap, with one of its indices.
fn hash() -> Case {
    let mut random = Random::new(155);
    let n = 200;
    let mask = 255u32;
    let keys: Vec<u32> = (0..n).map(|_| random.below(150) as u32 * 7919).collect();
    let place = move |key: u32| {
        // The finaliser of MurmurHash3.
        let mut h = key;
        h ^= h >> 16;
        h = h.wrapping_mul(0x85eb_ca6b);
        h ^= h >> 13;
        h = h.wrapping_mul(0xc2b2_ae35);
        (h ^ (h >> 16)) & mask
    };
    let known = keys.clone();
    Case::new(SOURCE, "hins")
        .shape(4, 64)
        .judged(
            &vec![u64::MAX; 256],
            "holds each key once, within reach",
            move |table: &[u64]| {
                let mut distinct = known.clone();
                distinct.sort_unstable();
                distinct.dedup();
                let used = table.iter().filter(|&&entry| entry != u64::MAX).count();
                if used != distinct.len() {
                    return Err(format!("{used} entries for {} keys", distinct.len()));
                }
                for &key in &distinct {
                    let mut at = place(key);
                    loop {
                        let entry = table[at as usize];
                        if entry == u64::MAX {
                            return Err(format!("the key {key} is not within reach"));
                        }
                        if (entry >> 32) as u32 == key {
                            let index = entry as u32 as usize;
                            if known.get(index) != Some(&key) {
                                return Err(format!("the key {key} has the index {index}"));
                            }
                            break;
                        }
                        at = (at + 1) & mask;
                    }
                }
                Ok(())
            },
        )
        .input(&keys)
        .scalar(n)
        .scalar(mask)
}
