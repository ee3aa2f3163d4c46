//! Kernels and the order of streams.

use std::time::Instant;

use crate::common::*;
use crate::{arg, function, init, launch, load, no, ok};

/// Page-locked words, zero at first.
fn words(count: usize) -> *mut u32 {
    let words = alloc_host(count * 4).cast::<u32>();
    // SAFETY: just allocated, aligned to 256.
    unsafe { words.write_bytes(0, count) };
    words
}

#[test]
fn a_kernel_waits_for_the_host() {
    init();
    let _context = TestContext::on(0);
    let wait = function(load(), "wait");
    let flag = words(2);
    let seen = flag.wrapping_add(1);
    let stream = new_stream(0);
    launch(wait, 1, 1, stream, &[arg(&flag), arg(&9u32), arg(&seen)]);
    no!(NOT_READY, cuStreamQuery(stream));
    // SAFETY: the kernel only reads the word.
    unsafe { flag.write_volatile(9) };
    ok!(cuStreamSynchronize(stream));
    // SAFETY: the kernel is done.
    assert_eq!(unsafe { seen.read() }, 9);
}

#[test]
fn kernels_of_two_streams_run_at_once() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (wait, poke) = (function(module, "wait"), function(module, "poke"));
    let (flag, seen) = (alloc(4), alloc(4));
    let (a, b) = (new_stream(0), new_stream(0));
    launch(wait, 1, 1, a, &[arg(&flag), arg(&3u32), arg(&seen)]);
    launch(poke, 1, 1, b, &[arg(&flag), arg(&3u32)]);
    ok!(cuStreamSynchronize(a));
    assert_eq!(download::<u32>(seen, 1), [3]);
}

#[test]
fn kernels_of_one_stream_run_in_order() {
    init();
    let _context = TestContext::on(0);
    let add = function(load(), "add");
    let a = alloc(4096);
    upload(a, &[0f32; 1024]);
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    for _ in 0..200 {
        launch(
            add,
            4,
            256,
            stream,
            &[arg(&a), arg(&a), arg(&1f32), arg(&1024u32)],
        );
    }
    ok!(cuStreamSynchronize(stream));
    assert_eq!(download::<f32>(a, 1024), [200.0; 1024]);
}

#[test]
fn copies_in_one_stream_and_kernels_in_the_legacy_one_are_ordered() {
    init();
    let _context = TestContext::on(0);
    let add = function(load(), "add");
    let a = alloc(4 << 10);
    let stream = new_stream(0);
    let pinned = words(1024).cast::<f32>();
    for round in 0..50u32 {
        ok!(cuMemsetD32Async(a, (round as f32).to_bits(), 1024, stream));
        launch(
            add,
            4,
            256,
            CUstream::NULL,
            &[arg(&a), arg(&a), arg(&1f32), arg(&1024u32)],
        );
        ok!(cuMemcpyDtoHAsync_v2(pinned.cast(), a, 4096, stream));
        ok!(cuStreamSynchronize(stream));
        // SAFETY: the copy is done.
        let found = unsafe { std::slice::from_raw_parts(pinned, 1024) };
        assert!(
            found.iter().all(|&x| x == round as f32 + 1.0),
            "{round}: {}",
            found[0]
        );
    }
}

#[test]
fn spin_locks_end() {
    init();
    let _context = TestContext::on(0);
    let locked = function(load(), "locked");
    let (lock, sum) = (alloc(4), alloc(4));
    launch(locked, 8, 64, CUstream::NULL, &[arg(&lock), arg(&sum)]);
    assert_eq!(download::<u32>(sum, 1), [512]);
}

#[test]
fn stream_ordered_memory_is_valid_between_its_ends() {
    init();
    let _context = TestContext::on(0);
    let poke = function(load(), "poke");
    let stream = new_stream(1);
    let mut address = 0;
    for value in 0..100u32 {
        ok!(cuMemAllocAsync(&mut address, 400, stream));
        launch(poke, 1, 1, stream, &[arg(&(address + 396)), arg(&value)]);
        ok!(cuMemFreeAsync(address, stream));
    }
    ok!(cuStreamSynchronize(stream));
    launch(poke, 1, 1, stream, &[arg(&(address + 396)), arg(&1u32)]);
    no!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

#[test]
fn events_time_kernels() {
    init();
    let _context = TestContext::on(0);
    let add = function(load(), "add");
    let a = alloc(4 << 20);
    let (start, end) = (new_event(0), new_event(0));
    launch(
        add,
        1,
        1,
        CUstream::NULL,
        &[arg(&a), arg(&a), arg(&1f32), arg(&1u32)],
    );
    ok!(cuCtxSynchronize());
    let begun = Instant::now();
    ok!(cuEventRecord(start, CUstream::NULL));
    launch(
        add,
        4096,
        256,
        CUstream::NULL,
        &[arg(&a), arg(&a), arg(&1f32), arg(&(1u32 << 20))],
    );
    ok!(cuEventRecord(end, CUstream::NULL));
    ok!(cuEventSynchronize(end));
    let most = begun.elapsed().as_secs_f32() * 1e3;
    let mut ms = 0.0;
    ok!(cuEventElapsedTime(&mut ms, start, end));
    assert!(ms > 0.0 && ms <= most, "{ms} of {most} ms");
}

#[test]
fn sixteen_threads_launch_on_streams_of_their_own() {
    init();
    let context = TestContext::on(0);
    let add = function(load(), "add");
    let handle = context.0;
    std::thread::scope(|scope| {
        for thread in 0..16u8 {
            scope.spawn(move || {
                ok!(cuCtxSetCurrent(handle));
                let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
                let a = alloc(4000);
                let first = f32::from(thread);
                ok!(cuMemsetD32Async(a, first.to_bits(), 1000, stream));
                for _ in 0..50 {
                    launch(
                        add,
                        8,
                        128,
                        stream,
                        &[arg(&a), arg(&a), arg(&1f32), arg(&1000u32)],
                    );
                }
                ok!(cuStreamSynchronize(stream));
                assert_eq!(download::<f32>(a, 1000), vec![first + 50.0; 1000]);
                ok!(cuMemFree_v2(a));
                ok!(cuStreamDestroy_v2(stream));
            });
        }
    });
}
