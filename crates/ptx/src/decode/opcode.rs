//! The base opcodes.

crate::spelled::spelled! {
    /// The base of an instruction: what stands before the first dot of its opcode (PTX ISA, section 9.7).
    pub enum Opcode {
        /// Absolute value.
        Abs = "abs",
        /// Mask of the active threads of the warp.
        Activemask = "activemask",
        /// Addition.
        Add = "add",
        /// Addition with carry-in.
        Addc = "addc",
        /// Allocation on the stack.
        Alloca = "alloca",
        /// Bitwise and.
        And = "and",
        /// Atomic read-modify-write.
        Atom = "atom",
        /// Block or warp barrier.
        Bar = "bar",
        /// Block or cluster barrier.
        Barrier = "barrier",
        /// Bit-field extract.
        Bfe = "bfe",
        /// Bit-field insert.
        Bfi = "bfi",
        /// Position of the most significant non-sign bit.
        Bfind = "bfind",
        /// Bit mask.
        Bmsk = "bmsk",
        /// Branch.
        Bra = "bra",
        /// Bit reversal.
        Brev = "brev",
        /// Break point.
        Brkpt = "brkpt",
        /// Indexed branch.
        Brx = "brx",
        /// Function call.
        Call = "call",
        /// Count of leading zeros.
        Clz = "clz",
        /// Copy of the sign.
        Copysign = "copysign",
        /// Cosine.
        Cos = "cos",
        /// Asynchronous copies.
        Cp = "cp",
        /// Conversion.
        Cvt = "cvt",
        /// Conversion of an address between its space and the generic one.
        Cvta = "cvta",
        /// Division.
        Div = "div",
        /// Two-way dot product of 16 by 8 bits.
        Dp2a = "dp2a",
        /// Four-way dot product of 8 by 8 bits.
        Dp4a = "dp4a",
        /// Election of one thread of the warp.
        Elect = "elect",
        /// Power of two.
        Ex2 = "ex2",
        /// Ends the thread.
        Exit = "exit",
        /// Memory fence.
        Fence = "fence",
        /// Fused multiply-add.
        Fma = "fma",
        /// Find the n-th set bit.
        Fns = "fns",
        /// Rank in the cluster of the block that owns a shared address.
        Getctarank = "getctarank",
        /// Dependent-grid control.
        Griddepcontrol = "griddepcontrol",
        /// Whether a generic address is in a space.
        Isspacep = "isspacep",
        /// Whether a texture is of a kind.
        Istypep = "istypep",
        /// Load.
        Ld = "ld",
        /// Load of matrices from shared memory.
        Ldmatrix = "ldmatrix",
        /// Load through the uniform cache.
        Ldu = "ldu",
        /// Binary logarithm.
        Lg2 = "lg2",
        /// Arbitrary three-input logic.
        Lop3 = "lop3",
        /// Multiply-add.
        Mad = "mad",
        /// Multiply-add of 24 bits.
        Mad24 = "mad24",
        /// Multiply-add with carry-in.
        Madc = "madc",
        /// Address in another block of the cluster.
        Mapa = "mapa",
        /// Comparison across the warp.
        Match = "match",
        /// Maximum.
        Max = "max",
        /// Barrier objects in memory.
        Mbarrier = "mbarrier",
        /// Memory barrier.
        Membar = "membar",
        /// Minimum.
        Min = "min",
        /// Matrix multiply-accumulate.
        Mma = "mma",
        /// Move.
        Mov = "mov",
        /// Transposition of a matrix in registers.
        Movmatrix = "movmatrix",
        /// Multiplication.
        Mul = "mul",
        /// Multiplication of 24 bits.
        Mul24 = "mul24",
        /// Sleep.
        Nanosleep = "nanosleep",
        /// Negation.
        Neg = "neg",
        /// Bitwise complement.
        Not = "not",
        /// Bitwise or.
        Or = "or",
        /// Performance-monitor event.
        Pmevent = "pmevent",
        /// Count of set bits.
        Popc = "popc",
        /// Prefetch.
        Prefetch = "prefetch",
        /// Prefetch into the uniform cache.
        Prefetchu = "prefetchu",
        /// Byte permutation.
        Prmt = "prmt",
        /// Reciprocal.
        Rcp = "rcp",
        /// Atomic reduction without result.
        Red = "red",
        /// Reduction across the warp.
        Redux = "redux",
        /// Remainder.
        Rem = "rem",
        /// Return.
        Ret = "ret",
        /// Reciprocal square root.
        Rsqrt = "rsqrt",
        /// Sum of absolute differences.
        Sad = "sad",
        /// Selection by a predicate.
        Selp = "selp",
        /// Comparison with a value as result.
        Set = "set",
        /// Comparison with predicates as result.
        Setp = "setp",
        /// Funnel shift.
        Shf = "shf",
        /// Exchange across the warp.
        Shfl = "shfl",
        /// Left shift.
        Shl = "shl",
        /// Right shift.
        Shr = "shr",
        /// Sine.
        Sin = "sin",
        /// Selection by a sign.
        Slct = "slct",
        /// Square root.
        Sqrt = "sqrt",
        /// Store.
        St = "st",
        /// Restores the stack pointer.
        Stackrestore = "stackrestore",
        /// Saves the stack pointer.
        Stacksave = "stacksave",
        /// Store of matrices to shared memory.
        Stmatrix = "stmatrix",
        /// Subtraction.
        Sub = "sub",
        /// Subtraction with borrow-in.
        Subc = "subc",
        /// Surface load.
        Suld = "suld",
        /// Surface query.
        Suq = "suq",
        /// Surface reduction.
        Sured = "sured",
        /// Surface store.
        Sust = "sust",
        /// Sign or zero extension.
        Szext = "szext",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Test of a floating-point property.
        Testp = "testp",
        /// Texture read.
        Tex = "tex",
        /// Texture gather.
        Tld4 = "tld4",
        /// Ends the launch with an error.
        Trap = "trap",
        /// Texture query.
        Txq = "txq",
        /// Video: absolute difference.
        Vabsdiff = "vabsdiff",
        /// Video: absolute differences of halves.
        Vabsdiff2 = "vabsdiff2",
        /// Video: absolute differences of bytes.
        Vabsdiff4 = "vabsdiff4",
        /// Video: addition.
        Vadd = "vadd",
        /// Video: addition of halves.
        Vadd2 = "vadd2",
        /// Video: addition of bytes.
        Vadd4 = "vadd4",
        /// Video: average of halves.
        Vavrg2 = "vavrg2",
        /// Video: average of bytes.
        Vavrg4 = "vavrg4",
        /// Video: multiply-add.
        Vmad = "vmad",
        /// Video: maximum.
        Vmax = "vmax",
        /// Video: maximum of halves.
        Vmax2 = "vmax2",
        /// Video: maximum of bytes.
        Vmax4 = "vmax4",
        /// Video: minimum.
        Vmin = "vmin",
        /// Video: minimum of halves.
        Vmin2 = "vmin2",
        /// Video: minimum of bytes.
        Vmin4 = "vmin4",
        /// Vote across the warp.
        Vote = "vote",
        /// Video: comparison.
        Vset = "vset",
        /// Video: comparison of halves.
        Vset2 = "vset2",
        /// Video: comparison of bytes.
        Vset4 = "vset4",
        /// Video: left shift.
        Vshl = "vshl",
        /// Video: right shift.
        Vshr = "vshr",
        /// Video: subtraction.
        Vsub = "vsub",
        /// Video: subtraction of halves.
        Vsub2 = "vsub2",
        /// Video: subtraction of bytes.
        Vsub4 = "vsub4",
        /// Warp matrices.
        Wmma = "wmma",
        /// Bitwise exclusive or.
        Xor = "xor",
    }
}
