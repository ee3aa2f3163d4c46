//! What threads share of a pool. For `tests/loom.rs` all of it is that of a model checker, which tries the orders in which
//! threads can come.

#[cfg(not(cuprum_loom))]
mod kinds {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

#[cfg(cuprum_loom)]
mod kinds {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

use std::sync::PoisonError;

pub(crate) use kinds::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Locks a mutex whose data every critical section leaves whole.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the calling thread, counted from 0 in the order of their first question.
#[cfg(not(cuprum_loom))]
#[inline]
pub(crate) fn thread() -> usize {
    static NEXT: kinds::AtomicUsize = kinds::AtomicUsize::new(0);
    thread_local! {
        static NUMBER: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) };
    }
    NUMBER.with(|number| match number.get() {
        usize::MAX => {
            let new = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(new);
            new
        }
        known => known,
    })
}

/// The number of the calling thread of a model. Which thread gets which is part of the order that is tried.
#[cfg(cuprum_loom)]
pub(crate) fn thread() -> usize {
    loom::lazy_static! {
        static ref NEXT: kinds::AtomicUsize = kinds::AtomicUsize::new(0);
    }
    loom::thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|&number| number)
}
