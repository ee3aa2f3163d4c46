//! Contexts: one device's address space, streams and modules in this process.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use cuprum_driver_sys::{CUcontext, CUresult, CUstream};

use crate::call::{Failure, call};
use crate::device::{Device, DeviceAttribute};
use crate::driver::Driver;
use crate::error::{LaunchRecord, is_fault};
use crate::memory::Allocator;
use crate::parking::{Parked, Parking};
use crate::reclaim::Reclaim;
use crate::stream::{Stream, StreamInner};
use crate::{Error, ErrorKind, Result};

/// A context, counted: every object of this crate holds one, so it outlives all of them.
///
/// Contexts are the driver's *primary* contexts, which other CUDA libraries in the process share. Any thread may use
/// any context: before a call that needs it, the driver is asked which context is current on this thread, and
/// it is set only if it is another.
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
}

/// Limits of the device that every launch is checked against, asked for once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) threads_per_block: u32,
    pub(crate) block: [u32; 3],
    pub(crate) grid: [u32; 3],
    /// Shared memory of a block without and with opting in, bytes.
    pub(crate) shared: u32,
    pub(crate) shared_opt_in: u32,
    pub(crate) memory_pools: bool,
}

pub(crate) struct ContextInner {
    device: Device,
    raw: CUcontext,
    /// Whether it is the device's primary context; if not, this crate created it.
    primary: bool,
    limits: Limits,
    /// The code of the fault that took this context, 0 while it is sound.
    fault: AtomicU32,
    default_stream: Mutex<Weak<StreamInner>>,
    /// Every stream, for the list of launches that can be guilty of a fault.
    streams: Mutex<Vec<Weak<StreamInner>>>,
    allocator: RwLock<Option<Arc<dyn Allocator>>>,
    parking: Parking,
    /// Who holds memory for later.
    holders: Mutex<Vec<Weak<dyn Reclaim>>>,
    /// The first failure of a release in a destructor that nobody has asked for yet.
    release_failure: Mutex<Option<Error>>,
}

/// What a dying context leaves: resources whose last use has not passed, and the reference to the primary context
/// that keeps them valid.
pub(crate) struct Orphan {
    parked: Vec<Parked>,
}

impl Context {
    pub(crate) fn from_inner(inner: Arc<ContextInner>) -> Self {
        Self { inner }
    }

    pub(crate) fn downgrade(&self) -> Weak<ContextInner> {
        Arc::downgrade(&self.inner)
    }

    /// Makes a context on `device`: the primary one, or, where a fault has taken that one, a new one.
    pub(crate) fn create(device: &Device) -> Result<Self> {
        let limits = Limits::of(device)?;
        let inner = match ContextInner::primary(device, limits) {
            Ok(primary) => {
                for orphan in lock(&device.inner().orphans).drain(..) {
                    primary.adopt(orphan);
                }
                primary
            }
            // Somebody still holds the lost primary context; on the software device another is sound beside it.
            Err(failure) if failure.code.is_some_and(is_fault) && device.is_software() => {
                ContextInner::beside(device, limits).map_err(|failure| device.raise(failure))?
            }
            Err(failure) => return Err(device.raise(failure)),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> &'static Driver {
        self.inner.device.driver()
    }

    /// The driver's handle. It is valid while any clone of this context lives.
    #[must_use]
    pub fn raw(&self) -> CUcontext {
        self.inner.raw
    }

    /// Makes this context current on the calling thread, if another one is: before calls through
    /// [`Driver::table`], and for other CUDA libraries.
    ///
    /// # Errors
    /// What the driver returns, for instance while the process ends.
    pub fn make_current(&self) -> Result<()> {
        self.inner
            .make_current()
            .map_err(|failure| self.raise(failure))
    }

    /// Waits for all work on all streams of this context, and releases what waited for it.
    ///
    /// # Errors
    /// The failure of earlier work: see [`Error::is_asynchronous`].
    pub fn synchronize(&self) -> Result<()> {
        let streams = self.inner.live_streams();
        let positions: Vec<_> = streams
            .iter()
            .map(|stream| stream.inner().submitted())
            .collect();
        self.inner
            .make_current()
            .map_err(|failure| self.raise(failure))?;
        // SAFETY: no pointers are passed, and this context is current.
        unsafe { call!(self.driver(), cuCtxSynchronize()) }
            .map_err(|failure| self.raise(failure))?;
        for (stream, position) in streams.iter().zip(positions) {
            stream.inner().note_completed(position);
        }
        self.inner.parking.collect_all(&self.inner);
        Ok(())
    }

    /// Releases parked resources whose last use has passed. Never waits for device work.
    ///
    /// Allocations do this by themselves; call it before measuring memory.
    ///
    /// # Errors
    /// The first failure of a release, also of one in a destructor since the last call.
    pub fn collect(&self) -> Result<()> {
        self.inner.parking.collect_all(&self.inner);
        match lock(&self.inner.release_failure).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// As [`Context::collect`], but leaves what destructors have noted for that.
    pub fn release_parked(&self) {
        self.inner.parking.collect_all(&self.inner);
    }

    /// How many resources wait for their last use to pass.
    #[must_use]
    pub fn parked(&self) -> usize {
        self.inner.parking.len()
    }

    /// Free and total memory of the device in bytes.
    ///
    /// # Errors
    /// What `cuMemGetInfo` returns.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0usize, 0usize);
        self.make_current()?;
        // SAFETY: both are live locals that the call writes, and this context is current.
        unsafe {
            call!(
                self.driver(),
                cuMemGetInfo_v2(&raw mut free, &raw mut total)
            )
        }
        .map_err(|failure| self.raise(failure))?;
        Ok(MemoryInfo {
            free: free as u64,
            total: total as u64,
        })
    }

    /// The legacy default stream: it waits for, and holds up, every stream that was not created as non-blocking.
    /// Streams of this crate are non-blocking.
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        let mut slot = lock(&self.inner.default_stream);
        if let Some(inner) = slot.upgrade() {
            return Stream::from_inner(inner);
        }
        let stream = Stream::adopt(self, CUstream::NULL);
        *slot = stream.downgrade();
        stream
    }

    /// Creates a stream. It does not synchronise with the default stream: order between streams comes from the
    /// memory they use, from events, and from synchronising.
    ///
    /// # Errors
    /// What `cuStreamCreate` returns.
    pub fn new_stream(&self) -> Result<Stream> {
        Stream::create(self)
    }

    /// The allocator that buffers of this context use.
    ///
    /// Stream-ordered memory where the device has memory pools, direct allocation elsewhere, unless
    /// [`Context::set_allocator`] chose another.
    #[must_use]
    pub fn allocator(&self) -> Arc<dyn Allocator> {
        let chosen = self
            .inner
            .allocator
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        chosen.unwrap_or_else(|| crate::memory::default_allocator(self))
    }

    /// What a buffer of this thread holds of the allocator.
    pub(crate) fn local_allocator(&self) -> Arc<dyn Allocator> {
        let chosen = self
            .inner
            .allocator
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        match &*chosen {
            Some(allocator) => allocator.local().unwrap_or_else(|| Arc::clone(allocator)),
            None => crate::memory::default_allocator(self),
        }
    }

    /// Chooses the allocator of buffers made from now on; `None` is the default again. Buffers that exist keep
    /// theirs. An allocator must not hold the context it serves, or neither would ever be released.
    pub fn set_allocator(&self, allocator: Option<Arc<dyn Allocator>>) {
        *self
            .inner
            .allocator
            .write()
            .unwrap_or_else(PoisonError::into_inner) = allocator;
    }

    /// Whether device code has failed in this context; every later call then fails with the same code.
    #[inline]
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.inner.fault().is_some()
    }

    /// Gives this handle up; the last one closes the context and returns what destructors could not.
    ///
    /// # Errors
    /// The first failure of a release since [`Context::collect`] last asked.
    pub fn close(self) -> Result<()> {
        if self.is_lost() {
            return Ok(());
        }
        self.collect()
    }

    /// A handle that does not keep the context alive, for what the context itself holds, such as its allocator.
    #[must_use]
    pub fn weak(&self) -> WeakContext {
        WeakContext(self.downgrade())
    }

    #[inline]
    pub(crate) fn inner(&self) -> &ContextInner {
        &self.inner
    }

    #[cold]
    pub(crate) fn raise(&self, failure: Failure) -> Error {
        self.inner.raise(failure)
    }

    #[cold]
    pub(crate) fn check_same(&self, other: &Self, what: &str) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let lost = if other.is_lost() || self.is_lost() {
            ", one of which a fault has taken"
        } else {
            ""
        };
        Err(Error::new(
            ErrorKind::WrongContext,
            format!(
                "{what} is of a context on {}, and the stream is of one on {}{lost}",
                other.device().label(),
                self.device().label()
            ),
        ))
    }
}

/// A handle to a context that does not keep it alive. See [`Context::weak`].
#[derive(Clone)]
pub struct WeakContext(Weak<ContextInner>);

impl WeakContext {
    /// The context, while it lives.
    #[must_use]
    pub fn upgrade(&self) -> Option<Context> {
        self.0.upgrade().map(Context::from_inner)
    }

    /// Whether this is a handle to `context`.
    #[inline]
    #[must_use]
    pub fn is(&self, context: &Context) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&context.inner))
    }
}

impl fmt::Debug for WeakContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.upgrade() {
            Some(context) => write!(f, "Weak{context:?}"),
            None => f.write_str("WeakContext(gone)"),
        }
    }
}

/// Free and total memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Bytes that can still be allocated.
    pub free: u64,
    /// All bytes.
    pub total: u64,
}

impl ContextInner {
    pub(crate) fn driver(&self) -> &'static Driver {
        self.device.driver()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn parking(&self) -> &Parking {
        &self.parking
    }

    pub(crate) fn holders(&self) -> &Mutex<Vec<Weak<dyn Reclaim>>> {
        &self.holders
    }

    pub(crate) fn streams(&self) -> MutexGuard<'_, Vec<Weak<StreamInner>>> {
        lock(&self.streams)
    }

    /// Asks which context is current on this thread and sets this one if it is another. Never cached: cudarc,
    /// cuBLAS and the CUDA runtime change it too.
    #[inline]
    pub(crate) fn make_current(&self) -> Result<(), Failure> {
        let driver = self.driver();
        let mut current = CUcontext::NULL;
        // SAFETY: `current` is a live local that the call writes.
        unsafe { call!(driver, cuCtxGetCurrent(&raw mut current)) }?;
        if current == self.raw {
            return Ok(());
        }
        // SAFETY: `self.raw` is a context that this object holds a reference to.
        unsafe { call!(driver, cuCtxSetCurrent(self.raw)) }
    }

    #[inline]
    pub(crate) fn fault(&self) -> Option<CUresult> {
        match self.fault.load(Ordering::Relaxed) {
            0 => None,
            code => Some(CUresult(code)),
        }
    }

    /// Keeps the failure of a destructor for [`Context::collect`]. A lost context fails every release: no news.
    pub(crate) fn note_release(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.note_release_error(self.raise(failure));
        }
    }

    pub(crate) fn note_release_error(&self, error: Error) {
        if !error.is_fatal() && error.code() != Some(CUresult::DEINITIALIZED) {
            lock(&self.release_failure).get_or_insert(error);
        }
    }

    pub(crate) fn is_software(&self) -> bool {
        self.device.is_software()
    }

    fn new(device: &Device, raw: CUcontext, primary: bool, limits: Limits) -> Self {
        Self {
            device: device.clone(),
            raw,
            primary,
            limits,
            fault: AtomicU32::new(0),
            default_stream: Mutex::new(Weak::new()),
            streams: Mutex::new(Vec::new()),
            allocator: RwLock::new(None),
            parking: Parking::new(),
            holders: Mutex::new(Vec::new()),
            release_failure: Mutex::new(None),
        }
    }

    /// The primary context, if it is sound.
    fn primary(device: &Device, limits: Limits) -> Result<Self, Failure> {
        let mut raw = CUcontext::NULL;
        // SAFETY: `raw` is a live local that the call writes.
        unsafe {
            call!(
                device.driver(),
                cuDevicePrimaryCtxRetain(&raw mut raw, device.raw())
            )
        }?;
        // From here on, dropping `inner` gives the reference back.
        let inner = Self::new(device, raw, true, limits);
        inner.make_current()?;
        // A driver may hand out a lost context; then the first question tells.
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both are live locals that the call writes, and the context is current.
        unsafe {
            call!(
                device.driver(),
                cuMemGetInfo_v2(&raw mut free, &raw mut total)
            )
        }?;
        Ok(inner)
    }

    /// A context of our own beside the primary one, not current afterwards.
    fn beside(device: &Device, limits: Limits) -> Result<Self, Failure> {
        let mut raw = CUcontext::NULL;
        // SAFETY: `raw` is a live local that the call writes.
        unsafe {
            call!(
                device.driver(),
                cuCtxCreate_v2(&raw mut raw, 0, device.raw())
            )
        }?;
        let inner = Self::new(device, raw, false, limits);
        let mut popped = CUcontext::NULL;
        // SAFETY: `popped` is a live local; the context pushed by the creation above is on top of the stack.
        unsafe { call!(device.driver(), cuCtxPopCurrent_v2(&raw mut popped)) }?;
        Ok(inner)
    }

    /// Takes over what an earlier object for the same primary context could not release.
    fn adopt(&self, orphan: Orphan) {
        self.parking.adopt(orphan.parked);
        // This object retained the primary context by itself, so the orphan's reference is one too many.
        // SAFETY: the orphan held one reference to the primary context of this device.
        let _ = unsafe {
            call!(
                self.driver(),
                cuDevicePrimaryCtxRelease_v2(self.device.raw())
            )
        };
    }

    /// Turns a failed call into an error with all that is known about it.
    #[cold]
    pub(crate) fn raise(&self, failure: Failure) -> Error {
        let software = self.device.is_software();
        let error = failure.into_error(software).fact("device", &self.device);
        match failure.code {
            Some(code) if is_fault(code) => {
                let _ =
                    self.fault
                        .compare_exchange(0, code.0, Ordering::Relaxed, Ordering::Relaxed);
                error
                    .with_detail(self.last_fault())
                    .of_earlier_work(self.suspects())
            }
            _ => error,
        }
    }

    /// The launches whose completion nobody has seen.
    fn suspects(&self) -> Vec<LaunchRecord> {
        self.live_streams()
            .iter()
            .flat_map(Stream::pending_launches)
            .collect()
    }

    /// Every stream that somebody holds. They are dropped by the caller, not under the lock: the last handle of one
    /// may have to report a failure, which asks for this list again.
    fn live_streams(&self) -> Vec<Stream> {
        self.streams()
            .iter()
            .filter_map(Weak::upgrade)
            .map(Stream::from_inner)
            .collect()
    }

    #[cfg(feature = "soft")]
    fn last_fault(&self) -> Option<String> {
        if self.is_software() {
            cuprum_softcuda::last_fault(self.raw)
        } else {
            None
        }
    }

    #[cfg(not(feature = "soft"))]
    fn last_fault(&self) -> Option<String> {
        None
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        // What pools hold goes now; nothing of it is used, because every buffer holds the context.
        self.reclaim();
        let left = self.parking.drain(self);
        let driver = self.driver();
        if !self.primary {
            // SAFETY: this object created the context, and nothing that uses it is left: all such objects hold a
            // reference to this one.
            let _ = unsafe { call!(driver, cuCtxDestroy_v2(self.raw)) };
        } else if left.is_empty() {
            // SAFETY: this object retained the primary context once.
            let _ = unsafe { call!(driver, cuDevicePrimaryCtxRelease_v2(self.device.raw())) };
        } else {
            // Releasing the rest now would wait for device work. It stays valid with the reference to the primary
            // context that is kept here, until the next context on this device takes both over.
            lock(&self.device.inner().orphans).push(Orphan { parked: left });
        }
    }
}

impl Limits {
    fn of(device: &Device) -> Result<Self> {
        let ask = |attribute| {
            device
                .attribute(attribute)
                .map(|value| u32::try_from(value).unwrap_or(0))
        };
        let shared = ask(DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK)?;
        Ok(Self {
            threads_per_block: ask(DeviceAttribute::MAX_THREADS_PER_BLOCK)?,
            block: [
                ask(DeviceAttribute::MAX_BLOCK_DIM_X)?,
                ask(DeviceAttribute::MAX_BLOCK_DIM_Y)?,
                ask(DeviceAttribute::MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                ask(DeviceAttribute::MAX_GRID_DIM_X)?,
                ask(DeviceAttribute::MAX_GRID_DIM_Y)?,
                ask(DeviceAttribute::MAX_GRID_DIM_Z)?,
            ],
            shared,
            shared_opt_in: ask(DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
                .unwrap_or(0)
                .max(shared),
            memory_pools: ask(DeviceAttribute::MEMORY_POOLS_SUPPORTED).unwrap_or(0) != 0,
        })
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({}, {:?})", self.inner.device, self.inner.raw.0)
    }
}

/// Locks a mutex whose data every critical section leaves whole, so a panic elsewhere is no reason to panic here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
