//! Sizes and offsets of driver-sys against cudarc's definitions, which are generated from NVIDIA's headers.
//!
//! Run under the lowest version feature by default, and under the highest by
//! `--no-default-features --features soft,cuda-13040`.

use std::mem::{align_of, offset_of, size_of};

use cudarc::driver::sys as theirs;
use cuprum_driver_sys as ours;

macro_rules! same_layout {
    ($name:ident = $their:ident { $($field:ident),* $(,)? }) => {
        assert_eq!(size_of::<ours::$name>(), size_of::<theirs::$their>(), stringify!($name));
        assert_eq!(align_of::<ours::$name>(), align_of::<theirs::$their>(), stringify!($name));
        $(assert_eq!(
            offset_of!(ours::$name, $field),
            offset_of!(theirs::$their, $field),
            concat!(stringify!($name), ".", stringify!($field))
        );)*
    };
}

macro_rules! same_size {
    ($($name:ident),* $(,)?) => {
        $(assert_eq!(size_of::<ours::$name>(), size_of::<theirs::$name>(), stringify!($name));)*
    };
}

#[test]
fn structures() {
    same_layout!(
        CUDA_ARRAY_DESCRIPTOR = CUDA_ARRAY_DESCRIPTOR {
            Width,
            Height,
            Format,
            NumChannels
        }
    );
    same_layout!(
        CUDA_ARRAY3D_DESCRIPTOR = CUDA_ARRAY3D_DESCRIPTOR {
            Width,
            Height,
            Depth,
            Format,
            NumChannels,
            Flags
        }
    );
    same_layout!(
        CUDA_RESOURCE_DESC = CUDA_RESOURCE_DESC {
            resType,
            res,
            flags
        }
    );
    same_layout!(
        CUDA_RESOURCE_LINEAR = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
            devPtr,
            format,
            numChannels,
            sizeInBytes,
        }
    );
    same_layout!(
        CUDA_RESOURCE_PITCH2D = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
            devPtr,
            format,
            numChannels,
            width,
            height,
            pitchInBytes,
        }
    );
    same_layout!(
        CUDA_TEXTURE_DESC = CUDA_TEXTURE_DESC {
            addressMode,
            filterMode,
            flags,
            maxAnisotropy,
            mipmapFilterMode,
            mipmapLevelBias,
            minMipmapLevelClamp,
            maxMipmapLevelClamp,
            borderColor,
            reserved,
        }
    );
    same_layout!(
        CUDA_RESOURCE_VIEW_DESC = CUDA_RESOURCE_VIEW_DESC {
            format,
            width,
            height,
            depth,
            firstMipmapLevel,
            lastMipmapLevel,
            firstLayer,
            lastLayer,
            reserved,
        }
    );
    same_layout!(CUuuid = CUuuid { bytes });
    same_layout!(
        CUDA_MEMCPY2D = CUDA_MEMCPY2D {
            srcXInBytes,
            srcY,
            srcMemoryType,
            srcHost,
            srcDevice,
            srcArray,
            srcPitch,
            dstXInBytes,
            dstY,
            dstMemoryType,
            dstHost,
            dstDevice,
            dstArray,
            dstPitch,
            WidthInBytes,
            Height,
        }
    );
    same_layout!(
        CUDA_MEMCPY3D = CUDA_MEMCPY3D {
            srcXInBytes,
            srcY,
            srcZ,
            srcLOD,
            srcMemoryType,
            srcHost,
            srcDevice,
            srcArray,
            reserved0,
            srcPitch,
            srcHeight,
            dstXInBytes,
            dstY,
            dstZ,
            dstLOD,
            dstMemoryType,
            dstHost,
            dstDevice,
            dstArray,
            reserved1,
            dstPitch,
            dstHeight,
            WidthInBytes,
            Height,
            Depth,
        }
    );
}

/// What cudarc declares from CUDA 12 on.
#[cfg(not(any(
    feature = "cuda-11040",
    feature = "cuda-11050",
    feature = "cuda-11060",
    feature = "cuda-11070",
    feature = "cuda-11080"
)))]
#[test]
fn structures_of_cuda_12() {
    same_layout!(
        CUDA_KERNEL_NODE_PARAMS = CUDA_KERNEL_NODE_PARAMS {
            func,
            gridDimX,
            gridDimY,
            gridDimZ,
            blockDimX,
            blockDimY,
            blockDimZ,
            sharedMemBytes,
            kernelParams,
            extra,
            kern,
            ctx,
        }
    );
}

/// What cudarc declares from CUDA 11.8 on.
#[cfg(not(any(
    feature = "cuda-11040",
    feature = "cuda-11050",
    feature = "cuda-11060",
    feature = "cuda-11070"
)))]
#[test]
fn structures_of_cuda_11_8() {
    same_layout!(
        CUlaunchConfig = CUlaunchConfig {
            gridDimX,
            gridDimY,
            gridDimZ,
            blockDimX,
            blockDimY,
            blockDimZ,
            sharedMemBytes,
            hStream,
            attrs,
            numAttrs,
        }
    );
    same_layout!(CUlaunchAttribute = CUlaunchAttribute { id, pad, value });
    same_size!(CUlaunchAttributeValue, CUlaunchAttributeID);
}

#[test]
fn handles_and_enumerations() {
    same_size!(
        CUcontext,
        CUmodule,
        CUfunction,
        CUstream,
        CUevent,
        CUarray,
        CUmipmappedArray,
        CUtexref,
        CUsurfref,
        CUgraph,
        CUgraphNode,
        CUgraphExec,
        CUmemoryPool,
        CUgraphicsResource,
        CUlinkState,
        CUdevice,
        CUdeviceptr,
        CUtexObject,
        CUsurfObject,
        CUresult,
        CUdevice_attribute,
        CUlimit,
        CUfunc_cache,
        CUfunction_attribute,
        CUpointer_attribute,
        CUmem_advise,
        CUmem_range_attribute,
        CUmemLocation,
        CUmemLocationType,
        CUmemorytype,
        CUarray_format,
        CUaddress_mode,
        CUfilter_mode,
        CUresourcetype,
        CUresourceViewFormat,
        CUjit_option,
        CUjitInputType,
        CUstreamCaptureStatus,
        CUstreamCaptureMode,
        CUmemPool_attribute,
        CUhostFn,
        CUstreamCallback,
    );
}

macro_rules! same_values {
    ($ours:ident, $theirs:ident { $($our:ident = $their:ident),* $(,)? }) => {
        $(assert_eq!(ours::$ours::$our.0 as i64, theirs::$theirs::$their as i64, stringify!($their));)*
    };
}

#[test]
fn values_of_enumerations() {
    same_values!(CUresult, cudaError_enum {
        SUCCESS = CUDA_SUCCESS, STUB_LIBRARY = CUDA_ERROR_STUB_LIBRARY, NO_DEVICE = CUDA_ERROR_NO_DEVICE,
        UNSUPPORTED_PTX_VERSION = CUDA_ERROR_UNSUPPORTED_PTX_VERSION, NOT_READY = CUDA_ERROR_NOT_READY,
        ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS, NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED,
        UNKNOWN = CUDA_ERROR_UNKNOWN,
    });
    same_values!(CUdevice_attribute, CUdevice_attribute_enum {
        MAX_THREADS_PER_BLOCK = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        COMPUTE_CAPABILITY_MINOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        MEMORY_POOLS_SUPPORTED = CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
    });
    same_values!(CUfunction_attribute, CUfunction_attribute_enum {
        SHARED_SIZE_BYTES = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, NUM_REGS = CU_FUNC_ATTRIBUTE_NUM_REGS,
        MAX_DYNAMIC_SHARED_SIZE_BYTES = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    });
    same_values!(CUmem_advise, CUmem_advise_enum {
        SET_READ_MOSTLY = CU_MEM_ADVISE_SET_READ_MOSTLY,
        UNSET_READ_MOSTLY = CU_MEM_ADVISE_UNSET_READ_MOSTLY,
        SET_PREFERRED_LOCATION = CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
        UNSET_PREFERRED_LOCATION = CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
        SET_ACCESSED_BY = CU_MEM_ADVISE_SET_ACCESSED_BY, UNSET_ACCESSED_BY = CU_MEM_ADVISE_UNSET_ACCESSED_BY,
    });
    same_values!(CUmem_range_attribute, CUmem_range_attribute_enum {
        READ_MOSTLY = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
        PREFERRED_LOCATION = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
        ACCESSED_BY = CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
        LAST_PREFETCH_LOCATION = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
    });
    same_values!(CUmemLocationType, CUmemLocationType_enum {
        INVALID = CU_MEM_LOCATION_TYPE_INVALID, DEVICE = CU_MEM_LOCATION_TYPE_DEVICE,
    });
    same_values!(CUjit_option, CUjit_option_enum {
        ERROR_LOG_BUFFER = CU_JIT_ERROR_LOG_BUFFER,
        ERROR_LOG_BUFFER_SIZE_BYTES = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    });
}
