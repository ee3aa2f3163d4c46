//! What a pool does with sizes, and when it gives memory back by itself.

use crate::bins::{alloc_size, bin_number};

/// What blocks are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Large chunks, cut to the sizes that are asked for; free neighbours are joined again.
    ///
    /// Sizes are rounded up to a multiple of 256 bytes, the alignment that device memory has anyway: nothing is lost
    /// at powers of two, and never more than 255 bytes.
    #[default]
    Coalescing,
    /// PyCUDA's pool: every block is an allocation of its own of the largest size of its bin, and only an allocation
    /// of the same bin uses it again, the last one given back first. See [`bin_number`](crate::bin_number).
    ///
    /// A block is less than a sixteenth larger than what was asked for; powers of two are the worst case.
    Bins,
}

/// All blocks of [`Policy::Coalescing`] are multiples of this.
const GRAIN: u64 = 256;

impl Policy {
    /// The size of the block that an allocation of `bytes` bytes gets; `None` if it is beyond 64 bits.
    #[inline]
    #[must_use]
    pub fn block_bytes(self, bytes: u64) -> Option<u64> {
        match self {
            Self::Coalescing => bytes.checked_next_multiple_of(GRAIN),
            Self::Bins => alloc_size(bin_number(bytes)),
        }
    }
}

/// When a pool gives memory back to the driver by itself.
///
/// Whatever the rule, a pool gives back what nobody uses when an allocation anywhere in its context runs out of memory,
/// when its own limit is reached, and at [`free_held`](crate::Pool::free_held).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trim {
    /// Chunks that nobody uses go back before the pool would become larger than it ever was. It costs driver calls
    /// only while the pool's peak rises.
    #[default]
    AtPeak,
    /// Only when memory is short.
    Never,
    /// Free memory above so many bytes goes back as soon as whole chunks are free.
    Above(u64),
}
