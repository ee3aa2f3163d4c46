//! Integration, conformance and property tests over every device.
//!
//! - `tests/devices.rs`: every check of `cuprum-checks` on every device present.
//! - `tests/corpus.rs`: the [`corpus`] of CUDA sources, compiled and run.
//! - `tests/layers.rs`: dependencies point down only.
//! - `tests/hostile.rs`: [`hostile`] PTX does no harm.
//! - `tests/pools.rs`: what memory [`pools`] hold at their peak, against an allocator on paper.
//! - `tests/jit_oracle.rs`: random kernels of the [`generator`] on the software device against the [`interpreter`].

pub mod corpus;
pub mod generator;
pub mod hostile;
pub mod interpreter;
pub mod pools;
