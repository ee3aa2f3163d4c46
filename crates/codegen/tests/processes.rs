//! The cache between processes: hits without a compiler, damage, many writers, a directory that cannot be written.
//!
//! Each check starts this test program again with other variables; the part that then runs is [`child`].

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cuprum_codegen::{Cache, Nvrtc, Provenance, Source, Target, compile};

/// A source that no other number gives.
fn source(number: u32) -> Source {
    Source::new(format!(
        "#include <stdint.h>\nextern \"C\" __global__ void k(int32_t *x) {{ *x = {}; }}",
        4711 + number
    ))
}

/// Compiles source `CUPRUM_TEST_SOURCE` in each of `CUPRUM_TEST_THREADS` threads and prints what came of it, one line a thread.
#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn child() {
    let threads: usize =
        std::env::var("CUPRUM_TEST_THREADS").map_or(1, |text| text.parse().expect("a number"));
    let number: u32 =
        std::env::var("CUPRUM_TEST_SOURCE").map_or(0, |text| text.parse().expect("a number"));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| match compile(&source(number), Target::Ptx(80)) {
                Ok(image) => {
                    assert!(image.ptx().contains(&format!("{}", 4711 + number)));
                    assert_eq!(image.entries(), ["k"]);
                    let word = match image.provenance() {
                        Provenance::Cached => "cached".to_owned(),
                        Provenance::Compiled => "compiled".to_owned(),
                        other => format!("{other:?}"),
                    };
                    println!("<{word}>");
                }
                Err(error) => println!("<{:?}>", error.kind()),
            });
        }
    });
}

/// A process that runs [`child`] with this cache and compiler, and nothing else of the environment that concerns either.
fn process(cache: &Path, nvrtc: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["child", "--exact", "--ignored", "--nocapture"])
        .env("CUPRUM_CACHE_DIR", cache)
        .env("CUPRUM_NVRTC", nvrtc)
        .env("CUPRUM_FETCH", "0")
        .env_remove("CUPRUM_CACHE")
        .env_remove("CUPRUM_CACHE_SIZE")
        .env_remove("CUPRUM_NVRTC_OPTIONS")
        .stdout(Stdio::piped());
    command
}

fn words(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.split('<')
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('>')?.0.to_owned()))
        .collect()
}

fn run(command: &mut Command) -> Vec<String> {
    words(&command.output().expect("the process starts"))
}

fn nvrtc() -> PathBuf {
    Nvrtc::find().expect("an NVRTC").path().to_owned()
}

/// The one file of the cache.
fn entry(cache: &Path) -> PathBuf {
    let shards = std::fs::read_dir(cache.join("kernels")).expect("the entries");
    let files = shards
        .flat_map(|shard| std::fs::read_dir(shard.expect("a shard").path()).expect("a shard"));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[cfg(unix)]
#[test]
fn a_hit_needs_no_compiler() {
    let root = tempfile::tempdir().expect("a directory");
    let (cache, link) = (root.path().join("cache"), root.path().join("compiler"));
    std::os::unix::fs::symlink(nvrtc().parent().expect("a directory"), &link).expect("linked");
    assert_eq!(run(&mut process(&cache, &link)), ["compiled"]);
    std::fs::remove_file(&link).expect("removed");
    // No Python to ask either: looking for a compiler would find the named one broken.
    assert_eq!(
        run(process(&cache, &link).env("CUPRUM_PYTHON", "/nonexistent")),
        ["cached"]
    );
    assert_eq!(
        run(process(&cache, &link).env("CUPRUM_CACHE", "0")),
        ["BrokenCompiler"],
        "without the cache it is missed"
    );
}

/// Public report: concurrent writers, truncated or stale entries.
#[test]
fn damaged_entries_are_made_anew() {
    let root = tempfile::tempdir().expect("a directory");
    let nvrtc = nvrtc();
    assert_eq!(run(&mut process(root.path(), &nvrtc)), ["compiled"]);
    let path = entry(root.path());
    let whole = std::fs::read(&path).expect("the entry");
    let mut flipped = whole.clone();
    flipped[whole.len() / 3] ^= 0x10;
    for damaged in [&[][..], &whole[..whole.len() / 2], &flipped] {
        std::fs::write(&path, damaged).expect("damaged");
        assert_eq!(run(&mut process(root.path(), &nvrtc)), ["compiled"]);
        assert_eq!(run(&mut process(root.path(), &nvrtc)), ["cached"]);
    }
}

/// Options for every source of a process are options like others: in the key, and refused if they are none.
#[test]
fn options_for_every_source() {
    let root = tempfile::tempdir().expect("a directory");
    let nvrtc = nvrtc();
    let with =
        |options: &str| run(process(root.path(), &nvrtc).env("CUPRUM_NVRTC_OPTIONS", options));
    assert_eq!(with(""), ["compiled"]);
    assert_eq!(with(" -lineinfo  --use_fast_math "), ["compiled"]);
    assert_eq!(with("-lineinfo --use_fast_math"), ["cached"]);
    assert_eq!(with("--no-such-option"), ["Option"]);
    assert_eq!(with(""), ["cached"]);
}

#[test]
fn many_threads_of_many_processes() {
    let root = tempfile::tempdir().expect("a directory");
    let nvrtc = nvrtc();
    let processes: Vec<_> = (0..4)
        .map(|_| {
            process(root.path(), &nvrtc)
                .env("CUPRUM_TEST_THREADS", "16")
                .spawn()
                .expect("the process starts")
        })
        .collect();
    let mut compiled = 0;
    for process in processes {
        let words = words(&process.wait_with_output().expect("ends"));
        assert_eq!(words.len(), 16);
        assert!(
            words
                .iter()
                .all(|word| word == "compiled" || word == "cached"),
            "{words:?}"
        );
        compiled += words.iter().filter(|word| *word == "compiled").count();
    }
    assert!(
        (1..=4).contains(&compiled),
        "at most once a process, not {compiled} times"
    );
    // One entry, and no temporary file left beside it.
    entry(root.path());
}

#[test]
fn a_cache_that_cannot_be_written_is_not_used() {
    let root = tempfile::tempdir().expect("a directory");
    let nvrtc = nvrtc();
    // A file where the entries' directory should be: refused to everyone, also to root, whom permissions do not stop.
    std::fs::write(root.path().join("kernels"), b"").expect("written");
    let words = run(&mut process(root.path(), &nvrtc));
    assert!(
        words.len() == 1 && words[0].starts_with("NotKept(\"cannot write "),
        "{words:?}"
    );
    assert_eq!(
        run(process(root.path(), &nvrtc).env("CUPRUM_CACHE", "0")),
        ["NotKept(\"CUPRUM_CACHE=0\")"]
    );
}

/// Thirty-two processes compile the same and different sources at once, and some are killed at it: the others are all
/// served, what the cache holds in the end is whole, and the next processes find it.
#[test]
fn many_processes_of_which_some_are_killed() {
    const PROCESSES: u32 = 32;
    /// The sources: half of the processes share number 0, the others have one in pairs.
    fn number(process: u32) -> u32 {
        if process.is_multiple_of(2) {
            0
        } else {
            1 + process / 4
        }
    }

    let root = tempfile::tempdir().expect("a directory");
    let nvrtc = nvrtc();
    let start = |number: u32| {
        process(root.path(), &nvrtc)
            .env("CUPRUM_TEST_SOURCE", number.to_string())
            .spawn()
            .expect("the process starts")
    };
    let mut running: Vec<_> = (0..PROCESSES)
        .map(|process| Some((number(process), start(number(process)))))
        .collect();
    // Every fourth is killed, one after the other, so that some die before they compile, some at it, some after.
    let mut killed = 0;
    for (index, slot) in running.iter_mut().enumerate() {
        if index % 4 == 3 {
            std::thread::sleep(std::time::Duration::from_millis(120));
            let (_, mut process) = slot.take().expect("it runs");
            process.kill().expect("killed, or ended before");
            process.wait().expect("it has ended");
            killed += 1;
        }
    }
    assert_eq!(killed, 8);
    for (number, process) in running.into_iter().flatten() {
        let words = words(&process.wait_with_output().expect("ends"));
        assert!(
            words == ["compiled"] || words == ["cached"],
            "source {number}: {words:?}"
        );
    }

    let cache = Cache::at(root.path());
    assert_eq!(cache.remove_damaged().expect("read"), 0);
    let entries = cache.entries().expect("listed");
    assert!(entries.iter().all(|entry| !entry.is_damaged()));
    // One entry for every source that a process lived to compile.
    let mut survived: Vec<u32> = (0..PROCESSES)
        .filter(|process| process % 4 != 3)
        .map(number)
        .collect();
    survived.sort_unstable();
    survived.dedup();
    assert!(
        entries.len() >= survived.len(),
        "{} entries for {} sources",
        entries.len(),
        survived.len()
    );
    for number in survived {
        assert_eq!(
            words(&start(number).wait_with_output().expect("ends")),
            ["cached"],
            "source {number}"
        );
    }
}
