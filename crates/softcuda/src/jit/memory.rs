//! Loads and stores, and the checks of their addresses.
//!
//! A check of an access of `2^k` bytes at offset `o` of a window of `n` bytes is one comparison: `rotate_right(o, k) < n >> k` is false if `o` is
//! misaligned (the low bits become high ones) or beyond the end. Global memory has a second one against the shadow map. What fails goes to a
//! cold block that asks the slow check.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder as _, Type, Value};
use cranelift_module::Module as _;
use cuprum_ptx::{Op, Ordering, Space};

use super::lower::{CHECKED, CONSTANT, Lower, Lowered, field};
use super::registers::{integer_type, machine_type};
use super::unit::Helper;
use crate::exec::context::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, STATUS_FAULT, WINDOW_SHIFT};
use crate::exec::fault::{Access, AccessSpace};
use crate::program::ir::{Base, Operand, Symbol};

/// What an instruction is about to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) space: AccessSpace,
    /// Bytes: a power of two.
    pub(super) size: u32,
    pub(super) write: bool,
    pub(super) atomic: bool,
}

/// Where it may do it: a host address and a displacement.
pub(super) type Place = (Value, i32);

pub(super) fn access_space(space: Option<Space>) -> Lowered<AccessSpace> {
    Ok(match space {
        None => AccessSpace::Generic,
        Some(Space::Global | Space::Const) => AccessSpace::Global,
        Some(Space::Shared | Space::SharedCluster) => AccessSpace::Shared,
        Some(Space::Local) => AccessSpace::Local,
        Some(Space::Param) => AccessSpace::Param,
        Some(Space::Tex) => return Err("the texture space is not supported".to_owned()),
    })
}

impl Lower<'_, '_, '_> {
    /// Checks an access and says where it goes.
    pub(super) fn access(&mut self, operand: &Operand, request: Request) -> Lowered<Place> {
        let Operand::Address(base, offset) = operand else {
            return Err("a memory operand that is no address".to_owned());
        };
        let (base, offset) = (*base, *offset);
        let aligned = |at: i64| at & i64::from(request.size - 1) == 0;
        let inside = |at: i64, length: u32| {
            let end = at.checked_add(i64::from(request.size));
            at >= 0 && end.is_some_and(|end| end <= i64::from(length)) && aligned(at)
        };
        // Places known at compile time need no check.
        if let Base::Symbol(symbol) = base {
            match symbol {
                Symbol::Frame(place) => {
                    let at = i64::from(place).saturating_add(offset);
                    // The frame and the arguments of a call beyond it are known to be there.
                    if inside(at, self.function.frame_bytes) {
                        return Ok((self.frame_base, at as i32));
                    }
                }
                Symbol::Param(place) => {
                    let at = i64::from(place).saturating_add(offset);
                    if !request.write && inside(at, self.unit.param_bytes) {
                        let params = self.context(I64, field!(params));
                        return Ok((params, at as i32));
                    }
                }
                Symbol::Shared(index) => {
                    let at =
                        i64::from(self.unit.shared_offsets[index as usize]).saturating_add(offset);
                    if inside(at, self.unit.static_shared) {
                        let shared = self.context(I64, field!(shared));
                        return Ok((shared, at as i32));
                    }
                }
                Symbol::Variable(index) => {
                    let variable = &self.unit.program.variables()[index as usize];
                    let address = self.unit.addresses[index as usize];
                    let size = u32::try_from(variable.size).unwrap_or(u32::MAX);
                    let allowed = !request.write || variable.space != Space::Const;
                    if request.space != AccessSpace::Shared
                        && allowed
                        && address.is_multiple_of(u64::from(request.size))
                        && inside(offset, size)
                    {
                        let address = self.iconst(I64, address.wrapping_add_signed(offset));
                        return Ok((address, 0));
                    }
                }
                Symbol::DynamicShared | Symbol::Function(_) => {}
            }
        }
        let mut request = request;
        let address = match base {
            Base::None => self.iconst(I64, offset as u64),
            Base::Symbol(symbol) => {
                if matches!(symbol, Symbol::Frame(_)) {
                    request.space = AccessSpace::Local;
                }
                self.symbol(symbol, offset)
            }
            Base::Reg(reg) | Base::FrameReg(reg) => {
                if matches!(base, Base::FrameReg(_)) {
                    request.space = AccessSpace::Local;
                }
                let value = self.get(reg);
                let narrow = self.b.func.dfg.value_type(value) == I32
                    && matches!(
                        request.space,
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
        };
        let pointer = match request.space {
            AccessSpace::Global | AccessSpace::Generic if self.out_of_line => {
                self.check_elsewhere(address, request)
            }
            AccessSpace::Global => self.check_global(address, request),
            AccessSpace::Generic => self.check_generic(address, request),
            AccessSpace::Shared | AccessSpace::Local | AccessSpace::Param => {
                let (start, limits) = match request.space {
                    AccessSpace::Shared => {
                        (self.context(I64, field!(shared)), field!(shared_limits))
                    }
                    AccessSpace::Local => (self.local, field!(local_limits)),
                    _ => (self.context(I64, field!(params)), field!(param_limits)),
                };
                if request.space == AccessSpace::Param && request.write {
                    return Err("a store to the parameters of a kernel".to_owned());
                }
                self.check_window(address, start, limits, request)
            }
        };
        Ok((pointer, 0))
    }

    fn limit(&mut self, limits: usize, request: Request) -> Value {
        let log = request.size.trailing_zeros() as usize;
        self.context(I64, limits + 8 * log)
    }

    fn rotated(&mut self, offset: Value, request: Request) -> Value {
        match request.size.trailing_zeros() {
            0 => offset,
            log => self.b.ins().rotr_imm_u(offset, i64::from(log)),
        }
    }

    /// An offset into a small window: the host address.
    fn check_window(
        &mut self,
        offset: Value,
        start: Value,
        limits: usize,
        request: Request,
    ) -> Value {
        let rotated = self.rotated(offset, request);
        let limit = self.limit(limits, request);
        let fits = self.less(rotated, limit);
        let (refused, go_on) = (self.cold_block(), self.b.create_block());
        self.branch(fits, go_on, refused);
        self.b.switch_to_block(refused);
        self.slow_check(offset, request);
        self.return_status(STATUS_FAULT);
        self.b.switch_to_block(go_on);
        self.b.ins().iadd(start, offset)
    }

    /// A device address: itself, if it may be accessed.
    fn check_global(&mut self, address: Value, request: Request) -> Value {
        let (refused, done) = (self.cold_block(), self.b.create_block());
        self.b.append_block_param(done, I64);
        self.test_global(address, request, refused, done);
        self.b.switch_to_block(refused);
        self.ask(address, request, done);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Goes to `done` with the address if the shadow allows the access, else to `refused`.
    fn test_global(&mut self, address: Value, request: Request, refused: Block, done: Block) {
        let base = self.context(I64, field!(base));
        let offset = self.b.ins().isub(address, base);
        let rotated = self.rotated(offset, request);
        let limit = self.limit(field!(global_limits), request);
        let inside = self.less(rotated, limit);
        let look = self.b.create_block();
        self.branch(inside, look, refused);
        self.b.switch_to_block(look);
        let map = if request.write {
            field!(writable)
        } else {
            field!(shadow)
        };
        let shadow = self.context(I64, map);
        let granule = self.b.ins().ushr_imm_u(offset, 8);
        let granule = self.b.ins().ishl_imm_u(granule, 1);
        let place = self.b.ins().iadd(shadow, granule);
        let valid = self.b.ins().load(I16, CHECKED, place, 0);
        let valid = self.b.ins().uextend(I32, valid);
        let low = self.b.ins().ireduce(I32, offset);
        let low = self.b.ins().band_imm_u(low, 255);
        let end = self.b.ins().iadd_imm_s(low, i64::from(request.size));
        let allowed = self
            .b
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, end, valid);
        self.b
            .ins()
            .brif(allowed, done, &[address.into()], refused, &[]);
    }

    /// A generic address: the host address, by the window that it is in.
    fn check_generic(&mut self, address: Value, request: Request) -> Value {
        let (refused, done) = (self.cold_block(), self.b.create_block());
        self.b.append_block_param(done, I64);
        let (global, window) = (self.b.create_block(), self.b.create_block());
        let tag = self.b.ins().ushr_imm_u(address, i64::from(WINDOW_SHIFT));
        self.branch(tag, window, global);

        self.b.switch_to_block(window);
        let offset = self
            .b
            .ins()
            .band_imm_s(address, ((1u64 << WINDOW_SHIFT) - 1).cast_signed());
        let shared_tag = self.iconst(I64, SHARED_WINDOW >> WINDOW_SHIFT);
        let local_tag = self.iconst(I64, LOCAL_WINDOW >> WINDOW_SHIFT);
        let is_shared = self.b.ins().icmp(IntCC::Equal, tag, shared_tag);
        let is_local = self.b.ins().icmp(IntCC::Equal, tag, local_tag);
        let shared_limit = self.limit(field!(shared_limits), request);
        let none = self.iconst(I64, 0);
        let limit = if request.atomic {
            // Local memory has no atomic operations.
            none
        } else {
            let local_limit = self.limit(field!(local_limits), request);
            self.b.ins().select(is_local, local_limit, none)
        };
        let limit = self.b.ins().select(is_shared, shared_limit, limit);
        let shared = self.context(I64, field!(shared));
        let local = self.local;
        let start = self.b.ins().select(is_shared, shared, local);
        let rotated = self.rotated(offset, request);
        let fits = self.less(rotated, limit);
        let pointer = self.b.ins().iadd(start, offset);
        self.b
            .ins()
            .brif(fits, done, &[pointer.into()], refused, &[]);

        self.b.switch_to_block(global);
        self.test_global(address, request, refused, done);
        self.b.switch_to_block(refused);
        self.ask(address, request, done);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Checks by a call, so that huge functions do not become several times larger.
    fn check_elsewhere(&mut self, address: Value, request: Request) -> Value {
        let site = self.access_site(request);
        let site = self.iconst(I32, u64::from(site));
        let (ctx, thread) = (self.ctx, self.thread);
        let pointer = self
            .call_helper(Helper::Resolve, &[ctx, thread, address, site])
            .expect("the check has a result");
        let (fault, go_on) = (self.fault_block(), self.b.create_block());
        self.branch(pointer, go_on, fault);
        self.b.switch_to_block(go_on);
        pointer
    }

    fn access_site(&mut self, request: Request) -> u32 {
        self.unit.site(
            self.line,
            Some(Access {
                space: request.space,
                size: request.size,
                write: request.write,
                atomic: request.atomic,
            }),
        )
    }

    /// Calls the slow check, which records the fault, or the host address.
    fn slow_check(&mut self, address: Value, request: Request) {
        let site = self.access_site(request);
        let check = match self.check {
            Some(check) => check,
            None => {
                let id = self.unit.check;
                let check = self.unit.module.declare_func_in_func(id, self.b.func);
                self.check = Some(check);
                check
            }
        };
        let site = self.iconst(I32, u64::from(site));
        let (ctx, thread) = (self.ctx, self.thread);
        self.b.ins().call(check, &[ctx, thread, address, site]);
    }

    /// The slow path: goes to `done` with the host address if the access is allowed after all.
    fn ask(&mut self, address: Value, request: Request, done: Block) {
        self.slow_check(address, request);
        let ctx = self.ctx;
        let resolved = self
            .b
            .ins()
            .load(I64, CHECKED, ctx, field!(fault.resolved) as i32);
        let fault = self.fault_block();
        self.b
            .ins()
            .brif(resolved, done, &[resolved.into()], fault, &[]);
    }

    pub(super) fn load(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let elements = u32::from(op.vector);
        let size = ty.size() * elements;
        if size > 32 {
            return Err("an access of more than 32 bytes".to_owned());
        }
        let space = access_space(op.modifiers.space())?;
        let request = Request {
            space,
            size,
            write: false,
            atomic: false,
        };
        let (pointer, displacement) = self.access(&o[1], request)?;
        let strong = matches!(space, AccessSpace::Global | AccessSpace::Generic)
            && op
                .modifiers
                .ordering()
                .is_some_and(|ordering| ordering != Ordering::Weak);
        let constant = space == AccessSpace::Param
            && matches!(o[1], Operand::Address(Base::Symbol(Symbol::Param(_)), _));
        let flags = if constant { CONSTANT } else { CHECKED };
        let destinations = match &o[0] {
            Operand::Vector(list) => &list[..],
            other => core::slice::from_ref(other),
        };
        if destinations.len() != elements as usize {
            return Err("a vector of another length than the instruction's".to_owned());
        }
        let mut values = Vec::new();
        for (index, destination) in destinations.iter().enumerate() {
            let machine = self.memory_type(machine_type(ty), destination);
            let at = displacement + (index as u32 * ty.size()) as i32;
            // Strong loads must not be merged with others; atomic ones are not, and cost nothing more.
            let value = if strong && machine.bits() <= 64 {
                let place = if at == 0 {
                    pointer
                } else {
                    self.b.ins().iadd_imm_s(pointer, i64::from(at))
                };
                let integer = integer_type(machine.bits());
                self.b.ins().atomic_load(integer, CHECKED, place)
            } else {
                self.b.ins().load(machine, flags, pointer, at)
            };
            values.push(value);
        }
        // A register of the vector may be the address: all loads come first.
        for (destination, value) in destinations.iter().zip(values) {
            self.set_extended(destination, value, ty.is_signed())?;
        }
        Ok(())
    }

    /// The type in which a value is loaded into a register: the register's own, if it is as wide.
    fn memory_type(&self, ty: Type, destination: &Operand) -> Type {
        match destination {
            Operand::Reg(reg) => {
                let class = self.classes[*reg as usize];
                if class.bits() == ty.bits() && ty != I8 {
                    class
                } else {
                    ty
                }
            }
            _ => ty,
        }
    }

    pub(super) fn store(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let ty = op.ty();
        let elements = u32::from(op.vector);
        let size = ty.size() * elements;
        if size > 32 {
            return Err("an access of more than 32 bytes".to_owned());
        }
        let space = access_space(op.modifiers.space())?;
        let request = Request {
            space,
            size,
            write: true,
            atomic: false,
        };
        let sources = match &o[1] {
            Operand::Vector(list) => &list[..],
            other => core::slice::from_ref(other),
        };
        if sources.len() != elements as usize {
            return Err("a vector of another length than the instruction's".to_owned());
        }
        let mut values = Vec::new();
        for source in sources {
            let machine = self.memory_type(machine_type(ty), source);
            values.push(self.value(source, machine)?);
        }
        let (pointer, displacement) = self.access(&o[0], request)?;
        let ordered = matches!(
            op.modifiers.ordering(),
            Some(Ordering::Release | Ordering::Volatile | Ordering::Relaxed | Ordering::Mmio)
        ) && !cfg!(target_arch = "x86_64")
            && matches!(space, AccessSpace::Global | AccessSpace::Generic);
        for (index, value) in values.into_iter().enumerate() {
            let at = displacement + (index as u32 * ty.size()) as i32;
            let width = self.b.func.dfg.value_type(value);
            if ordered && width.bits() <= 64 {
                let place = self.b.ins().iadd_imm_s(pointer, i64::from(at));
                let value = self.coerce(value, integer_type(width.bits()));
                self.b.ins().atomic_store(CHECKED, value, place);
            } else {
                // Stores of x86 are releases already.
                self.b.ins().store(CHECKED, value, pointer, at);
            }
        }
        Ok(())
    }

    pub(super) fn fence(&mut self, op: &Op) -> Lowered {
        // The threads of a block run on one host thread.
        if op.modifiers.scope() != Some(cuprum_ptx::Scope::Cta) {
            self.b.ins().fence();
        }
        Ok(())
    }

    pub(super) fn cvta(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let window = match op.modifiers.space() {
            Some(Space::Shared | Space::SharedCluster) => SHARED_WINDOW,
            Some(Space::Local) => LOCAL_WINDOW,
            Some(Space::Param) => PARAM_WINDOW,
            _ => 0,
        };
        let address = self.value(&o[1], I64)?;
        let address = match window {
            0 => address,
            _ if op.modifiers.to() => {
                let tag = self.iconst(I64, window);
                self.b.ins().isub(address, tag)
            }
            _ => {
                let tag = self.iconst(I64, window);
                self.b.ins().iadd(address, tag)
            }
        };
        self.set(&o[0], address)
    }

    pub(super) fn isspacep(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let address = self.value(&o[1], I64)?;
        let result = match op.modifiers.space() {
            Some(Space::Shared | Space::SharedCluster) => self.in_window(address, SHARED_WINDOW),
            Some(Space::Local) => self.in_window(address, LOCAL_WINDOW),
            Some(Space::Param) => self.in_window(address, PARAM_WINDOW),
            Some(Space::Global) => {
                let outside = self.in_window(address, 0);
                let constant = self.is_constant(address);
                let other = self.b.ins().bxor_imm_u(constant, 1);
                self.b.ins().band(outside, other)
            }
            Some(Space::Const) => self.is_constant(address),
            _ => self.truth(false),
        };
        self.set(&o[0], result)
    }

    fn in_window(&mut self, address: Value, window: u64) -> Value {
        let tag = self.b.ins().ushr_imm_u(address, i64::from(WINDOW_SHIFT));
        let expected = self.iconst(I64, window >> WINDOW_SHIFT);
        self.b.ins().icmp(IntCC::Equal, tag, expected)
    }

    /// Constants lie in global memory here, but are no part of the global space.
    fn is_constant(&mut self, address: Value) -> Value {
        let places: Vec<(u64, u64)> = self
            .unit
            .program
            .variables()
            .iter()
            .zip(self.unit.addresses)
            .filter(|(variable, _)| variable.space == Space::Const)
            .map(|(variable, &start)| (start, variable.size))
            .collect();
        let mut result = self.truth(false);
        for (start, size) in places {
            let start = self.iconst(I64, start);
            let size = self.iconst(I64, size);
            let offset = self.b.ins().isub(address, start);
            let inside = self.less(offset, size);
            result = self.b.ins().bor(result, inside);
        }
        result
    }
}
