//! Text that kernels print: buffered, bounded, written out when the host synchronises.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::error::lock;

/// Takes the records that kernels print.
pub(crate) trait PrintfSink: Send + Sync {
    /// Appends one complete, formatted record. Never blocks on output; a full buffer loses its oldest whole records.
    fn write(&self, text: &[u8]);
}

/// The buffer of one context (`CU_LIMIT_PRINTF_FIFO_SIZE`).
#[derive(Debug)]
pub(crate) struct PrintfBuffer {
    fifo: Mutex<Fifo>,
}

#[derive(Debug)]
struct Fifo {
    records: VecDeque<Box<[u8]>>,
    bytes: usize,
    limit: usize,
    /// Records that did not fit, since the last flush.
    lost: u64,
}

impl PrintfBuffer {
    /// An empty buffer of `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            fifo: Mutex::new(Fifo {
                records: VecDeque::new(),
                bytes: 0,
                limit,
                lost: 0,
            }),
        }
    }

    /// Changes how many bytes the buffer holds.
    pub(crate) fn set_limit(&self, limit: usize) {
        let mut fifo = lock(&self.fifo);
        fifo.limit = limit;
        fifo.shrink();
    }

    /// Takes what the buffer holds and hands it to the handler, or to standard output. Where records were lost, a line in
    /// their place says how many.
    pub(crate) fn flush(&self) {
        // The records of two flushes must not mix, so the handler's lock is taken first.
        let handler = HANDLER.read().unwrap_or_else(PoisonError::into_inner);
        let mut fifo = lock(&self.fifo);
        let lost = std::mem::take(&mut fifo.lost);
        if fifo.records.is_empty() && lost == 0 {
            return;
        }
        let mut records = std::mem::take(&mut fifo.records);
        fifo.bytes = 0;
        if lost > 0 {
            let limit = fifo.limit;
            records.push_front(loss(lost, limit).into_bytes().into());
        }
        drop(fifo);
        if let Some(handler) = handler.clone() {
            for record in &records {
                handler(record);
            }
            return;
        }
        let mut out = std::io::stdout().lock();
        for record in &records {
            // Standard output that is closed or full takes no text; the kernel cannot know.
            let _ = out.write_all(record);
        }
        let _ = out.flush();
    }
}

/// What stands in the place of lost records.
fn loss(records: u64, limit: usize) -> String {
    format!(
        "[{records} records of device printf are lost: the buffer has {limit} bytes, see CU_LIMIT_PRINTF_FIFO_SIZE]\n"
    )
}

impl Fifo {
    fn shrink(&mut self) {
        while self.bytes > self.limit {
            let Some(oldest) = self.records.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
            self.lost += 1;
        }
    }
}

impl PrintfSink for PrintfBuffer {
    fn write(&self, text: &[u8]) {
        let mut fifo = lock(&self.fifo);
        fifo.records.push_back(text.into());
        fifo.bytes += text.len();
        fifo.shrink();
    }
}

/// What [`set_printf_handler`] takes.
pub type PrintfHandler = dyn Fn(&[u8]) + Send + Sync;

static HANDLER: RwLock<Option<Arc<PrintfHandler>>> = RwLock::new(None);

/// Sends what kernels print to `handler`, one call for each `printf`, instead of standard output; `None` undoes it.
///
/// It is called by threads that synchronise, or end a context or a module, of all devices; it must not call the driver.
pub fn set_printf_handler(handler: Option<Box<PrintfHandler>>) {
    *HANDLER.write().unwrap_or_else(PoisonError::into_inner) = handler.map(Arc::from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_loses_the_oldest_whole_records() {
        let seen: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let copy = Arc::clone(&seen);
        set_printf_handler(Some(Box::new(move |text| lock(&copy).push(text.to_vec()))));
        let buffer = PrintfBuffer::new(10);
        for text in ["aaaa", "bbbb", "cccc"] {
            buffer.write(text.as_bytes());
        }
        buffer.write(b"much too long for it");
        buffer.write(b"dd");
        buffer.flush();
        let told = |records, limit| loss(records, limit).into_bytes();
        assert_eq!(*lock(&seen), [told(4, 10), b"dd".to_vec()]);
        lock(&seen).clear();
        buffer.write(b"ee");
        buffer.set_limit(1);
        buffer.flush();
        assert_eq!(*lock(&seen), [told(1, 1)]);
        lock(&seen).clear();
        buffer.set_limit(10);
        buffer.flush();
        assert!(lock(&seen).is_empty(), "a loss is told once");
        for text in ["aaaa", "bbbb", "cccc"] {
            buffer.write(text.as_bytes());
        }
        buffer.flush();
        set_printf_handler(None);
        assert_eq!(
            *lock(&seen),
            [told(1, 10), b"bbbb".to_vec(), b"cccc".to_vec()]
        );
    }
}
