//! Sequences as leaves: values computed from the position, with no memory behind them.

use crate::element::{DType, Element, Float};
use crate::error::Result;
use crate::expr::{Expr, Leaf, LeafArgs, LeafSource};

/// The leaf `start + index * step`: see [`Expr::sequence`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence<T> {
    start: T,
    step: T,
    length: usize,
}

impl<T: Element> Expr<'_, T> {
    /// `length` values from `start` on, `step` apart, as a one-dimensional expression: `start + index * step`, computed in double precision for
    /// floats, wrapping for integers. Costs no memory.
    ///
    /// ```
    /// # use cuprum_gpuarray::{Expr, Operand as _};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
    /// let odd = Expr::sequence(1, 2, 5);
    /// assert_eq!((&odd * &odd).eval_on(&stream)?.to_vec()?, [1, 9, 25, 49, 81]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sequence(start: T, step: T, length: usize) -> Self {
        Expr::of_leaf(
            Sequence {
                start,
                step,
                length,
            },
            [],
        )
    }
}

impl<T: Element> Leaf for Sequence<T> {
    type Value = T;

    fn shape(&self) -> &[usize] {
        std::slice::from_ref(&self.length)
    }

    fn structure(&self) -> u64 {
        0
    }

    fn source(&self, source: &mut LeafSource) {
        let (start, step, index) = (source.scalar::<T>(), source.scalar::<T>(), source.index());
        let value = match T::DTYPE {
            // Not `float`: positions above 2^24 would be lost.
            DType::F32 => format!("(float)((double){start} + (double){index} * (double){step})"),
            DType::F64 => format!("{start} + (double){index} * {step}"),
            // Wraps, as the other integer operations do.
            _ => format!(
                "({})((unsigned long long){start} + {index} * (unsigned long long){step})",
                T::DTYPE.c_name()
            ),
        };
        source.value(value);
    }

    fn arguments(&self, args: &mut LeafArgs<'_>) -> Result<()> {
        args.scalar(self.start);
        args.scalar(self.step);
        Ok(())
    }
}

/// The leaf of `length` values from `start` to `stop`, both included: see [`GpuArray::linspace`](crate::GpuArray::linspace).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linspace<T> {
    start: f64,
    step: f64,
    /// The last value, exactly.
    stop: T,
    length: usize,
}

impl<T: Float> Linspace<T> {
    /// `length` values from `start` to `stop`, both included; just `start` if `length` is 1.
    pub(crate) fn new(start: T, stop: T, length: usize) -> Self {
        let step = if length > 1 {
            (stop.to_f64() - start.to_f64()) / (length - 1) as f64
        } else {
            0.0
        };
        Self {
            start: start.to_f64(),
            step,
            stop: if length > 1 { stop } else { start },
            length,
        }
    }
}

impl<T: Float> Leaf for Linspace<T> {
    type Value = T;

    fn shape(&self) -> &[usize] {
        std::slice::from_ref(&self.length)
    }

    fn structure(&self) -> u64 {
        0
    }

    fn source(&self, source: &mut LeafSource) {
        let (start, step, stop) = (
            source.scalar::<f64>(),
            source.scalar::<f64>(),
            source.scalar::<T>(),
        );
        let (last, index) = (source.scalar::<u64>(), source.index());
        source.value(format!(
            "{index} == {last} ? {stop} : ({})({start} + (double){index} * {step})",
            T::DTYPE.c_name()
        ));
    }

    fn arguments(&self, args: &mut LeafArgs<'_>) -> Result<()> {
        args.scalar(self.start);
        args.scalar(self.step);
        args.scalar(self.stop);
        args.scalar((self.length as u64).wrapping_sub(1));
        Ok(())
    }
}
