//! `add sub mul fma div rcp sqrt` of `f64` with `.rz .rm .rp`, and `fma.rn`, bit-exact, through integers.
//!
//! Unlike for `f32` no wider hardware format exists, and compilers emit these for intrinsics only, so the plain way serves.

use super::soft::{F64, Rounding};

macro_rules! unary {
    ($($name:ident: $operation:ident, $mode:ident, $spelling:literal;)*) => {$(
        #[doc = $spelling]
        pub(crate) extern "C" fn $name(a: f64) -> f64 {
            f64::from_bits(F64.$operation(a.to_bits(), Rounding::$mode))
        }
    )*};
}

macro_rules! binary {
    ($($name:ident: $operation:ident, $mode:ident, $spelling:literal;)*) => {$(
        #[doc = $spelling]
        pub(crate) extern "C" fn $name(a: f64, b: f64) -> f64 {
            f64::from_bits(F64.$operation(a.to_bits(), b.to_bits(), Rounding::$mode))
        }
    )*};
}

macro_rules! reciprocal {
    ($($name:ident: $mode:ident, $spelling:literal;)*) => {$(
        #[doc = $spelling]
        pub(crate) extern "C" fn $name(a: f64) -> f64 {
            f64::from_bits(F64.div(1f64.to_bits(), a.to_bits(), Rounding::$mode))
        }
    )*};
}

macro_rules! ternary {
    ($($name:ident: $mode:ident, $spelling:literal;)*) => {$(
        #[doc = $spelling]
        pub(crate) extern "C" fn $name(a: f64, b: f64, c: f64) -> f64 {
            f64::from_bits(F64.fma(a.to_bits(), b.to_bits(), c.to_bits(), Rounding::$mode))
        }
    )*};
}

binary! {
    add_rz_f64: add, Zero, "`add.rz.f64`.";
    add_rm_f64: add, Down, "`add.rm.f64`.";
    add_rp_f64: add, Up, "`add.rp.f64`.";
    sub_rz_f64: sub, Zero, "`sub.rz.f64`.";
    sub_rm_f64: sub, Down, "`sub.rm.f64`.";
    sub_rp_f64: sub, Up, "`sub.rp.f64`.";
    mul_rz_f64: mul, Zero, "`mul.rz.f64`.";
    mul_rm_f64: mul, Down, "`mul.rm.f64`.";
    mul_rp_f64: mul, Up, "`mul.rp.f64`.";
    div_rz_f64: div, Zero, "`div.rz.f64`.";
    div_rm_f64: div, Down, "`div.rm.f64`.";
    div_rp_f64: div, Up, "`div.rp.f64`.";
}

reciprocal! {
    rcp_rz_f64: Zero, "`rcp.rz.f64`.";
    rcp_rm_f64: Down, "`rcp.rm.f64`.";
    rcp_rp_f64: Up, "`rcp.rp.f64`.";
}

unary! {
    sqrt_rz_f64: sqrt, Zero, "`sqrt.rz.f64`.";
    sqrt_rm_f64: sqrt, Down, "`sqrt.rm.f64`.";
    sqrt_rp_f64: sqrt, Up, "`sqrt.rp.f64`.";
}

ternary! {
    fma_rn_f64: Nearest, "`fma.rn.f64`, for hosts without the instruction.";
    fma_rz_f64: Zero, "`fma.rz.f64`.";
    fma_rm_f64: Down, "`fma.rm.f64`.";
    fma_rp_f64: Up, "`fma.rp.f64`.";
}
