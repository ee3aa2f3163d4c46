//! A launch on every device: host time of a loop with an idle queue, against the same loop in C++ where there is one.

use std::cell::RefCell;
use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use cuprum::driver::sys::CUcontext;
use cuprum::prelude::*;
use cuprum_benches::paired;
use cuprum_benches::peers::Peers;

/// An empty kernel with four arguments.
const SOURCE: &str = r#"extern "C" __global__ void nothing(float *a, float *b, float c, int n) {}"#;

/// Launches of one measurement: fewer than a queue holds, so that the host never waits for the device.
const LOOP: i32 = 500;

/// Pairs of the comparison with C++.
const PAIRS: usize = 20;

struct Setup {
    stream: Stream,
    kernel: Function,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
}

impl Setup {
    fn new(device: &Device) -> cuprum::Result<Self> {
        let context = device.context()?;
        let stream = context.new_stream()?;
        let kernel = SourceModule::new(&context, SOURCE)?.function("nothing")?;
        let (a, b) = (
            DeviceBuffer::zeros(&stream, 4)?,
            DeviceBuffer::zeros(&stream, 4)?,
        );
        stream.synchronize()?;
        Ok(Self {
            stream,
            kernel,
            a,
            b,
        })
    }

    fn launch(&mut self) -> cuprum::Result<()> {
        // SAFETY: the kernel does nothing with its arguments.
        unsafe {
            self.kernel.launch(
                &self.stream,
                LaunchConfig::new((1, 1, 1), (1, 1, 1)),
                (&self.a, &mut self.b, black_box(2.0f32), black_box(3i32)),
            )?;
        }
        Ok(())
    }

    /// Time of one launch in a loop, the wait for the device outside the clock.
    fn ours(&mut self) -> Result<Duration, String> {
        let start = Instant::now();
        for _ in 0..LOOP {
            self.launch().map_err(|error| error.to_string())?;
        }
        let time = start.elapsed() / LOOP as u32;
        self.stream
            .synchronize()
            .map_err(|error| error.to_string())?;
        Ok(time)
    }

    /// The same loop over the driver table alone, with or without the question for the current context: what a launch
    /// costs before any check of ours.
    fn bare(&self, ask_context: bool) -> Result<Duration, String> {
        let context = self.stream.context();
        context.make_current().map_err(|error| error.to_string())?;
        let table = context.driver().table();
        let (Some(launch), Some(current)) = (table.cuLaunchKernel, table.cuCtxGetCurrent) else {
            return Err("the driver lacks an entry".to_owned());
        };
        let (mut a, mut b, mut c, mut n) = (self.a.address(), self.b.address(), 2.0f32, 3i32);
        let mut arguments = [
            (&raw mut a).cast::<c_void>(),
            (&raw mut b).cast(),
            (&raw mut c).cast(),
            (&raw mut n).cast(),
        ];
        let mut now = CUcontext::NULL;
        let start = Instant::now();
        for _ in 0..LOOP {
            // SAFETY: `now` is a live local; there is a pointer to a live value of its type for each of the four
            // parameters of the kernel, which does nothing with them and lives in the context just made current.
            let code = unsafe {
                if ask_context {
                    current(&raw mut now);
                }
                launch(
                    self.kernel.raw(),
                    1,
                    1,
                    1,
                    1,
                    1,
                    1,
                    0,
                    self.stream.raw(),
                    arguments.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            if !code.is_success() {
                return Err(format!("cuLaunchKernel: {code:?}"));
            }
        }
        let time = start.elapsed() / LOOP as u32;
        self.stream
            .synchronize()
            .map_err(|error| error.to_string())?;
        Ok(time)
    }

    /// The same of the C++ loop, on the same kernel, stream and buffers.
    fn theirs(&self, peers: &Peers) -> Result<Duration, String> {
        self.stream
            .context()
            .make_current()
            .map_err(|error| error.to_string())?;
        let arguments = (self.a.address(), self.b.address(), 2.0, 3);
        let start = Instant::now();
        // SAFETY: the kernel takes these arguments, does nothing with them, and lives in the context just made current.
        unsafe { peers.launch_loop(self.kernel.raw(), self.stream.raw(), arguments, LOOP)? };
        let time = start.elapsed() / LOOP as u32;
        self.stream
            .synchronize()
            .map_err(|error| error.to_string())?;
        Ok(time)
    }
}

pub(crate) fn benches(criterion: &mut Criterion) {
    for device in Device::all() {
        if [super::ONE_WORKER, super::TWO_WORKERS].contains(&device.label().as_str()) {
            continue;
        }
        let mut setup = match Setup::new(&device) {
            Ok(setup) => setup,
            Err(error) => {
                eprintln!("{}: not measured: {error}", device.label());
                continue;
            }
        };
        let mut group = criterion.benchmark_group(format!("launch/{}", device.label()));
        group.bench_function("4 arguments, idle queue", |bencher| {
            bencher.iter_custom(|iterations| {
                let mut time = Duration::ZERO;
                for _ in 0..iterations.div_ceil(LOOP as u64) {
                    time += setup.ours().expect("the kernel launches") * LOOP as u32;
                }
                time.mul_f64(
                    iterations as f64 / (iterations.div_ceil(LOOP as u64) * LOOP as u64) as f64,
                )
            });
        });
        group.bench_function("launch and wait", |bencher| {
            bencher.iter(|| {
                setup.launch().expect("the kernel launches");
                setup.stream.synchronize().expect("the kernel ends");
            });
        });
        group.finish();
        if !device.is_software() {
            against_cpp(&device, setup);
        }
    }
}

fn against_cpp(device: &Device, setup: Setup) {
    let peers = match Peers::open() {
        Ok(Some(peers)) => peers,
        Ok(None) => {
            println!(
                "launch/{} against C++: not measured, CUPRUM_PEERS is not set",
                device.label()
            );
            return;
        }
        Err(error) => {
            println!(
                "launch/{} against C++: not measured: {error}",
                device.label()
            );
            return;
        }
    };
    // Both sides use the one setup, in turn.
    let setup = RefCell::new(setup);
    type Side<'a> = &'a dyn Fn() -> Result<Duration, String>;
    let sides: [(&str, Side<'_>); 3] = [
        ("", &|| setup.borrow_mut().ours()),
        (", bare table", &|| setup.borrow().bare(false)),
        (", bare table and cuCtxGetCurrent", &|| {
            setup.borrow().bare(true)
        }),
    ];
    for (name, side) in sides {
        let theirs = || setup.borrow().theirs(&peers);
        // Once before the clock counts.
        let compared = side()
            .and_then(|_| theirs())
            .and_then(|_| paired::compare(PAIRS, side, theirs));
        match compared {
            Ok(ratio) => println!(
                "launch/{}{name} against the C++ loop: {ratio}",
                device.label()
            ),
            Err(error) => println!("launch/{}{name}: not measured: {error}", device.label()),
        }
    }
}
