//! The table at the end: what each step did, how fast, and how exactly.

use std::fmt;
use std::time::Duration;

/// One step on one device.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) step: &'static str,
    pub(super) device: String,
    /// How many elements the step worked on.
    pub(super) elements: usize,
    /// Median time on the device, or on the host where the step is the host's; none where nothing was timed.
    pub(super) time: Option<Duration>,
    /// Bytes read and written, if the step is about moving data.
    pub(super) bytes: Option<u64>,
    /// Largest absolute difference from host arithmetic, and what is allowed; none if there is nothing to compare.
    pub(super) error: Option<(f64, f64)>,
}

impl Row {
    /// Whether the step's result is within its bound. NaN is not.
    pub(super) fn holds(&self) -> bool {
        self.error.is_none_or(|(error, bound)| error <= bound)
    }
}

#[derive(Debug)]
pub(super) struct Table(pub(super) Vec<Row>);

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .0
            .iter()
            .map(|row| row.step.len())
            .max()
            .unwrap_or(4)
            .max(4);
        let device = self
            .0
            .iter()
            .map(|row| row.device.len())
            .max()
            .unwrap_or(6)
            .max(6);
        writeln!(
            f,
            "{:width$}  {:device$}  {:>10}  {:>10}  {:>11}  {:>22}",
            "step", "device", "elements", "time", "bytes/s", "largest error (bound)"
        )?;
        for row in &self.0 {
            let rate = row
                .bytes
                .zip(row.time)
                .map_or_else(String::new, |(bytes, time)| rate(bytes, time));
            let error = row.error.map_or_else(String::new, |(error, bound)| {
                format!(
                    "{error:.2e} ({bound:.0e}){}",
                    if row.holds() { "" } else { " WRONG" }
                )
            });
            writeln!(
                f,
                "{:width$}  {:device$}  {:>10}  {:>10}  {rate:>11}  {error:>22}",
                row.step,
                row.device,
                row.elements,
                row.time.map_or_else(String::new, duration)
            )?;
        }
        Ok(())
    }
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}

fn rate(bytes: u64, time: Duration) -> String {
    let rate = bytes as f64 / time.as_secs_f64();
    match rate {
        r if r >= 1e12 => format!("{:.2} TB/s", r / 1e12),
        r if r >= 1e9 => format!("{:.2} GB/s", r / 1e9),
        r => format!("{:.2} MB/s", r / 1e6),
    }
}
