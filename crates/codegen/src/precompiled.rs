//! NVRTC's precompiled headers.
//!
//! NVRTC 12.8 and later can keep what it has read of a source's leading `#include`s, and go on from there at the next compilation. The file that
//! it writes is an image of its memory: it holds for one process, and NVRTC removes it at its end. Which headers it was made of is
//! looked at by name and time; headers in memory have no time. So the directory of the file is named after all that it depends on.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use sha2::{Digest as _, Sha256};

use crate::files::to_hex;
use crate::includes::Found;
use crate::nvrtc::Nvrtc;

/// The first NVRTC that knows the options.
const SINCE: (u32, u32) = (12, 8);

/// Bytes of address space for them: CUB takes 309 MB, and NVRTC's own choice are 256.
const ROOM: usize = 1 << 30;

/// The directory for the file of these headers and options, made; `None` if this compiler has no precompiled headers, or there is
/// no place for them. Compiling goes on without them then.
pub(crate) fn directory(
    nvrtc: Nvrtc,
    cache: Option<&Path>,
    found: &Found,
    memory: &[(CString, CString)],
    options: &[CString],
) -> Option<PathBuf> {
    if nvrtc.version() < SINCE || !nvrtc.has_room_for_precompiled(ROOM) {
        return None;
    }
    let all = cache?.join("pch");
    static TIDY: Once = Once::new();
    TIDY.call_once(|| remove_left(&all));
    let mut hasher = Sha256::new();
    let mut field = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(format!("{:?}", nvrtc.file()).as_bytes());
    for (name, text) in memory {
        field(name.as_bytes());
        field(text.as_bytes());
    }
    for option in options {
        field(option.as_bytes());
    }
    for header in &found.headers {
        field(header.file.path.as_os_str().as_encoded_bytes());
        field(header.hash.as_bytes());
    }
    let hash = to_hex(&hasher.finalize());
    let dir = all.join(format!("{}-{}", std::process::id(), &hash[..16]));
    fs::create_dir_all(&dir).ok()?;
    Some(dir)
}

/// Removes the directories of processes that have ended. NVRTC removes the files in them at the end of a process, if the process comes to
/// that; of one that was killed they are left, hundreds of megabytes of them.
fn remove_left(all: &Path) {
    for dir in fs::read_dir(all).into_iter().flatten().flatten() {
        let path = dir.path();
        // What is not empty cannot be removed in this way, which is why it is done in this way.
        if fs::remove_dir(&path).is_ok() {
            continue;
        }
        let name = dir.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.split_once('-')?.0.parse::<u32>().ok());
        // Only Linux tells by a file who lives.
        if let Some(process) = process
            && Path::new("/proc/self").exists()
            && !Path::new("/proc").join(process.to_string()).exists()
        {
            // Another process may be removing it too.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_have_stays() {
        let all = tempfile::tempdir().expect("a directory");
        // No process has the largest number.
        let (dead, living) = (
            all.path().join(format!("{}-a", u32::MAX)),
            all.path().join(format!("{}-b", std::process::id())),
        );
        let (empty, other) = (all.path().join("1-c"), all.path().join("no number"));
        for dir in [&dead, &living, &empty, &other] {
            fs::create_dir(dir).expect("created");
        }
        for dir in [&dead, &living, &other] {
            fs::write(dir.join("x.pch"), b"x").expect("written");
        }
        remove_left(all.path());
        assert!(!dead.exists() && living.exists() && !empty.exists() && other.exists());
    }
}
