//! Where the lines are: a look at the size of the house.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use crate::root;

/// Think about splitting a file at this length (CONTRIBUTING.md).
const LONG: usize = 600;

/// Prints the lines of Rust per top-level folder or crate, then the long files.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let listed = Command::new("git")
        .args(["ls-files", "*.rs"])
        .current_dir(root())
        .output()?;
    let mut sums = std::collections::BTreeMap::<String, usize>::new();
    let mut long = Vec::new();
    for file in String::from_utf8(listed.stdout)?.lines() {
        let lines = std::fs::read_to_string(root().join(file))?.lines().count();
        let mut parts = Path::new(file)
            .components()
            .map(|c| c.as_os_str().to_string_lossy());
        let first = parts.next().unwrap_or_default();
        let name = if first == "crates" || first == "apps" {
            format!("{first}/{}", parts.next().unwrap_or_default())
        } else {
            first.into_owned()
        };
        *sums.entry(name).or_default() += lines;
        if lines > LONG {
            long.push((lines, file.to_owned()));
        }
    }
    for (name, lines) in &sums {
        println!("{lines:>7}  {name}");
    }
    println!("{:>7}  in all", sums.values().sum::<usize>());
    long.sort_unstable_by(|a, b| b.cmp(a));
    for (lines, file) in long {
        println!("{lines:>7}  {file}  (long)");
    }
    Ok(())
}
