//! Launches: what is checked before one, and what a kernel is given.

use cuprum::driver::{DeviceAttribute, DeviceCopy, ErrorKind, Limit, Module};
use cuprum::prelude::{DeviceBuffer, LaunchConfig};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::runner::{Kernels, equal, launch};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(arguments_are_checked),
        check!(structs_by_value),
        check!(shapes_are_checked),
        check!(grids_and_blocks_of_three_dimensions),
        check!(dynamic_shared_memory_up_to_the_limit),
        check!(module_variables),
        check!(limits_can_be_raised),
        check!(parts_are_linked),
        check!(missing_names_list_what_is_there),
        check!(printf_writes_whole_lines, Alone).with_output(four_lines),
        check!(blocking_launches_end_before_they_return, Alone)
            .with_variables(&[("CUDA_LAUNCH_BLOCKING", "1")]),
    ]
}

/// Wrong numbers and widths of arguments are errors before anything runs, and name the parameter (PR-36).
fn arguments_are_checked(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void store(float *out, float value, int index) { out[index] = value; }"#,
    )?;
    let stream = &subject.stream;
    let store = kernels.function("store")?;
    let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
    let mut out = DeviceBuffer::<f32>::zeros(stream, 2)?;
    let answers = [
        (
            "one too few",
            launch(&store, stream, one, (&mut out, 1.0f32)),
            "2",
        ),
        (
            "one too many",
            launch(&store, stream, one, (&mut out, 1.0f32, 0i32, 0i32)),
            "4",
        ),
        (
            "f64 for float",
            launch(&store, stream, one, (&mut out, 2.0f64, 0i32)),
            "value",
        ),
        (
            "i64 for int",
            launch(&store, stream, one, (&mut out, 2.0f32, 0i64)),
            "index",
        ),
        (
            "a number for a pointer",
            launch(&store, stream, one, (0u32, 2.0f32, 0i32)),
            "out",
        ),
    ];
    let cases = answers.len() as u64;
    for (case, answer, told) in answers {
        let Err(error) = answer else {
            return Err(Failure::new(format!("{case} was launched")));
        };
        ensure_eq!(error.kind(), ErrorKind::Arguments, "{case}");
        ensure!(
            error.to_string().contains(told),
            "{case}: the text lacks {told:?}: {error}"
        );
    }
    equal("untouched", &out.to_vec()?, &[0.0, 0.0])?;
    launch(&store, stream, one, (&mut out, 2.0f32, 1i32))?;
    equal("after a right launch", &out.to_vec()?, &[0.0, 2.0])?;
    Ok(Report::exact(cases + 2))
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Mixed {
    small: u8,
    wide: f64,
    half: i16,
    three: [f32; 3],
}

// SAFETY: plain numbers in the layout of C; a kernel may hold and copy any of its bytes.
unsafe impl DeviceCopy for Mixed {}

/// A structure with holes reaches the kernel field for field, between other arguments.
fn structs_by_value(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"struct Mixed { unsigned char small; double wide; short half; float three[3]; };
extern "C" __global__ void spread(char before, Mixed m, double *out, unsigned char after) {
    out[0] = before; out[1] = m.small; out[2] = m.wide; out[3] = m.half;
    for (int i = 0; i < 3; ++i) out[4 + i] = m.three[i];
    out[7] = after;
}"#,
    )?;
    let mixed = Mixed {
        small: 200,
        wide: -1.5e300,
        half: -7,
        three: [0.25, -0.5, 3.0],
    };
    let mut out = kernels.zeros::<f64>(8)?;
    let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
    kernels.launch("spread", one, (-3i8, mixed, &mut out, 250u8))?;
    equal(
        "fields",
        &out.to_vec()?,
        &[-3.0, 200.0, -1.5e300, -7.0, 0.25, -0.5, 3.0, 250.0],
    )?;
    Ok(Report::exact(8))
}

/// Blocks beyond the device's or the kernel's limit are errors that leave the context usable; a grid of nothing is a
/// launch of nothing (PR-39).
fn shapes_are_checked(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void count(unsigned *n) { atomicAdd(n, 1u); }
extern "C" __global__ void __launch_bounds__(256) bounded(unsigned *n) { atomicAdd(n, 1u); }"#,
    )?;
    let mut count = kernels.zeros::<u32>(1)?;
    for (name, block) in [("count", 2048), ("bounded", 1024), ("count", 0)] {
        let answer = kernels.launch(
            name,
            LaunchConfig::new((1, 1, 1), (block, 1, 1)),
            (&mut count,),
        );
        ensure!(answer.is_err(), "{name} ran in a block of {block} threads");
    }
    kernels.launch(
        "count",
        LaunchConfig::new((0, 1, 1), (32, 1, 1)),
        (&mut count,),
    )?;
    kernels.launch(
        "count",
        LaunchConfig::new((3, 1, 1), (100, 1, 1)),
        (&mut count,),
    )?;
    kernels.launch(
        "bounded",
        LaunchConfig::new((1, 2, 1), (256, 1, 1)),
        (&mut count,),
    )?;
    equal("threads", &count.to_vec()?, &[812])?;
    Ok(Report::exact(6))
}

/// Every thread of a grid finds its own place, in all three dimensions.
fn grids_and_blocks_of_three_dimensions(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void place(unsigned *out) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, w = gridDim.x * blockDim.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y, h = gridDim.y * blockDim.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    out[(z * h + y) * w + x] = x + 1000 * y + 1000000 * z;
}"#,
    )?;
    let config = LaunchConfig::new((3, 2, 4), (5, 7, 2));
    let want: Vec<u32> = (0..8u32)
        .flat_map(|z| {
            (0..14u32).flat_map(move |y| (0..15u32).map(move |x| x + 1000 * y + 1_000_000 * z))
        })
        .collect();
    equal("places", &kernels.fill("place", config, want.len())?, &want)?;
    Ok(Report::exact(want.len() as u64))
}

/// More than 48 KiB, static use counted, opts in by itself, up to the device's limit and not a byte further (PR-37).
fn dynamic_shared_memory_up_to_the_limit(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void edges(unsigned *out, unsigned bytes) {
    __shared__ unsigned fixed[4];
    extern __shared__ unsigned char dynamic[];
    fixed[threadIdx.x] = threadIdx.x;
    dynamic[0] = 7; dynamic[bytes - 1] = 9;
    __syncthreads();
    out[threadIdx.x] = fixed[threadIdx.x ^ 3] + dynamic[0] + dynamic[bytes - 1];
}"#,
    )?;
    let limit = subject
        .device
        .attribute(DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
    let largest = u32::try_from(limit)? - 16;
    let mut out = kernels.zeros::<u32>(4)?;
    let config = LaunchConfig::new((1, 1, 1), (4, 1, 1));
    let mut cases = 1;
    for bytes in [49_136, 49_152, 65_536, largest] {
        out.fill(0)?;
        kernels.launch("edges", config.with_shared_bytes(bytes), (&mut out, bytes))?;
        equal("sums", &out.to_vec()?, &[19, 18, 17, 16])?;
        cases += 1;
    }
    let answer = kernels.launch(
        "edges",
        config.with_shared_bytes(largest + 1),
        (&mut out, 1u32),
    );
    ensure!(
        answer.is_err(),
        "{} bytes of {limit} were given",
        largest + 1
    );
    Ok(Report::exact(cases))
}

/// Variables of a module: their size, writing and reading, and what is refused (PR-42).
fn module_variables(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"__constant__ float table[10];
__device__ int counter = 41;
extern "C" __global__ void sum(float *out) {
    float s = 0.0f;
    for (int i = 0; i < 10; ++i) s += table[i];
    out[0] = s;
    counter += 1;
}"#,
    )?;
    let (stream, module) = (&subject.stream, kernels.module().module());
    let table = module.global::<f32>("table")?;
    ensure_eq!(table.len(), 10, "elements of the table");
    table.write(stream, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])?;
    let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
    equal(
        "the kernel's sum",
        &kernels.fill::<f32>("sum", one, 1)?,
        &[45.0],
    )?;
    equal(
        "the counter",
        &module.global::<i32>("counter")?.read(stream)?,
        &[42],
    )?;
    ensure!(
        table.write(stream, &[0.0; 11]).is_err(),
        "eleven elements went into ten"
    );
    ensure!(
        module.global::<f32>("tabel").is_err(),
        "a variable nobody declared was found"
    );
    Ok(Report::exact(5))
}

/// A function that is not there is an error that names those that are.
fn missing_names_list_what_is_there(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void alpha() {} extern "C" __global__ void beta() {}"#,
    )?;
    let Err(error) = kernels.module().function("gamma") else {
        return Err(Failure::new("a kernel nobody wrote was found"));
    };
    let text = error.to_string();
    for name in ["gamma", "alpha", "beta"] {
        ensure!(text.contains(name), "the text lacks {name}: {text}");
    }
    Ok(Report::exact(3))
}

/// `printf` of C's conversions, one whole line a thread, written when the stream is waited for (PR-41).
fn printf_writes_whole_lines(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"#include <stdio.h>
extern "C" __global__ void say(unsigned long long big) {
    printf("<%d %.2f %s %% %llu %c %5d|>\n", threadIdx.x, threadIdx.x * 0.5, "text", big, 'z', -42);
}"#,
    )?;
    kernels.launch(
        "say",
        LaunchConfig::new((1, 1, 1), (4, 1, 1)),
        (1u64 << 63,),
    )?;
    subject.stream.synchronize()?;
    Ok(Report::exact(4))
}

fn four_lines(text: &str) -> Result<(), Failure> {
    let mut got: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(&line[line.find('<')?..]))
        .collect();
    got.sort_unstable();
    let want: Vec<String> = (0..4)
        .map(|t| {
            format!(
                "<{t} {:.2} text % {} z   -42|>",
                f64::from(t) * 0.5,
                1u64 << 63
            )
        })
        .collect();
    equal(
        "printed lines",
        &got,
        &want.iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    Ok(())
}

/// With `CUDA_LAUNCH_BLOCKING=1` a launch returns when its kernel has ended.
fn blocking_launches_end_before_they_return(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"extern "C" __global__ void slow(unsigned *out) {
    unsigned x = 1;
    for (int i = 0; i < 2000000; ++i) x = x * 1664525u + 1013904223u;
    out[0] = x;
}"#,
    )?;
    let mut out = kernels.zeros::<u32>(1)?;
    subject.stream.synchronize()?;
    for round in 0..3 {
        kernels.launch("slow", LaunchConfig::new((1, 1, 1), (1, 1, 1)), (&mut out,))?;
        ensure!(
            subject.stream.is_done()?,
            "round {round}: the launch returned before its kernel ended"
        );
    }
    let want = (0..2_000_000).fold(1u32, |x, _| {
        x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
    });
    equal("result", &out.to_vec()?, &[want])?;
    Ok(Report::exact(4))
}

/// A limit is at least what was asked for, and a kernel that needs the stack then has it.
fn limits_can_be_raised(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"__device__ __noinline__ unsigned down(unsigned n, volatile unsigned *seen) {
               unsigned local[16];
               for (int i = 0; i < 16; ++i) local[i] = n + i;
               *seen = local[n & 15];
               return n == 0 ? 0 : down(n - 1, seen) + local[(n * 7) & 15] - ((n * 7) & 15) - n + 1;
           }
           extern "C" __global__ void deep(unsigned *out, unsigned depth) { out[0] = down(depth, out + 1); }"#,
    )?;
    let context = subject.stream.context();
    let before = context.limit(Limit::Stack)?;
    ensure!(before > 0, "no thread has a stack");
    // Four hundred frames of at least 64 bytes.
    let asked = before.max(128 << 10);
    context.set_limit(Limit::Stack, asked)?;
    let raised = context.limit(Limit::Stack)?;
    ensure!(raised >= asked, "the stack is {raised}, asked for {asked}");
    let mut out = DeviceBuffer::<u32>::zeros(&subject.stream, 2)?;
    let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
    launch(
        &kernels.function("deep")?,
        &subject.stream,
        one,
        (&mut out, 400u32),
    )?;
    ensure_eq!(out.to_vec()?[0], 400, "the depth that was counted");
    Ok(Report::exact(3))
}

/// What one PTX text declares another defines; a symbol that nobody defines is an error that names it.
fn parts_are_linked(subject: &Subject) -> Result<Report, Failure> {
    const HEAD: &str = ".version 6.0\n.target sm_60\n.address_size 64\n";
    let user = format!(
        "{HEAD}.extern .func (.param .b32 r) twice(.param .b32 x);
        .extern .global .align 4 .u32 step;
        .visible .entry sum(.param .u64 out) {{ .reg .b32 %r<4>; .reg .b64 %d<3>;
            ld.param.u64 %d1, [out]; cvta.to.global.u64 %d2, %d1; ld.global.u32 %r1, [%d2];
            {{ .param .b32 x; .param .b32 r; st.param.b32 [x], %r1; call.uni (r), twice, (x); ld.param.b32 %r2, [r]; }}
            ld.global.u32 %r3, [step]; add.u32 %r2, %r2, %r3; st.global.u32 [%d2], %r2; ret; }}"
    );
    let owner = format!(
        "{HEAD}.visible .global .align 4 .u32 step = 100;
        .visible .func (.param .b32 r) twice(.param .b32 x) {{ .reg .b32 %r<3>;
            ld.param.b32 %r1, [x]; shl.b32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }}"
    );
    let context = subject.stream.context();
    let mut cases = 0;
    for parts in [
        [user.as_str(), owner.as_str()],
        [owner.as_str(), user.as_str()],
    ] {
        let module = Module::linked(context, &parts)?;
        let mut value = DeviceBuffer::from_slice(&subject.stream, &[21u32])?;
        let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
        launch(
            &module.function("sum")?,
            &subject.stream,
            one,
            (&mut value,),
        )?;
        ensure_eq!(value.to_vec()?[0], 142, "twice 21 and the step");
        module.global::<u32>("step")?;
        cases += 1;
    }
    let Err(error) = Module::linked(context, &[user.as_str()]) else {
        return Err(Failure::new(
            "a module with symbols that nobody defines links",
        ));
    };
    let text = error.to_string();
    ensure!(
        text.contains("step") || text.contains("twice"),
        "no symbol is named: {text}"
    );
    Ok(Report::exact(cases + 1))
}
