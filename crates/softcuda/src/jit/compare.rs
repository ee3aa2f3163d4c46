//! Comparisons: `setp` and `set`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{I8, I32};
use cranelift_codegen::ir::{InstBuilder as _, Value};
use cuprum_ptx::{BoolOp, Compare, Op, ScalarType};

use super::lower::{Lower, Lowered};
use super::registers::{integer_type, machine_type};
use crate::program::ir::Operand;

fn integer_condition(compare: Compare, signed: bool) -> Lowered<IntCC> {
    Ok(match (compare, signed) {
        (Compare::Eq, _) => IntCC::Equal,
        (Compare::Ne, _) => IntCC::NotEqual,
        (Compare::Lt, true) => IntCC::SignedLessThan,
        (Compare::Le, true) => IntCC::SignedLessThanOrEqual,
        (Compare::Gt, true) => IntCC::SignedGreaterThan,
        (Compare::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (Compare::Lt | Compare::Lo, _) => IntCC::UnsignedLessThan,
        (Compare::Le | Compare::Ls, _) => IntCC::UnsignedLessThanOrEqual,
        (Compare::Gt | Compare::Hi, _) => IntCC::UnsignedGreaterThan,
        (Compare::Ge | Compare::Hs, _) => IntCC::UnsignedGreaterThanOrEqual,
        _ => return Err(format!("comparison `.{}` of integers", compare.spelling())),
    })
}

fn float_condition(compare: Compare) -> Lowered<FloatCC> {
    Ok(match compare {
        Compare::Eq => FloatCC::Equal,
        Compare::Ne => FloatCC::OrderedNotEqual,
        Compare::Lt => FloatCC::LessThan,
        Compare::Le => FloatCC::LessThanOrEqual,
        Compare::Gt => FloatCC::GreaterThan,
        Compare::Ge => FloatCC::GreaterThanOrEqual,
        Compare::Equ => FloatCC::UnorderedOrEqual,
        Compare::Neu => FloatCC::NotEqual,
        Compare::Ltu => FloatCC::UnorderedOrLessThan,
        Compare::Leu => FloatCC::UnorderedOrLessThanOrEqual,
        Compare::Gtu => FloatCC::UnorderedOrGreaterThan,
        Compare::Geu => FloatCC::UnorderedOrGreaterThanOrEqual,
        Compare::Num => FloatCC::Ordered,
        Compare::Nan => FloatCC::Unordered,
        _ => return Err(format!("comparison `.{}` of floats", compare.spelling())),
    })
}

impl Lower<'_, '_, '_> {
    /// Compares two operands of `ty`.
    fn compare(&mut self, op: &Op, ty: ScalarType, a: &Operand, b: &Operand) -> Lowered<Value> {
        let compare = op
            .modifiers
            .compare()
            .ok_or("a comparison without condition")?;
        match ty {
            ScalarType::F32 | ScalarType::F64 => {
                let machine = machine_type(ty);
                let mut a = self.value(a, machine)?;
                let mut b = self.value(b, machine)?;
                if op.modifiers.ftz() {
                    (a, b) = (self.flush(a), self.flush(b));
                }
                Ok(self.b.ins().fcmp(float_condition(compare)?, a, b))
            }
            ScalarType::F16 | ScalarType::Bf16 => {
                let mask = self.half_mask(op, ty, a, b)?;
                let zero = self.iconst(I32, 0);
                Ok(self.b.ins().icmp(IntCC::NotEqual, mask, zero))
            }
            _ if ty.is_float() => Err("comparison of this type is not supported".to_owned()),
            _ => {
                let machine = integer_type(ty.bits());
                let a = self.value(a, machine)?;
                let b = self.value(b, machine)?;
                Ok(self
                    .b
                    .ins()
                    .icmp(integer_condition(compare, ty.is_signed())?, a, b))
            }
        }
    }

    /// Comparison of halves: all ones in each half for which it holds.
    fn half_mask(&mut self, op: &Op, ty: ScalarType, a: &Operand, b: &Operand) -> Lowered<Value> {
        let compare = op
            .modifiers
            .compare()
            .ok_or("a comparison without condition")?;
        let name = ty.spelling();
        let mut v = [self.value(a, I32)?, self.value(b, I32)?];
        if op.modifiers.ftz() && matches!(ty, ScalarType::F16 | ScalarType::F16x2) {
            for value in &mut v {
                *value = self.call_numeric(&format!("ftz_{name}"), &[*value])?;
            }
        }
        self.call_numeric(&format!("mask_{}_{name}", compare.spelling()), &v)
    }

    fn combine(&mut self, op: &Op, result: Value, with: Value) -> Value {
        match op.modifiers.bool_op() {
            Some(BoolOp::And) => self.b.ins().band(result, with),
            Some(BoolOp::Or) => self.b.ins().bor(result, with),
            Some(BoolOp::Xor) => self.b.ins().bxor(result, with),
            None => result,
        }
    }

    pub(super) fn setp(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        if matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2) {
            return self.setp_pair(op, o);
        }
        let result = self.compare(op, ty, &o[1], &o[2])?;
        let with = match o.get(3) {
            Some(operand) => Some(self.predicate(operand)?),
            None => None,
        };
        let combined = |lower: &mut Self, value| match with {
            Some(with) => lower.combine(op, value, with),
            None => value,
        };
        match &o[0] {
            Operand::Pair(pair) => {
                let opposite = self.b.ins().bxor_imm_u(result, 1);
                let first = combined(self, result);
                let second = combined(self, opposite);
                self.set(&pair[0], first)?;
                self.set(&pair[1], second)
            }
            destination => {
                let result = combined(self, result);
                self.set(destination, result)
            }
        }
    }

    /// `setp.f16x2 p|q`: one predicate for each half.
    fn setp_pair(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let mask = self.half_mask(op, op.ty(), &o[1], &o[2])?;
        let Operand::Pair(pair) = &o[0] else {
            return Err("a comparison of pairs needs two predicates".to_owned());
        };
        let with = match o.get(3) {
            Some(operand) => Some(self.predicate(operand)?),
            None => None,
        };
        for (destination, shift) in pair.iter().zip([0, 16]) {
            let part = self.b.ins().ushr_imm_u(mask, shift);
            let bit = self.b.ins().band_imm_u(part, 1);
            let mut bit = self.coerce(bit, I8);
            if let Some(with) = with {
                bit = self.combine(op, bit, with);
            }
            self.set(destination, bit)?;
        }
        Ok(())
    }

    /// `set`: ones or 1.0 where the comparison holds.
    pub(super) fn set_compare(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let to = op.ty();
        let from = *op.types.get(1).ok_or("`set` without source type")?;
        if matches!(from, ScalarType::F16x2 | ScalarType::Bf16x2) {
            let mut mask = self.half_mask(op, from, &o[1], &o[2])?;
            if let Some(operand) = o.get(3) {
                let with = self.predicate(operand)?;
                let with = self.coerce(with, I32);
                let with = self.b.ins().ineg(with);
                mask = self.combine(op, mask, with);
            }
            let ones: i64 = match to {
                ScalarType::F16x2 => 0x3c00_3c00,
                ScalarType::Bf16x2 => 0x3f80_3f80,
                _ => 0xffff_ffff,
            };
            let result = self.b.ins().band_imm_u(mask, ones);
            return self.set(&o[0], result);
        }
        let mut result = self.compare(op, from, &o[1], &o[2])?;
        if let Some(operand) = o.get(3) {
            let with = self.predicate(operand)?;
            result = self.combine(op, result, with);
        }
        let ty = integer_type(to.bits());
        let yes = match to {
            ScalarType::F32 => u64::from(1f32.to_bits()),
            ScalarType::F16 => 0x3c00,
            ScalarType::Bf16 => 0x3f80,
            _ => u64::MAX,
        };
        let yes = self.iconst(ty, yes);
        let no = self.iconst(ty, 0);
        let value = self.b.ins().select(result, yes, no);
        self.set(&o[0], value)
    }
}
