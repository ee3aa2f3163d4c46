//! What the benchmarks share: how two programs are compared, and the C++ side of comparisons.
//!
//! `cargo bench -p cuprum-benches` runs them all; those that need a GPU, or the C++ peers, say so and are left out
//! where there is none. Results with date and hardware are kept under `docs/record/`.

pub mod paired;
pub mod peers;
