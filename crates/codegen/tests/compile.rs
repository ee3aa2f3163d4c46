//! Compiling with a real NVRTC; no device is needed. The compiler is found, or fetched with `CUPRUM_FETCH=1`.

use std::path::Path;

use cuprum_codegen::nvrtc::{Nvrtc, Wheel};
use cuprum_codegen::{Cache, Error, ErrorKind, Image, Provenance, Source, Target, compile};

const PTX: Target = Target::Ptx(80);

/// Compiles without touching the user's cache.
fn fresh(source: Source) -> Result<Image, Error> {
    compile(&source.cache(false), PTX)
}

/// The default wheel's compiler, so that texts of one version can be compared with stored ones.
fn pinned() -> Nvrtc {
    Nvrtc::of_wheel(Wheel::Cuda13_5).expect("NVRTC 13.5")
}

/// The compilers of all pinned wheels.
fn every() -> [Nvrtc; 3] {
    Wheel::ALL.map(|wheel| Nvrtc::of_wheel(wheel).expect("the wheel"))
}

fn refused(source: Source) -> Error {
    fresh(source.compiler(pinned())).expect_err("this source is wrong")
}

#[test]
fn a_kernel_is_found_by_its_plain_name() {
    let source = "__global__ void saxpy(float a, const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }\nnamespace my { __global__ void two(int *x) { *x = 2; } }";
    let image = fresh(Source::new(source)).expect("compiles");
    assert_eq!(image.entries(), ["_Z5saxpyfPKfPfi", "_ZN2my3twoEPi"]);
    assert_eq!(
        image.lowered_name("saxpy").expect("found"),
        "_Z5saxpyfPKfPfi"
    );
    assert_eq!(
        image.lowered_name("my::two").expect("found"),
        "_ZN2my3twoEPi"
    );
    assert_eq!(image.architecture(), "compute_80");
    assert!(image.cubin().is_none());
    let error = image.lowered_name("daxpy").expect_err("there is none");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        "there is no kernel daxpy: the module has saxpy (_Z5saxpyfPKfPfi), my::two (_ZN2my3twoEPi)"
    );
}

#[test]
fn templates_and_variables_by_name_expression() {
    let source = Source::new("namespace a { template <class T, int N> __global__ void fill(T *x) { x[threadIdx.x] = N; } __constant__ float table[4]; }")
        .name_expression("a::fill<float, 3>")
        .name_expression("a::fill<int, 4>")
        .name_expression("&a::table");
    let image = fresh(source).expect("compiles");
    assert_eq!(image.entries().len(), 2);
    for (expression, lowered) in [
        ("a::fill<float, 3>", "_ZN1a4fillIfLi3EEEvPT_"),
        ("a::fill<int, 4>", "_ZN1a4fillIiLi4EEEvPT_"),
    ] {
        assert_eq!(image.lowered_name(expression).expect("found"), lowered);
        assert!(image.entries().contains(&lowered.to_owned()));
    }
    assert_eq!(
        image.lowered_name("&a::table").expect("found"),
        "_ZN1a5tableE"
    );
    assert_eq!(
        image
            .lowered_name("a::fill")
            .expect_err("two have it")
            .kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_gpus_target_gives_a_cubin_with_its_ptx() {
    let source = Source::new("extern \"C\" __global__ void k(int *x) { *x = 1; }").cache(false);
    let image = compile(&source, Target::Cubin(90)).expect("compiles");
    assert_eq!(image.architecture(), "sm_90");
    assert_eq!(&image.cubin().expect("a cubin")[..4], b"\x7fELF");
    assert!(image.ptx().contains(".entry k("));
    assert_eq!(
        compile(&source, Target::Cubin(999))
            .expect_err("no such GPU")
            .kind(),
        ErrorKind::NoCompiler
    );
}

#[test]
fn sources_written_for_nvcc_compile() {
    let source = r#"
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <stdio.h>
#include <cstdio>
#include <math.h>
#include <cmath>
#include <stdint.h>
#include <cstdint>
#include <stdlib.h>
#include <cstdlib>
#include <assert.h>
#include <cassert>
#include <string.h>
#include <cstring>
#include <float.h>
#include <cfloat>
#include <limits.h>
#include <climits>
#include <stddef.h>
#include <cstddef>
#include <time.h>
#include <algorithm>
#include "math_functions.h"
#include <surface_functions.h>

struct pair_t { char c; double d; };

__global__ void everything(float *x, uint n, ushort m, ulong l, int64_t *wide, std::uint8_t *bytes)
{
    assert(n > 0);
    printf("%u %d\n", n, (int)strlen("text"));
    std::printf("%d\n", INT_MAX);
    x[0] = FLT_MAX + FLT_EPSILON + INFINITY + NAN + (float)M_PI + std::sqrt(x[1]) + std::fabs(x[2]) + HUGE_VALF;
    x[1] = std::min(x[0], x[1]) + std::max(1, 2) + std::abs(-3) + (float)(DBL_MAX < HUGE_VAL);
    wide[0] = INT64_MAX + LLONG_MIN + LONG_MAX + INT32_MIN + (int64_t)UINT64_C(7) + (int64_t)offsetof(pair_t, d);
    bytes[0] = UINT8_MAX + CHAR_BIT + (uint8_t)m + (uint8_t)l;
    std::memcpy(bytes, bytes + 4, 4);
    std::memset(bytes, 0, (std::size_t)4);
    memmove(bytes, bytes + 1, 3);
    if (memcmp(bytes, bytes + 1, 3) == 0 || strcmp("a", "b") == 0) bytes[1] = 0;
    void *p = malloc(4);
    std::free(p);
}
"#;
    for nvrtc in every() {
        for wrap in [false, true] {
            let image =
                fresh(Source::new(source).extern_c(wrap).compiler(nvrtc)).expect("compiles");
            assert_eq!(image.log(), "", "no warnings");
            let name = image.lowered_name("everything").expect("found");
            assert_eq!(name == "everything", wrap);
        }
    }
    let bare = fresh(Source::new("#include <stdio.h>\n").virtual_headers(false))
        .expect_err("NVRTC has no stdio.h");
    assert_eq!(bare.kind(), ErrorKind::Compile);
}

#[test]
fn limits_are_right() {
    // Checked by the compiler itself, which knows the types.
    let source = r#"
#include <limits.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
static_assert(INT_MAX == int((~0u) >> 1) && INT_MIN == -INT_MAX - 1 && UINT_MAX == ~0u, "");
static_assert(LONG_MAX == long((~0ul) >> 1) && ULONG_MAX == ~0ul && LLONG_MAX == (long long)((~0ull) >> 1), "");
static_assert(SHRT_MAX == 32767 && USHRT_MAX == (unsigned short)~0 && CHAR_MIN == (char(-1) < 0 ? -128 : 0), "");
static_assert(sizeof(int8_t) == 1 && sizeof(int16_t) == 2 && sizeof(int32_t) == 4 && sizeof(int64_t) == 8 && sizeof(intptr_t) == sizeof(void *), "");
static_assert(UINT64_MAX == ~uint64_t(0) && INT64_MIN < 0 && INT64_MIN + INT64_MAX == -1 && UINT32_MAX == ~uint32_t(0), "");
static_assert(1.0f + FLT_EPSILON > 1.0f && 1.0f + FLT_EPSILON / 2 == 1.0f && 1.0 + DBL_EPSILON > 1.0 && 1.0 + DBL_EPSILON / 2 == 1.0, "");
static_assert(FLT_MIN == 0x1p-126f && FLT_MAX == 0x1.fffffep127f && FLT_TRUE_MIN == 0x1p-149f, "");
static_assert(DBL_MIN == 0x1p-1022 && DBL_MAX == 0x1.fffffffffffffp1023 && DBL_TRUE_MIN == 0x1p-1074, "");
static_assert(M_PI == 0x1.921fb54442d18p1 && M_E == 0x1.5bf0a8b145769p1 && M_SQRT2 == 0x1.6a09e667f3bcdp0 && M_LN2 == 0x1.62e42fefa39efp-1, "");
static_assert(M_PI_2 * 2 == M_PI && M_PI_4 * 4 == M_PI && M_SQRT1_2 * 2 == M_SQRT2 && M_2_PI == 2 * M_1_PI, "");
"#;
    for nvrtc in every() {
        fresh(Source::new(source).compiler(nvrtc)).expect("all hold");
    }
}

#[test]
fn cudas_own_headers_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = Source::new("#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <stdint.h>\n__global__ void k(half *x, uint8_t n) { cooperative_groups::this_thread_block().sync(); x[0] = __hadd(x[0], x[1]); }")
        .compiler(pinned())
        .cache_dir(dir.path());
    let image = compile(&source, PTX).expect("compiles");
    assert_eq!(image.provenance(), &Provenance::Compiled);
    let again = compile(&source, PTX).expect("is there");
    assert_eq!(again.provenance(), &Provenance::Cached);
    assert_eq!(again.ptx(), image.ptx());
}

#[test]
fn several_versions_side_by_side() {
    let ptx_versions = Wheel::ALL.map(|wheel| {
        let nvrtc = Nvrtc::of_wheel(wheel).expect("the wheel");
        assert_eq!(nvrtc.version(), wheel.version());
        let source = Source::new(
            "#include <stdint.h>\nextern \"C\" __global__ void k(int32_t *x) { *x = 1; }",
        )
        .compiler(nvrtc)
        .cache(false);
        let image = compile(&source, PTX).expect("compiles");
        assert_eq!(image.compiler(), nvrtc.to_string());
        image
            .ptx()
            .lines()
            .find(|line| line.starts_with(".version"))
            .expect("a version")
            .to_owned()
    });
    assert_eq!(
        ptx_versions,
        [".version 9.5", ".version 9.0", ".version 8.8"]
    );
}

#[test]
fn messages_have_the_users_lines() {
    let source = "#include <stdio.h>\n// a comment\n__global__ void k(float *x)\n{\n\tint y = z + 1;\n    x[0] = q;\n}\n";
    for wrap in [false, true] {
        let error = refused(Source::new(source).file_name("saxpy.cu").extern_c(wrap));
        assert_eq!(error.kind(), ErrorKind::Compile);
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r#"
            NVRTC 13.5 could not compile saxpy.cu: 2 errors
            error: identifier "z" is undefined
             --> saxpy.cu:5:10
              |
            5 |     int y = z + 1;
              |             ^
            error: identifier "q" is undefined
             --> saxpy.cu:6:12
              |
            6 |     x[0] = q;
              |            ^
            options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
            "#);
        }
        let failure = error.compile_failure().expect("a failure");
        assert_eq!(failure.source, source);
        assert!(failure.log.contains("identifier"));
    }
}

#[test]
fn messages_in_headers_tell_the_way() {
    let error = refused(
        Source::new("// main\n#include \"a.h\"\n__global__ void k() {}\n")
            .header("a.h", "#include <stdio.h>\n#include \"b.h\"\n")
            .header("b.h", "\n\n__device__ int f() { return missing; }\n"),
    );
    insta::assert_snapshot!(error, @r#"
    NVRTC 13.5 could not compile kernel.cu: 1 error
    error: identifier "missing" is undefined
     --> b.h:3:29
      |
    3 | __device__ int f() { return missing; }
      |                             ^^^^^^^
      |
      = note: in file included from a.h:2
      = note: in file included from kernel.cu:2
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
}

#[test]
fn template_messages_tell_the_instantiation() {
    let error = refused(
        Source::new("template <class T> __device__ T g(T x) { return x.foo; }\ntemplate <class T> __global__ void k(T *x) { x[0] = g(x[0]); }\n").name_expression("k<float>"),
    );
    insta::assert_snapshot!(error, @r#"
    NVRTC 13.5 could not compile kernel.cu: 1 error
    error: expression must have class type but it has type "float"
     --> kernel.cu:1:49
      |
    1 | template <class T> __device__ T g(T x) { return x.foo; }
      |                                                 ^
      |
      = note: during instantiation of "T g(T) [with T=float]" at line 2
      = note: during instantiation of "void k(T *) [with T=float]"
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
}

#[test]
fn common_causes_get_a_hint() {
    let missing = refused(Source::new("#include <vector>\n__global__ void k() {}\n"));
    insta::assert_snapshot!(missing, @r#"
    NVRTC 13.5 could not compile kernel.cu: 1 error
    error: could not open source file "vector" (no directories in search list)
     --> kernel.cu:1:18
      |
    1 | #include <vector>
      |                  ^
    hint: not found: vector. Add the directory with include_dir, or the text with header. CUDA's own headers are found beside a toolkit's NVRTC, NVRTC 13.5 carries most of them, and with CUPRUM_FETCH=1 Cuprum fetches them; a host's C++ headers do not exist for kernels
    options: --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h
    "#);
    let host = refused(Source::new(
        "int helper(int x) { return x; }\n__global__ void k(int *x) { *x = helper(1); }\n",
    ));
    assert!(
        host.to_string()
            .contains("hint: the option --device-as-default-execution-space"),
        "{host}"
    );
    let template =
        refused(Source::new("template <class T> __global__ void k(T *x) {}\n").extern_c(true));
    assert!(
        template
            .to_string()
            .contains("hint: templates and overloads cannot stand in extern \"C\""),
        "{template}"
    );
}

#[test]
fn wrong_options_and_names_are_told_apart() {
    let option = refused(Source::new("__global__ void k() {}").option("-O3"));
    assert_eq!(option.kind(), ErrorKind::Option);
    insta::assert_snapshot!(option, @"NVRTC 13.5 refuses the options --gpu-architecture=compute_80 --pre-include=cuprum/prelude.h -O3: unrecognized option -O3 found. NVRTC takes fewer options than nvcc");
    let name = refused(
        Source::new("template <class T> __global__ void k(T *x) {}")
            .name_expression("k<int>")
            .name_expression("kk<float>"),
    );
    assert_eq!(name.kind(), ErrorKind::Compile);
    assert!(
        name.to_string().contains("--> name expression `kk<float>`"),
        "{name}"
    );
    let zero = refused(Source::new("__global__ void k() {}\0"));
    assert_eq!(zero.kind(), ErrorKind::Source);
}

#[test]
fn the_assemblers_messages_are_errors_too() {
    let source = Source::new("extern \"C\" __global__ void k(float *x) { __shared__ float s[20000]; s[threadIdx.x] = x[0]; __syncthreads(); x[0] = s[3]; }")
        .compiler(pinned())
        .cache(false);
    let error = compile(&source, Target::Cubin(90)).expect_err("too much");
    insta::assert_snapshot!(error, @r"
    NVRTC 13.5 could not compile kernel.cu: 1 error
    error: ptxas: Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)
    options: --gpu-architecture=sm_90 --pre-include=cuprum/prelude.h
    ");
}

#[test]
fn warnings_are_kept_also_in_the_cache() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = Source::new("__global__ void k() { int unused; }").cache_dir(dir.path());
    for provenance in [Provenance::Compiled, Provenance::Cached] {
        let image = compile(&source, PTX).expect("compiles");
        assert_eq!(image.provenance(), &provenance);
        assert_eq!(image.diagnostics()[0].number, Some(177));
    }
}

#[test]
fn line_tables_keep_the_users_lines() {
    let source =
        Source::new("#include <stdio.h>\n\n__global__ void k(int *x)\n{\n    *x = 7;\n}\n")
            .file_name("lines.cu")
            .option("-lineinfo")
            .extern_c(true);
    let image = fresh(source).expect("compiles");
    assert!(
        image
            .ptx()
            .lines()
            .any(|line| line.trim().starts_with(".loc")
                && line.split_whitespace().nth(2) == Some("5")),
        "{}",
        image.ptx()
    );
    assert!(image.ptx().contains("lines.cu"));
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(dir).expect("create");
    std::fs::write(dir.join(name), text).expect("write");
}

/// Public report: include and cache directories outside ASCII.
#[test]
fn directories_outside_ascii() {
    let root = tempfile::tempdir().expect("a directory");
    let include = root.path().join("en tête 日本");
    write(&include, "größe.h", "// Größe, 大きさ\n#define SIZE 42\n");
    let source =
        Source::new("#include <größe.h>\nextern \"C\" __global__ void k(int *x) { *x = SIZE; }")
            .include_dir(&include)
            .cache_dir(root.path().join("caché 缓存"));
    for provenance in [Provenance::Compiled, Provenance::Cached] {
        let image = compile(&source, PTX).expect("compiles");
        assert_eq!(image.provenance(), &provenance);
        assert!(image.ptx().contains("42"));
    }
    write(
        &include,
        "größe.h",
        "// Größe\n#define SIZE 43 + no_such_name\n",
    );
    let error = compile(&source, PTX).expect_err("wrong now").to_string();
    assert!(
        error.contains("en tête 日本/größe.h:2") || error.contains("kernel.cu:2"),
        "{error}"
    );
}

#[test]
fn a_changed_header_compiles_anew() {
    let root = tempfile::tempdir().expect("a directory");
    let (first, second) = (root.path().join("first"), root.path().join("second"));
    write(&second, "value.h", "#include \"deeper.h\"\n");
    write(&second, "deeper.h", "#define VALUE 1111\n");
    let source =
        Source::new("#include \"value.h\"\nextern \"C\" __global__ void k(int *x) { *x = VALUE; }")
            .include_dir(&first)
            .include_dir(&second)
            .cache_dir(root.path().join("cache"));
    let check = |provenance: Provenance, value: &str| {
        let image = compile(&source, PTX).expect("compiles");
        assert_eq!(image.provenance(), &provenance, "{value}");
        assert!(image.ptx().contains(value), "{value}");
    };
    check(Provenance::Compiled, "1111");
    check(Provenance::Cached, "1111");
    write(&second, "deeper.h", "#define VALUE 2222\n");
    check(Provenance::Compiled, "2222");
    check(Provenance::Cached, "2222");
    // A file in a directory that is searched earlier hides the other.
    write(&first, "value.h", "#define VALUE 3333\n");
    check(Provenance::Compiled, "3333");
    check(Provenance::Cached, "3333");
}

#[test]
fn a_name_built_by_macros_is_not_kept() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "a.h", "#define VALUE 1\n");
    let source = Source::new(
        "#define FILE_NAME <a.h>\n#include FILE_NAME\n__global__ void k(int *x) { *x = VALUE; }",
    )
    .include_dir(root.path())
    .cache_dir(root.path().join("cache"));
    for _ in 0..2 {
        let image = compile(&source, PTX).expect("compiles");
        assert!(matches!(image.provenance(), Provenance::NotKept(_)));
    }
}

#[test]
fn a_users_header_replaces_a_supplied_one() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "math.h", "#define MINE 12345\n");
    let source = "#include <math.h>\n__global__ void k(int *x) { *x = MINE; }";
    let image = fresh(Source::new(source).include_dir(root.path())).expect("the file");
    assert!(image.ptx().contains("12345"));
    let image =
        fresh(Source::new(source).header("math.h", "#define MINE 54321\n")).expect("the text");
    assert!(image.ptx().contains("54321"));
}

#[test]
fn includes_by_option_and_beside_the_file() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "pre.h", "#define PRE 11\n");
    write(root.path(), "beside.h", "#define BESIDE 22\n");
    write(
        root.path(),
        "kernel.cu",
        "#include \"beside.h\"\n__global__ void k(int *x) { *x = PRE * 1000 + BESIDE; }\n",
    );
    let source = Source::from_file(root.path().join("kernel.cu"))
        .expect("read")
        .option(format!(
            "--pre-include={}",
            root.path().join("pre.h").display()
        ))
        .cache_dir(root.path().join("cache"));
    assert!(
        compile(&source, PTX)
            .expect("compiles")
            .ptx()
            .contains("11022")
    );
    write(root.path(), "pre.h", "#define PRE 33\n");
    assert!(
        compile(&source, PTX)
            .expect("compiles")
            .ptx()
            .contains("33022"),
        "a header included by option is followed"
    );
}

/// Precompiled headers change nothing of the results, and notice what changes of theirs.
#[test]
fn precompiled_headers_give_the_same() {
    let source = |number: u32, header: &str| {
        Source::new(format!(
            "#include <cuda_fp16.h>\n#include \"mine.h\"\n__global__ void k{number}(__half *x) {{ *x = MINE + __half({number}.5f); }}\n"
        ))
        .header("mine.h", header)
    };
    let mine = "#define MINE __half(1.0f)\n";
    let other = "#define MINE __half(2.0f)\n";
    for (number, header) in [(1, mine), (2, mine), (3, other), (1, other), (1, mine)] {
        let plain = fresh(source(number, header).compiler(pinned())).expect("compiles");
        let quick = fresh(
            source(number, header)
                .compiler(pinned())
                .precompiled_headers(true),
        )
        .expect("compiles");
        assert_eq!(plain.ptx(), quick.ptx(), "{number} with {header}");
        assert_eq!(quick.log(), "", "no messages of their own");
    }
    // A large one, which NVRTC's own choice of memory for it does not hold.
    for number in [5, 6] {
        let source = Source::new(format!(
            "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nextern \"C\" __global__ void k(int *x) {{ *x = {number}; }}\n"
        ))
        .compiler(pinned())
        .precompiled_headers(true);
        assert_eq!(fresh(source).expect("compiles").log(), "");
    }
    // And they are there: NVRTC writes them for this process.
    let cache = Cache::open().expect("a cache directory");
    let all = cache.path().with_file_name("pch");
    let prefix = format!("{}-", std::process::id());
    let files = std::fs::read_dir(&all)
        .expect("the folder")
        .map(|dir| dir.expect("an entry"))
        .filter(|dir| dir.file_name().to_string_lossy().starts_with(&prefix))
        .flat_map(|dir| std::fs::read_dir(dir.path()).expect("a folder of this process"))
        .count();
    assert!(files >= 3, "{files} files for three sets of headers");
    // An older compiler goes without; none of them refuses.
    for nvrtc in every() {
        let image = fresh(source(4, mine).compiler(nvrtc).precompiled_headers(true));
        assert!(image.expect("compiles").ptx().contains("k4"));
    }
}
