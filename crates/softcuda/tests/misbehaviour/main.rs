//! Kernels, launches, calls and images that misbehave: each kind ends with its documented error, and says what and where;
//! afterwards, in the same process, a new context computes a right result.
//!
//! Every kind is a test of its own, in a context of its own, and has a name that says its theme and what is wrong. What
//! ends well, although one might expect a fault, is a kind too.

#[path = "../common/mod.rs"]
mod common;

mod accesses;
mod barriers;
mod calls;
mod endless;
mod heap;
mod images;
mod kind;
mod launches;
mod output;
mod scale;
mod spaces;
mod stacks;
mod textures;

use std::collections::BTreeSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use kind::Kind;

/// Kinds that there are at least.
const LEAST: usize = 100;

fn kinds() -> Vec<Kind> {
    [
        accesses::kinds(),
        spaces::kinds(),
        barriers::kinds(),
        stacks::kinds(),
        textures::kinds(),
        heap::kinds(),
        endless::kinds(),
        output::kinds(),
        launches::kinds(),
        calls::kinds(),
        images::kinds(),
        scale::kinds(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut config = cuprum_softcuda::Config::default();
    config.devices[0].memory_bytes = 256 << 20;
    config.devices[0].multiprocessors = 4;
    config.devices[0].worker_threads = 2;
    config.devices.push(config.devices[0].clone());
    cuprum_softcuda::configure(config).expect("nothing is in use yet");
    ok!(cuInit(0));

    let kinds = kinds();
    let names: BTreeSet<String> = kinds.iter().map(|kind| kind.name.clone()).collect();
    let (count, distinct) = (kinds.len(), names.len());
    let mut trials: Vec<Trial> = kinds
        .into_iter()
        .map(|kind| Trial::test(kind.name.clone(), move || kind.run().map_err(Into::into)))
        .collect();
    trials.push(Trial::test("there_are_enough_kinds", move || {
        assert_eq!(count, distinct, "two kinds have one name");
        assert!(count >= LEAST, "{count} kinds");
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}
