//! Order across streams: everything that a pool does with memory that several streams use, over a driver that delays work
//! at random and tells when two uses of the same bytes are not ordered.

use std::sync::Mutex;

use cuprum_driver_core::{ErrorKind, Stream};
use cuprum_mempool::{PinnedPool, Policy, Pool, PoolBuilder, PooledBuffer, Trim};

use super::{Random, operations, watch};

const THREADS: u64 = 4;
const STREAMS: u64 = 4;

/// Streams that come and go.
struct Streams(Vec<Mutex<Stream>>);

impl Streams {
    fn any(&self, random: &mut Random) -> Stream {
        let which = random.below(STREAMS) as usize;
        self.0[which].lock().unwrap().clone()
    }

    /// Another stream takes the place of one, whose work goes on.
    fn replace(&self, random: &mut Random) {
        let which = random.below(STREAMS) as usize;
        let new = self.0[0].lock().unwrap().context().new_stream().unwrap();
        let old = std::mem::replace(&mut *self.0[which].lock().unwrap(), new);
        drop(old);
    }
}

/// A part of a buffer.
fn part(random: &mut Random, len: usize) -> std::ops::Range<usize> {
    let start = random.below(len as u64) as usize;
    start..start + 1 + random.below((len - start) as u64) as usize
}

fn act(
    random: &mut Random,
    pool: &Pool,
    pinned: &PinnedPool,
    streams: &Streams,
    live: &mut Vec<PooledBuffer>,
    passed_on: &Mutex<Vec<PooledBuffer>>,
) {
    let stream = streams.any(random);
    match random.below(1000) {
        0..300 if live.len() < 20 => {
            let most = [300, 5000, 300_000, 3_000_000][random.below(4) as usize];
            let bytes = 1 + random.below(most) as usize;
            match pool.allocate(&stream, bytes) {
                Ok(buffer) => live.push(buffer),
                Err(error) => {
                    // Counted as a failure, which only a pool with a limit may have.
                    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
                    live.clear();
                }
            }
        }
        300..500 if !live.is_empty() => {
            let which = random.below(live.len() as u64) as usize;
            let buffer = &mut live[which];
            let part = part(random, buffer.len());
            buffer.slice_mut(part).fill_on(&stream, 1).unwrap();
        }
        500..600 if live.len() > 1 => {
            let which = random.below(live.len() as u64) as usize;
            let mut target = live.swap_remove(which);
            let source = &live[random.below(live.len() as u64) as usize];
            let len = 1 + random.below(source.len().min(target.len()) as u64) as usize;
            target
                .slice_mut(..len)
                .copy_from_on(&stream, source.slice(..len))
                .unwrap();
            live.push(target);
        }
        600..640 if !live.is_empty() => {
            let which = random.below(live.len() as u64) as usize;
            let target = &mut live[which];
            let len = 1 + random.below(target.len().min(10_000) as u64) as usize;
            // The pool hands it out zeroed: the host has written to it by now.
            let host = pinned.zeros::<u8>(len).unwrap();
            let address = host.try_as_slice().unwrap().as_ptr().addr() as u64;
            watch::host_touches(address, len as u64);
            target
                .slice_mut(..len)
                .copy_from_pinned(&stream, &host)
                .unwrap();
        }
        640..660 => passed_on.lock().unwrap().extend(live.pop()),
        660..680 => live.extend(passed_on.lock().unwrap().pop()),
        680..684 => pool.free_held(),
        684..688 => pinned.free_held(),
        688..692 => streams.replace(random),
        692..696 => stream.context().collect().unwrap(),
        _ if !live.is_empty() => {
            let which = random.below(live.len() as u64) as usize;
            drop(live.swap_remove(which));
        }
        _ => {}
    }
}

/// Random work of several threads and streams; the number of waits between streams that the pool made.
fn mix(builder: PoolBuilder, limit: Option<u64>, seed: u64) -> u64 {
    let context = watch::context();
    let streams = Streams(
        (0..STREAMS)
            .map(|_| Mutex::new(context.new_stream().unwrap()))
            .collect(),
    );
    let pool = limit.map_or(builder, |limit| builder.limit(limit));
    let pool = pool.build(&context).unwrap();
    let pinned = builder.limit(1 << 20).build_pinned(&context).unwrap();
    let passed_on: Mutex<Vec<PooledBuffer>> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (streams, pool, pinned, passed_on) = (&streams, &pool, &pinned, &passed_on);
            scope.spawn(move || {
                let mut random = Random::new(seed * 100 + thread);
                let mut live = Vec::new();
                for _ in 0..operations() / 10 / THREADS {
                    act(&mut random, pool, pinned, streams, &mut live, passed_on);
                }
            });
        }
    });
    passed_on.into_inner().unwrap().clear();
    let statistics = pool.statistics();
    assert_eq!(
        (statistics.active_blocks, statistics.active_bytes),
        (0, 0),
        "{statistics:?}"
    );
    assert!(
        limit.is_some() || statistics.failures == 0,
        "{statistics:?}"
    );
    pool.free_held();
    context.synchronize().unwrap();
    context.collect().unwrap();
    assert_eq!((pool.managed_bytes(), context.parked()), (0, 0));
    assert_eq!(
        watch::faults(&streams.0[0].lock().unwrap()),
        [""; 0],
        "{builder:?}"
    );
    statistics.waits
}

/// All choices that decide who gets which memory when.
fn all(policy: Policy, seed: u64) {
    let builder = Pool::builder().policy(policy);
    let waits = [
        (builder, None),
        (builder.trim(Trim::Above(4 << 20)), None),
        (builder.trim(Trim::Never), None),
        // The threads use about as much at once.
        (builder, Some(40 << 20)),
    ]
    .map(|(builder, limit)| mix(builder, limit, seed));
    assert!(waits.iter().all(|&waits| waits > 0), "{waits:?}");
    assert_eq!(mix(builder.internal_dependencies(false), None, seed), 0);
}

#[test]
fn coalescing_keeps_the_order_of_streams() {
    all(Policy::Coalescing, 1);
}

#[test]
fn bins_keep_the_order_of_streams() {
    all(Policy::Bins, 2);
}

/// The driver that watches sees what is not ordered, and only that.
#[test]
fn a_race_is_seen() {
    let context = watch::context();
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let pool = Pool::new(&context).unwrap();
    let mut buffer = pool.allocate(&a, 1000).unwrap();
    buffer.slice_mut(..).fill_on(&a, 1).unwrap();
    buffer.slice_mut(..).fill_on(&b, 2).unwrap();
    assert_eq!(watch::faults(&a), [""; 0]);
    // SAFETY: nobody reads the bytes.
    let loose = unsafe { buffer.slice_mut(500..).untracked() };
    loose.into_slice(..).fill_on(&a, 3).unwrap();
    assert_eq!(watch::faults(&a).len(), 1);
    context.synchronize().unwrap();
    // SAFETY: as above.
    let loose = unsafe { buffer.slice_mut(..).untracked() };
    loose.into_slice(..).fill_on(&b, 4).unwrap();
    assert_eq!(watch::faults(&a).len(), 1, "the host has waited");
    watch::host_touches(buffer.addr() + 100, 1);
    assert_eq!(watch::faults(&a).len(), 2);
}

/// Where each thread holds one block at a time, a limit of as many blocks is never too low: whoever finds the pool full
/// waits for what another thread is giving back at that moment.
fn enough(policy: Policy, internal_dependencies: bool, seed: u64) {
    const BYTES: usize = 64 << 10;
    let context = watch::context();
    let block = policy.block_bytes(BYTES as u64).unwrap();
    let builder = Pool::builder()
        .policy(policy)
        .internal_dependencies(internal_dependencies)
        .limit(THREADS * block);
    let pinned = builder.build_pinned(&context).unwrap();
    let pool = builder.build(&context).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (context, pool, pinned) = (&context, &pool, &pinned);
            scope.spawn(move || {
                let mut random = Random::new(seed * 100 + thread);
                let streams = [(); 2].map(|()| context.new_stream().unwrap());
                for _ in 0..operations() / 100 / THREADS {
                    let stream = &streams[random.below(2) as usize];
                    if random.below(2) == 0 {
                        let host = pinned.zeros::<u8>(BYTES).unwrap();
                        let address = host.try_as_slice().unwrap().as_ptr().addr() as u64;
                        watch::host_touches(address, BYTES as u64);
                        let mut target =
                            cuprum_driver_core::DeviceBuffer::zeros(stream, BYTES).unwrap();
                        target.copy_from_pinned(stream, &host).unwrap();
                    } else {
                        let mut buffer = pool.allocate(stream, BYTES).unwrap();
                        buffer.slice_mut(..).fill_on(stream, 1).unwrap();
                    }
                }
            });
        }
    });
    for statistics in [pool.statistics(), pinned.statistics()] {
        assert_eq!(statistics.failures, 0, "{statistics:?}");
    }
    drop((pool, pinned));
    context.synchronize().unwrap();
    let stream = context.new_stream().unwrap();
    assert_eq!(watch::faults(&stream), [""; 0], "{builder:?}");
}

#[test]
fn a_limit_that_is_enough_never_fails() {
    for policy in [Policy::Coalescing, Policy::Bins] {
        enough(policy, true, 3);
        enough(policy, false, 4);
    }
}
