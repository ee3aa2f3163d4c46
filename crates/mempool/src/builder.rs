//! How pools are made.

use std::sync::{Arc, Weak};

use cuprum_driver_core::{Context, PageLockedAllocator, Reclaim, Result};

use crate::pinned::PinnedPool;
use crate::policy::{Policy, Trim};
use crate::pool::{Parts, Pool};
use crate::shard::Shard;
use crate::shared::{Options, Shared, Space};

/// Events that each part of a pool keeps, unless the builder says otherwise.
const EVENTS: usize = 1024;

/// The most parts a pool has.
const PARTS: usize = 64;

/// The most memory that a part keeps for its threads.
const KEPT: u64 = 1 << 30;

/// Builds a [`Pool`] or a [`PinnedPool`].
///
/// ```
/// use cuprum_driver_core::Device;
/// use cuprum_mempool::{Policy, Pool, Trim};
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let pool = Pool::builder()
///     .policy(Policy::Coalescing)
///     .limit(512 << 20)
///     .trim(Trim::Above(64 << 20))
///     .build(&context)?;
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct PoolBuilder {
    options: Options,
    source: PageLockedAllocator,
}

impl PoolBuilder {
    pub(crate) fn new() -> Self {
        Self {
            options: Options {
                policy: Policy::default(),
                limit: None,
                trim: Trim::default(),
                internal_dependencies: true,
                events: EVENTS,
                debug: false,
            },
            source: PageLockedAllocator::default(),
        }
    }

    /// What blocks are made of; [`Policy::Coalescing`] unless said otherwise.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = policy;
        self
    }

    /// The most bytes that the pool takes from the driver, lent and held together. No limit unless said otherwise.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.options.limit = Some(bytes);
        self
    }

    /// When memory goes back to the driver by itself; [`Trim::AtPeak`] unless said otherwise.
    pub fn trim(mut self, trim: Trim) -> Self {
        self.options.trim = trim;
        self
    }

    /// Whether a stream may be made to wait on the device for another stream, so that a block which that one used
    /// last can be lent before its work has passed. They may unless said otherwise; without, the pool rather asks the
    /// driver for more.
    pub fn internal_dependencies(mut self, allowed: bool) -> Self {
        self.options.internal_dependencies = allowed;
        self
    }

    /// How many events each part of the pool keeps: see [`Pool::events`]. 0 switches the recorder off.
    pub fn events(mut self, events: usize) -> Self {
        self.options.events = events;
        self
    }

    /// Whether to remember where each live block was allocated, for [`Pool::report`]. That costs a backtrace for every
    /// allocation: tens of microseconds.
    pub fn debug(mut self, debug: bool) -> Self {
        self.options.debug = debug;
        self
    }

    /// Where a [`PinnedPool`] gets its memory from; a [`Pool`] does not care.
    pub fn source(mut self, source: PageLockedAllocator) -> Self {
        self.source = source;
        self
    }

    /// A pool of device memory of `context`, which it does not keep alive.
    ///
    /// # Errors
    /// None at present; what making a pool may need later.
    pub fn build(self, context: &Context) -> Result<Pool> {
        let count = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .next_power_of_two()
            .min(PARTS);
        let kept = match self.options.trim {
            // Half of the bound is for what the threads keep.
            Trim::Above(bound) => (bound / 2 / count as u64).min(KEPT),
            _ => KEPT,
        };
        Ok(Pool::from_parts(self.parts(
            context,
            Space::Device,
            count,
            kept,
        )))
    }

    /// A pool of page-locked memory.
    ///
    /// # Errors
    /// As [`PoolBuilder::build`].
    pub fn build_pinned(self, context: &Context) -> Result<PinnedPool> {
        let parts = self.parts(context, Space::PageLocked(self.source), 1, 0);
        Ok(PinnedPool::from_parts(context, parts))
    }

    fn parts(self, context: &Context, space: Space, count: usize, kept: u64) -> Parts {
        let shared = Arc::new(Shared::new(context, space, self.options));
        let shards: Box<[Arc<Shard>]> = (0..count)
            .map(|_| Arc::new(Shard::new(&shared, kept, self.options.events)))
            .collect();
        shared.set_shards(shards.iter().map(Arc::downgrade).collect());
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        let holder: Weak<dyn Reclaim> = weak;
        context.register_reclaim(holder);
        Parts { shared, shards }
    }
}
