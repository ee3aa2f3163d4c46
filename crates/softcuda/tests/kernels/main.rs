//! Kernels through the table, end to end: load, launch, copy back, fault, synchronise.
//!
//! One process, configured once: three devices of compute capability 8.0 with four multiprocessors, the last without
//! concurrent access to managed memory, and a time limit.

#[path = "../common/mod.rs"]
mod common;

mod fault;
mod launch;
mod load;
mod managed;
mod order;
mod reach;

use std::ffi::{CString, c_void};
use std::sync::Once;
use std::time::Duration;

use common::*;

const PTX: &str = concat!(include_str!("kernels.ptx"), "\0");

/// The device without concurrent access to managed memory.
const EXCLUSIVE: i32 = 2;

/// How long a kernel may run. Long, for the sake of loaded machines: spinning kernels must not meet it.
const TIME_LIMIT: Duration = Duration::from_secs(4);

/// Configures and initialises the driver; every test begins with it.
fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut config = cuprum_softcuda::Config::default();
        config.devices[0].memory_bytes = 64 << 20;
        config.devices[0].multiprocessors = 4;
        config.devices[0].worker_threads = 3;
        config.devices.push(config.devices[0].clone());
        config.devices.push(config.devices[0].clone());
        config.devices[EXCLUSIVE as usize].concurrent_managed_access = false;
        config.kernel_time_limit = Some(TIME_LIMIT);
        cuprum_softcuda::configure(config).expect("nothing is in use yet");
    });
    ok!(cuInit(0));
}

/// The module of `kernels.ptx` in the current context.
fn load() -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    module
}

fn function(module: CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).expect("no zero inside");
    let mut function = CUfunction::NULL;
    ok!(cuModuleGetFunction(&mut function, module, name.as_ptr()));
    function
}

/// A pointer to an argument.
fn arg<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Launches and gives the code.
fn try_launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: CUstream,
    args: &[*mut c_void],
) -> CUresult {
    let mut args = args.to_vec();
    let [gx, gy, gz] = grid;
    let [bx, by, bz] = block;
    cu!(cuLaunchKernel(
        function,
        gx,
        gy,
        gz,
        bx,
        by,
        bz,
        shared,
        stream,
        args.as_mut_ptr(),
        std::ptr::null_mut()
    ))
}

/// Launches one-dimensionally; the launch must be accepted.
fn launch(function: CUfunction, grid: u32, block: u32, stream: CUstream, args: &[*mut c_void]) {
    let code = try_launch(function, [grid, 1, 1], [block, 1, 1], 0, stream, args);
    assert!(code.is_success(), "{code:?}: {:?}", last_error());
}
