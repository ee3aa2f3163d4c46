//! Random kernels on the software device against the interpreter: every result equal bit for bit, any NaN equal to any NaN.
//!
//! `CUPRUM_CASES` sets how many kernels, `CUPRUM_SEED` where the random numbers begin. A failure shrinks to a short kernel, which is printed.

use std::sync::{Mutex, PoisonError};

use cuprum::prelude::Device;
use cuprum_tests::generator::{Judge, Verdict, kernels, samples, straight};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Kernels that a run tries when nobody says how many.
const CASES: u32 = 300;

/// Forms that share a kernel.
const GROUP: usize = 8;

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
    )
}

#[test]
fn random_kernels_give_what_the_interpreter_gives() {
    let cases = variable("CUPRUM_CASES").map_or(CASES, |n| u32::try_from(n).expect("fewer cases"));
    let seed = variable("CUPRUM_SEED").unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 4000,
            ..Config::default()
        },
        TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
    );
    let device = Device::by_name("soft:0").expect("the software device is there");
    let judge = Mutex::new(Judge::new(device).expect("it has a context"));
    let outcome = runner.run(&kernels(), |kernel| {
        let verdict = judge
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .judge(&kernel)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        match verdict {
            Verdict::Agreed => Ok(()),
            Verdict::Differs(text) => Err(TestCaseError::fail(text)),
        }
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, kernel)) => {
            panic!("{reason}\n{}\n{}", kernel.launch(), kernel.text())
        }
        Err(TestError::Abort(reason)) => panic!("aborted: {reason}"),
    }
}

#[test]
fn every_form_gives_what_the_interpreter_gives() {
    let seed = variable("CUPRUM_SEED").unwrap_or(1);
    let device = Device::by_name("soft:0").expect("the software device is there");
    let mut judge = Judge::new(device).expect("it has a context");
    let samples = samples();
    let mut failures = Vec::new();
    for (turn, group) in samples.chunks(GROUP).enumerate() {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(turn as u64);
        let verdict = judge.judge(&straight(group, seed)).expect("a new context");
        let Verdict::Differs(text) = verdict else {
            continue;
        };
        // Which of them is it? If none differs alone, it is the group.
        let before = failures.len();
        for sample in group {
            let kernel = straight(std::slice::from_ref(sample), seed);
            if let Verdict::Differs(text) = judge.judge(&kernel).expect("a new context") {
                failures.push(format!("{}\n{text}", sample.name));
            }
        }
        if failures.len() == before {
            let names: Vec<_> = group.iter().map(|sample| sample.name).collect();
            failures.push(format!("{}\n{text}", names.join("\n")));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} forms differ:\n{}",
        failures.len(),
        samples.len(),
        failures.join("\n")
    );
}
