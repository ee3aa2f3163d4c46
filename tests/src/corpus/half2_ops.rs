//! `half2_ops.cu`: packed half precision. Sums, products and conversions are exact in doubles and rounded once.

use half::f16;

use super::half_rounding::{Toward, far_from_ties, fused, nearest, rounded};
use super::inputs::Inputs;
use super::{Bound, Case};

type Pair = [f16; 2];

/// Patterns at the ends of what a half can hold.
const EDGES: [u16; 14] = [
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
    0x7e00, 0x3555,
];

fn half(inputs: &mut Inputs) -> f16 {
    match inputs.between(0, 3) {
        0 => f16::from_bits(EDGES[inputs.between(0, EDGES.len() as i64 - 1) as usize]),
        1 => f16::from_bits(inputs.bits() as u16),
        _ => nearest((inputs.unit() - 0.5) * 2f64.powi(inputs.between(-6, 8) as i32)),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x4a1f);
    let mut cases = arithmetic(&mut inputs);
    cases.extend(comparisons(&mut inputs));
    cases.extend(functions(&mut inputs));
    cases.extend(conversions(&mut inputs));
    cases.push(cached_accesses(&mut inputs));
    cases
}

fn add(a: f16, b: f16) -> f16 {
    nearest(f64::from(a) + f64::from(b))
}

fn multiply(a: f16, b: f16) -> f16 {
    nearest(f64::from(a) * f64::from(b))
}

fn saturated(x: f16) -> f16 {
    if x.is_nan() {
        f16::ZERO
    } else {
        nearest(f64::from(x).clamp(0.0, 1.0))
    }
}

/// The smaller by value, -0 below +0; a number rather than a NaN.
fn smaller(a: f16, b: f16) -> f16 {
    let key = |x: f16| (f64::from(x), x.is_sign_positive());
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if key(b) < key(a) => b,
        _ => a,
    }
}

fn negated(x: f16) -> f16 {
    f16::from_bits(x.to_bits() ^ 0x8000)
}

fn arithmetic(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    while cases.len() < 40 {
        let a: Pair = [half(inputs), half(inputs)];
        let b: Pair = [half(inputs), half(inputs)];
        let lanes = |f: &dyn Fn(f16, f16) -> f16| [f(a[0], b[0]), f(a[1], b[1])];
        let fma = lanes(&|x, y| fused(x, y, x));
        let apart = lanes(&|x, y| add(multiply(x, y), x));
        let sum = lanes(&add);
        // The product and the sum of `a * b + a` may be fused or not, and the sign of a clamped -0 is left open:
        // such inputs ask nothing.
        let undetermined = |k: usize| {
            let same =
                fma[k].to_bits() == apart[k].to_bits() || (fma[k].is_nan() && apart[k].is_nan());
            !same || fma[k].to_bits() == 0x8000 || sum[k].to_bits() == 0x8000
        };
        if undetermined(0) || undetermined(1) {
            continue;
        }
        let complex = [
            fused(negated(a[1]), b[1], fused(a[0], b[0], a[0])),
            fused(a[1], b[0], fused(a[0], b[1], a[1])),
        ];
        let want: Vec<f16> = [
            sum,
            lanes(&|x, y| nearest(f64::from(x) - f64::from(y))),
            lanes(&multiply),
            fma,
            lanes(&|x, y| nearest(f64::from(x) / f64::from(y))),
            sum.map(saturated),
            a.map(negated),
            a.map(|x| f16::from_bits(x.to_bits() & 0x7fff)),
            lanes(&smaller),
            lanes(&|x, y| negated(smaller(negated(x), negated(y)))),
            fma.map(|x| if x < f16::ZERO { f16::ZERO } else { x }),
            lanes(&|x, y| {
                if x.is_nan() || y.is_nan() {
                    f16::NAN
                } else {
                    negated(smaller(negated(x), negated(y)))
                }
            }),
            complex,
            apart,
            sum,
        ]
        .concat();
        cases.push(
            Case::new("half2_ops", "arith")
                .variant(format!("{}", cases.len()))
                .shape(1, 1)
                .input(&a)
                .input(&b)
                .output(&want, Bound::Equal),
        );
    }
    cases
}

fn comparisons(inputs: &mut Inputs) -> Vec<Case> {
    (0..30)
        .map(|index| {
            let a: Pair = [half(inputs), half(inputs)];
            let b: Pair = match index % 3 {
                0 => a,
                1 => [a[0], half(inputs)],
                _ => [half(inputs), half(inputs)],
            };
            type Test = fn(f64, f64) -> bool;
            let lanes = |f: Test| [0, 1].map(|k| f(f64::from(a[k]), f64::from(b[k])));
            let halves = |f: Test| lanes(f).map(|t| if t { f16::ONE } else { f16::ZERO });
            let both = |f: Test| i32::from(lanes(f) == [true, true]);
            let masks = |f: Test| {
                let [low, high] = lanes(f);
                u32::from(low) * 0xffff + u32::from(high) * 0xffff_0000
            };
            let equal: Test = |x, y| x == y;
            let less: Test = |x, y| x < y;
            let unequal_or_nan: Test = |x, y| x != y;
            let want = [
                halves(equal),
                halves(|x, y| x < y || x.is_nan() || y.is_nan()),
                halves(|x, y| x > y),
                halves(|x, _| x.is_nan()),
            ]
            .concat();
            Case::new("half2_ops", "cmp")
                .variant(format!("{index}"))
                .shape(1, 1)
                .input(&a)
                .input(&b)
                .output(&want, Bound::Equal)
                .output(
                    &[both(equal) + both(less) + both(unequal_or_nan)],
                    Bound::Equal,
                )
                .output(&[masks(less) ^ masks(unequal_or_nan)], Bound::Equal)
        })
        .collect()
}

/// The functions round their exact results to the nearest half, so inputs whose results are no near ties have one answer.
fn functions(inputs: &mut Inputs) -> Vec<Case> {
    type Function = fn(f64) -> f64;
    let packed: [Function; 15] = [
        f64::sin,
        f64::cos,
        f64::exp,
        f64::exp2,
        |x| 10f64.powf(x),
        f64::ln,
        f64::log2,
        f64::log10,
        f64::sqrt,
        |x| 1.0 / x.sqrt(),
        |x| 1.0 / x,
        f64::floor,
        f64::ceil,
        f64::trunc,
        f64::round_ties_even,
    ];
    let special = [
        0x3c00, 0x4000, 0x7c00, 0xfc00, 0x7e00, 0xbc00, 0x0001, 0x03ff, 0xc900, 0x4c00,
    ];
    let mut cases = Vec::new();
    let mut next_special = special.into_iter();
    while cases.len() < 40 {
        let low = nearest(inputs.unit() * 4.0 + 0.02);
        let high = match next_special.next() {
            Some(bits) => f16::from_bits(bits),
            None => nearest((inputs.unit() - 0.4) * 2f64.powi(inputs.between(-3, 4) as i32)),
        };
        let inexact = |f: Function, x: f16| f(f64::from(x));
        let determined = |x: f16| packed.iter().all(|&f| far_from_ties(inexact(f, x)));
        let z: Vec<f16> = packed
            .iter()
            .flat_map(|&f| [low, high].map(|x| nearest(inexact(f, x))))
            .collect();
        let [l, h] = [low, high].map(f64::from);
        let sine = nearest(l.sin());
        let tangent = nearest(h.tanh());
        let exponential = nearest(f64::from(sine).exp());
        let logarithm = nearest(f64::from(tangent).log2());
        // `tanh.approx.f16` is within 2^-10.987, so its root is too where it is above a quarter.
        let rough = nearest(l.tanh());
        let root = nearest(f64::from(rough).sqrt());
        let chained = [
            h.tanh(),
            f64::from(sine).exp(),
            f64::from(tangent).log2(),
            1.0 / f64::from(exponential),
        ];
        if !determined(low)
            || !determined(high)
            || !chained.into_iter().all(far_from_ties)
            || l < 0.3
        {
            continue;
        }
        let exact = [
            sine,
            tangent,
            exponential,
            logarithm,
            nearest(1.0 / f64::from(exponential)),
        ];
        let floor = nearest(f64::from(logarithm).floor());
        let integral = nearest(f64::from(root).round_ties_even());
        let judge = move |got: &[f16]| {
            let wanted = [
                exact[0], exact[1], exact[2], exact[3], exact[4], floor, integral,
            ];
            for (index, want) in [0, 1, 3, 4, 6, 7, 8].into_iter().zip(wanted) {
                let same = got[index].to_bits() == want.to_bits()
                    || (got[index].is_nan() && want.is_nan());
                if !same {
                    return Err(format!("w[{index}] is {}, want {want}", got[index]));
                }
            }
            let error = (f64::from(got[2]) - l.tanh()).abs();
            if error.is_nan() || error > 2f64.powf(-10.987) {
                return Err(format!("the rough tanh({l}) is off by {error:e}"));
            }
            let root = nearest(f64::from(got[2]).sqrt());
            if got[5] != root {
                return Err(format!("w[5] is {}, want {root}", got[5]));
            }
            Ok(())
        };
        cases.push(
            Case::new("half2_ops", "mathh")
                .variant(format!("{low} {high}"))
                .shape(1, 1)
                .input(&[low, high])
                .output(&z, Bound::Equal)
                .judged(&[f16::ZERO; 9], "right but for a rough tanh", judge),
        );
    }
    cases
}

/// A whole number within a range, as conversions saturate; 0 of a NaN.
fn whole(x: f64, low: f64, high: f64) -> i64 {
    if x.is_nan() {
        0
    } else {
        x.clamp(low, high) as i64
    }
}

fn conversions(inputs: &mut Inputs) -> Vec<Case> {
    let floats = [
        0.0f32,
        -0.0,
        1e-8,
        -1e-8,
        65519.9,
        65520.0,
        -65536.0,
        f32::INFINITY,
        f32::NAN,
        1.000_976_6,
    ];
    (0..40)
        .map(|index| {
            let mut float = |at: usize| {
                floats.get(at).copied().unwrap_or_else(|| {
                    ((inputs.unit() - 0.5) * 2f64.powi(inputs.between(-26, 18) as i32)) as f32
                })
            };
            let f = [float(index), float(index + 5)];
            let h = [half(inputs), half(inputs)];
            let of = |x: f32, toward| rounded(f64::from(x), toward);
            let [near_x, near_y] = f.map(|x| of(x, Toward::Nearest));
            let short = whole(f64::from(h[0]).round_ties_even(), -32768.0, 32767.0) as i16;
            let unsigned = whole(f64::from(h[0]).trunc(), 0.0, 4_294_967_295.0) as u32;
            let short_unsigned = whole(f64::from(h[1]).floor(), 0.0, 65535.0) as u32;
            let twice = |x: f16| [x, x];
            let z = [
                [near_x, near_y],
                [near_x, near_y],
                h,
                twice(h[0]),
                twice(near_x),
                [near_y, near_x],
                twice(of(f[0], Toward::Zero)),
                twice(of(f[1], Toward::Up)),
                twice(rounded(f64::from(short), Toward::Down)),
                twice(f16::ONE),
                twice(near_x),
                twice(rounded(f64::from(unsigned), Toward::Up)),
            ]
            .concat();
            Case::new("half2_ops", "conv")
                .variant(format!("{index}"))
                .shape(1, 1)
                .input(&f)
                .input(&h)
                .output(&z, Bound::Equal)
                .output(&[f32::from(h[0]); 2], Bound::Equal)
                .output(&[short, h[1].to_bits() as i16], Bound::Equal)
                .output(&[unsigned, short_unsigned], Bound::Equal)
        })
        .collect()
}

fn cached_accesses(inputs: &mut Inputs) -> Case {
    let a = [f16::from_bits(0x1234), half(inputs)];
    let c = [half(inputs), f16::from_bits(0xfbff)];
    Case::new("half2_ops", "ldstcache")
        .shape(1, 64)
        .input(&a)
        .output(&a, Bound::Equal)
        .input(&c)
        .output(&[c, c].concat(), Bound::Equal)
}
