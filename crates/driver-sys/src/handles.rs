//! Handles: what the driver gives out and only the driver can read.

use core::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// The null handle.
            pub const NULL: Self = Self(core::ptr::null_mut());

            /// Whether this is the null handle.
            #[must_use]
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }

        // SAFETY: a handle is an opaque number to this program; only the driver dereferences it, and the driver API
        // documents its entry points as callable from any host thread.
        unsafe impl Send for $name {}
        // SAFETY: as for `Send`: sharing the number shares nothing that this program reads.
        unsafe impl Sync for $name {}
    )*};
}

handles! {
    /// A context: the address space, modules and streams of one device in one process.
    CUcontext;
    /// A module: one loaded image of code.
    CUmodule;
    /// A library: an image loaded without a context.
    CUlibrary;
    /// A kernel of a [`CUlibrary`].
    CUkernel;
    /// A kernel of a [`CUmodule`].
    CUfunction;
    /// A stream: a queue of work on one context.
    CUstream;
    /// An event: a mark in a stream.
    CUevent;
    /// A CUDA array: texture memory with a hidden layout.
    CUarray;
    /// A chain of arrays for mipmapping.
    CUmipmappedArray;
    /// A texture reference of old PTX.
    CUtexref;
    /// A surface reference of old PTX.
    CUsurfref;
    /// A graph under construction.
    CUgraph;
    /// A node of a graph.
    CUgraphNode;
    /// An instantiated graph.
    CUgraphExec;
    /// A pool of stream-ordered memory.
    CUmemoryPool;
    /// A graphics resource registered for interop.
    CUgraphicsResource;
    /// The state of a linker run.
    CUlinkState;
}

impl CUstream {
    /// The legacy default stream (`CU_STREAM_LEGACY`), named explicitly.
    pub const LEGACY: Self = Self(core::ptr::without_provenance_mut(1));
    /// The calling thread's own default stream (`CU_STREAM_PER_THREAD`).
    pub const PER_THREAD: Self = Self(core::ptr::without_provenance_mut(2));
}

/// A device ordinal, as `cuDeviceGet` returns it.
pub type CUdevice = i32;

/// An address in device memory (`CUdeviceptr`, 64 bits on every supported platform).
pub type CUdeviceptr = u64;

/// A texture object.
pub type CUtexObject = u64;

/// A surface object.
pub type CUsurfObject = u64;

/// A host function queued by `cuLaunchHostFunc`.
pub type CUhostFn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A stream callback queued by `cuStreamAddCallback`.
pub type CUstreamCallback =
    Option<unsafe extern "C" fn(stream: CUstream, status: crate::CUresult, user_data: *mut c_void)>;

/// Tells `cuOccupancyMaxPotentialBlockSize` how much dynamic shared memory a block size needs.
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(block_size: i32) -> usize>;
