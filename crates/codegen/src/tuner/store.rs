//! What is remembered of tuning: results, and what was being tried when a process died.
//!
//! For each tuner, problem, device and driver there are three files in `tuning/` under the cache directory: the results as JSON, written
//! beside their place and renamed; a journal, to which a line is written and synchronised before each try and after it; and a
//! lock, held while a process tunes, because two that measure on one device at the same time disturb each other. A try that the
//! journal begins and does not end took its process with it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::report::{Measurement, Rejection};
use crate::error::{Error, Result};
use crate::files;

/// Changes whenever the meaning of the files does.
const FORMAT: u32 = 1;

/// What results hold for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scope {
    pub(super) tuner: String,
    pub(super) problem: String,
    pub(super) device: String,
    pub(super) driver: String,
}

/// What was found of one candidate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) candidate: String,
    /// The key of the source with its options for the device.
    pub(super) source: String,
    /// The compiler; empty if nothing came of compiling.
    #[serde(default)]
    pub(super) compiler: String,
    /// SHA-256 of the image; empty if nothing came of compiling.
    #[serde(default)]
    pub(super) image: String,
    #[serde(default)]
    pub(super) measurement: Option<Measurement>,
    #[serde(default)]
    pub(super) rejection: Option<Rejection>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    format: u32,
    scope: Scope,
    records: Vec<Record>,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Line {
    /// This is tried from now on.
    Begin {
        candidate: String,
        source: String,
        doing: String,
    },
    /// The last try has ended, well or not.
    End,
}

/// The files of one scope, held by this process alone.
#[derive(Debug)]
pub(super) struct Store {
    scope: Scope,
    path: PathBuf,
    records: Vec<Record>,
    journal: File,
    /// Released when it is closed, also by the death of the process.
    _lock: File,
}

impl Store {
    /// Opens the files in `dir`, waiting for another process that has them. Results that cannot be read count as none.
    pub(super) fn open(dir: &Path, scope: Scope) -> Result<Self> {
        let dir = dir.join("tuning");
        let io = |doing: &'static str, path: &Path| {
            let path = path.to_owned();
            move |error| Error::io(doing, &path, error)
        };
        fs::create_dir_all(&dir).map_err(io("create", &dir))?;
        let text = serde_json::to_string(&scope).expect("texts are JSON");
        let stem: String = scope
            .tuner
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(40)
            .collect();
        let base = format!("{stem}-{}", &files::hash(text.as_bytes())[..16]);
        let path = dir.join(format!("{base}.json"));

        let lock_path = dir.join(format!("{base}.lock"));
        let open = |path: &Path| {
            File::options()
                .read(true)
                .append(true)
                .create(true)
                .open(path)
                .map_err(io("open", path))
        };
        let lock = open(&lock_path)?;
        lock.lock().map_err(io("lock", &lock_path))?;

        let journal_path = dir.join(format!("{base}.journal"));
        let records = fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Contents>(&bytes).ok())
            .filter(|contents| contents.format == FORMAT && contents.scope == scope)
            .map(|contents| contents.records)
            .unwrap_or_default();
        let unfinished = unfinished(&fs::read_to_string(&journal_path).unwrap_or_default());
        let mut store = Self {
            scope,
            path,
            records,
            journal: open(&journal_path)?,
            _lock: lock,
        };
        if let Some((candidate, source, doing)) = unfinished {
            store.put(Record {
                candidate,
                source,
                compiler: String::new(),
                image: String::new(),
                measurement: None,
                rejection: Some(Rejection::killed(&doing)),
            })?;
        }
        store
            .journal
            .set_len(0)
            .map_err(io("empty", &journal_path))?;
        Ok(store)
    }

    /// What is known of a source that killed a process.
    pub(super) fn killed(&self, source: &str) -> Option<&Rejection> {
        self.records
            .iter()
            .find(|record| record.source == source)
            .and_then(|record| record.rejection.as_ref())
            .filter(|rejection| rejection.is_killed())
    }

    /// What is known of a source whose image is the same as then.
    pub(super) fn known(&self, source: &str, compiler: &str, image: &str) -> Option<&Record> {
        self.records.iter().find(|record| {
            record.source == source && record.compiler == compiler && record.image == image
        })
    }

    /// Remembers a result instead of what was known of the source.
    pub(super) fn put(&mut self, record: Record) -> Result<()> {
        self.records.retain(|known| known.source != record.source);
        self.records.push(record);
        self.save()
    }

    /// Forgets the tries that killed a process.
    pub(super) fn forget_killed(&mut self) -> Result<()> {
        self.records
            .retain(|record| !record.rejection.as_ref().is_some_and(Rejection::is_killed));
        self.save()
    }

    fn save(&self) -> Result<()> {
        let contents = serde_json::json!({
            "format": FORMAT,
            "scope": self.scope,
            "records": self.records,
        });
        let bytes = serde_json::to_vec_pretty(&contents).expect("numbers and texts are JSON");
        let dir = self.path.parent().expect("the file is in a directory");
        tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(dir)
            .and_then(|mut file| {
                file.write_all(&bytes)?;
                file.persist(&self.path).map_err(|error| error.error)?;
                Ok(())
            })
            .map_err(|error| Error::io("write", &self.path, error))
    }

    /// Writes down what is tried from now on, so that it is known even if the process ends at it.
    pub(super) fn begin(&mut self, candidate: &str, source: &str, doing: &str) -> Result<()> {
        self.write(&Line::Begin {
            candidate: candidate.to_owned(),
            source: source.to_owned(),
            doing: doing.to_owned(),
        })
    }

    /// Writes down that the try has ended.
    pub(super) fn end(&mut self) -> Result<()> {
        self.write(&Line::End)
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line).expect("texts are JSON");
        text.push('\n');
        self.journal
            .write_all(text.as_bytes())
            .and_then(|()| self.journal.sync_data())
            .map_err(|error| Error::io("write the journal of", &self.path, error))
    }
}

/// The try that a journal begins and does not end. A last line that is cut short was not written before the try began.
fn unfinished(journal: &str) -> Option<(String, String, String)> {
    let mut open = None;
    for line in journal.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Begin {
                candidate,
                source,
                doing,
            }) => open = Some((candidate, source, doing)),
            Ok(Line::End) => open = None,
            Err(_) => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn scope(device: &str) -> Scope {
        Scope {
            tuner: "a tuner".into(),
            problem: "n = 4".into(),
            device: device.into(),
            driver: "13.0".into(),
        }
    }

    fn record(source: &str) -> Record {
        Record {
            candidate: "N=1".into(),
            source: source.into(),
            compiler: "NVRTC 13.5".into(),
            image: "abc".into(),
            measurement: Some(Measurement::new(
                3,
                vec![Duration::from_micros(5), Duration::from_micros(7)],
            )),
            rejection: None,
        }
    }

    #[test]
    fn results_are_found_again_for_the_same_device_compiler_and_image() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path(), scope("a")).expect("opens");
        store.put(record("s")).expect("written");
        drop(store);
        let store = Store::open(dir.path(), scope("a")).expect("opens");
        let known = store.known("s", "NVRTC 13.5", "abc").expect("known");
        assert_eq!(
            known.measurement,
            record("s").measurement,
            "with every sample"
        );
        assert!(store.known("s", "NVRTC 12.9", "abc").is_none());
        assert!(store.known("s", "NVRTC 13.5", "abd").is_none());
        assert!(store.known("t", "NVRTC 13.5", "abc").is_none());
        drop(store);
        let store = Store::open(dir.path(), scope("b")).expect("opens");
        assert!(store.known("s", "NVRTC 13.5", "abc").is_none());
    }

    #[test]
    fn a_try_without_an_end_killed_its_process() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path(), scope("a")).expect("opens");
        store.begin("N=1", "one", "running").expect("written");
        store.end().expect("written");
        store.begin("N=2", "two", "compiling").expect("written");
        // The process ends here; the next one finds it.
        drop(store);
        let mut store = Store::open(dir.path(), scope("a")).expect("opens");
        assert!(store.killed("one").is_none());
        let killed = store.killed("two").expect("known");
        assert!(killed.to_string().contains("compiling"), "{killed}");
        drop(store);
        store = Store::open(dir.path(), scope("a")).expect("opens");
        assert!(store.killed("two").is_some(), "known for good");
        store.forget_killed().expect("written");
        assert!(store.killed("two").is_none());
    }

    #[test]
    fn damaged_files_count_as_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path(), scope("a")).expect("opens");
        store.put(record("s")).expect("written");
        store.begin("N=2", "two", "compiling").expect("written");
        let path = store.path.clone();
        drop(store);
        let whole = fs::read(&path).expect("read");
        fs::write(&path, &whole[..whole.len() / 2]).expect("written");
        let journal = path.with_extension("journal");
        let mut text = fs::read_to_string(&journal).expect("read");
        text.push_str("{\"Begin\":{\"candidate\":\"N=3");
        fs::write(&journal, text).expect("written");
        let mut store = Store::open(dir.path(), scope("a")).expect("opens");
        assert!(store.known("s", "NVRTC 13.5", "abc").is_none());
        assert!(store.killed("two").is_some());
        store.put(record("s")).expect("written");
        assert!(store.known("s", "NVRTC 13.5", "abc").is_some());
    }
}
