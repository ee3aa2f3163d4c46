//! Exact binary floating-point arithmetic in integers, for any format up to 64 bits and all four rounding modes of PTX.
//!
//! Every finite value is `±significand * 2^exponent` with a 128-bit significand. An operation computes the exact result, or the exact
//! result with everything below the lowest kept bit folded into that bit ("jamming", which keeps order and inexactness), and
//! [`Format::round`] rounds once. Slow next to hardware (20 to 50 ns), so it serves only what hosts lack: directed rounding in `f64`,
//! conversions to the narrow formats, and `fma` on hosts without it.

/// Rounding mode: PTX `.rn`, `.rz`, `.rm`, `.rp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards minus infinity.
    Down,
    /// `.rp`: towards plus infinity.
    Up,
}

/// A binary interchange format: sign, `exponent_bits`, `fraction_bits`, from the top.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) fraction_bits: u32,
    pub(super) exponent_bits: u32,
}

/// IEEE binary16.
pub(super) const F16: Format = Format {
    fraction_bits: 10,
    exponent_bits: 5,
};
/// bfloat16: the upper half of binary32.
pub(super) const BF16: Format = Format {
    fraction_bits: 7,
    exponent_bits: 8,
};
/// IEEE binary32.
pub(super) const F32: Format = Format {
    fraction_bits: 23,
    exponent_bits: 8,
};
/// IEEE binary64.
pub(super) const F64: Format = Format {
    fraction_bits: 52,
    exponent_bits: 11,
};

/// What a bit pattern stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Nan,
    Infinite(bool),
    /// Zero or finite: (negative, exponent, significand), the value is `±significand * 2^exponent`.
    Finite(bool, i32, u128),
}

impl Format {
    const fn sign_bit(self) -> u64 {
        1 << (self.fraction_bits + self.exponent_bits)
    }

    /// Bits of +infinity; also the first magnitude past the largest finite one.
    pub(super) const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The NaN that PTX operations produce: all bits below the sign set.
    pub(super) const fn nan(self) -> u64 {
        self.sign_bit() - 1
    }

    /// Exponent of the unit in the last place of subnormals.
    const fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.fraction_bits as i32
    }

    /// Takes a bit pattern apart. Bits above the format are ignored.
    #[inline]
    pub(super) const fn unpack(self, bits: u64) -> Value {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & self.nan();
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let field = (magnitude >> self.fraction_bits) as i32;
        if magnitude > self.infinity() {
            Value::Nan
        } else if magnitude == self.infinity() {
            Value::Infinite(negative)
        } else if field == 0 {
            Value::Finite(negative, self.least_exponent(), fraction as u128)
        } else {
            Value::Finite(
                negative,
                self.least_exponent() + field - 1,
                (fraction | 1 << self.fraction_bits) as u128,
            )
        }
    }

    /// Signed zero.
    #[inline]
    pub(super) const fn zero(self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    /// Signed infinity.
    #[inline]
    pub(super) const fn signed_infinity(self, negative: bool) -> u64 {
        self.zero(negative) | self.infinity()
    }

    /// Rounds `±significand * 2^exponent` to the format. The lowest bit of the significand may stand for lower bits ("jammed"),
    /// if at least two bits of it lie below the format's last place.
    #[inline]
    pub(super) const fn round(
        self,
        negative: bool,
        exponent: i32,
        significand: u128,
        mode: Rounding,
    ) -> u64 {
        let sign = self.zero(negative);
        if significand == 0 {
            return sign;
        }
        let precision = self.fraction_bits as i32 + 1;
        let length = 128 - significand.leading_zeros() as i32;
        let natural = exponent + length - precision;
        let least = self.least_exponent();
        // Exponent of the unit in the last place of the result.
        let unit = if natural > least { natural } else { least };
        if unit - least >= (1 << self.exponent_bits) {
            return sign | self.overflow(negative, mode);
        }
        let dropped = unit - exponent;
        let (kept, round_up) = if dropped <= 0 {
            // Exact; length - dropped <= precision, so the shift loses nothing.
            ((significand << -dropped) as u64, false)
        } else {
            // (kept bits, dropped bits, half a unit), the latter two only as far as comparing them needs.
            let (kept, rest, half) = if dropped < 128 {
                (
                    significand >> dropped,
                    significand & ((1 << dropped) - 1),
                    1 << (dropped - 1),
                )
            } else if dropped == 128 {
                (0, significand, 1 << 127)
            } else {
                (0, 1, 2)
            };
            let up = match mode {
                Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
                Rounding::Zero => false,
                Rounding::Down => negative && rest != 0,
                Rounding::Up => !negative && rest != 0,
            };
            (kept as u64, up)
        };
        // A normal `kept` carries the implicit bit, which adds one to the exponent field; so does a carry out of the fraction.
        let magnitude = (((unit - least) as u64) << self.fraction_bits) + kept + round_up as u64;
        if magnitude >= self.infinity() {
            sign | self.overflow(negative, mode)
        } else {
            sign | magnitude
        }
    }

    /// Magnitude of a result too large for the format.
    const fn overflow(self, negative: bool, mode: Rounding) -> u64 {
        let infinite = match mode {
            Rounding::Nearest => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if infinite {
            self.infinity()
        } else {
            self.infinity() - 1
        }
    }

    /// Converts from another format; NaN becomes the canonical NaN.
    #[inline]
    pub(super) const fn convert(self, from: Format, bits: u64, mode: Rounding) -> u64 {
        match from.unpack(bits) {
            Value::Nan => self.nan(),
            Value::Infinite(negative) => self.signed_infinity(negative),
            Value::Finite(negative, exponent, significand) => {
                self.round(negative, exponent, significand, mode)
            }
        }
    }

    /// `a * b + c`, rounded once.
    pub(super) const fn fma(self, a: u64, b: u64, c: u64, mode: Rounding) -> u64 {
        let (an, ae, asig, bn, be, bsig) = match (self.unpack(a), self.unpack(b)) {
            (Value::Nan, _) | (_, Value::Nan) => return self.nan(),
            (Value::Finite(an, ae, asig), Value::Finite(bn, be, bsig)) => {
                (an, ae, asig, bn, be, bsig)
            }
            (Value::Infinite(_), Value::Finite(_, _, 0))
            | (Value::Finite(_, _, 0), Value::Infinite(_)) => return self.nan(),
            (
                Value::Infinite(an) | Value::Finite(an, ..),
                Value::Infinite(bn) | Value::Finite(bn, ..),
            ) => {
                let negative = an != bn;
                return match self.unpack(c) {
                    Value::Nan => self.nan(),
                    Value::Infinite(cn) if cn != negative => self.nan(),
                    _ => self.signed_infinity(negative),
                };
            }
        };
        match self.unpack(c) {
            Value::Nan => self.nan(),
            Value::Infinite(negative) => self.signed_infinity(negative),
            Value::Finite(cn, ce, csig) => {
                self.sum((an != bn, ae + be, asig * bsig), (cn, ce, csig), mode)
            }
        }
    }

    /// Rounds the sum of two finite values whose significands are at most 106 bits long.
    const fn sum(self, x: (bool, i32, u128), y: (bool, i32, u128), mode: Rounding) -> u64 {
        let down = matches!(mode, Rounding::Down);
        match (x.2, y.2) {
            // An exact zero sum of unlike signs is +0, in .rm -0.
            (0, 0) => return self.zero(if x.0 == y.0 { x.0 } else { down }),
            (0, _) => return self.round(y.0, y.1, y.2, mode),
            (_, 0) => return self.round(x.0, x.1, x.2, mode),
            _ => {}
        }
        // Both leading bits to bit 125: sums fit, and at least 19 zero bits lie below, so that only shifts by more than that jam,
        // in which case a difference loses one leading bit at most.
        let (xs, ys) = (
            x.2.leading_zeros() as i32 - 2,
            y.2.leading_zeros() as i32 - 2,
        );
        let (mut large, mut small) = ((x.0, x.1 - xs, x.2 << xs), (y.0, y.1 - ys, y.2 << ys));
        if small.1 > large.1 || (small.1 == large.1 && small.2 > large.2) {
            (large, small) = (small, large);
        }
        let aligned = shift_right_jam(small.2, (large.1 - small.1) as u32);
        if large.0 == small.0 {
            self.round(large.0, large.1, large.2 + aligned, mode)
        } else if large.2 == aligned {
            self.zero(down)
        } else {
            self.round(large.0, large.1, large.2 - aligned, mode)
        }
    }

    /// `a + b`.
    pub(super) const fn add(self, a: u64, b: u64, mode: Rounding) -> u64 {
        match (self.unpack(a), self.unpack(b)) {
            (Value::Nan, _) | (_, Value::Nan) => self.nan(),
            (Value::Infinite(an), Value::Infinite(bn)) if an != bn => self.nan(),
            (Value::Infinite(negative), _) | (_, Value::Infinite(negative)) => {
                self.signed_infinity(negative)
            }
            (Value::Finite(an, ae, asig), Value::Finite(bn, be, bsig)) => {
                self.sum((an, ae, asig), (bn, be, bsig), mode)
            }
        }
    }

    /// `a - b`.
    pub(super) const fn sub(self, a: u64, b: u64, mode: Rounding) -> u64 {
        self.add(a, b ^ self.sign_bit(), mode)
    }

    /// `a * b`.
    pub(super) const fn mul(self, a: u64, b: u64, mode: Rounding) -> u64 {
        match (self.unpack(a), self.unpack(b)) {
            (Value::Nan, _) | (_, Value::Nan) => self.nan(),
            (Value::Infinite(_), Value::Finite(_, _, 0))
            | (Value::Finite(_, _, 0), Value::Infinite(_)) => self.nan(),
            (Value::Finite(an, ae, asig), Value::Finite(bn, be, bsig)) => {
                self.round(an != bn, ae + be, asig * bsig, mode)
            }
            (
                Value::Infinite(an) | Value::Finite(an, ..),
                Value::Infinite(bn) | Value::Finite(bn, ..),
            ) => self.signed_infinity(an != bn),
        }
    }

    /// `a / b`.
    pub(super) const fn div(self, a: u64, b: u64, mode: Rounding) -> u64 {
        match (self.unpack(a), self.unpack(b)) {
            (Value::Nan, _) | (_, Value::Nan) | (Value::Infinite(_), Value::Infinite(_)) => {
                self.nan()
            }
            (Value::Finite(_, _, 0), Value::Finite(_, _, 0)) => self.nan(),
            (Value::Infinite(an), Value::Finite(bn, ..))
            | (Value::Finite(an, ..), Value::Finite(bn, _, 0)) => self.signed_infinity(an != bn),
            (Value::Finite(an, ..), Value::Infinite(bn))
            | (Value::Finite(an, _, 0), Value::Finite(bn, ..)) => self.zero(an != bn),
            (Value::Finite(an, ae, asig), Value::Finite(bn, be, bsig)) => {
                // The divisor has at most 53 bits, so that the quotient has at least 75.
                let shift = asig.leading_zeros();
                let dividend = asig << shift;
                let quotient = dividend / bsig;
                let jammed = quotient | (dividend - quotient * bsig != 0) as u128;
                self.round(an != bn, ae - shift as i32 - be, jammed, mode)
            }
        }
    }

    /// Square root of `a`; of -0 it is -0, of other negative values NaN.
    pub(super) const fn sqrt(self, a: u64, mode: Rounding) -> u64 {
        match self.unpack(a) {
            Value::Finite(negative, _, 0) => self.zero(negative),
            Value::Nan | Value::Infinite(true) | Value::Finite(true, ..) => self.nan(),
            Value::Infinite(false) => self.infinity(),
            Value::Finite(false, exponent, significand) => {
                // An even exponent and a 127- or 128-bit radicand: a root of 64 bits.
                let mut shift = significand.leading_zeros() as i32;
                if (exponent - shift) & 1 != 0 {
                    shift -= 1;
                }
                let radicand = significand << shift;
                let root = radicand.isqrt();
                self.round(
                    false,
                    (exponent - shift) / 2,
                    root | (root * root != radicand) as u128,
                    mode,
                )
            }
        }
    }
}

/// `x >> count` with the bits shifted out folded into the lowest bit.
#[inline]
const fn shift_right_jam(x: u128, count: u32) -> u128 {
    if count == 0 {
        x
    } else if count < 128 {
        x >> count | (x << (128 - count) != 0) as u128
    } else {
        (x != 0) as u128
    }
}
