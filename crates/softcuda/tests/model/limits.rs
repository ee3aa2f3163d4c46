//! Limits of a context act on the launches that follow, in that context only.

use std::sync::{Arc, Mutex};

use crate::common::*;
use crate::{arg, function, init, launch, load, no, ok, zeros};

fn limit(limit: CUlimit) -> usize {
    let mut value = 0;
    ok!(cuCtxGetLimit(&mut value, limit));
    value
}

#[test]
fn the_stack_is_as_large_as_the_limit_says() {
    init();
    for (stack, depth, fits) in [
        (1024, 4, true),
        (1024, 200, false),
        (64 << 10, 200, true),
        (64 << 10, 2000, false),
        (512 << 10, 2000, true),
    ] {
        let context = TestContext::on(0);
        ok!(cuCtxSetLimit(CUlimit::STACK_SIZE, stack));
        assert_eq!(limit(CUlimit::STACK_SIZE), stack);
        let (recurse, out) = (function(load(), "recurse"), zeros(1));
        launch(recurse, 1, 1, CUstream::NULL, &[arg(&out), arg(&depth)]);
        if fits {
            ok!(cuCtxSynchronize());
            assert_eq!(download::<u32>(out, 1), [depth], "{stack}");
        } else {
            no!(HARDWARE_STACK_ERROR, cuCtxSynchronize());
        }
        drop(context);
    }
}

#[test]
fn a_limit_can_be_raised_between_launches() {
    init();
    let _context = TestContext::on(0);
    let other = TestContext::on(0);
    ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
    let (recurse, out) = (function(load(), "recurse"), zeros(1));
    launch(recurse, 1, 1, CUstream::NULL, &[arg(&out), arg(&4u32)]);
    ok!(cuCtxSetLimit(CUlimit::STACK_SIZE, 100 << 10));
    launch(recurse, 4, 64, CUstream::NULL, &[arg(&out), arg(&500u32)]);
    ok!(cuCtxSynchronize());
    assert_eq!(download::<u32>(out, 1), [500]);
    ok!(cuCtxPushCurrent_v2(other.0));
    assert_eq!(
        limit(CUlimit::STACK_SIZE),
        1024,
        "the other context has its own"
    );
}

#[test]
fn the_heap_is_as_large_as_the_limit_says() {
    init();
    for (heap, expected) in [(0usize, 0), (1 << 16, 1), (1 << 20, 16), (8 << 20, 20)] {
        let _context = TestContext::on(0);
        ok!(cuCtxSetLimit(CUlimit::MALLOC_HEAP_SIZE, heap));
        assert_eq!(limit(CUlimit::MALLOC_HEAP_SIZE), heap);
        let (take, out) = (function(load(), "take"), zeros(1));
        // Twenty blocks of 64 KiB.
        launch(
            take,
            1,
            1,
            CUstream::NULL,
            &[arg(&out), arg(&65_536u64), arg(&20u32)],
        );
        assert_eq!(download::<u32>(out, 1), [expected], "{heap}");
    }
}

#[test]
fn the_heap_of_a_context_dies_with_it() {
    init();
    let free = || {
        let (mut free, mut total) = (0, 0);
        ok!(cuMemGetInfo_v2(&mut free, &mut total));
        free
    };
    let _outer = TestContext::on(1);
    for _ in 0..20 {
        // 64 MiB of device memory would not hold what twenty contexts take.
        let _context = TestContext::on(1);
        let (take, out) = (function(load(), "take"), zeros(1));
        launch(
            take,
            1,
            1,
            CUstream::NULL,
            &[arg(&out), arg(&(1u64 << 20)), arg(&8u32)],
        );
        assert_eq!(download::<u32>(out, 1), [8], "{} bytes are free", free());
    }
}

#[test]
fn the_printf_buffer_is_as_large_as_the_limit_says() {
    init();
    let records: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&records);
    cuprum_softcuda::set_printf_handler(Some(Box::new(move |text| {
        let text = String::from_utf8_lossy(text).into_owned();
        sink.lock().expect("not poisoned").push(text);
    })));
    let _context = TestContext::on(0);
    let speak = function(load(), "speak");
    for (fifo, kept) in [(3000, 200), (300, 100), (0, 0)] {
        ok!(cuCtxSetLimit(CUlimit::PRINTF_FIFO_SIZE, fifo));
        assert_eq!(limit(CUlimit::PRINTF_FIFO_SIZE), fifo);
        launch(speak, 10, 20, CUstream::NULL, &[]);
        ok!(cuCtxSynchronize());
        let records = std::mem::take(&mut *records.lock().expect("not poisoned"));
        assert_eq!(
            records.iter().filter(|record| *record == "ab\n").count(),
            kept,
            "{fifo}"
        );
        let lost = records
            .iter()
            .filter(|record| record.starts_with('['))
            .count();
        assert_eq!(lost, usize::from(kept < 200), "{records:?}");
    }
    cuprum_softcuda::set_printf_handler(None);
}
