//! Devices, versions, texts of codes, entry point addresses.

use std::ffi::{CStr, c_void};

use crate::common::*;
use crate::{MEMORY, init, no, ok};

fn text(call: impl FnOnce(*mut i8, i32)) -> String {
    let mut buffer = [0x7f_i8; 64];
    call(buffer.as_mut_ptr(), 64);
    // SAFETY: the call wrote null-terminated text.
    unsafe { CStr::from_ptr(buffer.as_ptr()) }
        .to_str()
        .expect("ASCII")
        .to_owned()
}

#[test]
fn devices_are_as_configured() {
    init();
    let (mut count, mut device, mut version) = (0, -1, 0);
    ok!(cuDeviceGetCount(&mut count));
    assert_eq!(count, 3);
    ok!(cuDeviceGet(&mut device, 1));
    assert_eq!(device, 1);
    no!(INVALID_DEVICE, cuDeviceGet(&mut device, 3));
    no!(INVALID_DEVICE, cuDeviceGet(&mut device, -1));
    no!(INVALID_VALUE, cuDeviceGet(std::ptr::null_mut(), 0));
    ok!(cuDriverGetVersion(&mut version));
    assert!(version >= 13_000);
    no!(INVALID_VALUE, cuDriverGetVersion(std::ptr::null_mut()));
    assert_eq!(text(|p, len| ok!(cuDeviceGetName(p, len, 1))), "Second");
    assert_eq!(text(|p, _| ok!(cuDeviceGetName(p, 4, 1))), "Sec");
    no!(INVALID_VALUE, cuDeviceGetName(std::ptr::null_mut(), 4, 0));
    no!(INVALID_DEVICE, cuDeviceGetName(std::ptr::null_mut(), 4, 7));
    let mut bytes = 0;
    ok!(cuDeviceTotalMem_v2(&mut bytes, 0));
    assert_eq!(bytes as u64, MEMORY);
    let (mut a, mut b) = (CUuuid::default(), CUuuid::default());
    ok!(cuDeviceGetUuid_v2(&mut a, 0));
    ok!(cuDeviceGetUuid_v2(&mut b, 1));
    assert_ne!(a, b);
}

#[test]
fn a_pci_address_leads_back_to_its_device() {
    init();
    for ordinal in 0..3 {
        let address = text(|p, len| ok!(cuDeviceGetPCIBusId(p, len, ordinal)));
        let terminated = std::ffi::CString::new(address.to_lowercase()).expect("no zero inside");
        let mut device = -1;
        ok!(cuDeviceGetByPCIBusId(&mut device, terminated.as_ptr()));
        assert_eq!(device, ordinal);
    }
    no!(
        INVALID_DEVICE,
        cuDeviceGetByPCIBusId(&mut 0, c"0000:01:00.0".as_ptr())
    );
    no!(
        INVALID_VALUE,
        cuDeviceGetByPCIBusId(&mut 0, c"here".as_ptr())
    );
    no!(INVALID_VALUE, cuDeviceGetPCIBusId(&mut 0, 5, 0));
}

#[test]
fn every_named_attribute_has_a_value() {
    init();
    let attribute = |a: CUdevice_attribute, device: i32| {
        let mut value = i32::MIN;
        ok!(cuDeviceGetAttribute(&mut value, a, device));
        assert_ne!(value, i32::MIN);
        value
    };
    for &(name, a) in CUdevice_attribute::NAMED {
        assert!(attribute(a, 0) >= -1, "{name}");
    }
    type A = CUdevice_attribute;
    assert_eq!(attribute(A::WARP_SIZE, 0), 32);
    assert_eq!(attribute(A::COMPUTE_CAPABILITY_MAJOR, 0), 8);
    assert_eq!(attribute(A::COMPUTE_CAPABILITY_MAJOR, 1), 9);
    assert_eq!(attribute(A::MULTIPROCESSOR_COUNT, 0), 4);
    assert_eq!(attribute(A::MAX_SHARED_MEMORY_PER_BLOCK, 0), 49152);
    assert_eq!(
        attribute(A::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0),
        163 * 1024
    );
    assert_eq!(
        attribute(A::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1),
        227 * 1024
    );
    assert_eq!(attribute(A::UNIFIED_ADDRESSING, 0), 1);
    no!(
        INVALID_VALUE,
        cuDeviceGetAttribute(&mut 0, CUdevice_attribute(100_000), 0)
    );
    no!(
        INVALID_VALUE,
        cuDeviceGetAttribute(&mut 0, CUdevice_attribute(0), 0)
    );
    no!(
        INVALID_VALUE,
        cuDeviceGetAttribute(std::ptr::null_mut(), A::WARP_SIZE, 0)
    );
    no!(
        INVALID_DEVICE,
        cuDeviceGetAttribute(&mut 0, A::WARP_SIZE, 9)
    );
}

#[test]
fn codes_have_names_and_descriptions() {
    let mut name = std::ptr::null();
    ok!(cuGetErrorName(CUresult::ILLEGAL_ADDRESS, &mut name));
    // SAFETY: the call answered with text that lives as long as the process.
    let name_text = unsafe { CStr::from_ptr(name) };
    assert_eq!(name_text, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    ok!(cuGetErrorString(CUresult::SUCCESS, &mut name));
    // SAFETY: as above.
    assert!(!unsafe { CStr::from_ptr(name) }.is_empty());
    no!(INVALID_VALUE, cuGetErrorName(CUresult(4242), &mut name));
    assert!(name.is_null());
    no!(
        INVALID_VALUE,
        cuGetErrorString(CUresult::SUCCESS, std::ptr::null_mut())
    );
}

#[test]
fn entry_points_are_found_by_base_name() {
    let (mut function, mut status): (*mut c_void, u32) = (NULL, 9);
    ok!(cuGetProcAddress_v2(
        c"cuMemAlloc".as_ptr(),
        &mut function,
        13_000,
        0,
        &mut status
    ));
    let expected = cuprum_softcuda::table()
        .address("cuMemAlloc_v2")
        .expect("provided");
    assert_eq!((function, status), (expected.as_ptr(), 0));
    ok!(cuGetProcAddress_v2(
        c"cuInit".as_ptr(),
        &mut function,
        13_000,
        0,
        std::ptr::null_mut()
    ));
    assert!(!function.is_null());
    ok!(cuGetProcAddress_v2(
        c"cuNothing".as_ptr(),
        &mut function,
        13_000,
        0,
        &mut status
    ));
    assert!(function.is_null() && status == 1);
    no!(
        INVALID_VALUE,
        cuGetProcAddress_v2(std::ptr::null(), &mut function, 13_000, 0, &mut status)
    );
    no!(
        INVALID_VALUE,
        cuGetProcAddress_v2(c"cuInit".as_ptr(), &mut function, 13_000, 64, &mut status)
    );
}

#[test]
fn what_was_asked_to_fail_fails() {
    init();
    let mut count = 0;
    cuprum_softcuda::fail_call_here("cuDeviceGetCount", 2, CUresult::SYSTEM_NOT_READY)
        .expect("an entry");
    ok!(cuDeviceGetCount(&mut count));
    count = -5;
    no!(SYSTEM_NOT_READY, cuDeviceGetCount(&mut count));
    assert_eq!(count, -5, "without effect");
    assert!(
        last_error()
            .expect("a call failed")
            .contains("cuDeviceGetCount")
    );
    ok!(cuDeviceGetCount(&mut count));
}
