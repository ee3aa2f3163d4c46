//! A point in the queued work that threads and streams can wait for.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::error::lock;
use crate::spin;
use crate::stream::Stream;

/// Who is told when a marker passes.
#[derive(Default)]
struct Waiting {
    streams: Vec<Arc<Stream>>,
    /// Threads asleep.
    threads: usize,
}

/// Passes once, when the piece of work it belongs to is done (or skipped, after a fault).
#[derive(Default)]
pub(crate) struct Marker {
    passed: AtomicBool,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.has_passed() {
            "Marker(passed)"
        } else {
            "Marker(ahead)"
        })
    }
}

impl Marker {
    /// Whether the work is done.
    pub(crate) fn has_passed(&self) -> bool {
        self.passed.load(Ordering::Acquire)
    }

    /// Waits until the work is done.
    pub(crate) fn wait(&self) {
        if spin::look(|| self.has_passed()) {
            return;
        }
        let mut waiting = lock(&self.waiting);
        waiting.threads += 1;
        while !self.has_passed() {
            waiting = self
                .changed
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        waiting.threads -= 1;
    }

    /// Wakes `stream` when the work is done; false if it is done already.
    pub(crate) fn wake_later(&self, stream: &Arc<Stream>) -> bool {
        let mut waiting = lock(&self.waiting);
        if self.has_passed() {
            return false;
        }
        waiting.streams.push(Arc::clone(stream));
        true
    }

    /// The work is done.
    pub(crate) fn pass(&self) {
        let mut waiting = lock(&self.waiting);
        self.passed.store(true, Ordering::Release);
        let streams = std::mem::take(&mut waiting.streams);
        if waiting.threads > 0 {
            self.changed.notify_all();
        }
        drop(waiting);
        for stream in streams {
            stream.wake();
        }
    }
}
