//! Barriers and warp operations, also where threads part.

use super::{Arg, Config, Machine, with_out};

/// Global index of the thread in `%r0`, address of its result in `%d0`.
const INDEX: &str = "mov.u32 %r60, %ctaid.x; mov.u32 %r61, %ntid.x; mov.u32 %r62, %tid.x;
    mad.lo.s32 %r0, %r60, %r61, %r62; mul.wide.s32 %d60, %r0, 4; add.s64 %d0, %out, %d60;\n";

fn run(body: &str, grid: u32, block: u32) -> Vec<u32> {
    let machine = Machine::new();
    let count = (grid * block) as usize;
    let out = machine.upload(&vec![0xdead_beefu32; count]);
    let ptx = with_out(".shared .align 8 .b8 s[4096];", &format!("{INDEX}{body}"));
    machine.succeed(&ptx, "k", &Config::new(grid, block), &[Arg::U64(out)]);
    machine.download(out, count)
}

#[test]
fn shared_reversal_through_a_barrier() {
    let body =
        "mov.u32 %r1, s; shl.b32 %r2, %r62, 2; add.s32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
        bar.sync 0;
        sub.s32 %r4, %r61, %r62; sub.s32 %r4, %r4, 1; shl.b32 %r4, %r4, 2; add.s32 %r4, %r4, %r1;
        ld.shared.u32 %r5, [%r4]; st.global.u32 [%d0], %r5;";
    let block = 200;
    let result = run(body, 3, block);
    for (index, &value) in result.iter().enumerate() {
        let (b, t) = (index as u32 / block, index as u32 % block);
        assert_eq!(value, b * block + block - 1 - t);
    }
}

#[test]
fn exited_threads_count_as_arrived() {
    // Odd threads leave before the barrier; the rest pass two of them.
    let body = "and.b32 %r1, %r62, 1; setp.eq.s32 %p1, %r1, 1; @%p1 bra DONE;
        bar.sync 0;
        add.s32 %r2, %r0, 1000;
        bar.sync 0;
        st.global.u32 [%d0], %r2;
        DONE:";
    for (index, &value) in run(body, 2, 70).iter().enumerate() {
        let expected = if index % 70 % 2 == 1 {
            0xdead_beef
        } else {
            index as u32 + 1000
        };
        assert_eq!(value, expected, "thread {index}");
    }
}

#[test]
fn a_tail_that_exits_leaves_the_rest_uniform() {
    let body = "setp.ge.s32 %p1, %r62, 37; @%p1 exit;
        mov.u32 %r1, s; shl.b32 %r2, %r62, 2; add.s32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
        bar.sync 0;
        ld.shared.u32 %r5, [s+144]; st.global.u32 [%d0], %r5;";
    let result = run(body, 1, 64);
    assert!(result[..37].iter().all(|&value| value == 36));
    assert!(result[37..].iter().all(|&value| value == 0xdead_beef));
}

#[test]
fn one_barrier_reached_from_two_places() {
    // Both branches wait at barrier 0: arrival is by number, not by place.
    let body =
        "setp.lt.s32 %p1, %r62, 20; mov.u32 %r1, s; shl.b32 %r2, %r62, 2; add.s32 %r3, %r1, %r2;
        st.shared.u32 [%r3], %r62;
        @%p1 bra LOW;
        bar.sync 0;
        ld.shared.u32 %r5, [s]; add.s32 %r5, %r5, 7; bra STORE;
        LOW: bar.sync 0;
        ld.shared.u32 %r5, [s+252];
        STORE: st.global.u32 [%d0], %r5;";
    let result = run(body, 1, 64);
    assert!(result[..20].iter().all(|&value| value == 63));
    assert!(result[20..].iter().all(|&value| value == 7));
}

#[test]
fn named_barriers_with_counts_hand_over() {
    // Warp 0 produces, warp 1 consumes: 32 arrive, 32 wait.
    let body = "setp.ge.s32 %p1, %r62, 32; @%p1 bra CONSUME;
        mov.u32 %r1, s; shl.b32 %r2, %r62, 2; add.s32 %r3, %r1, %r2; add.s32 %r4, %r62, 500;
        st.shared.u32 [%r3], %r4;
        bar.arrive 3, 64;
        st.global.u32 [%d0], 1;
        bra DONE;
        CONSUME: bar.sync 3, 64;
        sub.s32 %r6, 63, %r62; shl.b32 %r6, %r6, 2; mov.u32 %r1, s; add.s32 %r6, %r6, %r1;
        ld.shared.u32 %r5, [%r6]; st.global.u32 [%d0], %r5;
        DONE:";
    let result = run(body, 2, 64);
    for block in result.chunks(64) {
        assert!(block[..32].iter().all(|&value| value == 1));
        for (lane, &value) in block[32..].iter().enumerate() {
            assert_eq!(value, 500 + 31 - lane as u32);
        }
    }
}

#[test]
fn the_number_of_a_barrier_may_be_a_register() {
    // Each half of the block has its own barrier.
    let body = "shr.u32 %r1, %r62, 6; add.s32 %r2, %r1, 4; mov.u32 %r3, s; shl.b32 %r4, %r62, 2; add.s32 %r4, %r4, %r3;
        st.shared.u32 [%r4], %r62;
        bar.sync %r2, 64;
        xor.b32 %r5, %r62, 63; shl.b32 %r5, %r5, 2; add.s32 %r5, %r5, %r3; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%d0], %r6;";
    for (index, &value) in run(body, 1, 128).iter().enumerate() {
        assert_eq!(value, index as u32 ^ 63);
    }
}

#[test]
fn reductions_of_barriers() {
    let body = "setp.lt.s32 %p1, %r62, 10;
        bar.red.popc.u32 %r1, 0, %p1;
        bar.red.and.pred %p2, 0, %p1;
        bar.red.or.pred %p3, 0, %p1;
        bar.red.or.pred %p4, 0, !%p1;
        selp.u32 %r2, 100, 0, %p2; selp.u32 %r3, 1000, 0, %p3; selp.u32 %r4, 10000, 0, %p4;
        add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3; add.s32 %r1, %r1, %r4;
        st.global.u32 [%d0], %r1;";
    assert!(run(body, 1, 96).iter().all(|&value| value == 11010));
}

#[test]
fn shuffles_of_every_kind() {
    let body = "mov.u32 %r9, %laneid; mul.lo.s32 %r10, %r9, 3;
        shfl.sync.up.b32 %r1|%p1, %r10, 2, 0, -1;
        shfl.sync.down.b32 %r2|%p2, %r10, 5, 31, 0xffffffff;
        shfl.sync.bfly.b32 %r3, %r10, 7, 31, -1;
        and.b32 %r11, %r9, 24;
        shfl.sync.idx.b32 %r4|%p4, %r10, 9, 0x181f, -1;
        selp.u32 %r5, 1000, 0, %p1; selp.u32 %r6, 2000, 0, %p2; selp.u32 %r7, 4000, 0, %p4;
        mad.lo.s32 %r1, %r2, 7, %r1; mad.lo.s32 %r1, %r3, 11, %r1; mad.lo.s32 %r1, %r4, 13, %r1;
        add.s32 %r1, %r1, %r5; add.s32 %r1, %r1, %r6; add.s32 %r1, %r1, %r7;
        st.global.u32 [%d0], %r1;";
    for (index, &value) in run(body, 1, 64).iter().enumerate() {
        let lane = index as u32 % 32;
        let up = if lane >= 2 { lane - 2 } else { lane };
        let down = if lane + 5 < 32 { lane + 5 } else { lane };
        let segment = lane & 24 | 9 & 7;
        let mut expected = 3 * up + 21 * down + 33 * (lane ^ 7) + 39 * segment + 4000;
        expected += if lane >= 2 { 1000 } else { 0 };
        expected += if lane + 5 < 32 { 2000 } else { 0 };
        assert_eq!(value, expected, "lane {lane}");
    }
}

#[test]
fn a_loop_of_shuffles_sums_a_warp() {
    let body = "mov.u32 %r1, %r0; mov.u32 %r2, 16;
        LOOP: shfl.sync.down.b32 %r3, %r1, %r2, 31, -1; add.s32 %r1, %r1, %r3; shr.u32 %r2, %r2, 1;
        setp.ne.s32 %p1, %r2, 0; @%p1 bra LOOP;
        st.global.u32 [%d0], %r1;";
    for (warp, values) in run(body, 2, 96).chunks(32).enumerate() {
        let first = warp as u32 * 32;
        assert_eq!(values[0], (first..first + 32).sum::<u32>());
    }
}

#[test]
fn votes_and_matches() {
    let body = "mov.u32 %r9, %laneid; and.b32 %r8, %r9, 3; setp.eq.s32 %p1, %r8, 0;
        vote.sync.ballot.b32 %r1, %p1, -1;
        vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1; vote.sync.uni.pred %p4, !%p3, -1;
        match.any.sync.b32 %r2, %r8, -1;
        match.all.sync.b32 %r3|%p5, %r8, -1;
        match.all.sync.b32 %r4|%p6, 7, -1;
        activemask.b32 %r5;
        redux.sync.add.s32 %r6, %r9, -1; redux.sync.max.u32 %r7, %r9, -1;
        add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3; add.s32 %r1, %r1, %r4; add.s32 %r1, %r1, %r5;
        add.s32 %r1, %r1, %r6; add.s32 %r1, %r1, %r7;
        selp.u32 %r10, 1, 0, %p2; selp.u32 %r11, 2, 0, %p3; selp.u32 %r12, 4, 0, %p4; selp.u32 %r13, 8, 0, %p5; selp.u32 %r14, 16, 0, %p6;
        add.s32 %r1, %r1, %r10; add.s32 %r1, %r1, %r11; add.s32 %r1, %r1, %r12; add.s32 %r1, %r1, %r13; add.s32 %r1, %r1, %r14;
        st.global.u32 [%d0], %r1;";
    for (index, &value) in run(body, 1, 32).iter().enumerate() {
        let same = 0x1111_1111u32 << (index % 4);
        let expected = 0x1111_1111u32
            .wrapping_add(same)
            .wrapping_add(u32::MAX)
            .wrapping_add(u32::MAX)
            .wrapping_add((0..32).sum::<u32>() + 31 + 1 + 4 + 16);
        assert_eq!(value, expected, "lane {index}");
    }
}

#[test]
fn parts_of_a_warp_vote_among_themselves() {
    // Odd and even lanes take different ways, each with its own mask, and meet again.
    let body = "mov.u32 %r9, %laneid; and.b32 %r8, %r9, 1; setp.eq.s32 %p1, %r8, 0; setp.lt.s32 %p2, %r9, 16;
        @%p1 bra EVEN;
        vote.sync.ballot.b32 %r1, %p2, 0xaaaaaaaa; bra JOIN;
        EVEN: activemask.b32 %r1;
        JOIN: bar.warp.sync -1;
        activemask.b32 %r2;
        xor.b32 %r1, %r1, %r2;
        st.global.u32 [%d0], %r1;";
    for (index, &value) in run(body, 1, 64).iter().enumerate() {
        let first = if index % 2 == 0 {
            0x5555_5555
        } else {
            0x0000_aaaa
        };
        assert_eq!(value, first ^ u32::MAX, "lane {index}");
    }
}

#[test]
fn exited_lanes_do_not_hold_up_a_warp() {
    let body = "mov.u32 %r9, %laneid; setp.eq.s32 %p1, %r9, 5; @%p1 exit;
        shfl.sync.bfly.b32 %r1, %r9, 1, 31, -1;
        vote.sync.ballot.b32 %r2, 1, -1;
        add.s32 %r1, %r1, %r2;
        st.global.u32 [%d0], %r1;";
    let body = body.replace("ballot.b32 %r2, 1,", "ballot.b32 %r2, %p9,");
    let body = format!("setp.eq.s32 %p9, 1, 1;\n{body}");
    let result = run(&body, 1, 32);
    for (lane, &value) in result.iter().enumerate() {
        let mask = !(1u32 << 5);
        match lane {
            5 => assert_eq!(value, 0xdead_beef),
            // Its partner has exited: it keeps its own value.
            4 => assert_eq!(value, mask.wrapping_add(4)),
            _ => assert_eq!(value, mask.wrapping_add(lane as u32 ^ 1)),
        }
    }
}

#[test]
fn the_last_warp_may_be_short() {
    let body = "mov.u32 %r9, %laneid; activemask.b32 %r1; vote.sync.any.pred %p1, %p2, %r1; shfl.sync.idx.b32 %r2, %r0, 3, 31, %r1;
        add.s32 %r1, %r1, %r2; bar.sync 0; st.global.u32 [%d0], %r1;";
    let result = run(body, 1, 40);
    assert!(
        result[..32]
            .iter()
            .all(|&value| value == u32::MAX.wrapping_add(3))
    );
    assert!(result[32..].iter().all(|&value| value == 0xff + 35));
}

#[test]
fn warp_sums_meet_in_shared_memory() {
    // The usual two-level reduction: shuffles, a barrier, shuffles in warp 0.
    let body = "mov.u32 %r9, %laneid; shr.u32 %r10, %r62, 5; add.s32 %r1, %r0, 1;
        shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; add.s32 %r1, %r1, %r2;
        shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1; add.s32 %r1, %r1, %r2;
        shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1; add.s32 %r1, %r1, %r2;
        shfl.sync.bfly.b32 %r2, %r1, 2, 31, -1; add.s32 %r1, %r1, %r2;
        shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; add.s32 %r1, %r1, %r2;
        setp.ne.s32 %p1, %r9, 0; @%p1 bra WAIT;
        shl.b32 %r3, %r10, 2; mov.u32 %r4, s; add.s32 %r4, %r4, %r3; st.shared.u32 [%r4], %r1;
        WAIT: bar.sync 0;
        setp.gt.s32 %p2, %r62, 7; @%p2 bra END;
        shl.b32 %r3, %r62, 2; mov.u32 %r4, s; add.s32 %r4, %r4, %r3; ld.shared.u32 %r1, [%r4];
        shfl.sync.down.b32 %r2, %r1, 4, 31, 0xff; add.s32 %r1, %r1, %r2;
        shfl.sync.down.b32 %r2, %r1, 2, 31, 0xff; add.s32 %r1, %r1, %r2;
        shfl.sync.down.b32 %r2, %r1, 1, 31, 0xff; add.s32 %r1, %r1, %r2;
        st.global.u32 [%d0], %r1;
        END:";
    let result = run(body, 4, 256);
    for (block, values) in result.chunks(256).enumerate() {
        let first = block as u32 * 256;
        assert_eq!(values[0], (first + 1..=first + 256).sum::<u32>());
    }
}

#[test]
fn barrier_objects_in_shared_memory() {
    // Two phases: everybody arrives and spins until the phase has passed, first with its token, then by parity.
    let body = "setp.ne.s32 %p1, %r62, 0; @%p1 bra READY; mov.u32 %r1, s; mbarrier.init.shared.b64 [%r1], 64;
        READY: bar.sync 0; mov.u32 %r1, s; shl.b32 %r2, %r62, 2; add.s32 %r2, %r2, %r1; st.shared.u32 [%r2+8], %r62;
        mbarrier.arrive.shared.b64 %d1, [%r1];
        WAIT: mbarrier.try_wait.shared.b64 %p2, [%r1], %d1; @!%p2 bra WAIT;
        xor.b32 %r3, %r62, 63; shl.b32 %r3, %r3, 2; add.s32 %r3, %r3, %r1; ld.shared.u32 %r4, [%r3+8];
        mbarrier.arrive.shared.b64 _, [%r1];
        AGAIN: mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 1; @!%p3 bra AGAIN;
        st.shared.u32 [%r2+8], %r4; bar.sync 0; ld.shared.u32 %r5, [%r3+8]; add.s32 %r4, %r4, %r5; st.global.u32 [%d0], %r4;";
    assert!(run(body, 2, 64).iter().all(|&value| value == 63));
}

#[test]
fn arrivals_that_do_not_complete_count() {
    // Of three expected arrivals two come at once; the phase passes with the third.
    let body = "mov.u32 %r1, s; mbarrier.init.shared.b64 [%r1], 3; mbarrier.arrive.noComplete.shared.b64 %d1, [%r1], 2;
        mbarrier.test_wait.shared.b64 %p1, [%r1], %d1; mbarrier.arrive.shared.b64 %d2, [%r1]; mbarrier.test_wait.shared.b64 %p2, [%r1], %d1;
        mbarrier.pending_count.b64 %r2, %d2; selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; add.s32 %r3, %r3, %r4; mad.lo.s32 %r3, %r2, 10, %r3;
        st.global.u32 [%d0], %r3;";
    assert_eq!(run(body, 1, 1), [12]);
}

#[test]
fn asynchronous_copies_to_shared_memory() {
    let body = "mov.u32 %r1, s; shl.b32 %r2, %r62, 4; add.s32 %r2, %r2, %r1; mul.wide.u32 %d1, %r62, 16; add.s64 %d2, %out, %d1;
        cp.async.cg.shared.global [%r2], [%d2], 16; cp.async.commit_group; cp.async.wait_group 0;
        and.b32 %r8, %r62, 4; cp.async.ca.shared.global [%r2+4], [%d2], 4, %r8; cp.async.wait_all; bar.sync 0;
        ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2]; bar.sync 0; add.s32 %r3, %r3, %r4; sub.s32 %r3, %r3, %r5; st.global.u32 [%d0], %r3;";
    let machine = Machine::new();
    let input: Vec<u32> = (0..128).map(|n| n * n).collect();
    let out = machine.upload(&input);
    let ptx = with_out(".shared .align 16 .b8 s[4096];", &format!("{INDEX}{body}"));
    machine.succeed(&ptx, "k", &Config::new(1, 32), &[Arg::U64(out)]);
    for (t, &value) in machine.download::<u32>(out, 32).iter().enumerate() {
        let again = if t & 4 == 0 { 0 } else { input[4 * t] };
        assert_eq!(
            value,
            (input[4 * t] + again).wrapping_sub(input[4 * t + 2]),
            "thread {t}"
        );
    }
}
