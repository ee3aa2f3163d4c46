//! Loads and stores; [`check`](super::check) has the checks of their addresses.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{InstBuilder as _, Type, Value};
use cuprum_ptx::{Op, Ordering, Space};

use super::lower::{CHECKED, Lower, Lowered, field};
use super::registers::{integer_type, machine_type};
use crate::exec::context::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SHIFT};
use crate::exec::fault::AccessSpace;
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
        self.find(operand, request, false)
    }

    /// As [`access`](Self::access); a plain load or store may be checked together with others.
    fn find(&mut self, operand: &Operand, request: Request, grouped: bool) -> Lowered<Place> {
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
                Symbol::Param(_) => {
                    if let Some(at) = self.known_param(operand, request) {
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
        if matches!(base, Base::FrameReg(_) | Base::Symbol(Symbol::Frame(_))) {
            request.space = AccessSpace::Local;
        }
        if request.space == AccessSpace::Param && request.write {
            return Err("a store to the parameters of a kernel".to_owned());
        }
        let address = match base {
            Base::None => self.iconst(I64, offset as u64),
            Base::Symbol(symbol) => self.symbol(symbol, offset),
            Base::Reg(reg) | Base::FrameReg(reg) if grouped => {
                return self.access_in_group(reg, offset, request);
            }
            Base::Reg(reg) | Base::FrameReg(reg) => self.address(reg, offset, request.space),
        };
        Ok((self.access_alone(address, request), 0))
    }

    /// Where in the kernel's parameters a load reads, if that is known now and inside them.
    fn known_param(&self, operand: &Operand, request: Request) -> Option<i64> {
        let Operand::Address(Base::Symbol(Symbol::Param(place)), offset) = operand else {
            return None;
        };
        let at = i64::from(*place).checked_add(*offset)?;
        let end = at.checked_add(i64::from(request.size))?;
        let inside = at >= 0
            && end <= i64::from(self.unit.param_bytes)
            && at & i64::from(request.size - 1) == 0;
        (!request.write && inside).then_some(at)
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
        let (pointer, displacement) = self.find(&o[1], request, true)?;
        let strong = matches!(space, AccessSpace::Global | AccessSpace::Generic)
            && op
                .modifiers
                .ordering()
                .is_some_and(|ordering| ordering != Ordering::Weak);
        let constant = self.known_param(&o[1], request).is_some();
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
            if constant {
                values.push(self.constant(machine, pointer, at));
                continue;
            }
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
                self.b.ins().load(machine, CHECKED, pointer, at)
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
        let (pointer, displacement) = self.find(&o[0], request, true)?;
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
