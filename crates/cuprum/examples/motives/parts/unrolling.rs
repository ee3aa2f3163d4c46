//! Unrolling: a line for each tap of a filter, and none for the taps that are 0.

use cuprum::codegen::{CLiteral as _, Code, Source, SourceModule};
use cuprum::prelude::*;

use super::measure::{Bench, Gain, numbers, same};

const LOOP: &str = "
__global__ void filter(const float *x, float *y, const float *taps, int count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < count; ++k)
        if (i + k < n) sum += taps[k] * x[i + k];
    y[i] = sum;
}
";

/// A filter of which half is 0.
const TAPS: [f32; 16] = [
    1.0, 0.0, -2.0, 0.0, 3.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 4.0,
];

/// The same filter with a line for each tap; the end, where not all of them fit, apart.
fn unrolled() -> Source {
    let mut code = Code::new();
    let taps = || TAPS.iter().enumerate().filter(|(_, tap)| **tap != 0.0);
    code.block(
        "__global__ void filter(const float *x, float *y, int n)",
        |code| {
            code.line("int i = blockIdx.x * blockDim.x + threadIdx.x;");
            code.line("if (i >= n) return;");
            code.line("float sum = 0;");
            code.block(format!("if (i + {} < n)", TAPS.len() - 1), |code| {
                code.unroll(taps(), |code, (k, tap)| {
                    code.line(format!("sum += {} * x[i + {k}];", tap.c_literal()));
                });
            });
            code.block("else", |code| {
                code.unroll(taps(), |code, (k, tap)| {
                    code.line(format!(
                        "if (i + {k} < n) sum += {} * x[i + {k}];",
                        tap.c_literal()
                    ));
                });
            });
            code.line("y[i] = sum;");
        },
    );
    SourceModule::builder(code)
}

pub(crate) fn run(bench: &Bench) -> cuprum::Result<Gain> {
    let x = numbers(bench.elements);
    let want: Vec<f32> = (0..x.len())
        .map(|i| x[i..].iter().zip(TAPS).map(|(x, tap)| x * tap).sum())
        .collect();
    let looped = bench.kernel(&SourceModule::builder(LOOP), "filter")?;
    let straight = bench.kernel(&unrolled(), "filter")?;

    let stream = &bench.stream;
    let x = DeviceBuffer::from_slice(stream, &x)?;
    let taps = DeviceBuffer::from_slice(stream, &TAPS)?;
    let mut before = DeviceBuffer::<f32>::zeros(stream, x.len())?;
    let mut after = DeviceBuffer::<f32>::zeros(stream, x.len())?;
    let (config, n) = (LaunchConfig::for_elements(x.len()), x.len() as i32);
    let count = TAPS.len() as i32;
    let gain = bench.compare(
        || {
            // SAFETY: the kernel reads x and writes y below n, the length of both, and reads `count` taps.
            Ok(unsafe { looped.launch(stream, config, (&x, &mut before, &taps, count, n)) }?)
        },
        // SAFETY: as above, without the taps.
        || Ok(unsafe { straight.launch(stream, config, (&x, &mut after, n)) }?),
    )?;
    same(&before.to_vec()?, &want);
    same(&after.to_vec()?, &want);
    Ok(gain)
}
