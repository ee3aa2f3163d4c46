//! Where NVRTC may lie on this machine, in the order in which it is looked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The environment that decides where to look: read in one place, so that tests can give another.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// `CUPRUM_NVRTC`: the library, or a directory that holds it.
    pub(crate) named: Option<PathBuf>,
    /// The directories of the loader's search variable.
    pub(crate) loader_dirs: Vec<PathBuf>,
    /// The file in which the loader keeps the libraries of the system's directories.
    pub(crate) loader_cache: Option<PathBuf>,
    /// `CUDA_HOME` and `CUDA_PATH`.
    pub(crate) toolkits: Vec<PathBuf>,
    /// The Python interpreter, asked for its packages and for pip: `CUPRUM_PYTHON`, or else `python3`.
    pub(crate) python: OsString,
    /// Cuprum's cache directory, if there is one.
    pub(crate) cache: Option<PathBuf>,
    /// `CUPRUM_FETCH=1`.
    pub(crate) fetch: bool,
}

impl Surroundings {
    pub(crate) fn from_env() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let loader_variable = if cfg!(windows) {
            "PATH"
        } else if cfg!(target_os = "macos") {
            "DYLD_LIBRARY_PATH"
        } else {
            "LD_LIBRARY_PATH"
        };
        Self {
            named: variable("CUPRUM_NVRTC").map(PathBuf::from),
            loader_dirs: variable(loader_variable)
                .map(|value| std::env::split_paths(&value).collect())
                .unwrap_or_default(),
            loader_cache: cfg!(target_os = "linux").then(|| PathBuf::from("/etc/ld.so.cache")),
            toolkits: ["CUDA_HOME", "CUDA_PATH"]
                .into_iter()
                .filter_map(variable)
                .map(PathBuf::from)
                .collect(),
            python: variable("CUPRUM_PYTHON")
                .unwrap_or_else(|| if cfg!(windows) { "python" } else { "python3" }.into()),
            cache: crate::cache::directory(),
            fetch: fetch_allowed(std::env::var_os("CUPRUM_FETCH")),
        }
    }
}

impl Surroundings {
    /// Where libraries of device code may lie: beside a compiler, in the toolkits, on the loader's path, in the system.
    pub(crate) fn device_library_dirs(&self, compiler: Option<super::Nvrtc>) -> Vec<PathBuf> {
        let beside = compiler
            .and_then(|nvrtc| nvrtc.path().parent().map(Path::to_owned))
            .into_iter();
        // CUDA 12's wheels have a folder each.
        let sibling = beside.clone().filter_map(|lib| {
            let nvidia = lib.parent()?.parent()?;
            Some(nvidia.join("cuda_runtime").join("lib"))
        });
        let toolkits = self.toolkits.iter().flat_map(|root| library_dirs(root));
        let system = ["/usr/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64"].map(PathBuf::from);
        let mut dirs: Vec<PathBuf> = Vec::new();
        for dir in beside
            .chain(sibling)
            .chain(toolkits)
            .chain(self.loader_dirs.iter().cloned())
            .chain(system)
        {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        dirs
    }
}

/// Whether the value of `CUPRUM_FETCH` allows fetching: anything but nothing and 0.
fn fetch_allowed(value: Option<OsString>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

/// Which of the places a library was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// Named by `CUPRUM_NVRTC` or opened by path.
    Named,
    /// On the path of the system's loader.
    Loader,
    /// In the toolkit that `CUDA_HOME` or `CUDA_PATH` names.
    Toolkit,
    /// In a Python package.
    Python,
    /// Fetched by Cuprum.
    Cache,
}

/// A library found, not yet opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    pub(crate) origin: Origin,
}

/// The candidates, best first; each place is looked at only when the iterator gets there, because the later ones cost a process.
pub(crate) fn candidates(surroundings: &Surroundings) -> impl Iterator<Item = Candidate> + '_ {
    let stage = |origin: Origin, dirs: Vec<PathBuf>| {
        dirs.into_iter()
            .flat_map(|dir| libraries_in(&dir))
            .map(move |path| Candidate { path, origin })
    };
    let loader = surroundings.loader_dirs.clone();
    let toolkits = surroundings
        .toolkits
        .iter()
        .flat_map(|root| library_dirs(root))
        .collect();
    stage(Origin::Loader, loader)
        .chain(std::iter::once_with(|| ask_loader(surroundings)).flatten())
        .chain(stage(Origin::Toolkit, toolkits))
        .chain(
            std::iter::once_with(move || {
                let dirs = python_paths(&surroundings.python)
                    .iter()
                    .flat_map(|path| wheel_dirs(&path.join("nvidia")))
                    .collect();
                stage(Origin::Python, dirs)
            })
            .flatten(),
        )
        .chain(
            std::iter::once_with(move || {
                let dirs = surroundings
                    .cache
                    .iter()
                    .flat_map(|cache| fetched_dirs(&cache.join("nvrtc")))
                    .collect();
                stage(Origin::Cache, dirs)
            })
            .flatten(),
        )
}

/// The library that `CUPRUM_NVRTC` names: a file, or the newest in a directory or in the usual places below it.
pub(crate) fn named(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let below = library_dirs(path)
        .into_iter()
        .chain(wheel_dirs(&path.join("nvidia")))
        .chain(wheel_dirs(path));
    below.flat_map(|dir| libraries_in(&dir)).next()
}

/// The directories of a toolkit, or of an unpacked package, that may hold libraries.
fn library_dirs(root: &Path) -> Vec<PathBuf> {
    let below: &[&str] = if cfg!(windows) {
        &["", "bin/x64", "bin"]
    } else if cfg!(target_arch = "aarch64") {
        &[
            "",
            "lib64",
            "lib",
            "targets/aarch64-linux/lib",
            "targets/sbsa-linux/lib",
        ]
    } else {
        &["", "lib64", "lib", "targets/x86_64-linux/lib"]
    };
    below
        .iter()
        .map(|below| root.join(below))
        .filter(|dir| dir.is_dir())
        .collect()
}

/// The library directories of the wheels in a folder `nvidia`: `cu13/lib`, `cuda_nvrtc/lib`; newest CUDA first.
fn wheel_dirs(nvidia: &Path) -> Vec<PathBuf> {
    let mut packages = subdirectories(nvidia);
    // "cuda_nvrtc" (CUDA 12) sorts after "cu13" and "cu14".
    packages.sort_by(|a, b| {
        let rank = |path: &PathBuf| {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            name.strip_prefix("cu")
                .and_then(|rest| rest.parse::<u32>().ok())
                .unwrap_or(0)
        };
        rank(b).cmp(&rank(a)).then_with(|| a.cmp(b))
    });
    packages
        .into_iter()
        .flat_map(|package| library_dirs(&package))
        .collect()
}

/// The library directories of what Cuprum fetched, newest first.
fn fetched_dirs(root: &Path) -> Vec<PathBuf> {
    let mut folders = subdirectories(root);
    folders.retain(|folder| {
        // A machine's home may be shared with machines of another kind.
        folder.to_string_lossy().ends_with(&format!(
            "-{}-{}",
            std::env::consts::OS,
            std::env::consts::ARCH
        ))
    });
    let version = |path: &PathBuf| {
        super::Wheel::ALL
            .iter()
            .find(|wheel| path.ends_with(wheel.folder()))
            .map(|wheel| wheel.version())
    };
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    folders
        .into_iter()
        .flat_map(|folder| wheel_dirs(&folder.join("nvidia")))
        .collect()
}

fn subdirectories(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// The NVRTC libraries of one directory, newest first, one a version.
fn libraries_in(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<((u32, u32), PathBuf)> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some((version_of_file(&name)?, dir.join(&name))))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    // libnvrtc.so.13 and libnvrtc.so.13.0.88 are one file under two names.
    let mut seen = Vec::new();
    found.retain(|(_, path)| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
    found.into_iter().map(|(_, path)| path).collect()
}

/// The version in the file name of an NVRTC library, as far as the name tells: `libnvrtc.so.13`, `libnvrtc.so.12.9.86`,
/// `nvrtc64_130_0.dll`, `nvrtc64_120_0.dll`. `None` for other files, the builtins and the alternative build (`.alt.`).
fn version_of_file(name: &str) -> Option<(u32, u32)> {
    if let Some(rest) = name.strip_prefix("libnvrtc.so.") {
        let mut parts = rest.split('.').map(str::parse::<u32>);
        let major = parts.next()?.ok()?;
        let minor = match parts.next() {
            Some(minor) => minor.ok()?,
            None => 0,
        };
        return Some((major, minor));
    }
    let digits = name.strip_prefix("nvrtc64_")?.strip_suffix("_0.dll")?;
    let number: u32 = digits.parse().ok()?;
    Some((number / 10, number % 10))
}

/// The builtins that belong to a library: those beside it of the same major version.
pub(crate) fn builtins_beside(library: &Path) -> Vec<PathBuf> {
    let Some(dir) = library.parent() else {
        return Vec::new();
    };
    let name = library
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let major = version_of_file(&name).map(|(major, _)| major);
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            let rest = match name.strip_prefix("libnvrtc-builtins.so.") {
                Some(rest) => rest.split('.').next().map(str::to_owned),
                None => name
                    .strip_prefix("nvrtc-builtins64_")
                    .and_then(|rest| rest.strip_suffix(".dll"))
                    .map(|digits| digits[..digits.len().saturating_sub(1)].to_owned()),
            };
            rest.and_then(|rest| rest.parse::<u32>().ok())
                .is_some_and(|found| major.is_none_or(|major| major == found))
        })
        .map(|name| dir.join(name))
        .collect();
    found.sort();
    found
}

/// What the loader would find by the library's bare name, newest first.
///
/// The loader itself is not asked: it would answer any library of that name that this process has open already, such as one that
/// Cuprum opened from elsewhere. Its cache file (ld.so.cache) lists the paths it knows, as strings that end in a zero byte.
fn ask_loader(surroundings: &Surroundings) -> Vec<Candidate> {
    let Some(cache) = &surroundings.loader_cache else {
        return Vec::new();
    };
    let bytes = std::fs::read(cache).unwrap_or_default();
    let mut found: Vec<((u32, u32), PathBuf)> = bytes
        .split(|&byte| byte == 0)
        .filter_map(|text| std::str::from_utf8(text).ok())
        .filter(|text| text.starts_with('/'))
        .filter_map(|text| {
            Some((
                version_of_file(text.rsplit('/').next()?)?,
                PathBuf::from(text),
            ))
        })
        .filter(|(_, path)| path.is_file())
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found
        .into_iter()
        .map(|(_, path)| Candidate {
            path,
            origin: Origin::Loader,
        })
        .collect()
}

/// The directories in which this Python looks for packages. Asked once a process, because it starts one.
fn python_paths(python: &OsString) -> &'static [PathBuf] {
    type Answer = (OsString, &'static [PathBuf]);
    static ASKED: Mutex<Vec<Answer>> = Mutex::new(Vec::new());
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, paths)) = asked.iter().find(|(known, _)| known == python) {
        return paths;
    }
    // sys.path holds the site-packages of the interpreter and of the user, and PYTHONPATH with its targets of `pip install --target`.
    let program = "import sys; sys.stdout.buffer.write('\\n'.join(p for p in sys.path if p).encode('utf-8', 'surrogateescape'))";
    let output = Command::new(python)
        .args(["-c", program])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let paths: Vec<PathBuf> = match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(PathBuf::from)
            .filter(|path| path.is_dir())
            .collect(),
        _ => Vec::new(),
    };
    let paths: &'static [PathBuf] = Box::leak(paths.into_boxed_slice());
    asked.push((python.clone(), paths));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_tell_versions() {
        assert_eq!(version_of_file("libnvrtc.so.13"), Some((13, 0)));
        assert_eq!(version_of_file("libnvrtc.so.12.9.86"), Some((12, 9)));
        assert_eq!(version_of_file("nvrtc64_130_0.dll"), Some((13, 0)));
        for other in [
            "libnvrtc.so",
            "libnvrtc.alt.so.13",
            "libnvrtc-builtins.so.13.0",
            "libnvrtc_static.a",
            "libnvrtc.so.x",
            "nvrtc64_130_0.alt.dll",
        ] {
            assert_eq!(version_of_file(other), None, "{other}");
        }
    }

    #[test]
    fn fetching_is_asked_for_not_assumed() {
        assert!(!fetch_allowed(None));
        assert!(!fetch_allowed(Some("".into())));
        assert!(!fetch_allowed(Some("0".into())));
        assert!(fetch_allowed(Some("1".into())));
    }

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("create");
        std::fs::write(path, b"").expect("write");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_order_of_places() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |below: &str| root.path().join(below);
        touch(&at("loader/libnvrtc.so.12"));
        touch(&at("system/libnvrtc.so.13"));
        let listed = format!(
            "head\0\u{1}libnvrtc.so.13\0{}\0/gone/libnvrtc.so.12\0",
            at("system/libnvrtc.so.13").display()
        );
        std::fs::write(at("ld.so.cache"), listed).expect("write");
        touch(&at("toolkit/lib64/libnvrtc.so.13"));
        let cached = format!(
            "cache/nvrtc/{}/nvidia/cu13/lib/libnvrtc.so.13",
            super::super::Wheel::Cuda13_0.folder()
        );
        let newer = format!(
            "cache/nvrtc/{}/nvidia/cu13/lib/libnvrtc.so.13",
            super::super::Wheel::Cuda13_5.folder()
        );
        let old = format!(
            "cache/nvrtc/{}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            super::super::Wheel::Cuda12_9.folder()
        );
        touch(&at(&cached));
        touch(&at(&newer));
        touch(&at(&old));
        touch(&at(
            "cache/nvrtc/nvidia-cuda-nvrtc-13.5.37-plan9-x86_64/nvidia/cu13/lib/libnvrtc.so.13",
        ));
        let surroundings = Surroundings {
            named: None,
            loader_dirs: vec![at("loader")],
            loader_cache: Some(at("ld.so.cache")),
            toolkits: vec![at("toolkit")],
            python: "/nonexistent/python".into(),
            cache: Some(at("cache")),
            fetch: false,
        };
        let found: Vec<Candidate> = candidates(&surroundings).collect();
        let expected = [
            (Origin::Loader, at("loader/libnvrtc.so.12")),
            (Origin::Loader, at("system/libnvrtc.so.13")),
            (Origin::Toolkit, at("toolkit/lib64/libnvrtc.so.13")),
            (Origin::Cache, at(&newer)),
            (Origin::Cache, at(&cached)),
            (Origin::Cache, at(&old)),
        ];
        assert_eq!(
            found,
            expected.map(|(origin, path)| Candidate { path, origin })
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn builtins_of_the_same_major_are_found() {
        let root = tempfile::tempdir().expect("a directory");
        for name in [
            "libnvrtc.so.13",
            "libnvrtc-builtins.so.13.5",
            "libnvrtc-builtins.so.12.9",
            "libnvrtc-builtins.alt.so.13.5",
        ] {
            touch(&root.path().join(name));
        }
        let found = builtins_beside(&root.path().join("libnvrtc.so.13"));
        assert_eq!(found, [root.path().join("libnvrtc-builtins.so.13.5")]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_python_names_its_package_directories() {
        let root = tempfile::tempdir().expect("a directory");
        let library = root.path().join("site/nvidia/cu13/lib/libnvrtc.so.13");
        touch(&library);
        let python = root.path().join("python");
        std::fs::write(
            &python,
            format!("#!/bin/sh\necho '{}'\n", root.path().join("site").display()),
        )
        .expect("write");
        std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("chmod");
        let surroundings = Surroundings {
            named: None,
            loader_dirs: Vec::new(),
            loader_cache: None,
            toolkits: Vec::new(),
            python: python.into(),
            cache: None,
            fetch: false,
        };
        let found: Vec<Candidate> = candidates(&surroundings).collect();
        assert_eq!(
            found,
            [Candidate {
                path: library,
                origin: Origin::Python
            }]
        );
    }
}
