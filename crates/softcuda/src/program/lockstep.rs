//! Programs that rely on the lanes of a warp going in step.
//!
//! Before CUDA had `__syncwarp`, reductions ended with `v[t] += v[t + 16]; v[t] += v[t + 8]; ...` on `volatile` shared memory, without a barrier:
//! the lanes of a warp executed each instruction together. Such code still runs on hardware whose lanes happen to be together. Here lanes
//! run one after another between stops, so a stop is put before each volatile access of shared memory (or of an address that may be one):
//! all lanes that get there have then done what comes before, and no lane waits for those that do not come.

use cuprum_ptx::{Opcode, Space};

use super::ir::{Block, BlockId, Function, Inst, Kind, Term};

/// Puts the stops into a kernel.
pub(super) fn keep(function: &mut Function) {
    let stores = function
        .insts()
        .any(|inst| is_volatile(inst) && opcode(inst) == Some(Opcode::St));
    let loads = function
        .insts()
        .any(|inst| is_volatile(inst) && opcode(inst) == Some(Opcode::Ld));
    if !(stores && loads) {
        return;
    }
    for index in 0..function.blocks.len() {
        // The block with the last stop put into this one, and the place after the access that it was put before.
        let (mut at, mut from) = (index, 0);
        while let Some(place) = function.blocks[at].insts[from..]
            .iter()
            .position(is_volatile)
        {
            let next = function.blocks.len();
            let block = &mut function.blocks[at];
            let rest = block.insts.split_off(from + place);
            let stop = Term::Suspend {
                inst: Box::new(Inst {
                    kind: Kind::Lockstep,
                    line: rest[0].line,
                }),
                next: next as BlockId,
            };
            let term = std::mem::replace(&mut block.term, stop);
            function.blocks.push(Block { insts: rest, term });
            (at, from) = (next, 1);
        }
    }
}

fn opcode(inst: &Inst) -> Option<Opcode> {
    match &inst.kind {
        Kind::Op(op, _) => Some(op.opcode),
        _ => None,
    }
}

/// Whether it is a volatile access of memory that the lanes of a warp may share.
fn is_volatile(inst: &Inst) -> bool {
    match &inst.kind {
        Kind::Op(op, _) => {
            matches!(op.opcode, Opcode::Ld | Opcode::St)
                && op.modifiers.volatile()
                && matches!(op.modifiers.space(), None | Some(Space::Shared))
        }
        _ => false,
    }
}
