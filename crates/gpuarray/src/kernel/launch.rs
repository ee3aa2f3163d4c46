//! Running expressions: evaluation into a new array, assignment to a view, and what `explain` tells.

use cuprum_driver_core::{Args, LaunchConfig, Stream};
use smallvec::SmallVec;

use crate::array::GpuArray;
use crate::element::{DType, Element};
use crate::error::{Error, ErrorKind, Result};
use crate::explain::Explanation;
use crate::expr::{AnyView, AnyViewMut, IntoExpr as _, LeafArgs, Node};
use crate::kernel::cache;
use crate::kernel::key::key;
use crate::kernel::plan::{Access, MAX_PARAMETER_BYTES, Operand, Plan};
use crate::kernel::program::Program;
use crate::kernel::source::{Kind, generate};
use crate::shape::{Layout, broadcast_strides, row_major_strides};
use crate::trusted;

/// Threads of a block of an elementwise kernel.
const MAP_THREADS: u32 = 256;

/// Evaluates an expression into a new row-major array.
pub(crate) fn eval<T: Element>(root: &Node<'_>, stream: Option<&Stream>) -> Result<GpuArray<T>> {
    let program = Program::new(root)?;
    let shape = program.shape()?;
    let stream = stream_of(&program, stream)?;
    let mut result = GpuArray::result_of(&program, stream, shape)?;
    let mut target = result.view_mut();
    let layout = target.layout().clone();
    map(
        &program,
        stream,
        T::any_view_mut(target.device_view_mut()),
        &layout,
    )?;
    Ok(result)
}

/// Writes the values of an expression to `output`, whose elements `layout` addresses.
pub(crate) fn assign(
    stream: &Stream,
    output: AnyViewMut<'_>,
    layout: &Layout,
    root: &Node<'_>,
) -> Result<()> {
    let program = Program::new(root)?;
    let shape = program.shape()?;
    if *shape != **layout.shape()
        && broadcast_strides(&shape, &row_major_strides(&shape), layout.shape()).is_none()
    {
        return Err(Error::cannot_broadcast(&shape, layout.shape()));
    }
    check_contexts(&program, stream)?;
    let bytes = output.address()..output.address() + (output.len() * program.dtype().size()) as u64;
    let overlaps = |start: u64, len: usize, dtype: DType| {
        start < bytes.end && bytes.start < start + (len * dtype.size()) as u64
    };
    // Only through `update` and its like can an operand overlap the output; element for element it may be read in place.
    let entangled = program.views.iter().any(|view| {
        overlaps(view.address(), view.data.len(), view.data.dtype())
            && !is_output(
                view.address(),
                view.data.dtype(),
                &view.layout,
                &output,
                program.dtype(),
                layout,
            )
    });
    let read_by_leaf = program
        .leaves
        .iter()
        .flat_map(|node| &node.reads)
        .any(|read| overlaps(read.address(), read.len(), read.dtype()));
    if entangled || read_by_leaf {
        return match program.dtype() {
            DType::I32 => through_temporary::<i32>(stream, output, layout, root),
            DType::U32 => through_temporary::<u32>(stream, output, layout, root),
            DType::I64 => through_temporary::<i64>(stream, output, layout, root),
            DType::U64 => through_temporary::<u64>(stream, output, layout, root),
            DType::F32 => through_temporary::<f32>(stream, output, layout, root),
            DType::F64 => through_temporary::<f64>(stream, output, layout, root),
            DType::Bool => unreachable!("there are no arrays of masks to assign to"),
        };
    }
    map(&program, stream, output, layout)
}

/// Evaluates first and copies then.
fn through_temporary<T: Element>(
    stream: &Stream,
    output: AnyViewMut<'_>,
    layout: &Layout,
    root: &Node<'_>,
) -> Result<()> {
    let values = eval::<T>(root, Some(stream))?;
    let copy = (&values).into_expr();
    map(&Program::new(&copy.node)?, stream, output, layout)
}

/// Whether a view is the output, element for element.
fn is_output(
    address: u64,
    dtype: DType,
    view: &Layout,
    output: &AnyViewMut<'_>,
    output_dtype: DType,
    layout: &Layout,
) -> bool {
    address == output.address() && dtype == output_dtype && view == layout
}

/// The stream to run on: the named one, or the home stream of the first operand that has one. All operands must be of its context.
pub(crate) fn stream_of<'s>(
    program: &Program<'_, 's>,
    named: Option<&'s Stream>,
) -> Result<&'s Stream> {
    let stream = named
        .or_else(|| program.home_stream())
        .ok_or_else(Error::no_device)?;
    check_contexts(program, stream)?;
    Ok(stream)
}

fn check_contexts(program: &Program<'_, '_>, stream: &Stream) -> Result<()> {
    let context = stream.context();
    let reads = program.leaves.iter().flat_map(|node| &node.reads);
    for other in program
        .views
        .iter()
        .map(|view| &view.data)
        .chain(reads)
        .map(AnyView::context)
    {
        if other != context {
            return Err(Error::device_mismatch(
                &context.device().label(),
                &other.device().label(),
            ));
        }
    }
    Ok(())
}

/// The operands of a program as the plan sees them, after `output`.
pub(crate) fn operands<'p>(
    program: &'p Program<'_, '_>,
    leaf_strides: &'p [SmallVec<[isize; 4]>],
    output: Option<Operand<'p>>,
) -> SmallVec<[Operand<'p>; 8]> {
    let mut operands: SmallVec<[Operand<'p>; 8]> = output.into_iter().collect();
    for view in &program.views {
        operands.push(Operand {
            dtype: view.data.dtype(),
            shape: view.layout.shape(),
            strides: view.layout.strides(),
            address: view.address(),
        });
    }
    for (node, strides) in program.leaves.iter().zip(leaf_strides) {
        operands.push(Operand {
            dtype: node.leaf.dtype(),
            shape: node.leaf.shape(),
            strides,
            address: 0,
        });
    }
    operands
}

/// The strides of each leaf's positions, which are numbered in row-major order.
pub(crate) fn leaf_strides(program: &Program<'_, '_>) -> SmallVec<[SmallVec<[isize; 4]>; 2]> {
    program
        .leaves
        .iter()
        .map(|node| row_major_strides(node.leaf.shape()))
        .collect()
}

/// Plans the elementwise kernel that stores a program's values at `layout`, based at `output`.
fn plan_map(program: &Program<'_, '_>, output: &AnyViewMut<'_>, layout: &Layout) -> Result<Plan> {
    let strides = leaf_strides(program);
    let target = Operand {
        dtype: program.dtype(),
        shape: layout.shape(),
        strides: layout.strides(),
        address: output.address(),
    };
    let operands = operands(program, &strides, Some(target));
    Plan::new(layout.shape(), &operands, 1, |at| {
        program.views.get(at - 1).is_some_and(|view| {
            is_output(
                view.address(),
                view.data.dtype(),
                &view.layout,
                output,
                program.dtype(),
                layout,
            )
        })
    })
}

/// Stores the values of a program. The output overlaps no operand but those that it is, element for element.
fn map(
    program: &Program<'_, '_>,
    stream: &Stream,
    output: AnyViewMut<'_>,
    layout: &Layout,
) -> Result<()> {
    if layout.is_empty() {
        return Ok(());
    }
    let plan = plan_map(program, &output, layout)?;
    let key = key(context_word(stream), Kind::Map, program, &plan.walk);
    let kernel = cache::kernel(stream.context(), &key, || {
        generate(Kind::Map, program, &plan.walk)
    })?;
    let config = map_config(plan.count, plan.walk.vector)?;
    let args = arguments(program, &plan, output, 1, &[])?;
    trusted::launch(&kernel, stream, config, &args)
}

/// The context's handle as a word of the key.
pub(crate) fn context_word(stream: &Stream) -> u64 {
    stream.context().raw().0 as usize as u64
}

/// The arguments of a kernel, in the order that [`source`](crate::kernel::source) gives its parameters. `outputs` is how many operands of the
/// plan come before the views; `last` are counts that the kernel takes after all else.
pub(crate) fn arguments<'l, 'e: 'l, 'a: 'l>(
    program: &'l Program<'e, 'a>,
    plan: &Plan,
    output: AnyViewMut<'l>,
    outputs: usize,
    last: &[u64],
) -> Result<Args<'l>> {
    let mut collected = LeafArgs::new();
    let args = &mut collected.args;
    output.argument(args);
    args.scalar(plan.count as u64);
    for (at, view) in program.views.iter().enumerate() {
        if plan.walk.access[outputs + at] != Access::Output {
            view.data.argument(args);
        }
    }
    let mut bytes = 0;
    if plan.walk.rank > 0 {
        let mut dims: SmallVec<[u8; 128]> = SmallVec::new();
        plan.dims_bytes(&mut dims);
        bytes = dims.len();
        args.bytes(&dims);
    }
    for node in &program.leaves {
        for read in &node.reads {
            read.argument(&mut collected.args);
        }
        node.leaf.arguments(&mut collected)?;
    }
    let mut args = collected.args;
    for &(dtype, value) in &program.scalars {
        match dtype {
            DType::Bool => args.scalar(value != 0),
            DType::I32 | DType::U32 | DType::F32 => args.scalar(value as u32),
            DType::I64 | DType::U64 | DType::F64 => args.scalar(value),
        };
    }
    for &count in last {
        args.scalar(count);
    }
    bytes += 8 * args.len();
    if bytes > MAX_PARAMETER_BYTES {
        let message = format!(
            "an expression whose operands need {bytes} bytes of kernel parameters, of which there are {MAX_PARAMETER_BYTES}; evaluate parts of it first (`.eval()?`)"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(args)
}

/// The launch of an elementwise kernel: one thread for each vector, so that no thread loops.
pub(crate) fn map_config(count: usize, vector: u8) -> Result<LaunchConfig> {
    let blocks = count
        .div_ceil(usize::from(vector))
        .div_ceil(MAP_THREADS as usize);
    let blocks = u32::try_from(blocks)
        .ok()
        .filter(|&blocks| i32::try_from(blocks).is_ok());
    let blocks = blocks.ok_or_else(|| {
        Error::new(
            ErrorKind::TooLarge,
            format!("an expression of {count} elements needs more blocks than a launch has"),
        )
    })?;
    Ok(LaunchConfig::grid_1d(blocks, MAP_THREADS))
}

/// Builds the kernel of an evaluation if it is not there yet.
pub(crate) fn prepare(root: &Node<'_>) -> Result<()> {
    let program = Program::new(root)?;
    let shape = program.shape()?;
    let stream = stream_of(&program, None)?;
    let plan = plan_new(&program, &Layout::row_major(shape)?)?;
    let key = key(context_word(stream), Kind::Map, &program, &plan.walk);
    cache::kernel(stream.context(), &key, || {
        generate(Kind::Map, &program, &plan.walk)
    })?;
    Ok(())
}

/// Plans the evaluation into a new array, which is aligned for every vector.
fn plan_new(program: &Program<'_, '_>, layout: &Layout) -> Result<Plan> {
    let strides = leaf_strides(program);
    let target = Operand {
        dtype: program.dtype(),
        shape: layout.shape(),
        strides: layout.strides(),
        address: 256,
    };
    Plan::new(
        layout.shape(),
        &operands(program, &strides, Some(target)),
        1,
        |_| false,
    )
}

/// What evaluating an expression would run.
pub(crate) fn explain(root: &Node<'_>) -> Result<Explanation> {
    let program = Program::new(root)?;
    let layout = Layout::row_major(program.shape()?)?;
    let plan = plan_new(&program, &layout)?;
    let config = map_config(plan.count, plan.walk.vector)?;
    let of_views: usize = program
        .views
        .iter()
        .map(|view| view.layout.distinct() * view.data.dtype().size())
        .sum();
    let of_leaves: usize = program
        .leaves
        .iter()
        .flat_map(|node| &node.reads)
        .map(|read| read.len() * read.dtype().size())
        .sum();
    let read = of_views + of_leaves;
    let written = plan.count * program.dtype().size();
    Ok(Explanation::new(
        generate(Kind::Map, &program, &plan.walk),
        layout.shape().clone(),
        config,
        read,
        written,
    ))
}
