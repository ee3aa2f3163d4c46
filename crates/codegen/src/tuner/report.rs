//! What tuning found.

use std::fmt;
use std::time::Duration;

use cuprum_driver_core::sys::CUresult;
use serde::{Deserialize, Serialize};

use super::space::Candidate;
use crate::error::{Error, ErrorKind};

/// How long a candidate takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Launches between the two events of a sample.
    launches: u32,
    /// Seconds of one launch, by sample, as measured.
    seconds: Vec<f64>,
}

impl Measurement {
    pub(super) fn new(launches: u32, samples: Vec<Duration>) -> Self {
        Self {
            launches,
            seconds: samples
                .into_iter()
                .map(|sample| sample.as_secs_f64())
                .collect(),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.launches = other.launches;
        self.seconds.extend(other.seconds);
    }

    /// How many launches one sample was made of.
    #[must_use]
    pub fn launches_per_sample(&self) -> u32 {
        self.launches
    }

    /// The time of one launch in each sample, in the order of measuring.
    #[must_use]
    pub fn samples(&self) -> Vec<Duration> {
        self.seconds
            .iter()
            .map(|&seconds| Duration::from_secs_f64(seconds))
            .collect()
    }

    /// The median of the samples: the time that candidates are compared by.
    #[must_use]
    pub fn median(&self) -> Duration {
        Duration::from_secs_f64(quantile(&self.seconds, 0.5))
    }

    /// The distance between the first and the third quartile.
    #[must_use]
    pub fn spread(&self) -> Duration {
        Duration::from_secs_f64(
            (quantile(&self.seconds, 0.75) - quantile(&self.seconds, 0.25)).max(0.0),
        )
    }
}

/// A quantile, between the samples where none is at it; 0 of none.
fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let at = q * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * at.fract()
}

/// Why a candidate was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    reason: Reason,
    text: String,
}

/// The class of a [`Rejection`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reason {
    /// Its source could not be made or does not compile.
    Compile,
    /// It needs more registers, threads or shared memory than there are.
    Resources,
    /// Its results differ from the reference.
    WrongAnswer,
    /// It accessed memory that is not there, or ended in another fault.
    Fault,
    /// The process that tried it ended at it.
    KilledTheProcess,
    /// Anything else.
    Failed,
}

impl Rejection {
    pub(super) fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self {
            reason,
            text: text.into(),
        }
    }

    pub(super) fn killed(doing: &str) -> Self {
        Self::new(
            Reason::KilledTheProcess,
            format!("a process ended while {doing} it; Tuner::retry_killed tries it again"),
        )
    }

    /// What an error means for the candidate that caused it.
    pub(super) fn of(error: &Error) -> Self {
        use cuprum_driver_core::ErrorKind as Driver;
        let text = error.to_string();
        let reason = match error.kind() {
            ErrorKind::Compile if wants_too_much(&text) => Reason::Resources,
            ErrorKind::Compile | ErrorKind::Template | ErrorKind::Source | ErrorKind::Option => {
                Reason::Compile
            }
            ErrorKind::Driver => match error.driver() {
                Some(driver) if driver.is_fatal() => Reason::Fault,
                Some(driver) => match driver.kind() {
                    Driver::Fault => Reason::Fault,
                    Driver::LaunchConfig | Driver::OutOfMemory => Reason::Resources,
                    Driver::InvalidImage if wants_too_much(&text) => Reason::Resources,
                    _ if driver
                        .code()
                        .is_some_and(|code| code == CUresult::LAUNCH_OUT_OF_RESOURCES) =>
                    {
                        Reason::Resources
                    }
                    _ => Reason::Failed,
                },
                None => Reason::Failed,
            },
            _ => Reason::Failed,
        };
        Self::new(reason, text)
    }

    /// The class.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The whole text of the error, or the difference from the reference.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_killed(&self) -> bool {
        self.reason == Reason::KilledTheProcess
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compile => "does not compile",
            Self::Resources => "too many resources",
            Self::WrongAnswer => "wrong answer",
            Self::Fault => "fault",
            Self::KilledTheProcess => "killed the process",
            Self::Failed => "failed",
        })
    }
}

/// The class, and the text.
impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.text)
    }
}

/// Whether an assembler's message is about resources: that of `ptxas`, and that of the software device.
fn wants_too_much(text: &str) -> bool {
    text.contains("uses too much") || text.contains("static shared memory: at most")
}

/// What became of one candidate.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(super) candidate: Candidate,
    pub(super) result: Result<Measurement, Rejection>,
    pub(super) remembered: bool,
    pub(super) compiler: String,
    pub(super) unchecked: Option<String>,
}

impl Outcome {
    /// The candidate.
    #[must_use]
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// How long it takes, or why it was left out.
    ///
    /// # Errors
    /// The rejection.
    pub fn result(&self) -> Result<&Measurement, &Rejection> {
        self.result.as_ref()
    }

    /// Whether this was known from an earlier run.
    #[must_use]
    pub fn is_remembered(&self) -> bool {
        self.remembered
    }

    /// The compiler of its image, `NVRTC 13.5`; empty if there is no image.
    #[must_use]
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    /// Why it could not be tried on the software device first, if it should have been.
    #[must_use]
    pub fn not_checked_small(&self) -> Option<&str> {
        self.unchecked.as_deref()
    }
}

/// All that tuning found: the measured candidates, fastest first (those of the last round of
/// [`Strategy::SuccessiveHalving`](super::Strategy::SuccessiveHalving) before the others), then those that were left out.
#[derive(Debug, Clone)]
pub struct TuningReport {
    pub(super) tuner: String,
    pub(super) device: String,
    pub(super) outcomes: Vec<Outcome>,
}

impl TuningReport {
    /// The fastest candidate with its time.
    ///
    /// # Panics
    /// Never: a tuner that finds no candidate answers with an error.
    #[must_use]
    pub fn best(&self) -> (&Candidate, &Measurement) {
        self.measured()
            .next()
            .expect("a report has a measured candidate")
    }

    /// The measured candidates, fastest first.
    pub fn measured(&self) -> impl Iterator<Item = (&Candidate, &Measurement)> {
        self.outcomes
            .iter()
            .filter_map(|one| Some((&one.candidate, one.result.as_ref().ok()?)))
    }

    /// The candidates that were left out, with the reasons.
    pub fn rejected(&self) -> impl Iterator<Item = (&Candidate, &Rejection)> {
        self.outcomes
            .iter()
            .filter_map(|one| Some((&one.candidate, one.result.as_ref().err()?)))
    }

    /// What became of each candidate that was looked at.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }
}

/// A table.
impl fmt::Display for TuningReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}", self.tuner, self.device)?;
        let width = self
            .outcomes
            .iter()
            .map(|one| one.candidate.to_string().len())
            .max()
            .unwrap_or_default();
        let best = self
            .measured()
            .next()
            .map_or(0.0, |(_, time)| time.median().as_secs_f64());
        for one in &self.outcomes {
            // Formatted first: a width applies to a text, not to what a type writes.
            let candidate = one.candidate.to_string();
            match &one.result {
                Ok(time) => {
                    let median = time.median();
                    let factor = median.as_secs_f64() / best.max(f64::MIN_POSITIVE);
                    let known = if one.remembered { "  (remembered)" } else { "" };
                    writeln!(
                        f,
                        "  {candidate:width$}  {:>10}  {factor:6.2} x{known}",
                        shown(median)
                    )?;
                }
                Err(rejection) => {
                    let first = rejection.text.lines().next().unwrap_or_default();
                    writeln!(f, "  {candidate:width$}  {}: {first}", rejection.reason)?;
                }
            }
        }
        Ok(())
    }
}

/// A time in the unit that suits it.
pub(super) fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::Space;

    #[test]
    fn medians_and_quartiles() {
        let of = |micros: &[u64]| {
            Measurement::new(
                1,
                micros.iter().map(|&us| Duration::from_micros(us)).collect(),
            )
        };
        assert_eq!(of(&[9, 1, 5]).median(), Duration::from_micros(5));
        assert_eq!(of(&[1, 2, 3, 10]).median(), Duration::from_nanos(2500));
        assert_eq!(of(&[1, 2, 3, 4, 5]).spread(), Duration::from_micros(2));
        assert_eq!(of(&[]).median(), Duration::ZERO);
        let mut both = of(&[1]);
        both.add(of(&[3]));
        assert_eq!(both.samples().len(), 2);
    }

    #[test]
    fn a_report_is_a_table() {
        let candidates = Space::new()
            .axis("N", [1, 16, 256])
            .candidates()
            .expect("a space");
        let results = [
            Ok(Measurement::new(1, vec![Duration::from_micros(40)])),
            Ok(Measurement::new(1, vec![Duration::from_millis(1)])),
            Err(Rejection::new(
                Reason::WrongAnswer,
                "element 3 is 1, want 2\nand more",
            )),
        ];
        let report = TuningReport {
            tuner: "transpose".into(),
            device: "soft:0".into(),
            outcomes: candidates
                .into_iter()
                .zip(results)
                .enumerate()
                .map(|(index, (candidate, result))| Outcome {
                    candidate,
                    result,
                    remembered: index == 1,
                    compiler: "NVRTC 13.5".into(),
                    unchecked: None,
                })
                .collect(),
        };
        assert_eq!(report.best().0.number("N"), 1);
        assert_eq!(report.rejected().count(), 1);
        insta::assert_snapshot!(report, @"
        transpose on soft:0
          N=1      40.00 µs    1.00 x
          N=16      1.00 ms   25.00 x  (remembered)
          N=256  wrong answer: element 3 is 1, want 2
        ");
    }
}
