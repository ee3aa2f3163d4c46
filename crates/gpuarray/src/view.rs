//! Borrowed arrays: [`GpuView`] to read, [`GpuViewMut`] to write.

use cuprum_driver_core::{Context, DeviceView, DeviceViewMut, Stream};

use crate::array::GpuArray;
use crate::element::{Element, Signed};
use crate::error::{Error, Result};
use crate::expr::{Expr, IntoExpr, Node, Op, Operand as _, ViewLeaf};
use crate::kernel::launch;
use crate::shape::{Layout, Shape};
use crate::slice::SliceArg;
use crate::trusted;

/// A shared borrow of elements of an array, of any shape and strides.
///
/// Slices, steps, transposes and broadcasts of a view are views of the same memory and cost nothing on the device. A view is an operand of
/// expressions, by value or by reference.
pub struct GpuView<'a, T> {
    /// The smallest range of memory that holds the elements.
    data: DeviceView<'a, T>,
    /// Its offset counts from the start of `data`.
    layout: Layout,
}

/// An exclusive borrow of elements of an array, of any shape and strides without repetitions.
///
/// The borrow checker keeps it apart from all other views of the same array:
///
/// ```compile_fail
/// # use cuprum_gpuarray::{GpuArray, s};
/// # fn f(mut x: GpuArray<f32>) {
/// let left = x.slice(s![..5]);
/// let mut right = x.slice_mut(s![5..]); // `x` is borrowed already
/// right.assign(&left).unwrap();
/// # }
/// ```
///
/// For a result that depends on what it overwrites there are [`update`](Self::update), the `.._assign` methods and
/// [`copy_within`](Self::copy_within).
pub struct GpuViewMut<'a, T> {
    data: DeviceViewMut<'a, T>,
    layout: Layout,
}

/// Unwraps a layout; the panics of the infallible methods.
#[track_caller]
pub(crate) fn expect(layout: Result<Layout>) -> Layout {
    match layout {
        Ok(layout) => layout,
        Err(error) => panic!("{error}"),
    }
}

macro_rules! layout_methods {
    () => {
        /// The length of each axis.
        pub fn shape(&self) -> &[usize] {
            self.layout.shape()
        }

        /// The distance between neighbours along each axis, in elements; negative for a reversed axis, 0 for a repeated one.
        pub fn strides(&self) -> &[isize] {
            self.layout.strides()
        }

        /// The number of axes.
        pub fn ndim(&self) -> usize {
            self.layout.ndim()
        }

        /// The number of elements.
        #[doc(alias = "size")]
        pub fn len(&self) -> usize {
            self.layout.len()
        }

        /// Whether there are no elements.
        pub fn is_empty(&self) -> bool {
            self.layout.is_empty()
        }

        /// Whether the elements lie in row-major order without gaps. Axes of length 1 have no say; an empty array does.
        pub fn is_contiguous(&self) -> bool {
            self.layout.is_row_major()
        }
    };
}
pub(crate) use layout_methods;

impl<'a, T: Element> GpuView<'a, T> {
    /// A view of the elements that `layout` addresses within `data`.
    pub(crate) fn new(data: DeviceView<'a, T>, layout: &Layout) -> Self {
        let range = layout.range();
        let start = range.start;
        Self {
            data: data.slice(range),
            layout: layout.rebased(start),
        }
    }

    /// A view of all of `data`, where `layout` addresses the whole of it.
    pub(crate) fn whole(data: DeviceView<'a, T>, layout: Layout) -> Self {
        debug_assert!(layout.is_empty() || layout.range() == (0..data.len()));
        Self { data, layout }
    }

    /// A one-dimensional view of a part of a buffer of driver-core.
    pub fn from_device_view(data: DeviceView<'a, T>) -> Self {
        let layout =
            Layout::row_major(Shape::from(data.len())).expect("what is allocated can be addressed");
        Self { data, layout }
    }

    layout_methods!();

    /// The memory of the view: the smallest contiguous range that holds all elements. Where [`is_contiguous`](Self::is_contiguous), exactly the
    /// elements in order, to pass to hand-written kernels.
    pub fn device_view(&self) -> DeviceView<'a, T> {
        self.data
    }

    /// The home stream of the array.
    pub fn stream(&self) -> &'a Stream {
        self.data.stream()
    }

    /// The context of the array.
    pub fn context(&self) -> &'a Context {
        self.data.context()
    }

    fn with(&self, layout: &Layout) -> Self {
        Self::new(self.data, layout)
    }

    /// The part that [`s!`](crate::s) describes.
    ///
    /// # Panics
    /// If an index or range leaves its axis, or there are more arguments than axes: see [`try_slice`](Self::try_slice).
    #[track_caller]
    pub fn slice(&self, args: impl AsRef<[SliceArg]>) -> Self {
        self.with(&expect(self.layout.sliced(args.as_ref())))
    }

    /// As [`slice`](Self::slice).
    ///
    /// # Errors
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) where `slice` panics.
    pub fn try_slice(&self, args: impl AsRef<[SliceArg]>) -> Result<Self> {
        Ok(self.with(&self.layout.sliced(args.as_ref())?))
    }

    /// The view with its axes in reverse order: the transpose of a matrix.
    pub fn t(&self) -> Self {
        self.with(&self.layout.transposed())
    }

    /// The view with its axes reordered: axis `i` of the result is axis `axes[i]` of this view.
    ///
    /// # Errors
    /// If `axes` does not name each axis once.
    #[doc(alias = "transpose")]
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        Ok(self.with(&self.layout.permuted(axes)?))
    }

    /// The view without axes of length 1.
    pub fn squeeze(&self) -> Self {
        self.with(&self.layout.squeezed())
    }

    /// The same elements in the same order with other axes.
    ///
    /// # Errors
    /// If the number of elements differs, or this view is not contiguous.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Self> {
        Ok(self.with(&self.layout.reshaped(shape.into())?))
    }

    /// The view repeated along new leading axes and axes of length 1. Operators broadcast by themselves; this makes it explicit.
    ///
    /// # Errors
    /// If an axis has neither the target's length nor length 1.
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Result<Self> {
        Ok(self.with(&self.layout.broadcast_to(&shape.into())?))
    }

    /// The elements in logical (row-major) order, copied to the host. Waits for the work that writes them.
    ///
    /// # Errors
    /// If the driver fails, or earlier work has failed. A view that is not contiguous is gathered by a kernel first, which can fail as
    /// [`eval`](crate::Operand::eval) can.
    #[doc(alias = "get")]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        if self.is_contiguous() {
            Ok(self.data.to_vec()?)
        } else {
            self.eval()?.to_vec()
        }
    }

    /// Copies the elements in logical (row-major) order to `host`. Waits for the work that writes them.
    ///
    /// # Errors
    /// If `host` has another length, and as [`to_vec`](Self::to_vec).
    pub fn copy_to_slice(&self, host: &mut [T]) -> Result<()> {
        if host.len() != self.len() {
            return Err(Error::host_length(host.len(), self.shape()));
        }
        if self.is_contiguous() {
            Ok(self.data.copy_to_slice(host)?)
        } else {
            self.eval()?.copy_to_slice(host)
        }
    }

    /// The only element of an array of one element, copied to the host.
    ///
    /// # Errors
    /// If there is not exactly one element, and as [`to_vec`](Self::to_vec).
    pub fn item(&self) -> Result<T> {
        if self.len() != 1 {
            return Err(Error::not_one_element(self.shape()));
        }
        let mut item = [T::default()];
        self.copy_to_slice(&mut item)?;
        Ok(item[0])
    }

    pub(crate) fn into_leaf(self) -> ViewLeaf<'a> {
        ViewLeaf {
            data: T::any_view(self.data),
            layout: self.layout,
        }
    }
}

impl<T> Clone for GpuView<'_, T> {
    fn clone(&self) -> Self {
        Self {
            data: self.data,
            layout: self.layout.clone(),
        }
    }
}

impl<T: Element> std::fmt::Debug for GpuView<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "GpuView<{}>(shape {:?}, strides {:?}, {:?})",
            T::DTYPE,
            self.shape(),
            self.strides(),
            self.data
        )
    }
}

impl<'a, T: Element> GpuViewMut<'a, T> {
    /// A view of the elements that `layout` addresses within `data`. The layout repeats no element.
    pub(crate) fn new(data: DeviceViewMut<'a, T>, layout: &Layout) -> Self {
        debug_assert!(
            !layout.is_broadcast(),
            "an element must not be written twice"
        );
        let range = layout.range();
        let start = range.start;
        Self {
            data: data.into_slice(range),
            layout: layout.rebased(start),
        }
    }

    /// A one-dimensional view of a part of a buffer of driver-core.
    pub fn from_device_view(data: DeviceViewMut<'a, T>) -> Self {
        let layout =
            Layout::row_major(Shape::from(data.len())).expect("what is allocated can be addressed");
        Self { data, layout }
    }

    layout_methods!();

    /// The home stream of the array.
    pub fn stream(&self) -> &'a Stream {
        self.data.stream()
    }

    /// The context of the array.
    pub fn context(&self) -> &'a Context {
        self.data.context()
    }

    /// A shared view of the same elements, while this one is borrowed.
    pub fn view(&self) -> GpuView<'_, T> {
        GpuView {
            data: self.data.as_view(),
            layout: self.layout.clone(),
        }
    }

    /// The layout of the elements within [`device_view_mut`](Self::device_view_mut).
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// An exclusive view of the same elements, while this one is borrowed: to pass a view on and keep it.
    pub fn reborrow(&mut self) -> GpuViewMut<'_, T> {
        GpuViewMut {
            data: self.data.reborrow(),
            layout: self.layout.clone(),
        }
    }

    /// The memory of the view: see [`GpuView::device_view`].
    pub fn device_view_mut(&mut self) -> DeviceViewMut<'_, T> {
        self.data.reborrow()
    }

    /// The part that [`s!`](crate::s) describes, for as long as this view lasts.
    ///
    /// # Panics
    /// If an index or range leaves its axis, or there are more arguments than axes.
    #[must_use]
    #[track_caller]
    pub fn into_slice(self, args: impl AsRef<[SliceArg]>) -> Self {
        let layout = expect(self.layout.sliced(args.as_ref()));
        Self::new(self.data, &layout)
    }

    /// The part that [`s!`](crate::s) describes, while this view is borrowed.
    ///
    /// # Panics
    /// If an index or range leaves its axis, or there are more arguments than axes.
    #[track_caller]
    pub fn slice_mut(&mut self, args: impl AsRef<[SliceArg]>) -> GpuViewMut<'_, T> {
        self.reborrow().into_slice(args)
    }

    /// The view with its axes in reverse order, for as long as this view lasts.
    #[must_use]
    pub fn into_t(self) -> Self {
        let layout = self.layout.transposed();
        Self {
            data: self.data,
            layout,
        }
    }

    /// The first `index` rows (positions along the first axis), and the rest, both exclusive: two streams may work on them at once.
    ///
    /// # Errors
    /// If there is no axis, `index` is beyond its end, or the rows of the two parts are interleaved in memory (a view whose first axis is not
    /// the slowest).
    pub fn split_rows_mut(self, index: usize) -> Result<(Self, Self)> {
        let (mut first, mut second) = (self.layout.clone(), self.layout.clone());
        let rows = self.shape().first().copied().unwrap_or(0);
        first.slice_axis(0, 0..index.min(rows), 1)?;
        second.slice_axis(0, index..rows, 1)?;
        let (low, high) = (first.range(), second.range());
        if low.end > high.start && !low.is_empty() && !high.is_empty() {
            return Err(Error::not_contiguous(
                "splitting by rows",
                self.shape(),
                self.strides(),
            ));
        }
        let (head, tail) = self.data.split_at_mut(low.end);
        let (tail_start, tail_len) = (low.end, tail.len());
        let second = if second.is_empty() {
            GpuViewMut {
                data: tail.into_slice(tail_len..),
                layout: second.rebased(second.offset()),
            }
        } else {
            GpuViewMut::new(tail, &second.rebased(tail_start))
        };
        Ok((GpuViewMut::new(head, &first), second))
    }

    /// Writes the values of an expression, broadcast to this view's shape, in the order of this view's home stream. The host does not wait.
    ///
    /// # Errors
    /// If the expression does not broadcast to this view, and as [`eval`](crate::Operand::eval).
    #[doc(alias = "set")]
    pub fn assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        launch::assign(
            self.data.stream(),
            T::any_view_mut(self.data.reborrow()),
            &self.layout,
            &values.into_expr().node,
        )
    }

    /// As [`assign`](Self::assign), on `stream`.
    ///
    /// # Errors
    /// As `assign`.
    pub fn assign_on<'e>(&mut self, stream: &Stream, values: impl IntoExpr<'e, T>) -> Result<()> {
        launch::assign(
            stream,
            T::any_view_mut(self.data.reborrow()),
            &self.layout,
            &values.into_expr().node,
        )
    }

    /// Writes an expression of this view itself: `a.update(|a| a * 2.0 + 1.0)`.
    ///
    /// The closure gets a shared view of the same elements. Where the expression reads just the element that it writes, one kernel does it in
    /// place; where it reads others (`a` reversed, a neighbour), the values go through a temporary, so the result is always as if everything
    /// had been read before anything was written.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn update<'s>(
        &'s mut self,
        values: impl FnOnce(GpuView<'s, T>) -> Expr<'s, T>,
    ) -> Result<()> {
        self.reborrow().into_update(values)
    }

    /// As [`update`](Self::update), giving the view up.
    pub(crate) fn into_update(
        self,
        values: impl FnOnce(GpuView<'a, T>) -> Expr<'a, T>,
    ) -> Result<()> {
        let stream = self.data.stream();
        let (output, input) = trusted::alias(self.data);
        let values = values(GpuView {
            data: input,
            layout: self.layout.clone(),
        });
        launch::assign(stream, T::any_view_mut(output), &self.layout, &values.node)
    }

    /// Copies the elements of the part `from` to the part `to` of this view, which may overlap: as if the source were copied first.
    ///
    /// ```
    /// # use cuprum_gpuarray::{GpuArray, s};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
    /// let mut x = GpuArray::arange(&stream, 0, 6, 1)?;
    /// x.copy_within(s![..5], s![1..])?;
    /// assert_eq!(x.to_vec()?, [0, 0, 1, 2, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a part leaves the view, `from` does not broadcast to `to`, and as [`assign`](Self::assign).
    pub fn copy_within(
        &mut self,
        from: impl AsRef<[SliceArg]>,
        to: impl AsRef<[SliceArg]>,
    ) -> Result<()> {
        let (from, to) = (
            self.layout.sliced(from.as_ref())?,
            self.layout.sliced(to.as_ref())?,
        );
        let stream = self.data.stream();
        let (output, input) = trusted::alias(self.data.reborrow());
        let values = GpuView::new(input, &from).into_expr();
        let mut target = GpuViewMut::new(output, &to);
        launch::assign(
            stream,
            T::any_view_mut(target.data.reborrow()),
            &target.layout,
            &values.node,
        )
    }

    /// Writes `value` to every element. The host does not wait.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn fill(&mut self, value: T) -> Result<()> {
        // Contiguous memory needs no kernel.
        if self.is_contiguous() {
            Ok(self.data.fill(value)?)
        } else {
            self.assign(Expr::scalar(value))
        }
    }

    /// Copies host elements, in logical (row-major) order, into this view. They may be changed as soon as this returns.
    ///
    /// # Errors
    /// If `host` has another length than this view; if the driver fails. A view that is not contiguous is scattered to by a kernel, which can
    /// fail as [`assign`](Self::assign) can.
    pub fn copy_from_slice(&mut self, host: &[T]) -> Result<()> {
        if host.len() != self.len() {
            return Err(Error::host_length(host.len(), self.shape()));
        }
        if self.is_contiguous() {
            return Ok(self.data.copy_from_slice(host)?);
        }
        let staged = GpuArray::from_slice(self.stream(), host, self.layout.shape())?;
        self.assign(&staged)
    }

    fn assign_op<'e>(&mut self, op: Op, values: Expr<'e, T>) -> Result<()> {
        let stream = self.data.stream();
        let (output, input) = trusted::alias(self.data.reborrow());
        let this = GpuView {
            data: input,
            layout: self.layout.clone(),
        }
        .into_expr();
        let node = combined(op, &this, &values);
        launch::assign(stream, T::any_view_mut(output), &self.layout, &node)
    }

    /// Adds the values of an expression to the elements.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn add_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.assign_op(Op::Add, values.into_expr())
    }

    /// Subtracts the values of an expression from the elements.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn sub_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.assign_op(Op::Sub, values.into_expr())
    }

    /// Multiplies the elements by the values of an expression.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn mul_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.assign_op(Op::Mul, values.into_expr())
    }

    /// Divides the elements by the values of an expression.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn div_assign<'e>(&mut self, values: impl IntoExpr<'e, T>) -> Result<()> {
        self.assign_op(Op::Div, values.into_expr())
    }

    /// Changes the sign of the elements.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn neg_assign(&mut self) -> Result<()>
    where
        T: Signed,
    {
        self.update(|this| -this)
    }
}

/// `this (op) values`. The lifetimes of both are cut to this call's.
fn combined<'n, T: Element>(op: Op, this: &'n Expr<'n, T>, values: &'n Expr<'n, T>) -> Node<'n> {
    Node::op(
        op,
        T::DTYPE,
        0,
        [Some(this.node.clone()), Some(values.node.clone()), None],
    )
}

impl<T: Element> std::fmt::Debug for GpuViewMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "GpuViewMut<{}>(shape {:?}, strides {:?}, {:?})",
            T::DTYPE,
            self.shape(),
            self.strides(),
            self.data
        )
    }
}
