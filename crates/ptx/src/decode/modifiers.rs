//! What the dotted words of an opcode say, as a set: the order in which they were written is not kept.

use super::words::{
    Action, AtomOp, BoolOp, Bounds, CacheLevel, CacheOp, Compare, Component, Direction, Fragment,
    Geometry, Layout, MatrixCount, MatrixShape, Mipmap, Ordering, Part, PrmtMode, Query, Rounding,
    Scope, ShflMode, SurfaceFormat, TestpMode, VoteMode,
};
use crate::Space;

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
