//! `fp8_conv.cu`: conversions to the 8-bit formats E4M3 and E5M2 of the OCP specification, by search among their values.

use super::inputs::Inputs;
use super::{Bound, Case};

/// An 8-bit format: bits of fraction, bias of the exponent, and the largest finite pattern.
#[derive(Clone, Copy)]
struct Format {
    fraction: u32,
    bias: i32,
    largest: u8,
}

const E4M3: Format = Format {
    fraction: 3,
    bias: 7,
    largest: 0x7e,
};
const E5M2: Format = Format {
    fraction: 2,
    bias: 15,
    largest: 0x7b,
};

impl Format {
    /// The value of a finite pattern.
    fn value(self, bits: u8) -> f64 {
        let field = i32::from((bits & 0x7f) >> self.fraction);
        let fraction = f64::from(bits & ((1 << self.fraction) - 1)) / f64::from(1 << self.fraction);
        let size = if field == 0 {
            fraction * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2f64.powi(field - self.bias)
        };
        if bits >= 0x80 { -size } else { size }
    }

    /// The nearest finite pattern, the even one in the middle; what is too large becomes the largest.
    fn nearest(self, x: f32) -> u8 {
        if x.is_nan() {
            return 0x7f;
        }
        let size = f64::from(x).abs();
        let distance = |bits: &u8| ((self.value(*bits) - size).abs(), bits % 2);
        let best = (0..=self.largest)
            .min_by(|a, b| distance(a).partial_cmp(&distance(b)).expect("no NaN"))
            .expect("there are patterns");
        // Beyond the largest every distance is infinite if `x` is.
        let best = if size >= self.value(self.largest) {
            self.largest
        } else {
            best
        };
        best | if x.is_sign_negative() { 0x80 } else { 0 }
    }

    fn widened(self, x: f32) -> f32 {
        if x.is_nan() {
            f32::NAN
        } else {
            self.value(self.nearest(x)) as f32
        }
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xf8);
    let mut x = inputs.many(256, |r| {
        ((r.unit() - 0.5) * 2f64.powi(r.between(-18, 18) as i32)) as f32
    });
    // Middles of two values, the ends of both ranges, and what is none.
    x[..20].copy_from_slice(&[
        0.0,
        -0.0,
        1.0,
        1.0625,
        1.1875,
        -1.125,
        448.0,
        464.0,
        465.0,
        57344.0,
        61440.0,
        65536.0,
        1e30,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.000_976_562_5,
        0.002_929_687_5,
        7.629_394_5e-6,
        -1e-40,
    ]);
    let e4m3: Vec<u8> = x.iter().map(|&v| E4M3.nearest(v)).collect();
    let e5m2: Vec<u8> = x.iter().map(|&v| E5M2.nearest(v)).collect();
    let sums: Vec<f32> = x
        .iter()
        .map(|&v| E4M3.widened(v) + E5M2.widened(v))
        .collect();
    let widened: Vec<f32> = x.iter().map(|&v| E4M3.widened(v)).collect();
    vec![
        Case::new("fp8_conv", "f8")
            .shape(1, 256)
            .input(&x)
            .output(&e4m3, Bound::Equal)
            .output(&e5m2, Bound::Equal)
            .output(&sums, Bound::Equal),
        Case::new("fp8_conv", "f8x2")
            .shape(1, 128)
            .input(&x)
            .output(&e4m3, Bound::Equal)
            .output(&widened, Bound::Equal),
    ]
}
