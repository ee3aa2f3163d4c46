//! Limits of a context: memory that the driver sets aside for all of its kernels.

use cuprum_driver_sys::CUlimit;

use crate::call::call;
use crate::memory::or_make_room;
use crate::{Context, Result};

/// A limit of a context, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The stack of each thread. Kernels whose use of the stack is known take what they need; recursion and calls
    /// through pointers have this much.
    Stack,
    /// The buffer behind `printf` in kernels.
    Printf,
    /// The heap behind `malloc` and `new` in kernels. It can be set until a kernel that uses the heap has been loaded.
    Heap,
}

impl Limit {
    fn raw(self) -> CUlimit {
        match self {
            Self::Stack => CUlimit::STACK_SIZE,
            Self::Printf => CUlimit::PRINTF_FIFO_SIZE,
            Self::Heap => CUlimit::MALLOC_HEAP_SIZE,
        }
    }
}

impl Context {
    /// What a limit is, in bytes.
    ///
    /// # Errors
    /// What `cuCtxGetLimit` returns.
    pub fn limit(&self, limit: Limit) -> Result<usize> {
        let mut bytes = 0;
        self.make_current()?;
        // SAFETY: `bytes` is a live local that the call writes, and this context is current.
        unsafe { call!(self.driver(), cuCtxGetLimit(&raw mut bytes, limit.raw())) }
            .map_err(|failure| self.raise(failure))?;
        Ok(bytes)
    }

    /// Asks for a limit of at least `bytes`; the driver may round it up. It concerns launches from now on.
    ///
    /// # Errors
    /// What `cuCtxSetLimit` returns: `CUDA_ERROR_INVALID_VALUE` for more than the device can have, for instance.
    pub fn set_limit(&self, limit: Limit, bytes: usize) -> Result<()> {
        self.make_current()?;
        // Heap and stacks are device memory.
        or_make_room(
            self,
            // SAFETY: no pointers are passed, and this context is current.
            || unsafe { call!(self.driver(), cuCtxSetLimit(limit.raw(), bytes)) },
            |failure| self.raise(failure),
        )
    }
}
