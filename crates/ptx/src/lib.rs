//! PTX: lexer, parser, typed syntax tree with spans, decoder and printer.
//!
//! Reading PTX has two stages. [`parse`] turns text into a [`Module`] and knows no instruction: an opcode is one name, whatever it says.
//! [`decode()`] then turns one [`Instruction`] into an [`Op`]: base opcode, set of modifiers, types; it refuses what it does not know by name and
//! place, so that an exotic kernel in a module does not keep the others from being used.
//!
//! ```
//! use cuprum_ptx::{Opcode, Operand, ScalarType, Space, decode, parse};
//!
//! let source = "
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry load(.param .u64 pointer)
//!     {
//!         .reg .f32 %f<2>;
//!         .reg .b64 %rd<2>;
//!         ld.param.u64 %rd1, [pointer];
//!         ld.global.f32 %f1, [%rd1+-4];
//!         ret;
//!     }";
//! let module = parse(source)?;
//! let kernel = module.function("load").expect("the kernel is there");
//! let load = kernel.instructions()[1];
//! let op = decode(load)?;
//! assert_eq!((op.opcode, op.ty(), op.modifiers.space()), (Opcode::Ld, ScalarType::F32, Some(Space::Global)));
//! let Operand::Address(address) = &load.operands[1] else { unreachable!() };
//! assert_eq!(address.offset, -4);
//!
//! // The printer writes canonical text; parsing it gives the same tree.
//! assert_eq!(parse(&module.to_string())?, module);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Symbols`] resolves names and calls, [`Symbols::reachable`] says what a kernel needs, [`walk`] visits statements, and
//! [`Module::lower_version`] makes a text acceptable to older drivers.

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
