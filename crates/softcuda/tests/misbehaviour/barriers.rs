//! Barriers and warp operations that cannot be completed, and those that one might think cannot.
//!
//! Arrivals are counted for each thread by barrier number, not by place in the code; a thread that exits counts as arrived
//! where the whole block takes part. A block in which nobody can go on is at fault: its deadlock is found at once, without
//! a time limit.

use crate::common::*;
use crate::kind::{Kernel, Kind};

use CUresult as C;

fn stuck(name: &str, body: &str, threads: u32, words: &[&str]) -> Kind {
    let mut all = vec!["deadlock in block (0, 0, 0)"];
    all.extend(words);
    Kernel::new(format!("barriers::{name}"), body)
        .everybody(1, threads)
        .fails(C::LAUNCH_FAILED, &all)
        .into()
}

fn fine(name: &str, body: &str, threads: u32, result: &[u32]) -> Kind {
    Kernel::new(format!("barriers::{name}"), body)
        .declare(".shared .align 8 .b8 sh[64];")
        .everybody(1, threads)
        .ends_well(result)
        .into()
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        fine(
            "a_barrier_on_both_sides_of_a_branch_is_one",
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 10; @%p1 bra A; bar.sync 0; bra JOIN; A: bar.sync 0;\n\
             JOIN: atom.global.add.u32 %r2, [%q], 1;",
            64,
            &[64],
        ),
        fine(
            "threads_that_exited_count_as_arrived",
            "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 7; @%p1 bra DONE; bar.sync 0; atom.global.add.u32 %r2, [%q], 1;",
            64,
            &[7],
        ),
        fine(
            "arrivals_without_a_wait_are_dropped",
            "bar.arrive 1, 128; atom.global.add.u32 %r2, [%q], 1;",
            64,
            &[64],
        ),
        fine(
            "an_incomplete_warp_counts_as_whole",
            "bar.sync 1, 64; atom.global.add.u32 %r2, [%q], 1;",
            40,
            &[40],
        ),
        stuck(
            "two_that_wait_for_each_other",
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 2, 64; bra DONE; A: bar.sync 1, 64;",
            64,
            &[
                "32 threads wait at barrier 1, where 32 of 64 have arrived, at guilty.cu:42",
                "32 threads wait at barrier 2, where 32 of 64 have arrived",
            ],
        ),
        stuck(
            "crosswise",
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 2, 64; bar.sync 1, 64; bra DONE;\n\
             A: bar.sync 1, 64; bar.sync 2, 64;",
            64,
            &["barrier 1", "barrier 2"],
        ),
        stuck(
            "more_threads_than_there_are",
            "bar.sync 1, 96;",
            64,
            &["64 threads wait at barrier 1, where 64 of 96 have arrived"],
        ),
        stuck(
            "more_threads_than_are_left",
            "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra DONE; bar.sync 3, 64;",
            128,
            &[
                "32 threads wait at barrier 3, where 32 of 64 have arrived",
                "96 threads have exited",
            ],
        ),
        stuck(
            "a_producer_that_never_arrives",
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; setp.lt.u32 %p1, %r1, 64; @%p1 bra DONE;\n\
             bar.arrive 1, 128; bra DONE; A: bar.sync 1, 128;",
            144,
            &["32 threads wait at barrier 1, where 112 of 128 have arrived"],
        ),
        stuck(
            "a_reduction_that_one_leaves",
            "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 9; @%p1 bra A; bar.red.popc.u32 %r2, 4, 64, %p1; bra DONE;\n\
             A: bar.sync 5;",
            64,
            &[
                "63 threads wait at barrier 4, where 63 of 64 have arrived",
                "1 threads wait at barrier 5",
            ],
        ),
        stuck(
            "lanes_that_never_shuffle",
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 4; @%p1 bra A; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; bra DONE;\n\
             A: bar.sync 0;",
            32,
            &["28 threads wait at a warp operation", "guilty.cu:42"],
        ),
        stuck(
            "lanes_with_masks_that_disagree",
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; mov.u32 %r3, -1; @%p1 mov.u32 %r3, 0xffff;\n\
             vote.sync.ballot.b32 %r2, %p1, %r3; bar.sync 1, 96;",
            32,
            &[
                "16 threads wait at a warp operation",
                "16 threads wait at barrier 1",
            ],
        ),
        fine(
            "lanes_that_exited_are_not_waited_for",
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; @%p1 bra DONE; vote.sync.ballot.b32 %r2, %p1, -1;\n\
             atom.global.add.u32 %r4, [%q], 1;",
            32,
            &[16],
        ),
        stuck(
            "a_warp_that_waits_at_a_barrier_inside_itself",
            "mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 0; @%p1 bra A; bar.warp.sync -1; bra DONE; A: bar.sync 1, 64;",
            64,
            &[
                "62 threads wait at a warp operation (Sync)",
                "2 threads wait at barrier 1",
            ],
        ),
        Kernel::new("barriers::a_number_that_no_barrier_has", "bar.sync 16;")
            .fails(C::ILLEGAL_INSTRUCTION, &["barrier 16", "0 to 15"])
            .into(),
        Kernel::new(
            "barriers::a_number_out_of_a_register",
            "mov.u32 %r5, 4097; bar.sync %r5;",
        )
        .fails(C::ILLEGAL_INSTRUCTION, &["barrier 4097"])
        .into(),
    ]
}
