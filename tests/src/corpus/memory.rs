//! Constant and shared memory, asynchronous copies, vectors, grid-wide barriers.

use super::data::Random;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        constants(1),
        constants(5),
        constant_address(0),
        constant_address(4),
    ];
    cases.extend(dynamic());
    cases.extend(fixed());
    cases.extend([pipeline(), shade(), grid_phases()]);
    cases
}

/// `const_mem`: `struct params { float a, b; int n; double d; unsigned char tag[3]; }`.
fn constants(k: i32) -> Case {
    let mut random = Random::new(321);
    let filter: Vec<f32> = (0..33).map(|_| random.below(100) as f32).collect();
    let (a, b, n, d, tag) = (1.5f32, 0.25f32, -3i32, 7.75f64, [1u8, 2, 200]);
    let mut params = [0u8; 32];
    params[..4].copy_from_slice(&a.to_le_bytes());
    params[4..8].copy_from_slice(&b.to_le_bytes());
    params[8..12].copy_from_slice(&n.to_le_bytes());
    params[16..24].copy_from_slice(&d.to_le_bytes());
    params[24..27].copy_from_slice(&tag);
    let table = [1, -2, 3, -4, 5, -6, 7, -8];
    let doubles = [0.1f64, 1e300, -0.0];
    let message = b"hello const\0";
    let matrix = |row: usize, column: usize| {
        if row < 2 {
            (4 * row + column + 1) as f32
        } else {
            0.0
        }
    };
    let third = (k % 3) as usize;
    // In the order of the kernel's sum, each step in single precision.
    let want: Vec<f32> = (0..12)
        .map(|i| {
            let mut sum = filter[i] * a + b * n as f32;
            sum += d as f32;
            sum += f32::from(tag[third]);
            sum += table[i % 8] as f32;
            sum += doubles[third] as f32;
            sum += f32::from(message[i]);
            sum += matrix(i % 4, k as usize % 4);
            sum + 65000.0
        })
        .collect();
    Case::new("const_mem", "useconst")
        .variant(format!("k = {k}"))
        .shape(1, 12)
        .global("filt", &filter)
        .global("P", &params)
        // Sums near 65000 in single precision.
        .output(&want, Bound::Absolute(0.05))
        .scalar(k)
}

fn constant_address(sel: i32) -> Case {
    let filter: Vec<f32> = (0..33).map(|i| 10.0 + i as f32).collect();
    let global = [100.0f32, 101.0];
    let read = if sel == 0 {
        global[0]
    } else {
        filter[sel as usize]
    };
    Case::new("const_mem", "genconst")
        .variant(format!("sel = {sel}"))
        .shape(1, 1)
        .global("filt", &filter)
        .global("ptrs", &[u64::from(sel != 0), 0])
        .output(&[read, f32::from(u8::from(sel != 0))], Bound::Equal)
        .input(&global)
        .scalar(sel)
}

fn dynamic() -> Vec<Case> {
    let source = "dyn_shared";
    let x: Vec<f32> = (0..64).map(|i| i as f32 * 0.5).collect();
    let reversed: Vec<f32> = x.iter().rev().copied().collect();
    let n = 48usize;
    let a: Vec<f64> = (0..n).map(|i| i as f64 * 0.25).collect();
    let b: Vec<i32> = (0..n as i32).map(|i| i * i).collect();
    let a_end: Vec<f64> = (0..n).map(|t| a[n - 1 - t] + t as f64).collect();
    let b_end: Vec<i32> = (0..n).map(|t| b[n - 1 - t] + (t % 7) as i32).collect();
    vec![
        Case::new(source, "d1")
            .shape(1, 64)
            .shared_bytes(256)
            .update(&x, &reversed, Bound::Equal),
        Case::new(source, "d2")
            .shape(1, n as u32)
            .shared_bytes((n * 13) as u32)
            .update(&a, &a_end, Bound::Equal)
            .update(&b, &b_end, Bound::Equal)
            .scalar(n as i32),
        // What the launch asked for; all of it, which hardware rounds up and adds its own to; and where it begins.
        Case::new(source, "size")
            .shape(1, 1)
            .shared_bytes(1000)
            .judged(
                &[u32::MAX; 3],
                "tells 1000 bytes, and at least as many in all",
                |o: &[u32]| {
                    if o[0] == 1000 && o[1] >= 1000 && o[1] < 4096 && o[2] < 4096 {
                        Ok(())
                    } else {
                        Err(format!("{o:?}"))
                    }
                },
            ),
    ]
}

/// `k1` and `k2` add words of shared memory that no thread wrote, so that only the writing itself can be looked at.
fn fixed() -> Vec<Case> {
    let source = "static_shared_demoted";
    let unwritten = i32::MIN + 12345;
    let written = |kernel: &str, threads: usize| {
        Case::new(source, kernel).shape(1, threads as u32).judged(
            &vec![unwritten; threads],
            "was written by every thread",
            move |o: &[i32]| match o.iter().position(|&word| word == unwritten) {
                Some(thread) => Err(format!("thread {thread} wrote nothing")),
                None => Ok(()),
            },
        )
    };
    let mirrored: Vec<i32> = (0..40).map(|t| 39 - t).collect();
    vec![
        written("k1", 16),
        written("k2", 32),
        Case::new(source, "k3")
            .shape(1, 40)
            .output(&mirrored, Bound::Equal),
    ]
}

/// `async_copy`: tiles of 128 vectors, each but the last mirrored.
fn pipeline() -> Case {
    let mut random = Random::new(322);
    let n = 5usize;
    let x: Vec<f32> = (0..n * 128 * 4)
        .map(|_| random.between(-1.0, 1.0) as f32)
        .collect();
    let vector = |i: usize| x[4 * i..4 * i + 4].to_vec();
    let want: Vec<f32> = (0..n)
        .flat_map(|tile| (0..128).map(move |t| (tile, t)))
        .flat_map(|(tile, t)| vector(128 * tile + if tile + 1 < n { 127 - t } else { t }))
        .collect();
    Case::new("async_copy", "pipe")
        .shape(1, 128)
        .input(&x)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
}

/// Lambert's law. A brightness is rounded down to a byte, so one of two neighbours is right.
fn shade() -> Case {
    let mut random = Random::new(323);
    let (w, h) = (20usize, 10usize);
    let normals: Vec<f32> = (0..3 * w * h)
        .map(|_| random.between(-1.0, 1.0) as f32)
        .collect();
    let light = [0.3f32, 0.5, 0.8];
    let bright: Vec<f64> = normals
        .chunks(3)
        .map(|n| {
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter()
                    .zip(b)
                    .map(|(a, b)| f64::from(*a) * f64::from(*b))
                    .sum()
            };
            (dot(n, &light) / dot(n, n).sqrt()).clamp(0.0, 1.0) * 255.0
        })
        .collect();
    let pixels = |shift: f64| -> Vec<u32> {
        bright
            .iter()
            .map(|b| {
                let c = (b + shift).clamp(0.0, 255.0) as u8;
                u32::from_le_bytes([c, c / 2, 255 - c, 255])
            })
            .collect()
    };
    Case::new("vector_types", "shade")
        .shape_3d((2, 2, 1), (16, 8, 1))
        .input(&normals)
        .output_one_of(&[pixels(-1e-3), pixels(1e-3)])
        .bytes(bytemuck::cast_slice(&light))
        .scalar(w as i32)
        .scalar(h as i32)
}

/// Four rounds of averaging with the left neighbour, a barrier of the whole grid between the halves of each.
fn grid_phases() -> Case {
    let n = 1000usize;
    let blocks = 4u32;
    let start: Vec<f32> = (0..n).map(|i| (i * i % 97) as f32).collect();
    let (mut x, mut y) = (start.clone(), Vec::new());
    for _ in 0..4 {
        y = (0..n)
            .map(|i| 0.5 * (x[i] + x[i.saturating_sub(1)]))
            .collect::<Vec<f32>>();
        x = y.clone();
    }
    x[0] = blocks as f32;
    Case::new("grid_sync", "grid_phase")
        .shape(blocks, 64)
        .cooperative()
        .update(&start, &x, Bound::Equal)
        .output(&y, Bound::Equal)
        .scalar(n as i32)
}
