//! Threads that run the queued work of streams.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::lock;
use crate::stream::Stream;

/// Stack of a thread: kernels whose calls are neither recursive nor indirect run on it.
const STACK: usize = 2 << 20;
/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<Stream>>,
    idle: usize,
    named: u64,
}

static STATE: Mutex<State> = Mutex::new(State {
    ready: VecDeque::new(),
    idle: 0,
    named: 0,
});
static WORK: Condvar = Condvar::new();

/// Lets a thread run the head of the stream's queue. There are as many threads as streams with work ready at once: a
/// kernel of one stream may wait for what another does.
pub(crate) fn submit(stream: Arc<Stream>) {
    let mut state = lock(&STATE);
    state.ready.push_back(stream);
    if state.idle >= state.ready.len() {
        WORK.notify_one();
        return;
    }
    state.named += 1;
    let name = format!("cuprum-stream-{}", state.named);
    drop(state);
    let thread = std::thread::Builder::new().name(name).stack_size(STACK);
    if thread.spawn(serve).is_err() {
        // No thread to be had: do the work here. Late beats never, though the call is no longer asynchronous.
        let next = lock(&STATE).ready.pop_front();
        if let Some(stream) = next {
            stream.run();
        }
    }
}

fn serve() {
    let mut state = lock(&STATE);
    loop {
        if let Some(stream) = state.ready.pop_front() {
            drop(state);
            stream.run();
            state = lock(&STATE);
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
