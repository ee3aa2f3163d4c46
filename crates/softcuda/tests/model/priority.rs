//! Priorities: whom the device's threads help first.

use std::time::Duration;

use crate::common::*;
use crate::{SMALL, arg, function, init, launch, load, ok, shared_word, zeros};

/// Launches 40 blocks in a stream of priority `first`, the third of which holds the device's only thread until 5 blocks are
/// queued in a stream of priority `second`. Answers in which order the blocks of both began.
fn order(first: i32, second: i32) -> (Vec<u32>, Vec<u32>) {
    let _context = TestContext::on(SMALL);
    let tickets = function(load(), "tickets");
    let streams = [first, second].map(|priority| {
        let mut stream = CUstream::NULL;
        ok!(cuStreamCreateWithPriority(
            &mut stream,
            flags::CU_STREAM_NON_BLOCKING,
            priority
        ));
        stream
    });
    let (ticket, a, b) = (shared_word(), zeros(40), zeros(5));
    let (go, nobody) = (shared_word(), u32::MAX);
    launch(
        tickets,
        40,
        1,
        streams[0],
        &[arg(&a), arg(&ticket), arg(&go), arg(&2u32)],
    );
    // SAFETY: a live word, which kernels change atomically.
    while unsafe { ticket.read_volatile() } < 3 {
        std::thread::yield_now();
    }
    launch(
        tickets,
        5,
        1,
        streams[1],
        &[arg(&b), arg(&ticket), arg(&go), arg(&nobody)],
    );
    std::thread::sleep(Duration::from_millis(300));
    // SAFETY: the kernel only reads the word.
    unsafe { go.write_volatile(1) };
    ok!(cuCtxSynchronize());
    (download(a, 40), download(b, 5))
}

#[test]
fn blocks_of_a_higher_priority_go_first() {
    init();
    // The thread is at the third block of the first launch when the second is queued.
    let (low, high) = order(0, -5);
    assert_eq!(high, [3, 4, 5, 6, 7], "{low:?}");
    assert_eq!(low[..3], [0, 1, 2]);
}

#[test]
fn blocks_of_equal_or_lower_priority_wait() {
    init();
    for (first, second) in [(0, 0), (-5, 0), (-3, -3)] {
        let (earlier, later) = order(first, second);
        assert_eq!(later, [40, 41, 42, 43, 44], "{first} {second}: {earlier:?}");
    }
}
