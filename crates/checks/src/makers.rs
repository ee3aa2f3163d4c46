//! Kernels made from expressions, against the same expressions on the host.

use cuprum::codegen::makers::{Elements, ElementwiseKernel, ReductionKernel, ScanKernel};
use cuprum::codegen::{DeviceRepr, ErrorKind};
use cuprum::prelude::*;
use proptest::prelude::*;

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::runner::equal;

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(elementwise_writes_several_outputs_of_mixed_types),
        check!(elementwise_ranges_and_slices),
        check!(elementwise_loops_have_a_before_and_an_after),
        check!(reductions_of_any_length),
        check!(reductions_of_structures_with_a_result_of_another_type),
        check!(reductions_of_small_and_large_types),
        check!(scans_keep_the_order),
        check!(scans_by_segments),
        check!(scans_in_place_and_of_expressions),
        check!(nothing_is_a_normal_length),
        check!(wrong_arguments_are_named),
        check!(elements_beyond_31_bits, Alone),
        check!(vectors_beyond_31_bits, GpuOnly, Alone),
    ]
}

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

fn elementwise_writes_several_outputs_of_mixed_types(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i of each vector is accessed; the table is read below its 4 elements.
    let kernel = unsafe {
        ElementwiseKernel::builder(
            "const unsigned *x, double scale, const short *table, double *wide, unsigned char *narrow, long long *sum",
            "wide[i] = scale * x[i]; narrow[i] = halve(x[i]); sum[i] = (long long)x[i] + table[i % 4] + i + n // the end",
        )
        .preamble("__device__ unsigned char halve(unsigned x) { return x >> 1; }")
        .any_length(["table"])
        .name("mixed")
        .build(&subject.context)?
    };
    let stream = &subject.stream;
    let table = [1_i16, -2, 300, -30_000];
    let device_table = DeviceBuffer::from_slice(stream, &table)?;
    property(
        (lengths(), any::<u32>(), -4.0..4.0_f64),
        |(n, seed, scale)| {
            let x = numbers(n, seed);
            let device = DeviceBuffer::from_slice(stream, &x)?;
            let mut wide = DeviceBuffer::<f64>::zeros(stream, n)?;
            let mut narrow = DeviceBuffer::<u8>::zeros(stream, n)?;
            let mut sum = DeviceBuffer::<i64>::zeros(stream, n)?;
            kernel.call(
                stream,
                (
                    &device,
                    scale,
                    &device_table,
                    &mut wide,
                    &mut narrow,
                    &mut sum,
                ),
            )?;
            let want: Vec<f64> = x.iter().map(|&x| scale * f64::from(x)).collect();
            equal("wide", &wide.to_vec()?, &want)?;
            let want: Vec<u8> = x.iter().map(|x| (x >> 1) as u8).collect();
            equal("narrow", &narrow.to_vec()?, &want)?;
            let want: Vec<i64> = x
                .iter()
                .enumerate()
                .map(|(i, &x)| i64::from(x) + i64::from(table[i % 4]) + i as i64 + n as i64)
                .collect();
            equal("sum", &sum.to_vec()?, &want)?;
            Ok(())
        },
    )
}

fn elementwise_ranges_and_slices(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i is accessed.
    let kernel =
        unsafe { ElementwiseKernel::new(&subject.context, "long long *x", "x[i] = i + 1")? };
    let stream = &subject.stream;
    let end = || prop_oneof![Just(None), (-1200_i64..1200).prop_map(Some)];
    let step = prop_oneof![1_i64..40, -40_i64..0];
    let slices = property(
        (0_usize..1000, end(), end(), step),
        |(n, start, stop, step)| {
            let mut x = DeviceBuffer::<i64>::zeros(stream, n)?;
            kernel.call_on(stream, Elements::slice(start, stop, step), (&mut x,))?;
            equal("x", &x.to_vec()?, &sliced(n as i64, start, stop, step))?;
            Ok(())
        },
    )?;
    let ranges = property((0_usize..500, 0_usize..500), |(a, b)| {
        let (from, to) = (a.min(b), a.max(b));
        let mut x = DeviceBuffer::<i64>::zeros(stream, 500)?;
        kernel.call_on(stream, from..to, (&mut x,))?;
        let want: Vec<i64> = (0..500_i64)
            .map(|i| {
                if (from..to).contains(&(i as usize)) {
                    i + 1
                } else {
                    0
                }
            })
            .collect();
        equal("x", &x.to_vec()?, &want)?;
        Ok(())
    })?;
    Ok(slices.and(ranges))
}

/// `x[i] = i + 1` for the elements of Python's `range(n)[start:stop:step]`, said step by step.
fn sliced(n: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<i64> {
    let mut x = vec![0; n as usize];
    let wrap = |at: i64| if at < 0 { at + n } else { at };
    let mut at = match (start, step > 0) {
        (Some(start), true) => wrap(start).max(0),
        (Some(start), false) => wrap(start).min(n - 1),
        (None, true) => 0,
        (None, false) => n - 1,
    };
    loop {
        let inside = match (stop, step > 0) {
            (Some(stop), true) => at < wrap(stop),
            (Some(stop), false) => at > wrap(stop),
            (None, _) => true,
        };
        if !inside || at < 0 || at >= n {
            return x;
        }
        x[at as usize] = at + 1;
        at += step;
    }
}

fn elementwise_loops_have_a_before_and_an_after(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i of x is accessed; the counter has one element, added to atomically.
    let kernel = unsafe {
        ElementwiseKernel::builder(
            "const int *x, unsigned long long *count",
            "if (x[i] & 1) ++odd",
        )
        .before_loop("unsigned odd = 0;")
        .after_loop("if (odd) atomicAdd(count, odd);")
        .any_length(["count"])
        .build(&subject.context)?
    };
    let stream = &subject.stream;
    let x: Vec<i32> = (0..100_000).map(|i| i * 7 % 13).collect();
    let device = DeviceBuffer::from_slice(stream, &x)?;
    let mut count = DeviceBuffer::<u64>::zeros(stream, 1)?;
    kernel.call(stream, (&device, &mut count))?;
    let want = x.iter().filter(|&&x| x & 1 == 1).count() as u64;
    equal("count", &count.to_vec()?, &[want])
}

fn reductions_of_any_length(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i of each vector is read.
    let (sum, maximum, held) = unsafe {
        (
            ReductionKernel::<u64>::builder("const unsigned *x, unsigned add", "0", "a + b")
                .map("(unsigned long long)x[i] * (i % 7) + add")
                .build(&subject.context)?,
            ReductionKernel::<i32>::new(
                &subject.context,
                "const int *x",
                "-2147483647 - 1",
                "a > b ? a : b",
            )?,
            ReductionKernel::<bool>::builder("const unsigned *x, unsigned what", "false", "a || b")
                .map("x[i] == what")
                .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    property((lengths(), any::<u32>(), 0_u32..100), |(n, seed, add)| {
        let x = numbers(n, seed);
        let device = DeviceBuffer::from_slice(stream, &x)?;
        let want = x.iter().enumerate().fold(0_u64, |sum, (i, &x)| {
            sum + u64::from(x) * (i as u64 % 7) + u64::from(add)
        });
        ensure_eq!(sum.call(stream, (&device, add))?, want, "the sum of {n}");
        let signed: Vec<i32> = x.iter().map(|&x| x as i32).collect();
        let device_signed = DeviceBuffer::from_slice(stream, &signed)?;
        let want = signed.iter().copied().max().unwrap_or(i32::MIN);
        ensure_eq!(
            maximum.call(stream, (&device_signed,))?,
            want,
            "the maximum of {n}"
        );
        let what = x.last().copied().unwrap_or(5);
        ensure_eq!(
            held.call(stream, (&device, what))?,
            n > 0,
            "whether the last of {n} is there"
        );
        Ok(())
    })
}

/// Count, sum and extremes in one pass: a structure of four words and one of eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Statistics {
    sum: i64,
    least: i32,
    most: i32,
    count: u32,
    odd: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Summary {
    mean: f64,
    range: u32,
}

fn reductions_of_structures_with_a_result_of_another_type(
    subject: &Subject,
) -> Result<Report, Failure> {
    // SAFETY: only element i of the vector is read.
    let kernel = unsafe {
        ReductionKernel::<Statistics>::builder(
            "const int *x",
            "{0, 2147483647, -2147483647 - 1, 0, 0}",
            "{a.sum + b.sum, min(a.least, b.least), max(a.most, b.most), a.count + b.count, a.odd + b.odd}",
        )
        .map("{x[i], x[i], x[i], 1u, x[i] & 1u}")
        .finish::<Summary>("{a.count ? (double)a.sum / a.count : 0.0, (unsigned)(a.most - a.least)}")
        .build(&subject.context)?
    };
    let stream = &subject.stream;
    let mut out = DeviceBuffer::from_slice(
        stream,
        &[Summary {
            mean: 0.0,
            range: 7,
        }; 3],
    )?;
    property((1_usize..60_000, any::<u32>()), |(n, seed)| {
        let x: Vec<i32> = numbers(n, seed).iter().map(|&x| x as i32 / 4).collect();
        let device = DeviceBuffer::from_slice(stream, &x)?;
        let sum: i64 = x.iter().map(|&x| i64::from(x)).sum();
        let least = x.iter().copied().min().unwrap_or(0);
        let most = x.iter().copied().max().unwrap_or(0);
        let want = Summary {
            mean: sum as f64 / n as f64,
            range: (most - least) as u32,
        };
        // Into the middle of a buffer, on the device.
        kernel.call_into(stream, out.slice_mut(1..2), (&device,))?;
        let got = out.to_vec()?;
        ensure_eq!(got[1], want, "the summary of {n}");
        ensure!(
            got[0].range == 7 && got[2].range == 7,
            "the neighbours were written"
        );
        Ok(())
    })
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Histogram {
    bins: [u32; 9],
}

fn reductions_of_small_and_large_types(subject: &Subject) -> Result<Report, Failure> {
    let bins = (0..9)
        .map(|k| format!("a.bins[{k}] + b.bins[{k}]"))
        .collect::<Vec<_>>()
        .join(", ");
    // SAFETY: only element i of each vector is read.
    let (xor8, and16, histogram) = unsafe {
        (
            ReductionKernel::<u8>::new(&subject.context, "const unsigned char *x", "0", "a ^ b")?,
            ReductionKernel::<u16>::builder("const unsigned char *x", "65535", "a & b")
                .map("x[i] | 0xfe00")
                .build(&subject.context)?,
            ReductionKernel::<Histogram>::builder(
                "const unsigned char *x",
                "Histogram{}",
                format!("{{{{{bins}}}}}"),
            )
            .map("one_hot(x[i] % 9)")
            .preamble("static __device__ Histogram one_hot(int k) { Histogram h{}; h.bins[k] = 1; return h; }")
            .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    property((lengths(), any::<u32>()), |(n, seed)| {
        let x: Vec<u8> = numbers(n, seed).iter().map(|&x| (x >> 9) as u8).collect();
        let device = DeviceBuffer::from_slice(stream, &x)?;
        ensure_eq!(
            xor8.call(stream, (&device,))?,
            x.iter().fold(0, |a, b| a ^ b),
            "the exclusive or of {n}"
        );
        ensure_eq!(
            and16.call(stream, (&device,))?,
            x.iter().fold(0xffff, |a, &b| a & (u16::from(b) | 0xfe00)),
            "the conjunction of {n}"
        );
        let mut want = [0_u32; 9];
        for &x in &x {
            want[usize::from(x % 9)] += 1;
        }
        ensure_eq!(
            histogram.call(stream, (&device,))?.bins,
            want,
            "the histogram of {n}"
        );
        Ok(())
    })
}

/// `x -> m x + b`, of which one after the other is not the other after the one.
#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Affine {
    m: u32,
    b: u32,
}

impl Affine {
    fn then(self, next: Self) -> Self {
        Self {
            m: next.m.wrapping_mul(self.m),
            b: next.m.wrapping_mul(self.b).wrapping_add(next.b),
        }
    }
}

const THEN: &str = "{b.m * a.m, b.m * a.b + b.b}";

fn affine(n: usize, seed: u32) -> Vec<Affine> {
    numbers(2 * n, seed)
        .chunks_exact(2)
        .map(|pair| Affine {
            m: pair[0] | 1,
            b: pair[1],
        })
        .collect()
}

fn scans_keep_the_order(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i of each vector is accessed.
    let (inclusive, exclusive) = unsafe {
        (
            // Without a neutral value.
            ScanKernel::<Affine>::inclusive("const Affine *x, Affine *y", THEN)
                .build(&subject.context)?,
            ScanKernel::<Affine>::exclusive("const Affine *x, Affine *y", "{1u, 0u}", THEN)
                .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    property((lengths(), any::<u32>()), |(n, seed)| {
        let x = affine(n, seed);
        let device = DeviceBuffer::from_slice(stream, &x)?;
        let mut y = DeviceBuffer::from_slice(stream, &x)?;
        inclusive.call(stream, (&device, &mut y))?;
        let mut all = Affine { m: 1, b: 0 };
        let mut before = Vec::with_capacity(n);
        let mut with = Vec::with_capacity(n);
        for &one in &x {
            before.push(all);
            all = all.then(one);
            with.push(all);
        }
        equal("inclusive", &y.to_vec()?, &with)?;
        exclusive.call(stream, (&device, &mut y))?;
        equal("exclusive", &y.to_vec()?, &before)?;
        Ok(())
    })
}

fn scans_by_segments(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: of each vector element i is accessed, of `key`, which is not written, also the one before if there is one.
    let (inclusive, exclusive) = unsafe {
        let both = |exclusive: bool| {
            let arguments = "const unsigned *key, const long long *x, long long *y";
            let builder = if exclusive {
                ScanKernel::<i64>::exclusive(arguments, "-5", "a + b").neutral("0")
            } else {
                ScanKernel::<i64>::inclusive(arguments, "a + b")
            };
            builder
                .input("x[i]")
                .segments("i == 0 || key[i] != key[i - 1]")
                .build(&subject.context)
        };
        (both(false)?, both(true)?)
    };
    let stream = &subject.stream;
    property(
        (lengths(), any::<u32>(), 1_u32..3000),
        |(n, seed, longest)| {
            let random = numbers(n, seed);
            let mut key = Vec::with_capacity(n);
            let mut left = 0;
            let mut current = 0_u32;
            for &one in &random {
                if left == 0 {
                    current += 1;
                    left = one % longest + 1;
                }
                left -= 1;
                key.push(current);
            }
            let x: Vec<i64> = random.iter().map(|&x| i64::from(x as i32)).collect();
            let (mut with, mut before) = (Vec::new(), Vec::new());
            let mut sum = 0;
            for i in 0..n {
                if i == 0 || key[i] != key[i - 1] {
                    sum = 0;
                }
                before.push(sum);
                sum += x[i];
                with.push(sum);
            }
            let key = DeviceBuffer::from_slice(stream, &key)?;
            let x = DeviceBuffer::from_slice(stream, &x)?;
            let mut y = DeviceBuffer::<i64>::zeros(stream, n)?;
            inclusive.call(stream, (&key, &x, &mut y))?;
            equal("inclusive", &y.to_vec()?, &with)?;
            exclusive.call(stream, (&key, &x, &mut y))?;
            equal("exclusive", &y.to_vec()?, &before)?;
            Ok(())
        },
    )
}

fn scans_in_place_and_of_expressions(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: element i of each vector is accessed; `kept` is written at the number of elements kept before i, which is
    // less than n and differs for each i that is kept.
    let (in_place, compact, small) = unsafe {
        (
            ScanKernel::<u32>::inclusive("unsigned *x", "a + b").build(&subject.context)?,
            ScanKernel::<u32>::exclusive(
                "const unsigned *x, unsigned *kept, unsigned *count",
                "0",
                "a + b",
            )
            .input("x[i] % 3 == 0")
            .output("if (x[i] % 3 == 0) kept[previous] = x[i]; if (i == n - 1) *count = item;")
            .any_length(["count"])
            .build(&subject.context)?,
            ScanKernel::<u8>::inclusive(
                "const unsigned char *x, unsigned char *y",
                "a > b ? a : b",
            )
            .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    property((lengths(), any::<u32>()), |(n, seed)| {
        let x = numbers(n, seed);
        let device = DeviceBuffer::from_slice(stream, &x)?;
        let mut kept = DeviceBuffer::<u32>::zeros(stream, n)?;
        let mut count = DeviceBuffer::<u32>::zeros(stream, 1)?;
        compact.call(stream, (&device, &mut kept, &mut count))?;
        let mut want: Vec<u32> = x.iter().copied().filter(|x| x % 3 == 0).collect();
        equal("the number kept", &count.to_vec()?, &[want.len() as u32])?;
        want.resize(n, 0);
        equal("what is kept", &kept.to_vec()?, &want)?;

        let mut device = device;
        in_place.call(stream, (&mut device,))?;
        let sums: Vec<u32> = x
            .iter()
            .scan(0_u32, |sum, &x| {
                *sum = sum.wrapping_add(x);
                Some(*sum)
            })
            .collect();
        equal("sums in place", &device.to_vec()?, &sums)?;

        let bytes: Vec<u8> = x.iter().map(|&x| (x >> 11) as u8).collect();
        let device = DeviceBuffer::from_slice(stream, &bytes)?;
        let mut y = DeviceBuffer::<u8>::zeros(stream, n)?;
        small.call(stream, (&device, &mut y))?;
        let most: Vec<u8> = bytes
            .iter()
            .scan(0, |most, &x| {
                *most = x.max(*most);
                Some(*most)
            })
            .collect();
        equal("the greatest so far", &y.to_vec()?, &most)?;
        Ok(())
    })
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

/// A length that no `int` holds.
const LONG: usize = (1 << 31) + 1;

/// Only the last elements are touched, so that a software device commits no memory for the others.
fn elements_beyond_31_bits(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    // SAFETY: only element i is written.
    let kernel = unsafe {
        ElementwiseKernel::new(
            &subject.context,
            "unsigned char *x",
            "x[i] = (i * 5 + n) % 251",
        )?
    };
    // SAFETY: of the buffer only what the calls below have written is read.
    let mut x = unsafe { DeviceBuffer::<u8>::uninit(stream, LONG)? };
    let want = |i: usize| ((i * 5 + LONG) % 251) as u8;
    kernel.call_on(stream, (LONG - 100)..LONG, (&mut x,))?;
    kernel.call_on(stream, Elements::slice(-101, -301, -2), (&mut x,))?;
    let ends: Vec<u8> = ((LONG - 100)..LONG).map(want).collect();
    equal("the last", &x.slice((LONG - 100)..).to_vec()?, &ends)?;
    for k in 0..100 {
        let at = LONG - 101 - 2 * k;
        ensure_eq!(x.slice(at..=at).to_vec()?, vec![want(at)], "element {at}");
    }
    Ok(Report::exact(200))
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
