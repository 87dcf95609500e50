//! Compares the records of a run with its journal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::codec::{self, FAILURE, NO_PAYLOAD, RESULT};
use super::keys::RunField;
use super::problems::{self, RunDamage};
use super::reading::{Fields, journal_line};
use super::sealed::outcome_name;
use super::{LINES_AT_ONCE, RedisCore, RedisStore};
use crate::error::StoreError;
use crate::run::{Attempt, JournalLine, Lease, OpCounts, OpIndex, OpRecord, OpStatus, RunId, WorkerId};
use crate::step::RenewAnswer;
use crate::store::RunStore as _;

/// The time between two renewals of the lease during a long comparison.
const RENEWAL: Duration = Duration::from_secs(1);

/// What the journal says about a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Payload {
    /// There is no payload.
    #[default]
    Nothing,
    /// An earlier version wrote the payload, without a digest.
    Unknown,
    /// The digest of the payload.
    Digest(String),
}

impl Payload {
    fn of(digest: Option<&str>) -> Payload {
        match digest {
            None => Payload::Unknown,
            Some(NO_PAYLOAD) => Payload::Nothing,
            Some(digest) => Payload::Digest(digest.to_owned()),
        }
    }

    /// Whether a payload with this digest agrees with the journal.
    fn fits(&self, found: Option<&str>) -> bool {
        match self {
            Payload::Nothing => found.is_none(),
            Payload::Unknown => true,
            Payload::Digest(digest) => found == Some(digest.as_str()),
        }
    }
}

/// What the journal says about an operation.
#[derive(Clone, Debug, Default)]
struct Journalled {
    /// The status. `None` after a resolution, because the journal line of a resolution does not contain the status.
    status: Option<OpStatus>,
    attempt: Option<Attempt>,
    /// The worker. `None` if the journal line does not contain the worker.
    worker: Option<WorkerId>,
    /// The object, the action and the planned value of the last intent.
    intended: Payload,
    outcome: Payload,
}

/// What a journal says about the records of its run.
#[derive(Debug, Default)]
struct Journal {
    ops: BTreeMap<OpIndex, Journalled>,
    strays: Vec<Payload>,
}

impl Journal {
    fn add(&mut self, line: &JournalLine, payload: Option<&str>) {
        let Some(index) = line.op else { return };
        if line.event == "stray" {
            self.strays.push(Payload::of(payload));
            return;
        }
        let op = self.ops.entry(index).or_default();
        let begun = |op: &mut Journalled, status| {
            op.status = status;
            op.attempt = line.attempt;
            op.worker.clone_from(&line.worker);
        };
        match line.event {
            "intent" => {
                begun(op, Some(OpStatus::Intended));
                op.intended = Payload::of(payload);
                op.outcome = Payload::Nothing;
            }
            "commit" | "fail" => {
                let done = if line.event == "commit" { OpStatus::Done } else { OpStatus::Failed };
                begun(op, Some(done));
                op.outcome = Payload::of(payload);
            }
            "resolve" => {
                begun(op, None);
                op.outcome = Payload::of(payload);
            }
            "doubt" => op.status = Some(OpStatus::InDoubt),
            "skip" => op.status = Some(OpStatus::Skipped),
            "reopen" => op.status = Some(OpStatus::Pending),
            _ => {}
        }
    }
}

/// A stored operation, with digests of the values that the journal has digests of.
struct Stored {
    op: OpRecord,
    intended: Option<String>,
    outcome: Option<String>,
    /// Whether the outcome of the operation fits its status.
    sound: bool,
}

impl Journalled {
    /// Whether the stored record agrees with the journal.
    fn fits(&self, stored: &Stored) -> bool {
        let Stored { op, intended, outcome, sound } = stored;
        *sound
            && self.status.is_none_or(|status| status == op.status)
            && self.attempt.is_none_or(|attempt| attempt == op.attempt)
            && self.worker.as_ref().is_none_or(|worker| *worker == op.worker)
            && self.intended.fits(intended.as_deref())
            && self.outcome.fits(outcome.as_deref())
    }
}

/// The words that the intent of an operation wrote, or `None` before the first intent.
fn intended_words(value: &[u8]) -> Option<String> {
    /// The number of words before the words of the intent: status, attempt, worker, digest of the step.
    const BEFORE: usize = 4;
    let line = std::str::from_utf8(value.split(|byte| *byte == b'\n').next()?).ok()?;
    let words: Vec<&str> = line.split(' ').skip(BEFORE).collect();
    (words != ["-"; 3]).then(|| words.join(" "))
}

impl RedisStore {
    /// Compares the records of a run, whose lease was just acquired, with its journal. Freezes the run if they differ.
    ///
    /// # Errors
    /// [`StoreError::Frozen`]. Errors of the server.
    pub(super) async fn check_run(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut beat = Beat { store: self, lease, last: Instant::now() };
        match self.core.compared(&lease.run, Some(&mut beat)).await? {
            None => Ok(()),
            Some(damage) => Err(self.frozen(&lease.run, &damage).await?),
        }
    }

    /// Freezes a run whose records are damaged. Returns the error to report.
    ///
    /// # Errors
    /// Errors of the server.
    pub(super) async fn frozen(&self, run: &RunId, damage: &RunDamage) -> Result<StoreError, StoreError> {
        let what = problems::run_damage(damage);
        self.freeze(run, &what).await?;
        self.core.connection.forget(run);
        Ok(StoreError::Frozen { run: run.clone(), what })
    }
}

/// Renews the lease during the comparison.
struct Beat<'a> {
    store: &'a RedisStore,
    lease: &'a Lease,
    last: Instant,
}

impl Beat<'_> {
    async fn renew(&mut self) -> Result<(), StoreError> {
        if self.last.elapsed() >= RENEWAL {
            // If the lease is fenced, the new holder compares the records itself, and the next step of the old holder
            // is refused.
            let (RenewAnswer::Renewed { .. } | RenewAnswer::Fenced(_)) = self.store.renew(self.lease).await?;
            self.last = Instant::now();
        }
        Ok(())
    }
}

async fn renew(beat: &mut Option<&mut Beat<'_>>) -> Result<(), StoreError> {
    match beat {
        Some(beat) => beat.renew().await,
        None => Ok(()),
    }
}

impl RedisCore {
    /// The difference between a run and its journal, for a caller without the lease. If `with_records` is `false`, as
    /// for an active run, only the lines are checked.
    pub(super) async fn compared_at_rest(
        &self,
        run: &RunId,
        with_records: bool,
    ) -> Result<Option<RunDamage>, StoreError> {
        match with_records {
            true => self.compared(run, None).await,
            false => Ok(self.journalled(run, &mut None).await?.err()),
        }
    }

    /// The most important difference between a run and its journal.
    async fn compared(&self, run: &RunId, mut beat: Option<&mut Beat<'_>>) -> Result<Option<RunDamage>, StoreError> {
        let mut command = redis::cmd("HGET");
        command.arg(self.keys.run(run)).arg("thawed");
        if !codec::text(&self.connection.one(command).await?).is_empty() {
            return Ok(None);
        }
        let journal = match self.journalled(run, &mut beat).await? {
            Ok(journal) => journal,
            Err(damage) => return Ok(Some(damage)),
        };
        renew(&mut beat).await?;
        let found = self.of_run(run, RunField::Op).await?;
        renew(&mut beat).await?;
        let mut counts = OpCounts::default();
        let mut known = BTreeSet::new();
        for (name, value) in &found {
            let index = OpIndex(name.parse().unwrap_or(u32::MAX));
            let stored = self.stored_op(run, index, value)?;
            let fits = match (&stored, journal.ops.get(&index)) {
                (Some(stored), Some(journalled)) => journalled.fits(stored),
                _ => false,
            };
            if !fits {
                let object = stored.and_then(|stored| stored.op.target).map(|target| target.to_string());
                return Ok(Some(RunDamage::OtherRecord(index, object)));
            }
            if let Some(count) = stored.and_then(|stored| count_of(&mut counts, stored.op.status)) {
                *count = count.saturating_add(1);
            }
            known.insert(index);
        }
        if let Some(missing) = journal.ops.keys().find(|index| !known.contains(index)) {
            return Ok(Some(RunDamage::NoRecord(*missing)));
        }
        let strays = self.hash(&self.keys.strays(run)).await?;
        if !self.are_journalled(&journal.strays, &strays)? {
            return Ok(Some(RunDamage::Strays));
        }
        Ok(self.read_header(run).await?.and_then(|header| miscounted(&header.counts, &counts)))
    }

    /// What the journal says, or the first line that is wrong.
    async fn journalled(
        &self,
        run: &RunId,
        beat: &mut Option<&mut Beat<'_>>,
    ) -> Result<Result<Journal, RunDamage>, StoreError> {
        let mut journal = Journal::default();
        let (mut lines, mut before) = (0_u64, String::new());
        loop {
            let mut command = redis::cmd("LRANGE");
            command.arg(self.keys.journal(run)).arg(lines).arg(lines + LINES_AT_ONCE as u64 - 1);
            let part = self.connection.script(command).await?.rest(0);
            if part.is_empty() {
                return Ok(Ok(journal));
            }
            for text in part {
                lines += 1;
                let Some(read) = journal_line(&text, &before, lines) else {
                    return Ok(Err(RunDamage::Line(lines)));
                };
                journal.add(&read.line, read.payload.as_deref());
                before = read.link;
            }
            renew(beat).await?;
        }
    }

    /// An operation in its stored form, or `None` if it cannot be read.
    ///
    /// # Errors
    /// Returns an error if the outcome cannot be decrypted with the configured keys.
    fn stored_op(&self, run: &RunId, index: OpIndex, value: &[u8]) -> Result<Option<Stored>, StoreError> {
        let Some((op, outcome)) = codec::op(value) else { return Ok(None) };
        let intended = intended_words(value).map(|words| codec::short_digest(words.as_bytes()));
        let (mut digest, mut wanted) = (None, None);
        if let Some((mark, outcome)) = outcome {
            let outcome = self.seal.open(&outcome_name(run.as_str(), index.0), outcome)?;
            digest = Some(codec::outcome_digest(mark, &outcome));
            wanted = Some(mark);
        }
        let sound = match op.status {
            OpStatus::Done => wanted == Some(RESULT),
            OpStatus::Failed => wanted == Some(FAILURE),
            OpStatus::Pending | OpStatus::Intended | OpStatus::InDoubt | OpStatus::Skipped => true,
        };
        Ok(Some(Stored { op, intended, outcome: digest, sound }))
    }

    /// Whether the stored strays are the ones that the journal names.
    fn are_journalled(&self, journalled: &[Payload], stored: &Fields) -> Result<bool, StoreError> {
        if journalled.len() != stored.len() {
            return Ok(false);
        }
        if journalled.contains(&Payload::Unknown) {
            return Ok(true);
        }
        for (name, value) in stored {
            let found = codec::short_digest(&self.seal.open(name, value)?);
            if !journalled.iter().any(|payload| payload.fits(Some(&found))) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The count of operations with this status, or `None` for pending ones, which are not counted.
fn count_of(counts: &mut OpCounts, status: OpStatus) -> Option<&mut u32> {
    match status {
        OpStatus::Pending => None,
        OpStatus::Intended => Some(&mut counts.running),
        OpStatus::Done => Some(&mut counts.done),
        OpStatus::Failed => Some(&mut counts.failed),
        OpStatus::InDoubt => Some(&mut counts.in_doubt),
        OpStatus::Skipped => Some(&mut counts.skipped),
    }
}

/// The first count of a header that differs from the number of records.
fn miscounted(header: &OpCounts, found: &OpCounts) -> Option<RunDamage> {
    let pairs = [
        ("running", header.running, found.running),
        ("done", header.done, found.done),
        ("failed", header.failed, found.failed),
        ("skipped", header.skipped, found.skipped),
        ("in doubt", header.in_doubt, found.in_doubt),
    ];
    let wrong = pairs.into_iter().find(|(_, counted, found)| counted != found);
    wrong.map(|(what, counted, found)| RunDamage::Count { what, counted, found })
}
