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
    let surroundings = Surroundings::from_env();
    let mut dirs = Vec::new();
    for package in groups.iter().flat_map(|&group| wheel.headers(group)) {
        let there = surroundings
            .cache
            .as_ref()
            .map(|cache| cache.join("nvrtc").join(package.folder()))
            .filter(|folder| folder.is_dir());
        let folder = match there {
            Some(folder) => folder,
            None if surroundings.fetch => fetch(package, &surroundings)?,
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
