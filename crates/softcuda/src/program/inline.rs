//! Functions that stop threads are inlined into their callers, so that every stop is in the kernel itself.

use cuprum_driver_sys::CUresult;

use super::flow;
use super::ir::{
    Argument, Base, Block, BlockId, Callee, Function, Inst, Kind, Line, Operand, Signature, Symbol,
    Term, may_wait,
};
use super::{LoadError, MAX_LOCAL, Program, suspends};

/// Most blocks that a kernel may have after inlining.
const MAX_BLOCKS: usize = 1 << 17;
/// Most instructions that inlining may add to a kernel.
const MAX_INLINED: usize = 1 << 20;
/// Deepest chain of functions that are inlined into each other.
const MAX_DEPTH: usize = 200;

/// What callers must know of a function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// It, or what it calls, has barriers, warp operations or loops that wait for other threads: it cannot be compiled as a native function.
    pub(crate) stops: bool,
    /// It, or what it calls, reads memory that other threads may change meanwhile: a loop around a call of it may be waiting.
    pub(crate) waits: bool,
}

/// Summaries of all functions, by iteration over the call graph.
pub(super) fn summarise(program: &Program) -> Vec<Summary> {
    let count = program.functions.len();
    let mut summaries = vec![Summary::default(); count];
    for (index, summary) in summaries.iter_mut().enumerate() {
        if let Some(body) = program.body(index as u32) {
            summary.waits = body.insts().any(may_wait);
            summary.stops = suspends(body);
        }
    }
    loop {
        let mut changed = false;
        for index in 0..count {
            let Some(body) = program.body(index as u32) else {
                continue;
            };
            let mut new = summaries[index];
            for inst in body.insts() {
                let Kind::Call(call) = &inst.kind else {
                    continue;
                };
                if let Callee::Function(callee) = call.callee {
                    new.waits |= summaries[callee as usize].waits;
                    new.stops |= summaries[callee as usize].stops;
                }
            }
            changed |= new != summaries[index];
            summaries[index] = new;
        }
        if !changed {
            break;
        }
    }
    // Loops that wait: they yield, which is a stop too.
    for index in 0..count {
        let Some(body) = program.body(index as u32) else {
            continue;
        };
        let waits = |callee: u32| summaries[callee as usize].waits;
        // A native function cannot yield around an indirect call; it is left to the time limit.
        let yields = flow::loops(body, &waits)
            .into_iter()
            .any(|(.., yields)| yields);
        summaries[index].stops |= yields && !body.is_entry;
    }
    loop {
        let mut changed = false;
        for index in 0..count {
            let Some(body) = program.body(index as u32) else {
                continue;
            };
            let stops = body.insts().any(|inst| match &inst.kind {
                Kind::Call(call) => match call.callee {
                    Callee::Function(callee) => summaries[callee as usize].stops,
                    _ => false,
                },
                _ => false,
            });
            if stops && !summaries[index].stops {
                summaries[index].stops = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    summaries
}

/// The kernel with every function inlined that stops threads, and its loops marked.
pub(super) fn flatten(program: &Program, kernel: u32) -> Result<Function, LoadError> {
    let body = program.body(kernel).expect("kernels have bodies");
    let mut flat = body.clone();
    flat.blocks.clear();
    let mut stack = vec![kernel];
    copy(program, &mut flat, kernel, 0, 0, None, &mut stack, &mut 0)?;
    flow::prune(&mut flat);
    mark(program, &mut flat);
    Ok(flat)
}

/// Marks the loops of a function that is compiled by itself.
pub(crate) fn mark(program: &Program, function: &mut Function) {
    let edges = flow::loops(function, &|callee| program.summary(callee).waits);
    flow::mark_loops(function, &edges);
}

/// Where control goes when an inlined function returns, and the results it then hands over.
struct Continuation {
    block: BlockId,
    results: Vec<Inst>,
}

/// Appends the blocks of `function` to `flat`, its registers from `reg_base` on and its frame at `frame_base`. Returns its first block.
#[expect(clippy::too_many_arguments, reason = "the state of a recursive walk")]
fn copy(
    program: &Program,
    flat: &mut Function,
    function: u32,
    reg_base: u32,
    frame_base: u32,
    after: Option<&Continuation>,
    stack: &mut Vec<u32>,
    inlined: &mut usize,
) -> Result<BlockId, LoadError> {
    let body = program
        .body(function)
        .expect("callees with summaries have bodies");
    let first = flat.blocks.len() as BlockId;
    let is_root = stack.len() == 1;
    let prototype_base = if is_root {
        0
    } else {
        flat.prototypes.extend(body.prototypes.iter().cloned());
        (flat.prototypes.len() - body.prototypes.len()) as u32
    };
    // The blocks of the function keep their order and get consecutive numbers; what is inlined into them comes after.
    for _ in &body.blocks {
        flat.blocks.push(Block {
            insts: Vec::new(),
            term: Term::Exit,
        });
    }
    for (index, block) in body.blocks.iter().enumerate() {
        let mut current = first + index as BlockId;
        for inst in &block.insts {
            let mut inst = inst.clone();
            relocate(&mut inst, reg_base, frame_base, prototype_base);
            let target = match &inst.kind {
                Kind::Call(call) => match call.callee {
                    Callee::Function(callee) if program.summary(callee).stops => Some(callee),
                    _ => None,
                },
                _ => None,
            };
            match target {
                Some(callee) => {
                    current = inline(program, flat, current, &inst, callee, stack, inlined)?;
                }
                None => flat.blocks[current as usize].insts.push(inst),
            }
        }
        let mut term = block.term.clone();
        term.for_each_successor_mut(|next| *next += first);
        match &mut term {
            Term::Branch { pred, .. } => *pred += reg_base,
            Term::Table {
                index: Operand::Reg(reg),
                ..
            } => *reg += reg_base,
            Term::Suspend { inst, .. } => relocate(inst, reg_base, frame_base, prototype_base),
            Term::Ret => {
                if let Some(after) = after {
                    flat.blocks[current as usize]
                        .insts
                        .extend(after.results.iter().cloned());
                    term = Term::Jump(after.block);
                }
            }
            _ => {}
        }
        flat.blocks[current as usize].term = term;
    }
    Ok(first)
}

/// Replaces a call at the end of block `current` by the callee's body. Returns the block in which the caller goes on.
fn inline(
    program: &Program,
    flat: &mut Function,
    current: BlockId,
    inst: &Inst,
    callee: u32,
    stack: &mut Vec<u32>,
    inlined: &mut usize,
) -> Result<BlockId, LoadError> {
    let Kind::Call(call) = &inst.kind else {
        return Ok(current);
    };
    let body = program
        .body(callee)
        .expect("callees with summaries have bodies");
    if stack.contains(&callee) {
        return Err(program.unsupported(
            &flat.name,
            inst.line,
            &format!(
                "recursive call of `{}`, which synchronises threads, is not supported",
                body.name
            ),
        ));
    }
    if stack.len() > MAX_DEPTH {
        return Err(program.unsupported(
            &flat.name,
            inst.line,
            "functions that synchronise threads call each other too deeply",
        ));
    }
    let insts = body.blocks.iter().map(|block| block.insts.len());
    *inlined += insts.sum::<usize>();
    if flat.blocks.len() + body.blocks.len() > MAX_BLOCKS || *inlined > MAX_INLINED {
        return Err(program.unsupported(
            &flat.name,
            inst.line,
            "too much code: functions that synchronise threads are inlined at each call",
        ));
    }
    let frame = flat.frame_bytes;
    flat.frame_bytes = frame.saturating_add(body.frame_bytes);
    if flat.frame_bytes > MAX_LOCAL {
        return Err(LoadError {
            code: CUresult::INVALID_PTX,
            message: format!(
                "kernel `{}` needs {} bytes of local memory and more for each thread: at most {MAX_LOCAL}",
                flat.name, flat.frame_bytes
            ),
        });
    }
    let reg_base = flat.regs.len() as u32;
    flat.regs.extend(&body.regs);
    let transfers = transfers(call, &body.signature, frame, inst.line)
        .map_err(|text| program.unsupported(&flat.name, inst.line, &text))?;
    flat.blocks[current as usize].insts.extend(transfers.before);
    let next = flat.blocks.len() as BlockId;
    flat.blocks.push(Block {
        insts: Vec::new(),
        term: Term::Exit,
    });
    let after = Continuation {
        block: next,
        results: transfers.after,
    };
    stack.push(callee);
    let after = Some(&after);
    let entry = copy(
        program, flat, callee, reg_base, frame, after, stack, inlined,
    )?;
    stack.pop();
    flat.blocks[current as usize].term = Term::Jump(entry);
    Ok(next)
}

/// What a call moves between the caller's frame and the callee's.
pub(crate) struct Transfers {
    pub(crate) before: Vec<Inst>,
    pub(crate) after: Vec<Inst>,
}

/// The moves of a call whose callee's frame is at `frame`.
pub(crate) fn transfers(
    call: &super::ir::Call,
    signature: &Signature,
    frame: u32,
    line: Line,
) -> Result<Transfers, String> {
    if call.args.len() != signature.params.len() || call.returns.len() > signature.returns.len() {
        return Err("a call with another number of arguments than the callee has".to_owned());
    }
    let mut before = Vec::new();
    for (argument, slot) in call.args.iter().zip(&signature.params) {
        let kind = match argument {
            Argument::Frame { offset, size } => Kind::FrameCopy {
                to: frame + slot.offset,
                from: *offset,
                size: slot.size.min(*size),
            },
            Argument::Value(operand) => Kind::FrameStore {
                from: operand.clone(),
                offset: frame + slot.offset,
                size: slot.size,
            },
        };
        before.push(Inst { kind, line });
    }
    let mut after = Vec::new();
    for (result, slot) in call.returns.iter().zip(&signature.returns) {
        let kind = match result {
            Argument::Frame { offset, size } => Kind::FrameCopy {
                to: *offset,
                from: frame + slot.offset,
                size: slot.size.min(*size),
            },
            Argument::Value(Operand::Reg(reg)) => Kind::FrameLoad {
                to: *reg,
                offset: frame + slot.offset,
                size: slot.size,
            },
            Argument::Value(Operand::Sink) => continue,
            Argument::Value(_) => return Err("a call whose result goes to a constant".to_owned()),
        };
        after.push(Inst { kind, line });
    }
    Ok(Transfers { before, after })
}

/// Renumbers an instruction of an inlined function.
fn relocate(inst: &mut Inst, reg_base: u32, frame_base: u32, prototype_base: u32) {
    inst.rename(|reg| *reg += reg_base);
    if frame_base == 0 && prototype_base == 0 {
        return;
    }
    match &mut inst.kind {
        Kind::Op(_, operands) => {
            for operand in operands {
                move_frame(operand, frame_base);
            }
        }
        Kind::Call(call) => {
            for argument in call.args.iter_mut().chain(&mut call.returns) {
                match argument {
                    Argument::Frame { offset, .. } => *offset += frame_base,
                    Argument::Value(operand) => move_frame(operand, frame_base),
                }
            }
            if let Callee::Indirect(_, prototype) = &mut call.callee {
                *prototype += prototype_base;
            }
        }
        Kind::FrameLoad { offset, .. } => *offset += frame_base,
        Kind::FrameStore { from, offset, .. } => {
            *offset += frame_base;
            move_frame(from, frame_base);
        }
        Kind::FrameCopy { to, from, .. } => {
            *to += frame_base;
            *from += frame_base;
        }
        Kind::Lockstep | Kind::Unsupported(_) => {}
    }
}

fn move_frame(operand: &mut Operand, by: u32) {
    match operand {
        Operand::Symbol(Symbol::Frame(offset), _)
        | Operand::Address(Base::Symbol(Symbol::Frame(offset)), _) => *offset += by,
        Operand::Vector(elements) => elements.iter_mut().for_each(|e| move_frame(e, by)),
        _ => {}
    }
}
