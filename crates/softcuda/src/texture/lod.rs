//! Levels of detail: which mip levels are read, and how gradients choose them.

use super::coordinate::STEPS;
use super::object::{Filter, Sampler};

/// The levels to read, and the weight of the second in 256ths.
pub(super) struct Levels {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) weight: u32,
}

/// The levels for a level of detail, of `count` levels.
pub(super) fn levels(sampler: &Sampler, detail: f32, count: usize) -> Levels {
    let biased = detail + sampler.bias;
    let clamped = if biased.is_nan() { 0.0 } else { biased }
        .max(sampler.least)
        .min(sampler.greatest)
        .clamp(0.0, (count - 1) as f32);
    match sampler.mip_filter {
        Filter::Point => {
            let level = ((f64::from(clamped) + 0.5).floor() as usize).min(count - 1);
            Levels {
                first: level,
                second: level,
                weight: 0,
            }
        }
        Filter::Linear => {
            let fixed = (f64::from(clamped) * STEPS + 0.5).floor() as usize;
            let first = (fixed >> 8).min(count - 1);
            Levels {
                first,
                second: (first + 1).min(count - 1),
                weight: (fixed & 0xff) as u32,
            }
        }
    }
}

/// What gradients ask for: a level of detail, and the positions to average, as shares of the longer gradient.
pub(super) struct Footprint {
    pub(super) detail: f32,
    pub(super) probes: u32,
    /// The longer gradient, in the units of the coordinates.
    pub(super) axis: [f32; 3],
}

/// The footprint of a pixel with gradients `dx` and `dy`, in the units of coordinates that `scale` turns into texels of the
/// base level.
pub(super) fn footprint(
    sampler: &Sampler,
    dx: [f32; 3],
    dy: [f32; 3],
    scale: [f32; 3],
) -> Footprint {
    let length = |d: [f32; 3]| {
        let square = |axis: usize| {
            let texels = d[axis] * scale[axis];
            texels * texels
        };
        (square(0) + square(1) + square(2)).sqrt()
    };
    let (along_x, along_y) = (length(dx), length(dy));
    let (longer, shorter, axis) = if along_x >= along_y {
        (along_x, along_y, dx)
    } else {
        (along_y, along_x, dy)
    };
    let most = sampler.anisotropy.clamp(1, 16);
    let ratio = if shorter > 0.0 {
        longer / shorter
    } else {
        most as f32
    };
    let probes = (ratio.ceil() as u32).clamp(1, most);
    // The logarithm of zero is far below every level.
    Footprint {
        detail: (longer / probes as f32).log2(),
        probes,
        axis,
    }
}
