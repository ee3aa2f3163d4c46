//! Texture and surface objects.

use std::fmt;

use cuprum_driver_sys::{
    CUDA_RESOURCE, CUDA_RESOURCE_DESC, CUDA_RESOURCE_LINEAR, CUDA_RESOURCE_PITCH2D,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUarray_format, CUresourcetype, CUsurfObject,
    CUtexObject,
};

use super::{Array, MipmappedArray};
use crate::call::call;
use crate::context::Context;
use crate::launch::{ArgTable, KernelArg};
use crate::memory::{Allocation, DeviceCopy, DeviceView, Span};
use crate::parking::Resource;
use crate::tracking::Access;
use crate::{Error, ErrorKind, Result};

/// What a texture reads, kept alive.
enum Memory<'a> {
    Array(Array),
    Mipmap(MipmappedArray),
    Linear(Span<'a>),
}

impl Memory<'_> {
    fn allocation(&self) -> &Allocation {
        match self {
            Self::Array(array) => array.memory(),
            Self::Mipmap(array) => array.memory(),
            Self::Linear(span) => span.allocation,
        }
    }

    fn span(&self) -> Span<'_> {
        match self {
            Self::Array(array) => array.span(Access::Read),
            Self::Mipmap(array) => array.span(Access::Read),
            Self::Linear(span) => span.clone(),
        }
    }
}

/// A texture object (`CUtexObject`): an array, a mipmapped array or linear memory, and how it is read. It keeps the memory
/// alive. In a launch, `&texture` is an argument of type `cudaTextureObject_t`.
pub struct TextureObject<'a> {
    raw: CUtexObject,
    memory: Memory<'a>,
}

impl TextureObject<'static> {
    /// A texture of an array.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for combinations that the hardware does not have; what the driver returns.
    pub fn of_array(
        array: &Array,
        description: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
    ) -> Result<Self> {
        let resource = CUDA_RESOURCE { array: array.raw() };
        let raw = create(
            array.context(),
            CUresourcetype::ARRAY,
            resource,
            description,
            view,
        )?;
        Ok(Self {
            raw,
            memory: Memory::Array(array.clone()),
        })
    }

    /// A texture of a mipmapped array.
    ///
    /// # Errors
    /// As [`TextureObject::of_array`].
    pub fn of_mipmapped_array(
        array: &MipmappedArray,
        description: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
    ) -> Result<Self> {
        let resource = CUDA_RESOURCE {
            mipmap: array.raw(),
        };
        let raw = create(
            array.context(),
            CUresourcetype::MIPMAPPED_ARRAY,
            resource,
            description,
            view,
        )?;
        Ok(Self {
            raw,
            memory: Memory::Mipmap(array.clone()),
        })
    }
}

impl<'a> TextureObject<'a> {
    /// A texture of linear memory, read by index (`tex1Dfetch`).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for an empty view, one that does not begin at a multiple of the device's texture
    /// alignment, and combinations that the hardware does not have; what the driver returns.
    pub fn of_linear<T: DeviceCopy>(
        view: DeviceView<'a, T>,
        format: CUarray_format,
        channels: u32,
        description: &CUDA_TEXTURE_DESC,
    ) -> Result<Self> {
        let resource = CUDA_RESOURCE {
            linear: CUDA_RESOURCE_LINEAR {
                devPtr: view.address(),
                format,
                numChannels: channels,
                sizeInBytes: view.size_bytes(),
            },
        };
        Self::of_view(view, CUresourcetype::LINEAR, resource, description)
    }

    /// A two-dimensional texture of rows of linear memory, `pitch` bytes apart.
    ///
    /// # Errors
    /// As [`TextureObject::of_linear`]; also if the rows do not lie in the view.
    pub fn of_rows<T: DeviceCopy>(
        view: DeviceView<'a, T>,
        rows: &CUDA_RESOURCE_PITCH2D,
        description: &CUDA_TEXTURE_DESC,
    ) -> Result<Self> {
        let texel = super::memory::texel_bytes_of(rows.format, rows.numChannels)?;
        let row = rows.width.checked_mul(texel);
        let needed = row.and_then(|row| {
            let before = rows.height.checked_sub(1)?.checked_mul(rows.pitchInBytes)?;
            before.checked_add(row)
        });
        if needed.is_none_or(|needed| needed > view.size_bytes()) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "{} rows of {} texels of {texel} bytes, {} bytes apart, do not lie in {} bytes",
                    rows.height,
                    rows.width,
                    rows.pitchInBytes,
                    view.size_bytes()
                ),
            ));
        }
        let resource = CUDA_RESOURCE {
            pitch2D: CUDA_RESOURCE_PITCH2D {
                devPtr: view.address(),
                ..*rows
            },
        };
        Self::of_view(view, CUresourcetype::PITCH2D, resource, description)
    }

    fn of_view<T: DeviceCopy>(
        view: DeviceView<'a, T>,
        kind: CUresourcetype,
        resource: CUDA_RESOURCE,
        description: &CUDA_TEXTURE_DESC,
    ) -> Result<Self> {
        let context = view.context();
        let Some(span) = view.into_span() else {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a texture of no memory, or of an untracked view",
            ));
        };
        let raw = create(context, kind, resource, description, None)?;
        Ok(Self {
            raw,
            memory: Memory::Linear(span),
        })
    }

    /// The driver's handle, valid while this object lives: what a kernel gets.
    #[must_use]
    pub fn raw(&self) -> CUtexObject {
        self.raw
    }

    /// The context of its memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.memory.allocation().context()
    }
}

fn create(
    context: &Context,
    kind: CUresourcetype,
    resource: CUDA_RESOURCE,
    description: &CUDA_TEXTURE_DESC,
    view: Option<&CUDA_RESOURCE_VIEW_DESC>,
) -> Result<CUtexObject> {
    let described = CUDA_RESOURCE_DESC {
        resType: kind,
        res: resource,
        flags: 0,
    };
    context.inner().parking().collect(context.inner());
    context.make_current()?;
    let mut raw = 0;
    // SAFETY: all point to live locals or borrowed structures, or are null; the context is current, and the resource is the
    // array or memory that the caller holds.
    unsafe {
        call!(
            context.driver(),
            cuTexObjectCreate(
                &raw mut raw,
                &raw const described,
                description,
                view.map_or(std::ptr::null(), std::ptr::from_ref)
            )
        )
    }
    .map_err(|failure| context.raise(failure))?;
    Ok(raw)
}

impl TextureObject<'_> {
    pub(crate) fn handle(&self) -> &CUtexObject {
        &self.raw
    }

    pub(crate) fn span(&self) -> Span<'_> {
        self.memory.span()
    }
}

impl SurfaceObject {
    pub(crate) fn handle(&self) -> &CUsurfObject {
        &self.raw
    }

    pub(crate) fn span(&self) -> Span<'_> {
        self.array.span(Access::Write)
    }
}

impl Drop for TextureObject<'_> {
    fn drop(&mut self) {
        park(self.memory.allocation(), Resource::Texture(self.raw));
    }
}

/// Parks an object until the uses of its memory, and so its own, have passed.
fn park(memory: &Allocation, object: Resource) {
    let context = memory.context();
    if context.is_lost() && !context.inner().is_software() {
        // Nothing can be released in a lost context of a GPU.
        return;
    }
    let inner = context.inner();
    inner.parking().park(inner, object, &memory.past_uses());
}

impl KernelArg for &TextureObject<'_> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.texture(self);
    }
}

impl fmt::Debug for TextureObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextureObject")
            .field("raw", &self.raw)
            .finish_non_exhaustive()
    }
}

/// A surface object (`CUsurfObject`): an array that kernels read and write. It keeps the array alive. In a launch, `&surface` is
/// an argument of type `cudaSurfaceObject_t`, and counts as a write of the array.
pub struct SurfaceObject {
    raw: CUsurfObject,
    array: Array,
}

impl SurfaceObject {
    /// A surface of an array.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the array was not created for surfaces; what the driver returns.
    pub fn new(array: &Array) -> Result<Self> {
        if !array.allows_surfaces() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a surface of an array that was created without CUDA_ARRAY3D_SURFACE_LDST",
            ));
        }
        let described = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::ARRAY,
            res: CUDA_RESOURCE { array: array.raw() },
            flags: 0,
        };
        let context = array.context();
        context.inner().parking().collect(context.inner());
        context.make_current()?;
        let mut raw = 0;
        // SAFETY: both point to live locals; the context is current, and the array is alive.
        unsafe {
            call!(
                context.driver(),
                cuSurfObjectCreate(&raw mut raw, &raw const described)
            )
        }
        .map_err(|failure| context.raise(failure))?;
        Ok(Self {
            raw,
            array: array.clone(),
        })
    }

    /// The driver's handle, valid while this object lives: what a kernel gets.
    #[must_use]
    pub fn raw(&self) -> CUsurfObject {
        self.raw
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.array
    }
}

impl Drop for SurfaceObject {
    fn drop(&mut self) {
        park(self.array.memory(), Resource::Surface(self.raw));
    }
}

impl KernelArg for &SurfaceObject {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.surface(self);
    }
}

impl fmt::Debug for SurfaceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SurfaceObject")
            .field("raw", &self.raw)
            .field("array", &self.array)
            .finish()
    }
}
