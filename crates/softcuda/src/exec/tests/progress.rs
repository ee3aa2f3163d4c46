//! Threads and blocks that wait for each other without barriers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cuprum_driver_sys::CUresult;

use super::{Arg, Config, Machine, with_out};

#[test]
fn a_spin_lock_inside_a_warp() {
    // Every thread takes a lock in memory, increments, and gives it back.
    let body = "AGAIN: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra AGAIN;
        membar.gl; ld.volatile.global.u32 %r2, [%out+4]; add.s32 %r2, %r2, 1; st.volatile.global.u32 [%out+4], %r2; membar.gl;
        atom.global.exch.b32 %r3, [%out], 0;";
    let machine = Machine::new();
    let out = machine.alloc(8);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(16, 128),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 2), [0, 16 * 128]);
}

#[test]
fn a_thread_waits_for_a_later_one() {
    // Thread 0 spins until the last thread of the block has written.
    let body = "mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 bra SPIN; setp.ne.s32 %p2, %r1, 127; @%p2 bra DONE;
        st.volatile.global.u32 [%out], 42; bra DONE;
        SPIN: ld.volatile.global.u32 %r2, [%out]; setp.eq.s32 %p3, %r2, 0; @%p3 bra SPIN;
        add.s32 %r2, %r2, 1; st.global.u32 [%out+4], %r2;
        DONE:";
    let machine = Machine::new();
    let out = machine.alloc(8);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 128),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 2), [42, 43]);
}

#[test]
fn spinning_threads_and_barriers_mix() {
    // Thread 0 spins on shared memory while the others pass a barrier of their own.
    let body = "mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 bra SPIN;
        bar.sync 1, 63; setp.ne.s32 %p2, %r1, 63; @%p2 bra JOIN; st.volatile.shared.u32 [flag], 5; bra JOIN;
        SPIN: ld.volatile.shared.u32 %r2, [flag]; setp.ne.s32 %p3, %r2, 5; @%p3 bra SPIN; st.global.u32 [%out], %r2;
        JOIN: bar.sync 0; atom.global.add.u32 %r3, [%out], 1;";
    let machine = Machine::new();
    let out = machine.alloc(8);
    let ptx = with_out(
        ".shared .align 4 .u32 flag;",
        &format!("st.shared.u32 [flag], 0; bar.sync 0;\n{body}"),
    );
    machine.succeed(&ptx, "k", &Config::new(1, 64), &[Arg::U64(out)]);
    assert_eq!(machine.download::<u32>(out, 1), [5 + 64]);
}

#[test]
fn blocks_wait_for_earlier_blocks() {
    // A chain: block n waits for block n - 1. The caller's pool has fewer threads than there are blocks.
    let body = "mov.u32 %r1, %ctaid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d2, %out, %d1;
        setp.eq.s32 %p1, %r1, 0; mov.u32 %r3, 0; @%p1 bra WRITE;
        SPIN: ld.acquire.gpu.global.u32 %r3, [%d2+-4]; setp.eq.s32 %p2, %r3, 0; @%p2 bra SPIN;
        WRITE: add.s32 %r3, %r3, 3; st.release.gpu.global.u32 [%d2], %r3;";
    let machine = Machine::new();
    let out = machine.alloc(4 * 300);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(300, 32),
        &[Arg::U64(out)],
    );
    let expected: Vec<u32> = (1..=300).map(|n| 3 * n).collect();
    assert_eq!(machine.download::<u32>(out, 300), expected);
}

#[test]
fn a_grid_barrier_made_by_hand() {
    // All blocks arrive at a counter and spin until it is full; twice.
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r9, %nctaid.x; setp.ne.s32 %p1, %r1, 0; mov.u32 %r5, 0; mov.u32 %r8, 0;
        ROUND: bar.sync 0; add.s32 %r5, %r5, %r9; @%p1 bra NEXT;
        membar.gl; atom.global.add.u32 %r2, [%out], 1;
        SPIN: ld.volatile.global.u32 %r3, [%out]; setp.lt.u32 %p2, %r3, %r5; @%p2 bra SPIN;
        NEXT: bar.sync 0; add.s32 %r8, %r8, 1; setp.lt.s32 %p3, %r8, 2; @%p3 bra ROUND;
        ld.volatile.global.u32 %r3, [%out]; setp.lt.u32 %p2, %r3, %r5; @%p2 trap;";
    let machine = Machine::new();
    let out = machine.alloc(4);
    let config = Config {
        resident: 24,
        ..Config::new(24, 64)
    };
    machine.succeed(&with_out("", body), "k", &config, &[Arg::U64(out)]);
    assert_eq!(machine.download::<u32>(out, 1), [48]);
}

#[test]
fn a_warp_polls_together() {
    // Block 0 waits with a warp vote inside the loop for what block 1 writes.
    let body = "mov.u32 %r1, %ctaid.x; mov.u32 %r7, %laneid; setp.ne.s32 %p1, %r1, 0; @%p1 bra WRITER;
        mul.wide.u32 %d1, %r7, 4; add.s64 %d2, %out, %d1;
        POLL: ld.volatile.global.u32 %r2, [%d2]; setp.eq.s32 %p2, %r2, 0; vote.sync.any.pred %p3, %p2, -1; @%p3 bra POLL;
        add.s32 %r2, %r2, 1; st.global.u32 [%d2+128], %r2; bra DONE;
        WRITER: mul.wide.u32 %d1, %r7, 4; add.s64 %d2, %out, %d1; add.s32 %r3, %r7, 10; st.volatile.global.u32 [%d2], %r3;
        DONE:";
    let machine = Machine::new();
    let out = machine.alloc(256);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(2, 32),
        &[Arg::U64(out)],
    );
    let result = machine.download::<u32>(out, 64);
    assert!((0..32).all(|lane| result[32 + lane] == lane as u32 + 11));
}

#[test]
fn endless_loops_end_at_the_time_limit() {
    for body in [
        "LOOP: bra LOOP;",
        "LOOP: ld.volatile.global.u32 %r1, [%out]; setp.eq.s32 %p1, %r1, 0; @%p1 bra LOOP;",
        "LOOP: bar.sync 0; bra LOOP;",
        "LOOP: activemask.b32 %r1; bra LOOP;",
    ] {
        let machine = Machine::new();
        let out = machine.alloc(4);
        let config = Config {
            time_limit: Duration::from_millis(60),
            ..Config::new(3, 64)
        };
        let fault = machine.fail(&with_out("", body), "k", &config, &[Arg::U64(out)]);
        assert_eq!(
            fault.code,
            CUresult::LAUNCH_TIMEOUT,
            "{body}: {}",
            fault.message
        );
    }
}

#[test]
fn a_launch_can_be_cancelled() {
    let machine = Machine::new();
    let out = machine.alloc(4);
    let config = Config::new(1, 32);
    let cancel = Arc::clone(&config.cancel);
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        cancel.store(true, Ordering::Relaxed);
    });
    let fault = machine.fail(
        &with_out("", "LOOP: bra LOOP;"),
        "k",
        &config,
        &[Arg::U64(out)],
    );
    canceller.join().expect("the other thread only sets a flag");
    assert!(fault.message.contains("cancelled"), "{}", fault.message);
}

#[test]
fn barriers_that_nobody_completes_are_faults() {
    let body = "mov.u32 %r1, %tid.x; setp.lt.s32 %p1, %r1, 10; @%p1 bra A; bar.sync 1; bra DONE; A: bar.sync 2; DONE:";
    let machine = Machine::new();
    let out = machine.alloc(4);
    let fault = machine.fail(
        &with_out("", body),
        "k",
        &Config::new(1, 64),
        &[Arg::U64(out)],
    );
    assert!(
        fault
            .message
            .contains("54 threads wait at barrier 1, where 54 of 64 have arrived"),
        "{}",
        fault.message
    );
}

#[test]
fn lanes_that_never_come_are_a_fault() {
    let body = "mov.u32 %r1, %laneid; setp.lt.s32 %p1, %r1, 4; @%p1 bra A; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; bra DONE;
        A: bar.sync 0; DONE:";
    let machine = Machine::new();
    let out = machine.alloc(4);
    let fault = machine.fail(
        &with_out("", body),
        "k",
        &Config::new(1, 32),
        &[Arg::U64(out)],
    );
    assert!(
        fault.message.contains("deadlock")
            && fault
                .message
                .contains("28 threads wait at a warp operation"),
        "{}",
        fault.message
    );
}
