//! A slow reference for correctly rounded arithmetic that shares nothing with the code under test.
//!
//! It never rounds. The result is found by bisection over the bit patterns of the format, which are ordered as their values: the
//! greatest one not above the exact magnitude, with exact comparisons in big integers, and then the rounding mode's definition.

use std::cmp::Ordering;

use crate::numeric::soft::Rounding;

/// A non-negative integer; 32-bit digits, least significant first.
#[derive(Clone, Debug)]
pub(super) struct Natural(Vec<u32>);

impl Natural {
    pub(super) fn new(value: u128) -> Self {
        Natural((0..4).map(|i| (value >> (32 * i)) as u32).collect())
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|&digit| digit == 0)
    }

    pub(super) fn times(&self, other: &Natural) -> Natural {
        let mut digits = vec![0u32; self.0.len() + other.0.len()];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (j, &b) in other.0.iter().enumerate() {
                let sum = u64::from(a) * u64::from(b) + u64::from(digits[i + j]) + carry;
                digits[i + j] = sum as u32;
                carry = sum >> 32;
            }
            digits[i + other.0.len()] = carry as u32;
        }
        Natural(digits)
    }

    pub(super) fn shifted(&self, count: u32) -> Natural {
        let mut digits = vec![0u32; (count / 32) as usize];
        let mut carry = 0u64;
        for &digit in &self.0 {
            let wide = u64::from(digit) << (count % 32) | carry;
            digits.push(wide as u32);
            carry = wide >> 32;
        }
        digits.push(carry as u32);
        Natural(digits)
    }

    pub(super) fn compare(&self, other: &Natural) -> Ordering {
        let length = self.0.len().max(other.0.len());
        let digit = |x: &Natural, i: usize| x.0.get(i).copied().unwrap_or(0);
        (0..length)
            .rev()
            .map(|i| digit(self, i).cmp(&digit(other, i)))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn plus(&self, other: &Natural) -> Natural {
        let length = self.0.len().max(other.0.len()) + 1;
        let mut carry = 0u64;
        let digit = |x: &Natural, i: usize| u64::from(x.0.get(i).copied().unwrap_or(0));
        Natural(
            (0..length)
                .map(|i| {
                    carry += digit(self, i) + digit(other, i);
                    let low = carry as u32;
                    carry >>= 32;
                    low
                })
                .collect(),
        )
    }

    /// `self - other`, which must not be negative.
    fn minus(&self, other: &Natural) -> Natural {
        let mut borrow = 0i64;
        Natural(
            (0..self.0.len())
                .map(|i| {
                    let d = i64::from(self.0[i]) - i64::from(other.0.get(i).copied().unwrap_or(0))
                        + borrow;
                    borrow = d >> 32;
                    d as u32
                })
                .collect(),
        )
    }
}

/// `±magnitude * 2^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) magnitude: Natural,
    pub(super) exponent: i32,
}

impl Exact {
    pub(super) fn from_integer(value: i128) -> Exact {
        Exact {
            negative: value < 0,
            magnitude: Natural::new(value.unsigned_abs()),
            exponent: 0,
        }
    }

    pub(super) fn times(&self, other: &Exact) -> Exact {
        Exact {
            negative: self.negative != other.negative,
            magnitude: self.magnitude.times(&other.magnitude),
            exponent: self.exponent + other.exponent,
        }
    }

    pub(super) fn plus(&self, other: &Exact) -> Exact {
        let exponent = self.exponent.min(other.exponent);
        let a = self.magnitude.shifted((self.exponent - exponent) as u32);
        let b = other.magnitude.shifted((other.exponent - exponent) as u32);
        let (negative, magnitude) = if self.negative == other.negative {
            (self.negative, a.plus(&b))
        } else if a.compare(&b).is_lt() {
            (other.negative, b.plus(&Natural::new(0)).minus(&a))
        } else {
            (self.negative, a.minus(&b))
        };
        Exact {
            negative,
            magnitude,
            exponent,
        }
    }

    /// Compares magnitudes.
    pub(super) fn compare(&self, other: &Exact) -> Ordering {
        let exponent = self.exponent.min(other.exponent);
        let a = self.magnitude.shifted((self.exponent - exponent) as u32);
        a.compare(&other.magnitude.shifted((other.exponent - exponent) as u32))
    }
}

/// A format by its field widths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) exponent_bits: u32,
    pub(super) fraction_bits: u32,
}

pub(super) const HALF: Layout = Layout {
    exponent_bits: 5,
    fraction_bits: 10,
};
pub(super) const BRAIN: Layout = Layout {
    exponent_bits: 8,
    fraction_bits: 7,
};
pub(super) const SINGLE: Layout = Layout {
    exponent_bits: 8,
    fraction_bits: 23,
};
pub(super) const DOUBLE: Layout = Layout {
    exponent_bits: 11,
    fraction_bits: 52,
};

/// An operand taken apart.
pub(super) enum Operand {
    Nan,
    Infinite(bool),
    Finite(Exact),
}

impl Layout {
    pub(super) fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    pub(super) fn nan(self) -> u64 {
        self.sign() - 1
    }

    /// The value of a finite magnitude, or of the midpoint between it and the next one. Infinity counts as the power of two that it
    /// would be with a wider exponent.
    fn value(self, magnitude: u64, midpoint: bool) -> Exact {
        let field = (magnitude >> self.fraction_bits) as i32;
        let fraction = u128::from(magnitude) & ((1 << self.fraction_bits) - 1);
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        let significand = if field == 0 {
            fraction
        } else {
            fraction + (1 << self.fraction_bits)
        };
        Exact {
            negative: false,
            magnitude: Natural::new(2 * significand + u128::from(midpoint)),
            exponent: field.max(1) - bias - self.fraction_bits as i32 - 1,
        }
    }

    pub(super) fn operand(self, bits: u64) -> Operand {
        let (negative, magnitude) = (bits & self.sign() != 0, bits & (self.sign() - 1));
        match magnitude.cmp(&self.infinity()) {
            Ordering::Greater => Operand::Nan,
            Ordering::Equal => Operand::Infinite(negative),
            Ordering::Less => Operand::Finite(Exact {
                negative,
                ..self.value(magnitude, false)
            }),
        }
    }

    /// Rounds the magnitude that `compare` compares candidates with (candidate on the left).
    pub(super) fn round(
        self,
        negative: bool,
        mode: Rounding,
        compare: impl Fn(&Exact) -> Ordering,
    ) -> u64 {
        // Invariant: value(low) <= exact < value(high), where high may be past infinity.
        let (mut low, mut high) = (0, self.infinity() + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if compare(&self.value(middle, false)).is_le() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let infinity = self.infinity();
        let outwards = match mode {
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            Rounding::Nearest => {
                low < infinity && {
                    match compare(&self.value(low, true)) {
                        Ordering::Less => true,
                        Ordering::Equal => low & 1 == 1,
                        Ordering::Greater => false,
                    }
                }
            }
        };
        let exact = low < infinity && compare(&self.value(low, false)).is_eq();
        let magnitude = if low >= infinity {
            if outwards || mode == Rounding::Nearest {
                infinity
            } else {
                infinity - 1
            }
        } else if outwards && !exact {
            low + 1
        } else {
            low
        };
        magnitude | if negative { self.sign() } else { 0 }
    }

    pub(super) fn round_exact(self, value: &Exact, mode: Rounding) -> u64 {
        self.round(value.negative, mode, |candidate| candidate.compare(value))
    }

    pub(super) fn fma(self, a: u64, b: u64, c: u64, mode: Rounding) -> u64 {
        let product_negative = (a ^ b) & self.sign() != 0;
        match (self.operand(a), self.operand(b), self.operand(c)) {
            (Operand::Nan, ..) | (_, Operand::Nan, _) | (_, _, Operand::Nan) => self.nan(),
            (Operand::Finite(x), Operand::Finite(y), Operand::Finite(z)) => {
                let product = x.times(&y);
                let sum = product.plus(&z);
                if sum.magnitude.is_zero() {
                    let minus = if product_negative == z.negative {
                        z.negative
                    } else {
                        mode == Rounding::Down
                    };
                    return if minus { self.sign() } else { 0 };
                }
                self.round_exact(&sum, mode)
            }
            (Operand::Finite(_), Operand::Finite(_), Operand::Infinite(_)) => c,
            (Operand::Finite(x), Operand::Infinite(_), _) if x.magnitude.is_zero() => self.nan(),
            (Operand::Infinite(_), Operand::Finite(y), _) if y.magnitude.is_zero() => self.nan(),
            (_, _, Operand::Infinite(z)) if z != product_negative => self.nan(),
            _ => self.infinity() | if product_negative { self.sign() } else { 0 },
        }
    }

    pub(super) fn add(self, a: u64, b: u64, mode: Rounding) -> u64 {
        let one = self.infinity() >> 1 & self.infinity();
        self.fma(a, one, b, mode)
    }

    pub(super) fn sub(self, a: u64, b: u64, mode: Rounding) -> u64 {
        self.add(a, b ^ self.sign(), mode)
    }

    pub(super) fn mul(self, a: u64, b: u64, mode: Rounding) -> u64 {
        // Adding a zero of the product's sign changes nothing.
        self.fma(a, b, (a ^ b) & self.sign(), mode)
    }

    pub(super) fn div(self, a: u64, b: u64, mode: Rounding) -> u64 {
        let negative = (a ^ b) & self.sign() != 0;
        let sign = if negative { self.sign() } else { 0 };
        match (self.operand(a), self.operand(b)) {
            (Operand::Nan, _)
            | (_, Operand::Nan)
            | (Operand::Infinite(_), Operand::Infinite(_)) => self.nan(),
            (Operand::Infinite(_), _) => self.infinity() | sign,
            (_, Operand::Infinite(_)) => sign,
            (Operand::Finite(x), Operand::Finite(y)) => {
                match (x.magnitude.is_zero(), y.magnitude.is_zero()) {
                    (true, true) => self.nan(),
                    (true, false) => sign,
                    (false, true) => self.infinity() | sign,
                    (false, false) => {
                        self.round(negative, mode, |candidate| candidate.times(&y).compare(&x))
                    }
                }
            }
        }
    }

    pub(super) fn sqrt(self, a: u64, mode: Rounding) -> u64 {
        match self.operand(a) {
            Operand::Nan | Operand::Infinite(true) => self.nan(),
            Operand::Infinite(false) => a,
            Operand::Finite(x) if x.magnitude.is_zero() => a,
            Operand::Finite(x) if x.negative => self.nan(),
            Operand::Finite(x) => self.round(false, mode, |candidate| {
                candidate.times(candidate).compare(&x)
            }),
        }
    }
}
