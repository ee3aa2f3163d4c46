//! Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).

use super::super::inputs::Inputs;
use super::super::{Bound, Case};
use super::distribution::{
    normal_of_four, normal_of_words, poisson_by_products, poisson_by_rejection, uniform,
    uniform_of_two,
};

/// Ten rounds of the cipher on a counter.
fn cipher(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [low, high] = [(0xD251_1F53u64, counter[0]), (0xCD9E_8D57, counter[2])]
            .map(|(factor, word)| factor * u64::from(word));
        counter = [
            (high >> 32) as u32 ^ counter[1] ^ key[0],
            high as u32,
            (low >> 32) as u32 ^ counter[3] ^ key[1],
            low as u32,
        ];
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    counter
}

/// The words of a sequence: a block of four for each value of the counter's low half; the high half is the sequence's
/// number, the key is the seed.
struct Philox {
    seed: u64,
    sequence: u64,
    position: u64,
}

impl Philox {
    fn word(&mut self) -> u32 {
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        let [a, b] = halves(self.position / 4);
        let [c, d] = halves(self.sequence);
        let block = cipher([a, b, c, d], halves(self.seed));
        let word = block[(self.position % 4) as usize];
        self.position += 1;
        word
    }

    fn four(&mut self) -> [u32; 4] {
        std::array::from_fn(|_| self.word())
    }

    fn uniform(&mut self) -> f64 {
        f64::from(uniform(self.word()))
    }
}

/// What one thread computes.
#[derive(Debug)]
struct Thread {
    u: [u32; 4],
    f: [[f32; 4]; 2],
    d: [[f64; 2]; 2],
    g: f64,
    log_normal: f64,
    p: [u32; 2],
}

/// `None` if a comparison is too close for single precision.
fn thread(seed: u64, index: u64) -> Option<Thread> {
    let mut state = Philox {
        seed,
        sequence: index,
        position: 7,
    };
    let u = state.four();
    let uniforms = state.four().map(uniform);
    let [a, b, c, d] = state.four();
    let doubles = [uniform_of_two(a, b), uniform_of_two(c, d)];
    let [a, b, c, d] = state.four();
    let (first, second) = (normal_of_words(a, b), normal_of_words(c, d));
    let normals = [first.0, first.1, second.0, second.1].map(|v| v as f32);
    let single = state.uniform();
    let normal = normal_of_words(state.word(), state.word()).0;
    let log_normal = normal_of_words(state.word(), state.word()).0.exp();
    let mut count = state.word();
    count = count.wrapping_add(poisson_by_products(3.0, || state.uniform())?);
    let four: Option<Vec<u32>> = (0..4)
        .map(|_| poisson_by_rejection(70.0, || state.uniform()))
        .collect();
    count = count.wrapping_add(four?[0]);
    let (x, y) = normal_of_four(state.four());
    state.position += 9;
    state.sequence += 2;
    Some(Thread {
        u,
        f: [uniforms, normals],
        d: [doubles, [x, y]],
        g: single + normal + log_normal,
        log_normal,
        p: [count, state.word()],
    })
}

/// Errors of `sin.approx` and `cos.approx` are below 2^-20.5, those of the radius small beside that, and it is below 6.7.
const SINGLE: f64 = 1e-5;
const DOUBLE: f64 = 1e-13;

pub(super) fn cases() -> Vec<Case> {
    let published = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
    assert_eq!(cipher([0; 4], [0; 2]), published);
    let published = [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd];
    assert_eq!(cipher([u32::MAX; 4], [u32::MAX; 2]), published);

    let mut inputs = Inputs::new(0x9410);
    let mut cases = Vec::new();
    // One thread alone, for its second results go where another's first ones are.
    while cases.len() < 8 {
        let seed = [0, u64::MAX, 1 << 32].get(cases.len()).copied();
        let seed = seed.unwrap_or_else(|| inputs.word());
        let Some(t) = thread(seed, 0) else {
            assert!(cases.len() > 2, "the fixed seeds are far from ties");
            continue;
        };
        cases.push(
            Case::new("curand_philox", "gen")
                .variant(format!("{seed:#x}"))
                .shape(1, 1)
                .scalar(seed)
                .output(&t.u, Bound::Equal)
                .output(&t.f.concat(), Bound::Absolute(SINGLE))
                .output(&t.d.concat(), Bound::Absolute(DOUBLE))
                .output(
                    &[t.g as f32],
                    Bound::Absolute(SINGLE * (t.log_normal + 2.0)),
                )
                .output(&t.p, Bound::Equal),
        );
    }
    cases.push(many(&mut inputs));
    cases
}

/// Several blocks. Element `i + 1` of some arrays is written by threads `i` and `i + 1`, in any order.
fn many(inputs: &mut Inputs) -> Case {
    const THREADS: u64 = 96;
    let (seed, threads) = loop {
        let seed = inputs.word();
        let threads: Option<Vec<Thread>> = (0..THREADS).map(|i| thread(seed, i)).collect();
        if let Some(threads) = threads {
            break (seed, threads);
        }
    };
    let u: Vec<u32> = threads.iter().flat_map(|t| t.u).collect();
    let g: Vec<f32> = threads.iter().map(|t| t.g as f32).collect();
    let largest = threads.iter().map(|t| t.log_normal).fold(0.0, f64::max);
    // The values that element `index` may have: the first results of its thread, or the second ones of the one before.
    fn either<T: Copy>(threads: &[Thread], of: impl Fn(&Thread) -> [T; 2]) -> Vec<Vec<T>> {
        (0..=threads.len())
            .map(|index| {
                let own = threads.get(index).map(|t| of(t)[0]);
                let before = index.checked_sub(1).map(|b| of(&threads[b])[1]);
                own.into_iter().chain(before).collect()
            })
            .collect()
    }
    let f = either(&threads, |t| t.f);
    let d = either(&threads, |t| t.d);
    let p = either(&threads, |t| t.p);
    let count = THREADS as usize + 1;
    Case::new("curand_philox", "gen")
        .variant("many")
        .shape(3, 32)
        .scalar(seed)
        .output(&u, Bound::Equal)
        .judged(
            &vec![0f32; 4 * count],
            "one of two threads' results",
            move |got: &[f32]| {
                for (index, (got, may)) in got.chunks_exact(4).zip(&f).enumerate() {
                    let near = |want: &[f32; 4]| {
                        got.iter()
                            .zip(want)
                            .all(|(a, b)| f64::from((a - b).abs()) <= SINGLE)
                    };
                    if !may.iter().any(near) {
                        return Err(format!("element {index} is {got:?}, want one of {may:?}"));
                    }
                }
                Ok(())
            },
        )
        .judged(
            &vec![0f64; 2 * count],
            "one of two threads' results",
            move |got: &[f64]| {
                for (index, (got, may)) in got.chunks_exact(2).zip(&d).enumerate() {
                    let near = |want: &[f64; 2]| {
                        got.iter().zip(want).all(|(a, b)| (a - b).abs() <= DOUBLE)
                    };
                    if !may.iter().any(near) {
                        return Err(format!("element {index} is {got:?}, want one of {may:?}"));
                    }
                }
                Ok(())
            },
        )
        .output(&g, Bound::Absolute(SINGLE * (largest + 2.0)))
        .judged(
            &vec![0u32; count],
            "one of two threads' results",
            move |got: &[u32]| {
                for (index, (got, may)) in got.iter().zip(&p).enumerate() {
                    if !may.contains(got) {
                        return Err(format!("element {index} is {got}, want one of {may:?}"));
                    }
                }
                Ok(())
            },
        )
}
