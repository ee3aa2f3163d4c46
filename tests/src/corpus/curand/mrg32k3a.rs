//! `MRG32k3a` (L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators",
//! 1999), with cuRAND's seeding. Jumps are powers of the recurrence's matrix.

use super::super::inputs::Inputs;
use super::super::{Bound, Case};
use super::distribution::{box_muller, poisson_by_products};

const MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];
/// The least number above 0 that the generator yields, over its range; and that range over 2^32.
const NORM: f64 = 2.328_306_549_837_829e-10;
const BITS_NORM: f64 = 1.000_000_048_662;

type Matrix = [[u64; 3]; 3];

/// One step of each of the two recurrences.
const STEPS: [Matrix; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];

fn dot(a: [u64; 3], b: [u64; 3], modulus: u64) -> u64 {
    let sum: u128 = a
        .iter()
        .zip(b)
        .map(|(&x, y)| u128::from(x) * u128::from(y))
        .sum();
    (sum % u128::from(modulus)) as u64
}

fn product(a: Matrix, b: Matrix, modulus: u64) -> Matrix {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| dot(a[i], [b[0][j], b[1][j], b[2][j]], modulus))
    })
}

fn power(base: Matrix, exponent: u128, modulus: u64) -> Matrix {
    (0..128)
        .rev()
        .fold([[1, 0, 0], [0, 1, 0], [0, 0, 1]], |result, bit| {
            let square = product(result, result, modulus);
            if exponent >> bit & 1 == 1 {
                product(square, base, modulus)
            } else {
                square
            }
        })
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Generator([[u64; 3]; 2]);

impl Generator {
    /// cuRAND's seeding: the published start, every word times one of two halves of the seed, which are mixed with
    /// constants; then jumps of 2^76 numbers.
    fn seeded(seed: u64, subsequence: u64) -> Self {
        let mut state = [[12345u64; 3]; 2];
        if seed != 0 {
            let low = u64::from(seed as u32 ^ 0x5555_5555);
            let high = u64::from((seed >> 32) as u32 ^ 0xAAAA_AAAA);
            let factors = [[low, high, low], [high, low, high]];
            for ((words, factors), modulus) in state.iter_mut().zip(factors).zip(MODULI) {
                for (word, factor) in words.iter_mut().zip(factors) {
                    *word = (u128::from(*word) * u128::from(factor) % u128::from(modulus)) as u64;
                }
            }
        }
        let mut generator = Self(state);
        generator.jump(u128::from(subsequence) << 76);
        generator
    }

    fn jump(&mut self, numbers: u128) {
        for ((words, step), modulus) in self.0.iter_mut().zip(STEPS).zip(MODULI) {
            let matrix = power(step, numbers, modulus);
            *words = matrix.map(|row| dot(row, *words, modulus));
        }
    }

    /// A number from 1 to the first modulus.
    fn number(&mut self) -> u64 {
        for ((words, step), modulus) in self.0.iter_mut().zip(STEPS).zip(MODULI) {
            *words = [words[1], words[2], dot(step[2], *words, modulus)];
        }
        let [first, second] = [self.0[0][2], self.0[1][2]];
        if first > second {
            first - second
        } else {
            first + MODULI[0] - second
        }
    }

    fn uniform(&mut self) -> f64 {
        self.number() as f64 * NORM
    }

    fn single(&mut self) -> f64 {
        f64::from(self.uniform() as f32)
    }

    fn words(self) -> [u32; 6] {
        let [a, b] = self.0;
        [a[0], a[1], a[2], b[0], b[1], b[2]].map(|word| word as u32)
    }
}

/// Words of cuRAND's state: six of the generator, two flags, a float that waits, a gap and a double that waits.
const STATE: usize = 12;

pub(super) fn cases() -> Vec<Case> {
    // L'Ecuyer's published first numbers of the generator with all words 12345.
    let mut published = Generator::seeded(0, 0);
    let first = [
        0.127_011_122_046_577_14,
        0.318_527_565_396_794_5,
        0.309_186_015_583_270_1,
    ];
    for want in first {
        let got = published.number() as f64 / (MODULI[0] + 1) as f64;
        assert!((got - want).abs() < 1e-14, "{got} is not {want}");
    }
    let mut inputs = Inputs::new(0x3263);
    let mut cases = Vec::new();
    for seed in [0, 1, u64::MAX, inputs.word()] {
        let want: Vec<u32> = (0..192)
            .flat_map(|i| {
                let words = Generator::seeded(seed, i).words();
                words.into_iter().chain([0; STATE - 6])
            })
            .collect();
        cases.push(
            Case::new("curand_mrg32k3a", "init")
                .variant(format!("{seed:#x}"))
                .shape(3, 64)
                .update(&vec![0u32; want.len()], &want, Bound::Equal)
                .scalar(seed),
        );
    }
    while cases.len() < 8 {
        let seed = inputs.word();
        cases.extend(generation(seed));
    }
    cases
}

/// What one thread computes, and what waits in its state.
struct Thread {
    u: [u32; 2],
    f: f64,
    d: f64,
    log_normal: f64,
    state: [u32; 6],
    waiting: (f64, f64),
}

/// `None` if a comparison is too close for single precision.
fn thread(state: &mut Generator) -> Option<Thread> {
    let bits = (state.number() as f64 * BITS_NORM) as u32;
    let single = state.single();
    let normal = box_muller(state.single(), state.single());
    let double = state.uniform();
    let normal_double = box_muller(state.uniform(), state.uniform()).0;
    let pair = box_muller(state.uniform(), state.uniform());
    let poisson = poisson_by_products(5.0, || state.single())?;
    state.jump(3);
    state.jump(2 << 76);
    Some(Thread {
        u: [bits, poisson],
        f: single + normal.0,
        d: double + normal_double + pair.0.exp(),
        log_normal: pair.0.exp(),
        state: state.words(),
        waiting: (normal.1, pair.1.exp()),
    })
}

/// `None` if a seed makes for a close comparison.
fn generation(seed: u64) -> Option<Case> {
    let mut states: Vec<Generator> = (0..32)
        .map(|i| Generator::seeded(seed, i * 1_000_003))
        .collect();
    let initial: Vec<u32> = states
        .iter()
        .flat_map(|state| state.words().into_iter().chain([0; STATE - 6]))
        .collect();
    let threads: Vec<Thread> = states.iter_mut().map(thread).collect::<Option<_>>()?;
    let u: Vec<u32> = [0, 1]
        .into_iter()
        .flat_map(|k| threads.iter().map(move |t| t.u[k]))
        .collect();
    let f: Vec<f32> = threads.iter().map(|t| t.f as f32).collect();
    let d: Vec<f64> = threads.iter().map(|t| t.d).collect();
    let largest = threads.iter().map(|t| t.log_normal).fold(1.0, f64::max);
    let judge = move |got: &[u32]| {
        for (index, (got, want)) in got.chunks_exact(STATE).zip(&threads).enumerate() {
            // Flags: a normal number waits in single precision, a log-normal one in double precision.
            let single = f64::from(f32::from_bits(got[8]));
            let double = f64::from_bits(u64::from(got[11]) << 32 | u64::from(got[10]));
            let near = (single - want.waiting.0).abs() <= 1e-5
                && (double / want.waiting.1 - 1.0).abs() <= 1e-13;
            if got[..6] != want.state || got[6..8] != [1, 2] || !near {
                let wanted = (want.state, want.waiting);
                return Err(format!(
                    "state {index} is {got:?}, {single}, {double}, want {wanted:?}"
                ));
            }
        }
        Ok(())
    };
    Some(
        Case::new("curand_mrg32k3a", "gen")
            .variant(format!("{seed:#x}"))
            .shape(1, 32)
            .judged(&initial, "the right words, and near what waits", judge)
            .output(&u, Bound::Equal)
            .output(&f, Bound::Absolute(1e-5))
            .output(&d, Bound::Absolute(1e-13 * largest)),
    )
}
