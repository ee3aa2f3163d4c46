//! The bundle: what a machine with an NVIDIA GPU and no Rust toolchain needs to run us.
//!
//! One executable of all device tests, one of all benchmarks and one of all examples, stripped, with the data they
//! read and the C++ peers of the benchmarks as source, in one archive beside a `run.sh` that unpacks and runs them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::root;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Archives above this size are refused: they must travel.
const LARGEST_ARCHIVE: u64 = 45 << 20;

/// The CUDA version whose names the bundle's executables know; loading stays dynamic.
const FEATURES: &str = "soft,cuda-13000";

/// The executables: package, how cargo calls the target, its name there, its name in the bundle.
const EXECUTABLES: &[(&str, &str, &str, &str)] = &[
    ("cuprum-tests", "--test", "devices", "tests"),
    ("cuprum-benches", "--bench", "all", "benches"),
    ("cuprum-tests", "--bin", "all-examples", "examples"),
    ("cuprum-tests", "--bin", "corpus-compare", "corpus-compare"),
];

/// Folders copied as they are.
const DATA: &[&str] = &["data", "kernels/cuda", "benches/peers"];

/// Builds the bundle into `dir`, which is emptied of an earlier one.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let dir = std::path::absolute(dir)?;
    let stage = dir.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    fs::create_dir_all(stage.join("bin"))?;
    for (package, kind, target, name) in EXECUTABLES {
        let built = build(package, kind, target)?;
        fs::copy(&built, stage.join("bin").join(name))?;
    }
    for folder in DATA {
        copy_folder(&root().join(folder), &stage.join(folder))?;
    }
    images(&stage)?;

    let archive = dir.join("cuprum.tar.xz");
    run_command(
        Command::new("tar")
            .args(["--xz", "-cf"])
            .arg(&archive)
            .arg("-C")
            .arg(&stage)
            .arg(".")
            .env("XZ_OPT", "-6 -T2"),
    )?;
    fs::remove_dir_all(&stage)?;
    let size = fs::metadata(&archive)?.len();
    if size > LARGEST_ARCHIVE {
        return Err(format!(
            "{} has {size} bytes, more than {LARGEST_ARCHIVE}",
            archive.display()
        )
        .into());
    }
    fs::copy(root().join("xtask/run.sh"), dir.join("run.sh"))?;
    println!(
        "{}: {:.1} MiB, and run.sh beside it",
        archive.display(),
        size as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// Builds one executable and answers with its path, as cargo's own messages give it.
fn build(package: &str, kind: &str, target: &str) -> Result<PathBuf> {
    println!("building {target} of {package}");
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--profile",
            "bundle",
            "--package",
            package,
            kind,
            target,
        ])
        .args(["--no-default-features", "--features", FEATURES])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo could not build {target} of {package}").into());
    }
    // One JSON message a line. Building a test builds the package's programs too, so the name decides. Paths of build
    // folders hold no escapes on Unix.
    let name = format!("\"name\":\"{target}\"");
    String::from_utf8(output.stdout)?
        .lines()
        .filter(|line| line.contains(&name))
        .filter_map(|line| {
            line.split_once("\"executable\":\"")?
                .1
                .split('"')
                .next()
                .map(PathBuf::from)
        })
        .next_back()
        .ok_or_else(|| format!("cargo named no executable for {target} of {package}").into())
}

/// Compiles the shipped kernels to cubins with the pinned NVRTC, so that the GPU machine can show that they load, and the
/// corpus to PTX, so that it need not be compiled there.
fn images(stage: &Path) -> Result<()> {
    run_command(
        Command::new(stage.join("bin/corpus-compare"))
            .arg("compile")
            .arg(stage.join("corpus"))
            .env("CUPRUM_FETCH", "1"),
    )?;
    let cubins = stage.join("cubins");
    fs::create_dir_all(&cubins)?;
    run_command(
        Command::new(stage.join("bin/examples"))
            .arg("cubins")
            .arg(&cubins)
            .env("CUPRUM_FETCH", "1"),
    )
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn run_command(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}
