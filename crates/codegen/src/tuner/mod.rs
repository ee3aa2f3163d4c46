//! Tuning: of many ways to write a kernel, the one that is fastest on the device at hand.
//!
//! PyCUDA's advice is not to guess but to generate and measure. A [`Tunable`] says how the source of a [`Candidate`] is made, how it is
//! launched, and what the right answer is; a [`Space`] says which candidates there are; a [`Tuner`] compiles, checks and measures them:
//!
//! ```
//! use cuprum_codegen::tuner::{Candidate, Scale, Space, Tunable, Tuner, Verdict};
//! use cuprum_codegen::{Result, Source, SourceModule};
//! use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig, Stream};
//!
//! /// `y = 2 x`, with blocks of `BLOCK` threads.
//! struct Twice;
//!
//! impl Tunable for Twice {
//!     type Data = (DeviceBuffer<f32>, DeviceBuffer<f32>);
//!
//!     fn source(&self, candidate: &Candidate) -> Result<Source> {
//!         Ok(candidate.define(Source::new(
//!             "__global__ void twice(const float *x, float *y, int n)
//!              { int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }",
//!         )))
//!     }
//!
//!     fn prepare(&self, stream: &Stream, scale: Scale) -> Result<Self::Data> {
//!         let n = if scale == Scale::Small { 1000 } else { 4000 };
//!         let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
//!         Ok((DeviceBuffer::from_slice(stream, &x)?, DeviceBuffer::zeros(stream, n)?))
//!     }
//!
//!     fn launch(&self, candidate: &Candidate, module: &SourceModule, stream: &Stream, (x, y): &mut Self::Data) -> Result<()> {
//!         let config = LaunchConfig::for_elements_in(x.len(), candidate.extent("BLOCK"));
//!         let n = x.len() as i32;
//!         // SAFETY: the kernel reads x and writes y below n, the length of both.
//!         unsafe { module.function("twice")?.launch(stream, config, (&*x, y, n)) }.map_err(Into::into)
//!     }
//!
//!     fn verify(&self, (x, y): &Self::Data) -> Result<Verdict> {
//!         let want: Vec<f32> = x.to_vec()?.iter().map(|x| 2.0 * x).collect();
//!         Ok(Verdict::compare(&y.to_vec()?, &want))
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! # let dir = tempfile::tempdir().expect("a directory");
//! let space = Space::new().axis("BLOCK", [32, 64, 128, 2048]);
//! let report = Tuner::new("twice", space).dir(dir.path()).run(&Device::by_name("soft:0")?, &Twice)?;
//! assert_eq!(report.measured().count(), 3);
//! let (candidate, rejection) = report.rejected().next().expect("a block of 2048 threads is none");
//! assert_eq!(candidate.number("BLOCK"), 2048);
//! println!("{report}");
//! let module = Twice.source(report.best().0)?; // to be built
//! # Ok(())
//! # }
//! ```
//!
//! # What is done with a candidate
//!
//! It is compiled; tried once on [small](Scale::Small) data and compared with the reference, on the software device if there is one,
//! where a wild access is found and harmless; tried once on the [full](Scale::Full) data on the device itself and compared; launched a
//! few times unmeasured; and measured by events, several launches a sample if one is too short. Candidates are compared by the
//! median. One that fails at any of this is left out and the report says [why](Rejection).
//!
//! # What is remembered
//!
//! Results are kept under the cache directory for each tuner, problem, device and driver, with all samples, by the source and the compiled
//! image of the candidate. Another run measures only what is new. A try that ends the process (or takes a GPU's context from it) is known
//! by a journal, and not tried again.

mod progress;
mod report;
mod run;
mod space;
mod store;
mod strategy;

use std::fmt;
use std::path::PathBuf;

pub use progress::Progress;
pub use report::{Measurement, Outcome, Reason, Rejection, TuningReport};
pub use space::{Candidate, Choice, Space};
pub use strategy::Strategy;

use cuprum_driver_core::{Device, Stream};

use crate::error::Result;
use crate::module::SourceModule;
use crate::source::Source;

/// Which data a candidate is tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Little data, for a first check. It should have the irregularities of the full data: lengths that are no multiple of a block.
    Small,
    /// The data to measure with.
    Full,
}

/// Whether results are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They are what the reference says.
    Right,
    /// They are not; the text says where.
    Wrong(String),
}

impl Verdict {
    /// Compares for equality, and names the first element that differs.
    pub fn compare<T: PartialEq + fmt::Debug>(got: &[T], want: &[T]) -> Self {
        Self::compare_by(got, want, T::eq)
    }

    /// Compares element by element, by `same`, and names the first that differs.
    pub fn compare_by<T: fmt::Debug>(got: &[T], want: &[T], same: impl Fn(&T, &T) -> bool) -> Self {
        if got.len() != want.len() {
            return Self::Wrong(format!("{} elements, want {}", got.len(), want.len()));
        }
        match got
            .iter()
            .zip(want)
            .position(|(got, want)| !same(got, want))
        {
            Some(at) => Self::Wrong(format!(
                "element {at} is {:?}, want {:?}",
                got[at], want[at]
            )),
            None => Self::Right,
        }
    }
}

/// Something that a [`Tuner`] can tune.
pub trait Tunable {
    /// What a launch works on: buffers on one device.
    type Data;

    /// The source of a candidate.
    ///
    /// # Errors
    /// Why there is none: the candidate is left out.
    fn source(&self, candidate: &Candidate) -> Result<Source>;

    /// Fresh data. Called for each try, so that no candidate finds the results of another.
    ///
    /// # Errors
    /// What the driver returns. Tuning ends with it.
    fn prepare(&self, stream: &Stream, scale: Scale) -> Result<Self::Data>;

    /// Launches a candidate once, and does not wait. For measuring it is called many times on the same data.
    ///
    /// # Errors
    /// What the launch returns: the candidate is left out.
    fn launch(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        stream: &Stream,
        data: &mut Self::Data,
    ) -> Result<()>;

    /// Compares the results of one launch on fresh data with a reference that has nothing to do with the kernel.
    ///
    /// # Errors
    /// What the driver returns, the fault of the launch for one: the candidate is left out.
    fn verify(&self, data: &Self::Data) -> Result<Verdict>;
}

/// What is called as tuning goes on.
type Callback<'a> = Box<dyn FnMut(&Progress<'_>) + 'a>;

/// Finds the fastest candidate of a [`Space`] on a device. See the [module](self).
#[must_use]
pub struct Tuner<'a> {
    name: String,
    problem: String,
    space: Space,
    strategy: Strategy,
    warm_up: u32,
    repeats: u32,
    check_small: bool,
    remember: bool,
    retry_killed: bool,
    dir: Option<PathBuf>,
    callback: Option<Callback<'a>>,
}

impl<'a> Tuner<'a> {
    /// A tuner that tries all candidates, with 2 launches to warm up and 9 samples each. The name stands for what is tuned, in
    /// messages and in what is remembered.
    pub fn new(name: impl Into<String>, space: Space) -> Self {
        Self {
            name: name.into(),
            problem: String::new(),
            space,
            strategy: Strategy::All,
            warm_up: 2,
            repeats: 9,
            check_small: true,
            remember: true,
            retry_killed: false,
            dir: None,
            callback: None,
        }
    }

    /// What the full data is, `4096 x 4096 f32`: results of one problem are not taken for another's.
    pub fn problem(mut self, problem: impl Into<String>) -> Self {
        self.problem = problem.into();
        self
    }

    /// Which candidates are tried, and how often.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Launches before the first sample of a candidate.
    pub fn warm_up(mut self, launches: u32) -> Self {
        self.warm_up = launches;
        self
    }

    /// Samples of a candidate, at least 1; for [`Strategy::SuccessiveHalving`] in the first round.
    pub fn repeats(mut self, samples: u32) -> Self {
        self.repeats = samples.max(1);
        self
    }

    /// Whether candidates are tried on small data first. On by default.
    pub fn check_small(mut self, on: bool) -> Self {
        self.check_small = on;
        self
    }

    /// Whether results are kept and found again. On by default; off with `CUPRUM_CACHE=0` and where there is no directory for it.
    pub fn remember(mut self, on: bool) -> Self {
        self.remember = on;
        self
    }

    /// Tries candidates again that ended a process before. That they did so is known from a journal, which cannot tell a crash
    /// from a process that was stopped by hand.
    pub fn retry_killed(mut self, on: bool) -> Self {
        self.retry_killed = on;
        self
    }

    /// Another directory for what is remembered than the cache's.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Calls `callback` as tuning goes on. A bar is drawn on standard error besides, if that is a terminal and `CUPRUM_QUIET` is not set.
    pub fn on_progress(mut self, callback: impl FnMut(&Progress<'_>) + 'a) -> Self {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Tunes on a device.
    ///
    /// # Errors
    /// [`ErrorKind::Tuning`](crate::ErrorKind::Tuning) if the space is empty or no candidate works, with the reasons; what
    /// [`Tunable::prepare`] returns; the fault of a candidate that took a GPU's context from this process: it is remembered, and the
    /// next process skips it.
    pub fn run<T: Tunable>(self, device: &Device, tunable: &T) -> Result<TuningReport> {
        run::run(self, device, tunable)
    }
}

impl fmt::Debug for Tuner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner")
            .field("name", &self.name)
            .field("problem", &self.problem)
            .field("space", &self.space)
            .field("strategy", &self.strategy)
            .finish_non_exhaustive()
    }
}
