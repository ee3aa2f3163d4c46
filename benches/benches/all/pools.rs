//! An allocation and its end: through pools, and through the driver's calls.
//!
//! The goals: at most 60 ns for a pair on one thread with the recorder on, and at least four times the pairs of one
//! thread for 16 threads on 16 cores. Peers need 570 to 790 ns on an H200.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use criterion::{BenchmarkId, Criterion};
use cuprum::mempool::{Policy, Pool, PoolBuilder};
use cuprum::prelude::{Context, Device, DeviceBuffer, Stream};

/// Bytes of a pair.
const SIZES: [(usize, &str); 3] = [
    (1 << 10, "1 KiB"),
    (1 << 20, "1 MiB"),
    (256 << 20, "256 MiB"),
];

/// Threads that allocate at once.
const THREADS: usize = 16;

/// Pairs of each thread in one measurement.
const PAIRS: u32 = 2_000_000;

/// Measurements of threads, of which the median counts.
const ROUNDS: usize = 5;

pub(crate) fn benches(criterion: &mut Criterion) {
    // Pools do not care for the workers of a software device: the first stands for all.
    let wanted = |device: &Device| !device.is_software() || device.ordinal() == 0;
    for device in Device::all().into_iter().filter(wanted) {
        let ready = device
            .context()
            .and_then(|context| Ok((context.new_stream()?, context)));
        match ready {
            Ok((stream, context)) => {
                pairs(criterion, &device, &context, &stream);
                threads(&device, &context);
            }
            Err(error) => eprintln!("{}: not measured: {error}", device.label()),
        }
    }
}

fn pool(builder: PoolBuilder, context: &Context) -> Pool {
    builder.build(context).expect("a pool")
}

fn pairs(criterion: &mut Criterion, device: &Device, context: &Context, stream: &Stream) {
    let mut group = criterion.benchmark_group(format!("pool/{}", device.label()));
    let pools = [
        ("pool", Pool::builder()),
        ("pool without recorder", Pool::builder().events(0)),
        ("pool of bins", Pool::builder().policy(Policy::Bins)),
    ];
    for (bytes, size) in SIZES {
        for (name, builder) in pools {
            let pool = pool(builder, context);
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter(|| {
                    pool.allocate(black_box(stream), black_box(bytes))
                        .expect("memory")
                });
            });
        }
        let pool = pool(Pool::builder(), context);
        context.set_allocator(Some(Arc::new(pool)));
        group.bench_function(
            BenchmarkId::new("buffer of the context's pool", size),
            |b| {
                b.iter(|| {
                    // SAFETY: nothing reads the buffer.
                    unsafe { DeviceBuffer::<u8>::uninit(black_box(stream), black_box(bytes)) }
                        .expect("memory")
                });
            },
        );
        context.set_allocator(None);
        let table = context.driver().table();
        context.make_current().expect("a context");
        if let (Some(allocate), Some(free)) = (table.cuMemAlloc_v2, table.cuMemFree_v2) {
            group.bench_function(BenchmarkId::new("cuMemAlloc, cuMemFree", size), |b| {
                b.iter(|| {
                    let mut address = 0;
                    // SAFETY: `address` is a live local, the context is current on this thread, and nothing uses the
                    // memory.
                    let codes =
                        unsafe { (allocate(&raw mut address, black_box(bytes)), free(address)) };
                    assert!(codes.0.is_success() && codes.1.is_success(), "{codes:?}");
                });
            });
        }
        if let (Some(allocate), Some(free)) = (table.cuMemAllocAsync, table.cuMemFreeAsync) {
            group.bench_function(
                BenchmarkId::new("cuMemAllocAsync, cuMemFreeAsync", size),
                |b| {
                    b.iter(|| {
                        let mut address = 0;
                        // SAFETY: `address` is a live local, the stream lives and is of the context that is current on
                        // this thread, and nothing uses the memory.
                        let codes = unsafe {
                            (
                                allocate(&raw mut address, black_box(bytes), stream.raw()),
                                free(address, stream.raw()),
                            )
                        };
                        assert!(codes.0.is_success() && codes.1.is_success(), "{codes:?}");
                    });
                },
            );
            stream.synchronize().expect("the stream ends");
        }
    }
    group.finish();
}

/// Pairs a second of so many threads in all, each with a stream of its own or all with one.
fn rate(context: &Context, pool: &Pool, threads: usize, shared: bool) -> f64 {
    let stream = context.new_stream().expect("a stream");
    let barrier = Barrier::new(threads + 1);
    let time = std::thread::scope(|scope| {
        for _ in 0..threads {
            let (barrier, pool) = (&barrier, pool);
            let stream = if shared {
                stream.clone()
            } else {
                context.new_stream().expect("a stream")
            };
            scope.spawn(move || {
                let pair = || drop(black_box(pool.allocate(&stream, 1024).expect("memory")));
                for _ in 0..PAIRS / 100 {
                    pair();
                }
                barrier.wait();
                for _ in 0..PAIRS {
                    pair();
                }
                barrier.wait();
            });
        }
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        start.elapsed()
    });
    threads as f64 * f64::from(PAIRS) / time.as_secs_f64()
}

fn threads(device: &Device, context: &Context) {
    let label = format!("pool/{}/threads", device.label());
    if !crate::is_wanted(&label) {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, shared) in [("a stream each", false), ("one stream", true)] {
        let measure = |threads| {
            let pool = pool(Pool::builder(), context);
            let mut rates: Vec<f64> = (0..ROUNDS)
                .map(|_| rate(context, &pool, threads, shared))
                .collect();
            rates.sort_by(f64::total_cmp);
            rates[ROUNDS / 2]
        };
        let (one, many) = (measure(1), measure(THREADS));
        println!(
            "{label}, {name}: 1 thread {:.1} million pairs a second ({:.1} ns a pair), {THREADS} threads on {cores} \
             cores {:.1} million in all: {:.2} times as many",
            one / 1e6,
            1e9 / one,
            many / 1e6,
            many / one
        );
    }
}
