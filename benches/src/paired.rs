//! Two programs side by side: alternating in one process, compared pair by pair.
//!
//! Clocks, temperature and neighbours drift, so absolute times of two runs say little. Ratios of neighbouring
//! measurements cancel the drift; their spread says how much they can be trusted.

use std::fmt;
use std::time::Duration;

/// Ours over theirs: the geometric mean of the pairs' ratios, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Median time of ours.
    pub ours: Duration,
    /// Median time of theirs.
    pub theirs: Duration,
    /// Geometric mean of the ratios.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// How many pairs were measured.
    pub pairs: usize,
}

impl Ratio {
    /// The median of ours over the median of theirs.
    #[must_use]
    pub fn of_medians(&self) -> f64 {
        self.ours.as_secs_f64() / self.theirs.as_secs_f64()
    }
}

/// Measures `pairs` pairs, each side first in every second one.
///
/// The interval is Student's over the logarithms of the ratios.
///
/// # Errors
/// The first error of either side.
///
/// # Panics
/// If `pairs` is below 2: an interval needs a spread.
pub fn compare<E>(
    pairs: usize,
    mut ours: impl FnMut() -> Result<Duration, E>,
    mut theirs: impl FnMut() -> Result<Duration, E>,
) -> Result<Ratio, E> {
    assert!(pairs >= 2, "an interval needs at least two pairs");
    let (mut a, mut b) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
    for pair in 0..pairs {
        if pair % 2 == 0 {
            a.push(ours()?);
            b.push(theirs()?);
        } else {
            b.push(theirs()?);
            a.push(ours()?);
        }
    }
    let logs: Vec<f64> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| (a.as_secs_f64() / b.as_secs_f64()).ln())
        .collect();
    let n = pairs as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student_97_5(pairs - 1) * (variance / n).sqrt();
    Ok(Ratio {
        ours: median(&mut a),
        theirs: median(&mut b),
        mean: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        pairs,
    })
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let middle = times.len() / 2;
    if times.len().is_multiple_of(2) {
        (times[middle - 1] + times[middle]) / 2
    } else {
        times[middle]
    }
}

/// The 97.5 % point of Student's distribution with so many degrees of freedom, by the expansion of Abramowitz and
/// Stegun 26.7.5 around the normal point; below 3 degrees the exact values.
fn student_97_5(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        1 => 12.706_204_736,
        2 => 4.302_652_730,
        _ => {
            let (x, v) = (1.959_963_984_540_054_f64, freedom as f64);
            let g1 = (x.powi(3) + x) / 4.0;
            let g2 = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
            let g3 = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
            let g4 = (79.0 * x.powi(9) + 776.0 * x.powi(7) + 1482.0 * x.powi(5)
                - 1920.0 * x.powi(3)
                - 945.0 * x)
                / 92160.0;
            x + g1 / v + g2 / v.powi(2) + g3 / v.powi(3) + g4 / v.powi(4)
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} us against {:.3} us, ratio {:.4} [{:.4}, {:.4}] over {} pairs",
            self.ours.as_secs_f64() * 1e6,
            self.theirs.as_secs_f64() * 1e6,
            self.mean,
            self.low,
            self.high,
            self.pairs
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_student_are_those_of_the_tables() {
        for (freedom, want) in [(3, 3.182), (5, 2.571), (19, 2.093), (60, 2.000)] {
            assert!(
                (student_97_5(freedom) - want).abs() < 0.01,
                "{freedom}: {}",
                student_97_5(freedom)
            );
        }
    }

    #[test]
    fn a_constant_ratio_has_no_spread() {
        let mut drift = 0u64;
        let mut step = 1..=40u64;
        let ratio = compare::<()>(
            20,
            || Ok(Duration::from_nanos(150_000)),
            || {
                drift += step.next().unwrap_or(0);
                Ok(Duration::from_nanos(100_000))
            },
        )
        .expect("neither side fails");
        assert!(
            (ratio.mean - 1.5).abs() < 1e-9 && (ratio.high - ratio.low).abs() < 1e-9,
            "{ratio}"
        );
        assert!((ratio.of_medians() - 1.5).abs() < 1e-9, "{ratio}");
        assert!(drift > 0, "the other side ran");
    }

    #[test]
    fn a_spread_widens_the_interval_around_the_mean() {
        let mut times = [100, 120, 90, 110, 100, 130]
            .map(Duration::from_nanos)
            .into_iter();
        let ratio = compare::<()>(
            6,
            || Ok(times.next().expect("six")),
            || Ok(Duration::from_nanos(100)),
        )
        .expect("runs");
        assert!(ratio.low < ratio.mean && ratio.mean < ratio.high, "{ratio}");
        assert!((1.0..1.2).contains(&ratio.mean), "{ratio}");
    }
}
