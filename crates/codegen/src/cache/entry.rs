//! One entry of the cache and its bytes.
//!
//! ```text
//! format line | length, facts as JSON | length, PTX | length, cubin | SHA-256 of all before
//! ```
//! Lengths are 8 bytes, little-endian.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::FORMAT;
use crate::declarations::Parameter;
use crate::files::FileId;
use crate::includes::Header;
use crate::source::Key;

/// What is known of a result beside its code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// The key, so that an entry under a wrong name is noticed; empty outside the file.
    pub(crate) key: String,
    /// The source's file name; empty in entries of older versions.
    #[serde(default)]
    pub(crate) name: String,
    /// When the headers were read, nanoseconds since 1970.
    pub(crate) made: u64,
    /// `NVRTC 13.5`.
    pub(crate) compiler: String,
    /// The compiler's library.
    pub(crate) compiler_file: FileId,
    /// `sm_90` or `compute_80`.
    pub(crate) architecture: String,
    /// The options given to the compiler.
    pub(crate) options: Vec<String>,
    /// The compiler's messages.
    pub(crate) log: String,
    /// Mangled names by name expression.
    pub(crate) names: BTreeMap<String, String>,
    /// The kernels in the result, mangled, in its order.
    pub(crate) entries: Vec<String>,
    /// Kernels as declared, by plain name.
    pub(crate) declarations: Vec<(String, Vec<Parameter>)>,
    /// The header files that the result depends on.
    pub(crate) headers: Vec<Header>,
    /// The places where no file may appear.
    pub(crate) absent: Vec<PathBuf>,
}

/// A result with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) meta: Meta,
    pub(crate) ptx: String,
    /// Empty if the target is PTX.
    pub(crate) cubin: Vec<u8>,
}

impl Entry {
    /// The bytes of the file. Fails if a path in it is no text, which JSON cannot hold.
    pub(crate) fn encode(&self, key: Key) -> Result<Vec<u8>, serde_json::Error> {
        let meta = serde_json::to_vec(&Meta {
            key: key.to_hex(),
            ..self.meta.clone()
        })?;
        let mut bytes = Vec::with_capacity(meta.len() + self.ptx.len() + self.cubin.len() + 128);
        bytes.extend_from_slice(FORMAT.as_bytes());
        bytes.push(b'\n');
        for part in [meta.as_slice(), self.ptx.as_bytes(), &self.cubin] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        Ok(bytes)
    }

    /// The facts at the start of a file, if its parts add up to the file's length. The parts themselves are not looked at.
    pub(crate) fn peek(file: &mut std::fs::File) -> Option<Meta> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let total = file.metadata().ok()?.len();
        let mut head = vec![0; FORMAT.len() + 1 + 8];
        file.read_exact(&mut head).ok()?;
        let (format, len) = head.split_last_chunk::<8>()?;
        if format.strip_suffix(b"\n")? != FORMAT.as_bytes() {
            return None;
        }
        let len = u64::from_le_bytes(*len);
        let mut at = (head.len() as u64).checked_add(len)?;
        // Before that much memory is asked for.
        if at > total {
            return None;
        }
        let mut meta = vec![0; usize::try_from(len).ok()?];
        file.read_exact(&mut meta).ok()?;
        for _ in 0..2 {
            let mut len = [0; 8];
            file.read_exact(&mut len).ok()?;
            at = at.checked_add(8)?.checked_add(u64::from_le_bytes(len))?;
            file.seek(SeekFrom::Start(at)).ok()?;
        }
        (at.checked_add(32)? == total).then_some(())?;
        serde_json::from_slice(&meta).ok()
    }

    /// The entry in a file's bytes; `None` if they are anything else than what [`Entry::encode`] made for this key.
    pub(crate) fn decode(bytes: &[u8], key: Key) -> Option<Self> {
        Self::decode_as(bytes, &key.to_hex())
    }

    /// Whether the bytes are a whole entry of this key.
    pub(crate) fn is_sound(bytes: &[u8], key: &str) -> bool {
        Self::decode_as(bytes, key).is_some()
    }

    fn decode_as(bytes: &[u8], key: &str) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<32>()?;
        if Sha256::digest(body).as_slice() != sum {
            return None;
        }
        let mut rest = body.strip_prefix(FORMAT.as_bytes())?.strip_prefix(b"\n")?;
        let mut part = || {
            let (len, after) = rest.split_first_chunk::<8>()?;
            let (part, after) =
                after.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
            rest = after;
            Some(part)
        };
        let mut meta: Meta = serde_json::from_slice(part()?).ok()?;
        if std::mem::take(&mut meta.key) != key {
            return None;
        }
        let ptx = String::from_utf8(part()?.to_vec()).ok()?;
        let cubin = part()?.to_vec();
        rest.is_empty().then_some(Self { meta, ptx, cubin })
    }

    #[cfg(test)]
    pub(crate) fn for_tests(compiler_file: FileId) -> Self {
        let made = crate::files::nanoseconds(std::time::SystemTime::now());
        let meta = Meta {
            key: String::new(),
            name: "k.cu".into(),
            made,
            compiler: "NVRTC 13.5".into(),
            compiler_file,
            architecture: "compute_80".into(),
            options: Vec::new(),
            log: "a log\n".into(),
            names: BTreeMap::from([("k<float>".to_owned(), "_Z1kIfEvPT_".to_owned())]),
            entries: vec!["_Z1kIfEvPT_".into()],
            declarations: vec![(
                "k".into(),
                vec![Parameter {
                    name: "x".into(),
                    ty: "T*".into(),
                }],
            )],
            headers: Vec::new(),
            absent: Vec::new(),
        };
        Self {
            meta,
            ptx: ".version 9.5\n".into(),
            cubin: Vec::new(),
        }
    }
}
