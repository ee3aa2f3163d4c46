//! Streams and events: order where it is owed, independence where it is not.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cuprum::driver::ErrorKind;
use cuprum::prelude::{DeviceBuffer, LaunchConfig};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::{Kernels, equal, launch};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(work_on_two_streams_keeps_its_order),
        check!(disjoint_halves_are_both_right),
        check!(events_pass_and_measure),
        // A tool that serialises calls would let other threads' calls wait for the gate while they keep this one's out.
        check!(an_unfinished_event_says_so, Alone),
        check!(host_functions_run_in_order),
        check!(threads_share_a_context),
    ]
}

/// `step` adds 1 to each element after a while, `double` doubles it.
const SOURCE: &str = r#"
extern "C" __global__ void step(unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned k = 1;
    for (int r = 0; r < 20000; ++r) k = k * 1664525u + 1013904223u;
    x[i] += 1 + (k == 0);
}
extern "C" __global__ void twice(unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
extern "C" __global__ void copy(const unsigned *x, unsigned *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}"#;

/// A slow write on one stream is seen by reads and writes on another, and a read is not overtaken by a later write.
fn work_on_two_streams_keeps_its_order(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (step, twice, copy) = (
        kernels.function("step")?,
        kernels.function("twice")?,
        kernels.function("copy")?,
    );
    let (a, b) = (&subject.stream, &subject.context.new_stream()?);
    let n = 300;
    let config = LaunchConfig::for_elements(n);
    let mut x = DeviceBuffer::<u32>::zeros(a, n)?;
    let mut y = DeviceBuffer::<u32>::zeros(b, n)?;
    let mut want = 0u32;
    for round in 0..20 {
        launch(&step, a, config, (&mut x, n as i32))?;
        launch(&copy, b, config, (&x, &mut y, n as i32))?;
        launch(&twice, a, config, (&mut x, n as i32))?;
        want = want.wrapping_add(1);
        equal(
            &format!("round {round}, read on the other stream"),
            &y.to_vec()?,
            &vec![want; n],
        )?;
        want = want.wrapping_mul(2);
        launch(&step, b, config, (&mut x, n as i32))?;
        want = want.wrapping_add(1);
        equal(
            &format!("round {round}, written in turn"),
            &x.to_vec()?,
            &vec![want; n],
        )?;
    }
    Ok(Report::exact(40))
}

/// Two streams work on the halves of one buffer; both are right, in whatever order they end.
fn disjoint_halves_are_both_right(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (step, twice) = (kernels.function("step")?, kernels.function("twice")?);
    let other = subject.context.new_stream()?;
    let n = 512;
    let mut x = DeviceBuffer::<u32>::from_slice(&subject.stream, &vec![1; 2 * n])?;
    for _ in 0..5 {
        let (mut left, mut right) = x.split_at_mut(n);
        launch(
            &step,
            &subject.stream,
            LaunchConfig::for_elements(n),
            (&mut left, n as i32),
        )?;
        launch(
            &twice,
            &other,
            LaunchConfig::for_elements(n),
            (&mut right, n as i32),
        )?;
    }
    let want: Vec<u32> = [vec![6; n], vec![32; n]].concat();
    equal("halves", &x.to_vec()?, &want)?;
    Ok(Report::exact(2 * n as u64))
}

/// The time between two events around a slow kernel is positive and within what the host saw (PR-40).
fn events_pass_and_measure(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let mut x = kernels.zeros::<u32>(1000)?;
    let config = LaunchConfig::for_elements(1000);
    kernels.launch("step", config, (&mut x, 1000i32))?;
    subject.stream.synchronize()?;
    let host = Instant::now();
    let start = subject.stream.record()?;
    kernels.launch("step", config, (&mut x, 1000i32))?;
    let end = subject.stream.record()?;
    end.synchronize()?;
    let host = host.elapsed();
    let device = end.elapsed_since(&start)?;
    ensure!(
        start.is_done()? && end.is_done()?,
        "an event that was waited for has not passed"
    );
    ensure!(!device.is_zero(), "a kernel took no time");
    ensure!(
        device <= host,
        "the device took {device:?}, of {host:?} on the host"
    );
    Ok(Report::exact(3))
}

/// An event whose work still runs answers busy, not a wrong time (PR-40).
fn an_unfinished_event_says_so(subject: &Subject) -> Result<Report, Failure> {
    let (gate, stream) = (Arc::new(Mutex::new(())), &subject.stream);
    let start = stream.record()?;
    let held = gate.lock().map_err(|_| Failure::new("the gate broke"))?;
    let waiting = Arc::clone(&gate);
    stream.launch_host(move || drop(waiting.lock()))?;
    let end = stream.record()?;
    let answer = (end.is_done(), end.elapsed_since(&start));
    drop(held);
    stream.synchronize()?;
    ensure!(!answer.0?, "an event passed before the work ahead of it");
    match answer.1 {
        Err(error) => ensure_eq!(
            error.kind(),
            ErrorKind::Busy,
            "the answer for an event that has not passed"
        ),
        Ok(time) => {
            return Err(Failure::new(format!(
                "an event that has not passed measured {time:?}"
            )));
        }
    }
    ensure!(end.is_done()?, "the event did not pass after its work");
    Ok(Report::exact(3))
}

/// Host functions run after what was queued before them, one after the other.
fn host_functions_run_in_order(subject: &Subject) -> Result<Report, Failure> {
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..50u32 {
        let order = Arc::clone(&order);
        subject.stream.launch_host(move || {
            if let Ok(mut order) = order.lock() {
                order.push(number);
            }
        })?;
    }
    subject.stream.synchronize()?;
    let order = order
        .lock()
        .map_err(|_| Failure::new("a host function panicked"))?;
    equal("order", &order, &(0..50).collect::<Vec<_>>())?;
    Ok(Report::exact(50))
}

/// Eight threads with a stream and buffers each, on one context.
fn threads_share_a_context(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let step = kernels.function("step")?;
    let finished = AtomicU32::new(0);
    let work = &|seed: u32| -> Result<(), Failure> {
        let stream = subject.context.new_stream()?;
        for round in 0..10 {
            let n = 50 + seed as usize;
            let mut x = DeviceBuffer::from_slice(&stream, &vec![seed + round; n])?;
            launch(
                &step,
                &stream,
                LaunchConfig::for_elements(n),
                (&mut x, n as i32),
            )?;
            equal(
                "a thread's own buffer",
                &x.to_vec()?,
                &vec![seed + round + 1; n],
            )?;
        }
        finished.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|t| scope.spawn(move || work(100 * t))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| Failure::new("a thread panicked"))?
        })
    })?;
    ensure_eq!(finished.load(Ordering::Relaxed), 8, "threads that finished");
    Ok(Report::exact(80))
}
