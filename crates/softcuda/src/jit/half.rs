//! Arithmetic of `f16` and `bf16`, alone and in pairs: functions of [`numeric`](crate::numeric), since Cranelift has no such type.

use cranelift_codegen::ir::types::I32;
use cranelift_codegen::ir::{InstBuilder as _, Value};
use cuprum_ptx::{Flags, Op, Opcode, Rounding, ScalarType};

use super::lower::{Lower, Lowered};
use crate::program::ir::Operand;

impl Lower<'_, '_, '_> {
    pub(super) fn half(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        if op.types.iter().any(|&other| other != ty) {
            return Err("arithmetic of mixed types is not supported".to_owned());
        }
        if !matches!(op.modifiers.rounding(), None | Some(Rounding::Rn)) {
            return Err("this rounding of halves is not supported".to_owned());
        }
        let name = ty.spelling();
        let ftz = op.modifiers.ftz() && matches!(ty, ScalarType::F16 | ScalarType::F16x2);
        let mut v = Vec::new();
        for operand in &o[1..] {
            let value = self.value(operand, I32)?;
            v.push(if ftz {
                self.call_numeric(&format!("ftz_{name}"), &[value])?
            } else {
                value
            });
        }
        let pair = matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
        let signs: i64 = if pair { 0x8000_8000 } else { 0x8000 };
        let mut result: Value = match op.opcode {
            Opcode::Add | Opcode::Sub | Opcode::Mul => {
                self.call_numeric(&format!("{}_{name}", op.opcode.spelling()), &v)?
            }
            Opcode::Fma | Opcode::Mad => self.call_numeric(&format!("fma_rn_{name}"), &v)?,
            Opcode::Neg => self.b.ins().bxor_imm_u(v[0], signs),
            Opcode::Abs => {
                let sign = self.b.ins().band_imm_u(v[0], signs);
                self.b.ins().bxor(v[0], sign)
            }
            Opcode::Min | Opcode::Max => {
                let nan = if op.modifiers.nan() { "nan_" } else { "" };
                let xor = if op.modifiers.flags().contains(Flags::XORSIGN) {
                    "xorsign_abs_"
                } else {
                    ""
                };
                let base = op.opcode.spelling();
                let name = format!("{base}_{nan}{xor}{name}");
                let mut result = v[0];
                for &next in &v[1..] {
                    result = self.call_numeric(&name, &[result, next])?;
                }
                result
            }
            Opcode::Ex2 | Opcode::Tanh => {
                let flushed = if matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2)
                    && op.opcode == Opcode::Ex2
                {
                    "ftz_"
                } else {
                    ""
                };
                let base = op.opcode.spelling();
                self.call_numeric(&format!("{base}_approx_{flushed}{name}"), &v)?
            }
            _ => return Err("this instruction on halves is not supported".to_owned()),
        };
        if ftz {
            result = self.call_numeric(&format!("ftz_{name}"), &[result])?;
        }
        if op.modifiers.sat() {
            result = self.call_numeric(&format!("sat_{name}"), &[result])?;
        }
        if op.modifiers.relu() {
            result = self.call_numeric(&format!("relu_{name}"), &[result])?;
        }
        self.set(&o[0], result)
    }
}
