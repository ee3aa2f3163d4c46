//! Host threads that run blocks, and the watchdog that stops launches.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::fault::Fault;
use super::launch::{Launch, LaunchState};

/// Stack of a worker. Pages are committed only when touched.
const WORKER_STACK: usize = 64 << 20;
/// Stack that is left to helpers and the host's own code below the deepest device function.
const STACK_RESERVE: u64 = 128 << 10;
/// Stack that device functions may use on a thread that is not ours, which may have as little as 2 MiB.
const CALLER_STACK: u64 = 256 << 10;
/// How often running launches are looked at.
const TICK: Duration = Duration::from_millis(5);
/// Ticks without a launch after which the watchdog sleeps.
const IDLE_TICKS: u32 = 40;
/// Threads of a grid below which waking other host threads costs more than they bring.
const SMALL_GRID: u64 = 2048;

/// No launch is in the queue.
const NONE: usize = 0;
/// Several launches are in the queue: no address.
const SEVERAL: usize = 1;

#[derive(Debug, Default)]
struct Queue {
    launches: VecDeque<Arc<LaunchState>>,
    shutdown: bool,
}

#[derive(Debug, Default)]
struct Watch {
    launches: Vec<Arc<LaunchState>>,
    asleep: bool,
    shutdown: bool,
}

#[derive(Debug, Default)]
struct Pool {
    queue: Mutex<Queue>,
    /// The address of the only launch in the queue, [`NONE`] or [`SEVERAL`]: readable without the lock.
    sole: AtomicUsize,
    work: Condvar,
    watch: Mutex<Watch>,
    watch_wake: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What these locks guard is valid between statements, so a panic elsewhere spoils nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Persistent host threads that run the blocks of launches. Several launches may be active at once.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts `count` workers (at least one) and the watchdog.
    ///
    /// # Errors
    ///
    /// The operating system's error if a thread cannot be started.
    pub(crate) fn new(count: usize) -> std::io::Result<Self> {
        let mut workers = Self {
            pool: Arc::default(),
            threads: Vec::with_capacity(count + 1),
        };
        for index in 0..count.max(1) {
            let pool = Arc::clone(&workers.pool);
            let thread = std::thread::Builder::new()
                .name(format!("cuprum-worker-{index}"))
                .stack_size(WORKER_STACK)
                .spawn(move || work(&pool))?;
            workers.threads.push(thread);
        }
        let pool = Arc::clone(&workers.pool);
        let watchdog = std::thread::Builder::new()
            .name("cuprum-watchdog".to_owned())
            .spawn(move || watch(&pool))?;
        workers.threads.push(watchdog);
        Ok(workers)
    }

    fn count(&self) -> usize {
        self.threads.len() - 1
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        lock(&self.pool.queue).shutdown = true;
        self.pool.work.notify_all();
        lock(&self.pool.watch).shutdown = true;
        self.pool.watch_wake.notify_all();
        for thread in self.threads.drain(..) {
            // A worker that panicked has reported so itself.
            let _ = thread.join();
        }
    }
}

/// The approximate stack pointer.
fn stack_pointer() -> u64 {
    let here = 0u8;
    (&raw const here).addr() as u64
}

impl Pool {
    /// Changes the queue.
    fn change(&self, change: impl FnOnce(&mut VecDeque<Arc<LaunchState>>)) {
        let mut queue = lock(&self.queue);
        change(&mut queue.launches);
        self.note(&queue);
    }

    /// Notes what the queue holds.
    fn note(&self, queue: &Queue) {
        let sole = match (queue.launches.front(), queue.launches.len()) {
            (None, _) => NONE,
            (Some(launch), 1) => Arc::as_ptr(launch).addr(),
            _ => SEVERAL,
        };
        self.sole.store(sole, Ordering::Relaxed);
    }

    /// Whether a thread that has run a block of `launch` should turn to another launch: one of higher priority, or any if
    /// the block waits for others, which may be blocks of that one.
    fn calls_away(&self, launch: &Arc<LaunchState>, gave_way: bool) -> bool {
        let sole = self.sole.load(Ordering::Relaxed);
        if sole == NONE || sole == Arc::as_ptr(launch).addr() {
            return false;
        }
        let priority = launch.launch.priority;
        lock(&self.queue).launches.iter().any(|other| {
            !Arc::ptr_eq(other, launch)
                && (gave_way || other.launch.priority < priority)
                && other.wants_help()
        })
    }
}

impl Queue {
    /// The launch to work for: of those with the highest priority, the one whose turn it is.
    fn next(&mut self) -> Option<Arc<LaunchState>> {
        self.launches.retain(|launch| launch.wants_help());
        let highest = self.launches.iter().map(|l| l.launch.priority).min()?;
        let at = self
            .launches
            .iter()
            .position(|l| l.launch.priority == highest)?;
        let launch = self.launches.remove(at)?;
        // Launches take turns when there are several.
        self.launches.push_back(Arc::clone(&launch));
        Some(launch)
    }
}

fn work(pool: &Pool) {
    let stack_limit = stack_pointer() - WORKER_STACK as u64 + STACK_RESERVE;
    loop {
        let launch = {
            let mut queue = lock(&pool.queue);
            loop {
                if queue.shutdown {
                    return;
                }
                let next = queue.next();
                pool.note(&queue);
                if let Some(launch) = next {
                    break launch;
                }
                queue = pool
                    .work
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        };
        launch.participate(stack_limit, |gave_way| pool.calls_away(&launch, gave_way));
        // Blocks that wait were this thread's to look after; now anybody may.
        if launch.wants_help() {
            pool.change(|launches| {
                if !launches.iter().any(|other| Arc::ptr_eq(other, &launch)) {
                    launches.push_back(Arc::clone(&launch));
                }
            });
            pool.work.notify_one();
        }
    }
}

fn watch(pool: &Pool) {
    let mut idle = 0;
    let mut watch = lock(&pool.watch);
    while !watch.shutdown {
        for launch in &watch.launches {
            launch.check_limits();
        }
        idle = if watch.launches.is_empty() {
            idle + 1
        } else {
            0
        };
        if idle > IDLE_TICKS {
            watch.asleep = true;
            watch = pool
                .watch_wake
                .wait(watch)
                .unwrap_or_else(PoisonError::into_inner);
            watch.asleep = false;
            idle = 0;
        } else {
            watch = pool
                .watch_wake
                .wait_timeout(watch, TICK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// Runs a launch to its end: every block has finished, or none runs any more and the reason is returned.
///
/// The calling thread takes part, unless device code needs a big stack.
pub(crate) fn run(launch: &Launch, workers: &Workers) -> Result<(), Fault> {
    let state = Arc::new(LaunchState::new(launch));
    if state.blocks() == 0 || state.tids.is_empty() {
        return Ok(());
    }
    // A context that was cancelled runs nothing, however short.
    state.check_limits();
    let pool = &workers.pool;
    {
        let mut watch = lock(&pool.watch);
        watch.launches.push(Arc::clone(&state));
        if watch.asleep {
            pool.watch_wake.notify_all();
        }
    }
    let caller_runs = !launch.kernel.recursive;
    let threads = state.blocks().saturating_mul(state.tids.len() as u64);
    let helpers = if !caller_runs {
        workers.count()
    } else if threads < SMALL_GRID {
        0
    } else {
        let useful = usize::try_from(state.blocks() - 1).unwrap_or(usize::MAX);
        useful.min(workers.count() - 1)
    };
    if helpers > 0 {
        pool.change(|launches| launches.push_back(Arc::clone(&state)));
        if helpers >= workers.count() {
            pool.work.notify_all();
        } else {
            for _ in 0..helpers {
                pool.work.notify_one();
            }
        }
    }
    if caller_runs {
        state.participate(stack_pointer() - CALLER_STACK, |_| false);
    }
    let result = state.wait();
    lock(&pool.watch)
        .launches
        .retain(|other| !Arc::ptr_eq(other, &state));
    if helpers > 0 {
        pool.change(|launches| launches.retain(|other| !Arc::ptr_eq(other, &state)));
    }
    result
}
