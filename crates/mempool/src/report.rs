//! A pool, told to people.

use std::fmt;

use crate::policy::Policy;
use crate::statistics::Statistics;

/// The state of a pool, as data and, printed, as a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The policy.
    pub policy: Policy,
    /// The limit in bytes, if there is one.
    pub limit: Option<u64>,
    /// The numbers.
    pub statistics: Statistics,
    /// Free blocks by size, largest first: size and number.
    pub held: Vec<(u64, u64)>,
    /// Live blocks by where they were allocated, those with most bytes first; empty unless the pool was built with
    /// [`debug`](crate::PoolBuilder::debug).
    pub live: Vec<Group>,
}

/// Live blocks that were allocated at the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The innermost frames of the program, one a line.
    pub site: String,
    /// How many blocks.
    pub blocks: u64,
    /// Their bytes, as asked for.
    pub bytes: u64,
}

/// How many rows of a list are printed.
const ROWS: usize = 12;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.statistics;
        match self.limit {
            Some(limit) => writeln!(f, "{:?} pool, limit {}", self.policy, Bytes(limit))?,
            None => writeln!(f, "{:?} pool", self.policy)?,
        }
        writeln!(
            f,
            "lent     {:>12} in {} blocks ({} with rounding), peak {}",
            Bytes(s.active_bytes).to_string(),
            s.active_blocks,
            Bytes(s.active_block_bytes),
            Bytes(s.peak_active_bytes)
        )?;
        writeln!(
            f,
            "held     {:>12} in {} blocks",
            Bytes(s.held_bytes).to_string(),
            s.held_blocks
        )?;
        writeln!(
            f,
            "managed  {:>12} in {} chunks, peak {}",
            Bytes(s.managed_bytes).to_string(),
            s.chunks,
            Bytes(s.peak_managed_bytes)
        )?;
        writeln!(
            f,
            "{} allocations ({} from the thread's own blocks, {} after a wait between streams, {} failed), {} of the \
             driver, {} given back to it",
            s.allocations, s.cached, s.waits, s.failures, s.driver_allocations, s.driver_releases
        )?;
        if !self.held.is_empty() {
            writeln!(f, "\n  held blocks  of size")?;
            for (bytes, count) in self.held.iter().take(ROWS) {
                writeln!(f, "{count:>13}  {}", Bytes(*bytes))?;
            }
            more(f, self.held.len())?;
        }
        if !self.live.is_empty() {
            writeln!(f, "\n        bytes  blocks  allocated at")?;
            for group in self.live.iter().take(ROWS) {
                for (index, line) in group.site.lines().enumerate() {
                    if index == 0 {
                        let bytes = Bytes(group.bytes).to_string();
                        writeln!(f, "{bytes:>13} {:>7}  {line}", group.blocks)?;
                    } else {
                        writeln!(f, "{:>23}{line}", "")?;
                    }
                }
            }
            more(f, self.live.len())?;
        }
        Ok(())
    }
}

fn more(f: &mut fmt::Formatter<'_>, rows: usize) -> fmt::Result {
    match rows.saturating_sub(ROWS) {
        0 => Ok(()),
        rest => writeln!(f, "{:>13}  more", rest),
    }
}

/// A number of bytes, exact where it is small and with two decimals where it is not.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (1u64 << 40, "TiB"),
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1 << 10, "KiB"),
        ];
        match units.iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) if self.0.is_multiple_of(*unit) => {
                write!(f, "{} {name}", self.0 / unit)
            }
            Some((unit, name)) => write!(f, "{:.2} {name}", self.0 as f64 / *unit as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_tables() {
        let report = Report {
            policy: Policy::Coalescing,
            limit: Some(1 << 30),
            statistics: Statistics {
                active_blocks: 3,
                active_bytes: 3000,
                active_block_bytes: 3072,
                held_blocks: 2,
                held_bytes: (2 << 20) - 3072,
                managed_bytes: 2 << 20,
                chunks: 1,
                peak_managed_bytes: 4 << 20,
                peak_active_bytes: 5000,
                allocations: 10,
                cached: 4,
                waits: 1,
                failures: 0,
                driver_allocations: 2,
                driver_releases: 1,
            },
            held: vec![((2 << 20) - 4096, 1), (1024, 1)],
            live: vec![
                Group {
                    site: "model::forward at src/model.rs:10:5\nmodel::main at src/main.rs:3:1"
                        .into(),
                    blocks: 2,
                    bytes: 2000,
                },
                Group {
                    site: "(unknown)".into(),
                    blocks: 1,
                    bytes: 1000,
                },
            ],
        };
        insta::assert_snapshot!(report, @r"
        Coalescing pool, limit 1 GiB
        lent         2.93 KiB in 3 blocks (3 KiB with rounding), peak 4.88 KiB
        held         2.00 MiB in 2 blocks
        managed         2 MiB in 1 chunks, peak 4 MiB
        10 allocations (4 from the thread's own blocks, 1 after a wait between streams, 0 failed), 2 of the driver, 1 given back to it

          held blocks  of size
                    1  2.00 MiB
                    1  1 KiB

                bytes  blocks  allocated at
             1.95 KiB       2  model::forward at src/model.rs:10:5
                               model::main at src/main.rs:3:1
               1000 B       1  (unknown)
        ");
    }
}
