//! PTX: lexer, parser, typed syntax tree with spans, decoder and printer.
//!
//! Reading PTX has two stages. [`parse`] turns text into a [`Module`] and knows no instruction: an opcode is one name, whatever it says.
//! [`decode()`] then turns one [`Instruction`] into an [`Op`]: base opcode, set of modifiers, types; it refuses what it does not know by name and
//! place, so that an exotic kernel in a module does not keep the others from being used.

pub mod ast;
mod decode;
mod error;
mod print;
mod span;
mod spelled;
mod syntax;
mod types;
mod version;

pub use ast::*;
pub use decode::{
    Action, AtomOp, BoolOp, Bounds, CacheLevel, CacheOp, Compare, Component, Direction, Flags,
    Fragment, Geometry, Layout, MatrixCount, MatrixShape, Mipmap, Modifiers, Op, Opcode, Ordering,
    Part, PrmtMode, Query, Rounding, Scope, ShflMode, SurfaceFormat, TestpMode, VoteMode, decode,
    decode_opcode,
};
pub use error::{DecodeError, DecodeErrorKind, ParseError};
pub use span::{LineIndex, Span, line_column};
pub use syntax::parse;
pub use types::{ScalarType, Space, TypeClass};
