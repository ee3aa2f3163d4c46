use cuprum_codegen::kernel;
use cuprum_driver_core::{DeviceBuffer, LaunchConfig, Stream};

kernel! {
    struct Axpy;
    fn axpy(a: f32, x: &[f32], y: &mut [f32], n: u32);
}

fn wrong_element(axpy: &Axpy, stream: &Stream, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f32>) {
    let _ = axpy.launch(stream, LaunchConfig::for_elements(4), 1.0, x, y, 4);
}

fn not_mutable(axpy: &Axpy, stream: &Stream, x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>) {
    let _ = axpy.launch(stream, LaunchConfig::for_elements(4), 1.0, x, y, 4);
}

fn wrong_count(axpy: &Axpy, stream: &Stream, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>) {
    let _ = axpy.launch(stream, LaunchConfig::for_elements(4), 1.0, x, y);
}

fn wrong_scalar(axpy: &Axpy, stream: &Stream, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>) {
    let _ = axpy.launch(stream, LaunchConfig::for_elements(4), 1i64, x, y, 4);
}

fn twice(axpy: &Axpy, stream: &Stream, y: &mut DeviceBuffer<f32>) {
    let _ = axpy.launch(stream, LaunchConfig::for_elements(4), 1.0, &*y, y, 4);
}

fn main() {}
