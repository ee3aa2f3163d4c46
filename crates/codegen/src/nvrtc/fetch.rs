//! Bringing an NVRTC, or headers, where there are none: pip downloads a pinned wheel, Python unpacks it into Cuprum's cache.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::search::Surroundings;
use super::wheels::Package;
use crate::error::{Error, ErrorKind, Result};

/// How the names of the directories begin in which a fetch works.
const WORK: &str = ".fetching-";

/// Unpacks what of a wheel has a text in its path, without the second build of each library (`.alt.`), which nothing here
/// uses and which doubles the size.
const UNPACK: &str = "import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if sys.argv[3] in name and '.alt.' not in name:
            wheel.extract(name, sys.argv[2])
";

/// Downloads and unpacks `package` into Cuprum's cache, unless it is there, and answers its folder.
///
/// Safe when several processes do it at once: one works, the others wait for its lock and find the result. The folder appears by one
/// rename, so what is there is whole.
pub(crate) fn fetch(package: &Package, surroundings: &Surroundings) -> Result<PathBuf> {
    let failed = |text: String| Error::new(ErrorKind::Fetch, text);
    if !package.fits_this_machine() {
        return Err(failed(format!(
            "there is no wheel of {} for {} on {}; set CUPRUM_NVRTC to an NVRTC library",
            package.requirement(),
            std::env::consts::OS,
            std::env::consts::ARCH
        )));
    }
    let Some(cache) = &surroundings.cache else {
        return Err(failed("no place to put NVRTC: there is no home directory; set CUPRUM_CACHE_DIR to a directory that can be written".into()));
    };
    let root = cache.join("nvrtc");
    let folder = root.join(package.folder());
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(&root).map_err(|error| Error::io("create the directory", &root, error))?;
    let lock_path = root.join("lock");
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .map_err(|error| Error::io("open the lock file", &lock_path, error))?;
    let locked = match lock.try_lock() {
        Err(TryLockError::WouldBlock) => {
            say(&format!(
                "waiting for another process that fetches into {}",
                root.display()
            ));
            lock.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) => Ok(()),
    };
    match locked {
        Ok(()) => remove_leftovers(&root),
        // Some network file systems lock nothing. Two processes then fetch the same, and the rename below lets one win.
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
        Err(error) => return Err(Error::io("lock", &lock_path, error)),
    }
    if folder.is_dir() {
        return Ok(folder);
    }
    say(&format!(
        "fetching {} ({}, {} MB, by pip) into {}",
        package.requirement(),
        package.what,
        package.megabytes,
        folder.display()
    ));
    let work = tempfile::Builder::new()
        .prefix(WORK)
        .tempdir_in(&root)
        .map_err(|error| Error::io("create a directory in", &root, error))?;
    let file = download(package, surroundings, work.path())?;
    let unpacked = work.path().join("unpacked");
    let mut unpack = Command::new(&surroundings.python);
    let part = if package.headers_only {
        "/include/"
    } else {
        ""
    };
    unpack
        .args(["-c", UNPACK])
        .args([&file, &unpacked])
        .arg(part);
    run(unpack, "unpack the wheel")?;
    match fs::rename(&unpacked, &folder) {
        Ok(()) => {}
        // On a file system whose locks do nothing, another process may have come first.
        Err(_) if folder.is_dir() => {}
        Err(error) => return Err(Error::io("move the unpacked wheel to", &folder, error)),
    }
    say("fetched");
    Ok(folder)
}

/// Removes what processes that were killed while they fetched left behind: nobody else works here while the lock is held.
fn remove_leftovers(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(WORK.as_bytes())
        {
            // What cannot be removed only takes room.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// `pip download` of exactly the pinned files, into `dir`; answers the wheel's path.
fn download(package: &Package, surroundings: &Surroundings, dir: &Path) -> Result<PathBuf> {
    let requirements = dir.join("requirements.txt");
    let mut line = package.requirement().to_owned();
    for hash in package.hashes() {
        line.push_str(" --hash=sha256:");
        line.push_str(hash);
    }
    let write = File::create(&requirements).and_then(|mut file| writeln!(file, "{line}"));
    write.map_err(|error| Error::io("write", &requirements, error))?;
    let mut pip = Command::new(&surroundings.python);
    pip.args([
        "-m",
        "pip",
        "download",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--no-deps",
        "--no-input",
    ])
    .args(["--disable-pip-version-check", "--no-cache-dir", "--dest"])
    .arg(dir)
    .arg("--requirement")
    .arg(&requirements)
    // A user's setting that asks for other versions or platforms would only make the pinned file unfindable.
    .env_remove("PIP_PLATFORM")
    .env_remove("PIP_CONSTRAINT")
    .env("PIP_REQUIRE_VIRTUALENV", "0");
    run(pip, &format!("download {}", package.requirement()))?;
    let found = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::Fetch,
            format!("pip downloaded no wheel of {}", package.requirement()),
        )
    })
}

/// Runs Python with its progress on our stderr; its own words are part of the error.
fn run(mut command: Command, doing: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |text: String| Error::new(ErrorKind::Fetch, text);
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .stderr(Stdio::piped())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return Err(failed(format!(
                "cannot {doing}: {program} does not start ({error}). Install Python with pip, or set CUPRUM_PYTHON to it, or set CUPRUM_NVRTC to an NVRTC library"
            )));
        }
    };
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.trim();
    let hint = if words.contains("No module named pip") {
        "\nhint: install pip for this Python, or set CUPRUM_PYTHON to one that has it"
    } else if words.contains("HASHES") || words.contains("do not match the hashes") {
        "\nhint: the package index gave another file than the one that Cuprum knows; it was not used"
    } else if words.contains("No matching distribution")
        || words.contains("Connection")
        || words.contains("resolution")
    {
        "\nhint: pip reached no index that has this file; check the network, or set CUPRUM_NVRTC to an NVRTC library"
    } else {
        ""
    };
    Err(failed(format!(
        "cannot {doing}: {program} ended with {}\n{words}{hint}",
        output.status
    )))
}

/// Tells the user on stderr, unless `CUPRUM_QUIET` is set.
fn say(text: &str) {
    if std::env::var_os("CUPRUM_QUIET").is_none() {
        // Nothing to do about a closed stderr.
        let _ = writeln!(std::io::stderr(), "cuprum: {text}");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::wheels::Wheel;
    use super::*;

    fn surroundings(python: &Path, cache: &Path) -> Surroundings {
        Surroundings {
            named: None,
            loader_dirs: Vec::new(),
            loader_cache: None,
            toolkits: Vec::new(),
            python: python.into(),
            cache: Some(cache.to_owned()),
            fetch: true,
        }
    }

    /// A Python whose pip answers `script`.
    fn python(dir: &Path, script: &str) -> PathBuf {
        let path = dir.join("python");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("write");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("chmod");
        path
    }

    #[test]
    fn failures_say_what_to_do() {
        let root = tempfile::tempdir().expect("a directory");
        let missing = fetch(
            Wheel::Cuda13_5.package(),
            &surroundings(Path::new("/nonexistent/python"), root.path()),
        )
        .expect_err("no python");
        assert_eq!(missing.kind(), ErrorKind::Fetch);
        insta::assert_snapshot!(missing, @"cannot download nvidia-cuda-nvrtc==13.5.37: /nonexistent/python does not start (No such file or directory (os error 2)). Install Python with pip, or set CUPRUM_PYTHON to it, or set CUPRUM_NVRTC to an NVRTC library");

        let no_pip = python(root.path(), "echo 'No module named pip' >&2; exit 1");
        let text = fetch(
            Wheel::Cuda13_5.package(),
            &surroundings(&no_pip, root.path()),
        )
        .expect_err("no pip")
        .to_string();
        assert!(text.contains("hint: install pip for this Python"), "{text}");

        let offline = python(
            root.path(),
            "echo 'ERROR: No matching distribution found' >&2; exit 1",
        );
        let text = fetch(
            Wheel::Cuda13_5.package(),
            &surroundings(&offline, root.path()),
        )
        .expect_err("offline")
        .to_string();
        assert!(text.contains("hint: pip reached no index"), "{text}");

        fs::create_dir(root.path().join("nvrtc/.fetching-dead")).expect("create");
        fetch(
            Wheel::Cuda13_5.package(),
            &surroundings(&offline, root.path()),
        )
        .expect_err("offline");
        let left: Vec<_> = fs::read_dir(root.path().join("nvrtc"))
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(
            left,
            ["lock"],
            "neither a failed nor a killed fetch leaves anything behind"
        );
    }

    #[test]
    fn many_at_once_fetch_once() {
        let root = tempfile::tempdir().expect("a directory");
        let count = root.path().join("count");
        // A pip that takes its time and leaves a wheel, and an unpacker that makes the folder.
        let script = format!(
            r#"if [ "$1" = -m ]; then echo x >> '{}'; sleep 0.2; while [ "$1" != --dest ]; do shift; done; : > "$2/a.whl"; else mkdir "$4"; fi"#,
            count.display()
        );
        let python = python(root.path(), &script);
        let surroundings = surroundings(&python, root.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert!(
                        fetch(Wheel::Cuda13_0.package(), &surroundings)
                            .expect("fetched")
                            .is_dir()
                    );
                });
            }
        });
        assert_eq!(
            fs::read_to_string(count)
                .expect("the count")
                .lines()
                .count(),
            1
        );
    }
}
