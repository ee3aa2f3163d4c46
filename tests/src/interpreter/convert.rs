//! `cvt`.

use cuprum_ptx::{Flags, Op, Rounding, ScalarType};

use super::Stop;
use super::alu::{cut, direction, format, integer, range};
use super::float::{Direction, Format};

fn unsupported<T>(op: &Op) -> Result<T, Stop> {
    Err(Stop::Unsupported(format!("cvt with types {:?}", op.types)))
}

/// `cvt`, all of its operands in `v`.
pub(super) fn cvt(op: &Op, v: &[u128]) -> Result<u128, Stop> {
    let m = &op.modifiers;
    let (to, from) = (op.ty(), op.types[1]);
    if m.flags().contains(Flags::PACK) {
        return pack(to, v);
    }
    let scalar = match to {
        ScalarType::F16x2 => ScalarType::F16,
        ScalarType::Bf16x2 => ScalarType::Bf16,
        _ => return one(op, to, from, v[0]),
    };
    if v.len() < 2 {
        return unsupported(op);
    }
    Ok(one(op, scalar, from, v[0])? << 16 | one(op, scalar, from, v[1])?)
}

fn one(op: &Op, to: ScalarType, from: ScalarType, value: u128) -> Result<u128, Stop> {
    let m = &op.modifiers;
    let to_integer = to.is_integer();
    match (format(from), format(to)) {
        (None, None) if to_integer && from.is_integer() => {
            let value = integer(value, from);
            let value = if m.sat() {
                value.clamp(range(to).0, range(to).1)
            } else {
                value
            };
            Ok(cut(value.cast_unsigned(), to.bits()))
        }
        (Some(format), None) if to_integer => {
            let (least, greatest) = range(to);
            let integer = format.to_integer(
                operand(op, from, format, value),
                direction(op)?,
                least,
                greatest,
            );
            let value = match integer {
                Some(value) => value,
                None if from == ScalarType::F64 || to.bits() == 64 => 1 << (to.bits() - 1),
                None => 0,
            };
            Ok(cut(value.cast_unsigned(), to.bits()))
        }
        (None, Some(format)) if from.is_integer() => {
            let result = format.of_integer(integer(value, from), direction(op)?);
            Ok(if m.sat() {
                format.saturate(result)
            } else {
                result
            }
            .into())
        }
        (Some(source), Some(target)) => {
            let value = operand(op, from, source, value);
            let integral = matches!(
                m.rounding(),
                Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
            );
            let value = if integral {
                source.integral(value, direction(op)?)
            } else {
                value
            };
            let rounding = if integral {
                Direction::Nearest
            } else {
                direction(op)?
            };
            let mut result = if source == target {
                value
            } else {
                source.convert(target, value, rounding)
            };
            if m.ftz() && to == ScalarType::F32 {
                result = target.flush(result);
            }
            if m.sat() {
                result = target.saturate(result);
            }
            if m.relu() && !target.is_nan(result) && target.sign_of(result) != 0 {
                result = 0;
            }
            Ok(result.into())
        }
        _ => unsupported(op),
    }
}

/// The source, flushed if it is an `f32` and the instruction says so.
fn operand(op: &Op, ty: ScalarType, format: Format, value: u128) -> u64 {
    let value = cut(value, format.bits()) as u64;
    if op.modifiers.ftz() && ty == ScalarType::F32 {
        format.flush(value)
    } else {
        value
    }
}

fn pack(to: ScalarType, v: &[u128]) -> Result<u128, Stop> {
    let width = to.bits();
    let (least, greatest) = range(to);
    let field = |x: u128| {
        cut(
            integer(x, ScalarType::S32)
                .clamp(least, greatest)
                .cast_unsigned(),
            width,
        )
    };
    let rest = v.get(2).map_or(0, |c| cut(c << (2 * width), 32));
    Ok(rest | field(v[0]) << width | field(v[1]))
}
