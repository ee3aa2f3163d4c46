//! Variables and functions.

use std::fmt::{self, Display, Formatter};

use super::statement::Body;
use super::{Pragma, Separated};
use crate::ast::{
    Attributes, Function, FunctionKind, InitialValue, Initializer, Param, Symbol, Variable,
};

impl Display for Variable<'_> {
    /// Without the semicolon.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} ", self.linkage.prefix(), self.space)?;
        if self.managed {
            f.write_str(".attribute(.managed) ")?;
        }
        if let Some(unified) = self.unified {
            write!(f, ".attribute(.unified({}, {})) ", unified.0, unified.1)?;
        }
        if let Some(align) = self.align {
            write!(f, ".align {align} ")?;
        }
        if self.vector != 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} {}", self.ty, self.name)?;
        dimensions(f, &self.dimensions)?;
        match &self.initializer {
            Some(initializer) => write!(f, " = {initializer}"),
            None => Ok(()),
        }
    }
}

fn dimensions(f: &mut Formatter<'_>, dimensions: &[Option<u64>]) -> fmt::Result {
    dimensions.iter().try_for_each(|dimension| match dimension {
        Some(length) => write!(f, "[{length}]"),
        None => f.write_str("[]"),
    })
}

impl Display for Initializer<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Initializer::Value(value) => write!(f, "{value}"),
            Initializer::List(list) => write!(f, "{{{}}}", Separated(list)),
        }
    }
}

impl Display for InitialValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            InitialValue::Immediate(value) => write!(f, "{value}"),
            InitialValue::Symbol(symbol) => write!(f, "{symbol}"),
        }
    }
}

impl Display for Symbol<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(mask) = self.mask {
            write!(f, "0x{mask:X}(")?;
        }
        if self.generic {
            write!(f, "generic({})", self.name)?;
        } else {
            write!(f, "{}", self.name)?;
        }
        if self.offset != 0 {
            write!(f, "+{}", self.offset)?;
        }
        f.write_str(if self.mask.is_some() { ")" } else { "" })
    }
}

impl Display for Param<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.register { ".reg " } else { ".param " })?;
        if let Some(align) = self.align {
            write!(f, ".align {align} ")?;
        }
        write!(f, ".{} ", self.ty)?;
        if let Some(pointer) = self.pointer {
            f.write_str(".ptr ")?;
            if let Some(space) = pointer.space {
                write!(f, ".{space} ")?;
            }
            if let Some(align) = pointer.align {
                write!(f, ".align {align} ")?;
            }
        }
        write!(f, "{}", self.name)?;
        dimensions(f, &self.dimensions)
    }
}

impl Display for Function<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.linkage.prefix())?;
        f.write_str(match self.kind {
            FunctionKind::Entry => ".entry ",
            FunctionKind::Func => ".func ",
        })?;
        if let Some(unified) = self.attributes.unified {
            write!(f, ".attribute(.unified({}, {})) ", unified.0, unified.1)?;
        }
        if !self.returns.is_empty() {
            write!(f, "({}) ", Separated(&self.returns))?;
        }
        write!(f, "{}(", self.name)?;
        for (i, param) in self.params.iter().enumerate() {
            write!(f, "{}\n\t{param}", if i == 0 { "" } else { "," })?;
        }
        f.write_str(if self.params.is_empty() { ")" } else { "\n)" })?;
        write!(f, "{}", self.attributes)?;
        match &self.body {
            Some(statements) => write!(
                f,
                "\n{}",
                Body {
                    statements,
                    depth: 1
                }
            ),
            None => f.write_str(";"),
        }
    }
}

impl Display for Attributes<'_> {
    /// What stands after the parameters; `.attribute` stands before them and is not printed.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let numbers = [
            (".minnctapersm", self.min_blocks_per_sm),
            (".maxnctapersm", self.max_blocks_per_sm),
            (".maxnreg", self.max_registers),
            (".maxclusterrank", self.max_cluster_rank),
            (".abi_preserve", self.abi_preserve),
            (".abi_preserve_control", self.abi_preserve_control),
        ];
        let shapes = [
            (".maxntid", self.max_threads),
            (".reqntid", self.required_threads),
            (".reqnctapercluster", self.required_cluster),
        ];
        let flags = [
            (".noreturn", self.noreturn),
            (".explicitcluster", self.explicit_cluster),
            (".blocksareclusters", self.blocks_are_clusters),
        ];
        for (name, shape) in shapes {
            match shape {
                Some([0, 0, 0]) if name == ".reqnctapercluster" => write!(f, "\n{name}")?,
                Some(shape) => write!(f, "\n{name} {}", Separated(&shape))?,
                None => {}
            }
        }
        for (name, number) in numbers {
            if let Some(number) = number {
                write!(f, "\n{name} {number}")?;
            }
        }
        for (name, flag) in flags {
            if flag {
                write!(f, "\n{name}")?;
            }
        }
        if self.pragmas.is_empty() {
            Ok(())
        } else {
            write!(f, "\n{};", Pragma(&self.pragmas))
        }
    }
}
