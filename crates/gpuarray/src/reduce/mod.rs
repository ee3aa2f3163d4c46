//! Reductions of all values of an expression, fused with it.
//!
//! One kernel walks the expression with a grid that fills the device once; each block combines its values and stores a partial result. Where
//! more than one block ran, a second launch combines the partial results. The order of combining depends only on the number of values and on
//! the number of multiprocessors, so results repeat exactly on one device.

pub(crate) mod axes;

use cuprum_driver_core::{DeviceAttribute, LaunchConfig, Stream};

use crate::array::GpuArray;
use crate::element::{DType, Element, Scalar as _};
use crate::error::{Error, Result};
use crate::expr::{IntoExpr as _, Node};
use crate::kernel::cache;
use crate::kernel::key::key;
use crate::kernel::launch::{arguments, context_word, leaf_strides, operands, stream_of};
use crate::kernel::plan::Plan;
use crate::kernel::program::Program;
use crate::kernel::source::{Kind, REDUCE_THREADS, generate};
use crate::shape::Shape;
use crate::trusted;

pub(crate) use crate::kernel::source::Reduction;

/// Vectors (or elements) that a thread of a reduction should have before another block is worth it.
const PER_THREAD: usize = 8;
/// Blocks for each multiprocessor: enough threads to fill one.
const BLOCKS_PER_MULTIPROCESSOR: usize = 8;

/// The sum of an expression with values of type `T`, on the host.
pub(crate) fn sum<T: Element>(root: &Node<'_>) -> Result<T::Sum> {
    to_host::<T::Accumulator, T::Sum>(root, Reduction::Sum)
}

/// The mean of an expression with values of type `f64`.
pub(crate) fn mean(root: &Node<'_>) -> Result<f64> {
    debug_assert_eq!(root.dtype(), f64::DTYPE);
    let count = root.shape()?.checked_len()?;
    Ok(sum::<f64>(root)? / count as f64)
}

/// A reduction whose result is brought to the host.
pub(crate) fn to_host<A: Element, R: Element>(root: &Node<'_>, op: Reduction) -> Result<R> {
    on_device::<A, R>(root, op)?.item()
}

/// A reduction that runs in type `A` and leaves its result, of type `R`, on the device.
pub(crate) fn on_device<A: Element, R: Element>(
    root: &Node<'_>,
    op: Reduction,
) -> Result<GpuArray<R>> {
    let program = Program::new(root)?;
    let shape = program.shape()?;
    let stream = stream_of(&program, None)?;
    if shape.is_empty() {
        return match op {
            Reduction::Sum => GpuArray::zeros(stream, ()),
            Reduction::Prod => axes::ones(stream, Shape::from(())),
            Reduction::Min => Err(Error::empty_reduction("the minimum", &shape)),
            Reduction::Max => Err(Error::empty_reduction("the maximum", &shape)),
        };
    }
    let plan = plan(&program, &shape)?;
    let blocks = blocks(stream, &plan)?;
    if blocks == 1 {
        return pass(&program, &plan, stream, op, A::DTYPE, 1, Shape::from(()));
    }
    let partial: GpuArray<A> = pass(
        &program,
        &plan,
        stream,
        op,
        A::DTYPE,
        blocks,
        Shape::from(blocks as usize),
    )?;
    let partial = (&partial).into_expr();
    let program = Program::new(&partial.node)?;
    let plan = self::plan(&program, &Shape::from(blocks as usize))?;
    pass(&program, &plan, stream, op, A::DTYPE, 1, Shape::from(()))
}

fn plan(program: &Program<'_, '_>, shape: &[usize]) -> Result<Plan> {
    let strides = leaf_strides(program);
    Plan::new(shape, &operands(program, &strides, None), 0, |_| false)
}

/// How many blocks a reduction should run with.
fn blocks(stream: &Stream, plan: &Plan) -> Result<u32> {
    let useful = plan
        .count
        .div_ceil(usize::from(plan.walk.vector) * REDUCE_THREADS as usize * PER_THREAD);
    let multiprocessors = stream
        .context()
        .device()
        .attribute(DeviceAttribute::MULTIPROCESSOR_COUNT)?
        .max(1)
        .unsigned_abs() as usize;
    let blocks = useful.clamp(1, multiprocessors * BLOCKS_PER_MULTIPROCESSOR);
    Ok(u32::try_from(blocks).expect("a device has fewer than 2^28 multiprocessors"))
}

/// One launch: `blocks` results in a new array of type `R`.
fn pass<R: Element>(
    program: &Program<'_, '_>,
    plan: &Plan,
    stream: &Stream,
    op: Reduction,
    accumulator: DType,
    blocks: u32,
    shape: Shape,
) -> Result<GpuArray<R>> {
    let kind = Kind::Reduce {
        op,
        accumulator,
        result: R::DTYPE,
    };
    let key = key(context_word(stream), kind, program, &plan.walk);
    let kernel = cache::kernel(stream.context(), &key, || {
        generate(kind, program, &plan.walk)
    })?;
    let mut result = GpuArray::<R>::result_of(program, stream, shape)?;
    let mut target = result.view_mut();
    let args = arguments(
        program,
        plan,
        R::any_view_mut(target.device_view_mut()),
        0,
        &[],
    )?;
    trusted::launch(
        &kernel,
        stream,
        LaunchConfig::grid_1d(blocks, REDUCE_THREADS),
        &args,
    )?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operand as _, s};
    use cuprum_codegen::{Source, Target, compile};
    use cuprum_driver_core::Device;

    /// The kernels of every reduction of every type compile, for linear and strided walks.
    #[test]
    fn kernels_compile() {
        fn all<T: Element>() {
            let stream = Device::by_name("soft:0")
                .and_then(|device| device.context())
                .expect("the software device")
                .default_stream();
            let x = GpuArray::<T>::zeros(&stream, (6, 8)).expect("allocates");
            for view in [x.view(), x.slice(s![.., ..;-3])] {
                let expr = view.abs();
                let program = Program::new(&expr.node).expect("small");
                let plan = plan(&program, view.shape()).expect("broadcasts");
                let kinds = [
                    (Reduction::Sum, T::Accumulator::DTYPE, T::Sum::DTYPE),
                    (Reduction::Min, T::DTYPE, T::DTYPE),
                    (Reduction::Max, T::DTYPE, T::DTYPE),
                ];
                for (op, accumulator, result) in kinds {
                    let text = generate(
                        Kind::Reduce {
                            op,
                            accumulator,
                            result,
                        },
                        &program,
                        &plan.walk,
                    );
                    let source = Source::new(text.clone())
                        .file_name("expression.cu")
                        .option("-fmad=false");
                    let image = compile(&source, Target::Ptx(80))
                        .unwrap_or_else(|error| panic!("{text}\n{error}"));
                    assert!(image.ptx().contains("shfl.sync.down"), "{}", image.ptx());
                }
            }
        }
        all::<f32>();
        all::<f64>();
        all::<i32>();
        all::<u32>();
        all::<i64>();
        all::<u64>();
    }
}
