//! What a check is, and what it says.

use std::fmt;

use cuprum::prelude::{Context, Device, Stream};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

/// What a check works on: a device with its primary context and a stream of its own.
#[derive(Debug)]
pub struct Subject {
    /// The device.
    pub device: Device,
    /// Its primary context.
    pub context: Context,
    /// A stream that nothing else uses.
    pub stream: Stream,
}

impl Subject {
    /// Takes the device's primary context and makes a stream.
    ///
    /// # Errors
    /// What the driver answered when there is no context to be had.
    pub fn new(device: Device) -> cuprum::driver::Result<Self> {
        let context = device.context()?;
        let stream = context.new_stream()?;
        Ok(Self {
            device,
            context,
            stream,
        })
    }
}

/// What a runner must know of a check before it runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// It faults the device on purpose: a GPU is then lost to the process, and a software device's primary context to
    /// all that use it. It needs a process of its own.
    Faults,
    /// It measures or exhausts what others share (free memory, standard output), so nothing else may run in its
    /// process.
    Alone,
    /// It needs the software device.
    SoftwareOnly,
    /// It needs a GPU.
    GpuOnly,
}

/// Looks at what a check wrote to its standard output.
type Verify = fn(&str) -> Result<(), Failure>;

/// A check: a function over a device that compares what the device did with an independent reference.
#[derive(Clone, Copy)]
pub struct Check {
    /// A path-like name, unique among [`all`](crate::all).
    pub name: &'static str,
    /// What a runner must know.
    pub tags: &'static [Tag],
    /// Variables of the environment that its process must have from its start.
    pub variables: &'static [(&'static str, &'static str)],
    pub(crate) body: fn(&Subject) -> Result<Report, Failure>,
    pub(crate) output: Option<Verify>,
}

impl Check {
    /// Runs the check.
    ///
    /// # Errors
    /// What differed from the reference, or what the device answered instead of working.
    pub fn run(&self, subject: &Subject) -> Result<Report, Failure> {
        (self.body)(subject)
    }

    /// Whether the check wants a process of its own: see [`Tag::Faults`], [`Tag::Alone`] and
    /// [`variables`](Self::variables).
    #[must_use]
    pub fn needs_own_process(&self) -> bool {
        self.tags
            .iter()
            .any(|tag| matches!(tag, Tag::Faults | Tag::Alone))
            || !self.variables.is_empty()
    }

    /// Looks at what the check's process wrote to its standard output, where that is part of what it claims. For
    /// runners that can tell; the text may hold other lines too.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn verify_output(&self, text: &str) -> Result<(), Failure> {
        self.output.map_or(Ok(()), |verify| verify(text))
    }

    pub(crate) const fn new(
        name: &'static str,
        tags: &'static [Tag],
        body: fn(&Subject) -> Result<Report, Failure>,
    ) -> Self {
        Self {
            name,
            tags,
            variables: &[],
            body,
            output: None,
        }
    }

    pub(crate) const fn with_variables(
        self,
        variables: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { variables, ..self }
    }

    pub(crate) const fn with_output(self, output: Verify) -> Self {
        Self {
            output: Some(output),
            ..self
        }
    }

    /// Whether the check makes sense on `device`.
    #[must_use]
    pub fn applies_to(&self, device: &Device) -> bool {
        !self.tags.contains(if device.is_software() {
            &Tag::GpuOnly
        } else {
            &Tag::SoftwareOnly
        })
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("name", &self.name)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}

/// What a check that holds has looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// How many comparisons, or generated cases, held.
    pub cases: u64,
    /// The largest difference from the reference, in the unit that the check bounds; 0 where equality is asked.
    pub largest_error: f64,
}

impl Report {
    /// `cases` comparisons for equality.
    #[must_use]
    pub fn exact(cases: u64) -> Self {
        Self {
            cases,
            largest_error: 0.0,
        }
    }

    /// Both reports in one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cases: self.cases + other.cases,
            largest_error: self.largest_error.max(other.largest_error),
        }
    }
}

/// Why a check does not hold.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure in words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// A `Failure` is made from any error by `?`; that is why it is not an `Error` itself.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str("\n  caused by: ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}

/// Answers with a [`Failure`] unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::check::Failure::new(format!($($message)+)));
        }
    };
}

/// Answers with a [`Failure`] that shows both values unless they are equal.
macro_rules! ensure_eq {
    ($got:expr, $want:expr, $($message:tt)+) => {
        match (&$got, &$want) {
            (got, want) => ensure!(got == want, "{}: got {got:?}, want {want:?}", format!($($message)+)),
        }
    };
}

/// A [`Check`] named after its function and the function's module, with the tags given.
macro_rules! check {
    ($body:ident $(, $tag:ident)*) => {
        $crate::check::Check::new(
            // The name of this crate and its colons are not part of the check's.
            concat!(module_path!(), "::", stringify!($body)).split_at("cuprum_checks::".len()).1,
            &[$($crate::check::Tag::$tag),*],
            $body,
        )
    };
}

pub(crate) use {check, ensure, ensure_eq};

/// Cases of a property when `CUPRUM_CASES` does not say.
const CASES: u32 = 64;

/// Runs a property over generated inputs; a failing one is shrunk and shown.
///
/// The seed is fixed, so a run repeats; `CUPRUM_SEED` chooses another and `CUPRUM_CASES` the number of cases.
pub(crate) fn property<S>(
    strategy: S,
    mut test: impl FnMut(S::Value) -> Result<(), Failure>,
) -> Result<Report, Failure>
where
    S: Strategy,
    S::Value: fmt::Debug,
{
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let cases = number("CUPRUM_CASES")
        .and_then(|cases| u32::try_from(cases).ok())
        .unwrap_or(CASES);
    let config = Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(number("CUPRUM_SEED").unwrap_or(0x00c0_ffee)),
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let test = std::cell::RefCell::new(&mut test);
    runner
        .run(&strategy, |value| {
            (test.borrow_mut())(value).map_err(|failure| TestCaseError::fail(failure.to_string()))
        })
        .map_err(|error| match error {
            TestError::Fail(reason, value) => {
                Failure::new(format!("{reason}\n  for the input {value:?}"))
            }
            TestError::Abort(reason) => {
                Failure::new(format!("the property was given up: {reason}"))
            }
        })?;
    Ok(Report::exact(u64::from(cases)))
}
