//! Pictures in and out of files.

use std::path::Path;

use image::{GrayImage, ImageReader, RgbImage};

/// An 8-bit RGB picture, three interleaved bytes a pixel.
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) rgb: Vec<u8>,
}

/// The photograph of the tour when the command line names none.
const ASTRONAUT: &[u8] = include_bytes!("../../../../../data/astronaut.png");

impl Picture {
    /// Reads the picture at `path`, or the astronaut.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, String> {
        let decoded = match path {
            Some(path) => ImageReader::open(path)
                .map_err(|error| format!("cannot open {}: {error}", path.display()))?
                .with_guessed_format()
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?
                .decode()
                .map_err(|error| format!("cannot decode {}: {error}", path.display()))?,
            None => image::load_from_memory(ASTRONAUT)
                .map_err(|error| format!("cannot decode the astronaut: {error}"))?,
        };
        let rgb: RgbImage = decoded.into_rgb8();
        Ok(Self {
            width: rgb.width() as usize,
            height: rgb.height() as usize,
            rgb: rgb.into_raw(),
        })
    }
}

/// Writes `pixels`, scaled by `scale` and clamped to 0..=255, as a grey PNG.
pub(super) fn save_grey(
    path: &Path,
    width: usize,
    height: usize,
    pixels: &[f32],
    scale: f32,
) -> Result<(), String> {
    let bytes = pixels
        .iter()
        .map(|value| (value * scale).clamp(0.0, 255.0).round() as u8)
        .collect();
    let grey = GrayImage::from_raw(width as u32, height as u32, bytes).expect("one byte a pixel");
    grey.save(path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
