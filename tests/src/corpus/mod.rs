//! The kernels of `tests/corpus/`, each with inputs and an independent computation of its results on the host.

mod case;
mod data;
mod elementwise;
mod lane;
mod math;
mod minimal;
mod run;
mod source;

pub use case::{Bound, Case};
pub use lane::Lane;
pub use run::Outcome;
pub use source::{FORMS, Source, sources, sources_in};

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(elementwise::cases());
    cases.extend(math::cases());
    cases.extend(minimal::cases());
    cases
}
