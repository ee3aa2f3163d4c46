//! Texture objects: an array or linear memory, and how it is read.

use std::sync::Arc;

use cuprum_driver_sys::{
    CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode, CUfilter_mode,
    CUresult, flags,
};

use super::coordinate::AddressMode;
use super::{Array, Channel, Format, Level, Query};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::memory::GRANULE;

/// Linear memory begins at a multiple of this (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`), bytes: every allocation does.
pub(crate) const ALIGNMENT: u64 = GRANULE;
/// Rows of linear memory are a multiple of this apart (`CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT`), bytes.
const PITCH_ALIGNMENT: usize = 32;
/// Texels of linear memory at most (`CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH`).
const MAX_LINEAR: u64 = 1 << 28;
/// Texels of a row, rows and bytes of a pitch of linear memory at most.
const MAX_PITCHED: [usize; 3] = [131_072, 65_000, 2_097_120];

/// How a value is made out of neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Point,
    Linear,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampler {
    pub(crate) address: [AddressMode; 3],
    pub(crate) filter: Filter,
    pub(crate) mip_filter: Filter,
    /// Whether coordinates go from 0 to 1.
    pub(crate) normalized: bool,
    /// Whether 8- and 16-bit integers are read as they are, not as fractions.
    pub(crate) as_integer: bool,
    pub(crate) srgb: bool,
    pub(crate) seamless: bool,
    pub(crate) anisotropy: u32,
    /// Added to the level of detail.
    pub(crate) bias: f32,
    /// Bounds of the level of detail.
    pub(crate) least: f32,
    pub(crate) greatest: f32,
    pub(crate) border: [f32; 4],
}

impl Sampler {
    /// Reads a description.
    pub(crate) fn new(description: &CUDA_TEXTURE_DESC) -> Outcome<Self> {
        let d = description;
        let known = flags::CU_TRSF_READ_AS_INTEGER
            | flags::CU_TRSF_NORMALIZED_COORDINATES
            | flags::CU_TRSF_SRGB
            | flags::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
            | flags::CU_TRSF_SEAMLESS_CUBEMAP;
        if d.flags & !known != 0 {
            return fail(
                CUresult::INVALID_VALUE,
                format!("texture flags {:#x} have no meaning", d.flags & !known),
            );
        }
        let has = |flag: u32| d.flags & flag != 0;
        let mut address = [AddressMode::Clamp; 3];
        for (mode, code) in address.iter_mut().zip(d.addressMode) {
            *mode = address_mode(code)?;
        }
        Ok(Self {
            address,
            filter: filter(d.filterMode)?,
            mip_filter: filter(d.mipmapFilterMode)?,
            normalized: has(flags::CU_TRSF_NORMALIZED_COORDINATES),
            as_integer: has(flags::CU_TRSF_READ_AS_INTEGER),
            srgb: has(flags::CU_TRSF_SRGB),
            seamless: has(flags::CU_TRSF_SEAMLESS_CUBEMAP),
            anisotropy: d.maxAnisotropy,
            bias: d.mipmapLevelBias,
            least: d.minMipmapLevelClamp,
            greatest: d.maxMipmapLevelClamp,
            border: d.borderColor,
        })
    }
}

pub(super) fn address_mode(code: CUaddress_mode) -> Outcome<AddressMode> {
    Ok(match code {
        CUaddress_mode::WRAP => AddressMode::Wrap,
        CUaddress_mode::CLAMP => AddressMode::Clamp,
        CUaddress_mode::MIRROR => AddressMode::Mirror,
        CUaddress_mode::BORDER => AddressMode::Border,
        _ => {
            return fail(
                CUresult::INVALID_VALUE,
                format!("address mode {} has no meaning", code.0),
            );
        }
    })
}

pub(super) fn filter(code: CUfilter_mode) -> Outcome<Filter> {
    Ok(match code {
        CUfilter_mode::POINT => Filter::Point,
        CUfilter_mode::LINEAR => Filter::Linear,
        _ => {
            return fail(
                CUresult::INVALID_VALUE,
                format!("filter mode {} has no meaning", code.0),
            );
        }
    })
}

/// What kind of memory a texture reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Array,
    Linear,
    Pitched,
}

/// A texture object.
#[derive(Debug)]
pub(crate) struct Texture {
    pub(super) kind: Kind,
    pub(super) sampler: Sampler,
    pub(super) format: Format,
    pub(super) is_cube: bool,
    pub(super) is_mipmapped: bool,
    levels: Vec<Level>,
    /// Sizes as the array's description gives them, for queries.
    extent: [usize; 3],
    /// Linear memory: its first and last byte, which must be readable when the texture is read.
    pub(crate) memory: Option<(u64, u64)>,
    /// Keeps the texels of an array.
    array: Option<Arc<Array>>,
    /// What the program created it from, for when it asks; `None` for one that stands for a reference.
    pub(crate) created: Option<Box<Created>>,
}

/// The descriptions of a texture object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Created {
    pub(crate) resource: CUDA_RESOURCE_DESC,
    pub(crate) description: CUDA_TEXTURE_DESC,
    pub(crate) view: Option<CUDA_RESOURCE_VIEW_DESC>,
}

/// What a texture object is to read: what `CUDA_RESOURCE_DESC` names, looked up.
#[derive(Clone, Debug)]
pub(crate) enum Resource {
    Array(Arc<Array>),
    Mipmap(Arc<Array>),
    Linear {
        address: u64,
        format: Format,
        bytes: u64,
    },
    Pitched {
        address: u64,
        format: Format,
        width: usize,
        height: usize,
        pitch: usize,
    },
}

fn invalid<T>(text: impl Into<String>) -> Outcome<T> {
    fail(CUresult::INVALID_VALUE, text)
}

impl Texture {
    /// Creates a texture, or says why hardware would refuse it.
    pub(crate) fn new(
        resource: Resource,
        description: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
    ) -> Outcome<Self> {
        let sampler = Sampler::new(description)?;
        let mut texture = match resource {
            Resource::Array(array) => Self::of_array(array, false, sampler),
            Resource::Mipmap(array) => Self::of_array(array, true, sampler),
            Resource::Linear {
                address,
                format,
                bytes,
            } => Self::of_linear(address, format, bytes, sampler)?,
            Resource::Pitched {
                address,
                format,
                width,
                height,
                pitch,
            } => Self::of_rows(address, format, [width, height, pitch], sampler)?,
        };
        if let Some(view) = view {
            texture.narrow(view)?;
        }
        texture.check()?;
        Ok(texture)
    }

    fn of_array(array: Arc<Array>, is_mipmapped: bool, sampler: Sampler) -> Self {
        Self {
            kind: Kind::Array,
            sampler,
            format: array.shape.format,
            is_cube: array.shape.is_cube(),
            is_mipmapped,
            levels: array.levels.clone(),
            extent: array.shape.extent,
            memory: None,
            array: Some(array),
            created: None,
        }
    }

    fn of_linear(address: u64, format: Format, bytes: u64, sampler: Sampler) -> Outcome<Self> {
        let texel = u64::from(format.bytes());
        let texels = bytes / texel;
        if texels == 0 || texels > MAX_LINEAR {
            return invalid(format!(
                "a texture of {bytes} bytes of linear memory, {texels} texels: at least 1, at most {MAX_LINEAR}"
            ));
        }
        check_memory(address, bytes)?;
        Ok(Self {
            kind: Kind::Linear,
            sampler,
            format,
            is_cube: false,
            is_mipmapped: false,
            levels: vec![Level {
                address,
                extent: [texels as u32, 1, 1],
                pitch: bytes,
                slice: bytes,
            }],
            extent: [texels as usize, 0, 0],
            memory: Some((address, address + texels * texel - 1)),
            array: None,
            created: None,
        })
    }

    fn of_rows(
        address: u64,
        format: Format,
        [width, height, pitch]: [usize; 3],
        sampler: Sampler,
    ) -> Outcome<Self> {
        let [most_width, most_height, most_pitch] = MAX_PITCHED;
        if width == 0
            || height == 0
            || width > most_width
            || height > most_height
            || pitch > most_pitch
        {
            return invalid(format!(
                "a texture of {height} rows of {width} texels of linear memory, {pitch} bytes apart: at most \
                 {most_height}, {most_width} and {most_pitch}"
            ));
        }
        let row = width * format.bytes() as usize;
        if pitch < row || !pitch.is_multiple_of(PITCH_ALIGNMENT) {
            return invalid(format!(
                "a pitch of {pitch} bytes for rows of {row}: it must be as long as a row and a multiple of {PITCH_ALIGNMENT}"
            ));
        }
        let bytes = ((height - 1) * pitch + row) as u64;
        check_memory(address, bytes)?;
        Ok(Self {
            kind: Kind::Pitched,
            sampler,
            format,
            is_cube: false,
            is_mipmapped: false,
            levels: vec![Level {
                address,
                extent: [width as u32, height as u32, 1],
                pitch: pitch as u64,
                slice: (pitch * height) as u64,
            }],
            extent: [width, height, 0],
            memory: Some((address, address + bytes - 1)),
            array: None,
            created: None,
        })
    }

    /// Shows only part of an array, or its texels in another format.
    fn narrow(&mut self, view: &CUDA_RESOURCE_VIEW_DESC) -> Outcome {
        let Some(array) = &self.array else {
            return invalid("a resource view of linear memory");
        };
        if let Some(format) = Format::of_view(view.format)? {
            let bytes = array.shape.format.bytes();
            if format.bytes() != bytes {
                return invalid(format!(
                    "a resource view with texels of {} bytes of an array with texels of {bytes}",
                    format.bytes()
                ));
            }
            self.format = format;
        }
        let given = [view.width, view.height, view.depth];
        if given != self.extent {
            return invalid(format!(
                "a resource view of {} x {} x {} texels of an array of {} x {} x {}",
                given[0], given[1], given[2], self.extent[0], self.extent[1], self.extent[2]
            ));
        }
        let (first, last) = (
            view.firstMipmapLevel as usize,
            view.lastMipmapLevel as usize,
        );
        if self.is_mipmapped {
            if first > last || last >= self.levels.len() {
                return invalid(format!(
                    "a resource view of levels {first} to {last} of an array with {}",
                    self.levels.len()
                ));
            }
            self.levels.truncate(last + 1);
            self.levels.drain(..first);
        }
        let layered = array.shape.is_layered() || array.shape.is_cube();
        if layered && (view.firstLayer != 0 || view.lastLayer != 0) {
            let (first, last) = (view.firstLayer, view.lastLayer);
            if first > last || last >= self.levels[0].extent[2] {
                return invalid(format!(
                    "a resource view of layers {first} to {last} of an array with {}",
                    self.levels[0].extent[2]
                ));
            }
            for level in &mut self.levels {
                level.address += u64::from(first) * level.slice;
                level.extent[2] = last - first + 1;
            }
        }
        Ok(())
    }

    /// Refuses what hardware refuses.
    fn check(&self) -> Outcome {
        let sampler = &self.sampler;
        if sampler.filter == Filter::Linear && !self.is_fraction() {
            return invalid(
                "linear filtering of integers: only floats, and 8- and 16-bit integers read as fractions, can be filtered",
            );
        }
        if sampler.srgb && self.format.channel != Channel::U8 {
            return invalid("sRGB conversion is for unsigned 8-bit channels");
        }
        if self.is_mipmapped && !sampler.normalized {
            return invalid("a texture of a mipmapped array needs normalised coordinates");
        }
        if self.kind == Kind::Linear && (sampler.normalized || sampler.filter == Filter::Linear) {
            return invalid(
                "a texture of linear memory is read by index: no normalised coordinates, no linear filtering",
            );
        }
        Ok(())
    }

    /// Whether reads give floats.
    pub(super) fn is_fraction(&self) -> bool {
        self.format.is_fraction(self.sampler.as_integer)
    }

    pub(super) fn level(&self, number: usize) -> &Level {
        &self.levels[number]
    }

    pub(super) fn level_count(&self) -> usize {
        self.levels.len()
    }

    pub(crate) fn query(&self, query_of: Query) -> u32 {
        query(&self.extent, self.format, query_of).unwrap_or(match query_of {
            Query::NormalizedCoordinates => u32::from(self.sampler.normalized),
            Query::MipmapLevels => self.levels.len() as u32,
            _ => 1,
        })
    }
}

/// What is the same for textures and surfaces; `None` for the rest.
pub(super) fn query(extent: &[usize; 3], format: Format, query: Query) -> Option<u32> {
    Some(match query {
        Query::Width => extent[0] as u32,
        Query::Height => extent[1] as u32,
        Query::Depth | Query::ArraySize => extent[2] as u32,
        Query::ChannelDataType => super::surface::data_type(format.channel),
        // Those of `OpenCL`: CL_R, CL_RG and CL_RGBA.
        Query::ChannelOrder => match format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        _ => return None,
    })
}

fn check_memory(address: u64, bytes: u64) -> Outcome {
    if !address.is_multiple_of(ALIGNMENT) {
        return invalid(format!(
            "a texture of linear memory at {address:#x}: its start must be a multiple of {ALIGNMENT} bytes"
        ));
    }
    driver()?
        .space
        .check("texture memory", address, bytes)
        .map(drop)
}
