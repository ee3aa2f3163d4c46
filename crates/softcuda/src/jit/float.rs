//! Arithmetic of `f32` and `f64`.
//!
//! Round-to-nearest operations are the host's; other roundings and approximations are functions of [`numeric`](crate::numeric). `.ftz` and
//! `.sat` are explicit selections: the host's control register would also affect `f64` and operations without `.ftz`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, I32};
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, Value};
use cuprum_ptx::{Op, Opcode, Rounding, ScalarType};

use super::lower::{Lower, Lowered};
use super::registers::machine_type;
use crate::program::ir::Operand;

impl Lower<'_, '_, '_> {
    /// An `f32` with subnormals replaced by zeros of their sign; other types as they are.
    pub(super) fn flush(&mut self, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) != F32 {
            return value;
        }
        let none = MemFlagsData::new();
        let bits = self.b.ins().bitcast(I32, none, value);
        let exponent = self.b.ins().band_imm_u(bits, 0x7f80_0000);
        let sign = self.b.ins().band_imm_u(bits, 0x8000_0000);
        let zero = self.b.ins().bitcast(F32, none, sign);
        self.b.ins().select(exponent, value, zero)
    }

    /// Clamped to [0, 1]; NaN becomes +0.
    pub(super) fn saturate(&mut self, value: Value) -> Value {
        let ty = self.b.func.dfg.value_type(value);
        let (zero, one) = if ty == F32 {
            (self.b.ins().f32const(0.0), self.b.ins().f32const(1.0))
        } else {
            (self.b.ins().f64const(0.0), self.b.ins().f64const(1.0))
        };
        let positive = self.b.ins().fcmp(FloatCC::GreaterThan, value, zero);
        let value = self.b.ins().select(positive, value, zero);
        let below = self.b.ins().fcmp(FloatCC::LessThan, value, one);
        self.b.ins().select(below, value, one)
    }

    /// Operands of a float instruction, flushed if it says so.
    fn float_operands(&mut self, op: &Op, o: &[Operand]) -> Lowered<Vec<Value>> {
        let ty = machine_type(op.ty());
        o[1..]
            .iter()
            .map(|operand| {
                let value = self.value(operand, ty)?;
                Ok(if op.modifiers.ftz() {
                    self.flush(value)
                } else {
                    value
                })
            })
            .collect()
    }

    fn float_result(&mut self, op: &Op, destination: &Operand, value: Value) -> Lowered {
        let mut value = value;
        if op.modifiers.ftz() {
            value = self.flush(value);
        }
        if op.modifiers.sat() {
            value = self.saturate(value);
        }
        self.set(destination, value)
    }

    pub(super) fn float(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        if op.types.len() > 1 {
            return Err("arithmetic of mixed types is not supported".to_owned());
        }
        let v = self.float_operands(op, o)?;
        let directed = match op.modifiers.rounding() {
            Some(mode @ (Rounding::Rz | Rounding::Rm | Rounding::Rp)) => Some(mode.spelling()),
            Some(Rounding::Rn) | None => None,
            Some(mode) => return Err(format!("rounding `.{}`", mode.spelling())),
        };
        let name = op.ty().spelling();
        let base = match op.opcode {
            Opcode::Mad => "fma",
            opcode => opcode.spelling(),
        };
        let result = match (op.opcode, directed) {
            (Opcode::Fma, Some("rm")) if op.ty() == ScalarType::F32 => {
                self.fma_rm(v[0], v[1], v[2])
            }
            (
                Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma | Opcode::Mad | Opcode::Div,
                Some(mode),
            ) => self.call_numeric(&format!("{base}_{mode}_{name}"), &v)?,
            (Opcode::Add, _) => self.b.ins().fadd(v[0], v[1]),
            (Opcode::Sub, _) => self.b.ins().fsub(v[0], v[1]),
            (Opcode::Mul, _) => self.b.ins().fmul(v[0], v[1]),
            (Opcode::Fma | Opcode::Mad, _) if self.unit.has_fma => {
                self.b.ins().fma(v[0], v[1], v[2])
            }
            (Opcode::Fma | Opcode::Mad, _) => self.call_numeric(&format!("fma_rn_{name}"), &v)?,
            (Opcode::Div, _) => {
                // Approximate division may be exact; the host's is. The flushed forms of huge divisors follow the ISA in `numeric`.
                if op.modifiers.approx() || op.modifiers.full() {
                    let kind = if op.modifiers.full() {
                        "full"
                    } else {
                        "approx"
                    };
                    let ftz = if op.modifiers.ftz() { "ftz_" } else { "" };
                    self.call_numeric(&format!("div_{kind}_{ftz}{name}"), &v)?
                } else {
                    self.b.ins().fdiv(v[0], v[1])
                }
            }
            (Opcode::Min | Opcode::Max, _) => self.float_extremum(op, &v)?,
            (Opcode::Abs, _) => self.b.ins().fabs(v[0]),
            (Opcode::Neg, _) => self.b.ins().fneg(v[0]),
            _ => return Err("this float instruction is not supported".to_owned()),
        };
        self.float_result(op, &o[0], result)
    }

    fn float_extremum(&mut self, op: &Op, v: &[Value]) -> Lowered<Value> {
        use cuprum_ptx::Flags;
        if op.modifiers.flags().contains(Flags::XORSIGN) {
            let nan = if op.modifiers.nan() { "nan_" } else { "" };
            let name = format!(
                "{}_{nan}xorsign_abs_{}",
                op.opcode.spelling(),
                op.ty().spelling()
            );
            return self.call_numeric(&name, v);
        }
        let mut result = v[0];
        for &next in &v[1..] {
            let both = if op.opcode == Opcode::Min {
                self.b.ins().fmin(result, next)
            } else {
                self.b.ins().fmax(result, next)
            };
            result = if op.modifiers.nan() {
                both
            } else {
                // The host's operation gives NaN if either is; PTX gives the other one.
                let left_nan = self.b.ins().fcmp(FloatCC::Unordered, result, result);
                let right_nan = self.b.ins().fcmp(FloatCC::Unordered, next, next);
                let without_right = self.b.ins().select(right_nan, result, both);
                self.b.ins().select(left_nan, next, without_right)
            };
        }
        Ok(result)
    }

    /// `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`.
    pub(super) fn float_function(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = machine_type(op.ty());
        let name = op.ty().spelling();
        let base = op.opcode.spelling();
        let exact = op.modifiers.rounding();
        if let (Some(Rounding::Rn), Opcode::Rcp | Opcode::Sqrt) = (exact, op.opcode) {
            let v = self.float_operands(op, o)?[0];
            let result = if op.opcode == Opcode::Sqrt {
                self.b.ins().sqrt(v)
            } else {
                let one = if ty == F32 {
                    self.b.ins().f32const(1.0)
                } else {
                    self.b.ins().f64const(1.0)
                };
                self.b.ins().fdiv(one, v)
            };
            return self.float_result(op, &o[0], result);
        }
        if let Some(mode) = exact {
            let v = self.float_operands(op, o)?;
            let result = self.call_numeric(&format!("{base}_{}_{name}", mode.spelling()), &v)?;
            return self.float_result(op, &o[0], result);
        }
        let v = self.value(&o[1], ty)?;
        if op.opcode == Opcode::Ex2 && op.ty() == ScalarType::F32 {
            let result = self.ex2_approx(v, op.modifiers.ftz());
            return self.set(&o[0], result);
        }
        let ftz = if op.modifiers.ftz() { "ftz_" } else { "" };
        let result = self.call_numeric(&format!("{base}_approx_{ftz}{name}"), &[v])?;
        self.set(&o[0], result)
    }

    pub(super) fn copysign(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = machine_type(op.ty());
        let sign = self.value(&o[1], ty)?;
        let magnitude = self.value(&o[2], ty)?;
        let result = self.b.ins().fcopysign(magnitude, sign);
        self.set(&o[0], result)
    }

    pub(super) fn testp(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        use cuprum_ptx::TestpMode;
        let double = op.ty() == ScalarType::F64;
        let ty = super::registers::integer_type(op.ty().bits());
        let bits = self.value(&o[1], ty)?;
        let (infinity, least_normal) = if double {
            (0x7ff0_0000_0000_0000u64, 0x0010_0000_0000_0000)
        } else {
            (0x7f80_0000, 0x0080_0000)
        };
        let doubled = self.b.ins().ishl_imm_u(bits, 1);
        let magnitude = self.b.ins().ushr_imm_u(doubled, 1);
        let infinity = self.iconst(ty, infinity);
        let normal = self.iconst(ty, least_normal);
        let mut compare = |code| self.b.ins().icmp(code, magnitude, infinity);
        let result = match op.modifiers.testp_mode() {
            Some(TestpMode::Finite) => compare(IntCC::UnsignedLessThan),
            Some(TestpMode::Infinite) => compare(IntCC::Equal),
            Some(TestpMode::Number) => compare(IntCC::UnsignedLessThanOrEqual),
            Some(TestpMode::NotANumber) => compare(IntCC::UnsignedGreaterThan),
            Some(TestpMode::Normal) => {
                let finite = compare(IntCC::UnsignedLessThan);
                let large = self
                    .b
                    .ins()
                    .icmp(IntCC::UnsignedGreaterThanOrEqual, magnitude, normal);
                // The ISA counts zeros as normal.
                let zero = self.iconst(ty, 0);
                let zero = self.b.ins().icmp(IntCC::Equal, magnitude, zero);
                let either = self.b.ins().bor(large, zero);
                self.b.ins().band(finite, either)
            }
            _ => {
                let small = self.less(magnitude, normal);
                let zero = self.iconst(ty, 0);
                let something = self.b.ins().icmp(IntCC::NotEqual, magnitude, zero);
                self.b.ins().band(small, something)
            }
        };
        self.set(&o[0], result)
    }
}
