//! The execution model through the table: default streams, priorities, progress, peers, limits, variables, occupancy.
//!
//! One process, configured once: two devices with four multiprocessors and two threads each, and one with one of each.

#[path = "../common/mod.rs"]
mod common;

mod default_stream;
mod limits;
mod occupancy;
mod peers;
mod priority;
mod progress;
mod variables;

use std::ffi::{CString, c_void};
use std::sync::Once;
use std::time::Duration;

use common::*;

const PTX: &str = concat!(include_str!("kernels.ptx"), "\0");

/// Longer than any of these kernels takes on a loaded machine: what hangs fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The device with one multiprocessor and one thread.
const SMALL: i32 = 2;

/// Configures and initialises the driver; every test begins with it.
fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut config = cuprum_softcuda::Config::default();
        let device = &mut config.devices[0];
        device.memory_bytes = 64 << 20;
        device.multiprocessors = 4;
        device.worker_threads = 2;
        let device = config.devices[0].clone();
        config.devices.push(device.clone());
        config.devices.push(device);
        config.devices[2].multiprocessors = 1;
        config.devices[2].worker_threads = 1;
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

/// Launches one-dimensionally; the launch must be accepted.
fn launch(function: CUfunction, grid: u32, block: u32, stream: CUstream, args: &[*mut c_void]) {
    let mut args = args.to_vec();
    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
    ok!(cuLaunchKernel(
        function, grid, 1, 1, block, 1, 1, 0, stream, p, none
    ));
}

/// As [`launch`], cooperatively.
fn launch_cooperative(
    function: CUfunction,
    grid: u32,
    block: u32,
    args: &[*mut c_void],
) -> CUresult {
    let mut args = args.to_vec();
    let p = args.as_mut_ptr();
    cu!(cuLaunchCooperativeKernel(
        function,
        grid,
        1,
        1,
        block,
        1,
        1,
        0,
        CUstream::NULL,
        p
    ))
}

/// Zeroed device memory of `count` words.
fn zeros(count: usize) -> CUdeviceptr {
    let address = alloc(4 * count);
    ok!(cuMemsetD32_v2(address, 0, count));
    address
}

/// A zeroed page-locked word, for host and kernels.
fn shared_word() -> *mut u32 {
    let word = alloc_host(4).cast::<u32>();
    // SAFETY: just allocated, and aligned to 256.
    unsafe { word.write_volatile(0) };
    word
}
