//! Integer, rounding and conversion arithmetic, bit for bit, and the mathematical functions within their bounds.

use crate::check::{Check, Failure, Report, Subject, check, ensure};
use crate::data::{Random, f32_edges, f32_pairs, f64_edges, f64_pairs, integer_pairs};
use crate::exact::{self, MODES, Mode};
use crate::runner::{Kernels, equal_float_rows, equal_rows};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(integers_of_32_bits),
        check!(integers_of_64_bits),
        check!(integers_of_8_and_16_bits),
        check!(roundings_of_f32),
        check!(roundings_of_f64),
        check!(fused_multiply_adds),
        check!(functions_of_f32),
        check!(functions_of_f64),
        check!(fast_functions),
        check!(floats_to_integers),
        check!(integers_to_floats),
        check!(minima_maxima_and_classes),
    ]
}

/// The head of each kernel: `i` is the element's index.
macro_rules! source {
    ($body:literal) => {
        concat!(
            "#define AT int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return\n",
            "#define FOUR(r, f, ...) \
             (r)[0] = f##_rn(__VA_ARGS__); (r)[1] = f##_rz(__VA_ARGS__); \
             (r)[2] = f##_ru(__VA_ARGS__); (r)[3] = f##_rd(__VA_ARGS__)\n",
            $body
        )
    };
}

fn integers_of_32_bits(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void ints(const unsigned (*in)[2], unsigned (*out)[23], int n) {
    AT;
    unsigned a = in[i][0], b = in[i][1], d = b ? b : 1, *r = out[i];
    r[0] = a + b; r[1] = a - b; r[2] = a * b;
    r[3] = __mulhi((int)a, (int)b); r[4] = __umulhi(a, b);
    r[5] = (int)a / (int)d; r[6] = a / d; r[7] = (int)a % (int)d; r[8] = a % d;
    asm("shl.b32 %0, %1, %2;" : "=r"(r[9]) : "r"(a), "r"(b));
    asm("shr.u32 %0, %1, %2;" : "=r"(r[10]) : "r"(a), "r"(b));
    asm("shr.s32 %0, %1, %2;" : "=r"(r[11]) : "r"(a), "r"(b));
    r[12] = __popc(a); r[13] = __clz(a); r[14] = __brev(a); r[15] = __ffs(a);
    r[16] = __byte_perm(a, b, b & 0x7777);
    r[17] = __funnelshift_l(a, b, b); r[18] = __funnelshift_r(a, b, a); r[19] = __funnelshift_lc(a, b, b);
    r[20] = min((int)a, (int)b); r[21] = max(a, b); r[22] = __sad((int)a, (int)b, a);
}
"#
        ),
    )?;
    let inputs: Vec<[u32; 2]> = integer_pairs(1, 2000)
        .into_iter()
        .map(|pair| pair.map(|value| value as u32))
        .collect();
    let got: Vec<[u32; 23]> = kernels.map("ints", &inputs)?;
    let names = [
        "add",
        "sub",
        "mul",
        "mulhi",
        "umulhi",
        "div",
        "udiv",
        "rem",
        "urem",
        "shl",
        "shr.u32",
        "shr.s32",
        "popc",
        "clz",
        "brev",
        "ffs",
        "byte_perm",
        "funnelshift_l",
        "funnelshift_r",
        "funnelshift_lc",
        "min",
        "umax",
        "sad",
    ];
    equal_rows(&names, &inputs, &got, |&[a, b]| {
        let (s, t) = (a as i32, b as i32);
        let divisor = b.max(1);
        let signed = if t == 0 { 1 } else { t };
        let both = u64::from(b) << 32 | u64::from(a);
        let permuted = [0, 4, 8, 12].map(|at| (both >> (8 * (b >> at & 7))) as u8);
        [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b),
            ((i64::from(s) * i64::from(t)) >> 32) as u32,
            ((u64::from(a) * u64::from(b)) >> 32) as u32,
            s.wrapping_div(signed) as u32,
            a / divisor,
            s.wrapping_rem(signed) as u32,
            a % divisor,
            a.checked_shl(b).unwrap_or(0),
            a.checked_shr(b).unwrap_or(0),
            (s >> b.min(31)) as u32,
            a.count_ones(),
            a.leading_zeros(),
            a.reverse_bits(),
            if a == 0 { 0 } else { a.trailing_zeros() + 1 },
            u32::from_le_bytes(permuted),
            (both << (b & 31) >> 32) as u32,
            (both >> (a & 31)) as u32,
            (both << b.min(32) >> 32) as u32,
            s.min(t) as u32,
            a.max(b),
            s.abs_diff(t).wrapping_add(a),
        ]
    })
}

fn integers_of_64_bits(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
typedef unsigned long long u64;
typedef long long s64;
extern "C" __global__ void ints(const u64 (*in)[2], u64 (*out)[18], int n) {
    AT;
    u64 a = in[i][0], b = in[i][1], d = b ? b : 1, *r = out[i];
    r[0] = a + b; r[1] = a - b; r[2] = a * b;
    r[3] = __mul64hi((s64)a, (s64)b); r[4] = __umul64hi(a, b);
    r[5] = (s64)a / (s64)d; r[6] = a / d; r[7] = (s64)a % (s64)d; r[8] = a % d;
    asm("shl.b64 %0, %1, %2;" : "=l"(r[9]) : "l"(a), "r"((unsigned)b));
    asm("shr.u64 %0, %1, %2;" : "=l"(r[10]) : "l"(a), "r"((unsigned)b));
    asm("shr.s64 %0, %1, %2;" : "=l"(r[11]) : "l"(a), "r"((unsigned)b));
    r[12] = __popcll(a); r[13] = __clzll(a); r[14] = __brevll(a); r[15] = __ffsll(a);
    r[16] = min((s64)a, (s64)b); r[17] = max(a, b);
}
"#
        ),
    )?;
    let inputs = integer_pairs(2, 2000);
    let got: Vec<[u64; 18]> = kernels.map("ints", &inputs)?;
    let names = [
        "add", "sub", "mul", "mul64hi", "umul64hi", "div", "udiv", "rem", "urem", "shl", "shr.u64",
        "shr.s64", "popc", "clz", "brev", "ffs", "min", "umax",
    ];
    equal_rows(&names, &inputs, &got, |&[a, b]| {
        let (s, t) = (a as i64, b as i64);
        let signed = if t == 0 { 1 } else { t };
        let by = b as u32;
        [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b),
            ((i128::from(s) * i128::from(t)) >> 64) as u64,
            ((u128::from(a) * u128::from(b)) >> 64) as u64,
            s.wrapping_div(signed) as u64,
            a / b.max(1),
            s.wrapping_rem(signed) as u64,
            a % b.max(1),
            a.checked_shl(by).unwrap_or(0),
            a.checked_shr(by).unwrap_or(0),
            (s >> by.min(63)) as u64,
            u64::from(a.count_ones()),
            u64::from(a.leading_zeros()),
            a.reverse_bits(),
            if a == 0 {
                0
            } else {
                u64::from(a.trailing_zeros()) + 1
            },
            s.min(t) as u64,
            a.max(b),
        ]
    })
}

/// Narrow integers wrap when stored and extend by their sign when read.
fn integers_of_8_and_16_bits(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void ints(const unsigned (*in)[2], int (*out)[6], int n) {
    AT;
    unsigned a = in[i][0], b = in[i][1];
    signed char c = a, e = b; unsigned char u = a + b; short s = a, t = b; unsigned short w = a * b;
    int *r = out[i];
    r[0] = c * e; r[1] = u; r[2] = (short)(s * t); r[3] = w >> 3; r[4] = (signed char)(c << 1); r[5] = s - (int)w;
}
"#
        ),
    )?;
    let inputs: Vec<[u32; 2]> = integer_pairs(3, 1000)
        .into_iter()
        .map(|pair| pair.map(|value| value as u32))
        .collect();
    let got: Vec<[i32; 6]> = kernels.map("ints", &inputs)?;
    let names = ["s8", "u8", "s16", "u16", "s8 shift", "s16 - u16"];
    equal_rows(&names, &inputs, &got, |&[a, b]| {
        let product = a.wrapping_mul(b) as u16;
        [
            i32::from(a as i8) * i32::from(b as i8),
            i32::from(a.wrapping_add(b) as u8),
            i32::from(product as i16),
            i32::from(product >> 3),
            i32::from((a << 1) as i8),
            i32::from(a as i16) - i32::from(product),
        ]
    })
}

/// Names of the columns of a kernel with four directions an operation.
const ROUNDED: [&str; 16] = [
    "add_rn", "add_rz", "add_ru", "add_rd", "mul_rn", "mul_rz", "mul_ru", "mul_rd", "div_rn",
    "div_rz", "div_ru", "div_rd", "sqrt_rn", "sqrt_rz", "sqrt_ru", "sqrt_rd",
];

fn roundings_of_f32(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void rounded(const float (*in)[2], float (*out)[16], int n) {
    AT;
    float a = in[i][0], b = in[i][1], *r = out[i];
    FOUR(r, __fadd, a, b); FOUR(r + 4, __fmul, a, b); FOUR(r + 8, __fdiv, a, b); FOUR(r + 12, __fsqrt, a);
}
"#
        ),
    )?;
    let inputs = f32_pairs(4, 1000);
    let got: Vec<[f32; 16]> = kernels.map("rounded", &inputs)?;
    equal_float_rows(&ROUNDED, &inputs, &got, |&[a, b]| {
        std::array::from_fn(|column| {
            let mode = MODES[column % 4];
            match column / 4 {
                0 => exact::add_f32(a, b, mode),
                1 => exact::mul_f32(a, b, mode),
                2 => exact::div_f32(a, b, mode),
                _ => exact::sqrt_f32(a, mode),
            }
        })
    })
}

fn f64_roundings(a: f64, b: f64) -> Option<[f64; 16]> {
    let mut row = [0.0; 16];
    for (column, value) in row.iter_mut().enumerate() {
        let mode = MODES[column % 4];
        *value = match column / 4 {
            0 => exact::add_f64(a, b, mode),
            1 => exact::mul_f64(a, b, mode)?,
            2 => exact::div_f64(a, b, mode)?,
            _ => exact::sqrt_f64(a, mode)?,
        };
    }
    Some(row)
}

fn roundings_of_f64(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void rounded(const double (*in)[2], double (*out)[16], int n) {
    AT;
    double a = in[i][0], b = in[i][1], *r = out[i];
    FOUR(r, __dadd, a, b); FOUR(r + 4, __dmul, a, b); FOUR(r + 8, __ddiv, a, b); FOUR(r + 12, __dsqrt, a);
}
"#
        ),
    )?;
    // Those whose reference is exact: rests that underflow are left out.
    let inputs: Vec<[f64; 2]> = f64_pairs(5, 1000)
        .into_iter()
        .filter(|&[a, b]| f64_roundings(a, b).is_some())
        .collect();
    ensure!(inputs.len() > 1500, "only {} inputs are left", inputs.len());
    let got: Vec<[f64; 16]> = kernels.map("rounded", &inputs)?;
    equal_float_rows(&ROUNDED, &inputs, &got, |&[a, b]| {
        f64_roundings(a, b).expect("inputs without a reference are filtered out")
    })
}

fn fused_multiply_adds(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void fused32(const float (*in)[3], float (*out)[4], int n) {
    AT; FOUR(out[i], __fmaf, in[i][0], in[i][1], in[i][2]);
}
extern "C" __global__ void fused64(const double (*in)[3], double (*out)[4], int n) {
    AT; FOUR(out[i], __fma, in[i][0], in[i][1], in[i][2]);
}
"#
        ),
    )?;
    let names = ["fma_rn", "fma_rz", "fma_ru", "fma_rd"];
    let mut random = Random::new(6);
    let mut inputs: Vec<[f32; 3]> = f32_pairs(7, 800)
        .into_iter()
        .map(|[a, b]| [a, b, random.scaled(-30.0, 30.0) as f32])
        .collect();
    // Sums that cancel all but the product's rounding error.
    inputs.extend(f32_pairs(8, 200).into_iter().map(|[a, b]| [a, b, -(a * b)]));
    let got: Vec<[f32; 4]> = kernels.map("fused32", &inputs)?;
    let single = equal_float_rows(&names, &inputs, &got, |&[a, b, c]| {
        MODES.map(|mode| exact::fma_f32(a, b, c, mode))
    })?;
    // Factors of 24 bits, whose product is exact in f64.
    let inputs: Vec<[f64; 3]> = random.vec(1500, |random| {
        let factor = |random: &mut Random| f64::from(random.scaled(-20.0, 20.0) as f32);
        [factor(random), factor(random), random.scaled(-60.0, 60.0)]
    });
    let got: Vec<[f64; 4]> = kernels.map("fused64", &inputs)?;
    let double = equal_float_rows(&names, &inputs, &got, |&[a, b, c]| {
        MODES.map(|mode| exact::fma_f64(a, b, c, mode))
    })?;
    Ok(single.and(double))
}

/// A function of a table: its name, its bound in units of the last place, and the double-precision reference.
type Function = (&'static str, f64, fn(f64) -> f64);

/// Bounds from the CUDA programming guide, "Mathematical Functions". `powf(|x|, 1.75)` stands for `powf`.
const SINGLE: [Function; 14] = [
    ("sinf", 2.0, f64::sin),
    ("cosf", 2.0, f64::cos),
    ("tanf", 4.0, f64::tan),
    ("expf", 2.0, f64::exp),
    ("exp2f", 2.0, f64::exp2),
    ("logf", 1.0, f64::ln),
    ("log2f", 1.0, f64::log2),
    ("sqrtf", 0.0, f64::sqrt),
    ("rsqrtf", 2.0, |x| 1.0 / x.sqrt()),
    ("tanhf", 2.0, f64::tanh),
    ("erff", 2.0, libm::erf),
    ("cbrtf", 1.0, f64::cbrt),
    ("atanf", 2.0, f64::atan),
    ("powf", 4.0, |x| x.abs().powf(1.75)),
];

const DOUBLE: [Function; 14] = [
    ("sin", 2.0, f64::sin),
    ("cos", 2.0, f64::cos),
    ("tan", 2.0, f64::tan),
    ("exp", 1.0, f64::exp),
    ("exp2", 1.0, f64::exp2),
    ("log", 1.0, f64::ln),
    ("log2", 1.0, f64::log2),
    ("sqrt", 0.0, f64::sqrt),
    ("rsqrt", 1.0, |x| 1.0 / x.sqrt()),
    ("tanh", 2.0, f64::tanh),
    ("erf", 2.0, libm::erf),
    ("cbrt", 1.0, f64::cbrt),
    ("atan", 2.0, f64::atan),
    ("pow", 2.0, |x| x.abs().powf(1.75)),
];

/// Compares rows of function values; `distance` is in units of the last place.
fn within<const N: usize, T: Copy>(
    table: &[Function; N],
    inputs: &[T],
    got: &[[T; N]],
    widen: impl Fn(T) -> f64,
    distance: impl Fn(T, f64) -> f64,
) -> Result<Report, Failure> {
    let mut largest_error = 0f64;
    for (&input, row) in inputs.iter().zip(got) {
        let x = widen(input);
        for ((name, bound, reference), &value) in table.iter().zip(row) {
            let want = reference(x);
            let error = distance(value, want);
            // One more for the reference's own rounding; a root is exact on both sides.
            let bound = if *bound == 0.0 { 0.0 } else { bound + 1.0 };
            // `distance` is never NaN.
            let holds = error <= bound;
            ensure!(
                holds,
                "{name}({x:e}) is {:e}, want {want:e}: {error} ulp, bound {bound}",
                widen(value)
            );
            largest_error = largest_error.max(error);
        }
    }
    Ok(Report {
        cases: (N * inputs.len()) as u64,
        largest_error,
    })
}

fn functions_of_f32(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void functions(const float *in, float (*out)[14], int n) {
    AT;
    float x = in[i], *r = out[i];
    r[0] = sinf(x); r[1] = cosf(x); r[2] = tanf(x); r[3] = expf(x); r[4] = exp2f(x); r[5] = logf(x);
    r[6] = log2f(x); r[7] = sqrtf(x); r[8] = rsqrtf(x); r[9] = tanhf(x); r[10] = erff(x); r[11] = cbrtf(x);
    r[12] = atanf(x); r[13] = powf(fabsf(x), 1.75f);
}
"#
        ),
    )?;
    let mut random = Random::new(9);
    let mut inputs = f32_edges();
    inputs.extend(random.vec(1500, |random| random.scaled(-12.0, 6.0) as f32));
    inputs.extend(random.vec(500, |random| random.scaled(-40.0, 40.0) as f32));
    let got: Vec<[f32; 14]> = kernels.map("functions", &inputs)?;
    within(&SINGLE, &inputs, &got, f64::from, |value, want| {
        exact::ulps_f32(value, want as f32)
    })
}

fn functions_of_f64(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void functions(const double *in, double (*out)[14], int n) {
    AT;
    double x = in[i], *r = out[i];
    r[0] = sin(x); r[1] = cos(x); r[2] = tan(x); r[3] = exp(x); r[4] = exp2(x); r[5] = log(x);
    r[6] = log2(x); r[7] = sqrt(x); r[8] = rsqrt(x); r[9] = tanh(x); r[10] = erf(x); r[11] = cbrt(x);
    r[12] = atan(x); r[13] = pow(fabs(x), 1.75);
}
"#
        ),
    )?;
    let mut random = Random::new(10);
    let mut inputs = f64_edges();
    inputs.extend(random.vec(1200, |random| random.scaled(-20.0, 9.0)));
    inputs.extend(random.vec(300, |random| random.scaled(-90.0, 90.0)));
    let got: Vec<[f64; 14]> = kernels.map("functions", &inputs)?;
    within(&DOUBLE, &inputs, &got, |x| x, exact::ulps_f64)
}

/// The intrinsics that trade accuracy for speed, inside the ranges that the guide gives bounds for.
fn fast_functions(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void fast(const float *in, float (*out)[5], int n) {
    AT;
    float x = in[i], *r = out[i];
    r[0] = __sinf(x); r[1] = __cosf(x); r[2] = __expf(x); r[3] = __logf(fabsf(x)); r[4] = __fdividef(1.25f, x);
}
"#
        ),
    )?;
    let pi = std::f64::consts::PI;
    let inputs = Random::new(11).vec(3000, |random| random.between(-pi, pi) as f32);
    let got: Vec<[f32; 5]> = kernels.map("fast", &inputs)?;
    for (&input, &[sin, cos, exp, log, quotient]) in inputs.iter().zip(&got) {
        let x = f64::from(input);
        let absolute = |got: f32, want: f64| (f64::from(got) - want).abs();
        let ulps = |got: f32, want: f64| exact::ulps_f32(got, want as f32);
        let ln = x.abs().ln();
        let log_holds = if (0.5..=2.0).contains(&x.abs()) {
            absolute(log, ln) <= (-21.41f64).exp2()
        } else {
            ulps(log, ln) <= 3.0
        };
        let holds = [
            ("__sinf", absolute(sin, x.sin()) <= (-21.41f64).exp2()),
            ("__cosf", absolute(cos, x.cos()) <= (-21.19f64).exp2()),
            (
                "__expf",
                ulps(exp, x.exp()) <= 3.0 + (1.173 * x).abs().floor(),
            ),
            ("__logf", log_holds),
            ("__fdividef", ulps(quotient, 1.25 / x) <= 3.0),
        ];
        for (name, holds) in holds {
            ensure!(
                holds,
                "{name}({x:e}) is out of bounds: row {:?}",
                [sin, cos, exp, log, quotient]
            );
        }
    }
    Ok(Report::exact(5 * inputs.len() as u64))
}

/// Conversions in every direction saturate. Of NaN they make 0 from single precision to 32 bits, and else the integer
/// with only its top bit set.
fn floats_to_integers(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
typedef unsigned long long u64;
extern "C" __global__ void from_f32(const float *in, u64 (*out)[16], int n) {
    AT; float x = in[i]; u64 *r = out[i];
    FOUR(r, (unsigned)__float2int, x); FOUR(r + 4, __float2uint, x);
    FOUR(r + 8, __float2ll, x); FOUR(r + 12, __float2ull, x);
}
extern "C" __global__ void from_f64(const double *in, u64 (*out)[16], int n) {
    AT; double x = in[i]; u64 *r = out[i];
    FOUR(r, (unsigned)__double2int, x); FOUR(r + 4, __double2uint, x);
    FOUR(r + 8, __double2ll, x); FOUR(r + 12, __double2ull, x);
}
"#
        ),
    )?;
    let names = [
        "int_rn", "int_rz", "int_ru", "int_rd", "uint_rn", "uint_rz", "uint_ru", "uint_rd",
        "ll_rn", "ll_rz", "ll_ru", "ll_rd", "ull_rn", "ull_rz", "ull_ru", "ull_rd",
    ];
    let row = |x: f64, narrow_nan: u64| {
        std::array::from_fn(|column| {
            let value = exact::integral(x, MODES[column % 4]);
            match (x.is_nan(), column / 4) {
                (true, 0 | 1) => narrow_nan,
                (true, _) => 1 << 63,
                (false, 0) => u64::from(value as i32 as u32),
                (false, 1) => u64::from(value as u32),
                (false, 2) => value as i64 as u64,
                (false, _) => value as u64,
            }
        })
    };
    let mut random = Random::new(12);
    let mut inputs = f32_edges();
    inputs.extend([2147483648.0, 4294967296.0, -2147483648.0, 3e38, -3e38]);
    inputs.extend(random.vec(1000, |random| random.scaled(-3.0, 66.0) as f32));
    let got: Vec<[u64; 16]> = kernels.map("from_f32", &inputs)?;
    let single = equal_rows(&names, &inputs, &got, |&x| row(f64::from(x), 0))?;
    let mut inputs = f64_edges();
    inputs.extend([2147483647.5, 4294967295.5, -2147483648.5, 1e300, -1e300]);
    inputs.extend(random.vec(1000, |random| random.scaled(-3.0, 66.0)));
    let got: Vec<[u64; 16]> = kernels.map("from_f64", &inputs)?;
    Ok(single.and(equal_rows(&names, &inputs, &got, |&x| row(x, 1 << 31))?))
}

/// Conversions that round: of integers to both precisions, and of double to single precision, in every direction.
fn integers_to_floats(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
extern "C" __global__ void to_f32(const unsigned long long *in, float (*out)[20], int n) {
    AT; unsigned long long x = in[i]; float *r = out[i];
    FOUR(r, __int2float, (int)x); FOUR(r + 4, __uint2float, (unsigned)x);
    FOUR(r + 8, __ll2float, (long long)x); FOUR(r + 12, __ull2float, x);
    FOUR(r + 16, __double2float, __longlong_as_double(x));
}
extern "C" __global__ void to_f64(const unsigned long long *in, double (*out)[8], int n) {
    AT; unsigned long long x = in[i]; double *r = out[i];
    FOUR(r, __ll2double, (long long)x); FOUR(r + 4, __ull2double, x);
}
"#
        ),
    )?;
    let mut inputs: Vec<u64> = integer_pairs(15, 1500).into_iter().flatten().collect();
    // Doubles around the range of single precision, whose bits serve as integers too.
    inputs.extend(f64_edges().into_iter().map(f64::to_bits));
    inputs.extend(Random::new(16).vec(1000, |random| random.scaled(-155.0, 130.0).to_bits()));
    let names = ["int", "uint", "ll", "ull", "double"]
        .map(|name| ["rn", "rz", "ru", "rd"].map(|mode| format!("{name}2float_{mode}")));
    let names: [&str; 20] = std::array::from_fn(|column| names[column / 4][column % 4].as_str());
    let got: Vec<[f32; 20]> = kernels.map("to_f32", &inputs)?;
    let single = equal_float_rows(&names, &inputs, &got, |&x| {
        std::array::from_fn(|column| {
            let mode = MODES[column % 4];
            match column / 4 {
                0 => exact::i128_to_f32(i128::from(x as i32), mode),
                1 => exact::i128_to_f32(i128::from(x as u32), mode),
                2 => exact::i128_to_f32(i128::from(x as i64), mode),
                3 => exact::i128_to_f32(i128::from(x), mode),
                _ => exact::to_f32(f64::from_bits(x), mode),
            }
        })
    })?;
    let names = [
        "ll2double_rn",
        "ll2double_rz",
        "ll2double_ru",
        "ll2double_rd",
        "ull2double_rn",
        "ull2double_rz",
        "ull2double_ru",
        "ull2double_rd",
    ];
    let got: Vec<[f64; 8]> = kernels.map("to_f64", &inputs)?;
    let double = equal_float_rows(&names, &inputs, &got, |&x| {
        std::array::from_fn(|column| {
            let integer = if column < 4 {
                i128::from(x as i64)
            } else {
                i128::from(x)
            };
            exact::i128_to_f64(integer, MODES[column % 4])
        })
    })?;
    Ok(single.and(double))
}

/// Minimum and maximum order the zeros and prefer numbers to NaN; classes and integral parts are as IEEE 754 says.
fn minima_maxima_and_classes(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(
        subject,
        source!(
            r#"
#define ROW(T, s) \
    T a = in[i][0], b = in[i][1], *r = out[i]; \
    r[0] = fmin##s(a, b); r[1] = fmax##s(a, b); r[2] = isnan(a); r[3] = isinf(a); r[4] = copysign##s(a, b); \
    r[5] = floor##s(a); r[6] = ceil##s(a); r[7] = rint##s(a); r[8] = trunc##s(a); r[9] = fabs##s(a)
extern "C" __global__ void single(const float (*in)[2], float (*out)[10], int n) { AT; ROW(float, f); }
extern "C" __global__ void twice(const double (*in)[2], double (*out)[10], int n) { AT; ROW(double,); }
"#
        ),
    )?;
    let names = [
        "fmin", "fmax", "isnan", "isinf", "copysign", "floor", "ceil", "rint", "trunc", "fabs",
    ];
    let row = |a: f64, b: f64| {
        let negative = a.is_sign_negative();
        let (low, high) = if a.is_nan() {
            (b, b)
        } else if b.is_nan() {
            (a, a)
        } else if a < b || a == b && negative {
            (a, b)
        } else {
            (b, a)
        };
        let [rint, trunc, ceil, floor] =
            [Mode::Nearest, Mode::Zero, Mode::Up, Mode::Down].map(|mode| exact::integral(a, mode));
        let flag = |flag: bool| f64::from(u8::from(flag));
        [
            low,
            high,
            flag(a.is_nan()),
            flag(a.is_infinite()),
            a.copysign(b),
            floor,
            ceil,
            rint,
            trunc,
            a.abs(),
        ]
    };
    let inputs = f32_pairs(13, 500);
    let got: Vec<[f32; 10]> = kernels.map("single", &inputs)?;
    let single = equal_float_rows(&names, &inputs, &got, |&[a, b]| {
        row(f64::from(a), f64::from(b)).map(|value| value as f32)
    })?;
    let inputs = f64_pairs(14, 500);
    let got: Vec<[f64; 10]> = kernels.map("twice", &inputs)?;
    let double = equal_float_rows(&names, &inputs, &got, |&[a, b]| row(a, b))?;
    Ok(single.and(double))
}
