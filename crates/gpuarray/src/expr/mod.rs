//! Lazy expressions: [`Expr`], what can be an operand ([`IntoExpr`], [`Operand`]), and leaves of other crates ([`Leaf`]).

mod any_view;
mod function;
mod leaf;
mod node;
mod op;
mod operator;
mod sequence;

use std::marker::PhantomData;
use std::sync::Arc;

pub use any_view::Erase;
pub(crate) use any_view::{AnyView, AnyViewMut};
pub use function::Operand;
pub(crate) use leaf::AnyLeaf;
pub use leaf::{Leaf, LeafArgs, LeafRead, LeafSource};
pub(crate) use node::{LeafNode, MAX_DEPTH, Node, ViewLeaf};
pub(crate) use op::{Op, POWER_HELPER};
pub(crate) use sequence::Linspace;

use crate::array::GpuArray;
use crate::element::{Element, Scalar};
use crate::error::Result;
use crate::shape::Shape;
use crate::view::{GpuView, GpuViewMut};

/// A lazy elementwise expression whose values are of type `T`, over arrays borrowed for `'a`.
///
/// Made by operators and the functions of [`Operand`]; nothing runs until [`eval`](Operand::eval), an assignment or a reduction closes it, and
/// that is one kernel however long the expression is. Cloning counts a reference; an expression used twice is computed once.
pub struct Expr<'a, T> {
    pub(crate) node: Node<'a>,
    value: PhantomData<fn() -> T>,
}

impl<'a, T: Scalar> Expr<'a, T> {
    pub(crate) fn new(node: Node<'a>) -> Self {
        debug_assert_eq!(node.dtype(), T::DTYPE);
        Self {
            node,
            value: PhantomData,
        }
    }

    /// The expression that is `leaf`, whose source reads `memory`.
    pub(crate) fn of_leaf(
        leaf: impl Leaf<Value = T>,
        memory: impl IntoIterator<Item = LeafRead<'a>>,
    ) -> Self {
        let reads = memory.into_iter().map(|read| read.0).collect();
        Self::new(Node::Leaf(Arc::new(LeafNode {
            leaf: Box::new(leaf),
            reads,
        })))
    }

    /// The expression that is `value` everywhere. Operators take scalars as they are; this is for a function that must return an expression.
    pub fn scalar(value: T) -> Self {
        Self::new(Node::Scalar(T::DTYPE, value.to_bits64()))
    }

    /// The shape of the values: that of all operands broadcast together.
    ///
    /// # Errors
    /// If operands do not broadcast.
    pub fn shape(&self) -> Result<Shape> {
        self.node.shape()
    }

    pub(crate) fn unary<U: Scalar>(self, op: Op) -> Expr<'a, U> {
        Expr::new(Node::op(op, U::DTYPE, 0, [Some(self.node), None, None]))
    }

    pub(crate) fn binary<U: Scalar>(self, op: Op, right: Expr<'a, T>) -> Expr<'a, U> {
        Expr::new(Node::op(
            op,
            U::DTYPE,
            0,
            [Some(self.node), Some(right.node), None],
        ))
    }
}

impl<T> Clone for Expr<'_, T> {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            value: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for Expr<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Expr").field(&self.node).finish()
    }
}

/// What can be an operand of an expression with values of type `T`: arrays and views by reference, expressions, and scalars of type `T`.
///
/// Dtypes never mix silently: an `f32` array and an `f64` scalar do not add.
///
/// ```compile_fail
/// # fn f(x: &cuprum_gpuarray::GpuArray<f32>) {
/// let y = x + 1.0f64;
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand for an expression of `{T}`",
    note = "operands are `&GpuArray<{T}>`, views of it, `Expr<{T}>` and scalars of type `{T}`; convert other dtypes with `.cast::<{T}>()`"
)]
pub trait IntoExpr<'a, T: Scalar> {
    /// This operand as an expression.
    fn into_expr(self) -> Expr<'a, T>;
}

impl<'a, T: Scalar> IntoExpr<'a, T> for Expr<'a, T> {
    fn into_expr(self) -> Expr<'a, T> {
        self
    }
}

impl<'a, T: Scalar> IntoExpr<'a, T> for &Expr<'a, T> {
    fn into_expr(self) -> Expr<'a, T> {
        self.clone()
    }
}

impl<'a, T: Element> IntoExpr<'a, T> for &'a GpuArray<T> {
    fn into_expr(self) -> Expr<'a, T> {
        self.view().into_expr()
    }
}

impl<'a, T: Element> IntoExpr<'a, T> for GpuView<'a, T> {
    fn into_expr(self) -> Expr<'a, T> {
        Expr::new(Node::View(Arc::new(self.into_leaf())))
    }
}

impl<'a, T: Element> IntoExpr<'a, T> for &GpuView<'a, T> {
    fn into_expr(self) -> Expr<'a, T> {
        self.clone().into_expr()
    }
}

impl<'a, T: Element> IntoExpr<'a, T> for &'a GpuViewMut<'_, T> {
    fn into_expr(self) -> Expr<'a, T> {
        self.view().into_expr()
    }
}

impl<'a, T: Element> From<GpuView<'a, T>> for Expr<'a, T> {
    fn from(view: GpuView<'a, T>) -> Self {
        view.into_expr()
    }
}

impl<'a, T: Element> From<&GpuView<'a, T>> for Expr<'a, T> {
    fn from(view: &GpuView<'a, T>) -> Self {
        view.into_expr()
    }
}

impl<'a, T: Element> From<&'a GpuArray<T>> for Expr<'a, T> {
    fn from(array: &'a GpuArray<T>) -> Self {
        array.into_expr()
    }
}

macro_rules! scalars_are_operands {
    ($($scalar:ty),+) => {$(
        impl<'a> IntoExpr<'a, $scalar> for $scalar {
            fn into_expr(self) -> Expr<'a, $scalar> {
                Expr::scalar(self)
            }
        }
    )+};
}

scalars_are_operands!(bool, i32, u32, i64, u64, f32, f64);
