//! Telling how far tuning is.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use super::report::{Rejection, shown};
use super::space::Candidate;

/// What a tuner tells its [callback](super::Tuner::on_progress).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A candidate is being looked at.
    Trying {
        /// Its number in this round, from 0.
        index: usize,
        /// How many there are in this round.
        count: usize,
        /// The candidate.
        candidate: &'a Candidate,
    },
    /// A candidate works, and this is its median so far.
    Measured {
        /// The candidate.
        candidate: &'a Candidate,
        /// Of one launch.
        median: Duration,
        /// Whether it was known from an earlier run.
        remembered: bool,
    },
    /// A candidate is left out.
    Rejected {
        /// The candidate.
        candidate: &'a Candidate,
        /// Why.
        rejection: &'a Rejection,
    },
    /// Tuning has ended.
    Finished,
}

/// The bar of a terminal, on standard error.
#[derive(Debug)]
pub(super) struct Bar {
    name: String,
    on: bool,
    rejected: usize,
    best: Option<(Duration, String)>,
    place: (usize, usize),
}

const WIDTH: usize = 24;

impl Bar {
    /// A bar, if standard error is a terminal and `CUPRUM_QUIET` does not want silence.
    pub(super) fn new(name: &str) -> Self {
        let quiet = std::env::var_os(cuprum_driver_core::QUIET_VARIABLE)
            .is_some_and(|value| !value.is_empty() && value != "0");
        Self {
            name: name.to_owned(),
            on: !quiet && std::io::stderr().is_terminal(),
            rejected: 0,
            best: None,
            place: (0, 0),
        }
    }

    pub(super) fn follow(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Trying { index, count, .. } => self.place = (*index, *count),
            Progress::Measured {
                candidate, median, ..
            } => {
                if self.best.as_ref().is_none_or(|(best, _)| median < best) {
                    self.best = Some((*median, candidate.to_string()));
                }
            }
            Progress::Rejected { .. } => self.rejected += 1,
            Progress::Finished => self.place.0 = self.place.1,
        }
        if self.on {
            let end = if matches!(progress, Progress::Finished) {
                "\n"
            } else {
                ""
            };
            // A bar that cannot be drawn is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{self}{end}");
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (index, count) = self.place;
        let full = (index * WIDTH).checked_div(count).unwrap_or(WIDTH);
        write!(
            f,
            "tuning {} [{}{}] {index}/{count}",
            self.name,
            "=".repeat(full),
            " ".repeat(WIDTH - full)
        )?;
        if let Some((time, candidate)) = &self.best {
            write!(f, "  best {} {candidate}", shown(*time))?;
        }
        if self.rejected > 0 {
            write!(f, "  {} rejected", self.rejected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::Space;

    #[test]
    fn the_bar_tells_place_best_and_rejections() {
        let candidates = Space::new().axis("N", [1, 2]).candidates().expect("two");
        let mut bar = Bar::new("transpose");
        bar.on = false;
        bar.follow(&Progress::Measured {
            candidate: &candidates[0],
            median: Duration::from_micros(12),
            remembered: false,
        });
        bar.follow(&Progress::Trying {
            index: 1,
            count: 2,
            candidate: &candidates[1],
        });
        assert_eq!(
            bar.to_string(),
            "tuning transpose [============            ] 1/2  best 12.00 µs N=1"
        );
        bar.follow(&Progress::Rejected {
            candidate: &candidates[1],
            rejection: &Rejection::killed("running"),
        });
        bar.follow(&Progress::Finished);
        assert_eq!(
            bar.to_string(),
            "tuning transpose [========================] 2/2  best 12.00 µs N=1  1 rejected"
        );
    }
}
