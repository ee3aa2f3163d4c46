//! A pool in numbers.

/// A pool in numbers. Taken while other threads use the pool, the numbers are of slightly different moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Blocks that are lent.
    pub active_blocks: u64,
    /// Bytes that were asked for in blocks that are lent.
    pub active_bytes: u64,
    /// Bytes of the blocks that are lent, rounding included.
    pub active_block_bytes: u64,
    /// Blocks that are free.
    pub held_blocks: u64,
    /// Their bytes.
    pub held_bytes: u64,
    /// Bytes that the pool has from the driver: those lent and those held.
    pub managed_bytes: u64,
    /// Allocations of the driver that these are.
    pub chunks: u64,
    /// The most that `managed_bytes` ever was.
    pub peak_managed_bytes: u64,
    /// The most that `active_bytes` ever was. While several threads allocate, each has its own peak, and this is the
    /// sum of them: an upper bound, and never more than `peak_managed_bytes`.
    pub peak_active_bytes: u64,
    /// Blocks lent so far.
    pub allocations: u64,
    /// Of these, those that took a block which the same thread had given back.
    pub cached: u64,
    /// Of these, those after which a stream waits for another.
    pub waits: u64,
    /// Allocations that failed.
    pub failures: u64,
    /// Calls that asked the driver for memory and got it.
    pub driver_allocations: u64,
    /// Chunks given back to the driver.
    pub driver_releases: u64,
}

/// What one part of a pool counts by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) active_blocks: u64,
    pub(crate) active_bytes: u64,
    pub(crate) active_block_bytes: u64,
    pub(crate) peak_active_bytes: u64,
    pub(crate) allocations: u64,
    pub(crate) cached: u64,
}

impl Counts {
    #[inline]
    pub(crate) fn lend(&mut self, bytes: u64, block: u64) {
        self.active_blocks += 1;
        self.active_bytes += bytes;
        self.active_block_bytes += block;
        self.peak_active_bytes = self.peak_active_bytes.max(self.active_bytes);
        self.allocations += 1;
    }

    #[inline]
    pub(crate) fn take_back(&mut self, bytes: u64, block: u64) {
        self.active_blocks -= 1;
        self.active_bytes -= bytes;
        self.active_block_bytes -= block;
    }
}
