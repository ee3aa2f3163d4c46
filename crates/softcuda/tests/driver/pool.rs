//! Stream-ordered memory and its pool.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::*;
use crate::{init, no, ok};

/// The default pool belongs to the device: its tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    init();
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool() -> CUmemoryPool {
    let (mut pool, mut same) = (CUmemoryPool::NULL, CUmemoryPool::NULL);
    ok!(cuDeviceGetDefaultMemPool(&mut pool, 0));
    ok!(cuDeviceGetMemPool(&mut same, 0));
    assert_eq!(pool, same);
    pool
}

fn get(attribute: CUmemPool_attribute) -> u64 {
    let mut value = 0u64;
    ok!(cuMemPoolGetAttribute(
        pool(),
        attribute,
        (&raw mut value).cast()
    ));
    value
}

fn set(attribute: CUmemPool_attribute, mut value: u64) {
    ok!(cuMemPoolSetAttribute(
        pool(),
        attribute,
        (&raw mut value).cast()
    ));
}

fn take(bytes: usize, stream: CUstream) -> CUdeviceptr {
    let mut address = 0;
    ok!(cuMemAllocAsync(&mut address, bytes, stream));
    address
}

type A = CUmemPool_attribute;

#[test]
fn memory_is_reused_in_stream_order() {
    let _turn = alone();
    let _context = TestContext::on(0);
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let gate = Gate::close(stream);
    let first = take(1000, stream);
    ok!(cuMemsetD8Async(first, 1, 1000, stream));
    ok!(cuMemFreeAsync(first, stream));
    // The free has not run, yet the same stream may have the block again; another may not.
    let elsewhere = take(1000, new_stream(flags::CU_STREAM_NON_BLOCKING));
    assert_ne!(elsewhere, first);
    let second = take(900, stream);
    assert_eq!(second, first);
    no!(
        INVALID_VALUE,
        cuMemcpyDtoDAsync_v2(second, elsewhere, 1000, stream)
    );
    ok!(cuMemsetD8Async(second, 2, 900, stream));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(download::<u8>(second, 900), vec![2; 900]);
    ok!(cuMemFreeAsync(second, stream));
    no!(INVALID_VALUE, cuMemFreeAsync(second, stream));
    ok!(cuMemFree_v2(elsewhere));
    ok!(cuCtxSynchronize());
    assert_eq!(get(A::RESERVED_MEM_CURRENT), 0);
}

#[test]
fn the_threshold_keeps_memory_and_trimming_returns_it() {
    let _turn = alone();
    let _context = TestContext::on(0);
    assert_eq!(get(A::RELEASE_THRESHOLD), 0);
    set(A::RELEASE_THRESHOLD, u64::MAX);
    set(A::USED_MEM_HIGH, 0);
    set(A::RESERVED_MEM_HIGH, 0);
    let blocks: Vec<CUdeviceptr> = (0..4).map(|_| take(1 << 20, CUstream::NULL)).collect();
    assert_eq!(
        (get(A::USED_MEM_CURRENT), get(A::RESERVED_MEM_CURRENT)),
        (4 << 20, 4 << 20)
    );
    for &block in &blocks {
        ok!(cuMemFreeAsync(block, CUstream::NULL));
    }
    ok!(cuCtxSynchronize());
    assert_eq!(
        (get(A::USED_MEM_CURRENT), get(A::RESERVED_MEM_CURRENT)),
        (0, 4 << 20)
    );
    assert_eq!(
        (get(A::USED_MEM_HIGH), get(A::RESERVED_MEM_HIGH)),
        (4 << 20, 4 << 20)
    );
    assert!(blocks.contains(&take(1 << 20, CUstream::NULL)));
    ok!(cuMemPoolTrimTo(pool(), 3 << 20));
    assert_eq!(get(A::RESERVED_MEM_CURRENT), 3 << 20);
    ok!(cuMemPoolTrimTo(pool(), 0));
    assert_eq!(get(A::RESERVED_MEM_CURRENT), 1 << 20);
    set(A::RELEASE_THRESHOLD, 0);
}

#[test]
fn attributes_are_typed_and_checked() {
    let _turn = alone();
    let _context = TestContext::on(0);
    for flag in [
        A::REUSE_FOLLOW_EVENT_DEPENDENCIES,
        A::REUSE_ALLOW_OPPORTUNISTIC,
        A::REUSE_ALLOW_INTERNAL_DEPENDENCIES,
    ] {
        let mut value = [-1i32, -1];
        ok!(cuMemPoolGetAttribute(
            pool(),
            flag,
            value.as_mut_ptr().cast()
        ));
        assert_eq!(value, [1, -1], "32 bits are written");
        set(flag, 0);
        assert_eq!(get(flag), 0);
        set(flag, 1);
    }
    let mut value = 5u64;
    let pointer = (&raw mut value).cast();
    no!(
        INVALID_VALUE,
        cuMemPoolGetAttribute(pool(), CUmemPool_attribute(99), pointer)
    );
    no!(
        INVALID_VALUE,
        cuMemPoolSetAttribute(pool(), A::USED_MEM_CURRENT, pointer)
    );
    no!(
        INVALID_VALUE,
        cuMemPoolSetAttribute(pool(), A::USED_MEM_HIGH, pointer)
    );
    no!(
        INVALID_VALUE,
        cuMemPoolGetAttribute(pool(), A::USED_MEM_HIGH, NULL)
    );
    no!(INVALID_VALUE, cuMemPoolTrimTo(CUmemoryPool::NULL, 0));
    let mut none = CUmemoryPool::NULL;
    no!(INVALID_DEVICE, cuDeviceGetDefaultMemPool(&mut none, 7));
}

#[test]
fn bad_requests_are_told() {
    let _turn = alone();
    let _context = TestContext::on(0);
    let mut address = 0;
    no!(
        INVALID_VALUE,
        cuMemAllocAsync(&mut address, 0, CUstream::NULL)
    );
    no!(
        INVALID_VALUE,
        cuMemAllocAsync(std::ptr::null_mut(), 8, CUstream::NULL)
    );
    no!(
        OUT_OF_MEMORY,
        cuMemAllocAsync(&mut address, 1 << 40, CUstream::NULL)
    );
    no!(INVALID_VALUE, cuMemFreeAsync(alloc(64), CUstream::NULL));
    no!(INVALID_VALUE, cuMemFreeAsync(0, CUstream::NULL));
    ok!(cuMemAllocFromPoolAsync(
        &mut address,
        100,
        pool(),
        CUstream::NULL
    ));
    ok!(cuMemFreeAsync(address, CUstream::NULL));
    let _other = TestContext::on(1);
    no!(
        INVALID_VALUE,
        cuMemAllocFromPoolAsync(&mut address, 100, pool(), CUstream::NULL)
    );
}

#[test]
fn a_context_takes_its_stream_ordered_memory_along() {
    let _turn = alone();
    {
        let _context = TestContext::on(0);
        set(A::RELEASE_THRESHOLD, u64::MAX);
        take(5000, CUstream::NULL);
        let freed = take(3000, CUstream::NULL);
        ok!(cuMemFreeAsync(freed, CUstream::NULL));
    }
    let _context = TestContext::on(0);
    assert_eq!(get(A::USED_MEM_CURRENT), 0);
    ok!(cuMemPoolTrimTo(pool(), 0));
    assert_eq!(get(A::RESERVED_MEM_CURRENT), 0);
    set(A::RELEASE_THRESHOLD, 0);
}
