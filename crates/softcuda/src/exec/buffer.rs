//! Memory of a block that compiled code addresses.

use std::alloc::{Layout, alloc_zeroed, dealloc};

/// Alignment of the most strictly aligned PTX variable in practice.
const ALIGN: usize = 128;

/// Zeroed memory for frames, shared or local memory. The system commits its pages when they are touched, so that a stack
/// of which little is used costs little.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: *mut u8,
    layout: Layout,
}

// SAFETY: the memory belongs to the buffer alone and is not bound to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `bytes` bytes; `None` if the host has not so many.
    pub(super) fn new(bytes: u64) -> Option<Self> {
        // The allocator zeroes large blocks of ordinary alignment lazily, strictly aligned ones at once.
        let bytes = usize::try_from(bytes).ok()?.checked_add(ALIGN)?;
        let layout = Layout::from_size_align(bytes, 16).ok()?;
        // SAFETY: the layout has `ALIGN` bytes at least.
        let memory = unsafe { alloc_zeroed(layout) };
        (!memory.is_null()).then_some(Self { memory, layout })
    }

    /// The first byte, aligned for every variable.
    pub(super) fn address(&self) -> *mut u8 {
        let skip = self.memory.addr().next_multiple_of(ALIGN) - self.memory.addr();
        self.memory.wrapping_add(skip)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with this layout, and nobody else frees it.
        unsafe { dealloc(self.memory, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_zero() {
        for bytes in [0u64, 1, 127, 128, 100_000] {
            let buffer = Buffer::new(bytes).expect("the host has so much");
            assert!(buffer.address().addr().is_multiple_of(ALIGN));
            for index in 0..bytes as usize {
                // SAFETY: the byte is one of those asked for, and nobody writes it.
                assert_eq!(unsafe { buffer.address().add(index).read() }, 0);
            }
        }
    }

    #[test]
    fn what_no_host_has_is_refused() {
        assert!(Buffer::new(u64::MAX).is_none());
        assert!(Buffer::new(1 << 60).is_none());
    }
}
