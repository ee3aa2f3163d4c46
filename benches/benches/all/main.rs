//! All benchmarks in one executable. A filter on the command line runs those whose name contains it.

mod compile_time;
mod expression_host;
mod first_kernel;
mod kernels;
mod launch;
mod launch_host;
mod pools;

use criterion::Criterion;
use cuprum_softcuda::{Config, DeviceConfig};

/// The software device that runs kernels on one host thread.
const ONE_WORKER: &str = "soft:1";
/// The software device that runs kernels on two.
const TWO_WORKERS: &str = "soft:2";

/// Whether a measurement of this name, or a part of it, was asked for: criterion's filter for what it does not run itself.
fn is_wanted(name: &str) -> bool {
    let mut filters = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    filters.peek().is_none()
        || filters.any(|filter| name.contains(&filter) || filter.starts_with(name))
}

fn main() {
    if first_kernel::child() {
        return;
    }
    // The first device is what a user has; the others have a fixed number of workers.
    let mut config = Config::from_env().expect("the environment makes sense");
    let first = config.devices.first().cloned().unwrap_or_default();
    let with_workers = |count| {
        let mut device: DeviceConfig = first.clone();
        device.worker_threads = count;
        device
    };
    config.devices = vec![first.clone(), with_workers(1), with_workers(2)];
    cuprum_softcuda::configure(config).expect("the software driver is not in use yet");
    let mut criterion = Criterion::default().configure_from_args();
    if is_wanted("launch") {
        launch_host::benches(&mut criterion);
    }
    if is_wanted("expression") {
        expression_host::benches(&mut criterion);
    }
    if is_wanted("launch") {
        launch::benches(&mut criterion);
    }
    if is_wanted("pool") {
        pools::benches(&mut criterion);
    }
    kernels::benches(&mut criterion);
    compile_time::benches();
    first_kernel::benches();
    criterion.final_summary();
}
