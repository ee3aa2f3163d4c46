//! What compiled code sees of a running block, and the window addresses of the small state spaces.

use std::sync::atomic::AtomicU32;

use super::launch::LaunchState;

/// Tag of generic addresses of shared memory: no arena or host address has bits 60..63 set.
pub(crate) const SHARED_WINDOW: u64 = 1 << 60;
/// Tag of generic addresses of the calling thread's local memory.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 60;
/// Tag of generic addresses of the kernel's parameters.
pub(crate) const PARAM_WINDOW: u64 = 3 << 60;
/// Tag of function addresses: the rest is an index into the image's functions, never a host pointer.
pub(crate) const FUNCTION_WINDOW: u64 = 4 << 60;
/// Position of the tag in a generic address.
pub(crate) const WINDOW_SHIFT: u32 = 60;

/// A region or a device function ran to its end.
pub(crate) const STATUS_OK: u32 = 0;
/// The thread made an illegal access, a trap or a failed assertion: [`BlockContext::fault`] tells which.
pub(crate) const STATUS_FAULT: u32 = 1;
/// The thread executed `exit` inside a device function: its caller ends the thread. Regions never return it.
pub(crate) const STATUS_EXIT: u32 = 2;
/// The launch is being stopped (time limit, cancellation, or a fault elsewhere).
pub(crate) const STATUS_STOPPED: u32 = 3;

/// One region: runs the threads `first..end` of the block from one resume point to their next stop.
pub(crate) type RegionFn =
    unsafe extern "C" fn(ctx: *mut BlockContext, first: u32, end: u32) -> u32;

/// What went wrong, written by compiled code and its helpers before they return [`STATUS_FAULT`].
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultRecord {
    /// The address of the access, as the program gave it (an offset for shared, local and param accesses).
    pub(crate) address: u64,
    /// Index into the kernel's sites: the instruction.
    pub(crate) site: u32,
    /// Linear index of the thread in its block.
    pub(crate) thread: u32,
    /// [`super::fault::FaultKind`] as a number.
    pub(crate) kind: u32,
    /// Whether the helper that was asked last has refused an access: not 0.
    pub(crate) refused: u32,
    /// If not, the host address that it found.
    pub(crate) resolved: u64,
}

/// Limits of one memory window by access size (1 to 32 bytes): entry `k` is the window's length divided by `1 << k`.
///
/// An access of `1 << k` bytes at offset `o` is aligned and inside iff `rotate_right(o, k) < limits[k]`.
pub(crate) type Limits = [u64; 6];

/// Computes [`Limits`] of a window of `bytes` bytes.
pub(crate) fn limits(bytes: u64) -> Limits {
    core::array::from_fn(|k| bytes >> k)
}

/// What a group of accesses remembers of the memory that it last met.
///
/// Its accesses are allowed if the lowest, at address `a`, fulfils `rotate_right(a - start, k) < limit`, where `1 << k` is their size: `limit` is the
/// number of places for the lowest access that leave room for the others.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) limit: u64,
    /// From an address to the host address.
    pub(crate) delta: u64,
    /// How often an allowed access was outside.
    pub(crate) misses: u64,
}

/// The state of a block as compiled code addresses it, by offset. Everything but the fault, the summary and what the pointers
/// lead to is constant while a region runs, so compiled code loads it as read-only.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct BlockContext {
    pub(crate) params: *const u8,
    pub(crate) shared: *mut u8,
    pub(crate) shared_limits: Limits,
    /// Local memory of thread 0; thread `t` has its own `local_stride * t` bytes further.
    pub(crate) local: *mut u8,
    pub(crate) local_stride: u64,
    pub(crate) local_limits: Limits,
    pub(crate) param_limits: Limits,
    /// Frames of the threads: values that live across stops, `frame_bytes` (a constant of the kernel) apart.
    pub(crate) frames: *mut u8,
    /// A window for each group of accesses of the kernel. Helpers change them.
    pub(crate) windows: *mut Window,
    /// Where each thread stopped: a resume id, or 0 when it has exited.
    pub(crate) next: *mut u32,
    /// Packed thread indices by linear index: x in bits 0..10, y in 10..20, z in 20..26.
    pub(crate) tid: *const u32,
    /// Non-zero when the launch is to stop.
    pub(crate) stop: *const AtomicU32,
    /// Host stack addresses below this are out of bounds for device functions.
    pub(crate) stack_limit: u64,
    pub(crate) launch: *const LaunchState,
    /// The check of addresses, in a convention that spares its callers' registers.
    pub(crate) check: usize,
    pub(crate) grid_id: u64,
    /// Address of the workspace of a cooperative grid, else 0.
    pub(crate) grid_workspace: u64,
    pub(crate) ctaid: [u32; 3],
    pub(crate) ntid: [u32; 3],
    pub(crate) nctaid: [u32; 3],
    pub(crate) smid: u32,
    pub(crate) nsmid: u32,
    pub(crate) dynamic_shared: u32,
    pub(crate) total_shared: u32,
    /// OR of the `next` values that the last region call stored.
    pub(crate) summary_or: u32,
    /// AND of the `next` values that the last region call stored.
    pub(crate) summary_and: u32,
    pub(crate) fault: FaultRecord,
}

/// The part of each thread's frame in which operands of barriers and warp operations are passed to the scheduler, and results back.
pub(crate) mod exchange {
    /// First operand (64 bits): the value shuffled, matched, reduced or voted on; the barrier's predicate.
    pub(crate) const VALUE: u32 = 0;
    /// Second operand (32 bits): lane or barrier number.
    pub(crate) const SECOND: u32 = 8;
    /// Third operand (32 bits): clamp and segment, or the barrier's thread count.
    pub(crate) const THIRD: u32 = 12;
    /// Member mask (32 bits).
    pub(crate) const MASK: u32 = 16;
    /// Second result (32 bits): the predicate.
    pub(crate) const FLAG: u32 = 20;
    /// First result (64 bits).
    pub(crate) const RESULT: u32 = 24;
    /// Bytes of the area, at the start of the frame.
    pub(crate) const BYTES: u32 = 32;
}
