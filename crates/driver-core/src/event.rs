//! Events: marks in a stream, to wait for and to measure with.

use std::fmt;
use std::time::Duration;

use cuprum_driver_sys::{CUevent, CUresult, flags};

use crate::call::{Failure, call};
use crate::context::Context;
use crate::stream::Stream;
use crate::{Error, ErrorKind, Result};

/// A point in a stream: everything queued there before it has finished once the event has passed.
///
/// Dropping an event waits for nothing.
pub struct Event {
    context: Context,
    raw: CUevent,
    /// The stream it was recorded on, and how much had been queued there.
    stream: u32,
    position: u64,
}

impl Event {
    /// Records a new event, with time, at the end of `stream`.
    pub(crate) fn record(stream: &Stream) -> Result<Self> {
        let context = stream.context().clone();
        context.make_current()?;
        let driver = context.driver();
        let mut raw = CUevent::NULL;
        // SAFETY: `raw` is a live local that the call writes, and the context is current.
        unsafe { call!(driver, cuEventCreate(&raw mut raw, flags::CU_EVENT_DEFAULT)) }
            .map_err(|failure| context.raise(failure))?;
        let event = Self {
            context,
            raw,
            stream: stream.id(),
            position: stream.inner().submitted(),
        };
        // SAFETY: the event was created above in the stream's context, and the caller holds the stream.
        unsafe { call!(driver, cuEventRecord(raw, stream.raw())) }
            .map_err(|failure| event.context.raise(failure).fact("stream", stream.label()))?;
        Ok(event)
    }

    /// Waits until the event has passed.
    ///
    /// # Errors
    /// The failure of earlier work: see [`Error::is_asynchronous`].
    pub fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the event lives as long as this object.
        unsafe { call!(self.context.driver(), cuEventSynchronize(self.raw)) }
            .map_err(|failure| self.context.raise(failure))
    }

    /// Whether the event has passed.
    ///
    /// # Errors
    /// The failure of earlier work: see [`Error::is_asynchronous`].
    pub fn is_done(&self) -> Result<bool> {
        self.context.make_current()?;
        // SAFETY: the event lives as long as this object.
        match unsafe { call!(self.context.driver(), cuEventQuery(self.raw)) } {
            Ok(()) => Ok(true),
            Err(failure) if failure.is(CUresult::NOT_READY) => Ok(false),
            Err(failure) => Err(self.context.raise(failure)),
        }
    }

    /// The device time from `earlier` to this event. Resolution is about half a microsecond on a GPU.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if either has not passed yet, [`ErrorKind::WrongContext`] if they are of different
    /// contexts.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration> {
        if self.context != earlier.context {
            return Err(Error::new(
                ErrorKind::WrongContext,
                "the two events are of different contexts",
            ));
        }
        self.context.make_current()?;
        let mut milliseconds = 0f32;
        let driver = self.context.driver();
        // CUDA 13 exports the call under a second name; either will do.
        let answer = if driver.table().cuEventElapsedTime.is_some() {
            // SAFETY: both events live, and `milliseconds` is a live local that the call writes.
            unsafe {
                call!(
                    driver,
                    cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw)
                )
            }
        } else {
            // SAFETY: as above.
            unsafe {
                call!(
                    driver,
                    cuEventElapsedTime_v2(&raw mut milliseconds, earlier.raw, self.raw)
                )
            }
        };
        answer.map_err(|failure| self.context.raise(failure))?;
        Ok(Duration::from_secs_f64(
            f64::from(milliseconds.max(0.0)) / 1e3,
        ))
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The driver's handle, valid while this object lives.
    #[must_use]
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// The stream's number and the position in it that this event stands for.
    pub(crate) fn position(&self) -> (u32, u64) {
        (self.stream, self.position)
    }

    /// Destroys the event.
    ///
    /// # Errors
    /// What `cuEventDestroy` returns, which dropping would keep to itself.
    pub fn close(mut self) -> Result<()> {
        self.destroy()
            .map_err(|failure| self.context.raise(failure))
    }

    /// The driver refuses to destroy an event on a thread without a context, so the event's own is made current.
    fn destroy(&mut self) -> Result<(), Failure> {
        let raw = std::mem::replace(&mut self.raw, CUevent::NULL);
        self.context.inner().make_current()?;
        // SAFETY: this object owned the event, and holds null from now on. The driver defers the destruction of one
        // that is still pending.
        unsafe { call!(self.context.driver(), cuEventDestroy_v2(raw)) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            let result = self.destroy();
            self.context.inner().note_release(result);
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?})", self.raw.0)
    }
}
