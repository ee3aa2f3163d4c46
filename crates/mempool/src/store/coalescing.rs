//! Chunks cut into blocks of the sizes that are asked for, and free neighbours joined again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use super::{IDLE, Marks, Owner, Piece, Reach, Totals, owner};

/// No block.
const NONE: u32 = u32::MAX;

/// A block is large if it is more than this part of all memory, and more than [`SMALL`].
const PART: u64 = 32;

/// No block of so many bytes is large.
const SMALL: u64 = 1 << 20;

/// How many fitting blocks of another stream are looked at for one whose uses are over.
const LOOK: usize = 8;

/// Every chunk's blocks, in a list in the order of their addresses, and the free ones by owner and size.
///
/// The smallest free block that fits is lent (of several the one with the lowest address), cut to size, from the chunks
/// that were made for large blocks or from the others as the block is large or not, and else from those that are left:
/// small blocks would hold a large chunk for long, when nothing else in it is in use. A block given
/// back is joined with its free neighbours. Neighbours that different streams used are joined only when memory is
/// short ([`consolidate`](Self::consolidate)), because whoever uses the union waits for both.
#[derive(Debug)]
pub(crate) struct Coalescing<M> {
    blocks: Vec<Block<M>>,
    /// Places in `blocks` that are not used.
    vacant: Vec<u32>,
    chunks: BTreeMap<u64, Chunk>,
    free: Vec<(Shelf, BTreeSet<Fit>)>,
    lent: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// The first who came: a stream, or the host.
    first: Option<Owner>,
    /// Whether another has come.
    several: bool,
    totals: Totals,
}

/// Where a free block is kept: by who used it, and by whether its chunk was made for a large block.
type Shelf = (Owner, bool);

/// A free block, ordered by size and then by address.
type Fit = (u64, u64, u32);

#[derive(Debug)]
struct Block<M> {
    address: u64,
    bytes: u64,
    /// The address of the chunk, and whether that was made for a large block.
    chunk: u64,
    large: bool,
    before: u32,
    after: u32,
    /// The last uses, if the block is free.
    free: Option<M>,
}

#[derive(Debug)]
struct Chunk {
    bytes: u64,
    first: u32,
    lent: u32,
}

impl<M: Marks> Coalescing<M> {
    pub(crate) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            vacant: Vec::new(),
            chunks: BTreeMap::new(),
            free: Vec::new(),
            lent: HashMap::default(),
            first: None,
            several: false,
            totals: Totals::default(),
        }
    }

    pub(super) fn take(&mut self, bytes: u64, stream: u32, reach: Reach) -> Option<Piece<M>> {
        self.meet(stream);
        let large = bytes > self.large_bytes();
        let smallest = |set: &BTreeSet<Fit>| set.range((bytes, 0, 0)..).next().copied();
        let wanted = |owner: Owner| owner == stream || owner == IDLE;
        let found = match reach {
            Reach::Own => self
                .free
                .iter()
                .filter(|((owner, _), _)| wanted(*owner))
                // Of equal sizes, the stream's own first: that leaves the idle one to others.
                .filter_map(|(shelf, set)| Some((smallest(set)?, *shelf)))
                .min_by_key(|&((bytes, address, _), (owner, made_for_large))| {
                    (made_for_large != large, bytes, owner == IDLE, address)
                })
                .map(|(fit, _)| fit.2),
            Reach::Passed => self.passed(bytes, wanted),
            Reach::Any => self
                .free
                .iter()
                .filter_map(|(_, set)| smallest(set))
                .min()
                .map(|fit| fit.2),
        }?;
        Some(self.lend(found, bytes))
    }

    /// The smallest fitting block of other streams whose uses are over.
    fn passed(&mut self, bytes: u64, wanted: impl Fn(Owner) -> bool) -> Option<u32> {
        let candidates: Vec<Fit> = self
            .free
            .iter()
            .filter(|((owner, _), _)| !wanted(*owner))
            .flat_map(|(_, set)| set.range((bytes, 0, 0)..).take(LOOK).copied())
            .collect();
        let mut best: Option<Fit> = None;
        for fit in candidates {
            self.take_out(fit.2);
            let block = &mut self.blocks[fit.2 as usize];
            let marks = block.free.as_mut().expect("a block of a free set is free");
            marks.forget_passed();
            if marks.is_empty() && best.is_none_or(|best| fit < best) {
                best = Some(fit);
            }
            self.put_in(fit.2);
        }
        best.map(|fit| fit.2)
    }

    /// Lends the first `bytes` bytes of a free block.
    fn lend(&mut self, slot: u32, bytes: u64) -> Piece<M> {
        self.take_out(slot);
        let block = &mut self.blocks[slot as usize];
        let marks = block.free.take().expect("a block that is lent was free");
        let (address, chunk, rest) = (block.address, block.chunk, block.bytes - bytes);
        let large = block.large;
        if rest > 0 {
            block.bytes = bytes;
            let after = block.after;
            let remainder = self.occupy(Block {
                address: address + bytes,
                bytes: rest,
                chunk,
                large,
                before: slot,
                after,
                free: Some(marks.clone()),
            });
            self.blocks[slot as usize].after = remainder;
            if after != NONE {
                self.blocks[after as usize].before = remainder;
            }
            self.put_in(remainder);
        }
        self.chunk(chunk).lent += 1;
        self.lent.insert(address, slot);
        Piece {
            address,
            bytes,
            marks,
        }
    }

    pub(super) fn give(&mut self, address: u64, mut marks: M) {
        let slot = self
            .lent
            .remove(&address)
            .expect("a block is given back once, by its address");
        let chunk = self.blocks[slot as usize].chunk;
        self.chunk(chunk).lent -= 1;
        marks.forget_passed();
        let owner = owner(&marks);
        if owner != IDLE {
            self.meet(owner);
        }
        self.blocks[slot as usize].free = Some(marks);
        let mut slot = slot;
        let before = self.blocks[slot as usize].before;
        if before != NONE && self.joins(before, slot) {
            self.take_out(before);
            self.join(before);
            slot = before;
        }
        let after = self.blocks[slot as usize].after;
        if after != NONE && self.joins(slot, after) {
            self.take_out(after);
            self.join(slot);
        }
        self.put_in(slot);
    }

    /// The size from which on a block is large, now.
    fn large_bytes(&self) -> u64 {
        (self.totals.managed / PART).max(SMALL)
    }

    fn meet(&mut self, who: Owner) {
        self.several |= *self.first.get_or_insert(who) != who;
    }

    /// Whether two neighbours are free, and the union is as usable as its parts.
    fn joins(&self, a: u32, b: u32) -> bool {
        let marks = |slot: u32| self.blocks[slot as usize].free.as_ref();
        match (marks(a), marks(b)) {
            (Some(a), Some(b)) => {
                let (a, b) = (owner(a), owner(b));
                // While there is one stream and nobody else, what nobody uses is as good as its own.
                a == b || (!self.several && (a == IDLE || b == IDLE))
            }
            _ => false,
        }
    }

    /// Joins a free block, which is in no set, with its free neighbour, which is in no set either.
    fn join(&mut self, slot: u32) {
        let after = self.blocks[slot as usize].after;
        let next = self.vacate(after);
        let marks = next.free.expect("a neighbour to join is free");
        let block = &mut self.blocks[slot as usize];
        block.bytes += next.bytes;
        block.after = next.after;
        block
            .free
            .as_mut()
            .expect("a block to join is free")
            .merge(&marks);
        if next.after != NONE {
            self.blocks[next.after as usize].before = slot;
        }
    }

    pub(super) fn consolidate(&mut self, mix: bool) {
        let mut old = std::mem::take(&mut self.free);
        self.totals.free_blocks = 0;
        self.totals.free_bytes = 0;
        // Keep the sets' places, and forget what was in them.
        for (_, set) in &mut old {
            set.clear();
        }
        self.free = old;
        let firsts: Vec<u32> = self.chunks.values().map(|chunk| chunk.first).collect();
        for first in firsts {
            let mut slot = first;
            while slot != NONE {
                if let Some(marks) = &mut self.blocks[slot as usize].free {
                    marks.forget_passed();
                    self.join_on(slot, mix);
                    self.put_in(slot);
                }
                slot = self.blocks[slot as usize].after;
            }
        }
    }

    /// Joins a free block with the free ones after it. None of them is in a set.
    fn join_on(&mut self, slot: u32, mix: bool) {
        loop {
            let after = self.blocks[slot as usize].after;
            if after == NONE {
                return;
            }
            let Some(marks) = &mut self.blocks[after as usize].free else {
                return;
            };
            marks.forget_passed();
            let theirs = owner(marks);
            let ours = self.blocks[slot as usize].free.as_ref().map_or(IDLE, owner);
            if !mix && ours != theirs && ours != IDLE && theirs != IDLE {
                return;
            }
            self.join(slot);
        }
    }

    pub(super) fn add(&mut self, address: u64, chunk: u64, bytes: u64) -> u64 {
        let slot = self.occupy(Block {
            address,
            bytes: chunk,
            chunk: address,
            large: bytes > self.large_bytes(),
            before: NONE,
            after: NONE,
            free: Some(M::default()),
        });
        self.chunks.insert(
            address,
            Chunk {
                bytes: chunk,
                first: slot,
                lent: 0,
            },
        );
        self.totals.managed += chunk;
        self.totals.chunks += 1;
        self.put_in(slot);
        self.lend(slot, bytes).address
    }

    pub(super) fn unused(&self) -> u64 {
        let unused = self.chunks.values().filter(|chunk| chunk.lent == 0);
        unused.map(|chunk| chunk.bytes).sum()
    }

    /// As few bytes over as single chunks allow.
    pub(super) fn surplus(&mut self, bytes: u64) -> Vec<Piece<M>> {
        let mut unused: BTreeSet<(u64, u64)> = self
            .chunks
            .iter()
            .filter(|(_, chunk)| chunk.lent == 0)
            .map(|(&address, chunk)| (chunk.bytes, address))
            .collect();
        let mut taken = Vec::new();
        let mut missing = bytes;
        while missing > 0 {
            let smallest = unused.range((missing, 0)..).next().copied();
            let Some((bytes, address)) = smallest.or_else(|| unused.last().copied()) else {
                break;
            };
            unused.remove(&(bytes, address));
            missing = missing.saturating_sub(bytes);
            taken.push(self.remove(address));
        }
        taken
    }

    /// Takes out a chunk of which nothing is lent.
    fn remove(&mut self, address: u64) -> Piece<M> {
        let chunk = self.chunks.remove(&address).expect("the chunk exists");
        let mut marks = M::default();
        let mut slot = chunk.first;
        while slot != NONE {
            self.take_out(slot);
            let block = self.vacate(slot);
            marks.merge(&block.free.expect("nothing of the chunk is lent"));
            slot = block.after;
        }
        self.totals.managed -= chunk.bytes;
        self.totals.chunks -= 1;
        Piece {
            address,
            bytes: chunk.bytes,
            marks,
        }
    }

    pub(super) fn pending(&self, stream: u32) -> M {
        let mut all = M::default();
        for ((owner, _), set) in &self.free {
            if *owner != stream && *owner != IDLE {
                for &(_, _, slot) in set {
                    let marks = self.blocks[slot as usize].free.as_ref();
                    all.merge(marks.expect("a block of a free set is free"));
                }
            }
        }
        all
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    pub(super) fn free_sizes(&self) -> Vec<(u64, u64)> {
        let mut sizes = BTreeMap::<u64, u64>::new();
        for (_, set) in &self.free {
            for &(bytes, _, _) in set {
                *sizes.entry(bytes).or_default() += 1;
            }
        }
        sizes.into_iter().rev().collect()
    }

    fn chunk(&mut self, address: u64) -> &mut Chunk {
        self.chunks
            .get_mut(&address)
            .expect("a block's chunk exists")
    }

    fn occupy(&mut self, block: Block<M>) -> u32 {
        if let Some(slot) = self.vacant.pop() {
            self.blocks[slot as usize] = block;
            slot
        } else {
            self.blocks.push(block);
            u32::try_from(self.blocks.len() - 1).expect("fewer than 2^32 blocks")
        }
    }

    fn vacate(&mut self, slot: u32) -> Block<M> {
        self.vacant.push(slot);
        let gone = Block {
            address: 0,
            bytes: 0,
            chunk: 0,
            large: false,
            before: NONE,
            after: NONE,
            free: None,
        };
        std::mem::replace(&mut self.blocks[slot as usize], gone)
    }

    fn fit(&self, slot: u32) -> (Shelf, Fit) {
        let block = &self.blocks[slot as usize];
        let marks = block.free.as_ref().expect("only free blocks are in sets");
        (
            (owner(marks), block.large),
            (block.bytes, block.address, slot),
        )
    }

    fn put_in(&mut self, slot: u32) {
        let (shelf, fit) = self.fit(slot);
        match self.free.iter_mut().find(|(known, _)| *known == shelf) {
            Some((_, set)) => {
                set.insert(fit);
            }
            None => {
                // Streams come and go: sets of those that are gone are reused.
                self.free.retain(|(_, set)| !set.is_empty());
                self.free.push((shelf, BTreeSet::from([fit])));
            }
        }
        self.totals.free_blocks += 1;
        self.totals.free_bytes += fit.0;
    }

    fn take_out(&mut self, slot: u32) {
        let (shelf, fit) = self.fit(slot);
        let set = self.free.iter_mut().find(|(known, _)| *known == shelf);
        let was = set.is_some_and(|(_, set)| set.remove(&fit));
        debug_assert!(was, "a free block is in the set of its owner");
        self.totals.free_blocks -= 1;
        self.totals.free_bytes -= fit.0;
    }
}

/// Addresses are multiples of 256 and otherwise well spread: one multiplication mixes them.
#[derive(Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

#[cfg(test)]
impl<M: Marks> Coalescing<M> {
    /// Looks at everything that must hold.
    pub(super) fn check(&self) {
        let mut totals = Totals::default();
        let mut lent = 0;
        for (&address, chunk) in &self.chunks {
            let (mut at, mut slot, mut before, mut lent_here) = (address, chunk.first, NONE, 0);
            while slot != NONE {
                let block = &self.blocks[slot as usize];
                assert_eq!(
                    (block.address, block.before, block.chunk),
                    (at, before, address)
                );
                assert!(block.bytes > 0);
                if block.free.is_some() {
                    let (shelf, fit) = self.fit(slot);
                    let set = self.free.iter().find(|(known, _)| *known == shelf);
                    assert!(set.is_some_and(|(_, set)| set.contains(&fit)));
                    totals.free_blocks += 1;
                    totals.free_bytes += block.bytes;
                } else {
                    assert_eq!(self.lent.get(&at), Some(&slot));
                    lent_here += 1;
                }
                at += block.bytes;
                before = slot;
                slot = block.after;
            }
            assert_eq!(at, address + chunk.bytes);
            assert_eq!(lent_here, chunk.lent);
            lent += lent_here as usize;
            totals.managed += chunk.bytes;
            totals.chunks += 1;
        }
        assert_eq!(totals, self.totals);
        assert_eq!(lent, self.lent.len());
        let in_sets: usize = self.free.iter().map(|(_, set)| set.len()).sum();
        assert_eq!(in_sets as u64, totals.free_blocks);
        assert_eq!(
            self.blocks.len(),
            self.vacant.len() + lent + in_sets,
            "no block is lost"
        );
    }
}
