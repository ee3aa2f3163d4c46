//! Control flow of a function: unreachable code, loops, liveness.

use super::ir::{Access, Block, BlockId, Callee, Function, Kind, Reg, Term, may_wait};

/// Removes blocks that nobody reaches.
pub(super) fn prune(function: &mut Function) {
    let count = function.blocks.len();
    let mut number = vec![None; count];
    let mut order = Vec::new();
    let mut stack = vec![0u32];
    // Numbering in the order of the text keeps the code's layout.
    let mut reached = vec![false; count];
    while let Some(block) = stack.pop() {
        if core::mem::replace(&mut reached[block as usize], true) {
            continue;
        }
        function.blocks[block as usize]
            .term
            .for_each_successor(|next| stack.push(next));
    }
    for (block, &reached) in reached.iter().enumerate() {
        if reached {
            number[block] = Some(order.len() as BlockId);
            order.push(block);
        }
    }
    let mut blocks: Vec<Option<Block>> = core::mem::take(&mut function.blocks)
        .into_iter()
        .map(Some)
        .collect();
    function.blocks = order
        .into_iter()
        .map(|block| {
            let mut block = blocks[block].take().expect("each block is numbered once");
            block.term.for_each_successor_mut(|next| {
                *next = number[*next as usize].expect("successors of reached blocks are reached");
            });
            block
        })
        .collect();
}

/// Predecessors of each block.
fn predecessors(function: &Function) -> Vec<Vec<BlockId>> {
    let mut predecessors = vec![Vec::new(); function.blocks.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        block
            .term
            .for_each_successor(|next| predecessors[next as usize].push(index as BlockId));
    }
    predecessors
}

/// The edges that lead back to a block that is still being visited in a depth-first walk: one for every cycle.
pub(super) fn back_edges(function: &Function) -> Vec<(BlockId, BlockId)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; function.blocks.len()];
    let mut edges = Vec::new();
    // Blocks on the path, with their successors still to be visited.
    let mut path: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
    let successors = |block: BlockId| {
        let mut list = Vec::new();
        function.blocks[block as usize]
            .term
            .for_each_successor(|next| list.push(next));
        list.reverse();
        list
    };
    marks[0] = Mark::Open;
    path.push((0, successors(0)));
    while let Some((block, rest)) = path.last_mut() {
        let block = *block;
        match rest.pop() {
            Some(next) => match marks[next as usize] {
                Mark::New => {
                    marks[next as usize] = Mark::Open;
                    path.push((next, successors(next)));
                }
                Mark::Open => edges.push((block, next)),
                Mark::Done => {}
            },
            None => {
                marks[block as usize] = Mark::Done;
                path.pop();
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The blocks of the loop that the back edge `from -> header` closes.
fn loop_blocks(predecessors: &[Vec<BlockId>], from: BlockId, header: BlockId) -> Vec<BlockId> {
    let mut seen = vec![false; predecessors.len()];
    seen[header as usize] = true;
    let mut blocks = vec![header];
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        if core::mem::replace(&mut seen[block as usize], true) {
            continue;
        }
        blocks.push(block);
        stack.extend(&predecessors[block as usize]);
    }
    blocks
}

/// The back edges, and whether each one's loop may be waiting for other threads. `waits` says it of called functions.
pub(super) fn loops(
    function: &Function,
    waits: &dyn Fn(u32) -> bool,
) -> Vec<(BlockId, BlockId, bool)> {
    let edges = back_edges(function);
    if edges.is_empty() {
        return Vec::new();
    }
    let predecessors = predecessors(function);
    let waiting: Vec<bool> = function
        .blocks
        .iter()
        .map(|block| {
            block.insts.iter().any(|inst| {
                may_wait(inst)
                    || match &inst.kind {
                        Kind::Call(call) => match call.callee {
                            Callee::Function(index) => waits(index),
                            Callee::Indirect(..) => true,
                            Callee::Builtin(_) => false,
                        },
                        _ => false,
                    }
            })
        })
        .collect();
    edges
        .into_iter()
        .map(|(from, header)| {
            let yields = loop_blocks(&predecessors, from, header)
                .into_iter()
                .any(|block| waiting[block as usize]);
            (from, header, yields)
        })
        .collect()
}

/// Gives every back edge a block of its own that ends in [`Term::Loop`].
pub(super) fn mark_loops(function: &mut Function, edges: &[(BlockId, BlockId, bool)]) {
    for &(from, header, yields) in edges {
        let number = function.blocks.len() as BlockId;
        function.blocks.push(Block {
            insts: Vec::new(),
            term: Term::Loop {
                target: header,
                yields,
            },
        });
        function.blocks[from as usize]
            .term
            .for_each_successor_mut(|next| {
                if *next == header {
                    *next = number;
                }
            });
    }
}

/// A set of small numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    pub(crate) fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, index: u32) {
        self.0[index as usize / 64] |= 1 << (index % 64);
    }

    pub(crate) fn remove(&mut self, index: u32) {
        self.0[index as usize / 64] &= !(1 << (index % 64));
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        self.0[index as usize / 64] >> (index % 64) & 1 != 0
    }

    /// Adds all of `other`.
    pub(crate) fn union(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Removes all that are not in `other`.
    pub(crate) fn intersect(&mut self, other: &Self) {
        for (word, mask) in self.0.iter_mut().zip(&other.0) {
            *word &= mask;
        }
    }

    /// The members, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            core::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    index as u32 * 64 + bit
                })
            })
        })
    }
}

/// Registers whose value is needed at the start of each block.
pub(crate) fn live_in(function: &Function) -> Vec<BitSet> {
    let registers = function.regs.len();
    let blocks = function.blocks.len();
    let mut uses = vec![BitSet::new(registers); blocks];
    let mut defs = vec![BitSet::new(registers); blocks];
    for (index, block) in function.blocks.iter().enumerate() {
        let (uses, defs) = (&mut uses[index], &mut defs[index]);
        let mut visit = |reg: Reg, access: Access| match access {
            Access::Use => {
                if !defs.contains(reg) {
                    uses.insert(reg);
                }
            }
            Access::Def => defs.insert(reg),
        };
        for inst in &block.insts {
            inst.visit(&mut visit);
        }
        block.term.visit_uses(|reg| visit(reg, Access::Use));
        if let Term::Suspend { inst, .. } = &block.term {
            inst.visit(&mut visit);
        }
    }
    let mut live = uses;
    let predecessors = predecessors(function);
    let mut queued = vec![true; blocks];
    let mut queue: Vec<BlockId> = (0..blocks as BlockId).collect();
    while let Some(block) = queue.pop() {
        let index = block as usize;
        queued[index] = false;
        let mut out = BitSet::new(registers);
        function.blocks[index]
            .term
            .for_each_successor(|next| out.union(&live[next as usize]));
        for (word, defined) in out.0.iter_mut().zip(&defs[index].0) {
            *word &= !defined;
        }
        out.union(&live[index]);
        if out != live[index] {
            live[index] = out;
            for &previous in &predecessors[index] {
                if !core::mem::replace(&mut queued[previous as usize], true) {
                    queue.push(previous);
                }
            }
        }
    }
    live
}
