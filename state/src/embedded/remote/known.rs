//! A cache of the files of runs, valid while this process has the lock of the state.
//!
//! No other process writes these files during that time: the previous holder of the lock is fenced, and the next one
//! fences this process. So this process lists the files once. A file that it has read or written is read again only if
//! the cache had no room for the content of the file.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// The maximum number of bytes in memory. Further contents are read again when they are needed.
const MOST: usize = 64 * 1024 * 1024;

/// The names of all objects, and the contents of some.
#[derive(Debug, Default)]
pub(super) struct Known {
    names: BTreeSet<String>,
    contents: BTreeMap<String, Bytes>,
    bytes: usize,
}

/// What the cache knows about an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The object does not exist.
    Absent,
    /// The object has this content.
    Held(Bytes),
    /// The object exists, but its content is not in memory.
    Unread,
}

impl Known {
    /// A cache in which exactly these objects exist.
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Known {
        Known { names: names.into_iter().collect(), ..Known::default() }
    }

    /// The names that begin with this prefix, in order.
    pub(super) fn names(&self, prefix: &str) -> Vec<String> {
        let from = self.names.range(prefix.to_owned()..);
        from.take_while(|name| name.starts_with(prefix)).cloned().collect()
    }

    /// What the cache knows about an object.
    pub(super) fn content(&self, name: &str) -> Content {
        match self.contents.get(name) {
            Some(content) => Content::Held(content.clone()),
            None if self.names.contains(name) => Content::Unread,
            None => Content::Absent,
        }
    }

    /// Records the content of an object.
    pub(super) fn set(&mut self, name: &str, content: Bytes) {
        self.forget(name);
        self.names.insert(name.to_owned());
        if self.bytes + content.len() <= MOST {
            self.bytes += content.len();
            self.contents.insert(name.to_owned(), content);
        }
    }

    /// Records that an object was removed.
    pub(super) fn remove(&mut self, name: &str) {
        self.forget(name);
        self.names.remove(name);
    }

    fn forget(&mut self, name: &str) {
        if let Some(before) = self.contents.remove(name) {
            self.bytes -= before.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_is_set_up_to_its_bound() {
        let mut known = Known::new(["runs/a/header".to_owned(), "runs/b/header".to_owned()]);
        assert_eq!(known.names("runs/a/"), ["runs/a/header"]);
        assert_eq!(known.content("runs/a/header"), Content::Unread);
        assert_eq!(known.content("runs/a/plan"), Content::Absent);
        known.set("runs/a/plan", Bytes::from_static(b"plan"));
        assert_eq!(known.content("runs/a/plan"), Content::Held(Bytes::from_static(b"plan")));
        known.set("runs/a/large", vec![0; MOST].into());
        assert_eq!(known.content("runs/a/large"), Content::Unread);
        known.remove("runs/a/plan");
        assert_eq!((known.content("runs/a/plan"), known.bytes), (Content::Absent, 0));
        known.set("runs/a/large", vec![0; MOST].into());
        assert_eq!(known.bytes, MOST);
        assert_eq!(known.names("runs/a/"), ["runs/a/header", "runs/a/large"]);
    }
}
