//! The nodes of an expression: counted, so that sharing a sub-expression costs a reference count and stays visible to the code generator.
//!
//! No node has a destructor of its own, and none holds a trait object that borrows: so the compiler knows that dropping an expression does not
//! look at the arrays it borrows, and a borrow ends with the last *use* of the expression, not at the end of its scope. The price is that
//! dropping recurses, which the limit of depth keeps small.

use std::sync::Arc;

use crate::element::DType;
use crate::error::{Error, Result};
use crate::expr::{AnyLeaf, AnyView, Op};
use crate::shape::{Layout, Shape, broadcast};

/// A handle of a node. Scalars are kept in the handle: they cost no allocation and have no identity.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    View(Arc<ViewLeaf<'a>>),
    Leaf(Arc<LeafNode<'a>>),
    Scalar(DType, u64),
    Op(Arc<OpNode<'a>>),
    /// What an operation would have been that is more than [`MAX_DEPTH`] deep: evaluating it is an error.
    TooDeep(DType),
}

/// The longest path from an expression to a leaf. Dropping an expression recurses along it, in a thread whose stack may be small.
pub(crate) const MAX_DEPTH: u16 = 1000;

/// A view of an array, read by an expression.
#[derive(Debug)]
pub(crate) struct ViewLeaf<'a> {
    /// The elements that the layout addresses: its offset counts from the start of this.
    pub(crate) data: AnyView<'a>,
    pub(crate) layout: Layout,
}

/// A leaf of another kind, with the memory that it reads.
#[derive(Debug)]
pub(crate) struct LeafNode<'a> {
    pub(crate) leaf: Box<dyn AnyLeaf>,
    pub(crate) reads: Vec<AnyView<'a>>,
}

/// An operation on other nodes.
#[derive(Debug)]
pub(crate) struct OpNode<'a> {
    pub(crate) op: Op,
    depth: u16,
    pub(crate) dtype: DType,
    pub(crate) param: u32,
    pub(crate) args: [Option<Node<'a>>; 3],
}

impl ViewLeaf<'_> {
    /// The device address of the first element in memory.
    pub(crate) fn address(&self) -> u64 {
        self.data.address()
    }
}

impl<'a> Node<'a> {
    pub(crate) fn op(op: Op, dtype: DType, param: u32, args: [Option<Node<'a>>; 3]) -> Self {
        debug_assert_eq!(args.iter().flatten().count(), op.arity());
        let depth = 1 + args.iter().flatten().map(Node::depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Node::TooDeep(dtype);
        }
        Node::Op(Arc::new(OpNode {
            op,
            depth,
            dtype,
            param,
            args,
        }))
    }

    fn depth(&self) -> u16 {
        match self {
            Node::View(_) | Node::Leaf(_) | Node::Scalar(..) => 0,
            Node::Op(node) => node.depth,
            Node::TooDeep(_) => MAX_DEPTH,
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        match self {
            Node::View(view) => view.data.dtype(),
            Node::Leaf(node) => node.leaf.dtype(),
            Node::Scalar(dtype, _) | Node::TooDeep(dtype) => *dtype,
            Node::Op(node) => node.dtype,
        }
    }

    /// The shape that all leaves broadcast to. Visits each node once.
    pub(crate) fn shape(&self) -> Result<Shape> {
        let mut shape = Shape::default();
        let mut seen = std::collections::HashSet::new();
        let mut todo = vec![self];
        while let Some(node) = todo.pop() {
            match node {
                Node::View(view) => shape = broadcast(&shape, view.layout.shape())?,
                Node::Leaf(leaf) => shape = broadcast(&shape, leaf.leaf.shape())?,
                Node::Scalar(..) => {}
                Node::TooDeep(_) => return Err(Error::too_deep()),
                Node::Op(op) => {
                    if seen.insert(Arc::as_ptr(op).cast::<()>()) {
                        todo.extend(op.args.iter().flatten());
                    }
                }
            }
        }
        Ok(shape)
    }
}
