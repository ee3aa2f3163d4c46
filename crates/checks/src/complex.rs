//! Complex numbers in kernels, against `num_complex` in `f64` on the host.

use cuprum::codegen::makers::{ElementwiseKernel, ReductionKernel, ScanKernel};
use cuprum::codegen::repr::Complex;
use cuprum::codegen::{DeviceRepr, SourceModule};
use cuprum::driver::DeviceCopy;
use cuprum::prelude::DeviceBuffer;

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::{Kernels, equal};

type C = Complex<f64>;

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(complex_functions_of_one_number),
        check!(complex_functions_of_two_numbers),
        check!(complex_extremes_and_exact_powers),
        check!(complex_numbers_in_made_kernels),
        check!(complex_sources_for_pycuda),
    ]
}

const SOURCE: &str = r"
#include <cuprum/complex.h>
using cuprum::complex;

template <class T> __global__ void unary(const complex<T> *in, complex<T> *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const complex<T> z = in[i];
    complex<T> *o = out + UNARY * i;
    *o++ = sqrt(z); *o++ = exp(z); *o++ = log(z); *o++ = log10(z);
    *o++ = sin(z); *o++ = cos(z); *o++ = tan(z);
    *o++ = sinh(z); *o++ = cosh(z); *o++ = tanh(z);
    *o++ = conj(z); *o++ = abs(z); *o++ = arg(z); *o++ = norm(z);
    *o++ = cuprum::polar(abs(z), arg(z)); *o++ = -z; *o++ = pow(z, 3); *o++ = pow(z, -2);
    *o++ = real(z) + 2 * imag(z);
}

template <class T> __global__ void binary(const complex<T> *in, complex<T> *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const complex<T> z = in[i], w = in[(i + 1) % n];
    const T x = w.re;
    complex<T> *o = out + BINARY * i;
    *o++ = z + w; *o++ = z - w; *o++ = z * w; *o++ = z / w;
    *o++ = z + x; *o++ = z - x; *o++ = z * x; *o++ = z / x;
    *o++ = x + z; *o++ = x - z; *o++ = x * z; *o++ = x / z;
    *o++ = pow(z, w); *o++ = pow(z, x); *o++ = pow(x, z);
    complex<T> s = z;
    s += w; s *= z; s -= x; s /= w; s *= x; s /= 3; s += 1; s -= w;
    *o++ = s;
    *o++ = complex<T>(z == z, z != w);
    *o++ = 2 * z - 1;
}

// Another width is taken where nothing is lost, and asked for where something is.
__global__ void widths(const complex<float> *in, complex<double> *out)
{
    complex<double> wide = in[0];
    out[0] = wide * in[1];
    out[1] = complex<float>(wide / 3.0);
}
";

const UNARY: [&str; 19] = [
    "sqrt",
    "exp",
    "log",
    "log10",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "conj",
    "abs",
    "arg",
    "norm",
    "polar",
    "negation",
    "cube",
    "inverse square",
    "parts",
];

fn unary(z: C) -> [C; UNARY.len()] {
    let real = |x: f64| C::new(x, 0.0);
    [
        z.sqrt(),
        z.exp(),
        z.ln(),
        z.ln() / std::f64::consts::LN_10,
        z.sin(),
        z.cos(),
        // Of num_complex's own formula little is left near the poles.
        z.sin() / z.cos(),
        z.sinh(),
        z.cosh(),
        z.sinh() / z.cosh(),
        z.conj(),
        real(z.norm()),
        real(z.arg()),
        real(z.norm_sqr()),
        z,
        -z,
        z * z * z,
        C::new(1.0, 0.0) / (z * z),
        real(z.re + 2.0 * z.im),
    ]
}

const BINARY: [&str; 18] = [
    "z + w",
    "z - w",
    "z * w",
    "z / w",
    "z + x",
    "z - x",
    "z * x",
    "z / x",
    "x + z",
    "x - z",
    "x * z",
    "x / z",
    "pow(z, w)",
    "pow(z, x)",
    "pow(x, z)",
    "compound",
    "compared",
    "with integers",
];

fn binary(z: C, w: C) -> [C; BINARY.len()] {
    let x = w.re;
    let real = C::new(x, 0.0);
    [
        z + w,
        z - w,
        z * w,
        z / w,
        z + x,
        z - x,
        z * x,
        z / x,
        real + z,
        real - z,
        real * z,
        real / z,
        z.powc(w),
        z.powf(x),
        real.powc(z),
        ((z + w) * z - x) / w * x / 3.0 + 1.0 - w,
        C::new(1.0, 1.0),
        z * 2.0 - 1.0,
    ]
}

/// A part of complex numbers.
trait Part: Copy + 'static {
    const NAME: &'static str;
    /// The distance of 1 to the next number.
    const STEP: f64;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}

impl Part for f32 {
    const NAME: &'static str = "float";
    const STEP: f64 = f32::EPSILON as f64;
    fn of(value: f64) -> Self {
        value as Self
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Part for f64 {
    const NAME: &'static str = "double";
    const STEP: f64 = f64::EPSILON;
    fn of(value: f64) -> Self {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

/// Numbers of both parts' signs, up to 4 in each part, none on an axis.
fn numbers<T: Part>(count: u32) -> Vec<Complex<T>> {
    // The fractional parts of multiples of two irrational numbers fill the square evenly.
    let part = |i: u32, step: f64| T::of((f64::from(i) * step).fract() * 8.0 - 4.0);
    (1..=count)
        .map(|i| {
            Complex::new(
                part(i, 0.754_877_666_246_692_8),
                part(i, 0.569_840_290_998_053_3),
            )
        })
        .collect()
}

fn wide<T: Part>(z: Complex<T>) -> C {
    C::new(z.re.wide(), z.im.wide())
}

/// Whether the distance is at most so much; not if there is a NaN.
fn within(got: C, want: C, bound: f64) -> bool {
    (got - want).norm() <= bound
}

/// Compares a result with the reference: the error of the whole number, against its absolute value.
fn near<T: Part>(
    what: &str,
    of: &str,
    got: Complex<T>,
    want: C,
    steps: f64,
) -> Result<(), Failure> {
    let got = wide(got);
    let bound = steps * T::STEP * want.norm().max(1e-30);
    ensure!(
        within(got, want, bound),
        "{what} of {of} in {}: {got}, want {want}, off by {:.1} steps",
        T::NAME,
        (got - want).norm() / (T::STEP * want.norm())
    );
    Ok(())
}

fn kernels<T: Part>(subject: &Subject, kernel: &str) -> Result<(Kernels, String), Failure> {
    let name = format!("{kernel}<{}>", T::NAME);
    let source = SourceModule::builder(SOURCE)
        .file_name("complex.cu")
        .define("UNARY", UNARY.len().to_string())
        .define("BINARY", BINARY.len().to_string())
        .name_expression(&name);
    Ok((Kernels::build(subject, source)?, name))
}

fn complex_functions_of_one_number(subject: &Subject) -> Result<Report, Failure> {
    fn of<T: Part>(subject: &Subject) -> Result<u64, Failure>
    where
        Complex<T>: DeviceCopy,
    {
        let (kernels, name) = kernels::<T>(subject, "unary")?;
        let input = numbers::<T>(700);
        let rows: Vec<[Complex<T>; UNARY.len()]> = kernels.map(&name, &input)?;
        for (z, row) in input.iter().zip(&rows) {
            let z = wide(*z);
            for ((what, got), want) in UNARY.iter().zip(row).zip(unary(z)) {
                near(what, &z.to_string(), *got, want, 24.0)?;
            }
        }
        Ok((rows.len() * UNARY.len()) as u64)
    }
    Ok(Report::exact(of::<f32>(subject)? + of::<f64>(subject)?))
}

/// The text of a kernel in PTX.
fn entry<'a>(ptx: &'a str, name: &str) -> &'a str {
    ptx.split(".entry ")
        .skip(1)
        .find(|text| text.lines().next().is_some_and(|line| line.contains(name)))
        .unwrap_or_default()
}

fn complex_functions_of_two_numbers(subject: &Subject) -> Result<Report, Failure> {
    fn of<T: Part>(subject: &Subject) -> Result<u64, Failure>
    where
        Complex<T>: DeviceCopy,
    {
        let (kernels, name) = kernels::<T>(subject, "binary")?;
        let input = numbers::<T>(700);
        let rows: Vec<[Complex<T>; BINARY.len()]> = kernels.map(&name, &input)?;
        for (i, row) in rows.iter().enumerate() {
            let (z, w) = (wide(input[i]), wide(input[(i + 1) % input.len()]));
            for ((what, got), want) in BINARY.iter().zip(row).zip(binary(z, w)) {
                // The exponents of powers are up to 40, whose rounding the exponential multiplies; the compound has
                // differences of what was rounded.
                let steps = match *what {
                    "compound" => {
                        let large = z.norm().max(1.0) * 40.0 / w.norm().min(1.0);
                        large / want.norm().min(1.0)
                    }
                    what if what.starts_with("pow") => 160.0,
                    _ => 24.0,
                };
                near(what, &format!("{z} and {w}"), *got, want, steps)?;
            }
        }
        Ok((rows.len() * BINARY.len()) as u64)
    }
    let count = of::<f32>(subject)? + of::<f64>(subject)?;

    let kernels = Kernels::new(
        subject,
        &SOURCE.replace("UNARY", "1").replace("BINARY", "1"),
    )?;
    let input = kernels.upload(&[Complex::new(1.5_f32, -2.0), Complex::new(0.25_f32, 8.0)])?;
    let mut output = kernels.zeros::<Complex<f64>>(2)?;
    kernels.launch(
        "widths",
        cuprum::prelude::LaunchConfig::grid_1d(1, 1),
        (&input, &mut output),
    )?;
    let third = C::new(f64::from(0.5_f32), f64::from(-2.0_f32 / 3.0));
    equal("widths", &output.to_vec()?, &[C::new(16.375, 11.5), third])?;
    Ok(Report::exact(count + 2))
}

/// What overflows if it is done as it is written down, and the powers of a public report that must be exact.
fn complex_extremes_and_exact_powers(subject: &Subject) -> Result<Report, Failure> {
    const EXTREMES: &str = r"
#include <cuprum/complex.h>
using cuprum::complex;
__global__ void roots(const complex<float> *z, complex<float> *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = sqrt(z[i]);
}
__global__ void quotients(const complex<float> *z, complex<float> *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = z[i] / complex<float>(z[i].im, z[i].re);
}
__global__ void powers(complex<double> *out)
{
    const complex<double> zero(0, 0);
    complex<double> *o = out;
    *o++ = pow(zero, zero);
    *o++ = pow(complex<double>(1, 2), complex<double>(2));
    *o++ = pow(complex<double>(0, -501), 2.0);
    *o++ = pow(zero, 3.5);
    *o++ = pow(complex<double>(4, 2), complex<double>(4, 2));
    *o++ = exp(complex<double>(0, 1.5707963267948966));
    *o++ = exp(complex<double>(1, 2));
}
";
    let kernels = Kernels::new(subject, EXTREMES)?;
    let roots = entry(kernels.module().ptx(), "roots");
    ensure!(
        roots.contains(".f32"),
        "the kernel `roots` is not found in the PTX"
    );
    ensure!(
        !roots.contains(".f64"),
        "complex<float> computes in double precision"
    );
    let large = [
        Complex::new(3e38_f32, 3e38),
        Complex::new(-3e38, 1e30),
        Complex::new(1e-40, -1e-40),
        Complex::new(-1e-45, 0.0),
        Complex::new(2e-38, 1e-38),
        Complex::new(-4.0, -0.0),
    ];
    let roots: Vec<Complex<f32>> = kernels.map("roots", &large)?;
    let dividends = [
        Complex::new(1.5e38_f32, 1.6e38),
        Complex::new(-3e38, 1e30),
        Complex::new(2e-30, 1e-38),
    ];
    let quotients: Vec<Complex<f32>> = kernels.map("quotients", &dividends)?;
    for (z, got) in large.iter().zip(&roots) {
        near("sqrt", &z.to_string(), *got, wide(*z).sqrt(), 24.0)?;
    }
    for (z, got) in dividends.iter().zip(&quotients) {
        let z = wide(*z);
        near(
            "z / swapped z",
            &z.to_string(),
            *got,
            z / C::new(z.im, z.re),
            24.0,
        )?;
    }
    let powers: Vec<C> = kernels.fill("powers", cuprum::prelude::LaunchConfig::grid_1d(1, 1), 7)?;
    equal(
        "exact powers",
        &powers[..4],
        &[
            C::new(1.0, 0.0),
            C::new(-3.0, 4.0),
            C::new(-251_001.0, 0.0),
            C::new(0.0, 0.0),
        ],
    )?;
    let rough = |what: &str, got: C, want: C, by: f64| {
        ensure!(within(got, want, by), "{what} is {got}, want {want}");
        Ok(())
    };
    rough(
        "(4+2i)^(4+2i)",
        powers[4],
        C::new(21.75872, -156.74592),
        1e-5,
    )?;
    rough("exp(i pi/2)", powers[5], C::new(0.0, 1.0), 1e-15)?;
    rough("exp(1+2i)", powers[6], C::new(-1.131_204, 2.471_727), 1e-6)?;
    Ok(Report::exact(16))
}

/// A complex number in a structure, beside others.
#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Signal {
    gain: f32,
    sample: Complex<f32>,
    wide: [Complex<f64>; 2],
}

fn complex_numbers_in_made_kernels(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i of each vector is accessed.
    let (scale, sum, product, signals) = unsafe {
        (
            ElementwiseKernel::new(
                &subject.context,
                "pycuda::complex<float> a, const cuprum::complex<float> *x, cuprum::complex<float> *y",
                "y[i] = a * x[i] + 1",
            )?,
            ReductionKernel::<Complex<f64>>::builder(
                "const cuprum::complex<double> *x",
                "0",
                "a + b",
            )
            .map("x[i] * conj(x[i])")
            .build(&subject.context)?,
            // The product of what is before: not commutative it need not be, but complex it is.
            ScanKernel::<Complex<f64>>::exclusive(
                "const cuprum::complex<double> *x, cuprum::complex<double> *y",
                "1",
                "a * b",
            )
            .build(&subject.context)?,
            ElementwiseKernel::builder(
                "Signal *s",
                "s[i].sample *= s[i].gain; s[i].wide[1] += s[i].sample",
            )
            .declare::<Signal>()
            .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    let whole = |i: usize| C::new((i % 7) as f64 - 3.0, (i % 5) as f64 - 2.0);
    let x: Vec<C> = (0..5000).map(whole).collect();
    let narrow: Vec<Complex<f32>> = x
        .iter()
        .map(|z| Complex::new(z.re as f32, z.im as f32))
        .collect();
    let a = Complex::new(2.0_f32, -1.0);
    let device = DeviceBuffer::from_slice(stream, &narrow)?;
    let mut y = DeviceBuffer::<Complex<f32>>::zeros(stream, narrow.len())?;
    scale.call(stream, (a, &device, &mut y))?;
    let want: Vec<Complex<f32>> = narrow.iter().map(|z| a * z + 1.0).collect();
    equal("a * x + 1", &y.to_vec()?, &want)?;

    let device = DeviceBuffer::from_slice(stream, &x)?;
    let squares: f64 = x.iter().map(Complex::norm_sqr).sum();
    ensure_eq!(
        sum.call(stream, (&device,))?,
        C::new(squares, 0.0),
        "the sum of squares"
    );

    // Powers of i keep their size.
    let turns: Vec<C> = (0..5000).map(|i| C::i().powu(i * i % 4)).collect();
    let device = DeviceBuffer::from_slice(stream, &turns)?;
    let mut y = DeviceBuffer::<C>::zeros(stream, turns.len())?;
    product.call(stream, (&device, &mut y))?;
    let want: Vec<C> = turns
        .iter()
        .scan(C::new(1.0, 0.0), |all, &z| {
            let before = *all;
            *all *= z;
            Some(before)
        })
        .collect();
    equal("products", &y.to_vec()?, &want)?;

    let signal = Signal {
        gain: 0.5,
        sample: Complex::new(3.0, -8.0),
        wide: [C::new(1.0, 2.0), C::new(10.0, 20.0)],
    };
    let mut device = DeviceBuffer::from_slice(stream, &[signal; 3])?;
    signals.call(stream, (&mut device,))?;
    let want = Signal {
        sample: Complex::new(1.5, -4.0),
        wide: [C::new(1.0, 2.0), C::new(11.5, 16.0)],
        ..signal
    };
    equal("structures", &device.to_vec()?, &[want; 3])?;
    Ok(Report::exact(15_004))
}

/// PyCUDA's header by its name, in the way its users write kernels, shared memory included.
fn complex_sources_for_pycuda(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::build(
        subject,
        SourceModule::builder(
            r"
#include <pycuda-complex.hpp>
typedef pycuda::complex<float> cmplx;
__global__ void turn(const cmplx *in, cmplx *out, int n)
{
    __shared__ cmplx all[100];
    int i = threadIdx.x;
    if (i < n) all[i] = in[i] * cmplx(0, 1);
    __syncthreads();
    if (i < n) out[i] = pycuda::conj(all[n - 1 - i]) + pycuda::real(all[i]);
}
",
        )
        .extern_c(true),
    )?;
    let input: Vec<Complex<f32>> = (0..77).map(|i| Complex::new(i as f32, -3.0)).collect();
    let got: Vec<Complex<f32>> = kernels.map("turn", &input)?;
    let turned: Vec<Complex<f32>> = input.iter().map(|z| z * Complex::i()).collect();
    let want: Vec<Complex<f32>> = (0..77)
        .map(|i| turned[76 - i].conj() + turned[i].re)
        .collect();
    equal("turned", &got, &want)
}
