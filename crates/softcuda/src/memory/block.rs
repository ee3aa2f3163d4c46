//! Allocations, and the ranges of host memory that the program registered.

use std::collections::{BTreeMap, VecDeque};

/// What a block of the reserved range is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cuMemAlloc` and its kin.
    Device,
    /// Page-locked host memory.
    Pinned,
    /// Managed memory.
    Managed,
    /// A variable of a module.
    Variable,
    /// A constant of a module: only the host writes it.
    Constant,
    /// A CUDA array: kernels reach it through textures and surfaces only.
    Array,
    /// Device-side `malloc`.
    Heap,
    /// Stream-ordered memory in use.
    Pooled,
    /// Stream-ordered memory that its pool keeps for later.
    Cached,
}

impl Kind {
    /// Whether every context may use the memory.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::Pinned | Self::Managed)
    }

    /// Whether kernels may write it.
    pub(crate) fn is_writable(self) -> bool {
        self != Self::Constant
    }

    /// Whether it counts as device memory.
    pub(crate) fn is_charged(self) -> bool {
        !matches!(self, Self::Pinned)
    }

    /// Whether the host may name it in a copy, a memset or an attribute query.
    pub(crate) fn is_addressable(self) -> bool {
        !matches!(self, Self::Array | Self::Heap | Self::Cached)
    }

    /// What people call it.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Device => "device allocation",
            Self::Pinned => "page-locked host allocation",
            Self::Managed => "managed allocation",
            Self::Variable => "module variable",
            Self::Constant => "module constant",
            Self::Array => "CUDA array",
            Self::Heap => "device-side malloc",
            Self::Pooled => "stream-ordered allocation",
            Self::Cached => "free block of a memory pool",
        }
    }
}

/// One block of the reserved range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// First address.
    pub(crate) address: u64,
    /// Bytes that the owner asked for.
    pub(crate) size: u64,
    /// Bytes charged to the device: the size in whole granules, or more for a pool's block.
    pub(crate) capacity: u64,
    /// What it is for.
    pub(crate) kind: Kind,
    /// The ordinal of the device that is charged, or that was current.
    pub(crate) device: usize,
    /// The number of the context that owns it.
    pub(crate) context: u64,
    /// The flags it was allocated with.
    pub(crate) flags: u32,
    /// A number unique in the process (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
    pub(crate) id: u64,
    /// Whether it is managed memory attached to the host: devices without concurrent access may not use it.
    pub(crate) is_for_host: bool,
}

impl Block {
    /// The address after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.address + self.size
    }
}

/// Host memory that the program owns and registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    /// First address.
    pub(crate) address: u64,
    /// Bytes.
    pub(crate) len: u64,
    /// The number of the context that registered it.
    pub(crate) context: u64,
    /// The flags it was registered with.
    pub(crate) flags: u32,
    /// Whether kernels may only read it.
    pub(crate) read_only: bool,
}

/// All registered ranges, disjoint.
#[derive(Debug, Default)]
pub(crate) struct Registrations {
    by_start: BTreeMap<u64, Registered>,
}

impl Registrations {
    /// The range that holds `address`.
    pub(crate) fn find(&self, address: u64) -> Option<&Registered> {
        let (_, range) = self.by_start.range(..=address).next_back()?;
        (address - range.address < range.len).then_some(range)
    }

    /// Whether any range shares a byte with `len` bytes from `address`.
    pub(crate) fn overlaps(&self, address: u64, len: u64) -> bool {
        let before = self
            .by_start
            .range(..address.saturating_add(len))
            .next_back();
        before.is_some_and(|(_, range)| range.address + range.len > address)
    }

    /// Adds a range that overlaps none.
    pub(crate) fn insert(&mut self, range: Registered) {
        self.by_start.insert(range.address, range);
    }

    /// Takes the range that starts at `address`.
    pub(crate) fn remove(&mut self, address: u64) -> Option<Registered> {
        self.by_start.remove(&address)
    }

    /// Keeps the ranges that `keep` answers true for.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Registered) -> bool) {
        self.by_start.retain(|_, range| keep(range));
    }

    /// How many ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.by_start.len()
    }
}

/// The last blocks that were freed, to explain a use after free.
#[derive(Debug, Default)]
pub(crate) struct Graveyard(VecDeque<Block>);

impl Graveyard {
    /// Remembers a freed block, forgetting the oldest of many.
    pub(crate) fn bury(&mut self, block: Block) {
        if self.0.len() == 256 {
            self.0.pop_front();
        }
        self.0.push_back(block);
    }

    /// The block freed last that held `address`.
    pub(crate) fn find(&self, address: u64) -> Option<&Block> {
        self.0
            .iter()
            .rev()
            .find(|b| (b.address..b.end()).contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_ranges_are_found_and_overlaps_seen() {
        let mut all = Registrations::default();
        all.insert(Registered {
            address: 1000,
            len: 100,
            context: 1,
            flags: 0,
            read_only: false,
        });
        assert!(all.find(999).is_none());
        assert!(all.find(1000).is_some() && all.find(1099).is_some());
        assert!(all.find(1100).is_none());
        assert!(
            all.overlaps(900, 101)
                && all.overlaps(1099, 1)
                && all.overlaps(1010, 5)
                && all.overlaps(0, 5000)
        );
        assert!(!all.overlaps(900, 100) && !all.overlaps(1100, 10));
    }
}
