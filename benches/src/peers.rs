//! The C++ side of the comparisons: `peers/peers.cu`, built into a shared object by whoever has CUDA's compiler.

use std::ffi::c_int;

use cuprum::driver::sys::{CUdeviceptr, CUfunction, CUresult, CUstream};
use libloading::{Library, Symbol};

/// Names the shared object.
pub const VARIABLE: &str = "CUPRUM_PEERS";

type LaunchLoop = unsafe extern "C" fn(
    CUfunction,
    CUstream,
    CUdeviceptr,
    CUdeviceptr,
    f32,
    c_int,
    c_int,
) -> CUresult;

/// The opened peers.
#[derive(Debug)]
pub struct Peers(Library);

impl Peers {
    /// Opens the shared object that `CUPRUM_PEERS` names; `None` if it names none.
    ///
    /// # Errors
    /// The loader's, in words.
    pub fn open() -> Result<Option<Self>, String> {
        let Some(path) = std::env::var_os(VARIABLE) else {
            return Ok(None);
        };
        // SAFETY: the library is built from `peers/peers.cu`, which runs nothing when it is loaded.
        let library = unsafe { Library::new(&path) };
        library
            .map(|library| Some(Self(library)))
            .map_err(|error| format!("{VARIABLE}={}: {error}", path.display()))
    }

    /// Launches a kernel `(float *, float *, float, int)` with one thread, `count` times.
    ///
    /// # Safety
    /// - `function` takes these four parameters, lives, and is of the current context, as is `stream`.
    /// - The kernel may be run on `a` and `b` now, `count` times.
    ///
    /// # Errors
    /// The loader's if the library lacks the function, the driver's code if a launch fails; in words.
    pub unsafe fn launch_loop(
        &self,
        function: CUfunction,
        stream: CUstream,
        (a, b, c, n): (CUdeviceptr, CUdeviceptr, f32, i32),
        count: i32,
    ) -> Result<(), String> {
        // SAFETY: `peers.cu` exports the function with this signature.
        let launch: Symbol<'_, LaunchLoop> =
            unsafe { self.0.get(b"peer_launch_loop\0") }.map_err(|error| error.to_string())?;
        // SAFETY: as the caller promises.
        let result = unsafe { launch(function, stream, a, b, c, n, count) };
        if result.is_success() {
            Ok(())
        } else {
            Err(format!("cuLaunchKernel in the peer: {result}"))
        }
    }
}
