//! A launch: its description, and its state while blocks run.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuprum_driver_sys::CUresult;

use super::block::{Block, Outcome};
use super::fault::{self, Fault};
use super::kernel::CompiledKernel;
use crate::memory::MemoryMap;
use crate::printf::PrintfSink;
use crate::texture::Images;

/// One kernel launch. The driver part has checked grid, block and shared memory against the device's limits.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) kernel: Arc<CompiledKernel>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// The parameters, laid out by the offsets of [`ParamInfo`](crate::program::ParamInfo).
    pub(crate) params: Box<[u8]>,
    pub(crate) memory: MemoryMap,
    /// The texture and surface objects that it can use.
    pub(crate) images: Images,
    /// Bytes of local stack that recursive and indirect calls may use.
    pub(crate) stack_bytes: u32,
    pub(crate) time_limit: Option<Duration>,
    /// Set from outside to stop the launch.
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) printf: Arc<dyn PrintfSink>,
    pub(crate) sm_count: u32,
    pub(crate) resident_per_sm: u32,
    pub(crate) grid_id: u64,
    /// Address of the workspace of a cooperative grid, else 0.
    pub(crate) grid_workspace: u64,
    /// The priority of the stream: the lowest number first.
    pub(crate) priority: i32,
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch")
            .field("kernel", &self.kernel.info.name)
            .field("grid", &self.grid)
            .field("block", &self.block)
            .field("dynamic_shared", &self.dynamic_shared)
            .finish_non_exhaustive()
    }
}

/// Why a launch stops before its blocks have finished; the value of [`LaunchState::stop`].
mod stop {
    pub(super) const NONE: u32 = 0;
    pub(super) const FAULT: u32 = 1;
    pub(super) const CANCELLED: u32 = 2;
    pub(super) const TIME_LIMIT: u32 = 3;
}

/// A launch in progress, shared by the threads that run its blocks.
#[derive(Debug)]
pub(crate) struct LaunchState {
    pub(crate) launch: Launch,
    /// Packed thread indices by linear index (see [`BlockContext::tid`](super::context::BlockContext::tid)).
    pub(crate) tids: Box<[u32]>,
    pub(crate) started: Instant,
    /// Non-zero when blocks are to stop, see [`stop`]. Compiled code polls it.
    pub(crate) stop: AtomicU32,
    blocks: u64,
    next_block: AtomicU64,
    /// Length of `Progress::suspended`, readable without the lock.
    suspended: AtomicUsize,
    /// Blocks that were started and have not finished.
    resident: AtomicU64,
    progress: Mutex<Progress>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Host threads that are running blocks of this launch.
    runners: u32,
    /// Blocks that wait for other blocks, oldest first.
    suspended: VecDeque<Box<Block>>,
    /// The fault of the lowest block that faulted.
    fault: Option<(u64, Fault)>,
}

impl LaunchState {
    pub(crate) fn new(launch: &Launch) -> Self {
        let [x, y, z] = launch.block;
        let mut tids = Vec::with_capacity((x * y * z) as usize);
        for k in 0..z {
            for j in 0..y {
                tids.extend((0..x).map(|i| i | j << 10 | k << 20));
            }
        }
        Self {
            launch: launch.clone(),
            tids: tids.into(),
            started: Instant::now(),
            stop: AtomicU32::new(stop::NONE),
            blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
            next_block: AtomicU64::new(0),
            suspended: AtomicUsize::new(0),
            resident: AtomicU64::new(0),
            progress: Mutex::default(),
            finished: Condvar::new(),
        }
    }

    /// Number of blocks of the grid.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        // The lock guards plain counters and queues that are valid between statements.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there may be work for one more host thread.
    pub(crate) fn wants_help(&self) -> bool {
        self.stop.load(Ordering::Relaxed) == stop::NONE
            && (self.next_block.load(Ordering::Relaxed) < self.blocks
                || self.suspended.load(Ordering::Relaxed) > 0)
    }

    /// Stops the launch if it was cancelled or has run for too long.
    pub(crate) fn check_limits(&self) {
        let reason = if self.launch.cancel.load(Ordering::Relaxed) {
            stop::CANCELLED
        } else if self
            .launch
            .time_limit
            .is_some_and(|limit| self.started.elapsed() > limit)
        {
            stop::TIME_LIMIT
        } else {
            return;
        };
        self.request_stop(reason);
        // Perhaps no thread runs a block now that would tell whoever waits.
        let _progress = self.progress();
        self.finished.notify_all();
    }

    fn request_stop(&self, reason: u32) {
        // The first reason stays.
        let _ =
            self.stop
                .compare_exchange(stop::NONE, reason, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Runs blocks until none is left for this host thread, or until `leave` says after one, told whether that block gave
    /// way, that the thread is needed elsewhere. `stack_limit` is the lowest stack address that device code may use.
    pub(crate) fn participate(&self, stack_limit: u64, leave: impl Fn(bool) -> bool) {
        self.progress().runners += 1;
        // A panic of this thread must not leave others waiting for it.
        let run = AssertUnwindSafe(|| self.run_blocks(stack_limit, leave));
        if let Err(panic) = catch_unwind(run) {
            let failure = crate::error::panicked(&*panic);
            self.fail(u64::MAX, fault::panicked(self, &failure.text));
        }
        let mut progress = self.progress();
        progress.runners -= 1;
        if progress.runners == 0 {
            self.finished.notify_all();
        }
    }

    fn run_blocks(&self, stack_limit: u64, leave: impl Fn(bool) -> bool) {
        let mut spare = None;
        let mut prefer_new = true;
        while let Some(mut block) = self.take(&mut spare, &mut prefer_new, stack_limit) {
            match block.advance(self) {
                Outcome::Finished => {
                    self.resident.fetch_sub(1, Ordering::Relaxed);
                    spare = Some(block);
                    if leave(false) {
                        return;
                    }
                }
                Outcome::Suspended => {
                    let mut progress = self.progress();
                    progress.suspended.push_back(block);
                    self.suspended
                        .store(progress.suspended.len(), Ordering::Relaxed);
                    drop(progress);
                    if leave(true) {
                        return;
                    }
                }
                Outcome::Stopped => return,
                Outcome::Faulted(fault) => return self.fail(block.index(), fault),
            }
        }
    }

    /// Stops the launch for the fault of a block; that of the lowest block is told.
    fn fail(&self, index: u64, fault: Fault) {
        let mut progress = self.progress();
        if progress
            .fault
            .as_ref()
            .is_none_or(|(known, _)| index < *known)
        {
            progress.fault = Some((index, fault));
        }
        self.request_stop(stop::FAULT);
    }

    /// The next block to run: a new one, or one that gave way, in turn once there are such.
    fn take(
        &self,
        spare: &mut Option<Box<Block>>,
        prefer_new: &mut bool,
        stack_limit: u64,
    ) -> Option<Box<Block>> {
        if self.stop.load(Ordering::Relaxed) != stop::NONE {
            return None;
        }
        if self.suspended.load(Ordering::Relaxed) > 0 {
            let limit = u64::from(self.launch.sm_count) * u64::from(self.launch.resident_per_sm);
            let may_start = self.resident.load(Ordering::Relaxed) < limit.max(1)
                && self.next_block.load(Ordering::Relaxed) < self.blocks;
            if !(may_start && *prefer_new) {
                *prefer_new = true;
                let mut progress = self.progress();
                let block = progress.suspended.pop_front();
                self.suspended
                    .store(progress.suspended.len(), Ordering::Relaxed);
                drop(progress);
                if let Some(mut block) = block {
                    // It waits for somebody: do not take the host's cores from them.
                    std::thread::yield_now();
                    block.set_stack_limit(stack_limit);
                    return Some(block);
                }
            }
            *prefer_new = false;
        }
        let index = self.next_block.fetch_add(1, Ordering::Relaxed);
        if index >= self.blocks {
            // Blocks that gave way meanwhile are looked after by the thread that ran them.
            return None;
        }
        self.resident.fetch_add(1, Ordering::Relaxed);
        let Some(mut block) = spare.take().or_else(|| Block::new(self).map(Box::new)) else {
            self.fail(index, fault::no_memory(self));
            return None;
        };
        block.start(self, index);
        block.set_stack_limit(stack_limit);
        Some(block)
    }

    /// How far the launch came, in words.
    fn standing(&self, progress: &Progress) -> String {
        let started = self.next_block.load(Ordering::Relaxed).min(self.blocks);
        let unfinished = self.resident.load(Ordering::Relaxed);
        let mut text = format!(
            "when {} of {} blocks had finished and {unfinished} were under way",
            started.saturating_sub(unfinished),
            self.blocks
        );
        if !progress.suspended.is_empty() {
            text += &format!(", {} of them waiting for others", progress.suspended.len());
        }
        text
    }

    /// Waits until no host thread runs a block of this launch, and tells how it ended.
    pub(crate) fn wait(&self) -> Result<(), Fault> {
        let mut progress = self.progress();
        while progress.runners > 0 || self.wants_help() {
            progress = self
                .finished
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let name = &self.launch.kernel.info.name;
        match self.stop.load(Ordering::Relaxed) {
            stop::NONE => Ok(()),
            stop::CANCELLED => Err(Fault {
                code: CUresult::LAUNCH_FAILED,
                message: format!(
                    "kernel `{name}` was cancelled, {}",
                    self.standing(&progress)
                ),
            }),
            stop::TIME_LIMIT => Err(Fault {
                code: CUresult::LAUNCH_TIMEOUT,
                message: format!(
                    "kernel `{name}` ran longer than the time limit of {:?}, {}",
                    self.launch.time_limit.unwrap_or_default(),
                    self.standing(&progress)
                ),
            }),
            _ => Err(progress.fault.take().map_or_else(
                || Fault {
                    code: CUresult::LAUNCH_FAILED,
                    message: format!("kernel `{name}` failed"),
                },
                |(_, fault)| fault,
            )),
        }
    }
}
