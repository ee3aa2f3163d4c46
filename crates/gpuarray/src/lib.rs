#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod array;
mod element;
mod error;
mod explain;
pub mod expr;
mod join;
mod kernel;
mod reduce;
mod shape;
mod slice;
mod trusted;
mod view;

pub use array::GpuArray;
pub use element::{Bits, CastTo, DType, Element, Float, Integer, Scalar, Signed};
pub use error::{Error, ErrorKind, Result};
pub use explain::Explanation;
pub use expr::{Expr, IntoExpr, Operand};
pub use join::{concatenate, stack};
pub use kernel::cache::{cached_kernels, clear_kernels};
pub use reduce::axes::Axes;
pub use shape::Shape;
pub use slice::{NewAxis, SliceArg};
pub use view::{GpuView, GpuViewMut};

/// What programs import: `use cuprum_gpuarray::prelude::*;`
pub mod prelude {
    pub use crate::{Axes, Expr, GpuArray, GpuView, GpuViewMut, NewAxis, Operand, s};
}
