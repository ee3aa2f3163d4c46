//! The two shapes of machine functions: a region (a loop over threads), and a native function (one thread).

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder as _, Type, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use cuprum_ptx::{Opcode, Space};

use super::lower::{CHECKED, Lower, Unsupported, field};
use super::plan::Plan;
use super::unit::Unit;
use crate::exec::block::frame_stride;
use crate::exec::context::{STATUS_EXIT, STATUS_FAULT, STATUS_OK, STATUS_STOPPED};
use crate::exec::fault::FaultKind;
use crate::program::flow::{BitSet, live_in};
use crate::program::ir::{
    Access, Base, BlockId, Callee, Function, Inst, Kind, Line, Operand, Symbol, Term,
};

/// Iterations of a waiting loop after which a thread gives way.
const PATIENCE: u64 = 32;

/// What the machine function is for.
pub(super) enum Mode<'a> {
    /// Part of a kernel, for many threads.
    Region(Region<'a>),
    /// A function, for one thread.
    Native,
}

/// What is particular to a region.
pub(super) struct Region<'a> {
    pub(super) plan: &'a Plan,
    /// Goes on with the next thread.
    done: Block,
    /// Host address of the thread's frame of values that live across stops.
    pub(super) kept: Value,
    /// OR and AND of the resume ids stored, if they can differ.
    tally: Option<(Variable, Variable)>,
    /// Iterations of waiting loops.
    patience: Option<Variable>,
    /// Registers that the region may change.
    defined: BitSet,
}

/// Loads and stores of a function above which their checks are calls.
const MANY_ACCESSES: usize = 1500;

fn is_huge(function: &Function) -> bool {
    let accesses = function.insts().filter(|inst| match &inst.kind {
        Kind::Op(op, _) => {
            matches!(
                op.opcode,
                Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red
            ) && matches!(op.modifiers.space(), None | Some(Space::Global))
        }
        _ => false,
    });
    accesses.count() > MANY_ACCESSES
}

/// Whether code of the function may need the address of the thread's local memory.
fn uses_local(function: &Function) -> bool {
    function.frame_bytes > 0
        || function.insts().any(|inst| match &inst.kind {
            Kind::Call(_) => true,
            Kind::Op(op, operands) => operands.iter().any(|operand| match operand {
                Operand::Address(Base::Symbol(Symbol::Param(_)), _) => false,
                Operand::Address(..) => matches!(
                    op.modifiers.space(),
                    None | Some(Space::Local | Space::Param)
                ),
                _ => false,
            }),
            _ => false,
        })
}

/// The registers that a region may change, and those and the ones that it reads.
fn registers_of(
    function: &Function,
    blocks: &[BlockId],
    resumed: Option<&Inst>,
) -> (BitSet, BitSet) {
    let mut defined = BitSet::new(function.regs.len());
    let mut touched = BitSet::new(function.regs.len());
    if let Some(inst) = resumed {
        inst.visit(|reg, access| {
            if access == Access::Def {
                defined.insert(reg);
            }
        });
    }
    for &block in blocks {
        let contents = &function.blocks[block as usize];
        for inst in &contents.insts {
            inst.visit(|reg, access| match access {
                Access::Def => defined.insert(reg),
                Access::Use => touched.insert(reg),
            });
        }
        contents.term.visit_uses(|reg| touched.insert(reg));
    }
    touched.union(&defined);
    (defined, touched)
}

/// The blocks that a region consists of.
pub(super) fn region_blocks(function: &Function, start: BlockId) -> Vec<BlockId> {
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    let mut stack = vec![start];
    while let Some(block) = stack.pop() {
        if core::mem::replace(&mut seen[block as usize], true) {
            continue;
        }
        order.push(block);
        let term = &function.blocks[block as usize].term;
        if !matches!(term, Term::Suspend { .. }) {
            term.for_each_successor(|next| stack.push(next));
        }
    }
    order.sort_unstable();
    order
}

/// Resume ids with which threads can leave a region; 0 for exit.
fn stops(function: &Function, plan: &Plan, blocks: &[BlockId]) -> Vec<u32> {
    let mut stops = Vec::new();
    for &block in blocks {
        let contents = &function.blocks[block as usize];
        match &contents.term {
            Term::Suspend { .. } => stops.push(plan.suspends[&block]),
            Term::Loop {
                target,
                yields: true,
            } => stops.push(plan.yields[target]),
            Term::Exit | Term::Ret => stops.push(0),
            _ => {}
        }
        let may_exit = contents.insts.iter().any(|inst| match &inst.kind {
            Kind::Call(call) => !matches!(call.callee, Callee::Builtin(_)),
            _ => false,
        });
        if may_exit {
            stops.push(0);
        }
    }
    stops.sort_unstable();
    stops.dedup();
    stops
}

fn create_blocks(builder: &mut FunctionBuilder<'_>, blocks: &[BlockId]) -> HashMap<BlockId, Block> {
    blocks
        .iter()
        .map(|&block| (block, builder.create_block()))
        .collect()
}

/// Builds the region of resume point `index`. Answers the only stop at which threads can leave it, if there is but one.
pub(super) fn region(
    unit: &mut Unit<'_>,
    mut b: FunctionBuilder<'_>,
    function: &Function,
    classes: &[Type],
    plan: &Plan,
    index: usize,
) -> Result<Option<u32>, Unsupported> {
    let resume = &plan.resume[index];
    let region = region_blocks(function, resume.block);
    let stops = stops(function, plan, &region);
    let entry = b.create_block();
    let head = b.create_block();
    let body = b.create_block();
    let done = b.create_block();
    let end = b.create_block();
    let fault = b.create_block();
    b.set_cold_block(fault);
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let [ctx, first, limit] = *b.block_params(entry) else {
        return Err(Unsupported::anywhere("a region has three parameters"));
    };
    let only = match *stops {
        [] => Some(0),
        [only] => Some(only),
        _ => None,
    };
    let tally = only
        .is_none()
        .then(|| (b.declare_var(I32), b.declare_var(I32)));
    if let Some((or, and)) = tally {
        let none = b.ins().iconst(I32, 0);
        b.def_var(or, none);
        let all = b.ins().iconst(I32, 0xffff_ffff);
        b.def_var(and, all);
    }
    b.append_block_param(head, I32);
    b.ins().jump(head, &[first.into()]);

    b.switch_to_block(head);
    let thread = b.block_params(head)[0];
    let finished = b
        .ins()
        .icmp(IntCC::UnsignedGreaterThanOrEqual, thread, limit);
    b.ins().brif(finished, end, &[], body, &[]);

    b.switch_to_block(done);
    let next = b.ins().iadd_imm_s(thread, 1);
    b.ins().jump(head, &[next.into()]);

    b.switch_to_block(end);
    // Where there is but one stop, the scheduler knows it.
    if let Some((or, and)) = tally {
        let (or, and) = (b.use_var(or), b.use_var(and));
        b.ins().store(CHECKED, or, ctx, field!(summary_or) as i32);
        b.ins().store(CHECKED, and, ctx, field!(summary_and) as i32);
    }
    let ok = b.ins().iconst(I32, i64::from(STATUS_OK));
    b.ins().return_(&[ok]);

    b.switch_to_block(body);
    b.ensure_inserted_block();
    let (defined, touched) = registers_of(function, &region, resume.inst.as_ref());
    let waits = region.iter().any(|&block| {
        matches!(
            function.blocks[block as usize].term,
            Term::Loop { yields: true, .. }
        )
    });
    let patience = waits.then(|| b.declare_var(I32));
    let blocks = create_blocks(&mut b, &region);
    let placeholder = thread;
    let mut lower = Lower {
        b,
        unit,
        function,
        classes,
        variables: vec![None; classes.len()],
        blocks,
        ctx,
        entry,
        constants: Vec::new(),
        body,
        thread_wide: None,
        packed: None,
        thread,
        local: placeholder,
        frame: None,
        frame_base: placeholder,
        check_signature: None,
        ahead: &[],
        checked: Vec::new(),
        mode: Mode::Region(Region {
            plan,
            done,
            kept: placeholder,
            tally,
            patience,
            defined,
        }),
        line: Line::default(),
        fault,
        faults: false,
        out_of_line: is_huge(function),
    };
    if uses_local(function) {
        lower.locate_local();
    }
    if plan.frame_bytes > 0 {
        let kept = lower.locate_kept(plan);
        if let Mode::Region(region) = &mut lower.mode {
            region.kept = kept;
        }
    }
    if let Some(patience) = patience {
        let zero = lower.iconst(I32, 0);
        lower.b.def_var(patience, zero);
    }
    lower.restore(plan, index, &touched)?;
    let start = lower.blocks[&resume.block];
    lower.jump(start, &[]);
    lower.contents(&region)?;
    lower.finish();
    Ok(only)
}

/// Builds a function that never stops threads.
pub(super) fn native(
    unit: &mut Unit<'_>,
    mut b: FunctionBuilder<'_>,
    function: &Function,
    classes: &[Type],
) -> Result<(), Unsupported> {
    let all: Vec<BlockId> = (0..function.blocks.len() as BlockId).collect();
    let (entry, body, fault) = (b.create_block(), b.create_block(), b.create_block());
    b.set_cold_block(fault);
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let [ctx, thread, frame] = *b.block_params(entry) else {
        return Err(Unsupported::anywhere("a function has three parameters"));
    };
    b.ins().jump(body, &[]);
    b.switch_to_block(body);
    b.ensure_inserted_block();
    let blocks = create_blocks(&mut b, &all);
    let mut lower = Lower {
        b,
        unit,
        function,
        classes,
        variables: vec![None; classes.len()],
        blocks,
        ctx,
        entry,
        constants: Vec::new(),
        body,
        thread_wide: None,
        packed: None,
        thread,
        local: thread,
        frame: Some(frame),
        frame_base: thread,
        check_signature: None,
        ahead: &[],
        checked: Vec::new(),
        mode: Mode::Native,
        line: Line::default(),
        fault,
        faults: false,
        out_of_line: is_huge(function),
    };
    if let Some(inst) = function.insts().next() {
        lower.line = inst.line;
    }
    lower.check_stack(frame);
    // Chains of calls can take for ever without a loop: each function of a few that calls the next one twice.
    if lower.calls_functions() {
        lower.poll();
    }
    lower.locate_local();
    for reg in live_in(function)[0].iter() {
        let zero = lower.zero(classes[reg as usize]);
        lower.put(reg, zero);
    }
    let start = lower.blocks[&0];
    lower.jump(start, &[]);
    lower.contents(&all)?;
    lower.finish();
    Ok(())
}

impl Lower<'_, '_, '_> {
    fn zero(&mut self, ty: Type) -> Value {
        let bits = self.iconst(super::registers::integer_type(ty.bits()), 0);
        self.coerce(bits, ty)
    }

    /// Finds the thread's local memory and the function's frame in it.
    fn locate_local(&mut self) {
        let base = self.context(I64, field!(local));
        let stride = self.context(I64, field!(local_stride));
        let thread = self.thread_wide();
        let offset = self.b.ins().imul(thread, stride);
        self.local = self.b.ins().iadd(base, offset);
        self.frame_base = match self.frame {
            None => self.local,
            Some(frame) => {
                let frame = self.b.ins().uextend(I64, frame);
                let local = self.local;
                self.b.ins().iadd(local, frame)
            }
        };
    }

    fn locate_kept(&mut self, plan: &Plan) -> Value {
        let base = self.context(I64, field!(frames));
        let thread = self.thread_wide();
        let stride = frame_stride(plan.frame_bytes);
        let offset = self.b.ins().imul_imm_u(thread, stride as i64);
        self.b.ins().iadd(base, offset)
    }

    fn calls_functions(&self) -> bool {
        self.function.insts().any(|inst| match &inst.kind {
            Kind::Call(call) => !matches!(call.callee, Callee::Builtin(_)),
            _ => false,
        })
    }

    /// Faults if the local or the host stack is too small for this function.
    fn check_stack(&mut self, frame: Value) {
        let start = self.b.ins().uextend(I64, frame);
        // Arguments of calls are written beyond the frame before the callee can check.
        let outgoing = super::calls::outgoing_bytes(self.unit.program, self.function);
        let need = i64::from(self.function.frame_bytes) + i64::from(outgoing);
        let end = self.b.ins().iadd_imm_s(start, need);
        let limit = self.context(I64, field!(local_limits));
        let beyond = self.less(limit, end);
        let stack = self.b.ins().get_stack_pointer(I64);
        let lowest = self.context(I64, field!(stack_limit));
        let below = self.less(stack, lowest);
        let over = self.b.ins().bor(beyond, below);
        let (overflow, go_on) = (self.cold_block(), self.b.create_block());
        self.branch(over, overflow, go_on);
        self.enter(overflow);
        self.raise(FaultKind::Stack, None);
        self.enter(go_on);
    }

    /// Brings back what lives across the stop at which the region starts.
    fn restore(&mut self, plan: &Plan, index: usize, touched: &BitSet) -> Result<(), Unsupported> {
        let resume = &plan.resume[index];
        if index == 0 {
            // Registers read before they are written hold anything; a definite value keeps them apart from the thread before.
            for reg in live_in(self.function)[0].iter() {
                let zero = self.zero(self.classes[reg as usize]);
                self.put(reg, zero);
            }
            return Ok(());
        }
        let Mode::Region(Region { kept, .. }) = self.mode else {
            return Ok(());
        };
        let mut needed = resume.live.clone();
        needed.intersect(touched);
        let recipes = plan.recipes_for(&needed);
        for reg in needed.iter() {
            if let Some(slot) = plan.slots[reg as usize] {
                let ty = self.classes[reg as usize];
                let value = self.b.ins().load(ty, CHECKED, kept, slot as i32);
                self.put(reg, value);
            }
        }
        for inst in recipes {
            self.inst(inst)?;
        }
        if let Some(inst) = &resume.inst {
            self.line = inst.line;
            self.take_results(inst).map_err(|message| Unsupported {
                line: inst.line,
                message,
            })?;
        }
        Ok(())
    }

    fn contents(&mut self, blocks: &[BlockId]) -> Result<(), Unsupported> {
        for &id in blocks {
            let block = self.blocks[&id];
            self.b.switch_to_block(block);
            let function = self.function;
            let contents = &function.blocks[id as usize];
            self.checked.clear();
            for (index, inst) in contents.insts.iter().enumerate() {
                self.ahead = &contents.insts[index..];
                self.inst(inst)?;
                self.forget_checked(inst);
            }
            self.ahead = &[];
            self.term(id, &contents.term)?;
        }
        Ok(())
    }

    fn finish(mut self) {
        if self.faults {
            self.b.switch_to_block(self.fault);
            self.return_status(STATUS_FAULT);
        }
        self.b.seal_all_blocks();
        let config = self.unit.target_config();
        self.b.finalize(config);
    }

    pub(super) fn return_status(&mut self, status: u32) {
        let status = self.iconst(I32, u64::from(status));
        self.b.ins().return_(&[status]);
    }

    /// Ends the thread's turn: it goes on at resume point `id`, or has exited if that is 0.
    pub(super) fn stop(&mut self, id: u32) {
        let Mode::Region(region) = &self.mode else {
            self.return_status(STATUS_EXIT);
            return;
        };
        let (plan, kept, tally, done) = (region.plan, region.kept, region.tally, region.done);
        if id != 0 {
            let live = &plan.resume[id as usize - 1].live;
            let saved: Vec<(u32, u32)> = live
                .iter()
                .filter(|&reg| region.defined.contains(reg))
                .filter_map(|reg| plan.slots[reg as usize].map(|slot| (reg, slot)))
                .collect();
            for (reg, slot) in saved {
                let value = self.get(reg);
                self.b.ins().store(CHECKED, value, kept, slot as i32);
            }
        }
        if let Some((or, and)) = tally {
            let next = self.context(I64, field!(next));
            let index = self.thread_wide();
            let offset = self.b.ins().ishl_imm_u(index, 2);
            let place = self.b.ins().iadd(next, offset);
            let id = self.iconst(I32, u64::from(id));
            self.b.ins().store(CHECKED, id, place, 0);
            let sum = self.b.use_var(or);
            let sum = self.b.ins().bor(sum, id);
            self.b.def_var(or, sum);
            let product = self.b.use_var(and);
            let product = self.b.ins().band(product, id);
            self.b.def_var(and, product);
        }
        self.jump(done, &[]);
    }

    /// Leaves the loop over threads if the launch is to stop.
    fn poll(&mut self) {
        let flag = self.context(I64, field!(stop));
        let flag = self.b.ins().load(I32, CHECKED, flag, 0);
        let (stopped, go_on) = (self.cold_block(), self.b.create_block());
        self.branch(flag, stopped, go_on);
        self.enter(stopped);
        self.return_status(STATUS_STOPPED);
        self.enter(go_on);
    }

    /// A back edge.
    pub(super) fn back_edge(&mut self, target: BlockId, yields: bool) {
        self.poll();
        let head = self.blocks[&target];
        if let Mode::Region(region) = &self.mode
            && let (true, Some(patience)) = (yields, region.patience)
        {
            let id = region.plan.yields[&target];
            let count = self.b.use_var(patience);
            let count = self.b.ins().iadd_imm_s(count, 1);
            self.b.def_var(patience, count);
            let limit = self.iconst(I32, PATIENCE);
            let patient = self.less(count, limit);
            let give_way = self.cold_block();
            self.branch(patient, head, give_way);
            self.enter(give_way);
            self.stop(id);
        } else {
            self.jump(head, &[]);
        }
    }

    /// Goes on only if a native function returned normally.
    pub(super) fn check_status(&mut self, status: Value) {
        let (other, go_on) = (self.cold_block(), self.b.create_block());
        self.branch(status, other, go_on);
        self.enter(other);
        if matches!(self.mode, Mode::Region(_)) {
            let exit = self.iconst(I32, u64::from(STATUS_EXIT));
            let exited = self.b.ins().icmp(IntCC::Equal, status, exit);
            let (end, leave) = (self.cold_block(), self.cold_block());
            self.branch(exited, leave, end);
            self.enter(leave);
            self.stop(0);
            self.enter(end);
        }
        self.b.ins().return_(&[status]);
        self.enter(go_on);
    }

    /// A constant predicate.
    pub(super) fn truth(&mut self, value: bool) -> Value {
        self.iconst(I8, u64::from(value))
    }
}
