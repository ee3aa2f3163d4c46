//! Directed rounding against the exact reference, and the value of every step of the recipe that is easy to get wrong.

use super::exact::{DOUBLE, Layout, SINGLE};
use super::samples::Random;
use crate::numeric::round_f32::*;
use crate::numeric::round_f64::*;
use crate::numeric::soft::{F32, F64, Rounding};

const CASES: usize = 2000;

trait Bits: Copy {
    const LAYOUT: Layout;
    fn from(bits: u64) -> Self;
    fn bits(self) -> u64;
}

impl Bits for f32 {
    const LAYOUT: Layout = SINGLE;
    fn from(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Bits for f64 {
    const LAYOUT: Layout = DOUBLE;
    fn from(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

type Reference2 = fn(Layout, u64, u64, Rounding) -> u64;

fn check_binary<T: Bits>(
    name: &str,
    function: extern "C" fn(T, T) -> T,
    reference: Reference2,
    mode: Rounding,
) {
    let mut random = Random(name.len() as u64);
    for _ in 0..CASES {
        let a = random.float(T::LAYOUT);
        let b = random.related(T::LAYOUT, a);
        let (got, want) = (
            function(T::from(a), T::from(b)).bits(),
            reference(T::LAYOUT, a, b, mode),
        );
        assert_eq!(
            got, want,
            "{name}({a:#x}, {b:#x}) = {got:#x}, not {want:#x}"
        );
    }
}

fn check_unary<T: Bits>(
    name: &str,
    function: extern "C" fn(T) -> T,
    reference: fn(Layout, u64, Rounding) -> u64,
    mode: Rounding,
) {
    let mut random = Random(1000 + name.len() as u64);
    for _ in 0..CASES {
        let a = random.float(T::LAYOUT);
        let (got, want) = (function(T::from(a)).bits(), reference(T::LAYOUT, a, mode));
        assert_eq!(got, want, "{name}({a:#x}) = {got:#x}, not {want:#x}");
    }
}

fn check_fma<T: Bits>(name: &str, function: extern "C" fn(T, T, T) -> T, mode: Rounding) {
    let layout = T::LAYOUT;
    let mut random = Random(2000 + name.len() as u64);
    for _ in 0..2 * CASES {
        let a = random.float(layout);
        let b = random.related(layout, a);
        // Close to minus the product, for cancellation, or anything.
        let product = layout.mul(a, b, Rounding::Nearest) ^ layout.sign();
        let c = random.related(layout, product);
        let (got, want) = (
            function(T::from(a), T::from(b), T::from(c)).bits(),
            layout.fma(a, b, c, mode),
        );
        assert_eq!(
            got, want,
            "{name}({a:#x}, {b:#x}, {c:#x}) = {got:#x}, not {want:#x}"
        );
    }
}

fn reciprocal(layout: Layout, a: u64, mode: Rounding) -> u64 {
    layout.div(layout.infinity() >> 1 & layout.infinity(), a, mode)
}

macro_rules! checks {
    ($test:ident, $check:ident $references:tt, [$($name:ident $mode:ident),*]) => {
        #[test]
        fn $test() {
            $(checks!(@one $check $references $name $mode);)*
        }
    };
    (@one $check:ident ($type:ident $(, $reference:expr)?) $name:ident $mode:ident) => {
        $check::<$type>(stringify!($name), $name, $($reference,)? Rounding::$mode)
    };
}

checks!(add_f32, check_binary(f32, Layout::add), [add_rz_f32 Zero, add_rm_f32 Down, add_rp_f32 Up]);
checks!(sub_f32, check_binary(f32, Layout::sub), [sub_rz_f32 Zero, sub_rm_f32 Down, sub_rp_f32 Up]);
checks!(mul_f32, check_binary(f32, Layout::mul), [mul_rz_f32 Zero, mul_rm_f32 Down, mul_rp_f32 Up]);
checks!(div_f32, check_binary(f32, Layout::div), [div_rz_f32 Zero, div_rm_f32 Down, div_rp_f32 Up]);
checks!(sqrt_f32, check_unary(f32, Layout::sqrt), [sqrt_rz_f32 Zero, sqrt_rm_f32 Down, sqrt_rp_f32 Up]);
checks!(rcp_f32, check_unary(f32, reciprocal), [rcp_rz_f32 Zero, rcp_rm_f32 Down, rcp_rp_f32 Up]);
checks!(fma_f32, check_fma(f32), [fma_rn_f32 Nearest, fma_rz_f32 Zero, fma_rm_f32 Down, fma_rp_f32 Up]);
checks!(add_f64, check_binary(f64, Layout::add), [add_rz_f64 Zero, add_rm_f64 Down, add_rp_f64 Up]);
checks!(sub_f64, check_binary(f64, Layout::sub), [sub_rz_f64 Zero, sub_rm_f64 Down, sub_rp_f64 Up]);
checks!(mul_f64, check_binary(f64, Layout::mul), [mul_rz_f64 Zero, mul_rm_f64 Down, mul_rp_f64 Up]);
checks!(div_f64, check_binary(f64, Layout::div), [div_rz_f64 Zero, div_rm_f64 Down, div_rp_f64 Up]);
checks!(sqrt_f64, check_unary(f64, Layout::sqrt), [sqrt_rz_f64 Zero, sqrt_rm_f64 Down, sqrt_rp_f64 Up]);
checks!(rcp_f64, check_unary(f64, reciprocal), [rcp_rz_f64 Zero, rcp_rm_f64 Down, rcp_rp_f64 Up]);
checks!(fma_f64, check_fma(f64), [fma_rn_f64 Nearest, fma_rz_f64 Zero, fma_rm_f64 Down, fma_rp_f64 Up]);

/// The reference itself, and the integer core, against the host's own arithmetic, which rounds to nearest.
#[test]
fn reference_and_core_agree_with_the_host_to_nearest() {
    let mut random = Random(7);
    let same = |x: f64, bits: u64| {
        if x.is_nan() {
            bits == DOUBLE.nan()
        } else {
            x.to_bits() == bits
        }
    };
    for _ in 0..CASES {
        let a = random.float(DOUBLE);
        let b = random.related(DOUBLE, a);
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let n = Rounding::Nearest;
        for (name, host, reference, core) in [
            ("add", x + y, DOUBLE.add(a, b, n), F64.add(a, b, n)),
            ("sub", x - y, DOUBLE.sub(a, b, n), F64.sub(a, b, n)),
            ("mul", x * y, DOUBLE.mul(a, b, n), F64.mul(a, b, n)),
            ("div", x / y, DOUBLE.div(a, b, n), F64.div(a, b, n)),
            ("sqrt", x.sqrt(), DOUBLE.sqrt(a, n), F64.sqrt(a, n)),
        ] {
            assert!(
                same(host, reference),
                "reference {name}({a:#x}, {b:#x}): {reference:#x}, host {:#x}",
                host.to_bits()
            );
            assert!(
                same(host, core),
                "core {name}({a:#x}, {b:#x}): {core:#x}, host {:#x}",
                host.to_bits()
            );
        }
        let narrow = F32.convert(F64, a, n) as u32;
        let host = x as f32;
        assert!(if host.is_nan() {
            narrow == 0x7fff_ffff
        } else {
            narrow == host.to_bits()
        });
    }
}

#[test]
fn zero_signs_and_overflow() {
    assert_eq!(sub_rm_f32(1.5, 1.5).to_bits(), (-0.0f32).to_bits());
    assert_eq!(sub_rp_f32(1.5, 1.5).to_bits(), 0);
    assert_eq!(sub_rz_f32(1.5, 1.5).to_bits(), 0);
    assert_eq!(add_rm_f32(0.0, 0.0).to_bits(), 0);
    assert_eq!(fma_rm_f32(1.0, 2.0, -2.0).to_bits(), (-0.0f32).to_bits());
    assert_eq!(sub_rm_f64(1.5, 1.5).to_bits(), (-0.0f64).to_bits());
    assert_eq!(mul_rz_f32(f32::MAX, 2.0), f32::MAX);
    assert_eq!(mul_rm_f32(f32::MAX, 2.0), f32::MAX);
    assert_eq!(mul_rp_f32(f32::MAX, 2.0), f32::INFINITY);
    assert_eq!(mul_rp_f32(f32::MAX, -2.0), f32::MIN);
    assert_eq!(mul_rm_f32(f32::MAX, -2.0), f32::NEG_INFINITY);
    assert_eq!(add_rp_f32(1.0, 1e-30), 1.0 + f32::EPSILON);
    assert_eq!(add_rm_f32(1.0, -1e-30), 1.0 - f32::EPSILON / 2.0);
    assert_eq!(mul_rp_f32(1e-30, 1e-30).to_bits(), 1);
    assert_eq!(mul_rm_f32(1e-30, -1e-30).to_bits(), 0x8000_0001);
    assert_eq!(
        add_rz_f32(f32::INFINITY, f32::NEG_INFINITY).to_bits(),
        0x7fff_ffff
    );
    assert_eq!(div_rm_f64(0.0, 0.0).to_bits(), 0x7fff_ffff_ffff_ffff);
}
