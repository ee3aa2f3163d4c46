//! Logic, shifts and bit fields.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, Value};
use cuprum_ptx::{Bounds, Direction, Flags, Op, Opcode, ScalarType};

use super::lower::{Lower, Lowered};
use super::registers::machine_type;
use crate::program::ir::Operand;

impl Lower<'_, '_, '_> {
    pub(super) fn logic(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = machine_type(op.ty());
        let predicate = op.ty() == ScalarType::Pred;
        let a = self.value(&o[1], ty)?;
        let result = match op.opcode {
            Opcode::Not if predicate => self.b.ins().bxor_imm_u(a, 1),
            Opcode::Not => self.b.ins().bnot(a),
            opcode => {
                let b = self.value(&o[2], ty)?;
                match opcode {
                    Opcode::And => self.b.ins().band(a, b),
                    Opcode::Or => self.b.ins().bor(a, b),
                    _ => self.b.ins().bxor(a, b),
                }
            }
        };
        self.set(&o[0], result)
    }

    /// `a << n`, 0 if `n` is the width or more.
    pub(super) fn shift_left_clamped(&mut self, a: Value, n: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        let shifted = self.b.ins().ishl(a, n);
        let width = self.iconst(I32, u64::from(ty.bits()));
        let inside = self.less(n, width);
        let zero = self.iconst(ty, 0);
        self.b.ins().select(inside, shifted, zero)
    }

    /// `a >> n`, all zeros or all signs if `n` is the width or more.
    pub(super) fn shift_right_clamped(&mut self, a: Value, n: Value, signed: bool) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        if signed {
            let last = self.iconst(I32, u64::from(ty.bits() - 1));
            let n = self.b.ins().umin(n, last);
            return self.b.ins().sshr(a, n);
        }
        let shifted = self.b.ins().ushr(a, n);
        let width = self.iconst(I32, u64::from(ty.bits()));
        let inside = self.less(n, width);
        let zero = self.iconst(ty, 0);
        self.b.ins().select(inside, shifted, zero)
    }

    pub(super) fn bits(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.types.first().copied().unwrap_or(ScalarType::B32);
        let machine = machine_type(ty);
        match op.opcode {
            Opcode::Shl | Opcode::Shr => {
                let a = self.value(&o[1], machine)?;
                let left = op.opcode == Opcode::Shl;
                let signed = ty.is_signed();
                let bits = u64::from(machine.bits());
                let result = match o[2] {
                    // Constant shifts need no comparison.
                    Operand::Int(by) if by & 0xffff_ffff < bits => {
                        let by = (by & 0xffff_ffff).cast_signed();
                        match (left, signed) {
                            (true, _) => self.b.ins().ishl_imm_u(a, by),
                            (false, true) => self.b.ins().sshr_imm_u(a, by),
                            (false, false) => self.b.ins().ushr_imm_u(a, by),
                        }
                    }
                    _ => {
                        let n = self.value(&o[2], I32)?;
                        if left {
                            self.shift_left_clamped(a, n)
                        } else {
                            self.shift_right_clamped(a, n, signed)
                        }
                    }
                };
                self.set_extended(&o[0], result, signed)
            }
            Opcode::Shf => {
                let low = self.value(&o[1], I32)?;
                let high = self.value(&o[2], I32)?;
                let n = self.value(&o[3], I32)?;
                let n = if op.modifiers.bounds() == Some(Bounds::Wrap) {
                    self.b.ins().band_imm_u(n, 31)
                } else {
                    let most = self.iconst(I32, 32);
                    self.b.ins().umin(n, most)
                };
                let low = self.b.ins().uextend(I64, low);
                let high = self.b.ins().uextend(I64, high);
                let high = self.b.ins().ishl_imm_u(high, 32);
                let both = self.b.ins().bor(high, low);
                let result = if op.modifiers.direction() == Some(Direction::L) {
                    let shifted = self.b.ins().ishl(both, n);
                    self.b.ins().ushr_imm_u(shifted, 32)
                } else {
                    self.b.ins().ushr(both, n)
                };
                self.set(&o[0], result)
            }
            Opcode::Popc => {
                let a = self.value(&o[1], machine)?;
                let result = self.b.ins().popcnt(a);
                self.set(&o[0], result)
            }
            Opcode::Clz => {
                let a = self.value(&o[1], machine)?;
                let result = self.b.ins().clz(a);
                self.set(&o[0], result)
            }
            Opcode::Brev => {
                let a = self.value(&o[1], machine)?;
                let result = self.b.ins().bitrev(a);
                self.set(&o[0], result)
            }
            Opcode::Bfind => {
                let shiftamt = if op.modifiers.flags().contains(Flags::SHIFTAMT) {
                    "shiftamt_"
                } else {
                    ""
                };
                let name = format!("bfind_{shiftamt}{}", ty.spelling());
                self.numeric_op(&name, o, &[machine])
            }
            Opcode::Bfe => self.bit_field_extract(op, o),
            Opcode::Bfi => self.bit_field_insert(o, op),
            Opcode::Bmsk | Opcode::Szext => {
                let mode = op.modifiers.bounds().map_or("wrap", Bounds::spelling);
                let base = op.opcode.spelling();
                let name = format!("{base}_{mode}_{}", ty.spelling());
                self.numeric_op(&name, o, &[I32, I32])
            }
            Opcode::Fns => self.numeric_op("fns_b32", o, &[I32, I32, I32]),
            Opcode::Prmt => self.permute(op, o),
            Opcode::Lop3 => self.lop3(op, o),
            Opcode::Dp4a | Opcode::Dp2a => self.dot_product(op, o),
            _ => Err("this bit instruction is not supported".to_owned()),
        }
    }

    /// An instruction that is a function of `numeric`.
    pub(super) fn numeric_op(
        &mut self,
        name: &str,
        o: &[Operand],
        types: &[cranelift_codegen::ir::Type],
    ) -> Lowered {
        let arguments = o[1..]
            .iter()
            .zip(types)
            .map(|(operand, &ty)| self.value(operand, ty))
            .collect::<Lowered<Vec<_>>>()?;
        let result = self.call_numeric(name, &arguments)?;
        self.set(&o[0], result)
    }

    fn byte_operand(&mut self, operand: &Operand) -> Lowered<Value> {
        let value = self.value(operand, I32)?;
        Ok(self.b.ins().band_imm_u(value, 0xff))
    }

    fn bit_field_extract(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let machine = machine_type(ty);
        let bits = u64::from(machine.bits());
        let a = self.value(&o[1], machine)?;
        let position = self.byte_operand(&o[2])?;
        let length = self.byte_operand(&o[3])?;
        let width = self.iconst(I32, bits);
        let zero = self.iconst(machine, 0);
        let result = if ty.is_signed() {
            // The field moves to the top and back down; beyond the top it is all sign.
            let sum = self.b.ins().iadd(position, length);
            let end = self.b.ins().umin(sum, width);
            let up = self.b.ins().isub(width, end);
            let beyond = self
                .b
                .ins()
                .icmp(IntCC::UnsignedGreaterThanOrEqual, position, width);
            let last = self.iconst(I32, bits - 1);
            let start = self.b.ins().umin(position, last);
            let down = self.b.ins().iadd(up, start);
            let raised = self.b.ins().ishl(a, up);
            let down = self.b.ins().umin(down, last);
            let field = self.b.ins().sshr(raised, down);
            let sign = self.b.ins().sshr(a, last);
            let field = self.b.ins().select(beyond, sign, field);
            self.b.ins().select(length, field, zero)
        } else {
            let shifted = self.shift_right_clamped(a, position, false);
            let mask = self.low_mask(length, machine);
            self.b.ins().band(shifted, mask)
        };
        self.set(&o[0], result)
    }

    /// The lowest `length` bits set.
    fn low_mask(&mut self, length: Value, ty: cranelift_codegen::ir::Type) -> Value {
        let one = self.iconst(ty, 1);
        let power = self.shift_left_clamped(one, length);
        self.b.ins().iadd_imm_s(power, -1)
    }

    fn bit_field_insert(&mut self, o: &[Operand], op: &Op) -> Lowered {
        let machine = machine_type(op.ty());
        let a = self.value(&o[1], machine)?;
        let b = self.value(&o[2], machine)?;
        let position = self.byte_operand(&o[3])?;
        let length = self.byte_operand(&o[4])?;
        let field = self.low_mask(length, machine);
        let mask = self.shift_left_clamped(field, position);
        let placed = self.shift_left_clamped(a, position);
        let inside = self.b.ins().band(placed, mask);
        let outside = self.b.ins().band_not(b, mask);
        let result = self.b.ins().bor(inside, outside);
        self.set(&o[0], result)
    }

    fn permute(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        if let Some(mode) = op.modifiers.prmt_mode() {
            let name = format!("prmt_{}_b32", mode.spelling());
            return self.numeric_op(&name, o, &[I32, I32, I32]);
        }
        let Operand::Int(selector) = o[3] else {
            return self.numeric_op("prmt_b32", o, &[I32, I32, I32]);
        };
        let low = self.value(&o[1], I32)?;
        let high = self.value(&o[2], I32)?;
        let mut result = None;
        let mut index = 0;
        while index < 4 {
            let pick = selector >> (4 * index) & 15;
            let byte = (pick & 7) as u32;
            let source = if byte < 4 { low } else { high };
            // Neighbouring bytes of one source move together.
            let mut run = 1;
            while pick < 8
                && index + run < 4
                && selector >> (4 * (index + run)) & 15 == pick + u64::from(run)
                && (byte + run) / 4 == byte / 4
            {
                run += 1;
            }
            let from = i64::from(byte % 4) * 8;
            let mut piece = self.b.ins().ushr_imm_u(source, from);
            if pick >= 8 {
                let byte = self.coerce(piece, I8);
                let sign = self.b.ins().sshr_imm_u(byte, 7);
                piece = self.coerce(sign, I32);
            } else if run < 4 {
                piece = self.b.ins().band_imm_u(piece, (1i64 << (8 * run)) - 1);
            }
            let placed = self.b.ins().ishl_imm_u(piece, i64::from(8 * index));
            result = Some(match result {
                None => placed,
                Some(before) => self.b.ins().bor(before, placed),
            });
            index += run;
        }
        self.set(&o[0], result.expect("four bytes were picked"))
    }

    /// Any function of three bits.
    fn lop3(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        if op.modifiers.bool_op().is_some() {
            return Err("`lop3` with a predicate is not supported".to_owned());
        }
        let Operand::Int(table) = o[4] else {
            return Err("`lop3` with a table that is no constant".to_owned());
        };
        let a = self.value(&o[1], I32)?;
        let b = self.value(&o[2], I32)?;
        let c = self.value(&o[3], I32)?;
        let with = self.lop2(b, c, table >> 4 & 15);
        let without = self.lop2(b, c, table & 15);
        let result = self.b.ins().bitselect(a, with, without);
        self.set(&o[0], result)
    }

    /// The function of two bits whose value for `b, c` is bit `2 b + c` of the table.
    fn lop2(&mut self, b: Value, c: Value, table: u64) -> Value {
        match table {
            0 => self.iconst(I32, 0),
            1 => {
                let or = self.b.ins().bor(b, c);
                self.b.ins().bnot(or)
            }
            2 => self.b.ins().band_not(c, b),
            3 => self.b.ins().bnot(b),
            4 => self.b.ins().band_not(b, c),
            5 => self.b.ins().bnot(c),
            6 => self.b.ins().bxor(b, c),
            7 => {
                let and = self.b.ins().band(b, c);
                self.b.ins().bnot(and)
            }
            8 => self.b.ins().band(b, c),
            9 => {
                let xor = self.b.ins().bxor(b, c);
                self.b.ins().bnot(xor)
            }
            10 => c,
            11 => self.b.ins().bor_not(c, b),
            12 => b,
            13 => self.b.ins().bor_not(b, c),
            14 => self.b.ins().bor(b, c),
            _ => self.iconst(I32, u64::from(u32::MAX)),
        }
    }

    /// `dp4a`, `dp2a`: sums of products of bytes (and halves).
    fn dot_product(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let four = op.opcode == Opcode::Dp4a;
        let a_signed = op.types.first().is_some_and(|ty| ty.is_signed());
        let b_signed = op.types.get(1).is_some_and(|ty| ty.is_signed());
        let a = self.value(&o[1], I32)?;
        let b = self.value(&o[2], I32)?;
        let mut sum = self.value(&o[3], I32)?;
        let upper = op.modifiers.hi();
        let (count, a_width) = if four { (4, 8) } else { (2, 16) };
        for index in 0..count {
            let b_index = if !four && upper { index + 2 } else { index };
            let field = |lower: &mut Self, value: Value, at: i64, width: i64, signed: bool| {
                let raised = lower.b.ins().ishl_imm_u(value, 32 - at - width);
                if signed {
                    lower.b.ins().sshr_imm_u(raised, 32 - width)
                } else {
                    lower.b.ins().ushr_imm_u(raised, 32 - width)
                }
            };
            let x = field(self, a, index * a_width, a_width, a_signed);
            let y = field(self, b, b_index * 8, 8, b_signed);
            let product = self.b.ins().imul(x, y);
            sum = self.b.ins().iadd(sum, product);
        }
        self.set(&o[0], sum)
    }
}
