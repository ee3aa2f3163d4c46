//! Mathematical functions, against the host's in double precision. The bounds are those of the CUDA C++ Programming
//! Guide ("Mathematical Functions"), plus the rounding of the reference, and in double precision its error.

mod exponential;
mod intrinsics;
mod precise;
mod rounding;
mod special;
mod trigonometric;

use super::data::{Random, Sample};
use super::elementwise::{binary, unary};
use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = exponential::cases();
    cases.extend(trigonometric::cases());
    cases.extend(special::cases());
    cases.extend(rounding::cases());
    cases.extend(intrinsics::cases());
    cases
}

/// `float` or `double` as the type of a source.
trait Float: Lane + Sample + PartialOrd {
    /// What single precision appends to a function's name: `sinf`, `sin`.
    const SUFFIX: &'static str;
    /// Whether it is `double`, whose reference has an error of its own.
    const DOUBLE: bool;
    fn narrow(value: f64) -> Self;
    /// The next number towards infinity.
    fn next_up(self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn fma(self, by: Self, plus: Self) -> Self;
}

impl Float for f32 {
    const SUFFIX: &'static str = "f";
    const DOUBLE: bool = false;
    fn narrow(value: f64) -> Self {
        value as Self
    }
    fn next_up(self) -> Self {
        Self::next_up(self)
    }
    fn subtract(self, other: Self) -> Self {
        self - other
    }
    fn fma(self, by: Self, plus: Self) -> Self {
        self.mul_add(by, plus)
    }
}

impl Float for f64 {
    const SUFFIX: &'static str = "";
    const DOUBLE: bool = true;
    fn narrow(value: f64) -> Self {
        value
    }
    fn next_up(self) -> Self {
        Self::next_up(self)
    }
    fn subtract(self, other: Self) -> Self {
        self - other
    }
    fn fma(self, by: Self, plus: Self) -> Self {
        self.mul_add(by, plus)
    }
}

/// The functions of one source.
struct Functions<'a, T> {
    source: &'static str,
    cases: &'a mut Vec<Case>,
    inputs: std::marker::PhantomData<T>,
}

impl<'a, T: Float> Functions<'a, T> {
    fn new(source: &'static str, cases: &'a mut Vec<Case>) -> Self {
        Self {
            source,
            cases,
            inputs: std::marker::PhantomData,
        }
    }

    fn name(kernel: &str) -> String {
        format!("k_{kernel}{}", T::SUFFIX)
    }

    /// A function of documented errors `ulp` in single and double precision.
    fn unary(&mut self, name: &str, ulp: (f64, f64), inputs: &[T], f: impl Fn(f64) -> f64) {
        let bound = bound::<T>(ulp);
        self.cases
            .push(unary(self.source, Self::name(name), inputs, bound, |x| {
                T::narrow(f(x.wide()))
            }));
    }

    /// The same within an absolute bound.
    fn absolute(
        &mut self,
        name: &str,
        variant: &str,
        bounds: (f64, f64),
        inputs: &[T],
        f: impl Fn(f64) -> f64,
    ) {
        let most = if T::DOUBLE { bounds.1 } else { bounds.0 };
        self.cases.push(
            unary(
                self.source,
                Self::name(name),
                inputs,
                Bound::Absolute(most),
                |x| T::narrow(f(x.wide())),
            )
            .variant(variant),
        );
    }

    fn binary(
        &mut self,
        name: &str,
        ulp: (f64, f64),
        inputs: (&[T], &[T]),
        f: impl Fn(f64, f64) -> f64,
    ) {
        let bound = bound::<T>(ulp);
        self.cases.push(binary(
            self.source,
            Self::name(name),
            inputs,
            bound,
            |x, y| T::narrow(f(x.wide(), y.wide())),
        ));
    }
}

/// The documented error plus that of the reference: half a unit for its rounding, and in double precision up to two units
/// of the host's function.
fn bound<T: Float>((single, double): (f64, f64)) -> Bound {
    let (documented, reference) = if T::DOUBLE {
        (double, 2.0)
    } else {
        (single, 0.5)
    };
    if documented == 0.0 {
        Bound::Equal
    } else {
        Bound::Ulp(documented + reference)
    }
}

/// Numbers in a range: its ends, its middle, uniform ones, and ones of every magnitude.
fn range<T: Float>(low: f64, high: f64) -> Vec<T> {
    let mut random = Random::new((low * 7.0 + high).to_bits());
    let mut values = vec![
        T::narrow(low),
        T::narrow(high),
        T::narrow((low + high) / 2.0),
    ];
    values.extend((0..200).map(|_| T::narrow(random.between(low, high))));
    let mut any = 0;
    while any < 100 {
        let value = T::random(&mut random);
        if (low..=high).contains(&value.wide()) {
            values.push(value);
            any += 1;
        } else if random.below(4) == 0 {
            // A range may hold few of all magnitudes.
            any += 1;
        }
    }
    values.retain(|value| (low..=high).contains(&value.wide()));
    values
}

/// The range, and what is special about floating-point numbers: zeros, infinities and NaN.
fn with_special<T: Float>(mut values: Vec<T>) -> Vec<T> {
    values.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(T::narrow));
    values
}

/// Each with a random other.
fn shuffled<T: Copy>(values: &[T], seed: u64) -> Vec<T> {
    let mut random = Random::new(seed);
    (0..values.len())
        .map(|_| values[random.below(values.len() as u64) as usize])
        .collect()
}
