//! A plain interpreter of PTX, one thread after the other: the oracle of the software device.
//!
//! It is written from the PTX ISA's text alone and shares no code with the software device. Arithmetic is exact, in unbounded integers, and
//! rounded by the definition; nothing is compiled, reordered or fused. It is some thousand times slower than the device it judges.
//!
//! About 500 forms of instructions were compared with an H200 (driver 580.159.04) on 512 operands each. They agree, except where hardware
//! flushes (`.ftz`) by the value before rounding, ignores `.ftz` (`cvt.rp.ftz.f16.f32`), or the ISA leaves bits open (positions over 255).
//!
//! Not covered: textures and surfaces, tensor instructions, asynchronous copies, clusters, barrier arrivals, video instructions, and
//! `activemask` (of which PTX leaves the result open). Blocks run one after the other, so grids that synchronise do not finish.
//! Approximate instructions (`ex2.approx` and the like) come from the host's mathematical functions; compare them with a tolerance.

mod alu;
mod block;
mod convert;
mod float;
mod memory;
mod natural;
mod program;
mod thread;

use std::sync::Arc;

pub use memory::Memory;

/// Why a kernel did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The kernel did what it must not: bad address, trap, deadlock.
    Fault(String),
    /// The interpreter does not know the instruction or form.
    Unsupported(String),
    /// It executed more instructions than allowed.
    OutOfTime,
}

impl Stop {
    /// Adds the instruction at which it happened.
    fn at(self, spelling: &str) -> Stop {
        match self {
            Stop::Fault(text) => Stop::Fault(format!("{spelling}: {text}")),
            Stop::Unsupported(text) => Stop::Unsupported(format!("{spelling}: {text}")),
            Stop::OutOfTime => Stop::OutOfTime,
        }
    }
}

/// A launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'p> {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Parameters, laid out as the kernel declares them.
    pub params: &'p [u8],
}

/// Runs a kernel of a module on `memory`.
///
/// # Errors
/// If the kernel misbehaves, uses what the interpreter does not know, or executes more than four million instructions.
pub fn run(
    module: &cuprum_ptx::Module<'_>,
    kernel: &str,
    launch: &Launch<'_>,
    memory: &mut Memory,
) -> Result<(), Stop> {
    let program = Arc::new(program::Program::load(module, memory)?);
    let &index = program
        .names
        .get(kernel)
        .ok_or_else(|| Stop::Unsupported(format!("no kernel {kernel}")))?;
    let mut budget = 4_000_000;
    let [x, y, z] = launch.grid;
    for linear in 0..x * y * z {
        let block = [linear % x, linear / x % y, linear / (x * y)];
        block::run(&program, index, launch, block, memory, &mut budget)?;
    }
    Ok(())
}
