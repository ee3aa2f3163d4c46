//! The ownership model tried on real programs: each is written as a user would write it, and checked against the same program on the host.

mod common;

use common::{array, stream};
use cuprum_gpuarray::Result;
use cuprum_gpuarray::prelude::*;

/// A sequence without pattern, the same in each run, in -1..1.
fn noise(count: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn close(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (got - want).abs() <= tolerance * (1.0 + want.abs()),
            "element {at}: {got} instead of {want}"
        );
    }
}

/// `y += a * x` in a loop. The scalar changes from pass to pass; the kernel does not (see `cache.rs`).
#[test]
fn axpy_loop() -> Result<()> {
    let (host_x, mut host_y) = (noise(1003), noise(1003));
    let x = array(&host_x, 1003);
    let mut y = array(&host_y, 1003);
    for pass in 0..10 {
        let a = 1.0 / (pass as f32 + 1.0);
        y.add_assign(&x * a)?;
        host_y
            .iter_mut()
            .zip(&host_x)
            .for_each(|(y, x)| *y += x * a);
    }
    // Multiplication and addition are not contracted: the bits are the host's.
    assert_eq!(y.to_vec()?, host_y);
    Ok(())
}

/// Heat on a plate: the inside becomes the mean of its neighbours, through shifted views, with two arrays that change roles.
#[test]
fn jacobi() -> Result<()> {
    const N: usize = 18;
    let mut host = vec![0.0f32; N * N];
    host[..N].fill(1.0);
    let mut now = array(&host, (N, N));
    let mut next = now.try_clone()?;
    for _ in 0..20 {
        let (up, down) = (now.slice(s![..-2, 1..-1]), now.slice(s![2.., 1..-1]));
        let (left, right) = (now.slice(s![1..-1, ..-2]), now.slice(s![1..-1, 2..]));
        next.slice_mut(s![1..-1, 1..-1])
            .assign((up + down + left + right) * 0.25)?;
        std::mem::swap(&mut now, &mut next);

        let old = host.clone();
        for i in 1..N - 1 {
            for j in 1..N - 1 {
                let at = i * N + j;
                host[at] = (old[at - N] + old[at + N] + old[at - 1] + old[at + 1]) * 0.25;
            }
        }
    }
    assert_eq!(now.to_vec()?, host);
    Ok(())
}

/// The largest eigenvalue of a matrix: a product as a broadcast multiplication and a sum by rows.
#[test]
fn power_iteration() -> Result<()> {
    let matrix = array(&[4.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 2.0], (3, 3));
    let mut v = array(&[1.0f64, 1.0, 1.0], 3);
    let mut eigenvalue = 0.0;
    for _ in 0..60 {
        let mut product = GpuArray::zeros(&stream(), 3)?;
        for row in 0..3 {
            let dot = (matrix.slice(s![row]) * &v).sum_on_device()?;
            product.slice_mut(s![row]).assign(&dot)?;
        }
        eigenvalue = (&product * &product).sum()?.sqrt();
        v.assign(&product / eigenvalue)?;
    }
    // Roots of the characteristic polynomial (4-x)(3-x)(2-x) - (4-x) - (2-x) = (3-x)(x^2 - 6x + 6).
    assert!(
        (eigenvalue - (3.0 + 3.0f64.sqrt())).abs() < 1e-12,
        "{eigenvalue}"
    );
    Ok(())
}

/// Columns to mean 0 and deviation 1, in place, through mutable views of a row-major matrix.
#[test]
fn normalise_columns() -> Result<()> {
    let host = noise(40 * 3);
    let mut x = array(&host, (40, 3));
    for column in 0..3 {
        let mut column = x.slice_mut(s![.., column]);
        let mean = column.mean()? as f32;
        column.sub_assign(mean)?;
        let deviation = (&column * &column).mean()?.sqrt() as f32;
        column.div_assign(deviation)?;
    }
    let x = x.to_vec()?;
    for column in 0..3 {
        let values: Vec<f32> = x.iter().skip(column).step_by(3).copied().collect();
        let mean: f32 = values.iter().sum::<f32>() / 40.0;
        let square: f32 = values.iter().map(|v| v * v).sum::<f32>() / 40.0;
        assert!(
            mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-5,
            "{mean} {square}"
        );
    }
    Ok(())
}

/// A state that is stepped in place by an expression of itself and of others.
#[test]
fn logistic_map_in_place() -> Result<()> {
    let rate = GpuArray::linspace(&stream(), 2.5f64, 4.0, 100)?;
    let mut x = GpuArray::full(&stream(), 100, 0.5f64)?;
    for _ in 0..50 {
        x.update(|x| &rate * &x * (1.0 - &x))?;
    }
    let rate = rate.to_vec()?;
    let mut host = vec![0.5f64; 100];
    for _ in 0..50 {
        host.iter_mut()
            .zip(&rate)
            .for_each(|(x, rate)| *x = rate * *x * (1.0 - *x));
    }
    assert_eq!(x.to_vec()?, host);
    Ok(())
}

/// Conway's game: eight shifted views of a padded board, masks, and an update whose result depends on neighbours.
#[test]
fn game_of_life() -> Result<()> {
    const N: usize = 10;
    // A glider on a board with a border of dead cells.
    let mut board = GpuArray::<i32>::zeros(&stream(), (N, N))?;
    board
        .slice_mut(s![1..4, 1..4])
        .copy_from_slice(&[0, 1, 0, 0, 0, 1, 1, 1, 1])?;
    for _ in 0..4 {
        let mut neighbours = Expr::scalar(0);
        for (di, dj) in [
            (-1, -1),
            (-1, 0),
            (-1, 1),
            (0, -1),
            (0, 1),
            (1, -1),
            (1, 0),
            (1, 1),
        ] {
            let shifted = board.slice(s![1 + di..N as i32 - 1 + di, 1 + dj..N as i32 - 1 + dj]);
            neighbours = neighbours + shifted;
        }
        let alive = board.slice(s![1..-1, 1..-1]).eq(1);
        let next = (neighbours.eq(3) | (alive & neighbours.eq(2)))
            .cast::<i32>()
            .eval()?;
        board.slice_mut(s![1..-1, 1..-1]).assign(&next)?;
    }
    // After four generations the glider has moved by one in each direction.
    assert_eq!(
        board.slice(s![2..5, 2..5]).to_vec()?,
        [0, 1, 0, 0, 0, 1, 1, 1, 1]
    );
    assert_eq!(board.sum()?, 5);
    Ok(())
}

/// Escape times, the points from two broadcast sequences that are never stored.
#[test]
fn mandelbrot() -> Result<()> {
    const W: usize = 16;
    const H: usize = 12;
    let re = GpuArray::linspace(&stream(), -2.0f64, 0.5, W)?;
    let im = GpuArray::linspace(&stream(), -1.2f64, 1.2, H)?;
    let (c_re, c_im) = (re.view(), im.slice(s![.., NewAxis]));
    let mut z_re = GpuArray::<f64>::zeros(&stream(), (H, W))?;
    let mut z_im = GpuArray::<f64>::zeros(&stream(), (H, W))?;
    let mut count = GpuArray::<u32>::zeros(&stream(), (H, W))?;
    for _ in 0..20 {
        let next_re = (&z_re * &z_re - &z_im * &z_im + &c_re).eval()?;
        z_im.update(|z_im| &z_re * 2.0 * z_im + &c_im)?;
        z_re = next_re;
        let inside = (&z_re * &z_re + &z_im * &z_im).le(4.0);
        count.add_assign(inside.cast::<u32>())?;
    }
    let (re, im) = (re.to_vec()?, im.to_vec()?);
    let mut want = Vec::new();
    for ci in &im {
        for cr in &re {
            let (mut zr, mut zi, mut count) = (0.0f64, 0.0f64, 0u32);
            for _ in 0..20 {
                let next = zr * zr - zi * zi + cr;
                zi = zr * 2.0 * zi + ci;
                zr = next;
                count += u32::from(zr * zr + zi * zi <= 4.0);
            }
            want.push(count);
        }
    }
    assert_eq!(count.to_vec()?, want);
    Ok(())
}

/// Count, mean, variance, extremes of what passes a filter, each one fused kernel.
#[test]
fn statistics() -> Result<()> {
    let host = noise(5000);
    let x = array(&host, 5000);
    let passes = x.gt(-0.5) & x.lt(0.75);
    let kept: Vec<f64> = host
        .iter()
        .filter(|&&v| v > -0.5 && v < 0.75)
        .map(|&v| f64::from(v))
        .collect();
    assert_eq!(passes.count()?, kept.len() as u64);
    let n = kept.len() as f64;
    let x64 = x.cast::<f64>();
    let mean = passes.select(&x64, 0.0).sum()? / n;
    let host_mean = kept.iter().sum::<f64>() / n;
    assert!((mean - host_mean).abs() < 1e-12);
    let deviation = &x64 - mean;
    let variance = passes.select(&deviation * &deviation, 0.0).sum()? / n;
    let host_variance = kept.iter().map(|v| (v - host_mean).powi(2)).sum::<f64>() / n;
    assert!((variance - host_variance).abs() < 1e-12);
    assert_eq!(
        passes.select(&x64, f64::INFINITY).min()?,
        kept.iter().copied().fold(f64::INFINITY, f64::min)
    );
    assert_eq!(
        passes.select(&x64, f64::NEG_INFINITY).max()?,
        kept.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    );
    assert!(!passes.all()? && passes.any()?);
    Ok(())
}

/// Clipping and thresholds, with a mask kept as an expression and used twice.
#[test]
fn clip_and_threshold() -> Result<()> {
    let host = noise(777);
    let x = array(&host, 777);
    let clipped = x.clip(-0.25, 0.5).eval()?;
    assert_eq!(
        clipped.to_vec()?,
        host.iter().map(|v| v.clamp(-0.25, 0.5)).collect::<Vec<_>>()
    );
    let bright = x.gt(0.0);
    let image = bright.select(255u32, 0).eval()?;
    assert_eq!(
        image.to_vec()?,
        host.iter()
            .map(|&v| if v > 0.0 { 255 } else { 0 })
            .collect::<Vec<u32>>()
    );
    let mut filtered = x.try_clone()?;
    filtered.update(|x| bright.select(&x * 2.0, -x))?;
    assert_eq!(
        filtered.to_vec()?,
        host.iter()
            .map(|&v| if v > 0.0 { v * 2.0 } else { -v })
            .collect::<Vec<_>>()
    );
    Ok(())
}

/// Grey from interleaved colours: channels are views of stride 3.
#[test]
fn greyscale() -> Result<()> {
    let host: Vec<f32> = noise(8 * 6 * 3);
    let image = array(&host, (8, 6, 3));
    let [red, green, blue] = [0, 1, 2].map(|channel| image.slice(s![.., .., channel]));
    let grey = (red * 0.299 + green * 0.587 + blue * 0.114).eval()?;
    assert_eq!(grey.shape(), [8, 6]);
    let want: Vec<f32> = host
        .chunks(3)
        .map(|p| p[0] * 0.299 + p[1] * 0.587 + p[2] * 0.114)
        .collect();
    assert_eq!(grey.to_vec()?, want);
    // Back into the channels of another image, upside down.
    let mut out = GpuArray::<f32>::zeros(&stream(), (8, 6, 3))?;
    for channel in 0..3 {
        out.slice_mut(s![.., .., channel])
            .assign(grey.slice(s![..;-1]))?;
    }
    let out = out.to_vec()?;
    assert_eq!(out[3..6], [want[7 * 6 + 1]; 3]);
    Ok(())
}

/// Softmax of each row, stable, with the row's maximum and sum staying on the device.
#[test]
fn softmax_rows() -> Result<()> {
    let host: Vec<f32> = noise(4 * 9).iter().map(|v| v * 20.0).collect();
    let x = array(&host, (4, 9));
    let mut y = GpuArray::<f32>::zeros(&stream(), (4, 9))?;
    for row in 0..4 {
        let logits = x.slice(s![row]);
        let largest = logits.max_on_device()?;
        let weights = (&logits - &largest).exp();
        let total = weights.sum_on_device()?;
        y.slice_mut(s![row]).assign(weights / &total)?;
    }
    let mut want = Vec::new();
    for row in host.chunks(9) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f64 = row.iter().map(|v| f64::from((v - largest).exp())).sum();
        want.extend(row.iter().map(|v| (v - largest).exp() / total as f32));
    }
    close(&y.to_vec()?, &want, 1e-6);
    Ok(())
}

/// Work that goes back and forth between two streams: the library orders it.
#[test]
fn two_streams() -> Result<()> {
    let context = stream().context().clone();
    let (left, right) = (context.new_stream()?, context.new_stream()?);
    let mut x = GpuArray::full(&left, 10_000, 1.0f32)?;
    for pass in 0..20 {
        let doubled = (&x * 2.0).eval_on(&right)?;
        x.assign_on(if pass % 2 == 0 { &left } else { &right }, &doubled - 0.5)?;
    }
    // x -> 2x - 1/2 keeps 1/2 + d as 1/2 + 2d.
    assert_eq!(x.sum()?, 10_000.0 * (0.5 + 0.5 * (1 << 20) as f32));
    // Disjoint halves at once.
    let (mut head, mut tail) = x.view_mut().split_rows_mut(4000)?;
    head.assign_on(&left, 1.0)?;
    tail.assign_on(&right, 2.0)?;
    assert_eq!(x.sum()?, 4000.0 + 12_000.0);
    Ok(())
}

/// Successive minima by an update that reads its own neighbour: through a temporary, as if all was read first.
#[test]
fn erosion_in_place() -> Result<()> {
    let mut x = array(&[5, 3, 8, 1, 9, 2], 6);
    x.slice_mut(s![..]).update(|x| {
        let ends = (Expr::sequence(0, 1, 6)).eq(5);
        ends.select(&x, x.minimum(x.slice(s![..;-1])))
    })?;
    assert_eq!(x.to_vec()?, [2, 3, 1, 1, 3, 2]);
    x.copy_within(s![..-1], s![1..])?;
    assert_eq!(x.to_vec()?, [2, 2, 3, 1, 1, 3]);
    Ok(())
}
