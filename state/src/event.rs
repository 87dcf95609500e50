//! The events of a journal, one for each line, and the chain of their hashes.

use serde::{Deserialize, Serialize};

use crate::record::Opaque;
use crate::run::{Digest, Holder, JournalLine, RunId, RunStatus, Token};
use crate::step::{Claim, StoreStep};
use crate::subject::Revision;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A term began.
    Began(Began),
    /// CLAIM succeeded with all of these claims.
    Claimed(Vec<Claim>),
    /// A step about an operation was accepted.
    Step(StoreStep),
    /// The complete new content of the state file, which is written next.
    Image(Opaque),
    /// The state file contains the results of all lines up to this one, and has the given content digest.
    Folded(Digest),
    /// The term ended and left the run with this status.
    Ended {
        /// The status.
        status: RunStatus,
        /// Whether the run was abandoned, so that its open intents became doubts.
        abandoned: bool,
    },
    /// The state is saved next, in the middle of the term. The save may fail.
    Saving(Saving),
}

/// The first line of a term's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Began {
    /// The run.
    pub(crate) run: RunId,
    /// The term.
    pub(crate) token: Token,
    /// The holder of the term.
    pub(crate) holder: Holder,
    /// The state that the term began from.
    pub(crate) base: Base,
    /// The end of the journal of the previous term, as this term found it.
    pub(crate) sealed: Option<Sealed>,
}

/// The state that a term began from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Base {
    /// The lineage of the state.
    pub(crate) lineage: String,
    /// The serial of the state.
    pub(crate) serial: u64,
    /// The digest of the content of the file, with 4 as the format digit.
    pub(crate) digest: Digest,
    /// Each instance with its revision, so that a message can name the instances that differ.
    pub(crate) instances: Vec<(String, Revision)>,
}

/// A state that is saved in the middle of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saving {
    /// The serial of the state.
    pub(crate) serial: u64,
    /// The number of lines of the run's journals whose results the saved state contains.
    pub(crate) lines: u64,
    /// The digest of the content of the file, with 4 as the format digit.
    pub(crate) digest: Digest,
}

/// The end of an earlier term's journal, as the next term found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sealed {
    /// The epoch.
    pub(crate) epoch: u64,
    /// The length in bytes, without a dropped final record.
    pub(crate) length: u64,
    /// The hash of the last line.
    pub(crate) hash: Digest,
}

impl Event {
    /// The event as a line for display.
    pub(crate) fn line(&self, sequence: u64, hash: Digest) -> JournalLine {
        let mut line = JournalLine { sequence, hash, event: "", op: None, attempt: None, worker: None };
        line.event = match self {
            Event::Began(_) => "began",
            Event::Claimed(_) => "claimed",
            Event::Image(_) => "image",
            Event::Folded(_) => "folded",
            Event::Saving(_) => "saving",
            Event::Ended { abandoned: true, .. } => "abandoned",
            Event::Ended { status: RunStatus::Stopped, .. } => "stopped",
            Event::Ended { .. } => "ended",
            Event::Step(step) => {
                let (event, attempt, worker) = step_words(step);
                line.op = step.op();
                line.attempt = attempt;
                line.worker = worker;
                event
            }
        };
        line
    }
}

/// The names of all events, so that a line read from storage can refer to one of them.
pub(crate) const EVENTS: [&str; 17] = [
    "began",
    "claimed",
    "image",
    "folded",
    "saving",
    "abandoned",
    "stopped",
    "ended",
    "intent",
    "commit",
    "fail",
    "doubt",
    "resolve",
    "skip",
    "reopen",
    "stray",
    "checks",
];

/// The event name, attempt and worker of a step.
pub(crate) fn step_words(
    step: &StoreStep,
) -> (&'static str, Option<crate::run::Attempt>, Option<crate::run::WorkerId>) {
    match step {
        StoreStep::Intent(intent) => ("intent", Some(intent.attempt), Some(intent.worker.clone())),
        StoreStep::Commit(commit) => ("commit", Some(commit.attempt), Some(commit.worker.clone())),
        StoreStep::Fail(failure) => ("fail", Some(failure.attempt), Some(failure.worker.clone())),
        StoreStep::Doubt { attempt, .. } => ("doubt", Some(*attempt), None),
        StoreStep::Resolve(resolution) => ("resolve", Some(resolution.attempt), None),
        StoreStep::Skip { .. } => ("skip", None, None),
        StoreStep::Reopen { .. } => ("reopen", None, None),
        StoreStep::Stray(stray) => ("stray", Some(stray.attempt), Some(stray.worker.clone())),
        StoreStep::Checks(_) => ("checks", None, None),
    }
}

/// The hash of a line, computed from the hash of the previous line and the bytes of this line.
pub(crate) fn chain(before: &Digest, line: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.0);
    hasher.update(line);
    Digest(*hasher.finalize().as_bytes())
}
