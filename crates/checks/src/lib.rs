//! Conformance and property checks of every Cuprum crate, as functions over a device.
//!
//! A [`Check`] runs on any [`Device`](cuprum::prelude::Device) and compares what the device did with an independent
//! reference: host arithmetic, a published value, or an invariant. The test suite runs [`all`] of them on every device
//! present, and so can any program that wants to know whether a device does its work.
//!
//! ```
//! use cuprum_checks::{Subject, all};
//! use cuprum::prelude::*;
//!
//! let subject = Subject::new(Device::by_name("soft:0")?)?;
//! let check = all().into_iter().find(|check| check.name == "memory::round_trip").expect("the check exists");
//! let report = check.run(&subject).map_err(|failure| failure.to_string())?;
//! assert!(report.cases > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A check is named after the theme it is of and what holds when it passes. One that covers a case of the project's
//! list of public reports names it (`PR-36`) in its documentation.

mod arrays;
mod check;
mod codegen;
mod complex;
mod data;
mod exact;
mod faults;
mod image;
mod kernels;
mod launch;
mod makers;
mod memory;
mod pinned;
mod pools;
mod runner;
mod streams;
mod textures;

pub use check::{Check, Failure, Report, Subject, Tag};

/// Every check, in the order of the layers they look at.
#[must_use]
pub fn all() -> Vec<Check> {
    [
        memory::checks(),
        pinned::checks(),
        streams::checks(),
        textures::checks(),
        pools::checks(),
        launch::checks(),
        codegen::checks(),
        makers::checks(),
        complex::checks(),
        kernels::checks(),
        arrays::checks(),
        image::checks(),
        faults::checks(),
    ]
    .concat()
}
