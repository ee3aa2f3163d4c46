//! Calling the software driver's table as a C program would.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(unreachable_pub, reason = "a module shared by several test programs")]

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex};

pub use cuprum_driver_sys::*;
pub use cuprum_softcuda::last_error;

/// Calls an entry of the table and gives its code.
#[macro_export]
macro_rules! cu {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let entry = cuprum_softcuda::table().$name.expect(stringify!($name));
        #[allow(
            unused_unsafe,
            clippy::macro_metavars_in_unsafe,
            reason = "arguments may be unsafe calls themselves"
        )]
        // SAFETY: tests pass pointers that are null where that is the point, and else live across the call or, for
        // queued work, until it is waited for.
        unsafe { entry($($arg),*) }
    }};
}

/// Calls an entry of the table, which must succeed.
#[macro_export]
macro_rules! ok {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let code = $crate::cu!($name($($arg),*));
        assert!(code.is_success(), "{}: {code:?}: {:?}", stringify!($name), cuprum_softcuda::last_error());
    }};
}

/// Calls an entry of the table, which must fail with this code.
#[macro_export]
macro_rules! no {
    ($code:ident, $name:ident($($arg:expr),* $(,)?)) => {{
        let code = $crate::cu!($name($($arg),*));
        assert_eq!(code, cuprum_driver_sys::CUresult::$code, "{}: {:?}", stringify!($name), cuprum_softcuda::last_error());
    }};
}

pub const NULL: *mut c_void = std::ptr::null_mut();

/// A context of its own on a device, current on the calling thread; destroyed at the end.
pub struct TestContext(pub CUcontext);

impl TestContext {
    pub fn on(device: i32) -> Self {
        let mut context = CUcontext::NULL;
        ok!(cuCtxCreate_v2(&mut context, 0, device));
        Self(context)
    }
}

impl Drop for TestContext {
    fn drop(&mut self) {
        let code = cu!(cuCtxDestroy_v2(self.0));
        assert!(
            code.is_success() || code == CUresult::INVALID_CONTEXT,
            "{code:?}"
        );
    }
}

pub fn alloc(bytes: usize) -> CUdeviceptr {
    let mut address = 0;
    ok!(cuMemAlloc_v2(&mut address, bytes));
    assert!(address != 0 && address.is_multiple_of(256));
    address
}

pub fn alloc_host(bytes: usize) -> *mut u8 {
    let mut pointer = NULL;
    ok!(cuMemAllocHost_v2(&mut pointer, bytes));
    assert!(!pointer.is_null());
    pointer.cast()
}

pub fn new_stream(flags: u32) -> CUstream {
    let mut stream = CUstream::NULL;
    ok!(cuStreamCreate(&mut stream, flags));
    stream
}

pub fn new_event(flags: u32) -> CUevent {
    let mut event = CUevent::NULL;
    ok!(cuEventCreate(&mut event, flags));
    event
}

pub fn upload<T: Copy>(address: CUdeviceptr, data: &[T]) {
    ok!(cuMemcpyHtoD_v2(
        address,
        data.as_ptr().cast(),
        size_of_val(data)
    ));
}

pub fn download<T: Copy + Default>(address: CUdeviceptr, len: usize) -> Vec<T> {
    let mut data = vec![T::default(); len];
    ok!(cuMemcpyDtoH_v2(
        data.as_mut_ptr().cast(),
        address,
        size_of_val(data.as_slice())
    ));
    data
}

/// Holds up a stream until it is opened.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Queues a host function that waits for the gate.
    pub fn close(stream: CUstream) -> Self {
        unsafe extern "C" fn wait(gate: *mut c_void) {
            // SAFETY: the pointer comes from `into_raw` below, and the function runs once.
            let gate = unsafe { Arc::from_raw(gate.cast::<(Mutex<bool>, Condvar)>().cast_const()) };
            let mut open = gate.0.lock().expect("not poisoned");
            while !*open {
                open = gate.1.wait(open).expect("not poisoned");
            }
        }
        let gate = Self::default();
        let raw = Arc::into_raw(Arc::clone(&gate.0)).cast_mut().cast();
        ok!(cuLaunchHostFunc(stream, Some(wait), raw));
        gate
    }

    pub fn open(&self) {
        *self.0.0.lock().expect("not poisoned") = true;
        self.0.1.notify_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // A failing test must not hang in the destruction of its context.
        if std::thread::panicking() {
            self.open();
        }
    }
}

/// A host function that adds one to the counter behind its pointer.
pub unsafe extern "C" fn count(counter: *mut c_void) {
    // SAFETY: tests pass a pointer to a counter that outlives the queued work.
    unsafe { &*counter.cast::<std::sync::atomic::AtomicUsize>() }
        .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
}

pub fn counter_pointer(counter: &std::sync::atomic::AtomicUsize) -> *mut c_void {
    std::ptr::from_ref(counter).cast_mut().cast()
}
