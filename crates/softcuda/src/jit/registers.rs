//! The machine class of each register: PTX declares widths, the uses say whether it holds integers or floats.

use cranelift_codegen::ir::Type;
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64, I128};
use cuprum_ptx::{Opcode, ScalarType};

use crate::program::ir::{Function, Kind, Operand, destinations};

/// The machine type of values of a PTX type.
pub(super) fn machine_type(ty: ScalarType) -> Type {
    match ty {
        ScalarType::F32 => F32,
        ScalarType::F64 => F64,
        ScalarType::Pred => I8,
        _ => integer_type(ty.bits()),
    }
}

/// The integer type of at least `bits` bits.
pub(super) fn integer_type(bits: u32) -> Type {
    match bits {
        0..=8 => I8,
        9..=16 => I16,
        17..=32 => I32,
        33..=64 => I64,
        _ => I128,
    }
}

fn vote_operand(operand: &Operand, vote: i32, votes: &mut [i32]) {
    match operand {
        Operand::Reg(reg) => votes[*reg as usize] += vote,
        Operand::Vector(elements) => {
            for element in elements {
                vote_operand(element, vote, votes);
            }
        }
        _ => {}
    }
}

/// What an instruction type says of a register: float, integer, or nothing.
fn vote_of(ty: ScalarType) -> i32 {
    match ty {
        ScalarType::F32 | ScalarType::F64 => 1,
        _ if ty.is_integer() => -1,
        _ => 0,
    }
}

/// The class of each register, by majority of its uses; without any the declared type counts.
pub(super) fn classes(function: &Function) -> Vec<Type> {
    let mut votes = vec![0i32; function.regs.len()];
    for inst in function.insts() {
        let Kind::Op(op, operands) = &inst.kind else {
            continue;
        };
        let Some(&ty) = op.types.first() else {
            continue;
        };
        let source = op.types.get(1).copied().unwrap_or(ty);
        let bitwise = matches!(
            op.opcode,
            Opcode::And
                | Opcode::Or
                | Opcode::Xor
                | Opcode::Not
                | Opcode::Shl
                | Opcode::Shr
                | Opcode::Prmt
        );
        for (index, operand) in operands.iter().enumerate() {
            let ty = match op.opcode {
                Opcode::Cvt | Opcode::Set if index > 0 => source,
                _ => ty,
            };
            // The predicate of selections and comparisons votes too, and is ignored below.
            let vote = if bitwise { -1 } else { vote_of(ty) };
            let vote = if index < destinations(op) {
                vote
            } else {
                2 * vote
            };
            vote_operand(operand, vote, &mut votes);
        }
    }
    function
        .regs
        .iter()
        .zip(votes)
        .map(|(&declared, vote)| {
            let float = vote > 0 || (vote == 0 && declared.is_float());
            match (declared, declared.bits(), float) {
                (ScalarType::Pred, ..) => I8,
                (_, 32, true) => F32,
                (_, 64, true) => F64,
                (_, bits, _) => integer_type(bits.max(16)),
            }
        })
        .collect()
}
