//! Atomic operations, fences, and what waits for them.

use super::data::Random;
use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = histograms();
    cases.extend(classic::<i32>("i32", -5, &[7, -2, 100, 3, 0, 1, -77, 12]));
    cases.extend(classic::<u32>(
        "u32",
        5,
        &[7, 4_000_000_000, 100, 3, 0, 0xff00_ff0f, 77, 12],
    ));
    cases.extend(classic::<u64>(
        "u64",
        1 << 40,
        &[7, u64::MAX, 100, 3, 0, 0xff00_ff0f_0000_0001, 77, 12],
    ));
    cases.extend([
        long_long(),
        limits(),
        generic(true),
        generic(false),
        builtins(),
    ]);
    cases.extend([vectors(), wide()]);
    cases.extend([fences(), spin(), message()]);
    cases
}

fn histograms() -> Vec<Case> {
    let mut random = Random::new(201);
    let n = 2000usize;
    let bytes: Vec<u8> = (0..n)
        .map(|_| (random.bits() & random.bits()) as u8)
        .collect();
    let before: Vec<u32> = (0..256).collect();
    let mut want = before.clone();
    for &byte in &bytes {
        want[usize::from(byte)] += 1;
    }
    let quads: Vec<u8> = (0..4 * n)
        .map(|_| (random.bits() & random.bits()) as u8)
        .collect();
    let mut four = vec![0i32; 1024];
    for quad in quads.chunks(4) {
        for (channel, &byte) in quad.iter().enumerate() {
            four[256 * channel + usize::from(byte)] += 1;
        }
    }
    let keys: Vec<i32> = (0..512).map(|_| random.below(10) as i32).collect();
    let mut by_key = vec![0i32; 10];
    for &key in &keys {
        by_key[key as usize] += 1;
    }
    vec![
        Case::new("atomics_histogram", "hist256")
            .shape(3, 128)
            .input(&bytes)
            .update(&before, &want, Bound::Equal)
            .scalar(n as u32),
        Case::new("atomics_histogram", "hist_uchar4")
            .shape(3, 128)
            .input(&quads)
            .update(&vec![0i32; 1024], &four, Bound::Equal)
            .scalar(n as u32),
        Case::new("atomics_histogram", "hist_match")
            .shape(4, 128)
            .input(&keys)
            .update(&[0i32; 10], &by_key, Bound::Equal),
    ]
}

/// An integer type that atomics know.
trait Word: Lane + Ord + Send + Sync {
    fn add(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn of(value: i64) -> Self;
}

macro_rules! words {
    ($($name:ident)+) => {
        $(impl Word for $name {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            fn of(value: i64) -> Self {
                value as Self
            }
        })+
    };
}

words!(i32 u32 u64);

/// `g_`, `r_`, `s_` and `sc_` of one type. One thread where results are used, many where they add up.
fn classic<T: Word>(suffix: &str, v: T, a: &[T; 8]) -> Vec<Case> {
    let source = "atomics_int";
    let one = T::of(1);
    let after = [
        a[0].add(v),
        v,
        if a[2] == v { v.add(one) } else { a[2] },
        a[3].min(v),
        a[4].max(v),
        a[5].and(v),
        a[6].or(v),
        a[7].xor(v),
    ];
    let mut cases = vec![
        Case::new(source, format!("g_{suffix}"))
            .shape(1, 1)
            .update(a, &after, Bound::Equal)
            .scalar(v)
            .output(a, Bound::Equal),
    ];
    // 96 threads of three blocks: sums count them, an even number of exclusive ors cancels.
    let sum = (0..96).fold(a[0], |sum, _| sum.add(v));
    let many = [
        sum, a[1], a[2], after[3], after[4], after[5], after[6], a[7],
    ];
    cases.push(
        Case::new(source, format!("r_{suffix}"))
            .shape(3, 32)
            .update(a, &many, Bound::Equal)
            .scalar(v),
    );
    // A compare and exchange that finds its value, alone.
    let mut matching = *a;
    matching[2] = v;
    let mut exchanged = after;
    exchanged[2] = v.add(one);
    cases.push(
        Case::new(source, format!("g_{suffix}"))
            .variant("equal")
            .shape(1, 1)
            .update(&matching, &exchanged, Bound::Equal)
            .scalar(v)
            .output(&matching, Bound::Equal),
    );

    let mut random = Random::new(202);
    let x: Vec<T> = (0..64).map(|_| T::of(random.bits() as i64 >> 33)).collect();
    let zero = T::of(0);
    let fold = |start: T, f: fn(T, T) -> T| x.iter().fold(start, |a, &b| f(a, b));
    let mut want = [T::of(-91); 10];
    want[0] = fold(zero, T::add);
    want[3] = fold(zero, T::min);
    want[4] = fold(zero, T::max);
    want[5] = zero;
    want[6] = fold(zero, T::or);
    want[7] = fold(zero, T::xor);
    let values = x.clone();
    cases.push(
        Case::new(source, format!("s_{suffix}"))
            .shape(1, 64)
            .input(&x)
            .judged(
                &[T::of(-91); 10],
                "holds the folds of all values, and one of them where one had to win",
                move |o: &[T]| {
                    for index in [0, 3, 4, 5, 6, 7] {
                        if !o[index].same(want[index]) {
                            return Err(format!(
                                "word {index} is {:?}, want {:?}",
                                o[index], want[index]
                            ));
                        }
                    }
                    // The exchange leaves one of the values; the compare and exchange the first that was not zero.
                    for index in [1, 2] {
                        if !values.contains(&o[index]) {
                            return Err(format!(
                                "word {index} is {:?}, which nobody wrote",
                                o[index]
                            ));
                        }
                    }
                    if o[8] != T::of(-91) {
                        return Err("word 8 was written".to_owned());
                    }
                    Ok(())
                },
            ),
    );

    // Seven operations on one word, by one thread.
    let mut word = a[0];
    let mut old = Vec::new();
    let mut step = |new: T| {
        old.push(word);
        word = new;
        word
    };
    let mut now = step(a[0].add(v));
    now = step(now);
    let _ = now;
    now = step(v);
    now = step(now.max(v));
    now = step(now.add(v));
    now = step(now);
    let end = step(now.xor(v));
    cases.push(
        Case::new(source, format!("sc_{suffix}"))
            .shape(1, 1)
            .update(&[a[0]], &[end], Bound::Equal)
            .scalar(v)
            .output(&old, Bound::Equal),
    );
    cases
}

fn long_long() -> Case {
    let (a, v) = (5i64, -7i64);
    Case::new("atomics_int", "i64")
        .shape(1, 1)
        .update(&[a], &[-7 - 2 + 2 - 7], Bound::Equal)
        .scalar(v)
        .output(&[a, -7, -7], Bound::Equal)
}

/// `inc` wraps to 0 at the limit, `dec` to the limit at 0 and above the limit (PTX ISA, `atom`).
fn limits() -> Case {
    let lim = 9u32;
    let a = [lim, 0, 5, 77, 8, 10];
    let after = [0, lim, 5u32.wrapping_sub(lim), 77, 9, lim];
    Case::new("atomics_int", "incdec")
        .shape(1, 1)
        .update(&a, &after, Bound::Equal)
        .update(&[4i32], &[4 - 9], Bound::Equal)
        .scalar(lim)
        .output(&[a[0], a[1], a[2], 4], Bound::Equal)
}

/// An address that is global or shared at run time.
fn generic(global: bool) -> Case {
    let (before, after) = if global {
        ([10u32, 20], [10 + 3 * 64, 0])
    } else {
        ([10u32, 20], [10, 3 * 64])
    };
    Case::new("atomics_int", "generic")
        .variant(if global { "global" } else { "shared" })
        .shape(1, 64)
        .update(&before, &after, Bound::Equal)
        .scalar(i32::from(global))
}

/// One thread: 7 is loaded and stored, then 8, still 8, and 8 is not 4.
fn builtins() -> Case {
    Case::new("atomics_nvbuiltin", "nva")
        .shape(1, 1)
        .update(&[7i32, 0], &[8, 7], Bound::Equal)
        .update(&[0x100u64], &[0x105], Bound::Equal)
        .update(&[2.5f32], &[3.5], Bound::Equal)
        .update(&[-1i32; 5], &[7, 8, 0x100, 2, 0], Bound::Equal)
}

/// `atomicAdd` of two and four floats.
fn vectors() -> Case {
    Case::new("atomics_sm90", "vecadd")
        .shape(1, 1)
        .update(&[0.5f32, 0.25], &[1.5, 2.25], Bound::Equal)
        .update(
            &[1.0f32, 1.0, 1.0, 1.0],
            &[2.0, 3.0, 4.0, 5.0],
            Bound::Equal,
        )
        .output(&[0.5f32, 0.25], Bound::Equal)
}

/// 128 bits: a compare and exchange that finds its value, and an exchange.
fn wide() -> Case {
    let (c, v) = ([11u64, 22], [33u64, 44]);
    Case::new("atomics_sm90", "cas128")
        .shape(1, 1)
        .update(
            &[c[0], c[1], 55, 66],
            &[v[0], v[1], v[0], v[1]],
            Bound::Equal,
        )
        .bytes(bytemuck::cast_slice(&c))
        .bytes(bytemuck::cast_slice(&v))
        .output(&[c[0], c[1], 55, 66], Bound::Equal)
}

fn fences() -> Case {
    Case::new("fences", "fences")
        .shape(1, 1)
        .output(&[1i32, 2, 3, 4], Bound::Equal)
}

/// A lock that every thread of several blocks takes once.
fn spin() -> Case {
    Case::new("fences", "spin")
        .shape(4, 64)
        .update(&[0i32], &[256], Bound::Equal)
        .global_update("lock_", &[0i32], &[0], Bound::Equal)
}

/// The second block waits for what the first says.
fn message() -> Case {
    Case::new("fences", "msg")
        .shape(2, 1)
        .update(&[0i32], &[42], Bound::Equal)
        .global_update("flag", &[0i32], &[1], Bound::Equal)
        .global_update("data", &[0i32], &[42], Bound::Equal)
}
