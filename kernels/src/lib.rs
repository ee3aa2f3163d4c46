//! CUDA C++ sources of the kernels that Cuprum ships, as data, and their host references.
//!
//! Each file of `kernels/cuda/` holds one family of kernels; its head says what they do, how to launch them, and where
//! their host reference is. The crate depends on nothing and compiles nothing: `cuprum-codegen` does.
//!
//! ```
//! assert!(cuprum_kernels::IMAGE.contains("__global__ void sobel"));
//! ```
#![forbid(unsafe_code)]

pub mod image;

/// Image kernels: `greyscale`, `sobel`, `rotate`. Their host references are in [`image`].
pub const IMAGE: &str = include_str!("../cuda/image.cu");

/// The first kernel of every introduction: `doublify`.
pub const FIRST: &str = include_str!("../cuda/first.cu");
