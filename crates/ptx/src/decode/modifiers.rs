//! What the dotted words of an opcode say, as a set: the order in which they were written is not kept.

use crate::Space;
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

bitflags::bitflags! {
    /// Modifiers that are there or not.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u64 {
        /// `.ftz`: subnormal operands and results are flushed to signed zero.
        const FTZ = 1 << 0;
        /// `.sat`: the result is clamped, to \[0, 1\] for floats, to the range of the type for integers.
        const SAT = 1 << 1;
        /// `.satfinite`: what is too large becomes the largest finite value.
        const SATFINITE = 1 << 2;
        /// `.relu`: negative results become zero.
        const RELU = 1 << 3;
        /// `.noftz`: subnormals are kept.
        const NOFTZ = 1 << 4;
        /// `.approx`: an approximation within the ISA's bound.
        const APPROX = 1 << 5;
        /// `.full`: full-range approximation.
        const FULL = 1 << 6;
        /// `.NaN`: NaN if an operand is NaN.
        const NAN = 1 << 7;
        /// `.xorsign`: the sign of the result is the exclusive or of the operands' signs.
        const XORSIGN = 1 << 8;
        /// `.abs`: absolute values are compared.
        const ABS = 1 << 9;
        /// `.cc`: the carry flag is written.
        const CC = 1 << 10;
        /// `.sync`: all named threads take part.
        const SYNC = 1 << 11;
        /// `.aligned`: all threads of the warp execute the same instruction.
        const ALIGNED = 1 << 12;
        /// `.uni`: all threads of the warp go the same way.
        const UNI = 1 << 13;
        /// `.nc`: read-only data, through the texture cache.
        const NC = 1 << 14;
        /// `.to`: from generic to the space (`cvta`).
        const TO = 1 << 15;
        /// `.shiftamt`: the shift count instead of the position (`bfind`).
        const SHIFTAMT = 1 << 16;
        /// `.pack` (`cvt`).
        const PACK = 1 << 17;
        /// `.warp` (`bar.warp.sync`).
        const WARP = 1 << 18;
        /// `.cluster` (`barrier.cluster`).
        const CLUSTER = 1 << 19;
        /// `.async`.
        const ASYNC = 1 << 20;
        /// `.bulk`.
        const BULK = 1 << 21;
        /// `.noinc` (`cp.async.mbarrier.arrive`).
        const NOINC = 1 << 22;
        /// `.noComplete` (`mbarrier`).
        const NO_COMPLETE = 1 << 23;
        /// `.parity` (`mbarrier`).
        const PARITY = 1 << 24;
        /// `.expect_tx` beside another action (`mbarrier.arrive.expect_tx`).
        const EXPECT_TX = 1 << 25;
        /// `.trans`: transposed.
        const TRANS = 1 << 26;
        /// `.unified`: generic address of a unified texture (`.tex` cache behaviour of `ld`).
        const UNIFIED = 1 << 27;
        /// A hint about caching was given (`L1::…`, `L2::…`, `level::…`).
        const CACHE_HINT = 1 << 28;
        /// `.idx` (`brx.idx`).
        const IDX = 1 << 29;
        /// `.po`: plus one (`vmad`).
        const PO = 1 << 30;
        /// `.shr7` or `.shr15` (`vmad`).
        const SHR = 1 << 31;
        /// A proxy or completion mechanism was named (`mbarrier::complete_tx::bytes`, `proxy.alias`).
        const MECHANISM = 1 << 32;
    }
}

/// The modifiers of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    pub(super) flags: Flags,
    pub(super) rounding: Option<Rounding>,
    pub(super) spaces: [Option<Space>; 2],
    pub(super) compare: Option<Compare>,
    pub(super) bool_op: Option<BoolOp>,
    pub(super) atom_op: Option<AtomOp>,
    pub(super) scope: Option<Scope>,
    pub(super) ordering: Option<Ordering>,
    pub(super) cache_op: Option<CacheOp>,
    pub(super) shfl_mode: Option<ShflMode>,
    pub(super) vote_mode: Option<VoteMode>,
    pub(super) part: Option<Part>,
    pub(super) geometry: Option<Geometry>,
    pub(super) mipmap: Option<Mipmap>,
    pub(super) component: Option<Component>,
    pub(super) surface_format: Option<SurfaceFormat>,
    pub(super) bounds: Option<Bounds>,
    pub(super) direction: Option<Direction>,
    pub(super) prmt_mode: Option<PrmtMode>,
    pub(super) testp_mode: Option<TestpMode>,
    pub(super) query: Option<Query>,
    pub(super) action: Option<Action>,
    pub(super) fragment: Option<Fragment>,
    pub(super) layouts: [Option<Layout>; 2],
    pub(super) matrix_count: Option<MatrixCount>,
    pub(super) cache_level: Option<CacheLevel>,
    pub(super) shape: Option<MatrixShape>,
}

macro_rules! getters {
    ($( $(#[$meta:meta])* $name:ident: $ty:ty; )*) => {
        impl Modifiers {
            $( $(#[$meta])* #[must_use] pub const fn $name(&self) -> Option<$ty> { self.$name } )*
        }
    };
}

getters! {
    /// The rounding mode, if one is written.
    rounding: Rounding;
    /// The comparison of `setp`, `set`, `vset`.
    compare: Compare;
    /// The combination of `setp` and `set` with a further predicate.
    bool_op: BoolOp;
    /// The operation of atomics and reductions.
    atom_op: AtomOp;
    /// The scope of ordering.
    scope: Scope;
    /// The memory ordering; [`Ordering::Volatile`] for `.volatile`.
    ordering: Ordering;
    /// The cache operator.
    cache_op: CacheOp;
    /// The mode of `shfl`.
    shfl_mode: ShflMode;
    /// The mode of `vote` and `match`.
    vote_mode: VoteMode;
    /// Which part of a product is kept.
    part: Part;
    /// Shape of the texture or surface.
    geometry: Geometry;
    /// Level-of-detail mode.
    mipmap: Mipmap;
    /// The gathered component of `tld4`.
    component: Component;
    /// `b` or `p` of surface instructions.
    surface_format: SurfaceFormat;
    /// What happens out of bounds.
    bounds: Bounds;
    /// Direction of `shf`.
    direction: Direction;
    /// Special mode of `prmt`.
    prmt_mode: PrmtMode;
    /// The property that `testp` tests.
    testp_mode: TestpMode;
    /// What `txq` and `suq` ask for.
    query: Query;
    /// Which instruction of a family this is.
    action: Action;
    /// The matrix that `wmma` moves.
    fragment: Fragment;
    /// How many matrices are moved.
    matrix_count: MatrixCount;
    /// The level of a prefetch.
    cache_level: CacheLevel;
    /// Shape of a matrix operation.
    shape: MatrixShape;
}

impl Modifiers {
    /// Those modifiers that are there or not.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// The state space; of copies between two, the destination's. `None` is the generic space for instructions that take addresses.
    #[must_use]
    pub const fn space(&self) -> Option<Space> {
        self.spaces[0]
    }

    /// The source's state space of copies between two.
    #[must_use]
    pub const fn source_space(&self) -> Option<Space> {
        self.spaces[1]
    }

    /// The layouts of `mma` and `wmma`, in the order written.
    #[must_use]
    pub const fn layouts(&self) -> [Option<Layout>; 2] {
        self.layouts
    }

    /// `.ftz`.
    #[must_use]
    pub const fn ftz(&self) -> bool {
        self.flags.contains(Flags::FTZ)
    }

    /// `.sat`.
    #[must_use]
    pub const fn sat(&self) -> bool {
        self.flags.contains(Flags::SAT)
    }

    /// `.satfinite`.
    #[must_use]
    pub const fn satfinite(&self) -> bool {
        self.flags.contains(Flags::SATFINITE)
    }

    /// `.relu`.
    #[must_use]
    pub const fn relu(&self) -> bool {
        self.flags.contains(Flags::RELU)
    }

    /// `.approx`.
    #[must_use]
    pub const fn approx(&self) -> bool {
        self.flags.contains(Flags::APPROX)
    }

    /// `.full`.
    #[must_use]
    pub const fn full(&self) -> bool {
        self.flags.contains(Flags::FULL)
    }

    /// `.NaN`: propagate NaN.
    #[must_use]
    pub const fn nan(&self) -> bool {
        self.flags.contains(Flags::NAN)
    }

    /// `.cc`: write the carry flag.
    #[must_use]
    pub const fn cc(&self) -> bool {
        self.flags.contains(Flags::CC)
    }

    /// `.uni`.
    #[must_use]
    pub const fn uni(&self) -> bool {
        self.flags.contains(Flags::UNI)
    }

    /// `.sync`, as a modifier (`shfl.sync`) or as the action (`bar.sync`).
    #[must_use]
    pub const fn sync(&self) -> bool {
        self.flags.contains(Flags::SYNC) || matches!(self.action, Some(Action::Sync))
    }

    /// `.volatile`.
    #[must_use]
    pub const fn volatile(&self) -> bool {
        matches!(self.ordering, Some(Ordering::Volatile))
    }

    /// `.nc`.
    #[must_use]
    pub const fn nc(&self) -> bool {
        self.flags.contains(Flags::NC)
    }

    /// `.to` of `cvta`.
    #[must_use]
    pub const fn to(&self) -> bool {
        self.flags.contains(Flags::TO)
    }

    /// `.wide`.
    #[must_use]
    pub const fn wide(&self) -> bool {
        matches!(self.part, Some(Part::Wide))
    }

    /// `.lo` of a product.
    #[must_use]
    pub const fn lo(&self) -> bool {
        matches!(self.part, Some(Part::Lo))
    }

    /// `.hi` of a product.
    #[must_use]
    pub const fn hi(&self) -> bool {
        matches!(self.part, Some(Part::Hi))
    }
}
