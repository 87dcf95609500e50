//! Encodes steps as script calls, and decodes the answers of the scripts.

use redis::Cmd;

use super::codec::{
    FAILURE, NO_PAYLOAD, RESULT, Words, checked_line, digested, doubt, outcome_digest, record_bytes, short_digest,
    status, status_letter, subject, subject_text, token, unword, word,
};
use super::keys::Keys;
use super::problems::{self, Large};
use super::scripts::{Script, Scripts};
use super::sealed::{RecordSeal, doubt_name, outcome_name};
use crate::content::{bytes_of, digest_of};
use crate::error::StoreError;
use crate::event::step_words;
use crate::result::{CommitRecord, Failure, Writes};
use crate::run::{Attempt, Incarnation, Lease, OpIndex, OpStatus, WorkerId};
use crate::step::{DoubtOutcome, Fenced, Resolution, Stale, StoreAnswer, StoreStep};
use crate::subject::{Revision, Subject};

/// The maximum size of a single value, such as a result, a failure, or the record of an instance or output. Real
/// objects are far smaller. The limit bounds the memory of the server, which copies each value a few times.
const MAX_VALUE: usize = 32 * 1024 * 1024;

/// The journal line of an event: word, operation, attempt and worker.
pub(super) fn line(event: &str, op: Option<OpIndex>, attempt: Option<Attempt>, worker: Option<&WorkerId>) -> String {
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_else(|| "-".to_owned());
    let worker = word(worker.map(|worker| worker.0.as_str()).unwrap_or_default());
    format!("{event} {} {} {worker}", number(op.map(|op| op.0)), number(attempt.map(|attempt| attempt.0)))
}

/// Builds the script calls for the holder of a lease.
pub(super) struct Calls<'a> {
    pub(super) scripts: &'a Scripts,
    pub(super) keys: &'a Keys,
    pub(super) lease: &'a Lease,
    pub(super) seal: &'a RecordSeal,
}

impl Calls<'_> {
    /// Starts a script call, with incarnation and token.
    pub(super) fn begin(&self, script: Script, keys: &[String]) -> Cmd {
        let mut command = self.scripts.call(script, keys);
        command.arg(self.lease.incarnation.to_string()).arg(self.lease.token.to_string());
        command
    }

    /// The call for a single step.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], [`StoreError::Unsealed`].
    pub(super) fn step(&self, step: &StoreStep) -> Result<Cmd, StoreError> {
        let (event, attempt, worker) = step_words(step);
        let line = line(event, step.op(), attempt, worker.as_ref());
        let digest = digest_of(step).hex();
        let run = &self.lease.run;
        let base = [self.keys.meta(), self.keys.run(run), self.keys.journal(run)];
        Ok(match step {
            StoreStep::Intent(_) | StoreStep::Commit(_) | StoreStep::Fail(_) => self.row(std::slice::from_ref(step))?,
            StoreStep::Resolve(resolution) => self.resolution(resolution, &line, &digest)?,
            StoreStep::Doubt { op, attempt, reason } => {
                let mut command = self.begin(Script::Doubt, &[&base[..], &[self.keys.doubts()]].concat());
                let reason = self.seal.seal_text(&doubt_name(run.as_str(), op.0), reason)?;
                command
                    .arg(run.as_str())
                    .arg(op.0)
                    .arg(attempt.0)
                    .arg(word(&reason))
                    .arg(plain(&line, &digest))
                    .arg(digest);
                command
            }
            StoreStep::Skip { op, .. } => self.mark(&base, *op, OpStatus::Skipped, "PF", &line, &digest),
            StoreStep::Reopen { op } => self.mark(&base, *op, OpStatus::Pending, "FS", &line, &digest),
            StoreStep::Checks(writes) => {
                let mut command = self.writing(Script::Checks);
                command.arg(plain(&line, &digest)).arg(digest);
                add_writes(&mut command, writes, self.seal)?;
                command
            }
            StoreStep::Stray(stray) => {
                let keys = [self.keys.meta(), self.keys.run(run), self.keys.strays(run), self.keys.journal(run)];
                let mut command = self.begin(Script::Stray, &keys);
                let (name, record) = (digest_of(stray).hex(), record_bytes(stray));
                let line = checked_line(&line, &short_digest(&record), &name);
                let record = self.seal.seal(&name, record)?;
                command.arg(name).arg(bounded(Large::Stray, record)?).arg(line);
                command
            }
        })
    }

    fn mark(&self, base: &[String], op: OpIndex, to: OpStatus, from: &str, line: &str, digest: &str) -> Cmd {
        let mut command = self.begin(Script::Mark, base);
        command.arg(op.0).arg(status_letter(to)).arg(from).arg(plain(line, digest)).arg(digest);
        command
    }

    /// A call of a script that writes to the state.
    pub(super) fn writing(&self, script: Script) -> Cmd {
        let run = &self.lease.run;
        let keys = [
            self.keys.meta(),
            self.keys.run(run),
            self.keys.journal(run),
            self.keys.records(),
            self.keys.outputs(),
            self.keys.revisions(),
            self.keys.dependencies(),
            self.keys.claims(),
            self.keys.doubts(),
        ];
        let mut command = self.begin(script, &keys);
        command.arg(run.as_str());
        command
    }

    fn resolution(&self, resolution: &Resolution, line: &str, digest: &str) -> Result<Cmd, StoreError> {
        let nothing = Writes::default();
        let (becomes, settled, worker, (check, payload), writes) = match &resolution.outcome {
            DoubtOutcome::Done(commit) => {
                (OpStatus::Done, digest_of(commit), &commit.worker.0, self.result(commit)?, &commit.writes)
            }
            DoubtOutcome::Failed(failure) => {
                (OpStatus::Failed, digest_of(failure), &failure.worker.0, self.failed(failure)?, &failure.writes)
            }
            DoubtOutcome::Pending => {
                let none = (NO_PAYLOAD.to_owned(), Vec::new());
                (OpStatus::Pending, digest_of(resolution), &String::new(), none, &nothing)
            }
        };
        let mut command = self.writing(Script::Resolve);
        command
            .arg(resolution.op.0)
            .arg(resolution.attempt.0)
            .arg(word(worker))
            .arg(settled.hex())
            .arg(status_letter(becomes))
            .arg(digest)
            .arg(payload)
            .arg(checked_line(line, &check, digest));
        add_writes(&mut command, writes, self.seal)?;
        Ok(command)
    }

    /// The digest of a result, and its stored form.
    pub(super) fn result(&self, commit: &CommitRecord) -> Result<(String, Vec<u8>), StoreError> {
        self.outcome(Large::Result(commit.op), RESULT, commit.op, commit.result.0.clone())
    }

    /// The digest of a failure, and its stored form.
    pub(super) fn failed(&self, failure: &Failure) -> Result<(String, Vec<u8>), StoreError> {
        self.outcome(Large::Failure(failure.op), FAILURE, failure.op, record_bytes(failure))
    }

    fn outcome(
        &self,
        what: Large<'_>,
        mark: u8,
        op: OpIndex,
        outcome: Vec<u8>,
    ) -> Result<(String, Vec<u8>), StoreError> {
        let check = outcome_digest(mark, &outcome);
        let mut payload = vec![mark];
        payload.extend(self.seal.seal(&outcome_name(self.lease.run.as_str(), op.0), outcome)?);
        Ok((check, bounded(what, payload)?))
    }
}

/// The line of an event that stores no payload.
pub(super) fn plain(line: &str, digest: &str) -> String {
    checked_line(line, NO_PAYLOAD, digest)
}

fn bounded(value: Large<'_>, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    if bytes.len() <= MAX_VALUE {
        return Ok(bytes);
    }
    Err(problems::too_large(value, bytes.len(), MAX_VALUE))
}

/// Adds the writes as arguments in the form that `writes.lua` reads.
///
/// # Errors
/// [`StoreError::TooLarge`], [`StoreError::Unsealed`].
pub(super) fn add_writes(command: &mut Cmd, writes: &Writes, seal: &RecordSeal) -> Result<(), StoreError> {
    let sealed = |subject: &Subject, record: Vec<u8>| {
        let name = subject_text(subject);
        seal.seal(&name, record).map(|record| digested(&name, &record))
    };
    command.arg(writes.instances.len());
    for write in &writes.instances {
        command.arg(&write.address).arg(u8::from(write.record.is_some()));
        match &write.record {
            None => command.arg("").arg(""),
            Some(record) => {
                let names: Vec<&str> = record.dependencies().into_iter().collect();
                let bytes = sealed(&Subject::Instance(write.address.clone()), record_bytes(record))?;
                command.arg(bounded(Large::Record(&write.address), bytes)?).arg(names.join("\n"))
            }
        };
    }
    command.arg(writes.outputs.len());
    for write in &writes.outputs {
        command.arg(&write.name).arg(u8::from(write.record.is_some()));
        match &write.record {
            None => command.arg(""),
            Some(record) => {
                let bytes = sealed(&Subject::Output(write.name.clone()), record_bytes(record))?;
                command.arg(bounded(Large::Output(&write.name), bytes)?)
            }
        };
    }
    match &writes.checks {
        None => command.arg(0),
        Some(checks) => {
            let bytes = sealed(&Subject::Checks, record_bytes(checks))?;
            command.arg(1).arg(bounded(Large::Checks, bytes)?)
        }
    };
    Ok(())
}

/// The reason for which a script refused the lease, or `None` if the script accepted the lease.
pub(super) fn fenced(words: &Words) -> Option<Fenced> {
    if words.text(0) != "FENCED" {
        return None;
    }
    Some(match words.text(1).as_str() {
        "norun" => Fenced::NoRun,
        "token" => Fenced::Token { now: token(&words.text(2)) },
        _ => Fenced::Incarnation { now: incarnation(&words.text(2)).unwrap_or(Incarnation(0)) },
    })
}

/// Parses an incarnation.
pub(super) fn incarnation(text: &str) -> Option<Incarnation> {
    u128::from_str_radix(text, 16).ok().map(Incarnation)
}

/// The answer of the script for a step, or `None` if it is malformed.
pub(super) fn answer(words: &Words) -> Option<StoreAnswer> {
    if let Some(fenced) = fenced(words) {
        return Some(StoreAnswer::Fenced(fenced));
    }
    Some(match words.text(0).as_str() {
        "OK" => {
            let rest = words.rest(4);
            let revisions = rest.chunks_exact(2).map(|pair| revision_of(&pair[0], &pair[1])).collect::<Option<_>>()?;
            StoreAnswer::Ok { revisions, repeated: words.text(1) == "1" }
        }
        "STALE" => {
            let (subject, expected) = revision_of(&words.text(1), &words.text(2))?;
            StoreAnswer::Stale(vec![Stale { subject, expected, found: revision(&words.text(3))? }])
        }
        "NOTCLAIMED" => StoreAnswer::NotClaimed(words.rest(1).iter().map(|text| subject(text)).collect::<Option<_>>()?),
        "DOUBTFUL" => StoreAnswer::Doubtful(Box::new(doubt(&words.text(1), &words.text(2))?)),
        "ILLEGAL" => StoreAnswer::Illegal {
            status: status(&words.text(1))?,
            attempt: Attempt(words.text(2).parse().ok()?),
            worker: WorkerId(unword(&words.text(3))?),
        },
        _ => return None,
    })
}

/// Parses a revision.
pub(super) fn revision(text: &str) -> Option<Revision> {
    text.parse().ok().map(Revision)
}

/// Parses a subject with its revision.
pub(super) fn revision_of(name: &str, number: &str) -> Option<(Subject, Revision)> {
    Some((subject(name)?, revision(number)?))
}

/// The digest, for the chain, of a line that is not about a step.
pub(super) fn event_digest(line: &str, more: &impl serde::Serialize) -> String {
    crate::run::Digest::of(&bytes_of(&(line, more))).hex()
}
