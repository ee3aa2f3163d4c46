//! Allocation and what can be asked of an address.

use std::ffi::c_void;

use crate::common::*;
use crate::{MEMORY, init, no, ok};

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!(total as u64, MEMORY);
    free
}

fn attribute<T: Copy + Default>(attribute: CUpointer_attribute, address: CUdeviceptr) -> T {
    let mut value = T::default();
    ok!(cuPointerGetAttribute(
        (&raw mut value).cast(),
        attribute,
        address
    ));
    value
}

#[test]
fn allocations_have_a_start_and_a_size() {
    init();
    let _context = TestContext::on(0);
    let address = alloc(1000);
    let (mut base, mut size) = (0, 0);
    for inside in [0, 1, 999] {
        ok!(cuMemGetAddressRange_v2(
            &mut base,
            &mut size,
            address + inside
        ));
        assert_eq!((base, size), (address, 1000));
    }
    ok!(cuMemGetAddressRange_v2(
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        address
    ));
    no!(
        NOT_FOUND,
        cuMemGetAddressRange_v2(&mut base, &mut size, address + 1000)
    );
    no!(NOT_FOUND, cuMemGetAddressRange_v2(&mut base, &mut size, 0));
    no!(INVALID_VALUE, cuMemFree_v2(address + 1));
    assert!(
        last_error()
            .expect("failed")
            .contains("offset 1 in the device allocation of 1000 bytes")
    );
    no!(INVALID_VALUE, cuMemFree_v2(0));
    ok!(cuMemFree_v2(address));
    no!(INVALID_VALUE, cuMemFree_v2(address));
    no!(INVALID_VALUE, cuMemAlloc_v2(&mut base, 0));
    no!(INVALID_VALUE, cuMemAlloc_v2(std::ptr::null_mut(), 8));
}

#[test]
fn a_request_past_the_memory_names_its_numbers() {
    init();
    let _context = TestContext::on(0);
    let mut address = 0;
    no!(
        OUT_OF_MEMORY,
        cuMemAlloc_v2(&mut address, MEMORY as usize + 1)
    );
    let text = last_error().expect("failed");
    assert!(
        text.contains("67108865 bytes requested") && text.contains("of 67108864 bytes"),
        "{text}"
    );
    no!(OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, usize::MAX));
    no!(
        OUT_OF_MEMORY,
        cuMemAllocManaged(&mut address, 1 << 40, flags::CU_MEM_ATTACH_GLOBAL)
    );
    assert_eq!(address, 0);
}

/// On the third device, which no other test allocates on.
#[test]
fn free_memory_is_exact() {
    init();
    let context = TestContext::on(2);
    let before = free_memory();
    let addresses: Vec<CUdeviceptr> = [1, 256, 257, 100_000].map(alloc).into();
    assert_eq!(before - free_memory(), 256 + 256 + 512 + 100_096);
    let pinned = alloc_host(1 << 20);
    assert_eq!(
        before - free_memory(),
        256 + 256 + 512 + 100_096,
        "host memory is not the device's"
    );
    for address in addresses {
        ok!(cuMemFree_v2(address));
    }
    ok!(cuMemFreeHost(pinned.cast()));
    assert_eq!(free_memory(), before);
    let all = alloc(before);
    assert_eq!(free_memory(), 0);
    no!(OUT_OF_MEMORY, cuMemAlloc_v2(&mut 0, 1));
    ok!(cuMemFree_v2(all));
    alloc(12345);
    drop(context);
    let _context = TestContext::on(2);
    assert_eq!(free_memory(), before);
}

#[test]
fn new_memory_reads_as_zero() {
    init();
    let _context = TestContext::on(0);
    for size in [100, 5000, 1 << 20] {
        let address = alloc(size);
        assert_eq!(download::<u8>(address, size), vec![0; size]);
        ok!(cuMemsetD8_v2(address, 0xab, size));
        ok!(cuMemFree_v2(address));
    }
}

#[test]
fn rows_are_padded() {
    init();
    let _context = TestContext::on(0);
    let (mut address, mut pitch) = (0, 0);
    ok!(cuMemAllocPitch_v2(&mut address, &mut pitch, 1000, 7, 4));
    assert!(pitch >= 1000 && pitch.is_multiple_of(512));
    assert_eq!(
        attribute::<usize>(CUpointer_attribute::RANGE_SIZE, address),
        pitch * 7
    );
    ok!(cuMemFree_v2(address));
    no!(
        INVALID_VALUE,
        cuMemAllocPitch_v2(&mut address, &mut pitch, 1000, 7, 5)
    );
    no!(
        INVALID_VALUE,
        cuMemAllocPitch_v2(&mut address, &mut pitch, 1000, 0, 4)
    );
    no!(
        INVALID_VALUE,
        cuMemAllocPitch_v2(&mut address, std::ptr::null_mut(), 1000, 7, 4)
    );
    no!(
        OUT_OF_MEMORY,
        cuMemAllocPitch_v2(&mut address, &mut pitch, usize::MAX, 2, 4)
    );
}

#[test]
fn page_locked_memory_is_host_and_device_memory() {
    init();
    let context = TestContext::on(0);
    let pointer = alloc_host(1000);
    // SAFETY: 1000 bytes were allocated above, and nothing else uses them.
    unsafe { pointer.write_bytes(5, 1000) };
    let mut address = 0;
    ok!(cuMemHostGetDevicePointer_v2(
        &mut address,
        pointer.cast(),
        0
    ));
    no!(
        INVALID_VALUE,
        cuMemHostGetDevicePointer_v2(&mut address, pointer.cast(), 1)
    );
    assert_eq!(download::<u8>(address, 1000), vec![5; 1000]);
    type A = CUpointer_attribute;
    assert_eq!(
        attribute::<u32>(A::MEMORY_TYPE, address),
        CUmemorytype::HOST.0
    );
    assert_eq!(attribute::<u64>(A::HOST_POINTER, address + 4), address + 4);
    assert_eq!(attribute::<u64>(A::RANGE_START_ADDR, address + 4), address);
    assert_eq!(attribute::<usize>(A::CONTEXT, address), context.0.0.addr());
    no!(INVALID_VALUE, cuMemFree_v2(address));
    let mut found = 9;
    ok!(cuMemHostGetFlags(&mut found, pointer.cast()));
    assert_eq!(found, 0);
    no!(
        INVALID_VALUE,
        cuMemFreeHost(pointer.wrapping_add(16).cast())
    );
    ok!(cuMemFreeHost(pointer.cast()));
    no!(INVALID_VALUE, cuMemFreeHost(pointer.cast()));
    no!(INVALID_VALUE, cuMemFreeHost(NULL));

    let mut pointer = NULL;
    no!(INVALID_VALUE, cuMemHostAlloc(&mut pointer, 100, 0x10));
    no!(INVALID_VALUE, cuMemHostAlloc(&mut pointer, 0, 0));
    no!(INVALID_VALUE, cuMemAllocHost_v2(std::ptr::null_mut(), 10));
    let wanted = flags::CU_MEMHOSTALLOC_PORTABLE | flags::CU_MEMHOSTALLOC_WRITECOMBINED;
    ok!(cuMemHostAlloc(&mut pointer, 100, wanted));
    ok!(cuMemHostGetFlags(&mut found, pointer));
    assert_eq!(found, wanted);
    no!(
        INVALID_VALUE,
        cuMemHostGetDevicePointer_v2(&mut address, (&raw mut found).cast(), 0)
    );
}

#[test]
fn registered_memory_is_known_until_it_is_not() {
    init();
    let _context = TestContext::on(0);
    let mut data = vec![7u64; 65536];
    let pointer: *mut c_void = data.as_mut_ptr().cast();
    let bytes = size_of_val(data.as_slice());
    no!(INVALID_VALUE, cuMemHostRegister_v2(NULL, 8, 0));
    no!(INVALID_VALUE, cuMemHostRegister_v2(pointer, 0, 0));
    no!(INVALID_VALUE, cuMemHostRegister_v2(pointer, bytes, 0x40));
    no!(NOT_SUPPORTED, cuMemHostRegister_v2(pointer, bytes, 4));
    no!(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(pointer));
    ok!(cuMemHostRegister_v2(pointer, bytes, 0));
    no!(
        HOST_MEMORY_ALREADY_REGISTERED,
        cuMemHostRegister_v2(pointer, 8, 0)
    );
    let last = pointer.wrapping_byte_add(bytes - 1);
    no!(
        HOST_MEMORY_ALREADY_REGISTERED,
        cuMemHostRegister_v2(last, 8, 0)
    );
    let mut address = 0;
    ok!(cuMemHostGetDevicePointer_v2(&mut address, last, 0));
    assert_eq!(
        attribute::<usize>(CUpointer_attribute::RANGE_SIZE, address),
        524_288
    );
    let copy = alloc(bytes);
    ok!(cuMemcpyHtoDAsync_v2(copy, pointer, bytes, CUstream::NULL));
    assert_eq!(download::<u64>(copy, 65536), data);
    ok!(cuMemcpyDtoD_v2(copy, address - bytes as u64 + 1, 8));
    no!(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(last));
    ok!(cuMemHostUnregister(pointer));
    no!(
        INVALID_VALUE,
        cuMemHostGetDevicePointer_v2(&mut address, pointer, 0)
    );
    let pinned = alloc_host(4096);
    no!(
        HOST_MEMORY_ALREADY_REGISTERED,
        cuMemHostRegister_v2(pinned.cast(), 16, 0)
    );
    no!(
        INVALID_VALUE,
        cuMemHostRegister_v2(std::ptr::with_exposed_provenance_mut(copy as usize), 16, 0)
    );
}

#[test]
fn managed_memory_is_one_memory() {
    init();
    let _context = TestContext::on(0);
    let mut address = 0;
    no!(INVALID_VALUE, cuMemAllocManaged(&mut address, 100, 0));
    no!(
        INVALID_VALUE,
        cuMemAllocManaged(&mut address, 100, flags::CU_MEM_ATTACH_SINGLE)
    );
    no!(
        INVALID_VALUE,
        cuMemAllocManaged(&mut address, 0, flags::CU_MEM_ATTACH_GLOBAL)
    );
    ok!(cuMemAllocManaged(
        &mut address,
        100,
        flags::CU_MEM_ATTACH_GLOBAL
    ));
    ok!(cuMemsetD8_v2(address, 3, 100));
    ok!(cuCtxSynchronize());
    let host = std::ptr::with_exposed_provenance::<u8>(address as usize);
    // SAFETY: 100 managed bytes, and the device is done with them.
    assert_eq!(unsafe { host.add(99).read() }, 3);
    type A = CUpointer_attribute;
    assert_eq!(attribute::<u32>(A::IS_MANAGED, address), 1);
    assert_eq!(
        attribute::<u32>(A::MEMORY_TYPE, address),
        CUmemorytype::DEVICE.0
    );
    ok!(cuMemFree_v2(address));
}

#[test]
fn attributes_of_device_memory() {
    init();
    let context = TestContext::on(1);
    let (a, b) = (alloc(300), alloc(300));
    type A = CUpointer_attribute;
    assert_eq!(attribute::<usize>(A::CONTEXT, a), context.0.0.addr());
    assert_eq!(attribute::<u32>(A::MEMORY_TYPE, a), CUmemorytype::DEVICE.0);
    assert_eq!(attribute::<i32>(A::DEVICE_ORDINAL, a), 1);
    assert_eq!(attribute::<u64>(A::DEVICE_POINTER, a + 7), a + 7);
    assert_eq!(attribute::<u32>(A::IS_MANAGED, a), 0);
    assert_ne!(
        attribute::<u64>(A::BUFFER_ID, a),
        attribute::<u64>(A::BUFFER_ID, b)
    );
    let mut value = 0u64;
    let pointer = (&raw mut value).cast();
    no!(
        INVALID_VALUE,
        cuPointerGetAttribute(pointer, A::HOST_POINTER, a)
    );
    no!(
        INVALID_VALUE,
        cuPointerGetAttribute(pointer, A::CONTEXT, a + 300)
    );
    no!(
        INVALID_VALUE,
        cuPointerGetAttribute(pointer, CUpointer_attribute(999), a)
    );
    no!(INVALID_VALUE, cuPointerGetAttribute(NULL, A::CONTEXT, a));
}

#[test]
fn sixteen_threads_allocate_and_free() {
    init();
    let context = TestContext::on(0);
    let handle = context.0;
    std::thread::scope(|scope| {
        for thread in 0..16u8 {
            scope.spawn(move || {
                ok!(cuCtxSetCurrent(handle));
                let mut live = Vec::new();
                for round in 0..200usize {
                    let size = 1 + (round * 977 + thread as usize * 131) % 20_000;
                    let address = alloc(size);
                    ok!(cuMemsetD8Async(address, thread, size, CUstream::PER_THREAD));
                    live.push((address, size));
                    if round % 3 == 0 {
                        let (address, size) = live.swap_remove(round * 7 % live.len());
                        ok!(cuStreamSynchronize(CUstream::PER_THREAD));
                        assert!(
                            download::<u8>(address, size)
                                .iter()
                                .all(|&byte| byte == thread)
                        );
                        ok!(cuMemFree_v2(address));
                    }
                }
                ok!(cuStreamSynchronize(CUstream::PER_THREAD));
                for (address, size) in live {
                    assert!(
                        download::<u8>(address, size)
                            .iter()
                            .all(|&byte| byte == thread)
                    );
                    ok!(cuMemFree_v2(address));
                }
            });
        }
    });
}
