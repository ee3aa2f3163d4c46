//! Moves, packing and unpacking of vectors, selection.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, I32, I128};
use cranelift_codegen::ir::{InstBuilder as _, Type, Value};
use cuprum_ptx::{Op, ScalarType};

use super::lower::{Lower, Lowered};
use super::registers::{integer_type, machine_type};
use crate::program::ir::Operand;

impl Lower<'_, '_, '_> {
    /// Elements of equal width side by side, the first lowest.
    pub(super) fn pack(&mut self, elements: &[Operand], ty: Type) -> Lowered<Value> {
        let whole = integer_type(ty.bits());
        let width = whole.bits() / elements.len() as u32;
        let part = integer_type(width);
        if part.bits() != width {
            return Err("a vector that does not fill the register".to_owned());
        }
        let mut packed = None;
        for (index, element) in elements.iter().enumerate() {
            let value = self.value(element, part)?;
            let wide = self.coerce(value, whole);
            let wide = self.shift_left(wide, index as u32 * width);
            packed = Some(match packed {
                None => wide,
                Some(low) => self.b.ins().bor(low, wide),
            });
        }
        let packed = packed.ok_or("an empty vector")?;
        Ok(self.coerce(packed, ty))
    }

    fn shift_left(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        let by = self.iconst(I32, u64::from(by));
        self.b.ins().ishl(value, by)
    }

    /// The reverse of [`pack`](Self::pack).
    pub(super) fn unpack(&mut self, elements: &[Operand], value: Value) -> Lowered {
        let bits = self.b.func.dfg.value_type(value).bits();
        let whole = self.coerce(value, integer_type(bits));
        let width = bits / elements.len().max(1) as u32;
        let part = integer_type(width);
        if part.bits() != width {
            return Err("a vector that the register does not fill".to_owned());
        }
        for (index, element) in elements.iter().enumerate() {
            let by = index as u32 * width;
            let shifted = if by == 0 {
                whole
            } else {
                let by = self.iconst(I32, u64::from(by));
                self.b.ins().ushr(whole, by)
            };
            let piece = self.coerce(shifted, part);
            self.set(element, piece)?;
        }
        Ok(())
    }

    pub(super) fn mov(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = match (&o[0], op.ty()) {
            (_, ScalarType::Pred) => machine_type(ScalarType::Pred),
            (Operand::Reg(reg), ty) if self.classes[*reg as usize].bits() == ty.bits() => {
                self.classes[*reg as usize]
            }
            (_, ScalarType::B128) => I128,
            (_, ty) => machine_type(ty),
        };
        let value = if op.ty() == ScalarType::Pred
            && let Operand::Int(value) = o[1]
        {
            self.truth(value != 0)
        } else {
            self.typed(op, &o[1], ty)?
        };
        self.set(&o[0], value)
    }

    /// An operand as a value of type `ty`, a constant as the instruction's own type reads it: `mov.b32` of an integer into a register that holds
    /// floats moves bits.
    fn typed(&mut self, op: &Op, operand: &Operand, ty: Type) -> Lowered<Value> {
        let own = match operand {
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => machine_type(op.ty()),
            _ => ty,
        };
        let value = self.value(operand, own)?;
        Ok(self.coerce(value, ty))
    }

    pub(super) fn selp(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = match &o[0] {
            Operand::Reg(reg) if self.classes[*reg as usize].bits() == op.ty().bits() => {
                self.classes[*reg as usize]
            }
            _ => machine_type(op.ty()),
        };
        let a = self.typed(op, &o[1], ty)?;
        let b = self.typed(op, &o[2], ty)?;
        let condition = self.predicate(&o[3])?;
        let value = self.b.ins().select(condition, a, b);
        self.set(&o[0], value)
    }

    /// `slct`: the first if the selector is not negative.
    pub(super) fn slct(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = machine_type(op.ty());
        let a = self.value(&o[1], ty)?;
        let b = self.value(&o[2], ty)?;
        let condition = if op.types.get(1) == Some(&ScalarType::F32) {
            let selector = self.value(&o[3], F32)?;
            // Subnormals compare like the zeros they are flushed to, except below zero.
            let selector = if op.modifiers.ftz() {
                self.flush(selector)
            } else {
                selector
            };
            let zero = self.b.ins().f32const(0.0);
            self.b
                .ins()
                .fcmp(FloatCC::GreaterThanOrEqual, selector, zero)
        } else {
            let selector = self.value(&o[3], I32)?;
            let zero = self.iconst(I32, 0);
            self.b
                .ins()
                .icmp(IntCC::SignedGreaterThanOrEqual, selector, zero)
        };
        let value = self.b.ins().select(condition, a, b);
        self.set(&o[0], value)
    }
}
