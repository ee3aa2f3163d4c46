//! The operators `+ - * / %`, unary `-`, and `& | ^ !` on integers and masks.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

use crate::array::GpuArray;
use crate::element::{Bits, Element, Signed};
use crate::expr::{Expr, IntoExpr, Op};
use crate::view::{GpuView, GpuViewMut};

/// One binary operator for every left operand that is not a scalar. The right one is anything that is an operand.
macro_rules! binary {
    ($operator:ident $method:ident $bound:ident) => {
        impl<'a, T: $bound, R: IntoExpr<'a, T>> $operator<R> for Expr<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self, right: R) -> Expr<'a, T> {
                self.binary(Op::$operator, right.into_expr())
            }
        }
        impl<'a, T: $bound, R: IntoExpr<'a, T>> $operator<R> for &Expr<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self, right: R) -> Expr<'a, T> {
                self.clone().binary(Op::$operator, right.into_expr())
            }
        }
        binary!(@arrays $operator $method Element, $bound);
    };
    (@arrays $operator:ident $method:ident $element:ident, $bound:ident) => {
        impl<'a, T: $element + $bound, R: IntoExpr<'a, T>> $operator<R> for &'a GpuArray<T> {
            type Output = Expr<'a, T>;
            fn $method(self, right: R) -> Expr<'a, T> {
                self.into_expr().binary(Op::$operator, right.into_expr())
            }
        }
        impl<'a, T: $element + $bound, R: IntoExpr<'a, T>> $operator<R> for GpuView<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self, right: R) -> Expr<'a, T> {
                self.into_expr().binary(Op::$operator, right.into_expr())
            }
        }
        impl<'a, T: $element + $bound, R: IntoExpr<'a, T>> $operator<R> for &GpuView<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self, right: R) -> Expr<'a, T> {
                self.into_expr().binary(Op::$operator, right.into_expr())
            }
        }
        impl<'a, T: $element + $bound, R: IntoExpr<'a, T>> $operator<R> for &'a GpuViewMut<'_, T> {
            type Output = Expr<'a, T>;
            fn $method(self, right: R) -> Expr<'a, T> {
                self.into_expr().binary(Op::$operator, right.into_expr())
            }
        }
    };
}

// The operations carry the names of the operators' traits, except these.
impl Op {
    #![expect(
        non_upper_case_globals,
        reason = "the macro names operations as the operators' traits are named"
    )]
    const BitAnd: Op = Op::And;
    const BitOr: Op = Op::Or;
    const BitXor: Op = Op::Xor;
}

binary!(Add add Element);
binary!(Sub sub Element);
binary!(Mul mul Element);
binary!(Div div Element);
binary!(Rem rem Element);
binary!(BitAnd bitand Bits);
binary!(BitOr bitor Bits);
binary!(BitXor bitxor Bits);

/// Scalars on the left. Rust's rules for foreign types want one implementation for each scalar type.
macro_rules! scalar_left {
    ($($scalar:ty: $($operator:ident $method:ident),+;)+) => {$($(
        impl<'a> $operator<Expr<'a, $scalar>> for $scalar {
            type Output = Expr<'a, $scalar>;
            fn $method(self, right: Expr<'a, $scalar>) -> Expr<'a, $scalar> {
                Expr::scalar(self).binary(Op::$operator, right)
            }
        }
        impl<'a> $operator<&Expr<'a, $scalar>> for $scalar {
            type Output = Expr<'a, $scalar>;
            fn $method(self, right: &Expr<'a, $scalar>) -> Expr<'a, $scalar> {
                Expr::scalar(self).binary(Op::$operator, right.clone())
            }
        }
        impl<'a> $operator<&'a GpuArray<$scalar>> for $scalar {
            type Output = Expr<'a, $scalar>;
            fn $method(self, right: &'a GpuArray<$scalar>) -> Expr<'a, $scalar> {
                Expr::scalar(self).binary(Op::$operator, right.into_expr())
            }
        }
        impl<'a> $operator<GpuView<'a, $scalar>> for $scalar {
            type Output = Expr<'a, $scalar>;
            fn $method(self, right: GpuView<'a, $scalar>) -> Expr<'a, $scalar> {
                Expr::scalar(self).binary(Op::$operator, right.into_expr())
            }
        }
        impl<'a> $operator<&GpuView<'a, $scalar>> for $scalar {
            type Output = Expr<'a, $scalar>;
            fn $method(self, right: &GpuView<'a, $scalar>) -> Expr<'a, $scalar> {
                Expr::scalar(self).binary(Op::$operator, right.into_expr())
            }
        }
    )+)+};
}

scalar_left! {
    f32: Add add, Sub sub, Mul mul, Div div, Rem rem;
    f64: Add add, Sub sub, Mul mul, Div div, Rem rem;
    i32: Add add, Sub sub, Mul mul, Div div, Rem rem, BitAnd bitand, BitOr bitor, BitXor bitxor;
    u32: Add add, Sub sub, Mul mul, Div div, Rem rem, BitAnd bitand, BitOr bitor, BitXor bitxor;
    i64: Add add, Sub sub, Mul mul, Div div, Rem rem, BitAnd bitand, BitOr bitor, BitXor bitxor;
    u64: Add add, Sub sub, Mul mul, Div div, Rem rem, BitAnd bitand, BitOr bitor, BitXor bitxor;
}

macro_rules! unary {
    ($operator:ident $method:ident $bound:ident) => {
        impl<'a, T: $bound> $operator for Expr<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self) -> Expr<'a, T> {
                self.unary(Op::$operator)
            }
        }
        impl<'a, T: $bound> $operator for &Expr<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self) -> Expr<'a, T> {
                self.clone().unary(Op::$operator)
            }
        }
        impl<'a, T: Element + $bound> $operator for &'a GpuArray<T> {
            type Output = Expr<'a, T>;
            fn $method(self) -> Expr<'a, T> {
                self.into_expr().unary(Op::$operator)
            }
        }
        impl<'a, T: Element + $bound> $operator for GpuView<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self) -> Expr<'a, T> {
                self.into_expr().unary(Op::$operator)
            }
        }
        impl<'a, T: Element + $bound> $operator for &GpuView<'a, T> {
            type Output = Expr<'a, T>;
            fn $method(self) -> Expr<'a, T> {
                self.into_expr().unary(Op::$operator)
            }
        }
    };
}

unary!(Neg neg Signed);
unary!(Not not Bits);
