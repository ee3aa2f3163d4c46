//! Rust types in CUDA C++, and kernels with declared parameters.

use cuprum_codegen::repr::vector::{Double4, Float3, Float4, Half2, Uchar4};
use cuprum_codegen::repr::{CType, DevicePtr};
use cuprum_codegen::{DeviceRepr, ErrorKind, Source, SourceModule, Target, compile, kernel};
use cuprum_driver_core::{Context, Device, DeviceBuffer, LaunchConfig};
use half::f16;

fn context() -> Context {
    Device::by_name("soft:0")
        .and_then(|device| device.context())
        .expect("the software device is there")
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Inner {
    tag: u8,
    weight: f64,
    halves: [f16; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C, align(32))]
#[device(name = "outer_t")]
struct Outer {
    flag: bool,
    position: Float3,
    grid: [[i16; 3]; 2],
    color: Float4,
    inner: [Inner; 2],
    #[device(name = "class_")]
    class: u64,
    address: DevicePtr,
    pair: Half2,
    wide: Double4,
    texel: Uchar4,
    last: i8,
}

fn sample(seed: u8) -> Outer {
    let inner = |tag: u8| Inner {
        tag,
        weight: f64::from(tag) * 0.5,
        halves: [
            f16::from_f32(1.0),
            f16::from_f32(2.0),
            f16::from_f32(f32::from(tag)),
        ],
    };
    Outer {
        flag: true,
        position: Float3::new(1.0, 2.0, f32::from(seed)),
        grid: [[1, 2, 3], [4, 5, i16::from(seed)]],
        color: Float4::new(0.1, 0.2, 0.3, 0.4),
        inner: [inner(seed), inner(seed.wrapping_add(1))],
        class: 1 << 40,
        address: DevicePtr(0),
        pair: Half2::new(f16::from_f32(3.0), f16::from_f32(4.0)),
        wide: Double4::new(1.0, 2.0, 3.0, 4.0),
        texel: Uchar4::new(1, 2, 3, 4),
        last: -5,
    }
}

const USES_OUTER: &str = r#"
__global__ void change(outer_t *p, Inner by)
{
    outer_t &o = p[threadIdx.x];
    o.flag = !o.flag;
    o.position.z += 1.0f;
    o.grid[1][2] = o.grid[0][2];
    o.inner[1].weight += by.weight;
    o.inner[0].halves[2] = by.halves[0];
    o.class_ += 1;
    o.address = p;
    o.pair.y = o.pair.x;
    o.wide.w = -o.wide.w;
    o.texel.w = by.tag;
    o.last--;
}
"#;

#[test]
fn structures_mean_the_same_on_both_sides() {
    let context = context();
    let stream = context.default_stream();
    let module = Source::new(USES_OUTER)
        .declare::<Outer>()
        .build(&context)
        .expect("it compiles");
    let before: Vec<Outer> = (0..7).map(sample).collect();
    let by = sample(100).inner[0];
    let mut buffer = DeviceBuffer::from_slice(&stream, &before).expect("there is memory");
    let address = buffer.address();
    let change = module.function("change").expect("it is there");
    // SAFETY: seven threads change one element each, of seven.
    unsafe {
        change
            .launch(&stream, LaunchConfig::grid_1d(1, 7), (&mut buffer, by))
            .expect("it runs");
    }
    let want: Vec<Outer> = before
        .iter()
        .map(|old| {
            let mut new = *old;
            new.flag = false;
            new.position.z += 1.0;
            new.grid[1][2] = 3;
            new.inner[1].weight += by.weight;
            new.inner[0].halves[2] = by.halves[0];
            new.class += 1;
            new.address = DevicePtr(address);
            new.pair.y = new.pair.x;
            new.wide.w = -4.0;
            new.texel.w = 100;
            new.last = -6;
            new
        })
        .collect();
    assert_eq!(buffer.to_vec().expect("it can be read"), want);
}

#[test]
fn declarations_read_well() {
    let source = Source::new("").declare::<Inner>().declare::<Inner>();
    insta::assert_snapshot!(source.declarations(), @r#"
    #include <cuda_fp16.h>
    struct alignas(8) Inner {
        unsigned char tag;
        double weight;
        __half halves[3];
    };
    static_assert(sizeof(Inner) == 24, "Inner has 24 bytes in Rust");
    static_assert(alignof(Inner) == 8, "Inner is aligned to 8 bytes in Rust");
    static_assert(__builtin_offsetof(Inner, tag) == 0, "Inner::tag is at byte 0 in Rust");
    static_assert(__builtin_offsetof(Inner, weight) == 8, "Inner::weight is at byte 8 in Rust");
    static_assert(__builtin_offsetof(Inner, halves) == 16, "Inner::halves is at byte 16 in Rust");
    "#);
    let grid = <[[i16; 3]; 2]>::c_type();
    assert_eq!(
        (grid.to_string().as_str(), grid.declare("g").as_str()),
        ("short[2][3]", "short g[2][3]")
    );
    assert_eq!(CType::named("void *").declare("p"), "void *p");
}

/// A field that is elsewhere than the Rust type says does not compile.
#[test]
fn a_layout_that_differs_is_a_compile_error() {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Liar {
        _a: u32,
        _b: u64,
    }
    // SAFETY: not kept on purpose, in a source that does not compile.
    unsafe impl cuprum_driver_core::DeviceCopy for Liar {}
    // SAFETY: as above: the assertions of the declaration are what is tested.
    unsafe impl DeviceRepr for Liar {
        fn c_type() -> CType {
            CType::named("Liar")
        }
        fn declare(declarations: &mut cuprum_codegen::repr::Declarations) {
            declarations.structure::<Self>("Liar", |members| {
                members.push(cuprum_codegen::repr::Member::of::<u32>("a", 4));
                members.push(cuprum_codegen::repr::Member::of::<u64>("b", 8));
            });
        }
    }
    let error = compile(
        &Source::new("__global__ void k(Liar *p) {}").declare::<Liar>(),
        Target::Ptx(80),
    )
    .expect_err("the offsets differ");
    assert_eq!(error.kind(), ErrorKind::Compile);
    assert!(
        error.to_string().contains("Liar::a is at byte 4 in Rust"),
        "{error}"
    );
}

#[test]
fn vector_types_have_the_layout_of_cudas() {
    use cuprum_codegen::repr::vector::*;
    macro_rules! asserts {
        ($($name:ident)+) => {
            [$((<$name as DeviceRepr>::c_type().to_string(), size_of::<$name>(), align_of::<$name>())),+]
        };
    }
    let all = asserts!(
        Char2 Char3 Char4 Uchar2 Uchar3 Uchar4 Short2 Short3 Short4 Ushort2 Ushort3 Ushort4 Int2 Int3 Int4 Uint2 Uint3
        Uint4 Longlong2 Longlong3 Longlong4 Ulonglong2 Ulonglong3 Ulonglong4 Float2 Float3 Float4 Double2 Double3
        Double4 Half2 Bfloat162
    );
    let mut text = String::from("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n");
    for (name, size, align) in &all {
        text.push_str(&format!(
            "static_assert(sizeof({name}) == {size} && alignof({name}) == {align}, \"{name}\");\n"
        ));
    }
    text.push_str("__global__ void k() {}");
    compile(&Source::new(text), Target::Ptx(80)).expect("all layouts agree");
}

const AXPY: &str = r#"
#include <cuprum/span.h>
extern "C" __global__ void axpy(float a, const float *x, float *y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void scale(cuprum::span<const float> x, cuprum::span<float> y, double by)
{
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y.size()) y.at(i) = x.at(i) * by;
}
template <class T> __global__ void fill(T *x, T v, int n) { if (threadIdx.x < n) x[threadIdx.x] = v; }
"#;

kernel! {
    /// `y += a * x`.
    pub struct Axpy;
    fn axpy(a: f32, x: &[f32], y: &mut [f32], n: u32)
    requires n as usize <= x.len(), n as usize <= y.len();
}

kernel! {
    struct Scale;
    fn scale(x: Span<&[f32]>, y: Span<&mut [f32]>, by: f64)
    requires x.len() == y.len(), by.is_finite();
}

kernel! {
    struct Fill;
    fn fill = "fill<int>"(x: &mut [i32], v: i32, n: i32)
    requires n >= 0, n as usize <= x.len();
}

fn module(context: &Context) -> SourceModule {
    Source::new(AXPY)
        .name_expression("fill<int>")
        .build(context)
        .expect("it compiles")
}

#[test]
fn typed_kernels_run_safely() {
    let context = context();
    let module = module(&context);
    let stream = context.new_stream().expect("a stream");
    // SAFETY: each kernel touches the elements below its count, or inside its spans, one per thread.
    let (axpy, scale, fill) = unsafe {
        (
            Axpy::load(&module).expect("it fits"),
            Scale::load(&module).expect("it fits"),
            Fill::load(&module).expect("it fits"),
        )
    };
    let n = 1000;
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = DeviceBuffer::from_slice(&stream, &values).expect("there is memory");
    let mut y = DeviceBuffer::from_slice(&stream, &vec![1.0f32; n]).expect("there is memory");
    let config = LaunchConfig::for_elements(n);
    axpy.launch(&stream, config, 2.0, &x, &mut y, n as u32)
        .expect("it runs");
    // Views of parts, and a clone of the kernel.
    axpy.clone()
        .launch(&stream, config, 1.0, x.slice(..10), y.slice_mut(990..), 10)
        .expect("it runs");
    let want: Vec<f32> = (0..n)
        .map(|i| 1.0 + 2.0 * i as f32 + if i >= 990 { (i - 990) as f32 } else { 0.0 })
        .collect();
    assert_eq!(y.to_vec().expect("it can be read"), want);

    scale
        .launch(&stream, config, &x, &mut y, 0.5)
        .expect("it runs");
    let want: Vec<f32> = values.iter().map(|x| x * 0.5).collect();
    assert_eq!(y.to_vec().expect("it can be read"), want);

    let mut z = DeviceBuffer::<i32>::zeros(&stream, 8).expect("there is memory");
    fill.launch(&stream, LaunchConfig::grid_1d(1, 8), &mut z, -3, 5)
        .expect("it runs");
    assert_eq!(
        z.to_vec().expect("it can be read"),
        [-3, -3, -3, -3, -3, 0, 0, 0]
    );
    assert!(fill.function().attributes().max_threads >= 8);
}

#[test]
fn broken_requirements_tell_the_numbers() {
    let context = context();
    let module = module(&context);
    let stream = context.default_stream();
    // SAFETY: as in the test above.
    let (axpy, scale) = unsafe {
        (
            Axpy::load(&module).expect("it fits"),
            Scale::load(&module).expect("it fits"),
        )
    };
    let x = DeviceBuffer::<f32>::zeros(&stream, 4).expect("there is memory");
    let mut y = DeviceBuffer::<f32>::zeros(&stream, 8).expect("there is memory");
    let config = LaunchConfig::for_elements(8);
    let error = axpy
        .launch(&stream, config, 2.0, &x, &mut y, 5)
        .expect_err("x is too short");
    assert_eq!(error.kind(), ErrorKind::Requirement);
    insta::assert_snapshot!(error, @"the kernel `axpy` requires n as usize <= x.len(), and x.len() = 4, n = 5");
    let error = scale
        .launch(&stream, config, &x, &mut y, 1.0)
        .expect_err("the lengths differ");
    insta::assert_snapshot!(error, @"the kernel `scale` requires x.len() == y.len(), and x.len() = 4, y.len() = 8");
    let error = scale
        .launch(&stream, config, &x, y.slice_mut(..4), f64::NAN)
        .expect_err("it is no number");
    insta::assert_snapshot!(error, @"the kernel `scale` requires by.is_finite(), and by = NaN");
    assert_eq!(y.to_vec().expect("it can be read"), [0.0; 8]);
}

#[test]
fn declarations_that_do_not_fit_are_load_errors() {
    kernel! {
        struct TooFew;
        fn axpy(a: f32, x: &[f32], y: &mut [f32]);
    }
    kernel! {
        struct WrongElement;
        fn axpy(a: f32, x: &[f64], y: &mut [f32], n: u32);
    }
    kernel! {
        struct Swapped;
        fn axpy(a: &[f32], x: &[f32], y: &mut [f32], n: u32);
    }
    kernel! {
        struct NotConst;
        fn axpy(a: f32, x: &[f32], y: &[f32], n: u32);
    }
    kernel! {
        struct WrongSize;
        fn axpy(a: f64, x: &[f32], y: &mut [f32], n: u32);
    }
    kernel! {
        struct WrongSign;
        fn axpy(a: f32, x: &[f32], y: &mut [f32], n: i32);
    }
    kernel! {
        struct NoSpan;
        fn scale(x: &[f32], y: Span<&mut [f32]>, by: f64);
    }
    kernel! {
        struct Missing;
        fn saxpy(a: f32);
    }
    let context = context();
    let module = module(&context);
    // SAFETY: none of these loads.
    let errors = unsafe {
        [
            TooFew::load(&module).map(drop),
            WrongElement::load(&module).map(drop),
            Swapped::load(&module).map(drop),
            NotConst::load(&module).map(drop),
            WrongSize::load(&module).map(drop),
            WrongSign::load(&module).map(drop),
            NoSpan::load(&module).map(drop),
            Missing::load(&module).map(drop),
        ]
    };
    let texts: Vec<String> = errors
        .into_iter()
        .map(|error| error.expect_err("it does not fit").to_string())
        .collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    the kernel `axpy` takes 4 parameters, and is declared with 3: (a: float, x: const float *, y: float *)
    parameter 1 of the kernel `axpy` is `const float* x`, and is declared as `x` (const double *): the types differ
    parameter 0 of the kernel `axpy` is `float a`, and is declared as `a` (const float *): the kernel takes a value there, not an address
    parameter 2 of the kernel `axpy` is `float* y`, and is declared as `y` (const float *): the kernel may write there: declare it `&mut`, or make the kernel's parameter a pointer to const
    parameter 0 of the kernel `axpy` is `float a`, and is declared as `a` (double): the types differ
    parameter 3 of the kernel `axpy` is `unsigned n`, and is declared as `n` (int): the types differ
    parameter 0 of the kernel `scale` is `cuprum::span<const float> x`, and is declared as `x` (const float *): it has 16 bytes in the image and 8 here
    there is no kernel saxpy: the module has axpy, scale, fill<int> (_Z4fillIiEvPT_S0_i)
    ");
}

#[test]
fn wrong_arguments_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
