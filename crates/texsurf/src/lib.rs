#![doc = include_str!("../README.md")]

mod array;
mod mipmap;
#[cfg(feature = "image")]
mod picture;
mod sampling;
mod shape;
mod surface;
mod texel;
mod texture;

pub use array::Array;
pub use cuprum_driver_core::Region;
pub use mipmap::MipmappedArray;
#[cfg(feature = "image")]
pub use picture::{PictureArray, from_picture};
pub use sampling::{AddressMode, Filter, Read, Sampling};
pub use shape::Shape;
pub use surface::Surface;
pub use texel::{Channel, Texel};
pub use texture::Texture;
