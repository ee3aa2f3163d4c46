//! The scheduler of one block.
//!
//! A block is divided into *units*: the whole block, or its warps in kernels whose lanes exchange values. While all threads of a unit stop
//! at the same place ([`Mode::Uniform`], the ordinary case) a unit costs one call of compiled code per stop. When they part
//! ([`Mode::Mixed`]: early exits, barriers inside branches, spin locks) each thread has its own state, and neighbours that stand at the same
//! resume point still run in one call. Units become uniform again as soon as their threads meet.
//!
//! A pass runs every unit as far as it goes; then barriers that are complete release their threads, and threads that gave way become ready.
//! When only the latter happened, the block itself gives way to other blocks. When neither happened, the block is deadlocked, which is a fault.

use super::barrier::{BARRIERS, Barrier, BarrierKind, BarrierOp, Operand32};
use super::buffer::Buffer;
use super::context::{
    BlockContext, FaultRecord, STATUS_FAULT, STATUS_OK, Window, exchange, limits,
};
use super::fault::{self, Fault};
use super::kernel::{CompiledKernel, Stop};
use super::launch::LaunchState;
use super::warp::{Lanes, Members, WARP};

/// Region calls of one unit, and barrier rounds of a block, after which others get their turn: loops that
/// wait for other blocks may contain barriers or warp operations, and so never reach a yield by counting.
const TURN: u32 = 1024;

/// How a turn of a block ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Every thread has exited.
    Finished,
    /// The block waits for others; [`Block::advance`] again.
    Suspended,
    /// The launch is being stopped.
    Stopped,
    /// A thread faulted.
    Faulted(Fault),
}

/// What a thread, or all threads of a unit, do next. The number is a resume id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Exited,
    Ready(u32),
    /// Waiting at the barrier of the second number.
    Barrier(u32, u8),
    Warp(u32),
    Yielded(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Uniform(State),
    Mixed,
}

/// Threads `start..end` run together. Exited threads at either end are cut off.
#[derive(Debug, Clone, Copy)]
struct Unit {
    start: u32,
    end: u32,
    mode: Mode,
}

/// Why the block must stop at once.
enum Interrupt {
    Stopped,
    Fault(Fault),
}

/// One block: its memory, and where its threads are.
#[derive(Debug)]
pub(crate) struct Block {
    ctx: BlockContext,
    _memory: [Buffer; 3],
    next: Vec<u32>,
    windows: Vec<Window>,
    /// The context's count of frees when the windows were last known to be right.
    epoch: u64,
    index: u64,
    threads: u32,
    exited: u32,
    units: Vec<Unit>,
    /// States of the threads of mixed units; others are stale.
    states: Vec<State>,
    barriers: [Barrier; BARRIERS],
    /// Resume id, thread and barrier number of an arrival at a barrier that does not exist.
    stray: Option<(u32, u32, u32)>,
}

// SAFETY: the pointers in the context refer to memory that the block owns (`_memory`, `windows`, `next`) or that the launch
// state keeps alive; a block is used by one thread at a time.
unsafe impl Send for Block {}

/// Distance between the areas of two threads: lines used evenly over the sets of the first-level cache.
fn stride(bytes: u32) -> u64 {
    let bytes = u64::from(bytes.next_multiple_of(16));
    if bytes > 64 {
        let lines = bytes.div_ceil(64);
        (lines | 1) * 64
    } else {
        bytes
    }
}

/// Bytes from one thread's frame to the next, in a kernel whose frames hold `bytes` bytes. A constant of the compiled code.
pub(crate) fn frame_stride(bytes: u32) -> u64 {
    stride(bytes)
}

impl Block {
    /// Memory for the blocks of a launch. [`start`](Self::start) makes it one of them. `None` if the host has not enough.
    pub(crate) fn new(state: &LaunchState) -> Option<Self> {
        let launch = &state.launch;
        let kernel = &launch.kernel;
        let [x, y, z] = launch.block;
        let threads = x * y * z;
        let total_shared = kernel.static_shared + launch.dynamic_shared;
        let local_bytes = kernel.local_bytes
            + if kernel.recursive {
                launch.stack_bytes
            } else {
                0
            };
        let local_stride = stride(local_bytes);
        let frames = Buffer::new(frame_stride(kernel.frame_bytes) * u64::from(threads))?;
        let shared = Buffer::new(u64::from(total_shared))?;
        let local = Buffer::new(local_stride * u64::from(threads))?;
        let mut next = vec![0; threads as usize];
        let mut windows = vec![Window::default(); kernel.groups.len()];
        let ctx = BlockContext {
            params: launch.params.as_ptr(),
            shared: shared.address(),
            shared_limits: limits(u64::from(total_shared)),
            local: local.address(),
            local_stride,
            local_limits: limits(u64::from(local_bytes)),
            param_limits: limits(launch.params.len() as u64),
            frames: frames.address(),
            windows: windows.as_mut_ptr(),
            next: next.as_mut_ptr(),
            tid: state.tids.as_ptr(),
            stop: &raw const state.stop,
            stack_limit: 0,
            launch: core::ptr::from_ref(state),
            check: kernel.check,
            grid_id: launch.grid_id,
            grid_workspace: launch.grid_workspace,
            ctaid: [0; 3],
            ntid: launch.block,
            nctaid: launch.grid,
            smid: 0,
            nsmid: launch.sm_count,
            dynamic_shared: launch.dynamic_shared,
            total_shared,
            summary_or: 0,
            summary_and: 0,
            fault: FaultRecord::default(),
        };
        Some(Self {
            ctx,
            _memory: [frames, shared, local],
            next,
            windows,
            epoch: 0,
            index: 0,
            threads,
            exited: 0,
            units: Vec::new(),
            states: Vec::new(),
            barriers: [Barrier::default(); BARRIERS],
            stray: None,
        })
    }

    /// Makes this the block of linear index `index`, with all threads at the kernel's entry.
    pub(crate) fn start(&mut self, state: &LaunchState, index: u64) {
        let [x, y, _] = state.launch.grid;
        let part = |n: u64| u32::try_from(n).expect("a block index is below the grid's extent");
        let (x, y) = (u64::from(x), u64::from(y));
        self.index = index;
        self.ctx.ctaid = [part(index % x), part(index / x % y), part(index / x / y)];
        self.ctx.smid = part(index % u64::from(state.launch.sm_count.max(1)));
        self.exited = 0;
        self.barriers = [Barrier::default(); BARRIERS];
        self.units.clear();
        let size = if state.launch.kernel.warp_ops {
            WARP
        } else {
            self.threads
        };
        let mut start = 0;
        while start < self.threads {
            let end = (start + size).min(self.threads);
            self.units.push(Unit {
                start,
                end,
                mode: Mode::Uniform(State::Ready(1)),
            });
            start = end;
        }
    }

    /// Linear index of the block in the grid.
    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// Sets the lowest host stack address that device functions may use; it differs between host threads.
    pub(crate) fn set_stack_limit(&mut self, limit: u64) {
        self.ctx.stack_limit = limit;
    }

    /// Runs the block until it has finished or gives way.
    pub(crate) fn advance(&mut self, state: &LaunchState) -> Outcome {
        match self.try_advance(state) {
            Ok(outcome) => outcome,
            Err(Interrupt::Stopped) => Outcome::Stopped,
            Err(Interrupt::Fault(fault)) => Outcome::Faulted(fault),
        }
    }

    fn try_advance(&mut self, state: &LaunchState) -> Result<Outcome, Interrupt> {
        let kernel = &*state.launch.kernel;
        let mut rounds = 0;
        loop {
            let mut gave_way = false;
            for unit in 0..self.units.len() {
                gave_way |= self.run_unit(state, kernel, unit)?;
            }
            if let Some((id, thread, number)) = self.stray.take() {
                return Err(Interrupt::Fault(fault::stray_barrier(
                    state,
                    self.ctx.ctaid,
                    thread,
                    number,
                    kernel.resume[id as usize - 1].place.as_ref(),
                )));
            }
            if self.exited == self.threads {
                return Ok(Outcome::Finished);
            }
            let released = self.release_barriers(kernel);
            gave_way |= self.wake_yielded();
            if !released {
                return if gave_way {
                    Ok(Outcome::Suspended)
                } else {
                    Err(Interrupt::Fault(fault::deadlock(
                        state,
                        self.ctx.ctaid,
                        &self.describe_waiting(kernel),
                    )))
                };
            }
            rounds += 1;
            if rounds == TURN {
                return Ok(Outcome::Suspended);
            }
            if state.stop.load(core::sync::atomic::Ordering::Relaxed) != 0 {
                return Err(Interrupt::Stopped);
            }
        }
    }

    /// Runs one unit as far as it goes. True if it could go on, but has had its turn.
    fn run_unit(
        &mut self,
        state: &LaunchState,
        kernel: &CompiledKernel,
        index: usize,
    ) -> Result<bool, Interrupt> {
        for _ in 0..TURN {
            let unit = self.units[index];
            match unit.mode {
                Mode::Uniform(State::Ready(id)) => {
                    match self.call(state, kernel, id, unit.start, unit.end)? {
                        Some(next) => self.stop_unit(kernel, index, next),
                        None => self.split(kernel, index),
                    }
                }
                Mode::Uniform(State::Warp(id)) => {
                    if self.warp_op_of_all(kernel, &unit, id) {
                        self.units[index].mode = Mode::Uniform(State::Ready(id));
                    } else {
                        self.states.resize(self.threads as usize, State::Exited);
                        self.states[unit.start as usize..unit.end as usize].fill(State::Warp(id));
                        self.units[index].mode = Mode::Mixed;
                    }
                }
                Mode::Uniform(_) => return Ok(false),
                Mode::Mixed => {
                    if !self.run_mixed(state, kernel, index)? {
                        return Ok(false);
                    }
                }
            }
        }
        if state.stop.load(core::sync::atomic::Ordering::Relaxed) != 0 {
            return Err(Interrupt::Stopped);
        }
        Ok(true)
    }

    /// Runs threads `first..end` from resume point `id`. Answers where all of them stopped; if that differs, `next` has it for each.
    fn call(
        &mut self,
        state: &LaunchState,
        kernel: &CompiledKernel,
        id: u32,
        first: u32,
        end: u32,
    ) -> Result<Option<u32>, Interrupt> {
        let resume = &kernel.resume[id as usize - 1];
        let epoch = state.launch.memory.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.windows.fill(Window::default());
        }
        // SAFETY: the region was compiled for this kernel, whose launch state sized frames, local, shared and parameter memory and the
        // per-thread arrays for `threads` threads, and a window for each group; `first < end <= threads`; the code is kept alive by the kernel.
        let status = unsafe { (resume.region)(&raw mut self.ctx, first, end) };
        match status {
            STATUS_OK => Ok(resume.next.or_else(|| {
                let stop = self.ctx.summary_or;
                (stop == self.ctx.summary_and).then_some(stop)
            })),
            STATUS_FAULT => Err(Interrupt::Fault(fault::describe(state, &self.ctx))),
            _ => Err(Interrupt::Stopped),
        }
    }

    fn frame(&self, kernel: &CompiledKernel, thread: u32) -> *mut u8 {
        let offset = frame_stride(kernel.frame_bytes) * u64::from(thread);
        self.ctx.frames.wrapping_add(offset as usize)
    }

    /// All threads of a unit have stopped with `next`.
    fn stop_unit(&mut self, kernel: &CompiledKernel, index: usize, next: u32) {
        let unit = self.units[index];
        let count = unit.end - unit.start;
        if next == 0 {
            self.exited += count;
            self.units[index].mode = Mode::Uniform(State::Exited);
            return;
        }
        let stop = &kernel.resume[next as usize - 1].stop;
        if let Stop::Barrier(op) = stop
            && (!op.is_constant() || !matches!(op.kind, BarrierKind::Sync))
        {
            // Operands may differ between threads.
            self.states.resize(self.threads as usize, State::Exited);
            for thread in unit.start..unit.end {
                self.states[thread as usize] = self.stop_thread(kernel, thread, next);
            }
            self.units[index].mode = Mode::Mixed;
            return;
        }
        self.units[index].mode = Mode::Uniform(match stop {
            Stop::Start => State::Ready(next),
            Stop::Yield => State::Yielded(next),
            Stop::Warp(_) => State::Warp(next),
            Stop::Barrier(op) => {
                State::Barrier(next, self.arrive(kernel, next, op, unit.start, count))
            }
        });
    }

    /// One thread has stopped with `next`.
    fn stop_thread(&mut self, kernel: &CompiledKernel, thread: u32, next: u32) -> State {
        if next == 0 {
            self.exited += 1;
            return State::Exited;
        }
        match &kernel.resume[next as usize - 1].stop {
            Stop::Start => State::Ready(next),
            Stop::Yield => State::Yielded(next),
            Stop::Warp(_) => State::Warp(next),
            Stop::Barrier(op) => {
                let number = self.arrive(kernel, next, op, thread, 1);
                if op.kind == BarrierKind::Arrive {
                    State::Ready(next)
                } else {
                    State::Barrier(next, number)
                }
            }
        }
    }

    /// `count` threads from `thread` on, with the same operands, arrive at a barrier and will go on at resume point `id`.
    /// Returns the barrier's number.
    fn arrive(
        &mut self,
        kernel: &CompiledKernel,
        id: u32,
        op: &BarrierOp,
        thread: u32,
        count: u32,
    ) -> u8 {
        let frame = self.frame(kernel, thread);
        // SAFETY: a kernel with a barrier whose operands are not constants has exchange areas in its frames.
        let (number, expected) = unsafe { op.operands(frame) };
        if number as usize >= BARRIERS && self.stray.is_none() {
            self.stray = Some((id, thread, number));
        }
        let number = number as usize % BARRIERS;
        let (votes, voters) = match op.kind {
            BarrierKind::Sync | BarrierKind::Arrive => (0, 0),
            // SAFETY: reductions bring their predicate in the exchange area; VALUE is its first, 8-aligned field.
            _ => (
                unsafe { frame.add(exchange::VALUE as usize).read() } as u32 & 1,
                1,
            ),
        };
        self.barriers[number].arrive(count, expected, votes, voters);
        number as u8
    }

    /// The threads of a unit have stopped at different places: gives each its state.
    fn split(&mut self, kernel: &CompiledKernel, index: usize) {
        self.states.resize(self.threads as usize, State::Exited);
        let Unit { start, end, .. } = self.units[index];
        for thread in start..end {
            let next = self.next[thread as usize];
            self.states[thread as usize] = self.stop_thread(kernel, thread, next);
        }
        self.units[index].mode = Mode::Mixed;
        self.unite(index);
    }

    /// Cuts exited threads off the ends of a mixed unit, and makes it uniform if the rest are at the same place.
    fn unite(&mut self, index: usize) {
        let unit = &mut self.units[index];
        while unit.start < unit.end && self.states[unit.start as usize] == State::Exited {
            unit.start += 1;
        }
        while unit.start < unit.end && self.states[unit.end as usize - 1] == State::Exited {
            unit.end -= 1;
        }
        if unit.start == unit.end {
            unit.mode = Mode::Uniform(State::Exited);
            return;
        }
        let states = &self.states[unit.start as usize..unit.end as usize];
        if states.iter().all(|&state| state == states[0]) {
            unit.mode = Mode::Uniform(states[0]);
        }
    }

    /// Runs the ready threads of a mixed unit once, and completes warp operations. True if anything happened.
    fn run_mixed(
        &mut self,
        state: &LaunchState,
        kernel: &CompiledKernel,
        index: usize,
    ) -> Result<bool, Interrupt> {
        let Unit { start, end, .. } = self.units[index];
        let mut any = false;
        let mut thread = start;
        while thread < end {
            let State::Ready(id) = self.states[thread as usize] else {
                thread += 1;
                continue;
            };
            let first = thread;
            while thread < end && self.states[thread as usize] == State::Ready(id) {
                thread += 1;
            }
            let uniform = self.call(state, kernel, id, first, thread)?;
            any = true;
            for stopped in first..thread {
                let next = uniform.unwrap_or(self.next[stopped as usize]);
                self.states[stopped as usize] = self.stop_thread(kernel, stopped, next);
            }
        }
        any |= kernel.warp_ops && self.complete_warp_ops(kernel, index);
        self.unite(index);
        Ok(any)
    }

    fn lanes(&self, kernel: &CompiledKernel, warp_start: u32) -> Lanes {
        let stride = frame_stride(kernel.frame_bytes) as usize;
        // SAFETY: `frames` has `threads` frames of that stride, each with an exchange area since the kernel has warp operations; the
        // masks used below name existing threads only; compiled code does not run meanwhile.
        unsafe { Lanes::new(self.frame(kernel, warp_start), stride) }
    }

    /// All threads of the warp that have not exited are at the same warp operation: executes it if the masks say so too.
    fn warp_op_of_all(&mut self, kernel: &CompiledKernel, unit: &Unit, id: u32) -> bool {
        let Stop::Warp(op) = &kernel.resume[id as usize - 1].stop else {
            return false;
        };
        let warp_start = unit.start / WARP * WARP;
        let lanes = self.lanes(kernel, warp_start);
        let here = lane_mask(unit.start - warp_start, unit.end - warp_start);
        let masks_agree = match op.members {
            Members::Active => true,
            Members::Mask(Operand32::Const(mask)) if mask & here == here => true,
            Members::Mask(_) => super::warp::lanes(here)
                .all(|lane| lanes.mask(op, lane).is_none_or(|mask| mask & here == here)),
        };
        if masks_agree {
            lanes.execute(op.kind, here);
        }
        masks_agree
    }

    /// Executes the warp operations of a mixed unit whose lanes are all there. True if there was one.
    fn complete_warp_ops(&mut self, kernel: &CompiledKernel, index: usize) -> bool {
        let unit = self.units[index];
        let warp_start = unit.start / WARP * WARP;
        let lanes = self.lanes(kernel, warp_start);
        let all = lane_mask(unit.start - warp_start, unit.end - warp_start);
        let state = |states: &[State], lane: u32| states[(warp_start + lane) as usize];
        let live = super::warp::lanes(all)
            .filter(|&lane| state(&self.states, lane) != State::Exited)
            .fold(0, |mask, lane| mask | 1 << lane);
        let mut any = false;
        let mut seen = 0u32;
        for lane in super::warp::lanes(live) {
            let place = &mut self.states[(warp_start + lane) as usize];
            if let State::Warp(id) = *place
                && let Stop::Warp(op) = &kernel.resume[id as usize - 1].stop
                && lanes.passes(op, lane)
            {
                *place = State::Ready(id);
                any = true;
            }
        }
        // Operations with a member mask first: lanes that wait for nobody come together as late as possible.
        for with_mask in [true, false] {
            if any && !with_mask {
                break;
            }
            for lane in super::warp::lanes(live) {
                let State::Warp(id) = state(&self.states, lane) else {
                    continue;
                };
                let Stop::Warp(op) = &kernel.resume[id as usize - 1].stop else {
                    continue;
                };
                if seen >> lane & 1 != 0 || matches!(op.members, Members::Mask(_)) != with_mask {
                    continue;
                }
                // The lanes at the same operation; it may stand at several places in the code if there is a mask.
                let mask = lanes.mask(op, lane);
                let mut here = 0u32;
                for other in super::warp::lanes(live) {
                    let State::Warp(other_id) = state(&self.states, other) else {
                        continue;
                    };
                    let Stop::Warp(other_op) = &kernel.resume[other_id as usize - 1].stop else {
                        continue;
                    };
                    let same = match mask {
                        Some(mask) => {
                            mask >> other & 1 != 0
                                && op.kind == other_op.kind
                                && lanes
                                    .mask(other_op, other)
                                    .is_some_and(|other_mask| other_mask & live == mask & live)
                        }
                        None => id == other_id,
                    };
                    here |= u32::from(same) << other;
                }
                seen |= here;
                if mask.is_none_or(|mask| mask & live == here) {
                    lanes.execute(op.kind, here);
                    for other in super::warp::lanes(here) {
                        let place = &mut self.states[(warp_start + other) as usize];
                        if let State::Warp(other_id) = *place {
                            *place = State::Ready(other_id);
                        }
                    }
                    any = true;
                }
            }
        }
        any
    }

    /// Completes the barriers at which everybody is. True if there was one.
    fn release_barriers(&mut self, kernel: &CompiledKernel) -> bool {
        let mut released = false;
        for number in 0..BARRIERS {
            let barrier = self.barriers[number];
            if !barrier.is_complete(self.threads, self.exited) {
                continue;
            }
            released = true;
            self.barriers[number] = Barrier::default();
            for index in 0..self.units.len() {
                let unit = self.units[index];
                match unit.mode {
                    Mode::Uniform(State::Barrier(id, at)) if usize::from(at) == number => {
                        self.give_result(kernel, &barrier, id, unit.start, unit.end);
                        self.units[index].mode = Mode::Uniform(State::Ready(id));
                    }
                    Mode::Uniform(_) => {}
                    Mode::Mixed => {
                        for thread in unit.start..unit.end {
                            if let State::Barrier(id, at) = self.states[thread as usize]
                                && usize::from(at) == number
                            {
                                self.give_result(kernel, &barrier, id, thread, thread + 1);
                                self.states[thread as usize] = State::Ready(id);
                            }
                        }
                        self.unite(index);
                    }
                }
            }
        }
        released
    }

    /// Stores the result of a barrier's reduction for threads `first..end`.
    fn give_result(
        &self,
        kernel: &CompiledKernel,
        barrier: &Barrier,
        id: u32,
        first: u32,
        end: u32,
    ) {
        let Stop::Barrier(op) = &kernel.resume[id as usize - 1].stop else {
            return;
        };
        if matches!(op.kind, BarrierKind::Sync | BarrierKind::Arrive) {
            return;
        }
        let result = u64::from(barrier.result(op.kind));
        for thread in first..end {
            let frame = self.frame(kernel, thread);
            // SAFETY: a kernel with barrier reductions has exchange areas in its frames; RESULT is an 8-aligned field of theirs.
            unsafe {
                frame
                    .add(exchange::RESULT as usize)
                    .cast::<u64>()
                    .write(result);
            }
        }
    }

    /// Makes threads that gave way ready. True if there were any.
    fn wake_yielded(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.units.len() {
            let unit = self.units[index];
            match unit.mode {
                Mode::Uniform(State::Yielded(id)) => {
                    self.units[index].mode = Mode::Uniform(State::Ready(id));
                    any = true;
                }
                Mode::Uniform(_) => {}
                Mode::Mixed => {
                    for state in &mut self.states[unit.start as usize..unit.end as usize] {
                        if let State::Yielded(id) = *state {
                            *state = State::Ready(id);
                            any = true;
                        }
                    }
                    self.unite(index);
                }
            }
        }
        any
    }

    /// Who waits where, for the message of a deadlock.
    fn describe_waiting(&self, kernel: &CompiledKernel) -> String {
        let mut at_barrier = [0u32; BARRIERS];
        let mut places: [Option<u32>; BARRIERS] = [None; BARRIERS];
        let mut at_warp_op = 0;
        let mut warp_kind = None;
        let mut warp_place = None;
        let mut count = |state: State, threads: u32| match state {
            State::Barrier(id, number) => {
                at_barrier[usize::from(number)] += threads;
                places[usize::from(number)].get_or_insert(id);
            }
            State::Warp(id) => {
                at_warp_op += threads;
                warp_place.get_or_insert(id);
                if let Stop::Warp(op) = &kernel.resume[id as usize - 1].stop {
                    warp_kind = Some(op.kind);
                }
            }
            State::Exited | State::Ready(_) | State::Yielded(_) => {}
        };
        for unit in &self.units {
            match unit.mode {
                Mode::Uniform(state) => count(state, unit.end - unit.start),
                Mode::Mixed => {
                    for &state in &self.states[unit.start as usize..unit.end as usize] {
                        count(state, 1);
                    }
                }
            }
        }
        let place = |id: Option<u32>| {
            let place = id.and_then(|id| kernel.resume[id as usize - 1].place.as_ref());
            place.map(fault::place_text).unwrap_or_default()
        };
        let mut parts = Vec::new();
        for (number, &threads) in at_barrier.iter().enumerate().filter(|(_, n)| **n > 0) {
            let expected = self.barriers[number].awaited(self.threads, self.exited);
            let arrived = self.barriers[number].arrived;
            parts.push(format!(
                "{threads} threads wait at barrier {number}, where {arrived} of {expected} have arrived,{}",
                place(places[number])
            ));
        }
        if let Some(kind) = warp_kind {
            parts.push(format!(
                "{at_warp_op} threads wait at a warp operation ({kind:?}) for lanes that its mask names and that do not come,{}",
                place(warp_place)
            ));
        }
        if self.exited > 0 {
            parts.push(format!("{} threads have exited", self.exited));
        }
        parts.join("; ")
    }
}

/// The bits `first..end`.
fn lane_mask(first: u32, end: u32) -> u32 {
    let below = |lane: u32| {
        if lane >= 32 {
            u32::MAX
        } else {
            (1 << lane) - 1
        }
    };
    below(end) & !below(first)
}
