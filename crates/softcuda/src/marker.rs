//! A point in the queued work that threads and streams can wait for.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::error::lock;
use crate::stream::Stream;

/// Passes once, when the piece of work it belongs to is done (or skipped, after a fault).
#[derive(Default)]
pub(crate) struct Marker {
    passed: AtomicBool,
    /// Streams to wake; taken when the marker passes.
    streams: Mutex<Vec<Arc<Stream>>>,
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
        // Short work is often done before a sleeping thread could be woken.
        for _ in 0..100 {
            if self.has_passed() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut streams = lock(&self.streams);
        while !self.has_passed() {
            streams = self
                .changed
                .wait(streams)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes `stream` when the work is done; false if it is done already.
    pub(crate) fn wake_later(&self, stream: &Arc<Stream>) -> bool {
        let mut streams = lock(&self.streams);
        if self.has_passed() {
            return false;
        }
        streams.push(Arc::clone(stream));
        true
    }

    /// The work is done.
    pub(crate) fn pass(&self) {
        let mut streams = lock(&self.streams);
        self.passed.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *streams);
        self.changed.notify_all();
        drop(streams);
        for stream in waiting {
            stream.wake();
        }
    }
}
