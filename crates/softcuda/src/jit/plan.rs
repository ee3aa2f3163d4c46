//! The regions of a kernel: where threads stop, what lives across the stops, and where it is kept.

use std::collections::HashMap;

use cranelift_codegen::ir::Type;
use cuprum_ptx::{Opcode, Space};

use crate::exec::barrier::{BarrierKind, BarrierOp, Operand32};
use crate::exec::context::exchange;
use crate::exec::kernel::Stop;
use crate::exec::warp::{Members, WarpKind, WarpOp};
use crate::program::flow::{BitSet, live_in};
use crate::program::ir::{
    Access, Base, BlockId, Function, Inst, Kind, Operand, Reg, Special, Symbol, Term,
};

/// One resume point; its resume id is its index plus one.
#[derive(Debug)]
pub(super) struct Resume {
    pub(super) stop: Stop,
    /// Where the threads go on.
    pub(super) block: BlockId,
    /// The instruction that they stopped at, whose results they pick up.
    pub(super) inst: Option<Inst>,
    /// Registers needed from here on.
    pub(super) live: BitSet,
}

/// How a kernel is cut into regions.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) resume: Vec<Resume>,
    /// Resume id of each suspending block.
    pub(super) suspends: HashMap<BlockId, u32>,
    /// Resume id of each loop head at which threads may give way.
    pub(super) yields: HashMap<BlockId, u32>,
    /// Place in the frame of each register that is kept there.
    pub(super) slots: Vec<Option<u32>>,
    /// The instruction that computes a register again.
    pub(super) recipes: Vec<Option<Inst>>,
    pub(super) frame_bytes: u32,
    pub(super) warp_ops: bool,
}

/// Most operations, other than uniform ones, to compute a register again.
const CHEAP: u32 = 4;
/// Most operations in all.
const SMALL: u32 = 32;

impl Plan {
    /// Cuts the kernel. `describe` says what kind of stop an instruction is, or why it cannot be one.
    pub(super) fn new(
        function: &Function,
        classes: &[Type],
        mut describe: impl FnMut(&Inst) -> Result<Stop, super::lower::Unsupported>,
    ) -> Result<Self, super::lower::Unsupported> {
        let live = live_in(function);
        let registers = function.regs.len();
        let mut plan = Self {
            resume: vec![Resume {
                stop: Stop::Start,
                block: 0,
                inst: None,
                live: BitSet::new(registers),
            }],
            suspends: HashMap::new(),
            yields: HashMap::new(),
            slots: vec![None; registers],
            recipes: vec![None; registers],
            frame_bytes: 0,
            warp_ops: false,
        };
        let mut exchange_used = false;
        for (index, block) in function.blocks.iter().enumerate() {
            match &block.term {
                Term::Suspend { inst, next } => {
                    let stop = describe(inst)?;
                    exchange_used |= match &stop {
                        Stop::Barrier(op) => {
                            !op.is_constant()
                                || !matches!(op.kind, BarrierKind::Sync | BarrierKind::Arrive)
                        }
                        _ => true,
                    };
                    plan.warp_ops |= matches!(stop, Stop::Warp(_));
                    let mut live = live[*next as usize].clone();
                    for reg in inst.defs() {
                        live.remove(reg);
                    }
                    plan.resume.push(Resume {
                        stop,
                        block: *next,
                        inst: Some((**inst).clone()),
                        live,
                    });
                    plan.suspends
                        .insert(index as BlockId, plan.resume.len() as u32);
                }
                Term::Loop {
                    target,
                    yields: true,
                } if !plan.yields.contains_key(target) => {
                    plan.resume.push(Resume {
                        stop: Stop::Yield,
                        block: *target,
                        inst: None,
                        live: live[*target as usize].clone(),
                    });
                    plan.yields.insert(*target, plan.resume.len() as u32);
                }
                _ => {}
            }
        }
        if plan.resume.len() > 1 {
            plan.find_recipes(function);
            plan.assign_slots(classes, exchange_used);
        }
        Ok(plan)
    }

    /// Finds registers that are cheap to compute again: defined once, from constants, parameters and special registers.
    fn find_recipes(&mut self, function: &Function) {
        let registers = function.regs.len();
        let mut definitions = vec![0u32; registers];
        let mut definition: Vec<Option<&Inst>> = vec![None; registers];
        for inst in function.insts() {
            for reg in inst.defs() {
                definitions[reg as usize] += 1;
                definition[reg as usize] = Some(inst);
            }
        }
        // Cost of each register: operations that differ between threads, and all; `None` until known to be computable.
        let mut cost: Vec<Option<(u32, u32)>> = vec![None; registers];
        loop {
            let mut changed = false;
            for reg in 0..registers {
                if cost[reg].is_some() || definitions[reg] != 1 {
                    continue;
                }
                let Some(inst) = definition[reg] else {
                    continue;
                };
                let Some(uniform) = pure(inst) else { continue };
                let mut sum = Some((0u32, 1u32));
                let mut varying = !uniform;
                inst.visit(|operand, access| {
                    if access == Access::Use {
                        sum = match (sum, cost[operand as usize]) {
                            (Some((a, b)), Some((c, d))) => {
                                varying |= c > 0;
                                Some((a + c, b + d))
                            }
                            _ => None,
                        };
                    }
                });
                if let Some((mut each, all)) = sum {
                    each += u32::from(varying);
                    if each <= CHEAP && all <= SMALL {
                        cost[reg] = Some((each, all));
                        self.recipes[reg] = Some(inst.clone());
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn assign_slots(&mut self, classes: &[Type], exchange_used: bool) {
        let mut kept = BitSet::new(classes.len());
        for resume in &self.resume {
            kept.union(&resume.live);
        }
        let mut kept: Vec<Reg> = kept
            .iter()
            .filter(|&reg| self.recipes[reg as usize].is_none())
            .collect();
        kept.sort_by_key(|&reg| core::cmp::Reverse(classes[reg as usize].bytes()));
        let mut offset = if exchange_used { exchange::BYTES } else { 0 };
        for reg in kept {
            let bytes = classes[reg as usize].bytes();
            offset = offset.next_multiple_of(bytes);
            self.slots[reg as usize] = Some(offset);
            offset += bytes;
        }
        self.frame_bytes = offset;
    }

    /// The recipes needed for `live`, each after those it uses.
    pub(super) fn recipes_for(&self, live: &BitSet) -> Vec<&Inst> {
        let mut seen = BitSet::new(self.recipes.len());
        let mut order = Vec::new();
        for reg in live.iter() {
            self.add_recipe(reg, &mut seen, &mut order);
        }
        order
    }

    fn add_recipe<'a>(&'a self, reg: Reg, seen: &mut BitSet, order: &mut Vec<&'a Inst>) {
        if seen.contains(reg) {
            return;
        }
        seen.insert(reg);
        let Some(inst) = &self.recipes[reg as usize] else {
            return;
        };
        inst.visit(|operand, access| {
            if access == Access::Use {
                // Depth is bounded: a recipe has at most `SMALL` operations.
                self.add_recipe(operand, seen, order);
            }
        });
        order.push(inst);
    }
}

/// Whether computing the instruction again gives the same result at any time; if so, whether it is the same for all threads given that its
/// register operands are.
fn pure(inst: &Inst) -> Option<bool> {
    let Kind::Op(op, operands) = &inst.kind else {
        return None;
    };
    if op.modifiers.cc() {
        return None;
    }
    let integer = op.types.iter().all(|ty| !ty.is_float());
    let simple = match op.opcode {
        Opcode::Mov | Opcode::Cvta => true,
        Opcode::Ld => {
            op.modifiers.space() == Some(Space::Param)
                && matches!(
                    operands.get(1),
                    Some(Operand::Address(Base::Symbol(Symbol::Param(_)), _))
                )
        }
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Cvt
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max
        | Opcode::Selp => integer,
        Opcode::Setp => integer && operands.len() == 3,
        _ => false,
    };
    if !simple
        || operands
            .iter()
            .any(|operand| matches!(operand, Operand::Pair(_)))
    {
        return None;
    }
    let mut uniform = true;
    let mut steady = true;
    fn scan(operand: &Operand, uniform: &mut bool, steady: &mut bool) {
        match operand {
            Operand::Special(special) => match special {
                Special::Clock | Special::ClockHigh => *steady = false,
                Special::Tid(_)
                | Special::LaneId
                | Special::WarpId
                | Special::LaneMaskEq
                | Special::LaneMaskLe
                | Special::LaneMaskLt
                | Special::LaneMaskGe
                | Special::LaneMaskGt => *uniform = false,
                _ => {}
            },
            Operand::Vector(elements) => {
                for element in elements {
                    scan(element, uniform, steady);
                }
            }
            _ => {}
        }
    }
    for operand in operands {
        scan(operand, &mut uniform, &mut steady);
    }
    steady.then_some(uniform)
}

/// The constant in an operand, or the note that it lies in the exchange area.
pub(super) fn operand32(operand: &Operand) -> Operand32 {
    match operand {
        Operand::Int(value) => Operand32::Const(*value as u32),
        _ => Operand32::Slot,
    }
}

/// The stop of a barrier.
pub(super) fn barrier(
    kind: BarrierKind,
    number: Option<&Operand>,
    count: Option<&Operand>,
) -> Stop {
    Stop::Barrier(BarrierOp {
        kind,
        number: number.map_or(Operand32::Const(0), operand32),
        count: count.map(operand32),
    })
}

/// The stop of a warp operation; without a member mask those lanes take part that are there.
pub(super) fn warp(kind: WarpKind, mask: Option<&Operand>) -> Stop {
    Stop::Warp(WarpOp {
        kind,
        members: mask.map_or(Members::Active, |mask| Members::Mask(operand32(mask))),
    })
}
