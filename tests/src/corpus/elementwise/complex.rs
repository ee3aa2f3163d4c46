//! `ew_complex`: a structure of two numbers, interleaved in memory and passed by value.

use crate::corpus::data::{Random, Sample};
use crate::corpus::{Bound, Case, Lane};

use super::SHAPE;

const SOURCE: &str = "ew_complex";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of::<f32>("c64", 1e-6, f64::from);
    cases.extend(of::<f64>("c128", 4e-15, |x| x));
    cases
}

/// All arithmetic in double precision: the bounds are those of the type, relative to what is added up.
fn of<T: Lane + Sample>(suffix: &str, relative: f64, wide: impl Fn(T) -> f64) -> Vec<Case>
where
    f64: Narrow<T>,
{
    let mut random = Random::new(21);
    let n = 300;
    let mut numbers = |scale: f64| -> Vec<T> {
        (0..2 * n)
            .map(|_| random.between(-scale, scale).narrow())
            .collect()
    };
    let (x, y) = (numbers(4.0), numbers(4.0));
    let pairs = |v: &[T]| -> Vec<(f64, f64)> {
        v.chunks_exact(2)
            .map(|c| (wide(c[0]), wide(c[1])))
            .collect()
    };
    let (xs, ys) = (pairs(&x), pairs(&y));
    let name = |kernel: &str| format!("{kernel}_{suffix}");
    let flat = |f: &dyn Fn((f64, f64), (f64, f64)) -> (f64, f64)| -> Vec<T> {
        xs.iter()
            .zip(&ys)
            .flat_map(|(&a, &b)| {
                let (re, im) = f(a, b);
                [re.narrow(), im.narrow()]
            })
            .collect()
    };
    // Products of numbers up to 4 add up to 32 at most, quotients to 16 over the square of the least divisor.
    let least = ys
        .iter()
        .map(|y| y.0.hypot(y.1))
        .fold(f64::INFINITY, f64::min);
    let two = |kernel: &str, bound, z: Vec<T>| {
        Case::new(SOURCE, name(kernel))
            .shape(SHAPE.0, SHAPE.1)
            .input(&x)
            .input(&y)
            .output(&z, bound)
            .scalar(n as u64)
    };
    let mut cases = vec![
        two(
            "cadd",
            Bound::Ulp(1.0),
            flat(&|a, b| (a.0 + b.0, a.1 + b.1)),
        ),
        two(
            "cmul",
            Bound::Absolute(32.0 * relative),
            flat(&|a, b| (a.0 * b.0 + a.1 * b.1, a.1 * b.0 - a.0 * b.1)),
        ),
        two(
            "cdiv",
            Bound::Absolute(64.0 * relative / least),
            flat(&|a, b| {
                let d = b.0 * b.0 + b.1 * b.1;
                ((a.0 * b.0 + a.1 * b.1) / d, (a.1 * b.0 - a.0 * b.1) / d)
            }),
        ),
    ];
    let exponentials: Vec<T> = xs
        .iter()
        .flat_map(|a| {
            let e = a.0.exp();
            [(e * a.1.cos()).narrow(), (e * a.1.sin()).narrow()]
        })
        .collect();
    cases.push(
        Case::new(SOURCE, name("cexp"))
            .shape(SHAPE.0, SHAPE.1)
            .input(&x)
            .output(&exponentials, Bound::Absolute(4f64.exp() * relative))
            .scalar(n as u64),
    );
    let (a, b): ([T; 2], [T; 2]) = (
        [1.5.narrow(), (-0.5).narrow()],
        [0.25.narrow(), 2.0.narrow()],
    );
    let (aw, bw) = ((1.5, -0.5), (0.25, 2.0));
    let product = |a: (f64, f64), b: (f64, f64)| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
    let combined = flat(&|x, y| {
        let (p, q) = (product(aw, x), product(bw, y));
        (p.0 - q.0, p.1 - q.1)
    });
    cases.push(
        Case::new(SOURCE, name("caxpby"))
            .shape(SHAPE.0, SHAPE.1)
            .bytes(bytemuck::cast_slice(&a))
            .input(&x)
            .bytes(bytemuck::cast_slice(&b))
            .input(&y)
            .output(&combined, Bound::Absolute(32.0 * relative))
            .scalar(n as u64),
    );
    let lengths: Vec<T> = xs.iter().map(|a| a.0.hypot(a.1).narrow()).collect();
    let angles: Vec<T> = xs.iter().map(|a| a.1.atan2(a.0).narrow()).collect();
    for (kernel, want) in [("cabs", lengths), ("carg", angles)] {
        cases.push(
            Case::new(SOURCE, name(kernel))
                .shape(SHAPE.0, SHAPE.1)
                .input(&x)
                .output(&want, Bound::Ulp(4.0))
                .scalar(n as u64),
        );
    }
    cases
}

/// Rounding a double to the type.
trait Narrow<T> {
    fn narrow(self) -> T;
}

impl Narrow<f32> for f64 {
    fn narrow(self) -> f32 {
        self as f32
    }
}

impl Narrow<f64> for f64 {
    fn narrow(self) -> f64 {
        self
    }
}
