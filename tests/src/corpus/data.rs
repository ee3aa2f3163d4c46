//! Inputs: edge values, and random ones from a fixed seed.

use half::{bf16, f16};

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed`.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Uniform in [`low`, `high`).
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A type with values worth trying.
pub(crate) trait Sample: Copy {
    /// Values at which something changes.
    fn edges() -> Vec<Self>;
    /// A random value: all magnitudes are as likely.
    fn random(random: &mut Random) -> Self;
}

macro_rules! integers {
    ($($name:ident)+) => {
        $(impl Sample for $name {
            fn edges() -> Vec<Self> {
                vec![
                    0, 1, 2, 3, 7, 10, 100, $name::MAX, $name::MAX - 1, $name::MAX / 2, $name::MAX / 2 + 1, $name::MIN,
                    $name::MIN + 1, (0 as $name).wrapping_sub(1), (0 as $name).wrapping_sub(10),
                ]
            }
            fn random(random: &mut Random) -> Self {
                let value = random.bits() as $name;
                let shift = random.below(u64::from($name::BITS)) as u32;
                value.wrapping_shr(shift)
            }
        })+
    };
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);

macro_rules! floats {
    ($($name:ident $bits:ident;)+) => {
        $(impl Sample for $name {
            fn edges() -> Vec<Self> {
                let positive = [
                    0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 1e-3, 1234.5678, $name::MAX, $name::MIN_POSITIVE,
                    $name::from_bits(1), $name::from_bits($name::MIN_POSITIVE.to_bits() - 1), $name::EPSILON,
                    1.0 + $name::EPSILON, 1.0 - $name::EPSILON / 2.0, $name::INFINITY,
                ];
                let mut all: Vec<$name> = positive.iter().flat_map(|&x| [x, -x]).collect();
                all.push($name::NAN);
                all
            }
            fn random(random: &mut Random) -> Self {
                loop {
                    // Half of them of ordinary size.
                    let value = if random.below(2) == 0 {
                        $name::from_bits(random.bits() as $bits)
                    } else {
                        random.between(-100.0, 100.0) as $name
                    };
                    if value.is_finite() {
                        return value;
                    }
                }
            }
        })+
    };
}

floats! {
    f32 u32;
    f64 u64;
}

macro_rules! halves {
    ($($name:ident $largest:literal;)+) => {
        $(impl Sample for $name {
            fn edges() -> Vec<Self> {
                // Zero, the least and largest subnormal and normal ones, around one, infinity, and one NaN.
                let least = $name::MIN_POSITIVE.to_bits();
                let one = $name::ONE.to_bits();
                let mut all: Vec<$name> = [0, 1, least - 1, least, one - 1, one, one + 1, $largest, $largest + 1]
                    .into_iter()
                    .flat_map(|bits: u16| [$name::from_bits(bits), $name::from_bits(bits | 0x8000)])
                    .collect();
                all.extend([0.5, 1.5, 2.5, -3.5, 100.0, 255.0, -129.0].map($name::from_f32));
                all.push($name::NAN);
                all
            }
            fn random(random: &mut Random) -> Self {
                loop {
                    let value = if random.below(2) == 0 {
                        $name::from_bits(random.bits() as u16)
                    } else {
                        $name::from_f64(random.between(-100.0, 100.0))
                    };
                    if value.is_finite() {
                        return value;
                    }
                }
            }
        })+
    };
}

halves! {
    f16 0x7bff;
    bf16 0x7f7f;
}

/// The edges, and `count` random values.
#[must_use]
pub(crate) fn singles<T: Sample>(seed: u64, count: usize) -> Vec<T> {
    let mut random = Random::new(seed);
    let mut values = T::edges();
    values.extend((0..count).map(|_| T::random(&mut random)));
    values
}

/// Every edge with every other, and `count` random pairs.
#[must_use]
pub(crate) fn pairs<T: Sample>(seed: u64, count: usize) -> (Vec<T>, Vec<T>) {
    let mut random = Random::new(seed);
    let edges = T::edges();
    let mut all: Vec<(T, T)> = edges
        .iter()
        .flat_map(|&a| edges.iter().map(move |&b| (a, b)))
        .collect();
    all.extend((0..count).map(|_| (T::random(&mut random), T::random(&mut random))));
    all.into_iter().unzip()
}
