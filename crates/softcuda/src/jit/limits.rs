//! What is refused because compiling or running it would take more of the host than a text may ask for.

use cuprum_ptx::Opcode;

use super::lower::Unsupported;
use super::plan::Plan;
use super::region;
use crate::program::flow::{BitSet, live_in};
use crate::program::ir::{Access, BlockId, Function, Inst, Kind};

/// Most pairs of a block and a register that may live there: what liveness is kept for.
const MAX_LIVENESS: usize = 1 << 31;

/// Most pairs of an instruction that becomes several machine blocks and a value that lives there: what compile time goes with.
const MAX_PRESSURE: usize = 1 << 22;

/// Refuses a function whose compilation would take too much memory or minutes.
pub(super) fn check_size(function: &Function) -> Result<(), Unsupported> {
    let (blocks, registers) = (function.blocks.len(), function.regs.len());
    if blocks.saturating_mul(registers) > MAX_LIVENESS {
        return Err(Unsupported::anywhere(format!(
            "too much code: {blocks} blocks that use {registers} registers"
        )));
    }
    let branches = |inst: &Inst| match &inst.kind {
        Kind::Op(op, _) => matches!(
            op.opcode,
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red | Opcode::Cp
        ),
        Kind::Call(_) => true,
        _ => false,
    };
    let count = function.insts().filter(|inst| branches(inst)).count();
    if count.saturating_mul(registers) <= MAX_PRESSURE {
        return Ok(());
    }
    let live = live_in(function);
    let mut pressure = 0;
    for block in &function.blocks {
        let mut now = BitSet::new(registers);
        block
            .term
            .for_each_successor(|next| now.union(&live[next as usize]));
        let mut size = now.iter().count();
        for inst in block.insts.iter().rev() {
            if branches(inst) {
                pressure += size;
            }
            for reg in inst.defs() {
                size -= usize::from(now.contains(reg));
                now.remove(reg);
            }
            inst.visit(|reg, access| {
                if access == Access::Use && !now.contains(reg) {
                    now.insert(reg);
                    size += 1;
                }
            });
        }
    }
    if pressure > MAX_PRESSURE {
        return Err(Unsupported::anywhere(format!(
            "too many values at once: {} of them on average at {count} accesses to memory",
            pressure / count
        )));
    }
    Ok(())
}

/// Most instructions in all regions of a kernel that has few: what can be reached from several stops is compiled for each.
const MAX_REGIONS: usize = 1 << 19;

/// Refuses a kernel whose regions overlap so much that compiling them would take minutes.
pub(super) fn check_regions(function: &Function, plan: &Plan) -> Result<(), Unsupported> {
    let most = MAX_REGIONS + 4 * function.insts().count();
    let mut all = 0;
    for resume in &plan.resume {
        let region = region::region_blocks(function, resume.block);
        let insts = |&block: &BlockId| function.blocks[block as usize].insts.len() + 1;
        all += region.iter().map(insts).sum::<usize>();
        if all > most {
            return Err(Unsupported::anywhere(format!(
                "too much code: more than {most} instructions between {} places at which threads wait for others",
                plan.resume.len()
            )));
        }
    }
    Ok(())
}
