//! Integration, conformance and property tests over every device.
