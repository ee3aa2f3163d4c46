//! Page-locked memory and scopes: asynchronous copies that stay sound whatever is forgotten.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuprum::driver::ErrorKind;
use cuprum::prelude::{DeviceBuffer, LaunchConfig, PinnedBuffer};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::runner::{Kernels, equal, launch};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(round_trip),
        check!(host_access_waits_for_copies),
        // A tool that serialises calls would let other threads' calls wait for the host function while they keep this
        // one's out.
        check!(busy_memory_says_so, Alone),
        check!(copies_to_one_buffer_from_two_streams_are_ordered),
        check!(dropping_in_flight_is_sound),
        check!(forgetting_anything_is_sound),
        check!(a_scope_waits_for_its_copies),
        check!(a_scope_waits_when_it_panics),
        check!(blocking_copies_are_done_when_they_return),
    ]
}

/// Holds a stream up for a while, by a kernel that counts.
pub(crate) const SLOW: &str = r#"
extern "C" __global__ void slow(unsigned *out, int rounds)
{
    unsigned x = 1;
    for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
    if (threadIdx.x == 0) *out = x;
}
"#;

/// Rounds of [`SLOW`] that take some milliseconds on any device.
pub(crate) const ROUNDS: i32 = 2_000_000;

/// Copies through page-locked memory, of all lengths.
fn round_trip(subject: &Subject) -> Result<Report, Failure> {
    property(0usize..20_000, |len| {
        let stream = &subject.stream;
        let elements: Vec<u32> = (0..len as u32)
            .map(|i| i.wrapping_mul(2_654_435_761))
            .collect();
        let source = PinnedBuffer::from_slice(&subject.context, &elements)?;
        let mut target = PinnedBuffer::<u32>::zeros(&subject.context, len)?;
        let mut device = DeviceBuffer::<u32>::zeros(stream, len)?;
        device.copy_from_pinned(stream, &source)?;
        device.copy_to_pinned(stream, &mut target)?;
        equal("after the round trip", target.as_slice()?, &elements)?;
        Ok(())
    })
}

/// Writing to the source waits until it has been copied; reading the target waits until it has arrived (PR-30).
fn host_access_waits_for_copies(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SLOW)?;
    let stream = &subject.stream;
    let len = 50_000;
    let mut scratch = DeviceBuffer::<u32>::zeros(stream, 1)?;
    let mut device = DeviceBuffer::<u32>::zeros(stream, len)?;
    let mut host = PinnedBuffer::from_slice(&subject.context, &vec![1u32; len])?;
    for round in 1..6u32 {
        kernels.launch("slow", LaunchConfig::grid_1d(1, 1), (&mut scratch, ROUNDS))?;
        device.copy_from_pinned(stream, &host)?;
        // The copy has not run yet; this must wait for it.
        host.as_mut_slice()?.fill(round + 1);
        ensure!(
            device.to_vec()?.iter().all(|&value| value == round),
            "round {round}: the copy saw a later value"
        );
        kernels.launch("slow", LaunchConfig::grid_1d(1, 1), (&mut scratch, ROUNDS))?;
        device.fill(100 + round)?;
        device.copy_to_pinned(stream, &mut host)?;
        ensure!(
            host.as_slice()?.iter().all(|&value| value == 100 + round),
            "round {round}: read before it arrived"
        );
        host.as_mut_slice()?.fill(round + 1);
    }
    Ok(Report::exact(10))
}

/// Without waiting, memory that a copy still uses answers that it is busy; a reader does not exclude readers.
fn busy_memory_says_so(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SLOW)?;
    let stream = &subject.stream;
    let mut scratch = DeviceBuffer::<u32>::zeros(stream, 1)?;
    let mut device = DeviceBuffer::<u8>::zeros(stream, 100)?;
    let mut host = PinnedBuffer::from_slice(&subject.context, &[3u8; 100])?;
    // The stream is held up by a host function, which ends when it is told to.
    let (release, released) = std::sync::mpsc::channel::<()>();
    stream.launch_host(move || {
        let _ = released.recv_timeout(std::time::Duration::from_secs(20));
    })?;
    device.copy_from_pinned(stream, &host)?;
    let read = host.try_as_slice().map(<[u8]>::len);
    let write = host.try_as_mut_slice().map(|_| ());
    release
        .send(())
        .map_err(|_| Failure::new("the host function ended early"))?;
    ensure_eq!(read.ok(), Some(100), "reading what is only read");
    ensure_eq!(
        write.err().map(|error| error.kind()),
        Some(ErrorKind::Busy),
        "writing what is being read"
    );
    host.as_mut_slice()?[0] = 4;
    kernels.launch("slow", LaunchConfig::grid_1d(1, 1), (&mut scratch, 1))?;
    device.copy_to_pinned(stream, &mut host)?;
    stream.synchronize()?;
    ensure_eq!(
        host.try_as_slice()?[0],
        3,
        "the first element after the stream is idle"
    );
    Ok(Report::exact(3))
}

/// Two streams that write to the same page-locked memory do so in the order in which they were asked.
fn copies_to_one_buffer_from_two_streams_are_ordered(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SLOW)?;
    let (first, second) = (&subject.stream, subject.context.new_stream()?);
    let len = 20_000;
    let mut scratch = DeviceBuffer::<u32>::zeros(first, 1)?;
    let ones = DeviceBuffer::from_slice(first, &vec![1u32; len])?;
    let twos = DeviceBuffer::from_slice(&second, &vec![2u32; len])?;
    let mut host = PinnedBuffer::<u32>::zeros(&subject.context, len)?;
    for round in 0..10 {
        kernels.launch(
            "slow",
            LaunchConfig::grid_1d(1, 1),
            (&mut scratch, ROUNDS / 4),
        )?;
        ones.copy_to_pinned(first, &mut host)?;
        twos.copy_to_pinned(&second, &mut host)?;
        ensure!(
            host.as_slice()?.iter().all(|&value| value == 2),
            "round {round}: the later copy came first"
        );
    }
    Ok(Report::exact(10))
}

/// Dropping page-locked and device memory while copies of it are queued waits for nothing and harms nothing.
fn dropping_in_flight_is_sound(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SLOW)?;
    let stream = &subject.stream;
    let len = 30_000;
    let mut scratch = DeviceBuffer::<u32>::zeros(stream, 1)?;
    let mut kept = DeviceBuffer::<u32>::zeros(stream, len)?;
    for round in 1..20u32 {
        kernels.launch(
            "slow",
            LaunchConfig::grid_1d(1, 1),
            (&mut scratch, ROUNDS / 8),
        )?;
        let source = PinnedBuffer::from_slice(&subject.context, &vec![round; len])?;
        kept.copy_from_pinned(stream, &source)?;
        drop(source);
        // New page-locked memory, which must not be the old one while that is in use.
        let mut other = PinnedBuffer::<u32>::zeros(&subject.context, len)?;
        other.as_mut_slice()?.fill(u32::MAX);
        let mut target = PinnedBuffer::<u32>::zeros(&subject.context, len)?;
        kept.copy_to_pinned(stream, &mut target)?;
        drop(target);
        ensure!(
            kept.to_vec()?.iter().all(|&value| value == round),
            "round {round}: the dropped source was reused"
        );
    }
    Ok(Report::exact(19))
}

/// With every guard, view and handle forgotten, copies still read and write what they should and later work is right.
#[allow(
    clippy::mem_forget,
    clippy::forget_non_drop,
    forgetting_copy_types,
    reason = "that nothing relies on a destructor is what is checked"
)]
fn forgetting_anything_is_sound(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SLOW)?;
    let stream = &subject.stream;
    let len = 10_000;
    let mut scratch = DeviceBuffer::<u32>::zeros(stream, 1)?;
    let mut device = DeviceBuffer::<u32>::zeros(stream, len)?;
    for round in 1..5u32 {
        kernels.launch(
            "slow",
            LaunchConfig::grid_1d(1, 1),
            (&mut scratch, ROUNDS / 4),
        )?;
        let source = PinnedBuffer::from_slice(&subject.context, &vec![round; len])?;
        let mut view = device.view_mut();
        view.copy_from_pinned(stream, &source)?;
        std::mem::forget(view);
        std::mem::forget(source);
        let mut target = PinnedBuffer::<u32>::zeros(&subject.context, len)?;
        let shared = device.view();
        shared.copy_to_pinned(stream, &mut target)?;
        std::mem::forget(shared);
        ensure!(
            target.as_slice()?.iter().all(|&value| value == round),
            "round {round}: a forgotten source"
        );
        std::mem::forget(target);

        let host = vec![round + 100; len];
        let mut back = vec![0; len];
        subject.context.scope(|scope| {
            scope.copy_to_device(stream, &host, device.view_mut())?;
            scope.copy_to_host(stream, device.view(), &mut back)?;
            // What a caller can hold of a scope is a reference; forgetting a copy of it, a clone of the stream and a
            // new stream changes nothing.
            std::mem::forget((scope, stream.clone()));
            Ok(())
        })?;
        ensure!(
            back.iter().all(|&value| value == round + 100),
            "round {round}: the scope did not wait"
        );
        std::mem::forget(stream.record()?);
        std::mem::forget(kernels.function("slow")?);
    }
    std::mem::forget(device.try_clone()?);
    subject.context.synchronize()?;
    Ok(Report::exact(8))
}

/// Copies of borrowed slices are over when the scope ends.
fn a_scope_waits_for_its_copies(subject: &Subject) -> Result<Report, Failure> {
    let slow = Kernels::new(subject, SLOW)?.function("slow")?;
    let (first, second) = (&subject.stream, subject.context.new_stream()?);
    let len = 40_000;
    let mut scratch = DeviceBuffer::<u32>::zeros(first, 1)?;
    let mut device = DeviceBuffer::<u32>::zeros(first, len)?;
    for round in 1..6u32 {
        let source = vec![round; len];
        let mut targets = [vec![0u32; len], vec![0u32; len]];
        subject.context.scope(|scope| {
            launch(
                &slow,
                first,
                LaunchConfig::grid_1d(1, 1),
                (&mut scratch, ROUNDS / 2),
            )?;
            scope.copy_to_device(first, &source, device.view_mut())?;
            let [one, two] = &mut targets;
            scope.copy_to_host(first, device.view(), one)?;
            // On another stream: ordered after the copy to the device by the memory used.
            scope.copy_to_host(&second, device.view(), two)
        })?;
        for target in &targets {
            ensure!(
                target.iter().all(|&value| value == round),
                "round {round}: read before the copy was over"
            );
        }
    }
    Ok(Report::exact(10))
}

/// A panic inside a scope still waits for the copies queued there, before the slices can be touched again.
fn a_scope_waits_when_it_panics(subject: &Subject) -> Result<Report, Failure> {
    struct Quiet;
    let kernels = Kernels::new(subject, SLOW)?;
    let stream = &subject.stream;
    let len = 40_000;
    let mut scratch = DeviceBuffer::<u32>::zeros(stream, 1)?;
    let device = DeviceBuffer::from_slice(stream, &vec![9u32; len])?;
    for round in 0..4 {
        kernels.launch("slow", LaunchConfig::grid_1d(1, 1), (&mut scratch, ROUNDS))?;
        let mut target = vec![0u32; len];
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            subject.context.scope(|scope| {
                scope.copy_to_host(stream, device.view(), &mut target)?;
                // Unwinds without a message on standard error.
                std::panic::resume_unwind(Box::new(Quiet));
                #[allow(unreachable_code, reason = "gives the closure its type")]
                Ok(())
            })
        }));
        ensure!(
            outcome.is_err_and(|payload| payload.is::<Quiet>()),
            "the panic did not come through"
        );
        ensure!(
            target.iter().all(|&value| value == 9),
            "round {round}: the scope did not wait on unwind"
        );
    }
    Ok(Report::exact(4))
}

/// A blocking copy from ordinary memory has taken its source when it returns, also before a kernel on a stream of its
/// own (PR-30).
fn blocking_copies_are_done_when_they_return(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
           { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }"#,
    )?;
    let len = 20_000;
    let mut sums = DeviceBuffer::<f32>::zeros(&subject.stream, len)?;
    for round in 0..50u16 {
        let mut host = vec![f32::from(round); len];
        let a = DeviceBuffer::from_slice(&subject.stream, &host)?;
        host.fill(-1.0);
        let b = DeviceBuffer::from_slice(&subject.context.new_stream()?, &vec![0.5f32; len])?;
        kernels.launch(
            "add",
            LaunchConfig::for_elements(len),
            (&a, &b, &mut sums, len as i32),
        )?;
        let want = f32::from(round) + 0.5;
        ensure!(
            sums.to_vec()?.iter().all(|&value| value == want),
            "round {round}"
        );
    }
    Ok(Report::exact(50))
}
