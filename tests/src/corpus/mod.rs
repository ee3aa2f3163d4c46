//! The kernels of `tests/corpus/`, each with inputs and an independent computation of its results on the host.

mod apps;
mod atomics;
mod beyond;
mod case;
mod curand;
mod data;
mod device_runtime;
mod elementwise;
mod fp8_conv;
mod half2_ops;
mod half_rounding;
mod image;
mod inputs;
mod int_intrin;
mod lane;
mod lang_asm;
mod lang_calls;
mod lang_control;
mod lang_memory;
mod libcu;
mod math;
mod memory;
mod minimal;
mod reductions;
mod run;
mod scans;
mod setup;
mod simd_video;
mod source;
mod surfaces;
mod textures;
mod warps;

pub use case::{Bound, Case};
pub use lane::Lane;
pub use run::Outcome;
pub use source::{FORMS, Source, sources, sources_in};

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(apps::cases());
    cases.extend(atomics::cases());
    cases.extend(beyond::cases());
    cases.extend(curand::cases());
    cases.extend(device_runtime::cases());
    cases.extend(elementwise::cases());
    cases.extend(fp8_conv::cases());
    cases.extend(half2_ops::cases());
    cases.extend(int_intrin::cases());
    cases.extend(lang_asm::cases());
    cases.extend(lang_calls::cases());
    cases.extend(lang_control::cases());
    cases.extend(lang_memory::cases());
    cases.extend(libcu::cases());
    cases.extend(math::cases());
    cases.extend(memory::cases());
    cases.extend(minimal::cases());
    cases.extend(reductions::cases());
    cases.extend(scans::cases());
    cases.extend(simd_video::cases());
    cases.extend(surfaces::cases());
    cases.extend(textures::cases());
    cases.extend(warps::cases());
    cases
}
