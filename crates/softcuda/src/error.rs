//! How calls fail: a result code and a text, told per thread; failures that tests inject.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuprum_driver_sys::{CUresult, DriverTable};

/// Why a call or a piece of queued work failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The code that the caller gets.
    pub(crate) code: CUresult,
    /// What a person wants to know.
    pub(crate) text: String,
}

/// What the parts of the driver return.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure with a code and a text.
    pub(crate) fn new(code: CUresult, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code.name() {
            Some(name) => write!(f, "{name}: {}", self.text),
            None => write!(f, "{}: {}", self.code.0, self.text),
        }
    }
}

/// Fails with a code and a text.
pub(crate) fn fail<T>(code: CUresult, text: impl Into<String>) -> Outcome<T> {
    Err(Failure::new(code, text))
}

/// Locks, also when another thread panicked with the lock held: every critical section here leaves consistent data at
/// each point where it can unwind.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
    static INJECTED_HERE: RefCell<Vec<Injection>> = const { RefCell::new(Vec::new()) };
}

/// Why the last failing driver call of this thread failed, with its numbers: sizes and limits, the line of a PTX error.
/// `None` if no call of this thread has failed. `CUDA_ERROR_NOT_READY` is an answer, not a failure.
#[must_use]
pub fn last_error() -> Option<String> {
    LAST.try_with(|last| last.borrow().clone()).ok().flatten()
}

/// Runs the body of the entry point `symbol`: injects failures, stops panics, remembers why it failed.
pub(crate) fn guard(symbol: &'static str, body: impl FnOnce() -> Outcome) -> CUresult {
    let outcome = match injected(symbol) {
        Some(code) => fail(code, "a failure that a test asked for"),
        None => catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic))),
    };
    let Err(failure) = outcome else {
        return CUresult::SUCCESS;
    };
    if failure.code != CUresult::NOT_READY {
        // A thread that ends may still destroy objects, after its thread-local values.
        let _ = LAST.try_with(|last| last.replace(Some(format!("{symbol}: {failure}"))));
    }
    failure.code
}

/// The failure that a panic becomes: it must not cross the C interface.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    Failure::new(
        CUresult::UNKNOWN,
        format!("the software driver panicked: {text}"),
    )
}

#[derive(Clone, Copy)]
struct Injection {
    symbol: &'static str,
    calls_left: u64,
    code: CUresult,
}

static INJECTED: Mutex<Vec<Injection>> = Mutex::new(Vec::new());
/// How many injections there are, of all threads: a call looks for its own only if this is not zero.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// No entry point has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSymbol(
    /// The name.
    pub String,
);

impl fmt::Display for UnknownSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the driver table has no entry {:?}", self.0)
    }
}

impl std::error::Error for UnknownSymbol {}

/// Makes the `nth` call (1: the next) of the entry point `symbol`, by any thread, fail with `code` and without effect.
///
/// # Errors
///
/// If the driver table has no such entry.
pub fn fail_call(symbol: &str, nth: u64, code: CUresult) -> Result<(), UnknownSymbol> {
    let injection = Injection {
        symbol: known(symbol)?,
        calls_left: nth.max(1),
        code,
    };
    lock(&INJECTED).push(injection);
    ARMED.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// As [`fail_call`], counting only calls of the calling thread, so that tests can run side by side.
///
/// # Errors
///
/// If the driver table has no such entry.
pub fn fail_call_here(symbol: &str, nth: u64, code: CUresult) -> Result<(), UnknownSymbol> {
    let injection = Injection {
        symbol: known(symbol)?,
        calls_left: nth.max(1),
        code,
    };
    INJECTED_HERE.with_borrow_mut(|list| list.push(injection));
    ARMED.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// Forgets the failures that [`fail_call`] and, on the calling thread, [`fail_call_here`] asked for.
pub fn clear_failures() {
    let count = std::mem::take(&mut *lock(&INJECTED)).len() + INJECTED_HERE.take().len();
    ARMED.fetch_sub(count, Ordering::SeqCst);
}

fn known(symbol: &str) -> Result<&'static str, UnknownSymbol> {
    DriverTable::SYMBOLS
        .iter()
        .copied()
        .find(|&s| s == symbol)
        .ok_or_else(|| UnknownSymbol(symbol.into()))
}

/// The code that this call of `symbol` shall fail with, if any.
fn injected(symbol: &str) -> Option<CUresult> {
    if ARMED.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let here = INJECTED_HERE
        .try_with(|list| take_due(&mut list.borrow_mut(), symbol))
        .ok()
        .flatten();
    let due = here.or_else(|| take_due(&mut lock(&INJECTED), symbol));
    if due.is_some() {
        ARMED.fetch_sub(1, Ordering::SeqCst);
    }
    due
}

/// Counts one call of `symbol` on every injection for it; takes one that is due.
fn take_due(list: &mut Vec<Injection>, symbol: &str) -> Option<CUresult> {
    for injection in list.iter_mut().filter(|i| i.symbol == symbol) {
        injection.calls_left = injection.calls_left.saturating_sub(1);
    }
    let due = list
        .iter()
        .position(|i| i.symbol == symbol && i.calls_left == 0)?;
    Some(list.remove(due).code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code_and_a_text() {
        let code = guard("cuInit", || panic!("number {}", 7));
        assert_eq!(code, CUresult::UNKNOWN);
        let text = last_error().expect("a call failed");
        assert!(
            text.contains("cuInit") && text.contains("number 7"),
            "{text}"
        );
    }

    #[test]
    fn the_nth_call_fails_once() {
        fail_call_here("cuCtxGetId", 3, CUresult::OUT_OF_MEMORY).expect("the entry exists");
        let codes: Vec<CUresult> = (0..5).map(|_| guard("cuCtxGetId", || Ok(()))).collect();
        let ok = CUresult::SUCCESS;
        assert_eq!(codes, [ok, ok, CUresult::OUT_OF_MEMORY, ok, ok]);
        assert!(fail_call("cuNoSuchCall", 1, ok).is_err());
    }

    #[test]
    fn not_ready_is_no_failure() {
        std::thread::spawn(|| {
            assert_eq!(
                guard("cuStreamQuery", || fail(CUresult::NOT_READY, "busy")),
                CUresult::NOT_READY
            );
            assert_eq!(last_error(), None);
        })
        .join()
        .expect("the thread finishes");
    }
}
