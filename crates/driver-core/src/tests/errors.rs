//! How errors read, and what they hold.

use cuprum_driver_sys::CUresult;
use insta::assert_snapshot;

use super::mock;
use crate::{Device, DeviceBuffer, DriverProblem, Error, ErrorKind, LaunchConfig, Module, Stream};

/// Stream numbers differ from run to run.
fn text(error: &Error, streams: &[(&Stream, &str)]) -> String {
    streams
        .iter()
        .fold(error.to_string(), |text, (stream, name)| {
            text.replace(&stream.label(), name)
        })
}

#[test]
fn a_fault_names_the_launches_that_can_be_guilty() {
    let context = mock::context();
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let module = Module::from_ptx(&context, "//").unwrap();
    let (innocent, first, second) = (
        module.function("innocent").unwrap(),
        module.function("first").unwrap(),
        module.function("second").unwrap(),
    );
    mock::launch(&innocent, &a, LaunchConfig::grid_1d(1, 1), ()).unwrap();
    a.synchronize().unwrap();
    mock::launch(&first, &a, LaunchConfig::new((2, 3, 1), (32, 4, 1)), ()).unwrap();
    mock::launch(&second, &b, LaunchConfig::grid_1d(10, 256), ()).unwrap();
    mock::fail("cuStreamSynchronize", CUresult::ILLEGAL_ADDRESS);
    let error = a.synchronize().unwrap_err();
    mock::fail("cuStreamSynchronize", CUresult::SUCCESS);
    assert!(error.is_fatal() && error.is_asynchronous() && context.is_lost());
    assert_eq!(error.kind(), ErrorKind::Fault);
    assert_eq!(error.code(), Some(CUresult::ILLEGAL_ADDRESS));
    assert_eq!(error.suspects().len(), 2);
    assert_snapshot!(text(&error, &[(&a, "stream A"), (&b, "stream B")]), @"
    cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel used an invalid address (device custom:0 Mock, on stream A)
    The failure belongs to work queued earlier, not to this call. Launches that can be guilty:
      kernel `first`, grid 2x3x1, block 32x4x1, stream A
      kernel `second`, grid 10x1x1, block 256x1x1, stream B
    Hint: run the same program with CUPRUM_DEVICE=soft:0: it names kernel, line, thread and address.
    ");
}

#[test]
fn the_list_of_suspects_is_bounded() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("k")
        .unwrap();
    for blocks in 1..=100 {
        mock::launch(&kernel, &stream, LaunchConfig::grid_1d(blocks, 1), ()).unwrap();
    }
    mock::fail("cuCtxSynchronize", CUresult::LAUNCH_FAILED);
    let error = context.synchronize().unwrap_err();
    mock::fail("cuCtxSynchronize", CUresult::SUCCESS);
    let blocks: Vec<_> = error
        .suspects()
        .iter()
        .map(|launch| launch.grid[0])
        .collect();
    assert_eq!(blocks, [93, 94, 95, 96, 97, 98, 99, 100]);
}

#[test]
fn a_failing_launch_names_kernel_and_shape() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("heavy")
        .unwrap();
    mock::fail("cuLaunchKernel", CUresult::LAUNCH_OUT_OF_RESOURCES);
    let error = mock::launch(&kernel, &stream, LaunchConfig::grid_1d(1, 1024), ()).unwrap_err();
    mock::fail("cuLaunchKernel", CUresult::SUCCESS);
    assert_snapshot!(text(&error, &[(&stream, "stream A")]), @"
    cuLaunchKernel failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): the launch needs more registers, threads or shared memory than there are (device custom:0 Mock, on stream A, kernel `heavy`, grid 1x1x1, block 1024x1x1, dynamic shared bytes 0, registers per thread 32, static shared bytes 0)
    Hint: the block needs more registers or shared memory than there are: use fewer threads, or compile with __launch_bounds__.
    ");
}

#[test]
fn unknown_codes_survive_as_numbers() {
    let context = mock::context();
    mock::fail("cuCtxSynchronize", CUresult(4242));
    let error = context.synchronize().unwrap_err();
    mock::fail("cuCtxSynchronize", CUresult::SUCCESS);
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Driver, Some(CUresult(4242)))
    );
    assert_snapshot!(error, @"cuCtxSynchronize failed: CUresult(4242) (device custom:0 Mock)");
}

#[test]
fn a_missing_entry_is_unsupported() {
    let context = mock::context();
    let module = Module::from_ptx(&context, "//").unwrap();
    let error = module.functions().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_snapshot!(error, @"
    cuModuleGetFunctionCount: the driver has no such entry point (device custom:0 Mock)
    Hint: update the driver.
    ");
}

#[test]
fn a_missing_kernel_is_named() {
    let context = mock::context();
    let module = Module::from_ptx(&context, "//").unwrap();
    mock::fail("cuModuleGetFunction", CUresult::NOT_FOUND);
    let error = module.function("saxpy").unwrap_err();
    mock::fail("cuModuleGetFunction", CUresult::SUCCESS);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_snapshot!(error, @r#"
    cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500): no such name or symbol (device custom:0 Mock, kernel `saxpy`)
    Hint: C++ mangles names: declare the kernel extern "C", or ask for its name expression.
    "#);
}

#[test]
fn images_cut_short_are_refused() {
    let context = mock::context();
    let refuse = |image: &[u8]| {
        let error = Module::from_image(&context, image).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidImage);
        error.to_string()
    };
    let mut elf = vec![0u8; 64];
    elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
    elf[40..48].copy_from_slice(&64u64.to_le_bytes()); // sections start at the end
    elf[58..60].copy_from_slice(&64u16.to_le_bytes());
    elf[60..62].copy_from_slice(&1u16.to_le_bytes()); // and there is one
    assert_snapshot!(refuse(&elf), @"the cubin is cut short (image of 64 bytes)");
    assert_snapshot!(refuse(b"\x7fELF"), @"the cubin is cut short (image of 4 bytes)");
    elf.resize(128, 0);
    Module::from_image(&context, &elf).unwrap();
    let mut fat = 0xba55_ed50u32.to_le_bytes().to_vec();
    fat.extend([1, 0, 16, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    assert_snapshot!(refuse(&fat), @"the fat binary is cut short (image of 16 bytes)");
    fat.extend([0; 8]);
    Module::from_image(&context, &fat).unwrap();
    assert_snapshot!(refuse(b"\xff\xfe"), @"the image is no cubin, fat binary or PTX text (image of 2 bytes)");
    refuse(b"");
    // Object files and libraries are for linking.
    elf[18] = 62; // x86-64
    assert_snapshot!(refuse(&elf), @"object files and libraries are linked with others, not loaded: Module::linked_images");
    assert_snapshot!(refuse(&elf[..100]), @"the object file is cut short (image of 100 bytes)");
    assert_snapshot!(refuse(b"!<arch>\n"), @"object files and libraries are linked with others, not loaded: Module::linked_images");
    Module::from_image(&context, b".version 8.0\0").unwrap();
}

#[test]
fn driver_problems_read_well() {
    let texts: Vec<_> = [
        DriverProblem::Missing(
            "libcuda.so.1: cannot open shared object file: No such file or directory".to_owned(),
        ),
        DriverProblem::Unloadable("libcuda.so.1: wrong ELF class: ELFCLASS32".to_owned()),
        DriverProblem::Stub,
        DriverProblem::TooOld {
            version: Some((10, 2)),
            missing: vec!["cuMemAllocAsync", "cuCtxGetId"],
        },
        DriverProblem::InitFailed(CUresult::SYSTEM_DRIVER_MISMATCH),
        DriverProblem::NoDevice,
        DriverProblem::SoftwareNotBuilt,
    ]
    .into_iter()
    .map(|problem| Error::from(problem).to_string())
    .collect();
    assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn impossible_choices_read_well() {
    assert_snapshot!(Device::by_name("gpu").unwrap_err(), @"
    `gpu` names no device
    Hint: use auto, cuda:N or soft:N, with N counting from 0.
    ");
    for text in [
        "cuda:",
        "soft:-1",
        "soft:1:2",
        "cuda:99999999999",
        "auto:0",
        "",
    ] {
        assert_eq!(
            text.parse::<crate::Choice>().unwrap_err().kind(),
            ErrorKind::InvalidArgument,
            "{text}"
        );
    }
}

#[test]
fn debug_is_as_readable_as_display() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let error = DeviceBuffer::<u64>::zeros(&stream, usize::MAX).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn only_software_devices_stop_kernels() {
    let context = mock::context();
    let limit = context.set_time_limit(Some(std::time::Duration::from_secs(1)));
    for (answer, what) in [
        (limit, "limit how long kernels run"),
        (context.cancel(), "stop kernels"),
    ] {
        let error = answer.expect_err("this driver is none of a software device");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(
            text.contains(what) && text.contains(&context.device().label()),
            "{text}"
        );
    }
}
