//! How long the software device takes from PTX to machine code, for each PTX instruction of the corpus in `tests/corpus/`.
//!
//! NVRTC's part is not measured: its results come from the cache after the first run. `compile time` as a filter on the
//! command line runs this alone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cuprum::codegen::{Source, Target, compile};
use cuprum::driver::Module;
use cuprum::prelude::*;
use cuprum_ptx::Statement;

use super::{ONE_WORKER, is_wanted};

/// Runs over the corpus; the median of each file counts.
const RUNS: usize = 3;

/// One PTX module of the corpus.
struct Case {
    name: String,
    ptx: String,
    instructions: usize,
}

/// The sources of the corpus that NVRTC compiles here, in the form that the options make.
fn corpus(form: &[&str], left_out: &mut Vec<String>) -> Vec<Case> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
            .collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let word = |key: &str| {
            text.lines()
                .filter_map(|line| line.strip_prefix("//@"))
                .flat_map(str::split_whitespace)
                .filter_map(|word| word.split_once('='))
                .find_map(|(k, value)| (k == key).then_some(value))
        };
        let architecture = word("minarch").and_then(|value| value.parse().ok());
        if word("expect") == Some("fail") || architecture.is_some_and(|least: u32| least > 80) {
            continue;
        }
        let compiled = Source::from_file(&path)
            .map_err(|error| error.to_string())
            .and_then(|mut source| {
                for option in word("opts")
                    .into_iter()
                    .flat_map(|list| list.split(','))
                    .chain(form.iter().copied())
                {
                    source = source.option(option);
                }
                compile(&source, Target::Ptx(80)).map_err(|error| error.to_string())
            });
        let Ok(image) = compiled else {
            left_out.push(format!("{name} (NVRTC)"));
            continue;
        };
        let ptx = image.ptx().to_owned();
        let mut instructions = 0;
        if let Ok(module) = cuprum_ptx::parse(&ptx) {
            for function in module.functions() {
                let body = function.body.as_deref().unwrap_or_default();
                cuprum_ptx::walk(body, &mut |statement| {
                    instructions += usize::from(matches!(statement, Statement::Instruction(_)));
                });
            }
        }
        cases.push(Case {
            name,
            ptx,
            instructions,
        });
    }
    cases
}

/// Loads a module and compiles every kernel of it.
fn load(context: &Context, ptx: &str) -> cuprum::Result<Duration> {
    let start = Instant::now();
    let module = Module::from_ptx(context, ptx)?;
    for name in module.functions()? {
        module.function(&name)?;
    }
    let time = start.elapsed();
    drop(module);
    Ok(time)
}

pub(crate) fn benches() {
    if !is_wanted("compile time") {
        return;
    }
    let context = Device::by_name(ONE_WORKER)
        .and_then(|device| device.context())
        .expect("the software device");
    for (form, options) in [("plain", &[][..]), ("debug", &["-G"])] {
        let mut left_out = Vec::new();
        let cases = corpus(options, &mut left_out);
        let (mut instructions, mut total, mut files) = (0, Duration::ZERO, 0);
        let mut each = Vec::new();
        for case in &cases {
            let times: cuprum::Result<Vec<Duration>> =
                (0..RUNS).map(|_| load(&context, &case.ptx)).collect();
            match times {
                Ok(mut times) => {
                    times.sort_unstable();
                    let time = times[RUNS / 2];
                    instructions += case.instructions;
                    total += time;
                    files += 1;
                    each.push((time.as_secs_f64() * 1e6 / case.instructions as f64, case));
                }
                Err(_) => left_out.push(case.name.clone()),
            }
        }
        each.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!(
            "compile time/{form}: {:.2} us for each of {instructions} PTX instructions of {files} files; left out for what is not \
             supported: {}",
            total.as_secs_f64() * 1e6 / instructions as f64,
            left_out.join(", ")
        );
        for (time, case) in each.iter().take(5) {
            println!(
                "compile time/{form}: most for each instruction: {time:.2} us, {} ({} instructions)",
                case.name, case.instructions
            );
        }
    }
}
