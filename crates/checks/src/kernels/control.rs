//! Control flow, calls, local memory, vector accesses and launches of odd shapes.

use cuprum::prelude::{LaunchConfig, SourceModule};

use crate::check::{Check, Failure, Report, Subject, check, ensure};
use crate::data::Random;
use crate::runner::{Kernels, equal, equal_rows};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(loops_break_continue_and_return),
        check!(switches),
        check!(switches_through_a_jump_table),
        check!(recursion_and_calls),
        check!(local_arrays_and_generic_pointers),
        check!(templates_volatile_and_inline_assembly),
        check!(vector_accesses),
        check!(clocks_do_not_go_back),
        check!(launches_of_odd_shapes),
    ]
}

/// Loops whose exits differ from thread to thread.
fn loops_break_continue_and_return(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void loops(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i], sum = 0;
    if (x % 11 == 0) { out[i] = 99; return; }
    for (unsigned a = 0; a < x % 17; ++a) {
        if (a % 3 == 1) continue;
        unsigned b = 0;
        while (true) {
            if (b * a > x % 23 || b > 9) break;
            if ((b ^ x) & 1) { ++b; continue; }
            sum = sum * 3 + a + b;
            b += 1 + (x >> 7) % 2;
        }
        if (sum > 1000000) break;
    }
    do { sum += x; x >>= 3; } while (x);
    out[i] = sum;
}
"#,
    )?;
    let inputs = Random::new(1).vec(3000, Random::u32);
    let want: Vec<u32> = inputs
        .iter()
        .map(|&input| {
            let (mut x, mut sum) = (input, 0u32);
            if x % 11 == 0 {
                return 99;
            }
            for a in (0..x % 17).filter(|a| a % 3 != 1) {
                let mut b = 0;
                while b * a <= x % 23 && b <= 9 {
                    if (b ^ x) & 1 == 1 {
                        b += 1;
                    } else {
                        sum = sum.wrapping_mul(3).wrapping_add(a + b);
                        b += 1 + (x >> 7) % 2;
                    }
                }
                if sum > 1_000_000 {
                    break;
                }
            }
            while x != 0 {
                sum = sum.wrapping_add(x);
                x >>= 3;
            }
            sum
        })
        .collect();
    equal("loops", &kernels.map::<_, u32>("loops", &inputs)?, &want)
}

const SWITCH: &str = r#"
extern "C" __global__ void choose(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = i;
    switch (in[i]) {
        case 0: r *= 3; break;
        case 1: r += 17;  // falls through
        case 2: r ^= 0x55; break;
        case 3: out[i] = -7; return;
        case 4: r = r * r - 1; break;
        case 5: r = -r; break;
        case 6: for (int k = 0; k < 5; ++k) r += k * r; break;
        case 7: r /= 3;  // falls through
        case 8: r %= 11; break;
        case 9: r <<= 2; break;
        case 12: r = 4; break;
        default: r = 1234;
    }
    out[i] = r + 1;
}
"#;

fn choose(kernels: &Kernels) -> Result<Report, Failure> {
    let mut random = Random::new(2);
    let inputs = random.vec(2000, |random| match random.below(16) {
        value @ 0..=12 => value as i32,
        13 => -1,
        _ => random.u32() as i32,
    });
    let want: Vec<i32> = (0..)
        .zip(&inputs)
        .map(|(i, &input)| choice(i, input))
        .collect();
    equal("choose", &kernels.map::<_, i32>("choose", &inputs)?, &want)
}

fn choice(i: i32, input: i32) -> i32 {
    1 + match input {
        0 => i * 3,
        1 => (i + 17) ^ 0x55,
        2 => i ^ 0x55,
        3 => -8,
        4 => i * i - 1,
        5 => -i,
        6 => i * 120, // 1 * 2 * 3 * 4 * 5
        7 => i / 3 % 11,
        8 => i % 11,
        9 => i << 2,
        12 => 4,
        _ => 1234,
    }
}

/// A `switch` as the compiler makes it, with cases that fall through, return and are absent.
fn switches(subject: &Subject) -> Result<Report, Failure> {
    choose(&Kernels::new(subject, SWITCH)?)
}

/// The same through a table of branch targets (`brx.idx`), which the cases must be dense enough for.
fn switches_through_a_jump_table(subject: &Subject) -> Result<Report, Failure> {
    let source = SourceModule::builder(SWITCH).option("--jump-table-density=50");
    let kernels = Kernels::build(subject, source)?;
    ensure!(
        kernels.module().ptx().contains("brx.idx"),
        "the option made no jump table"
    );
    choose(&kernels)
}

/// Functions that call themselves, take structures by value and answer through pointers.
fn recursion_and_calls(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
struct Mixed { char tag; double weight; short parts[3]; unsigned long long big; };
__device__ __noinline__ unsigned factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ Mixed twist(Mixed m, int by, unsigned *sum, double *weight) {
    *sum = m.parts[0] + m.parts[1] + m.parts[2] + m.tag;
    *weight = m.weight * by;
    m.tag = -m.tag;
    m.parts[by % 3] += by;
    m.big += (unsigned long long)by << 40;
    return m;
}
extern "C" __global__ void calls(const unsigned *in, unsigned (*out)[6], int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i];
    out[i][0] = factorial(x % 11);
    out[i][1] = fibonacci(x % 11);
    Mixed m;
    m.tag = x % 100; m.weight = x * 0.5; m.big = x;
    for (int k = 0; k < 3; ++k) m.parts[k] = x % 1000 + k;
    unsigned sum; double weight;
    Mixed t = twist(m, x % 64, &sum, &weight);
    out[i][2] = sum;
    out[i][3] = (unsigned)(weight / 64);
    out[i][4] = t.tag + t.parts[0] + 2 * t.parts[1] + 3 * t.parts[2];
    out[i][5] = (unsigned)(t.big >> 32) + m.tag;
}
"#,
    )?;
    let inputs = Random::new(3).vec(700, |random| random.u32() >> 4);
    let got: Vec<[u32; 6]> = kernels.map("calls", &inputs)?;
    let names = [
        "factorial",
        "fibonacci",
        "sum",
        "weight",
        "structure",
        "high half",
    ];
    equal_rows(&names, &inputs, &got, |&x| {
        let tag = (x % 100) as i32;
        let by = x % 64;
        let mut parts = [0, 1, 2].map(|k| (x % 1000) as i32 + k);
        let sum = parts.iter().sum::<i32>() + tag;
        parts[by as usize % 3] += by as i32;
        let fibonacci = (0..x % 11).fold((0, 1), |(a, b), _| (b, a + b)).0;
        [
            (1..=x % 11).product(),
            fibonacci,
            sum as u32,
            (f64::from(x) * 0.5 * f64::from(by) / 64.0) as u32,
            (-tag + parts[0] + 2 * parts[1] + 3 * parts[2]) as u32,
            (by << 8) + tag as u32,
        ]
    })
}

/// Arrays of a thread's own with indices from memory, and pointers to any of three memories.
fn local_arrays_and_generic_pointers(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int table[8] = {1, 4, 9, 16, 25, 36, 49, 64};
__device__ __noinline__ int read(const int *p, int i) { return p[i & 7]; }
extern "C" __global__ void pointers(const unsigned *in, int *out, int n) {
    __shared__ int shared[8];
    if (threadIdx.x < 8) shared[threadIdx.x] = 100 + threadIdx.x;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i];
    int local[8];
    for (int k = 0; k < 8; ++k) local[(k + x) & 7] = k;
    const int *p = x & 8 ? (x & 16 ? shared : table) : (x & 16 ? local : primes);
    int *q = x & 32 ? local : shared;
    out[i] = read(p, x >> 6) * 1000 + (q == local ? q[x >> 9 & 7] : 500);
}
"#,
    )?;
    let inputs = Random::new(4).vec(2000, Random::u32);
    let want: Vec<i32> = inputs
        .iter()
        .map(|&x| {
            let local = |k: u32| (k.wrapping_sub(x) & 7) as i32;
            let at = x >> 6 & 7;
            let read = match (x & 8 != 0, x & 16 != 0) {
                (true, true) => 100 + at as i32,
                (true, false) => (at as i32 + 1).pow(2),
                (false, true) => local(at),
                (false, false) => [2, 3, 5, 7, 11, 13, 17, 19][at as usize],
            };
            let other = if x & 32 == 0 { 500 } else { local(x >> 9 & 7) };
            read * 1000 + other
        })
        .collect();
    equal(
        "pointers",
        &kernels.map::<_, i32>("pointers", &inputs)?,
        &want,
    )
}

/// Templates, volatile accesses, the read-only path and inline PTX.
fn templates_volatile_and_inline_assembly(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
template <int N, class T> __device__ T power(T x) { return x * power<N - 1, T>(x); }
template <> __device__ unsigned power<0, unsigned>(unsigned) { return 1; }
template <> __device__ unsigned long long power<0, unsigned long long>(unsigned long long) { return 1; }
extern "C" __global__ void mixed(const unsigned *in, unsigned (*out)[5], int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = __ldg(in + i), y, z;
    out[i][0] = power<5>(x);
    out[i][1] = (unsigned)(power<3>((unsigned long long)x) >> 32);
    volatile unsigned *v = &out[i][2];
    *v = x; *v = *v + 1;
    asm("{ .reg .pred p; setp.gt.u32 p, %1, %2; selp.u32 %0, %1, %2, p; }" : "=r"(y) : "r"(x), "r"(1u << 31));
    asm volatile("bfe.u32 %0, %1, 5, 9;" : "=r"(z) : "r"(x));
    out[i][3] = y;
    out[i][4] = z;
}
"#,
    )?;
    let inputs = Random::new(5).vec(500, Random::u32);
    let got: Vec<[u32; 5]> = kernels.map("mixed", &inputs)?;
    let names = ["power<5>", "power<3>", "volatile", "setp", "bfe"];
    equal_rows(&names, &inputs, &got, |&x| {
        [
            x.wrapping_pow(5),
            (u64::from(x).wrapping_pow(3) >> 32) as u32,
            x.wrapping_add(1),
            x.max(1 << 31),
            x >> 5 & 0x1ff,
        ]
    })
}

/// Loads and stores of two and four elements at once.
fn vector_accesses(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
#define AT int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
extern "C" __global__ void f4(const float4 *in, float4 *out, int n) { AT; float4 v = in[i]; out[i] = make_float4(v.w, v.z, v.y, v.x + 1); }
extern "C" __global__ void c4(const char4 *in, char4 *out, int n) { AT; char4 v = in[i]; out[i] = make_char4(v.w, -v.z, v.y, v.x + 1); }
extern "C" __global__ void d2(const double2 *in, double2 *out, int n) { AT; double2 v = __ldg(in + i); out[i] = make_double2(v.y, v.x * 2); }
extern "C" __global__ void s4(const short4 *in, short4 *out, int n) { AT; short4 v = in[i]; out[i] = make_short4(v.w, -v.z, v.y, v.x * 3); }
"#,
    )?;
    let mut random = Random::new(6);
    let floats = random.vec(333, |r| [(); 4].map(|()| r.scaled(-9.0, 9.0) as f32));
    let chars = random.vec(333, |r| [(); 4].map(|()| r.u32() as i8));
    let doubles = random.vec(333, |r| [(); 2].map(|()| r.scaled(-9.0, 9.0)));
    let shorts = random.vec(333, |r| [(); 4].map(|()| r.u32() as i16));
    let rows = |x: [f32; 4]| [x[3], x[2], x[1], x[0] + 1.0];
    let want: Vec<_> = floats.iter().map(|&x| rows(x)).collect();
    let first = equal("float4", &kernels.map("f4", &floats)?, &want)?;
    let want: Vec<[i8; 4]> = chars
        .iter()
        .map(|x| [x[3], x[2].wrapping_neg(), x[1], x[0].wrapping_add(1)])
        .collect();
    let second = equal("char4", &kernels.map("c4", &chars)?, &want)?;
    let want: Vec<[f64; 2]> = doubles.iter().map(|x| [x[1], x[0] * 2.0]).collect();
    let third = equal("double2", &kernels.map("d2", &doubles)?, &want)?;
    let want: Vec<[i16; 4]> = shorts
        .iter()
        .map(|x| [x[3], x[2].wrapping_neg(), x[1], x[0].wrapping_mul(3)])
        .collect();
    let fourth = equal("short4", &kernels.map("s4", &shorts)?, &want)?;
    Ok(first.and(second).and(third).and(fourth))
}

/// `clock64` grows over work that waits for it.
fn clocks_do_not_go_back(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void clocks(long long *out) {
    for (int k = 0; k < 20; ++k) { out[k] = clock64(); __threadfence(); }
}
"#,
    )?;
    let times: Vec<i64> = kernels.fill("clocks", LaunchConfig::grid_1d(1, 1), 20)?;
    ensure!(
        times.is_sorted() && times[0] < times[19],
        "clock64 went {times:?}"
    );
    Ok(Report::exact(20))
}

/// Each thread of every launch runs once, under its own indices.
fn launches_of_odd_shapes(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void visit(unsigned *out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    atomicAdd(out + i, i * 64 + lane + 1);
}
"#,
    )?;
    let shapes = [
        ((1, 1, 1), (1, 1, 1)),
        ((1, 1, 1), (1024, 1, 1)),
        ((3, 2, 5), (7, 3, 2)),
        ((2, 3, 1), (1, 33, 1)),
        ((1, 2, 2), (2, 4, 64)),
        ((1000, 1, 1), (100, 1, 1)),
        ((77, 1, 1), (31, 1, 1)),
    ];
    let mut report = Report::default();
    for (grid, block) in shapes {
        let config = LaunchConfig::new(grid, block);
        let threads = config.threads_per_block() as u32;
        let count = config.blocks() as u32 * threads;
        let want: Vec<u32> = (0..count).map(|i| i * 64 + i % threads % 32 + 1).collect();
        let got = kernels.fill("visit", config, count as usize)?;
        report = report.and(equal(&format!("{grid:?} of {block:?}"), &got, &want)?);
    }
    Ok(report)
}
