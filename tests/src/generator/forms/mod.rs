//! The instructions that kernels are made of, in families.

mod atomic;
mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod memory;
mod moves;
mod warp;

pub(super) use warp::WHOLE_WARPS;

use std::sync::LazyLock;

use super::form::Form;

/// Forms that belong together.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) forms: Vec<Form>,
}

/// Families whose forms concern one thread, so that threads may diverge.
pub(super) static PLAIN: LazyLock<Vec<Family>> = LazyLock::new(|| {
    [
        integer::forms(),
        bits::forms(),
        compare::forms(),
        moves::forms(),
        float::forms(),
        half::forms(),
        convert::forms(),
        memory::forms(),
        atomic::forms(),
    ]
    .map(|forms| Family { forms })
    .into()
});

/// Forms that all threads of the block execute together.
pub(super) static TOGETHER: LazyLock<Family> = LazyLock::new(|| Family {
    forms: warp::forms(),
});

/// Integer types with the class of their registers.
const INTEGERS: [(&str, &str); 6] = [
    ("u16", "b16"),
    ("s16", "b16"),
    ("u32", "b32"),
    ("s32", "b32"),
    ("u64", "b64"),
    ("s64", "b64"),
];

/// The suffixes that a list of optional modifiers allows.
fn each(options: &[&[&str]]) -> Vec<String> {
    options.iter().fold(vec![String::new()], |all, option| {
        all.iter()
            .flat_map(|before| option.iter().map(move |word| format!("{before}{word}")))
            .collect()
    })
}
