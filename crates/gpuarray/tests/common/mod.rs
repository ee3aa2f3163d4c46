//! What the tests of this crate share.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use cuprum_driver_core::{Device, Stream};
use cuprum_gpuarray::{Element, GpuArray, Shape};

/// A stream of the software device.
pub fn stream() -> Stream {
    Device::by_name("soft:0")
        .and_then(|device| device.context())
        .expect("the software device is always there")
        .default_stream()
}

/// An array with these elements.
pub fn array<T: Element>(host: &[T], shape: impl Into<Shape>) -> GpuArray<T> {
    GpuArray::from_slice(&stream(), host, shape).expect("the elements fit the shape")
}
