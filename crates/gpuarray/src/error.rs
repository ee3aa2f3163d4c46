//! The error of this crate.

use std::fmt;
use std::ops::Range;

/// A result whose error is this crate's.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong with an array, an expression or a reduction.
///
/// One pointer wide. [`kind`](Self::kind) tells what to do about it; the text carries the shapes and numbers. Errors of the driver and of the
/// compiler are kept whole as the [`source`](std::error::Error::source).
pub struct Error(Box<Inner>);

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that do not fit: operands that do not broadcast, a reshape to another count, host data of another length.
    Shape,
    /// An index, range or axis outside the array.
    OutOfBounds,
    /// An operation that needs a contiguous array got another.
    NotContiguous,
    /// Operands of one expression live in different contexts, or the stream belongs to another one.
    DeviceMismatch,
    /// An expression without any array operand was evaluated without naming a stream.
    NoDevice,
    /// The minimum, maximum or similar of no elements.
    EmptyReduction,
    /// A shape whose number of elements, or whose size in bytes, does not fit.
    TooLarge,
    /// Something that this version does not do; the text says what.
    Unsupported,
    /// The generated kernel did not compile: a fault of an expression leaf of another crate, or no compiler could be found. See the source.
    Compile,
    /// The driver failed; see the source.
    Driver,
}

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
        }))
    }

    /// An error that a leaf of another crate reports: see [`Leaf`](crate::expr::Leaf).
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The driver's error, if this is one.
    pub fn driver_error(&self) -> Option<&cuprum_driver_core::Error> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// Whether the context (on a GPU, the process) is lost: see [`cuprum_driver_core::Error::is_fatal`].
    pub fn is_fatal(&self) -> bool {
        self.driver_error()
            .is_some_and(cuprum_driver_core::Error::is_fatal)
    }

    pub(crate) fn shapes_differ(left: &[usize], right: &[usize]) -> Self {
        Self::new(
            ErrorKind::Shape,
            format!(
                "shapes {left:?} and {right:?} do not broadcast: lengths must be equal, or one of them 1"
            ),
        )
    }

    pub(crate) fn cannot_broadcast(from: &[usize], to: &[usize]) -> Self {
        Self::new(
            ErrorKind::Shape,
            format!("shape {from:?} does not broadcast to {to:?}"),
        )
    }

    pub(crate) fn reshape_count(from: &[usize], to: &[usize]) -> Self {
        let (have, want) = (crate::shape::count(from), crate::shape::count(to));
        Self::new(
            ErrorKind::Shape,
            format!("cannot reshape {from:?} ({have} elements) to {to:?} ({want} elements)"),
        )
    }

    pub(crate) fn host_length(host: usize, shape: &[usize]) -> Self {
        let want = crate::shape::count(shape);
        Self::new(
            ErrorKind::Shape,
            format!("{host} host elements for an array of shape {shape:?} ({want} elements)"),
        )
    }

    pub(crate) fn not_one_element(shape: &[usize]) -> Self {
        Self::new(
            ErrorKind::Shape,
            format!("an array of shape {shape:?} is not a single element"),
        )
    }

    pub(crate) fn no_steps(
        start: &dyn fmt::Debug,
        stop: &dyn fmt::Debug,
        step: &dyn fmt::Debug,
    ) -> Self {
        Self::new(
            ErrorKind::TooLarge,
            format!("no finite number of steps of {step:?} leads from {start:?} to {stop:?}"),
        )
    }

    pub(crate) fn not_contiguous(operation: &str, shape: &[usize], strides: &[isize]) -> Self {
        let message = format!(
            "{operation} needs a row-major array without gaps, not shape {shape:?} with strides {strides:?}; evaluate it first (`.eval()?`)"
        );
        Self::new(ErrorKind::NotContiguous, message)
    }

    pub(crate) fn too_large(shape: &[usize]) -> Self {
        Self::new(
            ErrorKind::TooLarge,
            format!("an array of shape {shape:?} has more elements than can be addressed"),
        )
    }

    pub(crate) fn no_such_axis(axis: usize, shape: &[usize]) -> Self {
        Self::new(
            ErrorKind::OutOfBounds,
            format!(
                "axis {axis} of an array of shape {shape:?}, which has {} axes",
                shape.len()
            ),
        )
    }

    pub(crate) fn not_a_permutation(axes: &[usize], shape: &[usize]) -> Self {
        let message = format!(
            "{axes:?} does not name each of the {} axes of shape {shape:?} once",
            shape.len()
        );
        Self::new(ErrorKind::OutOfBounds, message)
    }

    pub(crate) fn index_outside(index: isize, axis: usize, shape: &[usize]) -> Self {
        Self::new(
            ErrorKind::OutOfBounds,
            format!("index {index} is outside axis {axis} of shape {shape:?}"),
        )
    }

    pub(crate) fn range_outside(range: &Range<usize>, axis: usize, shape: &[usize]) -> Self {
        let Range { start, end } = range;
        let why = if start > end {
            "it starts after its end"
        } else {
            "it ends after the axis"
        };
        Self::new(
            ErrorKind::OutOfBounds,
            format!("range {start}..{end} does not lie in axis {axis} of shape {shape:?}: {why}"),
        )
    }

    pub(crate) fn step_zero() -> Self {
        Self::new(ErrorKind::OutOfBounds, "a slice's step must not be zero")
    }

    pub(crate) fn too_many_slice_arguments(count: usize, shape: &[usize]) -> Self {
        let message = format!(
            "{count} slice arguments for an array of shape {shape:?}, which has {} axes",
            shape.len()
        );
        Self::new(ErrorKind::OutOfBounds, message)
    }

    pub(crate) fn device_mismatch(left: &str, right: &str) -> Self {
        let message = format!(
            "operands live in different contexts (on {left} and {right}); copy one to the other's device first"
        );
        Self::new(ErrorKind::DeviceMismatch, message)
    }

    pub(crate) fn too_deep() -> Self {
        let message = format!(
            "an expression of more than {} operations on end; evaluate parts of it first (`.eval()?`)",
            crate::expr::MAX_DEPTH
        );
        Self::new(ErrorKind::Unsupported, message)
    }

    pub(crate) fn no_device() -> Self {
        let message = "an expression of scalars alone belongs to no device: evaluate it with `eval_on(&stream)`";
        Self::new(ErrorKind::NoDevice, message)
    }

    pub(crate) fn empty_reduction(operation: &str, shape: &[usize]) -> Self {
        Self::new(
            ErrorKind::EmptyReduction,
            format!("{operation} of an array of shape {shape:?}, which has no elements"),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<cuprum_driver_core::Error> for Error {
    fn from(source: cuprum_driver_core::Error) -> Self {
        Self(Box::new(Inner {
            kind: ErrorKind::Driver,
            message: source.to_string(),
            source: Some(Box::new(source)),
        }))
    }
}

impl From<cuprum_codegen::Error> for Error {
    fn from(source: cuprum_codegen::Error) -> Self {
        Self(Box::new(Inner {
            kind: ErrorKind::Compile,
            message: source.to_string(),
            source: Some(Box::new(source)),
        }))
    }
}
