//! Functions of [`numeric`](crate::numeric) that ordinary code is full of (every `expf` has both), as instructions: a call would cost as much as they do,
//! and make its surroundings save what they hold in registers. Same steps, same bits, but for the payload of NaN.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, Value};

use super::lower::Lower;

impl Lower<'_, '_, '_> {
    /// `fma.rm.f32`: the sum and its residual in `f64`, rounded to nearest, and a step down if that is above them.
    pub(super) fn fma_rm(&mut self, a: Value, b: Value, c: Value) -> Value {
        let none = MemFlagsData::new();
        let a = self.b.ins().fpromote(F64, a);
        let b = self.b.ins().fpromote(F64, b);
        let product = self.b.ins().fmul(a, b);
        // Negated throughout, so that an exact zero comes out as -0.
        let x = self.b.ins().fneg(product);
        let c = self.b.ins().fpromote(F64, c);
        let y = self.b.ins().fneg(c);
        let sum = self.b.ins().fadd(x, y);
        let from_y = self.b.ins().fsub(sum, x);
        let from_x = self.b.ins().fsub(sum, from_y);
        let lost_x = self.b.ins().fsub(x, from_x);
        let lost_y = self.b.ins().fsub(y, from_y);
        let residual = self.b.ins().fadd(lost_x, lost_y);
        let sum = self.b.ins().fneg(sum);
        let nearest = self.b.ins().fdemote(F32, sum);
        let back = self.b.ins().fpromote(F64, nearest);
        let above = self.b.ins().fcmp(FloatCC::GreaterThan, back, sum);
        let equal = self.b.ins().fcmp(FloatCC::Equal, back, sum);
        let zero = self.b.ins().f64const(0.0);
        // The residual is negated.
        let less = self.b.ins().fcmp(FloatCC::GreaterThan, residual, zero);
        let equal = self.b.ins().band(equal, less);
        let above = self.b.ins().bor(above, equal);
        let above = self.b.ins().uextend(I32, above);
        // Down is away from zero for negative numbers: `above` with the sign of `-1 - 2 sign`.
        let bits = self.b.ins().bitcast(I32, none, nearest);
        let sign = self.b.ins().sshr_imm_u(bits, 31);
        let step = self.b.ins().bxor(above, sign);
        let step = self.b.ins().isub(step, sign);
        let bits = self.b.ins().isub(bits, step);
        self.b.ins().bitcast(F32, none, bits)
    }

    /// `ex2.approx.f32`, and with `.ftz`.
    pub(super) fn ex2_approx(&mut self, a: Value, flush: bool) -> Value {
        const ROUNDER: f64 = 6_755_399_441_055_744.0;
        let none = MemFlagsData::new();
        // Past the bounds the conversion to f32 overflows or gives zero by itself. NaN stays.
        let low = self.b.ins().f32const(-160.0);
        let below = self.b.ins().fcmp(FloatCC::LessThan, a, low);
        let a = self.b.ins().select(below, low, a);
        let high = self.b.ins().f32const(130.0);
        let above = self.b.ins().fcmp(FloatCC::LessThan, high, a);
        let a = self.b.ins().select(above, high, a);
        let x = self.b.ins().fpromote(F64, a);
        let rounder = self.b.ins().f64const(ROUNDER);
        let shifted = self.b.ins().fadd(x, rounder);
        let whole = self.b.ins().fsub(shifted, rounder);
        let f = self.b.ins().fsub(x, whole);
        let f2 = self.b.ins().fmul(f, f);
        let f4 = self.b.ins().fmul(f2, f2);
        let [p01, p23, p45, p67] = crate::numeric::EX2_COEFFICIENTS.map(|(even, odd)| {
            let odd = self.b.ins().f64const(odd);
            let odd = self.b.ins().fmul(odd, f);
            let even = self.b.ins().f64const(even);
            self.b.ins().fadd(even, odd)
        });
        let p23 = self.b.ins().fmul(p23, f2);
        let low = self.b.ins().fadd(p01, p23);
        let p67 = self.b.ins().fmul(p67, f2);
        let high = self.b.ins().fadd(p45, p67);
        let high = self.b.ins().fmul(high, f4);
        let mantissa = self.b.ins().fadd(low, high);
        let exponent = self.b.ins().bitcast(I64, none, shifted);
        let exponent = self.b.ins().iadd_imm_s(exponent, 1023);
        let scale = self.b.ins().ishl_imm_u(exponent, 52);
        let scale = self.b.ins().bitcast(F64, none, scale);
        let power = self.b.ins().fmul(mantissa, scale);
        let power = self.b.ins().fdemote(F32, power);
        if !flush {
            return power;
        }
        let least = self.b.ins().f32const(f32::MIN_POSITIVE);
        let zero = self.b.ins().f32const(0.0);
        let subnormal = self.b.ins().fcmp(FloatCC::LessThan, power, least);
        self.b.ins().select(subnormal, zero, power)
    }
}
