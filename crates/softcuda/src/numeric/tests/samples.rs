//! Operands that reach the corners of floating-point formats, from a seeded generator.

use super::exact::Layout;

/// The generator `SplitMix64`.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Bits of one operand: any pattern, special values, subnormals, few-bit fractions, neighbours of powers of two.
    pub(super) fn float(&mut self, layout: Layout) -> u64 {
        let all = layout.sign() | layout.nan();
        let sign = self.next() & layout.sign();
        let fraction_mask = (1u64 << layout.fraction_bits) - 1;
        let infinity = layout.infinity();
        match self.below(16) {
            0 => {
                let special = [
                    0,
                    infinity,
                    infinity - 1,
                    1,
                    fraction_mask,
                    fraction_mask + 1,
                    layout.nan(),
                    infinity + 1,
                ];
                special[self.below(special.len() as u64) as usize] | sign
            }
            1 => (self.next() & fraction_mask) | sign,
            2 => (self.next() & 3) | sign,
            3 => (infinity - 1 - self.below(4)) | sign,
            4..=6 => {
                // A fraction of a few leading and a few trailing bits.
                let lead = self.next() & fraction_mask & !(fraction_mask >> self.below(6));
                let trail =
                    self.next() & fraction_mask >> self.below(u64::from(layout.fraction_bits));
                sign | self.next() & infinity & !(1 << layout.fraction_bits) | lead | (trail & 7)
            }
            7..=9 => {
                // Exponents near that of one.
                let one = infinity >> 1 & infinity;
                let exponent =
                    one + (self.below(9) << layout.fraction_bits) - (4 << layout.fraction_bits);
                sign | exponent | self.next() & fraction_mask
            }
            _ => self.next() & all,
        }
    }

    /// An operand that shares sign-insensitive structure with another: equal, a neighbour, or of a nearby exponent.
    pub(super) fn related(&mut self, layout: Layout, other: u64) -> u64 {
        let magnitude = other & layout.nan();
        let sign = self.next() & layout.sign();
        match self.below(4) {
            0 => magnitude | sign,
            1 => magnitude.saturating_sub(self.below(3)) | sign,
            2 => {
                let step = self.below(60) << layout.fraction_bits;
                magnitude.saturating_sub(step) & !0xf | sign
            }
            _ => self.float(layout),
        }
    }
}
