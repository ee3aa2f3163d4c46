//! The books of a pool: which blocks are free, who used them last, and which to lend next.
//!
//! A store asks no driver and takes no lock. Memory comes into it in chunks, leaves it in blocks, and is taken out
//! again in chunks.

mod bins;
mod coalescing;

#[cfg(test)]
mod model;

use std::fmt;

pub(crate) use bins::Bins;
pub(crate) use coalescing::Coalescing;
use cuprum_driver_core::PastUses;

/// The last uses of a free block, as far as a store must understand them.
pub(crate) trait Marks: Clone + Default + fmt::Debug {
    /// Adds the uses of another block.
    fn merge(&mut self, other: &Self);
    /// Forgets uses that are known to be over.
    fn forget_passed(&mut self);
    /// Whether there are none.
    fn is_empty(&self) -> bool;
    /// The number of the only stream, if there is just one.
    fn only_stream(&self) -> Option<u32>;
}

impl Marks for PastUses {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }

    fn forget_passed(&mut self) {
        self.forget_passed();
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn only_stream(&self) -> Option<u32> {
        self.only_stream()
    }
}

/// Who may use a free block without waiting: a stream's number, or one of the two below.
type Owner = u32;

/// Everybody: nothing uses the block any more.
const IDLE: Owner = 0;
/// Nobody: several streams have used it.
const MIXED: Owner = u32::MAX;

fn owner(marks: &impl Marks) -> Owner {
    match marks.only_stream() {
        Some(stream) => stream,
        None if marks.is_empty() => IDLE,
        None => MIXED,
    }
}

/// Which free blocks to consider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those that the stream may use without waiting.
    Own,
    /// Also those of other streams whose uses are known to be over.
    Passed,
    /// All; the stream must then wait for their uses.
    Any,
}

/// A piece of memory with its last uses.
#[derive(Clone, Debug)]
pub(crate) struct Piece<M> {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) marks: M,
}

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Memory of all chunks.
    pub(crate) managed: u64,
    /// Chunks.
    pub(crate) chunks: u64,
    /// Free blocks.
    pub(crate) free_blocks: u64,
    /// Their memory.
    pub(crate) free_bytes: u64,
}

/// The books, by policy.
#[derive(Debug)]
pub(crate) enum Store<M> {
    Coalescing(Coalescing<M>),
    Bins(Bins<M>),
}

impl<M: Marks> Store<M> {
    /// Lends a block of exactly `bytes` bytes, as [`block_bytes`](crate::Policy::block_bytes) makes them.
    pub(crate) fn take(&mut self, bytes: u64, stream: u32, reach: Reach) -> Option<Piece<M>> {
        match self {
            Self::Coalescing(store) => store.take(bytes, stream, reach),
            Self::Bins(store) => store.take(bytes, stream, reach),
        }
    }

    /// Takes a block back.
    pub(crate) fn give(&mut self, address: u64, bytes: u64, marks: M) {
        match self {
            Self::Coalescing(store) => store.give(address, marks),
            Self::Bins(store) => store.give(address, bytes, marks),
        }
    }

    /// Adds a chunk and lends `bytes` bytes of it at once.
    pub(crate) fn add(&mut self, address: u64, chunk: u64, bytes: u64) -> u64 {
        match self {
            Self::Coalescing(store) => store.add(address, chunk, bytes),
            Self::Bins(store) => store.add(address, chunk),
        }
    }

    /// Joins free neighbours that lie apart because different streams used them; with `mix`, whatever streams.
    pub(crate) fn consolidate(&mut self, mix: bool) {
        if let Self::Coalescing(store) = self {
            store.consolidate(mix);
        }
    }

    /// Takes out chunks that nobody uses, at least `bytes` bytes of them if there are so many.
    pub(crate) fn surplus(&mut self, bytes: u64) -> Vec<Piece<M>> {
        match self {
            Self::Coalescing(store) => store.surplus(bytes),
            Self::Bins(store) => store.surplus(bytes),
        }
    }

    /// The bytes of all chunks that nobody uses.
    pub(crate) fn unused(&self) -> u64 {
        match self {
            Self::Coalescing(store) => store.unused(),
            Self::Bins(store) => store.totals().free_bytes,
        }
    }

    /// The union of the uses of all free blocks that `stream` does not own.
    pub(crate) fn pending(&self, stream: u32) -> M {
        match self {
            Self::Coalescing(store) => store.pending(stream),
            Self::Bins(store) => store.pending(stream),
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        match self {
            Self::Coalescing(store) => store.totals(),
            Self::Bins(store) => store.totals(),
        }
    }

    /// Free blocks by size, largest first: size and number.
    pub(crate) fn free_sizes(&self) -> Vec<(u64, u64)> {
        match self {
            Self::Coalescing(store) => store.free_sizes(),
            Self::Bins(store) => store.free_sizes(),
        }
    }
}
