//! Deferred release: what cannot be released without waiting is parked until its last use has passed.

use std::ffi::c_void;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuprum_driver_sys::{CUdeviceptr, CUevent, CUmodule, CUresult, flags};
use smallvec::SmallVec;

use crate::call::{Failure, call};
use crate::context::{ContextInner, lock};
use crate::driver::Driver;
use crate::tracking::LastUses;

/// Something whose release may synchronise with the device.
pub(crate) enum Resource {
    /// Memory of `cuMemAlloc`.
    Memory(CUdeviceptr),
    /// Page-locked memory of `cuMemHostAlloc`.
    Pinned(PinnedAddress),
    /// A loaded module.
    Module(CUmodule),
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
}

/// The parking place of a context, and its store of spare events.
pub(crate) struct Parking {
    items: Mutex<Vec<Parked>>,
    /// The length of `items`, so that allocations pass an empty parking place without a lock.
    count: AtomicUsize,
    spare: Mutex<Vec<CUevent>>,
}

impl Parking {
    pub(crate) fn new() -> Self {
        Self {
            items: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            spare: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Parks `resource` until all of `uses` have passed. Never waits.
    ///
    /// The caller has given up the resource: nothing can use it any more.
    pub(crate) fn park(&self, context: &ContextInner, resource: Resource, uses: &LastUses) {
        let mut events = SmallVec::new();
        if context.make_current().is_ok() {
            for stream in uses.pending() {
                // A use whose event cannot be recorded is one in a lost context: there it is over.
                if let Ok(event) = self.take_event(context.driver()) {
                    // SAFETY: the event is one of this context, unused; the stream lives, as `uses` holds it.
                    if unsafe { call!(context.driver(), cuEventRecord(event, stream.raw())) }
                        .is_ok()
                    {
                        events.push(event);
                    } else {
                        self.give_event(event);
                    }
                }
            }
        }
        self.park_after(resource, events);
    }

    /// Parks `resource` until `events`, which now belong to the parking place, have passed.
    ///
    /// Even what is idle already stays until somebody collects: its release may synchronise with other work.
    pub(crate) fn park_after(&self, resource: Resource, events: SmallVec<[CUevent; 2]>) {
        let mut items = lock(&self.items);
        items.push(Parked { resource, events });
        self.count.store(items.len(), Ordering::Relaxed);
    }

    /// Releases everything whose last use has passed.
    pub(crate) fn collect(&self, context: &ContextInner) {
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
        self.collect(context);
        // If that fails the context is gone, and its events with it.
        let _ = context.make_current();
        for event in lock(&self.spare).drain(..) {
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
        };
        context.note_release(result);
    }

    /// An event without timing, of the store or new. The context must be current.
    pub(crate) fn take_event(&self, driver: &'static Driver) -> Result<CUevent, Failure> {
        if let Some(event) = lock(&self.spare).pop() {
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

    /// Puts an event back that nobody will ask about any more; it may be recorded again at once.
    pub(crate) fn give_event(&self, event: CUevent) {
        lock(&self.spare).push(event);
    }

    pub(crate) fn give_events(&self, events: SmallVec<[CUevent; 2]>) {
        lock(&self.spare).extend(events);
    }
}

impl Parked {
    /// Whether every use has passed. In a lost context all are over: nothing runs there.
    fn is_over(&self, driver: &'static Driver) -> bool {
        self.events.iter().all(|&event| {
            // SAFETY: the event belongs to this entry and is destroyed after it.
            let answer = unsafe { call!(driver, cuEventQuery(event)) };
            !answer.is_err_and(|failure| failure.is(CUresult::NOT_READY))
        })
    }
}

impl fmt::Debug for Parking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parking")
            .field("items", &self.len())
            .finish_non_exhaustive()
    }
}
