//! Seeded traces: the same on every machine.

/// One step of a trace: an allocation, by its number, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Allocates so many bytes; allocations are numbered from 0 in the order of the trace.
    Allocate(u64),
    /// Frees an allocation.
    Free(usize),
}

/// A trace, its name, and a number that changes if any step does.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name.
    pub name: &'static str,
    /// The steps.
    pub steps: Vec<Step>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// `splitmix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// As likely in every doubling from `low` to `low << doublings`, and odd in its last digits.
    fn size(&mut self, low: u64, doublings: u64) -> u64 {
        let base = low << self.below(doublings);
        base + self.below(base)
    }
}

/// A trace in the making.
#[derive(Default)]
struct Writer {
    steps: Vec<Step>,
    live: Vec<(usize, u64)>,
    count: usize,
    bytes: u64,
}

impl Writer {
    fn allocate(&mut self, bytes: u64) {
        self.steps.push(Step::Allocate(bytes));
        self.live.push((self.count, bytes));
        self.count += 1;
        self.bytes += bytes;
    }

    fn free(&mut self, index: usize) {
        let (number, bytes) = self.live.swap_remove(index);
        self.steps.push(Step::Free(number));
        self.bytes -= bytes;
    }

    fn free_any(&mut self, random: &mut Random) {
        let index = random.below(self.live.len() as u64) as usize;
        self.free(index);
    }

    fn finish(self, name: &'static str) -> Trace {
        Trace {
            name,
            steps: self.steps,
        }
    }
}

impl Trace {
    /// The three traces that pools are held to.
    #[must_use]
    pub fn all() -> [Self; 3] {
        [Self::random(), Self::sawtooth(), Self::phase_change()]
    }

    /// Sizes from 4 KiB to 32 MiB, of which some hundred live, and any of them ends next.
    #[must_use]
    pub fn random() -> Self {
        let (mut random, mut writer) = (Random(1), Writer::default());
        for _ in 0..30_000 {
            let room = writer.bytes < 700 * MIB;
            if writer.live.is_empty() || (room && random.below(100) < 55) {
                let bytes = random.size(4 * KIB, 13);
                writer.allocate(bytes);
            } else {
                writer.free_any(&mut random);
            }
        }
        writer.finish("random")
    }

    /// As training does: activations pile up and go again in reverse, some in between, and each round's batch is of
    /// another size; beside them weights that stay.
    #[must_use]
    pub fn sawtooth() -> Self {
        let (mut random, mut writer) = (Random(2), Writer::default());
        for _ in 0..40 {
            let bytes = random.size(64 * KIB, 5);
            writer.allocate(bytes);
        }
        let weights = writer.live.len();
        for _ in 0..60 {
            let batch = 16 + random.below(48);
            for layer in 0..100 {
                writer.allocate(batch * (40 * KIB + (layer * 7919) % 97 * 3 * KIB + 13));
                if random.below(3) == 0 {
                    // A workspace that lives as long as the call.
                    let bytes = random.size(256 * KIB, 6);
                    writer.allocate(bytes);
                    writer.free(writer.live.len() - 1);
                }
            }
            while writer.live.len() > weights {
                let last = writer.live.len() - 1;
                // Mostly in reverse.
                let back = if random.below(8) == 0 {
                    random.below(4) as usize
                } else {
                    0
                };
                writer.free(last.saturating_sub(back).max(weights));
            }
        }
        writer.finish("sawtooth")
    }

    /// Phases with sizes of their own; some of what each allocated outlives it.
    #[must_use]
    pub fn phase_change() -> Self {
        let (mut random, mut writer) = (Random(3), Writer::default());
        for phase in 0..24u64 {
            let low =
                [3 * MIB, 40 * KIB, 11 * MIB, 600 * KIB, 24 * MIB, 7 * KIB][(phase % 6) as usize];
            for _ in 0..1500 {
                let room = writer.bytes < 600 * MIB && writer.live.len() < 4000;
                if writer.live.is_empty() || (room && random.below(100) < 60) {
                    let bytes = low + random.below(low / 2 + phase * 999);
                    writer.allocate(bytes);
                } else {
                    writer.free_any(&mut random);
                }
            }
            // Four in five end with their phase.
            let mut index = writer.live.len();
            while index > 0 {
                index -= 1;
                if random.below(5) > 0 {
                    writer.free(index);
                }
            }
        }
        writer.finish("phase change")
    }

    /// FNV-1a over all steps.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for step in &self.steps {
            let (kind, value) = match *step {
                Step::Allocate(bytes) => (0u8, bytes),
                Step::Free(number) => (1, number as u64),
            };
            for byte in std::iter::once(kind).chain(value.to_le_bytes()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }
}
