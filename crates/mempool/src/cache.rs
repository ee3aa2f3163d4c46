//! Blocks that some threads gave back, for their next allocations of the same sizes.

use cuprum_driver_core::{PastUses, Timeline};

use crate::store::Piece;

/// How many blocks are kept.
const BLOCKS: usize = 128;

/// How many lists they are kept in, a power of two.
const LISTS: usize = 64;

/// The end of a list.
const END: u8 = u8::MAX;

const _: () = assert!(BLOCKS < END as usize);

/// The last blocks given back, by stream and size, the last one lent first.
///
/// Everything in it was used by one stream only, so that lending it to that stream needs no order. What does not fit
/// goes to the pool's store; before that asks the driver for memory, it takes everything that is here.
#[derive(Debug)]
pub(crate) struct Cache {
    /// For each list the entry that came last.
    lists: [u8; LISTS],
    /// Entries in use, and those that are not, in a list of their own.
    entries: Vec<Entry>,
    vacant: u8,
    count: usize,
    /// The streams of the entries.
    timelines: Vec<Timeline>,
    /// A stream that is among them.
    known: u32,
    /// The memory of all entries.
    bytes: u64,
    /// The most memory to keep.
    limit: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: u64,
    address: u64,
    position: u64,
    stream: u32,
    next: u8,
}

/// The list of a block's size and stream.
#[inline]
fn list(stream: u32, block: u64) -> usize {
    let key = (block ^ u64::from(stream).rotate_right(8)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key >> (64 - LISTS.ilog2())) as usize
}

impl Cache {
    /// A cache of at most `limit` bytes; of 0, one that keeps nothing.
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            lists: [END; LISTS],
            entries: Vec::new(),
            vacant: END,
            count: 0,
            timelines: Vec::new(),
            known: 0,
            bytes: 0,
            limit,
        }
    }

    /// A block of exactly `block` bytes that only `stream` has used.
    #[inline]
    pub(crate) fn take(&mut self, stream: u32, block: u64) -> Option<u64> {
        let list = list(stream, block);
        let (mut index, mut before) = (self.lists[list], None);
        loop {
            // The end is no index.
            let entry = self.entries.get(usize::from(index))?;
            if entry.block == block && entry.stream == stream {
                let (address, next) = (entry.address, entry.next);
                match before {
                    None => self.lists[list] = next,
                    Some(before) => self.entries[usize::from(before)].next = next,
                }
                self.entries[usize::from(index)].next = self.vacant;
                self.vacant = index;
                self.count -= 1;
                self.bytes -= block;
                return Some(address);
            }
            before = Some(index);
            index = entry.next;
        }
    }

    /// Keeps a block that only `stream` has used, until `position`. Answers whether it does.
    #[inline]
    pub(crate) fn put(
        &mut self,
        stream: &Timeline,
        block: u64,
        address: u64,
        position: u64,
    ) -> bool {
        if self.bytes + block > self.limit || self.count == BLOCKS {
            return false;
        }
        let id = stream.id();
        // One stream is the rule.
        if self.known != id {
            self.remember(stream);
        }
        if self.vacant == END {
            self.grow();
        }
        let index = self.vacant;
        let head = &mut self.lists[list(id, block)];
        // Field by field: a copy of the whole would wait for the fields to be stored.
        let entry = &mut self.entries[usize::from(index)];
        self.vacant = entry.next;
        entry.next = std::mem::replace(head, index);
        entry.block = block;
        entry.address = address;
        entry.position = position;
        entry.stream = id;
        self.count += 1;
        self.bytes += block;
        true
    }

    /// A vacant place, while there are fewer than ever were at once.
    #[cold]
    fn grow(&mut self) {
        self.vacant = u8::try_from(self.entries.len()).expect("fewer entries than indices");
        self.entries.push(Entry {
            block: 0,
            address: 0,
            position: 0,
            stream: 0,
            next: END,
        });
    }

    #[cold]
    fn remember(&mut self, stream: &Timeline) {
        if !self.timelines.contains(stream) {
            self.timelines.push(stream.clone());
        }
        self.known = stream.id();
    }

    /// Takes everything out.
    pub(crate) fn drain(&mut self) -> Vec<Piece<PastUses>> {
        let mut pieces = Vec::with_capacity(self.count);
        for head in &mut self.lists {
            let first = pieces.len();
            let mut index = std::mem::replace(head, END);
            while let Some(entry) = self.entries.get(usize::from(index)) {
                let stream = self
                    .timelines
                    .iter()
                    .find(|known| known.id() == entry.stream);
                let stream = stream.expect("the stream of an entry is on record");
                pieces.push(Piece {
                    address: entry.address,
                    bytes: entry.block,
                    marks: PastUses::of(stream, entry.position),
                });
                index = entry.next;
            }
            // The one given back last becomes the last again.
            pieces[first..].reverse();
        }
        self.entries.clear();
        self.vacant = END;
        self.count = 0;
        self.bytes = 0;
        self.timelines.clear();
        self.known = 0;
        pieces
    }

    /// Blocks and bytes kept.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.count as u64, self.bytes)
    }

    /// Sizes of the blocks kept.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.lists.iter().flat_map(|&head| {
            let entry = |index: u8| self.entries.get(usize::from(index));
            std::iter::successors(entry(head), move |one| entry(one.next)).map(|one| one.block)
        })
    }
}
