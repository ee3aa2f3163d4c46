//! Arrays with typed texels.

use std::fmt;
use std::marker::PhantomData;

use cuprum_driver_core::{
    Array as RawArray, Context, DeviceView, DeviceViewMut, Error, ErrorKind, Region, Result, Stream,
};

use crate::{Channel as _, Shape, Texel};

/// A CUDA array of texels of type `T`: memory that kernels read through textures, and read and write through surfaces.
///
/// It is a shared handle: textures and surfaces keep the array alive. The host's texels are in rows, rows in slices,
/// without gaps.
///
/// ```
/// use cuprum_driver_core::Device;
/// use cuprum_texsurf::{Array, Shape};
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let array = Array::from_slice(&stream, Shape::d2(3, 2), &[1u8, 2, 3, 4, 5, 6])?;
/// assert_eq!(array.to_vec()?, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
pub struct Array<T> {
    raw: RawArray,
    texels: PhantomData<T>,
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            texels: PhantomData,
        }
    }
}

impl<T: Texel> Array<T> {
    /// An array whose texels are not determined until they are written.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for sizes and flags that make no array, [`ErrorKind::OutOfMemory`], what the driver
    /// returns.
    pub fn new(stream: &Stream, shape: Shape) -> Result<Self> {
        let descriptor = shape.descriptor(T::Channel::FORMAT, T::CHANNELS);
        RawArray::new(stream, &descriptor).map(Self::wrap)
    }

    /// An array with these texels.
    ///
    /// # Errors
    /// As [`Array::new`]; [`ErrorKind::InvalidArgument`] unless there are as many texels as the shape says.
    pub fn from_slice(stream: &Stream, shape: Shape, texels: &[T]) -> Result<Self> {
        check_len(shape, texels.len())?;
        let array = Self::new(stream, shape)?;
        array.copy_from_slice(texels)?;
        Ok(array)
    }

    pub(crate) fn wrap(raw: RawArray) -> Self {
        Self {
            raw,
            texels: PhantomData,
        }
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape::of(self.raw.descriptor())
    }

    /// The untyped array.
    #[must_use]
    pub fn raw(&self) -> &RawArray {
        &self.raw
    }

    /// The stream it was created for, on which blocking copies run.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.raw.stream()
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.raw.context()
    }

    fn pitch(&self) -> usize {
        self.shape().width() * size_of::<T>()
    }

    /// Writes all texels. `texels` may be changed as soon as this returns.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless there are as many as in the array; what the driver returns; the failure of
    /// earlier work.
    pub fn copy_from_slice(&self, texels: &[T]) -> Result<()> {
        check_len(self.shape(), texels.len())?;
        let region = Region::whole(&self.raw);
        self.raw
            .write(region, bytemuck::cast_slice(texels), self.pitch())
    }

    /// Writes a region; its texels follow each other in `texels`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the region leaves the array or `texels` is too short; what the driver returns; the
    /// failure of earlier work.
    pub fn write_region(&self, region: Region, texels: &[T]) -> Result<()> {
        let pitch = region.extent[0].saturating_mul(size_of::<T>());
        self.raw.write(region, bytemuck::cast_slice(texels), pitch)
    }

    /// The texels of a region, one after the other. Waits for the work that writes them.
    ///
    /// # Errors
    /// As [`Array::write_region`].
    pub fn read_region(&self, region: Region) -> Result<Vec<T>> {
        let count = region
            .extent
            .iter()
            .try_fold(1usize, |all, &n| all.checked_mul(n));
        let count = count
            .filter(|&count| count <= self.shape().len())
            .ok_or_else(|| {
                Error::custom(
                    ErrorKind::InvalidArgument,
                    format!(
                        "a region of {:?} texels of {:?}",
                        region.extent,
                        self.shape()
                    ),
                )
            })?;
        let mut texels = vec![T::zeroed(); count];
        let pitch = region.extent[0] * size_of::<T>();
        self.raw
            .read(region, bytemuck::cast_slice_mut(&mut texels), pitch)?;
        Ok(texels)
    }

    /// All texels. Waits for the work that writes them.
    ///
    /// # Errors
    /// What the driver returns; the failure of earlier work.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.read_region(Region::whole(&self.raw))
    }

    /// Writes all texels from device memory, on `stream`. The host does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless there are as many as in the array; [`ErrorKind::WrongContext`]; what the driver
    /// returns.
    pub fn copy_from_device(&self, stream: &Stream, texels: DeviceView<'_, T>) -> Result<()> {
        check_len(self.shape(), texels.len())?;
        self.raw
            .copy_from(stream, Region::whole(&self.raw), texels, self.pitch())
    }

    /// Copies all texels to device memory, on `stream`. The host does not wait.
    ///
    /// # Errors
    /// As [`Array::copy_from_device`].
    pub fn copy_to_device(&self, stream: &Stream, texels: &mut DeviceViewMut<'_, T>) -> Result<()> {
        check_len(self.shape(), texels.len())?;
        self.raw
            .copy_to(stream, Region::whole(&self.raw), texels, self.pitch())
    }
}

fn check_len(shape: Shape, texels: usize) -> Result<()> {
    if shape.len() == texels {
        return Ok(());
    }
    Err(Error::custom(
        ErrorKind::InvalidArgument,
        format!("{texels} texels for an array of {}: {shape:?}", shape.len()),
    ))
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Array")
            .field(&Shape::of(self.raw.descriptor()))
            .finish()
    }
}
