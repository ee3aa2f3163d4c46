//! Ends of blocks.

use cranelift_codegen::ir::types::I32;
use cranelift_codegen::ir::{BlockCall, InstBuilder as _, JumpTableData};

use super::lower::{Lower, Unsupported};
use super::region::Mode;
use crate::exec::context::STATUS_OK;
use crate::exec::fault::FaultKind;
use crate::program::ir::{BlockId, Operand, Term};

impl Lower<'_, '_, '_> {
    /// Lowers the end of block `id`.
    pub(super) fn term(&mut self, id: BlockId, term: &Term) -> Result<(), Unsupported> {
        match term {
            Term::Jump(target) => {
                let target = self.blocks[target];
                self.jump(target, &[]);
            }
            Term::Branch {
                pred,
                negated,
                then,
                otherwise,
            } => {
                let condition = self.get(*pred);
                let (then, otherwise) = (self.blocks[then], self.blocks[otherwise]);
                if *negated {
                    self.branch(condition, otherwise, then);
                } else {
                    self.branch(condition, then, otherwise);
                }
            }
            Term::Table { index, targets } => self.table(index, targets)?,
            Term::Loop { target, yields } => self.back_edge(*target, *yields),
            Term::Suspend { inst, .. } => {
                self.line = inst.line;
                self.leave_operands(inst).map_err(|message| Unsupported {
                    line: inst.line,
                    message,
                })?;
                let Mode::Region(region) = &self.mode else {
                    return Err(Unsupported {
                        line: inst.line,
                        message: "a synchronising operation in a native function".to_owned(),
                    });
                };
                let resume = region.plan.suspends[&id];
                self.stop(resume);
            }
            Term::Ret if matches!(self.mode, Mode::Native) => self.return_status(STATUS_OK),
            Term::Ret | Term::Exit => self.stop(0),
            Term::Trap(line) => {
                self.line = *line;
                self.raise(FaultKind::Trap, None);
            }
            Term::Breakpoint(line) => {
                self.line = *line;
                self.raise(FaultKind::Breakpoint, None);
            }
        }
        Ok(())
    }

    fn table(&mut self, index: &Operand, targets: &[BlockId]) -> Result<(), Unsupported> {
        let index = self.value(index, I32).map_err(|message| Unsupported {
            line: self.line,
            message,
        })?;
        let pool = &mut self.b.func.dfg.value_lists;
        let mut call = |target| BlockCall::new(self.blocks[target], [], pool);
        let calls: Vec<BlockCall> = targets.iter().map(&mut call).collect();
        // A call of its own, not a copy of the last one: arguments are appended to each call's list later, and a list
        // that two calls share is lost to one of them when it moves.
        let default = call(targets.last().expect("tables are not empty"));
        let table = self
            .b
            .create_jump_table(JumpTableData::new(default, &calls));
        self.b.ins().br_table(index, table);
        Ok(())
    }
}
