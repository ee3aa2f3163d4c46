//! Global memory: where nothing is, where something was, at the edges, and askew.

use crate::common::*;
use crate::kind::{Kernel, Kind};
use crate::ok;

use CUresult as C;

/// A way to access memory at `%a`: name, instruction, bytes, and how an account calls it.
const WAYS: [(&str, &str, u32, &str); 5] = [
    ("load", "ld.global.u32 %r5, [%a];", 4, "read of 4 bytes"),
    ("store", "st.global.u32 [%a], 7;", 4, "write of 4 bytes"),
    (
        "atomic",
        "atom.global.add.u32 %r5, [%a], 1;",
        4,
        "atomic operation on 4 bytes",
    ),
    (
        "vector_load",
        "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%a];",
        16,
        "read of 16 bytes",
    ),
    (
        "vector_store",
        "st.global.v2.f64 [%a], {%g1, %g2};",
        16,
        "write of 16 bytes",
    ),
];

/// The address after an allocation of 1008 bytes, a multiple of every access.
fn past_the_end() -> u64 {
    alloc(1008) + 1008
}

/// The last place, of four bytes' alignment, of an allocation that does not hold all of it.
fn last_word() -> u64 {
    alloc(1006) + 1004
}

/// As [`last_word`], for sixteen bytes.
fn last_vector() -> u64 {
    alloc(1006) + 992
}

fn freed() -> u64 {
    let address = alloc(64 << 10);
    ok!(cuMemFree_v2(address));
    address
}

fn before_the_start() -> u64 {
    alloc(64) - 16
}

fn host_memory() -> u64 {
    // Nobody frees it, so it is mapped for sure; kernels may not touch it all the same.
    Box::leak(Box::new([0u128; 4])).as_ptr().expose_provenance() as u64
}

fn of_another_context() -> u64 {
    let mut other = CUcontext::NULL;
    ok!(cuCtxCreate_v2(&mut other, 0, 1));
    // It lives until the process ends.
    let address = alloc(64);
    ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
    address
}

fn stream_ordered_and_freed() -> u64 {
    let mut address = 0;
    ok!(cuMemAllocAsync(&mut address, 1024, CUstream::NULL));
    ok!(cuMemFreeAsync(address, CUstream::NULL));
    ok!(cuStreamSynchronize(CUstream::NULL));
    address
}

fn odd() -> u64 {
    alloc(64) + 1
}

fn two_off() -> u64 {
    alloc(64) + 2
}

fn four_off() -> u64 {
    alloc(64) + 4
}

fn eight_off() -> u64 {
    alloc(64) + 8
}

fn unregistered() -> u64 {
    let memory = Box::leak(Box::new([0u64; 64])).as_mut_ptr();
    ok!(cuMemHostRegister_v2(memory.cast(), 512, 0));
    ok!(cuMemHostUnregister(memory.cast()));
    memory.expose_provenance() as u64
}

fn read_only_host_memory() -> u64 {
    let memory = Box::leak(Box::new([0u64; 64])).as_mut_ptr();
    ok!(cuMemHostRegister_v2(memory.cast(), 512, 8));
    memory.expose_provenance() as u64
}

fn registered_end() -> u64 {
    let memory = Box::leak(Box::new([0u64; 64])).as_mut_ptr();
    ok!(cuMemHostRegister_v2(memory.cast(), 510, 0));
    memory.expose_provenance() as u64 + 508
}

pub(crate) fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut add = |kernel: Kernel| kinds.push(Kind::from(kernel));
    for (way, instruction, bytes, verb) in WAYS {
        let illegal = format!("illegal {verb} of global memory");
        let illegal = illegal.as_str();
        for (place, address, words) in [
            ("null", (|| 0) as fn() -> u64, "a null pointer"),
            ("freed", freed, illegal),
            (
                "past_the_end",
                past_the_end,
                "0 bytes past the end of the device allocation of 1008 bytes",
            ),
            (
                "straddling",
                if bytes == 4 { last_word } else { last_vector },
                "of 1006 bytes",
            ),
            ("before_the_start", before_the_start, illegal),
            ("far", || 0x6000_0000_0000, "0x600000000000"),
        ] {
            add(Kernel::new(format!("accesses::{way}_{place}"), instruction)
                .at(address)
                .fails(C::ILLEGAL_ADDRESS, &[illegal, words]));
        }
        let askew = if bytes == 4 { two_off } else { eight_off };
        add(
            Kernel::new(format!("accesses::{way}_misaligned"), instruction)
                .at(askew)
                .fails(
                    C::MISALIGNED_ADDRESS,
                    &[&format!("misaligned {verb} of global memory")],
                ),
        );
    }
    // Other widths.
    for (name, instruction, address, verb) in [
        (
            "two_bytes",
            "ld.global.u16 %h1, [%a];",
            odd as fn() -> u64,
            "read of 2 bytes",
        ),
        (
            "eight_bytes",
            "st.global.u64 [%a], %d1;",
            four_off,
            "write of 8 bytes",
        ),
        (
            "a_pair_of_words",
            "ld.global.v2.u32 {%r5, %r6}, [%a];",
            four_off,
            "read of 8 bytes",
        ),
        (
            "a_wide_atomic",
            "atom.global.exch.b64 %d1, [%a], %d2;",
            four_off,
            "atomic operation on 8 bytes",
        ),
        (
            "a_reduction",
            "red.global.add.f32 [%a], %f1;",
            two_off,
            "atomic operation on 4 bytes",
        ),
        (
            "through_a_generic_address",
            "st.v4.f32 [%a], {%f1, %f2, %f3, %f4};",
            eight_off,
            "write of 16 bytes",
        ),
    ] {
        add(
            Kernel::new(format!("accesses::misaligned_{name}"), instruction)
                .at(address)
                .fails(C::MISALIGNED_ADDRESS, &["misaligned", verb]),
        );
    }
    // Memory of others.
    for (name, instruction, address, words) in [
        (
            "of_the_host",
            "ld.u32 %r5, [%a];",
            host_memory as fn() -> u64,
            "not registered",
        ),
        (
            "of_another_context",
            "st.global.u32 [%a], 1;",
            of_another_context,
            "device allocation of 64 bytes",
        ),
        (
            "freed_in_stream_order",
            "st.global.u32 [%a], 1;",
            stream_ordered_and_freed,
            "illegal write",
        ),
        (
            "no_longer_registered",
            "ld.global.u32 %r5, [%a];",
            unregistered,
            "illegal read",
        ),
        (
            "registered_to_be_read",
            "st.global.u32 [%a], 1;",
            read_only_host_memory,
            "registered host memory",
        ),
        (
            "past_registered_memory",
            "ld.global.u32 %r5, [%a];",
            registered_end,
            "registered host memory of 510 bytes",
        ),
        (
            "wrapping_around",
            "ld.global.u64 %d1, [%a];",
            || u64::MAX - 7,
            "0xfffffffffffffff8",
        ),
        (
            "far_from_a_small_start",
            "mul.lo.u64 %d1, %q, 3; st.global.u8 [%d1], 1;",
            || 0,
            "illegal write of 1 bytes",
        ),
    ] {
        add(Kernel::new(format!("accesses::memory_{name}"), instruction)
            .at(address)
            .fails(C::ILLEGAL_ADDRESS, &[words]));
    }
    kinds
}
