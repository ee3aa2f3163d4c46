//! Random views and random expressions against the host.

mod common;

use common::{array, stream};
use cuprum_gpuarray::prelude::*;
use cuprum_gpuarray::{Element, SliceArg};
use proptest::prelude::*;

/// A view as the host sees it: the positions of its elements in the array's memory, in logical order.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    positions: Vec<usize>,
}

/// A step from one view to another. Numbers are cut to what the view allows.
#[derive(Clone, Debug)]
enum Step {
    /// Axis, two ends, step.
    Slice(usize, usize, usize, isize),
    Index(usize, usize),
    Permute(usize, usize),
    NewAxis(usize),
    /// Only for views to read.
    Broadcast(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let slice_step = prop_oneof![-3isize..0, 1isize..4];
    let step = prop_oneof![
        3 => (0usize..4, 0usize..8, 0usize..8, slice_step).prop_map(|(axis, a, b, step)| Step::Slice(axis, a, b, step)),
        1 => (0usize..4, 0usize..8).prop_map(|(axis, at)| Step::Index(axis, at)),
        2 => (0usize..4, 0usize..4).prop_map(|(a, b)| Step::Permute(a, b)),
        1 => (0usize..4).prop_map(Step::NewAxis),
        1 => (2usize..4).prop_map(Step::Broadcast),
    ];
    proptest::collection::vec(step, 0..5)
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(prop_oneof![1 => Just(0usize), 9 => 1usize..7], 0..4)
}

impl Model {
    fn new(shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            positions: (0..shape.iter().product()).collect(),
        }
    }

    fn at(&self, index: &[usize]) -> usize {
        self.positions[index
            .iter()
            .zip(&self.shape)
            .fold(0, |at, (&i, &length)| at * length + i)]
    }

    fn picked(shape: Vec<usize>, pick: impl Fn(Vec<usize>) -> usize) -> Self {
        let positions = indices(&shape).map(pick).collect();
        Self { shape, positions }
    }
}

/// All multi-indices of a shape in row-major order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product::<usize>()).map(move |mut at| {
        let mut index = vec![0; shape.len()];
        for (slot, &length) in index.iter_mut().zip(shape).rev() {
            *slot = at % length;
            at /= length;
        }
        index
    })
}

/// The arguments that leave all axes but one whole.
fn on_axis(axis: usize, arg: SliceArg) -> Vec<SliceArg> {
    let mut args = vec![SliceArg::from(..); axis];
    args.push(arg);
    args
}

/// Takes a step on the host, and gives the slice arguments that do the same, if a slice can.
fn take(model: &Model, step: &Step) -> Option<(Model, Action)> {
    let ndim = model.shape.len();
    let sliced = |model: Model, args: Vec<SliceArg>| Some((model, Action::Slice(args)));
    match *step {
        Step::NewAxis(axis) => {
            let axis = axis % (ndim + 1);
            let mut shape = model.shape.clone();
            shape.insert(axis, 1);
            let next = Model {
                shape,
                positions: model.positions.clone(),
            };
            sliced(next, on_axis(axis, NewAxis.into()))
        }
        Step::Broadcast(repeat) => {
            let mut shape = model.shape.clone();
            shape.insert(0, repeat);
            let next = Model {
                positions: model.positions.repeat(repeat),
                shape: shape.clone(),
            };
            Some((next, Action::Broadcast(shape)))
        }
        _ if ndim == 0 => None,
        Step::Slice(axis, a, b, by) => {
            let axis = axis % ndim;
            let length = model.shape[axis];
            let (a, b) = (a % (length + 1), b % (length + 1));
            let range = a.min(b)..a.max(b);
            let taken: Vec<usize> = if by > 0 {
                range.clone().step_by(by.unsigned_abs()).collect()
            } else {
                range.clone().rev().step_by(by.unsigned_abs()).collect()
            };
            let mut shape = model.shape.clone();
            shape[axis] = taken.len();
            let next = Model::picked(shape, |mut index| {
                index[axis] = taken[index[axis]];
                model.at(&index)
            });
            sliced(next, on_axis(axis, SliceArg::from(range).step_by(by)))
        }
        Step::Index(axis, at) => {
            let axis = axis % ndim;
            let length = model.shape[axis];
            if length == 0 {
                return None;
            }
            let at = at % length;
            let mut shape = model.shape.clone();
            shape.remove(axis);
            let next = Model::picked(shape, |mut index| {
                index.insert(axis, at);
                model.at(&index)
            });
            // From the end as often as from the start.
            let arg = if at.is_multiple_of(2) {
                SliceArg::from(at)
            } else {
                SliceArg::from(at as isize - length as isize)
            };
            sliced(next, on_axis(axis, arg))
        }
        Step::Permute(a, b) => {
            let mut axes: Vec<usize> = (0..ndim).collect();
            axes.rotate_left(a % ndim);
            axes.swap(0, b % ndim);
            let shape = axes.iter().map(|&axis| model.shape[axis]).collect();
            let next = Model::picked(shape, |index| {
                let mut original = vec![0; ndim];
                axes.iter()
                    .zip(index)
                    .for_each(|(&axis, i)| original[axis] = i);
                model.at(&original)
            });
            Some((next, Action::Permute(axes)))
        }
    }
}

#[derive(Debug)]
enum Action {
    Slice(Vec<SliceArg>),
    Permute(Vec<usize>),
    Broadcast(Vec<usize>),
}

/// The same steps on the device and on the host.
fn walk<'a, T: Element>(array: &'a GpuArray<T>, steps: &[Step]) -> (GpuView<'a, T>, Model) {
    let (mut view, mut model) = (array.view(), Model::new(array.shape()));
    for step in steps {
        if let Some((next, action)) = take(&model, step) {
            view = match action {
                Action::Slice(args) => view.slice(args),
                Action::Permute(axes) => view.permute(&axes).expect("a permutation"),
                Action::Broadcast(shape) => view.broadcast_to(shape).expect("broadcasts"),
            };
            model = next;
        }
    }
    (view, model)
}

/// Whole numbers without pattern.
fn numbers(count: usize, seed: u32) -> Vec<i32> {
    (0..count as u32)
        .map(|v| ((v ^ seed).wrapping_mul(2_654_435_761) >> 16) as i32 - 30_000)
        .collect()
}

/// An elementwise operation of the random expressions: one that is exact on the host too.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Minimum,
    Maximum,
    Select,
    MulAdd,
    Neg,
    Abs,
    Square,
    Other,
}

/// A random expression. Leaves are numbers of operands.
#[derive(Clone, Debug)]
enum Tree {
    Operand(usize),
    Scalar(i32),
    Apply(Operation, Vec<Tree>),
    /// The same tree twice.
    Twice(Operation, Box<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    use Operation::{
        Abs, Add, Div, Maximum, Minimum, Mul, MulAdd, Neg, Other, Select, Square, Sub,
    };
    let leaf = prop_oneof![4 => (0usize..4).prop_map(Tree::Operand), 1 => (-9i32..10).prop_map(Tree::Scalar)];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let unary = prop::sample::select(vec![Neg, Abs, Square, Other]);
        let binary = prop::sample::select(vec![Add, Sub, Mul, Div, Minimum, Maximum]);
        let ternary = prop::sample::select(vec![Select, MulAdd]);
        prop_oneof![
            2 => (unary, inner.clone()).prop_map(|(operation, a)| Tree::Apply(operation, vec![a])),
            5 => (binary.clone(), inner.clone(), inner.clone()).prop_map(|(operation, a, b)| Tree::Apply(operation, vec![a, b])),
            2 => (ternary, inner.clone(), inner.clone(), inner.clone()).prop_map(|(operation, a, b, c)| Tree::Apply(operation, vec![a, b, c])),
            1 => (binary, inner).prop_map(|(operation, a)| Tree::Twice(operation, Box::new(a))),
        ]
    })
}

/// A dtype of the random expressions, with its arithmetic on the host.
trait Number: Element {
    fn new(value: i32) -> Self;
    fn apply(operation: Operation, args: &[Self]) -> Self;
    /// What differs between the types, on the device.
    fn device<'a>(operation: Operation, args: &[Expr<'a, Self>]) -> Expr<'a, Self>;
    fn scalar<'a>(value: i32) -> Expr<'a, Self>;
    fn same(left: Self, right: Self) -> bool;
}

macro_rules! float {
    ($($type:ty),+) => {$(
        impl Number for $type {
            fn new(value: i32) -> Self {
                // Fractions, zeros of both signs, infinities and NaN.
                match value.rem_euclid(23) {
                    0 => 0.0,
                    1 => -0.0,
                    2 => <$type>::NAN,
                    3 => <$type>::INFINITY,
                    _ => value as $type / 128.0,
                }
            }

            fn apply(operation: Operation, args: &[Self]) -> Self {
                let a = args[0];
                match operation {
                    Operation::Add => a + args[1],
                    Operation::Sub => a - args[1],
                    Operation::Mul => a * args[1],
                    Operation::Div => a / args[1],
                    Operation::Minimum => if a < args[1] || a.is_nan() { a } else { args[1] },
                    Operation::Maximum => if a > args[1] || a.is_nan() { a } else { args[1] },
                    Operation::Select => if a < args[1] { args[1] } else { args[2] },
                    Operation::MulAdd => a.mul_add(args[1], args[2]),
                    Operation::Neg => -a,
                    Operation::Abs => a.abs(),
                    Operation::Square => a * a,
                    Operation::Other => a.abs().sqrt().floor(),
                }
            }

            fn device<'a>(operation: Operation, args: &[Expr<'a, Self>]) -> Expr<'a, Self> {
                match operation {
                    Operation::Neg => -&args[0],
                    Operation::Other => args[0].abs().sqrt().floor(),
                    Operation::Div => &args[0] / &args[1],
                    _ => common_device(operation, args),
                }
            }

            fn scalar<'a>(value: i32) -> Expr<'a, Self> {
                Expr::scalar(Self::new(value))
            }

            fn same(left: Self, right: Self) -> bool {
                left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
            }
        }
    )+};
}

float!(f32, f64);

macro_rules! integer {
    ($($type:ty),+) => {$(
        impl Number for $type {
            fn new(value: i32) -> Self {
                value as $type
            }

            fn apply(operation: Operation, args: &[Self]) -> Self {
                let a = args[0];
                match operation {
                    Operation::Add => a.wrapping_add(args[1]),
                    Operation::Sub => a.wrapping_sub(args[1]),
                    Operation::Mul => a.wrapping_mul(args[1]),
                    // By an odd number, so never by zero.
                    Operation::Div => a.wrapping_div(args[1] | 1),
                    Operation::Minimum => a.min(args[1]),
                    Operation::Maximum => a.max(args[1]),
                    Operation::Select => if a < args[1] { args[1] } else { args[2] },
                    Operation::MulAdd => a.wrapping_mul(args[1]).wrapping_add(args[2]),
                    Operation::Neg => (0 as $type).wrapping_sub(a),
                    #[allow(unused_comparisons, reason = "also for unsigned types")]
                    Operation::Abs => if a < 0 { (0 as $type).wrapping_sub(a) } else { a },
                    Operation::Square => a.wrapping_mul(a),
                    Operation::Other => a.wrapping_rem(7) ^ 5,
                }
            }

            fn device<'a>(operation: Operation, args: &[Expr<'a, Self>]) -> Expr<'a, Self> {
                match operation {
                    Operation::Neg => 0 - &args[0],
                    Operation::Other => &args[0] % 7 ^ 5,
                    Operation::Div => &args[0] / (&args[1] | 1),
                    _ => common_device(operation, args),
                }
            }

            fn scalar<'a>(value: i32) -> Expr<'a, Self> {
                Expr::scalar(Self::new(value))
            }

            fn same(left: Self, right: Self) -> bool {
                left == right
            }
        }
    )+};
}

integer!(i32, u32, i64, u64);

fn common_device<'a, T: Element>(operation: Operation, args: &[Expr<'a, T>]) -> Expr<'a, T> {
    let a = &args[0];
    match operation {
        Operation::Add => a + &args[1],
        Operation::Sub => a - &args[1],
        Operation::Mul => a * &args[1],
        Operation::Minimum => a.minimum(&args[1]),
        Operation::Maximum => a.maximum(&args[1]),
        Operation::Select => a.lt(&args[1]).select(&args[1], &args[2]),
        Operation::MulAdd => a.mul_add(&args[1], &args[2]),
        Operation::Abs => a.abs(),
        Operation::Square => a.powi(2),
        Operation::Div | Operation::Neg | Operation::Other => unreachable!("each type has its own"),
    }
}

impl Tree {
    fn device<'a, T: Number>(&self, operands: &[GpuView<'a, T>]) -> Expr<'a, T> {
        match self {
            Tree::Operand(at) => Expr::from(&operands[at % operands.len()]),
            Tree::Scalar(value) => T::scalar(*value),
            Tree::Apply(operation, args) => T::device(
                *operation,
                &args
                    .iter()
                    .map(|arg| arg.device(operands))
                    .collect::<Vec<_>>(),
            ),
            Tree::Twice(operation, arg) => {
                let arg = arg.device(operands);
                T::device(*operation, &[arg.clone(), arg])
            }
        }
    }

    /// The value at one position, of the operands' values there.
    fn host<T: Number>(&self, operands: &[T]) -> T {
        match self {
            Tree::Operand(at) => operands[at % operands.len()],
            Tree::Scalar(value) => T::new(*value),
            Tree::Apply(operation, args) => T::apply(
                *operation,
                &args
                    .iter()
                    .map(|arg| arg.host(operands))
                    .collect::<Vec<_>>(),
            ),
            Tree::Twice(operation, arg) => {
                let arg = arg.host(operands);
                T::apply(*operation, &[arg, arg])
            }
        }
    }

    /// The numbers of the operands in use.
    fn uses(&self, operands: usize, used: &mut Vec<usize>) {
        match self {
            Tree::Operand(at) => used.push(at % operands),
            Tree::Scalar(_) => {}
            Tree::Apply(_, args) => args.iter().for_each(|arg| arg.uses(operands, used)),
            Tree::Twice(_, arg) => arg.uses(operands, used),
        }
    }
}

/// How an operand of a random expression lies in memory.
#[derive(Clone, Copy, Debug)]
struct OperandKind {
    /// Bits: axes of length 1.
    repeated: u8,
    /// Bits: axes that are walked backwards.
    reversed: u8,
    /// Bits: axes of which every second element is taken.
    stepped: u8,
    transposed: bool,
    /// Leading axes that are left out.
    missing: usize,
}

fn operand_kinds() -> impl Strategy<Value = Vec<OperandKind>> {
    let plain = Just(OperandKind {
        repeated: 0,
        reversed: 0,
        stepped: 0,
        transposed: false,
        missing: 0,
    });
    let any = (0u8..8, 0u8..8, 0u8..8, any::<bool>(), 0usize..3).prop_map(
        |(repeated, reversed, stepped, transposed, missing)| OperandKind {
            repeated,
            reversed,
            stepped,
            transposed,
            missing,
        },
    );
    proptest::collection::vec(prop_oneof![2 => plain, 3 => any], 1..5)
}

/// Checks one expression over operands that broadcast to `shape`.
fn check_expression<T: Number>(
    shape: &[usize],
    kinds: &[OperandKind],
    tree: &Tree,
    seed: u32,
) -> Result<(), TestCaseError> {
    let bit = |bits: u8, axis: usize| bits >> axis & 1 == 1;
    let mut arrays = Vec::new();
    let mut hosts = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        let axes: Vec<usize> = (kind.missing.min(shape.len())..shape.len()).collect();
        let mut stored: Vec<usize> = axes
            .iter()
            .map(|&axis| {
                if bit(kind.repeated, axis) {
                    1
                } else if bit(kind.stepped, axis) {
                    shape[axis] * 2
                } else {
                    shape[axis]
                }
            })
            .collect();
        if kind.transposed {
            stored.reverse();
        }
        let host: Vec<T> = numbers(
            stored.iter().product(),
            seed.wrapping_add(number as u32 * 77),
        )
        .into_iter()
        .map(T::new)
        .collect();
        arrays.push(array(&host, stored));
        hosts.push((host, axes));
    }
    let mut views = Vec::new();
    for ((array, (_, axes)), kind) in arrays.iter().zip(&hosts).zip(kinds) {
        let mut view = array.view();
        if kind.transposed {
            view = view.t();
        }
        let mut args = Vec::new();
        for &axis in axes {
            let step = if bit(kind.stepped, axis) && !bit(kind.repeated, axis) {
                2
            } else {
                1
            };
            let arg = SliceArg::from(..);
            args.push(if bit(kind.reversed, axis) {
                arg.step_by(-step)
            } else {
                arg.step_by(step)
            });
        }
        views.push(view.slice(args));
    }
    let mut used = Vec::new();
    tree.uses(views.len(), &mut used);
    let expr = tree.device(&views);
    // The shape that the operands in use have together.
    let ndim = used.iter().map(|&at| views[at].ndim()).max().unwrap_or(0);
    let mut want_shape = vec![1; ndim];
    for &at in &used {
        let own = views[at].shape();
        for (slot, &length) in want_shape[ndim - own.len()..].iter_mut().zip(own) {
            if *slot == 1 {
                *slot = length;
            }
        }
    }
    let elements: Vec<(Vec<usize>, Vec<T>)> = views
        .iter()
        .map(|view| (view.shape().to_vec(), view.to_vec().expect("gathers")))
        .collect();
    let want: Vec<T> = indices(&want_shape)
        .map(|index| {
            let values: Vec<T> = elements
                .iter()
                .enumerate()
                .map(|(at, (own, values))| {
                    // An operand that is not in use may not broadcast; its value does not matter.
                    if !used.contains(&at) {
                        return T::default();
                    }
                    let skip = index.len() - own.len();
                    let position =
                        own.iter()
                            .zip(&index[skip..])
                            .fold(0, |position, (&length, &i)| {
                                position * length + if length == 1 { 0 } else { i }
                            });
                    values[position]
                })
                .collect();
            tree.host(&values)
        })
        .collect();
    let got = expr
        .eval_on(&stream())
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(got.shape(), &want_shape[..]);
    for (at, (got, want)) in got
        .to_vec()
        .expect("copies")
        .into_iter()
        .zip(&want)
        .enumerate()
    {
        prop_assert!(
            T::same(got, *want),
            "element {} is {:?} instead of {:?}\n{}",
            at,
            got,
            want,
            expr.explain().expect("evaluated")
        );
    }
    // Into a strided target, and nothing beside it.
    if !want_shape.is_empty() {
        let mut large = want_shape.clone();
        *large.last_mut().expect("not empty") *= 2;
        let mut target = GpuArray::full(&stream(), large, T::new(77)).expect("fills");
        let last = want_shape.len() - 1;
        target
            .slice_mut(on_axis(last, SliceArg::from(..).step_by(-2)))
            .assign(&expr)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let length = want_shape[last];
        for (row, want) in target
            .to_vec()
            .expect("copies")
            .chunks((length * 2).max(1))
            .zip(want.chunks(length.max(1)))
        {
            for (at, &got) in row.iter().enumerate() {
                let want = if at % 2 == 1 {
                    want[length - 1 - at / 2]
                } else {
                    T::new(77)
                };
                prop_assert!(T::same(got, want), "target {:?} instead of {:?}", got, want);
            }
        }
    }
    Ok(())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

macro_rules! expressions {
    ($($name:ident $type:ty;)+) => {$(
        proptest! {
            #![proptest_config(config())]
            #[test]
            fn $name(
                shape in proptest::collection::vec(prop_oneof![1 => Just(0usize), 12 => 1usize..10], 0..4),
                kinds in operand_kinds(),
                tree in tree(),
                seed in any::<u32>(),
            ) {
                check_expression::<$type>(&shape, &kinds, &tree, seed)?;
            }
        }
    )+};
}

expressions! {
    expressions_of_f32 f32;
    expressions_of_f64 f64;
    expressions_of_i32 i32;
    expressions_of_u32 u32;
    expressions_of_i64 i64;
    expressions_of_u64 u64;
}

proptest! {
    #![proptest_config(config())]

    /// Any view reads, evaluates and reduces as its elements picked on the host.
    #[test]
    fn views_read(shape in shape(), steps in steps(), seed in any::<u32>()) {
        let host = numbers(shape.iter().product(), seed);
        let x = array(&host, &shape[..]);
        let (view, model) = walk(&x, &steps);
        let want: Vec<i32> = model.positions.iter().map(|&at| host[at]).collect();
        prop_assert_eq!(view.shape(), &model.shape[..]);
        prop_assert_eq!(view.to_vec().expect("gathers"), want.clone());
        prop_assert_eq!((&view * 3).eval().expect("evaluates").to_vec().expect("copies"), want.iter().map(|v| v * 3).collect::<Vec<_>>());
        prop_assert_eq!(view.sum().expect("sums"), want.iter().map(|&v| i64::from(v)).sum::<i64>());
        prop_assert_eq!(view.min().ok(), want.iter().min().copied());
        prop_assert_eq!(view.max().ok(), want.iter().max().copied());
    }

    /// Writing any view writes its elements and nothing else.
    #[test]
    fn views_write(shape in shape(), steps in steps(), seed in any::<u32>()) {
        let host = numbers(shape.iter().product(), seed);
        let mut x = array(&host, &shape[..]);
        let mut model = Model::new(&shape);
        let mut view = x.view_mut();
        for step in &steps {
            match take(&model, step) {
                Some((next, Action::Slice(args))) => {
                    view = view.into_slice(args);
                    model = next;
                }
                // Reversing the axes is the permutation that mutable views have.
                Some((_, Action::Permute(_))) => {
                    view = view.into_t();
                    let ndim = model.shape.len();
                    let shape = model.shape.iter().rev().copied().collect();
                    model = Model::picked(shape, |mut index| {
                        index.reverse();
                        debug_assert_eq!(index.len(), ndim);
                        model.at(&index)
                    });
                }
                _ => {}
            }
        }
        let values = numbers(model.positions.len(), seed ^ 1);
        view.copy_from_slice(&values).expect("scatters");
        view.update(|x| x + 1).expect("updates");
        let mut want = host;
        for (&at, value) in model.positions.iter().zip(&values) {
            want[at] = value + 1;
        }
        prop_assert_eq!(x.to_vec().expect("copies"), want);
    }

    /// Overlapping copies within an array are as if the source were copied first.
    #[test]
    fn overlapping_copies(length in 1usize..40, from in 0usize..40, to in 0usize..40, reverse in any::<bool>()) {
        let host = numbers(length, 5);
        let mut x = array(&host, length);
        let (from, to) = (from % length, to % length);
        let count = (length - from).min(length - to);
        let source = SliceArg::from(from..from + count).step_by(if reverse { -1 } else { 1 });
        x.copy_within([source], [SliceArg::from(to..to + count)]).expect("copies");
        let mut part = host[from..from + count].to_vec();
        if reverse {
            part.reverse();
        }
        let mut want = host;
        want[to..to + count].copy_from_slice(&part);
        prop_assert_eq!(x.to_vec().expect("copies"), want);
    }
}
