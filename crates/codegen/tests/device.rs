//! Sources compiled, loaded and run on the software device. The same API on every device is tested in the workspace's `tests`.

use cuprum_codegen::{ErrorKind, Provenance, Source, SourceModule};
use cuprum_driver_core::{Context, Device, DeviceBuffer, LaunchConfig};

fn context() -> Context {
    Device::by_name("soft:0")
        .expect("the software device")
        .context()
        .expect("its context")
}

const SAXPY: &str = r#"
#include <stdio.h>

__global__ void saxpy(float a, const float *__restrict__ x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"#;

#[test]
fn a_source_runs() {
    let context = context();
    let stream = context.default_stream();
    for wrap in [false, true] {
        let module = SourceModule::builder(SAXPY)
            .extern_c(wrap)
            .build(&context)
            .expect("builds");
        let saxpy = module.function("saxpy").expect("found");
        let count = 1000_usize;
        let x: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let x = DeviceBuffer::from_slice(&stream, &x).expect("copied");
        let mut y = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; count]).expect("copied");
        // SAFETY: the kernel reads x[0..n] and writes y[0..n], and both have n elements.
        unsafe {
            saxpy.launch(
                &stream,
                LaunchConfig::for_elements(count),
                (2.0_f32, &x, &mut y, count as i32),
            )
        }
        .expect("launched");
        let y = y.to_vec().expect("copied back");
        assert!(
            y.iter()
                .enumerate()
                .all(|(i, y)| *y == 2.0 * i as f32 + 1.0)
        );
        assert_eq!(module.source(), SAXPY);
        assert!(module.ptx().contains(".target sm_80"));
    }
}

#[test]
fn templates_run() {
    let context = context();
    let stream = context.default_stream();
    let source = "namespace my { template <class T> __global__ void fill(T *x, T value, int n) { int i = threadIdx.x; if (i < n) x[i] = value; } }";
    let module = Source::new(source)
        .name_expression("my::fill<double>")
        .name_expression("my::fill<unsigned char>")
        .build(&context)
        .expect("builds");
    let mut wide = DeviceBuffer::<f64>::zeros(&stream, 10).expect("zeros");
    let mut narrow = DeviceBuffer::<u8>::zeros(&stream, 10).expect("zeros");
    // SAFETY: the kernel writes x[0..n], and 5 is within both buffers.
    unsafe {
        let config = LaunchConfig::for_elements(10);
        module
            .function("my::fill<double>")
            .expect("found")
            .launch(&stream, config, (&mut wide, 1.5_f64, 5_i32))
            .expect("launched");
        module
            .function("my::fill<unsigned char>")
            .expect("found")
            .launch(&stream, config, (&mut narrow, 7_u8, 5_i32))
            .expect("launched");
    }
    assert_eq!(
        wide.to_vec().expect("back"),
        [1.5, 1.5, 1.5, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    );
    assert_eq!(
        narrow.to_vec().expect("back"),
        [7, 7, 7, 7, 7, 0, 0, 0, 0, 0]
    );
    let error = module
        .function("my::fill<float>")
        .expect_err("not instantiated");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        "there is no kernel my::fill<float>: the module has my::fill<double> (_ZN2my4fillIdEEvPT_S1_i), my::fill<unsigned char> (_ZN2my4fillIhEEvPT_S1_i)"
    );
}

#[test]
fn wrong_arguments_are_named() {
    let context = context();
    let stream = context.default_stream();
    let module = SourceModule::new(&context, SAXPY).expect("builds");
    let saxpy = module.function("saxpy").expect("found");
    let x = DeviceBuffer::<f32>::zeros(&stream, 4).expect("zeros");
    let mut y = DeviceBuffer::<f32>::zeros(&stream, 4).expect("zeros");
    // SAFETY: the launch is refused: the last argument has another size than the parameter.
    let error = unsafe {
        saxpy.launch(
            &stream,
            LaunchConfig::for_elements(4),
            (2.0_f32, &x, &mut y, 4_i64),
        )
    }
    .expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("parameter 3 `n` (int)"), "{text}");
    // SAFETY: the launch is refused: there are too few arguments.
    let error = unsafe { saxpy.launch(&stream, LaunchConfig::for_elements(4), (2.0_f32, &x)) }
        .expect_err("refused");
    assert!(error.to_string().contains("`y`"), "{error}");
}

#[test]
fn constants_are_found_by_name_expression() {
    let context = context();
    let stream = context.default_stream();
    let source = "__constant__ float table[4]; __global__ void look(float *x) { x[threadIdx.x] = table[threadIdx.x]; }";
    let module = Source::new(source)
        .name_expression("&table")
        .build(&context)
        .expect("builds");
    let name = module.image().lowered_name("&table").expect("found");
    let table = module.module().global::<f32>(name).expect("found");
    table
        .write(&stream, &[4.0, 3.0, 2.0, 1.0])
        .expect("written");
    let mut x = DeviceBuffer::<f32>::zeros(&stream, 4).expect("zeros");
    let look = module.function("look").expect("found");
    // SAFETY: four threads write x[0..4].
    unsafe { look.launch(&stream, LaunchConfig::grid_1d(1, 4), (&mut x,)) }.expect("launched");
    assert_eq!(x.to_vec().expect("back"), [4.0, 3.0, 2.0, 1.0]);
    assert_eq!(
        module.function("&table").expect_err("no kernel").kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn cached_and_fresh_results_are_alike() {
    let dir = tempfile::tempdir().expect("a directory");
    let context = context();
    let source = Source::new(SAXPY).cache_dir(dir.path());
    let fresh = source.build(&context).expect("builds");
    assert_eq!(fresh.image().provenance(), &Provenance::Compiled);
    let cached = source.build(&context).expect("builds");
    assert_eq!(cached.image().provenance(), &Provenance::Cached);
    assert_eq!(fresh.ptx(), cached.ptx());
    assert_eq!(
        cached.function("saxpy").expect("found").name(),
        fresh.function("saxpy").expect("found").name()
    );
}
