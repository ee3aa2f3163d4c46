//! The words that can be modifiers, in groups of alternatives.

use crate::spelled::spelled;

spelled! {
    /// A rounding mode.
    pub enum Rounding {
        /// To nearest, ties to even.
        Rn = "rn",
        /// To nearest, ties away from zero.
        Rna = "rna",
        /// Towards zero.
        Rz = "rz",
        /// Towards minus infinity.
        Rm = "rm",
        /// Towards plus infinity.
        Rp = "rp",
        /// Stochastic.
        Rs = "rs",
        /// To an integer, to nearest, ties to even.
        Rni = "rni",
        /// To an integer, towards zero.
        Rzi = "rzi",
        /// To an integer, towards minus infinity.
        Rmi = "rmi",
        /// To an integer, towards plus infinity.
        Rpi = "rpi",
    }
}

spelled! {
    /// A comparison of `setp`, `set` and the video instructions.
    pub enum Compare {
        /// Equal; false if an operand is NaN.
        Eq = "eq",
        /// Not equal; false if an operand is NaN.
        Ne = "ne",
        /// Less; false if an operand is NaN.
        Lt = "lt",
        /// Less or equal; false if an operand is NaN.
        Le = "le",
        /// Greater; false if an operand is NaN.
        Gt = "gt",
        /// Greater or equal; false if an operand is NaN.
        Ge = "ge",
        /// Unsigned less.
        Lo = "lo",
        /// Unsigned less or equal.
        Ls = "ls",
        /// Unsigned greater.
        Hi = "hi",
        /// Unsigned greater or equal.
        Hs = "hs",
        /// Equal, or an operand is NaN.
        Equ = "equ",
        /// Not equal, or an operand is NaN.
        Neu = "neu",
        /// Less, or an operand is NaN.
        Ltu = "ltu",
        /// Less or equal, or an operand is NaN.
        Leu = "leu",
        /// Greater, or an operand is NaN.
        Gtu = "gtu",
        /// Greater or equal, or an operand is NaN.
        Geu = "geu",
        /// Neither operand is NaN.
        Num = "num",
        /// An operand is NaN.
        Nan = "nan",
    }
}

spelled! {
    /// How `setp` and `set` combine the comparison with a further predicate, and what `lop3` does with its predicate.
    pub enum BoolOp {
        /// And.
        And = "and",
        /// Or.
        Or = "or",
        /// Exclusive or.
        Xor = "xor",
    }
}

spelled! {
    /// The operation of `atom`, `red`, `redux`, `bar.red` and `sured`, and the second one of the video instructions.
    pub enum AtomOp {
        /// Sum.
        Add = "add",
        /// Exchange.
        Exch = "exch",
        /// Compare and swap.
        Cas = "cas",
        /// Minimum.
        Min = "min",
        /// Maximum.
        Max = "max",
        /// Increment with wrap-around.
        Inc = "inc",
        /// Decrement with wrap-around.
        Dec = "dec",
        /// And.
        And = "and",
        /// Or.
        Or = "or",
        /// Exclusive or.
        Xor = "xor",
        /// Count of true predicates.
        Popc = "popc",
    }
}

spelled! {
    /// The threads among which an order or an atomic operation holds.
    pub enum Scope {
        /// The block.
        Cta = "cta",
        /// The cluster.
        Cluster = "cluster",
        /// The device (`membar.gl` is this one too).
        Gpu = "gpu",
        /// The system.
        Sys = "sys",
    }
}

spelled! {
    /// Memory ordering of loads, stores, atomics and fences.
    pub enum Ordering {
        /// Plain access.
        Weak = "weak",
        /// Relaxed.
        Relaxed = "relaxed",
        /// Acquire.
        Acquire = "acquire",
        /// Release.
        Release = "release",
        /// Acquire and release.
        AcqRel = "acq_rel",
        /// Sequentially consistent.
        Sc = "sc",
        /// `volatile`: relaxed among all, and never combined.
        Volatile = "volatile",
        /// Memory-mapped input and output.
        Mmio = "mmio",
    }
}

spelled! {
    /// Cache operator of loads and stores: a hint.
    pub enum CacheOp {
        /// Cache at all levels.
        Ca = "ca",
        /// Cache at the global level.
        Cg = "cg",
        /// Likely accessed once.
        Cs = "cs",
        /// Last use.
        Lu = "lu",
        /// Do not cache, fetch again.
        Cv = "cv",
        /// Write back.
        Wb = "wb",
        /// Write through.
        Wt = "wt",
    }
}

spelled! {
    /// How `shfl` chooses the source lane.
    pub enum ShflMode {
        /// Lane minus b.
        Up = "up",
        /// Lane plus b.
        Down = "down",
        /// Lane xor b.
        Bfly = "bfly",
        /// Lane b.
        Idx = "idx",
    }
}

spelled! {
    /// What `vote` and `match` ask.
    pub enum VoteMode {
        /// True for all.
        All = "all",
        /// True for any.
        Any = "any",
        /// The same for all.
        Uni = "uni",
        /// The predicates as a mask.
        Ballot = "ballot",
    }
}

spelled! {
    /// Which part of an integer product is kept.
    pub enum Part {
        /// The low half.
        Lo = "lo",
        /// The high half.
        Hi = "hi",
        /// All, in twice the width.
        Wide = "wide",
    }
}

spelled! {
    /// Shape of a texture or surface.
    pub enum Geometry {
        /// One dimension.
        D1 = "1d",
        /// Two dimensions.
        D2 = "2d",
        /// Three dimensions.
        D3 = "3d",
        /// Array of one-dimensional layers.
        A1d = "a1d",
        /// Array of two-dimensional layers.
        A2d = "a2d",
        /// Cube map.
        Cube = "cube",
        /// Array of cube maps.
        Acube = "acube",
        /// Two dimensions, multi-sampled.
        Ms2d = "2dms",
        /// Array of multi-sampled layers.
        MsA2d = "a2dms",
        /// Four dimensions (tensors).
        D4 = "4d",
        /// Five dimensions (tensors).
        D5 = "5d",
    }
}

spelled! {
    /// How a texture read chooses the level of detail.
    pub enum Mipmap {
        /// The base level.
        Base = "base",
        /// Given.
        Level = "level",
        /// From given gradients.
        Grad = "grad",
    }
}

spelled! {
    /// The component that `tld4` gathers.
    pub enum Component {
        /// Red.
        R = "r",
        /// Green.
        G = "g",
        /// Blue.
        B = "b",
        /// Alpha.
        A = "a",
    }
}

spelled! {
    /// Whether surface access is by bytes or by formatted elements.
    pub enum SurfaceFormat {
        /// Unformatted.
        B = "b",
        /// Formatted.
        P = "p",
    }
}

spelled! {
    /// What happens outside: of surfaces (`trap`, `clamp`, `zero`), or with large shift counts and widths (`clamp`, `wrap`).
    pub enum Bounds {
        /// A fault.
        Trap = "trap",
        /// The nearest value inside.
        Clamp = "clamp",
        /// Reads zero, writes nothing.
        Zero = "zero",
        /// Modulo.
        Wrap = "wrap",
    }
}

spelled! {
    /// Direction of a funnel shift.
    pub enum Direction {
        /// Left.
        L = "l",
        /// Right.
        R = "r",
    }
}

spelled! {
    /// Special modes of `prmt`.
    pub enum PrmtMode {
        /// Four bytes forward.
        F4e = "f4e",
        /// Four bytes backward.
        B4e = "b4e",
        /// Replicate a byte.
        Rc8 = "rc8",
        /// Edge clamp left.
        Ecl = "ecl",
        /// Edge clamp right.
        Ecr = "ecr",
        /// Replicate a half.
        Rc16 = "rc16",
    }
}

spelled! {
    /// What `testp` tests.
    pub enum TestpMode {
        /// Neither infinite nor NaN.
        Finite = "finite",
        /// Infinite.
        Infinite = "infinite",
        /// Not NaN.
        Number = "number",
        /// NaN.
        NotANumber = "notanumber",
        /// Neither zero, subnormal, infinite nor NaN.
        Normal = "normal",
        /// Subnormal.
        Subnormal = "subnormal",
    }
}

spelled! {
    /// What `txq` and `suq` ask for.
    pub enum Query {
        /// Width.
        Width = "width",
        /// Height.
        Height = "height",
        /// Depth.
        Depth = "depth",
        /// Type of the channels.
        ChannelDataType = "channel_data_type",
        /// Order of the channels.
        ChannelOrder = "channel_order",
        /// Whether coordinates are normalised.
        NormalizedCoords = "normalized_coords",
        /// Whether bounds are forced by the format.
        ForceUnnormalizedCoords = "force_unnormalized_coords",
        /// Filter mode.
        FilterMode = "filter_mode",
        /// Address mode of the first coordinate.
        AddrMode0 = "addr_mode_0",
        /// Address mode of the second coordinate.
        AddrMode1 = "addr_mode_1",
        /// Address mode of the third coordinate.
        AddrMode2 = "addr_mode_2",
        /// Layers of an array.
        ArraySize = "array_size",
        /// Levels of detail.
        NumMipmapLevels = "num_mipmap_levels",
        /// Samples per pixel.
        NumSamples = "num_samples",
        /// Layout of the memory.
        MemoryLayout = "memory_layout",
    }
}

spelled! {
    /// Which of several instructions that share a base opcode this is.
    pub enum Action {
        /// `bar.sync`, `barrier.sync`.
        Sync = "sync",
        /// `bar.arrive`, `barrier.cluster.arrive`, `mbarrier.arrive`.
        Arrive = "arrive",
        /// `bar.red`, `cp.reduce`, `multimem.red`.
        Red = "red",
        /// `barrier.cluster.wait`.
        Wait = "wait",
        /// `mbarrier.init`.
        Init = "init",
        /// `mbarrier.inval`.
        Inval = "inval",
        /// `mbarrier.arrive_drop`.
        ArriveDrop = "arrive_drop",
        /// `mbarrier.test_wait`.
        TestWait = "test_wait",
        /// `mbarrier.try_wait`.
        TryWait = "try_wait",
        /// `mbarrier.pending_count`.
        PendingCount = "pending_count",
        /// `mbarrier.expect_tx`.
        ExpectTx = "expect_tx",
        /// `mbarrier.complete_tx`.
        CompleteTx = "complete_tx",
        /// `cp.async.commit_group`.
        CommitGroup = "commit_group",
        /// `cp.async.wait_group`.
        WaitGroup = "wait_group",
        /// `cp.async.wait_all`.
        WaitAll = "wait_all",
        /// `cp.async.mbarrier.arrive` has this and [`Action::Arrive`] folded into it.
        Mbarrier = "mbarrier",
        /// `wmma.load`.
        Load = "load",
        /// `wmma.store`.
        Store = "store",
        /// `wmma.mma`.
        Mma = "mma",
        /// `griddepcontrol.launch_dependents`.
        LaunchDependents = "launch_dependents",
        /// `fence.mbarrier_init`.
        MbarrierInit = "mbarrier_init",
        /// `fence.proxy`.
        Proxy = "proxy",
    }
}

spelled! {
    /// The matrix that `wmma.load` and `wmma.store` move.
    pub enum Fragment {
        /// First factor.
        A = "a",
        /// Second factor.
        B = "b",
        /// Accumulator.
        C = "c",
        /// Result.
        D = "d",
    }
}

spelled! {
    /// Layout of a matrix.
    pub enum Layout {
        /// By rows.
        Row = "row",
        /// By columns.
        Col = "col",
    }
}

spelled! {
    /// How many matrices `ldmatrix` and `stmatrix` move.
    pub enum MatrixCount {
        /// One.
        X1 = "x1",
        /// Two.
        X2 = "x2",
        /// Four.
        X4 = "x4",
    }
}

spelled! {
    /// A level of the cache.
    pub enum CacheLevel {
        /// Of the multiprocessor.
        L1 = "L1",
        /// Of the device.
        L2 = "L2",
    }
}

/// Shape of a matrix operation, as in `m16n8k8`; `k` is 0 for `m8n8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// Rows of the result.
    pub m: u16,
    /// Columns of the result.
    pub n: u16,
    /// Length of the products.
    pub k: u16,
}

impl MatrixShape {
    pub(super) fn from_spelling(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k').unwrap_or((rest, "0"));
        let number = |s: &str| {
            s.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| s.parse().ok())
                .flatten()
        };
        Some(MatrixShape {
            m: number(m)?,
            n: number(n)?,
            k: number(k)?,
        })
    }
}
