//! [`GpuArray`]: an array that owns its elements.

use cuprum_driver_core::{Context, DeviceBuffer, Stream};

use crate::element::{Element, Float, Signed};
use crate::error::{Error, Result};
use crate::expr::{Expr, IntoExpr, Linspace, Operand as _};
use crate::kernel::program::Program;
use crate::shape::{Layout, Shape};
use crate::slice::SliceArg;
use crate::trusted;
use crate::view::{GpuView, GpuViewMut, expect, layout_methods};

/// An array on a device: elements of type `T`, with any number of axes.
///
/// It owns its memory and has a home stream, on which it was made and on which its own operations run; what other streams do with it is waited
/// for. Arrays, and views of them, are operands of lazy expressions: see [`Operand`](crate::Operand).
///
/// ```
/// use cuprum_driver_core::Device;
/// use cuprum_gpuarray::{GpuArray, Operand as _};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let stream = Device::by_name("soft:0")?.context()?.default_stream();
/// let x = GpuArray::from_slice(&stream, &[1.0f32, 4.0, 9.0], 3)?;
/// let y = GpuArray::full(&stream, 3, 0.5)?;
/// let z = (x.sqrt() * 2.0 + &y).eval()?;
/// assert_eq!(z.to_vec()?, [2.5, 4.5, 6.5]);
/// assert_eq!(z.sum()?, 13.5);
/// # Ok(())
/// # }
/// ```
pub struct GpuArray<T> {
    buffer: DeviceBuffer<T>,
    /// Addresses each element of `buffer` once.
    layout: Layout,
}

impl<T: Element> GpuArray<T> {
    /// A row-major array whose elements are undefined until written. Within the crate, what makes one writes all of it.
    pub(crate) fn uninit(stream: &Stream, shape: Shape) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        Ok(Self {
            buffer: trusted::uninit(stream, layout.len())?,
            layout,
        })
    }

    /// As [`uninit`](Self::uninit), for the result of `program`: from where the memory of its first operand came.
    pub(crate) fn result_of(
        program: &Program<'_, '_>,
        stream: &Stream,
        shape: Shape,
    ) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        let buffer = match program.first_memory() {
            Some(memory) => memory.uninit_beside(stream, layout.len())?,
            None => trusted::uninit(stream, layout.len())?,
        };
        Ok(Self { buffer, layout })
    }

    /// An array with the elements of `host`, in row-major order. `host` may be changed as soon as this returns.
    ///
    /// # Errors
    /// If `host` has not as many elements as `shape`; if the driver fails.
    #[doc(alias = "to_gpu")]
    pub fn from_slice(stream: &Stream, host: &[T], shape: impl Into<Shape>) -> Result<Self> {
        let layout = Layout::row_major(shape.into())?;
        if layout.len() != host.len() {
            return Err(Error::host_length(host.len(), layout.shape()));
        }
        Ok(Self {
            buffer: DeviceBuffer::from_slice(stream, host)?,
            layout,
        })
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// If there is not enough memory, or the driver fails.
    pub fn zeros(stream: &Stream, shape: impl Into<Shape>) -> Result<Self> {
        let layout = Layout::row_major(shape.into())?;
        Ok(Self {
            buffer: DeviceBuffer::zeros(stream, layout.len())?,
            layout,
        })
    }

    /// An array whose elements are all `value`.
    ///
    /// # Errors
    /// If there is not enough memory, or the driver fails.
    pub fn full(stream: &Stream, shape: impl Into<Shape>, value: T) -> Result<Self> {
        let mut array = Self::uninit(stream, shape.into())?;
        array.buffer.fill(value)?;
        Ok(array)
    }

    /// The values `start`, `start + step`, .. before `stop` (for a negative step: above `stop`): `ceil((stop - start) / step)` of them, none if
    /// `stop` is in the other direction.
    ///
    /// # Errors
    /// If `step` is zero or the number of values is not finite, and as [`eval`](crate::Operand::eval).
    pub fn arange(stream: &Stream, start: T, stop: T, step: T) -> Result<Self> {
        let length = T::steps_between(start, stop, step)
            .ok_or_else(|| Error::no_steps(&start, &stop, &step))?;
        Expr::sequence(start, step, length).eval_on(stream)
    }

    /// An array that owns the elements of `buffer`, in row-major order.
    ///
    /// # Errors
    /// If `buffer` has not as many elements as `shape`.
    pub fn from_buffer(buffer: DeviceBuffer<T>, shape: impl Into<Shape>) -> Result<Self> {
        let layout = Layout::row_major(shape.into())?;
        if layout.len() != buffer.len() {
            return Err(Error::host_length(buffer.len(), layout.shape()));
        }
        Ok(Self { buffer, layout })
    }

    /// The memory: the elements in the order of the strides, row-major unless this array came from [`into_t`](Self::into_t).
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.buffer
    }

    layout_methods!();

    /// The home stream.
    pub fn stream(&self) -> &Stream {
        self.buffer.stream()
    }

    /// The context.
    pub fn context(&self) -> &Context {
        self.buffer.context()
    }

    /// A shared view of all elements.
    pub fn view(&self) -> GpuView<'_, T> {
        GpuView::whole(self.buffer.view(), self.layout.clone())
    }

    /// An exclusive view of all elements.
    pub fn view_mut(&mut self) -> GpuViewMut<'_, T> {
        GpuViewMut::new(self.buffer.view_mut(), &self.layout)
    }

    /// A shared view of the part that [`s!`](crate::s) describes.
    ///
    /// # Panics
    /// If an index or range leaves its axis, or there are more arguments than axes.
    #[track_caller]
    pub fn slice(&self, args: impl AsRef<[SliceArg]>) -> GpuView<'_, T> {
        GpuView::new(
            self.buffer.view(),
            &expect(self.layout.sliced(args.as_ref())),
        )
    }

    /// An exclusive view of the part that [`s!`](crate::s) describes.
    ///
    /// # Panics
    /// If an index or range leaves its axis, or there are more arguments than axes.
    #[track_caller]
    pub fn slice_mut(&mut self, args: impl AsRef<[SliceArg]>) -> GpuViewMut<'_, T> {
        let layout = expect(self.layout.sliced(args.as_ref()));
        GpuViewMut::new(self.buffer.view_mut(), &layout)
    }

    /// A view with the axes in reverse order: the transpose of a matrix.
    pub fn t(&self) -> GpuView<'_, T> {
        self.view().t()
    }

    /// A view with the axes reordered: see [`GpuView::permute`].
    ///
    /// # Errors
    /// If `axes` does not name each axis once.
    pub fn permute(&self, axes: &[usize]) -> Result<GpuView<'_, T>> {
        self.view().permute(axes)
    }

    /// A view of the same elements in the same order with other axes.
    ///
    /// # Errors
    /// If the number of elements differs, or this array is not contiguous (it came from [`into_t`](Self::into_t)).
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<GpuView<'_, T>> {
        self.view().reshape(shape)
    }

    /// A view repeated along new leading axes and axes of length 1.
    ///
    /// # Errors
    /// If an axis has neither the target's length nor length 1.
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Result<GpuView<'_, T>> {
        self.view().broadcast_to(shape)
    }

    /// This array with other axes, without copying.
    ///
    /// # Errors
    /// As [`reshape`](Self::reshape).
    pub fn into_shape(self, shape: impl Into<Shape>) -> Result<Self> {
        let layout = self.layout.reshaped(shape.into())?;
        Ok(Self {
            buffer: self.buffer,
            layout,
        })
    }

    /// This array with its axes in reverse order, without copying: column-major if it was row-major.
    #[must_use]
    pub fn into_t(self) -> Self {
        let layout = self.layout.transposed();
        Self {
            buffer: self.buffer,
            layout,
        }
    }

    /// The elements in logical (row-major) order, copied to the host: see [`GpuView::to_vec`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "get")]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }

    /// Copies the elements in logical (row-major) order to `host`: see [`GpuView::copy_to_slice`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_slice(&self, host: &mut [T]) -> Result<()> {
        self.view().copy_to_slice(host)
    }

    /// The only element, copied to the host: see [`GpuView::item`].
    ///
    /// # Errors
    /// As there.
    pub fn item(&self) -> Result<T> {
        self.view().item()
    }

    /// Copies host elements, in logical (row-major) order, into this array: see [`GpuViewMut::copy_from_slice`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "set")]
    pub fn copy_from_slice(&mut self, host: &[T]) -> Result<()> {
        self.view_mut().copy_from_slice(host)
    }

    /// A copy with the same layout and home stream. The host does not wait.
    ///
    /// # Errors
    /// If there is not enough memory, or the driver fails.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            buffer: self.buffer.try_clone()?,
            layout: self.layout.clone(),
        })
    }

    /// Writes `value` to every element: see [`GpuViewMut::fill`].
    ///
    /// # Errors
    /// As there.
    pub fn fill(&mut self, value: T) -> Result<()> {
        Ok(self.buffer.fill(value)?)
    }

    /// Writes the values of an expression, broadcast to this array's shape: see [`GpuViewMut::assign`].
    ///
    /// # Errors
    /// As there.
    pub fn assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.view_mut().assign(values)
    }

    /// As [`assign`](Self::assign), on `stream`.
    ///
    /// # Errors
    /// As `assign`.
    pub fn assign_on<'e>(&mut self, stream: &Stream, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.view_mut().assign_on(stream, values)
    }

    /// Writes an expression of this array itself: see [`GpuViewMut::update`].
    ///
    /// ```
    /// # use cuprum_gpuarray::{GpuArray, Operand as _};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
    /// let mut x = GpuArray::full(&stream, 4, 9.0)?;
    /// let y = GpuArray::arange(&stream, 0.0, 4.0, 1.0)?;
    /// x.update(|x| x.sqrt() + &y)?;
    /// assert_eq!(x.to_vec()?, [3.0, 4.0, 5.0, 6.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn update<'s>(
        &'s mut self,
        values: impl FnOnce(GpuView<'s, T>) -> Expr<'s, T>,
    ) -> Result<()> {
        self.view_mut().into_update(values)
    }

    /// Copies the elements of one part of this array to another, which may overlap: see [`GpuViewMut::copy_within`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_within(
        &mut self,
        from: impl AsRef<[SliceArg]>,
        to: impl AsRef<[SliceArg]>,
    ) -> Result<()> {
        self.view_mut().copy_within(from, to)
    }

    /// Adds the values of an expression to the elements.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn add_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.view_mut().add_assign(values)
    }

    /// Subtracts the values of an expression from the elements.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn sub_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.view_mut().sub_assign(values)
    }

    /// Multiplies the elements by the values of an expression.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn mul_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.view_mut().mul_assign(values)
    }

    /// Divides the elements by the values of an expression.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn div_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.view_mut().div_assign(values)
    }

    /// Changes the sign of the elements.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn neg_assign(&mut self) -> Result<()>
    where
        T: Signed,
    {
        self.view_mut().neg_assign()
    }
}

impl<T: Float> GpuArray<T> {
    /// `count` values from `start` to `stop`, both included, at equal distances.
    ///
    /// # Errors
    /// As [`eval`](crate::Operand::eval).
    pub fn linspace(stream: &Stream, start: T, stop: T, count: usize) -> Result<Self> {
        Expr::of_leaf(Linspace::new(start, stop, count), []).eval_on(stream)
    }
}

impl<T: Element> std::fmt::Debug for GpuArray<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "GpuArray<{}>(shape {:?}, {:?})",
            T::DTYPE,
            self.shape(),
            self.buffer
        )
    }
}
