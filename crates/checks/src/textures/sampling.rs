//! What comes out of textures, in all modes.

use cuprum::driver::DeviceCopy;
use cuprum::prelude::{DeviceBuffer, LaunchConfig};
use cuprum::texsurf::{AddressMode, Array, Filter, Read, Sampling, Shape, Texel, Texture};
use proptest::prelude::*;

use super::reference::{Mode, Picture};
use crate::check::{Check, Failure, Report, Subject, check, ensure, property};
use crate::runner::{Kernels, length};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(floats_in_all_modes),
        check!(fractions_in_all_modes),
        check!(integers_are_read_as_they_are),
        check!(weights_are_256ths),
        check!(layers_are_not_mixed),
        check!(four_texels_are_gathered),
        check!(cubes_are_read_by_direction),
        check!(seamless_cubes_are_filtered_over_edges),
        check!(srgb_is_read_as_light),
    ]
}

/// Each kernel reads one texture at each of `n` places: `at` holds four coordinates a place, the fourth a layer.
const SOURCE: &str = r#"
#define PLACE int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; \
    float x = at[i].x, y = at[i].y, z = at[i].z; int l = (int)at[i].w; (void)x; (void)y; (void)z; (void)l;
#define READ(NAME, TYPE, CALL) \
    extern "C" __global__ void NAME(cudaTextureObject_t t, const float4 *at, TYPE *out, int n) { PLACE out[i] = CALL; }
READ(float_1d, float4, tex1D<float4>(t, x))
READ(float_2d, float4, (tex2D<float4>(t, x, y)))
READ(float_3d, float4, (tex3D<float4>(t, x, y, z)))
READ(int_1d, int4, tex1D<int4>(t, x))
READ(int_2d, int4, (tex2D<int4>(t, x, y)))
READ(int_3d, int4, (tex3D<int4>(t, x, y, z)))
READ(layers_1d, float4, (tex1DLayered<float4>(t, x, l)))
READ(layers_2d, float4, (tex2DLayered<float4>(t, x, y, l)))
READ(gather_0, float4, (tex2Dgather<float4>(t, x, y, 0)))
READ(gather_3, float4, (tex2Dgather<float4>(t, x, y, 3)))
READ(cube, float4, (texCubemap<float4>(t, x, y, z)))
"#;

/// Places to read at, a launch and its results.
fn read<R: DeviceCopy>(
    kernels: &Kernels,
    name: &str,
    texture: &Texture<'_>,
    at: &[[f32; 4]],
) -> Result<Vec<R>, Failure> {
    let places = kernels.upload(at)?;
    let mut out: DeviceBuffer<R> = kernels.zeros(at.len())?;
    kernels.launch(
        name,
        LaunchConfig::for_elements_in(at.len(), 96),
        (texture, &places, &mut out, length(at.len())),
    )?;
    Ok(out.to_vec()?)
}

/// A way of reading, and places: multiples of 1/512 texel, inside and up to two sizes outside. Sizes are powers of two, so
/// that coordinates are exact.
#[derive(Clone, Debug)]
struct Reading {
    axes: usize,
    extent: [usize; 3],
    mode: Mode,
    steps: Vec<[i64; 3]>,
}

fn address_mode() -> impl Strategy<Value = AddressMode> {
    prop_oneof![
        Just(AddressMode::Wrap),
        Just(AddressMode::Clamp),
        Just(AddressMode::Mirror),
        Just(AddressMode::Border),
    ]
}

fn reading(filters: &'static [Filter]) -> impl Strategy<Value = Reading> {
    let extent = [0u32..5, 0u32..5, 0u32..4].map(|log| log.prop_map(|log| 1usize << log));
    (
        1usize..=3,
        extent,
        [address_mode(), address_mode(), address_mode()],
        proptest::sample::select(filters),
        any::<bool>(),
        proptest::collection::vec(proptest::array::uniform3(-0x8000i64..0x8000), 1..100),
    )
        .prop_map(|(axes, extent, address, filter, normalized, steps)| {
            let extent = std::array::from_fn(|axis| if axis < axes { extent[axis] } else { 1 });
            let limit = |axis: usize| extent[axis] as i64 * 512;
            Reading {
                axes,
                extent,
                mode: Mode {
                    address,
                    filter,
                    normalized,
                    border: [0.25, -8.0, 3.0, 100.0],
                },
                steps: steps
                    .into_iter()
                    .map(|step| {
                        std::array::from_fn(|axis| {
                            step[axis].rem_euclid(5 * limit(axis)) - 2 * limit(axis)
                        })
                    })
                    .collect(),
            }
        })
}

impl Reading {
    fn shape(&self) -> Shape {
        let [width, height, depth] = self.extent;
        match self.axes {
            1 => Shape::d1(width),
            2 => Shape::d2(width, height),
            _ => Shape::d3(width, height, depth),
        }
    }

    fn sampling(&self) -> Sampling {
        Sampling::new()
            .address_each(self.mode.address)
            .filter(self.mode.filter)
            .normalized(self.mode.normalized)
            .border(self.mode.border.map(|value| value as f32))
    }

    /// The coordinates of a place.
    fn places(&self) -> Vec<[f32; 4]> {
        let place = |step: &[i64; 3]| {
            let mut at = [0f32; 4];
            for axis in 0..self.axes {
                let unit = if self.mode.normalized {
                    512 * self.extent[axis]
                } else {
                    512
                };
                at[axis] = step[axis] as f32 / unit as f32;
            }
            at
        };
        self.steps.iter().map(place).collect()
    }

    fn kernel(&self, kind: &str) -> String {
        format!("{kind}_{}d", self.axes)
    }

    /// Reads on the device and on the host, and compares.
    fn compare<T: Texel>(
        &self,
        subject: &Subject,
        kernels: &Kernels,
        texels: &[T],
        value: impl Fn(&T) -> [f64; 4],
        sampling: Sampling,
        most: f64,
    ) -> Result<f64, Failure> {
        let array = Array::from_slice(&subject.stream, self.shape(), texels)?;
        let texture = Texture::new(&array, &sampling)?;
        let places = self.places();
        let found: Vec<[f32; 4]> = read(kernels, &self.kernel("float"), &texture, &places)?;
        let picture = Picture {
            extent: self.extent,
            texels: texels.iter().map(value).collect(),
        };
        let mut largest = 0f64;
        for (place, found) in places.iter().zip(&found) {
            let at = [place[0], place[1], place[2]];
            let want = picture.sample(&self.mode, at, self.axes, 0);
            for (found, want) in found.iter().zip(want) {
                let apart = (f64::from(*found) - want).abs() / want.abs().max(1.0);
                let close = apart <= most;
                ensure!(close, "at {at:?}: {found}, want {want} ({self:?})");
                largest = largest.max(apart);
            }
        }
        Ok(largest)
    }
}

/// Numbers that look random.
fn noise(seed: usize) -> u32 {
    let mut x = (seed as u32).wrapping_mul(0x9e37_79b9) ^ 0x85eb_ca6b;
    x ^= x >> 15;
    x = x.wrapping_mul(0x2c1b_3c6d);
    x ^ x >> 13
}

fn floats_in_all_modes(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let mut largest = 0f64;
    let report = property(reading(&[Filter::Point, Filter::Linear]), |reading| {
        let count: usize = reading.extent.iter().product();
        let texels: Vec<[f32; 4]> = (0..count)
            .map(|i| std::array::from_fn(|c| (noise(i * 4 + c) % 4001) as f32 - 2000.0))
            .collect();
        let most = if reading.mode.filter == Filter::Point {
            0.0
        } else {
            2e-6 * 2000.0
        };
        let value = |texel: &[f32; 4]| texel.map(f64::from);
        let apart = reading.compare(subject, &kernels, &texels, value, reading.sampling(), most)?;
        largest = largest.max(apart);
        Ok(())
    })?;
    Ok(Report {
        largest_error: largest,
        ..report
    })
}

fn fractions_in_all_modes(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let bytes = property(reading(&[Filter::Point, Filter::Linear]), |mut reading| {
        reading.mode.border = [0.0, 1.0, 0.5, 0.25];
        let count: usize = reading.extent.iter().product();
        let texels: Vec<[u8; 4]> = (0..count).map(|i| noise(i).to_le_bytes()).collect();
        let value = |texel: &[u8; 4]| texel.map(|byte| f64::from(byte) / 255.0);
        let sampling = reading.sampling().read(Read::Normalized);
        reading
            .compare(subject, &kernels, &texels, value, sampling, 1e-6)
            .map(drop)
    })?;
    let words = property(reading(&[Filter::Point, Filter::Linear]), |mut reading| {
        reading.mode.border = [0.0, 1.0, -0.5, 0.25];
        let count: usize = reading.extent.iter().product();
        let texels: Vec<[i16; 4]> = (0..count)
            .map(|i| std::array::from_fn(|c| noise(i * 4 + c) as i16))
            .collect();
        let value = |texel: &[i16; 4]| texel.map(|word| (f64::from(word) / 32_767.0).max(-1.0));
        let sampling = reading.sampling().read(Read::Normalized);
        reading
            .compare(subject, &kernels, &texels, value, sampling, 1e-6)
            .map(drop)
    })?;
    Ok(bytes.and(words))
}

/// Reads integers at points: all numbers of the type come through.
fn integers<T: Texel>(
    subject: &Subject,
    kernels: &Kernels,
    reading: &Reading,
    make: impl Fn(u32) -> T,
    value: impl Fn(&T) -> [i64; 4],
) -> Result<(), Failure> {
    let mut reading = reading.clone();
    reading.mode.border = [0.0; 4];
    let count: usize = reading.extent.iter().product();
    let texels: Vec<T> = (0..count).map(|i| make(noise(i))).collect();
    let array = Array::from_slice(&subject.stream, reading.shape(), &texels)?;
    let texture = Texture::new(&array, &reading.sampling())?;
    let places = reading.places();
    let found: Vec<[i32; 4]> = read(kernels, &reading.kernel("int"), &texture, &places)?;
    let picture = Picture {
        extent: reading.extent,
        texels: texels.iter().map(|t| value(t).map(|v| v as f64)).collect(),
    };
    for (place, found) in places.iter().zip(&found) {
        let at = [place[0], place[1], place[2]];
        let want = picture.sample(&reading.mode, at, reading.axes, 0);
        let want = want.map(|v| v as i64 as i32);
        // What a format has no channel for is not asked here.
        let channels = T::CHANNELS as usize;
        ensure!(
            found[..channels] == want[..channels],
            "at {at:?}: {found:?}, want {want:?} ({reading:?})"
        );
    }
    Ok(())
}

fn integers_are_read_as_they_are(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    property(reading(&[Filter::Point]), |reading| {
        let one = |v: i64| [v, 0, 0, 0];
        integers(
            subject,
            &kernels,
            &reading,
            |n| n as u8,
            |&t| one(i64::from(t)),
        )?;
        integers(
            subject,
            &kernels,
            &reading,
            |n| n as i8,
            |&t| one(i64::from(t)),
        )?;
        integers(
            subject,
            &kernels,
            &reading,
            |n| n as u16,
            |&t| one(i64::from(t)),
        )?;
        integers(
            subject,
            &kernels,
            &reading,
            |n| n as i32,
            |&t| one(i64::from(t)),
        )?;
        integers(
            subject,
            &kernels,
            &reading,
            |n| [n as i16, (n >> 16) as i16],
            |t| [i64::from(t[0]), i64::from(t[1]), 0, 0],
        )?;
        integers(
            subject,
            &kernels,
            &reading,
            |n| [n, !n, n.rotate_left(7), n ^ 0x5555],
            |t| t.map(i64::from),
        )
    })
}

/// Two texels, one of them hot: the value is the weight. Each step of 1/512 texel from centre to centre.
fn weights_are_256ths(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let array = Array::from_slice(&subject.stream, Shape::d1(2), &[[0.0f32; 4], [1.0; 4]])?;
    let texture = Texture::new(&array, &Sampling::new().filter(Filter::Linear))?;
    let places: Vec<[f32; 4]> = (0..=512)
        .map(|k| [0.5 + k as f32 / 512.0, 0.0, 0.0, 0.0])
        .collect();
    let found: Vec<[f32; 4]> = read(&kernels, "float_1d", &texture, &places)?;
    for (k, found) in found.iter().enumerate() {
        let want = ((k as f64 / 512.0 * 256.0 + 0.5).floor() / 256.0) as f32;
        ensure!(found[0] == want, "{k}/512: {}, want {want}", found[0]);
    }
    Ok(Report::exact(513))
}

fn layers_are_not_mixed(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let layers = 5usize;
    property(reading(&[Filter::Point, Filter::Linear]), |reading| {
        let axes = reading.axes.min(2);
        let [width, height, _] = reading.extent;
        let height = if axes == 1 { 1 } else { height };
        let texels: Vec<[f32; 4]> = (0..width * height * layers)
            .map(|i| std::array::from_fn(|c| (noise(i * 4 + c) % 1000) as f32))
            .collect();
        let shape = if axes == 1 {
            Shape::layers_1d(width, layers)
        } else {
            Shape::layers_2d(width, height, layers)
        };
        let array = Array::from_slice(&subject.stream, shape, &texels)?;
        let texture = Texture::new(&array, &reading.sampling())?;
        let mut places = reading.places();
        for (number, place) in places.iter_mut().enumerate() {
            place[3] = (number % layers) as f32;
        }
        let name = if axes == 1 { "layers_1d" } else { "layers_2d" };
        let found: Vec<[f32; 4]> = read(&kernels, name, &texture, &places)?;
        let picture = Picture {
            extent: [width, height, layers],
            texels: texels.iter().map(|texel| texel.map(f64::from)).collect(),
        };
        for (number, (place, found)) in places.iter().zip(&found).enumerate() {
            let at = [place[0], place[1], 0.0];
            let want = picture.sample(&reading.mode, at, axes, number % layers);
            let close = found
                .iter()
                .zip(want)
                .all(|(found, want)| (f64::from(*found) - want).abs() <= 1e-3);
            ensure!(
                close,
                "at {place:?}: {found:?}, want {want:?} ({reading:?})"
            );
        }
        Ok(())
    })
}

fn four_texels_are_gathered(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    property(reading(&[Filter::Point]), |mut reading| {
        // Places halfway between texels are where the four change: stay off them.
        reading.axes = 2;
        reading.mode.address = reading.mode.address.map(|mode| match mode {
            AddressMode::Border => AddressMode::Clamp,
            other => other,
        });
        for step in &mut reading.steps {
            for value in step {
                *value = value.div_euclid(512) * 512 + 128;
            }
        }
        let [width, height, _] = reading.extent;
        let texels: Vec<[f32; 4]> = (0..width * height)
            .map(|i| std::array::from_fn(|c| (noise(i * 4 + c) % 1000) as f32))
            .collect();
        let shape = Shape::d2(width, height).with_gather();
        let array = Array::from_slice(&subject.stream, shape, &texels)?;
        let texture = Texture::new(&array, &reading.sampling())?;
        let places = reading.places();
        let picture = Picture {
            extent: [width, height, 1],
            texels: texels.iter().map(|texel| texel.map(f64::from)).collect(),
        };
        for (name, channel) in [("gather_0", 0), ("gather_3", 3)] {
            let found: Vec<[f32; 4]> = read(&kernels, name, &texture, &places)?;
            for (place, found) in places.iter().zip(&found) {
                let want = picture.gather(&reading.mode, [place[0], place[1]], channel);
                let found = found.map(f64::from);
                ensure!(
                    found == want,
                    "at {place:?}: {found:?}, want {want:?} ({reading:?})"
                );
            }
        }
        Ok(())
    })
}

fn cubes_are_read_by_direction(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let side = 8usize;
    let texels: Vec<[f32; 4]> = (0..6 * side * side)
        .map(|i| {
            [
                i as f32,
                (i / (side * side)) as f32,
                (i % side) as f32,
                (i / side % side) as f32,
            ]
        })
        .collect();
    let array = Array::from_slice(&subject.stream, Shape::cube(side), &texels)?;
    let texture = Texture::new(&array, &Sampling::new().normalized(true))?;
    // The centre of every texel of every face, as a direction of any length.
    let mut places = Vec::new();
    for face in 0..6 {
        for row in 0..side {
            for column in 0..side {
                let c = |i: usize| (i as f32 + 0.5) / side as f32 * 2.0 - 1.0;
                let (s, t) = (c(column), c(row));
                // The table of the programming guide, solved for the direction.
                let [x, y, z] = match face {
                    0 => [1.0, -t, -s],
                    1 => [-1.0, -t, s],
                    2 => [s, 1.0, t],
                    3 => [s, -1.0, -t],
                    4 => [s, -t, 1.0],
                    _ => [-s, -t, -1.0],
                };
                let length = 0.5 + places.len() as f32 / 64.0;
                places.push([x * length, y * length, z * length, 0.0]);
            }
        }
    }
    let found: Vec<[f32; 4]> = read(&kernels, "cube", &texture, &places)?;
    for (number, found) in found.iter().enumerate() {
        ensure!(
            *found == texels[number],
            "direction {:?}: {found:?}, want {:?}",
            places[number],
            texels[number]
        );
    }
    Ok(Report::exact(places.len() as u64))
}

/// Faces of one colour each: halfway between two faces, a seamless cube map has the mean of both, another the face's own.
fn seamless_cubes_are_filtered_over_edges(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let side = 4usize;
    let colours = [1.0f32, 2.0, 4.0, 8.0, 16.0, 32.0];
    let texels: Vec<[f32; 4]> = (0..6 * side * side)
        .map(|i| [colours[i / (side * side)]; 4])
        .collect();
    let array = Array::from_slice(&subject.stream, Shape::cube(side), &texels)?;
    // Edges of +x with +z, -z, +y and -y; and two places well inside.
    let places = [
        ([1.0f32, 0.0, 1.0, 0.0], (1.0 + 16.0) / 2.0),
        ([1.0, 0.0, -1.0, 0.0], (1.0 + 32.0) / 2.0),
        ([1.0, 1.0, 0.0, 0.0], (1.0 + 4.0) / 2.0),
        ([1.0, -1.0, 0.0, 0.0], (1.0 + 8.0) / 2.0),
        ([1.0, 0.1, 0.1, 0.0], 1.0),
        ([0.1, -0.1, -1.0, 0.0], 32.0),
    ];
    let at = places.map(|(place, _)| place);
    for seamless in [false, true] {
        let sampling = Sampling::new()
            .normalized(true)
            .filter(Filter::Linear)
            .seamless_cube(seamless);
        let texture = Texture::new(&array, &sampling)?;
        let found: Vec<[f32; 4]> = read(&kernels, "cube", &texture, &at)?;
        for ((place, mean), found) in places.iter().zip(found) {
            let own = if place[0] == 1.0 { 1.0 } else { 32.0 };
            let want = if seamless { *mean } else { own };
            ensure!(
                found[0] == want,
                "seamless {seamless}, at {place:?}: {}, want {want}",
                found[0]
            );
        }
    }
    Ok(Report::exact(12))
}

/// Every value of a byte, by the curve of IEC 61966-2-1; alpha is as it is.
fn srgb_is_read_as_light(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let texels: Vec<[u8; 4]> = (0..=255).map(|byte| [byte; 4]).collect();
    let array = Array::from_slice(&subject.stream, Shape::d1(256), &texels)?;
    let sampling = Sampling::new().read(Read::Normalized).srgb(true);
    let texture = Texture::new(&array, &sampling)?;
    let at: Vec<[f32; 4]> = (0..256).map(|i| [i as f32 + 0.5, 0.0, 0.0, 0.0]).collect();
    let found: Vec<[f32; 4]> = read(&kernels, "float_1d", &texture, &at)?;
    let mut largest = 0f64;
    for (byte, found) in found.iter().enumerate() {
        let value = byte as f64 / 255.0;
        let light = if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        };
        for (found, want) in found.iter().zip([light, light, light, value]) {
            let apart = (f64::from(*found) - want).abs();
            let close = apart <= 1e-3;
            ensure!(close, "{byte}: {found}, want {want}");
            largest = largest.max(apart);
        }
    }
    Ok(Report {
        cases: 1024,
        largest_error: largest,
    })
}
