//! The elementwise operations, and what each is in CUDA C++.

use crate::element::DType;

/// An elementwise operation. What it does depends on the type of its operands; [`Op::source`] holds all meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Op {
    Neg = 1,
    Not,
    Abs,
    Sign,
    Sqrt,
    Rsqrt,
    Cbrt,
    Exp,
    Exp2,
    ExpM1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Floor,
    Ceil,
    Trunc,
    Round,
    IsNan,
    IsFinite,
    /// To the node's type; `param` is unused.
    Cast,
    /// To a constant power, `param`, by repeated multiplication.
    PowI,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Atan2,
    Hypot,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `mask ? a : b`
    Select,
    /// `a * b + c`, rounded once for floats.
    MulAdd,
}

impl Op {
    /// The number of operands.
    pub(crate) fn arity(self) -> usize {
        match self as u8 {
            code if code < Op::Add as u8 => 1,
            code if code < Op::Select as u8 => 2,
            _ => 3,
        }
    }

    /// Whether swapping the operands changes nothing, so that `x + y` and `y + x` are one sub-expression.
    pub(crate) fn is_commutative(self) -> bool {
        // Not minimum and maximum: which of two NaNs, or zeros, comes out depends on the order.
        matches!(
            self,
            Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Eq | Op::Ne
        )
    }

    /// The C++ expression of this operation on operands `args` of type `from` (of a select: the type of its two choices), with a result of
    /// type `to`. The operands are names or literals, so they may be repeated.
    ///
    /// Signed integers add, subtract and multiply as unsigned ones: overflow wraps, as hardware does, where C++ leaves it undefined.
    pub(crate) fn source(self, from: DType, to: DType, param: u32, args: &[&str]) -> String {
        let a = args[0];
        let b = args.get(1).copied().unwrap_or_default();
        let c = args.get(2).copied().unwrap_or_default();
        let t = to.c_name();
        // `sinf` for float, `sin` for double.
        let f = if from == DType::F32 { "f" } else { "" };
        let call = |name: &str| {
            if b.is_empty() {
                format!("{name}{f}({a})")
            } else {
                format!("{name}{f}({a}, {b})")
            }
        };
        let arithmetic = |operator: &str| match from {
            DType::I32 => format!("(int)((unsigned int){a} {operator} (unsigned int){b})"),
            DType::I64 => {
                format!("(long long)((unsigned long long){a} {operator} (unsigned long long){b})")
            }
            _ => format!("{a} {operator} {b}"),
        };
        match self {
            Op::Neg => match from {
                DType::I32 => format!("(int)(0u - (unsigned int){a})"),
                DType::I64 => format!("(long long)(0ull - (unsigned long long){a})"),
                _ => format!("-{a}"),
            },
            Op::Not => {
                if from == DType::Bool {
                    format!("!{a}")
                } else {
                    format!("~{a}")
                }
            }
            Op::Abs => match from {
                DType::F32 | DType::F64 => call("fabs"),
                DType::I32 => format!("({a} < 0 ? (int)(0u - (unsigned int){a}) : {a})"),
                DType::I64 => {
                    format!("({a} < 0 ? (long long)(0ull - (unsigned long long){a}) : {a})")
                }
                _ => a.to_owned(),
            },
            Op::Sign => match from {
                // NaN stays NaN.
                DType::F32 | DType::F64 => {
                    format!("({a} > 0 ? ({t})1 : ({a} < 0 ? ({t})-1 : ({a} == 0 ? ({t})0 : {a})))")
                }
                _ => format!("({t})(({a} > 0) - ({a} < 0))"),
            },
            Op::Sqrt => call("sqrt"),
            Op::Rsqrt => call("rsqrt"),
            Op::Cbrt => call("cbrt"),
            Op::Exp => call("exp"),
            Op::Exp2 => call("exp2"),
            Op::ExpM1 => call("expm1"),
            Op::Log => call("log"),
            Op::Log2 => call("log2"),
            Op::Log10 => call("log10"),
            Op::Log1p => call("log1p"),
            Op::Sin => call("sin"),
            Op::Cos => call("cos"),
            Op::Tan => call("tan"),
            Op::Asin => call("asin"),
            Op::Acos => call("acos"),
            Op::Atan => call("atan"),
            Op::Sinh => call("sinh"),
            Op::Cosh => call("cosh"),
            Op::Tanh => call("tanh"),
            Op::Floor => call("floor"),
            Op::Ceil => call("ceil"),
            Op::Trunc => call("trunc"),
            Op::Round => call("round"),
            Op::IsNan => format!("{a} != {a}"),
            // Infinity minus itself is NaN.
            Op::IsFinite => format!("{a} - {a} == 0"),
            Op::Cast => cast(from, to, a),
            Op::PowI => power(from, param, a),
            Op::Add => arithmetic("+"),
            Op::Sub => arithmetic("-"),
            Op::Mul => arithmetic("*"),
            Op::Div => format!("{a} / {b}"),
            Op::Rem => {
                if from.is_float() {
                    call("fmod")
                } else {
                    format!("{a} % {b}")
                }
            }
            Op::Pow => call("pow"),
            Op::Atan2 => call("atan2"),
            Op::Hypot => call("hypot"),
            // A NaN on either side comes out, as in NumPy; the device's own minimum would drop it.
            Op::Minimum if from.is_float() => format!("(({a} < {b} || {a} != {a}) ? {a} : {b})"),
            Op::Maximum if from.is_float() => format!("(({a} > {b} || {a} != {a}) ? {a} : {b})"),
            Op::Minimum => format!("({a} < {b} ? {a} : {b})"),
            Op::Maximum => format!("({a} > {b} ? {a} : {b})"),
            Op::And => format!("{a} & {b}"),
            Op::Or => format!("{a} | {b}"),
            Op::Xor => format!("{a} ^ {b}"),
            Op::Eq => format!("{a} == {b}"),
            Op::Ne => format!("{a} != {b}"),
            Op::Lt => format!("{a} < {b}"),
            Op::Le => format!("{a} <= {b}"),
            Op::Gt => format!("{a} > {b}"),
            Op::Ge => format!("{a} >= {b}"),
            Op::Select => format!("{a} ? {b} : {c}"),
            Op::MulAdd => match from {
                DType::F32 | DType::F64 => format!("fma{f}({a}, {b}, {c})"),
                DType::I32 => {
                    format!("(int)((unsigned int){a} * (unsigned int){b} + (unsigned int){c})")
                }
                DType::I64 => format!(
                    "(long long)((unsigned long long){a} * (unsigned long long){b} + (unsigned long long){c})"
                ),
                _ => format!("{a} * {b} + {c}"),
            },
        }
    }
}

/// A conversion with the meaning of Rust's `as`: floats to integers truncate and saturate and make 0 of NaN, integers wrap, integers to floats
/// round to nearest.
fn cast(from: DType, to: DType, a: &str) -> String {
    let intrinsic = match (from, to) {
        // The conversion instructions saturate; out of the range of the target, a C++ cast would be undefined.
        (DType::F32, DType::I32) => "__float2int_rz",
        (DType::F32, DType::U32) => "__float2uint_rz",
        (DType::F32, DType::I64) => "__float2ll_rz",
        (DType::F32, DType::U64) => "__float2ull_rz",
        (DType::F64, DType::I32) => "__double2int_rz",
        (DType::F64, DType::U32) => "__double2uint_rz",
        (DType::F64, DType::I64) => "__double2ll_rz",
        (DType::F64, DType::U64) => "__double2ull_rz",
        _ => return format!("({}){a}", to.c_name()),
    };
    // What NaN becomes differs between the instructions (0 or the largest or the smallest value).
    format!(
        "({a} != {a} ? ({}){intrinsic}(0) : {intrinsic}({a}))",
        to.c_name()
    )
}

/// `a` to the power `exponent` by squaring, as one expression. Rust's `powi` for floats, wrapping power for integers.
fn power(from: DType, exponent: u32, a: &str) -> String {
    let t = from.c_name();
    let unsigned = match from {
        DType::I32 => "unsigned int",
        DType::I64 => "unsigned long long",
        _ => t,
    };
    match exponent {
        0 => format!("({t})1"),
        1 => a.to_owned(),
        2 => format!("({t})(({unsigned}){a} * ({unsigned}){a})"),
        _ => format!("({t})cuprum_power<{unsigned}, {exponent}u>(({unsigned}){a})"),
    }
}

/// The helper that [`Op::PowI`] calls, put into a kernel that needs it. Unrolled by recursion over the constant exponent.
pub(crate) const POWER_HELPER: &str = "\
template <typename T, unsigned int E>
struct cuprum_power_of {
    static __device__ __forceinline__ T of(T x) {
        const T half = cuprum_power_of<T, E / 2>::of(x);
        return E % 2 == 0 ? half * half : half * half * x;
    }
};
template <typename T>
struct cuprum_power_of<T, 1> {
    static __device__ __forceinline__ T of(T x) { return x; }
};
template <typename T, unsigned int E>
static __device__ __forceinline__ T cuprum_power(T x) { return cuprum_power_of<T, E>::of(x); }
";
