//! Global memory: null, far, freed, beyond either end, and misaligned.

use std::sync::Arc;

use cuprum::driver::DirectAllocator;
use cuprum::driver::sys::CUresult;
use cuprum::prelude::DeviceBuffer;

use super::{Expected, PLACE, fails};
use crate::check::{Check, Failure, Report, Subject, check};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(a_store_to_null, Faults),
        check!(a_load_from_null, Faults),
        check!(an_atomic_on_null, Faults),
        check!(a_vector_load_from_null, Faults),
        check!(a_member_of_a_null_structure, Faults),
        check!(a_store_to_a_far_address, Faults),
        check!(a_misaligned_store, Faults),
        check!(a_misaligned_double, Faults),
        check!(a_misaligned_vector_load, Faults),
        check!(a_misaligned_atomic, Faults),
        check!(a_store_past_the_end, Faults, SoftwareOnly),
        check!(a_vector_store_across_the_end, Faults, SoftwareOnly),
        check!(an_atomic_past_the_end, Faults, SoftwareOnly),
        check!(a_load_before_the_start, Faults, SoftwareOnly),
        check!(use_of_freed_memory, Faults, SoftwareOnly),
    ]
}

/// A kernel in which one thread of the second block does something with `p`.
macro_rules! one_thread {
    ($body:literal) => {
        concat!(
            "extern \"C\" __global__ void guilty(unsigned *p)\n{\n    if (blockIdx.x != 1 || threadIdx.x != 5) return;\n    ",
            $body,
            " // here\n}\n"
        )
    };
}

const STORE: &str = one_thread!("*p = 1;");

fn illegal(words: &'static [&'static str]) -> Expected {
    Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words,
    }
}

fn misaligned(words: &'static [&'static str]) -> Expected {
    Expected {
        codes: &[CUresult::MISALIGNED_ADDRESS],
        words,
    }
}

/// A buffer of `len` words that is alone in its allocation.
fn alone(subject: &Subject, len: usize) -> Result<DeviceBuffer<u32>, Failure> {
    subject
        .context
        .set_allocator(Some(Arc::new(DirectAllocator)));
    Ok(DeviceBuffer::zeros(&subject.stream, len)?)
}

/// A store through a null pointer.
fn a_store_to_null(subject: &Subject) -> Result<Report, Failure> {
    fails(
        subject,
        STORE,
        0,
        &illegal(&["illegal write of 4 bytes", "a null pointer", PLACE]),
    )
}

/// A load through a null pointer, whose result is used.
fn a_load_from_null(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        __device__ unsigned sink;
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            sink = *p; // here
        }
    "#;
    fails(
        subject,
        source,
        0,
        &illegal(&["illegal read of 4 bytes", PLACE]),
    )
}

/// `atomicAdd` through a null pointer.
fn an_atomic_on_null(subject: &Subject) -> Result<Report, Failure> {
    fails(
        subject,
        one_thread!("atomicAdd(p, 1u);"),
        0,
        &illegal(&["illegal atomic operation on 4 bytes", PLACE]),
    )
}

/// A load of 16 bytes through a null pointer.
fn a_vector_load_from_null(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        __device__ uint4 sink;
        extern "C" __global__ void guilty(const uint4 *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            sink = *p; // here
        }
    "#;
    fails(
        subject,
        source,
        0,
        &illegal(&["illegal read of 16 bytes", PLACE]),
    )
}

/// A member of what a null pointer points to, which lies a little past it.
fn a_member_of_a_null_structure(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        struct Node { double weight[40]; int count; };
        extern "C" __global__ void guilty(Node *node)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            node->count = 3; // here
        }
    "#;
    fails(
        subject,
        source,
        0,
        &illegal(&["at 0x140", "a null pointer", PLACE]),
    )
}

/// A store to an address that no allocation is near.
fn a_store_to_a_far_address(subject: &Subject) -> Result<Report, Failure> {
    fails(
        subject,
        STORE,
        0x6000_0000_0000,
        &illegal(&["illegal write of 4 bytes", "0x600000000000", PLACE]),
    )
}

/// A store of 4 bytes inside an allocation, at an address that is no multiple of 4.
fn a_misaligned_store(subject: &Subject) -> Result<Report, Failure> {
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 100)?;
    let expected = misaligned(&["misaligned write of 4 bytes", PLACE]);
    fails(subject, STORE, buffer.address() + 2, &expected)
}

/// A store of 8 bytes at a multiple of 4.
fn a_misaligned_double(subject: &Subject) -> Result<Report, Failure> {
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 100)?;
    let expected = misaligned(&["misaligned write of 8 bytes", PLACE]);
    fails(
        subject,
        one_thread!("*(double *)p = 1.5;"),
        buffer.address() + 4,
        &expected,
    )
}

/// A load of 16 bytes at a multiple of 8.
fn a_misaligned_vector_load(subject: &Subject) -> Result<Report, Failure> {
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 100)?;
    let source = r#"
        __device__ float4 sink;
        extern "C" __global__ void guilty(const float4 *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            sink = *p; // here
        }
    "#;
    let expected = misaligned(&["misaligned read of 16 bytes", PLACE]);
    fails(subject, source, buffer.address() + 8, &expected)
}

/// An atomic operation on 8 bytes at a multiple of 4.
fn a_misaligned_atomic(subject: &Subject) -> Result<Report, Failure> {
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 100)?;
    let expected = misaligned(&["misaligned atomic operation on 8 bytes", PLACE]);
    fails(
        subject,
        one_thread!("atomicAdd((unsigned long long *)p, 1ull);"),
        buffer.address() + 4,
        &expected,
    )
}

/// A store to the first element behind a buffer.
fn a_store_past_the_end(subject: &Subject) -> Result<Report, Failure> {
    let buffer = alone(subject, 1024)?;
    let expected = illegal(&[
        "illegal write of 4 bytes",
        "0 bytes past the end of the device allocation of 4096 bytes",
        PLACE,
    ]);
    fails(subject, STORE, buffer.address() + 4096, &expected)
}

/// A store of 16 bytes of which the buffer holds 8.
fn a_vector_store_across_the_end(subject: &Subject) -> Result<Report, Failure> {
    let buffer = alone(subject, 1026)?;
    let expected = illegal(&["illegal write of 16 bytes", "of 4104 bytes", PLACE]);
    fails(
        subject,
        one_thread!("*(uint4 *)p = make_uint4(1, 2, 3, 4);"),
        buffer.address() + 4096,
        &expected,
    )
}

/// An atomic operation on the first element behind a buffer.
fn an_atomic_past_the_end(subject: &Subject) -> Result<Report, Failure> {
    let buffer = alone(subject, 10)?;
    let expected = illegal(&["illegal atomic operation on 4 bytes", PLACE]);
    fails(
        subject,
        one_thread!("atomicMax(p, 7u);"),
        buffer.address() + 40,
        &expected,
    )
}

/// A load of the element in front of a buffer.
fn a_load_before_the_start(subject: &Subject) -> Result<Report, Failure> {
    let buffer = alone(subject, 1024)?;
    let expected = illegal(&["illegal read of 4 bytes", PLACE]);
    fails(
        subject,
        one_thread!("p[0] = p[-1];"),
        buffer.address(),
        &expected,
    )
}

/// A store to memory that has been given back.
fn use_of_freed_memory(subject: &Subject) -> Result<Report, Failure> {
    // Larger than anything allocated later, so that nothing comes to lie there.
    let buffer = alone(subject, 4 << 20)?;
    let address = buffer.address() + (8 << 20);
    buffer.close()?;
    subject.context.synchronize()?;
    subject.context.collect()?;
    let expected = illegal(&["illegal write of 4 bytes", "in freed memory", PLACE]);
    fails(subject, STORE, address, &expected)
}
