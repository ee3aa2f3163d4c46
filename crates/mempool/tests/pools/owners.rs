//! No block is lent twice: random operations of many threads on few streams, against a map of owners that knows
//! nothing of the pool, over a driver that knows nothing of it either and tells when a block's next owner does not come
//! after the work of the last.
//!
//! `CUPRUM_OPERATIONS` chooses how many operations, in all; ten million take some minutes in a release build.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cuprum_driver_core::Stream;
use cuprum_mempool::{Policy, Pool, PooledBuffer, Trim};

use super::{Random, operations, watch};

const THREADS: u64 = 16;
const STREAMS: usize = 4;

/// Which bytes belong to whom, in stripes by address so that threads seldom meet.
struct Owners(Vec<Mutex<BTreeMap<u64, u64>>>);

/// Bytes of one stripe; no block is larger than this.
const STRIPE: u64 = 1 << 24;

impl Owners {
    fn new() -> Self {
        Self((0..64).map(|_| Mutex::default()).collect())
    }

    /// The stripes that a block lies in: one or two, in one order for all.
    fn stripes(&self, start: u64, end: u64) -> impl Iterator<Item = &Mutex<BTreeMap<u64, u64>>> {
        let (first, last) = (start / STRIPE, (end - 1) / STRIPE);
        assert!(last - first <= 1);
        (first..=last).map(|stripe| &self.0[(stripe % self.0.len() as u64) as usize])
    }

    fn take(&self, start: u64, bytes: u64) {
        let end = start + bytes;
        for stripe in self.stripes(start, end) {
            let mut map = stripe.lock().unwrap();
            let clash = map
                .range(..end)
                .next_back()
                .filter(|&(_, &its_end)| its_end > start);
            assert_eq!(clash, None, "{start:#x}..{end:#x} is lent twice");
            map.insert(start, end);
        }
    }

    fn give(&self, start: u64, bytes: u64) {
        for stripe in self.stripes(start, start + bytes) {
            let was = stripe.lock().unwrap().remove(&start);
            assert_eq!(was, Some(start + bytes));
        }
    }
}

fn size(random: &mut Random) -> usize {
    match random.below(10) {
        0..=5 => [256, 1000, 4096, 65_536][random.below(4) as usize],
        6..=8 => 1 + random.below(300_000) as usize,
        _ => 1 + random.below(STRIPE) as usize,
    }
}

fn run(pool: &Pool, streams: &[Stream], operations: u64, seed: u64) {
    let owners = Owners::new();
    let done = AtomicU64::new(0);
    // What one thread lends and another gives back.
    let passed_on: Mutex<Vec<PooledBuffer>> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (owners, done, passed_on) = (&owners, &done, &passed_on);
            scope.spawn(move || {
                let mut random = Random::new(seed + thread + 1);
                let mut live: Vec<PooledBuffer> = Vec::new();
                let give = |buffer: PooledBuffer| {
                    owners.give(buffer.addr(), buffer.len() as u64);
                    drop(buffer);
                };
                for _ in 0..operations / THREADS {
                    let stream = &streams[random.below(STREAMS as u64) as usize];
                    match random.below(100) {
                        0..50 if live.len() < 40 => {
                            let bytes = size(&mut random);
                            let mut buffer = pool.allocate(stream, bytes).unwrap();
                            owners.take(buffer.addr(), bytes as u64);
                            let bytes = bytes.min(1 + random.below(5000) as usize);
                            match random.below(8) {
                                0 => {
                                    // Used on two streams: it goes back with both.
                                    let other = &streams[random.below(STREAMS as u64) as usize];
                                    buffer.slice_mut(..bytes).fill_on(other, 1).unwrap();
                                }
                                1..5 => buffer.slice_mut(..bytes).fill_on(stream, 1).unwrap(),
                                _ => {}
                            }
                            live.push(buffer);
                        }
                        98 if !live.is_empty() => passed_on.lock().unwrap().extend(live.pop()),
                        99 => {
                            let taken = passed_on.lock().unwrap().pop();
                            taken.into_iter().for_each(give);
                        }
                        0..98 if !live.is_empty() => {
                            let which = random.below(live.len() as u64) as usize;
                            give(live.swap_remove(which));
                        }
                        _ => {}
                    }
                    if done.fetch_add(1, Ordering::Relaxed).is_multiple_of(50_021) {
                        pool.free_held();
                        let statistics = pool.statistics();
                        assert!(statistics.peak_managed_bytes >= statistics.managed_bytes);
                    }
                }
                live.into_iter().for_each(give);
            });
        }
    });
    passed_on.into_inner().unwrap().into_iter().for_each(drop);
    let statistics = pool.statistics();
    assert_eq!(
        (
            statistics.active_blocks,
            statistics.active_bytes,
            statistics.active_block_bytes
        ),
        (0, 0, 0)
    );
    assert_eq!(statistics.held_bytes, statistics.managed_bytes);
    assert!(statistics.allocations > operations / 4, "{statistics:?}");
    pool.free_held();
    assert_eq!(pool.managed_bytes(), 0);
    assert_eq!(watch::faults(&streams[0]), [""; 0]);
}

fn check(policy: Policy, trim: Trim, internal: bool) {
    let context = watch::context();
    let streams: Vec<_> = (0..STREAMS)
        .map(|_| context.new_stream().unwrap())
        .collect();
    let pool = Pool::builder()
        .policy(policy)
        .trim(trim)
        .internal_dependencies(internal)
        .build(&context)
        .unwrap();
    run(&pool, &streams, operations(), 7);
}

#[test]
fn coalescing_lends_nothing_twice() {
    check(Policy::Coalescing, Trim::AtPeak, true);
}

#[test]
fn coalescing_with_other_choices_lends_nothing_twice() {
    check(Policy::Coalescing, Trim::Above(1 << 26), false);
}

#[test]
fn bins_lend_nothing_twice() {
    check(Policy::Bins, Trim::AtPeak, true);
}
