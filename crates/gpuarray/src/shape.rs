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
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::{NewAxis, s};
    use proptest::prelude::*;

    fn row_major(shape: &[usize]) -> Layout {
        Layout::row_major(Shape::new(shape)).expect("small")
    }

    #[test]
    fn broadcasting_follows_numpy() {
        let ok = |a: &[usize], b: &[usize], want: &[usize]| {
            assert_eq!(broadcast(a, b).expect("broadcasts").axes(), want);
            assert_eq!(broadcast(b, a).expect("broadcasts").axes(), want);
        };
        ok(&[], &[], &[]);
        ok(&[3], &[], &[3]);
        ok(&[3, 1], &[4], &[3, 4]);
        ok(&[5, 1, 7], &[6, 1], &[5, 6, 7]);
        ok(&[0], &[1], &[0]);
        ok(&[2, 0], &[1, 1], &[2, 0]);
        assert_eq!(
            broadcast(&[2], &[3]).expect_err("differ").kind(),
            ErrorKind::Shape
        );
        assert_eq!(
            broadcast(&[0], &[2]).expect_err("0 is not 1").kind(),
            ErrorKind::Shape
        );
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(
            Layout::row_major(Shape::from([1 << 40, 1 << 40]))
                .expect_err("2^80")
                .kind(),
            ErrorKind::TooLarge
        );
        assert_eq!(
            Layout::row_major(Shape::from([1 << 40, 1 << 40, 0]))
                .expect_err("strides of 2^80")
                .kind(),
            ErrorKind::TooLarge
        );
        assert_eq!(row_major(&[3, 0, 2]).len(), 0);
        assert_eq!(row_major(&[3, 0, 2]).strides(), [2, 2, 1]);
        assert_eq!(row_major(&[]).len(), 1);
    }

    #[test]
    fn slices_of_known_reports() {
        // The length of a stepped slice rounds up.
        let square = row_major(&[4, 4]).sliced(&s![..;3]).expect("inside");
        assert_eq!(
            (square.shape().axes(), square.strides()),
            (&[2, 4][..], &[12, 1][..])
        );
        assert_eq!(
            row_major(&[16])
                .sliced(&s![..;5])
                .expect("inside")
                .offsets(),
            [0, 5, 10, 15]
        );
        // A transposed slice keeps its strides.
        let part = row_major(&[4, 5, 6])
            .sliced(&s![.., 1..3])
            .expect("inside")
            .permuted(&[1, 0, 2])
            .expect("a permutation");
        assert_eq!(part.shape().axes(), [2, 4, 6]);
        let at = |i: usize, j: usize, k: usize| part.offsets()[(i * 4 + j) * 6 + k];
        assert_eq!((at(1, 3, 5), at(0, 0, 0), at(1, 0, 0)), (107, 6, 12));
        // Reversed.
        assert_eq!(
            row_major(&[4])
                .sliced(&s![..;-1])
                .expect("inside")
                .offsets(),
            [3, 2, 1, 0]
        );
        assert_eq!(
            row_major(&[9])
                .sliced(&s![2..8;-2])
                .expect("inside")
                .offsets(),
            [7, 5, 3]
        );
        assert_eq!(
            row_major(&[5]).sliced(&s![2..2;-1]).expect("empty").len(),
            0
        );
        assert_eq!(row_major(&[0]).sliced(&s![..;-3]).expect("empty").len(), 0);
    }

    #[test]
    fn slices_outside_are_errors() {
        let layout = row_major(&[3, 4]);
        let kind = |args: &[crate::SliceArg]| layout.sliced(args).expect_err("outside").kind();
        assert_eq!(kind(&s![3]), ErrorKind::OutOfBounds);
        assert_eq!(kind(&s![-4]), ErrorKind::OutOfBounds);
        assert_eq!(kind(&s![.., 2..5]), ErrorKind::OutOfBounds);
        assert_eq!(kind(&s![2..1]), ErrorKind::OutOfBounds);
        assert_eq!(kind(&s![..-4]), ErrorKind::OutOfBounds);
        assert_eq!(kind(&s![0, 0, 0]), ErrorKind::OutOfBounds);
        assert_eq!(kind(&s![..;0]), ErrorKind::OutOfBounds);
        assert_eq!(
            layout
                .sliced(&s![-1, NewAxis, 1..=2])
                .expect("inside")
                .offsets(),
            [9, 10]
        );
        assert_eq!(
            layout
                .sliced(&s![..=-2, ..=-1])
                .expect("inside")
                .shape()
                .axes(),
            [2, 4]
        );
    }

    #[test]
    fn permutations_and_reshapes() {
        let layout = row_major(&[2, 3]);
        assert_eq!(layout.transposed().offsets(), [0, 3, 1, 4, 2, 5]);
        assert!(!layout.transposed().is_row_major());
        assert!(layout.transposed().transposed().is_row_major());
        assert_eq!(
            layout.permuted(&[0, 0]).expect_err("twice").kind(),
            ErrorKind::OutOfBounds
        );
        assert_eq!(
            layout.permuted(&[0]).expect_err("one missing").kind(),
            ErrorKind::OutOfBounds
        );
        assert_eq!(
            layout.permuted(&[0, 2]).expect_err("no axis 2").kind(),
            ErrorKind::OutOfBounds
        );
        assert_eq!(
            layout
                .reshaped(Shape::from((3, 2)))
                .expect("6 elements")
                .strides(),
            [2, 1]
        );
        assert_eq!(
            layout
                .reshaped(Shape::from(5))
                .expect_err("6 elements")
                .kind(),
            ErrorKind::Shape
        );
        assert_eq!(
            layout
                .transposed()
                .reshaped(Shape::from(6))
                .expect_err("strided")
                .kind(),
            ErrorKind::NotContiguous
        );
        assert_eq!(row_major(&[1, 3, 1]).squeezed().shape().axes(), [3]);
        // A zero-length axis is not one to squeeze.
        assert_eq!(row_major(&[0, 1]).squeezed().shape().axes(), [0]);
    }

    #[test]
    fn broadcasts_repeat() {
        let row = row_major(&[3]).broadcast_to(&[2, 3]).expect("broadcasts");
        assert_eq!(row.offsets(), [0, 1, 2, 0, 1, 2]);
        assert!(row.is_broadcast());
        assert_eq!((row.range(), row.distinct()), (0..3, 3));
        assert_eq!(
            row_major(&[3])
                .broadcast_to(&[3, 2])
                .expect_err("3 is not 2")
                .kind(),
            ErrorKind::Shape
        );
        assert_eq!(
            row_major(&[2, 3])
                .broadcast_to(&[3])
                .expect_err("fewer axes")
                .kind(),
            ErrorKind::Shape
        );
    }

    /// A layout with the offsets that it must address, computed by picking from a list.
    #[derive(Clone, Debug)]
    struct Model {
        layout: Layout,
        shape: Vec<usize>,
        offsets: Vec<usize>,
    }

    impl Model {
        fn new(shape: Vec<usize>) -> Self {
            Self {
                layout: row_major(&shape),
                offsets: (0..shape.iter().product()).collect(),
                shape,
            }
        }

        /// The model's element at an index.
        fn at(&self, index: &[usize]) -> usize {
            self.offsets[index
                .iter()
                .zip(&self.shape)
                .fold(0, |at, (&i, &length)| at * length + i)]
        }

        fn rebuilt(layout: Layout, shape: Vec<usize>, pick: impl Fn(&[usize]) -> usize) -> Self {
            let mut offsets = Vec::new();
            for at in 0..shape.iter().product::<usize>() {
                let mut rest = at;
                let mut index: Vec<usize> = shape
                    .iter()
                    .rev()
                    .map(|&length| {
                        let i = rest % length;
                        rest /= length;
                        i
                    })
                    .collect();
                index.reverse();
                offsets.push(pick(&index));
            }
            Self {
                layout,
                shape,
                offsets,
            }
        }

        /// One of the operations, chosen and parametrised by numbers that are cut to what is valid.
        fn step(self, choice: u8, axis: usize, a: usize, b: usize, step: isize) -> Self {
            let ndim = self.shape.len();
            if ndim == 0 || choice == 4 {
                let axis = axis % (ndim + 1);
                let mut layout = self.layout.clone();
                layout.insert_axis(axis).expect("inside");
                let mut shape = self.shape.clone();
                shape.insert(axis, 1);
                return Self::rebuilt(layout, shape, |index| {
                    let mut index = index.to_vec();
                    index.remove(axis);
                    self.at(&index)
                });
            }
            let axis = axis % ndim;
            let length = self.shape[axis];
            match choice {
                0 | 1 => {
                    let (a, b) = (a % (length + 1), b % (length + 1));
                    let (start, end) = (a.min(b), a.max(b));
                    let mut layout = self.layout.clone();
                    layout.slice_axis(axis, start..end, step).expect("inside");
                    let taken: Vec<usize> = if step > 0 {
                        (start..end).step_by(step.unsigned_abs()).collect()
                    } else {
                        (start..end).rev().step_by(step.unsigned_abs()).collect()
                    };
                    let mut shape = self.shape.clone();
                    shape[axis] = taken.len();
                    Self::rebuilt(layout, shape, |index| {
                        let mut index = index.to_vec();
                        index[axis] = taken[index[axis]];
                        self.at(&index)
                    })
                }
                2 if length > 0 => {
                    let fixed = a % length;
                    let mut layout = self.layout.clone();
                    layout.index_axis(axis, fixed).expect("inside");
                    let mut shape = self.shape.clone();
                    shape.remove(axis);
                    Self::rebuilt(layout, shape, |index| {
                        let mut index = index.to_vec();
                        index.insert(axis, fixed);
                        self.at(&index)
                    })
                }
                _ => {
                    let mut axes: Vec<usize> = (0..ndim).collect();
                    axes.rotate_left(a % ndim);
                    axes.swap(axis, b % ndim);
                    let layout = self.layout.permuted(&axes).expect("a permutation");
                    let shape = axes.iter().map(|&axis| self.shape[axis]).collect();
                    Self::rebuilt(layout, shape, |index| {
                        let mut original = vec![0; ndim];
                        for (&axis, &i) in axes.iter().zip(index) {
                            original[axis] = i;
                        }
                        self.at(&original)
                    })
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Any chain of slices, indices, permutations and new axes addresses what picking from a list gives.
        #[test]
        fn chains_address_the_right_elements(
            shape in proptest::collection::vec(0usize..5, 0..4),
            steps in proptest::collection::vec((0u8..5, 0usize..8, 0usize..8, 0usize..8, prop_oneof![-3isize..0, 1isize..4]), 0..6),
        ) {
            let count = shape.iter().product::<usize>();
            let mut model = Model::new(shape);
            for (choice, axis, a, b, step) in steps {
                model = model.step(choice, axis, a, b, step);
                prop_assert_eq!(model.layout.shape().axes(), &model.shape[..]);
                prop_assert_eq!(model.layout.offsets(), model.offsets.clone());
                let range = model.layout.range();
                prop_assert!(range.end <= count, "{:?} of {}", range, count);
                prop_assert_eq!(range.is_empty(), model.offsets.is_empty());
                if let (Some(&low), Some(&high)) = (model.offsets.iter().min(), model.offsets.iter().max()) {
                    prop_assert_eq!(range, low..high + 1);
                }
                let consecutive = model.offsets.windows(2).all(|pair| pair[1] == pair[0] + 1);
                prop_assert_eq!(model.layout.is_row_major(), consecutive || model.offsets.is_empty());
            }
        }
    }
}
