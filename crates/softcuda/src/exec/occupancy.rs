//! How many blocks of a kernel a multiprocessor holds at once: a stated model, not a measurement.

use crate::program::KernelInfo;

/// Limits of one multiprocessor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmLimits {
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
    /// Bytes of shared memory.
    pub(crate) shared: u32,
    pub(crate) registers: u32,
}

/// Registers are given to a warp in units of this many.
const REGISTER_UNIT: u32 = 256;
/// Shared memory is given to a block in units of this many bytes.
const SHARED_UNIT: u32 = 128;

/// Blocks of `block_threads` threads that fit on one multiprocessor: the least of what threads, blocks, shared memory and registers allow.
pub(crate) fn occupancy(
    info: &KernelInfo,
    block_threads: u32,
    dynamic_shared: u32,
    sm: &SmLimits,
) -> u32 {
    if block_threads == 0 || block_threads > info.max_threads {
        return 0;
    }
    let warps = block_threads.div_ceil(32);
    let by_threads = sm.threads / 32 / warps;
    let shared = info
        .static_shared
        .saturating_add(dynamic_shared)
        .next_multiple_of(SHARED_UNIT);
    let by_shared = sm.shared.checked_div(shared).unwrap_or(u32::MAX);
    let by_registers =
        sm.registers / ((info.registers * 32).next_multiple_of(REGISTER_UNIT) * warps);
    by_threads.min(sm.blocks).min(by_shared).min(by_registers)
}
