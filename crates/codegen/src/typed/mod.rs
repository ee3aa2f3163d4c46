//! Typed kernels: what [`kernel!`](crate::kernel) is made of.
//!
//! A raw launch is `unsafe` each time, because a signature in an image proves sizes and nothing more. A typed kernel
//! moves that promise to one place: who loads it vouches for the code, given arguments that meet the declaration, and
//! each launch after that is safe, because the declaration is checked.
//!
//! ```
//! use cuprum_codegen::{SourceModule, kernel};
//! use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig};
//!
//! kernel! {
//!     /// `y += a * x` for the first `n` elements.
//!     pub struct Axpy;
//!     fn axpy(a: f32, x: &[f32], y: &mut [f32], n: u32)
//!     requires n as usize <= x.len(), n as usize <= y.len();
//! }
//!
//! # fn main() -> Result<(), cuprum_codegen::Error> {
//! let context = Device::default()?.context()?;
//! let module = SourceModule::new(
//!     &context,
//!     "__global__ void axpy(float a, const float *x, float *y, unsigned n)
//!      { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }",
//! )?;
//! // SAFETY: the kernel reads x and writes y below n, each element by one thread.
//! let axpy = unsafe { Axpy::load(&module)? };
//!
//! let stream = context.default_stream();
//! let x = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
//! let mut y = DeviceBuffer::from_slice(&stream, &[10.0f32; 3])?;
//! axpy.launch(&stream, LaunchConfig::for_elements(3), 2.0, &x, &mut y, 3)?;
//! assert_eq!(y.to_vec()?, [12.0, 14.0, 16.0]);
//!
//! let error = axpy.launch(&stream, LaunchConfig::for_elements(4), 2.0, &x, &mut y, 4).unwrap_err();
//! assert!(error.to_string().contains("n as usize <= x.len()"));
//! # Ok(())
//! # }
//! ```
//!
//! # The declaration
//!
//! `fn name(parameters) requires conditions;`. `fn ident = "name"` gives the kernel's name where it is no Rust
//! identifier (a template's, `fill<float>`). A parameter is
//!
//! | declared as | passed as | in CUDA C++ |
//! |---|---|---|
//! | `n: i32`, any [`DeviceRepr`] type | the value | the type |
//! | `x: &[T]` | `&DeviceBuffer<T>`, `DeviceView<T>` | `const T *` |
//! | `y: &mut [T]` | `&mut DeviceBuffer<T>`, `DeviceViewMut<T>` | `T *` |
//! | `x: Span<&[T]>`, `y: Span<&mut [T]>` | as above | `cuprum::span<const T>`, `cuprum::span<T>` of `cuprum/span.h`: pointer and length in one |
//!
//! A condition is a Rust expression over the parameters, in which memory is a view with its `len()`. One that fails is
//! an error with the condition and the numbers, and nothing is queued.

mod argument;
mod check;
mod requirement;

pub use argument::{ReadArgument, ReadSpan, WriteArgument, WriteSpan};
pub use check::{Declared, HasFunctions, load};
pub use requirement::{Fact, broken};

pub use cuprum_driver_core::{Function, LaunchConfig, Stream};

pub use crate::error::Result;

use cuprum_driver_core::KernelArgs;

#[cfg(doc)]
use crate::DeviceRepr;

/// Queues a kernel whose declaration was compared with its image.
///
/// # Errors
/// As for [`Function::launch`].
///
/// # Safety
/// As for [`Function::launch`].
pub unsafe fn launch(
    function: &Function,
    stream: &Stream,
    config: LaunchConfig,
    arguments: impl KernelArgs,
) -> Result<()> {
    // SAFETY: the caller's promise is the same.
    unsafe { function.launch(stream, config, arguments) }.map_err(Into::into)
}
