//! Finding the headers of a source as NVRTC would: what a cached result depends on, and the way to a header in messages.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostics::Location;
use crate::files::{self, FileId};
use crate::headers;
use crate::scan;

/// A header file that a result depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) file: FileId,
    /// SHA-256 of its content.
    pub(crate) hash: String,
}

/// What the search for headers found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files, each once.
    pub(crate) headers: Vec<Header>,
    /// Places that were looked at in vain: a file that appears there would be taken first.
    pub(crate) absent: BTreeSet<PathBuf>,
    /// Names that nothing holds, in files that are not CUDA's own.
    pub(crate) unresolved: BTreeSet<String>,
    /// Whether a file that is not CUDA's own includes by a name built by macros.
    pub(crate) computed: bool,
    /// Virtual headers that a file of the user replaces.
    pub(crate) shadowed: BTreeSet<String>,
    /// For each header, by the name that messages show: where it was included first.
    included_from: HashMap<String, Location>,
}

impl Found {
    /// The includes that led to a file of a message, innermost first.
    pub(crate) fn chain(&self, file: &str) -> Vec<Location> {
        let mut chain: Vec<Location> = Vec::new();
        let mut file = file;
        while let Some(from) = self.included_from.get(file) {
            // A header that includes itself must not run on.
            if chain.contains(from) {
                break;
            }
            chain.push(from.clone());
            file = &from.file;
        }
        chain
    }
}

/// Where headers are looked for.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    /// The user's headers in memory.
    pub(crate) memory: &'a [(String, String)],
    /// Whether virtual headers are supplied.
    pub(crate) virtual_headers: bool,
    /// The user's include directories.
    pub(crate) dirs: &'a [PathBuf],
    /// CUDA's own, searched last.
    pub(crate) cuda_dirs: &'a [PathBuf],
}

/// A text still to be scanned.
struct Task {
    /// The name in messages.
    shown: String,
    text: String,
    /// The directory that includes with quotes search first; none for headers in memory.
    dir: Option<PathBuf>,
    /// Whether it is one of CUDA's own headers.
    cuda: bool,
}

/// Follows the includes of `source` and of `pre_includes`.
pub(crate) fn find(
    source: &str,
    file_name: &str,
    pre_includes: &[String],
    places: &Places<'_>,
) -> Found {
    let mut search = Search {
        places,
        found: Found::default(),
        seen: BTreeSet::new(),
        tasks: Vec::new(),
    };
    let dir = match Path::new(file_name).parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    search.tasks.push(Task {
        shown: file_name.to_owned(),
        text: source.to_owned(),
        dir: Some(dir),
        cuda: false,
    });
    for name in pre_includes {
        // NVRTC looks for it as if the source included it with quotes.
        let include = scan::Include {
            name: name.clone(),
            quoted: true,
            line: 1,
        };
        let task = Task {
            shown: file_name.to_owned(),
            text: String::new(),
            dir: Some(PathBuf::from(".")),
            cuda: false,
        };
        search.resolve(&include, &task);
    }
    while let Some(task) = search.tasks.pop() {
        let includes = scan::includes(&task.text);
        search.found.computed |= includes.computed && !task.cuda;
        for include in &includes.found {
            search.resolve(include, &task);
        }
    }
    search.found
}

struct Search<'a> {
    places: &'a Places<'a>,
    found: Found,
    /// Names in memory and absolute paths that were taken up already.
    seen: BTreeSet<PathBuf>,
    tasks: Vec<Task>,
}

impl Search<'_> {
    fn resolve(&mut self, include: &scan::Include, from: &Task) {
        let name = include.name.as_str();
        // NVRTC takes a header in memory before any file.
        if let Some((_, text)) = self.places.memory.iter().find(|(known, _)| known == name) {
            self.take_memory(include, from, text.clone());
            return;
        }
        let supplied = if self.places.virtual_headers || headers::is_own(name) {
            headers::text(name)
        } else {
            None
        };
        let mut candidates: Vec<(PathBuf, bool)> = Vec::new();
        if Path::new(name).is_absolute() {
            candidates.push((PathBuf::from(name), false));
        } else {
            if include.quoted
                && let Some(dir) = &from.dir
            {
                candidates.push((join(dir, name), from.cuda));
            }
            candidates.extend(
                self.places
                    .dirs
                    .iter()
                    .filter(|dir| supplied.is_none() || !is_system(dir))
                    .map(|dir| (join(dir, name), false)),
            );
            // A virtual header comes before CUDA's own of the same name, which expect a host compiler.
            if supplied.is_none() {
                candidates.extend(
                    self.places
                        .cuda_dirs
                        .iter()
                        .map(|dir| (join(dir, name), true)),
                );
            }
        }
        for (path, cuda) in candidates {
            let Ok(absolute) = std::path::absolute(&path) else {
                continue;
            };
            match std::fs::read(&absolute).and_then(|bytes| Ok((FileId::of(&absolute)?, bytes))) {
                Ok((file, bytes)) => {
                    // Within CUDA's headers the virtual one stays: a file beside the including one is not the user's choice.
                    if supplied.is_some() && !cuda {
                        self.found.shadowed.insert(name.to_owned());
                    } else if supplied.is_some() {
                        continue;
                    }
                    if self.seen.insert(absolute.clone()) {
                        let shown = path.to_string_lossy().into_owned();
                        self.remember(&shown, include, from);
                        self.found.headers.push(Header {
                            file,
                            hash: files::hash(&bytes),
                        });
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        self.tasks.push(Task {
                            shown,
                            text,
                            dir: path.parent().map(Path::to_owned),
                            cuda,
                        });
                    }
                    return;
                }
                Err(_) => {
                    self.found.absent.insert(absolute);
                }
            }
        }
        match supplied {
            Some(text) => self.take_memory(include, from, text.to_owned()),
            None if !from.cuda => {
                self.found.unresolved.insert(name.to_owned());
            }
            // CUDA's headers ask for many that exist only for a host compiler.
            None => {}
        }
    }

    fn take_memory(&mut self, include: &scan::Include, from: &Task, text: String) {
        if self.seen.insert(PathBuf::from(&include.name)) {
            self.remember(&include.name, include, from);
            self.tasks.push(Task {
                shown: include.name.clone(),
                text,
                dir: None,
                cuda: from.cuda,
            });
        }
    }

    fn remember(&mut self, shown: &str, include: &scan::Include, from: &Task) {
        let place = Location {
            file: from.shown.clone(),
            line: include.line,
            column: None,
        };
        self.found
            .included_from
            .entry(shown.to_owned())
            .or_insert(place);
    }
}

/// `dir/name`, spelled as NVRTC spells it in messages: nothing before the name for the current directory.
fn join(dir: &Path, name: &str) -> PathBuf {
    if dir == Path::new(".") {
        PathBuf::from(name)
    } else {
        dir.join(name)
    }
}

/// A directory of the host's C library, whose headers NVRTC cannot read: a virtual header beats it.
fn is_system(dir: &Path) -> bool {
    dir.starts_with("/usr/include")
        || dir.starts_with("/usr/local/include")
        || dir.starts_with("/usr/lib/gcc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) -> PathBuf {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("create");
        std::fs::write(&path, text).expect("write");
        path
    }

    #[test]
    fn headers_are_followed_and_missed_places_kept() {
        let root = tempfile::tempdir().expect("a directory");
        let first = root.path().join("first é 日");
        let second = root.path().join("second");
        std::fs::create_dir_all(&first).expect("create");
        let a = write(&second, "a.h", "#include \"sub/b.h\"\n#include <stdio.h>\n");
        let b = write(&second, "sub/b.h", "// x\n#include \"c.h\"\n");
        let c = write(&second, "sub/c.h", "#include <a.h>\n");
        let dirs = [first.clone(), second];
        let places = Places {
            memory: &[("m.h".into(), "#include <nowhere.h>\n".into())],
            virtual_headers: true,
            dirs: &dirs,
            cuda_dirs: &[],
        };
        let found = find("#include <a.h>\n#include \"m.h\"\n", "k.cu", &[], &places);
        let files: BTreeSet<&Path> = found
            .headers
            .iter()
            .map(|header| header.file.path.as_path())
            .collect();
        assert_eq!(
            files,
            BTreeSet::from([a.as_path(), b.as_path(), c.as_path()])
        );
        assert!(found.absent.contains(&first.join("a.h")));
        assert_eq!(found.unresolved, BTreeSet::from(["nowhere.h".to_owned()]));
        let chain: Vec<String> = found
            .chain(&c.to_string_lossy())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            chain,
            [
                format!("{}:2", b.display()),
                format!("{}:1", a.display()),
                "k.cu:1".to_owned()
            ]
        );
    }

    #[test]
    fn a_users_file_replaces_a_virtual_header_and_cudas_does_not() {
        let root = tempfile::tempdir().expect("a directory");
        let mine = root.path().join("mine");
        let cuda = root.path().join("cuda");
        write(&mine, "math.h", "");
        write(&cuda, "stdint.h", "");
        write(
            &cuda,
            "cuda_fp16.h",
            "#include <stdint.h>\n#include <host_only.h>\n",
        );
        let dirs = [mine];
        let cuda_dirs = [cuda.clone()];
        let places = Places {
            memory: &[],
            virtual_headers: true,
            dirs: &dirs,
            cuda_dirs: &cuda_dirs,
        };
        let found = find(
            "#include <math.h>\n#include <stdint.h>\n#include <cuda_fp16.h>\n",
            "k.cu",
            &[],
            &places,
        );
        assert_eq!(found.shadowed, BTreeSet::from(["math.h".to_owned()]));
        assert!(
            found
                .headers
                .iter()
                .all(|header| header.file.path != cuda.join("stdint.h"))
        );
        assert!(found.unresolved.is_empty());
    }
}
