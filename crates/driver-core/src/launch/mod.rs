//! Launching kernels: the raw, checked door.

mod args;
mod check;
mod config;
mod recent;

pub use args::{ArgTable, Args, KernelArg, KernelArgs};
pub use config::LaunchConfig;
pub(crate) use recent::{KernelName, Recent, intern};

use cuprum_driver_sys::CUresult;

use crate::call::{Failure, call};
use crate::error::text::Extent;
use crate::memory::or_make_room;
use crate::module::Function;
use crate::stream::Stream;
use crate::tracking::Waits;
use crate::{Error, Result};

impl Function {
    /// Queues the kernel on `stream`.
    ///
    /// Checked before anything is queued: the number and sizes of the arguments against the image, the block, grid
    /// and shared memory against the limits of device and kernel, and that all belong to one context. More than
    /// 48 KiB of dynamic shared memory is opted into here. The memory behind views is ordered after its uses on other
    /// streams. A grid of no blocks (of no elements) is a launch of nothing and makes no driver call.
    ///
    /// `args` is a tuple of up to 16 arguments, or [`Args`]: `&DeviceBuffer`, [`DeviceView`](crate::DeviceView) for
    /// what the kernel reads, `&mut DeviceBuffer`, [`DeviceViewMut`](crate::DeviceViewMut) for what it writes,
    /// plain data by value.
    ///
    /// # Errors
    /// [`ErrorKind::Arguments`](crate::ErrorKind::Arguments), [`ErrorKind::LaunchConfig`](crate::ErrorKind::LaunchConfig),
    /// [`ErrorKind::WrongContext`](crate::ErrorKind::WrongContext) from the checks; what `cuLaunchKernel` returns,
    /// which may be the failure of earlier work. Failures of the kernel itself come later: see
    /// [`Error::is_asynchronous`].
    ///
    /// # Safety
    /// A signature in an image proves sizes and nothing more. The caller vouches that
    /// - the kernel accesses memory only inside the views it is given (and what the caller keeps valid otherwise, for
    ///   raw addresses), until it has finished;
    /// - it writes only through views passed as mutable, and only valid values of their element types;
    /// - the arguments have the types that the kernel declares, not just the sizes;
    /// - it does not race with itself in a way that breaks these.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        args: impl KernelArgs,
    ) -> Result<()> {
        let mut table = ArgTable::new();
        args.fill(&mut table);
        // SAFETY: the caller's promise is this one.
        unsafe { self.launch_table(stream, config, &mut table, false) }
    }

    /// Queues the kernel so that all of its blocks are resident at once and may wait for each other, as grid-wide barriers do.
    ///
    /// Checked as [`Function::launch`] is.
    ///
    /// # Errors
    /// As for [`Function::launch`]; `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE` if the device cannot hold so many blocks
    /// at once: [`Function::max_blocks_per_multiprocessor`] times its multiprocessors is the most.
    ///
    /// # Safety
    /// As for [`Function::launch`].
    pub unsafe fn launch_cooperative(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        args: impl KernelArgs,
    ) -> Result<()> {
        let mut table = ArgTable::new();
        args.fill(&mut table);
        // SAFETY: the caller's promise is this one.
        unsafe { self.launch_table(stream, config, &mut table, true) }
    }

    /// # Safety
    /// As for [`Function::launch`]; the table's pointers are to live values.
    unsafe fn launch_table(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        table: &mut ArgTable<'_>,
        cooperative: bool,
    ) -> Result<()> {
        let context = stream.context();
        if self.context() != context {
            return Err(self.context_mismatch(stream));
        }
        self.check_args(table)?;
        self.check_config(&config)?;
        let (grid, block) = (config.grid, config.block);
        if grid.0 == 0 || grid.1 == 0 || grid.2 == 0 {
            return Ok(());
        }
        let mut waits = Waits::default();
        for span in table.spans() {
            span.order(stream, &mut waits)?;
        }
        waits.apply(stream)?;
        context
            .inner()
            .make_current()
            .map_err(|failure| self.launch_failed(stream, &config, failure))?;
        let attempt = || {
            // SAFETY: the function belongs to the current context and is kept by its module; there is one pointer for
            // each parameter, to a live value of the parameter's size (checked above where the driver tells sizes);
            // the rest is the caller's promise. The driver copies the values before it returns.
            unsafe {
                let (kernel, shared_bytes, stream) =
                    (self.raw(), config.shared_bytes, stream.raw());
                let pointers = table.pointers();
                if cooperative {
                    call!(
                        context.driver(),
                        cuLaunchCooperativeKernel(
                            kernel,
                            grid.0,
                            grid.1,
                            grid.2,
                            block.0,
                            block.1,
                            block.2,
                            shared_bytes,
                            stream,
                            pointers
                        )
                    )
                } else {
                    call!(
                        context.driver(),
                        cuLaunchKernel(
                            kernel,
                            grid.0,
                            grid.1,
                            grid.2,
                            block.0,
                            block.1,
                            block.2,
                            shared_bytes,
                            stream,
                            pointers,
                            std::ptr::null_mut()
                        )
                    )
                }
            }
        };
        // Local memory, printf's buffer and the heap may have to be placed first.
        or_make_room(context, attempt, |failure| {
            self.launch_failed(stream, &config, failure)
        })?;
        let position = stream.inner().count();
        stream
            .inner()
            .recent()
            .push(position, self.kernel_name(), grid, block);
        for span in table.spans() {
            span.note(stream);
        }
        self.module().note_use(stream);
        Ok(())
    }

    #[cold]
    fn context_mismatch(&self, stream: &Stream) -> Error {
        stream
            .check_context(self.context(), "the kernel")
            .expect_err("the caller saw two contexts")
            .fact("kernel", format_args!("`{}`", self.name()))
    }

    #[cold]
    fn launch_failed(&self, stream: &Stream, config: &LaunchConfig, failure: Failure) -> Error {
        let error = self.describe(stream.raise(failure), config);
        match failure.code {
            Some(CUresult::LAUNCH_OUT_OF_RESOURCES) => error
                .fact("registers per thread", self.attributes().registers)
                .fact("static shared bytes", self.attributes().static_shared),
            _ => error,
        }
    }

    /// Adds the kernel and the shape of its launch.
    #[cold]
    fn describe(&self, error: Error, config: &LaunchConfig) -> Error {
        let (grid, block) = (config.grid, config.block);
        error
            .fact("kernel", format_args!("`{}`", self.name()))
            .fact("grid", Extent([grid.0, grid.1, grid.2]))
            .fact("block", Extent([block.0, block.1, block.2]))
            .fact("dynamic shared bytes", config.shared_bytes)
    }
}
