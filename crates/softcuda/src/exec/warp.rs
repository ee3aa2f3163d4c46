//! Operations among the lanes of a warp (PTX ISA section "Parallel Synchronization and Communication Instructions").
//!
//! Lanes leave their operands in their exchange areas and stop; when every lane that the member mask names (and that has not exited) has
//! stopped at the same operation, all inputs are read before any result is written, so that loops of shuffles cannot overwrite each other.

use super::barrier::Operand32;
use super::context::exchange;

/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;

/// How `shfl` finds its source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    /// `.up`: from a lower lane.
    Up,
    /// `.down`: from a higher lane.
    Down,
    /// `.bfly`: from the lane whose number differs in the given bits.
    Butterfly,
    /// `.idx`: from the given lane of the segment.
    Index,
}

/// What `redux` computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReduceOp {
    /// Sum modulo 2^32.
    Add,
    /// Unsigned minimum.
    MinU,
    /// Unsigned maximum.
    MaxU,
    /// Signed minimum.
    MinS,
    /// Signed maximum.
    MaxS,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// The operation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WarpKind {
    /// `shfl`: value, lane, clamp and segment give value and in-range predicate.
    Shuffle(ShuffleMode),
    /// `vote.all`.
    All,
    /// `vote.any`.
    Any,
    /// `vote.uni`.
    Uniform,
    /// `vote.ballot`.
    Ballot,
    /// `match.any`.
    MatchAny,
    /// `match.all`.
    MatchAll,
    /// `redux`.
    Reduce(ReduceOp),
    /// `bar.warp.sync`.
    Sync,
    /// `activemask`.
    ActiveMask,
    /// `elect`: the lowest lane of the mask, and whether it is this one.
    Elect,
}

/// Which lanes take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    /// Those that the member mask names.
    Mask(Operand32),
    /// Those that are at the instruction now (`activemask`, forms without `.sync`).
    Active,
}

/// A warp instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WarpOp {
    pub(crate) kind: WarpKind,
    pub(crate) members: Members,
}

/// Frames of the lanes of one warp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    /// Frame of lane 0, whether it exists or not (only frames of lanes in a given mask are touched).
    frames: *mut u8,
    /// Bytes from one lane's frame to the next.
    stride: usize,
}

impl Lanes {
    /// Lanes of the warp whose lane 0 has its frame at `frames`.
    ///
    /// # Safety
    ///
    /// For every lane in a mask given to the methods, `frames + lane * stride` is an 8-aligned frame of at least
    /// [`exchange::BYTES`] bytes that nobody else accesses during the call.
    pub(crate) unsafe fn new(frames: *mut u8, stride: usize) -> Self {
        Self { frames, stride }
    }

    fn read32(&self, lane: u32, offset: u32) -> u32 {
        // SAFETY: by the contract of `new`, the lane's exchange area is there and aligned; `offset` is one of its u32 fields.
        unsafe {
            self.frames
                .wrapping_add(lane as usize * self.stride + offset as usize)
                .cast::<u32>()
                .read()
        }
    }

    fn read64(&self, lane: u32) -> u64 {
        // SAFETY: as in `read32`; VALUE is an 8-aligned u64 field.
        unsafe {
            self.frames
                .wrapping_add(lane as usize * self.stride + exchange::VALUE as usize)
                .cast::<u64>()
                .read()
        }
    }

    fn write(&self, lane: u32, result: u64, flag: bool) {
        let frame = self.frames.wrapping_add(lane as usize * self.stride);
        // SAFETY: by the contract of `new`, the lane's exchange area is there, aligned, and ours during the call.
        unsafe {
            frame
                .add(exchange::RESULT as usize)
                .cast::<u64>()
                .write(result);
            frame
                .add(exchange::FLAG as usize)
                .cast::<u32>()
                .write(u32::from(flag));
        }
    }

    /// The member mask that `lane` brought to `op`. A lane always takes part in its own operation.
    pub(crate) fn mask(&self, op: &WarpOp, lane: u32) -> Option<u32> {
        match op.members {
            Members::Mask(Operand32::Const(mask)) => Some(mask | 1 << lane),
            Members::Mask(Operand32::Slot) => Some(self.read32(lane, exchange::MASK) | 1 << lane),
            Members::Active => None,
        }
    }

    /// Whether `lane` is at a `bar.warp.sync` whose mask does not name it. That is undefined in PTX; here, as on hardware, such a lane
    /// waits for nobody, and nobody for it.
    pub(crate) fn passes(&self, op: &WarpOp, lane: u32) -> bool {
        let mask = match op.members {
            Members::Mask(Operand32::Const(mask)) => mask,
            Members::Mask(Operand32::Slot) => self.read32(lane, exchange::MASK),
            Members::Active => return false,
        };
        op.kind == WarpKind::Sync && mask >> lane & 1 == 0
    }

    /// Executes `op` for the lanes in `active`.
    pub(crate) fn execute(&self, op: WarpKind, active: u32) {
        match op {
            WarpKind::Sync => {}
            WarpKind::Shuffle(mode) => self.shuffle(mode, active),
            WarpKind::ActiveMask => self.broadcast(active, u64::from(active), false),
            WarpKind::All | WarpKind::Any | WarpKind::Uniform | WarpKind::Ballot => {
                let ballot = lanes(active)
                    .filter(|&lane| self.read64(lane) & 1 != 0)
                    .fold(0, |mask, lane| mask | 1 << lane);
                let result = match op {
                    WarpKind::All => u32::from(ballot == active),
                    WarpKind::Any => u32::from(ballot != 0),
                    WarpKind::Uniform => u32::from(ballot == active || ballot == 0),
                    _ => ballot,
                };
                self.broadcast(active, u64::from(result), result != 0);
            }
            WarpKind::MatchAny => {
                let mut values = [0; WARP as usize];
                for lane in lanes(active) {
                    values[lane as usize] = self.read64(lane);
                }
                for lane in lanes(active) {
                    let same = lanes(active)
                        .filter(|&other| values[other as usize] == values[lane as usize])
                        .fold(0u32, |mask, other| mask | 1 << other);
                    self.write(lane, u64::from(same), false);
                }
            }
            WarpKind::MatchAll => {
                let first = self.read64(active.trailing_zeros());
                let same = lanes(active).all(|lane| self.read64(lane) == first);
                self.broadcast(active, if same { u64::from(active) } else { 0 }, same);
            }
            WarpKind::Reduce(reduce) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "redux operands are 32 bits wide, in the low half of the value field"
                )]
                let value = |lane| self.read64(lane) as u32;
                let combine = |a: u32, b: u32| match reduce {
                    ReduceOp::Add => a.wrapping_add(b),
                    ReduceOp::MinU => a.min(b),
                    ReduceOp::MaxU => a.max(b),
                    ReduceOp::MinS => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
                    ReduceOp::MaxS => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
                    ReduceOp::And => a & b,
                    ReduceOp::Or => a | b,
                    ReduceOp::Xor => a ^ b,
                };
                let result = lanes(active).map(value).reduce(combine).unwrap_or(0);
                self.broadcast(active, u64::from(result), false);
            }
            WarpKind::Elect => {
                let leader = active.trailing_zeros();
                for lane in lanes(active) {
                    self.write(lane, u64::from(leader), lane == leader);
                }
            }
        }
    }

    fn broadcast(&self, active: u32, result: u64, flag: bool) {
        for_each(active, |lane| self.write(lane, result, flag));
    }

    /// `shfl` as the PTX ISA's pseudo-code has it. A source lane that does not take part is undefined there; here the lane gets its own value.
    fn shuffle(&self, mode: ShuffleMode, active: u32) {
        let mut values = [0; WARP as usize];
        for_each(active, |lane| {
            values[lane as usize & 31] = self.read64(lane);
        });
        for_each(active, |lane| {
            let b = self.read32(lane, exchange::SECOND) & 31;
            let c = self.read32(lane, exchange::THIRD);
            let segment = c >> 8 & 31;
            let max_lane = lane & segment | c & 31 & !segment;
            let (source, in_range) = match mode {
                ShuffleMode::Up => {
                    let source = lane.wrapping_sub(b);
                    (source, lane >= b && source >= max_lane)
                }
                ShuffleMode::Down => {
                    let source = lane.wrapping_add(b);
                    (source, source <= max_lane)
                }
                ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= max_lane),
                ShuffleMode::Index => {
                    let source = lane & segment | b & !segment;
                    (source, source <= max_lane)
                }
            };
            let takes = in_range && active >> (source & 31) & 1 != 0;
            let source = if takes { source } else { lane };
            self.write(lane, values[source as usize & 31], in_range);
        });
    }
}

/// Calls `f` with each lane in `mask`; the full warp, by far the most frequent, is a plain loop.
fn for_each(mask: u32, mut f: impl FnMut(u32)) {
    if mask == u32::MAX {
        for lane in 0..WARP {
            f(lane);
        }
    } else {
        for lane in lanes(mask) {
            f(lane);
        }
    }
}

/// The lanes in `mask`, lowest first.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros();
            mask &= mask - 1;
            lane
        })
    })
}
