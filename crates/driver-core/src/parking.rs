//! Deferred release: what cannot be released without waiting is parked until its last use has passed.

use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use cuprum_driver_sys::{
    CUarray, CUdeviceptr, CUevent, CUmipmappedArray, CUmodule, CUresult, CUsurfObject, CUtexObject,
    flags,
};
use smallvec::SmallVec;

use crate::call::{Failure, call};
use crate::context::{ContextInner, lock};
use crate::driver::Driver;
use crate::timeline::{Mark, Timeline};
use crate::uses::PastUses;

/// Something whose release may synchronise with the device.
pub(crate) enum Resource {
    /// Memory of `cuMemAlloc`.
    Memory(CUdeviceptr),
    /// Page-locked memory of `cuMemHostAlloc`.
    Pinned(PinnedAddress),
    /// A loaded module.
    Module(CUmodule),
    /// An array.
    Array(CUarray),
    /// A mipmapped array.
    Mipmap(CUmipmappedArray),
    /// A texture object.
    Texture(CUtexObject),
    /// A surface object.
    Surface(CUsurfObject),
}

/// The address of page-locked memory that a [`Resource`] owns.
pub(crate) struct PinnedAddress(pub(crate) *mut c_void);

// SAFETY: the address is owned by the resource and handed to the driver only, which takes it from any thread.
unsafe impl Send for PinnedAddress {}
// SAFETY: as for `Send`; nothing is read through a shared reference.
unsafe impl Sync for PinnedAddress {}

/// A resource and the events of its last uses.
pub(crate) struct Parked {
    resource: Resource,
    events: SmallVec<[CUevent; 2]>,
    /// Streams that ended before the resource was parked.
    ended: Vec<Timeline>,
}

/// Spare events of a context. Counted, because timelines of streams give events back when the context may be gone.
pub(crate) struct EventStore(Mutex<Vec<CUevent>>);

/// The parking place of a context, and its store of spare events.
pub(crate) struct Parking {
    items: Mutex<Vec<Parked>>,
    /// The length of `items`, so that allocations pass an empty parking place without a lock.
    count: AtomicUsize,
    /// Held while what was parked goes to the driver, so that who is short of memory can wait until it is there.
    releasing: Mutex<()>,
    events: Arc<EventStore>,
}

impl Parking {
    pub(crate) fn new() -> Self {
        Self {
            items: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            releasing: Mutex::new(()),
            events: Arc::new(EventStore(Mutex::new(Vec::new()))),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Parks `resource` until all of `uses` have passed. Never waits.
    ///
    /// The caller has given up the resource: nothing can use it any more.
    pub(crate) fn park(&self, context: &ContextInner, resource: Resource, uses: &PastUses) {
        let mut parked = Parked {
            resource,
            events: SmallVec::new(),
            ended: Vec::new(),
        };
        if context.make_current().is_ok() {
            // A use that cannot be marked is one in a lost context: there it is over.
            for mark in uses.marks() {
                match mark {
                    Mark::Event(event) => parked.events.push(event),
                    Mark::End(timeline) => parked.ended.push(timeline),
                }
            }
        }
        self.push(parked);
    }

    /// Parks `resource` until `events`, which now belong to the parking place, have passed.
    ///
    /// Even what is idle already stays until somebody collects: its release may synchronise with other work.
    pub(crate) fn park_after(&self, resource: Resource, events: SmallVec<[CUevent; 2]>) {
        self.push(Parked {
            resource,
            events,
            ended: Vec::new(),
        });
    }

    fn push(&self, parked: Parked) {
        let mut items = lock(&self.items);
        items.push(parked);
        self.count.store(items.len(), Ordering::Relaxed);
    }

    /// Releases everything whose last use has passed, unless another thread does so at the moment.
    pub(crate) fn collect(&self, context: &ContextInner) {
        if self.len() == 0 {
            return;
        }
        let guard = match self.releasing.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        self.collect_holding(context, &guard);
    }

    /// Releases everything whose last use has passed. When it returns, the driver has also what other threads were
    /// releasing.
    pub(crate) fn collect_all(&self, context: &ContextInner) {
        let guard = lock(&self.releasing);
        self.collect_holding(context, &guard);
    }

    fn collect_holding(&self, context: &ContextInner, _releasing: &MutexGuard<'_, ()>) {
        if self.len() == 0 || context.make_current().is_err() {
            return;
        }
        let over = {
            let mut items = lock(&self.items);
            let (over, pending) = std::mem::take(&mut *items)
                .into_iter()
                .partition::<Vec<_>, _>(|parked| parked.is_over(context.driver()));
            *items = pending;
            self.count.store(items.len(), Ordering::Relaxed);
            over
        };
        for parked in over {
            self.release(context, parked);
        }
    }

    /// At the end of a context: releases what is over and returns the rest. Spare events go too.
    pub(crate) fn drain(&self, context: &ContextInner) -> Vec<Parked> {
        self.collect_all(context);
        // If that fails the context is gone, and its events with it.
        let _ = context.make_current();
        for event in lock(&self.events.0).drain(..) {
            // SAFETY: spare events belong to this parking place, and nobody waits for them.
            let _ = unsafe { call!(context.driver(), cuEventDestroy_v2(event)) };
        }
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.items))
    }

    pub(crate) fn adopt(&self, parked: Vec<Parked>) {
        let mut items = lock(&self.items);
        items.extend(parked);
        self.count.store(items.len(), Ordering::Relaxed);
    }

    fn release(&self, context: &ContextInner, parked: Parked) {
        let driver = context.driver();
        for event in parked.events {
            self.give_event(event);
        }
        let result = match parked.resource {
            // SAFETY: the address is of `cuMemAlloc` in this context, which is current; its owner gave it up and
            // its last use has passed.
            Resource::Memory(address) => unsafe { call!(driver, cuMemFree_v2(address)) },
            // SAFETY: as above, for `cuMemHostAlloc`.
            Resource::Pinned(address) => unsafe { call!(driver, cuMemFreeHost(address.0)) },
            // SAFETY: as above, for a loaded module: no function of it is left, because functions hold the module.
            Resource::Module(module) => unsafe { call!(driver, cuModuleUnload(module)) },
            // SAFETY: as above, for an array of `cuArray3DCreate`.
            Resource::Array(array) => unsafe { call!(driver, cuArrayDestroy(array)) },
            // SAFETY: as above; its levels are gone, because they hold it.
            Resource::Mipmap(array) => unsafe { call!(driver, cuMipmappedArrayDestroy(array)) },
            // SAFETY: as above, for a texture object.
            Resource::Texture(texture) => unsafe { call!(driver, cuTexObjectDestroy(texture)) },
            // SAFETY: as above, for a surface object.
            Resource::Surface(surface) => unsafe { call!(driver, cuSurfObjectDestroy(surface)) },
        };
        context.note_release(result);
    }

    /// The store of spare events.
    pub(crate) fn events(&self) -> Arc<EventStore> {
        Arc::clone(&self.events)
    }

    /// An event without timing, of the store or new. The context must be current.
    pub(crate) fn take_event(&self, driver: &'static Driver) -> Result<CUevent, Failure> {
        self.events.take(driver)
    }

    /// Puts an event back that nobody will ask about any more; it may be recorded again at once.
    pub(crate) fn give_event(&self, event: CUevent) {
        self.events.give(event);
    }

    pub(crate) fn give_events(&self, events: SmallVec<[CUevent; 2]>) {
        lock(&self.events.0).extend(events);
    }
}

impl EventStore {
    /// An event without timing, of the store or new. The context must be current.
    pub(crate) fn take(&self, driver: &'static Driver) -> Result<CUevent, Failure> {
        if let Some(event) = lock(&self.0).pop() {
            return Ok(event);
        }
        let mut event = CUevent::NULL;
        // SAFETY: `event` is a live local that the call writes.
        unsafe {
            call!(
                driver,
                cuEventCreate(&raw mut event, flags::CU_EVENT_DISABLE_TIMING)
            )
        }?;
        Ok(event)
    }

    /// Puts an event back that nobody will ask about any more; it may be recorded again at once. After the context's
    /// end that is in vain, and the event has gone with it.
    pub(crate) fn give(&self, event: CUevent) {
        lock(&self.0).push(event);
    }
}

impl Parked {
    /// Whether every use has passed. In a lost context all are over: nothing runs there.
    fn is_over(&self, driver: &'static Driver) -> bool {
        self.events.iter().all(|&event| {
            // SAFETY: the event belongs to this entry and is destroyed after it.
            let answer = unsafe { call!(driver, cuEventQuery(event)) };
            !answer.is_err_and(|failure| failure.is(CUresult::NOT_READY))
        }) && self.ended.iter().all(Timeline::is_over)
    }
}

impl fmt::Debug for Parking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parking")
            .field("items", &self.len())
            .finish_non_exhaustive()
    }
}
