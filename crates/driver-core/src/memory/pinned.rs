//! Page-locked host memory, which devices copy to and from while the host goes on.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use cuprum_driver_sys::{CUevent, CUresult};
use smallvec::SmallVec;

use super::{DeviceCopy, PageLockedAllocator, PinnedAllocator};
use crate::call::call;
use crate::context::{Context, lock};
use crate::parking::{PinnedAddress, Resource};
use crate::stream::Stream;
use crate::timeline::Timeline;
use crate::tracking::Access;
use crate::uses::PastUses;
use crate::{Error, ErrorKind, Result};

/// Elements in page-locked host memory, owned.
///
/// Copies between it and device memory are asynchronous: they return when queued. The buffer itself carries what is
/// in flight, as events of its readers and writers, so nothing depends on a guard being dropped: the host reads it
/// through [`as_slice`](Self::as_slice), which waits for the copies that write it, and writes it through
/// [`as_mut_slice`](Self::as_mut_slice), which waits for all. Dropping it waits for nothing; the memory is
/// released when the last copy has passed.
///
/// ```
/// use cuprum_driver_core::{Device, DeviceBuffer, PinnedBuffer};
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let mut device = DeviceBuffer::<u32>::zeros(&stream, 3)?;
/// let mut host = PinnedBuffer::from_slice(&context, &[1, 2, 3])?;
/// device.copy_from_pinned(&stream, &host)?; // queued
/// host.as_mut_slice()?.fill(0); // waits for the copy
/// device.copy_to_pinned(&stream, &mut host)?; // queued
/// assert_eq!(host.as_slice()?, [1, 2, 3]); // waits for the copy
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
pub struct PinnedBuffer<T> {
    context: Context,
    pointer: NonNull<T>,
    len: usize,
    /// Who takes the memory back; parking, if nobody is named.
    allocator: Option<Arc<dyn PinnedAllocator>>,
    in_flight: Mutex<SmallVec<[InFlight; 2]>>,
    elements: PhantomData<T>,
}

/// A copy that may still be running.
struct InFlight {
    event: CUevent,
    stream: Timeline,
    /// The stream's position after the copy.
    position: u64,
    access: Access,
}

// SAFETY: the buffer owns its memory, elements are plain data, and the driver takes page-locked addresses and events
// from any thread.
unsafe impl<T: DeviceCopy + Send> Send for PinnedBuffer<T> {}
// SAFETY: through a shared reference the elements are only read, and the in-flight record is behind a lock.
unsafe impl<T: DeviceCopy + Sync> Sync for PinnedBuffer<T> {}

impl<T: DeviceCopy> PinnedBuffer<T> {
    /// `len` elements of all zero bytes.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`]: page-locked memory is scarcer than other memory. [`ErrorKind::InvalidArgument`]
    /// if the size in bytes overflows.
    pub fn zeros(context: &Context, len: usize) -> Result<Self> {
        let buffer = Self::allocate(context, len)?;
        // SAFETY: the memory holds `len` elements and nobody else knows it; zero is a value of plain data.
        unsafe { buffer.pointer.as_ptr().write_bytes(0, len) };
        Ok(buffer)
    }

    /// A copy of `elements`.
    ///
    /// # Errors
    /// As [`PinnedBuffer::zeros`].
    pub fn from_slice(context: &Context, elements: &[T]) -> Result<Self> {
        let buffer = Self::allocate(context, elements.len())?;
        // SAFETY: the memory holds that many elements, is new, and so does not overlap `elements`.
        unsafe {
            buffer
                .pointer
                .as_ptr()
                .copy_from_nonoverlapping(elements.as_ptr(), elements.len());
        }
        Ok(buffer)
    }

    fn allocate(context: &Context, len: usize) -> Result<Self> {
        // What every driver aligns page-locked memory to at least.
        const { assert!(align_of::<T>() <= 256) };
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "{len} elements of {} bytes are more than any address space holds",
                        size_of::<T>()
                    ),
                )
            })?;
        let mut pointer = NonNull::dangling();
        if bytes > 0 {
            pointer = PageLockedAllocator::default()
                .allocate(context, bytes)?
                .cast();
        }
        Ok(Self::new(context, pointer, len, None))
    }

    fn new(
        context: &Context,
        pointer: NonNull<T>,
        len: usize,
        allocator: Option<Arc<dyn PinnedAllocator>>,
    ) -> Self {
        Self {
            context: context.clone(),
            pointer,
            len,
            allocator,
            in_flight: Mutex::default(),
            elements: PhantomData,
        }
    }

    /// Takes over page-locked memory that `allocator` takes back in the end, after the copies that use it.
    ///
    /// # Safety
    /// - `pointer` is that of `len` elements, at least one byte in all, of page-locked memory of `context`, aligned for
    ///   `T`, holding values of `T`, valid until released, and not used by others while the buffer lives.
    /// - `allocator` accepts it.
    #[must_use]
    pub unsafe fn from_raw_parts(
        context: &Context,
        pointer: NonNull<T>,
        len: usize,
        allocator: Arc<dyn PinnedAllocator>,
    ) -> Self {
        Self::new(context, pointer, len, Some(allocator))
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The elements, after the copies that write them have finished.
    ///
    /// # Errors
    /// The failure of earlier work; the contents are then undefined, but valid.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.wait(Access::Read)?;
        // SAFETY: the memory holds `len` elements; no copy that writes it is in flight, and none can be queued
        // while it is borrowed, because that needs an exclusive borrow.
        Ok(unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) })
    }

    /// The elements to write, after every copy has finished.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.wait(Access::Write)?;
        // SAFETY: the memory holds `len` elements; no copy is in flight, and none can be queued while it is borrowed
        // exclusively.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) })
    }

    /// As [`PinnedBuffer::as_slice`], without waiting.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if a copy still writes the elements.
    pub fn try_as_slice(&self) -> Result<&[T]> {
        if self.is_busy(Access::Read) {
            Err(busy())
        } else {
            self.as_slice()
        }
    }

    /// As [`PinnedBuffer::as_mut_slice`], without waiting.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if a copy still uses the elements.
    pub fn try_as_mut_slice(&mut self) -> Result<&mut [T]> {
        if self.is_busy(Access::Write) {
            Err(busy())
        } else {
            self.as_mut_slice()
        }
    }

    /// Waits until no copy is in flight, and releases the memory.
    ///
    /// # Errors
    /// The failure of earlier work, and of the release, which dropping would keep to itself.
    pub fn close(mut self) -> Result<()> {
        self.wait(Access::Write)?;
        if self.len * size_of::<T>() == 0 {
            return Ok(());
        }
        let pointer = std::mem::replace(&mut self.pointer, NonNull::dangling());
        let bytes = std::mem::take(&mut self.len) * size_of::<T>();
        if let Some(allocator) = self.allocator.take() {
            let uses = PastUses::default();
            // SAFETY: the memory came from this allocator with this size, nothing uses it, and the destructor finds
            // a length of 0.
            return unsafe { allocator.release(&self.context, pointer.cast(), bytes, uses) };
        }
        // SAFETY: the memory came from `cuMemHostAlloc`, nothing uses it, and the destructor finds a length of 0.
        unsafe {
            call!(
                self.context.driver(),
                cuMemFreeHost(pointer.as_ptr().cast::<c_void>())
            )
        }
        .map_err(|failure| self.context.raise(failure))
    }

    /// Queues a copy that uses this memory: orders it after earlier ones on other streams and puts it on record.
    pub(crate) fn transfer(
        &self,
        stream: &Stream,
        access: Access,
        copy: impl FnOnce(*mut T) -> Result<()>,
    ) -> Result<()> {
        stream.check_context(&self.context, "the page-locked memory")?;
        let driver = self.context.driver();
        self.context.make_current()?;
        let mut in_flight = lock(&self.in_flight);
        for earlier in in_flight
            .iter()
            .filter(|earlier| earlier.stream != *stream.timeline() && earlier.conflicts(access))
        {
            // SAFETY: the event belongs to this record, and the stream lives.
            unsafe { call!(driver, cuStreamWaitEvent(stream.raw(), earlier.event, 0)) }
                .map_err(|failure| stream.raise(failure))?;
        }
        // The event is taken first: once the copy is queued nothing may fail without a record of it.
        let event = self
            .context
            .inner()
            .parking()
            .take_event(driver)
            .map_err(|failure| stream.raise(failure))?;
        let queued = copy(self.pointer.as_ptr());
        if let Err(error) = queued {
            self.context.inner().parking().give_event(event);
            return Err(error);
        }
        // SAFETY: the event is unused and of this context; the stream lives.
        if let Err(failure) = unsafe { call!(driver, cuEventRecord(event, stream.raw())) } {
            self.context.inner().parking().give_event(event);
            // The copy is queued and has no mark: wait for it instead.
            super::copy::settle(stream)?;
            return Err(stream.raise(failure));
        }
        // The earlier copies on this stream come before this one, so its event stands for them too.
        let parking = self.context.inner().parking();
        in_flight.retain(|earlier| {
            // A write came after all of them; a read stands for the earlier reads of its stream.
            let covered = access == Access::Write
                || earlier.stream == *stream.timeline() && earlier.access == access;
            if covered {
                parking.give_event(earlier.event);
            }
            !covered
        });
        in_flight.push(InFlight {
            event,
            stream: stream.timeline().clone(),
            position: stream.inner().submitted(),
            access,
        });
        Ok(())
    }

    /// Waits for the copies that conflict with a host access.
    fn wait(&self, access: Access) -> Result<()> {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.is_empty() {
            return Ok(());
        }
        self.context.make_current()?;
        let mut outcome = Ok(());
        in_flight.retain(|earlier| {
            if !earlier.conflicts(access) {
                return true;
            }
            // SAFETY: the event belongs to this record.
            let waited = unsafe { call!(self.context.driver(), cuEventSynchronize(earlier.event)) };
            if let Err(failure) = waited {
                outcome = Err(self.context.raise(failure));
            }
            self.context.inner().parking().give_event(earlier.event);
            false
        });
        outcome
    }

    fn is_busy(&self, access: Access) -> bool {
        let in_flight = lock(&self.in_flight);
        in_flight
            .iter()
            .filter(|earlier| earlier.conflicts(access))
            .any(|earlier| {
                // SAFETY: the event belongs to this record.
                let answer = unsafe { call!(self.context.driver(), cuEventQuery(earlier.event)) };
                answer.is_err_and(|failure| failure.is(CUresult::NOT_READY))
            })
    }
}

impl InFlight {
    /// Whether an access of the given kind must come after this copy.
    fn conflicts(&self, access: Access) -> bool {
        access == Access::Write || self.access == Access::Write
    }
}

#[cold]
fn busy() -> Error {
    Error::new(
        ErrorKind::Busy,
        "a copy of the page-locked memory is still running",
    )
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        let in_flight = std::mem::take(&mut *lock(&self.in_flight));
        let mut uses = PastUses::default();
        if self.allocator.is_some() {
            for copy in &in_flight {
                uses.add(&copy.stream, copy.position);
            }
        }
        let events = in_flight.into_iter().map(|copy| copy.event).collect();
        let context = self.context.inner();
        let bytes = self.len * size_of::<T>();
        if bytes == 0 {
            context.parking().give_events(events);
        } else if let Some(allocator) = self.allocator.take() {
            context.parking().give_events(events);
            // SAFETY: the memory came from this allocator with this size and is released once; nothing uses it but
            // the copies on record.
            let released =
                unsafe { allocator.release(&self.context, self.pointer.cast(), bytes, uses) };
            if let Err(error) = released {
                context.note_release_error(error);
            }
        } else {
            let address = PinnedAddress(self.pointer.as_ptr().cast::<c_void>());
            context
                .parking()
                .park_after(Resource::Pinned(address), events);
        }
    }
}

impl<T> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "PinnedBuffer<{}>({:p}, {} elements)",
            std::any::type_name::<T>(),
            self.pointer,
            self.len
        )
    }
}
