//! Device memory: copies, views, fills, and that nothing is lost.

use std::fmt::Debug;
use std::sync::Arc;

use cuprum::driver::{DeviceCopy, DirectAllocator, ErrorKind};
use cuprum::prelude::DeviceBuffer;
use proptest::prelude::{Strategy as _, any};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::data::Random;
use crate::runner::equal;

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(round_trip),
        check!(views_address_their_elements),
        check!(disjoint_halves_are_written_apart),
        check!(fills_of_every_element_size),
        check!(copies_on_the_device),
        check!(copies_of_unequal_lengths_are_refused),
        check!(nothing_is_a_normal_length),
        check!(memory_info_counts, Alone),
        check!(out_of_memory_is_an_error_and_loses_nothing, Alone),
        check!(drops_in_any_order_leave_nothing, Alone),
        check!(buffers_move_between_threads),
        check!(raw_calls_of_size_zero_are_invalid),
    ]
}

/// Elements whose bytes all differ from their neighbours'.
fn pattern<T>(len: usize, of: impl Fn(u64) -> T) -> Vec<T> {
    let mut random = Random::new(len as u64);
    random.vec(len, |random| of(random.u64()))
}

fn round_trip_of<T: DeviceCopy + PartialEq + Debug>(
    subject: &Subject,
    host: &[T],
) -> Result<(), Failure> {
    let mut buffer = DeviceBuffer::from_slice(&subject.stream, host)?;
    equal("to_vec", &buffer.to_vec()?, host)?;
    let reversed: Vec<T> = host.iter().rev().copied().collect();
    buffer.copy_from_slice(&reversed)?;
    let mut back = host.to_vec();
    buffer.copy_to_slice(&mut back)?;
    equal("copy_to_slice", &back, &reversed)?;
    equal("try_clone", &buffer.try_clone()?.to_vec()?, &reversed)?;
    Ok(())
}

/// What is copied to a device comes back, for every length and every kind of element.
fn round_trip(subject: &Subject) -> Result<Report, Failure> {
    let lengths = proptest::prop_oneof![0usize..20, 0usize..5000, 250usize..260, 4090usize..4100];
    property((lengths, 0..9), |(len, kind)| match kind {
        0 => round_trip_of(subject, &pattern(len, |bits| bits as u8)),
        1 => round_trip_of(subject, &pattern(len, |bits| bits as i16)),
        2 => round_trip_of(subject, &pattern(len, |bits| bits as u32)),
        3 => round_trip_of(subject, &pattern(len, |bits| bits as i64)),
        4 => round_trip_of(subject, &pattern(len, |bits| bits as f32)),
        5 => round_trip_of(subject, &pattern(len, |bits| bits as f64)),
        6 => round_trip_of(subject, &pattern(len, |bits| bits & 1 == 1)),
        7 => round_trip_of(
            subject,
            &pattern(len, |bits| u128::from(bits) << 64 | u128::from(!bits)),
        ),
        _ => round_trip_of(
            subject,
            &pattern(len, |bits| {
                [bits as u16, (bits >> 16) as u16, (bits >> 32) as u16]
            }),
        ),
    })
}

/// A slice of a slice is the elements of the composed range, at the address it says, to read and to write.
fn views_address_their_elements(subject: &Subject) -> Result<Report, Failure> {
    let ranges = (1usize..2000).prop_flat_map(|len| {
        let range = move |len: usize| (0..=len, 0..=len).prop_map(|(a, b)| a.min(b)..a.max(b));
        range(len).prop_flat_map(move |outer| {
            (range(outer.len()), proptest::strategy::Just((len, outer)))
        })
    });
    property(ranges, |(inner, (len, outer))| {
        let host = pattern(len, |bits| bits as u32);
        let mut buffer = DeviceBuffer::from_slice(&subject.stream, &host)?;
        let want = &host[outer.clone()][inner.clone()];
        let view = buffer.slice(outer.clone()).slice(inner.clone());
        ensure_eq!(view.len(), want.len(), "length of the view");
        if !want.is_empty() {
            let first = (outer.start + inner.start) as u64;
            ensure_eq!(
                view.address(),
                buffer.address() + 4 * first,
                "address of the view"
            );
        }
        equal("the view", &view.to_vec()?, want)?;

        let replacement: Vec<u32> = want.iter().map(|value| !value).collect();
        buffer
            .slice_mut(outer.clone())
            .slice_mut(inner.clone())
            .copy_from_slice(&replacement)?;
        let mut changed = host;
        changed[outer][inner].copy_from_slice(&replacement);
        equal("after writing the view", &buffer.to_vec()?, &changed)?;
        Ok(())
    })
}

/// The two parts of a split are written independently and meet exactly.
fn disjoint_halves_are_written_apart(subject: &Subject) -> Result<Report, Failure> {
    property(
        (1usize..3000).prop_flat_map(|len| (proptest::strategy::Just(len), 0..=len)),
        |(len, middle)| {
            let mut buffer = DeviceBuffer::from_slice(&subject.stream, &vec![7u16; len])?;
            let (mut low, mut high) = buffer.split_at_mut(middle);
            ensure_eq!(
                (low.len(), high.len()),
                (middle, len - middle),
                "lengths of the parts"
            );
            low.fill(1)?;
            high.fill(2)?;
            let mut want = vec![1; middle];
            want.resize(len, 2);
            equal("both parts", &buffer.to_vec()?, &want)?;
            Ok(())
        },
    )
}

fn fill_of<T: DeviceCopy + PartialEq + Debug>(
    subject: &Subject,
    len: usize,
    value: T,
    other: T,
) -> Result<(), Failure> {
    let mut buffer = DeviceBuffer::from_slice(&subject.stream, &vec![other; len])?;
    let (start, end) = (len / 3, len - len / 4);
    buffer.slice_mut(start..end).fill(value)?;
    let want: Vec<T> = (0..len)
        .map(|i| {
            if (start..end).contains(&i) {
                value
            } else {
                other
            }
        })
        .collect();
    equal(
        &format!("a filled range of {}", std::any::type_name::<T>()),
        &buffer.to_vec()?,
        &want,
    )?;
    buffer.slice_mut(start..end).clear()?;
    let cleared = buffer.slice(start..end).to_vec()?;
    // SAFETY: all bytes zero is a value of every `DeviceCopy` type, by that trait's contract.
    let zero: T = unsafe { std::mem::zeroed() };
    ensure!(
        cleared.iter().all(|value| *value == zero),
        "a cleared range is not zero"
    );
    Ok(())
}

/// Fills write the value to each element of a range and to nothing else, whatever the element's size: one to four
/// bytes, eight (with equal and with different halves), and sizes that no driver call has.
fn fills_of_every_element_size(subject: &Subject) -> Result<Report, Failure> {
    property(
        (1usize..9000, 0..11, any::<u64>()),
        |(len, kind, bits)| match kind {
            0 => fill_of(subject, len, bits as u8, 9),
            1 => fill_of(subject, len, bits & 1 == 1, bits & 1 == 0),
            2 => fill_of(subject, len, bits as i16, 9),
            3 => fill_of(subject, len, bits as u32, 9),
            4 => fill_of(subject, len, (bits as i32) as f32, 0.5),
            5 => fill_of(subject, len, bits, 9),
            6 => fill_of(subject, len, (bits & 0xffff_ffff) * 0x1_0000_0001, 9),
            7 => fill_of(subject, len, bits as f64, 0.5),
            8 => fill_of(subject, len, [bits as u8, 1, 2], [9, 9, 9]),
            9 => fill_of(subject, len, [bits as u32, 1, 2, 3, 4], [9; 5]),
            _ => fill_of(subject, len, u128::from(bits) << 37, 9),
        },
    )
}

/// Copies between buffers and between parts of one, forwards and backwards.
fn copies_on_the_device(subject: &Subject) -> Result<Report, Failure> {
    property(
        (2usize..4000).prop_flat_map(|len| (proptest::strategy::Just(len), 1..len)),
        |(len, middle)| {
            let host = pattern(len, |bits| bits as i32);
            let source = DeviceBuffer::from_slice(&subject.stream, &host)?;
            let mut target = DeviceBuffer::<i32>::zeros(&subject.stream, len)?;
            target.copy_from(source.view())?;
            equal("a copy", &target.to_vec()?, &host)?;

            // From one half of a buffer to the other, as far as both reach.
            let count = middle.min(len - middle);
            let (low, mut high) = target.split_at_mut(middle);
            high.slice_mut(..count)
                .copy_from(low.as_view().slice(middle - count..))?;
            let mut want = host.clone();
            want.copy_within(middle - count..middle, middle);
            equal("low to high", &target.to_vec()?, &want)?;
            let (mut low, high) = target.split_at_mut(middle);
            low.slice_mut(..count)
                .copy_from(high.as_view().slice(..count))?;
            want.copy_within(middle..middle + count, 0);
            equal("high to low", &target.to_vec()?, &want)?;
            Ok(())
        },
    )
}

/// A copy between different lengths is an error that tells both, and copies nothing.
fn copies_of_unequal_lengths_are_refused(subject: &Subject) -> Result<Report, Failure> {
    let mut buffer = DeviceBuffer::from_slice(&subject.stream, &[1u8, 2, 3])?;
    let other = DeviceBuffer::from_slice(&subject.stream, &[4u8, 5])?;
    let failures = [
        buffer.copy_from_slice(&[0; 4]),
        buffer.copy_to_slice(&mut [0; 2]),
        buffer.copy_from(other.view()),
    ];
    for failure in failures {
        let error = failure
            .err()
            .ok_or_else(|| Failure::new("a copy of unequal lengths succeeded"))?;
        ensure_eq!(error.kind(), ErrorKind::InvalidArgument, "kind of: {error}");
        ensure!(
            error.to_string().contains('3'),
            "the error names no length: {error}"
        );
    }
    equal("the buffer afterwards", &buffer.to_vec()?, &[1, 2, 3])
}

/// Buffers of no elements work everywhere and need no memory (PR-10).
fn nothing_is_a_normal_length(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    let mut empty = DeviceBuffer::<f64>::zeros(stream, 0)?;
    empty.fill(3.0)?;
    empty.copy_from_slice(&[])?;
    empty.copy_to_slice(&mut [])?;
    let other = DeviceBuffer::<f64>::from_slice(stream, &[])?;
    empty.copy_from(other.view())?;
    ensure_eq!(empty.to_vec()?, Vec::<f64>::new(), "contents");
    ensure_eq!(empty.try_clone()?.len(), 0, "length of a clone");
    ensure_eq!(empty.address(), 0, "address of nothing");
    // Views of nothing at either end of something.
    let mut some = DeviceBuffer::from_slice(stream, &[1u8, 2])?;
    for at in 0..=2 {
        ensure_eq!(
            some.slice(at..at).to_vec()?,
            Vec::<u8>::new(),
            "an empty view at {at}"
        );
        some.slice_mut(at..at).fill(9)?;
        some.slice_mut(at..at).copy_from_slice(&[])?;
    }
    ensure_eq!(some.to_vec()?, vec![1, 2], "the buffer around empty views");
    empty.close()?;
    Ok(Report::exact(12))
}

/// Allocating takes free memory, by at least the bytes asked for, and giving it back restores it.
fn memory_info_counts(subject: &Subject) -> Result<Report, Failure> {
    let context = &subject.context;
    // Memory that goes straight to the driver and back.
    context.set_allocator(Some(Arc::new(DirectAllocator)));
    context.synchronize()?;
    let before = context.memory_info()?;
    ensure!(before.free <= before.total, "{before:?}");
    ensure_eq!(
        before.total,
        subject.device.total_memory(),
        "total memory of the context and of the device"
    );
    let bytes = 32 << 20;
    let buffer = DeviceBuffer::<u8>::zeros(&subject.stream, bytes)?;
    let during = context.memory_info()?;
    ensure!(
        before.free - during.free >= bytes as u64,
        "{bytes} bytes were allocated: {before:?}, then {during:?}"
    );
    drop(buffer);
    context.synchronize()?;
    context.collect()?;
    ensure_eq!(context.parked(), 0, "parked after everything has passed");
    let after = context.memory_info()?;
    context.set_allocator(None);
    if subject.device.is_software() {
        ensure_eq!(after.free, before.free, "free memory afterwards");
    } else {
        // Others may use a GPU at the same time.
        ensure!(
            after.free > during.free,
            "nothing came back: {during:?}, then {after:?}"
        );
    }
    Ok(Report::exact(5))
}

/// Asking for more than there is answers with a clear error, and everything goes on as before.
fn out_of_memory_is_an_error_and_loses_nothing(subject: &Subject) -> Result<Report, Failure> {
    let context = &subject.context;
    context.synchronize()?;
    let keep = DeviceBuffer::from_slice(&subject.stream, &[5u32; 1000])?;
    context.synchronize()?;
    let before = context.memory_info()?;
    let more_than_all =
        usize::try_from(before.total).expect("device memory fits the address space") + 1;
    for _ in 0..20 {
        let error = DeviceBuffer::<u8>::zeros(&subject.stream, more_than_all)
            .err()
            .ok_or_else(|| Failure::new("more memory than the device has was allocated"))?;
        ensure_eq!(error.kind(), ErrorKind::OutOfMemory, "kind of: {error}");
        ensure!(!error.is_fatal(), "{error} is fatal");
        ensure!(
            error.to_string().contains(&more_than_all.to_string()),
            "the bytes are not told: {error}"
        );
    }
    // A size that no address space holds is told apart.
    let error = DeviceBuffer::<u64>::zeros(&subject.stream, usize::MAX / 4)
        .err()
        .ok_or_else(|| Failure::new("more memory than any machine has was allocated"))?;
    ensure_eq!(error.kind(), ErrorKind::InvalidArgument, "kind of: {error}");
    context.synchronize()?;
    if subject.device.is_software() {
        ensure_eq!(
            context.memory_info()?.free,
            before.free,
            "free memory afterwards"
        );
    }
    ensure!(
        keep.to_vec()?.iter().all(|&value| value == 5),
        "what was allocated before has changed"
    );
    DeviceBuffer::<u8>::zeros(&subject.stream, 1 << 20)?.close()?;
    Ok(Report::exact(24))
}

/// Buffers, views' owners, streams and contexts dropped in random order leave no memory behind (PR-32).
fn drops_in_any_order_leave_nothing(subject: &Subject) -> Result<Report, Failure> {
    let context = &subject.context;
    context.set_allocator(Some(Arc::new(DirectAllocator)));
    let mut random = Random::new(11);
    context.synchronize()?;
    context.collect()?;
    let before = context.memory_info()?;
    for round in 0..8 {
        let streams = (0..3)
            .map(|_| context.new_stream())
            .collect::<Result<Vec<_>, _>>()?;
        let mut things: Vec<Box<dyn std::any::Any + Send>> = Vec::new();
        for _ in 0..12 {
            let stream = &streams[random.below(3) as usize];
            let mut buffer =
                DeviceBuffer::<u32>::zeros(stream, 1 + random.below(100_000) as usize)?;
            // Used on another stream too, so that its release has to come after both.
            let other = &streams[random.below(3) as usize];
            buffer.view_mut().fill_on(other, 3)?;
            things.push(Box::new(buffer));
            if random.below(3) == 0 {
                things.push(Box::new(other.record()?));
            }
        }
        things.extend(
            streams
                .into_iter()
                .map(|stream| Box::new(stream) as Box<dyn std::any::Any + Send>),
        );
        things.push(Box::new(context.clone()));
        random.shuffle(&mut things);
        if round % 2 == 0 {
            drop(things);
        } else {
            // On a thread that has no current context.
            std::thread::spawn(move || drop(things))
                .join()
                .map_err(|_| Failure::new("a drop panicked"))?;
        }
    }
    context.synchronize()?;
    context.collect()?;
    ensure_eq!(context.parked(), 0, "parked after everything has passed");
    let after = context.memory_info()?;
    context.set_allocator(None);
    if subject.device.is_software() {
        ensure_eq!(after.free, before.free, "free memory");
    }
    Ok(Report::exact(8))
}

/// A buffer made on one thread is used and dropped on others (PR-32).
fn buffers_move_between_threads(subject: &Subject) -> Result<Report, Failure> {
    let buffers = (0..8u32)
        .map(|i| DeviceBuffer::from_slice(&subject.stream, &vec![i; 1000]))
        .collect::<Result<Vec<_>, _>>()?;
    let threads: Vec<_> = buffers
        .into_iter()
        .map(|mut buffer| {
            std::thread::spawn(move || -> Result<Vec<u32>, cuprum::driver::Error> {
                buffer.slice_mut(..500).fill(77)?;
                buffer.to_vec()
            })
        })
        .collect();
    for (i, thread) in threads.into_iter().enumerate() {
        let got = thread
            .join()
            .map_err(|_| Failure::new("a thread panicked"))??;
        let mut want = vec![77; 500];
        want.resize(1000, i as u32);
        equal("a buffer on another thread", &got, &want)?;
    }
    Ok(Report::exact(8))
}

/// The driver call itself refuses to allocate nothing (PR-10).
fn raw_calls_of_size_zero_are_invalid(subject: &Subject) -> Result<Report, Failure> {
    subject.context.make_current()?;
    let allocate = subject
        .context
        .driver()
        .table()
        .cuMemAlloc_v2
        .ok_or_else(|| Failure::new("no cuMemAlloc_v2"))?;
    let mut address = 0;
    // SAFETY: `address` is a live local that the call writes, and the context is current on this thread.
    let code = unsafe { allocate(&raw mut address, 0) };
    ensure_eq!(
        code,
        cuprum::driver::sys::CUresult::INVALID_VALUE,
        "cuMemAlloc of 0 bytes"
    );
    Ok(Report::exact(1))
}
