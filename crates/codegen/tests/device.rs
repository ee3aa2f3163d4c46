//! Sources compiled, loaded and run on the software device. The same API on every device is tested in the workspace's `tests`.

use cuprum_codegen::{ErrorKind, LinkedModule, Provenance, Source, SourceModule, Target};
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

/// Sources that need each other are compiled relocatable and linked.
#[test]
fn sources_are_linked() {
    let context = context();
    let stream = context.default_stream();
    let main = Source::new(
        "extern __device__ int doubled(int); extern __constant__ int table[4];\ntemplate <class T> __device__ T same(T x) { return x; }\nnamespace my { __global__ void k(int *x) { x[threadIdx.x] = same(doubled(x[threadIdx.x])) + table[threadIdx.x]; } }",
    )
    .file_name("main.cu");
    let library = Source::new(
        "template <class T> __device__ T same(T x) { return x; }\n__constant__ int table[4] = {1, 2, 3, 4}; __device__ int doubled(int x) { return same(2 * x); }\n__global__ void other(int *x) { *x = 5; }",
    )
    .file_name("library.cu");
    let module = LinkedModule::builder()
        .source(main.clone())
        .source(library.clone())
        .build(&context)
        .expect("links");
    let mut x = DeviceBuffer::from_slice(&stream, &[10, 20, 30, 40]).expect("copied");
    let k = module.function("my::k").expect("found");
    // SAFETY: four threads access x[0..4].
    unsafe { k.launch(&stream, LaunchConfig::grid_1d(1, 4), (&mut x,)) }.expect("launched");
    assert_eq!(x.to_vec().expect("back"), [21, 42, 63, 84]);
    assert!(module.function("other").is_ok());
    assert_eq!(
        module.function("third").expect_err("there is none").kind(),
        ErrorKind::NotFound
    );
    // The names of parameters are known of linked kernels too.
    // SAFETY: the launch is refused: there is an argument too many.
    let error = unsafe { k.launch(&stream, LaunchConfig::grid_1d(1, 1), (&mut x, 1)) }
        .expect_err("refused");
    assert!(error.to_string().contains("`x`"), "{error}");

    // Without the library the symbol is missing, and named; with it doubled, it is defined doubled.
    let error = LinkedModule::builder()
        .source(main.clone())
        .build(&context)
        .expect_err("doubled is not defined");
    assert_eq!(error.kind(), ErrorKind::Driver);
    assert!(error.to_string().contains("`table`"), "{error}");
    let error = LinkedModule::builder()
        .source(main)
        .source(library.clone())
        .image("again", compile_relocatable(&library))
        .build(&context)
        .expect_err("doubled is defined doubled");
    assert!(error.to_string().contains("`table`"), "{error}");
    let error = LinkedModule::builder()
        .build(&context)
        .expect_err("nothing");
    assert_eq!(error.kind(), ErrorKind::Source);
}

/// Files are linked by what they hold. A library of machine code is a GPU's; the software device says so.
#[test]
fn files_are_linked() {
    let context = context();
    let dir = tempfile::tempdir().expect("a directory");
    let main = Source::new(
        "extern __device__ int five(); extern \"C\" __global__ void k(int *x) { *x = five(); }",
    );
    let library = Source::new("__device__ int five() { return 5; }").file_name("five.cu");
    let (ptx, archive) = (dir.path().join("fünf.ptx"), dir.path().join("libfive.a"));
    std::fs::write(&ptx, compile_relocatable(&library)).expect("written");
    std::fs::write(&archive, b"!<arch>\n").expect("written");
    let with = |path: &std::path::Path| {
        LinkedModule::builder()
            .source(main.clone())
            .file(path)
            .and_then(|builder| builder.build(&context))
    };
    let module = with(&ptx).expect("links");
    let stream = context.default_stream();
    let mut x = DeviceBuffer::from_slice(&stream, &[0]).expect("copied");
    let k = module.function("k").expect("found");
    // SAFETY: one thread writes x[0].
    unsafe { k.launch(&stream, LaunchConfig::grid_1d(1, 1), (&mut x,)) }.expect("launched");
    assert_eq!(x.to_vec().expect("back"), [5]);
    let error = with(&archive).expect_err("no PTX").to_string();
    assert!(
        error.contains("libfive.a") && error.contains("software devices link PTX text only"),
        "{error}"
    );
    let error = with(&dir.path().join("none.o")).expect_err("no file");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("none.o"), "{error}");
}

fn compile_relocatable(source: &Source) -> Vec<u8> {
    let source = source.clone().option("-rdc=true");
    let image = cuprum_codegen::compile(&source, Target::Ptx(80)).expect("compiles");
    image.ptx().as_bytes().to_vec()
}

#[test]
fn what_was_compiled_is_kept_on_request() {
    let dir = tempfile::tempdir().expect("a directory");
    let context = context();
    let source = "#include \"two.h\"\n__global__ void k(int *x) { *x = TWO; }\n";
    let build = |text: &str| {
        Source::new(text)
            .file_name("sub/kept.cu")
            .header("two.h", "#define TWO 2\n")
            .option("-lineinfo")
            .keep(dir.path())
            .build(&context)
    };
    let module = build(source).expect("builds");
    let mut kept: Vec<_> = std::fs::read_dir(dir.path())
        .expect("the directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(kept.len(), 1);
    let kept = kept.remove(0);
    let name = kept.file_name().expect("a name").to_string_lossy();
    assert!(name.starts_with("kept-"), "{name}");
    let read = |name: &str| std::fs::read_to_string(kept.join(name)).expect(name);
    assert_eq!(read("kept.cu"), source);
    assert_eq!(read("kept.ptx"), module.ptx());
    assert_eq!(read("two.h"), "#define TWO 2\n");
    assert!(read("options.txt").contains("-lineinfo"));
    assert_eq!(read("log.txt"), "");
    // A source that does not compile leaves its text and the messages.
    build("__global__ void k(int *x) { *x = THREE; }").expect_err("no such name");
    let broken = std::fs::read_dir(dir.path())
        .expect("the directory")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| *path != kept)
        .expect("another");
    let log = std::fs::read_to_string(broken.join("log.txt")).expect("the log");
    assert!(log.contains("THREE"), "{log}");
    assert!(broken.join("kept.cu").exists() && !broken.join("kept.ptx").exists());
}
