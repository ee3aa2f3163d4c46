//! An expression as a straight-line program: each distinct value computed once.
//!
//! Flattening walks the nodes in post-order, gives equal operations on equal values one number (so common sub-expressions
//! cost nothing, whether they are one shared node or were written twice), and collects views, leaves and scalars. The result's structure is what
//! kernels are cached by.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use cuprum_driver_core::Stream;
use smallvec::SmallVec;

use crate::element::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{AnyView, LeafNode, Node, Op, ViewLeaf};
use crate::shape::{Shape, broadcast};

/// The number of a value within a program.
pub(crate) type Id = u16;

/// One value of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// The element of `views[_]` at the current position.
    View(u16),
    /// The value of `leaves[_]` at the current position.
    Leaf(u16),
    /// `scalars[_]`.
    Scalar(u16),
    Op {
        op: Op,
        param: u32,
        args: [Id; 3],
    },
}

/// A value with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) value: Value,
    pub(crate) dtype: DType,
}

/// A flattened expression. The last step is its value.
#[derive(Debug, Default)]
pub(crate) struct Program<'e, 'a> {
    pub(crate) steps: SmallVec<[Step; 16]>,
    pub(crate) views: SmallVec<[&'e ViewLeaf<'a>; 6]>,
    pub(crate) leaves: SmallVec<[&'e LeafNode<'a>; 2]>,
    pub(crate) scalars: SmallVec<[(DType, u64); 6]>,
}

/// Up to this many entries, a linear search beats hashing.
const LINEAR: usize = 24;

/// Finds equal steps.
///
/// The map is made when it is first needed: most expressions never do.
#[derive(Default)]
struct Numbering {
    map: Option<HashMap<Step, Id>>,
}

/// What remains to do in the walk.
enum Todo<'e, 'a> {
    Visit(&'e Node<'a>),
    /// All operands' numbers are on the stack.
    Finish(&'e Node<'a>),
}

impl<'e, 'a> Program<'e, 'a> {
    /// Flattens the expression `root`.
    pub(crate) fn new(root: &'e Node<'a>) -> Result<Self> {
        let mut program = Self {
            steps: SmallVec::new(),
            views: SmallVec::new(),
            leaves: SmallVec::new(),
            scalars: SmallVec::new(),
        };
        let mut numbering = Numbering::default();
        // Numbers of shared nodes by address. A node with one owner is reached once and needs no entry.
        let mut known: SmallVec<[(*const (), Id); 8]> = SmallVec::new();
        let mut known_map: Option<HashMap<*const (), Id>> = None;
        let mut ids: SmallVec<[Id; 16]> = SmallVec::new();
        let mut todo: SmallVec<[Todo<'e, 'a>; 16]> = SmallVec::new();
        todo.push(Todo::Visit(root));
        while let Some(next) = todo.pop() {
            match next {
                Todo::Visit(Node::View(view)) => {
                    let id = program.view(view, &mut numbering)?;
                    ids.push(id);
                }
                Todo::Visit(Node::Leaf(leaf)) => {
                    let at = leaf_slot(&mut program.leaves, leaf);
                    ids.push(program.step(
                        Step {
                            value: Value::Leaf(at),
                            dtype: leaf.leaf.dtype(),
                        },
                        &mut numbering,
                    )?);
                }
                Todo::Visit(&Node::Scalar(dtype, bits)) => {
                    let at = program.scalars.len() as u16;
                    program.scalars.push((dtype, bits));
                    // Every scalar is a value of its own: whether two happen to be equal must not change the kernel.
                    ids.push(program.append(Step {
                        value: Value::Scalar(at),
                        dtype,
                    })?);
                }
                Todo::Visit(Node::TooDeep(_)) => return Err(Error::too_deep()),
                Todo::Visit(node @ Node::Op(op)) => {
                    if Arc::strong_count(op) > 1 {
                        let address = Arc::as_ptr(op).cast::<()>();
                        let found = match &known_map {
                            None => known
                                .iter()
                                .find(|&&(known, _)| known == address)
                                .map(|&(_, id)| id),
                            Some(map) => map.get(&address).copied(),
                        };
                        if let Some(id) = found {
                            ids.push(id);
                            continue;
                        }
                    }
                    todo.push(Todo::Finish(node));
                    todo.extend(op.args.iter().flatten().rev().map(Todo::Visit));
                }
                Todo::Finish(Node::Op(op)) => {
                    let arity = op.op.arity();
                    let mut args = [Id::MAX; 3];
                    let base = ids.len() - arity;
                    args[..arity].copy_from_slice(&ids[base..]);
                    ids.truncate(base);
                    if op.op.is_commutative() && args[0] > args[1] {
                        args.swap(0, 1);
                    }
                    let value = Value::Op {
                        op: op.op,
                        param: op.param,
                        args,
                    };
                    let id = program.step(
                        Step {
                            value,
                            dtype: op.dtype,
                        },
                        &mut numbering,
                    )?;
                    if Arc::strong_count(op) > 1 {
                        let address = Arc::as_ptr(op).cast::<()>();
                        if known.len() < LINEAR {
                            known.push((address, id));
                        } else {
                            known_map
                                .get_or_insert_with(|| known.iter().copied().collect())
                                .insert(address, id);
                        }
                    }
                    ids.push(id);
                }
                Todo::Finish(_) => unreachable!("only operations have operands to wait for"),
            }
        }
        // The root may be a value that an earlier step has already (never for a tree): the last step must be the result.
        let root = ids.pop().expect("the root was visited");
        debug_assert_eq!(
            usize::from(root),
            program.steps.len() - 1,
            "the root depends on every step, so it comes last"
        );
        Ok(program)
    }

    /// The number of a view; two views of the same elements are one.
    fn view(&mut self, view: &'e ViewLeaf<'a>, numbering: &mut Numbering) -> Result<Id> {
        let same = |other: &&ViewLeaf<'a>| {
            std::ptr::eq(*other, view)
                || (other.data.dtype() == view.data.dtype()
                    && other.address() == view.address()
                    && other.layout.shape() == view.layout.shape()
                    && other.layout.strides() == view.layout.strides())
        };
        // Only recent ones: a long list of operands must not cost its square.
        let at = match self.views.iter().rev().take(LINEAR).position(same) {
            Some(back) => self.views.len() - 1 - back,
            None => {
                self.views.push(view);
                self.views.len() - 1
            }
        };
        let step = Step {
            value: Value::View(number(at)?),
            dtype: view.data.dtype(),
        };
        self.step(step, numbering)
    }

    /// The number of a step: an earlier one if it is equal.
    fn step(&mut self, step: Step, numbering: &mut Numbering) -> Result<Id> {
        if self.steps.len() <= LINEAR {
            if let Some(at) = self.steps.iter().position(|&known| known == step) {
                return number(at);
            }
            return self.append(step);
        }
        let steps = &self.steps;
        // Numbers fit: each of these steps was given one.
        let map = numbering.map.get_or_insert_with(|| {
            let mut map = HashMap::new();
            for (at, &step) in steps.iter().enumerate() {
                map.entry(step).or_insert(at as Id);
            }
            map
        });
        match map.entry(step) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(slot) => {
                let id = number(self.steps.len())?;
                slot.insert(id);
                self.steps.push(step);
                Ok(id)
            }
        }
    }

    fn append(&mut self, step: Step) -> Result<Id> {
        let id = number(self.steps.len())?;
        self.steps.push(step);
        Ok(id)
    }

    /// The shape that all operands broadcast to.
    pub(crate) fn shape(&self) -> Result<Shape> {
        let mut shapes = self
            .views
            .iter()
            .map(|view| &**view.layout.shape())
            .chain(self.leaves.iter().map(|node| node.leaf.shape()));
        let mut shape = Shape::new(shapes.next().unwrap_or_default());
        for other in shapes {
            if *shape != *other {
                shape = broadcast(&shape, other)?;
            }
        }
        Ok(shape)
    }

    /// The home stream of the first operand that has one.
    pub(crate) fn home_stream(&self) -> Option<&'a Stream> {
        self.first_memory().map(AnyView::stream)
    }

    /// The memory of the first operand that has some.
    pub(crate) fn first_memory(&self) -> Option<&AnyView<'a>> {
        self.views
            .first()
            .map(|view| &view.data)
            .or_else(|| self.leaves.iter().find_map(|node| node.reads.first()))
    }

    /// The type of the result.
    pub(crate) fn dtype(&self) -> DType {
        self.steps
            .last()
            .expect("a program has a step for its root")
            .dtype
    }
}

/// A position as a number, or the error of an expression that has too many.
fn number(at: usize) -> Result<Id> {
    // `Id::MAX` marks an operand that is not there.
    Id::try_from(at).ok().filter(|&id| id != Id::MAX).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "an expression of more than 65534 distinct values; evaluate parts of it first (`.eval()?`)")
    })
}

/// The slot of a leaf; one counted leaf used twice is one.
fn leaf_slot<'e, 'a>(leaves: &mut SmallVec<[&'e LeafNode<'a>; 2]>, leaf: &'e LeafNode<'a>) -> u16 {
    let at = leaves
        .iter()
        .position(|&other| std::ptr::eq(other, leaf))
        .unwrap_or_else(|| {
            leaves.push(leaf);
            leaves.len() - 1
        });
    // Not more leaves than steps, whose number is checked; one over the limit is caught there.
    at as u16
}
