//! A driver for unit tests: host memory, immediate execution, and a log of the calls of the present thread.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuprum_driver_sys::*;

use crate::{Context, Driver, Function, KernelArgs, LaunchConfig, Stream};

thread_local! {
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static FAIL: RefCell<HashMap<&'static str, CUresult>> = RefCell::new(HashMap::new());
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    /// Whether events and streams answer that they are not ready.
    pub(super) static PENDING: Cell<bool> = const { Cell::new(false) };
    /// Whether devices have memory pools.
    pub(super) static POOLS: Cell<bool> = const { Cell::new(false) };
    /// Grid and shared bytes of the last launch, and the bytes of its arguments.
    pub(super) static LAUNCHED: RefCell<Option<Launched>> = const { RefCell::new(None) };
    /// What pairs of streams were ordered: (stream of the event, waiting stream).
    pub(super) static ORDERED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// A launch, which records its arguments and runs nothing.
pub(super) fn launch(
    kernel: &Function,
    stream: &Stream,
    config: LaunchConfig,
    args: impl KernelArgs,
) -> crate::Result<()> {
    // SAFETY: a kernel of the recording driver is a name: nothing accesses the memory that it is given.
    unsafe { kernel.launch(stream, config, args) }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Launched {
    pub(super) grid: [u32; 3],
    pub(super) shared: u32,
    pub(super) args: Vec<Vec<u8>>,
}

static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
/// Sizes of live allocations, so that a test can see what was freed.
static MEMORY: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);
static KERNELS: Mutex<Vec<String>> = Mutex::new(Vec::new());
static EVENT_STREAM: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

fn handle<T>(make: impl Fn(*mut c_void) -> T) -> T {
    make(std::ptr::without_provenance_mut(
        NEXT.fetch_add(0x10, Ordering::Relaxed),
    ))
}

/// The calls since the last time, without those that only ask for the current context.
pub(super) fn calls() -> Vec<&'static str> {
    LOG.take()
        .into_iter()
        .filter(|&name| name != "cuCtxGetCurrent")
        .collect()
}

/// All calls since the last time.
pub(super) fn all_calls() -> Vec<&'static str> {
    LOG.take()
}

/// Makes every later call of `name` on this thread fail; `SUCCESS` ends that.
pub(super) fn fail(name: &'static str, code: CUresult) {
    FAIL.with_borrow_mut(|map| map.insert(name, code));
}

/// Whether the device memory at `address` is allocated.
pub(super) fn is_allocated(address: u64) -> bool {
    MEMORY
        .lock()
        .unwrap()
        .as_ref()
        .is_some_and(|map| map.contains_key(&address))
}

/// A context on a fresh device of a fresh driver.
pub(super) fn context() -> Context {
    let context = device_with(table()).context().unwrap();
    calls();
    context
}

/// A fresh device over `table`.
pub(super) fn device_with(table: DriverTable) -> crate::Device {
    // SAFETY: the entries below keep their contracts.
    let driver = unsafe { Driver::from_table(Box::leak(Box::new(table))) }.unwrap();
    driver.devices().unwrap().remove(0)
}

fn allocate(bytes: usize) -> u64 {
    // SAFETY: the callers pass sizes above zero.
    let address = unsafe { alloc_zeroed(Layout::from_size_align(bytes, 256).unwrap()) }
        .expose_provenance() as u64;
    MEMORY
        .lock()
        .unwrap()
        .get_or_insert_default()
        .insert(address, bytes);
    address
}

fn free(address: u64) -> CUresult {
    let Some(bytes) = MEMORY
        .lock()
        .unwrap()
        .get_or_insert_default()
        .remove(&address)
    else {
        return CUresult::INVALID_VALUE;
    };
    // SAFETY: the address and size are those of an allocation that was on record until now.
    unsafe {
        dealloc(
            std::ptr::with_exposed_provenance_mut(address as usize),
            Layout::from_size_align(bytes, 256).unwrap(),
        );
    }
    CUresult::SUCCESS
}

fn host(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn ready() -> CUresult {
    if PENDING.get() {
        CUresult::NOT_READY
    } else {
        CUresult::SUCCESS
    }
}

fn attribute(attribute: CUdevice_attribute) -> i32 {
    match attribute {
        CUdevice_attribute::COMPUTE_CAPABILITY_MAJOR => 8,
        CUdevice_attribute::COMPUTE_CAPABILITY_MINOR => 6,
        CUdevice_attribute::MAX_THREADS_PER_BLOCK
        | CUdevice_attribute::MAX_BLOCK_DIM_X
        | CUdevice_attribute::MAX_BLOCK_DIM_Y => 1024,
        CUdevice_attribute::MAX_BLOCK_DIM_Z => 64,
        CUdevice_attribute::MAX_GRID_DIM_X => i32::MAX,
        CUdevice_attribute::MAX_GRID_DIM_Y | CUdevice_attribute::MAX_GRID_DIM_Z => 65_535,
        CUdevice_attribute::MAX_SHARED_MEMORY_PER_BLOCK => 49_152,
        CUdevice_attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 101_376,
        CUdevice_attribute::MEMORY_POOLS_SUPPORTED => i32::from(POOLS.get()),
        _ => 0,
    }
}

fn kernel(function: CUfunction) -> String {
    KERNELS.lock().unwrap()[function.0.addr() - 1].clone()
}

/// The parameter sizes of a kernel are written behind a colon in its name: `saxpy:8,8,4`.
fn sizes(kernel: &str) -> Vec<usize> {
    kernel.split_once(':').map_or(Vec::new(), |(_, list)| {
        list.split(',').map(|s| s.parse().unwrap()).collect()
    })
}

macro_rules! mock {
    ($($name:ident($($arg:ident: $ty:ty),*) $body:block)*) => {
        /// A driver of CUDA 13.0 with one device.
        pub(super) fn table() -> DriverTable {
            let mut table = DriverTable::load(|_| None);
            $({
                // Each keeps the contract of its manual page; the pointers are the caller's promise.
                unsafe extern "C" fn entry($($arg: $ty),*) -> CUresult {
                    LOG.with_borrow_mut(|log| log.push(stringify!($name)));
                    let code = FAIL.with_borrow(|map| map.get(stringify!($name)).copied());
                    if let Some(code) = code.filter(|code| !code.is_success()) {
                        return code;
                    }
                    // SAFETY: the body relies on the manual's contract for the entry's pointers.
                    #[allow(unused_unsafe, reason = "some bodies use no pointer")]
                    unsafe { $body }
                }
                table.$name = Some(entry);
            })*
            table
        }
    };
}

const OK: CUresult = CUresult::SUCCESS;

mock! {
    cuInit(_flags: u32) { OK }
    cuDriverGetVersion(version: *mut i32) { *version = 13_000; OK }
    cuDeviceGetCount(count: *mut i32) { *count = 1; OK }
    cuDeviceGet(device: *mut CUdevice, ordinal: i32) { *device = ordinal; OK }
    cuDeviceGetName(name: *mut c_char, _len: i32, _device: CUdevice) {
        name.copy_from_nonoverlapping(c"Mock".as_ptr(), 5); OK
    }
    cuDeviceTotalMem_v2(bytes: *mut usize, _device: CUdevice) { *bytes = 1 << 30; OK }
    cuDeviceGetAttribute(value: *mut i32, which: CUdevice_attribute, _device: CUdevice) { *value = attribute(which); OK }
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, _device: CUdevice) { *context = handle(CUcontext); OK }
    cuDevicePrimaryCtxRelease_v2(_device: CUdevice) { OK }
    cuCtxGetCurrent(context: *mut CUcontext) {
        *context = CUcontext(std::ptr::without_provenance_mut(CURRENT.get())); OK
    }
    cuCtxSetCurrent(context: CUcontext) { CURRENT.set(context.0.addr()); OK }
    cuCtxSynchronize() { OK }
    cuModuleLoadDataEx(module: *mut CUmodule, _image: *const c_void, _n: u32, _o: *mut CUjit_option, _v: *mut *mut c_void) {
        *module = handle(CUmodule); OK
    }
    cuModuleUnload(_module: CUmodule) { OK }
    cuModuleGetFunction(function: *mut CUfunction, _module: CUmodule, name: *const c_char) {
        let mut kernels = KERNELS.lock().unwrap();
        kernels.push(CStr::from_ptr(name).to_str().unwrap().to_owned());
        *function = CUfunction(std::ptr::without_provenance_mut(kernels.len())); OK
    }
    cuModuleGetGlobal_v2(address: *mut CUdeviceptr, bytes: *mut usize, _module: CUmodule, _name: *const c_char) {
        *bytes = 6; *address = allocate(6); OK
    }
    cuFuncGetAttribute(value: *mut i32, which: CUfunction_attribute, function: CUfunction) {
        let name = kernel(function);
        *value = match which {
            CUfunction_attribute::MAX_THREADS_PER_BLOCK if name.starts_with("bounded") => 64,
            CUfunction_attribute::MAX_THREADS_PER_BLOCK => 1024,
            CUfunction_attribute::SHARED_SIZE_BYTES if name.starts_with("static") => 1024,
            CUfunction_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => 49_152,
            CUfunction_attribute::NUM_REGS => 32,
            _ => 0,
        };
        OK
    }
    cuFuncSetAttribute(_function: CUfunction, _which: CUfunction_attribute, _value: i32) { OK }
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize) {
        match sizes(&kernel(function)).get(index) {
            Some(&bytes) => { *offset = index * 8; *size = bytes; OK }
            None => CUresult::INVALID_VALUE,
        }
    }
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) { *address = allocate(bytes); OK }
    cuMemFree_v2(address: CUdeviceptr) { free(address) }
    cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, _stream: CUstream) { *address = allocate(bytes); OK }
    cuMemFreeAsync(address: CUdeviceptr, _stream: CUstream) { free(address) }
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { *free = 1 << 20; *total = 1 << 30; OK }
    cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, _flags: u32) { *pointer = host(allocate(bytes)); OK }
    cuMemFreeHost(pointer: *mut c_void) { free(pointer.expose_provenance() as u64) }
    cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, _stream: CUstream) {
        src.cast::<u8>().copy_to(host(dst).cast(), bytes); OK
    }
    cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, _stream: CUstream) {
        host(src).cast::<u8>().copy_to(dst.cast(), bytes); OK
    }
    cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, _stream: CUstream) {
        host(src).cast::<u8>().copy_to(host(dst).cast(), bytes); OK
    }
    cuMemsetD8Async(dst: CUdeviceptr, value: u8, count: usize, _stream: CUstream) {
        std::slice::from_raw_parts_mut(host(dst).cast::<u8>(), count).fill(value); OK
    }
    cuMemsetD16Async(dst: CUdeviceptr, value: u16, count: usize, _stream: CUstream) {
        std::slice::from_raw_parts_mut(host(dst).cast::<u16>(), count).fill(value); OK
    }
    cuMemsetD32Async(dst: CUdeviceptr, value: u32, count: usize, _stream: CUstream) {
        std::slice::from_raw_parts_mut(host(dst).cast::<u32>(), count).fill(value); OK
    }
    cuCtxSetLimit(_limit: CUlimit, _bytes: usize) { OK }
    cuStreamCreate(stream: *mut CUstream, _flags: u32) { *stream = handle(CUstream); OK }
    cuStreamDestroy_v2(_stream: CUstream) { OK }
    cuStreamSynchronize(_stream: CUstream) { OK }
    cuStreamQuery(_stream: CUstream) { ready() }
    cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: u32) {
        let from = EVENT_STREAM.lock().unwrap().get_or_insert_default().get(&event.0.addr()).copied().unwrap_or(0);
        ORDERED.with_borrow_mut(|pairs| pairs.push((from, stream.0.addr())));
        OK
    }
    cuEventCreate(event: *mut CUevent, _flags: u32) { *event = handle(CUevent); OK }
    cuEventDestroy_v2(_event: CUevent) { OK }
    cuEventRecord(event: CUevent, stream: CUstream) {
        EVENT_STREAM.lock().unwrap().get_or_insert_default().insert(event.0.addr(), stream.0.addr());
        OK
    }
    cuEventQuery(_event: CUevent) { ready() }
    cuEventSynchronize(_event: CUevent) { OK }
    cuEventElapsedTime(milliseconds: *mut f32, _start: CUevent, _end: CUevent) { *milliseconds = 1.5; OK }
    cuLaunchKernel(function: CUfunction, gx: u32, gy: u32, gz: u32, _bx: u32, _by: u32, _bz: u32, shared: u32, _stream: CUstream, params: *mut *mut c_void, _extra: *mut *mut c_void) {
        let args = sizes(&kernel(function))
            .iter()
            .enumerate()
            .map(|(i, &bytes)| std::slice::from_raw_parts((*params.add(i)).cast::<u8>(), bytes).to_vec())
            .collect();
        LAUNCHED.set(Some(Launched { grid: [gx, gy, gz], shared, args }));
        OK
    }
    cuLaunchHostFunc(_stream: CUstream, function: CUhostFn, data: *mut c_void) {
        if let Some(function) = function { function(data); }
        OK
    }
}
