//! Shapes, and layouts: the map from a multi-index to an element of a buffer.
//!
//! Everything here is arithmetic on the host. A [`Layout`] is a shape, a stride per axis and an offset, counted in elements. Slicing, transposing
//! and broadcasting only compute another layout; the data stays where it is.

use std::ops::{Deref, Range};

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// Strides of an array, in elements. Up to four axes live inline.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// The lengths of an array's axes, outermost first.
///
/// Made from a length, a tuple, an array, a slice or a vector of `usize`; `()` is the shape of a single element. Functions take
/// `impl Into<Shape>`, so a literal does:
///
/// ```
/// use cuprum_gpuarray::Shape;
///
/// assert_eq!(Shape::from(5).len(), 5);
/// assert_eq!(Shape::from((3, 4)).len(), 12);
/// assert_eq!(Shape::from([2, 0, 7]).len(), 0);
/// assert_eq!(Shape::from(()).len(), 1);
/// ```
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The shape with these axis lengths.
    pub fn new(axes: &[usize]) -> Self {
        Self(SmallVec::from_slice(axes))
    }

    /// The axis lengths.
    pub fn axes(&self) -> &[usize] {
        &self.0
    }

    /// The number of elements: the product of the axis lengths, 1 for no axes. Saturates; layouts refuse such a shape.
    pub fn len(&self) -> usize {
        count(&self.0)
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.0.contains(&0)
    }

    /// The number of elements, or an error where it, or a stride, does not fit in an `isize`.
    pub(crate) fn checked_len(&self) -> Result<usize> {
        let mut total = 1isize;
        for &axis in &self.0 {
            // An empty axis must not hide an overflow of the others: strides are computed from them.
            total = isize::try_from(axis.max(1))
                .ok()
                .and_then(|axis| total.checked_mul(axis))
                .ok_or_else(|| Error::too_large(&self.0))?;
        }
        Ok(if self.is_empty() {
            0
        } else {
            total.unsigned_abs()
        })
    }

    pub(crate) fn axes_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

/// The product of axis lengths, saturating, with an empty axis winning over an overflow.
pub(crate) fn count(axes: &[usize]) -> usize {
    if axes.contains(&0) {
        0
    } else {
        axes.iter()
            .fold(1usize, |product, &axis| product.saturating_mul(axis))
    }
}

impl Clone for Shape {
    fn clone(&self) -> Self {
        // Copies at once, where the list's own clone goes element by element.
        Self::new(&self.0)
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.0[..], f)
    }
}

impl From<usize> for Shape {
    fn from(axis: usize) -> Self {
        Self::new(&[axis])
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<&[usize]> for Shape {
    fn from(axes: &[usize]) -> Self {
        Self::new(axes)
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}

impl From<Vec<usize>> for Shape {
    fn from(axes: Vec<usize>) -> Self {
        Self(SmallVec::from_vec(axes))
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(axes: [usize; N]) -> Self {
        Self::new(&axes)
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(axes: &[usize; N]) -> Self {
        Self::new(axes)
    }
}

macro_rules! shape_from_tuple {
    ($($count:literal: ($($axis:ident),+);)+) => {$(
        impl From<($(shape_from_tuple!(@usize $axis),)+)> for Shape {
            fn from(($($axis,)+): ($(shape_from_tuple!(@usize $axis),)+)) -> Self {
                Self::new(&[$($axis),+])
            }
        }
    )+};
    (@usize $axis:ident) => { usize };
}

shape_from_tuple! {
    1: (a);
    2: (a, b);
    3: (a, b, c);
    4: (a, b, c, d);
    5: (a, b, c, d, e);
    6: (a, b, c, d, e, f);
}

/// The shape that both broadcast to, by NumPy's rule: axes are aligned at the end, and lengths must be equal or one of them 1.
pub(crate) fn broadcast(left: &[usize], right: &[usize]) -> Result<Shape> {
    let (long, short) = if left.len() >= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let mut shape = Shape::new(long);
    let skip = long.len() - short.len();
    for (axis, &length) in shape.axes_mut()[skip..].iter_mut().zip(short) {
        if *axis == 1 {
            *axis = length;
        } else if length != 1 && length != *axis {
            return Err(Error::shapes_differ(left, right));
        }
    }
    Ok(shape)
}

/// Where the element of each multi-index lies in a buffer: at `offset + sum(index[axis] * strides[axis])` elements from its start.
///
/// Invariant: for a shape that is not empty, all these sums lie in `0..=isize::MAX`; for an empty one the offset still does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

impl Clone for Layout {
    fn clone(&self) -> Self {
        Self {
            shape: self.shape.clone(),
            strides: Strides::from_slice(&self.strides),
            offset: self.offset,
        }
    }
}

impl Layout {
    /// Row-major order without gaps from offset 0: the last axis is the closest in memory. An error where the size overflows.
    pub(crate) fn row_major(shape: Shape) -> Result<Self> {
        shape.checked_len()?;
        let strides = row_major_strides(&shape);
        Ok(Self {
            shape,
            strides,
            offset: 0,
        })
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn ndim(&self) -> usize {
        self.shape.len_axes()
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.is_empty()
    }

    /// The smallest range of elements of the buffer that holds every element of this layout; empty for an empty one.
    pub(crate) fn range(&self) -> Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        let (mut low, mut high) = (0isize, 0isize);
        for (&length, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (length - 1).cast_signed() * stride;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        self.offset.wrapping_add_signed(low)..self.offset.wrapping_add_signed(high) + 1
    }

    /// Whether the elements lie in row-major order without gaps. Axes of length 1 have no say; an empty layout counts as contiguous.
    pub(crate) fn is_row_major(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let mut expected = 1isize;
        for (&length, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if length != 1 {
                if stride != expected {
                    return false;
                }
                expected *= length.cast_signed();
            }
        }
        true
    }

    /// Whether two multi-indices can meet in one element: an axis longer than 1 with stride 0. (Other ways do not arise: layouts come from
    /// row-major ones by slicing, permuting and broadcasting.)
    pub(crate) fn is_broadcast(&self) -> bool {
        self.shape
            .iter()
            .zip(&self.strides)
            .any(|(&length, &stride)| length > 1 && stride == 0)
    }

    /// The number of different elements that are addressed: repetitions count once.
    pub(crate) fn distinct(&self) -> usize {
        self.shape
            .iter()
            .zip(&self.strides)
            .map(|(&length, &stride)| if stride == 0 { length.min(1) } else { length })
            .product()
    }

    /// The same elements, counted from the start of the range that holds them.
    pub(crate) fn rebased(&self, start: usize) -> Self {
        Self {
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            offset: self.offset - start,
        }
    }

    fn axis(&self, axis: usize) -> Result<usize> {
        if axis < self.ndim() {
            Ok(axis)
        } else {
            Err(Error::no_such_axis(axis, &self.shape))
        }
    }

    /// Restricts one axis to `start, start + step, ..` (`length` of them; the caller has checked that they exist).
    fn narrowed(&mut self, axis: usize, start: usize, length: usize, step: isize) {
        // An empty layout may address nothing at all, so its offset must stay where it is.
        if length > 0 && !self.is_empty() {
            self.offset = self
                .offset
                .wrapping_add_signed(start.cast_signed() * self.strides[axis]);
        }
        self.shape.axes_mut()[axis] = length;
        // The stride of an axis with at most one element is never used to address; leaving it avoids an overflow of huge steps.
        if length > 1 {
            self.strides[axis] *= step;
        }
    }

    /// Takes `range` of one axis with a step. A negative step walks the range from its end.
    pub(crate) fn slice_axis(
        &mut self,
        axis: usize,
        range: Range<usize>,
        step: isize,
    ) -> Result<()> {
        let axis = self.axis(axis)?;
        if step == 0 {
            return Err(Error::step_zero());
        }
        if range.start > range.end || range.end > self.shape[axis] {
            return Err(Error::range_outside(&range, axis, &self.shape));
        }
        let span = range.end - range.start;
        let length = span.div_ceil(step.unsigned_abs());
        let start = if step > 0 || span == 0 {
            range.start
        } else {
            range.end - 1
        };
        self.narrowed(axis, start, length, step);
        Ok(())
    }

    /// Fixes one axis at `index` and drops it.
    pub(crate) fn index_axis(&mut self, axis: usize, index: usize) -> Result<()> {
        let axis = self.axis(axis)?;
        if index >= self.shape[axis] {
            return Err(Error::index_outside(index.cast_signed(), axis, &self.shape));
        }
        if !self.is_empty() {
            self.offset = self
                .offset
                .wrapping_add_signed(index.cast_signed() * self.strides[axis]);
        }
        self.shape.0.remove(axis);
        self.strides.remove(axis);
        Ok(())
    }

    /// Inserts an axis of length 1 before axis `axis` (or at the end).
    pub(crate) fn insert_axis(&mut self, axis: usize) -> Result<()> {
        if axis > self.ndim() {
            return Err(Error::no_such_axis(axis, &self.shape));
        }
        self.shape.0.insert(axis, 1);
        self.strides.insert(axis, 0);
        Ok(())
    }

    /// Reorders the axes: axis `i` of the result is axis `axes[i]` of this. `axes` must name each axis once.
    pub(crate) fn permuted(&self, axes: &[usize]) -> Result<Self> {
        let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, self.ndim());
        let valid = axes.len() == self.ndim()
            && axes.iter().all(|&axis| {
                seen.get_mut(axis)
                    .is_some_and(|seen| !std::mem::replace(seen, true))
            });
        if !valid {
            return Err(Error::not_a_permutation(axes, &self.shape));
        }
        let shape = Shape(axes.iter().map(|&axis| self.shape[axis]).collect());
        let strides = axes.iter().map(|&axis| self.strides[axis]).collect();
        Ok(Self {
            shape,
            strides,
            offset: self.offset,
        })
    }

    /// All axes in reverse order.
    pub(crate) fn transposed(&self) -> Self {
        let shape = Shape(self.shape.iter().rev().copied().collect());
        let strides = self.strides.iter().rev().copied().collect();
        Self {
            shape,
            strides,
            offset: self.offset,
        }
    }

    /// Without the axes of length 1.
    pub(crate) fn squeezed(&self) -> Self {
        let keep = || {
            self.shape
                .iter()
                .zip(&self.strides)
                .filter(|&(&length, _)| length != 1)
        };
        let shape = Shape(keep().map(|(&length, _)| length).collect());
        let strides = keep().map(|(_, &stride)| stride).collect();
        Self {
            shape,
            strides,
            offset: self.offset,
        }
    }

    /// The same elements, in the same order, with other axes. Only for row-major layouts.
    pub(crate) fn reshaped(&self, shape: Shape) -> Result<Self> {
        if shape.checked_len()? != self.len() {
            return Err(Error::reshape_count(&self.shape, &shape));
        }
        if !self.is_row_major() {
            return Err(Error::not_contiguous("reshape", &self.shape, &self.strides));
        }
        let strides = row_major_strides(&shape);
        Ok(Self {
            shape,
            strides,
            offset: self.offset,
        })
    }

    /// Repeats the elements along new axes and axes of length 1 (stride 0), by NumPy's rule.
    pub(crate) fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let strides = self
            .broadcast_strides(shape)
            .ok_or_else(|| Error::cannot_broadcast(&self.shape, shape))?;
        let shape = Shape::new(shape);
        shape.checked_len()?;
        Ok(Self {
            shape,
            strides,
            offset: self.offset,
        })
    }

    /// The strides of this layout seen as `shape`, or nothing where it does not broadcast to it.
    pub(crate) fn broadcast_strides(&self, shape: &[usize]) -> Option<Strides> {
        broadcast_strides(&self.shape, &self.strides, shape)
    }

    /// The element offsets in logical (row-major) order. For tests and small host copies.
    #[cfg(test)]
    pub(crate) fn offsets(&self) -> Vec<usize> {
        let mut offsets = Vec::with_capacity(self.len());
        if self.is_empty() {
            return offsets;
        }
        let mut index = vec![0usize; self.ndim()];
        loop {
            let at: isize = index
                .iter()
                .zip(&self.strides)
                .map(|(&i, &stride)| i.cast_signed() * stride)
                .sum();
            offsets.push(
                self.offset
                    .checked_add_signed(at)
                    .expect("a layout addresses its buffer"),
            );
            let Some(axis) = (0..self.ndim())
                .rev()
                .find(|&axis| index[axis] + 1 < self.shape[axis])
            else {
                break;
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
        offsets
    }
}

impl Shape {
    fn len_axes(&self) -> usize {
        self.0.len()
    }
}

/// Strides of row-major order; an empty axis counts as 1, as in NumPy. The caller has checked the size.
pub(crate) fn row_major_strides(shape: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut stride = 1isize;
    for (slot, &length) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride = stride.wrapping_mul(length.max(1).cast_signed());
    }
    strides
}

/// See [`Layout::broadcast_strides`].
pub(crate) fn broadcast_strides(
    from: &[usize],
    strides: &[isize],
    to: &[usize],
) -> Option<Strides> {
    let skip = to.len().checked_sub(from.len())?;
    let mut result = Strides::from_elem(0, to.len());
    for (axis, (&length, &stride)) in from.iter().zip(strides).enumerate() {
        let target = to[skip + axis];
        if length == target {
            result[skip + axis] = stride;
        } else if length != 1 {
            return None;
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests;
