//! MTGP32 (Saito and Matsumoto, "Variants of Mersenne Twister suitable for graphic processors", 2013) with two of the
//! published parameter sets of period 2^11213 - 1, one number at a time.

use super::super::inputs::Inputs;
use super::super::{Bound, Case};
use super::distribution::{middle, normal_quantile, uniform, uniform_double};

/// Words that the recurrence reaches back.
const REACH: usize = 351;
/// Words of a device state's ring, and of a parameter block, which has room for 200 sets.
const RING: usize = 1024;
const SETS: usize = 200;
const MASK: u32 = 0xfff8_0000;

/// A published set: the pick-up position, two shifts, and two linear maps of four bits by the images of each bit.
struct Parameters {
    pick: usize,
    shifts: [u32; 2],
    recursion: [u32; 4],
    tempering: [u32; 4],
}

const PUBLISHED: [Parameters; 2] = [
    Parameters {
        pick: 88,
        shifts: [19, 5],
        recursion: [0xaba4_d62c, 0xbb07_6f87, 0x2200_0000, 0x0000_95ba],
        tempering: [0x0610_0000, 0x25d8_0000, 0x282c_0000, 0x3302_de00],
    },
    Parameters {
        pick: 84,
        shifts: [15, 12],
        recursion: [0x9a97_5707, 0x75c2_1b11, 0x1550_0019, 0x0000_d269],
        tempering: [0x0064_6c00, 0x0810_f000, 0x3702_8000, 0x0050_5e00],
    },
];

/// The image of the low four bits under a linear map.
fn image(map: [u32; 4], bits: u32) -> u32 {
    (0..4)
        .filter(|k| bits >> k & 1 == 1)
        .fold(0, |sum, k| sum ^ map[k])
}

impl Parameters {
    /// Continues a sequence by `count` words, and answers with the tempered ones.
    fn generate(&self, words: &mut Vec<u32>, count: usize) -> Vec<u32> {
        (0..count)
            .map(|_| {
                let at = words.len() - REACH;
                let mut x = (words[at] & MASK) ^ words[at + 1];
                x ^= x << self.shifts[0];
                let y = x ^ (words[at + self.pick] >> self.shifts[1]);
                let word = y ^ image(self.recursion, y);
                words.push(word);
                let helper = words[at + self.pick - 1];
                let folded = helper
                    .to_le_bytes()
                    .into_iter()
                    .fold(0, |sum, byte| sum ^ byte);
                word ^ image(self.tempering, u32::from(folded))
            })
            .collect()
    }
}

/// Both sets as `mtgp32_kernel_params` lays them out, a table after the other.
fn block() -> Vec<u32> {
    let mut words = Vec::new();
    let mut table = |width: usize, entry: &dyn Fn(&Parameters, usize) -> u32| {
        for set in PUBLISHED.iter() {
            words.extend((0..width).map(|k| entry(set, k)));
        }
        words.extend(vec![0; (SETS - PUBLISHED.len()) * width]);
    };
    table(1, &|set, _| set.pick as u32);
    table(16, &|set, k| image(set.recursion, k as u32));
    table(16, &|set, k| image(set.tempering, k as u32));
    // For numbers of [1, 2), which the kernel does not ask for.
    table(16, &|_, _| 0);
    table(1, &|set, _| set.shifts[0]);
    table(1, &|set, _| set.shifts[1]);
    words.push(MASK);
    words
}

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x3769);
    // Threads of a block take neighbouring numbers.
    [256usize, 64, 192]
        .into_iter()
        .map(|threads| {
            let (mut states, mut after) = (Vec::new(), Vec::new());
            let (mut u, mut f, mut d) = (vec![7; 512], vec![7.0f32; 512], vec![7.0f64; 512]);
            for (set, parameters) in (0u32..).zip(&PUBLISHED) {
                let mut words = inputs.many(REACH, Inputs::bits);
                let mut ring = words.clone();
                ring.resize(RING, 0);
                // Where the first number is, the set, and room for an address.
                let ends = |offset: u32| [offset, set, 0, 0];
                states.extend(ring.iter().copied().chain(ends(0)));
                let drawn = parameters.generate(&mut words, 4 * threads);
                for (index, &word) in words.iter().enumerate() {
                    ring[index % RING] = word;
                }
                after.extend(ring.into_iter().chain(ends((4 * threads % RING) as u32)));
                let draw = |k: usize, t: usize| drawn[k * threads + t];
                for t in 0..threads {
                    let at = set as usize * 256 + t;
                    u[at] = draw(0, t);
                    let normal = normal_quantile(middle(draw(2, t)));
                    f[at] = (f64::from(uniform(draw(1, t))) + normal) as f32;
                    d[at] = uniform_double(draw(3, t));
                }
            }
            let size = (RING + 4) * 4;
            let pointer = (RING + 2) * 4;
            Case::new("curand_mtgp32", "gen")
                .variant(format!("{threads} threads"))
                .shape(2, threads as u32)
                .update(&states, &after, Bound::Equal)
                .update(&[7u32; 512], &u, Bound::Equal)
                .update(&[7f32; 512], &f, Bound::Absolute(4e-6))
                .update(&[7f64; 512], &d, Bound::Equal)
                .beside(&block())
                .address(0, pointer, 4)
                .address(0, size + pointer, 4)
        })
        .collect()
}
