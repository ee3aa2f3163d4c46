//! Device code that fails: the error tells what and where, takes its context along, and nothing else.
//!
//! CUDA C++ on every device, with the codes that its documentation allows; many more kinds, in PTX, are tests of the
//! software device itself.
//!
//! The kernels here fail on purpose, so each check runs in a process of its own (see [`Tag::Faults`]).
//!
//! [`Tag::Faults`]: crate::Tag::Faults

mod accesses;
mod calls;
mod heap;
mod spaces;
mod waiting;

use cuprum::driver::sys::CUresult;
use cuprum::driver::{DevicePtr, Error, ErrorKind};
use cuprum::prelude::{DeviceBuffer, LaunchConfig, PinnedBuffer, SourceModule};

use crate::check::{Check, Failure, Report, Subject, ensure, ensure_eq};
use crate::runner::{Kernels, equal, launch};

pub(crate) fn checks() -> Vec<Check> {
    [
        accesses::checks(),
        spaces::checks(),
        calls::checks(),
        waiting::checks(),
        heap::checks(),
    ]
    .concat()
}

/// What the software device says of the thread that kernels here fail in, as a rule: one of the second block.
const PLACE: &str = "block (1, 0, 0), thread (5, 0, 0)";

/// The comment that ends the line at fault.
const HERE: &str = "// here";

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
    // The software device tells the line, if it is told about lines.
    let lines = SourceModule::builder(source)
        .file_name("guilty.cu")
        .option("-lineinfo");
    let kernels = Kernels::build(subject, lines)?;
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
        if let Some(before) = source.find(HERE) {
            let line = format!("guilty.cu:{} (PTX line ", source[..before].lines().count());
            ensure!(text.contains(&line), "`{line}` is not in: {text}");
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
