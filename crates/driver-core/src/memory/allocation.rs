//! One piece of device memory: what buffers own and views borrow.

use std::ops::Range;
use std::sync::Arc;

use cuprum_driver_sys::CUdeviceptr;

use super::Allocator;
use crate::Result;
use crate::context::Context;
use crate::stream::Stream;
use crate::tracking::{Access, Tracker, Waits};
use crate::uses::PastUses;

/// Owned device memory with the record of its uses. Of zero bytes it is nothing and costs no driver call.
#[derive(Debug)]
pub(crate) struct Allocation {
    address: CUdeviceptr,
    bytes: usize,
    allocator: Option<Arc<dyn Allocator>>,
    /// The uses, and the home stream: where memory was allocated, where it is used by default, and where it is
    /// released.
    tracker: Tracker,
}

impl Allocation {
    /// Memory with undefined contents.
    pub(crate) fn new(stream: &Stream, bytes: usize) -> Result<Self> {
        let allocator = (bytes > 0).then(|| stream.context().local_allocator());
        let address = match &allocator {
            Some(allocator) => allocator.allocate(stream, bytes)?,
            None => 0,
        };
        Ok(Self::from_parts(stream, address, bytes, allocator))
    }

    /// Memory with undefined contents, on the same stream and from where this memory came.
    pub(crate) fn another(&self, bytes: usize) -> Result<Self> {
        Self::from(self.stream(), bytes, self.allocator.as_ref())
    }

    /// Memory for a result that is computed from this memory: from where this came if its allocator serves results,
    /// from the context's allocator otherwise.
    pub(crate) fn beside(&self, stream: &Stream, bytes: usize) -> Result<Self> {
        let serves = |allocator: &&Arc<dyn Allocator>| allocator.serves_results();
        Self::from(stream, bytes, self.allocator.as_ref().filter(serves))
    }

    fn from(stream: &Stream, bytes: usize, allocator: Option<&Arc<dyn Allocator>>) -> Result<Self> {
        let Some(allocator) = allocator.filter(|_| bytes > 0) else {
            return Self::new(stream, bytes);
        };
        let allocator = allocator.local().unwrap_or_else(|| Arc::clone(allocator));
        let address = allocator.allocate(stream, bytes)?;
        Ok(Self::from_parts(stream, address, bytes, Some(allocator)))
    }

    /// Memory that `allocator`, if there is one, takes back in the end.
    #[inline]
    pub(crate) fn from_parts(
        stream: &Stream,
        address: CUdeviceptr,
        bytes: usize,
        allocator: Option<Arc<dyn Allocator>>,
    ) -> Self {
        Self {
            address,
            bytes,
            allocator,
            tracker: Tracker::owned_by(stream),
        }
    }

    #[inline]
    pub(crate) fn address(&self) -> CUdeviceptr {
        self.address
    }

    #[inline]
    pub(crate) fn stream(&self) -> &Stream {
        self.tracker
            .home()
            .expect("an allocation has a home stream")
    }

    #[inline]
    pub(crate) fn context(&self) -> &Context {
        self.stream().context()
    }

    /// The uses so far, for something that stands for this memory and ends before it.
    pub(crate) fn past_uses(&self) -> PastUses {
        self.tracker.last_uses().to_past()
    }

    #[cfg(test)]
    pub(crate) fn tracked_uses(&self) -> usize {
        self.tracker.len()
    }

    /// Releases the memory, once.
    #[inline]
    pub(crate) fn release(&mut self) -> Result<()> {
        let Some(allocator) = self.allocator.take() else {
            return Ok(());
        };
        if self.context().is_lost() && !self.context().inner().is_software() {
            // Nothing can be released in a lost context of a GPU; the driver takes it all back with the process.
            return Ok(());
        }
        let uses = self.tracker.last_uses();
        // SAFETY: the memory came from this allocator for this stream, the handle above is taken once, and nothing
        // can be queued on memory whose only owner is being dropped.
        unsafe { allocator.release(self.stream(), self.address, self.bytes, uses) }
    }
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            self.context().inner().note_release_error(error);
        }
    }
}

/// Bytes of an allocation that one operation uses in one way.
#[derive(Clone, Debug)]
pub(crate) struct Span<'a> {
    pub(crate) allocation: &'a Allocation,
    pub(crate) bytes: Range<usize>,
    pub(crate) access: Access,
}

impl Span<'_> {
    /// Before an operation is queued on `stream`: adds to `waits` what it must be ordered after.
    #[inline]
    pub(crate) fn order(&self, stream: &Stream, waits: &mut Waits) -> Result<()> {
        // Memory that only this stream uses is of its context.
        if self
            .allocation
            .tracker
            .order(stream, self.bytes.clone(), self.access, waits)
        {
            return Ok(());
        }
        stream.check_context(self.allocation.context(), "the memory")
    }

    /// After the operation was queued and counted.
    #[inline]
    pub(crate) fn note(&self, stream: &Stream) {
        self.allocation.tracker.note(
            stream,
            self.bytes.clone(),
            self.access,
            self.allocation.bytes,
        );
    }
}
