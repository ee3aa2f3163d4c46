//! Which candidates are tried, and how often.

use super::space::Candidate;

/// How a tuner goes through its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// Every candidate.
    #[default]
    All,
    /// As many, chosen at random; the same ones for the same seed.
    Random {
        /// How many.
        count: usize,
        /// Chooses which.
        seed: u64,
    },
    /// As many at random in a first round; after each round the faster half goes on and is measured twice as often, until one is left.
    SuccessiveHalving {
        /// How many start.
        count: usize,
        /// Chooses which.
        seed: u64,
    },
}

impl Strategy {
    /// The candidates to start with.
    pub(super) fn first(self, all: Vec<Candidate>) -> Vec<Candidate> {
        match self {
            Self::All => all,
            Self::Random { count, seed } | Self::SuccessiveHalving { count, seed } => {
                choose(all, count.max(1), seed)
            }
        }
    }

    /// How many of `count` measured candidates go on to another round; 0 if there is none.
    pub(super) fn survivors(self, count: usize) -> usize {
        match self {
            Self::SuccessiveHalving { .. } if count > 1 => count.div_ceil(2),
            _ => 0,
        }
    }
}

/// As many of a list, chosen by a seed, in the order of the list.
fn choose<T>(list: Vec<T>, count: usize, mut seed: u64) -> Vec<T> {
    // SplitMix64 (Steele, Lea and Flood 2014).
    let mut random = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut left = list.len();
    let mut wanted = count.min(left);
    // Knuth's selection sampling: each is taken with the probability that the rest can still fill what is wanted.
    list.into_iter()
        .filter(|_| {
            let take = (random() % left as u64) < wanted as u64;
            left -= 1;
            wanted -= usize::from(take);
            take
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_chooses_always_the_same_and_as_many() {
        let list: Vec<u32> = (0..100).collect();
        let first = choose(list.clone(), 10, 7);
        assert_eq!(first.len(), 10);
        assert!(first.is_sorted());
        assert_eq!(first, choose(list.clone(), 10, 7));
        assert_ne!(first, choose(list.clone(), 10, 8));
        assert_eq!(choose(list.clone(), 1000, 7), list);
    }

    #[test]
    fn every_element_is_chosen_about_as_often() {
        let mut counts = [0_u32; 20];
        for seed in 0..2000 {
            for one in choose((0..20).collect::<Vec<usize>>(), 5, seed) {
                counts[one] += 1;
            }
        }
        // 500 expected, with a standard deviation below 20.
        assert!(
            counts.iter().all(|&count| (400..600).contains(&count)),
            "{counts:?}"
        );
    }

    #[test]
    fn halving_ends_with_one() {
        let strategy = Strategy::SuccessiveHalving { count: 9, seed: 0 };
        let mut count = 9;
        let mut rounds = Vec::new();
        while count > 1 {
            count = strategy.survivors(count);
            rounds.push(count);
        }
        assert_eq!(rounds, [5, 3, 2, 1]);
        assert_eq!(strategy.survivors(1), 0);
        assert_eq!(Strategy::All.survivors(9), 0);
    }
}
