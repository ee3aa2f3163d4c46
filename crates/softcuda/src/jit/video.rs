//! Video instructions on whole words and on all lanes: functions of [`numeric`](crate::numeric) that a descriptor steers.
//!
//! Operands with selectors (`%r1.b0`, lane masks) are refused when names are resolved, so what comes here selects everything.

use cranelift_codegen::ir::types::{I32, I64};
use cuprum_ptx::{AtomOp, Bounds, Compare, Op, Opcode};

use super::lower::{Lower, Lowered};
use crate::numeric::video::{Lanes, Operation, Part, Scalar, Secondary};
use crate::program::ir::Operand;

/// Operation and number of lanes.
fn operation(op: &Op) -> Lowered<(Operation, u32)> {
    let comparison = || {
        Ok(match op.modifiers.compare() {
            Some(Compare::Eq) => Operation::Equal,
            Some(Compare::Ne) => Operation::NotEqual,
            Some(Compare::Lt) => Operation::Less,
            Some(Compare::Le) => Operation::LessEqual,
            Some(Compare::Gt) => Operation::Greater,
            Some(Compare::Ge) => Operation::GreaterEqual,
            _ => return Err("this comparison of a video instruction is not supported".to_owned()),
        })
    };
    Ok(match op.opcode {
        Opcode::Vadd => (Operation::Add, 1),
        Opcode::Vsub => (Operation::Sub, 1),
        Opcode::Vabsdiff => (Operation::AbsDiff, 1),
        Opcode::Vmin => (Operation::Min, 1),
        Opcode::Vmax => (Operation::Max, 1),
        Opcode::Vshl => (Operation::ShiftLeft, 1),
        Opcode::Vshr => (Operation::ShiftRight, 1),
        Opcode::Vset => (comparison()?, 1),
        Opcode::Vadd2 => (Operation::Add, 2),
        Opcode::Vsub2 => (Operation::Sub, 2),
        Opcode::Vavrg2 => (Operation::Average, 2),
        Opcode::Vabsdiff2 => (Operation::AbsDiff, 2),
        Opcode::Vmin2 => (Operation::Min, 2),
        Opcode::Vmax2 => (Operation::Max, 2),
        Opcode::Vset2 => (comparison()?, 2),
        Opcode::Vadd4 => (Operation::Add, 4),
        Opcode::Vsub4 => (Operation::Sub, 4),
        Opcode::Vavrg4 => (Operation::Average, 4),
        Opcode::Vabsdiff4 => (Operation::AbsDiff, 4),
        Opcode::Vmin4 => (Operation::Min, 4),
        Opcode::Vmax4 => (Operation::Max, 4),
        Opcode::Vset4 => (comparison()?, 4),
        _ => return Err("this video instruction is not supported".to_owned()),
    })
}

impl Lower<'_, '_, '_> {
    pub(super) fn video(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let (operation, lanes) = operation(op)?;
        let compares = op.modifiers.compare().is_some();
        // `vset` has no type of its result.
        let types = |index: usize| op.types.get(index).is_some_and(|ty| ty.is_signed());
        let signed = if compares {
            [false, types(0), types(1)]
        } else {
            [types(0), types(1), types(2)]
        };
        let a = self.value(&o[1], I32)?;
        let b = self.value(&o[2], I32)?;
        let c = match o.get(3) {
            Some(operand) => self.value(operand, I32)?,
            None => self.iconst(I32, 0),
        };
        let result = if lanes == 1 {
            let secondary = match op.modifiers.atom_op() {
                Some(AtomOp::Add) => Secondary::Add,
                Some(AtomOp::Min) => Secondary::Min,
                Some(AtomOp::Max) => Secondary::Max,
                None if o.len() == 3 => Secondary::None,
                _ => return Err("this form of video instruction is not supported".to_owned()),
            };
            let descriptor = Scalar {
                operation,
                signed,
                parts: [Part::Word; 3],
                saturate: op.modifiers.sat(),
                wrap: op.modifiers.bounds() == Some(Bounds::Wrap),
                secondary,
            };
            let descriptor = self.iconst(I32, u64::from(descriptor.encode()));
            self.call_numeric("video_b32", &[a, b, c, descriptor])?
        } else {
            let four = lanes == 4;
            let descriptor = Lanes {
                operation,
                four,
                signed,
                saturate: op.modifiers.sat(),
                accumulate: op.modifiers.atom_op() == Some(AtomOp::Add),
                mask: 15,
                lanes: Lanes::straight(four),
            };
            let descriptor = self.iconst(I64, descriptor.encode());
            self.call_numeric("video_lanes_b32", &[a, b, c, descriptor])?
        };
        self.set(&o[0], result)
    }
}
