//! The lowering of instructions: registers, operands, and the choice of the function that handles an opcode.

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor as _, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I8, I32, I64, I128};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder as _, MemFlagsData, SigRef, Type, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use cuprum_ptx::{Op, Opcode};

use super::check::Checked;
use super::region::Mode;
use super::registers::integer_type;
use super::unit::{Helper, Unit};
use crate::exec::fault::FaultKind;
use crate::program::ir::{BlockId, Function, Inst, Kind, Line, Operand, Reg, Symbol};

/// Why something cannot be compiled, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Unsupported {
    pub(super) line: Line,
    pub(super) message: String,
}

impl Unsupported {
    pub(super) fn anywhere(message: impl Into<String>) -> Self {
        Self {
            line: Line::default(),
            message: message.into(),
        }
    }
}

/// The offset of a field of the block context.
macro_rules! field {
    ($($name:ident).+) => {
        core::mem::offset_of!($crate::exec::context::BlockContext, $($name).+)
    };
}
pub(super) use field;

/// The result of lowering something; the error says what is not supported.
pub(super) type Lowered<T = ()> = Result<T, String>;

/// Flags of memory that never changes while the code runs: loads of it may be moved out of loops and merged.
pub(super) const CONSTANT: MemFlagsData = MemFlagsData::trusted().with_readonly().with_can_move();
/// Flags of checked, aligned memory.
pub(super) const CHECKED: MemFlagsData = MemFlagsData::trusted();

/// A machine function being built from (part of) a PTX function.
pub(super) struct Lower<'u, 'p, 'b> {
    pub(super) b: FunctionBuilder<'b>,
    pub(super) unit: &'u mut Unit<'p>,
    pub(super) function: &'u Function,
    pub(super) classes: &'u [Type],
    pub(super) variables: Vec<Option<Variable>>,
    pub(super) blocks: HashMap<BlockId, Block>,
    /// The block context.
    pub(super) ctx: Value,
    /// The function's first block, which ends in a jump.
    pub(super) entry: Block,
    /// What has been loaded there.
    pub(super) constants: Vec<((Type, Value, i32), Value)>,
    /// The block in which the code of a thread begins.
    pub(super) body: Block,
    /// The linear thread index in 64 bits, and the packed indices, once they are used; computed at the start of `body`.
    pub(super) thread_wide: Option<Value>,
    pub(super) packed: Option<Value>,
    /// Linear index of the thread in the block, 32 bits.
    pub(super) thread: Value,
    /// Host address of the thread's local memory.
    pub(super) local: Value,
    /// Offset of the function's frame in it, 32 bits; `None` for 0.
    pub(super) frame: Option<Value>,
    /// Host address of the function's frame.
    pub(super) frame_base: Value,
    /// The signature of the check of addresses, once it is used.
    pub(super) check_signature: Option<SigRef>,
    /// The current instruction and the rest of its block.
    pub(super) ahead: &'u [Inst],
    /// Groups of accesses in the current block whose check has been done.
    pub(super) checked: Vec<Checked>,
    pub(super) mode: Mode<'u>,
    /// Where the current instruction stands.
    pub(super) line: Line,
    /// Cold block that returns a fault.
    pub(super) fault: Block,
    /// Whether anything goes there.
    pub(super) faults: bool,
    /// Whether checks of addresses are calls: so many are needed that inline ones would take too long to compile.
    pub(super) out_of_line: bool,
}

impl Lower<'_, '_, '_> {
    /// A field of the block context that is constant while the code runs.
    pub(super) fn context(&mut self, ty: Type, offset: usize) -> Value {
        let ctx = self.ctx;
        self.constant(ty, ctx, offset as i32)
    }

    /// Memory that is constant while the code runs, relative to the context or another such constant. Loaded once, at the entry.
    pub(super) fn constant(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        let known = self
            .constants
            .iter()
            .find(|known| known.0 == (ty, base, offset));
        if let Some(&(_, value)) = known {
            return value;
        }
        let mut cursor = FuncCursor::new(self.b.func);
        cursor.goto_last_inst(self.entry);
        let value = cursor.ins().load(ty, CONSTANT, base, offset);
        self.constants.push(((ty, base, offset), value));
        value
    }

    /// A place before everything in the code of a thread but what has been put there.
    pub(super) fn at_start(&mut self, after: Option<Value>) -> FuncCursor<'_> {
        let func = &mut *self.b.func;
        let previous = after.and_then(|value| func.dfg.value_def(value).inst());
        let first = match previous {
            Some(inst) => func.layout.next_inst(inst),
            None => func.layout.first_inst(self.body),
        };
        let cursor = FuncCursor::new(func);
        match first {
            Some(inst) => cursor.at_inst(inst),
            None => cursor.at_bottom(self.body),
        }
    }

    /// The linear index of the thread in 64 bits.
    pub(super) fn thread_wide(&mut self) -> Value {
        if let Some(wide) = self.thread_wide {
            return wide;
        }
        let thread = self.thread;
        let wide = self.at_start(None).ins().uextend(I64, thread);
        self.thread_wide = Some(wide);
        wide
    }

    pub(super) fn iconst(&mut self, ty: Type, value: u64) -> Value {
        if ty == I128 {
            let low = self.b.ins().iconst(I64, value as i64);
            return self.b.ins().uextend(I128, low);
        }
        let masked = match ty.bits() {
            64 => value as i64,
            bits => (value & ((1 << bits) - 1)) as i64,
        };
        self.b.ins().iconst(ty, masked)
    }

    fn variable(&mut self, reg: Reg) -> Variable {
        match self.variables[reg as usize] {
            Some(variable) => variable,
            None => {
                let variable = self.b.declare_var(self.classes[reg as usize]);
                self.variables[reg as usize] = Some(variable);
                variable
            }
        }
    }

    /// The value of a register in its own class.
    pub(super) fn get(&mut self, reg: Reg) -> Value {
        let variable = self.variable(reg);
        self.b.use_var(variable)
    }

    /// Sets a register to a value of its own class.
    pub(super) fn put(&mut self, reg: Reg, value: Value) {
        let variable = self.variable(reg);
        self.b.def_var(variable, value);
    }

    /// The bits of `value` as a value of type `ty`: cut off or filled with zeros where the widths differ.
    pub(super) fn coerce(&mut self, value: Value, ty: Type) -> Value {
        let from = self.b.func.dfg.value_type(value);
        if from == ty {
            return value;
        }
        let none = MemFlagsData::new();
        if from.is_float() {
            let bits = self.b.ins().bitcast(integer_type(from.bits()), none, value);
            return self.coerce(bits, ty);
        }
        if ty.is_float() {
            let bits = self.coerce(value, integer_type(ty.bits()));
            return self.b.ins().bitcast(ty, none, bits);
        }
        if from.bits() > ty.bits() {
            self.b.ins().ireduce(ty, value)
        } else {
            self.b.ins().uextend(ty, value)
        }
    }

    /// An operand as a value of type `ty`.
    pub(super) fn value(&mut self, operand: &Operand, ty: Type) -> Lowered<Value> {
        Ok(match operand {
            Operand::Reg(reg) => {
                let value = self.get(*reg);
                self.coerce(value, ty)
            }
            Operand::Not(reg) => {
                let value = self.get(*reg);
                if ty != I8 || self.b.func.dfg.value_type(value) != I8 {
                    return Err("`!` on what is no predicate".to_owned());
                }
                self.b.ins().bxor_imm_u(value, 1)
            }
            Operand::Int(value) => match ty {
                F32 => self.b.ins().f32const(value.cast_signed() as f32),
                F64 => self.b.ins().f64const(value.cast_signed() as f64),
                _ => {
                    let constant = self.iconst(ty, *value);
                    if ty == I128 && value.cast_signed() < 0 {
                        let low = self.iconst(I64, *value);
                        return Ok(self.b.ins().sextend(I128, low));
                    }
                    constant
                }
            },
            Operand::F32(bits) => match ty {
                F32 => {
                    let float = f32::from_bits(*bits);
                    self.b.ins().f32const(float)
                }
                F64 => {
                    let float = f64::from(f32::from_bits(*bits));
                    self.b.ins().f64const(float)
                }
                _ => self.iconst(ty, u64::from(*bits)),
            },
            Operand::F64(bits) => match ty {
                F32 => {
                    let float = f64::from_bits(*bits) as f32;
                    self.b.ins().f32const(float)
                }
                F64 => {
                    let float = f64::from_bits(*bits);
                    self.b.ins().f64const(float)
                }
                I32 => {
                    let bits = (f64::from_bits(*bits) as f32).to_bits();
                    self.iconst(ty, u64::from(bits))
                }
                _ => self.iconst(ty, *bits),
            },
            Operand::Special(special) => {
                let value = self.special(*special);
                self.coerce(value, ty)
            }
            Operand::Symbol(symbol, offset) => {
                let value = self.symbol(*symbol, *offset);
                self.coerce(value, ty)
            }
            Operand::Vector(elements) => return self.pack(elements, ty),
            Operand::Address(..) | Operand::Pair(_) | Operand::Sink => {
                return Err("an operand that is no value".to_owned());
            }
        })
    }

    /// The address of a symbol in its own space, 64 bits.
    pub(super) fn symbol(&mut self, symbol: Symbol, offset: i64) -> Value {
        let base = match symbol {
            Symbol::Variable(index) => self.unit.addresses[index as usize],
            Symbol::Shared(index) => u64::from(self.unit.shared_offsets[index as usize]),
            Symbol::DynamicShared => u64::from(self.unit.static_shared),
            Symbol::Param(offset) => u64::from(offset),
            Symbol::Function(index) => crate::exec::context::FUNCTION_WINDOW | u64::from(index),
            Symbol::Frame(place) => {
                let place = u64::from(place).wrapping_add_signed(offset);
                return match self.frame {
                    None => self.iconst(I64, place),
                    Some(frame) => {
                        let frame = self.b.ins().uextend(I64, frame);
                        self.b.ins().iadd_imm_s(frame, place as i64)
                    }
                };
            }
        };
        self.iconst(I64, base.wrapping_add_signed(offset))
    }

    /// Stores a value into a destination operand; integers are cut off or filled with zeros to the register's width.
    pub(super) fn set(&mut self, operand: &Operand, value: Value) -> Lowered {
        match operand {
            Operand::Reg(reg) => {
                let value = self.coerce(value, self.classes[*reg as usize]);
                self.put(*reg, value);
                Ok(())
            }
            Operand::Sink => Ok(()),
            Operand::Vector(elements) => self.unpack(elements, value),
            _ => Err("a destination that is no register".to_owned()),
        }
    }

    /// Stores an integer of type `ty`'s signedness: extended to the register's width as the instruction type says.
    pub(super) fn set_extended(
        &mut self,
        operand: &Operand,
        value: Value,
        signed: bool,
    ) -> Lowered {
        if let (Operand::Reg(reg), true) = (operand, signed) {
            let class = self.classes[*reg as usize];
            let from = self.b.func.dfg.value_type(value);
            if from.is_int() && class.bits() > from.bits() {
                let wide = self.b.ins().sextend(integer_type(class.bits()), value);
                return self.set(operand, wide);
            }
        }
        self.set(operand, value)
    }

    /// A predicate operand as 0 or 1 in 8 bits.
    pub(super) fn predicate(&mut self, operand: &Operand) -> Lowered<Value> {
        match operand {
            Operand::Reg(reg) | Operand::Not(reg) if self.classes[*reg as usize] == I8 => {
                self.value(operand, I8)
            }
            Operand::Int(value) => Ok(self.truth(*value != 0)),
            _ => Err("an operand that is no predicate".to_owned()),
        }
    }

    /// Calls a helper.
    pub(super) fn call_helper(&mut self, helper: Helper, arguments: &[Value]) -> Option<Value> {
        let (address, signature) = self.unit.helper(helper);
        let signature = self.b.import_signature(signature);
        let target = self.iconst(I64, address as u64);
        let call = self.b.ins().call_indirect(signature, target, arguments);
        self.b.inst_results(call).first().copied()
    }

    /// Calls the function of `numeric` of that name; arguments and result are brought to its classes by their bits.
    pub(super) fn call_numeric(&mut self, name: &str, arguments: &[Value]) -> Lowered<Value> {
        use crate::numeric::Class;
        let function = crate::numeric::function(name)
            .ok_or_else(|| format!("no implementation of `{name}`"))?;
        let machine = |class: &Class| match class {
            Class::I32 => I32,
            Class::I64 => I64,
            Class::F32 => F32,
            Class::F64 => F64,
        };
        if arguments.len() != function.params.len() {
            return Err(format!(
                "no implementation of `{name}` with that many operands"
            ));
        }
        let params: Vec<Type> = function.params.iter().map(machine).collect();
        let arguments: Vec<Value> = arguments
            .iter()
            .zip(&params)
            .map(|(&argument, &ty)| self.coerce(argument, ty))
            .collect();
        let signature = self.unit.signature(&params, &[machine(&function.result)]);
        let signature = self.b.import_signature(signature);
        let target = self.iconst(I64, function.address().addr() as u64);
        let call = self.b.ins().call_indirect(signature, target, &arguments);
        Ok(self.b.inst_results(call)[0])
    }

    /// The cold block that returns the recorded fault.
    pub(super) fn fault_block(&mut self) -> Block {
        self.faults = true;
        self.fault
    }

    /// Records a fault of this instruction and leaves; what follows is unreachable.
    pub(super) fn raise(&mut self, kind: FaultKind, address: Option<Value>) {
        let site = self.unit.site(self.line, None);
        let site = self.iconst(I32, u64::from(site));
        let kind = self.iconst(I32, kind as u64);
        let address = match address {
            Some(address) => address,
            None => self.iconst(I64, 0),
        };
        let (ctx, thread) = (self.ctx, self.thread);
        self.call_helper(Helper::Raise, &[ctx, thread, site, kind, address]);
        let fault = self.fault_block();
        self.jump(fault, &[]);
    }

    pub(super) fn jump(&mut self, block: Block, arguments: &[Value]) {
        let arguments: Vec<BlockArg> = arguments.iter().map(|&v| BlockArg::Value(v)).collect();
        self.b.ins().jump(block, &arguments);
    }

    /// Branches on a value that is not zero.
    ///
    /// The code generator visits `otherwise` first. It moves code out of a loop until it has seen a block outside, so that where one of the two
    /// leaves a loop, it should be `then`.
    pub(super) fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        self.b.ins().brif(condition, then, &[], otherwise, &[]);
    }

    /// Goes on in a block to which nothing but what has been emitted leads.
    pub(super) fn enter(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// A new block, marked as rarely reached.
    pub(super) fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Lowers one instruction.
    pub(super) fn inst(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        self.line = inst.line;
        let result = match &inst.kind {
            Kind::Op(op, operands) => self.op(op, operands).map_err(|message| {
                let mut name = op.opcode.spelling().to_owned();
                for ty in &op.types {
                    name.push('.');
                    name += ty.spelling();
                }
                format!("`{name}`: {message}")
            }),
            Kind::Call(call) => self.call(call),
            Kind::FrameLoad { to, offset, size } => self.frame_load(*to, *offset, *size),
            Kind::FrameStore { from, offset, size } => self.frame_store(from, *offset, *size),
            Kind::FrameCopy { to, from, size } => {
                self.frame_copy(*to, *from, *size);
                Ok(())
            }
            Kind::Lockstep => Ok(()),
            Kind::Unsupported(message) => Err(message.to_string()),
        };
        result.map_err(|message| Unsupported {
            line: inst.line,
            message,
        })
    }

    fn op(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        use cuprum_ptx::ScalarType as S;
        let ty = op.types.first().copied();
        let half = op
            .types
            .iter()
            .any(|ty| matches!(ty, S::F16 | S::F16x2 | S::Bf16 | S::Bf16x2));
        let float = ty.is_some_and(|ty| matches!(ty, S::F32 | S::F64));
        match op.opcode {
            Opcode::Mov => self.mov(op, o),
            Opcode::Ld | Opcode::Ldu => self.load(op, o),
            Opcode::St => self.store(op, o),
            Opcode::Cvta => self.cvta(op, o),
            Opcode::Isspacep => self.isspacep(op, o),
            Opcode::Cvt => self.cvt(op, o),
            Opcode::Setp => self.setp(op, o),
            Opcode::Set => self.set_compare(op, o),
            Opcode::Selp => self.selp(op, o),
            Opcode::Slct => self.slct(op, o),
            Opcode::Atom | Opcode::Red => self.atomic(op, o),
            Opcode::Membar | Opcode::Fence => self.fence(op),
            Opcode::Prefetch | Opcode::Prefetchu | Opcode::Pmevent | Opcode::Griddepcontrol => {
                Ok(())
            }
            Opcode::Nanosleep => {
                self.call_helper(Helper::Pause, &[]);
                Ok(())
            }
            Opcode::Testp => self.testp(op, o),
            Opcode::Copysign => self.copysign(op, o),
            Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Fma
            | Opcode::Mad
            | Opcode::Min
            | Opcode::Max
            | Opcode::Abs
            | Opcode::Neg
            | Opcode::Ex2
            | Opcode::Tanh
                if half =>
            {
                self.half(op, o)
            }
            Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Div
            | Opcode::Fma
            | Opcode::Mad
            | Opcode::Min
            | Opcode::Max
            | Opcode::Abs
            | Opcode::Neg
                if float =>
            {
                self.float(op, o)
            }
            Opcode::Rcp
            | Opcode::Sqrt
            | Opcode::Rsqrt
            | Opcode::Sin
            | Opcode::Cos
            | Opcode::Lg2
            | Opcode::Ex2
            | Opcode::Tanh => self.float_function(op, o),
            Opcode::Add
            | Opcode::Addc
            | Opcode::Sub
            | Opcode::Subc
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Madc
            | Opcode::Mul24
            | Opcode::Mad24
            | Opcode::Div
            | Opcode::Rem
            | Opcode::Sad
            | Opcode::Abs
            | Opcode::Neg
            | Opcode::Min
            | Opcode::Max => self.integer(op, o),
            Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not => self.logic(op, o),
            Opcode::Shl
            | Opcode::Shr
            | Opcode::Shf
            | Opcode::Popc
            | Opcode::Clz
            | Opcode::Brev
            | Opcode::Bfind
            | Opcode::Bfe
            | Opcode::Bfi
            | Opcode::Bmsk
            | Opcode::Szext
            | Opcode::Fns
            | Opcode::Lop3
            | Opcode::Prmt
            | Opcode::Dp4a
            | Opcode::Dp2a => self.bits(op, o),
            Opcode::Cp => self.copy_async(op, o),
            Opcode::Mbarrier => self.mbarrier(op, o),
            Opcode::Tex | Opcode::Tld4 => self.texture(op, o),
            Opcode::Suld | Opcode::Sust | Opcode::Sured => self.surface(op, o),
            Opcode::Txq | Opcode::Suq => self.image_query(op, o),
            opcode if opcode.spelling().starts_with('v') => self.video(op, o),
            _ => Err("this instruction is not supported".to_owned()),
        }
    }

    /// Whether `a` is less than `b`, unsigned.
    pub(super) fn less(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().icmp(IntCC::UnsignedLessThan, a, b)
    }
}
