//! Launches: what is checked, what reaches the driver.

use insta::assert_snapshot;

use super::mock::{self, LAUNCHED, calls};
use crate::{
    Args, DeviceBuffer, DeviceCopy, DevicePtr, ErrorKind, Function, KernelArgs, LaunchConfig,
    Module, ParamName, Stream,
};

fn kernel(name: &str) -> (Stream, Function) {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function(name)
        .unwrap();
    calls();
    (stream, kernel)
}

fn launch(
    stream: &Stream,
    kernel: &Function,
    config: LaunchConfig,
    args: impl KernelArgs,
) -> crate::Result<()> {
    mock::launch(kernel, stream, config, args)
}

const ONE: LaunchConfig = LaunchConfig::grid_1d(1, 32);

#[test]
fn values_and_addresses_reach_the_driver() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Pair {
        pointer: DevicePtr,
        len: u64,
    }
    // SAFETY: a `repr(C)` structure of numbers without padding, valid when zero.
    unsafe impl DeviceCopy for Pair {}

    let (stream, kernel) = kernel("mixed:8,8,4,1,16,2");
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 10]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeros(&stream, 10).unwrap();
    let pair = Pair {
        pointer: DevicePtr(7),
        len: 9,
    };
    let half = half::f16::from_f32(1.5);
    launch(
        &stream,
        &kernel,
        ONE,
        (x.slice(2..), &mut y, 1.5f32, true, pair, half),
    )
    .unwrap();
    let launched = LAUNCHED.take().unwrap();
    let mut pair_bytes = 7u64.to_ne_bytes().to_vec();
    pair_bytes.extend(9u64.to_ne_bytes());
    let expected = [
        (x.address() + 8).to_ne_bytes().to_vec(),
        y.address().to_ne_bytes().to_vec(),
        1.5f32.to_ne_bytes().to_vec(),
        vec![1],
        pair_bytes,
        half.to_ne_bytes().to_vec(),
    ];
    assert_eq!(launched.args, expected);

    let mut args = Args::new();
    args.read(x.slice(2..))
        .write(y.view_mut())
        .scalar(1.5f32)
        .scalar(true)
        .bytes(&expected[4])
        .scalar(half);
    launch(&stream, &kernel, ONE, &args).unwrap();
    assert_eq!(LAUNCHED.take().unwrap().args, expected);
}

#[test]
fn a_launch_asks_for_the_current_context_each_time() {
    let (stream, kernel) = kernel("nothing");
    launch(&stream, &kernel, ONE, ()).unwrap();
    launch(&stream, &kernel, ONE, ()).unwrap();
    assert_eq!(
        mock::all_calls(),
        [
            "cuCtxGetCurrent",
            "cuLaunchKernel",
            "cuCtxGetCurrent",
            "cuLaunchKernel"
        ]
    );
    // Another library may change it behind our back.
    let other = mock::context();
    other.make_current().unwrap();
    calls();
    launch(&stream, &kernel, ONE, ()).unwrap();
    assert_eq!(
        mock::all_calls(),
        ["cuCtxGetCurrent", "cuCtxSetCurrent", "cuLaunchKernel"]
    );
}

#[test]
fn wrong_arguments_are_refused_with_numbers() {
    let (stream, kernel) = kernel("saxpy:8,8,4");
    let mut y = DeviceBuffer::<f32>::zeros(&stream, 10).unwrap();
    calls();
    let error = launch(&stream, &kernel, ONE, (&mut y, 1i32)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Arguments);
    assert_snapshot!(error, @"kernel `saxpy:8,8,4` takes 3 arguments, and 2 were given (parameters [parameter 0, 8 bytes at offset 0, parameter 1, 8 bytes at offset 8, parameter 2, 4 bytes at offset 16])");
    let error = launch(&stream, &kernel, ONE, (&mut y, DevicePtr(0), 1.0f64)).unwrap_err();
    assert_snapshot!(error, @"
    argument 2 of kernel `saxpy:8,8,4` has 8 bytes, and the kernel takes parameter 2, 4 bytes at offset 16
    Hint: a number literal is an i32 or an f64 unless it has a suffix: 1u64, 1.0f32.
    ");
    let named = kernel.with_param_names(["y", "x", "n"].map(|name| ParamName {
        name: name.to_owned(),
        c_type: if name == "n" { "int" } else { "float *" }.to_owned(),
    }));
    let error = launch(&stream, &named, ONE, (&mut y, 1i32, 1i32)).unwrap_err();
    assert_snapshot!(error, @"
    argument 1 of kernel `saxpy:8,8,4` has 4 bytes, and the kernel takes parameter 1 `x` (float *), 8 bytes at offset 8
    Hint: a number literal is an i32 or an f64 unless it has a suffix: 1u64, 1.0f32.
    ");
    assert_eq!(calls(), [""; 0], "nothing was queued");
}

#[test]
fn impossible_shapes_are_refused_with_numbers() {
    let (stream, kernel) = kernel("plain");
    let bounded = kernel.module().function("bounded").unwrap();
    calls();
    let refuse = |kernel: &Function, grid, block| {
        let error = launch(&stream, kernel, LaunchConfig::new(grid, block), ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LaunchConfig);
        error.to_string()
    };
    assert_snapshot!(refuse(&kernel, (1, 1, 1), (0, 1, 1)), @"a block of 0x1x1 has no threads (kernel `plain`, device custom:0 Mock)");
    assert_snapshot!(refuse(&kernel, (1, 1, 1), (1, 1, 65)), @"a block of 1x1x65 has 65 threads in z, and the device allows 64 (kernel `plain`, device custom:0 Mock)");
    assert_snapshot!(refuse(&kernel, (1, 1, 1), (64, 32, 1)), @"a block of 64x32x1 has 2048 threads, and the device allows 1024 (kernel `plain`, device custom:0 Mock)");
    assert_snapshot!(refuse(&bounded, (1, 1, 1), (65, 1, 1)), @"a block of 65x1x1 has 65 threads, and this kernel runs with 64 at most (it uses 32 registers per thread, or its source sets a bound) (kernel `bounded`, device custom:0 Mock)");
    assert_snapshot!(refuse(&kernel, (1, 65_536, 1), (1, 1, 1)), @"a grid of 1x65536x1 has 65536 blocks in y, and the device allows 65535 (kernel `plain`, device custom:0 Mock)");
    // Products that overflow 32 bits are seen too.
    refuse(&kernel, (1, 1, 1), (u32::MAX, u32::MAX, u32::MAX));
    assert_eq!(calls(), [""; 0], "nothing was queued");
}

#[test]
fn large_shared_memory_opts_in_by_itself() {
    let (stream, kernel) = kernel("plain");
    launch(&stream, &kernel, ONE.with_shared_bytes(49_152), ()).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"]);
    launch(&stream, &kernel, ONE.with_shared_bytes(65_536), ()).unwrap();
    assert_eq!(calls(), ["cuFuncSetAttribute", "cuLaunchKernel"]);
    assert_eq!(LAUNCHED.take().unwrap().shared, 65_536);
    launch(&stream, &kernel, ONE.with_shared_bytes(60_000), ()).unwrap();
    assert_eq!(calls(), ["cuLaunchKernel"], "once is enough");
}

#[test]
fn too_much_shared_memory_counts_the_kernels_own() {
    let (stream, kernel) = kernel("static");
    launch(&stream, &kernel, ONE.with_shared_bytes(101_376 - 1024), ()).unwrap();
    let error = launch(&stream, &kernel, ONE.with_shared_bytes(101_376), ()).unwrap_err();
    assert_snapshot!(error, @"the launch asks for 101376 bytes of dynamic shared memory and the kernel has 1024 of its own, and a block of this device has 101376 at most (kernel `static`, device custom:0 Mock)");
}

#[test]
fn a_grid_of_nothing_launches_nothing() {
    let (stream, kernel) = kernel("k:8");
    let mut empty = DeviceBuffer::<f32>::zeros(&stream, 0).unwrap();
    assert_eq!(empty.to_vec().unwrap(), []);
    empty.fill(1.0).unwrap();
    launch(
        &stream,
        &kernel,
        LaunchConfig::for_elements(empty.len()),
        (&mut empty,),
    )
    .unwrap();
    drop(empty);
    assert_eq!(calls(), [""; 0]);
}

#[test]
fn contexts_do_not_mix() {
    let (stream, kernel) = kernel("k:8");
    let other = mock::context();
    let foreign_stream = other.new_stream().unwrap();
    let foreign = DeviceBuffer::<f32>::zeros(&foreign_stream, 4).unwrap();
    foreign_stream.synchronize().unwrap();
    let error = launch(&stream, &kernel, ONE, (&foreign,)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    assert_snapshot!(error, @"the memory is of a context on custom:0, and the stream is of one on custom:0");
    let error = launch(&foreign_stream, &kernel, ONE, (&foreign,)).unwrap_err();
    assert_snapshot!(error, @"the kernel is of a context on custom:0, and the stream is of one on custom:0 (kernel `k:8`)");
}

#[test]
fn parameters_that_the_driver_cannot_tell_are_not_checked() {
    let mut table = mock::table();
    table.cuFuncGetParamInfo = None;
    let context = mock::device_with(table).context().unwrap();
    let stream = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("k:4")
        .unwrap();
    assert!(!kernel.params_known());
    launch(&stream, &kernel, ONE, (1i32, 2i32)).unwrap();
}
