//! The rules of the store as plain data in memory: which step is legal, what it changes, what it answers.
//!
//! No clock, no file, no randomness: everything comes in through arguments. The model store is this alone; the
//! embedded store is this behind a journal; the Redis store's scripts are held against it by test.

pub(crate) mod leases;
pub(crate) mod steps;

use std::collections::{BTreeMap, BTreeSet};

use crate::content::{content_revision, digest_of};
use crate::record::{CheckRecord, InstanceRecord, Opaque};
use crate::run::LeaseView;
use crate::run::{
    Digest, Holder, Incarnation, OpCounts, OpIndex, OpRecord, OpStatus, RunHeader, RunId, RunStatus, RunView, Stray,
    Token,
};
use crate::snapshot::{Doubt, DoubtKey, Revision, Snapshot, StoredInstance, StoredOutput, Subject};
use crate::step::{ClaimMode, OutputWrite};
use crate::tfstate::StateFile;

/// Where revisions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionRule {
    /// The number of the commit in the store; never reused, kept for what is gone.
    Sequence,
    /// The content; 0 for what is not there. For a file that other tools write too.
    Content,
}

/// A lease with its heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseState {
    pub(crate) token: Token,
    pub(crate) heartbeat: u64,
}

/// An operation with the digest of the step that settled it, by which a resent step is known.
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
}

impl RunState {
    /// What lists show.
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
        }
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
    rule: RevisionRule,
    /// Whether result bytes and diagnostics stay in memory, or (journalled elsewhere) are dropped.
    keep_results: bool,
    pub(crate) incarnation: Incarnation,
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    pub(crate) terraform_version: String,
    sequence: u64,
    pub(crate) epoch: u64,
    instances: BTreeMap<String, StoredInstance>,
    outputs: BTreeMap<String, StoredOutput>,
    checks: Option<Vec<CheckRecord>>,
    checks_revision: Revision,
    /// Last revisions of subjects that are not there, and of dependents, under [`RevisionRule::Sequence`].
    others: BTreeMap<Subject, Revision>,
    /// Which instances depend on a resource.
    dependents: BTreeMap<String, BTreeSet<String>>,
    pub(crate) doubts: BTreeMap<DoubtKey, Doubt>,
    claims: BTreeMap<Subject, BTreeMap<RunId, ClaimMode>>,
    pub(crate) runs: BTreeMap<RunId, RunState>,
}

impl Ledger {
    /// A store without state or runs.
    pub(crate) fn new(rule: RevisionRule, keep_results: bool, incarnation: Incarnation) -> Ledger {
        Ledger {
            rule,
            keep_results,
            incarnation,
            lineage: String::new(),
            serial: 0,
            terraform_version: String::new(),
            sequence: 0,
            epoch: 0,
            instances: BTreeMap::new(),
            outputs: BTreeMap::new(),
            checks: None,
            checks_revision: Revision::NEVER,
            others: BTreeMap::new(),
            dependents: BTreeMap::new(),
            doubts: BTreeMap::new(),
            claims: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    /// Takes over the content of a state file, in place of what is there.
    pub(crate) fn load(&mut self, file: StateFile) {
        self.lineage = file.lineage;
        self.serial = file.serial;
        self.terraform_version = file.terraform_version;
        self.instances.clear();
        self.outputs.clear();
        self.dependents.clear();
        for (address, record) in file.instances {
            self.set_instance(&address, Some(record));
        }
        for (name, record) in file.outputs {
            self.set_output(OutputWrite { name, record: Some(record) });
        }
        self.set_checks(file.checks);
    }

    /// The content as a state file holds it.
    pub(crate) fn to_file(&self) -> StateFile {
        StateFile {
            terraform_version: self.terraform_version.clone(),
            serial: self.serial,
            lineage: self.lineage.clone(),
            outputs: self.outputs.iter().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
            instances: self.instances.iter().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
            checks: self.checks.clone(),
        }
    }

    /// The whole state with revisions and doubts.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut other_revisions = self.others.clone();
        if self.rule == RevisionRule::Content {
            for resource in self.dependents.keys() {
                let subject = Subject::Dependents(resource.clone());
                other_revisions.insert(subject.clone(), self.revision(&subject));
            }
        }
        Snapshot {
            lineage: self.lineage.clone(),
            serial: self.serial,
            terraform_version: self.terraform_version.clone(),
            instances: self.instances.clone(),
            outputs: self.outputs.clone(),
            checks: self.checks.clone(),
            checks_revision: self.checks_revision,
            other_revisions,
            doubts: self.doubts.clone(),
        }
    }

    /// Every instance with its revision.
    pub(crate) fn instance_revisions(&self) -> Vec<(String, Revision)> {
        self.instances.iter().map(|(address, stored)| (address.clone(), stored.revision)).collect()
    }

    /// A digest of everything that the state file holds besides serial, lineage and version: equal content, equal
    /// digest.
    pub(crate) fn content_digest(&self) -> Digest {
        let revision = |stored: &StoredInstance| match self.rule {
            RevisionRule::Content => stored.revision,
            RevisionRule::Sequence => content_revision(&stored.record),
        };
        let instances: Vec<_> = self.instances.values().map(revision).collect();
        let outputs: Vec<_> = self.outputs.iter().map(|(name, stored)| (name, &stored.record)).collect();
        digest_of(&(self.instances.keys().collect::<Vec<_>>(), instances, outputs, &self.checks))
    }

    /// The revision of a subject as it stands.
    pub(crate) fn revision(&self, subject: &Subject) -> Revision {
        let held = match subject {
            Subject::Instance(address) => self.instances.get(address).map(|stored| stored.revision),
            Subject::Output(name) => self.outputs.get(name).map(|stored| stored.revision),
            Subject::Checks => Some(self.checks_revision),
            Subject::Dependents(resource) if self.rule == RevisionRule::Content => {
                self.dependents.get(resource).map(content_revision)
            }
            Subject::Dependents(_) => None,
        };
        held.or_else(|| self.others.get(subject).copied()).unwrap_or_default()
    }

    /// The revision that a subject gets by being written now.
    fn next_revision(&self, content: Option<Revision>) -> Revision {
        match self.rule {
            RevisionRule::Sequence => Revision(self.sequence),
            RevisionRule::Content => content.unwrap_or_default(),
        }
    }

    fn set_instance(&mut self, address: &str, record: Option<InstanceRecord>) -> Revision {
        let content = (self.rule == RevisionRule::Content).then(|| record.as_ref().map(content_revision)).flatten();
        let revision = self.next_revision(content);
        let subject = Subject::Instance(address.to_owned());
        let before = match record {
            Some(record) => {
                let stored = StoredInstance { record, revision };
                self.others.remove(&subject);
                self.instances.insert(address.to_owned(), stored)
            }
            None => {
                if self.rule == RevisionRule::Sequence {
                    self.others.insert(subject, revision);
                }
                self.instances.remove(address)
            }
        };
        self.set_dependents(address, before.map(|stored| stored.record));
        revision
    }

    /// Brings the index of dependents up to date after an instance was written; `before` is its old record.
    fn set_dependents(&mut self, address: &str, before: Option<InstanceRecord>) {
        let names = |record: &InstanceRecord| -> BTreeSet<String> {
            record.dependencies().into_iter().map(str::to_owned).collect()
        };
        let old = before.as_ref().map(names).unwrap_or_default();
        let new = self.instances.get(address).map(|stored| names(&stored.record)).unwrap_or_default();
        for resource in old.symmetric_difference(&new) {
            if self.rule == RevisionRule::Sequence {
                self.others.insert(Subject::Dependents(resource.clone()), Revision(self.sequence));
            }
            let known = self.dependents.entry(resource.clone()).or_default();
            if new.contains(resource) {
                known.insert(address.to_owned());
            } else {
                known.remove(address);
                if known.is_empty() {
                    self.dependents.remove(resource);
                }
            }
        }
    }

    fn set_output(&mut self, write: OutputWrite) -> Revision {
        let subject = Subject::Output(write.name.clone());
        let content =
            (self.rule == RevisionRule::Content).then(|| write.record.as_ref().map(content_revision)).flatten();
        let revision = self.next_revision(content);
        match write.record {
            Some(record) => {
                self.others.remove(&subject);
                self.outputs.insert(write.name, StoredOutput { record, revision });
            }
            None => {
                self.outputs.remove(&write.name);
                if self.rule == RevisionRule::Sequence {
                    self.others.insert(subject, revision);
                }
            }
        }
        revision
    }

    fn set_checks(&mut self, checks: Option<Vec<CheckRecord>>) -> Revision {
        let content = checks.as_ref().map(content_revision);
        self.checks_revision = self.next_revision(content);
        self.checks = checks;
        self.checks_revision
    }
}
