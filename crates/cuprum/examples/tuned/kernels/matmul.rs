//! The product of two matrices: tiles in shared memory, and a patch of the result for each thread.

use cuprum::codegen::tuner::{Candidate, Scale, Space, Tunable, Verdict};
use cuprum::codegen::{Result, Source, SourceModule, Template};
use cuprum::prelude::*;

/// A block makes `BM` x `BN` elements, a thread `TM` x `TN` of them; `BK` columns of A and rows of B go through shared memory at a time.
const SOURCE: &str = "
{% set threads = (BM // TM) * (BN // TN) %}
__global__ void __launch_bounds__({{ threads }}) matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[{{ BK }}][{{ BM }}], bs[{{ BK }}][{{ BN }}];
    const int tx = threadIdx.x % {{ BN // TN }}, ty = threadIdx.x / {{ BN // TN }};
    const int row0 = blockIdx.y * {{ BM }}, col0 = blockIdx.x * {{ BN }};
    float sum[{{ TM }}][{{ TN }}] = {};
    for (int k0 = 0; k0 < n; k0 += {{ BK }}) {
        for (int e = threadIdx.x; e < {{ BM * BK }}; e += {{ threads }}) {
            int row = row0 + e / {{ BK }}, k = k0 + e % {{ BK }};
            as[e % {{ BK }}][e / {{ BK }}] = row < n && k < n ? a[(size_t)row * n + k] : 0;
        }
        for (int e = threadIdx.x; e < {{ BN * BK }}; e += {{ threads }}) {
            int k = k0 + e / {{ BN }}, col = col0 + e % {{ BN }};
            bs[e / {{ BN }}][e % {{ BN }}] = k < n && col < n ? b[(size_t)k * n + col] : 0;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {{ BK }}; ++k) {
{% for i in range(TM) %}
            const float a{{ i }} = as[k][ty * {{ TM }} + {{ i }}];
{% endfor %}
{% for j in range(TN) %}
            const float b{{ j }} = bs[k][tx + {{ j * (BN // TN) }}];
{% endfor %}
{% for i in range(TM) %}
{% for j in range(TN) %}
            sum[{{ i }}][{{ j }}] += a{{ i }} * b{{ j }};
{% endfor %}
{% endfor %}
        }
        __syncthreads();
    }
{% for i in range(TM) %}
{% for j in range(TN) %}
    if (row0 + ty * {{ TM }} + {{ i }} < n && col0 + tx + {{ j * (BN // TN) }} < n)
        c[(size_t)(row0 + ty * {{ TM }} + {{ i }}) * n + col0 + tx + {{ j * (BN // TN) }}] = sum[{{ i }}][{{ j }}];
{% endfor %}
{% endfor %}
}
";

pub(super) struct Matmul {
    side: usize,
    template: Template,
}

pub(super) struct Data {
    side: usize,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
}

impl Matmul {
    pub(super) fn new(side: usize) -> Self {
        Self {
            side,
            template: Template::new("matmul.cu", SOURCE).expect("the template is one"),
        }
    }

    pub(super) fn space() -> Space {
        Space::new()
            .axis("BM", [32, 64, 128])
            .axis("BN", [32, 64, 128])
            .axis("BK", [8, 16])
            .axis("TM", [1, 2, 4, 8])
            .axis("TN", [1, 2, 4, 8])
            .constraint(|one| (64..=512).contains(&threads(one)))
            // What a block loads at a time, every thread has a part of.
            .constraint(|one| {
                one.number("BM").min(one.number("BN")) * one.number("BK") >= threads(one)
            })
    }
}

fn threads(one: &Candidate) -> i64 {
    one.number("BM") / one.number("TM") * (one.number("BN") / one.number("TN"))
}

/// Small whole numbers, so that every sum is exact in any order.
fn element_a(row: usize, k: usize) -> f32 {
    ((row * 7 + k * 3) % 5) as f32 - 2.0
}

fn element_b(k: usize, col: usize) -> f32 {
    ((k * 5 + col * 11) % 7) as f32 - 3.0
}

impl Tunable for Matmul {
    type Data = Data;

    fn source(&self, candidate: &Candidate) -> Result<Source> {
        candidate.render(&self.template)
    }

    fn prepare(&self, stream: &Stream, scale: Scale) -> Result<Data> {
        let side = match scale {
            Scale::Small => 70,
            Scale::Full => self.side,
        };
        let matrix = |element: fn(usize, usize) -> f32| -> Vec<f32> {
            (0..side * side)
                .map(|at| element(at / side, at % side))
                .collect()
        };
        Ok(Data {
            side,
            a: DeviceBuffer::from_slice(stream, &matrix(element_a))?,
            b: DeviceBuffer::from_slice(stream, &matrix(element_b))?,
            c: DeviceBuffer::zeros(stream, side * side)?,
        })
    }

    fn launch(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        stream: &Stream,
        data: &mut Data,
    ) -> Result<()> {
        let side = data.side as u32;
        let grid = (
            side.div_ceil(candidate.extent("BN")),
            side.div_ceil(candidate.extent("BM")),
            1,
        );
        let config = LaunchConfig::new(grid, (threads(candidate) as u32, 1, 1));
        let kernel = module.function("matmul")?;
        // SAFETY: the kernel reads a and b and writes c, each of side x side elements, at rows and columns below side.
        unsafe {
            kernel.launch(
                stream,
                config,
                (&data.a, &data.b, &mut data.c, data.side as i32),
            )
        }
        .map_err(Into::into)
    }

    fn verify(&self, data: &Data) -> Result<Verdict> {
        let side = data.side;
        let got = data.c.to_vec()?;
        // The elements repeat: of rows only 5 and of columns only 7 are different. Each of those products is summed here in whole numbers.
        let product = |row: usize, col: usize| -> i64 {
            (0..side)
                .map(|k| element_a(row, k) as i64 * element_b(k, col) as i64)
                .sum()
        };
        let products: Vec<i64> = (0..35).map(|at| product(at / 7, at % 7)).collect();
        let wrong = (0..side * side).find(|&at| {
            let (row, col) = (at / side, at % side);
            got[at] as i64 != products[row % 5 * 7 + col % 7]
        });
        Ok(match wrong {
            Some(at) => Verdict::Wrong(format!(
                "row {}, column {} is {}, want {}",
                at / side,
                at % side,
                got[at],
                products[at / side % 5 * 7 + at % side % 7]
            )),
            None => Verdict::Right,
        })
    }
}
