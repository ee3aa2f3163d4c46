//! Specialisation: with its extents in the source, a kernel's divisions become multiplications.

use cuprum::codegen::SourceModule;
use cuprum::prelude::*;

use super::measure::{Bench, Gain, same};

/// The transpose of the two inner axes of a stack of matrices, with indices taken apart element by element.
const SOURCE: &str = "
#ifdef ROWS
#define EXTENTS
#else
#define EXTENTS , unsigned ROWS, unsigned COLS
#endif
__global__ void swap(const unsigned *x, unsigned *y, unsigned n EXTENTS)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned col = i % COLS, row = i / COLS % ROWS, plane = i / COLS / ROWS;
    y[(plane * COLS + col) * ROWS + row] = x[i];
}
";

const ROWS: usize = 12;
const COLS: usize = 20;

pub(crate) fn run(bench: &Bench) -> cuprum::Result<Gain> {
    let planes = bench.elements / (ROWS * COLS);
    let n = planes * ROWS * COLS;
    let x: Vec<u32> = (0..n as u32).collect();
    let want: Vec<u32> = (0..n)
        .map(|o| {
            let (row, col, plane) = (o % ROWS, o / ROWS % COLS, o / ROWS / COLS);
            ((plane * ROWS + row) * COLS + col) as u32
        })
        .collect();
    let general = bench.kernel(&SourceModule::builder(SOURCE), "swap")?;
    let special = bench.kernel(
        &SourceModule::builder(SOURCE)
            .define("ROWS", format!("{ROWS}u"))
            .define("COLS", format!("{COLS}u")),
        "swap",
    )?;

    let stream = &bench.stream;
    let x = DeviceBuffer::from_slice(stream, &x)?;
    let mut before = DeviceBuffer::<u32>::zeros(stream, n)?;
    let mut after = DeviceBuffer::<u32>::zeros(stream, n)?;
    let config = LaunchConfig::for_elements(n);
    let (n, rows, cols) = (n as u32, ROWS as u32, COLS as u32);
    let gain = bench.compare(
        || {
            // SAFETY: n is the length of both and a multiple of the extents, so that every index is below it.
            Ok(unsafe { general.launch(stream, config, (&x, &mut before, n, rows, cols)) }?)
        },
        // SAFETY: as above.
        || Ok(unsafe { special.launch(stream, config, (&x, &mut after, n)) }?),
    )?;
    same(&before.to_vec()?, &want);
    same(&after.to_vec()?, &want);
    Ok(gain)
}
