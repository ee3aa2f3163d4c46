//! Device code that fails: the error tells what and where, takes its context along, and nothing else.
//!
//! The kernels here fail on purpose, so each check runs in a process of its own (see [`Tag::Faults`]).
//!
//! [`Tag::Faults`]: crate::Tag::Faults

use std::sync::Arc;

use cuprum::driver::sys::CUresult;
use cuprum::driver::{DevicePtr, DirectAllocator, Error, ErrorKind};
use cuprum::prelude::{DeviceBuffer, LaunchConfig, PinnedBuffer, SourceModule};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::{Kernels, equal, launch};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(a_store_to_null, Faults),
        check!(a_store_to_a_far_address, Faults),
        check!(a_misaligned_store, Faults),
        check!(a_trap, Faults),
        check!(a_failed_assertion, Faults),
        check!(a_store_past_the_end, Faults, SoftwareOnly),
        check!(a_load_before_the_start, Faults, SoftwareOnly),
        check!(use_of_freed_memory, Faults, SoftwareOnly),
        check!(unbounded_recursion, Faults, SoftwareOnly),
        check!(barriers_that_wait_for_each_other, Faults, SoftwareOnly),
    ]
}

/// Stores where it is told to, from one thread of the second block.
const STORE: &str = r#"
extern "C" __global__ void guilty(unsigned *p)
{
    if (blockIdx.x == 1 && threadIdx.x == 5) *p = 1;
}
"#;

/// What the software device says of the thread that [`STORE`] and others fail in.
const PLACE: &str = "block (1, 0, 0), thread (5, 0, 0)";

/// How a kernel fails.
struct Expected {
    /// The result codes that are documented for it: where there are several, devices differ.
    codes: &'static [CUresult],
    /// What the software device's account of it holds, besides the kernel's name.
    words: &'static [&'static str],
}

/// Runs the kernel `guilty` of `source` on 2 blocks of 64 threads, with `address`, and looks at everything that
/// follows (PR-33).
fn fails(
    subject: &Subject,
    source: &str,
    address: u64,
    expected: &Expected,
) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    let software = subject.device.is_software();
    let kernels = Kernels::new(subject, source)?;
    let guilty = kernels.function("guilty")?;

    // What lives on beyond the fault.
    let other_stream = context.new_stream()?;
    let mut buffer = DeviceBuffer::from_slice(stream, &[7u32; 1000])?;
    let other = DeviceBuffer::from_slice(&other_stream, &[8u32; 1000])?;
    let mut pinned = PinnedBuffer::<u32>::zeros(context, 1000)?;
    buffer.copy_to_pinned(stream, &mut pinned)?;
    let event = stream.record()?;
    context.synchronize()?;
    ensure!(!context.is_lost(), "the context is lost before the fault");

    // SAFETY: it is not safe, on purpose: the kernel fails, in a process that no other check runs in. The device
    // answers a failing kernel by ending the context; what is read afterwards are error codes, and host memory that
    // no kernel was given.
    let launched =
        unsafe { guilty.launch(stream, LaunchConfig::grid_1d(2, 64), (DevicePtr(address),)) };
    let error = launched
        .and_then(|()| stream.synchronize())
        .err()
        .ok_or_else(|| Failure::new("the kernel did not fail"))?;
    let text = error.to_string();
    ensure!(error.is_fatal(), "the error is not fatal: {text}");
    ensure_eq!(error.kind(), ErrorKind::Fault, "kind of: {text}");
    let code = error
        .code()
        .ok_or_else(|| Failure::new(format!("the error has no code: {text}")))?;
    ensure!(
        expected.codes.contains(&code),
        "the code is {code:?}, want one of {:?}: {text}",
        expected.codes
    );
    ensure!(
        text.contains("guilty"),
        "the error does not name the kernel: {text}"
    );
    if software {
        for word in expected.words {
            ensure!(text.contains(word), "`{word}` is not in: {text}");
        }
    }
    ensure!(context.is_lost(), "the context is not lost");

    // Whatever is asked of the context from now on fails too.
    let later: [(&str, Result<(), Error>); 8] = [
        ("a fill", buffer.fill(1)),
        ("a copy to the host", buffer.to_vec().map(drop)),
        ("a copy from another stream", other.to_vec().map(drop)),
        (
            "an allocation",
            DeviceBuffer::<u8>::zeros(stream, 5000).map(drop),
        ),
        ("recording an event", stream.record().map(drop)),
        ("waiting for a stream", other_stream.synchronize()),
        ("waiting for the context", context.synchronize()),
        (
            "a launch",
            launch(
                &guilty,
                &other_stream,
                LaunchConfig::grid_1d(1, 1),
                (DevicePtr(0),),
            )
            .and_then(|()| other_stream.synchronize()),
        ),
    ];
    for (what, outcome) in later {
        match outcome {
            Ok(()) => return Err(Failure::new(format!("{what} succeeded after the fault"))),
            Err(error) => ensure!(error.is_fatal(), "{what}: not fatal: {error}"),
        }
    }

    // Dropping is no error: a panic here would fail the check.
    drop(buffer);
    drop(event);
    drop((guilty, kernels));
    drop(pinned);
    drop(other_stream);
    drop(other);

    if software {
        works_again(subject)?;
    }
    Ok(Report::exact(16))
}

/// A software device gives a new context after a fault, and computes in it.
fn works_again(subject: &Subject) -> Result<(), Failure> {
    let context = subject.device.context()?;
    ensure!(!context.is_lost(), "the new context is lost already");
    let stream = context.new_stream()?;
    let module = SourceModule::new(
        &context,
        r#"extern "C" __global__ void triple(unsigned *x, int n)
           { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 3; }"#,
    )?;
    let host: Vec<u32> = (0..3000).collect();
    let mut buffer = DeviceBuffer::from_slice(&stream, &host)?;
    launch(
        &module.function("triple")?,
        &stream,
        LaunchConfig::for_elements(host.len()),
        (&mut buffer, 3000),
    )?;
    let want: Vec<u32> = host.iter().map(|value| value * 3).collect();
    equal("in the new context", &buffer.to_vec()?, &want)?;
    Ok(())
}

/// A store through a null pointer.
fn a_store_to_null(subject: &Subject) -> Result<Report, Failure> {
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &["illegal write of 4 bytes", PLACE],
    };
    fails(subject, STORE, 0, &expected)
}

/// A store to an address that no allocation is near.
fn a_store_to_a_far_address(subject: &Subject) -> Result<Report, Failure> {
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &["illegal write of 4 bytes", "0x600000000000", PLACE],
    };
    fails(subject, STORE, 0x6000_0000_0000, &expected)
}

/// A store of 4 bytes inside an allocation, at an address that is no multiple of 4.
fn a_misaligned_store(subject: &Subject) -> Result<Report, Failure> {
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 100)?;
    let expected = Expected {
        codes: &[CUresult::MISALIGNED_ADDRESS],
        words: &["misaligned write of 4 bytes", PLACE],
    };
    fails(subject, STORE, buffer.address() + 2, &expected)
}

/// `__trap()`.
fn a_trap(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *)
        {
            if (blockIdx.x == 1 && threadIdx.x == 5) __trap();
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::LAUNCH_FAILED, CUresult::ILLEGAL_INSTRUCTION],
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

/// A store to the first element behind a buffer.
fn a_store_past_the_end(subject: &Subject) -> Result<Report, Failure> {
    subject
        .context
        .set_allocator(Some(Arc::new(DirectAllocator)));
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 1024)?;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &["illegal write of 4 bytes", PLACE],
    };
    fails(subject, STORE, buffer.address() + 4 * 1024, &expected)
}

/// A load of the element in front of a buffer.
fn a_load_before_the_start(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *p)
        {
            if (blockIdx.x == 1 && threadIdx.x == 5) p[0] = p[-1];
        }
    "#;
    subject
        .context
        .set_allocator(Some(Arc::new(DirectAllocator)));
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 1024)?;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &["illegal read of 4 bytes", PLACE],
    };
    fails(subject, source, buffer.address(), &expected)
}

/// A store to memory that has been given back.
fn use_of_freed_memory(subject: &Subject) -> Result<Report, Failure> {
    subject
        .context
        .set_allocator(Some(Arc::new(DirectAllocator)));
    // Larger than anything allocated later, so that nothing comes to lie there.
    let buffer = DeviceBuffer::<u32>::zeros(&subject.stream, 4 << 20)?;
    let address = buffer.address() + (8 << 20);
    buffer.close()?;
    subject.context.synchronize()?;
    subject.context.collect()?;
    let expected = Expected {
        codes: &[CUresult::ILLEGAL_ADDRESS],
        words: &["illegal write of 4 bytes", PLACE],
    };
    fails(subject, STORE, address, &expected)
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

/// Two warps of a block, each at a barrier that the other never comes to.
fn barriers_that_wait_for_each_other(subject: &Subject) -> Result<Report, Failure> {
    let source = r#"
        extern "C" __global__ void guilty(unsigned *)
        {
            if (blockIdx.x != 1) return;
            if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");
            else asm volatile("bar.sync 2, 64;" ::: "memory");
        }
    "#;
    let expected = Expected {
        codes: &[CUresult::LAUNCH_FAILED],
        words: &["deadlock in block (1, 0, 0)"],
    };
    fails(subject, source, 0, &expected)
}
