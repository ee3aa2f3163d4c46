//! Where page-locked memory comes from.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use cuprum_driver_sys::flags;

use super::or_make_room;
use crate::call::{Failure, call};
use crate::context::Context;
use crate::parking::{PinnedAddress, Resource};
use crate::uses::PastUses;
use crate::{Error, ErrorKind, Result};

/// A source of page-locked memory.
///
/// # Safety
/// - [`allocate`](Self::allocate) answers with page-locked memory of the context that nothing else uses, aligned to
///   256 bytes, which the host may write at once.
/// - The memory stays valid until [`release`](Self::release) is called for it.
pub unsafe trait PinnedAllocator: fmt::Debug + Send + Sync {
    /// Allocates `bytes` bytes, more than zero.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], or what the driver returns.
    fn allocate(&self, context: &Context, bytes: usize) -> Result<NonNull<u8>>;

    /// Takes memory back. Called from destructors: never panics, and never waits for device work.
    ///
    /// `uses` are the copies that may still be running.
    ///
    /// # Errors
    /// What the driver returns; a destructor can only note it for [`Context::collect`].
    ///
    /// # Safety
    /// `pointer` and `bytes` are those of an allocation of this allocator in `context`, not released before, and
    /// nothing uses it but what `uses` tells.
    unsafe fn release(
        &self,
        context: &Context,
        pointer: NonNull<u8>,
        bytes: usize,
        uses: PastUses,
    ) -> Result<()>;
}

/// `cuMemHostAlloc` and `cuMemFreeHost`: memory that every context of the process may use, released once its last use
/// has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageLockedAllocator {
    write_combined: bool,
}

impl PageLockedAllocator {
    /// Memory that the host writes faster and reads very slowly (`CU_MEMHOSTALLOC_WRITECOMBINED`).
    #[must_use]
    pub fn write_combined() -> Self {
        Self {
            write_combined: true,
        }
    }

    /// As [`allocate`](PinnedAllocator::allocate), but when memory is short nobody is asked to give some back.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], or what the driver returns.
    pub fn allocate_once(&self, context: &Context, bytes: usize) -> Result<NonNull<u8>> {
        context.inner().parking().collect(context.inner());
        context.make_current()?;
        self.call(context, bytes)
            .map_err(|failure| context.raise(failure).fact("bytes", bytes))
            .and_then(not_null)
    }

    /// The driver's answer; the context is current.
    fn call(&self, context: &Context, bytes: usize) -> Result<*mut c_void, Failure> {
        let mut raw: *mut c_void = std::ptr::null_mut();
        let mut wanted = flags::CU_MEMHOSTALLOC_PORTABLE;
        if self.write_combined {
            wanted |= flags::CU_MEMHOSTALLOC_WRITECOMBINED;
        }
        // SAFETY: `raw` is a live local that the call writes, and the context is current.
        unsafe {
            call!(
                context.driver(),
                cuMemHostAlloc(&raw mut raw, bytes, wanted)
            )
        }?;
        Ok(raw)
    }
}

fn not_null(raw: *mut c_void) -> Result<NonNull<u8>> {
    NonNull::new(raw.cast::<u8>()).ok_or_else(|| {
        Error::new(
            ErrorKind::Driver,
            "the driver answered cuMemHostAlloc with a null pointer",
        )
    })
}

// SAFETY: `cuMemHostAlloc` gives pages of their own, until `cuMemFreeHost`, which parking calls after the last use.
unsafe impl PinnedAllocator for PageLockedAllocator {
    fn allocate(&self, context: &Context, bytes: usize) -> Result<NonNull<u8>> {
        context.inner().parking().collect(context.inner());
        context.make_current()?;
        let tell = |failure| context.raise(failure).fact("bytes", bytes);
        or_make_room(context, || self.call(context, bytes), tell).and_then(not_null)
    }

    unsafe fn release(
        &self,
        context: &Context,
        pointer: NonNull<u8>,
        _bytes: usize,
        uses: PastUses,
    ) -> Result<()> {
        let address = PinnedAddress(pointer.as_ptr().cast::<c_void>());
        context
            .inner()
            .parking()
            .park(context.inner(), Resource::Pinned(address), &uses);
        Ok(())
    }
}
