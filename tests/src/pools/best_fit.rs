//! An allocator on paper: the smallest free block that fits, free neighbours joined, on one line of addresses that
//! grows at its end only.
//!
//! It has what no pool over a driver has: all memory lies side by side, and nothing runs while it decides.

use std::collections::{BTreeMap, BTreeSet};

/// The line of addresses.
#[derive(Debug, Default)]
pub struct BestFit {
    /// Free blocks by size and address, and by address.
    by_size: BTreeSet<(u64, u64)>,
    by_address: BTreeMap<u64, u64>,
    end: u64,
    live: u64,
    peak_live: u64,
}

impl BestFit {
    /// Lends `bytes` bytes and answers with their address.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        self.live += bytes;
        self.peak_live = self.peak_live.max(self.live);
        if let Some(&(size, address)) = self.by_size.range((bytes, 0)..).next() {
            self.remove(address, size);
            if size > bytes {
                self.insert(address + bytes, size - bytes);
            }
            return address;
        }
        // What is free at the end is used before the line grows.
        let last = self
            .by_address
            .last_key_value()
            .map(|(&a, &size)| (a, size));
        let start = match last {
            Some((address, size)) if address + size == self.end => {
                self.remove(address, size);
                address
            }
            _ => self.end,
        };
        self.end = start + bytes;
        start
    }

    /// Takes back what [`allocate`](Self::allocate) lent.
    pub fn free(&mut self, mut address: u64, mut bytes: u64) {
        self.live -= bytes;
        let before = self.by_address.range(..address).next_back();
        if let Some((&start, &size)) = before
            && start + size == address
        {
            self.remove(start, size);
            address = start;
            bytes += size;
        }
        if let Some(&size) = self.by_address.get(&(address + bytes)) {
            self.remove(address + bytes, size);
            bytes += size;
        }
        self.insert(address, bytes);
    }

    /// The length that the line has come to: what is held, now and at the peak.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.end
    }

    /// The most bytes that were lent at once: no allocator holds less at its peak.
    #[must_use]
    pub fn peak_live(&self) -> u64 {
        self.peak_live
    }

    fn insert(&mut self, address: u64, bytes: u64) {
        self.by_size.insert((bytes, address));
        self.by_address.insert(address, bytes);
    }

    fn remove(&mut self, address: u64, bytes: u64) {
        self.by_size.remove(&(bytes, address));
        self.by_address.remove(&address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_fits_is_lent_and_neighbours_are_joined() {
        let mut line = BestFit::default();
        let addresses = [100, 30, 50, 30, 10].map(|bytes| line.allocate(bytes));
        assert_eq!((addresses, line.held()), ([0, 100, 130, 180, 210], 220));
        line.free(0, 100);
        line.free(130, 50);
        assert_eq!(line.allocate(40), 130, "the smaller of the two");
        line.free(100, 30);
        assert_eq!(line.allocate(130), 0, "joined");
        line.free(210, 10);
        assert_eq!(
            line.allocate(60),
            210,
            "the line grows from what is free at its end"
        );
        assert_eq!((line.held(), line.peak_live()), (270, 260));
    }
}
