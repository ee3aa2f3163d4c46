//! The structure of a kernel as words: what the cache compares.
//!
//! Two expressions have equal keys exactly if their generated sources are equal: the walk, the types, the operations and which values they take
//! are in; lengths, strides, scalars and addresses are not.

use smallvec::SmallVec;

use crate::expr::Op;
use crate::kernel::plan::Walk;
use crate::kernel::program::{Program, Value};
use crate::kernel::source::Kind;

/// A key under construction: inline for ordinary expressions.
pub(crate) type Key = SmallVec<[u64; 32]>;

/// The key of a kernel for `context` (its handle).
pub(crate) fn key(context: u64, kind: Kind, program: &Program<'_, '_>, walk: &Walk) -> Key {
    let mut key = Key::new();
    key.push(context);
    let kind = match kind {
        Kind::Map => 0,
        Kind::Reduce {
            op,
            accumulator,
            result,
        } => op as u64 | (accumulator as u64) << 8 | (result as u64) << 16,
        Kind::Axes {
            op,
            accumulator,
            result,
            team,
        } => op as u64 | (accumulator as u64) << 8 | (result as u64) << 16 | (team as u64) << 56,
    };
    key.push(
        kind | u64::from(walk.vector) << 24
            | u64::from(walk.wide) << 32
            | u64::from(walk.rank) << 40,
    );
    // Counts first, so that what follows can be cut in one way only.
    key.push(
        program.views.len() as u64
            | (program.leaves.len() as u64) << 16
            | (program.scalars.len() as u64) << 32
            | (program.steps.len() as u64) << 48,
    );
    for accesses in walk.access.chunks(8) {
        key.push(
            accesses
                .iter()
                .fold(0, |word, &access| word << 8 | access as u64),
        );
    }
    for node in &program.leaves {
        key.extend(node.leaf.structure());
    }
    for step in &program.steps {
        let dtype = step.dtype as u64;
        match step.value {
            Value::View(at) => key.push(0x100 | dtype | u64::from(at) << 16),
            Value::Leaf(at) => key.push(0x200 | dtype | u64::from(at) << 16),
            Value::Scalar(at) => key.push(0x300 | dtype | u64::from(at) << 16),
            Value::Op { op, param, args } => {
                // Operation codes start above the tags of the inputs.
                let code = op as u64 + 0x10;
                key.push(
                    code << 8
                        | dtype
                        | u64::from(args[0]) << 16
                        | u64::from(args[1]) << 32
                        | u64::from(args[2]) << 48,
                );
                if op == Op::PowI {
                    key.push(param.into());
                }
            }
        }
    }
    key
}
