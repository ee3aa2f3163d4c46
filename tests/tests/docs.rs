//! The tests that the documentation names exist.

use std::path::Path;

/// The text of every Rust file below a folder.
fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&std::fs::read_to_string(&path).expect("the file can be read"));
            // Integration tests are named by their files.
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            all.push_str(&format!("\nmod {stem};\n"));
        }
    }
}

/// The third column of the tables under `docs/pycuda` names tests, each in backquotes: a path, of which the last part is a function, a
/// module or a type, or a file.
#[test]
fn tests_named_for_pycudas_users_exist() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut code = String::new();
    for folder in ["crates", "tests", "benches"] {
        sources(&root.join(folder), &mut code);
    }
    let (mut missing, mut found) = (Vec::new(), 0);
    for entry in std::fs::read_dir(root.join("docs/pycuda")).expect("the folder can be listed") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        for row in text.lines().filter(|line| line.starts_with('|')) {
            let Some(column) = row.split('|').nth(3) else {
                continue;
            };
            for name in column.split('`').skip(1).step_by(2) {
                let last = name.rsplit("::").next().unwrap_or(name);
                // Crates are named as such.
                let is_crate = root
                    .join("crates")
                    .join(last.trim_start_matches("cuprum-"))
                    .is_dir();
                let declared = ["fn ", "mod ", "struct "].iter().any(|keyword| {
                    code.match_indices(&format!("{keyword}{last}"))
                        .any(|(at, text)| {
                            code[at + text.len()..].starts_with(['(', ';', '<', ' ', '{'])
                        })
                });
                let is_file = name.contains('/') && root.join(name).exists();
                if is_crate || is_file || declared {
                    found += 1;
                } else {
                    missing.push(name.to_owned());
                }
            }
        }
    }
    assert!(missing.is_empty(), "no such tests: {missing:?}");
    assert!(found > 60, "only {found} names were read");
}
