//! Pools of stream-ordered memory.

use std::sync::{Arc, Mutex};

use cuprum_driver_sys::{CUmemPool_attribute, CUresult};

use super::block::Kind;
use super::space::{Request, Space};
use crate::error::{Outcome, fail, lock};
use crate::marker::Marker;

/// Memory of one device that is allocated and freed in stream order.
///
/// A freed block is reused at once by the stream that freed it, by others when the free has passed. It returns to the
/// device when a synchronisation finds the pool above its release threshold.
#[derive(Debug)]
pub(crate) struct Pool {
    /// A number unique in the process.
    pub(crate) id: u64,
    device: usize,
    space: Arc<Space>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: Vec<Free>,
    threshold: u64,
    follow_events: bool,
    opportunistic: bool,
    internal_dependencies: bool,
    reserved: u64,
    reserved_high: u64,
    used: u64,
    used_high: u64,
}

/// A block that was freed and is kept.
#[derive(Debug)]
struct Free {
    address: u64,
    capacity: u64,
    /// The stream that freed it.
    stream: u64,
    /// Passes when the free is executed.
    freed: Arc<Marker>,
}

/// An allocation of a pool.
#[derive(Debug)]
pub(crate) struct Grant {
    /// First address.
    pub(crate) address: u64,
    /// What must pass before the memory may be used: the free on another stream.
    pub(crate) after: Option<Arc<Marker>>,
}

impl Pool {
    /// An empty pool of a device.
    pub(crate) fn new(id: u64, device: usize, space: &Arc<Space>) -> Arc<Self> {
        let state = State {
            free: Vec::new(),
            threshold: 0,
            follow_events: true,
            opportunistic: true,
            internal_dependencies: true,
            reserved: 0,
            reserved_high: 0,
            used: 0,
            used_high: 0,
        };
        Arc::new(Self {
            id,
            device,
            space: Arc::clone(space),
            state: Mutex::new(state),
        })
    }

    /// The ordinal of the device whose memory it hands out.
    pub(crate) fn device(&self) -> usize {
        self.device
    }

    /// Takes `size` bytes for use on `stream` by `context`. The caller queues [`Space::expose`] on that stream.
    pub(crate) fn allocate(&self, size: u64, stream: u64, context: u64) -> Outcome<Grant> {
        let mut state = lock(&self.state);
        let fits = |f: &Free| {
            f.capacity >= size && f.capacity / 2 <= size.next_multiple_of(super::GRANULE)
        };
        let same_stream = best(&state.free, |f| fits(f) && f.stream == stream);
        let passed = || {
            best(&state.free, |f| {
                state.opportunistic && fits(f) && f.freed.has_passed()
            })
        };
        if let Some(index) = same_stream.or_else(passed) {
            return self.reuse(&mut state, index, size, context);
        }
        let request = Request {
            size,
            kind: Kind::Pooled,
            device: self.device,
            context,
            flags: 0,
        };
        let outcome = self.space.allocate(request).or_else(|full| {
            self.release(&mut state, 0);
            self.space.allocate(request).map_err(|_| full)
        });
        match outcome {
            Ok(block) => {
                state.reserved += block.capacity;
                state.reserved_high = state.reserved_high.max(state.reserved);
                state.count_use(block.capacity);
                Ok(Grant {
                    address: block.address,
                    after: None,
                })
            }
            // Wait, in stream order, for memory that another stream will have freed.
            Err(full) if full.code == CUresult::OUT_OF_MEMORY && state.internal_dependencies => {
                match best(&state.free, |f| f.capacity >= size) {
                    Some(index) => self.reuse(&mut state, index, size, context),
                    None => Err(full),
                }
            }
            Err(full) => Err(full),
        }
    }

    fn reuse(&self, state: &mut State, index: usize, size: u64, context: u64) -> Outcome<Grant> {
        if !self.space.reuse(state.free[index].address, size, context) {
            return fail(
                CUresult::CONTEXT_IS_DESTROYED,
                "the context was destroyed during the call",
            );
        }
        let Free {
            address,
            capacity,
            freed,
            ..
        } = state.free.swap_remove(index);
        state.count_use(capacity);
        Ok(Grant {
            address,
            after: Some(freed).filter(|marker| !marker.has_passed()),
        })
    }

    /// Keeps the block at `address`, whose free `freed` is queued on `stream`.
    pub(crate) fn free(&self, address: u64, capacity: u64, stream: u64, freed: Arc<Marker>) {
        let mut state = lock(&self.state);
        state.used -= capacity;
        state.free.push(Free {
            address,
            capacity,
            stream,
            freed,
        });
    }

    /// Notes that a block in use was freed with its context, not through the pool.
    pub(crate) fn forget(&self, capacity: u64) {
        let mut state = lock(&self.state);
        state.used -= capacity;
        state.reserved -= capacity;
    }

    /// Gives free blocks back to the device until at most `keep` bytes are reserved.
    pub(crate) fn trim(&self, keep: u64) {
        self.release(&mut lock(&self.state), keep);
    }

    /// What a synchronisation does: gives back what exceeds the release threshold.
    pub(crate) fn settle(&self) {
        let mut state = lock(&self.state);
        if !state.free.is_empty() {
            let keep = state.threshold;
            self.release(&mut state, keep);
        }
    }

    fn release(&self, state: &mut State, keep: u64) {
        let mut index = 0;
        while state.reserved > keep && index < state.free.len() {
            if !state.free[index].freed.has_passed() {
                index += 1;
                continue;
            }
            let block = state.free.swap_remove(index);
            state.reserved -= block.capacity;
            self.space
                .free(block.address, &[Kind::Cached])
                .expect("free blocks of a pool are in the table");
        }
    }

    /// Bytes reserved now.
    pub(crate) fn reserved(&self) -> u64 {
        lock(&self.state).reserved
    }

    /// An attribute's value: a 64-bit number, or for the three kinds of reuse a truth value.
    pub(crate) fn attribute(&self, attribute: CUmemPool_attribute) -> Outcome<PoolValue> {
        let state = lock(&self.state);
        Ok(match attribute {
            CUmemPool_attribute::REUSE_FOLLOW_EVENT_DEPENDENCIES => {
                PoolValue::Flag(state.follow_events)
            }
            CUmemPool_attribute::REUSE_ALLOW_OPPORTUNISTIC => PoolValue::Flag(state.opportunistic),
            CUmemPool_attribute::REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                PoolValue::Flag(state.internal_dependencies)
            }
            CUmemPool_attribute::RELEASE_THRESHOLD => PoolValue::Bytes(state.threshold),
            CUmemPool_attribute::RESERVED_MEM_CURRENT => PoolValue::Bytes(state.reserved),
            CUmemPool_attribute::RESERVED_MEM_HIGH => PoolValue::Bytes(state.reserved_high),
            CUmemPool_attribute::USED_MEM_CURRENT => PoolValue::Bytes(state.used),
            CUmemPool_attribute::USED_MEM_HIGH => PoolValue::Bytes(state.used_high),
            other => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("pools have no attribute {}", other.0),
                );
            }
        })
    }

    /// Sets an attribute; the high-water marks can only be set to zero, which resets them to the current value.
    pub(crate) fn set_attribute(
        &self,
        attribute: CUmemPool_attribute,
        value: PoolValue,
    ) -> Outcome {
        let mut state = lock(&self.state);
        match (attribute, value) {
            (CUmemPool_attribute::REUSE_FOLLOW_EVENT_DEPENDENCIES, PoolValue::Flag(on)) => {
                state.follow_events = on;
            }
            (CUmemPool_attribute::REUSE_ALLOW_OPPORTUNISTIC, PoolValue::Flag(on)) => {
                state.opportunistic = on;
            }
            (CUmemPool_attribute::REUSE_ALLOW_INTERNAL_DEPENDENCIES, PoolValue::Flag(on)) => {
                state.internal_dependencies = on;
            }
            (CUmemPool_attribute::RELEASE_THRESHOLD, PoolValue::Bytes(bytes)) => {
                state.threshold = bytes;
            }
            (CUmemPool_attribute::RESERVED_MEM_HIGH, PoolValue::Bytes(0)) => {
                state.reserved_high = state.reserved;
            }
            (CUmemPool_attribute::USED_MEM_HIGH, PoolValue::Bytes(0)) => {
                state.used_high = state.used;
            }
            (other, _) => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("pool attribute {} cannot be set to this", other.0),
                );
            }
        }
        Ok(())
    }
}

impl State {
    fn count_use(&mut self, capacity: u64) {
        self.used += capacity;
        self.used_high = self.used_high.max(self.used);
    }
}

/// The smallest free block that `which` accepts.
fn best(free: &[Free], which: impl Fn(&Free) -> bool) -> Option<usize> {
    let chosen = free.iter().enumerate().filter(|(_, f)| which(f));
    chosen
        .min_by_key(|(_, f)| f.capacity)
        .map(|(index, _)| index)
}

/// The value of a pool's attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolValue {
    /// A truth value, 32 bits in the C interface.
    Flag(bool),
    /// A number of bytes, 64 bits in the C interface.
    Bytes(u64),
}

impl PoolValue {
    /// Whether the attribute is a truth value in the C interface.
    pub(crate) fn is_flag(attribute: CUmemPool_attribute) -> bool {
        matches!(
            attribute,
            CUmemPool_attribute::REUSE_FOLLOW_EVENT_DEPENDENCIES
                | CUmemPool_attribute::REUSE_ALLOW_OPPORTUNISTIC
                | CUmemPool_attribute::REUSE_ALLOW_INTERNAL_DEPENDENCIES
        )
    }
}
