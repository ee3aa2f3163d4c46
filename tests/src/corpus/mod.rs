//! The kernels of `tests/corpus/`, each with inputs and an independent computation of its results on the host.

mod case;
mod lane;

pub use case::{Bound, Case};
pub use lane::Lane;
