//! Integration, conformance and property tests over every device.
//!
//! - `tests/devices.rs`: every check of `cuprum-checks` on every device present.
//! - `tests/layers.rs`: dependencies point down only.
