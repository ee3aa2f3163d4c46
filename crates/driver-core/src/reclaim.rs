//! Who holds memory that nobody uses is asked to give it back before an allocation fails.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use cuprum_driver_sys::CUdeviceptr;

use crate::context::{Context, ContextInner, lock};
use crate::parking::{PinnedAddress, Resource};
use crate::uses::PastUses;

/// Something that holds memory of a context for later, such as a pool.
///
/// An allocation anywhere in the context that runs out of memory asks every registered holder, and so does a context
/// that ends.
pub trait Reclaim: fmt::Debug + Send + Sync {
    /// Gives back everything that nobody uses. Must not allocate from the device, must not wait for device work, and
    /// must not fail.
    fn reclaim(&self, returned: &mut Returned<'_>);
}

/// Where memory goes that a [`Reclaim`] gives back. It reaches the driver once its last uses have passed.
pub struct Returned<'a> {
    context: &'a ContextInner,
    pieces: usize,
}

impl Returned<'_> {
    /// Gives back memory of `cuMemAlloc`.
    ///
    /// # Safety
    /// `address` is an allocation of [`DirectAllocator`](crate::DirectAllocator) in this context, not given back
    /// before. Nothing uses it but what `uses` tells.
    pub unsafe fn memory(&mut self, address: CUdeviceptr, uses: &PastUses) {
        self.give(Resource::Memory(address), uses);
    }

    /// Gives back page-locked memory.
    ///
    /// # Safety
    /// `pointer` is an allocation of [`PageLockedAllocator`](crate::PageLockedAllocator) in this context, not given
    /// back before. Nothing uses it but what `uses` tells.
    pub unsafe fn pinned(&mut self, pointer: NonNull<u8>, uses: &PastUses) {
        self.give(
            Resource::Pinned(PinnedAddress(pointer.as_ptr().cast())),
            uses,
        );
    }

    fn give(&mut self, resource: Resource, uses: &PastUses) {
        self.context.parking().park(self.context, resource, uses);
        self.pieces += 1;
    }
}

impl fmt::Debug for Returned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Returned")
            .field("pieces", &self.pieces)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Asks `holder` from now on to give memory back when memory of this context is short, and when the context
    /// ends. The context does not keep it alive.
    pub fn register_reclaim(&self, holder: Weak<dyn Reclaim>) {
        let mut holders = lock(self.inner().holders());
        holders.retain(|holder| holder.strong_count() > 0);
        holders.push(holder);
    }
}

thread_local! {
    /// Whether holders are being asked by this thread.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// The time of asking, which ends even if a holder panics.
struct Asking;

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.set(false);
    }
}

impl ContextInner {
    /// Asks every holder for what it does not use, and returns how many pieces were given back. No lock of the
    /// context is held meanwhile. A holder that asks in turn gets nothing.
    pub(crate) fn reclaim(&self) -> usize {
        if ASKING.replace(true) {
            return 0;
        }
        let _asking = Asking;
        let holders: Vec<Arc<dyn Reclaim>> = lock(self.holders())
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let mut returned = Returned {
            context: self,
            pieces: 0,
        };
        for holder in &holders {
            holder.reclaim(&mut returned);
        }
        returned.pieces
    }
}
