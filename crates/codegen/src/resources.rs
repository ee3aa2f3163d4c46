//! What kernels need.

use std::fmt;

use cuprum_driver_core::{Function, FunctionAttributes};

use crate::error::Result;
use crate::module::SourceModule;

/// What one kernel needs of a multiprocessor, as the driver tells it.
///
/// Shown, it is a line such as `ptxas -v` writes:
///
/// ```
/// use cuprum_codegen::SourceModule;
/// use cuprum_driver_core::Device;
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let context = Device::by_name("soft:0")?.context()?;
/// let module = SourceModule::new(&context, "__global__ void k(int *x) { __shared__ int s[64]; s[threadIdx.x] = x[0]; __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x]; }")?;
/// let uses = module.resource_use()?;
/// assert_eq!((uses[0].kernel(), uses[0].attributes().static_shared), ("k", 256));
/// assert!(uses[0].to_string().contains("256 bytes of shared memory"));
/// // Blocks of 64 threads that a multiprocessor holds at once.
/// assert!(uses[0].blocks_per_multiprocessor(64, 0)? >= 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ResourceUse {
    kernel: String,
    function: Function,
}

impl ResourceUse {
    /// The kernel's name, without its parameters' types.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Registers, shared, local and constant memory, and the threads that a block may have.
    #[must_use]
    pub fn attributes(&self) -> &FunctionAttributes {
        self.function.attributes()
    }

    /// How many blocks of `threads` threads, with as many bytes of dynamic shared memory, are resident on a multiprocessor at once.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared_bytes: usize) -> Result<u32> {
        self.function
            .max_blocks_per_multiprocessor(threads, shared_bytes)
            .map_err(Into::into)
    }
}

impl fmt::Display for ResourceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FunctionAttributes {
            registers,
            static_shared,
            local_bytes,
            const_bytes,
            max_threads,
            ..
        } = self.attributes();
        write!(
            f,
            "{}: {registers} registers, {static_shared} bytes of shared memory, {local_bytes} of local, {const_bytes} of constant, blocks of {max_threads} threads at most",
            self.kernel
        )
    }
}

impl SourceModule {
    /// What each kernel needs, in the order of the image.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn resource_use(&self) -> Result<Vec<ResourceUse>> {
        self.image()
            .entries()
            .iter()
            .map(|entry| {
                Ok(ResourceUse {
                    kernel: crate::names::plain(entry).1,
                    function: self.module().function(entry)?,
                })
            })
            .collect()
    }
}
