//! The sources of `tests/corpus/`, and what their heads say of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuprum::codegen::nvrtc::{Headers, Wheel, header_dirs};

/// How a source is compiled: the name of the form and the options that make it.
pub const FORMS: [(&str, &[&str]); 3] = [
    ("plain", &[]),
    ("lineinfo", &["-lineinfo"]),
    ("debug", &["-G"]),
];

/// One source and what its head says of it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its file name without the ending.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Options of the compiler.
    pub options: Vec<String>,
    /// Groups of headers that it includes: `cuda`, `cudart`, `cccl`, `curand`.
    pub headers: Vec<String>,
    /// The least compute capability, times ten; 0 for any.
    pub least: u32,
    /// `core`, `rare` or `out`.
    pub scope: String,
    /// Whether it compiles.
    pub compiles: bool,
}

impl Source {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).expect("a source of the corpus is text");
        let head: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("//@"))
            .flat_map(str::split_whitespace)
            .filter_map(|word| word.split_once('='))
            .collect();
        let list = |key: &str| -> Vec<String> {
            head.get(key)
                .into_iter()
                .flat_map(|value| value.split(','))
                .map(str::to_owned)
                .collect()
        };
        Self {
            name: path
                .file_stem()
                .expect("a source has a name")
                .to_string_lossy()
                .into_owned(),
            options: list("opts"),
            headers: list("inc"),
            least: head
                .get("minarch")
                .map_or(0, |value| value.parse().expect("minarch is a number")),
            scope: (*head.get("scope").unwrap_or(&"core")).to_owned(),
            compiles: head.get("expect") != Some(&"fail"),
            path,
        }
    }

    /// The folders with the headers that it includes and the compiler does not carry.
    ///
    /// # Errors
    /// If they are not there and cannot be fetched.
    pub fn header_dirs(&self, wheel: Wheel) -> cuprum::codegen::Result<Vec<PathBuf>> {
        let groups: Vec<Headers> = self
            .headers
            .iter()
            .map(|group| match group.as_str() {
                "cccl" => Headers::Cccl,
                "cudart" => Headers::Runtime,
                "curand" => Headers::Curand,
                _ => Headers::Cuda,
            })
            .collect();
        header_dirs(wheel, &groups)
    }

    /// Whether this compiler fails on this form of it, by a fault of its own: NVRTC 13.5 fails on 128-bit division below
    /// `compute_100` in debug form.
    #[must_use]
    pub fn compiler_fault(&self, wheel: Wheel, architecture: u32, form: &str) -> bool {
        wheel == Wheel::Cuda13_5
            && form == "debug"
            && architecture < 100
            && self.name == "int_intrin"
    }
}

/// All sources in `folder`, by name.
///
/// # Panics
/// If the folder cannot be read or a head makes no sense.
#[must_use]
pub fn sources_in(folder: &std::path::Path) -> Vec<Source> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("the corpus can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    paths.sort();
    paths.into_iter().map(Source::read).collect()
}

/// All sources of the repository.
///
/// # Panics
/// As [`sources_in`].
#[must_use]
pub fn sources() -> Vec<Source> {
    sources_in(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus").as_ref())
}
