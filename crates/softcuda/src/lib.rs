//! A software CUDA device: NVIDIA's driver API, executing PTX on the host.
//!
//! [`table`] is the whole interface: the entry points of the CUDA driver API, filled by this crate, with the argument
//! checks, result codes and ordering rules of the driver's manual. A program that speaks to `libcuda` through the same
//! [`DriverTable`] runs on either without a change.
//!
//! What a software device can be, and hardware cannot, is set by a [`Config`] before first use (or by environment
//! variables, see [`Config::from_env`]): how many devices there are, of which compute capability and memory size,
//! random delays of queued work that show missing synchronisation ([`Config::jitter`]), and the failure of a chosen
//! call ([`fail_call`]). Two functions tell more than a result code can: [`last_error`] explains why this thread's last
//! call failed, [`last_fault`] which kernel, source line, thread and address poisoned a context.
//!
//! ```no_run
//! let cuda = cuprum_softcuda::table();
//! let mut count = 0;
//! // SAFETY: `count` outlives both calls.
//! unsafe {
//!     assert!(cuda.cuInit.expect("the entry is provided")(0).is_success());
//!     assert!(cuda.cuDeviceGetCount.expect("the entry is provided")(&mut count).is_success());
//! }
//! assert!(count >= 1);
//! ```
//!
//! # Order of locks
//!
//! A thread that holds a lock takes only locks below it:
//! primary context of a device, then the order of a context's streams, a stream's queue, a marker, a memory pool, the
//! allocation table, the printf buffer. No lock is held while user code (a callback, a kernel) runs.

mod config;
mod memory;
mod printf;

// The execution engine: `program`, `jit`, `exec`.

// PTX arithmetic that Cranelift has no instruction for.
mod numeric;

pub use config::{Config, ConfigError, DeviceConfig};
pub use cuprum_driver_sys::DriverTable;

/// The software driver's entry points; an entry that it does not offer is `None`.
#[must_use]
pub fn table() -> &'static DriverTable {
    static TABLE: std::sync::OnceLock<DriverTable> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| DriverTable::load(|_symbol| None))
}
