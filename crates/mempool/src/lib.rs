#![doc = include_str!("../README.md")]
//!
//! # The rooms
//!
//! | what | where |
//! | --- | --- |
//! | [`Pool`], [`PooledBuffer`], [`PinnedPool`], [`PoolBuilder`] | one file each |
//! | the books: free blocks by size and by who used them, for both policies | `store/` |
//! | what threads share, and giving back; growth and limit | `shared.rs`, `growth.rs` |
//! | what a thread does without the others | `shard.rs`, `cache.rs` |
//! | locks, the flag, and numbers of threads | `sync.rs` |
//! | events, numbers, tables | `recorder.rs`, `statistics.rs`, `report.rs`, `debug.rs` |
//! | PyCUDA's bins | `bins.rs` |
//!
//! Errors are those of `cuprum-driver-core`: a pool is an allocator, and its failures reach the program through buffers
//! and arrays of all kinds.
//!
//! But for one flag, nothing here is lock-free. A thread takes the lock of its own part, which it shares with few others,
//! for some tens of nanoseconds: an uncontended lock costs less than the clock that the recorder reads, and under it a list,
//! the counts and the recorder stay plain data. The books have one lock. The flag says that the pool has stopped; it is
//! written before the parts are drained and read under a part's lock. `tests/loom.rs` tries the orders of threads over
//! these locks and the flag with a model checker.

mod bins;
mod buffer;
mod builder;
mod cache;
mod debug;
mod growth;
mod pinned;
mod policy;
mod pool;
mod recorder;
mod report;
mod shard;
mod shared;
mod statistics;
mod store;
mod sync;

pub use bins::{alloc_size, bin_number, bitlog2};
pub use buffer::PooledBuffer;
pub use builder::PoolBuilder;
pub use pinned::PinnedPool;
pub use policy::{Policy, Trim};
pub use pool::Pool;
pub use recorder::{Event, EventKind};
pub use report::{Group, Report};
pub use statistics::Statistics;
