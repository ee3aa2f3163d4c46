//! The on-disk cache of compiled sources.
//!
//! **Key.** SHA-256 over everything that the user gave and that decides the result: source, file name, options, include directories,
//! headers in memory, name expressions, target, the driver's version for a GPU, and the variables that choose a compiler. Headers on
//! disk cannot be in it, because only a compilation tells which they are; nor can the compiler's version, because a hit must need no
//! compiler. Both are facts of the entry instead, checked at each hit:
//!
//! - **Headers**, as in ccache's direct mode: the entry lists every header file that the source can include (found by our own scan of the
//!   `#include` lines, see `scan`), with size, time and SHA-256, and every place that was looked at before in vain. Same size and time
//!   means the same file; another time, or a time so close to the compilation that a later change could share it, means comparing the
//!   hash; a file at a place that was empty means another result.
//! - **Compiler**: the entry keeps path, size and time of the library that made it. If that file is still there and is another now (an
//!   upgrade in place), the entry is stale; if it is gone, the entry still holds what a compiler made of this source, and counts.
//!
//! **Files.** One a key, in `kernels/` under the cache directory, ending in a SHA-256 of itself; written beside its place and renamed,
//! so that a reader sees the whole of an old or a new entry. One that is damaged is removed and made again. A directory that cannot be
//! written means compiling without caching. When the entries together pass the limit (1 GiB, `CUPRUM_CACHE_SIZE`), those unused longest go.

mod entry;
mod listing;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

pub(crate) use entry::{Entry, Meta};
pub use listing::CacheEntry;

use crate::files::{self, FileId};
use crate::source::Key;

/// Changes whenever the meaning of an entry or of its key does.
pub(crate) const FORMAT: &str = "cuprum-kernel 1";

/// Bytes of all entries together.
const DEFAULT_LIMIT: u64 = 1 << 30;

/// A use is written to the entry's time only this often, so that hits do not write.
const USE_INTERVAL: Duration = Duration::from_secs(600);

/// Temporary files older than this are left-overs of processes that died.
const STALE: Duration = Duration::from_secs(3600);

/// A header changed this shortly before the compilation may change again without its time telling.
const CLOCK_STEP_NS: u64 = 2_000_000_000;

/// Cuprum's cache directory: `CUPRUM_CACHE_DIR`, or `cuprum` in the user's cache directory; `None` without a home directory.
pub(crate) fn directory() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    match std::env::var_os("CUPRUM_CACHE_DIR").filter(|value| !value.is_empty()) {
        Some(dir) => Some(PathBuf::from(dir)),
        None => Some(
            etcetera::choose_base_strategy()
                .ok()?
                .cache_dir()
                .join("cuprum"),
        ),
    }
}

/// Whether `CUPRUM_CACHE` leaves the cache on: everything but 0 does.
pub(crate) fn enabled() -> bool {
    std::env::var_os("CUPRUM_CACHE").is_none_or(|value| value != "0")
}

/// A number of bytes, `512M`; `None` for what is none.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// The on-disk cache of compiled sources: what [`compile`](crate::compile) keeps and finds again.
///
/// Any number of processes may use one directory while this looks at it or removes from it: an entry that another process
/// removes or replaces meanwhile is not counted, and one that is removed here is compiled again when it is wanted.
///
/// ```
/// use cuprum_codegen::{Cache, Source, Target, compile};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let source = Source::new("extern \"C\" __global__ void k(int *x) { *x = 1; }").cache_dir(dir.path());
/// compile(&source, Target::Ptx(80))?;
///
/// let cache = Cache::at(dir.path());
/// let entries = cache.entries()?;
/// assert_eq!(entries.len(), 1);
/// assert_eq!((entries[0].name(), entries[0].architecture()), ("kernel.cu", "compute_80"));
/// assert_eq!(cache.total_size()?, entries[0].size());
/// cache.clear()?;
/// assert_eq!(cache.total_size()?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    limit: u64,
}

impl Cache {
    /// The cache in `dir`, as [`Source::cache_dir`](crate::Source::cache_dir) names it. The directory need not exist.
    #[must_use]
    pub fn at(dir: impl AsRef<Path>) -> Self {
        let limit = std::env::var("CUPRUM_CACHE_SIZE")
            .ok()
            .and_then(|text| size(&text))
            .unwrap_or(DEFAULT_LIMIT);
        Self {
            root: dir.as_ref().join("kernels"),
            limit,
        }
    }

    fn path_of(&self, key: Key) -> PathBuf {
        let name = key.to_hex();
        self.root.join(&name[..2]).join(&name[2..])
    }

    /// The entry of a key, if there is one that still holds.
    pub(crate) fn load(&self, key: Key) -> Option<Entry> {
        let path = self.path_of(key);
        let bytes = fs::read(&path).ok()?;
        let Some(entry) = Entry::decode(&bytes, key) else {
            // Damaged: the next compilation writes it anew, also if it cannot be removed now.
            let _ = fs::remove_file(&path);
            return None;
        };
        if !holds(&entry) {
            return None;
        }
        let now = SystemTime::now();
        if let Ok(file) = fs::File::options().append(true).open(&path)
            && file
                .metadata()
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > USE_INTERVAL))
        {
            // A read-only cache keeps its times.
            let _ = file.set_modified(now);
        }
        Some(entry)
    }

    /// Writes an entry. The error tells why the result is not kept; nothing else is wrong then.
    pub(crate) fn store(&self, key: Key, entry: &Entry) -> Result<(), String> {
        if !entry
            .meta
            .headers
            .iter()
            .all(|header| header.file.is_unchanged())
        {
            return Err("a header changed during the compilation".into());
        }
        let bytes = entry.encode(key).map_err(|error| error.to_string())?;
        let path = self.path_of(key);
        let dir = path.parent().expect("an entry lies in a directory");
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(dir)?;
            let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(dir)?;
            file.write_all(&bytes)?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        self.keep_within_limit(bytes.len() as u64);
        Ok(())
    }

    /// Looks at the size of all entries now and then: at the first entry that this process writes, and after each sixteenth of the limit.
    fn keep_within_limit(&self, written: u64) {
        static WRITTEN: AtomicU64 = AtomicU64::new(u64::MAX);
        let before = WRITTEN.load(Ordering::Relaxed);
        if before != u64::MAX && before.saturating_add(written) < self.limit / 16 {
            WRITTEN.fetch_add(written, Ordering::Relaxed);
            return;
        }
        WRITTEN.store(0, Ordering::Relaxed);
        self.evict();
    }

    /// Removes the entries unused longest until the rest is a tenth below the limit; nothing if all are within it.
    fn evict(&self) {
        // What cannot be read or removed now is looked at again at the next time.
        if let Ok(files) = self.files() {
            let total: u64 = files.iter().map(|file| file.len).sum();
            if total > self.limit {
                listing::remove_oldest(files, self.limit / 10 * 9);
            }
        }
    }
}

/// Whether the files that an entry depends on are still those it was made from.
fn holds(entry: &Entry) -> bool {
    let meta = &entry.meta;
    // Gone is no change: see the module's text.
    if FileId::of(&meta.compiler_file.path).is_ok_and(|now| now != meta.compiler_file) {
        return false;
    }
    let same = |header: &crate::includes::Header| {
        let Ok(now) = FileId::of(&header.file.path) else {
            return false;
        };
        if now == header.file && header.file.modified.saturating_add(CLOCK_STEP_NS) < meta.made {
            return true;
        }
        now.len == header.file.len
            && fs::read(&header.file.path).is_ok_and(|bytes| files::hash(&bytes) == header.hash)
    };
    meta.headers.iter().all(same) && !meta.absent.iter().any(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Target;
    use crate::includes::Header;
    use crate::nvrtc::Request;
    use crate::source::Source;

    fn key(text: &str) -> Key {
        Source::new(text).key(Request {
            target: Target::Ptx(80),
            driver: None,
        })
    }

    fn entry(dir: &Path, payload: usize) -> Entry {
        let compiler = dir.join("libnvrtc.so.13");
        fs::write(&compiler, b"compiler").expect("write");
        let mut entry = Entry::for_tests(FileId::of(&compiler).expect("the file"));
        entry.cubin = vec![7; payload];
        entry
    }

    #[test]
    fn what_was_stored_is_loaded_also_without_the_compiler() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(dir.path());
        let entry = entry(dir.path(), 100);
        assert!(cache.load(key("a")).is_none());
        cache.store(key("a"), &entry).expect("stored");
        assert_eq!(cache.load(key("a")), Some(entry.clone()));
        assert!(cache.load(key("b")).is_none());
        fs::remove_file(dir.path().join("libnvrtc.so.13")).expect("removed");
        assert_eq!(
            cache.load(key("a")),
            Some(entry),
            "a compiler that is gone changes nothing"
        );
        fs::write(dir.path().join("libnvrtc.so.13"), b"another compiler").expect("write");
        assert!(
            cache.load(key("a")).is_none(),
            "a compiler that is another does"
        );
    }

    #[test]
    fn damaged_entries_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(dir.path());
        let entry = entry(dir.path(), 1000);
        let path = cache.path_of(key("a"));
        cache.store(key("a"), &entry).expect("stored");
        let whole = fs::read(&path).expect("the entry");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [
            Vec::new(),
            whole[..whole.len() / 2].to_vec(),
            flipped,
            b"cuprum-kernel 1\n\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(),
        ] {
            fs::write(&path, damaged).expect("write");
            assert!(cache.load(key("a")).is_none());
            assert!(!path.exists());
            cache.store(key("a"), &entry).expect("stored again");
            assert_eq!(cache.load(key("a")), Some(entry.clone()));
        }
        // An entry under another key's name is none of that key.
        let other = cache.path_of(key("b"));
        fs::create_dir_all(other.parent().expect("a directory")).expect("create");
        fs::copy(&path, &other).expect("copied");
        assert!(cache.load(key("b")).is_none());
    }

    #[test]
    fn changed_headers_and_new_ones_make_an_entry_stale() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(dir.path());
        let path = dir.path().join("a.h");
        fs::write(&path, "#define A 1\n").expect("write");
        let mut entry = entry(dir.path(), 10);
        let text = fs::read(&path).expect("read");
        entry.meta.headers = vec![Header {
            file: FileId::of(&path).expect("the file"),
            hash: files::hash(&text),
        }];
        entry.meta.absent = vec![dir.path().join("first/a.h")];
        cache.store(key("a"), &entry).expect("stored");
        assert!(cache.load(key("a")).is_some());

        // Another time, the same content: the same.
        let file = fs::File::options().append(true).open(&path).expect("open");
        file.set_modified(SystemTime::now() - Duration::from_secs(5000))
            .expect("set");
        assert!(cache.load(key("a")).is_some());
        // The same size, another content, changed just now.
        fs::write(&path, "#define A 2\n").expect("write");
        assert!(cache.load(key("a")).is_none());
        fs::write(&path, "#define A 1\n").expect("write");
        assert!(cache.load(key("a")).is_some());
        // A file in a directory that is searched before.
        fs::create_dir_all(dir.path().join("first")).expect("create");
        fs::write(dir.path().join("first/a.h"), "").expect("write");
        assert!(cache.load(key("a")).is_none());
    }

    #[test]
    fn the_entries_unused_longest_go_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut cache = Cache::at(dir.path());
        let entry = entry(dir.path(), 1 << 16);
        let names = ["a", "b", "c", "d"];
        for (age, name) in names.iter().enumerate() {
            cache.store(key(name), &entry).expect("stored");
            let file = fs::File::options()
                .append(true)
                .open(cache.path_of(key(name)))
                .expect("open");
            file.set_modified(SystemTime::now() - Duration::from_secs(10_000 - 1000 * age as u64))
                .expect("set");
        }
        // Used again, the oldest is the newest.
        assert!(cache.load(key("a")).is_some());
        cache.limit = 3 * (1 << 16);
        cache.evict();
        let left: Vec<bool> = names
            .iter()
            .map(|name| cache.load(key(name)).is_some())
            .collect();
        assert_eq!(left, [true, false, false, true]);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_told_and_harmless() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, b"").expect("write");
        let cache = Cache::at(&file);
        let why = cache
            .store(key("a"), &entry(dir.path(), 1))
            .expect_err("a file is no directory");
        assert!(why.starts_with("cannot write"), "{why}");
        assert!(cache.load(key("a")).is_none());
    }

    #[test]
    fn sizes() {
        assert_eq!(size("512M"), Some(512 << 20));
        assert_eq!(size(" 2 GiB"), Some(2 << 30));
        assert_eq!(size("100"), Some(100));
        for other in ["", "x", "-1", "5 parsecs", "99999999999G"] {
            assert_eq!(size(other), None, "{other}");
        }
    }
}
