//! The rules of the store as plain data in memory: which step is legal, what it changes and what the store answers.
//!
//! The ledger uses no clock, no file and no randomness: its arguments are its only inputs. The model store is the
//! ledger alone, and the embedded store is the ledger behind a journal. A test compares the scripts of the Redis store
//! with the ledger.

mod content;
mod edits;
pub(crate) mod leases;
pub(crate) mod steps;

use std::collections::BTreeMap;

use crate::record::Opaque;
use crate::run::LeaseView;
use crate::run::{
    ChangeTotals, Digest, Holder, Incarnation, OpCounts, OpIndex, OpRecord, OpStatus, RunHeader, RunId, RunPast,
    RunStatus, RunView, Stray, Token,
};
use crate::snapshot::Snapshot;
use crate::step::ClaimMode;
use crate::subject::{Doubt, DoubtKey, Revision, Subject};
use crate::tfstate::StateFile;
use content::LedgerContent;

/// How revisions are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionRule {
    /// The number of the commit in the store. Numbers are never reused, and removed subjects keep their last number.
    Sequence,
    /// A hash of the content, or 0 for a missing subject. This rule also works for a file that other tools write.
    Content,
}

/// A lease with its heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseState {
    pub(crate) token: Token,
    pub(crate) heartbeat: u64,
}

/// An operation with the digest of the step that settled it. The digest identifies a resent step.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct OpState {
    pub(crate) record: OpRecord,
    pub(crate) settled: Digest,
}

/// A run in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunState {
    pub(crate) plan: Digest,
    pub(crate) plan_bytes: Opaque,
    pub(crate) operations: u32,
    pub(crate) started_unix_ms: u64,
    pub(crate) status: RunStatus,
    pub(crate) claimed: bool,
    pub(crate) abandoned: bool,
    pub(crate) lease: Option<LeaseState>,
    pub(crate) holder: Holder,
    pub(crate) ops: BTreeMap<OpIndex, OpState>,
    pub(crate) counts: OpCounts,
    pub(crate) written: BTreeMap<Subject, Revision>,
    pub(crate) claims: BTreeMap<Subject, ClaimMode>,
    pub(crate) strays: BTreeMap<Digest, Stray>,
    /// The contents of the summary, for a finished run whose operations were not read.
    pub(crate) summarised: Option<RunPast>,
}

impl RunState {
    /// The header, as lists show it.
    pub(crate) fn header(&self, id: &RunId) -> RunHeader {
        let lease = self.lease.as_ref().map(|lease| LeaseView {
            token: lease.token,
            heartbeat: lease.heartbeat,
            holder: self.holder.clone(),
            age_ms: None,
        });
        RunHeader {
            id: id.clone(),
            plan: self.plan,
            started_unix_ms: self.started_unix_ms,
            status: self.status,
            counts: OpCounts { pending: self.pending(), ..self.counts },
            claimed: self.claimed,
            abandoned: self.abandoned,
            lease,
            past: self.summarised.clone().unwrap_or_else(|| self.past()),
        }
    }

    /// The history of the run, as far as it can be derived from its operations.
    fn past(&self) -> RunPast {
        let totals = ChangeTotals::of(self.ops.values().map(|state| &state.record));
        RunPast { holder: self.holder.clone(), ended_unix_ms: None, totals: Some(totals) }
    }

    fn pending(&self) -> u32 {
        let OpCounts { running, done, failed, skipped, in_doubt, .. } = self.counts;
        self.operations.saturating_sub(running + done + failed + skipped + in_doubt)
    }

    /// The whole run.
    pub(crate) fn view(&self, id: &RunId) -> RunView {
        let mut strays: Vec<Stray> = self.strays.values().cloned().collect();
        strays.sort_by(|left, right| (left.op, left.attempt, &left.key).cmp(&(right.op, right.attempt, &right.key)));
        RunView {
            header: self.header(id),
            ops: self.ops.iter().map(|(op, state)| (*op, state.record.clone())).collect(),
            written: self.written.clone(),
            claims: self.claims.iter().map(|(key, mode)| (key.clone(), *mode == ClaimMode::Exclusive)).collect(),
            strays,
        }
    }

    fn set_status(&mut self, op: OpIndex, status: OpStatus) {
        let state = self.ops.entry(op).or_default();
        let before = std::mem::replace(&mut state.record.status, status);
        for (status, up) in [(before, false), (status, true)] {
            let count = match status {
                OpStatus::Pending => continue,
                OpStatus::Intended => &mut self.counts.running,
                OpStatus::Done => &mut self.counts.done,
                OpStatus::Failed => &mut self.counts.failed,
                OpStatus::InDoubt => &mut self.counts.in_doubt,
                OpStatus::Skipped => &mut self.counts.skipped,
            };
            *count = if up { *count + 1 } else { count.saturating_sub(1) };
        }
    }
}

/// The store in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// Whether result bytes and diagnostics stay in memory. If not, they are dropped, because a journal has them.
    keep_results: bool,
    pub(crate) incarnation: Incarnation,
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    pub(crate) terraform_version: String,
    pub(crate) epoch: u64,
    content: LedgerContent,
    pub(crate) doubts: BTreeMap<DoubtKey, Doubt>,
    claims: BTreeMap<Subject, BTreeMap<RunId, ClaimMode>>,
    pub(crate) runs: BTreeMap<RunId, RunState>,
}

impl Ledger {
    /// A store without state or runs.
    pub(crate) fn new(rule: RevisionRule, keep_results: bool, incarnation: Incarnation) -> Ledger {
        Ledger {
            keep_results,
            incarnation,
            lineage: String::new(),
            serial: 0,
            terraform_version: String::new(),
            epoch: 0,
            content: LedgerContent::new(rule),
            doubts: BTreeMap::new(),
            claims: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    /// Replaces the content with that of a state file.
    pub(crate) fn load(&mut self, file: StateFile) {
        self.lineage = file.lineage;
        self.serial = file.serial;
        self.terraform_version = file.terraform_version;
        self.content.load(file.instances, file.outputs, file.checks);
    }

    /// The content in the form of a state file.
    pub(crate) fn to_file(&self) -> StateFile {
        StateFile {
            terraform_version: self.terraform_version.clone(),
            serial: self.serial,
            lineage: self.lineage.clone(),
            outputs: self.content.outputs().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
            instances: self.content.instances().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
            checks: self.content.checks().cloned(),
        }
    }

    /// The whole state with revisions and doubts.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            lineage: self.lineage.clone(),
            serial: self.serial,
            terraform_version: self.terraform_version.clone(),
            instances: self
                .content
                .instances()
                .map(|(_, stored)| (stored.record.address.clone(), stored.clone()))
                .collect(),
            outputs: self.content.outputs().map(|(name, stored)| (name.clone(), stored.clone())).collect(),
            checks: self.content.checks().cloned(),
            checks_revision: self.content.revision(&Subject::Checks),
            other_revisions: self.content.other_revisions(),
            doubts: self.doubts.clone(),
        }
    }

    /// Every instance with its revision.
    pub(crate) fn instance_revisions(&self) -> Vec<(String, Revision)> {
        self.content.instances().map(|(address, stored)| (address.clone(), stored.revision)).collect()
    }

    /// A digest of everything in the state file except serial, lineage and version. Equal content has equal digests.
    pub(crate) fn content_digest(&self) -> Digest {
        self.content.digest()
    }

    /// The current revision of a subject.
    pub(crate) fn revision(&self, subject: &Subject) -> Revision {
        self.content.revision(subject)
    }
}
