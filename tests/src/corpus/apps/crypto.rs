//! `app_crypto`.

use crate::corpus::data::Random;
use crate::corpus::{Bound, Case};

const SOURCE: &str = "app_crypto";

pub(super) fn cases() -> Vec<Case> {
    vec![sha(), crc(), modexp(), bigadd(40), bigadd(1)]
}

/// The source's round constants: its table names eight and leaves the others zero.
const K: [u32; 8] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
];

/// The compression of FIPS 180-4, section 6.2.2, with the source's constants and start.
fn compress(block: &[u32]) -> [u32; 8] {
    let mut w: Vec<u32> = block.iter().map(|word| word.swap_bytes()).collect();
    let small = |x: u32, a, b, c: u32| x.rotate_right(a) ^ x.rotate_right(b) ^ (x >> c);
    while w.len() < 64 {
        let t = w.len();
        w.push(
            small(w[t - 2], 17, 19, 10)
                .wrapping_add(w[t - 7])
                .wrapping_add(small(w[t - 15], 7, 18, 3))
                .wrapping_add(w[t - 16]),
        );
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h]: [u32; 8] =
        std::array::from_fn(|i| 0x6a09_e667u32.wrapping_mul(i as u32 + 1));
    let large = |x: u32, a, b, c| x.rotate_right(a) ^ x.rotate_right(b) ^ x.rotate_right(c);
    for (t, &word) in w.iter().enumerate() {
        let choose = (e & f) ^ (!e & g);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let first = h
            .wrapping_add(large(e, 6, 11, 25))
            .wrapping_add(choose)
            .wrapping_add(K.get(t).copied().unwrap_or(0))
            .wrapping_add(word);
        let second = large(a, 2, 13, 22).wrapping_add(majority);
        (h, g, f) = (g, f, e);
        e = d.wrapping_add(first);
        (d, c, b) = (c, b, a);
        a = first.wrapping_add(second);
    }
    [a, b, c, d, e, f, g, h]
}

fn sha() -> Case {
    let mut random = Random::new(101);
    let input: Vec<u32> = (0..96 * 16).map(|_| random.bits() as u32).collect();
    let want: Vec<u32> = input.chunks(16).flat_map(compress).collect();
    Case::new(SOURCE, "sha")
        .shape(3, 32)
        .input(&input)
        .output(&want, Bound::Equal)
}

/// CRC-32 by long division of the message's bits, least first (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for byte in bytes {
        for bit in 0..8 {
            let feedback = (register ^ u32::from(byte >> bit)) & 1;
            register = (register >> 1) ^ if feedback == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !register
}

fn crc() -> Case {
    let mut random = Random::new(102);
    let n = 37;
    let mut bytes: Vec<u8> = (0..32 * n).map(|_| random.bits() as u8).collect();
    // The check value of the algorithm, in the first thread's message: "123456789" padded would be another message, so
    // it is compared on its own.
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    bytes[..9].copy_from_slice(b"123456789");
    let want: Vec<u32> = bytes.chunks(n).map(crc32).collect();
    Case::new(SOURCE, "crc")
        .shape(1, 32)
        .input(&bytes)
        .scalar(n as i32)
        .output(&want, Bound::Equal)
}

fn modexp() -> Case {
    let mut random = Random::new(103);
    // Below 2^32, so that the kernel's products do not overflow.
    let (exponent, modulus) = (0x1234_5678_9abc_def1u64, 4_294_967_291u64);
    let bases: Vec<u64> = (0..32).map(|_| random.bits()).collect();
    let want: Vec<u64> = bases
        .iter()
        .map(|&base| {
            let modulus = u128::from(modulus);
            let (mut power, mut result) = (u128::from(base) % modulus, 1u128);
            for bit in 0..64 {
                if exponent >> bit & 1 == 1 {
                    result = result * power % modulus;
                }
                power = power * power % modulus;
            }
            result as u64
        })
        .collect();
    Case::new(SOURCE, "modexp")
        .shape(1, 32)
        .update(&bases, &want, Bound::Equal)
        .scalar(exponent)
        .scalar(modulus)
}

fn bigadd(n: usize) -> Case {
    let mut random = Random::new(104);
    let mut a: Vec<u32> = (0..n).map(|_| random.bits() as u32).collect();
    let b: Vec<u32> = (0..n).map(|_| random.bits() as u32).collect();
    // A carry that runs through several words.
    for i in n / 2..n {
        a[i] = !b[i];
    }
    let mut carry = 0;
    let mut want: Vec<u32> = a
        .iter()
        .zip(&b)
        .map(|(&a, &b)| {
            let (sum, first) = a.overflowing_add(b);
            let (sum, second) = sum.overflowing_add(carry);
            carry = u32::from(first || second);
            sum
        })
        .collect();
    want.push(carry);
    Case::new(SOURCE, "bigadd")
        .variant(format!("{n} words"))
        .shape(1, 1)
        .input(&a)
        .input(&b)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
}
