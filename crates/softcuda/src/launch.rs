//! Launching kernels: what is checked, and how many blocks are resident.

use std::sync::Arc;

use cuprum_driver_sys::CUresult;

use crate::attributes::{MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID};
use crate::driver::driver;
use crate::error::{Failure, Outcome, fail};
use crate::exec::{self, Fault, Launch, SmLimits};
use crate::module::Function;
use crate::printf::PrintfSink;
use crate::registry::next_id;
use crate::stream::{Stream, Task};

/// The shape of a launch, as the program asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Blocks of the grid.
    pub(crate) grid: [u32; 3],
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub(crate) dynamic_shared: u32,
    /// Whether all blocks must be resident at once.
    pub(crate) cooperative: bool,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code, fault.message)
    }
}

impl Shape {
    /// Threads of a block in all.
    fn block_threads(&self) -> u32 {
        self.block
            .iter()
            .fold(1u32, |product, &extent| product.saturating_mul(extent))
    }

    /// Blocks of the grid in all.
    fn blocks(&self) -> u64 {
        self.grid.iter().fold(1u64, |product, &extent| {
            product.saturating_mul(extent.into())
        })
    }

    /// Fails where hardware refuses the launch.
    fn check(&self, function: &Function) -> Outcome {
        let Self {
            grid,
            block,
            dynamic_shared,
            ..
        } = *self;
        let info = function.info();
        let invalid = |text: String| {
            fail(
                CUresult::INVALID_VALUE,
                format!("kernel `{}`: {text}", info.name),
            )
        };
        if grid.contains(&0) || block.contains(&0) {
            return invalid(format!(
                "grid {grid:?}, block {block:?}: a dimension is zero"
            ));
        }
        for dimension in 0..3 {
            let (axis, blocks, threads) = (
                ["x", "y", "z"][dimension],
                grid[dimension],
                block[dimension],
            );
            if blocks > MAX_GRID[dimension] {
                return invalid(format!(
                    "{blocks} blocks in {axis}: at most {}",
                    MAX_GRID[dimension]
                ));
            }
            if threads > MAX_BLOCK[dimension] {
                return invalid(format!(
                    "{threads} threads of a block in {axis}: at most {}",
                    MAX_BLOCK[dimension]
                ));
            }
        }
        let threads = self.block_threads();
        if threads > MAX_BLOCK_THREADS {
            return invalid(format!(
                "blocks of {threads} threads: at most {MAX_BLOCK_THREADS}"
            ));
        }
        if threads > info.max_threads {
            return invalid(format!(
                "blocks of {threads} threads: the kernel is bounded to {}",
                info.max_threads
            ));
        }
        if info.req_threads.is_some_and(|required| required != block) {
            let required = info.req_threads.unwrap_or_default();
            return invalid(format!(
                "blocks of {block:?} threads: the kernel requires {required:?}"
            ));
        }
        let most = function.max_dynamic_shared();
        if dynamic_shared > most {
            let fixed = info.static_shared;
            return invalid(format!(
                "{dynamic_shared} bytes of dynamic shared memory (and {fixed} of static): at most {most}, see \
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
            ));
        }
        Ok(())
    }
}

/// A grid's workspace as a cooperative grid finds it: its size in bytes, and the word of its barrier (the layout that CUDA's
/// `cooperative_groups` expects at the address in `%envreg1` and `%envreg2`).
pub(crate) const GRID_WORKSPACE: [u8; 8] = [8, 0, 0, 0, 0, 0, 0, 0];

/// Queues a launch; `params` are the arguments, laid out as the kernel's parameters.
pub(crate) fn launch(
    function: &Function,
    shape: &Shape,
    params: Box<[u8]>,
    stream: &Arc<Stream>,
) -> Outcome {
    let context = function.context();
    if !Arc::ptr_eq(context, &stream.context) {
        return fail(
            CUresult::INVALID_HANDLE,
            "the function and the stream belong to different contexts",
        );
    }
    shape.check(function)?;
    let device = &context.device;
    // What one multiprocessor can launch at all is resident once, whatever the estimate of registers says.
    let resident_per_sm =
        resident_blocks(function, shape.block_threads(), shape.dynamic_shared).max(1);
    let sm_count = device.config.multiprocessors;
    let at_once = u64::from(resident_per_sm) * u64::from(sm_count);
    if shape.cooperative && shape.blocks() > at_once {
        let (name, blocks) = (&function.info().name, shape.blocks());
        return fail(
            CUresult::COOPERATIVE_LAUNCH_TOO_LARGE,
            format!(
                "kernel `{name}`: {blocks} blocks, but {sm_count} multiprocessors hold {at_once} at once"
            ),
        );
    }
    let printf: Arc<dyn PrintfSink> = Arc::<crate::printf::PrintfBuffer>::clone(&context.printf);
    let grid_id = next_id();
    let grid_workspace = if shape.cooperative {
        context.grid_workspace(grid_id)?
    } else {
        0
    };
    let launch = Launch {
        kernel: function.compiled()?,
        grid: shape.grid,
        block: shape.block,
        dynamic_shared: shape.dynamic_shared,
        params,
        memory: context.view.map(),
        images: context.objects.images()?,
        stack_bytes: context.stack_bytes(),
        time_limit: context.time_limit(),
        cancel: Arc::clone(&context.cancel),
        printf,
        sm_count,
        resident_per_sm,
        grid_id,
        grid_workspace,
        priority: stream.priority,
    };
    let workers = device.workers()?;
    let space = Arc::clone(&driver()?.space);
    let marker = stream.enqueue(Task::new(move || {
        if launch.grid_workspace != 0 {
            space.write(launch.grid_workspace, &GRID_WORKSPACE);
        }
        Ok(exec::run(&launch, &workers)?)
    }))?;
    if driver()?.config.launch_blocking {
        marker.wait();
        context.synchronized()?;
    }
    Ok(())
}

/// The limits of a multiprocessor of the function's device.
fn sm_limits(function: &Function) -> SmLimits {
    let limits = function.context().device.limits();
    SmLimits {
        threads: limits.threads_per_sm,
        blocks: limits.blocks_per_sm,
        shared: limits.shared_per_sm,
        registers: limits.registers_per_sm,
    }
}

/// Blocks of the kernel that a multiprocessor holds at once: the model of [`exec::occupancy`], with the shared memory
/// that each block costs on top.
pub(crate) fn resident_blocks(function: &Function, block_threads: u32, dynamic_shared: u32) -> u32 {
    let reserved = function.context().device.limits().shared_reserved;
    exec::occupancy(
        function.info(),
        block_threads,
        dynamic_shared.saturating_add(reserved),
        &sm_limits(function),
    )
}

/// The block size, up to `limit` threads (0: no limit), that keeps most threads resident, and the least grid that fills
/// the device. `shared` says how much dynamic shared memory a block size needs.
pub(crate) fn best_block(
    function: &Function,
    limit: u32,
    shared: impl Fn(u32) -> u32,
) -> (u32, u32) {
    let most = function.info().max_threads.min(MAX_BLOCK_THREADS);
    let most = if limit == 0 { most } else { most.min(limit) };
    // From large to small, so that of equals the largest wins.
    let sizes = std::iter::once(most).chain((1..most.div_ceil(32)).rev().map(|warps| warps * 32));
    let rated = sizes.map(|size| (size, resident_blocks(function, size, shared(size))));
    let best = rated.reduce(|best, next| {
        if next.0 * next.1 > best.0 * best.1 {
            next
        } else {
            best
        }
    });
    let (block, blocks) = best.unwrap_or((0, 0));
    (
        blocks * function.context().device.config.multiprocessors,
        block,
    )
}

/// The most dynamic shared memory that a block can have when `blocks` blocks of `block_threads` threads share a
/// multiprocessor; `None` if they do not fit even with none.
pub(crate) fn shared_left(function: &Function, blocks: u32, block_threads: u32) -> Option<u32> {
    if resident_blocks(function, block_threads, 0) < blocks {
        return None;
    }
    let limits = function.context().device.limits();
    let fixed = function.info().static_shared;
    let each = (limits.shared_per_sm / blocks) / 128 * 128;
    let left = each.saturating_sub(limits.shared_reserved + fixed);
    Some(left.min(limits.shared_per_block_optin.saturating_sub(fixed)))
}
