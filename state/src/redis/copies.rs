//! What Redis knows of the second copy of its state.

use super::{Core, RedisStore, codec};
use crate::run::Incarnation;
use crate::second_copy::{CopyMarks, Front};
use crate::store::StoreError;

/// The field of the meta record with the marks of copies, as JSON.
const MARKS: &str = "copies";

impl RedisStore {
    /// The identity of the store.
    pub(crate) fn incarnation(&self) -> Incarnation {
        self.core.incarnation
    }

    /// The identity of the state, and the marks of its copies.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] and others of the server.
    pub(crate) async fn front(&self) -> Result<(Front, CopyMarks), StoreError> {
        let Core { connection, keys, .. } = self.core.as_ref();
        let (mut meta, mut records) = (redis::cmd("HMGET"), redis::cmd("EXISTS"));
        meta.arg(keys.meta()).arg("lineage").arg("serial").arg("checks").arg(MARKS);
        records.arg(keys.records()).arg(keys.outputs());
        let mut answers = connection.all(vec![meta, records]).await?.into_iter();
        let meta = connection.words(answers.next().unwrap_or(redis::Value::Nil))?;
        let records = answers.next().as_ref().map(codec::text).unwrap_or_default();
        let serial = meta.text(1).parse().unwrap_or_default();
        let fresh = serial == 0 && records == "0" && meta.text(2).is_empty();
        let marks = serde_json::from_str(&meta.text(3)).unwrap_or_default();
        Ok((Front { lineage: meta.text(0), serial, fresh }, marks))
    }

    /// Records the marks of copies.
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn set_copy_marks(&self, marks: &CopyMarks) -> Result<(), StoreError> {
        let mut command = redis::cmd("HSET");
        let text = serde_json::to_string(marks).unwrap_or_default();
        command.arg(self.core.keys.meta()).arg(MARKS).arg(text);
        self.core.connection.one(command).await?;
        Ok(())
    }
}
