//! What may be passed where a typed kernel declares memory.

use cuprum_driver_core::{
    ArgTable, DeviceBuffer, DeviceCopy, DeviceView, DeviceViewMut, KernelArg,
};

/// Passed for `&[T]`: memory that the kernel reads.
pub trait ReadArgument<'a, T: DeviceCopy> {
    /// The memory as a view.
    fn into_view(self) -> DeviceView<'a, T>;
}

impl<'a, T: DeviceCopy> ReadArgument<'a, T> for &'a DeviceBuffer<T> {
    fn into_view(self) -> DeviceView<'a, T> {
        self.view()
    }
}

impl<'a, T: DeviceCopy> ReadArgument<'a, T> for DeviceView<'a, T> {
    fn into_view(self) -> DeviceView<'a, T> {
        self
    }
}

/// Passed for `&mut [T]`: memory that the kernel writes, and may read.
pub trait WriteArgument<'a, T: DeviceCopy> {
    /// The memory as a view.
    fn into_view(self) -> DeviceViewMut<'a, T>;
}

impl<'a, T: DeviceCopy> WriteArgument<'a, T> for &'a mut DeviceBuffer<T> {
    fn into_view(self) -> DeviceViewMut<'a, T> {
        self.view_mut()
    }
}

impl<'a, T: DeviceCopy> WriteArgument<'a, T> for DeviceViewMut<'a, T> {
    fn into_view(self) -> DeviceViewMut<'a, T> {
        self
    }
}

/// Address and length as the kernel gets them: `cuprum::span`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RawSpan {
    address: u64,
    len: u64,
}

// SAFETY: a `repr(C)` structure of two numbers.
unsafe impl DeviceCopy for RawSpan {}

/// Memory that a kernel reads, with its length in the same argument.
#[derive(Debug)]
pub struct ReadSpan<'a, T: DeviceCopy> {
    raw: RawSpan,
    view: DeviceView<'a, T>,
}

impl<'a, T: DeviceCopy> ReadSpan<'a, T> {
    /// The whole view.
    #[must_use]
    pub fn new(view: DeviceView<'a, T>) -> Self {
        let raw = RawSpan {
            address: view.address(),
            len: view.len() as u64,
        };
        Self { raw, view }
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }
}

impl<T: DeviceCopy> KernelArg for ReadSpan<'_, T> {
    fn add<'b>(&'b self, table: &mut ArgTable<'b>) {
        table.value_reading(&self.raw, &self.view);
    }
}

/// Memory that a kernel writes, with its length in the same argument.
#[derive(Debug)]
pub struct WriteSpan<'a, T: DeviceCopy> {
    raw: RawSpan,
    view: DeviceViewMut<'a, T>,
}

impl<'a, T: DeviceCopy> WriteSpan<'a, T> {
    /// The whole view.
    #[must_use]
    pub fn new(view: DeviceViewMut<'a, T>) -> Self {
        let raw = RawSpan {
            address: view.address(),
            len: view.len() as u64,
        };
        Self { raw, view }
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }
}

impl<T: DeviceCopy> KernelArg for WriteSpan<'_, T> {
    fn add<'b>(&'b self, table: &mut ArgTable<'b>) {
        table.value_writing(&self.raw, &self.view);
    }
}
