//! Kernels are found by structure. Alone in its program, so that no other test adds kernels while it counts.

mod common;

use common::{array, stream};
use cuprum_gpuarray::prelude::*;
use cuprum_gpuarray::{Result, cached_kernels, clear_kernels};

#[test]
fn kernels_are_found_by_structure() -> Result<()> {
    let x = array(&[1.0f32; 64], (8, 8));
    let y = array(&[2.0f32; 64], (8, 8));
    assert_eq!(cached_kernels(), 0);
    // Scalars, sizes and which arrays they are do not matter.
    for (a, rows) in [(1.0, 8), (2.0, 8), (3.0, 4), (f32::NAN, 1)] {
        let (x, y) = (x.slice(s![..rows]), y.slice(s![..rows]));
        (&x * a + &y).eval()?;
        (&y * a + &x).eval()?;
    }
    assert_eq!(cached_kernels(), 1);
    // Strides of one walk do not matter either.
    for step in [3, 5, -1, -2] {
        (x.slice(s![.., ..;step]) + 1.0).eval()?;
    }
    assert_eq!(cached_kernels(), 2);
    // The operation, the operand's identity, the type and the walk do.
    (&x * 2.0 - &y).eval()?;
    assert_eq!(cached_kernels(), 3);
    (&x * 2.0 + &x).eval()?;
    assert_eq!(cached_kernels(), 4);
    (x.cast::<f64>() * 2.0 + y.cast::<f64>()).eval()?;
    assert_eq!(cached_kernels(), 5);
    (x.t() * 2.0 + &y).eval()?;
    assert_eq!(cached_kernels(), 6);
    // One kernel for a sum of one block; the exponent of `powi` is part of it.
    (x.powi(3) + 0.0).sum()?;
    (x.powi(3) + 1.0).sum()?;
    assert_eq!(cached_kernels(), 7);
    (x.powi(4) + 0.0).sum()?;
    assert_eq!(cached_kernels(), 8);
    // Nothing is compiled for nothing.
    (x.slice(s![..0]) / 2.0).eval()?;
    assert_eq!(cached_kernels(), 8);
    // Preparing is what evaluating would do.
    (&x / &y).prepare()?;
    assert_eq!(cached_kernels(), 9);
    (&x / &y).eval()?;
    assert_eq!(cached_kernels(), 9);
    clear_kernels(stream().context());
    assert_eq!(cached_kernels(), 0);
    assert_eq!((&x / &y).eval()?.slice(s![0, 0]).item()?, 0.5);
    Ok(())
}
