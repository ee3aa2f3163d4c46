//! From kernels to machine code, by Cranelift.
//!
//! A kernel becomes one machine function for each *region*: what threads execute from a resume point (the entry, a barrier, a warp operation, the
//! head of a loop that waits) to their next stop. A region is a loop over the threads `first..end` of the block; inside it a PTX register is an SSA
//! variable, so that the optimiser hoists what is uniform out of the thread loop. Values that live across a stop lie in the thread's frame, except
//! those that are cheaper to compute again ([`plan`]). Functions that never stop threads are compiled once, one thread a call, and called from regions.
//!
//! Compiled code never raises signals: every access is checked, every division guarded, and what goes wrong is recorded in the block's context before
//! the region returns [`STATUS_FAULT`](crate::exec::context::STATUS_FAULT).

mod arith;
mod asynchronous;
mod atomics;
mod bits;
mod calls;
mod check;
mod code;
mod compare;
mod control;
mod convert;
mod float;
mod half;
mod image;
mod inline;
mod limits;
mod lower;
mod memory;
mod moves;
mod plan;
mod region;
mod registers;
mod special;
mod sync;
mod trampoline;
mod unit;
mod video;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuprum_driver_sys::CUresult;

pub(crate) use code::Code;

use crate::config::CodeQuality;
use crate::exec::CompiledKernel;
use crate::program::ir::Function;
use crate::program::{KernelInfo, LoadError, Program};

/// Compiles the kernel that is function number `kernel` of the program: `flat` is its body, whose synchronising calls have been inlined.
///
/// # Errors
/// `NOT_SUPPORTED` naming the instruction that cannot be compiled, or the failure of the code generator.
pub(crate) fn compile(
    program: &Program,
    kernel: u32,
    info: KernelInfo,
    flat: &Function,
    addresses: &[u64],
    quality: CodeQuality,
) -> Result<CompiledKernel, LoadError> {
    let name = info.name.clone();
    let attempt = |quality| {
        let info = info.clone();
        // The code generator panics on some inputs it cannot handle; that must not end the host program.
        catch_unwind(AssertUnwindSafe(|| {
            unit::compile(program, kernel, info, flat, addresses, quality)
        }))
        .unwrap_or_else(|_| {
            Err(LoadError {
                code: CUresult::NOT_SUPPORTED,
                message: format!("kernel `{name}`: the code generator failed"),
            })
        })
    };
    match attempt(quality) {
        // Values on the stack may be too many for it.
        Err(_) if quality == CodeQuality::Quick => attempt(CodeQuality::Optimised),
        result => result,
    }
}
