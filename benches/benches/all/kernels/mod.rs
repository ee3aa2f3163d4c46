//! Seven kernels on the software device against native Rust: one worker against one thread, memory checks on.
//!
//! Both sides run in one process, in turn, and their results are compared first. `kernels` as a filter on the command line
//! runs these alone; `kernels/matmul` runs one.

mod native;

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use cuprum::prelude::*;
use cuprum_benches::paired;

use super::{ONE_WORKER, TWO_WORKERS, is_wanted};

const SOURCE: &str = include_str!("kernels.cu");

/// Runs of each side, in turn.
const RUNS: usize = 11;
/// Launches of which the median is the time of a launch.
const LAUNCHES: usize = 2001;

const SAXPY: usize = 1 << 24;
const ELEMENTS: usize = 1 << 20;
const SIDE: usize = 512;
const SEQUENCES: usize = 1 << 16;
/// Threads of a block.
const BLOCK: u32 = 256;

/// A kernel, its native counterpart, and how they are run.
struct Case {
    name: &'static str,
    /// CUDA threads of a launch.
    threads: usize,
    kernel: Box<dyn FnMut()>,
    native: Box<dyn FnMut()>,
}

/// Numbers from 0 to 1 that look random, the same in every run.
fn numbers(count: usize, seed: u32) -> impl Iterator<Item = f32> {
    let mut state = seed;
    (0..count).map(move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    })
}

fn filled(count: usize, seed: u32, low: f32, high: f32) -> Vec<f32> {
    numbers(count, seed)
        .map(|x| low + (high - low) * x)
        .collect()
}

/// Both results are the same to the bit.
fn assert_same(name: &str, kernel: &[f32], native: &[f32]) {
    assert_eq!(kernel.len(), native.len());
    for (i, (a, b)) in kernel.iter().zip(native).enumerate() {
        assert_eq!(a.to_bits(), b.to_bits(), "{name}, element {i}: {a} and {b}");
    }
}

/// Both results differ by no more than the bound, relative to 1 + |value|.
fn assert_near(name: &str, kernel: &[f32], native: &[f32], bound: f32) {
    assert_eq!(kernel.len(), native.len());
    for (i, (a, b)) in kernel.iter().zip(native).enumerate() {
        let difference = (a - b).abs() / (1.0 + b.abs());
        assert!(difference <= bound, "{name}, element {i}: {a} and {b}");
    }
}

struct OneWorker {
    stream: Stream,
    module: SourceModule,
    fast: SourceModule,
}

impl OneWorker {
    fn new() -> cuprum::Result<Self> {
        let context = Device::by_name(ONE_WORKER)?.context()?;
        Ok(Self {
            stream: context.default_stream(),
            module: SourceModule::new(&context, SOURCE)?,
            fast: SourceModule::builder(SOURCE)
                .option("--use_fast_math")
                .build(&context)?,
        })
    }

    fn buffer(&self, values: &[f32]) -> DeviceBuffer<f32> {
        DeviceBuffer::from_slice(&self.stream, values).expect("the device has the memory")
    }

    fn kernel(&self, name: &str) -> Function {
        self.module
            .function(name)
            .expect("the source has the kernel")
    }

    fn saxpy(&self) -> Case {
        let (x, mut y) = (filled(SAXPY, 1, -1.0, 1.0), filled(SAXPY, 2, -1.0, 1.0));
        let (dx, mut dy) = (self.buffer(&x), self.buffer(&y));
        let (stream, kernel) = (self.stream.clone(), self.kernel("saxpy"));
        let launch = move |dy: &mut DeviceBuffer<f32>| {
            let grid = LaunchConfig::for_elements_in(SAXPY, BLOCK);
            // SAFETY: the kernel reads and writes SAXPY elements of both, which are that long.
            unsafe { kernel.launch(&stream, grid, (SAXPY as i32, 0.5f32, &dx, dy)) }
                .expect("the kernel launches");
            stream.synchronize().expect("the kernel ends");
        };
        launch(&mut dy);
        native::saxpy(0.5, &x, &mut y);
        assert_same("saxpy", &dy.to_vec().expect("copies"), &y);
        Case {
            name: "saxpy",
            threads: SAXPY,
            kernel: Box::new(move || launch(&mut dy)),
            native: Box::new(move || native::saxpy(0.5, black_box(&x), &mut y)),
        }
    }

    fn elementwise(&self, name: &'static str, fast: bool, bound: f32) -> Case {
        let (x, y) = (
            filled(ELEMENTS, 3, -8.0, 8.0),
            filled(ELEMENTS, 4, -4.0, 1.0),
        );
        let mut out = vec![0.0; ELEMENTS];
        let (dx, dy, mut dout) = (self.buffer(&x), self.buffer(&y), self.buffer(&out));
        let module = if fast { &self.fast } else { &self.module };
        let kernel = module
            .function("elementwise")
            .expect("the source has the kernel");
        let stream = self.stream.clone();
        let launch = move |dout: &mut DeviceBuffer<f32>| {
            let grid = LaunchConfig::for_elements_in(ELEMENTS, BLOCK);
            // SAFETY: the kernel reads and writes ELEMENTS elements of the three, which are that long.
            unsafe { kernel.launch(&stream, grid, (ELEMENTS as i32, &dx, &dy, dout)) }
                .expect("the kernel launches");
            stream.synchronize().expect("the kernel ends");
        };
        launch(&mut dout);
        native::elementwise(&x, &y, &mut out);
        assert_near(name, &dout.to_vec().expect("copies"), &out, bound);
        Case {
            name,
            threads: ELEMENTS,
            kernel: Box::new(move || launch(&mut dout)),
            native: Box::new(move || {
                native::elementwise(black_box(&x), black_box(&y), &mut out);
            }),
        }
    }

    /// Sums of `width` elements each.
    fn reduce(&self, name: &'static str, width: usize, native: fn(&[f32], &mut [f32])) -> Case {
        let x = filled(ELEMENTS, 5, -1.0, 1.0);
        let mut sums = vec![0.0; ELEMENTS / width];
        let (dx, mut dsums) = (self.buffer(&x), self.buffer(&sums));
        let (stream, kernel) = (self.stream.clone(), self.kernel(name));
        let launch = move |dsums: &mut DeviceBuffer<f32>| {
            let grid = LaunchConfig::for_elements_in(ELEMENTS, BLOCK);
            // SAFETY: the kernel reads ELEMENTS elements and writes one sum for `width` of them; both buffers are that long.
            unsafe { kernel.launch(&stream, grid, (&dx, dsums)) }.expect("the kernel launches");
            stream.synchronize().expect("the kernel ends");
        };
        launch(&mut dsums);
        native(&x, &mut sums);
        assert_same(name, &dsums.to_vec().expect("copies"), &sums);
        Case {
            name,
            threads: ELEMENTS,
            kernel: Box::new(move || launch(&mut dsums)),
            native: Box::new(move || native(black_box(&x), &mut sums)),
        }
    }

    fn matmul(&self) -> Case {
        let count = SIDE * SIDE;
        let (a, b) = (filled(count, 6, -1.0, 1.0), filled(count, 7, -1.0, 1.0));
        let mut c = vec![0.0; count];
        let (da, db, mut dc) = (self.buffer(&a), self.buffer(&b), self.buffer(&c));
        let (stream, kernel) = (self.stream.clone(), self.kernel("matmul"));
        let launch = move |dc: &mut DeviceBuffer<f32>| {
            let tiles = (SIDE / 16) as u32;
            let grid = LaunchConfig::new((tiles, tiles, 1), (16, 16, 1));
            // SAFETY: the kernel reads and writes SIDE x SIDE elements of the three, which are that long.
            unsafe { kernel.launch(&stream, grid, (SIDE as i32, &da, &db, dc)) }
                .expect("the kernel launches");
            stream.synchronize().expect("the kernel ends");
        };
        launch(&mut dc);
        native::matmul(SIDE, &a, &b, &mut c);
        assert_same("matmul", &dc.to_vec().expect("copies"), &c);
        Case {
            name: "matmul",
            threads: count,
            kernel: Box::new(move || launch(&mut dc)),
            native: Box::new(move || native::matmul(SIDE, black_box(&a), black_box(&b), &mut c)),
        }
    }

    fn xorwow(&self) -> Case {
        let mut out = vec![0u32; SEQUENCES];
        let mut dout =
            DeviceBuffer::from_slice(&self.stream, &out).expect("the device has the memory");
        let (stream, kernel) = (self.stream.clone(), self.kernel("xorwow"));
        let launch = move |dout: &mut DeviceBuffer<u32>| {
            let grid = LaunchConfig::for_elements_in(SEQUENCES, BLOCK);
            // SAFETY: the kernel writes SEQUENCES elements, and the buffer is that long.
            unsafe { kernel.launch(&stream, grid, (SEQUENCES as i32, dout)) }
                .expect("the kernel launches");
            stream.synchronize().expect("the kernel ends");
        };
        launch(&mut dout);
        native::xorwow(&mut out);
        assert_eq!(dout.to_vec().expect("copies"), out, "xorwow");
        Case {
            name: "xorwow",
            threads: SEQUENCES,
            kernel: Box::new(move || launch(&mut dout)),
            native: Box::new(move || native::xorwow(black_box(&mut out))),
        }
    }
}

fn timed(work: &RefCell<Box<dyn FnMut()>>) -> Duration {
    let start = Instant::now();
    (work.borrow_mut())();
    start.elapsed()
}

fn measure(criterion: &mut Criterion, case: Case) {
    let (kernel, native) = (RefCell::new(case.kernel), RefCell::new(case.native));
    let ratio = paired::compare::<std::convert::Infallible>(
        RUNS,
        || Ok(timed(&kernel)),
        || Ok(timed(&native)),
    );
    let Ok(ratio) = ratio;
    let each = |time: Duration| time.as_secs_f64() * 1e9 / case.threads as f64;
    println!(
        "kernels/{}: {:.3} ns a thread against {:.3} native, ratio of medians {:.3}; {ratio}",
        case.name,
        each(ratio.ours),
        each(ratio.theirs),
        ratio.of_medians()
    );
    let mut group = criterion.benchmark_group(format!("kernels/{}", case.name));
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    group.bench_function("software device", |bencher| bencher.iter(|| timed(&kernel)));
    group.bench_function("native", |bencher| bencher.iter(|| timed(&native)));
    group.finish();
}

/// A launch of one block, and the wait for it, on two workers.
fn one_block(criterion: &mut Criterion) -> cuprum::Result<()> {
    let context = Device::by_name(TWO_WORKERS)?.context()?;
    let stream = context.new_stream()?;
    let module = SourceModule::new(&context, SOURCE)?;
    let kernel = module.function("saxpy")?;
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; BLOCK as usize])?;
    let mut y = DeviceBuffer::<f32>::zeros(&stream, BLOCK as usize)?;
    let mut launch = || {
        let grid = LaunchConfig::for_elements_in(BLOCK as usize, BLOCK);
        // SAFETY: the kernel reads and writes BLOCK elements of both, which are that long.
        unsafe { kernel.launch(&stream, grid, (BLOCK as i32, 1.0f32, &x, &mut y)) }
            .expect("the kernel launches");
        stream.synchronize().expect("the kernel ends");
    };
    for _ in 0..100 {
        launch();
    }
    let mut times: Vec<Duration> = (0..LAUNCHES)
        .map(|_| {
            let start = Instant::now();
            launch();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |part: usize| times[LAUNCHES * part / 100].as_secs_f64() * 1e6;
    println!(
        "kernels/one block, launch and wait: median {:.2} us, from {:.2} (5 %) to {:.2} us (95 %) over {LAUNCHES} launches",
        at(50),
        at(5),
        at(95)
    );
    criterion.bench_function("kernels/one block, launch and wait", |bencher| {
        bencher.iter(&mut launch);
    });
    Ok(())
}

pub(crate) fn benches(criterion: &mut Criterion) {
    if !is_wanted("kernels") {
        return;
    }
    let device = match OneWorker::new() {
        Ok(device) => device,
        Err(error) => {
            println!("kernels: not measured: {error}");
            return;
        }
    };
    type Make<'a> = &'a dyn Fn(&OneWorker) -> Case;
    let cases: [(&str, Make<'_>); 7] = [
        ("saxpy", &OneWorker::saxpy),
        ("elementwise precise", &|device| {
            device.elementwise("elementwise precise", false, 1e-6)
        }),
        ("elementwise fast-math", &|device| {
            device.elementwise("elementwise fast-math", true, 4e-6)
        }),
        ("block_reduce", &|device| {
            device.reduce("block_reduce", 256, native::block_reduce)
        }),
        ("shuffle_reduce", &|device| {
            device.reduce("shuffle_reduce", 32, native::shuffle_reduce)
        }),
        ("matmul", &OneWorker::matmul),
        ("xorwow", &OneWorker::xorwow),
    ];
    for (name, make) in cases {
        if is_wanted(&format!("kernels/{name}")) {
            measure(criterion, make(&device));
        }
    }
    if is_wanted("kernels/one block")
        && let Err(error) = one_block(criterion)
    {
        println!("kernels/one block: not measured: {error}");
    }
}
