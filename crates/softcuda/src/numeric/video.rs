//! Video instructions: `vadd vsub vabsdiff vmin vmax vshl vshr vmad vset` on selected parts of words, their SIMD forms with two and four
//! lanes, and the dot products `dp2a`, `dp4a`.
//!
//! Video instructions have too many modifiers for a function each. A *descriptor*, constant per instruction, holds them: the caller
//! builds it with [`Scalar::encode`] or [`Lanes::encode`] and passes it as the last operand.

/// The operation of a video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operation {
    /// `vadd`, `vadd2`, `vadd4`.
    Add,
    /// `vsub`, `vsub2`, `vsub4`.
    Sub,
    /// `vabsdiff`, `vabsdiff2`, `vabsdiff4`.
    AbsDiff,
    /// `vmin`, `vmin2`, `vmin4`.
    Min,
    /// `vmax`, `vmax2`, `vmax4`.
    Max,
    /// `vavrg2`, `vavrg4`: the mean, rounded away from zero.
    Average,
    /// `vshl`.
    ShiftLeft,
    /// `vshr`.
    ShiftRight,
    /// `vset*` with `.eq .ne .lt .le .gt .ge`: 1 if true.
    Equal,
    /// `.ne`
    NotEqual,
    /// `.lt`
    Less,
    /// `.le`
    LessEqual,
    /// `.gt`
    Greater,
    /// `.ge`
    GreaterEqual,
}

const OPERATIONS: [Operation; 14] = [
    Operation::Add,
    Operation::Sub,
    Operation::AbsDiff,
    Operation::Min,
    Operation::Max,
    Operation::Average,
    Operation::ShiftLeft,
    Operation::ShiftRight,
    Operation::Equal,
    Operation::NotEqual,
    Operation::Less,
    Operation::LessEqual,
    Operation::Greater,
    Operation::GreaterEqual,
];

impl Operation {
    /// The exact result, before saturation or truncation.
    fn apply(self, a: i64, b: i64, wrap_shift: bool) -> i64 {
        match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::AbsDiff => (a - b).abs(),
            Operation::Min => a.min(b),
            Operation::Max => a.max(b),
            Operation::Average => {
                let sum = a + b;
                (if sum < 0 { sum } else { sum + 1 }) >> 1
            }
            Operation::ShiftLeft => a << shift_count(b, wrap_shift),
            Operation::ShiftRight => a >> shift_count(b, wrap_shift),
            Operation::Equal => i64::from(a == b),
            Operation::NotEqual => i64::from(a != b),
            Operation::Less => i64::from(a < b),
            Operation::LessEqual => i64::from(a <= b),
            Operation::Greater => i64::from(a > b),
            Operation::GreaterEqual => i64::from(a >= b),
        }
    }
}

/// Shift counts of `vshl` and `vshr`: modulo 32 with `.wrap`, else at most 32.
fn shift_count(b: i64, wrap: bool) -> i64 {
    if wrap {
        b & 31
    } else {
        (b & 0xffff_ffff).min(32)
    }
}

/// Part of a word: `None` is all of it, `.b0 .. .b3` a byte, `.h0 .h1` a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    /// The word.
    Word,
    /// `.b0`
    B0,
    /// `.b1`
    B1,
    /// `.b2`
    B2,
    /// `.b3`
    B3,
    /// `.h0`
    H0,
    /// `.h1`
    H1,
}

/// (lowest bit, width) of a part given as its number.
fn extent(part: u32) -> (u32, u32) {
    match part {
        1..=4 => (8 * (part - 1), 8),
        5 | 6 => (16 * (part - 5), 16),
        _ => (0, 32),
    }
}

/// Reads a part as an integer.
fn select(word: u32, part: u32, signed: bool) -> i64 {
    let (low, width) = extent(part);
    extend(i64::from(word >> low), width, signed)
}

/// Extends the low `width` bits.
fn extend(value: i64, width: u32, signed: bool) -> i64 {
    let raised = value << (64 - width);
    if signed {
        raised >> (64 - width)
    } else {
        (raised.cast_unsigned() >> (64 - width)).cast_signed()
    }
}

/// Clamps to the range of `width` bits.
fn saturate(value: i64, width: u32, signed: bool) -> i64 {
    if signed {
        value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        value.clamp(0, (1 << width) - 1)
    }
}

/// What a scalar video instruction does with its third operand `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Secondary {
    /// There is none.
    None,
    /// Result part merged into `c` (a destination selector).
    Merge,
    /// `.add`
    Add,
    /// `.min`
    Min,
    /// `.max`
    Max,
}

/// Modifiers of a scalar video instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    /// The primary operation.
    pub(crate) operation: Operation,
    /// Signedness of `.dtype` (for `vset`: of nothing), `.atype`, `.btype`.
    pub(crate) signed: [bool; 3],
    /// Selectors of the destination, of `a` and of `b`.
    pub(crate) parts: [Part; 3],
    /// `.sat`
    pub(crate) saturate: bool,
    /// `.wrap` rather than `.clamp` of shifts.
    pub(crate) wrap: bool,
    /// Use of `c`.
    pub(crate) secondary: Secondary,
}

impl Scalar {
    /// The last operand of [`video_b32`].
    pub(crate) fn encode(self) -> u32 {
        let bit = |flag: bool, position: u32| u32::from(flag) << position;
        self.operation as u32
            | bit(self.signed[0], 4)
            | bit(self.signed[1], 5)
            | bit(self.signed[2], 6)
            | bit(self.saturate, 7)
            | bit(self.wrap, 8)
            | (self.secondary as u32) << 9
            | (self.parts[0] as u32) << 12
            | (self.parts[1] as u32) << 15
            | (self.parts[2] as u32) << 18
    }
}

/// A scalar video instruction: part of `a` operated with part of `b`, combined with `c`. The intermediate result is exact; `.sat` clamps
/// it to the destination part's type, and the part that does not fit is dropped.
pub(crate) extern "C" fn video_b32(a: u32, b: u32, c: u32, descriptor: u32) -> u32 {
    let flag = |position: u32| descriptor >> position & 1 == 1;
    let part = |position: u32| descriptor >> position & 7;
    let operation = OPERATIONS[(descriptor & 15) as usize % OPERATIONS.len()];
    let signed = flag(4);
    let (low, width) = extent(part(12));
    let mut value = operation.apply(
        select(a, part(15), flag(5)),
        select(b, part(18), flag(6)),
        flag(8),
    );
    if flag(7) {
        value = saturate(value, width, signed);
    }
    let value = value as u32;
    let wide = |word: u32| {
        if signed {
            i64::from(word as i32)
        } else {
            i64::from(word)
        }
    };
    // With a secondary operation the primary result is extended from the selected part.
    let extended = extend(i64::from(value), width, signed) as u32;
    match descriptor >> 9 & 7 {
        1 => {
            let mask = (((1u64 << width) - 1) << low) as u32;
            (c & !mask) | (value << low & mask)
        }
        2 => extended.wrapping_add(c),
        3 => wide(extended).min(wide(c)) as u32,
        4 => wide(extended).max(wide(c)) as u32,
        _ => value,
    }
}

/// Modifiers of a SIMD video instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// The operation of each lane.
    pub(crate) operation: Operation,
    /// Four lanes of bytes rather than two of halves.
    pub(crate) four: bool,
    /// Signedness of `.dtype`, `.atype`, `.btype`.
    pub(crate) signed: [bool; 3],
    /// `.sat`
    pub(crate) saturate: bool,
    /// `.add`: the lanes' results are summed onto `c`; else lanes outside the mask are those of `c`.
    pub(crate) accumulate: bool,
    /// Lanes that are computed, bit 0 for the lowest.
    pub(crate) mask: u8,
    /// Selectors: for lane i, which lane of `b:a` is the operand, `a`'s lanes first; one list for each operand.
    pub(crate) lanes: [[u8; 4]; 2],
}

impl Lanes {
    /// The identity selection: `a`'s lanes, and `b`'s lanes.
    pub(crate) fn straight(four: bool) -> [[u8; 4]; 2] {
        if four {
            [[0, 1, 2, 3], [4, 5, 6, 7]]
        } else {
            [[0, 1, 0, 0], [2, 3, 0, 0]]
        }
    }

    /// The last operand of [`video_lanes_b32`].
    pub(crate) fn encode(self) -> u64 {
        let bit = |flag: bool, position: u32| u64::from(flag) << position;
        let mut bits = self.operation as u64
            | bit(self.signed[0], 4)
            | bit(self.signed[1], 5)
            | bit(self.signed[2], 6)
            | bit(self.saturate, 7)
            | bit(self.four, 8)
            | bit(self.accumulate, 9)
            | u64::from(self.mask & 15) << 12;
        for (operand, lanes) in self.lanes.iter().enumerate() {
            for (i, lane) in lanes.iter().enumerate() {
                bits |= u64::from(lane & 7) << (16 + 12 * operand + 3 * i);
            }
        }
        bits
    }
}

/// A SIMD video instruction (`vadd2`, `vabsdiff4`, ...).
pub(crate) extern "C" fn video_lanes_b32(a: u32, b: u32, c: u32, descriptor: u64) -> u32 {
    let flag = |position: u32| descriptor >> position & 1 == 1;
    let operation = OPERATIONS[(descriptor & 15) as usize % OPERATIONS.len()];
    let (count, width) = if flag(8) { (4, 8) } else { (2, 16) };
    let pair = u64::from(b) << 32 | u64::from(a);
    let operand = |which: u32, lane: u32| {
        let index = (descriptor >> (16 + 12 * which + 3 * lane) & 7) as u32;
        extend(
            (pair >> (width * index % 64)).cast_signed(),
            width,
            flag(5 + which),
        )
    };
    let lane_mask = (1u32 << width) - 1;
    let mut result = if flag(9) { c } else { 0 };
    for lane in 0..count {
        let computed = descriptor >> (12 + lane) & 1 == 1;
        if flag(9) {
            if computed {
                // The sum takes the whole result, one bit wider than the lane.
                let value = operation.apply(operand(0, lane), operand(1, lane), false);
                let value = if flag(7) {
                    saturate(value, width, flag(4))
                } else {
                    value
                };
                result = result.wrapping_add(value as u32);
            }
        } else if computed {
            let value = operation.apply(operand(0, lane), operand(1, lane), false);
            let value = if flag(7) {
                saturate(value, width, flag(4))
            } else {
                value
            };
            result |= (value as u32 & lane_mask) << (width * lane);
        } else {
            result |= c & lane_mask << (width * lane);
        }
    }
    result
}

macro_rules! dot_products {
    ($($four:ident $low:ident $high:ident: $a_byte:ident $a_half:ident, $b_byte:ident;)*) => {$(
        /// `dp4a`: `c` plus the products of the four bytes.
        #[inline]
        pub(crate) extern "C" fn $four(a: u32, b: u32, c: u32) -> u32 {
            (0..4).fold(c, |sum, i| {
                sum.wrapping_add((i32::from((a >> (8 * i)) as $a_byte) * i32::from((b >> (8 * i)) as $b_byte)) as u32)
            })
        }

        /// `dp2a.lo`: `c` plus the products of the halves of `a` with the two lower bytes of `b`.
        #[inline]
        pub(crate) extern "C" fn $low(a: u32, b: u32, c: u32) -> u32 {
            (0..2).fold(c, |sum, i| {
                sum.wrapping_add((i32::from((a >> (16 * i)) as $a_half) * i32::from((b >> (8 * i)) as $b_byte)) as u32)
            })
        }

        /// `dp2a.hi`: `c` plus the products of the halves of `a` with the two upper bytes of `b`.
        #[inline]
        pub(crate) extern "C" fn $high(a: u32, b: u32, c: u32) -> u32 {
            $low(a, b >> 16, c)
        }
    )*};
}

dot_products! {
    dp4a_u32_u32 dp2a_lo_u32_u32 dp2a_hi_u32_u32: u8 u16, u8;
    dp4a_u32_s32 dp2a_lo_u32_s32 dp2a_hi_u32_s32: u8 u16, i8;
    dp4a_s32_u32 dp2a_lo_s32_u32 dp2a_hi_s32_u32: i8 i16, u8;
    dp4a_s32_s32 dp2a_lo_s32_s32 dp2a_hi_s32_s32: i8 i16, i8;
}
