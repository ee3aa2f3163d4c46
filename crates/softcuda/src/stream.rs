//! Streams: queues of work, executed in order, each as soon as what it waits for has passed.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cuprum_driver_sys::CUresult;

use crate::context::Context;
use crate::dispatch;
use crate::error::{Outcome, fail, lock, panicked};
use crate::marker::Marker;

/// How a stream relates to the legacy default stream of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is that stream: its work waits for all blocking streams, and they wait for it.
    Legacy,
    /// It synchronises with the legacy stream.
    Blocking,
    /// It does not.
    NonBlocking,
}

/// What a piece of work does; gets the code of the fault that poisoned the context, if one has.
pub(crate) type Work = Box<dyn FnOnce(Option<CUresult>) -> Outcome + Send>;

/// A piece of work to queue.
pub(crate) struct Task {
    /// What must have passed before it starts, besides what stream order says.
    pub(crate) after: Vec<Arc<Marker>>,
    /// Whether it runs even in a poisoned context.
    pub(crate) always: bool,
    /// Whether it is short, so that the calling thread may run it at once if nothing is ahead of it.
    pub(crate) short: bool,
    /// What it does. An error poisons the context.
    pub(crate) work: Work,
}

impl Task {
    /// Work that runs on a thread of its own.
    pub(crate) fn new(work: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self {
            after: Vec::new(),
            always: false,
            short: false,
            work: Box::new(|_| work()),
        }
    }

    /// Short work that cannot fail.
    pub(crate) fn short(work: impl FnOnce() + Send + 'static) -> Self {
        let work: Work = Box::new(|_| {
            work();
            Ok(())
        });
        Self {
            after: Vec::new(),
            always: false,
            short: true,
            work,
        }
    }
}

struct Queued {
    task: Task,
    marker: Arc<Marker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The queue is empty and nothing runs.
    Idle,
    /// The head of the queue waits for a marker, which will call [`Stream::wake`].
    Waiting,
    /// A thread runs the head, or will.
    Running,
}

struct State {
    queue: VecDeque<Queued>,
    phase: Phase,
    last: Option<Arc<Marker>>,
    destroyed: bool,
}

/// One queue of a context.
pub(crate) struct Stream {
    /// A number unique in the process.
    pub(crate) id: u64,
    /// The context.
    pub(crate) context: Arc<Context>,
    /// How it relates to the legacy stream.
    pub(crate) role: Role,
    /// The flags it was created with.
    pub(crate) flags: u32,
    /// The priority it was created with: among kernels that want more threads, those of the lowest number are helped
    /// first.
    pub(crate) priority: i32,
    state: Mutex<State>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({}, {:?})", self.id, self.role)
    }
}

/// The unfinished work of a context, and what the order of its streams depends on.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// The last piece of work of each stream that may be unfinished.
    pending: Vec<(u64, Role, Arc<Marker>)>,
    /// The last piece of work of the legacy stream.
    legacy: Option<Arc<Marker>>,
    /// No work is accepted any more: the context is being destroyed.
    pub(crate) closed: bool,
}

impl Order {
    /// Everything that is unfinished now.
    pub(crate) fn unfinished(&self) -> Vec<Arc<Marker>> {
        let ahead = self
            .pending
            .iter()
            .filter(|(_, _, marker)| !marker.has_passed());
        ahead.map(|(_, _, marker)| Arc::clone(marker)).collect()
    }

    /// What new work of a stream in this role must wait for besides its own stream.
    fn before(&self, role: Role) -> Vec<Arc<Marker>> {
        match role {
            Role::Legacy => {
                let blocking = self
                    .pending
                    .iter()
                    .filter(|(_, role, m)| *role == Role::Blocking && !m.has_passed());
                blocking.map(|(_, _, marker)| Arc::clone(marker)).collect()
            }
            Role::Blocking => self
                .legacy
                .iter()
                .filter(|m| !m.has_passed())
                .cloned()
                .collect(),
            Role::NonBlocking => Vec::new(),
        }
    }

    /// Whether new work of a stream in this role must wait for other streams.
    pub(crate) fn is_behind(&self, role: Role) -> bool {
        !self.before(role).is_empty()
    }

    fn note(&mut self, stream: &Stream, marker: &Arc<Marker>) {
        self.pending
            .retain(|(id, _, marker)| *id != stream.id && !marker.has_passed());
        self.pending
            .push((stream.id, stream.role, Arc::clone(marker)));
        if stream.role == Role::Legacy {
            self.legacy = Some(Arc::clone(marker));
        }
    }
}

impl Stream {
    /// A stream with nothing in it.
    pub(crate) fn new(
        id: u64,
        context: &Arc<Context>,
        role: Role,
        flags: u32,
        priority: i32,
    ) -> Arc<Self> {
        let state = State {
            queue: VecDeque::new(),
            phase: Phase::Idle,
            last: None,
            destroyed: false,
        };
        Arc::new(Self {
            id,
            context: Arc::clone(context),
            role,
            flags,
            priority,
            state: Mutex::new(state),
        })
    }

    /// Adds work to the queue and answers the marker that passes when it is done.
    pub(crate) fn enqueue(self: &Arc<Self>, mut task: Task) -> Outcome<Arc<Marker>> {
        let marker = Arc::new(Marker::default());
        let mut order = lock(&self.context.order);
        if order.closed {
            return fail(
                CUresult::CONTEXT_IS_DESTROYED,
                "the context of the stream has been destroyed",
            );
        }
        let mut state = lock(&self.state);
        if state.destroyed {
            return fail(CUresult::INVALID_HANDLE, "the stream has been destroyed");
        }
        task.after.extend(order.before(self.role));
        task.after.retain(|m| !m.has_passed());
        order.note(self, &marker);
        state.last = Some(Arc::clone(&marker));
        let nothing_ahead = state.phase == Phase::Idle && task.after.is_empty();
        let short = task.short && self.context.jitter.is_none();
        let queued = Queued {
            task,
            marker: Arc::clone(&marker),
        };
        if short && nothing_ahead {
            state.phase = Phase::Running;
            drop(state);
            drop(order);
            self.execute(queued);
            self.settle(lock(&self.state));
        } else {
            state.queue.push_back(queued);
            drop(order);
            if state.phase == Phase::Idle {
                self.settle(state);
            }
        }
        Ok(marker)
    }

    /// The marker of the last piece of work, if any was queued.
    pub(crate) fn last(&self) -> Option<Arc<Marker>> {
        lock(&self.state).last.clone()
    }

    /// Whether all work is done.
    pub(crate) fn is_done(&self) -> bool {
        lock(&self.state)
            .last
            .as_ref()
            .is_none_or(|marker| marker.has_passed())
    }

    /// Waits for all work that is queued now.
    pub(crate) fn synchronize(&self) {
        if let Some(marker) = self.last() {
            marker.wait();
        }
    }

    /// Accepts no more work; what is queued still runs.
    pub(crate) fn close(&self) {
        lock(&self.state).destroyed = true;
    }

    /// The marker that the head of the queue waited for has passed.
    pub(crate) fn wake(self: &Arc<Self>) {
        let state = lock(&self.state);
        debug_assert_eq!(state.phase, Phase::Waiting);
        self.settle(state);
    }

    /// Decides what happens next, when nothing of this stream runs: nothing, waiting, or a thread runs the head.
    fn settle(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if self.next_phase(&mut state) == Phase::Running {
            drop(state);
            dispatch::submit(Arc::clone(self));
        }
    }

    fn next_phase(self: &Arc<Self>, state: &mut State) -> Phase {
        state.phase = match state.queue.front_mut() {
            None => Phase::Idle,
            Some(head) => loop {
                match head.task.after.pop() {
                    None => break Phase::Running,
                    Some(marker) if marker.wake_later(self) => break Phase::Waiting,
                    Some(_passed) => {}
                }
            },
        };
        state.phase
    }

    /// Runs the head of the queue and what follows it, until it must wait or the queue is empty.
    pub(crate) fn run(self: &Arc<Self>) {
        loop {
            let Some(queued) = lock(&self.state).queue.pop_front() else {
                return;
            };
            self.execute(queued);
            let mut state = lock(&self.state);
            if self.next_phase(&mut state) != Phase::Running {
                return;
            }
        }
    }

    fn execute(&self, queued: Queued) {
        let Queued { task, marker } = queued;
        if let Some(longest) = self.context.jitter {
            std::thread::sleep(random_up_to(longest));
        }
        let fault = self.context.fault_code();
        if task.always || fault.is_none() {
            let work = task.work;
            let outcome = catch_unwind(AssertUnwindSafe(|| work(fault)));
            if let Err(failure) = outcome.unwrap_or_else(|panic| Err(panicked(&*panic))) {
                self.context.poison(failure);
            }
        }
        marker.pass();
    }
}

/// A random time from zero to `longest`.
fn random_up_to(longest: Duration) -> Duration {
    static STATE: AtomicU64 = AtomicU64::new(0);
    let mut x = STATE.load(Ordering::Relaxed);
    if x == 0 {
        x = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |t| t.as_nanos() as u64)
            | 1;
    }
    // xorshift64: threads that race draw the same number now and then, which does no harm.
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    STATE.store(x, Ordering::Relaxed);
    longest.mul_f64((x >> 11) as f64 / (1u64 << 53) as f64)
}
