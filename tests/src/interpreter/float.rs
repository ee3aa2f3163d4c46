//! Floating point by the definitions of IEEE 754, in unbounded integers. Slow and plain on purpose: it judges fast code.

use super::natural::Natural;

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Widths of the fields of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    exponent: u32,
    fraction: u32,
}

pub(super) const F16: Format = Format {
    exponent: 5,
    fraction: 10,
};
pub(super) const BF16: Format = Format {
    exponent: 8,
    fraction: 7,
};
pub(super) const F32: Format = Format {
    exponent: 8,
    fraction: 23,
};
pub(super) const F64: Format = Format {
    exponent: 11,
    fraction: 52,
};

/// `±magnitude * 2^exponent`, plus less than one unit of the magnitude if `inexact`.
#[derive(Clone, Debug)]
struct Exact {
    negative: bool,
    magnitude: Natural,
    exponent: i32,
    inexact: bool,
}

enum Number {
    Nan,
    Infinite(bool),
    Finite(Exact),
}

impl Format {
    pub(super) fn bits(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// The NaN of PTX instructions.
    pub(super) fn nan(self) -> u64 {
        self.sign() - 1
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// 1.0.
    pub(super) fn one(self) -> u64 {
        ((1 << (self.exponent - 1)) - 1) << self.fraction
    }

    /// Exponent of the last place of subnormals.
    fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1)) - self.fraction as i32
    }

    pub(super) fn is_nan(self, a: u64) -> bool {
        a & self.nan() > self.infinity()
    }

    pub(super) fn is_infinite(self, a: u64) -> bool {
        a & self.nan() == self.infinity()
    }

    pub(super) fn is_subnormal(self, a: u64) -> bool {
        (1..1 << self.fraction).contains(&(a & self.nan()))
    }

    pub(super) fn negate(self, a: u64) -> u64 {
        a ^ self.sign()
    }

    pub(super) fn magnitude(self, a: u64) -> u64 {
        a & self.nan()
    }

    pub(super) fn sign_of(self, a: u64) -> u64 {
        a & self.sign()
    }

    /// `.ftz`
    pub(super) fn flush(self, a: u64) -> u64 {
        if self.is_subnormal(a) {
            self.sign_of(a)
        } else {
            a
        }
    }

    /// `.sat`
    pub(super) fn saturate(self, a: u64) -> u64 {
        if self.is_nan(a) || self.sign_of(a) != 0 {
            0
        } else {
            a.min(self.one())
        }
    }

    fn number(self, a: u64) -> Number {
        let negative = self.sign_of(a) != 0;
        if self.is_nan(a) {
            return Number::Nan;
        }
        if self.is_infinite(a) {
            return Number::Infinite(negative);
        }
        let field = (self.magnitude(a) >> self.fraction) as i32;
        let fraction = u128::from(a) & ((1 << self.fraction) - 1);
        let hidden = if field > 0 { 1 << self.fraction } else { 0 };
        Number::Finite(Exact {
            negative,
            magnitude: Natural::new(fraction + hidden),
            exponent: self.least() + (field - 1).max(0),
            inexact: false,
        })
    }

    fn signed(self, negative: bool, magnitude: u64) -> u64 {
        magnitude | if negative { self.sign() } else { 0 }
    }

    /// Rounds, once. An inexact value must have more bits than the format.
    fn round(self, value: &Exact, direction: Direction) -> u64 {
        let magnitude = &value.magnitude;
        if magnitude.is_zero() {
            assert!(!value.inexact, "an inexact zero");
            return self.signed(value.negative, 0);
        }
        let natural = value.exponent + magnitude.bits() - 1 - self.fraction as i32;
        let unit = natural.max(self.least());
        let dropped = unit - value.exponent;
        assert!(
            dropped > 1 || !value.inexact,
            "too few bits of an inexact value"
        );
        let kept = magnitude.shifted(-dropped);
        let half = magnitude.bit(dropped - 1);
        let below = value.inexact || magnitude.any_below(dropped - 1);
        let up = match direction {
            Direction::Nearest => half && (below || kept.bit(0)),
            Direction::Zero => false,
            Direction::Down => value.negative && (half || below),
            Direction::Up => !value.negative && (half || below),
        };
        let kept = kept.plus(&Natural::new(u128::from(up)));
        // A carry into a new bit moves the unit.
        let (kept, unit) = if kept.bits() > self.fraction as i32 + 1 {
            (kept.shifted(-1), unit + 1)
        } else {
            (kept, unit)
        };
        let normal = kept.bit(self.fraction as i32);
        let field = if normal { unit - self.least() + 1 } else { 0 };
        if field >= (1 << self.exponent) - 1 {
            let infinite = match direction {
                Direction::Nearest => true,
                Direction::Zero => false,
                Direction::Down => value.negative,
                Direction::Up => !value.negative,
            };
            return self.signed(value.negative, self.infinity() - u64::from(!infinite));
        }
        let fraction = kept.low() as u64 & ((1 << self.fraction) - 1);
        self.signed(value.negative, (field as u64) << self.fraction | fraction)
    }

    pub(super) fn fma(self, a: u64, b: u64, c: u64, direction: Direction) -> u64 {
        let product = self.product(a, b);
        self.round_sum(product, self.number(c), direction)
    }

    fn product(self, a: u64, b: u64) -> Number {
        match (self.number(a), self.number(b)) {
            (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
            (Number::Finite(a), Number::Finite(b)) => Number::Finite(Exact {
                negative: a.negative != b.negative,
                magnitude: a.magnitude.times(&b.magnitude),
                exponent: a.exponent + b.exponent,
                inexact: false,
            }),
            (Number::Infinite(n), Number::Infinite(m)) => Number::Infinite(n != m),
            (Number::Infinite(n), Number::Finite(x)) | (Number::Finite(x), Number::Infinite(n)) => {
                if x.magnitude.is_zero() {
                    Number::Nan
                } else {
                    Number::Infinite(n != x.negative)
                }
            }
        }
    }

    fn round_sum(self, x: Number, y: Number, direction: Direction) -> u64 {
        match (x, y) {
            (Number::Nan, _) | (_, Number::Nan) => self.nan(),
            (Number::Infinite(a), Number::Infinite(b)) if a != b => self.nan(),
            (Number::Infinite(n), _) | (_, Number::Infinite(n)) => self.signed(n, self.infinity()),
            (Number::Finite(x), Number::Finite(y)) => {
                let exponent = x.exponent.min(y.exponent);
                let (a, b) = (
                    x.magnitude.shifted(x.exponent - exponent),
                    y.magnitude.shifted(y.exponent - exponent),
                );
                let (negative, magnitude) = if x.negative == y.negative {
                    (x.negative, a.plus(&b))
                } else {
                    match a.cmp(&b) {
                        std::cmp::Ordering::Greater => (x.negative, a.minus(&b)),
                        std::cmp::Ordering::Less => (y.negative, b.minus(&a)),
                        std::cmp::Ordering::Equal => {
                            (direction == Direction::Down, Natural::new(0))
                        }
                    }
                };
                self.round(
                    &Exact {
                        negative,
                        magnitude,
                        exponent,
                        inexact: false,
                    },
                    direction,
                )
            }
        }
    }

    pub(super) fn add(self, a: u64, b: u64, direction: Direction) -> u64 {
        self.round_sum(self.number(a), self.number(b), direction)
    }

    pub(super) fn mul(self, a: u64, b: u64, direction: Direction) -> u64 {
        match self.product(a, b) {
            Number::Nan => self.nan(),
            Number::Infinite(n) => self.signed(n, self.infinity()),
            Number::Finite(x) => self.round(&x, direction),
        }
    }

    pub(super) fn div(self, a: u64, b: u64, direction: Direction) -> u64 {
        let negative = self.sign_of(a) != self.sign_of(b);
        match (self.number(a), self.number(b)) {
            (Number::Nan, _) | (_, Number::Nan) | (Number::Infinite(_), Number::Infinite(_)) => {
                self.nan()
            }
            (Number::Infinite(_), Number::Finite(_)) => self.signed(negative, self.infinity()),
            (Number::Finite(_), Number::Infinite(_)) => self.signed(negative, 0),
            (Number::Finite(x), Number::Finite(y)) => {
                match (x.magnitude.is_zero(), y.magnitude.is_zero()) {
                    (true, true) => self.nan(),
                    (true, false) => self.signed(negative, 0),
                    (false, true) => self.signed(negative, self.infinity()),
                    (false, false) => {
                        let extra = 130;
                        let (magnitude, inexact) = x.magnitude.shifted(extra).divided(&y.magnitude);
                        self.round(
                            &Exact {
                                negative,
                                magnitude,
                                exponent: x.exponent - extra - y.exponent,
                                inexact,
                            },
                            direction,
                        )
                    }
                }
            }
        }
    }

    pub(super) fn sqrt(self, a: u64, direction: Direction) -> u64 {
        match self.number(a) {
            Number::Finite(x) if x.magnitude.is_zero() => a,
            Number::Infinite(false) => a,
            Number::Finite(x) if !x.negative => {
                let extra = 140 + (x.exponent & 1);
                let (magnitude, inexact) = x.magnitude.shifted(extra).root();
                self.round(
                    &Exact {
                        negative: false,
                        magnitude,
                        exponent: (x.exponent - extra) / 2,
                        inexact,
                    },
                    direction,
                )
            }
            _ => self.nan(),
        }
    }

    /// Order of two numbers, `None` if one is NaN. Zeros are equal.
    pub(super) fn compare(self, a: u64, b: u64) -> Option<std::cmp::Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        let key = |x: u64| {
            let magnitude = self.magnitude(x).cast_signed();
            if self.sign_of(x) != 0 {
                -magnitude
            } else {
                magnitude
            }
        };
        Some(key(a).cmp(&key(b)))
    }

    /// The lesser (or greater) of two numbers, -0 below +0; of a number and a NaN the number, or NaN if it `propagates`.
    pub(super) fn extreme(self, a: u64, b: u64, greater: bool, propagates: bool) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => self.nan(),
            (true, false) | (false, true) if propagates => self.nan(),
            (true, false) => b,
            (false, true) => a,
            (false, false) => {
                let key = |x: u64| {
                    if self.sign_of(x) != 0 {
                        -1 - self.magnitude(x).cast_signed()
                    } else {
                        x.cast_signed()
                    }
                };
                if (key(a) < key(b)) == greater { b } else { a }
            }
        }
    }

    pub(super) fn convert(self, to: Format, a: u64, direction: Direction) -> u64 {
        match self.number(a) {
            Number::Nan => to.nan(),
            Number::Infinite(n) => to.signed(n, to.infinity()),
            Number::Finite(x) => to.round(&x, direction),
        }
    }

    pub(super) fn of_integer(self, value: i128, direction: Direction) -> u64 {
        self.round(
            &Exact {
                negative: value < 0,
                magnitude: Natural::new(value.unsigned_abs()),
                exponent: 0,
                inexact: false,
            },
            direction,
        )
    }

    /// Rounds to an integer and clamps it; `None` for NaN.
    pub(super) fn to_integer(
        self,
        a: u64,
        direction: Direction,
        least: i128,
        greatest: i128,
    ) -> Option<i128> {
        match self.number(a) {
            Number::Nan => None,
            Number::Infinite(negative) => Some(if negative { least } else { greatest }),
            Number::Finite(x) => {
                if x.magnitude.bits() + x.exponent > 100 {
                    return Some(if x.negative { least } else { greatest });
                }
                let whole = x.magnitude.shifted(x.exponent);
                let half = x.magnitude.bit(-x.exponent - 1);
                let below = x.magnitude.any_below(-x.exponent - 1);
                let outwards = match direction {
                    Direction::Nearest => half && (below || whole.bit(0)),
                    Direction::Zero => false,
                    Direction::Down => x.negative && (half || below),
                    Direction::Up => !x.negative && (half || below),
                };
                let magnitude = (whole.low() + u128::from(outwards)).cast_signed();
                Some((if x.negative { -magnitude } else { magnitude }).clamp(least, greatest))
            }
        }
    }

    /// Rounds to an integral value of the same format.
    pub(super) fn integral(self, a: u64, direction: Direction) -> u64 {
        if self.is_nan(a) {
            return self.nan();
        }
        let Number::Finite(x) = self.number(a) else {
            return a;
        };
        if x.exponent >= 0 {
            return a;
        }
        let whole = self
            .to_integer(a, direction, i128::MIN, i128::MAX)
            .expect("a finite number is no NaN");
        self.magnitude(self.of_integer(whole, Direction::Nearest)) | self.sign_of(a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_host_to_nearest() {
        let samples: Vec<f64> = [
            0.0,
            1.0,
            1.5,
            3.0,
            1e308,
            5e-324,
            2.3e-308,
            1e-200,
            0.1,
            f64::MAX,
            f64::INFINITY,
            7.0 / 3.0,
        ]
        .into_iter()
        .flat_map(|x| [x, -x, x.next_up()])
        .collect();
        let n = Direction::Nearest;
        let same = |host: f64, ours: u64| {
            if host.is_nan() {
                F64.is_nan(ours)
            } else {
                host.to_bits() == ours
            }
        };
        for &a in &samples {
            let x = a.to_bits();
            assert!(same(a.sqrt(), F64.sqrt(x, n)), "sqrt {a:e}");
            assert!(same(a.round_ties_even(), F64.integral(x, n)), "rint {a:e}");
            assert!(
                same(a.floor(), F64.integral(x, Direction::Down)),
                "floor {a:e}"
            );
            assert!(
                f64::from(a as f32) == f64::from(f32::from_bits(F64.convert(F32, x, n) as u32))
                    || a.is_nan(),
                "narrow {a:e}"
            );
            assert_eq!(
                F64.to_integer(x, Direction::Zero, i64::MIN.into(), i64::MAX.into())
                    .unwrap_or(0),
                i128::from(a as i64),
                "{a:e}"
            );
            for &b in &samples {
                let y = b.to_bits();
                assert!(same(a + b, F64.add(x, y, n)), "{a:e} + {b:e}");
                assert!(same(a * b, F64.mul(x, y, n)), "{a:e} * {b:e}");
                assert!(same(a / b, F64.div(x, y, n)), "{a:e} / {b:e}");
                assert!(
                    same(a.mul_add(b, -a), F64.fma(x, y, F64.negate(x), n)),
                    "fma {a:e} {b:e}"
                );
                assert_eq!(F64.compare(x, y), a.partial_cmp(&b));
            }
        }
        assert_eq!(
            F32.add(0x3f80_0000, 0xbf80_0000, Direction::Down),
            0x8000_0000
        );
        assert_eq!(
            F32.mul(0x7f7f_ffff, 0x4000_0000, Direction::Zero),
            0x7f7f_ffff
        );
        assert_eq!(F32.extreme(0, 0x8000_0000, false, false), 0x8000_0000);
        assert_eq!(F32.extreme(0x8000_0000, 0, true, false), 0);
        assert_eq!(
            F32.extreme(0x7fc0_0000, 0xbf80_0000, true, false),
            0xbf80_0000
        );
    }
}
