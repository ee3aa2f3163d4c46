//! Bins of blocks of equal size, the last one given back lent first: PyCUDA's pool.

use std::collections::BTreeMap;

use super::{IDLE, Marks, Piece, Reach, Totals, owner};
use crate::bins::bin_number;

/// Free blocks by bin. Each block is a chunk of its own.
///
/// On one stream a bin is a stack, as PyCUDA's. With several, the topmost block that the stream may use without
/// waiting comes first.
#[derive(Debug)]
pub(crate) struct Bins<M> {
    bins: BTreeMap<u32, Vec<Piece<M>>>,
    totals: Totals,
}

impl<M: Marks> Bins<M> {
    pub(crate) fn new() -> Self {
        Self {
            bins: BTreeMap::new(),
            totals: Totals::default(),
        }
    }

    pub(super) fn take(&mut self, bytes: u64, stream: u32, reach: Reach) -> Option<Piece<M>> {
        let stack = self.bins.get_mut(&bin_number(bytes))?;
        let index = match reach {
            Reach::Any => stack.len().checked_sub(1),
            Reach::Own => stack.iter().rposition(|piece| {
                let owner = owner(&piece.marks);
                owner == stream || owner == IDLE
            }),
            Reach::Passed => stack.iter_mut().rposition(|piece| {
                piece.marks.forget_passed();
                owner(&piece.marks) == IDLE
            }),
        }?;
        let piece = stack.remove(index);
        self.totals.free_blocks -= 1;
        self.totals.free_bytes -= piece.bytes;
        Some(piece)
    }

    pub(super) fn give(&mut self, address: u64, bytes: u64, marks: M) {
        self.totals.free_blocks += 1;
        self.totals.free_bytes += bytes;
        self.bins.entry(bin_number(bytes)).or_default().push(Piece {
            address,
            bytes,
            marks,
        });
    }

    pub(super) fn add(&mut self, address: u64, chunk: u64) -> u64 {
        self.totals.managed += chunk;
        self.totals.chunks += 1;
        address
    }

    /// From the highest bin downwards, the last one given back first.
    pub(super) fn surplus(&mut self, bytes: u64) -> Vec<Piece<M>> {
        let mut taken = Vec::new();
        let mut sum = 0;
        while sum < bytes {
            let Some(mut bin) = self.bins.last_entry() else {
                break;
            };
            match bin.get_mut().pop() {
                Some(piece) => {
                    sum += piece.bytes;
                    taken.push(piece);
                }
                None => {
                    bin.remove();
                }
            }
        }
        self.totals.free_blocks -= taken.len() as u64;
        self.totals.chunks -= taken.len() as u64;
        self.totals.free_bytes -= sum;
        self.totals.managed -= sum;
        taken
    }

    pub(super) fn pending(&self, stream: u32) -> M {
        let mut all = M::default();
        for piece in self.bins.values().flatten() {
            let owner = owner(&piece.marks);
            if owner != stream && owner != IDLE {
                all.merge(&piece.marks);
            }
        }
        all
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    pub(super) fn free_sizes(&self) -> Vec<(u64, u64)> {
        self.bins
            .values()
            .rev()
            .filter_map(|stack| Some((stack.first()?.bytes, stack.len() as u64)))
            .collect()
    }
}
