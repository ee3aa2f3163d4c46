//! Copies: blocking ones between host slices and the device, ordered ones on the device and with page-locked memory.

use std::ffi::c_void;

use super::{DeviceCopy, DeviceView, DeviceViewMut, PinnedBuffer, Span};
use crate::call::{Failure, call};
use crate::stream::Stream;
use crate::tracking::{Access, Waits};
use crate::{Error, ErrorKind, Result};

/// Queues one operation on `stream`, after everything that the spans conflict with, and puts it on record.
pub(crate) fn queue(
    stream: &Stream,
    spans: &[Option<Span<'_>>],
    operation: impl FnOnce() -> Result<(), Failure>,
) -> Result<()> {
    let mut waits = Waits::default();
    for span in spans.iter().flatten() {
        span.order(stream, &mut waits)?;
    }
    waits.apply(stream)?;
    stream.context().make_current()?;
    operation().map_err(|failure| stream.raise(failure))?;
    stream.inner().count();
    for span in spans.iter().flatten() {
        span.note(stream);
    }
    Ok(())
}

pub(crate) fn check_lengths(source: usize, target: usize) -> Result<()> {
    if source == target {
        Ok(())
    } else {
        Err(lengths_differ(source, target))
    }
}

#[cold]
fn lengths_differ(source: usize, target: usize) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("cannot copy {source} elements to {target}: the lengths must be equal"),
    )
}

/// Waits until `stream` no longer touches host memory of a blocking copy.
///
/// If the wait fails the context is lost, and nothing runs there any more; should it be sound after all, the second
/// wait is the one that counts.
pub(crate) fn settle(stream: &Stream) -> Result<()> {
    let waited = stream.synchronize();
    if waited.is_err() && !stream.context().is_lost() {
        let _ = stream.context().synchronize();
    }
    waited
}

impl<T: DeviceCopy> DeviceView<'_, T> {
    /// The elements, copied to the host. Waits for the work that writes them.
    ///
    /// # Errors
    /// What the driver returns; the failure of earlier work.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = Vec::with_capacity(self.len());
        let host = elements.as_mut_ptr();
        // SAFETY: the vector has room for `len` elements, and lives until the copy has finished.
        unsafe { self.read_to(self.stream(), host) }?;
        settle_if(self.len(), self.stream())?;
        // SAFETY: the copy has written `len` elements.
        unsafe { elements.set_len(self.len()) };
        Ok(elements)
    }

    /// Copies the elements to `target`. Waits for the work that writes them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; what the driver returns; the failure of earlier
    /// work.
    pub fn copy_to_slice(&self, target: &mut [T]) -> Result<()> {
        check_lengths(self.len(), target.len())?;
        // SAFETY: `target` has room for `len` elements, and is borrowed until the copy has finished.
        unsafe { self.read_to(self.stream(), target.as_mut_ptr()) }?;
        settle_if(self.len(), self.stream())
    }

    /// Copies to page-locked memory on `stream`. The host does not wait: reading `target` does.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; [`ErrorKind::WrongContext`]; what the driver
    /// returns.
    pub fn copy_to_pinned(&self, stream: &Stream, target: &mut PinnedBuffer<T>) -> Result<()> {
        check_lengths(self.len(), target.len())?;
        if self.is_empty() {
            return Ok(());
        }
        target.transfer(stream, Access::Write, |host| {
            // SAFETY: the page-locked memory has room for `len` elements, and its in-flight record keeps it alive
            // and unread until the copy has finished.
            unsafe { self.read_to(stream, host) }
        })
    }

    /// Queues the copy of all elements to `host` on `stream`.
    ///
    /// # Safety
    /// `host` has room for the elements, and is neither read nor written nor released by others until the copy has
    /// finished.
    pub(crate) unsafe fn read_to(&self, stream: &Stream, host: *mut T) -> Result<()> {
        if self.size_bytes() == 0 {
            return Ok(());
        }
        queue(stream, &[self.span()], || {
            // SAFETY: the view borrows that many bytes of device memory, which its record keeps allocated in stream
            // order; the host side is the caller's promise. The stream is of the current context.
            unsafe {
                call!(
                    stream.context().driver(),
                    cuMemcpyDtoHAsync_v2(
                        host.cast::<c_void>(),
                        self.address(),
                        self.size_bytes(),
                        stream.raw()
                    )
                )
            }
        })
    }
}

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// The elements, copied to the host. Waits for the work that writes them.
    ///
    /// # Errors
    /// As [`DeviceView::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_view().to_vec()
    }

    /// Copies `source` to the device. `source` may be changed as soon as this returns.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; what the driver returns; the failure of earlier
    /// work.
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        check_lengths(source.len(), self.len())?;
        // SAFETY: `source` holds `len` elements and is borrowed until the copy has finished.
        unsafe { self.write_from(self.stream(), source.as_ptr()) }?;
        settle_if(self.len(), self.stream())
    }

    /// Copies from other device memory, in the order of this memory's home stream. The host does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; [`ErrorKind::WrongContext`]; what the driver
    /// returns.
    pub fn copy_from(&mut self, source: DeviceView<'_, T>) -> Result<()> {
        let stream = self.stream();
        self.copy_from_on(stream, source)
    }

    /// Copies from other device memory on `stream`. The host does not wait.
    ///
    /// # Errors
    /// As [`DeviceViewMut::copy_from`].
    pub fn copy_from_on(&mut self, stream: &Stream, source: DeviceView<'_, T>) -> Result<()> {
        check_lengths(source.len(), self.len())?;
        if self.size_bytes() == 0 {
            return Ok(());
        }
        queue(stream, &[source.span(), self.span()], || {
            // SAFETY: both views borrow that many bytes of device memory, which their records keep allocated in
            // stream order; a shared and an exclusive borrow do not overlap.
            unsafe {
                call!(
                    stream.context().driver(),
                    cuMemcpyDtoDAsync_v2(
                        self.address(),
                        source.address(),
                        self.size_bytes(),
                        stream.raw()
                    )
                )
            }
        })
    }

    /// Copies from page-locked memory on `stream`. The host does not wait: writing to `source` does.
    ///
    /// # Errors
    /// As [`DeviceViewMut::copy_from`].
    pub fn copy_from_pinned(&mut self, stream: &Stream, source: &PinnedBuffer<T>) -> Result<()> {
        check_lengths(source.len(), self.len())?;
        if self.is_empty() {
            return Ok(());
        }
        source.transfer(stream, Access::Read, |host| {
            // SAFETY: the page-locked memory holds `len` elements, and its in-flight record keeps it alive and
            // unwritten until the copy has finished.
            unsafe { self.write_from(stream, host) }
        })
    }

    /// Queues the copy of all elements from `host` on `stream`.
    ///
    /// # Safety
    /// `host` holds the elements, and is neither written nor released until the copy has finished.
    pub(crate) unsafe fn write_from(&mut self, stream: &Stream, host: *const T) -> Result<()> {
        if self.size_bytes() == 0 {
            return Ok(());
        }
        queue(stream, &[self.span()], || {
            // SAFETY: the view borrows that many bytes of device memory exclusively, which its record keeps
            // allocated in stream order; the host side is the caller's promise.
            unsafe {
                call!(
                    stream.context().driver(),
                    cuMemcpyHtoDAsync_v2(
                        self.address(),
                        host.cast::<c_void>(),
                        self.size_bytes(),
                        stream.raw()
                    )
                )
            }
        })
    }
}

/// Waits, unless there was nothing to copy.
fn settle_if(len: usize, stream: &Stream) -> Result<()> {
    if len == 0 { Ok(()) } else { settle(stream) }
}
