//! Calls of native functions, through addresses, and of the device runtime.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64, I128};
use cranelift_codegen::ir::{InstBuilder as _, Type, Value};
use cranelift_module::Module as _;

use super::lower::{CHECKED, Lower, Lowered};
use super::unit::Helper;
use crate::exec::context::FUNCTION_WINDOW;
use crate::exec::fault::FaultKind;
use crate::exec::helpers::BUILTIN_FAULT;
use crate::program::ir::{
    Argument, Builtin, Call, Callee, Function, Kind, Operand, Reg, Signature,
};
use crate::program::{Program, transfers};

/// The largest piece of `left` bytes that may be moved at once from or to `offset`.
fn piece(offset: u32, left: u32) -> Type {
    let fits = |bytes: u32| left >= bytes && offset.is_multiple_of(bytes);
    if fits(8) {
        I64
    } else if fits(4) {
        I32
    } else if fits(2) {
        I16
    } else {
        I8
    }
}

impl Lower<'_, '_, '_> {
    pub(super) fn frame_load(&mut self, to: Reg, offset: u32, size: u32) -> Lowered {
        let ty = frame_type(size)?;
        let base = self.frame_base;
        let value = self.b.ins().load(ty, CHECKED, base, offset as i32);
        self.set(&Operand::Reg(to), value)
    }

    pub(super) fn frame_store(&mut self, from: &Operand, offset: u32, size: u32) -> Lowered {
        let ty = frame_type(size)?;
        let value = self.value(from, ty)?;
        let base = self.frame_base;
        self.b.ins().store(CHECKED, value, base, offset as i32);
        Ok(())
    }

    pub(super) fn frame_copy(&mut self, to: u32, from: u32, size: u32) {
        let base = self.frame_base;
        let mut done = 0;
        while done < size {
            let ty = piece((to + done) | (from + done), size - done);
            let value = self.b.ins().load(ty, CHECKED, base, (from + done) as i32);
            self.b.ins().store(CHECKED, value, base, (to + done) as i32);
            done += ty.bytes();
        }
    }

    pub(super) fn call(&mut self, call: &Call) -> Lowered {
        match call.callee {
            Callee::Function(function) => {
                let signature = self
                    .unit
                    .program
                    .body(function)
                    .map(|body| body.signature.clone())
                    .ok_or("a call of a function without body")?;
                let id = self.unit.native(function)?;
                let target = self.unit.module.declare_func_in_func(id, self.b.func);
                self.transfer(call, &signature, |lower, arguments| {
                    let call = lower.b.ins().call(target, arguments);
                    lower.b.inst_results(call)[0]
                })
            }
            Callee::Indirect(reg, prototype) => {
                let signature = self.function.prototypes[prototype as usize].clone();
                let address = self.value(&Operand::Reg(reg), I64)?;
                let target = self.function_entry(address);
                self.transfer(call, &signature, |lower, arguments| {
                    let signature = lower.unit.native_signature();
                    let signature = lower.b.import_signature(signature);
                    let call = lower.b.ins().call_indirect(signature, target, arguments);
                    lower.b.inst_results(call)[0]
                })
            }
            Callee::Builtin(builtin) => self.builtin(builtin, call),
        }
    }

    /// Moves arguments, calls, checks the status and moves results.
    fn transfer(
        &mut self,
        call: &Call,
        signature: &Signature,
        emit: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) -> Lowered {
        let own = self.function.frame_bytes;
        let moves = transfers(call, signature, own, self.line)?;
        for inst in &moves.before {
            self.transfer_move(&inst.kind)?;
        }
        let frame = match self.frame {
            None => self.iconst(I32, u64::from(own)),
            Some(frame) => self.b.ins().iadd_imm_s(frame, i64::from(own)),
        };
        let (ctx, thread) = (self.ctx, self.thread);
        let status = emit(self, &[ctx, thread, frame]);
        self.check_status(status);
        for inst in &moves.after {
            self.transfer_move(&inst.kind)?;
        }
        Ok(())
    }

    fn transfer_move(&mut self, kind: &Kind) -> Lowered {
        match kind {
            Kind::FrameLoad { to, offset, size } => self.frame_load(*to, *offset, *size),
            Kind::FrameStore { from, offset, size } => self.frame_store(from, *offset, *size),
            Kind::FrameCopy { to, from, size } => {
                self.frame_copy(*to, *from, *size);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The entry point for a function's address, or a fault.
    fn function_entry(&mut self, address: Value) -> Value {
        self.unit.uses_table = true;
        let count = self.unit.table.len() as u64;
        let table = self.unit.table.as_ptr().addr() as u64;
        let index = self
            .b
            .ins()
            .bxor_imm_u(address, FUNCTION_WINDOW.cast_signed());
        let count = self.iconst(I64, count);
        let unknown = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, index, count);
        let (look, found, bad) = (
            self.b.create_block(),
            self.b.create_block(),
            self.cold_block(),
        );
        self.branch(unknown, bad, look);
        self.enter(look);
        let offset = self.b.ins().ishl_imm_u(index, 3);
        let table = self.iconst(I64, table);
        let place = self.b.ins().iadd(table, offset);
        // Not `CONSTANT`: it must not move above the checks of the index.
        let entry = self.b.ins().load(I64, CHECKED, place, 0);
        let missing = self.b.ins().icmp_imm_u(IntCC::Equal, entry, 0);
        self.branch(missing, bad, found);
        self.enter(bad);
        self.raise(FaultKind::Call, Some(address));
        self.enter(found);
        entry
    }

    /// An argument of a builtin, of `ty`.
    fn builtin_argument(&mut self, call: &Call, index: usize, ty: Type) -> Lowered<Value> {
        match call.args.get(index) {
            Some(Argument::Frame { offset, size }) => {
                if *size < ty.bytes() {
                    return Err("a call with an argument that is too small".to_owned());
                }
                let base = self.frame_base;
                Ok(self.b.ins().load(ty, CHECKED, base, *offset as i32))
            }
            Some(Argument::Value(operand)) => self.value(operand, ty),
            None => Err("a call with too few arguments".to_owned()),
        }
    }

    fn builtin_result(&mut self, call: &Call, value: Value) -> Lowered {
        match call.returns.first() {
            Some(Argument::Frame { offset, size }) => {
                let value = self.coerce(value, frame_type(*size)?);
                let base = self.frame_base;
                self.b.ins().store(CHECKED, value, base, *offset as i32);
                Ok(())
            }
            Some(Argument::Value(operand)) => self.set(operand, value),
            None => Ok(()),
        }
    }

    fn builtin(&mut self, builtin: Builtin, call: &Call) -> Lowered {
        let site = self.unit.site(self.line, None);
        let site = self.iconst(I32, u64::from(site));
        let (ctx, thread) = (self.ctx, self.thread);
        match builtin {
            Builtin::Vprintf => {
                let format = self.builtin_argument(call, 0, I64)?;
                let arguments = self.builtin_argument(call, 1, I64)?;
                let result = self
                    .call_helper(Helper::Vprintf, &[ctx, thread, site, format, arguments])
                    .expect("vprintf has a result");
                let bad = self.iconst(I64, BUILTIN_FAULT);
                let failed = self.b.ins().icmp(IntCC::Equal, result, bad);
                let (fault, go_on) = (self.fault_block(), self.b.create_block());
                self.branch(failed, fault, go_on);
                self.enter(go_on);
                self.builtin_result(call, result)
            }
            Builtin::AssertFail => {
                let message = self.builtin_argument(call, 0, I64)?;
                let file = self.builtin_argument(call, 1, I64)?;
                let line = self.builtin_argument(call, 2, I32)?;
                let function = self.builtin_argument(call, 3, I64)?;
                self.call_helper(
                    Helper::AssertFail,
                    &[ctx, thread, site, message, file, line, function],
                );
                let fault = self.fault_block();
                self.jump(fault, &[]);
                // The call does not return; what follows in the text is never reached.
                let unreachable = self.b.create_block();
                self.b.switch_to_block(unreachable);
                Ok(())
            }
            Builtin::Malloc => {
                let bytes = self.builtin_argument(call, 0, I64)?;
                let address = self
                    .call_helper(Helper::Malloc, &[ctx, bytes])
                    .expect("malloc has a result");
                self.builtin_result(call, address)
            }
            Builtin::Free => {
                let address = self.builtin_argument(call, 0, I64)?;
                let status = self
                    .call_helper(Helper::Free, &[ctx, thread, site, address])
                    .expect("free has a result");
                let (fault, go_on) = (self.fault_block(), self.b.create_block());
                self.branch(status, fault, go_on);
                self.enter(go_on);
                Ok(())
            }
        }
    }
}

/// Bytes beyond its frame into which a function writes the arguments of its calls.
pub(super) fn outgoing_bytes(program: &Program, function: &Function) -> u32 {
    let bytes = |call: &Call| match call.callee {
        Callee::Function(callee) => program.body(callee).map_or(0, |body| body.signature.bytes),
        Callee::Indirect(_, prototype) => function.prototypes[prototype as usize].bytes,
        Callee::Builtin(_) => 0,
    };
    function
        .insts()
        .filter_map(|inst| match &inst.kind {
            Kind::Call(call) => Some(bytes(call)),
            _ => None,
        })
        .max()
        .unwrap_or(0)
}

fn frame_type(size: u32) -> Lowered<Type> {
    Ok(match size {
        1 => I8,
        2 => I16,
        4 => I32,
        8 => I64,
        16 => I128,
        _ => return Err("a parameter of this size in a register".to_owned()),
    })
}
