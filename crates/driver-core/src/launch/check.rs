//! The checks before a launch. The fast paths compare numbers; the cold ones explain.

use cuprum_driver_sys::CUfunction_attribute;

use super::{ArgTable, LaunchConfig};
use crate::call::call;
use crate::error::text::Extent;
use crate::module::{Function, ParamInfo};
use crate::{Error, ErrorKind, Result};

impl Function {
    /// Number and sizes of the arguments against the image.
    #[inline]
    pub(super) fn check_args(&self, table: &ArgTable<'_>) -> Result<()> {
        let Some(params) = self.known_params() else {
            return Ok(());
        };
        let sizes = table.sizes();
        if params.len() == sizes.len()
            && params
                .iter()
                .zip(sizes)
                .all(|(param, &size)| param.size == size)
        {
            return Ok(());
        }
        Err(self.explain_args(params, sizes))
    }

    #[cold]
    fn explain_args(&self, params: &[ParamInfo], sizes: &[u32]) -> Error {
        if params.len() != sizes.len() {
            let list: Vec<_> = (0..params.len())
                .map(|index| self.param_label(index))
                .collect();
            return Error::new(
                ErrorKind::Arguments,
                format!(
                    "kernel `{}` takes {} argument{}, and {} {} given",
                    self.name(),
                    params.len(),
                    if params.len() == 1 { "" } else { "s" },
                    sizes.len(),
                    if sizes.len() == 1 { "was" } else { "were" },
                ),
            )
            .fact("parameters", format_args!("[{}]", list.join(", ")));
        }
        let index = params
            .iter()
            .zip(sizes)
            .position(|(param, &size)| param.size != size)
            .unwrap_or(0);
        Error::new(
            ErrorKind::Arguments,
            format!(
                "argument {index} of kernel `{}` has {} bytes, and the kernel takes {}",
                self.name(),
                sizes[index],
                self.param_label(index)
            ),
        )
        .with_hint("a number literal is an i32 or an f64 unless it has a suffix: 1u64, 1.0f32")
    }

    /// A parameter as text: `parameter 2 `n` (unsigned int), 4 bytes at offset 16`.
    fn param_label(&self, index: usize) -> String {
        let mut label = format!("parameter {index}");
        if let Some(name) = self.param_name(index) {
            if !name.name.is_empty() {
                label.push_str(&format!(" `{}`", name.name));
            }
            if !name.c_type.is_empty() {
                label.push_str(&format!(" ({})", name.c_type));
            }
        }
        if let Some(param) = self.known_params().and_then(|params| params.get(index)) {
            label.push_str(&format!(
                ", {} bytes at offset {}",
                param.size, param.offset
            ));
        }
        label
    }

    /// The shape against the limits of the device and of the kernel.
    #[inline]
    pub(super) fn check_config(&self, config: &LaunchConfig) -> Result<()> {
        let limits = self.context().inner().limits();
        let (grid, block) = (config.grid, config.block);
        let threads = config.threads_per_block();
        let fits = threads != 0
            && threads <= u64::from(self.attributes().max_threads)
            && block.0 <= limits.block[0]
            && block.1 <= limits.block[1]
            && block.2 <= limits.block[2]
            && grid.0 <= limits.grid[0]
            && grid.1 <= limits.grid[1]
            && grid.2 <= limits.grid[2];
        if !fits {
            return Err(self.explain_config(config));
        }
        if config.shared_bytes > self.dynamic_shared_limit() {
            self.opt_in_to_shared(config)?;
        }
        Ok(())
    }

    #[cold]
    fn explain_config(&self, config: &LaunchConfig) -> Error {
        let limits = self.context().inner().limits();
        let (grid, block) = (config.grid, config.block);
        let (grid, block) = ([grid.0, grid.1, grid.2], [block.0, block.1, block.2]);
        let threads = config.threads_per_block();
        let axis = |given: [u32; 3], most: [u32; 3]| (0..3).find(|&axis| given[axis] > most[axis]);
        let message = if threads == 0 {
            format!("a block of {} has no threads", Extent(block))
        } else if let Some(axis) = axis(block, limits.block) {
            format!(
                "a block of {} has {} threads in {}, and the device allows {}",
                Extent(block),
                block[axis],
                ["x", "y", "z"][axis],
                limits.block[axis]
            )
        } else if threads > u64::from(limits.threads_per_block) {
            format!(
                "a block of {} has {threads} threads, and the device allows {}",
                Extent(block),
                limits.threads_per_block
            )
        } else if threads > u64::from(self.attributes().max_threads) {
            format!(
                "a block of {} has {threads} threads, and this kernel runs with {} at most (it uses {} registers per \
                 thread, or its source sets a bound)",
                Extent(block),
                self.attributes().max_threads,
                self.attributes().registers
            )
        } else if let Some(axis) = axis(grid, limits.grid) {
            format!(
                "a grid of {} has {} blocks in {}, and the device allows {}",
                Extent(grid),
                grid[axis],
                ["x", "y", "z"][axis],
                limits.grid[axis]
            )
        } else {
            "the shape of the launch is not possible".to_owned()
        };
        Error::new(ErrorKind::LaunchConfig, message)
            .fact("kernel", format_args!("`{}`", self.name()))
            .fact("device", self.context().device())
    }

    /// Raises the kernel's limit of dynamic shared memory to what this launch asks for, if the device has it.
    #[cold]
    fn opt_in_to_shared(&self, config: &LaunchConfig) -> Result<()> {
        let limits = self.context().inner().limits();
        let fixed = self.attributes().static_shared;
        let wanted = config.shared_bytes;
        if u64::from(wanted) + u64::from(fixed) > u64::from(limits.shared_opt_in) {
            return Err(Error::new(
                ErrorKind::LaunchConfig,
                format!(
                    "the launch asks for {wanted} bytes of dynamic shared memory and the kernel has {fixed} of its \
                     own, and a block of this device has {} at most",
                    limits.shared_opt_in
                ),
            )
            .fact("kernel", format_args!("`{}`", self.name()))
            .fact("device", self.context().device()));
        }
        let value = i32::try_from(wanted).unwrap_or(i32::MAX);
        let attribute = CUfunction_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES;
        self.context().make_current()?;
        // SAFETY: the function is kept by its module, and the attribute is one that can be set.
        unsafe {
            call!(
                self.context().driver(),
                cuFuncSetAttribute(self.raw(), attribute, value)
            )
        }
        .map_err(|failure| self.describe(self.context().raise(failure), config))?;
        self.raise_dynamic_shared_limit(wanted);
        Ok(())
    }
}
