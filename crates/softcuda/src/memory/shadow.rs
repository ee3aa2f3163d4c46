//! One context's map of valid bytes.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use super::arena::GRANULE;
use super::os::{Reservation, Untouched};

/// Bytes of the map made writable at once: 64 KiB of map describe 8 MiB of memory.
const CHUNK: u64 = 64 << 10;

/// For each granule of the reserved range, how many of its bytes (0 to 256) this context may touch.
///
/// The map is as long as 1/128 of the range, readable throughout, and uses memory only where it was written.
#[derive(Debug)]
pub(crate) struct Shadow {
    map: Reservation,
    /// How often memory became invalid.
    frees: AtomicU64,
}

impl Shadow {
    /// A map for `len` bytes, nothing valid; `None` if the system has no address space left.
    pub(crate) fn new(len: u64) -> Option<Self> {
        let bytes = (len / GRANULE * 2).next_multiple_of(CHUNK);
        let map = Reservation::new(bytes, CHUNK, Untouched::ReadsZero)?;
        Some(Self {
            map,
            frees: AtomicU64::new(1),
        })
    }

    /// The first entry.
    pub(crate) fn as_ptr(&self) -> *const u16 {
        self.map.at(0).cast::<u16>().cast_const()
    }

    /// Makes `len` bytes from `offset`, a multiple of the granule, valid. False if the system is out of memory; then
    /// nothing has changed.
    #[must_use]
    pub(crate) fn mark(&self, offset: u64, len: u64) -> bool {
        debug_assert!(offset.is_multiple_of(GRANULE));
        let (first, end) = (offset / GRANULE, (offset + len).div_ceil(GRANULE));
        if !self.map.commit(first * 2, (end - first) * 2) {
            return false;
        }
        let whole = len / GRANULE;
        for granule in 0..whole {
            self.entry(first + granule)
                .store(GRANULE as u16, Ordering::Relaxed);
        }
        if first + whole < end {
            self.entry(end - 1)
                .store((len % GRANULE) as u16, Ordering::Relaxed);
        }
        true
    }

    /// Counts how often memory became invalid; never 0.
    pub(crate) fn frees(&self) -> *const AtomicU64 {
        &raw const self.frees
    }

    /// Makes `len` bytes from `offset` invalid.
    pub(crate) fn clear(&self, offset: u64, len: u64) {
        for granule in offset / GRANULE..(offset + len).div_ceil(GRANULE) {
            // What nobody marked may not be writable.
            if self.entry(granule).load(Ordering::Relaxed) != 0 {
                self.entry(granule).store(0, Ordering::Relaxed);
            }
        }
        self.frees.fetch_add(1, Ordering::Release);
    }

    /// The entry of a granule; writable only if it was marked.
    fn entry(&self, granule: u64) -> &AtomicU16 {
        assert!(granule * 2 < self.map.len(), "granule inside the range");
        // SAFETY: the entry lies inside the map (asserted), is aligned (the map is page-aligned, entries are two bytes
        // at even offsets) and readable; its chunk is writable once `mark` has been there, before which nobody stores.
        // All writers use atomics; kernels read two aligned bytes at once.
        unsafe { AtomicU16::from_ptr(self.map.at(granule * 2).cast()) }
    }

    /// How many bytes of the granule that holds `offset` are valid.
    pub(crate) fn valid(&self, offset: u64) -> u16 {
        self.entry(offset / GRANULE).load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_granule_counts_its_bytes() {
        let shadow = Shadow::new(1 << 30).expect("8 MiB of address space");
        let base = 40 * GRANULE;
        for len in [1, 4, 255, 256, 257, 511, 512, 1000] {
            assert!(shadow.mark(base, len));
            for granule in 0..6 {
                let valid = len.saturating_sub(granule * GRANULE).min(GRANULE);
                assert_eq!(
                    u64::from(shadow.valid(base + granule * GRANULE)),
                    valid,
                    "{len} bytes, granule {granule}"
                );
            }
            assert_eq!(shadow.valid(base - 1), 0);
            shadow.clear(base, len);
            assert!((0..6).all(|granule| shadow.valid(base + granule * GRANULE) == 0));
        }
        assert_eq!(shadow.valid((1 << 30) - 1), 0, "the end is readable");
    }

    #[test]
    fn marks_may_cross_chunks() {
        let shadow = Shadow::new(1 << 30).expect("8 MiB of address space");
        let near_the_edge = CHUNK / 2 * GRANULE - GRANULE;
        assert!(shadow.mark(near_the_edge, 3 * GRANULE));
        assert_eq!(shadow.valid(near_the_edge), 256);
        assert_eq!(shadow.valid(near_the_edge + 2 * GRANULE), 256);
        assert_eq!(shadow.valid(near_the_edge + 3 * GRANULE), 0);
    }
}
