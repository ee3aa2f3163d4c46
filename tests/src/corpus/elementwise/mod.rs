//! Elementwise kernels in the style that array libraries generate: `kernel(const T *x, ..., U *z, unsigned long n)`.

mod casts;
mod complex;
mod floats;
mod halves;
mod integers;

use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = integers::cases();
    cases.extend(casts::cases());
    cases.extend(floats::cases());
    cases.extend(halves::cases());
    cases.extend(complex::cases());
    cases
}

/// A grid with fewer threads than there are elements, so that its loop strides.
const SHAPE: (u32, u32) = (3, 64);

/// `z[i] = f(x[i])`.
pub(super) fn unary<T: Lane, U: Lane>(
    source: &'static str,
    kernel: impl Into<String>,
    x: &[T],
    bound: Bound,
    f: impl Fn(T) -> U,
) -> Case {
    let z: Vec<U> = x.iter().map(|&a| f(a)).collect();
    Case::new(source, kernel)
        .shape(SHAPE.0, SHAPE.1)
        .input(x)
        .output(&z, bound)
        .scalar(x.len() as u64)
}

/// `z[i] = f(x[i], y[i])`.
pub(super) fn binary<T: Lane, V: Lane, U: Lane>(
    source: &'static str,
    kernel: impl Into<String>,
    (x, y): (&[T], &[V]),
    bound: Bound,
    f: impl Fn(T, V) -> U,
) -> Case {
    let z: Vec<U> = x.iter().zip(y).map(|(&a, &b)| f(a, b)).collect();
    Case::new(source, kernel)
        .shape(SHAPE.0, SHAPE.1)
        .input(x)
        .input(y)
        .output(&z, bound)
        .scalar(x.len() as u64)
}
