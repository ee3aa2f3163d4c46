//! `app_random_lcg`.

use crate::corpus::data::Random;
use crate::corpus::{Bound, Case};

const SOURCE: &str = "app_random_lcg";

pub(super) fn cases() -> Vec<Case> {
    vec![xorshift128_plus(), pcg32(), mixed()]
}

/// xorshift128+ with shifts 23, 17, 26 (Vigna, "Further scramblings of Marsaglia's xorshift generators", 2017), its sums
/// scaled to [0, 1).
fn xorshift128_plus() -> Case {
    let mut random = Random::new(131);
    let (threads, n) = (32usize, 20usize);
    let states: Vec<u64> = (0..2 * threads).map(|_| random.bits()).collect();
    let mut end = states.clone();
    let mut want = vec![0.0f64; threads * n];
    for thread in 0..threads {
        let [mut s0, mut s1] = [states[2 * thread], states[2 * thread + 1]];
        for i in 0..n {
            let (x, y) = (s0, s1);
            s0 = y;
            let t = x ^ (x << 23);
            s1 = t ^ y ^ (t >> 17) ^ (y >> 26);
            want[i * threads + thread] = s1.wrapping_add(y) as f64 * 5.421_010_862_427_522e-20;
        }
        (end[2 * thread], end[2 * thread + 1]) = (s0, s1);
    }
    Case::new(SOURCE, "xs")
        .shape(1, threads as u32)
        .update(&states, &end, Bound::Equal)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
}

/// PCG-XSH-RR with increment 105 (O'Neill, "PCG: A family of simple fast space-efficient statistically good algorithms
/// for random number generation", 2014, section 6.3.1).
fn pcg32() -> Case {
    let mut random = Random::new(132);
    let states: Vec<u64> = (0..32).map(|_| random.bits()).collect();
    let end: Vec<u64> = states
        .iter()
        .map(|s| s.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(105))
        .collect();
    let want: Vec<u32> = states
        .iter()
        .map(|s| ((((s >> 18) ^ s) >> 27) as u32).rotate_right((s >> 59) as u32))
        .collect();
    Case::new(SOURCE, "pcg")
        .shape(1, 32)
        .update(&states, &end, Bound::Equal)
        .output(&want, Bound::Equal)
}

/// Four rounds of MD5's steps (RFC 1321, section 3.4, the first of three of its functions), then Box-Muller.
fn mixed() -> Case {
    let (threads, seed) = (40u32, 0x0bad_cafeu32);
    let step =
        |a: u32, f: u32, b: u32, turn: u32| a.wrapping_add(f).rotate_left(turn).wrapping_add(b);
    // The macro of the source has no brackets around its function, so that the constant is added to the last term of it.
    let want: Vec<f32> = (0..threads)
        .flat_map(|thread| {
            let (mut a, mut b, mut c, mut d) = (thread, seed, 0x1234_5678u32, 0x9abc_def0u32);
            for _ in 0..4 {
                a = step(a, (b & c) | (!b & d).wrapping_add(0xd76a_a478), b, 7);
                d = step(d, (a & b) | (!a & c).wrapping_add(0xe8c7_b756), a, 12);
                c = step(c, (d & a) | (!d & b).wrapping_add(0x2420_70db), d, 17);
                b = step(b, (c ^ d ^ a).wrapping_add(0xc1bd_ceee), c, 22);
            }
            // A word becomes a float by rounding first.
            let u = f64::from(a as f32 * (1.0 / 4_294_967_296.0));
            let v = f64::from(b as f32 * (1.0 / 4_294_967_296.0));
            let radius = (-2.0 * (u + 1e-20).ln()).sqrt();
            let angle = f64::from(std::f32::consts::TAU * v as f32);
            [(radius * angle.cos()) as f32, (radius * angle.sin()) as f32]
        })
        .collect();
    Case::new(SOURCE, "md5g")
        .shape(1, threads)
        .output(&want, Bound::Absolute(5e-6))
        .scalar(seed)
        .scalar(threads as i32)
}
