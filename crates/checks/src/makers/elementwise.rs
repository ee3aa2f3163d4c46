//! An operation on each element.

use cuprum::codegen::makers::{Elements, ElementwiseKernel};
use cuprum::prelude::*;
use proptest::prelude::*;

use super::{LONG, lengths, numbers};
use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::runner::equal;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(elementwise_writes_several_outputs_of_mixed_types),
        check!(elementwise_ranges_and_slices),
        check!(elementwise_loops_have_a_before_and_an_after),
        check!(elementwise_beyond_31_bits, Alone),
    ]
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

/// Only the last elements are touched, so that a software device commits no memory for the others.
fn elementwise_beyond_31_bits(subject: &Subject) -> Result<Report, Failure> {
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
