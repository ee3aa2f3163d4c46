//! Owned device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use cuprum_driver_sys::CUdeviceptr;

use super::view::resolve;
use super::{Allocation, Allocator, DeviceCopy, DeviceView, DeviceViewMut, PinnedBuffer};
use crate::context::Context;
use crate::stream::Stream;
use crate::{Error, ErrorKind, Result};

/// Elements in device memory, owned.
///
/// A buffer has a *home stream*, on which it was allocated, on which its own operations run, and on which it is
/// released, after every use on any stream. Dropping it waits for nothing. A buffer of no elements is a normal value
/// and makes no driver calls.
///
/// ```
/// use cuprum_driver_core::{Device, DeviceBuffer};
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let mut buffer = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
/// buffer.slice_mut(1..).fill(7.0)?;
/// assert_eq!(buffer.to_vec()?, [1.0, 7.0, 7.0]);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
pub struct DeviceBuffer<T> {
    allocation: Allocation,
    /// The allocation's address once more, so that a kernel argument can point at it.
    address: CUdeviceptr,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// `len` elements with undefined contents.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], or [`ErrorKind::InvalidArgument`] if the size in bytes overflows.
    ///
    /// # Safety
    /// An element is not read, by the host or by a kernel, before it was written.
    pub unsafe fn uninit(stream: &Stream, len: usize) -> Result<Self> {
        let bytes = bytes_of::<T>(len)?;
        Ok(Self::from_allocation(Allocation::new(stream, bytes)?, len))
    }

    /// `len` elements of all zero bytes.
    ///
    /// # Errors
    /// As [`DeviceBuffer::uninit`], and what the driver returns.
    pub fn zeros(stream: &Stream, len: usize) -> Result<Self> {
        // SAFETY: every byte is written before the buffer is handed out; zero is a value of plain data.
        let mut buffer = unsafe { Self::uninit(stream, len) }?;
        buffer.view_mut().clear()?;
        Ok(buffer)
    }

    /// A copy of `elements`, which may be changed as soon as this returns.
    ///
    /// # Errors
    /// As [`DeviceBuffer::uninit`], and what the driver returns.
    pub fn from_slice(stream: &Stream, elements: &[T]) -> Result<Self> {
        // SAFETY: every element is written before the buffer is handed out.
        let mut buffer = unsafe { Self::uninit(stream, elements.len()) }?;
        buffer.copy_from_slice(elements)?;
        Ok(buffer)
    }

    /// Takes over memory that was made elsewhere. `allocator`, if given, takes it back when the buffer is dropped.
    ///
    /// # Safety
    /// - `address` is that of `len` elements of memory of the stream's context, aligned for `T`, holding values of
    ///   `T`, valid until released, and not used by others while the buffer lives.
    /// - Work on `stream` may use it from now on.
    /// - `allocator` accepts the memory.
    #[must_use]
    pub unsafe fn from_raw_parts(
        stream: &Stream,
        address: CUdeviceptr,
        len: usize,
        allocator: Option<Arc<dyn Allocator>>,
    ) -> Self {
        Self::from_allocation(
            Allocation::from_parts(stream, address, len * size_of::<T>(), allocator),
            len,
        )
    }

    pub(super) fn from_allocation(allocation: Allocation, len: usize) -> Self {
        Self {
            address: allocation.address(),
            allocation,
            len,
            elements: PhantomData,
        }
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

    /// The size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The device address of the first element; 0 if there is none.
    #[must_use]
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.allocation.context()
    }

    /// The home stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.allocation.stream()
    }

    /// All elements, shared.
    #[must_use]
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(&self.allocation, 0, self.len)
    }

    /// All elements, exclusive.
    #[must_use]
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(&self.allocation, 0, self.len)
    }

    /// The elements of `range`, shared.
    ///
    /// # Panics
    /// If `range` is not inside the buffer.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceView<'_, T> {
        let range = resolve(range, self.len);
        DeviceView::new(&self.allocation, range.start, range.len())
    }

    /// The elements of `range`, exclusive.
    ///
    /// # Panics
    /// If `range` is not inside the buffer.
    #[must_use]
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceViewMut<'_, T> {
        let range = resolve(range, self.len);
        DeviceViewMut::new(&self.allocation, range.start, range.len())
    }

    /// The elements before `middle`, and those from it on, both exclusive: two streams may work on them at once.
    ///
    /// # Panics
    /// If `middle` is beyond the end.
    #[must_use]
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> (DeviceViewMut<'_, T>, DeviceViewMut<'_, T>) {
        self.view_mut().split_at_mut(middle)
    }

    /// The elements, copied to the host. Waits for the work that writes them.
    ///
    /// # Errors
    /// What the driver returns; the failure of earlier work.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }

    /// Copies the elements to `target`. Waits for the work that writes them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; what the driver returns; the failure of earlier
    /// work.
    pub fn copy_to_slice(&self, target: &mut [T]) -> Result<()> {
        self.view().copy_to_slice(target)
    }

    /// Copies `source` into the buffer. `source` may be changed as soon as this returns.
    ///
    /// # Errors
    /// As [`DeviceBuffer::copy_to_slice`].
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        self.view_mut().copy_from_slice(source)
    }

    /// Copies from other device memory, in the order of this buffer's home stream. The host does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; [`ErrorKind::WrongContext`]; what the driver
    /// returns.
    pub fn copy_from(&mut self, source: DeviceView<'_, T>) -> Result<()> {
        self.view_mut().copy_from(source)
    }

    /// Copies from page-locked memory on `stream`. The host does not wait.
    ///
    /// # Errors
    /// As [`DeviceBuffer::copy_from`].
    pub fn copy_from_pinned(&mut self, stream: &Stream, source: &PinnedBuffer<T>) -> Result<()> {
        self.view_mut().copy_from_pinned(stream, source)
    }

    /// Copies to page-locked memory on `stream`. The host does not wait: reading `target` does.
    ///
    /// # Errors
    /// As [`DeviceBuffer::copy_from`].
    pub fn copy_to_pinned(&self, stream: &Stream, target: &mut PinnedBuffer<T>) -> Result<()> {
        self.view().copy_to_pinned(stream, target)
    }

    /// Writes `value` to every element, in the order of the home stream. The host does not wait.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.view_mut().fill(value)
    }

    /// A copy of the buffer with the same home stream, from the same allocator. The host does not wait.
    ///
    /// # Errors
    /// As [`DeviceBuffer::uninit`], and what the driver returns.
    pub fn try_clone(&self) -> Result<Self> {
        // Every element is written before the copy is handed out.
        let allocation = self.allocation.another(self.size_bytes())?;
        let mut copy = Self::from_allocation(allocation, self.len);
        copy.copy_from(self.view())?;
        Ok(copy)
    }

    /// Releases the memory in stream order.
    ///
    /// # Errors
    /// What the driver returns, which dropping would keep to itself.
    pub fn close(mut self) -> Result<()> {
        self.allocation.release()
    }

    /// How many uses are on record.
    #[cfg(test)]
    pub(crate) fn tracked_uses(&self) -> usize {
        self.allocation.tracked_uses()
    }

    #[inline]
    pub(crate) fn address_field(&self) -> &CUdeviceptr {
        &self.address
    }

    #[inline]
    pub(crate) fn allocation(&self) -> &Allocation {
        &self.allocation
    }
}

/// The size of `len` elements.
pub(super) fn bytes_of<T>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "{len} elements of {} bytes are more than any address space holds",
                    size_of::<T>()
                ),
            )
        })
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceBuffer<{}>({:#x}, {} elements, {:?})",
            std::any::type_name::<T>(),
            self.address,
            self.len,
            self.allocation.stream()
        )
    }
}
