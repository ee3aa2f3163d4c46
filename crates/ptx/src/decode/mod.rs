//! From the spelling of an opcode to what it says.

mod modifiers;
mod opcode;
mod row;
mod table;
mod words;

use smallvec::SmallVec;

use crate::ast::{Ident, Instruction, Span};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::{ScalarType, Space};

pub use modifiers::{Flags, Modifiers};
pub use opcode::Opcode;
pub use words::{
    Action, AtomOp, BoolOp, Bounds, CacheLevel, CacheOp, Compare, Component, Direction, Fragment,
    Geometry, Layout, MatrixCount, MatrixShape, Mipmap, Ordering, Part, PrmtMode, Query, Rounding,
    Scope, ShflMode, SurfaceFormat, TestpMode, VoteMode,
};

use row::{Groups, Row};
use table::row;

/// A decoded instruction; its operands stay in the [`Instruction`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Op {
    /// The base opcode.
    pub opcode: Opcode,
    /// The modifiers, as a set.
    pub modifiers: Modifiers,
    /// The types in the order written: for `cvt.rn.f32.s64` first `f32`, then `s64`.
    pub types: SmallVec<[ScalarType; 3]>,
    /// Elements of the vector form (`.v2`, `.v4`, `.v8`), otherwise 1.
    pub vector: u8,
}

impl Op {
    /// The first type.
    ///
    /// # Panics
    /// If the opcode has none (`bra`, `ret`, `fence`); every opcode with typed operands has at least one after decoding.
    #[must_use]
    pub fn ty(&self) -> ScalarType {
        *self
            .types
            .first()
            .expect("asked for the type of an instruction that has none")
    }
}

/// Decodes one instruction.
///
/// # Errors
/// If the base opcode, a modifier or a type is unknown, contradictory or missing, or the number of operands is wrong.
pub fn decode(instruction: &Instruction<'_>) -> Result<Op, DecodeError> {
    let op = decode_opcode(instruction.opcode)?;
    let (min, max) = table::operand_count(&op);
    let found = instruction.operands.len();
    if (min..=max).contains(&found) {
        Ok(op)
    } else {
        Err(DecodeError::new(
            instruction.opcode.text,
            instruction.span,
            DecodeErrorKind::OperandCount { found, min, max },
        ))
    }
}

/// Decodes an opcode alone: as [`decode()`], but nothing is known of operands.
///
/// # Errors
/// If the base opcode, a modifier or a type is unknown, contradictory or missing.
pub fn decode_opcode(spelling: Ident<'_>) -> Result<Op, DecodeError> {
    let Ident { text, span: whole } = spelling;
    let fail = |span, kind| Err(DecodeError::new(text, span, kind));
    let mut words = text.split('.');
    let base = words.next().unwrap_or("");
    let Some(opcode) = Opcode::from_spelling(base) else {
        return fail(whole, DecodeErrorKind::UnknownOpcode);
    };
    let row = row(opcode);
    let mut op = Op {
        opcode,
        modifiers: Modifiers::default(),
        types: SmallVec::new(),
        vector: 1,
    };
    let mut seen = Groups::empty();
    // Offset of the word, past its dot.
    let mut at = whole
        .start
        .saturating_add(base.len() as u32)
        .saturating_add(1);
    for word in words {
        let end = at.saturating_add(word.len() as u32);
        if let Err(kind) = op.take(word, &row, &mut seen) {
            return fail(Span::new(at, end), kind);
        }
        at = end.saturating_add(1);
    }
    if let Some(missing) = row.required.difference(seen).iter().next() {
        return fail(whole, DecodeErrorKind::MissingModifier(missing.describe()));
    }
    if op.types.len() < usize::from(row.min_types)
        || !op
            .types
            .iter()
            .zip(row.types)
            .all(|(ty, set)| set.contains(*ty))
    {
        return fail(whole, DecodeErrorKind::Types);
    }
    match table::check(&op) {
        Ok(()) => Ok(op),
        Err(kind) => fail(whole, kind),
    }
}

/// Puts a value into an empty place; a full one is a contradiction, unless it is the same word again.
fn put<T: Copy + PartialEq>(
    place: &mut Option<T>,
    value: T,
    word: &str,
) -> Result<(), DecodeErrorKind> {
    if place.is_some_and(|old| old != value) {
        return Err(DecodeErrorKind::ConflictingModifier(word.to_owned()));
    }
    *place = Some(value);
    Ok(())
}

impl Op {
    /// Takes one word of the opcode, wherever it stood.
    fn take(&mut self, word: &str, row: &Row, seen: &mut Groups) -> Result<(), DecodeErrorKind> {
        if let Some(ty) = ScalarType::from_spelling(word) {
            if self.types.len() >= row.types.len() {
                return Err(DecodeErrorKind::Types);
            }
            self.types.push(ty);
            return Ok(());
        }
        if let Some(n) = row
            .vectors
            .iter()
            .find(|&&n| word.strip_prefix('v') == Some(vector_digit(n)))
        {
            if self.vector != 1 {
                return Err(DecodeErrorKind::ConflictingModifier(word.to_owned()));
            }
            self.vector = *n;
            return Ok(());
        }
        if let Some(flag) = table::flag(word)
            && row.flags.contains(flag)
        {
            self.modifiers.flags |= flag;
            return Ok(());
        }
        if self.take_group(word, row, seen)? {
            Ok(())
        } else {
            Err(DecodeErrorKind::UnknownModifier(word.to_owned()))
        }
    }

    /// Tries the groups of alternatives that the opcode has; answers whether one knew the word.
    fn take_group(
        &mut self,
        word: &str,
        row: &Row,
        seen: &mut Groups,
    ) -> Result<bool, DecodeErrorKind> {
        let m = &mut self.modifiers;
        macro_rules! try_groups {
            ($( $group:ident => $place:ident: $ty:ty; )*) => {
                $( if row.groups.contains(Groups::$group) && let Some(value) = <$ty>::from_spelling(word) {
                    *seen |= Groups::$group;
                    put(&mut m.$place, value, word)?;
                    return Ok(true);
                } )*
            };
        }
        if row.groups.contains(Groups::SPACE)
            && let Some(space) = Space::from_qualified(word)
        {
            *seen |= Groups::SPACE;
            let second = row.groups.contains(Groups::SECOND_SPACE) && m.spaces[0].is_some();
            put(&mut m.spaces[usize::from(second)], space, word)?;
            return Ok(true);
        }
        if row.groups.contains(Groups::LAYOUT)
            && let Some(layout) = Layout::from_spelling(word)
        {
            *seen |= Groups::LAYOUT;
            let second = m.layouts[0].is_some();
            // Two of them may be alike, so only a third can contradict.
            put(&mut m.layouts[usize::from(second)], layout, word)?;
            return Ok(true);
        }
        if row.groups.contains(Groups::ACTION)
            && let Some(action) = Action::from_spelling(word)
        {
            *seen |= Groups::ACTION;
            match (m.action, action) {
                (Some(Action::Mbarrier), Action::Arrive) => {}
                (Some(Action::Arrive | Action::ArriveDrop), Action::ExpectTx) => {
                    m.flags |= Flags::EXPECT_TX;
                }
                _ => put(&mut m.action, action, word)?,
            }
            return Ok(true);
        }
        if row.groups.contains(Groups::SCOPE) && word == "gl" {
            *seen |= Groups::SCOPE;
            put(&mut m.scope, Scope::Gpu, word)?;
            return Ok(true);
        }
        try_groups! {
            ROUNDING => rounding: Rounding;
            COMPARE => compare: Compare;
            BOOL_OP => bool_op: BoolOp;
            ATOM_OP => atom_op: AtomOp;
            SCOPE => scope: Scope;
            ORDERING => ordering: Ordering;
            CACHE_OP => cache_op: CacheOp;
            SHFL_MODE => shfl_mode: ShflMode;
            VOTE_MODE => vote_mode: VoteMode;
            PART => part: Part;
            GEOMETRY => geometry: Geometry;
            MIPMAP => mipmap: Mipmap;
            COMPONENT => component: Component;
            SURFACE_FORMAT => surface_format: SurfaceFormat;
            BOUNDS => bounds: Bounds;
            DIRECTION => direction: Direction;
            PRMT_MODE => prmt_mode: PrmtMode;
            TESTP_MODE => testp_mode: TestpMode;
            QUERY => query: Query;
            FRAGMENT => fragment: Fragment;
            MATRIX_COUNT => matrix_count: MatrixCount;
            CACHE_LEVEL => cache_level: CacheLevel;
            SHAPE => shape: MatrixShape;
        }
        Ok(false)
    }
}

/// The digit after the `v` of a vector modifier.
fn vector_digit(n: u8) -> &'static str {
    match n {
        2 => "2",
        4 => "4",
        _ => "8",
    }
}
