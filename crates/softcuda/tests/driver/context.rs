//! Contexts, the thread's stack of them, primary contexts, limits, peers.

use crate::common::*;
use crate::{init, no, ok};

fn current() -> CUcontext {
    let mut context = CUcontext(std::ptr::dangling_mut());
    ok!(cuCtxGetCurrent(&mut context));
    context
}

/// A thread that never had a context.
fn fresh(test: impl FnOnce() + Send) {
    init();
    std::thread::scope(|scope| scope.spawn(test).join()).expect("the test passes");
}

#[test]
fn the_stack_of_a_thread() {
    fresh(|| {
        assert!(current().is_null());
        no!(INVALID_CONTEXT, cuCtxSynchronize());
        no!(INVALID_CONTEXT, cuCtxPopCurrent_v2(std::ptr::null_mut()));
        ok!(cuCtxSetCurrent(CUcontext::NULL));
        let (a, b) = (TestContext::on(0), TestContext::on(1));
        assert_eq!(current(), b.0);
        let mut device = -1;
        ok!(cuCtxGetDevice(&mut device));
        assert_eq!(device, 1);
        ok!(cuCtxPushCurrent_v2(a.0));
        ok!(cuCtxGetDevice(&mut device));
        assert_eq!(device, 0);
        ok!(cuCtxSetCurrent(b.0));
        let mut popped = CUcontext::NULL;
        ok!(cuCtxPopCurrent_v2(&mut popped));
        assert_eq!((popped, current()), (b.0, b.0));
        ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
        ok!(cuCtxSetCurrent(CUcontext::NULL));
        assert!(current().is_null());
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(current().is_null()));
        });
    });
}

#[test]
fn a_destroyed_context_is_told_apart() {
    fresh(|| {
        let context = TestContext::on(0);
        let handle = context.0;
        let address = alloc(100);
        std::thread::scope(|scope| {
            scope
                .spawn(|| ok!(cuCtxDestroy_v2(handle)))
                .join()
                .expect("destroys");
        });
        no!(CONTEXT_IS_DESTROYED, cuCtxSynchronize());
        no!(CONTEXT_IS_DESTROYED, cuMemFree_v2(address));
        assert_eq!(current(), handle);
        ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
        no!(INVALID_CONTEXT, cuCtxPushCurrent_v2(handle));
        no!(INVALID_CONTEXT, cuCtxSetCurrent(handle));
        no!(INVALID_CONTEXT, cuCtxDestroy_v2(handle));
        no!(INVALID_CONTEXT, cuCtxDestroy_v2(CUcontext::NULL));
        no!(
            INVALID_CONTEXT,
            cuCtxDestroy_v2(CUcontext(std::ptr::without_provenance_mut(0x1234)))
        );
    });
}

#[test]
fn objects_die_with_their_context() {
    fresh(|| {
        let outer = TestContext::on(0);
        let inner = TestContext::on(0);
        let (stream, event) = (new_stream(0), new_event(0));
        let address = alloc(64);
        ok!(cuEventRecord(event, stream));
        drop(inner);
        assert_eq!(current(), outer.0);
        no!(INVALID_HANDLE, cuStreamSynchronize(stream));
        no!(INVALID_HANDLE, cuEventQuery(event));
        no!(INVALID_VALUE, cuMemFree_v2(address));
        assert!(
            last_error().expect("failed").contains("freed memory"),
            "{:?}",
            last_error()
        );
    });
}

#[test]
fn flags_versions_and_numbers() {
    fresh(|| {
        let mut context = CUcontext::NULL;
        no!(INVALID_VALUE, cuCtxCreate_v2(std::ptr::null_mut(), 0, 0));
        no!(INVALID_VALUE, cuCtxCreate_v2(&mut context, 0x100, 0));
        no!(INVALID_VALUE, cuCtxCreate_v2(&mut context, 3, 0));
        no!(INVALID_DEVICE, cuCtxCreate_v2(&mut context, 0, 5));
        ok!(cuCtxCreate_v2(
            &mut context,
            flags::CU_CTX_SCHED_BLOCKING_SYNC | flags::CU_CTX_MAP_HOST,
            0
        ));
        let guard = TestContext(context);
        let (mut found, mut version, mut id, mut same) = (0, 0, 0, 1);
        ok!(cuCtxGetFlags(&mut found));
        assert_eq!(
            found,
            flags::CU_CTX_SCHED_BLOCKING_SYNC | flags::CU_CTX_MAP_HOST
        );
        ok!(cuCtxGetApiVersion(context, &mut version));
        assert_eq!(version, 3020);
        ok!(cuCtxGetId(context, &mut id));
        ok!(cuCtxGetId(CUcontext::NULL, &mut same));
        assert_eq!(id, same);
        let other = TestContext::on(0);
        ok!(cuCtxGetId(other.0, &mut same));
        assert_ne!(id, same);
        drop(other);
        drop(guard);
    });
}

#[test]
fn limits_can_be_set_and_read() {
    fresh(|| {
        let _context = TestContext::on(0);
        let get = |limit| {
            let mut value = 0;
            ok!(cuCtxGetLimit(&mut value, limit));
            value
        };
        assert_eq!(get(CUlimit::STACK_SIZE), 1024);
        for limit in [
            CUlimit::STACK_SIZE,
            CUlimit::PRINTF_FIFO_SIZE,
            CUlimit::MALLOC_HEAP_SIZE,
        ] {
            ok!(cuCtxSetLimit(limit, 65536));
            assert_eq!(get(limit), 65536);
        }
        no!(INVALID_VALUE, cuCtxSetLimit(CUlimit::STACK_SIZE, 1 << 30));
        no!(UNSUPPORTED_LIMIT, cuCtxSetLimit(CUlimit(77), 1));
        no!(
            UNSUPPORTED_LIMIT,
            cuCtxGetLimit(&mut 0, CUlimit::DEV_RUNTIME_SYNC_DEPTH)
        );
        no!(
            INVALID_VALUE,
            cuCtxGetLimit(std::ptr::null_mut(), CUlimit::STACK_SIZE)
        );
        let mut config = CUfunc_cache(9);
        ok!(cuCtxSetCacheConfig(CUfunc_cache::PREFER_L1));
        ok!(cuCtxGetCacheConfig(&mut config));
        assert_eq!(config, CUfunc_cache::PREFER_L1);
        no!(INVALID_VALUE, cuCtxSetCacheConfig(CUfunc_cache(9)));
        let (mut least, mut greatest) = (9, 9);
        ok!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
        assert!(least == 0 && greatest < least);
    });
}

/// The primary contexts belong to the process, so one test has them all.
#[test]
fn primary_contexts_count_references() {
    fresh(|| {
        let (mut first, mut second) = (CUcontext::NULL, CUcontext::NULL);
        let state = || {
            let (mut flags, mut active) = (9, 9);
            ok!(cuDevicePrimaryCtxGetState(1, &mut flags, &mut active));
            (flags, active)
        };
        assert_eq!(state(), (0, 0));
        no!(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(1));
        ok!(cuDevicePrimaryCtxSetFlags_v2(1, flags::CU_CTX_SCHED_SPIN));
        no!(INVALID_VALUE, cuDevicePrimaryCtxSetFlags_v2(1, 0x7));
        ok!(cuDevicePrimaryCtxRetain(&mut first, 1));
        ok!(cuDevicePrimaryCtxRetain(&mut second, 1));
        assert_eq!(first, second);
        assert_eq!(state(), (flags::CU_CTX_SCHED_SPIN, 1));
        assert!(current().is_null(), "retaining does not make current");
        no!(INVALID_CONTEXT, cuCtxDestroy_v2(first));
        ok!(cuCtxSetCurrent(first));
        let address = alloc(100);
        ok!(cuDevicePrimaryCtxRelease_v2(1));
        ok!(cuMemsetD8_v2(address, 1, 100));
        ok!(cuDevicePrimaryCtxRelease_v2(1));
        assert_eq!(state().1, 0);
        no!(CONTEXT_IS_DESTROYED, cuCtxSynchronize());
        no!(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(1));

        // A reset destroys what the context holds; references stay counted.
        ok!(cuDevicePrimaryCtxReset_v2(1));
        ok!(cuDevicePrimaryCtxRetain(&mut first, 1));
        ok!(cuCtxSetCurrent(first));
        let address = alloc(100);
        ok!(cuDevicePrimaryCtxReset_v2(1));
        assert_eq!(state().1, 0);
        no!(CONTEXT_IS_DESTROYED, cuMemFree_v2(address));
        ok!(cuDevicePrimaryCtxRetain(&mut first, 1));
        ok!(cuCtxSetCurrent(first));
        alloc(100);
        ok!(cuDevicePrimaryCtxRelease_v2(1));
        assert_eq!(state().1, 1, "one reference from before the reset");
        ok!(cuDevicePrimaryCtxRelease_v2(1));
        assert_eq!(state().1, 0);
        no!(INVALID_DEVICE, cuDevicePrimaryCtxReset_v2(8));
    });
}

#[test]
fn peers_are_enabled_one_way() {
    fresh(|| {
        let mut can = -1;
        ok!(cuDeviceCanAccessPeer(&mut can, 0, 1));
        assert_eq!(can, 1);
        ok!(cuDeviceCanAccessPeer(&mut can, 0, 0));
        assert_eq!(can, 0);
        let (first, second) = (TestContext::on(0), TestContext::on(1));
        no!(INVALID_VALUE, cuCtxEnablePeerAccess(first.0, 1));
        no!(INVALID_CONTEXT, cuCtxEnablePeerAccess(second.0, 0));
        no!(INVALID_CONTEXT, cuCtxEnablePeerAccess(CUcontext::NULL, 0));
        no!(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(first.0));
        ok!(cuCtxEnablePeerAccess(first.0, 0));
        no!(
            PEER_ACCESS_ALREADY_ENABLED,
            cuCtxEnablePeerAccess(first.0, 0)
        );
        ok!(cuCtxDisablePeerAccess(first.0));
        no!(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(first.0));
        ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
        no!(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(second.0));
    });
}
