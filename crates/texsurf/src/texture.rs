//! Texture objects.

use cuprum_driver_core::sys::CUDA_RESOURCE_PITCH2D;
use cuprum_driver_core::{ArgTable, DeviceView, KernelArg, Result, TextureObject};

use crate::{Array, Channel as _, MipmappedArray, Sampling, Texel};

/// A texture object: an array, a mipmapped array or linear memory, and how it is read. It keeps the memory alive.
///
/// In a launch, `&texture` is an argument of type `cudaTextureObject_t`.
///
/// ```
/// use cuprum_codegen::SourceModule;
/// use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig};
/// use cuprum_texsurf::{Array, Filter, Sampling, Shape, Texture};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let module = SourceModule::new(&context, r#"
///     extern "C" __global__ void between(cudaTextureObject_t ramp, float *out) {
///         out[threadIdx.x] = tex1D<float>(ramp, 0.5f + threadIdx.x * 0.5f);
///     }"#)?;
///
/// let ramp = Array::from_slice(&stream, Shape::d1(3), &[0.0f32, 10.0, 20.0])?;
/// let texture = Texture::new(&ramp, &Sampling::new().filter(Filter::Linear))?;
/// let mut out = DeviceBuffer::<f32>::zeros(&stream, 5)?;
/// // SAFETY: the kernel writes one float for each of its five threads.
/// unsafe { module.function("between")?.launch(&stream, LaunchConfig::new((1, 1, 1), (5, 1, 1)), (&texture, &mut out))? };
/// assert_eq!(out.to_vec()?, [0.0, 5.0, 10.0, 15.0, 20.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Texture<'a> {
    object: TextureObject<'a>,
}

impl Texture<'static> {
    /// A texture of an array.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](cuprum_driver_core::ErrorKind::InvalidArgument) for combinations that hardware does not
    /// have: linear filtering of integers that are not read normalised, sRGB of other channels than `u8`.
    pub fn new<T: Texel>(array: &Array<T>, sampling: &Sampling) -> Result<Self> {
        let object = TextureObject::of_array(array.raw(), &sampling.description(), None)?;
        Ok(Self { object })
    }

    /// A texture of a mipmapped array: coordinates must be normalised.
    ///
    /// # Errors
    /// As [`Texture::new`].
    pub fn of_mipmapped_array<T: Texel>(
        array: &MipmappedArray<T>,
        sampling: &Sampling,
    ) -> Result<Self> {
        let description = sampling.description();
        let object = TextureObject::of_mipmapped_array(array.raw(), &description, None)?;
        Ok(Self { object })
    }
}

impl<'a> Texture<'a> {
    /// A texture of linear memory, read by index (`tex1Dfetch`). Outside it reads zeros.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](cuprum_driver_core::ErrorKind::InvalidArgument) for an empty view, one that does not
    /// begin at a multiple of the device's texture alignment, and for normalised coordinates and linear filtering.
    pub fn of_linear<T: Texel>(texels: DeviceView<'a, T>, sampling: &Sampling) -> Result<Self> {
        let object = TextureObject::of_linear(
            texels,
            T::Channel::FORMAT,
            T::CHANNELS,
            &sampling.description(),
        )?;
        Ok(Self { object })
    }

    /// A two-dimensional texture of linear memory: `height` rows of `width` texels, `pitch` texels apart.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](cuprum_driver_core::ErrorKind::InvalidArgument) if the rows do not lie in the view, if
    /// its start or the pitch is no multiple of what the device asks (`TEXTURE_ALIGNMENT`, `TEXTURE_PITCH_ALIGNMENT`), and as
    /// [`Texture::new`].
    pub fn of_rows<T: Texel>(
        texels: DeviceView<'a, T>,
        [width, height, pitch]: [usize; 3],
        sampling: &Sampling,
    ) -> Result<Self> {
        let rows = CUDA_RESOURCE_PITCH2D {
            devPtr: texels.address(),
            format: T::Channel::FORMAT,
            numChannels: T::CHANNELS,
            width,
            height,
            pitchInBytes: pitch.saturating_mul(size_of::<T>()),
        };
        let object = TextureObject::of_rows(texels, &rows, &sampling.description())?;
        Ok(Self { object })
    }

    /// The untyped object.
    #[must_use]
    pub fn raw(&self) -> &TextureObject<'a> {
        &self.object
    }
}

impl KernelArg for &Texture<'_> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.texture(&self.object);
    }
}
