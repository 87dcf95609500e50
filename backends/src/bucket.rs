//! The common code for object storage services: objects are identified by keys, and written under conditions.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use weft_state::remote::{BackendError, Expected, Object, ObjectVersion, Objects, Written};

/// The suffix that turns the key of a state into the prefix of the objects beside it.
pub const BESIDE: &str = ".weft/";
/// The maximum number of concurrent requests that delete objects.
const DELETES: usize = 16;

/// The prefix of objects that are stored apart from the states. Nearly all keys of states sort before this prefix.
const APART: &str = "~weft/";

/// The condition under which a write takes effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// If the object does not exist.
    Absent,
    /// If the object has this version.
    Is(ObjectVersion),
}

impl From<&Expected> for When {
    fn from(expected: &Expected) -> When {
        match expected {
            Expected::Absent => When::Absent,
            Expected::Version(version) => When::Is(version.clone()),
        }
    }
}

/// The kind of an object. Services treat the kinds differently, for example with tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A state, or an object beside it.
    State,
    /// A lock.
    Lock,
}

/// Objects by key.
#[async_trait]
pub trait Bucket: Send + Sync + std::fmt::Debug {
    /// The location of an object, for display.
    fn place(&self, key: &str) -> String;

    /// Reads an object. `None` if the object does not exist.
    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError>;

    /// Writes an object under a condition. If a response is lost and the retry finds that the object already has the
    /// new content, the write counts as successful.
    async fn put(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
        kind: ObjectKind,
        when: &When,
    ) -> Result<Written, BackendError>;

    /// Writes a new object. See [`Objects::put_trying`].
    async fn put_trying(&self, doing: &'static str, key: &str, content: Bytes) -> Result<(), BackendError> {
        self.put(doing, key, content, ObjectKind::State, &When::Always).await.map(|_| ())
    }

    /// Whether a check has shown that the service respects the conditions of writes.
    fn are_conditions_tried(&self) -> bool {
        false
    }

    /// Deletes an object. An absent object is no error.
    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError>;

    /// Deletes objects. Absent objects are no errors.
    async fn delete_all(&self, doing: &'static str, keys: &[String]) -> Result<(), BackendError> {
        for keys in keys.chunks(DELETES) {
            try_join_all(keys.iter().map(|key| self.delete(doing, key))).await?;
        }
        Ok(())
    }

    /// Lists the keys of all objects that begin with this prefix, in the order of the service.
    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError>;
}

/// The objects beside a state.
#[derive(Debug)]
pub struct Beside<B> {
    bucket: Arc<B>,
    /// The prefix of the keys of these objects.
    start: String,
}

/// Joins the segments of a path, without empty segments, as Go joins paths.
pub fn joined(names: &[&str]) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in names.iter().flat_map(|name| name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl<B: Bucket> Beside<B> {
    /// The objects beside the state with this key, under a prefix apart from all states. Needed for services where a
    /// listing of states would otherwise also list these objects.
    pub fn apart(bucket: &Arc<B>, key: &str) -> Beside<B> {
        Beside { bucket: Arc::clone(bucket), start: format!("{APART}{key}/") }
    }

    /// The objects beside the state with this key.
    pub fn new(bucket: &Arc<B>, key: &str) -> Beside<B> {
        Beside { bucket: Arc::clone(bucket), start: format!("{key}{BESIDE}") }
    }

    /// Removes all objects beside the state. Called when the state is deleted.
    pub async fn remove_all(&self, doing: &'static str) -> Result<(), BackendError> {
        let keys = self.bucket.list(doing, &self.start).await?;
        self.bucket.delete_all(doing, &keys).await
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.start)
    }
}

#[async_trait]
impl<B: Bucket> Objects for Beside<B> {
    async fn read(&self, name: &str) -> Result<Option<Object>, BackendError> {
        self.bucket.get("reading a journal", &self.key(name)).await
    }

    async fn create(&self, name: &str, content: Bytes) -> Result<Written, BackendError> {
        self.bucket.put("writing a journal", &self.key(name), content, ObjectKind::State, &When::Absent).await
    }

    async fn put(&self, name: &str, content: Bytes) -> Result<ObjectVersion, BackendError> {
        const DOING: &str = "writing a journal";
        let key = self.key(name);
        match self.bucket.put(DOING, &key, content, ObjectKind::State, &When::Always).await? {
            Written::Done(version) => Ok(version),
            Written::Conflict => Err(unexpected_conflict(self.bucket.place(&key), DOING)),
        }
    }

    async fn put_trying(&self, name: &str, content: Bytes) -> Result<(), BackendError> {
        self.bucket.put_trying("writing a journal", &self.key(name), content).await
    }

    fn are_conditions_tried(&self) -> bool {
        self.bucket.are_conditions_tried()
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, BackendError> {
        let keys = self.bucket.list("listing the journals", &self.key(prefix)).await?;
        let mut names: Vec<String> =
            keys.iter().filter_map(|key| key.strip_prefix(&self.start).map(str::to_owned)).collect();
        names.sort();
        Ok(names)
    }

    async fn remove(&self, names: &[String]) -> Result<(), BackendError> {
        let keys: Vec<String> = names.iter().map(|name| self.key(name)).collect();
        self.bucket.delete_all("removing a journal", &keys).await
    }
}

/// The error if the service reports a failed condition for a write without a condition.
fn unexpected_conflict(place: String, doing: &'static str) -> BackendError {
    let error = "the service refused the write because of a condition, but the request had no condition".to_owned();
    BackendError::Refused { place, doing, error, advice: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_as_in_go() {
        for (names, want) in [
            (&["env:", "a", "k.tfstate"][..], "env:/a/k.tfstate"),
            (&["", "a/b"], "a/b"),
            (&["p//q/", "./k"], "p/q/k"),
            (&["p", "../k"], "k"),
            (&["", "../k"], "../k"),
        ] {
            assert_eq!(joined(names), want, "{names:?}");
        }
    }
}
