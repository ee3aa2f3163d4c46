//! How the operands of the checks lie in memory, on the device and on the host.

use cuprum::gpuarray::{Element, s};
use cuprum::prelude::*;
use proptest::prelude::{Just, Strategy};

use crate::check::Failure;

/// How an operand of `rows x columns` values lies in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lie {
    Plain,
    Reversed,
    EverySecondColumn,
    EverySecondRowBackwards,
    Transposed,
    /// One row for all.
    Row,
    /// One column for all.
    Column,
}

/// The ways that have all `rows x columns` values.
pub(super) const WHOLE: [Lie; 5] = [
    Lie::Plain,
    Lie::Reversed,
    Lie::EverySecondColumn,
    Lie::EverySecondRowBackwards,
    Lie::Transposed,
];

/// All ways.
pub(super) const ANY: [Lie; 7] = [
    Lie::Plain,
    Lie::Reversed,
    Lie::EverySecondColumn,
    Lie::EverySecondRowBackwards,
    Lie::Transposed,
    Lie::Row,
    Lie::Column,
];

impl Lie {
    /// The shape in memory.
    fn stored(self, rows: usize, columns: usize) -> (usize, usize) {
        match self {
            Self::Plain | Self::Reversed => (rows, columns),
            Self::EverySecondColumn => (rows, 2 * columns),
            Self::EverySecondRowBackwards => (2 * rows, columns),
            Self::Transposed => (columns, rows),
            Self::Row => (1, columns),
            Self::Column => (rows, 1),
        }
    }

    /// The view of what is stored.
    pub(super) fn view<T: Element>(self, array: &GpuArray<T>) -> GpuView<'_, T> {
        match self {
            Self::Plain | Self::Column => array.view(),
            Self::Reversed => array.slice(s![..;-1, ..;-1]),
            Self::EverySecondColumn => array.slice(s![.., ..;2]),
            Self::EverySecondRowBackwards => array.slice(s![..;-2]),
            Self::Transposed => array.t(),
            // Without its axis of rows: a broadcast brings it back.
            Self::Row => array.slice(s![0]),
        }
    }

    /// The `rows x columns` values that the view stands for.
    fn values<T: Copy>(self, stored: &[T], rows: usize, columns: usize) -> Vec<T> {
        let at = |row: usize, column: usize| match self {
            Self::Plain => row * columns + column,
            Self::Reversed => (rows - 1 - row) * columns + columns - 1 - column,
            Self::EverySecondColumn => row * 2 * columns + 2 * column,
            Self::EverySecondRowBackwards => (2 * rows - 1 - 2 * row) * columns + column,
            Self::Transposed => column * rows + row,
            Self::Row => column,
            Self::Column => row,
        };
        (0..rows * columns)
            .map(|i| stored[at(i / columns, i % columns)])
            .collect()
    }

    /// An array that lies so, with the values it stands for.
    pub(super) fn make<T: Element>(
        self,
        stream: &Stream,
        (rows, columns): (usize, usize),
        of: impl FnMut(usize) -> T,
    ) -> Result<(GpuArray<T>, Vec<T>), Failure> {
        let shape = self.stored(rows, columns);
        let host: Vec<T> = (0..shape.0 * shape.1).map(of).collect();
        let array = GpuArray::from_slice(stream, &host, shape)?;
        Ok((array, self.values(&host, rows, columns)))
    }
}

/// A number of rows and of columns, 0 now and then.
pub(super) fn shapes() -> impl Strategy<Value = (usize, usize)> {
    let length = || proptest::prop_oneof![1 => Just(0usize), 12 => 1usize..12, 2 => 30usize..70];
    (length(), length())
}
