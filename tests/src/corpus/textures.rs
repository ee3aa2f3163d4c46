//! References of the sources on textures: what the CUDA programming guide says under "Texture fetching", in doubles.

use cuprum::texsurf::{AddressMode, Filter, Read, Sampling, Texel};
use half::f16;

use super::data::Random;
use super::image::{cubes, flat, layers, plane, volume};
use super::lane::Lane;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = one_dimension();
    cases.extend(two_dimensions());
    cases.extend(more_dimensions());
    cases.extend(details());
    cases.extend(queries());
    cases
}

/// A texel of random bits, finite as a float.
fn random<T: Texel>(random: &mut Random) -> T {
    let mut texel = T::zeroed();
    let channels = bytemuck::bytes_of_mut(&mut texel);
    for byte in channels.iter_mut() {
        *byte = random.bits() as u8;
    }
    // Clear the top exponent bit of what may be read as a float.
    let width = channels.len() / T::CHANNELS as usize;
    for channel in channels.chunks_exact_mut(width) {
        channel[width - 1] &= 0xbf;
    }
    texel
}

fn texels<T: Texel>(seed: u64, count: usize) -> Vec<T> {
    let mut source = Random::new(seed);
    (0..count).map(|_| random(&mut source)).collect()
}

/// `fetch_*` and `t1_*` for one type: linear memory by index, zeros outside; an array by coordinate, clamped.
fn pair<T: Texel + Lane>(name: &str, cases: &mut Vec<Case>) {
    let linear = texels::<T>(11, 23);
    let mut want = linear.clone();
    want.resize(32, T::zeroed());
    cases.push(
        Case::new("tex_1d", format!("fetch_{name}"))
            .linear_image(&linear)
            .texture(0, Sampling::new())
            .output(&want, Bound::Equal)
            .scalar(32i32),
    );
    let array = texels::<T>(12, 20);
    for scale in [1.0f32, 0.4, -0.3] {
        let want: Vec<T> = (0..32)
            .map(|thread| {
                let place = (thread as f32 * scale + 0.5).floor();
                array[(place as i64).clamp(0, 19) as usize]
            })
            .collect();
        cases.push(
            Case::new("tex_1d", format!("t1_{name}"))
                .variant(format!("scale {scale}"))
                .image(flat(20), &array)
                .texture(0, Sampling::new())
                .output(&want, Bound::Equal)
                .scalar(scale),
        );
    }
}

/// As [`pair`], for texels of several channels, which are compared channel by channel.
fn wide<T: Texel, C: Lane>(name: &str, cases: &mut Vec<Case>) {
    let channels = |texels: &[T]| bytemuck::cast_slice::<T, C>(texels).to_vec();
    let linear = texels::<T>(13, 30);
    let mut want = linear.clone();
    want.resize(32, T::zeroed());
    cases.push(
        Case::new("tex_1d", format!("fetch_{name}"))
            .linear_image(&linear)
            .texture(0, Sampling::new())
            .output(&channels(&want), Bound::Equal)
            .scalar(32i32),
    );
    let array = texels::<T>(14, 40);
    let want: Vec<T> = (0..32).map(|thread| array[thread]).collect();
    cases.push(
        Case::new("tex_1d", format!("t1_{name}"))
            .image(flat(40), &array)
            .texture(0, Sampling::new().address(AddressMode::Border))
            .output(&channels(&want), Bound::Equal)
            .scalar(1.0f32),
    );
}

fn one_dimension() -> Vec<Case> {
    let mut cases = Vec::new();
    pair::<f32>("f1", &mut cases);
    pair::<i32>("i1", &mut cases);
    pair::<u32>("u1", &mut cases);
    pair::<i8>("c1", &mut cases);
    pair::<i8>("sc1", &mut cases);
    pair::<u8>("uc1", &mut cases);
    pair::<i16>("s1", &mut cases);
    pair::<u16>("us1", &mut cases);
    wide::<[f32; 2], f32>("f2", &mut cases);
    wide::<[f32; 4], f32>("f4", &mut cases);
    wide::<[i32; 2], i32>("i2", &mut cases);
    wide::<[i32; 4], i32>("i4", &mut cases);
    wide::<[u32; 2], u32>("u2", &mut cases);
    wide::<[u32; 4], u32>("u4", &mut cases);
    wide::<[i8; 2], i8>("c2", &mut cases);
    wide::<[i8; 4], i8>("c4", &mut cases);
    wide::<[u8; 2], u8>("uc2", &mut cases);
    wide::<[u8; 4], u8>("uc4", &mut cases);
    wide::<[i16; 2], i16>("s2", &mut cases);
    wide::<[i16; 4], i16>("s4", &mut cases);
    wide::<[u16; 2], u16>("us2", &mut cases);
    wide::<[u16; 4], u16>("us4", &mut cases);
    let doubles: Vec<f64> = (0..32).map(|i| f64::from(i) * 1.25 - 7.0).collect();
    let halves: Vec<[i32; 2]> = doubles
        .iter()
        .map(|x| [x.to_bits() as i32, (x.to_bits() >> 32) as i32])
        .collect();
    cases.push(
        Case::new("tex_1d", "fetch_double")
            .linear_image(&halves)
            .texture(0, Sampling::new())
            .output(&doubles, Bound::Equal),
    );
    // Half precision, and integers read as fractions, through the kernels that return floats.
    let stored: Vec<f16> = (0..20)
        .map(|i| f16::from_f32(i as f32 * 0.7 - 3.0))
        .collect();
    let want: Vec<f32> = (0..32).map(|i| stored[i.min(19)].to_f32()).collect();
    cases.push(
        Case::new("tex_1d", "t1_f1")
            .variant("half")
            .image(flat(20), &stored)
            .texture(0, Sampling::new())
            .output(&want, Bound::Equal)
            .scalar(1.0f32),
    );
    let stored: Vec<i8> = (0..32).map(|i| (i * 8 - 128) as i8).collect();
    let want: Vec<f32> = stored
        .iter()
        .map(|&x| (f32::from(x) / 127.0).max(-1.0))
        .collect();
    cases.push(
        Case::new("tex_1d", "t1_f1")
            .variant("fractions")
            .image(flat(32), &stored)
            .texture(0, Sampling::new().read(Read::Normalized))
            .output(&want, Bound::Ulp(1.0))
            .scalar(1.0f32),
    );
    let ramp = [0.0f32, 8.0, 64.0, 16.0];
    // Linear filtering: halfway between centres, and clamped at both ends.
    let want: Vec<f32> = (0..32)
        .map(|thread| linear(f64::from(thread) * 0.125 + 0.5, &ramp) as f32)
        .collect();
    cases.push(
        Case::new("tex_1d", "t1_f1")
            .variant("linear")
            .image(flat(4), &ramp)
            .texture(0, Sampling::new().filter(Filter::Linear))
            .output(&want, Bound::Equal)
            .scalar(0.125f32),
    );
    cases
}

/// The two texels around a place, clamped to the edges, and the weight of the second, rounded to 256ths.
fn around(place: f64, count: usize) -> (usize, usize, f64) {
    let steps = ((place - 0.5) * 256.0 + 0.5).floor();
    let first = (steps / 256.0).floor();
    let weight = (steps - first * 256.0) / 256.0;
    let clamp = |i: f64| i.clamp(0.0, (count - 1) as f64) as usize;
    (clamp(first), clamp(first + 1.0), weight)
}

fn linear(place: f64, texels: &[f32]) -> f64 {
    let (first, second, weight) = around(place, texels.len());
    f64::from(texels[first]) * (1.0 - weight) + f64::from(texels[second]) * weight
}

fn two_dimensions() -> Vec<Case> {
    let mut cases = Vec::new();
    // A smooth picture, so that the rounding of sines moves results little.
    let (width, height) = (24usize, 16usize);
    let smooth: Vec<f32> = (0..width * height)
        .map(|i| (i % width) as f32 * 3.0 + (i / width) as f32 * 5.0)
        .collect();
    let (w, h) = (12usize, 10usize);
    let (sine, cosine) = 0.4f64.sin_cos();
    let want: Vec<f32> = (0..w * h)
        .map(|i| {
            let (u, v) = (
                (i % w) as f64 / w as f64 - 0.5,
                (i / w) as f64 / h as f64 - 0.5,
            );
            let x = (u * cosine - v * sine + 0.5) * width as f64;
            let y = (v * cosine + u * sine + 0.5) * height as f64;
            let (left, right, across) = around(x, width);
            let (upper, lower, down) = around(y, height);
            let at = |x: usize, y: usize| f64::from(smooth[y * width + x]);
            let above = at(left, upper) * (1.0 - across) + at(right, upper) * across;
            let below = at(left, lower) * (1.0 - across) + at(right, lower) * across;
            (above * (1.0 - down) + below * down) as f32
        })
        .collect();
    cases.push(
        Case::new("tex_2d", "rotate")
            .shape_3d((1, 1, 1), (16, 16, 1))
            // A weight may be a 256th off in each direction.
            .output(&want, Bound::Absolute(8.5 / 256.0))
            .scalar(w as i32)
            .scalar(h as i32)
            .scalar(0.4f32)
            .image(plane(width, height), &smooth)
            .texture(0, Sampling::new().normalized(true).filter(Filter::Linear)),
    );
    let colours = texels::<[u8; 4]>(21, 8 * 8);
    let want: Vec<u8> = bytemuck::cast_slice::<_, u8>(&colours)
        .iter()
        .map(|&c| (f32::from(c) / 255.0 * 255.0) as u8)
        .collect();
    cases.push(
        Case::new("tex_2d", "rgba_norm")
            .shape_3d((1, 1, 1), (8, 8, 1))
            .output(&want, Bound::Equal)
            .scalar(8i32)
            .scalar(8i32)
            .image(plane(8, 8), &colours)
            .texture(0, Sampling::new().read(Read::Normalized)),
    );
    let (a, b, c) = (
        texels::<[u8; 4]>(22, 64),
        texels::<[i16; 2]>(23, 64),
        texels::<u32>(24, 64),
    );
    let want: Vec<i32> = (0..64)
        .flat_map(|i| {
            [
                i32::from(a[i][0]) + i32::from(a[i][3]),
                i32::from(b[i][0]),
                i32::from(b[i][1]),
                c[i] as i32,
            ]
        })
        .collect();
    cases.push(
        Case::new("tex_2d", "ints")
            .shape_3d((1, 1, 1), (8, 8, 1))
            .output(&want, Bound::Equal)
            .image(plane(8, 8), &a)
            .texture(0, Sampling::new())
            .image(plane(8, 8), &b)
            .texture(1, Sampling::new())
            .image(plane(8, 8), &c)
            .texture(2, Sampling::new()),
    );
    // Several textures, by handles in memory: mirrored and repeated.
    let (one, two) = (texels::<f32>(25, 16), texels::<f32>(26, 8));
    let want: Vec<f32> = (0..32)
        .map(|thread| {
            let (x, y) = (thread as f32 * 0.1, 0.2f32);
            let whole = x.floor();
            let mirrored = if whole as i32 % 2 == 0 {
                x - whole
            } else {
                1.0 - (x - whole)
            };
            let first = one[(y * 4.0) as usize * 4 + ((mirrored * 4.0) as usize).min(3)];
            let second = two[(y * 2.0) as usize * 4 + ((x - whole) * 4.0) as usize];
            0.0 + first + second
        })
        .collect();
    cases.push(
        Case::new("tex_2d", "many")
            .output(&want, Bound::Equal)
            .input(&[0u64; 2])
            .scalar(2i32)
            .image(plane(4, 4), &one)
            .texture_in(
                1,
                0,
                0,
                Sampling::new()
                    .normalized(true)
                    .address(AddressMode::Mirror),
            )
            .image(plane(4, 2), &two)
            .texture_in(
                1,
                8,
                1,
                Sampling::new().normalized(true).address(AddressMode::Wrap),
            ),
    );
    cases
}

fn more_dimensions() -> Vec<Case> {
    let mut cases = Vec::new();
    // Trilinear: weights of halves and quarters.
    let (x, y, z) = (1.75f32, 1.25f32, 2.0f32);
    let single: Vec<f32> = (0..60).map(|i| ((i * 37) % 61) as f32).collect();
    let four: Vec<[f32; 4]> = single.iter().map(|&v| [v, -v, v + 0.5, 2.0 * v]).collect();
    let pairs = texels::<[u16; 2]>(31, 60);
    let at = |x: usize, y: usize, z: usize| (z * 4 + y) * 3 + x;
    let trilinear = |value: &dyn Fn(usize) -> f64| {
        let (x0, x1, a) = around(f64::from(x), 3);
        let (y0, y1, b) = around(f64::from(y), 4);
        let (z0, z1, c) = around(f64::from(z), 5);
        let row = |y, z| value(at(x0, y, z)) * (1.0 - a) + value(at(x1, y, z)) * a;
        let slice = |z| row(y0, z) * (1.0 - b) + row(y1, z) * b;
        (slice(z0) * (1.0 - c) + slice(z1) * c) as f32
    };
    let smooth = Sampling::new().filter(Filter::Linear);
    cases.push(
        Case::new("tex_3d_layered_cube", "t3")
            .shape(1, 1)
            .output(&[trilinear(&|i| f64::from(single[i]))], Bound::Ulp(1.0))
            .output(
                &[0, 1, 2, 3].map(|channel| trilinear(&|i| f64::from(four[i][channel]))),
                Bound::Ulp(1.0),
            )
            .output(&pairs[at(1, 1, 2)], Bound::Equal)
            .image(volume(3, 4, 5), &single)
            .texture(0, smooth)
            .image(volume(3, 4, 5), &four)
            .texture(1, smooth)
            .image(volume(3, 4, 5), &pairs)
            .texture(2, Sampling::new())
            .scalar(x)
            .scalar(y)
            .scalar(z),
    );
    let (rows, planes) = (
        texels::<[f32; 2]>(32, 8 * 3),
        texels::<[f32; 4]>(33, 4 * 5 * 3),
    );
    for layer in [0i32, 2, 9] {
        // Layers beyond the last are the last.
        let l = layer.min(2) as usize;
        let row = rows[l * 8 + 2];
        let texel = planes[(l * 5 + 3) * 4 + 2];
        cases.push(
            Case::new("tex_3d_layered_cube", "lay")
                .variant(format!("layer {layer}"))
                .shape(1, 1)
                .output(&[row[0], texel[0]], Bound::Equal)
                .output(&texel, Bound::Equal)
                .output(
                    &[texel[0], texel[1], row[0], row[1]].map(f32::to_bits),
                    Bound::Equal,
                )
                .image(layers(8, 0, 3), &rows)
                .texture(0, Sampling::new())
                .image(layers(4, 5, 3), &planes)
                .texture(1, Sampling::new())
                .scalar(2.5f32)
                .scalar(3.5f32)
                .scalar(layer),
        );
    }
    let (one, two) = (
        texels::<[f32; 4]>(34, 6 * 16),
        texels::<[f32; 4]>(35, 12 * 16),
    );
    // A direction into each face, and the texel that it meets: the table of the programming guide.
    let directions: [([f32; 3], usize, [f32; 2]); 6] = [
        ([2.0, 0.5, -1.0], 0, [1.0, -0.5]),
        ([-2.0, 0.5, -1.0], 1, [-1.0, -0.5]),
        ([0.5, 2.0, -1.0], 2, [0.5, -1.0]),
        ([0.5, -2.0, -1.0], 3, [0.5, 1.0]),
        ([0.5, 1.0, 2.0], 4, [0.5, -1.0]),
        ([0.5, 1.0, -2.0], 5, [-0.5, -1.0]),
    ];
    for (number, ([x, y, z], face, [s, t])) in directions.into_iter().enumerate() {
        let texel = |c: f32| ((c / 2.0 + 1.0) / 2.0 * 4.0) as usize;
        let place = (face * 4 + texel(t)) * 4 + texel(s);
        let (plain, layered) = (one[place], two[6 * 16 + place]);
        let both: Vec<f32> = plain.into_iter().chain(layered).collect();
        cases.push(
            Case::new("tex_3d_layered_cube", "cube")
                .variant(format!("face {number}"))
                .shape(1, 1)
                .output(&[plain[0], layered[0]], Bound::Equal)
                .output(&both, Bound::Equal)
                .image(cubes(4, 1), &one)
                .texture(0, Sampling::new().normalized(true))
                .image(cubes(4, 2), &two)
                .texture(1, Sampling::new().normalized(true))
                .scalar(x)
                .scalar(y)
                .scalar(z)
                .scalar(1i32),
        );
    }
    cases
}

/// Accepts results of which only those from element `first` on are determined: the kernel reads the texture in other
/// dimensions than it has, too.
fn only(
    first: usize,
    want: Vec<f32>,
) -> impl Fn(&[f32]) -> Result<(), String> + Send + Sync + 'static {
    move |found| {
        let part = &found[first..first + want.len()];
        let same = part
            .iter()
            .zip(&want)
            .all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs());
        if same {
            Ok(())
        } else {
            Err(format!("{part:?}, want {want:?} from {first}"))
        }
    }
}

fn details() -> Vec<Case> {
    // Every level of one colour, so that the result tells the level.
    let level = |number: usize| {
        let side = 8usize >> number;
        vec![[10.0 * (number + 1) as f32, 1.0, 2.0, 3.0]; side * side]
    };
    let chain: Vec<Vec<[f32; 4]>> = (0..4).map(level).collect();
    let chain: Vec<&[[f32; 4]]> = chain.iter().map(Vec::as_slice).collect();
    let sampling = Sampling::new()
        .normalized(true)
        .filter(Filter::Linear)
        .mip_filter(Filter::Linear);
    let lod = |detail: f32, red: f32| {
        Case::new("tex_lod_grad", "lod")
            .variant(format!("{detail}"))
            .shape(1, 1)
            .judged(
                &[0.0f32; 32],
                "the level's colour",
                only(4, vec![red, 1.0, 2.0, 3.0]),
            )
            .mipmapped(plane(8, 8), &chain)
            .texture(0, sampling)
            .scalar(0.3f32)
            .scalar(0.6f32)
            .scalar(0.5f32)
            .scalar(detail)
            .scalar(0i32)
    };
    let mut cases = vec![
        lod(0.0, 10.0),
        lod(1.0, 20.0),
        lod(1.5, 25.0),
        lod(2.25, 32.5),
        lod(7.0, 40.0),
        lod(-3.0, 10.0),
    ];
    // Two texels a step are level 1, four are level 2: the longer gradient counts.
    for (name, dx, dy, red) in [
        ("one texel", [0.125f32, 0.0], [0.0f32, 0.125], 10.0f32),
        ("two texels", [0.25, 0.0], [0.0, 0.125], 20.0),
        ("four texels", [0.125, 0.0], [0.0, 0.5], 30.0),
    ] {
        cases.push(
            Case::new("tex_lod_grad", "grad")
                .variant(name)
                .shape(1, 1)
                .judged(
                    &[0.0f32; 28],
                    "the level's colour",
                    only(4, vec![red, 1.0, 2.0, 3.0]),
                )
                .mipmapped(plane(8, 8), &chain)
                .texture(0, sampling)
                .scalar(0.3f32)
                .scalar(0.6f32)
                .scalar(0.5f32)
                .scalar(0i32)
                .bytes(bytemuck::bytes_of(&dx))
                .bytes(bytemuck::bytes_of(&dy))
                .bytes(bytemuck::bytes_of(&[0.0f32; 4]))
                .bytes(bytemuck::bytes_of(&[0.0f32; 4])),
        );
    }
    cases
}

fn queries() -> Vec<Case> {
    // Width, height and no depth; OpenCL's numbers of 32-bit floats and of four channels.
    let sum = 12 + 7 + 0x10de + 0x10b5;
    let texels = vec![[0.0f32; 4]; 12 * 7];
    vec![
        Case::new("tex_asm_ref", "query")
            .shape(1, 1)
            .image(plane(12, 7), &texels)
            .texture(0, Sampling::new())
            .output(&[sum], Bound::Equal),
        Case::new("tex_asm_ref", "squery")
            .shape(1, 1)
            .image(plane(12, 7), &texels)
            .surface(0)
            .output(&[12 + 7i32], Bound::Equal),
    ]
}
