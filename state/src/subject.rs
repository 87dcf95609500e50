//! Subjects: the things that have a revision and that a run can claim. Also the doubts about objects.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_graph_format::address::DeposedKey;
use weft_graph_format::digest::Digest;
use weft_graph_format::operation_kind::NamedAction;
use weft_graph_format::run::{Attempt, OpIndex, RunId, WorkerId};

/// The version of a subject at its last commit, or [`Revision::NEVER`] for a subject that never existed in the store.
/// Revisions are only compared for equality. The Redis store counts commits. The embedded store derives revisions from
/// the content, because OpenTofu may write the file between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a subject that never existed in the store.
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
    /// A resource instance, by address. An absent instance has a revision, too.
    Instance(String),
    /// A root output, by name.
    Output(String),
    /// The check results.
    Checks,
    /// The set of instances that depend on this resource (an address without instance keys, as in `dependencies`). A
    /// run that destroys or replaces the resource claims this set.
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

/// The key of an object whose real state may differ from its record because of an unfinished operation. It consists of
/// the address of the instance and, for a deposed object, its deposed key.
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

/// An operation that has an intent, but no result and no worker that still works on it. Whether the call took effect is
/// unknown.
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
    /// The worker of that attempt.
    pub worker: WorkerId,
    /// The action.
    pub action: NamedAction,
    /// Digest of the planned value of the intent.
    pub planned: Digest,
    /// The reason for the doubt, for display.
    pub reason: String,
}
