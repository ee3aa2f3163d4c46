//! What an evaluation would run: [`Explanation`].

use cuprum_driver_core::LaunchConfig;

use crate::shape::Shape;

/// The kernel of an expression, its launch and its memory traffic: see [`Operand::explain`](crate::Operand::explain). Its `Display` is a report.
#[derive(Clone, Debug)]
pub struct Explanation {
    source: String,
    shape: Shape,
    config: LaunchConfig,
    bytes_read: usize,
    bytes_written: usize,
}

impl Explanation {
    pub(crate) fn new(
        source: String,
        shape: Shape,
        config: LaunchConfig,
        bytes_read: usize,
        bytes_written: usize,
    ) -> Self {
        Self {
            source,
            shape,
            config,
            bytes_read,
            bytes_written,
        }
    }

    /// The CUDA C++ of the kernel.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Blocks of the launch.
    pub fn blocks(&self) -> u32 {
        self.config.grid.0
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        self.config.block.0
    }

    /// Bytes of distinct elements that the kernel must read, of each operand once.
    pub fn bytes_read(&self) -> usize {
        self.bytes_read
    }

    /// Bytes that the kernel writes.
    pub fn bytes_written(&self) -> usize {
        self.bytes_written
    }
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "// shape {:?}: {} blocks of {} threads",
            self.shape,
            self.blocks(),
            self.threads_per_block()
        )?;
        writeln!(
            f,
            "// reads {} bytes, writes {} bytes",
            self.bytes_read, self.bytes_written
        )?;
        f.write_str(&self.source)
    }
}
