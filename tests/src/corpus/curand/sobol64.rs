//! Sobol' sequences of 64 bits in Gray-code order (Antonov and Saleev, 1979), plain and with a scramble.

use super::super::inputs::Inputs;
use super::super::{Bound, Case};
use super::distribution::{middle, normal_quantile, poisson_by_inversion, uniform};

/// Element `index`: the direction vectors that the bits of its Gray code choose, added without carry.
fn element(directions: &[u64], scramble: u64, index: u64) -> u64 {
    let gray = index ^ (index >> 1);
    (0..64)
        .filter(|k| gray >> k & 1 == 1)
        .fold(scramble, |x, k| x ^ directions[k])
}

/// 53 bits as a double of `(0, 1)`.
fn double(bits: u64) -> f64 {
    (bits >> 11) as f64 * 2f64.powi(-53) + 2f64.powi(-54)
}

/// What one thread computes.
struct Thread {
    o: f64,
    u: u64,
    d: f64,
    log_normal: f64,
}

/// `None` if a comparison is too close.
fn thread(directions: &[u64], scramble: u64, index: u64) -> Option<Thread> {
    let plain = |k: u64| element(directions, 0, index + k);
    let scrambled = |k: u64| element(directions, scramble, index + k);
    let single = |bits: u64| f64::from(uniform((bits >> 32) as u32));
    let normal = |bits: u64| normal_quantile(middle((bits >> 32) as u32));
    let normal_double = |bits: u64| normal_quantile(double(bits));
    // The number that is inverted lies a quarter of a step above its interval's start.
    let inverted = (scrambled(2) >> 11) as f64 * 2f64.powi(-53) + 2f64.powi(-55);
    let log_normal = (1.0 + normal_double(plain(4))).exp();
    Some(Thread {
        o: single(plain(0)) + normal(plain(1)) + single(scrambled(0)),
        u: plain(2)
            .wrapping_add(scrambled(1))
            .wrapping_add(u64::from(poisson_by_inversion(4.0, inverted)?)),
        d: double(plain(3)) + normal_double(scrambled(3)) + log_normal,
        log_normal,
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x50b0);
    let mut cases = Vec::new();
    while cases.len() < 3 {
        let threads = 64;
        // Of the first dimension the direction vectors are single bits, from the highest: reflected binary fractions in
        // Gray-code order. Others are any.
        let mut directions: Vec<Vec<u64>> = vec![(0..64).map(|k| 1 << (63 - k)).collect()];
        while directions.len() < threads {
            directions.push(inputs.many(64, Inputs::word));
        }
        for index in 0..100u64 {
            let gray = index ^ (index >> 1);
            assert_eq!(element(&directions[0], 0, index), gray.reverse_bits());
        }
        let scrambles = inputs.many(threads, Inputs::word);
        let numbered = || (0u64..).zip(directions.iter().zip(&scrambles));
        let results: Option<Vec<Thread>> = numbered().map(|(i, (v, &c))| thread(v, c, i)).collect();
        let Some(results) = results else {
            continue;
        };
        // Number, element, scramble and directions; five and four numbers drawn, and five passed over.
        let states = |drawn: u64, scrambled: bool| -> Vec<u64> {
            numbered()
                .flat_map(|(i, (v, &c))| {
                    let c = if scrambled { c } else { 0 };
                    let at = i + drawn + 5;
                    [at, element(v, c, at), c]
                        .into_iter()
                        .chain(v.iter().copied())
                })
                .collect()
        };
        let o: Vec<f32> = results.iter().map(|t| t.o as f32).collect();
        let u: Vec<u64> = results.iter().map(|t| t.u).collect();
        let d: Vec<f64> = results.iter().map(|t| t.d).collect();
        let largest = results.iter().map(|t| t.log_normal).fold(1.0, f64::max);
        cases.push(
            Case::new("curand_sobol64", "gen")
                .variant(format!("{}", cases.len()))
                .shape(1, threads as u32)
                .input(&directions.concat())
                .input(&scrambles)
                .output(&states(5, false), Bound::Equal)
                .output(&states(4, true), Bound::Equal)
                .output(&o, Bound::Absolute(4e-6))
                .output(&u, Bound::Equal)
                .output(&d, Bound::Absolute(1e-13 * largest)),
        );
    }
    cases
}
