//! Reductions along axes: one kernel for any subset of axes of any expression.
//!
//! The axes are put in an order with the reduced ones last, so that each result is a run of positions. Who makes a result depends on its
//! length and on the memory of the first operand: a block, a warp, or one thread whose neighbours make the neighbouring results. The order of
//! combining depends on shapes and strides only, so results repeat exactly.

use cuprum_driver_core::{LaunchConfig, Stream};
use smallvec::SmallVec;

use crate::array::GpuArray;
use crate::element::{DType, Element};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{Expr, Node};
use crate::kernel::cache;
use crate::kernel::key::key;
use crate::kernel::launch::{arguments, context_word, leaf_strides, operands, stream_of};
use crate::kernel::plan::{Operand, Plan};
use crate::kernel::program::Program;
use crate::kernel::source::{Kind, REDUCE_THREADS, Reduction, Team, generate};
use crate::shape::{Shape, Strides, broadcast_strides, count, row_major_strides};
use crate::trusted;

/// From this many values on, a block makes each result.
const BLOCK_RUN: usize = 1024;
/// From this many values on, a warp makes each result.
const WARP_RUN: usize = 16;
/// With this many results, a thread for each fills a device well enough to read columns.
const MANY_RESULTS: usize = 4096;

/// The axes of a reduction, counted from the last one if negative, and whether they stay in the result with length 1.
///
/// Made from one axis or an array of axes; no axes at all reduce nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    axes: SmallVec<[isize; 4]>,
    keep: bool,
}

impl Axes {
    /// The reduced axes stay in the result, with length 1, so that it broadcasts against what was reduced.
    #[must_use]
    #[doc(alias = "keepdims")]
    pub fn keep(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Which axes of `shape` are reduced.
    fn reduced(&self, shape: &[usize]) -> Result<SmallVec<[bool; 8]>> {
        let mut reduced: SmallVec<[bool; 8]> = SmallVec::from_elem(false, shape.len());
        for &axis in &self.axes {
            let at = if axis < 0 {
                axis.checked_add_unsigned(shape.len())
            } else {
                Some(axis)
            };
            let slot = at
                .and_then(|at| usize::try_from(at).ok())
                .and_then(|at| reduced.get_mut(at));
            match slot {
                Some(slot) if !*slot => *slot = true,
                Some(_) => {
                    let message = format!("axis {axis} of shape {shape:?} is to be reduced twice");
                    return Err(Error::new(ErrorKind::Shape, message));
                }
                None => {
                    let message = format!("there is no axis {axis} in shape {shape:?}");
                    return Err(Error::new(ErrorKind::Shape, message));
                }
            }
        }
        Ok(reduced)
    }
}

impl From<isize> for Axes {
    fn from(axis: isize) -> Self {
        Self::from([axis])
    }
}

impl<const N: usize> From<[isize; N]> for Axes {
    fn from(axes: [isize; N]) -> Self {
        Self::from(&axes[..])
    }
}

impl From<&[isize]> for Axes {
    fn from(axes: &[isize]) -> Self {
        Self {
            axes: axes.into(),
            keep: false,
        }
    }
}

/// An array of ones.
pub(crate) fn ones<R: Element>(stream: &Stream, shape: Shape) -> Result<GpuArray<R>> {
    let one = match R::DTYPE {
        DType::F32 => u64::from(1f32.to_bits()),
        DType::F64 => 1f64.to_bits(),
        DType::Bool | DType::I32 | DType::U32 | DType::I64 | DType::U64 => 1,
    };
    let mut array = GpuArray::uninit(stream, shape)?;
    array.assign(Expr::<R>::new(Node::Scalar(R::DTYPE, one)))?;
    Ok(array)
}

/// The mean along axes of an expression with values of type `f64`.
pub(crate) fn mean(root: &Node<'_>, axes: &Axes) -> Result<GpuArray<f64>> {
    let shape = root.shape()?;
    let reduced = axes.reduced(&shape)?;
    let values: usize = (0..shape.axes().len())
        .filter(|&axis| reduced[axis])
        .map(|axis| shape[axis])
        .product();
    let mut mean = reduce::<f64, f64>(root, Reduction::Sum, axes)?;
    mean.div_assign(values as f64)?;
    Ok(mean)
}

/// A reduction along axes that runs in type `A`, with results of type `R`.
pub(crate) fn reduce<A: Element, R: Element>(
    root: &Node<'_>,
    op: Reduction,
    axes: &Axes,
) -> Result<GpuArray<R>> {
    let program = Program::new(root)?;
    let shape = program.shape()?;
    let reduced = axes.reduced(&shape)?;
    let stream = stream_of(&program, None)?;
    let kept: SmallVec<[usize; 8]> = (0..shape.axes().len())
        .filter(|&axis| !reduced[axis])
        .collect();
    let order: SmallVec<[usize; 8]> = kept
        .iter()
        .copied()
        .chain((0..shape.axes().len()).filter(|&axis| reduced[axis]))
        .collect();
    let sorted: SmallVec<[usize; 8]> = order.iter().map(|&axis| shape[axis]).collect();
    let (outer, inner) = (count(&sorted[..kept.len()]), count(&sorted[kept.len()..]));
    let lengths: SmallVec<[usize; 8]> = (0..shape.axes().len())
        .filter(|&axis| axes.keep || !reduced[axis])
        .map(|axis| if reduced[axis] { 1 } else { shape[axis] })
        .collect();
    let result_shape = Shape::new(&lengths);
    if outer == 0 || inner == 0 {
        return match op {
            Reduction::Sum => GpuArray::zeros(stream, result_shape),
            Reduction::Prod => ones(stream, result_shape),
            // Nothing is made of nothing.
            _ if outer == 0 => GpuArray::zeros(stream, result_shape),
            Reduction::Min => Err(Error::empty_reduction("the minimum", &shape)),
            Reduction::Max => Err(Error::empty_reduction("the maximum", &shape)),
        };
    }

    let leaves = leaf_strides(&program);
    let unsorted = operands(&program, &leaves, None);
    let strides: SmallVec<[Strides; 8]> = unsorted
        .iter()
        .map(|operand| {
            let strides = broadcast_strides(operand.shape, operand.strides, &shape)
                .ok_or_else(|| Error::cannot_broadcast(operand.shape, &shape))?;
            Ok(order.iter().map(|&axis| strides[axis]).collect())
        })
        .collect::<Result<_>>()?;
    // A row-major stand-in for an output keeps the plan from reordering axes. It has no address, so nothing is vectorised.
    let stand_in = row_major_strides(&sorted);
    let mut planned: SmallVec<[Operand<'_>; 8]> = SmallVec::new();
    planned.push(Operand {
        dtype: program.dtype(),
        shape: &sorted,
        strides: &stand_in,
        address: 0,
    });
    planned.extend(
        unsorted
            .iter()
            .zip(&strides)
            .map(|(operand, strides)| Operand {
                shape: &sorted,
                strides,
                ..*operand
            }),
    );
    let mut plan = Plan::new(&sorted, &planned, 1, |_| false)?;
    plan.walk.access.remove(0);
    plan.count = outer;

    let team = team(
        strides.first().map_or(&[][..], |strides| &strides[..]),
        kept.len(),
        outer,
        inner,
    );
    let kind = Kind::Axes {
        op,
        accumulator: A::DTYPE,
        result: R::DTYPE,
        team,
    };
    let blocks = outer.div_ceil((REDUCE_THREADS / team.threads()) as usize);
    let blocks = u32::try_from(blocks)
        .ok()
        .filter(|&blocks| i32::try_from(blocks).is_ok());
    let blocks = blocks.ok_or_else(|| {
        let message = format!("a reduction to {outer} results needs more blocks than a launch has");
        Error::new(ErrorKind::TooLarge, message)
    })?;
    let key = key(context_word(stream), kind, &program, &plan.walk);
    let kernel = cache::kernel(stream.context(), &key, || {
        generate(kind, &program, &plan.walk)
    })?;
    let mut result = GpuArray::<R>::result_of(&program, stream, result_shape)?;
    let mut target = result.view_mut();
    let args = arguments(
        &program,
        &plan,
        R::any_view_mut(target.device_view_mut()),
        0,
        &[inner as u64],
    )?;
    trusted::launch(
        &kernel,
        stream,
        LaunchConfig::grid_1d(blocks, REDUCE_THREADS),
        &args,
    )?;
    Ok(result)
}

/// Who makes a result, from the strides of the first operand, whose first `kept` axes are those of the results.
fn team(strides: &[isize], kept: usize, outer: usize, inner: usize) -> Team {
    let (of_results, of_runs) = strides.split_at(kept.min(strides.len()));
    let least = |strides: &[isize]| {
        let moving = strides.iter().filter(|&&stride| stride != 0);
        moving
            .map(|stride| stride.unsigned_abs())
            .min()
            .unwrap_or(usize::MAX)
    };
    let columns = least(of_results) < least(of_runs);
    if inner < WARP_RUN || (columns && (outer >= MANY_RESULTS || inner < BLOCK_RUN)) {
        Team::Thread
    } else if inner < BLOCK_RUN {
        Team::Warp
    } else {
        Team::Block
    }
}
