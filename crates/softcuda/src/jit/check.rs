//! Checks of addresses.
//!
//! Neighbouring accesses are checked together: those of one size through one register, in a stretch of code that is always executed as a whole,
//! lie at constant distances (a *group*), so that the first and the last of them decide about all. The first access of a group checks it; the
//! others use its host address.
//!
//! An access of `2^k` bytes at offset `o` of a window of `n` bytes is right iff `rotate_right(o, k) < n >> k`: the low bits of a misaligned
//! offset become high ones. Shared, local and parameter memory are such windows. For global memory each group remembers one: the allocation that it
//! last met ([`Window`]). What is in none of them goes to a cold block, which asks the helper; it decides about every access of the group by itself
//! and in order, so that the first wrong one is reported, and remembers another allocation. See [`helpers::check`](crate::exec::helpers::check).
//!
//! Code for several threads at once would check the lowest and the highest address of its lanes, which is the group test with a distance that is
//! computed; windows, helper and cold blocks stay as they are.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder as _, Value};
use cuprum_ptx::Opcode;

use super::lower::{CHECKED, Lower, Lowered, field};
use super::memory::{Place, Request, access_space};
use super::unit::Helper;
use crate::exec::context::{LOCAL_WINDOW, WINDOW_SHIFT, Window};
use crate::exec::fault::{Access, AccessSpace};
use crate::exec::kernel::Group;
use crate::program::ir::{Base, Inst, Kind, Line, Operand, Reg};

/// Most accesses of a group.
const MANY: usize = 64;
/// Most bytes from the first to the last access of a group: what is further apart may be in two allocations.
const FAR: u64 = 1 << 16;

/// One access of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    offset: i64,
    write: bool,
    line: Line,
}

/// A group whose check has been emitted in the current block.
#[derive(Debug)]
pub(super) struct Checked {
    base: Reg,
    space: AccessSpace,
    size: u32,
    members: Vec<Member>,
    /// Host address of the lowest access.
    pointer: Value,
    low: i64,
}

/// Where an instruction accesses memory, if it is a plain load or store.
fn accessed(inst: &Inst) -> Option<(Reg, i64, Request)> {
    let Kind::Op(op, operands) = &inst.kind else {
        return None;
    };
    let (address, write) = match op.opcode {
        Opcode::Ld | Opcode::Ldu => (operands.get(1)?, false),
        Opcode::St => (operands.first()?, true),
        _ => return None,
    };
    let Operand::Address(base, offset) = address else {
        return None;
    };
    let (base, space) = match base {
        Base::Reg(reg) => (*reg, access_space(op.modifiers.space()).ok()?),
        Base::FrameReg(reg) => (*reg, AccessSpace::Local),
        _ => return None,
    };
    let request = Request {
        space,
        size: op.types.first()?.size() * u32::from(op.vector),
        write,
        atomic: false,
    };
    Some((base, *offset, request))
}

impl Lower<'_, '_, '_> {
    /// Checks the access of a plain load or store through a register, together with those that follow it.
    pub(super) fn access_in_group(
        &mut self,
        base: Reg,
        offset: i64,
        request: Request,
    ) -> Lowered<Place> {
        let (space, size) = (request.space, request.size);
        let known = self.checked.iter().find(|group| {
            group.base == base
                && group.space == space
                && group.size == size
                && group
                    .members
                    .iter()
                    .any(|member| member.offset == offset && member.write == request.write)
        });
        if let Some(group) = known {
            return Ok((group.pointer, (offset - group.low) as i32));
        }
        let members = self.group(base, offset, request);
        let low = members
            .iter()
            .map(|member| member.offset)
            .min()
            .unwrap_or(offset);
        let high = members
            .iter()
            .map(|member| member.offset)
            .max()
            .unwrap_or(offset);
        let address = self.address(base, low, space);
        let number = self.number_group(request, &members, low, high);
        let pointer = self.check(address, request, (high - low) as u32, number);
        self.checked.push(Checked {
            base,
            space,
            size,
            members,
            pointer,
            low,
        });
        Ok((pointer, (offset - low) as i32))
    }

    /// The address in a register, plus bytes.
    pub(super) fn address(&mut self, base: Reg, offset: i64, space: AccessSpace) -> Value {
        let value = self.get(base);
        let narrow = self.b.func.dfg.value_type(value) == I32
            && matches!(
                space,
                AccessSpace::Shared | AccessSpace::Local | AccessSpace::Param
            );
        match offset {
            0 => self.coerce(value, I64),
            // Addresses of these spaces have 32 bits: a register may hold a negative number.
            _ if narrow => {
                let sum = self.b.ins().iadd_imm_s(value, offset);
                self.coerce(sum, I64)
            }
            _ => {
                let value = self.coerce(value, I64);
                self.b.ins().iadd_imm_s(value, offset)
            }
        }
    }

    /// Checks one access by itself: the host address.
    pub(super) fn access_alone(&mut self, address: Value, request: Request) -> Value {
        let member = Member {
            offset: 0,
            write: request.write,
            line: self.line,
        };
        let number = self.number_group(request, &[member], 0, 0);
        self.check(address, request, 0, number)
    }

    /// The accesses of the group that begins with the current instruction.
    fn group(&self, base: Reg, offset: i64, request: Request) -> Vec<Member> {
        let mut members = vec![Member {
            offset,
            write: request.write,
            line: self.line,
        }];
        let (mut low, mut high) = (offset, offset);
        for (index, inst) in self.ahead.iter().enumerate() {
            if index > 0
                && let Some((reg, at, other)) = accessed(inst)
                && reg == base
                && other.space == request.space
                && other.size == request.size
                && at.wrapping_sub(offset) & i64::from(request.size - 1) == 0
                // The text chooses the offsets: their distance may be more than a number holds.
                && high.max(at).abs_diff(low.min(at)) <= FAR
            {
                (low, high) = (low.min(at), high.max(at));
                members.push(Member {
                    offset: at,
                    write: other.write,
                    line: inst.line,
                });
            }
            // A call may end the thread, or free memory; the register may be another one from here on.
            if matches!(inst.kind, Kind::Call(_) | Kind::Unsupported(_))
                || inst.defines(base)
                || members.len() >= MANY
            {
                break;
            }
        }
        members
    }

    /// Forgets the groups that the instruction makes invalid.
    pub(super) fn forget_checked(&mut self, inst: &Inst) {
        if self.checked.is_empty() {
            return;
        }
        if matches!(inst.kind, Kind::Call(_)) {
            self.checked.clear();
        } else {
            self.checked.retain(|group| !inst.defines(group.base));
        }
    }

    fn number_group(&mut self, request: Request, members: &[Member], low: i64, high: i64) -> u32 {
        let write = members.iter().any(|member| member.write);
        let members = members
            .iter()
            .map(|member| {
                let access = Access {
                    space: request.space,
                    size: request.size,
                    write: member.write,
                    atomic: request.atomic,
                };
                (
                    (member.offset - low) as u32,
                    self.unit.site(member.line, Some(access)),
                )
            })
            .collect();
        self.unit.group(Group {
            members,
            size: request.size,
            reach: (high - low) as u32,
            write,
        })
    }

    /// Checks the accesses at `address` and up to `reach` bytes further: the host address of the first.
    fn check(&mut self, address: Value, request: Request, reach: u32, group: u32) -> Value {
        match request.space {
            AccessSpace::Global | AccessSpace::Generic if self.out_of_line => {
                self.check_elsewhere(address, group)
            }
            AccessSpace::Global => self.check_global(address, request, group),
            AccessSpace::Generic => self.check_generic(address, request, reach, group),
            AccessSpace::Shared => {
                let start = self.context(I64, field!(shared));
                self.check_window(
                    address,
                    (start, field!(shared_limits)),
                    request,
                    reach,
                    group,
                )
            }
            AccessSpace::Local => {
                let start = self.local;
                self.check_window(
                    address,
                    (start, field!(local_limits)),
                    request,
                    reach,
                    group,
                )
            }
            AccessSpace::Param => {
                let start = self.context(I64, field!(params));
                self.check_window(
                    address,
                    (start, field!(param_limits)),
                    request,
                    reach,
                    group,
                )
            }
        }
    }

    fn rotated(&mut self, offset: Value, size: u32) -> Value {
        match size.trailing_zeros() {
            0 => offset,
            log => self.b.ins().rotr_imm_u(offset, i64::from(log)),
        }
    }

    /// Goes to `refused` unless the accesses at `offset` and up to `reach` bytes further are inside the window with these limits.
    fn test_window(&mut self, offset: Value, limits: usize, size: u32, reach: u32, refused: Block) {
        let log = size.trailing_zeros();
        let limit = self.context(I64, limits + 8 * log as usize);
        let rotated = self.rotated(offset, size);
        let mut outside = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, rotated, limit);
        if reach > 0 {
            // If the first is inside, the sum is a small number; else it does not matter.
            let last = self.b.ins().iadd_imm_s(rotated, i64::from(reach >> log));
            let beyond = self
                .b
                .ins()
                .icmp(IntCC::UnsignedGreaterThanOrEqual, last, limit);
            outside = self.b.ins().bor(outside, beyond);
        }
        let go_on = self.b.create_block();
        self.branch(outside, refused, go_on);
        self.enter(go_on);
    }

    /// An offset into a small window.
    fn check_window(
        &mut self,
        offset: Value,
        (start, limits): (Value, usize),
        request: Request,
        reach: u32,
        group: u32,
    ) -> Value {
        let refused = self.cold_block();
        self.test_window(offset, limits, request.size, reach, refused);
        let inside = self.b.current_block().expect("a block is being filled");
        self.enter(refused);
        self.ask(offset, group);
        let fault = self.fault_block();
        self.jump(fault, &[]);
        self.b.switch_to_block(inside);
        self.b.ins().iadd(start, offset)
    }

    /// The remembered allocation of a group, and whether the address is not in it.
    fn test_remembered(&mut self, address: Value, size: u32, group: u32) -> (Value, i32, Value) {
        let windows = self.context(I64, field!(windows));
        let at = group as i32 * size_of::<Window>() as i32;
        let place = |offset: usize| at + offset as i32;
        let start = self.b.ins().load(
            I64,
            CHECKED,
            windows,
            place(core::mem::offset_of!(Window, start)),
        );
        let limit = self.b.ins().load(
            I64,
            CHECKED,
            windows,
            place(core::mem::offset_of!(Window, limit)),
        );
        let offset = self.b.ins().isub(address, start);
        let rotated = self.rotated(offset, size);
        let outside = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, rotated, limit);
        (windows, at, outside)
    }

    /// A device address: itself, if it may be accessed.
    fn check_global(&mut self, address: Value, request: Request, group: u32) -> Value {
        let (refused, done) = (self.cold_block(), self.b.create_block());
        let (_, _, outside) = self.test_remembered(address, request.size, group);
        self.branch(outside, refused, done);
        self.enter(refused);
        self.ask(address, group);
        self.leave_if_refused(done, &[]);
        self.enter(done);
        address
    }

    /// A generic address: the host address, by the window that it is in.
    fn check_generic(&mut self, address: Value, request: Request, reach: u32, group: u32) -> Value {
        let (refused, done) = (self.cold_block(), self.b.create_block());
        self.b.append_block_param(done, I64);
        let (windows, at, outside) = self.test_remembered(address, request.size, group);
        let delta = self.b.ins().load(
            I64,
            CHECKED,
            windows,
            at + core::mem::offset_of!(Window, delta) as i32,
        );
        let pointer = self.b.ins().iadd(address, delta);
        if request.atomic {
            // Local memory has no atomic operations.
            self.b
                .ins()
                .brif(outside, refused, &[], done, &[pointer.into()]);
        } else {
            let (elsewhere, local) = (self.b.create_block(), self.b.create_block());
            self.b
                .ins()
                .brif(outside, elsewhere, &[], done, &[pointer.into()]);
            self.enter(elsewhere);
            // Each thread has its own local memory, which is therefore never a remembered window.
            let tag = self.iconst(I64, LOCAL_WINDOW);
            let offset = self.b.ins().bxor(address, tag);
            let other = self.b.ins().ushr_imm_u(offset, i64::from(WINDOW_SHIFT));
            self.branch(other, refused, local);
            self.enter(local);
            self.test_window(offset, field!(local_limits), request.size, reach, refused);
            let start = self.local;
            let pointer = self.b.ins().iadd(start, offset);
            self.jump(done, &[pointer]);
        }
        self.enter(refused);
        self.ask(address, group);
        let ctx = self.ctx;
        let resolved = self
            .b
            .ins()
            .load(I64, CHECKED, ctx, field!(fault.resolved) as i32);
        self.leave_if_refused(done, &[resolved.into()]);
        self.enter(done);
        self.b.block_params(done)[0]
    }

    /// Checks by a call, so that huge functions do not become several times larger.
    fn check_elsewhere(&mut self, address: Value, group: u32) -> Value {
        let group = self.iconst(I32, u64::from(group));
        let (ctx, thread) = (self.ctx, self.thread);
        let pointer = self
            .call_helper(Helper::Resolve, &[ctx, thread, address, group])
            .expect("the check has a result");
        let go_on = self.b.create_block();
        self.leave_if_refused(go_on, &[]);
        self.enter(go_on);
        pointer
    }

    /// Goes to `go_on` unless the helper has refused an access.
    fn leave_if_refused(&mut self, go_on: Block, arguments: &[BlockArg]) {
        let ctx = self.ctx;
        let refused = self
            .b
            .ins()
            .load(I32, CHECKED, ctx, field!(fault.refused) as i32);
        let fault = self.fault_block();
        self.b.ins().brif(refused, fault, &[], go_on, arguments);
    }

    /// Asks the helper about a group. Its answer is in the fault record.
    fn ask(&mut self, address: Value, group: u32) {
        let signature = match self.check_signature {
            Some(known) => known,
            None => {
                let new = self.b.import_signature(super::trampoline::signature());
                self.check_signature = Some(new);
                new
            }
        };
        let target = self.context(I64, field!(check));
        let group = self.iconst(I32, u64::from(group));
        let (ctx, thread) = (self.ctx, self.thread);
        self.b
            .ins()
            .call_indirect(signature, target, &[ctx, thread, address, group]);
    }
}
