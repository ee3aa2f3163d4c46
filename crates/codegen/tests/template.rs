//! Templates compiled and run on the software device.

use cuprum_codegen::repr::Scalar;
use cuprum_codegen::{CLiteral as _, Code, ErrorKind, Source, Target, Template, compile};
use cuprum_codegen::{SourceModule, nvrtc};
use cuprum_driver_core::{Context, Device, DeviceBuffer, DeviceCopy, LaunchConfig};

fn context() -> Context {
    Device::by_name("soft:0")
        .expect("the software device")
        .context()
        .expect("its context")
}

fn pinned(source: Source) -> Source {
    source
        .cache(false)
        .compiler(nvrtc::Nvrtc::of_wheel(nvrtc::Wheel::Cuda13_5).expect("the pinned NVRTC"))
}

const BROKEN: &str = "// rows of a table
{% for row in rows %}
__device__ float row{{ loop.index }}(float x)
{
    return {{ row | c('float') }} * y;
}
{% endfor %}
__global__ void k(float *x) { *x = row1(*x); }
";

/// A compile error names the template's line, shows what was made of it, and then the line itself.
#[test]
fn compile_errors_are_at_the_templates_line() {
    let source = Template::new("rows.cu", BROKEN)
        .expect("a template")
        .with("rows", [0.5, -2.0])
        .render()
        .expect("renders");
    let error = compile(&pinned(source), Target::Ptx(80)).expect_err("y is not declared");
    insta::assert_snapshot!(error, @r#"
    NVRTC 13.5 could not compile rows.cu: 2 errors
    error: identifier "y" is undefined
     --> rows.cu:5:19
      |
    5 |     return 0.5f * y;
      |                   ^
      |
    note: this line of the template gave it
     --> rows.cu:5:5
      |
    5 |     return {{ row | c('float') }} * y;
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    error: identifier "y" is undefined
     --> rows.cu:5:22
      |
    5 |     return (-2.0f) * y;
      |                      ^
      |
    note: this line of the template gave it
     --> rows.cu:5:5
      |
    5 |     return {{ row | c('float') }} * y;
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    let failure = error.compile_failure().expect("a compile error");
    for one in &failure.diagnostics {
        let place = one.location.as_ref().expect("a place");
        assert_eq!((place.file.as_str(), place.line), ("rows.cu", 5));
    }
}

/// With `extern "C"` around it, too, and in a part.
#[test]
fn compile_errors_of_parts_and_wrapped_sources() {
    let template = Template::new(
        "main.cu",
        "// first\n{% if true %}\n#include <stdint.h>\n{% endif %}\n{% include 'part.cu' %}\n__global__ void k(float *x) { *x = f(*x); }\n",
    )
    .and_then(|template| {
        template.part(
            "part.cu",
            "// part\n{# nothing #}\n__device__ float f(float x) { return {{ name }}; }\n",
        )
    })
    .expect("templates");
    for wrap in [false, true] {
        let source = template
            .with("name", "unknown")
            .render()
            .expect("renders")
            .extern_c(wrap);
        let error = compile(&pinned(source), Target::Ptx(80)).expect_err("unknown is unknown");
        let failure = error.compile_failure().expect("a compile error");
        let place = failure.diagnostics[0].location.as_ref().expect("a place");
        assert_eq!((place.file.as_str(), place.line), ("part.cu", 3), "{error}");
        assert!(error.to_string().contains("return {{ name }};"), "{error}");
    }
}

/// Compiles `out[k] = literal;` for each literal and brings the values back.
fn compiled<T: DeviceCopy + Default>(ty: &str, literals: &[String]) -> Vec<T> {
    let context = context();
    let stream = context.default_stream();
    let mut code = Code::new();
    code.block(format!("__global__ void values({ty} *out)"), |code| {
        for (k, literal) in literals.iter().enumerate() {
            code.line(format!("out[{k}] = {literal};"));
        }
    });
    let module = SourceModule::builder(String::from(code))
        .build(&context)
        .expect("the literals compile");
    // Nothing is warned of: every literal is in the range of its type.
    assert_eq!(module.log(), "");
    let mut out =
        DeviceBuffer::from_slice(&stream, &vec![T::default(); literals.len()]).expect("copied");
    let values = module.function("values").expect("found");
    // SAFETY: one thread writes as many elements as there are.
    unsafe { values.launch(&stream, LaunchConfig::grid_1d(1, 1), (&mut out,)) }.expect("launched");
    out.to_vec().expect("copied back")
}

/// Bits that look random.
fn bits(count: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
        .collect()
}

/// The compiler reads each literal as exactly the value it was made of.
#[test]
fn literals_are_exact() {
    let mut floats = vec![
        0.0,
        -0.0,
        1.0,
        0.1,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x007f_ffff),
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::from_bits(0xffc0_1234),
    ];
    floats.extend(bits(200).iter().map(|&b| f32::from_bits(b as u32)));
    let literals: Vec<String> = floats.iter().map(f32::c_literal).collect();
    for (got, want) in compiled::<f32>("float", &literals).iter().zip(&floats) {
        assert_eq!(got.to_bits(), want.to_bits(), "{want:?}");
    }

    let mut doubles = vec![
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::INFINITY,
        f64::NAN,
        f64::from_bits(0x7ff8_0000_0000_4711),
        -1e22,
    ];
    doubles.extend(bits(200).iter().map(|&b| f64::from_bits(b)));
    let literals: Vec<String> = doubles.iter().map(f64::c_literal).collect();
    for (got, want) in compiled::<f64>("double", &literals).iter().zip(&doubles) {
        assert_eq!(got.to_bits(), want.to_bits(), "{want:?}");
    }

    let mut integers = vec![i64::MIN, i64::MAX, 0, -1];
    integers.extend(bits(50).iter().map(|&b| b as i64));
    let literals: Vec<String> = integers.iter().map(i64::c_literal).collect();
    assert_eq!(compiled::<i64>("long long", &literals), integers);
    let unsigned: Vec<u64> = bits(50);
    let literals: Vec<String> = unsigned.iter().map(u64::c_literal).collect();
    assert_eq!(compiled::<u64>("unsigned long long", &literals), unsigned);
    let small = [i32::MIN, i32::MAX, -1, 0];
    let literals: Vec<String> = small.iter().map(i32::c_literal).collect();
    assert_eq!(compiled::<i32>("int", &literals), small);

    // The values of a character string, one by one.
    let text = "a\"b\\c\n\t??=\u{1}2é";
    let literals: Vec<String> = (0..text.len())
        .map(|k| format!("(unsigned char){}[{k}]", text.c_literal()))
        .collect();
    assert_eq!(compiled::<u8>("unsigned char", &literals), text.as_bytes());
}

/// Infinities and NaN stand where a constant expression must.
#[test]
fn literals_are_constant_expressions() {
    let source = format!(
        "constexpr float a = {}; constexpr double b = {}; constexpr float c = {}; static_assert(a > 1e38f && b < -1e300 && c != c, \"\"); __constant__ float t[2] = {};",
        f32::INFINITY.c_literal(),
        f64::NEG_INFINITY.c_literal(),
        f32::NAN.c_literal(),
        [f32::NEG_INFINITY, 0.5].c_literal(),
    );
    compile(&pinned(Source::new(source)), Target::Ptx(80)).expect("constant");
}

#[test]
fn a_template_runs_for_every_type() {
    let context = context();
    let stream = context.default_stream();
    let template = Template::new(
        "scale.cu",
        "__global__ void scale({{ type | ctype }} *x) { x[threadIdx.x] *= {{ factor | c(type) }}; }\n",
    )
    .expect("a template");
    fn run<T: DeviceCopy>(context: &Context, source: &Source, values: &[T]) -> Vec<T> {
        let stream = context.default_stream();
        let module = source.build(context).expect("builds");
        let mut x = DeviceBuffer::from_slice(&stream, values).expect("copied");
        let scale = module.function("scale").expect("found");
        let config = LaunchConfig::grid_1d(1, values.len() as u32);
        // SAFETY: one thread for each element.
        unsafe { scale.launch(&stream, config, (&mut x,)) }.expect("launched");
        x.to_vec().expect("copied back")
    }
    let source = |ty: &str, factor: f64| {
        template
            .with("type", ty)
            .with("factor", factor)
            .render()
            .expect("renders")
    };
    assert_eq!(
        run(&context, &source("f32", 0.5), &[3.0_f32, -1.0]),
        [1.5, -0.5]
    );
    assert_eq!(
        run(&context, &source("f64", 0.1), &[1.0_f64, 3.0]),
        [0.1, 3.0 * 0.1]
    );
    assert_eq!(run(&context, &source("i16", -3.0), &[5_i16, -7]), [-15, 21]);
    assert_eq!(
        run(&context, &source("u64", 3.0), &[1_u64 << 40, 7]),
        [3 << 40, 21]
    );
    let error = template
        .with("type", Scalar::I32)
        .with("factor", 0.5)
        .render()
        .expect_err("no integer");
    assert_eq!(error.kind(), ErrorKind::Template);
    drop(stream);
}
