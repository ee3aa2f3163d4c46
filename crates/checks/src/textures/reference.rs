//! A sampler on the host: what the CUDA programming guide says under "Texture fetching", in doubles.

use cuprum::texsurf::{AddressMode, Filter};

/// Texels of four channels.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    /// Texels of a row, rows, slices or layers.
    pub(super) extent: [usize; 3],
    pub(super) texels: Vec<[f64; 4]>,
}

/// How it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) address: [AddressMode; 3],
    pub(super) filter: Filter,
    pub(super) normalized: bool,
    pub(super) border: [f64; 4],
}

/// One axis of a texel that filtering asks for: inside, or the border.
type Index = Option<usize>;

impl Mode {
    /// The coordinate in texels.
    fn place(&self, axis: usize, coordinate: f64, size: f64) -> f64 {
        if !self.normalized {
            return coordinate;
        }
        let whole = coordinate.floor();
        let fraction = coordinate - whole;
        match self.address[axis] {
            AddressMode::Wrap => fraction * size,
            AddressMode::Mirror if whole.rem_euclid(2.0) == 1.0 => (1.0 - fraction) * size,
            AddressMode::Mirror => fraction * size,
            AddressMode::Clamp | AddressMode::Border => coordinate * size,
        }
    }

    fn index(&self, axis: usize, index: f64, size: f64) -> Index {
        let inside = (0.0..size).contains(&index);
        match self.address[axis] {
            AddressMode::Border if !inside => None,
            AddressMode::Wrap if self.normalized => Some(index.rem_euclid(size) as usize),
            _ => Some(index.clamp(0.0, size - 1.0) as usize),
        }
    }

    /// The texels on both sides, and the weight of the second in 256ths: rounded, ties up.
    fn pair(&self, axis: usize, coordinate: f64, size: f64) -> [(Index, f64); 2] {
        let place = self.place(axis, coordinate, size) - 0.5;
        let steps = (place * 256.0 + 0.5).floor();
        let first = (steps / 256.0).floor();
        let weight = steps / 256.0 - first;
        [
            (self.index(axis, first, size), 1.0 - weight),
            (self.index(axis, first + 1.0, size), weight),
        ]
    }
}

impl Picture {
    fn texel(&self, mode: &Mode, at: [Index; 3]) -> [f64; 4] {
        match at {
            [Some(x), Some(y), Some(z)] => {
                let [width, height, _] = self.extent;
                self.texels[(z * height + y) * width + x]
            }
            _ => mode.border,
        }
    }

    /// The value at `at`, of which the first `axes` coordinates count; `layer` is the slice otherwise.
    pub(super) fn sample(&self, mode: &Mode, at: [f32; 3], axes: usize, layer: usize) -> [f64; 4] {
        let size = |axis: usize| self.extent[axis] as f64;
        let fixed = [Some(0), Some(0), Some(layer)];
        if mode.filter == Filter::Point {
            let index = std::array::from_fn(|axis| {
                if axis >= axes {
                    return fixed[axis];
                }
                let place = mode.place(axis, f64::from(at[axis]), size(axis));
                mode.index(axis, place.floor(), size(axis))
            });
            return self.texel(mode, index);
        }
        let pairs: Vec<[(Index, f64); 2]> = (0..axes)
            .map(|axis| mode.pair(axis, f64::from(at[axis]), size(axis)))
            .collect();
        let mut sum = [0.0; 4];
        for corner in 0..1usize << axes {
            let mut weight = 1.0;
            let mut index = fixed;
            for (axis, pair) in pairs.iter().enumerate() {
                let (place, share) = pair[corner >> axis & 1];
                index[axis] = place;
                weight *= share;
            }
            let texel = self.texel(mode, index);
            for (sum, value) in sum.iter_mut().zip(texel) {
                *sum += weight * value;
            }
        }
        sum
    }

    /// One channel of the four texels that linear filtering in two dimensions reads, in the order of `tex2Dgather`.
    pub(super) fn gather(&self, mode: &Mode, at: [f32; 2], channel: usize) -> [f64; 4] {
        let columns = mode.pair(0, f64::from(at[0]), self.extent[0] as f64);
        let rows = mode.pair(1, f64::from(at[1]), self.extent[1] as f64);
        [(0, 1), (1, 1), (1, 0), (0, 0)]
            .map(|(x, y)| self.texel(mode, [columns[x].0, rows[y].0, Some(0)])[channel])
    }
}
