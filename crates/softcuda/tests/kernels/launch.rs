//! Launches: arguments, limits, attributes, occupancy.

use crate::common::*;
use crate::{arg, function, init, launch, load, no, ok, try_launch};

#[test]
fn a_kernel_computes() {
    init();
    let _context = TestContext::on(0);
    let add = function(load(), "add");
    let n = 100_001u32;
    let data: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (a, b) = (alloc(data.len() * 4), alloc(data.len() * 4));
    upload(a, &data);
    launch(
        add,
        n.div_ceil(256),
        256,
        CUstream::NULL,
        &[arg(&b), arg(&a), arg(&0.5f32), arg(&n)],
    );
    let found = download::<f32>(b, data.len());
    assert!(
        found
            .iter()
            .zip(&data)
            .all(|(found, data)| *found == data + 0.5)
    );
}

#[test]
fn packed_arguments_are_checked_by_size() {
    init();
    let _context = TestContext::on(0);
    let add = function(load(), "add");
    let (a, b) = (alloc(40), alloc(40));
    upload(a, &[1.0f32; 10]);
    let mut packed = [0u8; 32];
    packed[..8].copy_from_slice(&b.to_le_bytes());
    packed[8..16].copy_from_slice(&a.to_le_bytes());
    packed[16..20].copy_from_slice(&2.0f32.to_le_bytes());
    packed[20..24].copy_from_slice(&10u32.to_le_bytes());
    let run = |mut size: usize| {
        let mut extra = [
            std::ptr::without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_POINTER),
            packed.as_ptr().cast_mut().cast(),
            std::ptr::without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE),
            (&raw mut size).cast(),
            NULL,
        ];
        crate::cu!(cuLaunchKernel(
            add,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            CUstream::NULL,
            std::ptr::null_mut(),
            extra.as_mut_ptr()
        ))
    };
    assert_eq!(run(24), CUresult::SUCCESS, "{:?}", last_error());
    assert_eq!(download::<f32>(b, 10), [3.0; 10]);
    assert_eq!(run(32), CUresult::SUCCESS, "rounded up");
    assert_eq!(run(20), CUresult::INVALID_VALUE);
    assert_eq!(run(64), CUresult::INVALID_VALUE);
    let (mut both, mut size) = ([NULL; 4], 24usize);
    let unfinished = (&raw mut size).cast();
    let mut extra = [
        std::ptr::without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE),
        unfinished,
        NULL,
    ];
    let (p, e) = (both.as_mut_ptr(), extra.as_mut_ptr());
    no!(
        INVALID_VALUE,
        cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, CUstream::NULL, p, e)
    );
    no!(
        INVALID_VALUE,
        cuLaunchKernel(
            add,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            CUstream::NULL,
            std::ptr::null_mut(),
            e
        )
    );
    no!(
        INVALID_VALUE,
        cuLaunchKernel(
            add,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            CUstream::NULL,
            p,
            std::ptr::null_mut()
        )
    );
    let nothing = std::ptr::null_mut();
    no!(
        INVALID_VALUE,
        cuLaunchKernel(
            add,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            CUstream::NULL,
            nothing,
            std::ptr::null_mut()
        )
    );
    ok!(cuCtxSynchronize());
}

/// PR-39 of the public reports.
#[test]
fn shapes_that_cannot_be_are_refused_and_harmless() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (bounded, required) = (function(module, "bounded"), function(module, "required"));
    let run = |function, grid, block| try_launch(function, grid, block, 0, CUstream::NULL, &[]);
    for (grid, block, told) in [
        ([0, 1, 1], [1, 1, 1], "zero"),
        ([1, 1, 1], [1, 0, 1], "zero"),
        ([1, 65536, 1], [1, 1, 1], "65536 blocks in y"),
        ([1, 1, 65536], [1, 1, 1], "blocks in z"),
        ([1 << 31, 1, 1], [1, 1, 1], "blocks in x"),
        ([1, 1, 1], [2048, 1, 1], "2048 threads"),
        ([1, 1, 1], [1, 1, 65], "65 threads of a block in z"),
        ([1, 1, 1], [64, 32, 1], "2048 threads"),
        ([1, 1, 1], [1024, 1, 1], "bounded to 256"),
    ] {
        assert_eq!(
            run(bounded, grid, block),
            CUresult::INVALID_VALUE,
            "{grid:?} {block:?}"
        );
        let text = last_error().expect("failed");
        assert!(text.contains(told) && text.contains("bounded"), "{text}");
    }
    assert_eq!(
        run(required, [1, 1, 1], [64, 1, 1]),
        CUresult::INVALID_VALUE
    );
    assert_eq!(run(required, [1, 1, 1], [32, 2, 1]), CUresult::SUCCESS);
    assert_eq!(run(bounded, [65, 65, 65], [16, 16, 1]), CUresult::SUCCESS);
    let stray = CUfunction(std::ptr::without_provenance_mut(0x50));
    assert_eq!(run(stray, [1, 1, 1], [1, 1, 1]), CUresult::INVALID_HANDLE);
    assert_eq!(
        run(CUfunction(module.0), [1, 1, 1], [1, 1, 1]),
        CUresult::INVALID_HANDLE
    );
    ok!(cuCtxSynchronize());
}

/// PR-37 of the public reports: 16 bytes of static shared memory count.
#[test]
fn shared_memory_past_48_kib_is_opted_in() {
    init();
    let _context = TestContext::on(0);
    let sharing = function(load(), "sharing");
    let out = alloc(4);
    let run = |bytes: u32| {
        try_launch(
            sharing,
            [1, 1, 1],
            [1, 1, 1],
            bytes,
            CUstream::NULL,
            &[arg(&out), arg(&bytes)],
        )
    };
    let opt_in = |bytes: i32| {
        crate::cu!(cuFuncSetAttribute(
            sharing,
            CUfunction_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES,
            bytes
        ))
    };
    let mut most = 0;
    ok!(cuDeviceGetAttribute(
        &mut most,
        CUdevice_attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        0
    ));
    assert_eq!(run(49136), CUresult::SUCCESS, "{:?}", last_error());
    assert_eq!(download::<u32>(out, 1), [2 * 49136]);
    assert_eq!(run(49152), CUresult::INVALID_VALUE);
    assert!(
        last_error()
            .expect("failed")
            .contains("49152 bytes of dynamic"),
        "{:?}",
        last_error()
    );
    for bytes in [49152, 65536, most - 16] {
        assert_eq!(opt_in(bytes), CUresult::SUCCESS);
        assert_eq!(run(bytes as u32), CUresult::SUCCESS, "{:?}", last_error());
        assert_eq!(download::<u32>(out, 1), [2 * bytes as u32]);
    }
    assert_eq!(opt_in(most - 15), CUresult::INVALID_VALUE);
    assert_eq!(opt_in(-1), CUresult::INVALID_VALUE);
    assert_eq!(run(most as u32 - 15), CUresult::INVALID_VALUE);
}

#[test]
fn functions_tell_their_attributes_and_parameters() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (sharing, bounded, add) = (
        function(module, "sharing"),
        function(module, "bounded"),
        function(module, "add"),
    );
    type A = CUfunction_attribute;
    let get = |function, attribute| {
        let mut value = -9;
        ok!(cuFuncGetAttribute(&mut value, attribute, function));
        value
    };
    assert_eq!(get(sharing, A::SHARED_SIZE_BYTES), 16);
    assert_eq!(get(sharing, A::MAX_DYNAMIC_SHARED_SIZE_BYTES), 49136);
    assert_eq!(get(bounded, A::MAX_THREADS_PER_BLOCK), 256);
    assert_eq!(get(add, A::MAX_THREADS_PER_BLOCK), 1024);
    assert_eq!(get(add, A::CONST_SIZE_BYTES), 40);
    assert_eq!(
        (get(add, A::PTX_VERSION), get(add, A::BINARY_VERSION)),
        (80, 80)
    );
    assert!((1..=255).contains(&get(add, A::NUM_REGS)));
    ok!(cuFuncSetAttribute(
        add,
        A::PREFERRED_SHARED_MEMORY_CARVEOUT,
        50
    ));
    assert_eq!(get(add, A::PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
    no!(
        INVALID_VALUE,
        cuFuncSetAttribute(add, A::PREFERRED_SHARED_MEMORY_CARVEOUT, 101)
    );
    no!(INVALID_VALUE, cuFuncSetAttribute(add, A::NUM_REGS, 10));
    no!(
        INVALID_VALUE,
        cuFuncGetAttribute(&mut 0, CUfunction_attribute(99), add)
    );
    ok!(cuFuncSetCacheConfig(add, CUfunc_cache::PREFER_SHARED));
    no!(INVALID_VALUE, cuFuncSetCacheConfig(add, CUfunc_cache(7)));

    let (mut offset, mut size) = (0, 0);
    for (index, expected) in [(0, 8), (8, 8), (16, 4), (20, 4)].into_iter().enumerate() {
        ok!(cuFuncGetParamInfo(add, index, &mut offset, &mut size));
        assert_eq!((offset, size), expected);
    }
    ok!(cuFuncGetParamInfo(
        add,
        0,
        &mut offset,
        std::ptr::null_mut()
    ));
    no!(
        INVALID_VALUE,
        cuFuncGetParamInfo(add, 4, &mut offset, &mut size)
    );
    let (mut name, mut of) = (std::ptr::null(), CUmodule::NULL);
    ok!(cuFuncGetName(&mut name, add));
    // SAFETY: the name lives as long as the function.
    assert_eq!(unsafe { std::ffi::CStr::from_ptr(name) }, c"add");
    ok!(cuFuncGetModule(&mut of, add));
    assert_eq!(of, module);
}

#[test]
fn cooperative_grids_must_be_resident() {
    init();
    let _context = TestContext::on(0);
    let bounded = function(load(), "bounded");
    let mut per_sm = 0;
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut per_sm,
        bounded,
        256,
        0
    ));
    assert_eq!(per_sm, 8, "2048 threads of 256");
    let run = |grid| {
        crate::cu!(cuLaunchCooperativeKernel(
            bounded,
            grid,
            1,
            1,
            256,
            1,
            1,
            0,
            CUstream::NULL,
            std::ptr::null_mut()
        ))
    };
    assert_eq!(run(32), CUresult::SUCCESS, "{:?}", last_error());
    assert_eq!(run(33), CUresult::COOPERATIVE_LAUNCH_TOO_LARGE);
    assert!(
        last_error().expect("failed").contains("33 blocks"),
        "{:?}",
        last_error()
    );
    ok!(cuCtxSynchronize());
}

#[test]
fn launches_with_attributes() {
    init();
    let _context = TestContext::on(0);
    let bounded = function(load(), "bounded");
    let attribute = |id, first: u8| {
        let mut pad = [0; 64];
        pad[0] = first;
        CUlaunchAttribute {
            id,
            pad: [0; 4],
            value: CUlaunchAttributeValue { pad },
        }
    };
    let run = |grid, attributes: &mut [CUlaunchAttribute]| {
        let config = CUlaunchConfig {
            gridDimX: grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 256,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: CUstream::NULL,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        crate::cu!(cuLaunchKernelEx(
            &config,
            bounded,
            std::ptr::null_mut(),
            std::ptr::null_mut()
        ))
    };
    type Id = CUlaunchAttributeID;
    assert_eq!(run(100, &mut []), CUresult::SUCCESS);
    assert_eq!(
        run(
            100,
            &mut [attribute(Id::PRIORITY, 0), attribute(Id::COOPERATIVE, 0)]
        ),
        CUresult::SUCCESS
    );
    assert_eq!(
        run(100, &mut [attribute(Id::COOPERATIVE, 1)]),
        CUresult::COOPERATIVE_LAUNCH_TOO_LARGE
    );
    assert_eq!(
        run(4, &mut [attribute(Id::CLUSTER_DIMENSION, 2)]),
        CUresult::NOT_SUPPORTED
    );
    assert_eq!(
        run(4, &mut [attribute(CUlaunchAttributeID(77), 2)]),
        CUresult::NOT_SUPPORTED
    );
    no!(
        INVALID_VALUE,
        cuLaunchKernelEx(
            std::ptr::null(),
            bounded,
            std::ptr::null_mut(),
            std::ptr::null_mut()
        )
    );
    ok!(cuCtxSynchronize());
}

#[test]
fn occupancy_follows_the_stated_model() {
    unsafe extern "C" fn all_of_it(block: i32) -> usize {
        // Only blocks of 64 threads and fewer leave room for a second one.
        if block > 64 { 160 << 10 } else { 1 << 10 }
    }
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (bounded, sharing) = (function(module, "bounded"), function(module, "sharing"));
    let (mut blocks, mut grid, mut bytes) = (-1, -1, 0);
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &mut blocks,
        bounded,
        32,
        0,
        1
    ));
    assert_eq!(blocks, 32);
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks,
        bounded,
        32,
        40 << 10
    ));
    assert_eq!(blocks, 4, "40 KiB each, and the reserved KiB, of 164");
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks,
        bounded,
        512,
        0
    ));
    assert_eq!(blocks, 0, "the kernel is bounded to 256 threads");
    no!(
        INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, bounded, 0, 0)
    );
    no!(
        INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut blocks, bounded, 32, 0, 2)
    );
    ok!(cuOccupancyMaxPotentialBlockSize(
        &mut grid,
        &mut blocks,
        bounded,
        None,
        0,
        0
    ));
    assert_eq!((grid, blocks), (8 * 4, 256));
    ok!(cuOccupancyMaxPotentialBlockSize(
        &mut grid,
        &mut blocks,
        bounded,
        None,
        0,
        100
    ));
    assert_eq!(
        blocks, 64,
        "as many threads as 96 or 100 would keep resident: 2048"
    );
    ok!(cuOccupancyMaxPotentialBlockSize(
        &mut grid,
        &mut blocks,
        bounded,
        Some(all_of_it),
        0,
        0
    ));
    assert_eq!(blocks, 64);
    no!(
        INVALID_VALUE,
        cuOccupancyMaxPotentialBlockSize(&mut grid, &mut blocks, bounded, None, 0, -1)
    );
    ok!(cuOccupancyAvailableDynamicSMemPerBlock(
        &mut bytes, sharing, 2, 64
    ));
    assert_eq!(bytes, 82 * 1024 - 1024 - 16);
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks,
        sharing,
        64,
        bytes
    ));
    assert_eq!(blocks, 2);
    no!(
        INVALID_VALUE,
        cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, sharing, 3, 1024)
    );
    no!(
        INVALID_VALUE,
        cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, sharing, 0, 64)
    );
}
