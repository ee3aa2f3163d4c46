//! Holders of memory are asked to give it back, and streams are remembered after their end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::mock::{self, ORDERED, PENDING, calls, is_allocated};
use crate::{
    Context, DeviceBuffer, DirectAllocator, ErrorKind, LaunchConfig, Limit, Module,
    PageLockedAllocator, PastUses, PinnedAllocator as _, PinnedBuffer, Reclaim, Returned, Stream,
};

/// Holds memory, and gives it back when asked.
#[derive(Debug, Default)]
struct Holder {
    held: Mutex<Vec<(u64, PastUses)>>,
    asked: AtomicUsize,
}

impl Reclaim for Holder {
    fn reclaim(&self, returned: &mut Returned<'_>) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        for (address, uses) in self.held.lock().unwrap().drain(..) {
            // SAFETY: `hold` below took the address from the allocator, and it is given back once.
            unsafe { returned.memory(address, &uses) };
        }
    }
}

/// A registered holder of `count` pieces that `stream` used last.
fn hold(stream: &Stream, count: usize) -> (Arc<Holder>, Vec<u64>) {
    let holder = Arc::new(Holder::default());
    let addresses: Vec<u64> = (0..count)
        .map(|_| DirectAllocator.allocate_once(stream, 64).unwrap())
        .collect();
    stream.launch_host(|| ()).unwrap();
    let uses = PastUses::of(stream.timeline(), 1);
    *holder.held.lock().unwrap() = addresses.iter().map(|&a| (a, uses.clone())).collect();
    let weak = Arc::downgrade(&holder);
    stream.context().register_reclaim(weak);
    (holder, addresses)
}

fn live(addresses: &[u64]) -> usize {
    addresses.iter().filter(|&&a| is_allocated(a)).count()
}

#[test]
fn who_runs_out_of_memory_asks_the_holders_and_tries_once_more() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let (holder, addresses) = hold(&stream, 3);
    mock::fail("cuMemAlloc_v2", super::OUT_OF_MEMORY);
    calls();
    let error = DeviceBuffer::<u8>::zeros(&stream, 100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    let tried = calls()
        .iter()
        .filter(|&&call| call == "cuMemAlloc_v2")
        .count();
    assert_eq!(tried, 2, "one more try, no endless loop");
    assert_eq!(holder.asked.load(Ordering::Relaxed), 1);
    assert_eq!(
        live(&addresses),
        0,
        "what was given back reached the driver"
    );

    // Page-locked memory asks too; an allocation that does not run short does not.
    mock::fail("cuMemAlloc_v2", cuprum_driver_sys::CUresult::SUCCESS);
    mock::fail("cuMemHostAlloc", super::OUT_OF_MEMORY);
    assert!(PinnedBuffer::<u8>::zeros(&context, 10).is_err());
    assert_eq!(holder.asked.load(Ordering::Relaxed), 2);
    mock::fail("cuMemHostAlloc", cuprum_driver_sys::CUresult::SUCCESS);
    PinnedBuffer::<u8>::zeros(&context, 10).unwrap();
    DeviceBuffer::<u8>::zeros(&stream, 100).unwrap();
    assert_eq!(holder.asked.load(Ordering::Relaxed), 2);

    // `allocate_once` asks nobody.
    mock::fail("cuMemAlloc_v2", super::OUT_OF_MEMORY);
    assert!(DirectAllocator.allocate_once(&stream, 8).is_err());
    assert_eq!(holder.asked.load(Ordering::Relaxed), 2);
    mock::fail("cuMemAlloc_v2", cuprum_driver_sys::CUresult::SUCCESS);

    // A holder that is gone is not asked.
    drop(holder);
    mock::fail("cuMemAlloc_v2", super::OUT_OF_MEMORY);
    assert!(DeviceBuffer::<u8>::zeros(&stream, 100).is_err());
    mock::fail("cuMemAlloc_v2", cuprum_driver_sys::CUresult::SUCCESS);
}

#[test]
fn whatever_needs_memory_asks_the_holders() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("k")
        .unwrap();
    let (holder, _) = hold(&stream, 1);
    let one = LaunchConfig::grid_1d(1, 32);
    let needs: [(&str, &dyn Fn() -> bool); 4] = [
        ("cuModuleLoadDataEx", &|| {
            Module::from_ptx(&context, "//").is_ok()
        }),
        ("cuCtxSetLimit", &|| {
            context.set_limit(Limit::Heap, 1 << 30).is_ok()
        }),
        ("cuStreamCreate", &|| context.new_stream().is_ok()),
        ("cuLaunchKernel", &|| {
            mock::launch(&kernel, &stream, one, ()).is_ok()
        }),
    ];
    for (number, (call, act)) in needs.into_iter().enumerate() {
        assert!(act(), "{call}");
        assert_eq!(holder.asked.load(Ordering::Relaxed), number, "{call}");
        mock::fail(call, super::OUT_OF_MEMORY);
        calls();
        assert!(!act(), "{call}");
        assert_eq!(
            calls().iter().filter(|&&name| name == call).count(),
            2,
            "{call}: one more try"
        );
        assert_eq!(holder.asked.load(Ordering::Relaxed), number + 1, "{call}");
        // Other failures are no reason to ask.
        mock::fail(call, cuprum_driver_sys::CUresult::INVALID_VALUE);
        assert!(!act(), "{call}");
        assert_eq!(holder.asked.load(Ordering::Relaxed), number + 1, "{call}");
        mock::fail(call, cuprum_driver_sys::CUresult::SUCCESS);
    }
}

/// Asks for memory while it is asked for memory.
#[derive(Debug)]
struct Greedy(Stream, AtomicUsize);

impl Reclaim for Greedy {
    fn reclaim(&self, _returned: &mut Returned<'_>) {
        self.1.fetch_add(1, Ordering::Relaxed);
        assert!(DeviceBuffer::<u8>::zeros(&self.0, 100).is_err());
    }
}

#[test]
fn asking_does_not_recurse() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let greedy = Arc::new(Greedy(stream.clone(), AtomicUsize::new(0)));
    let weak = Arc::downgrade(&greedy);
    context.register_reclaim(weak);
    mock::fail("cuMemAlloc_v2", super::OUT_OF_MEMORY);
    assert!(DeviceBuffer::<u8>::zeros(&stream, 100).is_err());
    assert_eq!(greedy.1.load(Ordering::Relaxed), 1);
    mock::fail("cuMemAlloc_v2", cuprum_driver_sys::CUresult::SUCCESS);
}

#[test]
fn a_context_that_ends_takes_back_what_is_held() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let (holder, addresses) = hold(&stream, 2);
    let pending = context.new_stream().unwrap();
    drop((context, stream, pending));
    assert_eq!(holder.asked.load(Ordering::Relaxed), 1);
    assert_eq!(live(&addresses), 0);
    assert!(holder.held.lock().unwrap().is_empty());
}

fn uses_of(context: &Context) -> (PastUses, usize) {
    let gone = context.new_stream().unwrap();
    gone.launch_host(|| ()).unwrap();
    let uses = PastUses::of(gone.timeline(), 1);
    let raw = gone.raw().0.addr();
    drop(gone);
    (uses, raw)
}

#[test]
fn a_stream_that_is_gone_is_waited_for_and_keeps_nothing_alive() {
    let device = mock::device_with(mock::table());
    let context = device.context().unwrap();
    PENDING.set(true);
    calls();
    let (mut uses, gone) = uses_of(&context);
    assert_eq!(
        calls(),
        [
            "cuStreamCreate",
            "cuLaunchHostFunc",
            "cuEventCreate",
            "cuEventRecord",
            "cuStreamDestroy_v2"
        ]
    );
    uses.poll(&context).unwrap();
    assert!(!uses.have_passed());
    let stream = context.new_stream().unwrap();
    ORDERED.take();
    uses.order(&stream).unwrap();
    assert_eq!(ORDERED.take(), [(gone, stream.raw().0.addr())]);
    // What has been waited for is not waited for again.
    uses.order(&stream).unwrap();
    assert_eq!(ORDERED.take(), []);
    assert!(uses.are_before(&stream));

    // Parked memory waits for the end of the stream too.
    let address = DirectAllocator.allocate_once(&stream, 64).unwrap();
    // SAFETY: the memory was allocated above and is given back once.
    unsafe { DirectAllocator.release_after(&context, address, &uses) };
    context.collect().unwrap();
    assert!(is_allocated(address));
    PENDING.set(false);
    context.collect().unwrap();
    assert!(!is_allocated(address));
    uses.poll(&context).unwrap();
    assert!(uses.have_passed());
    uses.forget_passed();
    assert!(uses.is_empty());

    // Uses outlive their context.
    PENDING.set(true);
    let (uses, _) = uses_of(&context);
    drop((context, stream));
    drop(uses);
    PENDING.set(false);
}

#[test]
fn a_stream_that_nobody_remembers_ends_without_a_mark() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    stream.launch_host(|| ()).unwrap();
    calls();
    drop(stream);
    assert_eq!(calls(), ["cuStreamDestroy_v2"]);
}

#[test]
fn a_busy_stream_is_asked_by_an_event_left_there() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    stream.launch_host(|| ()).unwrap();
    let uses = PastUses::of(stream.timeline(), 1);
    PENDING.set(true);
    calls();
    uses.poll(&context).unwrap();
    uses.poll(&context).unwrap();
    assert_eq!(
        calls(),
        [
            "cuEventCreate",
            "cuEventRecord",
            "cuEventQuery",
            "cuEventQuery"
        ]
    );
    // More work is queued behind the event, which passes all the same.
    stream.launch_host(|| ()).unwrap();
    PENDING.set(false);
    uses.poll(&context).unwrap();
    assert!(uses.have_passed());
    assert!(!PastUses::of(stream.timeline(), 2).have_passed());
    // The host can wait as well.
    PastUses::of(stream.timeline(), 2).wait(&context).unwrap();
    assert!(PastUses::of(stream.timeline(), 2).have_passed());
}

#[test]
fn unions_of_uses_keep_the_latest_position_of_each_stream() {
    let context = mock::context();
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    for stream in [&a, &a, &b] {
        stream.launch_host(|| ()).unwrap();
    }
    let mut uses = PastUses::of(a.timeline(), 1);
    assert_eq!(uses.only_stream(), Some(a.timeline().id()));
    uses.merge(&PastUses::of(a.timeline(), 2));
    assert_eq!(uses.only_stream(), Some(a.timeline().id()));
    uses.merge(&PastUses::of(b.timeline(), 1));
    assert_eq!(uses.only_stream(), None);
    assert_eq!(uses.timelines().count(), 2);
    a.synchronize().unwrap();
    uses.forget_passed();
    assert_eq!(uses.only_stream(), Some(b.timeline().id()));
    assert!(uses.are_before(&b) && !uses.are_before(&a));
}

/// Counts what comes back.
#[derive(Debug, Default)]
struct Counting(Mutex<Vec<(usize, bool)>>);

// SAFETY: everything is handed to the allocator of pages of their own.
unsafe impl crate::PinnedAllocator for Counting {
    fn allocate(&self, context: &Context, bytes: usize) -> crate::Result<std::ptr::NonNull<u8>> {
        PageLockedAllocator::default().allocate(context, bytes)
    }

    unsafe fn release(
        &self,
        context: &Context,
        pointer: std::ptr::NonNull<u8>,
        bytes: usize,
        uses: PastUses,
    ) -> crate::Result<()> {
        self.0.lock().unwrap().push((bytes, uses.have_passed()));
        // SAFETY: the caller's promise is this one.
        unsafe { PageLockedAllocator::default().release(context, pointer, bytes, uses) }
    }
}

#[test]
fn page_locked_memory_goes_back_to_who_gave_it_with_the_copies_in_flight() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let mut device = DeviceBuffer::<u32>::zeros(&stream, 4).unwrap();
    let counting = Arc::new(Counting::default());
    let make = || {
        let pointer = counting.allocate(&context, 16).unwrap();
        // SAFETY: the memory holds four elements of plain data and is released once, by the buffer.
        unsafe {
            PinnedBuffer::<u32>::from_raw_parts(
                &context,
                pointer.cast(),
                4,
                Arc::<Counting>::clone(&counting),
            )
        }
    };
    let mut host = make();
    host.as_mut_slice().unwrap().fill(3);
    PENDING.set(true);
    device.copy_from_pinned(&stream, &host).unwrap();
    drop(host);
    PENDING.set(false);
    assert_eq!(*counting.0.lock().unwrap(), [(16, false)]);
    make().close().unwrap();
    drop(make());
    assert_eq!(
        *counting.0.lock().unwrap(),
        [(16, false), (16, true), (16, true)]
    );
    assert_eq!(device.to_vec().unwrap(), [3; 4]);
}
