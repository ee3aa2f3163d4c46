//! Leaves of expressions that are not arrays: the open end of the expression language.

use std::fmt::Debug;

use cuprum_driver_core::{Args, DeviceView};

use crate::element::{DType, Element, Scalar};
use crate::error::Result;
use crate::expr::AnyView;

/// A source of values that a fused kernel computes where it needs them: a sequence, random numbers, texture reads.
///
/// An expression leaf has a shape, and for each position in it (counted in row-major order from 0) a value, which a fragment of CUDA C++
/// computes from the position and from arguments. The kernel of an expression is found by structure, so everything that changes the *source*
/// must be in [`structure`](Self::structure), and what may differ from launch to launch without a new kernel must be an argument.
///
/// Make an expression of a leaf with [`Expr::from_leaf`](crate::Expr::from_leaf), together with the device memory that it reads. The leaf
/// itself borrows nothing: that keeps the borrows of expressions short.
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
///     fn arguments(&self, _: &mut LeafArgs<'_>) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
/// // SAFETY: the source of `Squares` computes its value from the position alone.
/// let squares = unsafe { Expr::from_leaf(Squares(4), []) };
/// let halves = (squares / 2.0).eval_on(&stream)?;
/// assert_eq!(halves.to_vec()?, [0.0, 0.5, 2.0, 4.5]);
/// # Ok(())
/// # }
/// ```
pub trait Leaf: Debug + Send + Sync + 'static {
    /// The type of the values.
    type Value: Scalar;

    /// The shape of the values; broadcasts against the other operands as an array of this shape would.
    fn shape(&self) -> &[usize];

    /// What tells apart leaves of this Rust type that have different [`source`](Self::source). A leaf with one source answers a constant.
    fn structure(&self) -> u64;

    /// Writes the source; called only when a kernel is built.
    fn source(&self, source: &mut LeafSource);

    /// Pushes the scalar arguments, in the order in which [`source`](Self::source) declares them; called at each launch.
    ///
    /// # Errors
    /// What the leaf finds wrong with its own arguments; the evaluation answers it.
    fn arguments(&self, args: &mut LeafArgs<'_>) -> Result<()>;
}

/// A [`Leaf`] without its value type, as nodes hold it.
pub(crate) trait AnyLeaf: Debug + Send + Sync {
    fn dtype(&self) -> DType;
    fn shape(&self) -> &[usize];
    /// Identifies the Rust type of the leaf and its structure.
    fn structure(&self) -> [u64; 2];
    fn source(&self, source: &mut LeafSource);
    fn arguments(&self, args: &mut LeafArgs<'_>) -> Result<()>;
}

impl<L: Leaf> AnyLeaf for L {
    fn dtype(&self) -> DType {
        L::Value::DTYPE
    }

    fn shape(&self) -> &[usize] {
        Leaf::shape(self)
    }

    fn structure(&self) -> [u64; 2] {
        // The function that writes the source stands for the type. Types may share one only if its code is the same, and then so is the source.
        let function = L::source as fn(&L, &mut LeafSource);
        [function as usize as u64, Leaf::structure(self)]
    }

    fn source(&self, source: &mut LeafSource) {
        Leaf::source(self, source);
    }

    fn arguments(&self, args: &mut LeafArgs<'_>) -> Result<()> {
        Leaf::arguments(self, args)
    }
}

/// Memory that a leaf reads: see [`Expr::from_leaf`](crate::Expr::from_leaf).
#[derive(Clone, Debug)]
pub struct LeafRead<'a>(pub(crate) AnyView<'a>);

impl<'a, T: Element> From<DeviceView<'a, T>> for LeafRead<'a> {
    fn from(view: DeviceView<'a, T>) -> Self {
        Self(T::any_view(view))
    }
}

/// Collects the source of a [`Leaf`]: parameters, device functions it needs, and the expression of its value.
#[derive(Debug)]
pub struct LeafSource {
    /// A prefix that no other leaf of the kernel uses.
    prefix: String,
    pub(crate) items: String,
    /// C type and name of each parameter. Pointers come first in the kernel.
    pointers: Vec<(String, String)>,
    scalars: Vec<(String, String)>,
    pub(crate) value: String,
}

impl LeafSource {
    pub(crate) fn new(prefix: String) -> Self {
        Self {
            prefix,
            items: String::new(),
            pointers: Vec::new(),
            scalars: Vec::new(),
            value: String::new(),
        }
    }

    /// All parameters, in order.
    pub(crate) fn params(&self) -> impl Iterator<Item = &(String, String)> {
        self.pointers.iter().chain(&self.scalars)
    }

    /// The name of the position, an `unsigned long long`: the row-major index in the leaf's own shape.
    pub fn index(&self) -> &'static str {
        "index"
    }

    /// Declares the next scalar parameter and gives its name.
    pub fn scalar<T: Element>(&mut self) -> String {
        let name = format!("{}s{}", self.prefix, self.scalars.len());
        self.scalars
            .push((format!("const {}", T::DTYPE.c_name()), name.clone()));
        name
    }

    /// Declares the pointer to the next of the memories that the leaf reads, and gives its name. The kernel must only read through it.
    pub fn pointer<T: Element>(&mut self) -> String {
        let name = format!("{}p{}", self.prefix, self.pointers.len());
        self.pointers.push((
            format!("const {}* __restrict__", T::DTYPE.c_name()),
            name.clone(),
        ));
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

/// Collects the scalar arguments of a [`Leaf`] at a launch, in the order of its parameters.
pub struct LeafArgs<'l> {
    pub(crate) args: Args<'l>,
}

impl LeafArgs<'_> {
    pub(crate) fn new() -> Self {
        Self { args: Args::new() }
    }

    /// The argument of a [`LeafSource::scalar`] parameter.
    pub fn scalar<T: Element>(&mut self, value: T) {
        self.args.scalar(value);
    }
}

impl Debug for LeafArgs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LeafArgs").field(&self.args).finish()
    }
}
