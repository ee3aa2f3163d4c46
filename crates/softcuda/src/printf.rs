//! Text that kernels print: buffered, bounded, written out when the host synchronises.

/// Takes the records that kernels print.
pub(crate) trait PrintfSink: Send + Sync {
    /// Appends one complete, formatted record. Never blocks on output; a full buffer loses its oldest whole records.
    fn write(&self, text: &[u8]);
}
