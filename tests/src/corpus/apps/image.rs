//! `app_image` and `app_transpose`.

use crate::corpus::data::Random;
use crate::corpus::{Bound, Case, Lane};

const SOURCE: &str = "app_image";
const WIDTH: usize = 37;
const HEIGHT: usize = 21;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![grey(), sobel(), rows(), bilateral(), lookup()];
    cases.extend(transpose());
    cases
}

fn blocks() -> ((u32, u32, u32), (u32, u32, u32)) {
    ((3, 3, 1), (16, 8, 1))
}

fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.bits() as u8).collect()
}

/// The weights are not exact in binary, so that rounding decides whole results: one of the two neighbours is right.
fn grey() -> Case {
    let pixels = bytes(121, 3 * WIDTH * HEIGHT);
    let exact: Vec<f64> = pixels
        .chunks(3)
        .map(|p| 0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2]))
        .collect();
    let (grid, block) = blocks();
    Case::new(SOURCE, "gray")
        .shape_3d(grid, block)
        .input(&pixels)
        .output_one_of(&[
            exact.iter().map(|x| (x - 1e-4).max(0.0) as u8).collect(),
            exact.iter().map(|x| (x + 1e-4) as u8).collect(),
        ])
        .scalar(WIDTH as i32)
        .scalar(HEIGHT as i32)
}

fn sobel() -> Case {
    let pixels = bytes(122, WIDTH * HEIGHT);
    let at = |x: usize, y: usize| i64::from(pixels[y * WIDTH + x]);
    // What the kernel leaves out, at the border, keeps what was there.
    let before = vec![7u8; WIDTH * HEIGHT];
    let mut want = before.clone();
    for y in 1..HEIGHT - 1 {
        for x in 1..WIDTH - 1 {
            let column = |x| at(x, y - 1) + 2 * at(x, y) + at(x, y + 1);
            let row = |y| at(x - 1, y) + 2 * at(x, y) + at(x + 1, y);
            let (gx, gy) = (column(x + 1) - column(x - 1), row(y + 1) - row(y - 1));
            let square = gx * gx + gy * gy;
            want[y * WIDTH + x] = square.isqrt().min(255) as u8;
        }
    }
    let (grid, block) = blocks();
    Case::new(SOURCE, "sobel")
        .shape_3d(grid, block)
        .input(&pixels)
        .update(&before, &want, Bound::Equal)
        .scalar(WIDTH as i32)
        .scalar(HEIGHT as i32)
}

fn rows() -> Case {
    let mut random = Random::new(123);
    let radius = 5usize;
    let weights: Vec<f32> = (0..17).map(|_| random.between(0.0, 0.2) as f32).collect();
    let pixels: Vec<f32> = (0..WIDTH * HEIGHT)
        .map(|_| random.between(0.0, 1.0) as f32)
        .collect();
    let want: Vec<f32> = (0..WIDTH * HEIGHT)
        .map(|i| {
            let (x, y) = (i % WIDTH, i / WIDTH);
            let sum: f64 = (0..=2 * radius)
                .map(|k| {
                    let column = (x + k).saturating_sub(radius).min(WIDTH - 1);
                    f64::from(weights[k]) * f64::from(pixels[y * WIDTH + column])
                })
                .sum();
            sum as f32
        })
        .collect();
    let block = 16;
    Case::new(SOURCE, "convrow")
        .shape_3d((3, HEIGHT as u32, 1), (block, 1, 1))
        .shared_bytes((block + 2 * radius as u32) * 4)
        .global("gauss", &weights)
        .input(&pixels)
        .output(&want, Bound::Absolute(1e-6))
        .scalar(WIDTH as i32)
        .scalar(HEIGHT as i32)
        .scalar(radius as i32)
}

fn bilateral() -> Case {
    let mut random = Random::new(124);
    let pixels: Vec<f32> = (0..4 * WIDTH * HEIGHT)
        .map(|_| random.between(0.0, 1.0) as f32)
        .collect();
    let (space, range) = (4.0f32, 0.1f32);
    let at = |x: i64, y: i64| -> [f64; 4] {
        let x = x.clamp(0, WIDTH as i64 - 1) as usize;
        let y = y.clamp(0, HEIGHT as i64 - 1) as usize;
        std::array::from_fn(|c| f64::from(pixels[4 * (y * WIDTH + x) + c]))
    };
    let want: Vec<f32> = (0..(WIDTH * HEIGHT) as i64)
        .flat_map(|i| {
            let (x, y) = (i % WIDTH as i64, i / WIDTH as i64);
            let center = at(x, y);
            let mut sum = [0.0f64; 4];
            for dy in -2..=2i64 {
                for dx in -2..=2i64 {
                    let p = at(x + dx, y + dy);
                    let apart = (p[0] - center[0]).powi(2) + (p[1] - center[1]).powi(2);
                    let weight = (-((dx * dx + dy * dy) as f64) / f64::from(space)
                        - apart / f64::from(range))
                    .exp();
                    for c in 0..3 {
                        sum[c] += weight * p[c];
                    }
                    sum[3] += weight;
                }
            }
            [
                (sum[0] / sum[3]) as f32,
                (sum[1] / sum[3]) as f32,
                (sum[2] / sum[3]) as f32,
                center[3] as f32,
            ]
        })
        .collect();
    let (grid, block) = blocks();
    Case::new(SOURCE, "bilateral")
        .shape_3d(grid, block)
        .input(&pixels)
        .output(&want, Bound::Absolute(5e-6))
        .scalar(WIDTH as i32)
        .scalar(HEIGHT as i32)
        .scalar(space)
        .scalar(range)
}

fn lookup() -> Case {
    let mut random = Random::new(125);
    let values: Vec<u16> = (0..1000).map(|_| random.bits() as u16).collect();
    let table = bytes(126, 4096);
    let want: Vec<u8> = values.iter().map(|&v| table[usize::from(v) / 16]).collect();
    Case::new(SOURCE, "lut")
        .shape(3, 64)
        .input(&values)
        .input(&table)
        .output(&want, Bound::Equal)
        .scalar(1000)
}

fn transpose() -> Vec<Case> {
    let (w, h) = (77usize, 45usize);
    fn case<T: Lane>(kernel: &str, input: &[T], w: usize, h: usize, parts: usize) -> Case {
        let want: Vec<T> = (0..w * h)
            .flat_map(|i| {
                let (x, y) = (i / h, i % h);
                let start = (y * w + x) * parts;
                input[start..start + parts].to_vec()
            })
            .collect();
        Case::new("app_transpose", kernel)
            .shape_3d((3, 2, 1), (32, 8, 1))
            .output(&want, Bound::Equal)
            .input(input)
            .scalar(w as i32)
            .scalar(h as i32)
    }
    let mut random = Random::new(127);
    let floats: Vec<f32> = (0..4 * w * h)
        .map(|_| random.between(-1.0, 1.0) as f32)
        .collect();
    let doubles: Vec<f64> = (0..w * h).map(|_| random.between(-1.0, 1.0)).collect();
    let octets = bytes(128, w * h);
    vec![
        case("t32", &floats[..w * h], w, h, 1),
        case("t64", &doubles, w, h, 1),
        case("t8", &octets, w, h, 1),
        case("t128", &floats, w, h, 4),
    ]
}
