//! CUDA's headers beyond those that an NVRTC carries.

use std::path::{Path, PathBuf};

use super::fetch::fetch;
use super::search::Surroundings;
use super::wheels::{Headers, Wheel};
use crate::error::{Error, ErrorKind, Result};

/// The folders to include for groups of headers of a CUDA version, from Cuprum's cache or, with `CUPRUM_FETCH=1`, fetched
/// into it. Groups that the version's NVRTC carries need none.
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
    let mut dirs = Vec::new();
    for package in groups.iter().flat_map(|&group| wheel.headers(group)) {
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
                        "{} is not in Cuprum's cache: set CUPRUM_FETCH=1, and Cuprum fetches it ({}, {} MB) by pip, or add \
                         the folder of a CUDA toolkit's headers with include_dir",
                        package.requirement(),
                        package.what,
                        package.megabytes
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

/// The folders named `include` of an unpacked wheel, and those of the C++ libraries in them.
fn include_dirs(folder: &Path) -> Vec<PathBuf> {
    let parts = std::fs::read_dir(folder.join("nvidia"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("include"));
    let mut dirs: Vec<PathBuf> = parts
        .flat_map(|include| [include.join("cccl"), include])
        .filter(|dir| dir.is_dir())
        .collect();
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
}
