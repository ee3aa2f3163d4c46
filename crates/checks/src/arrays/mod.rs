//! Arrays: expressions, views and reductions against the same arithmetic on the host.

mod layout;
mod number;

use cuprum::gpuarray::{CastTo, Element, Float, SliceArg, s};
use cuprum::prelude::*;
use proptest::prelude::{Just, Strategy as _, any};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::data::{EDGES, Random, f32_edges, f64_edges};
use crate::runner::{Kernels, equal};
use layout::{ANY, Lie, WHOLE, shapes};
use number::{Number, OPERATIONS};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(elementwise_f32),
        check!(elementwise_f64),
        check!(elementwise_i32),
        check!(elementwise_u32),
        check!(elementwise_i64),
        check!(elementwise_u64),
        check!(functions_are_within_ulps),
        check!(comparisons_select),
        check!(casts_are_those_of_the_host),
        check!(reductions_of_any_view),
        check!(reductions_with_nan),
        check!(updates_read_before_they_write),
        check!(copies_within_an_array_may_overlap),
        check!(views_are_written_and_nothing_else),
        check!(nothing_is_a_normal_shape),
        check!(linspace_doubled_has_median_nine),
        check!(memory_is_shared_with_kernels),
    ]
}

fn elementwise<T: Number>(subject: &Subject) -> Result<Report, Failure> {
    let inputs = (
        shapes(),
        0..WHOLE.len(),
        0..ANY.len(),
        0..OPERATIONS.len(),
        any::<u64>(),
    );
    property(inputs, |(shape, left, right, operation, seed)| {
        let mut random = Random::new(seed);
        let (left, right, operation) = (WHOLE[left], ANY[right], OPERATIONS[operation]);
        let (a, a_host) = left.make(&subject.stream, shape, |_| T::random(&mut random))?;
        let (b, b_host) = right.make(&subject.stream, shape, |_| T::random(&mut random))?;
        let (a, b) = (Expr::from(left.view(&a)), Expr::from(right.view(&b)));
        let got = T::device(operation, &a, &b).eval()?;
        ensure_eq!(got.shape(), &[shape.0, shape.1], "the shape");
        for (at, ((&a, &b), got)) in a_host.iter().zip(&b_host).zip(got.to_vec()?).enumerate() {
            let want = T::host(operation, a, b);
            ensure!(
                T::same(got, want),
                "{left:?} {operation:?} {right:?}: element {at}, of {a:?} and {b:?}, is {got:?}, want {want:?}"
            );
        }
        Ok(())
    })
}

/// Arithmetic on views of every kind, to the bit.
fn elementwise_f32(subject: &Subject) -> Result<Report, Failure> {
    elementwise::<f32>(subject)
}

/// As for `f32`.
fn elementwise_f64(subject: &Subject) -> Result<Report, Failure> {
    elementwise::<f64>(subject)
}

/// Arithmetic on views of every kind, which wraps.
fn elementwise_i32(subject: &Subject) -> Result<Report, Failure> {
    elementwise::<i32>(subject)
}

/// As for `i32`.
fn elementwise_u32(subject: &Subject) -> Result<Report, Failure> {
    elementwise::<u32>(subject)
}

/// As for `i32`.
fn elementwise_i64(subject: &Subject) -> Result<Report, Failure> {
    elementwise::<i64>(subject)
}

/// As for `i32`.
fn elementwise_u64(subject: &Subject) -> Result<Report, Failure> {
    elementwise::<u64>(subject)
}

/// A function of arrays, the host's function, the inputs it is looked at for, and the ulps it may be off.
struct Row<T> {
    name: &'static str,
    device: for<'a> fn(&Expr<'a, T>) -> Expr<'a, T>,
    host: fn(f64) -> f64,
    range: (f64, f64),
    ulps: f64,
}

/// The functions of floats. Where a bound is not 0 it is a little above the largest that CUDA documents for both
/// precisions, since the host's result in double precision is not exact either.
fn functions<T: Float>() -> Vec<Row<T>> {
    macro_rules! rows {
        ($($device:ident $host:ident $low:literal $high:literal $ulps:literal;)+) => {
            vec![$(Row {
                name: stringify!($device),
                device: |x| x.$device(),
                host: f64::$host,
                range: ($low, $high),
                ulps: $ulps,
            }),+]
        };
    }
    rows! {
        sqrt sqrt 0.0 1e6 0.0;
        floor floor -1e4 1e4 0.0;
        ceil ceil -1e4 1e4 0.0;
        trunc trunc -1e4 1e4 0.0;
        abs abs -1e4 1e4 0.0;
        exp exp -80.0 80.0 3.0;
        exp2 exp2 -100.0 100.0 3.0;
        expm1 exp_m1 -5.0 80.0 3.0;
        log ln 1e-6 1e6 3.0;
        log2 log2 1e-6 1e6 3.0;
        log10 log10 1e-6 1e6 4.0;
        log1p ln_1p -0.9 1e3 3.0;
        sin sin -50.0 50.0 3.0;
        cos cos -50.0 50.0 3.0;
        tan tan -50.0 50.0 5.0;
        asin asin -1.0 1.0 5.0;
        acos acos -1.0 1.0 5.0;
        atan atan -1e3 1e3 4.0;
        sinh sinh -50.0 50.0 5.0;
        cosh cosh -50.0 50.0 4.0;
        tanh tanh -10.0 10.0 4.0;
        cbrt cbrt -1e6 1e6 3.0;
    }
}

/// Evaluates every function at random points; `ulp` is the spacing of the type's values at one.
fn functions_of<T: Float>(
    subject: &Subject,
    narrow: impl Fn(f64) -> T,
    wide: impl Fn(T) -> f64,
    ulp: impl Fn(f64) -> f64,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    for Row {
        name,
        device,
        host,
        range,
        ulps,
    } in functions::<T>()
    {
        let mut random = Random::new(5);
        let inputs = random.vec(400, |random| narrow(random.between(range.0, range.1)));
        let x = GpuArray::from_slice(&subject.stream, &inputs, inputs.len())?;
        let got = device(&Expr::from(&x)).eval()?.to_vec()?;
        for (&input, got) in inputs.iter().zip(got) {
            let want = host(wide(input));
            // The correctly rounded result, for those functions that give it.
            let want = if ulps == 0.0 {
                wide(narrow(want))
            } else {
                want
            };
            let error = (wide(got) - want).abs() / ulp(want);
            // Also false for NaN.
            let close = error <= ulps;
            ensure!(
                close,
                "{name} of {input:?} is {got:?}, want {want:?}: {error} ulps, {ulps} allowed"
            );
            report = report.and(Report {
                cases: 1,
                largest_error: error,
            });
        }
    }
    Ok(report)
}

/// Functions of single and double precision are as close as CUDA promises; the error is in ulps.
fn functions_are_within_ulps(subject: &Subject) -> Result<Report, Failure> {
    let single = functions_of::<f32>(
        subject,
        |value| value as f32,
        f64::from,
        |value| {
            let value = (value as f32).abs();
            f64::from(f32::from_bits(value.to_bits() + 1)) - f64::from(value)
        },
    )?;
    let double = functions_of::<f64>(
        subject,
        |value| value,
        |value| value,
        |value| f64::from_bits(value.abs().to_bits() + 1) - value.abs(),
    )?;
    Ok(single.and(double))
}

/// A comparison on the host.
type Comparison = fn(&f32, &f32) -> bool;

/// All comparisons, with NaN and both zeros; masks are combined, counted, and choose.
fn comparisons_select(subject: &Subject) -> Result<Report, Failure> {
    let edges = f32_edges();
    let count = edges.len();
    let column = GpuArray::from_slice(&subject.stream, &edges, (count, 1))?;
    let row = GpuArray::from_slice(&subject.stream, &edges, count)?;
    let masks: [(&str, Expr<'_, bool>, Comparison); 8] = [
        ("eq", column.eq(&row), |a, b| a == b),
        ("ne", column.ne(&row), |a, b| a != b),
        ("lt", column.lt(&row), |a, b| a < b),
        ("le", column.le(&row), |a, b| a <= b),
        ("gt", column.gt(&row), |a, b| a > b),
        ("ge", column.ge(&row), |a, b| a >= b),
        ("not lt", !column.lt(&row), |a, b| {
            !matches!(a.partial_cmp(b), Some(std::cmp::Ordering::Less))
        }),
        (
            "lt and finite",
            column.lt(&row) & row.is_finite(),
            |a, b| a < b && b.is_finite(),
        ),
    ];
    let mut report = Report::default();
    for (name, mask, host) in masks {
        let want: Vec<i32> = edges
            .iter()
            .flat_map(|a| edges.iter().map(move |b| if host(a, b) { 1 } else { -1 }))
            .collect();
        let got = mask.select(1, -1).eval()?;
        report = report.and(equal(name, &got.to_vec()?, &want)?);
        let holds = want.iter().filter(|&&value| value == 1).count();
        ensure_eq!(mask.count()?, holds as u64, "count of {name}");
        ensure_eq!(mask.any()?, holds > 0, "any of {name}");
        ensure_eq!(mask.all()?, holds == want.len(), "all of {name}");
    }
    Ok(report)
}

fn cast_of<A: Element, B: CastTo + Number>(
    subject: &Subject,
    inputs: &[A],
    host: impl Fn(A) -> B,
) -> Result<Report, Failure> {
    let got = GpuArray::from_slice(&subject.stream, inputs, inputs.len())?
        .cast::<B>()
        .eval()?
        .to_vec()?;
    for (&input, got) in inputs.iter().zip(got) {
        let want = host(input);
        // NaN has many bit patterns, and equals none.
        #[allow(clippy::eq_op, reason = "tells NaN, which equals not even itself")]
        let both_nan = got != got && want != want;
        ensure!(
            B::same(got, want) || both_nan,
            "{input:?} as {} is {got:?}, want {want:?}",
            B::DTYPE
        );
    }
    Ok(Report::exact(inputs.len() as u64))
}

/// Casts between all types are `as`, at the edges of every type: floats saturate, NaN becomes 0, integers wrap.
fn casts_are_those_of_the_host(subject: &Subject) -> Result<Report, Failure> {
    let mut report = Report::default();
    macro_rules! casts {
        ($($from:ident $inputs:expr;)+) => {$({
            let inputs: Vec<$from> = $inputs;
            report = report
                .and(cast_of(subject, &inputs, |value| value as f32)?)
                .and(cast_of(subject, &inputs, |value| value as f64)?)
                .and(cast_of(subject, &inputs, |value| value as i32)?)
                .and(cast_of(subject, &inputs, |value| value as u32)?)
                .and(cast_of(subject, &inputs, |value| value as i64)?)
                .and(cast_of(subject, &inputs, |value| value as u64)?);
        })+};
    }
    casts! {
        f32 f32_edges();
        f64 f64_edges();
        i32 EDGES.iter().map(|&bits| bits as i32).collect();
        u32 EDGES.iter().map(|&bits| bits as u32).collect();
        i64 EDGES.iter().map(|&bits| bits as i64).collect();
        u64 EDGES.to_vec();
    }
    Ok(report)
}

fn reduce<T: Number>(
    subject: &Subject,
    shape: (usize, usize),
    lie: Lie,
    seed: u64,
) -> Result<(), Failure> {
    let mut random = Random::new(seed);
    let (array, host) = lie.make(&subject.stream, shape, |_| T::small(&mut random))?;
    let view = lie.view(&array);
    let best = |better: fn(&T, &T) -> bool| {
        host.iter()
            .copied()
            .reduce(|a, b| if better(&b, &a) { b } else { a })
    };
    ensure_eq!(
        view.sum()?,
        T::sum_of(&host),
        "{lie:?}: sum of {}",
        T::DTYPE
    );
    ensure_eq!(
        view.min().ok(),
        best(|a, b| a < b),
        "{lie:?}: min of {}",
        T::DTYPE
    );
    ensure_eq!(
        view.max().ok(),
        best(|a, b| a > b),
        "{lie:?}: max of {}",
        T::DTYPE
    );
    // Of an expression, which is never stored.
    ensure_eq!(
        (&view + &view).sum()?,
        T::sum_of(&[host.as_slice(), host.as_slice()].concat()),
        "{lie:?}: sum of {} doubled",
        T::DTYPE
    );
    Ok(())
}

/// Sums, minima and maxima of every kind of view, reversed and strided ones too, and of nothing (PR-15).
fn reductions_of_any_view(subject: &Subject) -> Result<Report, Failure> {
    let inputs = (shapes(), 0..WHOLE.len(), 0..6, any::<u64>());
    property(inputs, |(shape, lie, kind, seed)| {
        let lie = WHOLE[lie];
        match kind {
            0 => reduce::<f32>(subject, shape, lie, seed),
            1 => reduce::<f64>(subject, shape, lie, seed),
            2 => reduce::<i32>(subject, shape, lie, seed),
            3 => reduce::<u32>(subject, shape, lie, seed),
            4 => reduce::<i64>(subject, shape, lie, seed),
            _ => reduce::<u64>(subject, shape, lie, seed),
        }
    })
}

/// One NaN anywhere makes the sum, the minimum and the maximum NaN (PR-15).
fn reductions_with_nan(subject: &Subject) -> Result<Report, Failure> {
    let inputs = (1usize..5000).prop_flat_map(|len| (Just(len), 0..len));
    property(inputs, |(len, at)| {
        let mut host: Vec<f32> = (0..len).map(|i| i as f32 - 100.0).collect();
        host[at] = f32::NAN;
        let x = GpuArray::from_slice(&subject.stream, &host, len)?;
        let y = x.cast::<f64>().eval()?;
        let found = [
            f64::from(x.sum()?),
            f64::from(x.min()?),
            f64::from(x.max()?),
            x.mean()?,
            y.sum()?,
            y.min()?,
            y.max()?,
        ];
        ensure!(found.iter().all(|value| value.is_nan()), "{found:?}");
        let finite = x.is_nan().select(0.0, &x).eval()?;
        ensure!(finite.min()?.is_finite(), "NaN was not replaced");
        ensure_eq!(x.is_nan().count()?, 1, "how many are NaN");
        Ok(())
    })
}

/// An array is overwritten by an expression of itself as if all had been read before (PR-07, PR-08).
fn updates_read_before_they_write(subject: &Subject) -> Result<Report, Failure> {
    property((2usize..5000, any::<u64>()), |(len, seed)| {
        let mut host = Random::new(seed).vec(len, |random| random.u32() as i32);
        let mut x = GpuArray::from_slice(&subject.stream, &host, len)?;
        x.update(|x| &x * 3 + 1)?;
        host.iter_mut()
            .for_each(|v| *v = v.wrapping_mul(3).wrapping_add(1));
        equal("x = 3 x + 1", &x.to_vec()?, &host)?;

        x.update(|x| &x + x.slice(s![..;-1]))?;
        let before = host.clone();
        for (value, other) in host.iter_mut().zip(before.iter().rev()) {
            *value = value.wrapping_add(*other);
        }
        equal("x += x reversed", &x.to_vec()?, &host)?;

        // The first element is read by all.
        x.update(|x| &x - x.slice(s![0..1]))?;
        let first = host[0];
        host.iter_mut().for_each(|v| *v = v.wrapping_sub(first));
        equal("x -= x[0]", &x.to_vec()?, &host)?;

        let y = GpuArray::arange(&subject.stream, 0, len as i32, 1)?;
        x.add_assign(&y)?;
        x.mul_assign(5)?;
        x.sub_assign(&y * 2)?;
        for (i, value) in host.iter_mut().enumerate() {
            let i = i as i32;
            *value = value.wrapping_add(i).wrapping_mul(5).wrapping_sub(2 * i);
        }
        equal("assignments", &x.to_vec()?, &host)?;
        Ok(())
    })
}

/// Parts of an array are copied over others, forwards, backwards and reversed (PR-07, PR-08).
fn copies_within_an_array_may_overlap(subject: &Subject) -> Result<Report, Failure> {
    let inputs = (1usize..3000).prop_flat_map(|len| (Just(len), 0..len, 0..len, any::<bool>()));
    property(inputs, |(len, from, to, reversed)| {
        let mut host: Vec<u64> = (0..len as u64).map(|i| i * i + 7).collect();
        let mut x = GpuArray::from_slice(&subject.stream, &host, len)?;
        let count = (len - from).min(len - to);
        let step = if reversed { -1 } else { 1 };
        x.copy_within(
            [SliceArg::from(from..from + count).step_by(step)],
            [SliceArg::from(to..to + count)],
        )?;
        let mut part = host[from..from + count].to_vec();
        if reversed {
            part.reverse();
        }
        host[to..to + count].copy_from_slice(&part);
        equal("the array", &x.to_vec()?, &host)?;
        Ok(())
    })
}

/// Assigning to a view writes its elements and leaves those between them.
fn views_are_written_and_nothing_else(subject: &Subject) -> Result<Report, Failure> {
    property((shapes(), any::<bool>()), |((rows, columns), backwards)| {
        let mut x = GpuArray::full(&subject.stream, (rows, 2 * columns), 9.0f32)?;
        let values = GpuArray::from_slice(
            &subject.stream,
            &(0..columns).map(|i| i as f32).collect::<Vec<_>>(),
            columns,
        )?;
        let step = if backwards { -2 } else { 2 };
        let mut view = x.slice_mut([SliceArg::from(..), SliceArg::from(..).step_by(step)]);
        view.assign(&values)?;
        view.add_assign(0.5)?;
        let want: Vec<f32> = (0..rows * 2 * columns)
            .map(|at| {
                let column = at % (2 * columns);
                match (backwards, column % 2) {
                    (false, 0) => (column / 2) as f32 + 0.5,
                    (true, 1) => (columns - 1 - column / 2) as f32 + 0.5,
                    _ => 9.0,
                }
            })
            .collect();
        equal("the array", &x.to_vec()?, &want)?;
        Ok(())
    })
}

/// Arrays without elements evaluate, copy and reduce; only what has no answer is an error (PR-10).
fn nothing_is_a_normal_shape(subject: &Subject) -> Result<Report, Failure> {
    for shape in [vec![0], vec![0, 5], vec![5, 0], vec![2, 0, 3]] {
        let mut x = GpuArray::<f64>::zeros(&subject.stream, &shape[..])?;
        ensure_eq!(
            (&x * 2.0 + 1.0).sqrt().eval()?.shape(),
            &shape[..],
            "the shape"
        );
        x.fill(1.0)?;
        x.add_assign(1.0)?;
        x.update(|x| &x * 2.0)?;
        x.copy_from_slice(&[])?;
        ensure_eq!(x.to_vec()?, Vec::<f64>::new(), "contents");
        ensure_eq!(x.t().to_vec()?, Vec::<f64>::new(), "contents transposed");
        ensure_eq!(x.sum()?, 0.0, "sum");
        ensure!(x.mean()?.is_nan(), "the mean is not NaN");
        ensure!(x.min().is_err(), "there is a minimum of nothing");
        ensure!(x.max().is_err(), "there is a maximum of nothing");
        ensure!(x.gt(0.0).all()?, "all of nothing");
        ensure!(!x.gt(0.0).any()?, "any of nothing");
    }
    ensure_eq!(
        GpuArray::arange(&subject.stream, 3, 3, 1)?.len(),
        0,
        "an empty range"
    );
    Ok(Report::exact(33))
}

/// `linspace(0, 9)`, doubled: the median is 9, by a kernel and by an expression, for every count.
fn linspace_doubled_has_median_nine(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, cuprum::kernels::FIRST)?;
    property(2usize..3000, |count| {
        let values = GpuArray::linspace(&subject.stream, 0.0f64, 9.0, count)?;
        let by_expression = (&values * 2.0).eval()?.to_vec()?;
        let mut buffer = values.into_buffer();
        kernels.launch(
            "doublify",
            LaunchConfig::for_elements(count),
            (&mut buffer, count as i64),
        )?;
        let mut doubled = buffer.to_vec()?;
        equal("kernel and expression", &doubled, &by_expression)?;
        ensure_eq!((doubled[0], doubled[count - 1]), (0.0, 18.0), "the ends");
        doubled.sort_by(f64::total_cmp);
        let median = 0.5 * (doubled[(count - 1) / 2] + doubled[count / 2]);
        let right = (median - 9.0).abs() < 1e-12;
        ensure!(right, "the median is {median}");
        Ok(())
    })
}

/// One buffer is written by kernels and by expressions in turn, on several streams, without a copy.
fn memory_is_shared_with_kernels(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void square(int *x, int n)
           { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= x[i]; }"#,
    )?;
    let other = subject.context.new_stream()?;
    property(1usize..5000, |len| {
        let mut host: Vec<i32> = (0..len as i32).map(|i| i % 37).collect();
        let mut buffer = kernels.upload(&host)?;
        let address = buffer.address();
        for _ in 0..3 {
            kernels.launch(
                "square",
                LaunchConfig::for_elements(len),
                (&mut buffer, len as i32),
            )?;
            let mut array = GpuArray::from_buffer(buffer, len)?;
            // Read on one stream while the next statement is queued on another.
            let half = (&array / 2).eval_on(&other)?;
            array.assign_on(&subject.stream, &half + 1)?;
            array.update(|x| &x % 41)?;
            buffer = array.into_buffer();
            for value in &mut host {
                *value = (*value * *value / 2 + 1) % 41;
            }
        }
        ensure_eq!(buffer.address(), address, "the address of the buffer");
        equal("the buffer", &buffer.to_vec()?, &host)?;
        let view = GpuView::from_device_view(buffer.view());
        ensure_eq!(
            view.sum()?,
            host.iter().map(|&value| i64::from(value)).sum::<i64>(),
            "the sum of a view of the buffer"
        );
        Ok(())
    })
}
