//! Parses, prints, parses again and decodes every `.ptx` file below a directory: our own samples, or the one that
//! `CUPRUM_PTX_CORPUS` names.

use std::path::{Path, PathBuf};

use cuprum_ptx::{Module, decode, parse};

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

fn check(source: &str) -> Result<usize, String> {
    let module = parse(source).map_err(|e| e.to_string())?;
    let printed = module.to_string();
    let again: Module<'_> = parse(&printed).map_err(|e| format!("the printed text: {e}"))?;
    if again != module {
        return Err("the printed text parses to another tree".to_owned());
    }
    let (mut faults, mut count) = (Vec::new(), 0);
    for instruction in module.functions().flat_map(|f| f.instructions()) {
        count += 1;
        faults.extend(decode(instruction).err().map(|e| e.render(source)));
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
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let dir = std::env::var_os("CUPRUM_PTX_CORPUS").unwrap_or_else(|| samples.into());
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
