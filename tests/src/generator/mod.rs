//! Random PTX kernels that are well typed, end, and have one possible result, and the comparison of their results on a device with those of the
//! [`interpreter`](crate::interpreter).
//!
//! A kernel is a tree of statements over a few registers of each class. It loads the registers it uses from a record per thread, computes, and
//! stores them all again, so that no statement's effect is lost. Threads part and meet; barriers and warp operations stand only where all threads
//! of the block are together. Memory that several threads change is changed only by atomic operations whose order does not matter.

mod class;
mod form;
mod forms;
mod judge;
mod render;
mod statement;

use proptest::prelude::*;

pub use judge::{Judge, Verdict};
use statement::{Function, Statement};

/// A random kernel with its inputs and the shape of its launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    body: Vec<Statement>,
    functions: Vec<Function>,
    /// Threads of a block.
    block: u32,
    /// Blocks.
    grid: u32,
    /// Inputs are made from this number.
    seed: u64,
    /// Which way threads go where all go the same way.
    ways: u32,
}

impl Kernel {
    /// Its PTX.
    #[must_use]
    pub fn text(&self) -> String {
        render::module(self)
    }

    /// A line that tells the launch.
    #[must_use]
    pub fn launch(&self) -> String {
        format!(
            "{} blocks of {} threads, inputs of seed {:#x}, ways {:#x}",
            self.grid, self.block, self.seed, self.ways
        )
    }
}

/// Random kernels.
pub fn kernels() -> impl Strategy<Value = Kernel> {
    (
        statement::body(),
        prop::collection::vec(statement::function(), 0..3),
        prop_oneof![1 => Just(1u32), 3 => Just(32), 1 => Just(64), 1 => 2..80u32],
        1..3u32,
        any::<u64>(),
        any::<u32>(),
    )
        .prop_map(|(body, functions, block, grid, seed, ways)| Kernel {
            body,
            functions,
            block,
            grid,
            seed,
            ways,
        })
}

/// A form by its place, with the text of its instructions.
#[derive(Clone, Debug)]
pub struct Sample {
    family: Option<usize>,
    form: usize,
    /// The template of its instructions.
    pub name: &'static str,
}

/// Every form that kernels are made of.
pub fn samples() -> Vec<Sample> {
    let plain = forms::PLAIN
        .iter()
        .enumerate()
        .flat_map(|(family, all)| (0..all.forms.len()).map(move |form| (Some(family), form)));
    let together = (0..forms::TOGETHER.forms.len()).map(|form| (None, form));
    plain
        .chain(together)
        .map(|(family, form)| Sample {
            family,
            form,
            name: match family {
                Some(family) => forms::PLAIN[family].forms[form].template(),
                None => forms::TOGETHER.forms[form].template(),
            },
        })
        .collect()
}

/// A kernel without branches: each sample four times, with different operands.
#[must_use]
pub fn straight(samples: &[Sample], seed: u64) -> Kernel {
    let body = samples
        .iter()
        .flat_map(|sample| {
            (0..4)
                .map(|turn| statement::single(sample.family, sample.form, seed.wrapping_add(turn)))
        })
        .collect();
    Kernel {
        body,
        functions: Vec::new(),
        block: 64,
        grid: 1,
        seed,
        ways: 0,
    }
}
