//! One thread: registers, frames and the execution of one instruction.

use std::sync::Arc;

use cuprum_ptx::{Action, Flags, Op, Opcode, ScalarType, Space};

use super::Stop;
use super::alu::{combine, compare, compute, cut, operand_type, signed};
use super::memory::{self, Memory};
use super::program::{
    Arg, CallSite, Code, FUNCTIONS, LOCAL_WINDOW, PARAM_WINDOW, Place, Program, Routine,
    SHARED_WINDOW, Slot, immediate_bits,
};

/// Bytes of local memory of a thread.
const LOCAL_BYTES: usize = 1 << 16;

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    Nothing,
    /// A barrier of the block: number, threads expected, what it contributes to a reduction.
    Barrier {
        number: u32,
        expected: Option<u32>,
        predicate: Option<bool>,
    },
    /// An operation of the warp: mask of the lanes and operand values.
    Warp { mask: u32, values: Vec<u128> },
    /// The thread has ended.
    Exited,
}

/// Where a thread runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) thread: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) threads: [u32; 3],
    pub(super) blocks: [u32; 3],
    /// Number within the block.
    pub(super) linear: u32,
    pub(super) dynamic_shared: u32,
}

#[derive(Debug)]
struct Frame {
    routine: usize,
    next: usize,
    registers: Vec<u128>,
    params: Vec<u8>,
    local: u64,
}

/// A thread, suspended between instructions.
#[derive(Debug)]
pub(super) struct Thread {
    frames: Vec<Frame>,
    local: Vec<u8>,
    carry: bool,
    pub(super) wait: Wait,
    position: Position,
}

/// What instructions act upon besides the thread.
pub(super) struct Surroundings<'m> {
    pub(super) program: &'m Arc<Program>,
    pub(super) memory: &'m mut Memory,
    pub(super) shared: &'m mut [u8],
}

fn routine(program: &Program, index: usize) -> Result<&Routine, Stop> {
    match program.routines.get(index) {
        Some(Ok(routine)) => Ok(routine),
        Some(Err(message)) => Err(Stop::Unsupported(message.clone())),
        None => Err(Stop::Fault("a call of no function".to_owned())),
    }
}

impl Thread {
    pub(super) fn start(
        program: &Program,
        kernel: usize,
        params: &[u8],
        position: Position,
    ) -> Result<Thread, Stop> {
        let entry = routine(program, kernel)?;
        let mut bytes = vec![0; entry.param_bytes as usize];
        let given = bytes.len().min(params.len());
        bytes[..given].copy_from_slice(&params[..given]);
        let frame = Frame {
            routine: kernel,
            next: 0,
            registers: vec![0; entry.registers.len()],
            params: bytes,
            local: 0,
        };
        Ok(Thread {
            frames: vec![frame],
            local: vec![0; LOCAL_BYTES],
            carry: false,
            wait: Wait::Nothing,
            position,
        })
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("a running thread has a frame")
    }

    fn special(&self, name: &str) -> Result<u128, Stop> {
        let p = &self.position;
        let (base, axis) = match name.split_once('.') {
            Some((base, axis)) => (base, "xyzw".find(axis).unwrap_or(3)),
            None => (name, 3),
        };
        let pick = |values: [u32; 3]| values.get(axis).copied().unwrap_or(0);
        let lane = p.linear % 32;
        Ok(u128::from(match base {
            "%tid" => pick(p.thread),
            "%ntid" => pick(p.threads),
            "%ctaid" => pick(p.block),
            "%nctaid" => pick(p.blocks),
            "%laneid" => lane,
            "%warpid" => p.linear / 32,
            "%nwarpid" => p.threads.iter().product::<u32>().div_ceil(32),
            "%lanemask_eq" => 1 << lane,
            "%lanemask_lt" => (1 << lane) - 1,
            "%lanemask_le" => u32::MAX >> (31 - lane),
            "%lanemask_gt" => !(u32::MAX >> (31 - lane)),
            "%lanemask_ge" => u32::MAX << lane,
            "%dynamic_smem_size" => p.dynamic_shared,
            _ => return Err(Stop::Unsupported(format!("the name {name}"))),
        }))
    }

    /// Generic address of a place; within its own space if `window` is not wanted.
    fn place(&self, place: Place, offset: i64, window: bool) -> u64 {
        let local = self.frames.last().map_or(0, |frame| frame.local);
        let (base, start) = match place {
            Place::Param(at) => (at, PARAM_WINDOW),
            Place::Local(at) => (local + at, LOCAL_WINDOW),
            Place::Shared(at) => (at, SHARED_WINDOW),
            Place::Global(at) => (at, 0),
            Place::Function(index) => (FUNCTIONS + index as u64, 0),
        };
        base.wrapping_add(if window { start } else { 0 })
            .wrapping_add_signed(offset)
    }

    fn value(&mut self, arg: &Arg, ty: ScalarType) -> Result<u128, Stop> {
        Ok(match arg {
            Arg::Register(register) => self.frame().registers[*register],
            Arg::Not(register) => self.frame().registers[*register] ^ 1,
            Arg::Immediate(immediate) => cut(immediate_bits(*immediate, ty).into(), 64),
            Arg::Special(name) => self.special(name)?,
            Arg::Place(place, offset) => self.place(*place, *offset, false).into(),
            Arg::Address(base, offset) => {
                u128::from((self.value(base, ScalarType::U64)? as u64).wrapping_add_signed(*offset))
            }
            Arg::Vector(elements) => {
                // Packed into one value, the first element lowest.
                let width = ty.bits() / elements.len() as u32;
                let mut packed = 0;
                for (i, element) in elements.iter().enumerate() {
                    packed |= cut(self.value(element, ty)?, width) << (width * i as u32);
                }
                packed
            }
            Arg::Pair(_) | Arg::Sink => {
                return Err(Stop::Unsupported(
                    "a destination read as a value".to_owned(),
                ));
            }
        })
    }

    /// Writes a result of a type: extended by its sign to the register's width.
    fn assign(
        &mut self,
        program: &Program,
        arg: &Arg,
        value: u128,
        ty: ScalarType,
    ) -> Result<(), Stop> {
        match arg {
            Arg::Register(register) => {
                let widths = &routine(program, self.frame().routine)?.registers;
                let value = if ty.is_signed() {
                    signed(value, ty.bits()).cast_unsigned()
                } else {
                    cut(value, ty.bits())
                };
                let width = widths[*register];
                self.frame().registers[*register] = cut(value, width);
                Ok(())
            }
            Arg::Sink => Ok(()),
            Arg::Vector(elements) => {
                let width = ty.bits() / elements.len() as u32;
                for (i, element) in elements.iter().enumerate() {
                    let part = cut(value >> (width * i as u32), width);
                    if let Arg::Register(register) = element {
                        self.frame().registers[*register] = part;
                    }
                }
                Ok(())
            }
            Arg::Pair(pair) => self.assign(program, &pair.0, value, ty),
            _ => Err(Stop::Unsupported("a value as a destination".to_owned())),
        }
    }

    /// Memory at an address of a space, checked for alignment.
    fn bytes<'t>(
        &'t mut self,
        around: &'t mut Surroundings<'_>,
        space: Option<Space>,
        address: u64,
        size: usize,
    ) -> Result<&'t mut [u8], Stop> {
        if !address.is_multiple_of(size as u64) {
            return Err(Stop::Fault(format!(
                "misaligned access of {size} bytes at {address:#x}"
            )));
        }
        let (space, offset) = match space {
            Some(Space::Global | Space::Const) | None
                if address < SHARED_WINDOW || address >> 56 > 0x73 =>
            {
                (Space::Global, address)
            }
            Some(Space::Global | Space::Const) => {
                return Err(Stop::Fault(format!("{address:#x} is not global")));
            }
            Some(space) => (space, address),
            None => match address >> 56 {
                0x71 => (Space::Shared, address - SHARED_WINDOW),
                0x72 => (Space::Local, address - LOCAL_WINDOW),
                _ => (Space::Param, address - PARAM_WINDOW),
            },
        };
        let at = offset as usize..(offset as usize).saturating_add(size);
        let place = match space {
            Space::Global => return around.memory.slice(offset, size),
            Space::Shared | Space::SharedCluster => around.shared.get_mut(at),
            Space::Local => self.local.get_mut(at),
            Space::Param => self.frame().params.get_mut(at),
            other => return Err(Stop::Unsupported(format!("space {other}"))),
        };
        place.ok_or_else(|| Stop::Fault(format!("no {space} memory at {offset:#x} ({size} bytes)")))
    }

    /// Runs until the thread waits, ends or has taken its share of instructions. Answers how many it took.
    pub(super) fn run(&mut self, around: &mut Surroundings<'_>, share: u64) -> Result<u64, Stop> {
        let mut steps = 0;
        while self.wait == Wait::Nothing && steps < share {
            let program = Arc::clone(around.program);
            let frame = self.frame();
            let code = &routine(&program, frame.routine)?.code;
            let at = frame.next;
            let Some(code) = code.get(at) else {
                self.finish(&program)?;
                continue;
            };
            frame.next += 1;
            steps += 1;
            if let Some((register, negated)) = code.guard
                && (frame.registers[register] & 1 == 1) == negated
            {
                continue;
            }
            self.step(&program, code, around)
                .map_err(|stop| stop.at(&code.text))?;
        }
        Ok(steps)
    }

    /// The instruction that the thread waits at.
    pub(super) fn waiting<'p>(&self, program: &'p Program) -> Option<&'p Code> {
        let frame = self.frames.last()?;
        routine(program, frame.routine)
            .ok()?
            .code
            .get(frame.next.checked_sub(1)?)
    }

    /// Gives the results of the operation that the thread waited for, and lets it go on.
    pub(super) fn resume(
        &mut self,
        program: &Program,
        results: &[(u128, ScalarType)],
    ) -> Result<(), Stop> {
        self.wait = Wait::Nothing;
        let Some(code) = self.waiting(program) else {
            return Ok(());
        };
        match (code.args.first(), results) {
            (Some(Arg::Pair(pair)), [first, second]) => {
                self.assign(program, &pair.0, first.0, first.1)?;
                self.assign(program, &pair.1, second.0, second.1)
            }
            (Some(destination), [first, ..]) => self.assign(program, destination, first.0, first.1),
            _ => Ok(()),
        }
    }

    /// Ends the frame: returns to the caller, or ends the thread.
    fn finish(&mut self, program: &Program) -> Result<(), Stop> {
        let done = self.frames.pop().expect("a running thread has a frame");
        let Some(caller) = self.frames.last() else {
            self.wait = Wait::Exited;
            return Ok(());
        };
        let returns = &routine(program, done.routine)?.returns;
        let site = routine(program, caller.routine)?.code[caller.next - 1]
            .call
            .as_ref()
            .expect("a frame is left to a call");
        for (slot, target) in returns.iter().zip(&site.returns) {
            let (value, size) = match *slot {
                Slot::Register(register) => (vec![done.registers[register]], 0),
                Slot::Memory(offset, size) => (
                    done.params[offset as usize..(offset + size) as usize]
                        .iter()
                        .map(|&b| u128::from(b))
                        .collect(),
                    size,
                ),
            };
            match target {
                Arg::Register(register) if size == 0 => {
                    self.frame().registers[*register] = value[0];
                }
                Arg::Register(register) => {
                    let bytes: Vec<u8> = value.iter().map(|&b| b as u8).collect();
                    self.frame().registers[*register] = memory::read(&bytes);
                }
                Arg::Place(Place::Param(offset), _) => {
                    for (i, byte) in value.iter().enumerate().take(size as usize) {
                        self.frame().params[*offset as usize + i] = *byte as u8;
                    }
                }
                _ => return Err(Stop::Unsupported("destination of a call".to_owned())),
            }
        }
        Ok(())
    }

    fn call(&mut self, program: &Program, site: &CallSite) -> Result<(), Stop> {
        let callee = match &site.callee {
            Arg::Place(Place::Function(index), _) => *index,
            Arg::Register(register) => {
                (self.frame().registers[*register] as u64).wrapping_sub(FUNCTIONS) as usize
            }
            Arg::Special(name) => return Err(Stop::Unsupported(format!("the function {name}"))),
            _ => return Err(Stop::Unsupported("callee".to_owned())),
        };
        let target = routine(program, callee)?;
        if self.frames.len() > 200 {
            return Err(Stop::Fault("recursion too deep".to_owned()));
        }
        let caller = routine(program, self.frame().routine)?;
        let local = self.frame().local + caller.local_bytes.next_multiple_of(16);
        let mut frame = Frame {
            routine: callee,
            next: 0,
            registers: vec![0; target.registers.len()],
            params: vec![0; target.param_bytes as usize],
            local,
        };
        for (slot, argument) in target.params.iter().zip(&site.arguments) {
            match (*slot, argument) {
                (Slot::Memory(offset, size), Arg::Place(Place::Param(from), _)) => {
                    let bytes =
                        self.frame().params[*from as usize..(*from + size) as usize].to_vec();
                    frame.params[offset as usize..(offset + size) as usize].copy_from_slice(&bytes);
                }
                (Slot::Memory(offset, size), other) => {
                    let value = self.value(other, ScalarType::B64)?;
                    memory::write(
                        &mut frame.params[offset as usize..(offset + size) as usize],
                        value,
                    );
                }
                (Slot::Register(register), other) => {
                    frame.registers[register] = cut(
                        self.value(other, ScalarType::B64)?,
                        target.registers[register],
                    );
                }
            }
        }
        self.frames.push(frame);
        Ok(())
    }

    fn step(
        &mut self,
        program: &Program,
        code: &Code,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Stop> {
        let op = &code.op;
        let m = &op.modifiers;
        match op.opcode {
            Opcode::Bra => self.frame().next = code.targets[0],
            Opcode::Brx => {
                let index = self.value(&code.args[0], ScalarType::U32)? as usize;
                self.frame().next = *code
                    .targets
                    .get(index)
                    .ok_or_else(|| Stop::Fault(format!("brx.idx to target {index}")))?;
            }
            Opcode::Call => self.call(program, code.call.as_ref().expect("a call has its site"))?,
            Opcode::Ret => self.finish(program)?,
            Opcode::Exit => self.wait = Wait::Exited,
            Opcode::Trap => return Err(Stop::Fault("trap".to_owned())),
            Opcode::Membar
            | Opcode::Fence
            | Opcode::Nanosleep
            | Opcode::Pmevent
            | Opcode::Brkpt
            | Opcode::Prefetch
            | Opcode::Prefetchu => {}
            Opcode::Ld | Opcode::Ldu => self.load(program, code, around)?,
            Opcode::St => self.store(code, around)?,
            Opcode::Atom | Opcode::Red => self.atomic(program, code, around)?,
            Opcode::Cvta => {
                let from = self.value(&code.args[1], ScalarType::U64)? as u64;
                let window = match m.space() {
                    Some(Space::Shared | Space::SharedCluster) => SHARED_WINDOW,
                    Some(Space::Local) => LOCAL_WINDOW,
                    Some(Space::Param) => PARAM_WINDOW,
                    _ => 0,
                };
                let to = if m.to() {
                    from.wrapping_sub(window)
                } else {
                    from.wrapping_add(window)
                };
                self.assign(program, &code.args[0], to.into(), op.ty())?;
            }
            Opcode::Isspacep if m.space() == Some(Space::Const) => {
                return Err(Stop::Unsupported("isspacep.const".to_owned()));
            }
            Opcode::Isspacep => {
                let space = match self.value(&code.args[1], ScalarType::U64)? >> 56 {
                    0x71 => Space::Shared,
                    0x72 => Space::Local,
                    0x73 => Space::Param,
                    _ => Space::Global,
                };
                self.assign(
                    program,
                    &code.args[0],
                    (Some(space) == m.space()).into(),
                    ScalarType::Pred,
                )?;
            }
            Opcode::Bar | Opcode::Barrier => self.barrier(code)?,
            Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux => {
                let values = code.args[1..]
                    .iter()
                    .map(|arg| self.value(arg, ScalarType::B64))
                    .collect::<Result<Vec<_>, _>>()?;
                if !m.sync() {
                    return Err(Stop::Unsupported(
                        "warp operations without .sync".to_owned(),
                    ));
                }
                let mask = *values.last().expect("a mask is the last operand") as u32;
                self.wait = Wait::Warp { mask, values };
            }
            Opcode::Mov => {
                let value = self.value(&code.args[1], op.ty())?;
                self.assign(program, &code.args[0], value, op.ty())?;
            }
            Opcode::Setp => self.setp(program, code)?,
            _ => self.compute(program, code)?,
        }
        Ok(())
    }

    fn compute(&mut self, program: &Program, code: &Code) -> Result<(), Stop> {
        let op = &code.op;
        let values = code.args[1..]
            .iter()
            .enumerate()
            .map(|(i, arg)| self.value(arg, operand_type(op, i)))
            .collect::<Result<Vec<_>, _>>()?;
        let result = compute(op, &values, &mut self.carry)?;
        self.assign(program, &code.args[0], result, result_type(op))
    }

    fn setp(&mut self, program: &Program, code: &Code) -> Result<(), Stop> {
        let op = &code.op;
        let ty = op.ty();
        let (a, b) = (
            self.value(&code.args[1], ty)?,
            self.value(&code.args[2], ty)?,
        );
        let further = match code.args.get(3) {
            Some(arg) => Some(self.value(arg, ScalarType::Pred)? & 1 == 1),
            None => None,
        };
        let halves = matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
        let scalar = match ty {
            ScalarType::F16x2 => ScalarType::F16,
            ScalarType::Bf16x2 => ScalarType::Bf16,
            other => other,
        };
        let first = compare(op, scalar, a, b)?;
        // The second predicate: the upper half of a pair, else the opposite.
        let second = if halves {
            compare(op, scalar, a >> 16, b >> 16)?
        } else {
            !first
        };
        let (first, second) = (combine(op, first, further), combine(op, second, further));
        match &code.args[0] {
            Arg::Pair(pair) => {
                self.assign(program, &pair.0, first.into(), ScalarType::Pred)?;
                self.assign(program, &pair.1, second.into(), ScalarType::Pred)
            }
            single => self.assign(program, single, first.into(), ScalarType::Pred),
        }
    }

    fn load(
        &mut self,
        program: &Program,
        code: &Code,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Stop> {
        let ty = code.op.ty();
        let size = ty.size() as usize;
        let (address, space) = self.address(&code.args[1], code.op.modifiers.space())?;
        let bytes = self
            .bytes(around, space, address, size * usize::from(code.op.vector))?
            .to_vec();
        let elements = match &code.args[0] {
            Arg::Vector(elements) if code.op.vector > 1 => elements.as_slice(),
            single => std::slice::from_ref(single),
        };
        for (element, bytes) in elements.iter().zip(bytes.chunks(size)) {
            self.assign(program, element, memory::read(bytes), ty)?;
        }
        Ok(())
    }

    fn store(&mut self, code: &Code, around: &mut Surroundings<'_>) -> Result<(), Stop> {
        let ty = code.op.ty();
        let size = ty.size() as usize;
        let elements = match &code.args[1] {
            Arg::Vector(elements) if code.op.vector > 1 => elements.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut data = vec![0; size * usize::from(code.op.vector)];
        for (element, bytes) in elements.iter().zip(data.chunks_mut(size)) {
            memory::write(bytes, self.value(element, ty)?);
        }
        let (address, space) = self.address(&code.args[0], code.op.modifiers.space())?;
        self.bytes(around, space, address, data.len())?
            .copy_from_slice(&data);
        Ok(())
    }

    /// An address operand, and the space it is in: names know theirs, whatever the instruction says.
    fn address(&mut self, arg: &Arg, space: Option<Space>) -> Result<(u64, Option<Space>), Stop> {
        let named = match arg {
            Arg::Address(base, _) => &**base,
            other => other,
        };
        let mut address = self.value(arg, ScalarType::U64)? as u64;
        // Addresses of these spaces have 32 bits: a register may hold a negative number.
        let windows = [Some(Space::Shared), Some(Space::Local), Some(Space::Param)];
        if matches!(named, Arg::Register(_)) && windows.contains(&space) {
            address &= 0xffff_ffff;
        }
        Ok(match named {
            Arg::Place(Place::Param(_), _) => (address, Some(Space::Param)),
            Arg::Place(Place::Global(_), _) => (address, Some(Space::Global)),
            Arg::Place(Place::Shared(_), _) => (address, Some(Space::Shared)),
            Arg::Place(Place::Local(_), _) => (address, Some(Space::Local)),
            _ => (address, space),
        })
    }

    fn atomic(
        &mut self,
        program: &Program,
        code: &Code,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Stop> {
        let op = &code.op;
        let ty = op.ty();
        if op.vector > 1 {
            return Err(Stop::Unsupported("vector atomics".to_owned()));
        }
        let args = if op.opcode == Opcode::Atom {
            &code.args[1..]
        } else {
            &code.args[..]
        };
        let operands = args[1..]
            .iter()
            .map(|arg| self.value(arg, ty))
            .collect::<Result<Vec<_>, _>>()?;
        let (address, space) = self.address(&args[0], op.modifiers.space())?;
        let operation = op
            .modifiers
            .atom_op()
            .expect("decoding requires an operation");
        let global = match space {
            Some(space) => space != Space::Shared && space != Space::SharedCluster,
            None => address >> 56 != SHARED_WINDOW >> 56,
        };
        let bytes = self.bytes(around, space, address, ty.size() as usize)?;
        let old = memory::read(bytes);
        memory::write(
            bytes,
            super::alu::atomic(operation, ty, old, &operands, global)?,
        );
        if op.opcode == Opcode::Atom {
            self.assign(program, &code.args[0], old, ty)?;
        }
        Ok(())
    }

    fn barrier(&mut self, code: &Code) -> Result<(), Stop> {
        let op = &code.op;
        let flags = op.modifiers.flags();
        if flags.contains(Flags::WARP) {
            let mask = self.value(&code.args[0], ScalarType::U32)? as u32;
            self.wait = Wait::Warp {
                mask,
                values: Vec::new(),
            };
            return Ok(());
        }
        if flags.contains(Flags::CLUSTER) {
            return Err(Stop::Unsupported("cluster barriers".to_owned()));
        }
        let reduction = op.modifiers.action() == Some(Action::Red);
        if op.modifiers.action() == Some(Action::Arrive) {
            return Err(Stop::Unsupported("barrier arrivals".to_owned()));
        }
        // bar.red d, number [, threads], predicate
        let args = if reduction {
            &code.args[1..]
        } else {
            &code.args[..]
        };
        let (numbers, predicate) = if reduction {
            args.split_at(args.len() - 1)
        } else {
            (args, &[][..])
        };
        let number = match numbers.first() {
            Some(arg) => self.value(arg, ScalarType::U32)? as u32,
            None => 0,
        };
        let expected = match numbers.get(1) {
            Some(arg) => Some(self.value(arg, ScalarType::U32)? as u32),
            None => None,
        };
        let predicate = match predicate.first() {
            Some(arg) => Some(self.value(arg, ScalarType::Pred)? & 1 == 1),
            None => None,
        };
        self.wait = Wait::Barrier {
            number,
            expected,
            predicate,
        };
        Ok(())
    }
}

/// The type of the result, by which it is extended into its register.
fn result_type(op: &Op) -> ScalarType {
    let ty = op.types.first().copied().unwrap_or(ScalarType::B64);
    match op.opcode {
        Opcode::Popc | Opcode::Clz | Opcode::Bfind => ScalarType::U32,
        Opcode::Testp => ScalarType::Pred,
        Opcode::Cvt if op.modifiers.flags().contains(Flags::PACK) => ScalarType::B32,
        Opcode::Mul | Opcode::Mad if op.modifiers.wide() => match ty {
            ScalarType::U16 => ScalarType::U32,
            ScalarType::S16 => ScalarType::S32,
            ScalarType::U32 => ScalarType::U64,
            ScalarType::S32 => ScalarType::S64,
            other => other,
        },
        _ => ty,
    }
}
