//! `app_fractal_nbody` and `app_stencil`.

use crate::corpus::data::Random;
use crate::corpus::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        mandelbrot(),
        mandelbrot_f64(),
        nbody(),
        pi(),
        heat(),
        laplace(),
        life(),
        wide(),
    ]
}

/// Iterations until |z| reaches 2, in the kernel's precision. Contraction may end a point near the edge of the set one
/// iteration sooner or later, or thousands; so the judge counts points that differ.
fn judged(kernel: &str, source: &'static str, want: Vec<u32>) -> Case {
    let len = want.len();
    Case::new(source, kernel).judged(
        &vec![u32::MAX; len],
        "differs in fewer than one point in fifty",
        move |got| {
            let different = got.iter().zip(&want).filter(|(a, b)| a != b).count();
            if different * 50 < got.len() {
                Ok(())
            } else {
                Err(format!("{different} of {} points differ", got.len()))
            }
        },
    )
}

const FRACTAL: &str = "app_fractal_nbody";

fn mandelbrot() -> Case {
    let (w, h, most) = (50i32, 30i32, 100);
    let (cx, cy, scale) = (-0.5f32, 0.0f32, 0.05f32);
    let want = (0..w * h)
        .map(|i| {
            let a = cx + (i % w - w / 2) as f32 * scale;
            let b = cy + (i / w - h / 2) as f32 * scale;
            let (mut u, mut v, mut k) = (0.0f32, 0.0f32, 0);
            while k < most && u * u + v * v < 4.0 {
                (u, v) = (u * u - v * v + a, 2.0 * u * v + b);
                k += 1;
            }
            k
        })
        .collect();
    judged("mandel", FRACTAL, want)
        .shape_3d((4, 4, 1), (16, 8, 1))
        .scalar(w)
        .scalar(h)
        .scalar(cx)
        .scalar(cy)
        .scalar(scale)
        .scalar(most as i32)
}

fn mandelbrot_f64() -> Case {
    let (w, h, most) = (50i32, 30i32, 100);
    let (cx, cy, scale) = (-0.5f64, 0.0f64, 0.05f64);
    let want = (0..w * h)
        .map(|i| {
            let a = cx + f64::from(i % w - w / 2) * scale;
            let b = cy + f64::from(i / w - h / 2) * scale;
            let (mut u, mut v, mut k) = (0.0f64, 0.0f64, 0);
            while k < most && u * u + v * v <= 4.0 {
                (u, v) = (u * u - v * v + a, 2.0 * u * v + b);
                k += 1;
            }
            k
        })
        .collect();
    judged("mandeld", FRACTAL, want)
        .shape(24, 64)
        .scalar(w)
        .scalar(h)
        .scalar(cx)
        .scalar(cy)
        .scalar(scale)
        .scalar(most as i32)
}

fn nbody() -> Case {
    let mut random = Random::new(141);
    let n = 512;
    let (dt, eps) = (0.01f32, 0.05f32);
    let bodies: Vec<f32> = (0..4 * n)
        .map(|i| if i % 4 == 3 { random.between(0.1, 1.0) } else { random.between(-1.0, 1.0) } as f32)
        .collect();
    let speeds: Vec<f32> = (0..4 * n)
        .map(|_| random.between(-0.1, 0.1) as f32)
        .collect();
    let (mut moved, mut faster) = (bodies.clone(), speeds.clone());
    let at = |i: usize, c: usize| f64::from(bodies[4 * i + c]);
    for i in 0..n {
        let mut pull = [0.0f64; 3];
        for j in 0..n {
            let apart: [f64; 3] = std::array::from_fn(|c| at(j, c) - at(i, c));
            let square: f64 = apart.iter().map(|d| d * d).sum::<f64>() + f64::from(eps);
            let force = at(j, 3) / (square * square.sqrt());
            for c in 0..3 {
                pull[c] += apart[c] * force;
            }
        }
        for c in 0..3 {
            let v = f64::from(speeds[4 * i + c]) + pull[c] * f64::from(dt);
            faster[4 * i + c] = v as f32;
            moved[4 * i + c] = (at(i, c) + v * f64::from(dt)) as f32;
        }
    }
    Case::new(FRACTAL, "nbody")
        .shape(2, 256)
        .input(&bodies)
        .update(&speeds, &faster, Bound::Absolute(5e-4))
        .output(&moved, Bound::Absolute(5e-6))
        .scalar(n as i32)
        .scalar(dt)
        .scalar(eps)
}

fn pi() -> Case {
    let (blocks, threads, n) = (2u64, 64u64, 100);
    let fraction = |s: u64| ((s >> 40) as f32) * (1.0 / 16_777_216.0);
    let mut hits = 0u64;
    for thread in 0..blocks * threads {
        let mut s = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(thread + 1);
        for _ in 0..n {
            s = s
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let x = f64::from(fraction(s));
            s ^= s >> 27;
            s = s.wrapping_mul(0x94d0_49bb_1331_11eb);
            let y = f64::from(fraction(s));
            // Squares of 24-bit fractions are exact in a double; a point that near the circle does not occur.
            let square = x * x + y * y;
            assert!((square - 1.0).abs() > 1e-6, "another seed is needed");
            hits += u64::from(square <= 1.0);
        }
    }
    Case::new(FRACTAL, "pi")
        .shape(blocks as u32, threads as u32)
        .update(&[5u64], &[5 + hits], Bound::Equal)
        .scalar(n)
}

const STENCIL: &str = "app_stencil";

fn heat() -> Case {
    let mut random = Random::new(142);
    let (w, h, k) = (37usize, 21usize, 0.2f32);
    let u: Vec<f32> = (0..w * h)
        .map(|_| random.between(0.0, 1.0) as f32)
        .collect();
    let before = vec![-1.0f32; w * h];
    let mut want = before.clone();
    let at = |i: usize| f64::from(u[i]);
    for y in 1..h - 1 {
        for x in 1..w - 1 {
            let i = y * w + x;
            let around = at(i - 1) + at(i + 1) + at(i - w) + at(i + w);
            want[i] = (at(i) + f64::from(k) * (around - 4.0 * at(i))) as f32;
        }
    }
    Case::new(STENCIL, "heat")
        .shape_3d((3, 3, 1), (16, 8, 1))
        .input(&u)
        .update(&before, &want, Bound::Absolute(5e-7))
        .scalar(w as i32)
        .scalar(h as i32)
        .scalar(k)
}

fn laplace() -> Case {
    let mut random = Random::new(143);
    let (nx, ny, nz) = (13usize, 11usize, 9usize);
    let u: Vec<f64> = (0..nx * ny * nz)
        .map(|_| random.between(0.0, 1.0))
        .collect();
    let before = vec![-1.0f64; nx * ny * nz];
    let mut want = before.clone();
    let plane = nx * ny;
    for z in 1..nz - 1 {
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let i = z * plane + y * nx + x;
                let around =
                    u[i - plane] + u[i + plane] + u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx];
                want[i] = around / 6.0 - u[i];
            }
        }
    }
    Case::new(STENCIL, "lap3")
        .shape_3d((2, 2, 1), (8, 8, 1))
        .input(&u)
        .update(&before, &want, Bound::Absolute(1e-15))
        .scalar(nx as i32)
        .scalar(ny as i32)
        .scalar(nz as i32)
}

fn life() -> Case {
    let mut random = Random::new(144);
    let n = 40i64;
    let cells: Vec<i32> = (0..n * n).map(|_| random.below(2) as i32).collect();
    let at = |x: i64, y: i64| cells[(y.rem_euclid(n) * n + x.rem_euclid(n)) as usize];
    let want: Vec<i32> = (0..n * n)
        .map(|i| {
            let (x, y) = (i % n, i / n);
            let mut neighbours = -at(x, y);
            for dy in -1..=1 {
                for dx in -1..=1 {
                    neighbours += at(x + dx, y + dy);
                }
            }
            i32::from(neighbours == 3 || (neighbours == 2 && at(x, y) == 1))
        })
        .collect();
    Case::new(STENCIL, "life")
        .shape_3d((3, 3, 1), (16, 16, 1))
        .input(&cells)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
}

fn wide() -> Case {
    let mut random = Random::new(145);
    let n = 200usize;
    let weights: Vec<f32> = (0..9).map(|_| random.between(-1.0, 1.0) as f32).collect();
    let x: Vec<f32> = (0..n).map(|_| random.between(-1.0, 1.0) as f32).collect();
    let want: Vec<f32> = (0..n)
        .map(|i| {
            let sum: f64 = (0..9)
                .filter_map(|k| {
                    let value = x.get((i + k).checked_sub(4)?)?;
                    Some(f64::from(weights[k]) * f64::from(*value))
                })
                .sum();
            sum as f32
        })
        .collect();
    let block = 64;
    Case::new(STENCIL, "wide")
        .shape(4, block)
        .shared_bytes((block + 8) * 4)
        .global("coef", &weights)
        .input(&x)
        .output(&want, Bound::Absolute(2e-6))
        .scalar(n as i32)
}
