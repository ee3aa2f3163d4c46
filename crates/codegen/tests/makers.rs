//! What is wrong with a kernel made from expressions is told of the expression, at its line.

use cuprum_codegen::makers::{ElementwiseKernel, ReductionKernel, ScanKernel};
use cuprum_codegen::nvrtc::{Nvrtc, Wheel};
use cuprum_codegen::{Error, ErrorKind, Result, Source};
use cuprum_driver_core::{Context, Device};

fn context() -> Context {
    Device::by_name("soft:0")
        .and_then(|device| device.context())
        .expect("the software device is there")
}

/// The pinned compiler, whose words are compared, and no cache.
fn pinned(source: Source) -> Source {
    source
        .cache(false)
        .compiler(Nvrtc::of_wheel(Wheel::Cuda13_5).expect("NVRTC 13.5"))
}

fn elementwise(arguments: &str, operation: &str) -> Result<ElementwiseKernel> {
    let builder = ElementwiseKernel::builder(arguments, operation)
        .name("scale")
        .source_with(pinned);
    // SAFETY: the kernels of these tests are not made.
    unsafe { builder.build(&context()) }
}

fn refused<T: std::fmt::Debug>(kernel: Result<T>) -> Error {
    kernel.expect_err("what is wrong with it is told")
}

#[test]
fn a_wrong_operation_is_shown_at_its_own_line() {
    let error = refused(elementwise(
        "const float *x, float *y",
        "float z = x[i];\ny[i] = 2 * zz",
    ));
    assert_eq!(error.kind(), ErrorKind::Compile);
    insta::assert_snapshot!(error, @r#"
    NVRTC 13.5 could not compile scale.cu: 1 error
    error: identifier "zz" is undefined
     --> operation:2:12
      |
    2 | y[i] = 2 * zz
      |            ^^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    let failure = error.compile_failure().expect("a failure");
    let place = failure.diagnostics[0].location.as_ref().expect("a place");
    assert_eq!((place.file.as_str(), place.line), ("operation", 2));
}

#[test]
fn wrong_expressions_are_told_apart() {
    let context = context();
    let reduction = |neutral: &str, reduce: &str, map: &str| {
        let builder = ReductionKernel::<f32>::builder("const float *x", neutral, reduce)
            .map(map)
            .source_with(pinned);
        // SAFETY: as above.
        refused(unsafe { builder.build(&context) })
    };
    insta::assert_snapshot!(reduction("zero", "a + b", "x[i]"), @r#"
    NVRTC 13.5 could not compile reduction.cu: 1 error
    error: identifier "zero" is undefined
     --> neutral:1:1
      |
    1 | zero
      | ^^^^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    insta::assert_snapshot!(reduction("0", "a + c", "x[i]"), @r#"
    NVRTC 13.5 could not compile reduction.cu: 1 error
    error: identifier "c" is undefined
     --> reduce:1:5
      |
    1 | a + c
      |     ^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    insta::assert_snapshot!(reduction("0", "a + b", "x[i] *"), @r#"
    NVRTC 13.5 could not compile reduction.cu: 1 error
    error: expected an expression
     --> map:2:9
      |
    2 |         ;
      |         ^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    let scan = |input: &str, output: &str, segments: &str| {
        let builder = ScanKernel::<i32>::inclusive("const int *x, int *y", "a + b")
            .input(input)
            .output(output)
            .segments(segments)
            .source_with(pinned);
        // SAFETY: as above.
        refused(unsafe { builder.build(&context) })
    };
    insta::assert_snapshot!(scan("x[j]", "y[i] = item", "i == 0"), @r#"
    NVRTC 13.5 could not compile scan.cu: 1 error
    error: identifier "j" is undefined
     --> input:1:3
      |
    1 | x[j]
      |   ^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    // An inclusive scan without a neutral value has no `previous`.
    insta::assert_snapshot!(scan("x[i]", "y[i] = previous", "i == 0"), @r#"
    NVRTC 13.5 could not compile scan.cu: 1 error
    error: identifier "previous" is undefined
     --> output:1:8
      |
    1 | y[i] = previous
      |        ^^^^^^^^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    insta::assert_snapshot!(scan("x[i]", "y[i] = item", "key[i] != 0"), @r#"
    NVRTC 13.5 could not compile scan.cu: 1 error
    error: identifier "key" is undefined
     --> segments:1:1
      |
    1 | key[i] != 0
      | ^^^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
}

#[test]
fn wrong_arguments_are_told_before_anything_is_compiled() {
    let arguments = |text: &str| {
        let error = refused(elementwise(text, "x[i] = 1"));
        assert_eq!(error.kind(), ErrorKind::Source, "{error}");
        error.to_string()
    };
    insta::assert_snapshot!(arguments("float x"), @"kernel `scale`: no argument is a vector that gives the number of elements, such as `const float *x`");
    insta::assert_snapshot!(arguments("float *x, int n"), @"kernel `scale`: the name of argument `n` is taken: the expressions have i, n");
    insta::assert_snapshot!(arguments("float *x, int cuprum_k"), @"kernel `scale`: the name of argument `cuprum_k` begins with `cuprum_`, as those of the kernel's own variables do");
    insta::assert_snapshot!(arguments("float *x, float *x"), @"the arguments `float *x, float *x` cannot be read: `x` is declared twice");
    insta::assert_snapshot!(arguments("float **x"), @"the arguments `float **x` cannot be read: `x` is `float**`, and an argument is a value or a pointer to values");
    insta::assert_snapshot!(arguments("float *"), @"the arguments `float *` cannot be read: `float*` has no name");
    let builder = ElementwiseKernel::builder("float *x", "x[i] = 1").name("two words");
    // SAFETY: as above.
    let error = refused(unsafe { builder.build(&context()) });
    insta::assert_snapshot!(error, @"kernel `two words`: its name is no identifier of C++");
    let builder = ElementwiseKernel::builder("float *x", "x[i] = 1").any_length(["table"]);
    // SAFETY: as above.
    let error = refused(unsafe { builder.build(&context()) });
    insta::assert_snapshot!(error, @"kernel `elementwise`: there is no vector argument `table`");
}

#[test]
fn values_that_no_block_can_scan_are_refused_by_their_size() {
    let builder = ScanKernel::<[u64; 64]>::inclusive("const int *x", "a");
    // SAFETY: as above.
    let error = refused(unsafe { builder.build(&context()) });
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error, @"kernel `scan`: a scan of values of 512 bytes takes 141440 bytes of shared memory, and a block has 49152");
}
