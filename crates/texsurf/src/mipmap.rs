//! Mipmapped arrays with typed texels.

use std::fmt;
use std::marker::PhantomData;

use cuprum_driver_core::{MipmappedArray as RawMipmap, Result, Stream};

use crate::{Array, Channel as _, Shape, Texel};

/// A chain of arrays, each level half as large as the one before. A shared handle.
pub struct MipmappedArray<T> {
    raw: RawMipmap,
    texels: PhantomData<T>,
}

impl<T> Clone for MipmappedArray<T> {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            texels: PhantomData,
        }
    }
}

impl<T: Texel> MipmappedArray<T> {
    /// A chain of `levels` levels, or of as many as there can be if that is less, whose texels are not determined until they
    /// are written.
    ///
    /// # Errors
    /// As [`Array::new`].
    pub fn new(stream: &Stream, shape: Shape, levels: u32) -> Result<Self> {
        let descriptor = shape.descriptor(T::Channel::FORMAT, T::CHANNELS);
        Ok(Self {
            raw: RawMipmap::new(stream, &descriptor, levels)?,
            texels: PhantomData,
        })
    }

    /// How many levels there are.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.raw.levels()
    }

    /// One level: 0 is the base. It keeps the chain alive.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](cuprum_driver_core::ErrorKind::InvalidArgument) if there is no such level; what the
    /// driver returns.
    pub fn level(&self, level: u32) -> Result<Array<T>> {
        self.raw.level(level).map(Array::wrap)
    }

    /// The shape of the base level.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape::of(self.raw.descriptor())
    }

    /// The untyped array.
    #[must_use]
    pub fn raw(&self) -> &RawMipmap {
        &self.raw
    }
}

impl<T> fmt::Debug for MipmappedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MipmappedArray")
            .field("base", &Shape::of(self.raw.descriptor()))
            .field("levels", &self.raw.levels())
            .finish()
    }
}
