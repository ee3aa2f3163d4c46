//! Errors: what failed, in which call, on which object, and what to try.

mod hint;
mod kind;
pub(crate) mod text;

use std::borrow::Cow;
use std::fmt;

use cuprum_driver_sys::CUresult;

pub use kind::ErrorKind;
pub(crate) use kind::is_fault;

use crate::DriverProblem;

/// The result of operations of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed. One pointer wide.
///
/// ```
/// use cuprum_driver_core::{Device, ErrorKind};
///
/// let error = Device::by_name("soft:4096").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NoDevice);
/// assert!(error.to_string().contains("soft:4096"));
/// ```
pub struct Error(Box<Inner>);

/// A launch that was queued before a fault was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// The kernel's name.
    pub kernel: String,
    /// The label of the stream it was queued on.
    pub stream: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
}

pub(crate) struct Inner {
    kind: ErrorKind,
    call: Option<&'static str>,
    code: Option<CUresult>,
    /// What was wanted, in words, when no driver call is at fault.
    message: Cow<'static, str>,
    /// Facts of the object: `kernel `k`, grid 1x1x1`.
    facts: Vec<(&'static str, String)>,
    /// What the driver itself had to say.
    detail: Option<String>,
    hint: Option<Cow<'static, str>>,
    /// Whether the failure belongs to earlier work, and that work.
    asynchronous: bool,
    suspects: Vec<LaunchRecord>,
    problem: Option<DriverProblem>,
}

impl Error {
    /// An error of this crate's own checks, with its text.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            call: None,
            code: None,
            message: message.into(),
            facts: Vec::new(),
            detail: None,
            hint: None,
            asynchronous: false,
            suspects: Vec::new(),
            problem: None,
        }))
    }

    /// An error of a crate built on this one, an [`Allocator`](crate::Allocator) say: what kind it is, and a text with the numbers.
    #[cold]
    #[must_use]
    pub fn custom(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(kind, message)
    }

    /// A failing driver call.
    #[cold]
    pub(crate) fn of_call(call: &'static str, code: CUresult, software: bool) -> Self {
        let mut error = Self::new(ErrorKind::of_code(code), "");
        error.0.call = Some(call);
        error.0.code = Some(code);
        error.0.hint = hint::hint(call, code, software).map(Cow::Borrowed);
        error
    }

    /// An entry point that the driver lacks.
    #[cold]
    pub(crate) fn missing_call(call: &'static str, software: bool) -> Self {
        let message = if software {
            "the software device does not offer it"
        } else {
            "the driver has no such entry point"
        };
        let mut error = Self::new(ErrorKind::Unsupported, message);
        error.0.call = Some(call);
        error.0.hint = (!software).then_some(Cow::Borrowed("update the driver"));
        error
    }

    /// No usable driver.
    #[cold]
    pub(crate) fn of_problem(problem: DriverProblem) -> Self {
        let mut error = Self::new(ErrorKind::DriverUnavailable, problem.to_string());
        error.0.code = problem.code();
        error.0.call = problem.call();
        error.0.hint = problem.hint().map(Cow::Borrowed);
        error.0.problem = Some(problem);
        error
    }

    #[cold]
    pub(crate) fn fact(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.facts.push((name, value.to_string()));
        self
    }

    #[cold]
    pub(crate) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    #[cold]
    pub(crate) fn with_detail(mut self, detail: Option<String>) -> Self {
        if detail.is_some() {
            self.0.detail = detail;
        }
        self
    }

    /// Marks the failure as that of earlier work, with the launches that can be guilty.
    #[cold]
    pub(crate) fn of_earlier_work(mut self, suspects: Vec<LaunchRecord>) -> Self {
        self.0.asynchronous = true;
        self.0.suspects = suspects;
        self
    }

    /// The class of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The driver's result code, if a driver call failed.
    #[must_use]
    pub fn code(&self) -> Option<CUresult> {
        self.0.code
    }

    /// The driver call that failed, by the name of its exported symbol.
    #[must_use]
    pub fn call(&self) -> Option<&'static str> {
        self.0.call
    }

    /// Whether device code failed and took its context along.
    ///
    /// On the software device a new context works ([`Device::context`](crate::Device::context) makes one); on a GPU
    /// the process can use that GPU no more, as CUDA documents.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.0.kind == ErrorKind::Fault
    }

    /// Whether the failure belongs to work queued earlier, and not to the call that reported it.
    #[must_use]
    pub fn is_asynchronous(&self) -> bool {
        self.0.asynchronous
    }

    /// The launches that can have caused an asynchronous failure, oldest first on each stream. Bounded: only the
    /// last few of each stream are remembered.
    #[must_use]
    pub fn suspects(&self) -> &[LaunchRecord] {
        &self.0.suspects
    }

    /// What the driver said in its own words: a compiler's log, the software device's account of a fault.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Advice, for the common failures.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// What is wrong with the driver, for [`ErrorKind::DriverUnavailable`].
    #[must_use]
    pub fn driver_problem(&self) -> Option<&DriverProblem> {
        self.0.problem.as_ref()
    }
}

impl std::error::Error for Error {}

const _: () = assert!(
    size_of::<Error>() == size_of::<usize>() && size_of::<Result<()>>() == size_of::<usize>()
);
