//! A compiled kernel as the scheduler sees it: its resume points, its memory needs and its code.

use std::fmt;

use super::barrier::BarrierOp;
use super::context::RegionFn;
use super::fault::{Place, Site};
use super::warp::WarpOp;
use crate::jit::Code;
use crate::program::KernelInfo;

/// Why threads stop at a resume point, and thus what must happen before they go on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stop {
    /// Nothing: the kernel's entry.
    Start,
    /// The thread gave way to others: it may go on any time.
    Yield,
    /// A barrier of the block.
    Barrier(BarrierOp),
    /// An operation among the lanes of a warp.
    Warp(WarpOp),
}

/// One place at which threads start or go on.
#[derive(Debug)]
pub(crate) struct ResumePoint {
    pub(crate) stop: Stop,
    /// Where all threads stop next (0: they exit), if there is no choice; regions with a choice say it in the block's context.
    pub(crate) next: Option<u32>,
    pub(crate) region: RegionFn,
    /// Where the instruction stands that threads stop at, if it is one.
    pub(crate) place: Option<Place>,
}

/// Accesses that are checked together: all of one size, and a multiple of it apart.
#[derive(Debug)]
pub(crate) struct Group {
    /// Distance from the lowest access, and site, in the order of execution.
    pub(crate) members: Box<[(u32, u32)]>,
    /// Bytes of each.
    pub(crate) size: u32,
    /// Distance from the lowest access to the highest.
    pub(crate) reach: u32,
    /// Whether any of them writes.
    pub(crate) write: bool,
}

/// A kernel ready to launch. Owns its machine code.
pub(crate) struct CompiledKernel {
    pub(crate) info: KernelInfo,
    /// Resume points; resume id `i + 1` is element `i` (id 0 means exited). The first is the entry.
    pub(crate) resume: Vec<ResumePoint>,
    /// Bytes of each thread's frame, 0 if no value lives across a stop.
    pub(crate) frame_bytes: u32,
    /// Bytes of local memory that each thread needs for the deepest chain of calls that is not recursive.
    pub(crate) local_bytes: u32,
    /// Whether calls are recursive or indirect, so that the launch's stack size and a big host stack matter.
    pub(crate) recursive: bool,
    /// Whether lanes exchange values: the loop unit is then the warp instead of the block.
    pub(crate) warp_ops: bool,
    /// Bytes of static shared memory.
    pub(crate) static_shared: u32,
    /// Number and name of each function whose address is taken, but which cannot be called by it since it stops threads.
    pub(crate) uncallable: Vec<(u32, String)>,
    /// Source places by site number.
    pub(crate) sites: Vec<Site>,
    /// Address of the check of addresses.
    pub(crate) check: usize,
    /// Accesses that are checked together.
    pub(crate) groups: Vec<Group>,
    /// The code that `resume` points into, freed when the kernel is dropped.
    pub(crate) _code: Code,
}

impl fmt::Debug for CompiledKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledKernel")
            .field("name", &self.info.name)
            .field("resume", &self.resume)
            .field("frame_bytes", &self.frame_bytes)
            .field("local_bytes", &self.local_bytes)
            .finish_non_exhaustive()
    }
}
