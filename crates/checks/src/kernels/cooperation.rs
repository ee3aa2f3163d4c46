//! Threads that work together: barriers, warps, atomics, and blocks that wait for each other.

use cuprum::prelude::LaunchConfig;

use crate::check::{Check, Failure, Report, Subject, check};
use crate::runner::{Kernels, equal};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(reductions_in_shared_memory),
        check!(barriers_with_absent_threads),
        check!(barriers_in_branches),
        check!(barriers_that_vote),
        check!(named_barriers),
        check!(shuffles),
        check!(votes_and_matches),
        check!(integer_atomics),
        check!(float_atomics),
        check!(locks_between_blocks),
        check!(blocks_that_wait_in_a_chain),
        check!(the_last_block_reduces),
    ]
}

/// Static and dynamic shared memory and barriers between the steps of a tree.
fn reductions_in_shared_memory(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void reduce(unsigned (*out)[2]) {
    __shared__ unsigned fixed[256];
    extern __shared__ unsigned dynamic[];
    unsigned t = threadIdx.x, x = blockIdx.x * 256 + t;
    fixed[t] = x * x;
    dynamic[255 - t] = x ^ 0x5a5a;
    for (int step = 128; step; step >>= 1) {
        __syncthreads();
        if (t < step) { fixed[t] += fixed[t + step]; dynamic[t] = max(dynamic[t], dynamic[t + step]); }
    }
    if (t == 0) { out[blockIdx.x][0] = fixed[0]; out[blockIdx.x][1] = dynamic[0]; }
}
"#,
    )?;
    let config = LaunchConfig::grid_1d(50, 256).with_shared_bytes(1024);
    let got: Vec<[u32; 2]> = kernels.fill("reduce", config, 50)?;
    let want: Vec<[u32; 2]> = (0..50u32)
        .map(|block| {
            let values = block * 256..(block + 1) * 256;
            let sum = values
                .clone()
                .fold(0u32, |sum, x| sum.wrapping_add(x.wrapping_mul(x)));
            let max = values.map(|x| x ^ 0x5a5a).fold(0, u32::max);
            [sum, max]
        })
        .collect();
    equal("sum and maximum", &got, &want)
}

/// A barrier waits for the threads that are left when others have returned.
fn barriers_with_absent_threads(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void leave(unsigned *out) {
    __shared__ unsigned s[100];
    unsigned t = threadIdx.x;
    if (t >= 70) return;
    s[t] = t * 7;
    __syncthreads();
    unsigned other = s[69 - t];
    if (t < 32) { out[t] = other; return; }
    __syncthreads();
    out[t] = other + 1000;
}
"#,
    )?;
    let got: Vec<u32> = kernels.fill("leave", LaunchConfig::grid_1d(1, 100), 100)?;
    let want: Vec<u32> = (0..100)
        .map(|t| match t {
            0..32 => (69 - t) * 7,
            32..70 => (69 - t) * 7 + 1000,
            _ => 0,
        })
        .collect();
    equal("leave", &got, &want)
}

/// Warps meet at one barrier from different places of the code.
fn barriers_in_branches(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void branches(unsigned *out) {
    __shared__ volatile unsigned s[128];
    unsigned t = threadIdx.x, r;
    s[t] = t;
    if (t / 32 % 2) { s[t] = t * 3; __syncthreads(); r = s[t - 32] + 1; }
    else { s[t] = t * 5; __syncthreads(); r = s[t + 32] + 2; }
    out[t] = r;
}
"#,
    )?;
    let got: Vec<u32> = kernels.fill("branches", LaunchConfig::grid_1d(1, 128), 128)?;
    let want: Vec<u32> = (0..128)
        .map(|t| {
            if t / 32 % 2 == 1 {
                (t - 32) * 5 + 1
            } else {
                (t + 32) * 3 + 2
            }
        })
        .collect();
    equal("branches", &got, &want)
}

/// Barriers that count, and tell whether all or any threads hold a condition.
fn barriers_that_vote(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void votes(int (*out)[5]) {
    int t = threadIdx.x;
    out[t][0] = __syncthreads_count(t % 3 == 0);
    out[t][1] = __syncthreads_and(t < 80) != 0;
    out[t][2] = __syncthreads_and(t < 79) != 0;
    out[t][3] = __syncthreads_or(t == 79) != 0;
    out[t][4] = __syncthreads_or(t == 80) != 0;
}
"#,
    )?;
    let got: Vec<[i32; 5]> = kernels.fill("votes", LaunchConfig::grid_1d(1, 80), 80)?;
    equal("votes", &got, &[[27, 1, 0, 1, 0]; 80])
}

/// Two pairs of warps that each meet at a barrier of their own, and a producer that only arrives.
fn named_barriers(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void named(unsigned *out) {
    __shared__ volatile unsigned s[128];
    unsigned t = threadIdx.x;
    s[t] = t + 10;
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    unsigned r = s[t ^ 32];
    __syncthreads();
    if (t < 32) { s[t] = t * 9; __threadfence_block(); asm volatile("bar.arrive 3, 64;" ::: "memory"); }
    else if (t < 64) { asm volatile("bar.sync 3, 64;" ::: "memory"); r += s[t - 32] << 8; }
    out[t] = r;
}
"#,
    )?;
    let got: Vec<u32> = kernels.fill("named", LaunchConfig::grid_1d(1, 128), 128)?;
    let want: Vec<u32> = (0..128u32)
        .map(|t| {
            let produced = if (32..64).contains(&t) {
                (t - 32) * 9
            } else {
                0
            };
            (t ^ 32) + 10 + (produced << 8)
        })
        .collect();
    equal("named", &got, &want)
}

/// The four shuffles over whole and half warps, and sources outside them.
fn shuffles(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void shuffle(int (*out)[9]) {
    int t = threadIdx.x, x = t * 11 + 1;
    int *r = out[t];
    r[0] = __shfl_sync(~0u, x, (t * 5 + 3) & 31);
    r[1] = __shfl_up_sync(~0u, x, 3);
    r[2] = __shfl_down_sync(~0u, x, 7);
    r[3] = __shfl_xor_sync(~0u, x, 21);
    r[4] = __shfl_sync(~0u, x, t + 6, 16);
    r[5] = __shfl_up_sync(~0u, x, 5, 16);
    r[6] = __shfl_down_sync(~0u, x, 9, 16);
    r[7] = __shfl_xor_sync(~0u, x, 6, 16);
    r[8] = 0;
    if (t % 3 == 0) r[8] = (int)__shfl_sync(0x49249249u, (double)x, 30);
}
"#,
    )?;
    let got: Vec<[i32; 9]> = kernels.fill("shuffle", LaunchConfig::grid_1d(1, 32), 32)?;
    let want: Vec<[i32; 9]> = (0..32)
        .map(|t: i32| {
            let half = t & 16;
            let sources = [
                (t * 5 + 3) & 31,
                if t >= 3 { t - 3 } else { t },
                if t < 25 { t + 7 } else { t },
                t ^ 21,
                half + ((t + 6) & 15),
                if t - half >= 5 { t - 5 } else { t },
                if t - half < 7 { t + 9 } else { t },
                t ^ 6,
            ];
            let mut row = [0; 9];
            for (value, source) in row.iter_mut().zip(sources) {
                *value = source * 11 + 1;
            }
            if t % 3 == 0 {
                row[8] = 331;
            }
            row
        })
        .collect();
    equal("shuffle", &got, &want)
}

/// Votes of whole warps and of the threads that took a branch, and `match`.
fn votes_and_matches(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void votes(unsigned (*out)[8]) {
    unsigned t = threadIdx.x, *r = out[t];
    r[0] = __ballot_sync(~0u, t % 5 == 2);
    r[1] = __any_sync(~0u, t == 31) + 2 * __any_sync(~0u, t == 32);
    r[2] = __all_sync(~0u, t < 32) + 2 * __all_sync(~0u, t < 31);
    r[3] = __match_any_sync(~0u, t % 7);
    int same;
    r[4] = __match_all_sync(~0u, t / 32, &same);
    r[4] ^= same;
    if (t < 12) {
        r[5] = __ballot_sync(0xfffu, t & 1);
        r[6] = __shfl_sync(0xfffu, t, 5);
        __syncwarp(0xfffu);
    } else {
        r[5] = __ballot_sync(~0xfffu, t & 1);
        r[6] = __shfl_sync(~0xfffu, t, 20);
    }
    unsigned below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    r[7] = below;
}
"#,
    )?;
    let mask = |f: &dyn Fn(u32) -> bool| (0..32).filter(|&t| f(t)).fold(0, |m, t| m | 1u32 << t);
    let got: Vec<[u32; 8]> = kernels.fill("votes", LaunchConfig::grid_1d(1, 32), 32)?;
    let want: Vec<[u32; 8]> = (0..32u32)
        .map(|t| {
            [
                mask(&|other| other % 5 == 2),
                1,
                1,
                mask(&|other| other % 7 == t % 7),
                u32::MAX ^ 1,
                mask(&|other| other & 1 == 1 && (other < 12) == (t < 12)),
                if t < 12 { 5 } else { 20 },
                (1 << t) - 1,
            ]
        })
        .collect();
    equal("votes", &got, &want)
}

/// Atomics of many blocks on the same words, in global and in shared memory.
fn integer_atomics(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
typedef unsigned long long u64;
__device__ void all(u64 *w, unsigned *u, int *s, unsigned x) {
    atomicAdd(u + 0, x); atomicMax(u + 1, x * 7919 % 10007); atomicOr(u + 2, 1u << x % 29); atomicXor(u + 3, x * x);
    atomicAnd(u + 4, ~(1u << x % 13)); atomicInc(u + 5, 99); atomicDec(u + 6, 77); atomicMin(u + 7, 50000 + x);
    atomicSub(u + 8, x);
    unsigned seen = u[9], was;
    do { was = seen; seen = atomicCAS(u + 9, was, was + 3); } while (seen != was);
    atomicAdd(s + 0, 5 - (int)x); atomicMin(s + 1, 100 - (int)x); atomicMax(s + 2, (int)x - 5000);
    atomicAdd(w + 0, (u64)x << 33); atomicMax(w + 1, (u64)x << 40); atomicXor(w + 2, (u64)x * x << 20);
    u64 before = w[3], old;
    do { old = before; before = atomicCAS(w + 3, old, old + (1ull << 32) + 1); } while (before != old);
    atomicAdd(w + 4, (u64)atomicExch(u + 10, x + 1));
}
__device__ void start(u64 *w, unsigned *u, int *s) {
    for (int k = 0; k < 5; ++k) w[k] = 0;
    for (int k = 0; k < 11; ++k) u[k] = k == 4 || k == 7 ? ~0u : 0;
    for (int k = 0; k < 3; ++k) s[k] = k == 2 ? -9999 : 0;
}
__device__ void report(u64 *out, u64 *w, unsigned *u, int *s) {
    for (int k = 0; k < 10; ++k) out[k] = u[k];
    for (int k = 0; k < 3; ++k) out[10 + k] = (u64)(long long)s[k];
    for (int k = 0; k < 4; ++k) out[13 + k] = w[k];
    out[17] = w[4] + u[10];
}
extern "C" __global__ void in_shared(u64 *out) {
    __shared__ u64 w[5]; __shared__ unsigned u[11]; __shared__ int s[3];
    if (threadIdx.x == 0) start(w, u, s);
    __syncthreads();
    all(w, u, s, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) report(out, w, u, s);
}
__device__ u64 gw[5]; __device__ unsigned gu[11]; __device__ int gs[3];
extern "C" __global__ void begin(u64 *) { start(gw, gu, gs); }
extern "C" __global__ void in_global(u64 *) { all(gw, gu, gs, blockIdx.x * blockDim.x + threadIdx.x); }
extern "C" __global__ void finish(u64 *out) { report(out, gw, gu, gs); }
"#,
    )?;
    let one = LaunchConfig::grid_1d(1, 1);
    let shared: Vec<u64> = kernels.fill("in_shared", LaunchConfig::grid_1d(1, 200), 18)?;
    let report = equal("in shared memory", &shared, &atomics_of(200))?;
    kernels.fill::<u64>("begin", one, 1)?;
    kernels.fill::<u64>("in_global", LaunchConfig::grid_1d(30, 100), 1)?;
    let global: Vec<u64> = kernels.fill("finish", one, 18)?;
    Ok(report.and(equal("in global memory", &global, &atomics_of(3000))?))
}

/// What `integer_atomics` leaves after the threads `0..count`, in any order.
fn atomics_of(count: u32) -> Vec<u64> {
    let all = || 0..count;
    let sum: u32 = all().sum();
    let unsigned = [
        sum,
        all().map(|x| x * 7919 % 10007).fold(0, u32::max),
        all().fold(0, |bits, x| bits | 1 << (x % 29)),
        all().fold(0, |bits, x| bits ^ (x * x)),
        !((1 << 13) - 1),
        count % 100, // incremented from 0 to 99, then 0 again
        // From 0 it goes to 77 and down again: 78 values.
        (78 - count % 78) % 78,
        50000,
        sum.wrapping_neg(),
        3 * count,
    ];
    let (count, total) = (i64::from(count), u64::from(sum));
    let signed = [
        5 * count - i64::from(sum),
        (101 - count).min(0),
        count - 1 - 5000,
    ];
    let wide = [
        total << 33,
        (count as u64 - 1) << 40,
        all().map(u64::from).fold(0, |bits, x| bits ^ (x * x) << 20),
        count as u64 * ((1 << 32) + 1),
        total + count as u64,
    ];
    unsigned
        .map(u64::from)
        .into_iter()
        .chain(signed.map(|value| value as u64))
        .chain(wide)
        .collect()
}

/// Atomic additions of floats whose sums are exact in any order.
fn float_atomics(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
extern "C" __global__ void add(double *out) {
    __shared__ float f; __shared__ double d; __shared__ float old;
    if (threadIdx.x == 0) { f = 0; d = 0; old = 0; }
    __syncthreads();
    atomicAdd(&f, threadIdx.x * 0.25f);
    atomicAdd(&d, threadIdx.x * 0.125);
    atomicAdd((float *)(out + 2), 0.5f);
    __syncthreads();
    if (threadIdx.x == 0) { atomicAdd(out, (double)f); atomicAdd(out + 1, d); }
}
"#,
    )?;
    let got: Vec<f64> = kernels.fill("add", LaunchConfig::grid_1d(20, 96), 3)?;
    let sum = 20.0 * 95.0 * 96.0 / 2.0;
    let third = f64::from_bits(u64::from(960.0f32.to_bits()));
    equal("add", &got, &[sum * 0.25, sum * 0.125, third])
}

/// A lock taken by one thread of each block protects a plain counter.
fn locks_between_blocks(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
__device__ int lock;
extern "C" __global__ void count(volatile unsigned *out) {
    if (threadIdx.x == 0) {
        for (int k = 0; k < 10; ++k) {
            while (atomicCAS(&lock, 0, 1)) {}
            __threadfence();
            out[0] = out[0] + 1;
            out[1] = out[1] * 3 + 1;
            __threadfence();
            atomicExch(&lock, 0);
        }
    }
}
"#,
    )?;
    let got: Vec<u32> = kernels.fill("count", LaunchConfig::grid_1d(64, 32), 2)?;
    let second = (0..640).fold(0u32, |x, _| x.wrapping_mul(3).wrapping_add(1));
    equal("counters", &got, &[640, second])
}

/// Each block waits for the flag of the one before it: a scan in one launch.
fn blocks_that_wait_in_a_chain(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
__device__ volatile unsigned flags[200];
__device__ unsigned ticket;
extern "C" __global__ void scan(volatile unsigned *out) {
    __shared__ unsigned block;
    if (threadIdx.x == 0) block = atomicAdd(&ticket, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned before = 0;
        if (block) {
            while (!flags[block - 1]) {}
            __threadfence();
            before = out[block - 1];
        }
        out[block] = before + block * block + 1;
        __threadfence();
        flags[block] = 1;
    }
}
"#,
    )?;
    let got: Vec<u32> = kernels.fill("scan", LaunchConfig::grid_1d(200, 64), 200)?;
    let want: Vec<u32> = (0..200u32)
        .scan(0, |sum, block| {
            *sum += block * block + 1;
            Some(*sum)
        })
        .collect();
    equal("scan", &got, &want)
}

/// The block that arrives last sees what all others wrote.
fn the_last_block_reduces(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        r#"
__device__ volatile unsigned partial[100];
__device__ unsigned arrived;
extern "C" __global__ void reduce(unsigned *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = blockIdx.x * 17 + 3;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) atomicAdd(out, partial[k]);
    }
}
"#,
    )?;
    let want: u32 = (0..100).map(|block| block * 17 + 3).sum();
    let config = LaunchConfig::grid_1d(100, 64);
    // The counter wraps to 0, so a second launch works too.
    let first: Vec<u32> = kernels.fill("reduce", config, 1)?;
    let second: Vec<u32> = kernels.fill("reduce", config, 1)?;
    Ok(equal("first", &first, &[want])?.and(equal("second", &second, &[want])?))
}
