//! `app_finance_signal`.

use crate::corpus::data::Random;
use crate::corpus::{Bound, Case};

const SOURCE: &str = "app_finance_signal";

pub(super) fn cases() -> Vec<Case> {
    vec![black_scholes(), fft(), csr(), rk4(), softmax()]
}

/// The price of options by the exact normal distribution: the kernel's polynomial is good to 7.5e-8 (Abramowitz and
/// Stegun 26.2.17), times prices up to 100, in single precision.
fn black_scholes() -> Case {
    let mut random = Random::new(111);
    let n = 500;
    let mut numbers =
        |low, high| -> Vec<f32> { (0..n).map(|_| random.between(low, high) as f32).collect() };
    let (spot, strike, time) = (numbers(5.0, 100.0), numbers(5.0, 100.0), numbers(0.25, 5.0));
    let (rate, volatility) = (0.02f32, 0.3f32);
    let distribution = |d: f64| 0.5 * libm::erfc(-d / std::f64::consts::SQRT_2);
    let (call, put): (Vec<f32>, Vec<f32>) = (0..n)
        .map(|i| {
            let (s, x, t) = (f64::from(spot[i]), f64::from(strike[i]), f64::from(time[i]));
            let (r, v) = (f64::from(rate), f64::from(volatility));
            let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
            let d2 = d1 - v * t.sqrt();
            let discounted = x * (-r * t).exp();
            let call = s * distribution(d1) - discounted * distribution(d2);
            // Put-call parity.
            (call as f32, (call - s + discounted) as f32)
        })
        .unzip();
    Case::new(SOURCE, "bs")
        .shape(2, 64)
        .output(&call, Bound::Absolute(2e-4))
        .output(&put, Bound::Absolute(2e-4))
        .input(&spot)
        .input(&strike)
        .input(&time)
        .scalar(rate)
        .scalar(volatility)
        .scalar(n as i32)
}

/// Two transforms of 256 points, against the sum that defines them.
fn fft() -> Case {
    let mut random = Random::new(112);
    let data: Vec<f32> = (0..2 * 2 * 256)
        .map(|_| random.between(-1.0, 1.0) as f32)
        .collect();
    let want: Vec<f32> = data
        .chunks(512)
        .flat_map(|block| {
            (0..256).flat_map(move |k| {
                let (mut re, mut im) = (0.0f64, 0.0f64);
                for (n, x) in block.chunks(2).enumerate() {
                    let angle = -2.0 * std::f64::consts::PI * ((k * n) % 256) as f64 / 256.0;
                    let (a, b) = (f64::from(x[0]), f64::from(x[1]));
                    re += a * angle.cos() - b * angle.sin();
                    im += a * angle.sin() + b * angle.cos();
                }
                [re as f32, im as f32]
            })
        })
        .collect();
    // Eight stages of additions of numbers up to 16 or so.
    Case::new(SOURCE, "fft")
        .shape(2, 128)
        .update(&data, &want, Bound::Absolute(3e-5))
}

/// A sparse matrix times a vector; rows of no, few and many elements.
fn csr() -> Case {
    let mut random = Random::new(113);
    let rows = 21;
    let mut starts = vec![0i32];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let count = [0, 1, 31, 32, 33, 100][row % 6];
        for _ in 0..count {
            columns.push(random.below(50) as i32);
            values.push(random.between(-1.0, 1.0));
        }
        starts.push(columns.len() as i32);
    }
    let x: Vec<f64> = (0..50).map(|_| random.between(-1.0, 1.0)).collect();
    let want: Vec<f64> = starts
        .windows(2)
        .map(|ends| {
            (ends[0] as usize..ends[1] as usize)
                .map(|j| values[j] * x[columns[j] as usize])
                .sum()
        })
        .collect();
    Case::new(SOURCE, "csr")
        .shape(6, 128)
        .input(&starts)
        .input(&columns)
        .input(&values)
        .input(&x)
        .output(&want, Bound::Absolute(1e-13))
        .scalar(rows as i32)
}

/// Pendulums of small and large swings, by the classical Runge-Kutta method.
fn rk4() -> Case {
    let (w, dt, steps) = (2.0f64, 0.01f64, 200);
    let start: Vec<(f64, f64)> = (0..32)
        .map(|i| (0.1 * f64::from(i), 0.05 * f64::from(i) - 0.5))
        .collect();
    let slope = |(y, v): (f64, f64)| (v, -w * y.sin());
    let moved = |(y, v): (f64, f64), (dy, dv): (f64, f64), h: f64| (y + h * dy, v + h * dv);
    let end: Vec<(f64, f64)> = start
        .iter()
        .map(|&at| {
            (0..steps).fold(at, |at, _| {
                let k1 = slope(at);
                let k2 = slope(moved(at, k1, dt / 2.0));
                let k3 = slope(moved(at, k2, dt / 2.0));
                let k4 = slope(moved(at, k3, dt));
                (
                    at.0 + dt / 6.0 * (k1.0 + 2.0 * k2.0 + 2.0 * k3.0 + k4.0),
                    at.1 + dt / 6.0 * (k1.1 + 2.0 * k2.1 + 2.0 * k3.1 + k4.1),
                )
            })
        })
        .collect();
    let parts = |list: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { list.iter().copied().unzip() };
    let ((y, v), (y_end, v_end)) = (parts(&start), parts(&end));
    Case::new(SOURCE, "rk4")
        .shape(1, 32)
        .update(&y, &y_end, Bound::Absolute(1e-11))
        .update(&v, &v_end, Bound::Absolute(1e-11))
        .scalar(w)
        .scalar(dt)
        .scalar(steps)
}

/// The kernel adds to a word of shared memory that holds what the maximum left there: the largest of the second warp's
/// numbers. So with one warp its sum starts from a word that nothing wrote; two warps or more are needed, and rows whose
/// second warp has the maximum 0 give a true softmax.
fn softmax() -> Case {
    let mut random = Random::new(114);
    let (rows, n, threads) = (3, 300, 128);
    let mut x: Vec<f32> = (0..rows * n)
        .map(|_| random.between(-5.0, 0.0) as f32)
        .collect();
    for row in x.chunks_mut(n) {
        // The second warp starts with element 32; its maximum is 0 exactly.
        row[40] = 0.0;
    }
    let want: Vec<f32> = x
        .chunks(n)
        .flat_map(|row| {
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let exponentials: Vec<f64> = row.iter().map(|&x| f64::from(x - top).exp()).collect();
            let sum: f64 = exponentials.iter().sum();
            exponentials.into_iter().map(move |e| (e / sum) as f32)
        })
        .collect();
    Case::new(SOURCE, "softmax")
        .shape(rows as u32, threads)
        .update(&x, &want, Bound::Relative(3e-6))
        .scalar(n as i32)
}
