//! Events and the time between them.

use std::time::{Duration, Instant};

use crate::common::*;
use crate::{init, no, ok};

#[test]
fn an_event_passes_with_the_work_before_it() {
    init();
    let _context = TestContext::on(0);
    let (stream, event) = (new_stream(0), new_event(0));
    ok!(cuEventQuery(event));
    ok!(cuEventSynchronize(event));
    let gate = Gate::close(stream);
    ok!(cuEventRecord(event, stream));
    no!(NOT_READY, cuEventQuery(event));
    gate.open();
    ok!(cuEventSynchronize(event));
    ok!(cuEventQuery(event));
    ok!(cuEventDestroy_v2(event));
    no!(INVALID_HANDLE, cuEventQuery(event));
    no!(INVALID_HANDLE, cuEventDestroy_v2(event));
    no!(INVALID_HANDLE, cuEventRecord(CUevent::NULL, stream));
    no!(INVALID_HANDLE, cuStreamWaitEvent(stream, event, 0));
    let mut event = CUevent::NULL;
    no!(INVALID_VALUE, cuEventCreate(&mut event, 0x80));
    no!(INVALID_VALUE, cuEventCreate(std::ptr::null_mut(), 0));
    no!(
        INVALID_VALUE,
        cuEventCreate(&mut event, flags::CU_EVENT_INTERPROCESS)
    );
    no!(
        NOT_SUPPORTED,
        cuEventCreate(
            &mut event,
            flags::CU_EVENT_INTERPROCESS | flags::CU_EVENT_DISABLE_TIMING
        )
    );
}

/// PR-40 of the public reports.
#[test]
fn three_mistakes_three_errors() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(0);
    let (start, end) = (new_event(0), new_event(flags::CU_EVENT_BLOCKING_SYNC));
    let untimed = new_event(flags::CU_EVENT_DISABLE_TIMING);
    let mut ms = -1.0;
    no!(INVALID_HANDLE, cuEventElapsedTime(&mut ms, start, end));
    assert!(last_error().expect("failed").contains("never recorded"));
    let before = Instant::now();
    ok!(cuEventRecord(start, stream));
    ok!(cuEventRecord(untimed, stream));
    let gate = Gate::close(stream);
    ok!(cuEventRecord(end, stream));
    no!(NOT_READY, cuEventElapsedTime(&mut ms, start, end));
    no!(NOT_READY, cuEventElapsedTime(&mut ms, end, start));
    no!(INVALID_HANDLE, cuEventElapsedTime(&mut ms, untimed, end));
    assert!(last_error().expect("failed").contains("without timing"));
    no!(INVALID_HANDLE, cuEventElapsedTime(&mut ms, end, untimed));
    assert_eq!(ms, -1.0);
    std::thread::sleep(Duration::from_millis(5));
    gate.open();
    ok!(cuEventSynchronize(end));
    let most = before.elapsed().as_secs_f32() * 1e3;
    ok!(cuEventElapsedTime(&mut ms, start, end));
    assert!(ms >= 5.0 && ms <= most, "{ms} of {most} ms");
    let mut back = 0.0;
    ok!(cuEventElapsedTime_v2(&mut back, end, start));
    assert_eq!(back, -ms);
    no!(
        INVALID_VALUE,
        cuEventElapsedTime(std::ptr::null_mut(), start, end)
    );
    no!(
        INVALID_HANDLE,
        cuEventElapsedTime(&mut ms, CUevent::NULL, end)
    );
}

#[test]
fn recording_again_moves_the_event() {
    init();
    let _context = TestContext::on(0);
    let (a, b) = (new_stream(1), new_stream(1));
    let event = new_event(0);
    ok!(cuEventRecord(event, a));
    ok!(cuEventSynchronize(event));
    let gate = Gate::close(b);
    ok!(cuEventRecord(event, b));
    no!(NOT_READY, cuEventQuery(event));
    // A wait holds on to the record of its moment.
    ok!(cuStreamWaitEvent(a, event, 0));
    ok!(cuEventRecord(event, new_stream(1)));
    ok!(cuEventSynchronize(event));
    no!(NOT_READY, cuStreamQuery(a));
    no!(INVALID_VALUE, cuStreamWaitEvent(a, event, 2));
    gate.open();
    ok!(cuStreamSynchronize(a));
    ok!(cuStreamSynchronize(b));
}

#[test]
fn events_order_streams_of_two_devices() {
    init();
    let first = TestContext::on(0);
    let (stream, event) = (new_stream(1), new_event(2));
    let gate = Gate::close(stream);
    ok!(cuEventRecord(event, stream));
    let second = TestContext::on(1);
    let waiting = new_stream(1);
    ok!(cuStreamWaitEvent(waiting, event, 0));
    no!(NOT_READY, cuStreamQuery(waiting));
    gate.open();
    ok!(cuStreamSynchronize(waiting));
    ok!(cuStreamQuery(stream));
    drop(second);
    drop(first);
}
