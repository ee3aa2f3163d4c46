//! Pools over a driver without a device.

#![allow(clippy::unwrap_used, reason = "a failing test says where")]

mod behaviour;
mod fake;
mod owners;
