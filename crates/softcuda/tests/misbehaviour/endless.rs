//! Kernels without end: a time limit ends them, or the program does.

use std::time::{Duration, Instant};

use crate::common::*;
use crate::kind::{Kernel, Kind, arg, load, look_up};
use crate::{no, ok};

use CUresult as C;

fn word() -> u64 {
    let address = alloc(256);
    ok!(cuMemsetD32_v2(address, 0, 64));
    address
}

fn endless(name: &str, body: &str) -> Kernel {
    Kernel::new(format!("endless::{name}"), body)
        .at(word)
        .never_ends()
}

/// `f` calls itself twice, until its argument is zero: 2^40 calls, on a stack that 40 need.
const BUSY: &str = ".visible .func f(.param .b32 n);\n.visible .func f(.param .b32 n)\n{\n.reg .pred %p; .reg .b32 %x<4>;\n\
    ld.param.b32 %x1, [n]; setp.eq.u32 %p, %x1, 0; @%p bra ZERO; sub.u32 %x2, %x1, 1;\n\
    { .param .b32 p0; st.param.b32 [p0], %x2; call f, (p0); }\n{ .param .b32 p0; st.param.b32 [p0], %x2; call f, (p0); }\n\
    ZERO: ret;\n}\n";

/// As [`BUSY`] without recursion: each function calls the next one twice.
fn wide() -> String {
    let mut text = String::from(".func f0(.param .b32 n) { ret; }\n");
    for level in 1..=44 {
        let call = format!(
            "{{ .param .b32 p0; st.param.b32 [p0], 1; call f{}, (p0); }}\n",
            level - 1
        );
        text += &format!(".func f{level}(.param .b32 n) {{\n{call}{call}ret;\n}}\n");
    }
    text
}

/// A kernel without end in the current context.
fn forever(body: &str) -> CUfunction {
    let (code, module) = load(&format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry forever(.param .u64 a) {{ .reg .b64 %a; .reg .pred %p; \
         .reg .b32 %r<4>; ld.param.u64 %a, [a]; {body} }}\n"
    ));
    assert!(code.is_success(), "{:?}", last_error());
    look_up(module, "forever").1
}

fn launch(function: CUfunction, grid: u32, stream: CUstream, address: u64) {
    let mut args = [arg(&address)];
    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
    ok!(cuLaunchKernel(
        function, grid, 1, 1, 32, 1, 1, 0, stream, p, none
    ));
}

fn current() -> CUcontext {
    let mut context = CUcontext::NULL;
    ok!(cuCtxGetCurrent(&mut context));
    context
}

/// Cancels the current context's kernels from another thread.
fn cancel_later() -> std::thread::JoinHandle<()> {
    let context = current();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        assert!(cuprum_softcuda::cancel(context));
    })
}

pub(crate) fn kinds() -> Vec<Kind> {
    let take = "TAKE: atom.global.cas.b32 %r5, [%a], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra TAKE;";
    let call = "{ .param .b32 p0; st.param.b32 [p0], 40; call f, (p0); }";
    let mut kinds: Vec<Kind> = [
        endless("nothing", "LOOP: bra LOOP;"),
        endless("nothing_in_every_thread", "LOOP: bra LOOP;").everybody(300, 128),
        endless("arithmetic", "LOOP: add.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, -1; mov.u32 %r6, %r5; bra LOOP;"),
        endless("a_barrier", "LOOP: bar.sync 0; bra LOOP;").everybody(3, 96),
        endless("atomics", "LOOP: atom.global.add.u32 %r5, [%a], 1; bra LOOP;"),
        endless("shared_atomics", "LOOP: atom.shared.inc.u32 %r5, [sh], 7; bra LOOP;").declare(".shared .b32 sh;"),
        endless("a_flag_that_nobody_sets", "LOOP: ld.volatile.global.u32 %r5, [%a]; setp.eq.u32 %p2, %r5, 0; @%p2 bra LOOP;"),
        endless(
            "a_flag_while_others_wait_at_a_barrier",
            "mov.u32 %r1, %tid.x; setp.ne.u32 %p2, %r1, 7; @%p2 bra WAIT;\n\
             LOOP: ld.volatile.global.u32 %r5, [%a]; setp.eq.u32 %p2, %r5, 0; @%p2 bra LOOP; WAIT: bar.sync 0;",
        )
        .everybody(2, 64),
        endless("a_flag_read_without_volatile", "LOOP: ld.global.u32 %r5, [%a]; setp.eq.u32 %p2, %r5, 0; @%p2 bra LOOP;"),
        endless("sleep", "LOOP: nanosleep.u32 1000000; bra LOOP;"),
        endless("a_long_sleep_each_time", "LOOP: nanosleep.u32 0xffffffff; bra LOOP;").everybody(4, 32),
        endless("votes", "LOOP: vote.sync.any.pred %p3, %p2, -1; bra LOOP;").everybody(2, 64),
        endless("shuffles", "LOOP: shfl.sync.idx.b32 %r5, %r5, 0, 31, -1; bra LOOP;").everybody(2, 64),
        endless("active_masks", "LOOP: activemask.b32 %r5; bra LOOP;").everybody(1, 40),
        endless("a_called_function", "call spin, ();").module(".func spin() { LOOP: bra LOOP; ret; }"),
        endless("a_function_called_by_its_address", "mov.u64 %d1, spin;\nshape: .callprototype _ ();\ncall %d1, (), shape;")
            .module(".func spin() { LOOP: bra LOOP; ret; }"),
        endless("a_loop_around_calls", "LOOP: call nothing, (); bra LOOP;").module(".func nothing() { .reg .b32 %x; mov.u32 %x, 1; ret; }"),
        endless("a_tree_of_recursive_calls", call).module(BUSY).limit(CUlimit::STACK_SIZE, 64 << 10),
        endless("a_tree_of_calls", "{ .param .b32 p0; st.param.b32 [p0], 1; call f44, (p0); }").module(wide()),
        endless("a_lock_taken_twice", &format!("{take}\nAGAIN: atom.global.cas.b32 %r5, [%a], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra AGAIN;")),
        endless("a_lock_that_a_lane_keeps", &format!("{take} bar.warp.sync -1; atom.global.exch.b32 %r5, [%a], 0;")).everybody(1, 32),
        endless(
            "two_locks_taken_crosswise_by_two_blocks",
            "mov.u32 %r1, %ctaid.x; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %a, %d1; xor.b32 %r2, %r1, 1; mul.wide.u32 %d2, %r2, 4;\n\
             add.u64 %d2, %a, %d2;\n\
             ONE: atom.global.cas.b32 %r5, [%d1], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra ONE; atom.global.add.u32 %r5, [%a+64], 1;\n\
             BOTH: ld.volatile.global.u32 %r5, [%a+64]; setp.lt.u32 %p2, %r5, 2; @%p2 bra BOTH;\n\
             TWO: atom.global.cas.b32 %r5, [%d2], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra TWO;",
        )
        .everybody(2, 1),
        endless(
            "a_block_that_waits_for_one_that_has_no_room",
            // Four multiprocessors hold two blocks of 1024 threads each; block 0 waits for the thousandth.
            "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p2, %r1, 999; @%p2 st.volatile.global.u32 [%a], 1;\n\
             LOOP: ld.volatile.global.u32 %r5, [%a]; setp.eq.u32 %p2, %r5, 0; @%p2 bra LOOP;",
        )
        .everybody(1000, 1024),
        endless("a_barrier_object_that_nobody_completes",
            "mbarrier.init.shared.b64 [sh], 2; mbarrier.arrive.shared.b64 %d1, [sh];\n\
             LOOP: mbarrier.test_wait.shared.b64 %p2, [sh], %d1; @!%p2 bra LOOP;")
        .declare(".shared .align 8 .b64 sh;")
        .everybody(1, 1),
        endless("printing", "LOOP: { .param .b64 p0; .param .b64 p1; .param .b32 r0; mov.u64 %d1, text; cvta.global.u64 %d1, %d1;\n\
             st.param.b64 [p0], %d1; st.param.b64 [p1], 0; call (r0), vprintf, (p0, p1); } bra LOOP;")
        .module(".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 text[4] = {46, 0, 0, 0};")
        .limit(CUlimit::PRINTF_FIFO_SIZE, 0),
        endless("allocating", "LOOP: { .param .b64 p0; .param .b64 r0; st.param.b64 [p0], 64; call (r0), malloc, (p0); ld.param.b64 %d1, [r0]; } bra LOOP;")
        .module(".extern .func (.param .b64 r) malloc(.param .b64 n);"),
    ]
    .into_iter()
    .map(Kind::from)
    .collect();
    kinds.extend([
        Kind::calls("endless::cancelled", || {
            launch(forever("LOOP: bra LOOP;"), 3, CUstream::NULL, 0);
            let canceller = cancel_later();
            no!(LAUNCH_FAILED, cuCtxSynchronize());
            canceller.join().expect("it only cancels");
            let text = cuprum_softcuda::last_fault(current()).expect("lost");
            assert!(text.contains("kernel `forever` was cancelled"), "{text}");
            assert!(text.contains("of 3 blocks had finished"), "{text}");
        }),
        Kind::calls("endless::cancelled_with_more_behind_it", || {
            let forever = forever("LOOP: ld.volatile.global.u32 %r1, [%a]; setp.eq.u32 %p, %r1, 0; @%p bra LOOP; ret;");
            let word = word();
            for stream in [new_stream(1), new_stream(1)] {
                for _ in 0..5 {
                    launch(forever, 2, stream, word);
                }
            }
            let canceller = cancel_later();
            no!(LAUNCH_FAILED, cuCtxSynchronize());
            canceller.join().expect("it only cancels");
        }),
        Kind::calls("endless::cancelled_where_nothing_runs", || {
            assert!(cuprum_softcuda::cancel(current()));
            ok!(cuCtxSynchronize());
            launch(forever("ret;"), 1, CUstream::NULL, 0);
            no!(LAUNCH_FAILED, cuCtxSynchronize());
        }),
        Kind::calls("endless::two_kernels_and_one_limit", || {
            // Each launch has its own time; the second is stopped with the first.
            assert!(cuprum_softcuda::set_time_limit(current(), Some(Duration::from_millis(100))));
            let function = forever("LOOP: bra LOOP;");
            let begun = Instant::now();
            launch(function, 1, new_stream(1), 0);
            launch(function, 1, new_stream(1), 0);
            no!(LAUNCH_TIMEOUT, cuCtxSynchronize());
            assert!(begun.elapsed() < Duration::from_secs(20));
        }),
        Kind::calls("endless::the_limit_is_each_context_s_own", || {
            let other = TestContext::on(0);
            assert!(cuprum_softcuda::set_time_limit(current(), Some(Duration::from_millis(50))));
            launch(forever("LOOP: bra LOOP;"), 1, CUstream::NULL, 0);
            no!(LAUNCH_TIMEOUT, cuCtxSynchronize());
            drop(other);
            // The context below has no limit and is sound.
            crate::kind::computes().expect("it computes");
            assert!(!cuprum_softcuda::set_time_limit(CUcontext::NULL, None));
            assert!(!cuprum_softcuda::cancel(CUcontext::NULL));
        }),
    ]);
    kinds.push(Kind::calls("endless::an_assertion_beside_it", || {
        let (code, module) = load(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %ctaid.x; \
             setp.eq.u32 %p, %r, 1; @%p trap; LOOP: bra LOOP; }\n",
        );
        assert_eq!(code, C::SUCCESS);
        let function = look_up(module, "k").1;
        let (none, p) = (std::ptr::null_mut(), std::ptr::null_mut());
        ok!(cuLaunchKernel(function, 64, 1, 1, 64, 1, 1, 0, CUstream::NULL, p, none));
        // Block 0 may run first and for ever; another thread of the device finds the trap.
        no!(LAUNCH_FAILED, cuCtxSynchronize());
    }));
    kinds
}
