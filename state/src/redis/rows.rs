//! Rows of steps. A row has intents and results that one call of a script records, so that the server reads and writes
//! the data of all these steps with few commands.

use std::collections::HashSet;

use redis::{Cmd, Value};

use super::codec::{Words, checked_line, short_digest, status_letter, subject_text, target_word, word};
use super::scripts::Script;
use super::steps::{Calls, add_writes, line};
use crate::content::digest_of;
use crate::error::StoreError;
use crate::event::step_words;
use crate::result::{CommitRecord, Failure, Writes};
use crate::run::OpStatus;
use crate::step::{Intent, StoreStep};
use crate::subject::Subject;

/// The maximum number of steps in a row. The limit exists because the server executes nothing else during a call.
const STEPS_AT_ONCE: usize = 256;
/// The maximum number of bytes of values in a row, so that a call stays short. A larger step is sent alone.
const BYTES_AT_ONCE: usize = 2 * 1024 * 1024;
/// The word for the kind of an intent.
const INTENT: &str = "I";
/// The word for subjects that are instances.
const INSTANCE: &str = "instance";

/// Consecutive steps that one script call records: a row, or a single step of another kind.
pub(super) struct Row {
    /// The number of steps.
    steps: usize,
}

impl Row {
    /// The answers to the steps of the row. If the lease is refused, all steps get this answer.
    pub(super) fn answers(&self, words: Words) -> Vec<Words> {
        if !matches!(words.0.first(), Some(Value::Array(_))) {
            return vec![words; self.steps];
        }
        let list = |value| match value {
            Value::Array(words) => Words(words),
            other => Words(vec![other]),
        };
        words.0.into_iter().map(list).collect()
    }
}

/// The number of steps at the beginning that can be one row, or 0 if the first step must be sent alone.
fn row_length(steps: &[StoreStep]) -> usize {
    let (mut operations, mut subjects, mut bytes) = (HashSet::new(), HashSet::new(), 0_usize);
    for (position, step) in steps.iter().enumerate() {
        let (op, intended, writes, result) = match step {
            StoreStep::Intent(intent) => (intent.op, Some(intent.target.address.as_str()), None, 0),
            StoreStep::Commit(commit) => (commit.op, None, Some(&commit.writes), commit.result.0.len()),
            StoreStep::Fail(failure) => (failure.op, None, Some(&failure.writes), 0),
            _ => return position,
        };
        bytes = bytes.saturating_add(result).saturating_add(writes.map_or(0, weight));
        let is_new = operations.insert(op)
            && intended.is_none_or(|address| subjects.insert((INSTANCE, address)))
            && writes.is_none_or(|writes| written(writes).all(|subject| subjects.insert(subject)));
        if !is_new || position == STEPS_AT_ONCE || (position > 0 && bytes > BYTES_AT_ONCE) {
            return position;
        }
    }
    steps.len()
}

/// The kinds and names of the written subjects.
fn written(writes: &Writes) -> impl Iterator<Item = (&'static str, &str)> {
    let instances = writes.instances.iter().map(|write| (INSTANCE, write.address.as_str()));
    let outputs = writes.outputs.iter().map(|write| ("output", write.name.as_str()));
    instances.chain(outputs).chain(writes.checks.iter().map(|_| ("checks", "")))
}

/// The size of the written attributes, in bytes.
fn weight(writes: &Writes) -> usize {
    let records = writes.instances.iter().filter_map(|write| write.record.as_ref());
    records
        .flat_map(|record| record.current.iter().chain(record.deposed.values()))
        .map(|object| object.attributes.as_str().len())
        .sum()
}

impl Calls<'_> {
    /// Converts these steps to calls of scripts, in order. Each call comes with its row. Steps that can be one row
    /// become one call.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], [`StoreError::Unsealed`].
    pub(super) fn parts(&self, steps: &[StoreStep]) -> Result<Vec<(Cmd, Row)>, StoreError> {
        let mut parts = Vec::new();
        let mut rest = steps;
        while let Some(first) = rest.first() {
            let length = row_length(rest);
            let (row, behind) = rest.split_at(length.max(1));
            let command = if length > 0 { self.row(row)? } else { self.step(first)? };
            parts.push((command, Row { steps: row.len() }));
            rest = behind;
        }
        Ok(parts)
    }

    /// The script call of a row.
    pub(super) fn row(&self, steps: &[StoreStep]) -> Result<Cmd, StoreError> {
        let mut command = self.writing(Script::Steps);
        for step in steps {
            let (event, attempt, worker) = step_words(step);
            let line = line(event, step.op(), attempt, worker.as_ref());
            match step {
                StoreStep::Intent(intent) => add_intent(&mut command, intent, &line, &digest_of(step).hex()),
                StoreStep::Commit(commit) => self.add_commit(&mut command, commit, &line)?,
                StoreStep::Fail(failure) => self.add_failure(&mut command, failure, &line)?,
                _ => debug_assert!(false, "a step of another kind comes alone"),
            }
        }
        Ok(command)
    }

    fn add_commit(&self, command: &mut Cmd, commit: &CommitRecord, line: &str) -> Result<(), StoreError> {
        let (digest, (check, payload)) = (digest_of(commit).hex(), self.result(commit)?);
        command
            .arg(status_letter(OpStatus::Done))
            .arg(commit.op.0)
            .arg(commit.attempt.0)
            .arg(word(&commit.worker.0))
            .arg(checked_line(line, &check, &digest))
            .arg(digest)
            .arg(u8::from(commit.intended))
            .arg(payload);
        add_writes(command, &commit.writes, self.seal)
    }

    fn add_failure(&self, command: &mut Cmd, failure: &Failure, line: &str) -> Result<(), StoreError> {
        let (digest, (check, payload)) = (digest_of(failure).hex(), self.failed(failure)?);
        command
            .arg(status_letter(OpStatus::Failed))
            .arg(failure.op.0)
            .arg(failure.attempt.0)
            .arg(word(&failure.worker.0))
            .arg(checked_line(line, &check, &digest))
            .arg(digest)
            .arg(u8::from(failure.intended))
            .arg(payload);
        add_writes(command, &failure.writes, self.seal)
    }
}

fn add_intent(command: &mut Cmd, intent: &Intent, line: &str, digest: &str) {
    let subject = Subject::Instance(intent.target.address.clone());
    let (target, planned, action) = (target_word(&intent.target), intent.planned.hex(), word(intent.action.word()));
    // The digest of the intent, over the words in the form in which the operation stores them.
    let intended = short_digest(format!("{planned} {target} {action}").as_bytes());
    command
        .arg(INTENT)
        .arg(intent.op.0)
        .arg(intent.attempt.0)
        .arg(word(&intent.worker.0))
        .arg(checked_line(line, &intended, digest))
        .arg(digest)
        .arg(target)
        .arg(planned)
        .arg(action)
        .arg(subject_text(&subject))
        .arg(intent.base.map(|revision| revision.0.to_string()).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::operation_kind::OperationKind;

    use crate::record::{Opaque, OutputWrite};
    use crate::result::InstanceWrite;
    use crate::run::{Attempt, Digest, OpIndex, WorkerId};
    use crate::subject::DoubtKey;

    fn intent(op: u32, address: &str) -> StoreStep {
        let target = DoubtKey { address: address.to_owned(), deposed: None };
        let (worker, action) = (WorkerId("w".to_owned()), OperationKind::Update.into());
        let (op, attempt) = (OpIndex(op), Attempt(1));
        StoreStep::Intent(Intent { op, attempt, worker, target, action, base: None, planned: Digest::default() })
    }

    fn commit(op: u32, address: &str, output: &str, size: usize) -> StoreStep {
        let instances = vec![InstanceWrite { address: address.to_owned(), record: None }];
        let outputs = vec![OutputWrite { name: output.to_owned(), record: None }];
        let writes = Writes { instances, outputs, checks: None };
        let (op, attempt, worker) = (OpIndex(op), Attempt(1), WorkerId("w".to_owned()));
        StoreStep::Commit(CommitRecord { op, attempt, worker, intended: true, writes, result: Opaque(vec![0; size]) })
    }

    #[test]
    fn a_row_ends_before_a_step_that_depends_on_it() {
        let skip = StoreStep::Skip { op: OpIndex(7), because: OpIndex(0) };
        let many = |number: u32| (0..number).map(|op| intent(op, &format!("r.r[{op}]"))).collect::<Vec<_>>();
        for (what, steps, length) in [
            ("nothing", vec![], 0),
            ("different subjects", vec![intent(0, "a.a"), commit(1, "b.b", "o", 9), intent(2, "o")], 3),
            ("one operation", vec![intent(0, "a.a"), commit(0, "b.b", "o", 9)], 1),
            ("one instance", vec![intent(0, "a.a"), commit(1, "a.a", "o", 9)], 1),
            ("one output", vec![commit(0, "a.a", "o", 9), intent(1, "c.c"), commit(2, "b.b", "o", 9)], 2),
            ("another kind", vec![intent(0, "a.a"), skip.clone(), intent(1, "b.b")], 1),
            ("another kind first", vec![skip, intent(1, "b.b")], 0),
            ("a large result", vec![commit(0, "a.a", "o", BYTES_AT_ONCE + 1), intent(1, "b.b")], 1),
            ("a large result later", vec![intent(1, "b.b"), commit(0, "a.a", "o", BYTES_AT_ONCE + 1)], 1),
            ("many", many(STEPS_AT_ONCE as u32 + 9), STEPS_AT_ONCE),
        ] {
            assert_eq!(row_length(&steps), length, "{what}");
        }
    }
}
