//! Host references of the image kernels in `kernels/cuda/image.cu`, in double precision.

/// A single-channel picture, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Grey {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// `width * height` values, usually 0 to 255.
    pub pixels: Vec<f64>,
}

impl Grey {
    fn at(&self, x: isize, y: isize) -> f64 {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.pixels[y * self.width + x]
    }
}

/// Rec. 601 luma of an interleaved 8-bit RGB picture.
#[must_use]
pub fn greyscale(rgb: &[u8], width: usize, height: usize) -> Grey {
    let luma =
        |p: &[u8]| 0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2]);
    Grey {
        width,
        height,
        pixels: rgb.chunks_exact(3).map(luma).collect(),
    }
}

/// Gradient magnitude by the Sobel operator; outside the picture its edge is repeated.
#[must_use]
pub fn sobel(grey: &Grey) -> Grey {
    let mut pixels = Vec::with_capacity(grey.pixels.len());
    for y in 0..grey.height as isize {
        for x in 0..grey.width as isize {
            let p = |dx, dy| grey.at(x + dx, y + dy);
            let gx = (p(1, -1) + 2.0 * p(1, 0) + p(1, 1)) - (p(-1, -1) + 2.0 * p(-1, 0) + p(-1, 1));
            let gy = (p(-1, 1) + 2.0 * p(0, 1) + p(1, 1)) - (p(-1, -1) + 2.0 * p(0, -1) + p(1, -1));
            pixels.push(gx.hypot(gy));
        }
    }
    Grey { pixels, ..*grey }
}

/// Rotation about the centre by `angle` radians with bilinear interpolation; outside is black.
#[must_use]
pub fn rotate(grey: &Grey, angle: f64) -> Grey {
    let (s, c) = angle.sin_cos();
    let (cx, cy) = (
        0.5 * (grey.width as f64 - 1.0),
        0.5 * (grey.height as f64 - 1.0),
    );
    let inside = |x: f64, y: f64| {
        if x < 0.0 || y < 0.0 || x >= grey.width as f64 || y >= grey.height as f64 {
            0.0
        } else {
            grey.pixels[y as usize * grey.width + x as usize]
        }
    };
    let mut pixels = Vec::with_capacity(grey.pixels.len());
    for y in 0..grey.height {
        for x in 0..grey.width {
            let (dx, dy) = (x as f64 - cx, y as f64 - cy);
            let (u, v) = (c * dx + s * dy + cx, c * dy - s * dx + cy);
            let (iu, iv) = (u.floor(), v.floor());
            let (fu, fv) = (u - iu, v - iv);
            let top = (1.0 - fu) * inside(iu, iv) + fu * inside(iu + 1.0, iv);
            let bottom = (1.0 - fu) * inside(iu, iv + 1.0) + fu * inside(iu + 1.0, iv + 1.0);
            pixels.push((1.0 - fv) * top + fv * bottom);
        }
    }
    Grey { pixels, ..*grey }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 3 x 2 picture whose values one can check by hand.
    fn small() -> Grey {
        Grey {
            width: 3,
            height: 2,
            pixels: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        }
    }

    #[test]
    fn luma_weighs_the_channels() {
        let grey = greyscale(&[255, 0, 0, 0, 255, 0, 0, 0, 255], 3, 1);
        for (got, want) in grey.pixels.iter().zip([76.245, 149.685, 29.07]) {
            assert!((got - want).abs() < 1e-9, "{got} is not {want}");
        }
    }

    #[test]
    fn a_ramp_has_a_constant_gradient_inside() {
        // Inside a horizontal ramp of slope 1 the operator gives 8.
        let ramp = Grey {
            width: 5,
            height: 3,
            pixels: (0..15).map(|i| f64::from(i % 5)).collect(),
        };
        assert_eq!(sobel(&ramp).pixels[5 + 2], 8.0);
        // At the edge the repeated pixel halves the difference.
        assert_eq!(sobel(&ramp).pixels[5], 4.0);
    }

    #[test]
    fn rotations_by_nothing_and_by_half_a_turn() {
        assert_eq!(rotate(&small(), 0.0), small());
        let turned = rotate(&small(), std::f64::consts::PI);
        for (got, want) in turned.pixels.iter().zip([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]) {
            assert!((got - want).abs() < 1e-9, "{:?}", turned.pixels);
        }
    }
}
