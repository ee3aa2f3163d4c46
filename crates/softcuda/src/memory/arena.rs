//! Which parts of the reserved range are free: offsets only, no memory is touched here.

use std::collections::{BTreeMap, BTreeSet};

/// Granule of the shadow map and alignment of every block.
pub(crate) const GRANULE: u64 = 256;

/// Free ranges of the reserved range, best fit, coalesced on release.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Length of each free range by its start.
    by_start: BTreeMap<u64, u64>,
    /// The same ranges as (length, start).
    by_len: BTreeSet<(u64, u64)>,
    /// Everything from here on was never taken. Freed addresses are reused late, so that a use after free meets memory
    /// that is still marked invalid.
    fresh: u64,
    len: u64,
}

impl Arena {
    /// An arena of `len` bytes, a multiple of the granule, all free.
    pub(crate) fn new(len: u64) -> Self {
        Self {
            by_start: BTreeMap::new(),
            by_len: BTreeSet::new(),
            fresh: 0,
            len,
        }
    }

    /// Takes `len` bytes, a positive multiple of the granule, and answers their offset. Addresses never used before come
    /// first while they last in the first half of the range, then freed ranges, then the second half.
    pub(crate) fn take(&mut self, len: u64) -> Option<u64> {
        debug_assert!(len > 0 && len.is_multiple_of(GRANULE));
        if self.len - self.fresh >= len && self.fresh + len <= self.len / 2 {
            return Some(self.take_fresh(len));
        }
        let found = self.by_len.range((len, 0)..).next().copied();
        let Some((found_len, start)) = found else {
            return (self.len - self.fresh >= len).then(|| self.take_fresh(len));
        };
        self.remove(start, found_len);
        if found_len > len {
            self.insert(start + len, found_len - len);
        }
        Some(start)
    }

    fn take_fresh(&mut self, len: u64) -> u64 {
        let start = self.fresh;
        self.fresh += len;
        start
    }

    /// Gives `len` bytes at `start` back and answers the free range that now holds them.
    pub(crate) fn give(&mut self, start: u64, len: u64) -> (u64, u64) {
        let (mut start, mut len) = (start, len);
        if let Some((&before, &before_len)) = self.by_start.range(..start).next_back() {
            debug_assert!(before + before_len <= start, "freed twice");
            if before + before_len == start {
                self.remove(before, before_len);
                start = before;
                len += before_len;
            }
        }
        if let Some(&after_len) = self.by_start.get(&(start + len)) {
            self.remove(start + len, after_len);
            len += after_len;
        }
        self.insert(start, len);
        (start, len)
    }

    /// Bytes that are not taken.
    #[cfg(test)]
    pub(crate) fn free_bytes(&self) -> u64 {
        self.by_start.values().sum::<u64>() + (self.len - self.fresh)
    }

    fn insert(&mut self, start: u64, len: u64) {
        self.by_start.insert(start, len);
        self.by_len.insert((len, start));
    }

    fn remove(&mut self, start: u64, len: u64) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn freed_neighbours_become_one_range() {
        let mut arena = Arena::new(16 * GRANULE);
        let blocks: Vec<u64> = (0..16)
            .map(|_| arena.take(GRANULE).expect("room for 16"))
            .collect();
        assert_eq!(arena.take(GRANULE), None);
        for i in (0..16).step_by(2).chain((1..16).step_by(2)) {
            arena.give(blocks[i], GRANULE);
        }
        assert_eq!(arena.take(16 * GRANULE), Some(0));
    }

    #[test]
    fn freed_addresses_rest_before_they_are_reused() {
        let mut arena = Arena::new(64 * GRANULE);
        let first = arena.take(GRANULE).expect("room");
        arena.give(first, GRANULE);
        for _ in 0..30 {
            let next = arena.take(GRANULE).expect("room");
            assert_ne!(next, first);
            arena.give(next, GRANULE);
        }
    }

    proptest! {
        /// Blocks never overlap, stay inside, and all bytes come back.
        #[test]
        fn blocks_are_disjoint_and_nothing_is_lost(steps in prop::collection::vec((1u64..40, any::<bool>(), any::<usize>()), 1..300)) {
            let total = 512 * GRANULE;
            let mut arena = Arena::new(total);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for (granules, free, pick) in steps {
                if free && !live.is_empty() {
                    let (start, len) = live.swap_remove(pick % live.len());
                    let (range, range_len) = arena.give(start, len);
                    prop_assert!(range <= start && start + len <= range + range_len);
                } else if let Some(start) = arena.take(granules * GRANULE) {
                    let len = granules * GRANULE;
                    prop_assert!(start + len <= total);
                    prop_assert!(live.iter().all(|&(s, l)| start + len <= s || s + l <= start));
                    live.push((start, len));
                }
                let used: u64 = live.iter().map(|&(_, len)| len).sum();
                prop_assert_eq!(arena.free_bytes(), total - used);
            }
        }
    }
}
