//! Threads that wait for what never comes, and kernels that the program stops.
//!
//! A GPU would wait for ever, so all of this is for software devices.

use std::time::Duration;

use cuprum::driver::sys::CUresult;
use cuprum::prelude::LaunchConfig;

use super::{Expected, fails, works_again};
use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::Kernels;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(barriers_that_wait_for_each_other, Faults, SoftwareOnly),
        check!(
            a_barrier_for_more_threads_than_there_are,
            Faults,
            SoftwareOnly
        ),
        check!(lanes_that_never_come, Faults, SoftwareOnly),
        check!(an_empty_loop, Faults, SoftwareOnly),
        check!(a_flag_that_nobody_sets, Faults, SoftwareOnly),
        check!(a_lock_taken_twice, Faults, SoftwareOnly),
        check!(sleep_without_end, Faults, SoftwareOnly),
        check!(a_cancelled_kernel, Faults, SoftwareOnly),
    ]
}

const DEADLOCK: &[CUresult] = &[CUresult::LAUNCH_FAILED];

/// Two warps of a block, each at a barrier that the other never comes to.
fn barriers_that_wait_for_each_other(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *)
        {
            if (blockIdx.x != 1) return;
            if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");
            else asm volatile("bar.sync 2, 64;" ::: "memory");
        }
    "#;
    let expected = Expected {
        codes: DEADLOCK,
        words: &[
            "deadlock in block (1, 0, 0)",
            "32 threads wait at barrier 1, where 32 of 64 have arrived, at ",
            "guilty.cu:5 (PTX line ",
            "32 threads wait at barrier 2, where 32 of 64 have arrived, at ",
            "guilty.cu:6 (PTX line ",
        ],
    };
    fails(subject, source, 0, &expected)
}

/// A barrier that counts more threads than the block has.
fn a_barrier_for_more_threads_than_there_are(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *)
        {
            if (blockIdx.x != 1) return;
            asm volatile("bar.sync 3, 96;" ::: "memory"); // here
        }
    "#;
    let expected = Expected {
        codes: DEADLOCK,
        words: &["64 threads wait at barrier 3, where 64 of 96 have arrived"],
    };
    fails(subject, source, 0, &expected)
}

/// A shuffle whose mask names lanes that wait elsewhere.
fn lanes_that_never_come(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            unsigned x = threadIdx.x;
            if (blockIdx.x != 1) return;
            if (x % 32 < 4) __syncthreads();
            else x = __shfl_xor_sync(0xffffffffu, x, 1);
            if (x == 1000) *p = x;
        }
    "#;
    let expected = Expected {
        codes: DEADLOCK,
        words: &[
            "56 threads wait at a warp operation",
            "8 threads wait at barrier 0",
        ],
    };
    fails(subject, source, 0, &expected)
}

/// As [`fails`], with a time limit.
fn never_ends(subject: &Subject, source: &str, address: u64) -> Result<Report, Failure> {
    subject
        .context
        .set_time_limit(Some(Duration::from_millis(300)))?;
    let expected = Expected {
        codes: &[CUresult::LAUNCH_TIMEOUT],
        words: &["ran longer than the time limit of 300ms"],
    };
    fails(subject, source, address, &expected)
}

/// `while (true) {}`.
fn an_empty_loop(subject: &Subject) -> Result<Report, Failure> {
    never_ends(
        subject,
        r#"extern "C" __global__ void guilty(unsigned *) { while (true) asm volatile(""); }"#,
        0,
    )
}

/// A spin on memory that nobody writes, while the rest of the block waits at a barrier.
fn a_flag_that_nobody_sets(subject: &Subject) -> Result<Report, Failure> {
    never_ends(
        subject,
        r#"__device__ unsigned flag;
           extern "C" __global__ void guilty(unsigned *) {
               if (threadIdx.x == 5) while (*(volatile unsigned *)&flag == 0) {}
               __syncthreads();
           }"#,
        0,
    )
}

/// A lock that its owner takes again.
fn a_lock_taken_twice(subject: &Subject) -> Result<Report, Failure> {
    never_ends(
        subject,
        r#"__device__ unsigned lock;
           __device__ void take() { while (atomicCAS(&lock, 0u, 1u) != 0) {} }
           extern "C" __global__ void guilty(unsigned *) { take(); take(); }"#,
        0,
    )
}

/// `__nanosleep` for ever.
fn sleep_without_end(subject: &Subject) -> Result<Report, Failure> {
    never_ends(
        subject,
        r#"extern "C" __global__ void guilty(unsigned *) { for (;;) __nanosleep(1000000); }"#,
        0,
    )
}

/// A kernel that another thread of the program stops.
fn a_cancelled_kernel(subject: &Subject) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void endless(unsigned *) { while (true) asm volatile(""); }"#,
    )?;
    let mut buffer = kernels.zeros::<u32>(1)?;
    kernels.launch("endless", LaunchConfig::grid_1d(3, 64), (&mut buffer,))?;
    let other = context.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        other.cancel()
    });
    let outcome = stream.synchronize();
    canceller
        .join()
        .map_err(|_| Failure::new("the other thread panicked"))??;
    let Err(error) = outcome else {
        return Err(Failure::new("an endless kernel ended"));
    };
    let text = error.to_string();
    ensure!(error.is_fatal(), "not fatal: {text}");
    ensure_eq!(
        error.code(),
        Some(CUresult::LAUNCH_FAILED),
        "code of: {text}"
    );
    ensure!(
        text.contains("endless") && text.contains("was cancelled"),
        "the text does not tell: {text}"
    );
    drop((buffer, kernels));
    works_again(subject)?;
    Ok(Report::exact(4))
}
