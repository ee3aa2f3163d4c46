//! The CUDA driver API as plain data.
//!
//! CUDA's own seam between programs and devices is its driver API, so it is Cuprum's too. This crate declares that
//! seam and does nothing else: [handles](CUcontext), [structures](CUDA_MEMCPY2D), [open enumerations](CUresult), and
//! one [`DriverTable`] of entry points that some driver has filled. Two drivers exist: NVIDIA's `libcuda`, opened by
//! `cuprum-driver-core`, and the software device of `cuprum-softcuda`.
//!
//! Types keep the names of `cuda.h`, so that its manual applies word for word. Every C enumeration is a
//! `#[repr(transparent)]` integer with associated constants: a newer driver, or a foreign caller, may pass values
//! that a closed Rust `enum` must not hold.
//!
//! ```
//! use cuprum_driver_sys::{CUresult, DriverTable};
//!
//! // A table nobody filled: every entry point is absent, and asking is safe.
//! let table = DriverTable::load(|_symbol| None);
//! assert!(table.cuInit.is_none());
//! assert_eq!(CUresult::INVALID_VALUE.name(), Some("CUDA_ERROR_INVALID_VALUE"));
//! assert_eq!(CUresult(123_456).name(), None); // an unknown code survives as a number
//! ```
#![no_std]
// Names are those of `cuda.h`, so that its manual applies word for word.
#![allow(non_camel_case_types, non_snake_case, reason = "the names of cuda.h")]

mod enums;
mod handles;
mod result;
mod structs;
mod table;

pub use enums::*;
pub use handles::*;
pub use result::CUresult;
pub use structs::*;
pub use table::DriverTable;
