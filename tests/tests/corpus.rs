//! The sources in `tests/corpus/`, compiled by NVRTC, and every kernel in them run on the software device.
//!
//! The PTX of each parses, decodes, and survives printing; its kernels give what the host computes.
//!
//! By default each source is compiled once, by an NVRTC of CUDA 13 and in a form that change from source to source, and a
//! sample of the sources for `compute_120` too. `CUPRUM_CORPUS=full` takes all three NVRTCs and all three forms (plain,
//! `-lineinfo`, `-G`); `CUPRUM_CORPUS=parse` only parses, for `compute_75`, 90 and 120. The compilers and the headers that
//! they lack are fetched into Cuprum's cache.

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

/// Kernels of scopes `rare` and `out` that a software device refuses, and what the refusal names: source, kernel, name.
const REFUSED: [(&str, &str, &str); 6] = [
    ("cdp", "parent", "`__cudaCDP2"),
    ("rare_alloca_asm", "dynalloc", "`stacksave."),
    ("cluster_dsmem", "cl", "`.reqnctapercluster`"),
    ("wmma_", "wm", "`wmma."),
    ("wmma_", "wmi", "`wmma."),
    ("wmma_", "mm", "`ldmatrix."),
];

/// What NVRTC says where it fails by its own fault.
const COMPILER_FAULT: &str = "unsupported operation";

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
        let form_name = FORMS[form].0;
        let is_fault = job.source.compiler_fault(wheel, architecture, form_name);
        let fault = if is_fault {
            " (a fault of the compiler)"
        } else {
            ""
        };
        let name = format!(
            "{wheel:?} compute_{architecture} {form_name} {}{fault}",
            job.source.name
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
            if architecture >= source.least {
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
            // The other NVRTC has headers of its own to fetch.
            _ => {
                let wheels = [Wheel::Cuda13_5, Wheel::Cuda13_0];
                add(wheels[index % 2], least, index % 3);
                if SAMPLE.contains(&source.name.as_str()) {
                    add(wheels[(index + 1) % 2], 120, (index + 1) % 3);
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
    if source.compiler_fault(job.wheel, job.architecture, FORMS[job.form].0) {
        return match compiled {
            Err(error) if error.to_string().contains(COMPILER_FAULT) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Err("it compiles: the compiler's fault is gone".into()),
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
    runs(&context, image.ptx(), &job.cases)
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
fn runs(context: &Context, ptx: &str, cases: &[Case]) -> Result<(), Failed> {
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
            as_expected(case, judged.map(drop))
                .err()
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

/// A case is right, or it is among those that are refused, and the refusal names what is.
fn as_expected(case: &Case, judged: Result<(), String>) -> Result<(), String> {
    let refused = REFUSED
        .iter()
        .find(|(source, kernel, _)| *source == case.source() && *kernel == case.kernel());
    let Some((_, _, named)) = refused else {
        return judged;
    };
    match judged {
        Err(error) if error.contains("CUDA_ERROR_NOT_SUPPORTED") && error.contains(named) => Ok(()),
        Err(error) => Err(format!("it is not refused for {named}, but {error}")),
        Ok(()) => Err(format!("it runs, and {named} should be refused")),
    }
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

/// Every kernel has a case, and nothing was moved out of scope.
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
        if row.expect != "ok" {
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
