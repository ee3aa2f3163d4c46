//! Inputs of cases: the same numbers in every run.

/// A stream of pseudorandom numbers (`SplitMix64`).
#[derive(Debug)]
pub(super) struct Inputs(u64);

impl Inputs {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(super) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 random bits.
    pub(super) fn bits(&mut self) -> u32 {
        (self.word() >> 32) as u32
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        let offset = if span == u64::MAX {
            self.word()
        } else {
            self.word() % (span + 1)
        };
        low.wrapping_add(offset as i64)
    }

    /// A number of `[0, 1)`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * 2f64.powi(-53)
    }

    /// `count` values.
    pub(super) fn many<T>(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| one(self)).collect()
    }

    /// Two lists of `count` values: every pair of `edges`, then random ones.
    pub(super) fn pairs<T: Copy>(
        &mut self,
        edges: &[T],
        count: usize,
        mut one: impl FnMut(&mut Self) -> T,
    ) -> (Vec<T>, Vec<T>) {
        let mut pairs: Vec<(T, T)> = edges
            .iter()
            .flat_map(|&a| edges.iter().map(move |&b| (a, b)))
            .take(count)
            .collect();
        while pairs.len() < count {
            pairs.push((one(self), one(self)));
        }
        pairs.into_iter().unzip()
    }
}
