//! Barriers and warp operations: what kind of stop they are, and how operands and results pass through the exchange area.

use cranelift_codegen::ir::InstBuilder as _;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cuprum_ptx::{Action, AtomOp, Flags, Op, Opcode, ScalarType, ShflMode, VoteMode};

use super::lower::{CHECKED, Lower, Lowered, Unsupported};
use super::plan::{barrier, warp};
use super::region::Mode;
use crate::exec::barrier::BarrierKind;
use crate::exec::context::exchange;
use crate::exec::kernel::Stop;
use crate::exec::warp::{ReduceOp, ShuffleMode, WarpKind};
use crate::program::ir::{Inst, Kind, Operand};

/// The operands of a synchronising instruction by their role.
#[derive(Default)]
struct Roles<'a> {
    result: Option<&'a Operand>,
    value: Option<&'a Operand>,
    second: Option<&'a Operand>,
    third: Option<&'a Operand>,
    mask: Option<&'a Operand>,
}

fn roles<'a>(op: &Op, o: &'a [Operand]) -> Roles<'a> {
    let at = |index: usize| o.get(index);
    match op.opcode {
        Opcode::Bar | Opcode::Barrier => match op.modifiers.action() {
            _ if op.modifiers.flags().contains(Flags::WARP) => Roles {
                mask: at(0),
                ..Roles::default()
            },
            Some(Action::Red) => Roles {
                result: at(0),
                second: at(1),
                third: if o.len() == 4 { at(2) } else { None },
                value: o.last(),
                ..Roles::default()
            },
            _ => Roles {
                second: at(0),
                third: at(1),
                ..Roles::default()
            },
        },
        Opcode::Shfl => Roles {
            result: at(0),
            value: at(1),
            second: at(2),
            third: at(3),
            mask: at(4),
        },
        Opcode::Activemask => Roles {
            result: at(0),
            ..Roles::default()
        },
        Opcode::Elect => Roles {
            result: at(0),
            mask: at(1),
            ..Roles::default()
        },
        _ => Roles {
            result: at(0),
            value: at(1),
            mask: at(2),
            ..Roles::default()
        },
    }
}

/// What kind of stop an instruction is.
pub(super) fn stop(inst: &Inst) -> Result<Stop, Unsupported> {
    let refuse = |message: &str| Unsupported {
        line: inst.line,
        message: message.to_owned(),
    };
    if matches!(inst.kind, Kind::Lockstep) {
        return Ok(warp(WarpKind::Sync, None));
    }
    let Kind::Op(op, operands) = &inst.kind else {
        return Err(refuse("this is no synchronising instruction"));
    };
    let roles = roles(op, operands);
    let modifiers = &op.modifiers;
    let kind = match op.opcode {
        Opcode::Bar | Opcode::Barrier if modifiers.flags().contains(Flags::WARP) => WarpKind::Sync,
        Opcode::Bar | Opcode::Barrier => {
            let kind = match (modifiers.action(), modifiers.atom_op()) {
                (Some(Action::Sync), _) => BarrierKind::Sync,
                (Some(Action::Arrive), _) => BarrierKind::Arrive,
                (_, Some(AtomOp::And)) => BarrierKind::And,
                (_, Some(AtomOp::Or)) => BarrierKind::Or,
                (_, Some(AtomOp::Popc)) => BarrierKind::Popc,
                _ => return Err(refuse("this form of barrier is not supported")),
            };
            return Ok(barrier(kind, roles.second, roles.third));
        }
        Opcode::Shfl => WarpKind::Shuffle(match modifiers.shfl_mode() {
            Some(ShflMode::Up) => ShuffleMode::Up,
            Some(ShflMode::Down) => ShuffleMode::Down,
            Some(ShflMode::Bfly) => ShuffleMode::Butterfly,
            _ => ShuffleMode::Index,
        }),
        Opcode::Vote => match modifiers.vote_mode() {
            Some(VoteMode::All) => WarpKind::All,
            Some(VoteMode::Any) => WarpKind::Any,
            Some(VoteMode::Uni) => WarpKind::Uniform,
            _ => WarpKind::Ballot,
        },
        Opcode::Match => match modifiers.vote_mode() {
            Some(VoteMode::All) => WarpKind::MatchAll,
            _ => WarpKind::MatchAny,
        },
        Opcode::Redux => {
            if op.ty().is_float() {
                return Err(refuse("`redux` of floats is not supported"));
            }
            let signed = op.ty().is_signed();
            WarpKind::Reduce(match modifiers.atom_op() {
                Some(AtomOp::Add) => ReduceOp::Add,
                Some(AtomOp::Min) if signed => ReduceOp::MinS,
                Some(AtomOp::Min) => ReduceOp::MinU,
                Some(AtomOp::Max) if signed => ReduceOp::MaxS,
                Some(AtomOp::Max) => ReduceOp::MaxU,
                Some(AtomOp::And) => ReduceOp::And,
                Some(AtomOp::Or) => ReduceOp::Or,
                Some(AtomOp::Xor) => ReduceOp::Xor,
                _ => return Err(refuse("this form of `redux` is not supported")),
            })
        }
        Opcode::Activemask => WarpKind::ActiveMask,
        Opcode::Elect => WarpKind::Elect,
        _ => return Err(refuse("this synchronising instruction is not supported")),
    };
    Ok(warp(kind, roles.mask))
}

impl Lower<'_, '_, '_> {
    /// Puts the operands of a synchronising instruction where the scheduler finds them.
    pub(super) fn leave_operands(&mut self, inst: &Inst) -> Lowered {
        let Mode::Region(region) = &self.mode else {
            return Err("a synchronising operation in a native function".to_owned());
        };
        let kept = region.kept;
        let Kind::Op(op, operands) = &inst.kind else {
            return Ok(());
        };
        let roles = roles(op, operands);
        if let Some(operand) = roles.value {
            let ty = match op.opcode {
                Opcode::Bar | Opcode::Barrier | Opcode::Vote => I8,
                _ if op.ty().bits() == 64 => I64,
                _ => I32,
            };
            let value = self.value(operand, ty)?;
            let value = self.coerce(value, I64);
            self.b
                .ins()
                .store(CHECKED, value, kept, exchange::VALUE as i32);
        }
        // Constants of barriers and masks are in the description of the stop.
        let is_shuffle = op.opcode == Opcode::Shfl;
        for (operand, offset, always) in [
            (roles.second, exchange::SECOND, is_shuffle),
            (roles.third, exchange::THIRD, is_shuffle),
            (roles.mask, exchange::MASK, false),
        ] {
            if let Some(operand) = operand
                && (always || !matches!(operand, Operand::Int(_)))
            {
                let value = self.value(operand, I32)?;
                self.b.ins().store(CHECKED, value, kept, offset as i32);
            }
        }
        Ok(())
    }

    /// Picks up the results of a synchronising instruction.
    pub(super) fn take_results(&mut self, inst: &Inst) -> Lowered {
        let Mode::Region(region) = &self.mode else {
            return Ok(());
        };
        let kept = region.kept;
        let Kind::Op(op, operands) = &inst.kind else {
            return Ok(());
        };
        let Some(result) = roles(op, operands).result else {
            return Ok(());
        };
        let ty = match op.opcode {
            Opcode::Vote | Opcode::Bar | Opcode::Barrier
                if op.types.first() == Some(&ScalarType::Pred) =>
            {
                I8
            }
            _ => I32,
        };
        let value = self
            .b
            .ins()
            .load(ty, CHECKED, kept, exchange::RESULT as i32);
        match result {
            Operand::Pair(pair) => {
                self.set(&pair[0], value)?;
                let flag = self.b.ins().load(I8, CHECKED, kept, exchange::FLAG as i32);
                self.set(&pair[1], flag)
            }
            _ => self.set(result, value),
        }
    }
}
