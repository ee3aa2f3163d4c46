//! What threads share of a pool, under a model checker that tries the orders in which they can come.
//!
//! `RUSTFLAGS="--cfg cuprum_loom" cargo test -p cuprum-mempool --no-default-features --features cuda-11080 --target-dir
//! target/loom --test loom`
//!
//! That runs for seconds, but builds the crate and all that it needs anew for two minutes, so continuous integration leaves
//! it out; run it after a change of what threads share.
//!
//! Only what is the pool's own is modelled: the locks of its parts and of its books, and the flag that stops it. The
//! driver below has neither device nor threads.
#![cfg(cuprum_loom)]
#![allow(clippy::unwrap_used, reason = "a failing test says where")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "pools/fake.rs"]
mod fake;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use cuprum_driver_core::{Context, Stream};
use cuprum_mempool::{Policy, Pool, PoolBuilder, PooledBuffer};
use loom::thread;

const POLICIES: [Policy; 2] = [Policy::Coalescing, Policy::Bins];

/// Tries the orders, with at most so many switches away from a thread that could go on.
fn explore(switches: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(move || {
        model();
        fake::calls();
        fake::freed();
        fake::ordered();
    });
}

/// A context and two streams for all orders: what a model makes anew is only the pool.
fn set_up() -> (Context, [Stream; 2]) {
    let context = fake::context();
    let streams = [(); 2].map(|()| context.new_stream().unwrap());
    (context, streams)
}

/// Which blocks are lent. A lock that the checker does not see: nobody is stopped while it is held.
#[derive(Default)]
struct Owners(Mutex<BTreeSet<u64>>);

impl Owners {
    fn lend(&self, pool: &Pool, stream: &Stream, bytes: usize) -> PooledBuffer {
        let buffer = pool.allocate(stream, bytes).unwrap();
        let new = self.0.lock().unwrap().insert(buffer.addr());
        assert!(new, "{buffer:?} is lent twice");
        buffer
    }

    fn give(&self, buffer: PooledBuffer) {
        assert!(self.0.lock().unwrap().remove(&buffer.addr()));
        drop(buffer);
    }
}

/// Nothing lent, nothing lost.
fn is_whole(pool: &Pool) {
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
}

/// The size of a block of both policies, a chunk of its own.
const BLOCK: usize = 2 << 20;

fn two_threads(builder: PoolBuilder, shared_stream: bool) {
    let (context, streams) = set_up();
    explore(3, move || {
        let pool = builder.build(&context).unwrap();
        let owners = Arc::new(Owners::default());
        let work = |pool: &Pool, stream: &Stream, owners: &Owners| {
            let first = owners.lend(pool, stream, BLOCK);
            owners.give(first);
            let second = owners.lend(pool, stream, BLOCK);
            owners.give(second);
        };
        let other = {
            let (pool, owners) = (pool.clone(), Arc::clone(&owners));
            let stream = streams[usize::from(!shared_stream)].clone();
            thread::spawn(move || work(&pool, &stream, &owners))
        };
        work(&pool, &streams[0], &owners);
        other.join().unwrap();
        is_whole(&pool);
    });
}

#[test]
fn no_block_is_lent_twice() {
    for policy in POLICIES {
        two_threads(Pool::builder().policy(policy), false);
        two_threads(Pool::builder().policy(policy), true);
    }
}

/// Two free blocks, a limit of two blocks, and two threads that want one each: both get one, although the blocks may be on
/// their way from the part of a third to the books.
#[test]
fn what_is_free_is_found() {
    for policy in POLICIES {
        let limit = 2 * policy.block_bytes(BLOCK as u64).unwrap();
        let (context, streams) = set_up();
        explore(3, move || {
            let pool = Pool::builder().policy(policy).limit(limit);
            let pool = pool.build(&context).unwrap();
            let blocks = [0; 2].map(|_| pool.allocate(&streams[0], BLOCK).unwrap());
            blocks.map(drop);
            let lend = |pool: &Pool, stream: &Stream| drop(pool.allocate(stream, BLOCK).unwrap());
            let other = {
                let (pool, stream) = (pool.clone(), streams[1].clone());
                thread::spawn(move || lend(&pool, &stream))
            };
            lend(&pool, &streams[1]);
            other.join().unwrap();
            is_whole(&pool);
        });
    }
}

/// A block comes back while the pool stops: it does not stay in a part.
#[test]
fn a_pool_that_stops_keeps_nothing() {
    for policy in POLICIES {
        let (context, streams) = set_up();
        explore(4, move || {
            let pool = Pool::builder().policy(policy).build(&context).unwrap();
            let blocks = [0; 2].map(|_| pool.allocate(&streams[0], BLOCK).unwrap());
            let other = thread::spawn(move || blocks.map(drop));
            pool.stop_holding();
            other.join().unwrap();
            assert_eq!((pool.held_blocks(), pool.managed_bytes()), (0, 0));
        });
    }
}

/// The last handle goes while a block comes back on another thread.
#[test]
fn a_pool_without_handles_keeps_nothing() {
    for policy in POLICIES {
        let (context, streams) = set_up();
        explore(4, move || {
            let pool = Pool::builder().policy(policy).build(&context).unwrap();
            let block = pool.allocate(&streams[0], BLOCK).unwrap();
            let address = block.addr();
            let other = thread::spawn(move || drop(block));
            drop(pool);
            other.join().unwrap();
            context.collect().unwrap();
            assert!(!fake::is_allocated(address));
        });
    }
}

/// What one thread lends and another gives back, while a third gives everything to the driver.
#[test]
fn blocks_wander_while_memory_is_given_back() {
    for policy in POLICIES {
        let (context, streams) = set_up();
        explore(2, move || {
            let pool = Pool::builder().policy(policy).build(&context).unwrap();
            let owners = Arc::new(Owners::default());
            let block = owners.lend(&pool, &streams[0], BLOCK);
            let giver = {
                let owners = Arc::clone(&owners);
                thread::spawn(move || owners.give(block))
            };
            let cleaner = {
                let pool = pool.clone();
                thread::spawn(move || pool.free_held())
            };
            let mine = owners.lend(&pool, &streams[1], BLOCK);
            owners.give(mine);
            giver.join().unwrap();
            cleaner.join().unwrap();
            is_whole(&pool);
            pool.free_held();
            assert_eq!(pool.managed_bytes(), 0);
        });
    }
}
