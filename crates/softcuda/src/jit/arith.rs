//! Integer arithmetic (PTX ISA section "Integer Arithmetic Instructions" and "Extended-Precision Arithmetic").

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, Type, Value};
use cuprum_ptx::{Op, Opcode, Part, ScalarType};

use super::lower::{Lower, Lowered};
use super::registers::{integer_type, machine_type};
use crate::program::ir::Operand;

impl Lower<'_, '_, '_> {
    pub(super) fn integer(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        if ty.bits() == 32
            && matches!(
                ty,
                ScalarType::U16x2 | ScalarType::S16x2 | ScalarType::U8x4 | ScalarType::S8x4
            )
        {
            return self.packed_integer(op, o);
        }
        let machine = machine_type(ty);
        let signed = ty.is_signed();
        match op.opcode {
            Opcode::Add | Opcode::Addc | Opcode::Sub | Opcode::Subc => {
                let a = self.value(&o[1], machine)?;
                let b = self.value(&o[2], machine)?;
                self.add_sub(op, o, a, b)
            }
            Opcode::Mul | Opcode::Mad | Opcode::Madc => self.multiply(op, o),
            Opcode::Mul24 | Opcode::Mad24 => {
                let (a, b) = (self.value(&o[1], I32)?, self.value(&o[2], I32)?);
                let part = op.modifiers.part().map_or("lo", Part::spelling);
                let name = format!("mul24_{part}_{}", ty.spelling());
                let product = self.call_numeric(&name, &[a, b])?;
                let result = if op.opcode == Opcode::Mad24 {
                    let c = self.value(&o[3], I32)?;
                    if op.modifiers.sat() {
                        self.saturating(product, c, true)
                    } else {
                        self.b.ins().iadd(product, c)
                    }
                } else {
                    product
                };
                self.set(&o[0], result)
            }
            Opcode::Div | Opcode::Rem => {
                let a = self.value(&o[1], machine)?;
                let b = self.value(&o[2], machine)?;
                let constant = match o[2] {
                    Operand::Int(value) => Some(value),
                    _ => None,
                };
                let result = self.divide(op.opcode == Opcode::Rem, signed, a, b, constant);
                self.set_extended(&o[0], result, signed)
            }
            Opcode::Sad => {
                let a = self.value(&o[1], machine)?;
                let b = self.value(&o[2], machine)?;
                let c = self.value(&o[3], machine)?;
                let (low, high) = if signed {
                    (self.b.ins().smin(a, b), self.b.ins().smax(a, b))
                } else {
                    (self.b.ins().umin(a, b), self.b.ins().umax(a, b))
                };
                let difference = self.b.ins().isub(high, low);
                let result = self.b.ins().iadd(difference, c);
                self.set(&o[0], result)
            }
            Opcode::Abs => {
                let a = self.value(&o[1], machine)?;
                let result = self.b.ins().iabs(a);
                self.set_extended(&o[0], result, signed)
            }
            Opcode::Neg => {
                let a = self.value(&o[1], machine)?;
                let result = self.b.ins().ineg(a);
                self.set_extended(&o[0], result, signed)
            }
            Opcode::Min | Opcode::Max => {
                let a = self.value(&o[1], machine)?;
                let b = self.value(&o[2], machine)?;
                let mut result = match (op.opcode, signed) {
                    (Opcode::Min, true) => self.b.ins().smin(a, b),
                    (Opcode::Min, false) => self.b.ins().umin(a, b),
                    (_, true) => self.b.ins().smax(a, b),
                    (_, false) => self.b.ins().umax(a, b),
                };
                if op.modifiers.relu() {
                    let zero = self.iconst(machine, 0);
                    result = self.b.ins().smax(result, zero);
                }
                self.set_extended(&o[0], result, signed)
            }
            _ => Err("this integer instruction is not supported".to_owned()),
        }
    }

    /// Sum or difference, with saturation or carry.
    fn add_sub(&mut self, op: &Op, o: &[Operand], a: Value, b: Value) -> Lowered {
        let subtract = matches!(op.opcode, Opcode::Sub | Opcode::Subc);
        let signed = op.ty().is_signed();
        if op.modifiers.sat() {
            let result = self.saturating(a, b, !subtract);
            return self.set(&o[0], result);
        }
        let carry_in = match op.opcode {
            Opcode::Addc => Some(self.predicate(&o[3])?),
            // Hardware adds the complement and one more, so the flag is clear where a difference borrows. NVRTC's
            // 128-bit division reads the flag of a `subc.cc` with an `addc`.
            Opcode::Subc => {
                let flag = self.predicate(&o[3])?;
                Some(self.b.ins().bxor_imm_u(flag, 1))
            }
            _ => None,
        };
        if carry_in.is_none() && !op.modifiers.cc() {
            let result = if subtract {
                self.b.ins().isub(a, b)
            } else {
                self.b.ins().iadd(a, b)
            };
            return self.set_extended(&o[0], result, signed);
        }
        let (result, mut carry) = self.with_carry(a, b, carry_in, subtract);
        self.set_extended(&o[0], result, signed)?;
        if op.modifiers.cc() {
            if subtract {
                carry = self.b.ins().bxor_imm_u(carry, 1);
            }
            self.set(&o[o.len() - 1], carry)?;
        }
        Ok(())
    }

    /// Sum or difference with carry (borrow) in, and the carry (borrow) out.
    fn with_carry(
        &mut self,
        a: Value,
        b: Value,
        carry: Option<Value>,
        subtract: bool,
    ) -> (Value, Value) {
        let ty = self.b.func.dfg.value_type(a);
        let step = |lower: &mut Self, x: Value, y: Value| {
            if subtract {
                let difference = lower.b.ins().isub(x, y);
                (difference, lower.less(x, y))
            } else {
                let sum = lower.b.ins().iadd(x, y);
                (sum, lower.less(sum, x))
            }
        };
        let (result, out) = step(self, a, b);
        match carry {
            None => (result, out),
            Some(carry) => {
                let carry = self.coerce(carry, ty);
                let (result, more) = step(self, result, carry);
                (result, self.b.ins().bor(out, more))
            }
        }
    }

    /// Signed sum or difference clamped to 32 bits.
    fn saturating(&mut self, a: Value, b: Value, add: bool) -> Value {
        let a = self.b.ins().sextend(I64, a);
        let b = self.b.ins().sextend(I64, b);
        let wide = if add {
            self.b.ins().iadd(a, b)
        } else {
            self.b.ins().isub(a, b)
        };
        self.clamp_signed(wide, i64::from(i32::MIN), i64::from(i32::MAX), I32)
    }

    /// Clamps and narrows.
    pub(super) fn clamp_signed(&mut self, value: Value, low: i64, high: i64, to: Type) -> Value {
        let ty = self.b.func.dfg.value_type(value);
        let low = self.iconst(ty, low.cast_unsigned());
        let high = self.iconst(ty, high.cast_unsigned());
        let value = self.b.ins().smax(value, low);
        let value = self.b.ins().smin(value, high);
        self.coerce(value, to)
    }

    fn extend(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        if self.b.func.dfg.value_type(value) == ty {
            value
        } else if signed {
            self.b.ins().sextend(ty, value)
        } else {
            self.b.ins().uextend(ty, value)
        }
    }

    fn multiply(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let machine = machine_type(ty);
        let signed = ty.is_signed();
        let a = self.value(&o[1], machine)?;
        if op.modifiers.part() == Some(Part::Wide)
            && let (32, Operand::Int(factor)) = (ty.bits(), &o[2])
        {
            let a = self.extend(a, I64, signed);
            let factor = if signed {
                i64::from(*factor as i32).cast_unsigned()
            } else {
                u64::from(*factor as u32)
            };
            let factor = self.iconst(I64, factor);
            let product = self.b.ins().imul(a, factor);
            return self.finish_product(op, o, product);
        }
        let b = self.value(&o[2], machine)?;
        let product = match op.modifiers.part() {
            Some(Part::Wide) => {
                let wide = integer_type(2 * ty.bits());
                let a = self.extend(a, wide, signed);
                let b = self.extend(b, wide, signed);
                self.b.ins().imul(a, b)
            }
            Some(Part::Hi) => {
                if ty.bits() == 64 {
                    if signed {
                        self.b.ins().smulhi(a, b)
                    } else {
                        self.b.ins().umulhi(a, b)
                    }
                } else {
                    let wide = integer_type(2 * ty.bits());
                    let a = self.extend(a, wide, signed);
                    let b = self.extend(b, wide, signed);
                    let product = self.b.ins().imul(a, b);
                    let high = self.b.ins().ushr_imm_u(product, i64::from(ty.bits()));
                    self.coerce(high, machine)
                }
            }
            _ => self.b.ins().imul(a, b),
        };
        self.finish_product(op, o, product)
    }

    /// Stores a product, or its sum with the third operand.
    fn finish_product(&mut self, op: &Op, o: &[Operand], product: Value) -> Lowered {
        let ty = op.ty();
        let machine = machine_type(ty);
        let signed = ty.is_signed();
        let result_type = self.b.func.dfg.value_type(product);
        match op.opcode {
            Opcode::Mul => self.set_extended(&o[0], product, signed),
            Opcode::Mad if op.modifiers.sat() => {
                let c = self.value(&o[3], machine)?;
                let result = self.saturating(product, c, true);
                self.set(&o[0], result)
            }
            _ => {
                let c = self.value(&o[3], result_type)?;
                let carry_in = match op.opcode {
                    Opcode::Madc => Some(self.predicate(&o[4])?),
                    _ => None,
                };
                if carry_in.is_none() && !op.modifiers.cc() {
                    let result = self.b.ins().iadd(product, c);
                    return self.set_extended(&o[0], result, signed);
                }
                let (result, carry) = self.with_carry(product, c, carry_in, false);
                self.set_extended(&o[0], result, signed)?;
                if op.modifiers.cc() {
                    self.set(&o[o.len() - 1], carry)?;
                }
                Ok(())
            }
        }
    }

    /// Quotient or remainder as hardware gives them, also where mathematics gives none.
    fn divide(
        &mut self,
        remainder: bool,
        signed: bool,
        a: Value,
        b: Value,
        constant: Option<u64>,
    ) -> Value {
        let narrow = self.b.func.dfg.value_type(a);
        // 8 and 16 bits divide in 32, as hardware does.
        let ty = if narrow.bits() < 32 { I32 } else { narrow };
        let a = self.extend(a, ty, signed);
        let b = self.extend(b, ty, signed);
        let one = self.iconst(ty, 1);
        let ones = self.iconst(ty, u64::MAX);
        let safe_constant = constant.is_some_and(|value| {
            let bits = value & (u64::MAX >> (64 - narrow.bits()));
            bits != 0 && bits != u64::MAX >> (64 - narrow.bits())
        });
        let zero = self.iconst(ty, 0);
        let by_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
        let by_minus_one = self.b.ins().icmp(IntCC::Equal, b, ones);
        let divisor = if safe_constant {
            b
        } else {
            let unsafe_divisor = if signed {
                self.b.ins().bor(by_zero, by_minus_one)
            } else {
                by_zero
            };
            self.b.ins().select(unsafe_divisor, one, b)
        };
        let mut result = match (remainder, signed) {
            (false, true) => self.b.ins().sdiv(a, divisor),
            (false, false) => self.b.ins().udiv(a, divisor),
            (true, true) => self.b.ins().srem(a, divisor),
            (true, false) => self.b.ins().urem(a, divisor),
        };
        if !safe_constant {
            if signed && !remainder {
                let negated = self.b.ins().ineg(a);
                result = self.b.ins().select(by_minus_one, negated, result);
            }
            // Hardware's 64-bit routine divides small operands in 32 bits, and so answers 32 ones for them.
            let nothing = if ty == I64 {
                let high = self.b.ins().ushr_imm_u(a, 32);
                let low_ones = self.iconst(I64, 0xffff_ffff);
                self.b.ins().select(high, ones, low_ones)
            } else {
                ones
            };
            result = self.b.ins().select(by_zero, nothing, result);
        }
        self.coerce(result, narrow)
    }

    /// Operations on each half or byte of a word.
    fn packed_integer(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let bytes = matches!(ty, ScalarType::U8x4 | ScalarType::S8x4);
        let signed = ty.is_signed();
        let (part, count) = if bytes { (I8, 4) } else { (I16, 2) };
        let operands = o[1..]
            .iter()
            .map(|operand| self.value(operand, I32))
            .collect::<Lowered<Vec<_>>>()?;
        let mut packed = self.iconst(I32, 0);
        for index in 0..count {
            let by = i64::from(index * part.bits());
            let lane = |lower: &mut Self, value: Value| {
                let shifted = lower.b.ins().ushr_imm_u(value, by);
                let piece = lower.coerce(shifted, part);
                lower.extend(piece, I32, signed)
            };
            let a = lane(self, operands[0]);
            let result = match (op.opcode, operands.get(1)) {
                (Opcode::Neg, None) => self.b.ins().ineg(a),
                (Opcode::Abs, None) => self.b.ins().iabs(a),
                (opcode, Some(&b)) => {
                    let b = lane(self, b);
                    match (opcode, signed) {
                        (Opcode::Add, _) => self.b.ins().iadd(a, b),
                        (Opcode::Sub, _) => self.b.ins().isub(a, b),
                        (Opcode::Min, true) => self.b.ins().smin(a, b),
                        (Opcode::Min, false) => self.b.ins().umin(a, b),
                        (Opcode::Max, true) => self.b.ins().smax(a, b),
                        (Opcode::Max, false) => self.b.ins().umax(a, b),
                        _ => return Err("this packed instruction is not supported".to_owned()),
                    }
                }
                _ => return Err("this packed instruction is not supported".to_owned()),
            };
            let result = if op.modifiers.relu() {
                let zero = self.iconst(I32, 0);
                self.b.ins().smax(result, zero)
            } else {
                result
            };
            if op.modifiers.sat() {
                return Err("saturating packed instructions are not supported".to_owned());
            }
            let piece = self.coerce(result, part);
            let wide = self.coerce(piece, I32);
            let placed = self.b.ins().ishl_imm_u(wide, by);
            packed = self.b.ins().bor(packed, placed);
        }
        self.set(&o[0], packed)
    }
}
