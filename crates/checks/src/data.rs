//! Inputs: random numbers that repeat, and the values at the edges of each type.

/// A splitmix64 generator: the same numbers on every run and machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.u64() % end
    }

    /// A number in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `[low, high)`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number of magnitude between `2^low` and `2^high`, of either sign: exponents are as likely as each other.
    pub(crate) fn scaled(&mut self, low: f64, high: f64) -> f64 {
        let magnitude = self.between(low, high).exp2();
        if self.u64() & 1 == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    /// `count` values of a function of this generator.
    pub(crate) fn vec<T>(&mut self, count: usize, mut f: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| f(self)).collect()
    }

    /// Puts `items` in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Bit patterns of 64-bit integers where carries, signs and widths change; truncate them for narrower types.
pub(crate) const EDGES: [u64; 18] = [
    0,
    1,
    2,
    3,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// All pairs of [`EDGES`], then `random` random pairs whose magnitudes vary.
pub(crate) fn integer_pairs(seed: u64, random: usize) -> Vec<[u64; 2]> {
    let mut random_numbers = Random::new(seed);
    let edges = EDGES
        .into_iter()
        .flat_map(|a| EDGES.into_iter().map(move |b| [a, b]));
    let mut value = move || {
        let bits = random_numbers.u64();
        bits >> random_numbers.below(64)
    };
    edges
        .chain((0..random).map(|_| [value(), value()]))
        .collect()
}

/// Bit patterns of `f32` at the edges: zeros, subnormals, the normal range's ends, halves, integers, infinities, NaN.
pub(crate) fn f32_edges() -> Vec<f32> {
    let positive = [
        0x0000_0000, // 0
        0x0000_0001, // least subnormal
        0x0000_0003,
        0x0040_0000,
        0x007f_ffff, // greatest subnormal
        0x0080_0000, // least normal
        0x0080_0001,
        0x3300_0000, // 2^-25
        0x3380_0000, // 2^-24
        0x3f00_0000, // 0.5
        0x3f7f_ffff, // just below 1
        0x3f80_0000, // 1
        0x3f80_0001, // just above 1
        0x3fc0_0000, // 1.5
        0x4020_0000, // 2.5
        0x4049_0fdb, // pi
        0x4b00_0000, // 2^23
        0x4b80_0001, // above 2^24
        0x7e80_0000, // 2^126
        0x7f7f_ffff, // greatest
        0x7f80_0000, // infinity
        0x7fc0_0000, // NaN
    ];
    positive
        .into_iter()
        .flat_map(|bits: u32| [f32::from_bits(bits), f32::from_bits(bits | 1 << 31)])
        .collect()
}

/// As [`f32_edges`] for `f64`.
pub(crate) fn f64_edges() -> Vec<f64> {
    let positive = [
        0,
        1,
        0x0008_0000_0000_0000,
        0x000f_ffff_ffff_ffff,
        0x0010_0000_0000_0000,
        0x3ca0_0000_0000_0000, // 2^-53
        0x3fe0_0000_0000_0000, // 0.5
        0x3fef_ffff_ffff_ffff,
        0x3ff0_0000_0000_0000, // 1
        0x3ff0_0000_0000_0001,
        0x3ff8_0000_0000_0000, // 1.5
        0x4004_0000_0000_0000, // 2.5
        0x4009_21fb_5444_2d18, // pi
        0x4330_0000_0000_0000, // 2^52
        0x4340_0000_0000_0001, // above 2^53
        0x7fef_ffff_ffff_ffff, // greatest
        0x7ff0_0000_0000_0000, // infinity
        0x7ff8_0000_0000_0000, // NaN
    ];
    positive
        .into_iter()
        .flat_map(|bits: u64| [f64::from_bits(bits), f64::from_bits(bits | 1 << 63)])
        .collect()
}

/// All pairs of the values given, then `random` pairs of random bits and as many of nearby magnitudes.
pub(crate) fn f32_pairs(seed: u64, random: usize) -> Vec<[f32; 2]> {
    let edges = f32_edges();
    let mut pairs: Vec<[f32; 2]> = edges
        .iter()
        .flat_map(|&a| edges.iter().map(move |&b| [a, b]))
        .collect();
    let mut numbers = Random::new(seed);
    pairs.extend(
        (0..random).map(|_| [f32::from_bits(numbers.u32()), f32::from_bits(numbers.u32())]),
    );
    pairs.extend((0..random).map(|_| {
        [
            numbers.scaled(-20.0, 20.0) as f32,
            numbers.scaled(-20.0, 20.0) as f32,
        ]
    }));
    pairs
}

/// As [`f32_pairs`] for `f64`.
pub(crate) fn f64_pairs(seed: u64, random: usize) -> Vec<[f64; 2]> {
    let edges = f64_edges();
    let mut pairs: Vec<[f64; 2]> = edges
        .iter()
        .flat_map(|&a| edges.iter().map(move |&b| [a, b]))
        .collect();
    let mut numbers = Random::new(seed);
    pairs.extend(
        (0..random).map(|_| [f64::from_bits(numbers.u64()), f64::from_bits(numbers.u64())]),
    );
    pairs.extend((0..random).map(|_| [numbers.scaled(-40.0, 40.0), numbers.scaled(-40.0, 40.0)]));
    pairs
}
