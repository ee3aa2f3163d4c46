//! Conformance and property checks of every Cuprum crate, as functions over a device.
