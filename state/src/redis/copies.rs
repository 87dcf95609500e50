//! The data in Redis about the second copy of the state, and about lost records.

use super::codec::{self, Words};
use super::keys::RunField;
use super::marks::{CopyMarks, Front, Tip};
use super::problems::Damage;
use super::scripts::Script;
use super::{CLAIMS_AT_ONCE, RedisCore, RedisStore};
use crate::error::StoreError;
use crate::run::{Incarnation, RunId};

/// The field of the meta record with the marks of copies, as JSON.
const MARKS: &str = "copies";
/// The field of the meta record that marks a state with a second copy.
const COPIED: &str = "copied";
/// The field of the meta record that is set after lost records were replayed.
const REPLAYED: &str = "replayed";

impl RedisStore {
    /// The identity of the store.
    pub(crate) fn incarnation(&self) -> Incarnation {
        self.core.incarnation
    }

    /// Whether the store is still the one that was opened.
    ///
    /// # Errors
    /// Errors of the server.
    pub(crate) async fn is_current(&self) -> Result<bool, StoreError> {
        let mut command = redis::cmd("HGET");
        command.arg(self.core.keys.meta()).arg("incarnation");
        let now = codec::text(&self.core.connection.one(command).await?);
        Ok(now == self.core.incarnation.to_string())
    }

    /// The identity of the state, and the marks of its copies.
    ///
    /// # Errors
    /// [`StoreError::Damaged`]. Errors of the server.
    pub(crate) async fn front(&self) -> Result<(Front, CopyMarks), StoreError> {
        let core = self.core.as_ref();
        let meta = core.meta(&["lineage", "serial", "checks", MARKS, COPIED, REPLAYED]).await?;
        let serial = core.number(&meta, 1, "serial")?;
        let fresh = serial == 0 && core.is_without_records().await? && meta.text(2).is_empty();
        let marks = match meta.text(3).as_str() {
            "" => CopyMarks::default(),
            text => serde_json::from_str(text).map_err(|_| core.damaged(&core.keys.meta(), Damage::Marks))?,
        };
        let (copied, replayed) = (!meta.text(4).is_empty(), !meta.text(5).is_empty());
        Ok((Front { lineage: meta.text(0), serial, fresh, copied, replayed }, marks))
    }

    /// Records which copies of the state were written, or are being written.
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

    /// Sets the flag which says that lost records were replayed.
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn set_replayed(&self) -> Result<(), StoreError> {
        let mut command = redis::cmd("HSET");
        command.arg(self.core.keys.meta()).arg(REPLAYED).arg("1");
        self.core.connection.one(command).await?;
        Ok(())
    }

    /// Records that the state contains everything in the copy that `marks` describes. Also clears the flag of
    /// [`RedisStore::set_replayed`].
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn adopt_copy(&self, marks: &CopyMarks) -> Result<(), StoreError> {
        self.set_copy_marks(marks).await?;
        let mut command = redis::cmd("HDEL");
        command.arg(self.core.keys.meta()).arg(REPLAYED);
        self.core.connection.one(command).await?;
        Ok(())
    }

    /// Records that the state has a second copy.
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn set_copied(&self) -> Result<(), StoreError> {
        let mut command = redis::cmd("HSETNX");
        command.arg(self.core.keys.meta()).arg(COPIED).arg("1");
        self.core.connection.one(command).await?;
        Ok(())
    }

    /// The last acknowledged line of a run.
    pub(crate) fn known_tip(&self, run: &RunId) -> Option<Tip> {
        self.core.connection.tip(run)
    }

    /// The number of lines of a run's journal, and whether the journal has this line.
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn has_line(&self, run: &RunId, tip: &Tip) -> Result<(u64, bool), StoreError> {
        let core = self.core.as_ref();
        let (mut length, mut line) = (redis::cmd("LLEN"), redis::cmd("LINDEX"));
        length.arg(core.keys.journal(run));
        line.arg(core.keys.journal(run)).arg(tip.lines.saturating_sub(1));
        let answers = core.connection.all_durable_at_once(vec![length, line]).await?;
        let length = answers.first().map(codec::text).unwrap_or_default();
        let length = length.parse().map_err(|_| core.damaged(&core.keys.journal(run), Damage::Entry))?;
        let line = answers.get(1).map(codec::text).unwrap_or_default();
        Ok((length, tip.lines == 0 || line.split(' ').next() == Some(tip.link.as_str())))
    }

    /// Stops checking for the last acknowledged line of a run.
    pub(crate) fn forget_tip(&self, run: &RunId) {
        self.core.connection.forget(run);
    }

    /// Allows writes again after the missing lines were replayed.
    pub(crate) fn forgive(&self) {
        self.core.connection.forgive();
    }

    /// Freezes a run: its holder is fenced, and no process can acquire the lease. Returns `false` if the run does not
    /// exist.
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn freeze(&self, run: &RunId, what: &str) -> Result<bool, StoreError> {
        let core = self.core.as_ref();
        let keys = [core.keys.meta(), core.keys.run(run)];
        let mut command = core.connection.scripts.call(Script::Freeze, &keys);
        command.arg(core.incarnation.to_string()).arg(what);
        let words = core.connection.script(command).await?;
        match words.text(0).as_str() {
            "FROZEN" => Ok(true),
            "NORUN" => Ok(false),
            _ => Err(core.damaged(&core.keys.meta(), Damage::OtherStore)),
        }
    }

    /// Removes a lost run, with its claims and doubts.
    ///
    /// # Errors
    /// See [`RedisStore::front`].
    pub(crate) async fn drop_run(&self, run: &RunId, why: &str) -> Result<(), StoreError> {
        if !self.freeze(run, why).await? {
            return Ok(());
        }
        let core = self.core.as_ref();
        let own: Vec<String> = core.of_run(run, RunField::Own).await?.into_keys().collect();
        let mut keys = vec![core.keys.meta(), core.keys.runs(), core.keys.claims(), core.keys.doubts()];
        keys.extend(core.keys.all_of(run));
        let part = |subjects: &[String], last: bool| {
            let mut command = core.connection.scripts.call(Script::Drop, &keys);
            command.arg(core.incarnation.to_string()).arg(run.as_str()).arg(u8::from(last)).arg(subjects);
            command
        };
        let mut commands: Vec<_> = own.chunks(CLAIMS_AT_ONCE).map(|subjects| part(subjects, false)).collect();
        commands.push(part(&[], true));
        core.connection.all(commands).await?;
        core.connection.forget(run);
        Ok(())
    }
}

impl RedisCore {
    /// Fields of the meta record.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the number of records differs from the count in the meta record. Errors of the
    /// server.
    pub(super) async fn meta(&self, fields: &[&str]) -> Result<Words, StoreError> {
        let (mut meta, mut counts) = (redis::cmd("HMGET"), redis::cmd("HMGET"));
        meta.arg(self.keys.meta()).arg(fields);
        counts.arg(self.keys.meta()).arg("records").arg("outputs");
        let length = |key: String| {
            let mut command = redis::cmd("HLEN");
            command.arg(key);
            command
        };
        let (records, outputs) = (length(self.keys.records()), length(self.keys.outputs()));
        // One transaction, so that no write changes the numbers between these commands.
        let answers = self.connection.all_durable_at_once(vec![meta, counts, records, outputs]).await?;
        let [meta, counts, records, outputs]: [redis::Value; 4] =
            answers.try_into().map_err(|_| self.damaged(&self.keys.meta(), Damage::Entry))?;
        let counts = self.connection.words(counts)?;
        for (at, what, key, found) in
            [(0, "records", self.keys.records(), records), (1, "outputs", self.keys.outputs(), outputs)]
        {
            // Stores of earlier versions have no counts.
            if counts.text(at).is_empty() {
                continue;
            }
            let counted = self.number(&counts, at, what)?;
            let found = codec::text(&found).parse().unwrap_or_default();
            if counted != found {
                return Err(self.damaged(&key, Damage::Count { what, counted, found }));
            }
        }
        self.connection.words(meta)
    }

    /// A number of the meta record.
    pub(super) fn number(&self, words: &Words, at: usize, field: &str) -> Result<u64, StoreError> {
        words.text(at).parse().map_err(|_| self.damaged(&self.keys.meta(), Damage::Meta(field)))
    }

    async fn is_without_records(&self) -> Result<bool, StoreError> {
        let mut command = redis::cmd("EXISTS");
        command.arg(self.keys.records()).arg(self.keys.outputs());
        Ok(codec::text(&self.connection.one(command).await?) == "0")
    }
}
