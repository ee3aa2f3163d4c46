//! The structures of `cuda.h` that entry points of the table take.

use core::ffi::c_void;

use crate::{
    CUaddress_mode, CUarray, CUarray_format, CUcontext, CUdeviceptr, CUfilter_mode,
    CUlaunchAttributeID, CUmemLocationType, CUmemorytype, CUmipmappedArray, CUresourceViewFormat,
    CUresourcetype, CUstream,
};

/// The unique number of a device (`CUuuid`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct CUuuid {
    /// Sixteen bytes, in the order that tools print them.
    pub bytes: [u8; 16],
}

/// A place for memory (`CUmemLocation`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CUmemLocation {
    /// Its kind. `cuda.h` calls the field `type`.
    pub type_: CUmemLocationType,
    /// The ordinal of the device or the number of the NUMA node, where the kind has one.
    pub id: i32,
}

/// A rectangle to copy (`CUDA_MEMCPY2D`). Offsets, pitches and widths are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_MEMCPY2D {
    /// Left edge in the source, bytes.
    pub srcXInBytes: usize,
    /// Upper edge in the source, rows.
    pub srcY: usize,
    /// Which of the source fields counts.
    pub srcMemoryType: CUmemorytype,
    /// Source in host memory.
    pub srcHost: *const c_void,
    /// Source in device memory.
    pub srcDevice: CUdeviceptr,
    /// Source array.
    pub srcArray: CUarray,
    /// Bytes from a source row to the next.
    pub srcPitch: usize,
    /// Left edge in the destination, bytes.
    pub dstXInBytes: usize,
    /// Upper edge in the destination, rows.
    pub dstY: usize,
    /// Which of the destination fields counts.
    pub dstMemoryType: CUmemorytype,
    /// Destination in host memory.
    pub dstHost: *mut c_void,
    /// Destination in device memory.
    pub dstDevice: CUdeviceptr,
    /// Destination array.
    pub dstArray: CUarray,
    /// Bytes from a destination row to the next.
    pub dstPitch: usize,
    /// Width of the rectangle in bytes.
    pub WidthInBytes: usize,
    /// Height of the rectangle in rows.
    pub Height: usize,
}

/// A box to copy (`CUDA_MEMCPY3D`). Offsets, pitches and widths are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_MEMCPY3D {
    /// Left edge in the source, bytes.
    pub srcXInBytes: usize,
    /// Upper edge in the source, rows.
    pub srcY: usize,
    /// Front edge in the source, slices.
    pub srcZ: usize,
    /// Mip level of the source.
    pub srcLOD: usize,
    /// Which of the source fields counts.
    pub srcMemoryType: CUmemorytype,
    /// Source in host memory.
    pub srcHost: *const c_void,
    /// Source in device memory.
    pub srcDevice: CUdeviceptr,
    /// Source array.
    pub srcArray: CUarray,
    /// Must be null.
    pub reserved0: *mut c_void,
    /// Bytes from a source row to the next.
    pub srcPitch: usize,
    /// Rows from a source slice to the next.
    pub srcHeight: usize,
    /// Left edge in the destination, bytes.
    pub dstXInBytes: usize,
    /// Upper edge in the destination, rows.
    pub dstY: usize,
    /// Front edge in the destination, slices.
    pub dstZ: usize,
    /// Mip level of the destination.
    pub dstLOD: usize,
    /// Which of the destination fields counts.
    pub dstMemoryType: CUmemorytype,
    /// Destination in host memory.
    pub dstHost: *mut c_void,
    /// Destination in device memory.
    pub dstDevice: CUdeviceptr,
    /// Destination array.
    pub dstArray: CUarray,
    /// Must be null.
    pub reserved1: *mut c_void,
    /// Bytes from a destination row to the next.
    pub dstPitch: usize,
    /// Rows from a destination slice to the next.
    pub dstHeight: usize,
    /// Width of the box in bytes.
    pub WidthInBytes: usize,
    /// Height of the box in rows.
    pub Height: usize,
    /// Depth of the box in slices.
    pub Depth: usize,
}

/// The value of a launch attribute: the manual's union of 64 bytes, as raw bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchAttributeValue {
    /// The bytes of whichever field the attribute's id selects.
    pub pad: [u8; 64],
}

/// One attribute of a launch (`CUlaunchAttribute`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchAttribute {
    /// Which attribute it is.
    pub id: CUlaunchAttributeID,
    /// Padding of the C structure.
    pub pad: [u8; 4],
    /// Its value.
    pub value: CUlaunchAttributeValue,
}

/// The shape of a launch (`CUlaunchConfig`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    /// Blocks of the grid in x.
    pub gridDimX: u32,
    /// Blocks of the grid in y.
    pub gridDimY: u32,
    /// Blocks of the grid in z.
    pub gridDimZ: u32,
    /// Threads of a block in x.
    pub blockDimX: u32,
    /// Threads of a block in y.
    pub blockDimY: u32,
    /// Threads of a block in z.
    pub blockDimZ: u32,
    /// Dynamic shared memory of a block in bytes.
    pub sharedMemBytes: u32,
    /// The stream.
    pub hStream: CUstream,
    /// The attributes.
    pub attrs: *mut CUlaunchAttribute,
    /// How many attributes there are.
    pub numAttrs: u32,
}

/// The parameters of a kernel node (`CUDA_KERNEL_NODE_PARAMS`, version 2).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    /// The function, or null when `kern` is set.
    pub func: crate::CUfunction,
    /// Blocks of the grid in x.
    pub gridDimX: u32,
    /// Blocks of the grid in y.
    pub gridDimY: u32,
    /// Blocks of the grid in z.
    pub gridDimZ: u32,
    /// Threads of a block in x.
    pub blockDimX: u32,
    /// Threads of a block in y.
    pub blockDimY: u32,
    /// Threads of a block in z.
    pub blockDimZ: u32,
    /// Dynamic shared memory of a block in bytes.
    pub sharedMemBytes: u32,
    /// Pointers to the arguments.
    pub kernelParams: *mut *mut c_void,
    /// Packed arguments, as `cuLaunchKernel` takes them.
    pub extra: *mut *mut c_void,
    /// The kernel, or null when `func` is set.
    pub kern: crate::CUkernel,
    /// The context of `kern`.
    pub ctx: CUcontext,
}

/// A one- or two-dimensional array (`CUDA_ARRAY_DESCRIPTOR`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUDA_ARRAY_DESCRIPTOR {
    /// Texels of a row.
    pub Width: usize,
    /// Rows; 0 for a one-dimensional array.
    pub Height: usize,
    /// How a channel is stored.
    pub Format: CUarray_format,
    /// Channels of a texel: 1, 2 or 4.
    pub NumChannels: u32,
}

/// An array of any kind (`CUDA_ARRAY3D_DESCRIPTOR`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUDA_ARRAY3D_DESCRIPTOR {
    /// Texels of a row.
    pub Width: usize,
    /// Rows; 0 for one-dimensional arrays and their layers.
    pub Height: usize,
    /// Slices, layers or faces; 0 for one- and two-dimensional arrays.
    pub Depth: usize,
    /// How a channel is stored.
    pub Format: CUarray_format,
    /// Channels of a texel: 1, 2 or 4.
    pub NumChannels: u32,
    /// `CUDA_ARRAY3D_...`.
    pub Flags: u32,
}

/// The memory of a [`CUDA_RESOURCE_DESC`] of type `LINEAR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUDA_RESOURCE_LINEAR {
    /// First texel.
    pub devPtr: CUdeviceptr,
    /// How a channel is stored.
    pub format: CUarray_format,
    /// Channels of a texel.
    pub numChannels: u32,
    /// Bytes.
    pub sizeInBytes: usize,
}

/// The memory of a [`CUDA_RESOURCE_DESC`] of type `PITCH2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUDA_RESOURCE_PITCH2D {
    /// First texel.
    pub devPtr: CUdeviceptr,
    /// How a channel is stored.
    pub format: CUarray_format,
    /// Channels of a texel.
    pub numChannels: u32,
    /// Texels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes from a row to the next.
    pub pitchInBytes: usize,
}

/// What a texture or surface object reads: the field that [`CUDA_RESOURCE_DESC::resType`] says.
#[repr(C)]
#[derive(Clone, Copy)]
pub union CUDA_RESOURCE {
    /// Type `ARRAY`.
    pub array: CUarray,
    /// Type `MIPMAPPED_ARRAY`.
    pub mipmap: CUmipmappedArray,
    /// Type `LINEAR`.
    pub linear: CUDA_RESOURCE_LINEAR,
    /// Type `PITCH2D`.
    pub pitch2D: CUDA_RESOURCE_PITCH2D,
    /// The size of the union.
    pub reserved: [i32; 32],
}

impl core::fmt::Debug for CUDA_RESOURCE {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("CUDA_RESOURCE")
    }
}

/// What a texture or surface object reads (`CUDA_RESOURCE_DESC`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_DESC {
    /// Which field of `res` counts.
    pub resType: CUresourcetype,
    /// The array or memory.
    pub res: CUDA_RESOURCE,
    /// Must be zero.
    pub flags: u32,
}

/// How a texture object reads (`CUDA_TEXTURE_DESC`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CUDA_TEXTURE_DESC {
    /// What is outside, in each dimension.
    pub addressMode: [CUaddress_mode; 3],
    /// How a value is made out of texels.
    pub filterMode: CUfilter_mode,
    /// `CU_TRSF_...`.
    pub flags: u32,
    /// The largest anisotropy, 1 to 16.
    pub maxAnisotropy: u32,
    /// How a value is made out of mip levels.
    pub mipmapFilterMode: CUfilter_mode,
    /// Added to the level of detail.
    pub mipmapLevelBias: f32,
    /// The least level of detail.
    pub minMipmapLevelClamp: f32,
    /// The greatest level of detail.
    pub maxMipmapLevelClamp: f32,
    /// What is outside, with `BORDER`.
    pub borderColor: [f32; 4],
    /// Must be zero.
    pub reserved: [i32; 12],
}

/// Which part of an array a texture object shows, and in which format (`CUDA_RESOURCE_VIEW_DESC`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUDA_RESOURCE_VIEW_DESC {
    /// The format.
    pub format: CUresourceViewFormat,
    /// Texels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices.
    pub depth: usize,
    /// The level that is the base.
    pub firstMipmapLevel: u32,
    /// The last level.
    pub lastMipmapLevel: u32,
    /// The layer that is the first.
    pub firstLayer: u32,
    /// The last layer.
    pub lastLayer: u32,
    /// Must be zero.
    pub reserved: [u32; 16],
}
