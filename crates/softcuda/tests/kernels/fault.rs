//! Faults: what they say, what they poison, and how a program goes on.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::*;
use crate::{TIME_LIMIT, arg, function, init, launch, load, no, ok};

/// Writes four bytes past `offset` bytes of an allocation of 1000 bytes, in the current context.
fn poke(offset: u64) -> CUdeviceptr {
    let poke = function(load(), "poke");
    let at = alloc(1000) + offset;
    launch(poke, 1, 1, CUstream::NULL, &[arg(&at), arg(&5u32)]);
    at
}

#[test]
fn the_shadow_is_exact() {
    init();
    for (offset, code) in [
        (0, CUresult::SUCCESS),
        (996, CUresult::SUCCESS),
        (998, CUresult::MISALIGNED_ADDRESS),
        (1000, CUresult::ILLEGAL_ADDRESS),
        (1020, CUresult::ILLEGAL_ADDRESS),
        (1024, CUresult::ILLEGAL_ADDRESS),
        (u64::MAX - 3, CUresult::ILLEGAL_ADDRESS),
        (1 << 40, CUresult::ILLEGAL_ADDRESS),
    ] {
        let _context = TestContext::on(0);
        // `poke` cannot add past the end of the address space, so wrap here.
        let poke = function(load(), "poke");
        let at = alloc(1000).wrapping_add(offset);
        launch(poke, 1, 1, CUstream::NULL, &[arg(&at), arg(&5u32)]);
        assert_eq!(crate::cu!(cuCtxSynchronize()), code, "offset {offset}");
    }
}

#[test]
fn a_fault_poisons_the_context_and_a_new_one_works() {
    init();
    let context = TestContext::on(0);
    let (stream, event, memory, module) = (new_stream(0), new_event(0), alloc(64), load());
    assert_eq!(cuprum_softcuda::last_fault(context.0), None);
    let at = poke(1000);
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    let text = cuprum_softcuda::last_fault(context.0).expect("poisoned");
    let address = format!("{at:#x}");
    for told in [
        "poke",
        &address,
        "4 bytes",
        "block (0, 0, 0)",
        "thread (0, 0, 0)",
        "0 bytes past the end",
        "1000 bytes",
        "line",
    ] {
        assert!(text.contains(told), "no {told:?} in {text}");
    }
    // Every call on the context tells it, and none hangs or crashes.
    no!(ILLEGAL_ADDRESS, cuMemAlloc_v2(&mut 0, 8));
    assert!(
        last_error()
            .expect("failed")
            .contains("earlier asynchronous work")
    );
    no!(ILLEGAL_ADDRESS, cuMemFree_v2(memory));
    no!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    no!(ILLEGAL_ADDRESS, cuStreamQuery(stream));
    no!(ILLEGAL_ADDRESS, cuStreamDestroy_v2(stream));
    no!(ILLEGAL_ADDRESS, cuEventRecord(event, stream));
    no!(ILLEGAL_ADDRESS, cuEventQuery(event));
    no!(ILLEGAL_ADDRESS, cuEventDestroy_v2(event));
    no!(ILLEGAL_ADDRESS, cuModuleUnload(module));
    no!(
        ILLEGAL_ADDRESS,
        cuMemcpyHtoD_v2(memory, [0u8; 8].as_ptr().cast(), 8)
    );
    no!(ILLEGAL_ADDRESS, cuCtxGetFlags(&mut 0));
    // The context can still be named, put away and destroyed.
    let mut current = CUcontext::NULL;
    ok!(cuCtxGetCurrent(&mut current));
    assert_eq!(current, context.0);
    let other = TestContext::on(0);
    no!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    poke(996);
    ok!(cuCtxSynchronize());
    drop(other);
    drop(context);
    let _context = TestContext::on(0);
    poke(0);
    ok!(cuCtxSynchronize());
}

/// On the second device, whose primary context no other test uses.
#[test]
fn a_poisoned_primary_context_is_reset() {
    init();
    let mut context = CUcontext::NULL;
    ok!(cuDevicePrimaryCtxRetain(&mut context, 1));
    for reset in [true, false] {
        ok!(cuCtxSetCurrent(context));
        poke(1000);
        no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
        no!(ILLEGAL_ADDRESS, cuDevicePrimaryCtxRetain(&mut context, 1));
        if reset {
            ok!(cuDevicePrimaryCtxReset_v2(1));
        }
        ok!(cuDevicePrimaryCtxRelease_v2(1));
        ok!(cuDevicePrimaryCtxRetain(&mut context, 1));
        ok!(cuCtxSetCurrent(context));
        poke(0);
        ok!(cuCtxSynchronize());
    }
    ok!(cuDevicePrimaryCtxRelease_v2(1));
    ok!(cuCtxSetCurrent(CUcontext::NULL));
}

#[test]
fn work_behind_a_fault_is_dropped_and_callbacks_are_told() {
    unsafe extern "C" fn callback(_: CUstream, status: CUresult, seen: *mut c_void) {
        // SAFETY: the test passes a pointer to its list, which outlives the queued work.
        let seen = unsafe { &*seen.cast::<Mutex<Vec<CUresult>>>() };
        seen.lock().expect("not poisoned").push(status);
    }
    init();
    let seen: Mutex<Vec<CUresult>> = Mutex::default();
    let counter = AtomicUsize::new(0);
    let context = TestContext::on(0);
    let poke = function(load(), "poke");
    let (at, out) = (alloc(4) + 4, alloc_host(4));
    let (stream, other) = (new_stream(1), new_stream(1));
    let gate = Gate::close(stream);
    launch(poke, 1, 1, stream, &[arg(&at), arg(&1u32)]);
    launch(poke, 1, 1, stream, &[arg(&out), arg(&1u32)]);
    ok!(cuLaunchHostFunc(
        stream,
        Some(count),
        counter_pointer(&counter)
    ));
    let pointer = std::ptr::from_ref(&seen).cast_mut().cast();
    ok!(cuStreamAddCallback(stream, Some(callback), pointer, 0));
    let event = new_event(0);
    ok!(cuEventRecord(event, stream));
    ok!(cuStreamWaitEvent(other, event, 0));
    gate.open();
    no!(ILLEGAL_ADDRESS, cuStreamSynchronize(other));
    no!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    assert_eq!(
        *seen.lock().expect("not poisoned"),
        [CUresult::ILLEGAL_ADDRESS]
    );
    assert_eq!(counter.load(Ordering::SeqCst), 0);
    // SAFETY: page-locked memory of this context, which lives; nothing writes it now.
    assert_eq!(unsafe { out.cast::<u32>().read() }, 0);
    drop(context);
}

#[test]
fn kernels_that_never_end_are_ended() {
    init();
    let context = TestContext::on(0);
    let begun = std::time::Instant::now();
    launch(function(load(), "forever"), 2, 32, CUstream::NULL, &[]);
    no!(LAUNCH_TIMEOUT, cuCtxSynchronize());
    assert!(begun.elapsed() >= TIME_LIMIT);
    assert!(
        cuprum_softcuda::last_fault(context.0)
            .expect("poisoned")
            .contains("forever")
    );
}

#[test]
fn a_fault_stops_other_kernels_of_the_context() {
    init();
    let context = TestContext::on(0);
    let module = load();
    let begun = std::time::Instant::now();
    launch(function(module, "forever"), 1, 1, new_stream(1), &[]);
    let (poke, at) = (function(module, "poke"), 8u64);
    launch(poke, 1, 1, new_stream(1), &[arg(&at), arg(&1u32)]);
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert!(begun.elapsed() < TIME_LIMIT, "cancelled, not timed out");
    assert!(
        cuprum_softcuda::last_fault(context.0)
            .expect("poisoned")
            .contains("null pointer")
    );
}
