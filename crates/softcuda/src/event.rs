//! Events: marks in streams, with the time at which they were passed.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use cuprum_driver_sys::{CUevent, CUresult, flags};

use crate::context::{Context, current};
use crate::driver::driver;
use crate::error::{Outcome, fail, lock};
use crate::marker::Marker;
use crate::registry::{handle, next_id};
use crate::stream::{Stream, Task};

/// One event of a context.
#[derive(Debug)]
pub(crate) struct Event {
    /// A number unique in the process.
    pub(crate) id: u64,
    /// The context.
    pub(crate) context: Arc<Context>,
    /// Whether it records time.
    timed: bool,
    record: Mutex<Option<Record>>,
}

/// The last time that the event was recorded.
#[derive(Clone, Debug)]
struct Record {
    marker: Arc<Marker>,
    passed_at: Arc<OnceLock<Instant>>,
}

impl Event {
    /// A new event of a context, known to the driver.
    pub(crate) fn create(context: &Arc<Context>, flags: u32) -> Outcome<CUevent> {
        let known = flags::CU_EVENT_BLOCKING_SYNC
            | flags::CU_EVENT_DISABLE_TIMING
            | flags::CU_EVENT_INTERPROCESS;
        let timed = flags & flags::CU_EVENT_DISABLE_TIMING == 0;
        if flags & !known != 0 {
            return fail(
                CUresult::INVALID_VALUE,
                format!("unknown event flags {flags:#x}"),
            );
        }
        if flags & flags::CU_EVENT_INTERPROCESS != 0 {
            return match timed {
                true => fail(
                    CUresult::INVALID_VALUE,
                    "an interprocess event must disable timing",
                ),
                false => fail(
                    CUresult::NOT_SUPPORTED,
                    "events of software devices cannot be shared between processes",
                ),
            };
        }
        let event = Self {
            id: next_id(),
            context: Arc::clone(context),
            timed,
            record: Mutex::new(None),
        };
        let shown = CUevent(handle(event.id));
        let events = &driver()?.events;
        events.insert(event.id, Arc::new(event));
        context.keep(|| drop(events.remove(shown.0)))?;
        Ok(shown)
    }

    /// The event behind a handle.
    pub(crate) fn by_handle(event: CUevent) -> Outcome<Arc<Self>> {
        current()?;
        let Some(event) = driver()?.events.get(event.0) else {
            return fail(
                CUresult::INVALID_HANDLE,
                "the handle is not that of a live event",
            );
        };
        event.context.check()?;
        Ok(event)
    }

    /// Records the event in a stream of its context.
    pub(crate) fn record(&self, stream: &Arc<Stream>) -> Outcome {
        if !Arc::ptr_eq(&self.context, &stream.context) {
            return fail(
                CUresult::INVALID_HANDLE,
                "the event and the stream belong to different contexts",
            );
        }
        let passed_at = Arc::new(OnceLock::new());
        let stamp = Arc::clone(&passed_at);
        // Two threads that record at once must leave the record of the later place in the stream.
        let mut record = lock(&self.record);
        let marker = stream.enqueue(Task::short(move || {
            let _ = stamp.set(Instant::now());
        }))?;
        *record = Some(Record { marker, passed_at });
        Ok(())
    }

    /// What must pass before the event has: `None` if it was never recorded.
    pub(crate) fn marker(&self) -> Option<Arc<Marker>> {
        lock(&self.record)
            .as_ref()
            .map(|record| Arc::clone(&record.marker))
    }

    /// Milliseconds from `start` to `end`.
    pub(crate) fn elapsed(start: &Self, end: &Self) -> Outcome<f32> {
        if !Arc::ptr_eq(&start.context, &end.context)
            && !Arc::ptr_eq(&start.context.device, &end.context.device)
        {
            return fail(
                CUresult::INVALID_HANDLE,
                "the events belong to different devices",
            );
        }
        let when = |name: &str, event: &Self| -> Outcome<Instant> {
            if !event.timed {
                return fail(
                    CUresult::INVALID_HANDLE,
                    format!("the {name} event was created without timing"),
                );
            }
            let Some(record) = lock(&event.record).clone() else {
                return fail(
                    CUresult::INVALID_HANDLE,
                    format!("the {name} event was never recorded"),
                );
            };
            match record.passed_at.get() {
                Some(&at) if record.marker.has_passed() => Ok(at),
                _ => fail(
                    CUresult::NOT_READY,
                    format!("the {name} event has not passed yet"),
                ),
            }
        };
        let (first, last) = match (when("start", start), when("end", end)) {
            (Ok(first), Ok(last)) => (first, last),
            // What can never be answered counts before what cannot be answered yet.
            (Err(first), Err(last)) if first.code == CUresult::NOT_READY => return Err(last),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let forward = last.saturating_duration_since(first).as_secs_f64();
        let backward = first.saturating_duration_since(last).as_secs_f64();
        Ok(((forward - backward) * 1e3) as f32)
    }
}
