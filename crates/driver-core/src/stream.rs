//! Streams: queues of work on a context.

use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuprum_driver_sys::{CUevent, CUresult, CUstream, flags};
use smallvec::SmallVec;

use crate::call::{Failure, call};
use crate::context::{Context, lock};
use crate::error::LaunchRecord;
use crate::event::Event;
use crate::launch::Recent;
use crate::memory::or_make_room;
use crate::timeline::Timeline;
use crate::{Error, Result};

/// A stream, counted. Work on one stream runs in the order in which it was queued.
///
/// Cloning gives another handle to the same stream; equality is identity. Dropping the last handle lets the queued
/// work finish, and waits for nothing.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<StreamInner>,
}

/// How many other streams a stream remembers to have waited for.
const SEEN: usize = 64;

pub(crate) struct StreamInner {
    context: Context,
    raw: CUstream,
    /// Whether this object created the stream.
    owned: bool,
    /// A number that no other stream object of the process ever has; never 0 or `u32::MAX`.
    id: u32,
    /// The counters, and what outlives the stream.
    timeline: Timeline,
    /// The position in each other stream that this one is ordered after.
    seen: Mutex<SmallVec<[(u32, u64); 4]>>,
    /// The event that marks this stream's end for other streams. Recording it again is harmless: a wait that was
    /// queued keeps the earlier mark, and a wait queued later only covers more.
    tail: OnceLock<CUevent>,
    recent: Recent,
}

impl Stream {
    pub(crate) fn from_inner(inner: Arc<StreamInner>) -> Self {
        Self { inner }
    }

    #[inline]
    pub(crate) fn inner(&self) -> &StreamInner {
        &self.inner
    }

    pub(crate) fn downgrade(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.inner)
    }

    pub(crate) fn create(context: &Context) -> Result<Self> {
        context.make_current()?;
        let create = || {
            let mut raw = CUstream::NULL;
            // SAFETY: `raw` is a live local that the call writes, and the context is current.
            unsafe {
                call!(
                    context.driver(),
                    cuStreamCreate(&raw mut raw, flags::CU_STREAM_NON_BLOCKING)
                )
            }
            .map(|()| raw)
        };
        let raw = or_make_room(context, create, |failure| context.raise(failure))?;
        Ok(Self::enrol(context, raw, true))
    }

    /// A handle to a stream that somebody else owns.
    pub(crate) fn adopt(context: &Context, raw: CUstream) -> Self {
        Self::enrol(context, raw, false)
    }

    fn enrol(context: &Context, raw: CUstream, owned: bool) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let inner = Arc::new(StreamInner {
            context: context.clone(),
            raw,
            owned,
            id,
            timeline: Timeline::new(
                id,
                raw,
                context.driver(),
                context.inner().parking().events(),
            ),
            seen: Mutex::new(SmallVec::new()),
            tail: OnceLock::new(),
            recent: Recent::new(),
        });
        let mut streams = context.inner().streams();
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&inner));
        drop(streams);
        Self { inner }
    }

    /// Wraps a stream of another library.
    ///
    /// # Safety
    /// - `raw` is a stream of `context`.
    /// - It stays valid while any clone of the result, or any buffer used on it, lives.
    #[must_use]
    pub unsafe fn from_raw(context: &Context, raw: CUstream) -> Self {
        if raw.is_null() {
            context.default_stream()
        } else {
            Self::adopt(context, raw)
        }
    }

    /// The context.
    #[inline]
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The driver's handle, valid while any clone of this stream lives.
    #[must_use]
    pub fn raw(&self) -> CUstream {
        self.inner.raw
    }

    /// A short name for messages, unique in the process: `stream 3`, `default stream`.
    #[must_use]
    pub fn label(&self) -> String {
        self.inner.label()
    }

    /// Waits for everything queued so far.
    ///
    /// # Errors
    /// The failure of earlier work: see [`Error::is_asynchronous`].
    pub fn synchronize(&self) -> Result<()> {
        let position = self.inner.submitted();
        self.context().make_current()?;
        // SAFETY: the stream lives as long as this handle.
        unsafe { call!(self.context().driver(), cuStreamSynchronize(self.raw())) }
            .map_err(|failure| self.raise(failure))?;
        self.inner.note_completed(position);
        Ok(())
    }

    /// Whether everything queued so far has finished.
    ///
    /// # Errors
    /// The failure of earlier work: see [`Error::is_asynchronous`].
    pub fn is_done(&self) -> Result<bool> {
        let position = self.inner.submitted();
        self.context().make_current()?;
        // SAFETY: the stream lives as long as this handle.
        match unsafe { call!(self.context().driver(), cuStreamQuery(self.raw())) } {
            Ok(()) => {
                self.inner.note_completed(position);
                Ok(true)
            }
            Err(failure) if failure.is(CUresult::NOT_READY) => Ok(false),
            Err(failure) => Err(self.raise(failure)),
        }
    }

    /// Records an event, with time, at the end of the stream.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn record(&self) -> Result<Event> {
        Event::record(self)
    }

    /// Makes later work of this stream wait for `event`. The host does not wait.
    ///
    /// # Errors
    /// What `cuStreamWaitEvent` returns. Events of other contexts are allowed.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.context().make_current()?;
        // SAFETY: stream and event live as long as the references to them.
        unsafe {
            call!(
                self.context().driver(),
                cuStreamWaitEvent(self.raw(), event.raw(), 0)
            )
        }
        .map_err(|failure| self.raise(failure))?;
        self.inner.note_wait(&[event.position()]);
        Ok(())
    }

    /// Makes later work of this stream wait for everything queued on `other` so far. The host does not wait.
    ///
    /// Buffers do this by themselves when they are used on another stream.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        self.order_after(other)
            .map_err(|failure| self.raise(failure))
    }

    /// Queues a host function. It runs on a thread of the driver once the work queued before it is done, and must
    /// not call CUDA.
    ///
    /// A panic in `function` ends the process, because it cannot cross the driver. If earlier work fails, the
    /// function may never run; what it holds is then leaked.
    ///
    /// # Errors
    /// What `cuLaunchHostFunc` returns.
    pub fn launch_host(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        type Boxed = Box<dyn FnOnce() + Send>;
        extern "C" fn run(data: *mut c_void) {
            // SAFETY: `data` is the box leaked below, and the driver calls this function once for it.
            let function = unsafe { Box::from_raw(data.cast::<Boxed>()) };
            function();
        }
        self.context().make_current()?;
        let boxed: Boxed = Box::new(function);
        let data = Box::into_raw(Box::new(boxed));
        // SAFETY: the stream lives; `data` stays valid until `run` takes it back.
        match unsafe {
            call!(
                self.context().driver(),
                cuLaunchHostFunc(self.raw(), Some(run), data.cast::<c_void>())
            )
        } {
            Ok(()) => {
                self.inner.count();
                Ok(())
            }
            Err(failure) => {
                // SAFETY: the driver refused the function, so nobody else has the box.
                drop(unsafe { Box::from_raw(data) });
                Err(self.raise(failure))
            }
        }
    }

    /// Gives this handle up. The last handle destroys the stream, once its work has finished, and returns what that
    /// said.
    ///
    /// # Errors
    /// What `cuStreamDestroy` returns, which dropping would keep to itself.
    pub fn close(self) -> Result<()> {
        let context = self.context().clone();
        let Some(mut inner) = Arc::into_inner(self.inner) else {
            return Ok(());
        };
        inner.destroy().map_err(|failure| context.raise(failure))
    }

    #[inline]
    pub(crate) fn id(&self) -> u32 {
        self.inner.id
    }

    /// Records `other`'s end and makes this stream wait for it.
    #[cold]
    pub(crate) fn order_after(&self, other: &Self) -> Result<(), Failure> {
        // Read first: what is counted now is covered by the event recorded below.
        let position = other.inner.submitted();
        let mut seen: SmallVec<[(u32, u64); 4]> = lock(&other.inner.seen).clone();
        seen.push((other.id(), position));
        other.context().inner().make_current()?;
        let event = other.inner.tail()?;
        let driver = self.context().driver();
        // SAFETY: the event belongs to `other`, which lives as long as the reference to it.
        unsafe { call!(driver, cuEventRecord(event, other.raw())) }?;
        if self.context() != other.context() {
            self.context().inner().make_current()?;
        }
        // SAFETY: as above, for both streams. The driver keeps what it needs of the event.
        unsafe { call!(driver, cuStreamWaitEvent(self.raw(), event, 0)) }?;
        self.inner.note_wait(&seen);
        Ok(())
    }

    #[cold]
    pub(crate) fn raise(&self, failure: Failure) -> Error {
        self.context().raise(failure).fact("on", self.label())
    }

    /// The launches on this stream whose completion nobody has seen, oldest first.
    pub(crate) fn pending_launches(&self) -> Vec<LaunchRecord> {
        self.inner
            .recent
            .after(self.inner.completed(), &self.label())
    }

    #[cold]
    pub(crate) fn check_context(&self, context: &Context, what: &str) -> Result<()> {
        self.context().check_same(context, what)
    }
}

impl StreamInner {
    #[inline]
    pub(crate) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    #[inline]
    pub(crate) fn submitted(&self) -> u64 {
        self.timeline.submitted()
    }

    pub(crate) fn completed(&self) -> u64 {
        self.timeline.completed()
    }

    /// Counts an operation that the driver has just taken, and returns its position.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.timeline.count()
    }

    pub(crate) fn note_completed(&self, position: u64) {
        self.timeline.note_completed(position);
    }

    #[inline]
    pub(crate) fn recent(&self) -> &Recent {
        &self.recent
    }

    /// Whether this stream is ordered after `position` of stream `id`.
    pub(crate) fn has_seen(&self, id: u32, position: u64) -> bool {
        lock(&self.seen)
            .iter()
            .any(|&(other, seen)| other == id && seen >= position)
    }

    /// A wait was queued: later work comes after these positions of other streams.
    ///
    /// A wait is an operation like others. Memory that is this stream's because it waits may be used next on a third
    /// stream, which must then come after the wait, although this stream has done nothing since.
    pub(crate) fn note_wait(&self, news: &[(u32, u64)]) {
        self.count();
        let mut seen = lock(&self.seen);
        for &(id, position) in news.iter().filter(|&&(id, _)| id != self.id) {
            match seen.iter_mut().find(|(other, _)| *other == id) {
                Some((_, known)) => *known = (*known).max(position),
                None => {
                    // To forget one only means that it may be waited for again.
                    if seen.len() == SEEN {
                        seen.remove(0);
                    }
                    seen.push((id, position));
                }
            }
        }
    }

    fn tail(&self) -> Result<CUevent, Failure> {
        if let Some(&event) = self.tail.get() {
            return Ok(event);
        }
        let parking = self.context.inner().parking();
        let event = parking.take_event(self.context.driver())?;
        if let Err(event) = self.tail.set(event) {
            parking.give_event(event);
        }
        Ok(*self.tail.get().expect("the event was set above"))
    }

    pub(crate) fn label(&self) -> String {
        if self.raw.is_null() {
            "default stream".to_owned()
        } else {
            format!("stream {}", self.id)
        }
    }

    fn destroy(&mut self) -> Result<(), Failure> {
        let driver = self.context.driver();
        if self.tail.get().is_some() || self.owned || self.timeline.needs_end() {
            // Streams and events are destroyed in their own context, whichever is current on this thread.
            self.context.inner().make_current()?;
        }
        self.timeline.end();
        if let Some(event) = self.tail.take() {
            // SAFETY: the event belongs to this stream; the driver defers the destruction of a pending one.
            let result = unsafe { call!(driver, cuEventDestroy_v2(event)) };
            self.context.inner().note_release(result);
        }
        if !std::mem::take(&mut self.owned) {
            return Ok(());
        }
        // SAFETY: this object created the stream and holds the last handle. The driver lets queued work finish.
        unsafe { call!(driver, cuStreamDestroy_v2(self.raw)) }
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        let result = self.destroy();
        self.context.inner().note_release(result);
    }
}

impl PartialEq for Stream {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Stream({}, {})",
            self.label(),
            self.context().device().label()
        )
    }
}
