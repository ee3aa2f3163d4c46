//! `simd_video.cu`: the packed integer intrinsics, lane by lane as the CUDA Math API defines them.

use super::inputs::Inputs;
use super::{Bound, Case};

const COUNT: usize = 1000;

/// Words whose lanes are at the ends of their ranges.
const EDGES: [u32; 12] = [
    0,
    0x0101_0101,
    0xffff_ffff,
    0x8080_8080,
    0x7f7f_7f7f,
    0x8000_8000,
    0x7fff_7fff,
    0x0001_ffff,
    0x80ff_007f,
    0x8001_7ffe,
    0xfe02_81fd,
    0x0080_7f01,
];

/// How the lanes of a word are read.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Signed,
    Unsigned,
}
use Sign::{Signed, Unsigned};

/// What a lane holds when a result is outside its range.
#[derive(Clone, Copy, PartialEq)]
enum Range {
    /// Its low bits.
    Wrap,
    /// The nearest value of the range.
    Saturate,
}
use Range::{Saturate, Wrap};

/// A word as `32 / width` lanes, from the low end.
fn lanes(word: u32, width: u32, sign: Sign) -> Vec<i64> {
    (0..32 / width)
        .map(|index| {
            let bits = i64::from(word >> (index * width)) & ((1 << width) - 1);
            if sign == Signed && bits >= 1 << (width - 1) {
                bits - (1 << width)
            } else {
                bits
            }
        })
        .collect()
}

fn packed(lanes: &[i64], width: u32, sign: Sign, range: Range) -> u32 {
    let (least, most) = match sign {
        Signed => (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1),
        Unsigned => (0, (1i64 << width) - 1),
    };
    lanes.iter().rev().fold(0, |word, &lane| {
        let lane = match range {
            Wrap => lane,
            Saturate => lane.clamp(least, most),
        };
        (u64::from(word) << width) as u32 | (lane as u32 & ((1u64 << width) - 1) as u32)
    })
}

/// All ones if true.
fn mask(truth: bool) -> i64 {
    if truth { -1 } else { 0 }
}

/// The mean of two signed numbers rounded to the nearest, halves away from zero.
fn mean(a: i64, b: i64) -> i64 {
    let sum = a + b;
    if sum >= 0 {
        (sum + 1) / 2
    } else {
        (sum - 1) / 2
    }
}

fn binary(name: &str, (x, y): &(Vec<u32>, Vec<u32>), f: impl Fn(u32, u32) -> u32) -> Case {
    let want: Vec<u32> = x.iter().zip(y).map(|(&a, &b)| f(a, b)).collect();
    Case::new("simd_video", format!("k_{name}"))
        .shape(5, 64)
        .input(x)
        .input(y)
        .output(&want, Bound::Equal)
        .scalar(want.len() as u32)
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x51d);
    let pairs = inputs.pairs(&EDGES, COUNT, Inputs::bits);
    type Two = fn(i64, i64) -> i64;
    let two = |name: &str, width: u32, sign: Sign, range: Range, f: Two| {
        binary(name, &pairs, |x, y| {
            let (x, y) = (lanes(x, width, sign), lanes(y, width, sign));
            let each: Vec<i64> = x.iter().zip(&y).map(|(&a, &b)| f(a, b)).collect();
            packed(&each, width, sign, range)
        })
    };
    let sum = |name: &str, width: u32, sign: Sign| {
        binary(name, &pairs, |x, y| {
            let (x, y) = (lanes(x, width, sign), lanes(y, width, sign));
            x.iter().zip(&y).map(|(&a, &b)| a.abs_diff(b)).sum::<u64>() as u32
        })
    };
    let one = |name: &str, width: u32, range: Range, f: fn(i64) -> i64| {
        let want: Vec<u32> = pairs
            .0
            .iter()
            .map(|&x| {
                let each: Vec<i64> = lanes(x, width, Signed).into_iter().map(f).collect();
                packed(&each, width, Signed, range)
            })
            .collect();
        Case::new("simd_video", format!("k_{name}"))
            .shape(5, 64)
            .input(&pairs.0)
            .output(&want, Bound::Equal)
            .scalar(want.len() as u32)
    };
    let mut cases = vec![
        two("__vadd2", 16, Unsigned, Wrap, |a, b| a + b),
        two("__vadd4", 8, Unsigned, Wrap, |a, b| a + b),
        two("__vaddss2", 16, Signed, Saturate, |a, b| a + b),
        two("__vaddss4", 8, Signed, Saturate, |a, b| a + b),
        two("__vaddus2", 16, Unsigned, Saturate, |a, b| a + b),
        two("__vaddus4", 8, Unsigned, Saturate, |a, b| a + b),
        two("__vsub2", 16, Unsigned, Wrap, |a, b| a - b),
        two("__vsub4", 8, Unsigned, Wrap, |a, b| a - b),
        two("__vsubss4", 8, Signed, Saturate, |a, b| a - b),
        two("__vsubus4", 8, Unsigned, Saturate, |a, b| a - b),
        two("__vavgs2", 16, Signed, Wrap, mean),
        two("__vavgs4", 8, Signed, Wrap, mean),
        two("__vavgu4", 8, Unsigned, Wrap, mean),
        two("__vcmpeq4", 8, Unsigned, Wrap, |a, b| mask(a == b)),
        two("__vcmpgts4", 8, Signed, Wrap, |a, b| mask(a > b)),
        two("__vcmpgtu2", 16, Unsigned, Wrap, |a, b| mask(a > b)),
        two("__vcmples2", 16, Signed, Wrap, |a, b| mask(a <= b)),
        two("__vmaxs4", 8, Signed, Wrap, i64::max),
        two("__vmaxu2", 16, Unsigned, Wrap, i64::max),
        two("__vmins2", 16, Signed, Wrap, i64::min),
        two("__vminu4", 8, Unsigned, Wrap, i64::min),
        sum("__vsads4", 8, Signed),
        sum("__vsadu4", 8, Unsigned),
        sum("__vsadu2", 16, Unsigned),
        two("__vsetltu4", 8, Unsigned, Wrap, |a, b| i64::from(a < b)),
        two("__vseteq2", 16, Unsigned, Wrap, |a, b| i64::from(a == b)),
        two("__vabsdiffs4", 8, Signed, Wrap, |a, b| (a - b).abs()),
        two("__vabsdiffu4", 8, Unsigned, Wrap, |a, b| (a - b).abs()),
        two("__vhaddu4", 8, Unsigned, Wrap, |a, b| (a + b) / 2),
        one("__vabs4", 8, Wrap, i64::abs),
        one("__vabsss2", 16, Saturate, i64::abs),
        one("__vneg4", 8, Wrap, |a| -a),
        one("__vnegss2", 16, Saturate, |a| -a),
    ];
    cases.extend(three_operands(&mut inputs));
    cases
}

/// The minima and maxima of three operands that dynamic programming wants.
fn three_operands(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    while cases.len() < 12 {
        let mut x = inputs.many(3, |r| r.between(-(1 << 28), 1 << 28));
        let mut u = inputs.many(3, Inputs::bits);
        match cases.len() {
            0 => x = vec![0, 0, 0],
            1 => x = vec![-1, 1, 0],
            2 => x = vec![-5, -6, -7],
            3 => u = vec![0x0001_ffff, 0x7ffe_8001, 0x8000_7fff],
            4 => u[1] = u[0],
            _ => {}
        }
        let halves =
            |sign: Sign| -> Vec<Vec<i64>> { u.iter().map(|&w| lanes(w, 16, sign)).collect() };
        let (s, t) = (halves(Signed), halves(Unsigned));
        let sums: Vec<i64> = (0..2).map(|k| s[0][k] + s[1][k]).collect();
        // The kernel writes one flag twice within one expression; the order does not matter where both agree.
        let flags: Vec<bool> = (0..2).map(|k| t[0][k] <= t[1][k]).collect();
        if (x[0] >= x[1]) != flags[1] || sums.iter().any(|&sum| sum != i64::from(sum as i16)) {
            continue;
        }
        let most: Vec<i64> = (0..2).map(|k| s[0][k].max(s[1][k]).max(s[2][k])).collect();
        let least: Vec<i64> = (0..2).map(|k| t[0][k].min(t[1][k])).collect();
        let clamped: Vec<i64> = (0..2).map(|k| sums[k].min(s[2][k]).max(0)).collect();
        let terms = [
            x[0].max(x[1]).max(x[2]),
            x[0].min(x[1]).min(x[2]).max(0),
            (x[0] + x[1]).max(x[2]),
            x[0].max(x[1]),
            i64::from(packed(&most, 16, Signed, Wrap)),
            i64::from(packed(&least, 16, Unsigned, Wrap)),
            i64::from(packed(&clamped, 16, Signed, Wrap)),
        ];
        let want = [
            terms.iter().sum::<i64>() as i32,
            i32::from(flags[0]) + i32::from(flags[1]),
        ];
        let x: Vec<i32> = x.iter().map(|&v| v as i32).collect();
        cases.push(
            Case::new("simd_video", "dpx")
                .variant(format!("{}", cases.len()))
                .shape(1, 64)
                .input(&x)
                .input(&u)
                .output(&want, Bound::Equal),
        );
    }
    cases
}
