//! What some cases need beyond arguments: memory that the kernel reaches through addresses in other memory, values that
//! only the module knows, a larger stack.

use super::case::{Argument, Expected, Memory};
use super::{Case, Lane};

/// An address to be written into memory before the launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    /// The buffer to write into, and where, in bytes.
    pub(crate) into: usize,
    pub(crate) offset: usize,
    /// The buffer whose address it is.
    pub(crate) of: usize,
}

impl Case {
    /// Memory that is no argument, and stays as it is. It counts among the buffers of [`Case::again`].
    #[must_use]
    pub fn beside<T: Lane>(mut self, values: &[T]) -> Self {
        self.buffers.push(Memory {
            name: format!("buffer {}", self.buffers.len()),
            initial: bytemuck::cast_slice(values).to_vec(),
            expected: Expected::Unchanged,
        });
        self
    }

    /// The buffer that was the `into`-th one (from 0) given holds the address of the `of`-th one at byte `offset`, before
    /// the launch and after it. What is said to be there counts as that address.
    ///
    /// # Panics
    /// If fewer buffers were given, or the first is too short.
    #[must_use]
    pub fn address(mut self, into: usize, offset: usize, of: usize) -> Self {
        assert!(of < self.buffers.len(), "no buffer {of} was given");
        assert!(
            offset + 8 <= self.buffers[into].initial.len(),
            "buffer {into} has no room for an address at {offset}"
        );
        self.addresses.push(Address { into, offset, of });
        self
    }

    /// The next argument: the eight bytes that a variable of the module holds at `offset`.
    #[must_use]
    pub fn held_by(mut self, variable: &str, offset: usize) -> Self {
        self.arguments
            .push(Argument::Variable(variable.to_owned(), offset));
        self
    }

    /// Loads the module for this case alone: its variables keep what kernels leave in them.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Links the module with more PTX, for this case alone: for sources that declare what another defines.
    #[must_use]
    pub fn linked_with(mut self, ptx: &'static str) -> Self {
        (self.alone, self.linked) = (true, Some(ptx));
        self
    }

    /// The least stack of a thread, for kernels whose use the compiler cannot tell.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }
}
