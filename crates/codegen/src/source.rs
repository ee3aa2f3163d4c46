//! What is compiled: the source with its options.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::headers;
use crate::nvrtc::{Nvrtc, Request};
use crate::repr::{Declarations, DeviceRepr};

/// The header in memory that holds the declarations of Rust types.
const TYPES: &str = "cuprum/types.h";

/// A CUDA C++ source and how to compile it.
///
/// ```
/// use cuprum_codegen::Source;
///
/// let source = Source::new("template <class T> __global__ void fill(T *x, T v) { x[threadIdx.x] = v; }")
///     .file_name("fill.cu")
///     .option("--use_fast_math")
///     .define("N", "4")
///     .name_expression("fill<float>");
/// assert_eq!(source.name(), "fill.cu");
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Source {
    pub(crate) text: String,
    pub(crate) file_name: String,
    pub(crate) options: Vec<String>,
    pub(crate) include_dirs: Vec<PathBuf>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) name_expressions: Vec<String>,
    pub(crate) declarations: Declarations,
    pub(crate) extern_c: bool,
    pub(crate) virtual_headers: bool,
    pub(crate) cache: bool,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) compiler: Option<Nvrtc>,
    pub(crate) keep: Option<PathBuf>,
    pub(crate) precompiled_headers: bool,
    /// The template that the text was rendered from.
    pub(crate) template: Option<Arc<crate::template::Files>>,
}

impl Source {
    /// A source named `kernel.cu`, with no options but those that `CUPRUM_NVRTC_OPTIONS` gives to every source of the process (parted by
    /// white space; `-lineinfo` for one makes faults and profilers name lines).
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            file_name: "kernel.cu".into(),
            options: default_options().to_vec(),
            include_dirs: Vec::new(),
            headers: Vec::new(),
            name_expressions: Vec::new(),
            declarations: Declarations::new(),
            extern_c: false,
            virtual_headers: true,
            cache: true,
            cache_dir: None,
            compiler: None,
            keep: None,
            precompiled_headers: false,
            template: None,
        }
    }

    /// The file at `path`, whose directory is searched for headers included with quotes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if it cannot be read, [`ErrorKind::Source`] if it or its path is no UTF-8.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::new(ErrorKind::Source, format!("{} is no UTF-8", path.display()))
        })?;
        let name = path.to_str().ok_or_else(|| {
            Error::new(
                ErrorKind::Source,
                format!("the path {} is no UTF-8", path.display()),
            )
        })?;
        Ok(Self::new(text).file_name(name))
    }

    /// The name that messages, `__FILE__` and line tables show. The directory part, or the current directory if there is none, is
    /// where headers included with quotes are looked for.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = name.into();
        self
    }

    /// A compiler option as NVRTC takes it: `--use_fast_math`, `-lineinfo`, `--std=c++20`. The architecture is not an option: it
    /// follows from the device or the [`Target`](crate::Target).
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Several options.
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Defines a macro.
    pub fn define(self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let option = format!("--define-macro={}={}", name.as_ref(), value.as_ref());
        self.option(option)
    }

    /// A directory to look for headers in, after those given before.
    pub fn include_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.include_dirs.push(dir.into());
        self
    }

    /// A header in memory, found by exactly this name in `#include`. It comes before any file of the same name.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// A kernel to instantiate, or a variable to find, by its C++ name: `axpy<float>`, `my::kernel<3, int>`, `&my::table`. Its
    /// mangled name is then found through this text.
    pub fn name_expression(mut self, expression: impl Into<String>) -> Self {
        self.name_expressions.push(expression.into());
        self
    }

    /// Declares a Rust type before the source, under its C++ name, with the layout that it has in Rust. See [`DeviceRepr`].
    ///
    /// # Panics
    /// If another type was declared by the same name.
    pub fn declare<T: DeviceRepr>(mut self) -> Self {
        self.declarations.add::<T>();
        if self.declarations.is_empty() {
            return self;
        }
        let text = self.declarations.to_string();
        match self.headers.iter_mut().find(|(name, _)| name == TYPES) {
            Some((_, header)) => *header = text,
            None => {
                self.options.push(format!("--pre-include={TYPES}"));
                self.headers.push((TYPES.to_owned(), text));
            }
        }
        self
    }

    /// The declarations of Rust types as C++.
    #[must_use]
    pub fn declarations(&self) -> String {
        self.declarations.to_string()
    }

    /// Whether the source is put into `extern "C" { }`, so that kernels are found by their plain names. Off by default.
    ///
    /// With it, as in PyCUDA, the source cannot hold templates. The comments and preprocessor lines at its top, with the headers they
    /// include, stay outside, and no line number moves. Without it, plain names work too as long as they are not overloaded:
    /// [`SourceModule::function`](crate::SourceModule::function) knows the mangled names.
    pub fn extern_c(mut self, wrap: bool) -> Self {
        self.extern_c = wrap;
        self
    }

    /// Whether Cuprum supplies the standard headers that NVRTC lacks (`stdio.h`, `math.h`, `stdint.h`, ...) and the names `uint`,
    /// `ushort` and `ulong`. On by default. A header of yours of the same name, in memory or in an include directory, comes first.
    /// Cuprum's own, such as `cuprum/complex.h`, are there in any case.
    pub fn virtual_headers(mut self, supply: bool) -> Self {
        self.virtual_headers = supply;
        self
    }

    /// Whether the on-disk cache is used. On by default; `CUPRUM_CACHE=0` turns it off everywhere.
    pub fn cache(mut self, on: bool) -> Self {
        self.cache = on;
        self
    }

    /// Another directory for the cache of this source than `CUPRUM_CACHE_DIR` or the user's cache directory.
    pub fn cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(dir.into());
        self
    }

    /// Writes what is compiled into `dir`, in a directory named after the file and its key: the source as the compiler gets it, the headers
    /// given in memory, PTX and cubin, the options, and the compiler's messages, which are there also if it does not compile.
    pub fn keep(mut self, dir: impl Into<PathBuf>) -> Self {
        self.keep = Some(dir.into());
        self
    }

    /// Whether the compiler keeps what it has read of the headers at the source's start, for the next source of this process that starts with the
    /// same. Off by default; worth it where many sources include something slow: of sources with CUB the first takes longer, and the
    /// others a quarter of the time. The results are the same. The files are large (309 MB for CUB), lie under the cache directory, and go
    /// with the process. NVRTC before 12.8 cannot, and compiles as ever.
    pub fn precompiled_headers(mut self, on: bool) -> Self {
        self.precompiled_headers = on;
        self
    }

    /// Exactly this compiler, instead of the first that serves the target.
    pub fn compiler(mut self, nvrtc: Nvrtc) -> Self {
        self.compiler = Some(nvrtc);
        self
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.file_name
    }

    /// The text as the compiler gets it.
    pub(crate) fn wrapped(&self) -> Cow<'_, str> {
        if !self.extern_c {
            return Cow::Borrowed(&self.text);
        }
        let at = crate::scan::start_of_code(&self.text);
        let line = line_after(&self.text[..at]);
        // #line keeps the numbers; the name is left out of it, so that the file keeps its own.
        Cow::Owned(format!(
            "{}extern \"C\" {{\n#line {line}\n{}\n}}\n",
            &self.text[..at],
            &self.text[at..]
        ))
    }

    /// Refuses what cannot be compiled as meant.
    pub(crate) fn check(&self) -> Result<()> {
        for option in &self.options {
            let name = option.split(['=', ' ']).next().unwrap_or_default();
            if matches!(name, "-arch" | "--gpu-architecture") || option.starts_with("-arch=") {
                return Err(Error::new(
                    ErrorKind::Option,
                    format!(
                        "the option {option} is Cuprum's to set: it follows from the device, or from the target given to compile()"
                    ),
                ));
            }
            if option.trim().is_empty() {
                return Err(Error::new(ErrorKind::Option, "an option is empty"));
            }
        }
        Ok(())
    }

    /// The include directories in the order in which NVRTC searches them: those of the options come with the options, first.
    pub(crate) fn all_include_dirs(&self) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = option_values(&self.options, &["-I", "--include-path"])
            .map(PathBuf::from)
            .collect();
        dirs.extend(self.include_dirs.iter().cloned());
        dirs
    }

    /// The files included by option.
    pub(crate) fn pre_includes(&self) -> Vec<String> {
        option_values(&self.options, &["-include", "--pre-include"])
            .map(str::to_owned)
            .collect()
    }

    /// The key of the cache: everything that the user gave and that decides the result, and nothing that only a compiler could tell.
    ///
    /// Which compiler it will be is not known at a hit, where none is looked for. Therefore the key holds what decides the choice
    /// (the request, and the variables that name a compiler), and an entry tells the compiler's file, which must not have changed since.
    pub(crate) fn key(&self, request: Request) -> Key {
        let mut hasher = Sha256::new();
        let mut field = |name: &str, value: &[u8]| {
            // Lengths, so that no two lists of fields give the same bytes.
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name);
            hasher.update((value.len() as u64).to_le_bytes());
            hasher.update(value);
        };
        field("format", crate::cache::FORMAT.as_bytes());
        field("request", format!("{request}").as_bytes());
        field("source", self.text.as_bytes());
        field("file", self.file_name.as_bytes());
        for option in &self.options {
            field("option", option.as_bytes());
        }
        for dir in &self.include_dirs {
            // Relative directories mean another place in another directory.
            let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
            field("include", dir.as_os_str().as_encoded_bytes());
        }
        for (name, text) in &self.headers {
            field("header name", name.as_bytes());
            field("header text", text.as_bytes());
        }
        for expression in &self.name_expressions {
            field("name", expression.as_bytes());
        }
        field("extern", &[u8::from(self.extern_c)]);
        field("virtual", &[u8::from(self.virtual_headers)]);
        field(
            "supplied",
            &headers::digest(self.virtual_headers).to_le_bytes(),
        );
        if self.depends_on_directory()
            && let Ok(dir) = std::env::current_dir()
        {
            field("directory", dir.as_os_str().as_encoded_bytes());
        }
        match self.compiler {
            Some(nvrtc) => field("compiler", format!("{:?}", nvrtc.file()).as_bytes()),
            None => {
                for name in ["CUPRUM_NVRTC", "CUDA_HOME", "CUDA_PATH"] {
                    if let Some(value) = std::env::var_os(name) {
                        field(name, value.as_encoded_bytes());
                    }
                }
            }
        }
        Key(hasher.finalize().into())
    }

    /// Whether a relative place is searched: by an include with quotes, or by an option.
    fn depends_on_directory(&self) -> bool {
        let quoted = |text: &str| {
            crate::scan::includes(text)
                .found
                .iter()
                .any(|include| include.quoted)
        };
        self.all_include_dirs().len() != self.include_dirs.len()
            || !self.pre_includes().is_empty()
            || quoted(&self.text)
            || self.headers.iter().any(|(_, text)| quoted(text))
    }
}

/// The options of every source, read once.
fn default_options() -> &'static [String] {
    static OPTIONS: OnceLock<Vec<String>> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        std::env::var("CUPRUM_NVRTC_OPTIONS")
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default()
    })
}

/// The number of the line after a text, as the compiler counts it: `#line` directives count.
fn line_after(text: &str) -> usize {
    text.lines().fold(1, |number, line| {
        line.trim_start()
            .strip_prefix('#')
            .and_then(|rest| rest.trim_start().strip_prefix("line"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
            .unwrap_or(number + 1)
    })
}

/// A key of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    pub(crate) fn to_hex(self) -> String {
        crate::files::to_hex(&self.0)
    }
}

/// The values of an option that may be spelled `-Xvalue`, `-X value`, `-X=value`, `--long=value`, or with the value in the next string.
fn option_values<'a>(
    options: &'a [String],
    names: &'a [&'a str; 2],
) -> impl Iterator<Item = &'a str> {
    let mut options = options.iter();
    std::iter::from_fn(move || {
        loop {
            let option = options.next()?;
            for (index, name) in names.iter().enumerate() {
                let Some(rest) = option.strip_prefix(name) else {
                    continue;
                };
                // "-include" begins with "-I" only in another case, but "-Ifoo" and "-includefoo" differ in whether a value may follow directly.
                let direct = index == 0 && *name == "-I";
                if rest.is_empty() {
                    return options.next().map(|value| value.trim());
                }
                if let Some(value) = rest.strip_prefix(['=', ' ']) {
                    return Some(value.trim());
                }
                if direct {
                    return Some(rest);
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Target;

    const REQUEST: Request = Request {
        target: Target::Ptx(80),
        driver: None,
    };

    #[test]
    fn option_spellings() {
        let options: Vec<String> = [
            "-Ia",
            "-I",
            "b c",
            "-I=d",
            "-I e",
            "--include-path=f",
            "--include-path",
            "g",
            "-include",
            "p.h",
            "--pre-include=q.h",
            "-DX=1",
        ]
        .map(String::from)
        .into();
        let source = Source::new("").options(options).include_dir("last");
        let dirs: Vec<String> = source
            .all_include_dirs()
            .iter()
            .map(|dir| dir.display().to_string())
            .collect();
        assert_eq!(dirs, ["a", "b c", "d", "e", "f", "g", "last"]);
        assert_eq!(source.pre_includes(), ["p.h", "q.h"]);
    }

    #[test]
    fn the_architecture_is_not_an_option() {
        for option in ["-arch=sm_80", "--gpu-architecture=compute_80", "-arch", " "] {
            let error = Source::new("").option(option).check().expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Option);
        }
        assert!(Source::new("").option("-lineinfo").check().is_ok());
    }

    #[test]
    fn everything_that_decides_the_result_is_in_the_key() {
        let base = || Source::new("__global__ void k() {}");
        let variants = [
            base(),
            Source::new("__global__ void q() {}"),
            base().file_name("other.cu"),
            base().option("-lineinfo"),
            base().option("-G"),
            base().define("A", "1"),
            base().include_dir("a"),
            base().header("a", "b"),
            base().header("ab", ""),
            base().name_expression("k"),
            base().extern_c(true),
            base().virtual_headers(false),
        ];
        let mut keys: Vec<String> = variants
            .iter()
            .map(|source| source.key(REQUEST).to_hex())
            .collect();
        for target in [Target::Ptx(90), Target::Cubin(80)] {
            keys.push(
                base()
                    .key(Request {
                        target,
                        driver: None,
                    })
                    .to_hex(),
            );
        }
        keys.push(
            base()
                .key(Request {
                    target: Target::Cubin(80),
                    driver: Some((13, 0)),
                })
                .to_hex(),
        );
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert_eq!(
            base().key(REQUEST),
            base().cache(true).key(REQUEST),
            "the same source has the same key"
        );
    }

    #[test]
    fn wrapping_follows_line_directives() {
        let source = Source::new("// first\n#line 7\n\n__global__ void k() {}\n").extern_c(true);
        let wrapped = source.wrapped();
        assert!(
            wrapped.contains("#line 8\n__global__ void k() {}"),
            "{wrapped}"
        );
    }

    #[test]
    fn wrapping_keeps_lines_and_leaves_includes_outside() {
        let source = Source::new("// first\n#include <cuda_fp16.h>\n\n__global__ void k() {}\n")
            .extern_c(true);
        assert_eq!(
            source.wrapped(),
            "// first\n#include <cuda_fp16.h>\n\nextern \"C\" {\n#line 4\n__global__ void k() {}\n\n}\n"
        );
    }
}
