//! What pools hold at their peak, against an allocator on paper that has all memory side by side.

use cuprum::mempool::{Pool, PooledBuffer};
use cuprum::prelude::Device;
use cuprum_tests::pools::best_fit::BestFit;
use cuprum_tests::pools::trace::{Step, Trace};

/// A pool may hold so much more than the allocator on paper.
const BOUND: f64 = 1.15;

/// What the allocator on paper holds. Device memory is aligned to 256 bytes, so that is its grain too.
fn on_paper(trace: &Trace) -> BestFit {
    let mut line = BestFit::default();
    let mut blocks = Vec::new();
    for step in &trace.steps {
        match *step {
            Step::Allocate(bytes) => {
                let bytes = bytes.next_multiple_of(256);
                blocks.push((line.allocate(bytes), bytes));
            }
            Step::Free(number) => {
                let (address, bytes) = blocks[number];
                line.free(address, bytes);
            }
        }
    }
    line
}

#[test]
fn pools_hold_little_more_than_an_allocator_on_paper() {
    let context = Device::by_name("soft:0")
        .and_then(|device| device.context())
        .expect("a software device");
    let stream = context.new_stream().expect("a stream");
    for trace in Trace::all() {
        let line = on_paper(&trace);
        assert!(line.held() >= line.peak_live());
        let pool = Pool::new(&context).expect("a pool");
        let mut live: Vec<Option<PooledBuffer>> = Vec::new();
        for step in &trace.steps {
            match *step {
                Step::Allocate(bytes) => {
                    let bytes = usize::try_from(bytes).expect("a size of this host");
                    live.push(Some(pool.allocate(&stream, bytes).expect("memory")));
                }
                Step::Free(number) => live[number] = None,
            }
        }
        let peak = pool.statistics().peak_managed_bytes;
        let ratio = peak as f64 / line.held() as f64;
        println!(
            "{}: {} steps, lent {} MiB at the peak, on paper {} MiB, pool {} MiB: {ratio:.3}\n{}",
            trace.name,
            trace.steps.len(),
            line.peak_live() >> 20,
            line.held() >> 20,
            peak >> 20,
            pool.report()
        );
        assert!(ratio <= BOUND, "{}: {ratio:.3}", trace.name);
    }
}

/// The traces that results are told for.
#[test]
fn the_traces_are_those_that_were_committed() {
    let fingerprints = Trace::all().map(|trace| (trace.name, trace.fingerprint()));
    assert_eq!(
        fingerprints,
        [
            ("random", 0x877c_2c53_ef56_80aa),
            ("sawtooth", 0x3832_608f_f97a_0f56),
            ("phase change", 0x1c23_3490_8ff0_c83b),
        ]
    );
}
