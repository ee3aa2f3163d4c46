//! Waiting a little before sleeping: waking a thread costs more than most short kernels take.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How long a thread looks before it sleeps: about what falling asleep and being woken cost.
const LOOK: Duration = Duration::from_micros(40);

/// Looks for a while whether `ready` has come true; the last answer. Where there is a single core, whoever could make it true needs
/// that one, and nobody looks.
pub(crate) fn look(ready: impl Fn() -> bool) -> bool {
    static ALONE: LazyLock<bool> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from) == 1);
    if ready() {
        return true;
    }
    if *ALONE {
        return false;
    }
    let start = Instant::now();
    loop {
        for _ in 0..20 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > LOOK {
            return ready();
        }
    }
}
