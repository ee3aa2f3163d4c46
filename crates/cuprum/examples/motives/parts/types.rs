//! Types: a kernel is made for the type of the data, instead of one for all in the widest type.

use cuprum::codegen::Template;
use cuprum::codegen::repr::Scalar;
use cuprum::prelude::*;

use super::measure::{Bench, Gain, numbers, same};

const SOURCE: &str = "
__global__ void iterate(const {{ type }} *x, {{ type }} *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {{ type }} z = x[i];
    for (int k = 0; k < 32; ++k) z = z * {{ 0.5 | c(type) }} + {{ 1 | c(type) }};
    y[i] = z;
}
";

pub(crate) fn run(bench: &Bench) -> cuprum::Result<Gain> {
    let x = numbers(bench.elements);
    let template = Template::new("iterate.cu", SOURCE)?;
    let wide = bench.kernel(&template.with("type", Scalar::F64).render()?, "iterate")?;
    let narrow = bench.kernel(&template.with("type", Scalar::F32).render()?, "iterate")?;

    let stream = &bench.stream;
    let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let x64 = DeviceBuffer::from_slice(stream, &doubles)?;
    let x32 = DeviceBuffer::from_slice(stream, &x)?;
    let mut y64 = DeviceBuffer::<f64>::zeros(stream, x.len())?;
    let mut y32 = DeviceBuffer::<f32>::zeros(stream, x.len())?;
    let (config, n) = (LaunchConfig::for_elements(x.len()), x.len() as i32);
    let gain = bench.compare(
        // SAFETY: the kernel reads x and writes y below n, the length of both.
        || Ok(unsafe { wide.launch(stream, config, (&x64, &mut y64, n)) }?),
        // SAFETY: as above.
        || Ok(unsafe { narrow.launch(stream, config, (&x32, &mut y32, n)) }?),
    )?;
    // The kernel may contract the product and the sum; halving is exact, so that changes nothing.
    let want: Vec<f64> = doubles
        .iter()
        .map(|&x| (0..32).fold(x, |z, _| z * 0.5 + 1.0))
        .collect();
    same(&y64.to_vec()?, &want);
    let want: Vec<f32> = x
        .iter()
        .map(|&x| (0..32).fold(x, |z, _| z * 0.5 + 1.0))
        .collect();
    same(&y32.to_vec()?, &want);
    Ok(gain)
}
