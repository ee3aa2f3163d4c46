//! What stands in a function body.

use super::{Call, Ident, Operand, Param, Span, Variable};
use crate::ScalarType;

/// One statement of a body. Empty statements (a lone `;`) are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement<'a> {
    /// `name:`. Need not be followed by an instruction.
    Label(Ident<'a>),
    /// `.reg`.
    Register(RegisterDecl<'a>),
    /// A `.local`, `.shared`, `.param`, `.global` or `.const` declaration; one statement for each declared name.
    Variable(Box<Variable<'a>>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `.loc`: the source line of what follows.
    Loc(Loc<'a>),
    /// `.pragma`: the texts between the quotes, escapes left as they are.
    Pragma(Vec<&'a str>),
    /// `{ ... }`: a scope of its own for registers, variables and labels.
    Block(Vec<Statement<'a>>),
    /// `label: .branchtargets ...`.
    BranchTargets(BranchTargets<'a>),
    /// `label: .callprototype ...`.
    CallPrototype(Box<CallPrototype<'a>>),
    /// `label: .calltargets ...`.
    CallTargets(CallTargets<'a>),
}

/// `.reg .b32 %r<4>, x;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterDecl<'a> {
    /// The declared type: only its width and whether it is a predicate mean anything.
    pub ty: ScalarType,
    /// Elements of a vector register (`.v2`, `.v4`), otherwise 1.
    pub vector: u8,
    /// What is declared.
    pub names: Vec<RegisterName<'a>>,
    /// The whole declaration.
    pub span: Span,
}

/// One declared register or a numbered family of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterName<'a> {
    /// The name, or the stem of a family.
    pub name: Ident<'a>,
    /// `Some(n)` for `name<n>`, which declares `name0` to `name(n-1)`.
    pub count: Option<u32>,
}

/// The predicate before an instruction: `@p`, `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard<'a> {
    /// Whether the instruction runs when the predicate is false.
    pub negated: bool,
    /// The predicate register.
    pub register: Ident<'a>,
}

/// An instruction, not yet decoded: see [`crate::decode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// The guard predicate.
    pub guard: Option<Guard<'a>>,
    /// The full spelling, such as `ld.global.nc.v4.f32`.
    pub opcode: Ident<'a>,
    /// The operands in the order written, destination first.
    pub operands: Vec<Operand<'a>>,
    /// From the guard to the semicolon.
    pub span: Span,
}

impl<'a> Instruction<'a> {
    /// The opcode without modifiers: `ld` of `ld.global.f32`.
    #[must_use]
    pub fn base(&self) -> &'a str {
        self.opcode
            .text
            .split_once('.')
            .map_or(self.opcode.text, |(base, _)| base)
    }

    /// The parts of a `call`; `None` for other instructions and for operands that no call has.
    #[must_use]
    pub fn call(&self) -> Option<Call<'_, 'a>> {
        if self.base() != "call" {
            return None;
        }
        let (returns, rest) = match self.operands.as_slice() {
            [Operand::List(returns), rest @ ..] => (returns.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let (target, arguments, prototype) = match rest {
            [Operand::Name(target)] => (target, &[][..], None),
            [Operand::Name(target), Operand::List(arguments)] => {
                (target, arguments.as_slice(), None)
            }
            [
                Operand::Name(target),
                Operand::List(arguments),
                Operand::Name(prototype),
            ] => (target, arguments.as_slice(), Some(*prototype)),
            [Operand::Name(target), Operand::Name(prototype)] => {
                (target, &[][..], Some(*prototype))
            }
            _ => return None,
        };
        Some(Call {
            returns,
            target: *target,
            arguments,
            prototype,
        })
    }
}

/// `.loc file line column`: the source position of the instructions that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc<'a> {
    /// Number of a `.file`; see [`super::Module::file`].
    pub file: u32,
    /// Line, from 1; 0 if the compiler did not know.
    pub line: u32,
    /// Column, from 1; 0 if the compiler did not know.
    pub column: u32,
    /// Where the code was inlined, if it was.
    pub inlined: Option<Inlined<'a>>,
}

/// `function_name label, inlined_at file line column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined<'a> {
    /// Label in `.debug_str` at which the function's name stands.
    pub function: Ident<'a>,
    /// Bytes added to that label.
    pub offset: i64,
    /// File of the call.
    pub file: u32,
    /// Line of the call.
    pub line: u32,
    /// Column of the call.
    pub column: u32,
}

/// `label: .branchtargets a, b;`, the table of a `brx.idx`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTargets<'a> {
    /// The name by which the branch refers to it.
    pub label: Ident<'a>,
    /// The labels, by index.
    pub targets: Vec<Ident<'a>>,
}

/// `label: .callprototype (returns) _ (params);`, the signature of an indirect call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPrototype<'a> {
    /// The name by which the call refers to it.
    pub label: Ident<'a>,
    /// Return values.
    pub returns: Vec<Param<'a>>,
    /// Parameters.
    pub params: Vec<Param<'a>>,
    /// Whether the callee never returns.
    pub noreturn: bool,
}

/// `label: .calltargets f, g;`, the functions that an indirect call may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTargets<'a> {
    /// The name by which the call refers to it.
    pub label: Ident<'a>,
    /// The functions.
    pub targets: Vec<Ident<'a>>,
}
