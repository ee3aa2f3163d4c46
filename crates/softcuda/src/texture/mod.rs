//! Textures and surfaces: CUDA arrays, what may be read through a texture or surface object, and how.
//!
//! An array's texels lie in rows without gaps, in device memory that no kernel can name by address. A [`Texture`] is a
//! view of an array or of linear memory together with a [`Sampler`]; a [`Surface`] reads and writes an array's bytes. Kernels
//! hold objects by their handles, which each context keeps in a [`Handles`] table; a launch takes the table as it is.
//!
//! The rules are those of the CUDA programming guide, "Texture fetching", and of the PTX ISA, "Texture instructions" and
//! "Surface instructions".

mod array;
mod coordinate;
mod cube;
mod format;
mod handles;
mod lod;
mod object;
mod reference;
mod request;
mod sample;
mod surface;
#[cfg(test)]
mod tests;

pub(crate) use array::{Array, Level, Shape};
pub(crate) use format::{Channel, Format};
pub(crate) use handles::{Images, Objects};
pub(crate) use object::{ALIGNMENT, Created, Resource, Sampler, Texture};
pub(crate) use reference::{SurfaceReference, TextureReference};
pub(crate) use request::{Detail, Geometry, Query, SurfaceAction, SurfaceRequest, TextureRequest};
pub(crate) use sample::Slots;
pub(crate) use surface::{Outside, Refused, Surface};
