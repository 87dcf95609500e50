//! Sets of names that nodes of a graph collect from their successors. Equal sets are shared.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// A shared set of names.
pub(super) type Names = Arc<BTreeSet<SmolStr>>;

/// The names that one node has collected so far. If these are exactly the names of one successor, the node shares the
/// set of this successor instead of copying it.
#[derive(Clone, Default)]
pub(super) struct Gathering {
    found: Option<Names>,
    /// The sets that were added. Many blocks of a module need the same set, which is added only once.
    taken: FxHashSet<*const BTreeSet<SmolStr>>,
    /// The number of copied names.
    #[cfg(test)]
    copied: usize,
}

impl Gathering {
    /// Adds the names of a successor: its collected names, and the successor's own name if it has one.
    pub(super) fn take(&mut self, below: &Names, own: Option<SmolStr>) {
        let is_new = self.taken.insert(Arc::as_ptr(below));
        if own.is_none() && (!is_new || below.is_empty()) {
            return;
        }
        if own.is_none() && self.found.is_none() {
            self.found = Some(below.clone());
            return;
        }
        #[cfg(test)]
        {
            let shared = self.found.as_ref().filter(|found| Arc::strong_count(found) > 1);
            self.copied += shared.map_or(0, |found| found.len()) + if is_new { below.len() } else { 0 } + 1;
        }
        // The set is copied at most once, when it first differs from the set of another node that shares it.
        let all = Arc::make_mut(self.found.get_or_insert_default());
        if is_new {
            all.extend(below.iter().cloned());
        }
        all.extend(own);
    }

    /// All collected names.
    pub(super) fn names(self) -> Names {
        self.found.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> Names {
        Arc::new(names.iter().map(SmolStr::new).collect())
    }

    #[test]
    fn the_names_of_a_single_node_are_shared() {
        let below = set(&["a.x"]);
        let mut gathering = Gathering::default();
        gathering.take(&below, None);
        gathering.take(&below, None);
        assert!(Arc::ptr_eq(&gathering.names(), &below));
        let mut gathering = Gathering::default();
        gathering.take(&below, None);
        gathering.take(&set(&["a.y"]), Some("a.z".into()));
        assert_eq!(gathering.names(), set(&["a.x", "a.y", "a.z"]));
        assert_eq!(below, set(&["a.x"]));
    }

    /// A reference to a whole module leads to all its blocks, which all need the same names.
    #[test]
    fn copies_grow_with_the_number_of_blocks() {
        let copied = |blocks: usize| {
            let common = set(&["a.x", "a.y"]);
            let mut gathering = Gathering::default();
            gathering.take(&common, None);
            for index in 0..blocks {
                gathering.take(&common, Some(SmolStr::from(format!("a.b{index}"))));
            }
            gathering.copied
        };
        let (few, many) = (copied(100), copied(1_000));
        assert!(many <= 10 * few, "{few} names copied for 100 blocks, {many} for 1,000");
    }
}
