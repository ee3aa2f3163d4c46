#![doc = include_str!("../README.md")]
//!
//! # The rooms
//!
//! | level | what | where |
//! | --- | --- | --- |
//! | table | entry points of a driver, plain data | [`sys`], [`Driver`] |
//! | objects | [`Device`], [`Context`], [`Stream`], [`Event`], [`Module`], [`Function`] | one file each |
//! | memory | [`DeviceBuffer`], [`DeviceView`], [`PinnedBuffer`], [`Scope`], [`Allocator`] | `memory/` |
//! | textures | [`Array`], [`MipmappedArray`], [`TextureObject`], [`SurfaceObject`] | `array/` |
//! | launch | [`LaunchConfig`], [`KernelArgs`], [`Args`], the checks | `launch/` |
//! | order | which stream used which bytes; what waits to be released; who gives memory back | `tracking.rs`, `uses.rs`, `timeline.rs`, `parking.rs`, `reclaim.rs` |
//! | errors | [`Error`], [`ErrorKind`], texts and hints | `error/` |

mod array;
mod call;
mod choose;
mod context;
mod device;
mod driver;
mod error;
mod event;
mod image;
mod launch;
mod limit;
mod link;
mod memory;
mod module;
mod parking;
mod reclaim;
mod stop;
mod stream;
mod timeline;
mod tracking;
mod uses;

#[cfg(test)]
mod tests;

pub use array::{Array, MipmappedArray, Region, SurfaceObject, TextureObject};
pub use choose::{Choice, DEVICE_VARIABLE, QUIET_VARIABLE};
pub use context::{Context, MemoryInfo, WeakContext};
pub use cuprum_driver_sys as sys;
pub use device::{Device, DeviceAttribute};
pub use driver::{Driver, DriverKind, DriverProblem};
pub use error::{Error, ErrorKind, LaunchRecord, Result};
pub use event::Event;
pub use launch::{ArgTable, Args, KernelArg, KernelArgs, LaunchConfig};
pub use limit::Limit;
pub use memory::{
    Allocator, DeviceBuffer, DeviceCopy, DevicePtr, DeviceView, DeviceViewMut, DirectAllocator,
    PageLockedAllocator, PinnedAllocator, PinnedBuffer, Scope, StreamOrderedAllocator,
};
pub use module::{Function, FunctionAttributes, Global, Module, ParamInfo, ParamName};
pub use reclaim::{Reclaim, Returned};
pub use stream::Stream;
pub use timeline::Timeline;
pub use uses::{LastUses, PastUses};
