//! Traps, assertions, calls of what is no function, and recursion without end.

use cuprum::driver::sys::CUresult;

use super::{Expected, PLACE, fails};
use crate::check::{Check, Failure, Report, Subject, check};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(a_trap, Faults),
        check!(a_trap_in_a_function, Faults),
        check!(a_failed_assertion, Faults),
        check!(a_call_through_a_null_pointer, Faults),
        check!(a_method_of_garbage, Faults, SoftwareOnly),
        check!(unbounded_recursion, Faults, SoftwareOnly),
        check!(recursion_through_a_pointer, Faults, SoftwareOnly),
    ]
}

/// Devices differ in how they end at a trap.
const TRAP: &[CUresult] = &[CUresult::LAUNCH_FAILED, CUresult::ILLEGAL_INSTRUCTION];

/// `__trap()`.
fn a_trap(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *)
        {
            if (blockIdx.x == 1 && threadIdx.x == 5) __trap();
        }
    "#;
    let expected = Expected {
        codes: TRAP,
        words: &["trap", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// `__trap()` in a function that is called.
fn a_trap_in_a_function(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        __device__ __noinline__ void refuse(unsigned reason)
        {
            if (reason == 5)
                __trap(); // here
        }
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x == 1) refuse(threadIdx.x + (p != nullptr));
        }
    "#;
    let expected = Expected {
        codes: TRAP,
        words: &["trap", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// `assert` of what is false.
fn a_failed_assertion(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        #include <assert.h>
        extern "C" __global__ void guilty(unsigned *)
        {
            assert(blockIdx.x == 0 || threadIdx.x != 5);
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::ASSERT],
        words: &["assertion failed", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A call through a null function pointer. GPUs may jump there and fail at the instruction that they find.
fn a_call_through_a_null_pointer(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        typedef void (*Function)(unsigned);
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            ((Function)p)(threadIdx.x); // here
        }
    "#;
    let expected = Expected {
        codes: &[
            CUresult::INVALID_PC,
            CUresult::ILLEGAL_ADDRESS,
            CUresult::ILLEGAL_INSTRUCTION,
            CUresult::LAUNCH_FAILED,
        ],
        words: &["call through 0x0, which is no function", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A virtual method of an object that nobody made.
fn a_method_of_garbage(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        struct Shape { virtual __device__ float area() const { return 1; } virtual __device__ ~Shape() {} float size; };
        struct Square : Shape { __device__ float area() const override { return size * size; } };
        __device__ unsigned memory[16];
        __device__ float sink;
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (p != nullptr) new (p) Square;
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            volatile unsigned long long *words = (unsigned long long *)memory;
            words[0] = (unsigned long long)(memory + 4);
            sink = ((Shape *)memory)->area(); // here
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::INVALID_PC],
        words: &["which is no function", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A function that calls itself without end.
fn unbounded_recursion(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        __device__ __noinline__ unsigned deeper(volatile unsigned *above, unsigned depth)
        {
            volatile unsigned frame[16];
            frame[depth % 16] = above[depth % 7] + depth;
            if (depth == 0xffffffffu) return 1;
            return deeper(frame, depth + 1) + frame[(depth + 3) % 16];
        }
        extern "C" __global__ void guilty(unsigned *)
        {
            volatile unsigned first[16];
            first[threadIdx.x % 16] = threadIdx.x;
            if (blockIdx.x == 1 && threadIdx.x == 5) first[0] = deeper(first, 0);
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::HARDWARE_STACK_ERROR],
        words: &["stack overflow", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// Two functions that call each other without end, one by its address.
fn recursion_through_a_pointer(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        typedef unsigned (*Function)(unsigned);
        __device__ unsigned ping(unsigned);
        __device__ __noinline__ unsigned pong(unsigned n) { return ping(n * 3 + 1) + n; }
        __device__ Function table[2] = {pong, ping};
        __device__ __noinline__ unsigned ping(unsigned n) { return table[n & 1](n + 1) * 5; }
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x == 1 && threadIdx.x == 5) { unsigned n = ping((unsigned)(unsigned long long)p); if (n == 1) *p = n; }
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::HARDWARE_STACK_ERROR],
        words: &["stack overflow", PLACE],
    };
    fails(subject, source, 0, &expected)
}
