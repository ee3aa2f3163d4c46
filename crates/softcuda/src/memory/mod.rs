//! Device memory: one reserved address range, who owns which part of it, and what a kernel may touch.

mod arena;
mod block;
pub(crate) mod copy;
mod managed;
mod os;
pub(crate) mod pool;
mod shadow;
mod space;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use arena::GRANULE;
pub(crate) use block::{Block, Kind, Registered};
pub(crate) use managed::{Attached, Place};
pub(crate) use space::{Request, Space};
pub(crate) use view::View;

/// What a running kernel may touch, as seen from one context.
///
/// `base .. base + len` is the reserved range; a device pointer is the host address inside it. An access of `size`
/// bytes at `addr`, naturally aligned, is valid iff `base <= addr < base + len` and
/// `(addr & 255) + size <= shadow[(addr - base) >> 8]`: the shadow holds the number of valid bytes (0 to 256) of each
/// granule of 256 bytes, and allocations start at granule boundaries, so a granule belongs to one allocation at most.
/// What lies outside the range is asked of [`SlowPath::allows`].
#[derive(Clone)]
pub(crate) struct MemoryMap {
    /// First address of the reserved range.
    pub(crate) base: u64,
    /// Its length in bytes, a power of two.
    pub(crate) len: u64,
    /// One `u16` per granule of the range: how many of its bytes are valid. Readable for the whole range while
    /// `slow`, which owns it, lives. Written by other threads at any time, each entry at once.
    pub(crate) shadow: *const u16,
    /// As `shadow`, for writes: constants have no byte here. Owned by `slow` too.
    pub(crate) writable: *const u16,
    /// Counts the times that valid memory became invalid. Lives as long as `slow`.
    pub(crate) frees: *const AtomicU64,
    /// Everything that is not decided by the shadow.
    pub(crate) slow: Arc<dyn SlowPath>,
}

// SAFETY: the pointers refer to memory that `slow`, which is `Send + Sync`, keeps; it is only read, and writers store
// whole entries atomically.
unsafe impl Send for MemoryMap {}
// SAFETY: as for `Send`.
unsafe impl Sync for MemoryMap {}

impl MemoryMap {
    /// A number that changes when any memory becomes invalid: what was known to be valid before may be so no longer.
    pub(crate) fn epoch(&self) -> u64 {
        // SAFETY: `slow`, which this map holds, keeps the counter.
        unsafe { (*self.frees).load(Ordering::Acquire) }
    }
}

impl std::fmt::Debug for MemoryMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "MemoryMap({:#x}..{:#x})",
            self.base,
            self.base + self.len
        )
    }
}

/// The parts of the memory of a context that a kernel needs rarely.
pub(crate) trait SlowPath: Send + Sync {
    /// Whether an access outside the reserved range is allowed: it lies wholly in registered host memory (and that is
    /// writable, for a write). Alignment is the caller's business.
    fn allows(&self, addr: u64, size: u32, write: bool) -> bool;

    /// The allocation inside the reserved range that holds `addr`, if the context may read it, or write it: its first
    /// address, a multiple of 256, and the address after its last byte.
    fn extent(&self, addr: u64, write: bool) -> Option<(u64, u64)>;

    /// Where `addr` is, for people: the allocation that holds it, or the nearest one and the distance to it.
    fn describe(&self, addr: u64) -> String;

    /// Device-side `malloc`: the address of `bytes` new bytes (aligned to 256), or 0.
    fn malloc(&self, bytes: u64) -> u64;

    /// Device-side `free`: whether `addr` came from [`malloc`](Self::malloc) and was not freed yet.
    fn free(&self, addr: u64) -> bool;
}
