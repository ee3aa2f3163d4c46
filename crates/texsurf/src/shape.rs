//! The shapes of arrays.

use std::fmt;

use cuprum_driver_core::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray_format, flags};

/// The shape of an array, and what it is for. Sizes count texels; x runs fastest.
///
/// ```
/// use cuprum_texsurf::Shape;
///
/// let volume = Shape::d3(64, 32, 16).with_surfaces();
/// assert_eq!((volume.width(), volume.len()), (64, 64 * 32 * 16));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// As CUDA wants them: zeros where there is no such dimension.
    sizes: [usize; 3],
    flags: u32,
}

impl Shape {
    const fn new(sizes: [usize; 3], flags: u32) -> Self {
        Self { sizes, flags }
    }

    /// One dimension.
    #[must_use]
    pub const fn d1(width: usize) -> Self {
        Self::new([width, 0, 0], 0)
    }

    /// Two dimensions: `height` rows of `width` texels.
    #[must_use]
    pub const fn d2(width: usize, height: usize) -> Self {
        Self::new([width, height, 0], 0)
    }

    /// Three dimensions: `depth` slices of `height` rows of `width` texels.
    #[must_use]
    pub const fn d3(width: usize, height: usize, depth: usize) -> Self {
        Self::new([width, height, depth], 0)
    }

    /// Layers of one dimension.
    #[must_use]
    pub const fn layers_1d(width: usize, layers: usize) -> Self {
        Self::new([width, 0, layers], flags::CUDA_ARRAY3D_LAYERED)
    }

    /// Layers of two dimensions.
    #[must_use]
    pub const fn layers_2d(width: usize, height: usize, layers: usize) -> Self {
        Self::new([width, height, layers], flags::CUDA_ARRAY3D_LAYERED)
    }

    /// A cube map: six square faces, +x, -x, +y, -y, +z, -z.
    #[must_use]
    pub const fn cube(side: usize) -> Self {
        Self::new([side, side, 6], flags::CUDA_ARRAY3D_CUBEMAP)
    }

    /// Layers of cube maps.
    #[must_use]
    pub const fn layers_cube(side: usize, layers: usize) -> Self {
        Self::new(
            [side, side, 6 * layers],
            flags::CUDA_ARRAY3D_CUBEMAP | flags::CUDA_ARRAY3D_LAYERED,
        )
    }

    /// The same, for surfaces too.
    #[must_use]
    pub const fn with_surfaces(self) -> Self {
        Self::new(self.sizes, self.flags | flags::CUDA_ARRAY3D_SURFACE_LDST)
    }

    /// The same, for gathering too (`tex2Dgather`).
    #[must_use]
    pub const fn with_gather(self) -> Self {
        Self::new(self.sizes, self.flags | flags::CUDA_ARRAY3D_TEXTURE_GATHER)
    }

    /// Texels of a row.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.sizes[0]
    }

    /// Rows, at least one.
    #[must_use]
    pub fn height(&self) -> usize {
        self.sizes[1].max(1)
    }

    /// Slices, layers or faces (six for each layer of cubes), at least one.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.sizes[2].max(1)
    }

    /// All texels.
    ///
    /// # Panics
    /// If there are more than `usize` can count.
    #[must_use]
    pub fn len(&self) -> usize {
        let rows = self.height().checked_mul(self.depth());
        rows.and_then(|rows| rows.checked_mul(self.width()))
            .expect("the texels of an array can be counted")
    }

    /// Whether there are no texels: CUDA has no such arrays.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.sizes[0] == 0
    }

    /// Whether surfaces may be made.
    #[must_use]
    pub const fn has_surfaces(&self) -> bool {
        self.flags & flags::CUDA_ARRAY3D_SURFACE_LDST != 0
    }

    pub(crate) fn descriptor(
        &self,
        format: CUarray_format,
        channels: u32,
    ) -> CUDA_ARRAY3D_DESCRIPTOR {
        CUDA_ARRAY3D_DESCRIPTOR {
            Width: self.sizes[0],
            Height: self.sizes[1],
            Depth: self.sizes[2],
            Format: format,
            NumChannels: channels,
            Flags: self.flags,
        }
    }

    pub(crate) fn of(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Self {
        Self::new(
            [descriptor.Width, descriptor.Height, descriptor.Depth],
            descriptor.Flags,
        )
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Shape({} x {} x {}, flags {:#x})",
            self.sizes[0], self.sizes[1], self.sizes[2], self.flags
        )
    }
}
