//! Variables and their initial values.

use super::{Ident, Immediate, Linkage, Span};
use crate::{ScalarType, Space};

/// A variable outside the register space, at module scope or in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable<'a> {
    /// Visibility to other modules.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// `.attribute(.unified(a, b))`.
    pub unified: Option<Unified>,
    /// The declared alignment in bytes; see [`Variable::alignment`].
    pub align: Option<u32>,
    /// Elements of a vector type (`.v2`, `.v4`), otherwise 1.
    pub vector: u8,
    /// The element type.
    pub ty: ScalarType,
    /// The name.
    pub name: Ident<'a>,
    /// Array dimensions, outermost first; empty for a scalar. `None` is `[]`, which only the first may be.
    pub dimensions: Vec<Option<u64>>,
    /// The initial value; without one memory starts as zeros.
    pub initializer: Option<Initializer<'a>>,
    /// From the linkage to the end of this declarator.
    pub span: Span,
}

impl Variable<'_> {
    /// Size in bytes, saturating; 0 for an array of open length.
    #[must_use]
    pub fn size(&self) -> u64 {
        array_size(self.ty, self.vector, &self.dimensions)
    }

    /// Alignment in bytes: the declared one, or the size of the type (PTX ISA, section 5.4.5).
    #[must_use]
    pub fn alignment(&self) -> u32 {
        self.align
            .unwrap_or(self.ty.size() * u32::from(self.vector))
    }

    /// Whether this is an array of open length, such as `.extern .shared .b8 s[];`.
    #[must_use]
    pub fn is_open_array(&self) -> bool {
        self.dimensions.contains(&None)
    }
}

/// Bytes of an array, saturating; 0 if a dimension is open.
pub(super) fn array_size(ty: ScalarType, vector: u8, dimensions: &[Option<u64>]) -> u64 {
    let element = u64::from(ty.size()) * u64::from(vector);
    dimensions
        .iter()
        .fold(element, |size, d| size.saturating_mul(d.unwrap_or(0)))
}

/// The two halves of the identity that `.unified` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unified(pub u64, pub u64);

/// The initial value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initializer<'a> {
    /// A single value.
    Value(InitialValue<'a>),
    /// `{a, b}`: one for each element; missing ones at the end are zero. Nested for arrays of arrays.
    List(Vec<Initializer<'a>>),
}

impl<'a> Initializer<'a> {
    /// Calls `f` with each value, nesting flattened, in order.
    pub fn for_each(&self, f: &mut impl FnMut(&InitialValue<'a>)) {
        match self {
            Initializer::Value(value) => f(value),
            Initializer::List(list) => list.iter().for_each(|i| i.for_each(f)),
        }
    }
}

/// One value of an initializer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InitialValue<'a> {
    /// A constant; integers may be negative for unsigned types too and wrap.
    Immediate(Immediate),
    /// The address of a variable or function.
    Symbol(Symbol<'a>),
}

/// An address in an initializer: `name`, `generic(name)`, `generic(name)+8`, `0xFF00(generic(name))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol<'a> {
    /// The variable or function.
    pub name: Ident<'a>,
    /// Whether the address is wanted in the generic space rather than in the variable's own.
    pub generic: bool,
    /// Bytes added.
    pub offset: i64,
    /// A run of ones in whole bytes that picks some bytes of the address, moved down to bit 0: `0xFF00` takes the second byte.
    pub mask: Option<u64>,
}
