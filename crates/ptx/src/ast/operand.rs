//! Operands of instructions.

use super::Span;

/// A name, or an opcode with its modifiers.
///
/// Identifiers are not reserved in PTX: functions may be called `min` and registers `p`. Names that start with `%` keep it.
/// A component or lane selector (`%tid.x`, `v.y`, `%r1.b0`) is part of the name; see [`Ident::split_component`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ident<'a> {
    /// The text.
    pub text: &'a str,
    /// Where it stands.
    pub span: Span,
}

impl<'a> Ident<'a> {
    /// A name that stands nowhere, for trees made by hand.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Ident {
            text,
            span: Span::default(),
        }
    }

    /// The name and what follows its last dot: `("%tid", Some("x"))` of `%tid.x`.
    #[must_use]
    pub fn split_component(&self) -> (&'a str, Option<&'a str>) {
        match self.text.rsplit_once('.') {
            Some((name, component)) => (name, Some(component)),
            None => (self.text, None),
        }
    }
}

impl std::fmt::Debug for Ident<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{:?}", self.text, self.span)
    }
}

impl std::fmt::Display for Ident<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text)
    }
}

/// A constant (PTX ISA, section 4.5). Floating-point values are kept as bits, so that NaNs survive and trees can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// An integer between -2^63 and 2^64 - 1, as written: negative values also occur where an unsigned type is asked for. `WARP_SZ` is 32.
    Int(i128),
    /// `0f3F800000`: the bits of an `f32`.
    F32(u32),
    /// `0d3FF0000000000000`: the bits of an `f64`; decimal floats are this too and are to be rounded to the type of the instruction.
    F64(u64),
}

impl Immediate {
    /// The low 64 bits of an integer; `None` for floats.
    #[must_use]
    pub fn as_bits(self) -> Option<u64> {
        match self {
            Immediate::Int(value) => Some(value as u64),
            Immediate::F32(_) | Immediate::F64(_) => None,
        }
    }
}

/// An address `[base+offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address<'a> {
    /// A register, or the name of a variable or parameter; `None` for the absolute address `[offset]`.
    pub base: Option<Ident<'a>>,
    /// Bytes added to the base.
    pub offset: i64,
}

/// The operand of texture, surface and tensor-copy instructions: `[object, {x, y}]` or `[texture, sampler, {x, y}]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TextureAddress<'a> {
    /// Register with the handle, or name of a reference.
    pub object: Ident<'a>,
    /// The sampler, where texture and sampler are apart.
    pub sampler: Option<Ident<'a>>,
    /// The coordinates, as written (3D and array forms are padded by repeating the last one).
    pub coordinates: Vec<Operand<'a>>,
}

/// One operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand<'a> {
    /// A register, special register (`%tid.x`), variable, parameter, function or label.
    Name(Ident<'a>),
    /// A constant.
    Immediate(Immediate),
    /// `name+4`: the address of a variable plus a number of bytes.
    Offset(Ident<'a>, i64),
    /// `[%rd1+4]`, `[name]`.
    Address(Address<'a>),
    /// `[%rd1, {%f1, %f2}]`.
    Texture(Box<TextureAddress<'a>>),
    /// `{a, b}`; one element is possible (surfaces).
    Vector(Vec<Operand<'a>>),
    /// `d|p`: a destination and a predicate destination. The first is a vector for sparse texture reads, either may be a [`Operand::Sink`].
    Pair(Box<(Operand<'a>, Operand<'a>)>),
    /// `!%p`.
    Not(Ident<'a>),
    /// `-%r1` (video instructions).
    Neg(Ident<'a>),
    /// `_`: a destination that nobody reads.
    Sink,
    /// `(a, b)`: returns and arguments of calls; see [`super::Instruction::call`].
    List(Vec<Operand<'a>>),
}

impl<'a> Operand<'a> {
    /// The name, if this is a plain [`Operand::Name`].
    #[must_use]
    pub fn name(&self) -> Option<Ident<'a>> {
        match self {
            Operand::Name(name) => Some(*name),
            _ => None,
        }
    }

    /// The constant, if this is one.
    #[must_use]
    pub fn immediate(&self) -> Option<Immediate> {
        match self {
            Operand::Immediate(value) => Some(*value),
            _ => None,
        }
    }

    /// The address, if this is a plain one.
    #[must_use]
    pub fn address(&self) -> Option<Address<'a>> {
        match self {
            Operand::Address(address) => Some(*address),
            _ => None,
        }
    }

    /// The elements of a vector, or the operand itself as the only element.
    #[must_use]
    pub fn elements(&self) -> &[Operand<'a>] {
        match self {
            Operand::Vector(elements) => elements,
            other => std::slice::from_ref(other),
        }
    }
}

/// The parts of a `call`, borrowed from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'i, 'a> {
    /// Where results go: names of `.param` variables or registers.
    pub returns: &'i [Operand<'a>],
    /// The function, or for an indirect call the register with its address.
    pub target: Ident<'a>,
    /// What is passed.
    pub arguments: &'i [Operand<'a>],
    /// For indirect calls the label of the `.callprototype` or `.calltargets`.
    pub prototype: Option<Ident<'a>>,
}
