//! A driver without a device: addresses, failures when memory is short, and a record of the calls of this thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cuprum_driver_core::sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUhostFn, CUjit_option,
    CUmodule, CUresult, CUstream, DriverTable,
};
use cuprum_driver_core::{Context, Device, DeviceAttribute, Driver, Stream};

thread_local! {
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    /// Whether events answer that they have not passed; waiting for the context ends that.
    pub(crate) static PENDING: Cell<bool> = const { Cell::new(false) };
    /// How many bytes this thread may still allocate.
    pub(crate) static FREE: Cell<u64> = const { Cell::new(u64::MAX / 2) };
    /// What pairs of streams were ordered: stream of the event, waiting stream.
    static ORDERED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
    /// Memory given back, in order.
    static FREED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

static HANDLES: AtomicUsize = AtomicUsize::new(0x1000);
static ADDRESSES: AtomicU64 = AtomicU64::new(1 << 32);
static MEMORY: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None);
static EVENTS: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// The calls of this thread since the last time, without questions for the current context.
pub(crate) fn calls() -> Vec<&'static str> {
    CALLS
        .take()
        .into_iter()
        .filter(|&name| name != "cuCtxGetCurrent")
        .collect()
}

pub(crate) fn ordered() -> Vec<(usize, usize)> {
    ORDERED.take()
}

pub(crate) fn freed() -> Vec<u64> {
    FREED.take()
}

pub(crate) fn raw(stream: &Stream) -> usize {
    stream.raw().0.addr()
}

/// Queues a piece of work.
pub(crate) fn work(stream: &Stream) {
    stream.launch_host(|| ()).unwrap();
}

pub(crate) fn is_allocated(address: u64) -> bool {
    MEMORY
        .lock()
        .unwrap()
        .as_ref()
        .is_some_and(|map| map.contains_key(&address))
}

/// A context on a fresh device.
pub(crate) fn context() -> Context {
    let context = device().context().unwrap();
    calls();
    context
}

pub(crate) fn device() -> Device {
    device_of(table())
}

pub(crate) fn device_of(table: DriverTable) -> Device {
    // SAFETY: the entries keep the little of their contracts that pools rely on; nothing accesses device memory.
    let driver = unsafe { Driver::from_table(Box::leak(Box::new(table))) }.unwrap();
    driver.devices().unwrap().remove(0)
}

/// The current context.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

pub(crate) fn handle<T>(make: impl Fn(*mut c_void) -> T) -> T {
    make(std::ptr::without_provenance_mut(
        HANDLES.fetch_add(0x10, Ordering::Relaxed),
    ))
}

fn allocate(bytes: u64) -> Result<u64, CUresult> {
    if FREE.get() < bytes {
        return Err(CUresult::OUT_OF_MEMORY);
    }
    FREE.set(FREE.get() - bytes);
    // Never twice, and never neighbours, so that what is wrongly joined shows.
    let address = ADDRESSES.fetch_add(bytes.next_multiple_of(4096) + 4096, Ordering::Relaxed);
    record(address, bytes);
    Ok(address)
}

fn record(address: u64, bytes: u64) {
    MEMORY
        .lock()
        .unwrap()
        .get_or_insert_default()
        .insert(address, bytes);
}

/// The size of an allocation; 0 of what is none.
pub(crate) fn size_of(address: u64) -> u64 {
    MEMORY
        .lock()
        .unwrap()
        .as_ref()
        .and_then(|map| map.get(&address).copied())
        .unwrap_or(0)
}

pub(crate) fn free(address: u64) -> CUresult {
    let Some(bytes) = MEMORY
        .lock()
        .unwrap()
        .get_or_insert_default()
        .remove(&address)
    else {
        return CUresult::INVALID_VALUE;
    };
    FREE.set(FREE.get().saturating_add(bytes));
    FREED.with_borrow_mut(|freed| freed.push(address));
    CUresult::SUCCESS
}

fn ready() -> CUresult {
    if PENDING.get() {
        CUresult::NOT_READY
    } else {
        CUresult::SUCCESS
    }
}

/// A table with the entries given, each of which is on record when called.
macro_rules! entries {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        pub(crate) fn table() -> DriverTable {
            let mut table = DriverTable::load(|_| None);
            $(
                #[allow(non_snake_case, reason = "names of the driver")]
                unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
                    CALLS.with_borrow_mut(|calls| calls.push(stringify!($name)));
                    #[allow(unused_unsafe, reason = "not every entry writes")]
                    // SAFETY: callers of the driver pass places for answers.
                    unsafe { $body }
                }
                table.$name = Some($name);
            )*
            table
        }
    };
}

const OK: CUresult = CUresult::SUCCESS;

entries! {
    cuInit(_flags: u32) { OK }
    cuDriverGetVersion(version: *mut i32) { *version = 13_000; OK }
    cuDeviceGetCount(count: *mut i32) { *count = 1; OK }
    cuDeviceGet(device: *mut i32, _ordinal: i32) { *device = 0; OK }
    cuDeviceGetName(name: *mut c_char, _len: i32, _device: i32) { *name = 0; OK }
    cuDeviceTotalMem_v2(bytes: *mut usize, _device: i32) { *bytes = 1 << 30; OK }
    cuDeviceGetAttribute(value: *mut i32, which: DeviceAttribute, _device: i32) {
        *value = if which == DeviceAttribute::MEMORY_POOLS_SUPPORTED { 0 } else { 1024 }; OK
    }
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, _device: i32) { *context = handle(CUcontext); OK }
    cuDevicePrimaryCtxRelease_v2(_device: i32) { OK }
    cuCtxGetCurrent(context: *mut CUcontext) { *context = CUcontext(std::ptr::without_provenance_mut(CURRENT.get())); OK }
    cuCtxSetCurrent(context: CUcontext) { CURRENT.set(context.0.addr()); OK }
    cuCtxSynchronize() { PENDING.set(false); OK }
    cuModuleLoadDataEx(_m: *mut CUmodule, _i: *const c_void, _n: u32, _o: *mut CUjit_option, _v: *mut *mut c_void) { CUresult::NOT_SUPPORTED }
    cuModuleUnload(_module: CUmodule) { OK }
    cuModuleGetFunction(_f: *mut CUfunction, _m: CUmodule, _n: *const c_char) { CUresult::NOT_FOUND }
    cuModuleGetGlobal_v2(_a: *mut CUdeviceptr, _b: *mut usize, _m: CUmodule, _n: *const c_char) { CUresult::NOT_FOUND }
    cuFuncGetAttribute(_v: *mut i32, _w: CUfunction_attribute, _f: CUfunction) { CUresult::NOT_FOUND }
    cuFuncSetAttribute(_f: CUfunction, _w: CUfunction_attribute, _v: i32) { CUresult::NOT_FOUND }
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) {
        match allocate(bytes as u64) { Ok(new) => { *address = new; OK } Err(code) => code }
    }
    cuMemFree_v2(address: CUdeviceptr) { free(address) }
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { *free = 1 << 20; *total = 1 << 30; OK }
    cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, _flags: u32) {
        if FREE.get() < bytes as u64 { return CUresult::OUT_OF_MEMORY; }
        FREE.set(FREE.get() - bytes as u64);
        // The host writes to it, so it is memory; the tests are small, and it is never returned.
        let memory = std::alloc::alloc_zeroed(std::alloc::Layout::from_size_align_unchecked(bytes, 4096));
        record(memory.expose_provenance() as u64, bytes as u64);
        *pointer = memory.cast();
        OK
    }
    cuMemFreeHost(pointer: *mut c_void) { free(pointer.addr() as u64) }
    cuMemcpyHtoDAsync_v2(_to: CUdeviceptr, _from: *const c_void, _bytes: usize, _stream: CUstream) { OK }
    cuMemcpyDtoHAsync_v2(_to: *mut c_void, _from: CUdeviceptr, _bytes: usize, _stream: CUstream) { OK }
    cuMemcpyDtoDAsync_v2(_to: CUdeviceptr, _from: CUdeviceptr, _bytes: usize, _stream: CUstream) { OK }
    cuMemsetD8Async(_address: CUdeviceptr, _value: u8, _count: usize, _stream: CUstream) { OK }
    cuMemsetD16Async(_address: CUdeviceptr, _value: u16, _count: usize, _stream: CUstream) { OK }
    cuMemsetD32Async(_address: CUdeviceptr, _value: u32, _count: usize, _stream: CUstream) { OK }
    cuStreamCreate(stream: *mut CUstream, _flags: u32) { *stream = handle(CUstream); OK }
    cuStreamDestroy_v2(_stream: CUstream) { OK }
    cuStreamSynchronize(_stream: CUstream) { OK }
    cuStreamQuery(_stream: CUstream) { ready() }
    cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: u32) {
        let from = EVENTS.lock().unwrap().get_or_insert_default().get(&event.0.addr()).copied().unwrap_or(0);
        ORDERED.with_borrow_mut(|pairs| pairs.push((from, stream.0.addr())));
        OK
    }
    cuEventCreate(event: *mut CUevent, _flags: u32) { *event = handle(CUevent); OK }
    cuEventDestroy_v2(_event: CUevent) { OK }
    cuEventRecord(event: CUevent, stream: CUstream) {
        EVENTS.lock().unwrap().get_or_insert_default().insert(event.0.addr(), stream.0.addr());
        OK
    }
    cuEventQuery(_event: CUevent) { ready() }
    cuEventSynchronize(_event: CUevent) { PENDING.set(false); OK }
    cuLaunchKernel(_f: CUfunction, _gx: u32, _gy: u32, _gz: u32, _bx: u32, _by: u32, _bz: u32, _shared: u32, _stream: CUstream, _params: *mut *mut c_void, _extra: *mut *mut c_void) { OK }
    cuLaunchHostFunc(_stream: CUstream, function: CUhostFn, data: *mut c_void) {
        if let Some(function) = function { function(data); }
        OK
    }
}
