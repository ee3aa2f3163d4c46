//! Leaves of expressions that are not arrays: the open end of the expression language.

use std::fmt::{Debug, Write as _};
use std::ops::Range;

use cuprum_driver_core::{Args, DeviceView, Stream};
use smallvec::SmallVec;

use crate::element::{DType, Element, Scalar};
use crate::error::Result;

/// A source of values that a fused kernel computes where it needs them: a sequence, random numbers, texture reads.
///
/// An expression leaf has a shape, and for each position in it (counted in row-major order from 0) a value, which a fragment of CUDA C++
/// computes from the position and from arguments. The kernel of an expression is found by structure, so everything that changes the *source*
/// must be in [`structure`](Self::structure), and what may differ from launch to launch without a new kernel must be an argument.
///
/// Make an expression of a leaf with [`Expr::from_leaf`](crate::Expr::from_leaf).
///
/// ```
/// use cuprum_gpuarray::expr::{Leaf, LeafArgs, LeafSource};
/// use cuprum_gpuarray::{Expr, Operand as _, Result};
///
/// /// The squares of 0, 1, 2, ..
/// #[derive(Debug)]
/// struct Squares(usize);
///
/// impl Leaf for Squares {
///     type Value = f64;
///     fn shape(&self) -> &[usize] {
///         std::slice::from_ref(&self.0)
///     }
///     fn structure(&self) -> u64 {
///         0 // always the same source
///     }
///     fn source(&self, source: &mut LeafSource) {
///         let index = source.index();
///         source.value(format!("(double){index} * (double){index}"));
///     }
///     fn arguments<'l>(&'l self, _: &mut LeafArgs<'l>) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
/// let halves = (Expr::from_leaf(Squares(4)) / 2.0).eval_on(&stream)?;
/// assert_eq!(halves.to_vec()?, [0.0, 0.5, 2.0, 4.5]);
/// # Ok(())
/// # }
/// ```
pub trait Leaf: Debug + Send + Sync {
    /// The type of the values.
    type Value: Scalar;

    /// The shape of the values; broadcasts against the other operands as an array of this shape would.
    fn shape(&self) -> &[usize];

    /// What tells apart leaves of this Rust type that have different [`source`](Self::source). A leaf with one source answers a constant.
    fn structure(&self) -> u64;

    /// Writes the source; called only when a kernel is built. The order of parameters must be that of [`arguments`](Self::arguments).
    fn source(&self, source: &mut LeafSource);

    /// Pushes the arguments; called at each launch.
    ///
    /// # Errors
    /// What the leaf finds wrong with its own arguments; the evaluation answers it.
    fn arguments<'l>(&'l self, args: &mut LeafArgs<'l>) -> Result<()>;

    /// The stream that an evaluation without a named stream should use, if this leaf holds device memory.
    fn stream(&self) -> Option<&Stream> {
        None
    }
}

/// A [`Leaf`] without its value type, as nodes hold it.
pub(crate) trait AnyLeaf: Debug + Send + Sync {
    fn dtype(&self) -> DType;
    fn shape(&self) -> &[usize];
    /// Identifies the Rust type of the leaf and its structure.
    fn structure(&self) -> [u64; 2];
    fn source(&self, source: &mut LeafSource);
    fn arguments<'l>(&'l self, args: &mut LeafArgs<'l>) -> Result<()>;
    fn stream(&self) -> Option<&Stream>;
}

impl<L: Leaf> AnyLeaf for L {
    fn dtype(&self) -> DType {
        L::Value::DTYPE
    }

    fn shape(&self) -> &[usize] {
        Leaf::shape(self)
    }

    fn structure(&self) -> [u64; 2] {
        // The type's name stands for the type: `TypeId` needs `'static`, and leaves may borrow. Two types of one name in one program (two
        // versions of one crate) are told apart by the address of their source function.
        let function = L::source as fn(&L, &mut LeafSource);
        [function as usize as u64, Leaf::structure(self)]
    }

    fn source(&self, source: &mut LeafSource) {
        Leaf::source(self, source);
    }

    fn arguments<'l>(&'l self, args: &mut LeafArgs<'l>) -> Result<()> {
        Leaf::arguments(self, args)
    }

    fn stream(&self) -> Option<&Stream> {
        Leaf::stream(self)
    }
}

/// Collects the source of a [`Leaf`]: parameters, device functions it needs, and the expression of its value.
#[derive(Debug, Default)]
pub struct LeafSource {
    /// A prefix that no other leaf of the kernel uses.
    pub(crate) prefix: String,
    pub(crate) items: String,
    /// C type and name of each parameter.
    pub(crate) params: Vec<(String, String)>,
    pub(crate) value: String,
}

impl LeafSource {
    /// The name of the position, an `unsigned long long`: the row-major index in the leaf's own shape.
    pub fn index(&self) -> &'static str {
        "index"
    }

    /// Declares the next kernel parameter and gives its name.
    pub fn scalar<T: Element>(&mut self) -> String {
        self.param(T::DTYPE.c_name().to_owned())
    }

    /// Declares the next kernel parameter, a pointer to elements that the kernel reads, and gives its name.
    pub fn pointer<T: Element>(&mut self) -> String {
        self.param(format!("const {}* __restrict__", T::DTYPE.c_name()))
    }

    fn param(&mut self, c_type: String) -> String {
        let mut name = String::new();
        write!(name, "{}p{}", self.prefix, self.params.len()).expect("writing to a string succeeds");
        self.params.push((c_type, name.clone()));
        name
    }

    /// Adds text at file scope, before the kernel: device functions, tables. Names must be unlikely to meet others'; equal text of several
    /// leaves is emitted once.
    pub fn items(&mut self, text: &str) {
        self.items.push_str(text);
    }

    /// Sets the C++ expression of the value, of the leaf's type.
    pub fn value(&mut self, expression: impl Into<String>) {
        self.value = expression.into();
    }
}

/// Collects the arguments of a [`Leaf`] at a launch, in the order of its parameters.
pub struct LeafArgs<'l> {
    pub(crate) args: Args<'l>,
    /// The addresses that leaves read.
    pub(crate) reads: SmallVec<[Range<u64>; 2]>,
}

impl<'l> LeafArgs<'l> {
    pub(crate) fn new() -> Self {
        Self { args: Args::new(), reads: SmallVec::new() }
    }

    /// The argument of a [`LeafSource::scalar`] parameter.
    pub fn scalar<T: Element>(&mut self, value: T) {
        self.args.scalar(value);
    }

    /// The argument of a [`LeafSource::pointer`] parameter: the address of the first element. The kernel only reads through it.
    pub fn view<T: Element>(&mut self, view: DeviceView<'l, T>) {
        self.reads.push(view.address()..view.address() + view.size_bytes() as u64);
        self.args.read(view);
    }
}

impl Debug for LeafArgs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LeafArgs").field(&self.args).finish()
    }
}
