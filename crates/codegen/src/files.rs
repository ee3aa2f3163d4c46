//! Files as facts: which file it was that a result came from.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};

/// A file at a moment: as long as size and time stay, it is taken to be the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
    /// Time of the last change, nanoseconds since 1970.
    pub(crate) modified: u64,
}

impl FileId {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        }
        let modified = metadata.modified().map_or(0, nanoseconds);
        Ok(Self {
            path: path.to_owned(),
            len: metadata.len(),
            modified,
        })
    }

    /// Whether the file at the path is still this one, by size and time.
    pub(crate) fn is_unchanged(&self) -> bool {
        Self::of(&self.path).is_ok_and(|now| now == *self)
    }
}

/// Nanoseconds since 1970; 0 for earlier times.
pub(crate) fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// SHA-256 as hexadecimal text.
pub(crate) fn hash(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Text for NVRTC; a zero byte inside cannot be handed over.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        Error::new(
            ErrorKind::Source,
            format!(
                "{what} holds a zero byte at offset {}, which CUDA C++ does not allow",
                error.nul_position()
            ),
        )
    })
}

/// A path as NVRTC takes it: its bytes on Unix, UTF-8 elsewhere.
pub(crate) fn to_c_string(path: &Path) -> Result<CString> {
    #[cfg(unix)]
    let bytes = {
        use std::os::unix::ffi::OsStrExt as _;
        path.as_os_str().as_bytes().to_vec()
    };
    #[cfg(not(unix))]
    let bytes = match path.to_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => {
            return Err(Error::new(
                ErrorKind::Source,
                format!("the path {} is no valid text", path.display()),
            ));
        }
    };
    CString::new(bytes).map_err(|_| {
        Error::new(
            ErrorKind::Source,
            format!("the path {} holds a zero byte", path.display()),
        )
    })
}
