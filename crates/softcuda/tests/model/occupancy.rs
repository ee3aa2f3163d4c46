//! Occupancy answers follow the model that the documentation states, and bound cooperative launches.

use crate::common::*;
use crate::{cu, function, init, launch_cooperative, load, no, ok};

/// The documented model, from the attributes of the device and the function alone.
fn model(device: i32, function: CUfunction, threads: u32, dynamic: u32) -> u32 {
    type D = CUdevice_attribute;
    type F = CUfunction_attribute;
    let device = |attribute| {
        let mut value = 0;
        ok!(cuDeviceGetAttribute(&mut value, attribute, device));
        value as u32
    };
    let kernel = |attribute| {
        let mut value = 0;
        ok!(cuFuncGetAttribute(&mut value, attribute, function));
        value as u32
    };
    if threads > kernel(F::MAX_THREADS_PER_BLOCK) {
        return 0;
    }
    let warps = threads.div_ceil(32);
    let by_threads = device(D::MAX_THREADS_PER_MULTIPROCESSOR) / 32 / warps;
    let shared =
        kernel(F::SHARED_SIZE_BYTES) + dynamic + device(D::RESERVED_SHARED_MEMORY_PER_BLOCK);
    let by_shared = device(D::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / (shared.div_ceil(128) * 128);
    let registers = (kernel(F::NUM_REGS) * 32).div_ceil(256) * 256 * warps;
    let by_registers = device(D::MAX_REGISTERS_PER_MULTIPROCESSOR) / registers;
    by_threads
        .min(device(D::MAX_BLOCKS_PER_MULTIPROCESSOR))
        .min(by_shared)
        .min(by_registers)
}

#[test]
fn answers_follow_the_model() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    for name in [
        "linear",
        "look_back",
        "rounds",
        "sharing",
        "bounded",
        "recurse",
    ] {
        let function = function(module, name);
        for threads in [1u32, 31, 32, 33, 64, 100, 128, 256, 333, 512, 513, 1024] {
            for dynamic in [0u32, 1, 1000, 10_000, 48 << 10, 100 << 10, 163 << 10] {
                let mut blocks = -1;
                ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut blocks,
                    function,
                    threads as i32,
                    dynamic as usize
                ));
                assert_eq!(
                    blocks as u32,
                    model(0, function, threads, dynamic),
                    "{name} {threads} {dynamic}"
                );
            }
        }
        let (mut grid, mut block) = (0, 0);
        ok!(cuOccupancyMaxPotentialBlockSize(
            &mut grid, &mut block, function, None, 0, 0
        ));
        let resident = |threads: u32| threads * model(0, function, threads, 0);
        let best = (1..=32)
            .map(|warps| resident(32 * warps))
            .max()
            .expect("32 sizes");
        assert_eq!(resident(block as u32), best, "{name}");
        assert_eq!(
            grid as u32,
            4 * model(0, function, block as u32, 0),
            "{name}"
        );
    }
}

#[test]
fn cooperative_launches_have_that_limit() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (bounded, sharing) = (function(module, "bounded"), function(module, "sharing"));
    for threads in [32, 100, 256, 512] {
        let most = 4 * model(0, bounded, threads, 0);
        assert_eq!(
            launch_cooperative(bounded, most, threads, &[]),
            CUresult::SUCCESS
        );
        assert_eq!(
            launch_cooperative(bounded, most + 1, threads, &[]),
            CUresult::COOPERATIVE_LAUNCH_TOO_LARGE
        );
    }
    // Dynamic shared memory counts.
    let dynamic = 40 << 10;
    let most = 4 * model(0, sharing, 32, dynamic);
    let run = |grid| {
        let none = std::ptr::null_mut();
        cu!(cuLaunchCooperativeKernel(
            sharing,
            grid,
            1,
            1,
            32,
            1,
            1,
            dynamic,
            CUstream::NULL,
            none
        ))
    };
    assert_eq!(most, 12, "41 KiB and the reserved one, of 164");
    assert_eq!(
        (run(most), run(most + 1)),
        (CUresult::SUCCESS, CUresult::COOPERATIVE_LAUNCH_TOO_LARGE)
    );
    ok!(cuCtxSynchronize());
    no!(
        INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessor(std::ptr::null_mut(), bounded, 32, 0)
    );
}
