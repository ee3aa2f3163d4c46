//! Pools of page-locked memory.

use std::ptr::NonNull;
use std::sync::Arc;

use cuprum_driver_core::{
    Context, DeviceCopy, Error, ErrorKind, PastUses, PinnedAllocator, PinnedBuffer, Result,
};

use crate::builder::PoolBuilder;
use crate::pool::{Parts, tell};
use crate::shard::Shard;

/// A pool of page-locked memory, counted. Clones are handles to the same pool.
///
/// Page-locking costs the system hundreds of microseconds; memory of this pool is locked once. Buffers that it makes are
/// [`PinnedBuffer`]s like others: their memory comes back when they are dropped, and is lent again once the copies that
/// use it have passed. The host waits for copies only when memory is short.
///
/// ```
/// use cuprum_driver_core::Device;
/// use cuprum_mempool::PinnedPool;
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let pool = PinnedPool::new(&context)?;
/// let address = pool.from_slice(&[1u32, 2, 3])?.as_slice()?.as_ptr();
/// // Memory that was given back is lent again.
/// assert_eq!(pool.zeros::<u32>(3)?.as_slice()?.as_ptr(), address);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PinnedPool {
    context: Context,
    parts: Arc<Parts>,
}

impl PinnedPool {
    /// A pool that joins what is given back, without a limit.
    ///
    /// # Errors
    /// As [`PoolBuilder::build_pinned`].
    pub fn new(context: &Context) -> Result<Self> {
        Self::builder().build_pinned(context)
    }

    /// A pool with choices.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    pub(crate) fn from_parts(context: &Context, parts: Parts) -> Self {
        Self {
            context: context.clone(),
            parts: Arc::new(parts),
        }
    }

    fn shard(&self) -> &Arc<Shard> {
        &self.parts.shards[0]
    }

    /// `len` elements of all zero bytes.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if the limit is reached, or the system locks no more pages, although everything that
    /// can be given back was; [`ErrorKind::InvalidArgument`] if the size in bytes overflows.
    pub fn zeros<T: DeviceCopy>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        self.make(len, |pointer: NonNull<T>| {
            // SAFETY: the memory holds `len` elements and nobody else uses it; zero is a value of plain data.
            unsafe { pointer.as_ptr().write_bytes(0, len) }
        })
    }

    /// A copy of `elements`.
    ///
    /// # Errors
    /// As [`PinnedPool::zeros`].
    pub fn from_slice<T: DeviceCopy>(&self, elements: &[T]) -> Result<PinnedBuffer<T>> {
        self.make(elements.len(), |pointer: NonNull<T>| {
            // SAFETY: the memory holds that many elements and nobody else uses it, so it does not overlap `elements`.
            unsafe {
                pointer
                    .as_ptr()
                    .copy_from_nonoverlapping(elements.as_ptr(), elements.len());
            }
        })
    }

    /// Memory of `len` elements, which `fill` writes before anybody reads it.
    fn make<T: DeviceCopy>(
        &self,
        len: usize,
        fill: impl FnOnce(NonNull<T>),
    ) -> Result<PinnedBuffer<T>> {
        const { assert!(align_of::<T>() <= 256) };
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| {
                Error::custom(
                    ErrorKind::InvalidArgument,
                    format!(
                        "{len} elements of {} bytes are more than any address space holds",
                        size_of::<T>()
                    ),
                )
            })?;
        if bytes == 0 {
            return PinnedBuffer::zeros(&self.context, len);
        }
        let shard: Arc<Shard> = Arc::clone(self.shard());
        let pointer = PinnedAllocator::allocate(&*shard, &self.context, bytes)?.cast::<T>();
        fill(pointer);
        // SAFETY: the memory is that of the shard, aligned to 256, nobody else's, and its elements were written above;
        // the shard takes it back.
        Ok(unsafe { PinnedBuffer::from_raw_parts(&self.context, pointer, len, shard) })
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Gives everything back to the driver that nobody uses.
    pub fn free_held(&self) {
        self.parts.shared.free_held();
    }

    /// From now on the pool keeps nothing. That cannot be undone.
    pub fn stop_holding(&self) {
        self.parts.shared.stop();
    }
}

// SAFETY: a shard keeps the contract.
unsafe impl PinnedAllocator for PinnedPool {
    fn allocate(&self, context: &Context, bytes: usize) -> Result<NonNull<u8>> {
        PinnedAllocator::allocate(&**self.shard(), context, bytes)
    }

    unsafe fn release(
        &self,
        context: &Context,
        pointer: NonNull<u8>,
        bytes: usize,
        uses: PastUses,
    ) -> Result<()> {
        // SAFETY: the caller's promise is this one.
        unsafe { PinnedAllocator::release(&**self.shard(), context, pointer, bytes, uses) }
    }
}

tell!(PinnedPool);
