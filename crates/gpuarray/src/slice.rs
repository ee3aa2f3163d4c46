//! Slicing: the arguments that [`s!`](crate::s) collects, and their meaning.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::error::{Error, Result};
use crate::shape::Layout;

/// A new axis of length 1, as an argument of [`s!`](crate::s).
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// One argument of a slice: what to take of one axis, or a new axis. Made by [`s!`](crate::s) from integers, ranges and [`NewAxis`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceArg(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Index(isize),
    /// End exclusive; absent: to the end of the axis.
    Range {
        start: isize,
        end: Option<isize>,
        step: isize,
    },
    NewAxis,
}

impl SliceArg {
    /// This range with a step. A negative step walks the range from its end, so `..` with step -1 reverses.
    ///
    /// # Panics
    /// If this is an index or a new axis: those have no step.
    #[must_use]
    pub fn step_by(self, by: isize) -> Self {
        match self.0 {
            Kind::Range { start, end, step } => Self(Kind::Range {
                start,
                end,
                step: step * by,
            }),
            Kind::Index(_) | Kind::NewAxis => panic!("only a range takes a step, not {self:?}"),
        }
    }
}

impl From<NewAxis> for SliceArg {
    fn from(_: NewAxis) -> Self {
        Self(Kind::NewAxis)
    }
}

impl From<RangeFull> for SliceArg {
    fn from(_: RangeFull) -> Self {
        Self(Kind::Range {
            start: 0,
            end: None,
            step: 1,
        })
    }
}

/// An inclusive end as an exclusive one; -1 is the end of the axis.
fn after(last: isize) -> Option<isize> {
    if last == -1 { None } else { Some(last + 1) }
}

// Integers of a slice: `isize`, `usize`, and `i32` because that is the type of a literal nothing else decides.
macro_rules! slice_arg_from_integer {
    ($($integer:ty),+) => {$(
        impl From<$integer> for SliceArg {
            fn from(index: $integer) -> Self {
                Self(Kind::Index(index as isize))
            }
        }
        impl From<Range<$integer>> for SliceArg {
            fn from(range: Range<$integer>) -> Self {
                Self(Kind::Range { start: range.start as isize, end: Some(range.end as isize), step: 1 })
            }
        }
        impl From<RangeFrom<$integer>> for SliceArg {
            fn from(range: RangeFrom<$integer>) -> Self {
                Self(Kind::Range { start: range.start as isize, end: None, step: 1 })
            }
        }
        impl From<RangeTo<$integer>> for SliceArg {
            fn from(range: RangeTo<$integer>) -> Self {
                Self(Kind::Range { start: 0, end: Some(range.end as isize), step: 1 })
            }
        }
        impl From<RangeInclusive<$integer>> for SliceArg {
            fn from(range: RangeInclusive<$integer>) -> Self {
                Self(Kind::Range { start: *range.start() as isize, end: after(*range.end() as isize), step: 1 })
            }
        }
        impl From<RangeToInclusive<$integer>> for SliceArg {
            fn from(range: RangeToInclusive<$integer>) -> Self {
                Self(Kind::Range { start: 0, end: after(range.end as isize), step: 1 })
            }
        }
    )+};
}

slice_arg_from_integer!(isize, usize, i32);

/// The arguments of a slice, one for each axis, outermost first; axes that are not named are taken whole.
///
/// | argument | takes |
/// |---|---|
/// | `2`, `-1` | one element of the axis, which is dropped; negative counts from the end |
/// | `1..5`, `..`, `2..`, `..-1`, `1..=3` | a range; negative ends count from the end of the axis |
/// | `..;2`, `1..9;3` | every second, third, .. of the range: `ceil(length / step)` elements |
/// | `..;-1`, `2..8;-2` | the range walked from its end |
/// | [`NewAxis`](crate::NewAxis) | a new axis of length 1 |
///
/// A range must lie within its axis, as in Rust's slices; it is not cut to it as in Python.
///
/// ```
/// use cuprum_gpuarray::{GpuArray, NewAxis, s};
/// # use cuprum_driver_core::Device;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = Device::by_name("soft:0")?.context()?.default_stream();
/// let x = GpuArray::from_slice(&stream, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], (3, 4))?;
/// assert_eq!(x.slice(s![1]).shape(), [4]);
/// assert_eq!(x.slice(s![.., 1..3]).shape(), [3, 2]);
/// assert_eq!(x.slice(s![..;2, -1]).to_vec()?, [3, 11]);
/// assert_eq!(x.slice(s![0, ..;-1]).to_vec()?, [3, 2, 1, 0]);
/// assert_eq!(x.slice(s![.., NewAxis, 0]).shape(), [3, 1]);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! s {
    (@ [$($done:expr),*]) => {{
        // Ranges with a negative end mean something here.
        #[allow(clippy::reversed_empty_ranges, reason = "negative ends count from the end of the axis")]
        let arguments = [$($done),*];
        arguments
    }};
    (@ [$($done:expr),*] $range:expr ; $step:expr) => {
        $crate::s!(@ [$($done,)* $crate::SliceArg::from($range).step_by($step)])
    };
    (@ [$($done:expr),*] $range:expr ; $step:expr, $($rest:tt)*) => {
        $crate::s!(@ [$($done,)* $crate::SliceArg::from($range).step_by($step)] $($rest)*)
    };
    (@ [$($done:expr),*] $argument:expr) => {
        $crate::s!(@ [$($done,)* $crate::SliceArg::from($argument)])
    };
    (@ [$($done:expr),*] $argument:expr, $($rest:tt)*) => {
        $crate::s!(@ [$($done,)* $crate::SliceArg::from($argument)] $($rest)*)
    };
    ($($arguments:tt)*) => { $crate::s!(@ [] $($arguments)*) };
}

impl Layout {
    /// The layout of a slice; an error where an argument leaves its axis, or there are more arguments than axes.
    pub(crate) fn sliced(&self, args: &[SliceArg]) -> Result<Self> {
        let mut result = self.clone();
        // `axis` walks the axes of the result, `taken` those of the array (for messages).
        let (mut axis, mut taken) = (0, 0);
        let outside = |index: isize, taken: usize| Error::index_outside(index, taken, self.shape());
        for arg in args {
            if let Kind::NewAxis = arg.0 {
                result.insert_axis(axis)?;
                axis += 1;
                continue;
            }
            let Some(&length) = self.shape().get(taken) else {
                return Err(Error::too_many_slice_arguments(args.len(), self.shape()));
            };
            let from_end = |index: isize| {
                if index < 0 {
                    index.checked_add_unsigned(length)
                } else {
                    Some(index)
                }
            };
            let position = |index: isize| {
                from_end(index)
                    .and_then(|index| usize::try_from(index).ok())
                    .ok_or_else(|| outside(index, taken))
            };
            match arg.0 {
                Kind::Index(index) => {
                    let at = position(index)?;
                    if at >= length {
                        return Err(outside(index, taken));
                    }
                    result.index_axis(axis, at)?;
                }
                Kind::Range { start, end, step } => {
                    let range = position(start)?..end.map_or(Ok(length), position)?;
                    if range.start > range.end || range.end > length {
                        return Err(Error::range_outside(&range, taken, self.shape()));
                    }
                    result.slice_axis(axis, range, step)?;
                    axis += 1;
                }
                Kind::NewAxis => unreachable!("handled above"),
            }
            taken += 1;
        }
        Ok(result)
    }
}
