//! The methods of operands: functions, comparisons, casts, and what closes an expression.

use cuprum_driver_core::Stream;

use crate::array::GpuArray;
use crate::element::{Bits, CastTo, Element, Float, Scalar, Signed};
use crate::error::Result;
use crate::expr::{Expr, IntoExpr, Node, Op};
use crate::kernel::launch;
use crate::reduce::axes::{self, Axes};
use crate::reduce::{self, Reduction};
use crate::view::{GpuView, GpuViewMut};

/// What arrays, views and expressions can do as operands. Bring it into scope to call these methods.
///
/// Each method takes a reference, so an operand can be used again; what it gives is lazy, except for [`eval`](Self::eval) and the reductions,
/// which run one kernel for the whole expression.
///
/// Functions of floats are CUDA's, in the precision of the type, with CUDA's stated accuracy. The values of an expression do not depend on how
/// it is cut into kernels: multiplications and additions are never contracted by themselves.
///
/// # Integers
///
/// `+ - *`, negation and [`powi`](Self::powi) wrap on overflow, in release and debug builds. Division truncates towards zero and `%` has the
/// sign of the dividend, as in Rust and C (NumPy's `//` floors). Dividing by zero is no error: the result is what the device gives, all ones on
/// NVIDIA's for 32-bit types. `MIN / -1` is `MIN`, `MIN % -1` is 0.
#[allow(
    clippy::wrong_self_convention,
    reason = "what implements this are references"
)]
pub trait Operand<'a>: IntoExpr<'a, Self::Value> + Sized {
    /// The type of the values.
    type Value: Scalar;

    /// Computes the values into a new row-major array, on the home stream of the first array in the expression.
    ///
    /// # Errors
    /// If operands do not broadcast or live in different contexts, if there is no array to tell the device (then see
    /// [`eval_on`](Self::eval_on)), if no compiler can be found, or if the driver fails.
    #[doc(alias = "copy")]
    fn eval(self) -> Result<GpuArray<Self::Value>>
    where
        Self::Value: Element,
    {
        launch::eval(&self.into_expr().node, None)
    }

    /// As [`eval`](Self::eval), on `stream`, which becomes the home stream of the result. What other streams do to the operands is waited for.
    ///
    /// # Errors
    /// As `eval`.
    fn eval_on(self, stream: &Stream) -> Result<GpuArray<Self::Value>>
    where
        Self::Value: Element,
    {
        launch::eval(&self.into_expr().node, Some(stream))
    }

    /// Finds or builds the kernel that [`eval`](Self::eval) would run, and runs nothing: the first evaluation is then as quick as later ones.
    ///
    /// # Errors
    /// As `eval`.
    fn prepare(self) -> Result<()>
    where
        Self::Value: Element,
    {
        launch::prepare(&self.into_expr().node)
    }

    /// What evaluating would run: the kernel's source, its launch and its memory traffic. Runs nothing and compiles nothing.
    ///
    /// # Errors
    /// If operands do not broadcast.
    fn explain(self) -> Result<crate::Explanation> {
        launch::explain(&self.into_expr().node)
    }

    /// The value as type `U`, with the meaning of Rust's `as`: floats to integers truncate, saturate and make 0 of NaN; integers wrap; integers
    /// to floats round to nearest; masks become 0 and 1.
    #[doc(alias = "astype")]
    fn cast<U: CastTo>(self) -> Expr<'a, U> {
        let expr = self.into_expr();
        if expr.node.dtype() == U::DTYPE {
            Expr::new(expr.node)
        } else {
            expr.unary(Op::Cast)
        }
    }

    /// The absolute value. Wraps for the least integer.
    fn abs(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Element,
    {
        self.into_expr().unary(Op::Abs)
    }

    /// -1, 0 or 1 with the sign of the value; NaN for NaN.
    fn sign(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Signed,
    {
        self.into_expr().unary(Op::Sign)
    }

    /// The smaller of two values; NaN if either is.
    fn minimum(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, Self::Value>
    where
        Self::Value: Element,
    {
        self.into_expr().binary(Op::Minimum, other.into_expr())
    }

    /// The larger of two values; NaN if either is.
    fn maximum(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, Self::Value>
    where
        Self::Value: Element,
    {
        self.into_expr().binary(Op::Maximum, other.into_expr())
    }

    /// The value, but not below `low` and not above `high`; NaN stays.
    fn clip(
        self,
        low: impl IntoExpr<'a, Self::Value>,
        high: impl IntoExpr<'a, Self::Value>,
    ) -> Expr<'a, Self::Value>
    where
        Self::Value: Element,
    {
        let raised: Expr<'a, Self::Value> = self.into_expr().binary(Op::Maximum, low.into_expr());
        raised.binary(Op::Minimum, high.into_expr())
    }

    /// `self * factor + term`: for floats rounded once (a fused multiply-add), for integers wrapping.
    fn mul_add(
        self,
        factor: impl IntoExpr<'a, Self::Value>,
        term: impl IntoExpr<'a, Self::Value>,
    ) -> Expr<'a, Self::Value>
    where
        Self::Value: Element,
    {
        let args = [
            Some(self.into_expr().node),
            Some(factor.into_expr().node),
            Some(term.into_expr().node),
        ];
        Expr::new(Node::op(Op::MulAdd, Self::Value::DTYPE, 0, args))
    }

    /// The value to a constant power by repeated multiplication; exact (wrapping) for integers. The exponent is part of the kernel.
    fn powi(self, exponent: u32) -> Expr<'a, Self::Value>
    where
        Self::Value: Element,
    {
        Expr::new(Node::op(
            Op::PowI,
            Self::Value::DTYPE,
            exponent,
            [Some(self.into_expr().node), None, None],
        ))
    }

    /// The value to the power `exponent`.
    fn pow(self, exponent: impl IntoExpr<'a, Self::Value>) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().binary(Op::Pow, exponent.into_expr())
    }

    /// The angle of the point (`x`, self), in radians, in -pi..=pi.
    fn atan2(self, x: impl IntoExpr<'a, Self::Value>) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().binary(Op::Atan2, x.into_expr())
    }

    /// `sqrt(self * self + other * other)` without overflow on the way.
    fn hypot(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().binary(Op::Hypot, other.into_expr())
    }

    /// Whether the values are equal; NaN equals nothing.
    fn eq(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, bool> {
        self.into_expr().binary(Op::Eq, other.into_expr())
    }

    /// Whether the values differ; NaN differs from everything.
    fn ne(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, bool> {
        self.into_expr().binary(Op::Ne, other.into_expr())
    }

    /// Whether this value is less than the other.
    fn lt(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, bool>
    where
        Self::Value: Element,
    {
        self.into_expr().binary(Op::Lt, other.into_expr())
    }

    /// Whether this value is at most the other.
    fn le(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, bool>
    where
        Self::Value: Element,
    {
        self.into_expr().binary(Op::Le, other.into_expr())
    }

    /// Whether this value is greater than the other.
    fn gt(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, bool>
    where
        Self::Value: Element,
    {
        self.into_expr().binary(Op::Gt, other.into_expr())
    }

    /// Whether this value is at least the other.
    fn ge(self, other: impl IntoExpr<'a, Self::Value>) -> Expr<'a, bool>
    where
        Self::Value: Element,
    {
        self.into_expr().binary(Op::Ge, other.into_expr())
    }

    /// Of a mask: `yes` where it is true, `no` elsewhere.
    #[doc(alias = "where")]
    #[doc(alias = "if_positive")]
    fn select<T: Scalar>(self, yes: impl IntoExpr<'a, T>, no: impl IntoExpr<'a, T>) -> Expr<'a, T>
    where
        Self: Operand<'a, Value = bool>,
    {
        let mask: Expr<'a, bool> = self.into_expr();
        Expr::new(Node::op(
            Op::Select,
            T::DTYPE,
            0,
            [
                Some(mask.node),
                Some(yes.into_expr().node),
                Some(no.into_expr().node),
            ],
        ))
    }

    /// The sum of all values: 0 for none. Integers of 32 bits sum in 64 (those of 64 bits wrap); floats sum in double precision and are
    /// rounded once. Blocks until the answer is there.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn sum(self) -> Result<<Self::Value as Element>::Sum>
    where
        Self::Value: Element,
    {
        reduce::sum::<Self::Value>(&self.into_expr().node)
    }

    /// The smallest value; NaN if there is one. Blocks until the answer is there.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and [`EmptyReduction`](crate::ErrorKind::EmptyReduction) for no values.
    fn min(self) -> Result<Self::Value>
    where
        Self::Value: Element,
    {
        reduce::to_host::<Self::Value, Self::Value>(&self.into_expr().node, Reduction::Min)
    }

    /// The largest value; NaN if there is one. Blocks until the answer is there.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and [`EmptyReduction`](crate::ErrorKind::EmptyReduction) for no values.
    fn max(self) -> Result<Self::Value>
    where
        Self::Value: Element,
    {
        reduce::to_host::<Self::Value, Self::Value>(&self.into_expr().node, Reduction::Max)
    }

    /// The mean of all values, in double precision: NaN for none. Blocks until the answer is there.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn mean(self) -> Result<f64>
    where
        Self::Value: Element,
    {
        reduce::mean(&self.cast::<f64>().node)
    }

    /// As [`sum`](Self::sum), but the answer stays on the device, as an array without axes, and the host does not wait.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn sum_on_device(self) -> Result<GpuArray<<Self::Value as Element>::Sum>>
    where
        Self::Value: Element,
    {
        reduce::on_device::<<Self::Value as Element>::Accumulator, _>(
            &self.into_expr().node,
            Reduction::Sum,
        )
    }

    /// As [`min`](Self::min), but the answer stays on the device, as an array without axes, and the host does not wait.
    ///
    /// # Errors
    /// As [`min`](Self::min).
    fn min_on_device(self) -> Result<GpuArray<Self::Value>>
    where
        Self::Value: Element,
    {
        reduce::on_device::<Self::Value, _>(&self.into_expr().node, Reduction::Min)
    }

    /// As [`max`](Self::max), but the answer stays on the device, as an array without axes, and the host does not wait.
    ///
    /// # Errors
    /// As [`max`](Self::max).
    fn max_on_device(self) -> Result<GpuArray<Self::Value>>
    where
        Self::Value: Element,
    {
        reduce::on_device::<Self::Value, _>(&self.into_expr().node, Reduction::Max)
    }

    /// The product of all values: 1 for none. Computed as wide as a [`sum`](Self::sum). Blocks until the answer is there.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn prod(self) -> Result<<Self::Value as Element>::Sum>
    where
        Self::Value: Element,
    {
        reduce::to_host::<<Self::Value as Element>::Accumulator, _>(
            &self.into_expr().node,
            Reduction::Prod,
        )
    }

    /// Sums along axes: 0 where there is nothing to sum. As wide as [`sum`](Self::sum); one kernel, which the host does not wait for.
    ///
    /// ```
    /// # use cuprum_gpuarray::{Axes, GpuArray, Operand as _};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
    /// let x = GpuArray::from_slice(&stream, &[1i32, 2, 3, 4, 5, 6], (2, 3))?;
    /// assert_eq!(x.sum_axes(0)?.to_vec()?, [5, 7, 9]);
    /// assert_eq!((&x * &x).sum_axes(-1)?.to_vec()?, [14, 77]);
    /// assert_eq!(x.sum_axes(Axes::from(1).keep())?.shape(), [2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If an axis is not there or named twice, and as [`eval`](Self::eval).
    fn sum_axes(self, axes: impl Into<Axes>) -> Result<GpuArray<<Self::Value as Element>::Sum>>
    where
        Self::Value: Element,
    {
        axes::reduce::<<Self::Value as Element>::Accumulator, _>(
            &self.into_expr().node,
            Reduction::Sum,
            &axes.into(),
        )
    }

    /// Products along axes: 1 where there is nothing to multiply. See [`sum_axes`](Self::sum_axes).
    ///
    /// # Errors
    /// As there.
    fn prod_axes(self, axes: impl Into<Axes>) -> Result<GpuArray<<Self::Value as Element>::Sum>>
    where
        Self::Value: Element,
    {
        axes::reduce::<<Self::Value as Element>::Accumulator, _>(
            &self.into_expr().node,
            Reduction::Prod,
            &axes.into(),
        )
    }

    /// The smallest values along axes; NaN where there is one. See [`sum_axes`](Self::sum_axes).
    ///
    /// # Errors
    /// As there, and [`EmptyReduction`](crate::ErrorKind::EmptyReduction) if there is a result to make of no values.
    fn min_axes(self, axes: impl Into<Axes>) -> Result<GpuArray<Self::Value>>
    where
        Self::Value: Element,
    {
        axes::reduce::<Self::Value, _>(&self.into_expr().node, Reduction::Min, &axes.into())
    }

    /// The largest values along axes; NaN where there is one. See [`sum_axes`](Self::sum_axes).
    ///
    /// # Errors
    /// As [`min_axes`](Self::min_axes).
    fn max_axes(self, axes: impl Into<Axes>) -> Result<GpuArray<Self::Value>>
    where
        Self::Value: Element,
    {
        axes::reduce::<Self::Value, _>(&self.into_expr().node, Reduction::Max, &axes.into())
    }

    /// The mean values along axes, in double precision: NaN where there are no values. See [`sum_axes`](Self::sum_axes).
    ///
    /// # Errors
    /// As there.
    fn mean_axes(self, axes: impl Into<Axes>) -> Result<GpuArray<f64>>
    where
        Self::Value: Element,
    {
        axes::mean(&self.cast::<f64>().node, &axes.into())
    }

    /// Of a mask: how many are true along axes. See [`sum_axes`](Self::sum_axes).
    ///
    /// # Errors
    /// As there.
    fn count_axes(self, axes: impl Into<Axes>) -> Result<GpuArray<u64>>
    where
        Self: Operand<'a, Value = bool>,
    {
        axes::reduce::<u64, _>(&self.cast::<u64>().node, Reduction::Sum, &axes.into())
    }

    /// Of a mask: how many are true.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn count(self) -> Result<u64>
    where
        Self: Operand<'a, Value = bool>,
    {
        reduce::sum::<u64>(&self.cast::<u64>().node)
    }

    /// Of a mask: whether any is true.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn any(self) -> Result<bool>
    where
        Self: Operand<'a, Value = bool>,
    {
        Ok(self.count()? != 0)
    }

    /// Of a mask: whether all are true; so for none.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn all(self) -> Result<bool>
    where
        Self: Operand<'a, Value = bool>,
        Self::Value: Bits,
    {
        let mask: Expr<'a, bool> = self.into_expr();
        Ok((!mask).count()? == 0)
    }

    /// The square root, correctly rounded.
    fn sqrt(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Sqrt)
    }

    /// One over the square root.
    fn rsqrt(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Rsqrt)
    }

    /// The cube root.
    fn cbrt(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Cbrt)
    }

    /// e to the power of the value.
    fn exp(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Exp)
    }

    /// 2 to the power of the value.
    fn exp2(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Exp2)
    }

    /// `exp(x) - 1`, accurate near 0.
    fn expm1(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::ExpM1)
    }

    /// The natural logarithm.
    fn log(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Log)
    }

    /// The logarithm to base 2.
    fn log2(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Log2)
    }

    /// The logarithm to base 10.
    fn log10(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Log10)
    }

    /// `log(1 + x)`, accurate near 0.
    fn log1p(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Log1p)
    }

    /// The sine of an angle in radians.
    fn sin(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Sin)
    }

    /// The cosine of an angle in radians.
    fn cos(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Cos)
    }

    /// The tangent of an angle in radians.
    fn tan(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Tan)
    }

    /// The angle in radians whose sine this is.
    fn asin(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Asin)
    }

    /// The angle in radians whose cosine this is.
    fn acos(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Acos)
    }

    /// The angle in radians whose tangent this is.
    fn atan(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Atan)
    }

    /// The hyperbolic sine.
    fn sinh(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Sinh)
    }

    /// The hyperbolic cosine.
    fn cosh(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Cosh)
    }

    /// The hyperbolic tangent.
    fn tanh(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Tanh)
    }

    /// The largest integer not above the value.
    fn floor(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Floor)
    }

    /// The smallest integer not below the value.
    fn ceil(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Ceil)
    }

    /// The value without its fraction.
    fn trunc(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Trunc)
    }

    /// The nearest integer, halves away from zero.
    fn round(self) -> Expr<'a, Self::Value>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::Round)
    }

    /// Whether the value is NaN.
    fn is_nan(self) -> Expr<'a, bool>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::IsNan)
    }

    /// Whether the value is neither infinite nor NaN.
    fn is_finite(self) -> Expr<'a, bool>
    where
        Self::Value: Float,
    {
        self.into_expr().unary(Op::IsFinite)
    }
}

// Only references are operands, so that calling a method does not move what it is called on: `v.sin() * v.cos()` for a view `v`.

impl<'a, T: Scalar> Operand<'a> for &Expr<'a, T> {
    type Value = T;
}

impl<'a, T: Element> Operand<'a> for &'a GpuArray<T> {
    type Value = T;
}

impl<'a, T: Element> Operand<'a> for &GpuView<'a, T> {
    type Value = T;
}

impl<'a, T: Element> Operand<'a> for &'a GpuViewMut<'_, T> {
    type Value = T;
}
