//! Measuring two kernels that do the same.

use std::fmt;
use std::time::Duration;

use cuprum::prelude::*;

/// A device to measure on.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    /// Elements that keep the device busy for a while.
    pub(crate) elements: usize,
}

/// As many samples of each.
const SAMPLES: usize = 9;

impl Bench {
    pub(crate) fn new(device: &Device) -> cuprum::Result<Self> {
        let context = device.context()?;
        Ok(Self {
            device: device.clone(),
            stream: context.new_stream()?,
            context,
            elements: if device.is_software() {
                1 << 17
            } else {
                1 << 24
            },
        })
    }

    /// The kernel `name` of a source.
    pub(crate) fn kernel(&self, source: &Source, name: &str) -> cuprum::Result<Function> {
        Ok(source.build(&self.context)?.function(name)?)
    }

    /// The median times of two ways, taken alternately so that both meet the same disturbances.
    pub(crate) fn compare(
        &self,
        mut before: impl FnMut() -> cuprum::Result<()>,
        mut after: impl FnMut() -> cuprum::Result<()>,
    ) -> cuprum::Result<Gain> {
        let timed = |launch: &mut dyn FnMut() -> cuprum::Result<()>| -> cuprum::Result<Duration> {
            let begin = self.stream.record()?;
            launch()?;
            let end = self.stream.record()?;
            end.synchronize()?;
            Ok(end.elapsed_since(&begin)?)
        };
        timed(&mut before)?;
        timed(&mut after)?;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            first.push(timed(&mut before)?);
            second.push(timed(&mut after)?);
        }
        first.sort();
        second.sort();
        Ok(Gain {
            before: first[SAMPLES / 2],
            after: second[SAMPLES / 2],
        })
    }
}

/// Two times.
pub(crate) struct Gain {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        write!(
            f,
            "{:10.1} µs -> {:10.1} µs  {:5.2} x",
            micros(self.before),
            micros(self.after),
            self.before.as_secs_f64() / self.after.as_secs_f64().max(1e-12)
        )
    }
}

/// Fails unless both are the same, element for element.
pub(crate) fn same<T: PartialEq + fmt::Debug>(got: &[T], want: &[T]) {
    assert_eq!(got.len(), want.len());
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        assert_eq!(got, want, "element {index}");
    }
}

/// Small whole numbers, so that sums of products are exact in every type and order.
pub(crate) fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37) % 17) as f32 - 8.0).collect()
}
