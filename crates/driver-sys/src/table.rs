//! The table of entry points.

use core::ffi::{c_char, c_void};

use crate::*;

macro_rules! entry_points {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {
        /// The entry points of one driver, by the names that its library exports.
        ///
        /// An absent entry is `None`: the driver is older than the call, or does not offer it. All entries follow the
        /// contracts of the CUDA driver API manual; each returns a [`CUresult`].
        #[derive(Clone, Copy, Debug)]
        pub struct DriverTable {
            $($(#[$doc])* pub $name: Option<unsafe extern "C" fn($($arg: $ty),*) -> CUresult>,)*
        }

        impl DriverTable {
            /// The exported name of every entry, in declaration order.
            pub const SYMBOLS: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Fills a table from `resolve`, which maps an exported name to the address of that function.
            ///
            /// The addresses are stored, not called. `resolve` must answer with functions of the named signature:
            /// calling an entry is `unsafe` and relies on it.
            #[must_use]
            pub fn load(mut resolve: impl FnMut(&'static str) -> Option<core::ptr::NonNull<c_void>>) -> Self {
                Self {
                    $($name: resolve(stringify!($name)).map(|address| {
                        // SAFETY: both types are one pointer wide and never null; the signature is the caller's
                        // promise, on which only the unsafe call of the entry relies.
                        unsafe {
                            core::mem::transmute::<
                                core::ptr::NonNull<c_void>,
                                unsafe extern "C" fn($($arg: $ty),*) -> CUresult,
                            >(address)
                        }
                    }),)*
                }
            }

            /// The address of the entry named `symbol`, or `None` if it is absent or unknown.
            #[must_use]
            pub fn address(&self, symbol: &str) -> Option<core::ptr::NonNull<c_void>> {
                match symbol {
                    $(stringify!($name) => self.$name.and_then(|f| core::ptr::NonNull::new(f as *mut c_void)),)*
                    _ => None,
                }
            }
        }
    };
}

entry_points! {
    /// Initialises the driver; first of all calls.
    cuInit(flags: u32);
    /// The CUDA version of the driver, 1000 times major plus 10 times minor.
    cuDriverGetVersion(version: *mut i32);
    /// The symbolic name of a result code.
    cuGetErrorName(error: CUresult, name: *mut *const c_char);
    /// The description of a result code.
    cuGetErrorString(error: CUresult, text: *mut *const c_char);
    /// The address of an entry point for a CUDA version.
    cuGetProcAddress_v2(symbol: *const c_char, function: *mut *mut c_void, version: i32, flags: u64, status: *mut u32);

    /// The device with this ordinal.
    cuDeviceGet(device: *mut CUdevice, ordinal: i32);
    /// How many devices there are.
    cuDeviceGetCount(count: *mut i32);
    /// The name of a device, null-terminated, cut to `len` bytes.
    cuDeviceGetName(name: *mut c_char, len: i32, device: CUdevice);
    /// The unique number of a device.
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
    /// The memory of a device in bytes.
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    /// One attribute of a device.
    cuDeviceGetAttribute(value: *mut i32, attribute: CUdevice_attribute, device: CUdevice);
    /// The PCI address of a device as text.
    cuDeviceGetPCIBusId(text: *mut c_char, len: i32, device: CUdevice);
    /// The device with a PCI address.
    cuDeviceGetByPCIBusId(device: *mut CUdevice, text: *const c_char);
    /// Whether one device can reach another's memory.
    cuDeviceCanAccessPeer(can: *mut i32, device: CUdevice, peer: CUdevice);
    /// The pool behind `cuMemAllocAsync` by default.
    cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice);
    /// The pool behind `cuMemAllocAsync` now.
    cuDeviceGetMemPool(pool: *mut CUmemoryPool, device: CUdevice);

    /// Takes a reference to the device's primary context.
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    /// Gives back a reference to the device's primary context.
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    /// Destroys what the primary context holds.
    cuDevicePrimaryCtxReset_v2(device: CUdevice);
    /// Sets the flags of the primary context.
    cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: u32);
    /// The flags of the primary context, and whether it is active.
    cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut u32, active: *mut i32);

    /// Creates a context and makes it current.
    cuCtxCreate_v2(context: *mut CUcontext, flags: u32, device: CUdevice);
    /// Destroys a context.
    cuCtxDestroy_v2(context: CUcontext);
    /// Pushes a context on the calling thread's stack.
    cuCtxPushCurrent_v2(context: CUcontext);
    /// Pops the calling thread's current context.
    cuCtxPopCurrent_v2(context: *mut CUcontext);
    /// Replaces the calling thread's current context.
    cuCtxSetCurrent(context: CUcontext);
    /// The calling thread's current context, or null.
    cuCtxGetCurrent(context: *mut CUcontext);
    /// The device of the current context.
    cuCtxGetDevice(device: *mut CUdevice);
    /// The flags of the current context.
    cuCtxGetFlags(flags: *mut u32);
    /// A number unique to a context.
    cuCtxGetId(context: CUcontext, id: *mut u64);
    /// The API version of a context.
    cuCtxGetApiVersion(context: CUcontext, version: *mut u32);
    /// Waits for all work of the current context.
    cuCtxSynchronize();
    /// Sets a limit of the current context.
    cuCtxSetLimit(limit: CUlimit, value: usize);
    /// A limit of the current context.
    cuCtxGetLimit(value: *mut usize, limit: CUlimit);
    /// The cache preference of the current context.
    cuCtxGetCacheConfig(config: *mut CUfunc_cache);
    /// Sets the cache preference of the current context.
    cuCtxSetCacheConfig(config: CUfunc_cache);
    /// The range of stream priorities: `least` is the lowest priority, numerically the greatest.
    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32);
    /// Lets the current context use memory of `peer`.
    cuCtxEnablePeerAccess(peer: CUcontext, flags: u32);
    /// Ends what `cuCtxEnablePeerAccess` began.
    cuCtxDisablePeerAccess(peer: CUcontext);

    /// Loads an image: PTX (null-terminated), cubin or fatbin.
    cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    /// Loads an image with options.
    cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: u32, options: *mut CUjit_option, values: *mut *mut c_void);
    /// Loads an image from a file.
    cuModuleLoad(module: *mut CUmodule, path: *const c_char);
    /// Unloads a module.
    cuModuleUnload(module: CUmodule);
    /// A kernel of a module by name.
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    /// A global variable of a module by name.
    cuModuleGetGlobal_v2(address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char);
    /// How many kernels a module has.
    cuModuleGetFunctionCount(count: *mut u32, module: CUmodule);
    /// The kernels of a module.
    cuModuleEnumerateFunctions(functions: *mut CUfunction, count: u32, module: CUmodule);

    /// Begins a link. The options, and what they point at, must live until it is destroyed.
    cuLinkCreate_v2(count: u32, options: *mut CUjit_option, values: *mut *mut c_void, state: *mut CUlinkState);
    /// Adds an input to a link; `size` counts the null at the end of PTX.
    cuLinkAddData_v2(state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char, count: u32, options: *mut CUjit_option, values: *mut *mut c_void);
    /// Ends a link: an image, which lives until the link is destroyed.
    cuLinkComplete(state: CUlinkState, image: *mut *mut c_void, size: *mut usize);
    /// Destroys a link.
    cuLinkDestroy(state: CUlinkState);

    /// An attribute of a function.
    cuFuncGetAttribute(value: *mut i32, attribute: CUfunction_attribute, function: CUfunction);
    /// Sets an attribute of a function.
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: i32);
    /// Sets the cache preference of a function.
    cuFuncSetCacheConfig(function: CUfunction, config: CUfunc_cache);
    /// The name of a function.
    cuFuncGetName(name: *mut *const c_char, function: CUfunction);
    /// The module of a function.
    cuFuncGetModule(module: *mut CUmodule, function: CUfunction);
    /// Offset and size of a parameter; `INVALID_VALUE` past the last.
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);

    /// Allocates device memory.
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    /// Allocates rows of device memory, padded for alignment.
    cuMemAllocPitch_v2(address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: u32);
    /// Frees device memory.
    cuMemFree_v2(address: CUdeviceptr);
    /// Start and size of the allocation that holds an address.
    cuMemGetAddressRange_v2(base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr);
    /// Free and total memory in bytes.
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    /// Allocates page-locked host memory.
    cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize);
    /// Allocates page-locked host memory with flags.
    cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: u32);
    /// Frees page-locked host memory.
    cuMemFreeHost(pointer: *mut c_void);
    /// The device address of page-locked host memory.
    cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, pointer: *mut c_void, flags: u32);
    /// The flags of page-locked host memory.
    cuMemHostGetFlags(flags: *mut u32, pointer: *mut c_void);
    /// Page-locks memory that the caller owns.
    cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: u32);
    /// Ends what `cuMemHostRegister` began.
    cuMemHostUnregister(pointer: *mut c_void);
    /// Allocates managed memory.
    cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: u32);
    /// Gives advice on managed memory.
    cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, device: CUdevice);
    /// Gives advice on managed memory; NUMA nodes can be named.
    cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, location: CUmemLocation);
    /// Moves managed memory in stream order.
    cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream);
    /// Moves managed memory in stream order; NUMA nodes can be named.
    cuMemPrefetchAsync_v2(address: CUdeviceptr, bytes: usize, location: CUmemLocation, flags: u32, stream: CUstream);
    /// An attribute of managed memory.
    cuMemRangeGetAttribute(data: *mut c_void, size: usize, attribute: CUmem_range_attribute, address: CUdeviceptr, bytes: usize);
    /// Several attributes of managed memory.
    cuMemRangeGetAttributes(data: *mut *mut c_void, sizes: *mut usize, attributes: *mut CUmem_range_attribute, count: usize, address: CUdeviceptr, bytes: usize);
    /// Allocates device memory in stream order.
    cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    /// Frees device memory in stream order.
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    /// Allocates from a pool in stream order.
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    /// Gives memory of a pool back to the system.
    cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize);
    /// Sets an attribute of a pool.
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    /// An attribute of a pool.
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    /// An attribute of a pointer.
    cuPointerGetAttribute(data: *mut c_void, attribute: CUpointer_attribute, address: CUdeviceptr);
    /// Several attributes of a pointer; those of an unknown one are zero.
    cuPointerGetAttributes(count: u32, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, address: CUdeviceptr);

    /// Copies between any two addresses of the unified space; may block.
    cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize);
    /// Copies host to device; returns when the source may be reused.
    cuMemcpyHtoD_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize);
    /// Copies device to host; returns when the data has arrived.
    cuMemcpyDtoH_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize);
    /// Copies device to device.
    cuMemcpyDtoD_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize);
    /// Copies between any two addresses in stream order.
    cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream);
    /// Copies host to device in stream order.
    cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream);
    /// Copies device to host in stream order.
    cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream);
    /// Copies device to device in stream order.
    cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream);
    /// Copies device memory into a one-dimensional array.
    cuMemcpyDtoA_v2(dst: CUarray, offset: usize, src: CUdeviceptr, bytes: usize);
    /// Copies a one-dimensional array into device memory.
    cuMemcpyAtoD_v2(dst: CUdeviceptr, src: CUarray, offset: usize, bytes: usize);
    /// Copies host memory into a one-dimensional array.
    cuMemcpyHtoA_v2(dst: CUarray, offset: usize, src: *const c_void, bytes: usize);
    /// Copies a one-dimensional array into host memory.
    cuMemcpyAtoH_v2(dst: *mut c_void, src: CUarray, offset: usize, bytes: usize);
    /// Copies between one-dimensional arrays.
    cuMemcpyAtoA_v2(dst: CUarray, dst_offset: usize, src: CUarray, src_offset: usize, bytes: usize);
    /// Copies host memory into a one-dimensional array in stream order.
    cuMemcpyHtoAAsync_v2(dst: CUarray, offset: usize, src: *const c_void, bytes: usize, stream: CUstream);
    /// Copies a one-dimensional array into host memory in stream order.
    cuMemcpyAtoHAsync_v2(dst: *mut c_void, src: CUarray, offset: usize, bytes: usize, stream: CUstream);
    /// Copies between contexts.
    cuMemcpyPeer(dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext, bytes: usize);
    /// Copies between contexts in stream order.
    cuMemcpyPeerAsync(dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext, bytes: usize, stream: CUstream);
    /// Copies a rectangle.
    cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D);
    /// Copies a rectangle of any pitch.
    cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D);
    /// Copies a rectangle in stream order.
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    /// Copies a box.
    cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D);
    /// Copies a box in stream order.
    cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream);
    /// Creates a one- or two-dimensional array.
    cuArrayCreate_v2(array: *mut CUarray, description: *const CUDA_ARRAY_DESCRIPTOR);
    /// What [`cuArrayCreate_v2`](Self::cuArrayCreate_v2) was told.
    cuArrayGetDescriptor_v2(description: *mut CUDA_ARRAY_DESCRIPTOR, array: CUarray);
    /// Creates an array of any kind.
    cuArray3DCreate_v2(array: *mut CUarray, description: *const CUDA_ARRAY3D_DESCRIPTOR);
    /// What the array was created as.
    cuArray3DGetDescriptor_v2(description: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray);
    /// Frees an array.
    cuArrayDestroy(array: CUarray);
    /// Creates a mipmapped array.
    cuMipmappedArrayCreate(mipmap: *mut CUmipmappedArray, description: *const CUDA_ARRAY3D_DESCRIPTOR, levels: u32);
    /// One level of a mipmapped array, as an array that lives as long as it.
    cuMipmappedArrayGetLevel(array: *mut CUarray, mipmap: CUmipmappedArray, level: u32);
    /// Frees a mipmapped array.
    cuMipmappedArrayDestroy(mipmap: CUmipmappedArray);
    /// Creates a texture object.
    cuTexObjectCreate(
        texture: *mut CUtexObject,
        resource: *const CUDA_RESOURCE_DESC,
        description: *const CUDA_TEXTURE_DESC,
        view: *const CUDA_RESOURCE_VIEW_DESC,
    );
    /// Destroys a texture object.
    cuTexObjectDestroy(texture: CUtexObject);
    /// What the texture object reads.
    cuTexObjectGetResourceDesc(resource: *mut CUDA_RESOURCE_DESC, texture: CUtexObject);
    /// How the texture object reads.
    cuTexObjectGetTextureDesc(description: *mut CUDA_TEXTURE_DESC, texture: CUtexObject);
    /// Which part the texture object shows.
    cuTexObjectGetResourceViewDesc(view: *mut CUDA_RESOURCE_VIEW_DESC, texture: CUtexObject);
    /// Creates a surface object.
    cuSurfObjectCreate(surface: *mut CUsurfObject, resource: *const CUDA_RESOURCE_DESC);
    /// Destroys a surface object.
    cuSurfObjectDestroy(surface: CUsurfObject);
    /// What the surface object reads and writes.
    cuSurfObjectGetResourceDesc(resource: *mut CUDA_RESOURCE_DESC, surface: CUsurfObject);
    /// The texture reference of that name in a module.
    cuModuleGetTexRef(reference: *mut CUtexref, module: CUmodule, name: *const c_char);
    /// The surface reference of that name in a module.
    cuModuleGetSurfRef(reference: *mut CUsurfref, module: CUmodule, name: *const c_char);
    /// Creates a texture reference that belongs to no module.
    cuTexRefCreate(reference: *mut CUtexref);
    /// Destroys a texture reference that belongs to no module.
    cuTexRefDestroy(reference: CUtexref);
    /// Binds an array.
    cuTexRefSetArray(reference: CUtexref, array: CUarray, flags: u32);
    /// Binds a mipmapped array.
    cuTexRefSetMipmappedArray(reference: CUtexref, mipmap: CUmipmappedArray, flags: u32);
    /// Binds linear memory; answers how far its start lies behind an aligned address.
    cuTexRefSetAddress_v2(offset: *mut usize, reference: CUtexref, address: CUdeviceptr, bytes: usize);
    /// Binds rows of linear memory.
    cuTexRefSetAddress2D_v3(
        reference: CUtexref,
        description: *const CUDA_ARRAY_DESCRIPTOR,
        address: CUdeviceptr,
        pitch: usize,
    );
    /// Sets the format of linear memory.
    cuTexRefSetFormat(reference: CUtexref, format: CUarray_format, channels: i32);
    /// Sets what is outside in one dimension.
    cuTexRefSetAddressMode(reference: CUtexref, dimension: i32, mode: CUaddress_mode);
    /// Sets how a value is made out of texels.
    cuTexRefSetFilterMode(reference: CUtexref, mode: CUfilter_mode);
    /// Sets `CU_TRSF_...`.
    cuTexRefSetFlags(reference: CUtexref, flags: u32);
    /// Sets how a value is made out of mip levels.
    cuTexRefSetMipmapFilterMode(reference: CUtexref, mode: CUfilter_mode);
    /// Sets what is added to the level of detail.
    cuTexRefSetMipmapLevelBias(reference: CUtexref, bias: f32);
    /// Sets the least and greatest level of detail.
    cuTexRefSetMipmapLevelClamp(reference: CUtexref, least: f32, greatest: f32);
    /// Sets the largest anisotropy.
    cuTexRefSetMaxAnisotropy(reference: CUtexref, anisotropy: u32);
    /// Sets the border colour.
    cuTexRefSetBorderColor(reference: CUtexref, color: *mut f32);
    /// The bound linear memory.
    cuTexRefGetAddress_v2(address: *mut CUdeviceptr, reference: CUtexref);
    /// The bound array.
    cuTexRefGetArray(array: *mut CUarray, reference: CUtexref);
    /// What is outside in one dimension.
    cuTexRefGetAddressMode(mode: *mut CUaddress_mode, reference: CUtexref, dimension: i32);
    /// How a value is made out of texels.
    cuTexRefGetFilterMode(mode: *mut CUfilter_mode, reference: CUtexref);
    /// The format.
    cuTexRefGetFormat(format: *mut CUarray_format, channels: *mut i32, reference: CUtexref);
    /// `CU_TRSF_...`.
    cuTexRefGetFlags(flags: *mut u32, reference: CUtexref);
    /// Binds an array.
    cuSurfRefSetArray(reference: CUsurfref, array: CUarray, flags: u32);
    /// The bound array.
    cuSurfRefGetArray(array: *mut CUarray, reference: CUsurfref);
    /// Fills with a byte.
    cuMemsetD8_v2(dst: CUdeviceptr, value: u8, count: usize);
    /// Fills with a 16-bit value.
    cuMemsetD16_v2(dst: CUdeviceptr, value: u16, count: usize);
    /// Fills with a 32-bit value.
    cuMemsetD32_v2(dst: CUdeviceptr, value: u32, count: usize);
    /// Fills with a byte in stream order.
    cuMemsetD8Async(dst: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    /// Fills with a 16-bit value in stream order.
    cuMemsetD16Async(dst: CUdeviceptr, value: u16, count: usize, stream: CUstream);
    /// Fills with a 32-bit value in stream order.
    cuMemsetD32Async(dst: CUdeviceptr, value: u32, count: usize, stream: CUstream);
    /// Fills rows with a byte.
    cuMemsetD2D8_v2(dst: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize);
    /// Fills rows with a 16-bit value.
    cuMemsetD2D16_v2(dst: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize);
    /// Fills rows with a 32-bit value.
    cuMemsetD2D32_v2(dst: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize);

    /// Creates a stream.
    cuStreamCreate(stream: *mut CUstream, flags: u32);
    /// Creates a stream with a priority.
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: u32, priority: i32);
    /// Destroys a stream; its queued work still runs.
    cuStreamDestroy_v2(stream: CUstream);
    /// Waits for a stream.
    cuStreamSynchronize(stream: CUstream);
    /// Whether a stream's work is done: success, or `NOT_READY`.
    cuStreamQuery(stream: CUstream);
    /// Makes a stream wait for an event.
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32);
    /// The priority of a stream.
    cuStreamGetPriority(stream: CUstream, priority: *mut i32);
    /// The flags of a stream.
    cuStreamGetFlags(stream: CUstream, flags: *mut u32);
    /// A number unique to a stream.
    cuStreamGetId(stream: CUstream, id: *mut u64);
    /// The context of a stream.
    cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
    /// Queues a callback.
    cuStreamAddCallback(stream: CUstream, callback: CUstreamCallback, user_data: *mut c_void, flags: u32);
    /// Queues a host function.
    cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void);
    /// Changes, in stream order, who may use managed memory.
    cuStreamAttachMemAsync(stream: CUstream, address: CUdeviceptr, bytes: usize, flags: u32);
    /// Whether a stream is being captured.
    cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus);

    /// Creates an event.
    cuEventCreate(event: *mut CUevent, flags: u32);
    /// Destroys an event.
    cuEventDestroy_v2(event: CUevent);
    /// Records an event in a stream.
    cuEventRecord(event: CUevent, stream: CUstream);
    /// Whether an event has passed: success, or `NOT_READY`.
    cuEventQuery(event: CUevent);
    /// Waits for an event.
    cuEventSynchronize(event: CUevent);
    /// Milliseconds between two events.
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    /// Milliseconds between two events, as newer drivers export it.
    cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent);

    /// Launches a kernel.
    cuLaunchKernel(function: CUfunction, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared_bytes: u32, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void);
    /// Launches a kernel with attributes.
    cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void);
    /// Launches a kernel whose blocks are all resident at once.
    cuLaunchCooperativeKernel(function: CUfunction, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared_bytes: u32, stream: CUstream, params: *mut *mut c_void);
    /// Blocks of a kernel that fit a multiprocessor.
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: CUfunction, block_size: i32, shared_bytes: usize);
    /// As above, with flags.
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut i32, function: CUfunction, block_size: i32, shared_bytes: usize, flags: u32);
    /// The block size with the best occupancy, and the grid that fills the device.
    cuOccupancyMaxPotentialBlockSize(grid: *mut i32, block: *mut i32, function: CUfunction, shared: CUoccupancyB2DSize, shared_bytes: usize, limit: i32);
    /// Dynamic shared memory left when so many blocks share a multiprocessor.
    cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: CUfunction, blocks: i32, block_size: i32);

    /// Starts the profiler.
    cuProfilerStart();
    /// Stops the profiler.
    cuProfilerStop();
}
