//! All elements become one value.

use cuprum::codegen::DeviceRepr;
use cuprum::codegen::makers::ReductionKernel;
use cuprum::prelude::*;
use proptest::prelude::*;

use super::{lengths, numbers};
use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(reductions_of_any_length),
        check!(reductions_of_structures_with_a_result_of_another_type),
        check!(reductions_of_small_and_large_types),
    ]
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
