//! Pools over a driver without a device.

#![allow(clippy::unwrap_used, reason = "a failing test says where")]

mod behaviour;
mod fake;
mod order;
mod owners;
mod watch;

/// xorshift64*.
struct Random(u64);

impl Random {
    /// Numbers that `seed` decides.
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// How many operations a random test does in all: `CUPRUM_OPERATIONS`, or a short test's number.
fn operations() -> u64 {
    match std::env::var("CUPRUM_OPERATIONS") {
        Ok(text) => text.parse().expect("CUPRUM_OPERATIONS is a number"),
        Err(_) => 100_000,
    }
}
