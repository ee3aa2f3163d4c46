//! Where device memory comes from.

use std::fmt;
use std::sync::Arc;

use cuprum_driver_sys::{CUdeviceptr, CUresult};

use crate::call::{Failure, call};
use crate::context::Context;
use crate::parking::Resource;
use crate::stream::Stream;
use crate::uses::{LastUses, PastUses};
use crate::{Error, Result};

/// A source of device memory.
///
/// # Safety
/// - [`allocate`](Self::allocate) answers with memory of the stream's context that nothing else uses, aligned to 256
///   bytes, which work queued on `stream` from then on may use.
/// - The memory stays valid until [`release`](Self::release) is called for it.
pub unsafe trait Allocator: fmt::Debug + Send + Sync {
    /// Allocates `bytes` bytes, more than zero, for work on `stream`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), or what the driver returns.
    fn allocate(&self, stream: &Stream, bytes: usize) -> Result<CUdeviceptr>;

    /// Takes memory back. Called from destructors: never panics, and never waits for device work.
    ///
    /// `uses` are the uses that may still be running; the memory must not be used again, or given back to the
    /// system, before they have passed: [`LastUses::order`] makes a stream wait for them.
    ///
    /// # Errors
    /// What the driver returns; a destructor can only note it for [`Context::collect`].
    ///
    /// # Safety
    /// `address` and `bytes` are those of an allocation of this allocator for `stream`, not released before, and
    /// nothing queued after this call uses it.
    unsafe fn release(
        &self,
        stream: &Stream,
        address: CUdeviceptr,
        bytes: usize,
        uses: LastUses<'_>,
    ) -> Result<()>;

    /// The part of this allocator that serves the calling thread, if it is made of parts. Buffers hold the part, so
    /// that threads do not meet at the count of one handle.
    fn local(&self) -> Option<Arc<dyn Allocator>> {
        None
    }

    /// Whether results that are computed from memory of this allocator come from it too, whatever allocator the context
    /// has: see [`DeviceView::uninit_beside`](crate::DeviceView::uninit_beside). So they do, except for the driver's own
    /// allocators, which are what is taken where nobody has chosen.
    fn serves_results(&self) -> bool {
        true
    }
}

/// `cuMemAlloc` and `cuMemFree`: memory is released once its last use has passed, at a later allocation.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectAllocator;

// SAFETY: `cuMemAlloc` gives memory of the current context, aligned to 256 bytes or more, usable at once on every
// stream, until `cuMemFree`, which parking calls after the last use.
unsafe impl Allocator for DirectAllocator {
    fn allocate(&self, stream: &Stream, bytes: usize) -> Result<CUdeviceptr> {
        with_retry(stream, bytes, 0, |address| {
            // SAFETY: `address` is a live local of `with_retry`, and the context is current.
            unsafe { call!(stream.context().driver(), cuMemAlloc_v2(address, bytes)) }
        })
    }

    unsafe fn release(
        &self,
        stream: &Stream,
        address: CUdeviceptr,
        _bytes: usize,
        uses: LastUses<'_>,
    ) -> Result<()> {
        let context = stream.context().inner();
        context
            .parking()
            .park(context, Resource::Memory(address), &uses.to_past());
        Ok(())
    }

    fn serves_results(&self) -> bool {
        false
    }
}

impl DirectAllocator {
    /// As [`allocate`](Allocator::allocate), but when memory is short nobody is asked to give some back.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), or what the driver returns.
    pub fn allocate_once(&self, stream: &Stream, bytes: usize) -> Result<CUdeviceptr> {
        let context = stream.context();
        context.inner().parking().collect(context.inner());
        context.make_current()?;
        let mut address = 0;
        // SAFETY: `address` is a live local that the call writes, and the context is current.
        unsafe { call!(context.driver(), cuMemAlloc_v2(&raw mut address, bytes)) }
            .map_err(|failure| out_of_memory(stream, bytes, failure))?;
        Ok(address)
    }

    /// Gives memory back that nobody owns: it reaches the driver once `uses` have passed.
    ///
    /// # Safety
    /// `address` is an allocation of this allocator in `context`, not given back before. Nothing uses it but what
    /// `uses` tells.
    pub unsafe fn release_after(&self, context: &Context, address: CUdeviceptr, uses: &PastUses) {
        let context = context.inner();
        context
            .parking()
            .park(context, Resource::Memory(address), uses);
    }
}

/// `cuMemAllocAsync` and `cuMemFreeAsync`: memory comes and goes in stream order, from the device's own pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamOrderedAllocator;

// SAFETY: `cuMemAllocAsync` gives memory that work queued on the stream from then on may use, aligned to 256 bytes or
// more; `cuMemFreeAsync` is queued after everything that uses it.
unsafe impl Allocator for StreamOrderedAllocator {
    fn allocate(&self, stream: &Stream, bytes: usize) -> Result<CUdeviceptr> {
        let address = with_retry(stream, bytes, 0, |address| {
            // SAFETY: `address` is a live local of `with_retry`, and the stream lives and is of the current context.
            unsafe {
                call!(
                    stream.context().driver(),
                    cuMemAllocAsync(address, bytes, stream.raw())
                )
            }
        })?;
        // Whoever uses the memory first on another stream comes after the allocation.
        stream.timeline().count();
        Ok(address)
    }

    unsafe fn release(
        &self,
        stream: &Stream,
        address: CUdeviceptr,
        _bytes: usize,
        uses: LastUses<'_>,
    ) -> Result<()> {
        uses.order(stream)?;
        stream.context().make_current()?;
        // SAFETY: the caller gives up memory of `cuMemAllocAsync`, and the stream was ordered after its last uses.
        unsafe {
            call!(
                stream.context().driver(),
                cuMemFreeAsync(address, stream.raw())
            )
        }
        .map_err(|failure| stream.raise(failure))?;
        stream.timeline().count();
        Ok(())
    }

    fn serves_results(&self) -> bool {
        false
    }
}

/// Stream-ordered where the device and the driver offer it, direct elsewhere.
pub(crate) fn default_allocator(context: &Context) -> Arc<dyn Allocator> {
    let table = context.driver().table();
    let ordered = table.cuMemAllocAsync.is_some() && table.cuMemFreeAsync.is_some();
    if ordered && context.inner().limits().memory_pools {
        Arc::new(StreamOrderedAllocator)
    } else {
        Arc::new(DirectAllocator)
    }
}

/// When memory is short: asks those who hold some for later, waits for the context's work, and releases what was
/// parked.
#[cold]
fn make_room(context: &Context) -> Result<()> {
    context.inner().reclaim();
    context.synchronize()?;
    context.make_current()
}

/// Calls the driver for something that may need memory, the context being current. When memory is short, makes room and
/// calls once more. `tell` makes the error of the last failure.
#[inline]
pub(crate) fn or_make_room<T>(
    context: &Context,
    mut attempt: impl FnMut() -> Result<T, Failure>,
    tell: impl FnOnce(Failure) -> Error,
) -> Result<T> {
    match attempt() {
        Err(failure) if failure.is(CUresult::OUT_OF_MEMORY) => {
            make_room(context)?;
            attempt()
        }
        answer => answer,
    }
    .map_err(tell)
}

/// Allocates; when memory is short, makes room and tries once more.
pub(crate) fn with_retry<T: Copy>(
    stream: &Stream,
    bytes: usize,
    mut handle: T,
    mut allocate: impl FnMut(*mut T) -> Result<(), Failure>,
) -> Result<T> {
    let context = stream.context();
    context.inner().parking().collect(context.inner());
    context.make_current()?;
    or_make_room(
        context,
        || allocate(&raw mut handle).map(|()| handle),
        |failure| out_of_memory(stream, bytes, failure),
    )
}

#[cold]
fn out_of_memory(stream: &Stream, bytes: usize, failure: Failure) -> Error {
    let error = stream.raise(failure).fact("bytes", bytes);
    match stream.context().memory_info() {
        Ok(info) => error.fact("free", info.free).fact("total", info.total),
        Err(_) => error,
    }
}
