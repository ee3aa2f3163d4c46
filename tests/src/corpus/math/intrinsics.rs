//! `math_intrin_f32` and `math_intrin_f64`: arithmetic and conversions in every rounding mode, exact by a software
//! implementation of IEEE 754, and the fast intrinsics within their documented errors.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float as _, FloatConvert as _, Round};

use super::{Bound, Case, Float, binary, range, shuffled, unary, with_special};
use crate::corpus::data::{Sample, pairs, singles};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    fast(&mut cases);
    arithmetic::<f32>(
        "math_intrin_f32",
        "f",
        "__fmaf",
        &["rn", "rz", "ru", "rd"],
        &mut cases,
    );
    arithmetic::<f64>("math_intrin_f64", "d", "__fma", &["rn", "rz"], &mut cases);
    ieee(&mut cases);
    from_f32(&mut cases);
    from_f64(&mut cases);
    to_f32(&mut cases);
    to_f64(&mut cases);
    cases
}

const MODES: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("ru", Round::TowardPositive),
    ("rd", Round::TowardNegative),
];

fn mode(name: &str) -> Round {
    MODES
        .iter()
        .find(|(mode, _)| *mode == name)
        .expect("one of the four")
        .1
}

/// A hardware type and its software counterpart.
trait Soft: Float + Sample {
    type Format: rustc_apfloat::Float;
    fn soft(self) -> Self::Format;
    fn hard(value: Self::Format) -> Self;
    /// The nearest root, and the exact sign of what it squares to less than the number.
    fn root(self) -> (Self, f64);
    fn next_down(self) -> Self;
}

impl Soft for f32 {
    type Format = Single;
    fn soft(self) -> Single {
        Single::from_bits(u128::from(self.to_bits()))
    }
    fn hard(value: Single) -> Self {
        Self::from_bits(value.to_bits() as u32)
    }
    fn root(self) -> (Self, f64) {
        let root = self.sqrt();
        // A square of 24 bits is exact in a double.
        (root, f64::from(self) - f64::from(root) * f64::from(root))
    }
    fn next_down(self) -> Self {
        Self::next_down(self)
    }
}

impl Soft for f64 {
    type Format = Double;
    fn soft(self) -> Double {
        Double::from_bits(u128::from(self.to_bits()))
    }
    fn hard(value: Double) -> Self {
        Self::from_bits(value.to_bits() as u64)
    }
    fn root(self) -> (Self, f64) {
        let root = self.sqrt();
        // What is left is exact unless it underflows, which the inputs avoid.
        (root, (-root).mul_add(root, self))
    }
    fn next_down(self) -> Self {
        Self::next_down(self)
    }
}

fn root<T: Soft>(x: T, round: Round) -> T {
    let (root, rest) = x.root();
    if !rest.is_finite() {
        return root;
    }
    match round {
        Round::TowardPositive if rest > 0.0 => root.next_up(),
        Round::TowardNegative | Round::TowardZero if rest < 0.0 => root.next_down(),
        _ => root,
    }
}

/// `__fadd_rn` and the like.
fn arithmetic<T: Soft>(
    source: &'static str,
    letter: &str,
    fma: &str,
    subtractions: &[&str],
    cases: &mut Vec<Case>,
) {
    let (x, y) = pairs::<T>(51, 400);
    let both = |kernel: String, f: &dyn Fn(T::Format, T::Format) -> T::Format| {
        binary(source, kernel, (&x, &y), Bound::Equal, |a, b| {
            T::hard(f(a.soft(), b.soft()))
        })
    };
    for (name, round) in MODES {
        cases.push(both(format!("k___{letter}add_{name}"), &|a, b| {
            a.add_r(b, round).value
        }));
        cases.push(both(format!("k___{letter}mul_{name}"), &|a, b| {
            a.mul_r(b, round).value
        }));
        cases.push(both(format!("k___{letter}div_{name}"), &|a, b| {
            a.div_r(b, round).value
        }));
        let values = singles::<T>(52, 400);
        let one = T::narrow(1.0);
        cases.push(unary(
            source,
            format!("k___{letter}rcp_{name}"),
            &values,
            Bound::Equal,
            |a| T::hard(one.soft().div_r(a.soft(), round).value),
        ));
        let roots: Vec<T> = values
            .iter()
            .copied()
            .chain(range::<T>(0.0, 1e6))
            .filter(|x| {
                x.wide() == 0.0
                    || x.wide().abs() > if T::DOUBLE { 1e-200 } else { 0.0 }
                    || x.wide().is_nan()
            })
            .collect();
        cases.push(unary(
            source,
            format!("k___{letter}sqrt_{name}"),
            &roots,
            Bound::Equal,
            |a| root(a, round),
        ));
        let z = shuffled(&x, 53);
        cases.push(ternary(
            source,
            format!("k_{fma}_{name}"),
            (&x, &y, &z),
            round,
        ));
    }
    for name in subtractions {
        let round = mode(name);
        cases.push(both(format!("k___{letter}sub_{name}"), &|a, b| {
            a.sub_r(b, round).value
        }));
    }
}

fn ternary<T: Soft>(
    source: &'static str,
    kernel: String,
    (x, y, z): (&[T], &[T], &[T]),
    round: Round,
) -> Case {
    let want: Vec<T> = x
        .iter()
        .zip(y)
        .zip(z)
        .map(|((&a, &b), &c)| T::hard(a.soft().mul_add_r(b.soft(), c.soft(), round).value))
        .collect();
    Case::new(source, kernel)
        .shape(3, 64)
        .input(x)
        .input(y)
        .update(z, &want, Bound::Equal)
        .scalar(x.len() as u64)
}

/// The forms that never flush, and the reciprocal root.
fn ieee(cases: &mut Vec<Case>) {
    let source = "math_intrin_f32";
    let (x, y) = pairs::<f32>(54, 300);
    let z = shuffled(&x, 55);
    for name in ["rn", "rz"] {
        cases.push(ternary(
            source,
            format!("k___fmaf_ieee_{name}"),
            (&x, &y, &z),
            mode(name),
        ));
    }
    let positive = with_special(range::<f32>(1e-30, 1e30));
    cases.push(unary(
        source,
        "k___frsqrt_rn",
        &positive,
        Bound::Equal,
        |x| {
            if x == 0.0 {
                f32::INFINITY.copysign(x)
            } else {
                (1.0 / f64::from(x).sqrt()) as f32
            }
        },
    ));
    let any = singles::<f32>(56, 200);
    cases.push(unary(source, "k___saturatef", &any, Bound::Equal, |x| {
        if x.is_nan() || x <= 0.0 {
            0.0f32
        } else {
            x.min(1.0)
        }
    }));
}

/// The intrinsics that trade accuracy for speed.
fn fast(cases: &mut Vec<Case>) {
    let source = "math_intrin_f32";
    let mut one = |name: &str, bound, inputs: &[f32], f: &dyn Fn(f64) -> f64| {
        cases.push(unary(source, format!("k_{name}"), inputs, bound, |x| {
            f(f64::from(x)) as f32
        }));
    };
    let turn = range::<f32>(-std::f64::consts::PI, std::f64::consts::PI);
    let (sine, cosine) = (2f64.powf(-21.41), 2f64.powf(-21.19));
    let half = 2f64.powi(-25);
    one("__sinf", Bound::Absolute(sine + half), &turn, &f64::sin);
    one("__cosf", Bound::Absolute(cosine + half), &turn, &f64::cos);
    // The quotient of the two, each off by at most the above.
    one(
        "__tanf",
        Bound::Absolute(3e-6),
        &range::<f32>(-1.0, 1.0),
        &f64::tan,
    );
    let any = range::<f32>(-20.0, 20.0);
    one(
        "__expf",
        Bound::Ulp(2.5 + (1.173f64 * 20.0).floor()),
        &any,
        &f64::exp,
    );
    one(
        "__exp10f",
        Bound::Ulp(2.5 + (2.97f64 * 20.0).floor()),
        &any,
        &libm::exp10,
    );
    let above = range::<f32>(2.0, 1e20);
    one("__logf", Bound::Ulp(3.5), &above, &f64::ln);
    one("__log2f", Bound::Ulp(2.5), &above, &f64::log2);
    one("__log10f", Bound::Ulp(3.5), &above, &f64::log10);
    let bases = range::<f32>(2.0, 8.0);
    let powers = shuffled(&range::<f32>(-8.0, 8.0), 57);
    let n = bases.len().min(powers.len());
    cases.push(binary(
        source,
        "k___powf",
        (&bases[..n], &powers[..n]),
        Bound::Relative(8.0 * 3.0 * 2f64.powi(-22)),
        |x, y| f64::from(x).powf(f64::from(y)) as f32,
    ));
    let x = range::<f32>(-1e6, 1e6);
    let y = shuffled(&range::<f32>(0.001, 1e6), 58);
    let n = x.len().min(y.len());
    cases.push(binary(
        source,
        "k___fdividef",
        (&x[..n], &y[..n]),
        Bound::Ulp(2.5),
        |x, y| (f64::from(x) / f64::from(y)) as f32,
    ));
    let sines: Vec<f32> = turn.iter().map(|&x| f64::from(x).sin() as f32).collect();
    let cosines: Vec<f32> = turn.iter().map(|&x| f64::from(x).cos() as f32).collect();
    cases.push(
        Case::new(source, "k___sincosf")
            .shape(3, 64)
            .input(&turn)
            .output(&sines, Bound::Absolute(sine + half))
            .output(&cosines, Bound::Absolute(cosine + half))
            .scalar(turn.len() as u64),
    );
}

/// A floating number to an integer of `width` bits: out of range it saturates, and NaN gives `nan`.
fn integer<F: rustc_apfloat::Float>(
    value: F,
    width: usize,
    signed: bool,
    round: Round,
    nan: u64,
) -> u64 {
    if value.is_nan() {
        return nan;
    }
    let mut exact = false;
    if signed {
        value.to_i128_r(width, round, &mut exact).value as u64
    } else {
        value.to_u128_r(width, round, &mut exact).value as u64
    }
}

/// What an H200 makes of NaN: nothing in 32 bits of a float, the least integer of a double and in 64 bits.
const LEAST_64: u64 = 1 << 63;
const LEAST_32: u64 = 1 << 31;

/// Values around the ends of the integer types.
fn around_ends<T: Float + Sample>() -> Vec<T> {
    let mut values = singles::<T>(61, 300);
    values.extend(range::<T>(-3e9, 5e9));
    for end in [2f64.powi(31), 2f64.powi(32), 2f64.powi(63), 2f64.powi(64)] {
        for factor in [1.0, -1.0, 1.0 - 1e-7, -1.0 + 1e-7, 1.0 + 1e-6, 0.5] {
            values.push(T::narrow(end * factor));
        }
        values.extend([end - 0.5, -end - 0.5, end - 1.0, 0.5 - end].map(T::narrow));
    }
    values
}

fn from_f32(cases: &mut Vec<Case>) {
    let source = "math_intrin_f32";
    let values = around_ends::<f32>();
    for (name, round) in MODES {
        let kernel = |ty: &str| format!("c___float2{ty}_{name}");
        cases.push(unary(source, kernel("int"), &values, Bound::Equal, |x| {
            integer(x.soft(), 32, true, round, 0) as i32
        }));
        cases.push(unary(source, kernel("uint"), &values, Bound::Equal, |x| {
            integer(x.soft(), 32, false, round, 0) as u32
        }));
        cases.push(unary(source, kernel("ll"), &values, Bound::Equal, |x| {
            integer(x.soft(), 64, true, round, LEAST_64) as i64
        }));
        cases.push(unary(source, kernel("ull"), &values, Bound::Equal, |x| {
            integer(x.soft(), 64, false, round, LEAST_64)
        }));
    }
    let all = singles::<f32>(62, 200);
    cases.push(unary(source, "c___float_as_int", &all, Bound::Equal, |x| {
        x.to_bits() as i32
    }));
    cases.push(unary(
        source,
        "c___float_as_uint",
        &all,
        Bound::Equal,
        f32::to_bits,
    ));
}

fn from_f64(cases: &mut Vec<Case>) {
    let source = "math_intrin_f64";
    let values = around_ends::<f64>();
    for (name, round) in MODES {
        cases.push(unary(
            source,
            format!("c___double2int_{name}"),
            &values,
            Bound::Equal,
            |x| integer(x.soft(), 32, true, round, LEAST_32) as i32,
        ));
        cases.push(unary(
            "math_intrin_f32",
            format!("c___double2float_{name}"),
            &singles::<f64>(63, 400),
            Bound::Equal,
            |x| {
                let mut loses = false;
                let single: Single = x.soft().convert_r(round, &mut loses).value;
                f32::hard(single)
            },
        ));
    }
    for name in ["rn", "rz"] {
        cases.push(unary(
            source,
            format!("c___double2uint_{name}"),
            &values,
            Bound::Equal,
            |x| integer(x.soft(), 32, false, mode(name), LEAST_32) as u32,
        ));
    }
    for name in ["rn", "rd"] {
        cases.push(unary(
            source,
            format!("c___double2ll_{name}"),
            &values,
            Bound::Equal,
            |x| integer(x.soft(), 64, true, mode(name), LEAST_64) as i64,
        ));
    }
    for name in ["rn", "ru"] {
        cases.push(unary(
            source,
            format!("c___double2ull_{name}"),
            &values,
            Bound::Equal,
            |x| integer(x.soft(), 64, false, mode(name), LEAST_64),
        ));
    }
    let all = singles::<f64>(64, 200);
    cases.push(unary(
        source,
        "c___double_as_longlong",
        &all,
        Bound::Equal,
        |x| x.to_bits() as i64,
    ));
    cases.push(unary(source, "c___double2hiint", &all, Bound::Equal, |x| {
        (x.to_bits() >> 32) as i32
    }));
    cases.push(unary(source, "c___double2loint", &all, Bound::Equal, |x| {
        x.to_bits() as i32
    }));
}

fn rounded<F: rustc_apfloat::Float>(value: i128, round: Round) -> F {
    F::from_i128_r(value, round).value
}

fn to_f32(cases: &mut Vec<Case>) {
    let source = "math_intrin_f32";
    macro_rules! integers {
        ($($ty:ident $name:literal $modes:expr;)+) => {
            $(
                let values = singles::<$ty>(65, 300);
                for name in $modes {
                    cases.push(unary(source, format!("c___{}2float_{name}", $name), &values, Bound::Equal, |x| {
                        f32::hard(rounded::<Single>(i128::from(x), mode(name)))
                    }));
                }
            )+
        };
    }
    integers! {
        i32 "int" ["rn", "rz", "ru", "rd"];
        u32 "uint" ["rn", "rz", "ru", "rd"];
        i64 "ll" ["rn", "rz"];
        u64 "ull" ["rn", "rd"];
    }
    let bits = singles::<u32>(66, 200);
    let signed: Vec<i32> = bits.iter().map(|&x| x as i32).collect();
    cases.push(unary(
        source,
        "c___uint_as_float",
        &bits,
        Bound::Equal,
        f32::from_bits,
    ));
    cases.push(unary(
        source,
        "c___int_as_float",
        &signed,
        Bound::Equal,
        |x| f32::from_bits(x as u32),
    ));
}

fn to_f64(cases: &mut Vec<Case>) {
    let source = "math_intrin_f64";
    macro_rules! integers {
        ($($ty:ident $name:literal $modes:expr;)+) => {
            $(
                let values = singles::<$ty>(67, 300);
                for name in $modes {
                    cases.push(unary(source, format!("c___{}2double_{name}", $name), &values, Bound::Equal, |x| {
                        f64::hard(rounded::<Double>(i128::from(x), mode(name)))
                    }));
                }
            )+
        };
    }
    integers! {
        i32 "int" ["rn"];
        u32 "uint" ["rn"];
        i64 "ll" ["rn", "rz", "ru"];
        u64 "ull" ["rn", "rd"];
    }
    let bits = singles::<i64>(68, 200);
    cases.push(unary(
        source,
        "c___longlong_as_double",
        &bits,
        Bound::Equal,
        |x| f64::from_bits(x as u64),
    ));
    let (high, low) = pairs::<i32>(69, 100);
    cases.push(binary(
        source,
        "c_hilo",
        (&high, &low),
        Bound::Equal,
        |h, l| f64::from_bits(u64::from(h as u32) << 32 | u64::from(l as u32)),
    ));
}
