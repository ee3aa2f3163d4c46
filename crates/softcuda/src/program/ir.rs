//! The owned form of a PTX function: basic blocks of decoded instructions over densely numbered registers.
//!
//! It stays close to PTX: an instruction is a decoded [`Op`] with resolved operands. What is resolved here: names (registers,
//! variables, parameters, functions, labels), guards (they become branches), barriers and warp operations (they end their block, since
//! threads stop there), and the carry flag (it becomes a register, the last operand of instructions that read or write it).

use cuprum_ptx::{Action, Op, Opcode, ScalarType, Space};
use smallvec::SmallVec;

/// Register number, dense within a function.
pub(crate) type Reg = u32;
/// Block number within a function; block 0 is the entry.
pub(crate) type BlockId = u32;

/// Special registers (PTX ISA, section 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// `%tid`, by component.
    Tid(u8),
    /// `%ntid`, by component.
    Ntid(u8),
    /// `%ctaid`, by component.
    Ctaid(u8),
    /// `%nctaid`, by component.
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    SmId,
    SmCount,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    /// `%clock`, `%clock64`, `%globaltimer`: nanoseconds since some start.
    Clock,
    /// The upper 32 bits of the same.
    ClockHigh,
    DynamicShared,
    TotalShared,
    /// `%envreg1` and `%envreg2`: the address of the grid's workspace, its upper and its lower half.
    GridWorkspaceHigh,
    GridWorkspaceLow,
    /// Other `%envregN`, `%pmN`, `%reserved_smem_offset_*`, `%aggr_smem_size` and the cluster registers of a launch without clusters: this number.
    Constant(u32),
}

/// Something with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Symbol {
    /// A module variable in global or constant memory, by index.
    Variable(u32),
    /// A variable in static shared memory, by index into the image's.
    Shared(u32),
    /// The start of dynamic shared memory.
    DynamicShared,
    /// A place in the frame of the function: local variables, and parameters and results of functions and calls.
    Frame(u32),
    /// A place in the kernel's parameters.
    Param(u32),
    /// A function, by index.
    Function(u32),
}

/// What an address is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    Reg(Reg),
    /// A register with an offset into local memory, where the instruction says `.param`: parameters of functions lie in their frames.
    FrameReg(Reg),
    Symbol(Symbol),
    None,
}

/// A resolved operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Reg(Reg),
    /// `!%p`.
    Not(Reg),
    /// An integer, its low 64 bits.
    Int(u64),
    /// Bits of an `f32`.
    F32(u32),
    /// Bits of an `f64`.
    F64(u64),
    Special(Special),
    /// The address of a symbol plus bytes, in the symbol's own space.
    Symbol(Symbol, i64),
    /// The operand of memory instructions.
    Address(Base, i64),
    Vector(Box<[Operand]>),
    /// `d|p`.
    Pair(Box<[Operand; 2]>),
    Sink,
}

/// Operands in the order written.
pub(crate) type Operands = SmallVec<[Operand; 4]>;

/// Where an instruction stands: its PTX line, and the `.loc` in force (file number, line), zeros if there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    pub(crate) ptx: u32,
    pub(crate) file: u32,
    pub(crate) source: u32,
}

/// Functions that the device runtime provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Builtin {
    Vprintf,
    AssertFail,
    Malloc,
    Free,
}

/// What a call goes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Callee {
    Function(u32),
    Builtin(Builtin),
    /// The register holds a function's address; the prototype is an index into [`Function::prototypes`].
    Indirect(Reg, u32),
}

/// An argument or result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Argument {
    /// A `.param` variable of the caller: its place in the caller's frame.
    Frame { offset: u32, size: u32 },
    /// A register or constant (old style `.reg` parameters).
    Value(Operand),
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) returns: Vec<Argument>,
    pub(crate) args: Vec<Argument>,
}

/// What an instruction does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Op(Op, Operands),
    Call(Box<Call>),
    /// Loads `size` bytes of the frame into a register.
    FrameLoad {
        to: Reg,
        offset: u32,
        size: u32,
    },
    /// Stores the low `size` bytes of a value into the frame.
    FrameStore {
        from: Operand,
        offset: u32,
        size: u32,
    },
    /// Copies within the frame.
    FrameCopy {
        to: u32,
        from: u32,
        size: u32,
    },
    /// A stop that lets the lanes of a warp catch up: see [`lockstep`](super::lockstep).
    Lockstep,
    /// Cannot be compiled; the text says what and why.
    Unsupported(Box<str>),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inst {
    pub(crate) kind: Kind,
    pub(crate) line: Line,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Term {
    Jump(BlockId),
    Branch {
        pred: Reg,
        negated: bool,
        then: BlockId,
        otherwise: BlockId,
    },
    /// `brx.idx`; an index beyond the table is undefined in PTX and takes the last target.
    Table {
        index: Operand,
        targets: Vec<BlockId>,
    },
    /// A back edge: here the stop flag is polled, and if `yields`, threads give way now and then.
    Loop {
        target: BlockId,
        yields: bool,
    },
    /// A barrier or warp operation: the thread stops, and goes on at `next` with the results of the instruction.
    Suspend {
        inst: Box<Inst>,
        next: BlockId,
    },
    Ret,
    Exit,
    Trap(Line),
    Breakpoint(Line),
}

impl Term {
    /// Calls `f` with each register that is read.
    pub(crate) fn visit_uses(&self, mut f: impl FnMut(Reg)) {
        match self {
            Term::Branch { pred, .. } => f(*pred),
            Term::Table {
                index: Operand::Reg(reg),
                ..
            } => f(*reg),
            Term::Suspend { inst, .. } => inst.visit(|reg, access| {
                if access == Access::Use {
                    f(reg);
                }
            }),
            _ => {}
        }
    }

    /// Calls `f` with each successor.
    pub(crate) fn for_each_successor(&self, mut f: impl FnMut(BlockId)) {
        match self {
            Term::Jump(target) | Term::Loop { target, .. } => f(*target),
            Term::Suspend { next, .. } => f(*next),
            Term::Branch {
                then, otherwise, ..
            } => {
                f(*then);
                f(*otherwise);
            }
            Term::Table { targets, .. } => targets.iter().copied().for_each(f),
            Term::Ret | Term::Exit | Term::Trap(_) | Term::Breakpoint(_) => {}
        }
    }

    /// Calls `f` with each successor, to change it.
    pub(crate) fn for_each_successor_mut(&mut self, mut f: impl FnMut(&mut BlockId)) {
        match self {
            Term::Jump(target) | Term::Loop { target, .. } => f(target),
            Term::Suspend { next, .. } => f(next),
            Term::Branch {
                then, otherwise, ..
            } => {
                f(then);
                f(otherwise);
            }
            Term::Table { targets, .. } => targets.iter_mut().for_each(f),
            Term::Ret | Term::Exit | Term::Trap(_) | Term::Breakpoint(_) => {}
        }
    }
}

/// A basic block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) insts: Vec<Inst>,
    pub(crate) term: Term,
}

/// A place in parameter memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// Where the parameters and results of a call lie, relative to the callee's frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) returns: Vec<Slot>,
    pub(crate) params: Vec<Slot>,
    /// Bytes that both take, a multiple of 16.
    pub(crate) bytes: u32,
}

/// A kernel or function with a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    /// Declared type by register: only width and predicate-ness bind.
    pub(crate) regs: Vec<ScalarType>,
    pub(crate) blocks: Vec<Block>,
    /// For a function: where parameters and results lie in its frame. Empty for a kernel.
    pub(crate) signature: Signature,
    /// Parameters in `.reg` style: register, offset in the frame, bytes; loaded on entry.
    pub(crate) reg_params: Vec<(Reg, Slot)>,
    /// Results in `.reg` style, stored on return.
    pub(crate) reg_returns: Vec<(Reg, Slot)>,
    /// Signatures of indirect calls.
    pub(crate) prototypes: Vec<Signature>,
    /// Bytes of the frame, a multiple of 16.
    pub(crate) frame_bytes: u32,
}

impl Function {
    /// A new register.
    pub(crate) fn new_reg(&mut self, ty: ScalarType) -> Reg {
        self.regs.push(ty);
        self.regs.len() as Reg - 1
    }

    /// All instructions, those that end blocks included.
    pub(crate) fn insts(&self) -> impl Iterator<Item = &Inst> {
        self.blocks.iter().flat_map(|block| {
            let last = match &block.term {
                Term::Suspend { inst, .. } => Some(&**inst),
                _ => None,
            };
            block.insts.iter().chain(last)
        })
    }
}

/// How many of the first operands are destinations.
pub(crate) fn destinations(op: &Op) -> usize {
    match op.opcode {
        Opcode::St
        | Opcode::Red
        | Opcode::Sust
        | Opcode::Sured
        | Opcode::Membar
        | Opcode::Fence
        | Opcode::Nanosleep
        | Opcode::Pmevent
        | Opcode::Prefetch
        | Opcode::Prefetchu
        | Opcode::Cp
        | Opcode::Stackrestore
        | Opcode::Griddepcontrol => 0,
        Opcode::Mbarrier => usize::from(!matches!(
            op.modifiers.action(),
            Some(Action::Init | Action::Inval)
        )),
        Opcode::Bar | Opcode::Barrier => usize::from(op.modifiers.action() == Some(Action::Red)),
        _ => 1,
    }
}

/// Whether the instruction's last operand is the carry flag, read.
pub(crate) fn reads_carry(op: &Op) -> bool {
    matches!(op.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc)
}

/// Whether the instruction's last operand is the carry flag, at least one of read and written.
pub(crate) fn has_carry(op: &Op) -> bool {
    reads_carry(op) || op.modifiers.cc()
}

/// Whether a register is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Use,
    Def,
}

/// Walkers over the registers of operands and instructions, for shared or exclusive references.
macro_rules! walkers {
    ($operand:ident, $(#[$doc:meta])* $inst:ident, [$($exclusive:tt)?]) => {
        fn $operand(
            operand: &$($exclusive)? Operand,
            access: Access,
            f: &mut impl FnMut(&$($exclusive)? Reg, Access),
        ) {
            match operand {
                Operand::Reg(reg) => f(reg, access),
                Operand::Not(reg) => f(reg, Access::Use),
                Operand::Address(Base::Reg(reg) | Base::FrameReg(reg), _) => f(reg, Access::Use),
                Operand::Vector(elements) => {
                    for element in &$($exclusive)? **elements {
                        $operand(element, access, f);
                    }
                }
                Operand::Pair(pair) => {
                    for element in &$($exclusive)? **pair {
                        $operand(element, access, f);
                    }
                }
                Operand::Int(_)
                | Operand::F32(_)
                | Operand::F64(_)
                | Operand::Special(_)
                | Operand::Symbol(..)
                | Operand::Address(..)
                | Operand::Sink => {}
            }
        }

        impl Inst {
            $(#[$doc])*
            pub(crate) fn $inst(&$($exclusive)? self, mut f: impl FnMut(&$($exclusive)? Reg, Access)) {
                match &$($exclusive)? self.kind {
                    Kind::Op(op, operands) => {
                        let count = operands.len();
                        let carry = has_carry(op);
                        let explicit = count - usize::from(carry);
                        let dst = destinations(op).min(explicit);
                        for operand in &$($exclusive)? operands[dst..explicit] {
                            $operand(operand, Access::Use, &mut f);
                        }
                        if reads_carry(op) {
                            $operand(&$($exclusive)? operands[count - 1], Access::Use, &mut f);
                        }
                        for operand in &$($exclusive)? operands[..dst] {
                            $operand(operand, Access::Def, &mut f);
                        }
                        if op.modifiers.cc() {
                            $operand(&$($exclusive)? operands[count - 1], Access::Def, &mut f);
                        }
                    }
                    Kind::Call(call) => {
                        if let Callee::Indirect(reg, _) = &$($exclusive)? call.callee {
                            f(reg, Access::Use);
                        }
                        for arg in &$($exclusive)? call.args {
                            if let Argument::Value(operand) = arg {
                                $operand(operand, Access::Use, &mut f);
                            }
                        }
                        for result in &$($exclusive)? call.returns {
                            if let Argument::Value(operand) = result {
                                $operand(operand, Access::Def, &mut f);
                            }
                        }
                    }
                    Kind::FrameLoad { to, .. } => f(to, Access::Def),
                    Kind::FrameStore { from, .. } => $operand(from, Access::Use, &mut f),
                    Kind::FrameCopy { .. } | Kind::Lockstep | Kind::Unsupported(_) => {}
                }
            }
        }
    };
}

walkers!(
    visit_operand_mut,
    /// Calls `f` with every register of the instruction; uses come before definitions, and a place that is both is visited twice.
    visit_mut,
    [mut]
);
walkers!(
    visit_operand,
    /// As [`visit_mut`](Self::visit_mut), by shared references.
    visit_ref,
    []
);

impl Inst {
    /// Calls `f` once with every place of the instruction that names a register, to change it.
    pub(crate) fn rename(&mut self, mut f: impl FnMut(&mut Reg)) {
        match &mut self.kind {
            Kind::Op(_, operands) => {
                for operand in operands {
                    visit_operand_mut(operand, Access::Use, &mut |reg: &mut Reg, _| f(reg));
                }
            }
            _ => self.visit_mut(|reg, _| f(reg)),
        }
    }

    /// Calls `f` with every register of the instruction; uses come before definitions.
    pub(crate) fn visit(&self, mut f: impl FnMut(Reg, Access)) {
        self.visit_ref(|&reg, access| f(reg, access));
    }

    /// Whether the instruction writes the register.
    pub(crate) fn defines(&self, reg: Reg) -> bool {
        let mut defines = false;
        self.visit(|other, access| defines |= access == Access::Def && other == reg);
        defines
    }

    /// Registers that the instruction writes.
    pub(crate) fn defs(&self) -> SmallVec<[Reg; 4]> {
        let mut defs = SmallVec::new();
        self.visit(|reg, access| {
            if access == Access::Def {
                defs.push(reg);
            }
        });
        defs
    }
}

/// Whether other threads can change what the instruction sees, so that a loop around it may be waiting for them.
pub(crate) fn may_wait(inst: &Inst) -> bool {
    let Kind::Op(op, _) = &inst.kind else {
        return false;
    };
    let private = matches!(op.modifiers.space(), Some(Space::Local | Space::Param));
    match op.opcode {
        Opcode::Atom | Opcode::Nanosleep => true,
        Opcode::Mbarrier => matches!(
            op.modifiers.action(),
            Some(Action::TestWait | Action::TryWait)
        ),
        Opcode::Ld => {
            !private
                && (op
                    .modifiers
                    .ordering()
                    .is_some_and(|o| o != cuprum_ptx::Ordering::Weak)
                    || matches!(
                        op.modifiers.cache_op(),
                        Some(cuprum_ptx::CacheOp::Cv | cuprum_ptx::CacheOp::Cg)
                    ))
        }
        _ => false,
    }
}
