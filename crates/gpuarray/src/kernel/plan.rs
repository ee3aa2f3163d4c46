//! How a kernel walks its operands: one linear index where the layouts allow it, coordinates otherwise.
//!
//! A plan looks at the layouts of all operands together: axes that lie behind one another in every operand become one, and what remains decides
//! between the *linear* walk (vectorised where addresses are aligned) and the *strided* walk (coordinates by division). Only the kind of walk is
//! part of a kernel's structure; lengths and strides are arguments.

use smallvec::SmallVec;

use crate::element::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::{Strides, broadcast_strides, count, row_major_strides};

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
    sizes
        .iter()
        .zip(strides)
        .filter(|&(_, &stride)| stride < 0)
        .map(|(&size, &stride)| (size as i64 - 1) * -(stride as i64))
        .sum()
}

/// The most bytes of a kernel's parameters, on every device.
pub(crate) const MAX_PARAMETER_BYTES: usize = 4096;

/// The size of a vector load, in bytes.
const VECTOR_BYTES: usize = 16;

impl Plan {
    /// Plans a walk over `shape`. `operands` starts with `outputs` outputs; the rest broadcast to `shape`. `same_as_output` tells for each
    /// operand whether it is the (first) output itself, element for element.
    pub(crate) fn new(
        shape: &[usize],
        operands: &[Operand<'_>],
        outputs: usize,
        same_as_output: impl Fn(usize) -> bool,
    ) -> Result<Self> {
        let total = count(shape);
        let is_row_major = |operand: &Operand<'_>| {
            operand.shape == shape && operand.strides == &row_major_strides(shape)[..]
        };
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
            let walk = Walk {
                vector: 1,
                rank: 0,
                wide: true,
                access,
            };
            Self {
                walk,
                count: total,
                sizes: SmallVec::new(),
                strides: SmallVec::new(),
            }
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
            .map(|operand| {
                broadcast_strides(operand.shape, operand.strides, shape)
                    .ok_or_else(|| Error::cannot_broadcast(operand.shape, shape))
            })
            .collect::<Result<_>>()?;
        // Walk in the order of memory of the output; without one, of the first operand. Ties (and zeros) keep the logical order.
        let mut axes: SmallVec<[usize; 4]> =
            (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
        if let Some(lead) = seen.get(..outputs.max(1)).and_then(<[_]>::first) {
            axes.sort_by_key(|&axis| {
                std::cmp::Reverse(if lead[axis] == 0 {
                    isize::MAX.unsigned_abs()
                } else {
                    lead[axis].unsigned_abs()
                })
            });
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
        let reach = |strides: &Strides| {
            sizes
                .iter()
                .zip(strides)
                .map(|(&size, &stride)| (size.max(1) - 1).saturating_mul(stride.unsigned_abs()))
                .fold(0usize, usize::saturating_add)
        };
        let limit = i32::MAX.unsigned_abs() as usize;
        let wide =
            !strided || total > limit || strides.iter().any(|strides| reach(strides) > limit);
        let rank = u16::try_from(rank).map_err(|_| {
            Error::new(
                ErrorKind::Unsupported,
                format!("{rank} axes that cannot be merged"),
            )
        })?;
        let walk = Walk {
            vector: 1,
            rank,
            wide,
            access,
        };
        Ok(Self {
            walk,
            count: total,
            sizes: if strided { sizes } else { SmallVec::new() },
            strides: strides.into_iter().collect(),
        })
    }

    /// Keeps the strides of the operands that the kernel addresses by coordinates.
    fn drop_unused_strides(&mut self, operands: usize) {
        if self.strides.is_empty() {
            return;
        }
        debug_assert_eq!(self.strides.len(), operands);
        let mut access = self.walk.access.iter();
        self.strides
            .retain(|_| access.next() == Some(&Access::Strided));
    }

    /// Chooses the vector width of a linear walk and the operands that are accessed by vectors.
    fn vectorise(&mut self, operands: &[Operand<'_>], outputs: usize) {
        let linear = |(access, _): &(&Access, &Operand<'_>)| **access == Access::Linear;
        let narrowest = self
            .walk
            .access
            .iter()
            .zip(operands)
            .filter(linear)
            .map(|(_, operand)| operand.dtype.size())
            .min();
        let Some(narrowest) = narrowest else { return };
        let vector = (VECTOR_BYTES / narrowest).min(4);
        let aligned = |operand: &Operand<'_>| {
            operand.address != 0 && operand.address.is_multiple_of(VECTOR_BYTES as u64)
        };
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s;
    use crate::shape::{Layout, Shape};
    use proptest::prelude::*;

    fn operand(layout: &Layout) -> Operand<'_> {
        Operand {
            dtype: DType::F32,
            shape: layout.shape(),
            strides: layout.strides(),
            address: 4096 + layout.range().start as u64 * 4,
        }
    }

    fn plan(layouts: &[&Layout]) -> Plan {
        let operands: Vec<_> = layouts.iter().map(|layout| operand(layout)).collect();
        Plan::new(layouts[0].shape(), &operands, 1, |_| false).expect("broadcasts")
    }

    fn row_major(shape: &[usize]) -> Layout {
        Layout::row_major(Shape::new(shape)).expect("small")
    }

    #[test]
    fn contiguous_operands_walk_by_vectors() {
        let x = row_major(&[8, 9]);
        let plan = plan(&[&x, &x, &row_major(&[1])]);
        assert_eq!(
            plan.walk.access.as_slice(),
            [Access::Vector, Access::Vector, Access::Uniform]
        );
        assert_eq!((plan.walk.vector, plan.walk.rank, plan.count), (4, 0, 72));
    }

    #[test]
    fn transposed_alike_is_linear() {
        let x = row_major(&[3, 4, 5]).transposed();
        let plan = plan(&[&x, &x]);
        assert_eq!((plan.walk.rank, plan.walk.vector), (0, 4));
    }

    #[test]
    fn misaligned_operands_are_read_one_by_one() {
        let whole = row_major(&[100]);
        let shifted = whole.sliced(&s![1..]).expect("inside");
        let fresh = row_major(&[99]);
        assert_eq!(
            plan(&[&fresh, &shifted]).walk.access.as_slice(),
            [Access::Vector, Access::Linear]
        );
        // A misaligned output is not written by vectors, so nothing is.
        assert_eq!(plan(&[&shifted, &fresh]).walk.vector, 1);
    }

    #[test]
    fn axes_merge_where_all_operands_allow_it() {
        let x = row_major(&[4, 5, 6]);
        let bias = row_major(&[6]);
        let plan = plan(&[&x, &x, &bias]);
        assert_eq!((plan.sizes.as_slice(), plan.walk.rank), (&[20, 6][..], 2));
        assert_eq!(
            plan.walk.access.as_slice(),
            [Access::Linear, Access::Linear, Access::Strided]
        );
        assert_eq!(plan.strides.len(), 1);
        assert_eq!(plan.strides[0].as_slice(), [0, 1]);
        assert!(!plan.walk.wide);
    }

    /// Counts beyond 32 bits, without memory: the linear walk counts in 64 bits, and a strided walk turns to them when it must.
    #[test]
    fn huge_counts() {
        for n in [(1usize << 31) - 1, 1 << 31, (1 << 32) + 1] {
            let x = row_major(&[n]);
            let linear = plan(&[&x, &x]);
            assert_eq!((linear.count, linear.walk.wide), (n, true));
            let vector = usize::from(linear.walk.vector);
            let config =
                crate::kernel::launch::map_config(n, linear.walk.vector).expect("fits a grid");
            let reach = config.grid.0 as usize * config.block.0 as usize * vector;
            assert!(
                reach >= n && reach - n < config.block.0 as usize * vector,
                "every position once"
            );
            let reversed = x.sliced(&s![..;-1]).expect("inside");
            let strided = plan(&[&x, &reversed]);
            assert_eq!(
                (strided.walk.rank, strided.walk.wide),
                (1, n > 1 << 31 || n > i32::MAX as usize)
            );
        }
        assert!(crate::kernel::launch::map_config(1 << 60, 4).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Walking a plan visits the same operand elements together as walking the layouts, each output element once.
        #[test]
        fn plans_visit_the_same_elements(
            shape in proptest::collection::vec(1usize..5, 0..4),
            kinds in proptest::collection::vec((0u8..5, 0usize..4, any::<bool>()), 2..5),
        ) {
            let layouts: Vec<Layout> = kinds.iter().enumerate().map(|(at, &(kind, axis, reverse))| {
                let mut layout = match kind {
                    // A broadcast axis (never for the output).
                    0 if at > 0 && !shape.is_empty() => {
                        let mut part = shape.clone();
                        part[axis % shape.len()] = 1;
                        row_major(&part)
                    }
                    1 if at > 0 && !shape.is_empty() => row_major(&shape[1..]),
                    // Every second element of a larger array.
                    2 if !shape.is_empty() => {
                        let mut large = shape.clone();
                        let axis = axis % shape.len();
                        large[axis] = large[axis] * 2 - 1;
                        let mut layout = row_major(&large);
                        layout.slice_axis(axis, 0..large[axis], 2).expect("inside");
                        layout
                    }
                    3 => row_major(&shape.iter().rev().copied().collect::<Vec<_>>()).transposed(),
                    _ => row_major(&shape),
                };
                if reverse && layout.ndim() > 0 {
                    let axis = axis % layout.ndim();
                    let length = layout.shape()[axis];
                    layout.slice_axis(axis, 0..length, -1).expect("inside");
                }
                layout
            }).collect();
            let plan = plan(&layouts.iter().collect::<Vec<_>>());
            let mut expected: Vec<Vec<usize>> = Vec::new();
            let all: Vec<Vec<usize>> = layouts.iter().map(|layout| layout.broadcast_to(&shape).expect("broadcasts").offsets()).collect();
            for position in 0..all[0].len() {
                expected.push(all.iter().map(|offsets| offsets[position]).collect());
            }
            let mut visited: Vec<Vec<usize>> = (0..plan.count).map(|i| {
                let mut rest = i;
                let mut coordinates: Vec<usize> = plan.sizes.iter().rev().map(|&size| { let c = rest % size; rest /= size; c }).collect();
                coordinates.reverse();
                let mut strided = plan.strides.iter();
                plan.walk.access.iter().zip(&layouts).map(|(access, layout)| {
                    let start = layout.range().start;
                    match access {
                        Access::Vector | Access::Linear => start + i,
                        Access::Uniform => start,
                        Access::Strided => {
                            let strides = strided.next().expect("one for each strided operand");
                            let offset: i64 = coordinates.iter().zip(strides).map(|(&c, &stride)| c as i64 * stride as i64).sum();
                            start + usize::try_from(base(&plan.sizes, strides) + offset).expect("inside")
                        }
                        Access::Output => unreachable!("no operand is the output"),
                    }
                }).collect()
            }).collect();
            expected.sort();
            visited.sort();
            prop_assert_eq!(expected, visited);
        }
    }
}
