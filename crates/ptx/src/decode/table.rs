//! What each base opcode may be written with: one row an opcode (PTX ISA, section 9.7).

use super::row::{Groups, Row, TypeSet};
use super::{Action, Flags, Op, Opcode, Part};
use crate::ScalarType;
use crate::error::DecodeErrorKind;

use ScalarType::{
    B1, B8, B16, B32, B64, B128, Bf16, Bf16x2, E2m1x2, E2m1x4, E2m3x2, E2m3x4, E3m2x2, E3m2x4,
    E4m3, E4m3x2, E4m3x4, E5m2, E5m2x2, E5m2x4, F16, F16x2, F32, F32x2, F64, Pred, S4, S8, S8x4,
    S16, S16x2, S32, S64, SamplerRef, SurfRef, TexRef, Tf32, U4, U8, U8x4, U16, U16x2, U32, U64,
    Ue8m0x2,
};

/// Integers of 16 to 64 bits.
const INT: TypeSet = TypeSet::of(&[U16, U32, U64, S16, S32, S64]);
const INT32: TypeSet = TypeSet::of(&[U32, S32]);
const PACKED_INT: TypeSet = TypeSet::of(&[U16x2, S16x2, U8x4, S8x4]);
const HALF: TypeSet = TypeSet::of(&[F16, F16x2, Bf16, Bf16x2]);
const F32_F64: TypeSet = TypeSet::of(&[F32, F64]);
const FLOAT: TypeSet = HALF.or(F32_F64).or(TypeSet::of(&[F32x2]));
const ARITHMETIC: TypeSet = INT.or(PACKED_INT).or(FLOAT);
const BITS: TypeSet = TypeSet::of(&[B16, B32, B64]);
const LOGIC: TypeSet = TypeSet::of(&[Pred, B16, B32, B64]);
const BYTES: TypeSet = TypeSet::of(&[U8, S8, B8]);
/// Everything that registers of 16 to 64 bits are compared or selected as.
const WORD: TypeSet = INT.or(BITS).or(HALF).or(F32_F64);
/// Everything that is loaded and stored.
const MEMORY: TypeSet = WORD.or(BYTES).or(TypeSet::of(&[B128, F32x2]));
const SMALL_FLOAT: TypeSet = TypeSet::of(&[
    E4m3x2, E5m2x2, E4m3x4, E5m2x4, E2m1x2, E2m1x4, E2m3x2, E2m3x4, E3m2x2, E3m2x4, Ue8m0x2, Tf32,
]);
const CONVERT: TypeSet = INT
    .or(TypeSet::of(&[U8, S8, B16, B32]))
    .or(FLOAT)
    .or(SMALL_FLOAT);
const MATRIX: TypeSet = TypeSet::of(&[
    B1, U4, S4, U8, S8, B8, B16, S32, F16, Bf16, Tf32, F32, F64, E4m3, E5m2,
]);
const B32_ONLY: TypeSet = TypeSet::of(&[B32]);
const U32_ONLY: TypeSet = TypeSet::of(&[U32]);
const B64_ONLY: TypeSet = TypeSet::of(&[B64]);
const B32_B64: TypeSet = TypeSet::of(&[B32, B64]);
const ADDRESS: TypeSet = TypeSet::of(&[U32, U64, B32, B64]);

/// The row of an opcode.
pub(super) fn row(opcode: Opcode) -> Row {
    use Opcode as O;
    let ftz = Flags::FTZ;
    let ftz_sat = Flags::FTZ.union(Flags::SAT);
    let approx = Flags::APPROX.union(Flags::FTZ);
    let sync = Flags::SYNC;
    let sync_aligned = Flags::SYNC.union(Flags::ALIGNED);
    let hints = Flags::CACHE_HINT;
    match opcode {
        // Arithmetic.
        O::Abs | O::Neg => Row::new(2, &[ARITHMETIC]).flags(ftz),
        O::Add => Row::new(3, &[ARITHMETIC, ARITHMETIC])
            .at_least(1)
            .with(Groups::ROUNDING)
            .flags(ftz_sat.union(Flags::CC)),
        O::Sub => Row::new(3, &[ARITHMETIC, ARITHMETIC])
            .at_least(1)
            .with(Groups::ROUNDING)
            .flags(ftz_sat.union(Flags::CC)),
        O::Addc | O::Subc => Row::new(3, &[INT]).flags(Flags::CC),
        O::Mul => Row::new(3, &[ARITHMETIC])
            .with(Groups::ROUNDING.union(Groups::PART))
            .flags(ftz_sat),
        O::Mad => Row::new(4, &[const { INT.or(F32_F64) }])
            .with(Groups::ROUNDING.union(Groups::PART))
            .flags(ftz_sat.union(Flags::CC)),
        O::Madc => Row::new(4, &[INT]).needs(Groups::PART).flags(Flags::CC),
        O::Mul24 => Row::new(3, &[INT32]).needs(Groups::PART),
        O::Mad24 => Row::new(4, &[INT32]).needs(Groups::PART).flags(Flags::SAT),
        O::Fma => Row::new(4, &[FLOAT, FLOAT])
            .at_least(1)
            .needs(Groups::ROUNDING)
            .flags(ftz_sat.union(Flags::RELU)),
        O::Div => Row::new(3, &[const { INT.or(F32_F64) }])
            .with(Groups::ROUNDING)
            .flags(approx.union(Flags::FULL)),
        O::Rem => Row::new(3, &[INT]),
        O::Sad => Row::new(4, &[INT]),
        O::Min | O::Max => Row::new(3, &[ARITHMETIC]).up_to(4).flags(
            ftz.union(Flags::NAN)
                .union(Flags::RELU)
                .union(Flags::XORSIGN)
                .union(Flags::ABS),
        ),
        O::Rcp | O::Sqrt => Row::new(2, &[F32_F64]).with(Groups::ROUNDING).flags(approx),
        O::Rsqrt => Row::new(2, &[F32_F64]).flags(approx),
        O::Sin | O::Cos | O::Lg2 => Row::new(2, &[const { TypeSet::of(&[F32]) }]).flags(approx),
        O::Ex2 | O::Tanh => Row::new(2, &[const { HALF.or(TypeSet::of(&[F32])) }]).flags(approx),
        O::Copysign => Row::new(3, &[F32_F64]),
        O::Testp => Row::new(2, &[F32_F64]).needs(Groups::TESTP_MODE),
        O::Dp4a => Row::new(4, &[INT32, INT32]),
        O::Dp2a => Row::new(4, &[INT32, INT32]).needs(Groups::PART),

        // Bits.
        O::And | O::Or | O::Xor => Row::new(3, &[LOGIC]),
        O::Not => Row::new(2, &[LOGIC]),
        O::Shl => Row::new(3, &[BITS]),
        O::Shr => Row::new(3, &[const { INT.or(BITS) }]),
        O::Shf => Row::new(4, &[B32_ONLY]).needs(Groups::DIRECTION.union(Groups::BOUNDS)),
        O::Popc | O::Clz | O::Brev => Row::new(2, &[B32_B64]),
        O::Bfind => Row::new(2, &[INT]).flags(Flags::SHIFTAMT),
        O::Bfe => Row::new(4, &[INT]),
        O::Bfi => Row::new(5, &[B32_B64]),
        O::Bmsk => Row::new(3, &[B32_ONLY]).needs(Groups::BOUNDS),
        O::Szext => Row::new(3, &[INT32]).needs(Groups::BOUNDS),
        O::Fns => Row::new(4, &[B32_ONLY]),
        O::Lop3 => Row::new(5, &[B32_ONLY]).up_to(6).with(Groups::BOOL_OP),
        O::Prmt => Row::new(4, &[B32_ONLY]).with(Groups::PRMT_MODE),

        // Comparison and selection.
        O::Setp => Row::new(3, &[WORD])
            .up_to(4)
            .needs(Groups::COMPARE)
            .with(Groups::BOOL_OP)
            .flags(ftz),
        O::Set => Row::new(3, &[const { WORD.or(TypeSet::of(&[Pred])) }, WORD])
            .up_to(4)
            .needs(Groups::COMPARE)
            .with(Groups::BOOL_OP)
            .flags(ftz),
        O::Selp => Row::new(4, &[WORD]),
        O::Slct => Row::new(4, &[WORD, const { TypeSet::of(&[S32, F32]) }]).flags(ftz),

        // Data movement.
        O::Mov => Row::new(2, &[const { WORD.or(TypeSet::of(&[Pred, B128])) }]),
        O::Ld | O::Ldu => Row::new(2, &[MEMORY])
            .up_to(3)
            .with(
                Groups::SPACE
                    .union(Groups::CACHE_OP)
                    .union(Groups::ORDERING)
                    .union(Groups::SCOPE),
            )
            .flags(hints.union(Flags::NC).union(Flags::UNIFIED))
            .vectors(&[2, 4, 8]),
        O::St => Row::new(2, &[MEMORY])
            .up_to(3)
            .with(
                Groups::SPACE
                    .union(Groups::CACHE_OP)
                    .union(Groups::ORDERING)
                    .union(Groups::SCOPE),
            )
            .flags(hints.union(Flags::ASYNC).union(Flags::MECHANISM))
            .vectors(&[2, 4, 8]),
        O::Cvt => Row::new(2, &[CONVERT, CONVERT, CONVERT])
            .up_to(4)
            .at_least(2)
            .with(Groups::ROUNDING)
            .flags(
                ftz_sat
                    .union(Flags::SATFINITE)
                    .union(Flags::RELU)
                    .union(Flags::PACK),
            ),
        O::Cvta => Row::new(2, &[ADDRESS])
            .needs(Groups::SPACE)
            .flags(Flags::TO),
        O::Isspacep => Row::new(2, &[]).needs(Groups::SPACE),
        O::Istypep => Row::new(2, &[const { TypeSet::of(&[TexRef, SamplerRef, SurfRef]) }]),
        O::Mapa => Row::new(3, &[ADDRESS]).with(Groups::SPACE),
        O::Getctarank => Row::new(2, &[ADDRESS]).with(Groups::SPACE),
        O::Prefetch => Row::new(1, &[])
            .with(Groups::SPACE.union(Groups::CACHE_LEVEL))
            .flags(hints.union(Flags::MECHANISM)),
        O::Prefetchu => Row::new(1, &[]).needs(Groups::CACHE_LEVEL),
        O::Alloca => Row::new(2, &[ADDRESS]).up_to(3),
        O::Stacksave | O::Stackrestore => Row::new(1, &[ADDRESS]),

        // Atomics and ordering.
        O::Atom => Row::new(3, &[MEMORY])
            .up_to(5)
            .needs(Groups::ATOM_OP)
            .with(Groups::SPACE.union(Groups::ORDERING).union(Groups::SCOPE))
            .flags(hints.union(Flags::NOFTZ))
            .vectors(&[2, 4, 8]),
        O::Red => Row::new(2, &[MEMORY])
            .up_to(3)
            .needs(Groups::ATOM_OP)
            .with(Groups::SPACE.union(Groups::ORDERING).union(Groups::SCOPE))
            .flags(
                hints
                    .union(Flags::NOFTZ)
                    .union(Flags::ASYNC)
                    .union(Flags::MECHANISM),
            )
            .vectors(&[2, 4, 8]),
        O::Fence => Row::new(0, &[])
            .up_to(2)
            .with(Groups::ORDERING.union(Groups::SCOPE).union(Groups::ACTION))
            .flags(Flags::MECHANISM.union(Flags::ASYNC)),
        O::Membar => Row::new(0, &[])
            .with(Groups::SCOPE.union(Groups::ACTION))
            .flags(Flags::MECHANISM),
        O::Cp => Row::new(0, &[])
            .up_to(8)
            .with(
                Groups::ACTION
                    .union(Groups::SPACE)
                    .union(Groups::SECOND_SPACE)
                    .union(Groups::CACHE_OP)
                    .union(Groups::GEOMETRY),
            )
            .flags(
                hints
                    .union(Flags::ASYNC)
                    .union(Flags::BULK)
                    .union(Flags::NOINC)
                    .union(Flags::MECHANISM),
            )
            .types_optional(&[B64_ONLY]),
        O::Mbarrier => Row::new(1, &[])
            .up_to(4)
            .needs(Groups::ACTION)
            .with(Groups::SPACE.union(Groups::ORDERING).union(Groups::SCOPE))
            .flags(
                Flags::NO_COMPLETE
                    .union(Flags::PARITY)
                    .union(Flags::EXPECT_TX),
            )
            .types_optional(&[B64_ONLY]),

        // Threads of the block and of the warp.
        O::Bar => Row::new(0, &[])
            .up_to(4)
            .needs(Groups::ACTION)
            .with(Groups::ATOM_OP)
            .flags(Flags::WARP)
            .types_optional(&[const { TypeSet::of(&[Pred, U32]) }]),
        O::Barrier => Row::new(0, &[])
            .up_to(4)
            .needs(Groups::ACTION)
            .with(Groups::ATOM_OP.union(Groups::ORDERING))
            .flags(Flags::ALIGNED.union(Flags::CLUSTER))
            .types_optional(&[const { TypeSet::of(&[Pred, U32]) }]),
        O::Shfl => Row::new(4, &[B32_ONLY])
            .up_to(5)
            .needs(Groups::SHFL_MODE)
            .flags(sync),
        O::Vote => Row::new(2, &[const { TypeSet::of(&[Pred, B32]) }])
            .up_to(3)
            .needs(Groups::VOTE_MODE)
            .flags(sync),
        O::Match => Row::new(3, &[B32_B64]).needs(Groups::VOTE_MODE).flags(sync),
        O::Activemask => Row::new(1, &[B32_ONLY]),
        O::Elect => Row::new(2, &[]).flags(sync),
        O::Redux => Row::new(3, &[const { TypeSet::of(&[U32, S32, B32, F32]) }])
            .needs(Groups::ATOM_OP)
            .flags(sync.union(Flags::NAN).union(Flags::ABS)),
        O::Griddepcontrol => Row::new(0, &[]).needs(Groups::ACTION),

        // Control.
        O::Bra => Row::new(1, &[]).flags(Flags::UNI),
        O::Brx => Row::new(2, &[]).flags(Flags::UNI.union(Flags::IDX)),
        O::Call => Row::new(1, &[]).up_to(4).flags(Flags::UNI),
        O::Ret => Row::new(0, &[]).flags(Flags::UNI),
        O::Exit | O::Trap | O::Brkpt => Row::new(0, &[]),
        O::Pmevent => Row::new(1, &[]).flags(Flags::empty()),
        O::Nanosleep => Row::new(1, &[U32_ONLY]),

        // Textures and surfaces.
        O::Tex => Row::new(2, &[TEXEL, const { TypeSet::of(&[S32, F32]) }])
            .up_to(6)
            .needs(Groups::GEOMETRY)
            .with(Groups::MIPMAP)
            .vectors(&[2, 4]),
        O::Tld4 => Row::new(2, &[TEXEL, const { TypeSet::of(&[F32]) }])
            .up_to(4)
            .needs(Groups::COMPONENT.union(Groups::GEOMETRY))
            .vectors(&[4]),
        O::Txq => Row::new(2, &[B32_ONLY])
            .up_to(3)
            .needs(Groups::QUERY)
            .with(Groups::MIPMAP),
        O::Suq => Row::new(2, &[B32_ONLY]).needs(Groups::QUERY),
        O::Suld | O::Sust => Row::new(2, &[SURFACE])
            .needs(Groups::SURFACE_FORMAT.union(Groups::GEOMETRY))
            .with(Groups::BOUNDS.union(Groups::CACHE_OP))
            .vectors(&[2, 4]),
        O::Sured => Row::new(2, &[const { TypeSet::of(&[U32, U64, S32, S64, B32, B64]) }])
            .needs(
                Groups::SURFACE_FORMAT
                    .union(Groups::GEOMETRY)
                    .union(Groups::ATOM_OP),
            )
            .with(Groups::BOUNDS),

        // Matrices.
        O::Wmma => Row::new(2, &[MATRIX, MATRIX, MATRIX, MATRIX])
            .up_to(4)
            .at_least(1)
            .needs(Groups::ACTION.union(Groups::SHAPE))
            .with(
                Groups::FRAGMENT
                    .union(Groups::LAYOUT)
                    .union(Groups::SPACE)
                    .union(Groups::ROUNDING)
                    .union(Groups::ATOM_OP),
            )
            .flags(sync_aligned.union(Flags::SATFINITE).union(Flags::MECHANISM)),
        O::Mma => Row::new(4, &[MATRIX, MATRIX, MATRIX, MATRIX])
            .up_to(8)
            .at_least(4)
            .needs(Groups::SHAPE)
            .with(
                Groups::LAYOUT
                    .union(Groups::ATOM_OP)
                    .union(Groups::ROUNDING),
            )
            .flags(sync_aligned.union(Flags::SATFINITE).union(Flags::MECHANISM)),
        O::Ldmatrix | O::Stmatrix => Row::new(2, &[MATRIX, MATRIX])
            .at_least(1)
            .needs(Groups::SHAPE.union(Groups::MATRIX_COUNT))
            .with(Groups::SPACE)
            .flags(sync_aligned.union(Flags::TRANS)),
        O::Movmatrix => Row::new(2, &[MATRIX])
            .needs(Groups::SHAPE)
            .flags(sync_aligned.union(Flags::TRANS)),

        // Video.
        O::Vadd | O::Vsub | O::Vabsdiff | O::Vmin | O::Vmax => Row::new(3, VIDEO)
            .up_to(4)
            .with(Groups::ATOM_OP)
            .flags(Flags::SAT),
        O::Vshl | O::Vshr => Row::new(3, VIDEO)
            .up_to(4)
            .with(Groups::ATOM_OP.union(Groups::BOUNDS))
            .flags(Flags::SAT),
        O::Vmad => Row::new(4, VIDEO).flags(Flags::SAT.union(Flags::PO).union(Flags::SHR)),
        O::Vset => Row::new(3, &[INT32, INT32])
            .up_to(4)
            .needs(Groups::COMPARE)
            .with(Groups::ATOM_OP),
        O::Vadd2
        | O::Vsub2
        | O::Vavrg2
        | O::Vabsdiff2
        | O::Vmin2
        | O::Vmax2
        | O::Vadd4
        | O::Vsub4
        | O::Vavrg4
        | O::Vabsdiff4
        | O::Vmin4
        | O::Vmax4 => Row::new(3, VIDEO)
            .up_to(4)
            .with(Groups::ATOM_OP)
            .flags(Flags::SAT),
        O::Vset2 | O::Vset4 => Row::new(3, &[INT32, INT32])
            .up_to(4)
            .needs(Groups::COMPARE)
            .with(Groups::ATOM_OP),
    }
}

const TEXEL: TypeSet = TypeSet::of(&[U32, S32, F32, F16, F16x2]);
const SURFACE: TypeSet = TypeSet::of(&[B8, B16, B32, B64, U32, S32, F32]);
const VIDEO: &[TypeSet] = &[INT32, INT32, INT32];

/// The flag that a word stands for.
pub(super) fn flag(word: &str) -> Option<Flags> {
    Some(match word {
        "ftz" => Flags::FTZ,
        "sat" => Flags::SAT,
        "satfinite" => Flags::SATFINITE,
        "relu" => Flags::RELU,
        "noftz" => Flags::NOFTZ,
        "approx" => Flags::APPROX,
        "full" => Flags::FULL,
        "NaN" => Flags::NAN,
        "xorsign" => Flags::XORSIGN,
        "abs" => Flags::ABS,
        "cc" => Flags::CC,
        "sync" => Flags::SYNC,
        "aligned" => Flags::ALIGNED,
        "uni" => Flags::UNI,
        "nc" => Flags::NC,
        "to" => Flags::TO,
        "shiftamt" => Flags::SHIFTAMT,
        "pack" => Flags::PACK,
        "warp" => Flags::WARP,
        "cluster" => Flags::CLUSTER,
        "async" => Flags::ASYNC,
        "bulk" => Flags::BULK,
        "noinc" => Flags::NOINC,
        "noComplete" => Flags::NO_COMPLETE,
        "parity" => Flags::PARITY,
        "trans" => Flags::TRANS,
        "unified" => Flags::UNIFIED,
        "idx" => Flags::IDX,
        "po" => Flags::PO,
        "shr7" | "shr15" => Flags::SHR,
        "alias"
        | "read"
        | "tensor"
        | "tile"
        | "im2col"
        | "tensormap"
        | "multicast::cluster"
        | "mbarrier::complete_tx::bytes"
        | "bulk_group"
        | "sync_restrict::shared::cta::cluster"
        | "async::global"
        | "async::shared::cta"
        | "async::shared::cluster"
        | "sp"
        | "sp::ordered_metadata" => Flags::MECHANISM,
        _ if word.starts_with("L1::")
            || word.starts_with("L2::")
            || word.starts_with("level::") =>
        {
            Flags::CACHE_HINT
        }
        _ => return None,
    })
}

/// What a row alone cannot say: how the modifiers and types of one instruction go together.
pub(super) fn check(op: &Op) -> Result<(), DecodeErrorKind> {
    let m = &op.modifiers;
    let float = op.types.first().is_some_and(|t| t.is_float());
    match op.opcode {
        Opcode::Mul | Opcode::Mad => match (float, m.part()) {
            (true, Some(part)) => Err(DecodeErrorKind::UnknownModifier(part.spelling().to_owned())),
            (false, None) => Err(DecodeErrorKind::MissingModifier("`.lo`, `.hi` or `.wide`")),
            (false, Some(Part::Wide)) if m.cc() || op.ty().size() == 8 => {
                Err(DecodeErrorKind::Types)
            }
            _ => Ok(()),
        },
        Opcode::Div if float && m.rounding().is_none() && !m.approx() && !m.full() => Err(
            DecodeErrorKind::MissingModifier("`.approx`, `.full` or a rounding mode"),
        ),
        Opcode::Rcp | Opcode::Sqrt if m.rounding().is_none() && !m.approx() => Err(
            DecodeErrorKind::MissingModifier("`.approx` or a rounding mode"),
        ),
        Opcode::Bar | Opcode::Barrier
            if m.action() == Some(Action::Red)
                && (m.atom_op().is_none() || op.types.is_empty()) =>
        {
            Err(DecodeErrorKind::MissingModifier("an operation or its type"))
        }
        Opcode::Fence if m.ordering().is_none() && m.action().is_none() && m.scope().is_none() => {
            Err(DecodeErrorKind::MissingModifier("an ordering or a scope"))
        }
        _ => Ok(()),
    }
}

/// The least and most operands of an instruction.
pub(super) fn operand_count(op: &Op) -> (usize, usize) {
    let m = &op.modifiers;
    match (op.opcode, m.action()) {
        (Opcode::Bar, Some(Action::Sync)) if m.flags().contains(Flags::WARP) => (1, 1),
        (Opcode::Barrier, _) if m.flags().contains(Flags::CLUSTER) => (0, 0),
        (Opcode::Bar | Opcode::Barrier, Some(Action::Sync)) => (1, 2),
        (Opcode::Bar | Opcode::Barrier, Some(Action::Arrive)) => (2, 2),
        (Opcode::Bar | Opcode::Barrier, Some(Action::Red)) => (3, 4),
        (Opcode::Cp, Some(Action::CommitGroup | Action::WaitAll)) => (0, 0),
        (Opcode::Cp, Some(Action::WaitGroup | Action::Mbarrier)) => (1, 1),
        (Opcode::Cp, None) => (2, 8),
        (Opcode::Atom, _) if m.atom_op() == Some(super::AtomOp::Cas) => (4, 5),
        (Opcode::Atom, _) => (3, 4),
        _ => {
            let (min, max) = row(op.opcode).operands;
            (usize::from(min), usize::from(max))
        }
    }
}
