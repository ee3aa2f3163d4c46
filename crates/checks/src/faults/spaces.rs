//! State spaces: shared memory beyond its end, and operations that a space does not have.

use cuprum::driver::sys::CUresult;

use super::{Expected, PLACE, fails};
use crate::check::{Check, Failure, Report, Subject, check};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(far_beyond_shared_memory, Faults),
        check!(a_misaligned_access_of_shared_memory, Faults),
        check!(an_atomic_on_a_local_variable, Faults),
        check!(just_beyond_shared_memory, Faults, SoftwareOnly),
        check!(beyond_a_local_array, Faults, SoftwareOnly),
        check!(a_write_to_a_constant, Faults, SoftwareOnly),
    ]
}

/// A store megabytes beyond the shared memory of the block. The documentation gives it to one code, current GPUs to
/// another.
fn far_beyond_shared_memory(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            __shared__ unsigned table[64];
            table[threadIdx.x] = threadIdx.x;
            __syncthreads();
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            volatile unsigned *far = table + (1 << 22) + (p != nullptr);
            *far = 1; // here
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS, CUresult::LAUNCH_FAILED],
        words: &["illegal write of 4 bytes of shared memory", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A double at a multiple of 4 in shared memory.
fn a_misaligned_access_of_shared_memory(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            __shared__ alignas(16) unsigned table[64];
            table[threadIdx.x] = threadIdx.x;
            __syncthreads();
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            volatile double *odd = (double *)(table + 1 + 2 * (p != nullptr));
            *odd = 1; // here
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::MISALIGNED_ADDRESS],
        words: &["misaligned write of 8 bytes", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// `atomicAdd` on a local variable.
fn an_atomic_on_a_local_variable(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        __device__ __noinline__ void add(unsigned *to) {
            asm volatile("red.add.u32 [%0], 1;" :: "l"(to) : "memory"); // here
        }
        extern "C" __global__ void guilty(unsigned *p)
        {
            unsigned local[4] = {threadIdx.x, blockIdx.x, 3, 4};
            if (blockIdx.x == 1 && threadIdx.x == 5) add(local + (p != nullptr));
            if (local[0] == 77) *p = local[1];
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::INVALID_ADDRESS_SPACE],
        words: &["local memory", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A store to the first element behind the shared memory of the block, which the software device keeps exactly.
fn just_beyond_shared_memory(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            __shared__ unsigned table[60];
            if (blockIdx.x == 1 && threadIdx.x != 5) return;
            volatile unsigned *place = table + (blockIdx.x == 1 ? 60 : 0) + (p != nullptr);
            *place = 1; // here
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &[
            "of shared memory at offset 0xf0, which has 240 bytes",
            PLACE,
        ],
    };
    fails(subject, source, 0, &expected)
}

/// An index far beyond a local array.
fn beyond_a_local_array(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            volatile unsigned local[8];
            for (int i = 0; i < 8; ++i) local[i] = i;
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            unsigned long long far = 100000 + (unsigned long long)p;
            local[far] = 1; // here
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &["of local memory", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A store to a `__constant__` variable through a pointer.
fn a_write_to_a_constant(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        __constant__ unsigned table[4] = {1, 2, 3, 4};
        // The compiler must not see what is written to: it would refuse, or trap.
        __device__ unsigned *hidden = (unsigned *)table;
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            hidden[p != nullptr] = 7; // here
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &[
            "which is constant memory",
            "module constant of 16 bytes",
            PLACE,
        ],
    };
    fails(subject, source, 0, &expected)
}
