//! Hostile PTX: good texts, and what an attacker or a broken tool makes of them.

mod attacks;
mod mutate;
mod run;

use proptest::prelude::Strategy as _;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

pub use attacks::attacks;
pub use mutate::Mutator;
pub use run::{Arena, Outcome};

/// Texts of the repository: written by hand, or made by compilers.
pub const SAMPLES: [&str; 7] = [
    include_str!("../../hostile/runtime.ptx"),
    include_str!("../../hostile/threads.ptx"),
    include_str!("../../../crates/softcuda/tests/kernels/kernels.ptx"),
    include_str!("../../../crates/ptx/tests/data/classic.ptx"),
    include_str!("../../../crates/ptx/tests/data/middle.ptx"),
    include_str!("../../../crates/ptx/tests/data/untyped.ptx"),
    include_str!("../../../crates/ptx/tests/data/debug.ptx"),
];

/// The samples, and some kernels of the [`generator`](crate::generator).
#[must_use]
pub fn texts(seed: u64, generated: usize) -> Vec<String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
    );
    let strategy = crate::generator::kernels();
    let made = (0..generated).map(|_| {
        strategy
            .new_tree(&mut runner)
            .expect("the strategy rejects nothing")
            .current()
            .text()
    });
    SAMPLES
        .iter()
        .map(|&text| text.to_owned())
        .chain(made)
        .collect()
}
