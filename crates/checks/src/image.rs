//! The image kernels of the project against their host references, on pictures of odd sizes.

use cuprum::kernels::IMAGE;
use cuprum::kernels::image::{self, Grey};
use cuprum::prelude::LaunchConfig;
use proptest::prelude::{Strategy, any};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::data::Random;
use crate::runner::{Kernels, length};

pub(crate) fn checks() -> Vec<Check> {
    vec![check!(greyscale), check!(sobel), check!(rotate)]
}

/// Allowed difference of a grey value, of 255: single precision against double, and multiply-adds that may be fused.
const BOUND: f64 = 2e-3;

/// The blocks that the kernels ask for.
const TILE: (u32, u32) = (16, 16);

/// Width, height and seed of a picture: one pixel, single rows and columns, incomplete tiles.
fn pictures() -> impl Strategy<Value = (usize, usize, u64)> {
    (1usize..80, 1usize..60, any::<u64>())
}

/// A random grey picture in the device's precision.
fn grey_picture(width: usize, height: usize, seed: u64) -> Vec<f32> {
    Random::new(seed).vec(width * height, |random| random.between(0.0, 255.0) as f32)
}

/// The same for the reference.
fn reference(width: usize, height: usize, pixels: &[f32]) -> Grey {
    Grey {
        width,
        height,
        pixels: pixels.iter().map(|&value| f64::from(value)).collect(),
    }
}

/// Compares pixel by pixel; the report's error is the largest difference seen.
fn close(got: &[f32], want: &Grey, bound: f64) -> Result<f64, Failure> {
    ensure_eq!(got.len(), want.pixels.len(), "pixels");
    let mut largest = 0f64;
    for (at, (&got, &want_value)) in got.iter().zip(&want.pixels).enumerate() {
        let difference = (f64::from(got) - want_value).abs();
        // Also false for NaN.
        let close = difference <= bound;
        ensure!(
            close,
            "pixel ({}, {}) is {got}, want {want_value}, bound {bound:e}",
            at % want.width,
            at / want.width
        );
        largest = largest.max(difference);
    }
    Ok(largest)
}

/// Runs a property that gives the largest difference of each case.
fn largest_of<S: Strategy>(
    inputs: S,
    mut case: impl FnMut(S::Value) -> Result<f64, Failure>,
) -> Result<Report, Failure>
where
    S::Value: std::fmt::Debug,
{
    let mut largest_error = 0f64;
    let report = property(inputs, |input| {
        largest_error = largest_error.max(case(input)?);
        Ok(())
    })?;
    Ok(Report {
        largest_error,
        ..report
    })
}

/// The luma of random colours.
fn greyscale(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, IMAGE)?;
    largest_of(pictures(), |(width, height, seed)| {
        let rgb = Random::new(seed).vec(3 * width * height, |random| random.u32() as u8);
        let device = kernels.upload(&rgb)?;
        let mut grey = kernels.zeros::<f32>(width * height)?;
        kernels.launch(
            "greyscale",
            LaunchConfig::for_elements_2d(width, height, TILE),
            (&device, &mut grey, length(width), length(height)),
        )?;
        close(
            &grey.to_vec()?,
            &image::greyscale(&rgb, width, height),
            BOUND,
        )
    })
}

/// Edges, through tiles in shared memory.
fn sobel(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, IMAGE)?;
    largest_of(pictures(), |(width, height, seed)| {
        let pixels = grey_picture(width, height, seed);
        let grey = kernels.upload(&pixels)?;
        let mut edges = kernels.zeros::<f32>(width * height)?;
        kernels.launch(
            "sobel",
            LaunchConfig::for_elements_2d(width, height, TILE),
            (&grey, &mut edges, length(width), length(height)),
        )?;
        close(
            &edges.to_vec()?,
            &image::sobel(&reference(width, height, &pixels)),
            BOUND,
        )
    })
}

/// Rotations by any angle, whose sources lie between pixels and outside the picture.
fn rotate(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, IMAGE)?;
    let inputs = (pictures(), -7.0f32..7.0);
    largest_of(inputs, |((width, height, seed), angle)| {
        let pixels = grey_picture(width, height, seed);
        let grey = kernels.upload(&pixels)?;
        let mut rotated = kernels.zeros::<f32>(width * height)?;
        kernels.launch(
            "rotate",
            LaunchConfig::for_elements_2d(width, height, TILE),
            (&grey, &mut rotated, length(width), length(height), angle),
        )?;
        // Source coordinates are some ulps of the picture's size off, and the steepest possible edge is 255 high.
        let bound = BOUND.max(width.max(height) as f64 * f64::from(f32::EPSILON) * 4.0 * 255.0);
        close(
            &rotated.to_vec()?,
            &image::rotate(&reference(width, height, &pixels), f64::from(angle)),
            bound,
        )
    })
}
