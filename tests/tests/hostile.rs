//! Hostile PTX: mutated texts and attacks by hand. Whatever the text, parsing ends without a panic, and loading, compiling and running it on the
//! software device ends in success or a clean error, in bounded time, with the process whole and a new context that works.
//!
//! `CUPRUM_CASES` sets how many mutations are tried, `CUPRUM_SEED` where they begin. Texts run in a child process, so that one that
//! brings it down is found and shown.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cuprum::prelude::Device;
use cuprum_tests::hostile::{Arena, Mutator, Outcome, attacks, texts};

#[path = "../../crates/ptx/fuzz/check.rs"]
mod fuzz;

/// Texts that are parsed when nobody says how many.
const PARSED: u64 = 20_000;
/// Texts that are run when nobody says how many.
const RUN: u64 = 300;
/// The longest that parsing a text of some thousand bytes may take.
const PARSE_LIMIT: Duration = Duration::from_secs(2);
/// The longest that a text may take from loading to a new context.
const CASE_LIMIT: Duration = Duration::from_secs(60);
/// The time limit of kernels, in seconds.
const KERNEL_LIMIT: &str = "0.3";
/// Findings after which a run ends.
const FINDINGS: usize = 12;

/// Tells the child which cases it is to run: kind, seed, first, end.
const CASES: &str = "CUPRUM_HOSTILE_CASES";
/// Tells the child where to write the number of the case it is at, and what it found.
const FOLDER: &str = "CUPRUM_HOSTILE_FOLDER";

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
    )
}

fn seed() -> u64 {
    variable("CUPRUM_SEED").unwrap_or(1)
}

/// The mutated text of a number.
fn mutated(texts: &[String], seed: u64, case: u64) -> String {
    let mut mutator = Mutator::new(seed ^ case.wrapping_mul(0xa076_1d64_78bd_642f));
    let text = &texts[mutator.below(texts.len())];
    mutator.mutate(text)
}

#[test]
fn any_text_is_parsed_or_refused() {
    let seed = seed();
    let texts = texts(seed, 20);
    for text in &texts {
        fuzz::check(text.as_bytes());
    }
    for case in 0..variable("CUPRUM_CASES").unwrap_or(PARSED) {
        let text = mutated(&texts, seed, case);
        let start = Instant::now();
        let outcome = std::panic::catch_unwind(|| fuzz::check(text.as_bytes()));
        let took = start.elapsed();
        assert!(
            outcome.is_ok() && took < PARSE_LIMIT,
            "seed {seed}, case {case}, {took:?}:\n{text}"
        );
    }
}

#[test]
fn mutated_kernels_do_no_harm() {
    let count = variable("CUPRUM_CASES").unwrap_or(RUN);
    report(&run("mutated", seed(), count));
}

#[test]
fn attacks_do_no_harm() {
    // The thorough kind takes half an hour.
    let thorough = variable("CUPRUM_CASES").is_some_and(|cases| cases >= 10_000);
    let kind = if thorough { "thorough" } else { "attack" };
    report(&run(kind, 0, attacks(thorough).len() as u64));
}

#[test]
#[ignore = "the child process of the others"]
fn child() {
    let Ok(cases) = std::env::var(CASES) else {
        return;
    };
    let folder = PathBuf::from(std::env::var(FOLDER).expect("both are set"));
    let [kind, seed, first, end] = cases.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{CASES}={cases}");
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (seed, first, end) = (number(seed), number(first), number(end));
    let device = Device::by_name("soft:0").expect("the software device is there");
    let mut arena = Arena::new(device).expect("it has a context");
    let texts = texts(seed, 60);
    let attacks = attacks(kind == "thorough");
    watch();
    let mut counts = [0; 3];
    for case in first..end {
        let (name, text) = if kind == "mutated" {
            (format!("seed {seed}"), mutated(&texts, seed, case))
        } else {
            attacks[case as usize].clone()
        };
        std::fs::write(folder.join("case"), format!("{case} {name}\n{text}")).expect("a file");
        BEGAN.store(now(), Ordering::SeqCst);
        let outcome = arena.attack(&text);
        if kind != "mutated" {
            let took = now() - BEGAN.load(Ordering::SeqCst);
            println!("{name} ({took} ms): {}", shown(&outcome));
        }
        match outcome {
            Ok(Outcome::Ran) => counts[0] += 1,
            Ok(Outcome::Refused(_)) => counts[1] += 1,
            Ok(Outcome::Stopped(_)) => counts[2] += 1,
            Err(finding) => {
                let text = format!("case {case}, {name}: {finding}\n{text}");
                std::fs::write(folder.join(format!("finding-{case}")), text).expect("a file");
            }
        }
    }
    println!(
        "outcomes: {} ran, {} were refused, {} were stopped",
        counts[0], counts[1], counts[2]
    );
}

fn shown(outcome: &Result<Outcome, String>) -> String {
    let text = format!("{outcome:?}");
    text.chars().take(300).collect()
}

/// When the current case began, in milliseconds.
static BEGAN: AtomicU64 = AtomicU64::new(0);

fn now() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Ends the process if a case takes too long.
fn watch() {
    BEGAN.store(now(), Ordering::SeqCst);
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let took = now().saturating_sub(BEGAN.load(Ordering::SeqCst));
            if took > CASE_LIMIT.as_millis() as u64 {
                eprintln!("the case takes more than {CASE_LIMIT:?}");
                std::process::abort();
            }
        }
    });
}

/// Runs cases in child processes; a case that brings its process down is a finding, and the next child goes on behind it.
fn run(kind: &str, seed: u64, count: u64) -> Vec<String> {
    let folder = Folder::new(kind);
    let mut findings = Vec::new();
    let mut first = 0;
    while first < count && findings.len() < FINDINGS {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "child", "--ignored", "--nocapture"])
            .env(CASES, format!("{kind} {seed} {first} {count}"))
            .env(FOLDER, &folder.0)
            .env("CUPRUM_SOFT_TIME_LIMIT", KERNEL_LIMIT)
            .env("CUPRUM_SOFT_MEMORY", "256M")
            .stdin(Stdio::null())
            .output()
            .expect("a child process");
        print!("{}", String::from_utf8_lossy(&output.stdout));
        let case = std::fs::read_to_string(folder.0.join("case")).expect("the child began");
        for entry in std::fs::read_dir(&folder.0).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("finding"))
            {
                findings.push(std::fs::read_to_string(&path).expect("a finding"));
                std::fs::remove_file(&path).expect("it was read");
            }
        }
        if output.status.success() {
            break;
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        findings.push(format!(
            "the process ended with {}: {}\n{case}",
            output.status,
            stderr.lines().rev().take(5).collect::<Vec<_>>().join("\n")
        ));
        let number = case.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        first = number.expect("a case has a number") + 1;
    }
    findings
}

fn report(findings: &[String]) {
    assert!(
        findings.is_empty(),
        "{} findings:\n\n{}",
        findings.len(),
        findings.join("\n\n----\n\n")
    );
}

/// A folder for one run.
struct Folder(PathBuf);

impl Folder {
    fn new(kind: &str) -> Folder {
        let name = format!("cuprum-hostile-{kind}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
