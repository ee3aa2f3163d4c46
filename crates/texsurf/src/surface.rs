//! Surface objects.

use cuprum_driver_core::{ArgTable, KernelArg, Result, SurfaceObject};

use crate::{Array, Texel};

/// A surface object: an array that kernels read and write. It keeps the array alive.
///
/// In a launch, `&surface` is an argument of type `cudaSurfaceObject_t`, and counts as a write of the array.
///
/// ```
/// use cuprum_codegen::SourceModule;
/// use cuprum_driver_core::{Device, LaunchConfig};
/// use cuprum_texsurf::{Array, Shape, Surface};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let module = SourceModule::new(&context, r#"
///     extern "C" __global__ void number(cudaSurfaceObject_t s) {
///         surf2Dwrite<int>(threadIdx.y * 10 + threadIdx.x, s, threadIdx.x * sizeof(int), threadIdx.y);
///     }"#)?;
///
/// let array = Array::<i32>::new(&stream, Shape::d2(3, 2).with_surfaces())?;
/// let surface = Surface::new(&array)?;
/// // SAFETY: the kernel writes a texel for each of its 3 by 2 threads, all inside of the array.
/// unsafe { module.function("number")?.launch(&stream, LaunchConfig::new((1, 1, 1), (3, 2, 1)), (&surface,))? };
/// assert_eq!(array.to_vec()?, [0, 1, 2, 10, 11, 12]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Surface {
    object: SurfaceObject,
}

impl Surface {
    /// A surface of an array.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](cuprum_driver_core::ErrorKind::InvalidArgument) unless the array's shape was made
    /// [`with_surfaces`](crate::Shape::with_surfaces).
    pub fn new<T: Texel>(array: &Array<T>) -> Result<Self> {
        Ok(Self {
            object: SurfaceObject::new(array.raw())?,
        })
    }

    /// The untyped object.
    #[must_use]
    pub fn raw(&self) -> &SurfaceObject {
        &self.object
    }
}

impl KernelArg for &Surface {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.surface(&self.object);
    }
}
