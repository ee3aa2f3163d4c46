//! The transpose of a matrix through tiles in shared memory.

use cuprum::codegen::tuner::{Candidate, Scale, Space, Tunable, Verdict};
use cuprum::codegen::{Result, Source, SourceModule};
use cuprum::prelude::*;

/// `TILE` x `TILE` elements go through shared memory, `ROWS` of them for each thread; `PAD` keeps columns in different banks. A tile of 1 is
/// no tile: elements go straight from row to column.
const SOURCE: &str = "
__global__ void transpose(const float *x, float *y, int side)
{
#if TILE == 1
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < side && row < side) y[(size_t)col * side + row] = x[(size_t)row * side + col];
#else
    __shared__ float tile[TILE][TILE + PAD];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    #pragma unroll
    for (int k = 0; k < TILE; k += TILE / ROWS)
        if (col < side && row + k < side) tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * side + col];
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    #pragma unroll
    for (int k = 0; k < TILE; k += TILE / ROWS)
        if (col < side && row + k < side) y[(size_t)(row + k) * side + col] = tile[threadIdx.x][threadIdx.y + k];
#endif
}
";

pub(super) struct Transpose {
    side: usize,
}

pub(super) struct Data {
    side: usize,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
}

impl Transpose {
    pub(super) fn new(side: usize) -> Self {
        Self { side }
    }

    pub(super) fn space() -> Space {
        Space::new()
            .axis("TILE", [1, 8, 16, 32, 64])
            .axis("ROWS", [1, 2, 4, 8])
            .axis("PAD", [0, 1])
            // A tile of 64 with one row each would want 4096 threads.
            .constraint(|one| one.number("TILE").pow(2) / one.number("ROWS") <= 1024)
            .constraint(|one| one.number("TILE") > 1 || one.number("PAD") == 0)
            .constraint(|one| one.number("TILE") > 1 || one.number("ROWS") > 1)
    }
}

/// The value of an element: exact in an `f32`, and another for each place as far as that can be.
fn element(row: usize, col: usize) -> f32 {
    ((row * 4099 + col) % (1 << 24)) as f32
}

impl Tunable for Transpose {
    type Data = Data;

    fn source(&self, candidate: &Candidate) -> Result<Source> {
        Ok(candidate.define(SourceModule::builder(SOURCE).file_name("transpose.cu")))
    }

    fn prepare(&self, stream: &Stream, scale: Scale) -> Result<Data> {
        let side = match scale {
            Scale::Small => 75,
            Scale::Full => self.side,
        };
        let host: Vec<f32> = (0..side * side)
            .map(|at| element(at / side, at % side))
            .collect();
        Ok(Data {
            side,
            x: DeviceBuffer::from_slice(stream, &host)?,
            y: DeviceBuffer::zeros(stream, side * side)?,
        })
    }

    fn launch(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        stream: &Stream,
        data: &mut Data,
    ) -> Result<()> {
        let (tile, rows) = (candidate.extent("TILE"), candidate.extent("ROWS"));
        // Without tiles, ROWS gives the shape of the block.
        let (block, tile) = if tile == 1 {
            ((128 / rows, rows), (128 / rows, rows))
        } else {
            ((tile, tile / rows), (tile, tile))
        };
        let side = data.side as u32;
        let config = LaunchConfig::new(
            (side.div_ceil(tile.0), side.div_ceil(tile.1), 1),
            (block.0, block.1, 1),
        );
        let kernel = module.function("transpose")?;
        // SAFETY: the kernel reads x and writes y, each of side x side elements, at rows and columns below side.
        unsafe { kernel.launch(stream, config, (&data.x, &mut data.y, data.side as i32)) }
            .map_err(Into::into)
    }

    fn verify(&self, data: &Data) -> Result<Verdict> {
        let side = data.side;
        let got = data.y.to_vec()?;
        let wrong = (0..side * side).find(|&at| got[at] != element(at % side, at / side));
        Ok(match wrong {
            Some(at) => Verdict::Wrong(format!(
                "row {}, column {} is {}",
                at / side,
                at % side,
                got[at]
            )),
            None => Verdict::Right,
        })
    }
}
