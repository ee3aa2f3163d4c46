#![doc = include_str!("../README.md")]

pub use cuprum_codegen as codegen;
pub use cuprum_driver_core as driver;
pub use cuprum_gpuarray as gpuarray;
pub use cuprum_kernels as kernels;
pub use cuprum_mempool as mempool;
pub use cuprum_texsurf as texsurf;

mod error;

pub use error::{Error, Result};

/// What most programs use.
pub mod prelude {
    pub use cuprum_codegen::{DeviceRepr, Source, SourceModule, kernel};
    pub use cuprum_driver_core::{
        Context, Device, DeviceBuffer, DeviceCopy, DeviceView, DeviceViewMut, Event, Function,
        LaunchConfig, Module, PinnedBuffer, Stream,
    };
    pub use cuprum_gpuarray::prelude::*;
    pub use cuprum_mempool::{PinnedPool, Policy, Pool, PooledBuffer};
}
