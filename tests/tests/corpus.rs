//! The PTX that NVRTC makes of the sources in `tests/corpus/` parses, decodes, and survives printing.
//!
//! By default each source is compiled once by the default NVRTC, in a form and for an architecture that change from
//! source to source. `CUPRUM_CORPUS=full` compiles every source with all three NVRTCs, for `compute_75`, 90 and 120, plain,
//! with `-lineinfo` and with `-G`; it takes half an hour. Headers that an NVRTC does not carry are looked for in
//! `CUPRUM_CORPUS_INCLUDE_12` and `CUPRUM_CORPUS_INCLUDE_13`, lists of folders; without them the sources that need
//! them are shown as ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use cuprum::codegen::nvrtc::{Nvrtc, Wheel};
use cuprum::codegen::{Source, Target, compile};
use cuprum_ptx::{Module, Statement, decode};
use libtest_mimic::{Arguments, Failed, Trial};

/// The virtual architectures of the full run.
const ARCHITECTURES: [u32; 3] = [75, 90, 120];

/// The forms of a compilation: their name and the options that make them.
const FORMS: [(&str, &[&str]); 3] = [
    ("plain", &[]),
    ("lineinfo", &["-lineinfo"]),
    ("debug", &["-G"]),
];

/// One source and what its head says of it.
#[derive(Debug)]
struct Case {
    name: String,
    path: PathBuf,
    options: Vec<String>,
    headers: Vec<String>,
    least: u32,
    scope: String,
    compiles: bool,
}

impl Case {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).expect("a source of the corpus is text");
        let head: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("//@"))
            .flat_map(str::split_whitespace)
            .filter_map(|word| word.split_once('='))
            .collect();
        let list = |key: &str| -> Vec<String> {
            head.get(key)
                .into_iter()
                .flat_map(|value| value.split(','))
                .map(str::to_owned)
                .collect()
        };
        Self {
            name: path
                .file_stem()
                .expect("a source has a name")
                .to_string_lossy()
                .into_owned(),
            options: list("opts"),
            headers: list("inc"),
            least: head
                .get("minarch")
                .map_or(0, |value| value.parse().expect("minarch is a number")),
            scope: (*head.get("scope").unwrap_or(&"core")).to_owned(),
            compiles: head.get("expect") != Some(&"fail"),
            path,
        }
    }

    /// Why this compiler cannot be asked to compile the case here, if so.
    fn lacks(&self, wheel: Wheel, folders: &[PathBuf]) -> Option<String> {
        let carried: &[&str] = if wheel == Wheel::Cuda13_5 {
            &["cuda", "cccl"]
        } else {
            &[]
        };
        let missing = self
            .headers
            .iter()
            .find(|group| !carried.contains(&group.as_str()) && folders.is_empty())?;
        Some(format!("headers of {missing}"))
    }

    /// Some architectures and forms do not exist for some sources.
    fn exists(&self, wheel: Wheel, architecture: u32, form: &str) -> bool {
        // NVRTC 13.5 fails on 128-bit division below compute_100 in debug form: a fault of that compiler.
        let compiler_fault = wheel == Wheel::Cuda13_5
            && form == "debug"
            && architecture < 100
            && self.name == "int_intrin";
        architecture >= self.least && !compiler_fault
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"))
            .expect("the corpus is there")
            .map(|entry| entry.expect("the corpus can be listed").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
            .collect();
    sources.sort();
    let cases: Vec<Arc<Case>> = sources
        .into_iter()
        .map(|path| Arc::new(Case::read(path)))
        .collect();
    assert_eq!(
        cases.len(),
        99,
        "a source was added or lost: count them in the manifest too"
    );

    let full = std::env::var("CUPRUM_CORPUS").is_ok_and(|value| value == "full");
    let wheels: &[Wheel] = if full {
        &[Wheel::Cuda12_9, Wheel::Cuda13_0, Wheel::Cuda13_5]
    } else {
        &[Wheel::Cuda13_5]
    };
    let mut trials = Vec::new();
    for &wheel in wheels {
        let folders = folders(wheel);
        for (index, case) in cases.iter().enumerate() {
            for (a, architecture) in ARCHITECTURES.into_iter().enumerate() {
                for (f, (form, options)) in FORMS.into_iter().enumerate() {
                    // One of the nine combinations, another for each source; the least architecture where none fits.
                    let turn = (a * 3 + f) == index % 9
                        || (architecture == 90 && f == index % 3 && case.least > 75);
                    if !case.exists(wheel, architecture, form) || !(full || turn) {
                        continue;
                    }
                    let name = format!("{wheel:?} compute_{architecture} {form} {}", case.name);
                    let (case, folders) = (Arc::clone(case), folders.clone());
                    let lacks = case.lacks(wheel, &folders);
                    let ignored = lacks.is_some();
                    let trial = Trial::test(name, move || {
                        run(&case, wheel, architecture, options, &folders)
                    });
                    trials.push(if ignored {
                        trial.with_ignored_flag(true)
                    } else {
                        trial
                    });
                }
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Where the headers of a compiler's CUDA version are, beyond those it carries.
fn folders(wheel: Wheel) -> Vec<PathBuf> {
    let variable = if wheel == Wheel::Cuda12_9 {
        "CUPRUM_CORPUS_INCLUDE_12"
    } else {
        "CUPRUM_CORPUS_INCLUDE_13"
    };
    std::env::var_os(variable)
        .map(|list| std::env::split_paths(&list).collect())
        .unwrap_or_default()
}

fn run(
    case: &Case,
    wheel: Wheel,
    architecture: u32,
    form: &[&str],
    folders: &[PathBuf],
) -> Result<(), Failed> {
    let mut source = Source::from_file(&case.path)?.compiler(Nvrtc::of_wheel(wheel)?);
    for option in case
        .options
        .iter()
        .map(String::as_str)
        .chain(form.iter().copied())
    {
        source = source.option(option);
    }
    for folder in folders.iter().map(Path::new) {
        source = source.include_dir(folder);
    }
    let compiled = compile(&source, Target::Ptx(architecture));
    if !case.compiles {
        return if compiled.is_err() {
            Ok(())
        } else {
            Err("it compiles, and should not".into())
        };
    }
    let image = compiled?;
    let module = cuprum_ptx::parse(image.ptx())?;
    let entries = module.entries().count();
    if entries == 0 {
        return Err("there is no kernel in it".into());
    }
    if case.scope == "core" {
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
