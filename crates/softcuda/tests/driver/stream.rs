//! Streams: handles, functions of the host, destruction with work queued.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::*;
use crate::{cu, init, no, ok};

#[test]
fn streams_tell_what_they_are() {
    init();
    let context = TestContext::on(0);
    let mut stream = CUstream::NULL;
    no!(INVALID_VALUE, cuStreamCreate(&mut stream, 2));
    no!(INVALID_VALUE, cuStreamCreate(std::ptr::null_mut(), 0));
    ok!(cuStreamCreateWithPriority(
        &mut stream,
        flags::CU_STREAM_NON_BLOCKING,
        -100
    ));
    let (mut priority, mut found, mut of, mut id) = (9, 9, CUcontext::NULL, 0);
    ok!(cuStreamGetPriority(stream, &mut priority));
    ok!(cuStreamGetFlags(stream, &mut found));
    ok!(cuStreamGetCtx(stream, &mut of));
    ok!(cuStreamGetId(stream, &mut id));
    assert_eq!(
        (priority, found, of),
        (-5, flags::CU_STREAM_NON_BLOCKING, context.0)
    );
    let mut other = 0;
    ok!(cuStreamGetId(CUstream::NULL, &mut other));
    assert_ne!(id, other);
    ok!(cuStreamGetId(CUstream::LEGACY, &mut id));
    assert_eq!(id, other, "both name the legacy stream");
    ok!(cuStreamGetId(CUstream::PER_THREAD, &mut id));
    assert_ne!(id, other);
    let elsewhere = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            ok!(cuCtxSetCurrent(context.0));
            let mut id = 0;
            ok!(cuStreamGetId(CUstream::PER_THREAD, &mut id));
            id
        });
        thread.join().expect("asks")
    });
    assert_ne!(id, elsewhere, "each thread has its own");
    let mut capture = CUstreamCaptureStatus::ACTIVE;
    ok!(cuStreamIsCapturing(stream, &mut capture));
    assert_eq!(capture, CUstreamCaptureStatus::NONE);
    ok!(cuStreamDestroy_v2(stream));
    no!(INVALID_HANDLE, cuStreamDestroy_v2(stream));
    no!(INVALID_HANDLE, cuStreamQuery(stream));
    for default in [CUstream::NULL, CUstream::LEGACY, CUstream::PER_THREAD] {
        ok!(cuStreamQuery(default));
        no!(INVALID_HANDLE, cuStreamDestroy_v2(default));
    }
    let event = new_event(0);
    no!(INVALID_HANDLE, cuStreamQuery(CUstream(event.0)));
}

#[test]
fn queued_work_is_asynchronous_and_in_order() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(0);
    let gate = Gate::close(stream);
    let counter = AtomicUsize::new(0);
    for _ in 0..10 {
        ok!(cuLaunchHostFunc(
            stream,
            Some(count),
            counter_pointer(&counter)
        ));
    }
    no!(NOT_READY, cuStreamQuery(stream));
    assert_eq!(counter.load(Ordering::SeqCst), 0);
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(counter.load(Ordering::SeqCst), 10);
    ok!(cuStreamQuery(stream));
    no!(INVALID_VALUE, cuLaunchHostFunc(stream, None, NULL));
}

#[test]
fn a_destroyed_stream_finishes_its_work() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let gate = Gate::close(stream);
    let counter = AtomicUsize::new(0);
    ok!(cuLaunchHostFunc(
        stream,
        Some(count),
        counter_pointer(&counter)
    ));
    let begun = Instant::now();
    ok!(cuStreamDestroy_v2(stream));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "destruction does not wait"
    );
    no!(
        INVALID_HANDLE,
        cuLaunchHostFunc(stream, Some(count), counter_pointer(&counter))
    );
    gate.open();
    ok!(cuCtxSynchronize());
    assert_eq!(counter.load(Ordering::SeqCst), 1);
}

#[test]
fn destroying_a_context_waits_for_its_work() {
    init();
    let context = TestContext::on(0);
    let stream = new_stream(0);
    let gate = Gate::close(stream);
    let counter = AtomicUsize::new(0);
    ok!(cuLaunchHostFunc(
        stream,
        Some(count),
        counter_pointer(&counter)
    ));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            gate.open();
        });
        drop(context);
        assert_eq!(counter.load(Ordering::SeqCst), 1);
    });
}

/// What callbacks saw: their stream, status, and a code from inside.
type Seen = Mutex<Vec<(usize, CUresult, CUresult)>>;

unsafe extern "C" fn callback(stream: CUstream, status: CUresult, seen: *mut c_void) {
    let inside = cu!(cuCtxSynchronize());
    // SAFETY: the test passes a pointer to its list, which outlives the queued work.
    let seen = unsafe { &*seen.cast::<Seen>() };
    seen.lock()
        .expect("not poisoned")
        .push((stream.0.addr(), status, inside));
}

#[test]
fn callbacks_get_stream_and_status_and_must_not_call_back() {
    init();
    let _context = TestContext::on(0);
    let seen = Seen::default();
    let pointer = std::ptr::from_ref(&seen).cast_mut().cast();
    let stream = new_stream(0);
    ok!(cuStreamAddCallback(stream, Some(callback), pointer, 0));
    ok!(cuStreamAddCallback(
        CUstream::NULL,
        Some(callback),
        pointer,
        0
    ));
    no!(
        INVALID_VALUE,
        cuStreamAddCallback(stream, Some(callback), pointer, 1)
    );
    no!(INVALID_VALUE, cuStreamAddCallback(stream, None, pointer, 0));
    ok!(cuCtxSynchronize());
    let expected = |stream: CUstream| (stream.0.addr(), CUresult::SUCCESS, CUresult::NOT_PERMITTED);
    assert_eq!(
        *seen.lock().expect("not poisoned"),
        [expected(stream), expected(CUstream::NULL)]
    );
}

#[test]
fn a_thousand_streams_come_and_go_on_eight_threads() {
    init();
    let context = TestContext::on(0);
    let handle = context.0;
    let counter = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                ok!(cuCtxPushCurrent_v2(handle));
                for _ in 0..125 {
                    let stream = new_stream(0);
                    ok!(cuLaunchHostFunc(
                        stream,
                        Some(count),
                        counter_pointer(&counter)
                    ));
                    let event = new_event(flags::CU_EVENT_DISABLE_TIMING);
                    ok!(cuEventRecord(event, stream));
                    ok!(cuStreamDestroy_v2(stream));
                    ok!(cuEventSynchronize(event));
                    ok!(cuEventDestroy_v2(event));
                }
            });
        }
    });
    assert_eq!(counter.load(Ordering::SeqCst), 1000);
}

#[test]
fn objects_of_another_context_are_usable_while_one_is_current() {
    init();
    let first = TestContext::on(0);
    let (stream, event) = (new_stream(0), new_event(0));
    let second = TestContext::on(1);
    ok!(cuStreamSynchronize(stream));
    ok!(cuEventRecord(event, stream));
    no!(INVALID_HANDLE, cuEventRecord(event, CUstream::NULL));
    ok!(cuStreamWaitEvent(CUstream::NULL, event, 0));
    ok!(cuEventDestroy_v2(event));
    ok!(cuStreamDestroy_v2(stream));
    std::thread::scope(|scope| {
        scope.spawn(|| no!(INVALID_CONTEXT, cuStreamSynchronize(CUstream::NULL)));
    });
    drop(second);
    drop(first);
}
