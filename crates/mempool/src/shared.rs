//! What all parts of a pool share: the books under one lock, and the way to the driver.

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock, Weak};

use cuprum_driver_core::{
    Context, DirectAllocator, Error, ErrorKind, PageLockedAllocator, PastUses,
    PinnedAllocator as _, Reclaim, Result, Returned, Stream, WeakContext,
};

use crate::debug::Sites;
use crate::policy::{Policy, Trim};
use crate::recorder::{EventKind, Recorder, Ticks};
use crate::shard::Shard;
use crate::store::{Bins, Coalescing, Piece, Reach, Store};
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, lock, thread};

/// What kind of memory a pool holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Space {
    Device,
    PageLocked(PageLockedAllocator),
}

/// How a pool was built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) policy: Policy,
    pub(crate) limit: Option<u64>,
    pub(crate) trim: Trim,
    /// Whether a stream may be made to wait for another so that a block can be used again.
    pub(crate) internal_dependencies: bool,
    pub(crate) events: usize,
    pub(crate) debug: bool,
}

/// Who wants memory: a stream, or the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client<'a> {
    Stream(&'a Stream),
    Host(&'a Context),
}

impl<'a> Client<'a> {
    pub(crate) fn context(self) -> &'a Context {
        match self {
            Self::Stream(stream) => stream.context(),
            Self::Host(context) => context,
        }
    }

    /// The stream's number, or 0.
    #[inline]
    pub(crate) fn id(self) -> u32 {
        match self {
            Self::Stream(stream) => stream.timeline().id(),
            Self::Host(_) => 0,
        }
    }
}

/// The heart of a pool. Locks: a shard's lock may be taken under that of the books, never the other way round, and
/// none is held during a call of the driver that can ask pools to give memory back. Memory may be parked, and events
/// recorded for that, under them.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) context: WeakContext,
    pub(crate) space: Space,
    pub(crate) options: Options,
    books: Mutex<Books>,
    /// Held by the thread that asks the driver for memory; taken under no other lock.
    pub(crate) growing: Mutex<()>,
    shards: OnceLock<Box<[Weak<Shard>]>>,
    /// Whether blocks given back go straight to the driver. Read under a shard's lock before that keeps a block.
    stopped: AtomicBool,
    pub(crate) sites: Option<Mutex<Sites>>,
    pub(crate) start: Ticks,
}

/// Everything that one lock guards.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) store: Store<PastUses>,
    pub(crate) recorder: Recorder,
    pub(crate) peak: u64,
    pub(crate) waits: u64,
    pub(crate) failures: u64,
    pub(crate) driver_allocations: u64,
    pub(crate) driver_releases: u64,
}

impl Books {
    pub(crate) fn managed(&self) -> u64 {
        self.store.totals().managed
    }

    /// Takes chunks out that nobody uses, at least `bytes` bytes of them if there are so many.
    pub(crate) fn take_out(&mut self, bytes: u64) -> Vec<Piece<PastUses>> {
        let pieces = self.store.surplus(bytes);
        for piece in &pieces {
            self.recorder
                .record(EventKind::Returned, piece.address, piece.bytes, 0);
        }
        self.driver_releases += pieces.len() as u64;
        pieces
    }
}

impl Shared {
    pub(crate) fn new(context: &Context, space: Space, options: Options) -> Self {
        let store = match options.policy {
            Policy::Coalescing => Store::Coalescing(Coalescing::new()),
            Policy::Bins => Store::Bins(Bins::new()),
        };
        Self {
            context: context.weak(),
            space,
            options,
            books: Mutex::new(Books {
                store,
                recorder: Recorder::new(options.events),
                peak: 0,
                waits: 0,
                failures: 0,
                driver_allocations: 0,
                driver_releases: 0,
            }),
            growing: Mutex::new(()),
            shards: OnceLock::new(),
            stopped: AtomicBool::new(false),
            sites: options.debug.then(Mutex::default),
            start: Ticks::now(),
        }
    }

    /// Tells the parts of the pool, once.
    pub(crate) fn set_shards(&self, shards: Box<[Weak<Shard>]>) {
        self.shards
            .set(shards)
            .expect("the parts of a pool are told once");
    }

    /// The part that serves the calling thread, while the pool has handles.
    pub(crate) fn shard(&self) -> Option<Arc<Shard>> {
        let shards = self.shards.get()?;
        // The number of parts is a power of two.
        shards[thread() & (shards.len() - 1)].upgrade()
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.books)
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    #[cold]
    pub(crate) fn wrong_context(&self) -> Error {
        Error::custom(
            ErrorKind::WrongContext,
            "the pool is of another context than the stream",
        )
    }

    /// Lends a block of `block` bytes for `bytes` bytes.
    #[cold]
    pub(crate) fn allocate(&self, client: Client<'_>, bytes: u64, block: u64) -> Result<u64> {
        self.find(client, block)
            .transpose()
            .unwrap_or_else(|| self.grow(client, bytes, block))
            .inspect_err(|_| {
                let mut books = self.books();
                books.failures += 1;
                books
                    .recorder
                    .record(EventKind::Failed, 0, bytes, client.id());
            })
    }

    /// A block that the pool has, from the one that costs least to the one that costs most.
    pub(crate) fn find(&self, client: Client<'_>, block: u64) -> Result<Option<u64>> {
        if let Some(found) = self.take(client, block, &[Reach::Own, Reach::Passed])? {
            return Ok(Some(found));
        }
        if self.flush()
            && let Some(found) = self.take(client, block, &[Reach::Own, Reach::Passed])?
        {
            return Ok(Some(found));
        }
        // How far have the others come?
        let pending = self.books().store.pending(client.id());
        if !pending.is_empty() {
            pending.poll(client.context())?;
            if let Some(found) = self.take(client, block, &[Reach::Passed])? {
                return Ok(Some(found));
            }
        }
        let wait = matches!(client, Client::Stream(_)) && self.options.internal_dependencies;
        if wait && let Some(found) = self.take(client, block, &[Reach::Any])? {
            return Ok(Some(found));
        }
        self.books().store.consolidate(wait);
        let reaches: &[Reach] = if wait {
            &[Reach::Own, Reach::Any]
        } else {
            &[Reach::Own]
        };
        self.take(client, block, reaches)
    }

    /// Takes a block out of the books and orders the client after its uses: a stream on the device, the host, and a
    /// stream that shall not be made to wait for others, by waiting here.
    pub(crate) fn take(
        &self,
        client: Client<'_>,
        block: u64,
        reaches: &[Reach],
    ) -> Result<Option<u64>> {
        let on_device = self.options.internal_dependencies;
        let found = {
            let mut books = self.books();
            let found = reaches.iter().find_map(|&reach| {
                let piece = books.store.take(block, client.id(), reach)?;
                Some((piece, reach))
            });
            if let (Some((_, Reach::Any)), Client::Stream(_), true) = (&found, client, on_device) {
                books.waits += 1;
            }
            found
        };
        let Some((piece, reach)) = found else {
            return Ok(None);
        };
        let ordered = match client {
            Client::Stream(stream) if on_device || reach != Reach::Any => piece.marks.order(stream),
            _ if reach == Reach::Any => piece.marks.wait(client.context()),
            _ => Ok(()),
        };
        if let Err(error) = ordered {
            self.books()
                .store
                .give(piece.address, piece.bytes, piece.marks);
            return Err(error);
        }
        Ok(Some(piece.address))
    }

    /// Moves what the threads keep into the books. Answers whether there was anything.
    pub(crate) fn flush(&self) -> bool {
        self.flush_into(&mut self.books())
    }

    /// The same under the lock of the books, so that no block is ever in nobody's hands, where a thread that is short
    /// of memory would miss it.
    pub(crate) fn flush_into(&self, books: &mut Books) -> bool {
        let mut any = false;
        for shard in self.shards.get().into_iter().flatten() {
            let kept = shard.upgrade().map_or(Vec::new(), |shard| shard.drain());
            any |= !kept.is_empty();
            for piece in kept {
                books.store.give(piece.address, piece.bytes, piece.marks);
            }
        }
        any
    }

    /// Takes a block back into the books, and what a part keeps, if that is full. Never waits.
    pub(crate) fn give(&self, context: &Context, piece: Piece<PastUses>, full: Option<&Shard>) {
        let mut books = self.books();
        for piece in full.map_or(Vec::new(), Shard::drain) {
            books.store.give(piece.address, piece.bytes, piece.marks);
        }
        books.store.give(piece.address, piece.bytes, piece.marks);
        let over = match self.options.trim {
            _ if self.is_stopped() => u64::MAX,
            // The other half is what the threads keep.
            Trim::Above(bound) => books.store.totals().free_bytes.saturating_sub(bound / 2),
            Trim::AtPeak | Trim::Never => 0,
        };
        self.retire(&mut books, context, over);
    }

    /// Gives chunks that nobody uses back to the driver, which gets them once their last uses have passed: at least
    /// `bytes` bytes of them if there are so many. What is out of the books is parked when their lock is free again, so
    /// that who is short of memory finds it in one place or the other.
    pub(crate) fn retire(&self, books: &mut Books, context: &Context, bytes: u64) -> Retired {
        let mut retired = Retired::default();
        if bytes == 0 {
            return retired;
        }
        for piece in books.take_out(bytes) {
            retired.any = true;
            retired.running |= !piece.marks.have_passed();
            match self.space {
                Space::Device => {
                    // SAFETY: the chunk came from this allocator in this context and was taken out of the books; no
                    // block of it is lent, and the uses are those of all its blocks.
                    unsafe { DirectAllocator.release_after(context, piece.address, &piece.marks) }
                }
                Space::PageLocked(source) => {
                    let (pointer, bytes) = (pointer(piece.address), piece.bytes as usize);
                    // SAFETY: as above.
                    let released = unsafe { source.release(context, pointer, bytes, piece.marks) };
                    debug_assert!(released.is_ok(), "parking page-locked memory does not fail");
                }
            }
        }
        retired
    }

    /// Gives everything back to the driver that nobody uses.
    pub(crate) fn free_held(&self) {
        // Without a context there is nothing: it took everything when it ended.
        let Some(context) = self.context.upgrade() else {
            return;
        };
        {
            let mut books = self.books();
            self.flush_into(&mut books);
            self.retire(&mut books, &context, u64::MAX);
        }
        // What has passed goes now. A failure is for whoever collects next, so it is not asked for here.
        context.release_parked();
    }

    /// From now on blocks given back go straight to the driver.
    pub(crate) fn stop(&self) {
        // Before the parts are drained: whoever keeps a block after that has seen it under the lock of its part.
        self.stopped.store(true, Ordering::SeqCst);
        self.free_held();
    }
}

/// What [`Shared::retire`] found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retired {
    /// Whether there was a chunk to give back.
    pub(crate) any: bool,
    /// Whether the device may still use one of them.
    pub(crate) running: bool,
}

pub(crate) fn pointer(address: u64) -> NonNull<u8> {
    NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize))
        .expect("the driver answers with addresses that are not null")
}

impl Reclaim for Shared {
    fn reclaim(&self, returned: &mut Returned<'_>) {
        let mut books = self.books();
        self.flush_into(&mut books);
        for piece in books.take_out(u64::MAX) {
            // SAFETY: the chunk came from the allocator of its kind in this pool's context and was taken out of the
            // books; no block of it is lent, and the uses are those of all its blocks.
            unsafe {
                match self.space {
                    Space::Device => returned.memory(piece.address, &piece.marks),
                    Space::PageLocked(_) => returned.pinned(pointer(piece.address), &piece.marks),
                }
            }
        }
    }
}
