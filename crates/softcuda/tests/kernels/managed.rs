//! Managed memory: who may use it, what is kept of advice, and every error that the manual names.

use std::ffi::c_void;
use std::time::Duration;

use crate::common::*;
use crate::{EXCLUSIVE, arg, cu, function, init, launch, load, no, ok};

fn managed(bytes: usize, flags: u32) -> CUdeviceptr {
    let mut address = 0;
    ok!(cuMemAllocManaged(&mut address, bytes, flags));
    address
}

fn ask(attribute: CUmem_range_attribute, address: CUdeviceptr, bytes: usize) -> i32 {
    let mut value = 77i32;
    ok!(cuMemRangeGetAttribute(
        (&raw mut value).cast(),
        4,
        attribute,
        address,
        bytes
    ));
    value
}

fn accessed_by(address: CUdeviceptr, bytes: usize) -> [i32; 4] {
    let mut list = [77; 4];
    ok!(cuMemRangeGetAttribute(
        list.as_mut_ptr().cast(),
        16,
        CUmem_range_attribute::ACCESSED_BY,
        address,
        bytes
    ));
    list
}

/// The word at a managed address, as the host sees it.
fn host(address: CUdeviceptr) -> u32 {
    // SAFETY: callers pass managed memory that no work uses at the moment.
    unsafe { std::ptr::with_exposed_provenance::<u32>(address as usize).read() }
}

type A = CUmem_advise;
type R = CUmem_range_attribute;
type T = CUmemLocationType;

const PAGE: usize = 4096;

fn at(type_: CUmemLocationType, id: i32) -> CUmemLocation {
    CUmemLocation { type_, id }
}

#[test]
fn both_kinds_of_devices_say_what_they_are() {
    init();
    for (device, concurrent) in [(0, 1), (1, 1), (EXCLUSIVE, 0)] {
        let mut value = 7;
        ok!(cuDeviceGetAttribute(
            &mut value,
            CUdevice_attribute::CONCURRENT_MANAGED_ACCESS,
            device
        ));
        assert_eq!(value, concurrent);
        ok!(cuDeviceGetAttribute(
            &mut value,
            CUdevice_attribute::MANAGED_MEMORY,
            device
        ));
        assert_eq!(value, 1);
    }
}

#[test]
fn advice_is_kept_by_the_page() {
    init();
    let _context = TestContext::on(0);
    let memory = managed(8 * PAGE, flags::CU_MEM_ATTACH_GLOBAL);
    // A page boundary inside the block, wherever that begins.
    let page = memory.next_multiple_of(PAGE as u64);
    assert_eq!(ask(R::READ_MOSTLY, memory, 8 * PAGE), 0);
    ok!(cuMemAdvise(page + 100, 1, A::SET_READ_MOSTLY, -99));
    assert_eq!(ask(R::READ_MOSTLY, page, PAGE), 1);
    assert_eq!(ask(R::READ_MOSTLY, page, PAGE + 1), 0);
    ok!(cuMemAdvise(page, 2 * PAGE, A::SET_READ_MOSTLY, 0));
    assert_eq!(ask(R::READ_MOSTLY, page, PAGE + 1), 1);
    ok!(cuMemAdvise(page, 2 * PAGE, A::UNSET_READ_MOSTLY, 0));
    assert_eq!(ask(R::READ_MOSTLY, page, 1), 0);

    assert_eq!(ask(R::PREFERRED_LOCATION, memory, 9), CU_DEVICE_INVALID);
    assert_eq!(
        ask(R::PREFERRED_LOCATION_TYPE, memory, 9) as u32,
        T::INVALID.0
    );
    ok!(cuMemAdvise(memory, 8 * PAGE, A::SET_PREFERRED_LOCATION, 1));
    assert_eq!(ask(R::PREFERRED_LOCATION, memory, 8 * PAGE), 1);
    assert_eq!(
        ask(R::PREFERRED_LOCATION_TYPE, memory, 9) as u32,
        T::DEVICE.0
    );
    assert_eq!(ask(R::PREFERRED_LOCATION_ID, memory, 9), 1);
    ok!(cuMemAdvise(
        page,
        PAGE,
        A::SET_PREFERRED_LOCATION,
        CU_DEVICE_CPU
    ));
    assert_eq!(ask(R::PREFERRED_LOCATION, page, PAGE), CU_DEVICE_CPU);
    assert_eq!(
        ask(R::PREFERRED_LOCATION_TYPE, page, PAGE) as u32,
        T::HOST.0
    );
    assert_eq!(
        ask(R::PREFERRED_LOCATION, memory, 8 * PAGE),
        CU_DEVICE_INVALID
    );
    ok!(cuMemAdvise_v2(
        page,
        PAGE,
        A::SET_PREFERRED_LOCATION,
        at(T::HOST_NUMA_CURRENT, 9)
    ));
    assert_eq!(
        ask(R::PREFERRED_LOCATION_TYPE, page, PAGE) as u32,
        T::HOST_NUMA.0
    );
    assert_eq!(ask(R::PREFERRED_LOCATION, page, PAGE), CU_DEVICE_INVALID);
    ok!(cuMemAdvise(
        memory,
        8 * PAGE,
        A::UNSET_PREFERRED_LOCATION,
        0
    ));
    assert_eq!(
        ask(R::PREFERRED_LOCATION_TYPE, memory, 8 * PAGE) as u32,
        T::INVALID.0
    );

    assert_eq!(accessed_by(memory, 8 * PAGE), [CU_DEVICE_INVALID; 4]);
    ok!(cuMemAdvise(memory, 8 * PAGE, A::SET_ACCESSED_BY, 1));
    ok!(cuMemAdvise_v2(
        page,
        PAGE,
        A::SET_ACCESSED_BY,
        at(T::HOST, 5)
    ));
    let none = CU_DEVICE_INVALID;
    assert_eq!(accessed_by(page, PAGE), [CU_DEVICE_CPU, 1, none, none]);
    assert_eq!(accessed_by(memory, 8 * PAGE), [1, none, none, none]);
    ok!(cuMemAdvise(memory, 8 * PAGE, A::UNSET_ACCESSED_BY, 1));
    assert_eq!(accessed_by(page, 1), [CU_DEVICE_CPU, none, none, none]);

    // New memory in the same place remembers nothing.
    ok!(cuMemFree_v2(memory));
    let memory = managed(8 * PAGE, flags::CU_MEM_ATTACH_GLOBAL);
    assert_eq!(accessed_by(memory, 8 * PAGE), [none; 4]);
}

#[test]
fn prefetches_are_remembered() {
    init();
    let _context = TestContext::on(0);
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let memory = managed(100, flags::CU_MEM_ATTACH_GLOBAL);
    assert_eq!(
        ask(R::LAST_PREFETCH_LOCATION, memory, 100),
        CU_DEVICE_INVALID
    );
    ok!(cuMemPrefetchAsync(memory, 100, 0, stream));
    assert_eq!(ask(R::LAST_PREFETCH_LOCATION, memory, 100), 0);
    ok!(cuMemPrefetchAsync(
        memory,
        50,
        CU_DEVICE_CPU,
        CUstream::NULL
    ));
    assert_eq!(ask(R::LAST_PREFETCH_LOCATION, memory, 100), CU_DEVICE_CPU);
    ok!(cuMemPrefetchAsync_v2(
        memory,
        50,
        at(T::DEVICE, 1),
        0,
        stream
    ));
    let (mut place, mut kind, mut who) = (0i32, 0u32, [0i32; 2]);
    let mut data = [
        (&raw mut place).cast::<c_void>(),
        (&raw mut kind).cast(),
        (&raw mut who).cast(),
    ];
    ok!(cuMemRangeGetAttributes(
        data.as_mut_ptr(),
        [4, 4, 8].as_mut_ptr(),
        [
            R::LAST_PREFETCH_LOCATION_ID,
            R::LAST_PREFETCH_LOCATION_TYPE,
            R::ACCESSED_BY
        ]
        .as_mut_ptr(),
        3,
        memory,
        100
    ));
    assert_eq!((place, kind), (1, T::DEVICE.0));
    assert_eq!(who, [CU_DEVICE_INVALID; 2]);
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn what_is_wrong_is_said() {
    init();
    let _context = TestContext::on(0);
    let memory = managed(100, flags::CU_MEM_ATTACH_GLOBAL);
    let plain = alloc(100);
    let mut value = 0i32;
    let data = (&raw mut value).cast::<c_void>();
    let none = CUstream::NULL;
    for address in [0, 8, plain, memory + 100] {
        no!(
            INVALID_VALUE,
            cuMemAdvise(address, 1, A::SET_READ_MOSTLY, 0)
        );
        no!(INVALID_VALUE, cuMemPrefetchAsync(address, 1, 0, none));
        no!(
            INVALID_VALUE,
            cuMemRangeGetAttribute(data, 4, R::READ_MOSTLY, address, 1)
        );
        no!(
            INVALID_VALUE,
            cuStreamAttachMemAsync(none, address, 0, flags::CU_MEM_ATTACH_GLOBAL)
        );
    }
    for bytes in [0, 101] {
        no!(
            INVALID_VALUE,
            cuMemAdvise(memory, bytes, A::SET_READ_MOSTLY, 0)
        );
        no!(INVALID_VALUE, cuMemPrefetchAsync(memory, bytes, 0, none));
        no!(
            INVALID_VALUE,
            cuMemRangeGetAttribute(data, 4, R::READ_MOSTLY, memory, bytes)
        );
    }
    no!(INVALID_VALUE, cuMemAdvise(memory, 1, CUmem_advise(9), 0));
    no!(
        INVALID_DEVICE,
        cuMemAdvise(memory, 1, A::SET_PREFERRED_LOCATION, 9)
    );
    no!(
        INVALID_DEVICE,
        cuMemAdvise(memory, 1, A::SET_ACCESSED_BY, -3)
    );
    no!(
        INVALID_VALUE,
        cuMemAdvise_v2(memory, 1, A::SET_ACCESSED_BY, at(T::HOST_NUMA, 0))
    );
    no!(
        INVALID_VALUE,
        cuMemAdvise_v2(memory, 1, A::SET_PREFERRED_LOCATION, at(T::HOST_NUMA, 1))
    );
    no!(
        INVALID_VALUE,
        cuMemAdvise_v2(memory, 1, A::SET_PREFERRED_LOCATION, at(T::INVALID, 0))
    );
    no!(
        INVALID_VALUE,
        cuMemPrefetchAsync_v2(memory, 1, at(T::DEVICE, 0), 1, none)
    );
    no!(INVALID_DEVICE, cuMemPrefetchAsync(memory, 1, 9, none));
    no!(
        INVALID_VALUE,
        cuMemRangeGetAttribute(data, 8, R::READ_MOSTLY, memory, 1)
    );
    no!(
        INVALID_VALUE,
        cuMemRangeGetAttribute(data, 0, R::ACCESSED_BY, memory, 1)
    );
    no!(
        INVALID_VALUE,
        cuMemRangeGetAttribute(data, 6, R::ACCESSED_BY, memory, 1)
    );
    no!(
        INVALID_VALUE,
        cuMemRangeGetAttribute(data, 4, CUmem_range_attribute(99), memory, 1)
    );
    no!(
        INVALID_VALUE,
        cuMemRangeGetAttribute(std::ptr::null_mut(), 4, R::READ_MOSTLY, memory, 1)
    );

    let global = flags::CU_MEM_ATTACH_GLOBAL;
    no!(
        INVALID_VALUE,
        cuStreamAttachMemAsync(none, memory + 4, 0, global)
    );
    no!(
        INVALID_VALUE,
        cuStreamAttachMemAsync(none, memory, 50, global)
    );
    no!(INVALID_VALUE, cuStreamAttachMemAsync(none, memory, 0, 0));
    no!(INVALID_VALUE, cuStreamAttachMemAsync(none, memory, 0, 3));
    let single = flags::CU_MEM_ATTACH_SINGLE;
    no!(
        INVALID_VALUE,
        cuStreamAttachMemAsync(none, memory, 0, single)
    );
    no!(
        INVALID_VALUE,
        cuStreamAttachMemAsync(CUstream::LEGACY, memory, 0, single)
    );
    ok!(cuStreamAttachMemAsync(
        new_stream(flags::CU_STREAM_NON_BLOCKING),
        memory,
        0,
        single
    ));
    ok!(cuStreamAttachMemAsync(none, memory, 100, global));
}

/// A device without concurrent access takes no part in advice and prefetching.
#[test]
fn exclusive_devices_neither_prefetch_nor_are_advised_on() {
    init();
    let context = TestContext::on(EXCLUSIVE);
    let memory = managed(100, flags::CU_MEM_ATTACH_GLOBAL);
    ok!(cuMemAdvise(memory, 100, A::SET_READ_MOSTLY, EXCLUSIVE));
    no!(
        INVALID_DEVICE,
        cuMemAdvise(memory, 100, A::SET_PREFERRED_LOCATION, EXCLUSIVE)
    );
    no!(
        INVALID_DEVICE,
        cuMemAdvise(memory, 100, A::SET_ACCESSED_BY, EXCLUSIVE)
    );
    no!(
        INVALID_DEVICE,
        cuMemPrefetchAsync(memory, 100, EXCLUSIVE, CUstream::NULL)
    );
    no!(
        INVALID_DEVICE,
        cuMemPrefetchAsync(memory, 100, CU_DEVICE_CPU, CUstream::NULL)
    );
    let other = TestContext::on(0);
    no!(
        INVALID_DEVICE,
        cuMemPrefetchAsync(memory, 100, EXCLUSIVE, CUstream::NULL)
    );
    ok!(cuMemPrefetchAsync(
        memory,
        100,
        CU_DEVICE_CPU,
        CUstream::NULL
    ));
    drop(other);
    drop(context);
}

/// Memory attached to the host is not there for kernels of such a device, and is for those of others.
#[test]
fn memory_attached_to_the_host_is_hidden_from_exclusive_devices() {
    init();
    let concurrent = TestContext::on(0);
    let memory = managed(64, flags::CU_MEM_ATTACH_HOST);
    let poke = function(load(), "poke");
    launch(poke, 1, 1, CUstream::NULL, &[arg(&memory), arg(&5u32)]);
    ok!(cuCtxSynchronize());
    assert_eq!(host(memory), 5);

    let context = TestContext::on(EXCLUSIVE);
    let poke = function(load(), "poke");
    let own = new_stream(flags::CU_STREAM_NON_BLOCKING);
    // Attached to the stream, to all, to the host and back: kernels see it in stream order.
    ok!(cuStreamAttachMemAsync(
        own,
        memory,
        0,
        flags::CU_MEM_ATTACH_SINGLE
    ));
    launch(poke, 1, 1, own, &[arg(&memory), arg(&6u32)]);
    ok!(cuStreamAttachMemAsync(
        own,
        memory,
        0,
        flags::CU_MEM_ATTACH_HOST
    ));
    ok!(cuStreamAttachMemAsync(
        own,
        memory,
        64,
        flags::CU_MEM_ATTACH_GLOBAL
    ));
    launch(poke, 1, 1, own, &[arg(&memory), arg(&7u32)]);
    ok!(cuStreamAttachMemAsync(
        own,
        memory,
        0,
        flags::CU_MEM_ATTACH_HOST
    ));
    ok!(cuStreamSynchronize(own));
    assert_eq!(host(memory), 7);
    launch(poke, 1, 1, own, &[arg(&memory), arg(&8u32)]);
    no!(ILLEGAL_ADDRESS, cuStreamSynchronize(own));
    let told = cuprum_softcuda::last_fault(context.0).expect("it is poisoned");
    assert!(told.contains("which is attached to the host"), "{told}");
    assert_eq!(host(memory), 7);
    drop(context);
    drop(concurrent);
}

/// The end of a stream ends its attachments, once its work is done.
#[test]
fn attachments_end_with_their_stream() {
    init();
    let context = TestContext::on(EXCLUSIVE);
    let memory = managed(64, flags::CU_MEM_ATTACH_HOST);
    let open = managed(64, flags::CU_MEM_ATTACH_GLOBAL);
    let poke = function(load(), "poke");
    let own = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let gate = Gate::close(own);
    for memory in [memory, open] {
        ok!(cuStreamAttachMemAsync(
            own,
            memory,
            0,
            flags::CU_MEM_ATTACH_SINGLE
        ));
        launch(poke, 1, 1, own, &[arg(&memory), arg(&6u32)]);
    }
    ok!(cuStreamDestroy_v2(own));
    std::thread::sleep(Duration::from_millis(10));
    gate.open();
    ok!(cuCtxSynchronize());
    assert_eq!((host(memory), host(open)), (6, 6));
    launch(poke, 1, 1, CUstream::NULL, &[arg(&open), arg(&9u32)]);
    ok!(cuCtxSynchronize());
    launch(poke, 1, 1, CUstream::NULL, &[arg(&memory), arg(&9u32)]);
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert_eq!((host(memory), host(open)), (6, 9));
    drop(context);
}

#[test]
fn several_attributes_of_a_pointer_at_once() {
    init();
    let _context = TestContext::on(1);
    let memory = managed(100, flags::CU_MEM_ATTACH_GLOBAL);
    let plain = alloc(100);
    let questions = |address| {
        let (mut managed, mut host, mut ordinal) = (7u32, 7u64, 7i32);
        let mut data = [
            (&raw mut managed).cast::<c_void>(),
            (&raw mut host).cast(),
            (&raw mut ordinal).cast(),
        ];
        type P = CUpointer_attribute;
        ok!(cuPointerGetAttributes(
            3,
            [P::IS_MANAGED, P::HOST_POINTER, P::DEVICE_ORDINAL].as_mut_ptr(),
            data.as_mut_ptr(),
            address
        ));
        (managed, host, ordinal)
    };
    assert_eq!(questions(memory), (1, memory, 1));
    assert_eq!(questions(plain), (0, 0, 1));
    assert_eq!(questions(8), (0, 0, CU_DEVICE_INVALID));
    let mut value = 0u64;
    no!(
        INVALID_VALUE,
        cuPointerGetAttributes(
            1,
            [CUpointer_attribute(99)].as_mut_ptr(),
            [(&raw mut value).cast::<c_void>()].as_mut_ptr(),
            memory
        )
    );
    no!(
        INVALID_VALUE,
        cuPointerGetAttributes(
            1,
            [CUpointer_attribute::IS_MANAGED].as_mut_ptr(),
            [std::ptr::null_mut::<c_void>()].as_mut_ptr(),
            memory
        )
    );
    let _ = cu!(cuMemFree_v2(memory));
}
