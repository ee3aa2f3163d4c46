//! Instructions that compute one value from values, written from the PTX ISA's definitions, mostly bit by bit.

use cuprum_ptx::{
    AtomOp, BoolOp, Bounds, Compare, Direction as Shift, Flags, Op, Opcode, Part, PrmtMode,
    Rounding, ScalarType, TestpMode,
};

use super::Stop;
use super::float::{BF16, Direction, F16, F32, F64, Format};

/// `value` cut to `bits`.
pub(super) fn cut(value: u128, bits: u32) -> u128 {
    if bits >= 128 {
        value
    } else {
        value & ((1 << bits) - 1)
    }
}

/// `value` cut to `bits` and read as a signed number.
pub(super) fn signed(value: u128, bits: u32) -> i128 {
    ((value << (128 - bits)).cast_signed()) >> (128 - bits)
}

/// `value` read as a number of an integer type.
pub(super) fn integer(value: u128, ty: ScalarType) -> i128 {
    if ty.is_signed() {
        signed(value, ty.bits())
    } else {
        cut(value, ty.bits()).cast_signed()
    }
}

/// Least and greatest value of an integer type.
pub(super) fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

/// The format of a scalar float type.
pub(super) fn format(ty: ScalarType) -> Option<Format> {
    match ty {
        ScalarType::F16 => Some(F16),
        ScalarType::Bf16 => Some(BF16),
        ScalarType::F32 => Some(F32),
        ScalarType::F64 => Some(F64),
        _ => None,
    }
}

fn unsupported<T>(what: impl std::fmt::Display) -> Result<T, Stop> {
    Err(Stop::Unsupported(what.to_string()))
}

/// The rounding mode of an instruction, to nearest if none is written; both float and integer spellings.
pub(super) fn direction(op: &Op) -> Result<Direction, Stop> {
    Ok(match op.modifiers.rounding() {
        None | Some(Rounding::Rn | Rounding::Rni) => Direction::Nearest,
        Some(Rounding::Rz | Rounding::Rzi) => Direction::Zero,
        Some(Rounding::Rm | Rounding::Rmi) => Direction::Down,
        Some(Rounding::Rp | Rounding::Rpi) => Direction::Up,
        Some(other) => return unsupported(format!("rounding {other}")),
    })
}

/// The type of operand `i` (destination not counted), for constants.
pub(super) fn operand_type(op: &Op, i: usize) -> ScalarType {
    let second = op.types.get(1).copied();
    match (op.opcode, i) {
        (Opcode::Cvt | Opcode::Set, _) => second.unwrap_or(op.ty()),
        (Opcode::Slct, 2) => second.unwrap_or(op.ty()),
        (Opcode::Shl | Opcode::Shr, 1) | (Opcode::Bfe, 1 | 2) | (Opcode::Bfi, 2 | 3) => {
            ScalarType::U32
        }
        _ => op.types.first().copied().unwrap_or(ScalarType::B64),
    }
}

/// The scalar type of a pack of two 16-bit values.
fn lane(ty: ScalarType) -> Option<ScalarType> {
    match ty {
        ScalarType::F16x2 => Some(ScalarType::F16),
        ScalarType::Bf16x2 => Some(ScalarType::Bf16),
        ScalarType::U16x2 => Some(ScalarType::U16),
        ScalarType::S16x2 => Some(ScalarType::S16),
        _ => None,
    }
}

/// Computes the result of an instruction; `carry` is the condition code.
pub(super) fn compute(op: &Op, v: &[u128], carry: &mut bool) -> Result<u128, Stop> {
    let ty = op.types.first().copied().unwrap_or(ScalarType::B64);
    match op.opcode {
        Opcode::Cvt => return super::convert::cvt(op, v),
        Opcode::Set => return set(op, v),
        Opcode::Setp => return compare(op, ty, v[0], v[1]).map(u128::from),
        _ => {}
    }
    if let Some(scalar) = lane(ty) {
        let mut half = op.clone();
        half.types[0] = scalar;
        let low: Vec<u128> = v.iter().map(|x| x & 0xffff).collect();
        let high: Vec<u128> = v.iter().map(|x| x >> 16 & 0xffff).collect();
        return Ok(compute(&half, &high, carry)? << 16 | compute(&half, &low, carry)? & 0xffff);
    }
    match (op.opcode, format(ty)) {
        (Opcode::Selp, _) => Ok(if v[2] & 1 == 1 { v[0] } else { v[1] }),
        (Opcode::Slct, _) => slct(op, v),
        (Opcode::Testp, Some(format)) => testp(op, format, v[0] as u64),
        (Opcode::Copysign, Some(format)) => {
            Ok((format.sign_of(v[0] as u64) | format.magnitude(v[1] as u64)).into())
        }
        (_, Some(format)) => float(op, format, v),
        (_, None) => integers(op, ty, v, carry),
    }
}

/// Floating-point arithmetic.
fn float(op: &Op, format: Format, v: &[u128]) -> Result<u128, Stop> {
    let m = &op.modifiers;
    let ftz = m.ftz();
    let x: Vec<u64> = v
        .iter()
        .map(|&x| cut(x, format.bits()) as u64)
        .map(|x| if ftz { format.flush(x) } else { x })
        .collect();
    let d = direction(op)?;
    let mut result = match op.opcode {
        Opcode::Add => format.add(x[0], x[1], d),
        Opcode::Sub => format.add(x[0], format.negate(x[1]), d),
        Opcode::Mul => format.mul(x[0], x[1], d),
        Opcode::Fma | Opcode::Mad => format.fma(x[0], x[1], x[2], d),
        Opcode::Div if m.approx() || m.full() => return approximate(op, format, &x),
        Opcode::Div => format.div(x[0], x[1], d),
        Opcode::Rcp if !m.approx() => format.div(format.one(), x[0], d),
        Opcode::Sqrt if !m.approx() => format.sqrt(x[0], d),
        Opcode::Neg => format.negate(x[0]),
        Opcode::Abs => format.magnitude(x[0]),
        Opcode::Min | Opcode::Max => {
            let greater = op.opcode == Opcode::Max;
            let flags = m.flags();
            if flags.contains(Flags::XORSIGN) {
                let (a, b) = (format.magnitude(x[0]), format.magnitude(x[1]));
                let magnitude = format.extreme(a, b, greater, m.nan());
                if format.is_nan(magnitude) {
                    magnitude
                } else {
                    magnitude | format.sign_of(x[0] ^ x[1])
                }
            } else {
                x[1..]
                    .iter()
                    .fold(x[0], |a, &b| format.extreme(a, b, greater, m.nan()))
            }
        }
        Opcode::Ex2
        | Opcode::Lg2
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Tanh
        | Opcode::Rsqrt
        | Opcode::Rcp
        | Opcode::Sqrt => {
            return approximate(op, format, &x);
        }
        other => return unsupported(format!("{other} of floats")),
    };
    if ftz {
        result = format.flush(result);
    }
    if m.sat() {
        result = format.saturate(result);
    }
    if m.relu() && !format.is_nan(result) && format.sign_of(result) != 0 {
        result = 0;
    }
    Ok(result.into())
}

/// The approximate instructions, through the host's `f64` functions, to be compared with a tolerance.
fn approximate(op: &Op, format: Format, x: &[u64]) -> Result<u128, Stop> {
    let n = Direction::Nearest;
    let value = |i: usize| f64::from_bits(format.convert(F64, x[i], n));
    let a = value(0);
    let result = match op.opcode {
        Opcode::Ex2 => a.exp2(),
        Opcode::Lg2 => a.log2(),
        Opcode::Sin => a.sin(),
        Opcode::Cos => a.cos(),
        Opcode::Tanh => a.tanh(),
        Opcode::Rsqrt => 1.0 / a.sqrt(),
        Opcode::Rcp => 1.0 / a,
        Opcode::Sqrt => a.sqrt(),
        Opcode::Div => {
            let b = value(1);
            // The ISA's exception: such divisors count as infinite.
            let large = op.modifiers.approx() && b.abs() > 2f64.powi(126);
            a / if large { f64::INFINITY.copysign(b) } else { b }
        }
        other => return unsupported(other),
    };
    let result = F64.convert(format, result.to_bits(), n);
    Ok(if op.modifiers.ftz() {
        format.flush(result)
    } else {
        result
    }
    .into())
}

/// Integer arithmetic and logic.
fn integers(op: &Op, ty: ScalarType, v: &[u128], carry: &mut bool) -> Result<u128, Stop> {
    let bits = ty.bits();
    let m = &op.modifiers;
    let n = |i: usize| integer(v[i], ty);
    let u = |i: usize| cut(v[i], bits);
    let whole = |value: i128| cut(value.cast_unsigned(), bits);
    let count = |i: usize| cut(v[i], 32) as u32;
    Ok(match op.opcode {
        Opcode::Add if m.sat() => whole((n(0) + n(1)).clamp(range(ty).0, range(ty).1)),
        Opcode::Sub if m.sat() => whole((n(0) - n(1)).clamp(range(ty).0, range(ty).1)),
        Opcode::Add | Opcode::Addc => {
            let sum = u(0) + u(1) + u128::from(op.opcode == Opcode::Addc && *carry);
            if m.cc() {
                *carry = sum >> bits != 0;
            }
            cut(sum, bits)
        }
        Opcode::Sub | Opcode::Subc => {
            // A difference is the sum with the complement and one more, so the flag is clear where it borrows.
            let difference = u(0).cast_signed()
                - u(1).cast_signed()
                - i128::from(op.opcode == Opcode::Subc && !*carry);
            if m.cc() {
                *carry = difference >= 0;
            }
            whole(difference)
        }
        Opcode::Mul | Opcode::Mad | Opcode::Madc => multiply(op, ty, v, carry)?,
        Opcode::Mul24 | Opcode::Mad24 => {
            let short = |i: usize| {
                if ty.is_signed() {
                    signed(v[i], 24)
                } else {
                    cut(v[i], 24).cast_signed()
                }
            };
            let product = short(0) * short(1);
            let part = if m.hi() {
                signed((product >> 16).cast_unsigned(), 32)
            } else {
                signed(product.cast_unsigned(), 32)
            };
            let addend = if op.opcode == Opcode::Mad24 { n(2) } else { 0 };
            let sum = part + addend;
            whole(if m.sat() {
                sum.clamp(range(ty).0, range(ty).1)
            } else {
                sum
            })
        }
        Opcode::Div | Opcode::Rem if n(1) == 0 => whole(-1),
        Opcode::Div => whole(n(0) / n(1)),
        Opcode::Rem => whole(n(0) % n(1)),
        Opcode::Sad => whole(n(2) + (n(0) - n(1)).abs()),
        Opcode::Abs => whole(n(0).abs()),
        Opcode::Neg => whole(-n(0)),
        Opcode::Min => relu(op, n(0).min(n(1)), bits),
        Opcode::Max => relu(op, n(0).max(n(1)), bits),
        Opcode::And => u(0) & u(1),
        Opcode::Or => u(0) | u(1),
        Opcode::Xor => u(0) ^ u(1),
        Opcode::Not => cut(!u(0), bits),
        Opcode::Shl => u(0)
            .checked_shl(count(1))
            .map_or(0, |x| if count(1) >= bits { 0 } else { cut(x, bits) }),
        Opcode::Shr => whole(n(0) >> count(1).min(bits)),
        Opcode::Shf => {
            let pair = cut(v[1], 32) << 32 | cut(v[0], 32);
            let amount = if m.bounds() == Some(Bounds::Wrap) {
                count(2) & 31
            } else {
                count(2).min(32)
            };
            cut(
                if m.direction() == Some(Shift::L) {
                    pair << amount >> 32
                } else {
                    pair >> amount
                },
                32,
            )
        }
        Opcode::Popc => u(0).count_ones().into(),
        Opcode::Clz => u128::from(u(0).leading_zeros() - (128 - bits)),
        Opcode::Brev => (0..bits).fold(0, |r, i| r | (u(0) >> i & 1) << (bits - 1 - i)),
        Opcode::Bfind => {
            let value = if ty.is_signed() && n(0) < 0 {
                cut(!u(0), bits)
            } else {
                u(0)
            };
            let position = (0..bits).rev().find(|i| value >> i & 1 == 1);
            position.map_or(0xffff_ffff, |i| {
                if m.flags().contains(Flags::SHIFTAMT) {
                    bits - 1 - i
                } else {
                    i
                }
                .into()
            })
        }
        Opcode::Bfe => {
            let (position, length) = (count(1) & 255, count(2) & 255);
            let fill = ty.is_signed()
                && length > 0
                && u(0) >> (position + length - 1).min(bits - 1) & 1 == 1;
            (0..bits).fold(0, |d, i| {
                let inside = i < length && position + i < bits;
                d | if inside {
                    u(0) >> (position + i) & 1
                } else {
                    fill.into()
                } << i
            })
        }
        Opcode::Bfi => {
            let (position, length) = (count(2) & 255, count(3) & 255);
            (0..length)
                .filter(|i| position + i < bits)
                .fold(u(1), |f, i| {
                    f & !(1 << (position + i)) | (u(0) >> i & 1) << (position + i)
                })
        }
        Opcode::Bmsk => {
            let wrap = m.bounds() == Some(Bounds::Wrap);
            let (position, length) = if wrap {
                (count(0) & 31, count(1) & 31)
            } else {
                (count(0), count(1))
            };
            (0..32u32)
                .filter(|i| {
                    *i >= position && u64::from(*i) < u64::from(position) + u64::from(length)
                })
                .fold(0, |d, i| d | 1 << i)
        }
        Opcode::Szext => {
            let length = if m.bounds() == Some(Bounds::Wrap) {
                count(1) & 31
            } else {
                count(1).min(32)
            };
            match (length, ty.is_signed()) {
                (0, _) => 0,
                (_, true) => whole(signed(v[0], length)),
                (_, false) => cut(v[0], length),
            }
        }
        Opcode::Fns => {
            let (mask, base, offset) = (u(0), count(1).cast_signed(), signed(v[2], 32));
            let order: Vec<i32> = match offset.signum() {
                0 => vec![base],
                1 => (base..32).collect(),
                _ => (0..=base).rev().collect(),
            };
            let wanted = offset.unsigned_abs().max(1) as usize - 1;
            let found = order
                .into_iter()
                .filter(|i| (0..32).contains(i) && mask >> i & 1 == 1)
                .nth(wanted);
            found.map_or(0xffff_ffff, |i| i as u128)
        }
        Opcode::Lop3 => (0..32).fold(0, |d, i| {
            let index = (v[0] >> i & 1) << 2 | (v[1] >> i & 1) << 1 | (v[2] >> i & 1);
            d | (v[3] >> index & 1) << i
        }),
        Opcode::Prmt => permute(op, v),
        Opcode::Dp4a => dot(op, v, 4, 8),
        Opcode::Dp2a => dot(op, v, 2, 16),
        other => return unsupported(format!("{other} of integers")),
    })
}

fn relu(op: &Op, value: i128, bits: u32) -> u128 {
    cut(
        (if op.modifiers.relu() {
            value.max(0)
        } else {
            value
        })
        .cast_unsigned(),
        bits,
    )
}

fn multiply(op: &Op, ty: ScalarType, v: &[u128], carry: &mut bool) -> Result<u128, Stop> {
    let bits = ty.bits();
    let m = &op.modifiers;
    let product = integer(v[0], ty).wrapping_mul(integer(v[1], ty));
    let (part, width) = match m.part() {
        Some(Part::Wide) => (product.cast_unsigned(), 2 * bits),
        // 64-bit unsigned products fill all 128 bits; an arithmetic shift only differs above the half that is kept.
        Some(Part::Hi) => ((product >> bits).cast_unsigned(), bits),
        _ => (product.cast_unsigned(), bits),
    };
    let part = cut(part, width);
    if op.opcode == Opcode::Mul {
        return Ok(part);
    }
    if m.sat() {
        let sum = signed(part, width) + integer(v[2], ty);
        return Ok(cut(
            sum.clamp(range(ty).0, range(ty).1).cast_unsigned(),
            width,
        ));
    }
    let (sum, over) = part.overflowing_add(cut(v[2], width));
    let (sum, again) = sum.overflowing_add(u128::from(op.opcode == Opcode::Madc && *carry));
    if m.cc() {
        *carry = if width < 128 {
            sum >> width != 0
        } else {
            over || again
        };
    }
    Ok(cut(sum, width))
}

fn permute(op: &Op, v: &[u128]) -> u128 {
    let pair = cut(v[1], 32) << 32 | cut(v[0], 32);
    let control = cut(v[2], 32) as u32;
    let c = control & 3;
    (0..4u32).fold(0, |d, i| {
        let (index, replicate) = match op.modifiers.prmt_mode() {
            None => (control >> (4 * i) & 7, control >> (4 * i) & 8 != 0),
            Some(PrmtMode::F4e) => (c + i, false),
            Some(PrmtMode::B4e) => ((8 + c - i) % 8, false),
            Some(PrmtMode::Rc8) => (c, false),
            Some(PrmtMode::Ecl) => (c.max(i), false),
            Some(PrmtMode::Ecr) => (c.min(i), false),
            Some(PrmtMode::Rc16) => ((c % 2) * 2 + i % 2, false),
        };
        let byte = pair >> (8 * index) & 0xff;
        let byte = if !replicate {
            byte
        } else if byte & 0x80 != 0 {
            0xff
        } else {
            0
        };
        d | byte << (8 * i)
    })
}

fn dot(op: &Op, v: &[u128], count: u32, width: u32) -> u128 {
    let second = op.types.get(1).copied().unwrap_or(op.ty());
    let read = |x: u128, ty: ScalarType, i: u32, width: u32| {
        let part = x >> (width * i);
        if ty.is_signed() {
            signed(part, width)
        } else {
            cut(part, width).cast_signed()
        }
    };
    let b = if op.modifiers.hi() { v[1] >> 16 } else { v[1] };
    let sum = (0..count).fold(integer(v[2], ScalarType::S32), |sum, i| {
        sum + read(v[0], op.ty(), i, width) * read(b, second, i, 8)
    });
    cut(sum.cast_unsigned(), 32)
}

/// Whether a comparison holds.
pub(super) fn compare(op: &Op, ty: ScalarType, a: u128, b: u128) -> Result<bool, Stop> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let Some(comparison) = op.modifiers.compare() else {
        return unsupported("a comparison of nothing");
    };
    let order = match format(ty) {
        Some(format) => {
            let flush = |x: u128| {
                let x = cut(x, format.bits()) as u64;
                if op.modifiers.ftz() {
                    format.flush(x)
                } else {
                    x
                }
            };
            format.compare(flush(a), flush(b))
        }
        None => Some(match comparison {
            Compare::Lo | Compare::Ls | Compare::Hi | Compare::Hs => {
                cut(a, ty.bits()).cmp(&cut(b, ty.bits()))
            }
            _ => integer(a, ty).cmp(&integer(b, ty)),
        }),
    };
    Ok(match comparison {
        Compare::Eq => order == Some(Equal),
        Compare::Ne => matches!(order, Some(Less | Greater)),
        Compare::Lt | Compare::Lo => order == Some(Less),
        Compare::Le | Compare::Ls => matches!(order, Some(Less | Equal)),
        Compare::Gt | Compare::Hi => order == Some(Greater),
        Compare::Ge | Compare::Hs => matches!(order, Some(Greater | Equal)),
        Compare::Equ => matches!(order, None | Some(Equal)),
        Compare::Neu => order != Some(Equal),
        Compare::Ltu => matches!(order, None | Some(Less)),
        Compare::Leu => order != Some(Greater),
        Compare::Gtu => matches!(order, None | Some(Greater)),
        Compare::Geu => order != Some(Less),
        Compare::Num => order.is_some(),
        Compare::Nan => order.is_none(),
    })
}

/// Combines a comparison with the optional predicate operand of `setp` and `set`.
pub(super) fn combine(op: &Op, holds: bool, further: Option<bool>) -> bool {
    match (op.modifiers.bool_op(), further) {
        (Some(BoolOp::And), Some(c)) => holds && c,
        (Some(BoolOp::Or), Some(c)) => holds || c,
        (Some(BoolOp::Xor), Some(c)) => holds != c,
        _ => holds,
    }
}

fn set(op: &Op, v: &[u128]) -> Result<u128, Stop> {
    let (to, from) = (op.ty(), op.types[1]);
    let further = v.get(2).map(|c| c & 1 == 1);
    if let Some(scalar) = lane(from) {
        let (one, zero) = match lane(to).or(Some(to)).and_then(format) {
            Some(format) => (u128::from(format.one()), 0),
            None => (0xffff, 0),
        };
        let mut result = 0;
        for i in [1, 0] {
            let holds = combine(
                op,
                compare(op, scalar, v[0] >> (16 * i), v[1] >> (16 * i))?,
                further,
            );
            result = result << 16 | if holds { one } else { zero };
        }
        return Ok(result);
    }
    let holds = combine(op, compare(op, from, v[0], v[1])?, further);
    Ok(match (holds, format(to)) {
        (false, _) => 0,
        (true, Some(format)) => format.one().into(),
        (true, None) => cut(u128::MAX, to.bits()),
    })
}

fn slct(op: &Op, v: &[u128]) -> Result<u128, Stop> {
    let second = op.types[1];
    let first = match format(second) {
        Some(format) => {
            let c = cut(v[2], 32) as u64;
            let c = if op.modifiers.ftz() {
                format.flush(c)
            } else {
                c
            };
            matches!(
                format.compare(c, 0),
                Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Equal)
            )
        }
        None => integer(v[2], second) >= 0,
    };
    Ok(if first { v[0] } else { v[1] })
}

fn testp(op: &Op, format: Format, a: u64) -> Result<u128, Stop> {
    let Some(mode) = op.modifiers.testp_mode() else {
        return unsupported("testp of nothing");
    };
    let (nan, infinite) = (format.is_nan(a), format.is_infinite(a));
    let subnormal = format.is_subnormal(a);
    Ok(u128::from(match mode {
        TestpMode::Finite => !nan && !infinite,
        TestpMode::Infinite => infinite,
        TestpMode::Number => !nan,
        TestpMode::NotANumber => nan,
        // The ISA counts zeros as normal.
        TestpMode::Normal => !nan && !infinite && !subnormal,
        TestpMode::Subnormal => subnormal,
    }))
}

/// The new value of an atomic operation on memory; `v` holds its one or two operands. Sums of `f32` flush in global memory only (`flushes`).
pub(super) fn atomic(
    op: AtomOp,
    ty: ScalarType,
    old: u128,
    v: &[u128],
    flushes: bool,
) -> Result<u128, Stop> {
    if let Some(scalar) = lane(ty) {
        let part = |shift: u32| {
            let operands: Vec<u128> = v.iter().map(|x| x >> shift & 0xffff).collect();
            atomic(op, scalar, old >> shift & 0xffff, &operands, flushes)
        };
        return Ok(part(16)? << 16 | part(0)?);
    }
    let bits = ty.bits();
    let (old, a) = (cut(old, bits), cut(v[0], bits));
    if let (AtomOp::Add, Some(format)) = (op, format(ty)) {
        let flush = |x: u64| {
            if flushes && ty == ScalarType::F32 {
                format.flush(x)
            } else {
                x
            }
        };
        let sum = format.add(flush(old as u64), flush(a as u64), Direction::Nearest);
        return Ok(flush(sum).into());
    }
    let (x, y) = (integer(old, ty), integer(a, ty));
    let value = match op {
        AtomOp::Add => old.wrapping_add(a),
        AtomOp::Exch => a,
        AtomOp::Cas => {
            if old == a {
                v[1]
            } else {
                old
            }
        }
        AtomOp::Min => x.min(y).cast_unsigned(),
        AtomOp::Max => x.max(y).cast_unsigned(),
        AtomOp::Inc => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        AtomOp::And => old & a,
        AtomOp::Or => old | a,
        AtomOp::Xor => old ^ a,
        AtomOp::Popc => return unsupported("atom.popc"),
    };
    Ok(cut(value, bits))
}
