//! Operands and constants.

use std::fmt::{self, Display, Formatter};

use super::Separated;
use crate::ast::{Address, Immediate, Operand};

impl Display for Immediate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Immediate::Int(value) => write!(f, "{value}"),
            Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

impl Display for Address<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.base, self.offset) {
            (None, offset) => write!(f, "[{offset}]"),
            (Some(base), 0) => write!(f, "[{base}]"),
            (Some(base), offset) => write!(f, "[{base}+{offset}]"),
        }
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Name(name) => write!(f, "{name}"),
            Operand::Immediate(value) => write!(f, "{value}"),
            Operand::Offset(name, offset) => write!(f, "{name}+{offset}"),
            Operand::Address(address) => write!(f, "{address}"),
            Operand::Texture(address) => {
                write!(f, "[{}, ", address.object)?;
                if let Some(sampler) = address.sampler {
                    write!(f, "{sampler}, ")?;
                }
                write!(f, "{{{}}}]", Separated(&address.coordinates))
            }
            Operand::Vector(elements) => write!(f, "{{{}}}", Separated(elements)),
            Operand::Pair(pair) => write!(f, "{}|{}", pair.0, pair.1),
            Operand::Not(name) => write!(f, "!{name}"),
            Operand::Neg(name) => write!(f, "-{name}"),
            Operand::Sink => f.write_str("_"),
            Operand::List(elements) => write!(f, "({})", Separated(elements)),
        }
    }
}
