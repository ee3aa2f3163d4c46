//! Running compiled kernels: launches, blocks, the scheduler of threads, warp operations, faults.
//!
//! See [`block`] for the model. Compiled code and this module meet in [`context`].

pub(crate) mod barrier;
pub(crate) mod block;
mod buffer;
pub(crate) mod context;
pub(crate) mod fault;
pub(crate) mod helpers;
pub(crate) mod image;
pub(crate) mod kernel;
mod launch;
mod occupancy;
mod printf;
#[cfg(test)]
mod tests;
pub(crate) mod warp;
mod workers;

pub(crate) use fault::Fault;
pub(crate) use kernel::CompiledKernel;
pub(crate) use launch::Launch;
pub(crate) use occupancy::{SmLimits, occupancy};
pub(crate) use workers::{Workers, run};
