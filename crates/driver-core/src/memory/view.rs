//! Borrowed parts of device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

use cuprum_driver_sys::CUdeviceptr;

use super::buffer::bytes_of;
use super::{Allocation, DeviceBuffer, DeviceCopy, Span};
use crate::Result;
use crate::context::Context;
use crate::stream::Stream;
use crate::tracking::Access;

/// A shared borrow of elements in device memory, contiguous.
pub struct DeviceView<'a, T> {
    address: CUdeviceptr,
    len: usize,
    allocation: &'a Allocation,
    tracked: bool,
    elements: PhantomData<&'a [T]>,
}

/// An exclusive borrow of elements in device memory, contiguous.
pub struct DeviceViewMut<'a, T> {
    address: CUdeviceptr,
    len: usize,
    allocation: &'a Allocation,
    tracked: bool,
    elements: PhantomData<&'a mut [T]>,
}

/// The ends of `range` in `len` elements.
///
/// Panics unless it lies inside, as slicing does.
#[track_caller]
pub(crate) fn resolve(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start
            .checked_add(1)
            .expect("the start of the range overflows"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1).expect("the end of the range overflows"),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(
        start <= end && end <= len,
        "range {start}..{end} is out of bounds of {len} elements"
    );
    start..end
}

macro_rules! view_methods {
    () => {
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

        /// The device address of the first element; 0 in an empty buffer.
        #[must_use]
        pub fn address(&self) -> CUdeviceptr {
            self.address
        }

        /// The context of the memory.
        #[must_use]
        pub fn context(&self) -> &'a Context {
            self.allocation.context()
        }

        /// The home stream of the memory: where copies without a stream of their own run.
        #[must_use]
        pub fn stream(&self) -> &'a Stream {
            self.allocation.stream()
        }

        fn bytes(&self) -> Range<usize> {
            let start = usize::try_from(self.address - self.allocation.address())
                .expect("addresses fit usize");
            start..start + self.len * size_of::<T>()
        }

        #[inline]
        fn span_as(&self, access: Access) -> Option<Span<'a>> {
            (self.tracked && self.len > 0).then(|| Span {
                allocation: self.allocation,
                bytes: self.bytes(),
                access,
            })
        }
    };
}

impl<'a, T: DeviceCopy> DeviceView<'a, T> {
    view_methods!();

    /// `len` elements of any type for a result that is computed from these, on `stream`, with undefined contents.
    ///
    /// They come from where the memory of this view came, so that what is made from arrays of a pool stays in the pool;
    /// if that is the driver itself, from the context's allocator.
    ///
    /// # Errors
    /// As [`DeviceBuffer::uninit`], and what the allocator answers for a stream of another context.
    ///
    /// # Safety
    /// An element is not read, by the host or by a kernel, before it was written.
    pub unsafe fn uninit_beside<R: DeviceCopy>(
        &self,
        stream: &Stream,
        len: usize,
    ) -> Result<DeviceBuffer<R>> {
        let allocation = self.allocation.beside(stream, bytes_of::<R>(len)?)?;
        Ok(DeviceBuffer::from_allocation(allocation, len))
    }

    pub(crate) fn new(allocation: &'a Allocation, first: usize, len: usize) -> Self {
        let address = allocation.address() + (first * size_of::<T>()) as u64;
        Self {
            address,
            len,
            allocation,
            tracked: true,
            elements: PhantomData,
        }
    }

    /// The elements of `range`.
    ///
    /// # Panics
    /// If `range` is not inside the view.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let range = resolve(range, self.len);
        Self {
            address: self.address + (range.start * size_of::<T>()) as u64,
            len: range.len(),
            ..*self
        }
    }

    /// The elements before `middle`, and those from it on.
    ///
    /// # Panics
    /// If `middle` is beyond the end.
    #[must_use]
    #[track_caller]
    pub fn split_at(&self, middle: usize) -> (Self, Self) {
        (self.slice(..middle), self.slice(middle..))
    }

    /// The same view, whose uses are neither ordered nor recorded.
    ///
    /// # Safety
    /// Until the memory is dropped, the caller orders every use through the result against uses on other streams,
    /// and the memory is not dropped before those uses have passed.
    #[must_use]
    pub unsafe fn untracked(self) -> Self {
        Self {
            tracked: false,
            ..self
        }
    }

    #[inline]
    pub(crate) fn span(&self) -> Option<Span<'_>> {
        self.span_as(Access::Read)
    }

    pub(crate) fn into_span(self) -> Option<Span<'a>> {
        self.span_as(Access::Read)
    }

    #[inline]
    pub(crate) fn address_field(&self) -> &CUdeviceptr {
        &self.address
    }
}

impl<'a, T: DeviceCopy> DeviceViewMut<'a, T> {
    view_methods!();

    /// The caller borrows the elements exclusively for `'a`.
    pub(crate) fn new(allocation: &'a Allocation, first: usize, len: usize) -> Self {
        let address = allocation.address() + (first * size_of::<T>()) as u64;
        Self {
            address,
            len,
            allocation,
            tracked: true,
            elements: PhantomData,
        }
    }

    /// A shared view of the same elements, while this one is borrowed.
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView {
            address: self.address,
            len: self.len,
            allocation: self.allocation,
            tracked: self.tracked,
            elements: PhantomData,
        }
    }

    /// An exclusive view of the same elements, while this one is borrowed: to pass a view on and keep it.
    #[must_use]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut {
            elements: PhantomData,
            ..*self
        }
    }

    /// The elements of `range`, while this view is borrowed.
    ///
    /// # Panics
    /// If `range` is not inside the view.
    #[must_use]
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceViewMut<'_, T> {
        self.reborrow().into_slice(range)
    }

    /// The elements of `range`, for as long as this view lasts.
    ///
    /// # Panics
    /// If `range` is not inside the view.
    #[must_use]
    #[track_caller]
    pub fn into_slice(self, range: impl RangeBounds<usize>) -> Self {
        let range = resolve(range, self.len);
        Self {
            address: self.address + (range.start * size_of::<T>()) as u64,
            len: range.len(),
            ..self
        }
    }

    /// The elements before `middle`, and those from it on, both exclusive.
    ///
    /// # Panics
    /// If `middle` is beyond the end.
    #[must_use]
    #[track_caller]
    pub fn split_at_mut(self, middle: usize) -> (Self, Self) {
        let (first, second) = (resolve(..middle, self.len), resolve(middle.., self.len));
        let part = |range: Range<usize>| Self {
            address: self.address + (range.start * size_of::<T>()) as u64,
            len: range.len(),
            ..self
        };
        (part(first), part(second))
    }

    /// The same view, whose uses are neither ordered nor recorded.
    ///
    /// # Safety
    /// As for [`DeviceView::untracked`].
    #[must_use]
    pub unsafe fn untracked(self) -> Self {
        Self {
            tracked: false,
            ..self
        }
    }

    #[inline]
    pub(crate) fn span(&self) -> Option<Span<'_>> {
        self.span_as(Access::Write)
    }

    pub(crate) fn into_span(self) -> Option<Span<'a>> {
        self.span_as(Access::Write)
    }

    #[inline]
    pub(crate) fn address_field(&self) -> &CUdeviceptr {
        &self.address
    }
}

impl<T> Clone for DeviceView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceView<'_, T> {}

impl<'a, T: DeviceCopy> From<DeviceViewMut<'a, T>> for DeviceView<'a, T> {
    fn from(view: DeviceViewMut<'a, T>) -> Self {
        Self {
            address: view.address,
            len: view.len,
            allocation: view.allocation,
            tracked: view.tracked,
            elements: PhantomData,
        }
    }
}

impl<T> fmt::Debug for DeviceView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceView<{}>({:#x}, {} elements)",
            std::any::type_name::<T>(),
            self.address,
            self.len
        )
    }
}

impl<T> fmt::Debug for DeviceViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceViewMut<{}>({:#x}, {} elements)",
            std::any::type_name::<T>(),
            self.address,
            self.len
        )
    }
}
