//! Atomic operations.
//!
//! The threads of a block run on one host thread, so that on shared memory a load, an operation and a store are atomic already. Everything else
//! uses the host's atomic instructions, which order memory more strongly than any PTX ordering asks.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64, I128};
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder as _, Type, Value};
use cuprum_ptx::{AtomOp, Op, Opcode, ScalarType};

use super::lower::{CHECKED, Lower, Lowered, field};
use super::memory::{Request, access_space};
use super::registers::integer_type;
use super::unit::Helper;
use crate::exec::fault::AccessSpace;
use crate::program::ir::Operand;

impl Lower<'_, '_, '_> {
    pub(super) fn atomic(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let operation = op
            .modifiers
            .atom_op()
            .ok_or("an atomic instruction without operation")?;
        if op.vector != 1 {
            return self.vector_atomic(op, operation, o);
        }
        let exchanges = matches!(operation, AtomOp::Exch | AtomOp::Cas);
        if ty.bits() < 16 || (ty.bits() > 64 && !exchanges) {
            return Err("atomic operations of this width are not supported".to_owned());
        }
        let (result, address, rest) = if op.opcode == Opcode::Atom {
            (Some(&o[0]), &o[1], &o[2..])
        } else {
            (None, &o[0], &o[1..])
        };
        let space = access_space(op.modifiers.space())?;
        let machine = integer_type(ty.bits());
        let operands = rest
            .iter()
            .take(if operation == AtomOp::Cas { 2 } else { 1 })
            .map(|operand| self.value(operand, machine))
            .collect::<Lowered<Vec<Value>>>()?;
        let request = Request {
            space,
            size: ty.size(),
            write: true,
            atomic: true,
        };
        let (pointer, displacement) = self.access(address, request)?;
        let place = if displacement == 0 {
            pointer
        } else {
            self.b.ins().iadd_imm_s(pointer, i64::from(displacement))
        };
        let old = if space == AccessSpace::Shared {
            self.private_atomic(operation, ty, machine, place, &operands)?
        } else {
            self.host_atomic(operation, ty, machine, place, &operands, space)?
        };
        match result {
            Some(result) => self.set(result, old),
            None => Ok(()),
        }
    }

    /// On the elements of a vector, one after the other: each is atomic, the vector is not (PTX ISA, `atom`).
    fn vector_atomic(&mut self, op: &Op, operation: AtomOp, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let (result, address, value) = match (op.opcode, o) {
            (Opcode::Atom, [result, address, value, ..]) => (Some(result), address, value),
            (_, [address, value, ..]) => (None, address, value),
            _ => return Err("an atomic instruction without operands".to_owned()),
        };
        let Operand::Vector(values) = value else {
            return Err("a vector is expected".to_owned());
        };
        let space = access_space(op.modifiers.space())?;
        let machine = integer_type(ty.bits());
        let request = Request {
            space,
            size: ty.size() * u32::from(op.vector),
            write: true,
            atomic: true,
        };
        let (pointer, displacement) = self.access(address, request)?;
        let mut old = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let value = self.value(value, machine)?;
            let offset = i64::from(displacement) + index as i64 * i64::from(ty.size());
            let place = self.b.ins().iadd_imm_s(pointer, offset);
            old.push(self.host_atomic(operation, ty, machine, place, &[value], space)?);
        }
        match result {
            Some(Operand::Vector(results)) => {
                for (result, old) in results.iter().zip(old) {
                    self.set(result, old)?;
                }
                Ok(())
            }
            Some(Operand::Sink) | None => Ok(()),
            Some(_) => Err("a vector is expected for the result".to_owned()),
        }
    }

    /// On memory that no other host thread touches.
    fn private_atomic(
        &mut self,
        operation: AtomOp,
        ty: ScalarType,
        machine: Type,
        place: Value,
        operands: &[Value],
    ) -> Lowered<Value> {
        let old = self.b.ins().load(machine, CHECKED, place, 0);
        let a = operands[0];
        let signed = ty.is_signed();
        let new = match operation {
            AtomOp::Add => match ty {
                ScalarType::F32 | ScalarType::F64 => {
                    let float = super::registers::machine_type(ty);
                    let x = self.coerce(old, float);
                    let y = self.coerce(a, float);
                    let sum = self.b.ins().fadd(x, y);
                    self.coerce(sum, machine)
                }
                ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2 => {
                    let name = format!("add_{}", ty.spelling());
                    let sum = self.call_numeric(&name, &[old, a])?;
                    self.coerce(sum, machine)
                }
                _ => self.b.ins().iadd(old, a),
            },
            AtomOp::Exch => a,
            AtomOp::Cas => {
                let same = self.b.ins().icmp(IntCC::Equal, old, a);
                let new = operands[1];
                self.b.ins().select(same, new, old)
            }
            AtomOp::And => self.b.ins().band(old, a),
            AtomOp::Or => self.b.ins().bor(old, a),
            AtomOp::Xor => self.b.ins().bxor(old, a),
            AtomOp::Min if ty.is_integer() && signed => self.b.ins().smin(old, a),
            AtomOp::Min if ty.is_integer() => self.b.ins().umin(old, a),
            AtomOp::Max if ty.is_integer() && signed => self.b.ins().smax(old, a),
            AtomOp::Max if ty.is_integer() => self.b.ins().umax(old, a),
            AtomOp::Inc => {
                let zero = self.iconst(machine, 0);
                let one_more = self.b.ins().iadd_imm_s(old, 1);
                let wraps = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, old, a);
                self.b.ins().select(wraps, zero, one_more)
            }
            AtomOp::Dec => {
                let zero = self.iconst(machine, 0);
                let one_less = self.b.ins().iadd_imm_s(old, -1);
                let at_zero = self.b.ins().icmp(IntCC::Equal, old, zero);
                let above = self.b.ins().icmp(IntCC::UnsignedGreaterThan, old, a);
                let wraps = self.b.ins().bor(at_zero, above);
                self.b.ins().select(wraps, a, one_less)
            }
            _ => return Err("this atomic operation is not supported".to_owned()),
        };
        self.b.ins().store(CHECKED, new, place, 0);
        Ok(old)
    }

    fn host_atomic(
        &mut self,
        operation: AtomOp,
        ty: ScalarType,
        machine: Type,
        place: Value,
        operands: &[Value],
        space: AccessSpace,
    ) -> Lowered<Value> {
        let a = operands[0];
        let helper = match (operation, ty) {
            (AtomOp::Add, ScalarType::F32) => Some(Helper::AddF32),
            (AtomOp::Add, ScalarType::F64) => Some(Helper::AddF64),
            (AtomOp::Add, ScalarType::F16) => Some(Helper::AddF16),
            (AtomOp::Add, ScalarType::F16x2) => Some(Helper::AddF16x2),
            (AtomOp::Add, ScalarType::Bf16) => Some(Helper::AddBf16),
            (AtomOp::Add, ScalarType::Bf16x2) => Some(Helper::AddBf16x2),
            (AtomOp::Inc, _) if machine == I32 => Some(Helper::Inc),
            (AtomOp::Dec, _) if machine == I32 => Some(Helper::Dec),
            _ => None,
        };
        if let Some(helper) = helper {
            let argument = if machine == I16 {
                self.coerce(a, I32)
            } else {
                a
            };
            let mut arguments = vec![place, argument];
            if helper == Helper::AddF32 {
                let keeps = self.is_shared(place, space);
                arguments.push(keeps);
            }
            let old = self
                .call_helper(helper, &arguments)
                .expect("atomic helpers have results");
            return Ok(self.coerce(old, machine));
        }
        if machine == I16 && operation != AtomOp::Cas && operation != AtomOp::Exch {
            return Err("this atomic operation on 16 bits is not supported".to_owned());
        }
        let signed = ty.is_signed();
        let rmw = match operation {
            AtomOp::Add => AtomicRmwOp::Add,
            AtomOp::And => AtomicRmwOp::And,
            AtomOp::Or => AtomicRmwOp::Or,
            AtomOp::Xor => AtomicRmwOp::Xor,
            AtomOp::Exch => AtomicRmwOp::Xchg,
            AtomOp::Min if ty.is_integer() && signed => AtomicRmwOp::Smin,
            AtomOp::Min if ty.is_integer() => AtomicRmwOp::Umin,
            AtomOp::Max if ty.is_integer() && signed => AtomicRmwOp::Smax,
            AtomOp::Max if ty.is_integer() => AtomicRmwOp::Umax,
            AtomOp::Cas => {
                let new = *operands.get(1).ok_or("`cas` without new value")?;
                return Ok(self.b.ins().atomic_cas(CHECKED, place, a, new));
            }
            _ => return Err("this atomic operation is not supported".to_owned()),
        };
        debug_assert!(matches!(machine, I16 | I32 | I64 | I128));
        Ok(self.b.ins().atomic_rmw(machine, CHECKED, rmw, place, a))
    }

    /// Whether a place that was reached by an address of `space` lies in the block's shared memory, 32 bits.
    fn is_shared(&mut self, place: Value, space: AccessSpace) -> Value {
        if space != AccessSpace::Generic {
            return self.iconst(I32, 0);
        }
        let shared = self.context(I64, field!(shared));
        let bytes = self.context(I64, field!(shared_limits));
        let offset = self.b.ins().isub(place, shared);
        let inside = self.less(offset, bytes);
        self.coerce(inside, I32)
    }
}
