//! What remains known of a stream when its last handle is gone: enough to come after its work.
//!
//! A memory pool remembers for each free block which streams used it last. If it held the streams it would hold
//! their context, and a context that holds the pool would never end. It holds timelines: a stream's number and
//! counters, the driver's handle while the stream lives, and afterwards an event that marks its end.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuprum_driver_sys::{CUevent, CUresult, CUstream};

use crate::Result;
use crate::call::{Failure, call};
use crate::context::{Context, ContextInner, lock};
use crate::driver::Driver;
use crate::parking::EventStore;
use crate::stream::Stream;

/// The counters of a stream and a way to come after its work, without keeping stream or context alive. Counted.
#[derive(Clone)]
pub struct Timeline(Arc<TimelineInner>);

struct TimelineInner {
    id: u32,
    /// How many operations have been queued through this crate. Counted after the driver took the operation, so an
    /// event recorded later than a reading of this counter covers all that it counts.
    submitted: AtomicU64,
    /// The part of `submitted` that has been seen to be finished.
    completed: AtomicU64,
    driver: &'static Driver,
    events: Arc<EventStore>,
    state: Mutex<State>,
}

struct State {
    /// The driver's handle, until the last handle of ours goes.
    raw: Option<CUstream>,
    /// The mark of the end, if work was pending there and somebody remembered the stream.
    end: Option<CUevent>,
    /// An event on its way, and the position that it will have shown to be finished.
    probe: Option<(CUevent, u64)>,
}

/// What parking waits for: an event of its own, or the end of a stream that is gone.
pub(crate) enum Mark {
    Event(CUevent),
    End(Timeline),
}

impl Timeline {
    pub(crate) fn new(
        id: u32,
        raw: CUstream,
        driver: &'static Driver,
        events: Arc<EventStore>,
    ) -> Self {
        Self(Arc::new(TimelineInner {
            id,
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            driver,
            events,
            state: Mutex::new(State {
                raw: Some(raw),
                end: None,
                probe: None,
            }),
        }))
    }

    /// The stream's number, which no other stream of the process ever has; never 0 or `u32::MAX`.
    #[inline]
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// How many operations were queued on the stream.
    #[inline]
    pub(crate) fn submitted(&self) -> u64 {
        self.0.submitted.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.0.completed.load(Ordering::Acquire)
    }

    /// Counts an operation that the driver has just taken, and returns its position.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.0.submitted.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn note_completed(&self, position: u64) {
        self.0.completed.fetch_max(position, Ordering::AcqRel);
    }

    /// Makes later work of `stream` wait for everything queued here so far. The host does not wait.
    #[cold]
    pub(crate) fn order_before(&self, stream: &Stream) -> Result<(), Failure> {
        stream.context().inner().make_current()?;
        let driver = self.0.driver;
        let state = lock(&self.0.state);
        let position = self.submitted();
        if let Some(raw) = state.raw {
            let event = self.0.events.take(driver)?;
            // SAFETY: the event is unused and of this context. The stream is not destroyed before the lock is free.
            let queued = unsafe { call!(driver, cuEventRecord(event, raw)) }
                // SAFETY: as above; the waiting stream lives as long as the reference to it.
                .and_then(|()| unsafe { call!(driver, cuStreamWaitEvent(stream.raw(), event, 0)) });
            // A wait that was queued keeps its mark when the event is recorded again.
            self.0.events.give(event);
            queued?;
        } else if let Some(event) = state.end {
            // SAFETY: the event belongs to this state; the waiting stream lives.
            unsafe { call!(driver, cuStreamWaitEvent(stream.raw(), event, 0)) }?;
        }
        drop(state);
        stream.inner().note_wait(&[(self.id(), position)]);
        Ok(())
    }

    /// Asks the driver how far the stream has come, and leaves an event there for the next time. Never waits.
    pub(crate) fn poll(&self, context: &ContextInner) -> Result<(), Failure> {
        if self.completed() >= self.submitted() {
            return Ok(());
        }
        context.make_current()?;
        let driver = self.0.driver;
        let mut state = lock(&self.0.state);
        let Some(raw) = state.raw else {
            match state.end {
                Some(event) if !passed(driver, event)? => {}
                Some(event) => {
                    state.end = None;
                    self.0.events.give(event);
                    self.note_completed(self.submitted());
                }
                None => self.note_completed(self.submitted()),
            }
            return Ok(());
        };
        if state.probe.is_none() {
            // Read first: what is counted now is covered by the event recorded below.
            let position = self.submitted();
            let event = self.0.events.take(driver)?;
            // SAFETY: the event is unused and of this context. The stream is not destroyed before the lock is free.
            if let Err(failure) = unsafe { call!(driver, cuEventRecord(event, raw)) } {
                self.0.events.give(event);
                return Err(failure);
            }
            state.probe = Some((event, position));
        }
        if let Some((event, position)) = state.probe
            && passed(driver, event)?
        {
            state.probe = None;
            self.0.events.give(event);
            self.note_completed(position);
        }
        Ok(())
    }

    /// Waits on the host until `position` has passed.
    pub(crate) fn wait(&self, context: &ContextInner, position: u64) -> Result<(), Failure> {
        if self.completed() >= position {
            return Ok(());
        }
        context.make_current()?;
        let driver = self.0.driver;
        let state = lock(&self.0.state);
        let covered = self.submitted();
        // The lock is not held while the host waits: dropping the stream needs it.
        let (event, ours) = match (state.raw, state.end) {
            (Some(raw), _) => {
                let event = self.0.events.take(driver)?;
                // SAFETY: the event is unused and of this context. The stream is not destroyed before the lock is
                // free.
                if let Err(failure) = unsafe { call!(driver, cuEventRecord(event, raw)) } {
                    self.0.events.give(event);
                    return Err(failure);
                }
                (event, true)
            }
            // Should another thread find it passed meanwhile and record it anew, the wait only becomes longer.
            (None, Some(event)) => (event, false),
            (None, None) => return Ok(()),
        };
        drop(state);
        // SAFETY: events of the store are destroyed with their context only, which the caller holds.
        let waited = unsafe { call!(driver, cuEventSynchronize(event)) };
        if ours {
            self.0.events.give(event);
        }
        waited?;
        self.note_completed(covered);
        Ok(())
    }

    /// What to wait for until everything queued so far is over; `None` if the driver refuses to tell, as it does in a
    /// lost context, or if nothing is pending. The context must be current.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let driver = self.0.driver;
        let state = lock(&self.0.state);
        let Some(raw) = state.raw else {
            return state.end.map(|_| Mark::End(self.clone()));
        };
        let event = self.0.events.take(driver).ok()?;
        // SAFETY: the event is unused and of this context. The stream is not destroyed before the lock is free.
        if unsafe { call!(driver, cuEventRecord(event, raw)) }.is_ok() {
            Some(Mark::Event(event))
        } else {
            self.0.events.give(event);
            None
        }
    }

    /// Whether the stream is gone and all its work over, or its context lost.
    pub(crate) fn is_over(&self) -> bool {
        let state = lock(&self.0.state);
        let over = |event| passed(self.0.driver, event).unwrap_or(true);
        state.raw.is_none() && state.end.is_none_or(over)
    }

    /// The last handle goes: marks the end for those who remember the stream, and forgets the driver's handle.
    ///
    /// The context must be current if work is pending.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.0.state);
        let Some(raw) = state.raw.take() else {
            return;
        };
        // Whoever remembers the stream holds this timeline; new holders come from them only.
        let remembered = Arc::strong_count(&self.0) > 1;
        if remembered
            && self.completed() < self.submitted()
            && let Ok(event) = self.0.events.take(self.0.driver)
        {
            // SAFETY: the event is unused and of the stream's context; the caller destroys the stream after this.
            if unsafe { call!(self.0.driver, cuEventRecord(event, raw)) }.is_ok() {
                state.end = Some(event);
            } else {
                // In a lost context, where nothing runs.
                self.0.events.give(event);
            }
        }
    }

    /// Whether the end of the stream must be marked, which needs its context.
    pub(crate) fn needs_end(&self) -> bool {
        Arc::strong_count(&self.0) > 1 && self.completed() < self.submitted()
    }
}

/// Whether an event has passed.
fn passed(driver: &'static Driver, event: CUevent) -> Result<bool, Failure> {
    // SAFETY: events of the store are destroyed with their context only.
    match unsafe { call!(driver, cuEventQuery(event)) } {
        Ok(()) => Ok(true),
        Err(failure) if failure.is(CUresult::NOT_READY) => Ok(false),
        Err(failure) => Err(failure),
    }
}

impl Drop for TimelineInner {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(|e| e.into_inner());
        let left = [state.end.take(), state.probe.take().map(|probe| probe.0)];
        for event in left.into_iter().flatten() {
            self.events.give(event);
        }
    }
}

impl PartialEq for Timeline {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Timeline {}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline")
            .field("id", &self.id())
            .field("submitted", &self.submitted())
            .field("completed", &self.completed())
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// What a pool remembers of this stream: see [`Timeline`].
    #[inline]
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        self.inner().timeline()
    }
}

impl Context {
    /// Turns a failure into an error of this context.
    pub(crate) fn check(&self, result: Result<(), Failure>) -> Result<()> {
        result.map_err(|failure| self.raise(failure))
    }
}
