//! The device-side heap: pointers that `malloc` did not give. GPUs leave these undefined.

use cuprum::driver::sys::CUresult;

use super::{Expected, PLACE, fails};
use crate::check::{Check, Failure, Report, Subject, check};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(a_double_free, Faults, SoftwareOnly),
        check!(a_store_to_freed_heap_memory, Faults, SoftwareOnly),
        check!(a_store_past_a_block_of_the_heap, Faults, SoftwareOnly),
    ]
}

const ILLEGAL: &[CUresult] = &[CUresult::ILLEGAL_ADDRESS];

/// `free` of what has been freed.
fn a_double_free(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            void *block = malloc(100);
            free(block);
            free(block); // here
        }
    "#;
    let expected = Expected {
        codes: ILLEGAL,
        words: &["which is free already", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A store to a block that has been freed.
fn a_store_to_freed_heap_memory(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            volatile unsigned *block = (unsigned *)malloc(4096);
            block[1000] = 1;
            free((void *)block);
            block[1000] = 2; // here
        }
    "#;
    let expected = Expected {
        codes: ILLEGAL,
        words: &["illegal write of 4 bytes", PLACE],
    };
    fails(subject, source, 0, &expected)
}

/// A store just past a block.
fn a_store_past_a_block_of_the_heap(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x != 1 || threadIdx.x != 5) return;
            volatile unsigned *block = new unsigned[25];
            for (int i = 0; i <= 25; ++i)
                block[i] = i; // here
        }
    "#;
    let expected = Expected {
        codes: ILLEGAL,
        words: &[
            "0 bytes past the end of the device-side malloc of 100 bytes",
            PLACE,
        ],
    };
    fails(subject, source, 0, &expected)
}
