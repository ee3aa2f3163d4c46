//! Launches and occupancy.
#![allow(clippy::too_many_arguments, reason = "the signatures of cuda.h")]

use std::ffi::c_void;

use cuprum_driver_sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END, CUfunction,
    CUlaunchAttributeID, CUlaunchConfig, CUoccupancyB2DSize, CUresult, CUstream,
};

use super::module::function_by_handle;
use super::{In, List, Out, entries};
use crate::context;
use crate::error::{Outcome, fail};
use crate::launch::{Shape, best_block, launch, resident_blocks, shared_left};
use crate::module::Function;

entries! {
    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: CUstream,
        params: List<*mut c_void>,
        extra: List<*mut c_void>,
    ) {
        let stream = context::stream(stream)?;
        let function = function_by_handle(function)?;
        let params = collect(&function, &params, &extra)?;
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(&function, &Shape { grid, block, dynamic_shared: shared_bytes, cooperative: false }, params, &stream)
    }

    fn cuLaunchKernelEx(
        config: In<CUlaunchConfig>,
        function: CUfunction,
        params: List<*mut c_void>,
        extra: List<*mut c_void>,
    ) {
        let config = config.read()?;
        let stream = context::stream(config.hStream)?;
        let function = function_by_handle(function)?;
        let cooperative = read_attributes(&config)?;
        let params = collect(&function, &params, &extra)?;
        let shape = Shape {
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            dynamic_shared: config.sharedMemBytes,
            cooperative,
        };
        launch(&function, &shape, params, &stream)
    }

    fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: CUstream,
        params: List<*mut c_void>,
    ) {
        let stream = context::stream(stream)?;
        let function = function_by_handle(function)?;
        let params = collect(&function, &params, &List(std::ptr::null_mut()))?;
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(&function, &Shape { grid, block, dynamic_shared: shared_bytes, cooperative: true }, params, &stream)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<i32>,
        function: CUfunction,
        block_size: i32,
        shared_bytes: usize,
    ) {
        active_blocks(&blocks, function, block_size, shared_bytes)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<i32>,
        function: CUfunction,
        block_size: i32,
        shared_bytes: usize,
        flags: u32,
    ) {
        // 1 is CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE, which changes nothing where loads are not cached.
        if flags > 1 {
            return fail(CUresult::INVALID_VALUE, format!("unknown flags {flags:#x}"));
        }
        active_blocks(&blocks, function, block_size, shared_bytes)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>,
        block: Out<i32>,
        function: CUfunction,
        shared: CUoccupancyB2DSize,
        shared_bytes: usize,
        limit: i32,
    ) {
        let function = function_by_handle(function)?;
        grid.require()?;
        block.require()?;
        let Ok(limit) = u32::try_from(limit) else {
            return fail(CUresult::INVALID_VALUE, format!("blocks of at most {limit} threads"));
        };
        let fixed = saturate(shared_bytes);
        let (blocks, threads) = best_block(&function, limit, |size| match shared {
            // SAFETY: the program passed the function to be called with block sizes.
            Some(shared) => saturate(unsafe { shared(i32::try_from(size).unwrap_or(i32::MAX)) }),
            None => fixed,
        });
        grid.set(i32::try_from(blocks).unwrap_or(i32::MAX))?;
        block.set(i32::try_from(threads).unwrap_or(i32::MAX))
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: CUfunction, blocks: i32, block_size: i32) {
        let function = function_by_handle(function)?;
        bytes.require()?;
        let (Ok(blocks @ 1..), Ok(threads @ 1..)) = (u32::try_from(blocks), u32::try_from(block_size)) else {
            return fail(CUresult::INVALID_VALUE, format!("{blocks} blocks of {block_size} threads"));
        };
        match shared_left(&function, blocks, threads) {
            Some(left) => bytes.set(left as usize),
            None => fail(
                CUresult::INVALID_VALUE,
                format!("{blocks} blocks of {threads} threads do not fit a multiprocessor"),
            ),
        }
    }
}

fn saturate(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn active_blocks(
    blocks: &Out<i32>,
    function: CUfunction,
    block_size: i32,
    shared_bytes: usize,
) -> Outcome {
    let function = function_by_handle(function)?;
    blocks.require()?;
    let Ok(threads @ 1..) = u32::try_from(block_size) else {
        return fail(
            CUresult::INVALID_VALUE,
            format!("blocks of {block_size} threads"),
        );
    };
    let found = resident_blocks(&function, threads, saturate(shared_bytes));
    blocks.set(i32::try_from(found).unwrap_or(i32::MAX))
}

/// The arguments in one block, laid out as the kernel's parameters.
fn collect(
    function: &Function,
    params: &List<*mut c_void>,
    extra: &List<*mut c_void>,
) -> Outcome<Box<[u8]>> {
    let info = function.info();
    let bytes = info
        .params
        .iter()
        .map(|p| p.offset + p.size)
        .max()
        .unwrap_or(0) as usize;
    let mut packed = vec![0u8; bytes].into_boxed_slice();
    let invalid = |text: String| {
        fail(
            CUresult::INVALID_VALUE,
            format!("kernel `{}`: {text}", info.name),
        )
    };
    match (params.require().is_ok(), extra.require().is_ok()) {
        (true, true) => {
            return invalid("arguments are given twice, in kernelParams and in extra".into());
        }
        (false, false) if !info.params.is_empty() => {
            return invalid(format!("no arguments for {} parameters", info.params.len()));
        }
        (false, false) => {}
        (true, false) => {
            for (index, param) in info.params.iter().enumerate() {
                // SAFETY: the program passed a pointer for each parameter of the kernel.
                let value = unsafe { params.get(index) };
                if value.is_null() {
                    return invalid(format!("the pointer to argument {index} is null"));
                }
                let place = &mut packed[param.offset as usize..][..param.size as usize];
                // SAFETY: the pointer is to a value of the parameter's type, which has as many bytes.
                place.copy_from_slice(unsafe {
                    std::slice::from_raw_parts(value.cast::<u8>(), place.len())
                });
            }
        }
        (false, true) => {
            let (buffer, size) = read_extra(extra)?;
            // A buffer may be rounded up to the alignment of the last parameter, 16 at most.
            if size < bytes || size > bytes.next_multiple_of(16) {
                return invalid(format!(
                    "a buffer of {size} bytes for parameters of {bytes}"
                ));
            }
            if bytes > 0 {
                // SAFETY: the program passed a buffer of `size` bytes, at least as many as are read.
                packed.copy_from_slice(unsafe {
                    std::slice::from_raw_parts(buffer.cast::<u8>(), bytes)
                });
            }
        }
    }
    Ok(packed)
}

/// The buffer of packed arguments in `extra`, and its size.
fn read_extra(extra: &List<*mut c_void>) -> Outcome<(*mut c_void, usize)> {
    let (mut buffer, mut size) = (std::ptr::null_mut(), None);
    // Two pairs and the end are all that a list can hold with a meaning.
    for index in [0, 2, 4] {
        // SAFETY: the list goes on until CU_LAUNCH_PARAM_END, which has not come yet.
        let key = unsafe { extra.get(index) }.addr();
        match key {
            CU_LAUNCH_PARAM_END => break,
            CU_LAUNCH_PARAM_BUFFER_POINTER | CU_LAUNCH_PARAM_BUFFER_SIZE if index < 4 => {
                // SAFETY: the key is not the end, so a value follows it.
                let value = unsafe { extra.get(index + 1) };
                if key == CU_LAUNCH_PARAM_BUFFER_POINTER {
                    buffer = value;
                } else {
                    size = Some(In(value.cast_const().cast::<usize>()).read()?);
                }
            }
            _ => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("extra holds the unknown key {key:#x}"),
                );
            }
        }
    }
    match size {
        Some(size) if size == 0 || !buffer.is_null() => Ok((buffer, size)),
        _ => fail(
            CUresult::INVALID_VALUE,
            "extra must hold CU_LAUNCH_PARAM_BUFFER_POINTER and _BUFFER_SIZE",
        ),
    }
}

/// Whether the attributes make the launch cooperative; fails on what a software device cannot do. Hints are taken
/// without effect.
fn read_attributes(config: &CUlaunchConfig) -> Outcome<bool> {
    type Id = CUlaunchAttributeID;
    let attributes = List(config.attrs);
    if config.numAttrs > 0 {
        attributes.require()?;
    }
    let mut cooperative = false;
    for index in 0..config.numAttrs as usize {
        // SAFETY: the program passed `numAttrs` attributes.
        let attribute = unsafe { attributes.get(index) };
        let word = |at: usize| {
            let bytes = &attribute.value.pad[at * 4..at * 4 + 4];
            bytes
                .iter()
                .rev()
                .fold(0u32, |word, &byte| word << 8 | u32::from(byte))
        };
        match attribute.id {
            Id::COOPERATIVE => cooperative = word(0) != 0,
            Id::CLUSTER_DIMENSION
                if [word(0), word(1), word(2)]
                    .iter()
                    .all(|&extent| extent <= 1) => {}
            Id::CLUSTER_DIMENSION => {
                return fail(
                    CUresult::NOT_SUPPORTED,
                    "software devices have no clusters of blocks",
                );
            }
            Id::IGNORE
            | Id::ACCESS_POLICY_WINDOW
            | Id::SYNCHRONIZATION_POLICY
            | Id::CLUSTER_SCHEDULING_POLICY_PREFERENCE
            | Id::PROGRAMMATIC_STREAM_SERIALIZATION
            | Id::PRIORITY => {}
            other => {
                return fail(
                    CUresult::NOT_SUPPORTED,
                    format!("launch attribute {} is not supported", other.0),
                );
            }
        }
    }
    Ok(cooperative)
}
