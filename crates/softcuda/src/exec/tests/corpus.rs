//! How much of a directory of PTX files compiles, and how long each of their instructions takes: `CUPRUM_PTX_DIR=dir cargo test -p cuprum-softcuda --lib corpus -- --ignored --nocapture`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::program::Program;

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
}

/// The part of a message that is the same for all instructions of a kind.
fn reason(message: &str) -> String {
    let text = message.split_once(": ").map_or(message, |(_, text)| text);
    text.lines()
        .next()
        .unwrap_or("")
        .chars()
        .take(110)
        .collect()
}

/// The instructions of a PTX text.
fn count(text: &str) -> u32 {
    let mut count = 0;
    for function in cuprum_ptx::parse(text)
        .iter()
        .flat_map(cuprum_ptx::Module::functions)
    {
        let body = function.body.as_deref().unwrap_or_default();
        cuprum_ptx::walk(body, &mut |statement| {
            count += u32::from(matches!(statement, cuprum_ptx::Statement::Instruction(_)));
        });
    }
    count
}

#[test]
#[ignore = "needs a directory of PTX files in CUPRUM_PTX_DIR"]
fn corpus() {
    let directory = std::env::var_os("CUPRUM_PTX_DIR").expect("CUPRUM_PTX_DIR names a directory");
    let mut files = Vec::new();
    collect(Path::new(&directory), &mut files);
    files.sort();
    assert!(!files.is_empty());
    let (mut kernels, mut compiled, mut unreadable) = (0, 0, 0);
    let mut reasons: BTreeMap<String, (u32, String)> = BTreeMap::new();
    let mut slowest = (0.0, String::new());
    // Of the files all of whose kernels compile: instructions, and the time from text to machine code.
    let (mut instructions, mut time) = (0, Duration::ZERO);
    let mut costs = Vec::new();
    let start = Instant::now();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        let begun = Instant::now();
        let mut all = true;
        let program = match Program::parse(&text) {
            Ok(program) => program,
            Err(error) => {
                unreadable += 1;
                println!("{}: {}", file.display(), error.message);
                continue;
            }
        };
        let addresses: Vec<u64> = (0..program.variables().len())
            .map(|index| 0x10_0000 + 0x1_0000 * index as u64)
            .collect();
        for (index, info) in program.kernels().iter().enumerate() {
            kernels += 1;
            let begun = Instant::now();
            match program.compile(index, &addresses, super::quality()) {
                Ok(_) => compiled += 1,
                Err(error) => {
                    all = false;
                    let example = format!("{} {}", file.display(), info.name);
                    let entry = reasons
                        .entry(reason(&error.message))
                        .or_insert((0, example));
                    entry.0 += 1;
                }
            }
            let seconds = begun.elapsed().as_secs_f64();
            if seconds > slowest.0 {
                slowest = (seconds, format!("{} {}", file.display(), info.name));
            }
        }
        if all {
            let (taken, count) = (begun.elapsed(), count(&text));
            instructions += count;
            time += taken;
            costs.push((taken, count, file));
        }
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (reason, (count, example)) in reasons.iter().take(60) {
        println!("{count:5}  {reason}\n         {example}");
    }
    println!(
        "{} files, {unreadable} unreadable; {compiled} of {kernels} kernels compiled in {:.1} s; slowest {:.2} s: {}",
        files.len(),
        start.elapsed().as_secs_f64(),
        slowest.0,
        slowest.1
    );
    costs.sort();
    for (taken, count, file) in costs.iter().rev().take(12) {
        println!(
            "{:8.1} ms, {:6.2} us for each of {count} instructions: {}",
            taken.as_secs_f64() * 1e3,
            taken.as_secs_f64() * 1e6 / f64::from(*count),
            file.display()
        );
    }
    println!(
        "{:.2} us for each of {instructions} PTX instructions of {} files",
        time.as_secs_f64() * 1e6 / f64::from(instructions),
        costs.len()
    );
    println!("{}", cranelift_codegen::timing::take_current());
    assert_eq!(unreadable, 0);
}
