//! A driver without a device that watches: it knows what every piece of queued work reads and writes, and what it is
//! ordered after, and tells when two uses of the same bytes are not ordered.
//!
//! Work finishes late and at random, a stream at a time, but never before what it waits for. Order between two uses
//! comes from their stream, from events that one stream records and another waits for, or from the host having *seen*
//! that the first has finished. That the first happens to have finished, and nobody asked, counts for nothing.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::sync::Mutex;

use cuprum_driver_core::sys::{CUdeviceptr, CUevent, CUhostFn, CUresult, CUstream, DriverTable};
use cuprum_driver_core::{Context, Stream};

use super::{Random, fake};

/// How far each stream had come.
type Clock = BTreeMap<usize, u64>;

/// A stream that a context created; what it has queued stays known after its end.
#[derive(Default)]
struct Queue {
    context: usize,
    /// Pieces of work queued.
    submitted: u64,
    /// Pieces finished.
    completed: u64,
    /// What the host has seen to be finished.
    seen: u64,
    /// What the next piece of work comes after, in other streams.
    after: Clock,
    /// Waits that finishing has not passed: the pieces queued before, and what comes first.
    waits: VecDeque<(u64, Clock)>,
}

/// A use of some bytes.
#[derive(Clone, Copy)]
struct Use {
    stream: usize,
    position: u64,
    write: bool,
}

/// Bytes with the same uses, up to `end`.
#[derive(Clone)]
struct Segment {
    end: u64,
    uses: Vec<Use>,
}

struct Watch {
    queues: BTreeMap<usize, Queue>,
    /// The clocks that events took.
    events: BTreeMap<usize, Clock>,
    segments: BTreeMap<u64, Segment>,
    random: Random,
    /// What was found, with the context of the streams.
    faults: Vec<(usize, String)>,
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

fn watch<R>(act: impl FnOnce(&mut Watch) -> R) -> R {
    let mut watch = WATCH.lock().unwrap();
    act(watch.get_or_insert_with(|| Watch {
        queues: BTreeMap::new(),
        events: BTreeMap::new(),
        segments: BTreeMap::new(),
        random: Random::new(1),
        faults: Vec::new(),
    }))
}

impl Watch {
    /// Everything that comes before the next piece of work on a stream, but for what is known to be over.
    fn clock(&mut self, stream: usize) -> Clock {
        let mut queue = self.queues.remove(&stream).unwrap_or_default();
        queue
            .after
            .retain(|other, position| self.queues[other].seen < *position);
        let mut clock = queue.after.clone();
        clock.insert(stream, queue.submitted);
        self.queues.insert(stream, queue);
        clock
    }

    /// Queues a piece of work that uses no memory.
    fn work(&mut self, stream: usize) -> u64 {
        let queue = self.queues.entry(stream).or_default();
        queue.submitted += 1;
        let position = queue.submitted;
        self.advance();
        position
    }

    /// Queues a use of bytes and judges it.
    fn use_bytes(&mut self, stream: usize, start: u64, bytes: u64, write: bool) {
        let position = self.work(stream);
        let end = start + bytes;
        let mut gap = start;
        for key in self.cut(start, end) {
            let segment = self.segments.get_mut(&key).unwrap();
            let earlier = std::mem::take(&mut segment.uses);
            let segment_end = segment.end;
            for one in &earlier {
                if (one.write || write) && !self.is_before(one, stream) {
                    let text = format!(
                        "{start:#x}..{end:#x} is used on {stream:#x} at {position}, not ordered after {:#x} at {}",
                        one.stream, one.position
                    );
                    self.faults.push((self.queues[&stream].context, text));
                }
            }
            let new = Use {
                stream,
                position,
                write,
            };
            let mut uses = if write { Vec::new() } else { earlier };
            uses.retain(|one| one.write || one.stream != stream);
            uses.push(new);
            self.segments.get_mut(&key).unwrap().uses = uses;
            if gap < key {
                self.segments.insert(
                    gap,
                    Segment {
                        end: key,
                        uses: vec![new],
                    },
                );
            }
            gap = segment_end;
        }
        if gap < end {
            let uses = vec![Use {
                stream,
                position,
                write,
            }];
            self.segments.insert(gap, Segment { end, uses });
        }
    }

    /// The segments of a range, cut at its ends.
    fn cut(&mut self, start: u64, end: u64) -> Vec<u64> {
        for at in [start, end] {
            if let Some((&key, segment)) = self.segments.range_mut(..at).next_back()
                && segment.end > at
            {
                let right = segment.clone();
                segment.end = at;
                debug_assert!(key < at);
                self.segments.insert(at, right);
            }
        }
        self.segments
            .range(start..end)
            .map(|(&key, _)| key)
            .collect()
    }

    /// Whether whatever `stream` queues next comes after a use.
    fn is_before(&self, earlier: &Use, stream: usize) -> bool {
        earlier.stream == stream
            || self.queues[&earlier.stream].seen >= earlier.position
            || self.queues[&stream]
                .after
                .get(&earlier.stream)
                .is_some_and(|&position| position >= earlier.position)
    }

    /// The host touches memory, or gives it back to the system: every use must be known to be over.
    fn end_of(&mut self, start: u64, bytes: u64, what: &str) {
        for key in self.cut(start, start + bytes) {
            let segment = self.segments.remove(&key).unwrap();
            for one in segment.uses {
                let queue = &self.queues[&one.stream];
                if queue.seen < one.position {
                    let text = format!(
                        "{start:#x} is {what} while {:#x} at {} may still use it",
                        one.stream, one.position
                    );
                    self.faults.push((queue.context, text));
                }
            }
        }
    }

    /// Lets some stream get a little further, now and then.
    fn advance(&mut self) {
        if self.random.below(4) != 0 {
            return;
        }
        let behind: Vec<usize> = self
            .queues
            .iter()
            .filter(|(_, queue)| queue.completed < queue.submitted)
            .map(|(&stream, _)| stream)
            .collect();
        if behind.is_empty() {
            return;
        }
        let stream = behind[self.random.below(behind.len() as u64) as usize];
        let queue = &self.queues[&stream];
        let left = queue.submitted - queue.completed;
        let most = queue.completed + 1 + self.random.below(left);
        let mut target = most;
        let mut passed = 0;
        for (position, clock) in &queue.waits {
            if *position >= target {
                break;
            }
            if !self.is_over(clock) {
                target = *position;
                break;
            }
            passed += 1;
        }
        let queue = self.queues.get_mut(&stream).unwrap();
        queue.waits.drain(..passed);
        queue.completed = queue.completed.max(target);
    }

    fn is_over(&self, clock: &Clock) -> bool {
        clock
            .iter()
            .all(|(stream, position)| self.queues[stream].completed >= *position)
    }

    /// The host sees that all of `clock` is over.
    fn see(&mut self, clock: &Clock) {
        for (stream, &position) in clock {
            let queue = self.queues.get_mut(stream).unwrap();
            queue.seen = queue.seen.max(position);
            queue.completed = queue.completed.max(position);
        }
    }

    /// Asks whether `clock` is over, which lets time pass.
    fn ask(&mut self, clock: &Clock) -> CUresult {
        self.advance();
        if self.is_over(clock) {
            self.see(clock);
            CUresult::SUCCESS
        } else {
            CUresult::NOT_READY
        }
    }

    /// The host waits for all work of a context.
    fn finish(&mut self, context: usize) {
        for queue in self
            .queues
            .values_mut()
            .filter(|queue| queue.context == context)
        {
            queue.completed = queue.submitted;
            queue.seen = queue.submitted;
            queue.waits.clear();
            queue.after.clear();
        }
    }
}

/// A context of the driver that watches.
pub(crate) fn context() -> Context {
    let mut table: DriverTable = fake::table();
    watched(&mut table);
    fake::device_of(table).context().unwrap()
}

/// What was found in the context of `stream`.
pub(crate) fn faults(stream: &Stream) -> Vec<String> {
    watch(|watch| {
        let context = watch.queues[&fake::raw(stream)].context;
        let of = |fault: &&(usize, String)| fault.0 == context;
        watch
            .faults
            .iter()
            .filter(of)
            .map(|fault| fault.1.clone())
            .collect()
    })
}

/// The host writes to memory that copies may read.
pub(crate) fn host_touches(address: u64, bytes: u64) {
    watch(|watch| watch.end_of(address, bytes, "touched by the host"));
}

/// Entries in place of those of [`fake`].
macro_rules! watched {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        fn watched(table: &mut DriverTable) {
            $(
                #[allow(non_snake_case, reason = "names of the driver")]
                unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult { $body }
                table.$name = Some($name);
            )*
        }
    };
}

const OK: CUresult = CUresult::SUCCESS;

fn fill(stream: CUstream, address: CUdeviceptr, bytes: usize) -> CUresult {
    watch(|watch| watch.use_bytes(stream.0.addr(), address, bytes as u64, true));
    OK
}

watched! {
    cuStreamCreate(stream: *mut CUstream, _flags: u32) {
        let new = fake::handle(CUstream);
        let queue = Queue { context: fake::current(), ..Queue::default() };
        watch(|watch| watch.queues.insert(new.0.addr(), queue));
        // SAFETY: callers of the driver pass places for answers.
        unsafe { *stream = new };
        OK
    }
    cuMemsetD8Async(address: CUdeviceptr, _value: u8, count: usize, stream: CUstream) { fill(stream, address, count) }
    cuMemsetD16Async(address: CUdeviceptr, _value: u16, count: usize, stream: CUstream) { fill(stream, address, 2 * count) }
    cuMemsetD32Async(address: CUdeviceptr, _value: u32, count: usize, stream: CUstream) { fill(stream, address, 4 * count) }
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        watch(|watch| {
            watch.use_bytes(stream.0.addr(), from.addr() as u64, bytes as u64, false);
            watch.use_bytes(stream.0.addr(), to, bytes as u64, true);
        });
        OK
    }
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        watch(|watch| {
            watch.use_bytes(stream.0.addr(), from, bytes as u64, false);
            watch.use_bytes(stream.0.addr(), to.addr() as u64, bytes as u64, true);
        });
        OK
    }
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        watch(|watch| {
            watch.use_bytes(stream.0.addr(), from, bytes as u64, false);
            watch.use_bytes(stream.0.addr(), to, bytes as u64, true);
        });
        OK
    }
    cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) {
        watch(|watch| watch.work(stream.0.addr()));
        if let Some(function) = function {
            // SAFETY: the caller's function and its data, called once.
            unsafe { function(data) };
        }
        OK
    }
    cuMemFree_v2(address: CUdeviceptr) {
        let bytes = fake::size_of(address);
        watch(|watch| watch.end_of(address, bytes, "given back to the driver"));
        fake::free(address)
    }
    cuMemFreeHost(pointer: *mut c_void) {
        let address = pointer.addr() as u64;
        let bytes = fake::size_of(address);
        watch(|watch| watch.end_of(address, bytes, "given back to the system"));
        fake::free(address)
    }
    cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: u32) {
        watch(|watch| {
            let Some(mut clock) = watch.events.get(&event.0.addr()).cloned() else {
                return;
            };
            // What it has queued itself comes first anyway.
            clock.remove(&stream.0.addr());
            let queue = watch.queues.entry(stream.0.addr()).or_default();
            for (&other, &position) in &clock {
                let known = queue.after.entry(other).or_default();
                *known = position.max(*known);
            }
            let position = queue.submitted;
            queue.waits.push_back((position, clock));
        });
        OK
    }
    cuEventRecord(event: CUevent, stream: CUstream) {
        watch(|watch| {
            let clock = watch.clock(stream.0.addr());
            watch.events.insert(event.0.addr(), clock);
        });
        OK
    }
    cuEventDestroy_v2(event: CUevent) {
        watch(|watch| watch.events.remove(&event.0.addr()));
        OK
    }
    cuEventQuery(event: CUevent) {
        watch(|watch| match watch.events.get(&event.0.addr()).cloned() {
            Some(clock) => watch.ask(&clock),
            None => OK,
        })
    }
    cuEventSynchronize(event: CUevent) {
        watch(|watch| {
            if let Some(clock) = watch.events.get(&event.0.addr()).cloned() {
                watch.see(&clock);
            }
        });
        OK
    }
    cuStreamQuery(stream: CUstream) {
        watch(|watch| {
            let clock = watch.clock(stream.0.addr());
            watch.ask(&clock)
        })
    }
    cuStreamSynchronize(stream: CUstream) {
        watch(|watch| {
            let clock = watch.clock(stream.0.addr());
            watch.see(&clock);
        });
        OK
    }
    cuCtxSynchronize() { watch(|watch| watch.finish(fake::current())); OK }
}
