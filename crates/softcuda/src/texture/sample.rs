//! Reading a texture.

use super::coordinate::{AddressMode, Axis, Pair};
use super::object::{Filter, Kind, Texture};
use super::{Detail, Level, TextureRequest, cube, format, lod};

/// Operands of a texture instruction in, its four results out: see [`TextureRequest`].
pub(crate) type Slots = [u32; 16];

/// Where to read: the coordinates, and the layer or face.
#[derive(Clone, Copy)]
struct Place {
    at: [f32; 3],
    /// How many coordinates count.
    axes: usize,
    /// The slice of layers and faces, which are not filtered.
    layer: Option<u32>,
    /// The face, where filtering goes on over its edges.
    seamless: Option<u32>,
}

/// What comes out: floats, or integers as they are.
#[derive(Clone, Copy)]
enum Value {
    Floats([f32; 4]),
    Bits([u32; 4]),
}

impl Value {
    fn bits(self) -> [u32; 4] {
        match self {
            Self::Floats(values) => values.map(f32::to_bits),
            Self::Bits(bits) => bits,
        }
    }
}

impl Texture {
    /// Executes a texture read.
    pub(crate) fn read(&self, request: TextureRequest, slots: &Slots) -> [u32; 4] {
        if request.integer {
            return self.fetch(request, slots).bits();
        }
        let layered = usize::from(request.geometry.is_layered());
        let count = request.geometry.coordinates();
        let at: [f32; 3] = core::array::from_fn(|axis| {
            if axis < count {
                f32::from_bits(slots[layered + axis])
            } else {
                0.0
            }
        });
        let layer = (layered == 1).then_some(slots[0]);
        if request.geometry.is_cube() {
            return self.read_cube(request.detail, at, layer, slots).bits();
        }
        let last = self.level(0).extent[2] - 1;
        let place = Place {
            at,
            axes: count,
            layer: layer.map(|layer| layer.min(last)),
            seamless: None,
        };
        self.at_detail(request.detail, place, |at| at, slots).bits()
    }

    /// A texel at integer coordinates, of a level if the instruction names one.
    fn fetch(&self, request: TextureRequest, slots: &Slots) -> Value {
        let layered = usize::from(request.geometry.is_layered());
        let number = match request.detail {
            Detail::Level => (slots[4] as usize).min(self.level_count() - 1),
            _ => 0,
        };
        let level = self.level(number);
        let mut texel = [Some(0); 3];
        for (axis, place) in texel
            .iter_mut()
            .enumerate()
            .take(request.geometry.coordinates())
        {
            let index = slots[layered + axis].cast_signed();
            let size = level.extent[axis];
            *place = if self.kind == Kind::Linear {
                // Outside of linear memory there are zeros.
                u32::try_from(index).ok().filter(|&index| index < size)
            } else {
                Axis {
                    mode: self.sampler.address[axis],
                    normalized: false,
                    size,
                }
                .exact(index)
            };
        }
        if layered == 1 {
            texel[2] = Some(slots[0].min(level.extent[2] - 1));
        }
        self.value(level, texel)
    }

    fn read_cube(
        &self,
        detail: Detail,
        direction: [f32; 3],
        layer: Option<u32>,
        slots: &Slots,
    ) -> Value {
        let face = cube::face(direction);
        let [s, t] = face.coordinates();
        let cubes = (self.level(0).extent[2] / 6).max(1);
        let first = layer.unwrap_or(0).min(cubes - 1) * 6;
        let slice = (first + face.number).min(self.level(0).extent[2] - 1);
        let place = Place {
            at: [s, t, 0.0],
            axes: 2,
            layer: Some(slice),
            seamless: self.sampler.seamless.then_some(face.number),
        };
        // The gradient of s / m is (ds - dm * s / m) / m, and half of that in coordinates from 0 to 1.
        let project = |d: [f32; 3]| {
            let change = cube::on(face.number, d);
            let ratio = [face.s / face.m, face.t / face.m];
            [
                (change.s - change.m * ratio[0]) / face.m / 2.0,
                (change.t - change.m * ratio[1]) / face.m / 2.0,
                0.0,
            ]
        };
        self.at_detail(detail, place, project, slots)
    }

    fn at_detail(
        &self,
        detail: Detail,
        place: Place,
        project: impl Fn([f32; 3]) -> [f32; 3],
        slots: &Slots,
    ) -> Value {
        match detail {
            Detail::Base => self.mixed(place, 0.0),
            Detail::Level => self.mixed(place, f32::from_bits(slots[4])),
            Detail::Gather(channel) => self.gather(place, channel),
            Detail::Gradient => {
                let vector = |from: usize| {
                    project(core::array::from_fn(|axis| {
                        f32::from_bits(slots[from + axis])
                    }))
                };
                let (dx, dy) = (vector(4), vector(8));
                let scale = core::array::from_fn(|axis| {
                    if axis >= place.axes {
                        0.0
                    } else if self.sampler.normalized || place.seamless.is_some() {
                        self.level(0).extent[axis] as f32
                    } else {
                        1.0
                    }
                });
                let footprint = lod::footprint(&self.sampler, dx, dy, scale);
                if footprint.probes == 1 {
                    return self.mixed(place, footprint.detail);
                }
                self.averaged(place, &footprint)
            }
        }
    }

    /// The mean of probes along the longer gradient.
    fn averaged(&self, place: Place, footprint: &lod::Footprint) -> Value {
        let count = footprint.probes as f32;
        let mut sum = [0f32; 4];
        for probe in 0..footprint.probes {
            let share = (probe as f32 + 0.5) / count - 0.5;
            let mut here = place;
            for (coordinate, step) in here.at.iter_mut().zip(footprint.axis) {
                *coordinate += share * step;
            }
            match self.mixed(here, footprint.detail) {
                Value::Floats(values) => sum = core::array::from_fn(|i| sum[i] + values[i]),
                bits @ Value::Bits(_) => return bits,
            }
        }
        Value::Floats(sum.map(|value| value / count))
    }

    /// The value between two mip levels.
    fn mixed(&self, place: Place, detail: f32) -> Value {
        let levels = if self.is_mipmapped {
            lod::levels(&self.sampler, detail, self.level_count())
        } else {
            return self.filtered(0, place);
        };
        let first = self.filtered(levels.first, place);
        if levels.weight == 0 {
            return first;
        }
        match (first, self.filtered(levels.second, place)) {
            (Value::Floats(first), Value::Floats(second)) => {
                let weight = levels.weight as f32 / 256.0;
                Value::Floats(core::array::from_fn(|i| {
                    first[i] * (1.0 - weight) + second[i] * weight
                }))
            }
            (first, _) => first,
        }
    }

    fn axis(&self, level: &Level, axis: usize, place: &Place) -> Axis {
        let cube = place.seamless.is_some() || self.is_cube;
        Axis {
            mode: if cube {
                AddressMode::Clamp
            } else {
                self.sampler.address[axis]
            },
            normalized: self.sampler.normalized || cube,
            size: level.extent[axis],
        }
    }

    /// The value of one level.
    fn filtered(&self, number: usize, place: Place) -> Value {
        let level = *self.level(number);
        if self.sampler.filter == Filter::Point || !self.is_fraction() {
            let mut texel = [Some(0), Some(0), place.layer.or(Some(0))];
            for (axis, index) in texel.iter_mut().enumerate().take(place.axes) {
                *index = self.axis(&level, axis, &place).nearest(place.at[axis]);
            }
            return self.value(&level, texel);
        }
        let mut pairs: [Pair; 3] = [([Some(0); 2], 0); 3];
        for (axis, pair) in pairs.iter_mut().enumerate().take(place.axes) {
            *pair = self.axis(&level, axis, &place).pair(place.at[axis]);
        }
        if let Some(layer) = place.layer {
            pairs[2] = ([Some(layer); 2], 0);
        }
        let mut sum = [0f32; 4];
        for corner in 0..1usize << place.axes {
            let pick = |axis: usize| corner >> axis & 1;
            // Products of up to three 256ths are exact.
            let weight = (0..place.axes)
                .map(|axis| {
                    let second = pairs[axis].1;
                    let share = if pick(axis) == 1 {
                        second
                    } else {
                        256 - second
                    };
                    share as f32 / 256.0
                })
                .product::<f32>();
            if weight == 0.0 {
                continue;
            }
            let texel = core::array::from_fn(|axis| pairs[axis].0[pick(axis)]);
            let values = match (place.seamless, place.layer) {
                (Some(face), Some(slice)) => {
                    self.across_edge(&level, face, slice, &place, [pick(0), pick(1)])
                }
                _ => self.floats(&level, texel),
            };
            sum = core::array::from_fn(|i| sum[i] + values[i] * weight);
        }
        Value::Floats(sum)
    }

    /// A texel of a cube map that may lie beyond the edge of its face, on the neighbour.
    fn across_edge(
        &self,
        level: &Level,
        face: u32,
        slice: u32,
        place: &Place,
        corner: [usize; 2],
    ) -> [f32; 4] {
        let size = level.extent[0];
        let index: [i64; 2] = core::array::from_fn(|axis| {
            self.axis(level, axis, place).first(place.at[axis]) + corner[axis] as i64
        });
        let inside = |i: i64| (0..i64::from(size)).contains(&i);
        if inside(index[0]) && inside(index[1]) {
            return self.floats(
                level,
                [Some(index[0] as u32), Some(index[1] as u32), Some(slice)],
            );
        }
        // The texel's centre, as a direction, points to the neighbour.
        let centre = index.map(|i| (i as f32 + 0.5) / size as f32 * 2.0 - 1.0);
        let found = cube::face(cube::direction(face, centre));
        let texel = found
            .coordinates()
            .map(|c| Some(((c * size as f32).floor() as i64).clamp(0, i64::from(size) - 1) as u32));
        self.floats(
            level,
            [texel[0], texel[1], Some(slice - face + found.number)],
        )
    }

    /// One channel of the four texels around: (0, 1), (1, 1), (1, 0), (0, 0), the order of `tld4`.
    fn gather(&self, place: Place, channel: u32) -> Value {
        let level = *self.level(0);
        let (columns, _) = self.axis(&level, 0, &place).pair(place.at[0]);
        let (rows, _) = self.axis(&level, 1, &place).pair(place.at[1]);
        let slice = place.layer.or(Some(0));
        let texel = |x: usize, y: usize| {
            self.value(&level, [columns[x], rows[y], slice]).bits()[channel as usize]
        };
        Value::Bits([texel(0, 1), texel(1, 1), texel(1, 0), texel(0, 0)])
    }

    /// The stored texel, or `None` for the border.
    fn texel(&self, level: &Level, texel: [Option<u32>; 3]) -> Option<u128> {
        let [Some(x), Some(y), Some(z)] = texel else {
            return None;
        };
        let [width, height, depth] = level.extent;
        let (x, y, z) = (x.min(width - 1), y.min(height - 1), z.min(depth - 1));
        let bytes = self.format.bytes();
        let address = level.address
            + u64::from(z) * level.slice
            + u64::from(y) * level.pitch
            + u64::from(x) * u64::from(bytes);
        // SAFETY: the indices are inside of the level, which lies in the array that this texture keeps, or in linear memory
        // that was checked to be allocated; pages of the device's range stay accessible. A level begins at a multiple of 512,
        // or of the texel's size for linear memory, and pitches are multiples of the texel's size.
        Some(unsafe { format::read(address, bytes) })
    }

    fn floats(&self, level: &Level, texel: [Option<u32>; 3]) -> [f32; 4] {
        self.texel(level, texel).map_or(self.outside(), |texel| {
            self.format.floats(texel, self.sampler.srgb)
        })
    }

    /// What is outside: the border colour, zeros around linear memory.
    fn outside(&self) -> [f32; 4] {
        if self.kind == Kind::Linear {
            [0.0; 4]
        } else {
            self.sampler.border
        }
    }

    fn value(&self, level: &Level, texel: [Option<u32>; 3]) -> Value {
        if self.is_fraction() {
            return Value::Floats(self.floats(level, texel));
        }
        Value::Bits(match self.texel(level, texel) {
            Some(texel) => self.format.lanes(texel),
            None => self.outside().map(|value| (value as i64) as u32),
        })
    }
}
