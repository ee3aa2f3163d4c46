//! Kernels and functions.

use super::variable::array_size;
use super::{Ident, Linkage, Span, Statement, Unified};
use crate::{ScalarType, Space};

/// Whether a function is a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`: the host can launch it.
    Entry,
    /// `.func`: other functions can call it.
    Func,
}

/// A kernel or function, declared or defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Visibility to other modules.
    pub linkage: Linkage,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// The name.
    pub name: Ident<'a>,
    /// Return values of a `.func`.
    pub returns: Vec<Param<'a>>,
    /// Parameters.
    pub params: Vec<Param<'a>>,
    /// Performance-tuning and other directives of the head.
    pub attributes: Attributes<'a>,
    /// The body; `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// From the linkage to the end of the head.
    pub span: Span,
}

/// A parameter or return value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Whether it is passed in a register (`.reg`) instead of `.param` space.
    pub register: bool,
    /// The declared alignment in bytes; see [`Param::alignment`].
    pub align: Option<u32>,
    /// The element type.
    pub ty: ScalarType,
    /// `.ptr`: it is a pointer of which more is known.
    pub pointer: Option<Pointer>,
    /// The name, `_` in prototypes.
    pub name: Ident<'a>,
    /// Array dimensions, outermost first; empty for a scalar. `None` is `[]`.
    pub dimensions: Vec<Option<u64>>,
}

impl Param<'_> {
    /// Size in bytes, saturating; 0 for an array of open length.
    #[must_use]
    pub fn size(&self) -> u64 {
        array_size(self.ty, 1, &self.dimensions)
    }

    /// Alignment in bytes: the declared one, or the size of the type.
    #[must_use]
    pub fn alignment(&self) -> u32 {
        self.align.unwrap_or(self.ty.size())
    }
}

/// `.ptr .space .align n` of a kernel parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The space pointed into; generic if not said.
    pub space: Option<Space>,
    /// The alignment of what is pointed to, in bytes.
    pub align: Option<u32>,
}

/// The directives between the parameters and the body of a function (PTX ISA, section 11.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// `.maxntid`: most threads of a block, by dimension; missing dimensions are 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the only block shape it may be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`: blocks that must fit on a multiprocessor.
    pub min_blocks_per_sm: Option<u32>,
    /// `.maxnctapersm` (deprecated).
    pub max_blocks_per_sm: Option<u32>,
    /// `.maxnreg`: most registers a thread may use.
    pub max_registers: Option<u32>,
    /// `.noreturn`.
    pub noreturn: bool,
    /// `.explicitcluster`: must be launched with a cluster shape.
    pub explicit_cluster: bool,
    /// `.reqnctapercluster`: the only cluster shape; zeros if it was written without numbers.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: most blocks of a cluster.
    pub max_cluster_rank: Option<u32>,
    /// `.blocksareclusters`: the grid of a launch counts clusters.
    pub blocks_are_clusters: bool,
    /// `.attribute(.unified(a, b))`.
    pub unified: Option<Unified>,
    /// `.abi_preserve n`.
    pub abi_preserve: Option<u32>,
    /// `.abi_preserve_control n`.
    pub abi_preserve_control: Option<u32>,
    /// `.pragma` texts of the head.
    pub pragmas: Vec<&'a str>,
}
