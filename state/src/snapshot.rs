//! The whole state at one moment, for planning and for the commands that show it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use weft_graph_format::address::DeposedKey;

use crate::record::{CheckRecord, InstanceRecord, OutputRecord};
use crate::run::{Attempt, Digest, OpIndex, RunId, WorkerId};

/// The version of a subject at its last commit, or [`Revision::NEVER`] for a subject that the store never held.
/// Revisions are only compared for equality. The Redis store counts commits. The embedded store derives revisions from
/// the content, because OpenTofu may write the file between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a subject that the store never held.
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
    /// A resource instance, by address. Its absence has a revision, too.
    Instance(String),
    /// A root output, by name.
    Output(String),
    /// The check results.
    Checks,
    /// The set of instances that depend on this resource (an address without instance keys, as in `dependencies`). A
    /// run that destroys or replaces the resource claims it.
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

/// An object that an operation may have changed without a record of it: an instance, and a deposed key if the object is
/// a deposed one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DoubtKey {
    /// The instance's address.
    pub address: String,
    /// The key of the deposed object, or `None` for the current one.
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

/// An operation with an intent and no result, and without its worker. Whether the call took effect is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The object.
    pub key: DoubtKey,
    /// The run of the operation.
    pub run: RunId,
    /// The operation.
    pub op: OpIndex,
    /// The attempt that is uncertain.
    pub attempt: Attempt,
    /// The worker that held it.
    pub worker: WorkerId,
    /// The action: `create`, `update`, `delete` and so on.
    pub action: String,
    /// Digest of the planned value of the intent.
    pub planned: Digest,
    /// The reason for the doubt, for people.
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
    /// The plan was made for a state of another lineage.
    OtherState,
    /// The plan was made when there was no state. Now there is one.
    NoLongerNew,
}

/// The state at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The lineage of the state, or empty if there is no state yet.
    pub lineage: String,
    /// The state's serial.
    pub serial: u64,
    /// The version that wrote it last, or empty if there is no state yet.
    pub terraform_version: String,
    /// Resource instances by address.
    pub instances: BTreeMap<String, StoredInstance>,
    /// Root outputs by name.
    pub outputs: BTreeMap<String, StoredOutput>,
    /// The results of checks. `None` is JSON null.
    pub checks: Option<Vec<CheckRecord>>,
    /// The revision of the check results.
    pub checks_revision: Revision,
    /// The revisions of subjects that existed earlier, and of `Subject::Dependents`.
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

    /// Why a plan for the state of this lineage does not belong to this state. An empty lineage means that there was no
    /// state.
    pub fn unrelated(&self, lineage: &str) -> Option<Unrelated> {
        if lineage.is_empty() {
            return (self.serial > 0 || !self.is_empty()).then_some(Unrelated::NoLongerNew);
        }
        (self.lineage != lineage).then_some(Unrelated::OtherState)
    }

    /// Whether there is nothing to write to a state file.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.outputs.is_empty() && self.checks.is_none()
    }
}
