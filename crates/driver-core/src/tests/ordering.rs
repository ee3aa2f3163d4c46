//! Order across streams: which events are recorded and waited for, and which are not.

use super::mock::{self, ORDERED, PENDING, POOLS, calls};
use crate::{DeviceBuffer, Function, LaunchConfig, Module, PastUses, Stream};

const CONFIG: LaunchConfig = LaunchConfig::grid_1d(1, 32);

struct Bench {
    a: Stream,
    b: Stream,
    c: Stream,
    kernel: Function,
}

fn bench() -> Bench {
    let context = mock::context();
    let module = Module::from_ptx(&context, "//").unwrap();
    let new = || context.new_stream().unwrap();
    let bench = Bench {
        a: new(),
        b: new(),
        c: new(),
        kernel: module.function("k:8").unwrap(),
    };
    ORDERED.take();
    calls();
    bench
}

fn buffer(stream: &Stream) -> DeviceBuffer<f32> {
    let buffer = DeviceBuffer::zeros(stream, 100).unwrap();
    calls();
    buffer
}

/// The pairs of streams that were ordered since the last time.
fn ordered() -> Vec<(usize, usize)> {
    ORDERED.take()
}

fn pair(first: &Stream, then: &Stream) -> (usize, usize) {
    (first.raw().0.addr(), then.raw().0.addr())
}

#[test]
fn one_stream_makes_no_event_calls() {
    let Bench { a, kernel, .. } = bench();
    let mut x = buffer(&a);
    for _ in 0..3 {
        mock::launch(&kernel, &a, CONFIG, (&mut x,)).unwrap();
        mock::launch(&kernel, &a, CONFIG, (&x,)).unwrap();
    }
    assert_eq!(calls(), ["cuLaunchKernel"; 6]);
}

#[test]
fn a_second_stream_records_and_waits_exactly_once() {
    let Bench { a, b, kernel, .. } = bench();
    let x = buffer(&a);
    mock::launch(&kernel, &b, CONFIG, (&x,)).unwrap();
    // The event is made once for each stream, at its first need.
    assert_eq!(
        calls(),
        [
            "cuEventCreate",
            "cuEventRecord",
            "cuStreamWaitEvent",
            "cuLaunchKernel"
        ]
    );
    assert_eq!(ordered(), [pair(&a, &b)]);
    // What has been waited for is not waited for again.
    mock::launch(&kernel, &b, CONFIG, (&x,)).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"]);
}

#[test]
fn two_readers_do_not_wait_for_each_other_and_a_writer_waits_for_both() {
    let Bench { a, b, c, kernel } = bench();
    let mut x = buffer(&a);
    mock::launch(&kernel, &b, CONFIG, (&x,)).unwrap();
    mock::launch(&kernel, &c, CONFIG, (&x,)).unwrap();
    assert_eq!(ordered(), [pair(&a, &b), pair(&a, &c)]);
    mock::launch(&kernel, &a, CONFIG, (&mut x,)).unwrap();
    assert_eq!(ordered(), [pair(&b, &a), pair(&c, &a)]);
    // The write replaced all records: stream `a` is alone again and pays nothing.
    calls();
    mock::launch(&kernel, &a, CONFIG, (&mut x,)).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"]);
}

#[test]
fn disjoint_halves_do_not_order() {
    let Bench { a, b, kernel, .. } = bench();
    let mut x = buffer(&a);
    let (mut left, mut right) = x.split_at_mut(50);
    mock::launch(&kernel, &a, CONFIG, (&mut left,)).unwrap();
    mock::launch(&kernel, &b, CONFIG, (&mut right,)).unwrap();
    // The memory itself, and its zeros, are of stream `a`.
    assert_eq!(ordered(), [pair(&a, &b)]);
    for _ in 0..3 {
        mock::launch(&kernel, &a, CONFIG, (&mut left,)).unwrap();
        mock::launch(&kernel, &b, CONFIG, (&mut right,)).unwrap();
    }
    assert_eq!(ordered(), []);
    // Reading all of it needs both.
    mock::launch(&kernel, &a, CONFIG, (&x,)).unwrap();
    assert_eq!(ordered(), [pair(&b, &a)]);
}

#[test]
fn ranges_that_touch_order() {
    let Bench { a, b, kernel, .. } = bench();
    let mut x = buffer(&a);
    mock::launch(&kernel, &b, CONFIG, (x.slice_mut(..60),)).unwrap();
    mock::launch(&kernel, &a, CONFIG, (x.slice_mut(60..),)).unwrap();
    assert_eq!(ordered(), [pair(&a, &b)]);
    mock::launch(&kernel, &a, CONFIG, (x.slice(59..),)).unwrap();
    assert_eq!(ordered(), [pair(&b, &a)]);
}

#[test]
fn order_is_transitive() {
    let Bench { a, b, c, kernel } = bench();
    let (mut x, y) = (buffer(&a), buffer(&a));
    mock::launch(&kernel, &b, CONFIG, (&mut x,)).unwrap(); // b after a
    mock::launch(&kernel, &c, CONFIG, (&x,)).unwrap(); // c after b
    assert_eq!(ordered(), [pair(&a, &b), pair(&b, &c)]);
    // `c` comes after `b`, which came after all that `a` had done.
    mock::launch(&kernel, &c, CONFIG, (&y,)).unwrap();
    assert_eq!(ordered(), []);
}

#[test]
fn a_launch_waits_once_for_several_buffers_of_one_stream() {
    let Bench { a, b, kernel, .. } = bench();
    let kernel = kernel.module().function("k:8,8,8").unwrap();
    let (x, y, z) = (buffer(&a), buffer(&a), buffer(&a));
    mock::launch(&kernel, &b, CONFIG, (&x, &y, &z)).unwrap();
    assert_eq!(ordered(), [pair(&a, &b)]);
}

#[test]
fn synchronising_makes_waiting_needless() {
    let Bench { a, b, kernel, .. } = bench();
    let x = buffer(&a);
    a.synchronize().unwrap();
    calls();
    mock::launch(&kernel, &b, CONFIG, (&x,)).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"]);
}

#[test]
fn an_event_waited_for_by_hand_counts() {
    let Bench { a, b, kernel, .. } = bench();
    let x = buffer(&a);
    let event = a.record().unwrap();
    b.wait(&event).unwrap();
    calls();
    mock::launch(&kernel, &b, CONFIG, (&x,)).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"]);
    // It does not cover what came after it.
    let y = buffer(&a);
    mock::launch(&kernel, &b, CONFIG, (&y,)).unwrap();
    assert_eq!(
        calls(),
        [
            "cuEventCreate",
            "cuEventRecord",
            "cuStreamWaitEvent",
            "cuLaunchKernel"
        ]
    );
}

#[test]
fn untracked_views_are_left_alone() {
    let Bench { a, b, kernel, .. } = bench();
    let mut x = buffer(&a);
    // SAFETY: nothing accesses the memory, so there is nothing to order.
    let read = unsafe { x.view().untracked() };
    mock::launch(&kernel, &b, CONFIG, (read,)).unwrap();
    // SAFETY: as above.
    let write = unsafe { x.view_mut().untracked() };
    mock::launch(&kernel, &b, CONFIG, (write,)).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"; 2]);
}

#[test]
fn memory_is_freed_after_uses_on_other_streams() {
    POOLS.set(true);
    let Bench { a, b, kernel, .. } = bench();
    let x = buffer(&a);
    mock::launch(&kernel, &b, CONFIG, (&x,)).unwrap();
    ordered();
    calls();
    drop(x);
    assert_eq!(ordered(), [pair(&b, &a)]);
    assert_eq!(
        calls(),
        [
            "cuEventCreate",
            "cuEventRecord",
            "cuStreamWaitEvent",
            "cuMemFreeAsync"
        ]
    );
    POOLS.set(false);
}

#[test]
fn many_ranges_stay_few_records() {
    PENDING.set(true);
    let Bench { a, b, kernel, .. } = bench();
    let mut x = DeviceBuffer::<u8>::zeros(&a, 10_000).unwrap();
    for i in 0..1000 {
        mock::launch(&kernel, &b, CONFIG, (x.slice_mut(i * 10..i * 10 + 5),)).unwrap();
    }
    assert!(x.tracked_uses() < 100, "{}", x.tracked_uses());
    ordered();
    // What was joined still orders.
    mock::launch(&kernel, &a, CONFIG, (x.slice(9990..),)).unwrap();
    assert_eq!(ordered(), [pair(&b, &a)]);
    PENDING.set(false);
}

#[test]
fn dropped_streams_are_forgotten_once_they_are_done() {
    let Bench { a, kernel, .. } = bench();
    let x = buffer(&a);
    for _ in 0..100 {
        let short_lived = a.context().new_stream().unwrap();
        mock::launch(&kernel, &short_lived, CONFIG, (&x,)).unwrap();
    }
    assert!(x.tracked_uses() < 40, "{}", x.tracked_uses());
}

#[test]
fn a_wait_is_an_operation_that_others_wait_for() {
    let Bench { a, b, c, kernel } = bench();
    // All that `a` did has passed, and the host has seen it.
    drop(buffer(&a));
    a.synchronize().unwrap();
    for wait in [
        &(|| a.wait_for(&c)) as &dyn Fn() -> crate::Result<()>,
        &|| a.wait(&c.record()?),
        &|| PastUses::of(c.timeline(), c.inner().submitted() + 1).order(&a),
    ] {
        wait().unwrap();
        ORDERED.take();
        // Memory that is `a`'s because it waits, used for the first time.
        // SAFETY: no kernel runs.
        let y = unsafe { DeviceBuffer::<f32>::uninit(&a, 100) }.unwrap();
        assert!(!y.allocation().past_uses().have_passed());
        mock::launch(&kernel, &b, CONFIG, (&y,)).unwrap();
        assert_eq!(ordered(), [pair(&a, &b)]);
        a.synchronize().unwrap();
        assert!(PastUses::of(a.timeline(), a.inner().submitted()).have_passed());
    }
}

#[test]
fn stream_ordered_memory_is_first_used_after_its_allocation() {
    POOLS.set(true);
    let Bench {
        a,
        b,
        c: _c,
        kernel,
    } = bench();
    // SAFETY: no kernel runs.
    let y = unsafe { DeviceBuffer::<f32>::uninit(&a, 100) }.unwrap();
    assert_eq!(calls(), ["cuMemAllocAsync"]);
    mock::launch(&kernel, &b, CONFIG, (&y,)).unwrap();
    assert_eq!(ordered(), [pair(&a, &b)]);
    drop(y);
    POOLS.set(false);
}
