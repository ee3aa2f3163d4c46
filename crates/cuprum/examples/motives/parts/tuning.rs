//! Tuning: how many threads, and how much for each, is measured on the device at hand and remembered.

use cuprum::codegen::tuner::{Candidate, Scale, Space, Tunable, Tuner, Verdict};
use cuprum::codegen::{Source, SourceModule};
use cuprum::prelude::*;

use super::measure::{Bench, Gain, numbers};

const SOURCE: &str = "
__global__ void __launch_bounds__(BLOCK) scale(const float *x, float *y, int n)
{
    int i = blockIdx.x * (BLOCK * EACH) + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < EACH; ++k, i += BLOCK)
        if (i < n) y[i] = 3 * x[i] + 1;
}
";

struct ScaleKernel {
    elements: usize,
}

impl ScaleKernel {
    fn config(candidate: &Candidate, n: usize) -> LaunchConfig {
        let (block, each) = (candidate.extent("BLOCK"), candidate.extent("EACH"));
        let blocks = n.div_ceil((block * each) as usize);
        LaunchConfig::grid_1d(blocks as u32, block)
    }
}

impl Tunable for ScaleKernel {
    type Data = (Vec<f32>, DeviceBuffer<f32>, DeviceBuffer<f32>);

    fn source(&self, candidate: &Candidate) -> cuprum::codegen::Result<Source> {
        Ok(candidate.define(SourceModule::builder(SOURCE)))
    }

    fn prepare(&self, stream: &Stream, scale: Scale) -> cuprum::codegen::Result<Self::Data> {
        let n = match scale {
            Scale::Small => 10_007,
            Scale::Full => self.elements,
        };
        let host = numbers(n);
        let x = DeviceBuffer::from_slice(stream, &host)?;
        let y = DeviceBuffer::zeros(stream, n)?;
        Ok((host, x, y))
    }

    fn launch(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        stream: &Stream,
        (host, x, y): &mut Self::Data,
    ) -> cuprum::codegen::Result<()> {
        let kernel = module.function("scale")?;
        let config = Self::config(candidate, host.len());
        // SAFETY: the kernel reads x and writes y below n, the length of both.
        unsafe { kernel.launch(stream, config, (&*x, y, host.len() as i32)) }.map_err(Into::into)
    }

    fn verify(&self, (host, _, y): &Self::Data) -> cuprum::codegen::Result<Verdict> {
        let want: Vec<f32> = host.iter().map(|x| 3.0 * x + 1.0).collect();
        Ok(Verdict::compare(&y.to_vec()?, &want))
    }
}

pub(crate) fn run(bench: &Bench) -> cuprum::Result<Gain> {
    let tunable = ScaleKernel {
        elements: bench.elements,
    };
    let space = Space::new()
        .axis("BLOCK", [64, 128, 256, 512, 1024])
        .axis("EACH", [1, 2, 4, 8, 16]);
    let first = space.candidates()?[0].clone();
    let report = Tuner::new("motive: scale", space)
        .problem(format!("{} elements", bench.elements))
        .run(&bench.device, &tunable)?;
    let best = report.best().0.clone();
    let module = |candidate: &Candidate| -> cuprum::Result<SourceModule> {
        Ok(tunable.source(candidate)?.build(&bench.context)?)
    };
    let (before, after) = (module(&first)?, module(&best)?);
    let stream = &bench.stream;
    let mut one = tunable.prepare(stream, Scale::Full)?;
    let mut other = tunable.prepare(stream, Scale::Full)?;
    let gain = bench.compare(
        || Ok(tunable.launch(&first, &before, stream, &mut one)?),
        || Ok(tunable.launch(&best, &after, stream, &mut other)?),
    )?;
    println!(
        "  {:15} {best} of {} candidates",
        "",
        report.outcomes().len()
    );
    Ok(gain)
}
