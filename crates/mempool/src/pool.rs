//! Pools of device memory.

use std::sync::Arc;

use cuprum_driver_core::{
    Allocator, Context, DeviceBuffer, DeviceCopy, Error, ErrorKind, LastUses, Result, Stream,
};

use crate::buffer::PooledBuffer;
use crate::builder::PoolBuilder;
use crate::policy::Policy;
use crate::recorder::Event;
use crate::report::Report;
use crate::shard::Shard;
use crate::shared::Shared;
use crate::statistics::Statistics;
use crate::sync::thread;

/// A pool of device memory, counted. Clones are handles to the same pool.
///
/// Memory that is given back is kept and lent again, without a call of the driver. Any thread may use it, and memory of
/// one stream may come from what another gave back: that stream then waits for the other on the device, the host never.
/// When the last handle is dropped, what is held goes back to the driver, and what is still lent when its owner gives
/// it up.
///
/// As an [`Allocator`] it serves every buffer and array of a context:
///
/// ```
/// use std::sync::Arc;
///
/// use cuprum_driver_core::{Device, DeviceBuffer};
/// use cuprum_mempool::Pool;
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let pool = Pool::new(&context)?;
/// context.set_allocator(Some(Arc::new(pool.clone())));
///
/// let stream = context.new_stream()?;
/// let buffer = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0])?;
/// assert_eq!(pool.active_bytes(), 8);
/// drop(buffer);
/// assert_eq!(pool.active_bytes(), 0);
/// assert!(pool.held_bytes() >= 8);
/// # context.set_allocator(None);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    parts: Arc<Parts>,
}

/// The parts of a pool. Dropped with the last handle.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) shards: Box<[Arc<Shard>]>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Pool {
    /// A pool that joins what is given back, without a limit.
    ///
    /// # Errors
    /// As [`PoolBuilder::build`].
    pub fn new(context: &Context) -> Result<Self> {
        Self::builder().build(context)
    }

    /// A pool with choices.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    pub(crate) fn from_parts(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }

    /// The part that serves the calling thread.
    #[inline]
    fn shard(&self) -> &Arc<Shard> {
        // The number of parts is a power of two.
        &self.parts.shards[thread() & (self.parts.shards.len() - 1)]
    }

    /// Lends `bytes` bytes with undefined contents, for work on `stream`. Of no bytes it lends nothing, at no cost.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if the limit is reached, or the device's memory is, although everything that can be
    /// given back was; [`ErrorKind::WrongContext`] if `stream` is of another context; what the driver returns.
    #[inline]
    pub fn allocate(&self, stream: &Stream, bytes: usize) -> Result<PooledBuffer> {
        // SAFETY: every byte is a value of `u8`.
        unsafe { self.uninit(stream, bytes) }.map(PooledBuffer::new)
    }

    /// `len` elements of this pool with undefined contents, whatever allocator the context has.
    ///
    /// # Errors
    /// As [`Pool::allocate`], and [`ErrorKind::InvalidArgument`] if the size in bytes overflows.
    ///
    /// # Safety
    /// An element is not read, by the host or by a kernel, before it was written.
    #[inline]
    pub unsafe fn uninit<T: DeviceCopy>(
        &self,
        stream: &Stream,
        len: usize,
    ) -> Result<DeviceBuffer<T>> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| too_many(len, size_of::<T>()))?;
        let (address, allocator): (u64, Option<Arc<dyn Allocator>>) = if bytes == 0 {
            (0, None)
        } else {
            let shard = self.shard();
            let address = shard.allocate(stream, bytes)?;
            let shard: Arc<Shard> = Arc::clone(shard);
            (address, Some(shard))
        };
        // SAFETY: the memory is that of the shard for this stream, aligned to 256, and nobody else's; the caller
        // promises the rest. The shard takes it back.
        Ok(unsafe { DeviceBuffer::from_raw_parts(stream, address, len, allocator) })
    }

    /// `len` elements of this pool, all zero bytes.
    ///
    /// # Errors
    /// As [`Pool::uninit`], and what the driver returns.
    pub fn zeros<T: DeviceCopy>(&self, stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        // SAFETY: every byte is written before the buffer is handed out; zero is a value of plain data.
        let mut buffer = unsafe { self.uninit(stream, len) }?;
        buffer.view_mut().clear()?;
        Ok(buffer)
    }

    /// A copy of `elements` in memory of this pool. `elements` may be changed as soon as this returns.
    ///
    /// # Errors
    /// As [`Pool::uninit`], and what the driver returns.
    pub fn from_slice<T: DeviceCopy>(
        &self,
        stream: &Stream,
        elements: &[T],
    ) -> Result<DeviceBuffer<T>> {
        // SAFETY: every element is written before the buffer is handed out.
        let mut buffer = unsafe { self.uninit(stream, elements.len()) }?;
        buffer.copy_from_slice(elements)?;
        Ok(buffer)
    }

    /// Gives everything back to the driver that nobody uses. Memory whose last use has not passed follows when it has.
    ///
    /// Of [`Policy::Coalescing`] these are whole chunks: a chunk of which something is lent stays.
    pub fn free_held(&self) {
        self.parts.shared.free_held();
    }

    /// From now on the pool keeps nothing: what is held goes back to the driver, and what is given back does at once.
    /// That cannot be undone.
    pub fn stop_holding(&self) {
        self.parts.shared.stop();
    }

    /// The size of the block that an allocation of `bytes` bytes gets.
    #[must_use]
    pub fn block_bytes(&self, bytes: u64) -> Option<u64> {
        self.policy().block_bytes(bytes)
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.parts.shared.options.policy
    }
}

#[cold]
fn too_many(len: usize, size: usize) -> Error {
    Error::custom(
        ErrorKind::InvalidArgument,
        format!("{len} elements of {size} bytes are more than any address space holds"),
    )
}

// SAFETY: a shard keeps the contract, and takes back what any shard of its pool lent.
unsafe impl Allocator for Pool {
    fn allocate(&self, stream: &Stream, bytes: usize) -> Result<u64> {
        self.shard().allocate(stream, bytes)
    }

    unsafe fn release(
        &self,
        stream: &Stream,
        address: u64,
        bytes: usize,
        uses: LastUses<'_>,
    ) -> Result<()> {
        // SAFETY: the caller's promise is this one.
        unsafe { self.shard().release(stream, address, bytes, uses) }
    }

    fn local(&self) -> Option<Arc<dyn Allocator>> {
        let shard: Arc<Shard> = Arc::clone(self.shard());
        Some(shard)
    }
}

impl Parts {
    pub(crate) fn statistics(&self) -> Statistics {
        let mut all = Statistics::default();
        let (mut kept_blocks, mut kept_bytes) = (0, 0);
        let books = self.shared.books();
        for shard in &self.shards {
            let ((blocks, bytes), counts) = shard.totals();
            kept_blocks += blocks;
            kept_bytes += bytes;
            all.active_blocks = all.active_blocks.wrapping_add(counts.active_blocks);
            all.active_bytes = all.active_bytes.wrapping_add(counts.active_bytes);
            all.active_block_bytes = all
                .active_block_bytes
                .wrapping_add(counts.active_block_bytes);
            all.peak_active_bytes += counts.peak_active_bytes;
            all.allocations += counts.allocations;
            all.cached += counts.cached;
        }
        let totals = books.store.totals();
        all.held_blocks = totals.free_blocks + kept_blocks;
        all.held_bytes = totals.free_bytes + kept_bytes;
        all.managed_bytes = totals.managed;
        all.chunks = totals.chunks;
        all.peak_managed_bytes = books.peak;
        all.peak_active_bytes = all.peak_active_bytes.min(books.peak);
        all.waits = books.waits;
        all.failures = books.failures;
        all.driver_allocations = books.driver_allocations;
        all.driver_releases = books.driver_releases;
        all
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let start = self.shared.start;
        let mut all: Vec<Event> = self.shared.books().recorder.events(start).collect();
        for shard in &self.shards {
            shard.inspect(|recorder, _| all.extend(recorder.events(start)));
        }
        // Stable: events of one part keep their order.
        all.sort_by_key(|event| event.time);
        all
    }

    pub(crate) fn events_so_far(&self) -> u64 {
        let mut count = self.shared.books().recorder.count();
        for shard in &self.shards {
            count += shard.inspect(|recorder, _| recorder.count());
        }
        count
    }

    pub(crate) fn report(&self) -> Report {
        let mut held = std::collections::BTreeMap::<u64, u64>::new();
        for (bytes, count) in self.shared.books().store.free_sizes() {
            *held.entry(bytes).or_default() += count;
        }
        for shard in &self.shards {
            shard.inspect(|_, cache| {
                for bytes in cache.sizes() {
                    *held.entry(bytes).or_default() += 1;
                }
            });
        }
        let live = self.shared.sites.as_ref();
        Report {
            policy: self.shared.options.policy,
            limit: self.shared.options.limit,
            statistics: self.statistics(),
            held: held.into_iter().rev().collect(),
            live: live.map_or(Vec::new(), |sites| crate::sync::lock(sites).groups()),
        }
    }
}

/// What pools of both kinds can tell of themselves.
macro_rules! tell {
    ($pool:ty) => {
        impl $pool {
            /// The pool in numbers.
            #[must_use]
            pub fn statistics(&self) -> $crate::Statistics {
                self.parts.statistics()
            }

            /// Blocks that are lent.
            #[must_use]
            pub fn active_blocks(&self) -> u64 {
                self.statistics().active_blocks
            }

            /// Bytes that were asked for in blocks that are lent.
            #[must_use]
            pub fn active_bytes(&self) -> u64 {
                self.statistics().active_bytes
            }

            /// Blocks that are free.
            #[must_use]
            pub fn held_blocks(&self) -> u64 {
                self.statistics().held_blocks
            }

            /// Bytes that are free.
            #[must_use]
            pub fn held_bytes(&self) -> u64 {
                self.statistics().held_bytes
            }

            /// Bytes that the pool has from the driver.
            #[must_use]
            pub fn managed_bytes(&self) -> u64 {
                self.statistics().managed_bytes
            }

            /// The last events, as far as they are kept, in the order of their times. Events of one thread are in
            /// order; those of different threads are within the clock's few milliseconds.
            #[must_use]
            pub fn events(&self) -> Vec<$crate::Event> {
                self.parts.events()
            }

            /// How many events there were since the pool was made, kept or not.
            #[must_use]
            pub fn events_so_far(&self) -> u64 {
                self.parts.events_so_far()
            }

            /// The state of the pool, as data and, printed, as a table; with
            /// [`debug`](crate::PoolBuilder::debug), the live blocks by where they were allocated.
            #[must_use]
            pub fn report(&self) -> $crate::Report {
                self.parts.report()
            }
        }
    };
}
pub(crate) use tell;

tell!(Pool);
