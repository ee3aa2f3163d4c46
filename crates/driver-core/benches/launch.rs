//! The host cost of one launch, over a driver table whose calls do nothing: what this crate adds to the driver.
//!
//! The goal is at most 100 ns with four arguments, use tracking on.

use std::ffi::{c_char, c_void};
use std::hint::black_box;
use std::sync::LazyLock;

use criterion::{Criterion, criterion_group, criterion_main};
use cuprum_driver_core::sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUjit_option, CUmodule,
    CUresult, CUstream, DriverTable,
};
use cuprum_driver_core::{
    Args, DeviceAttribute, DeviceBuffer, Driver, Function, LaunchConfig, Module, Stream,
};

/// An entry that does nothing and succeeds.
macro_rules! nothing {
    ($($ty:ty),*) => {{
        extern "C" fn entry($(_: $ty),*) -> CUresult {
            CUresult::SUCCESS
        }
        Some(entry)
    }};
}

/// An entry that writes a value through its first argument.
macro_rules! answer {
    ($ty:ty, $value:expr; $($rest:ty),*) => {{
        unsafe extern "C" fn entry(out: *mut $ty, $(_: $rest),*) -> CUresult {
            // SAFETY: the driver contract lets the caller pass a place for the answer.
            unsafe { out.write($value) };
            CUresult::SUCCESS
        }
        Some(entry)
    }};
}

fn handle<T>(make: impl Fn(*mut c_void) -> T, number: usize) -> T {
    make(std::ptr::without_provenance_mut(number))
}

unsafe extern "C" fn attribute(
    value: *mut i32,
    attribute: DeviceAttribute,
    _device: i32,
) -> CUresult {
    let answer = match attribute {
        DeviceAttribute::MEMORY_POOLS_SUPPORTED => 0,
        DeviceAttribute::MAX_THREADS_PER_BLOCK => 1024,
        _ => 65_535,
    };
    // SAFETY: the caller passes a place for the answer.
    unsafe { value.write(answer) };
    CUresult::SUCCESS
}

unsafe extern "C" fn param_info(
    _: CUfunction,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> CUresult {
    let Some(&bytes) = [8, 8, 8, 4].get(index) else {
        return CUresult::INVALID_VALUE;
    };
    // SAFETY: the caller passes places for both answers.
    unsafe {
        offset.write(index * 8);
        size.write(bytes);
    }
    CUresult::SUCCESS
}

static TABLE: LazyLock<DriverTable> = LazyLock::new(|| {
    let mut t = DriverTable::load(|_| None);
    t.cuInit = nothing!(u32);
    t.cuDriverGetVersion = answer!(i32, 13_000;);
    t.cuDeviceGetCount = answer!(i32, 1;);
    t.cuDeviceGet = answer!(i32, 0; i32);
    t.cuDeviceGetName = nothing!(*mut c_char, i32, i32);
    t.cuDeviceTotalMem_v2 = answer!(usize, 1 << 30; i32);
    t.cuDeviceGetAttribute = Some(attribute);
    t.cuDevicePrimaryCtxRetain = answer!(CUcontext, handle(CUcontext, 0x1000); i32);
    t.cuDevicePrimaryCtxRelease_v2 = nothing!(i32);
    t.cuCtxGetCurrent = answer!(CUcontext, handle(CUcontext, 0x1000););
    t.cuCtxSetCurrent = nothing!(CUcontext);
    t.cuCtxSynchronize = nothing!();
    t.cuModuleLoadDataEx = answer!(CUmodule, handle(CUmodule, 0x2000); *const c_void, u32, *mut CUjit_option, *mut *mut c_void);
    t.cuModuleUnload = nothing!(CUmodule);
    t.cuModuleGetFunction =
        answer!(CUfunction, handle(CUfunction, 0x3000); CUmodule, *const c_char);
    t.cuModuleGetGlobal_v2 = nothing!(*mut CUdeviceptr, *mut usize, CUmodule, *const c_char);
    t.cuFuncGetAttribute = answer!(i32, 1024; CUfunction_attribute, CUfunction);
    t.cuFuncSetAttribute = nothing!(CUfunction, CUfunction_attribute, i32);
    t.cuFuncGetParamInfo = Some(param_info);
    t.cuMemAlloc_v2 = answer!(CUdeviceptr, 0x10_0000; usize);
    t.cuMemFree_v2 = nothing!(CUdeviceptr);
    t.cuMemGetInfo_v2 = nothing!(*mut usize, *mut usize);
    t.cuMemHostAlloc = nothing!(*mut *mut c_void, usize, u32);
    t.cuMemFreeHost = nothing!(*mut c_void);
    t.cuMemcpyHtoDAsync_v2 = nothing!(CUdeviceptr, *const c_void, usize, CUstream);
    t.cuMemcpyDtoHAsync_v2 = nothing!(*mut c_void, CUdeviceptr, usize, CUstream);
    t.cuMemcpyDtoDAsync_v2 = nothing!(CUdeviceptr, CUdeviceptr, usize, CUstream);
    t.cuMemsetD8Async = nothing!(CUdeviceptr, u8, usize, CUstream);
    t.cuMemsetD16Async = nothing!(CUdeviceptr, u16, usize, CUstream);
    t.cuMemsetD32Async = nothing!(CUdeviceptr, u32, usize, CUstream);
    t.cuStreamCreate = answer!(CUstream, handle(CUstream, 0x4000); u32);
    t.cuStreamDestroy_v2 = nothing!(CUstream);
    t.cuStreamSynchronize = nothing!(CUstream);
    t.cuStreamQuery = nothing!(CUstream);
    t.cuStreamWaitEvent = nothing!(CUstream, CUevent, u32);
    t.cuEventCreate = answer!(CUevent, handle(CUevent, 0x5000); u32);
    t.cuEventDestroy_v2 = nothing!(CUevent);
    t.cuEventRecord = nothing!(CUevent, CUstream);
    t.cuEventQuery = nothing!(CUevent);
    t.cuEventSynchronize = nothing!(CUevent);
    t.cuLaunchKernel = nothing!(
        CUfunction,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        CUstream,
        *mut *mut c_void,
        *mut *mut c_void
    );
    t
});

struct Setup {
    streams: [Stream; 2],
    kernel: Function,
    buffers: [DeviceBuffer<f32>; 3],
}

fn set_up() -> Setup {
    // SAFETY: every entry keeps the little of its contract that this program relies on.
    let driver = unsafe { Driver::from_table(&TABLE) }.expect("the table is complete");
    let context = driver.devices().expect("there is a device")[0]
        .context()
        .expect("a context");
    let streams = [
        context.new_stream().expect("a stream"),
        context.new_stream().expect("a stream"),
    ];
    let kernel = Module::from_ptx(&context, "//")
        .and_then(|module| module.function("saxpy"))
        .expect("a kernel");
    let buffers = std::array::from_fn(|_| DeviceBuffer::zeros(&streams[0], 1000).expect("memory"));
    Setup {
        streams,
        kernel,
        buffers,
    }
}

fn launches(c: &mut Criterion) {
    let Setup {
        streams: [stream, other],
        kernel,
        buffers: [x, y, mut z],
    } = set_up();
    let config = LaunchConfig::for_elements(1000);
    let mut group = c.benchmark_group("launch");

    group.bench_function("4 arguments, one stream", |b| {
        b.iter(|| {
            // SAFETY: the table runs nothing.
            unsafe {
                kernel.launch(
                    black_box(&stream),
                    black_box(config),
                    (&x, &y, &mut z, black_box(1000u32)),
                )
            }
        });
    });

    group.bench_function("4 arguments, dynamic list", |b| {
        b.iter(|| {
            let mut args = Args::new();
            args.read(x.view())
                .read(y.view())
                .write(z.view_mut())
                .scalar(black_box(1000u32));
            // SAFETY: the table runs nothing.
            unsafe { kernel.launch(black_box(&stream), black_box(config), &args) }
        });
    });

    // From here on the inputs have been used on two streams, and every use goes on record.
    // SAFETY: the table runs nothing.
    unsafe { kernel.launch(&other, config, (&x, &y, &x, 1000u32)) }.expect("a launch");
    group.bench_function("4 arguments, inputs shared by two streams", |b| {
        b.iter(|| {
            // SAFETY: the table runs nothing.
            unsafe {
                kernel.launch(
                    black_box(&stream),
                    black_box(config),
                    (&x, &y, &mut z, black_box(1000u32)),
                )
            }
        });
    });
    group.finish();
}

criterion_group!(benches, launches);
criterion_main!(benches);
