//! The order of values by content, for sets and maps of values.

use std::cmp::Ordering;

use weft_graph_format::value::{Value, compare_for_set};

/// Orders a wholly known value by content, for ordered sets and maps of values of one type.
pub(super) struct ByContent<'a>(pub(super) &'a Value);

impl PartialEq for ByContent<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByContent<'_> {}

impl PartialOrd for ByContent<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByContent<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_for_set(self.0, other.0)
    }
}
