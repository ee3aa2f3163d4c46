//! Barriers of a block (PTX ISA, `bar`/`barrier`): arrival is counted by barrier number, not by code position.

use super::context::exchange;
use super::warp::WARP;

/// Number of barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// An operand that is a constant of the code or lies in the exchange area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand32 {
    /// Known at compile time.
    Const(u32),
    /// In the thread's exchange area.
    Slot,
}

/// What a barrier instruction does besides waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    /// `bar.sync`: wait.
    Sync,
    /// `bar.arrive`: count, do not wait.
    Arrive,
    /// `bar.red.and.pred`.
    And,
    /// `bar.red.or.pred`.
    Or,
    /// `bar.red.popc.u32`.
    Popc,
}

/// A barrier instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BarrierOp {
    pub(crate) kind: BarrierKind,
    pub(crate) number: Operand32,
    /// How many threads take part; `None` for all of the block.
    pub(crate) count: Option<Operand32>,
}

impl BarrierOp {
    /// The barrier number and thread count of the thread whose exchange area is at `frame`.
    ///
    /// # Safety
    ///
    /// `frame` points to an exchange area if an operand of the instruction is not a constant.
    pub(crate) unsafe fn operands(&self, frame: *const u8) -> (u32, Option<u32>) {
        let read = |operand, offset: u32| match operand {
            Operand32::Const(value) => value,
            // SAFETY: the caller vouches for the exchange area, which is 8-aligned and holds u32 at these offsets.
            Operand32::Slot => unsafe { frame.add(offset as usize).cast::<u32>().read() },
        };
        (
            read(self.number, exchange::SECOND),
            self.count.map(|count| read(count, exchange::THIRD)),
        )
    }

    /// Whether the operands are the same for every thread by construction.
    pub(crate) fn is_constant(&self) -> bool {
        self.number != Operand32::Slot && self.count != Some(Operand32::Slot)
    }
}

/// The state of one barrier between two completions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Barrier {
    /// Threads that have arrived.
    pub(crate) arrived: u32,
    /// Threads that take part, if an instruction said so; else all that have not exited.
    pub(crate) expected: Option<u32>,
    /// Arrived threads whose predicate was true.
    pub(crate) votes: u32,
    /// Arrived threads that brought a predicate.
    pub(crate) voters: u32,
}

impl Barrier {
    /// Counts `threads` arrivals, `votes` of `voters` with a true predicate.
    pub(crate) fn arrive(&mut self, threads: u32, expected: Option<u32>, votes: u32, voters: u32) {
        self.arrived += threads;
        self.votes += votes;
        self.voters += voters;
        if expected.is_some() {
            self.expected = expected;
        }
    }

    /// Whether everybody is here, in a block of `threads` threads of which `exited` are gone.
    ///
    /// Exited threads count as arrived where the whole block takes part. More threads than the block's warps hold never
    /// arrive.
    pub(crate) fn is_complete(&self, threads: u32, exited: u32) -> bool {
        if self.arrived == 0 {
            return false;
        }
        match self.expected {
            Some(count) if count < threads => self.arrived >= count,
            Some(count) if count > threads.next_multiple_of(WARP) => false,
            _ => self.arrived + exited >= threads,
        }
    }

    /// How many threads it waits for, in a block of `threads` threads of which `exited` are gone.
    pub(crate) fn awaited(&self, threads: u32, exited: u32) -> u32 {
        match self.expected {
            Some(count) if count < threads || count > threads.next_multiple_of(WARP) => count,
            _ => threads - exited,
        }
    }

    /// The result of a reduction for every thread that takes part.
    pub(crate) fn result(&self, kind: BarrierKind) -> u32 {
        match kind {
            BarrierKind::Sync | BarrierKind::Arrive => 0,
            BarrierKind::And => u32::from(self.votes == self.voters),
            BarrierKind::Or => u32::from(self.votes != 0),
            BarrierKind::Popc => self.votes,
        }
    }
}
