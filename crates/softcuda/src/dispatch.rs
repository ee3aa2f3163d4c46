//! Threads that run the queued work of streams.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::lock;
use crate::spin;
use crate::stream::Stream;

/// Stack of a thread: kernels whose calls are neither recursive nor indirect run on it.
const STACK: usize = 2 << 20;
/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<Stream>>,
    /// Threads asleep.
    idle: usize,
    /// Threads that look for work before they sleep.
    looking: usize,
    named: u64,
}

impl State {
    /// The next stream with work.
    fn take(&mut self) -> Option<Arc<Stream>> {
        let stream = self.ready.pop_front();
        READY.store(!self.ready.is_empty(), Ordering::Relaxed);
        stream
    }
}

static STATE: Mutex<State> = Mutex::new(State {
    ready: VecDeque::new(),
    idle: 0,
    looking: 0,
    named: 0,
});
/// Whether any stream is ready, readable without the lock.
static READY: AtomicBool = AtomicBool::new(false);
static WORK: Condvar = Condvar::new();

/// Lets a thread run the head of the stream's queue. There are as many threads as streams with work ready at once: a
/// kernel of one stream may wait for what another does.
pub(crate) fn submit(stream: Arc<Stream>) {
    let mut state = lock(&STATE);
    state.ready.push_back(stream);
    READY.store(true, Ordering::Relaxed);
    if state.looking >= state.ready.len() {
        return;
    }
    if state.looking + state.idle >= state.ready.len() {
        WORK.notify_one();
        return;
    }
    state.named += 1;
    let name = format!("cuprum-stream-{}", state.named);
    drop(state);
    let thread = std::thread::Builder::new().name(name).stack_size(STACK);
    if thread.spawn(serve).is_err() {
        // No thread to be had: do the work here. Late beats never, though the call is no longer asynchronous.
        let next = lock(&STATE).take();
        if let Some(stream) = next {
            stream.run();
        }
    }
}

fn serve() {
    let mut state = lock(&STATE);
    let mut looked = false;
    loop {
        if let Some(stream) = state.take() {
            drop(state);
            stream.run();
            state = lock(&STATE);
            looked = false;
            continue;
        }
        if !looked {
            // One launch is often followed by another.
            looked = true;
            state.looking += 1;
            drop(state);
            spin::look(|| READY.load(Ordering::Relaxed));
            state = lock(&STATE);
            state.looking -= 1;
            continue;
        }
        state.idle += 1;
        let (woken, timeout) = WORK
            .wait_timeout(state, IDLE)
            .unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if timeout.timed_out() && state.ready.is_empty() {
            return;
        }
    }
}
