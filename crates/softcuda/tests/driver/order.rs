//! The order of work across streams: the legacy stream's rules, and when the host waits.

use crate::common::*;
use crate::{init, no, ok};

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    init();
    let _context = TestContext::on(0);
    let (before, after, apart) = (
        new_stream(0),
        new_stream(0),
        new_stream(flags::CU_STREAM_NON_BLOCKING),
    );
    let [e1, e2, e3] = [0; 3].map(new_event);
    let gate = Gate::close(before);
    ok!(cuEventRecord(e1, CUstream::NULL));
    ok!(cuEventRecord(e2, after));
    ok!(cuEventRecord(e3, apart));
    ok!(cuEventSynchronize(e3));
    no!(NOT_READY, cuEventQuery(e1));
    no!(NOT_READY, cuEventQuery(e2));
    no!(NOT_READY, cuStreamQuery(CUstream::LEGACY));
    gate.open();
    ok!(cuEventSynchronize(e2));
    ok!(cuEventQuery(e1));
}

#[test]
fn the_own_stream_of_a_thread_is_a_blocking_one() {
    init();
    let _context = TestContext::on(0);
    let event = new_event(0);
    let gate = Gate::close(CUstream::PER_THREAD);
    ok!(cuEventRecord(event, CUstream::LEGACY));
    no!(NOT_READY, cuEventQuery(event));
    gate.open();
    ok!(cuEventSynchronize(event));
}

#[test]
fn blocking_streams_do_not_wait_for_each_other() {
    init();
    let _context = TestContext::on(0);
    let (a, b) = (new_stream(0), new_stream(0));
    let gate = Gate::close(a);
    let event = new_event(0);
    ok!(cuEventRecord(event, b));
    ok!(cuEventSynchronize(event));
    no!(NOT_READY, cuStreamQuery(a));
    gate.open();
    ok!(cuCtxSynchronize());
}

/// PR-30 (b): data arrives only after release.
#[test]
fn a_copy_to_the_device_waits_its_turn_and_keeps_what_it_read() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let a = alloc(400_000);
    let mut pageable = vec![1u32; 100_000];
    let gate = Gate::close(stream);
    ok!(cuMemcpyHtoDAsync_v2(
        a,
        pageable.as_ptr().cast(),
        400_000,
        stream
    ));
    pageable.fill(2);
    assert_eq!(download::<u32>(a, 100_000), vec![0; 100_000]);
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(
        download::<u32>(a, 100_000),
        vec![1; 100_000],
        "pageable memory was read at the call"
    );
}

#[test]
fn a_copy_from_page_locked_memory_reads_it_in_stream_order() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(0);
    let a = alloc(1000);
    let pinned = alloc_host(1000);
    let gate = Gate::close(stream);
    // SAFETY: 1000 bytes of this test; the queued copies wait behind the gate.
    unsafe { pinned.write_bytes(1, 1000) };
    ok!(cuMemcpyHtoDAsync_v2(a, pinned.cast(), 1000, stream));
    // SAFETY: as above.
    unsafe { pinned.write_bytes(2, 1000) };
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(download::<u8>(a, 1000), vec![2; 1000]);

    let gate = Gate::close(stream);
    ok!(cuMemsetD8Async(a, 7, 1000, stream));
    ok!(cuMemcpyDtoHAsync_v2(pinned.cast(), a, 1000, stream));
    no!(NOT_READY, cuStreamQuery(stream));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    // SAFETY: 1000 bytes of this test, and the stream is done with them.
    let bytes = unsafe { std::slice::from_raw_parts(pinned, 1000) };
    assert!(bytes.iter().all(|&byte| byte == 7));
}

#[test]
fn a_synchronous_copy_waits_for_blocking_streams() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(0);
    let a = alloc(1000);
    let gate = Gate::close(stream);
    ok!(cuMemsetD8Async(a, 9, 1000, stream));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            gate.open();
        });
        assert_eq!(download::<u8>(a, 1000), vec![9; 1000]);
    });
}

#[test]
fn copies_within_the_device_and_fills_do_not_wait() {
    init();
    let _context = TestContext::on(0);
    let (a, b) = (alloc(1 << 20), alloc(1 << 20));
    let gate = Gate::close(CUstream::NULL);
    ok!(cuMemsetD8_v2(a, 4, 1 << 20));
    ok!(cuMemcpyDtoD_v2(b, a, 1 << 20));
    no!(NOT_READY, cuStreamQuery(CUstream::NULL));
    gate.open();
    assert_eq!(download::<u8>(b, 1 << 20), vec![4; 1 << 20]);
}

#[test]
fn freeing_waits_for_the_work() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let (a, b) = (alloc(1 << 16), alloc(1 << 16));
    ok!(cuMemsetD8_v2(a, 3, 1 << 16));
    ok!(cuCtxSynchronize());
    let gate = Gate::close(stream);
    ok!(cuMemcpyDtoDAsync_v2(b, a, 1 << 16, stream));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            gate.open();
        });
        ok!(cuMemFree_v2(a));
        ok!(cuStreamQuery(stream));
    });
    assert_eq!(download::<u8>(b, 1 << 16), vec![3; 1 << 16]);
}
