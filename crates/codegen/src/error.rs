//! The error of this crate.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

use crate::diagnostics::{Diagnostic, Severity};

/// What kind of failure an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source does not compile. [`Error::compile_failure`] has the messages.
    Compile,
    /// An option that the compiler does not know, or that Cuprum sets itself.
    Option,
    /// The source, a name or a path cannot be handed to the compiler (a zero byte, a name that is no text).
    Source,
    /// No NVRTC was found, or none that can serve this target; the text says how to get one.
    NoCompiler,
    /// An NVRTC was named or found but cannot be used.
    BrokenCompiler,
    /// Bringing an NVRTC failed (no network, no pip, a wrong hash).
    Fetch,
    /// NVRTC itself failed: out of memory or an internal error.
    Compiler,
    /// The module has no such function.
    NotFound,
    /// The declaration of a typed kernel and the kernel of the module have different parameters.
    Mismatch,
    /// A requirement of a typed kernel is not met by the arguments of a launch.
    Requirement,
    /// A template could not be parsed or rendered.
    Template,
    /// A tuner has no candidate, or none that works.
    Tuning,
    /// The file system refused something that could not be done without.
    Io,
    /// The driver refused something; [`Error::driver`] has its error.
    Driver,
    /// Something this version of Cuprum cannot do.
    Unsupported,
}

/// An error of run-time compilation: one pointer wide.
pub struct Error(Box<Inner>);

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

struct Inner {
    kind: ErrorKind,
    message: String,
    compile: Option<CompileFailure>,
    driver: Option<cuprum_driver_core::Error>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// All there is to know about a source that did not compile.
#[derive(Debug, Clone)]
pub struct CompileFailure {
    /// The file name given to the compiler.
    pub file_name: String,
    /// The source, as the user wrote it.
    pub source: String,
    /// The options given to the compiler, Cuprum's own included.
    pub options: Vec<String>,
    /// The compiler, `NVRTC 13.5`.
    pub compiler: String,
    /// The messages, in the compiler's order.
    pub diagnostics: Vec<Diagnostic>,
    /// The log as the compiler wrote it.
    pub log: String,
    /// Advice for common causes.
    pub hints: Vec<String>,
}

/// As many messages as the text of an error shows; [`CompileFailure::diagnostics`] has all.
const SHOWN: usize = 12;

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = || {
            self.diagnostics
                .iter()
                .filter(|one| one.severity == Severity::Error)
        };
        let count = errors().count();
        match count {
            0 => write!(f, "{} could not compile {}", self.compiler, self.file_name)?,
            1 => write!(
                f,
                "{} could not compile {}: 1 error",
                self.compiler, self.file_name
            )?,
            _ => write!(
                f,
                "{} could not compile {}: {count} errors",
                self.compiler, self.file_name
            )?,
        }
        for one in errors().take(SHOWN) {
            write!(f, "\n{one}")?;
        }
        if count > SHOWN {
            write!(f, "\n... and {} more", count - SHOWN)?;
        }
        if count == 0 {
            for line in self.log.lines().filter(|line| !line.trim().is_empty()) {
                write!(f, "\n{line}")?;
            }
        }
        for hint in &self.hints {
            write!(f, "\nhint: {hint}")?;
        }
        write!(f, "\noptions: {}", self.options.join(" "))
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            compile: None,
            driver: None,
            source: None,
        }))
    }

    pub(crate) fn io(doing: &str, path: &Path, source: std::io::Error) -> Self {
        let message = format!("cannot {doing} {}: {source}", path.display());
        Self(Box::new(Inner {
            kind: ErrorKind::Io,
            message,
            compile: None,
            driver: None,
            source: Some(Box::new(source)),
        }))
    }

    pub(crate) fn compile(failure: CompileFailure) -> Self {
        Self(Box::new(Inner {
            kind: ErrorKind::Compile,
            message: failure.to_string(),
            compile: Some(failure),
            driver: None,
            source: None,
        }))
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The messages, source, options and log, if the source did not compile.
    #[must_use]
    pub fn compile_failure(&self) -> Option<&CompileFailure> {
        self.0.compile.as_ref()
    }

    /// The driver's error, if the driver refused.
    #[must_use]
    pub fn driver(&self) -> Option<&cuprum_driver_core::Error> {
        self.0.driver.as_ref()
    }
}

impl From<cuprum_driver_core::Error> for Error {
    fn from(error: cuprum_driver_core::Error) -> Self {
        Self(Box::new(Inner {
            kind: ErrorKind::Driver,
            message: error.to_string(),
            compile: None,
            driver: Some(error),
            source: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// The same text as `Display`, so that `unwrap` and `main` returning an error show source lines and carets and not one long string.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        // The driver's error is shown in full by our own text: its cause, not itself, is ours.
        match (&self.0.driver, &self.0.source) {
            (Some(driver), _) => driver.source(),
            (None, Some(source)) => Some(&**source),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pointer_wide_and_shareable() {
        const fn is_shareable<T: Send + Sync>() {}
        const { is_shareable::<Error>() };
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn text_of_a_failed_compilation() {
        let log = "k.cu(2): error: identifier \"z\" is undefined\n  int y = z;\n          ^\n\nk.cu(1): warning #177-D: unused\n";
        let failure = CompileFailure {
            file_name: "k.cu".into(),
            source: "\nint y = z;\n".into(),
            options: vec!["--gpu-architecture=compute_80".into()],
            compiler: "NVRTC 13.5".into(),
            diagnostics: crate::diagnostics::parse(log),
            log: log.into(),
            hints: vec!["define z".into()],
        };
        insta::assert_snapshot!(Error::compile(failure), @r#"
        NVRTC 13.5 could not compile k.cu: 1 error
        error: identifier "z" is undefined
         --> k.cu:2:9
          |
        2 | int y = z;
          |         ^
        hint: define z
        options: --gpu-architecture=compute_80
        "#);
    }
}
