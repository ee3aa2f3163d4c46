//! Run-time compilation, as a program on this device sees it.

use cuprum::codegen::Provenance;
use cuprum::prelude::{LaunchConfig, SourceModule};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::{Kernels, equal};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(errors_are_at_the_users_line),
        check!(headers_definitions_and_c_names),
        check!(templates_by_name_expression),
        check!(headers_of_older_sources),
        check!(a_second_build_comes_from_the_cache),
    ]
}

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (1, 1, 1));

/// A message names the user's file and line and shows the line, wrapped in `extern "C"` or not.
fn errors_are_at_the_users_line(subject: &Subject) -> Result<Report, Failure> {
    let source = "// one\n// two\n__global__ void k(int *x) {\n    *x = undeclared_thing;\n}\n";
    for wrap in [false, true] {
        let answer = SourceModule::builder(source)
            .file_name("wrong.cu")
            .extern_c(wrap)
            .build(&subject.context);
        let Err(error) = answer else {
            return Err(Failure::new("a source with an error was compiled"));
        };
        let text = error.to_string();
        for told in ["wrong.cu", "undeclared_thing", "4 |"] {
            ensure!(text.contains(told), "the message lacks {told:?}: {text}");
        }
    }
    Ok(Report::exact(2))
}

/// Headers in memory, `-D`, and plain names for kernels that were not declared `extern "C"`.
fn headers_definitions_and_c_names(subject: &Subject) -> Result<Report, Failure> {
    let source = SourceModule::builder(
        "#include \"answer.h\"\n__global__ void give(int *out) { out[0] = ANSWER * SCALE + 1; }\n",
    )
    .header("answer.h", "#define ANSWER 42\n")
    .define("SCALE", "10")
    .extern_c(true);
    let kernels = Kernels::build(subject, source)?;
    equal(
        "the kernel's answer",
        &kernels.fill::<i32>("give", ONE, 1)?,
        &[421],
    )?;
    ensure!(
        kernels
            .module()
            .image()
            .entries()
            .iter()
            .any(|name| name == "give"),
        "the entry has another name: {:?}",
        kernels.module().image().entries()
    );
    Ok(Report::exact(2))
}

/// A template is found by the expressions that were asked for, each its own kernel.
fn templates_by_name_expression(subject: &Subject) -> Result<Report, Failure> {
    let source = SourceModule::builder(
        "template <typename T, int N> __global__ void power(T *out) { T p = 1; for (int i = 0; i < N; ++i) p *= T(3) / T(2); out[0] = p; }",
    )
    .name_expression("power<float, 3>")
    .name_expression("power<int, 5>");
    let kernels = Kernels::build(subject, source)?;
    equal(
        "floats",
        &kernels.fill::<f32>("power<float, 3>", ONE, 1)?,
        &[3.375],
    )?;
    equal(
        "integers",
        &kernels.fill::<i32>("power<int, 5>", ONE, 1)?,
        &[1],
    )?;
    ensure!(
        kernels.function("power<double, 2>").is_err(),
        "an expression nobody asked for was found"
    );
    Ok(Report::exact(3))
}

/// Sources that include the C headers which NVRTC lacks compile, and find their types and limits.
fn headers_of_older_sources(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"#include <cstdio>
#include <math.h>
#include <stdint.h>
#include <float.h>
#include <limits.h>
#include <assert.h>
extern "C" __global__ void limits(double *out) {
    assert(sizeof(uint64_t) == 8);
    out[0] = INT_MAX; out[1] = FLT_MAX; out[2] = (uint8_t)300; out[3] = sqrt(2.25);
}"#,
    )?;
    let want = [f64::from(i32::MAX), f64::from(f32::MAX), 44.0, 1.5];
    equal("limits", &kernels.fill::<f64>("limits", ONE, 4)?, &want)?;
    Ok(Report::exact(4))
}

/// The same source a second time comes from the cache, and works.
fn a_second_build_comes_from_the_cache(subject: &Subject) -> Result<Report, Failure> {
    let dir = std::env::temp_dir().join(format!(
        "cuprum-check-{}-{}",
        std::process::id(),
        subject.device.label()
    ));
    let build = || {
        SourceModule::builder("extern \"C\" __global__ void give(int *out) { out[0] = 12345; }")
            .cache_dir(&dir)
            .build(&subject.context)
    };
    let first = build()?.image().provenance().clone();
    let second = build();
    let third = build().map(|module| module.image().provenance().clone());
    // The folder is this check's own; that it cannot be removed is no concern of the cache.
    let _ = std::fs::remove_dir_all(&dir);
    ensure_eq!(first, Provenance::Compiled, "the first build");
    ensure_eq!(
        second?.image().provenance().clone(),
        Provenance::Cached,
        "the second build"
    );
    ensure_eq!(third?, Provenance::Cached, "the third build");
    Ok(Report::exact(3))
}
