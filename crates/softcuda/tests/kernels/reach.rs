//! What memory a kernel can reach besides its context's own.

use crate::common::*;
use crate::{arg, function, init, launch, load, no, ok};

#[test]
fn registered_host_memory_is_reachable_until_it_is_not() {
    init();
    let _context = TestContext::on(0);
    let poke = function(load(), "poke");
    let mut data = vec![0u32; 1000];
    let pointer = data.as_mut_ptr();
    ok!(cuMemHostRegister_v2(pointer.cast(), 4000, 0));
    let last = pointer.wrapping_add(999);
    launch(poke, 1, 1, CUstream::NULL, &[arg(&last), arg(&42u32)]);
    ok!(cuCtxSynchronize());
    // SAFETY: an element of `data`, which the kernel is done with.
    assert_eq!(unsafe { last.read_volatile() }, 42);
    ok!(cuMemHostUnregister(pointer.cast()));
    launch(poke, 1, 1, CUstream::NULL, &[arg(&last), arg(&43u32)]);
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    // SAFETY: as above.
    assert_eq!(unsafe { last.read_volatile() }, 42);
}

#[test]
fn read_only_registrations_refuse_writes() {
    init();
    let _context = TestContext::on(0);
    let poke = function(load(), "poke");
    let mut word = Box::new(1u32);
    let pointer: *mut u32 = &raw mut *word;
    ok!(cuMemHostRegister_v2(pointer.cast(), 4, 8));
    launch(poke, 1, 1, CUstream::NULL, &[arg(&pointer), arg(&2u32)]);
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert_eq!(*word, 1);
}

#[test]
fn memory_of_another_context_needs_peer_access() {
    init();
    let owner = TestContext::on(1);
    let target = alloc(4);
    {
        let _context = TestContext::on(0);
        launch(
            function(load(), "poke"),
            1,
            1,
            CUstream::NULL,
            &[arg(&target), arg(&1u32)],
        );
        no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    }
    let _context = TestContext::on(0);
    ok!(cuCtxEnablePeerAccess(owner.0, 0));
    let poke = function(load(), "poke");
    launch(poke, 1, 1, CUstream::NULL, &[arg(&target), arg(&2u32)]);
    ok!(cuCtxSynchronize());
    assert_eq!(download::<u32>(target, 1), [2]);
    ok!(cuCtxDisablePeerAccess(owner.0));
    launch(poke, 1, 1, CUstream::NULL, &[arg(&target), arg(&3u32)]);
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
}

#[test]
fn page_locked_and_managed_memory_are_reachable_everywhere() {
    init();
    let owner = TestContext::on(1);
    let pinned = alloc_host(4) as u64;
    let mut managed = 0;
    ok!(cuMemAllocManaged(
        &mut managed,
        4,
        flags::CU_MEM_ATTACH_GLOBAL
    ));
    let context = TestContext::on(0);
    let poke = function(load(), "poke");
    launch(poke, 1, 1, CUstream::NULL, &[arg(&pinned), arg(&7u32)]);
    launch(poke, 1, 1, CUstream::NULL, &[arg(&managed), arg(&8u32)]);
    ok!(cuCtxSynchronize());
    assert_eq!(
        (download::<u32>(pinned, 1), download::<u32>(managed, 1)),
        (vec![7], vec![8])
    );
    drop(context);
    drop(owner);
}
