//! The part of a pool that serves some threads: what they do most takes only its lock.

use std::ptr::NonNull;
use std::sync::Arc;

use cuprum_driver_core::{
    Allocator, Context, Error, ErrorKind, LastUses, PastUses, PinnedAllocator, Result, Stream,
};

use crate::cache::Cache;
use crate::recorder::{EventKind, Recorder};
use crate::shared::{Client, Shared, pointer};
use crate::statistics::Counts;
use crate::store::Piece;
use crate::sync::{Mutex, lock};

/// A part of a pool. Buffers hold the part that they came from, and go back to it.
#[derive(Debug)]
pub(crate) struct Shard {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

/// On a line of cache of its own, so that threads do not meet there.
#[repr(align(128))]
#[derive(Debug)]
struct State {
    cache: Cache,
    counts: Counts,
    recorder: Recorder,
}

impl Shard {
    /// A part that keeps up to `cache` bytes and `events` events.
    pub(crate) fn new(shared: &Arc<Shared>, cache: u64, events: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            state: Mutex::new(State {
                cache: Cache::new(cache),
                counts: Counts::default(),
                recorder: Recorder::new(events),
            }),
        }
    }

    #[inline]
    fn lend(&self, client: Client<'_>, bytes: usize) -> Result<u64> {
        let bytes = bytes as u64;
        let stream = client.id();
        let block = self
            .shared
            .options
            .policy
            .block_bytes(bytes)
            .ok_or_else(|| too_large(bytes))?;
        let mut state = lock(&self.state);
        if let Some(address) = state.cache.take(stream, block) {
            state.counts.cached += 1;
            state.lent(address, bytes, block, stream);
            drop(state);
            self.note_site(address, bytes);
            return Ok(address);
        }
        drop(state);
        let address = self.shared.allocate(client, bytes, block)?;
        lock(&self.state).lent(address, bytes, block, stream);
        self.note_site(address, bytes);
        Ok(address)
    }

    /// Takes a block back that several streams may have used.
    fn take_back(
        &self,
        context: &Context,
        address: u64,
        bytes: usize,
        stream: u32,
        uses: PastUses,
    ) {
        let bytes = bytes as u64;
        self.forget_site(address);
        let block = self.block(bytes);
        lock(&self.state).taken_back(address, bytes, block, stream);
        let piece = Piece {
            address,
            bytes: block,
            marks: uses,
        };
        self.shared.give(context, piece, None);
    }

    #[inline]
    fn block(&self, bytes: u64) -> u64 {
        self.shared
            .options
            .policy
            .block_bytes(bytes)
            .expect("the size was possible when it was lent")
    }

    /// Everything that is kept here, for the books.
    pub(crate) fn drain(&self) -> Vec<Piece<PastUses>> {
        lock(&self.state).cache.drain()
    }

    /// What is kept here: blocks, bytes, and the counts.
    pub(crate) fn totals(&self) -> ((u64, u64), Counts) {
        let state = lock(&self.state);
        (state.cache.totals(), state.counts)
    }

    /// Hands what is kept here to `look`.
    pub(crate) fn inspect<R>(&self, look: impl FnOnce(&Recorder, &Cache) -> R) -> R {
        let state = lock(&self.state);
        look(&state.recorder, &state.cache)
    }

    #[inline]
    fn note_site(&self, address: u64, bytes: u64) {
        if let Some(sites) = &self.shared.sites {
            let site = crate::debug::here();
            lock(sites).insert(address, bytes, site);
        }
    }

    #[inline]
    fn forget_site(&self, address: u64) {
        if let Some(sites) = &self.shared.sites {
            lock(sites).remove(address);
        }
    }
}

impl State {
    #[inline]
    fn lent(&mut self, address: u64, bytes: u64, block: u64, stream: u32) {
        self.counts.lend(bytes, block);
        self.recorder
            .record(EventKind::Allocated, address, bytes, stream);
    }

    #[inline]
    fn taken_back(&mut self, address: u64, bytes: u64, block: u64, stream: u32) {
        self.counts.take_back(bytes, block);
        self.recorder
            .record(EventKind::Released, address, bytes, stream);
    }
}

#[cold]
fn too_large(bytes: u64) -> Error {
    Error::custom(
        ErrorKind::OutOfMemory,
        format!("{bytes} bytes are more than any pool can lend"),
    )
}

// SAFETY: a block is in the books, in one cache, or lent, never in two of them; chunks are allocations of the driver in
// the pool's context, which is checked to be the stream's. Blocks of `Coalescing` lie at multiples of 256 in chunks
// that are aligned to 256, blocks of `Bins` are allocations of the driver. A block that the stream has not used alone
// is lent after the stream was ordered after its uses.
unsafe impl Allocator for Shard {
    #[inline]
    fn allocate(&self, stream: &Stream, bytes: usize) -> Result<u64> {
        if !self.shared.context.is(stream.context()) {
            return Err(self.shared.wrong_context());
        }
        self.lend(Client::Stream(stream), bytes)
    }

    #[inline]
    unsafe fn release(
        &self,
        stream: &Stream,
        address: u64,
        bytes: usize,
        uses: LastUses<'_>,
    ) -> Result<()> {
        let id = stream.timeline().id();
        let Some(position) = uses.only_on(stream) else {
            self.take_back(stream.context(), address, bytes, id, uses.to_past());
            return Ok(());
        };
        let block = self.block(bytes as u64);
        // Before the block can be lent again.
        self.forget_site(address);
        let mut state = lock(&self.state);
        state.taken_back(address, bytes as u64, block, id);
        if !self.shared.is_stopped() && state.cache.put(stream.timeline(), block, address, position)
        {
            return Ok(());
        }
        drop(state);
        let piece = Piece {
            address,
            bytes: block,
            marks: uses.to_past(),
        };
        self.shared.give(stream.context(), piece, Some(self));
        Ok(())
    }

    fn local(&self) -> Option<Arc<dyn Allocator>> {
        self.shared.shard().map(|shard| shard as Arc<dyn Allocator>)
    }
}

// SAFETY: as for device memory; to the host only blocks are lent whose uses are over.
unsafe impl PinnedAllocator for Shard {
    fn allocate(&self, context: &Context, bytes: usize) -> Result<NonNull<u8>> {
        if !self.shared.context.is(context) {
            return Err(self.shared.wrong_context());
        }
        self.lend(Client::Host(context), bytes).map(pointer)
    }

    unsafe fn release(
        &self,
        context: &Context,
        pointer: NonNull<u8>,
        bytes: usize,
        uses: PastUses,
    ) -> Result<()> {
        self.take_back(context, pointer.as_ptr().addr() as u64, bytes, 0, uses);
        Ok(())
    }
}
