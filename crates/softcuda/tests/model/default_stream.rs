//! The legacy default stream, and the default streams of threads.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuprum_softcuda::{table, table_per_thread};

use crate::common::*;
use crate::{arg, function, init, launch, load, no, ok};

/// Calls an entry of the table for per-thread default streams; it must succeed.
macro_rules! ptsz {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let entry = table_per_thread().$name.expect(stringify!($name));
        // SAFETY: as for `cu!`.
        let code = unsafe { entry($($arg),*) };
        assert!(code.is_success(), "{}: {code:?}: {:?}", stringify!($name), last_error());
    }};
}

fn is_busy(stream: CUstream) -> bool {
    match crate::cu!(cuStreamQuery(stream)) {
        CUresult::SUCCESS => false,
        CUresult::NOT_READY => true,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_null_stream_means_the_thread_s_own() {
    init();
    let _context = TestContext::on(0);
    let linear = function(load(), "linear");
    let x = alloc(400);
    upload(x, &[1u32; 100]);
    let (a, b, n) = (3u32, 4u32, 100u32);
    // Held up: the thread's own stream; nothing of it may pass.
    let gate = Gate::close(CUstream::PER_THREAD);
    let mut args = [arg(&x), arg(&a), arg(&b), arg(&n)];
    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
    ptsz!(cuLaunchKernel(
        linear,
        1,
        1,
        1,
        128,
        1,
        1,
        0,
        CUstream::NULL,
        p,
        none
    ));
    let counter = AtomicUsize::new(0);
    ptsz!(cuLaunchHostFunc(
        CUstream::NULL,
        Some(count),
        counter_pointer(&counter)
    ));
    let event = new_event(0);
    ptsz!(cuEventRecord(event, CUstream::NULL));
    no!(NOT_READY, cuEventQuery(event));
    let free = new_stream(flags::CU_STREAM_NON_BLOCKING);
    assert!(!is_busy(free) && is_busy(CUstream::PER_THREAD));
    assert_eq!(counter.load(Ordering::SeqCst), 0);
    gate.open();
    ptsz!(cuStreamSynchronize(CUstream::NULL));
    assert_eq!(counter.load(Ordering::SeqCst), 1);
    let mut found = vec![0u32; 100];
    ptsz!(cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), x, 400));
    assert_eq!(found, [7; 100]);
}

#[test]
fn the_own_streams_of_two_threads_do_not_wait_for_each_other() {
    init();
    let context = TestContext::on(0);
    let gate = Gate::close(CUstream::PER_THREAD);
    let handle = context.0;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            ok!(cuCtxSetCurrent(handle));
            let x = alloc(64);
            // Synchronous calls of this thread use its own stream, which nothing holds up.
            ptsz!(cuMemsetD32_v2(x, 9, 16));
            let mut found = [0u32; 16];
            ptsz!(cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), x, 64));
            assert_eq!(found, [9; 16]);
            ptsz!(cuStreamSynchronize(CUstream::NULL));
        });
        other.join().expect("it is not held up");
    });
    assert!(is_busy(CUstream::PER_THREAD));
    gate.open();
    ok!(cuCtxSynchronize());
}

#[test]
fn the_own_stream_and_the_legacy_one_wait_for_each_other() {
    init();
    let _context = TestContext::on(0);
    let (linear, x) = (function(load(), "linear"), alloc(4));
    upload(x, &[1u32]);
    let (a, b, n) = (2u32, 1u32, 1u32);
    let args = [arg(&x), arg(&a), arg(&b), arg(&n)];
    // Doubling and adding one, in turn on the one and the other: each sees the result of the one before.
    let gate = Gate::close(CUstream::LEGACY);
    for stream in [
        CUstream::PER_THREAD,
        CUstream::LEGACY,
        CUstream::PER_THREAD,
        CUstream::LEGACY,
    ] {
        launch(linear, 1, 1, stream, &args);
    }
    let free = new_stream(flags::CU_STREAM_NON_BLOCKING);
    assert!(is_busy(CUstream::PER_THREAD) && is_busy(CUstream::LEGACY) && !is_busy(free));
    gate.open();
    ok!(cuCtxSynchronize());
    assert_eq!(download::<u32>(x, 1), [31]);
}

#[test]
fn entry_points_are_found_by_mode() {
    init();
    let find = |name: &std::ffi::CStr, flags: u64| {
        let (mut address, mut status): (*mut c_void, u32) = (NULL, 9);
        ok!(cuGetProcAddress_v2(
            name.as_ptr(),
            &mut address,
            13_000,
            flags,
            &mut status
        ));
        assert_eq!(status, 0);
        address.addr()
    };
    let in_table =
        |table: &DriverTable| table.address("cuMemcpyHtoD_v2").map(|a| a.as_ptr().addr());
    assert_eq!(Some(find(c"cuMemcpyHtoD", 0)), in_table(table()));
    assert_eq!(Some(find(c"cuMemcpyHtoD", 1)), in_table(table()));
    assert_eq!(Some(find(c"cuMemcpyHtoD", 2)), in_table(table_per_thread()));
    assert_ne!(in_table(table()), in_table(table_per_thread()));
    for symbol in DriverTable::SYMBOLS {
        assert_eq!(
            table().address(symbol).is_some(),
            table_per_thread().address(symbol).is_some(),
            "{symbol}"
        );
    }
}

#[test]
fn every_thread_s_own_stream_at_once() {
    init();
    let context = TestContext::on(0);
    let linear = function(load(), "linear");
    let handle = context.0;
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            scope.spawn(move || {
                ok!(cuCtxSetCurrent(handle));
                let x = alloc(4000);
                let (a, b, n) = (1u32, thread, 1000u32);
                ptsz!(cuMemsetD32Async(x, thread, 1000, CUstream::NULL));
                for _ in 0..40 {
                    let mut args = [arg(&x), arg(&a), arg(&b), arg(&n)];
                    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
                    ptsz!(cuLaunchKernel(
                        linear,
                        8,
                        1,
                        1,
                        128,
                        1,
                        1,
                        0,
                        CUstream::NULL,
                        p,
                        none
                    ));
                }
                let mut found = vec![0u32; 1000];
                ptsz!(cuMemcpyDtoHAsync_v2(
                    found.as_mut_ptr().cast(),
                    x,
                    4000,
                    CUstream::NULL
                ));
                ptsz!(cuStreamSynchronize(CUstream::NULL));
                assert_eq!(found, vec![41 * thread; 1000]);
                ok!(cuMemFree_v2(x));
            });
        }
    });
}
