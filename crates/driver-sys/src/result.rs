//! Result codes of the driver API.

use core::fmt;

/// What a driver call returned (`CUresult`): open, so codes of newer drivers survive as numbers.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CUresult(pub u32);

macro_rules! results {
    ($($name:ident = $code:literal, $symbol:literal, $text:literal;)*) => {
        impl CUresult {
            $(#[doc = concat!("`", $symbol, "`: ", $text, ".")]
            pub const $name: Self = Self($code);)*

            /// The symbolic name of `cuda.h`, or `None` for a code this crate does not know.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($symbol),)*
                    _ => None,
                }
            }

            /// What the code means, in our words, or `None` for a code this crate does not know.
            #[must_use]
            pub const fn description(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

results! {
    SUCCESS = 0, "CUDA_SUCCESS", "the call succeeded";
    INVALID_VALUE = 1, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range or null";
    OUT_OF_MEMORY = 2, "CUDA_ERROR_OUT_OF_MEMORY", "not enough memory for the request";
    NOT_INITIALIZED = 3, "CUDA_ERROR_NOT_INITIALIZED", "cuInit has not been called, or failed";
    DEINITIALIZED = 4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down";
    PROFILER_DISABLED = 5, "CUDA_ERROR_PROFILER_DISABLED", "no profiler is attached";
    STUB_LIBRARY = 34, "CUDA_ERROR_STUB_LIBRARY", "the library is the stub that toolkits ship for linking, not a driver";
    CALL_REQUIRES_NEWER_DRIVER = 36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver";
    DEVICE_UNAVAILABLE = 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or set to a mode that forbids use";
    NO_DEVICE = 100, "CUDA_ERROR_NO_DEVICE", "there is no CUDA device";
    INVALID_DEVICE = 101, "CUDA_ERROR_INVALID_DEVICE", "the device ordinal is out of range";
    DEVICE_NOT_LICENSED = 102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the device has no licence";
    INVALID_IMAGE = 200, "CUDA_ERROR_INVALID_IMAGE", "the image is not a valid cubin, PTX or fatbin";
    INVALID_CONTEXT = 201, "CUDA_ERROR_INVALID_CONTEXT", "no context is current, or the handle is not one";
    CONTEXT_ALREADY_CURRENT = 202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is current already";
    MAP_FAILED = 205, "CUDA_ERROR_MAP_FAILED", "a map or register operation failed";
    UNMAP_FAILED = 206, "CUDA_ERROR_UNMAP_FAILED", "an unmap or unregister operation failed";
    ARRAY_IS_MAPPED = 207, "CUDA_ERROR_ARRAY_IS_MAPPED", "the array is mapped and cannot be destroyed";
    ALREADY_MAPPED = 208, "CUDA_ERROR_ALREADY_MAPPED", "the resource is mapped already";
    NO_BINARY_FOR_GPU = 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image holds no code for this device";
    ALREADY_ACQUIRED = 210, "CUDA_ERROR_ALREADY_ACQUIRED", "the resource has been acquired already";
    NOT_MAPPED = 211, "CUDA_ERROR_NOT_MAPPED", "the resource is not mapped";
    NOT_MAPPED_AS_ARRAY = 212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "the resource is not mapped as an array";
    NOT_MAPPED_AS_POINTER = 213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "the resource is not mapped as a pointer";
    ECC_UNCORRECTABLE = 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "an uncorrectable memory error was met";
    UNSUPPORTED_LIMIT = 215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the device has no such limit";
    CONTEXT_ALREADY_IN_USE = 216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "the context is bound to another thread";
    PEER_ACCESS_UNSUPPORTED = 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "the devices cannot reach each other's memory";
    INVALID_PTX = 218, "CUDA_ERROR_INVALID_PTX", "the PTX did not compile";
    INVALID_GRAPHICS_CONTEXT = 219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "there is no usable graphics context";
    NVLINK_UNCORRECTABLE = 220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an uncorrectable NVLink error was met";
    JIT_COMPILER_NOT_FOUND = 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the library that compiles PTX is missing";
    UNSUPPORTED_PTX_VERSION = 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX was written by a newer compiler than this driver knows";
    JIT_COMPILATION_DISABLED = 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "compiling PTX is switched off";
    UNSUPPORTED_EXEC_AFFINITY = 224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the device does not support this execution affinity";
    UNSUPPORTED_DEVSIDE_SYNC = 225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "the code synchronises on the device in an unsupported way";
    CONTAINED = 226, "CUDA_ERROR_CONTAINED", "an error was contained; the context is lost";
    INVALID_SOURCE = 300, "CUDA_ERROR_INVALID_SOURCE", "the source is not valid";
    FILE_NOT_FOUND = 301, "CUDA_ERROR_FILE_NOT_FOUND", "the file was not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a shared library lacks a symbol";
    SHARED_OBJECT_INIT_FAILED = 303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a shared library did not initialise";
    OPERATING_SYSTEM = 304, "CUDA_ERROR_OPERATING_SYSTEM", "an operating-system call failed";
    INVALID_HANDLE = 400, "CUDA_ERROR_INVALID_HANDLE", "the handle is not valid here";
    ILLEGAL_STATE = 401, "CUDA_ERROR_ILLEGAL_STATE", "the resource is not in the right state";
    LOSSY_QUERY = 402, "CUDA_ERROR_LOSSY_QUERY", "the answer would lose information";
    NOT_FOUND = 500, "CUDA_ERROR_NOT_FOUND", "no such name or symbol";
    NOT_READY = 600, "CUDA_ERROR_NOT_READY", "earlier asynchronous work is still running";
    ILLEGAL_ADDRESS = 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel used an invalid address";
    LAUNCH_OUT_OF_RESOURCES = 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch needs more registers, threads or shared memory than there are";
    LAUNCH_TIMEOUT = 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran past the time limit";
    LAUNCH_INCOMPATIBLE_TEXTURING = 703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "the kernel uses an incompatible texturing mode";
    PEER_ACCESS_ALREADY_ENABLED = 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is enabled already";
    PEER_ACCESS_NOT_ENABLED = 705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is not enabled";
    PRIMARY_CONTEXT_ACTIVE = 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use";
    CONTEXT_IS_DESTROYED = 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context has been destroyed";
    ASSERT = 710, "CUDA_ERROR_ASSERT", "a device-side assertion failed";
    TOO_MANY_PEERS = 711, "CUDA_ERROR_TOO_MANY_PEERS", "the device has no room for more peers";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is registered already";
    HOST_MEMORY_NOT_REGISTERED = 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered";
    HARDWARE_STACK_ERROR = 714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a device stack was corrupted or overflowed";
    ILLEGAL_INSTRUCTION = 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction";
    MISALIGNED_ADDRESS = 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used a misaligned address";
    INVALID_ADDRESS_SPACE = 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of the wrong state space";
    INVALID_PC = 718, "CUDA_ERROR_INVALID_PC", "the program counter left the code";
    LAUNCH_FAILED = 719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "the grid is larger than can be resident at once";
    TENSOR_MEMORY_LEAK = 721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel ended without freeing its tensor memory";
    NOT_PERMITTED = 800, "CUDA_ERROR_NOT_PERMITTED", "the operation is not permitted";
    NOT_SUPPORTED = 801, "CUDA_ERROR_NOT_SUPPORTED", "the operation is not supported here";
    SYSTEM_NOT_READY = 802, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready for CUDA work";
    SYSTEM_DRIVER_MISMATCH = 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "the driver's parts are of different versions";
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility is not supported on this device";
    MPS_CONNECTION_FAILED = 805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "the connection to the MPS server failed";
    MPS_RPC_FAILURE = 806, "CUDA_ERROR_MPS_RPC_FAILURE", "a call to the MPS server failed";
    MPS_SERVER_NOT_READY = 807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server takes no clients now";
    MPS_MAX_CLIENTS_REACHED = 808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the MPS server has no room for more clients";
    MPS_MAX_CONNECTIONS_REACHED = 809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the MPS server has no room for more connections";
    MPS_CLIENT_TERMINATED = 810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client";
    CDP_NOT_SUPPORTED = 811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "dynamic parallelism is not supported here";
    CDP_VERSION_MISMATCH = 812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "the dynamic parallelism runtimes differ in version";
    STREAM_CAPTURE_UNSUPPORTED = 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "the operation is not allowed while a stream captures";
    STREAM_CAPTURE_INVALIDATED = 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error spoiled the capture";
    STREAM_CAPTURE_MERGE = 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "the operation would join two independent captures";
    STREAM_CAPTURE_UNMATCHED = 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture was not begun on this stream";
    STREAM_CAPTURE_UNJOINED = 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has streams that were never joined";
    STREAM_CAPTURE_ISOLATION = 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "the operation would create a dependency out of the capture";
    STREAM_CAPTURE_IMPLICIT = 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the operation would depend on the legacy stream during capture";
    CAPTURED_EVENT = 907, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture";
    STREAM_CAPTURE_WRONG_THREAD = 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture was begun by another thread";
    TIMEOUT = 909, "CUDA_ERROR_TIMEOUT", "a wait ran past its time limit";
    GRAPH_EXEC_UPDATE_FAILURE = 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph cannot be updated in place";
    EXTERNAL_DEVICE = 911, "CUDA_ERROR_EXTERNAL_DEVICE", "an external device failed";
    INVALID_CLUSTER_SIZE = 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "the cluster size is not possible";
    FUNCTION_NOT_LOADED = 913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "the function is not loaded";
    INVALID_RESOURCE_TYPE = 914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "the resource is of the wrong type";
    INVALID_RESOURCE_CONFIGURATION = 915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "the resource configuration is not valid";
    KEY_ROTATION = 916, "CUDA_ERROR_KEY_ROTATION", "a key rotation is in progress";
    UNKNOWN = 999, "CUDA_ERROR_UNKNOWN", "the driver does not know what went wrong";
}

impl CUresult {
    /// Whether the call succeeded.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "CUresult({})", self.0),
        }
    }
}

impl fmt::Display for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
