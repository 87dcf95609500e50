//! The entries of maps and objects.

use std::collections::BTreeMap;
use std::iter::Map;
use std::slice;

use smol_str::SmolStr;

use super::Value;

type Entry = (SmolStr, Value);

/// Keys with their values: sorted, unique, and in a vector without spare capacity. There are many objects, and most
/// have few attributes, so the nodes of a tree would be mostly empty.
#[derive(Clone, Default)]
pub struct Entries(Box<[Entry]>);

/// Iterator over entries in key order.
pub type EntriesIter<'a> = Map<slice::Iter<'a, Entry>, fn(&'a Entry) -> (&'a SmolStr, &'a Value)>;

impl Entries {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let at = self.0.binary_search_by(|(name, _)| name.as_str().cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Whether `key` has a value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All entries in key order.
    pub fn iter(&self) -> EntriesIter<'_> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &SmolStr> + ExactSizeIterator + Clone {
        self.0.iter().map(|(name, _)| name)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies the entries to a map, so that they can be changed.
    pub fn to_map(&self) -> BTreeMap<SmolStr, Value> {
        self.0.iter().cloned().collect()
    }
}

impl FromIterator<Entry> for Entries {
    /// If a key occurs several times, the last entry is used.
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Entries {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            // The sort is stable: entries with equal keys keep their order.
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            entries.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        Entries(entries.into_boxed_slice())
    }
}

impl From<BTreeMap<SmolStr, Value>> for Entries {
    fn from(entries: BTreeMap<SmolStr, Value>) -> Entries {
        Entries(entries.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = (&'a SmolStr, &'a Value);
    type IntoIter = EntriesIter<'a>;

    fn into_iter(self) -> EntriesIter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_the_last_of_equal_keys_wins() {
        let entry = |key: &str, n: i64| (SmolStr::from(key), Value::int(n));
        for (given, expected) in [
            (vec![], vec![]),
            (vec![("a", 1), ("b", 2)], vec![("a", 1), ("b", 2)]),
            (vec![("b", 2), ("a", 1)], vec![("a", 1), ("b", 2)]),
            (vec![("a", 1), ("a", 2), ("a", 3)], vec![("a", 3)]),
            (vec![("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)], vec![("a", 5), ("b", 3), ("c", 4)]),
        ] {
            let entries: Entries = given.iter().map(|(key, n)| entry(key, *n)).collect();
            let found: Vec<_> = entries.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
            let expected: Vec<_> = expected.into_iter().map(|(key, n)| (key, Value::int(n))).collect();
            assert_eq!(found, expected, "{given:?}");
            assert!(expected.iter().all(|(key, value)| entries.get(key) == Some(value)));
            assert!(!entries.contains_key("d") && entries.len() == expected.len());
            assert_eq!(Entries::from(entries.to_map()).iter().count(), entries.len());
        }
    }
}
