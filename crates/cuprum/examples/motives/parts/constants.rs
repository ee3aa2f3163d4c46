//! Constants: coefficients that the compiler sees need not be loaded, and those that are 0 or 1 cost nothing.

use cuprum::codegen::{CLiteral as _, SourceModule, Template};
use cuprum::prelude::*;

use super::measure::{Bench, Gain, numbers, same};

const IN_MEMORY: &str = "
__global__ void polynomial(const float *x, float *y, const float *c, int degree, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = degree; k >= 0; --k) sum = sum * x[i] + c[k];
    y[i] = sum;
}
";

const IN_SOURCE: &str = "
__global__ void polynomial(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float c[] = {{ coefficients | c('f32') }};
    float sum = 0;
    #pragma unroll
    for (int k = {{ coefficients | length - 1 }}; k >= 0; --k) sum = sum * x[i] + c[k];
    y[i] = sum;
}
";

/// Of degree 6, so that with the numbers of `numbers` everything is exact.
const COEFFICIENTS: [f32; 7] = [3.0, 0.0, -1.0, 0.0, 0.0, 2.0, 1.0];

pub(crate) fn run(bench: &Bench) -> cuprum::Result<Gain> {
    let x = numbers(bench.elements);
    let want: Vec<f32> = x
        .iter()
        .map(|x| COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * x + c))
        .collect();
    let memory = bench.kernel(&SourceModule::builder(IN_MEMORY), "polynomial")?;
    let source = Template::new("polynomial.cu", IN_SOURCE)?
        .with("coefficients", COEFFICIENTS)
        .render()?;
    assert!(source.text().contains(&COEFFICIENTS.c_literal()));
    let constant = bench.kernel(&source, "polynomial")?;

    let stream = &bench.stream;
    let x = DeviceBuffer::from_slice(stream, &x)?;
    let c = DeviceBuffer::from_slice(stream, &COEFFICIENTS)?;
    let mut before = DeviceBuffer::<f32>::zeros(stream, x.len())?;
    let mut after = DeviceBuffer::<f32>::zeros(stream, x.len())?;
    let (config, n) = (LaunchConfig::for_elements(x.len()), x.len() as i32);
    let degree = COEFFICIENTS.len() as i32 - 1;
    let gain = bench.compare(
        || {
            // SAFETY: the kernel reads x and writes y below n, the length of both, and reads c up to its degree.
            Ok(unsafe { memory.launch(stream, config, (&x, &mut before, &c, degree, n)) }?)
        },
        // SAFETY: as above, without c.
        || Ok(unsafe { constant.launch(stream, config, (&x, &mut after, n)) }?),
    )?;
    same(&before.to_vec()?, &want);
    same(&after.to_vec()?, &want);
    Ok(gain)
}
