//! Integer and video instructions against bit-by-bit definitions.
#![expect(
    clippy::type_complexity,
    reason = "tables of functions are read once, where they stand"
)]

use super::samples::Random;
use crate::numeric::integer::*;
use crate::numeric::minmax::*;
use crate::numeric::pairs::*;
use crate::numeric::permute::*;
use crate::numeric::video::*;

/// Operands with long runs of equal bits, small values and anything.
fn word(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => random.below(70) as u32,
        1 => (random.next() as u32) >> random.below(32),
        2 => !((random.next() as u32) >> random.below(32)),
        _ => random.next() as u32,
    }
}

fn long(random: &mut Random) -> u64 {
    let value = random.next() >> random.below(64);
    if random.below(2) == 0 { value } else { !value }
}

fn bit(x: u64, i: u32) -> bool {
    x >> i & 1 == 1
}

/// `bfe` as the ISA defines it, for any width.
fn extract(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let fill = signed && length != 0 && bit(a, (position + length - 1).min(width - 1));
    (0..width).fold(0, |d, i| {
        let one = if i < length && position + i < width {
            bit(a, position + i)
        } else {
            fill
        };
        d | u64::from(one) << i
    })
}

/// `bfi` as the ISA defines it, for any width.
fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    (0..length.min(width))
        .filter(|i| position + i < width)
        .fold(b, |f, i| {
            f & !(1 << (position + i)) | u64::from(bit(a, i)) << (position + i)
        })
}

#[test]
fn bit_fields() {
    let mut random = Random(41);
    for _ in 0..20_000 {
        let (a, b) = (long(&mut random), long(&mut random));
        let (p, l) = (word(&mut random), word(&mut random));
        let (a32, b32) = (a as u32, b as u32);
        assert_eq!(
            u64::from(bfe_u32(a32, p, l)),
            extract(u64::from(a32), p, l, 32, false),
            "{a32:#x} {p} {l}"
        );
        assert_eq!(
            u64::from(bfe_s32(a32, p, l)),
            extract(u64::from(a32), p, l, 32, true),
            "{a32:#x} {p} {l}"
        );
        assert_eq!(
            bfe_u64(a, p, l),
            extract(a, p, l, 64, false),
            "{a:#x} {p} {l}"
        );
        assert_eq!(
            bfe_s64(a, p, l),
            extract(a, p, l, 64, true),
            "{a:#x} {p} {l}"
        );
        assert_eq!(
            u64::from(bfi_b32(a32, b32, p, l)),
            insert(u64::from(a32), u64::from(b32), p, l, 32)
        );
        assert_eq!(bfi_b64(a, b, p, l), insert(a, b, p, l, 64));
    }
}

#[test]
fn find_bits() {
    let highest = |x: u64, width: u32| (0..width).rev().find(|&i| bit(x, i)).unwrap_or(u32::MAX);
    let amount = |d: u32, width: u32| if d == u32::MAX { d } else { width - 1 - d };
    let mut random = Random(42);
    for case in 0..20_000 {
        let a = match case {
            0 => 0,
            1 => u64::MAX,
            _ => long(&mut random),
        };
        let a32 = a as u32;
        let (u, s) = (
            highest(u64::from(a32), 32),
            highest(u64::from(if a32 >> 31 == 1 { !a32 } else { a32 }), 32),
        );
        assert_eq!((bfind_u32(a32), bfind_s32(a32)), (u, s), "{a32:#x}");
        assert_eq!(
            (bfind_shiftamt_u32(a32), bfind_shiftamt_s32(a32)),
            (amount(u, 32), amount(s, 32)),
            "{a32:#x}"
        );
        let (u, s) = (
            highest(a, 64),
            highest(if a >> 63 == 1 { !a } else { a }, 64),
        );
        assert_eq!((bfind_u64(a), bfind_s64(a)), (u, s), "{a:#x}");
        assert_eq!(
            (bfind_shiftamt_u64(a), bfind_shiftamt_s64(a)),
            (amount(u, 64), amount(s, 64)),
            "{a:#x}"
        );
        let (base, offset) = (random.below(32) as u32, random.below(9) as i32 - 4);
        let order: Vec<u32> = if offset >= 0 {
            (base..32).collect()
        } else {
            (0..=base).rev().collect()
        };
        let set: Vec<u32> = order
            .into_iter()
            .filter(|&i| bit(u64::from(a32), i))
            .collect();
        let want = if offset == 0 {
            if bit(u64::from(a32), base) {
                Some(&base)
            } else {
                None
            }
        } else {
            set.get(offset.unsigned_abs() as usize - 1)
        };
        assert_eq!(
            fns_b32(a32, base, offset as u32),
            want.copied().unwrap_or(u32::MAX),
            "{a32:#x} {base} {offset}"
        );
    }
}

#[test]
fn masks_and_extensions() {
    for position in (0..70).chain([u32::MAX]) {
        for length in (0..70).chain([u32::MAX]) {
            let mask = |p: u32, l: u32| {
                (0..32u32)
                    .filter(|&i| i >= p && u64::from(i) < u64::from(p) + u64::from(l))
                    .fold(0u32, |m, i| m | 1 << i)
            };
            assert_eq!(
                bmsk_clamp_b32(position, length),
                mask(position, length),
                "{position} {length}"
            );
            assert_eq!(
                bmsk_wrap_b32(position, length),
                mask(position % 32, length % 32),
                "{position} {length}"
            );
        }
    }
    let mut random = Random(43);
    for _ in 0..10_000 {
        let (a, n) = (word(&mut random), word(&mut random));
        let field = |n: u32, signed: bool| extract(u64::from(a), 0, n.min(32), 32, signed) as u32;
        assert_eq!(szext_clamp_u32(a, n), field(n, false));
        assert_eq!(szext_clamp_s32(a, n), field(n, true));
        assert_eq!(szext_wrap_u32(a, n), field(n % 32, false));
        assert_eq!(szext_wrap_s32(a, n), field(n % 32, true));
    }
}

#[test]
fn funnel_shifts_and_three_input_logic() {
    let mut random = Random(44);
    for _ in 0..10_000 {
        let (a, b, c) = (word(&mut random), word(&mut random), word(&mut random));
        // The double word as a list of bits, read at an offset.
        let pair = |i: i64| {
            i >= 0
                && if i < 32 {
                    bit(u64::from(a), i as u32)
                } else {
                    bit(u64::from(b), i as u32 - 32)
                }
        };
        let read = |from: i64| (0..32i64).fold(0u32, |d, i| d | u32::from(pair(from + i)) << i);
        let (wrapped, clamped) = (i64::from(c % 32), i64::from(c.min(32)));
        assert_eq!(shf_l_wrap_b32(a, b, c), read(32 - wrapped));
        assert_eq!(shf_l_clamp_b32(a, b, c), read(32 - clamped));
        assert_eq!(shf_r_wrap_b32(a, b, c), read(wrapped));
        assert_eq!(shf_r_clamp_b32(a, b, c), read(clamped));
        let table = random.below(256) as u32;
        let want = (0..32).fold(0u32, |d, i| {
            let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
            d | (table >> index & 1) << i
        });
        assert_eq!(lop3_b32(a, b, c, table), want, "{table:#x}");
    }
    // The ISA's way to write a table: the function of these three bytes.
    assert_eq!(
        lop3_b32(0xff00, 0x0ff0, 0x3333, (0xf0 & 0xcc) | 0xaa),
        (0xff00 & 0x0ff0) | 0x3333
    );
}

#[test]
fn permutations() {
    let (a, b) = (0x8322_1180, 0x7766_f5c4);
    let bytes = [0x80u32, 0x11, 0x22, 0x83, 0xc4, 0xf5, 0x66, 0x77];
    let compose = |indices: [usize; 4]| {
        indices
            .iter()
            .rev()
            .fold(0, |word, &i| word << 8 | bytes[i])
    };
    let mut random = Random(45);
    for _ in 0..10_000 {
        let c = random.next() as u32;
        let want = (0..4).fold(0, |word, i| {
            let nibble = c >> (4 * i) & 15;
            let value = bytes[nibble as usize & 7];
            word | (if nibble < 8 {
                value
            } else if value & 0x80 != 0 {
                0xff
            } else {
                0
            }) << (8 * i)
        });
        assert_eq!(prmt_b32(a, b, c), want, "{c:#x}");
    }
    // The ISA's tables, lowest byte first.
    let rows: [(extern "C" fn(u32, u32, u32) -> u32, [[usize; 4]; 4]); 6] = [
        (
            prmt_f4e_b32,
            [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        ),
        (
            prmt_b4e_b32,
            [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
        ),
        (prmt_rc8_b32, [[0; 4], [1; 4], [2; 4], [3; 4]]),
        (
            prmt_ecl_b32,
            [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
        ),
        (
            prmt_ecr_b32,
            [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
        ),
        (
            prmt_rc16_b32,
            [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
        ),
    ];
    for (mode, (function, table)) in rows.into_iter().enumerate() {
        for (control, indices) in table.into_iter().enumerate() {
            // Only two bits of the control count.
            assert_eq!(
                function(a, b, control as u32 | 0xfff0),
                compose(indices),
                "mode {mode}, control {control}"
            );
        }
    }
}

#[test]
fn division_as_seen_on_hardware() {
    let all = u32::MAX;
    assert_eq!(
        [div_u32(7, 0), rem_u32(7, 0), div_s32(7, 0), rem_s32(7, 0)],
        [all; 4]
    );
    assert_eq!(
        [div_s64(7, 0), rem_s64(7, 0), div_u64(7, 0), rem_u64(7, 0)],
        [u64::MAX; 4]
    );
    assert_eq!((div_s32(1 << 31, all), rem_s32(1 << 31, all)), (1 << 31, 0));
    assert_eq!(
        (div_s64(1 << 63, u64::MAX), rem_s64(1 << 63, u64::MAX)),
        (1 << 63, 0)
    );
    assert_eq!(
        (
            div_s32(7u32.wrapping_neg(), 2),
            rem_s32(7u32.wrapping_neg(), 2)
        ),
        (3u32.wrapping_neg(), 1u32.wrapping_neg())
    );
    assert_eq!(
        (div_u64(u64::MAX, 10), rem_u64(u64::MAX, 10)),
        (1_844_674_407_370_955_161, 5)
    );
}

#[test]
fn products_and_differences() {
    let mut random = Random(46);
    for _ in 0..10_000 {
        let (a, b, c) = (long(&mut random), long(&mut random), long(&mut random));
        // Schoolbook in 32-bit halves.
        let (ah, al, bh, bl) = (a >> 32, a & 0xffff_ffff, b >> 32, b & 0xffff_ffff);
        let middle = ((al * bl) >> 32) + ((ah * bl) & 0xffff_ffff) + ((al * bh) & 0xffff_ffff);
        let high = ah * bh + ((ah * bl) >> 32) + ((al * bh) >> 32) + (middle >> 32);
        assert_eq!(mul_hi_u64(a, b), high);
        let correction =
            (if a >> 63 == 1 { b } else { 0 }).wrapping_add(if b >> 63 == 1 { a } else { 0 });
        assert_eq!(mul_hi_s64(a, b), high.wrapping_sub(correction));
        let (x, y, z) = (a as u32, b as u32, c as u32);
        let signed24 =
            |x: u32| i64::from(x & 0xff_ffff) - if x & 0x80_0000 != 0 { 1 << 24 } else { 0 };
        assert_eq!(mul24_lo_s32(x, y), (signed24(x) * signed24(y)) as u32);
        assert_eq!(
            mul24_hi_s32(x, y),
            ((signed24(x) * signed24(y)) >> 16) as u32
        );
        let product = u64::from(x % (1 << 24)) * u64::from(y % (1 << 24));
        assert_eq!(
            (mul24_lo_u32(x, y), mul24_hi_u32(x, y)),
            (product as u32, (product >> 16) as u32)
        );
        let distance = |a: i128, b: i128| if a > b { a - b } else { b - a };
        assert_eq!(
            sad_u32(x, y, z),
            z.wrapping_add(distance(x.into(), y.into()) as u32)
        );
        assert_eq!(
            sad_s32(x, y, z),
            z.wrapping_add(distance((x as i32).into(), (y as i32).into()) as u32)
        );
        assert_eq!(
            sad_u64(a, b, c),
            c.wrapping_add(distance(a.into(), b.into()) as u64)
        );
        assert_eq!(
            sad_s64(a, b, c),
            c.wrapping_add(distance(a.cast_signed().into(), b.cast_signed().into()) as u64)
        );
    }
}

#[test]
fn dot_products() {
    let (a, b) = (0xff02_0380, 0x01fe_7f81);
    let (s, u) = (|x: i32| 100u32.wrapping_add(x as u32), |x: u32| 100 + x);
    assert_eq!(
        dp4a_u32_u32(a, b, 100),
        u(0xff + 2 * 0xfe + 3 * 0x7f + 0x80 * 0x81)
    );
    assert_eq!(dp4a_s32_s32(a, b, 100), s(-1 - 4 + 3 * 127 + 128 * 127));
    assert_eq!(dp4a_u32_s32(a, b, 100), s(255 - 4 + 3 * 127 - 128 * 127));
    assert_eq!(
        dp4a_s32_u32(a, b, 100),
        s(-1 + 2 * 254 + 3 * 127 - 128 * 129)
    );
    assert_eq!(dp2a_lo_u32_u32(a, b, 100), u(0xff02 * 0x7f + 0x380 * 0x81));
    assert_eq!(dp2a_hi_u32_u32(a, b, 100), u(0xff02 + 0x380 * 0xfe));
    assert_eq!(dp2a_lo_s32_s32(a, b, 100), s(-254 * 127 - 0x380 * 127));
    assert_eq!(dp2a_hi_s32_u32(a, b, 100), s(-254 + 0x380 * 0xfe));
    assert_eq!(dp2a_hi_u32_s32(a, b, 100), s(0xff02 - 0x380 * 2));
}

#[test]
fn packed_integers() {
    assert_eq!(add_u16x2(0xffff_0001, 0x0001_ffff), 0);
    assert_eq!(
        (
            min_u16x2(0x8000_0001, 0x7fff_0002),
            min_s16x2(0x8000_0001, 0x7fff_0002)
        ),
        (0x7fff_0001, 0x8000_0001)
    );
    assert_eq!(
        (
            max_u16x2(0x8000_0001, 0x7fff_0002),
            max_s16x2(0x8000_0001, 0x7fff_0002)
        ),
        (0x8000_0002, 0x7fff_0002)
    );
    assert_eq!(
        (
            min_relu_s16x2(0x8000_0005, 0x7fff_0002),
            max_relu_s16x2(0x8000_fff0, 0xff00_0002)
        ),
        (0x0000_0002, 0x0000_0002)
    );
}

#[test]
fn video_lanes() {
    let lanes = |operation, four, signed, saturate, accumulate| Lanes {
        operation,
        four,
        signed,
        saturate,
        accumulate,
        mask: 15,
        lanes: Lanes::straight(four),
    };
    let run = |lanes: Lanes, a, b, c| video_lanes_b32(a, b, c, lanes.encode());
    let unsigned = [false; 3];
    let signed = [true; 3];
    assert_eq!(
        run(
            lanes(Operation::AbsDiff, true, unsigned, false, false),
            0x10ff_0080,
            0x2000_ff7f,
            0
        ),
        0x10ff_ff01
    );
    assert_eq!(
        run(
            lanes(Operation::AbsDiff, true, unsigned, false, true),
            0x10ff_0080,
            0x2000_ff7f,
            1000
        ),
        1000 + 0x10 + 0xff + 0xff + 1
    );
    assert_eq!(
        run(
            lanes(Operation::AbsDiff, false, unsigned, false, true),
            0x0010_ffff,
            0x0020_0000,
            5
        ),
        5 + 0x10 + 0xffff
    );
    assert_eq!(
        run(
            lanes(Operation::Add, true, signed, true, false),
            0x7f80_01ff,
            0x01ff_0101,
            0
        ),
        0x7f80_0200
    );
    assert_eq!(
        run(
            lanes(Operation::Add, true, unsigned, false, false),
            0x7f80_01ff,
            0x0180_0101,
            0
        ),
        0x8000_0200
    );
    assert_eq!(
        run(
            lanes(Operation::Sub, false, unsigned, true, false),
            0x0001_0005,
            0x0002_0003,
            0
        ),
        0x0000_0002
    );
    assert_eq!(
        run(
            lanes(Operation::Average, true, unsigned, false, false),
            0x01_02_03_ff,
            0x02_02_00_fe,
            0
        ),
        0x02_02_02_ff
    );
    assert_eq!(
        run(
            lanes(Operation::Average, false, signed, false, false),
            0xffff_fffe,
            0xfffe_ffff,
            0
        ),
        0xfffe_fffe
    );
    assert_eq!(
        run(
            lanes(Operation::LessEqual, true, signed, false, false),
            0x80_00_01_7f,
            0x00_00_00_80,
            0
        ),
        0x01_01_00_00
    );
    // Sums take whole lane results: 0x1fe and -0x100 do not fit a byte.
    assert_eq!(
        run(
            lanes(Operation::Add, true, unsigned, false, true),
            0xff,
            0xff,
            1
        ),
        0x1ff
    );
    assert_eq!(
        run(
            lanes(Operation::Sub, true, [true, false, false], false, true),
            0x00,
            0xff,
            1
        ),
        0xffff_ff02
    );
    let masked = Lanes {
        mask: 0b0101,
        ..lanes(Operation::Max, true, unsigned, false, false)
    };
    assert_eq!(
        run(masked, 0x11_22_33_44, 0x01_92_03_94, 0xaa_bb_cc_dd),
        0xaa_92_cc_94
    );
    let swapped = Lanes {
        lanes: [[3, 2, 1, 0], [4, 4, 4, 4]],
        ..lanes(Operation::Add, true, unsigned, false, false)
    };
    assert_eq!(run(swapped, 0x04_03_02_01, 0x10, 0), 0x11_12_13_14);
}

#[test]
fn video_scalars() {
    let plain = Scalar {
        operation: Operation::Add,
        signed: [true; 3],
        parts: [Part::Word; 3],
        saturate: false,
        wrap: false,
        secondary: Secondary::None,
    };
    let run = |scalar: Scalar, a, b, c| video_b32(a, b, c, scalar.encode());
    let sat = Scalar {
        saturate: true,
        ..plain
    };
    assert_eq!(run(sat, 0x7fff_ffff, 1, 0), 0x7fff_ffff);
    assert_eq!(run(sat, 0x8000_0000, 0xffff_ffff, 0), 0x8000_0000);
    assert_eq!(run(plain, 0x7fff_ffff, 1, 0), 0x8000_0000);
    let unsigned = Scalar {
        signed: [false; 3],
        ..sat
    };
    assert_eq!(run(unsigned, 0xffff_ffff, 1, 0), 0xffff_ffff);
    assert_eq!(
        run(
            Scalar {
                operation: Operation::Sub,
                ..unsigned
            },
            1,
            2,
            0
        ),
        0
    );
    // Bytes and halves, extended by their types; the result merged into a byte of c.
    let parts = Scalar {
        parts: [Part::B2, Part::B3, Part::H1],
        secondary: Secondary::Merge,
        ..sat
    };
    assert_eq!(
        run(parts, 0x8000_0000, 0x0005_ffff, 0x1122_3344),
        0x1185_3344
    );
    assert_eq!(
        run(
            Scalar {
                operation: Operation::AbsDiff,
                secondary: Secondary::Add,
                ..plain
            },
            5,
            9u32.wrapping_neg(),
            100
        ),
        114
    );
    assert_eq!(
        run(
            Scalar {
                secondary: Secondary::Min,
                ..plain
            },
            5,
            6,
            7u32.wrapping_neg()
        ),
        7u32.wrapping_neg()
    );
    assert_eq!(
        run(
            Scalar {
                secondary: Secondary::Max,
                ..plain
            },
            5,
            6,
            7u32.wrapping_neg()
        ),
        11
    );
    let shift = Scalar {
        operation: Operation::ShiftLeft,
        signed: [false; 3],
        ..plain
    };
    assert_eq!(
        (
            run(shift, 3, 33, 0),
            run(
                Scalar {
                    wrap: true,
                    ..shift
                },
                3,
                33,
                0
            )
        ),
        (0, 6)
    );
    let right = Scalar {
        operation: Operation::ShiftRight,
        ..plain
    };
    assert_eq!(run(right, 0x8000_0000, 40, 0), u32::MAX);
    assert_eq!(
        run(
            Scalar {
                operation: Operation::Less,
                ..plain
            },
            u32::MAX,
            0,
            0
        ),
        1
    );
    assert_eq!(
        run(
            Scalar {
                operation: Operation::Less,
                signed: [false; 3],
                ..plain
            },
            u32::MAX,
            0,
            0
        ),
        0
    );
}

#[test]
fn float_minimum_and_maximum() {
    let nan = f32::NAN;
    let bits = f32::to_bits;
    assert_eq!(
        (
            min_f32(nan, 1.0),
            min_f32(1.0, nan),
            max_f32(nan, -1.0),
            max_f32(-1.0, nan)
        ),
        (1.0, 1.0, -1.0, -1.0)
    );
    assert_eq!(
        (bits(min_f32(nan, -nan)), bits(max_f32(nan, nan))),
        (0x7fff_ffff, 0x7fff_ffff)
    );
    assert_eq!(
        (bits(min_nan_f32(nan, 1.0)), bits(max_nan_f32(1.0, nan))),
        (0x7fff_ffff, 0x7fff_ffff)
    );
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert_eq!((bits(min_f32(a, b)), bits(max_f32(a, b))), (0x8000_0000, 0));
        assert_eq!(
            (
                min_f64(a.into(), b.into()).to_bits(),
                max_f64(a.into(), b.into()).to_bits()
            ),
            (1 << 63, 0)
        );
    }
    assert_eq!(
        (
            min_f32(-2.0, f32::INFINITY),
            max_f64(-2.0, f64::NEG_INFINITY)
        ),
        (-2.0, -2.0)
    );
    assert_eq!(
        (
            min_xorsign_abs_f32(-3.0, 2.0),
            max_xorsign_abs_f32(-3.0, -2.0)
        ),
        (-2.0, 3.0)
    );
    assert_eq!(
        (
            min_nan_f64(1.0, f64::NAN).to_bits(),
            max_f64(f64::NAN, f64::NAN).to_bits()
        ),
        (u64::MAX >> 1, u64::MAX >> 1)
    );
}
