//! How a pool gets memory from the driver: in chunks or in blocks, within its limit, and when memory is short.

use std::sync::TryLockError;

use cuprum_driver_core::{
    Allocator as _, DirectAllocator, Error, ErrorKind, PinnedAllocator as _, Result,
};

use crate::policy::{Policy, Trim};
use crate::recorder::EventKind;
use crate::shared::{Books, Client, Shared, Space};
use crate::store::Reach;
use crate::sync::lock;

/// Chunks of [`Policy::Coalescing`] are multiples of this, the granularity at which drivers map memory.
const CHUNK: u64 = 2 << 20;

/// A chunk is at least this part of what the pool has already, so that a growing pool asks the driver ever less often.
const GROWTH: u64 = 64;

/// A chunk that is larger than what is asked for is at most this large.
const LARGEST: u64 = 1 << 30;

impl Shared {
    /// Asks the driver for memory, one thread at a time: who comes second finds what the first has got, instead of a
    /// limit that is used up by memory which is on its way.
    pub(crate) fn grow(&self, client: Client<'_>, bytes: u64, block: u64) -> Result<u64> {
        let _growing = match self.growing.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let guard = lock(&self.growing);
                if let Some(found) = self.find(client, block)? {
                    return Ok(found);
                }
                guard
            }
        };
        loop {
            let grown = match self.options.policy {
                Policy::Coalescing => self.grow_by_chunk(client, block),
                Policy::Bins => self.grow_by_block(client, block),
            };
            let failed = match grown {
                Ok(Some(address)) => return Ok(address),
                Ok(None) => None,
                Err(error) if error.kind() == ErrorKind::OutOfMemory => Some(error),
                Err(error) => return Err(error),
            };
            if let Some(found) = self.last_resort(client, block)? {
                return Ok(found);
            }
            if let Some(failed) = failed {
                return Err(failed);
            }
            let books = self.books();
            let needed = books.managed() - books.store.unused() + block;
            if needed > self.options.limit.unwrap_or(u64::MAX) {
                return Err(self.limit_reached(bytes, &books));
            }
            // Another thread has given enough back since the pool was found full.
        }
    }

    /// A larger chunk than wanted, where memory allows. `None` if the limit does not allow even the block.
    fn grow_by_chunk(&self, client: Client<'_>, block: u64) -> Result<Option<u64>> {
        let limit = self.options.limit.unwrap_or(u64::MAX);
        let mut least = false;
        loop {
            let (wanted, running) = {
                let mut books = self.books();
                let managed = books.managed();
                let mut wanted = if least || self.is_stopped() {
                    block
                } else {
                    let step = (managed / GROWTH).min(LARGEST);
                    block
                        .max(step)
                        .checked_next_multiple_of(CHUNK)
                        .unwrap_or(block)
                };
                let over = |bound: u64, books: &Books, wanted: u64| {
                    books.managed().saturating_add(wanted).saturating_sub(bound)
                };
                let mut running = false;
                if self.options.trim == Trim::AtPeak {
                    let above_peak = over(books.peak, &books, wanted);
                    running |= self
                        .retire(&mut books, client.context(), above_peak)
                        .running;
                }
                let above_limit = over(limit, &books, block);
                running |= self
                    .retire(&mut books, client.context(), above_limit)
                    .running;
                let room = limit.saturating_sub(books.managed());
                wanted = wanted.min(room);
                (wanted, running)
            };
            if running && self.options.limit.is_some() {
                // A limit is kept in truth, not only in the books.
                client.context().synchronize()?;
            }
            if wanted < block {
                return Ok(None);
            }
            let answer = if wanted > block {
                self.ask_once(client, wanted)
            } else {
                self.ask(client, wanted)
            };
            match answer {
                Ok(address) => {
                    let mut books = self.books();
                    return Ok(Some(self.enter(&mut books, address, wanted, block, client)));
                }
                Err(error) if error.kind() == ErrorKind::OutOfMemory && wanted > block => {
                    least = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One block, as PyCUDA: when memory is short, held blocks are freed one by one from the highest bin downwards,
    /// with a try after each. `None` if the limit does not allow the block.
    fn grow_by_block(&self, client: Client<'_>, block: u64) -> Result<Option<u64>> {
        let limit = self.options.limit.unwrap_or(u64::MAX);
        let mut waited = false;
        loop {
            let fits = self.books().managed().saturating_add(block) <= limit;
            let failed = if fits {
                match self.ask_once(client, block) {
                    Ok(address) => {
                        let mut books = self.books();
                        return Ok(Some(self.enter(&mut books, address, block, block, client)));
                    }
                    Err(error) if error.kind() == ErrorKind::OutOfMemory => Some(error),
                    Err(error) => return Err(error),
                }
            } else {
                None
            };
            if !waited {
                // What is parked may be enough, or hold a block of this bin.
                waited = true;
                client.context().synchronize()?;
                if let Some(found) = self.take(client, block, &[Reach::Own, Reach::Passed])? {
                    return Ok(Some(found));
                }
            }
            let retired = self.retire(&mut self.books(), client.context(), 1);
            if !retired.any {
                let Some(failed) = failed else {
                    return Ok(None);
                };
                // Nothing is left here; others may hold something.
                if self.books().managed().saturating_add(block) > limit {
                    return Err(failed);
                }
                let address = self.ask(client, block)?;
                let mut books = self.books();
                return Ok(Some(self.enter(&mut books, address, block, block, client)));
            }
            client.context().release_parked();
        }
    }

    /// After everything that runs has passed, a block may be free that nobody could wait for. Who gives memory back
    /// meanwhile may have used it after that, so its uses are waited for once more.
    fn last_resort(&self, client: Client<'_>, block: u64) -> Result<Option<u64>> {
        client.context().synchronize()?;
        {
            let mut books = self.books();
            self.flush_into(&mut books);
            books.store.consolidate(true);
        }
        self.take(client, block, &[Reach::Own, Reach::Any])
    }

    fn enter(
        &self,
        books: &mut Books,
        address: u64,
        chunk: u64,
        block: u64,
        client: Client<'_>,
    ) -> u64 {
        books.driver_allocations += 1;
        books
            .recorder
            .record(EventKind::Grown, address, chunk, client.id());
        let block = books.store.add(address, chunk, block);
        books.peak = books.peak.max(books.managed());
        block
    }

    #[cold]
    fn limit_reached(&self, bytes: u64, books: &Books) -> Error {
        let totals = books.store.totals();
        Error::custom(
            ErrorKind::OutOfMemory,
            format!(
                "the pool's limit of {} bytes leaves no room for {bytes} bytes: {} bytes are in use, {} are held free \
                 in between",
                self.options.limit.unwrap_or(u64::MAX),
                totals.managed - totals.free_bytes,
                totals.free_bytes,
            ),
        )
    }

    fn ask_once(&self, client: Client<'_>, bytes: u64) -> Result<u64> {
        let bytes = as_size(bytes)?;
        match (self.space, client) {
            (Space::Device, Client::Stream(stream)) => DirectAllocator.allocate_once(stream, bytes),
            (Space::PageLocked(source), client) => source
                .allocate_once(client.context(), bytes)
                .map(|pointer| pointer.as_ptr().expose_provenance() as u64),
            (Space::Device, Client::Host(_)) => Err(self.wrong_context()),
        }
    }

    fn ask(&self, client: Client<'_>, bytes: u64) -> Result<u64> {
        let bytes = as_size(bytes)?;
        match (self.space, client) {
            (Space::Device, Client::Stream(stream)) => DirectAllocator.allocate(stream, bytes),
            (Space::PageLocked(source), client) => source
                .allocate(client.context(), bytes)
                .map(|pointer| pointer.as_ptr().expose_provenance() as u64),
            (Space::Device, Client::Host(_)) => Err(self.wrong_context()),
        }
    }
}

fn as_size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| {
        Error::custom(
            ErrorKind::OutOfMemory,
            format!("{bytes} bytes are more than this host can address"),
        )
    })
}
