//! The durable results of operations, and what they write to the state.

use serde::{Deserialize, Serialize};
use weft_graph_format::run::{Attempt, OpIndex, WorkerId};

use crate::check::CheckRecord;
use crate::record::{InstanceRecord, Opaque, OutputWrite};
use crate::subject::Subject;

/// A new record of an instance, or its removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceWrite {
    /// The instance.
    pub address: String,
    /// The whole new record. `None`, or a record without objects, removes the instance.
    pub record: Option<InstanceRecord>,
}

/// The changes of a commit or failure to the state.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Writes {
    /// Resource instances. The run must have claimed each one exclusively.
    pub instances: Vec<InstanceWrite>,
    /// Root outputs.
    pub outputs: Vec<OutputWrite>,
    /// All check results, replaced as a whole. `Some(None)` stores JSON null.
    pub checks: Option<Option<Vec<CheckRecord>>>,
}

impl Writes {
    /// Whether there are no writes.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.outputs.is_empty() && self.checks.is_none()
    }

    /// The subjects, in the order of the writes: instances, outputs, checks.
    pub fn subjects(&self) -> Vec<Subject> {
        let instances = self.instances.iter().map(|write| Subject::Instance(write.address.clone()));
        let outputs = self.outputs.iter().map(|write| Subject::Output(write.name.clone()));
        let checks = self.checks.iter().map(|_| Subject::Checks);
        instances.chain(outputs).chain(checks).collect()
    }
}

/// COMMIT: the durable result of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// The operation.
    pub op: OpIndex,
    /// The attempt.
    pub attempt: Attempt,
    /// The worker.
    pub worker: WorkerId,
    /// Whether the operation has an intent. If so, the intent must have the same operation, attempt and worker as this
    /// record. `false` for operations that change nothing outside and need no intent: reads, evaluations, outputs.
    pub intended: bool,
    /// The changes to the state.
    pub writes: Writes,
    /// The result for the operations that depend on this one, in the coordinator's own encoding.
    pub result: Opaque,
}

/// FAIL: an error that the provider returned, or, with `intended: false`, an error of Weft itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The operation.
    pub op: OpIndex,
    /// The attempt.
    pub attempt: Attempt,
    /// The worker.
    pub worker: WorkerId,
    /// Whether the operation has an intent. The intent must match in operation, attempt and worker.
    pub intended: bool,
    /// The partial object that the provider returned, if any. After a failed create, the object is tainted.
    pub writes: Writes,
    /// The diagnostics in the coordinator's own encoding.
    pub diagnostics: Opaque,
    /// The kind of failure.
    pub kind: FailureKind,
}

/// The kinds of failures. Plans and journals store them as the numbers 0 to 3, so the order must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FailureKind {
    /// An error was returned.
    #[default]
    Error,
    /// A create returned an error and no object. It is not proven that no object exists. `weft runs show` reports this.
    AbsenceUnproven,
    /// The user marked the operation as failed with `weft runs resolve -forget`. It is not retried in this run.
    GivenUp,
    /// A create returned an object together with an error. The object is in the state as tainted. The create is not
    /// retried in this run, because that would make a second object and lose the first.
    ObjectKept,
}
