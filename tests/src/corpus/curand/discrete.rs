//! Discrete distributions by the square histogram (Marsaglia, Tsang and Wang, "Fast generation of discrete random
//! variables", 2004) over xorwow (Marsaglia, "Xorshift RNGs", 2003).

use super::super::inputs::Inputs;
use super::super::{Bound, Case};
use super::distribution::{normal_of_four, uniform_double};

/// `CURAND_M2`, and another method, for which the kernel takes a normal number.
const SQUARE_HISTOGRAM: u32 = 5;
const NORMAL: u32 = 0;

const THREADS: usize = 128;

/// Words of cuRAND's state: a counter, five words, two flags, a float that waits, a gap and a double that waits.
const STATE: usize = 12;

/// Five words that are shifted and a counter.
#[derive(Clone, Copy, Debug)]
struct Xorwow {
    counter: u32,
    words: [u32; 5],
}

impl Xorwow {
    fn random(inputs: &mut Inputs) -> Self {
        Self {
            counter: inputs.bits(),
            words: std::array::from_fn(|_| inputs.bits()),
        }
    }

    fn next(&mut self) -> u32 {
        let [x, .., v] = self.words;
        let t = x ^ (x >> 2);
        self.words.rotate_left(1);
        self.words[4] = (v ^ (v << 4)) ^ (t ^ (t << 1));
        self.counter = self.counter.wrapping_add(362_437);
        self.words[4].wrapping_add(self.counter)
    }

    fn state(self) -> impl Iterator<Item = u32> {
        [self.counter]
            .into_iter()
            .chain(self.words)
            .chain([0; STATE - 6])
    }
}

/// Cells of equal width: where each divides, and what lies beyond the division.
fn square_histogram(chances: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let n = chances.len();
    let level = 1.0 / n as f64;
    let mut left = chances.to_vec();
    let mut divisions: Vec<f64> = (1..=n).map(|j| j as f64 * level).collect();
    let mut others: Vec<u32> = (0..n as u32).collect();
    // The richest fills up the poorest, who is done with then.
    let mut open: Vec<usize> = (0..n).collect();
    while open.len() > 1 {
        open.sort_by(|&a, &b| left[a].total_cmp(&left[b]));
        let (poor, rich) = (open[0], open[open.len() - 1]);
        divisions[poor] = poor as f64 * level + left[poor];
        others[poor] = rich as u32;
        left[rich] -= level - left[poor];
        open.remove(0);
    }
    (divisions, others)
}

/// A structure of the device: two words each of what is listed.
fn words_of(doubles: &[f64]) -> Vec<u32> {
    doubles
        .iter()
        .flat_map(|v| [v.to_bits() as u32, (v.to_bits() >> 32) as u32])
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xd15c);
    let mut cases: Vec<Case> = [2usize, 12, 100]
        .into_iter()
        .map(|outcomes| by_histogram(&mut inputs, outcomes))
        .collect();
    cases.push(by_normal(&mut inputs));
    cases
}

/// The kernel's distribution: three addresses, two doubles, the method, and who made it.
fn distribution(deviation: f64, mean: f64, method: u32) -> Vec<u32> {
    [vec![0; 6], words_of(&[deviation, mean]), vec![method, 0]].concat()
}

fn by_histogram(inputs: &mut Inputs, outcomes: usize) -> Case {
    let raw = inputs.many(outcomes, |r| r.unit().powi(3) + 1e-3);
    let sum: f64 = raw.iter().sum();
    let chances: Vec<f64> = raw.iter().map(|v| v / sum).collect();
    let (divisions, others) = square_histogram(&chances);
    // The areas add up to the chances.
    for (outcome, chance) in chances.iter().enumerate() {
        let width = 1.0 / outcomes as f64;
        let own = divisions[outcome] - outcome as f64 * width;
        let elsewhere: f64 = (0..outcomes)
            .filter(|&j| others[j] as usize == outcome && j != outcome)
            .map(|j| (j + 1) as f64 * width - divisions[j])
            .sum();
        assert!(
            (own + elsewhere - chance).abs() < 1e-12,
            "the histogram is right"
        );
    }
    let shift = 1000;
    let (mut states, mut after, mut u) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..THREADS {
        let mut state = Xorwow::random(inputs);
        states.extend(state.state());
        let x = uniform_double(state.next());
        let cell = (x * outcomes as f64) as usize;
        u.push(
            shift
                + if x < divisions[cell] {
                    cell as u32
                } else {
                    others[cell]
                },
        );
        after.extend(state.state());
    }
    Case::new("curand_discrete_", "gen")
        .variant(format!("{outcomes} outcomes"))
        .shape(1, THREADS as u32)
        .update(&states, &after, Bound::Equal)
        .input(&distribution(0.0, 0.0, SQUARE_HISTOGRAM))
        .output(&u, Bound::Equal)
        // Two addresses, the least outcome, how many there are, and who made it.
        .beside(&[0, 0, 0, 0, shift, outcomes as u32, 0, 0])
        // Four addresses and who made it.
        .beside(&[0u32; 10])
        .beside(&divisions)
        .beside(&others)
        .address(1, 8, 3)
        .address(3, 0, 4)
        .address(4, 0, 5)
        .address(4, 16, 6)
}

fn by_normal(inputs: &mut Inputs) -> Case {
    let (deviation, mean) = (40.0, 1600.0);
    let (mut states, mut u, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    while u.len() < THREADS {
        let mut state = Xorwow::random(inputs);
        let initial = state;
        let (x, y) = normal_of_four(std::array::from_fn(|_| state.next()));
        let exact = deviation * x + mean + 0.5;
        if (exact - exact.round()).abs() < 1e-6 {
            continue;
        }
        states.extend(initial.state());
        u.push(exact as u32);
        wanted.push((state, y));
    }
    let judge = move |got: &[u32]| {
        for (index, (got, (state, waiting))) in got.chunks_exact(STATE).zip(&wanted).enumerate() {
            let words: Vec<u32> = state.state().take(6).collect();
            let double = f64::from_bits(u64::from(got[11]) << 32 | u64::from(got[10]));
            // No normal number waits in single precision, one in double precision.
            if got[..6] != words || got[6..8] != [0, 1] || (double - waiting).abs() > 1e-13 {
                return Err(format!(
                    "state {index} is {got:?}, {double}, want {state:?}, {waiting}"
                ));
            }
        }
        Ok(())
    };
    Case::new("curand_discrete_", "gen")
        .variant("normal")
        .shape(1, THREADS as u32)
        .judged(&states, "the right words, and near what waits", judge)
        .input(&distribution(deviation, mean, NORMAL))
        .output(&u, Bound::Equal)
}
