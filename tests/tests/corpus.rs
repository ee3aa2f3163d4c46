//! The sources in `tests/corpus/`, compiled by NVRTC, and every kernel in them run on the software device.
//!
//! The PTX of each parses, decodes, and survives printing; its kernels give what the host computes.
//!
//! By default each source is compiled once, by a compiler and in a form that change from source to source.
//! `CUPRUM_CORPUS=full` takes all three NVRTCs and all three forms (plain, `-lineinfo`, `-G`), and a sample of the
//! sources for `compute_120` too; `CUPRUM_CORPUS=parse` only parses, for `compute_75`, 90 and 120.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use cuprum::codegen::nvrtc::{Nvrtc, Wheel};
use cuprum::codegen::{Source as Program, Target, compile};
use cuprum::driver::Module as Loaded;
use cuprum::prelude::{Context, Device, Stream};
use cuprum_ptx::{Module, Statement, decode};
use cuprum_tests::corpus::{self, Case, FORMS, Source};
use libtest_mimic::{Arguments, Failed, Trial};

/// The compute capabilities of the software devices `soft:0`, `soft:1` and `soft:2`.
const CAPABILITIES: [u32; 3] = [80, 90, 120];

/// The architectures that are only parsed.
const PARSED: [u32; 3] = [75, 90, 120];

/// The sources that run for `compute_120` as well: one or two of each kind.
const SAMPLE: [&str; 20] = [
    "app_crypto",
    "app_finance_signal",
    "app_sort_search",
    "atomics_int",
    "cub_radix_sort",
    "curand_philox",
    "ew_bf16",
    "ew_float",
    "ew_half",
    "ew_int8",
    "grid_sync",
    "int_intrin",
    "lang_fnptr_virtual",
    "lang_memops",
    "lang_recursion",
    "math_exp_f32_fast",
    "math_trig_f64",
    "red_warp_shfl",
    "scan_decoupled",
    "simd_video",
];

/// A source, a compiler, an architecture and a form.
#[derive(Clone)]
struct Job {
    source: Arc<Source>,
    wheel: Wheel,
    architecture: u32,
    form: usize,
    cases: Arc<Vec<Case>>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    configure();
    let sources: Vec<Arc<Source>> = corpus::sources().into_iter().map(Arc::new).collect();
    let mut cases: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    for case in corpus::all() {
        cases.entry(case.source()).or_default().push(case);
    }
    let mut trials = vec![];
    let names: Vec<(String, Vec<String>)> = cases
        .iter()
        .map(|(source, cases)| {
            let kernels = cases.iter().map(|case| case.kernel().to_owned()).collect();
            ((*source).to_owned(), kernels)
        })
        .collect();
    trials.push(Trial::test("every kernel has a case", move || {
        complete(&names)
    }));
    let cases: BTreeMap<&str, Arc<Vec<Case>>> = cases
        .into_iter()
        .map(|(source, cases)| (source, Arc::new(cases)))
        .collect();
    let empty = Arc::new(Vec::new());
    for (source, wheel, architecture, form) in plan(&sources) {
        let job = Job {
            cases: Arc::clone(cases.get(source.name.as_str()).unwrap_or(&empty)),
            source,
            wheel,
            architecture,
            form,
        };
        let name = format!(
            "{wheel:?} compute_{architecture} {} {}",
            FORMS[form].0, job.source.name
        );
        trials.push(Trial::test(name, move || run(&job)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Three software devices, so that code for newer architectures has one to run on.
fn configure() {
    let mut config = cuprum_softcuda::Config::from_env().expect("the environment makes sense");
    let device = config.devices.first().cloned().unwrap_or_default();
    config.devices = CAPABILITIES
        .map(|capability| {
            let mut device = device.clone();
            device.compute_capability = (capability / 10, capability % 10);
            device
        })
        .into();
    cuprum_softcuda::configure(config).expect("nothing has used the device yet");
    cuprum_softcuda::set_printf_handler(Some(Box::new(|text| {
        PRINTED
            .lock()
            .expect("nothing panics with the lock")
            .extend_from_slice(text);
    })));
}

/// What is compiled: all, or one combination for each source.
fn plan(sources: &[Arc<Source>]) -> Vec<(Arc<Source>, Wheel, u32, usize)> {
    let mode = std::env::var("CUPRUM_CORPUS").unwrap_or_default();
    let wheels = [Wheel::Cuda12_9, Wheel::Cuda13_0, Wheel::Cuda13_5];
    let mut plan = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let least = CAPABILITIES
            .into_iter()
            .find(|&capability| capability >= source.least)
            .expect("there is a device for every source");
        let mut add = |wheel, architecture, form: usize| {
            if source.exists(wheel, architecture, FORMS[form].0) {
                plan.push((Arc::clone(source), wheel, architecture, form));
            }
        };
        match mode.as_str() {
            "full" | "parse" => {
                let architectures: &[u32] = match mode.as_str() {
                    "parse" => &PARSED,
                    _ if SAMPLE.contains(&source.name.as_str()) => &[least, 120],
                    _ => &[least],
                };
                for &architecture in architectures {
                    for wheel in wheels {
                        (0..FORMS.len()).for_each(|form| add(wheel, architecture, form));
                    }
                }
            }
            // Where the compiler cannot make the form, the next one.
            _ => {
                let form = (index..index + FORMS.len())
                    .map(|form| form % FORMS.len())
                    .find(|&form| source.exists(Wheel::Cuda13_5, least, FORMS[form].0))
                    .expect("every source has a form");
                add(Wheel::Cuda13_5, least, form);
                if SAMPLE.contains(&source.name.as_str()) {
                    add(Wheel::Cuda13_5, 120, (form + 1) % FORMS.len());
                }
            }
        }
    }
    plan
}

fn run(job: &Job) -> Result<(), Failed> {
    let source = &*job.source;
    let mut program = Program::from_file(&source.path)?.compiler(Nvrtc::of_wheel(job.wheel)?);
    for option in source
        .options
        .iter()
        .map(String::as_str)
        .chain(FORMS[job.form].1.iter().copied())
    {
        program = program.option(option);
    }
    for folder in source.header_dirs(job.wheel)? {
        program = program.include_dir(folder);
    }
    let compiled = compile(&program, Target::Ptx(job.architecture));
    if !source.compiles {
        return if compiled.is_err() {
            Ok(())
        } else {
            Err("it compiles, and should not".into())
        };
    }
    let image = compiled?;
    reads_back(image.ptx(), &source.scope)?;
    let Some(device) = CAPABILITIES
        .iter()
        .position(|&capability| capability == job.architecture)
    else {
        return Ok(());
    };
    let context = Device::by_name(&format!("soft:{device}"))?.context()?;
    runs(&context, image.ptx(), &job.cases, &source.scope)
}

/// The PTX parses, decodes if it is in scope, and survives printing.
fn reads_back(ptx: &str, scope: &str) -> Result<(), Failed> {
    let module = cuprum_ptx::parse(ptx)?;
    if module.entries().count() == 0 {
        return Err("there is no kernel in it".into());
    }
    if scope == "core" {
        decodes(&module)?;
    }
    let printed = module.to_string();
    let again = cuprum_ptx::parse(&printed)
        .map_err(|error| format!("what was printed does not parse: {error}"))?;
    if again != module {
        return Err("what was printed parses to another tree".into());
    }
    Ok(())
}

/// Every instruction of the module has a row in the decode table.
fn decodes(module: &Module<'_>) -> Result<(), Failed> {
    for function in module.functions() {
        let mut unknown = None;
        cuprum_ptx::walk(
            function.body.as_deref().unwrap_or_default(),
            &mut |statement| {
                if let Statement::Instruction(instruction) = statement
                    && let Err(error) = decode(instruction)
                {
                    unknown.get_or_insert(error);
                }
            },
        );
        if let Some(error) = unknown {
            return Err(format!("{}: {error}", function.name.text).into());
        }
    }
    Ok(())
}

/// Every case of the source gives what the host computed. All failures are told, not only the first.
fn runs(context: &Context, ptx: &str, cases: &[Case], scope: &str) -> Result<(), Failed> {
    if cases.is_empty() {
        return Ok(());
    }
    let stream = context.new_stream()?;
    // Where every case loads it in its own way it need not load alone.
    let module = Loaded::from_ptx(context, ptx);
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let outcome = run_and_listen(case, &module, ptx, &stream);
            let judged = outcome.and_then(|outcome| case.judge(&outcome));
            judged
                .err()
                .filter(|error| scope != "rare" || !names_what_it_refuses(error))
                .map(|error| format!("{}: {error}", case.name()))
        })
        .collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} of {} cases fail\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    )
    .into())
}

/// What is rare may be refused, if by name: an instruction or a function.
fn names_what_it_refuses(error: &str) -> bool {
    let named = |line: &str| line.contains('`') && line.contains("not supported");
    error.contains("CUDA_ERROR_NOT_SUPPORTED") && error.lines().skip(1).any(named)
}

/// What kernels have printed since the last case that is asked for its lines.
static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Runs a case and looks at what it prints, if it says what that must be.
fn run_and_listen(
    case: &Case,
    module: &cuprum::driver::Result<Loaded>,
    ptx: &str,
    stream: &Stream,
) -> Result<corpus::Outcome, String> {
    static LISTENING: Mutex<()> = Mutex::new(());
    if case.printed().is_none() {
        return case.run(module, ptx, stream);
    }
    // No other source of the corpus prints.
    let _one = LISTENING.lock().expect("no case panics");
    PRINTED.lock().expect("no handler panics").clear();
    let outcome = case.run(module, ptx, stream)?;
    let text = std::mem::take(&mut *PRINTED.lock().expect("no handler panics"));
    case.judge_printed(&String::from_utf8_lossy(&text))?;
    Ok(outcome)
}

/// A row of the manifest.
#[derive(serde::Deserialize)]
struct Row {
    file: String,
    scope: String,
    expect: String,
    entries: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Manifest {
    kernels: Vec<Row>,
}

/// Every kernel in scope has a case, and nothing was moved out of scope.
fn complete(cases: &[(String, Vec<String>)]) -> Result<(), Failed> {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/manifest.json"))?;
    let manifest: Manifest = serde_json::from_str(&text)?;
    let count = |scope: &str, expect: &str| {
        manifest
            .kernels
            .iter()
            .filter(|row| row.scope == scope && row.expect == expect)
            .count()
    };
    let scopes = [
        count("core", "ok"),
        count("core", "fail"),
        count("rare", "ok"),
        count("out", "ok"),
    ];
    if scopes != [92, 2, 4, 1] || manifest.kernels.len() != corpus::sources().len() {
        return Err(format!("the scopes of the manifest have changed: {scopes:?}").into());
    }
    let mut missing = Vec::new();
    for row in &manifest.kernels {
        let name = row.file.trim_start_matches("src/").trim_end_matches(".cu");
        if row.scope != "core" || row.expect != "ok" {
            continue;
        }
        let known = cases
            .iter()
            .find(|(source, _)| source == name)
            .map_or(&[][..], |(_, kernels)| kernels);
        let lacking: Vec<&str> = row
            .entries
            .iter()
            .filter(|entry| !known.contains(entry))
            .map(String::as_str)
            .collect();
        if !lacking.is_empty() {
            missing.push(format!("{name}: {}", lacking.join(" ")));
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("kernels without a case:\n{}", missing.join("\n")).into())
    }
}
