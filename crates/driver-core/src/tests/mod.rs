//! Unit tests of the whole crate over a recording driver.

mod choosing;
mod drivers;
mod errors;
mod launching;
mod layout;
mod lifetimes;
mod memory;
mod mock;
mod ordering;
mod ordering_model;
