//! Parses, prints, parses again and decodes every `.ptx` file below the directory that `CUPRUM_PTX_CORPUS` names.
//!
//! The workspace compiles such a corpus in its own tests; this one is for files from elsewhere and is skipped, visibly, without the variable.

use std::path::{Path, PathBuf};

use cuprum_ptx::{DecodeErrorKind, Module, Statement, decode, parse};

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the corpus can be read") {
        let path = entry.expect("the corpus can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

fn decode_body(body: &[Statement<'_>], source: &str, faults: &mut Vec<String>, count: &mut usize) {
    for statement in body {
        match statement {
            Statement::Block(body) => decode_body(body, source, faults, count),
            Statement::Instruction(instruction) => {
                *count += 1;
                if let Err(error) = decode(instruction) {
                    faults.push(error.render(source));
                }
            }
            _ => {}
        }
    }
}

fn check(source: &str) -> Result<usize, String> {
    let module = parse(source).map_err(|e| e.to_string())?;
    let printed = module.to_string();
    let again: Module<'_> = parse(&printed).map_err(|e| format!("the printed text: {e}"))?;
    if again != module {
        return Err("the printed text parses to another tree".to_owned());
    }
    let (mut faults, mut count) = (Vec::new(), 0);
    for body in module.functions().filter_map(|f| f.body.as_deref()) {
        decode_body(body, source, &mut faults, &mut count);
    }
    faults.truncate(3);
    if faults.is_empty() {
        Ok(count)
    } else {
        Err(faults.join("\n"))
    }
}

#[test]
fn every_file_of_the_corpus_round_trips_and_decodes() {
    let Some(dir) = std::env::var_os("CUPRUM_PTX_CORPUS") else {
        println!("skipped: CUPRUM_PTX_CORPUS names no directory");
        return;
    };
    let mut paths = Vec::new();
    files(Path::new(&dir), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no .ptx file in {}", dir.display());
    let (mut failures, mut bytes, mut instructions) = (Vec::new(), 0, 0);
    for path in &paths {
        let source = std::fs::read_to_string(path).expect("the corpus is UTF-8");
        bytes += source.len();
        match check(&source) {
            Ok(count) => instructions += count,
            Err(message) => failures.push(format!("{}:\n{message}", path.display())),
        }
    }
    println!(
        "{} files, {bytes} bytes, {instructions} instructions",
        paths.len()
    );
    assert!(
        failures.is_empty(),
        "{} of {} files failed:\n{}",
        failures.len(),
        paths.len(),
        failures[..failures.len().min(20)].join("\n\n")
    );
}

/// The kinds of errors are public so that callers can tell an unknown instruction from a malformed one.
#[test]
fn decode_errors_can_be_told_apart() {
    let source =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { frobnicate.u32 %r1; }";
    let module = parse(source).expect("opcodes are not looked into");
    let Some(Statement::Instruction(instruction)) = module
        .functions()
        .next()
        .and_then(|f| f.body.as_ref())
        .and_then(|b| b.first())
    else {
        panic!("the body has one instruction");
    };
    let error = decode(instruction).expect_err("there is no such instruction");
    assert_eq!(error.kind(), &DecodeErrorKind::UnknownOpcode);
    assert_eq!(error.line(source), 4);
}
