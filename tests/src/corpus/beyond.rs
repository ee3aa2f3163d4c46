//! Kernels of `cluster_dsmem` and `wmma_`: hardware computes this, a software device refuses them by name.

use half::f16;

use super::data::Random;
use super::{Bound, Case, Lane};

pub(super) fn cases() -> Vec<Case> {
    let mut random = Random::new(401);
    let mut small = || random.below(9) as i32 - 4;
    let a: [i32; 256] = std::array::from_fn(|_| small());
    let b: [i32; 256] = std::array::from_fn(|_| small());
    // Sums of small whole numbers are exact in every type.
    let c = product(&a, &b);
    vec![
        clusters(),
        matrices("wm", &a, &b, &c, |x| f16::from_f32(x as f32), |x| x as f32),
        matrices("wmi", &a, &b, &c, |x| x as i8, |x| x),
        unwritten(),
    ]
}

/// Two blocks a cluster: each reads the other's rank, and adds the number of blocks and its own rank.
fn clusters() -> Case {
    Case::new("cluster_dsmem", "cl")
        .shape(6, 1)
        .output(&[3i32; 6], Bound::Equal)
}

/// The product of a matrix by rows and one by columns, by rows.
fn product(a: &[i32; 256], b: &[i32; 256]) -> [i32; 256] {
    std::array::from_fn(|at| {
        let (row, column) = (at / 16, at % 16);
        (0..16).map(|k| a[16 * row + k] * b[16 * column + k]).sum()
    })
}

fn matrices<A: Lane, C: Lane>(
    kernel: &str,
    a: &[i32; 256],
    b: &[i32; 256],
    c: &[i32; 256],
    narrow: fn(i32) -> A,
    wide: fn(i32) -> C,
) -> Case {
    Case::new("wmma_", kernel)
        .input(&a.map(narrow))
        .input(&b.map(narrow))
        .output(&c.map(wide), Bound::Equal)
}

/// It multiplies shared memory that nobody has written, so only that there is a result is asked.
fn unwritten() -> Case {
    let before = f32::from_bits(0xa5a5_a5a5);
    Case::new("wmma_", "mm").input(&[0x3c00_4000u32]).judged(
        &[before],
        "comes of unwritten memory",
        move |d: &[f32]| {
            if d[0].same(before) {
                Err("nothing was written".to_owned())
            } else {
                Ok(())
            }
        },
    )
}
