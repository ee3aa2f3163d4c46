//! The stops of the tour: each runs on a device, is timed there, and is checked against host arithmetic.

use std::time::{Duration, Instant};

use cuprum::kernels::image::{self, Grey};
use cuprum::prelude::*;

use super::picture::Picture;
use super::table::Row;

/// Allowed difference of a grey value, of 255: single precision against double, and multiply-adds that may be fused.
pub(super) const BOUND: f64 = 2e-3;

/// The rotation, in radians.
const ANGLE: f32 = 0.5;

/// The contrast of the array expression.
const CONTRAST: f32 = 1.4;

/// Timed repetitions of a step; the median counts.
const REPEATS: usize = 5;

/// What one device made of the tour.
pub(super) struct Visit {
    pub(super) device: String,
    pub(super) rows: Vec<Row>,
    grey: Vec<f32>,
    edges: Vec<f32>,
    rotated: Vec<f32>,
    toned: Vec<f32>,
}

impl Visit {
    /// Name, pixels, and the scale that brings them to 0..=255.
    pub(super) fn pictures(&self) -> [(&'static str, &[f32], f32); 4] {
        [
            ("grey", &self.grey, 1.0),
            ("edges", &self.edges, 0.5),
            ("rotated", &self.rotated, 1.0),
            ("toned", &self.toned, 1.0),
        ]
    }
}

/// A device with a stream, and the rows it has earned.
struct Guide {
    label: String,
    stream: Stream,
    rows: Vec<Row>,
}

impl Guide {
    /// Runs `work` once to warm up, then repeatedly; answers with the median time on the device.
    fn time<E>(&self, mut work: impl FnMut() -> Result<(), E>) -> cuprum::Result<Duration>
    where
        cuprum::Error: From<E>,
    {
        work()?;
        self.stream.synchronize()?;
        let mut times = Vec::with_capacity(REPEATS);
        for _ in 0..REPEATS {
            let start = self.stream.record()?;
            work()?;
            let end = self.stream.record()?;
            end.synchronize()?;
            times.push(end.elapsed_since(&start)?);
        }
        times.sort_unstable();
        Ok(times[REPEATS / 2])
    }

    fn note(
        &mut self,
        step: &'static str,
        elements: usize,
        time: Duration,
        bytes: Option<u64>,
        error: Option<(f64, f64)>,
    ) {
        self.rows.push(Row {
            step,
            device: self.label.clone(),
            elements,
            time: Some(time),
            bytes,
            error,
        });
    }
}

/// Walks through all stops on `device`.
pub(super) fn visit(device: &Device, picture: &Picture) -> cuprum::Result<Visit> {
    let context = device.context()?;
    let stream = context.new_stream()?;
    let mut guide = Guide {
        label: device.label(),
        stream: stream.clone(),
        rows: Vec::new(),
    };
    let (width, height) = (picture.width, picture.height);
    let pixels = width * height;
    let shape = (width as i32, height as i32);

    // Kernels from source.
    let start = Instant::now();
    let module = SourceModule::builder(cuprum::kernels::IMAGE)
        .file_name("image.cu")
        .build(&context)?;
    let (greyscale, sobel, rotate) = (
        module.function("greyscale")?,
        module.function("sobel")?,
        module.function("rotate")?,
    );
    guide.note(
        "compile and load",
        cuprum::kernels::IMAGE.len(),
        start.elapsed(),
        None,
        None,
    );

    // The photograph to the device.
    let start = Instant::now();
    let rgb = DeviceBuffer::from_slice(&stream, &picture.rgb)?;
    stream.synchronize()?;
    guide.note(
        "upload",
        rgb.len(),
        start.elapsed(),
        Some(rgb.len() as u64),
        None,
    );

    // Three hand-written kernels, each against its host reference.
    let tiles = LaunchConfig::for_elements_2d(width, height, (16, 16));
    let reference = image::greyscale(&picture.rgb, width, height);
    let mut grey = DeviceBuffer::<f32>::zeros(&stream, pixels)?;
    let time = guide.time(|| {
        // SAFETY: the kernel reads 3 bytes and writes 1 float a pixel of width x height; both buffers hold that many.
        unsafe { greyscale.launch(&stream, tiles, (&rgb, &mut grey, shape.0, shape.1)) }
    })?;
    let grey_host = grey.to_vec()?;
    let error = largest_difference(&grey_host, reference.pixels.iter().copied());
    guide.note(
        "greyscale",
        pixels,
        time,
        Some(7 * pixels as u64),
        Some((error, BOUND)),
    );

    // From here on the reference starts from the device's own grey picture, so that each step is judged alone.
    let source = Grey {
        width,
        height,
        pixels: grey_host.iter().map(|v| f64::from(*v)).collect(),
    };
    let mut edges = DeviceBuffer::<f32>::zeros(&stream, pixels)?;
    let time = guide.time(|| {
        // SAFETY: blocks are 16 x 16 as the kernel wants; it reads and writes 1 float a pixel, which both buffers hold.
        unsafe { sobel.launch(&stream, tiles, (&grey, &mut edges, shape.0, shape.1)) }
    })?;
    let edges_host = edges.to_vec()?;
    let error = largest_difference(&edges_host, image::sobel(&source).pixels.into_iter());
    guide.note(
        "sobel",
        pixels,
        time,
        Some(8 * pixels as u64),
        Some((error, BOUND)),
    );

    let mut rotated = DeviceBuffer::<f32>::zeros(&stream, pixels)?;
    let time = guide.time(|| {
        // SAFETY: the kernel tests every source pixel against width x height, and both buffers hold that many floats.
        unsafe {
            rotate.launch(
                &stream,
                tiles,
                (&grey, &mut rotated, shape.0, shape.1, ANGLE),
            )
        }
    })?;
    let rotated_host = rotated.to_vec()?;
    let error = largest_difference(
        &rotated_host,
        image::rotate(&source, f64::from(ANGLE)).pixels.into_iter(),
    );
    guide.note(
        "rotate",
        pixels,
        time,
        Some(8 * pixels as u64),
        Some((error, rotation_bound(picture))),
    );

    // The same memory as an array: one fused kernel for a whole expression.
    let grey = GpuArray::from_buffer(grey, [height, width])?;
    let tone = || ((&grey - 128.0f32) * CONTRAST + 128.0).clip(0.0, 255.0);
    let mut toned = GpuArray::<f32>::zeros(&stream, [height, width])?;
    let time = guide.time(|| toned.assign_on(&stream, tone()))?;
    let toned_host = toned.to_vec()?;
    let reference = source
        .pixels
        .iter()
        .map(|v| ((v - 128.0) * f64::from(CONTRAST) + 128.0).clamp(0.0, 255.0));
    let error = largest_difference(&toned_host, reference);
    guide.note(
        "expression",
        pixels,
        time,
        Some(8 * pixels as u64),
        Some((error, BOUND)),
    );

    reductions(&mut guide, &grey, &source)?;
    seed(&mut guide, &context)?;

    Ok(Visit {
        device: guide.label,
        rows: guide.rows,
        grey: grey_host,
        edges: edges_host,
        rotated: rotated_host,
        toned: toned_host,
    })
}

/// Sum, smallest and largest value of an array.
fn reductions(guide: &mut Guide, grey: &GpuArray<f32>, source: &Grey) -> cuprum::Result<()> {
    let pixels = source.pixels.len();
    let bytes = Some(4 * pixels as u64);
    let sum: f64 = source.pixels.iter().sum();
    let mut got = 0.0;
    let time = guide.time(|| grey.sum().map(|value| got = f64::from(value)))?;
    // Partial sums in single precision: relative, since the sum itself is large.
    guide.note(
        "sum",
        pixels,
        time,
        bytes,
        Some(((got - sum).abs() / sum.abs().max(1.0), 1e-5)),
    );

    let smallest = source.pixels.iter().copied().fold(f64::INFINITY, f64::min);
    let time = guide.time(|| grey.min().map(|value| got = f64::from(value)))?;
    guide.note(
        "min",
        pixels,
        time,
        bytes,
        Some(((got - smallest).abs(), 0.0)),
    );

    let largest = source
        .pixels
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let time = guide.time(|| grey.max().map(|value| got = f64::from(value)))?;
    guide.note(
        "max",
        pixels,
        time,
        bytes,
        Some(((got - largest).abs(), 0.0)),
    );
    Ok(())
}

/// The program this project started from: double `linspace(0, 9)`; the median must then be 9.
fn seed(guide: &mut Guide, context: &Context) -> cuprum::Result<()> {
    const COUNT: usize = 50;
    let start = Instant::now();
    let stream = guide.stream.clone();
    let doublify = SourceModule::new(context, cuprum::kernels::FIRST)?.function("doublify")?;
    let mut values = GpuArray::linspace(&stream, 0.0f64, 9.0, COUNT)?.into_buffer();
    // SAFETY: the kernel touches values below n only, and n is the length of the buffer.
    unsafe {
        doublify.launch(
            &stream,
            LaunchConfig::for_elements(COUNT),
            (&mut values, COUNT as i64),
        )?;
    };
    let mut values = values.to_vec()?;
    values.sort_by(f64::total_cmp);
    let median = 0.5 * (values[COUNT / 2 - 1] + values[COUNT / 2]);
    guide.note(
        "doublify, median 9",
        COUNT,
        start.elapsed(),
        None,
        Some(((median - 9.0).abs(), 1e-12)),
    );
    Ok(())
}

/// Allowed difference of a rotated pixel: source coordinates are some ulps of the picture's size off, and the steepest
/// possible edge is 255 high.
pub(super) fn rotation_bound(picture: &Picture) -> f64 {
    BOUND.max(picture.width.max(picture.height) as f64 * f64::from(f32::EPSILON) * 4.0 * 255.0)
}

/// The largest absolute difference; NaN if any value is.
pub(super) fn largest_difference(got: &[f32], want: impl Iterator<Item = f64>) -> f64 {
    got.iter()
        .zip(want)
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, |largest, next| {
            if next.is_nan() || next > largest {
                next
            } else {
                largest
            }
        })
}
