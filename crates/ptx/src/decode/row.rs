//! The form of a row of the decode table.

use super::Flags;
use crate::ScalarType;

bitflags::bitflags! {
    /// Groups of alternatives of which an instruction has at most one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Groups: u32 {
        const ROUNDING = 1 << 0;
        const SPACE = 1 << 1;
        const SECOND_SPACE = 1 << 2;
        const COMPARE = 1 << 3;
        const BOOL_OP = 1 << 4;
        const ATOM_OP = 1 << 5;
        const SCOPE = 1 << 6;
        const ORDERING = 1 << 7;
        const CACHE_OP = 1 << 8;
        const SHFL_MODE = 1 << 9;
        const VOTE_MODE = 1 << 10;
        const PART = 1 << 11;
        const GEOMETRY = 1 << 12;
        const MIPMAP = 1 << 13;
        const COMPONENT = 1 << 14;
        const SURFACE_FORMAT = 1 << 15;
        const BOUNDS = 1 << 16;
        const DIRECTION = 1 << 17;
        const PRMT_MODE = 1 << 18;
        const TESTP_MODE = 1 << 19;
        const QUERY = 1 << 20;
        const ACTION = 1 << 21;
        const FRAGMENT = 1 << 22;
        const LAYOUT = 1 << 23;
        const MATRIX_COUNT = 1 << 24;
        const CACHE_LEVEL = 1 << 25;
        const SHAPE = 1 << 26;
    }
}

impl Groups {
    /// The group in words, for messages.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Groups::ROUNDING => "a rounding mode",
            Groups::SPACE => "a state space",
            Groups::COMPARE => "a comparison",
            Groups::ATOM_OP => "an operation",
            Groups::SCOPE => "a scope",
            Groups::SHFL_MODE => "a shuffle mode",
            Groups::VOTE_MODE => "a vote mode",
            Groups::GEOMETRY => "a geometry",
            Groups::DIRECTION => "a direction",
            Groups::TESTP_MODE => "a property to test",
            Groups::QUERY => "what to query",
            Groups::CACHE_LEVEL => "a cache level",
            Groups::SHAPE => "a matrix shape",
            Groups::SURFACE_FORMAT => "`.b` or `.p`",
            Groups::COMPONENT => "a component",
            Groups::BOUNDS => "`.clamp` or `.wrap`",
            _ => "a modifier",
        }
    }
}

/// A set of types.
#[derive(Clone, Copy)]
pub(super) struct TypeSet(u64);

impl TypeSet {
    pub(super) const fn of(types: &[ScalarType]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < types.len() {
            bits |= 1 << types[i] as u64;
            i += 1;
        }
        TypeSet(bits)
    }

    pub(super) const fn or(self, other: TypeSet) -> Self {
        TypeSet(self.0 | other.0)
    }

    pub(super) fn contains(self, ty: ScalarType) -> bool {
        self.0 & (1 << ty as u64) != 0
    }
}

/// What an opcode may be written with.
pub(super) struct Row {
    pub(super) groups: Groups,
    pub(super) required: Groups,
    pub(super) flags: Flags,
    /// The types allowed at each place.
    pub(super) types: &'static [TypeSet],
    pub(super) min_types: u8,
    /// Lengths of vector forms.
    pub(super) vectors: &'static [u8],
    pub(super) operands: (u8, u8),
}

impl Row {
    pub(super) const fn new(operands: u8, types: &'static [TypeSet]) -> Row {
        Row {
            groups: Groups::empty(),
            required: Groups::empty(),
            flags: Flags::empty(),
            types,
            min_types: types.len() as u8,
            vectors: &[],
            operands: (operands, operands),
        }
    }

    pub(super) const fn up_to(mut self, operands: u8) -> Row {
        self.operands.1 = operands;
        self
    }

    pub(super) const fn with(mut self, groups: Groups) -> Row {
        self.groups = self.groups.union(groups);
        self
    }

    pub(super) const fn needs(mut self, groups: Groups) -> Row {
        self.groups = self.groups.union(groups);
        self.required = self.required.union(groups);
        self
    }

    pub(super) const fn flags(mut self, flags: Flags) -> Row {
        self.flags = flags;
        self
    }

    pub(super) const fn vectors(mut self, lengths: &'static [u8]) -> Row {
        self.vectors = lengths;
        self
    }

    pub(super) const fn at_least(mut self, types: u8) -> Row {
        self.min_types = types;
        self
    }

    /// Types that may be left out.
    pub(super) const fn types_optional(mut self, types: &'static [TypeSet]) -> Row {
        self.types = types;
        self.min_types = 0;
        self
    }
}
