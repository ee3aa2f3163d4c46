//! Unit tests of the whole crate over a recording driver.

mod choosing;
mod drivers;
mod errors;
mod giving_back;
mod launching;
mod layout;
mod lifetimes;
mod memory;
mod mock;
mod ordering;
mod ordering_model;

/// What the driver answers when memory is short.
const OUT_OF_MEMORY: cuprum_driver_sys::CUresult = cuprum_driver_sys::CUresult::OUT_OF_MEMORY;
