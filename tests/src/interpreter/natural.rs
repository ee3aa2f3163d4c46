//! Unbounded non-negative integers, just enough for exact arithmetic.

use std::cmp::Ordering;

/// Digits of 32 bits, least significant first, without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Natural(Vec<u32>);

impl Natural {
    pub(super) fn new(mut value: u128) -> Self {
        let mut digits = Vec::new();
        while value != 0 {
            digits.push(value as u32);
            value >>= 32;
        }
        Natural(digits)
    }

    fn trimmed(mut digits: Vec<u32>) -> Self {
        while digits.last() == Some(&0) {
            digits.pop();
        }
        Natural(digits)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of bits without leading zeros.
    pub(super) fn bits(&self) -> i32 {
        self.0.last().map_or(0, |top| {
            32 * self.0.len() as i32 - top.leading_zeros() as i32
        })
    }

    pub(super) fn bit(&self, i: i32) -> bool {
        i >= 0
            && self
                .0
                .get(i as usize / 32)
                .is_some_and(|digit| digit >> (i % 32) & 1 == 1)
    }

    /// Whether a bit below bit `i` is set.
    pub(super) fn any_below(&self, i: i32) -> bool {
        (0..i.min(self.bits())).any(|j| self.bit(j))
    }

    /// The low 128 bits.
    pub(super) fn low(&self) -> u128 {
        self.0
            .iter()
            .take(4)
            .rev()
            .fold(0, |value, &digit| value << 32 | u128::from(digit))
    }

    /// Times 2^count; a negative count divides and drops the remainder.
    pub(super) fn shifted(&self, count: i32) -> Natural {
        if count >= 0 {
            let mut digits = vec![0; count as usize / 32];
            let mut carry = 0u64;
            for &digit in &self.0 {
                carry |= u64::from(digit) << (count % 32);
                digits.push(carry as u32);
                carry >>= 32;
            }
            digits.push(carry as u32);
            Natural::trimmed(digits)
        } else {
            let bits = self.bits() + count;
            let digits = (0..(bits.max(0) + 31) / 32).map(|d| {
                (0..32).fold(0, |digit, i| {
                    digit | u32::from(self.bit(32 * d + i - count)) << i
                })
            });
            Natural::trimmed(digits.collect())
        }
    }

    pub(super) fn plus(&self, other: &Natural) -> Natural {
        let mut carry = 0u64;
        let length = self.0.len().max(other.0.len()) + 1;
        let digit = |x: &Natural, i: usize| u64::from(x.0.get(i).copied().unwrap_or(0));
        Natural::trimmed(
            (0..length)
                .map(|i| {
                    let sum = digit(self, i) + digit(other, i) + carry;
                    carry = sum >> 32;
                    sum as u32
                })
                .collect(),
        )
    }

    /// `self - other`, which must not be negative.
    pub(super) fn minus(&self, other: &Natural) -> Natural {
        let mut borrow = 0i64;
        let difference = Natural::trimmed(
            (0..self.0.len())
                .map(|i| {
                    let d = i64::from(self.0[i]) - i64::from(other.0.get(i).copied().unwrap_or(0))
                        + borrow;
                    borrow = d >> 32;
                    d as u32
                })
                .collect(),
        );
        assert!(borrow == 0, "a difference of naturals is negative");
        difference
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
        Natural::trimmed(digits)
    }

    /// Quotient and whether there is a remainder, bit by bit.
    pub(super) fn divided(&self, divisor: &Natural) -> (Natural, bool) {
        let mut remainder = Natural(Vec::new());
        let mut quotient = vec![0u32; self.0.len()];
        for i in (0..self.bits()).rev() {
            remainder = remainder.shifted(1);
            if self.bit(i) {
                remainder = remainder.plus(&Natural::new(1));
            }
            if remainder >= *divisor {
                remainder = remainder.minus(divisor);
                quotient[i as usize / 32] |= 1 << (i % 32);
            }
        }
        (Natural::trimmed(quotient), !remainder.is_zero())
    }

    /// Integer square root and whether there is a remainder, bit by bit.
    pub(super) fn root(&self) -> (Natural, bool) {
        let mut root = Natural(Vec::new());
        for i in (0..=self.bits() / 2).rev() {
            let candidate = root.plus(&Natural::new(1).shifted(i));
            if candidate.times(&candidate) <= *self {
                root = candidate;
            }
        }
        let inexact = root.times(&root) != *self;
        (root, inexact)
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0
            .len()
            .cmp(&other.0.len())
            .then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}
