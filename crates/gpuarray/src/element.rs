//! The types that arrays and expressions are made of.

use std::fmt::Debug;

use cuprum_driver_core::DeviceCopy;

use crate::expr::Erase;

mod sealed {
    pub trait Sealed {}
}

/// The type of an element or of a value within an expression, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum DType {
    /// `bool`: the value of a comparison. A value of expressions; arrays of it are not made yet.
    Bool = 1,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `i64`
    I64,
    /// `u64`
    U64,
    /// `f32`
    F32,
    /// `f64`
    F64,
}

impl DType {
    /// The size of an element, in bytes.
    pub fn size(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 => 8,
        }
    }

    /// The name in CUDA C++.
    pub fn c_name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I32 => "int",
            DType::U32 => "unsigned int",
            DType::I64 => "long long",
            DType::U64 => "unsigned long long",
            DType::F32 => "float",
            DType::F64 => "double",
        }
    }

    /// The name in Rust.
    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U64 => "u64",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of an expression: every [`Element`], and `bool` for comparisons. Sealed.
pub trait Scalar:
    sealed::Sealed + Copy + Debug + PartialEq + PartialOrd + Send + Sync + 'static
{
    /// This type as a value.
    const DTYPE: DType;

    /// The value's bytes, in the low end.
    #[doc(hidden)]
    fn to_bits64(self) -> u64;
}

/// An element of an array: `f32`, `f64`, `i32`, `u32`, `i64` or `u64`. Sealed; half-precision, complex and `bool` arrays will join.
pub trait Element: Scalar + DeviceCopy + Default + Erase {
    /// What a sum of this type is: wide enough for the answer. `i64` for `i32`, `u64` for `u32`, otherwise the type itself.
    type Sum: Element;

    /// The type that a sum runs in on the device; not narrower than `Sum`.
    #[doc(hidden)]
    type Accumulator: Element;

    /// The element of `start + index * step` sequences: see [`GpuArray::arange`](crate::GpuArray::arange).
    #[doc(hidden)]
    fn steps_between(start: Self, stop: Self, step: Self) -> Option<usize>;
}

/// `i32`, `i64`, `f32`, `f64`: has a sign. Sealed.
pub trait Signed: Element {}

/// `i32`, `u32`, `i64`, `u64`. Sealed.
pub trait Integer: Element {}

/// `f32`, `f64`. Sealed.
pub trait Float: Element {
    /// For mean values and grids of points.
    #[doc(hidden)]
    fn from_f64(value: f64) -> Self;
    #[doc(hidden)]
    fn to_f64(self) -> f64;
}

/// What has bits to combine with `&`, `|`, `^` and `!`: integers and `bool`. Sealed.
pub trait Bits: Scalar {}

/// A type that [`cast`](crate::Operand::cast) converts to. Sealed.
pub trait CastTo: Element {}

impl sealed::Sealed for bool {}

impl Scalar for bool {
    const DTYPE: DType = DType::Bool;

    fn to_bits64(self) -> u64 {
        u64::from(self)
    }
}

impl Bits for bool {}

macro_rules! integers {
    ($($type:ident $dtype:ident $unsigned:ident $sum:ident $accumulator:ident;)+) => {$(
        impl sealed::Sealed for $type {}

        impl Scalar for $type {
            const DTYPE: DType = DType::$dtype;

            fn to_bits64(self) -> u64 {
                u64::from(self as $unsigned)
            }
        }

        impl Element for $type {
            type Sum = $sum;
            type Accumulator = $accumulator;

            fn steps_between(start: Self, stop: Self, step: Self) -> Option<usize> {
                let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
                let (span, step) = if step < 0 { (start - stop, -step) } else { (stop - start, step) };
                if step == 0 { None } else if span <= 0 { Some(0) } else { usize::try_from((span + step - 1) / step).ok() }
            }
        }

        impl Integer for $type {}
        impl Bits for $type {}
        impl CastTo for $type {}
    )+};
}

integers! {
    i32 I32 u32 i64 i64;
    u32 U32 u32 u64 u64;
    i64 I64 u64 i64 i64;
    u64 U64 u64 u64 u64;
}

impl Signed for i32 {}
impl Signed for i64 {}

macro_rules! floats {
    ($($type:ident $dtype:ident;)+) => {$(
        impl sealed::Sealed for $type {}

        impl Scalar for $type {
            const DTYPE: DType = DType::$dtype;

            fn to_bits64(self) -> u64 {
                u64::from(self.to_bits())
            }
        }

        impl Element for $type {
            type Sum = $type;
            // Sums run in double precision: the result is then right to the last place or so for any length and any order of adding, and
            // memory stays the bottleneck.
            type Accumulator = f64;

            fn steps_between(start: Self, stop: Self, step: Self) -> Option<usize> {
                let steps = ((f64::from(stop) - f64::from(start)) / f64::from(step)).ceil();
                if !steps.is_finite() || step == 0.0 || steps >= isize::MAX as f64 { None } else { Some(steps.max(0.0) as usize) }
            }
        }

        impl Signed for $type {}
        impl CastTo for $type {}

        impl Float for $type {
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )+};
}

floats! {
    f32 F32;
    f64 F64;
}
