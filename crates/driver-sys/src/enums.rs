//! The enumerations and flag words of `cuda.h`, each an open integer.

macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident: $repr:ty { $($(#[$vdoc:meta])* $variant:ident = $value:expr,)* }) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$vdoc])* pub const $variant: Self = Self($value);)*

            /// The constants this crate names, with their spelling, in declaration order.
            pub const NAMED: &'static [(&'static str, Self)] = &[$((stringify!($variant), Self::$variant),)*];
        }
    };
}

macro_rules! device_attributes {
    ($($name:ident = $value:literal,)*) => {
        open_enum! {
            /// An attribute of a device (`CUdevice_attribute`), named as in `cuda.h` without the prefix
            /// `CU_DEVICE_ATTRIBUTE_`. Units are those of the manual: bytes, kilohertz, counts, or a truth value.
            CUdevice_attribute: i32 { $(
                #[doc = concat!("`CU_DEVICE_ATTRIBUTE_", stringify!($name), "`.")]
                $name = $value,
            )* }
        }
    };
}

device_attributes! {
    MAX_THREADS_PER_BLOCK = 1,
    MAX_BLOCK_DIM_X = 2,
    MAX_BLOCK_DIM_Y = 3,
    MAX_BLOCK_DIM_Z = 4,
    MAX_GRID_DIM_X = 5,
    MAX_GRID_DIM_Y = 6,
    MAX_GRID_DIM_Z = 7,
    MAX_SHARED_MEMORY_PER_BLOCK = 8,
    TOTAL_CONSTANT_MEMORY = 9,
    WARP_SIZE = 10,
    MAX_PITCH = 11,
    MAX_REGISTERS_PER_BLOCK = 12,
    CLOCK_RATE = 13,
    TEXTURE_ALIGNMENT = 14,
    GPU_OVERLAP = 15,
    MULTIPROCESSOR_COUNT = 16,
    KERNEL_EXEC_TIMEOUT = 17,
    INTEGRATED = 18,
    CAN_MAP_HOST_MEMORY = 19,
    COMPUTE_MODE = 20,
    MAXIMUM_TEXTURE1D_WIDTH = 21,
    MAXIMUM_TEXTURE2D_WIDTH = 22,
    MAXIMUM_TEXTURE2D_HEIGHT = 23,
    MAXIMUM_TEXTURE3D_WIDTH = 24,
    MAXIMUM_TEXTURE3D_HEIGHT = 25,
    MAXIMUM_TEXTURE3D_DEPTH = 26,
    MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27,
    MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
    MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29,
    SURFACE_ALIGNMENT = 30,
    CONCURRENT_KERNELS = 31,
    ECC_ENABLED = 32,
    PCI_BUS_ID = 33,
    PCI_DEVICE_ID = 34,
    TCC_DRIVER = 35,
    MEMORY_CLOCK_RATE = 36,
    GLOBAL_MEMORY_BUS_WIDTH = 37,
    L2_CACHE_SIZE = 38,
    MAX_THREADS_PER_MULTIPROCESSOR = 39,
    ASYNC_ENGINE_COUNT = 40,
    UNIFIED_ADDRESSING = 41,
    MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
    MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43,
    CAN_TEX2D_GATHER = 44,
    MAXIMUM_TEXTURE2D_GATHER_WIDTH = 45,
    MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 46,
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 47,
    MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 48,
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 49,
    PCI_DOMAIN_ID = 50,
    TEXTURE_PITCH_ALIGNMENT = 51,
    MAXIMUM_TEXTURECUBEMAP_WIDTH = 52,
    MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 53,
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 54,
    MAXIMUM_SURFACE1D_WIDTH = 55,
    MAXIMUM_SURFACE2D_WIDTH = 56,
    MAXIMUM_SURFACE2D_HEIGHT = 57,
    MAXIMUM_SURFACE3D_WIDTH = 58,
    MAXIMUM_SURFACE3D_HEIGHT = 59,
    MAXIMUM_SURFACE3D_DEPTH = 60,
    MAXIMUM_SURFACE1D_LAYERED_WIDTH = 61,
    MAXIMUM_SURFACE1D_LAYERED_LAYERS = 62,
    MAXIMUM_SURFACE2D_LAYERED_WIDTH = 63,
    MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 64,
    MAXIMUM_SURFACE2D_LAYERED_LAYERS = 65,
    MAXIMUM_SURFACECUBEMAP_WIDTH = 66,
    MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 67,
    MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 68,
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69,
    MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71,
    MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
    MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 73,
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 74,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 77,
    STREAM_PRIORITIES_SUPPORTED = 78,
    GLOBAL_L1_CACHE_SUPPORTED = 79,
    LOCAL_L1_CACHE_SUPPORTED = 80,
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    MANAGED_MEMORY = 83,
    MULTI_GPU_BOARD = 84,
    MULTI_GPU_BOARD_GROUP_ID = 85,
    HOST_NATIVE_ATOMIC_SUPPORTED = 86,
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
    PAGEABLE_MEMORY_ACCESS = 88,
    CONCURRENT_MANAGED_ACCESS = 89,
    COMPUTE_PREEMPTION_SUPPORTED = 90,
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    CAN_USE_STREAM_MEM_OPS = 92,
    CAN_USE_STREAM_MEM_OPS_V1 = 92,
    CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
    CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = 94,
    COOPERATIVE_LAUNCH = 95,
    COOPERATIVE_MULTI_DEVICE_LAUNCH = 96,
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CAN_FLUSH_REMOTE_WRITES = 98,
    HOST_REGISTER_SUPPORTED = 99,
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
    VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
    HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
    HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 105,
    MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
    GENERIC_COMPRESSION_SUPPORTED = 107,
    MAX_PERSISTING_L2_CACHE_SIZE = 108,
    MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
    GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
    RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
    SPARSE_CUDA_ARRAY_SUPPORTED = 112,
    READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
    TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 114,
    MEMORY_POOLS_SUPPORTED = 115,
    GPU_DIRECT_RDMA_SUPPORTED = 116,
    GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
    GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
    MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
    CLUSTER_LAUNCH = 120,
    DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 121,
    CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
    CAN_USE_64_BIT_STREAM_MEM_OPS_V2 = 122,
    CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
    CAN_USE_STREAM_WAIT_VALUE_NOR_V2 = 123,
    DMA_BUF_SUPPORTED = 124,
    IPC_EVENT_SUPPORTED = 125,
    MEM_SYNC_DOMAIN_COUNT = 126,
    TENSOR_MAP_ACCESS_SUPPORTED = 127,
    HANDLE_TYPE_FABRIC_SUPPORTED = 128,
    UNIFIED_FUNCTION_POINTERS = 129,
    NUMA_CONFIG = 130,
    NUMA_ID = 131,
    MULTICAST_SUPPORTED = 132,
    MPS_ENABLED = 133,
    HOST_NUMA_ID = 134,
    D3D12_CIG_SUPPORTED = 135,
    MEM_DECOMPRESS_ALGORITHM_MASK = 136,
    MEM_DECOMPRESS_MAXIMUM_LENGTH = 137,
    VULKAN_CIG_SUPPORTED = 138,
    GPU_PCI_DEVICE_ID = 139,
    GPU_PCI_SUBSYSTEM_ID = 140,
    HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
    HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
    HOST_NUMA_MULTINODE_IPC_SUPPORTED = 143,
    HOST_MEMORY_POOLS_SUPPORTED = 144,
    HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
    HOST_ALLOC_DMA_BUF_SUPPORTED = 146,
    ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 147,
    ATOMIC_REDUCTION_SUPPORTED = 148,
    LOCALITY_DOMAIN_COUNT = 149,
    MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK = 150,
    D3D12_CIG_STREAMS_SUPPORTED = 151,
    DMA_BUF_MMAP_SUPPORTED = 152,
    LOGICAL_ENDPOINT_UNICAST_SUPPORTED = 153,
    LOGICAL_ENDPOINT_MULTICAST_SUPPORTED = 154,
    LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED = 155,
    LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED = 156,
    LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT = 157,
    LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES = 158,
    GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED = 161,
}

open_enum! {
    /// A limit of a context (`CUlimit`).
    CUlimit: u32 {
        /// Stack bytes of each thread.
        STACK_SIZE = 0,
        /// Bytes of the buffer behind `printf`.
        PRINTF_FIFO_SIZE = 1,
        /// Bytes of the heap behind device `malloc`.
        MALLOC_HEAP_SIZE = 2,
        /// Depth of device-side synchronisation.
        DEV_RUNTIME_SYNC_DEPTH = 3,
        /// Launches pending on the device.
        DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
        /// Granularity of L2 fetches in bytes.
        MAX_L2_FETCH_GRANULARITY = 5,
        /// Bytes of persisting L2 cache.
        PERSISTING_L2_CACHE_SIZE = 6,
    }
}

open_enum! {
    /// A preference between L1 cache and shared memory (`CUfunc_cache`).
    CUfunc_cache: u32 {
        /// No preference.
        PREFER_NONE = 0,
        /// More shared memory.
        PREFER_SHARED = 1,
        /// More L1 cache.
        PREFER_L1 = 2,
        /// Equal parts.
        PREFER_EQUAL = 3,
    }
}

open_enum! {
    /// An attribute of a function (`CUfunction_attribute`).
    CUfunction_attribute: i32 {
        /// Threads a block may have at most.
        MAX_THREADS_PER_BLOCK = 0,
        /// Static shared memory in bytes.
        SHARED_SIZE_BYTES = 1,
        /// Constant memory in bytes.
        CONST_SIZE_BYTES = 2,
        /// Local memory of each thread in bytes.
        LOCAL_SIZE_BYTES = 3,
        /// Registers of each thread.
        NUM_REGS = 4,
        /// Version of the PTX it was compiled from, times ten.
        PTX_VERSION = 5,
        /// Version of the machine code, times ten.
        BINARY_VERSION = 6,
        /// Whether global loads are cached in L1.
        CACHE_MODE_CA = 7,
        /// Dynamic shared memory a launch may ask for, in bytes; can be set.
        MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
        /// Preferred share of shared memory, in percent; can be set.
        PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
        /// Whether the kernel must be launched with a cluster size.
        CLUSTER_SIZE_MUST_BE_SET = 10,
        /// Width of the required cluster.
        REQUIRED_CLUSTER_WIDTH = 11,
        /// Height of the required cluster.
        REQUIRED_CLUSTER_HEIGHT = 12,
        /// Depth of the required cluster.
        REQUIRED_CLUSTER_DEPTH = 13,
        /// Whether cluster sizes that are not portable may be used; can be set.
        NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
        /// How blocks of a cluster are scheduled; can be set.
        CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15,
    }
}

open_enum! {
    /// An attribute of a pointer (`CUpointer_attribute`).
    CUpointer_attribute: u32 {
        /// The context that owns the memory.
        CONTEXT = 1,
        /// The kind of memory, a [`CUmemorytype`].
        MEMORY_TYPE = 2,
        /// The address on the device.
        DEVICE_POINTER = 3,
        /// The address on the host.
        HOST_POINTER = 4,
        /// Whether copies of the memory synchronise.
        SYNC_MEMOPS = 6,
        /// A number unique to the allocation within the process.
        BUFFER_ID = 7,
        /// Whether the memory is managed.
        IS_MANAGED = 8,
        /// The ordinal of the device.
        DEVICE_ORDINAL = 9,
        /// The start of the allocation.
        RANGE_START_ADDR = 11,
        /// The size of the allocation in bytes.
        RANGE_SIZE = 12,
        /// Whether the memory is mapped.
        MAPPED = 13,
    }
}

open_enum! {
    /// Where memory is (`CUmemorytype`).
    CUmemorytype: u32 {
        /// Host memory.
        HOST = 1,
        /// Device memory.
        DEVICE = 2,
        /// A CUDA array.
        ARRAY = 3,
        /// Unified memory, host or device by its address.
        UNIFIED = 4,
    }
}

open_enum! {
    /// Advice on managed memory (`CUmem_advise`).
    CUmem_advise: u32 {
        /// It will mostly be read: copies may be kept wherever it is.
        SET_READ_MOSTLY = 1,
        /// Takes that back.
        UNSET_READ_MOSTLY = 2,
        /// Where it should be.
        SET_PREFERRED_LOCATION = 3,
        /// It may be anywhere.
        UNSET_PREFERRED_LOCATION = 4,
        /// Who will use it, and so should have it mapped.
        SET_ACCESSED_BY = 5,
        /// Takes that back.
        UNSET_ACCESSED_BY = 6,
    }
}

open_enum! {
    /// What can be asked of a range of managed memory (`CUmem_range_attribute`).
    CUmem_range_attribute: u32 {
        /// Whether all of it is mostly read: a 32-bit integer.
        READ_MOSTLY = 1,
        /// Where all of it should be: the ordinal of a device, [`CU_DEVICE_CPU`] or [`CU_DEVICE_INVALID`].
        PREFERRED_LOCATION = 2,
        /// Who uses all of it: a list of such numbers.
        ACCESSED_BY = 3,
        /// Where all of it was last asked to be: as the preferred location.
        LAST_PREFETCH_LOCATION = 4,
        /// The kind of the preferred location, a [`CUmemLocationType`].
        PREFERRED_LOCATION_TYPE = 5,
        /// Its number.
        PREFERRED_LOCATION_ID = 6,
        /// The kind of the location last asked for, a [`CUmemLocationType`].
        LAST_PREFETCH_LOCATION_TYPE = 7,
        /// Its number.
        LAST_PREFETCH_LOCATION_ID = 8,
    }
}

open_enum! {
    /// A kind of place for memory (`CUmemLocationType`).
    CUmemLocationType: u32 {
        /// None, or not the same for all.
        INVALID = 0,
        /// A device.
        DEVICE = 1,
        /// The host.
        HOST = 2,
        /// A NUMA node of the host.
        HOST_NUMA = 3,
        /// The NUMA node of the calling thread.
        HOST_NUMA_CURRENT = 4,
    }
}

open_enum! {
    /// How the channels of a CUDA array's texels are stored (`CUarray_format`).
    CUarray_format: u32 {
        /// Unsigned 8-bit integers.
        UNSIGNED_INT8 = 0x01,
        /// Unsigned 16-bit integers.
        UNSIGNED_INT16 = 0x02,
        /// Unsigned 32-bit integers.
        UNSIGNED_INT32 = 0x03,
        /// Signed 8-bit integers.
        SIGNED_INT8 = 0x08,
        /// Signed 16-bit integers.
        SIGNED_INT16 = 0x09,
        /// Signed 32-bit integers.
        SIGNED_INT32 = 0x0a,
        /// 16-bit floats.
        HALF = 0x10,
        /// 32-bit floats.
        FLOAT = 0x20,
    }
}

open_enum! {
    /// What a texture reads outside of its extent (`CUaddress_mode`).
    CUaddress_mode: u32 {
        /// The texture repeats.
        WRAP = 0,
        /// The nearest edge.
        CLAMP = 1,
        /// The texture repeats, every other time mirrored.
        MIRROR = 2,
        /// The border colour.
        BORDER = 3,
    }
}

open_enum! {
    /// How a texture makes a value out of texels (`CUfilter_mode`).
    CUfilter_mode: u32 {
        /// The nearest texel.
        POINT = 0,
        /// Linear interpolation.
        LINEAR = 1,
    }
}

open_enum! {
    /// What a texture or surface object reads (`CUresourcetype`).
    CUresourcetype: u32 {
        /// A CUDA array.
        ARRAY = 0,
        /// A mipmapped array.
        MIPMAPPED_ARRAY = 1,
        /// Linear memory.
        LINEAR = 2,
        /// Rows of linear memory.
        PITCH2D = 3,
    }
}

open_enum! {
    /// How a texture object sees the texels of its array (`CUresourceViewFormat`). Block-compressed formats are not named.
    CUresourceViewFormat: u32 {
        /// As the array has them.
        NONE = 0x00,
        /// One unsigned 8-bit integer.
        UINT_1X8 = 0x01,
        /// Two unsigned 8-bit integers.
        UINT_2X8 = 0x02,
        /// Four unsigned 8-bit integers.
        UINT_4X8 = 0x03,
        /// One signed 8-bit integer.
        SINT_1X8 = 0x04,
        /// Two signed 8-bit integers.
        SINT_2X8 = 0x05,
        /// Four signed 8-bit integers.
        SINT_4X8 = 0x06,
        /// One unsigned 16-bit integer.
        UINT_1X16 = 0x07,
        /// Two unsigned 16-bit integers.
        UINT_2X16 = 0x08,
        /// Four unsigned 16-bit integers.
        UINT_4X16 = 0x09,
        /// One signed 16-bit integer.
        SINT_1X16 = 0x0a,
        /// Two signed 16-bit integers.
        SINT_2X16 = 0x0b,
        /// Four signed 16-bit integers.
        SINT_4X16 = 0x0c,
        /// One unsigned 32-bit integer.
        UINT_1X32 = 0x0d,
        /// Two unsigned 32-bit integers.
        UINT_2X32 = 0x0e,
        /// Four unsigned 32-bit integers.
        UINT_4X32 = 0x0f,
        /// One signed 32-bit integer.
        SINT_1X32 = 0x10,
        /// Two signed 32-bit integers.
        SINT_2X32 = 0x11,
        /// Four signed 32-bit integers.
        SINT_4X32 = 0x12,
        /// One 16-bit float.
        FLOAT_1X16 = 0x13,
        /// Two 16-bit floats.
        FLOAT_2X16 = 0x14,
        /// Four 16-bit floats.
        FLOAT_4X16 = 0x15,
        /// One 32-bit float.
        FLOAT_1X32 = 0x16,
        /// Two 32-bit floats.
        FLOAT_2X32 = 0x17,
        /// Four 32-bit floats.
        FLOAT_4X32 = 0x18,
    }
}

open_enum! {
    /// An option of a link or just-in-time compilation (`CUjit_option`).
    CUjit_option: u32 {
        /// Registers of each thread at most.
        MAX_REGISTERS = 0,
        /// Threads of a block that the compiler plans for.
        THREADS_PER_BLOCK = 1,
        /// Time that the compilation took, in milliseconds.
        WALL_TIME = 2,
        /// The buffer for the compiler's information log.
        INFO_LOG_BUFFER = 3,
        /// That buffer's size; on return what was written.
        INFO_LOG_BUFFER_SIZE_BYTES = 4,
        /// The buffer for the compiler's error log.
        ERROR_LOG_BUFFER = 5,
        /// That buffer's size; on return what was written.
        ERROR_LOG_BUFFER_SIZE_BYTES = 6,
        /// Optimisation level, 0 to 4.
        OPTIMIZATION_LEVEL = 7,
        /// Compile for the current context's device.
        TARGET_FROM_CUCONTEXT = 8,
        /// Compile for this target.
        TARGET = 9,
        /// What to do when there is no exact match.
        FALLBACK_STRATEGY = 10,
        /// Whether to write debug information.
        GENERATE_DEBUG_INFO = 11,
        /// Whether the log is verbose.
        LOG_VERBOSE = 12,
        /// Whether to write line information.
        GENERATE_LINE_INFO = 13,
        /// The caching mode.
        CACHE_MODE = 14,
    }
}

open_enum! {
    /// What kind of image a link input is (`CUjitInputType`).
    CUjitInputType: u32 {
        /// Machine code for one architecture.
        CUBIN = 0,
        /// PTX text.
        PTX = 1,
        /// A fat binary.
        FATBINARY = 2,
        /// A host object.
        OBJECT = 3,
        /// A library of objects.
        LIBRARY = 4,
    }
}

open_enum! {
    /// Whether a stream is being captured (`CUstreamCaptureStatus`).
    CUstreamCaptureStatus: u32 {
        /// It is not.
        NONE = 0,
        /// It is.
        ACTIVE = 1,
        /// It was, and an error spoiled the capture.
        INVALIDATED = 2,
    }
}

open_enum! {
    /// What a capture forbids elsewhere (`CUstreamCaptureMode`).
    CUstreamCaptureMode: u32 {
        /// Unsafe calls on any thread spoil the capture.
        GLOBAL = 0,
        /// Unsafe calls on this thread spoil the capture.
        THREAD_LOCAL = 1,
        /// Nothing is checked.
        RELAXED = 2,
    }
}

open_enum! {
    /// An attribute of a pool of stream-ordered memory (`CUmemPool_attribute`).
    CUmemPool_attribute: u32 {
        /// Reuse across streams that an event orders.
        REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
        /// Reuse of memory that is free by chance.
        REUSE_ALLOW_OPPORTUNISTIC = 2,
        /// Reuse by inserting new dependencies.
        REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
        /// Bytes to keep when the pool synchronises.
        RELEASE_THRESHOLD = 4,
        /// Bytes reserved now.
        RESERVED_MEM_CURRENT = 5,
        /// Bytes reserved at the peak.
        RESERVED_MEM_HIGH = 6,
        /// Bytes in use now.
        USED_MEM_CURRENT = 7,
        /// Bytes in use at the peak.
        USED_MEM_HIGH = 8,
    }
}

open_enum! {
    /// An attribute of a launch (`CUlaunchAttributeID`).
    CUlaunchAttributeID: u32 {
        /// An empty entry.
        IGNORE = 0,
        /// The L2 access policy.
        ACCESS_POLICY_WINDOW = 1,
        /// Whether the launch is cooperative.
        COOPERATIVE = 2,
        /// How the stream synchronises.
        SYNCHRONIZATION_POLICY = 3,
        /// The size of a cluster in blocks.
        CLUSTER_DIMENSION = 4,
        /// How clusters are scheduled.
        CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
        /// Programmatic dependent launch.
        PROGRAMMATIC_STREAM_SERIALIZATION = 6,
        /// An event tied to programmatic dependent launch.
        PROGRAMMATIC_EVENT = 7,
        /// The priority of the launch.
        PRIORITY = 8,
    }
}

/// Flag words, grouped as `cuda.h` groups them.
pub mod flags {
    /// The context waits by spinning.
    pub const CU_CTX_SCHED_SPIN: u32 = 0x01;
    /// The context waits by yielding.
    pub const CU_CTX_SCHED_YIELD: u32 = 0x02;
    /// The context waits by blocking.
    pub const CU_CTX_SCHED_BLOCKING_SYNC: u32 = 0x04;
    /// The context can map page-locked memory.
    pub const CU_CTX_MAP_HOST: u32 = 0x08;
    /// All context flags.
    pub const CU_CTX_FLAGS_MASK: u32 = 0xff;

    /// The stream synchronises with the legacy default stream.
    pub const CU_STREAM_DEFAULT: u32 = 0;
    /// The stream does not synchronise with the legacy default stream.
    pub const CU_STREAM_NON_BLOCKING: u32 = 1;

    /// The event records time.
    pub const CU_EVENT_DEFAULT: u32 = 0;
    /// Waiting for the event blocks instead of spinning.
    pub const CU_EVENT_BLOCKING_SYNC: u32 = 1;
    /// The event records no time.
    pub const CU_EVENT_DISABLE_TIMING: u32 = 2;
    /// The event can be shared with another process.
    pub const CU_EVENT_INTERPROCESS: u32 = 4;

    /// Page-locked memory is page-locked for every context.
    pub const CU_MEMHOSTALLOC_PORTABLE: u32 = 1;
    /// Page-locked memory has an address on the device.
    pub const CU_MEMHOSTALLOC_DEVICEMAP: u32 = 2;
    /// Page-locked memory is write-combined.
    pub const CU_MEMHOSTALLOC_WRITECOMBINED: u32 = 4;

    /// Registered memory is page-locked for every context.
    pub const CU_MEMHOSTREGISTER_PORTABLE: u32 = 1;
    /// Registered memory has an address on the device.
    pub const CU_MEMHOSTREGISTER_DEVICEMAP: u32 = 2;

    /// Managed memory is reachable from every stream.
    pub const CU_MEM_ATTACH_GLOBAL: u32 = 1;
    /// Managed memory is reachable from the host only.
    pub const CU_MEM_ATTACH_HOST: u32 = 2;
    /// Managed memory is reachable from one stream.
    pub const CU_MEM_ATTACH_SINGLE: u32 = 4;

    /// The array is an array of layers.
    pub const CUDA_ARRAY3D_LAYERED: u32 = 0x01;
    /// Surfaces may be made of the array.
    pub const CUDA_ARRAY3D_SURFACE_LDST: u32 = 0x02;
    /// The array is a cube map: six faces.
    pub const CUDA_ARRAY3D_CUBEMAP: u32 = 0x04;
    /// Textures of the array may be gathered from.
    pub const CUDA_ARRAY3D_TEXTURE_GATHER: u32 = 0x08;
    /// The array is a depth texture.
    pub const CUDA_ARRAY3D_DEPTH_TEXTURE: u32 = 0x10;
    /// The array may be a colour target of a graphics API.
    pub const CUDA_ARRAY3D_COLOR_ATTACHMENT: u32 = 0x20;
    /// The array is sparse.
    pub const CUDA_ARRAY3D_SPARSE: u32 = 0x40;
    /// The array gets its memory later.
    pub const CUDA_ARRAY3D_DEFERRED_MAPPING: u32 = 0x80;

    /// Integers are read as integers, not as fractions of 1.
    pub const CU_TRSF_READ_AS_INTEGER: u32 = 0x01;
    /// Coordinates go from 0 to 1.
    pub const CU_TRSF_NORMALIZED_COORDINATES: u32 = 0x02;
    /// Colours are stored as sRGB.
    pub const CU_TRSF_SRGB: u32 = 0x10;
    /// Trilinear filtering is never replaced by a cheaper one.
    pub const CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION: u32 = 0x20;
    /// Cube maps are filtered across edges.
    pub const CU_TRSF_SEAMLESS_CUBEMAP: u32 = 0x40;

    /// A texture reference takes the format of the array it is bound to.
    pub const CU_TRSA_OVERRIDE_FORMAT: u32 = 0x01;

    /// `cuGetProcAddress` finds the legacy default stream's entry points.
    pub const CU_GET_PROC_ADDRESS_DEFAULT: u64 = 0;
}

/// In place of a device: the host.
pub const CU_DEVICE_CPU: i32 = -1;
/// In place of a device: none.
pub const CU_DEVICE_INVALID: i32 = -2;

/// Ends the `extra` list of `cuLaunchKernel`.
pub const CU_LAUNCH_PARAM_END: usize = 0;
/// In `extra`: the next entry points to the packed arguments.
pub const CU_LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
/// In `extra`: the next entry points to the size of the packed arguments.
pub const CU_LAUNCH_PARAM_BUFFER_SIZE: usize = 2;
