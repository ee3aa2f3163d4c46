//! What went wrong, as a value to branch on.

use cuprum_driver_sys::CUresult;

/// The class of an [`Error`](crate::Error), for code that reacts to it.
///
/// The text of an error carries the numbers; the kind carries the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no usable driver; [`Error::driver_problem`](crate::Error::driver_problem) says which problem it is.
    DriverUnavailable,
    /// There is no such device, or the device cannot be used now.
    NoDevice,
    /// A value that the caller gave is not possible: a length that does not fit, a name with a null byte.
    InvalidArgument,
    /// Two objects of different contexts were used together.
    WrongContext,
    /// Not enough memory, on the device or page-locked.
    OutOfMemory,
    /// The shape of a launch exceeds a limit of the device or of the kernel.
    LaunchConfig,
    /// The arguments of a launch do not fit the parameters of the kernel.
    Arguments,
    /// A name is not in the image.
    NotFound,
    /// The image of a module was refused: broken PTX, another architecture, a newer PTX version.
    InvalidImage,
    /// The driver or the device lacks what was asked for.
    Unsupported,
    /// Work is still running where an answer was wanted at once.
    Busy,
    /// Device code failed; the context is lost. See [`Error::is_fatal`](crate::Error::is_fatal).
    Fault,
    /// Any other failure of a driver call; [`Error::code`](crate::Error::code) says which.
    Driver,
}

impl ErrorKind {
    /// The kind of a driver result code.
    pub(crate) fn of_code(code: CUresult) -> Self {
        if is_fault(code) {
            return Self::Fault;
        }
        match code {
            CUresult::NO_DEVICE | CUresult::INVALID_DEVICE | CUresult::DEVICE_UNAVAILABLE => {
                Self::NoDevice
            }
            CUresult::INVALID_VALUE => Self::InvalidArgument,
            CUresult::OUT_OF_MEMORY => Self::OutOfMemory,
            CUresult::NOT_FOUND => Self::NotFound,
            CUresult::NOT_READY => Self::Busy,
            CUresult::INVALID_IMAGE
            | CUresult::INVALID_PTX
            | CUresult::NO_BINARY_FOR_GPU
            | CUresult::UNSUPPORTED_PTX_VERSION
            | CUresult::JIT_COMPILER_NOT_FOUND
            | CUresult::INVALID_SOURCE => Self::InvalidImage,
            CUresult::NOT_SUPPORTED
            | CUresult::CALL_REQUIRES_NEWER_DRIVER
            | CUresult::UNSUPPORTED_LIMIT => Self::Unsupported,
            CUresult::LAUNCH_OUT_OF_RESOURCES | CUresult::COOPERATIVE_LAUNCH_TOO_LARGE => {
                Self::LaunchConfig
            }
            CUresult::STUB_LIBRARY | CUresult::SYSTEM_DRIVER_MISMATCH => Self::DriverUnavailable,
            _ => Self::Driver,
        }
    }
}

/// Whether `code` is the trace of device code that failed: such a context answers every later call with it.
pub(crate) fn is_fault(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::ECC_UNCORRECTABLE
            | CUresult::NVLINK_UNCORRECTABLE
            | CUresult::CONTAINED
            | CUresult::ILLEGAL_ADDRESS
            | CUresult::LAUNCH_TIMEOUT
            | CUresult::ASSERT
            | CUresult::HARDWARE_STACK_ERROR
            | CUresult::ILLEGAL_INSTRUCTION
            | CUresult::MISALIGNED_ADDRESS
            | CUresult::INVALID_ADDRESS_SPACE
            | CUresult::INVALID_PC
            | CUresult::LAUNCH_FAILED
            | CUresult::TENSOR_MEMORY_LEAK
            | CUresult::EXTERNAL_DEVICE
    )
}
