//! Pools over a driver without a device: what they ask of it, and when.

use std::sync::Arc;

use super::fake::{self, FREE, PENDING, calls, freed, is_allocated, ordered, raw, work};
use cuprum_driver_core::{Context, DeviceBuffer, DirectAllocator, ErrorKind, PinnedBuffer, Stream};
use cuprum_mempool::{EventKind, PinnedPool, Policy, Pool, Trim, alloc_size, bin_number};

const MIB: u64 = 1 << 20;
const POLICIES: [Policy; 2] = [Policy::Coalescing, Policy::Bins];

fn set_up(policy: Policy) -> (Context, Stream, Pool) {
    let context = fake::context();
    let stream = context.new_stream().unwrap();
    let pool = Pool::builder().policy(policy).build(&context).unwrap();
    calls();
    freed();
    (context, stream, pool)
}

#[test]
fn what_is_given_back_is_lent_again_without_a_call() {
    for policy in POLICIES {
        let (_context, stream, pool) = set_up(policy);
        let first = pool.allocate(&stream, 1000).unwrap();
        let address = first.addr();
        assert_eq!(first.len(), 1000);
        drop(first);
        calls();
        for _ in 0..100 {
            let again = pool.allocate(&stream, 1000).unwrap();
            assert_eq!(again.addr(), address);
            work(&stream);
            again.free().unwrap();
        }
        assert_eq!(calls(), ["cuLaunchHostFunc"; 100], "{policy:?}");
        let statistics = pool.statistics();
        assert_eq!(statistics.allocations, 101);
        assert_eq!(statistics.driver_allocations, 1);
        assert_eq!((statistics.active_blocks, statistics.active_bytes), (0, 0));
        assert_eq!(statistics.peak_active_bytes, 1000);
    }
}

#[test]
fn counters_count() {
    let (_context, stream, pool) = set_up(Policy::Bins);
    let [a, b, c] = [1000, 1000, 17].map(|bytes| pool.allocate(&stream, bytes).unwrap());
    assert_eq!((pool.active_blocks(), pool.active_bytes()), (3, 2017));
    assert_eq!(
        (pool.held_blocks(), pool.managed_bytes()),
        (0, 1023 + 1023 + 17)
    );
    drop(b);
    assert_eq!((pool.active_blocks(), pool.held_blocks()), (2, 1));
    assert_eq!((pool.held_bytes(), pool.managed_bytes()), (1023, 2063));
    drop((a, c));
    assert_eq!((pool.active_bytes(), pool.held_blocks()), (0, 3));
    pool.free_held();
    assert_eq!(
        (pool.held_blocks(), pool.held_bytes(), pool.managed_bytes()),
        (0, 0, 0)
    );
    assert_eq!(freed().len(), 3);

    let (_context, stream, pool) = set_up(Policy::Coalescing);
    let [a, b] = [1000, 256].map(|bytes| pool.allocate(&stream, bytes).unwrap());
    assert_eq!(b.addr(), a.addr() + 1024, "blocks lie side by side");
    let statistics = pool.statistics();
    assert_eq!(
        (statistics.active_bytes, statistics.active_block_bytes),
        (1256, 1280)
    );
    assert_eq!(
        (statistics.managed_bytes, statistics.held_bytes),
        (2 * MIB, 2 * MIB - 1280)
    );
    drop((a, b));
    pool.free_held();
    assert_eq!(
        (pool.held_blocks(), pool.held_bytes(), pool.managed_bytes()),
        (0, 0, 0)
    );
}

#[test]
fn bins_lend_the_last_one_given_back_first() {
    let (_context, stream, pool) = set_up(Policy::Bins);
    let blocks: Vec<_> = (0..4)
        .map(|_| pool.allocate(&stream, 1000).unwrap())
        .collect();
    let mut addresses: Vec<u64> = blocks.iter().map(|block| block.addr()).collect();
    for block in blocks {
        drop(block);
    }
    // 1010 has the same bin as 1000; 1024 has another.
    assert_eq!((bin_number(1010), bin_number(1024)), (159, 160));
    let other = pool.allocate(&stream, 1024).unwrap();
    assert!(!addresses.contains(&other.addr()));
    let again: Vec<_> = (0..4)
        .map(|_| pool.allocate(&stream, 1010).unwrap())
        .collect();
    addresses.reverse();
    assert_eq!(
        again.iter().map(|block| block.addr()).collect::<Vec<_>>(),
        addresses
    );
}

#[test]
fn bins_free_from_the_highest_downwards_when_memory_is_short() {
    let (_context, stream, pool) = set_up(Policy::Bins);
    let sizes = [17usize, 1000, 1000, 100, 5000];
    let blocks = sizes.map(|bytes| pool.allocate(&stream, bytes).unwrap());
    let address = blocks.each_ref().map(|block| block.addr());
    blocks.into_iter().for_each(drop);
    // Room for 2000 comes after the block of 5000 has gone.
    FREE.set(0);
    let more = pool.allocate(&stream, 2000).unwrap();
    assert_eq!(freed(), [address[4]]);
    // And for 3300 the last of the bin of 1000, and then the other, must go.
    let left = 5119 - alloc_size(bin_number(2000)).unwrap();
    assert_eq!(FREE.get(), left);
    let much = pool.allocate(&stream, (left + 1100) as usize).unwrap();
    assert_eq!(freed(), [address[2], address[1]]);
    // Nothing is left that would do: all held blocks go, and it is an error.
    let error = pool.allocate(&stream, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(freed(), [address[3], address[0]]);
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (0, 2));
    drop((more, much));
    // The pool goes on.
    FREE.set(u64::MAX / 2);
    pool.allocate(&stream, 1 << 20).unwrap().free().unwrap();
}

/// PR-25.
#[test]
fn a_limit_counts_what_is_held_and_names_its_numbers() {
    for policy in POLICIES {
        let context = fake::context();
        let stream = context.new_stream().unwrap();
        // The blocks of bins are up to a sixteenth larger than asked for.
        let limit = if policy == Policy::Bins {
            1088 << 10
        } else {
            1 << 20
        };
        let pool = Pool::builder()
            .policy(policy)
            .limit(limit)
            .build(&context)
            .unwrap();
        pool.allocate(&stream, 512 << 10).unwrap().free().unwrap();
        let most = pool.allocate(&stream, 768 << 10).unwrap();
        assert!(pool.managed_bytes() <= limit);
        let error = pool.allocate(&stream, 2 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let text = error.to_string();
        let used = pool.statistics().active_block_bytes;
        for number in [limit, 2 << 20, used] {
            assert!(
                text.contains(&number.to_string()),
                "{number} is not in: {text}"
            );
        }
        assert_eq!(pool.statistics().failures, 1);
        drop(most);
        pool.free_held();
        assert_eq!(
            (pool.held_bytes(), pool.managed_bytes()),
            (0, 0),
            "{policy:?}"
        );
        pool.allocate(&stream, 1 << 20).unwrap().free().unwrap();
    }
}

#[test]
fn a_limit_is_reached_exactly() {
    let context = fake::context();
    let stream = context.new_stream().unwrap();
    let pool = Pool::builder().limit(5 * MIB).build(&context).unwrap();
    let blocks: Vec<_> = (0..5)
        .map(|_| pool.allocate(&stream, MIB as usize).unwrap())
        .collect();
    assert_eq!(pool.managed_bytes(), 5 * MIB);
    let error = pool.allocate(&stream, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the pool's limit of 5242880 bytes leaves no room for 1 bytes: 5242880 bytes are in use, 0 are held free in \
         between"
    );
    drop(blocks);
}

#[test]
fn another_stream_waits_for_the_last_uses_and_the_host_for_nothing() {
    for policy in POLICIES {
        let (context, a, pool) = set_up(policy);
        let b = context.new_stream().unwrap();
        let block = pool.allocate(&a, 3 << 20).unwrap();
        let address = block.addr();
        PENDING.set(true);
        work(&a);
        drop(block);
        ordered();
        calls();
        let block = pool.allocate(&b, 3 << 20).unwrap();
        assert_eq!(block.addr(), address);
        assert_eq!(ordered(), [(raw(&a), raw(&b))], "{policy:?}");
        let waiting = [
            "cuCtxSynchronize",
            "cuStreamSynchronize",
            "cuEventSynchronize",
            "cuMemAlloc_v2",
        ];
        let called = calls();
        assert!(
            !called.iter().any(|call| waiting.contains(call)),
            "{called:?}"
        );
        assert_eq!(pool.statistics().waits, 1);

        // What has passed is not waited for.
        work(&b);
        drop(block);
        PENDING.set(false);
        let block = pool.allocate(&a, 3 << 20).unwrap();
        assert_eq!(block.addr(), address);
        assert_eq!(ordered(), []);
        assert_eq!(pool.statistics().waits, 1);
    }
}

#[test]
fn without_internal_dependencies_the_driver_is_asked_instead() {
    for policy in POLICIES {
        let context = fake::context();
        let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let pool = Pool::builder()
            .policy(policy)
            .internal_dependencies(false)
            .trim(Trim::Never)
            .build(&context)
            .unwrap();
        let block = pool.allocate(&a, 3 << 20).unwrap();
        let address = block.addr();
        PENDING.set(true);
        work(&a);
        drop(block);
        ordered();
        let other = pool.allocate(&b, 3 << 20).unwrap();
        assert_ne!(other.addr(), address);
        assert_eq!(ordered(), []);
        PENDING.set(false);
        let passed = pool.allocate(&b, 3 << 20).unwrap();
        assert_eq!(passed.addr(), address, "{policy:?}");
        assert_eq!(ordered(), []);
    }
}

#[test]
fn memory_used_by_two_streams_carries_both() {
    for policy in POLICIES {
        let (context, a, pool) = set_up(policy);
        let (b, c) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let mut block = pool.allocate(&a, 3 << 20).unwrap();
        PENDING.set(true);
        work(&a);
        // A fill on the other half from another stream: it has to come after the allocation.
        block.slice_mut(1 << 20..).fill_on(&b, 1).unwrap();
        block.slice_mut(..1 << 20).fill_on(&a, 1).unwrap();
        let address = block.addr();
        drop(block);
        ordered();
        let block = pool.allocate(&c, 3 << 20).unwrap();
        assert_eq!(block.addr(), address);
        let mut pairs = ordered();
        pairs.sort_unstable();
        let mut want = vec![(raw(&a), raw(&c)), (raw(&b), raw(&c))];
        want.sort_unstable();
        assert_eq!(pairs, want, "{policy:?}");
        PENDING.set(false);
    }
}

#[test]
fn the_own_stream_comes_first_and_then_what_has_passed() {
    let (context, a, pool) = set_up(Policy::Coalescing);
    let b = context.new_stream().unwrap();
    // Three blocks that cannot join: each is a chunk of its own.
    let bytes = 8 << 20;
    let [own, passed, other] = [&a, &b, &b].map(|stream| pool.allocate(stream, bytes).unwrap());
    let addresses = [&own, &passed, &other].map(|block| block.addr());
    work(&b);
    drop(passed);
    b.synchronize().unwrap();
    PENDING.set(true);
    work(&b);
    drop(other);
    work(&a);
    drop(own);
    ordered();
    let got = [0; 3].map(|_| pool.allocate(&a, bytes).unwrap());
    assert_eq!(got.each_ref().map(|block| block.addr()), addresses);
    assert_eq!(ordered(), [(raw(&b), raw(&a))], "only for the last one");
    PENDING.set(false);
}

/// PR-27: a pool that is gone, stopped, and the allocator of its context.
#[test]
fn anything_may_be_dropped_first() {
    for policy in POLICIES {
        for order in 0..6 {
            let (context, stream, pool) = set_up(policy);
            context.set_allocator(Some(Arc::new(pool.clone())));
            let buffer = DeviceBuffer::<u32>::zeros(&stream, 1000).unwrap();
            let chunk = pool
                .events()
                .iter()
                .find(|e| e.kind == EventKind::Grown)
                .unwrap()
                .address;
            drop(stream);
            let (mut pool, mut buffer, mut context) = (Some(pool), Some(buffer), Some(context));
            let orders = [
                [0, 1, 2],
                [0, 2, 1],
                [1, 0, 2],
                [1, 2, 0],
                [2, 0, 1],
                [2, 1, 0],
            ];
            for which in orders[order] {
                match which {
                    0 => drop(pool.take()),
                    1 => drop(buffer.take()),
                    _ => drop(context.take()),
                }
            }
            assert!(
                !is_allocated(chunk),
                "{policy:?}, {order}: the memory is lost"
            );
            let calls = calls();
            assert!(
                calls.contains(&"cuDevicePrimaryCtxRelease_v2"),
                "the context never ended"
            );
        }
    }
}

#[test]
fn a_pool_without_handles_gives_back_what_is_given_back() {
    let (_context, stream, pool) = set_up(Policy::Coalescing);
    let [a, b] = [100, 200].map(|bytes| pool.allocate(&stream, bytes).unwrap());
    let chunk = a.addr();
    drop(pool);
    drop(a);
    assert!(is_allocated(chunk), "the other block is still there");
    drop(b);
    stream.context().collect().unwrap();
    assert!(!is_allocated(chunk));
}

#[test]
fn a_pool_that_has_stopped_holds_nothing() {
    for policy in POLICIES {
        let (context, stream, pool) = set_up(policy);
        let before = pool.allocate(&stream, 3 << 20).unwrap();
        drop(pool.allocate(&stream, 5 << 20).unwrap());
        pool.stop_holding();
        drop(before);
        assert_eq!(
            (pool.held_blocks(), pool.held_bytes(), pool.managed_bytes()),
            (0, 0, 0)
        );
        let after = pool.allocate(&stream, 1000).unwrap();
        assert_eq!(pool.held_bytes(), 0, "no more than what is lent");
        drop(after);
        assert_eq!(
            (pool.held_blocks(), pool.managed_bytes()),
            (0, 0),
            "{policy:?}"
        );
        context.collect().unwrap();
        assert_eq!(freed().len(), 3);
    }
}

#[test]
fn who_runs_out_of_memory_gets_what_pools_hold() {
    for policy in POLICIES {
        let (context, stream, pool) = set_up(policy);
        let live = pool.allocate(&stream, 3 << 20).unwrap();
        drop(pool.allocate(&stream, 9 << 20).unwrap());
        FREE.set(0);
        // Directly.
        context.set_allocator(Some(Arc::new(DirectAllocator)));
        let direct = DeviceBuffer::<u8>::zeros(&stream, 4 << 20).unwrap();
        assert_eq!(
            pool.held_bytes(),
            pool.managed_bytes() - pool.statistics().active_block_bytes
        );
        assert_eq!(pool.statistics().driver_releases, 1);
        drop(direct);
        context.collect().unwrap();

        // Through another pool, of page-locked memory.
        drop(pool.allocate(&stream, 5 << 20).unwrap());
        FREE.set(0);
        let pinned = PinnedPool::new(&context).unwrap();
        let host = pinned.zeros::<u8>(3 << 20).unwrap();
        assert_eq!(pool.statistics().driver_releases, 2);

        // And the other way round.
        drop(host);
        FREE.set(0);
        let mine = pool.allocate(&stream, 2 << 20).unwrap();
        assert_eq!(pinned.managed_bytes(), 0, "{policy:?}");
        // What is lent stays.
        FREE.set(0);
        let error = DeviceBuffer::<u8>::zeros(&stream, 64 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert_eq!(pool.active_blocks(), 2);
        drop((live, mine));
        FREE.set(u64::MAX / 2);
    }
}

#[test]
fn a_pool_gives_its_own_small_chunks_for_a_large_one() {
    let context = fake::context();
    let stream = context.new_stream().unwrap();
    let pool = Pool::builder().trim(Trim::Never).build(&context).unwrap();
    FREE.set(16 * MIB);
    let blocks: Vec<_> = (0..4)
        .map(|_| pool.allocate(&stream, 4 << 20).unwrap())
        .collect();
    drop(blocks);
    let large = pool.allocate(&stream, 15 << 20).unwrap();
    assert_eq!(
        (large.len(), pool.statistics().driver_releases),
        (15 << 20, 4)
    );
    drop(large);
    FREE.set(u64::MAX / 2);
}

#[test]
fn chunks_shrink_to_what_is_left() {
    let (_context, stream, pool) = set_up(Policy::Coalescing);
    FREE.set(MIB);
    let block = pool.allocate(&stream, 600 << 10).unwrap();
    assert_eq!(pool.managed_bytes(), 600 << 10);
    drop(block);
    FREE.set(u64::MAX / 2);
}

#[test]
fn pools_trim_as_they_are_told() {
    let hold = |trim| {
        let context = fake::context();
        let stream = context.new_stream().unwrap();
        let pool = Pool::builder().trim(trim).build(&context).unwrap();
        let blocks: Vec<_> = (0..4)
            .map(|_| pool.allocate(&stream, 8 << 20).unwrap())
            .collect();
        drop(blocks);
        let held = pool.managed_bytes();
        // None of the chunks of 8 MiB will do.
        let large = pool.allocate(&stream, 20 << 20).unwrap();
        (held, pool.managed_bytes(), large.len())
    };
    assert_eq!(hold(Trim::Never), (32 * MIB, 52 * MIB, 20 << 20));
    assert_eq!(hold(Trim::AtPeak), (32 * MIB, 28 * MIB, 20 << 20));
    let (held, _, _) = hold(Trim::Above(16 * MIB));
    assert!(held <= 16 * MIB, "{held}");
    assert_eq!(hold(Trim::Above(0)), (0, 20 * MIB, 20 << 20));
}

#[test]
fn contexts_do_not_mix() {
    let (_context, _stream, pool) = set_up(Policy::Coalescing);
    let other = fake::context();
    let error = pool.allocate(&other.new_stream().unwrap(), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    assert_eq!(pool.statistics().active_blocks, 0);
}

#[test]
fn nothing_costs_nothing() {
    for policy in POLICIES {
        let (_context, stream, pool) = set_up(policy);
        let nothing = pool.allocate(&stream, 0).unwrap();
        assert_eq!((nothing.addr(), nothing.len()), (0, 0));
        assert!(pool.zeros::<f64>(&stream, 0).unwrap().is_empty());
        assert_eq!(calls(), [""; 0]);
        assert_eq!(pool.statistics().allocations, 0);
        let error = pool.zeros::<u64>(&stream, usize::MAX / 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn copies_come_from_where_the_original_came() {
    let (_context, stream, pool) = set_up(Policy::Coalescing);
    let buffer = pool.from_slice(&stream, &[1u16, 2, 3]).unwrap();
    calls();
    let copy = buffer.try_clone().unwrap();
    assert_eq!(calls(), ["cuMemcpyDtoDAsync_v2"]);
    assert_eq!(pool.active_bytes(), 12);
    drop((buffer, copy));
    assert_eq!(pool.active_bytes(), 0);
}

#[test]
fn events_tell_what_happened() {
    let (_context, stream, pool) = set_up(Policy::Coalescing);
    let block = pool.allocate(&stream, 1000).unwrap();
    let address = block.addr();
    drop(block);
    drop(pool.allocate(&stream, 1000).unwrap());
    pool.free_held();
    let id = stream.timeline().id();
    let mut events: Vec<_> = pool
        .events()
        .into_iter()
        .map(|e| (e.kind, e.address, e.bytes, e.stream))
        .collect();
    // The books and the thread keep their own events; within each they are in order.
    events.sort_by_key(|event| matches!(event.0, EventKind::Grown | EventKind::Returned));
    let lent = (EventKind::Allocated, address, 1000, id);
    let back = (EventKind::Released, address, 1000, id);
    assert_eq!(
        events,
        [
            lent,
            back,
            lent,
            back,
            (EventKind::Grown, address, 2 * MIB, id),
            (EventKind::Returned, address, 2 * MIB, 0)
        ]
    );
    assert_eq!(pool.events_so_far(), 6);

    let context = fake::context();
    let stream = context.new_stream().unwrap();
    let silent = Pool::builder().events(0).build(&context).unwrap();
    drop(silent.allocate(&stream, 1000).unwrap());
    assert!(silent.events().is_empty());
}

#[inline(never)]
fn a_layer_of_a_model(pool: &Pool, stream: &Stream) -> Vec<cuprum_mempool::PooledBuffer> {
    (0..3)
        .map(|_| pool.allocate(stream, 1000).unwrap())
        .collect()
}

#[test]
fn a_debug_pool_knows_where_live_blocks_come_from() {
    let context = fake::context();
    let stream = context.new_stream().unwrap();
    let pool = Pool::builder().debug(true).build(&context).unwrap();
    let mut layer = a_layer_of_a_model(&pool, &stream);
    let other = pool.allocate(&stream, 10).unwrap();
    layer.pop();
    let report = pool.report();
    assert_eq!(report.live.len(), 2, "{report}");
    assert_eq!((report.live[0].blocks, report.live[0].bytes), (2, 2000));
    assert!(
        report.live[0].site.contains("a_layer_of_a_model"),
        "{report}"
    );
    assert!(
        report.live[1].site.contains("a_debug_pool_knows"),
        "{report}"
    );
    assert!(report.to_string().contains("a_layer_of_a_model"));
    drop((layer, other));
    assert!(pool.report().live.is_empty());
    assert_eq!(
        pool.report()
            .held
            .iter()
            .map(|(bytes, count)| bytes * count)
            .sum::<u64>(),
        2 * MIB
    );
}

#[test]
fn page_locked_memory_is_lent_again_when_its_copies_have_passed() {
    let context = fake::context();
    let stream = context.new_stream().unwrap();
    let pool = PinnedPool::new(&context).unwrap();
    let mut device = DeviceBuffer::<u32>::zeros(&stream, 4).unwrap();
    let address = |host: &PinnedBuffer<u32>| host.try_as_slice().unwrap().as_ptr();
    let host = pool.from_slice(&[1u32, 2, 3, 4]).unwrap();
    let first = address(&host);
    drop(host);
    let host = pool.zeros::<u32>(4).unwrap();
    assert_eq!(address(&host), first, "nothing used it");
    assert_eq!(host.as_slice().unwrap(), [0; 4]);

    PENDING.set(true);
    device.copy_from_pinned(&stream, &host).unwrap();
    drop(host);
    assert_eq!((pool.active_blocks(), pool.active_bytes()), (0, 0));
    let other = pool.zeros::<u32>(4).unwrap();
    assert_ne!(address(&other), first, "the copy still reads it");
    calls();
    PENDING.set(false);
    // A large one, so that the rest of the chunk will not do; then the first again.
    drop(other);
    let large = pool.zeros::<u8>((2 << 20) - 256).unwrap();
    assert_eq!(pool.statistics().driver_allocations, 1);
    let again = pool.zeros::<u32>(4).unwrap();
    assert_eq!(pool.statistics().driver_allocations, 1);
    drop((again, large));
    assert_eq!(pool.zeros::<u32>(0).unwrap().len(), 0);
}

#[test]
fn page_locked_memory_is_waited_for_when_the_limit_is_reached() {
    let context = fake::context();
    let stream = context.new_stream().unwrap();
    for policy in POLICIES {
        let pool = PinnedPool::builder()
            .policy(policy)
            .limit(alloc_size(bin_number(1 << 20)).unwrap())
            .build_pinned(&context)
            .unwrap();
        let mut device = DeviceBuffer::<u8>::zeros(&stream, 1 << 20).unwrap();
        let host = pool.zeros::<u8>(1 << 20).unwrap();
        PENDING.set(true);
        device.copy_from_pinned(&stream, &host).unwrap();
        assert!(pool.zeros::<u8>(1 << 20).is_err(), "it is lent");
        PENDING.set(true);
        device.copy_from_pinned(&stream, &host).unwrap();
        drop(host);
        calls();
        let host = pool.zeros::<u8>(1 << 20).unwrap();
        assert!(calls().contains(&"cuCtxSynchronize"), "{policy:?}");
        drop(host);
        pool.stop_holding();
        assert_eq!(pool.managed_bytes(), 0);
    }
}

#[test]
fn a_pool_used_through_the_context_serves_from_the_threads_part() {
    let (context, stream, pool) = set_up(Policy::Coalescing);
    context.set_allocator(Some(Arc::new(pool.clone())));
    let buffer = DeviceBuffer::<u64>::zeros(&stream, 10).unwrap();
    // Another thread gives it back; the part that lent it counts.
    std::thread::spawn(move || drop(buffer)).join().unwrap();
    assert_eq!(pool.statistics().active_blocks, 0);
    let again = DeviceBuffer::<u64>::zeros(&stream, 10).unwrap();
    assert_eq!(pool.statistics().cached, 1);
    drop(again);
    context.set_allocator(None);
}

#[test]
fn send_and_sync() {
    fn send_sync<T: Send + Sync>() {}
    send_sync::<Pool>();
    send_sync::<PinnedPool>();
    send_sync::<cuprum_mempool::PooledBuffer>();
    send_sync::<cuprum_mempool::Report>();
}
