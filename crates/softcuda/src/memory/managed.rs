//! What the program has said of managed memory: who may use it, where it should be, who reads it.
//!
//! A software device has one memory, so nothing moves. What is said is kept by the page, as the driver API promises to
//! tell it.

use std::collections::{BTreeMap, BTreeSet};

use super::block::Block;
use super::os::PAGE;

/// A place for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The host.
    Host,
    /// A NUMA node of the host.
    Node(i32),
    /// A device, by its ordinal.
    Device(i32),
}

/// Who may use managed memory, as far as devices without concurrent access are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attached {
    /// Every stream.
    Global,
    /// The host alone.
    Host,
    /// The stream of that number.
    Stream(u64),
}

/// What is said of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// It is mostly read.
    pub(crate) read_mostly: bool,
    /// Where it should be.
    pub(crate) preferred: Option<Place>,
    /// Who uses it.
    pub(crate) accessed_by: BTreeSet<Place>,
    /// Where it was last asked to be.
    pub(crate) prefetched: Option<Place>,
}

/// What is said of one block of managed memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managed {
    /// The last attachment, if there was one.
    pub(crate) attached: Option<Attached>,
    /// From each of these addresses to the next, or to the block's end. Nothing is said of what is before the first.
    said: BTreeMap<u64, Said>,
}

impl Managed {
    /// Changes what is said of the pages that hold `len` bytes from `address` in `block`.
    pub(super) fn say(
        &mut self,
        block: &Block,
        address: u64,
        len: u64,
        change: impl Fn(&mut Said),
    ) {
        let (from, to) = pages(block, address, len);
        self.cut(from);
        if to < block.end() {
            self.cut(to);
        }
        for said in self.said.range_mut(from..to).map(|(_, said)| said) {
            change(said);
        }
        // Neighbours of which the same is said become one.
        let mut last = Said::default();
        self.said.retain(|_, said| {
            let differs = *said != last;
            if differs {
                last = said.clone();
            }
            differs
        });
    }

    /// What is said of the pages that hold `len` bytes from `address` in `block`.
    pub(super) fn said(
        &self,
        block: &Block,
        address: u64,
        len: u64,
    ) -> impl Iterator<Item = &Said> {
        static NOTHING: Said = Said {
            read_mostly: false,
            preferred: None,
            accessed_by: BTreeSet::new(),
            prefetched: None,
        };
        let (from, to) = pages(block, address, len);
        let first = self.said.range(..=from).next_back();
        let first = first.map_or(&NOTHING, |(_, said)| said);
        let rest = self.said.range(from + 1..to).map(|(_, said)| said);
        std::iter::once(first).chain(rest)
    }

    /// Makes what is said begin anew at `at`.
    fn cut(&mut self, at: u64) {
        let before = self.said.range(..=at).next_back();
        let said = before.map_or_else(Said::default, |(_, said)| said.clone());
        self.said.insert(at, said);
    }
}

/// The whole pages that hold a range, without what is outside the block.
fn pages(block: &Block, address: u64, len: u64) -> (u64, u64) {
    let from = address / PAGE * PAGE;
    let to = (address + len).next_multiple_of(PAGE);
    (from.max(block.address), to.min(block.end()))
}

#[cfg(test)]
mod tests {
    use super::super::block::Kind;
    use super::*;

    fn block(size: u64) -> Block {
        Block {
            address: 10 * PAGE + 256,
            size,
            capacity: size,
            kind: Kind::Managed,
            device: 0,
            context: 1,
            flags: 1,
            id: 1,
            is_for_host: false,
        }
    }

    /// What is said of each byte against a list of bytes.
    #[test]
    fn ranges_are_kept_by_the_page() {
        let block = block(5 * PAGE);
        let mut managed = Managed::default();
        let mut model = vec![false; block.size as usize];
        let mut seed = 7u64;
        for round in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) % block.size;
            let len = 1 + (seed >> 13) % (block.size - at).min(2 * PAGE);
            let on = round % 3 != 0;
            managed.say(&block, block.address + at, len, |said| {
                said.read_mostly = on;
            });
            for (byte, value) in model.iter_mut().enumerate() {
                let page = (block.address + byte as u64) / PAGE;
                let first = (block.address + at) / PAGE;
                let last = (block.address + at + len - 1) / PAGE;
                if (first..=last).contains(&page) {
                    *value = on;
                }
            }
            for page in 0..6 {
                let from = (page * PAGE).saturating_sub(256).min(block.size - 1);
                let found: Vec<bool> = managed
                    .said(&block, block.address + from, 1)
                    .map(|said| said.read_mostly)
                    .collect();
                assert_eq!(found, [model[from as usize]], "round {round}, page {page}");
            }
            let all: Vec<bool> = managed
                .said(&block, block.address, block.size)
                .map(|said| said.read_mostly)
                .collect();
            assert_eq!(
                all.iter().all(|&on| on),
                model.iter().all(|&on| on),
                "round {round}"
            );
            assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
        }
    }
}
