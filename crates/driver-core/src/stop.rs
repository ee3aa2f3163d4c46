//! Stopping kernels: by a time limit, or at once. Software devices only; a GPU runs a kernel to its end.

use std::time::Duration;

use crate::{Context, Error, ErrorKind, Result};

impl Context {
    /// Sets how long a kernel may run, for launches from now on; `None` is for ever. One that runs longer ends with
    /// `CUDA_ERROR_LAUNCH_TIMEOUT`, and the context with it: see [`Error::is_fatal`].
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on a GPU.
    pub fn set_time_limit(&self, limit: Option<Duration>) -> Result<()> {
        #[cfg(feature = "soft")]
        if self.device().is_software() && cuprum_softcuda::set_time_limit(self.raw(), limit) {
            return Ok(());
        }
        let _ = limit;
        Err(self.cannot("limit how long kernels run"))
    }

    /// Stops the kernels that run, and every later one. They end with `CUDA_ERROR_LAUNCH_FAILED`, and the context with
    /// them, which the next wait tells: see [`Error::is_fatal`]. Does not wait, and may be called from any thread.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on a GPU.
    pub fn cancel(&self) -> Result<()> {
        #[cfg(feature = "soft")]
        if self.device().is_software() && cuprum_softcuda::cancel(self.raw()) {
            return Ok(());
        }
        Err(self.cannot("stop kernels"))
    }

    #[cold]
    fn cannot(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} cannot {what}: only software devices can",
                self.device().label()
            ),
        )
    }
}
