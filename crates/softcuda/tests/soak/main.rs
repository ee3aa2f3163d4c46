//! A random mix of everything, from several threads of the host: every result is right, and in the end nothing is left.
//!
//! The seed is fixed and printed; `CUPRUM_SEED` chooses another, `CUPRUM_SOAK_SECONDS` a longer run than a few seconds.
//! The counters belong to the process, so this program has one test.

#[path = "../common/mod.rs"]
mod common;

mod work;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use work::{Random, Shared, Worker};

const THREADS: u64 = 6;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn nothing_is_lost_or_leaked() {
    let mut config = cuprum_softcuda::Config::default();
    let device = &mut config.devices[0];
    device.memory_bytes = 256 << 20;
    device.multiprocessors = 4;
    device.worker_threads = 2;
    config.devices.push(config.devices[0].clone());
    // A hang is a failure, not a hang.
    config.kernel_time_limit = Some(Duration::from_secs(60));
    cuprum_softcuda::configure(config).expect("nothing is in use yet");
    ok!(cuInit(0));
    let printed = std::sync::Arc::new(AtomicU64::new(0));
    let counter = std::sync::Arc::clone(&printed);
    cuprum_softcuda::set_printf_handler(Some(Box::new(move |record| {
        assert_eq!(record, b"soak\n");
        counter.fetch_add(1, Ordering::Relaxed);
    })));

    let (seed, seconds) = (
        number("CUPRUM_SEED", 0x00c0_ffee),
        number("CUPRUM_SOAK_SECONDS", 5),
    );
    println!("CUPRUM_SEED={seed}, {THREADS} threads, {seconds} s");
    let before = cuprum_softcuda::counters();
    let shared = Shared::new();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut done = [0u64; work::KINDS];
    let mut said = 0;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || {
                    let mut worker = Worker::new(shared, Random::new(seed + thread));
                    while Instant::now() < end {
                        worker.step();
                    }
                    worker.finish()
                })
            })
            .collect();
        for thread in threads {
            let (counts, lines) = thread.join().expect("every result is right");
            done.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
            said += lines;
        }
    });
    shared.destroy();
    println!("{done:?} steps of each kind");
    assert_eq!(printed.load(Ordering::Relaxed), said, "lines of kernels");
    assert!(
        done.iter().all(|&count| count > 0),
        "{done:?}: a kind was never tried"
    );
    assert_eq!(cuprum_softcuda::counters(), before, "something is left");
    cuprum_softcuda::set_printf_handler(None);
}
