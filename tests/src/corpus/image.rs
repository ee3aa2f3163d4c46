//! Arrays, textures and surfaces of a case.

use cuprum::driver::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray_format, flags};
use cuprum::driver::{
    Array, DeviceBuffer, MipmappedArray, Region, Result, Stream, SurfaceObject, TextureObject,
};
use cuprum::texsurf::{Channel as _, Sampling, Texel};

use super::case::Argument;
use super::lane::{Compare, Lane, compare};
use super::{Bound, Case};

/// What a texture or surface reads.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) name: String,
    descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// Linear memory instead of an array.
    is_linear: bool,
    /// The bytes of each level.
    levels: Vec<Vec<u8>>,
    /// What the base level must hold after the launch.
    expected: Option<(Vec<u8>, Compare)>,
}

/// An object made of an image.
#[derive(Debug)]
pub(crate) enum Object {
    Texture(usize, Sampling),
    Surface(usize),
}

/// A texture's handle, to be written into a buffer before the launch.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) into: usize,
    pub(crate) offset: usize,
    pub(crate) object: usize,
}

/// The shape of an image: `[width, height, depth]`, zeros where there is no such dimension, and `CUDA_ARRAY3D_...`.
pub(crate) type Shape = ([usize; 3], u32);

/// One dimension, two, three.
pub(crate) fn flat(width: usize) -> Shape {
    ([width, 0, 0], 0)
}

/// Two dimensions.
pub(crate) fn plane(width: usize, height: usize) -> Shape {
    ([width, height, 0], 0)
}

/// Three dimensions.
pub(crate) fn volume(width: usize, height: usize, depth: usize) -> Shape {
    ([width, height, depth], 0)
}

/// Layers.
pub(crate) fn layers(width: usize, height: usize, depth: usize) -> Shape {
    ([width, height, depth], flags::CUDA_ARRAY3D_LAYERED)
}

/// Cubes.
pub(crate) fn cubes(side: usize, layers: usize) -> Shape {
    let layered = if layers > 1 {
        flags::CUDA_ARRAY3D_LAYERED
    } else {
        0
    };
    (
        [side, side, 6 * layers],
        flags::CUDA_ARRAY3D_CUBEMAP | layered,
    )
}

impl Case {
    /// An array that the case uses, for textures and surfaces. Images are counted from 0.
    #[must_use]
    pub(crate) fn image<T: Texel>(self, shape: Shape, texels: &[T]) -> Self {
        self.mipmapped(shape, &[texels])
    }

    /// A mipmapped array with all its levels, or an array if there is one.
    #[must_use]
    pub(crate) fn mipmapped<T: Texel>(
        mut self,
        ([width, height, depth], given): Shape,
        levels: &[&[T]],
    ) -> Self {
        let surface = if levels.len() == 1 {
            flags::CUDA_ARRAY3D_SURFACE_LDST
        } else {
            0
        };
        self.images.push(Image {
            name: format!("image {}", self.images.len()),
            descriptor: CUDA_ARRAY3D_DESCRIPTOR {
                Width: width,
                Height: height,
                Depth: depth,
                Format: T::Channel::FORMAT,
                NumChannels: T::CHANNELS,
                Flags: given | surface,
            },
            is_linear: false,
            levels: levels
                .iter()
                .map(|texels| bytemuck::cast_slice(texels).to_vec())
                .collect(),
            expected: None,
        });
        self
    }

    /// Linear memory that the case uses as an image.
    #[must_use]
    pub(crate) fn linear_image<T: Texel>(self, texels: &[T]) -> Self {
        let mut case = self.image(flat(texels.len()), texels);
        let image = case.images.last_mut().expect("an image was given");
        image.is_linear = true;
        case
    }

    /// What the last image must hold after the launch.
    #[must_use]
    pub(crate) fn becomes<T: Lane>(mut self, want: &[T]) -> Self {
        let image = self.images.last_mut().expect("an image was given");
        image.expected = Some((bytemuck::cast_slice(want).to_vec(), compare::<T>));
        self
    }

    /// The next argument: a texture of an image.
    #[must_use]
    pub(crate) fn texture(mut self, image: usize, sampling: Sampling) -> Self {
        self.arguments.push(Argument::Object(self.objects.len()));
        self.objects.push(Object::Texture(image, sampling));
        self
    }

    /// The next argument: a surface of an image.
    #[must_use]
    pub(crate) fn surface(mut self, image: usize) -> Self {
        self.arguments.push(Argument::Object(self.objects.len()));
        self.objects.push(Object::Surface(image));
        self
    }

    /// The buffer that was the `into`-th one given holds the handle of a texture at byte `offset`.
    #[must_use]
    pub(crate) fn texture_in(
        mut self,
        into: usize,
        offset: usize,
        image: usize,
        sampling: Sampling,
    ) -> Self {
        self.handles.push(Handle {
            into,
            offset,
            object: self.objects.len(),
        });
        self.objects.push(Object::Texture(image, sampling));
        self
    }
}

/// The images of a case on a device.
#[derive(Debug)]
pub(crate) enum Placed {
    Array(Array),
    Mipmap(MipmappedArray),
    Linear(DeviceBuffer<u8>, CUarray_format, u32),
}

/// The objects of a case on a device.
#[derive(Debug)]
pub(crate) enum Made<'a> {
    Texture(TextureObject<'a>),
    Surface(SurfaceObject),
}

impl Made<'_> {
    pub(crate) fn handle(&self) -> u64 {
        match self {
            Self::Texture(texture) => texture.raw(),
            Self::Surface(surface) => surface.raw(),
        }
    }
}

fn write(array: &Array, texels: &[u8]) -> Result<()> {
    let pitch = array.extent()[0] * array.texel_bytes();
    array.write(Region::whole(array), texels, pitch)
}

impl Image {
    pub(crate) fn place(&self, stream: &Stream) -> Result<Placed> {
        if self.is_linear {
            let buffer = DeviceBuffer::from_slice(stream, &self.levels[0])?;
            let d = &self.descriptor;
            return Ok(Placed::Linear(buffer, d.Format, d.NumChannels));
        }
        if let [texels] = &self.levels[..] {
            let array = Array::new(stream, &self.descriptor)?;
            write(&array, texels)?;
            return Ok(Placed::Array(array));
        }
        let mipmap = MipmappedArray::new(stream, &self.descriptor, self.levels.len() as u32)?;
        for (number, texels) in self.levels.iter().enumerate() {
            write(&mipmap.level(number as u32)?, texels)?;
        }
        Ok(Placed::Mipmap(mipmap))
    }

    /// Compares what is there after the launch.
    ///
    /// # Errors
    /// Where it is wrong.
    pub(crate) fn judge(&self, found: &[u8]) -> std::result::Result<f64, String> {
        match &self.expected {
            Some((want, compare)) => compare(want, found, Bound::Equal),
            None => Ok(0.0),
        }
    }
}

impl Placed {
    /// The bytes of an array's base level; nothing of what kernels only read.
    pub(crate) fn contents(&self) -> Result<Vec<u8>> {
        let Self::Array(array) = self else {
            return Ok(Vec::new());
        };
        let pitch = array.extent()[0] * array.texel_bytes();
        let mut bytes = vec![0; pitch * array.extent()[1] * array.extent()[2]];
        array.read(Region::whole(array), &mut bytes, pitch)?;
        Ok(bytes)
    }
}

impl Object {
    pub(crate) fn make<'a>(&self, images: &'a [Placed]) -> Result<Made<'a>> {
        Ok(match self {
            Self::Texture(image, sampling) => {
                let description = sampling.description();
                Made::Texture(match &images[*image] {
                    Placed::Array(array) => TextureObject::of_array(array, &description, None)?,
                    Placed::Mipmap(array) => {
                        TextureObject::of_mipmapped_array(array, &description, None)?
                    }
                    Placed::Linear(buffer, format, channels) => {
                        TextureObject::of_linear(buffer.view(), *format, *channels, &description)?
                    }
                })
            }
            Self::Surface(image) => match &images[*image] {
                Placed::Array(array) => Made::Surface(SurfaceObject::new(array)?),
                Placed::Mipmap(_) | Placed::Linear(..) => {
                    unreachable!("a case makes surfaces of arrays only")
                }
            },
        })
    }
}
