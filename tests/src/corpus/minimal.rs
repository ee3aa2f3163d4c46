//! The smallest kernels.

use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let a: Vec<f32> = (0..16).map(|i| i as f32 * 0.75 - 3.0).collect();
    let b: Vec<f32> = (0..16).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let doubled: Vec<f32> = a.iter().map(|a| a + a).collect();
    let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
    vec![
        Case::new("minimal", "empty").shape(3, 33),
        Case::new("minimal", "doublify")
            .shape_3d((1, 1, 1), (4, 4, 1))
            .update(&a, &doubled, Bound::Equal),
        Case::new("minimal", "mul")
            .shape(1, 16)
            .output(&products, Bound::Equal)
            .input(&a)
            .input(&b),
        Case::new("minimal", "fillnan")
            .shape(3, 32)
            .output(&[0x7fff_ffffu32; 1000], Bound::Equal)
            .scalar(0x7fff_ffffu32)
            .scalar(1000u32),
    ]
}
