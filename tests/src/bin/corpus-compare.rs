//! Runs the corpus on two devices with the same PTX and inputs, and writes a table: source, kernel, and how the results
//! agree.
//!
//! `corpus-compare compile FOLDER` compiles every source with NVRTC 13.0 into `FOLDER/NAME.ptx`;
//! `corpus-compare run FOLDER TABLE.md [DEVICE DEVICE]` runs them on `cuda:0` and `soft:0` (or the two named) and
//! writes the table, which names devices, drivers, compiler and PTX. It ends with 1 if a row of scope `core` is red, with
//! 2 if it cannot run. `soft:0 soft:0` tries it without a GPU.

use std::fmt::Write as _;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cuprum::codegen::nvrtc::{Nvrtc, Wheel};
use cuprum::codegen::{Source as Program, Target, compile};
use cuprum::driver::Module;
use cuprum::prelude::{Device, Stream};
use cuprum_tests::corpus::{self, Case, Source};
use sha2::{Digest as _, Sha256};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["compile", folder] => compile_all(Path::new(folder)).map(|()| true),
        ["run", folder, table] => {
            compare(Path::new(folder), Path::new(table), ["cuda:0", "soft:0"])
        }
        ["run", folder, table, a, b] => compare(Path::new(folder), Path::new(table), [a, b]),
        _ => {
            Err("usage: corpus-compare compile FOLDER | run FOLDER TABLE.md [DEVICE DEVICE]".into())
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The architecture that a source is compiled for: as low as it allows, so that both devices take it.
fn architecture(source: &Source) -> u32 {
    source.least.max(80)
}

/// The cases of a source.
fn cases_of<'a>(cases: &'a [Case], source: &Source) -> Vec<&'a Case> {
    cases
        .iter()
        .filter(|case| case.source() == source.name)
        .collect()
}

/// The file beside the PTX that says what made it.
const MADE_BY: &str = "made-by.txt";

fn compile_all(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let wheel = Wheel::Cuda13_0;
    std::fs::write(
        folder.join(MADE_BY),
        format!("NVRTC of {}, -fmad=false", wheel.requirement()),
    )?;
    let nvrtc = Nvrtc::of_wheel(wheel)?;
    let cases = corpus::all();
    for source in corpus::sources() {
        if cases_of(&cases, &source).is_empty() {
            continue;
        }
        // Contraction is the compiler's choice, so that both devices compute the same.
        let mut program = Program::from_file(&source.path)?
            .compiler(nvrtc)
            .option("-fmad=false");
        // A later option wins: sources that ask for contraction, or fast mathematics, get it.
        for option in &source.options {
            program = program.option(option);
        }
        for dir in source.header_dirs(wheel)? {
            program = program.include_dir(dir);
        }
        let image = compile(&program, Target::Ptx(architecture(&source)))
            .map_err(|error| format!("{}: {error}", source.name))?;
        std::fs::write(folder.join(format!("{}.ptx", source.name)), image.ptx())?;
        std::fs::copy(&source.path, folder.join(format!("{}.cu", source.name)))?;
    }
    Ok(())
}

fn compare(folder: &Path, table: &Path, labels: [&str; 2]) -> Result<bool> {
    // The software device takes what the GPU takes.
    let mut config = cuprum_softcuda::Config::from_env()?;
    for device in &mut config.devices {
        device.compute_capability = (9, 0);
    }
    cuprum_softcuda::configure(config)?;
    let devices = [Device::by_name(labels[0])?, Device::by_name(labels[1])?];
    let streams = [
        devices[0].context()?.new_stream()?,
        devices[1].context()?.new_stream()?,
    ];
    let cases = corpus::all();
    let mut text = format!(
        "| source | PTX | kernel | {} | {} | between |\n|---|---|---|---|---|---|\n",
        labels[0], labels[1]
    );
    let mut counts = Counts::default();
    let start = Instant::now();
    for source in corpus::sources_in(folder) {
        let of_source = cases_of(&cases, &source);
        let ptx = std::fs::read_to_string(folder.join(format!("{}.ptx", source.name)))?;
        let hash = short_hash(&ptx);
        let modules = [
            Module::from_ptx(streams[0].context(), &ptx),
            Module::from_ptx(streams[1].context(), &ptx),
        ];
        for case in of_source {
            let (words, good) = row(case, &modules, &ptx, &streams);
            match (good, words[2].as_str(), source.scope.as_str()) {
                (true, "equal", _) => counts.equal += 1,
                (true, ..) => counts.close += 1,
                (false, _, "core") => {
                    counts.red += 1;
                    println!("red: {} {}: {words:?}", source.name, case.name());
                }
                (false, ..) => counts.rare += 1,
            }
            writeln!(
                text,
                "| {} | {hash} | {} | {} | {} | {} |",
                source.name,
                case.name(),
                words[0],
                words[1],
                words[2]
            )?;
        }
    }
    let Counts {
        equal,
        close,
        red,
        rare,
    } = counts;
    let cases = equal + close + red + rare;
    let summary = format!(
        "{cases} cases: {equal} equal, {close} within their bounds, {red} red, {rare} out of scope and not the same; {:.1} s",
        start.elapsed().as_secs_f64()
    );
    println!("{summary}");
    let made_by = std::fs::read_to_string(folder.join(MADE_BY))?;
    let facts: String = devices.iter().map(facts).collect();
    std::fs::write(
        table,
        format!("{summary}\n\n{facts}- PTX: {made_by}\n\n{text}"),
    )?;
    Ok(red == 0 && cases > 0)
}

/// How many rows came out how.
#[derive(Default)]
struct Counts {
    equal: usize,
    close: usize,
    red: usize,
    /// Not the same, and not of scope `core`: what the software device refuses, mostly.
    rare: usize,
}

/// What a device is, as an item of a list.
fn facts(device: &Device) -> String {
    let (major, minor) = device.driver_version();
    let (x, y) = device.compute_capability();
    format!(
        "- {}: {}, compute capability {x}.{y}, driver API {major}.{minor}\n",
        device.label(),
        device.name()
    )
}

/// The first twelve digits of the SHA-256 of a text.
fn short_hash(text: &str) -> String {
    Sha256::digest(text)[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Does something, and answers with what came to the standard output meanwhile: a driver prints there on its own.
fn captured<R>(what: impl FnOnce() -> R) -> std::io::Result<(R, String)> {
    std::io::stdout().flush()?;
    let mut file = tempfile::tempfile()?;
    let before = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(&file)?;
    let result = what();
    let flushed = std::io::stdout().flush();
    rustix::stdio::dup2_stdout(&before)?;
    flushed?;
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok((result, text))
}

/// What each device says, and how they agree; whether all of it is right.
fn row(
    case: &Case,
    modules: &[cuprum::driver::Result<Module>; 2],
    ptx: &str,
    streams: &[Stream; 2],
) -> ([String; 3], bool) {
    let outcomes = [0, 1].map(|side| {
        let (outcome, printed) = captured(|| case.run(&modules[side], ptx, &streams[side]))
            .map_err(|error| format!("what it prints: {error}"))?;
        let outcome = outcome?;
        case.judge_printed(&printed)?;
        let error = case.judge(&outcome)?;
        Ok::<_, String>((outcome, error))
    });
    let word = |outcome: &std::result::Result<(corpus::Outcome, f64), String>| match outcome {
        Ok((_, 0.0)) => "exact".to_owned(),
        Ok((_, error)) => format!("{error:.3e}"),
        Err(text) => format!(
            "**{}**",
            text.lines().next().unwrap_or("failed").replace('|', "/")
        ),
    };
    let between = match (&outcomes[0], &outcomes[1]) {
        (Ok((a, _)), Ok((b, _))) => case.between(a, b),
        _ => Err("not compared".to_owned()),
    };
    let good = between.is_ok();
    (
        [
            word(&outcomes[0]),
            word(&outcomes[1]),
            between.unwrap_or_else(|text| format!("**{text}**")),
        ],
        good,
    )
}
