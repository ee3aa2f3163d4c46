//! Asynchronous copies (`cp.async`) and barrier objects in shared memory (`mbarrier`).
//!
//! A copy is done at once, so that committing and waiting for groups of copies is nothing. A barrier object is a word of our own layout, which
//! PTX leaves open: bits 0..20 arrivals still pending, bits 20..40 arrivals of a phase, bit 40 the parity of the phase, which is also the state that
//! `arrive` answers. The threads of a block run on one host thread, so that it needs no atomic access.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64, I128};
use cranelift_codegen::ir::{InstBuilder as _, Type, Value};
use cuprum_ptx::{Action, Flags, Op};

use super::lower::{CHECKED, Lower, Lowered};
use super::memory::{Request, access_space};
use crate::exec::fault::AccessSpace;
use crate::program::ir::Operand;

/// The highest bit of the counts; the parity is above it.
const PARITY: i64 = 40;
/// Position of the arrivals of a phase.
const EXPECTED: i64 = 20;
/// A count.
const COUNT: i64 = (1 << 20) - 1;

impl Lower<'_, '_, '_> {
    pub(super) fn copy_async(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        if op.modifiers.flags().contains(Flags::BULK) {
            return Err("bulk copies are not supported".to_owned());
        }
        match op.modifiers.action() {
            Some(Action::CommitGroup | Action::WaitGroup | Action::WaitAll) => return Ok(()),
            None => {}
            _ => return Err("this form of asynchronous copy is not supported".to_owned()),
        }
        let [destination, source, Operand::Int(size), rest @ ..] = o else {
            return Err("an asynchronous copy whose size is no constant".to_owned());
        };
        let (size, ty): (u32, Type) = match size {
            4 => (4, I32),
            8 => (8, I64),
            16 => (16, I128),
            _ => return Err("an asynchronous copy of this size".to_owned()),
        };
        let request = |space, write| Request {
            space,
            size,
            write,
            atomic: false,
        };
        let (to, to_offset) = self.access(destination, request(AccessSpace::Shared, true))?;
        // The bytes beyond the source's size are zeros; a source of no bytes is not read, and may lie anywhere.
        let value = match rest.first() {
            None => self.copied(source, ty, request(AccessSpace::Global, false))?,
            Some(Operand::Int(bytes)) if *bytes >= u64::from(size) => {
                self.copied(source, ty, request(AccessSpace::Global, false))?
            }
            Some(bytes) => {
                let bytes = self.value(bytes, I32)?;
                let (some, done) = (self.b.create_block(), self.b.create_block());
                self.b.append_block_param(done, ty);
                let zero = self.iconst(ty, 0);
                self.b.ins().brif(bytes, some, &[], done, &[zero.into()]);
                self.b.switch_to_block(some);
                let value = self.copied(source, ty, request(AccessSpace::Global, false))?;
                let most = self.iconst(I32, u64::from(size));
                let bytes = self.b.ins().umin(bytes, most);
                let missing = self.b.ins().isub(most, bytes);
                let shift = self.b.ins().ishl_imm_u(missing, 3);
                let raised = self.b.ins().ishl(value, shift);
                let kept = self.b.ins().ushr(raised, shift);
                self.jump(done, &[kept]);
                self.b.switch_to_block(done);
                self.b.block_params(done)[0]
            }
        };
        self.b.ins().store(CHECKED, value, to, to_offset);
        Ok(())
    }

    fn copied(&mut self, source: &Operand, ty: Type, request: Request) -> Lowered<Value> {
        let (from, offset) = self.access(source, request)?;
        Ok(self.b.ins().load(ty, CHECKED, from, offset))
    }

    pub(super) fn mbarrier(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let action = op.modifiers.action();
        // With `.noComplete` the program promises that this arrival is not the last: nothing else changes.
        if op.modifiers.flags().contains(Flags::EXPECT_TX) {
            return Err("this form of `mbarrier` is not supported".to_owned());
        }
        if action == Some(Action::PendingCount) {
            let state = self.value(&o[1], I64)?;
            let pending = self.b.ins().band_imm_u(state, COUNT);
            return self.set(&o[0], pending);
        }
        let writes = matches!(
            action,
            Some(Action::Init | Action::Inval | Action::Arrive | Action::ArriveDrop)
        );
        let address = match action {
            Some(Action::Init | Action::Inval) => &o[0],
            _ => o.get(1).ok_or("an `mbarrier` of another block")?,
        };
        let request = Request {
            space: access_space(op.modifiers.space())?,
            size: 8,
            write: writes,
            atomic: true,
        };
        let (place, offset) = self.access(address, request)?;
        match action {
            Some(Action::Inval) => Ok(()),
            Some(Action::Init) => {
                let count = self.value(&o[1], I32)?;
                let count = self.b.ins().uextend(I64, count);
                let count = self.b.ins().band_imm_u(count, COUNT);
                let expected = self.b.ins().ishl_imm_u(count, EXPECTED);
                let state = self.b.ins().bor(expected, count);
                self.b.ins().store(CHECKED, state, place, offset);
                Ok(())
            }
            Some(Action::Arrive | Action::ArriveDrop) => {
                let count = match o.get(2) {
                    Some(operand) => {
                        let count = self.value(operand, I32)?;
                        self.b.ins().uextend(I64, count)
                    }
                    None => self.iconst(I64, 1),
                };
                let state = self.b.ins().load(I64, CHECKED, place, offset);
                let mut left = self.b.ins().isub(state, count);
                if action == Some(Action::ArriveDrop) {
                    let dropped = self.b.ins().ishl_imm_u(count, EXPECTED);
                    left = self.b.ins().isub(left, dropped);
                }
                // The last arrival begins the next phase.
                let pending = self.b.ins().band_imm_u(left, COUNT);
                let expected = self.b.ins().ushr_imm_u(left, EXPECTED);
                let expected = self.b.ins().band_imm_u(expected, COUNT);
                let next = self.b.ins().bor(left, expected);
                let parity = self.iconst(I64, 1 << PARITY);
                let next = self.b.ins().bxor(next, parity);
                let new = self.b.ins().select(pending, left, next);
                self.b.ins().store(CHECKED, new, place, offset);
                self.set(&o[0], state)
            }
            Some(Action::TestWait | Action::TryWait) => {
                let state = self.b.ins().load(I64, CHECKED, place, offset);
                let now = self.b.ins().ushr_imm_u(state, PARITY);
                let now = self.coerce(now, I8);
                let now = self.b.ins().band_imm_u(now, 1);
                let asked = if op.modifiers.flags().contains(Flags::PARITY) {
                    self.value(&o[2], I32)?
                } else {
                    let token = self.value(&o[2], I64)?;
                    self.b.ins().ushr_imm_u(token, PARITY)
                };
                let asked = self.coerce(asked, I8);
                let asked = self.b.ins().band_imm_u(asked, 1);
                let passed = self.b.ins().icmp(IntCC::NotEqual, now, asked);
                self.set(&o[0], passed)
            }
            _ => Err("this form of `mbarrier` is not supported".to_owned()),
        }
    }
}
