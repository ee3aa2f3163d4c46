//! Classes of registers: what a register holds decides which instructions may use it.
//!
//! Floating-point registers are apart from integer registers of the same width: the bits of a NaN are not defined, so they must not reach
//! integer instructions. Forms that move between the classes make NaN canonical on the way.

/// Registers of each class.
pub(super) const REGISTERS: usize = 6;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Pred,
    B16,
    B32,
    B64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    F32,
    F64,
}

impl Class {
    pub(super) const ALL: [Class; 10] = [
        Class::Pred,
        Class::B16,
        Class::B32,
        Class::B64,
        Class::F16,
        Class::Bf16,
        Class::F16x2,
        Class::Bf16x2,
        Class::F32,
        Class::F64,
    ];

    /// The name in forms.
    pub(super) fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Class::Pred => "pred",
            Class::B16 => "b16",
            Class::B32 => "b32",
            Class::B64 => "b64",
            Class::F16 => "f16",
            Class::Bf16 => "bf16",
            Class::F16x2 => "f16x2",
            Class::Bf16x2 => "bf16x2",
            Class::F32 => "f32",
            Class::F64 => "f64",
        }
    }

    /// What its registers are called, before the number.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Class::Pred => "%p",
            Class::B16 => "%h",
            Class::B32 => "%r",
            Class::B64 => "%rd",
            Class::F16 => "%x",
            Class::Bf16 => "%y",
            Class::F16x2 => "%xx",
            Class::Bf16x2 => "%yy",
            Class::F32 => "%f",
            Class::F64 => "%fd",
        }
    }

    /// The type that declares it.
    pub(super) fn declaration(self) -> &'static str {
        match self {
            Class::Pred => ".pred",
            Class::B16 | Class::F16 | Class::Bf16 => ".b16",
            Class::B32 | Class::F16x2 | Class::Bf16x2 => ".b32",
            Class::B64 => ".b64",
            Class::F32 => ".f32",
            Class::F64 => ".f64",
        }
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Class::Pred => 1,
            Class::B16 | Class::F16 | Class::Bf16 => 16,
            Class::B32 | Class::F16x2 | Class::Bf16x2 | Class::F32 => 32,
            Class::B64 | Class::F64 => 64,
        }
    }

    /// Position of a register in the records of inputs and results.
    pub(super) fn slot(self, register: usize) -> usize {
        self as usize * REGISTERS + register
    }

    /// Whether two values are the same: any NaN equals any NaN.
    pub(super) fn same(self, a: u64, b: u64) -> bool {
        let lanes: &[(u32, u32, u32)] = match self {
            Class::F16 => &[(0, 5, 10)],
            Class::Bf16 => &[(0, 8, 7)],
            Class::F16x2 => &[(0, 5, 10), (16, 5, 10)],
            Class::Bf16x2 => &[(0, 8, 7), (16, 8, 7)],
            Class::F32 => &[(0, 8, 23)],
            Class::F64 => &[(0, 11, 52)],
            _ => return a == b,
        };
        lanes.iter().all(|&(at, exponent, fraction)| {
            let magnitude = (1u64 << (exponent + fraction)) - 1;
            let infinity = magnitude >> fraction << fraction;
            let nan = |x: u64| x >> at & magnitude > infinity;
            let whole = magnitude << 1 | 1;
            a >> at & whole == b >> at & whole || (nan(a) && nan(b))
        })
    }

    /// A value of this class from random bits: edges more often than not.
    pub(super) fn value(self, random: u64) -> u64 {
        let pick = random >> 8;
        let lanes = |class: Class| class.value(random) | class.value(random.rotate_right(29)) << 16;
        match self {
            Class::Pred => pick & 1,
            Class::F16x2 => lanes(Class::F16),
            Class::Bf16x2 => lanes(Class::Bf16),
            Class::F16 => float(random, 5, 10),
            Class::Bf16 => float(random, 8, 7),
            Class::F32 => float(random, 8, 23),
            Class::F64 => float(random, 11, 52),
            Class::B16 | Class::B32 | Class::B64 => integer(random, self.bits()),
        }
    }
}

fn integer(random: u64, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let pick = random >> 8;
    let top = 1u64 << (bits - 1);
    let edges = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        255,
        256,
        0x7fff,
        0x8000,
        0xffff,
        0x10000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x0102_0304_0506_0708,
        0x8080_8080_8080_8080,
        0x00ff_00ff_00ff_00ff,
        0xaaaa_aaaa_aaaa_aaaa,
        top,
        top - 1,
        top + 1,
        mask,
        mask - 1,
    ];
    let value = match random & 7 {
        0..=3 => edges[pick as usize % edges.len()],
        4 => edges[pick as usize % edges.len()].wrapping_neg(),
        // Small numbers, then any.
        5 => pick & 0xff,
        6 => pick >> (pick & 63),
        _ => pick.wrapping_mul(0x9e37_79b9_7f4a_7c15),
    };
    value & mask
}

fn float(random: u64, exponent: u32, fraction: u32) -> u64 {
    let pick = random >> 8;
    let one = ((1u64 << (exponent - 1)) - 1) << fraction;
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let ulp = 1u64 << fraction;
    let edges = [
        0,
        1,
        2,
        ulp - 1,
        ulp,
        ulp + 1,
        2 * ulp,
        one,
        one + 1,
        one - 1,
        one - ulp,
        one + ulp,
        one + ulp / 2,
        one + ulp + ulp / 4,
        // The sizes of integers: near 2^7, 2^8, 2^15, 2^16, 2^31, 2^32, 2^63, 2^64.
        near(one, ulp, 7, infinity),
        near(one, ulp, 8, infinity),
        near(one, ulp, 15, infinity) - 1,
        near(one, ulp, 16, infinity),
        near(one, ulp, 31, infinity),
        near(one, ulp, 32, infinity) - 1,
        near(one, ulp, 63, infinity),
        near(one, ulp, 64, infinity) - 1,
        infinity - 1,
        infinity - ulp,
        infinity,
        infinity + ulp / 2,
        infinity + 1,
        infinity | (ulp - 1),
    ];
    let magnitude = match random & 7 {
        0..=2 => edges[pick as usize % edges.len()],
        // Exponents near that of one, where sums and products interact.
        3..=5 => {
            let shifted = ((one >> fraction) + (pick >> 51 & 31)).saturating_sub(16);
            (shifted << fraction) | pick & (ulp - 1)
        }
        6 => pick & (ulp - 1),
        _ => pick.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (63 - exponent - fraction),
    };
    let sign = (random >> 7 & 1) << (exponent + fraction);
    magnitude & ((1 << (exponent + fraction)) - 1) | sign
}

/// 2 to that power, or infinity.
fn near(one: u64, ulp: u64, power: u64, infinity: u64) -> u64 {
    (one + power * ulp).min(infinity)
}
