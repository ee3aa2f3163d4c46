//! Kernels made from expressions, against the same expressions on the host.

mod elementwise;
mod reduction;
mod scan;

use cuprum::codegen::ErrorKind;
use cuprum::codegen::makers::{Elements, ElementwiseKernel, ReductionKernel, ScanKernel};
use cuprum::prelude::*;
use proptest::prelude::*;

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::equal;

pub(crate) fn checks() -> Vec<Check> {
    let common = vec![
        check!(nothing_is_a_normal_length),
        check!(no_name_clashes),
        check!(wrong_arguments_are_named),
        check!(vectors_beyond_31_bits, GpuOnly, Alone),
    ];
    [
        elementwise::checks(),
        reduction::checks(),
        scan::checks(),
        common,
    ]
    .concat()
}

/// A length that no `int` holds.
const LONG: usize = (1 << 31) + 1;

/// Lengths at and around what blocks, tiles and parts have.
fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![
        0_usize..70,
        (0_usize..20, -2_i64..3).prop_map(|(k, off)| (256 * k).saturating_add_signed(off as isize)),
        (0_usize..20, -2_i64..3)
            .prop_map(|(k, off)| (2048 * k).saturating_add_signed(off as isize)),
        10_000_usize..70_000,
    ]
}

/// Numbers that look random, the same for the same seed.
fn numbers(len: usize, seed: u32) -> Vec<u32> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
        .collect()
}

fn nothing_is_a_normal_length(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    // SAFETY: only element i of each vector is accessed.
    let (each, most, scan) = unsafe {
        (
            ElementwiseKernel::new(&subject.context, "float *x", "x[i] = 1")?,
            ReductionKernel::<f32>::new(&subject.context, "const float *x", "-3.5f", "max(a, b)")?,
            ScanKernel::<f32>::inclusive("float *x", "a + b").build(&subject.context)?,
        )
    };
    let mut none = DeviceBuffer::<f32>::zeros(stream, 0)?;
    each.call(stream, (&mut none,))?;
    each.call_on(stream, Elements::slice(None, None, -1), (&mut none,))?;
    scan.call(stream, (&mut none,))?;
    ensure_eq!(most.call(stream, (&none,))?, -3.5, "the most of nothing");
    Ok(Report::exact(4))
}

/// Names that the kernels' own code might have, as arguments and as macros (`shared` is one that CUDA's own `__shared__` needs).
fn no_name_clashes(subject: &Subject) -> Result<Report, Failure> {
    let macros: String = [
        "all",
        "before",
        "begins",
        "block",
        "body",
        "bytes",
        "carry",
        "count",
        "d",
        "distance",
        "first",
        "from",
        "get",
        "has",
        "index",
        "j",
        "k",
        "lane",
        "own",
        "result",
        "shuffle_down",
        "shuffle_up",
        "space",
        "start",
        "state",
        "step",
        "sum",
        "tile",
        "to",
        "total",
        "upto",
        "v",
        "value",
        "w",
        "warp",
        "warps",
        "words",
        "x0",
    ]
    .map(|name| format!("#define {name} {name}_is_a_macro(\n"))
    .concat();
    let arguments = "const int *tid, const int *blockSize, int threads, int *total_threads";
    // SAFETY: only element i of each vector is accessed.
    let (each, sum, scan) = unsafe {
        (
            ElementwiseKernel::builder(
                arguments,
                "total_threads[i] = tid[i] + blockSize[i] * threads",
            )
            .preamble(macros.clone())
            .build(&subject.context)?,
            ReductionKernel::<i32>::builder(
                "const int *tid, const int *blockSize, int threads",
                "0",
                "a + b",
            )
            .map("tid[i] + blockSize[i] * threads")
            .preamble(macros.clone())
            .build(&subject.context)?,
            ScanKernel::<i32>::exclusive(arguments, "0", "a + b")
                .input("tid[i] + blockSize[i] * threads")
                .segments("i % 1000 == 0")
                .preamble(macros)
                .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    let n = 20_000_usize;
    let (one, other): (Vec<i32>, Vec<i32>) = (0..n as i32).map(|i| (i % 91, i % 7)).unzip();
    let want: Vec<i32> = one.iter().zip(&other).map(|(a, b)| a + 3 * b).collect();
    let (x, y) = (
        DeviceBuffer::from_slice(stream, &one)?,
        DeviceBuffer::from_slice(stream, &other)?,
    );
    let mut out = DeviceBuffer::<i32>::zeros(stream, n)?;
    each.call(stream, (&x, &y, 3, &mut out))?;
    equal("each", &out.to_vec()?, &want)?;
    ensure_eq!(
        sum.call(stream, (&x, &y, 3))?,
        want.iter().sum::<i32>(),
        "the sum"
    );
    scan.call(stream, (&x, &y, 3, &mut out))?;
    let sums: Vec<i32> = want
        .chunks(1000)
        .flat_map(|part| {
            part.iter().scan(0, |sum, &one| {
                let before = *sum;
                *sum += one;
                Some(before)
            })
        })
        .collect();
    equal("sums", &out.to_vec()?, &sums)?;
    Ok(Report::exact(2 * n as u64 + 1))
}

fn wrong_arguments_are_named(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    // SAFETY: only element i of each vector is accessed.
    let kernel = unsafe {
        ElementwiseKernel::new(
            &subject.context,
            "float a, const float *x, float *y",
            "y[i] = a * x[i]",
        )?
    };
    let x = DeviceBuffer::<f32>::zeros(stream, 4)?;
    let short = DeviceBuffer::<f32>::zeros(stream, 3)?;
    let wide = DeviceBuffer::<f64>::zeros(stream, 4)?;
    let mut y = DeviceBuffer::<f32>::zeros(stream, 4)?;
    let mut other = DeviceBuffer::<f32>::zeros(stream, 4)?;
    let refused = [
        (
            kernel.call(stream, (1.0_f64, &x, &mut y)),
            "argument 0 `float a` was passed a value of `double`",
        ),
        (
            kernel.call(stream, (1.0_f32, &wide, &mut y)),
            "argument 1 `const float *x` was passed elements of `double`",
        ),
        (
            kernel.call(stream, (1.0_f32, &short, &mut y)),
            "`x` has 3 elements and `y` has 4",
        ),
        (
            kernel.call(stream, (1.0_f32, &x, &x)),
            "argument 2 `float *y` is written",
        ),
        (
            kernel.call(stream, (1.0_f32, &mut y, &mut other)),
            "argument 1 `const float *x` is read",
        ),
        (
            kernel.call(stream, (1.0_f32, 2.0_f32, &mut y)),
            "is a vector, and a value was passed",
        ),
        (
            kernel.call(stream, (1.0_f32, &x)),
            "it takes 3 arguments (float a, const float *x, float *y), and 2 were passed",
        ),
        (
            kernel.call_on(stream, 2..5, (1.0_f32, &x, &mut y)),
            "index 4 is outside of 4 elements",
        ),
    ];
    let count = refused.len() as u64;
    for (answer, text) in refused {
        let Err(error) = answer else {
            return Err(Failure::new(format!("accepted, though {text}")));
        };
        ensure_eq!(error.kind(), ErrorKind::Requirement, "the kind of {error}");
        ensure!(error.to_string().contains(text), "{error} lacks {text:?}");
    }
    equal("y", &y.to_vec()?, &[0.0; 4])?;
    Ok(Report::exact(count))
}

/// Every element of long vectors (public report: more than 2^31 elements): filled, summed, and scanned.
fn vectors_beyond_31_bits(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    // SAFETY: only element i of each vector is accessed.
    let (fill, sum, scan) = unsafe {
        (
            ElementwiseKernel::new(
                &subject.context,
                "unsigned char *x, unsigned char v",
                "x[i] = v",
            )?,
            ReductionKernel::<u64>::new(&subject.context, "const unsigned char *x", "0", "a + b")?,
            ScanKernel::<u8>::inclusive("unsigned char *x", "a + b").build(&subject.context)?,
        )
    };
    // SAFETY: the call below writes every element.
    let mut x = unsafe { DeviceBuffer::<u8>::uninit(stream, LONG)? };
    fill.call(stream, (&mut x, 1_u8))?;
    ensure_eq!(
        sum.call(stream, (&x,))?,
        LONG as u64,
        "the sum of as many ones"
    );
    // Zeros with a one at 1 and one at the end: 0, then 1 up to the element before the last, then 2.
    fill.call(stream, (&mut x, 0_u8))?;
    fill.call_on(stream, 1..2, (&mut x, 1_u8))?;
    fill.call_on(stream, (LONG - 1)..LONG, (&mut x, 1_u8))?;
    scan.call(stream, (&mut x,))?;
    equal("the first", &x.slice(..3).to_vec()?, &[0, 1, 1])?;
    equal("the last", &x.slice((LONG - 3)..).to_vec()?, &[1, 1, 2])?;
    ensure_eq!(
        sum.call(stream, (&x,))?,
        LONG as u64,
        "the sum of what was scanned"
    );
    Ok(Report::exact(8))
}
