//! CUDA's headers beyond those that an NVRTC carries.

use std::path::{Path, PathBuf};

use super::fetch::fetch;
use super::search::Surroundings;
use super::wheels::{Headers, Wheel};
use crate::error::{Error, ErrorKind, Result};

/// The folders to include for groups of headers of a CUDA version: of the toolkit that `CUDA_HOME` or `CUDA_PATH` names, if
/// it is of that version, else from Cuprum's cache or, with `CUPRUM_FETCH=1`, fetched into it. Groups that the version's
/// NVRTC carries need none.
///
/// # Errors
/// [`ErrorKind::Fetch`] if they are not there and cannot be fetched, or must not be.
pub fn header_dirs(wheel: Wheel, groups: &[Headers]) -> Result<Vec<PathBuf>> {
    header_dirs_in(wheel, groups, &Surroundings::from_env())
}

/// The same in known surroundings.
pub(crate) fn header_dirs_in(
    wheel: Wheel,
    groups: &[Headers],
    surroundings: &Surroundings,
) -> Result<Vec<PathBuf>> {
    let packages = || groups.iter().flat_map(|&group| wheel.headers(group));
    if packages().next().is_none() {
        return Ok(Vec::new());
    }
    let toolkit = surroundings
        .toolkits
        .iter()
        .map(|root| root.join("include"))
        .find(|include| version_of_headers(include) == Some(wheel.version()));
    if let Some(include) = toolkit {
        return Ok(with_libraries(include).collect());
    }
    let mut dirs = Vec::new();
    for package in packages() {
        let there = surroundings
            .cache
            .as_ref()
            .map(|cache| cache.join("nvrtc").join(package.folder()))
            .filter(|folder| folder.is_dir());
        let folder = match there {
            Some(folder) => folder,
            None if surroundings.fetch => fetch(package, surroundings)?,
            None => {
                return Err(Error::new(
                    ErrorKind::Fetch,
                    format!(
                        "{} is not in Cuprum's cache: set CUPRUM_FETCH=1, and Cuprum fetches it ({}, {} MB) by pip, or set \
                         CUDA_HOME to a CUDA toolkit of version {}.{}, or add a folder of headers with include_dir",
                        package.requirement(),
                        package.what,
                        package.megabytes,
                        wheel.version().0,
                        wheel.version().1,
                    ),
                ));
            }
        };
        for dir in include_dirs(&folder) {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
    }
    Ok(dirs)
}

impl Headers {
    /// The group that a header of CUDA belongs to, by the name in its `#include`.
    pub(crate) fn of(name: &str) -> Option<Self> {
        const CUDA: &[&str] = &[
            "builtin_types.h",
            "channel_descriptor.h",
            "cooperative_groups.h",
            "cuComplex.h",
            "cuda_awbarrier.h",
            "cuda_awbarrier_primitives.h",
            "cuda_bf16.h",
            "cuda_fp16.h",
            "cuda_fp4.h",
            "cuda_fp6.h",
            "cuda_fp8.h",
            "cuda_pipeline.h",
            "cuda_pipeline_primitives.h",
            "mma.h",
            "vector_functions.h",
            "vector_types.h",
        ];
        const RUNTIME: &[&str] = &[
            "cuda.h",
            "cuda_device_runtime_api.h",
            "cuda_runtime_api.h",
            "driver_types.h",
        ];
        let folder = name.split_once('/').map(|(folder, _)| folder);
        if matches!(folder, Some("cub" | "cuda" | "nv" | "thrust")) {
            Some(Self::Cccl)
        } else if folder == Some("cooperative_groups") || CUDA.contains(&name) {
            Some(Self::Cuda)
        } else if RUNTIME.contains(&name) {
            Some(Self::Runtime)
        } else if folder.is_none() && name.starts_with("curand") {
            Some(Self::Curand)
        } else {
            None
        }
    }
}

/// The CUDA version that a folder's `cuda.h` is of.
fn version_of_headers(include: &Path) -> Option<(u32, u32)> {
    let text = std::fs::read_to_string(include.join("cuda.h")).ok()?;
    let number: u32 = text
        .lines()
        .find_map(|line| line.strip_prefix("#define CUDA_VERSION "))?
        .trim()
        .parse()
        .ok()?;
    Some((number / 1000, number % 1000 / 10))
}

/// A folder of headers, and that of the C++ libraries in it.
fn with_libraries(include: PathBuf) -> impl Iterator<Item = PathBuf> {
    [include.join("cccl"), include]
        .into_iter()
        .filter(|dir| dir.is_dir())
}

/// The folders named `include` of an unpacked wheel, and those of the C++ libraries in them.
fn include_dirs(folder: &Path) -> Vec<PathBuf> {
    let parts = std::fs::read_dir(folder.join("nvidia"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("include"));
    let mut dirs: Vec<PathBuf> = parts.flat_map(with_libraries).collect();
    dirs.sort();
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_belong_to_groups() {
        for (name, group) in [
            ("cuda_fp16.h", Some(Headers::Cuda)),
            ("cooperative_groups/reduce.h", Some(Headers::Cuda)),
            ("cub/block/block_reduce.cuh", Some(Headers::Cccl)),
            ("cuda/std/atomic", Some(Headers::Cccl)),
            ("curand_kernel.h", Some(Headers::Curand)),
            ("cuda_runtime_api.h", Some(Headers::Runtime)),
            ("mine/curand_kernel.h", None),
            ("cuda_mine.h", None),
            ("vector", None),
        ] {
            assert_eq!(Headers::of(name), group, "{name}");
        }
    }

    fn surroundings(root: &Path) -> Surroundings {
        Surroundings {
            named: None,
            loader_dirs: Vec::new(),
            loader_cache: None,
            toolkits: vec![root.join("toolkit")],
            python: "/nonexistent/python".into(),
            cache: Some(root.join("cache")),
            fetch: false,
        }
    }

    fn toolkit(root: &Path, version: u32) {
        let include = root.join("toolkit/include");
        std::fs::create_dir_all(include.join("cccl")).expect("create");
        let text = format!("#ifndef CUDA_VERSION\n#define CUDA_VERSION {version}\n#endif\n");
        std::fs::write(include.join("cuda.h"), text).expect("write");
    }

    #[test]
    fn what_nvrtc_carries_needs_no_folder() {
        let root = tempfile::tempdir().expect("a directory");
        let dirs = header_dirs_in(
            Wheel::Cuda13_5,
            &[Headers::Cuda, Headers::Cccl],
            &surroundings(root.path()),
        );
        assert_eq!(dirs.expect("none are needed"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_toolkit_of_the_same_version_serves() {
        let root = tempfile::tempdir().expect("a directory");
        let surroundings = surroundings(root.path());
        toolkit(root.path(), 13000);
        let include = root.path().join("toolkit/include");
        let dirs = header_dirs_in(Wheel::Cuda13_0, &[Headers::Curand], &surroundings);
        assert_eq!(dirs.expect("there"), [include.join("cccl"), include]);
    }

    #[test]
    fn headers_of_another_version_are_not_mixed_in() {
        let root = tempfile::tempdir().expect("a directory");
        let surroundings = surroundings(root.path());
        toolkit(root.path(), 13000);
        let error =
            header_dirs_in(Wheel::Cuda12_9, &[Headers::Cuda], &surroundings).expect_err("12.9");
        assert_eq!(error.kind(), ErrorKind::Fetch);
        insta::assert_snapshot!(error, @"nvidia-cuda-runtime-cu12==12.9.79 is not in Cuprum's cache: set CUPRUM_FETCH=1, and Cuprum fetches it (CUDA's headers, 4 MB) by pip, or set CUDA_HOME to a CUDA toolkit of version 12.9, or add a folder of headers with include_dir");
    }

    #[test]
    fn what_was_fetched_is_found_in_the_cache() {
        let root = tempfile::tempdir().expect("a directory");
        let surroundings = surroundings(root.path());
        let groups = [Headers::Cuda, Headers::Curand];
        let mut want = Vec::new();
        for package in groups
            .iter()
            .flat_map(|&group| Wheel::Cuda13_0.headers(group))
        {
            let include = root
                .path()
                .join("cache/nvrtc")
                .join(package.folder())
                .join("nvidia/cu13/include");
            std::fs::create_dir_all(&include).expect("create");
            want.push(include);
        }
        let dirs = header_dirs_in(Wheel::Cuda13_0, &groups, &surroundings);
        assert_eq!(dirs.expect("all are there"), want);
    }
}
