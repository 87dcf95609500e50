//! Typed positions, and tables that can be indexed only by positions of one type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A position in a table.
pub(crate) trait TableIndex: Copy {
    /// The position with this number.
    fn new(number: usize) -> Self;

    /// The number of the position, from 0.
    fn number(self) -> usize;
}

macro_rules! place {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl TableIndex for $name {
            fn new(number: usize) -> $name {
                // The plan format counts operations, shards and exports in 32 bits.
                $name(u32::try_from(number).unwrap_or(u32::MAX))
            }

            fn number(self) -> usize {
                self.0 as usize
            }
        }

        impl $name {
            /// The position after this one.
            #[allow(dead_code, reason = "not every kind is walked in turn")]
            pub(crate) fn next(self) -> $name {
                $name(self.0 + 1)
            }
        }
    };
}

place! {
    /// The position of an operation in [`crate::Outline::operations`].
    Position
}
place! {
    /// The position of a shard in [`crate::Outline::shards`]. Workers use the same number.
    ShardIndex
}
place! {
    /// The position of an export in [`crate::OutlineOperation::exports`].
    ExportIndex
}
place! {
    /// The position of a budget in [`crate::Outline::budgets`].
    BudgetIndex
}
place! {
    /// The position of a worker among all workers that a term knows.
    WorkerIndex
}

/// A list that is indexed by one kind of position.
#[derive(Clone)]
pub(crate) struct Table<P, T> {
    rows: Vec<T>,
    kind: PhantomData<P>,
    /// The number of rows that were visited.
    #[cfg(test)]
    steps: std::cell::Cell<usize>,
}

impl<P: TableIndex, T> Table<P, T> {
    /// A table of these rows.
    pub(crate) fn new(rows: Vec<T>) -> Table<P, T> {
        Table {
            rows,
            kind: PhantomData,
            #[cfg(test)]
            steps: std::cell::Cell::new(0),
        }
    }

    /// Counts visited rows, for tests of costs.
    #[cfg(test)]
    fn count(&self, rows: usize) {
        self.steps.set(self.steps.get() + rows);
    }

    /// The number of rows that were visited so far.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.steps.get()
    }

    /// Every position, in order. The iterator does not borrow the table, so rows can be changed during the iteration.
    pub(crate) fn positions(&self) -> impl DoubleEndedIterator<Item = P> + use<P, T> {
        (0..self.rows.len()).map(P::new)
    }

    /// Every row, in order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        #[cfg(test)]
        self.count(self.rows.len());
        self.rows.iter()
    }

    /// The row at a position, if there is one.
    pub(crate) fn get_mut(&mut self, position: P) -> Option<&mut T> {
        #[cfg(test)]
        self.count(1);
        self.rows.get_mut(position.number())
    }

    /// Adds a row at the end.
    pub(crate) fn push(&mut self, row: T) -> P {
        let position = P::new(self.rows.len());
        self.rows.push(row);
        position
    }
}

impl<P: TableIndex, T> Default for Table<P, T> {
    fn default() -> Table<P, T> {
        Table::new(Vec::new())
    }
}

impl<P, T: fmt::Debug> fmt::Debug for Table<P, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(out)
    }
}

impl<P: TableIndex, T> Index<P> for Table<P, T> {
    type Output = T;

    fn index(&self, position: P) -> &T {
        #[cfg(test)]
        self.count(1);
        &self.rows[position.number()]
    }
}

impl<P: TableIndex, T> IndexMut<P> for Table<P, T> {
    fn index_mut(&mut self, position: P) -> &mut T {
        #[cfg(test)]
        self.count(1);
        &mut self.rows[position.number()]
    }
}
