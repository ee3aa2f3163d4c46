//! Device memory, page-locked memory, and copies between them and the host.

mod allocation;
mod allocator;
mod buffer;
mod copy;
mod fill;
mod page_locked;
mod pinned;
mod plain;
mod scope;
mod view;

pub(crate) use allocation::{Allocation, Span};
pub use allocator::{Allocator, DirectAllocator, StreamOrderedAllocator};
pub(crate) use allocator::{default_allocator, or_make_room, with_retry};
pub use buffer::DeviceBuffer;
pub(crate) use copy::{queue, settle};
pub use page_locked::{PageLockedAllocator, PinnedAllocator};
pub use pinned::PinnedBuffer;
pub use plain::{DeviceCopy, DevicePtr};
pub use scope::Scope;
pub use view::{DeviceView, DeviceViewMut};
