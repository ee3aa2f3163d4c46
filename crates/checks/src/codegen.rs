//! Run-time compilation, as a program on this device sees it.

use cuprum::codegen::repr::{Complex, vector};
use cuprum::codegen::tuner::{Candidate, Reason, Scale, Space, Tunable, Tuner, Verdict};
use cuprum::codegen::{DeviceRepr, LinkedModule, Provenance, Source, Template};
use cuprum::prelude::{DeviceBuffer, LaunchConfig, SourceModule, Stream};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::{Kernels, equal, launch};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(errors_are_at_the_users_line),
        check!(headers_definitions_and_c_names),
        check!(templates_by_name_expression),
        check!(headers_of_older_sources),
        check!(a_second_build_comes_from_the_cache),
        check!(sources_are_linked),
        check!(resources_are_told),
        check!(templates_are_rendered_for_the_device),
        check!(tuning_finds_what_works),
        check!(layouts_are_those_of_rust),
        check!(headers_of_cuda_and_its_libraries),
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

/// What one source declares is what another defines: by cubins on a GPU, by PTX on a software device.
fn sources_are_linked(subject: &Subject) -> Result<Report, Failure> {
    let module = LinkedModule::builder()
        .source(Source::new(
            "extern __device__ int twice(int x); extern __constant__ int offset; __global__ void k(int *x) { x[threadIdx.x] = twice(x[threadIdx.x]) + offset; }",
        ))
        .source(Source::new(
            "__constant__ int offset = 7; __device__ int twice(int x) { return 2 * x; }",
        ))
        .build(&subject.context)?;
    let mut x = DeviceBuffer::from_slice(&subject.stream, &[1, 2, 3, 4])?;
    launch(
        &module.function("k")?,
        &subject.stream,
        LaunchConfig::grid_1d(1, 4),
        (&mut x,),
    )?;
    equal("linked", &x.to_vec()?, &[9, 11, 13, 15])?;
    let lonely = LinkedModule::builder()
        .source(Source::new(
            "extern __device__ int nowhere(int x); __global__ void k(int *x) { *x = nowhere(1); }",
        ))
        .build(&subject.context);
    let Err(error) = lonely else {
        return Err(Failure::new("a function that nothing defines was linked"));
    };
    ensure!(
        error.to_string().contains("nowhere"),
        "the symbol is not named: {error}"
    );
    Ok(Report::exact(5))
}

/// Static shared memory is exactly what the source declares; a block of the stated size is resident.
fn resources_are_told(subject: &Subject) -> Result<Report, Failure> {
    let module = SourceModule::new(
        &subject.context,
        "__global__ void plain(int *x) { x[0] = 1; } __global__ void shared(int *x) { __shared__ int s[500]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[499 - threadIdx.x]; }",
    )?;
    let uses = module.resource_use()?;
    let mut told: Vec<(&str, u32)> = uses
        .iter()
        .map(|one| (one.kernel(), one.attributes().static_shared))
        .collect();
    told.sort_unstable();
    ensure_eq!(
        told,
        vec![("plain", 0), ("shared", 2000)],
        "static shared memory"
    );
    for one in &uses {
        ensure!(one.attributes().registers > 0, "{one}");
        ensure!(
            one.blocks_per_multiprocessor(128, 0)? >= 1,
            "{one} is never resident"
        );
    }
    Ok(Report::exact(4))
}

/// A template makes one kernel for the device's own numbers.
fn templates_are_rendered_for_the_device(subject: &Subject) -> Result<Report, Failure> {
    let template = Template::new(
        "capability.cu",
        "__global__ void tell(unsigned *x)\n{\n{% for part in capability %}\n    x[{{ loop.index0 }}] = {{ part | c('u32') }};\n{% endfor %}\n}\n",
    )?;
    let (major, minor) = subject.device.compute_capability();
    let source = template.with("capability", [major, minor]).render()?;
    let kernels = Kernels::build(subject, source)?;
    equal(
        "the capability",
        &kernels.fill::<u32>("tell", ONE, 2)?,
        &[major, minor],
    )
}

/// `y = x + 1` by blocks of `BLOCK` threads; one that forgets the last element, and one that does not compile.
struct AddOne;

impl Tunable for AddOne {
    type Data = (Vec<i32>, DeviceBuffer<i32>);

    fn source(&self, candidate: &Candidate) -> cuprum::codegen::Result<Source> {
        Ok(candidate.define(Source::new(
            "__global__ void add(int *x, int n) { int i = blockIdx.x * BLOCK + threadIdx.x; if (BAD == 1) n -= 1; if (i < n) x[i] += 1;\n#if BAD == 2\nundeclared();\n#endif\n}",
        )))
    }

    fn prepare(&self, stream: &Stream, scale: Scale) -> cuprum::codegen::Result<Self::Data> {
        let n = if scale == Scale::Small { 77 } else { 10_000 };
        let x: Vec<i32> = (0..n).collect();
        let device = DeviceBuffer::from_slice(stream, &x)?;
        Ok((x, device))
    }

    fn launch(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        stream: &Stream,
        (host, x): &mut Self::Data,
    ) -> cuprum::codegen::Result<()> {
        let config = LaunchConfig::for_elements_in(host.len(), candidate.extent("BLOCK"));
        let n = crate::runner::length(host.len());
        launch(&module.function("add")?, stream, config, (x, n)).map_err(Into::into)
    }

    fn verify(&self, (host, x): &Self::Data) -> cuprum::codegen::Result<Verdict> {
        let want: Vec<i32> = host.iter().map(|x| x + 1).collect();
        Ok(Verdict::compare(&x.to_vec()?, &want))
    }
}

/// The candidates that work are measured, the others named; a second run knows all of it.
fn tuning_finds_what_works(subject: &Subject) -> Result<Report, Failure> {
    let dir = std::env::temp_dir().join(format!(
        "cuprum-tuning-{}-{}",
        std::process::id(),
        subject.device.label()
    ));
    let tune = || {
        let space = Space::new()
            .axis("BLOCK", [32, 128, 4096])
            .axis("BAD", [0, 1, 2]);
        Tuner::new("add one", space)
            .dir(&dir)
            .run(&subject.device, &AddOne)
    };
    let first = tune();
    let second = tune();
    // The folder is this check's own; that it cannot be removed is no concern of the tuner.
    let _ = std::fs::remove_dir_all(&dir);
    let (first, second) = (first?, second?);
    ensure_eq!(first.measured().count(), 2, "the candidates that work");
    for (candidate, rejection) in first.rejected() {
        let want = match (candidate.number("BAD"), candidate.number("BLOCK")) {
            (2, _) => Reason::Compile,
            (_, 4096) => Reason::Resources,
            _ => Reason::WrongAnswer,
        };
        ensure_eq!(rejection.reason(), want, "{candidate}: {rejection}");
    }
    for one in second.outcomes() {
        let compiled = one.candidate().number("BAD") != 2;
        ensure_eq!(
            one.is_remembered(),
            compiled,
            "whether {} is remembered",
            one.candidate()
        );
    }
    ensure_eq!(first.best().0, second.best().0, "the best");
    Ok(Report::exact(9))
}

/// What the device's compiler says of each vector type and of complex numbers is what Rust says.
fn layouts_are_those_of_rust(subject: &Subject) -> Result<Report, Failure> {
    macro_rules! layouts {
        ($($ty:ident)+) => {
            [$((<vector::$ty as DeviceRepr>::c_type().to_string(), size_of::<vector::$ty>(), align_of::<vector::$ty>())),+]
        };
    }
    let mut wanted = layouts! {
        Char1 Char2 Char3 Char4 Uchar1 Uchar2 Uchar3 Uchar4 Short1 Short2 Short3 Short4 Ushort1 Ushort2 Ushort3 Ushort4
        Int1 Int2 Int3 Int4 Uint1 Uint2 Uint3 Uint4 Long1 Long2 Long3 Long4 Ulong1 Ulong2 Ulong3 Ulong4
        Longlong1 Longlong2 Longlong3 Longlong4 Ulonglong1 Ulonglong2 Ulonglong3 Ulonglong4
        Float1 Float2 Float3 Float4 Double1 Double2 Double3 Double4 Half2 Bfloat162
    }
    .to_vec();
    wanted.extend([
        (
            Complex::<f32>::c_type().to_string(),
            8,
            align_of::<Complex<f32>>(),
        ),
        (
            Complex::<f64>::c_type().to_string(),
            16,
            align_of::<Complex<f64>>(),
        ),
    ]);
    let names: Vec<&str> = wanted.iter().map(|(name, ..)| name.as_str()).collect();
    let layouts = Source::new(
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuprum/complex.h>\n",
    )
    .layouts(&subject.context, &names)?;
    for ((name, size, align), layout) in wanted.iter().zip(&layouts) {
        ensure_eq!(
            (layout.size, layout.align),
            (*size, *align),
            "size and alignment of {name}"
        );
    }
    Ok(Report::exact(layouts.len() as u64))
}

/// CUDA's own headers, cooperative groups, cuRAND's device functions, CUB and libcu++, each used by a kernel.
fn headers_of_cuda_and_its_libraries(subject: &Subject) -> Result<Report, Failure> {
    let run = |source: &str, want: &[i32]| -> Result<Report, Failure> {
        let kernels = Kernels::new(subject, source)?;
        let got: Vec<i32> = kernels.fill("k", LaunchConfig::grid_1d(1, 64), want.len())?;
        equal("out", &got, want)
    };
    let half = run(
        "#include <cuda_fp16.h>\n__global__ void k(int *x) { if (threadIdx.x == 0) x[0] = __half2int_rn(__hmul(__float2half(2.5f), __int2half_rn(4))); }",
        &[10],
    )?;
    let groups = run(
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n__global__ void k(int *x) { auto warp = cg::tiled_partition<32>(cg::this_thread_block()); int sum = cg::reduce(warp, (int)threadIdx.x, cg::plus<int>()); if (warp.thread_rank() == 0) x[threadIdx.x / 32] = sum; }",
        &[31 * 32 / 2, 31 * 32 / 2 + 32 * 32],
    )?;
    let cub = run(
        "#include <cub/block/block_reduce.cuh>\n__global__ void k(int *x) { using Reduce = cub::BlockReduce<int, 64>; __shared__ typename Reduce::TempStorage space; int sum = Reduce(space).Sum(threadIdx.x); if (threadIdx.x == 0) x[0] = sum; }",
        &[63 * 32],
    )?;
    let libcu = run(
        "#include <cuda/std/array>\n#include <cuda/atomic>\n__global__ void k(int *x) { cuda::std::array<int, 2> a{3, 4}; cuda::atomic_ref<int, cuda::thread_scope_device> all(*x); all.fetch_add(a[threadIdx.x % 2]); }",
        &[7 * 32],
    )?;
    // The first number of XORWOW's sequence 0 for seed 0 is any number; that two states of one seed agree, and of two do not, is known.
    let curand = run(
        "#include <curand_kernel.h>\n__global__ void k(int *x) { if (threadIdx.x) return; curandState a, b, c; curand_init(7, 0, 0, &a); curand_init(7, 0, 0, &b); curand_init(8, 0, 0, &c); unsigned u = curand(&a); x[0] = u == curand(&b); x[1] = u == curand(&c); float f = curand_uniform(&a); x[2] = f > 0.0f && f <= 1.0f; }",
        &[1, 0, 1],
    )?;
    Ok(half.and(groups).and(cub).and(libcu).and(curand))
}
