//! Several devices: copies between them, access of kernels to another's memory, and order across them.

use crate::common::*;
use crate::{SMALL, arg, function, init, launch, load, no, ok, zeros};

const N: usize = 5000;

fn numbers(seed: u32) -> Vec<u32> {
    (0..N as u32)
        .map(|i| i.wrapping_mul(40_503).wrapping_add(seed))
        .collect()
}

/// A context on each device, none current.
fn contexts() -> [TestContext; 3] {
    [0, 1, SMALL].map(|device| {
        let context = TestContext::on(device);
        ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
        context
    })
}

fn inside<R>(context: &TestContext, body: impl FnOnce() -> R) -> R {
    ok!(cuCtxPushCurrent_v2(context.0));
    let result = body();
    ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
    result
}

#[test]
fn memory_goes_around_all_devices() {
    init();
    let contexts = contexts();
    let buffers: Vec<u64> = contexts
        .iter()
        .map(|c| inside(c, || alloc(4 * N)))
        .collect();
    let functions: Vec<CUfunction> = contexts
        .iter()
        .map(|c| inside(c, || function(load(), "linear")))
        .collect();
    let data = numbers(7);
    inside(&contexts[0], || upload(buffers[0], &data));
    let mut expected = data;
    let (a, b, n) = (3u32, 11u32, N as u32);
    for step in 0..9 {
        let (from, to) = (step % 3, (step + 1) % 3);
        inside(&contexts[from], || {
            launch(
                functions[from],
                40,
                128,
                CUstream::NULL,
                &[arg(&buffers[from]), arg(&a), arg(&b), arg(&n)],
            );
            // It waits for the kernel, and what follows on the other device for it.
            ok!(cuMemcpyPeer(
                buffers[to],
                contexts[to].0,
                buffers[from],
                contexts[from].0,
                4 * N
            ));
        });
        for x in &mut expected {
            *x = x.wrapping_mul(a).wrapping_add(b);
        }
    }
    inside(&contexts[0], || {
        assert!(download::<u32>(buffers[0], N) == expected);
    });
}

#[test]
fn asynchronous_copies_follow_streams_and_events() {
    init();
    let contexts = contexts();
    let data = numbers(99);
    let (source, stream, event) = inside(&contexts[0], || {
        let source = alloc(4 * N);
        upload(source, &data);
        (
            source,
            new_stream(1),
            new_event(flags::CU_EVENT_DISABLE_TIMING),
        )
    });
    let (target, other, linear) = inside(&contexts[1], || {
        (zeros(N), new_stream(1), function(load(), "linear"))
    });
    let gate = inside(&contexts[0], || {
        let gate = Gate::close(stream);
        ok!(cuMemcpyPeerAsync(
            target,
            contexts[1].0,
            source,
            contexts[0].0,
            4 * N,
            stream
        ));
        ok!(cuEventRecord(event, stream));
        gate
    });
    inside(&contexts[1], || {
        // A stream of one device waits for an event of another.
        ok!(cuStreamWaitEvent(other, event, 0));
        let (a, b, n) = (2u32, 1u32, N as u32);
        launch(
            linear,
            40,
            128,
            other,
            &[arg(&target), arg(&a), arg(&b), arg(&n)],
        );
        no!(NOT_READY, cuStreamQuery(other));
        gate.open();
        ok!(cuStreamSynchronize(other));
        let expected: Vec<u32> = data
            .iter()
            .map(|x| x.wrapping_mul(2).wrapping_add(1))
            .collect();
        assert!(download::<u32>(target, N) == expected);
    });
}

#[test]
fn kernels_use_a_peer_s_memory_while_they_may() {
    init();
    let contexts = contexts();
    let theirs = inside(&contexts[1], || {
        let theirs = alloc(4 * N);
        upload(theirs, &numbers(1));
        theirs
    });
    let mut can = 0;
    ok!(cuDeviceCanAccessPeer(&mut can, 0, 1));
    assert_eq!(can, 1);
    inside(&contexts[0], || {
        ok!(cuCtxEnablePeerAccess(contexts[1].0, 0));
        no!(
            PEER_ACCESS_ALREADY_ENABLED,
            cuCtxEnablePeerAccess(contexts[1].0, 0)
        );
        let (sum, ours, n) = (function(load(), "sum"), alloc(4 * N), N as u32);
        upload(ours, &numbers(2));
        // Ours into theirs and theirs into ours, in one stream.
        launch(
            sum,
            40,
            128,
            CUstream::NULL,
            &[arg(&ours), arg(&theirs), arg(&n)],
        );
        launch(
            sum,
            40,
            128,
            CUstream::NULL,
            &[arg(&theirs), arg(&ours), arg(&n)],
        );
        let (one, two) = (numbers(1), numbers(2));
        let mixed: Vec<u32> = one
            .iter()
            .zip(&two)
            .map(|(a, b)| a.wrapping_add(*b))
            .collect();
        let ours_now: Vec<u32> = mixed
            .iter()
            .zip(&two)
            .map(|(a, b)| a.wrapping_add(*b))
            .collect();
        assert!(download::<u32>(theirs, N) == mixed && download::<u32>(ours, N) == ours_now);
        // Memory that the peer allocates now is reachable too.
        let later = inside(&contexts[1], || zeros(N));
        launch(
            sum,
            40,
            128,
            CUstream::NULL,
            &[arg(&ours), arg(&later), arg(&n)],
        );
        assert!(download::<u32>(later, N) == ours_now);
        ok!(cuCtxDisablePeerAccess(contexts[1].0));
        launch(
            sum,
            1,
            1,
            CUstream::NULL,
            &[arg(&ours), arg(&theirs), arg(&n)],
        );
        no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
        let text = cuprum_softcuda::last_fault(contexts[0].0).expect("lost");
        assert!(
            text.contains("kernel `sum`") && text.contains("device allocation of 20000 bytes"),
            "{text}"
        );
    });
    // The peer is sound.
    inside(&contexts[1], || {
        ok!(cuCtxSynchronize());
        assert_eq!(download::<u32>(theirs, 1).len(), 1);
    });
}

#[test]
fn access_is_one_way_and_each_context_s_own() {
    init();
    let contexts = contexts();
    let (a, b) = (
        inside(&contexts[0], || zeros(4)),
        inside(&contexts[1], || zeros(4)),
    );
    inside(&contexts[0], || {
        ok!(cuCtxEnablePeerAccess(contexts[1].0, 0));
    });
    inside(&contexts[1], || {
        let sum = function(load(), "sum");
        launch(sum, 1, 4, CUstream::NULL, &[arg(&a), arg(&b), arg(&4u32)]);
        no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    });
    inside(&contexts[0], || {
        let sum = function(load(), "sum");
        ok!(cuCtxSynchronize());
        launch(sum, 1, 4, CUstream::NULL, &[arg(&b), arg(&a), arg(&4u32)]);
        ok!(cuCtxSynchronize());
    });
}
