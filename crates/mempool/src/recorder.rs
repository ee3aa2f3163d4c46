//! What happened in a pool: the last events, at a cost that lets the recorder stay on.

use std::time::Duration;

/// One thing that happened in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// When, since the pool was made, as coarse as the system's cheapest clock: a few milliseconds.
    pub time: Duration,
    /// What.
    pub kind: EventKind,
    /// The address; 0 if there is none.
    pub address: u64,
    /// How many bytes: those asked for, of lent memory; those of the chunk otherwise.
    pub bytes: u64,
    /// The number of the stream ([`Timeline::id`](cuprum_driver_core::Timeline::id)); 0 if there is none.
    pub stream: u32,
}

/// The kind of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// Memory was lent.
    Allocated,
    /// Memory was given back to the pool.
    Released,
    /// The pool got memory from the driver.
    Grown,
    /// The pool gave memory back to the driver.
    Returned,
    /// An allocation failed.
    Failed,
}

/// The last events of one part of a pool.
#[derive(Debug)]
pub(crate) struct Recorder {
    events: Vec<Raw>,
    /// How many events to keep, a power of two; 0 switches the recorder off.
    capacity: usize,
    /// How many events there were.
    count: usize,
}

/// An event as it is kept: half a line of cache.
#[derive(Clone, Copy, Debug)]
struct Raw {
    address: u64,
    bytes: u64,
    time: Ticks,
    stream: u32,
    kind: EventKind,
}

impl Recorder {
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = match capacity {
            0 => 0,
            wanted => wanted.next_power_of_two(),
        };
        Self {
            events: Vec::new(),
            capacity,
            count: 0,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, kind: EventKind, address: u64, bytes: u64, stream: u32) {
        if self.capacity == 0 {
            return;
        }
        let index = self.count & (self.capacity - 1);
        if index == self.events.len() {
            self.grow();
        }
        self.count += 1;
        // Field by field: a copy of the whole would wait for the fields to be stored.
        let place = &mut self.events[index];
        place.time = Ticks::now();
        place.address = address;
        place.bytes = bytes;
        place.stream = stream;
        place.kind = kind;
    }

    /// A place for one more event, while the ring is filled for the first time.
    #[cold]
    fn grow(&mut self) {
        self.events.push(Raw {
            address: 0,
            bytes: 0,
            time: Ticks::now(),
            stream: 0,
            kind: EventKind::Failed,
        });
    }

    /// The events kept, oldest first.
    pub(crate) fn events(&self, start: Ticks) -> impl Iterator<Item = Event> {
        let oldest = if self.count > self.capacity {
            self.count & (self.capacity - 1)
        } else {
            0
        };
        let (late, early) = self.events.split_at(oldest);
        early.iter().chain(late).map(move |raw| Event {
            time: raw.time.since(start),
            kind: raw.kind,
            address: raw.address,
            bytes: raw.bytes,
            stream: raw.stream,
        })
    }

    /// How many events there were, kept or not.
    pub(crate) fn count(&self) -> u64 {
        self.count as u64
    }
}

pub(crate) use clock::Ticks;

#[cfg(target_os = "linux")]
mod clock {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    /// A moment, in nanoseconds of the system's coarse clock, which costs no instruction that waits.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Ticks(u64);

    impl Ticks {
        #[inline]
        pub(crate) fn now() -> Self {
            let now = clock_gettime(ClockId::MonotonicCoarse);
            Self((now.tv_sec as u64) * 1_000_000_000 + now.tv_nsec as u64)
        }

        pub(crate) fn since(self, start: Self) -> Duration {
            Duration::from_nanos(self.0.saturating_sub(start.0))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod clock {
    use std::time::{Duration, Instant};

    /// A moment.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Ticks(Instant);

    impl Ticks {
        #[inline]
        pub(crate) fn now() -> Self {
            Self(Instant::now())
        }

        pub(crate) fn since(self, start: Self) -> Duration {
            self.0.saturating_duration_since(start.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_the_last_events_in_order() {
        let start = Ticks::now();
        let mut recorder = Recorder::new(3);
        for number in 0..10_u64 {
            let kept: Vec<u64> = recorder.events(start).map(|event| event.address).collect();
            let want: Vec<u64> = (number.saturating_sub(4)..number).collect();
            assert_eq!(kept, want);
            recorder.record(EventKind::Allocated, number, 1, 2);
        }
        assert_eq!(recorder.count(), 10);
        let times: Vec<Duration> = recorder.events(start).map(|event| event.time).collect();
        assert!(times.is_sorted());
    }

    #[test]
    fn a_ring_of_nothing_records_nothing() {
        let mut recorder = Recorder::new(0);
        recorder.record(EventKind::Grown, 1, 1, 1);
        assert_eq!(recorder.events(Ticks::now()).count(), 0);
    }
}
