//! The nodes of an expression: counted, so that sharing a sub-expression costs a reference count and stays visible to the code generator.

use std::sync::Arc;

use crate::element::DType;
use crate::error::Result;
use crate::expr::{AnyLeaf, AnyView, Op};
use crate::shape::{Layout, Shape, broadcast};

/// A handle of a node. Scalars are kept in the handle: they cost no allocation and have no identity.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    View(Arc<ViewLeaf<'a>>),
    Leaf(Arc<dyn AnyLeaf + 'a>),
    Scalar(DType, u64),
    Op(Arc<OpNode<'a>>),
}

/// A view of an array, read by an expression.
#[derive(Debug)]
pub(crate) struct ViewLeaf<'a> {
    /// The elements that the layout addresses: its offset counts from the start of this.
    pub(crate) data: AnyView<'a>,
    pub(crate) layout: Layout,
}

/// An operation on other nodes.
#[derive(Debug)]
pub(crate) struct OpNode<'a> {
    pub(crate) op: Op,
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
        Node::Op(Arc::new(OpNode { op, dtype, param, args }))
    }

    pub(crate) fn dtype(&self) -> DType {
        match self {
            Node::View(view) => view.data.dtype(),
            Node::Leaf(leaf) => leaf.dtype(),
            Node::Scalar(dtype, _) => *dtype,
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
                Node::Leaf(leaf) => shape = broadcast(&shape, leaf.shape())?,
                Node::Scalar(..) => {}
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

impl Drop for OpNode<'_> {
    /// Without recursion: an expression built in a long loop is a chain as deep as the loop is long.
    fn drop(&mut self) {
        let is_last_op = |node: &Node<'_>| matches!(node, Node::Op(op) if Arc::strong_count(op) == 1);
        if !self.args.iter().flatten().any(is_last_op) {
            return;
        }
        let mut todo: Vec<Node<'_>> = self.args.iter_mut().filter_map(Option::take).collect();
        while let Some(node) = todo.pop() {
            if let Node::Op(op) = node
                && let Some(mut op) = Arc::into_inner(op)
            {
                todo.extend(op.args.iter_mut().filter_map(Option::take));
            }
        }
    }
}
