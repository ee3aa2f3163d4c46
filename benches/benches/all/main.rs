//! All benchmarks in one executable.

mod expression_host;
mod launch;
mod launch_host;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    launch_host::benches(&mut criterion);
    expression_host::benches(&mut criterion);
    launch::benches(&mut criterion);
    criterion.final_summary();
}
