//! Pictures of the `image` crate.

use cuprum_driver_core::{Error, ErrorKind, Result, Stream};
use image::{DynamicImage, ImageBuffer, Luma, LumaA, Rgba};

use crate::{Array, Shape, Texel};

/// An array made of a picture. Hardware has no texels of three channels: RGB becomes RGBA, opaque.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PictureArray {
    /// Grey, 8 bits.
    L8(Array<u8>),
    /// Grey with alpha, 8 bits.
    La8(Array<[u8; 2]>),
    /// Colour with alpha, 8 bits.
    Rgba8(Array<[u8; 4]>),
    /// Grey, 16 bits.
    L16(Array<u16>),
    /// Grey with alpha, 16 bits.
    La16(Array<[u16; 2]>),
    /// Colour with alpha, 16 bits.
    Rgba16(Array<[u16; 4]>),
    /// Colour with alpha, floats.
    Rgba32F(Array<[f32; 4]>),
}

/// An array with the texels of a picture, of every colour kind that the `image` crate has.
///
/// # Errors
/// As [`Array::from_slice`]; [`ErrorKind::Unsupported`] for a colour kind that this version does not know.
pub fn from_picture(stream: &Stream, picture: &DynamicImage) -> Result<PictureArray> {
    let shape = Shape::d2(picture.width() as usize, picture.height() as usize);
    Ok(match picture {
        DynamicImage::ImageLuma8(p) => PictureArray::L8(upload(stream, shape, p)?),
        DynamicImage::ImageLumaA8(p) => PictureArray::La8(upload(stream, shape, p)?),
        DynamicImage::ImageRgb8(_) | DynamicImage::ImageRgba8(_) => {
            PictureArray::Rgba8(upload(stream, shape, &picture.to_rgba8())?)
        }
        DynamicImage::ImageLuma16(p) => PictureArray::L16(upload(stream, shape, p)?),
        DynamicImage::ImageLumaA16(p) => PictureArray::La16(upload(stream, shape, p)?),
        DynamicImage::ImageRgb16(_) | DynamicImage::ImageRgba16(_) => {
            PictureArray::Rgba16(upload(stream, shape, &picture.to_rgba16())?)
        }
        DynamicImage::ImageRgb32F(_) | DynamicImage::ImageRgba32F(_) => {
            PictureArray::Rgba32F(upload(stream, shape, &picture.to_rgba32f())?)
        }
        other => {
            return Err(Error::custom(
                ErrorKind::Unsupported,
                format!("pictures of colour kind {:?}", other.color()),
            ));
        }
    })
}

/// Pixels lie row by row without gaps, as texels do.
fn upload<T: Texel, P>(
    stream: &Stream,
    shape: Shape,
    picture: &ImageBuffer<P, Vec<T::Channel>>,
) -> Result<Array<T>>
where
    P: image::Pixel<Subpixel = T::Channel>,
    T::Channel: image::Primitive,
{
    Array::from_slice(stream, shape, bytemuck::cast_slice(picture.as_raw()))
}

impl PictureArray {
    /// The picture. Waits for the work that writes the texels.
    ///
    /// # Errors
    /// What the driver returns; the failure of earlier work.
    pub fn to_picture(&self) -> Result<DynamicImage> {
        Ok(match self {
            Self::L8(array) => DynamicImage::ImageLuma8(download::<_, Luma<u8>>(array)?),
            Self::La8(array) => DynamicImage::ImageLumaA8(download::<_, LumaA<u8>>(array)?),
            Self::Rgba8(array) => DynamicImage::ImageRgba8(download::<_, Rgba<u8>>(array)?),
            Self::L16(array) => DynamicImage::ImageLuma16(download::<_, Luma<u16>>(array)?),
            Self::La16(array) => DynamicImage::ImageLumaA16(download::<_, LumaA<u16>>(array)?),
            Self::Rgba16(array) => DynamicImage::ImageRgba16(download::<_, Rgba<u16>>(array)?),
            Self::Rgba32F(array) => DynamicImage::ImageRgba32F(download::<_, Rgba<f32>>(array)?),
        })
    }
}

fn download<T: Texel, P>(array: &Array<T>) -> Result<ImageBuffer<P, Vec<T::Channel>>>
where
    P: image::Pixel<Subpixel = T::Channel>,
    T::Channel: image::Primitive,
{
    let shape = array.shape();
    let texels = array.to_vec()?;
    let pixels = bytemuck::cast_slice::<T, T::Channel>(&texels).to_vec();
    let (width, height) = (shape.width() as u32, shape.height() as u32);
    Ok(ImageBuffer::from_raw(width, height, pixels)
        .expect("a texel has as many channels as a pixel"))
}
