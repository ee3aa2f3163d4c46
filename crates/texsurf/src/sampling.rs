//! How textures are read.

use cuprum_driver_core::sys::{CUDA_TEXTURE_DESC, CUaddress_mode, CUfilter_mode, flags};

/// What a texture reads outside of its extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AddressMode {
    /// The texture repeats. Without normalised coordinates, as [`AddressMode::Clamp`].
    Wrap,
    /// The nearest edge.
    #[default]
    Clamp,
    /// The texture repeats, every other time mirrored. Without normalised coordinates, as [`AddressMode::Clamp`].
    Mirror,
    /// The border colour.
    Border,
}

/// How a value is made out of texels, or out of mip levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// The nearest one.
    #[default]
    Point,
    /// Linear interpolation, by weights in 256ths.
    Linear,
}

/// What a kernel gets of 8- and 16-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Read {
    /// The numbers as they are: `tex2D<uchar4>`.
    #[default]
    Element,
    /// Floats from 0 to 1, or from -1 to 1: `tex2D<float4>`.
    Normalized,
}

/// How a texture is read: by default the nearest texel, at coordinates in texels, clamped to the edges.
///
/// ```
/// use cuprum_texsurf::{AddressMode, Filter, Sampling};
///
/// let repeating = Sampling::new().normalized(true).address(AddressMode::Wrap).filter(Filter::Linear);
/// assert_ne!(repeating, Sampling::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Sampling {
    address: [AddressMode; 3],
    filter: Filter,
    mip_filter: Filter,
    read: Read,
    normalized: bool,
    srgb: bool,
    seamless_cube: bool,
    max_anisotropy: u32,
    level_bias: f32,
    levels: [f32; 2],
    border: [f32; 4],
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            mip_filter: Filter::Point,
            read: Read::Element,
            normalized: false,
            srgb: false,
            seamless_cube: false,
            max_anisotropy: 1,
            level_bias: 0.0,
            levels: [0.0, f32::MAX],
            border: [0.0; 4],
        }
    }
}

impl Sampling {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is outside, in every direction.
    pub fn address(self, mode: AddressMode) -> Self {
        self.address_each([mode; 3])
    }

    /// What is outside, in x, y and z.
    pub fn address_each(mut self, modes: [AddressMode; 3]) -> Self {
        self.address = modes;
        self
    }

    /// How a value is made out of texels.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// How a value is made out of mip levels.
    pub fn mip_filter(mut self, filter: Filter) -> Self {
        self.mip_filter = filter;
        self
    }

    /// What a kernel gets of 8- and 16-bit integers.
    pub fn read(mut self, read: Read) -> Self {
        self.read = read;
        self
    }

    /// Whether coordinates go from 0 to 1.
    pub fn normalized(mut self, normalized: bool) -> Self {
        self.normalized = normalized;
        self
    }

    /// Whether colours are stored as sRGB and read as linear light. For `u8` channels, read normalised.
    pub fn srgb(mut self, srgb: bool) -> Self {
        self.srgb = srgb;
        self
    }

    /// Whether cube maps are filtered across edges.
    pub fn seamless_cube(mut self, seamless: bool) -> Self {
        self.seamless_cube = seamless;
        self
    }

    /// The most texels along the longer gradient, 1 to 16 (`tex2DGrad`).
    pub fn max_anisotropy(mut self, most: u32) -> Self {
        self.max_anisotropy = most;
        self
    }

    /// What is added to the level of detail.
    pub fn level_bias(mut self, bias: f32) -> Self {
        self.level_bias = bias;
        self
    }

    /// The least and greatest level of detail.
    pub fn levels(mut self, least: f32, greatest: f32) -> Self {
        self.levels = [least, greatest];
        self
    }

    /// The border colour.
    pub fn border(mut self, color: [f32; 4]) -> Self {
        self.border = color;
        self
    }

    /// As the driver wants it.
    #[must_use]
    pub fn description(&self) -> CUDA_TEXTURE_DESC {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let address = |mode: AddressMode| match mode {
            AddressMode::Wrap => CUaddress_mode::WRAP,
            AddressMode::Clamp => CUaddress_mode::CLAMP,
            AddressMode::Mirror => CUaddress_mode::MIRROR,
            AddressMode::Border => CUaddress_mode::BORDER,
        };
        let filter = |filter: Filter| match filter {
            Filter::Point => CUfilter_mode::POINT,
            Filter::Linear => CUfilter_mode::LINEAR,
        };
        CUDA_TEXTURE_DESC {
            addressMode: self.address.map(address),
            filterMode: filter(self.filter),
            flags: flag(self.read == Read::Element, flags::CU_TRSF_READ_AS_INTEGER)
                | flag(self.normalized, flags::CU_TRSF_NORMALIZED_COORDINATES)
                | flag(self.srgb, flags::CU_TRSF_SRGB)
                | flag(self.seamless_cube, flags::CU_TRSF_SEAMLESS_CUBEMAP),
            maxAnisotropy: self.max_anisotropy,
            mipmapFilterMode: filter(self.mip_filter),
            mipmapLevelBias: self.level_bias,
            minMipmapLevelClamp: self.levels[0],
            maxMipmapLevelClamp: self.levels[1],
            borderColor: self.border,
            reserved: [0; 12],
        }
    }
}
