//! Layouts against picking from lists.

use super::*;
use crate::error::ErrorKind;
use crate::{NewAxis, s};
use proptest::prelude::*;

fn row_major(shape: &[usize]) -> Layout {
    Layout::row_major(Shape::new(shape)).expect("small")
}

#[test]
fn broadcasting_follows_numpy() {
    let ok = |a: &[usize], b: &[usize], want: &[usize]| {
        assert_eq!(broadcast(a, b).expect("broadcasts").axes(), want);
        assert_eq!(broadcast(b, a).expect("broadcasts").axes(), want);
    };
    ok(&[], &[], &[]);
    ok(&[3], &[], &[3]);
    ok(&[3, 1], &[4], &[3, 4]);
    ok(&[5, 1, 7], &[6, 1], &[5, 6, 7]);
    ok(&[0], &[1], &[0]);
    ok(&[2, 0], &[1, 1], &[2, 0]);
    assert_eq!(
        broadcast(&[2], &[3]).expect_err("differ").kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        broadcast(&[0], &[2]).expect_err("0 is not 1").kind(),
        ErrorKind::Shape
    );
}

#[test]
fn sizes_are_checked() {
    assert_eq!(
        Layout::row_major(Shape::from([1 << 40, 1 << 40]))
            .expect_err("2^80")
            .kind(),
        ErrorKind::TooLarge
    );
    assert_eq!(
        Layout::row_major(Shape::from([1 << 40, 1 << 40, 0]))
            .expect_err("strides of 2^80")
            .kind(),
        ErrorKind::TooLarge
    );
    assert_eq!(row_major(&[3, 0, 2]).len(), 0);
    assert_eq!(row_major(&[3, 0, 2]).strides(), [2, 2, 1]);
    assert_eq!(row_major(&[]).len(), 1);
}

#[test]
fn slices_of_known_reports() {
    // The length of a stepped slice rounds up.
    let square = row_major(&[4, 4]).sliced(&s![..;3]).expect("inside");
    assert_eq!(
        (square.shape().axes(), square.strides()),
        (&[2, 4][..], &[12, 1][..])
    );
    assert_eq!(
        row_major(&[16])
            .sliced(&s![..;5])
            .expect("inside")
            .offsets(),
        [0, 5, 10, 15]
    );
    // A transposed slice keeps its strides.
    let part = row_major(&[4, 5, 6])
        .sliced(&s![.., 1..3])
        .expect("inside")
        .permuted(&[1, 0, 2])
        .expect("a permutation");
    assert_eq!(part.shape().axes(), [2, 4, 6]);
    let at = |i: usize, j: usize, k: usize| part.offsets()[(i * 4 + j) * 6 + k];
    assert_eq!((at(1, 3, 5), at(0, 0, 0), at(1, 0, 0)), (107, 6, 12));
    // Reversed.
    assert_eq!(
        row_major(&[4])
            .sliced(&s![..;-1])
            .expect("inside")
            .offsets(),
        [3, 2, 1, 0]
    );
    assert_eq!(
        row_major(&[9])
            .sliced(&s![2..8;-2])
            .expect("inside")
            .offsets(),
        [7, 5, 3]
    );
    assert_eq!(
        row_major(&[5]).sliced(&s![2..2;-1]).expect("empty").len(),
        0
    );
    assert_eq!(row_major(&[0]).sliced(&s![..;-3]).expect("empty").len(), 0);
}

#[test]
fn slices_outside_are_errors() {
    let layout = row_major(&[3, 4]);
    let kind = |args: &[crate::SliceArg]| layout.sliced(args).expect_err("outside").kind();
    assert_eq!(kind(&s![3]), ErrorKind::OutOfBounds);
    assert_eq!(kind(&s![-4]), ErrorKind::OutOfBounds);
    assert_eq!(kind(&s![.., 2..5]), ErrorKind::OutOfBounds);
    assert_eq!(kind(&s![2..1]), ErrorKind::OutOfBounds);
    assert_eq!(kind(&s![..-4]), ErrorKind::OutOfBounds);
    assert_eq!(kind(&s![0, 0, 0]), ErrorKind::OutOfBounds);
    assert_eq!(kind(&s![..;0]), ErrorKind::OutOfBounds);
    assert_eq!(
        layout
            .sliced(&s![-1, NewAxis, 1..=2])
            .expect("inside")
            .offsets(),
        [9, 10]
    );
    assert_eq!(
        layout
            .sliced(&s![..=-2, ..=-1])
            .expect("inside")
            .shape()
            .axes(),
        [2, 4]
    );
}

#[test]
fn permutations_and_reshapes() {
    let layout = row_major(&[2, 3]);
    assert_eq!(layout.transposed().offsets(), [0, 3, 1, 4, 2, 5]);
    assert!(!layout.transposed().is_row_major());
    assert!(layout.transposed().transposed().is_row_major());
    assert_eq!(
        layout.permuted(&[0, 0]).expect_err("twice").kind(),
        ErrorKind::OutOfBounds
    );
    assert_eq!(
        layout.permuted(&[0]).expect_err("one missing").kind(),
        ErrorKind::OutOfBounds
    );
    assert_eq!(
        layout.permuted(&[0, 2]).expect_err("no axis 2").kind(),
        ErrorKind::OutOfBounds
    );
    assert_eq!(
        layout
            .reshaped(Shape::from((3, 2)))
            .expect("6 elements")
            .strides(),
        [2, 1]
    );
    assert_eq!(
        layout
            .reshaped(Shape::from(5))
            .expect_err("6 elements")
            .kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        layout
            .transposed()
            .reshaped(Shape::from(6))
            .expect_err("strided")
            .kind(),
        ErrorKind::NotContiguous
    );
    assert_eq!(row_major(&[1, 3, 1]).squeezed().shape().axes(), [3]);
    // A zero-length axis is not one to squeeze.
    assert_eq!(row_major(&[0, 1]).squeezed().shape().axes(), [0]);
}

#[test]
fn broadcasts_repeat() {
    let row = row_major(&[3]).broadcast_to(&[2, 3]).expect("broadcasts");
    assert_eq!(row.offsets(), [0, 1, 2, 0, 1, 2]);
    assert!(row.is_broadcast());
    assert_eq!((row.range(), row.distinct()), (0..3, 3));
    assert_eq!(
        row_major(&[3])
            .broadcast_to(&[3, 2])
            .expect_err("3 is not 2")
            .kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        row_major(&[2, 3])
            .broadcast_to(&[3])
            .expect_err("fewer axes")
            .kind(),
        ErrorKind::Shape
    );
}

/// A layout with the offsets that it must address, computed by picking from a list.
#[derive(Clone, Debug)]
struct Model {
    layout: Layout,
    shape: Vec<usize>,
    offsets: Vec<usize>,
}

impl Model {
    fn new(shape: Vec<usize>) -> Self {
        Self {
            layout: row_major(&shape),
            offsets: (0..shape.iter().product()).collect(),
            shape,
        }
    }

    /// The model's element at an index.
    fn at(&self, index: &[usize]) -> usize {
        self.offsets[index
            .iter()
            .zip(&self.shape)
            .fold(0, |at, (&i, &length)| at * length + i)]
    }

    fn rebuilt(layout: Layout, shape: Vec<usize>, pick: impl Fn(&[usize]) -> usize) -> Self {
        let mut offsets = Vec::new();
        for at in 0..shape.iter().product::<usize>() {
            let mut rest = at;
            let mut index: Vec<usize> = shape
                .iter()
                .rev()
                .map(|&length| {
                    let i = rest % length;
                    rest /= length;
                    i
                })
                .collect();
            index.reverse();
            offsets.push(pick(&index));
        }
        Self {
            layout,
            shape,
            offsets,
        }
    }

    /// One of the operations, chosen and parametrised by numbers that are cut to what is valid.
    fn step(self, choice: u8, axis: usize, a: usize, b: usize, step: isize) -> Self {
        let ndim = self.shape.len();
        if ndim == 0 || choice == 4 {
            let axis = axis % (ndim + 1);
            let mut layout = self.layout.clone();
            layout.insert_axis(axis).expect("inside");
            let mut shape = self.shape.clone();
            shape.insert(axis, 1);
            return Self::rebuilt(layout, shape, |index| {
                let mut index = index.to_vec();
                index.remove(axis);
                self.at(&index)
            });
        }
        let axis = axis % ndim;
        let length = self.shape[axis];
        match choice {
            0 | 1 => {
                let (a, b) = (a % (length + 1), b % (length + 1));
                let (start, end) = (a.min(b), a.max(b));
                let mut layout = self.layout.clone();
                layout.slice_axis(axis, start..end, step).expect("inside");
                let taken: Vec<usize> = if step > 0 {
                    (start..end).step_by(step.unsigned_abs()).collect()
                } else {
                    (start..end).rev().step_by(step.unsigned_abs()).collect()
                };
                let mut shape = self.shape.clone();
                shape[axis] = taken.len();
                Self::rebuilt(layout, shape, |index| {
                    let mut index = index.to_vec();
                    index[axis] = taken[index[axis]];
                    self.at(&index)
                })
            }
            2 if length > 0 => {
                let fixed = a % length;
                let mut layout = self.layout.clone();
                layout.index_axis(axis, fixed).expect("inside");
                let mut shape = self.shape.clone();
                shape.remove(axis);
                Self::rebuilt(layout, shape, |index| {
                    let mut index = index.to_vec();
                    index.insert(axis, fixed);
                    self.at(&index)
                })
            }
            _ => {
                let mut axes: Vec<usize> = (0..ndim).collect();
                axes.rotate_left(a % ndim);
                axes.swap(axis, b % ndim);
                let layout = self.layout.permuted(&axes).expect("a permutation");
                let shape = axes.iter().map(|&axis| self.shape[axis]).collect();
                Self::rebuilt(layout, shape, |index| {
                    let mut original = vec![0; ndim];
                    for (&axis, &i) in axes.iter().zip(index) {
                        original[axis] = i;
                    }
                    self.at(&original)
                })
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any chain of slices, indices, permutations and new axes addresses what picking from a list gives.
    #[test]
    fn chains_address_the_right_elements(
        shape in proptest::collection::vec(0usize..5, 0..4),
        steps in proptest::collection::vec((0u8..5, 0usize..8, 0usize..8, 0usize..8, prop_oneof![-3isize..0, 1isize..4]), 0..6),
    ) {
        let count = shape.iter().product::<usize>();
        let mut model = Model::new(shape);
        for (choice, axis, a, b, step) in steps {
            model = model.step(choice, axis, a, b, step);
            prop_assert_eq!(model.layout.shape().axes(), &model.shape[..]);
            prop_assert_eq!(model.layout.offsets(), model.offsets.clone());
            let range = model.layout.range();
            prop_assert!(range.end <= count, "{:?} of {}", range, count);
            prop_assert_eq!(range.is_empty(), model.offsets.is_empty());
            if let (Some(&low), Some(&high)) = (model.offsets.iter().min(), model.offsets.iter().max()) {
                prop_assert_eq!(range, low..high + 1);
            }
            let consecutive = model.offsets.windows(2).all(|pair| pair[1] == pair[0] + 1);
            prop_assert_eq!(model.layout.is_row_major(), consecutive || model.offsets.is_empty());
        }
    }
}
