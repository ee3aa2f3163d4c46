//! What an expression costs the host before its kernel is launched: building the nodes, flattening, planning, and finding the kernel.

use std::hint::black_box;

use criterion::Criterion;
use cuprum::prelude::*;

pub(crate) fn benches(criterion: &mut Criterion) {
    let stream = Device::by_name("soft:0")
        .and_then(|device| device.context())
        .expect("the software device")
        .default_stream();
    let x = GpuArray::full(&stream, 1024, 1.0f32).expect("allocates");
    let y = GpuArray::full(&stream, 1024, 2.0f32).expect("allocates");
    criterion.bench_function("expression, host cost/build x + y", |bencher| {
        bencher.iter(|| black_box(&x) + black_box(&y));
    });
    criterion.bench_function("expression, host cost/build and find x + y", |bencher| {
        bencher.iter(|| (black_box(&x) + black_box(&y)).prepare().expect("compiles"));
    });
    let long = || x.sin() * 2.0 + y.abs().sqrt() - &x * &y;
    criterion.bench_function(
        "expression, host cost/build and find sin(x)*a + sqrt(abs(y)) - x*y",
        |bencher| {
            bencher.iter(|| long().prepare().expect("compiles"));
        },
    );
    let rows = GpuArray::full(&stream, (32, 32), 1.0f32).expect("allocates");
    criterion.bench_function(
        "expression, host cost/build and find a transposed sum",
        |bencher| {
            bencher.iter(|| (rows.t() + &rows).prepare().expect("compiles"));
        },
    );
}
