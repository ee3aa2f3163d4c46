//! Looking at the cache, and removing from it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Cache, Entry, Meta, STALE, directory};
use crate::error::{Error, ErrorKind, Result};

/// One entry of the [`Cache`].
#[derive(Debug, Clone)]
pub struct CacheEntry {
    key: String,
    size: u64,
    used: SystemTime,
    /// `None` if the file is damaged.
    meta: Option<Meta>,
}

impl CacheEntry {
    /// The key: 64 hexadecimal digits that stand for source, options and target.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Bytes on the disk.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When it was made or last found, to about ten minutes: hits of a busy program do not write each time.
    #[must_use]
    pub fn last_used(&self) -> SystemTime {
        self.used
    }

    /// How long ago that was.
    #[must_use]
    pub fn age(&self) -> Duration {
        SystemTime::now()
            .duration_since(self.used)
            .unwrap_or_default()
    }

    /// The file name of the source; empty if the entry is damaged.
    #[must_use]
    pub fn name(&self) -> &str {
        self.meta.as_ref().map_or("", |meta| &meta.name)
    }

    /// The kernels in it, by their names in the image.
    #[must_use]
    pub fn kernels(&self) -> &[String] {
        self.meta.as_ref().map_or(&[], |meta| &meta.entries)
    }

    /// The architecture, `sm_90` or `compute_80`; empty if the entry is damaged.
    #[must_use]
    pub fn architecture(&self) -> &str {
        self.meta.as_ref().map_or("", |meta| &meta.architecture)
    }

    /// The compiler that made it, `NVRTC 13.5`; empty if the entry is damaged.
    #[must_use]
    pub fn compiler(&self) -> &str {
        self.meta.as_ref().map_or("", |meta| &meta.compiler)
    }

    /// Whether the file is no whole entry. It is never used, and made anew when its source is compiled again. Damage that
    /// leaves the lengths as they were is found by [`Cache::remove_damaged`] only.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.meta.is_none()
    }
}

/// A file of the cache.
pub(super) struct File {
    pub(super) used: SystemTime,
    pub(super) len: u64,
    path: PathBuf,
}

impl File {
    fn key(&self) -> String {
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        self.path.parent().map(name).unwrap_or_default() + &name(&self.path)
    }
}

impl Cache {
    /// The cache that is used if a source names no other: in `CUPRUM_CACHE_DIR`, or the user's cache directory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if there is no home directory to have one in.
    pub fn open() -> Result<Self> {
        directory().map(Self::at).ok_or_else(|| {
            Error::new(
                ErrorKind::Io,
                "there is no home directory to keep a cache in: set CUPRUM_CACHE_DIR",
            )
        })
    }

    /// Where the entries are.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The bytes that all entries together may take before those unused longest are removed: `CUPRUM_CACHE_SIZE`, or 1 GiB.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// All entries, those used last first. Reads the start of each file; damaged ones are listed as such.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the directory is there and cannot be read.
    pub fn entries(&self) -> Result<Vec<CacheEntry>> {
        let mut entries: Vec<CacheEntry> = self
            .files()?
            .into_iter()
            .filter_map(|file| {
                let mut open = match fs::File::open(&file.path) {
                    Ok(open) => open,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                    Err(_) => {
                        return Some(CacheEntry {
                            key: file.key(),
                            size: file.len,
                            used: file.used,
                            meta: None,
                        });
                    }
                };
                let key = file.key();
                Some(CacheEntry {
                    meta: Entry::peek(&mut open).filter(|meta| meta.key == key),
                    key,
                    size: file.len,
                    used: file.used,
                })
            })
            .collect();
        entries.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.key.cmp(&b.key)));
        Ok(entries)
    }

    /// Bytes of all entries together.
    ///
    /// # Errors
    /// As for [`Cache::entries`].
    pub fn total_size(&self) -> Result<u64> {
        Ok(self.files()?.iter().map(|file| file.len).sum())
    }

    /// Removes every entry. Answers the bytes freed.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the directory cannot be read or an entry cannot be removed; the others are removed all the same.
    pub fn clear(&self) -> Result<u64> {
        self.trim(0)
    }

    /// Removes the entries unused longest until the rest takes at most `bytes`. Answers the bytes freed.
    ///
    /// # Errors
    /// As for [`Cache::clear`].
    pub fn trim(&self, bytes: u64) -> Result<u64> {
        let (freed, failed) = remove_oldest(self.files()?, bytes);
        failed.map_or(Ok(freed), Err)
    }

    /// Reads every entry and removes those that are damaged. Answers how many there were.
    ///
    /// # Errors
    /// As for [`Cache::clear`].
    pub fn remove_damaged(&self) -> Result<usize> {
        let mut count = 0;
        for file in self.files()? {
            let Ok(bytes) = fs::read(&file.path) else {
                continue;
            };
            if Entry::is_sound(&bytes, &file.key()) {
                continue;
            }
            // Another process may have written it anew since it was read: then it is only compiled once more.
            fs::remove_file(&file.path)
                .or_else(absent_is_fine)
                .map_err(|error| Error::io("remove", &file.path, error))?;
            count += 1;
        }
        Ok(count)
    }

    /// The files of all entries. Temporary files are left out, and removed if the process that wrote them must be dead.
    pub(super) fn files(&self) -> Result<Vec<File>> {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for shard in read_dir(&self.root)? {
            // A shard that is no directory, or gone, holds no entries.
            let Ok(paths) = read_dir(&shard) else {
                continue;
            };
            for path in paths {
                let Ok(metadata) = fs::metadata(&path) else {
                    continue;
                };
                if !metadata.is_file() {
                    continue;
                }
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                if path
                    .file_name()
                    .is_some_and(|name| name.as_encoded_bytes().starts_with(b".new-"))
                {
                    if now.duration_since(used).is_ok_and(|age| age > STALE) {
                        // Another process may be removing it too.
                        let _ = fs::remove_file(&path);
                    }
                    continue;
                }
                files.push(File {
                    used,
                    len: metadata.len(),
                    path,
                });
            }
        }
        Ok(files)
    }
}

/// Removes files until the rest takes at most `bytes`: the bytes freed, and the first failure.
pub(super) fn remove_oldest(mut files: Vec<File>, bytes: u64) -> (u64, Option<Error>) {
    let mut total: u64 = files.iter().map(|file| file.len).sum();
    let (mut freed, mut failed) = (0, None);
    files.sort_by(|a, b| a.used.cmp(&b.used).then_with(|| a.path.cmp(&b.path)));
    for file in files {
        if total <= bytes && !(bytes == 0 && file.len == 0) {
            break;
        }
        match fs::remove_file(&file.path).or_else(absent_is_fine) {
            Ok(()) => {
                total -= file.len;
                freed += file.len;
            }
            Err(error) => {
                failed.get_or_insert_with(|| Error::io("remove", &file.path, error));
            }
        }
    }
    (freed, failed)
}

/// Removed by another process is removed.
fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// What is in a directory; nothing if there is none.
fn read_dir(path: &Path) -> Result<Vec<PathBuf>> {
    let list = match fs::read_dir(path) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    Ok(list.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Target;
    use crate::files::FileId;
    use crate::nvrtc::Request;
    use crate::source::{Key, Source};

    fn key(text: &str) -> Key {
        Source::new(text).key(Request {
            target: Target::Ptx(80),
            driver: None,
        })
    }

    /// A cache with entries "a", "b", ..., of 1000 bytes of cubin each, of which "a" is the oldest.
    fn filled(count: u64) -> (tempfile::TempDir, Cache, Vec<Key>) {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(dir.path());
        let compiler = dir.path().join("libnvrtc.so.13");
        fs::write(&compiler, b"compiler").expect("write");
        let mut entry = Entry::for_tests(FileId::of(&compiler).expect("the file"));
        entry.cubin = vec![7; 1000];
        let keys: Vec<Key> = ["a", "b", "c", "d", "e", "f"][..count as usize]
            .iter()
            .map(|name| key(name))
            .collect();
        for (index, &key) in keys.iter().enumerate() {
            cache.store(key, &entry).expect("stored");
            fs::File::options()
                .append(true)
                .open(cache.path_of(key))
                .and_then(|file| {
                    file.set_modified(
                        SystemTime::now() - Duration::from_secs(10_000 - 1000 * index as u64),
                    )
                })
                .expect("the time is set");
        }
        (dir, cache, keys)
    }

    #[test]
    fn entries_are_listed_with_their_facts() {
        let (_dir, cache, keys) = filled(3);
        let entries = cache.entries().expect("listed");
        let listed: Vec<&str> = entries.iter().map(CacheEntry::key).collect();
        let newest_first: Vec<String> = keys.iter().rev().map(|key| key.to_hex()).collect();
        assert_eq!(listed, newest_first);
        let one = &entries[2];
        assert_eq!(
            (one.name(), one.architecture(), one.compiler()),
            ("k.cu", "compute_80", "NVRTC 13.5")
        );
        assert_eq!(one.kernels(), ["_Z1kIfEvPT_"]);
        assert!(!one.is_damaged());
        assert!((9_990..10_100).contains(&one.age().as_secs()), "{one:?}");
        assert_eq!(
            one.size(),
            fs::metadata(cache.path_of(keys[0]))
                .expect("the file")
                .len()
        );
        assert_eq!(cache.total_size().expect("summed"), 3 * one.size());
        assert_eq!(cache.remove_damaged().expect("read"), 0);
    }

    #[test]
    fn a_cache_that_is_not_there_is_empty() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(dir.path().join("none"));
        assert!(cache.entries().expect("listed").is_empty());
        assert_eq!(cache.clear().expect("cleared"), 0);
        fs::write(dir.path().join("file"), b"").expect("write");
        // A file where the entries should be is an error of the system, not an empty cache.
        fs::write(dir.path().join("kernels"), b"").expect("write");
        let error = Cache::at(dir.path()).entries().expect_err("no directory");
        assert_eq!(error.kind(), ErrorKind::Io);
    }

    #[test]
    fn damaged_entries_are_told_and_removed() {
        let (_dir, cache, keys) = filled(6);
        let paths: Vec<PathBuf> = keys.iter().map(|&key| cache.path_of(key)).collect();
        let whole = fs::read(&paths[0]).expect("read");
        fs::write(&paths[1], []).expect("write");
        fs::write(&paths[2], &whole[..whole.len() / 2]).expect("write");
        // A length that no memory holds.
        let mut huge = whole.clone();
        huge[super::super::FORMAT.len() + 1..][..8].fill(0xff);
        fs::write(&paths[3], &huge).expect("write");
        // Another entry's content under this name.
        fs::write(&paths[4], &whole).expect("write");
        // A flipped bit in the code: the lengths are right, so only reading everything tells.
        let mut flipped = fs::read(&paths[5]).expect("read");
        let at = flipped.len() - 100;
        flipped[at] ^= 1;
        fs::write(&paths[5], &flipped).expect("write");
        let damaged: Vec<bool> = keys
            .iter()
            .map(|key| {
                let entries = cache.entries().expect("listed");
                entries
                    .iter()
                    .find(|entry| entry.key() == key.to_hex())
                    .expect("it is listed")
                    .is_damaged()
            })
            .collect();
        assert_eq!(damaged, [false, true, true, true, true, false]);
        assert_eq!(cache.remove_damaged().expect("removed"), 5);
        assert_eq!(cache.entries().expect("listed").len(), 1);
        assert!(cache.load(keys[0]).is_some());
    }

    #[test]
    fn trimming_keeps_what_was_used_last() {
        let (_dir, cache, keys) = filled(4);
        let size = cache.total_size().expect("summed") / 4;
        assert_eq!(cache.trim(4 * size).expect("trimmed"), 0);
        assert_eq!(cache.trim(2 * size + 1).expect("trimmed"), 2 * size);
        let left: Vec<bool> = keys.iter().map(|&key| cache.load(key).is_some()).collect();
        assert_eq!(left, [false, false, true, true]);
        // Empty entries are none, and go too.
        fs::write(cache.path_of(keys[2]), []).expect("write");
        assert_eq!(cache.clear().expect("cleared"), size);
        assert!(cache.entries().expect("listed").is_empty());
    }

    #[test]
    fn temporary_files_of_the_living_stay() {
        let (_dir, cache, keys) = filled(1);
        let shard = cache.path_of(keys[0]).with_file_name("");
        let (fresh, old) = (shard.join(".new-fresh"), shard.join(".new-old"));
        fs::write(&fresh, b"being written").expect("write");
        fs::write(&old, b"left over").expect("write");
        fs::File::options()
            .append(true)
            .open(&old)
            .and_then(|file| file.set_modified(SystemTime::now() - 2 * STALE))
            .expect("the time is set");
        assert_eq!(cache.entries().expect("listed").len(), 1);
        cache.clear().expect("cleared");
        assert!(fresh.exists() && !old.exists());
    }
}
