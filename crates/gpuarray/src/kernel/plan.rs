//! How a kernel walks its operands: one linear index where the layouts allow it, coordinates otherwise.
//!
//! A plan looks at the layouts of all operands together: axes that lie behind one another in every operand become one, and what remains decides
//! between the *linear* walk (vectorised where addresses are aligned) and the *strided* walk (coordinates by division). Only the kind of walk is
//! part of a kernel's structure; lengths and strides are arguments.

use smallvec::SmallVec;

use crate::element::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::{Shape, Strides, broadcast_strides, count, row_major_strides};

/// An operand as the plan sees it: an output, a view or a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'p> {
    pub(crate) dtype: DType,
    pub(crate) shape: &'p [usize],
    pub(crate) strides: &'p [isize],
    /// The device address of the first element in memory; 0 for a leaf, which has no address and needs no alignment.
    pub(crate) address: u64,
}

/// How a kernel finds an operand's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Access {
    /// At the linear index, with vector loads and stores.
    Vector = 1,
    /// At the linear index, one by one.
    Linear,
    /// One element for all positions.
    Uniform,
    /// At the sum of coordinates times strides.
    Strided,
    /// The element of the output at this position: the operand *is* the output.
    Output,
}

/// What of a walk is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Walk {
    /// Elements that a thread takes at once; 1 in the strided walk.
    pub(crate) vector: u8,
    /// Coordinates of the strided walk; 0 for the linear one.
    pub(crate) rank: u16,
    /// Whether indices need 64 bits.
    pub(crate) wide: bool,
    /// One for each operand: outputs, views, leaves.
    pub(crate) access: SmallVec<[Access; 8]>,
}

/// A walk with its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) walk: Walk,
    /// Positions.
    pub(crate) count: usize,
    /// Lengths of the coordinates, outermost first; empty for the linear walk.
    pub(crate) sizes: SmallVec<[usize; 4]>,
    /// Strides of each operand with [`Access::Strided`], in order.
    pub(crate) strides: SmallVec<[Strides; 4]>,
}

/// How far the first element (in logical order) lies behind the first in memory: negative strides walk towards the start.
fn base(sizes: &[usize], strides: &[isize]) -> i64 {
    sizes.iter().zip(strides).filter(|&(_, &stride)| stride < 0).map(|(&size, &stride)| (size as i64 - 1) * -(stride as i64)).sum()
}

/// The most bytes of a kernel's parameters, on every device.
pub(crate) const MAX_PARAMETER_BYTES: usize = 4096;

/// The size of a vector load, in bytes.
const VECTOR_BYTES: usize = 16;

impl Plan {
    /// Plans a walk over `shape`. `operands` starts with `outputs` outputs; the rest broadcast to `shape`. `same_as_output` tells for each
    /// operand whether it is the (first) output itself, element for element.
    pub(crate) fn new(shape: &[usize], operands: &[Operand<'_>], outputs: usize, same_as_output: impl Fn(usize) -> bool) -> Result<Self> {
        let total = count(shape);
        let is_row_major = |operand: &Operand<'_>| operand.shape == shape && operand.strides == &row_major_strides(shape)[..];
        let mut access: SmallVec<[Access; 8]> = SmallVec::new();
        // The common case costs no collapsing: everything contiguous, of one shape, or a single element.
        for operand in operands {
            if is_row_major(operand) {
                access.push(Access::Linear);
            } else if count(operand.shape) == 1 && total != 1 {
                access.push(Access::Uniform);
            } else {
                break;
            }
        }
        let mut plan = if access.len() == operands.len() {
            let walk = Walk { vector: 1, rank: 0, wide: true, access };
            Self { walk, count: total, sizes: SmallVec::new(), strides: SmallVec::new() }
        } else {
            Self::collapsed(shape, operands, outputs)?
        };
        for (at, access) in plan.walk.access.iter_mut().enumerate().skip(outputs) {
            if same_as_output(at) {
                *access = Access::Output;
            }
        }
        plan.drop_unused_strides(operands.len());
        if plan.walk.rank == 0 {
            plan.vectorise(operands, outputs);
        }
        Ok(plan)
    }

    /// The general case.
    fn collapsed(shape: &[usize], operands: &[Operand<'_>], outputs: usize) -> Result<Self> {
        let seen: SmallVec<[Strides; 8]> = operands
            .iter()
            .map(|operand| broadcast_strides(operand.shape, operand.strides, shape).ok_or_else(|| Error::cannot_broadcast(operand.shape, shape)))
            .collect::<Result<_>>()?;
        // Walk in the order of memory of the output; without one, of the first operand. Ties (and zeros) keep the logical order.
        let mut axes: SmallVec<[usize; 4]> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
        if let Some(lead) = seen.get(..outputs.max(1)).and_then(<[_]>::first) {
            axes.sort_by_key(|&axis| std::cmp::Reverse(if lead[axis] == 0 { isize::MAX.unsigned_abs() } else { lead[axis].unsigned_abs() }));
        }
        // Innermost first while merging.
        let mut sizes: SmallVec<[usize; 4]> = SmallVec::new();
        let mut strides: SmallVec<[Strides; 8]> = seen.iter().map(|_| Strides::new()).collect();
        for &axis in axes.iter().rev() {
            let merges = sizes.last().is_some_and(|&inner: &usize| {
                seen.iter().zip(&strides).all(|(seen, merged)| {
                    let last = *merged.last().expect("one stride for each size");
                    last.checked_mul(inner.cast_signed()) == Some(seen[axis])
                })
            });
            if merges {
                *sizes.last_mut().expect("merging needs a size") *= shape[axis];
            } else {
                sizes.push(shape[axis]);
                for (merged, seen) in strides.iter_mut().zip(&seen) {
                    merged.push(seen[axis]);
                }
            }
        }
        sizes.reverse();
        for strides in &mut strides {
            strides.reverse();
        }
        let linear = row_major_strides(&sizes);
        let access: SmallVec<[Access; 8]> = strides
            .iter()
            .map(|strides| {
                if *strides == linear {
                    Access::Linear
                } else if strides.iter().all(|&stride| stride == 0) {
                    Access::Uniform
                } else {
                    Access::Strided
                }
            })
            .collect();
        let total = count(shape);
        let strided = access.contains(&Access::Strided);
        let rank = if strided { sizes.len() } else { 0 };
        let reach = |strides: &Strides| sizes.iter().zip(strides).map(|(&size, &stride)| (size.max(1) - 1).saturating_mul(stride.unsigned_abs())).fold(0usize, usize::saturating_add);
        let limit = i32::MAX.unsigned_abs() as usize;
        let wide = !strided || total > limit || strides.iter().any(|strides| reach(strides) > limit);
        let rank = u16::try_from(rank).map_err(|_| Error::new(ErrorKind::Unsupported, format!("{rank} axes that cannot be merged")))?;
        let walk = Walk { vector: 1, rank, wide, access };
        Ok(Self { walk, count: total, sizes: if strided { sizes } else { SmallVec::new() }, strides: strides.into_iter().collect() })
    }

    /// Keeps the strides of the operands that the kernel addresses by coordinates.
    fn drop_unused_strides(&mut self, operands: usize) {
        if self.strides.is_empty() {
            return;
        }
        debug_assert_eq!(self.strides.len(), operands);
        let mut access = self.walk.access.iter();
        self.strides.retain(|_| access.next() == Some(&Access::Strided));
    }

    /// Chooses the vector width of a linear walk and the operands that are accessed by vectors.
    fn vectorise(&mut self, operands: &[Operand<'_>], outputs: usize) {
        let linear = |(access, _): &(&Access, &Operand<'_>)| **access == Access::Linear;
        let narrowest = self.walk.access.iter().zip(operands).filter(linear).map(|(_, operand)| operand.dtype.size()).min();
        let Some(narrowest) = narrowest else { return };
        let vector = (VECTOR_BYTES / narrowest).min(4);
        let aligned = |operand: &Operand<'_>| operand.address != 0 && operand.address % VECTOR_BYTES as u64 == 0;
        // Single stores at a distance would cost more than vector loads gain; and there must be something to gain.
        if operands[..outputs].iter().any(|output| !aligned(output)) || self.count < vector {
            return;
        }
        self.walk.vector = vector as u8;
        for (access, operand) in self.walk.access.iter_mut().zip(operands) {
            if *access == Access::Linear && aligned(operand) {
                *access = Access::Vector;
            }
        }
    }

    /// The strided walk's numbers as the kernel's structure of sizes and strides: see [`source`](crate::kernel::source).
    pub(crate) fn dims_bytes(&self, bytes: &mut SmallVec<[u8; 128]>) {
        let mut push = |value: i64| {
            if self.walk.wide {
                bytes.extend_from_slice(&value.to_ne_bytes());
            } else {
                bytes.extend_from_slice(&(value as i32).to_ne_bytes());
            }
        };
        for &size in &self.sizes {
            push(size as i64);
        }
        for strides in &self.strides {
            push(base(&self.sizes, strides));
        }
        for strides in &self.strides {
            for &stride in strides {
                push(stride as i64);
            }
        }
    }

    /// The shape of this walk's positions, for messages.
    pub(crate) fn shape(&self) -> Shape {
        if self.sizes.is_empty() { Shape::from(self.count) } else { Shape::new(&self.sizes) }
    }
}
