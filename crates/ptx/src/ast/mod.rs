//! The syntax tree.
//!
//! Everything borrows its text from the source. Places are [`Span`]s, which always compare equal, so `==` on trees compares what they say.

mod function;
mod module;
mod operand;
mod statement;
mod symbols;
mod variable;
mod walk;

pub use function::{Attributes, Function, FunctionKind, Param, Pointer};
pub use module::{Alias, File, Item, Linkage, Module, Section};
pub use operand::{Address, Call, Ident, Immediate, Operand, TextureAddress};
pub use statement::{
    BranchTargets, CallPrototype, CallTargets, Guard, Inlined, Instruction, Loc, RegisterDecl,
    RegisterName, Statement,
};
pub use symbols::{Reachable, Symbols};
pub use variable::{InitialValue, Initializer, Symbol, Unified, Variable};
pub use walk::walk;

pub(crate) use crate::span::Span;
