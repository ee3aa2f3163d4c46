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
}

impl PrintfBuffer {
    /// An empty buffer of `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            fifo: Mutex::new(Fifo {
                records: VecDeque::new(),
                bytes: 0,
                limit,
            }),
        }
    }

    /// Changes how many bytes the buffer holds.
    pub(crate) fn set_limit(&self, limit: usize) {
        let mut fifo = lock(&self.fifo);
        fifo.limit = limit;
        fifo.shrink();
    }

    /// Takes what the buffer holds and hands it to the handler, or to standard output.
    pub(crate) fn flush(&self) {
        // The records of two flushes must not mix, so the handler's lock is taken first.
        let handler = HANDLER.read().unwrap_or_else(PoisonError::into_inner);
        let mut fifo = lock(&self.fifo);
        if fifo.records.is_empty() {
            return;
        }
        let records = std::mem::take(&mut fifo.records);
        fifo.bytes = 0;
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

impl Fifo {
    fn shrink(&mut self) {
        while self.bytes > self.limit {
            let Some(oldest) = self.records.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
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
        buffer.write(b"ee");
        buffer.set_limit(1);
        buffer.flush();
        assert_eq!(*lock(&seen), [b"dd"]);
        buffer.set_limit(10);
        for text in ["aaaa", "bbbb", "cccc"] {
            buffer.write(text.as_bytes());
        }
        buffer.flush();
        set_printf_handler(None);
        assert_eq!(lock(&seen)[1..], [b"bbbb", b"cccc"]);
    }
}
