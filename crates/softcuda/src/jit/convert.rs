//! `cvt`: conversions between number types.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, Value};
use cuprum_ptx::{Flags, Op, Rounding, ScalarType};

use super::lower::{Lower, Lowered};
use super::registers::{integer_type, machine_type};
use crate::program::ir::Operand;

fn is_half(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16 | ScalarType::Bf16)
}

fn is_plain_float(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F32 | ScalarType::F64)
}

fn is_plain_integer(ty: ScalarType) -> bool {
    (ty.is_integer() || ty.is_bits())
        && !matches!(
            ty,
            ScalarType::U16x2 | ScalarType::S16x2 | ScalarType::U8x4 | ScalarType::S8x4
        )
}

/// The least and greatest value of an integer type, as far as 64 bits signed hold them.
fn range(ty: ScalarType) -> (i64, i64) {
    let bits = ty.bits();
    match (ty.is_signed(), bits) {
        (true, 64) => (i64::MIN, i64::MAX),
        (true, _) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, 64) => (0, i64::MAX),
        (false, _) => (0, (1 << bits) - 1),
    }
}

impl Lower<'_, '_, '_> {
    pub(super) fn cvt(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        if op.modifiers.flags().contains(Flags::PACK) {
            return self.cvt_pack(op, o);
        }
        let (to, from) = (op.types[0], op.types[1]);
        if op.types.len() > 2 || o.len() > 2 {
            return self.cvt_pair(op, o);
        }
        if is_plain_integer(to) && is_plain_integer(from) {
            return self.integer_to_integer(op, o, to, from);
        }
        let value = match (is_plain_integer(from), is_plain_integer(to)) {
            (true, false) if is_plain_float(to) || is_half(to) => {
                self.integer_to_float(op, o, to, from)?
            }
            (false, true) if is_plain_float(from) => {
                let source = self.value(&o[1], machine_type(from))?;
                let source = if op.modifiers.ftz() {
                    self.flush(source)
                } else {
                    source
                };
                let value = self.float_to_integer(op, source, to, from)?;
                return self.set_extended(&o[0], value, to.is_signed());
            }
            (false, true) if is_half(from) => {
                let source = self.value(&o[1], I32)?;
                let wide = self.call_numeric(&format!("cvt_f32_{}", from.spelling()), &[source])?;
                let value = self.float_to_integer(op, wide, to, ScalarType::F32)?;
                return self.set_extended(&o[0], value, to.is_signed());
            }
            (false, false) => self.float_to_float(op, o, to, from)?,
            _ => return Err("this conversion is not supported".to_owned()),
        };
        let value = if op.modifiers.sat() && is_half(to) {
            self.call_numeric("sat_f16", &[value])?
        } else if op.modifiers.sat() {
            self.saturate(value)
        } else {
            value
        };
        let value = if op.modifiers.relu() && is_half(to) {
            self.call_numeric(&format!("relu_{}", to.spelling()), &[value])?
        } else {
            value
        };
        self.set(&o[0], value)
    }

    fn integer_to_integer(
        &mut self,
        op: &Op,
        o: &[Operand],
        to: ScalarType,
        from: ScalarType,
    ) -> Lowered {
        let source = self.value(&o[1], integer_type(from.bits()))?;
        let wide = if from.bits() == 64 {
            source
        } else if from.is_signed() {
            self.b.ins().sextend(I64, source)
        } else {
            self.b.ins().uextend(I64, source)
        };
        let machine = integer_type(to.bits());
        let result = if op.modifiers.sat() {
            let (low, high) = range(to);
            if from.is_signed() {
                self.clamp_signed(wide, low, high, machine)
            } else if to.bits() == 64 && !to.is_signed() {
                wide
            } else {
                let high = self.iconst(I64, high.cast_unsigned());
                let clamped = self.b.ins().umin(wide, high);
                self.coerce(clamped, machine)
            }
        } else {
            self.coerce(wide, machine)
        };
        self.set_extended(&o[0], result, to.is_signed())
    }

    fn integer_to_float(
        &mut self,
        op: &Op,
        o: &[Operand],
        to: ScalarType,
        from: ScalarType,
    ) -> Lowered<Value> {
        let source = self.value(&o[1], integer_type(from.bits()))?;
        let signed = from.is_signed();
        let machine = machine_type(to);
        let mode = op.modifiers.rounding().unwrap_or(Rounding::Rn);
        // Integers that the significand holds need no rounding.
        let exact = from.bits() <= if to == ScalarType::F64 { 32 } else { 16 };
        if is_plain_float(to) && (mode == Rounding::Rn || exact) {
            let wide = if from.bits() < 32 {
                I32
            } else {
                integer_type(from.bits())
            };
            let source = match (self.b.func.dfg.value_type(source) == wide, signed) {
                (true, _) => source,
                (false, true) => self.b.ins().sextend(wide, source),
                (false, false) => self.b.ins().uextend(wide, source),
            };
            return Ok(if signed {
                self.b.ins().fcvt_from_sint(machine, source)
            } else {
                self.b.ins().fcvt_from_uint(machine, source)
            });
        }
        let wide = if from.bits() == 64 {
            source
        } else if signed {
            self.b.ins().sextend(I64, source)
        } else {
            self.b.ins().uextend(I64, source)
        };
        let kind = if signed { "s64" } else { "u64" };
        self.call_numeric(
            &format!("cvt_{}_{}_{kind}", mode.spelling(), to.spelling()),
            &[wide],
        )
    }

    /// Rounds to an integral value.
    fn round_integral(&mut self, value: Value, mode: Rounding) -> Lowered<Value> {
        Ok(match mode {
            Rounding::Rni => self.b.ins().nearest(value),
            Rounding::Rzi => self.b.ins().trunc(value),
            Rounding::Rmi => self.b.ins().floor(value),
            Rounding::Rpi => self.b.ins().ceil(value),
            _ => return Err(format!("rounding `.{}` here", mode.spelling())),
        })
    }

    /// Saturates; what NaN gives is seen on hardware: 0 from `f32` to at most 32 bits, else the top bit alone.
    fn float_to_integer(
        &mut self,
        op: &Op,
        source: Value,
        to: ScalarType,
        from: ScalarType,
    ) -> Lowered<Value> {
        let mode = op.modifiers.rounding().unwrap_or(Rounding::Rzi);
        let rounded = if mode == Rounding::Rzi {
            // The conversion itself cuts off.
            source
        } else {
            self.round_integral(source, mode)?
        };
        let wide = if to.bits() == 64 { I64 } else { I32 };
        let signed = to.is_signed();
        let value = if signed {
            self.b.ins().fcvt_to_sint_sat(wide, rounded)
        } else {
            self.b.ins().fcvt_to_uint_sat(wide, rounded)
        };
        let machine = integer_type(to.bits());
        let value = if to.bits() < 32 {
            let (low, high) = range(to);
            if signed {
                self.clamp_signed(value, low, high, machine)
            } else {
                let high = self.iconst(I32, high.cast_unsigned());
                let clamped = self.b.ins().umin(value, high);
                self.coerce(clamped, machine)
            }
        } else {
            value
        };
        if from == ScalarType::F32 && to.bits() <= 32 {
            return Ok(value);
        }
        let nan = self.b.ins().fcmp(FloatCC::Unordered, source, source);
        let top = self.iconst(machine, 1 << (to.bits() - 1));
        Ok(self.b.ins().select(nan, top, value))
    }

    fn float_to_float(
        &mut self,
        op: &Op,
        o: &[Operand],
        to: ScalarType,
        from: ScalarType,
    ) -> Lowered<Value> {
        let mode = op.modifiers.rounding();
        let ftz = op.modifiers.ftz();
        match (from, to) {
            (ScalarType::F32 | ScalarType::F64, ScalarType::F32 | ScalarType::F64) => {
                let source = self.value(&o[1], machine_type(from))?;
                let source = if ftz { self.flush(source) } else { source };
                let value = match (from, to) {
                    _ if from == to => match mode {
                        Some(
                            mode @ (Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi),
                        ) => self.round_integral(source, mode)?,
                        _ => source,
                    },
                    (ScalarType::F32, _) => self.b.ins().fpromote(F64, source),
                    _ => match mode {
                        None | Some(Rounding::Rn) => self.b.ins().fdemote(F32, source),
                        Some(mode) => self
                            .call_numeric(&format!("cvt_{}_f32_f64", mode.spelling()), &[source])?,
                    },
                };
                Ok(if ftz { self.flush(value) } else { value })
            }
            _ if is_half(from) && is_half(to) => {
                let source = self.value(&o[1], I32)?;
                match mode {
                    _ if from != to => {
                        Err("conversion between half formats is not supported".to_owned())
                    }
                    Some(
                        mode @ (Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi),
                    ) => {
                        let name = from.spelling();
                        self.call_numeric(
                            &format!("cvt_{}_{name}_{name}", mode.spelling()),
                            &[source],
                        )
                    }
                    _ => Ok(source),
                }
            }
            _ if is_half(from) && is_plain_float(to) => {
                let source = self.value(&o[1], I32)?;
                let value =
                    self.call_numeric(&format!("cvt_f32_{}", from.spelling()), &[source])?;
                let value = if ftz { self.flush(value) } else { value };
                Ok(if to == ScalarType::F64 {
                    self.b.ins().fpromote(F64, value)
                } else {
                    value
                })
            }
            _ if is_plain_float(from) && is_half(to) => {
                let source = self.value(&o[1], machine_type(from))?;
                let source = if ftz { self.flush(source) } else { source };
                let mode = mode.unwrap_or(Rounding::Rn).spelling();
                self.call_numeric(
                    &format!("cvt_{mode}_{}_{}", to.spelling(), from.spelling()),
                    &[source],
                )
            }
            _ => Err("this conversion is not supported".to_owned()),
        }
    }

    /// Two `f32` to a pair of halves.
    fn cvt_pair(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let (to, from) = (op.types[0], op.types[1]);
        if from != ScalarType::F32
            || !matches!(to, ScalarType::F16x2 | ScalarType::Bf16x2)
            || o.len() != 3
        {
            return Err("this conversion is not supported".to_owned());
        }
        let a = self.value(&o[1], F32)?;
        let b = self.value(&o[2], F32)?;
        let mode = op.modifiers.rounding().unwrap_or(Rounding::Rn).spelling();
        let name = to.spelling();
        let mut value = self.call_numeric(&format!("cvt_{mode}_{name}_f32"), &[a, b])?;
        if op.modifiers.relu() {
            value = self.call_numeric(&format!("relu_{name}"), &[value])?;
        }
        if op.modifiers.satfinite() {
            return Err("`.satfinite` is not supported".to_owned());
        }
        self.set(&o[0], value)
    }

    /// `cvt.pack.sat`: two integers clamped and packed, above the bits of a third.
    fn cvt_pack(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let to = op.types[0];
        let a = self.value(&o[1], I32)?;
        let b = self.value(&o[2], I32)?;
        let c = match o.get(3) {
            Some(operand) => self.value(operand, I32)?,
            None => self.iconst(I32, 0),
        };
        let kind = u64::from(to.bits()) + if to.is_signed() { 256 } else { 0 };
        let kind = self.iconst(I32, kind);
        let value = self.call_numeric("cvt_pack_sat_b32", &[a, b, c, kind])?;
        self.set(&o[0], value)
    }
}
