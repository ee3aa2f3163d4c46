//! CUDA arrays, and the texture and surface objects that kernels reach them by.
//!
//! Here they are untyped: formats are numbers of `cuda.h`, texels are bytes. Arrays are shared handles, because the objects
//! made of them keep them alive; like all memory they know which streams have used them.

mod copy;
mod memory;
mod object;

pub use copy::Region;
pub use memory::{Array, MipmappedArray};
pub use object::{SurfaceObject, TextureObject};
