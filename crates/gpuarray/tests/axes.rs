//! Reductions along axes, and joined arrays, against loops on the host.

mod common;

use common::array;
use cuprum_gpuarray::prelude::*;
use cuprum_gpuarray::{ErrorKind, Result, concatenate, stack};

/// Folds the values of a row-major (a, b, c) array along the axes whose bit is set in `axes`.
fn fold<A: Copy>(
    values: &[i32],
    dims: [usize; 3],
    axes: u32,
    identity: A,
    f: impl Fn(A, i32) -> A,
) -> Vec<A> {
    let length = |axis: usize| if axes >> axis & 1 == 1 { 1 } else { dims[axis] };
    let mut results = vec![identity; length(0) * length(1) * length(2)];
    for a in 0..dims[0] {
        for b in 0..dims[1] {
            for c in 0..dims[2] {
                let value = values[(a * dims[1] + b) * dims[2] + c];
                let at = (a % length(0) * length(1) + b % length(1)) * length(2) + c % length(2);
                results[at] = f(results[at], value);
            }
        }
    }
    results
}

fn noise(count: usize) -> Vec<i32> {
    (0..count as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as i32 % 1000 - 500)
        .collect()
}

fn chosen(axes: u32) -> Vec<isize> {
    // Some counted from the end.
    (0..3)
        .filter(|axis| axes >> axis & 1 == 1)
        .map(|axis| if axis == 1 { -2 } else { axis })
        .collect()
}

#[test]
fn every_subset_of_axes() -> Result<()> {
    let dims = [3, 5, 40];
    let values = noise(600);
    let x = array(&values, (3, 5, 40));
    for axes in 0..8 {
        let list = chosen(axes);
        let sums = x.sum_axes(Axes::from(&list[..]))?;
        assert_eq!(sums.ndim(), 3 - list.len());
        assert_eq!(
            sums.to_vec()?,
            fold(&values, dims, axes, 0i64, |sum, x| sum + i64::from(x)),
            "{list:?}"
        );
    }
    Ok(())
}

#[test]
fn every_operator_on_views_and_expressions() -> Result<()> {
    let values = noise(24);
    let x = array(&values, (2, 3, 4));
    // Transposed and reversed, and fused with a map.
    let view = x.permute(&[2, 0, 1])?;
    let view = view.slice(s![..;-1, .., ..]);
    let seen: Vec<i32> = view.to_vec()?;
    let map = |x: i32| x * 3 + 1;
    let expr = &view * 3 + 1;
    let dims = [4, 2, 3];
    for axes in [0b010u32, 0b101] {
        let list = Axes::from(&chosen(axes)[..]).keep();
        let kept: Vec<usize> = (0..3)
            .map(|at| if axes >> at & 1 == 1 { 1 } else { dims[at] })
            .collect();
        let min = expr.min_axes(list.clone())?;
        assert_eq!(min.shape(), kept);
        assert_eq!(
            min.to_vec()?,
            fold(&seen, dims, axes, i32::MAX, |m, x| m.min(map(x)))
        );
        assert_eq!(
            expr.max_axes(list.clone())?.to_vec()?,
            fold(&seen, dims, axes, i32::MIN, |m, x| m.max(map(x)))
        );
        let product = fold(&seen, dims, axes, 1i64, |p, x| {
            p.wrapping_mul(i64::from(map(x)))
        });
        assert_eq!(expr.prod_axes(list.clone())?.to_vec()?, product);
        let count = fold(&seen, dims, axes, 0u64, |n, x| n + u64::from(map(x) > 0));
        assert_eq!(expr.gt(0).count_axes(list.clone())?.to_vec()?, count);
        let sums = fold(&seen, dims, axes, 0f64, |s, x| s + f64::from(map(x)));
        let values = (24 / sums.len()) as f64;
        let mean: Vec<f64> = sums.iter().map(|sum| sum / values).collect();
        assert_eq!(expr.mean_axes(list)?.to_vec()?, mean);
    }
    assert_eq!(array(&[2i32, -3, 7], 3).prod()?, -42i64);
    Ok(())
}

#[test]
fn long_runs_and_broadcasts() -> Result<()> {
    let values = noise(3000);
    let x = array(&values, (2, 1500));
    let rows = fold(&values, [1, 2, 1500], 0b100, 0i64, |sum, x| {
        sum + i64::from(x)
    });
    assert_eq!(x.sum_axes(1)?.to_vec()?, rows);
    // Columns too few for a thread each.
    assert_eq!(x.t().sum_axes(0)?.to_vec()?, rows);
    let row = array(&[10, 20], (2, 1));
    let want: Vec<i64> = rows
        .iter()
        .zip([10, 20])
        .map(|(sum, add)| sum + 1500 * add)
        .collect();
    assert_eq!((&x + &row).sum_axes(-1)?.to_vec()?, want);
    let ramp = Expr::sequence(0, 1, 1500);
    let want = fold(&values, [1, 2, 1500], 0b100, 0i64, |sum, x| {
        sum + i64::from(x)
    })
    .iter()
    .map(|sum| sum + 1499 * 1500 / 2)
    .collect::<Vec<_>>();
    assert_eq!((&x + &ramp).sum_axes(1)?.to_vec()?, want);
    Ok(())
}

#[test]
fn nan_and_nothing() -> Result<()> {
    let x = array(&[1.0f32, f32::NAN, 3.0, 4.0, 5.0, 6.0], (2, 3));
    let min = x.min_axes(1)?.to_vec()?;
    assert!(min[0].is_nan() && min[1] == 4.0, "{min:?}");
    let max = x.max_axes(0)?.to_vec()?;
    assert!(max[0] == 4.0 && max[1].is_nan() && max[2] == 6.0, "{max:?}");

    let none = array::<f32>(&[], (2, 0));
    assert_eq!(none.sum_axes(1)?.to_vec()?, [0.0, 0.0]);
    assert_eq!(none.prod_axes(1)?.to_vec()?, [1.0, 1.0]);
    assert_eq!(none.prod()?, 1.0);
    assert!(
        none.mean_axes(1)?
            .to_vec()?
            .iter()
            .all(|mean| mean.is_nan())
    );
    assert_eq!(
        none.min_axes(1).expect_err("of nothing").kind(),
        ErrorKind::EmptyReduction
    );
    // No results need no values.
    assert_eq!(none.min_axes(0)?.shape(), [0]);
    assert_eq!(
        x.sum_axes(2).expect_err("two axes").kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        x.sum_axes(-3).expect_err("two axes").kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        x.sum_axes([0, -2]).expect_err("twice").kind(),
        ErrorKind::Shape
    );
    Ok(())
}

#[test]
fn joined() -> Result<()> {
    let x = array(&[1, 2, 3, 4, 5, 6], (2, 3));
    let y = array(&[7, 8, 9], (1, 3));
    assert_eq!(
        concatenate(&[x.view(), y.view()], 0)?.to_vec()?,
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
    );
    let wide = concatenate(&[x.view(), x.slice(s![.., ..;-2])], 1)?;
    assert_eq!(wide.shape(), [2, 5]);
    assert_eq!(wide.to_vec()?, [1, 2, 3, 3, 1, 4, 5, 6, 6, 4]);
    let middle = stack(&[x.view(), x.view()], 1)?;
    assert_eq!(middle.shape(), [2, 2, 3]);
    assert_eq!(middle.to_vec()?, [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
    assert_eq!(
        stack(&[x.view(), x.view()], -1)?.to_vec()?,
        [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    );
    for error in [
        concatenate(&[x.view(), y.view()], 1).expect_err("2 rows and 1"),
        concatenate(&[x.view()], 2).expect_err("two axes"),
        concatenate::<i32>(&[], 0).expect_err("nothing"),
        stack(&[x.view(), y.view()], 0).expect_err("shapes differ"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Shape, "{error}");
    }
    Ok(())
}

/// The count that a reduction along axes passes last is within the limit of parameters too: what does not fit is refused by name.
#[test]
fn parameters_have_a_limit() -> Result<()> {
    let x = array(&[1i64, 2, 3, 4], (2, 2));
    // 8 bytes each: the output, the count, one view and its strides, the scalars, the length of a run.
    let terms = |scalars: i64| (0..scalars).fold(&x + 0, |sum, term| sum + term);
    let expr = terms(480);
    let add: i64 = (0..480).sum();
    assert_eq!(expr.sum_axes(1)?.to_vec()?, [3 + 2 * add, 7 + 2 * add]);
    let mut refused = 0;
    for scalars in 500..512 {
        match terms(scalars).sum_axes(1) {
            Ok(_) => assert_eq!(refused, 0, "{scalars} scalars fit where fewer did not"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                refused += 1;
            }
        }
    }
    assert!(
        refused > 0,
        "511 scalars and six other parameters of 8 bytes are more than 4096 bytes"
    );
    Ok(())
}
