//! One line of advice for the failures that people meet most.

use cuprum_driver_sys::CUresult;

/// Advice for a failing call, or `None` where the code speaks for itself.
pub(crate) fn hint(call: &str, code: CUresult, software: bool) -> Option<&'static str> {
    Some(match code {
        CUresult::OUT_OF_MEMORY => {
            "drop buffers that are no longer used and call Context::collect(), or work in smaller pieces; \
             Context::memory_info() tells what is free"
        }
        CUresult::UNSUPPORTED_PTX_VERSION => {
            "the PTX is newer than the driver: compile to a cubin for this device, use an older compiler, or update \
             the driver"
        }
        CUresult::NO_BINARY_FOR_GPU => {
            "compile for this device's compute capability, or ship PTX of a lower one"
        }
        CUresult::INVALID_PTX if software => {
            "the text above shows the line; the software device names what it lacks"
        }
        CUresult::INVALID_PTX => "load the PTX on soft:0 to see the line at fault",
        CUresult::NOT_FOUND if call == "cuModuleGetFunction" || call == "cuModuleGetGlobal_v2" => {
            "C++ mangles names: declare the kernel extern \"C\", or ask for its name expression"
        }
        CUresult::LAUNCH_OUT_OF_RESOURCES => {
            "the block needs more registers or shared memory than there are: use fewer threads, or compile with \
             __launch_bounds__"
        }
        CUresult::COOPERATIVE_LAUNCH_TOO_LARGE => {
            "all blocks of a cooperative launch must be resident at once: use a smaller grid"
        }
        CUresult::ILLEGAL_ADDRESS | CUresult::MISALIGNED_ADDRESS if !software => {
            "run the same program with CUPRUM_DEVICE=soft:0: it names kernel, line, thread and address"
        }
        CUresult::LAUNCH_TIMEOUT => {
            "the kernel may loop for ever; split long work into several launches"
        }
        CUresult::ASSERT => {
            "an assert() in device code failed; its text was printed to the standard output"
        }
        CUresult::STUB_LIBRARY => {
            "a toolkit's stubs directory is on the loader's path: remove it from LD_LIBRARY_PATH"
        }
        CUresult::SYSTEM_DRIVER_MISMATCH => {
            "the driver was updated while the old one was loaded: reboot"
        }
        CUresult::DEVICE_UNAVAILABLE => {
            "another process holds the device exclusively, or its mode forbids use"
        }
        CUresult::INVALID_CONTEXT | CUresult::CONTEXT_IS_DESTROYED => {
            "another library may have reset the device or destroyed its primary context"
        }
        _ => return None,
    })
}
