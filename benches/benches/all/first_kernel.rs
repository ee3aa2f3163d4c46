//! The first kernel of a new process: cold, where it has to be compiled, beside the C++ program `peers/first_kernel.cpp`; and warm,
//! where the cache has it. `first kernel` as a filter on the command line runs this alone.
//!
//! Each sample is a process of its own: this executable, started again with [`KIND`] set. What is timed begins with the
//! context and the buffer there, and ends when the kernel has run. Loading the process is no part of it, on either side.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cuprum::codegen::nvrtc::Nvrtc;
use cuprum::codegen::{Image, Source, Target, compile};
use cuprum::prelude::*;
use cuprum_benches::paired;

use super::is_wanted;

/// Says in a child process which kernel it is to run.
const KIND: &str = "CUPRUM_BENCH_FIRST_KERNEL";
/// Where a child keeps its results.
const DIR: &str = "CUPRUM_BENCH_FIRST_KERNEL_DIR";
/// The C++ program.
const PEER: &str = "CUPRUM_FIRST_KERNEL_PEER";

/// Processes of each kind.
const COLD: usize = 10;
const WARM: usize = 30;

/// The same texts as in the peer.
const PLAIN: &str = "extern \"C\" __global__ void first(float *x, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] = x[i] * 2.0f + 1.0f;\n}\n";
const HALF: &str = "#include <cuda_fp16.h>\nextern \"C\" __global__ void first(float *x, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] = __half2float(__hfma(__float2half(x[i]), __float2half(2.0f), __float2half(1.0f)));\n}\n";

fn source(kind: &str, dir: &Path) -> Source {
    Source::new(if kind == "half" { HALF } else { PLAIN })
        .file_name("first.cu")
        .cache_dir(dir)
}

/// In a child process: runs the kernel and prints the microseconds of each phase. Answers whether this is one.
pub(crate) fn child() -> bool {
    let Ok(kind) = std::env::var(KIND) else {
        return false;
    };
    let dir = PathBuf::from(std::env::var_os(DIR).expect("the parent says where"));
    run(&kind, &dir).expect("the kernel runs");
    true
}

fn run(kind: &str, dir: &Path) -> cuprum::Result<()> {
    let say = |what: &str, start: Instant| {
        println!("{what} {:.1}", start.elapsed().as_secs_f64() * 1e6);
    };
    let start = Instant::now();
    let device = Device::default()?;
    let context = device.context()?;
    say("context", start);
    let stream = context.default_stream();
    let mut x = DeviceBuffer::from_slice(&stream, &[3.0_f32; 1024])?;

    let start = Instant::now();
    let module = source(kind, dir).build(&context)?;
    say("module", start);
    let first = module.function("first")?;
    say("function", start);
    // SAFETY: the kernel accesses x below n, its length.
    unsafe {
        first.launch(
            &stream,
            LaunchConfig::for_elements(1024),
            (&mut x, 1024_i32),
        )
    }?;
    stream.synchronize()?;
    say("kernel", start);

    assert_eq!(x.to_vec()?, [7.0; 1024]);
    // Once more what `build` began with, for a number without the driver's part.
    let target = match module.image().cubin() {
        Some(_) => Target::Cubin(80),
        None => Target::Ptx(80),
    };
    let start = Instant::now();
    compile(&source(kind, dir), target)?;
    say("again", start);
    Ok(())
}

/// The phases that a process printed.
struct Phases(Vec<(String, f64)>);

impl Phases {
    fn of(command: &mut Command) -> Result<Self, String> {
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{command:?}: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "{command:?}: {}\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(Self(
            text.lines()
                .filter_map(|line| {
                    let (name, micros) = line.split_once(' ')?;
                    Some((name.to_owned(), micros.parse().ok()?))
                })
                .collect(),
        ))
    }

    fn get(&self, name: &str) -> Result<Duration, String> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, micros)| Duration::from_secs_f64(micros * 1e-6))
            .ok_or_else(|| format!("no phase {name} was printed"))
    }
}

fn ours(kind: &str, dir: &Path, nvrtc: Nvrtc) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .env(KIND, kind)
        .env(DIR, dir)
        .env("CUPRUM_QUIET", "1")
        .env("CUPRUM_NVRTC", nvrtc.path());
    command
}

pub(crate) fn benches() {
    if !is_wanted("first kernel") {
        return;
    }
    for kind in ["plain", "half"] {
        if let Err(problem) = bench(kind) {
            eprintln!("first kernel, {kind}: {problem}");
        }
    }
}

/// An empty folder of this process.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("cuprum-first-kernel-{}-{name}", std::process::id()))
}

fn bench(kind: &str) -> Result<(), String> {
    let nvrtc = Nvrtc::find().map_err(|error| error.to_string())?;
    let dir = folder(kind);
    let result = warm(kind, &dir, nvrtc).and_then(|image| cold(kind, &dir, nvrtc, &image));
    // A folder of our own under the system's temporary ones: what stays is removed there in time.
    let _ = std::fs::remove_dir_all(&dir);
    result
}

fn warm(kind: &str, dir: &Path, nvrtc: Nvrtc) -> Result<Image, String> {
    // Filled, and old enough that times tell that a header has not changed since.
    Phases::of(&mut ours(kind, dir, nvrtc))?;
    std::thread::sleep(Duration::from_millis(2100));
    let mut samples = Vec::new();
    for _ in 0..WARM {
        samples.push(Phases::of(&mut ours(kind, dir, nvrtc))?);
    }
    for phase in ["context", "module", "function", "kernel", "again"] {
        let mut times: Vec<Duration> = samples
            .iter()
            .map(|one| one.get(phase))
            .collect::<Result<_, _>>()?;
        times.sort_unstable();
        println!(
            "first kernel/{kind}/warm/{phase}: median {:.3} ms, from {:.3} to {:.3} in {WARM} processes",
            times[WARM / 2].as_secs_f64() * 1e3,
            times[0].as_secs_f64() * 1e3,
            times[WARM - 1].as_secs_f64() * 1e3,
        );
    }
    compile(
        &source(kind, dir).cache(false).compiler(nvrtc),
        Target::Ptx(80),
    )
    .map_err(|error| error.to_string())
}

/// Beside the C++ program, with the same NVRTC and the same headers.
fn cold(kind: &str, dir: &Path, nvrtc: Nvrtc, image: &Image) -> Result<(), String> {
    let Some(peer) = std::env::var_os(PEER) else {
        eprintln!(
            "first kernel/{kind}/cold: {PEER} names no program built from peers/first_kernel.cpp"
        );
        return Ok(());
    };
    let include = image
        .options()
        .iter()
        .filter_map(|option| option.strip_prefix("--include-path="))
        .find(|dir| Path::new(dir).join("cuda_fp16.h").is_file())
        .unwrap_or("-");
    let gpu = !Device::default()
        .map_err(|error| error.to_string())?
        .is_software();
    let phase = if gpu { "kernel" } else { "module" };
    let ratio = paired::compare(
        COLD,
        || {
            let fresh = dir.join("fresh");
            let _ = std::fs::remove_dir_all(&fresh);
            Phases::of(&mut ours(kind, &fresh, nvrtc))?.get(phase)
        },
        || {
            let mut command = Command::new(&peer);
            command.arg(nvrtc.path()).args([kind, include]);
            if gpu {
                Phases::of(&mut command)?.get("kernel")
            } else {
                // Without a driver, the C++ program only compiles, and ours loads the PTX into the software device.
                Phases::of(command.arg("compute_80"))?.get("image")
            }
        },
    )?;
    println!("first kernel/{kind}/cold against C++: {ratio}");
    Ok(())
}
