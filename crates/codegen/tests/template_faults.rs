//! A fault in a kernel of a template. In a program of its own, because it takes the context that others would share.

use cuprum_codegen::Template;
use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig};

/// A fault of a kernel names the template's line, which the line table has.
#[test]
fn faults_are_at_the_templates_line() {
    let device = Device::by_name("soft:0").expect("the software device");
    let context = device.context().expect("a context");
    let stream = context.new_stream().expect("a stream");
    let module = Template::new(
        "wild.cu",
        "{# one #}\n{# two #}\n__global__ void wild(int *x)\n{\n{% for i in range(3) %}\n    x[{{ i }} * 1000000000ll] = {{ i }};\n{% endfor %}\n}\n",
    )
    .expect("a template")
    .render()
    .expect("renders")
    .option("-lineinfo")
    .build(&context)
    .expect("builds");
    let mut x = DeviceBuffer::<i32>::zeros(&stream, 1).expect("zeros");
    let wild = module.function("wild").expect("found");
    // SAFETY: the kernel writes outside of x, which the software device finds and stops.
    unsafe { wild.launch(&stream, LaunchConfig::grid_1d(1, 1), (&mut x,)) }.expect("launched");
    let error = stream.synchronize().expect_err("a fault");
    assert!(error.is_fatal());
    let text = error.to_string();
    assert!(text.contains("wild.cu:6"), "{text}");
}
