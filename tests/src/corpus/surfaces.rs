//! References of the sources on surfaces: bytes that move.

use cuprum::texsurf::Texel;

use super::data::Random;
use super::image::{Shape, cubes, flat, layers, plane, volume};
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = dimensions();
    cases.extend(boundaries());
    cases.extend(formatted());
    cases.extend(layered());
    cases
}

fn texels<T: Texel>(seed: u64, count: usize) -> Vec<T> {
    let mut random = Random::new(seed);
    let mut all = vec![T::zeroed(); count];
    for byte in bytemuck::cast_slice_mut::<T, u8>(&mut all) {
        *byte = random.bits() as u8;
    }
    all
}

fn bytes<T: Texel>(texels: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(texels).to_vec()
}

/// `s_*` for one type: reads a texel in one, two and three dimensions, and writes each beside where it was.
fn moved<T: Texel>(name: &str) -> Case {
    let (x, y, z) = (2usize, 1usize, 3usize);
    let (line, square, cube) = (
        texels::<T>(41, 8),
        texels::<T>(42, 8 * 4),
        texels::<T>(43, 8 * 4 * 5),
    );
    let (at2, at3) = (y * 8 + x, (z * 4 + y) * 8 + x);
    let out = [line[x], square[at2], cube[at3]];
    let write = |mut texels: Vec<T>, from: usize, to: usize| {
        texels[to] = texels[from];
        bytes(&texels)
    };
    Case::new("surf_1d2d3d", format!("s_{name}"))
        .shape(1, 1)
        .output(&bytes(&out), Bound::Equal)
        .image(flat(8), &line)
        .becomes(&write(line.clone(), x, x + 1))
        .surface(0)
        .image(plane(8, 4), &square)
        .becomes(&write(square.clone(), at2, at2 + 1))
        .surface(1)
        .image(volume(8, 4, 5), &cube)
        .becomes(&write(cube.clone(), at3, at3 + 8))
        .surface(2)
        .scalar(x as i32)
        .scalar(y as i32)
        .scalar(z as i32)
}

fn dimensions() -> Vec<Case> {
    vec![
        moved::<f32>("f1"),
        moved::<[f32; 2]>("f2"),
        moved::<[f32; 4]>("f4"),
        moved::<i32>("i1"),
        moved::<[i32; 2]>("i2"),
        moved::<[u32; 4]>("u4"),
        moved::<u8>("uc1"),
        moved::<[u8; 2]>("uc2"),
        moved::<[u8; 4]>("uc4"),
        moved::<i16>("s1"),
        moved::<[i16; 2]>("s2"),
        moved::<[u16; 4]>("us4"),
        moved::<[u32; 2]>("l1"),
        moved::<[u32; 4]>("l2"),
    ]
}

/// Inside, where all modes do the same. The kernel also reads the surface in one and three dimensions: those reads of a
/// two-dimensional array are not determined, nor is what it then writes.
fn boundaries() -> Vec<Case> {
    let square: Vec<f32> = (0..64).map(|i| i as f32 + 0.5).collect();
    let inside = square[2 * 8 + 3];
    vec![
        Case::new("surf_boundary", "bm")
            .shape(1, 1)
            .output(&[inside; 3], Bound::Equal)
            .judged(&[0u8; 8], "whatever", |_| Ok(()))
            .image(plane(8, 8), &square)
            .surface(0)
            .scalar(3i32)
            .scalar(2i32),
    ]
}

/// `sust.p` stores a float at texel x of row y; the second, in one dimension, at texel x of the only row; `sured.b` then adds 1 to
/// the bits.
fn formatted() -> Vec<Case> {
    let row: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let value = 1.5f32;
    let mut want = row.clone();
    want[5] = f32::from_bits(value.to_bits() + 1);
    vec![
        Case::new("surf_formatted_asm", "fmt")
            .shape(1, 1)
            .image(plane(8, 1), &row)
            .becomes(&want)
            .surface(0)
            .scalar(value)
            .scalar(5i32)
            .scalar(0i32),
    ]
}

fn layered() -> Vec<Case> {
    let (x, y, l) = (3usize, 2usize, 4usize);
    let shapes: [(Shape, usize, usize); 4] = [
        (layers(8, 0, 6), 8, 1),
        (layers(8, 4, 6), 8, 4),
        (cubes(8, 1), 8, 8),
        (cubes(8, 2), 8, 8),
    ];
    let mut case = Case::new("surf_layered_cube", "sl").shape(1, 1);
    let mut read: Vec<f32> = Vec::new();
    let mut images = Vec::new();
    let mut single = 0.0;
    for (number, (shape, width, height)) in shapes.into_iter().enumerate() {
        let count = width * height * shape.0[2];
        let texels: Vec<[f32; 4]> = (0..count)
            .map(|i| [0, 1, 2, 3].map(|c| (i * 4 + c) as f32 + number as f32 * 1e4))
            .collect();
        let row = if height == 1 { l } else { l * height + y };
        let value = texels[row * width + x];
        read.extend(value);
        let mut after = texels.clone();
        after[row * width] = value;
        if number == 1 {
            // Read after the write, by bytes: the x-th float of the row.
            single = bytemuck::cast_slice::<_, f32>(&after[row * width..])[x];
        }
        images.push((shape, texels, after));
    }
    read.push(single);
    read.extend([f32::from_bits(0xa5a5_a5a5); 3]);
    case = case.output(&read, Bound::Equal);
    // The kernel writes to the first surface what it has read from the second.
    images[0].2[l * 8] = images[1].1[(l * 4 + y) * 8 + x];
    for (number, (shape, texels, after)) in images.into_iter().enumerate() {
        case = case
            .image(shape, &texels)
            .becomes(bytemuck::cast_slice::<_, f32>(&after))
            .surface(number);
    }
    vec![case.scalar(x as i32).scalar(y as i32).scalar(l as i32)]
}
