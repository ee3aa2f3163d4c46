//! Copies and fills in stream order, and when the host must wait for them.
//!
//! The rules are those of the manual's chapter "API synchronization behavior": synchronous calls work in the legacy
//! stream and wait where the host's memory is involved; asynchronous ones wait only where pageable memory would be
//! written, and take a copy of pageable memory that is read.

use std::sync::Arc;

use crate::context::{Context, current};
use crate::driver::driver;
use crate::error::Outcome;
use crate::memory::Space;
use crate::memory::copy::{BoxCopy, Side, fill_rows};
use crate::stream::{Stream, Task};

/// Work on so few bytes is done by the calling thread, if nothing is ahead of it, rather than handed to another.
const SHORT: u64 = 32 << 10;

/// What the memory at one end of a copy means for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Device,
    PageLocked,
    Pageable,
}

fn place(space: &Space, side: &Side, copy: &BoxCopy) -> Place {
    let span = (copy.depth - 1) * side.slice + (copy.height - 1) * side.pitch + copy.width;
    if space.is_page_locked(side.address, span) {
        Place::PageLocked
    } else if space.contains(side.address) {
        Place::Device
    } else {
        Place::Pageable
    }
}

/// Waits for a task that was queued, then does what a synchronisation does.
fn finish(stream: &Arc<Stream>, task: Task) -> Outcome {
    stream.enqueue(task)?.wait();
    stream.context.synchronized()
}

/// The task that makes a copy whose ends stay valid until it has run.
fn task(copy: BoxCopy) -> Task {
    Task {
        short: copy.bytes() <= SHORT,
        ..Task::new(move || {
            copy.run();
            Ok(())
        })
    }
}

/// The task that makes a copy from a copy of the source that is taken now.
fn staged(copy: &BoxCopy) -> Task {
    let (buffer, copy) = copy.stage();
    Task::new(move || {
        copy.run();
        drop(buffer);
        Ok(())
    })
}

/// A synchronous copy.
pub(crate) fn copy(copy: BoxCopy) -> Outcome {
    let context = current()?;
    if copy.is_empty() {
        return Ok(());
    }
    let space = &driver()?.space;
    let stream = context.default_stream()?;
    match (
        place(space, &copy.src, &copy),
        place(space, &copy.dst, &copy),
    ) {
        // The host's memory is read before the call returns; when the data is on the device is another matter.
        (Place::Pageable, Place::Device) if context.jitter.is_some() => {
            finish(&stream, Task::short(|| {}))?;
            stream.enqueue(staged(&copy))?;
            Ok(())
        }
        (Place::Device, Place::Device) => stream.enqueue(task(copy)).map(drop),
        // The host waits anyway, so its own thread may as well do the work.
        _ => finish(
            &stream,
            Task {
                short: true,
                ..task(copy)
            },
        ),
    }
}

/// A copy in stream order.
pub(crate) fn copy_async(copy: BoxCopy, stream: &Arc<Stream>) -> Outcome {
    if copy.is_empty() {
        return Ok(());
    }
    let space = &driver()?.space;
    match (
        place(space, &copy.src, &copy),
        place(space, &copy.dst, &copy),
    ) {
        (_, Place::Pageable) => finish(
            stream,
            Task {
                short: true,
                ..task(copy)
            },
        ),
        (Place::Pageable, _) => {
            // Nothing ahead: done before the call returns. The wait is for a thread that slipped in between.
            if stream.is_done() && stream.context.jitter.is_none() && !is_behind(stream) {
                stream
                    .enqueue(Task {
                        short: true,
                        ..task(copy)
                    })?
                    .wait();
            } else {
                stream.enqueue(staged(&copy))?;
            }
            Ok(())
        }
        _ => stream.enqueue(task(copy)).map(drop),
    }
}

/// Whether work of the stream would wait for another stream.
fn is_behind(stream: &Stream) -> bool {
    crate::error::lock(&stream.context.order).is_behind(stream.role)
}

/// A copy between contexts, after everything queued in both so far; done when the call returns.
pub(crate) fn copy_between(copy: BoxCopy, contexts: [&Context; 2]) -> Outcome {
    let stream = current()?.default_stream()?;
    if copy.is_empty() {
        return Ok(());
    }
    let after = contexts
        .iter()
        .flat_map(|c| crate::error::lock(&c.order).unfinished())
        .collect();
    finish(
        &stream,
        Task {
            after,
            ..task(copy)
        },
    )
}

/// Rows to fill with one element. Checked: they lie in one allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill<const N: usize> {
    /// First address.
    pub(crate) dst: u64,
    /// Bytes from a row to the next.
    pub(crate) pitch: u64,
    /// What each element becomes.
    pub(crate) element: [u8; N],
    /// Elements of a row.
    pub(crate) width: u64,
    /// Rows.
    pub(crate) height: u64,
}

/// Fills, in the order of `stream`, or of the legacy stream, where page-locked memory is waited for.
pub(crate) fn fill<const N: usize>(fill: Fill<N>, stream: Option<&Arc<Stream>>) -> Outcome {
    let context = current()?;
    let Fill {
        dst,
        pitch,
        element,
        width,
        height,
    } = fill;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let short = width.saturating_mul(height).saturating_mul(N as u64) <= SHORT;
    let task = Task {
        short,
        ..Task::new(move || {
            fill_rows(dst, pitch, element, width, height);
            Ok(())
        })
    };
    match stream {
        Some(stream) => stream.enqueue(task).map(drop),
        None if driver()?.space.is_page_locked(dst, 1) => finish(&context.default_stream()?, task),
        None => context.default_stream()?.enqueue(task).map(drop),
    }
}
