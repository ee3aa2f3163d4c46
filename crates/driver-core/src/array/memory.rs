//! Arrays and mipmapped arrays.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use cuprum_driver_sys::{
    CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUarray_format, CUdeviceptr, CUmipmappedArray, flags,
};

use crate::call::call;
use crate::context::Context;
use crate::memory::{Allocation, Allocator, Span, with_retry};
use crate::parking::Resource;
use crate::stream::Stream;
use crate::tracking::Access;
use crate::uses::LastUses;
use crate::{Error, ErrorKind, Result};

/// What takes an array back: it is parked until its last use has passed.
#[derive(Debug)]
enum Release {
    Array,
    Mipmap,
}

// SAFETY: nothing is ever allocated; arrays are released by parking, which waits for their last uses.
unsafe impl Allocator for Release {
    fn allocate(&self, _stream: &Stream, _bytes: usize) -> Result<CUdeviceptr> {
        Err(Error::new(
            ErrorKind::Unsupported,
            "arrays are no source of memory",
        ))
    }

    unsafe fn release(
        &self,
        stream: &Stream,
        address: CUdeviceptr,
        _bytes: usize,
        uses: LastUses<'_>,
    ) -> Result<()> {
        let handle = std::ptr::without_provenance_mut::<c_void>(address as usize);
        let resource = match self {
            Self::Array => Resource::Array(CUarray(handle)),
            Self::Mipmap => Resource::Mipmap(CUmipmappedArray(handle)),
        };
        let context = stream.context().inner();
        context.parking().park(context, resource, &uses.to_past());
        Ok(())
    }
}

/// Texture memory: texels in rows, slices, layers or faces, in a layout of the device's own (`CUarray`). A shared handle.
///
/// Kernels reach it through a [`TextureObject`](super::TextureObject) or a [`SurfaceObject`](super::SurfaceObject), which
/// keep it alive. What texels hold before they are written is not determined.
#[derive(Clone)]
pub struct Array {
    /// The array's memory, or that of the mipmapped array it is a level of. Its address is the owning handle.
    memory: Arc<Allocation>,
    raw: CUarray,
    descriptor: CUDA_ARRAY3D_DESCRIPTOR,
}

/// A chain of arrays, each half as large as the one before (`CUmipmappedArray`). A shared handle.
#[derive(Clone)]
pub struct MipmappedArray {
    memory: Arc<Allocation>,
    raw: CUmipmappedArray,
    descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    levels: u32,
}

/// Bytes of a channel, 0 for a format that is not known here.
fn channel_bytes(format: CUarray_format) -> usize {
    match format {
        CUarray_format::UNSIGNED_INT8 | CUarray_format::SIGNED_INT8 => 1,
        CUarray_format::UNSIGNED_INT16 | CUarray_format::SIGNED_INT16 | CUarray_format::HALF => 2,
        CUarray_format::UNSIGNED_INT32 | CUarray_format::SIGNED_INT32 | CUarray_format::FLOAT => 4,
        _ => 0,
    }
}

/// Bytes of a texel.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for formats other than those of plain numbers.
fn texel_bytes(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Result<usize> {
    texel_bytes_of(descriptor.Format, descriptor.NumChannels)
}

/// Bytes of a texel of a format.
///
/// # Errors
/// As [`texel_bytes`].
pub(super) fn texel_bytes_of(format: CUarray_format, channels: u32) -> Result<usize> {
    match channel_bytes(format) {
        0 => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "array format {:#x}: only 8-, 16- and 32-bit integers, and 16- and 32-bit floats are known",
                format.0
            ),
        )),
        bytes => Ok(bytes * channels as usize),
    }
}

/// All texels of the base level.
fn texels(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Option<usize> {
    descriptor
        .Width
        .checked_mul(descriptor.Height.max(1))?
        .checked_mul(descriptor.Depth.max(1))
}

impl Array {
    /// An array of any kind, for work on `stream` first. Its contents are not determined.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for sizes and flags that make no array; [`ErrorKind::Unsupported`] for other
    /// formats; [`ErrorKind::OutOfMemory`]; what the driver returns.
    pub fn new(stream: &Stream, descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Result<Self> {
        let texel = texel_bytes(descriptor)?;
        let bytes = byte_count(descriptor, texel)?;
        let raw = with_retry(stream, bytes, CUarray::NULL, |raw| {
            let driver = stream.context().driver();
            // SAFETY: `raw` is a live local of `with_retry`, and the context is current.
            unsafe { call!(driver, cuArray3DCreate_v2(raw, descriptor)) }
        })?;
        let release: Arc<dyn Allocator> = Arc::new(Release::Array);
        let memory = Allocation::from_parts(stream, raw.0.addr() as u64, bytes, Some(release));
        Ok(Self {
            memory: Arc::new(memory),
            raw,
            descriptor: *descriptor,
        })
    }

    /// What it was created as; of a level, what it would have been.
    #[must_use]
    pub fn descriptor(&self) -> &CUDA_ARRAY3D_DESCRIPTOR {
        &self.descriptor
    }

    /// Bytes of a texel.
    #[must_use]
    pub fn texel_bytes(&self) -> usize {
        channel_bytes(self.descriptor.Format) * self.descriptor.NumChannels as usize
    }

    /// Texels of a row, rows, and slices, layers or faces; none is zero.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        let d = &self.descriptor;
        [d.Width, d.Height.max(1), d.Depth.max(1)]
    }

    /// The driver's handle, valid while this array lives.
    #[must_use]
    pub fn raw(&self) -> CUarray {
        self.raw
    }

    /// The stream it was created for, on which blocking copies run.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.memory.stream()
    }

    /// Its context.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    /// Whether surfaces may be made of it.
    #[must_use]
    pub fn allows_surfaces(&self) -> bool {
        self.descriptor.Flags & flags::CUDA_ARRAY3D_SURFACE_LDST != 0
    }

    pub(super) fn memory(&self) -> &Allocation {
        &self.memory
    }

    pub(crate) fn span(&self, access: Access) -> Span<'_> {
        whole(&self.memory, access)
    }
}

impl MipmappedArray {
    /// A mipmapped array of `levels` levels, or of as many as there can be if that is less.
    ///
    /// # Errors
    /// As [`Array::new`].
    pub fn new(stream: &Stream, descriptor: &CUDA_ARRAY3D_DESCRIPTOR, levels: u32) -> Result<Self> {
        let texel = texel_bytes(descriptor)?;
        let bytes = byte_count(descriptor, texel)?;
        let most = most_levels(descriptor);
        let levels = levels.min(most);
        let raw = with_retry(stream, bytes, CUmipmappedArray::NULL, |raw| {
            let driver = stream.context().driver();
            // SAFETY: `raw` is a live local of `with_retry`, and the context is current.
            unsafe { call!(driver, cuMipmappedArrayCreate(raw, descriptor, levels)) }
        })?;
        let release: Arc<dyn Allocator> = Arc::new(Release::Mipmap);
        let memory = Allocation::from_parts(stream, raw.0.addr() as u64, bytes, Some(release));
        Ok(Self {
            memory: Arc::new(memory),
            raw,
            descriptor: *descriptor,
            levels,
        })
    }

    /// How many levels there are.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// One level, as an array that keeps the whole chain alive. Its uses count as uses of the chain.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if there is no such level; what the driver returns.
    pub fn level(&self, level: u32) -> Result<Array> {
        if level >= self.levels {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "level {level} of a mipmapped array with {} levels",
                    self.levels
                ),
            ));
        }
        let context = self.context();
        context.make_current()?;
        let mut raw = CUarray::NULL;
        // SAFETY: `raw` is a live local that the call writes, and this handle is alive.
        unsafe {
            call!(
                context.driver(),
                cuMipmappedArrayGetLevel(&raw mut raw, self.raw, level)
            )
        }
        .map_err(|failure| self.memory.stream().raise(failure))?;
        let d = &self.descriptor;
        let shrink = |n: usize| if n == 0 { 0 } else { (n >> level).max(1) };
        Ok(Array {
            memory: Arc::clone(&self.memory),
            raw,
            descriptor: CUDA_ARRAY3D_DESCRIPTOR {
                Width: shrink(d.Width),
                Height: shrink(d.Height),
                Depth: if has_layers(d) {
                    d.Depth
                } else {
                    shrink(d.Depth)
                },
                ..*d
            },
        })
    }

    /// What it was created as.
    #[must_use]
    pub fn descriptor(&self) -> &CUDA_ARRAY3D_DESCRIPTOR {
        &self.descriptor
    }

    /// The driver's handle, valid while this mipmapped array or a level of it lives.
    #[must_use]
    pub fn raw(&self) -> CUmipmappedArray {
        self.raw
    }

    /// The stream it was created for.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.memory.stream()
    }

    /// Its context.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    pub(super) fn memory(&self) -> &Allocation {
        &self.memory
    }

    pub(crate) fn span(&self, access: Access) -> Span<'_> {
        whole(&self.memory, access)
    }
}

fn whole(memory: &Allocation, access: Access) -> Span<'_> {
    Span {
        allocation: memory,
        bytes: 0..usize::MAX,
        access,
    }
}

fn has_layers(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> bool {
    descriptor.Flags & (flags::CUDA_ARRAY3D_LAYERED | flags::CUDA_ARRAY3D_CUBEMAP) != 0
}

/// How many levels a full chain has, at least one.
fn most_levels(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> u32 {
    let d = descriptor;
    let depth = if has_layers(d) { 0 } else { d.Depth };
    d.Width.max(d.Height).max(depth).max(1).ilog2() + 1
}

fn byte_count(descriptor: &CUDA_ARRAY3D_DESCRIPTOR, texel: usize) -> Result<usize> {
    let bytes = texels(descriptor).and_then(|texels| texels.checked_mul(texel));
    bytes.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "an array of {} x {} x {} texels has more bytes than there are addresses",
                descriptor.Width, descriptor.Height, descriptor.Depth
            ),
        )
    })
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for MipmappedArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MipmappedArray")
            .field("descriptor", &self.descriptor)
            .field("levels", &self.levels)
            .finish_non_exhaustive()
    }
}
