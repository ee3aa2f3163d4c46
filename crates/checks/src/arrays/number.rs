//! The element types with the host's arithmetic on them, and the same operations as expressions.

use cuprum::gpuarray::Element;
use cuprum::prelude::*;

use crate::data::Random;

/// An operation on two operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Minimum,
    Maximum,
    /// The larger of both by a comparison, doubled.
    Select,
    /// Multiplication and addition, not fused, with a scalar on the left.
    Chain,
}

pub(super) const OPERATIONS: [Operation; 8] = [
    Operation::Add,
    Operation::Sub,
    Operation::Mul,
    Operation::Div,
    Operation::Minimum,
    Operation::Maximum,
    Operation::Select,
    Operation::Chain,
];

/// An element type with the host's arithmetic.
pub(super) trait Number: Element {
    fn random(random: &mut Random) -> Self;
    /// A number between 0 and 99.
    fn small(random: &mut Random) -> Self;
    fn host(operation: Operation, a: Self, b: Self) -> Self;
    fn device<'a>(operation: Operation, a: &Expr<'a, Self>, b: &Expr<'a, Self>) -> Expr<'a, Self>;
    /// Equality of the bits.
    fn same(a: Self, b: Self) -> bool;
    fn sum_of(values: &[Self]) -> Self::Sum;
}

macro_rules! float {
    ($($type:ident),+) => {$(
        impl Number for $type {
            fn random(random: &mut Random) -> Self {
                random.scaled(-20.0, 20.0) as $type
            }

            fn small(random: &mut Random) -> Self {
                random.below(100) as $type
            }

            fn host(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Add => a + b,
                    Operation::Sub => a - b,
                    Operation::Mul => a * b,
                    Operation::Div => a / b,
                    Operation::Minimum => a.min(b),
                    Operation::Maximum => a.max(b),
                    Operation::Select => if a < b { b + b } else { a + a },
                    Operation::Chain => 3.0 - a * b + a,
                }
            }

            fn device<'a>(
                operation: Operation,
                a: &Expr<'a, Self>,
                b: &Expr<'a, Self>,
            ) -> Expr<'a, Self> {
                match operation {
                    Operation::Div => a / b,
                    Operation::Chain => 3.0 - a * b + a,
                    _ => common(operation, a, b),
                }
            }

            fn same(a: Self, b: Self) -> bool {
                a.to_bits() == b.to_bits()
            }

            fn sum_of(values: &[Self]) -> Self {
                values.iter().map(|&value| f64::from(value)).sum::<f64>() as $type
            }
        }
    )+};
}

float!(f32, f64);

macro_rules! integer {
    ($($type:ident $sum:ident),+) => {$(
        impl Number for $type {
            fn random(random: &mut Random) -> Self {
                random.u64() as $type
            }

            fn small(random: &mut Random) -> Self {
                random.below(100) as $type
            }

            fn host(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Add => a.wrapping_add(b),
                    Operation::Sub => a.wrapping_sub(b),
                    Operation::Mul => a.wrapping_mul(b),
                    // By an odd number, so never by zero.
                    Operation::Div => a.wrapping_div(b | 1),
                    Operation::Minimum => a.min(b),
                    Operation::Maximum => a.max(b),
                    Operation::Select => a.max(b).wrapping_mul(2),
                    Operation::Chain => (3 as $type).wrapping_sub(a.wrapping_mul(b)).wrapping_add(a) ^ b % 7,
                }
            }

            fn device<'a>(
                operation: Operation,
                a: &Expr<'a, Self>,
                b: &Expr<'a, Self>,
            ) -> Expr<'a, Self> {
                match operation {
                    Operation::Div => a / (b | 1),
                    Operation::Chain => (3 - a * b + a) ^ (b % 7),
                    _ => common(operation, a, b),
                }
            }

            fn same(a: Self, b: Self) -> bool {
                a == b
            }

            fn sum_of(values: &[Self]) -> $sum {
                values.iter().fold(0, |sum: $sum, &value| sum.wrapping_add(value as $sum))
            }
        }
    )+};
}

integer!(i32 i64, u32 u64, i64 i64, u64 u64);

/// The operations that are written the same for every type.
fn common<'a, T: Element>(operation: Operation, a: &Expr<'a, T>, b: &Expr<'a, T>) -> Expr<'a, T> {
    match operation {
        Operation::Add => a + b,
        Operation::Sub => a - b,
        Operation::Mul => a * b,
        Operation::Minimum => a.minimum(b),
        Operation::Maximum => a.maximum(b),
        Operation::Select => a.lt(b).select(b + b, a + a),
        Operation::Div | Operation::Chain => unreachable!("each kind of type has its own"),
    }
}
