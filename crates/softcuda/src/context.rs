//! Contexts: what the program does on a device, apart from what others do.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use cuprum_driver_sys::{CUarray, CUcontext, CUlimit, CUresult, CUstream};

use crate::device::Device;
use crate::driver::{Driver, driver};
use crate::error::{Failure, Outcome, fail, lock};
use crate::memory::{Kind, Request, View};
use crate::printf::PrintfBuffer;
use crate::registry::{handle, next_id};
use crate::stream::{Order, Role, Stream};
use crate::texture::{Array, Objects};

/// One context of a device.
pub(crate) struct Context {
    /// A number unique in the process.
    pub(crate) id: u64,
    /// The device.
    pub(crate) device: Arc<Device>,
    /// Whether it is the device's primary context.
    pub(crate) is_primary: bool,
    /// The flags it was created with.
    pub(crate) flags: AtomicU32,
    /// Its preference between L1 cache and shared memory; kept, without effect.
    pub(crate) cache_config: AtomicU32,
    /// Memory as its kernels see it.
    pub(crate) view: Arc<View>,
    /// Its unfinished work.
    pub(crate) order: Mutex<Order>,
    /// What its kernels print.
    pub(crate) printf: Arc<PrintfBuffer>,
    /// Stops its kernels when true.
    pub(crate) cancel: Arc<AtomicBool>,
    /// The longest random delay of queued work.
    pub(crate) jitter: Option<Duration>,
    /// Its texture and surface objects.
    pub(crate) objects: Objects,
    /// The longest run of a kernel.
    time_limit: Mutex<Option<Duration>>,
    limits: Mutex<Limits>,
    fault: OnceLock<Failure>,
    destroyed: AtomicBool,
    legacy: OnceLock<Arc<Stream>>,
    /// The default streams of threads, with something that lives as long as the thread.
    per_thread: Mutex<Vec<(Weak<()>, Arc<Stream>)>>,
    /// Address of the workspaces of cooperative grids; 0 until the first.
    grid_workspaces: Mutex<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    stack: usize,
    printf: usize,
    heap: usize,
    l2_fetch: usize,
}

/// Workspaces of cooperative grids in a context, and bytes of each.
const GRID_WORKSPACES: u64 = 4096;
const GRID_WORKSPACE_BYTES: u64 = 16;

/// Stack of a device thread at most: the local memory that hardware gives one.
const MAX_STACK: usize = 512 << 10;

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({} on device {})", self.id, self.device.ordinal)
    }
}

impl Context {
    /// A new context, known to the driver.
    pub(crate) fn new(
        driver: &Driver,
        device: &Arc<Device>,
        flags: u32,
        is_primary: bool,
    ) -> Outcome<Arc<Self>> {
        let id = next_id();
        let limits = Limits {
            stack: 1024,
            printf: 1 << 20,
            heap: 8 << 20,
            l2_fetch: 64,
        };
        let concurrent = device.config.concurrent_managed_access;
        let view = View::new(&driver.space, id, device.ordinal, concurrent)?;
        view.set_heap_limit(limits.heap as u64);
        let context = Arc::new(Self {
            id,
            device: Arc::clone(device),
            is_primary,
            flags: AtomicU32::new(flags),
            cache_config: AtomicU32::new(0),
            view,
            order: Mutex::default(),
            printf: Arc::new(PrintfBuffer::new(limits.printf)),
            cancel: Arc::default(),
            jitter: driver.config.jitter,
            objects: Objects::default(),
            time_limit: Mutex::new(device.time_limit),
            limits: Mutex::new(limits),
            fault: OnceLock::new(),
            destroyed: AtomicBool::new(false),
            legacy: OnceLock::new(),
            per_thread: Mutex::default(),
            grid_workspaces: Mutex::default(),
        });
        driver.contexts.insert(id, Arc::clone(&context));
        Ok(context)
    }

    /// The handle that the program holds.
    pub(crate) fn handle(&self) -> CUcontext {
        CUcontext(handle(self.id))
    }

    /// The address of the workspace of cooperative grid `grid_id`. There are [`GRID_WORKSPACES`] of them in a context, which
    /// is more than can be queued.
    pub(crate) fn grid_workspace(&self, grid_id: u64) -> Outcome<u64> {
        let mut start = lock(&self.grid_workspaces);
        if *start == 0 {
            let block = driver()?.space.allocate(Request {
                size: GRID_WORKSPACES * GRID_WORKSPACE_BYTES,
                kind: Kind::Device,
                device: self.device.ordinal,
                context: self.id,
                flags: 0,
            })?;
            *start = block.address;
        }
        Ok(*start + grid_id % GRID_WORKSPACES * GRID_WORKSPACE_BYTES)
    }

    /// The code of the fault that poisoned it, if one has.
    pub(crate) fn fault_code(&self) -> Option<CUresult> {
        self.fault.get().map(|fault| fault.code)
    }

    /// The text of the fault that poisoned it, if one has.
    pub(crate) fn fault_text(&self) -> Option<&str> {
        self.fault.get().map(|fault| fault.text.as_str())
    }

    /// Makes every later call fail with this failure (the first one counts), and stops running kernels.
    pub(crate) fn poison(&self, fault: Failure) {
        let _ = self.fault.set(fault);
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Fails if it is destroyed or poisoned.
    pub(crate) fn check(&self) -> Outcome {
        if self.destroyed.load(Ordering::Acquire) {
            return fail(
                CUresult::CONTEXT_IS_DESTROYED,
                format!("context {} has been destroyed", self.id),
            );
        }
        match self.fault.get() {
            None => Ok(()),
            Some(fault) => fail(
                fault.code,
                format!(
                    "the context is lost to an error of earlier asynchronous work: {}",
                    fault.text
                ),
            ),
        }
    }

    /// Whether it has been destroyed.
    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    /// The legacy default stream.
    pub(crate) fn legacy(self: &Arc<Self>) -> Arc<Stream> {
        Arc::clone(
            self.legacy
                .get_or_init(|| Stream::new(next_id(), self, Role::Legacy, 0, 0)),
        )
    }

    /// The stream of calls that name none: the legacy one, or in the entry points for per-thread default streams the
    /// thread's own.
    pub(crate) fn default_stream(self: &Arc<Self>) -> Outcome<Arc<Stream>> {
        if PER_THREAD.try_with(Cell::get).unwrap_or(false) {
            self.per_thread()
        } else {
            Ok(self.legacy())
        }
    }

    /// The calling thread's own default stream.
    pub(crate) fn per_thread(self: &Arc<Self>) -> Outcome<Arc<Stream>> {
        thread_local! {
            static ALIVE: Arc<()> = Arc::default();
        }
        let Ok(me) = ALIVE.try_with(Arc::downgrade) else {
            return fail(
                CUresult::INVALID_HANDLE,
                "the thread is ending: its default stream is gone",
            );
        };
        let mut streams = lock(&self.per_thread);
        if let Some((_, stream)) = streams.iter().find(|(thread, _)| thread.ptr_eq(&me)) {
            return Ok(Arc::clone(stream));
        }
        streams.retain(|(thread, stream)| thread.strong_count() > 0 || !stream.is_done());
        let stream = Stream::new(next_id(), self, Role::Blocking, 0, 0);
        streams.push((me, Arc::clone(&stream)));
        Ok(stream)
    }

    /// Waits for all work queued so far, and does what a synchronisation does.
    pub(crate) fn synchronize(&self) -> Outcome {
        let unfinished = lock(&self.order).unfinished();
        unfinished.iter().for_each(|marker| marker.wait());
        self.synchronized()
    }

    /// What follows every wait of the host: text of kernels is written, pools shrink, faults are told.
    pub(crate) fn synchronized(&self) -> Outcome {
        self.printf.flush();
        self.device.pool.settle();
        self.check()
    }

    /// The longest run of a kernel.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        *lock(&self.time_limit)
    }

    /// Stack of a device thread in bytes.
    pub(crate) fn stack_bytes(&self) -> u32 {
        lock(&self.limits).stack as u32
    }

    /// A limit's value.
    pub(crate) fn limit(&self, limit: CUlimit) -> Outcome<usize> {
        let limits = *lock(&self.limits);
        match limit {
            CUlimit::STACK_SIZE => Ok(limits.stack),
            CUlimit::PRINTF_FIFO_SIZE => Ok(limits.printf),
            CUlimit::MALLOC_HEAP_SIZE => Ok(limits.heap),
            CUlimit::MAX_L2_FETCH_GRANULARITY => Ok(limits.l2_fetch),
            other => no_limit(other),
        }
    }

    /// Sets a limit.
    pub(crate) fn set_limit(&self, limit: CUlimit, value: usize) -> Outcome {
        let mut limits = lock(&self.limits);
        match limit {
            CUlimit::STACK_SIZE if value > MAX_STACK => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("a stack of {value} bytes: at most {MAX_STACK}"),
                );
            }
            CUlimit::STACK_SIZE => limits.stack = value.next_multiple_of(16),
            CUlimit::PRINTF_FIFO_SIZE => {
                limits.printf = value;
                self.printf.set_limit(value);
            }
            CUlimit::MALLOC_HEAP_SIZE => {
                limits.heap = value;
                self.view.set_heap_limit(value as u64);
            }
            CUlimit::MAX_L2_FETCH_GRANULARITY if value > 128 => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("an L2 fetch granularity of {value} bytes: at most 128"),
                );
            }
            CUlimit::MAX_L2_FETCH_GRANULARITY => limits.l2_fetch = value,
            other => return no_limit(other),
        }
        Ok(())
    }

    /// Ends the context: waits for its work, frees all it owns. Calls on it fail from now on. The second of two
    /// destructions does nothing.
    pub(crate) fn destroy(&self, driver: &Driver) {
        if self.destroyed.swap(true, Ordering::AcqRel) {
            return;
        }
        driver.contexts.remove(self.handle().0);
        let unfinished = {
            let mut order = lock(&self.order);
            order.closed = true;
            order.unfinished()
        };
        unfinished.iter().for_each(|marker| marker.wait());
        self.printf.flush();
        // Whoever created an object meanwhile removes it again: see `Context::keep`.
        driver
            .functions
            .extract(|function| function.context().id == self.id);
        driver
            .modules
            .extract(|module| module.context.id == self.id);
        driver.arrays.extract(|array| array.context.id == self.id);
        let (textures, surfaces) = self.objects.clear();
        for id in textures {
            driver.texture_references.remove(handle(id));
        }
        driver
            .texture_references
            .extract(|reference| reference.context.id == self.id);
        for id in surfaces {
            driver.surface_references.remove(handle(id));
        }
        driver.events.extract(|event| event.context.id == self.id);
        let streams = driver
            .streams
            .extract(|stream| stream.context.id == self.id);
        for stream in streams {
            driver.space.detach_all(stream.id);
        }
        lock(&self.per_thread).clear();
        for block in driver.space.release_context(self.id) {
            if block.kind == Kind::Pooled {
                self.device.pool.forget(block.capacity);
            }
        }
        self.device.pool.settle();
    }

    /// To be called after an object of this context was added to a registry, with what removes it: an object that
    /// came too late for [`destroy`](Self::destroy) must not stay.
    pub(crate) fn keep(&self, remove: impl FnOnce()) -> Outcome {
        if self.is_destroyed() {
            remove();
            return fail(
                CUresult::CONTEXT_IS_DESTROYED,
                "the context was destroyed during the call",
            );
        }
        Ok(())
    }
}

fn no_limit<T>(limit: CUlimit) -> Outcome<T> {
    fail(
        CUresult::UNSUPPORTED_LIMIT,
        format!("software devices have no limit {}", limit.0),
    )
}

thread_local! {
    /// The calling thread's contexts, the current one last.
    static STACK: RefCell<Vec<Arc<Context>>> = const { RefCell::new(Vec::new()) };
    /// Whether the thread is in an entry point for per-thread default streams.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
    /// Whether the thread is running a function that the program queued.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread's own stream the default one while it lives.
pub(crate) struct PerThreadDefault(bool);

impl PerThreadDefault {
    /// Begins it.
    pub(crate) fn enter() -> Self {
        Self(
            PER_THREAD
                .try_with(|mode| mode.replace(true))
                .unwrap_or(false),
        )
    }
}

impl Drop for PerThreadDefault {
    fn drop(&mut self) {
        let _ = PER_THREAD.try_with(|mode| mode.set(self.0));
    }
}

/// Runs `body` on the calling thread's stack of contexts. A thread that is ending has none.
pub(crate) fn with_stack<R>(body: impl FnOnce(&mut Vec<Arc<Context>>) -> R) -> R {
    let mut body = Some(body);
    let run = |stack: &RefCell<Vec<Arc<Context>>>| {
        let body = body.take()?;
        Some(body(&mut stack.borrow_mut()))
    };
    let done = STACK.try_with(run).ok().flatten();
    done.unwrap_or_else(|| body.take().expect("it has not run")(&mut Vec::new()))
}

/// The current context, whatever its state; `None` if the thread has none.
pub(crate) fn current_if_any() -> Option<Arc<Context>> {
    with_stack(|stack| stack.last().cloned())
}

/// The current context, whatever its state.
pub(crate) fn current_any() -> Outcome<Arc<Context>> {
    driver()?;
    not_in_host_function()?;
    current_if_any().map_or_else(
        || {
            fail(
                CUresult::INVALID_CONTEXT,
                "no context is current on this thread",
            )
        },
        Ok,
    )
}

/// The current context; fails if there is none, or it is destroyed or poisoned.
pub(crate) fn current() -> Outcome<Arc<Context>> {
    let context = current_any()?;
    context.check()?;
    Ok(context)
}

/// The context behind a handle.
pub(crate) fn by_handle(context: CUcontext) -> Outcome<Arc<Context>> {
    not_in_host_function()?;
    let found = driver()?.contexts.get(context.0);
    found.map_or_else(
        || {
            fail(
                CUresult::INVALID_CONTEXT,
                "the handle is not that of a live context",
            )
        },
        Ok,
    )
}

/// The array behind a handle.
pub(crate) fn array(array: CUarray) -> Outcome<Arc<Array>> {
    let Some(array) = driver()?.arrays.get(array.0) else {
        return fail(
            CUresult::INVALID_HANDLE,
            "the handle is not that of a live array",
        );
    };
    array.context.check()?;
    Ok(array)
}

/// The stream behind a handle: 0 is the default one, 1 the current context's legacy stream, 2 the thread's own.
pub(crate) fn stream(stream: CUstream) -> Outcome<Arc<Stream>> {
    let context = current()?;
    if stream.is_null() {
        return context.default_stream();
    }
    if stream == CUstream::LEGACY {
        return Ok(context.legacy());
    }
    if stream == CUstream::PER_THREAD {
        return context.per_thread();
    }
    let Some(stream) = driver()?.streams.get(stream.0) else {
        return fail(
            CUresult::INVALID_HANDLE,
            "the handle is not that of a live stream",
        );
    };
    stream.context.check()?;
    Ok(stream)
}

fn not_in_host_function() -> Outcome {
    if IN_HOST_FUNCTION.try_with(Cell::get).unwrap_or(false) {
        return fail(
            CUresult::NOT_PERMITTED,
            "a host function or stream callback must not call the driver",
        );
    }
    Ok(())
}

/// Runs a function of the program, during which it must not call the driver.
pub(crate) fn run_host_function(function: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    function();
    IN_HOST_FUNCTION.set(false);
}

/// Sets how long a kernel of this context may run, for launches from now on: one that runs longer ends with
/// `CUDA_ERROR_LAUNCH_TIMEOUT`, which poisons the context. `None`: for ever. A context begins with
/// [`Config::kernel_time_limit`](crate::Config::kernel_time_limit). False if the handle is not that of a live context.
pub fn set_time_limit(context: CUcontext, limit: Option<Duration>) -> bool {
    let Some(context) = driver().ok().and_then(|d| d.contexts.get(context.0)) else {
        return false;
    };
    *lock(&context.time_limit) = limit;
    true
}

/// Stops the kernels that run in a context, and every later one: they end with `CUDA_ERROR_LAUNCH_FAILED`, which poisons
/// the context. Does not wait. False if the handle is not that of a live context.
pub fn cancel(context: CUcontext) -> bool {
    let Some(context) = driver().ok().and_then(|d| d.contexts.get(context.0)) else {
        return false;
    };
    context.cancel.store(true, Ordering::Relaxed);
    true
}

/// Why the context is poisoned: kernel, source line, block, thread, address, size and the nearest allocation. `None` if
/// it is not, or if the handle is not that of a live context.
#[must_use]
pub fn last_fault(context: CUcontext) -> Option<String> {
    let context = driver().ok()?.contexts.get(context.0)?;
    context.fault_text().map(str::to_owned)
}
