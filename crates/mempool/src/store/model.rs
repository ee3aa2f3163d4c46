//! Both stores against plain references: lists that are searched from end to end.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use proptest::prelude::*;

use super::{Bins, Coalescing, Marks, Piece, Reach};
use crate::bins::{alloc_size, bin_number};

/// How far each stream has come.
type Clocks = Rc<RefCell<HashMap<u32, u64>>>;

/// Uses over clocks that the test moves.
#[derive(Clone, Default, Debug)]
struct Fake {
    uses: Vec<(u32, u64)>,
    clocks: Clocks,
}

impl Fake {
    fn of(clocks: &Clocks, uses: &[(u32, u64)]) -> Self {
        let mut uses = uses.to_vec();
        uses.sort_unstable();
        Self {
            uses,
            clocks: Rc::clone(clocks),
        }
    }

    fn pending(&self) -> Vec<(u32, u64)> {
        let clocks = self.clocks.borrow();
        let passed =
            |(stream, position): &(u32, u64)| clocks.get(stream).is_some_and(|now| now >= position);
        self.uses
            .iter()
            .copied()
            .filter(|one| !passed(one))
            .collect()
    }
}

impl Marks for Fake {
    fn merge(&mut self, other: &Self) {
        if self.uses.is_empty() {
            self.clocks = Rc::clone(&other.clocks);
        }
        for &(stream, position) in &other.uses {
            match self.uses.iter_mut().find(|(known, _)| *known == stream) {
                Some((_, known)) => *known = (*known).max(position),
                None => self.uses.push((stream, position)),
            }
        }
        self.uses.sort_unstable();
    }

    fn forget_passed(&mut self) {
        self.uses = self.pending();
    }

    fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    fn only_stream(&self) -> Option<u32> {
        match self.uses.as_slice() {
            [(stream, _)] => Some(*stream),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Size class and stream.
    Take(u64, u32),
    /// Which of the live blocks, and streams that have used it beside its own.
    Give(usize, Vec<u32>),
    /// A stream has come to its end.
    Pass(u32),
    Consolidate(bool),
    Surplus(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u64..40, 1u32..4).prop_map(|(size, stream)| Step::Take(size * 256, stream)),
        7 => (any::<usize>(), prop::collection::vec(1u32..4, 0..2)).prop_map(|(which, others)| Step::Give(which, others)),
        1 => (1u32..4).prop_map(Step::Pass),
        1 => any::<bool>().prop_map(Step::Consolidate),
        1 => (1u64..30_000).prop_map(Step::Surplus),
    ]
}

/// A byte's worth of 256 in the reference: free with these pending uses, or lent.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Free(Vec<(u32, u64)>),
    Lent(u64),
}

/// The reference of `Coalescing`: chunks as rows of cells. It knows no blocks, only what is free and who used it.
#[derive(Default)]
struct Rows(Vec<(u64, Vec<Cell>)>);

impl Rows {
    fn cells(&mut self, address: u64, bytes: u64) -> &mut [Cell] {
        let (start, row) = self
            .0
            .iter_mut()
            .find(|(start, row)| {
                *start <= address && address + bytes <= *start + 256 * row.len() as u64
            })
            .expect("inside a chunk");
        let first = ((address - *start) / 256) as usize;
        &mut row[first..first + (bytes / 256) as usize]
    }

    fn lend(&mut self, piece: &Piece<Fake>, clocks: &Clocks) {
        for cell in self.cells(piece.address, piece.bytes) {
            let Cell::Free(uses) = cell else {
                panic!("{:#x} is lent twice", piece.address);
            };
            let told = piece.marks.pending();
            let covered = |one: &(u32, u64)| {
                told.iter().any(|two| one.0 == two.0 && one.1 <= two.1)
                    || clocks.borrow().get(&one.0).is_some_and(|now| *now >= one.1)
            };
            assert!(uses.iter().all(covered), "a use of the block is not told");
            *cell = Cell::Lent(piece.address);
        }
    }

    /// The longest run of cells that satisfy `free`, in bytes: what a store that joins everything could lend.
    fn longest(&self, free: impl Fn(&Cell) -> bool) -> u64 {
        let runs = self.0.iter().map(|(_, row)| {
            let (mut best, mut run) = (0, 0);
            for cell in row {
                run = if free(cell) { run + 1 } else { 0 };
                best = best.max(run);
            }
            best
        });
        runs.max().unwrap_or(0) * 256
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is lent twice, no use is forgotten, nothing is lost, and what fits is found.
    #[test]
    fn coalescing_keeps_its_books(steps in prop::collection::vec(step(), 1..120)) {
        let clocks = Clocks::default();
        let mut store = Coalescing::<Fake>::new();
        let mut rows = Rows::default();
        let mut live: Vec<(u64, u64, u32)> = Vec::new();
        let mut next = 0x10_0000u64;
        let mut position = 0u64;
        for step in steps {
            match step {
                Step::Take(bytes, stream) => {
                    let mut found = None;
                    for reach in [Reach::Own, Reach::Passed, Reach::Any] {
                        found = store.take(bytes, stream, reach);
                        if let Some(piece) = &found {
                            let pending = piece.marks.pending();
                            match reach {
                                Reach::Own => prop_assert!(pending.iter().all(|one| one.0 == stream)),
                                Reach::Passed => prop_assert!(pending.is_empty()),
                                Reach::Any => {}
                            }
                            break;
                        }
                    }
                    if found.is_none() {
                        store.consolidate(true);
                        let fits = rows.longest(|cell| matches!(cell, Cell::Free(_))) >= bytes;
                        found = store.take(bytes, stream, Reach::Any);
                        prop_assert_eq!(found.is_some(), fits, "best use of what is free");
                    }
                    let piece = match found {
                        Some(piece) => piece,
                        None => {
                            let chunk = bytes.max(20 * 256);
                            let address = store.add(next, chunk, bytes);
                            rows.0.push((next, vec![Cell::Free(Vec::new()); (chunk / 256) as usize]));
                            next += chunk + 256;
                            Piece { address, bytes, marks: Fake::of(&clocks, &[]) }
                        }
                    };
                    prop_assert_eq!(piece.bytes, bytes);
                    rows.lend(&piece, &clocks);
                    live.push((piece.address, bytes, stream));
                }
                Step::Give(which, others) if !live.is_empty() => {
                    let (address, bytes, stream) = live.swap_remove(which % live.len());
                    position += 1;
                    let mut uses = Fake::of(&clocks, &[(stream, position)]);
                    for other in others {
                        uses.merge(&Fake::of(&clocks, &[(other, position)]));
                    }
                    for cell in rows.cells(address, bytes) {
                        prop_assert_eq!(&*cell, &Cell::Lent(address));
                        *cell = Cell::Free(uses.uses.clone());
                    }
                    store.give(address, uses);
                }
                Step::Give(..) => {}
                Step::Pass(stream) => {
                    clocks.borrow_mut().insert(stream, position);
                }
                Step::Consolidate(mix) => store.consolidate(mix),
                Step::Surplus(bytes) => {
                    let unused: u64 = rows
                        .0
                        .iter()
                        .filter(|(_, row)| row.iter().all(|cell| matches!(cell, Cell::Free(_))))
                        .map(|(_, row)| 256 * row.len() as u64)
                        .sum();
                    let pieces = store.surplus(bytes);
                    let sum: u64 = pieces.iter().map(|piece| piece.bytes).sum();
                    prop_assert!(sum >= bytes.min(unused), "as much as there is");
                    for piece in pieces {
                        rows.lend(&piece, &clocks);
                        rows.0.retain(|(start, _)| *start != piece.address);
                    }
                }
            }
            store.check();
            let free: u64 = rows
                .0
                .iter()
                .flat_map(|(_, row)| row)
                .filter(|cell| matches!(cell, Cell::Free(_)))
                .count() as u64;
            prop_assert_eq!(store.totals().free_bytes, 256 * free);
        }
    }

    /// On one stream, free neighbours are always joined: what fits a run of free cells is found at the first try.
    #[test]
    fn coalescing_joins_at_once_on_one_stream(
        sizes in prop::collection::vec((1u64..30, any::<usize>(), any::<bool>()), 1..150),
    ) {
        let clocks = Clocks::default();
        let mut store = Coalescing::<Fake>::new();
        let mut rows = Rows::default();
        let mut live = Vec::new();
        let mut next = 0x10_0000u64;
        for (position, (size, which, give)) in sizes.into_iter().enumerate() {
            if give && !live.is_empty() {
                let (address, bytes) = live.swap_remove(which % live.len());
                let uses = Fake::of(&clocks, &[(1, position as u64 + 1)]);
                rows.cells(address, bytes).fill(Cell::Free(uses.uses.clone()));
                store.give(address, uses);
                continue;
            }
            let bytes = 256 * size;
            let fits = rows.longest(|cell| matches!(cell, Cell::Free(_))) >= bytes;
            let found = store.take(bytes, 1, Reach::Own);
            prop_assert_eq!(found.is_some(), fits);
            let piece = found.unwrap_or_else(|| {
                let chunk = 40 * 256;
                let address = store.add(next, chunk, bytes);
                rows.0.push((next, vec![Cell::Free(Vec::new()); 40]));
                next += chunk + 256;
                Piece { address, bytes, marks: Fake::default() }
            });
            rows.lend(&piece, &clocks);
            live.push((piece.address, bytes));
            store.check();
        }
    }

    /// Against PyCUDA's pool written down once more: a stack for each bin, one stream.
    #[test]
    fn bins_are_stacks(steps in prop::collection::vec((0u32..4, 1u64..5000, any::<usize>()), 1..200)) {
        let clocks = Clocks::default();
        let mut store = Bins::<Fake>::new();
        let mut stacks: HashMap<u32, Vec<u64>> = HashMap::new();
        let mut live: Vec<(u64, u64)> = Vec::new();
        let (mut next, mut position, mut managed) = (1u64, 0, 0);
        for (kind, bytes, which) in steps {
            let bin = bin_number(bytes);
            let block = alloc_size(bin).unwrap();
            match kind {
                0 | 1 => {
                    let want = stacks.get_mut(&bin).and_then(Vec::pop);
                    let got = store.take(block, 1, Reach::Own).map(|piece| piece.address);
                    prop_assert_eq!(got, want);
                    let address = got.unwrap_or_else(|| {
                        next += 1;
                        managed += block;
                        store.add(next, block)
                    });
                    live.push((address, block));
                }
                2 if !live.is_empty() => {
                    let (address, block) = live.swap_remove(which % live.len());
                    position += 1;
                    store.give(address, block, Fake::of(&clocks, &[(1, position)]));
                    stacks.entry(bin_number(block)).or_default().push(address);
                }
                _ => {
                    // When memory is short: from the highest bin downwards, the last one given back first.
                    let top = stacks.iter().filter(|(_, stack)| !stack.is_empty()).map(|(&bin, _)| bin).max();
                    let want = top.and_then(|bin| stacks.get_mut(&bin)?.pop());
                    let got = store.surplus(1);
                    managed -= got.iter().map(|piece| piece.bytes).sum::<u64>();
                    prop_assert_eq!(got.iter().map(|piece| piece.address).collect::<Vec<_>>(), Vec::from_iter(want));
                }
            }
            let held: usize = stacks.values().map(Vec::len).sum();
            let totals = store.totals();
            prop_assert_eq!((totals.free_blocks, totals.managed), (held as u64, managed));
            prop_assert_eq!(totals.chunks, (held + live.len()) as u64);
        }
    }

    /// With several streams, a bin lends what costs least, the last one given back first.
    #[test]
    fn bins_prefer_what_costs_least(given in prop::collection::vec((1u32..4, any::<bool>()), 0..12), stream in 1u32..4) {
        let clocks = Clocks::default();
        let mut store = Bins::<Fake>::new();
        for (index, &(user, _)) in given.iter().enumerate() {
            store.add(index as u64 + 1, 17);
            store.give(index as u64 + 1, 17, Fake::of(&clocks, &[(user, index as u64 + 1)]));
        }
        let own = given.iter().rposition(|(user, _)| *user == stream);
        let got = store.take(17, stream, Reach::Own).map(|piece| piece.address as usize - 1);
        prop_assert_eq!(got, own);
        // The other streams have come to some point.
        let reached = given.iter().rposition(|(user, passed)| *user != stream && *passed);
        if let Some(reached) = reached {
            clocks.borrow_mut().insert(given[reached].0, reached as u64 + 1);
        }
        let over = |index: &usize| Fake::of(&clocks, &[(given[*index].0, *index as u64 + 1)]).pending().is_empty();
        let want = (0..given.len()).rev().filter(|index| Some(*index) != own).find(over);
        let got = store.take(17, stream, Reach::Passed).map(|piece| piece.address as usize - 1);
        prop_assert_eq!(got, want);
        let rest = (0..given.len()).rev().find(|index| Some(*index) != own && Some(*index) != want);
        let got = store.take(17, stream, Reach::Any).map(|piece| piece.address as usize - 1);
        prop_assert_eq!(got, rest);
    }
}
