//! Memory as one context sees it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use cuprum_driver_sys::CUresult;

use super::block::{Block, Kind};
use super::shadow::Shadow;
use super::space::{Request, Space};
use super::{MemoryMap, SlowPath};
use crate::error::{Outcome, fail};

/// What one context may touch, and its device-side heap.
pub(crate) struct View {
    space: Arc<Space>,
    shadow: Shadow,
    /// As `shadow`, without what kernels may only read.
    writable: Shadow,
    context: u64,
    device: usize,
    /// Whether the device may use managed memory while the host does.
    concurrent: bool,
    peers: RwLock<BTreeSet<u64>>,
    heap_limit: AtomicU64,
    heap_used: AtomicU64,
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View(context {}, device {})", self.context, self.device)
    }
}

impl View {
    /// The view of a new context with this number on this device, which may use managed memory while the host does if
    /// it is `concurrent`.
    pub(crate) fn new(
        space: &Arc<Space>,
        context: u64,
        device: usize,
        concurrent: bool,
    ) -> Outcome<Arc<Self>> {
        let (Some(shadow), Some(writable)) = (Shadow::new(space.len()), Shadow::new(space.len()))
        else {
            return fail(
                CUresult::OUT_OF_MEMORY,
                "the system has no address space left for a context",
            );
        };
        let view = Arc::new(Self {
            space: Arc::clone(space),
            shadow,
            writable,
            context,
            device,
            concurrent,
            peers: RwLock::default(),
            heap_limit: AtomicU64::new(0),
            heap_used: AtomicU64::new(0),
        });
        space.add_view(&view)?;
        Ok(view)
    }

    /// What kernels of the context get.
    pub(crate) fn map(self: &Arc<Self>) -> MemoryMap {
        let slow: Arc<Self> = Arc::clone(self);
        MemoryMap {
            base: self.space.base(),
            len: self.space.len(),
            shadow: self.shadow.as_ptr(),
            writable: self.writable.as_ptr(),
            frees: self.shadow.frees(),
            slow,
        }
    }

    /// The number of the context.
    pub(crate) fn context(&self) -> u64 {
        self.context
    }

    /// Makes a block, which lies `offset` bytes into the range, valid. False if the system is out of memory.
    #[must_use]
    pub(super) fn mark(&self, offset: u64, block: &Block) -> bool {
        self.shadow.mark(offset, block.size)
            && (!block.kind.is_writable() || self.writable.mark(offset, block.size))
    }

    /// Makes a block invalid.
    pub(super) fn clear(&self, offset: u64, block: &Block) {
        self.shadow.clear(offset, block.size);
        self.writable.clear(offset, block.size);
    }

    /// How many bytes of the granule at `offset` may be read and written.
    pub(super) fn valid(&self, offset: u64) -> (u16, u16) {
        (self.shadow.valid(offset), self.writable.valid(offset))
    }

    /// Whether kernels of the context may use the block.
    pub(crate) fn sees(&self, block: &Block) -> bool {
        if block.kind == Kind::Array || block.is_for_host && !self.concurrent {
            return false;
        }
        block.kind.is_shared()
            || block.context == self.context
            || matches!(block.kind, Kind::Pooled | Kind::Cached) && block.device == self.device
            || self
                .peers
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&block.context)
    }

    /// Notes whether memory of the context `peer` may be used; answers whether that is new.
    pub(super) fn set_peer(&self, peer: u64, enabled: bool) -> bool {
        let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
        if enabled {
            peers.insert(peer)
        } else {
            peers.remove(&peer)
        }
    }

    /// Sets how many bytes device-side `malloc` may hand out (`CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub(crate) fn set_heap_limit(&self, bytes: u64) {
        self.heap_limit.store(bytes, Ordering::Relaxed);
    }

    /// Device-side heap in use, bytes.
    #[cfg(test)]
    pub(crate) fn heap_used(&self) -> u64 {
        self.heap_used.load(Ordering::Relaxed)
    }
}

impl SlowPath for View {
    fn allows(&self, addr: u64, size: u32, write: bool) -> bool {
        let registered = self.space.registered();
        let Some(range) = registered.find(addr) else {
            return false;
        };
        u64::from(size) <= range.address + range.len - addr && !(write && range.read_only)
    }

    fn extent(&self, addr: u64, write: bool) -> Option<(u64, u64)> {
        self.space.extent(self, addr, write)
    }

    fn describe(&self, addr: u64) -> String {
        self.space.describe(addr)
    }

    fn malloc(&self, bytes: u64) -> u64 {
        let Some(charged) = bytes
            .checked_next_multiple_of(super::GRANULE)
            .filter(|&b| b > 0)
        else {
            return 0;
        };
        let limit = self.heap_limit.load(Ordering::Relaxed);
        let grow = |used: u64| used.checked_add(charged).filter(|&sum| sum <= limit);
        if self
            .heap_used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow)
            .is_err()
        {
            return 0;
        }
        let request = Request {
            size: bytes,
            kind: Kind::Heap,
            device: self.device,
            context: self.context,
            flags: 0,
        };
        match self.space.allocate(request) {
            Ok(block) => block.address,
            Err(_) => {
                self.heap_used.fetch_sub(charged, Ordering::Relaxed);
                0
            }
        }
    }

    fn free(&self, addr: u64) -> bool {
        match self.space.free(addr, &[Kind::Heap]) {
            Ok(block) => {
                self.heap_used.fetch_sub(block.capacity, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::block::Registered;

    fn view() -> (Arc<Space>, Arc<View>) {
        let space = Space::new(1 << 26, &[1 << 24], None).expect("64 MiB of address space");
        let view = View::new(&space, 1, 0, true).expect("a shadow map");
        (space, view)
    }

    #[test]
    fn the_device_heap_has_its_limit() {
        let (space, view) = view();
        assert_eq!(view.malloc(16), 0, "no heap yet");
        view.set_heap_limit(1024);
        let a = view.malloc(700);
        assert_ne!(a, 0);
        assert_eq!(view.malloc(257), 0, "768 of 1024 in use");
        let b = view.malloc(256);
        assert_ne!(b, 0);
        assert!(space.find(a).is_none(), "the host cannot name heap memory");
        assert!(view.free(a) && !view.free(a) && view.free(b) && !view.free(b + 1));
        assert_eq!(view.heap_used(), 0);
        assert_eq!(view.malloc(u64::MAX), 0);
    }

    #[test]
    fn the_extent_of_an_allocation_is_known_until_it_is_freed() {
        let (_space, view) = view();
        view.set_heap_limit(4096);
        let a = view.malloc(700);
        let frees = view.map().epoch();
        assert_eq!(view.extent(a + 699, true), Some((a, a + 700)));
        assert_eq!(view.extent(a + 700, false), None);
        assert_eq!(view.extent(a - 1, false), None);
        assert!(view.free(a));
        assert_eq!(view.extent(a, false), None);
        assert_ne!(view.map().epoch(), frees, "a free is counted");
    }

    #[test]
    fn registered_memory_is_allowed_to_its_last_byte() {
        let (space, view) = view();
        let range = Registered {
            address: 4096,
            len: 100,
            context: 1,
            flags: 0,
            read_only: false,
        };
        space.register(range).expect("no overlap");
        assert!(view.allows(4096, 4, true) && view.allows(4192, 4, false));
        assert!(!view.allows(4193, 4, false) && !view.allows(4095, 1, false));
        let error = space
            .register(Registered {
                address: 4195,
                ..range
            })
            .expect_err("overlap");
        assert_eq!(error.code, CUresult::HOST_MEMORY_ALREADY_REGISTERED);
        space.unregister(4096).expect("registered above");
        assert!(!view.allows(4096, 4, false));
        assert_eq!(
            space.unregister(4096).expect_err("gone").code,
            CUresult::HOST_MEMORY_NOT_REGISTERED
        );
    }
}
