//! A software CUDA device: NVIDIA's driver API, executing PTX on the host.
//!
//! [`table`] is the whole interface: the entry points of the CUDA driver API, filled by this crate, with the argument
//! checks, result codes and ordering rules of the driver's manual. A program that speaks to `libcuda` through the same
//! [`DriverTable`] runs on either without a change.
//!
//! What a software device can be, and hardware cannot, is set by a [`Config`] before first use (or by environment
//! variables, see [`Config::from_env`]): how many devices there are, of which compute capability and memory size,
//! random delays of queued work that show missing synchronisation ([`Config::jitter`]), and the failure of a chosen
//! call ([`fail_call`]). A kernel that never ends is ended by a time limit ([`set_time_limit`]) or by [`cancel`]. Two
//! functions tell more than a result code can: [`last_error`] explains why this thread's last
//! call failed, [`last_fault`] which kernel, source line, thread and address poisoned a context.
//!
//! ```
//! let cuda = cuprum_softcuda::table();
//! let mut count = 0;
//! // The pointer is of a local that outlives both calls.
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
//! primary context of a device, then an event's record, the order of a context's streams, a stream's queue, a marker, a memory pool, the
//! allocation table, the printf buffer. No lock is held while user code (a callback, a kernel) runs.

pub use api::{table, table_per_thread};
pub use config::{CodeQuality, Config, ConfigError, DeviceConfig};
pub use context::{cancel, last_fault, set_time_limit};
pub use cuprum_driver_sys::DriverTable;
pub use driver::{Counters, configure, counters};
pub use error::{UnknownSymbol, clear_failures, fail_call, fail_call_here, last_error};
pub use printf::{PrintfHandler, set_printf_handler};

// The driver part.
mod api;
mod attributes;
mod config;
mod context;
mod device;
mod dispatch;
mod driver;
mod error;
mod event;
mod image;
mod launch;
mod link;
mod marker;
mod memory;
mod module;
mod printf;
mod registry;
mod spin;
mod stream;
mod texture;
mod transfer;

// The execution engine.
mod exec;
mod jit;
mod program;

// PTX arithmetic that Cranelift has no instruction for.
mod numeric;
