//! The whole state at one moment, as planning and the commands that show it read it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::record::{CheckRecord, DeposedKey, InstanceRecord, OutputRecord};
use crate::run::{Attempt, Digest, OpIndex, RunId, WorkerId};

/// The version of a subject at its last commit; [`Revision::NEVER`] for what the store has never held. Compared for
/// equality only: the Redis store counts commits, the embedded one (whose file OpenTofu may have written between runs)
/// takes it from the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// Of what the store has never held.
    pub const NEVER: Revision = Revision(0);
}

impl fmt::Display for Revision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}", self.0)
    }
}

/// Something that has a revision and that a run can claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A resource instance, by address; its absence has a revision too.
    Instance(String),
    /// A root output, by name.
    Output(String),
    /// The check results.
    Checks,
    /// Which instances depend on this resource (address without instance keys, as in `dependencies`): whoever
    /// destroys or replaces it claims this.
    Dependents(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Instance(address) => out.write_str(address),
            Subject::Output(name) => write!(out, "output.{name}"),
            Subject::Checks => out.write_str("the check results"),
            Subject::Dependents(address) => write!(out, "the dependents of {address}"),
        }
    }
}

/// The object that an operation may have changed without our knowing: an instance, and a deposed key where the object
/// is a deposed one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DoubtKey {
    /// The instance's address.
    pub address: String,
    /// The deposed object, `None` for the current one.
    pub deposed: Option<DeposedKey>,
}

impl DoubtKey {
    /// The current object of an instance.
    pub fn current(address: impl Into<String>) -> DoubtKey {
        DoubtKey { address: address.into(), deposed: None }
    }
}

impl fmt::Display for DoubtKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.deposed {
            None => out.write_str(&self.address),
            Some(key) => write!(out, "{} (deposed object {key})", self.address),
        }
    }
}

/// An operation with an intent and no result whose worker is gone: nobody knows whether the call took effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The object.
    pub key: DoubtKey,
    /// The run that it happened in.
    pub run: RunId,
    /// The operation.
    pub op: OpIndex,
    /// The attempt that is uncertain.
    pub attempt: Attempt,
    /// Who held it.
    pub worker: WorkerId,
    /// What was being done, `create`, `update`, `delete`...
    pub action: String,
    /// Digest of the planned value of the intent.
    pub planned: Digest,
    /// Why it is in doubt, in words for people.
    pub reason: String,
}

/// An instance with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredInstance {
    /// The record.
    pub record: InstanceRecord,
    /// Its revision.
    pub revision: Revision,
}

/// An output with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOutput {
    /// The record.
    pub record: OutputRecord,
    /// Its revision.
    pub revision: Revision,
}

/// Why a plan does not belong to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrelated {
    /// It was made over a state of another lineage.
    OtherState,
    /// It was made when there was no state yet, and now there is one.
    NoLongerNew,
}

/// The state at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The state's lineage; empty when there is no state yet.
    pub lineage: String,
    /// The state's serial.
    pub serial: u64,
    /// The version that wrote it last; empty when there is no state yet.
    pub terraform_version: String,
    /// Resource instances by address.
    pub instances: BTreeMap<String, StoredInstance>,
    /// Root outputs by name.
    pub outputs: BTreeMap<String, StoredOutput>,
    /// Results of checks; `None` is JSON null.
    pub checks: Option<Vec<CheckRecord>>,
    /// Revision of the check results.
    pub checks_revision: Revision,
    /// Revisions of subjects that are not there now but were, and of `Subject::Dependents`.
    pub other_revisions: BTreeMap<Subject, Revision>,
    /// Open doubts of all runs.
    pub doubts: BTreeMap<DoubtKey, Doubt>,
}

impl Snapshot {
    /// The revision that a plan must record for a subject.
    pub fn revision(&self, subject: &Subject) -> Revision {
        let held = match subject {
            Subject::Instance(address) => self.instances.get(address).map(|stored| stored.revision),
            Subject::Output(name) => self.outputs.get(name).map(|stored| stored.revision),
            Subject::Checks => Some(self.checks_revision),
            Subject::Dependents(_) => None,
        };
        held.or_else(|| self.other_revisions.get(subject).copied()).unwrap_or_default()
    }

    /// What speaks against a plan that was made over the state of this lineage; empty: over no state.
    pub fn unrelated(&self, lineage: &str) -> Option<Unrelated> {
        if lineage.is_empty() {
            return (self.serial > 0 || !self.is_empty()).then_some(Unrelated::NoLongerNew);
        }
        (self.lineage != lineage).then_some(Unrelated::OtherState)
    }

    /// Whether there is nothing that a state file would hold.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.outputs.is_empty() && self.checks.is_none()
    }
}
